"""What to decide a release by: what it gives away, what it is good for, what was not tested and is not promised. No score.

Three questions, each with one sentence and the numbers behind it. They are not weighed against each other: that is the decision.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

from .._base.results import LeftOut, not_measured, to_plain
from .._base.text import shown
from ..risk.attribution.verdict import LimitVerdict, RiskVerdictRow
from ..utility.verdict import VerdictRow
from .promise import promise_of
from .result import ReportResult

GIVES_AWAY = "What does it give away?"
GOOD_FOR = "What is it good for?"
NOT_TESTED = "What was not tested, what is not promised?"

NO_ATTACK = (
    "What the table gives away was not tested: name keys and sensitive columns, and it is attacked."
)
NO_KEYS = "Whether someone who knows some columns of a person finds out others was not tested: name keys and sensitive columns."
NO_HOLDOUT = "There was no holdout: whether the table tells more about its own people than about others is judged by models of half of them."
NO_OTHERS = "There was no holdout: whether the table tells more about its own people than about others is not known."
NO_MEMBERSHIP = "Membership was not tested: see chaffinch.membership."
NO_SINGLING_OUT = "Singling out was not tested: see chaffinch.singling_out."


@dataclass(frozen=True)
class DecisionFigure:
    """A number that stands in an answer: whose it is, its 95 % interval, and a word for it where there is one."""

    name: str
    value: float
    interval: tuple[float, float] | None = None
    word: str = ""


@dataclass(frozen=True)
class TestedLine:
    """Whether something was looked at, or promised: what, what of it, and `state`, `yes`, `no` or `part`."""

    what: str
    state: str
    words: str


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


def left_out_of(report: ReportResult) -> tuple[LeftOut, ...]:
    """Return what a quick run did not measure and not attack with, each with the option that brings it back."""
    return (*report.about.left_out, *(() if report.risk is None else report.risk.about.left_out))


def decision_of(report: ReportResult) -> Decision:
    """Return what to decide by, worked out from a report."""
    from .answers import gives_away, good_for, not_tested

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
