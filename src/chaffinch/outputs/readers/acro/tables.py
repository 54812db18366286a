"""ACRO's tables as outputs with their published numbers: counts, percentages, means, sums, spreads, medians, extremes.

What is withheld or rounded follows the way ACRO does it (1.0.2):
- Suppression leaves out the *records* of disclosive cells and makes the table again: totals are of the cells that are shown, and say nothing
  more. Where zeros are disclosive, empty cells are missing too, so that a missing count is 0 up to the threshold.
- Rounded tables have totals of rounded cells, which are rounded again: no roundings of the true totals. They are left out.
- Numbers that are not rounded have full precision: a mean times its count is a whole sum.

`Layout` says which cells of a table, as pandas writes it to CSV, are of which levels, whatever the number of header lines:

    SEX,1,2                   rows by one variable, columns by one whose name is not written
    57,12,15

    ,mean,mean,std,std        several functions: a line for them, one for each column variable, and then the names of the row variables
    SEX,1,2,1,2
    AREA,,,,
    57,3.1,2.9,1.1,1.2

The names of the variables, rows first, come from what ACRO noted about the table.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...._base.errors import InputError
from ...domain import Field, Fields
from .commands import Call, ComparedColumn, filters_of, read_comparison, referred_column, where_of
from .read import AcroDirectory, AcroResult, UnclearError

ANALYSES = {
    "FrequencyTable": "count",
    "Mean": "mean",
    "Sum": "sum",
    "StandardDeviation": "std",
    "Median": "median",
    "Minimum": "min",
    "Maximum": "max",
    "Mode": "mode",
    "ModeCalculation": "agg_mode",
}
"""What ACRO's summary calls a function, and what pandas does."""

KINDS = {
    "count": "table",
    "mean": "mean",
    "sum": "sum",
    "std": "sd",
    "median": "median",
    "min": "quantiles",
    "max": "quantiles",
}

SEPARATOR = "|"

_INTERVAL = re.compile(r"([\[(])\s*([-+.\deE]+)\s*,\s*([-+.\deE]+)\s*([\])])")


TOTAL = "All"
"""What pandas calls totals, unless it is told otherwise."""

MOST_HEADERS = 12
OTHER_VARIABLES = "the header of its table does not have the variables that ACRO noted"

Key = tuple[str | None, ...]


@dataclass(frozen=True)
class ReadOutput:
    """An output made of a result: its entry, what a reader should know, and the number of records where it shows that exactly.

    `uncertain`: why its entry has no numbers, so that only the rules can be asked of it.
    """

    entry: dict[str, Any]
    notes: tuple[str, ...] = ()
    n: int | None = None
    uncertain: str = ""


def functions_of(result: AcroResult) -> list[str]:
    """Return the functions of a table by the names that pandas has for them, in order, from ACRO's summary.

    Examples
    --------
    >>> functions_of(AcroResult("t", "pass", "table", "pivot_table", (), summary="Mean : \\n PPercentCheck: pass\\nSum : \\n"))
    ['mean', 'sum']
    """
    # At the start of a line, except after a spread that passed: ACRO forgets the end of that line.
    names = re.findall(r"(?:^|(?<= : ))(\w+) : ", result.summary, re.MULTILINE)
    return [ANALYSES[name] for name in names if name in ANALYSES]


def table_outputs(
    result: AcroResult, directory: AcroDirectory, fields: Fields, call: Call | None
) -> list[ReadOutput]:
    """Return the outputs in a crosstab or pivot table; UnclearError, with the reason, where they cannot be told."""
    functions = functions_of(result)
    if not functions:
        raise UnclearError("its summary does not say which statistic it is: give a recipe")
    if unknown := [name for name in functions if name not in KINDS]:
        raise UnclearError(f"a table of {unknown[0].removeprefix('agg_')}s is not supported")
    if len(result.tables) != 1 or not result.independent:
        raise UnclearError(
            "it does not have one table with the variables that it is of: give a recipe"
        )
    for name in (*result.independent, *([result.dependent] if result.dependent else [])):
        if name not in fields.names:
            raise UnclearError(f"its variable '{name}' is no column of the data: give a recipe")
    if call is not None:
        _check_options(call, functions)
    comparisons = {} if call is None else _comparisons(result, call)
    where = where_of([] if call is None else _filters(result, call))
    total = call.constant("margins_name") if call is not None else None
    layout = read_layout(
        result.tables[0].rows or (),
        result.independent,
        functions=functions,
        values=result.dependent,
        total=total if isinstance(total, str) else TOTAL,
        levels=[label for name in result.independent for label in fields[name].labels],
    )
    if "" in layout.parts and len(functions) > 1:
        raise UnclearError("the header of its table does not say which number is of which function")
    table = _Table(result, directory, fields, layout, functions, where, comparisons)
    return [
        one
        for name, cells in layout.parts.items()
        for one in table.outputs(name or functions[0], cells)
    ]


