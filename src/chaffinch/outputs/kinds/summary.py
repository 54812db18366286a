"""What summaries of a number share: a column, for all records or by groups; and those that have one number for each group."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..columns import Floats
from ..crossing import Crossing, Frame, cell_names, column_numbers, record_groups, shaped
from ..precision import UNSAID, Interval
from ..printing import Printer
from ..refit import Number
from ..rules.tallies import OutputTally
from ..rules.tallying import Tallier
from .base import OutputSpec, PrintedNumbers, Sample
from .computing import check_some, nested, printed_groups


class SummarySpec(OutputSpec):
    """A summary of the column `of`: a `value`, or `values` for the groups that `by` and `groups` make."""

    NUMBERS: ClassVar[tuple[str, ...]] = ("value", "values")
    COLUMN_KEYS: ClassVar[tuple[str, ...]] = ("of", "by")
    NOUN: ClassVar[str] = "group"

    if TYPE_CHECKING:  # each kind has these among its keys, in its own order
        of: str
        by: list[str]
        value: Any
        values: Any

    @property
    def numbers(self) -> Any:
        """What is published, in either form; None for a recipe."""
        return self.value if self.values is None else self.values

    def check_recipe(self, frame: Frame) -> None:
        """Raise for a column that is no number."""
        self.filter(frame)
        self.crossing(frame)
        frame.fields[self.of].values  # noqa: B018  raises for words

    def by_group(self, sample: Sample) -> Iterator[Floats]:
        """Give the numbers of each group's records."""
        numbers = column_numbers(self.of, sample.fields, sample.inside)
        for rows in record_groups(self.crossing(sample.frame), sample.inside):
            yield numbers[rows]


class GroupNumber(NamedTuple):
    """How many records a group has, its number (nan where it has none), and the number's standard error."""

    n: int
    value: float
    unit: float = 0.0


class GroupedNumbers(SummarySpec):
    """A summary with one number for each group."""

    QUANTITY: ClassVar[str] = "sum"
    """What differences of it are of: a sum of the column can be subtracted from another."""

    @abstractmethod
    def group_numbers(self, sample: Sample) -> Iterator[GroupNumber]:
        """Give the number of each group of records."""

    @property
    def lack(self) -> str:
        """What a group without a number lacks, for messages."""
        return "has no records"

    def printed_cells(self, cells: Crossing) -> NDArray[np.object_]:
        """Return the numbers as printed, with an axis for each column of `by`."""
        if (self.value is None) == (self.values is None) or (self.by and self.values is None):
            raise self.fault(" must have a value, or values for the groups of its `by`.")
        return shaped(self.numbers, cells, what=f"Output '{self.name}'", absent="")

    def intervals(self, cells: Crossing) -> dict[int, Interval]:
        """Return the interval of each group's number, by the group's position; withheld ones are absent."""
        printed = self.printed_cells(cells).ravel()
        intervals = {
            k: self.printed(number, "a value")
            for k, number in enumerate(printed)
            if number not in UNSAID
        }
        if not intervals:
            raise self.fault(" has no value that is not withheld.")
        return intervals

    def printed_numbers(self, frame: Frame) -> Iterator[PrintedNumbers]:
        """Give each group's number."""
        if self.numbers is not None:
            cells = self.crossing(frame)
            self.intervals(cells)
            yield PrintedNumbers(
                "values", cell_names(cells), self.printed_cells(cells).ravel().tolist(), False
            )

    def computed_numbers(self, sample: Sample, printer: Printer, part: str) -> dict[str, Any]:
        """Return each group's number."""
        cells = self.crossing(sample.frame)
        groups = ((one.n, [one.value]) for one in self.group_numbers(sample))
        printed = [
            row[0]
            for row in printed_groups(
                groups, cell_names(cells), cells, printer, part, lack=self.lack
            )
        ]
        check_some(printed, self.name, part)
        return {"values": nested(printed, cells.shape)} if self.by else {"value": printed[0]}

    def recomputed(self, sample: Sample) -> Iterator[Number]:
        """Give each group's number beside that of the records."""
        cells = self.crossing(sample.frame)
        intervals, names = self.intervals(cells), cell_names(cells)
        for k, one in enumerate(self.group_numbers(sample)):
            if k in intervals:
                yield Number(names[k] or self.kind, *intervals[k], one.value, one.unit)

    def tallies(self, tallier: Tallier) -> list[OutputTally]:
        """Return the groups, and n."""
        cells = self.crossing(tallier.frame)
        printed = tallier.marked(cells.names)
        if self.values is not None and cells.steps:
            printed = shaped(self.values, cells, what=f"Output '{self.name}'", absent="")
        shown = tallier.numbers_shown(printed)
        quantity = f"{self.QUANTITY}:{'/'.join(self.of_columns)}"
        return [tallier.tally("cells", cells, shown=shown, quantities=[quantity]), *tallier.n()]

    @property
    def of_columns(self) -> tuple[str, ...]:
        """The columns whose numbers it sums up."""
        return (self.of,)
