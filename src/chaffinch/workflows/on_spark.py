"""What commands do with `--engine spark`: a table on a cluster becomes a model, new rows there, figures of them, or all of it as a release.

A source and an output are addresses (hdfs://, s3a:// ...) or paths. Everything that can be known to fail is checked before the first job. Rows are drawn
and written by workers, measured and attacked where they are. The results are those of files: figures that need counts alone are of all records, and the
others of a sample, which comes to the driver.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from .._base.errors import FileError, InputError, PersonalDataWarning, unknown_name
from .._base.seeds import seed_sequence
from ..counts.describe import Description
from ..counts.describe import describe as describe_counter
from ..report.result import report_of
from ..risk import RiskResult, RiskSettings, measure_risk
from ..risk.attribution.crossfit import LEAST_ROWS
from ..spark.counter import SparkCounter
from ..spark.drawing import draw
from ..spark.files import check_folder, write
from ..spark.places import check_free, is_address, local_path, read_frame, write_frame
from ..spark.private import prepare
from ..spark.sampling import MOST_SAMPLED
from ..spark.scanning import SparkScan, scan
from ..spark.session import started_session
from ..synth import BayesNet, Independent, Model, Settings, load_model
from ..synth.account import AccountNote, SynthesisAccount
from ..synth.data import enough_to_learn
from ..table import Note, Schema
from ..table.align import check_long_schema
from ..table.personal.detect import check_decided, check_declared_decided
from ..utility import UtilityResult, UtilitySettings, measure_utility
from .drawn import half_fitted, options_of
from .policy import RiskPolicy
from .release import ReleaseResult, ReleaseSettings, leaving_folder
from .run import RunOptions
from .synthesise import ReadSettings, SynthesisSettings, charge_ledger

NOT_COMPARED = (
    "Drawn rows were not looked up in the original: that takes rows, which stay on Spark."
)


@dataclass(frozen=True, eq=False)
class SparkSynthesis:
    """What was made on Spark: the model, the scan that it was made of, where each synthesis is, its rows, and what is said of it all."""

    model: Model
    original: SparkScan
    account: SynthesisAccount
    places: tuple[str, ...] = ()
    rows: int = 0


def check_on_spark(settings: SynthesisSettings) -> None:
    """Raise InputError where settings ask for what takes rows in one place, before anything is read."""
    private = settings.private
    asked = {
        "keep completes the rows of the original, which stay on Spark": settings.keep,
        "Rows in the order of a person (person_id, order_by) are learnt from rows in one place": not private
        and (settings.person or settings.order),
        "Records are not counted by weight on Spark": settings.weight,
        "Domains are not discovered on Spark: declare levels or bounds of every column, and leave out discover": settings.reading.discover,
    }
    for why, wanted in asked.items():
        if wanted:
            raise InputError(f"{why}. Use one machine: --engine auto.")
    if not private and not isinstance(settings.synthesiser, BayesNet | Independent):
        raise InputError(
            f"The method {settings.synthesiser.name} learns from rows in one place. Use --method bayesnet on Spark, or one machine: --engine auto."
        )


def copy_places(output: str, copies: int) -> list[str]:
    """Return where each of several syntheses goes: OUT itself for one, OUT-1, OUT-2 ... for more.

    Examples
    --------
    >>> copy_places("hdfs:///people", 2), copy_places("out.parquet", 2)
    (['hdfs:///people-1', 'hdfs:///people-2'], ['out-1.parquet', 'out-2.parquet'])
    """
    if copies == 1:
        return [output]
    base, dot, ending = output.rstrip("/").rpartition(".")
    stem, ending = (base, dot + ending) if dot and "/" not in ending else (output.rstrip("/"), "")
    return [f"{stem}-{i}{ending}" for i in range(1, copies + 1)]


@dataclass
class _Steps:
    """How long each step took."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextlib.contextmanager
    def timed(self, step: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds[step] = self.seconds.get(step, 0.0) + time.perf_counter() - start


def scanned_on_spark(session: Any, source: str, reading: ReadSettings) -> SparkScan:
    """Return a scan of a table by its address or path, under what is declared of it."""
    _check_reading(reading)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PersonalDataWarning)
        return scan(
            read_frame(session, source),
            reading.declared,
            rare=reading.rare,
            threshold=reading.threshold,
        )


def described_on_spark(
    source: str, reading: ReadSettings, *, cache: str | None = None
) -> tuple[SparkScan, Description]:
    """Return a scan of a table, and what it holds in counts that may be shown."""
    with started_session() as session:
        scanned = scanned_on_spark(session, source, reading)
        with _coded(session, scanned, cache) as counter:
            return scanned, describe_counter(
                counter, notes=tuple(str(note) for note in scanned.notes)
            )


