"""Groups of few people that follow from a combination of counts of three and more outputs.

With one unknown an atom and one row a published cell, a combination of counts is a group of people if its weights are 0 or 1 on every atom.
Weights on atoms with the threshold's people or more must be 0, and so must those on atoms whose leverage is too low (`_find_candidates`), which in most sets of outputs
leaves none. What is left is tried in batches, to look for all groups at once: the largest sum of weights on a
batch, under weights between 0 and 1 and fewer people in all than the threshold, is a linear programme. If it stays below 1, no atom of the batch is in any such group,
which is a proof; if not, the batch is halved. What a programme proposes is worked out again in fractions before it is believed.
Work is counted in programmes and their sizes, not in seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Literal, NamedTuple

import numpy as np

from ..._base.arrays import Floats, Ints, Mask
from .atoms import Atoms

MAX_WORK = 2_000_000
"""Entries of all linear programmes together that one search may have, about ten seconds."""
MAX_NODES = 1_000
"""Branches of one programme in whole numbers."""
MAX_GROUPS = 6
"""Groups that one search gives back; there may be more."""
MAX_CELLS = 2_000
"""Published cells of a connected part, up to which they are looked at."""
N_ADDED = 100
"""Atoms that a programme takes in at a time, of those that its last answer breaks."""
N_ADDED_WHOLE = 50
"""Atoms that a programme in whole numbers takes in at a time: its branches grow with them."""
_HEAVY = 1e4
_ZERO = 1e-9
_MAX_DENOMINATOR = 60
_SLACK = 1e-6


class SmallGroup(NamedTuple):
    """A group of few people: the weight of each published cell in the combination, its atoms, and its size."""

    weights: dict[int, Fraction]
    atoms: Ints
    n_people: int


class GroupSearch(NamedTuple):
    """The groups that were found, and whether there is no other beyond them."""

    groups: list[SmallGroup]
    finished: bool
    work: int


def find_small_groups(atoms: Atoms, threshold: int, *, work: int | None = None) -> GroupSearch:
    """Return groups of 1 to threshold - 1 people whose number follows from published counts, and whether there can be others.

    All cells of `atoms` are published; these are no finds themselves. Every atom of a group that is found counts as dealt with.
    """
    limit = MAX_WORK if work is None else work
    work_left, groups, finished = limit, list[SmallGroup](), True
    for part_atoms in _connected_parts(atoms):
        numbers, people = atoms.numbers[part_atoms], atoms.people[part_atoms]
        search = _search_part(
            atoms.renumbered(numbers, people), threshold, work_left, MAX_GROUPS - len(groups)
        )
        cells = np.unique(numbers[numbers >= 0])
        for group in search.groups:
            weights = {int(cells[cell]): weight for cell, weight in group.weights.items()}
            groups.append(group._replace(weights=weights, atoms=part_atoms[group.atoms]))
        work_left, finished = work_left - search.work, finished and search.finished
    return GroupSearch(groups, finished, limit - work_left)


def _connected_parts(atoms: Atoms) -> list[Ints]:
    """The atoms of each part whose published cells share atoms."""
    if not len(atoms.people):
        return []
    from scipy.sparse.csgraph import connected_components

    part_of_cell = connected_components(atoms.matrix @ atoms.matrix.T, directed=False)[1]
    part_of_atom = part_of_cell[atoms.numbers.max(axis=1)]
    order = np.argsort(part_of_atom, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(part_of_atom[order])) + 1)


def _search_part(atoms: Atoms, threshold: int, work: int, max_groups: int) -> GroupSearch:
    small = (atoms.people > 0) & (atoms.people < threshold)
    if not small.any():
        return GroupSearch([], True, 0)
    if len(atoms.cells) > MAX_CELLS:
        return GroupSearch([], False, 0)
    small = _find_candidates(atoms, threshold)
    if not small.any():
        return GroupSearch([], True, 0)
    programmes = _Programmes(atoms, threshold, work, small | (atoms.people == 0))
    batches, groups = _deal_batches(atoms, np.flatnonzero(small), threshold), list[SmallGroup]()
    finished, done = True, np.zeros(len(small), dtype=bool)
    while batches:
        batch = batches.pop()
        batch = batch[~done[batch]]
        if not len(batch):
            continue
        if len(groups) >= max_groups:
            finished = False
            break
        verdict, group = _look_at(programmes, batch)
        if group is not None:
            groups.append(group)
            done[group.atoms] = True
            batches.append(batch)
        elif verdict == "open" and len(batch) > 1:
            batches += [batch[: len(batch) // 2], batch[len(batch) // 2 :]]
        elif verdict != "none":
            finished = False
    return GroupSearch(groups, finished, work - programmes.left)


def _look_at(
    programmes: _Programmes, batch: Ints
) -> tuple[Literal["none", "open", "unknown"], SmallGroup | None]:
    """Whether an atom of a batch is in a group, and one that was found; weights may be no group, and then only of one atom whole numbers say more."""
    for whole_numbers in (False, True) if len(batch) == 1 else (False,):
        answer = programmes.largest_sum(batch, whole_numbers=whole_numbers)
        if answer is None:
            return "unknown", None
        value, weights = answer
        if value < 1.0 - _SLACK:
            return "none", None
        group = _verify_group(programmes.atoms, weights, programmes.threshold)
        if group is not None:
            return "open", group
    return "open", None


def _find_candidates(atoms: Atoms, threshold: int) -> Mask:
    """Which atoms can be in a group of few people, by their leverage.

    Let h be the leverage of an atom with people as weights: the most that a combination of published counts, its squares over all people adding up to 1, can be
    on the atom, squared. A group of k people is 1 on its atoms and has k as the sum of squares, so each of its atoms has h >= 1 / k. Atoms of less
    are in none, and weigh 0 from then on, which lowers what is left to others; so again until nothing changes. A little is added to the diagonal, so that
    combinations are covered whose squared weights add up to 1e5 at most.
    """
    small = (atoms.people > 0) & (atoms.people < threshold)
    matrix, weights, ridge = atoms.by_atom, atoms.people.astype(float), 1e-6
    min_leverage = 1.0 / (threshold - 1 + 0.1)
    weights[(atoms.people > 0) & ~small] = _HEAVY
    while small.any():
        gram = (matrix.T @ (matrix * weights[:, None])).toarray()
        inverse = np.pad(np.linalg.inv(gram + ridge * np.eye(len(gram))), (0, 1))
        candidates = np.flatnonzero(small)
        leverage = np.zeros(len(candidates))
        for column in atoms.numbers[candidates].T:
            for other in atoms.numbers[candidates].T:
                leverage += inverse[column, other]
        low = candidates[leverage < min_leverage]
        if not len(low):
            break
        small[low] = False
        weights[low] = _HEAVY
    return small


def _deal_batches(atoms: Atoms, candidates: Ints, threshold: int) -> list[Ints]:
    """Atoms in batches with few of each published cell, so that no batch adds up to 1 by a small share of a large cell."""
    quota = np.maximum((atoms.counts - 1) // (2 * max(threshold - 1, 1)), 1)
    rest, batches = list(np.random.default_rng(1).permutation(candidates)), list[Ints]()
    while rest:
        cells_left, batch, later = (
            np.append(quota, np.iinfo(np.int64).max),
            list[int](),
            list[Any](),
        )
        for atom in rest:
            cells = atoms.numbers[atom]
            if (cells_left[cells] > 0).all():
                cells_left[cells] -= 1
                batch.append(int(atom))
            else:
                later.append(atom)
        batches.append(np.array(batch, dtype=np.int64))
        rest = later
    return batches[::-1]


class _Programmes:
    """Linear programmes over the combinations of published cells that are 0 wherever no group can be, counted.

    Of the many atoms few bind: programmes start with some, and take in those that an answer breaks. Fewer rows allow more, so a largest sum
    below 1 is a proof at any time.
    """

    def __init__(self, atoms: Atoms, threshold: int, work: int, free: Mask) -> None:
        matrix = atoms.by_atom
        self.atoms, self.threshold, self.left = atoms, threshold, work
        self.free = np.flatnonzero(free)
        zero = matrix[~free]
        basis = _null_space((zero.T @ zero).toarray())
        values = matrix[self.free] @ basis
        # Combinations that are 0 everywhere say nothing: one dimension for each that is left.
        sizes, vectors = np.linalg.eigh(values.T @ values)
        rotation = vectors[:, sizes > _ZERO * max(float(sizes.max(initial=0.0)), 1.0)]
        self.basis, self.values = basis @ rotation, values @ rotation
        # A cell of few people that is shown is no find: its atoms are not all in a group.
        small = np.flatnonzero(atoms.counts < threshold)
        sums = matrix.T.tocsr()[small]
        self.small_cells = (sums @ matrix) @ self.basis
        self.small_limits = np.asarray(sums.sum(axis=1)).reshape(-1) - 1.0
        self.people = atoms.counts.astype(float) @ self.basis
        order = np.random.default_rng(2).permutation(len(self.free))
        self.first_rows = order[: 2 * self.basis.shape[1] + 20]
        # Atoms that an earlier answer broke are likely to bind the next.
        self.bound = np.zeros(len(self.free), dtype=bool)

    def largest_sum(
        self, batch: Ints, *, whole_numbers: bool = False
    ) -> tuple[float, Floats] | None:
        """Return the largest sum of weights on a batch of atoms, or one below 1 that it cannot exceed, and the weights of atoms; None where work ran out.

        `whole_numbers`: weights on atoms must be 0 or 1.
        """
        index = np.searchsorted(self.free, batch)
        rows = np.zeros(len(self.free), dtype=bool) if whole_numbers else self.bound.copy()
        rows[self.first_rows] = rows[index] = True
        while (answer := self._solve(rows, index, whole_numbers)) is not None:
            value, weights = answer
            broken = np.maximum(-weights, weights - 1.0)
            if whole_numbers:
                broken = np.maximum(broken, np.abs(weights - np.round(weights)))
            worst = np.argsort(-broken, kind="stable")
            worst = worst[: N_ADDED_WHOLE if whole_numbers else N_ADDED]
            worst = worst[(broken[worst] > _SLACK) & ~rows[worst]]
            if value < 1.0 - _SLACK or not len(worst):
                by_atom = np.zeros(len(self.atoms.people))
                by_atom[self.free] = weights
                return value, by_atom
            rows[worst] = True
            if not whole_numbers:
                self.bound[worst] = True
        return None

    def _solve(self, rows: Mask, index: Ints, whole_numbers: bool) -> tuple[float, Floats] | None:
        """The largest sum of weights on some atoms, where those of `rows` keep to 0 and 1."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        matrix = self.values[rows]
        n_atoms, size = matrix.shape
        if self.left < matrix.size:
            return None
        self.left -= int(matrix.size)
        # The weights of combinations, then those of atoms if they must be whole.
        extra = n_atoms if whole_numbers else 0
        on_atoms, on_people, on_cells = (
            np.pad(block, ((0, 0), (0, extra)))
            for block in (matrix, self.people[None, :], self.small_cells)
        )
        if whole_numbers:
            on_atoms[:, size:] = -np.eye(n_atoms)
        constraints = [
            LinearConstraint(on_atoms, 0.0, 0.0 if whole_numbers else 1.0),
            LinearConstraint(on_people, 0.0, self.threshold - 1.0),
        ]
        if len(self.small_limits):
            constraints.append(LinearConstraint(on_cells, -np.inf, self.small_limits))
        aim = np.append(-self.values[index].sum(axis=0), np.zeros(extra))
        # The solver now and then leaves a programme without ends undecided (status 4). No group lies beyond these: its weights on n atoms are 0 or 1, so its
        # combination is at most sqrt(n) over the least singular value that counts, which is 3e-5 or more.
        for end in (np.inf, 1e5 * max(len(self.free), 1) ** 0.5):
            result = milp(
                aim,
                constraints=constraints,
                bounds=Bounds(
                    np.append(np.full(size, -end), np.zeros(extra)),
                    np.append(np.full(size, end), np.ones(extra)),
                ),
                integrality=np.append(np.zeros(size), np.ones(extra)),
                options={"node_limit": MAX_NODES},
            )
            if result.status != 4:
                break
        if result.x is None or result.status != 0:
            return None
        return -float(result.fun), self.values @ np.asarray(result.x)[:size]


