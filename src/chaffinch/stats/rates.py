"""The scores of an attack for each person (`Scores`), and the statistics of a group: a ratio of
sums, or a mean over classes of the attacked table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base.arrays import Floats
from .._base.checks import check_name
from .._base.compiled import jit
from .._base.errors import InputError
from .._base.masking import masked_count

Group = tuple[NDArray[Any], NDArray[Any]]
"""Two numbers for each person of a group; the statistic says which."""

Counted = NDArray[np.floating[Any]]
Totals = Callable[[Counted, int, int], tuple[Floats, Floats]]
"""Counts of units (one row a draw), the group's size, the size to compare at -> numerators,
denominators.
"""

EMPTY = ("dropped", "zero")


class Statistic(Protocol):
    """A function of a group of people: numerator over denominator, both from counts of people."""

    def check(self, group: tuple[ArrayLike, ArrayLike]) -> Group:
        """Return the two arrays of a group, checked."""
        ...

    def totals(self, group: Group) -> Totals:
        """Return the function that gives numerators and denominators from counts of these
        people.
        """
        ...

    def variance(self, group: Group, common: int) -> float:
        """Return the sampling variance of the value of the group."""
        ...

    def counted(self, group: Group) -> float:
        """Return the denominator of the group's value: 0 where it has none."""
        ...

    def trials(self, group: Group) -> float:
        """Return an upper bound of the number of independent trials behind the value."""
        ...


@dataclass(frozen=True)
class Ratio:
    """The sum of people's numerators over the sum of their weights: a mean where all weights are 1.

    A group is (numerator, weight), 0 <= numerator <= weight; weight 0 leaves a person out.

    Examples
    --------
    >>> group = Ratio().check(([1, 0, 1, 0], [1, 1, 1, 0]))
    >>> round(Ratio().variance(group, 4), 4)  # of 2/3: squared residuals (1 + 4 + 1)/9 over 3 * 3, times 3/2
    0.1111
    """

    def check(self, group: tuple[ArrayLike, ArrayLike]) -> Group:
        """Return numerator and weight as numbers, checked."""
        numerator, weight = _two(group, "numerator", "weight")
        if not bool(np.all((numerator >= 0) & (numerator <= weight) & np.isfinite(weight))):
            raise InputError(
                "Each person's numerator must lie between 0 and the person's weight. Some do not."
            )
        return numerator, weight

    def totals(self, group: Group) -> Totals:
        """Return the function that sums numerators and weights."""
        both = np.column_stack(group)

        def sums(counts: Counted, _people: int, _common: int) -> tuple[Floats, Floats]:
            both_sums = counts @ both
            return both_sums[:, 0], both_sums[:, 1]

        return sums

    def variance(self, group: Group, common: int) -> float:
        """Return the variance of the ratio: exact for means, to first order for other ratios.

        People without a weight say nothing of the spread of scores, so the divisor n - 1 counts
        those who have one.
        """
        numerator, weight = group
        total, n = float(weight.sum()), self.trials(group)
        residual = numerator - float(numerator.sum()) / total * weight
        return float(residual @ residual) / total**2 * (n / (n - 1) if n > 1.5 else 2.0)

    def counted(self, group: Group) -> float:
        """Return the sum of weights."""
        return float(group[1].sum())

    def trials(self, group: Group) -> float:
        """Return the effective number of people: with a weight, discounted for unequal weights."""
        return float(group[1].sum()) ** 2 / float((group[1] ** 2).sum())


