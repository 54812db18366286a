"""SPSS (.sav) and Stata (.dta) files in and out, with labels and missing codes, through the extra `pyreadstat`.

Titles, value labels and missing codes become part of the schema. What only these programs know (display
format, measure, column width, ranges of missing codes) rides along as metadata of the Arrow fields, under
`spss.*` and `stata.*`, and is written again.

SPSS declares numbers, words or a range as missing; a range becomes those of its codes that occur. Stata's .a to
.z are the words "a" to "z" beside numbers (`Tagged`). An empty text is missing: neither program tells the two
apart. Lost on the way out: Stata's byte, int and float become long and double, labels of fractions are left out
of Stata files, and words that mean missing in a column of numbers become system-missing in SPSS.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from .._base.errors import FileError, InputError, MissingExtraError, listed
from .codec import Scalar
from .encode import missing_words
from .grid import to_numbers
from .sav_guard import check_sav
from .schema import Column
from .sources import Labels, Source, Tagged
from .stat_forms import CLOCKS, DATES, LETTERS, PROGRAMS, STATA_LONG, TIMES, Form, Moment, check_names, cut, moment_of
from .table import Table
from .types import is_words, value_type

__all__ = ["open_stat_file", "stat_writer"]

Range = tuple[Scalar | None, Scalar | None]
"""The lowest and the highest of a range of missing values, None where it is open."""

BATCH_ROWS = 1 << 16

MOST_CODES = 1000
"""Codes that a range of missing values may hold; with more it holds measurements, not codes."""

_NUMBERS = {"int8": pa.int8(), "int16": pa.int16(), "int32": pa.int32(), "float": pa.float32(), "double": pa.float64()}


def open_stat_file(path: Path, form: str) -> Source:
    """Return an SPSS ("sav") or Stata ("dta") file as a source, with what it says of its columns as labels."""
    file = _File(path, "sav" if form == "sav" else "dta")
    if form == "sav":
        check_sav(path)
    elif not file.ends():
        raise file.damaged()
    told = file.read(metadataonly=True)[1]
    if None in told.column_names:
        raise file.damaged()
    variables = {name: _variable(file, told, name) for name in told.column_names}
    title = {"file.label": told.file_label} if told.file_label else None
    schema = pa.schema([variable.field() for variable in variables.values()], metadata=title)
    n_rows = told.number_rows

    def read(columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        names = schema.names if columns is None else list(columns)
        kept = pa.schema([schema.field(name) for name in names], metadata=schema.metadata)
        start = 0
        while n_rows is None or start < n_rows:
            chosen = None if columns is None else names
            cells = file.read(usecols=chosen, row_offset=start, row_limit=BATCH_ROWS)[0]
            if any(name not in cells for name in names):
                raise file.damaged()
            arrays = [variables[name].values(cells[name]) for name in names]
            n_read = len(arrays[0])
            if n_read:
                yield pa.RecordBatch.from_arrays(arrays, schema=kept)
            start += n_read
            if n_read < BATCH_ROWS:
                break
        if n_rows is not None and start < n_rows:
            raise file.damaged()

    codes = _occurring(path, read, variables)
    return Source(str(path), schema, read, labels={name: v.labels(codes[name]) for name, v in variables.items()})


def _pyreadstat(doing: str) -> Any:
    try:
        import pyreadstat
    except ImportError:
        raise MissingExtraError(f"{doing} SPSS and Stata files", "pyreadstat") from None
    return pyreadstat


@dataclass(frozen=True)
class _File:
    path: Path
    form: Form

    def read(self, **options: Any) -> tuple[dict[str, list[Any]], Any]:
        """Return cells by column, and what the file says of them. Errors quote nothing of the file."""
        package = _pyreadstat("Reading")
        read = package.read_sav if self.form == "sav" else package.read_dta
        try:
            cells, told = read(
                str(self.path.absolute()),
                user_missing=True,
                disable_datetime_conversion=True,
                output_format="dict",
                **options,
            )
        except MemoryError:
            raise
        except Exception as error:
            if isinstance(error, UnicodeError) or "convert string" in str(error):
                raise FileError(
                    f"Cannot read '{self.path}': its text is not in the encoding that it claims, or it is damaged. Save it "
                    f"as Unicode from {PROGRAMS[self.form]}."
                ) from None
            raise self.damaged() from None
        return cells, told

    def ends(self) -> bool:
        """Return whether a Stata file of version 13 or later has its end: the reader would drop lost labels in silence."""
        with open(self.path, "rb") as handle:
            start = handle.read(11)
            handle.seek(-min(64, handle.seek(0, 2)), 2)
            return start != b"<stata_dta>" or b"</stata_dta>" in handle.read()

    def damaged(self) -> FileError:
        return FileError(f"Cannot read '{self.path}': it is damaged, truncated or not of the format it claims.")


@dataclass(frozen=True)
class _Variable:
    """One variable of a file in Arrow's terms: codes of dates are days, those of times milliseconds."""

    file: _File
    name: str
    kind: pa.DataType
    moment: Moment | None
    title: str
    display: str
    measure: str
    width: int
    value_labels: dict[Scalar, str]
    ranges: tuple[Range, ...]

    @property
    def tagged(self) -> bool:
        return self.file.form == "dta" and not is_words(self.kind)

    def field(self) -> pa.Field:
        """Return the Arrow field, with what the schema has no place for."""
        if self.file.form == "dta":
            told = {"stata.format": self.display}
        else:
            told = {"spss.format": self.display, "spss.measure": self.measure, "spss.width": str(self.width)}
            told |= {"spss.missing": json.dumps(self.ranges)} if self.ranges else {}
        return pa.field(self.name, Tagged(self.kind) if self.tagged else self.kind, metadata=told)

    def labels(self, missing: Sequence[Scalar]) -> Labels:
        return Labels(self.title, self.value_labels, tuple(missing), self.display, self.measure)

    def values(self, cells: list[Any]) -> pa.Array:
        """Return cells as Arrow values, null where they are missing without a code."""
        if is_words(self.kind):
            words = pa.array(cells, type=pa.string())
            return pc.if_else(pc.equal(words, ""), pa.scalar(None, pa.string()), words)
        if not self.tagged:
            return self._numbers(cells)
        words = pa.array([cell if isinstance(cell, str) else None for cell in cells], type=pa.string())
        if words.null_count < len(words):
            cells = [None if isinstance(cell, str) else cell for cell in cells]
        storage = pa.StructArray.from_arrays([self._numbers(cells), words], names=["value", "word"])
        return pa.ExtensionArray.from_storage(Tagged(self.kind), storage)

    def _numbers(self, cells: list[Any]) -> pa.Array:
        if self.moment is None:
            return pa.array(cells, type=self.kind, from_pandas=True)
        numbers = self.moment.incoming(np.array(cells, dtype=np.float64))
        absent = np.isnan(numbers)
        whole = np.where(absent, 0, numbers)
        units = pa.int32() if self.kind == pa.date32() else pa.int64()
        if (np.abs(whole) >= 2.0 ** (units.bit_width - 1)).any():
            raise FileError(f"Cannot read '{self.file.path}': column '{self.name}' holds dates beyond any calendar.")
        return pa.array(whole.astype(np.int64), mask=absent).cast(units).cast(self.kind)


