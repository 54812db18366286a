"""Reports of tables with the same columns, side by side: which comes nearer to the original, which discloses less, and do their intervals overlap? As data, as text and as a page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from .._base.errors import InputError, join_names
from .._base.results import Leaving, PlainData, html_table, plain_form, to_plain
from .._base.text import (
    between,
    count_noun,
    display_name,
    format_fixed,
    format_signed,
    is_number,
    letter,
    number,
    text_table,
)
from ..risk.finding import (
    FOUND,
    NO_VALUE,
    NONE_FOUND,
    UNKNOWN,
    Finding,
    column_findings,
    record_findings,
)
from ..risk.result import RiskResult
from ..stats.intervals import Result
from ..utility.association import Association
from ..utility.jensen_shannon import JensenShannon
from ..utility.metric import METRICS, Metric
from ..utility.result import ColumnSummary, TableSummary, UtilityResult, ladder, metrics_of
from .charts import Matrices
from .decision import HEADLINES, gives_away
from .heads import (
    GIVES_AWAY,
    GOOD_FOR,
    NOT_TESTED,
    DecisionFigure,
    TestedLine,
    bars_picture,
    dots_picture,
    looks_picture,
)
from .page import PageContent
from .promise import PromiseLine, promise_notes, promise_rows
from .release import FROM_JSON, promises
from .result import ReportResult, as_report
from .runs import ReportDifference, differences, differing_blocks, names_of_reports
from .sections import (
    Block,
    Cell,
    Col,
    Figure,
    Grid,
    Listing,
    Num,
    PageAnswer,
    Paragraph,
    Section,
    Wide,
    page_table,
)
from .tradeoff import TradePoint, headline_step, reference_lines, tradeoff_figure
from .utility import pair_words

Comparable = ReportResult | UtilityResult | RiskResult | Mapping[str, Any]
Ends = tuple[float, float] | None

FORMAT, VERSION = "chaffinch-comparison", 5
MAX_CHANGES, MAX_CHANGES_PRINTED = 20, 5
MAX_FINDINGS, MAX_FINDINGS_PRINTED = 40, 5
HIGHER = "higher is better"
OVERLAP = "intervals overlap"
DECISIVE = frozenset(
    (
        "norm",
        "bins",
        "missing",
        "noise_correction",
        "alpha",
        "beta",
        "formula",
        "family",
        "label",
        "task",
        "score",
        "scores",
        "encoding",
        "models",
        "model",
        "labels",
        "null",
        "overlap",
        "test_share",
        "tested_on",
        "widths",
        "width",
        "codes",
        "values",
        "rows",
        "svm_rows",
        "base",
    )
)
"""Settings that decide what a number is a number of; others say how sure it is, or what was found on the way."""

DECISIVE_OF_ATTACKS = ("numeric", "rare", "tolerance", "tau", "svm_rows")
"""Settings that decide what the numbers of attacks are numbers of."""

UNCOVERED = Leaving(
    False,
    "A table that it compares carries a promise of privacy, and the figures on it are not covered by that.",
)


# What is compared.


@dataclass(frozen=True, kw_only=True)
class SharedRow(PlainData):
    """What several reports say of one measure or attack, in the order of the reports.

    Parameters
    ----------
    values, intervals
        The value in each, and its 95 % interval.
    best
        The letters of the best value and of those whose intervals reach it; empty where the numbers cannot be compared.
    why
        Why they cannot be.
    """

    values: tuple[float | None, ...]
    intervals: tuple[Ends, ...]
    best: tuple[str, ...] = ()
    why: str = ""

    @property
    def difference(self) -> float | None:
        """The second value less the first, of two reports."""
        first, *_, last = self.values
        return None if first is None or last is None or len(self.values) != 2 else last - first

    @property
    def verdict(self) -> str:
        """The best in words, or why none is."""
        if self.why:
            known = all(value is not None for value in self.values)
            return f"not comparable: {self.why}" if known else self.why
        if len(set(self.values)) == 1:
            return "equal"
        if len(self.best) == len(self.values):
            return OVERLAP
        bare = len(self.best) == 1 and not any(self.intervals)
        return ", ".join(self.best) + (" (no interval)" if bare else "")


@dataclass(frozen=True, kw_only=True)
class MeasureRow(SharedRow):
    """A measure of all tables; `best` are those nearest to the original."""

    id: str
    measure: str
    direction: str


@dataclass(frozen=True, kw_only=True)
class FindingRow(SharedRow):
    """What an attack found in all tables; `best` are the safest.

    Attacks on columns are compared by their values, memorisation tests by their excesses: the intervals are of these. `verdict_words` say whether an excess was
    found, over all attacks of the report together.
    """

    attacker: str
    name: str
    keys: tuple[str, ...]
    sensitive: str
    target: str
    excesses: tuple[float | None, ...]
    verdict_words: tuple[str, ...] = field(metadata=plain_form(key="words"))

    @property
    def has_excess(self) -> bool:
        """Whether an excess was found in any of the reports."""
        return FOUND in self.verdict_words

    @property
    def excess_words(self) -> list[str]:
        """Whether an excess was found in each report, with the excess where it is stated."""
        return [
            word if excess is None else f"{format_signed(excess)}, {word}"
            for word, excess in zip(self.verdict_words, self.excesses, strict=True)
        ]


@dataclass(frozen=True)
class Change:
    """How far a column, or the relation of two, is from the original in each report."""

    columns: tuple[str, ...]
    values: tuple[float, ...]

    @property
    def spread(self) -> float:
        """The largest value less the smallest."""
        return max(self.values) - min(self.values)


@dataclass(frozen=True)
class SettingRow:
    """A setting of a measure that differs, what it is in each report, and whether that keeps its numbers from being compared."""

    id: str
    measure: str
    setting: str
    values: tuple[Any, ...]
    matters: bool


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Reports side by side, called A, B and so on.

    Parameters
    ----------
    names
        What they are: made of what differs.
    differing
        What differs in how the tables were made.
    measures
        Each measure of any report: values, intervals, and which is nearest to the original.
    findings
        Each attack and test that all reports have: values, intervals and excesses, and which is safest; those with an excess found in any report first,
        then those that differ most.
    columns, pairs
        The columns and pairs that differ most: distance from the original in each.
    settings
        Settings that differ, and whether that keeps numbers from being compared.
    promises, promise_notes
        What is promised in each, row by row in words, none where no table came with an account of privacy; and what to know where these are different.
    notes
        What to know before reading on.
    picture, answers, leaving
        What a page shows first: risk beside worth, what one decides by, and whether it may leave.
    """

    names: tuple[str, ...]
    differing: tuple[ReportDifference, ...]
    measures: tuple[MeasureRow, ...]
    findings: tuple[FindingRow, ...]
    columns: tuple[Change, ...]
    pairs: tuple[Change, ...]
    settings: tuple[SettingRow, ...]
    promises: tuple[PromiseLine, ...]
    promise_notes: tuple[str, ...]
    notes: tuple[str, ...]
    picture: Figure | None = field(default=None, compare=False)
    answers: tuple[PageAnswer, ...] = field(default=(), compare=False)
    leaving: Leaving = field(default=FROM_JSON, compare=False)

    @property
    def letters(self) -> tuple[str, ...]:
        """What reports are called in tables."""
        return tuple(letter(i) for i in range(len(self.names)))

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain data."""
        data = [entry.name for entry in fields(self) if entry.compare and entry.name != "names"]
        return {
            "format": FORMAT,
            "version": VERSION,
            "reports": dict(zip(self.letters, self.names, strict=True)),
            **{name: to_plain(getattr(self, name)) for name in data},
        }

    @property
    def head(self) -> tuple[str, ...]:
        """The columns of `rows`."""
        return ("measure", *self.letters, *self._difference, "nearest to the original")

    @property
    def _difference(self) -> list[str]:
        return ["B less A"] if len(self.names) == 2 else []

    def rows(self) -> list[tuple[str, ...]]:
        """Return the table of measures as text, one row for each; `head` names its columns."""
        return [
            (
                row.measure,
                *map(_value_words, row.values, row.intervals),
                *([number(row.difference)] if self._difference else []),
                row.verdict,
            )
            for row in self.measures
        ]

    def to_text(self) -> str:
        """Return the comparison as plain text for a terminal."""
        pairs = zip(self.letters, self.names, strict=True)
        blocks = ["\n".join(f"{key}: {name}" for key, name in pairs)]
        if self.promises:
            lines = [(row.what, *row.values) for row in self.promises]
            notes = (f"- {note}" for note in self.promise_notes)
            blocks.append("\n".join((text_table(("promised", *self.letters), lines), *notes)))
        if self.measures or not self.findings:
            blocks.append(text_table(self.head, self.rows()))
        blocks += [
            text_table((f"{title[0].lower()}{title[1:]}", *self.letters), lines)
            for title, _, changes in self._changes
            if (lines := [_change_words(row) for row in changes[:MAX_CHANGES_PRINTED]])
        ]
        blocks += [
            "\n".join(
                (f"{answer.question} {answer.sentence}", *(f"- {note}" for note in answer.notes))
            )
            for answer in self.answers[:1]
        ]
        if self.findings:
            printed = most_telling(self.findings, MAX_FINDINGS_PRINTED)
            lines = [
                (
                    f"{row.name}, {row.target}",
                    *(
                        f"{number(value)}, {word}"
                        for value, word in zip(row.values, row.excess_words, strict=True)
                    ),
                    *([format_signed(row.difference)] if self._difference else []),
                    row.verdict,
                )
                for row in printed
            ]
            head = ("attacks and tests", *self.letters, *self._difference, "safest")
            blocks.append(text_table(head, lines))
            if len(printed) < len(self.findings):
                blocks.append(
                    f"{len(printed)} of {len(self.findings):,} attacks and tests: all with an excess found, then those that differ most. All: --html PAGE or --json FILE."
                )
        remarks = [f"- {line}" for line in (*self.notes, *map(setting_words, self.settings))]
        return "\n\n".join([*blocks, *(["\n".join(remarks)] if remarks else [])])

    def to_html(self) -> str:
        """Return the comparison as one HTML file."""
        return self.page.html

    @property
    def page(self) -> PageContent:
        """The comparison as a page."""
        seeded = [
            key
            for row in self.promises
            if row.what == "promise"
            for key, line in zip(self.letters, row.values, strict=True)
            if "TEST ONLY" in line
        ]
        alarm = (
            f"TEST ONLY: {' and '.join(seeded)}. Seeded noise carries no promise of privacy."
            if seeded
            else ""
        )
        title = "Two reports" if len(self.names) == 2 else f"{len(self.names)} reports"
        return PageContent(
            f"{title} compared",
            tuple(self.sections()),
            facts=tuple(zip(self.letters, self.names, strict=True)),
            alarm=alarm,
            answers=self.answers,
            leaving=self.leaving,
        )

    def _repr_html_(self) -> str:
        return html_table(self.head, self.rows())

    @property
    def _changes(self) -> list[tuple[str, str, tuple[Change, ...]]]:
        """Columns and pairs that differ most: the caption, what a row is, and the rows."""
        return [
            ("Jensen-Shannon distance of columns that differ most", "Column", self.columns),
            ("How far phi_k is off, pairs that differ most", "Pair of columns", self.pairs),
        ]

    def sections(self) -> Iterator[Section]:
        """Yield the comparison as sections of a page."""
        blocks = differing_blocks(self.names, self.differing)
        yield Section("differing", "What differs between them", tuple(blocks))
        if self.picture is not None:
            yield Section("tradeoff", "Risk beside worth", (self.picture,))
        if self.promises:
            lines = [(row.what, *row.values) for row in self.promises]
            table = page_table(
                "The promises side by side", lines, Col("What"), *map(Wide, self.letters)
            )
            notes = tuple(Paragraph(note, "lead") for note in self.promise_notes)
            yield Section("promises", "What is promised", (*notes, table))
        if compared := tuple(self._measure_blocks()):
            yield Section("compared", "Measure by measure", compared)
        changed = [
            page_table(caption, map(_change_words, changes), Col(what), *map(Num, self.letters))
            for caption, what, changes in self._changes
            if changes
        ]
        if changed:
            yield Section("changed", "Where they differ most", (Grid(tuple(changed)),))
        if self.findings:
            yield Section("attacks", "What they give away", tuple(self._attack_blocks()))
        if self.settings:
            listing = Listing(tuple(map(setting_words, self.settings)))
            yield Section("settings", "Settings that differ", (listing,))

    def _measure_blocks(self) -> Iterator[Block]:
        if self.measures or not self.findings:
            yield Paragraph(_tally(self.measures), "lead")
        if self.notes:
            yield Listing(self.notes)
        if self.measures or not self.findings:
            yield page_table(
                "Each measure of every table",
                self.measures,
                Wide("Measure", lambda row: Cell(row.measure, row.direction)),
                *self._value_columns(
                    lambda row, i: between(row.intervals[i]) if row.intervals[i] else ""
                ),
                Wide("Nearest to the original", "verdict"),
                cards=True,
            )

    def _value_columns(self, note: Any) -> list[Col]:
        """A column for each report, with a note under each value; and the difference where there are two."""

        def cell(i: int) -> Callable[[SharedRow], Cell]:
            return lambda row: Cell(number(row.values[i]), note(row, i))

        columns: list[Col] = [Num(key, cell(i)) for i, key in enumerate(self.letters)]
        return columns + [
            Num(head, lambda row: format_signed(row.difference)) for head in self._difference
        ]

    def _attack_blocks(self) -> Iterator[Block]:
        for i, key in enumerate(self.letters):
            verdicts = [row.verdict_words[i] for row in self.findings]
            counts = [
                f"{word} by {count:,}"
                for word in (FOUND, NONE_FOUND, UNKNOWN, NO_VALUE)
                if (count := verdicts.count(word))
            ]
            yield Paragraph(
                f"{key}: of {count_noun(len(verdicts), 'attack or test', 'attacks and tests')} in all reports, {', '.join(counts)}.",
                "lead",
            )
        rows = most_telling(self.findings, MAX_FINDINGS)
        yield page_table(
            f"Each attack and test of every table{_of_all(rows, self.findings)}",
            rows,
            Wide("Attack or test", lambda row: Cell(row.name, row.target)),
            *self._value_columns(lambda row, i: row.excess_words[i]),
            Wide("Safest", "verdict"),
            cards=True,
        )
        yield Paragraph(
            "Lower is safer. Tests of whole records are compared by their excess, attacks on columns by how often they are right.",
            "note",
        )


def compare(*reports: Comparable, labels: Sequence[str] = ()) -> Comparison:
    """Return results of utility, of risk or of releases side by side, of tables with the same columns; their JSON will do.

    Values whose intervals overlap are not ranked. Numbers made with other settings, other levels or another label are shown, but none is called better.
    Promises of privacy stand side by side, with a note where they are different ones. `labels` say which run each report is of; by default their titles do.

    Raises
    ------
    InputError
        If there are fewer than two, one is something else, or their columns differ.
    """
    if len(reports) < 2:
        raise InputError(f"A comparison needs two reports or more. Got {len(reports)}.")
    known = [as_report(report, letter(i)) for i, report in enumerate(reports)]
    _check_columns(known)
    measured = [report.utility for report in known]
    settings = (*_settings(measured), *_risk_settings(known))
    names = names_of_reports(known, labels)
    return Comparison(
        names=names,
        differing=differences(known),
        measures=tuple(_measures(known, {row.id for row in settings if row.matters})),
        findings=tuple(_findings(known)),
        columns=_columns(measured),
        pairs=_pairs(measured),
        settings=settings,
        promises=promise_rows([report.privacy_promise for report in known]),
        promise_notes=tuple(promise_notes([report.privacy_promise for report in known])),
        notes=(*_notes(known), *_unmatched_words(known)),
        picture=tradeoff_of(known, names),
        answers=_answers(known, names),
        leaving=UNCOVERED if any(promises(report) for report in known) else FROM_JSON,
    )


def setting_words(row: SettingRow) -> str:
    """Return a setting that differs, in a sentence."""
    values = ", ".join(
        f"{display_name(value, 80)} in {letter(i)}" for i, value in enumerate(row.values)
    )
    end = "; its numbers are not comparable" if row.matters else ""
    return f"{row.measure}, {display_name(row.setting)}: {values}{end}."


def most_telling(rows: Sequence[FindingRow], limit: int) -> list[FindingRow]:
    """Return all rows in which an excess was found, and of the others as many as fill up `limit`."""
    positive = [row for row in rows if row.has_excess]
    others = [row for row in rows if not row.has_excess]
    return [*positive, *others[: max(limit - len(positive), 0)]]


def _of_all(rows: Sequence[Any], everything: Sequence[Any]) -> str:
    if len(rows) == len(everything):
        return ""
    return f", {len(rows)} of {len(everything):,}: all with an excess found, then those that differ most"


def _value_words(value: float | None, interval: Ends) -> str:
    return number(value) + (f" ({between(interval)})" if value is not None and interval else "")


def _change_words(row: Change) -> tuple[str, ...]:
    name = pair_words((row.columns[0], row.columns[1])) if len(row.columns) > 1 else row.columns[0]
    return (name if len(row.columns) > 1 else display_name(name), *map(format_fixed, row.values))


def _tally(rows: Sequence[MeasureRow]) -> str:
    verdicts = [
        f"nearest in {row.best[0]}"
        if len(row.best) == 1
        else "not comparable"
        if row.why
        else row.verdict
        if row.verdict in ("equal", OVERLAP)
        else f"nearest in {' and '.join(row.best)}"
        for row in rows
    ]
    counts = [f"{verdicts.count(verdict)} {verdict}" for verdict in dict.fromkeys(sorted(verdicts))]
    return f"Of {count_noun(len(rows), 'measure')}: {', '.join(counts) or 'none'}."


# Whether reports can be compared at all.


def _summaries(report: ReportResult) -> dict[str, ColumnSummary]:
    return {column.name: column for column in report.about.columns}


def _check_columns(reports: Sequence[ReportResult]) -> None:
    first = _summaries(reports[0])
    for i, report in enumerate(reports):
        names = _summaries(report)
        if any(
            study.risk is not None and not columns
            for study, columns in ((reports[0], first), (report, names))
        ):
            continue  # A study of risk alone lists no columns.
        only = [
            f"only in {side}: {join_names(display_name(name, 40) for name in mine if name not in theirs)}"
            for side, mine, theirs in (("A", first, names), (letter(i), names, first))
            if set(mine) - set(theirs)
        ]
        if only:
            raise InputError(
                f"Reports can be compared when their tables have the same columns. Got {'; '.join(only)}."
            )


def _other_levels(reports: Sequence[ReportResult]) -> list[str]:
    """Return columns that were compared on other kinds or other numbers of levels."""
    summaries = [_summaries(report) for report in reports]
    kinds = [{name: (c.kind, c.levels) for name, c in columns.items()} for columns in summaries]
    shared = [name for name in kinds[0] if all(name in columns for columns in kinds)]
    return [name for name in shared if len({columns[name] for columns in kinds}) > 1]


def _notes(reports: Sequence[ReportResult]) -> Iterator[str]:
    if levels := _other_levels(reports):
        yield (
            f"{join_names(display_name(name, 40) for name in levels)}: compared on other kinds or numbers of levels in some reports than in others, so the numbers "
            "of the reports are not comparable. Measure all with the same schema."
        )
    for what in ("original", "holdout"):
        tables = [getattr(report.about, what) for report in reports]
        if len({None if table is None else (table.name, table.rows) for table in tables}) > 1:
            descriptions = (
                f"{_table_words(table)} in {letter(i)}" for i, table in enumerate(tables)
            )
            yield f"The {what}s differ: {', '.join(descriptions)}."


def _table_words(table: TableSummary | None) -> str:
    if table is None or table == TableSummary():
        return "none"
    rows = count_noun(table.rows, "row") if table.rows else "rows that were not counted"
    about = f"about {rows}" if is_number(table.rows) else rows
    return f"{display_name(table.name or 'unnamed')} with {about}"


# Measures.


def _measures(reports: Sequence[ReportResult], apart: set[str]) -> Iterator[MeasureRow]:
    levels = bool(_other_levels(reports))
    measured = [report.utility for report in reports if report.utility is not None]
    names = [metric.name for result in measured for metric in metrics_of(result.results)]
    for metric in (METRICS[name] for name in dict.fromkeys(names) if name in METRICS):
        row = _measure(metric, reports)
        why = row.why or (
            "other levels" if levels else "other settings" if metric.id in apart else ""
        )
        yield replace(row, best=(), why=why) if why else row


def _measure(metric: Metric, reports: Sequence[ReportResult]) -> MeasureRow:
    results = [
        None if report.utility is None else report.utility.results.get(metric.name)
        for report in reports
    ]
    values = tuple(None if result is None else result.value for result in results)
    intervals = tuple(
        None if result is None or not result.interval else (result.interval[0], result.interval[1])
        for result in results
    )
    missing = [
        f"not measured in {letter(i)}"
        if result is None
        else f"not applicable in {letter(i)}: {display_name(result.reason, 200)}"
        for i, (result, value) in enumerate(zip(results, values, strict=True))
        if value is None
    ]
    direction = metric.kind.direction
    return MeasureRow(
        id=metric.id,
        measure=metric.title,
        direction=direction,
        values=values,
        intervals=intervals,
        best=best_of(values, intervals, higher=direction == HIGHER),
        why="; ".join(missing),
    )


def best_of(
    values: Sequence[float | None], intervals: Sequence[Ends], *, higher: bool
) -> tuple[str, ...]:
    """Return the letters of the best value and of those whose intervals reach it; none where a value is not known.

    Examples
    --------
    >>> best_of([0.1, 0.2, 0.3], [(0.05, 0.15), (0.14, 0.26), None], higher=False)
    ('A', 'B')
    """
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return ()
    ends = [interval or (value, value) for value, interval in zip(known, intervals, strict=True)]
    low, high = ends[known.index(max(known) if higher else min(known))]
    return tuple(
        letter(i) for i, (start, end) in enumerate(ends) if max(start, low) <= min(end, high)
    )


# Settings.


def _settings(results: Sequence[UtilityResult | None]) -> Iterator[SettingRow]:
    if any(result is None for result in results):
        return
    known = [result.results for result in results if result is not None]
    for metric in metrics_of(known[0]):
        measured = [each.get(metric.name) for each in known]
        values = [result for result in measured if result is not None and result.value is not None]
        if len(values) == len(known):
            yield from _setting_rows(
                metric.id, metric.title, [_flat(result) for result in values], DECISIVE
            )


def _setting_rows(
    key: str, measure: str, settings: Sequence[Mapping[str, Any]], decisive: Any
) -> Iterator[SettingRow]:
    for name in dict.fromkeys(name for each in settings for name in each):
        values = tuple(each.get(name) for each in settings)
        if any(value != values[0] for value in values):
            yield SettingRow(key, measure, name, values, name.split(".")[0] in decisive)


def _flat(result: Result) -> dict[str, Any]:
    """Return the settings of a result with dotted keys."""
    out = {key: getattr(result, key) for key in result.decisive}
    waiting = list(result.settings.items())
    while waiting:
        key, value = waiting.pop(0)
        if isinstance(value, Mapping):
            waiting = [(f"{key}.{inner}", v) for inner, v in value.items()] + waiting
        else:
            out[str(key)] = value
    return out


def _risk_settings(reports: Sequence[ReportResult]) -> Iterator[SettingRow]:
    """Yield the settings of attacks and tests that differ."""
    studies = [report.risk for report in reports if report.risk is not None]
    if len(studies) == len(reports):
        settings = [{"seed": risk.about.seed, **risk.about.settings} for risk in studies]
        yield from _setting_rows("risk", "Attacks and tests", settings, DECISIVE_OF_ATTACKS)


# Columns and pairs.


def _largest(changes: Iterable[Change]) -> tuple[Change, ...]:
    differing = [change for change in changes if change.spread]
    return tuple(sorted(differing, key=lambda change: -change.spread)[:MAX_CHANGES])


def _columns(results: Sequence[UtilityResult | None]) -> tuple[Change, ...]:
    distances = [
        distance.per_column
        if result is not None
        and isinstance(distance := result.results.get("jensen_shannon"), JensenShannon)
        else {}
        for result in results
    ]
    return _largest(
        Change((name,), tuple(each[name] for each in distances))
        for name in distances[0]
        if all(name in each for each in distances)
    )


def _pairs(results: Sequence[UtilityResult | None]) -> tuple[Change, ...]:
    """Return pairs whose phi_k is nearer to the original's in one table than in another."""
    relations = [None if result is None else result.results.get("phi_k") for result in results]
    known = [
        Matrices(phi, max_columns=1_000_000) for phi in relations if isinstance(phi, Association)
    ]
    if len(known) < len(results):
        return ()
    shared = [name for name in known[0].names if all(name in each.names for each in known)]
    off = []
    for each in known:
        index = {name: i for i, name in enumerate(each.names)}
        order = [index[name] for name in shared]
        off.append(np.abs(each.difference[np.ix_(order, order)]))
    spread = np.nan_to_num(np.tril(np.max(off, axis=0) - np.min(off, axis=0), -1))
    largest = np.argsort(-spread, axis=None, kind="stable")[:MAX_CHANGES]
    cells = [divmod(int(index), len(shared)) for index in largest if spread.flat[index]]
    return _largest(
        Change((shared[j], shared[i]), tuple(float(each[i, j]) for each in off)) for i, j in cells
    )


