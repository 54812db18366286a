"""A metric in one place: its quantity, its name and direction, its references, its sentences, what it needs.

A metric is measured on the synthetic table and, beside it, on tables that give its number a scale. It registers itself in
`METRICS`, and is then found by results, pages, comparisons and `--help`:

    METRICS.register(Metric(name="spread", kind=Spread, measure=lambda run, side: spread(run.original, run.tables[side]), ...))
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from statistics import fmean
from typing import Any, ClassVar

import numpy as np

from .._base.checks import check_name
from .._base.errors import InputError
from .._base.registry import Registry
from .._base.results import LeftOut, to_plain
from .._base.runtime import Progress, silent
from .._base.seeds import child
from .._base.text import number, percent
from ..stats.intervals import Direction, Result
from ..stats.learners import CLASSIFIERS, QUICK
from ..stats.sampled import Records
from ..table import Table
from ..table.rows import Rows
from .settings import ALL_SPLITS, QUICK_SPLITS, UtilitySettings

GROUPS = {
    "columns": "Each column by itself",
    "relations": "How columns are related",
    "whole": "The table as a whole",
    "uses": "Working with the table",
}
"""What a metric looks at, in the order of a page."""


@dataclass(frozen=True)
class References:
    """A metric's value for a table of independent columns (`marginals`), for the original's own records drawn with
    replacement (`resample`: all relations stay, only the noise of drawing) and for a `holdout`; None where there is none."""

    marginals: float | None = None
    resample: float | None = None
    holdout: float | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class UtilityRun:
    """The tables of a study on one grid, its settings, and the results so far."""

    original: Table
    tables: Mapping[str, Table]
    """`synthetic`, the references `marginals` and `resample`, a `holdout` if there is one."""
    rows: Mapping[str, Rows]
    """The same with all records, and the original: the tables are samples of them unless they are in memory."""
    settings: UtilitySettings
    root: np.random.SeedSequence
    threads: int | None = None
    progress: Progress = silent
    results: dict[str, dict[str, Result]] = field(default_factory=dict)
    """By metric and table."""
    stream: int = 0
    """The number of the random stream of the metric that is being measured."""
    holdout_notes: tuple[str, ...] = ()
    """What is to be said of the holdout."""

    @property
    def sampled(self) -> bool:
        """Whether the tables are samples of what was not read into memory."""
        return not self.rows["original"].in_memory

    def over_all_records(self) -> UtilityRun:
        """Return the run with all records in the place of samples of them: metrics that count take both."""
        if not self.sampled:
            return self
        rows: Any = self.rows
        return replace(
            self, original=rows["original"], tables={side: rows[side] for side in self.tables}
        )

    @property
    def seed(self) -> np.random.SeedSequence:
        """The metric's own stream, new each time: references are drawn as the synthetic table's value was."""
        return child(self.root, self.stream)


@dataclass(frozen=True, kw_only=True, eq=False)
class Metric:
    """A metric, whole: what it measures, and what a page says of it (`title`, `question`, `definition`, `source`).

    `phrases` are said when it is close, fair, weak, lost; each goes on with `detail`, which has `{value}`, `{percent}` (as a share) or
    `{gap}` (to the original). `limits` are how far from identical tables a value may be and still be called close, fair, weak, where no
    table of independent columns gives a scale; None where numbers of this metric mean nothing by themselves.
    """

    name: str
    """In results; a dot stands between a group of the plain data and its member, as `tvd.2`."""
    kind: type[Result]
    """Of its results, which says direction and what identical tables score."""
    measure: Callable[[UtilityRun, str], Result | None]
    """Of `run.tables[side]`; None where there is nothing to say."""
    title: str
    question: str
    definition: str
    phrases: tuple[str, str, str, str]
    detail: str = "it is {value}"
    source: str = ""
    group: str = "whole"
    """One of `GROUPS`."""
    position: int = 0
    """Of the metric in its group on a page; equal ones in the order of registration."""
    limits: tuple[float, float, float] | None = None
    scaled: bool = True
    """Independent columns are the bottom of its scale."""
    choice: str = ""
    """The word that asks for it; its name unless given."""
    needs: tuple[str, ...] = ()
    """Settings without which it is not measured, as `label`."""
    derived_from: tuple[str, ...] = ()
    """Metrics whose results it is made of: it comes with them, and is not asked for."""
    own_references: Callable[[Any], References] | None = None
    """That its result holds; measured on the synthetic table alone."""
    doing: str = ""
    """What a progress bar says."""
    thorough: bool = False
    """Takes long: measured where it is named, or where all measures are asked for."""
    members: str = ""
    """What members of its group are called in the settings of the plain data, as `widths`."""
    id: str = ""
    """In verdicts; the name, dots as underscores, unless given."""
    number: int | None = None
    """Of its random stream; from its choice unless given, so that it moves no other's draws."""
    counted: bool = False
    """Counts are all it needs: it is measured on all records of files that are read part by part, others on a sample."""

    def __post_init__(self) -> None:
        check_name("group", self.group, GROUPS)
        object.__setattr__(self, "choice", self.choice or self.name)
        object.__setattr__(self, "id", self.id or self.name.replace(".", "_"))

    @property
    def stream(self) -> int:
        """The number of its random stream."""
        if self.number is not None:
            return self.number
        return int.from_bytes(hashlib.sha256(self.choice.encode()).digest()[:8], "big")

    def applies(self, run: UtilityRun, asked: Iterable[str]) -> bool:
        """Return whether it is measured: its choice was asked for, or all it is made of is there."""
        if self.derived_from:
            return all(name in run.results for name in self.derived_from)
        return self.choice in asked and all(
            getattr(run.settings, need) is not None for need in self.needs
        )

    def run(self, run: UtilityRun) -> dict[str, Result]:
        """Return the results of the synthetic table and of its references, those that have any."""
        metric_run = replace(run.over_all_records() if self.counted else run, stream=self.stream)
        table_names = ("synthetic",) if self.own_references else tuple(run.tables)
        results = {side: self.measure(metric_run, side) for side in table_names}
        if run.sampled:
            records = self.records(run)
            results = {
                side: result and replace(result, settings={**result.settings, "records": records})
                for side, result in results.items()
            }
        return {side: result for side, result in results.items() if result is not None}

    def records(self, run: UtilityRun) -> Records:
        """Return whether it is measured on all records of files, or on a sample; what it is made of counts too."""
        if self.derived_from:
            return (
                "sample"
                if any(METRICS[name].records(run) == "sample" for name in self.derived_from)
                else "all"
            )
        return "all" if self.counted else "sample"

    def references(self, results: Mapping[str, Result]) -> References:
        """Return the values of the references."""
        if self.own_references is not None:
            return self.own_references(results["synthetic"])
        return References(*(_mean_value(results, side) for side in References.__annotations__))

    def sentence(self, grade: int, value: float) -> str:
        """Return the sentence for a value of a grade: 0 close, 1 fair, 2 weak, 3 lost."""
        gap = f"{number(abs(value))} {'lower' if value > 0 else 'higher'}" if value else "no lower"
        return f"{self.phrases[grade]}: {self.detail.format(value=number(value), percent=percent(value), gap=gap)}."


