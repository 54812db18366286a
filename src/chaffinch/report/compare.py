"""Two reports of tables with the same columns: which comes nearer to the original, and can they be told apart? As data, as text and as a page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._base.errors import InputError, listed
from .._base.results import Leaving, to_plain
from .._base.text import (
    between,
    capital,
    count_noun,
    fixed,
    is_number,
    number,
    shown,
    signed,
    text_table,
)
from ..risk.finding import FOUND, NO_VALUE, NONE_FOUND, UNKNOWN, Finding
from ..risk.result import RiskResult
from ..stats.intervals import Result
from ..utility.association import Association
from ..utility.jensen_shannon import JensenShannon
from ..utility.metric import METRICS, Metric
from ..utility.result import ColumnSummary, TableSummary, UtilityAbout, UtilityResult, metrics_of
from .charts import Matrices
from .page import page
from .promise import PromiseLine, promise_notes, promise_rows
from .release import FROM_JSON
from .result import ReportResult, as_report
from .sections import (
    Block,
    Cell,
    Figure,
    Grid,
    Listing,
    PageAnswer,
    PageTable,
    Paragraph,
    Row,
    Section,
)
from .several import (
    ReportDifference,
    SeveralReports,
    compared_answers,
    compared_by,
    differences,
    differing_blocks,
    excess_words,
    findings_of,
    leaving_of_all,
    letter,
    most_telling,
    names_of_reports,
    several_reports,
    tradeoff_of,
)
from .utility import pair_words

Comparable = ReportResult | UtilityResult | RiskResult | Mapping[str, Any]
NO_UTILITY = UtilityResult(about=UtilityAbout(), results={}, references={})
MOST = 20
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


def compare_all(
    reports: Sequence[Comparable], labels: Sequence[str] = ()
) -> Comparison | SeveralReports:
    """Return two results or more side by side: two as `compare` does, more with every measure, attack and test that they share.

    `labels` say which run each report is of; unless given their titles do.
    """
    if len(reports) < 2:
        raise InputError(f"A comparison needs two reports or more. Got {len(reports)}.")
    if len(reports) == 2:
        return _compare(as_report(reports[0], "A"), as_report(reports[1], "B"), labels)
    every = [as_report(one, letter(i)) for i, one in enumerate(reports)]
    first, *others = every
    apart: set[str] = set()
    notes: list[str] = []
    for i, other in enumerate(others, start=1):
        _check_columns(first, other, letter(i))
        one, two = first.utility or NO_UTILITY, other.utility or NO_UTILITY
        settings = (*_settings(one, two), *_risk_settings(first, other))
        levels = _other_levels(first, other)
        apart |= (
            {metric.id for metric in metrics_of(one.results)}
            if levels
            else {row.id for row in settings if row.matters}
        )
        told = [
            *_notes(first, other, levels),
            *promise_notes(first.synthesis, other.synthesis),
            *map(setting_words, settings),
        ]
        notes += [re.sub(r"\bB\b", letter(i), sentence) for sentence in told]
    return several_reports(
        every, labels=labels, apart=frozenset(apart), notes=tuple(dict.fromkeys(notes))
    )


def compare(a: Comparable, b: Comparable) -> Comparison:
    """Return two results of utility, of risk or of a release side by side, of tables with the same columns; their JSON will do.

    Values whose intervals overlap cannot be told apart. Numbers made with other settings, other levels or another label are
    shown, but neither is called better. Promises of privacy stand side by side, with a note where they are different ones.

    Raises
    ------
    InputError
        If one of the two is something else, or their columns differ.
    """
    return _compare(as_report(a, "A"), as_report(b, "B"))


def _compare(first: ReportResult, second: ReportResult, labels: Sequence[str] = ()) -> Comparison:
    one, other = first.utility or NO_UTILITY, second.utility or NO_UTILITY
    _check_columns(first, second)
    settings = (*_settings(one, other), *_risk_settings(first, second))
    levels = _other_levels(first, second)
    apart = {row.id for row in settings if row.matters}
    rows = tuple(_measures(one, other, apart, bool(levels)))
    names = names_of_reports((first, second), labels)
    return Comparison(
        (names[0], names[1]),
        rows,
        _columns(one, other),
        _pairs(one, other),
        settings,
        (*_notes(first, second, levels), *_unmatched(first, second)),
        tuple(_findings(first, second)),
        promise_rows(first.synthesis, second.synthesis),
        tuple(promise_notes(first.synthesis, second.synthesis)),
        differing=differences((first, second)),
        answers=compared_answers((first, second), names),
        leaving=leaving_of_all((first, second)),
        picture=tradeoff_of((first, second), names),
    )


def _of_columns(report: ReportResult) -> dict[str, ColumnSummary]:
    return {column.name: column for column in report.about.columns}


def _check_columns(first: ReportResult, second: ReportResult, name: str = "B") -> None:
    one, other = _of_columns(first), _of_columns(second)
    if any(
        report.risk is not None and not columns
        for report, columns in ((first, one), (second, other))
    ):
        return  # A study of risk alone lists no columns.
    only = [
        f"only in {side}: {listed(shown(name, 40) for name in mine if name not in theirs)}"
        for side, mine, theirs in (("A", one, other), (name, other, one))
        if set(mine) - set(theirs)
    ]
    if only:
        raise InputError(
            f"Reports can be compared when their tables have the same columns. Got {'; '.join(only)}."
        )


def _other_levels(first: ReportResult, second: ReportResult) -> list[str]:
    """Return columns that were compared on other kinds or other numbers of levels."""
    one, other = _of_columns(first), _of_columns(second)
    shared = [name for name in one if name in other]
    return [
        name
        for name in shared
        if (one[name].kind, one[name].levels) != (other[name].kind, other[name].levels)
    ]


def _notes(first: ReportResult, second: ReportResult, levels: Sequence[str]) -> Iterator[str]:
    if levels:
        yield (
            f"{listed(shown(name, 40) for name in levels)}: compared on other kinds or numbers of levels in A than in B, so the numbers of "
            "the two reports are not comparable. Measure both with the same schema."
        )
    tables = (
        ("originals", first.about.original, second.about.original),
        ("holdouts", first.about.holdout, second.about.holdout),
    )
    for what, one, other in tables:
        if _same(one) != _same(other):
            yield f"The {what} differ: {_told(one)} in A, {_told(other)} in B."


def _same(table: TableSummary | None) -> tuple[Any, ...]:
    return (None, None) if table is None else (table.name, table.rows)


def _told(table: TableSummary | None) -> str:
    if table is None or table == TableSummary():
        return "none"
    about = (
        f"about {count_noun(table.rows, 'row')}"
        if is_number(table.rows)
        else count_noun(table.rows, "row")
        if table.rows
        else "rows that were not counted"
    )
    return f"{shown(table.name or 'unnamed')} with {about}"


# Measures.


def _measures(
    one: UtilityResult, other: UtilityResult, apart: set[str], other_levels: bool
) -> Iterator[MeasureRow]:
    names = [metric.name for result in (one, other) for metric in metrics_of(result.results)]
    for metric in (METRICS[name] for name in dict.fromkeys(names)):
        row = _row(metric, one.results.get(metric.name), other.results.get(metric.name))
        why = row.why or (
            "other levels" if other_levels else "other settings" if metric.id in apart else ""
        )
        yield replace(row, better=None, why=why) if why else row


def _row(metric: Metric, a: Result | None, b: Result | None) -> MeasureRow:
    values = [None if result is None else result.value for result in (a, b)]
    intervals = [
        result.interval if result is not None and result.interval else None for result in (a, b)
    ]
    missing = [
        f"not measured in {side}"
        if result is None
        else f"not applicable in {side}: {shown(result.reason, 200)}"
        for side, result, value in zip("AB", (a, b), values, strict=True)
        if value is None
    ]
    return MeasureRow(
        id=metric.id,
        measure=metric.title,
        direction=metric.kind.direction,
        a=values[0],
        b=values[1],
        interval_a=intervals[0],
        interval_b=intervals[1],
        difference=_less(values[1], values[0]),
        better=None if missing else _better(values, intervals, metric.kind.direction),
        why="; ".join(missing),
    )


def _less(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other


def _better(values: Sequence[Any], intervals: Sequence[Any], direction: str) -> str:
    """Return which of two values is better, or that their intervals overlap."""
    if values[0] == values[1]:
        return "equal"
    ends = [i if i else [v, v] for v, i in zip(values, intervals, strict=True)]
    if any(intervals) and max(ends[0][0], ends[1][0]) <= min(ends[0][1], ends[1][1]):
        return "cannot be told apart"
    return "A" if (values[0] > values[1]) == (direction == "higher is better") else "B"


# Settings.


def _settings(one: UtilityResult, other: UtilityResult) -> Iterator[SettingRow]:
    for metric in metrics_of(one.results):
        a, b = one[metric.name], other.results.get(metric.name)
        if a.value is None or b is None or b.value is None:
            continue
        mine, theirs = _flat(a), _flat(b)
        for key in dict.fromkeys([*mine, *theirs]):
            if mine.get(key) != theirs.get(key):
                matters = key.split(".")[0] in DECISIVE
                yield SettingRow(
                    metric.id, metric.title, key, mine.get(key), theirs.get(key), matters
                )


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


# Columns and pairs.


def _columns(one: UtilityResult, other: UtilityResult) -> tuple[ColumnChange, ...]:
    mine, theirs = (
        distances.per_column
        if isinstance(distances := result.results.get("jensen_shannon"), JensenShannon)
        else {}
        for result in (one, other)
    )
    rows = [
        ColumnChange(name, value, theirs[name], theirs[name] - value)
        for name, value in mine.items()
        if name in theirs and theirs[name] != value
    ]
    return tuple(sorted(rows, key=lambda row: -abs(row.change))[:MOST])


def _pairs(first: UtilityResult, second: UtilityResult) -> tuple[PairChange, ...]:
    """Return pairs whose phi_k is nearer to the original's in one table than in the other."""
    relations = [result.results.get("phi_k") for result in (first, second)]
    known = [Matrices(phi, most=1_000_000) for phi in relations if isinstance(phi, Association)]
    if len(known) < 2:
        return ()
    one, other = known
    place = {name: i for i, name in enumerate(other.names)}
    shared = [name for name in one.names if name in place]
    mine = [i for i, name in enumerate(one.names) if name in place]
    theirs = [place[name] for name in shared]
    off = [np.abs(m.difference[np.ix_(at, at)]) for m, at in ((one, mine), (other, theirs))]
    change = np.nan_to_num(np.tril(off[1] - off[0], -1))
    out = []
    for at in np.argsort(-np.abs(change), axis=None, kind="stable")[:MOST]:
        i, j = divmod(int(at), len(shared))
        if change[i, j]:
            out.append(
                PairChange(
                    (shared[j], shared[i]),
                    float(off[0][i, j]),
                    float(off[1][i, j]),
                    float(change[i, j]),
                )
            )
    return tuple(out)


