"""`chaffinch evolve`: a dataset from published numbers alone, with how close it comes."""

from __future__ import annotations

import json as plain_json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import HtmlOut, JsonOut, Quiet, Threads, check_outputs, console, number

if TYPE_CHECKING:
    from ..outputs.evolve import Evolved, EvolvedCopy
    from ..outputs.refit import Compared, Number
    from ..outputs.solve.state import OutputError

__all__ = ["evolve"]

FEW = 20
"""How many numbers of a table or summary a result shows: those that are farthest from what was published."""


def evolve(
    spec: Annotated[
        Path, typer.Argument(help="Columns and what was published of them: TOML, or JSON with the same keys.", show_default=False)
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write; its ending says the format.")],
    rows: Annotated[int | None, typer.Option(help="Records of the dataset; those that SPEC says unless given.")] = None,
    engine: Annotated[
        str, typer.Option(help="incremental; maxent, which draws what the outputs imply first; or ea, P1's algorithm.")
    ] = "incremental",
    copies: Annotated[int, typer.Option(help="Datasets to write: OUT gets -1, -2 ... before its ending.")] = 1,
    seconds: Annotated[
        float | None,
        typer.Option(help="About when to give up, for each copy: stands for a number of proposals, whatever the machine does; 60 unless given."),
    ] = None,
    proposals: Annotated[
        int | None, typer.Option(help="When to give up, in proposals: instead of --seconds. The same on every machine.")
    ] = None,
    tolerance: Annotated[
        float | None,
        typer.Option(help="How close numbers without a printed precision must come, in standard errors; 0.001 unless given."),
    ] = None,
    start: Annotated[
        str, typer.Option(help="uniform over levels, or margins: the columns' weights in SPEC.")
    ] = "uniform",
    spread: Annotated[
        int, typer.Option(help="Rounds of moves that change records and no output, once the outputs are reached.")
    ] = 0,
    selection: Annotated[
        str | None, typer.Option(help="With ea: tournament, roulette or truncation; P1 does not say which.")
    ] = None,
    fitness: Annotated[str | None, typer.Option(help="With ea: score, fisher or refit.")] = None,
    json: JsonOut = None,
    html: HtmlOut = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="The same seed gives the same datasets.")
    ] = None,
    quiet: Quiet = False,
    threads: Threads = None,
) -> None:  # fmt: skip
    """Evolve a dataset from published numbers: regressions, tables, summaries. SPEC is the only file that is opened.

    Exit code 1 if a copy does not have all of them after so many proposals; it is written all the same, and marked.
    """
    from .._base.errors import InputError
    from .._base.progress import progress_bar
    from ..outputs.limits import check_copies
    from ..table.write import write_table
    from .journey import copy_paths
    from .options import start_arrow, write_json

    check_copies(copies)
    options = {name: value for name, value in (("selection", selection), ("fitness", fitness)) if value is not None}
    if options and engine != "ea":
        raise InputError(f"--{next(iter(options))} is for --engine ea.")
    paths = copy_paths(output, copies)
    check_outputs(spec, *paths, json, html)
    start_arrow(threads)
    from ..outputs.document import read_spec
    from ..outputs.evolve import evolve as evolve_copies

    published = read_spec(spec)
    with progress_bar(quiet=quiet) as progress:
        made = evolve_copies(
            published, rows=rows, engine=engine, copies=copies, start=start, seconds=seconds,  # type: ignore[arg-type]
            proposals=proposals, tolerance=tolerance, seed=seed, workers=threads, spread=spread, options=options, progress=progress,
        )  # fmt: skip
    about = {"spec": spec.name, "seed": seed, **options}
    told = account(made, about)
    for i, (path, copy) in enumerate(zip(paths, made.copies, strict=True)):
        write_table(_marked(copy, told["copies"][i], i + 1, engine), path)
    if json is not None:
        write_json(json, told)
    if html is not None:
        from .._base.html import write_page
        from ..report.evolve import evolve_page

        write_page(html, evolve_page(told))
    if not quiet:
        _show(told, paths)
    if not made.reached:
        raise typer.Exit(1)


def account(made: Evolved, about: dict[str, Any]) -> dict[str, Any]:
    """Return how datasets were evolved as plain data: what was asked, how each copy went, and under `run` what may differ between equal runs."""
    from .measuring import run_facts

    return {
        "format": "chaffinch-evolved",
        "version": 1,
        "about": {
            **about,
            **{name: getattr(made, name) for name in ("engine", "start", "rows", "tolerance", "spread")},
            "proposals_at_most": made.proposals,
            "refitted_by": _refitted_by()
            if all(one.refitted for copy in made.copies for one in copy.outputs)
            else None,
        },
        "reached": made.reached,
        "copies": [_copy(copy, made.rows, made.tolerance) for copy in made.copies],
        "run": {
            "seconds": {"all": made.elapsed, "copies": [copy.seconds for copy in made.copies]},
            "seconds_of_trace": [[point.seconds for point in copy.trace] for copy in made.copies],
            **run_facts(),
        },
    }


