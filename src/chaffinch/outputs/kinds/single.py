"""Outputs that are a few single numbers, each under a key of its own: a test's statistic, its p-value."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple, Self

from ..crossing import Frame
from ..precision import Interval
from ..printing import Printer
from ..refit import Number, count_number
from .base import OutputSpec, PrintedNumbers, Sample
from .computing import no_estimate


class Single(NamedTuple):
    """A number of records, and its standard error; nan where they have none."""

    value: float
    unit: float = 0.0


class SingleNumbers(OutputSpec):
    """An output with a few single numbers. A kind with `p_value` and `p_below` may print small p-values as "<0.001"."""

    WORDS: ClassVar[dict[str, str]] = {}
    """What messages call the number under each key; those of whole numbers are not here."""
    LACK: ClassVar[str] = ""
    """Why records have none of them."""

    @abstractmethod
    def singles(self, sample: Sample) -> dict[str, Single]:
        """Return all numbers that these records give, by key."""

    def filled(self, frame: Frame) -> Self:
        some: dict[str, Any] = dict.fromkeys(self.REQUIRED, 1.0)
        return self.changed(**some)

    def without_numbers(self, frame: Frame) -> Self:
        """Return the recipe, with how small p-values are printed."""
        recipe, bound = super().without_numbers(frame), self._p_bound()
        return recipe if bound is None else recipe.changed(p_below=bound)

    def _p_bound(self) -> float | None:
        """What a p-value such as "<0.001" is below."""
        printed = getattr(self, "p_value", None)
        if not isinstance(printed, str) or not printed.strip().startswith("<"):
            return None
        return self.printed(printed.strip()[1:], self.WORDS["p_value"]).middle

    def intervals(self) -> dict[str, Interval]:
        """Return the intervals of the numbers that are published, whole ones apart."""
        intervals, bound = dict[str, Interval](), self._p_bound()
        for key, what in self.WORDS.items():
            if key == "p_value" and bound is not None:
                intervals[key] = Interval(0.0, bound)
            elif getattr(self, key) is not None:
                intervals[key] = self.printed(getattr(self, key), what)
        return intervals

    def printed_numbers(self, frame: Frame) -> Iterator[PrintedNumbers]:
        """Give each number that is published, whole ones apart."""
        for key in self.WORDS:
            if getattr(self, key) is not None:
                yield PrintedNumbers(key, [key], [getattr(self, key)], False)

    def computed_numbers(self, sample: Sample, printer: Printer, part: str) -> dict[str, Any]:
        """Return the required numbers, and those that are published beside them."""
        every, below = self.singles(sample), getattr(self, "p_below", None)
        singles = {
            key: one for key, one in every.items() if key in self.REQUIRED or self.publishes(key)
        }
        if not all(math.isfinite(one.value) for one in singles.values()):
            raise no_estimate(self.name, part, self.LACK)
        numbers: dict[str, Any] = {
            key: printer.number(one.value, key, key) if key in self.WORDS else int(one.value)
            for key, one in singles.items()
        }
        if below is not None and "p_value" in numbers and singles["p_value"].value < below:
            numbers["p_value"] = f"<{below:g}"
        return numbers

    def recomputed(self, sample: Sample) -> Iterator[Number]:
        """Give the numbers beside those of the records."""
        singles = self.singles(sample)
        for key, interval in self.intervals().items():
            yield Number(key, *interval, *singles[key])
        for key in self.NUMBERS:
            if key not in self.WORDS and getattr(self, key) is not None:
                yield count_number(key, getattr(self, key), getattr(self, key), singles[key].value)
