"""`chaffinch evolve`: a dataset from published numbers alone, with how close it comes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .._base.files import check_outputs
from .._base.text import count_noun
from .options import HtmlOut, JsonOut, Quiet, Threads, number, show_table

if TYPE_CHECKING:
    from ..outputs.evolve import EvolveResult


def evolve(
    spec: Annotated[
        Path,
        typer.Argument(
            help="Columns and what was published of them: TOML, or JSON with the same keys. Kinds: {kinds}.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="File to write; its ending says the format.")
    ],
    rows: Annotated[
        int | None, typer.Option(help="Records of the dataset; those that SPEC says unless given.")
    ] = None,
    engine: Annotated[
        str,
        typer.Option(
            help="incremental; maxent, which draws what the outputs imply first; or ea, the evolutionary algorithm as published."
        ),
    ] = "incremental",
    copies: Annotated[
        int, typer.Option(help="Datasets to write: OUT gets -1, -2 ... before its ending.")
    ] = 1,
    seconds: Annotated[
        float | None,
        typer.Option(
            help="About when to give up, for each copy: stands for a number of proposals, whatever the machine does; 60 unless given."
        ),
    ] = None,
    proposals: Annotated[
        int | None,
        typer.Option(
            help="When to give up, in proposals: instead of --seconds. The same on every machine."
        ),
    ] = None,
    tolerance: Annotated[
        float | None,
        typer.Option(
            help="How close numbers without a printed precision must come, in standard errors; 0.001 unless given."
        ),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(
            help="margins (the columns' weights in SPEC, or what outputs tell of them) or uniform; margins unless given, if any are known."
        ),
    ] = None,
    selection: Annotated[
        str | None,
        typer.Option(
            help="With ea: tournament, best, roulette or truncation; the paper does not say which."
        ),
    ] = None,
    tournament_size: Annotated[
        int | None,
        typer.Option(
            help="With --selection tournament: a parent is the best of so many; 2 unless given."
        ),
    ] = None,
    best: Annotated[
        int | None,
        typer.Option(
            help="With --selection best: parents are drawn from the best so many; 2 unless given."
        ),
    ] = None,
    fitness: Annotated[str | None, typer.Option(help="With ea: score, fisher or refit.")] = None,
    json: JsonOut = None,
    html: HtmlOut = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="The same seed gives the same datasets.")
    ] = None,
    quiet: Quiet = False,
    threads: Threads = None,
) -> None:
    """Evolve a dataset from published numbers: regressions, tables, summaries. SPEC is the only file that is opened.

    Exit code 1 if a copy does not have all of them after so many proposals; it is written all the same, and marked.
    """
    from .._base.results import RunFacts
    from .._base.runtime import progress_bar
    from ..outputs.evolve import check_copies
    from ..workflows.local import copy_paths
    from .options import run_facts, start_arrow, write_json

    check_copies(copies)
    paths = copy_paths(output, copies)
    check_outputs(spec, *paths, json, html)
    start_arrow(threads)
    from ..outputs.evolve import EvolveSettings
    from ..workflows.evolve import evolve_file, write_copies

    asked = {
        "selection": selection,
        "tournament_size": tournament_size,
        "best": best,
        "fitness": fitness,
    }
    options = {name: value for name, value in asked.items() if value is not None}
    settings = EvolveSettings(
        rows=rows,
        engine=engine,  # type: ignore[arg-type]
        copies=copies,
        start=start,  # type: ignore[arg-type]
        seconds=seconds,
        proposals=proposals,
        tolerance=tolerance,
        options=options,
    )
    with progress_bar(quiet=quiet) as progress:
        result = evolve_file(spec, settings, seed=seed, workers=threads, progress=progress)
    result = replace(result, run=RunFacts(**run_facts()))
    write_copies(result, paths)
    if json is not None:
        write_json(json, result.to_dict())
    if html is not None:
        from .._base.results import write_page
        from ..report.evolve import evolve_page

        write_page(html, evolve_page(result))
    if not quiet:
        _show(result, paths)
    if not result.reached:
        raise typer.Exit(1)


def _show(result: EvolveResult, paths: Sequence[Path]) -> None:
    from ..report.evolve import sentence

    head = ("output", "kind", "numbers", "as published", "off by at most", "computed again by")
    rows = []
    for same in zip(*(copy.outputs for copy in result.copies), strict=True):
        worst = max(same, key=lambda one: (one.outside, one.largest_error or 0.0))
        by = "nobody" if not worst.refitted else "statsmodels" if worst.regression else "counting"
        rows.append(
            (
                worst.name,
                worst.kind,
                f"{worst.numbers:,}",
                f"{worst.numbers - worst.outside:,}",
                (number(worst.largest_error) or "no fit") if worst.outside else "",
                by,
            )
        )
    screen = show_table(head, rows)
    screen.print(sentence(result), markup=False)
    most = result.proposals
    typer.echo(
        f"Each search had up to {most:,} proposals. --proposals {most} repeats this.", err=True
    )
    for path, copy in zip(paths, result.copies, strict=True):
        marked = "" if copy.reached else ", marked as not having all outputs"
        typer.echo(f"Wrote {path}: {count_noun(result.rows, 'record')}{marked}.", err=True)