# Findings of attacks.


def _findings(first: ReportResult, second: ReportResult) -> list[FindingRow]:
    """Return the findings that both reports have: those with an excess found in one of the two first, then those farthest apart."""
    one, other = findings_of(first), findings_of(second)
    apart = _attack_settings(first) != _attack_settings(second)
    rows = [_finding_row(one[key], other[key], apart) for key in one if key in other]
    return sorted(rows, key=lambda row: (not row.found, -abs(row.difference or 0.0)))


def _finding_row(a: Finding, b: Finding, apart: bool) -> FindingRow:
    sides = [compared_by(finding) for finding in (a, b)]
    missing = [
        f"{'not applicable' if finding.on_column else 'no excess'} in {side}: {shown((finding.reason or 'no value').rstrip('.'), 200)}"
        for side, finding, (value, _) in zip("AB", (a, b), sides, strict=True)
        if value is None
    ]
    other = (
        "other convention" if a.convention != b.convention else "other settings" if apart else ""
    )
    why = "; ".join(missing) or other
    (value_a, interval_a), (value_b, interval_b) = sides
    return FindingRow(
        attacker=a.attacker,
        name=a.about.title,
        keys=a.keys,
        sensitive=a.sensitive,
        target=a.target,
        a=a.value,
        b=b.value,
        interval_a=interval_a,
        interval_b=interval_b,
        difference=_less(value_b, value_a),
        excess_a=a.excess,
        excess_b=b.excess,
        safer=None if why else _better([value_a, value_b], [interval_a, interval_b], LOWER),
        why=why,
        word_a=a.word,
        word_b=b.word,
    )