@dataclass(frozen=True, eq=False)
class ClassStatistic:
    """The weighted mean over classes of the attacked table of the share of a class's people it is
    right about.

    A group is (class number or -1, right): `right` is 1 where the table tells the person's value, 0
    where not, or the share of the class's table rows that tell it. TCAP over synthetic records
    (Elliot, Little and Allmendinger, appendix A) is of this kind: the classes are the keys that the
    table answers for certain, `weights` the number of its records with each.

    A larger group meets more classes, so two groups are compared at the size of the smaller: a
    class of the larger counts with the chance that a random part of that size holds one of its
    people (rarefaction; hypergeometric, no draws).

    `weights`: one for each class: how many rows of the attacked table it stands for. `empty`:
    classes without people are "dropped" from the mean, or count "zero".

    Examples
    --------
    >>> people = [0, 0, 0, 1, -1, -1], [1, 1, 0, 1, 0, 0]  # V2 of the CAP vectors: keys A, B; D is ambiguous
    >>> round(ClassStatistic(np.array([1, 1])).value(people), 4)
    0.8333
    """

    weights: NDArray[Any]
    empty: Literal["dropped", "zero"] = "dropped"

    def __post_init__(self) -> None:
        weights = np.array(self.weights, dtype=np.float64)
        if weights.ndim != 1 or not bool(np.all(np.isfinite(weights) & (weights >= 0))):
            raise InputError("Class weights must be one list of finite numbers of at least 0.")
        check_name("rule for empty classes", self.empty, EMPTY)
        weights.flags.writeable = False
        object.__setattr__(self, "weights", weights)

    def check(self, group: tuple[ArrayLike, ArrayLike]) -> Group:
        """Return class and right as numbers, checked; people of classes without weight are in no
        class.
        """
        classes, right = _two(group, "class", "right")
        if not bool(
            np.all((classes >= -1) & (classes < len(self.weights)) & (classes == np.floor(classes)))
        ):
            raise InputError(
                f"Class numbers must be whole, from -1 (none) to {len(self.weights) - 1}. Some are not."
            )
        if not bool(np.all((right >= 0) & (right <= 1))):
            raise InputError("right must lie between 0 and 1 for each person. Some do not.")
        inside = classes >= 0
        inside[inside] = self.weights[classes[inside].astype(np.int64)] > 0
        return np.where(inside, classes, -1.0), np.where(inside, right, 0.0)

    def value(self, group: tuple[ArrayLike, ArrayLike]) -> float | None:
        """Return the value for a group, None where no class has people."""
        checked = self.check(group)
        n = len(checked[0])
        numerator, denominator = self.totals(checked)(np.ones((1, n)), n, n)
        return float(numerator[0] / denominator[0]) if denominator[0] > 0 else None

    def totals(self, group: Group) -> Totals:
        """Return the function that gives the weighted mean's numerators and denominators from
        counts of people.
        """
        classes, right = group
        unit = np.argsort(classes, kind="stable")
        unit = unit[np.searchsorted(classes[unit], 0.0) :]
        classes_here, starts = np.unique(classes[unit].astype(np.int64), return_index=True)
        starts, weight, right = (
            np.append(starts, len(unit)),
            self.weights[classes_here],
            right[unit],
        )
        total_weight = float(self.weights.sum())

        def mean(counts: Counted, people: int, common: int) -> tuple[Floats, Floats]:

            seen = _chance_included(people, common)
            above, below = np.empty(len(counts)), np.empty(len(counts))
            class_means(counts, unit, right, starts, weight, seen, above, below)
            return above, below if self.empty == "dropped" else np.full(len(counts), total_weight)

        return mean

    def variance(self, group: Group, common: int) -> float:
        """Return the variance of the value by leaving out each person in turn (jackknife).

        Its mean is at least the true variance (Efron and Stein, 1981). Resampling with replacement
        would be too narrow here: it loses more than a third of the classes that have one person,
        and never meets one that has none.
        """
        classes, right = group
        n, inside = len(classes), classes >= 0
        index, is_right = classes[inside].astype(np.int64), right[inside]
        present = np.bincount(index, minlength=len(self.weights)).astype(np.float64)
        right_sum = np.bincount(index, weights=is_right, minlength=len(self.weights))
        seen = _chance_included(n, common)
        share = self.weights * seen[present.astype(np.int64)]
        less = self.weights * seen[np.maximum(present - 1, 0).astype(np.int64)]
        numerator = (share * right_sum / np.maximum(present, 1)).sum()
        term_without = (
            less[index] * (right_sum[index] - is_right) / np.maximum(present[index] - 1, 1)
        )
        above = numerator - (share * right_sum / np.maximum(present, 1))[index] + term_without
        if self.empty == "dropped":
            below = share.sum() - share[index] + less[index]
            denominator = share.sum()
        else:
            below, denominator = np.full(len(index), self.weights.sum()), self.weights.sum()
        value = numerator / denominator
        change = np.where(below > 0, above / np.where(below > 0, below, 1.0) - value, 0.0)
        return float((change @ change) - change.sum() ** 2 / n) * (n - 1) / n

    def counted(self, group: Group) -> float:
        """Return the weight of the classes in the mean."""
        inside = group[0][group[0] >= 0].astype(np.int64)
        return float(
            self.weights.sum() if self.empty == "zero" else self.weights[np.unique(inside)].sum()
        )

    def trials(self, group: Group) -> float:
        """Return the effective number of classes, discounted for unequal weights."""
        if self.empty == "zero":
            weights = self.weights
        else:
            weights = self.weights[np.unique(group[0][group[0] >= 0]).astype(np.int64)]
        return float(weights.sum()) ** 2 / float((weights**2).sum())


