"""Text files whose cells a delimiter divides: CSV and TSV, also packed."""

from __future__ import annotations

import codecs
import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from ..._base.errors import FileError, InputError
from ..decimal_sign import has_decimals
from ..encode import missing_words
from ..text import format_values
from ..types import whole_array
from .encodings import not_in
from .format import FORMATS, Format, Labels, Source
from .layout import FileLayout
from .options import ReadOptions
from .packing import PACKINGS, packing_of
from .text_file import TextFile, Uncommented, recoded
from .text_top import BLOCK_BYTES, HEAD_BYTES, as_words, found_top, given_top
from .tolerant_text import every_row

if TYPE_CHECKING:
    from ..table import Table


def open_text(
    file: TextFile, options: ReadOptions, delimiter: str | None = None, form: str = "csv"
) -> Source:
    """Return a text file as a source of words: its encoding, delimiter, comments and header as given, or as found.

    With `tolerant` nothing is found but the delimiter, from the line with the names, which are public; without such a line nothing is.
    """
    import pyarrow.csv as pv

    top = (
        given_top(file, options, delimiter)
        if options.tolerant
        else found_top(file, options, delimiter)
    )
    names, delimiter, encoding = top.names.names, top.delimiter, top.encoding
    if len(names) < 2 and not options.tolerant:
        raise InputError(
            f"'{file.name}' has one column when read with the delimiter {delimiter!r}. A table needs two or more; if another "
            "delimiter divides it, pass it."
        )
    schema = pa.schema([(name, pa.string()) for name in names])
    header, comment = top.names.row is not None, top.comment or "#" * bool(top.comments)
    layout = FileLayout(
        form, "", encoding, delimiter, header, top.line, bool(top.names.units), comment, top.found
    )
    units = {
        name: Labels(title=unit.strip())
        for name, unit in zip(names, top.names.units, strict=False)
        if unit.strip()
    }
    if options.tolerant:
        if any(
            "\ufffd" in name for name in names
        ):  # names are public: only what comes after them is read whatever it is
            raise not_in(file.name, encoding)
        return Source(
            file.name,
            schema,
            every_row(file, top, schema, line_breaks=options.line_breaks),
            text=True,
            layout=layout,
            notes=top.names.notes,
            labels=units,
        )

    def read(
        columns: Sequence[str] | None, block_bytes: int = BLOCK_BYTES
    ) -> Iterator[pa.RecordBatch]:
        try:
            with _stream(file, options.comment, encoding) as stream:
                yield from pv.open_csv(
                    stream,
                    read_options=pv.ReadOptions(
                        block_size=block_bytes,
                        encoding="utf-8" if options.comment else encoding,
                        skip_rows=top.lines,
                        column_names=list(names),
                    ),
                    parse_options=pv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
                    convert_options=as_words(names, columns),
                )
        except pa.ArrowInvalid as error:
            if ragged := re.search(r"Expected (\d+) columns, got (\d+)", str(error)):
                expected, actual = ragged.groups()
                raise FileError(
                    f"'{file.name}' has a row of {actual} cells where its header has {expected}. Check quotes and delimiters "
                    f"(read with {delimiter!r}), a file cut short, or lines that are comments (--comment '#')."
                ) from None
            if "utf8" in str(error).lower():
                raise not_in(file.name, encoding) from None
            if "empty" in str(error).lower() or "Could not skip" in str(error):
                raise InputError(f"'{file.name}' has no rows.") from None
            raise FileError(
                f"Cannot read '{file.name}' as text with the delimiter {delimiter!r}: its rows do not hold together."
            ) from None

    return Source(
        file.name,
        schema,
        read,
        text=True,
        layout=layout,
        notes=top.notes,
        labels=units,
        head=lambda n_rows: read(names, HEAD_BYTES),
    )


def _stream(file: TextFile, comment: str | None, encoding: str) -> Any:
    """Return a file as Arrow reads it: as it is, or recoded to UTF-8 without lines that are comments."""
    if comment is None:
        return file.stream()
    return pa.PythonFile(Uncommented(recoded(file.open(), encoding), comment), mode="r")


