"""Where rows are, and what differs by it: how a table is opened, learnt from, drawn and written. Workflows and commands ask an `Engine`, and are the same for all.

`local.LocalEngine` works on files and objects of this machine, in memory or batch by batch; `on_spark.SparkEngine` on tables that a cluster has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from .._base.checks import check_name
from .._base.errors import BudgetError, InputError, LedgerError
from ..privacy.mechanisms import noise_of
from ..privacy.project import open_project
from ..synth import BayesNet, Model, Panel, Settings
from ..table import Note, Schema, Table
from ..table.holdout import set_aside
from ..table.rows import Rows, as_rows
from ..table.sources import open_source

if TYPE_CHECKING:
    from ..table.settings import Reading
    from .run import RunOptions
    from .settings import ReleaseSettings, SynthesisSettings
    from .synthesise import Synthesis

Check = Callable[[Schema], object]
"""Is called with the schema of an original, and raises where options do not fit it."""


@dataclass(frozen=True, eq=False)
class ComparedTables:
    """A release as measures and attacks take it: the original, its syntheses and the holdout.

    `attacked`: whom attacks are about: the original, or one row of each of its people. `learnt`: what models of halves of the people are fitted to.
    """

    original: Rows
    attacked: Rows
    learnt: Rows
    syntheses: Sequence[Any]
    holdout: Any

    @property
    def person(self) -> str | None:
        """The column that says whose row it is, where some have several and rows are not in memory: with a promise, up to so many."""
        schema = self.original.schema
        several = schema.persons > 1 and not self.original.in_memory
        return schema.only("person") if several else None


class Original(Protocol):
    """The table that a synthesis is made of, where its rows are."""

    @property
    def engine(self) -> str:
        """What a report calls the engine."""

    @property
    def rows(self) -> Rows | None:
        """The rows, as measures take them; None while a private fit has yet to discover their domain."""

    @property
    def notes(self) -> Sequence[Note]:
        """What an account says of it."""

    def method(self, synthesiser: Settings) -> Settings:
        """Return the method that is fitted to it where one is asked for."""

    def fit(self, synthesiser: Settings, run: RunOptions, seed: Any) -> Model:
        """Return the fitted model."""

    def draw(self, synthesis: Synthesis, model: Model, *, hold: int) -> tuple[Table, ...]:
        """Draw the syntheses, write them to the outputs, and return the first `hold` of them."""

    def compared(
        self, tables: Sequence[Table], outputs: Sequence[Path], holdout: Any, seed: int | None
    ) -> ComparedTables:
        """Return the original, its syntheses, held or written, and the holdout; what was kept to learn and draw is removed."""


class Engine(Protocol):
    """What works on rows in one kind of place. What it cannot do it refuses before anything is read. `local`: whether that is this machine."""

    local: ClassVar[bool]

    @property
    def name(self) -> str:
        """What a command calls it."""

    def check_synthesis(self, settings: SynthesisSettings) -> None:
        """Raise where it cannot make a synthesis."""

    def check_release(self, settings: ReleaseSettings) -> None:
        """Raise where it cannot make a release."""

    def check_measuring(
        self,
        reading: Reading,
        sample_rows: int,
        *,
        releases: int = 1,
        holdout_share: float | None = None,
    ) -> None:
        """Raise where it cannot measure or attack; `releases`: tables and models that are attacked together."""

    def started(self) -> AbstractContextManager[Engine]:
        """Give the engine ready to open tables, until the block ends."""

    def outputs(
        self,
        source: str,
        output: str,
        copies: int = 1,
        *,
        model: Path | None = None,
        json: Path | None = None,
        ledger: Path | None = None,
        paid: bool = False,
    ) -> list[Any]:
        """Return where each of several syntheses goes; raise unless these and the other files can be written. `paid`: for a privacy budget."""

    def ending(self, source: Any) -> str:
        """Return the ending of a synthetic table's name."""

    def open(
        self,
        source: Any,
        reading: Reading,
        run: RunOptions,
        files: Sequence[Any] | None = None,
        *,
        models: int = 0,
    ) -> Rows:
        """Return a table; in bounded memory, unless `files`, all that are read for it, and `models` beside them say otherwise."""

    def other(self, data: Any, reading: Reading) -> Any:
        """Return a table that is compared with an original, opened; it has `columns`."""

    def original(
        self, synthesis: Synthesis, source: Any, check: Check, files: Sequence[Any]
    ) -> Original:
        """Return the original of a synthesis. `check` is called with its schema before it is used, and with a promise before a record is read."""

    def write(
        self,
        model: Any,
        output: Any,
        n_rows: int,
        run: RunOptions,
        *,
        seed: Any,
        given: Mapping[str, Any] | None = None,
        paid: bool = False,
    ) -> dict[str, float] | None:
        """Draw rows from a model, write them, and return how long the steps took, where that is known."""


