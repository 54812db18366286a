"""What to decide a release by: what it gives away, what it is good for, what was not tested and is not promised. No score.

Three questions, each with one sentence by rule and the numbers behind it. They are not weighed against each other: that is the decision. Every sentence is true
where something is missing too: no holdout, no label, one column, no attack that could be made, a promise, a seed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

from markupsafe import Markup

from .._base.results import LeftOut, not_measured, to_plain
from .._base.text import between, count_noun, number, percent, shown, signed
from ..risk.attribution.result import RiskResult
from ..risk.attribution.verdict import (
    FOUND,
    NONE_FOUND,
    LimitVerdict,
    RiskVerdictRow,
    excess_found,
)
from ..risk.finding import Finding
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
from .promise import Promise, promise_of
from .result import ReportResult
from .sections import PageAnswer

NO_ATTACK = (
    "What the table gives away was not tested: name keys and sensitive columns, and it is attacked."
)
NO_KEYS = "Whether someone who knows some columns of a person finds out others was not tested: name keys and sensitive columns."
NO_HOLDOUT = "There was no holdout: whether the table tells more about its own people than about others is judged by models of half of them."
NO_OTHERS = "There was no holdout: whether the table tells more about its own people than about others is not known."
NO_MEMBERSHIP = "Membership was not tested: see chaffinch.membership."
NO_SINGLING_OUT = "Singling out was not tested: see chaffinch.singling_out."
HALVES = "from models of half the people, for want of a holdout"
NOT_KNOWN = "not known"
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
        A sentence for each attack, and one for all of them together.
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

    @classmethod
    def of(
        cls,
        utility: Sequence[VerdictRow],
        risk: Sequence[RiskVerdictRow],
        promise: str,
        *,
        holdout: bool,
        keys: bool,
        limit: LimitVerdict | None = None,
        crossed: bool = True,
        singled_out: bool = False,
        answers: tuple[DecisionPart, ...] = (),
    ) -> Decision:
        """Return the decision that the rows of verdicts ask for.

        `keys`: whether somebody was tried who knows some columns; `crossed`: whether models of half the people stood in for a holdout; `singled_out`:
        whether a test of singling out was made.
        """
        missing = [row.sentence for row in utility if row.value is None]
        without = NO_HOLDOUT if crossed else NO_OTHERS
        untested = [
            *([NO_KEYS] if risk and not keys else [] if risk else [NO_ATTACK]),
            *([] if holdout or not risk else [without]),
            NO_MEMBERSHIP,
            *([] if singled_out else [NO_SINGLING_OUT]),
            *missing,
        ]
        return cls(
            answers=answers,
            gives_away=tuple(row.sentence for row in risk),
            promise=promise,
            not_tested=tuple(untested),
            limit=limit,
            good_for=tuple(row for row in utility if row.value is not None),
        )

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
            yield "To decide by", tuple(f"{part.question} {part.sentence}" for part in self.answers)
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

    risk, promise = report.risk, promise_of(report.synthesis)
    limit = None if risk is None else risk.limit
    keys = risk is not None and any(attack.value is not None for attack in risk.attacks)
    crossed = risk is not None and risk.cross_fit is not None
    holdout = (
        risk.about.holdout is not None if risk is not None else report.about.holdout is not None
    )
    said = "" if promise is None else shown(promise.row.sentence, 2000)
    quick = not_measured(left_out_of(report))
    answers = (gives_away(report), good_for(report), not_tested(report, promise, quick))
    singled_out = any(
        line.what == "Singling out" and line.state != "no" for line in answers[2].looks
    )
    decision = Decision.of(
        report.rows,
        report.risk_rows,
        said,
        holdout=holdout,
        keys=keys,
        limit=limit,
        crossed=crossed,
        singled_out=singled_out,
        answers=answers,
    )
    return replace(decision, not_tested=(*decision.not_tested, *([quick] if quick else [])))


def left_out_of(report: ReportResult) -> tuple[LeftOut, ...]:
    """Return what a quick run did not measure and not attack with, each with the option that brings it back."""
    return (*report.about.left_out, *(() if report.risk is None else report.risk.about.left_out))


def answers_of(decision: Decision) -> tuple[PageAnswer, ...]:
    """Return the answers with their pictures."""
    return tuple(
        PageAnswer(part.question, part.sentence, _picture(i, part), part.notes, part.word)
        for i, part in enumerate(decision.answers)
    )


def _picture(place: int, part: DecisionPart) -> Markup | None:
    key = f"box-{place + 1}"
    if part.question == GIVES_AWAY and part.figures:
        return dots_picture(key, part.question, part.figures, share=bool(part.scale[0]))
    if part.question == GOOD_FOR and part.figures:
        return bars_picture(key, part.question, part.figures, part.scale)
    return looks_picture(key, part.question, part.looks) if part.looks else None


@dataclass(frozen=True, kw_only=True)
class Headline:
    """The strongest attack or test of a study: its values for people in the data and for others, and what all say together."""

    what: str
    told: str
    value: float | None
    interval: tuple[float, float] | None = None
    holdout: float | None = None
    guess: float | None = None
    original: float | None = None
    excess: float | None = None
    excess_interval: tuple[float, float] | None = None
    p_family: float | None = None
    detectable: float | None = None
    share: bool = True
    word: str
    attacks: int
    tests: int
    found_attacks: int
    found_tests: int
    half_size: bool = False
    attribute: bool = True
    """Whether it is an attack on a column, not a test of whole records."""


def headline_of(risk: RiskResult) -> Headline | None:
    """Return the strongest of all findings, attacks and tests alike, see `strongest_finding`; None where nothing could be assessed.

    Without a holdout the cross-fit leads: people of the other half are a true holdout for its models.
    """
    side, leading = risk.leading, risk.headline
    attacks = [attack for attack in side.attacks if attack.value is not None]
    found_attacks, found_tests = (
        sum(map(excess_found, findings)) for findings in (attacks, side.memorisation_tests)
    )
    counts = {
        "attacks": len(attacks),
        "tests": len(_assessed(side.memorisation_tests)),
        "found_attacks": found_attacks,
        "found_tests": found_tests,
        "half_size": side is not risk,
    }
    found = found_attacks or found_tests or (side.family.lower_bound or 0.0) > 0
    word = FOUND if found else NONE_FOUND if side.family.p_value is not None else NOT_KNOWN
    return None if leading is None else _headline(leading, word, counts)


def _headline(finding: Finding, word: str, counts: dict[str, int]) -> Headline:
    what = finding.description
    if not finding.sensitive:
        sentence = finding.sentence.removesuffix(".")
        for worth in (": no more than chance gives", ": more than chance gives"):
            sentence = sentence.removesuffix(worth)
        statement = _lower(shown(sentence, 400))
    elif finding.value is None:
        statement = f"{what}: {_lower(shown((finding.reason or 'its value does not leave').rstrip('.'), 300))}"
    else:
        holdout = finding.holdout
        others = "" if holdout is None else f" and {percent(holdout)} of people who are not"
        statement = (
            f"{what} is right for {percent(finding.value)} of the people in the data{others}"
        )
    return Headline(
        what=what,
        told=statement,
        share=finding.about.share,
        attribute=bool(finding.sensitive),
        word=word,
        **{name: getattr(finding, name) for name in _CARRIED},
        **counts,  # type: ignore[arg-type]
    )


_CARRIED = (
    "value",
    "interval",
    "holdout",
    "guess",
    "original",
    "excess",
    "excess_interval",
    "p_family",
    "detectable",
)
"""What a headline shows of a finding."""


def _assessed(tests: Sequence[Finding]) -> list[Finding]:
    """Tests that say something: a value, or, where that hides few people, whether it is more than chance."""
    return [test for test in tests if test.value is not None or test.p_family is not None]


# What does it give away?


def gives_away(report: ReportResult) -> DecisionPart:
    """Return the first answer: the headline finding against a guess, people who are not in the data, and the original itself; the limit before its notes."""
    risk = report.risk
    if risk is None:
        sentence = "Not tested: this page measures what the table is worth and nothing else; chaffinch risk and chaffinch release attack it."
        return DecisionPart(question=GIVES_AWAY, sentence=sentence, word="not assessed")
    lead, limit = headline_of(risk), risk.limit
    said = [] if limit is None else [limit.sentence]
    if lead is None:
        reasons = dict.fromkeys(
            attack.reason for attack in risk.attacks if attack.value is None and attack.reason
        )
        reasons |= dict.fromkeys(
            test.reason for test in risk.memorisation_tests if test.value is None and test.reason
        )
        why = f": {shown(next(iter(reasons)).rstrip('.'), 240)}" if reasons else ""
        return DecisionPart(
            question=GIVES_AWAY,
            sentence=f"Not known: no attack and no test could be made{why}.",
            word="not assessed",
            notes=tuple(said),
        )
    notes = [*said, *_power(lead)]
    names = {
        "guess": "guess",
        "holdout": "people not in the data",
        "value": "people in the data",
        "original": "from the original itself",
    }
    figures = [
        DecisionFigure(words, value, lead.interval if side == "value" else None)
        for side, words in names.items()
        if (value := getattr(lead, side)) is not None
    ]
    figures += (
        [DecisionFigure("detectable excess", lead.detectable)]
        if lead.detectable is not None and lead.detectable <= 1
        else []
    )
    scale = ("right for nobody", "right for everybody") if lead.share else ("", "")
    return DecisionPart(
        question=GIVES_AWAY,
        sentence=_sentence(lead),
        word=lead.word,
        figures=tuple(figures),
        notes=tuple(notes),
        scale=scale,
    )


def _sentence(lead: Headline) -> str:
    of = f" ({HALVES})" if lead.half_size else ""
    if lead.word == FOUND:
        return f"More about its own people than about others{of}: {lead.told}{_excess(lead)}{_guessed(lead)}."
    if lead.word == NONE_FOUND:
        return f"No excess was found{of} by {_many(lead)}; nearest to one: {lead.told}{_excess(lead)}{_guessed(lead)}."
    return f"How much comes from being in the data is not known, for want of people who are not: {lead.told}{_guessed(lead)}."


def _excess(lead: Headline) -> str:
    """The excess with its interval and p-value; where few people hide the first, the p-value alone."""
    interval = (
        "" if lead.excess_interval is None else f"95 % interval {between(lead.excess_interval)}"
    )
    p_value = (
        ""
        if lead.p_family is None
        else f"p = {number(lead.p_family)}, adjusted for all attacks and tests"
    )
    beside = "; ".join(words for words in (interval, p_value) if words)
    if lead.excess is None:
        return f" ({p_value})" if p_value else ""
    return f", an excess of {signed(lead.excess)}" + (f" ({beside})" if beside else "")


def _guessed(lead: Headline) -> str:
    return (
        f"; a guess is right for {percent(lead.guess)}"
        if lead.attribute and lead.guess is not None
        else ""
    )


def _many(lead: Headline) -> str:
    counts = ((lead.attacks, "attack"), (lead.tests, "test"))
    return " and ".join(count_noun(count, what) for count, what in counts if count)


def _power(lead: Headline) -> list[str]:
    if lead.word == FOUND:
        parts = (
            (lead.found_attacks, lead.attacks, "attack", "on columns"),
            (lead.found_tests, lead.tests, "test", "of whole records"),
        )
        return [
            f"An excess was found by {' and '.join(f'{some} of {count_noun(many, what)} {on}' for some, many, what, on in parts if many)}."
        ]
    if lead.word == NONE_FOUND and lead.detectable is not None and lead.detectable > 1:
        return [
            f"That is no proof of none: with so few people this {'attack' if lead.attribute else 'test'} finds no excess of any size four times out of five."
        ]
    if lead.word == NONE_FOUND and lead.detectable is not None:
        return [
            f"That is no proof of none: by this {'attack' if lead.attribute else 'test'} an excess of {number(lead.detectable)} is found four times out of five, a smaller one may go unseen."
        ]
    return []


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
                f": {shown(row.sentence.removeprefix('Not applicable: ').rstrip('.'), 240)}"
                for row in report.rows
            ),
            "",
        )
        return DecisionPart(
            question=GOOD_FOR, sentence=f"Not known: no measure applies{why}.", word="not assessed"
        )
    steps = {row.id: (row, dot) for row, dot in ladder(rows)}
    some = [steps[name] for name in (*HEADLINES, *steps) if name in steps]
    chosen = list({row.id: (row, dot) for row, dot in some}.values())[:FOUR]
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
    least = min(chosen, key=lambda step: step[1].value)
    most = max(chosen, key=lambda step: step[1].value)
    span = f"{percent(most[1].value)} of the way from independent columns to {best}"
    words = f"It goes {span} for {SHORT.get(most[0].id, most[0].measure)}" + (
        ""
        if least[0].id == most[0].id
        else f" and {percent(least[1].value)} for {SHORT.get(least[0].id, least[0].measure)}"
    )
    lost = [row for row in rows if row.word in ("weak", "lost")]
    notes = (f"Weakest of all: {_lower(max(lost, key=_badness).sentence)}",) if lost else ()
    return DecisionPart(
        question=GOOD_FOR,
        sentence=f"{words}; {tally[0].lower()}{tally[1:]}.",
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
        -(row.kept if row.kept is not None else 1.0),
    )


def _tally(rows: Sequence[VerdictRow]) -> str:
    counts = {
        word: sum(row.word == word for row in rows) for word in ("close", "fair", "weak", "lost")
    }
    told = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    return (
        f"Of {len(rows)} measures, {told}"
        if len(rows) > 1 and told
        else f"By {len(rows)} measure{'s' * (len(rows) != 1)}: {told or 'no scale for a word'}"
    )


def _best(rows: Iterable[VerdictRow]) -> str:
    """What the far end of the scale is, in words that fit a small picture."""
    some = list(rows)
    if any(row.holdout is not None for row in some):
        return "a fresh sample"
    if any(row.resample is not None for row in some):
        return "the original drawn again"
    return "an identical table"


# What was not tested, what is not promised?


def not_tested(report: ReportResult, promise: Promise | None, quick: str = "") -> DecisionPart:
    """Return the third answer: what is promised, and what nobody looked at; `quick` is what was left out for want of time."""
    risk = report.risk
    looks = [_promised(promise)]
    if risk is not None:
        side = risk.leading
        made = [attack for attack in side.attacks if attack.value is not None]
        words = (
            f"{len(made):,} of {len(side.attacks):,} made" if side.attacks else "no keys were named"
        )
        looks.append(
            TestedLine("Attacks on columns", _coverage(len(made), len(side.attacks)), words)
        )
        many, of = len(_assessed(side.memorisation_tests)), len(side.memorisation_tests)
        words = f"{many} of {of} made" if of else "not made"
        looks.append(TestedLine("Tests of whole records", _coverage(many, of), words))
    else:
        looks.append(TestedLine("Attacks on columns", "no", "not tested"))
        looks.append(TestedLine("Tests of whole records", "no", "not tested"))
    looks.append(_others(report))
    looks.append(TestedLine("Membership, knowing the method", "no", "not tested here"))
    looks.append(_singling_out(risk))
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
        notes=(shown(quick, 300),) if quick else (),
    )


def _singling_out(risk: RiskResult | None) -> TestedLine:
    tests = (
        []
        if risk is None
        else [test for test in risk.leading.memorisation_tests if test.about.singles_out]
    )
    made = len(_assessed(tests))
    words = f"{made} of {len(tests)} tests made" if tests else "not tested here"
    return TestedLine("Singling out", _coverage(made, len(tests)), words)


def _coverage(made: int, of: int) -> str:
    return "no" if not made else "yes" if made == of else "part"


def _promised(promise: Promise | None) -> TestedLine:
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
    risk = report.risk
    has = (risk.about.holdout if risk is not None else report.about.holdout) is not None
    if has:
        return TestedLine("People who are not in the data", "yes", "a holdout was given")
    if risk is not None and risk.cross_fit is not None:
        return TestedLine("People who are not in the data", "part", "halves stood in")
    return TestedLine("People who are not in the data", "no", "no holdout")
