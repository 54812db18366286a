"""Many attacks on the same people: one p-value, simultaneous bounds, the largest excess, and
contrasts of attacks.

The largest of several estimates flatters the attacker: of twenty attacks that tell nothing, some
one looks as if it told something, and of attacks with few people it looks like much. The estimate
of `largest_excess` takes off what choosing the largest adds.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, inf, log, sqrt
from typing import Any, ClassVar

import numpy as np

from .._base.arrays import Floats
from .._base.errors import InputError
from .._base.results import NOT_WRITTEN, PlainData, plain_form
from .._base.seeds import Seed, child, seed_sequence
from .excess import (
    TIE,
    detectable_excess,
    excess_error,
    p_values,
    stretch,
    upper_distance,
    value_of,
)
from .intervals import wilson
from .panel import AttackPanel, Pair, check_draws, check_groups
from .rates import Group, Ratio, Statistic


@dataclass(frozen=True, kw_only=True)
class FamilywiseTest(PlainData):
    """The joint test of several attacks: whether members are at more risk than others.

    `p_value`: of "members and others are alike under every attack": the share of random choices of
    members whose largest standardised excess over all attacks is as large as the observed one (that
    one counted). None, with `reason`, without any attack. `strongest`: the number of the attack
    with the largest standardised excess. `adjusted`: A p-value for each attack, adjusted for all of
    them (single-step maximum; Westfall and Young, 1993). None where excluded. `excesses`, `lower`:
    the excess of each attack, and a lower bound of each: all bounds hold together with the
    probability `level`. `upper`: upper bounds, which hold together with that probability too; also
    of attacks that are excluded because everybody scores the same, None where nobody is counted.
    `excluded`: the attacks that could not be compared, by number, and why. `n_counted`: people of
    the smaller group whom each attack counts, for masking.
    """

    SUBJECT: ClassVar[str] = "'family'"

    p_value: float | None = None
    strongest: int | None = None
    adjusted: tuple[float | None, ...] = ()
    excesses: tuple[float | None, ...] = ()
    lower: tuple[float | None, ...] = ()
    upper: tuple[float | None, ...] = ()
    level: float = 0.95
    resamples: int = 1000
    excluded: Mapping[int, str] = field(
        default_factory=dict,
        metadata=plain_form(write=lambda family, why: {str(n): text for n, text in why.items()}),
    )
    reason: str = ""
    n_counted: tuple[int, ...] = field(default=(), compare=False, repr=False, metadata=NOT_WRITTEN)

    @property
    def lower_bound(self) -> float | None:
        """The largest of the lower bounds: with probability `level`, some attack has an excess
        above it.
        """
        return max((bound for bound in self.lower if bound is not None), default=None)

    @property
    def upper_bound(self) -> float | None:
        """The largest of the upper bounds: with probability `level`, no attack that has one has an
        excess above it.
        """
        return max((bound for bound in self.upper if bound is not None), default=None)

    @property
    def unbounded(self) -> tuple[int, ...]:
        """The attacks without an upper bound, by number."""
        return tuple(number for number, bound in enumerate(self.upper) if bound is None)

    def to_dict(self) -> dict[str, Any]:
        """Return the family as plain data; where there are no people to compare with, the reason
        alone.
        """
        bounds = {"lower_bound": self.lower_bound, "upper_bound": self.upper_bound}
        if not self.adjusted and self.p_value is None:
            return {"p_value": None, **bounds, "reason": self.reason}
        return {**super().to_dict(), **bounds}

    def without(self, hidden: Collection[int], threshold: int = 0) -> FamilywiseTest:
        """Return the family without the excesses of some attacks, by number, because they are about
        few people.

        Their upper bounds are rounded up to whole multiples of `threshold` of the people who count,
        so that they do not tell how many there are.
        """
        excesses = tuple(None if j in hidden else value for j, value in enumerate(self.excesses))
        upper = list(self.upper)
        for j, (bound, counted) in enumerate(zip(self.upper, self.n_counted, strict=False)):
            if j in hidden and bound is not None and threshold > 0 and counted > 0:
                step = threshold / counted
                upper[j] = min(1.0, step * ceil(bound / step))
        return replace(self, excesses=excesses, upper=tuple(upper))


def family(
    members: Sequence[Pair],
    others: Sequence[Pair],
    *,
    statistics: Sequence[Statistic] | None = None,
    level_shares: Sequence[float | None] | None = None,
    about_nobody: Collection[int] = (),
    resamples: int = 1000,
    level: float = 0.95,
    seed: Seed = None,
    threads: int | None = None,
) -> FamilywiseTest:
    """Return one p-value and simultaneous lower and upper bounds for attacks on the same members
    and the same others.

    `members`, `others`: for each attack, two numbers for each person; people stand in the same
    order under all attacks. `statistics`: what the two numbers are, for each attack; (numerator,
    weight) of a ratio unless said otherwise. Kinds may be mixed. `level_shares`: the share of the
    odds of error that some attacks are given beforehand, whatever comes; the rest is divided
    equally among those without one. `about_nobody`: attacks, by number, that are about nobody: no
    excess is possible, and 0 is an upper bound.

    Notes
    -----
    People are permuted, and resampled, once for all attacks, so the dependence between attacks is
    kept. An attack's permuted
    excesses, the observed one among them, are standardised by their own mean and standard
    deviation: all choices of members are
    treated alike, so the family-wise p-value is exact. A permuted group without a value has no
    excess (0), as if observed so.
    What attacks are ranked by, for the largest of all, is the normal tail of the standardised
    excess over the attack's share of the level: with equal
    shares the standardised excess itself. Shares move power from attack to attack (Genovese, Roeder
    and Wasserman, 2006), and the
    p-value stays exact, since all choices of members are still treated alike.

    Upper bounds lie as many standard errors above their excess as the largest of all reaches in the
    draws, and at least as far as score intervals do (`upper_distance`). Attacks under which
    everybody scores the same have no draws: they share the odds of error with the others by number
    (Bonferroni).

    Examples
    --------
    >>> told, ones, people = [1] * 40 + [0] * 10, [1] * 50, [1, 0] * 25
    >>> found = family([(told, ones), (people, ones)], [(people, ones), (people, ones)], seed=1)
    >>> found.strongest, found.p_value < 0.01, found.adjusted[1] > 0.5, found.lower_bound > 0.05
    (0, True, True, True)
    """
    check_draws(resamples, level)
    rules = list(statistics) if statistics is not None else [Ratio()] * len(members)
    comparable, excluded = comparable_attacks(members, others, rules)
    if not comparable:
        none = (None,) * len(members)
        reason = "none of the attacks can be compared." if members else "there are no attacks."
        return FamilywiseTest(
            p_value=None,
            adjusted=none,
            excesses=none,
            lower=none,
            upper=upper_bounds(members, others, rules, {}, None, level, about_nobody),
            level=level,
            resamples=resamples,
            excluded=excluded,
            reason=f"There is no family-wise p-value: {reason}",
            n_counted=_people_counts(members, others, rules),
        )
    numbers, groups = list(comparable), list(comparable.values())
    panel = AttackPanel.from_groups(
        [m for m, _ in groups], [o for _, o in groups], [rules[j] for j in numbers]
    )
    root = seed_sequence(seed)
    permuted = panel.permuted(resamples, child(root, 0), threads=threads)
    z = standardise(np.vstack([panel.observed(), permuted]))
    evidence = (
        z if level_shares is None else _evidence(z, _shares(level_shares, len(members), numbers))
    )
    as_large = np.count_nonzero(evidence[1:].max(axis=1)[:, None] >= evidence[0] - 1e-6, axis=0)
    adjusted = (1.0 + as_large) / (resamples + 1)

    spread = permuted.std(axis=0, ddof=1)
    values, errors = [], []
    for rule, (ours, theirs), wide in zip(panel.pool.statistics, groups, spread, strict=True):
        values.append(value_of(rule, ours, panel.common) - value_of(rule, theirs, panel.common))
        error, degrees = excess_error(rule, ours, theirs, float(wide) if wide > TIE else None)
        errors.append(error * stretch(degrees, level))
    draws = panel.resampled(resamples, child(root, 1), threads=threads)
    reach = reach_of(draws, level)
    lower = [max(-1.0, value - reach * error) for value, error in zip(values, errors, strict=True)]

    def spread_out(per_attack: Sequence[float] | Floats) -> tuple[float | None, ...]:
        by_number = dict(zip(numbers, per_attack, strict=True))
        return tuple(float(by_number[j]) if j in by_number else None for j in range(len(members)))

    return FamilywiseTest(
        p_value=float(adjusted.min()),
        strongest=numbers[int(evidence[0].argmax())],
        adjusted=spread_out(adjusted),
        excesses=spread_out(values),
        lower=spread_out(lower),
        level=level,
        resamples=resamples,
        excluded=excluded,
        upper=upper_bounds(
            members,
            others,
            rules,
            dict(zip(numbers, spread, strict=True)),
            draws,
            level,
            about_nobody,
        ),
        n_counted=_people_counts(members, others, rules),
    )


def upper_bounds(
    members: Sequence[Pair],
    others: Sequence[Pair],
    rules: Sequence[Statistic],
    spread: Mapping[int, float],
    draws: Floats | None,
    level: float,
    about_nobody: Collection[int] = (),
) -> tuple[float | None, ...]:
    """Return simultaneous upper bounds of the excess of each attack at the confidence `level`; None
    where nobody is counted.

    `spread` is the standard deviation of permuted excesses of the attacks that can be compared, by
    number, and `draws` their excesses in draws of people.
    """
    from scipy.special import ndtri

    groups = {
        j: groups
        for j, rule in enumerate(rules)
        if not (groups := check_groups(members[j], others[j], rule))[2]
    }
    alpha = (1.0 - level) / max(len(groups), 1)
    reach = 0.0 if draws is None else reach_of(-draws, 1.0 - alpha * len(spread))
    out: list[float | None] = []
    for j, rule in enumerate(rules):
        if j not in groups:
            out.append(0.0 if j in about_nobody else None)
            continue
        ours, theirs, _ = groups[j]
        common = min(len(ours[0]), len(theirs[0]))
        value = value_of(rule, ours, common) - value_of(rule, theirs, common)
        null_error = float(spread[j]) if j in spread and spread[j] > TIE else None
        z = reach if j in spread else float(ndtri(1.0 - alpha))
        out.append(
            float(
                min(
                    1.0,
                    value
                    + upper_distance(rule, ours, theirs, null_error, common, z=z, level=level),
                )
            )
        )
    return tuple(out)


def _people_counts(
    members: Sequence[Pair], others: Sequence[Pair], rules: Sequence[Statistic]
) -> tuple[int, ...]:
    """Return how many people of the smaller group each attack counts."""
    pairs = zip(rules, zip(members, others, strict=True), strict=True)
    return tuple(
        min(
            int(
                np.count_nonzero(
                    np.asarray(group[1]) > 0
                    if isinstance(rule, Ratio)
                    else np.asarray(group[0]) >= 0
                )
            )
            for group in groups
        )
        for rule, groups in pairs
    )


def comparable_attacks(
    members: Sequence[Pair], others: Sequence[Pair], rules: Sequence[Statistic]
) -> tuple[dict[int, tuple[Group, Group]], dict[int, str]]:
    """Return the checked groups of the attacks that can be compared, and why the others cannot."""
    if not len(members) == len(others) == len(rules):
        raise InputError(
            f"A family needs members, others and statistics for the same attacks. "
            f"Got {len(members)}, {len(others)} and {len(rules)}."
        )
    comparable: dict[int, tuple[Group, Group]] = {}
    excluded: dict[int, str] = {}
    sizes = set()
    for j, rule in enumerate(rules):
        first, second, reason = check_groups(members[j], others[j], rule)
        sizes.add((len(first[0]), len(second[0])))
        if not reason and _one_score(first, second, rule):
            reason = "all people whom the measure counts score the same."
        if reason:
            excluded[j] = f"Excluded: {reason}"
        else:
            comparable[j] = (first, second)
    if len(sizes) > 1:
        raise InputError(
            f"All attacks of a family must be on the same people. Got {len(sizes)} different group sizes."
        )
    return comparable, excluded


def _one_score(members: Group, others: Group, rule: Statistic) -> bool:
    """Return whether every counted person has the same score, so that no split could have another
    excess.
    """
    first, second = (np.concatenate([members[k], others[k]]) for k in (0, 1))
    if isinstance(rule, Ratio):
        counted = second > 0
        scores = first[counted] / second[counted]
    else:
        scores = second[first >= 0]
        if getattr(rule, "empty", "") == "zero" and scores.max(initial=0.0) > 0:
            return False  # which classes have people differs from choice to choice
    return bool(np.ptp(scores) < 1e-12)


def standardise(excesses: Floats) -> Floats:
    centred = excesses - excesses.mean(axis=0)
    spread = centred.std(axis=0)
    scaled: Floats = np.divide(centred, spread, out=np.zeros_like(centred), where=spread > 1e-12)
    return scaled


def _shares(given: Sequence[float | None], attacks: int, comparable: Sequence[int]) -> Floats:
    """Return the share of the level for each comparable attack: those given, and equal parts of the
    rest.
    """
    known = [share for share in given if share is not None]
    if (
        len(given) != attacks
        or any(not 0.0 < share < 1.0 for share in known)
        or sum(known) >= 1.0 + 1e-9
    ):
        raise InputError(
            "level_shares must be one share for each attack, above 0 and together below 1, or None. Some are not."
        )
    here = [given[j] for j in comparable]
    rest = max(1.0 - sum(share or 0.0 for share in here), 1e-6) / max(here.count(None), 1)
    return np.array([rest if share is None else share for share in here])


def _evidence(z: Floats, shares: Floats) -> Floats:
    """Return minus the log of the normal tail of standardised excesses over their shares of the
    level.
    """
    from scipy.special import log_ndtr

    out: Floats = np.log(shares) - log_ndtr(-z)
    return out


def reach_of(draws: Floats, level: float) -> float:
    """Return the number of standard errors by which simultaneous lower bounds lie below their
    values.
    """
    from scipy.special import ndtri

    short = -standardise(
        draws
    )  # percentiles: a draw far below its mean is a value that far above the truth's bound
    return max(float(np.quantile(short.max(axis=1), level, method="weibull")), float(ndtri(level)))


@dataclass(frozen=True, kw_only=True)
class LargestExcess:
    """The largest excess of several attacks, or the reason why there is none.

    Parameters
    ----------
    estimate
        Of the largest excess, -1 to 1: as likely below as above it, or more likely below where
        attacks are nearly alike. None, with `reason`, where no
        attack can be compared.
    lower, upper
        One-sided bounds of the largest excess, each right with the probability `level`. Both are
        those of `family`: all attacks' bounds hold together.
    unbounded
        How many attacks have no upper bound, since nobody is counted: `upper` says nothing of
        these.
    strongest
        The number of the attack whose own lower bound is the largest.
    excess
        Of that attack, as it was found, nothing taken off.
    detectable
        The smallest excess that the most precise and the least precise of the attacks find with 80
        % power at 5 %.
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
    Chernozhukov, Lee and Rosen (2013), *Intersection bounds*, Econometrica 81, section 3: of each
    attack's excess so many of its standard errors are taken
    off as the largest of all reaches in half of the draws of people, and the largest of what is
    left is the estimate. Only attacks that may well be the
    largest count for how many that are (their adaptive selection), so that one attack that stands
    out has nothing taken off. People are drawn
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
    panel = AttackPanel.from_groups(
        [m for m, _ in groups], [o for _, o in groups], [rules[j] for j in numbers]
    )
    root = seed_sequence(seed)
    draws = panel.resampled(resamples, child(root, 1), threads=threads)
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
    lower = value - reach_of(draws, level) * width
    bounds = upper_bounds(
        members,
        others,
        rules,
        dict(zip(numbers, np.nan_to_num(spread), strict=True)),
        draws,
        level,
        about_nobody,
    )
    # The largest excess may be that of an attack within twice its reach of the best lower bound, at the level of the paper.
    n_people = len(groups[0][0][0]) + len(groups[0][1][0])
    reach = reach_of(draws, 1 - 0.1 / log(max(n_people, 3)))
    near = np.flatnonzero(value >= (value - reach * width).max() - 2 * reach * width)
    middle = value[near] - reach_of(draws[:, near], 0.5) * width[near]
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