def engine_of(name: str, cache: str | None = None) -> Engine:
    """Return an engine by its name; `cache`: where a cluster holds codes meanwhile."""
    check_name("engine", name, ENGINES)
    return ENGINES[name](name, cache)


@contextmanager
def compared_tables(
    engine: Engine,
    original: str,
    synthetic: Sequence[str],
    holdout: str | None,
    reading: Reading,
    run: RunOptions,
    *,
    holdout_share: float | None = None,
    sample_rows: int,
    models: int = 0,
) -> Iterator[tuple[Rows, list[Any], Any]]:
    """Give an original, synthetic tables and a holdout, as an engine opens them to be compared; what it cannot do is refused before anything is read."""
    engine.check_measuring(
        reading, sample_rows, releases=len(synthetic) + models, holdout_share=holdout_share
    )
    with engine.started() as started:
        others = [started.other(table, reading) for table in synthetic]
        aside = None if holdout is None else started.other(holdout, reading)
        source: Any = original
        if holdout_share is not None:  # before anything is inferred of those who are left
            source, aside = set_people_aside(original, reading, holdout_share, seed=run.seed)
        files = [original, *synthetic, *([] if holdout is None else [holdout])]
        yield started.open(source, reading, run, files, models=models), others, aside


def set_people_aside(
    data: Any, reading: Reading, share: float, *, seed: int | None, person: str | None = None
) -> tuple[Any, Any]:
    """Return what is left of the data, and the people who are set aside, all rows of a person together."""
    if (rows := as_rows(data)) is not None:
        return set_aside(rows, share, seed=seed, person=person)
    declared = reading.declared
    known = person or (None if declared is None else declared.only("person"))
    return set_aside(open_source(data, **reading.file), share, seed=seed, person=known)


def copy_places(output: str, copies: int) -> list[str]:
    """Return where each of several syntheses goes: OUT itself for one, OUT-1, OUT-2 ... for more.

    Examples
    --------
    >>> copy_places("hdfs:///people", 2), copy_places("out.parquet", 2)
    (['hdfs:///people-1', 'hdfs:///people-2'], ['out-1.parquet', 'out-2.parquet'])
    """
    if copies == 1:
        return [output]
    folder, slash, name = output.rstrip("/").rpartition("/")
    stem, dot, ending = name.partition(".")
    return [f"{folder}{slash}{stem}-{i}{dot}{ending}" for i in range(1, copies + 1)]


# What a promise costs, and what a method becomes.


def synthesiser_for(settings: Settings, schema: Schema) -> Settings:
    """Return the method for a table: that of sequences where the schema says whose rows they are and the method knows rows alone.

    A promise counts persons, and draws rows one by one.
    """
    if schema.only("person") is None or not isinstance(settings, BayesNet) or settings.private:
        return settings
    return Panel(settings)


def charge_ledger(settings: SynthesisSettings, schema: Schema, seed: int | None) -> None:
    """Enter a release in the project ledger before a record is read.

    What is entered is the plan that a preview shows, and its budget is that of the fit. A promise is checked so without a ledger too.

    Raises
    ------
    LedgerError
        If the ledger does not allow it.
    """
    if not settings.private:
        return
    plan = settings.synthesiser.plan(schema)
    noise_of(seed)
    if settings.ledger is None:
        return
    try:
        open_project(settings.ledger).spend(plan, settings.entry, test_only=seed is not None)
    except BudgetError as error:
        raise LedgerError(str(error)) from None


# Engines by name: what a command's --engine takes. They are imported where they are asked for.


def _local(name: str, cache: str | None) -> Engine:
    from .local import LocalEngine

    if cache is not None:
        raise InputError(
            "--cache is where Spark holds codes: give --engine spark too, or leave it out."
        )
    return LocalEngine(name)


def _spark(_name: str, cache: str | None) -> Engine:
    from .on_spark import SparkEngine

    return SparkEngine(cache)


ENGINES: dict[str, Callable[[str, str | None], Engine]] = {
    "auto": _local,
    "memory": _local,
    "stream": _local,
    "spark": _spark,
}
