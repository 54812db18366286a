"""What a study of utility returns: results by name, references beside them, and what was compared.

A verdict says in words what each number means for someone who wants to work with the synthetic table. A word says how much of the way a metric goes from a table of independent columns, which keeps no relation, to the best that can
be had: the holdout's value where there is one; else that of the original's own records drawn with replacement, which keep all
relations and have the noise of drawing alone; else what identical tables score. That share is `kept`,

    kept = (independent - value) / (independent - best), held to 0 ... 1,

and the word is `close` from 0.9, `fair` from 0.6, `weak` from 0.2, `lost` below. Some numbers have no such scale and go by limits of
their own (see `rules`): those that independent columns keep by construction, the pMSE ratio (Raab, Nowok and Dibben 2021 advise to
stay below 3 or 10), a regression's overlap, which has no lower end. Where independent columns come as near as the best that can be
had, there is nothing to keep: a value as good as either, or whose interval reaches so far, is close, any other lost.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from html import escape
from typing import Any, ClassVar, Self

from markupsafe import Markup

from .._base.checks import check_name
from .._base.results import (
    NOT_WRITTEN,
    UNLESS_NONE,
    LeftOut,
    PlainData,
    RunFacts,
    TabularResult,
    from_plain,
    html_page,
    html_table,
    plain_form,
    to_plain,
    without_none,
    write_page,
)
from .._base.svg import Dot, dots
from .._base.text import NONE, between, display_name, number, percent, text_table
from ..stats.intervals import Result
from ..stats.sampled import SampledRecords
from .composite import Sweep
from .metric import GROUPS, METRICS, Metric, References
from .shapes import TableShapes

HEAD = (
    "measure",
    "value",
    "95 % interval",
    "independent columns",
    "resampled",
    "holdout",
    "identical",
    "verdict",
)


@dataclass(frozen=True)
class TableSummary(PlainData):
    """A table as a report names it: its rows, small numbers masked, and its columns and name where they are told."""

    rows: int | str | None = field(default=None, metadata=UNLESS_NONE)
    columns: int | None = field(default=None, metadata=UNLESS_NONE)
    name: str | None = field(default=None, metadata=UNLESS_NONE)


@dataclass(frozen=True)
class ColumnSummary:
    """A column as it was compared."""

    name: str
    kind: str = ""
    levels: int | None = None
    role: str = ""


@dataclass(frozen=True, kw_only=True)
class UtilityAbout(PlainData):
    """What was compared: tables, columns, those that were not measured, label, seed, notes, what was left out to be quick, and what was sampled."""

    SUBJECT: ClassVar[str] = "'about'"

    original: TableSummary = TableSummary()
    synthetic: TableSummary = TableSummary()
    holdout: TableSummary | None = None
    columns: tuple[ColumnSummary, ...] = ()
    not_measured: tuple[str, ...] = ()
    label: str | None = None
    seed: int | None = None
    notes: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    sample: SampledRecords | None = field(default=None, metadata=UNLESS_NONE)


@dataclass(frozen=True, kw_only=True, repr=False)
class UtilityResult(TabularResult):
    """What a synthetic table is worth: results by name, references beside them, and what was compared.

    Parameters
    ----------
    results
        By the names of metrics; a marginal distance of width 2 is `tvd.2`.
    references
        For each name the same metric of a table of independent columns, of the original drawn again, and of the holdout.
    sweep
        mu, delta and G over a setting of a synthesiser, where that was measured too.
    shapes
        What a page draws of columns and pairs: confidential, so the plain data hold none.
    run
        How long each metric took, and what a command adds.
    """

    FORMAT: ClassVar[str] = "chaffinch-utility"
    NEXT_STEP: ClassVar[str] = "Give the JSON of chaffinch utility."

    about: UtilityAbout
    results: Mapping[str, Result] = field(
        metadata=plain_form(write=lambda result, results: result._plain_metrics(), spread=True)
    )
    references: Mapping[str, References] = field(metadata=NOT_WRITTEN)
    sweep: Sweep | None = field(default=None, metadata=UNLESS_NONE)
    shapes: TableShapes | None = field(default=None, compare=False, metadata=NOT_WRITTEN)
    run: RunFacts = field(default_factory=RunFacts, compare=False)

    def __getitem__(self, name: str) -> Result:
        check_name("measure", name, self.results)
        return self.results[name]

    @property
    def verdict(self) -> tuple[VerdictRow, ...]:
        """For each metric its number, its references, a word and a sentence, in the order of a page."""
        return verdict(self)

    def named(
        self, *, original: str | None, synthetic: str, holdout: str | None = None
    ) -> UtilityResult:
        """Return the result with the names of its tables."""
        about = self.about
        about = replace(
            about,
            original=replace(about.original, name=original),
            synthetic=replace(about.synthetic, name=synthetic),
            holdout=None if about.holdout is None else replace(about.holdout, name=holdout),
        )
        return replace(self, about=about)

    # Plain data.

    def _plain_metrics(self) -> dict[str, Any]:
        out: dict[str, Any] = {}
        members: dict[str, str] = {}
        for name, result in self.results.items():
            plain = {**result.to_dict(), "references": to_plain(self.references[name])}
            group, _, member = name.partition(".")
            if not member:
                out[name] = plain
                continue
            out.setdefault(group, {})[member] = plain
            if name in METRICS and METRICS[name].members:
                members[group] = METRICS[name].members
        for group, word in members.items():
            out[group]["settings"] = {word: [int(member) for member in out[group]]}
        return out

    @classmethod
    def _parsed(cls, data: Mapping[str, Any]) -> Self:
        """Return the result of plain data; metrics that are not registered are left out."""
        results, references = {}, {}
        for metric in METRICS:
            entry = _entry(data, metric.name)
            if entry is not None:
                results[metric.name] = metric.kind.from_dict(entry)
                metric_references = from_plain(
                    References, entry.get("references") or {}, what=f"'{metric.name}.references'"
                )
                if metric.own_references is not None and metric_references.marginals is None:
                    metric_references = metric.own_references(results[metric.name])
                references[metric.name] = metric_references
        return cls(
            about=UtilityAbout.from_dict(without_none(data.get("about"))),
            results=results,
            references=references,
            sweep=Sweep.from_dict(data["sweep"])
            if isinstance(data.get("sweep"), Mapping)
            else None,
            run=from_plain(RunFacts, without_none(data.get("run")), what="'run'"),
        )

    # What is shown.

    def rows(self) -> list[dict[str, Any]]:
        """Return the verdict, a row for each metric, with the ends of intervals as `low` and `high`."""
        return [
            {
                **{name: value for name, value in row.to_dict().items() if name != "interval"},
                **dict(zip(("low", "high"), row.interval or (None, None), strict=True)),
            }
            for row in self.verdict
        ]

    def show(self) -> None:
        """Print each metric's number beside its references, and the word for it."""
        print(text_table(HEAD, self._rows()))

    def to_html(
        self, path: str | os.PathLike[str] | None = None, *, overwrite: bool = False
    ) -> str:
        """Return the table, the picture and the sentences as one HTML file, and write it to a path if one is given."""
        sentences = "".join(f"<li>{escape(row.sentence)}</li>" for row in self.verdict)
        title = f"What {display_name(self.about.synthetic.name or 'the synthetic table')} is worth"
        page = html_page(title, f"{self._repr_html_()}<ul>{sentences}</ul>")
        if path is not None:
            write_page(path, page, overwrite=overwrite)
        return page

    def _rows(self) -> list[list[str]]:
        return [
            [row.measure, *("" if value is None else value for value in _numbers(row)), row.word]
            for row in self.verdict
        ]

    def __repr__(self) -> str:
        values = (
            f"{name} {r.value:.3g}" if r.value is not None else f"{name} n/a"
            for name, r in self.results.items()
        )
        return f"UtilityResult({', '.join(values)})"

    def _repr_html_(self) -> str:
        steps = ladder(self.verdict)
        return f"{html_table(HEAD, self._rows())}{ladder_plot('utility-ladder', steps) if steps else ''}"