def _within(value: float) -> float:
    return float(min(1.0, max(-1.0, value)))


NONE = 1e-9
"""Standard errors below this are none: every person scores as all others do."""


@dataclass(frozen=True, eq=False)
class ScoreComparison:
    """Attacks on the same people: the first is compared with the mean of the others.

    `members`, `others`: for each attack two numbers for each person. `statistics`: what they are;
    (numerator, weight) of a ratio unless given.
    """

    members: Sequence[Pair]
    others: Sequence[Pair]
    statistics: Sequence[Statistic] | None = None

    @property
    def rules(self) -> list[Statistic]:
        """The statistic of each attack."""
        return (
            list(self.statistics) if self.statistics is not None else [Ratio()] * len(self.members)
        )

    def __post_init__(self) -> None:
        if not len(self.members) == len(self.others) == len(self.rules) >= 2:
            raise InputError(
                "A comparison needs at least two attacks, each with members, others and a statistic. "
                f"Got {len(self.members)}, {len(self.others)} and {len(self.rules)}."
            )


@dataclass(frozen=True, kw_only=True)
class Contrast:
    """The excess of one attack less the mean excess of others, on the same people; None, with
    `reason`, where one of them has none.

    `value`: -2 to 2; 0 expected if the attacks tell as much. `interval`: two-sample interval,
    people resampled within each group. `p_value`: of "members and others are alike", one-sided: the
    share of random choices of members with a contrast as large. `p_family`: the same, adjusted for
    all contrasts together (single-step maximum; Westfall and Young, 1993).
    """

    value: float | None = None
    interval: tuple[float, float] | None = None
    standard_error: float | None = None
    p_value: float | None = None
    p_family: float | None = None
    reason: str = ""


