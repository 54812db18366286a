"""Data frames that R saved with `saveRDS` (.rds): read by a small reader of our own, which knows
vectors and nothing that runs.

The format is R's serialisation, version 2 or 3, in XDR ("R Internals", section 1.8). Functions,
environments, promises and other code are not read: a file that holds them is refused. Factors
become words, dates dates, times times.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from ..._base.errors import FileError, InputError, join_names
from ..schema import Note
from .format import FORMATS, Format, Labels, ReadOptions, Source, damaged_file, table_reader
from .layout import distinct_names
from .packing import TextFile, open_unpacked

MOST_DEPTH = 50
"""How deep lists in lists may go: those of a data frame are shallow."""

NA_INTEGER = -(2**31)
_NULLS = (
    254,
    253,
    242,
    241,
    251,
)
"""R's nil, global, base and empty environments, missing argument: each a word that stands for itself."""


class _UnreadableError(Exception):
    """What a file holds that is no table; its message is for people."""


@dataclass
class _Vector:
    """A vector of R: values as an array, or a list of such; and its attributes."""

    values: Any
    attributes: dict[str, Any] = field(default_factory=dict)

    @property
    def classes(self) -> list[str]:
        names = self.attributes.get("class")
        return [str(name) for name in names.values] if isinstance(names, _Vector) else []


@dataclass
class _Reader:
    handle: BinaryIO
    check: Any
    symbols: list[str] = field(default_factory=list)
    n_read: int = 0

    def take(self, n_bytes: int) -> bytes:
        pieces, remaining = [], n_bytes
        # A length that a damaged file claims is not made room for before it is there.
        while remaining:
            piece = self.handle.read(min(remaining, 1 << 24))
            if not piece:
                raise EOFError
            pieces.append(piece)
            remaining -= len(piece)
            self.n_read += len(piece)
            self.check(self.n_read)
        return b"".join(pieces)

    def integer(self) -> int:
        return int(struct.unpack(">i", self.take(4))[0])

    def length(self) -> int:
        n = self.integer()
        if n == -1:
            high, low = self.integer(), self.integer()
            n = (high << 32) + (low & 0xFFFFFFFF)
        if n < 0:
            raise EOFError
        return n

    def start(self) -> None:
        """Read what comes before the first value: the version, and in version 3 the encoding."""
        version = self.integer()
        self.take(8)
        if version == 3:
            self.take(self.length())
        elif version != 2:
            raise EOFError

    def item(self, depth: int = 0, flags: int | None = None) -> Any:
        """Return the next value: a vector, a name, pairs, or None; `flags` are its first word where
        that has been read.
        """
        if depth > MOST_DEPTH:
            raise _UnreadableError("lists that lie too deep in each other")
        flags = self.integer() if flags is None else flags
        kind, attributed, tagged = flags & 0xFF, bool(flags & 0x200), bool(flags & 0x400)
        if kind in _NULLS:
            return None
        if kind == 255:  # a name that was there before
            reference = (flags >> 8) or self.integer()
            if not 0 < reference <= len(self.symbols):
                raise EOFError
            return self.symbols[reference - 1]
        if kind == 1:
            name = self.item(depth + 1)
            self.symbols.append(str(name))
            return self.symbols[-1]
        if kind == 9:
            n = self.integer()
            return (
                None
                if n == -1
                else self.take(n).decode("latin-1" if flags & 0x4000 else "utf-8", "replace")
            )
        if kind == 2:
            return self.pairs(attributed, tagged, depth)
        if kind == 238:
            return self.compact(depth)
        if kind not in (10, 13, 14, 15, 16, 19, 24):
            raise _UnreadableError("functions, environments or other things that are no data")
        vector = _Vector(self.values(kind, depth))
        if attributed:
            vector.attributes = _named_pairs(self.item(depth + 1))
        return vector

    def values(self, kind: int, depth: int) -> Any:
        n = self.length()
        if kind in (10, 13):
            numbers = np.frombuffer(self.take(4 * n), ">i4").astype(np.int32)
            return (
                numbers
                if kind == 13
                else np.where(numbers == NA_INTEGER, -1, numbers != 0).astype(np.int8)
            )
        if kind == 14:
            return np.frombuffer(self.take(8 * n), ">f8").astype(np.float64)
        if kind == 15:
            return np.frombuffer(self.take(16 * n), ">c16")
        if kind == 24:
            return np.frombuffer(self.take(n), np.uint8)
        return [self.item(depth + 1) for _ in range(n)]

    def pairs(self, attributed: bool, tagged: bool, depth: int) -> list[tuple[str, Any]]:
        """Return a list of names and values, the name empty where there is none; each is followed
        by the next, so that it is read in a loop.
        """
        out: list[tuple[str, Any]] = []
        while True:
            if attributed:
                self.item(depth + 1)
            name = self.item(depth + 1) if tagged else ""
            out.append((str(name), self.item(depth + 1)))
            flags = self.integer()
            if flags & 0xFF in _NULLS:
                return out
            if flags & 0xFF != 2:  # the last of a pair is no list
                return [*out, ("", self.item(depth + 1, flags))]
            attributed, tagged = bool(flags & 0x200), bool(flags & 0x400)

    def compact(self, depth: int) -> Any:
        """Return a vector that R keeps in a short form: a range of numbers, words of numbers, or
        another with a note beside it.
        """
        info, state, attributes = (
            self.item(depth + 1),
            self.item(depth + 1),
            _named_pairs(self.item(depth + 1)),
        )
        name = str(info[0][1]) if isinstance(info, list) and info else ""
        if name in ("compact_intseq", "compact_realseq") and isinstance(state, _Vector):
            n, first, step = (float(x) for x in state.values[:3])
            if not 0 <= n < 2**31:
                raise EOFError
            return _Vector(
                (first + step * np.arange(int(n))).astype(
                    np.int32 if name == "compact_intseq" else np.float64
                ),
                attributes,
            )
        inner = (
            state.values[0]
            if isinstance(state, _Vector) and len(state.values)
            else state[0][1]
            if isinstance(state, list) and state
            else None
        )
        if name.startswith("wrap_") and isinstance(inner, _Vector):
            return _Vector(inner.values, {**inner.attributes, **attributes})
        if name == "deferred_string" and isinstance(inner, _Vector):
            return _Vector([_as_r_says(x) for x in inner.values.tolist()], attributes)
        raise _UnreadableError(f"a vector of the kind '{name[:40]}', which only R reads")


