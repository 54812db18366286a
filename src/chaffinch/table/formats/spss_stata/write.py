"""Writing SPSS (.sav) and Stata (.dta) files, with labels and missing codes, through the extra
`pyreadstat`.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ...._base.errors import FileError, InputError, MissingExtraError, join_names
from ...domain import Scalar, missing_words
from ...schema import Column
from ...types import is_words, to_numbers, value_type
from .read import (
    CLOCKS,
    DATES,
    LETTERS,
    PROGRAMS,
    STATA_LONG,
    TIMES,
    Moment,
    Program,
    Range,
    check_names,
    cut,
    moment_of,
    pyreadstat,
    within,
)

if TYPE_CHECKING:
    from ...table import Table


@contextlib.contextmanager
def write_file(path: Path, target: Path, *, form: Program) -> Iterator[Callable[[Table], None]]:
    """Give a function that gathers tables; they are written to `path` as one file when the block
    ends well.
    """
    package = pyreadstat("Writing SPSS and Stata files")
    try:
        import pandas
    except ImportError:
        raise MissingExtraError("Writing SPSS and Stata files", "pyreadstat") from None
    tables: list[Table] = []

    def write(table: Table) -> None:
        if not tables:
            check_names(table.columns, form)
        tables.append(table)

    yield write
    if not tables:
        return
    columns = [_column_values(column, tables, form).cells() for column in tables[0].schema]
    frame = pandas.DataFrame(
        {each.name: pandas.Series(each.cells, dtype=each.dtype) for each in columns}
    )
    options: dict[str, Any] = {
        "column_labels": {each.name: each.title for each in columns if each.title},
        "variable_value_labels": {each.name: each.labels for each in columns if each.labels},
        "variable_format": {each.name: each.display for each in columns if each.display},
    }
    if form == "sav":
        options["row_compress"] = True
        options["missing_ranges"] = {each.name: each.ranges for each in columns if each.ranges}
        options["variable_measure"] = {each.name: each.measure for each in columns}
        options["variable_display_width"] = {
            each.name: each.width for each in columns if each.width
        }
    else:
        options["missing_user_values"] = {
            each.name: each.letters for each in columns if each.letters
        } or None
        # `pyreadstat` names a set of value labels by its column and a number.
        labelled = enumerate(options["variable_value_labels"])
        if refused := [name for i, name in labelled if len(f"{name}{i}") > 32]:
            raise InputError(
                f"Columns with value labels need names of at most 28 characters in a Stata file: {join_names(refused)}. Rename, or write "
                "an SPSS file, CSV or Parquet."
            )
    try:
        (package.write_sav if form == "sav" else package.write_dta)(
            frame, str(path.absolute()), **options
        )
    except (MemoryError, OSError):
        raise
    except Exception as error:
        fixed = (
            type(error).__name__ == "ReadstatError"
        )  # whose sentences are fixed: they quote no cell
        why = f" {error}." if fixed else ""
        raise FileError(
            f"Cannot write the {PROGRAMS[form]} file.{why} Make room for it, or write CSV or Parquet."
        ) from None


@dataclass(frozen=True)
class _StatColumn:
    """One column as `pyreadstat` wants it."""

    name: str
    cells: NDArray[Any]
    dtype: str
    title: str
    labels: dict[Any, str]
    display: str
    measure: str = "unknown"
    width: int = 0
    ranges: list[Any] = field(default_factory=list)
    letters: list[str] = field(default_factory=list)


def _column_values(column: Column, tables: Sequence[Table], form: Program) -> _ColumnValues:
    metadata = tables[0].data.schema.field(column.name)
    chunks = [chunk for table in tables for chunk in table.data.column(column.name).chunks]
    values = pa.chunked_array(chunks, type=metadata.type).combine_chunks()
    if pa.types.is_dictionary(values.type):
        values = values.cast(value_type(values.type))
    missing_text = None
    if column.modelled:
        missing_text = missing_words(
            column, np.concatenate([table.code(column.name) for table in tables])
        )
    known = {key.decode(): text.decode() for key, text in (metadata.metadata or {}).items()}
    return _ColumnValues(column, form, values, missing_text, known)


@dataclass(frozen=True)
class _ColumnValues:
    """One column on its way out: its values, the words of its missing ones, and what the file that
    it came from said.
    """

    column: Column
    form: Program
    values: pa.Array
    missing_text: pa.Array | None
    metadata: dict[str, str]

    def cells(self) -> _StatColumn:
        """Return the column as the file is to hold it."""
        if is_words(self.values.type):
            return self._text()
        values, moment = _plain(self.values, self.form)
        numbers, present = to_numbers(values)
        if moment is None and numbers.dtype == np.int64 and (np.abs(numbers) > 2**53).any():
            raise InputError(
                f"Column '{self.column.name}' holds whole numbers beyond 2^53, which {PROGRAMS[self.form]} cannot store. "
                "Write CSV or Parquet."
            )
        if pa.types.is_float32(values.type) and self.column.decimals is not None:
            numbers = np.round(
                numbers, self.column.decimals
            )  # 0.1, and not the double nearest to the float 0.1
        numbers = moment.outgoing(numbers) if moment else numbers.astype(np.float64)
        numbers[~present] = np.nan
        return self._spss(numbers, moment) if self.form == "sav" else self._stata(numbers, moment)

    def _title(self) -> str:
        return cut(self.column.title, self.form, "title")

    def _labels(self, moment: Moment | None) -> dict[float, str]:
        """Return the labels of numbers, in the program's numbers."""
        named = ((code, label) for code, label in self.column.labels if not isinstance(code, str))
        return {_number(code, moment): cut(label, self.form, "label") for code, label in named}

    def _display(self, moment: Moment | None) -> str:
        """Return the display format that the file had, if it still fits, else one that shows dates
        as dates.
        """
        had = self.metadata.get(f"{PROGRAMS[self.form].lower()}.format", "")
        if had and moment_of(self.form, had) == moment:
            return had
        return moment.display if moment else ""

    def _declared(self) -> list[Range]:
        return [(lo, hi) for lo, hi in json.loads(self.metadata.get("spss.missing", "[]"))]

    def _measure(self) -> str:
        usual = (
            "scale"
            if self.column.kind not in ("categorical", "boolean", "text", "identifier")
            else "nominal"
        )
        return self.metadata.get("spss.measure") or ("ordinal" if self.column.ordered else usual)

    def _text(self) -> _StatColumn:
        values = self.values.cast(pa.string())
        if self.missing_text is not None:
            values = pc.coalesce(self.missing_text, values)
        cells = np.array(pc.fill_null(values, "").to_pylist(), dtype=object)
        name, title = self.column.name, self._title()
        if self.form == "dta":
            return _StatColumn(name, cells, "str", title, {}, self.metadata.get("stata.format", ""))
        codes = [code for code in self.column.missing if isinstance(code, str)]
        all_codes = list(dict.fromkeys([*(lo for lo, _ in self._declared()), *codes]))
        ranges = all_codes if len(all_codes) <= 3 else codes
        if len(ranges) > 3 or any(len(str(code).encode()) > 8 for code in ranges):
            raise self._too_many()
        labels = {
            code: cut(label, self.form, "label")
            for code, label in self.column.labels
            if isinstance(code, str)
        }
        return _StatColumn(
            name,
            cells,
            "str",
            title,
            labels,
            "",
            self._measure(),
            int(self.metadata.get("spss.width", 0)),
            ranges,
        )

    def _spss(self, numbers: NDArray[np.float64], moment: Moment | None) -> _StatColumn:
        codes = [_number(code, moment) for code in self.column.missing if not isinstance(code, str)]
        display = self._display(moment)
        if not display and (numbers[~np.isnan(numbers)] % 1 == 0).all():
            display = "F8.0"
        elif not display and self.column.decimals:
            display = f"F{self.column.decimals + 8}.{self.column.decimals}"
        return _StatColumn(
            self.column.name,
            numbers,
            "float64",
            self._title(),
            self._labels(moment),
            display,
            self._measure(),
            int(self.metadata.get("spss.width", 0)),
            self._ranges(codes, numbers[~np.isnan(numbers) & ~np.isin(numbers, codes)], moment),
        )

    def _ranges(
        self, codes: list[float], valid: NDArray[np.float64], moment: Moment | None
    ) -> list[Any]:
        """Return the missing codes as SPSS takes them, three codes or a range and a code, so that
        no valid value is among them.
        """
        declared: list[Range] = [
            (
                None if lo is None else _number(lo, moment),
                None if hi is None else _number(hi, moment),
            )
            for lo, hi in self._declared()
        ]
        spare = [(code, code) for code in codes if not within(np.array([code]), declared).any()]
        attempts: list[list[Range]] = [[*declared, *spare], [(code, code) for code in codes]]
        if len(line := sorted(codes)) > 3:
            first, last = line[0], line[-1]
            attempts += [
                [(first, last)],
                [(first, first), (line[1], last)],
                [(first, line[-2]), (last, last)],
            ]
        for ranges in attempts:
            wide = sum(lo != hi for lo, hi in ranges)
            if len(ranges) <= (2 if wide else 3) and wide <= 1 and not within(valid, ranges).any():
                return [
                    lo
                    if lo == hi
                    else {
                        "lo": -math.inf if lo is None else lo,
                        "hi": math.inf if hi is None else hi,
                    }
                    for lo, hi in ranges
                ]
        raise self._too_many()

    def _too_many(self) -> InputError:
        return InputError(
            f"SPSS cannot declare the missing codes of column '{self.column.name}': it takes at most three, or one range and one "
            "code, and words of at most 8 bytes. Write CSV or Parquet, or declare fewer."
        )

    def _stata(self, numbers: NDArray[np.float64], moment: Moment | None) -> _StatColumn:
        codes_of_text = [code for code in self.column.missing if isinstance(code, str)]
        free = (letter for letter in LETTERS if letter not in codes_of_text)
        letter_of = {word: word if word in LETTERS else next(free, None) for word in codes_of_text}
        labels: dict[Any, str] = {
            int(code): label
            for code, label in self._labels(moment).items()
            if code % 1 == 0 and abs(code) <= STATA_LONG
        }
        for word, letter in letter_of.items():
            if letter and letter != word:
                labels[letter] = word
        labels |= {
            code: cut(label, self.form, "label")
            for code, label in self.column.labels
            if code in LETTERS
        }
        present = numbers[~np.isnan(numbers)]
        integral = moment is not TIMES["dta"] and bool(
            (present % 1 == 0).all() and (np.abs(present) <= STATA_LONG).all()
        )
        integral = integral and not pa.types.is_floating(self.values.type)
        cells, dtype = numbers, "Int32" if integral else "float64"
        if self.missing_text is not None and self.missing_text.null_count < len(self.missing_text):
            tags = [letter_of.get(word) for word in self.missing_text.to_pylist()]
            plain = [None if np.isnan(x) else int(x) if integral else float(x) for x in numbers]
            cells = np.array(
                [x if tag is None else tag for x, tag in zip(plain, tags, strict=True)],
                dtype=object,
            )
            dtype = "object"
        letters = sorted(
            {*filter(None, letter_of.values()), *(code for code in labels if isinstance(code, str))}
        )
        return _StatColumn(
            self.column.name,
            cells,
            dtype,
            self._title(),
            labels,
            self._display(moment),
            letters=letters,
        )


def _number(code: Scalar, moment: Moment | None) -> float:
    return float(moment.outgoing(np.array(code))) if moment else float(code)


def _plain(values: pa.Array, form: Program) -> tuple[pa.Array, Moment | None]:
    """Return values of a type that becomes numbers, and how these count time."""
    kind = values.type
    if pa.types.is_boolean(kind):
        return values.cast(pa.int8()), None
    if pa.types.is_null(kind):
        return values.cast(pa.float64()), None
    if pa.types.is_date(kind):
        return values.cast(pa.date32()), DATES[form]
    if pa.types.is_timestamp(kind):
        local = pc.local_timestamp(values) if kind.tz else values
        return local.cast(pa.timestamp("ms"), safe=False), TIMES[form]
    if pa.types.is_time(kind):
        return values.cast(pa.time32("ms"), safe=False), CLOCKS[form]
    return values, None