@dataclass(frozen=True, eq=False)
class _Checked:
    """A comparison whose groups passed the checks."""

    members: list[Group]
    others: list[Group]
    rules: list[Statistic]

    @property
    def ratios(self) -> bool:
        return all(isinstance(rule, Ratio) for rule in self.rules)

    @property
    def weights(self) -> list[float]:
        rest = len(self.rules) - 1
        return [1.0, *[-1.0 / rest] * rest]


def contrasts(
    comparisons: Sequence[ScoreComparison],
    *,
    resamples: int = 1000,
    level: float = 0.95,
    seed: Seed = None,
    threads: int | None = None,
) -> tuple[Contrast, ...]:
    """Return for each comparison the excess of its first attack minus the mean excess of the
    others.

    Notes
    -----
    People are drawn and exchanged once for all attacks, so that what the attacks have in common
    cancels, and all comparisons are on the
    same people. The standard error is that of each person's part in the contrast, to first order,
    where all are ratios; else that of
    permuted values (see `excess.excess_error`).

    Examples
    --------
    >>> ones, alone, both = [1] * 50, [1] * 10 + [0] * 40, [1] * 20 + [0] * 30
    >>> (added,) = contrasts([ScoreComparison([(both, ones), (alone, ones)], [([0] * 50, ones)] * 2)], seed=1)
    >>> round(added.value, 3), added.interval[0] > 0.05, added.p_value < 0.01
    (0.2, True, True)
    """
    check_draws(resamples, level)
    out: list[Contrast] = []
    comparable: dict[int, _Checked] = {}
    for number, comparison in enumerate(comparisons):
        groups, reason = _check(comparison)
        out.append(Contrast(reason=reason))
        if groups is not None:
            comparable[number] = groups
    if not comparable:
        return tuple(out)
    several = list(comparable.values())
    panel, root = _panel(several), seed_sequence(seed)
    weights = _weights(several)
    values = (panel.observed() @ weights).ravel()
    permuted = panel.permuted(resamples, child(root, 0), threads=threads) @ weights
    resampled = panel.resampled(resamples, child(root, 1), threads=threads) @ weights
    z = standardise(np.vstack([values, permuted]))
    adjusted = (1.0 + np.count_nonzero(z[1:].max(axis=1)[:, None] >= z[0] - 1e-6, axis=0)) / (
        resamples + 1
    )
    for j, (number, groups) in enumerate(comparable.items()):
        error, degrees = (
            _linear(groups) if groups.ratios else (float(permuted[:, j].std(ddof=1)), inf)
        )
        if error < NONE:
            low, high = wilson(0.0, float(panel.common))
            error, degrees = (high - low) / 1.959963984540054, inf
        draws = resampled[:, j] if groups.ratios else permuted[:, j]
        value = float(values[j])
        out[number] = Contrast(
            value=value,
            interval=_interval(value, error * stretch(degrees, 0.5 + level / 2), draws, level),
            standard_error=error,
            p_value=p_values(permuted[:, j], value)[0],
            p_family=float(adjusted[j]),
        )
    return tuple(out)


