"""More than two reports in one: each measure and each attack of all of them, on one picture of risk beside worth, and names made of what differs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from string import ascii_uppercase
from typing import Any, Protocol, TypeVar

from .._base.results import Leaving, to_plain
from .._base.text import between, number, shown, signed, text_table
from ..risk.finding import FOUND, Finding, column_findings, record_findings
from ..utility.metric import METRICS, Metric
from ..utility.result import ladder, metrics_of
from .decision import HEADLINES
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
from .page import page
from .promise import promise_of
from .release import FROM_JSON, promises
from .result import ReportResult
from .sections import Block, Cell, Figure, Listing, PageAnswer, PageTable, Paragraph, Row, Section
from .tradeoff import TradePoint, headline_step, reference_lines, tradeoff_figure

MOST = 4
NONE, NOT_TOLD, DEFAULT = "none", "not told", "default"
SETTINGS = (
    "method",
    "conditionals",
    "search",
    "score",
    "parents",
    "leaf",
    "smoothing",
    "penalty",
    "draw",
)
"""Settings of a model by how soon they are named."""

TOLD_ELSEWHERE = frozenset(("label", "sensitive", "epsilon", "delta", "rows", "network"))
"""Settings of a synthesiser that stand among the facts under another name, or as the report has them."""

MOST_ATTACKS = 40
UNCOVERED = Leaving(
    False,
    "A table that it compares carries a promise of privacy, and the figures on it are not covered by that.",
)


@dataclass(frozen=True)
class ReportDifference:
    """A fact that is not the same in all reports, and what it is in each, in words."""

    what: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class SharedMeasure:
    """A measure in all reports: values, intervals, and the letters of those that none is told to be nearer than."""

    id: str
    measure: str
    direction: str
    values: tuple[float | None, ...]
    intervals: tuple[tuple[float, float] | None, ...]
    nearest: tuple[str, ...]


@dataclass(frozen=True)
class SharedFinding:
    """What an attack found in all reports: values, intervals, excesses, whether each was found, and the letters of those that none is shown to be safer than.

    Attacks on columns are ranked by their values, memorisation tests by their excesses; the intervals are of what ranks them.
    """

    attacker: str
    name: str
    keys: tuple[str, ...]
    sensitive: str
    target: str
    values: tuple[float | None, ...]
    intervals: tuple[tuple[float, float] | None, ...]
    excesses: tuple[float | None, ...]
    safest: tuple[str, ...]
    words: tuple[str, ...] = ()

    @property
    def found(self) -> bool:
        """Whether an excess was found in any of the reports."""
        return FOUND in self.words


class _Finding(Protocol):
    @property
    def found(self) -> bool: ...


T = TypeVar("T", bound=_Finding)


@dataclass(frozen=True, kw_only=True, eq=False)
class SeveralReports:
    """Three reports or more side by side: names made of what differs, shared measures and attacks, and what keeps them from being compared."""

    names: tuple[str, ...]
    differing: tuple[ReportDifference, ...]
    measures: tuple[SharedMeasure, ...]
    findings: tuple[SharedFinding, ...]
    notes: tuple[str, ...]
    picture: Figure | None = None
    answers: tuple[PageAnswer, ...] = ()
    leaving: Leaving = FROM_JSON

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain data: `chaffinch-comparison`, version 4 for more than two reports."""
        parts = ("differing", "measures", "findings", "notes")
        return {
            "format": "chaffinch-comparison",
            "version": 4,
            "reports": dict(zip(self.letters, self.names, strict=True)),
            **{name: to_plain(getattr(self, name)) for name in parts},
        }

    @property
    def letters(self) -> tuple[str, ...]:
        """What reports are called in tables."""
        return tuple(letter(i) for i in range(len(self.names)))

    def to_text(self) -> str:
        """Return the comparison as plain text for a terminal."""
        parts = [
            "\n".join(f"{one}: {name}" for one, name in zip(self.letters, self.names, strict=True))
        ]
        rows = [
            (row.measure, *map(number, row.values), _letters(row.nearest, self.letters))
            for row in self.measures
        ]
        parts += [text_table(("measure", *self.letters, "nearest"), rows)] if rows else []
        parts += [
            "\n".join((f"{part.question} {part.sentence}", *(f"- {note}" for note in part.notes)))
            for part in self.answers[:1]
        ]
        found = [
            (
                f"{row.name}, {row.target}",
                *(
                    f"{number(v)}, {told}"
                    for v, told in zip(row.values, _excess_words(row), strict=True)
                ),
                _letters(row.safest, self.letters),
            )
            for row in most_telling(self.findings)
        ]
        parts += (
            [text_table(("attacks and tests", *self.letters, "safest"), found)] if found else []
        )
        return "\n\n".join(
            [*parts, *(["\n".join(f"- {note}" for note in self.notes)] if self.notes else [])]
        )

    def to_html(self) -> str:
        """Return the comparison as one HTML file."""
        facts = tuple(zip(self.letters, self.names, strict=True))
        return page(
            f"{len(self.names)} reports compared",
            tuple(self.sections()),
            facts=facts,
            answers=self.answers,
            leaving=self.leaving,
        )

    def sections(self) -> Iterator[Section]:
        """Yield the comparison as sections of a page."""
        blocks = differing_blocks(self.names, self.differing)
        yield Section(
            "differing",
            "What differs between them",
            (*blocks, *([Listing(self.notes)] if self.notes else [])),
        )
        if self.picture is not None:
            yield Section("tradeoff", "Risk beside worth", (self.picture,))
        places = frozenset(range(1, len(self.names) + 1))
        if self.measures:
            cells: tuple[Row, ...] = tuple(
                (
                    Cell(row.measure, row.direction),
                    *(_cell(v, i) for v, i in zip(row.values, row.intervals, strict=True)),
                    _letters(row.nearest, self.letters),
                )
                for row in self.measures
            )
            yield Section(
                "compared",
                "Measure by measure",
                (
                    PageTable(
                        "Each measure of every table",
                        ("Measure", *self.letters, "Nearest"),
                        cells,
                        places,
                        cards=True,
                    ),
                ),
            )
        if self.findings:
            some = most_telling(self.findings, MOST_ATTACKS)
            found: tuple[Row, ...] = tuple(
                (
                    Cell(row.name, row.target),
                    *(
                        Cell(number(v), finding)
                        for v, finding in zip(row.values, _excess_words(row), strict=True)
                    ),
                    _letters(row.safest, self.letters),
                )
                for row in some
            )
            of = (
                ""
                if len(some) == len(self.findings)
                else f", {len(some)} of {len(self.findings):,}"
            )
            caption = f"Each attack and test of every table{of}, those with an excess found first"
            yield Section(
                "attacks",
                "What they give away",
                (
                    PageTable(
                        caption,
                        ("Attack or test", *self.letters, "Safest"),
                        found,
                        places,
                        cards=True,
                    ),
                ),
            )


