"""Summaries of a column as `describe()` prints them: n, mean, standard deviation, smallest and largest value, quartiles; by groups or not.

Each is an output of another kind. The smallest and the largest value are quantiles at 0 and 1, and so are the value of one person unless many share it.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field as Key

from ..rules.cell_counts import CellCounter, CellCounts
from .base import KINDS, Columns, Kind, Statistic, Variable
from .single import KindPart, PartsAlone


class DescribeSpec(PartsAlone):
    """A summary of the column `of`: n (by groups: `counts`), `mean`, `sd`, and `quantiles` at `at`, 0 and 1 being the ends."""

    unit_noun: ClassVar[str] = "group"

    kind: Literal["describe"] = "describe"
    variable: Variable
    by: Columns = Key(default_factory=list)
    groups: dict[str, Any] = Key(default_factory=dict)
    probabilities: list[Annotated[float, Key(ge=0, le=1)]] = Key(
        default_factory=lambda: [0, 0.25, 0.5, 0.75, 1], min_length=1, alias="at"
    )
    counts: Annotated[list[Any] | dict[str, Any] | None, Statistic(is_part=True)] = None
    mean: Annotated[Any, Statistic(is_part=True)] = None
    sd: Annotated[Any, Statistic(is_part=True)] = None
    quantiles: Annotated[Any, Statistic(is_part=True)] = None

    @property
    def default_statistics(self) -> tuple[str, ...]:
        """What pandas prints."""
        return ("counts" if self.by else "n", "mean", "sd", "quantiles")

    def kind_part(self, key: str) -> KindPart:
        """Return the numbers under a key as the kind that has them."""
        groups: dict[str, Any] = {"by": self.by, "groups": self.groups}
        if key == "counts":
            if not self.by:
                raise self.fault(" has no groups, so it cannot have counts. Use n.")
            return KindPart("table", "cells" if isinstance(self.counts, dict) else "counts", groups)
        if key == "quantiles":
            known = self.counts if self.by else self.n
            more = {} if known is None else {"n": known}
            return KindPart(
                "quantiles",
                "values",
                {
                    "of": self.variable,
                    "at": [float(q) for q in self.probabilities],
                    **groups,
                    **more,
                },
            )
        return super().kind_part(key)

    def tallies(self, counter: CellCounter) -> list[CellCounts]:
        """Return the groups behind each part, and n."""
        return [
            *self.part_tallies(counter, counter.tally("cells", self.crossing(counter.domain))),
            *counter.n(),
        ]


KINDS.register(
    Kind(
        "describe",
        DescribeSpec,
        "Position",
        "n, mean, spread, ends and quartiles of a column, by groups or not",
    )
)
