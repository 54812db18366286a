"""`chaffinch audit`: run a private synthesiser on neighbouring tables, and set what that proves beside its claim."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .attack import Synth, TimeLimit, read_for
from .measuring import run_facts
from .options import Decimal, Delimiter, Encoding, HtmlOut, JsonOut, Quiet, SchemaIn, Threads, check_outputs, console

if TYPE_CHECKING:
    from ..risk.auditing import Audit

__all__ = ["audit"]


def audit(
    synth: Synth,
    epsilon: Annotated[float | None, typer.Option(help="The claimed epsilon; that of SPEC unless given.")] = None,
    delta: Annotated[float | None, typer.Option(help="The claimed delta; that of SPEC unless given.")] = None,
    neighbours: Annotated[
        str | None, typer.Option(help="add-remove or replace-one: what the claim is for; that of SPEC unless given.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="A table of your own, for the pair 'average'. Needs --schema if SPEC is private.")
    ] = None,
    schema: SchemaIn = None,
    runs: Annotated[int, typer.Option(help="Runs for each pair of tables: more show a larger epsilon.")] = 2000,
    pairs: Annotated[
        str | None,
        typer.Option(help="Some of narrow, repeated, empty, 'lone level', crowded, average, as A,B; all unless given."),
    ] = None,
    box: Annotated[
        str, typer.Option(help="white looks into the model, black at the released table; or both.")
    ] = "white,black",
    rows: Annotated[int | None, typer.Option(help="Rows drawn of each model; 500 or more unless given.")] = None,
    average_rows: Annotated[int, typer.Option(help="The most records of DATA in the pair 'average'.")] = 1000,
    level: Annotated[float, typer.Option(help="Confidence of all bounds together.")] = 0.99,
    time_limit: TimeLimit = None,
    json: JsonOut = None,
    html: HtmlOut = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="The same seed gives the same result, on any number of cores.")
    ] = None,
    encoding: Encoding = "utf-8",
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    quiet: Quiet = False,
    threads: Threads = None,
) -> None:  # fmt: skip
    """Audit a promise of privacy: attack runs on tables that differ in one record, and say which epsilon that proves.

    Exit code 1 if that is more than is claimed. `not refuted` is no proof that the claim holds.
    """
    from .._base.errors import InputError, unknown_name
    from .._base.html import write_page
    from .._base.progress import progress_bar
    from ..privacy.relation import NEIGHBOURS
    from ..synth.spec import synthesiser_of
    from .journey import names_of
    from .options import start_arrow, write_json

    settings = synthesiser_of(synth)
    if neighbours is not None and neighbours not in NEIGHBOURS:
        raise unknown_name("neighbour relation", neighbours, NEIGHBOURS)
    if data is None and schema is not None:
        raise InputError("--schema is for --data: name the table, or leave it out.")
    check_outputs(data or Path(), json, html)  # without data there is no input to write over
    start_arrow(threads)
    from ..risk.auditing import PAIRS, audit_claim

    wanted = names_of(pairs)
    for name in wanted:
        if name not in PAIRS:
            raise unknown_name("pair", name, PAIRS)
    with progress_bar(quiet=quiet) as progress:
        table = None
        if data is not None:
            table = read_for(
                settings, data, schema=schema, encoding=encoding, delimiter=delimiter, decimal=decimal, rare="pool", quiet=quiet, progress=progress
            )  # fmt: skip
        found = audit_claim(
            settings, epsilon=epsilon, delta=delta, neighbours=neighbours, pairs=wanted or None, table=table, runs=runs,  # type: ignore[arg-type]
            box=names_of(box), rows=rows, average_rows=average_rows, level=level, seed=seed, threads=threads, time_limit=time_limit,
            progress=progress,
        )  # fmt: skip
    about = {"synth": synth, "data": None if data is None else data.name, "seed": seed}
    told: dict[str, Any] = {
        "format": "chaffinch-audit",
        "version": 1,
        "about": about,
        **found.to_dict(),
        "run": run_facts(),
    }
    if json is not None:
        write_json(json, told)
    if html is not None:
        from ..report.audit import audit_page

        write_page(html, audit_page(told))
    if not quiet:
        _show(found)
    if found.verdict == "claim broken":
        raise typer.Exit(1)


def _show(found: Audit) -> None:
    from rich.table import Table

    head = ("pair", "box", "runs", "epsilon at least", "claimed", "could have shown", "verdict")
    table = Table(*head, box=None, pad_edge=False)
    for one in found.findings:
        table.add_row(
            one.pair, one.box, f"{one.runs:,}", f"{one.bound:.3g}", f"{one.epsilon:g}", f"{one.detectable:.3g}", str(one.verdict)
        )  # fmt: skip
    screen = console()
    screen.print(table, markup=False)
    for sentence in (*found.sentences[:2], *found.sentences[2 + len(found.findings) :]):
        screen.print(sentence, markup=False)
