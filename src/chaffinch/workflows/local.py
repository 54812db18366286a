"""Tables of this machine: files and objects, in memory or batch by batch.

The order of a private fit is that of a promise: whatever can be known to fail is checked first, then a project ledger is charged, and only then is a record read.
Tables larger than memory are read twice, as a cache of codes. Syntheses are written batch by batch, the same bytes whether they are drawn or held.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .._base.errors import InputError
from .._base.files import check_outputs
from .._base.masking import masked_share
from .._base.runtime import give_memory_back, giving_back
from .._base.seeds import child, seed_sequence
from ..counts.coded import coded_scan
from ..counts.counter import StreamCounter
from ..privacy.prepare import guarantee_schema, left_out
from ..privacy.scanning import prepared_scan
from ..privacy.session import DataWithoutDomain, open_lazy_source
from ..stats.sampled import hash_key
from ..synth import BayesNet, Independent, Model, Settings
from ..synth.data import table_counter
from ..synth.model import batch_rows
from ..table import Note, Scan, Schema, Table, scan, table_writer
from ..table.align import align
from ..table.codes import Codes
from ..table.compare.classes import KeyedRows
from ..table.digit_preference import FEWEST
from ..table.fit_schema import TableProfile
from ..table.personal.detect import (
    check_decided,
    check_declared_decided,
    without_personal_warnings,
)
from ..table.persons import person_numbers, with_persons
from ..table.profile import Profile
from ..table.refit import on_codes_of
from ..table.rows import MEASURED_IN_MEMORY, Rows, as_it_came, as_rows, join_tables, open_rows
from ..table.sources import EngineChoice, choose_engine, open_source
from ..table.types import is_words, parse_type
from ..table.weights import weight_note, with_weight, without_weight
from ..table.write import ending_like, file_format
from .engines import (
    Check,
    ComparedTables,
    charge_ledger,
    copy_places,
    synthesiser_for,
)
from .run import Stopwatch

if TYPE_CHECKING:
    from ..table.settings import Reading
    from .run import RunOptions
    from .settings import ReleaseSettings, SynthesisSettings
    from .synthesise import Synthesis

COMPLETED_BATCHES = 4
"""Batches of the original that are in memory at a time while they are completed."""

ONE_EACH = 1 << 19
"""The random stream of the row that is attacked of each person; measures and attacks have their own."""


@dataclass(frozen=True)
class LocalEngine:
    """Files and objects of this machine. `name`: "memory": all rows are held; "stream": batches of them; "auto": the first where they fit."""

    name: str
    local: ClassVar[bool] = True

    def check_synthesis(self, settings: SynthesisSettings, *, measured: bool = False) -> None:
        """Raise where rows that are read batch by batch are all needed at once."""
        if self.name == "stream" and (why := why_not_streamed(settings, measured=measured)):
            raise not_streamed(why)

    def check_release(self, settings: ReleaseSettings) -> None:
        """Raise where rows that are read batch by batch are all needed at once."""
        self.check_synthesis(settings.synthesis, measured=True)

    def check_measuring(self, *_: Any, **__: Any) -> None:
        """Do nothing: whatever is measured is measured here."""

    def started(self) -> AbstractContextManager[LocalEngine]:
        """Give the engine itself: there is nothing to start."""
        return nullcontext(self)

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
    ) -> list[Path]:
        """Return the files of several syntheses; raise unless all can be written."""
        outputs = copy_paths(Path(output), copies)
        bought = [*outputs, model] if paid else []
        check_outputs(Path(source), *outputs, model, json, updated=[ledger], paid=bought)
        return outputs

    def ending(self, source: Any) -> str:
        """Return the ending of the source's name; of CSV where it is no file."""
        return ending_like(Path(source)) if file_paths(source) else ".csv"

    def open(
        self,
        source: Any,
        reading: Reading,
        run: RunOptions,
        files: Sequence[Any] | None = None,
        *,
        models: int = 0,
    ) -> Rows:
        """Return the table of a source, or a scan of it where rows are read batch by batch."""
        stream = files is None
        if files is not None:
            declared = reading.declared
            reasons = [
                f"tables in which {what} are measured there"
                for role, what in MEASURED_IN_MEMORY.items()
                if declared is not None and declared.only(role) is not None
            ] + ["a model beside a release is attacked there"] * (models > 0)
            choice = choose_engine(
                self.name, files, in_memory=" and ".join(reasons), **reading.other_file
            )
            run.observer.before_reading(choice)
            stream = choice.stream
        rows = _read_source(source, reading, run, scan if stream else open_rows)
        run.observer.after_reading(rows)
        return rows

    def other(self, data: Any, reading: Reading) -> Rows:
        """Return a table as it came, of a file with what was said of the original's: encoding, delimiter, header and the like."""
        rows: Rows = as_it_came(data, **reading.other_file)
        return rows

    def original(
        self, synthesis: Synthesis, source: Any, check: Check, files: Sequence[Any]
    ) -> LocalOriginal:
        """Return the original in memory, or as a cache of codes."""
        settings, run = synthesis.settings, synthesis.run
        choice = choose_engine(self.name, [*file_paths(source), *files], **settings.reading.file)
        if settings.private:
            return self._private(synthesis, source, check, choice)
        why = why_not_streamed(settings, measured=synthesis.measured)
        if choice.stream and why:
            choice = replace(choice, engine="memory")
            run.observer.engine_changed(str(not_streamed(why)))
        run.observer.before_reading(choice)
        if choice.stream:
            try:
                return self._streamed(synthesis, source, check)
            except NotStreamedError as error:
                if not choice.chosen:
                    raise
                run.observer.engine_changed(str(error))
        with synthesis.clock.timed("read"):
            table = with_weight(
                with_persons(
                    _read_source(source, settings.reading, run, open_rows).table(),
                    settings.roles.person,
                    settings.roles.order,
                ),
                settings.roles.weight,
            )
        check_decided(table.schema)
        table = _with_weight_note(table)
        check(table.schema)
        run.observer.after_reading(table)
        return LocalOriginal(table, table)

    def _streamed(self, synthesis: Synthesis, source: Any, check: Check) -> LocalOriginal:
        """Return the original as a cache of codes; raise NotStreamedError where the table, or what is asked of it, needs all rows in memory."""

        def check_scan(scan: Scan) -> None:
            if scan.schema.with_role("person"):
                raise not_streamed("A column that says whose row it is")
            if synthesis.measured and scan.schema.with_role("weight"):
                raise not_streamed(WEIGHTED)
            if repeated := _repeated_identifier(scan.schema, scan.profiles):
                raise not_streamed(
                    f"Column '{repeated}', whose identifiers have several rows each,"
                )
            check_decided(scan.schema)
            check(scan.schema)

        settings, run = synthesis.settings, synthesis.run
        cache = synthesis.resources.enter_context(ExitStack())
        with synthesis.clock.timed("read"), without_personal_warnings():
            coded = cache.enter_context(
                coded_scan(
                    source,
                    settings.reading.declared,
                    **settings.reading.options,
                    weight=settings.roles.weight,
                    progress=run.progress,
                    check=check_scan,
                )
            )
        rows = _with_weight_note(coded.scan)
        run.observer.after_reading(rows)
        return LocalOriginal(rows, coded, cache=cache)

    def _private(
        self, synthesis: Synthesis, source: Any, check: Check, choice: EngineChoice
    ) -> LocalOriginal:
        settings, run = synthesis.settings, synthesis.run
        reading, synthesiser = settings.reading, settings.synthesiser
        rows = as_rows(source)
        sealed = rows is not None and rows.schema.sealed
        prepared = sealed or isinstance(source, DataWithoutDomain)
        unread = None
        if not prepared:
            unread = open_lazy_source(
                source,
                guarantee_schema(source, reading, settings.options.guarantee.discover),
                **reading.file,
                person=settings.roles.person,
                rows_per_person=synthesiser.unit.rows_per_person,
                budget=synthesiser.budget,
                unit=synthesiser.unit,
            )
        schema: Schema = source.schema if unread is None else unread.schema
        by_name = (
            left_out(schema)
            if settings.options.guarantee.discover is not None and reading.schema is None
            else []
        )
        check_declared_decided(schema)
        run.observer.opened(by_name)
        check(schema)
        # Which engine works shows nowhere: it may be chosen by the size of the data, and the result is the same.
        if choice.stream and unread is None and not choice.chosen:
            raise not_streamed("A table that was prepared before")
        charge_ledger(settings, schema, run.seed)
        data = source
        with synthesis.clock.timed("read"), without_personal_warnings():
            if choice.stream and unread is not None:
                cache = synthesis.resources.enter_context(ExitStack())
                coded: Any = cache.enter_context(prepared_scan(unread))
                return LocalOriginal(
                    coded.scan if coded.schema.sealed else None, coded, True, cache
                )
            if unread is not None:
                data = unread.read()
        return LocalOriginal(data if data.schema.sealed else None, data, True)

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
    ) -> dict[str, float]:
        """Draw rows and write them batch by batch, in bounded memory."""
        clock = Stopwatch()
        batches = model.batches(
            n_rows, seed=seed, given=given, threads=run.threads, progress=run.progress
        )
        with table_writer(Path(output), paid=paid) as write:
            for batch in clock.iterate("sample", batches):
                with clock.timed("write"):
                    write(batch)
        return clock.seconds