LOWER = "lower is safer"
DECISIVE_OF_ATTACKS = ("numeric", "rare", "tolerance", "tau", "svm_rows")
"""Settings that decide what the numbers of attacks are numbers of."""


def _attack_settings(report: ReportResult) -> dict[str, Any]:
    settings = {} if report.risk is None else report.risk.about.settings
    return {key: settings[key] for key in DECISIVE_OF_ATTACKS if key in settings}


def _risk_settings(first: ReportResult, second: ReportResult) -> Iterator[SettingRow]:
    """Yield the settings of attacks and tests that differ."""
    if first.risk is None or second.risk is None:
        return
    one, other = (
        {"seed": risk.about.seed, **risk.about.settings} for risk in (first.risk, second.risk)
    )
    for key in dict.fromkeys([*one, *other]):
        if one.get(key) != other.get(key):
            yield SettingRow(
                "risk",
                "Attacks and tests",
                key,
                one.get(key),
                other.get(key),
                key in DECISIVE_OF_ATTACKS,
            )


def _unmatched(first: ReportResult, second: ReportResult) -> Iterator[str]:
    mine, theirs = findings_of(first), findings_of(second)
    for side, ours, others in (("A", mine, theirs), ("B", theirs, mine)):
        only = [finding for key, finding in ours.items() if key not in others]
        if only:
            found = sum(finding.excess_found for finding in only)
            more = f", {found:,} of them with an excess found" if found else ""
            yield f"{count_noun(len(only), 'attack')} {'is' if len(only) == 1 else 'are'} in {side} only{more}."


