"""The whole journey, from a table to what one can decide by: `chaffinch.release`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from .._base.errors import InputError, unknown_name
from .._base.html import write_page
from .._base.masking import THRESHOLD
from .._base.progress import Progress, silent
from .._base.safe_files import filling, write_text
from ..report.page import render
from ..report.result import ReportResult, report_of
from ..risk import RiskResult, RiskSettings, cross_fit, measure_risk
from ..risk.attribution.crossfit import HALF_SIZE
from ..risk.attribution.result import CrossFit
from ..stats.learners import chosen_models
from ..synth import SYNTHESISERS, MethodOptions, Model, Settings
from ..table import Schema, Table
from ..table.align import align
from ..table.formula import formula_of
from ..table.personal import warn_of
from ..table.sources import Source, open_source
from ..utility import UtilityResult, UtilitySettings, measure_utility
from .decision import Decision
from .policy import RiskPolicy
from .running import Observer, RunOptions
from .synthesise import ReadSettings, Synthesis, SynthesisSettings, copy_paths, write_batches

__all__ = ["ReleaseResult", "ReleaseSettings", "release", "run_release"]


@dataclass(frozen=True, kw_only=True)
class ReleaseSettings:
    """What is made, measured and attacked.

    Parameters
    ----------
    synthesis
        What is learnt and drawn, and what pays for it.
    utility
        What is measured.
    attack
        What an adversary knows and wants; None for no attack.
    label, keys, sensitive
        The roles of columns.
    max_excess
        The excess that is allowed; None where nothing is said.
    title
        Of the report.
    """

    synthesis: SynthesisSettings
    utility: UtilitySettings
    attack: RiskSettings | None = None
    label: str | None = None
    keys: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    max_excess: float | None = None
    title: str | None = None

    def __post_init__(self) -> None:
        if self.max_excess is not None and self.attack is None:
            raise InputError("max_excess needs an attack: name keys and sensitive columns.")
        if self.utility.svm_rows is not None and self.utility.svm_rows < 10:
            raise InputError(f"svm_rows must be at least 10, or None for all. Got {self.utility.svm_rows}.")
        if self.attack is not None and self.attack.threshold != self.threshold:
            raise InputError(f"A release has one threshold. Got {self.threshold} for utility, {self.attack.threshold} for attacks.")
        chosen_models(self.utility.models, task="classification")

    @property
    def threshold(self) -> int:
        """Records that must share a value or a cell before it may show."""
        return self.utility.threshold

    def check(self, schema: Schema, holdout: _Holdout) -> None:
        """Raise, before any work is done, if tables of a schema could not be measured and attacked so."""
        schema.with_roles(label=self.label, keys=self.keys, sensitive=self.sensitive)  # raises for columns that do not exist
        if self.utility.label is not None and self.utility.label not in schema.names:
            raise unknown_name("label", self.utility.label, schema.names)
        if self.utility.formula is not None:
            formula_of(self.utility.formula, schema)
        holdout.check(schema)
        if self.attack is not None:
            self.attack.check(schema)


@dataclass(frozen=True, eq=False)
class _Holdout:
    """People who are not in the data, opened once: of a file the header."""

    data: Table | Source | None = None
    name: str | None = None

    @classmethod
    def of(cls, data: Any) -> _Holdout:
        if data is None or isinstance(data, Table):
            return cls(data)
        return cls(open_source(data), Path(data).name if isinstance(data, str | os.PathLike) else None)

    @property
    def tables(self) -> list[Table | Source]:
        return [] if self.data is None else [self.data]

    def check(self, schema: Schema) -> None:
        """Raise unless it has the columns of a schema."""
        if self.data is None:
            return
        columns = list(self.data.schema.names)
        for name in schema.names:
            if name not in columns:
                raise unknown_name("column of " + (f"'{self.name}'" if self.name else "the holdout"), name, columns)


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
    """

    report: ReportResult
    model: Model | None = None
    tables: tuple[Table, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def utility(self) -> UtilityResult:
        """What the first synthetic table is worth."""
        assert self.report.utility is not None  # a release is always measured, and `from_dict` sees to it
        return self.report.utility

    @property
    def risk(self) -> RiskResult | None:
        """What the synthetic tables give away; None where they were not attacked."""
        return self.report.risk

    @property
    def synthetic(self) -> Table:
        """The synthetic table; the first of several, which is the one that was measured."""
        return self.tables[0]

    @property
    def lower_bound(self) -> float | None:
        """What some excess is above with 95 % confidence, over all attacks; None where it cannot be said."""
        return None if self.risk is None else self.risk.lower_bound

    @cached_property
    def decision(self) -> Decision:
        """What to decide by."""
        policy, promise = None if self.risk is None else self.risk.policy, self.report.promise
        return Decision.of(
            self.report.rows, self.report.risk_rows, "" if promise is None else promise.sentence,
            holdout=self.report.about.holdout is not None,
            allowed=None if policy is None or policy["max_excess"] is None else policy["passed"],
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data: `chaffinch-report`, version 1."""
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
            raise InputError("The data must be of a release. Got a report of a study alone. Give report.json of chaffinch release.")
        return cls(report=report)

    def to_html(self) -> str:
        """Return the report as one HTML file: keep it inside."""
        drawing = None if self.model is None else self.model.plot()
        return render(self.report, network_svg=None if drawing is None else drawing.svg)

    def save(self, folder: str | os.PathLike[str]) -> tuple[Path, ...]:
        """Write the synthetic tables, the model and the report into a folder, all of them or none, and return where they are."""
        with filling(folder) as part:
            for name, table in zip(self.names, self.tables, strict=True):
                write_batches(table, part / name)
            names = self.write_beside(part)
        return tuple(Path(folder) / name for name in names)

    def write_beside(self, folder: Path) -> list[str]:
        """Write the model, report.json and report.html, the latter readable by its owner alone, beside tables that are there; return all names."""
        if self.model is None:
            raise InputError("A release that was read from its JSON has no tables and no model to write.")
        self.model.save(folder / "model.chaffinch")
        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
        write_text(folder / "report.json", f"{text}\n")
        write_page(folder / "report.html", self.to_html())
        return sorted(path.name for path in folder.iterdir())

    def show(self) -> None:
        """Print what to decide by."""
        print(self.decision)

    def __repr__(self) -> str:
        made, attacks = self.report.synthesis, () if self.risk is None else self.risk.attacks
        size = "" if made is None else f"{made.copies} x {made.rows or 0:,} rows, "
        return f"ReleaseResult({size}{len(self.utility.results)} measures, {len(attacks)} attacks)"

    def _repr_html_(self) -> str:
        return f"{self.decision._repr_html_()}{self.utility._repr_html_()}"


def release(
    data: Any,
    *,
    label: str | None = None,
    sensitive: Sequence[str] = (),
    keys: Sequence[str] = (),
    holdout: Any = None,
    method: str | Settings = "bayesnet",
    schema: Schema | str | os.PathLike[str] | None = None,
    keep: Sequence[str] = (),
    person: str | None = None,
    rows: int | None = None,
    copies: int = 1,
    formula: str | None = None,
    measures: Sequence[str] | None = None,
    models: Any = None,
    repeats: int = 10,
    svm_rows: int | None = 5000,
    key_sizes: tuple[int, int] | None = None,
    attackers: Sequence[str] | None = None,
    max_excess: float | None = None,
    ledger: str | os.PathLike[str] | None = None,
    title: str | None = None,
    threshold: int = THRESHOLD,
    seed: int | None = None,
    threads: int | None = None,
    progress: Progress = silent,
) -> ReleaseResult:
    """Synthesise a table, measure it, attack it, and return all that one decides by.

    Parameters
    ----------
    data, holdout
        Tables, paths or frames. A holdout holds people of the same population who are not in the data; without one, models are fitted
        on each half of the people in turn to say what the table tells beyond that.
    label, sensitive, keys
        What learners predict; the columns to protect; and the columns that an outsider may know. With keys and sensitive columns the
        table is attacked.
    method
        A synthesiser, as `BayesNet(parents=2)`, or the name of one. With an epsilon, as `BayesNet(epsilon=1.0)`, it promises privacy:
        that needs a schema that declares the domain.
    schema, keep, person, rows, copies, ledger
        See `SynthesisSettings`.
    formula, measures, models, repeats, svm_rows
        See `UtilitySettings`.
    threshold
        Records that must share a value or a cell before it may show, in all that is returned and written.
    key_sizes, attackers
        See `chaffinch.risk`.
    max_excess
        The excess that is allowed: `result.decision.allowed` says whether the table keeps to it.

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
    names = {"sensitive": _names(sensitive, "sensitive"), "keys": _names(keys, "keys"), "keep": _names(keep, "keep")}
    synthesis = SynthesisSettings(
        synthesiser=_synthesiser(method, label, names["sensitive"], names["keep"]), reading=ReadSettings(schema=schema, threshold=threshold),
        keep=names["keep"], person=person, rows=rows, copies=copies, ledger=ledger, entry=title or "release",
    )  # fmt: skip
    attack = None
    if names["keys"] and names["sensitive"]:
        attack = RiskSettings(
            keys=names["keys"], sensitive=names["sensitive"], key_sizes=key_sizes, label=label,
            attackers=None if attackers is None else _names(attackers, "attackers"), svm_rows=svm_rows, threshold=threshold,
        )  # fmt: skip
    settings = ReleaseSettings(
        synthesis=synthesis, attack=attack, label=label, keys=names["keys"], sensitive=names["sensitive"],
        max_excess=max_excess, title=title,
        utility=UtilitySettings(
            label=label, formula=formula, measures=None if measures is None else _names(measures, "measures"), models=models,
            repeats=repeats, svm_rows=svm_rows, threshold=threshold,
        ),
    )  # fmt: skip
    run = RunOptions(seed=seed, threads=threads, progress=progress, observer=_Warner())
    return run_release(data, settings, holdout=holdout, run=run)


def run_release(
    data: Any, settings: ReleaseSettings, *, holdout: Any = None, run: RunOptions, outputs: Sequence[Path] = ()
) -> ReleaseResult:
    """Return a release under some settings; with `outputs` its tables are written there while they are drawn.

    1. Check the settings against the schema, and charge the project ledger, before a record is read.
    2. Read the table.
    3. Fit a model.
    4. Draw the syntheses.
    5. Bring all tables onto one grid, once.
    6. Measure what the first synthesis is worth.
    7. Attack all of them.
    8. Account for it: the report.
    """
    outside = _Holdout.of(holdout)
    synthesis = Synthesis(settings.synthesis, run)

    original = synthesis.read(data, lambda schema: settings.check(schema, outside))
    model, table = synthesis.fit(original)

    copies = settings.synthesis.copies
    hold = copies if settings.attack is not None or not outputs else 1
    tables = synthesis.draw(model, table, outputs, hold=hold)
    names = _file_names(data, copies) if not outputs else tuple(path.name for path in outputs)

    grid, *others = _one_grid(table, tables, outside)
    fresh = others[len(tables)] if outside.tables else None

    run.observer.before_measuring(table)
    source = Path(data).name if isinstance(data, str | os.PathLike) else None
    utility = measure_utility(
        grid, others[0], fresh, settings.utility, seed=run.seed, threads=run.threads, progress=run.progress
    ).named(original=source, synthetic=names[0], holdout=outside.name)
    utility = replace(utility, run=replace(utility.run, **run.facts))

    risk = None
    if settings.attack is not None:
        risk = _risk(grid, others[: len(tables)], fresh, table, settings, run)
        risk = risk.named(original=source, synthetic=names, holdout=outside.name)

    report = report_of(
        utility, title=settings.title or f"Synthetic {source or 'table'}", synthesis=synthesis.account(model, table), risk=risk,
        threshold=settings.threshold,
    )  # fmt: skip
    return ReleaseResult(model=model, tables=tables, names=names, report=report)


class _Warner(Observer):
    """Warns as `chaffinch.read` does: of columns that look personal."""

    def opened(self, notes: Any) -> None:
        warn_of(notes)

    def after_reading(self, table: Table, seconds: float) -> None:
        warn_of(table.notes)


def _one_grid(table: Table, tables: Sequence[Table], holdout: _Holdout) -> tuple[Table, ...]:
    """Return all tables on one grid: the original with all its columns, the syntheses, and the holdout.

    Each is encoded once; whoever brings them together again finds that they are.
    """
    many = [f"synthetic {i}" for i in range(1, len(tables) + 1)] if len(tables) > 1 else ["synthetic"]
    first, *others = align(table, *tables, *holdout.tables, names=[*many, "holdout"])
    columns = tuple(first.schema[column.name] if column.modelled else column for column in table.schema)
    return replace(table, schema=replace(table.schema, columns=columns), codes=first.codes), *others


def _risk(
    grid: Table, tables: Sequence[Table], holdout: Table | None, table: Table, settings: ReleaseSettings, run: RunOptions
) -> RiskResult:
    """Return what a release gives away; without a holdout with the excess of models fitted on each half of the people in turn."""
    assert settings.attack is not None
    options: dict[str, Any] = {"seed": run.seed, "threads": run.threads, "progress": run.progress}
    result = measure_risk(grid, list(tables), holdout, settings.attack, **options)
    if holdout is None:
        crossed = cross_fit(table, settings.synthesis.synthesiser, settings.attack, **options)
        half = CrossFit(about=crossed.about, attacks=crossed.attacks, family=crossed.family, note=HALF_SIZE)
        result = replace(result, cross_fit=half)
    return RiskPolicy(settings.max_excess).judged(result, run.facts)


def _file_names(data: Any, copies: int) -> tuple[str, ...]:
    """Return the names of the synthetic files: as the input came, CSV where it was no file."""
    ending = ".csv"
    if isinstance(data, str | os.PathLike):
        suffixes = Path(data).suffixes
        ending = "".join(suffixes[-2:]) if suffixes[-1:] == [".gz"] else "".join(suffixes[-1:])
    return tuple(path.name for path in copy_paths(Path(f"synthetic{ending}"), copies))


def _names(words: Sequence[str], what: str) -> tuple[str, ...]:
    """Return names as a tuple; raise for one word alone, which would be read letter by letter."""
    if isinstance(words, str) or not all(isinstance(word, str) for word in words):
        raise InputError(f"{what} must be a list of names, as ['age', 'sex']. Got {words!r}.")
    return tuple(words)


def _synthesiser(method: str | Settings, label: str | None, sensitive: tuple[str, ...], keep: tuple[str, ...]) -> Settings:
    """Return the method with the roles of columns in its settings, where it has them and they were not set there."""
    if isinstance(method, str):
        return SYNTHESISERS[method].from_options(MethodOptions(label=label, sensitive=sensitive, keep=keep))
    if not isinstance(method, Settings):
        raise InputError(f"method must be a synthesiser, as BayesNet(parents=3), or its name. Got {type(method).__name__}.")
    roles: dict[str, Any] = {"label": label, "sensitive": sensitive, "keep": keep}
    return method.set_params(
        **{name: value for name, value in roles.items() if value and not getattr(method, name, True)}
    )