def _with_weight_note(rows: Any) -> Any:
    """Return rows with what is said of the column that they are counted by, if there is one."""
    weight = rows.schema.only("weight")
    return rows if weight is None else replace(rows, notes=(*rows.notes, weight_note(weight)))


def _read_source(source: Any, reading: Reading, run: RunOptions, reader: Any) -> Any:
    """Return what a reader of sources makes of one."""
    with without_personal_warnings():
        return reader(source, schema=reading.declared, progress=run.progress, **reading.options)


@dataclass(eq=False)
class LocalOriginal:
    """An original whose rows this machine goes through: syntheses are drawn and written batch by batch, and looked up in it.

    `rows`: a table or a scan. `data`: what is learnt from: the table, the codes of the scan, or data whose domain a private fit discovers. `cache`: removes the codes.
    """

    rows: Any
    data: Any
    private: bool = False
    cache: ExitStack = field(default_factory=ExitStack, repr=False)

    @property
    def engine(self) -> str:
        """Whether rows are in memory, or come batch by batch."""
        return "memory" if self.rows.in_memory else "stream"

    @property
    def notes(self) -> Sequence[Note]:
        """What was found of the columns."""
        notes: tuple[Note, ...] = self.rows.notes
        return notes

    def method(self, synthesiser: Settings) -> Settings:
        """Return the method for the schema."""
        return synthesiser_for(synthesiser, self.rows.schema)

    def fit(self, synthesiser: Settings, run: RunOptions, seed: Any) -> Model:
        """Return the model; a private fit opens data itself, and may discover their domain."""
        data, progress = self.data, run.progress
        if self.rows is not None and not self.rows.in_memory:
            progress = giving_back(progress)
            data = StreamCounter(data, weight=data.weight, threads=run.threads, progress=progress)
        elif not self.private:
            data = table_counter(data, threads=run.threads)
        model = synthesiser.fit(data, seed=seed, progress=progress)
        if self.rows is None:
            self.rows, self.data = data.discovered(model.schema)
        return model

    def draw(self, synthesis: Synthesis, model: Model, *, hold: int) -> tuple[Table, ...]:
        """Draw each synthesis batch by batch, and look its rows up in the original. What is not held takes bounded memory."""
        keyed = None if self.private else self._keyed_rows(synthesis)
        drawn = [
            self._draw_copy(synthesis, model, copy, keyed, hold=copy < hold)
            for copy in range(synthesis.settings.copies)
        ]
        return tuple(table for table in drawn if table is not None)

    def _keyed_rows(self, synthesis: Synthesis) -> KeyedRows:
        """Return the original's rows to look others up in; how many are equal is a figure of the data, which a promise does not cover."""
        synthesis.run.progress("keying the original's rows", -1)
        with synthesis.clock.timed("compare"):
            give_memory_back()
            schema = without_weight(self.rows.empty).schema
            positions = [self.data.schema.names.index(name) for name in schema.names]
            codes = (batch.codes.columns(positions) for batch in self.data.batches())
            return KeyedRows.from_chunks(codes, schema.sizes, self.rows.n_rows)

    def _draw_copy(
        self, synthesis: Synthesis, model: Model, copy: int, keyed: KeyedRows | None, *, hold: bool
    ) -> Table | None:
        """Draw a synthesis, write it where an output is named, look its rows up, and return it where it is held."""
        equal, compared, batches = 0, 0, []
        schema, outputs = without_weight(self.rows.empty).schema, synthesis.outputs
        writer: AbstractContextManager[Callable[[Table], object]] = (
            table_writer(outputs[copy], paid=self.private)
            if outputs
            else nullcontext(lambda table: None)
        )
        with writer as write:
            for batch in self._batches(synthesis, model, synthesis.stream(copy + 1)):
                with synthesis.clock.timed("write"):
                    write(batch)
                if keyed is not None:
                    with synthesis.clock.timed("compare"):
                        rows = on_codes_of(without_weight(batch), schema, schema.names)
                        n_equal, n_rows = keyed.look_up(rows.codes)
                        equal, compared = equal + n_equal, compared + n_rows
                if hold:
                    batches.append(batch)
        if keyed is not None:
            share = equal / max(compared, 1)
            synthesis.shares.append(
                masked_share(share, compared, synthesis.settings.reading.threshold)
            )
            before = synthesis.looked_up or 0
            synthesis.looked_up = None if keyed.all_rows else compared + before
        return as_written(join_tables(batches)) if batches else None

    def _batches(self, synthesis: Synthesis, model: Any, seed: Any) -> Iterator[Table]:
        rows, run, keep = self.rows, synthesis.run, synthesis.settings.options.network.keep
        options = {
            "seed": seed,
            "like": rows.empty,
            "threads": run.threads,
            "progress": run.progress,
        }
        if keep:
            n_rows = COMPLETED_BATCHES * model.batch_rows
            parts = [rows] if rows.in_memory else rows.tables(n_rows)
            batches = model.complete_batches(parts, rows.n_rows, keep=keep, **options)
        else:
            batches = model.batches(synthesis.rows, **options)
        return synthesis.clock.iterate("sample", batches)

    def compared(
        self, tables: Sequence[Table], outputs: Sequence[Path], holdout: Any, seed: int | None
    ) -> ComparedTables:
        """Return tables on one grid; or files that are read batch by batch, where attacks are about one row of each person. The codes are removed."""
        self.cache.close()
        if self.rows.in_memory:
            return _on_one_grid(self.rows, tables, holdout)
        people = self.rows.one_row_each(hash_key(child(seed_sequence(seed), ONE_EACH)))
        syntheses = [open_source(path) for path in outputs]
        return ComparedTables(self.rows, people, self.rows, syntheses, holdout)