# Findings of attacks.


def findings_of(report: ReportResult) -> dict[tuple[object, ...], Finding]:
    """Return the findings of a report by what was tried: of whole records those of the cross-fit where it leads."""
    risk = report.risk
    if risk is None:
        return {}
    findings = (*column_findings(risk.findings), *record_findings(risk.leading.findings))
    return {finding.identity: finding for finding in findings}


def _shared_findings(reports: Sequence[ReportResult]) -> list[tuple[Finding, ...]]:
    first, *others = [findings_of(report) for report in reports]
    return [
        (finding, *(findings[key] for findings in others))
        for key, finding in first.items()
        if all(key in findings for findings in others)
    ]


def _compared_by(finding: Finding) -> tuple[float | None, Ends]:
    """Return the number that a finding is compared by, and its interval: the value of an attack on a column, the excess of a test of whole records."""
    if finding.on_column:
        return finding.value, finding.interval
    return finding.excess, finding.excess_interval


def _findings(reports: Sequence[ReportResult]) -> list[FindingRow]:
    """Return the findings that all reports have: those with an excess found in any first, then those farthest apart."""
    decisive = [
        {key: report.risk.about.settings.get(key) for key in DECISIVE_OF_ATTACKS}
        for report in reports
        if report.risk is not None
    ]
    apart = any(settings != decisive[0] for settings in decisive)
    rows = [_finding_row(shared, apart) for shared in _shared_findings(reports)]

    def spread(row: FindingRow) -> float:
        known = [value for value in row.values if value is not None]
        return max(known) - min(known) if len(known) == len(row.values) else 0.0

    return sorted(rows, key=lambda row: (not row.has_excess, -spread(row)))