@lru_cache(maxsize=8)
def _chance_included(people: int, common: int) -> Floats:
    """Return, for n from 0 on, the probability that `common` people chosen at random include at
    least one of n given ones.
    """
    n = np.arange(people + 1.0)
    if common >= people:
        return (n > 0).astype(np.float64)
    from scipy.special import gammaln

    n_rest = people - n - common  # negative where the chosen part is too large to miss all n
    ways = gammaln(people - n + 1) - gammaln(np.maximum(n_rest, 0) + 1) - gammaln(people + 1.0)
    table: Floats = np.where(n_rest >= 0, -np.expm1(ways + gammaln(people - common + 1.0)), 1.0)
    table[0] = 0.0
    return table


def _two(group: tuple[ArrayLike, ArrayLike], first: str, second: str) -> Group:
    if len(group) != 2:
        raise InputError(
            f"A group of people is two arrays, {first} and {second}. Got {len(group)}."
        )
    a, b = (np.asarray(scores, dtype=np.float64) for scores in group)
    if a.ndim != 1 or a.shape != b.shape:
        raise InputError(
            f"{first} and {second} must be lists of one length. Got shapes {a.shape} and {b.shape}."
        )
    return a, b


@jit
def class_means(counts, unit, right, starts, weight, seen, above, below):  # type: ignore[no-untyped-def]
    """Fill `above` and `below` with the weighted sum of right shares of classes, and of weights,
    for each draw.

    Class k owns the entries `starts[k]` to `starts[k + 1]` of `unit` (columns of `counts`) and
    `right`; it counts with `weight[k]` times `seen[number of its people]`.
    """
    for draw in range(counts.shape[0]):
        told_share = 0.0
        counted = 0.0
        for k in range(weight.size):
            present = 0.0
            right_sum = 0.0
            for j in range(starts[k], starts[k + 1]):
                times = counts[draw, unit[j]]
                present += times
                right_sum += times * right[j]
            if present > 0.0:
                share = weight[k] * seen[int(present)]
                told_share += share * right_sum / present
                counted += share
        above[draw] = told_share
        below[draw] = counted


@dataclass(frozen=True, eq=False, repr=False)
class Scores:
    """A score for each person, as a numerator and a weight; the value is the ratio of their sums.

    The weight is 1 for a person who counts and 0 for one whom the measure leaves out (its numerator
    is then 0 too). Resampling people means resampling pairs of numerator and weight. The repr holds
    no person's score.

    Examples
    --------
    >>> Scores([0.5, 1.0, 0.0], [1, 1, 0]).value
    0.75
    >>> Scores([0.0], [0]).value is None
    True
    """

    numerator: NDArray[np.float64]
    weight: NDArray[np.float64]

    def __init__(self, numerator: ArrayLike, weight: ArrayLike) -> None:
        for name, numbers in (("numerator", numerator), ("weight", weight)):
            array = np.array(numbers, dtype=np.float64)
            if array.ndim != 1:
                raise InputError(
                    f"Scores: {name} must be one number for each person. Got {array.ndim} dimensions."
                )
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        if len(self.numerator) != len(self.weight):
            raise InputError(
                f"Scores: numerator and weight must be of the same people. Got {masked_count(len(self.numerator))} "
                f"and {masked_count(len(self.weight))}."
            )

    @property
    def n_people(self) -> int:
        """The number of people, those of weight 0 too."""
        return len(self.weight)

    @property
    def value(self) -> float | None:
        """Sum of numerators over sum of weights; None where no weight is left."""
        total = float(self.weight.sum())
        return float(self.numerator.sum()) / total if total > 0 else None

    def __repr__(self) -> str:
        value = self.value
        return f"Scores({'undefined' if value is None else f'{value:.4g}'}, people: {masked_count(self.n_people)})"