def _variable(file: _File, told: Any, name: str) -> _Variable:
    stored = told.readstat_variable_types[name]
    display = told.original_variable_types[name] or ""
    moment = None if stored == "string" else moment_of(file.form, display)
    kind = pa.string() if stored == "string" else moment.kind if moment else _NUMBERS[stored]
    measure = told.variable_measure.get(name)

    def code(value: Any) -> Scalar | None:
        if isinstance(value, str):
            return value
        if not math.isfinite(value):
            return None
        if moment is not None:
            return int(moment.incoming(np.array(value, dtype=np.float64)))
        return float(value) if pa.types.is_floating(kind) else int(value)

    labels = {code(value): label for value, label in told.variable_value_labels.get(name, {}).items()}
    return _Variable(
        file,
        name,
        kind,
        moment,
        told.column_names_to_labels.get(name) or "",
        display,
        measure if measure in ("nominal", "ordinal", "scale") else "unknown",
        max(told.variable_display_width.get(name) or 0, 0),
        {value: label for value, label in labels.items() if value is not None},
        tuple((code(each["lo"]), code(each["hi"])) for each in told.missing_ranges.get(name, ())),
    )


def _occurring(
    path: Path, read: Callable[[Sequence[str] | None], Iterator[pa.RecordBatch]], variables: dict[str, _Variable]
) -> dict[str, list[Scalar]]:
    """Return the missing codes of each variable: those declared one by one, and those that occur in a declared range."""
    codes: dict[str, list[Scalar]] = {}
    wide: dict[str, list[Range]] = {}
    for name, variable in variables.items():
        codes[name] = (
            list(LETTERS)
            if variable.tagged
            else [lo for lo, hi in variable.ranges if lo == hi and lo not in (None, "")]
        )
        if ranges := [(lo, hi) for lo, hi in variable.ranges if lo != hi]:
            wide[name] = ranges
    if not wide:
        return codes
    found: dict[str, set[Scalar]] = {name: set() for name in wide}
    for batch in read(list(wide)):
        for name, ranges in wide.items():
            numbers, present = to_numbers(batch.column(name))
            found[name].update(np.unique(numbers[present & _within(numbers, ranges)]).tolist())
            if len(found[name]) > MOST_CODES:
                raise InputError(
                    f"Column '{name}' of '{path}' declares a range of missing values that holds over {MOST_CODES:,} different "
                    "ones. Recode them to a few codes."
                )
    return {name: [*each, *sorted(found.get(name, set()) - set(each))] for name, each in codes.items()}