def _finding_row(shared: Sequence[Finding], apart: bool) -> FindingRow:
    first = shared[0]
    numbers, intervals = zip(*map(_compared_by, shared), strict=True)
    missing = [
        f"{'not applicable' if finding.on_column else 'no excess'} in {letter(i)}: {display_name((finding.reason or 'no value').rstrip('.'), 200)}"
        for i, (finding, value) in enumerate(zip(shared, numbers, strict=True))
        if value is None
    ]
    conventions = {finding.convention for finding in shared}
    other = "other convention" if len(conventions) > 1 else "other settings" if apart else ""
    why = "; ".join(missing) or other
    return FindingRow(
        attacker=first.attacker,
        name=first.about.title,
        keys=first.keys,
        sensitive=first.sensitive,
        target=first.target,
        values=tuple(finding.value for finding in shared),
        intervals=intervals,
        excesses=tuple(finding.excess for finding in shared),
        verdict_words=tuple(finding.word for finding in shared),
        best=() if why else best_of(numbers, intervals, higher=False),
        why=why,
    )


def _unmatched_words(reports: Sequence[ReportResult]) -> Iterator[str]:
    """Yield how many attacks and tests are in some reports only."""
    by_report = [findings_of(report) for report in reports]
    groups: dict[tuple[int, ...], list[Finding]] = {}
    for key in dict.fromkeys(key for findings in by_report for key in findings):
        having = tuple(i for i, findings in enumerate(by_report) if key in findings)
        if len(having) < len(reports):
            groups.setdefault(having, []).append(by_report[having[0]][key])
    for having, findings in sorted(groups.items()):
        positive = sum(finding.excess_found for finding in findings)
        more = f", {positive:,} of them with an excess found" if positive else ""
        verb = "is" if len(findings) == 1 else "are"
        letters = " and ".join(map(letter, having))
        yield f"{count_noun(len(findings), 'attack')} {verb} in {letters} only{more}."


