"""From a table to a model to synthetic tables, timed and accounted for: `chaffinch.synthesise`, and what `synth`, `fit`, `sample` and `release` share.

The order is that of a promise of privacy. Whatever can be known to fail is checked first: that costs nothing. Then a project ledger is
charged, and only then is a record read. Tables larger than memory are read twice, as a cache of codes. Syntheses are written batch by batch, the same
bytes whether they are drawn or held.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from .._base.checks import check_at_least
from .._base.errors import BudgetError, InputError, LedgerError, PersonalDataWarning, unknown_name
from .._base.masking import THRESHOLD, masked_share
from .._base.runtime import Progress, give_memory_back, giving_back, watched
from .._base.seeds import seed_sequence
from ..counts.coded import CodedScan, coded_scan
from ..counts.counter import StreamCounter
from ..privacy.mechanisms import noise_of
from ..privacy.prepare import discovering_schema, left_out
from ..privacy.project import open_project
from ..privacy.scanning import PreparedScan, UndiscoveredScan, prepared_scan
from ..privacy.session import Undiscovered, open_unread
from ..synth import (
    SYNTHESISERS,
    BayesNet,
    Independent,
    MethodOptions,
    Model,
    Panel,
    Settings,
    load_model,
)
from ..synth.account import AccountNote, SynthesisAccount
from ..synth.data import enough_to_learn, table_counter
from ..synth.model import batch_rows
from ..table import FileOptions, Scan, Schema, Table, read, table_writer
from ..table.codes import Codes
from ..table.compare.classes import KeyedRows
from ..table.fit_schema import TableProfile
from ..table.grain import FEWEST
from ..table.long import joined
from ..table.personal.detect import check_decided, check_declared_decided, with_decisions
from ..table.persons import with_persons
from ..table.profile import Profile
from ..table.refit import on_codes_of
from ..table.schema_file import SchemaLike, as_schema
from ..table.sources import ENGINES, EngineChoice, choose_engine
from ..table.types import is_words, parse_type
from ..table.weights import weight_note, with_weight, without_weight
from ..table.write import file_format
from .run import RunOptions

STEPS = ("read", "fit", "sample", "compare", "write")
"""What a run spends its time on; `compare` is looking rows up in the original."""

COMPLETED_BATCHES = 4
"""Batches of the original that are in memory at a time while they are completed."""


def synthesise(
    data: Any,
    *,
    rows: int | None = None,
    method: str | Settings = "bayesnet",
    label: str | None = None,
    sensitive: Sequence[str] = (),
    schema: SchemaLike | None = None,
    keep: Sequence[str] = (),
    person: str | None = None,
    order: str | None = None,
    weight: str | None = None,
    ledger: str | os.PathLike[str] | None = None,
    threshold: int = THRESHOLD,
    seed: int | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Any:
    """Return a synthetic table of the kind that came in: a DataFrame for a DataFrame, a `Table` for a path or a `Table`.

    Names, order, types and index are the original's. Nothing is measured and nothing attacked: `chaffinch.release` does that too.

    Parameters
    ----------
    data
        A table, a path or a frame.
    rows
        As many as the original has unless given.
    method, label, sensitive, schema, keep, person, order, weight, ledger, threshold
        As in `chaffinch.release`.
    progress
        Called with what is being done and the share done. None: a bar where a notebook watches.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [1, 2, 3, 4] * 25, "ill": ["no", "yes", "no", "no"] * 25})
    >>> synthesise(frame, rows=2, seed=1)
       age ill
    0    4  no
    1    3  no
    """
    names = {"sensitive": names_of(sensitive, "sensitive"), "keep": names_of(keep, "keep")}
    settings = SynthesisSettings(
        synthesiser=method_of(method, label, names["sensitive"], names["keep"]),
        reading=ReadSettings(schema=schema, threshold=threshold),
        keep=names["keep"],
        person=person,
        order=order,
        weight=weight,
        rows=rows,
        ledger=ledger,
        entry="synthesise",
    )
    with watched(progress) as show:
        synthesis = Synthesis(settings, RunOptions(seed=seed, threads=threads, progress=show))
        model, table = synthesis.fit(synthesis.read(data))
        (drawn,) = synthesis.draw(model, table, hold=1)
    return drawn if isinstance(data, str | os.PathLike | Table) else drawn.to_native()


@dataclass(frozen=True, kw_only=True)
class ReadSettings:
    """How the original is read: see `chaffinch.read`; and, for a promise, whether what is not declared is discovered: `chaffinch.prepare`.

    `personal` says what becomes of columns that say who somebody is, over what the schema says: "drop", "fake" or "keep".
    """

    schema: SchemaLike | None = None
    file: FileOptions = field(default_factory=FileOptions)
    rare: Literal["pool", "keep"] = "pool"
    threshold: int = THRESHOLD
    discover: str | None = None
    personal: Mapping[str, str] = field(default_factory=dict)

    @property
    def declared(self) -> Schema | None:
        """What is declared of columns, with what was decided of those that say who somebody is."""
        return with_decisions(as_schema(self.schema), self.personal)

    @property
    def beside(self) -> FileOptions:
        """How a file is read that is compared with the original: as that is, but for the name of its table."""
        return {name: word for name, word in self.file.items() if name != "table"}  # type: ignore[return-value]

    def promised_schema(self, source: Any) -> Schema | None:
        """Return the schema for a private fit; with `discover` also what that adds to it, from the header of the source where there is none."""
        if self.discover is None:
            return self.declared
        return discovering_schema(
            source, self.declared if self.schema is not None else None, self.discover, **self.file
        )


@dataclass(frozen=True, kw_only=True)
class SynthesisSettings:
    """What is learnt and drawn, and what pays for it.

    Parameters
    ----------
    synthesiser
        The method and its settings; with an epsilon, the fit promises privacy.
    reading
        How the original is read; a promise needs a schema that declares the domain.
    keep
        Columns that stand in the synthesis as they are; the others are drawn given them.
    person, order
        The column that says whose row it is, where people have several, and the column that orders a person's rows; as the schema's roles
        say unless named. Without a promise sequences are then drawn: `Panel`. A promise counts persons, and draws rows one by one.
    weight
        The column that says how many people a record stands for, as the schema's role says unless named: records are counted by it.
    rows, copies
        Rows of each synthesis, as many as the original has unless given; and how many syntheses.
    ledger, entry
        A project ledger to charge, and under what name.
    engine
        "memory": all rows are held. "stream": the file is read twice, batch by batch, and counted from a cache of codes that is removed at the
        end; the model and the rows drawn are the same. "auto": the first where rows are few and fit.
    """

    synthesiser: Settings
    reading: ReadSettings = field(default_factory=ReadSettings)
    keep: tuple[str, ...] = ()
    person: str | None = None
    order: str | None = None
    weight: str | None = None
    rows: int | None = None
    copies: int = 1
    ledger: str | os.PathLike[str] | None = None
    entry: str = "release"
    engine: str = "memory"

    def __post_init__(self) -> None:
        if self.rows is not None and self.rows < 0:
            raise InputError(f"rows must be at least 0. Got {self.rows}.")
        check_at_least("copies", self.copies, 1)
        if self.keep and self.rows is not None:
            raise InputError(
                "keep completes the rows of the original: rows cannot be given with it."
            )
        if self.ledger is not None and not self.private:
            raise InputError("A ledger adds up privacy budgets: give the method an epsilon too.")
        check_engine(self)

    @property
    def private(self) -> bool:
        """Whether a promise of privacy is asked for."""
        return self.synthesiser.private

    def to_plain(self) -> dict[str, Any]:
        """Return what the synthesiser is told and how the original is read, as a report keeps it to be compared with others."""
        told = {
            "keep": list(self.keep),
            "person": self.person,
            "order": self.order,
            "weight": self.weight,
            "rows": self.rows,
        }
        read_as = {
            "rare": self.reading.rare,
            "threshold": self.reading.threshold,
            "personal": dict(self.reading.personal),
        }
        given = {name: value for name, value in (told | read_as).items() if value}
        return {**self.synthesiser.plain_params(), **given}


def method_of(
    method: str | Settings, label: str | None, sensitive: tuple[str, ...], keep: tuple[str, ...]
) -> Settings:
    """Return the method with the roles of columns in its settings, where it has them and they were not set there."""
    if isinstance(method, str):
        return SYNTHESISERS[method].from_options(
            MethodOptions(label=label, sensitive=sensitive, keep=keep)
        )
    if not isinstance(method, Settings):
        raise InputError(
            f"method must be a synthesiser, as BayesNet(parents=3), or its name. Got {type(method).__name__}."
        )
    roles: dict[str, Any] = {"label": label, "sensitive": sensitive, "keep": keep}
    return method.set_params(
        **{
            name: value
            for name, value in roles.items()
            if value and not getattr(method, name, True)
        }
    )


def names_of(words: Sequence[str], what: str) -> tuple[str, ...]:
    """Return names as a tuple; raise for one word alone, which would be read letter by letter."""
    if isinstance(words, str) or not all(isinstance(word, str) for word in words):
        raise InputError(f"{what} must be a list of names, as ['age', 'sex']. Got {words!r}.")
    return tuple(words)


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


@dataclass
class Synthesis:
    """One run: what was read, learnt and drawn, and how long each took. `measured`: whether what is drawn is measured against the original later."""

    settings: SynthesisSettings
    run: RunOptions
    measured: bool = False
    seconds: dict[str, float] = field(default_factory=dict)
    shares: list[float | str] = field(default_factory=list)
    rows: int = 0
    looked_up: int | None = None
    choice: EngineChoice = field(default_factory=lambda: EngineChoice("memory"))
    coded: CodedScan | None = field(default=None, repr=False)
    resources: ExitStack = field(default_factory=ExitStack, repr=False)

    def __enter__(self) -> Synthesis:
        return self

    def __exit__(self, *error: Any) -> None:
        """Remove what was kept while it ran: the cache of codes."""
        self.resources.__exit__(*error)

    @contextmanager
    def timed(self, step: str) -> Iterator[None]:
        """Add the time of a block to a step."""
        start = time.perf_counter()
        yield
        self.seconds[step] = self.seconds.get(step, 0.0) + time.perf_counter() - start

    def read(
        self,
        source: Any,
        check: Callable[[Schema], object] = lambda schema: None,
        *,
        beside: Sequence[str | os.PathLike[str]] = (),
    ) -> Table | Undiscovered | CodedScan:
        """Return the original. `check` is called with its schema, to check options against it: before the ledger is charged.

        `beside`: files whose tables will be in memory beside it, which have a say in the choice of an engine.
        With a promise, that is when the header has been read and no record; without one, before the table is used.
        """
        reading = self.settings.reading
        if self.settings.private:
            return self._read_private(source, check, beside)
        if (coded := self._read_stream(source, check, beside)) is not None:
            return coded
        with self.timed("read"), _without_warnings():
            table = (
                source
                if isinstance(source, Table)
                else read(
                    source,
                    reading.declared,
                    **reading.file,
                    rare=reading.rare,
                    threshold=reading.threshold,
                    progress=self.run.progress,
                )
            )
            table = with_weight(
                with_persons(table, self.settings.person, self.settings.order), self.settings.weight
            )
        check_decided(table.schema)
        if (weight := table.schema.only("weight")) is not None:
            table = replace(table, notes=(*table.notes, weight_note(weight)))
        self.settings = replace(
            self.settings, synthesiser=synthesiser_for(self.settings.synthesiser, table.schema)
        )
        check(table.schema)
        self.run.observer.after_reading(table, self.seconds["read"])
        return table

    def _read_stream(
        self,
        source: Any,
        check: Callable[[Schema], object],
        beside: Sequence[str | os.PathLike[str]],
    ) -> CodedScan | None:
        """The original as a cache of codes, where the engine asked for or chosen is that; None where rows are to be read into memory."""
        self.choice = choose_engine(
            self.settings.engine, [*file_paths(source), *beside], **self.settings.reading.file
        )
        why = why_not_streamed(self.settings, measured=self.measured)
        if self.choice.stream and why:
            self.choice = replace(self.choice, engine="memory")
            self.run.observer.engine_changed(str(not_streamed(why)))
        self.run.observer.before_reading(source, self.choice)
        if not self.choice.stream:
            return None
        try:
            with self.timed("read"), _without_warnings():
                self.coded = self.resources.enter_context(
                    streamed(source, self.settings, self.run, check, measured=self.measured)
                )
        except NotStreamedError as error:
            if not self.choice.chosen:
                raise
            self.choice = replace(self.choice, engine="memory")
            self.run.observer.engine_changed(str(error))
            return None
        self.run.observer.after_reading(self.coded, self.seconds["read"])
        return self.coded

    def _read_private(
        self,
        source: Any,
        check: Callable[[Schema], object],
        beside: Sequence[str | os.PathLike[str]],
    ) -> Table | Undiscovered | CodedScan:
        reading, synthesiser = self.settings.reading, self.settings.synthesiser
        prepared = isinstance(source, Undiscovered) or (
            isinstance(source, Table) and source.schema.sealed
        )
        unread = None
        if not prepared:
            unread = open_unread(
                source,
                reading.promised_schema(source),
                **reading.file,
                person=self.settings.person,
                rows_per_person=synthesiser.unit.rows_per_person,
                budget=synthesiser.budget,
                unit=synthesiser.unit,
            )
        schema: Schema = source.schema if unread is None else unread.schema
        by_name = (
            left_out(schema) if reading.discover is not None and reading.schema is None else []
        )
        check_declared_decided(schema)
        self.run.observer.opened(by_name)
        check(schema)
        # Which engine works shows nowhere: it may be chosen by the size of the data, and the result is the same.
        self.choice = choose_engine(
            self.settings.engine, [*file_paths(source), *beside], **reading.file
        )
        if self.choice.stream and unread is None:
            if not self.choice.chosen:
                raise not_streamed("A table that was prepared before")
            self.choice = replace(self.choice, engine="memory")
        charge_ledger(self.settings, schema, self.run.seed)
        if unread is None:
            return source
        with self.timed("read"), _without_warnings():
            if not self.choice.stream:
                return unread.read()
            scan = self.resources.enter_context(prepared_scan(unread))
            if isinstance(scan, PreparedScan):
                self.coded = scan
            return scan

    def fit(self, data: Table | Undiscovered | CodedScan) -> tuple[Model, Table]:
        """Return the fitted model, and the table under its schema: without its rows, where these are streamed. With a promise, nothing is said that depends on the data."""
        synthesiser, progress = self.settings.synthesiser, self.run.progress
        if not self.settings.private:
            assert isinstance(data, Table | CodedScan)
            enough_to_learn(data.n_rows, data.person_of if isinstance(data, Table) else None)
        with self.timed("fit"):
            if isinstance(data, CodedScan):
                progress = giving_back(progress)
                stream = StreamCounter(
                    data, weight=data.weight, threads=self.run.threads, progress=progress
                )
                return synthesiser.fit(stream, seed=self._stream(0), progress=progress), data.empty
            if self.settings.private:
                model = synthesiser.fit(data, seed=self._stream(0), progress=progress)
                if isinstance(data, UndiscoveredScan):
                    self.coded = data.coded
                return model, data if isinstance(data, Table) else data.under(model.schema)
            assert isinstance(data, Table)
            counter = table_counter(data, threads=self.run.threads)
            return synthesiser.fit(counter, seed=self._stream(0), progress=progress), data

    def draw(
        self, model: Model, table: Table, outputs: Sequence[Path] = (), *, hold: int = 0
    ) -> tuple[Table, ...]:
        """Draw each synthesis batch by batch, write it where outputs are named, and return the first `hold` of them.

        What is not held takes bounded memory.
        """
        self.rows = model.n_rows if self.settings.rows is None else self.settings.rows
        keyed = None
        if (
            self.settings.private
        ):  # how many rows equal an original one is a figure of the data, and not paid for
            self.run.observer.before_drawing(self.rows, table.schema)
        else:
            self.run.progress("keying the original's rows", -1)
            with self.timed("compare"):
                give_memory_back()
                original = without_weight(table)
                parts = (
                    [original.codes]
                    if self.coded is None
                    else _codes_of(self.coded, original.schema.names)
                )
                keyed = KeyedRows.from_chunks(
                    parts,
                    original.schema.sizes,
                    original.n_rows if self.coded is None else self.coded.n_rows,
                )
        tables = []
        for i in range(self.settings.copies):
            equal, compared, batches = 0, 0, []
            with writer_of(outputs[i] if outputs else None, paid=self.settings.private) as write:
                for batch in self._batches(model, table, self._stream(i + 1)):
                    with self.timed("write"):
                        write(batch)
                    if keyed is not None:
                        with self.timed("compare"):
                            looked_up = keyed.look_up(
                                on_codes_of(
                                    without_weight(batch), original.schema, original.schema.names
                                ).codes
                            )
                            equal, compared = equal + looked_up[0], compared + looked_up[1]
                    if i < hold:
                        batches.append(batch)
            if keyed is not None:
                self.shares.append(
                    masked_share(
                        equal / max(compared, 1), compared, self.settings.reading.threshold
                    )
                )
                self.looked_up = None if keyed.all_rows else compared + (self.looked_up or 0)
            if batches:
                tables.append(as_written(joined(batches)))
        return tuple(tables)

    def _batches(self, model: Any, table: Table, seed: Any) -> Iterator[Table]:
        if self.settings.keep:
            parts = (
                [table]
                if self.coded is None
                else self.coded.scan.tables(COMPLETED_BATCHES * model.batch_rows)
            )
            n_rows = table.n_rows if self.coded is None else self.coded.n_rows
            batches = model.complete_batches(
                parts,
                n_rows,
                keep=self.settings.keep,
                seed=seed,
                like=table,
                threads=self.run.threads,
                progress=self.run.progress,
            )
        else:
            like = (
                table.take(np.empty(0, dtype=np.int64)) if self.settings.private else table
            )  # its look and no row
            batches = model.batches(
                self.rows,
                seed=seed,
                like=like,
                threads=self.run.threads,
                progress=self.run.progress,
            )
        while True:
            with self.timed("sample"):
                batch = next(batches, None)
            if batch is None:
                return
            yield batch

    def account(self, model: Model, table: Table) -> SynthesisAccount:
        """Return what was made, of what, how, and, without a promise, how long it took."""
        private, copies = self.settings.private, self.settings.copies
        seconds = {step: round(self.seconds.get(step, 0.0), 6) for step in STEPS}
        return SynthesisAccount(
            rows=self.rows,
            columns=tuple(column.name for column in table.schema if column.written),
            seed=self.run.seed,
            network={**model.to_dict(), **self._asked()},
            notes=tuple(AccountNote(note.column, note.what, note.sentence) for note in table.notes),
            copies=copies,
            rows_equal_to_an_original=None
            if private
            else self.shares[0]
            if copies == 1
            else tuple(self.shares),
            rows_looked_up=self.looked_up,
            settings=self.settings.to_plain(),
            run={} if private else {"engine": self.choice.engine, "seconds": seconds},
        )

    def _asked(self) -> dict[str, Any]:
        """Return the edges that were required or forbidden, where there are any: a report shows them as chosen."""
        edges = {
            name: getattr(self.settings.synthesiser, name, ()) for name in ("require", "forbid")
        }
        return {name: [list(edge) for edge in some] for name, some in edges.items() if some}

    def _stream(self, number: int) -> np.random.SeedSequence | None:
        """An own random stream for the fit and for each synthesis; None without a seed."""
        if self.run.seed is None:
            return None
        return np.random.SeedSequence(seed_sequence(self.run.seed).entropy, spawn_key=(number,))


def _codes_of(coded: CodedScan, names: Sequence[str]) -> Iterator[Codes]:
    """The codes of some columns of a cache, batch by batch."""
    places = [coded.schema.names.index(name) for name in names]
    yield from (batch.codes.columns(places) for batch in coded.batches())


def file_paths(source: Any) -> list[str | os.PathLike[str]]:
    """Return the path of a source as a list; an empty one where it is no file."""
    return [source] if isinstance(source, str | os.PathLike) else []


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Keep Python from warning of columns that look personal: the observer is told of them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PersonalDataWarning)
        yield


class NotStreamedError(InputError):
    """What is asked for needs all rows at once."""


WEIGHTED = "Measuring records by their weights"
"""What a release of a table with weights needs all rows for."""


def why_not_streamed(settings: SynthesisSettings, *, measured: bool = False) -> str:
    """Return what of the settings needs all rows in memory, for a sentence; empty where nothing does. `measured`: what is drawn is measured too."""
    if settings.private:
        return ""
    if settings.person or settings.order:
        return "A column that says whose row it is"
    if settings.weight and measured:
        return WEIGHTED
    return (
        ""
        if isinstance(settings.synthesiser, BayesNet | Independent)
        else f"The method {settings.synthesiser.name}"
    )


def check_engine(settings: SynthesisSettings) -> None:
    """Raise unless the engine that settings name exists, and can do what they ask for."""
    if settings.engine not in ENGINES:
        raise unknown_name("engine", settings.engine, ENGINES)
    if settings.engine == "stream" and (why := why_not_streamed(settings)):
        raise not_streamed(why)


@contextmanager
def streamed(
    source: Any,
    settings: SynthesisSettings,
    run: RunOptions,
    check: Callable[[Schema], object],
    *,
    measured: bool = False,
) -> Iterator[CodedScan]:
    """Give the original as a cache of codes, which is removed at the end; `check` is called with its schema before it is encoded.

    Raises
    ------
    NotStreamedError
        If the table, or what is asked of it, needs all rows in memory.
    """

    def check_scan(scan: Scan) -> None:
        if scan.schema.with_role("person"):
            raise not_streamed("A column that says whose row it is")
        if measured and scan.schema.with_role("weight"):
            raise not_streamed(WEIGHTED)
        if repeated := _repeated_identifier(scan.schema, scan.profiles):
            raise not_streamed(f"Column '{repeated}', whose identifiers have several rows each,")
        check_decided(scan.schema)
        check(scan.schema)

    reading = settings.reading
    with coded_scan(
        source,
        reading.declared,
        **reading.file,
        rare=reading.rare,
        threshold=reading.threshold,
        weight=settings.weight,
        progress=run.progress,
        check=check_scan,
    ) as coded:
        weight = coded.scan.schema.only("weight")
        yield (
            coded
            if weight is None
            else replace(
                coded, scan=replace(coded.scan, notes=(*coded.scan.notes, weight_note(weight)))
            )
        )


def not_streamed(what: str) -> NotStreamedError:
    """Return the error that something needs all rows in memory."""
    return NotStreamedError(f"{what} needs all rows in memory: use --engine memory.")


def _repeated_identifier(schema: Schema, profiles: TableProfile | None) -> str | None:
    """Return an identifier that is the same in two rows or more on average, as far as its distinct values were counted: rules are found on such."""
    known = {} if profiles is None else profiles.columns
    for column in schema:
        if column.kind == "identifier" and column.name in known:
            profile = known[column.name]
            distinct = _distinct(profile)
            if distinct is not None and 2 * FEWEST <= 2 * distinct <= profile.n_present:
                return column.name
    return None


def _distinct(profile: Profile) -> int | None:
    """The distinct values of a column; None where they are too many to be counted."""
    if profile.too_many_words or not profile.numbers.exact:
        return None
    return len(profile.words) or len(profile.numbers.result()[0])


def copy_paths(output: Path, copies: int) -> list[Path]:
    """Return where each of several syntheses goes: OUT itself for one, OUT-1, OUT-2 ... for more."""
    file_format(output)
    if copies == 1:
        return [output]
    stem, dot, ending = output.name.partition(".")
    return [output.with_name(f"{stem}-{i}{dot}{ending}") for i in range(1, copies + 1)]


def as_written(table: Table) -> Table:
    """Return a drawn table with the codes that its values have once they are written and read again.

    Pooled levels have no value of their own where a column holds no words: they are written as missing, and read so.
    """
    codes = [table.codes[j] for j in range(len(table.codes))]
    for j, column in enumerate(table.schema.modelled):
        codec = column.codec
        if (
            codec is not None
            and codec.other
            and codec.null
            and not is_words(parse_type(column.type))
        ):
            empty = np.asarray(table.data.column(column.name).combine_chunks().is_null())
            pooled = empty & codec.is_other(codes[j])
            if pooled.any():
                codes[j] = np.where(pooled, codec.n_values, codes[j]).astype(codes[j].dtype)
    return replace(table, codes=Codes.of(codes, table.schema.sizes))


def write_batches(table: Table, path: Path) -> None:
    """Write a table as it would have been written while it was drawn: the same bytes."""
    with table_writer(path) as write:
        rows = batch_rows(len(table.schema.names))
        for start in range(0, max(table.n_rows, 1), rows):
            write(table[start : start + rows])


def writer_of(
    path: Path | None, *, paid: bool = False
) -> AbstractContextManager[Callable[[Table], object]]:
    """Give what appends tables to a file, or, without a path, does nothing."""
    return nullcontext(lambda table: None) if path is None else table_writer(path, paid=paid)


@dataclass(frozen=True, kw_only=True)
class SampleResult:
    """What was drawn: rows, the seed, the columns that were given, and, of a model without a promise, how long it took."""

    rows: int
    seed: int | None = None
    given: tuple[str, ...] = ()
    seconds: Mapping[str, float] | None = field(default=None, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data: `chaffinch-sample`, version 1."""
        seconds = (
            {}
            if self.seconds is None
            else {"seconds": {step: round(s, 6) for step, s in self.seconds.items()}}
        )
        head = {"format": "chaffinch-sample", "version": 1, "rows": self.rows, "seed": self.seed}
        return {**head, "given": list(self.given), "run": seconds}


def sample_to_file(
    model: Path,
    output: Path,
    *,
    rows: int | None = None,
    given: Mapping[str, Any] | None = None,
    run: RunOptions,
) -> SampleResult:
    """Draw rows from a model file and write them, batch by batch; `given` fixes values of columns, exactly."""
    loaded: Any = load_model(model)
    wanted = loaded.n_rows if rows is None else rows
    run.observer.before_drawing(wanted, loaded.schema)
    writing, start = 0.0, time.perf_counter()
    with table_writer(output) as write:
        for batch in loaded.batches(
            wanted, seed=run.seed, given=given, threads=run.threads, progress=run.progress
        ):
            drawn = time.perf_counter()
            write(batch)
            writing += time.perf_counter() - drawn
    seconds = {"sample": time.perf_counter() - start - writing, "write": writing}
    return SampleResult(
        rows=wanted,
        seed=run.seed,
        given=tuple(sorted(given or ())),
        seconds=None if loaded.privacy else seconds,
    )