def _check(comparison: ScoreComparison) -> tuple[_Checked | None, str]:
    members, others = [], []
    rules = comparison.rules
    for ours, theirs, rule in zip(comparison.members, comparison.others, rules, strict=True):
        first, second, reason = check_groups(ours, theirs, rule)
        if reason:
            return None, f"There is no difference: {reason}"
        members.append(first)
        others.append(second)
    return _Checked(members, others, rules), ""


def _panel(several: Sequence[_Checked]) -> AttackPanel:
    sizes = {
        (len(comparison.members[0][0]), len(comparison.others[0][0])) for comparison in several
    }
    if len(sizes) > 1:
        raise InputError(
            f"All comparisons must be on the same people. Got {len(sizes)} different group sizes."
        )
    members, others = (
        [group for comparison in several for group in getattr(comparison, side)]
        for side in ("members", "others")
    )
    return AttackPanel.from_groups(
        members, others, [rule for comparison in several for rule in comparison.rules]
    )


def _weights(several: Sequence[_Checked]) -> Floats:
    """Return the matrix from the attacks' differences to contrasts, one column for each
    contrast.
    """
    out = np.zeros((sum(len(comparison.rules) for comparison in several), len(several)))
    offset = 0
    for j, comparison in enumerate(several):
        out[offset : offset + len(comparison.rules), j] = comparison.weights
        offset += len(comparison.rules)
    return out


