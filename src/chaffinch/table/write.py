"""Writing tables: batch by batch, into a file that appears only when it is whole."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from .._base.errors import FileError
from .._base.safe_files import replacing
from .decimal_sign import has_decimals
from .encode import missing_words
from .table import Table
from .text import format_values

__all__ = ["FORMATS", "file_format", "table_writer", "write_table"]

FORMATS = {
    ".csv": "csv",
    ".csv.gz": "csv",
    ".tsv": "tsv",
    ".tsv.gz": "tsv",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".sav": "sav",
    ".dta": "dta",
}


def file_format(path: str | os.PathLike[str]) -> str:
    """Return the format that a path ends in; raise for an unknown one."""
    name = Path(path).name.lower()
    for ending in sorted(FORMATS, key=len, reverse=True):
        if name.endswith(ending):
            return FORMATS[ending]
    raise FileError(f"Cannot tell the format of '{path}'. End it in one of {', '.join(FORMATS)}.")


def write_table(table: Table, path: str | os.PathLike[str]) -> None:
    """Write a table to a file."""
    with table_writer(path) as write:
        write(table)


@contextlib.contextmanager
def table_writer(path: str | os.PathLike[str]) -> Iterator[Callable[[Table], None]]:
    """Give a function that appends a table to a file; the file takes its place when the block ends well."""
    form = file_format(path)
    with replacing(path) as part, contextlib.ExitStack() as stack:
        if form in ("sav", "dta"):
            from .stat_files import stat_writer

            yield stack.enter_context(stat_writer(part, form))
            return
        opener = _text_writer if form in ("csv", "tsv") else _arrow_writer
        yield stack.enter_context(opener(part, form, compressed=str(path).lower().endswith(".gz")))


@contextlib.contextmanager
def _arrow_writer(part: Path, form: str, *, compressed: bool) -> Iterator[Callable[[Table], None]]:
    opened: list[Any] = []

    def write(table: Table) -> None:
        data = table.data
        if not opened:
            if form == "parquet":
                import pyarrow.parquet as pq

                opened.append(pq.ParquetWriter(part, data.schema, compression="zstd"))
            else:
                opened.append(pa.ipc.new_file(str(part), data.schema))
        opened[0].write_table(data)

    try:
        yield write
    finally:
        for writer in opened:
            writer.close()


@contextlib.contextmanager
def _text_writer(part: Path, form: str, *, compressed: bool) -> Iterator[Callable[[Table], None]]:
    started: list[bool] = []
    with pa.output_stream(str(part), compression="gzip" if compressed else None) as stream:

        def write(table: Table) -> None:
            delimiter = "\t" if form == "tsv" else _delimiter(table)
            if not started:
                header = delimiter.join(_quote(pa.array(list(table.columns)), delimiter).to_pylist())
                stream.write(f"{header}\n".encode())
                started.append(True)
            for start in range(0, table.n_rows, 1 << 16):
                stream.write(_lines(table, start, 1 << 16, delimiter))

        yield write


def _delimiter(table: Table) -> str:
    """Return what divides the cells of a CSV file: as they came, else a comma, or a semicolon beside decimal commas."""
    if table.origin.delimiter not in (None, "\t"):
        return table.origin.delimiter
    return ";" if any(column.decimal == "," and has_decimals(column) for column in table.schema) else ","


def _lines(table: Table, start: int, length: int, delimiter: str) -> bytes:
    """Return rows as lines of text."""
    cells = []
    for column in table.schema:
        values = table.data.column(column.name).slice(start, length)
        if isinstance(values, pa.ChunkedArray):
            values = values.combine_chunks()
        words = _quote(format_values(values, column.format, column.decimal), delimiter)
        if column.modelled:
            spelled = missing_words(column, table.code(column.name)[start : start + length])
            if spelled is not None:
                words = pc.coalesce(_quote(spelled, delimiter), words)
        cells.append(pc.fill_null(words, ""))
    lines = pc.binary_join_element_wise(*cells, delimiter)
    return "".join(f"{line}\n" for line in lines.to_pylist()).encode()


def _quote(words: pa.Array, delimiter: str) -> pa.Array:
    """Put words in quotes where a delimiter, a quote or a line break needs it."""
    words = words.cast(pa.string())
    risky = pc.match_substring_regex(words, f'["\\n\\r{re.escape(delimiter)}]')
    if not pc.any(risky).as_py():
        return words
    doubled = pc.replace_substring(words, '"', '""')
    return pc.if_else(risky, pc.binary_join_element_wise('"', doubled, '"', ""), words)