def fit_on_spark(
    source: str,
    settings: SynthesisSettings,
    run: RunOptions,
    *,
    cache: str | None = None,
    session: Any = None,
) -> SparkSynthesis:
    """Return the model that a table on Spark gives: the one of a file of the same rows, with tables for conditionals."""
    return synthesise_on_spark(source, None, settings, run, cache=cache, session=session)


def synthesise_on_spark(
    source: str,
    output: str | None,
    settings: SynthesisSettings,
    run: RunOptions,
    *,
    model: str | os.PathLike[str] | None = None,
    cache: str | None = None,
    session: Any = None,
    check: Callable[[Schema], object] = lambda schema: None,
) -> SparkSynthesis:
    """Learn from a table on Spark and write new rows there: to an address by Spark's writer, to a path by workers, which must all see it.

    Parameters
    ----------
    source, output
        Addresses with a scheme, or paths. The output is a folder of Parquet files; one that holds rows of an earlier run is replaced, where
        that may be overwritten and no budget is spent, when all is done, and nothing else is ever. None: nothing is drawn.
    model
        A file to save the model to.
    cache
        Where codes are held meanwhile: see `SparkScan.coded`. A folder for temporary files unless given, where Spark runs on this machine alone.
    session
        The active one, or a new one, unless given.
    check
        Called with the schema before anything is learnt or paid for.
    """
    check_on_spark(settings)
    _check_reading(settings.reading)
    places = [] if output is None else copy_places(output, settings.copies)
    for place in places:
        _check_place(place, source, paid=settings.private)
    steps = _Steps()
    with contextlib.nullcontext(session) if session is not None else started_session() as spark:
        for place in places:
            if is_address(place):
                check_free(spark, place, paid=settings.private)
        with steps.timed("read"):
            scanned = _read(spark, source, settings, run, check)
        with _coded(spark, scanned, cache) as counter, steps.timed("fit"):
            fitted = settings.synthesiser.fit(counter, seed=_stream(run, 0), progress=run.progress)
        if model is not None:
            fitted.save(model)
        rows = fitted.n_rows if settings.rows is None else settings.rows
        for number, place in enumerate(places, 1):
            with steps.timed("sample and write"):
                _draw(spark, fitted, place, rows, _stream(run, number), paid=settings.private)
    return SparkSynthesis(
        fitted,
        scanned,
        _account(fitted, scanned, settings, run, rows, steps.seconds, drawn=bool(places)),
        tuple(places),
        rows,
    )


def sample_on_spark(
    model: str | os.PathLike[str], output: str, *, rows: int | None = None, seed: int | None = None
) -> int:
    """Draw rows from a model file on Spark, write them as `synthesise_on_spark` does, and return how many."""
    loaded: Any = load_model(model)
    _check_place(output, os.fspath(model))
    wanted = int(loaded.n_rows if rows is None else rows)
    with started_session() as session:
        _draw(session, loaded, output, wanted, seed)
    return wanted


def _read(
    session: Any,
    source: str,
    settings: SynthesisSettings,
    run: RunOptions,
    check: Callable[[Schema], object],
) -> SparkScan:
    if not settings.private:
        scanned = scanned_on_spark(session, source, settings.reading)
        check_decided(scanned.schema)
        check(scanned.schema)
        enough_to_learn(scanned.n_rows)
        return scanned

    def check_and_pay(schema: Schema) -> None:
        check_declared_decided(schema)
        check(schema)
        charge_ledger(settings, schema, run.seed)

    declared = settings.reading.declared
    if declared is None:
        raise InputError(
            "A private fit on Spark needs a declared schema: `chaffinch schema DATA --blank -o schema.toml` writes one to fill in."
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PersonalDataWarning)
        frame = read_frame(session, source)
        return prepare(
            frame,
            declared,
            person=settings.person,
            rows_per_person=settings.synthesiser.unit.rows_per_person,
            check=check_and_pay,
        )


@contextlib.contextmanager
def _coded(session: Any, scanned: SparkScan, cache: str | None) -> Iterator[SparkCounter]:
    """The codes of a scan, removed at the end: in a folder for temporary files where workers are of this machine."""
    with cache_place(session, cache) as place, scanned.coded(place) as counter:
        yield counter


@contextlib.contextmanager
def cache_place(session: Any, cache: str | None) -> Iterator[str | None]:
    """Give where codes are held: as asked for, or else in a folder for temporary files where workers are of this machine, and by Spark where not."""
    with contextlib.ExitStack() as stack:
        if cache is None and _here(session):
            cache = stack.enter_context(tempfile.TemporaryDirectory(prefix="chaffinch-"))
        yield cache


def _here(session: Any) -> bool:
    """Whether all workers are processes of this machine."""
    return hasattr(session, "_jsc") and str(session.sparkContext.master).startswith("local")