# The head of the page.


def _answers(reports: Sequence[ReportResult], names: Sequence[str]) -> tuple[PageAnswer, ...]:
    """Return what compared tables give away, what they are good for, and what none of them was tested for."""
    fit = all(len(name) <= 20 for name in names)  # a cut name says less than its letter
    labels = [f"{letter(i)}: {name}" if fit else letter(i) for i, name in enumerate(names)]
    return (
        _disclosure_answer(reports, labels),
        _utility_answer(reports, labels),
        _untested_answer(reports, labels),
    )


def _disclosure_answer(reports: Sequence[ReportResult], labels: Sequence[str]) -> PageAnswer:
    """What each report says of all its attacks and tests, and the one attack that all share as a picture: never the latter alone."""
    reported = [gives_away(report) for report in reports]
    verdicts = [answer.word or "not known" for answer in reported]
    if set(verdicts) == {"not assessed"}:
        return PageAnswer(
            GIVES_AWAY, "Not compared: no report has an attack or a test.", word="not assessed"
        )
    sentence = " ".join(
        f"{', '.join(letter(i) for i, verdict in enumerate(verdicts) if verdict == word)}: {word}."
        for word in dict.fromkeys(verdicts)
    )
    notes = [f"{letter(i)}: {answer.sentence}" for i, answer in enumerate(reported)]
    attacks = shared_attack(reports)
    if attacks is None:
        nothing = "The reports share no attack that has a value in each of them."
        return PageAnswer(GIVES_AWAY, sentence, notes=(*notes, nothing))
    best = best_of([a.value for a in attacks], [a.interval for a in attacks], higher=False)
    first = max(attacks, key=lambda finding: finding.rank)
    figures = [
        DecisionFigure(label, attack.value or 0.0, attack.interval)
        for label, attack in zip(labels, attacks, strict=True)
    ]
    leads = "furthest above a guess" if first.excess is None else "with the largest excess"
    lowest = (
        "the 95 % intervals overlap."
        if len(best) == len(reports)
        else f"lowest in {' and '.join(best)}."
    )
    shared = f"{first.description}, the attack on a column {leads} in any of them: {lowest}"
    picture = dots_picture("box-1", GIVES_AWAY, figures)
    return PageAnswer(GIVES_AWAY, sentence, picture, (*notes, shared))


