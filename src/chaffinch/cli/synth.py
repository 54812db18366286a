"""`chaffinch synth`: a synthetic table from a table, in one go."""

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

__all__ = ["synth"]


@with_settings
def synth(
    *,
    input: Input,
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write; its ending says the format.")],
    rows: Annotated[int | None, typer.Option(help="Rows to draw; as many as the input has unless given.")] = None,
    copies: Annotated[int, typer.Option(help="Syntheses to write: OUT gets -1, -2 ... before its ending.")] = 1,
    choice: Choice,
    model: Annotated[Path | None, typer.Option(help="Also write the fitted model here.")] = None,
    schema: SchemaIn = None,
    encoding: Encoding = "utf-8",
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    rare: Rare = "pool",
    ledger: LedgerIn = None,
    dry_run: DryRun = False,
    seed: Annotated[
        int | None,
        typer.Option(help="Seed: the same seed gives the same table. With --epsilon: for tests only, no privacy."),
    ] = None,
    json: JsonOut = None,
    quiet: Quiet = False,
    threads: Threads = None,
) -> None:
    """Make a synthetic table: learn a network of the columns, draw new rows from it, write them as the input came.

    Without --epsilon there is no formal privacy promise: find out what the table gives away before it leaves.
    """
    from .._base.progress import progress_bar
    from ..workflows.running import RunOptions
    from ..workflows.synthesise import Synthesis, copy_paths
    from .estimates import Work
    from .promise import show_plan, show_promise
    from .synthesising import Speaker, check_counts, ledger_allows, reading_of, say_synthesis, synthesis_settings

    check_counts(rows, copies, choice)
    choice.check_protected()
    if dry_run:
        show_plan(choice, schema, json)
        return
    outputs = copy_paths(output, copies)
    check_outputs(input, *outputs, model, json, ledger)
    reading = reading_of(schema, encoding, delimiter, decimal, rare, private=choice.private)
    settings = synthesis_settings(choice, reading, output, ledger=ledger, rows=rows, copies=copies)
    speaker = Speaker(quiet, reading, Work(choice.settings, input, outputs, rows))
    start_arrow(threads)
    with progress_bar(quiet=quiet) as progress, ledger_allows():
        synthesis = Synthesis(settings, RunOptions(seed=seed, threads=threads, progress=progress, observer=speaker))
        fitted, table = synthesis.fit(synthesis.read(input))
        if model is not None:
            fitted.save(model)
        synthesis.draw(fitted, table, outputs)
    if json is not None:
        write_json(json, synthesis.account(fitted, table).to_dict())
    if not quiet:
        say_synthesis(outputs, model, rows=synthesis.rows, shares=synthesis.shares, private=choice.private)
        show_promise(fitted)