def _within(numbers: NDArray[Any], ranges: Sequence[Range]) -> NDArray[np.bool_]:
    hit = np.zeros(len(numbers), dtype=bool)
    for lo, hi in ranges:
        hit |= (numbers >= (-np.inf if lo is None else lo)) & (numbers <= (np.inf if hi is None else hi))
    return hit


@contextlib.contextmanager
def stat_writer(part: Path, form: str) -> Iterator[Callable[[Table], None]]:
    """Give a function that gathers tables; they are written to `part` as one file when the block ends well."""
    package = _pyreadstat("Writing")
    try:
        import pandas
    except ImportError:
        raise MissingExtraError("Writing SPSS and Stata files", "pyreadstat") from None
    target: Form = "sav" if form == "sav" else "dta"
    held: list[Table] = []

    def write(table: Table) -> None:
        if not held:
            check_names(table.columns, target)
        held.append(table)

    yield write
    if not held:
        return
    written = [_leaving(column, held, target).written() for column in held[0].schema]
    frame = pandas.DataFrame({each.name: pandas.Series(each.cells, dtype=each.dtype) for each in written})
    label = (held[0].data.schema.metadata or {}).get(b"file.label", b"").decode()
    options: dict[str, Any] = {
        "file_label": cut(label, target, "file"),
        "column_labels": {each.name: each.title for each in written if each.title},
        "variable_value_labels": {each.name: each.labels for each in written if each.labels},
        "variable_format": {each.name: each.display for each in written if each.display},
    }
    if target == "sav":
        options["row_compress"] = True
        options["missing_ranges"] = {each.name: each.ranges for each in written if each.ranges}
        options["variable_measure"] = {each.name: each.measure for each in written}
        options["variable_display_width"] = {each.name: each.width for each in written if each.width}
    else:
        options["missing_user_values"] = {each.name: each.letters for each in written if each.letters} or None
        _check_label_names(list(options["variable_value_labels"]))
    try:
        (package.write_sav if target == "sav" else package.write_dta)(frame, str(part.absolute()), **options)
    except (MemoryError, OSError):
        raise
    except Exception as error:
        fixed = type(error).__name__ == "ReadstatError"  # whose sentences are fixed: they quote no cell
        why = f" {error}." if fixed else ""
        raise FileError(
            f"Cannot write the {PROGRAMS[target]} file.{why} Make room for it, or write CSV or Parquet."
        ) from None


def _check_label_names(names: Sequence[str]) -> None:
    """Raise where a set of value labels would get too long a name: `pyreadstat` names it by its column and a number."""
    if bad := [name for i, name in enumerate(names) if len(f"{name}{i}") > 32]:
        raise InputError(
            f"Columns with value labels need names of at most 28 characters in a Stata file: {listed(bad)}. Rename, or write "
            "an SPSS file, CSV or Parquet."
        )


@dataclass(frozen=True)
class _Written:
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


def _leaving(column: Column, tables: Sequence[Table], form: Form) -> _Leaving:
    """Return one column of all tables."""
    told = tables[0].data.schema.field(column.name)
    chunks = [chunk for table in tables for chunk in table.data.column(column.name).chunks]
    values = pa.chunked_array(chunks, type=told.type).combine_chunks()
    if pa.types.is_dictionary(values.type):
        values = values.cast(value_type(values.type))
    words = None
    if column.modelled:
        words = missing_words(column, np.concatenate([table.code(column.name) for table in tables]))
    known = {key.decode(): text.decode() for key, text in (told.metadata or {}).items()}
    return _Leaving(column, form, values, words, known)


