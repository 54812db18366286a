"""What to decide a release by: what it gives away, what it is good for, what was not tested and is not promised. No score.

Three questions, each with one sentence by rule and the numbers behind it. They are not weighed against each other: that is the decision. Every sentence is true
where something is missing too: no holdout, no label, one column, no attack that could be made, a promise, a seed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from markupsafe import Markup

from .._base.results import LeftOut, not_measured, to_plain
from .._base.text import between, count_noun, display_name, format_signed, number, percent
from ..risk.finding import (
    FOUND,
    NONE_FOUND,
    Finding,
    column_findings,
    record_findings,
    worst_of_key_sets,
)
from ..risk.result import RiskResult
from ..risk.verdict import LimitVerdict, family_word
from ..utility.result import VerdictRow, ladder
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
from .promise import Promise
from .result import ReportResult
from .sections import PageAnswer

NO_ATTACK = (
    "What the table gives away was not tested: name keys and sensitive columns, and it is attacked."
)
NO_HOLDOUT = "There was no holdout: whether the table tells more about its own people than about others is judged by models of half of them."
NO_OTHERS = "There was no holdout: whether the table tells more about its own people than about others is not known."
HALVES = "from models of half the people, for want of a holdout"
HEADLINES = (
    "tvd_2",
    "phi_k",
    "tvd_3",
    "learning",
    "pmse_ratio",
    "tstr",
    "delta",
    "pearson",
    "mu",
    "impossible",
    "regression",
    "G",
)
"""Measures of utility by how soon they are asked for; the first four that have a scale are the headline measures."""

FOUR = 4
SHORT = {
    "tvd_2": "tables of two columns",
    "tvd_3": "tables of three columns",
    "phi_k": "relations (phi_k)",
    "learning": "learning the label",
    "pearson": "straight lines (Pearson)",
    "mu": "pattern of relations (mu)",
    "impossible": "impossible pairs",
    "tstr": "learning any column",
    "delta": "ease of learning (delta)",
    "G": "relations and learning (G)",
}
"""Measures in a few words, for a small picture."""


@dataclass(frozen=True, kw_only=True)
class DecisionPart:
    """One question with its answer: a word by rule, a sentence, the numbers in it, what was looked at, and what else to know."""

    question: str
    sentence: str
    word: str = ""
    figures: tuple[DecisionFigure, ...] = ()
    looks: tuple[TestedLine, ...] = ()
    scale: tuple[str, str] = ("", "")
    """What the two ends of the figures' scale are."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Decision:
    """The findings that a person decides by. They are not weighed against each other: that is the decision.

    Parameters
    ----------
    answers
        Three questions, each with one sentence and its numbers: what a page shows first.
    gives_away
        A sentence for each attack, the worst of its sets of keys, and one for all of them together.
    good_for
        For each measure of utility its number, its references, a word and a sentence.
    promise
        What is promised, in a sentence; also where that is nothing.
    not_tested
        What this release says nothing about.
    limit
        What all findings together say of the limit on the excess; None where there was none.
    """

    answers: tuple[DecisionPart, ...] = ()
    gives_away: tuple[str, ...]
    good_for: tuple[VerdictRow, ...]
    promise: str
    not_tested: tuple[str, ...]
    limit: LimitVerdict | None = None

    @property
    def allowed(self) -> bool | None:
        """Whether the limit is shown to be kept (True) or exceeded (False); None where that is undecided, or there is no limit."""
        return None if self.limit is None else self.limit.passed

    def to_dict(self) -> dict[str, Any]:
        """Return the three answers, the promise, what was not tested and what is known of the limit, as plain data."""
        names = ("answers", "promise", "not_tested", "allowed")
        limit = {} if self.limit is None else {"limit": self.limit.to_dict()}
        return {**{name: to_plain(getattr(self, name)) for name in names}, **limit}

    def parts(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield each heading with its sentences."""
        if self.limit is not None:
            yield "The limit", (self.limit.sentence,)
        if self.answers:
            yield (
                "To decide by",
                tuple(f"{answer.question} {answer.sentence}" for answer in self.answers),
            )
        yield "What it gives away", self.gives_away or (NO_ATTACK,)
        yield (
            "What it is good for",
            tuple(f"{row.measure}: {row.word}. {row.sentence}" for row in self.good_for),
        )
        yield "What is promised", (self.promise,)
        yield "What was not tested", self.not_tested

    def __str__(self) -> str:
        return "\n\n".join(
            "\n".join((name, *(f"- {line}" for line in lines))) for name, lines in self.parts()
        )

    def _repr_html_(self) -> str:
        return "".join(
            f"<h4>{name}</h4><ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>"
            for name, lines in self.parts()
        )


def decision_of(report: ReportResult) -> Decision:
    """Return what to decide by, worked out from a report."""
    risk, promise = report.risk, report.privacy_promise
    quick = not_measured(left_out_of(report))
    return Decision(
        answers=(gives_away(report), good_for(report), not_tested(report, quick)),
        gives_away=() if risk is None else _findings_sentences(risk),
        good_for=tuple(row for row in report.rows if row.value is not None),
        promise="" if promise is None else display_name(promise.row.sentence, 2000),
        not_tested=(
            *_not_attacked(risk),
            *(row.sentence for row in report.rows if row.value is None),
            *([quick] if quick else []),
        ),
        limit=None if risk is None else risk.limit,
    )


def _findings_sentences(risk: RiskResult) -> tuple[str, ...]:
    """Return what each attack found in a sentence, tests where they found an excess, and what all say together."""
    worst = worst_of_key_sets(risk.findings)
    tests = record_findings((*worst, *(() if risk.cross_fit is None else risk.cross_fit.findings)))
    sentences = [
        finding.sentence
        for finding in (*column_findings(worst), *(test for test in tests if test.excess_found))
    ]
    sentences += [risk.sentence] if risk.findings else []
    return (*sentences, *([] if risk.cross_fit is None else [risk.cross_fit.sentence]))


def _not_attacked(risk: RiskResult | None) -> Iterator[str]:
    """Yield what the attacks say nothing about."""
    if risk is None or not risk.findings:
        yield NO_ATTACK
        return
    if risk.about.holdout is None:
        yield NO_OTHERS if risk.cross_fit is None else NO_HOLDOUT
    for attacker in risk.about.left_out:
        if attacker.unmet:
            yield f"Not run: {attacker.what}. This {attacker.reason} ({attacker.flag})."


def left_out_of(report: ReportResult) -> tuple[LeftOut, ...]:
    """Return what a quick run did not measure and not attack with, each with the option that brings it back."""
    attackers = () if report.risk is None else report.risk.about.left_out
    return (*report.about.left_out, *(attacker for attacker in attackers if not attacker.unmet))


def answers_of(decision: Decision) -> tuple[PageAnswer, ...]:
    """Return the answers with their pictures."""
    return tuple(
        PageAnswer(answer.question, answer.sentence, _picture(i, answer), answer.notes, answer.word)
        for i, answer in enumerate(decision.answers)
    )


def _picture(index: int, answer: DecisionPart) -> Markup | None:
    key = f"box-{index + 1}"
    if answer.question == GIVES_AWAY and answer.figures:
        return dots_picture(key, answer.question, answer.figures, share=bool(answer.scale[0]))
    if answer.question == GOOD_FOR and answer.figures:
        return bars_picture(key, answer.question, answer.figures, answer.scale)
    return looks_picture(key, answer.question, answer.looks) if answer.looks else None


@dataclass(frozen=True, kw_only=True)
class Headline:
    """The strongest finding of a study, and how many of all there are: of attacks on columns and of tests of whole records."""

    finding: Finding
    word: str
    attacks: int
    tests: int
    found_attacks: int
    found_tests: int
    half_size: bool = False


def headline_of(risk: RiskResult) -> Headline | None:
    """Return the strongest of all findings, see `strongest_finding`; None where nothing could be assessed.

    Without a holdout the cross-fit leads: people of the other half are a true holdout for its models.
    """
    side, leading = risk.leading, risk.headline
    if leading is None:
        return None
    attacks, tests = (
        [finding for finding in findings if finding.assessed]
        for findings in (column_findings(side.findings), record_findings(side.findings))
    )
    found_attacks, found_tests = (
        sum(finding.excess_found for finding in findings) for findings in (attacks, tests)
    )
    return Headline(
        finding=leading,
        word=FOUND if found_attacks or found_tests else family_word(side.family),
        attacks=len(attacks),
        tests=len(tests),
        found_attacks=found_attacks,
        found_tests=found_tests,
        half_size=side is not risk,
    )


def _statement(finding: Finding) -> str:
    """Return what the leading finding says, without a full stop."""
    if not finding.on_column:
        sentence = finding.sentence.removesuffix(".")
        for worth in (": no more than chance gives", ": more than chance gives"):
            sentence = sentence.removesuffix(worth)
        return _lower(display_name(sentence, 400))
    if finding.value is None:
        reason = display_name((finding.reason or "its value does not leave").rstrip("."), 300)
        return f"{finding.description}: {_lower(reason)}"
    others = (
        "" if finding.holdout is None else f" and {percent(finding.holdout)} of people who are not"
    )
    return f"{finding.description} is right for {percent(finding.value)} of the people in the data{others}"


# What does it give away?


def gives_away(report: ReportResult) -> DecisionPart:
    """Return the first answer: the headline finding against a guess, people who are not in the data, and the original itself; the limit before its notes."""
    risk = report.risk
    if risk is None:
        sentence = "Not tested: this page measures what the table is worth and nothing else; chaffinch risk and chaffinch release attack it."
        return DecisionPart(question=GIVES_AWAY, sentence=sentence, word="not assessed")
    lead, limit = headline_of(risk), risk.limit
    description = [] if limit is None else [limit.sentence]
    if lead is None:
        reasons = [
            finding.reason for finding in risk.findings if finding.value is None and finding.reason
        ]
        why = f": {display_name(next(iter(reasons)).rstrip('.'), 240)}" if reasons else ""
        return DecisionPart(
            question=GIVES_AWAY,
            sentence=f"Not known: no attack and no test could be made{why}.",
            word="not assessed",
            notes=tuple(description),
        )
    notes = [*description, *_power(lead)]
    finding = lead.finding
    names = {
        "guess": "guess",
        "holdout": "people not in the data",
        "value": "people in the data",
        "original": "from the original itself",
    }
    figures = [
        DecisionFigure(label, value, finding.interval if side == "value" else None)
        for side, label in names.items()
        if (value := getattr(finding, side)) is not None
    ]
    figures += (
        [DecisionFigure("detectable excess", finding.detectable)]
        if finding.detectable is not None and finding.detectable <= 1
        else []
    )
    scale = ("right for nobody", "right for everybody") if finding.about.share else ("", "")
    return DecisionPart(
        question=GIVES_AWAY,
        sentence=_sentence(lead),
        word=lead.word,
        figures=tuple(figures),
        notes=tuple(notes),
        scale=scale,
    )


def _sentence(lead: Headline) -> str:
    halves = f" ({HALVES})" if lead.half_size else ""
    finding, summary, guessed = lead.finding, _statement(lead.finding), ""
    if finding.on_column and finding.guess is not None:
        guessed = f"; a guess is right for {percent(finding.guess)}"
    if lead.word == FOUND:
        return f"More about its own people than about others{halves}: {summary}{_excess(finding)}{guessed}."
    if lead.word == NONE_FOUND:
        counts = ((lead.attacks, "attack"), (lead.tests, "test"))
        tried = " and ".join(count_noun(count, what) for count, what in counts if count)
        return f"No excess was found{halves} by {tried}; nearest to one: {summary}{_excess(finding)}{guessed}."
    return f"How much comes from being in the data is not known, for want of people who are not: {summary}{guessed}."


def _excess(finding: Finding) -> str:
    """The excess with its interval and p-value; where few people hide the first, the p-value alone."""
    interval = (
        ""
        if finding.excess_interval is None
        else f"95 % interval {between(finding.excess_interval)}"
    )
    p_value = (
        ""
        if finding.p_family is None
        else f"p = {number(finding.p_family)}, adjusted for all attacks and tests"
    )
    details = "; ".join(detail for detail in (interval, p_value) if detail)
    if finding.excess is None:
        return f" ({p_value})" if p_value else ""
    return f", an excess of {format_signed(finding.excess)}" + (f" ({details})" if details else "")


def _power(lead: Headline) -> list[str]:
    if lead.word == FOUND:
        parts = (
            (lead.found_attacks, lead.attacks, "attack", "on columns"),
            (lead.found_tests, lead.tests, "test", "of whole records"),
        )
        return [
            f"An excess was found by {' and '.join(f'{shortlist} of {count_noun(many, what)} {on}' for shortlist, many, what, on in parts if many)}."
        ]
    detectable = lead.finding.detectable
    if lead.word != NONE_FOUND or detectable is None:
        return []
    what = "attack" if lead.finding.on_column else "test"
    if detectable > 1:
        return [
            f"That is no proof of none: with so few people this {what} finds no excess of any size four times out of five."
        ]
    return [
        f"That is no proof of none: by this {what} an excess of {number(detectable)} is found four times out of five, a smaller one may go unseen."
    ]


# What is it good for?


def good_for(report: ReportResult) -> DecisionPart:
    """Return the second answer: how far headline measures go from independent columns to a fresh sample."""
    rows = [row for row in report.rows if row.value is not None]
    if report.utility is None and not rows:
        sentence = "Not measured: this page attacks the table and nothing else; chaffinch utility and chaffinch release say what it is worth."
        return DecisionPart(question=GOOD_FOR, sentence=sentence, word="not assessed")
    if not rows:
        why = next(
            (
                f": {display_name(row.sentence.removeprefix('Not applicable: ').rstrip('.'), 240)}"
                for row in report.rows
            ),
            "",
        )
        return DecisionPart(
            question=GOOD_FOR, sentence=f"Not known: no measure applies{why}.", word="not assessed"
        )
    steps = {row.id: (row, dot) for row, dot in ladder(rows)}
    shortlist = [steps[name] for name in (*HEADLINES, *steps) if name in steps]
    chosen = list({row.id: (row, dot) for row, dot in shortlist}.values())[:FOUR]
    best = _best(row for row, _ in chosen)
    tally = _tally(rows)
    if not chosen:
        worst = max(rows, key=_badness)
        return DecisionPart(question=GOOD_FOR, sentence=f"{tally}; {_lower(worst.sentence)}")
    figures = tuple(
        DecisionFigure(
            SHORT.get(row.id, row.measure),
            dot.value,
            None if dot.low is None or dot.high is None else (dot.low, dot.high),
            row.word,
        )
        for row, dot in chosen
    )
    lowest = min(chosen, key=lambda step: step[1].value)
    highest = max(chosen, key=lambda step: step[1].value)
    span = f"{percent(highest[1].value)} of the way from independent columns to {best}"
    purpose = f"It goes {span} for {SHORT.get(highest[0].id, highest[0].measure)}" + (
        ""
        if lowest[0].id == highest[0].id
        else f" and {percent(lowest[1].value)} for {SHORT.get(lowest[0].id, lowest[0].measure)}"
    )
    lost = [row for row in rows if row.word in ("weak", "lost")]
    notes = (f"Weakest of all: {_lower(max(lost, key=_badness).sentence)}",) if lost else ()
    return DecisionPart(
        question=GOOD_FOR,
        sentence=f"{purpose}; {tally[0].lower()}{tally[1:]}.",
        figures=figures,
        scale=("independent columns", best),
        notes=notes,
    )


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]


def _badness(row: VerdictRow) -> tuple[int, float]:
    order = ("close", "fair", "weak", "lost")
    return (
        order.index(row.word) if row.word in order else 0,
        -(row.share_kept if row.share_kept is not None else 1.0),
    )


def _tally(rows: Sequence[VerdictRow]) -> str:
    counts = {
        word: sum(row.word == word for row in rows) for word in ("close", "fair", "weak", "lost")
    }
    summary = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    return (
        f"Of {len(rows)} measures, {summary}"
        if len(rows) > 1 and summary
        else f"By {len(rows)} measure{'s' * (len(rows) != 1)}: {summary or 'no scale for a word'}"
    )


def _best(rows: Iterable[VerdictRow]) -> str:
    """What the far end of the scale is, in words that fit a small picture."""
    shortlist = list(rows)
    if any(row.holdout is not None for row in shortlist):
        return "a fresh sample"
    if any(row.resample is not None for row in shortlist):
        return "the original drawn again"
    return "an identical table"


# What was not tested, what is not promised?


def not_tested(report: ReportResult, quick: str = "") -> DecisionPart:
    """Return the third answer: what is promised, and what nobody looked at; `quick` is what was left out for want of time."""
    risk, promise = report.risk, report.privacy_promise
    findings = () if risk is None else risk.leading.findings
    attacks, tests = column_findings(findings), record_findings(findings)
    successful = [attack for attack in attacks if attack.value is not None]
    singling = [test for test in tests if test.about.singles_out]
    assessed = len([test for test in singling if test.assessed])
    looks = [
        _line_of_promise(promise),
        _line_of_attacks(
            "Attacks on columns",
            len(successful),
            len(attacks),
            "not tested" if risk is None else "no keys were named",
        ),
        _line_of_attacks(
            "Tests of whole records",
            len([t for t in tests if t.assessed]),
            len(tests),
            "not tested" if risk is None else "not made",
        ),
        _others(report),
        TestedLine("Membership, knowing the method", "no", "not tested here"),
        _line_of_attacks("Singling out", assessed, len(singling), "not tested here"),
    ]
    alarm = "" if promise is None else promise.alarm
    no = [look for look in looks[1:] if look.state == "no"]
    first = alarm.rstrip(".") if alarm else _promise_words(promise)
    sentence = (
        f"{first}; not tested: {', '.join(_lower(look.what) for look in no)}."
        if no
        else f"{first}."
    )
    return DecisionPart(
        question=NOT_TESTED,
        sentence=sentence,
        looks=tuple(looks),
        notes=(display_name(quick, 300),) if quick else (),
    )


def _line_of_attacks(what: str, n_tried: int, n_total: int, none: str) -> TestedLine:
    """Return how many of some attacks could be made."""
    state = "no" if not n_tried else "yes" if n_tried == n_total else "part"
    return TestedLine(what, state, f"{n_tried:,} of {n_total:,} made" if n_total else none)


def _line_of_promise(promise: Promise | None) -> TestedLine:
    if promise is None:
        return TestedLine("Promise of privacy", "no", "none is known of")
    if promise.holds and promise.account is not None:
        delta = "" if promise.account.delta is None else f", delta {promise.account.delta:.3g}"
        return TestedLine(
            "Promise of privacy", "yes", f"epsilon {promise.account.epsilon:.4g}{delta}"
        )
    test_only = promise.account is not None and promise.account.test_only
    return TestedLine("Promise of privacy", "no", "test only: none" if test_only else "none")


def _promise_words(promise: Promise | None) -> str:
    if promise is None:
        return "How the table was made is not known here, nor any promise of privacy"
    if promise.holds and promise.account is not None:
        return f"Promised for the table and its model, not for this page: epsilon {promise.account.epsilon:.4g}"
    return "No formal promise: what nobody tried may still be found"


def _others(report: ReportResult) -> TestedLine:
    risk, state, detail = report.risk, "no", "no holdout"
    if (risk.about.holdout if risk is not None else report.about.holdout) is not None:
        state, detail = "yes", "a holdout was given"
    elif risk is not None and risk.cross_fit is not None:
        state, detail = "part", "halves stood in"
    return TestedLine("People who are not in the data", state, detail)