def _check_options(call: Call, functions: list[str]) -> None:
    """Raise UnclearError for options that make other numbers of a function's."""
    if call.argument("fill_value") is not None and not set(functions) <= {"count", "sum"}:
        raise UnclearError("its missing numbers were filled with a value: give a recipe")
    normalised = call.argument("normalize")
    if (
        normalised is not None
        and call.constant("normalize") is not False
        and functions != ["count"]
    ):
        raise UnclearError("shares of anything but counts are not supported: give a recipe")


def _filters(result: AcroResult, call: Call) -> list[str]:
    """The filters of a table's command; UnclearError where rows or columns are anything but the columns that ACRO noted."""
    if call.method == "pivot_table":
        data = call.argument("data")
        return [] if data is None else filters_of([data], call)
    filters: list[str] = []
    for place in ("index", "columns", "values"):
        node = call.argument(place)
        for part in getattr(node, "elts", [node]) if node is not None else []:
            if place != "values" and (comparison := read_comparison(part, call)) is not None:
                filters += comparison.filters
                continue
            column, some = referred_column(part, call)
            known = (*result.independent, result.dependent)
            if (
                column is not None
                and column not in known
                and not ({"rownames", "colnames"} & set(call.arguments))
            ):
                raise UnclearError("it is made of an expression, not of a column")
            filters += some
    return filters


def _comparisons(result: AcroResult, call: Call) -> dict[str, ComparedColumn]:
    """Rows and columns of a crosstab that are comparisons, by the column; ACRO notes the column alone."""
    if call.method != "crosstab":
        return {}
    nodes = [
        part
        for place in ("index", "columns")
        if (node := call.argument(place)) is not None
        for part in getattr(node, "elts", [node])
    ]
    every = [one for node in nodes if (one := read_comparison(node, call)) is not None]
    for one in every:
        if one.column not in result.independent or result.independent.count(one.column) > 1:
            raise UnclearError("it is made of an expression, not of a column")
    return {one.column: one for one in every}


