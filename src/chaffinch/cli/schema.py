"""`chaffinch schema`: what each column is taken for, as a file to read and edit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import (
    Delimiter,
    Encoding,
    Input,
    JsonOut,
    Quiet,
    Rare,
    SchemaIn,
    SeedIn,
    Threads,
    check_outputs,
    start_arrow,
    write_json,
)

__all__ = ["schema"]


def schema(
    input: Input,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write (TOML); standard output unless given.")
    ] = None,
    schema: SchemaIn = None,
    encoding: Encoding = "utf-8",
    delimiter: Delimiter = None,
    rare: Rare = "pool",
    json: JsonOut = None,
    seed: SeedIn = None,
    quiet: Quiet = False,
    threads: Threads = None,
) -> None:
    """Write the schema of a table, inferred from all of its rows, as TOML with a reason for each column.

    The schema lists levels that occur in the data: treat it as confidential. Edit it, then pass it with --schema.
    """
    from .._base.progress import progress_bar
    from ..table import schema_text, write_schema
    from .reading import scan_input, show_notes

    check_outputs(input, output, json)
    start_arrow(threads)
    with progress_bar(quiet=quiet) as progress:
        found = scan_input(input, schema=schema, encoding=encoding, delimiter=delimiter, rare=rare, progress=progress)
    if output is None:
        typer.echo(schema_text(found.schema, source=input.name), nl=False)
    else:
        write_schema(found.schema, output, source=input.name)
    if json is not None:
        columns = [
            {"name": c.name, "kind": c.kind, "role": c.role, "type": c.type, "reason": c.reason} for c in found.schema
        ]
        notes = [str(note) for note in found.notes]
        write_json(
            json,
            {"format": "chaffinch-columns", "version": 1, "rows": found.n_rows, "columns": columns, "notes": notes},
        )
    if not quiet:
        show_notes(found.notes)
        if output is not None:
            typer.echo(
                f"Wrote {output}: {len(found.schema.columns)} columns. It lists levels of the data: confidential.",
                err=True,
            )