def _on_one_grid(original: Table, tables: Sequence[Table], holdout: Any) -> ComparedTables:
    """Return all tables on one grid: each is encoded once, and whoever brings them together again finds that they are."""
    if original.schema.sealed and original.schema.persons > 1 and original.person_of is None:
        # A promise counts rows, of which it has bounded the number; attacks are about people, and a person's rows are not another's.
        persons = person_numbers(original.data.column(original.schema.only("person")))
        original = replace(original, person_of=persons)
    several = len(tables) > 1
    names = [f"synthetic {i}" if several else "synthetic" for i in range(1, len(tables) + 1)]
    others = [*tables, *([] if holdout is None else [holdout])]
    first, *aligned = align(original, *others, names=[*names, "holdout"])
    columns = tuple(
        first.schema[column.name] if column.modelled else column for column in original.schema
    )
    grid = replace(original, schema=replace(original.schema, columns=columns), codes=first.codes)
    aside = None if holdout is None else aligned[-1]
    return ComparedTables(grid, grid, original, aligned[: len(tables)], aside)


# Batch by batch, or in memory.


class NotStreamedError(InputError):
    """What is asked for needs all rows at once."""


WEIGHTED = "Measuring records by their weights"
"""What a release of a table with weights needs all rows for."""


def why_not_streamed(settings: SynthesisSettings, *, measured: bool = False) -> str:
    """Return what of the settings needs all rows in memory, for a sentence; empty where nothing does. `measured`: what is drawn is measured too."""
    if settings.private:
        return ""
    if settings.roles.person or settings.roles.order:
        return "A column that says whose row it is"
    if settings.roles.weight and measured:
        return WEIGHTED
    return (
        ""
        if isinstance(settings.synthesiser, BayesNet | Independent)
        else f"The method {settings.synthesiser.name}"
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
    return len(profile.word_counts) or len(profile.numbers.result()[0])


# Files of syntheses.


def file_paths(source: Any) -> list[str | os.PathLike[str]]:
    """Return the path of a source as a list; an empty one where it is no file."""
    return [source] if isinstance(source, str | os.PathLike) else []


def copy_paths(output: Path, copies: int) -> list[Path]:
    """Return where each of several syntheses goes: OUT itself for one, OUT-1, OUT-2 ... for more."""
    file_format(output)
    return [Path(copy) for copy in copy_places(output.as_posix(), copies)]


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
    return replace(table, codes=Codes.from_columns(codes, table.schema.sizes))


def write_batches(table: Table, path: Path) -> None:
    """Write a table as it would have been written while it was drawn: the same bytes."""
    with table_writer(path) as write:
        rows = batch_rows(len(table.schema.names))
        for start in range(0, max(table.n_rows, 1), rows):
            write(table[start : start + rows])