def several_reports(
    reports: Sequence[ReportResult],
    *,
    labels: Sequence[str] = (),
    apart: frozenset[str] = frozenset(),
    notes: Sequence[str] = (),
) -> SeveralReports:
    """Return reports side by side; `labels` say which run each is of, `apart` are ids of measures whose numbers cannot be compared, `notes` why."""
    names = names_of_reports(reports, labels)
    measured = dict.fromkeys(
        name for report in reports if report.utility is not None for name in report.utility.results
    )
    metrics = metrics_of(name for name in measured if name in METRICS)
    return SeveralReports(
        names=names,
        differing=differences(reports),
        measures=tuple(_measure(metric, reports, apart) for metric in metrics),
        findings=tuple(_findings(reports)),
        notes=tuple(notes),
        picture=tradeoff_of(reports, names),
        answers=compared_answers(reports, names),
        leaving=leaving_of_all(reports),
    )


def letter(place: int) -> str:
    """Return what a report is called in tables.

    Examples
    --------
    >>> letter(0), letter(25), letter(26)
    ('A', 'Z', 'AA')
    """
    first, last = divmod(place, len(ascii_uppercase))
    return (letter(first - 1) if first else "") + ascii_uppercase[last]


def _facts(report: ReportResult) -> dict[str, str]:
    made = report.synthesis
    model = None if made is None else made.model
    network = {} if made is None else made.network
    promise = promise_of(made)
    account = None if promise is None else promise.account
    facts = {
        name: shown(network[name], 40)
        for name in SETTINGS
        if isinstance(network.get(name), str | int | float)
    }
    settings = {} if made is None else made.settings
    facts |= {
        name: _shown(value)
        for name, value in settings.items()
        if name not in facts and name not in TOLD_ELSEWHERE
    }
    facts["epsilon"] = (
        NONE
        if account is None
        else f"{account.epsilon:.6g}" + (" (test only)" if account.test_only else "")
    )
    facts["delta"] = NONE if account is None or account.delta is None else f"{account.delta:.6g}"
    facts["protected"] = (
        ", ".join(shown(name, 24) for name in model.sensitive[:6]) or NONE
        if model is not None
        else NONE
    )
    facts["columns"] = f"{len(report.about.columns)}" if report.about.columns else ""
    facts["rows"] = (
        f"{report.about.synthetic.rows}" if report.about.synthetic.rows is not None else ""
    )
    facts["original"] = shown(report.about.original.name or "", 40)
    facts["holdout"] = (
        NONE if report.about.holdout is None else shown(report.about.holdout.name or "given", 40)
    )
    facts["label"] = shown(report.about.label, 40) if report.about.label is not None else NONE
    facts |= _attack_facts(report)
    facts["file"] = shown(report.about.synthetic.name or "", 60)
    facts["title"] = shown(report.title, 60) if report.title else ""
    facts["seed"] = NONE if made is None or made.seed is None else str(made.seed)
    facts["date"] = shown(report.run.date, 40) if report.run.date else ""
    return facts


