"""`chaffinch audit`: run a private synthesiser on neighbouring tables, and set what that proves beside its claim."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .._base.errors import InputError, unknown_name
from .._base.files import check_outputs
from .arrow import start_arrow
from .options import (
    HtmlOut,
    JsonOut,
    Personal,
    Quiet,
    SchemaIn,
    Synth,
    Threads,
    TimeLimit,
    expanded,
    file_options,
    names_of,
    reading_of,
    run_facts,
    write_json,
)
from .screen import show_table

if TYPE_CHECKING:
    from ..risk.auditing import AuditResult
    from ..table import FileOptions


@expanded(file=file_options)
def audit(
    *,
    synth: Synth,
    epsilon: Annotated[
        float | None, typer.Option(help="The claimed epsilon; that of SPEC unless given.")
    ] = None,
    delta: Annotated[
        float | None, typer.Option(help="The claimed delta; that of SPEC unless given.")
    ] = None,
    neighbours: Annotated[
        str | None,
        typer.Option(
            help="add-remove or replace-one: what the claim is for; that of SPEC unless given."
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="A table of your own, for the pair 'average'. Needs --schema if SPEC is private."
        ),
    ] = None,
    schema: SchemaIn = None,
    runs: Annotated[
        int, typer.Option(help="Runs for each pair of tables: more show a larger epsilon.")
    ] = 2000,
    pairs: Annotated[
        str | None,
        typer.Option(help="Some of {pairs}, as A,B; all unless given."),
    ] = None,
    box: Annotated[
        str,
        typer.Option(
            help="mechanism looks at the noisy answers of a fit, white into the model, black at the released table; all unless given."
        ),
    ] = "mechanism,white,black",
    rows: Annotated[
        int | None, typer.Option(help="Rows drawn of each model; 500 or more unless given.")
    ] = None,
    average_rows: Annotated[
        int, typer.Option(help="The most records of DATA in the pair 'average'.")
    ] = 1000,
    level: Annotated[float, typer.Option(help="Confidence of all bounds together.")] = 0.999,
    time_limit: TimeLimit = None,
    json: JsonOut = None,
    html: HtmlOut = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", help="The same seed gives the same result, on any number of cores."),
    ] = None,
    file: FileOptions,
    personal: Personal = None,
    quiet: Quiet = False,
    threads: Threads = None,
) -> None:
    """Audit a promise of privacy: attack runs on tables that differ in one record, and say which epsilon that proves.

    Exit code 1 if that is more than is claimed. `not refuted` is no proof that the claim holds.
    """
    from .._base.results import write_page
    from .._base.runtime import progress_bar
    from ..privacy.relation import NEIGHBOURS
    from ..synth.spec import synthesiser_of
    from .reading import read_for

    settings = synthesiser_of(synth)
    if neighbours is not None and neighbours not in NEIGHBOURS:
        raise unknown_name("neighbour relation", neighbours, NEIGHBOURS)
    if data is None and schema is not None:
        raise InputError("--schema is for --data: name the table, or leave it out.")
    check_outputs(data or Path(), json, html)  # without data there is no input to write over
    start_arrow(threads)
    from ..risk.auditing import AuditSettings, measure_audit

    tried = AuditSettings(
        epsilon=epsilon,
        delta=delta,
        neighbours=neighbours,  # type: ignore[arg-type]
        pairs=names_of(pairs) or None,
        runs=runs,
        box=names_of(box),
        rows=rows,
        average_rows=average_rows,
        level=level,
    )
    with progress_bar(quiet=quiet) as progress:
        table = None
        if data is not None:
            reading = reading_of(schema=schema, personal=personal, **file)
            table = read_for(settings, data, reading, quiet=quiet, progress=progress)
        result = measure_audit(
            settings,
            table,
            tried,
            seed=seed,
            threads=threads,
            time_limit=time_limit,
            progress=progress,
        )
    about = {"synth": synth, "data": None if data is None else data.name, "seed": seed}
    result = replace(result, about=about, run=run_facts())
    if json is not None:
        write_json(json, result.to_dict())
    if html is not None:
        from ..report.attacks import audit_page

        write_page(html, audit_page(result))
    if not quiet:
        _show(result)
    if result.verdict == "claim broken":
        raise typer.Exit(1)


def _show(result: AuditResult) -> None:
    head = ("pair", "box", "runs", "at least", "claimed", "80 % power at", "verdict")
    rows = [
        (
            one.pair,
            one.box,
            f"{one.runs:,}",
            f"{one.measure} {one.bound:.3g}",
            f"{one.claim:.3g}",
            one.power,
            str(one.verdict),
        )
        for one in result.findings
    ]
    screen = show_table(head, rows)
    for sentence in (*result.sentences[:2], *result.sentences[2 + len(result.findings) :]):
        screen.print(sentence, markup=False)
