"""What outputs with counts share: how counts were withheld or rounded."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field as Key

from ..precision import Rounding, count_interval
from ..printing import Printer
from .base import OutputSpec

__all__ = ["Counted", "boxed"]


def boxed(cells: Any) -> NDArray[np.object_]:
    """Return entries, lists among them or not, as an array of one axis."""
    out = np.empty(len(cells), dtype=object)
    out[:] = cells
    return out


class Counted(OutputSpec):
    """What outputs with counts share: how counts were withheld or rounded.

    Parameters
    ----------
    threshold
        Counts below it were withheld: such cells, null or "x" in the file, have 1 to threshold - 1 records.
    suppressed_zeros
        Whether zeros were withheld too.
    base, rounding
        What counts were rounded to, and how: `nearest`, `down`, `up`, or `random` (either neighbour).
    """

    PRINTING: ClassVar[tuple[str, ...]] = ("digits", "bands", "withheld")

    threshold: Annotated[int, Key(ge=1)] | None = None
    suppressed_zeros: bool = False
    base: Annotated[int, Key(ge=1)] = 1
    rounding: Rounding = "nearest"

    @property
    def printer(self) -> Printer:
        """How it prints its numbers."""
        return Printer(
            self.name, self.decimals, self.digits or {}, self.threshold, self.suppressed_zeros, self.bands or (),
            self.withheld or (), self.base, self.rounding,
        )  # fmt: skip

    def bounds(self, cells: NDArray[np.object_], most: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the least and largest count of each cell."""
        ends = [
            count_interval(
                cell,
                most=most,
                threshold=self.threshold,
                suppressed_zeros=self.suppressed_zeros,
                base=self.base,
                rounding=self.rounding,
                what=f"Output '{self.name}': a count",
            )
            for cell in cells.ravel()
        ]
        lo, hi = np.array(ends, dtype=np.int64).reshape(-1, 2).T
        return lo, hi