def _utility_answer(reports: Sequence[ReportResult], labels: Sequence[str]) -> PageAnswer:
    steps = [step for report in reports if (step := headline_step(report.rows)) is not None]
    if len(steps) < len(reports) or len({row.id for row, _, _ in steps}) > 1:
        return PageAnswer(
            GOOD_FOR,
            "Not compared: the reports share no headline measure that has a scale in each of them.",
            word="not assessed",
        )
    best = best_of([step[1] for step in steps], [step[2] for step in steps], higher=True)
    nearest = (
        "the 95 % intervals overlap"
        if len(best) == len(reports)
        else f"{' and '.join(best)} {'come' if len(best) > 1 else 'comes'} nearest"
    )
    figures = [
        DecisionFigure(label, step[1], step[2]) for label, step in zip(labels, steps, strict=True)
    ]
    scale = ("independent columns", "the best that can be had")
    return PageAnswer(
        GOOD_FOR,
        f"By {steps[0][0].measure}, from {scale[0]} to {scale[1]}, {nearest}.",
        bars_picture("box-2", GOOD_FOR, figures, scale),
    )


def _untested_answer(reports: Sequence[ReportResult], labels: Sequence[str]) -> PageAnswer:
    lines = []
    for label, report in zip(labels, reports, strict=True):
        promise = report.privacy_promise
        account = None if promise is None else promise.account
        holds = promise is not None and promise.holds and account is not None
        promise_text = f"epsilon {account.epsilon:.4g}" if holds and account else "no promise"
        if account is not None and account.test_only:
            promise_text = "test only: no promise"
        tried = report.risk is not None and report.risk.findings
        state = "yes" if holds else "no"
        lines.append(
            TestedLine(label, state, f"{promise_text}, {'attacked' if tried else 'not attacked'}")
        )
    sentence = "What no report looked at is not compared either: membership, knowing the method, and singling out; a promise stands for its own table alone."
    return PageAnswer(NOT_TESTED, sentence, looks_picture("box-3", NOT_TESTED, lines))


