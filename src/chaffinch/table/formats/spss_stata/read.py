"""Reading SPSS (.sav) and Stata (.dta) files, with labels and missing codes, through the extra `pyreadstat`.

Titles, value labels and missing codes become part of the schema. What only these programs know (display
format, measure, column width, ranges of missing codes) rides along as metadata of the Arrow fields, under
`spss.*` and `stata.*`, and is written again. The label of the file is not read: it is about the original, as its notes are.

SPSS declares numbers, words or a range as missing; a range becomes those of its codes that occur. Stata's .a to
.z are the words "a" to "z" beside numbers (`Tagged`). An empty text is missing: neither program tells the two
apart. Lost on the way out: Stata's byte, int and float become long and double, labels of fractions are left out
of Stata files, and words that mean missing in a column of numbers become system-missing in SPSS.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...._base.errors import FileError, InputError
from ...codec import Scalar
from ...grid import to_numbers
from ...types import is_words
from ..format import Labels, Source, Tagged
from ..options import ReadOptions
from .guard import check_sav
from .limits import LETTERS, PROGRAMS, Moment, Program, Range, moment_of, pyreadstat, within

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
    """Return an SPSS ("sav") or Stata ("dta") file as a source, with what it says of its columns as labels."""
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
                raise file.damaged()
            arrays = [variables[name].values(cells[name]) for name in names]
            n_read = len(arrays[0])
            if n_read:
                yield pa.RecordBatch.from_arrays(arrays, schema=chosen_schema)
            start += n_read
            if n_read < BATCH_ROWS:
                break
        if n_rows is not None and start < n_rows:
            raise file.damaged()

    codes = _missing_codes(path, read, variables)
    return Source(
        str(path),
        schema,
        read,
        labels={name: v.labels(codes[name]) for name, v in variables.items()},
    )


def read_labels(path: Path, form: Program) -> dict[str, tuple[pa.DataType, Labels]]:
    """Return the type of each variable of a file and what the file says of it, missing codes that are declared one by one among it.

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
        """Return cells by column, and what the file says of them. Errors quote nothing of the file."""
        package = pyreadstat("Reading")
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
            raise self.damaged() from None
        return cells, metadata

    def variables(self) -> tuple[Any, dict[str, _Variable]]:
        """Return what the file says of itself and of its variables; no record is read."""
        if self.form == "sav":
            check_sav(self.path)
        elif not self.ends():
            raise self.damaged()
        metadata = self.read(metadataonly=True)[1]
        if None in metadata.column_names:
            raise self.damaged()
        return metadata, {name: _variable(self, metadata, name) for name in metadata.column_names}

    def ends(self) -> bool:
        """Return whether a Stata file of version 13 or later has its end: the reader would drop lost labels in silence."""
        with open(self.path, "rb") as handle:
            start = handle.read(11)
            handle.seek(-min(64, handle.seek(0, 2)), 2)
            return start != b"<stata_dta>" or b"</stata_dta>" in handle.read()

    def damaged(self) -> FileError:
        return FileError(
            f"Cannot read '{self.path}': it is damaged, truncated or not of the format it claims."
        )


@dataclass(frozen=True)
class _Variable:
    """One variable of a file in Arrow's terms: codes of dates are days, those of times milliseconds."""

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
            words = pa.array(cells, type=pa.string())
            return pc.if_else(pc.equal(words, ""), pa.scalar(None, pa.string()), words)
        if not self.tagged:
            return self._numbers(cells)
        words = pa.array(
            [cell if isinstance(cell, str) else None for cell in cells], type=pa.string()
        )
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
            raise FileError(
                f"Cannot read '{self.file.path}': column '{self.name}' holds dates beyond any calendar."
            )
        return pa.array(whole.astype(np.int64), mask=absent).cast(units).cast(self.kind)


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
