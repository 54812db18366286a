"""Records among output files: rows that are people, not statistics, by their form or by the records that they are of.

By form: what `list`, `head` and `residuals` print. By the records: columns and rows of the data, and as many rows as there are people. What is recognised fails;
what is not may still be records, and is not assessed unless it is understood as something else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, takewhile
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..understood import first_reason
from .numbers import number_text
from .parsed import STATISTICS
from .protocol import Location, UnreadOutput

if TYPE_CHECKING:
    import pyarrow as pa

    from .read import OutputFiles


MIN_ROWS = 20
"""Rows from which on it is no chance that they are as many as there are people."""
MAX_ROWS = 5_000
"""Rows of a table that are looked up among the records: the first ones."""
MAX_GROUPING_LEVELS = 50
"""Values of a column of numbers up to which it may be one of groups."""
COVERED = 0.8
"""Share of the groups of the data that a table of groups has, at least."""

PROMPT = re.compile(r"\s{0,4}(?:>>>|>|\.|In \[\d+\]:)\s")
_SUMMARY_INSIDE = r"(?!.*\b(?:table|summary|coef|coefficients|count|tally|aggregate|tapply|value_counts|groupby|describe)\b)"
_R_VERBS = r"(?:head|tail|residuals|resid|rstandard|rstudent|fitted(?:\.values)?|predict|dput|cooks\.distance|hatvalues|slice\w*|sample_n|glimpse|str)"
_COMMANDS = {
    "`list`": re.compile(r"\s{0,4}\. ?(?:by\w* [^:]{1,200}: ?)?(?:list|lis|li|l)\b"),
    "`head`, `residuals` or a like command": re.compile(
        rf"\s{{0,4}}>\s?(?:print\()?{_SUMMARY_INSIDE}(?:{_R_VERBS}\(|[^#]*(?:%>%|\|>)\s*{_R_VERBS}\()"
    ),
    "`head`, `resid` or a like method": re.compile(
        rf"\s{{0,4}}(?:>>>|In \[\d+\]:)\s?{_SUMMARY_INSIDE}.*\.(?:head|tail|sample|resid\w*|fittedvalues|to_string)\b"
    ),
}
_FORMS = {
    "a list of records, as Stata prints it": re.compile(r"\s{0,8}\d{1,9}\. \|.*\d"),
    "the first values of a data frame, as R prints them": re.compile(r"'data\.frame':\s+\d+ obs\."),
}
_SAS_HEAD = re.compile(r"\s{0,8}Obs\s+[A-Za-z_]\w*(?:\s+[A-Za-z_]\w*)*\s*")
_SAS_ROW = re.compile(r"\s*1\s+\S")
_MISSING = ("", "na", "nan", ".", "<na>", "null", "nat")
_INDEX = ("", "index", "unnamed: 0", "obs", "row", "rownames", "rowname", "x", "...1", "_n")


@dataclass(frozen=True)
class PrintedRows:
    """Rows of a file as they stand, the header first if there is one; `n_values`: how many numbers a list has that is printed in several columns."""

    file: str
    sheet: str | None
    lines: tuple[int, ...]
    rows: tuple[tuple[str, ...], ...] = field(repr=False)
    n_values: int | None = None

    @property
    def location(self) -> Location:
        """Where they begin."""
        return Location(self.file, self.sheet, self.lines[0])


def printed_rows(file: str, lines: Sequence[str]) -> tuple[list[PrintedRows], list[UnreadOutput]]:
    """Return the rows of a text, and what is records by its form."""
    blocks = [*_blocks(lines)]
    rows = [
        PrintedRows(file, None, tuple(numbers), tuple(tuple(line.split()) for line in block))
        for numbers, block in blocks
    ]
    rows += [
        PrintedRows(file, None, tuple(numbers), (), count)
        for numbers, block in blocks
        if (count := _list_length(block)) > 1
    ]
    if (listed := _listed_records(lines)) is None:
        return rows, []
    line, description = listed
    reason = (
        f"It shows {description}: these are records, not statistics. Take them out of the file."
    )
    return rows, [
        UnreadOutput(f"{file} #records", Location(file, line=line), "", reason, verdict="fail")
    ]


def _blocks(lines: Sequence[str]) -> Iterator[tuple[list[int], list[str]]]:
    """Lines that follow one another without an empty one or a command, with their numbers."""
    numbered = groupby(enumerate(lines, 1), lambda numbered_line: _is_apart(numbered_line[1]))
    for is_apart, group in numbered:
        if not is_apart:
            numbers, block = zip(*group, strict=True)
            yield list(numbers), list(block)


def _is_apart(line: str) -> bool:
    return not line.strip() or PROMPT.match(line) is not None


def _listed_records(lines: Sequence[str]) -> tuple[int, str] | None:
    """Return the first line at which records are listed, and by what; None where none are."""
    for k, line in enumerate(lines):
        for description, pattern in _FORMS.items():
            if pattern.match(line):
                return k + 1, description
        if (
            k + 2 < len(lines)
            and _SAS_HEAD.fullmatch(line)
            and any(map(_SAS_ROW.match, lines[k + 1 : k + 3]))
        ):
            return k + 1, "a list of records, as SAS prints it"
        for description, pattern in _COMMANDS.items():
            if pattern.match(line):
                printed = takewhile(lambda after: not PROMPT.match(after), lines[k + 1 :])
                if any(re.search(r"\d", after) for after in printed):
                    return k + 1, f"what {description} prints"
    return None


def _list_length(block: Sequence[str]) -> int:
    """Return how many numbers a block lists without saying what they are: `[1] 0.2 -1.3`, one a line, with their row numbers or under them; 0 for others."""
    tokens = [line.split() for line in block]
    if all(re.fullmatch(r"\[\d+\]", row[0]) for row in tokens) and all(
        _is_plain(cell) for row in tokens for cell in row[1:]
    ):
        return sum(len(row) - 1 for row in tokens)
    if len(tokens) > 1 and len(tokens) % 2 == 0:
        pairs = list(zip(tokens[::2], tokens[1::2], strict=True))
        if all(
            len(names) == len(values)
            and all(name.isdigit() for name in names)
            and all(map(_is_plain, values))
            for names, values in pairs
        ):
            return sum(len(values) for _, values in pairs)
    if length := re.search(r"\bLength: (\d{1,9}), dtype: ", block[-1]):
        return int(length[1])
    values = [
        row
        for row in tokens
        if len(row) in (1, 2) and _is_plain(row[-1]) and (len(row) == 1 or row[0].isdigit())
    ]
    return len(values) if len(values) >= len(tokens) - 2 else 0


def _is_plain(cell: str) -> bool:
    return re.fullmatch(r"[-+]?(\d++(\.\d*+)?+|\.\d++)([eE][-+]?\d++)?+|NA|NaN", cell) is not None


def _canonical(value: Any) -> str:
    """Return a value by what it means: 1, 1.0 and "1" are the same; a missing one is "na".

    Examples
    --------
    >>> [_canonical(value) for value in (1, "1.00", True, " North", None, "NA")]
    ['1', '1', 'true', 'north', 'na', 'na']
    """
    if value is None:
        return "na"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return "na" if value != value else format(float(value), ".10g")
    text = str(value).strip()
    if text.lower() in _MISSING:
        return "na"
    number = number_text(text) if any(sign.isdigit() for sign in text) else None
    return format(float(number), ".10g") if number is not None else text.lower()


class RecordLookup:
    """The records behind outputs, to be looked up: which rows of a file are some of them."""

    def __init__(self, table: pa.Table, *, threshold: int, n_persons: int | None = None) -> None:
        self.table, self.threshold, self.n_rows = table, threshold, table.num_rows
        self.sizes = {self.n_rows, self.n_rows if n_persons is None else n_persons}
        self.names = {name.lower(): name for name in table.column_names}
        self._coded: dict[str, tuple[dict[str, int], NDArray[np.int64]]] = {}
        self._combinations: dict[tuple[str, ...], tuple[NDArray[np.uint64], NDArray[np.int64]]] = {}

    def codes(self, name: str) -> tuple[dict[str, int], NDArray[np.int64]]:
        """Return the code of each value of a column, and the codes of the records."""
        import pyarrow as pa

        if name not in self._coded:
            column = self.table.column(name).combine_chunks()
            plain = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
            coded = plain.dictionary_encode(null_encoding="encode")
            known: dict[str, int] = {}
            indices = np.array(
                [
                    known.setdefault(_canonical(value), len(known))
                    for value in coded.dictionary.to_pylist()
                ],
                dtype=np.int64,
            )
            self._coded[name] = known, indices[np.asarray(coded.indices, dtype=np.int64)]
        return self._coded[name]

    def reason(self, printed: PrintedRows) -> str | None:
        """Return why rows are records, in a sentence; None where they are not recognised."""
        if printed.n_values is not None:
            return self._as_many(printed.n_values)
        header, body = printed.rows[0], [row for row in printed.rows[1:] if row]
        # In text row numbers have no name.
        shift = int(printed.sheet is None and bool(body) and len(body[0]) == len(header) + 1)
        body = [row for row in body[:MAX_ROWS] if len(row) == len(header) + shift]
        is_matrix = bool(shift) and [row[0] for row in body] == list(header)  # of correlations
        if not body or is_matrix:
            return None
        columns = [[_canonical(row[k + shift]) for row in body] for k in range(len(header))]
        names = [self.names.get(name.strip().lower()) for name in header]
        indices = [
            k
            for k, name in enumerate(names)
            if name is not None or not _is_index(header[k], columns[k])
        ]
        named = {k: name for k in indices if (name := names[k]) is not None}
        are_all_named = len(named) == len(indices)
        if len(set(named.values())) < len(named) or self._is_grouped(named, columns):
            return None
        return (
            self._by_name(named, columns, are_all_named=are_all_named)
            or (None if are_all_named else self._by_value(indices, named, columns, header))
            or self._as_many(len(printed.rows) - 1)
            or (self._as_many(len(printed.rows)) if not named else None)
        )

    def _as_many(self, count: int) -> str | None:
        if count in self.sizes and count >= MIN_ROWS:
            return "It has as many rows as there are people in the data: a row a person."
        return None

    def _by_name(
        self, named: dict[int, str], columns: Sequence[Sequence[str]], *, are_all_named: bool
    ) -> str | None:
        if len(named) == 1 and are_all_named and len(columns[next(iter(named))]) >= self.threshold:
            ((k, name),) = named.items()
            known = self.codes(name)[0]
            share = np.mean([cell in known for cell in columns[k]])
            if len(known) > MAX_GROUPING_LEVELS and share >= 0.9:
                return "It lists values of one column of the data, a row a person."
        if len(named) < 2:
            return None
        present, rare = self._match_records(named, columns)
        n_rows = len(present)
        return first_reason(
            (
                are_all_named and present.sum() >= max(1, n_rows / 2),
                "Its columns are columns of the data, and its rows are records of the data.",
            ),
            (
                are_all_named and len(named) >= 3 and n_rows >= 3,
                "Its header is that of the data: a row a person.",
            ),
            (rare.sum() >= max(3, n_rows / 2), self._rare_records),
        )

    @property
    def _rare_records(self) -> str:
        return f"Its rows match records of the data that fewer than {self.threshold} people share."

    def _by_value(
        self,
        indices: Sequence[int],
        named: dict[int, str],
        columns: Sequence[Sequence[str]],
        header: Sequence[str],
    ) -> str | None:
        """The same for columns that have another name than in the data: by the values that they have."""
        mapped = dict(named)
        if len(indices) < 3 or len(columns[0]) < 5:
            return None
        for k in indices:
            if k in mapped or header[k].strip().lower() in STATISTICS:
                continue
            candidates = [
                name
                for name in self.table.column_names
                if name not in mapped.values() and set(columns[k]) <= set(self.codes(name)[0])
            ]
            if len(candidates) == 1:
                mapped[k] = candidates[0]
        if len(mapped) < 3 or self._is_grouped(mapped, columns):
            return None
        _, rare = self._match_records(mapped, columns)
        return self._rare_records if rare.sum() >= max(5, 0.8 * len(rare)) else None

    def _distinct(self, names: tuple[str, ...]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """The combinations of values of some columns that occur, as hashes in order, and how many records have each."""
        if names not in self._combinations:
            keys = np.zeros(self.n_rows, dtype=np.uint64)
            for name in names:
                keys = _mix_codes(keys, self.codes(name)[1])
            values, counts = np.unique(keys, return_counts=True)
            self._combinations[names] = values, counts
        return self._combinations[names]

    def _match_records(
        self, mapped: dict[int, str], columns: Sequence[Sequence[str]]
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which rows of a file are records, and which of them fewer people than the threshold share."""
        values, counts = self._distinct(tuple(mapped.values()))
        wanted = np.zeros(len(columns[0]), dtype=np.uint64)
        present = np.full(len(wanted), len(values) > 0)
        for k, name in mapped.items():
            known = self.codes(name)[0]
            cells = np.array([known.get(cell, -1) for cell in columns[k]], dtype=np.int64)
            present &= cells >= 0
            wanted = _mix_codes(wanted, cells)
        indices = np.minimum(np.searchsorted(values, wanted), max(len(values) - 1, 0))
        if len(values):
            present &= values[indices] == wanted
        return present, present & (counts[indices] < self.threshold) if len(values) else present

    def _is_grouped(self, mapped: dict[int, str], columns: Sequence[Sequence[str]]) -> bool:
        """Whether each row is a group: columns of few values, each combination once, and most of those that the data have."""
        labels = {
            k: name for k, name in mapped.items() if len(self.codes(name)[0]) <= MAX_GROUPING_LEVELS
        }
        # All of them, or the first: others may be statistics.
        choices = [labels, dict(list(labels.items())[:1])]
        return bool(labels) and any(self._has_each_group(chosen, columns) for chosen in choices)

    def _has_each_group(self, labels: dict[int, str], columns: Sequence[Sequence[str]]) -> bool:
        groups = list(zip(*(columns[k] for k in labels), strict=True))
        present, _ = self._match_records(labels, columns)
        n_groups = len(self._distinct(tuple(labels.values()))[0])
        return len(set(groups)) == len(groups) and bool(present.sum() >= COVERED * n_groups)


