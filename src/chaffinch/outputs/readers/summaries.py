"""Summaries from pandas and polars: `describe()`, `corr()`, `quantile()` and `groupby().agg()`, with full precision.

An object does not say all of what made it. What is not certain is not guessed: the error says what was understood, and which word is missing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from ..._base.errors import InputError, join_names, unknown_name
from ..._base.results import without_none
from .files.numbers import PrintedText
from .files.parsed import interval_edges, label_interval
from .files.printed_grid import PrintedGrid
from .files.protocol import Annotation, OpenQuestionError
from .files.variance_grid import parse_variance
from .pandas import plain, table_of
from .understood import refuse

FUNCTIONS = {
    "mean": "mean",
    "sum": "sum",
    "std": "sd",
    "var": "variance",
    "median": "median",
    "min": "min",
    "max": "max",
    "size": "table",
    "count": "table",
    "len": "table",
}
"""What pandas and polars call the functions that are read, and the kinds that these are."""
DESCRIBED = ("count", "mean", "std", "min", "max")
"""What `describe()` always has of a column of numbers."""
WORDS_DESCRIBED = ("unique", "top", "freq")
NEAR = 1e-9


def summaries_of(
    table: Any,
    *,
    name: str,
    variable: str | None = None,
    by: Sequence[str] | None = None,
    method: Literal["pearson", "spearman", "kendall"] | None = None,
    interpolation: str | None = None,
    columns: Mapping[str, tuple[str, str]] | None = None,
    where: str | None = None,
    decimals: int | None = None,
    threshold: int | None = None,
) -> list[dict[str, Any]]:
    """Return a summary of pandas or polars as entries of a specification's outputs: one for each column, or function of one.

    Read are `describe()` of a column, a table or groups; `corr()`; `value_counts(bins=...)`; `anova_lm()` of statsmodels; `quantile()` of several points; `groupby().agg()` with functions by name.
    Counts and crosstabs are `table_of`'s.

    Parameters
    ----------
    name
        What to call the output; where there are several, followed by the column and the function.
    variable, by
        The column that is summed up, and those that make the groups, where the object does not name them.
    method
        Of correlations: they do not say which they are. Only Pearson's are read.
    interpolation
        How quantiles of polars were taken: its `describe()` takes the nearest value unless told "linear", which is what is read.
    columns
        What the columns of an aggregation are that have names of their own: `{"average": ("age", "mean")}`.
    where, decimals, threshold
        As in a specification. Missing numbers are withheld ones.

    Raises
    ------
    InputError
        If it is none of these, or does not say enough: with what was understood, and what to add.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"sex": ["f", "m", "m"], "age": [30, 40, 50]})
    >>> summaries_of(frame.groupby("sex")["age"].agg(["mean"]), name="a", variable="age")
    [{'name': 'a: mean of age', 'kind': 'mean', 'by': ['sex'], 'of': 'age', 'values': {'f': 30.0, 'm': 45.0}}]
    """
    keys = without_none({"where": where, "decimals": decimals, "threshold": threshold})
    if not hasattr(table, "index"):
        return _polars_described(table, name, interpolation, keys)
    wide = hasattr(table, "columns")
    index = [str(label) for label in table.index]
    heads = (
        [label if isinstance(label, tuple) else (label,) for label in table.columns] if wide else []
    )
    if str(table.index.dtype).startswith("interval"):
        return [histogram_of(table, name=name, variable=variable, where=where, threshold=threshold)]
    if wide and {"df", "sum_sq", "F", "PR(>F)"} <= {str(head[0]) for head in heads}:
        return [_variance(table, name, variable, by, keys)]
    if _is_described(index):
        return _description_entries(table, name, variable, keys)
    if any(
        set(WORDS_DESCRIBED) & {str(head_part) for head_part in head}
        for head in (*heads, *((label,) for label in index))
    ):
        raise InputError(
            f"Output '{name}' describes words: how many there are, and the most common. Use table_of with value_counts() of the column."
        )
    if heads and _is_described([str(head[-1]) for head in heads]):
        return _described_by_groups(table, name, variable, by, keys)
    if wide and index and index == [str(head[0]) for head in heads] and _is_correlation(table):
        return [_correlation(table, name, method, keys)]
    if _is_share(table.index):
        return _quantiles(table, name, variable, by, keys)
    if wide:
        return _aggregation_entries(table, name, variable, by, columns, keys)
    raise InputError(
        f"Output '{name}' is a series by {join_names(_index_names(table)) or 'an index without a name'}, and does not say what its numbers are: "
        'use table_of with kind="mean" (or another) and variable=..., or agg(["mean"]) in place of mean().'
    )


def histogram_of(
    bins: Any,
    *,
    name: str,
    variable: str | None = None,
    where: str | None = None,
    threshold: int | None = None,
) -> dict[str, Any]:
    """Return counts of bins as an entry: a series by intervals, as `value_counts(bins=...)` gives it, or counts and edges, as `numpy.histogram` does.

    `variable` is the column, where a series does not name it.

    Examples
    --------
    >>> import numpy as np
    >>> histogram_of(np.histogram([16.0, 17.0, 25.0], bins=[15, 20, 30]), name="ages", variable="age")
    {'name': 'ages', 'kind': 'histogram', 'of': 'age', 'edges': [15.0, 20.0, 30.0], 'counts': [2, 1]}
    """
    keys = without_none({"where": where, "threshold": threshold})
    if isinstance(bins, tuple):
        counts, numbers = ([plain(number) for number in array] for array in bins)
        edges: tuple[float, ...] | None = tuple(map(float, numbers))
    else:
        rows = sorted((str(label), plain(count)) for label, count in bins.items())
        rows.sort(key=lambda row: label_interval(row[0]) or ())
        edges, counts = interval_edges([label for label, _ in rows]), [count for _, count in rows]
        variable = variable or bins.index.name
    refuse(
        name,
        (variable is None, "counts bins of a column without a name. Say which: variable=..."),
        (
            edges is None or len(edges) != len(counts) + 1,
            "has bins that do not meet, or end nowhere. Make them with edges that are numbers.",
        ),
        (
            any(int(count) != count for count in counts),
            "has shares of bins, and only counts are read: leave out density and normalize.",
        ),
    )
    about = {"name": name, "kind": "histogram", "of": str(variable)}
    return {**about, "edges": list(edges or ()), "counts": [int(count) for count in counts], **keys}


def _variance(
    table: Any, name: str, variable: str | None, by: Sequence[str] | None, keys: Mapping[str, Any]
) -> dict[str, Any]:
    """`anova_lm()` of a model with one factor."""
    labels = tuple((str(label),) for label in table.index)
    cells = tuple(
        tuple(PrintedText("" if math.isnan(number) else repr(number)) for number in map(float, row))
        for row in table.to_numpy().tolist()
    )
    grid = PrintedGrid((None,), None, labels, tuple(map(str, table.columns)), cells)
    stated = Annotation(by=None if by is None else list(by), of=variable, decimal=".")
    try:
        test = parse_variance(grid, stated)
    except OpenQuestionError as error:
        raise InputError(f"Output '{name}' is {error.understood} {error}") from None
    if variable is None or len(test.by) != 1:
        raise InputError(
            f"Output '{name}' is an analysis of variance of {join_names(label for (label,) in labels)}, and does not say of which column between which groups. Say it: summaries_of(table, name=..., variable=..., by=[...])."
        )
    numbers = {
        key: float(number) if isinstance(number, str) else int(number)
        for key, number in test.numbers.items()
    }
    about = {"name": name, "kind": "anova", "of": variable, "by": list(test.by)}
    return {**about, **numbers, **keys}


def _is_described(names: Sequence[str]) -> bool:
    """Whether words are what `describe()` has, and no more: an aggregation may have all of them, and others."""
    return set(DESCRIBED) <= set(names) and all(
        word in DESCRIBED or word.endswith("%") for word in names
    )


def _description_entries(
    table: Any, name: str, variable: str | None, keys: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """`describe()` of a column (a series) or of several, of which those of words have no mean."""
    labels = [str(label) for label in table.index]
    if not hasattr(table, "columns"):
        column = _named_column(table, variable, name, "describes")
        return [_one_described(name, column, dict(zip(labels, table.tolist(), strict=True)), keys)]
    columns = {
        str(column): dict(zip(labels, table[column].tolist(), strict=True))
        for column in table.columns
    }
    return [
        _one_described(f"{name}: {column}", column, numbers, keys)
        for column, numbers in columns.items()
        if not math.isnan(float(numbers["mean"]))
    ]


def _named_column(series: Any, variable: str | None, name: str, verb: str) -> str:
    """The column that a series is of: as it is said, or else by its name."""
    column = variable if variable is not None else series.name
    refuse(name, (column is None, f"{verb} a column without a name. Say which: variable=..."))
    return str(column)


def _one_described(
    name: str, column: str, numbers: Mapping[str, Any], keys: Mapping[str, Any]
) -> dict[str, Any]:
    points = _points(numbers)
    return {
        "name": name,
        "kind": "describe",
        "of": column,
        "n": int(numbers["count"]),
        "mean": plain(numbers["mean"]),
        "sd": plain(numbers["std"]),
        "at": list(points),
        "quantiles": [plain(numbers[word]) for word in points.values()],
        **keys,
    }


def _points(names: Mapping[str, Any] | Sequence[str]) -> dict[float, str]:
    """The quantiles among what `describe()` has, with their words: min is at 0, "25%" at 0.25."""
    points = {0.0: "min", 1.0: "max"}
    points |= {round(float(word[:-1]) / 100.0, 9): word for word in names if word.endswith("%")}
    return dict(sorted(points.items()))


def _described_by_groups(
    table: Any, name: str, variable: str | None, by: Sequence[str] | None, keys: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """`groupby(...).describe()` of one column, or of several."""
    groups = _groups(table, name, by)
    nested = isinstance(table.columns[0], tuple)
    if not nested and variable is None:
        raise InputError(
            f"Output '{name}' describes a column by {join_names(groups)}, and does not say which column. Say it: variable=..."
        )
    entries = []
    for column in dict.fromkeys(label[0] for label in table.columns) if nested else [variable]:
        statistics = table[column] if nested else table
        names = [str(word) for word in statistics.columns]
        if not _is_described(names):
            raise InputError(
                f"Output '{name}' describes several columns, and '{column}' in another way. Pass them one at a time."
            )
        labels = [_label(label) for label in statistics.index]
        numbers = {
            word: dict(zip(labels, statistics[word].tolist(), strict=True)) for word in names
        }
        points = _points(names)
        quantiles = {
            label: [plain(numbers[word][label]) for word in points.values()] for label in labels
        }
        entries.append(
            {
                "name": f"{name}: {column}" if nested else name,
                "kind": "describe",
                "of": str(column),
                "by": groups,
                "at": list(points),
                "counts": {label: int(count) for label, count in numbers["count"].items()},
                "mean": _mark_missing(numbers["mean"]),
                "sd": _mark_missing(numbers["std"]),
                "quantiles": {
                    label: points_of_group
                    for label, points_of_group in quantiles.items()
                    if not any(math.isnan(q) for q in points_of_group)
                },
                **keys,
            }
        )
    return entries


def _mark_missing(numbers: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers with those that are missing marked as withheld."""
    return {
        label: "x" if math.isnan(number) else plain(number) for label, number in numbers.items()
    }