def shared_attack(reports: Sequence[ReportResult]) -> tuple[Finding, ...] | None:
    """Return one attack that all reports have with a value, counted alike, the worst in any of them; None where they share none."""
    attacks = [
        row
        for row in _shared_findings(reports)
        if all(finding.on_column and finding.value is not None for finding in row)
        and len({finding.convention for finding in row}) == 1
    ]
    return max(attacks, key=lambda row: max(finding.rank for finding in row), default=None)


def tradeoff_of(reports: Sequence[ReportResult], names: Sequence[str]) -> Figure | None:
    """Return several tables in one picture of risk beside worth; None where they share no attack, or no measure with a scale."""
    attacks = shared_attack(reports)
    ids = [{row.id for row, _ in ladder(report.rows)} for report in reports]
    shared = [name for name in HEADLINES if all(name in measured for measured in ids)]
    if attacks is None or not shared:
        return None
    steps = [step for report in reports if (step := headline_step(report.rows, shared))]
    points = [
        TradePoint(letter(i), step[1], attack.value or 0.0, step[2], attack.interval)
        for i, (step, attack) in enumerate(zip(steps, attacks, strict=True))
    ]
    figure = tradeoff_figure(
        "fig-tradeoff",
        points,
        worth=steps[0][0],
        attack=attacks[0].description,
        lines=reference_lines(attacks[0]),
    )
    names_note = "; ".join(
        f"{letter(i)}: {display_name(name, 120)}" for i, name in enumerate(names)
    )
    return replace(figure, note=f"{names_note}.")
