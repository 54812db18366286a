"""Commands with `--engine spark`: parse what is theirs, call the workflow, print."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from .._base.errors import InputError, unknown_name
from .._base.text import count_noun
from .options import ledger_allows, show_notes, show_promise, write_json

if TYPE_CHECKING:
    from .._base.runtime import Progress
    from ..risk import RiskResult, RiskSettings
    from ..spark.scanning import SparkScan
    from ..utility import UtilityResult, UtilitySettings
    from ..workflows.synthesise import ReadSettings, SynthesisSettings


def check_here(engine: str, cache: str | None = None) -> None:
    """Raise unless an engine works on this machine, and no option of Spark was given."""
    if cache is not None:
        raise InputError(
            "--cache is where Spark holds codes: give --engine spark too, or leave it out."
        )
    if engine not in ("auto", "memory", "stream"):
        raise unknown_name("engine", engine, ("auto", "memory", "stream", "spark"))


def synth_on_spark(
    settings: SynthesisSettings,
    source: str,
    output: str,
    *,
    model: Path | None,
    cache: str | None,
    seed: int | None,
    json: Path | None,
    quiet: bool,
) -> None:
    """Synthesise on Spark, and say where the rows are."""
    from .._base.files import check_outputs
    from ..workflows.on_spark import synthesise_on_spark
    from ..workflows.run import RunOptions

    check_outputs(None, model, json, paid=[model] if settings.private else [])
    with ledger_allows():
        result = synthesise_on_spark(
            source, output, settings, RunOptions(seed=seed), model=model, cache=cache
        )
    if json is not None:
        write_json(json, result.account.to_dict())
    if not quiet:
        for note in result.account.notes:
            typer.echo(f"Note: {f'{note.column}: ' if note.column else ''}{note.why}", err=True)
        for place in result.places:
            typer.echo(f"Wrote {place}: {count_noun(result.rows, 'row')}.", err=True)
        if model is not None:
            contents = (
                "it holds released tables"
                if settings.private
                else "it holds counts of records, confidential"
            )
            typer.echo(f"Wrote {model}: {contents}.", err=True)
        show_promise(result.model)


def fit_on_spark(
    settings: SynthesisSettings,
    source: str,
    output: Path,
    *,
    cache: str | None,
    seed: int | None,
    json: Path | None,
    quiet: bool,
) -> None:
    """Learn a model on Spark, and save it."""
    from .._base.files import check_outputs
    from ..workflows import on_spark as workflow
    from ..workflows.run import RunOptions
    from .synth import say_model

    check_outputs(None, output, json, paid=[output] if settings.private else [])
    with ledger_allows():
        result = workflow.fit_on_spark(source, settings, RunOptions(seed=seed), cache=cache)
    result.model.save(output)
    if json is not None:
        write_json(json, result.model.to_dict())
    if not quiet:
        say_model(output, result.model)


def sample_on_spark(
    model: Path,
    output: str,
    *,
    rows: int | None,
    given: Mapping[str, Any],
    seed: int | None,
    json: Path | None,
    quiet: bool,
) -> None:
    """Draw rows of a model on Spark."""
    from .._base.files import check_outputs
    from ..workflows import on_spark as workflow
    from ..workflows.synthesise import SampleResult

    if given:
        raise InputError("--given is for one machine: leave out --engine spark.")
    check_outputs(None, json)
    drawn = workflow.sample_on_spark(model, output, rows=rows, seed=seed)
    if json is not None:
        write_json(json, SampleResult(rows=drawn, seed=seed).to_dict())
    if not quiet:
        typer.echo(f"Wrote {output}: {count_noun(drawn, 'row')}.", err=True)


Places = tuple[str, str, str | None]
"""Where the original, the synthetic table and the holdout are."""


def utility_on_spark(
    places: Places,
    settings: UtilitySettings,
    reading: ReadSettings,
    *,
    cache: str | None,
    seed: int | None,
    threads: int | None,
    quiet: bool,
    progress: Progress,
) -> UtilityResult:
    """Measure what a synthetic table on Spark is worth, and say what its original's columns are like."""
    from ..workflows import on_spark as workflow
    from ..workflows.run import RunOptions

    result, notes = workflow.utility_on_spark(
        *places,
        settings,
        reading,
        RunOptions(seed=seed, threads=threads, progress=progress),
        cache=cache,
    )
    show_notes(notes, quiet=quiet)
    return result


def risk_on_spark(
    places: Places,
    settings: RiskSettings,
    reading: ReadSettings,
    *,
    cache: str | None,
    seed: int | None,
    threads: int | None,
    quiet: bool,
    progress: Progress,
) -> RiskResult:
    """Attack a synthetic table on Spark, and say what its original's columns are like."""
    from ..workflows import on_spark as workflow
    from ..workflows.run import RunOptions

    result, notes = workflow.risk_on_spark(
        *places,
        settings,
        reading,
        RunOptions(seed=seed, threads=threads, progress=progress),
        cache=cache,
    )
    show_notes(notes, quiet=quiet)
    return result


def schema_on_spark(source: str, reading: ReadSettings) -> SparkScan:
    """Return a scan of a table on Spark."""
    from ..spark.session import started_session
    from ..workflows.on_spark import scanned_on_spark

    with started_session() as session:
        return scanned_on_spark(session, source, reading)