class _Table:
    """A table's layout with what turns its cells into entries."""

    def __init__(
        self,
        result: AcroResult,
        directory: AcroDirectory,
        fields: Fields,
        layout: Layout,
        functions: list[str],
        where: dict[str, str],
        comparisons: Mapping[str, ComparedColumn],
    ) -> None:
        self.result, self.directory, self.layout = result, directory, layout
        self.functions, self.where = functions, where
        mitigation = str(result.properties.get("mitigation", "none"))
        self.suppressed, self.rounded = mitigation == "suppress", mitigation == "round"
        self.base = (
            int(result.properties.get("round_base", directory.round_base)) if self.rounded else 1
        )
        self.names: list[dict[str, str]] = []
        self.groups: dict[str, dict[str, list[Any]]] = {}
        for place, name in enumerate(layout.variables):
            labels = {key[place] for cells in layout.parts.values() for key in cells} - {None}
            words = sorted(str(label) for label in labels)
            if name in comparisons:
                named, groups = (
                    {word: word for word in words},
                    comparisons[name].groups(fields[name], words),
                )
            else:
                named, groups = _named(fields[name], words)
            self.names.append(named)
            if groups:
                self.groups[name] = groups
        self.counts: dict[Key, int] = {}
        if not self.rounded and not self.suppressed:
            self.counts = {
                key: round(number_of(text))
                for key, text in layout.parts.get("count", {}).items()
                if text
            }

    def outputs(self, function: str, cells: Mapping[Key, str]) -> list[ReadOutput]:
        """Return the output of a function, and one for each kind of totals that is not part of it."""
        inner = {key: text for key, text in cells.items() if None not in key}
        totals = {key: text for key, text in cells.items() if None in key}
        notes: list[str] = []
        if totals and (self.suppressed or self.rounded):
            what = "of the cells that are shown" if self.suppressed else "of rounded cells"
            notes.append(f"its totals are {what}: they say nothing more, and are left out")
            totals = {}
        single = len(self.layout.parts) == 1
        name = self.result.uid if single else f"{self.result.uid}: {function}"
        if function == "count":
            return self._counted(name, inner, totals, notes)
        parts = self._by_variables(name, totals).items()
        return [
            self._summary(name, function, inner, notes),
            *(self._summary(over, function, part, []) for over, part in parts),
        ]

    def _by_variables(self, name: str, totals: Mapping[Key, str]) -> dict[str, dict[Key, str]]:
        """Totals by the variables that they are not over, with what an output of them is called."""
        parts: dict[str, dict[Key, str]] = {}
        for key, text in totals.items():
            left = self._variables(key)
            over = f"{name}, by {' and '.join(left)}" if left else f"{name}, in all"
            parts.setdefault(over, {})[key] = text
        return parts

    def _variables(self, key: Key) -> list[str]:
        return [
            name
            for name, label in zip(self.layout.variables, key, strict=True)
            if label is not None
        ]

    def _word(self, key: Key, *, totals: bool = False) -> str:
        """The levels of a cell; with or without the variables that a total is over."""
        labels = zip(self.names, key, strict=True)
        return SEPARATOR.join(
            TOTAL if label is None else names[label]
            for names, label in labels
            if totals or label is not None
        )

    def _by(self, key: Key) -> dict[str, Any]:
        """The columns that a cell's levels are of, and their bands."""
        by = self._variables(key)
        groups = {name: self.groups[name] for name in by if name in self.groups}
        return {"by": by, **({"groups": groups} if groups else {})}

    def _counted(
        self, name: str, inner: dict[Key, str], totals: dict[Key, str], notes: list[str]
    ) -> list[ReadOutput]:
        def whole(text: str) -> int:
            return round(number_of(text)) if text else 0

        numbers = {key: number_of(text) if text else None for key, text in inner.items()}
        known = [number for number in numbers.values() if number is not None]
        if any(not float(number).is_integer() for number in known):
            return [self._percentages(name, numbers, notes)]
        entry: dict[str, Any] = {
            "name": name,
            "kind": "table",
            **self._by(next(iter(inner))),
            **self.where,
        }
        if self.rounded:
            entry["base"] = self.base
        withheld: int | str = 0  # without mitigation a cell is missing where there are no records
        if self.suppressed and None in numbers.values():
            # With other functions in the table a cell may have been withheld for dominance, whatever its count.
            withheld = "x" if self.functions == ["count"] else "?"
        if withheld == "x":
            entry |= {
                "threshold": self.directory.threshold,
                "suppressed_zeros": self.directory.zeros_withheld,
            }
        if self.suppressed and any(0 < number < self.directory.threshold for number in known):
            notes.append("it is marked as suppressed, yet shows counts below the threshold")
        cells = {self._word(key): withheld if n is None else round(n) for key, n in numbers.items()}
        exact = not self.rounded and not (self.suppressed and None in numbers.values())
        n = (
            sum(count for count in cells.values() if isinstance(count, int))
            if exact and not self.groups
            else None
        )
        if totals and len(self.layout.rows) <= 1 and len(self.layout.columns) <= 1:
            cells |= {self._word(key, totals=True): whole(text) for key, text in totals.items()}
            entry["margins"] = True
            totals = {}
        outputs = [ReadOutput({**entry, "cells": cells}, tuple(notes), n)]
        for over, part in self._by_variables(name, totals).items():
            by = self._by(next(iter(part)))
            if by["by"]:  # the total of all says no more than the cells
                words = {self._word(key): whole(text) for key, text in part.items()}
                outputs.append(
                    ReadOutput({"name": over, "kind": "table", **by, **self.where, "cells": words})
                )
        return outputs

    def _percentages(
        self, name: str, numbers: dict[Key, float | None], notes: list[str]
    ) -> ReadOutput:
        if self.rounded or (self.suppressed and None in numbers.values()):
            raise UnclearError(
                "percentages of a table that is suppressed or rounded are not supported: give a recipe"
            )
        of = _of_what(
            {key: number or 0.0 for key, number in numbers.items()}, len(self.layout.rows)
        )
        if of != "all" and (len(self.layout.rows) > 1 or len(self.layout.columns) > 1):
            raise UnclearError(
                "percentages of rows or columns of more than one variable are not supported"
            )
        values = {self._word(key): 100.0 * (number or 0.0) for key, number in numbers.items()}
        entry = {
            "name": name,
            "kind": "table",
            **self._by(next(iter(numbers))),
            **self.where,
            "percentages": of,
        }
        if self.layout.totals:
            notes.append("the totals of percentages are left out")
        return ReadOutput({**entry, "values": values}, tuple(notes))

    def _summary(
        self, name: str, function: str, cells: Mapping[Key, str], notes: list[str]
    ) -> ReadOutput:
        """The entry of a mean, sum, spread, median or extreme."""
        if self.result.dependent is None:
            raise UnclearError(
                "ACRO did not note which variable it is a statistic of: give a recipe"
            )
        if not any(cells.values()):
            raise UnclearError("every number of it is withheld: nothing is published")
        by = self._by(next(iter(cells)))
        entry: dict[str, Any] = {"name": name, "kind": KINDS[function], "of": self.result.dependent}
        entry |= (by if by["by"] else {}) | self.where
        if self.rounded:
            entry["decimals"] = -math.ceil(math.log10(self.base)) if self.base > 1 else 0
            if 10 ** -entry["decimals"] != self.base:
                notes.append(
                    f"rounded to {self.base}, which is taken as rounded to {10 ** -entry['decimals']}"
                )
        quantile = {"min": 0.0, "max": 1.0}.get(function)
        if quantile is not None:
            entry["at"] = [quantile]
        numbers = {
            key: plain_number(number_of(text)) if text else None for key, text in cells.items()
        }
        if not by["by"]:
            (only,) = numbers.values()
            return ReadOutput(
                {**entry, **({"values": [only]} if quantile is not None else {"value": only})}
            )
        values: dict[str, Any] = {}
        for key, number in numbers.items():
            if number is not None:
                values[self._word(key)] = number if quantile is None else [number]
            elif function in ("mean", "sum", "std"):
                values[self._word(key)] = "x"
        entry["values"] = values
        if KINDS[function] in ("median", "quantiles") and self.counts:
            entry["n"] = {
                self._word(key): self.counts[key] for key in cells if self.counts.get(key)
            }
        return ReadOutput(entry, tuple(notes))


