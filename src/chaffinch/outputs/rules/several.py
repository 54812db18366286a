"""Differencing by several outputs at once: a combination of counts of three and more that leaves a few people.

All exact counts make one linear system (`small_groups.py`), taken apart into what hangs together over shared columns. Pairs of outputs are compared
by `differencing.py`, which also sees what holds for these records only; here a group must be one by definition.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .atoms import atoms_of, components, informative, merged
from .findings import Finding, Status
from .policy import Policy
from .small_groups import CountSystem, GroupSearch, SmallGroup, count_system, small_groups
from .tallies import COUNT, OutputTally

RULE = "differencing"
MOST_NAMED = 40
"""Cells of a combination that the inside is told."""
MOST_LEVELS = 1_000_000
"""Combinations of levels that are looked at for whether a combination of counts is a group for all of them."""
_SLACK = 1e-6


@dataclass(frozen=True, eq=False)
class _Part:
    """Tallies that hang together, the system that they make, and what was found in it."""

    tallies: list[OutputTally]
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
    tallies: Mapping[str, Sequence[OutputTally]],
    released: Mapping[str, Sequence[OutputTally]],
    policy: Policy,
    sizes: Sequence[int],
    known: Collection[frozenset[str]] = (),
) -> list[Finding]:
    """Return which outputs give away a group of few people together, each group by the fewest outputs that do.

    `sizes` are the numbers of levels of all columns, `known` the pairs of outputs (or single ones) of which that is said already. Combinations of
    released outputs alone are not told. Where the limit of work came first, the outputs are not assessed.
    """
    every = [tally for some in (*released.values(), *tallies.values()) for tally in some]
    findings, told = list[Finding](), set(known)
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
    tallies: list[OutputTally],
    new: Mapping[str, Sequence[OutputTally]],
    policy: Policy,
    sizes: Sequence[int],
    told: set[frozenset[str]],
    *,
    counts: bool,
) -> list[Finding]:
    least = max(policy.of(tally.kind).threshold for tally in tallies)
    system = count_system(tallies, atoms_of(tallies, sizes))
    part = _Part(tallies, system, small_groups(system, least))
    findings: list[Finding] = []
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
    system = count_system(some, atoms)
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
    part: _Part, mine: list[str], new: Mapping[str, Sequence[OutputTally]], least: int
) -> Finding:
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
