"""`chaffinch synth`: a synthetic table from a table, in one go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .._base.files import check_outputs
from .._base.text import count_noun
from .arrow import start_arrow
from .options import (
    Cache,
    ClusterEngine,
    DryRun,
    JsonOut,
    LedgerIn,
    Place,
    Quiet,
    RowCount,
    Threads,
    expanded,
    ledger_allows,
    reading_of,
    show_promise,
    write_json,
)
from .settings import Choice, choose

if TYPE_CHECKING:
    from ..workflows.synthesise import ReadSettings


@expanded(choice=choose, reading=reading_of)
def synth(
    *,
    input: Place,
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
    rows: RowCount = None,
    copies: Annotated[
        int, typer.Option(help="Syntheses to write: OUT gets -1, -2 ... before its ending.")
    ] = 1,
    choice: Choice,
    model: Annotated[Path | None, typer.Option(help="Also write the fitted model here.")] = None,
    reading: ReadSettings,
    engine: ClusterEngine = "auto",
    cache: Cache = None,
    ledger: LedgerIn = None,
    dry_run: DryRun = False,
    seed: Annotated[
        int | None,
        typer.Option(
            help="Seed: the same seed gives the same table. With --epsilon: for tests only, no privacy."
        ),
    ] = None,
    json: JsonOut = None,
    quiet: Quiet = False,
    threads: Threads = None,
) -> None:
    """Make a synthetic table: learn a network of the columns, draw new rows from it, write them as the input came.

    Without --epsilon there is no formal privacy promise: find out what the table gives away before it leaves.
    """
    from .._base.runtime import progress_bar
    from ..workflows.run import RunOptions
    from ..workflows.synthesise import Synthesis, copy_paths
    from .estimates import Speaker, Work
    from .on_spark import check_here, synth_on_spark
    from .plan import show_plan

    choice.check_counts(rows, copies)
    choice.check_protected()
    source, target = Path(input), Path(output)
    if dry_run:
        show_plan(choice, source, reading, json)
        return
    if engine == "spark":
        settings = choice.synthesis(reading, target, ledger=ledger, rows=rows, copies=copies)
        synth_on_spark(
            settings, input, output, model=model, cache=cache, seed=seed, json=json, quiet=quiet
        )
        return
    check_here(engine, cache)
    outputs = copy_paths(target, copies)
    check_outputs(
        source,
        *outputs,
        model,
        json,
        updated=[ledger],
        paid=[*outputs, model] if choice.private else [],
    )
    settings = choice.synthesis(
        reading, target, ledger=ledger, rows=rows, copies=copies, engine=engine
    )
    speaker = Speaker(quiet, reading, Work(choice.settings, source, outputs, rows))
    start_arrow(threads)
    run = RunOptions(seed=seed, threads=threads, observer=speaker)
    with (
        progress_bar(quiet=quiet, plain=not choice.private) as progress,
        ledger_allows(),
        Synthesis(settings, replace(run, progress=progress)) as synthesis,
    ):
        fitted, table = synthesis.fit(synthesis.read(source))
        if model is not None:
            fitted.save(model)
        synthesis.draw(fitted, table, outputs)
    if json is not None:
        write_json(json, synthesis.account(fitted, table).to_dict())
    if not quiet:
        say_synthesis(outputs, model, rows=synthesis.rows, private=choice.private)
        show_promise(fitted)


def say_synthesis(outputs: Sequence[Path], model: Path | None, *, rows: int, private: bool) -> None:
    """Say where the files are. How many rows equal an original one says nothing without a holdout beside it: that is for `risk` and `release`."""
    for path in outputs:
        typer.echo(f"Wrote {path}: {count_noun(rows, 'row')}.", err=True)
    if model is not None:
        contents = (
            "it holds released tables" if private else "it holds counts of records, confidential"
        )
        typer.echo(f"Wrote {model}: {contents}.", err=True)
