"""Rules on numbers of people's own: dominance in sums and means, degrees of freedom of spreads, quantiles that are someone's value.

The formulas are ACRO's (`sdcchecks.py`), with x1 >= x2 >= ... the values of a group and T their sum:

    n-k:       fails if  (x1 + ... + xn) / T >= k
    p-ratio:   fails if  (T - x1 - x2) / x1 < p

Both are for values of at least 0, and only where T, or x1, is above 0; a group with a value below 0 is for a person to look at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..columns import Floats
from ..precision import printed
from .findings import Finding, some
from .policy import Policy
from .tallies import Ints, OutputTally

__all__ = ["Dominance", "dominance", "group_rules", "quantile_rules", "spread_rule"]

_SLACK = 1e-12


class Dominance(NamedTuple):
    """Which groups break which rule; `negative`: has values below 0; `equal`: two or more people, all with the same value."""

    nk: NDArray[np.bool_]
    p_ratio: NDArray[np.bool_]
    negative: NDArray[np.bool_]
    equal: NDArray[np.bool_]


def dominance(values: Floats, labels: Ints, size: int, policy: Policy) -> Dominance:
    """Return which groups of values a few people dominate.

    Examples
    --------
    Of 100 the two largest have 91, and the others 9, which is more than a tenth of 50:

    >>> broken = dominance(np.array([50.0, 41.0, 5.0, 4.0]), np.zeros(4, dtype=np.int64), 1, Policy())
    >>> broken.nk.tolist(), broken.p_ratio.tolist()
    ([True], [False])
    """
    inside = labels >= 0
    values, labels = values[inside], labels[inside]
    order = np.lexsort((-values, labels))
    values, labels = values[order], labels[order]
    counts = np.bincount(labels, minlength=size)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    padded = np.concatenate([values, [0.0]])

    def largest(k: int) -> Floats:
        return np.where(counts > k, padded[np.minimum(starts + k, len(values))], 0.0)

    total = np.bincount(labels, weights=values, minlength=size)
    top = sum((largest(k) for k in range(policy.nk_n)), np.zeros(size))
    first, second = largest(0), largest(1)
    last = np.where(counts > 0, padded[np.maximum(starts + counts - 1, 0)], 0.0)
    negative = (counts > 0) & (last < 0)
    usable = (counts > 0) & ~negative
    return Dominance(
        usable & (total > 0) & (top >= policy.nk_k * total * (1 - _SLACK)),
        usable & (first > 0) & (total - first - second < policy.p_ratio * first * (1 - _SLACK)),
        negative,
        (counts > 1) & (first == last),
    )


def group_rules(cells: OutputTally, values: Floats, policy: Policy) -> list[Finding]:
    """Return what dominance says of numbers by groups, and whether all people of a group have the same one."""
    broken = dominance(values, cells.labels, cells.size, policy)
    shown = ~cells.withheld & (cells.counts > 0)
    of, findings, unclear = int(shown.sum()), list[Finding](), cells.named(broken.negative & shown)
    below = f"In {some(len(unclear), of, 'group')} there are values below 0, for which dominance is not defined."
    top = f"the {policy.nk_n} largest values make up at least {policy.nk_k:.0%} of the sum"
    rest = f"all but the two largest values are less than {policy.p_ratio:.0%} of the largest"
    for rule, broke, words in (("n-k dominance", broken.nk, top), ("p-ratio", broken.p_ratio, rest)):
        where, good = cells.named(broke & shown), f"There is no group of which it is true that {words}."
        bad = f"In {some(len(where), of, 'group')} {words}."
        findings.append(cells.finding(rule, where, of=of, good=good, bad=bad))
        if unclear:
            findings.append(cells.finding(rule, unclear, of=of, good="", bad=below, status="review"))
    same = cells.named(broken.equal & shown & (cells.counts >= policy.threshold))
    good, bad = (
        "In no group do all people have the same value.",
        f"In {some(len(same), of, 'group')} all people have the same value.",
    )
    return [*findings, cells.finding("class disclosure", same, of=of, good=good, bad=bad, status="review")]


def spread_rule(cells: OutputTally, policy: Policy) -> Finding:
    """Return whether spreads of groups have enough degrees of freedom."""
    shown, least = ~cells.withheld & (cells.counts > 0), policy.residual_dof
    of, where = int(shown.sum()), cells.named(shown & (cells.counts - 1 < least))
    good = f"Every spread has at least {least} degrees of freedom."
    bad = f"The spread of {some(len(where), of, 'group')} has fewer than {least} degrees of freedom."
    return cells.finding("residual degrees of freedom", where, of=of, good=good, bad=bad)


def quantile_rules(
    cells: OutputTally, values: Floats, points: Sequence[float], decimals: int | None, policy: Policy
) -> list[Finding]:
    """Return whether quantiles are values of a few people, and whether few people lie beyond one.

    A quantile as printed is the value of those people of the group whose own values print the same. At 0 and 1 (smallest and largest) few
    such people fail; in between they are for a person to look at.
    """
    ends, shared, beyond = list[str](), list[str](), list[str]()
    of = 0
    order = np.argsort(cells.labels, kind="stable")
    starts = np.searchsorted(cells.labels[order], np.arange(cells.size + 1))
    for group, name in enumerate(cells.called(np.arange(cells.size))):
        mine = np.sort(values[order[starts[group] : starts[group + 1]]])
        n = len(mine)
        if n == 0 or cells.withheld[group]:
            continue
        for q in points:
            of += 1
            at, value = f"{name} at {q:g}", float(np.quantile(mine, q))
            low, high = printed(value if decimals is None else round(value, decimals), decimals=decimals)
            have = int(np.searchsorted(mine, high, side="right") - np.searchsorted(mine, low, side="left"))
            if 0 < have < policy.threshold:
                (ends if q in (0.0, 1.0) else shared).append(at)
            if 0.0 < q < 1.0 and min(q, 1.0 - q) * n < policy.threshold:
                beyond.append(at)
    least = policy.threshold
    few = f"{some(len(shared), of, 'quantile').capitalize()}: the value itself of fewer than {least} people."
    tail = f"Fewer than {least} people lie beyond {some(len(beyond), of, 'quantile')}."
    no_few = f"No quantile is the value of fewer than {least} people."
    no_tail = f"Beyond every quantile there are {least} people or more."
    findings = [
        cells.finding("quantile of a few", shared, of=of, good=no_few, bad=few, status="review"),
        cells.finding("beyond a quantile", beyond, of=of, good=no_tail, bad=tail, status="review"),
    ]
    if ends:
        bad = f"{some(len(ends), of, 'quantile').capitalize()}: the smallest or largest value, which fewer than {least} people have."
        findings.append(cells.finding("ends", ends, of=of, good="", bad=bad))
    return findings
