"""Every published number computed again from evolved records, and held against what was published.

Without statsmodels regressions are marked as not refitted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .._base.errors import MissingExtraError
from .columns import Codes
from .kinds.base import OutputSpec
from .recomputed import TOLERANCE, Number, numbers

if TYPE_CHECKING:
    from .fields import Fields
    from .spec import Spec

__all__ = ["Compared", "Number", "compared", "refit"]


@dataclass(frozen=True)
class Compared:
    """How an output computed again compares with what was published.

    Parameters
    ----------
    name, kind
        The output.
    size
        How many numbers it has.
    outside
        How many are not within their precision.
    worst, worst_in_precision
        The largest absolute error, and the largest in units of the printed precision: up to 1 is within.
    mean
        The mean absolute error.
    refitted
        Whether it was computed again; False without statsmodels.
    numbers
        Each number.
    """

    name: str
    kind: str
    size: int
    outside: int
    worst: float
    worst_in_precision: float
    mean: float
    refitted: bool
    numbers: tuple[Number, ...]

    @property
    def within(self) -> bool | None:
        """Whether all its numbers are within their precision; None where it was not refitted."""
        return self.outside == 0 if self.refitted else None


def refit(output: OutputSpec, fields: Fields, codes: Codes) -> dict[str, float]:
    """Return the numbers of an output, by name, as these records give them.

    Raises MissingExtraError for a regression without statsmodels.

    Examples
    --------
    >>> from chaffinch.outputs.spec import Spec
    >>> spec = Spec.from_dict({
    ...     "format": "chaffinch-outputs", "version": 1, "rows": 3,
    ...     "columns": [{"name": "sex", "levels": ["f", "m"]}],
    ...     "outputs": [{"name": "by sex", "kind": "table", "by": ["sex"], "counts": [1, 2]}],
    ... })
    >>> refit(spec.outputs[0], spec.fields, np.array([[1], [0], [0]], dtype=np.int32))
    {'f': 2.0, 'm': 1.0}
    """
    return {number.name: number.value for number in numbers(output, fields, codes)}


def compared(spec: Spec, codes: Codes, *, tolerance: float = TOLERANCE) -> tuple[Compared, ...]:
    """Return, for each output, how its numbers computed again compare with what was published."""
    codes = spec.columns.check(codes)
    found = []
    for output in spec.outputs:
        try:
            every = tuple(numbers(output, spec.fields, codes))
        except MissingExtraError:
            found.append(Compared(output.name, output.kind, 0, 0, math.nan, math.nan, math.nan, False, ()))
            continue
        errors = [number.error for number in every]
        found.append(
            Compared(
                output.name,
                output.kind,
                len(every),
                sum(not number.within(tolerance) for number in every),
                max(errors, default=0.0),
                max((number.in_precision(tolerance) for number in every), default=0.0),
                float(np.mean(errors)) if errors else 0.0,
                True,
                every,
            )
        )
    return tuple(found)