def _null_space(gram: Floats) -> Floats:
    """What a sum of squares leaves at 0, as orthonormal columns."""
    sizes, vectors = np.linalg.eigh(gram)
    return np.asarray(vectors[:, sizes <= _ZERO * max(float(sizes.max(initial=0.0)), 1.0)])


def _verify_group(atoms: Atoms, weights: Floats, threshold: int) -> SmallGroup | None:
    """The group that the weights of atoms say, as a combination of published cells in fractions; None if there is none of few people."""
    inside = weights > 0.5
    n_people = int(atoms.people[inside].sum())
    if np.abs(weights - inside).max() > 1e-3 or not 0 < n_people < threshold:
        return None
    fractions = _find_combination(atoms, inside)
    group = SmallGroup(fractions, np.flatnonzero(inside), n_people)
    sums, scale = add_up_exactly(atoms, fractions)
    return group if np.array_equal(sums, scale * inside) else None


def add_up_exactly(atoms: Atoms, weights: Mapping[int, Fraction]) -> tuple[Ints, int]:
    """Return the weight of each atom under weights of cells, and the number that all are multiplied by to be whole."""
    scale = int(np.lcm.reduce([weight.denominator for weight in weights.values()] or [1]))
    scaled = np.zeros(len(atoms.cells) + 1, dtype=np.int64)
    for cell, weight in weights.items():
        scaled[cell] = int(weight * scale)
    return scaled[atoms.numbers].sum(axis=1), scale