def _shown(value: object) -> str:
    words = value if isinstance(value, list | tuple) else [value]
    return (
        ", ".join(shown(f"{word:g}" if isinstance(word, float) else word, 40) for word in words)
        or NONE
    )


def _attack_facts(report: ReportResult) -> dict[str, str]:
    """What was attacked, with what; nothing where nothing was."""
    if report.risk is None:
        return {}
    about = report.risk.about
    attackers = dict.fromkeys(finding.attacker for finding in report.risk.findings)
    facts = {"keys": about.keys, "sensitive": about.sensitive, "attacks": tuple(attackers)}
    return {name: _shown(words) for name, words in facts.items()}


def differences(reports: Sequence[ReportResult]) -> tuple[ReportDifference, ...]:
    """Return the facts that are not the same in all reports, settings first; a date alone is no difference."""
    every = [_facts(report) for report in reports]
    names = list(
        dict.fromkeys(name for name in (*SETTINGS, *(name for facts in every for name in facts)))
    )
    unknown = [
        DEFAULT if report.synthesis is not None and report.synthesis.settings else NOT_TOLD
        for report in reports
    ]
    out = [
        ReportDifference(
            name,
            tuple(
                facts.get(name, "") or other for facts, other in zip(every, unknown, strict=True)
            ),
        )
        for name in names
    ]
    differing = [one for one in out if len(set(one.values)) > 1]
    return tuple(one for one in differing if one.what != "date" or len(differing) == 1)


