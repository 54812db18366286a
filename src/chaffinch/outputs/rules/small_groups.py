"""Differencing by several outputs at once: a combination of counts of three and more that leaves a few people.

All exact counts make one linear system, taken apart into what hangs together over shared columns. Pairs of outputs are compared
by `differencing.py`, which also sees what holds for these records only; here a group must be one by definition.

With one unknown an atom and one row a published cell, a combination of counts is a group of people if its weights are 0 or 1 on every atom.
Weights on atoms with the threshold's people or more must be 0, and so must those on atoms whose leverage is too low (`_candidates`), which in most sets of outputs
leaves none. What is left is tried in lots, to look for all groups at once: the largest sum of weights on a
lot, under weights between 0 and 1 and fewer people in all than the threshold, is a linear programme. If it stays below 1, no atom of the lot is in any such group,
which is a proof; if not, the lot is halved. What a programme proposes is worked out again in fractions before it is believed.
Work is counted in programmes and their sizes, not in seconds.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..domain import Ints
from .atoms import CellSystem, atoms_of, components, informative, merged
from .cell_counts import COUNT, CellCounts
from .evidence import Release
from .findings import RuleFinding, Status
from .policy import Policy

MOST_WORK = 2_000_000
"""Entries of all linear programmes together that one search may have, about ten seconds."""
MOST_NODES = 1_000
"""Branches of one programme in whole numbers."""
MOST_GROUPS = 6
"""Groups that one search gives back; there may be more."""
MOST_CELLS = 2_000
"""Published cells that hang together, up to which they are looked at."""
TAKEN = 100
"""Atoms that a programme takes in at a time, of those that its last answer breaks."""
TAKEN_WHOLE = 50
"""Atoms that a programme in whole numbers takes in at a time: its branches grow with them."""
_NEVER = 1e4
_NOTHING = 1e-9
_DENOMINATORS = 60
_SLACK = 1e-6
RULE = "differencing"
MOST_NAMED = 40
"""Cells of a combination that the inside is told."""
MOST_LEVELS = 1_000_000
"""Combinations of levels that are looked at for whether a combination of counts is a group for all of them."""


@dataclass(frozen=True, eq=False)
class _Part:
    """Tallies that hang together, the system that they make, and what was found in it."""

    tallies: list[CellCounts]
    system: CountSystem
    search: GroupSearch

    @property
    def outputs(self) -> list[str]:
        return list(dict.fromkeys(tally.output for tally in self.tallies))

    def output_of(self, variable: int) -> str:
        return self.tallies[self.system.cells[variable][0]].output

    def is_n_alone(self, group: SmallGroup) -> bool:
        """Whether a combination is of numbers of people alone, who differ by missing values."""
        used = [self.tallies[self.system.cells[variable][0]] for variable in group.weights]
        return all(tally.size == 1 and not tally.leaves_out_levels for tally in used)

    def named(self, group: SmallGroup) -> list[str]:
        """The cells of a combination, for the inside."""
        cells = [self.system.cells[variable] for variable in list(group.weights)[:MOST_NAMED]]
        return [
            f"{self.tallies[k].output}, {self.tallies[k].part}: {self.tallies[k].called([cell])[0]}"
            for k, cell in cells
        ]


def differencing_by_several(
    release: Release, policy: Policy, known: Collection[frozenset[str]] = ()
) -> list[RuleFinding]:
    """Return which outputs give away a group of few people together, each group by the fewest outputs that do.

    `known` are the pairs of outputs (or single ones) of which that is said already. Combinations of
    released outputs alone are not told. Where the limit of work came first, the outputs are not assessed.
    """
    tallies, sizes = release.new, release.missing.sizes
    every = [table for some in (*release.before.values(), *tallies.values()) for table in some]
    findings, told = list[RuleFinding](), set(known)
    quantities = sorted(
        {
            what
            for tally in every
            for what in tally.quantities
            if what == COUNT or what.startswith("sum:")
        }
    )
    for quantity in quantities:
        exact = [
            tally
            for tally in every
            if quantity in tally.quantities and tally.base == 1 and tally.width == 0
        ]
        for part in components(merged(informative(exact), sizes)):
            if len({tally.output for tally in part}) < 3:
                continue
            findings += _findings(part, tallies, policy, sizes, told, counts=quantity == COUNT)
    return findings


def _findings(
    tallies: list[CellCounts],
    new: Mapping[str, Sequence[CellCounts]],
    policy: Policy,
    sizes: Sequence[int],
    told: set[frozenset[str]],
    *,
    counts: bool,
) -> list[RuleFinding]:
    least = max(policy.of(tally.kind).threshold for tally in tallies)
    system = count_system(atoms_of(tallies, sizes))
    part = _Part(tallies, system, small_groups(system, least))
    findings: list[RuleFinding] = []
    for group in part.search.groups:
        needed = _fewest(part, group)
        mine = [name for name in new if name in needed]
        outputs = [*mine, *(name for name in needed if name not in new)]
        few = min(policy.of(tally.kind).threshold for tally in tallies if tally.output in outputs)
        if not mine or frozenset(outputs) in told or int(system.people[group.atoms].sum()) >= few:
            continue
        if counts and len(outputs) == 2 and part.is_n_alone(group):
            continue  # two numbers of people that tell how many lack a value: for review, as the two were compared
        told.add(frozenset(outputs))
        others = [name for name in outputs if name != mine[0]]
        first = new[mine[0]][0]
        where = part.named(group)
        together = (
            f"{len(outputs)} outputs together"
            if len(outputs) > 1
            else "Its own totals and cells together"
        )
        words = f"{together} leave fewer than {few} people, whom adding and subtracting their counts shows"
        names = f": {_listed(outputs)}." if len(outputs) > 1 else "."
        status: Status = (
            "fail" if system.complete or _by_definition(part, group, sizes) else "review"
        )
        if status == "review":
            names += " Perhaps only for these records: a person should look."
        alone = others[0] if len(others) == 1 else None
        findings.append(
            first.finding(
                RULE,
                where,
                of=max(first.size, len(where)),
                good="",
                bad=words + names,
                status=status,
                other=alone,
                others=() if alone else others,
            )
        )
    if not part.search.finished:
        mine = [name for name in new if name in part.outputs]
        if mine:
            findings.append(_unfinished(part, mine, new, least))
    return findings


def _by_definition(part: _Part, group: SmallGroup, sizes: Sequence[int]) -> bool:
    """Whether the combination is a group for every combination of levels of the tallies that are in it; False where these are too many to look at."""
    used = sorted({part.system.cells[variable][0] for variable in group.weights})
    some = [part.tallies[k] for k in used]
    atoms = atoms_of(some, sizes, most=MOST_LEVELS)
    if not atoms.complete:
        return False
    system = count_system(atoms)
    weight_of = {part.system.cells[variable]: weight for variable, weight in group.weights.items()}
    scale = int(np.lcm.reduce([weight.denominator for weight in group.weights.values()]))
    whole = np.array(
        [int(weight_of.get((used[k], cell), 0) * scale) for k, cell in system.cells] + [0],
        dtype=np.int64,
    )
    return bool(np.isin(whole[system.variables].sum(axis=1), (0, scale)).all())


def _fewest(part: _Part, group: SmallGroup) -> list[str]:
    """The outputs of which none can be spared, out of those in the combination; those named last are given up first."""
    inside = np.zeros(len(part.system.people))
    inside[group.atoms] = 1.0
    matrix = part.system.matrix
    outputs = [
        name
        for name in part.outputs
        if any(part.output_of(variable) == name for variable in group.weights)
    ]
    variables = np.array([part.output_of(variable) for variable in range(len(part.system.cells))])
    for name in outputs[::-1]:
        rest = [other for other in outputs if other != name]
        some = matrix[:, np.flatnonzero(np.isin(variables, rest))]
        if rest and some.shape[1]:
            weights = np.linalg.lstsq((some.T @ some).toarray(), some.T @ inside, rcond=None)[0]
            if np.abs(some @ weights - inside).max() < _SLACK:
                outputs = rest
    return outputs


def _unfinished(
    part: _Part, mine: list[str], new: Mapping[str, Sequence[CellCounts]], least: int
) -> RuleFinding:
    first = new[mine[0]][0]
    more = " beside those that were found" if part.search.groups else ""
    words = (
        f"Whether {len(part.outputs)} outputs that share columns leave fewer than {least} people together, three or more of them at a time{more}, "
        "was not worked out to the end, up to the limit of work; of the rest nothing is known."
    )
    others = [*mine[1:], *(name for name in part.outputs if name not in mine)]
    return first.finding(
        RULE,
        ["several outputs together"],
        of=first.size,
        good="",
        bad=words,
        status="not assessed",
        others=others,
    )


def _listed(names: Sequence[str]) -> str:
    quoted = [f"'{name}'" for name in names]
    return ", ".join(quoted[:-1]) + f" and {quoted[-1]}"


@dataclass(frozen=True, eq=False)
class CountSystem:
    """Rows: published counts as sums of atoms. `variables` has, for each atom and tally, the number of the known cell that the atom is in; -1: none.

    `cells` are the known cells by tally and number, `counts` how many people each has, `people` how many each atom has.
    """

    variables: Ints
    people: Ints
    cells: tuple[tuple[int, int], ...]
    counts: Ints
    complete: bool

    @property
    def matrix(self) -> Any:
        """Atoms by cells, 1 where the atom is in the cell."""
        from scipy.sparse import csr_array

        atom, tally = np.nonzero(self.variables >= 0)
        return csr_array(
            (np.ones(len(atom)), (atom, self.variables[atom, tally])),
            shape=(len(self.people), len(self.cells)),
        )


class SmallGroup(NamedTuple):
    """A group of few people: the weight of each published cell in the combination, and the atoms of the group."""

    weights: dict[int, Fraction]
    atoms: Ints


class GroupSearch(NamedTuple):
    """The groups that were found, and whether there is no other beyond them."""

    groups: list[SmallGroup]
    finished: bool
    work: int


def count_system(system: CellSystem) -> CountSystem:
    """Return what tallies make known of atoms: cells that are shown, those of nobody taken out with their atoms, which then are known to be empty."""
    known = system.by_cell(lambda tally: ~tally.withheld)
    counts, numbers = system.by_cell(lambda tally: tally.counts), system.numbers
    shown = (numbers >= 0) & known[numbers]
    alive = ~(shown & (counts[numbers] == 0)).any(axis=1) & shown.any(axis=1)
    flat, people = np.where(shown, numbers, -1)[alive], system.people[alive]
    rows, of = (
        np.unique(flat, axis=0, return_inverse=True)
        if len(flat)
        else (flat, np.zeros(0, dtype=np.int64))
    )
    people = np.bincount(of.reshape(-1), weights=people, minlength=len(rows)).astype(np.int64)
    used, starts = np.unique(rows[rows >= 0]), system.starts
    number = np.full(int(starts[-1]) + 1, -1, dtype=np.int64)
    number[used] = np.arange(len(used))
    tally_of = np.searchsorted(starts, used, side="right") - 1
    cells = tuple(zip(tally_of.tolist(), (used - starts[tally_of]).tolist(), strict=True))
    return CountSystem(number[rows], people, cells, counts[used], system.complete)


class _Programmes:
    """Linear programmes over the combinations of published cells that are 0 wherever no group can be, counted.

    Of the many atoms few bind: programmes start with some, and take in those that an answer breaks. Fewer rows allow more, so a largest sum
    below 1 is a proof at any time.
    """

    def __init__(
        self, system: CountSystem, threshold: int, work: int, free: NDArray[np.bool_]
    ) -> None:
        matrix = system.matrix
        self.system, self.threshold, self.left = system, threshold, work
        self.free = np.flatnonzero(free)
        zero = matrix[~free]
        basis = _null_space((zero.T @ zero).toarray())
        values = matrix[self.free] @ basis
        # Combinations that are 0 everywhere say nothing: one dimension for each that is left.
        sizes, vectors = np.linalg.eigh(values.T @ values)
        turn = vectors[:, sizes > _NOTHING * max(float(sizes.max(initial=0.0)), 1.0)]
        self.basis, self.values = basis @ turn, values @ turn
        # A cell of few people that is shown is no find: its atoms are not all in a group.
        small = np.flatnonzero(system.counts < threshold)
        sums = matrix.T.tocsr()[small]
        self.shown = (sums @ matrix) @ self.basis, np.asarray(sums.sum(axis=1)).reshape(-1) - 1.0
        self.people = system.counts.astype(float) @ self.basis
        self.rows = np.zeros(len(self.free), dtype=bool)
        self.some = np.random.default_rng(2).permutation(len(self.free))[
            : 2 * self.basis.shape[1] + 20
        ]
        # Atoms that an earlier answer broke are likely to bind the next.
        self.bound = np.zeros(len(self.free), dtype=bool)

    def most(self, lot: Ints, *, whole: bool = False) -> tuple[float, NDArray[np.float64]] | None:
        """The largest sum of weights on a lot of atoms, or one below 1 that it cannot exceed, and the weights of atoms; None where work ran out.

        `whole`: weights on atoms must be 0 or 1.
        """
        at = np.searchsorted(self.free, lot)
        self.rows[:] = False
        self.rows[self.some] = self.rows[at] = True
        if not whole:
            self.rows |= self.bound
        while (answer := self._answer(at, whole)) is not None:
            value, weights = answer
            if value < 1.0 - _SLACK:
                break
            broken = np.maximum(-weights, weights - 1.0)
            if whole:
                broken = np.maximum(broken, np.abs(weights - np.round(weights)))
            worst = np.argsort(-broken, kind="stable")[: TAKEN_WHOLE if whole else TAKEN]
            worst = worst[(broken[worst] > _SLACK) & ~self.rows[worst]]
            if not len(worst):
                break
            self.rows[worst] = True
            if not whole:
                self.bound[worst] = True
        if answer is None:
            return None
        weights = np.zeros(len(self.system.people))
        weights[self.free] = answer[1]
        return answer[0], weights

    def _answer(self, at: Ints, whole: bool) -> tuple[float, NDArray[np.float64]] | None:
        from scipy.optimize import Bounds, LinearConstraint, milp

        matrix = self.values[self.rows]
        n_atoms, size = matrix.shape
        if self.left < matrix.size:
            return None
        self.left -= int(matrix.size)
        # The weights of combinations, then those of atoms if they must be whole.
        extra = n_atoms if whole else 0
        wide = [
            np.pad(one, ((0, 0), (0, extra)))
            for one in (matrix, self.people[None, :], self.shown[0])
        ]
        if whole:
            wide[0][:, size:] = -np.eye(n_atoms)
        constraints = [
            LinearConstraint(wide[0], 0.0, 0.0 if whole else 1.0),
            LinearConstraint(wide[1], 0.0, self.threshold - 1.0),
        ]
        if len(self.shown[1]):
            constraints.append(LinearConstraint(wide[2], -np.inf, self.shown[1]))
        aim = np.append(-self.values[at].sum(axis=0), np.zeros(extra))
        kind = np.append(np.zeros(size), np.ones(extra))
        # The solver now and then leaves a programme without ends undecided (status 4). No group lies beyond these: its weights on n atoms are 0 or 1, so its
        # combination is at most sqrt(n) over the least singular value that counts, which is 3e-5 or more.
        for end in (np.inf, 1e5 * max(len(self.free), 1) ** 0.5):
            ends = Bounds(
                np.append(np.full(size, -end), np.zeros(extra)),
                np.append(np.full(size, end), np.ones(extra)),
            )
            result = milp(
                aim,
                constraints=constraints,
                bounds=ends,
                integrality=kind,
                options={"node_limit": MOST_NODES},
            )
            if result.status != 4:
                break
        if result.x is None or result.status != 0:
            return None
        return -float(result.fun), self.values @ np.asarray(result.x)[:size]


def _null_space(gram: NDArray[np.float64]) -> NDArray[np.float64]:
    """What a sum of squares leaves at 0, as orthonormal columns."""
    sizes, vectors = np.linalg.eigh(gram)
    return vectors[:, sizes <= _NOTHING * max(float(sizes.max(initial=0.0)), 1.0)]


def small_groups(system: CountSystem, threshold: int, *, work: int | None = None) -> GroupSearch:
    """Return groups of 1 to threshold - 1 people whose number follows from published counts, and whether there can be others.

    Cells that are published themselves are no finds; every atom of a group that is found counts as dealt with.
    """
    left, groups, finished = MOST_WORK if work is None else work, list[SmallGroup](), True
    for atoms in _parts(system):
        part, cells = _part_of(system, atoms)
        search = _searched(part, threshold, left, MOST_GROUPS - len(groups))
        groups += [
            SmallGroup(
                {int(cells[cell]): weight for cell, weight in one.weights.items()}, atoms[one.atoms]
            )
            for one in search.groups
        ]
        left, finished = left - search.work, finished and search.finished
    return GroupSearch(groups, finished, (MOST_WORK if work is None else work) - left)


def _parts(system: CountSystem) -> list[Ints]:
    """The atoms that hang together over published cells, as far as they have a small atom with people in it."""
    if not len(system.people):
        return []
    from scipy.sparse.csgraph import connected_components

    matrix = system.matrix
    of_cell = connected_components(matrix.T @ matrix, directed=False)[1]
    of = of_cell[system.variables.max(axis=1)]
    order = np.argsort(of, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(of[order])) + 1)


def _part_of(system: CountSystem, atoms: Ints) -> tuple[CountSystem, Ints]:
    """Some atoms as a system of their own, and the numbers of its cells in the whole."""
    variables = system.variables[atoms]
    cells = np.unique(variables[variables >= 0])
    number = np.full(len(system.cells) + 1, -1, dtype=np.int64)
    number[cells] = np.arange(len(cells))
    names = tuple(system.cells[cell] for cell in cells)
    return CountSystem(
        number[variables], system.people[atoms], names, system.counts[cells], system.complete
    ), cells


def _candidates(system: CountSystem, threshold: int) -> NDArray[np.bool_]:
    """Which atoms can be in a group of few people, by their leverage.

    Let h be the leverage of an atom with people as weights: the most that a combination of published counts, its squares over all people adding up to 1, can be
    on the atom, squared. A group of k people is 1 on its atoms and has k as the sum of squares, so each of its atoms has h >= 1 / k. Atoms of less
    are in none, and weigh 0 from then on, which lowers what is left to others; so again until nothing changes. A little is added to the diagonal, so that
    combinations are covered whose squared weights add up to 1e5 at most.
    """
    small = (system.people > 0) & (system.people < threshold)
    matrix, weights, ridge = system.matrix, system.people.astype(float), 1e-6
    least = 1.0 / (threshold - 1 + 0.1)
    weights[(system.people > 0) & ~small] = _NEVER
    while small.any():
        gram = (matrix.T @ (matrix * weights[:, None])).toarray()
        inverse = np.linalg.inv(gram + ridge * np.eye(len(gram)))
        at = np.flatnonzero(small)
        leverage = np.zeros(len(at))
        padded = np.pad(inverse, (0, 1))
        for column in system.variables[at].T:
            for other in system.variables[at].T:
                leverage += padded[column, other]
        low = at[leverage < least]
        if not len(low):
            break
        small[low] = False
        weights[low] = _NEVER
    return small


def _searched(system: CountSystem, threshold: int, work: int, most: int) -> GroupSearch:
    small = (system.people > 0) & (system.people < threshold)
    if not small.any():
        return GroupSearch([], True, 0)
    if len(system.cells) > MOST_CELLS:
        return GroupSearch([], False, 0)
    small = _candidates(system, threshold)
    seeds = np.flatnonzero(small)
    groups: list[SmallGroup] = []
    if not len(seeds):
        return GroupSearch(groups, True, 0)
    programmes = _Programmes(system, threshold, work, small | (system.people == 0))
    lots, finished, done = _lots(system, seeds, threshold), True, set[int]()
    while lots:
        lot = np.array([atom for atom in lots.pop() if int(atom) not in done], dtype=np.int64)
        if not len(lot):
            continue
        if len(groups) >= most:
            finished = False
            break
        answer = programmes.most(lot)
        if answer is not None and answer[0] < 1.0 - _SLACK:
            continue
        group = None if answer is None else _exact(system, answer[1], threshold)
        if answer is not None and group is None and len(lot) == 1:
            # Weights that are no group weigh this atom fully: whether a group does takes whole numbers.
            answer = programmes.most(lot, whole=True)
            if answer is not None and answer[0] < 1.0 - _SLACK:
                continue  # no group has it; the weights may be a group without it, found before
            group = None if answer is None else _exact(system, answer[1], threshold)
            finished &= group is not None
        elif answer is None:
            finished = False
        elif group is None:
            lots += [lot[: len(lot) // 2], lot[len(lot) // 2 :]]
        if group is not None:
            groups.append(group)
            done.update(int(atom) for atom in group.atoms)
            lots.append(lot)
    return GroupSearch(groups, finished, work - programmes.left)


def _lots(system: CountSystem, seeds: Ints, threshold: int) -> list[Ints]:
    """Atoms in lots with few of each published cell, so that no lot adds up to 1 by a small share of a large cell."""
    quota = np.maximum((system.counts - 1) // (2 * max(threshold - 1, 1)), 1)
    rest, lots = list(np.random.default_rng(1).permutation(seeds)), list[Ints]()
    while rest:
        left, lot, later = np.append(quota, np.iinfo(np.int64).max), list[int](), list[Any]()
        for atom in rest:
            mine = system.variables[atom]
            if (left[mine] > 0).all():
                left[mine] -= 1
                lot.append(int(atom))
            else:
                later.append(atom)
        lots.append(np.array(lot, dtype=np.int64))
        rest = later
    return lots[::-1]


def _exact(system: CountSystem, weights: NDArray[np.float64], threshold: int) -> SmallGroup | None:
    """The group that the weights of atoms stand for, as a combination of published cells in fractions; None if there is none of few people."""
    inside = weights > 0.5
    if (
        np.abs(weights - inside).max() > 1e-3
        or not 0 < int(system.people[inside].sum()) < threshold
    ):
        return None
    fractions = _combination(system, inside)
    scale = int(np.lcm.reduce([one.denominator for one in fractions.values()] or [1]))
    whole = np.zeros(len(system.cells) + 1, dtype=np.int64)
    for cell, one in fractions.items():
        whole[cell] = int(one * scale)
    if not np.array_equal(whole[system.variables].sum(axis=1), scale * inside):
        return None
    return SmallGroup(fractions, np.flatnonzero(inside))


def _combination(system: CountSystem, inside: NDArray[np.bool_]) -> dict[int, Fraction]:
    """Weights of published cells, as small as may be in sum, that are 1 on some atoms and 0 on the others; anything where there are none."""
    from scipy.optimize import linprog
    from scipy.sparse import hstack

    matrix = system.matrix
    rows = np.zeros(len(inside), dtype=bool)
    rows[np.flatnonzero(inside)[:1_000]] = True
    rows[np.random.default_rng(3).permutation(len(inside))[: 2 * len(system.cells)]] = True
    while True:
        both = hstack([matrix[rows], -matrix[rows]])
        result = linprog(
            np.ones(both.shape[1]), A_eq=both, b_eq=inside[rows].astype(float), method="highs"
        )
        if result.x is None:
            return {}
        weights = result.x[: len(system.cells)] - result.x[len(system.cells) :]
        wrong = np.flatnonzero((np.abs(matrix @ weights - inside) > _SLACK) & ~rows)
        if not len(wrong):
            break
        rows[wrong[: 2 * len(system.cells)]] = True
    return {
        cell: exact
        for cell, weight in enumerate(weights)
        if abs(weight) > _SLACK
        and (exact := Fraction(float(weight)).limit_denominator(_DENOMINATORS))
    }
