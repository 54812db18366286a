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
    import time

    from .._base.progress import progress_bar
    from ..synth import load_model
    from ..table import table_writer
    from ..table.write import file_format
    from .estimates import say_drawing

    file_format(output)
    check_outputs(model, output, json)
    start_arrow(threads)
    fixed = _given(given)
    loaded = load_model(model)
    wanted = loaded.n_rows if rows is None else rows
    if not quiet:
        say_drawing(wanted, loaded.schema, [output])
    seconds = {"sample": 0.0, "write": 0.0}
    start = time.perf_counter()
    with progress_bar(quiet=quiet) as progress, table_writer(output) as write:
        for batch in loaded.batches(wanted, seed=seed, given=fixed, threads=threads, progress=progress):
            drawn = time.perf_counter()
            write(batch)
            seconds["write"] += time.perf_counter() - drawn
    seconds["sample"] = time.perf_counter() - start - seconds["write"]
    if json is not None:
        write_json(
            json,
            {
                "format": "chaffinch-sample",
                "version": 1,
                "rows": wanted,
                "seed": seed,
                "given": sorted(fixed),
                "run": {} if loaded.privacy else {"seconds": {step: round(s, 6) for step, s in seconds.items()}},
            },
        )
    if not quiet:
        typer.echo(f"Wrote {output}: {wanted:,} rows.", err=True)


def _given(words: list[str] | None) -> dict[str, Any]:
    from .._base.errors import InputError

    out: dict[str, Any] = {}
    for word in words or []:
        name, equals, value = word.partition("=")
        if not name or not equals:
            raise InputError(f"--given takes COLUMN=VALUE. Got '{name}'.")
        out[name] = value if value else None
    return out
