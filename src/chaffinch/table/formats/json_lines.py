"""JSON lines: one object a line, also packed."""

from __future__ import annotations

import contextlib
import datetime
import json
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ..._base.errors import FileError, InputError
from .format import FORMATS, Format, ReadOptions, Source, table_reader
from .packing import TextFile, packing_by_name

if TYPE_CHECKING:
    from ..table import Table


BLOCK_BYTES = 1 << 24

_START = re.compile(rb'(\xef\xbb\xbf)?\s*\{\s*("([^"\\]|\\.)*"\s*:|\})')


def _open(path: Path, options: ReadOptions) -> Source:
    table = _table(path)
    return Source(str(path), table.schema, table_reader(table))


def _table(path: Path) -> pa.Table:
    import pyarrow.json as pj

    file = TextFile.from_path(path)
    if file.packed is not None:
        with file.open() as handle:
            n_bytes = 0
            while piece := handle.read(BLOCK_BYTES):
                n_bytes += len(piece)
                file.check(n_bytes)
    try:
        with file.stream() as stream:
            return pj.read_json(stream, read_options=pj.ReadOptions(block_size=BLOCK_BYTES))
    except pa.ArrowInvalid as error:
        if mixed := re.search(r"Column\(/([^)]*)\) changed from (\w+) to (\w+)", str(error)):
            column, *kinds = mixed.groups()
            raise InputError(
                f"Column '{column}' of '{path}' is a {kinds[0]} in some lines and a {kinds[1]} in others. Write one kind of value in each column."
            ) from None
        raise FileError(
            f"Cannot read '{path}' as JSON lines: every line must be one object, as {{\"age\": 34}}. `jq -c '.[]' FILE > FILE.jsonl` makes lines of an array."
        ) from None


@contextlib.contextmanager
def _writer(path: Path, target: Path) -> Iterator[Callable[[Table], None]]:
    packing = packing_by_name(target)
    with pa.output_stream(str(path), compression=packing and packing.codec) as stream:

        def write(table: Table) -> None:
            for start in range(0, table.n_rows, 1 << 14):
                rows = table.data.slice(start, 1 << 14).to_pylist()
                lines = (json.dumps(row, ensure_ascii=False, default=_plain) + "\n" for row in rows)
                stream.write("".join(lines).encode())

        yield write


def _plain(value: Any) -> Any:
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    return float(value) if isinstance(value, Decimal) else str(value)


FORMATS.register(
    Format(
        "jsonl",
        "JSON lines",
        tuple(end + packed for end in (".jsonl", ".ndjson") for packed in ("", ".gz", ".zst")),
        recognise=lambda head, name: bool(_START.match(head)),
        open=_open,
        writer=_writer,
        packed=True,
        files="a file of JSON lines",
    )
)
