"""Tables that a Spark cluster has, by an address (hdfs://, s3a:// ...) or a path: `--engine spark`.

Everything that can be known to fail is checked before the first job. Rows are drawn and written by workers, measured and attacked where they are. The results are
those of files: figures that need counts alone are of all records, and the others of a sample, which comes to the driver.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from .._base.errors import FileError, InputError
from .._base.files import check_outputs
from ..spark.drawing import draw
from ..spark.files import check_folder, write
from ..spark.places import check_free, is_address, local_path, read_frame, write_frame
from ..spark.private import prepare
from ..spark.scanning import SparkScan, scan
from ..spark.session import started_session
from ..synth import BayesNet, Independent, Model, Settings
from ..table import Note, Schema, Table
from ..table.personal.detect import (
    check_decided,
    check_declared_decided,
    without_personal_warnings,
)
from ..table.rows import check_comparable
from .engines import Check, ComparedTables, charge_ledger, copy_places

if TYPE_CHECKING:
    from ..table.settings import Reading
    from .run import RunOptions
    from .settings import ReleaseSettings, SynthesisSettings
    from .synthesise import Synthesis

NOT_COMPARED = (
    "Drawn rows were not looked up in the original: that takes rows, which stay on Spark."
)

MAX_SAMPLE_ROWS = 1_000_000
"""Records of a sample that may come to the driver."""

NOT_FOLDERS = (
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
)
"""Endings of files that are no folders of Parquet files."""


@dataclass(frozen=True)
class SparkEngine:
    """Tables on Spark. `cache`: where codes are held (`SparkScan.coded`): once it is started a folder for temporary files unless given, where workers are of this machine, and Spark's own where not.

    `session`: once it is started the active one, or a new one.
    """

    cache: str | None = None
    session: Any = None
    name: str = "spark"
    local: ClassVar[bool] = False

    def check_synthesis(self, settings: SynthesisSettings) -> None:
        """Raise where settings ask for what takes rows in one place."""
        private = settings.private
        asked = {
            "keep completes the rows of the original, which stay on Spark": settings.options.network.keep,
            "Rows in the order of a person (person_id, order_by) are learnt from rows in one place": not private
            and (settings.roles.person or settings.roles.order),
            "Records are not counted by weight on Spark": settings.roles.weight,
            "Domains are not discovered on Spark: declare levels or bounds of every column, and leave out discover": settings.options.guarantee.discover,
        }
        for why, wanted in asked.items():
            if wanted:
                raise InputError(f"{why}. Use one machine: --engine auto.")
        if not private and not isinstance(settings.synthesiser, BayesNet | Independent):
            raise InputError(
                f"The method {settings.synthesiser.name} learns from rows in one place. Use --method bayesnet on Spark, or one machine: --engine auto."
            )
        self._check_reading(settings.reading)

    def check_release(self, settings: ReleaseSettings) -> None:
        """Raise where a release asks for what is not done on Spark."""
        synthesis = settings.synthesis
        if synthesis.private:
            raise InputError(
                "A table that promises privacy is not measured on Spark: its original is read under declared domains alone. Make it with `chaffinch synth --epsilon ... "
                "--engine spark`, or release it on one machine: --engine auto."
            )
        if synthesis.copies > 1:
            raise InputError(
                "A release on Spark has one synthesis: leave out --copies, or draw more of its model with `chaffinch sample --engine spark`."
            )
        self.check_measuring(
            synthesis.reading,
            settings.utility.sample_rows,
            holdout_share=settings.attack.holdout_share,
        )

    def check_measuring(
        self,
        reading: Reading,
        sample_rows: int,
        *,
        releases: int = 1,
        holdout_share: float | None = None,
    ) -> None:
        """Raise where several releases are attacked together, people set aside, or more records sampled than may come to the driver."""
        if releases > 1:
            raise InputError(
                "Several releases, or a model beside them, are attacked in memory: attack one synthetic table at a time on Spark."
            )
        if holdout_share is not None:  # rows have no places by which they could be chosen again
            raise InputError(
                "People are set aside where files are read on one machine: pass --engine auto, or split the table on Spark and name the part with --holdout."
            )
        if sample_rows > MAX_SAMPLE_ROWS:
            raise InputError(
                f"--sample-rows is at most {MAX_SAMPLE_ROWS:,} on Spark: that many records come to the driver. Got {sample_rows:,}."
            )
        self._check_reading(reading)

    def _check_reading(self, reading: Reading) -> None:
        if options := sorted(reading.file):
            raise InputError(
                f"Spark reads tables in its own way: leave out {', '.join(f'--{option}' for option in options)}, or make a Parquet table of the file first."
            )

    @contextmanager
    def started(self) -> Iterator[SparkEngine]:
        """Give the engine with a session, and with a place for codes; a session that was started for it ends with the block."""
        with ExitStack() as resources:
            session = resources.enter_context(started_session())
            cache, local = self.cache, hasattr(session, "_jsc")
            if cache is None and local and str(session.sparkContext.master).startswith("local"):
                cache = resources.enter_context(tempfile.TemporaryDirectory(prefix="chaffinch-"))
            yield replace(self, session=session, cache=cache)

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
    ) -> list[str]:
        """Return the folders of several syntheses, or their addresses; raise unless these and the other files can be written as far as this machine sees."""
        folders = copy_places(output, copies)
        for folder in folders:
            _check_folder(folder, source, paid=paid)
        check_outputs(None, model, json, updated=[ledger], paid=[model] if paid else [])
        return folders

    def ending(self, source: Any) -> str:
        """Return the ending of a folder of Parquet files."""
        return ".parquet"

    def open(
        self,
        source: Any,
        reading: Reading,
        run: RunOptions,
        files: Sequence[Any] | None = None,
        *,
        models: int = 0,
    ) -> SparkScan:
        """Return a scan of a table by its address or path, under what is declared of it."""
        self._check_reading(reading)
        frame = read_frame(self.session, str(source))
        with without_personal_warnings():
            scanned = scan(frame, reading.declared, rare=reading.rare, threshold=reading.threshold)
        scanned = replace(scanned, cache=self.cache)
        run.observer.after_reading(scanned)
        return scanned

    def other(self, data: Any, reading: Reading) -> Any:
        """Return the DataFrame of a table by its address or path."""
        return read_frame(self.session, str(data))

    def original(
        self, synthesis: Synthesis, source: Any, check: Check, files: Sequence[Any]
    ) -> SparkOriginal:
        """Return the original as a scan; a promise is paid for before a record is read."""
        settings, run = synthesis.settings, synthesis.run
        for output in map(str, synthesis.outputs):
            if is_address(output):
                check_free(self.session, output, paid=settings.private)
        with synthesis.clock.timed("read"):
            if settings.private:
                return SparkOriginal(self, self._promised(synthesis, source, check))
            scanned = self.open(source, settings.reading, run)
            check_decided(scanned.schema)
            check(scanned.schema)
            if synthesis.measured:
                check_comparable(scanned.schema)
            return SparkOriginal(self, scanned)

    def _promised(self, synthesis: Synthesis, source: Any, check: Check) -> SparkScan:
        settings = synthesis.settings

        def check_and_pay(schema: Schema) -> None:
            check_declared_decided(schema)
            check(schema)
            charge_ledger(settings, schema, synthesis.run.seed)

        with without_personal_warnings():
            return prepare(
                read_frame(self.session, str(source)),
                settings.reading.declared,
                person=settings.roles.person,
                rows_per_person=settings.synthesiser.unit.rows_per_person,
                check=check_and_pay,
            )

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
    ) -> None:
        """Draw rows and write them: to an address by Spark's writer, to a path by workers, which must all see it.

        A place that holds rows of an earlier run is replaced where that may be, when all is done, and nothing else is ever.
        """
        session, folder = self.session, str(output)
        if is_address(folder):
            drawn = draw(model, n_rows, seed=seed, session=session)
            write_frame(session, drawn, folder, n_rows, paid=paid)
        else:
            write(model, local_path(folder), n_rows, seed=seed, session=session, paid=paid)


@dataclass(eq=False)
class SparkOriginal:
    """An original on Spark."""

    spark: SparkEngine
    rows: SparkScan
    drawn: bool = False
    engine: ClassVar[str] = "spark"

    @property
    def notes(self) -> Sequence[Note]:
        """What was found of the columns, and that drawn rows were not looked up; that says nothing of records under a promise."""
        not_assessed = self.drawn and not self.rows.schema.sealed
        return (*self.rows.notes, *[Note("", "equal rows", NOT_COMPARED)] * not_assessed)

    def method(self, synthesiser: Settings) -> Settings:
        """Return the method with tables: networks have these on Spark, and half of a sample in memory would be given trees."""
        if isinstance(synthesiser, BayesNet) and synthesiser.conditionals is None:
            return replace(synthesiser, conditionals="tables")
        return synthesiser

    def fit(self, synthesiser: Settings, run: RunOptions, seed: Any) -> Model:
        """Return the model that a file of the same rows gives, with tables for conditionals."""
        with self.rows.coded(self.spark.cache) as counter:
            return synthesiser.fit(counter, seed=seed, progress=run.progress)

    def draw(self, synthesis: Synthesis, model: Model, *, hold: int) -> tuple[Table, ...]:
        """Have workers draw and write each synthesis."""
        self.drawn, paid = True, synthesis.settings.private
        for i, output in enumerate(synthesis.outputs, 1):
            with synthesis.clock.timed("sample and write"):
                self.spark.write(
                    model,
                    output,
                    synthesis.rows,
                    synthesis.run,
                    seed=synthesis.stream(i),
                    paid=paid,
                )
        return ()

    def compared(
        self, tables: Sequence[Table], outputs: Sequence[Path], holdout: Any, seed: int | None
    ) -> ComparedTables:
        """Return the rows that were learnt from, or measuring stops, and those that were written."""
        syntheses = [read_frame(self.spark.session, str(output)) for output in outputs]
        return ComparedTables(self.rows, self.rows, self.rows, syntheses, holdout)


def _check_folder(folder: str, source: str, *, paid: bool = False) -> None:
    """Raise unless rows can be written to a folder that this machine sees; addresses are looked at by Spark."""
    ending = Path(folder).suffix.lower()
    if ending in NOT_FOLDERS:
        raise InputError(
            f"Spark writes folders of Parquet files, and '{folder}' ends in {ending}. Name a folder."
        )
    remote = is_address(folder) or is_address(source)
    same = (
        folder.rstrip("/") == source.rstrip("/")
        if remote
        else local_path(folder).resolve() == local_path(source).resolve()
    )
    if same:
        raise FileError(f"Cannot write '{folder}': it is the input. Name another folder.")
    if not remote:
        check_folder(local_path(folder), paid=paid)