def _linear(comparison: _Checked) -> tuple[float, float]:
    """Return the standard error of a contrast of ratios and Welch's degrees of freedom, from each
    person's influence on it.
    """
    variances, degree_terms = [], []
    for groups in (comparison.members, comparison.others):
        influence = np.zeros(len(groups[0][0]))
        for (numerator, weight), share in zip(groups, comparison.weights, strict=True):
            total = float(weight.sum())
            influence += share * (numerator - float(numerator.sum()) / total * weight) / total
        n = len(influence)
        variances.append(float(influence @ influence) * (n / (n - 1) if n > 1 else 2.0))
        degree_terms.append(variances[-1] ** 2 / max(n - 1.0, 1.0))
    return sqrt(sum(variances)), sum(variances) ** 2 / sum(degree_terms) if sum(
        degree_terms
    ) > 0 else inf


def _interval(value: float, error: float, draws: Floats, level: float) -> tuple[float, float]:
    """Return the interval from percentiles of the draws about their mean times the error; normal
    percentiles where draws do not differ.
    """
    from scipy.special import ndtri

    ends = np.array([(1 - level) / 2, (1 + level) / 2])
    spread = float(draws.std(ddof=1))
    z = (
        np.quantile((draws - draws.mean()) / spread, ends, method="weibull")
        if spread > NONE
        else ndtri(ends)
    )
    return max(-2.0, value + float(z[0]) * error), min(2.0, value + float(z[1]) * error)
