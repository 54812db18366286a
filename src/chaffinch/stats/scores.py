"""What an attack gives each person: a numerator and a weight, and one value from both."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base.errors import InputError
from .._base.masking import masked_count


@dataclass(frozen=True, eq=False, repr=False)
class Scores:
    """A score for each person, as a numerator and a weight; the value is the ratio of their sums.

    The weight is 1 for a person who counts and 0 for one whom the measure leaves out (its numerator is then 0 too).
    Resampling people means resampling pairs of numerator and weight. The repr holds no person's score.

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