def _draw(
    session: Any, model: Any, place: str, rows: int, seed: Any, *, paid: bool = False
) -> None:
    if is_address(place):
        write_frame(session, draw(model, rows, seed=seed, session=session), place, rows, paid=paid)
    else:
        write(model, local_path(place), rows, seed=seed, session=session, paid=paid)


def _check_place(place: str, source: str, *, paid: bool = False) -> None:
    """Raise unless rows can be written to a place that this machine sees; addresses are looked at by Spark."""
    ending = Path(place).suffix.lower()
    if ending in (
        ".csv",
        ".tsv",
        ".txt",
        ".xlsx",
        ".sav",
        ".dta",
        ".arrow",
        ".feather",
        ".gz",
        ".json",
    ):
        raise InputError(
            f"Spark writes folders of Parquet files, and '{place}' ends in {ending}. Name a folder."
        )
    if is_address(place) or is_address(source):
        if place.rstrip("/") == source.rstrip("/"):
            raise FileError(f"Cannot write '{place}': it is the input. Name another folder.")
        return
    if local_path(place).resolve() == local_path(source).resolve():
        raise FileError(f"Cannot write '{place}': it is the input. Name another folder.")
    check_folder(local_path(place), paid=paid)


def _check_reading(reading: ReadSettings) -> None:
    if words := sorted(reading.file):
        raise InputError(
            f"Spark reads tables in its own way: leave out {', '.join(f'--{word}' for word in words)}, or make a Parquet table of the file first."
        )


def _stream(run: RunOptions, number: int) -> np.random.SeedSequence | None:
    """The random streams of a run on one machine: the fit's, and one for each synthesis."""
    return (
        None
        if run.seed is None
        else np.random.SeedSequence(seed_sequence(run.seed).entropy, spawn_key=(number,))
    )


def _account(
    model: Model,
    scanned: SparkScan,
    settings: SynthesisSettings,
    run: RunOptions,
    rows: int,
    seconds: Mapping[str, float],
    *,
    drawn: bool,
) -> SynthesisAccount:
    notes: Sequence[AccountNote] = [
        AccountNote(note.column, note.what, note.sentence) for note in scanned.notes
    ]
    if drawn and not settings.private:
        notes = [*notes, AccountNote("", "equal rows", NOT_COMPARED)]
    return SynthesisAccount(
        rows=rows,
        columns=tuple(column.name for column in model.schema if column.written),
        seed=run.seed,
        network=model.to_dict(),
        notes=tuple(notes),
        copies=settings.copies,
        settings=settings.to_plain(),
        run={}
        if settings.private
        else {
            "engine": "spark",
            "seconds": {step: round(value, 6) for step, value in seconds.items()},
        },
    )


def utility_on_spark(
    original: str,
    synthetic: str,
    holdout: str | None,
    settings: UtilitySettings,
    reading: ReadSettings,
    run: RunOptions,
    *,
    cache: str | None = None,
    session: Any = None,
) -> tuple[UtilityResult, tuple[Note, ...]]:
    """Return what a synthetic table is worth, tables being addresses or paths, and the notes of the original.

    `cache`: where codes of all tables are held meanwhile (`SparkScan.coded`). About `settings.sample_rows` records of the largest table come to the driver.
    """
    check_sample(settings.sample_rows)
    with _tables(original, synthetic, holdout, reading, cache=cache, session=session) as (
        scanned,
        other,
        fresh,
    ):
        return measure_utility(
            scanned,
            other,
            fresh,
            settings,
            seed=run.seed,
            threads=run.threads,
            progress=run.progress,
        ), scanned.notes


def risk_on_spark(
    original: str,
    synthetic: str,
    holdout: str | None,
    settings: RiskSettings,
    reading: ReadSettings,
    run: RunOptions,
    *,
    cache: str | None = None,
    session: Any = None,
) -> tuple[RiskResult, tuple[Note, ...]]:
    """Return what a synthetic table gives away, tables being addresses or paths, and the notes of the original.

    Combinations of keys and sensitive values come to the driver with how many records have each, and about `settings.sample_rows` records of the largest table.
    """
    check_sample(settings.sample_rows)
    with _tables(original, synthetic, holdout, reading, cache=cache, session=session) as (
        scanned,
        other,
        fresh,
    ):
        return measure_risk(
            scanned,
            other,
            fresh,
            settings,
            seed=run.seed,
            threads=run.threads,
            progress=run.progress,
        ), scanned.notes


def check_sample(rows: int) -> None:
    """Raise where a sample has more records than may come to the driver."""
    if rows > MOST_SAMPLED:
        raise InputError(
            f"--sample-rows is at most {MOST_SAMPLED:,} on Spark: that many records come to the driver. Got {rows:,}."
        )


