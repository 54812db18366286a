"""Outputs from pandas and polars tables: counts, percentages and summaries by groups, with full precision."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, TypedDict, Unpack

from ..._base.checks import check_name
from ..._base.errors import InputError, join_names
from ..._base.results import without_none
from ..cells import TOTAL
from .understood import refuse

TOTALS = ("all", "total", "totals", "sum")
"""What the last row or column of a table may be called, in small letters, where it holds totals: pandas says All unless told otherwise."""
NEAR = 1e-6
"""What sums of shares may be off by."""
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
    variable: str | None = None,
    count: str | None = None,
    percentages: Literal["all", "rows", "columns"] | None = None,
    weight: str | None = None,
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
    kind, variable
        What the numbers are: counts, or a summary of the column `variable` in each cell.
    weight
        The column of weights that a weighted table sums up in each cell; with `percentages` they are percentages of the weights.
    percentages, keys
        As in a specification: margins, where, n, decimals, threshold, base. Cells that are missing (NaN, null) are suppressed ones, below the
        threshold. Totals of counts (pandas' `margins=True`) are read as such; `margins=False` says that a last row or column called All is a level.

    Raises
    ------
    InputError
        If the table has shares in place of counts or percentages (pandas' `normalize`), or totals that are no totals of its counts.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"sex": ["f", "m", "m"], "rich": ["no", "no", "yes"]})
    >>> table_of(pd.crosstab(frame["sex"], frame["rich"]), name="t")["cells"]
    {'f|no': 1, 'f|yes': 0, 'm|no': 1, 'm|yes': 1}
    """
    check_name("kind", kind, SUMMARIES)
    for key in keys:
        check_name("key", key, _Keys.__annotations__)
    if (variable is None) != (kind == "table"):
        raise InputError(
            f"Output '{name}': variable = ... names the column of a summary, and only of that."
        )
    columns, cells = (
        _long(table, by, count, name) if count is not None else _crosstab_cells(table, by, name)
    )
    if count is None and "margins" not in keys and (totals := _totals(cells)):
        cells = _with_totals(cells, totals, name, counts=kind == "table" and percentages is None)
        keys["margins"] = True
    if kind == "table" and weight is None:
        _check_shares(cells, name, percentages)
    is_counted = kind == "table" and percentages is None and weight is None
    form = "table" if is_counted else "values"
    numbers = {_key(levels, name): _cell(number, form) for levels, number in cells}
    is_missing = None in numbers.values()
    plain_numbers = [plain(number) for _, number in cells]
    refuse(
        name,
        (
            is_counted and any(map(_is_fraction, plain_numbers)),
            "has counts that are not whole. If they are weighted, name the column of weights: weight=...; if they are a summary, say "
            'which and of what: kind="mean", variable=...; percentages are percentages="rows", "columns" or "all".',
        ),
        (
            weight is not None and (kind != "table" or keys.get("margins")),
            'has weights: only tables without totals can have them. Leave out the totals, or use kind = "weighted-mean" in a file.',
        ),
        (len(numbers) < len(cells) and weight is None, "has two rows for the same cell."),
        (
            is_missing and is_counted and keys.get("threshold") is None,
            "has missing cells. If they are suppressed, say below which count: threshold = 10.",
        ),
    )
    is_share = percentages is not None and weight is None
    marked = {key: "x" if number is None else number for key, number in numbers.items()}
    about = {"of": variable, "weight": weight, "percentages": percentages}
    return {
        "name": name,
        "kind": kind if weight is None else "weighted-table",
        "by": columns,
        **without_none(about),
        "cells" if is_counted else "values": numbers if is_counted or is_share else marked,
        **without_none({key: value for key, value in keys.items() if value is not False}),
    }


Cells = list[tuple[tuple[Any, ...], Any]]


def _totals(cells: Cells) -> tuple[Any, ...]:
    """What the totals of a table are called on each of its axes; None where an axis has none, and nothing at all where no axis has."""
    last = cells[-1][0] if cells else ()
    names = tuple(label if str(plain(label)).strip().lower() in TOTALS else None for label in last)
    if names == (None, None) and len(cells) > 3 and last[0] == last[1]:
        names = last  # margins_name="Everybody": called alike on both axes
    return names if any(name is not None for name in names) else ()