MOST_SAID, MOST_SHOWN = 5, 40
HEAD = (
    "measure",
    "A",
    "95 % interval A",
    "B",
    "95 % interval B",
    "B less A",
    "nearer to the original",
)


@dataclass(frozen=True, kw_only=True)
class MeasureRow:
    """A measure of both tables: values, intervals, the difference B less A, and which is better; `why` says why none is."""

    id: str
    measure: str
    direction: str
    a: float | None
    b: float | None
    interval_a: tuple[float, float] | None = None
    interval_b: tuple[float, float] | None = None
    difference: float | None = None
    better: str | None = None
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class FindingRow:
    """What an attack found in both tables: values, excesses, the difference B less A, and which is safer; `why` says why none is.

    Attacks on columns are compared by their values, memorisation tests by their excesses: the intervals and the difference are of these. `word_a` and `word_b`
    say whether an excess was found, over all attacks of the report together.
    """

    attacker: str
    name: str
    keys: tuple[str, ...]
    sensitive: str
    target: str
    a: float | None
    b: float | None
    interval_a: tuple[float, float] | None
    interval_b: tuple[float, float] | None
    difference: float | None
    excess_a: float | None
    excess_b: float | None
    safer: str | None
    why: str
    word_a: str = ""
    word_b: str = ""

    @property
    def found(self) -> bool:
        """Whether an excess was found in one of the two."""
        return FOUND in (self.word_a, self.word_b)