METRICS: Registry[Metric] = Registry(
    "metric",
    __package__,
    "phi_k",
    "mu",
    "pearson",
    "jensen_shannon",
    "tvd",
    "impossible",
    "rules",
    "pmse",
    "regression",
    "learning",
    "delta",
    "composite",
)


def _mean_value(results: Mapping[str, Result], side: str) -> float | None:
    """Return the mean over the draws of a reference: `resample`, `resample-2` and so on; None where one has no value."""
    values = [result.value for name, result in results.items() if name.partition("-")[0] == side]
    known = [value for value in values if value is not None]
    return fmean(known) if known and len(known) == len(values) else None


@dataclass(frozen=True, kw_only=True, repr=False)
class Distance(Result):
    """A number that is 0 for identical tables and grows as they differ; what it is made of are the fields it adds."""

    direction: ClassVar[Direction] = "lower is better"
    identical: ClassVar[float] = 0.0

    def details(self) -> dict[str, Any]:
        """Return what the number is made of: the fields that the metric adds, in their order."""
        common = {entry.name for entry in fields(Distance)}
        return {
            entry.metadata.get("key") or entry.name: to_plain(getattr(self, entry.name))
            for entry in fields(self)
            if entry.name not in common
        }


def choices() -> tuple[str, ...]:
    """Return the words that ask for metrics, in order."""
    return tuple(dict.fromkeys(metric.choice for metric in METRICS if not metric.derived_from))


def quick_choices() -> tuple[str, ...]:
    """Return the words that ask for the metrics of a quick run, in order."""
    slow = {metric.choice for metric in METRICS if metric.thorough}
    return tuple(word for word in choices() if word not in slow)


def left_out(settings: UtilitySettings) -> tuple[LeftOut, ...]:
    """Return what a run leaves out that was not named: to be quick, or because a setting is absent.

    A metric that is made of others is left out with them.
    """
    asked = asked_metrics(settings.measures, thorough=settings.thorough)
    known = choices() if settings.measures is None else asked
    out: list[LeftOut] = []
    skipped: set[str] = set()
    for metric in METRICS:
        needed = [need for need in metric.needs if getattr(settings, need) is None]
        if metric.derived_from:
            slow = bool(skipped & set(metric.derived_from))
        else:
            slow = metric.choice in known and metric.choice not in asked and not needed
        if slow:
            skipped.add(metric.name)
            out.append(LeftOut(metric.title))
        elif needed and metric.choice in known:
            out.append(LeftOut(metric.title, f"--{needed[0]}"))
    if "learning" in asked and settings.label is not None and not settings.thorough:
        if settings.models is None:
            out.append(
                LeftOut(
                    f"learners {' and '.join(name for name in CLASSIFIERS if name not in QUICK)}"
                )
            )
        if settings.repeats is None:
            out.append(LeftOut(f"{ALL_SPLITS - QUICK_SPLITS} of {ALL_SPLITS} splits for learners"))
    return tuple(out)


def asked_metrics(measures: Sequence[str] | None, *, thorough: bool = True) -> tuple[str, ...]:
    """Return the words that ask for metrics, checked; unless some are named all of them, or all that are quick.

    Names with a minus are left out of those that would be measured.
    """
    known = choices()
    default = known if thorough else quick_choices()
    if measures is None:
        return default
    if not measures:
        raise InputError(f"Name at least one measure of {', '.join(known)}.")
    excluded = [name[1:] for name in measures if name.startswith("-")]
    if 0 < len(excluded) < len(measures):
        raise InputError("measures names measures to take (A,B) or to leave out (-A,-B), not both.")
    for name in excluded or measures:
        check_name("measure", name, known)
    return tuple(name for name in default if name not in excluded) if excluded else tuple(measures)
