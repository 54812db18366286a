"""The excess risk of members of the original data over people who are not in it: one attack, with
its uncertainty.

An attack from a fixed synthetic table scores every person by two numbers (see `rates`). The excess
is the value for the original's people less the value for the holdout's. All is conditional on the
synthetic table, whose own randomness comes in by `combine`. People are taken as drawn independently
from one population.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf, isinf, sqrt
from typing import Any

import numpy as np

from .._base.arrays import Floats
from .._base.errors import InputError
from .._base.seeds import Seed, child, seed_sequence
from .intervals import clopper_pearson, student_quantile, wilson
from .panel import AttackPanel, Pair, check_draws, check_groups
from .rates import Group, Ratio, Statistic

NO_HOLDOUT = (
    "No holdout was given, so it is not known how much the attack tells about people who are not in the original data, "
    "and no excess can be stated. Splitting the original afterwards is no holdout: both halves trained the generator."
)
"""Why there is no excess without a holdout."""

TIE = 1e-8
"""Differences this near the observed one count as equal to it: exact ties of scores such as 1/3 +
2/3 = 1.
"""


@dataclass(frozen=True, kw_only=True)
class Excess:
    """The excess of an attack's value for members over its value for others, or the reason why
    there is none.

    Parameters
    ----------
    value
        members - others, -1 to 1: 0 expected of people who are alike, higher is riskier. None, with
        `reason`, where one group
        has no value.
    members, others
        The values that are compared. Class statistics (`rates.ClassStatistic`) of groups of unequal
        size are compared at the size
        of the smaller group, so that of the larger is not its plain value.
    interval
        Two-sample interval of the excess: percentiles of people resampled within each group, scaled
        to the standard error and
        stretched as Welch's interval is where few people count.
    standard_error
        Of the excess: each group with a variance of its own; of class statistics, that of the
        permuted values.
    p_value
        Of "members and others are alike", one-sided: the share of random choices of members with an
        excess as large, the one
        that was observed counted among them.
    p_two_sided
        The same, for an excess as far out on either side: twice the smaller one-sided share.
    null_error, detectable
        The standard error if members and others are alike, and the smallest excess that is then
        found with 80 % power at 5 %,
        one-sided. None where all people score the same: nothing shows what would be found.
    """

    value: float | None
    members: float | None = None
    others: float | None = None
    interval: tuple[float, float] | None = None
    standard_error: float | None = None
    p_value: float | None = None
    p_two_sided: float | None = None
    null_error: float | None = None
    detectable: float | None = None
    n_members: int
    n_others: int
    level: float = 0.95
    resamples: int = 1000
    reason: str = ""
    notes: tuple[str, ...] = field(default=())


def excess(
    members: Pair,
    others: Pair,
    *,
    statistic: Statistic | None = None,
    resamples: int = 1000,
    level: float = 0.95,
    seed: Seed = None,
    threads: int | None = None,
) -> Excess:
    """Return the excess of an attack's value for members over its value for others.

    `members`, `others`: two numbers for each person of the original and of the holdout, (numerator,
    weight) unless `statistic` says otherwise. `resamples`: random choices of members for the
    p-value, and as many draws of people for the interval. `threads`: how many work; no result
    depends on it.

    Examples
    --------
    >>> found = excess(([1] * 90 + [0] * 10, [1] * 100), ([1] * 50 + [0] * 50, [1] * 100), seed=1)
    >>> round(found.value, 3), round(found.standard_error, 3), round(found.p_value, 4), round(found.detectable, 3)
    (0.4, 0.059, 0.001, 0.162)
    """
    check_draws(resamples, level)
    rule = Ratio() if statistic is None else statistic
    first, second, reason = check_groups(members, others, rule)
    sizes = {
        "n_members": len(first[0]),
        "n_others": len(second[0]),
        "level": level,
        "resamples": resamples,
    }
    if reason:
        return Excess(value=None, reason=f"There is no excess: {reason}", **sizes)  # type: ignore[arg-type]
    root = seed_sequence(seed)
    panel = AttackPanel.from_groups([first], [second], [rule])
    ours, theirs = (value_of(rule, group, panel.common) for group in (first, second))
    value = ours - theirs
    permuted = panel.permuted(resamples, child(root, 0), threads=threads)[:, 0]
    greater, two_sided = p_values(permuted, float(panel.observed()[0]))
    null_error = _null_error(rule, first, second, permuted)
    error, degrees = excess_error(rule, first, second, null_error)
    # A class statistic loses classes when people are drawn twice (see ClassStatistic.variance): its shape is the permuted one.
    ratio = isinstance(rule, Ratio)
    draws = panel.resampled(resamples, child(root, 1), threads=threads)[:, 0] if ratio else permuted
    return Excess(
        value=value,
        members=ours,
        others=theirs,
        interval=_between(value, error * stretch(degrees, 0.5 + level / 2), draws, level, low=-1.0),
        standard_error=error,
        p_value=greater,
        p_two_sided=two_sided,
        null_error=null_error,
        detectable=None if null_error is None else detectable_excess(null_error),
        notes=_notes(rule, first, second, null_error),
        **sizes,  # type: ignore[arg-type]
    )


def interval(
    numerator: Any,
    weight: Any,
    *,
    statistic: Statistic | None = None,
    resamples: int = 1000,
    level: float = 0.95,
    seed: Seed = None,
) -> tuple[float, float] | None:
    """Return the interval of an attack's value for one group of people; None for a group without a
    value.

    People are resampled; the shape is that of the resampled values (percentiles), the scale the
    standard error, which is known exactly for means, stretched as Student's interval is for few
    people: draws decide only how lopsided it is. A group whose people all score alike gets Wilson's
    distance: that all of ten people were found does not make a rate of 1 certain. Class statistics
    get the jackknife's error and Student's points, without draws (see `ClassStatistic.variance`).

    Examples
    --------
    >>> [round(end, 3) for end in interval([1] * 30 + [0] * 70, [1] * 100, seed=1)]
    [0.208, 0.393]
    >>> [round(end, 3) for end in interval([1] * 10, [1] * 10, seed=1)]
    [0.722, 1.0]
    """
    check_draws(resamples, level)
    rule = Ratio() if statistic is None else statistic
    group, _, reason = check_groups((numerator, weight), (numerator, weight), rule)
    if reason:
        return None
    value = value_of(rule, group, len(group[0]))
    error, degrees = _error(group, rule, len(group[0]))
    error *= stretch(degrees, 0.5 + level / 2)
    if not isinstance(rule, Ratio):
        return _between(value, error, np.zeros(2), level, low=0.0)
    empty: Group = (group[0][:0], group[1][:0])
    panel = AttackPanel.from_groups([group], [empty], [rule])
    draws = panel.resampled_members(resamples, child(seed_sequence(seed), 0))[:, 0]
    draws = draws[~np.isnan(draws)]
    return _between(value, error, draws, level, low=0.0)


def standard_error(group: Group, statistic: Statistic, *, common: int | None = None) -> float:
    """Return the standard error of a group's value; Wilson's distance where all people have the
    same score.
    """
    return _error(group, statistic, len(group[0]) if common is None else common)[0]


def detectable_excess(null_error: float, *, power: float = 0.8, alpha: float = 0.05) -> float:
    """Return the smallest excess found with this power by a one-sided test at `alpha`.

    Examples
    --------
    >>> round(detectable_excess(0.01), 5)
    0.02486
    """
    from scipy.special import ndtri

    return float(ndtri(1 - alpha) + ndtri(power)) * null_error


def value_of(statistic: Statistic, group: Group, common: int) -> float:
    """Return the value of a group, compared at a common size."""
    n = len(group[0])
    numerator, denominator = statistic.totals(group)(np.ones((1, n)), n, common)
    return float(numerator[0] / denominator[0])


def excess_error(
    statistic: Statistic, members: Group, others: Group, null_error: float | None
) -> tuple[float, float]:
    """Return the standard error of an excess and its degrees of freedom.

    Of ratios from both variances, with Welch's degrees. Of class statistics, the one of groups that
    are alike: their jackknife is too wide by a tenth to a third where classes have a person or two,
    the permuted values have the right spread.
    """
    if null_error is not None and not isinstance(statistic, Ratio):
        return null_error, inf
    common = min(len(members[0]), len(others[0]))
    parts = [_error(group, statistic, common) for group in (members, others)]
    total = sum(error**2 for error, _ in parts)
    degree_sum = sum(error**4 / degrees for error, degrees in parts)
    return sqrt(total), total**2 / degree_sum if degree_sum > 0 else inf


def upper_distance(
    statistic: Statistic,
    members: Group,
    others: Group,
    null_error: float | None,
    common: int,
    *,
    z: float,
    level: float,
) -> float:
    """Return the distance of an upper bound from the value of an excess, for a bound `z` standard
    errors away.

    An upper bound from the standard error alone is too low where few people score: a rate of 1 in
    800 has the error of 1 in 800, and a true rate of 5 in 800 gives that often. So the distance is
    also the root of the summed squares of the distances to the ends of exact intervals, the upper
    one of the members and the lower one of the others (Newcombe, 1998, with Clopper and Pearson's
    ends in place of Wilson's, which are too low for a handful of people), at as many trials as have
    the variance that was found. The larger of the two counts. Of class statistics the jackknife's
    error counts where it is larger than that of permuted values.

    Examples
    --------
    >>> one, none, ones = np.eye(1, 800)[0], np.zeros(10**6), np.ones
    >>> both = ((one, ones(800)), (none, ones(10**6)))
    >>> round(800 * upper_distance(Ratio(), *both, None, 800, z=1.645, level=0.95), 1), round(800 * excess_error(Ratio(), *both, None)[0] * 1.645, 1)
    (3.7, 1.6)
    """
    from scipy.special import ndtr

    error, degrees = excess_error(statistic, members, others, null_error)
    wide = stretch(degrees, level)
    if not isinstance(statistic, Ratio):
        group_error = sqrt(
            sum(_error(group, statistic, common)[0] ** 2 for group in (members, others))
        )
        return z * max(error, group_error)
    squares = 0.0
    for group, side in ((members, 1), (others, 0)):
        value, variance = value_of(statistic, group, common), statistic.variance(group, common)
        trials = (
            value * (1.0 - value) / variance
            if variance > 1e-18 and 0.0 < value < 1.0
            else statistic.trials(group)
        )
        ends = clopper_pearson(value * trials, trials, level=float(2.0 * ndtr(z * wide) - 1.0))
        squares += (ends[side] - value) ** 2
    return max(z * wide * error, sqrt(squares))


def stretch(degrees: float, tail: float) -> float:
    """Return the ratio of the widths of Student's and the normal interval: percentiles of few
    people are too narrow by it.
    """
    return (
        1.0
        if isinf(degrees)
        else student_quantile(tail, max(degrees, 1.0)) / student_quantile(tail, inf)
    )


def _error(group: Group, statistic: Statistic, common: int) -> tuple[float, float]:
    """Return a group's standard error and its degrees of freedom; Wilson's distance needs no
    degrees.
    """
    variance, trials = statistic.variance(group, common), statistic.trials(group)
    if variance > 1e-18:
        return sqrt(variance), max(trials - 1.0, 1.0)
    value = value_of(statistic, group, common)
    low, high = wilson(value * trials, trials)
    return max(value - low, high - value) / 1.959963984540054, inf


def _null_error(
    statistic: Statistic, members: Group, others: Group, permuted: Floats
) -> float | None:
    """Return the standard error under the null hypothesis: from all people for ratios, else that of
    the permuted values.
    """
    if not isinstance(statistic, Ratio):
        error = float(permuted.std(ddof=1))
        return error if error > 1e-9 else None
    together: Group = (
        np.concatenate([members[0], others[0]]),
        np.concatenate([members[1], others[1]]),
    )
    weights = [float(group[1].sum()) for group in (members, others)]
    spread = statistic.variance(together, 0) * sum(weights)
    return sqrt(spread * (1 / weights[0] + 1 / weights[1])) if spread > 1e-18 else None


def p_values(permuted: Floats, observed: float) -> tuple[float, float]:
    """Return the one-sided and the two-sided p-value; the observed split counts as one of the
    random ones.
    """
    greater, less = (
        (1 + int(np.count_nonzero(tail))) / (len(permuted) + 1)
        for tail in (permuted >= observed - TIE, permuted <= observed + TIE)
    )
    return greater, min(1.0, 2 * min(greater, less))


def _between(
    value: float, error: float, draws: Floats, level: float, *, low: float
) -> tuple[float, float]:
    """Return the interval: percentiles of the draws about their mean (normal ones where draws do
    not differ) times the error.
    """
    from scipy.special import ndtri

    spread = float(draws.std(ddof=1))
    ends = np.array([(1 - level) / 2, (1 + level) / 2])
    # Weibull's points, p (B + 1): the usual ones, p (B - 1), are too near the middle for few draws.
    draws = (draws - draws.mean()) / (spread or 1.0)
    z = np.quantile(draws, ends, method="weibull") if spread > 1e-9 else ndtri(ends)
    return max(low, value + float(z[0]) * error), min(1.0, value + float(z[1]) * error)


def _notes(
    statistic: Statistic, members: Group, others: Group, null_error: float | None
) -> tuple[str, ...]:
    notes = ["Conditional on the synthetic table: its own randomness is not in the interval."]
    if null_error is None:
        notes.append("All people score the same, so what could be detected is not known.")
    if not isinstance(statistic, Ratio) and len(members[0]) != len(others[0]):
        notes.append("Groups differ in size; the larger is compared at the size of the smaller.")
    return tuple(notes)


ONE_SYNTHESIS = "One synthetic table: the variance between syntheses is absent, and the interval holds for this table alone."
"""What is said of a single synthesis."""


@dataclass(frozen=True, kw_only=True)
class Combined:
    """The mean excess over m synthetic tables, with the variance within and between them.

    `value`: mean of the excesses; None, with `reason`, where none has a value. `within`, `between`:
    mean variance given a synthetic table; variance of the excess from table to table, None for one
    table. `degrees`: Student's degrees of freedom of the interval, None where it is normal.
    """

    value: float | None
    interval: tuple[float, float] | None = None
    standard_error: float | None = None
    within: float | None = None
    between: float | None = None
    degrees: float | None = None
    syntheses: int
    level: float = 0.95
    note: str = ""
    reason: str = ""


def combine(excesses: Sequence[Excess], *, level: float = 0.95) -> Combined:
    """Return the excess over m synthetic tables made alike from one original, with its interval.

    Total variance T = W + (1 + 1/m) B, with W the mean variance within and B the variance between,
    and Student's t with (m - 1)(1 + W / ((1 + 1/m) B))^2 degrees: Rubin's rule for multiple
    imputation (1987, eq. 3.1.5 to 3.1.6). It is the careful choice. Rules for means of synthetic
    data divide B by m (Reiter, 2003, partially synthetic) or subtract W (Raghunathan and others,
    2003, fully synthetic; may be negative); both say how the mean over syntheses varies. A table
    that is released is one draw, so B itself belongs to it; and the same people are attacked from
    all tables, so W does not shrink with m.

    Examples
    --------
    >>> one, two = (Excess(value=v, standard_error=0.01, n_members=100, n_others=100) for v in (0.02, 0.04))
    >>> found = combine([one, two])
    >>> round(found.standard_error, 4), round(found.degrees, 2)  # sqrt(.0001 + 1.5 * .0002), (1 + 1/3)^2
    (0.02, 1.78)
    >>> combine([one]).note == ONE_SYNTHESIS
    True
    """
    if not excesses:
        raise InputError("combine needs the excess of at least one synthetic table. Got none.")
    with_value = [
        excess
        for excess in excesses
        if excess.value is not None and excess.standard_error is not None
    ]
    if len(with_value) < len(excesses):
        reason = next(excess.reason for excess in excesses if excess not in with_value)
        reason = f"{len(excesses) - len(with_value)} of {len(excesses)} synthetic tables have no excess. {reason}"
        return Combined(value=None, syntheses=len(excesses), level=level, reason=reason)
    values = np.array([excess.value for excess in with_value], dtype=np.float64)
    within = float(np.mean([(excess.standard_error or 0.0) ** 2 for excess in with_value]))
    m = len(values)
    if m == 1:
        only = with_value[0]
        return Combined(
            value=only.value,
            interval=only.interval,
            standard_error=only.standard_error,
            within=within,
            syntheses=1,
            level=only.level,
            note=ONE_SYNTHESIS,
        )
    between = float(values.var(ddof=1))
    extra = (1 + 1 / m) * between
    degrees = (m - 1) * (1 + within / extra) ** 2 if extra > 1e-12 * within and extra > 0 else inf
    error = sqrt(within + extra)
    middle, half = float(values.mean()), student_quantile(0.5 + level / 2, degrees) * error
    return Combined(
        value=middle,
        interval=(max(-1.0, middle - half), min(1.0, middle + half)),
        standard_error=error,
        within=within,
        between=between,
        degrees=None if isinf(degrees) else degrees,
        syntheses=m,
        level=level,
        note=f"Mean of {m} synthetic tables; variance within them plus (1 + 1/m) times the variance between.",
    )
