"""The whole journey, from a table to what one can decide by: `chaffinch.release`, and the result that it gives.

A result is the tables, their model, and a report that can be read back from its JSON.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from .._base.errors import InputError, unknown_name
from .._base.files import filling, write_json
from .._base.options import takes
from .._base.results import LeftOut, RunFacts
from .._base.runtime import Progress, Stages
from ..report.decision import Decision, left_out_of
from ..report.release import render
from ..report.result import ReportResult, report_of
from ..risk import RiskResult, cross_fit, measure_risk
from ..risk.crossfit import HALF_SIZE, LEAST_ROWS
from ..risk.policy import RiskPolicy
from ..risk.study import ONE_ROW_EACH
from ..risk.verdict import LimitVerdict
from ..stats.intervals import LimitState
from ..stats.learners import chosen_models
from ..synth import Model
from ..synth.protocol import promises_privacy
from ..table import Schema, Table
from ..table.holdout import (
    check_holdout,
    check_holdout_file,
    check_holdout_share,
    set_aside_note,
)
from ..utility import UtilityResult, measure_utility
from .engines import ComparedTables, Original, engine_of, set_people_aside
from .local import copy_paths, file_paths, write_batches
from .run import CONFIDENTIAL, FOLDERS, ResultFolder, RunOptions, start_run
from .settings import ReleaseSettings
from .synthesise import Synthesis

if TYPE_CHECKING:
    from ..keywords import ReleaseOptions

R = TypeVar("R", UtilityResult, RiskResult)
STAGES = ("reading", "learning", "drawing", "measuring", "attacking", "reporting")
"""The stages of a release, as a clock names them."""


@takes(ReleaseSettings)
def release(
    data: Any,
    *,
    holdout: Any = None,
    settings: ReleaseSettings | None = None,
    seed: int | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    **options: Unpack[ReleaseOptions],
) -> ReleaseResult:
    """Synthesise a table, measure it, attack it, and return all that one decides by.

    With keys and sensitive columns the table is attacked with these; the memorisation tests of whole records are always run. With an epsilon, or a
    method that has one, the table promises privacy: that needs a schema that declares the domain. Without `thorough` the same figures are had in a tenth of
    the time or less, and `result.left_out` says which are not. `result.limit` says what all attacks and tests together say of `max_excess`: `exceeds`,
    `shown to keep` or `undecided`. A table that exceeds it is saved in `confidential/refused`.

    Parameters
    ----------
    data, holdout
        Tables, paths or frames. A holdout holds people of the same population who are not in the data; without one, models are fitted
        on each half of the people in turn to say what the table tells beyond that. One with people of the data is refused. `holdout_share` sets people of
        the data aside by the seed (no seed is seed 0), all rows of a person together: the model is fitted to the others, and `chaffinch.risk` with
        the same share and seed sets the same people aside. A `Table` keeps its schema, of which levels and bins were inferred from all of its people.
    settings
        What is made, measured and attacked, where it is not given one by one. A method may be a synthesiser, as `BayesNet(parents=2)`, with settings of
        its own. With `engine="stream"` the synthetic table is in a temporary file until the result is saved.
    seed, threads
        A number for tests and repeated runs; with a privacy guarantee it leaves no privacy. Cores to use.
    progress
        Called with what is being done and the share done. None: a bar where a notebook watches.

    Raises
    ------
    InputError
        If a column does not exist, or a setting breaks a rule.
    LedgerError
        If the project ledger does not allow it. Nothing was read then.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"age": [1, 2, 3, 4] * 25, "sex": ["f", "m"] * 50, "ill": ["no", "yes", "no", "no"] * 25})
    >>> result = release(table, label="ill", measures=["tvd"], seed=1)
    >>> result.synthetic
    Table(100 rows x 3 columns: age, sex, ill)
    """
    asked = ReleaseSettings.chosen(settings, options)
    if asked.title is not None:
        asked = replace(asked, synthesis=replace(asked.synthesis, entry=asked.title))
    with start_run(seed=seed, threads=threads, progress=progress) as run:
        return run_release(data, asked, holdout=holdout, run=run)


def run_release(
    data: Any,
    settings: ReleaseSettings,
    *,
    holdout: Any = None,
    holdout_checked: bool = False,
    run: RunOptions,
    outputs: Sequence[Path] = (),
) -> ReleaseResult:
    """Return a release under some settings; with `outputs` its tables are written there while they are drawn.

    `holdout_checked`: that the holdout is one was checked before.

    1. Check the settings against the schema, and charge the project ledger, before a record is read.
    2. Read the table, without people who are set aside, and check that the holdout is one.
    3. Fit a model.
    4. Draw the syntheses.
    5. Bring all tables onto one grid, once.
    6. Measure what the first synthesis is worth.
    7. Attack all of them.
    8. Account for it: the report.
    """
    policy = _check(settings, data, holdout)
    stages = Stages(run.progress, STAGES)
    run = replace(run, progress=stages)
    stages.enter("reading")
    with Synthesis(settings.synthesis, run, outputs, measured=True) as synthesis:
        people = _read(synthesis, settings, data, holdout, checked=holdout_checked)
        stages.enter("learning")
        model = synthesis.fit()
        stages.enter("drawing")
        names = tuple(path.name for path in outputs) or _table_names(synthesis, data)
        folder = None if outputs else _temporary_outputs(synthesis, names)
        tables = synthesis.draw(model, hold=settings.synthesis.copies if synthesis.in_memory else 0)
        original = synthesis.original
        compared = original.compared(tables, synthesis.outputs, people.holdout, run.seed)
        study = _ReleaseStudy(settings, policy, run, compared, original, people)
        stages.enter("measuring")
        utility = study.utility(names[0])
        stages.enter("attacking")
        risk = study.risk(names)

    stages.enter("reporting")
    report = report_of(
        utility,
        title=settings.title or f"Synthetic {people.name or 'table'}",
        synthesis=replace(synthesis.account(model), given=settings.option_texts()),
        risk=risk,
        threshold=settings.utility.threshold,
    )
    return ReleaseResult(
        model=model,
        tables=tables,
        names=names,
        report=report,
        files=() if folder is None else tuple(synthesis.outputs),
        folder=folder,
    )


def _check(settings: ReleaseSettings, data: Any, holdout: Any) -> RiskPolicy:
    """Raise where settings, the engine and the holdout do not go together; return what the release is judged by."""
    check_holdout_share(settings.attack.holdout_share, holdout)
    policy = settings.policy(holdout=holdout is not None)
    chosen_models(settings.utility.models, task="classification")
    execution = settings.synthesis.execution
    engine_of(execution.engine, execution.cache).check_release(settings)
    check_holdout_file(data, holdout)
    return policy


@dataclass(frozen=True, eq=False)
class _ReleasedPeople:
    """Whom a release is compared with: the holdout, whether it was checked to be one, what is noted of it, and names of files."""

    holdout: Any
    holdout_checked: bool
    notes: tuple[str, ...]
    name: str | None
    holdout_name: str | None


def _read(
    synthesis: Synthesis, settings: ReleaseSettings, data: Any, holdout: Any, *, checked: bool
) -> _ReleasedPeople:
    """Read the original, without people who are set aside, and check that the holdout is one."""
    share, reading = settings.attack.holdout_share, settings.synthesis.reading
    name, holdout_name = _name(data), _name(holdout)
    source, aside = data, holdout
    notes: tuple[str, ...] = ()
    if share is not None:
        person, seed = settings.synthesis.roles.person, synthesis.run.seed
        source, aside = set_people_aside(data, reading, share, seed=seed, person=person)
        notes = (set_aside_note(share),)
    others = None if aside is None else synthesis.engine.other(aside, reading)

    def check(schema: Schema) -> None:
        settings.check(schema)
        if others is not None:
            _check_columns(schema, list(others.columns), holdout_name)

    # The synthetic table is about as large as the original, and is in memory beside it.
    files = [*file_paths(data), *file_paths(data if share is not None else holdout)]
    rows = synthesis.read(source, check, files=files)
    if others is not None and not checked and rows is not None:
        others, holdout_notes = check_holdout(rows, others, set_aside=share is not None)
        notes = (*notes, *holdout_notes)
    return _ReleasedPeople(others, checked or rows is not None, notes, name, holdout_name)


def _table_names(synthesis: Synthesis, data: Any) -> tuple[str, ...]:
    """Return the names of the files of synthetic tables, with the ending of the original's."""
    output = Path(f"synthetic{synthesis.engine.ending(data)}")
    return tuple(path.name for path in copy_paths(output, synthesis.settings.copies))