def saying_of(sample: SampledRecords, results: Mapping[str, Result]) -> SampledRecords:
    """Return a sample with sentences that say which metrics are of all records and which of it."""
    titles: dict[str, list[str]] = {"all": [], "sample": []}
    for metric in METRICS:
        if metric.name in results:
            titles[results[metric.name].settings["records"]].append(metric.title)
    return sample.with_notes(titles["all"], titles["sample"])


def _numbers(row: VerdictRow) -> Iterable[str | None]:
    yield None if row.value is None else number(row.value)
    yield None if row.interval is None else between(row.interval)
    for value in (row.marginals, row.resample, row.holdout, row.identical):
        yield None if value is None else number(value)


def _entry(data: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    """Return the plain data of a metric; a group without any value stands for its first member."""
    group, _, member = name.partition(".")
    entry = data.get(group)
    if member and isinstance(entry, Mapping):
        first = (
            next(metric.name for metric in METRICS if metric.name.partition(".")[0] == group)
            == name
        )
        entry = entry if first and "not_applicable" in entry else entry.get(member)
    return entry if isinstance(entry, Mapping) else None


GRADE_LABELS = ("close", "fair", "weak", "lost")
NOT_APPLICABLE = "not applicable"
SHARES = (0.9, 0.6, 0.2)
"""The shares of the way from which a value is called close, fair, weak."""


@dataclass(frozen=True, kw_only=True)
class VerdictRow(TabularResult):
    """A metric's number, its references, a word and a sentence."""

    SUBJECT: ClassVar[str] = "a row of the verdict"

    section: str = "utility"
    id: str = ""
    measure: str = ""
    question: str = ""
    value: float | None = None
    interval: tuple[float, float] | None = None
    direction: str = ""
    identical: float | None = None
    marginals: float | None = None
    resample: float | None = None
    holdout: float | None = None
    best: float | None = None
    """The best that can be had: the holdout's value, else a resample's, else that of identical tables."""
    share_kept: float | None = field(default=None, metadata=plain_form(key="kept"))
    """The share of the way from independent columns to the best; None without such a scale."""
    word: str = ""
    sentence: str = ""

    @property
    def group(self) -> str:
        """What the metric looks at, as the heading of its rows; the section where the metric is not known."""
        group = next((metric.group for metric in METRICS if metric.id == self.id), "")
        return GROUPS[group] if group else self.section.capitalize()


def metrics_of(results: Iterable[str]) -> list[Metric]:
    """Return the metrics of some results in the order of a page."""
    names = set(results)
    groups = list(GROUPS)
    return sorted(
        (m for m in METRICS if m.name in names),
        key=lambda metric: (groups.index(metric.group), metric.position),
    )


def rules() -> tuple[str, ...]:
    """Return the rules above in sentences for readers, a footnote of every report."""
    limits = "; ".join(
        f"{metric.title}: {', '.join(number(limit) for limit in metric.limits)} away from identical tables"
        for metric in metrics_of(METRICS.names)
        if metric.limits and metric.scaled
    )
    return (
        "Words say how much of the way the synthetic table goes from independent columns (nothing kept) to the best that can be had: the "
        "holdout's value where there is one, else that of the original's own records drawn with replacement. Close: 90 % or more; fair: 60 % or more; weak: 20 % or more; lost: "
        "less. They describe nearness to the original, nothing else.",
        "Independent columns keep single columns by construction, so these go by limits of their own: Jensen-Shannon distance up to 0.05 is "
        "close, 0.1 fair, 0.2 weak; distance of 1-way tables up to 0.03, 0.07, 0.15; as good as the best that can be had is close.",
        "The pMSE ratio of a fresh sample is 1: up to 3 is close, up to 10 fair, up to 30 weak; no better than independent columns is lost.",
        "The overlap of a regression's confidence intervals has no lower end: from 0.9 is close, from 0.6 fair, from 0.2 weak; as good as the holdout "
        "is close, no better than independent columns is lost.",
        f"Where no table of independent columns was measured, words go by limits of each measure: {limits}.",
    )


def verdict(result: UtilityResult) -> tuple[VerdictRow, ...]:
    """Return one row for each metric of a result, in the order of a page."""
    return tuple(
        verdict_row(metric, result.results[metric.name], result.references[metric.name])
        for metric in metrics_of(result.results)
    )


def kept_share(value: float, marginals: float, best: float) -> float | None:
    """Return how much of the way from `marginals` to `best` a value goes, 0 to 1; None where the two are equal.

    Examples
    --------
    >>> kept_share(0.25, 1.0, 0.0), kept_share(2.0, 1.0, 0.0), kept_share(0.9, 0.5, 1.0)
    (0.75, 0.0, 0.8)
    """
    if marginals == best:
        return None
    return round(min(max((marginals - value) / (marginals - best), 0.0), 1.0), 12)


def verdict_row(metric: Metric, result: Result, references: References) -> VerdictRow:
    """Return the row of one result: its number, its references, a word and a sentence."""
    known = (references.holdout, references.resample, result.identical)
    row = VerdictRow(
        id=metric.id,
        measure=metric.title,
        question=metric.question,
        value=result.value,
        interval=None if result.value is None else result.interval,
        direction=result.direction,
        identical=result.identical,
        **{entry.name: getattr(references, entry.name) for entry in fields(references)},
        best=next(reference for reference in known if reference is not None),
        word=NOT_APPLICABLE,
    )
    if result.value is None:
        return replace(row, sentence=f"Not applicable: {result.reason.rstrip('.')}.")
    share, grade, tail = _grade(metric, row, result.value, row.best or 0.0)
    if grade is None:
        return replace(row, sentence=f"{metric.title} is {number(result.value)}. {tail}")
    sentence = f"{metric.sentence(grade, result.value)} {tail}".strip()
    return replace(row, share_kept=share, word=GRADE_LABELS[grade], sentence=sentence)


def _grade(
    metric: Metric, row: VerdictRow, value: float, best: float
) -> tuple[float | None, int | None, str]:
    """Return the share of the way to the best, the grade of the word (0 close to 3 lost), and what else the sentence says."""
    marginals = row.marginals if metric.group != "columns" else None
    no_worse = _comparer(row.direction)
    as_best = (row.holdout is not None or row.resample is not None) and no_worse(value, best)
    tail = (
        "Real records that were not used come no nearer."
        if as_best and row.holdout is not None
        else ""
    )
    if marginals is not None and metric.scaled and no_worse(marginals, best):
        reaches = row.interval is not None and row.interval[0] <= best <= row.interval[1]
        near = no_worse(value, best) or no_worse(value, marginals) or reaches
        return (
            None,
            0 if near else 3,
            "Independent columns come as near, so there is little here to keep.",
        )
    if marginals is not None and no_worse(marginals, value):
        return 0.0 if metric.scaled else None, 3, "That is no better than independent columns."
    if marginals is not None and metric.scaled:
        share = kept_share(value, marginals, best)
        return share, sum((share or 0.0) < limit for limit in SHARES), tail
    if metric.limits is None:
        return (
            None,
            None,
            "No table of independent columns was measured beside it, so there is no scale for a word.",
        )
    if as_best:
        return None, 0, tail
    identical = row.identical or 0.0
    away = identical - value if row.direction == "higher is better" else value - identical
    return None, sum(away > limit for limit in metric.limits), ""


def _comparer(direction: str) -> Callable[[float, float], bool]:
    higher = direction == "higher is better"
    return lambda first, second: first >= second if higher else first <= second


# The ladder: metrics that have a scale, each from independent columns to the best that can be had.

LADDER = "How far from independent columns to the best that can be had"


def ladder(rows: Sequence[VerdictRow]) -> list[tuple[VerdictRow, Dot]]:
    """Return the rows that have a scale, and where each stands on it with the ends of its interval."""
    steps = []
    for row in rows:
        if (
            row.share_kept is None
            or row.value is None
            or row.marginals is None
            or row.best is None
            or row.marginals == row.best
        ):
            continue
        shares = [(row.marginals - end) / (row.marginals - row.best) for end in row.interval or ()]
        # The share itself is held to 0 and 1. Its interval is not, or one beyond an end would be a point.
        ends: list[float | None] = (
            [min(*shares, row.share_kept), max(*shares, row.share_kept)] if shares else []
        )
        steps.append((row, Dot("synthetic table", row.share_kept, *ends)))
    return steps


def way_between(low: float | None, high: float | None) -> str:
    """Return an interval of a share of the way in words; it may lie beyond the ends, where shares are held to 0 and 1.

    Examples
    --------
    >>> [way_between(*ends).replace("\\xa0", " ") for ends in ((0.9, 0.95), (0.97, 1.1), (1.0, 1.2), (-0.2, 0.0), (-0.1, 1.1))]
    ['90 % to 95 %', '97 % to 100 % or more', '100 % or more', '0 % or less', '0 % or less to 100 % or more']
    >>> way_between(None, None)
    '–'
    """
    if low is None or high is None:
        return NONE
    ends = [
        f"{percent(min(max(end, 0.0), 1.0))}{' or more' * (end > 1)}{' or less' * (end < 0)}"
        for end in (low, high)
    ]
    if low >= 1:
        return ends[1]
    return ends[0] if high <= 0 else " to ".join(ends)


def ladder_plot(key: str, steps: Sequence[tuple[VerdictRow, Dot]]) -> Markup:
    """Return the picture of a ladder."""
    reference_phrases = {"as the holdout": "holdout", "as the original drawn again": "resample"}
    known = (
        phrase
        for phrase, side in reference_phrases.items()
        if any(getattr(row, side) is not None for row, _ in steps)
    )
    return dots(
        key,
        LADDER,
        "; ".join(f"{row.measure}: {dot.value:.0%}" for row, dot in steps),
        [(row.measure, [dot]) for row, dot in steps],
        ("synthetic table",),
        label="share of the way; the bar is the 95 % interval",
        low=0.0,
        high=1.0,
        ends=("0: independent columns", f"1: {next(known, 'as identical tables')}"),
    )
