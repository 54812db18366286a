"""Weighted tables: sums of the records' weights in each cell, or percentages of them, with the unweighted counts beside or not.

The weighted numbers are sums (or shares) of the column of weights, and the counts a table; rules are run on the records behind each cell.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field as Key

from .base import KINDS, Kind
from .parts import KindPart, PartsAlone


class WeightedTableSpec(PartsAlone):
    """A table whose cells are sums of the column `weight`, or percentages of them; `counts` are how many records each cell has."""

    NUMBERS: ClassVar[tuple[str, ...]] = ("values", "counts")
    BESIDE: ClassVar[tuple[str, ...]] = (*NUMBERS, "n")
    PARTS: ClassVar[tuple[str, ...]] = NUMBERS
    USUAL: ClassVar[tuple[str, ...]] = ("values",)
    COLUMN_KEYS: ClassVar[tuple[str, ...]] = ("by", "weight")

    kind: Literal["weighted-table"] = "weighted-table"
    by: Annotated[list[str], Key(min_length=1)]
    groups: dict[str, Any] = Key(default_factory=dict)
    weight: str
    percentages: Literal["all", "rows", "columns"] | None = None
    values: list[Any] | dict[str, Any] | None = None
    counts: list[Any] | None = None

    def part(self, key: str) -> KindPart:
        """Return weighted numbers as sums or shares of the weights, and counts as a table."""
        groups: dict[str, Any] = {"by": self.by, "groups": self.groups}
        if key == "counts":
            return KindPart("table", "counts", groups)
        if self.percentages is None:
            return KindPart("sum", "values", {"of": self.weight, **groups})
        return KindPart(
            "shares", "values", {"of": self.weight, "percentages": self.percentages, **groups}
        )


KINDS.register(
    Kind(
        "weighted-table",
        WeightedTableSpec,
        "Frequencies",
        "weighted counts or percentages, with the unweighted counts or not",
    )
)