def names_of_reports(
    reports: Sequence[ReportResult], labels: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return a name for each report: its label, or its title where all have one and titles differ, and what differs; the file's where nothing does.

    `labels` say which run a report is of.
    """
    titles = tuple(shown(report.title, 60) for report in reports)
    if not labels and all(titles) and len(set(titles)) == len(titles):
        labels = titles
    chosen = [
        one for one in differences(reports) if not labels or one.what not in ("title", "date")
    ]
    if labels:
        told = [
            ", ".join(_part(one, place, report) for one in chosen[:MOST])
            for place, report in enumerate(reports)
        ]
        return tuple(
            f"{label}: {words}" if words else label
            for label, words in zip(labels, told, strict=True)
        )
    # What tells most of them apart with the fewest words: settings before files, files before titles and dates.
    few = chosen[:MOST]
    if not few:
        return tuple(shown(report.about.synthetic.name or "synthetic table") for report in reports)
    return tuple(
        ", ".join(_part(one, place, report) for one in few) for place, report in enumerate(reports)
    )


def _part(one: ReportDifference, place: int, report: ReportResult) -> str:
    """One fact of a name: a file, a title and a method speak for themselves, others with what they are."""
    value = one.values[place]
    if value == NOT_TOLD and one.what in ("file", "title"):
        return shown(report.about.synthetic.name or "synthetic table")
    return value if one.what in ("file", "title", "date", "method") else f"{one.what} {value}"


def differing_blocks(names: Sequence[str], differing: Sequence[ReportDifference]) -> list[Block]:
    """Return which report each letter is, and what differs between them; a sentence where nothing does."""
    letters = [letter(i) for i in range(len(names))]
    rows: tuple[Row, ...] = (("report", *names), *((one.what, *one.values) for one in differing))
    table = PageTable("What differs", ("What", *letters), rows)
    return (
        [table]
        if differing
        else [
            table,
            Paragraph("Nothing else that the reports say of how the tables were made differs."),
        ]
    )


def most_telling(rows: Sequence[T], many: int = 5) -> list[T]:
    """Return all rows in which an excess was found, and of the others as many as fill up `many`."""
    found = [row for row in rows if row.found]
    return [*found, *[row for row in rows if not row.found][: max(many - len(found), 0)]]


def excess_words(word: str, excess: float | None) -> str:
    """Return whether an excess was found, with the excess where it is stated."""
    return word if excess is None else f"{signed(excess)}, {word}"


def _excess_words(row: SharedFinding) -> list[str]:
    """What an attack or a test found in each report: the value, and the excess with the word for it."""
    return [
        excess_words(word, excess) for excess, word in zip(row.excesses, row.words, strict=True)
    ]


def _letters(some: Sequence[str], every: Sequence[str]) -> str:
    return "intervals overlap" if len(some) == len(every) else ", ".join(some) or "not comparable"


def _cell(value: float | None, interval: tuple[float, float] | None) -> Cell:
    return Cell(number(value), "" if interval is None or value is None else between(interval))


def _best(
    values: Sequence[float | None], intervals: Sequence[tuple[float, float] | None], *, higher: bool
) -> tuple[str, ...]:
    """Return the letters of the best value and of those whose intervals reach it; none where fewer than two are known."""
    known = [i for i, value in enumerate(values) if value is not None]
    if len(known) < len(values) or len(known) < 2:
        return ()
    ends = [
        interval or (value or 0.0, value or 0.0)
        for value, interval in zip(values, intervals, strict=True)
    ]
    sign = -1.0 if higher else 1.0
    best = min(known, key=lambda i: sign * (values[i] or 0.0))
    overlapping = [
        i for i in known if max(ends[i][0], ends[best][0]) <= min(ends[i][1], ends[best][1])
    ]
    return tuple(letter(i) for i in overlapping)


def _measure(
    metric: Metric, reports: Sequence[ReportResult], apart: frozenset[str]
) -> SharedMeasure:
    results = [
        None if report.utility is None else report.utility.results.get(metric.name)
        for report in reports
    ]
    values = tuple(None if result is None else result.value for result in results)
    intervals = tuple(
        None if result is None or not result.interval else (result.interval[0], result.interval[1])
        for result in results
    )
    higher = metric.kind.direction == "higher is better"
    nearest = () if metric.id in apart else _best(values, intervals, higher=higher)
    return SharedMeasure(metric.id, metric.title, metric.kind.direction, values, intervals, nearest)


def findings_of(report: ReportResult) -> dict[tuple[object, ...], Finding]:
    """Return the findings of a report by what was tried: of whole records those of the cross-fit where it leads."""
    risk = report.risk
    if risk is None:
        return {}
    findings = (*column_findings(risk.findings), *record_findings(risk.leading.findings))
    return {finding.identity: finding for finding in findings}


def compared_by(finding: Finding) -> tuple[float | None, tuple[float, float] | None]:
    """Return the number that a finding is compared by, and its interval: the value of an attack on a column, the excess of a test of whole records."""
    if finding.on_column:
        return finding.value, finding.interval
    return finding.excess, finding.excess_interval


def _shared(reports: Sequence[ReportResult]) -> list[tuple[Finding, ...]]:
    """Return the findings that all reports have, counted by the same convention."""
    by_report = [findings_of(report) for report in reports]
    rows = [
        tuple(findings[key] for findings in by_report)
        for key in (by_report[0] if by_report else ())
        if all(key in findings for findings in by_report)
    ]
    return [row for row in rows if len({finding.convention for finding in row}) == 1]


def _findings(reports: Sequence[ReportResult]) -> list[SharedFinding]:
    rows = []
    for shared in _shared(reports):
        first = shared[0]
        values, intervals = zip(*map(compared_by, shared), strict=True)
        rows.append(
            SharedFinding(
                first.attacker,
                first.title,
                first.keys,
                first.sensitive,
                first.target,
                tuple(finding.value for finding in shared),
                intervals,
                tuple(finding.excess for finding in shared),
                _best(values, intervals, higher=False),
                tuple(finding.word for finding in shared),
            )
        )

    def spread(row: SharedFinding) -> tuple[bool, float]:
        known = [value for value in row.values if value is not None]
        return not row.sensitive, -(max(known) - min(known)) if len(known) > 1 else 0.0

    return sorted(rows, key=spread)


# The head, for two reports and for more.


def compared_answers(
    reports: Sequence[ReportResult], names: Sequence[str]
) -> tuple[PageAnswer, ...]:
    """Return what compared tables give away, what they are good for, and what none of them was tested for."""
    fit = all(
        len(name) <= 20 for name in names
    )  # a name that would have to be cut says less than its letter
    labels = [f"{letter(i)}: {name}" if fit else letter(i) for i, name in enumerate(names)]
    return _away(reports, labels), _good(reports, labels), _untested(reports, labels)


def _away(reports: Sequence[ReportResult], labels: Sequence[str]) -> PageAnswer:
    """What each report says of all its attacks and tests, and the one attack that all share as a picture: never the latter alone."""
    from .decision import gives_away

    each = [gives_away(report) for report in reports]
    words = [part.word or "not known" for part in each]
    if set(words) == {"not assessed"}:
        return PageAnswer(
            GIVES_AWAY, "Not compared: no report has an attack or a test.", word="not assessed"
        )
    told = " ".join(
        f"{', '.join(letter(i) for i, one in enumerate(words) if one == word)}: {word}."
        for word in dict.fromkeys(words)
    )
    notes = [f"{letter(i)}: {part.sentence}" for i, part in enumerate(each)]
    attacks = shared_attack(reports)
    if attacks is None:
        nothing = "The reports share no attack that has a value in each of them."
        return PageAnswer(GIVES_AWAY, told, notes=(*notes, nothing))
    best = _best([one.value for one in attacks], [one.interval for one in attacks], higher=False)
    first = max(attacks, key=lambda finding: finding.rank)
    figures = [
        DecisionFigure(label, one.value or 0.0, one.interval)
        for label, one in zip(labels, attacks, strict=True)
    ]
    leads = "furthest above a guess" if first.excess is None else "with the largest excess"
    shared = f"{first.description}, the attack on a column {leads} in any of them: "
    shared += (
        "the 95 % intervals overlap."
        if len(best) == len(reports)
        else f"lowest in {' and '.join(best)}."
    )
    return PageAnswer(
        GIVES_AWAY, told, dots_picture("box-1", GIVES_AWAY, figures), (*notes, shared)
    )


def _good(reports: Sequence[ReportResult], labels: Sequence[str]) -> PageAnswer:
    steps = [headline_step(report.rows) for report in reports]
    known = [step for step in steps if step is not None]
    if len(known) < len(reports) or len({step[0].id for step in known}) > 1:
        return PageAnswer(
            GOOD_FOR,
            "Not compared: the reports share no headline measure that has a scale in each of them.",
            word="not assessed",
        )
    best = _best([step[1] for step in known], [step[2] for step in known], higher=True)
    told = (
        "the 95 % intervals overlap"
        if len(best) == len(reports)
        else f"{' and '.join(best)} {'come' if len(best) > 1 else 'comes'} nearest"
    )
    figures = [
        DecisionFigure(label, step[1], step[2]) for label, step in zip(labels, known, strict=True)
    ]
    sentence = (
        f"By {known[0][0].measure}, from independent columns to the best that can be had, {told}."
    )
    return PageAnswer(
        GOOD_FOR,
        sentence,
        bars_picture(
            "box-2", GOOD_FOR, figures, ("independent columns", "the best that can be had")
        ),
    )


def _untested(reports: Sequence[ReportResult], labels: Sequence[str]) -> PageAnswer:
    lines = []
    for label, report in zip(labels, reports, strict=True):
        promise = promise_of(report.synthesis)
        held = promise is not None and promise.holds and promise.account is not None
        words = (
            f"epsilon {promise.account.epsilon:.4g}"
            if held and promise is not None and promise.account is not None
            else "no promise"
        )
        if promise is not None and promise.account is not None and promise.account.test_only:
            words = "test only: no promise"
        attacked = (
            "attacked" if report.risk is not None and report.risk.findings else "not attacked"
        )
        lines.append(TestedLine(label, "yes" if held else "no", f"{words}, {attacked}"))
    sentence = "What no report looked at is not compared either: membership, knowing the method, and singling out; a promise stands for its own table alone."
    return PageAnswer(NOT_TESTED, sentence, looks_picture("box-3", NOT_TESTED, lines))


def leaving_of_all(reports: Sequence[ReportResult]) -> Leaving:
    """Return the first line of a comparison: kept inside where a table carries a promise, which covers no figure."""
    return UNCOVERED if any(promises(report) for report in reports) else FROM_JSON


def shared_attack(reports: Sequence[ReportResult]) -> tuple[Finding, ...] | None:
    """Return one attack that all reports have with a value, the worst in any of them; None where they share none."""
    attacks = [
        row
        for row in _shared(reports)
        if all(finding.on_column and finding.value is not None for finding in row)
    ]
    return max(attacks, key=lambda row: max(finding.rank for finding in row), default=None)


def tradeoff_of(reports: Sequence[ReportResult], names: Sequence[str]) -> Figure | None:
    """Return several tables in one picture of risk beside worth; None where they share no attack, or no measure with a scale."""
    attacks = shared_attack(reports)
    ids = [{row.id for row, _ in ladder(report.rows)} for report in reports]
    shared = [name for name in HEADLINES if all(name in some for some in ids)]
    if attacks is None or not shared:
        return None
    points, first = [], None
    for place, (report, attack) in enumerate(zip(reports, attacks, strict=True)):
        step = headline_step(report.rows, shared)
        assert step is not None  # every report has the measure
        first = first or step[0]
        points.append(
            TradePoint(letter(place), step[1], attack.value or 0.0, step[2], attack.interval)
        )
    assert first is not None
    figure = tradeoff_figure(
        "fig-tradeoff",
        points,
        worth=first,
        attack=attacks[0].description,
        lines=reference_lines(attacks[0]),
    )
    return replace(
        figure,
        note="; ".join(f"{letter(i)}: {shown(name, 120)}" for i, name in enumerate(names)) + ".",
    )