def _refitted_by() -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"statsmodels {version('statsmodels')}"
    except PackageNotFoundError:
        return None


def _copy(copy: EvolvedCopy, rows: int, tolerance: float) -> dict[str, Any]:
    source = {error.name: copy.spec.source(error.name, rows).name for error in copy.errors}
    engine = _by_output(copy.errors, source)
    outputs = [_output(one, engine[one.name], tolerance) for one in copy.outputs]
    return {
        "reached": copy.reached,
        "missed": list(copy.missed),
        "proposals": copy.proposals,
        "moved": copy.moved,
        "outputs": outputs,
        "trace": [
            {
                "proposals": point.proposals,
                "objective": _finite(point.objective),
                "outside": sum(error.outside for error in point.errors),
                "mean_error": {name: _mean(name, some) for name, some in _by_output(point.errors, source).items()},
            }
            for point in copy.trace
        ],
    }


def _by_output(errors: Sequence[OutputError], source: Mapping[str, str]) -> dict[str, list[OutputError]]:
    """The errors of equation sets by the outputs that they came from."""
    out: dict[str, list[OutputError]] = {}
    for error in errors:
        out.setdefault(source[error.name], []).append(error)
    return out


def _mean(name: str, errors: Sequence[OutputError]) -> float | None:
    """An output's mean error on the way; of a regression that of its coefficients, since its other numbers have other units."""
    some = [error for error in errors if error.name == name] or errors
    return _finite(sum(error.mean * error.size for error in some) / max(sum(error.size for error in some), 1))


def _output(one: Compared, errors: Sequence[OutputError], tolerance: float) -> dict[str, Any]:
    """One output: what was published beside what the records give; as the engine counts it where it could not be refitted."""
    from ..outputs.kinds import KINDS

    size, outside = one.size, one.outside
    if not one.refitted:
        size, outside = sum(error.size for error in errors), sum(error.outside for error in errors)
    regression = KINDS[one.kind].regression
    some = one.numbers if regression else sorted(one.numbers, key=lambda each: -each.error)[:FEW]
    return {
        "name": one.name,
        "kind": one.kind,
        "regression": regression,
        "numbers": size,
        "outside": outside,
        "refitted": one.refitted,
        "largest_error": _finite(one.worst),
        "largest_error_in_precision": _finite(one.worst_in_precision),
        "mean_error": _finite(one.mean),
        "shown": [_number(each, tolerance) for each in some],
    }


def _number(each: Number, tolerance: float) -> dict[str, Any]:
    return {
        "name": each.name,
        "published": round(0.5 * (each.lo + each.hi), 12) if each.unit or each.lo == each.hi else None,
        "low": _finite(each.lo),
        "high": _finite(each.hi),
        "synthetic": _finite(each.value),
        "within": each.within(tolerance),
    }


def _finite(value: float) -> float | None:
    return float(value) if abs(value) < float("inf") else None


def _marked(copy: EvolvedCopy, told: dict[str, Any], place: int, engine: str) -> Any:
    """The table with a note in its file, for formats that hold notes (Parquet, Arrow): that it was evolved, and what it lacks."""
    from dataclasses import replace

    note = {
        "format": "chaffinch-evolved",
        "version": 1,
        "copy": place,
        "engine": engine,
        "reached": copy.reached,
        "missed": told["missed"],
    }
    data = copy.table.data.replace_schema_metadata({"chaffinch": plain_json.dumps(note)})
    return replace(copy.table, data=data)


def _show(told: dict[str, Any], paths: Sequence[Path]) -> None:
    from rich.table import Table
    from rich.text import Text

    from ..report.evolve import sentence

    head = ("output", "kind", "numbers", "as published", "off by at most", "computed again by")
    table = Table(*head, box=None, pad_edge=False)
    for same in zip(*(copy["outputs"] for copy in told["copies"]), strict=True):
        worst = max(same, key=lambda one: (one["outside"], one["largest_error"] or 0.0))
        by = "nobody" if not worst["refitted"] else "statsmodels" if worst["regression"] else "counting"
        table.add_row(
            Text(worst["name"]), worst["kind"], f"{worst['numbers']:,}", f"{worst['numbers'] - worst['outside']:,}",
            (number(worst["largest_error"]) or "no fit") if worst["outside"] else "", by,
        )  # fmt: skip
    screen = console()
    screen.print(table, markup=False)
    screen.print(sentence(told), markup=False)
    most = told["about"]["proposals_at_most"]
    typer.echo(f"Each search had up to {most:,} proposals. --proposals {most} repeats this.", err=True)
    for path, copy in zip(paths, told["copies"], strict=True):
        marked = "" if copy["reached"] else ", marked as not having all outputs"
        typer.echo(f"Wrote {path}: {told['about']['rows']:,} records{marked}.", err=True)
