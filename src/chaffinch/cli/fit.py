"""`chaffinch fit`: learn a model and save it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._base.files import check_outputs
from .arrow import start_arrow
from .options import (
    Cache,
    ClusterEngine,
    DryRun,
    JsonOut,
    LedgerIn,
    Place,
    Quiet,
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
def fit(
    *,
    input: Place,
    output: Annotated[Path, typer.Option("--output", "-o", help="Model file to write.")],
    choice: Choice,
    reading: ReadSettings,
    engine: ClusterEngine = "auto",
    cache: Cache = None,
    ledger: LedgerIn = None,
    dry_run: DryRun = False,
    seed: Annotated[
        int | None,
        typer.Option(
            help="Seed of searches that draw. With --epsilon: for tests only, no privacy."
        ),
    ] = None,
    json: JsonOut = None,
    quiet: Quiet = False,
    threads: Threads = None,
) -> None:
    """Learn a network of the columns and save it as one file that opens without running code.

    Without --epsilon the file holds counts of records: treat it as confidential.
    """
    from .._base.runtime import progress_bar
    from ..workflows.run import RunOptions
    from ..workflows.synthesise import Synthesis
    from .estimates import Speaker, Work
    from .on_spark import check_here, fit_on_spark
    from .plan import show_plan

    choice.check_protected()
    source = Path(input)
    if dry_run:
        show_plan(choice, source, reading, json)
        return
    if engine == "spark":
        settings = choice.synthesis(reading, output, ledger=ledger)
        fit_on_spark(settings, input, output, cache=cache, seed=seed, json=json, quiet=quiet)
        return
    check_here(engine, cache)
    check_outputs(source, output, json, updated=[ledger], paid=[output] if choice.private else [])
    settings = choice.synthesis(reading, output, ledger=ledger, engine=engine)
    speaker = Speaker(quiet, reading, Work(choice.settings, source))
    start_arrow(threads)
    run = RunOptions(seed=seed, threads=threads, observer=speaker)
    with (
        progress_bar(quiet=quiet, plain=not choice.private) as progress,
        ledger_allows(),
        Synthesis(settings, replace(run, progress=progress)) as synthesis,
    ):
        model, _ = synthesis.fit(synthesis.read(source))
    model.save(output)
    if json is not None:
        write_json(json, model.to_dict())
    if not quiet:
        say_model(output, model)


def say_model(output: Path, model: Any) -> None:
    """Say where a model is, and what it promises."""
    warning = " It holds counts of records, confidential." if model.confidential else ""
    typer.echo(f"Wrote {output}: {model}.{warning}", err=True)
    show_promise(model)
