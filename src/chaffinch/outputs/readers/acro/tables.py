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
from typing import Any, Literal

from ...._base.errors import InputError
from ...domain import OutputColumn, OutputDomain
from ..files.parsed import ParsedTable, label_interval
from ..placing import Placement
from .commands import Call, ComparedColumn, filters_of, read_comparison, referred_column, where_of
from .read import AcroDirectory, AcroResult, UnclearError, check_clear

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

TOTAL = "All"
"""What pandas calls totals, unless it is told otherwise."""

MOST_HEADERS = 12
OTHER_VARIABLES = "the header of its table does not have the variables that ACRO noted"

Key = tuple[str | None, ...]


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
    result: AcroResult, directory: AcroDirectory, fields: OutputDomain, call: Call | None
) -> list[Placement]:
    """Return the outputs in a crosstab or pivot table; UnclearError, with the reason, where they cannot be told."""
    functions = functions_of(result)
    unknown = [name for name in functions if name not in KINDS]
    names = (*result.independent, *([result.dependent] if result.dependent else []))
    absent = [name for name in names if name not in fields.names]
    check_clear(
        (not functions, "its summary does not say which statistic it is: give a recipe"),
        (unknown, f"a table of {''.join(unknown[:1]).removeprefix('agg_')}s is not supported"),
        (
            len(result.tables) != 1 or not result.independent,
            "it does not have one table with the variables that it is of: give a recipe",
        ),
        (absent, f"its variable '{''.join(absent[:1])}' is no column of the data: give a recipe"),
    )
    options = {} if call is None else call.arguments
    is_normalised = "normalize" in options and call and call.constant("normalize") is not False
    check_clear(
        (
            "fill_value" in options and not set(functions) <= {"count", "sum"},
            "its missing numbers were filled with a value: give a recipe",
        ),
        (
            is_normalised and functions != ["count"],
            "shares of anything but counts are not supported: give a recipe",
        ),
    )
    filters, comparisons = ([], {}) if call is None else _columns(result, call)
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
    table = _Table(result, directory, fields, layout, functions, where_of(filters), comparisons)
    return [
        output
        for name, cells in layout.parts.items()
        for output in table.outputs(name or functions[0], cells)
    ]


def _columns(result: AcroResult, call: Call) -> tuple[list[str], dict[str, ComparedColumn]]:
    """The filters of a table's command, and rows and columns that are comparisons, by the column, which ACRO notes alone.

    UnclearError where rows or columns are anything but the columns that ACRO noted.
    """
    if call.method == "pivot_table":
        data = call.argument("data")
        return [] if data is None else filters_of([data], call), {}
    filters: list[str] = []
    comparisons: dict[str, ComparedColumn] = {}
    known = (*result.independent, result.dependent)
    is_renamed = not {"rownames", "colnames"}.isdisjoint(call.arguments)
    for argument in ("index", "columns", "values"):
        node = call.argument(argument)
        for element in getattr(node, "elts", [node]) if node is not None else []:
            comparison = None if argument == "values" else read_comparison(element, call)
            if comparison is not None:
                if result.independent.count(comparison.column) != 1:
                    raise UnclearError("it is made of an expression, not of a column")
                comparisons[comparison.column] = comparison
                filters += comparison.filters
                continue
            column, values = referred_column(element, call)
            if column is not None and column not in known and not is_renamed:
                raise UnclearError("it is made of an expression, not of a column")
            filters += values
    return filters, comparisons