@contextlib.contextmanager
def _tables(
    original: str,
    synthetic: str,
    holdout: str | None,
    reading: ReadSettings,
    *,
    cache: str | None = None,
    session: Any = None,
) -> Iterator[tuple[SparkScan, Any, Any]]:
    """Give a scan of the original, and the DataFrames of the others; a session that was started for it ends with the block."""
    with contextlib.nullcontext(session) if session is not None else started_session() as spark:
        other, fresh = (
            read_frame(spark, synthetic),
            None if holdout is None else read_frame(spark, holdout),
        )
        scanned = scanned_on_spark(spark, original, reading)
        check_long_schema(scanned.schema)
        with cache_place(spark, cache) as place:
            yield replace(scanned, cache=place), other, fresh


NO_SHARE = "People are set aside where files are read on one machine: pass --engine auto, or split the table on Spark and name the part with --holdout."
"""Why a share of people is not set aside on Spark: rows have no places there by which they could be chosen again."""

NAME = "synthetic.parquet"
"""The folder of the files that workers write."""


def release_on_spark(
    source: str,
    settings: ReleaseSettings,
    folder: Path,
    run: RunOptions,
    *,
    holdout: str | None = None,
    cache: str | None = None,
    session: Any = None,
) -> ReleaseResult:
    """Return a release of a table by its address or path. Workers write the rows into a folder that they all see; `write_beside` puts the rest there.

    `cache`: where codes are held meanwhile, as for `synthesise_on_spark`.
    """
    _check(settings)
    place = str(leaving_folder(folder) / NAME)
    with contextlib.nullcontext(session) if session is not None else started_session() as spark:
        fresh = None if holdout is None else read_frame(spark, holdout)

        def check(schema: Schema) -> None:
            settings.check(schema)
            check_long_schema(schema)
            columns = schema.names if fresh is None else list(fresh.columns)
            for name in schema.names:
                if name not in columns:
                    raise unknown_name(f"column of '{holdout}'", name, columns)

        run.progress("synthesising on Spark", -1)
        made = synthesise_on_spark(
            source, place, settings.synthesis, run, cache=cache, session=spark, check=check
        )
        synthetic = read_frame(spark, place)
        with cache_place(spark, cache) as held:
            original = replace(
                made.original, cache=held
            )  # the rows that were learnt from, or measuring stops
            named = {
                "original": Path(source).name,
                "holdout": None if holdout is None else Path(holdout).name,
            }
            utility = measure_utility(
                original, synthetic, fresh, settings.utility, **options_of(run)
            ).named(synthetic=NAME, **named)
            utility = replace(utility, run=replace(utility.run, **run.facts))
            risk = (
                None
                if settings.attack is None
                else _risk(original, synthetic, fresh, settings, run).named(
                    synthetic=(NAME,), **named
                )
            )
    title = settings.title or f"Synthetic {Path(source).name}"
    report = report_of(
        utility, title=title, synthesis=made.account, risk=risk, threshold=settings.threshold
    )
    return ReleaseResult(model=made.model, names=(NAME,), report=report)


def _risk(
    original: Any, synthetic: Any, holdout: Any, settings: ReleaseSettings, run: RunOptions
) -> RiskResult:
    assert settings.attack is not None
    result = measure_risk(original, synthetic, holdout, settings.attack, **options_of(run))
    if holdout is None and original.n_rows >= LEAST_ROWS:
        result = replace(
            result,
            cross_fit=half_fitted(
                original, _as_fitted(settings.synthesis.synthesiser), settings.attack, run
            ),
        )
    return RiskPolicy(settings.max_excess, require_shown=settings.require_shown).judged(
        result, run.facts
    )


def _as_fitted(synthesiser: Settings) -> Settings:
    """The settings of what leaves: on Spark networks have tables, and half of a sample in memory would be given trees."""
    if isinstance(synthesiser, BayesNet) and synthesiser.conditionals is None:
        return replace(synthesiser, conditionals="tables")
    return synthesiser


def _check(settings: ReleaseSettings) -> None:
    """Raise where settings ask for what is not done on Spark, before anything is read."""
    check_on_spark(settings.synthesis)
    check_sample(settings.utility.sample_rows)
    if settings.holdout_share is not None:
        raise InputError(NO_SHARE)
    if settings.synthesis.private:
        raise InputError(
            "A table that promises privacy is not measured on Spark: its original is read under declared domains alone. Make it with `chaffinch synth --epsilon ... "
            "--engine spark`, or release it on one machine: --engine auto."
        )
    if settings.synthesis.copies > 1:
        raise InputError(
            "A release on Spark has one synthesis: leave out --copies, or draw more of its model with `chaffinch sample --engine spark`."
        )