def _named_pairs(pairs: Any) -> dict[str, Any]:
    return dict(pairs) if isinstance(pairs, list) else {}


def _as_r_says(number: float) -> str | None:
    if number != number or number == NA_INTEGER:
        return None
    return str(int(number)) if float(number).is_integer() else f"{number:.15g}"


def _open(path: Path, options: ReadOptions) -> Source:
    frame = _frame(path)
    name_vector = frame.attributes.get("names")
    cells = (
        [str(name or "") for name in name_vector.values]
        if isinstance(name_vector, _Vector)
        else [""] * len(frame.values)
    )
    names, notes = distinct_names(cells)
    columns, dropped, labels = {}, [], {}
    for name, vector in zip(names, frame.values, strict=True):
        array = _array(vector) if isinstance(vector, _Vector) else None
        if array is None:
            dropped.append(name)
            continue
        columns[name] = array
        title = vector.attributes.get("label")
        if (
            isinstance(title, _Vector)
            and len(title.values) == 1
            and isinstance(title.values[0], str)
        ):
            labels[name] = Labels(title=title.values[0])
    if len({len(array) for array in columns.values()}) > 1:
        raise FileError(
            f"Cannot read '{path}': its columns are not of one length, so it is damaged or no data frame."
        )
    if not columns:
        raise InputError(f"'{path}' has no column that is a plain vector.")
    all_notes = [
        *notes,
        *(
            [
                Note(
                    "",
                    "columns",
                    f"Columns that hold lists or other objects are left out: {join_names(dropped)}.",
                )
            ]
            if dropped
            else []
        ),
    ]
    table = pa.table(columns)
    return Source(
        str(path), table.schema, table_reader(table), labels=labels, notes=tuple(all_notes)
    )


