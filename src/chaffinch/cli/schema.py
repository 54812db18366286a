"""`chaffinch schema`: what each column is taken for, as a file to read and edit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import (
    Decimal,
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
    decimal: Decimal = None,
    rare: Rare = "pool",
    blank: Annotated[
        bool, typer.Option("--blank", help="Write a schema to fill in: names and stored types only, no row is read.")
    ] = False,
    json: JsonOut = None,
    seed: SeedIn = None,
    quiet: Quiet = False,
    threads: Threads = None,
) -> None:
    """Write the schema of a table, inferred from all of its rows, as TOML with a reason for each column.

    The schema lists levels that occur in the data: treat it as confidential. Edit it, then pass it with --schema.
    With --blank it lists names and stored types only, for you to fill in: what a private fit needs.
    """
    from .._base.errors import InputError
    from .._base.progress import progress_bar
    from ..table import schema_text, write_schema
    from .reading import plain_delimiter, scan_input, show_notes

    check_outputs(input, output, json)
    start_arrow(threads)
    if blank:
        if schema is not None or json is not None:
            raise InputError("--blank writes names and types alone. It goes without --schema and --json.")
        _write_blank(
            input, output, encoding=encoding, delimiter=plain_delimiter(delimiter), decimal=decimal, quiet=quiet
        )
        return
    with progress_bar(quiet=quiet) as progress:
        found = scan_input(input, schema=schema, encoding=encoding, delimiter=delimiter, decimal=decimal, rare=rare, progress=progress)
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
    show_notes(found.notes, quiet=quiet)
    if not quiet and output is not None:
        typer.echo(
            f"Wrote {output}: {len(found.schema.columns)} columns. It lists levels of the data: confidential.", err=True
        )


def _write_blank(
    input: Path, output: Path | None, *, encoding: str, delimiter: str | None, decimal: str | None, quiet: bool
) -> None:
    """Write a schema to fill in. The header and the stored types are read; no row has a say in it."""
    from .._base.safe_files import write_text
    from ..table.schema_file import blank_text
    from ..table.sources import Tagged, open_source

    found = open_source(input, encoding=encoding, delimiter=delimiter, decimal=decimal, tolerant=True)
    types = {
        f.name: None if found.text else f.type.values if isinstance(f.type, Tagged) else f.type for f in found.schema
    }
    text = blank_text(types, source=input.name, decimal=found.decimal)
    if output is None:
        typer.echo(text, nl=False)
        return
    write_text(output, text)
    if not quiet:
        typer.echo(f"Wrote {output}: {len(types)} columns to fill in. No row was read.", err=True)
