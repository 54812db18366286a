"""Looks at a file once: what each column is, small counts hidden, and a schema to edit. `python -m chaffinch.web.look FILE FOLDER [OPTION VALUE ...]`."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from .._base.errors import ChaffinchError
from .._base.runtime import Progress, progress_bar, silent
from ..counts import StreamCounter
from ..counts import describe as describe_counter
from ..table import FileOptions, Scan, Schema, scan, schema_text
from ..table.formats import Source
from ..table.personal.detect import PERSONAL, undecided_columns
from ..table.scan import profile_source
from ..table.sources import open_source
from .project import FOUND, write_json

FIRST_ROWS = 500
"""Rows that are looked at before all are read."""

LARGE = 8 << 20
"""Bytes of a file from which on that is done."""


def look(source: str, folder: Path, options: FileOptions, progress: Progress) -> None:
    """Write what a file holds, into `FOUND`: first of its first rows, so that there is something to look at, then of all; no value that fewer than ten records share.

    Of a small file only of all.
    """
    target, path = folder / FOUND, Path(source)
    target.parent.mkdir(mode=0o700, exist_ok=True)
    large = not path.is_file() or path.stat().st_size >= LARGE  # of a folder that is not known
    with (
        contextlib.suppress(ChaffinchError),
        warnings.catch_warnings(),
    ):  # what is wrong with it is said when all is read
        warnings.simplefilter("ignore")
        first = open_source(source, **options).first_rows(FIRST_ROWS if large else 0)
        if first.n_rows == FIRST_ROWS:
            write_json(
                target,
                _plain_profile(
                    source,
                    profile_source(_with_numbers(first), None).scan,
                    partial=True,
                    options=options,
                ),
            )
    scanned = scan(source, progress=progress, **options)
    write_json(
        target, _plain_profile(source, scanned, partial=False, options=options, progress=progress)
    )


def _with_numbers(first: Source) -> Source:
    """First rows of a text file with columns of plain numbers as such, and all others as words.

    How each column is spelled is found when all rows are read: of 500 columns that takes longer than all the rest of a first look.
    """
    if not first.text:
        return first
    rows = pa.Table.from_batches(list(first.batches()), schema=first.schema)
    for index, name in enumerate(rows.schema.names):
        texts = rows.column(index)
        for kind in (pa.int64(), pa.float64()):
            with contextlib.suppress(pa.ArrowInvalid):
                rows = rows.set_column(index, name, texts.cast(kind))
                break
    batches = rows.combine_chunks().to_batches()

    def read(columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        yield from (
            batches if columns is None else (batch.select(list(columns)) for batch in batches)
        )

    return replace(first, schema=rows.schema, read=read, text=False)


def _plain_profile(
    source: str, scanned: Scan, *, partial: bool, options: FileOptions, progress: Progress = silent
) -> dict[str, Any]:
    """What the page shows of a file: its columns, how it was read, and its schema as it was found."""
    described = describe_counter(
        StreamCounter(scanned, progress=progress),
        notes=tuple(str(note) for note in scanned.notes if note.what != PERSONAL),
    )
    return {
        **described.to_dict(),
        "source": source,
        "options": dict(options),
        "part": partial,
        "file": _reading_facts(scanned),
        "personal": {  # as far as nobody decided on them
            name: str(evidence) for name, evidence in undecided_columns(scanned.schema).items()
        },
        "schema": schema_text(sparse(scanned.schema), source=Path(source).name),
    }


def sparse(schema: Schema) -> Schema:
    """Return a schema with kinds, roles, types and rules, and without levels, bins and bounds, which are found anew when it is used."""
    return replace(
        schema,
        columns=tuple(
            replace(
                column,
                codec=None,
                levels=None,
                labels=(),
                edges=None,
                atoms=None,
                bounds=None,
                other=False,
            )
            for column in schema
        ),
    )


def _reading_facts(scanned: Scan) -> dict[str, Any]:
    """How the file was read, in words for a person."""
    layout = scanned.source.layout
    decimals = (
        {column.decimal for column in scanned.schema if column.kind == "float"}
        if scanned.source.text
        else set()
    )
    labels = {
        "format": layout.format,
        "table": layout.table,
        "encoding": layout.encoding,
        "delimiter": {"\t": "tab", " ": "space"}.get(layout.delimiter, layout.delimiter),
        "decimal sign": " and ".join(sorted(decimals)),
        "names of columns in line": str(layout.line)
        if layout.header and scanned.source.text
        else "",
    }
    return {name: word for name, word in labels.items() if word}


def main(arguments: Sequence[str]) -> int:
    """Look at a file as a program of its own; return its exit code."""
    source, folder, *rest = arguments
    options: Any = dict(zip(rest[::2], rest[1::2], strict=True))
    try:
        with progress_bar() as progress:
            look(source, Path(folder), options, progress)
    except ChaffinchError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
