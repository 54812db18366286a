"""From a table on a cluster to a model and new rows there: what `synth`, `fit`, `sample`, `describe` and `schema` do with `--engine spark`.

A source and an output are addresses (hdfs://, s3a:// ...) or paths. Everything that can be known to fail is checked before the first job.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .._base.errors import FileError, InputError, PersonalDataWarning
from .._base.seeds import seed_sequence
from ..counts.describe import Description
from ..counts.describe import describe as describe_counter
from ..spark.counter import SparkCounter
from ..spark.drawing import draw
from ..spark.files import check_folder, write
from ..spark.places import check_free, is_address, local_path, read_frame, write_frame
from ..spark.private import prepare
from ..spark.scanning import SparkScan, scan
from ..spark.session import started_session
from ..synth import BayesNet, Independent, Model, load_model
from ..synth.account import AccountNote, SynthesisAccount
from ..synth.data import enough_to_learn
from ..table.personal.detect import check_decided, check_declared_decided
from ..table.schema import Schema
from .running import RunOptions
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