def _with_totals(cells: Cells, totals: tuple[Any, ...], name: str, *, counts: bool) -> Cells:
    """The cells of a table of counts, its totals called as a specification calls them; InputError where they are no totals of counts."""
    shown = next(str(plain(total)) for total in totals if total is not None)
    way_out = "Leave them out, or say margins=False if that is a level."
    ends = f"ends in '{shown}', as totals do"
    refuse(
        name,
        (not counts, f"{ends}, and only tables of counts can have totals. {way_out}"),
        (
            len(totals) > 2 or None in totals,
            f"{ends}. Totals are read of tables of one or two columns, on both. {way_out}",
        ),
    )
    numbers = {levels: _cell(number, "table") for levels, number in cells}
    for levels, total in numbers.items():
        for axis, word in enumerate(totals):
            if levels[axis] != word:
                continue
            parts = [
                number
                for other, number in numbers.items()
                if other[axis] != word
                and all(other[k] == levels[k] for k in range(len(levels)) if k != axis)
            ]
            known = [number for number in (total, *parts) if number is not None]
            if len(known) == len(parts) + 1 and abs(total - sum(parts)) > NEAR * max(
                1.0, abs(total)
            ):
                raise InputError(
                    f"Output '{name}' {ends}, and its numbers do not add up to it. {way_out}"
                )
    return [
        (
            tuple(
                TOTAL if level == word else level
                for level, word in zip(levels, totals, strict=True)
            ),
            number,
        )
        for levels, number in cells
    ]


def _check_shares(cells: Cells, name: str, percentages: str | None) -> None:
    """Raise InputError where numbers are shares: fractions of 1, whose total, or that of each row or column, is 1."""
    numbers = [(levels, plain(number)) for levels, number in cells if TOTAL not in levels]
    if not numbers or not all(
        isinstance(number, float) and -NEAR <= number <= 1.0 + NEAR for _, number in numbers
    ):
        return
    axes = {"all": None, "rows": 0, "columns": len(numbers[0][0]) - 1}
    for share_of, axis in axes.items():
        sums: dict[Any, float] = {}
        for levels, number in numbers:
            key = None if axis is None else levels[axis]
            sums[key] = sums.get(key, 0.0) + number
        if all(
            abs(total - 1.0) <= NEAR * len(numbers) or (axis is not None and total == 0.0)
            for total in sums.values()
        ):
            raise InputError(
                f"Output '{name}' has shares of 1 ({share_of}) where {'percentages' if percentages else 'counts'} are needed. Make the table without normalize, or pass "
                f'100 times its numbers with percentages="{share_of}".'
            )


def _is_fraction(number: Any) -> bool:
    return isinstance(number, float) and math.isfinite(number) and not number.is_integer()


def _crosstab_cells(table: Any, by: Sequence[str] | None, name: str) -> tuple[list[str], Cells]:
    """Cells of a pandas table or series, by the levels of its index and columns."""
    if not hasattr(table, "index") or not hasattr(table.index, "names"):
        raise InputError(
            f"Output '{name}' must be a pandas crosstab or series; for a long table name its numbers: count = ..."
        )
    wide = hasattr(table, "columns")
    names = [*table.index.names, *(table.columns.names if wide else [])]
    columns = list(by) if by is not None else [str(axis) for axis in names]
    if len(columns) != len(names) or (by is None and any(axis is None for axis in names)):
        raise InputError(
            f"Output '{name}' crosses {len(names)} columns: name them in order, by = [...]. Got {join_names(columns)}."
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
        check_name("column", column, known, prefix=f"Output '{name}': ")
    parts = [list(table[column]) for column in (*columns, count)]
    return columns, [(row[:-1], row[-1]) for row in zip(*parts, strict=True)]


def _tuple(label: Any) -> tuple[Any, ...]:
    return label if isinstance(label, tuple) else (label,)


def _key(levels: Sequence[Any], name: str) -> str:
    texts = [str(plain(level)) for level in levels]
    if any("|" in word for word in texts):
        raise InputError(f"Output '{name}' has a level with the sign | in it. Rename the level.")
    return "|".join(texts)


def plain(level: Any) -> Any:
    """A plain Python value for a numpy one."""
    return level.item() if hasattr(level, "item") else level


def _cell(number: Any, kind: str) -> Any:
    """A number as an entry has it, None where it is missing; of a table of counts a whole one."""
    number = plain(number)
    try:
        if number is None or number != number:  # nan, and pandas' own missing value
            return None
    except TypeError:
        return None
    is_count = kind == "table" and isinstance(number, float) and number.is_integer()
    return int(number) if is_count else number
