"""Differencing between outputs: two that are safe on their own, whose cells differ by a few people.

Each output is a label for each record. For two labellings the people they share make a bipartite graph of cells; `kernels.nested` searches
it for a union of cells of one that lies inside a union of cells of the other with 1 to threshold - 1 people between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .findings import Finding, Status, finding
from .policy import Policy
from .tallies import COUNT, Ints, Tally, defined_within

__all__ = ["Difference", "differences", "differencing"]

MOST_CHECKED = 50
"""Of one pair of tallies, how many finds are looked at for whether they hold by definition."""
DENSE = 4_000_000


@dataclass(frozen=True)
class Difference:
    """A union of cells of `outer` that exceeds a union of cells of `inner` by a few people.

    `by_definition`: one lies in the other by the levels that define them; otherwise only for these records, which a reader need not know.
    """

    outer: Tally
    inner: Tally
    cells: tuple[int, ...]
    by_definition: bool


@dataclass(frozen=True, eq=False)
class _Shared:
    """The people that cells of two tallies share, in compressed rows from either side."""

    a: tuple[Ints, Ints, Ints, Ints, Ints]
    b: tuple[Ints, Ints, Ints, Ints, Ints]


def _shared(one: Tally, other: Tally) -> _Shared:
    n_a, n_b = one.size, other.size
    key = (one.known + 1) * (n_b + 1) + other.known + 1
    if (n_a + 1) * (n_b + 1) <= DENSE:
        table = np.bincount(key, minlength=(n_a + 1) * (n_b + 1))
        found = np.flatnonzero(table)
        people = table[found]
    else:
        found, people = np.unique(key, return_counts=True)
    rows, columns = np.divmod(found, n_b + 1)
    both = (rows > 0) & (columns > 0)
    a_out, b_out = np.zeros(n_a, dtype=np.int64), np.zeros(n_b, dtype=np.int64)
    a_out[rows[(columns == 0) & (rows > 0)] - 1] = people[(columns == 0) & (rows > 0)]
    b_out[columns[(rows == 0) & (columns > 0)] - 1] = people[(rows == 0) & (columns > 0)]
    rows, columns, people = rows[both] - 1, columns[both] - 1, people[both].astype(np.int64)
    turned = np.argsort(columns, kind="stable")
    sides = []
    for of, to, shared, out, size in (
        (rows, columns, people, a_out, n_a),
        (columns[turned], rows[turned], people[turned], b_out, n_b),
    ):
        starts = np.searchsorted(of, np.arange(size + 1))
        total = np.bincount(of, weights=shared, minlength=size).astype(np.int64) + out
        sides.append((starts, np.ascontiguousarray(to), shared, total, out))
    return _Shared(sides[0], sides[1])


def _searched(outer: tuple[Ints, ...], inner: tuple[Ints, ...], threshold: int, only: int = -1) -> NDArray[Any]:
    from .kernels import nested

    return np.asarray(nested(*outer, *inner, threshold, only))


def differences(one: Tally, other: Tally, threshold: int) -> list[Difference]:
    """Return where unions of cells of two tallies, one inside the other, differ by 1 to threshold - 1 people.

    At most one is returned for each direction: one that holds by definition, if there is any.
    """
    shared, made = _shared(one, other), list[Difference]()
    for outer, inner, a, b in ((one, other, shared.a, shared.b), (other, one, shared.b, shared.a)):
        seeds = np.flatnonzero(_searched(a, b, threshold))
        cells, defined = set[int](), False
        for seed in seeds[:MOST_CHECKED]:
            marks = _searched(a, b, threshold, int(seed)) > 0
            union, inside = marks[: outer.size], np.flatnonzero(marks[outer.size :])
            found = defined_within(inner, inside, outer, union)
            if found and not defined:
                cells, defined = set(), True
            if found == defined:
                cells.update(int(cell) for cell in np.flatnonzero(union))
        if cells:
            made.append(Difference(outer, inner, tuple(sorted(cells)), defined))
    return made


def differencing(
    tallies: dict[str, Sequence[Tally]], released: dict[str, Sequence[Tally]], policy: Policy
) -> list[Finding]:
    """Return, for each pair of outputs, whether cells, totals or populations of the two differ by a few people.

    Parameters
    ----------
    tallies
        The tallies of each output that is to be checked, by its name.
    released
        Those of outputs that are out already; they are compared with the new ones only.
    policy
        The policy. Exact counts (or sums of the same column) that differ by definition fail. For a person to look at are: counts whose
        rounding or decimals leave less open than the threshold; cells that lie in each other only for these records; and the same
        regression on two populations.
    """
    if not policy.differencing:
        return []
    made, cache = list[Finding](), _Cache()
    for mine in tallies.values():
        if found := _compared(mine, mine, policy, cache):
            made.append(_told(mine[0], None, found, policy))
    pairs = [(a, b, tallies[b]) for a, b in combinations(tallies, 2)]
    pairs += [(a, b, theirs) for a in tallies for b, theirs in released.items()]
    for a, b, theirs in pairs:
        if found := _compared(tallies[a], theirs, policy, cache):
            made.append(_told(tallies[a][0], b, found, policy))
    noted = {one.output for one in made} | {one.other for one in made}
    for name, mine in tallies.items():
        if name not in noted:
            good = "No cell or total differs from another output's by fewer people than the threshold."
            made.append(finding(name, mine[0].kind, "differencing", [], of=mine[0].size, good=good, bad=""))
    return made


_Cache = dict[tuple[bytes, bytes, int], list[Difference]]


def _compared(
    mine: Sequence[Tally], theirs: Sequence[Tally], policy: Policy, cache: _Cache
) -> list[tuple[Difference, Status]]:
    found: list[tuple[Difference, Status]] = []
    printed = [one for one in mine if not one.implied]  # what is implied adds nothing to what it is implied by
    pairs = combinations(printed, 2) if mine is theirs else ((a, b) for a in mine for b in theirs)
    for one, other in pairs:
        if one.key == other.key:
            continue
        common = one.quantities & other.quantities
        open_to = one.width + other.width
        least = min(policy.of(one.kind).threshold, policy.of(other.kind).threshold)
        if not common or open_to >= least:
            continue
        plain = any(what == COUNT or what.startswith("sum:") for what in common)
        key = (one.key, other.key, least)  # outputs share margins and totals
        if key not in cache:
            cache[key] = cache[other.key, one.key, least] = differences(one, other, least)
        for difference in cache[key]:
            sure = plain and open_to == 0 and difference.by_definition
            found.append((difference, "fail" if sure else "review"))
    return found


def _told(cells: Tally, other: str | None, found: list[tuple[Difference, Status]], policy: Policy) -> Finding:
    status: Status = "fail" if any(verdict == "fail" for _, verdict in found) else "review"
    where = [
        f"{difference.outer.part}: {name}"
        for difference, verdict in found
        if verdict == status
        for name in difference.outer.called(difference.cells)
    ]
    where = list(dict.fromkeys(where))
    least = policy.of(cells.kind).threshold
    beside = "Its own totals and cells" if other is None else "Cells or populations of the two outputs"
    why = "" if status == "fail" else " Only for these records, or only nearly: a person should look."
    return finding(
        cells.output,
        cells.kind,
        "differencing",
        where,
        of=max(cells.size, len(where)),
        good="",
        bad=f"{beside} differ by fewer than {least} people, whom subtracting one from the other shows.{why}",
        status=status,
        other=other,
    )
