"""How large is the largest excess of several attacks on the same people? An estimate, and bounds on both sides.

The largest of several estimates flatters the attacker: of twenty attacks that tell nothing, some one looks as if it told something, and of
attacks with few people it looks like much. The estimate here takes off what choosing the largest adds.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray

from .._base.seeds import Seed, seed_sequence
from .excess import TIE, detectable_excess, excess_error, stretch, value_of
from .family import comparable_attacks, reach_of, upper_bounds
from .panel import AttackPanel, Pair, check_draws
from .rates import Ratio, Statistic
from .splits import child

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class LargestExcess:
    """The largest excess of several attacks, or the reason why nothing can be said of it.

    Parameters
    ----------
    estimate
        Of the largest excess, -1 to 1: as likely below as above it, or more likely below where attacks are nearly alike. None, with `reason`, where no
        attack can be compared.
    lower, upper
        One-sided bounds of the largest excess, each right with the probability `level`. Both are those of `family`: all attacks' bounds hold together.
    unbounded
        How many attacks have no upper bound, since nobody is counted: `upper` says nothing of these.
    strongest
        The number of the attack whose own lower bound is the largest.
    excess
        Of that attack, as it was found, nothing taken off.
    detectable
        The smallest excess that the most precise and the least precise of the attacks find with 80 % power at 5 %.
    """

    estimate: float | None = None
    lower: float | None = None
    upper: float | None = None
    strongest: int | None = None
    excess: float | None = None
    detectable: tuple[float, float] | None = None
    level: float = 0.95
    attacks: int = 0
    unbounded: int = 0
    reason: str = ""


def largest_excess(
    members: Sequence[Pair],
    others: Sequence[Pair],
    *,
    statistics: Sequence[Statistic] | None = None,
    about_nobody: Collection[int] = (),
    resamples: int = 1000,
    level: float = 0.95,
    seed: Seed = None,
    threads: int | None = None,
) -> LargestExcess:
    """Return the largest excess of attacks on the same members and the same others, with bounds.

    Notes
    -----
    Chernozhukov, Lee and Rosen (2013), *Intersection bounds*, Econometrica 81, section 3: of each attack's excess so many of its standard errors are taken
    off as the largest of all reaches in half of the draws of people, and the largest of what is left is the estimate. Only attacks that may well be the
    largest count for how many that are (their adaptive selection), so that one attack that stands out has nothing taken off. People are drawn
    once for all attacks. The upper bound is the largest upper end of intervals that hold together.

    Examples
    --------
    >>> told, ones, people = [1] * 40 + [0] * 10, [1] * 50, [1, 0] * 25
    >>> found = largest_excess([(told, ones), (people, ones)], [(people, ones), (people, ones)], seed=1)
    >>> found.strongest, round(found.excess, 3), 0.2 < found.estimate <= 0.3, found.lower < found.estimate < found.upper
    (0, 0.3, True, True)
    """
    check_draws(resamples, level)
    rules = list(statistics) if statistics is not None else [Ratio()] * len(members)
    comparable, _ = comparable_attacks(members, others, rules)
    if not comparable:
        return LargestExcess(
            level=level,
            reason="none of the attacks can be compared." if members else "there are no attacks.",
        )
    numbers, groups = list(comparable), list(comparable.values())
    panel = AttackPanel.of(
        [m for m, _ in groups], [o for _, o in groups], [rules[j] for j in numbers]
    )
    root = seed_sequence(seed)
    drawn = panel.resampled(resamples, child(root, 1), threads=threads)
    spread = np.full(len(numbers), np.nan)
    if any(
        not isinstance(rules[j], Ratio) for j in numbers
    ):  # the error of class statistics is that of permuted values
        spread = panel.permuted(resamples, child(root, 0), threads=threads).std(axis=0, ddof=1)
    values, errors, plain = [], [], []
    for rule, (ours, theirs), wide in zip(panel.pool.statistics, groups, spread, strict=True):
        values.append(value_of(rule, ours, panel.common) - value_of(rule, theirs, panel.common))
        error, degrees = excess_error(rule, ours, theirs, float(wide) if wide > TIE else None)
        plain.append(error)
        errors.append(error * stretch(degrees, level))
    value, width = np.array(values), np.array(errors)
    lower = value - reach_of(drawn, level) * width
    bounds = upper_bounds(
        members,
        others,
        rules,
        dict(zip(numbers, np.nan_to_num(spread), strict=True)),
        drawn,
        level,
        about_nobody,
    )
    near = _may_be_largest(value, width, drawn, len(groups[0][0][0]) + len(groups[0][1][0]))
    middle = value[near] - reach_of(drawn[:, near], 0.5) * width[near]
    strongest = int(lower.argmax())
    return LargestExcess(
        estimate=_within(middle.max()),
        lower=_within(lower.max()),
        upper=_within(max(bound for bound in bounds if bound is not None)),
        strongest=numbers[strongest],
        excess=float(value[strongest]),
        detectable=(detectable_excess(min(plain)), detectable_excess(max(plain))),
        level=level,
        attacks=len(numbers),
        unbounded=bounds.count(None),
    )


def _may_be_largest(value: Floats, error: Floats, drawn: Floats, people: int) -> NDArray[np.int64]:
    """Return the attacks whose excess may well be the largest: those within twice their reach of the best lower bound, at the level the paper takes."""
    reach = reach_of(drawn, 1 - 0.1 / log(max(people, 3)))
    return np.flatnonzero(value >= (value - reach * error).max() - 2 * reach * error)


def _within(value: float) -> float:
    return float(min(1.0, max(-1.0, value)))