def _mix_codes(keys: NDArray[np.uint64], codes: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Hashes with one code more: two combinations that differ share one once in 2**64."""
    with np.errstate(over="ignore"):
        return np.asarray(
            keys * np.uint64(0x9E3779B97F4A7C15) + (codes + 1).astype(np.uint64), dtype=np.uint64
        )


def _is_index(name: str, cells: Sequence[str]) -> bool:
    """Whether a column numbers the rows."""
    if name.strip().lower() not in _INDEX:
        return False
    return all(cell.isdigit() for cell in cells) and len(set(cells)) == len(cells)


def without_records(files: OutputFiles, records: RecordLookup) -> OutputFiles:
    """Return files with the verdict `fail` for each output whose rows are records of the data, also where it was understood as something else, or ignored."""
    for printed in files.printed:
        if (reason := records.reason(printed)) is not None:
            files = _fail_rows(files, printed, f"{reason} Take it out of the folder.")
    return files


def without_printed_records(files: OutputFiles) -> OutputFiles:
    """Return files with the verdict `fail` for lists of as many numbers as the people of a fit in the folder: residuals, most likely."""
    sizes = {
        output.parsed.people
        for output in files.outputs
        if output.parsed.people is not None and output.parsed.people >= MIN_ROWS
    }
    for printed in files.printed:
        count = (
            printed.n_values
            if printed.n_values is not None
            else len(printed.rows) - 1
            if printed.rows and len(printed.rows[-1]) <= 2
            else 0
        )
        understood = any(_holds(printed, output.location) for output in files.outputs)
        if count in sizes and not understood:
            files = _fail_rows(
                files,
                printed,
                "It lists as many values as there are people behind another output: a row a person. Take it out of the folder.",
            )
    return files


def _holds(printed: PrintedRows, location: Location) -> bool:
    same = (location.file, location.sheet) == (printed.file, printed.sheet)
    return (
        same
        and location.line is not None
        and printed.lines[0] <= location.line <= printed.lines[-1]
    )


def _fail_rows(files: OutputFiles, printed: PrintedRows, reason: str) -> OutputFiles:
    """The files with a fail for some rows: in the place of the output that they are, or beside the others."""
    names = [output.name for output in files.outputs if _holds(printed, output.location)]
    names += [
        output.name
        for output in files.unread
        if _holds(printed, output.location) and not output.name.endswith((" #rest", " #unread"))
    ]
    source = printed.file if printed.sheet is None else f"{printed.file}::{printed.sheet}"
    names = (
        names
        or [name for name in (source, printed.file) if name in files.names][:1]
        or [f"{printed.file} #records"]
    )
    failed = [
        UnreadOutput(name, printed.location, "", reason, verdict="fail")
        for name in names
        if not any(output.name == name and output.verdict == "fail" for output in files.unread)
    ]
    new = {output.name for output in failed}
    return replace(
        files,
        outputs=tuple(output for output in files.outputs if output.name not in new),
        unread=(*(output for output in files.unread if output.name not in new), *failed),
        ignored=tuple(name for name in files.ignored if name not in new),
    )