def _named(field: Field, labels: list[str]) -> tuple[dict[str, str], dict[str, list[Any]]]:
    """Labels of a table as the column's own; or, of a number in bands such as (20, 30], the bands."""
    if any(SEPARATOR in label for label in (*labels, *field.labels)):
        raise UnclearError(
            f"column '{field.name}' has a level with the sign {SEPARATOR} in it: rename the level"
        )
    codes = {label: _code(field, label) for label in labels}
    strange = next((label for label, code in codes.items() if code is None), None)
    if strange is None:
        return {label: field.labels[code] for label, code in codes.items() if code is not None}, {}
    bands = {label: band for label in labels if (band := _INTERVAL.fullmatch(label))}
    if not field.numeric or len(bands) < len(labels):
        raise UnclearError(
            f"'{strange}' in its table is no level of column '{field.name}' in the data: give a recipe"
        )
    groups = {}
    for label, band in bands.items():
        low, high = float(band[2]), float(band[3])
        inside = [
            level
            for level, value in zip(field.levels, field.values, strict=True)
            if (value > low or (value == low and band[1] == "["))
            and (value < high or (value == high and band[4] == "]"))
        ]
        if not inside:
            raise UnclearError(f"no level of column '{field.name}' lies in its band '{label}'")
        groups[label] = [inside[0], inside[-1]]
    return {label: label for label in labels}, dict(
        sorted(groups.items(), key=lambda item: float(item[1][0]))
    )


def _code(field: Field, label: str) -> int | None:
    try:
        return field.code(label)
    except InputError:
        return None