def _shape(path: Path, options: ReadOptions, *, delimiter: str | None) -> tuple[int, int] | None:
    """Rows are the bytes of the file over those of a line among its first."""
    if packing_of(path) is not None:
        return None
    # Names in the first line are enough here: what is wrong with them is said when the file is read.
    columns = len(given_top(TextFile.of(path), options, options.delimiter or delimiter).names.names)
    with open(path, "rb") as handle:
        head = handle.read(1 << 20)
    lines = head.count(b"\n")
    return (
        (round(path.stat().st_size * lines / (head.rindex(b"\n") + 1)) - 1, columns)
        if lines
        else None
    )


def _open(path: Path, options: ReadOptions, *, delimiter: str | None) -> Source:
    return open_text(
        TextFile.of(path, by_name=options.undescribed),
        options,
        delimiter,
        "tsv" if delimiter == "\t" else "csv",
    )


@contextlib.contextmanager
def _writer(
    part: Path, target: Path, *, delimiter: str | None
) -> Iterator[Callable[[Table], None]]:
    encoders: list[Any] = []
    codec = next(
        (packing.codec for packing in PACKINGS if target.name.lower().endswith(packing.ending)),
        None,
    )
    with pa.output_stream(str(part), compression=codec) as stream:

        def write(table: Table) -> None:
            sign = delimiter or _delimiter(table)
            layout = table.origin.layout
            if not encoders:
                encoders.append(codecs.getincrementalencoder(layout.encoding or "utf-8")())
                if layout.header:
                    put(sign.join(_quote(pa.array(list(table.columns)), sign).to_pylist()) + "\n")
            for start in range(0, table.n_rows, 1 << 16):
                put(_rows(table, start, 1 << 16, sign))

        def put(text: str) -> None:
            try:
                stream.write(encoders[0].encode(text))
            except UnicodeEncodeError as error:
                raise FileError(
                    f"'{target}' cannot be written as {error.encoding}, as its original came: it has characters that this encoding lacks. "
                    "Write Parquet, or read the original from a file in UTF-8."
                ) from None

        yield write


def _delimiter(table: Table) -> str:
    """Return what divides the cells of a CSV file: as they came, else a comma, or a semicolon beside decimal commas."""
    if table.origin.layout.delimiter not in ("", "\t"):
        return table.origin.layout.delimiter
    return (
        ";"
        if any(column.decimal == "," and has_decimals(column) for column in table.schema)
        else ","
    )


def _rows(table: Table, start: int, length: int, delimiter: str) -> str:
    """Return rows as lines of text."""
    cells = []
    for column in table.schema:
        values = whole_array(table.data.column(column.name).slice(start, length))
        words = _quote(
            format_values(values, column.format, column.decimal, column.thousands), delimiter
        )
        if column.modelled:
            spelled = missing_words(column, table.code(column.name)[start : start + length])
            if spelled is not None:
                words = pc.coalesce(_quote(spelled, delimiter), words)
        cells.append(pc.fill_null(words, ""))
    lines = pc.binary_join_element_wise(*cells, delimiter)
    return "".join(f"{line}\n" for line in lines.to_pylist())


def _quote(words: pa.Array, delimiter: str) -> pa.Array:
    """Put words in quotes where a delimiter, a quote or a line break needs it."""
    words = words.cast(pa.string())
    risky = pc.match_substring_regex(words, f'["\\n\\r{re.escape(delimiter)}]')
    if not pc.any(risky).as_py():
        return words
    doubled = pc.replace_substring(words, '"', '""')
    return pc.if_else(risky, pc.binary_join_element_wise('"', doubled, '"', ""), words)


def _delimited(
    name: str, title: str, delimiter: str | None, read_endings: tuple[str, ...] = ()
) -> Format:
    return Format(
        name,
        title,
        (f".{name}", *(f".{name}{packing.ending}" for packing in PACKINGS if packing.codec)),
        open=partial(_open, delimiter=delimiter),
        writer=partial(_writer, delimiter=delimiter),
        shape=partial(_shape, delimiter=delimiter),
        private=True,
        packed=True,
        read_endings=read_endings,
    )


CSV = FORMATS.register(_delimited("csv", "CSV", None))
TSV = FORMATS.register(_delimited("tsv", "TSV (both also .gz, .zst, .bz2)", "\t", (".tab",)))
