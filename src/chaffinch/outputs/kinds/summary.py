"""What summaries of a number share: a column, for all records or by groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from ..columns import Floats
from ..crossing import Frame, column_numbers, record_groups
from .base import OutputSpec, Sample

__all__ = ["SummarySpec"]


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
