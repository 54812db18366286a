"""`chaffinch sample`: draw rows from a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .._base.files import check_outputs
from .._base.text import count_noun
from .arrow import start_arrow
from .options import ClusterEngine, JsonOut, Quiet, Threads, row_count, write_json

ModelIn = Annotated[
    Path, typer.Argument(help="A model file, as `chaffinch fit` writes.", show_default=False)
]


def sample(
    model: ModelIn,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            parser=str,
            metavar="PATH",
            help="File to write; its ending says the format. With --engine spark: a folder of Parquet files, or an address.",
        ),
    ],
    rows: Annotated[
        int | None,
        typer.Option(
            "--rows",
            "-n",
            parser=row_count,
            metavar="INTEGER",
            help="Rows to draw, as 50000 or 1e9; as many as the model saw unless given.",
            show_default=False,
        ),
    ] = None,
    given: Annotated[
        list[str] | None,
        typer.Option(help="COLUMN=VALUE that every row is to have; may be given again."),
    ] = None,
    engine: ClusterEngine = "auto",
    seed: Annotated[
        int | None, typer.Option(help="Seed: the same seed gives the same rows.")
    ] = None,
    json: JsonOut = None,
    quiet: Quiet = False,
    threads: Threads = None,
) -> None:
    """Draw new rows from a model, any number, in bounded memory. --given conditions on values exactly."""
    from .._base.runtime import progress_bar
    from ..table.write import file_format
    from ..workflows.run import RunOptions
    from ..workflows.synthesise import sample_to_file
    from .estimates import DrawingSpeaker
    from .on_spark import check_here, sample_on_spark

    values = _given(given)
    if engine == "spark":
        sample_on_spark(model, output, rows=rows, given=values, seed=seed, json=json, quiet=quiet)
        return
    check_here(engine)
    target = Path(output)
    file_format(target)
    check_outputs(model, target, json)
    start_arrow(threads)
    with progress_bar(quiet=quiet) as progress:
        speaker = DrawingSpeaker(quiet, [target])
        run = RunOptions(seed=seed, threads=threads, progress=progress, observer=speaker)
        result = sample_to_file(model, target, rows=rows, given=values, run=run)
    if json is not None:
        write_json(json, result.to_dict())
    if not quiet:
        typer.echo(f"Wrote {output}: {count_noun(result.rows, 'row')}.", err=True)


def _given(words: list[str] | None) -> dict[str, Any]:
    from .._base.errors import InputError

    out: dict[str, Any] = {}
    for word in words or []:
        name, equals, value = word.partition("=")
        if not name or not equals:
            raise InputError(f"--given takes COLUMN=VALUE. Got '{name}'.")
        out[name] = value if value else None
    return out
