"""`chaffinch fit`: learn a model and save it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import (
    Decimal,
    Delimiter,
    DryRun,
    Encoding,
    Input,
    JsonOut,
    LedgerIn,
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
    decimal: Decimal = None,
    rare: Rare = "pool",
    ledger: LedgerIn = None,
    dry_run: DryRun = False,
    seed: Annotated[
        int | None, typer.Option(help="Seed of searches that draw. With --epsilon: for tests only, no privacy.")
    ] = None,
    json: JsonOut = None,
    quiet: Quiet = False,
    threads: Threads = None,
) -> None:
    """Learn a network of the columns and save it as one file that opens without running code.

    Without --epsilon the file holds counts of records: treat it as confidential.
    """
    from .._base.progress import progress_bar
    from ..workflows.running import RunOptions
    from ..workflows.synthesise import Synthesis
    from .estimates import Work
    from .promise import show_plan, show_promise
    from .synthesising import Speaker, ledger_allows, reading_of, synthesis_settings

    choice.check_protected()
    if dry_run:
        show_plan(choice, schema, json)
        return
    check_outputs(input, output, json, ledger)
    reading = reading_of(schema, encoding, delimiter, decimal, rare, private=choice.private)
    settings = synthesis_settings(choice, reading, output, ledger=ledger)
    speaker = Speaker(quiet, reading, Work(choice.settings, input))
    start_arrow(threads)
    with progress_bar(quiet=quiet) as progress, ledger_allows():
        synthesis = Synthesis(settings, RunOptions(seed=seed, threads=threads, progress=progress, observer=speaker))
        model, _ = synthesis.fit(synthesis.read(input))
    model.save(output)
    if json is not None:
        write_json(json, model.to_dict())
    if not quiet:
        warning = " It holds counts of records, confidential." if model.confidential else ""
        typer.echo(f"Wrote {output}: {model}.{warning}", err=True)
        show_promise(model)
