"""Reading SPSS (.sav) and Stata (.dta) files, with labels and missing codes, through the extra
`pyreadstat`.

Titles, value labels and missing codes become part of the schema. What only these programs know
(display format, measure, column width, ranges of missing codes) rides along as metadata of the
Arrow fields, under `spss.*` and `stata.*`, and is written again. The label of the file is not read:
it is about the original, as its notes are.

SPSS declares numbers, words or a range as missing; a range becomes those of its codes that occur.
Stata's .a to .z are the words "a" to "z" beside numbers (`Tagged`). An empty text is missing:
neither program tells the two apart. Lost on the way out: Stata's byte, int and float become long
and double, labels of fractions are left out of Stata files, and words that mean missing in a column
of numbers become system-missing in SPSS.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ...._base.errors import FileError, InputError, MissingExtraError, join_names
from ...domain import Scalar
from ...types import is_words, to_numbers
from ..format import Labels, ReadOptions, Source, Tagged, damaged_file

Program = Literal["sav", "dta"]

PROGRAMS: dict[Program, str] = {"sav": "SPSS", "dta": "Stata"}

Range = tuple[Scalar | None, Scalar | None]
"""The lowest and the highest of a range of missing values, None where it is open."""

LETTERS = tuple("abcdefghijklmnopqrstuvwxyz")
"""Stata's missing codes besides the plain one: .a to .z."""

STATA_LONG = 2_147_483_620
"""The largest whole number that Stata stores as such; those above it stand for missing."""

_SPSS_NAME = re.compile(r"[^\W\d_][\w.$#@]*")
_SPSS_RESERVED = re.compile("ALL|AND|BY|EQ|GE|GT|LE|LT|NE|NOT|OR|TO|WITH")
_STATA_NAME = re.compile(r"[^\W\d]\w*")
_STATA_RESERVED = re.compile(
    r"_all|_b|_coef|_cons|_n|_N|_pi|_pred|_rc|_skip|byte|double|float|if|in|int|long|strL|using|with|str\d+"
)
_LONGEST = {
    "sav": {"name": 64, "title": 256, "label": 120},
    "dta": {"name": 32, "title": 80, "label": 8_000},
}
"""Longest texts: in bytes for SPSS, in characters for Stata (whose labels have 32,000 bytes)."""


