"""What was drawn for a release, and how it is measured: tables in memory, all on one grid, or a file beside the original's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .._base.seeds import child, seed_sequence
from ..privacy.scanning import DeclaredScan
from ..risk import RiskResult, RiskSettings, cross_fit, measure_risk
from ..risk.attribution.crossfit import HALF_SIZE, cross_fit_file
from ..risk.attribution.result import CrossFit
from ..risk.attribution.study import ONE_ROW_EACH
from ..stats.sampled import hash_key
from ..synth import Settings
from ..table import Scan, Table
from ..table.align import align
from ..table.formats import Source
from ..table.long import LongOrigin
from ..table.persons import person_numbers
from ..table.sources import open_source
from ..utility import UtilityResult, UtilitySettings, measure_utility
from .run import RunOptions
from .synthesise import synthesiser_for

ROWS_APART = "People have several rows. Intervals of what the table is worth take each row for itself, and are too narrow for that: those of --engine memory take persons."
HOLDOUT_ROWS = "Each row of the holdout was taken for a person of its own."
"""What is said of files in which people have several rows, and that are measured row by row."""

ONE_EACH = 1 << 19
"""The random stream of the row that is attacked of each person; measures and attacks have their own."""


@dataclass(frozen=True, eq=False)
class DrawnTables:
    """The original, the syntheses and the holdout in memory. Each is encoded once; whoever brings them together again finds that they are on one grid.

    `grid` is the original on that grid with all its columns, `aligned` the syntheses on it.
    """

    original: Table
    tables: tuple[Table, ...]
    grid: Table
    aligned: tuple[Table, ...]
    holdout: Table | None
    holdout_checked: bool = False
    kept_files: tuple[Path, ...] = ()
    folder: None = None

    @classmethod
    def of(
        cls,
        original: Table,
        tables: Sequence[Table],
        holdout: Table | Source | None,
        *,
        holdout_checked: bool = False,
    ) -> DrawnTables:
        """Return all tables on one grid."""
        if original.schema.sealed and original.schema.persons > 1 and original.person_of is None:
            # A promise counts rows, of which it has bounded the number; attacks are about people, and a person's rows are not another's.
            original = replace(
                original,
                person_of=person_numbers(original.data.column(original.schema.only("person"))),
            )
        many = (
            [f"synthetic {i}" for i in range(1, len(tables) + 1)]
            if len(tables) > 1
            else ["synthetic"]
        )
        first, *others = align(
            original, *tables, *([] if holdout is None else [holdout]), names=[*many, "holdout"]
        )
        columns = tuple(
            first.schema[column.name] if column.modelled else column for column in original.schema
        )
        grid = replace(
            original, schema=replace(original.schema, columns=columns), codes=first.codes
        )
        return cls(
            original,
            tuple(tables),
            grid,
            tuple(others[: len(tables)]),
            None if holdout is None else others[-1],
            holdout_checked,
        )

    @property
    def n_rows(self) -> int:
        """Records of the original."""
        return self.original.n_rows

    @property
    def n_persons(self) -> int:
        """Persons of the original."""
        return self.original.n_persons

    def utility(self, settings: UtilitySettings, run: RunOptions) -> UtilityResult:
        """Return what the first synthesis is worth."""
        return measure_utility(
            self.grid,
            self.aligned[0],
            self.holdout,
            settings,
            holdout_checked=self.holdout_checked,
            **options_of(run),
        )

    def risk(self, settings: RiskSettings, run: RunOptions) -> RiskResult:
        """Return what all syntheses give away."""
        return measure_risk(
            self.grid,
            list(self.aligned),
            self.holdout,
            settings,
            holdout_checked=self.holdout_checked,
            **options_of(run),
        )

    def cross_fit(self, synthesiser: Settings, settings: RiskSettings, run: RunOptions) -> CrossFit:
        """Return what models of half the people give away."""
        method = synthesiser_for(synthesiser, self.original.schema)
        return _half(
            cross_fit(self.original, method, settings, copies=len(self.tables), **options_of(run))
        )


@dataclass(frozen=True, eq=False)
class DrawnFile:
    """A scan of the original, the files of its syntheses, and the holdout, all read batch by batch.

    `folder`: where the syntheses lie until they are saved; None where whoever asked for it has said where it goes.
    """

    original: Scan
    files: tuple[Path, ...]
    holdout: Table | Source | None
    holdout_checked: bool = False
    folder: TemporaryDirectory[str] | None = None
    tables: tuple[Table, ...] = ()

    @property
    def kept_files(self) -> tuple[Path, ...]:
        """Files that are in no place of their own yet."""
        return () if self.folder is None else self.files

    @property
    def n_rows(self) -> int:
        """Records of the original."""
        return self.original.n_rows

    @property
    def n_persons(self) -> int:
        """Persons of the original: each has one record."""
        return self.original.n_rows

    @property
    def person(self) -> str | None:
        """The column that says whose row it is, where some have several: with a promise, up to so many."""
        return self.original.person if isinstance(self.original, DeclaredScan) else None

    def utility(self, settings: UtilitySettings, run: RunOptions) -> UtilityResult:
        """Return what the first synthesis is worth: of all records where counts are enough, else of a sample."""
        result = measure_utility(
            self.original,
            open_source(self.files[0]),
            self.holdout,
            settings,
            holdout_checked=self.holdout_checked,
            **options_of(run),
        )
        return (
            result
            if self.person is None
            else replace(
                result, about=replace(result.about, notes=(ROWS_APART, *result.about.notes))
            )
        )

    def risk(self, settings: RiskSettings, run: RunOptions) -> RiskResult:
        """Return what all syntheses give away: of all records, or of one of each person, where counts are enough, else of a sample."""
        syntheses = [open_source(file) for file in self.files]
        if self.person is None:
            return measure_risk(
                self.original,
                syntheses,
                self.holdout,
                settings,
                holdout_checked=self.holdout_checked,
                **options_of(run),
            )
        assert isinstance(self.original, DeclaredScan)
        people = self.original.one_row_each(hash_key(child(seed_sequence(run.seed), ONE_EACH)))
        result = measure_risk(
            people,
            syntheses,
            self.holdout,
            settings,
            holdout_checked=self.holdout_checked,
            **options_of(run),
        )
        said = (ONE_ROW_EACH, *[HOLDOUT_ROWS] * (self.holdout is not None))
        return replace(result, about=replace(result.about, notes=(*said, *result.about.notes)))

    def cross_fit(self, synthesiser: Settings, settings: RiskSettings, run: RunOptions) -> CrossFit:
        """Return what models of halves of a sample of the people give away."""
        return half_fitted(
            self.original, synthesiser, settings, run, person=self.person, copies=len(self.files)
        )


def half_fitted(
    original: Scan | LongOrigin,
    synthesiser: Settings,
    settings: RiskSettings,
    run: RunOptions,
    *,
    person: str | None = None,
    copies: int = 1,
) -> CrossFit:
    """Return what models of halves of a sample of the people give away, where rows are in a file or on a cluster."""
    found, sample = cross_fit_file(
        original, synthesiser, settings, person=person, copies=copies, **options_of(run)
    )
    crossed = _half(found)
    notes = (*crossed.about.notes, *sample.sentences)
    return replace(
        crossed,
        note=" ".join([crossed.note, *sample.sentences]),
        about=replace(crossed.about, sample=sample, notes=notes),
    )


def _half(crossed: RiskResult) -> CrossFit:
    return CrossFit(
        about=crossed.about,
        attacks=crossed.attacks,
        family=crossed.family,
        memorisation_tests=crossed.memorisation_tests,
        together=crossed.together,
        note=HALF_SIZE,
    )


def options_of(run: RunOptions) -> dict[str, Any]:
    """Return what studies take of a run."""
    return {"seed": run.seed, "threads": run.threads, "progress": run.progress}