class _Table:
    """A table's layout with what turns its cells into entries."""

    def __init__(
        self,
        result: AcroResult,
        directory: AcroDirectory,
        fields: OutputDomain,
        layout: Layout,
        functions: list[str],
        where: dict[str, str],
        comparisons: Mapping[str, ComparedColumn],
    ) -> None:
        self.result, self.directory, self.layout = result, directory, layout
        self.functions, self.where = functions, where
        mitigation = result.properties.get("mitigation", "none")
        self.suppressed, self.rounded = mitigation == "suppress", mitigation == "round"
        base = result.properties.get("round_base", directory.round_base)
        self.base = int(base) if self.rounded else 1
        self.names: list[dict[str, str]] = []
        self.groups: dict[str, dict[str, list[Any]]] = {}
        for axis, name in enumerate(layout.variables):
            keys = (key for cells in layout.parts.values() for key in cells)
            labels = sorted({str(key[axis]) for key in keys if key[axis] is not None})
            named, groups = (
                ({label: label for label in labels}, comparisons[name].groups(fields[name], labels))
                if name in comparisons
                else _own_labels(fields[name], labels)
            )
            self.names.append(named)
            self.groups |= {name: groups} if groups else {}
        is_plain = mitigation not in ("suppress", "round")
        counts = layout.parts.get("count", {}) if is_plain else {}
        self.counts = {key: round(number_of(text)) for key, text in counts.items() if text}

    def outputs(self, function: str, cells: Mapping[Key, str]) -> list[Placement]:
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
            return self._count_placements(name, inner, totals, notes)
        return [
            self._summary(name, function, inner, notes),
            *(
                self._summary(over, function, cells_over, [])
                for over, cells_over in self._by_variables(name, totals).items()
            ),
        ]

    def _by_variables(self, name: str, totals: Mapping[Key, str]) -> dict[str, dict[Key, str]]:
        """Totals by the variables that they are not over, with what an output of them is called."""
        parts: dict[str, dict[Key, str]] = {}
        for key, text in totals.items():
            by = self._by(key)
            over = f"by {' and '.join(by)}" if by else "in all"
            parts.setdefault(f"{name}, {over}", {})[key] = text
        return parts

    def _by(self, key: Key) -> tuple[str, ...]:
        """The columns that a cell's levels are of."""
        labels = zip(self.layout.variables, key, strict=True)
        return tuple(name for name, label in labels if label is not None)

    def _levels(self, key: Key, *, totals: bool = False) -> tuple[str, ...]:
        """The levels of a cell; with or without the variables that a total is over."""
        return tuple(
            TOTAL if label is None else names[label]
            for names, label in zip(self.names, key, strict=True)
            if totals or label is not None
        )

    def _bands(self, by: Sequence[str]) -> dict[str, Any]:
        """The bands of columns, as an entry has them."""
        groups = {name: self.groups[name] for name in by if name in self.groups}
        return {"groups": groups} if groups else {}

    def _parsed_table(self, cells: Mapping[Key, Any], **options: Any) -> ParsedTable:
        """Counts or percentages by the levels of columns; cells with totals are those of a table that has them."""
        by = self._by(next(iter(cells)))
        numbers = {
            self._levels(key, totals=len(self._by(key)) < len(by)): number
            for key, number in cells.items()
        }
        inner = (key for key in numbers if TOTAL not in key)
        labels = tuple(
            tuple(dict.fromkeys(level_names)) for level_names in zip(*inner, strict=True)
        )
        return ParsedTable(by, labels, numbers, where=self.where.get("where"), **options)

    def _count_placements(
        self, name: str, inner: dict[Key, str], totals: dict[Key, str], notes: list[str]
    ) -> list[Placement]:
        numbers = {key: number_of(text) if text else None for key, text in inner.items()}
        known = [number for number in numbers.values() if number is not None]
        if not all(number.is_integer() for number in known):
            return [self._percentages(name, numbers, notes)]
        has_withheld = self.suppressed and None in numbers.values()
        # With other functions in the table a cell may have been withheld for dominance, whatever its count. Without mitigation a cell is
        # missing where there are no records.
        mark = ("x" if self.functions == ["count"] else "?") if has_withheld else 0
        if self.suppressed and any(0 < number < self.directory.threshold for number in known):
            notes.append("it is marked as suppressed, yet shows counts below the threshold")
        counts: dict[Key, Any] = {
            key: mark if number is None else round(number) for key, number in numbers.items()
        }
        is_exact = not (self.rounded or has_withheld or self.groups)
        n = sum(counts.values()) if is_exact else None
        sums: dict[Key, Any] = {
            key: round(number_of(text)) if text else 0 for key, text in totals.items()
        }
        margins = bool(sums) and len(self.layout.rows) <= 1 and len(self.layout.columns) <= 1
        threshold = self.directory.threshold if mark == "x" else None
        table = self._parsed_table(
            counts | sums if margins else counts,
            margins=margins,
            threshold=threshold,
            base=self.base,
        )
        entry = table.entry(name) | self._bands(table.by)
        entry |= {"base": self.base} if self.rounded else {}
        entry |= {"suppressed_zeros": self.directory.zeros_withheld} if mark == "x" else {}
        outputs = [Placement(entry, tuple(notes), n)]
        for over, cells_over in self._by_variables(name, {} if margins else totals).items():
            if self._by(next(iter(cells_over))):  # the total of all says no more than the cells
                table = self._parsed_table({key: sums[key] for key in cells_over})
                outputs.append(Placement(table.entry(over) | self._bands(table.by)))
        return outputs

    def _percentages(
        self, name: str, numbers: dict[Key, float | None], notes: list[str]
    ) -> Placement:
        width, is_long = len(self.layout.rows), len(self.layout.columns) > 1
        is_changed = self.rounded or (self.suppressed and None in numbers.values())
        shares = {key: number or 0.0 for key, number in numbers.items()}
        share_of = "all" if is_changed else _of_what(shares, width)
        check_clear(
            (
                is_changed,
                "percentages of a table that is suppressed or rounded are not supported: give a recipe",
            ),
            (
                share_of != "all" and (width > 1 or is_long),
                "percentages of rows or columns of more than one variable are not supported",
            ),
        )
        table = self._parsed_table(
            {key: 100.0 * share for key, share in shares.items()}, percentages=share_of
        )
        if self.layout.totals:
            notes.append("the totals of percentages are left out")
        return Placement(table.entry(name) | self._bands(table.by), tuple(notes))

    def _summary(
        self, name: str, function: str, cells: Mapping[Key, str], notes: list[str]
    ) -> Placement:
        """The entry of a mean, sum, spread, median or extreme."""
        check_clear(
            (
                self.result.dependent is None,
                "ACRO did not note which variable it is a statistic of: give a recipe",
            ),
            (not any(cells.values()), "every number of it is withheld: nothing is published"),
        )
        kind, by = KINDS[function], self._by(next(iter(cells)))
        entry: dict[str, Any] = {"name": name, "kind": kind, "of": self.result.dependent}
        entry |= ({"by": list(by)} | self._bands(by) if by else {}) | self.where
        if self.rounded:
            entry["decimals"] = -math.ceil(math.log10(self.base)) if self.base > 1 else 0
            nearest = 10 ** -entry["decimals"]
            if nearest != self.base:
                notes.append(f"rounded to {self.base}, which is taken as rounded to {nearest}")
        is_quantile = kind == "quantiles"
        entry |= {"at": [float(function == "max")]} if is_quantile else {}
        numbers = {key: plain_number(number_of(text)) for key, text in cells.items() if text}
        values: dict[str, Any] = {
            SEPARATOR.join(self._levels(key)): [number] if is_quantile else number
            for key, number in numbers.items()
        }
        if not by:
            (only,) = values.values()
            return Placement({**entry, "values" if is_quantile else "value": only})
        if function in ("mean", "sum", "std"):
            cell_names = (SEPARATOR.join(self._levels(key)) for key in cells)
            values = {word: values.get(word, "x") for word in cell_names}
        entry["values"] = values
        if kind in ("median", "quantiles") and self.counts:
            counts = {self._levels(key): self.counts.get(key) for key in cells}
            entry["n"] = {SEPARATOR.join(levels): n for levels, n in counts.items() if n}
        return Placement(entry, tuple(notes))


