"""Every published number computed again from evolved records, and held against what was published.

Without statsmodels regressions are marked as not refitted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._base.errors import MissingExtraError
from .columns import Codes

if TYPE_CHECKING:
    from .document import Outputs
    from .fields import Fields
    from .kinds.base import OutputSpec


TOLERANCE = 1e-3
"""Standard errors by which a number that is known in full may be missed, as in the engines."""
ROUNDING = 1e-7
"""What fits and sums may be off by themselves, as a share of the number (at least 1)."""


@dataclass(frozen=True)
class Number:
    """A published number and what the records give."""

    name: str  # Which of the output's numbers: a coefficient's name, a cell ("m|rented")
    # lo, hi: The interval that was published, ends included; equal for a number known in full
    lo: float
    hi: float
    value: float  # What the records give; nan where nothing could be computed
    unit: float = 0.0  # The standard error, for numbers known in full; 0 for counts

    @property
    def error(self) -> float:
        """The absolute difference to the published number (the middle of its interval); 0 inside the interval of a count."""
        if not math.isfinite(self.value):
            return math.inf
        if self.unit == 0.0 and self.lo <= self.value <= self.hi:
            return 0.0
        return abs(self.value - 0.5 * (self.lo + self.hi))

    def within(self, tolerance: float = TOLERANCE) -> bool:
        """Whether the records give what was published, within its precision."""
        if not math.isfinite(self.value):
            return False
        slack = ROUNDING * max(1.0, abs(self.value))
        if self.lo == self.hi:
            slack = max(slack, tolerance * self.unit)
        return self.lo - slack <= self.value <= self.hi + slack

    def allowed(self, tolerance: float = TOLERANCE) -> float:
        """Return how far the number may be from the middle of its interval: half of what was printed, and half a record for a count."""
        if self.hi > self.lo:
            return 0.5 * (self.hi - self.lo)
        return (
            max(tolerance * self.unit, ROUNDING * max(1.0, abs(self.lo)))
            if self.unit > 0.0
            else 0.5
        )

    def in_precision(self, tolerance: float = TOLERANCE) -> float:
        """Return the error in units of the precision: up to 1 is within."""
        if self.within(tolerance) and self.unit == 0.0:
            return 0.0
        return self.error / self.allowed(tolerance)


def count_number(name: str, lo: Any, hi: Any, count: Any) -> Number:
    """Return a published count beside that of the records."""
    return Number(name, float(lo), float(hi), float(count))


def numbers(output: OutputSpec, fields: Fields, codes: Codes) -> Iterator[Number]:
    """Give the published numbers of an output with what these records make of them, computed by other code than the engines'.

    Raises MissingExtraError for a regression without statsmodels.

    Examples
    --------
    >>> from chaffinch.outputs.document import recipes_of
    >>> from chaffinch.outputs.fields import Field, Fields
    >>> fields = Fields((Field("sex", ("f", "m")),))
    >>> spec = recipes_of([{"name": "by sex", "kind": "table", "by": ["sex"], "counts": [1, 2]}], fields)
    >>> list(numbers(spec.outputs[0], fields, np.array([[1], [0], [0]], dtype=np.int32)))[0]
    Number(name='f', lo=1.0, hi=1.0, value=2.0, unit=0.0)
    """
    sample = output.sample(fields, codes)
    yield from output.recomputed(sample)
    if isinstance(output.n, int):
        yield count_number("n", output.n, output.n, len(sample.inside))


@dataclass(frozen=True)
class Compared:
    """How an output computed again compares with what was published."""

    name: str
    kind: str
    size: int  # How many numbers it has
    outside: int  # How many are not within their precision
    # worst, worst_in_precision: The largest absolute error, and the largest in units of the printed precision: up to 1 is within
    worst: float
    worst_in_precision: float
    mean: float  # The mean absolute error
    refitted: bool  # Whether it was computed again; False without statsmodels
    numbers: tuple[Number, ...]

    @property
    def within(self) -> bool | None:
        """Whether all its numbers are within their precision; None where it was not refitted."""
        return self.outside == 0 if self.refitted else None


def compared(spec: Outputs, codes: Codes, *, tolerance: float = TOLERANCE) -> tuple[Compared, ...]:
    """Return, for each output, how its numbers computed again compare with what was published."""
    codes = spec.columns.check(codes, may_miss=True)
    results = []
    for output in spec.outputs:
        try:
            every = tuple(numbers(output, spec.fields, codes))
        except MissingExtraError:
            results.append(
                Compared(output.name, output.kind, 0, 0, math.nan, math.nan, math.nan, False, ())
            )
            continue
        errors = [number.error for number in every]
        results.append(
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
    return tuple(results)
