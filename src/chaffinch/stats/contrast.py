"""Does one attack tell more about members than others do on the same people? Contrasts of excesses, with their uncertainty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, sqrt

import numpy as np
from numpy.typing import NDArray

from .._base.errors import InputError
from .._base.seeds import Seed, seed_sequence
from .excess import p_values, stretch
from .family import standardised
from .intervals import wilson
from .panel import AttackPanel, Pair, check_draws, checked
from .rates import Group, Ratio, Statistic
from .splits import child

Floats = NDArray[np.float64]

NONE = 1e-9
"""Standard errors below this are none: every person scores as all others do."""


@dataclass(frozen=True, eq=False)
class ScoreComparison:
    """Attacks on the same people, the first to be held against the mean of the rest.

    `members`, `others`: for each attack two numbers for each person. `statistics`: what they are; (numerator, weight) of a ratio unless
    given.
    """

    members: Sequence[Pair]
    others: Sequence[Pair]
    statistics: Sequence[Statistic] | None = None

    @property
    def rules(self) -> list[Statistic]:
        """What the numbers of each attack are."""
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
    """The excess of one attack less the mean excess of others, on the same people; None, with `reason`, where one of them has none.

    `value`: -2 to 2; 0 expected if the attacks tell as much. `interval`: two-sample interval, people resampled within each group.
    `p_value`: of "members and others are alike", one-sided: the share of random choices of members with a contrast as large.
    `p_family`: the same, adjusted for all contrasts together (single-step maximum; Westfall and Young, 1993).
    """

    value: float | None = None
    interval: tuple[float, float] | None = None
    standard_error: float | None = None
    p_value: float | None = None
    p_family: float | None = None
    reason: str = ""


@dataclass(frozen=True, eq=False)
class _Checked:
    """A comparison whose groups can be compared."""

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
    """Return for each comparison how much larger the excess of its first attack is than the mean excess of the rest.

    Notes
    -----
    People are drawn and exchanged once for all attacks, so that what the attacks have in common cancels, and all comparisons are on the
    same people. The standard error is that of each person's part in the contrast, to first order, where all are ratios; else that of
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
        one, reason = _check(comparison)
        out.append(Contrast(reason=reason))
        if one is not None:
            comparable[number] = one
    if not comparable:
        return tuple(out)
    several = list(comparable.values())
    panel, root = _panel(several), seed_sequence(seed)
    weights = _weights(several)
    values = (panel.observed() @ weights).ravel()
    permuted = panel.permuted(resamples, child(root, 0), threads=threads) @ weights
    resampled = panel.resampled(resamples, child(root, 1), threads=threads) @ weights
    z = standardised(np.vstack([values, permuted]))
    adjusted = (1.0 + np.count_nonzero(z[1:].max(axis=1)[:, None] >= z[0] - 1e-6, axis=0)) / (
        resamples + 1
    )
    for j, (number, one) in enumerate(comparable.items()):
        error, degrees = _linear(one) if one.ratios else (float(permuted[:, j].std(ddof=1)), inf)
        if error < NONE:
            low, high = wilson(0.0, float(panel.common))
            error, degrees = (high - low) / 1.959963984540054, inf
        drawn = resampled[:, j] if one.ratios else permuted[:, j]
        value = float(values[j])
        out[number] = Contrast(
            value=value,
            interval=_interval(value, error * stretch(degrees, 0.5 + level / 2), drawn, level),
            standard_error=error,
            p_value=p_values(permuted[:, j], value)[0],
            p_family=float(adjusted[j]),
        )
    return tuple(out)


def _check(comparison: ScoreComparison) -> tuple[_Checked | None, str]:
    members, others = [], []
    rules = comparison.rules
    for ours, theirs, rule in zip(comparison.members, comparison.others, rules, strict=True):
        first, second, reason = checked(ours, theirs, rule)
        if reason:
            return None, f"There is no difference: {reason}"
        members.append(first)
        others.append(second)
    return _Checked(members, others, rules), ""


def _panel(several: Sequence[_Checked]) -> AttackPanel:
    sizes = {(len(one.members[0][0]), len(one.others[0][0])) for one in several}
    if len(sizes) > 1:
        raise InputError(
            f"All comparisons must be on the same people. Got {len(sizes)} different group sizes."
        )
    members, others = (
        [group for one in several for group in getattr(one, side)] for side in ("members", "others")
    )
    return AttackPanel.of(members, others, [rule for one in several for rule in one.rules])


def _weights(several: Sequence[_Checked]) -> Floats:
    """Return the matrix that makes contrasts of the attacks' differences: one column a contrast."""
    out = np.zeros((sum(len(one.rules) for one in several), len(several)))
    at = 0
    for j, one in enumerate(several):
        out[at : at + len(one.rules), j] = one.weights
        at += len(one.rules)
    return out


def _linear(one: _Checked) -> tuple[float, float]:
    """Return the standard error of a contrast of ratios and Welch's degrees of freedom, from each person's part in it."""
    variances, spent = [], []
    for groups in (one.members, one.others):
        part = np.zeros(len(groups[0][0]))
        for (numerator, weight), share in zip(groups, one.weights, strict=True):
            total = float(weight.sum())
            part += share * (numerator - float(numerator.sum()) / total * weight) / total
        n = len(part)
        variances.append(float(part @ part) * (n / (n - 1) if n > 1 else 2.0))
        spent.append(variances[-1] ** 2 / max(n - 1.0, 1.0))
    return sqrt(sum(variances)), sum(variances) ** 2 / sum(spent) if sum(spent) > 0 else inf


def _interval(value: float, error: float, drawn: Floats, level: float) -> tuple[float, float]:
    """Return percentiles of the draws about their mean, normal ones where draws do not differ, times the error."""
    from scipy.special import ndtri

    ends = np.array([(1 - level) / 2, (1 + level) / 2])
    spread = float(drawn.std(ddof=1))
    z = (
        np.quantile((drawn - drawn.mean()) / spread, ends, method="weibull")
        if spread > NONE
        else ndtri(ends)
    )
    return max(-2.0, value + float(z[0]) * error), min(2.0, value + float(z[1]) * error)
