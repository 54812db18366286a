"""Files of SAS: tables (.sas7bdat), which are read, and transport files (.xpt), which are written
too, through the extra `pyreadstat`.

Formats that show a number as a date or time make it one. Special missing values (.A to .Z) come as
missing. Value labels lie in a catalog beside the file and are not read.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..._base.errors import FileError, InputError, MissingExtraError, join_names
from ..domain import missing_words
from ..types import is_words, value_type
from .format import FORMATS, Format, Labels, ReadOptions, Source, damaged_file
from .spss_stata.read import Moment, pyreadstat

if TYPE_CHECKING:
    from ..table import Table


SasForm = Literal["sas7bdat", "xpt"]

BATCH_ROWS = 1 << 16

_DATE = Moment(pa.date32(), 3_653, "DATE9")
"""Dates are days since 1 January 1960."""
_TIME = Moment(pa.timestamp("ms"), 315_619_200_000, "DATETIME20", up=1000)
"""Moments are seconds since 1 January 1960."""
_CLOCK = Moment(pa.time32("ms"), 0, "TIME8", up=1000)
_DATES = re.compile(
    r"(DATE|DAY|DDMMYY|MMDDYY|YYMMDD|YYMM|MMYY|MONYY|YYMON|YEAR|JULIAN|WEEKDATE|WORDDATE|E8601DA|B8601DA|NLDATE)[A-Z]?\d*"
)
_TIMES = re.compile(r"(DATETIME|DTDATE|E8601DT|B8601DT|DATEAMPM|NLDATM)[A-Z]*\d*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,31}")


def _moment(display: str) -> Moment | None:
    """Return how a display format counts time; None where it shows plain numbers.

    Examples
    --------
    >>> _moment("DATE9") == _DATE, _moment("DATETIME20") == _TIME, _moment("TIME8") == _CLOCK, _moment("BEST12")
    (True, True, True, None)
    """
    word = display.upper().partition(".")[0]
    if _TIMES.fullmatch(word):
        return _TIME
    if re.fullmatch(r"(TIME|HHMM|TOD|E8601TM)\d*", word):
        return _CLOCK
    return _DATE if _DATES.fullmatch(word) else None


def _read(path: Path, form: SasForm, **options: Any) -> tuple[dict[str, list[Any]], Any]:
    """Return cells by column, and the metadata of the file. Errors quote nothing of the file."""
    package = pyreadstat("Reading SAS files")
    read = package.read_sas7bdat if form == "sas7bdat" else package.read_xport
    try:
        cells, metadata = read(
            str(path.absolute()), disable_datetime_conversion=True, output_format="dict", **options
        )
    except MemoryError:
        raise
    except Exception:
        raise damaged_file(path) from None
    return cells, metadata


def _open(path: Path, options: ReadOptions, *, form: SasForm) -> Source:
    metadata = _read(path, form, metadataonly=True)[1]
    names = list(metadata.column_names)
    if None in names:
        raise damaged_file(path)
    is_text = {name: metadata.readstat_variable_types[name] == "string" for name in names}
    moments = {
        name: None if is_text[name] else _moment(metadata.original_variable_types[name] or "")
        for name in names
    }
    kinds = {
        name: pa.string()
        if is_text[name]
        else moment.kind
        if (moment := moments[name])
        else pa.float64()
        for name in names
    }
    schema = pa.schema([(name, kinds[name]) for name in names])

    def read(columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        chosen, start = names if columns is None else list(columns), 0
        while True:
            cells = _read(
                path,
                form,
                usecols=None if columns is None else chosen,
                row_offset=start,
                row_limit=BATCH_ROWS,
            )[0]
            if any(name not in cells for name in chosen):
                raise damaged_file(path)
            arrays = [
                _values(path, name, cells[name], kinds[name], moments[name]) for name in chosen
            ]
            if len(arrays[0]):
                yield pa.RecordBatch.from_arrays(
                    arrays, schema=pa.schema([schema.field(name) for name in chosen])
                )
            start += len(arrays[0])
            if len(arrays[0]) < BATCH_ROWS:
                break
        if metadata.number_rows is not None and start < metadata.number_rows:
            raise damaged_file(path)

    labels = {name: Labels(title=metadata.column_names_to_labels.get(name) or "") for name in names}
    return Source(str(path), schema, read, labels=labels)


def _values(
    path: Path, name: str, cells: list[Any], kind: pa.DataType, moment: Moment | None
) -> pa.Array:
    """Return cells as Arrow values, null where they are missing; an empty text is missing, as SAS
    has it.
    """
    if is_words(kind):
        text = pa.array(cells, pa.string())
        return pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)
    numbers = np.array(
        [np.nan if cell is None or isinstance(cell, str) else cell for cell in cells],
        dtype=np.float64,
    )
    absent = np.isnan(numbers)
    if moment is None:
        return pa.array(numbers, mask=absent)
    ticks = np.where(absent, 0, moment.incoming(numbers))
    units = pa.int64() if pa.types.is_timestamp(kind) else pa.int32()
    day = 86_400_000
    if (np.abs(ticks) >= 2.0 ** (units.bit_width - 1)).any() or (
        pa.types.is_time(kind) and ((ticks < 0) | (ticks >= day)).any()
    ):
        raise FileError(
            f"Cannot read '{path}': column '{name}' holds dates or times beyond any calendar or day."
        )
    return pa.array(ticks.astype(np.int64), mask=absent).cast(units).cast(kind)


@contextlib.contextmanager
def _writer(path: Path, target: Path) -> Iterator[Callable[[Table], None]]:
    """Give a function that gathers tables; they are written as one transport file, version 8, when
    the block ends well.
    """
    package = pyreadstat("Writing SAS files")
    try:
        import pandas
    except ImportError:
        raise MissingExtraError("Writing SAS files", "pyreadstat") from None
    tables: list[Table] = []

    def write(table: Table) -> None:
        refused = [name for name in table.columns if not _NAME.fullmatch(name)]
        folded = [name.upper() for name in table.columns]
        if refused or len(set(folded)) < len(folded):
            raise InputError(
                f"SAS cannot hold columns named so: {join_names(refused or list(table.columns))}. A name has up to 32 letters, digits and _, starts with "
                "no digit, and differs from others in more than case. Rename, or write CSV or Parquet."
            )
        tables.append(table)

    yield write
    if not tables:
        return
    columns = {column.name: _outgoing(tables, column.name) for column in tables[0].schema}
    formats = {name: moment.display for name, (_, moment) in columns.items() if moment is not None}
    titles = {column.name: column.title[:256] for column in tables[0].schema if column.title}
    frame = pandas.DataFrame({name: cells for name, (cells, _) in columns.items()})
    try:
        package.write_xport(
            frame,
            str(path.absolute()),
            column_labels=titles or None,
            variable_format=formats or None,
            file_format_version=8,
        )
    except (MemoryError, OSError):
        raise
    except Exception:
        raise FileError(f"Cannot write '{target}' as a SAS file. Write CSV or Parquet.") from None


def _outgoing(tables: Sequence[Table], name: str) -> tuple[Any, Moment | None]:
    """Return one column of all tables as SAS holds it: words, or numbers with NaN where they are
    missing.
    """
    first = tables[0]
    kind = value_type(first.data.schema.field(name).type)
    chunks = [table.data.column(name).cast(kind) for table in tables]
    values = pa.chunked_array(
        [chunk for each in chunks for chunk in each.chunks], type=kind
    ).combine_chunks()
    if is_words(kind):
        column = first.schema[name]
        if column.modelled:
            missing_text = missing_words(
                column, np.concatenate([table.code(name) for table in tables])
            )
            values = (
                values
                if missing_text is None
                else pc.coalesce(missing_text, values.cast(pa.string()))
            )
        return np.array(pc.fill_null(values.cast(pa.string()), "").to_pylist(), dtype=object), None
    moment = (
        _DATE
        if pa.types.is_date(kind)
        else _TIME
        if pa.types.is_timestamp(kind)
        else _CLOCK
        if pa.types.is_time(kind)
        else None
    )
    if moment is not None:
        if pa.types.is_timestamp(kind) and kind.tz:
            values = pc.local_timestamp(values)
        units = pa.int32() if moment.kind != pa.timestamp("ms") else pa.int64()
        values = values.cast(moment.kind, safe=False).cast(units)
    numbers = values.cast(pa.float64(), safe=False)
    cells = numbers.fill_null(float("nan")).to_numpy(zero_copy_only=False)
    return (moment.outgoing(cells) if moment is not None else np.array(cells)), moment


_TABLE = bytes(12) + bytes.fromhex("c2ea8160b31411cfbd92080009c7318c181f1011")

FORMATS.register(
    Format(
        "sas7bdat",
        "SAS .sas7bdat",
        read_endings=(".sas7bdat",),
        magic=(_TABLE,),
        open=partial(_open, form="sas7bdat"),
        extra="pyreadstat",
        files="a table of SAS",
        written_as=".xpt",
    )
)
FORMATS.register(
    Format(
        "xpt",
        "SAS .xpt",
        (".xpt",),
        (b"HEADER RECORD*******LIB",),
        open=partial(_open, form="xpt"),
        writer=_writer,
        extra="pyreadstat",
        files="a transport file of SAS",
    )
)