@dataclass(frozen=True)
class ColumnChange:
    """How far a column is from the original in A and in B."""

    column: str
    a: float
    b: float
    change: float


@dataclass(frozen=True)
class PairChange:
    """How far the relation of a pair of columns is off in A and in B."""

    columns: tuple[str, str]
    a: float
    b: float
    change: float


@dataclass(frozen=True)
class SettingRow:
    """A setting of a measure that differs, and whether that keeps its numbers from being compared."""

    id: str
    measure: str
    setting: str
    a: Any
    b: Any
    matters: bool


@dataclass(frozen=True)
class Comparison:
    """Two reports side by side.

    Parameters
    ----------
    names
        What A and B are.
    measures
        For each measure both values, both intervals, the difference B less A, and which is better: `A`, `B`, `equal`,
        `cannot be told apart`, or None where the numbers cannot be compared; `why` then says why not.
    columns, pairs
        The columns and pairs that changed most: distance from the original in A, in B, and the change.
    settings
        Settings that differ, and whether that keeps numbers from being compared.
    notes
        What to know before reading on.
    findings
        For each attack that both reports have both values, intervals and excesses, whether an excess was found in each, the difference B less A, and which
        is `safer`, in the words of `measures`; those with an excess found in one of the two first, then those that differ most.
    promises
        What is promised in A and in B, row by row in words; none where neither table came with an account of privacy.
    promise_notes
        Where these are different promises, or none at all: what to know before any number is compared.
    differing
        What differs in how the tables were made: names are made of it.
    picture, answers, leaving
        What a page shows first: risk beside worth, what one decides by, and whether it may leave.
    """

    names: tuple[str, str]
    measures: tuple[MeasureRow, ...]
    columns: tuple[ColumnChange, ...]
    pairs: tuple[PairChange, ...]
    settings: tuple[SettingRow, ...]
    notes: tuple[str, ...]
    findings: tuple[FindingRow, ...] = ()
    promises: tuple[PromiseLine, ...] = ()
    promise_notes: tuple[str, ...] = ()
    differing: tuple[ReportDifference, ...] = ()
    picture: Figure | None = field(default=None, compare=False)
    answers: tuple[PageAnswer, ...] = field(default=(), compare=False)
    leaving: Leaving = field(default=FROM_JSON, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain data: `chaffinch-comparison`, version 3."""
        return {
            "format": "chaffinch-comparison",
            "version": 3,
            "A": self.names[0],
            "B": self.names[1],
            **{
                key: [_plain(row) for row in getattr(self, key)]
                for key in (
                    "measures",
                    "columns",
                    "pairs",
                    "settings",
                    "findings",
                    "promises",
                )
            },
            "differing": to_plain(self.differing),
            "notes": list(self.notes),
            "promise_notes": list(self.promise_notes),
        }

    def rows(self) -> list[tuple[str, ...]]:
        """Return the table of measures as text, one row for each; `HEAD` names its columns."""
        return [
            (
                row.measure,
                number(row.a),
                between(row.interval_a),
                number(row.b),
                between(row.interval_b),
                number(row.difference),
                _verdict(row),
            )
            for row in self.measures
        ]

    def to_text(self) -> str:
        """Return the comparison as plain text for a terminal."""
        parts = [f"A: {self.names[0]}\nB: {self.names[1]}"]
        if self.promises:
            told = [(r.what, r.a, r.b) for r in self.promises]
            parts.append(
                "\n".join(
                    (
                        text_table(("promised", "A", "B"), told),
                        *(f"- {note}" for note in self.promise_notes),
                    )
                )
            )
        if self.measures or not self.findings:
            parts.append(text_table(HEAD, self.rows()))
        if self.columns:
            rows = [
                (shown(r.column), fixed(r.a), fixed(r.b), signed(r.change))
                for r in self.columns[:5]
            ]
            parts.append(
                text_table(
                    ("columns that changed most (Jensen-Shannon distance)", "A", "B", "B less A"),
                    rows,
                )
            )
        if self.pairs:
            rows = [
                (pair_words(r.columns), fixed(r.a), fixed(r.b), signed(r.change))
                for r in self.pairs[:5]
            ]
            parts.append(
                text_table(("pairs that changed most (phi_k off by)", "A", "B", "B less A"), rows)
            )
        parts += [
            "\n".join((f"{part.question} {part.sentence}", *(f"- {note}" for note in part.notes)))
            for part in self.answers[:1]
        ]
        if self.findings:
            found = [_attack(row) for row in most_telling(self.findings, MOST_SAID)]
            head = (
                "attacks and tests",
                "on",
                "A",
                "excess A",
                "B",
                "excess B",
                "B less A",
                "safer",
            )
            parts.append(text_table(head, found))
            if len(found) < len(self.findings):
                parts.append(
                    f"{len(found)} of {len(self.findings):,} attacks and tests: all with an excess found, then those that differ most. All: --html PAGE or --json FILE."
                )
        said = [*self.notes, *map(setting_words, self.settings)]
        return "\n\n".join(parts + (["\n".join(f"- {line}" for line in said)] if said else []))

    def to_html(self) -> str:
        """Return the comparison as one HTML file."""
        facts = (("A", self.names[0]), ("B", self.names[1]))
        promises = [row for row in self.promises if row.what == "promise"]
        seeded = [
            side for side in "AB" for row in promises if "TEST ONLY" in getattr(row, side.lower())
        ]
        alarm = (
            f"TEST ONLY: {' and '.join(seeded)}. Seeded noise carries no promise of privacy."
            if seeded
            else ""
        )
        return page(
            "Two reports compared",
            tuple(self.sections()),
            facts=facts,
            alarm=alarm,
            answers=self.answers,
            leaving=self.leaving,
        )

    def _repr_html_(self) -> str:
        from .._base.results import html_table

        return html_table(HEAD, self.rows())

    def sections(self) -> Iterator[Section]:
        """Yield the comparison as sections of a page."""
        yield Section(
            "differing",
            "What differs between them",
            tuple(differing_blocks(self.names, self.differing)),
        )
        if self.picture is not None:
            yield Section("tradeoff", "Risk beside worth", (self.picture,))
        if self.promises:
            told = tuple((r.what, r.a, r.b) for r in self.promises)
            table = PageTable(
                "The promises side by side", ("What", "A", "B"), told, wide=frozenset({1, 2})
            )
            notes = tuple(Paragraph(note, "lead") for note in self.promise_notes)
            yield Section("promises", "What is promised", (*notes, table))
        numbers = frozenset({1, 2, 3, 4, 5})
        head = tuple(map(capital, HEAD))
        rows: tuple[Row, ...] = tuple(
            (Cell(cells[0], row.direction), *cells[1:])
            for cells, row in zip(self.rows(), self.measures, strict=True)
        )
        caption = "Each measure of both tables"
        blocks: list[Block] = (
            [Paragraph(_tally(self.measures), "lead")] if self.measures or not self.findings else []
        )
        blocks += [Listing(self.notes)] if self.notes else []
        if rows or not self.findings:
            blocks.append(PageTable(caption, head, rows, numbers, frozenset({0, 6}), cards=True))
        if blocks:
            yield Section("compared", "Measure by measure", tuple(blocks))
        changed: list[PageTable] = []
        if self.columns:
            cells = tuple(
                (shown(r.column), fixed(r.a), fixed(r.b), signed(r.change)) for r in self.columns
            )
            head = ("Column", "A", "B", "B less A")
            changed.append(
                PageTable(
                    "Jensen-Shannon distance of columns that changed most",
                    head,
                    cells,
                    frozenset({1, 2, 3}),
                )
            )
        if self.pairs:
            cells = tuple(
                (pair_words(r.columns), fixed(r.a), fixed(r.b), signed(r.change))
                for r in self.pairs
            )
            head = ("Pair of columns", "A", "B", "B less A")
            changed.append(
                PageTable(
                    "How far phi_k is off, pairs that changed most",
                    head,
                    cells,
                    frozenset({1, 2, 3}),
                )
            )
        if changed:
            yield Section("changed", "Where they differ most", (Grid(tuple(changed)),))
        if self.findings:
            yield Section("attacks", "What they give away", tuple(_attack_blocks(self.findings)))
        if self.settings:
            yield Section(
                "settings",
                "Settings that differ",
                (Listing(tuple(map(setting_words, self.settings))),),
            )


def _plain(row: Any) -> dict[str, Any]:
    """A row as plain data, its sides called A and B."""
    return {
        re.sub(r"(^|_)([ab])$", lambda side: side[0].upper(), key): value
        for key, value in to_plain(row).items()
    }


def _verdict(row: MeasureRow) -> str:
    if row.better is None:
        return f"not comparable: {row.why}" if row.a is not None and row.b is not None else row.why
    bare = row.better in "AB" and not row.interval_a and not row.interval_b
    return row.better + (" (no interval)" if bare else "")


def _tally(rows: Sequence[MeasureRow]) -> str:
    words = {
        "A": "{} nearer in A",
        "B": "{} nearer in B",
        "equal": "{} equal",
        "cannot be told apart": "{} cannot be told apart",
        None: "{} not comparable",
    }
    counts = {word: sum(row.better == word for row in rows) for word in words}
    told = ", ".join(words[word].format(count) for word, count in counts.items() if count)
    return f"Of {count_noun(len(rows), 'measure')}: {told or 'none'}."


def _attack(row: FindingRow) -> tuple[str, ...]:
    sides = [
        (number(value), excess_words(word, excess))
        for value, word, excess in (
            (row.a, row.word_a, row.excess_a),
            (row.b, row.word_b, row.excess_b),
        )
    ]
    safer = (
        f"not comparable: {row.why}"
        if row.safer is None
        else row.safer.replace("cannot be told apart", "intervals overlap")
    )
    return row.name, row.target, *sides[0], *sides[1], signed(row.difference), safer


def _attack_blocks(rows: Sequence[FindingRow]) -> Iterator[Block]:
    for side in "AB":
        words = [getattr(row, f"word_{side.lower()}") for row in rows]
        counts = {
            word: words.count(word)
            for word in (FOUND, NONE_FOUND, UNKNOWN, NO_VALUE)
            if word in words
        }
        told = ", ".join(f"{word} by {count:,}" for word, count in counts.items())
        yield Paragraph(
            f"{side}: of {count_noun(len(rows), 'attack or test', 'attacks and tests')} in both, {told}.",
            "lead",
        )
    some = most_telling(rows, MOST_SHOWN)
    cells: tuple[Row, ...] = tuple((Cell(*found[:2]), *found[2:]) for found in map(_attack, some))
    head = ("Attack or test", "A", "Excess A", "B", "Excess B", "B less A", "Safer")
    of = (
        f", {len(some)} of {len(rows):,}: all with an excess found, then those that differ most"
        if len(some) < len(rows)
        else ""
    )
    yield PageTable(
        f"Each attack and test of both tables{of}",
        head,
        cells,
        frozenset({1, 2, 3, 4, 5}),
        frozenset({0, 6}),
        cards=True,
    )
    yield Paragraph(
        "Lower is safer. Tests of whole records are compared by their excess, attacks on columns by how often they are right.",
        "note",
    )


def setting_words(row: SettingRow) -> str:
    """Return a setting that differs, in a sentence."""
    end = "; its numbers are not comparable" if row.matters else ""
    return f"{row.measure}, {shown(row.setting)}: {shown(row.a, 80)} in A, {shown(row.b, 80)} in B{end}."