@dataclass(frozen=True)
class _Leaving:
    """One column on its way out: its values, the words of its missing ones, and what the file that it came from said."""

    column: Column
    form: Form
    values: pa.Array
    words: pa.Array | None
    told: dict[str, str]

    def written(self) -> _Written:
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
            numbers = np.round(numbers, self.column.decimals)  # 0.1, and not the double nearest to the float 0.1
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
        """Return the display format that the file had, if it still fits, else one that shows dates as dates."""
        had = self.told.get(f"{PROGRAMS[self.form].lower()}.format", "")
        if had and moment_of(self.form, had) == moment:
            return had
        return moment.display if moment else ""

    def _declared(self) -> list[Range]:
        return [(lo, hi) for lo, hi in json.loads(self.told.get("spss.missing", "[]"))]

    def _measure(self) -> str:
        usual = "scale" if self.column.kind not in ("categorical", "boolean", "text", "identifier") else "nominal"
        return self.told.get("spss.measure") or ("ordinal" if self.column.ordered else usual)

    def _text(self) -> _Written:
        values = self.values.cast(pa.string())
        if self.words is not None:
            values = pc.coalesce(self.words, values)
        cells = np.array(pc.fill_null(values, "").to_pylist(), dtype=object)
        name, title = self.column.name, self._title()
        if self.form == "dta":
            return _Written(name, cells, "str", title, {}, self.told.get("stata.format", ""))
        own = [code for code in self.column.missing if isinstance(code, str)]
        every = list(dict.fromkeys([*(lo for lo, _ in self._declared()), *own]))
        ranges = every if len(every) <= 3 else own
        if len(ranges) > 3 or any(len(str(code).encode()) > 8 for code in ranges):
            raise self._too_many()
        labels = {code: cut(label, self.form, "label") for code, label in self.column.labels if isinstance(code, str)}
        return _Written(
            name, cells, "str", title, labels, "", self._measure(), int(self.told.get("spss.width", 0)), ranges
        )

    def _spss(self, numbers: NDArray[np.float64], moment: Moment | None) -> _Written:
        own = [_number(code, moment) for code in self.column.missing if not isinstance(code, str)]
        display = self._display(moment)
        if not display and (numbers[~np.isnan(numbers)] % 1 == 0).all():
            display = "F8.0"
        elif not display and self.column.decimals:
            display = f"F{self.column.decimals + 8}.{self.column.decimals}"
        return _Written(
            self.column.name,
            numbers,
            "float64",
            self._title(),
            self._labels(moment),
            display,
            self._measure(),
            int(self.told.get("spss.width", 0)),
            self._ranges(own, numbers[~np.isnan(numbers) & ~np.isin(numbers, own)], moment),
        )

    def _ranges(self, own: list[float], valid: NDArray[np.float64], moment: Moment | None) -> list[Any]:
        """Return the missing codes as SPSS takes them, three codes or a range and a code, so that no valid value is among them."""
        declared: list[Range] = [
            (None if lo is None else _number(lo, moment), None if hi is None else _number(hi, moment))
            for lo, hi in self._declared()
        ]
        spare = [(code, code) for code in own if not _within(np.array([code]), declared).any()]
        attempts: list[list[Range]] = [[*declared, *spare], [(code, code) for code in own]]
        if len(line := sorted(own)) > 3:
            first, last = line[0], line[-1]
            attempts += [[(first, last)], [(first, first), (line[1], last)], [(first, line[-2]), (last, last)]]
        for ranges in attempts:
            wide = sum(lo != hi for lo, hi in ranges)
            if len(ranges) <= (2 if wide else 3) and wide <= 1 and not _within(valid, ranges).any():
                return [
                    lo if lo == hi else {"lo": -math.inf if lo is None else lo, "hi": math.inf if hi is None else hi}
                    for lo, hi in ranges
                ]
        raise self._too_many()

    def _too_many(self) -> InputError:
        return InputError(
            f"SPSS cannot declare the missing codes of column '{self.column.name}': it takes at most three, or one range and one "
            "code, and words of at most 8 bytes. Write CSV or Parquet, or declare fewer."
        )

    def _stata(self, numbers: NDArray[np.float64], moment: Moment | None) -> _Written:
        words = [code for code in self.column.missing if isinstance(code, str)]
        free = (letter for letter in LETTERS if letter not in words)
        letter_of = {word: word if word in LETTERS else next(free, None) for word in words}
        labels: dict[Any, str] = {
            int(code): label
            for code, label in self._labels(moment).items()
            if code % 1 == 0 and abs(code) <= STATA_LONG
        }
        for word, letter in letter_of.items():
            if letter and letter != word:
                labels[letter] = word
        labels |= {code: cut(label, self.form, "label") for code, label in self.column.labels if code in LETTERS}
        present = numbers[~np.isnan(numbers)]
        whole = moment is not TIMES["dta"] and bool((present % 1 == 0).all() and (np.abs(present) <= STATA_LONG).all())
        whole = whole and not pa.types.is_floating(self.values.type)
        cells, dtype = numbers, "Int32" if whole else "float64"
        if self.words is not None and self.words.null_count < len(self.words):
            tags = [letter_of.get(word) for word in self.words.to_pylist()]
            plain = [None if np.isnan(x) else int(x) if whole else float(x) for x in numbers]
            cells = np.array([x if tag is None else tag for x, tag in zip(plain, tags, strict=True)], dtype=object)
            dtype = "object"
        letters = sorted({*filter(None, letter_of.values()), *(code for code in labels if isinstance(code, str))})
        return _Written(self.column.name, cells, dtype, self._title(), labels, self._display(moment), letters=letters)


def _number(code: Scalar, moment: Moment | None) -> float:
    return float(moment.outgoing(np.array(code))) if moment else float(code)


def _plain(values: pa.Array, form: Form) -> tuple[pa.Array, Moment | None]:
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