def _temporary_outputs(
    synthesis: Synthesis, names: Sequence[str]
) -> TemporaryDirectory[str] | None:
    """Return a temporary folder that tables are drawn into; None where they are held in memory."""
    if synthesis.in_memory:
        return None
    folder = TemporaryDirectory(prefix="chaffinch-release-", ignore_cleanup_errors=True)
    synthesis.outputs = [Path(folder.name) / name for name in names]
    return folder


ROWS_APART = "People have several rows. Intervals of what the table is worth take each row for itself, and are too narrow for that: those of --engine memory take persons."
HOLDOUT_ROWS = "Each row of the holdout was taken for a person of its own."
"""What is said of files in which people have several rows, and that are measured row by row."""


@dataclass(frozen=True, eq=False)
class _ReleaseStudy:
    """What is measured of a release, and what it gives away."""

    settings: ReleaseSettings
    policy: RiskPolicy
    run: RunOptions
    tables: ComparedTables
    original: Original
    people: _ReleasedPeople

    def _named(self, result: R, synthetic: Any) -> R:
        """Return a result with the names of the files it is about."""
        named: R = result.named(
            original=self.people.name, synthetic=synthetic, holdout=self.people.holdout_name
        )
        return named

    def utility(self, name: str) -> UtilityResult:
        """Return what the first synthesis is worth: where rows are not in memory, of all records where counts are enough, else of a sample."""
        tables, notes = self.tables, self.people.notes
        result = measure_utility(
            tables.original,
            tables.syntheses[0],
            tables.holdout,
            self.settings.utility,
            holdout_checked=self.people.holdout_checked,
            **self.run.options,
        )
        apart = () if tables.person is None else (ROWS_APART,)
        result = replace(
            result,
            about=replace(result.about, notes=(*notes, *apart, *result.about.notes)),
            run=replace(result.run, **self.run.facts),
        )
        return self._named(result, name)

    def risk(self, names: tuple[str, ...]) -> RiskResult:
        """Return what all syntheses give away; without a holdout with the excess of models fitted on each half of the people in turn."""
        tables, attack, notes = self.tables, self.settings.attack, self.people.notes
        result = measure_risk(
            tables.attacked,
            list(tables.syntheses),
            tables.holdout,
            attack,
            holdout_checked=self.people.holdout_checked,
            **self.run.options,
        )
        if tables.person is not None:
            notes = (*notes, ONE_ROW_EACH, *[HOLDOUT_ROWS] * (tables.holdout is not None))
        # A promise says more of whole records than tests do, and would be paid for anew by every further fit that is looked at.
        worth_fitting = tables.learnt.n_persons >= LEAST_ROWS and not promises_privacy(
            self.settings.synthesis.synthesiser
        )
        if tables.holdout is None and (attack.keys or worth_fitting):
            result = replace(result, cross_fit=self._halves())
        result = self.policy.classify(result, self.run.facts)
        about = replace(result.about, notes=(*notes, *result.about.notes))
        return self._named(replace(result, about=about), names)

    def _halves(self) -> RiskResult:
        """Return what models of half the people give away; of a sample of them, where rows are not in memory."""
        crossed = cross_fit(
            self.tables.learnt,
            self.original.method(self.settings.synthesis.synthesiser),
            self.settings.attack,
            person=self.tables.person,
            copies=len(self.tables.syntheses),
            **self.run.options,
        )
        sentences = () if crossed.about.sample is None else crossed.about.sample.sentences
        return replace(
            crossed,
            about=replace(crossed.about, notes=(*crossed.about.notes, *sentences)),
            note=" ".join([HALF_SIZE, *sentences]),
            run=RunFacts(),
        )


