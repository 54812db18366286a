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

__all__ = ["check_counts", "synth"]


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
    from .estimates import Work
    from .journey import Journey, copy_paths
    from .promise import show_plan, show_promise, spend

    check_counts(rows, copies, choice)
    choice.check_protected()
    if dry_run:
        show_plan(choice, schema, json)
        return
    outputs = copy_paths(output, copies)
    check_outputs(input, *outputs, model, json, ledger)
    start_arrow(threads)
    with progress_bar(quiet=quiet) as progress:
        journey = Journey(quiet=quiet, threads=threads, seed=seed, progress=progress)
        work = Work(choice.settings, input, outputs, rows)
        table = journey.read(
            input, choice, schema=schema, encoding=encoding, delimiter=delimiter, decimal=decimal, rare=rare, work=work,
            before=lambda declared: spend(ledger, choice, declared, seed, output.name),
        )  # fmt: skip
        fitted, table = journey.fit(choice, table)
        if model is not None:
            fitted.save(model)
        journey.draw(fitted, table, outputs, rows=rows, keep=choice.keep)
    if json is not None:
        write_json(json, journey.account(fitted, table))
    if not quiet:
        journey.say(outputs, model)
        show_promise(fitted)


def check_counts(rows: int | None, copies: int, choice: Choice) -> None:
    """Raise unless rows and copies can be drawn."""
    from .._base.errors import InputError

    if rows is not None and rows < 0:
        raise InputError(f"rows must be at least 0. Got {rows}.")
    if copies < 1:
        raise InputError(f"copies must be at least 1. Got {copies}.")
    if choice.keep and rows is not None:
        raise InputError("--keep completes the rows of the input: --rows cannot be given with it.")