def _frame(path: Path) -> _Vector:
    file = TextFile.from_path(path)
    with open_unpacked(path) as handle:
        reader = _Reader(handle, file.check)
        try:
            start = reader.take(2)
            if start != b"X\n":
                raise FileError(
                    f"'{path}' was saved by R as text or in the order of one machine. In R: saveRDS(table, 'table.rds') without ascii."
                )
            reader.start()
            value = reader.item()
        except (
            EOFError,
            struct.error,
            ValueError,
            OverflowError,
            AttributeError,
            TypeError,
            IndexError,
            RecursionError,
        ):
            raise damaged_file(path) from None
        except _UnreadableError as error:
            raise _no_frame(path, f"holds {error}") from None
    if (
        not isinstance(value, _Vector)
        or "data.frame" not in value.classes
        or not isinstance(value.values, list)
    ):
        what = (
            value.classes[0] if isinstance(value, _Vector) and value.classes else "vector or list"
        )
        raise _no_frame(path, f"holds a {what[:40]} and no data frame")
    return value


def _no_frame(path: Path, why: str) -> FileError:
    return FileError(
        f"'{path}' {why}. In R: saveRDS(as.data.frame(x), 'table.rds'), or write.csv(x, 'table.csv', row.names = FALSE)."
    )


def _array(vector: _Vector) -> pa.Array | None:
    """Return a column as Arrow values; None for lists and other objects that are no plain
    vectors.
    """
    values, classes = vector.values, vector.classes
    if isinstance(values, list):
        return (
            pa.array(values, pa.string())
            if all(value is None or isinstance(value, str) for value in values)
            else None
        )
    if "dim" in vector.attributes or values.dtype.kind not in "if":
        return None
    if values.dtype == np.int8:
        return pa.array(values == 1, mask=values == -1)
    if values.dtype == np.int32:
        absent = values == NA_INTEGER
        levels = vector.attributes.get("levels")
        if "factor" in classes and isinstance(levels, _Vector):
            codes = pa.array(np.where(absent, 0, values - 1).astype(np.int32), mask=absent)
            return pa.DictionaryArray.from_arrays(
                codes, pa.array(levels.values, pa.string()), ordered="ordered" in classes
            )
        numbers = values.astype(np.float64)
    else:
        numbers = values
        absent = np.isnan(values)  # NA and NaN alike
    if "Date" in classes:
        return _moments(np.floor(numbers), absent, pa.int32(), pa.date32())
    if "POSIXct" in classes:
        zone = vector.attributes.get("tzone")
        tz = "UTC" if isinstance(zone, _Vector) and zone.values[:1] == ["UTC"] else None
        return _moments(np.rint(numbers * 1000), absent, pa.int64(), pa.timestamp("ms", tz=tz))
    if "difftime" in classes or "integer64" in classes:
        if "integer64" in classes and values.dtype == np.float64:
            integers = values.view(np.int64)
            return pa.array(integers, mask=integers == np.iinfo(np.int64).min)
        return pa.array(numbers, mask=absent)
    return pa.array(values, mask=absent)


def _moments(numbers: Any, absent: Any, units: pa.DataType, kind: pa.DataType) -> pa.Array:
    safe = np.where(
        absent | ~np.isfinite(numbers) | (np.abs(numbers) >= 2.0 ** (units.bit_width - 1)),
        0,
        numbers,
    )
    return (
        pa.array(safe.astype(np.int64), mask=absent | (safe != np.where(absent, 0, numbers)))
        .cast(units)
        .cast(kind)
    )


FORMATS.register(
    Format(
        "rds",
        "R .rds",
        read_endings=(".rds",),
        magic=(
            b"X\n\0\0\0\2",
            b"X\n\0\0\0\3",
            b"A\n2\n",
            b"A\n3\n",
            b"B\n\2\0\0\0",
            b"B\n\3\0\0\0",
        ),
        open=_open,
        packed=True,
        files="a file of R (.rds)",
    )
)