def _name(data: Any) -> str | None:
    """Return the name of a file; None where the data are none."""
    return Path(data).name if file_paths(data) else None


def _check_columns(schema: Schema, columns: Sequence[str], name: str | None) -> None:
    """Raise unless a holdout has the columns of a schema."""
    for column in schema.names:
        if column not in columns:
            what = f"'{name}'" if name else "the holdout"
            raise unknown_name(f"column of {what}", column, columns)


EARLIER = f"{CONFIDENTIAL}/report.json"
"""The file by which the folder of an earlier release is known."""


@contextmanager
def filling_release(
    folder: str | os.PathLike[str], *, paid: bool, overwrite: bool = False
) -> Iterator[ResultFolder]:
    """Give a folder to write a release into, all of it or nothing, in the place of an earlier release that may be replaced."""
    with filling(folder, overwrite=overwrite, paid=paid, names=FOLDERS, mark=EARLIER) as path:
        yield ResultFolder(path)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ReleaseResult:
    """What a release is: the synthetic tables, their model, what they are worth and what they give away.

    The model is confidential unless a private fit made it; the report always is, since its figures are taken from the original.

    Parameters
    ----------
    report
        What the tables are worth and give away, and how they were made: `report.json`.
    model
        The model; None where the release was read back from its JSON.
    tables
        The synthetic tables that are held in memory: all of them, unless they were written while they were drawn.
    names
        The names of their files.
    files
        Where they are until they are saved, if rows were read batch by batch: temporary files, removed with the result.
    """

    report: ReportResult
    model: Model | None = None
    tables: tuple[Table, ...] = ()
    names: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    folder: TemporaryDirectory[str] | None = None

    @property
    def utility(self) -> UtilityResult:
        """What the first synthetic table is worth."""
        assert (
            self.report.utility is not None
        )  # a release is always measured, and `from_dict` sees to it
        return self.report.utility

    @property
    def risk(self) -> RiskResult | None:
        """What the synthetic tables give away; None where they were not attacked."""
        return self.report.risk

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """What was not measured and not attacked with, to be quick, each with the option that brings it back."""
        return left_out_of(self.report)

    @property
    def synthetic(self) -> Table:
        """The synthetic table; the first of several, which is the one that was measured.

        Raises
        ------
        InputError
            If it was written batch by batch and is not in memory.
        """
        if not self.tables:
            raise InputError(
                "The synthetic table is in a file, not in memory: save() the result, and read or scan the file in its folder to-release."
            )
        return self.tables[0]

    @property
    def lower_bound(self) -> float | None:
        """What some excess is above with 95 % confidence, over all attacks; None where it cannot be said."""
        return None if self.risk is None else self.risk.lower_bound

    @property
    def limit(self) -> LimitVerdict | None:
        """What all attacks and tests together say of the limit on the excess; None where there was none."""
        return None if self.risk is None else self.risk.limit

    @property
    def refused(self) -> bool:
        """Whether the tables exceed their limit, so that they are not put where the release lies."""
        return self.limit is not None and self.limit.state is LimitState.EXCEEDS

    @property
    def decision(self) -> Decision:
        """What to decide by."""
        return self.report.decision

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data: `chaffinch-report`, version 2."""
        return self.report.to_dict()

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ReleaseResult:
        """Return the release that `report.json` tells of: its results, without its tables and its model.

        Raises
        ------
        InputError
            If the data are something else, or are not as they should be at some place.
        """
        report = ReportResult.from_dict(data)
        if report.utility is None or report.synthesis is None:
            raise InputError(
                "The data must be of a release. Got a report of a study alone. Give report.json of chaffinch release."
            )
        return cls(report=report)

    def to_html(self, *, public: bool = False) -> str:
        """Return the report as one HTML file, to be kept inside; or its `public` variant, which holds only what may leave."""
        return render(self.report, public=public)

    def save(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> tuple[Path, ...]:
        """Write the synthetic tables, the model and the report into a folder, all of them or none, and return where they are.

        `to-release` gets what is meant to leave once that is decided: the tables, and a model that a private fit made. `confidential`, which its
        owner alone can open, gets the report, whose figures are taken from the original, and a model that holds counts of records. Where a limit is
        exceeded, what was meant to leave is in `confidential/refused`.

        A folder that has these two is refused unless it holds an earlier release and `overwrite` is given: that release is then replaced. A release that a
        privacy budget was spent on replaces none, and is never replaced.
        """
        paid = self.model is not None and self.model.privacy is not None
        with filling_release(folder, overwrite=overwrite, paid=paid) as target:
            for name, table in zip(self.names, self.tables, strict=not self.files):
                write_batches(table, target.leaving / name)
            for file in self.files:
                copy = shutil.copytree if file.is_dir() else shutil.copyfile
                copy(file, target.leaving / file.name)
            names = self.write_beside(target)
        return tuple(Path(folder) / name for name in names)

    def write_beside(self, folder: ResultFolder) -> list[str]:
        """Write the model, the report and the shapes that it draws beside tables that are there, into the folders of `save`; return the names of all files.

        Tables that exceed their limit are moved from the folder of what leaves to `confidential/refused`.
        """
        if self.model is None:
            raise InputError(
                "A release that was read from its JSON has no tables and no model to write."
            )
        target = folder.inside if self.model.confidential else folder.leaving
        self.model.save(target / "model.chaffinch")
        folder.write_report("report", self.to_dict(), self.to_html())
        if self.utility.shapes is not None:
            write_json(folder.inside / "shapes.json", self.utility.shapes.to_dict(), mode=0o600)
        if self.refused:
            folder.refuse()
        return folder.finish()

    def show(self) -> None:
        """Print what to decide by."""
        print(self.decision)

    def __repr__(self) -> str:
        account, findings = self.report.synthesis, () if self.risk is None else self.risk.findings
        size = "" if account is None else f"{account.copies} x {account.rows or 0:,} rows, "
        return (
            f"ReleaseResult({size}{len(self.utility.results)} measures, {len(findings)} findings)"
        )

    def _repr_html_(self) -> str:
        return f"{self.decision._repr_html_()}{self.utility._repr_html_()}"
