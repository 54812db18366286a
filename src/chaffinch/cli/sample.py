"""`chaffinch sample`: draw rows from a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .options import JsonOut, Quiet, Threads, check_outputs, start_arrow, write_json

__all__ = ["sample"]

ModelIn = Annotated[Path, typer.Argument(help="A model file, as `chaffinch fit` writes.", show_default=False)]


def sample(
    model: ModelIn,
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write; its ending says the format.")],
    rows: Annotated[
        int | None, typer.Option("--rows", "-n", help="Rows to draw; as many as the model saw unless given.")
    ] = None,
    given: Annotated[
        list[str] | None, typer.Option(help="COLUMN=VALUE that every row is to have; may be given again.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed: the same seed gives the same rows.")] = None,
    json: JsonOut = None,
    quiet: Quiet = False,
    threads: Threads = None,
) -> None:
    """Draw new rows from a model, any number, in bounded memory. --given conditions on values exactly."""
    from .._base.progress import progress_bar
    from ..table.write import file_format
    from ..workflows.running import RunOptions
    from ..workflows.sample import sample_to_file
    from .estimates import DrawingSpeaker

    file_format(output)
    check_outputs(model, output, json)
    start_arrow(threads)
    values = _given(given)
    with progress_bar(quiet=quiet) as progress:
        speaker = DrawingSpeaker(quiet, [output])
        run = RunOptions(seed=seed, threads=threads, progress=progress, observer=speaker)
        result = sample_to_file(model, output, rows=rows, given=values, run=run)
    if json is not None:
        write_json(json, result.to_dict())
    if not quiet:
        typer.echo(f"Wrote {output}: {result.rows:,} rows.", err=True)


def _given(words: list[str] | None) -> dict[str, Any]:
    from .._base.errors import InputError

    out: dict[str, Any] = {}
    for word in words or []:
        name, equals, value = word.partition("=")
        if not name or not equals:
            raise InputError(f"--given takes COLUMN=VALUE. Got '{name}'.")
        out[name] = value if value else None
    return out
