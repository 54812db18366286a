"""The column of groups that records are dealt into, to be left out in turn for intervals: here or where the rows are."""

from __future__ import annotations

from .domain import Categories
from .schema import Column

GROUPS = 20
"""Groups of records that are left out in turn for an interval."""

GROUP = "\x00group"
"""The name of the column of groups: none that a file has."""


def group_column(groups: int = GROUPS) -> Column:
    """Return the column of groups."""
    return code_column(GROUP, groups)


def code_column(name: str, size: int) -> Column:
    """Return a column of which only the number of codes matters; they may be many millions."""
    return Column(name, "categorical", codec=Categories(range(size)))  # type: ignore[arg-type]
