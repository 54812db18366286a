"""`chaffinch utility`: what a synthetic table is worth, measured against the original."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .measuring import Formula, Holdout, Measures, Models, Repeats, SvmRows, measured, show_verdict, utility_settings
from .options import (
    Decimal,
    Delimiter,
    Encoding,
    HtmlOut,
    Input,
    JsonOut,
    Quiet,
    Rare,
    SchemaIn,
    Threads,
    check_outputs,
)

__all__ = ["utility"]


def utility(
    original: Input,
    synthetic: Annotated[Path, typer.Argument(help="The synthetic table: same columns.", show_default=False)],
    holdout: Holdout = None,
    label: Annotated[
        str | None, typer.Option(help="Column that learners predict; the schema's label unless given.")
    ] = None,
    formula: Formula = None,
    repeats: Repeats = 10,
    measures: Measures = None,
    models: Models = None,
    svm_rows: SvmRows = 5000,
    schema: SchemaIn = None,
    encoding: Encoding = "utf-8",
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    rare: Rare = "pool",
    seed: Annotated[int | None, typer.Option(help="Seed of splits and subsamples: same seed, same figures.")] = None,
    json: JsonOut = None,
    html: HtmlOut = None,
    quiet: Quiet = False,
    threads: Threads = None,
) -> None:
    """Say what a synthetic table is worth: how near its columns, pairs and learners come to the original's.

    Each figure stands beside that of a table of independent columns, of a holdout if there is one, and of identical tables.
    It says nothing of what the table gives away.
    """
    from .._base.html import write_page
    from .._base.progress import progress_bar
    from .estimates import say_measuring
    from .journey import Journey
    from .options import start_arrow, write_json

    check_outputs(original, json, html)
    start_arrow(threads)
    with progress_bar(quiet=quiet) as progress:
        journey = Journey(quiet=quiet, threads=threads, seed=seed, progress=progress)
        table = journey.read(original, schema=schema, encoding=encoding, delimiter=delimiter, decimal=decimal, rare=rare)
        settings = utility_settings(
            label=label, formula=formula, repeats=repeats, measures=measures, models=models, svm_rows=svm_rows
        )
        if not quiet:
            say_measuring(table, settings)
        result = measured(
            table, synthetic, settings, names=(original.name, synthetic.name), holdout=holdout, seed=seed, threads=threads,
            progress=progress,
        )  # fmt: skip
    if json is not None:
        write_json(json, {**result.to_dict(), "verdict": [row.to_dict() for row in result.verdict]})
    if html is not None:
        from ..report.page import render, report_of

        write_page(html, render(report_of(result, title=f"What {synthetic.name} is worth")))
    if not quiet:
        show_verdict(result.verdict)