def _polars_described(
    table: Any, name: str, interpolation: str | None, keys: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """`describe()` of polars; other tables of polars are long, and for `table_of`."""
    heads = list(getattr(table, "columns", []))
    names = [str(word) for word in table["statistic"]] if "statistic" in heads else []
    columns = [str(head) for head in heads if head != "statistic"]
    has_quantiles = any(word.endswith("%") for word in names)
    refuse(
        name,
        (
            not _is_described([word for word in names if word != "null_count"]),
            "is no summary that is known by its form. Of a long table of polars name the numbers: table_of(table, count=..., kind=..., variable=...).",
        ),
        (
            interpolation not in (None, "linear"),
            f': quantiles are read as "linear" ones. Got {interpolation!r}: make them anew with describe(interpolation="linear").',
        ),
        (
            interpolation is None and has_quantiles,
            f"is a description of {join_names(columns)}; polars takes the nearest value for a quantile unless told otherwise, and does not "
            'say which. Pass interpolation="linear" if it was made so, or make it with describe(percentiles=None).',
        ),
    )
    numbers = {column: dict(zip(names, list(table[column]), strict=True)) for column in columns}
    return [
        _one_described(f"{name}: {column}", column, statistics, keys)
        for column, statistics in numbers.items()
        if isinstance(statistics["mean"], int | float)
    ]


def _is_correlation(table: Any) -> bool:
    """Whether a square table is symmetric, with ones on its diagonal and nothing beyond 1."""
    try:
        rows = [[float(number) for number in row] for row in table.to_numpy().tolist()]
    except (TypeError, ValueError):
        return False
    return all(abs(rows[k][k] - 1.0) < NEAR for k in range(len(rows))) and all(
        math.isnan(rows[a][b])
        or (abs(rows[a][b] - rows[b][a]) < NEAR and abs(rows[a][b]) <= 1.0 + NEAR)
        for a in range(len(rows))
        for b in range(len(rows))
    )


def _correlation(
    table: Any, name: str, method: str | None, keys: Mapping[str, Any]
) -> dict[str, Any]:
    columns = [str(column) for column in table.columns]
    refuse(
        name,
        (
            method is None,
            f'is a matrix of correlations of {join_names(columns)}, and does not say of which kind. Pass method="pearson" if they are Pearson\'s, as corr() makes them unless told otherwise.',
        ),
        (
            method != "pearson",
            f": only Pearson's correlations are read. Got method={method!r}; there is no kind of output for these yet.",
        ),
    )
    values = [
        ["x" if math.isnan(number) else float(number) for number in row]
        for row in table.to_numpy().tolist()
    ]
    return {"name": name, "kind": "correlation", "of": columns, "values": values, **keys}


def _is_share(index: Any) -> bool:
    """Whether the last level of an index has no name and only numbers with a fraction between 0 and 1: points of quantiles."""
    last = index.get_level_values(-1)
    return (
        index.names[-1] is None
        and len(last) > 0
        and str(last.dtype).startswith("float")
        and all(0.0 <= float(q) <= 1.0 for q in last)
    )


def _quantiles(
    table: Any, name: str, variable: str | None, by: Sequence[str] | None, keys: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """`quantile([...])` of a column, of several, or by groups."""
    wide = hasattr(table, "columns")
    if wide and table.index.nlevels > 1:
        raise InputError(
            f"Output '{name}' has quantiles of several columns by groups. Pass one column at a time."
        )
    if wide:
        return [
            entry
            for column in table.columns
            for entry in _quantiles(
                table[column].rename(column), f"{name}: {column}", str(column), by, keys
            )
        ]
    column = _named_column(table, variable, name, "has quantiles of")
    probabilities = [float(q) for q in dict.fromkeys(table.index.get_level_values(-1))]
    entry = {"name": name, "kind": "quantiles", "of": column, "at": probabilities}
    if table.index.nlevels == 1:
        return [{**entry, "values": [plain(number) for number in table.tolist()], **keys}]
    groups = list(by) if by is not None else [str(level) for level in table.index.names[:-1]]
    if len(groups) != table.index.nlevels - 1 or "None" in groups:
        raise InputError(
            f"Output '{name}' has quantiles by groups: name their columns in order, by=[...]."
        )
    values: dict[str, list[Any]] = {}
    for label, number in zip(table.index, table.tolist(), strict=True):
        values.setdefault(_label(label[:-1]), []).append(plain(number))
    return [{**entry, "by": groups, "values": values, **keys}]


def _aggregation_entries(
    table: Any,
    name: str,
    variable: str | None,
    by: Sequence[str] | None,
    columns: Mapping[str, tuple[str, str]] | None,
    keys: Mapping[str, Any],
) -> list[dict[str, Any]]:
    """`groupby(...).agg(...)`: a column of functions, several, or names of one's own."""
    groups, entries = _groups(table, name, by), []
    for k, head in enumerate(table.columns):
        column, function = _made_of(head, name, variable, columns)
        if function not in FUNCTIONS:
            raise InputError(
                f"Output '{name}': column {_label(head)!r} is the {function!r} of '{column}'. {unknown_name('function', function, FUNCTIONS)} Leave it out."
            )
        kind, series = FUNCTIONS[function], table.iloc[:, k]
        called = f"{name}: {function if kind == 'table' else f'{function} of {column}'}"
        if kind in ("min", "max"):
            numbers = _mark_missing(
                {_label(level): float(number) for level, number in series.items()}
            )
            values = {label: [number] for label, number in numbers.items()}
            about = {
                "name": called,
                "kind": "quantiles",
                "of": column,
                "at": [float(kind == "max")],
            }
            entries.append({**about, "by": groups, "values": values, **keys})
            continue
        wanted: Any = {"variable": None if kind == "table" else column, "kind": kind, **keys}
        entries.append(table_of(series, name=called, by=groups, margins=False, **wanted))
    return entries


def _made_of(
    head: Any, name: str, variable: str | None, columns: Mapping[str, tuple[str, str]] | None
) -> tuple[str, str]:
    """The column and the function behind a column of an aggregation."""
    if columns is not None and not isinstance(head, tuple) and head in columns:
        column, function = columns[head]
        return str(column), str(function)
    if isinstance(head, tuple) and len(head) == 2:
        return str(head[0]), str(head[1])
    if str(head) in FUNCTIONS and variable is not None:
        return variable, str(head)
    is_function = str(head) in FUNCTIONS
    understood = f"the {head!r} of a column" if is_function else f"a column called {head!r}"
    line = (
        f"variable=... or columns={{{str(head)!r}: (column, {str(head)!r})}}."
        if is_function
        else f'columns={{{str(head)!r}: (column, "mean")}}.'
    )
    raise InputError(
        f"Output '{name}' has {understood}, and does not say of which column or by which function. Say it: {line}"
    )


def _groups(table: Any, name: str, by: Sequence[str] | None) -> list[str]:
    names = _index_names(table)
    groups = list(by) if by is not None else names
    if len(groups) != table.index.nlevels or not groups:
        raise InputError(
            f"Output '{name}' is by {table.index.nlevels} columns: name them in order, by=[...]. Got {join_names(groups) or 'none'}."
        )
    return groups


def _index_names(table: Any) -> list[str]:
    return [str(level) for level in table.index.names if level is not None]


def _label(label: Any) -> str:
    parts = label if isinstance(label, tuple) else (label,)
    return "|".join(str(plain(level)) for level in parts)