def _find_combination(atoms: Atoms, inside: Mask) -> dict[int, Fraction]:
    """Weights of published cells, as small as may be in sum, that are 1 on some atoms and 0 on the others; anything where there are none."""
    from scipy.optimize import linprog
    from scipy.sparse import hstack

    matrix, n_cells = atoms.by_atom, len(atoms.cells)
    rows = np.zeros(len(inside), dtype=bool)
    rows[np.flatnonzero(inside)[:1_000]] = True
    rows[np.random.default_rng(3).permutation(len(inside))[: 2 * n_cells]] = True
    while True:
        signed = hstack([matrix[rows], -matrix[rows]])
        result = linprog(
            np.ones(2 * n_cells), A_eq=signed, b_eq=inside[rows].astype(float), method="highs"
        )
        if result.x is None:
            return {}
        weights = result.x[:n_cells] - result.x[n_cells:]
        wrong = np.flatnonzero((np.abs(matrix @ weights - inside) > _SLACK) & ~rows)
        if not len(wrong):
            break
        rows[wrong[: 2 * n_cells]] = True
    return {
        cell: exact
        for cell, weight in enumerate(weights)
        if abs(weight) > _SLACK
        and (exact := Fraction(float(weight)).limit_denominator(_MAX_DENOMINATOR))
    }
