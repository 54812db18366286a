"""What outputs with counts share: how counts were withheld or rounded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field as Key

from ..precision import Rounding, count_interval
from ..printing import Printer
from ..refit import Number, count_number
from ..rules.counts import table_rules
from ..rules.findings import Finding
from ..rules.policy import Policy
from ..rules.tallies import OutputTally
from ..rules.tallying import Tallier
from .base import OutputSpec


class Counted(OutputSpec):
    """Outputs with counts: those below a threshold may be withheld (null or "x" in the file), all may be rounded to a base."""

    PRINTING: ClassVar[tuple[str, ...]] = ("digits", "bands", "withheld")

    threshold: Annotated[int, Key(ge=1)] | None = None
    suppressed_zeros: bool = False
    base: Annotated[int, Key(ge=1)] = 1
    rounding: Rounding = "nearest"

    @property
    def printer(self) -> Printer:
        """How it prints its numbers."""
        return replace(super().printer, base=self.base, rounding=self.rounding)

    def bounds(
        self, cells: Sequence[Any] | NDArray[np.object_], most: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the least and largest count of each cell."""
        how: dict[str, Any] = {
            key: getattr(self, key) for key in ("threshold", "suppressed_zeros", "base", "rounding")
        }
        what, flat = (
            f"Output '{self.name}': a count",
            cells.ravel() if isinstance(cells, np.ndarray) else cells,
        )
        ends = [count_interval(cell, most=most, what=what, **how) for cell in flat]
        lo, hi = np.array(ends, dtype=np.int64).reshape(-1, 2).T
        return lo, hi

    def count_numbers(
        self,
        names: Iterable[str],
        printed: Sequence[Any] | NDArray[np.object_],
        counts: Iterable[Any],
        rows: int,
    ) -> Iterator[Number]:
        """Give counts as printed beside those of the records."""
        return map(count_number, names, *self.bounds(printed, rows), counts)

    def findings(
        self, tallies: list[OutputTally], tallier: Tallier, policy: Policy
    ) -> list[Finding]:
        """Return small cells, zeros, and rows or columns with all their people in one cell."""
        return table_rules(tallies, policy)
