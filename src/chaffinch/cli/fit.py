"""`chaffinch fit`: learn a model and save it."""

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
    Threads,
    check_outputs,
    start_arrow,
    write_json,
)
from .settings import Choice, with_settings

__all__ = ["fit"]


@with_settings
def fit(
    *,
    input: Input,
    output: Annotated[Path, typer.Option("--output", "-o", help="Model file to write.")],
    choice: Choice,
    schema: SchemaIn = None,
    encoding: Encoding = "utf-8",
    delimiter: Delimiter = None,
    rare: Rare = "pool",
    seed: Annotated[int | None, typer.Option(help="Seed of searches that draw.")] = None,
    json: JsonOut = None,
    quiet: Quiet = False,
    threads: Threads = None,
) -> None:
    """Learn a network of the columns and save it as one file that opens without running code.

    The file holds counts of records: treat it as confidential.
    """
    from .._base.progress import progress_bar
    from .journey import Journey

    check_outputs(input, output, json)
    start_arrow(threads)
    with progress_bar(quiet=quiet) as progress:
        journey = Journey(quiet=quiet, threads=threads, seed=seed, progress=progress)
        table = journey.read(input, schema=schema, encoding=encoding, delimiter=delimiter, rare=rare)
        model = journey.fit(choice.settings, table)
    model.save(output)
    if json is not None:
        write_json(json, model.to_dict())
    if not quiet:
        typer.echo(f"Wrote {output}: {model}. It holds counts of records, confidential.", err=True)