def _own_labels(
    field: OutputColumn, labels: list[str]
) -> tuple[dict[str, str], dict[str, list[Any]]]:
    """Labels of a table as the column's own; or, of a number in bands such as (20, 30], the bands."""
    if any(SEPARATOR in label for label in (*labels, *field.labels)):
        raise UnclearError(
            f"column '{field.name}' has a level with the sign {SEPARATOR} in it: rename the level"
        )
    own_labels: dict[str, str] = {}
    strange: list[str] = []
    for label in labels:
        try:
            own_labels[label] = field.labels[field.code(label)]
        except InputError:
            strange.append(label)
    if not strange:
        return own_labels, {}
    bands = {label: band for label in labels if (band := label_interval(label))}
    if not field.numeric or len(bands) < len(labels):
        raise UnclearError(
            f"'{strange[0]}' in its table is no level of column '{field.name}' in the data: give a recipe"
        )
    by_value = [*zip(field.levels, field.values, strict=True)]
    inside = {
        label: [level for level, value in by_value if band.holds(value)]
        for label, band in bands.items()
    }
    if empty := next((label for label, levels in inside.items() if not levels), None):
        raise UnclearError(f"no level of column '{field.name}' lies in its band '{empty}'")
    groups = {label: [levels[0], levels[-1]] for label, levels in inside.items()}
    in_order = sorted(groups.items(), key=lambda item: float(item[1][0]))
    return {label: label for label in labels}, dict(in_order)


def _of_what(numbers: Mapping[Key, float], width: int) -> Literal["all", "rows", "columns"]:
    """What shares add up within: all cells, rows or columns."""
    ways: dict[Literal["all", "rows", "columns"], slice] = {
        "all": slice(0),
        "rows": slice(width),
        "columns": slice(width, None),
    }
    for name, cells_over in ways.items():
        sums: dict[Key, float] = {}
        for key, number in numbers.items():
            sums[key[cells_over]] = sums.get(key[cells_over], 0.0) + number
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
    for column in range(width, across):
        function = _function([line[column] for line in others], functions, values)
        columns = _levels([line[column] for line in named], total, levels)
        cells = parts.setdefault(function, {})
        for line in lines[head + 1 :]:
            key = (*_levels(line[:width], total, levels), *columns)
            if key in cells:
                raise UnclearError("its table has two cells for the same levels")
            cells[key] = line[column].strip()
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


def _levels(texts: Sequence[str], total: str, levels: Sequence[str]) -> Key:
    """Levels, or None for each where the line or column is a total: (All), (All, '')."""
    if (
        texts
        and texts[0] == total
        and total not in levels
        and all(word in ("", total) for word in texts[1:])
    ):
        return (None,) * len(texts)
    return tuple(texts)
