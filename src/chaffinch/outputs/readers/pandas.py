"""Outputs from pandas and polars tables: counts, percentages and summaries by groups, with full precision."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, TypedDict, Unpack

from ..._base.errors import InputError, listed, unknown_name
from ..._base.plain import without_none

__all__ = ["plain", "table_of"]

Summary = Literal["table", "mean", "sum", "sd", "variance", "median"]
SUMMARIES = ("table", "mean", "sum", "sd", "variance", "median")


class _Keys(TypedDict, total=False):
    """Keys of an entry that are passed on."""

    margins: bool
    where: str | None
    n: int | None
    decimals: int | None
    threshold: int | None
    base: int | None


def table_of(
    table: Any,
    *,
    name: str,
    by: Sequence[str] | None = None,
    kind: Summary = "table",
    of: str | None = None,
    count: str | None = None,
    percentages: Literal["all", "rows", "columns"] | None = None,
    **keys: Unpack[_Keys],
) -> dict[str, Any]:
    """Return a pandas or polars table as an entry of a specification's outputs.

    The table is a crosstab or pivot table (index by columns) or a series (index), of pandas; or a long table of pandas or polars that has the
    columns `by` and a column of numbers, named by `count`.

    Parameters
    ----------
    name
        What to call the output.
    by
        The columns that are crossed, in the order of the table's index and then its columns; by default their names.
    kind, of
        What the numbers are: counts, or a summary of the column `of` in each cell.
    percentages, keys
        As in a specification: margins, where, n, decimals, threshold, base. Cells that are missing (NaN, null) are suppressed ones, below the
        threshold.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"sex": ["f", "m", "m"], "rich": ["no", "no", "yes"]})
    >>> table_of(pd.crosstab(frame["sex"], frame["rich"]), name="t")["cells"]
    {'f|no': 1, 'f|yes': 0, 'm|no': 1, 'm|yes': 1}
    """
    if kind not in SUMMARIES:
        raise unknown_name("kind", kind, SUMMARIES)
    if unknown := next((key for key in keys if key not in _Keys.__annotations__), None):
        raise unknown_name("key", unknown, _Keys.__annotations__)
    if (of is None) != (kind == "table"):
        raise InputError(f"Output '{name}': of = ... names the column of a summary, and only of that.")
    columns, cells = _long(table, by, count, name) if count is not None else _crossed(table, by, name)
    numbers = {_key(levels, name): _cell(number, kind, percentages) for levels, number in cells}
    if len(numbers) < len(cells):
        raise InputError(f"Output '{name}' has two rows for the same cell.")
    if None in numbers.values() and keys.get("threshold") is None and kind == "table" and percentages is None:
        raise InputError(
            f"Output '{name}' has missing cells. If they are suppressed, say below which count: threshold = 10."
        )
    entry: dict[str, Any] = {"name": name, "kind": kind, "by": columns}
    if kind != "table":
        entry |= {"of": of, "values": {key: "x" if number is None else number for key, number in numbers.items()}}
    elif percentages is not None:
        entry |= {"percentages": percentages, "values": numbers}
    else:
        entry |= {"cells": numbers}
    return {**entry, **without_none({key: value for key, value in keys.items() if value is not False})}


Cells = list[tuple[tuple[Any, ...], Any]]


def _crossed(table: Any, by: Sequence[str] | None, name: str) -> tuple[list[str], Cells]:
    """Cells of a pandas table or series, by the levels of its index and columns."""
    if not hasattr(table, "index") or not hasattr(table.index, "names"):
        raise InputError(
            f"Output '{name}' must be a pandas crosstab or series; for a long table name its numbers: count = ..."
        )
    wide = hasattr(table, "columns")
    names = [*table.index.names, *(table.columns.names if wide else [])]
    columns = list(by) if by is not None else [str(one) for one in names]
    if len(columns) != len(names) or (by is None and any(one is None for one in names)):
        raise InputError(
            f"Output '{name}' crosses {len(names)} columns: name them in order, by = [...]. Got {listed(columns)}."
        )
    if not wide:
        return columns, [(_tuple(label), table.iloc[row]) for row, label in enumerate(table.index)]
    return columns, [
        ((*_tuple(label), *_tuple(head)), table.iloc[row, k])
        for row, label in enumerate(table.index)
        for k, head in enumerate(table.columns)
    ]


def _long(table: Any, by: Sequence[str] | None, count: str, name: str) -> tuple[list[str], Cells]:
    known = [str(column) for column in table.columns]
    columns = list(by) if by is not None else [column for column in known if column != count]
    for column in (*columns, count):
        if column not in known:
            raise InputError(f"Output '{name}': {unknown_name('column', column, known)}")
    parts = [list(table[column]) for column in (*columns, count)]
    return columns, [(row[:-1], row[-1]) for row in zip(*parts, strict=True)]


def _tuple(label: Any) -> tuple[Any, ...]:
    return label if isinstance(label, tuple) else (label,)


def _key(levels: Sequence[Any], name: str) -> str:
    words = [str(plain(level)) for level in levels]
    if any("|" in word for word in words):
        raise InputError(f"Output '{name}' has a level with the sign | in it. Rename the level.")
    return "|".join(words)


def plain(level: Any) -> Any:
    """A plain Python value for a numpy one."""
    return level.item() if hasattr(level, "item") else level


def _cell(number: Any, kind: str, percentages: str | None) -> Any:
    number = plain(number)
    if number is None or (isinstance(number, float) and math.isnan(number)):
        return None
    try:
        if number != number:  # pandas' own missing value
            return None
    except TypeError:
        return None
    if kind == "table" and percentages is None and isinstance(number, float) and number.is_integer():
        return int(number)
    return number