@dataclass(frozen=True)
class Moment:
    """How a program counts time: its numbers are (Arrow's number + offset) * down / up."""

    kind: pa.DataType
    offset: int
    display: str
    up: int = 1
    down: int = 1

    def incoming(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the program's numbers as Arrow's: days, or milliseconds."""
        scaled = numbers * self.up / self.down
        return np.asarray(
            (np.floor(scaled) if pa.types.is_date(self.kind) else np.rint(scaled)) - self.offset
        )

    def outgoing(self, numbers: NDArray[Any]) -> NDArray[np.float64]:
        """Return Arrow's numbers as the program's."""
        return np.asarray(
            (np.asarray(numbers, dtype=np.float64) + self.offset) * self.down / self.up
        )


DATES: dict[Program, Moment] = {
    "sav": Moment(pa.date32(), 141_428, "DATE11", down=86_400),  # seconds since 14 October 1582
    "dta": Moment(pa.date32(), 3_653, "%td"),  # days since 1 January 1960
}
TIMES: dict[Program, Moment] = {
    "sav": Moment(pa.timestamp("ms"), 12_219_379_200_000, "DATETIME20", up=1000),
    "dta": Moment(pa.timestamp("ms"), 315_619_200_000, "%tc"),
}
CLOCKS: dict[Program, Moment] = {
    "sav": Moment(pa.time32("ms"), 0, "TIME8", up=1000),
    "dta": Moment(pa.time32("ms"), 0, "%tcHH:MM:SS"),
}


def moment_of(form: Program, display: str) -> Moment | None:
    """Return how a display format counts time, or None where it shows plain numbers.

    Examples
    --------
    >>> [moment_of("sav", "EDATE10") == DATES["sav"], moment_of("dta", "%tcHH:MM") == TIMES["dta"], moment_of("dta", "%9.0g")]
    [True, True, None]
    """
    if form == "dta":
        match = re.match("%-?(td|d|tc|tC)", display)
        return None if match is None else TIMES[form] if match[1] in ("tc", "tC") else DATES[form]
    word = re.sub("[^A-Z].*", "", display.upper())
    if word in ("DATE", "ADATE", "EDATE", "JDATE", "SDATE", "QYR", "MOYR", "WKYR"):
        return DATES[form]
    return TIMES[form] if word in ("DATETIME", "YMDHMS") else None


def cut(text: str, form: Program, what: str) -> str:
    """Return a title or label, shortened to what a program holds, at a whole character.

    Examples
    --------
    >>> len(cut("é" * 100, "sav", "label")), len(cut("é" * 100, "dta", "title"))
    (60, 80)
    """
    longest = _LONGEST[form][what]
    return text[:longest] if form == "dta" else text.encode()[:longest].decode("utf-8", "ignore")


def check_names(names: Sequence[str], form: Program) -> None:
    """Raise unless a program can hold columns of these names."""
    pattern, reserved = (
        (_SPSS_NAME, _SPSS_RESERVED) if form == "sav" else (_STATA_NAME, _STATA_RESERVED)
    )
    refused = [
        n
        for n in names
        if not pattern.fullmatch(n) or reserved.fullmatch(n) or n != cut(n, form, "name")
    ]
    if refused:
        also = "" if form == "dta" else ", or . $ # @"
        raise InputError(
            f"{PROGRAMS[form]} cannot hold columns named so: {join_names(refused)}. A name starts with a letter, goes on with letters, "
            f"digits, _{also}, has at most {_LONGEST[form]['name']} characters and is no reserved word. Rename, or write CSV or Parquet."
        )
    folded = [name.upper() for name in names]
    if form == "sav" and (double := [name for name in names if folded.count(name.upper()) > 1]):
        raise InputError(
            f"SPSS cannot hold columns whose names differ only in case: {join_names(double)}. Rename, or write CSV or Parquet."
        )


def within(numbers: NDArray[Any], ranges: Sequence[Range]) -> NDArray[np.bool_]:
    """Return which numbers lie in any of the ranges."""
    hit = np.zeros(len(numbers), dtype=bool)
    for lo, hi in ranges:
        hit |= (numbers >= (-np.inf if lo is None else lo)) & (
            numbers <= (np.inf if hi is None else hi)
        )
    return hit


def pyreadstat(doing: str) -> Any:
    """Return the package of that name; an error that names the extra where it is not installed."""
    try:
        import pyreadstat as package
    except ImportError:
        raise MissingExtraError(doing, "pyreadstat") from None
    return package


BATCH_ROWS = 1 << 16

MOST_CODES = 1000
"""Codes that a range of missing values may hold; with more it holds measurements, not codes."""

_NUMBERS = {
    "int8": pa.int8(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "float": pa.float32(),
    "double": pa.float64(),
}


def open_file(path: Path, options: ReadOptions, *, form: Program) -> Source:
    """Return an SPSS ("sav") or Stata ("dta") file as a source, with the metadata of its columns as
    labels.
    """
    file = _StatFile(path, form)
    metadata, variables = file.variables()
    schema = pa.schema([variable.field() for variable in variables.values()])
    n_rows = metadata.number_rows

    def read(columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        names = schema.names if columns is None else list(columns)
        chosen_schema = pa.schema([schema.field(name) for name in names])
        start = 0
        while n_rows is None or start < n_rows:
            chosen = None if columns is None else names
            cells = file.read(usecols=chosen, row_offset=start, row_limit=BATCH_ROWS)[0]
            if any(name not in cells for name in names):
                raise damaged_file(path)
            arrays = [variables[name].values(cells[name]) for name in names]
            n_read = len(arrays[0])
            if n_read:
                yield pa.RecordBatch.from_arrays(arrays, schema=chosen_schema)
            start += n_read
            if n_read < BATCH_ROWS:
                break
        if n_rows is not None and start < n_rows:
            raise damaged_file(path)

    codes = _missing_codes(path, read, variables)
    return Source(
        str(path),
        schema,
        read,
        labels={name: v.labels(codes[name]) for name, v in variables.items()},
    )


def read_labels(path: Path, form: Program) -> dict[str, tuple[pa.DataType, Labels]]:
    """Return the type of each variable of a file and what the file says of it, missing codes that
    are declared one by one among it.

    No record is read: this is the codebook in the file.
    """
    _, variables = _StatFile(path, form).variables()
    codes = {
        name: [lo for lo, hi in v.ranges if lo is not None and lo == hi and lo != ""]
        for name, v in variables.items()
    }
    return {
        name: (variable.kind, variable.labels(codes[name])) for name, variable in variables.items()
    }


@dataclass(frozen=True)
class _StatFile:
    path: Path
    form: Program

    def read(self, **options: Any) -> tuple[dict[str, list[Any]], Any]:
        """Return cells by column, and the metadata of the file. Errors quote nothing of the
        file.
        """
        package = pyreadstat("Reading SPSS and Stata files")
        read = package.read_sav if self.form == "sav" else package.read_dta
        try:
            cells, metadata = read(
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
            raise damaged_file(self.path) from None
        return cells, metadata

    def variables(self) -> tuple[Any, dict[str, _Variable]]:
        """Return the metadata of the file and of its variables; no record is read."""
        if self.form == "sav":
            check_sav(self.path)
        elif not self.ends():
            raise damaged_file(self.path)
        metadata = self.read(metadataonly=True)[1]
        if None in metadata.column_names:
            raise damaged_file(self.path)
        return metadata, {name: _variable(self, metadata, name) for name in metadata.column_names}

    def ends(self) -> bool:
        """Return whether a Stata file of version 13 or later has its end: the reader would drop
        lost labels in silence.
        """
        with open(self.path, "rb") as handle:
            start = handle.read(11)
            handle.seek(-min(64, handle.seek(0, 2)), 2)
            return start != b"<stata_dta>" or b"</stata_dta>" in handle.read()


@dataclass(frozen=True)
class _Variable:
    """One variable of a file in Arrow's terms: codes of dates are days, those of times
    milliseconds.
    """

    file: _StatFile
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
            metadata = {"stata.format": self.display}
        else:
            metadata = {
                "spss.format": self.display,
                "spss.measure": self.measure,
                "spss.width": str(self.width),
            }
            metadata |= {"spss.missing": json.dumps(self.ranges)} if self.ranges else {}
        return pa.field(
            self.name, Tagged(self.kind) if self.tagged else self.kind, metadata=metadata
        )

    def labels(self, missing: Sequence[Scalar]) -> Labels:
        return Labels(self.title, self.value_labels, tuple(missing), self.display, self.measure)

    def values(self, cells: list[Any]) -> pa.Array:
        """Return cells as Arrow values, null where they are missing without a code."""
        if is_words(self.kind):
            text = pa.array(cells, type=pa.string())
            return pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)
        if not self.tagged:
            return self._numbers(cells)
        text = pa.array(
            [cell if isinstance(cell, str) else None for cell in cells], type=pa.string()
        )
        if text.null_count < len(text):
            cells = [None if isinstance(cell, str) else cell for cell in cells]
        storage = pa.StructArray.from_arrays([self._numbers(cells), text], names=["value", "word"])
        return pa.ExtensionArray.from_storage(Tagged(self.kind), storage)

    def _numbers(self, cells: list[Any]) -> pa.Array:
        if self.moment is None:
            return pa.array(cells, type=self.kind, from_pandas=True)
        numbers = self.moment.incoming(np.array(cells, dtype=np.float64))
        absent = np.isnan(numbers)
        ticks = np.where(absent, 0, numbers)
        units = pa.int32() if self.kind == pa.date32() else pa.int64()
        if (np.abs(ticks) >= 2.0 ** (units.bit_width - 1)).any():
            raise FileError(
                f"Cannot read '{self.file.path}': column '{self.name}' holds dates beyond any calendar."
            )
        return pa.array(ticks.astype(np.int64), mask=absent).cast(units).cast(self.kind)


def _variable(file: _StatFile, metadata: Any, name: str) -> _Variable:
    stored = metadata.readstat_variable_types[name]
    display = metadata.original_variable_types[name] or ""
    moment = None if stored == "string" else moment_of(file.form, display)
    kind = pa.string() if stored == "string" else moment.kind if moment else _NUMBERS[stored]
    measure = metadata.variable_measure.get(name)

    def code(value: Any) -> Scalar | None:
        if isinstance(value, str):
            return value
        if not math.isfinite(value):
            return None
        if moment is not None:
            return int(moment.incoming(np.array(value, dtype=np.float64)))
        return float(value) if pa.types.is_floating(kind) else int(value)

    labels = {
        code(value): label for value, label in metadata.variable_value_labels.get(name, {}).items()
    }
    return _Variable(
        file,
        name,
        kind,
        moment,
        metadata.column_names_to_labels.get(name) or "",
        display,
        measure if measure in ("nominal", "ordinal", "scale") else "unknown",
        max(metadata.variable_display_width.get(name) or 0, 0),
        {value: label for value, label in labels.items() if value is not None},
        tuple(
            (code(each["lo"]), code(each["hi"])) for each in metadata.missing_ranges.get(name, ())
        ),
    )


def _missing_codes(
    path: Path,
    read: Callable[[Sequence[str] | None], Iterator[pa.RecordBatch]],
    variables: dict[str, _Variable],
) -> dict[str, list[Scalar]]:
    """Return the missing codes of each variable: those declared one by one, and those that occur in
    a declared range.
    """
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
    occurring: dict[str, set[Scalar]] = {name: set() for name in wide}
    for batch in read(list(wide)):
        for name, ranges in wide.items():
            numbers, present = to_numbers(batch.column(name))
            occurring[name].update(np.unique(numbers[present & within(numbers, ranges)]).tolist())
            if len(occurring[name]) > MOST_CODES:
                raise InputError(
                    f"Column '{name}' of '{path}' declares a range of missing values that holds over {MOST_CODES:,} different "
                    "ones. Recode them to a few codes."
                )
    return {
        name: [*each, *sorted(occurring.get(name, set()) - set(each))]
        for name, each in codes.items()
    }


HEADER = 176
UTF8 = 65001


def check_sav(path: Path) -> None:
    """Raise a FileError if the labels of an SPSS file do not fit its variables; all else is left to
    the reader.

    The C reader behind `pyreadstat` (1.3.7) does not raise but kills the process when a set of
    value labels belongs to no variable, or labels a word that does not decode. One damaged byte is
    enough, so such files are refused here. Layout of the records: the PSPP manual, "System File
    Format".
    """
    with open(path, "rb") as handle:
        head = handle.read(HEADER)
        order = "<" if head[64:68] in (b"\2\0\0\0", b"\3\0\0\0") else ">"
        try:
            sound = len(head) == HEADER and _Dictionary(handle, order).sound()
        except struct.error:  # the file ends before its dictionary does
            sound = False
    if not sound:
        raise damaged_file(path)


@dataclass
class _Dictionary:
    handle: BinaryIO
    order: str
    widths: list[int] = field(default_factory=list)
    """Of each 8-byte piece: 0 a number, -1 the rest of a longer text."""
    labelled_texts: list[bytes] = field(default_factory=list)
    """Texts that have a label."""
    encoding: str = ""

    def sound(self) -> bool:
        """Return whether every set of labels has a variable, and every labelled word decodes."""
        while True:
            record = self._read_integer()
            if record == 2:
                self._variable()
            elif record == 3:
                if not self._labels():
                    return False
            elif record == 6:
                self._skip(80 * self._read_integer())
            elif record == 7:
                self._extension()
            else:
                return self._decodes()

    def _read_integer(self) -> int:
        (number,) = struct.unpack(f"{self.order}i", self.handle.read(4))
        return int(number)

    def _skip(self, n_bytes: int) -> None:
        self.handle.seek(max(n_bytes, 0), 1)

    def _variable(self) -> None:
        width, labelled, n_missing, *formats = (self._read_integer() for _ in range(5))
        shown_as_text = any(
            shown >> 16 & 0xFF in (1, 2) for shown in formats
        )  # A and AHEX make the reader take it for text
        self.widths.append(width or int(shown_as_text))
        self._skip(8)
        if labelled:
            self._skip(-(-self._read_integer() // 4) * 4)
        self._skip(8 * abs(n_missing))

    def _labels(self) -> bool:
        values = []
        for _ in range(self._read_integer()):
            value, length = struct.unpack("8sB", self.handle.read(9))
            self._skip((length + 8) // 8 * 8 - 1)
            values.append(value)
        if self._read_integer() != 4 or not 0 < (n_variables := self._read_integer()) <= len(
            self.widths
        ):
            return False
        numbers = [self._read_integer() for _ in range(n_variables)]
        widths = [self.widths[number - 1] for number in numbers if 0 < number <= len(self.widths)]
        if not any(width >= 0 for width in widths):
            return False
        if any(widths):
            self.labelled_texts += values
        return True

    def _extension(self) -> None:
        kind, size, count = self._read_integer(), self._read_integer(), self._read_integer()
        if kind == 3 and size == 4 and count == 8:
            page = [self._read_integer() for _ in range(8)][-1]
            self.encoding = self.encoding or ("utf-8" if page == UTF8 else f"cp{page}")
        elif kind == 20 and size == 1 and 0 < count < 100:
            self.encoding = self.handle.read(count).decode("ascii", "replace")
        else:
            self._skip(size * count)

    def _decodes(self) -> bool:
        try:
            for word in self.labelled_texts:
                word.decode(self.encoding or "utf-8")
        except UnicodeError:
            return False
        except (LookupError, ValueError):  # an encoding that Python does not know: the reader may
            return True
        return True