def _of_what(numbers: Mapping[Key, float], width: int) -> str:
    """What shares add up within: all cells, rows or columns."""
    for name, part in (
        ("all", lambda key: ()),
        ("rows", lambda key: key[:width]),
        ("columns", lambda key: key[width:]),
    ):
        sums: dict[Key, float] = {}
        for key, number in numbers.items():
            sums[part(key)] = sums.get(part(key), 0.0) + number
        if all(abs(total - 1.0) < 1e-9 for total in sums.values()):
            return name
    raise UnclearError("its numbers are neither counts nor shares: give a recipe")


def number_of(text: str) -> float:
    """Return the number in a cell."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise UnclearError("a cell of its table is no number")
    return number


def plain_number(number: float) -> int | float:
    """Return a number as a whole one, if it is."""
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


@dataclass(frozen=True)
class Layout:
    """The cells of a table, and the variables of its rows and of its columns.

    `parts` has for each function (an empty word where the table has one alone, unnamed) its cells: texts by the levels of the row
    variables and then the column variables, None for each variable that a total is over.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    parts: dict[str, dict[Key, str]]

    @property
    def variables(self) -> tuple[str, ...]:
        """All variables."""
        return self.rows + self.columns

    @property
    def totals(self) -> bool:
        """Whether it has totals."""
        return any(None in key for cells in self.parts.values() for key in cells)


def read_layout(
    lines: Sequence[Sequence[str]],
    variables: Sequence[str],
    *,
    functions: Sequence[str],
    values: str | None,
    total: str = TOTAL,
    levels: Sequence[str] = (),
) -> Layout:
    """Return the cells in the lines of a CSV, with the variables of rows first.

    The header may have `functions` as pandas calls them (mean, std, ...) and the variable `values` that they are of. `levels` are no
    totals, whatever they are called.

    Examples
    --------
    >>> layout = read_layout([["sex", "no", "yes"], ["f", "1", "2"]], ["sex", "rich"], functions=["count"], values=None)
    >>> layout.parts
    {'': {('f', 'no'): '1', ('f', 'yes'): '2'}}
    """
    head, width = _head(lines, variables)
    rows, rest = tuple(variables[:width]), tuple(variables[width:])
    across = max(len(line) for line in lines)
    if any(len(line) != across for line in lines):
        raise UnclearError("the lines of its table are not equally long")
    if head == 0:
        named, others = ([lines[0]], []) if len(rest) == 1 else ([], [lines[0]])
    else:
        named = [line for line in lines[:head] if line[0] in rest]
        others = [line for line in lines[:head] if line[0] not in rest]
    if len(named) != len(rest) or (
        head and ([line[0] for line in named] != list(rest) or any(line[0] for line in others))
    ):
        raise UnclearError(OTHER_VARIABLES)
    parts: dict[str, dict[Key, str]] = {}
    for place in range(width, across):
        function = _function([line[place] for line in others], functions, values)
        columns = _levels([line[place] for line in named], total, levels)
        cells = parts.setdefault(function, {})
        for line in lines[head + 1 :]:
            key = (*_levels(line[:width], total, levels), *columns)
            if key in cells:
                raise UnclearError("its table has two cells for the same levels")
            cells[key] = line[place].strip()
    if not parts or not all(parts.values()):
        raise UnclearError("its table has no cells")
    return Layout(rows, rest, parts)


def _head(lines: Sequence[Sequence[str]], variables: Sequence[str]) -> tuple[int, int]:
    """The line that has the names of the row variables, and how many they are."""
    for head, line in enumerate(lines[:MOST_HEADERS]):
        for width in range(len(variables), 0, -1):
            blank = all(cell == "" for cell in line[width:])
            if (
                list(line[:width]) == list(variables[:width])
                and (head == 0 or blank)
                and len(line) > width
            ):
                return head, width
    raise UnclearError(OTHER_VARIABLES)


def _function(header: Sequence[str], functions: Sequence[str], values: str | None) -> str:
    function = ""
    for word in header:
        if word in functions and not function:
            function = word
        elif word != values:
            raise UnclearError(
                "the header of its table has words that are neither functions nor variables"
            )
    return function


def _levels(words: Sequence[str], total: str, levels: Sequence[str]) -> Key:
    """Levels, or None for each where the line or column is a total: (All), (All, '')."""
    if (
        words
        and words[0] == total
        and total not in levels
        and all(word in ("", total) for word in words[1:])
    ):
        return (None,) * len(words)
    return tuple(words)
