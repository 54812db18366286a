"""The heads of pages that are no reports on synthetic tables: the same three questions, each with a sentence and a small picture."""

from __future__ import annotations

from collections.abc import Sequence

from .._base.text import count_noun, fixed, number, percent, shown
from ..outputs.check import CheckResult
from ..outputs.evolve import EvolveResult
from ..risk.auditing.result import AuditResult, ClaimVerdict
from ..risk.membership.result import MembershipResult
from ..risk.singling_out.result import SinglingOutResult
from ..trees import TreeAudit
from .decision import GIVES_AWAY, GOOD_FOR, NOT_TESTED, DecisionFigure, TestedLine
from .decision_box import bars_picture, dots_picture, looks_picture
from .sections import PageAnswer

MENDING = "What would mend it?"
SURE = "How sure is it?"
MOST = 5


def _looks(
    place: int, question: str, sentence: str, lines: Sequence[TestedLine], word: str = ""
) -> PageAnswer:
    return PageAnswer(
        question,
        sentence,
        looks_picture(f"box-{place}", question, lines) if lines else None,
        word=word,
    )


def _dots(
    place: int,
    question: str,
    sentence: str,
    figures: Sequence[DecisionFigure],
    *,
    share: bool = True,
    word: str = "",
) -> PageAnswer:
    return PageAnswer(
        question,
        sentence,
        dots_picture(f"box-{place}", question, figures, share=share) if figures else None,
        word=word,
    )


def check_answers(result: CheckResult, rules: str, hold_back: str) -> tuple[PageAnswer, ...]:
    """Return what outputs give away, what to hold back, and what was not looked at; `rules` and `hold_back` are sentences of the page."""
    verdicts = [row.verdict for row in result.summary]
    states = {"fail": "no", "not assessed": "part", "review": "part", "pass": "yes"}
    lines = [
        TestedLine(word, state, _count(verdicts.count(word)))
        for word, state in states.items()
        if word in verdicts
    ]
    ignored = len(result.about.ignored)
    lines += [TestedLine("ignored", "no", _count(ignored))] if ignored else []
    held = ["not assessed"] if ignored and not result.about.ignored_accepted else []
    worst = next((word for word in states if word in (*verdicts, *held)), "not assessed")
    told = f"{result.text[:1].upper()}{result.text[1:]}".rstrip(".")
    mending = hold_back or (
        "No rule asks for an output to be held back." if result.rules.worst != "fail" else rules
    )
    attacked = result.all is not None
    missing = verdicts.count("not assessed") + ignored
    looked = (
        TestedLine("Rules of thumb", "yes", count_noun(len(tuple(result.rules)), "check")),
        TestedLine(
            "Datasets evolved from them",
            "yes" if attacked else "no",
            "attacked" if attacked else "not measured",
        ),
        TestedLine(
            "Together with earlier releases",
            "yes" if result.about.released else "no",
            "as named" if result.about.released else "none was named",
        ),
        TestedLine(
            "Every output assessed",
            "no" if missing else "yes",
            f"{missing} not assessed" if missing else "all of them",
        ),
        TestedLine("Promise of privacy", "no", "none"),
    )
    return (
        _looks(1, GIVES_AWAY, f"{told}.", lines, worst),
        PageAnswer(MENDING, mending, notes=(rules,) if mending != rules else ()),
        _looks(3, NOT_TESTED, _not("No formal promise", looked), looked),
    )


def _count(many: int) -> str:
    return f"{many} output{'s' * (many != 1)}"


def _not(first: str, lines: Sequence[TestedLine]) -> str:
    missing = [
        line.what[0].lower() + line.what[1:]
        for line in lines
        if line.state == "no" and line.what != "Promise of privacy"
    ]
    return f"{first}; not tested: {', '.join(missing)}." if missing else f"{first}."


def membership_answers(result: MembershipResult, limit: str) -> tuple[PageAnswer, ...]:
    """Return how well members are told, how sure that is, and what was not tried."""
    found = result.above_baseline
    told = f"{'More than a guess' if found else 'No more than a guess'}: members and others are told apart with AUC {fixed(result.auc)}, where a guess has 0.5."
    if result.secret is not None:
        told, found = result.sentence, result.secret.interval[0] > 0.5
    sides = (
        ("the closest row alone", result.closest),
        ("attackers, all targets", result.pooled),
        ("the worst target", result.worst),
    )
    figures = [DecisionFigure("a guess", 0.5)]
    figures += [
        DecisionFigure(
            name,
            one.auc,
            None if one.auc_interval is None else (one.auc_interval[0], one.auc_interval[1]),
        )
        for name, one in sides
    ]
    low, high = result.interval
    sure = f"The 95 % interval is {fixed(low)} to {fixed(high)}, over {count_noun(result.targets, 'target')} and fits that nobody learnt from."
    rates = [
        DecisionFigure(f"true at {100 * at.level:g} % false", at.tpr, at.tpr_interval)
        for at in result.pooled.at[:MOST]
        if at.tpr is not None
    ]
    return (
        _dots(
            1,
            GIVES_AWAY,
            told,
            figures,
            share=False,
            word="excess found" if found else "no excess found",
        ),
        _dots(2, SURE, sure, rates),
        _looks(3, NOT_TESTED, limit, _attacked("Membership", result)),
    )


def _attacked(done: str, result: MembershipResult | SinglingOutResult) -> tuple[TestedLine, ...]:
    box = str(result.settings.get("box", ""))
    others = [name for name in ("Membership", "Singling out") if name != done]
    return (
        TestedLine(done, "yes", count_noun(result.targets, "target")),
        TestedLine(
            "Attackers who see the model",
            "yes" if box == "whitebox" else "no",
            "tried" if box == "whitebox" else "not tried",
        ),
        *(TestedLine(name, "no", "not tested here") for name in others),
        TestedLine("Attacks on columns", "no", "not tested here"),
        TestedLine("Other people than the targets", "no", "not tested"),
    )


def singling_out_answers(result: SinglingOutResult, limit: str) -> tuple[PageAnswer, ...]:
    """Return how often somebody is singled out, how sure that is, and what was not tried."""
    found = bool(result.above_baseline)
    told = (
        f"{'More than a guess' if found else 'No more than a guess'}: somebody was singled out from {percent(result.success)} of the releases, by guessing from "
        f"{percent(result.baseline)}."
    )
    figures = (
        DecisionFigure("a guess", result.baseline),
        DecisionFigure(
            "the closest row alone", result.closest.success, _pair(result.closest.interval)
        ),
        DecisionFigure("attackers", result.success, _pair(result.interval)),
    )
    low, high = result.interval
    sure = f"The 95 % interval is {percent(low)} to {percent(high)}, over {count_noun(result.releases, 'release')}."
    by = [
        DecisionFigure(count_noun(one.attributes, "attribute"), one.success, _pair(one.interval))
        for one in result.isolations[-MOST:]
    ]
    return (
        _dots(1, GIVES_AWAY, told, figures, word="excess found" if found else "no excess found"),
        _dots(2, SURE, sure, by),
        _looks(3, NOT_TESTED, limit, _attacked("Singling out", result)),
    )


def _pair(ends: Sequence[float]) -> tuple[float, float]:
    return float(ends[0]), float(ends[1])


def audit_answers(audit: AuditResult, limit: str) -> tuple[PageAnswer, ...]:
    """Return whether the promise stands, which violation would have been found, and what runs cannot say."""
    ranked = sorted(audit.findings, key=lambda one: -one.share)[:MOST]
    figures = [
        DecisionFigure("the claim", 1.0),
        *(
            DecisionFigure(f"{shown(one.pair, 18)}, {shown(one.box, 10)}", one.share)
            for one in ranked
        ),
    ]
    broken = audit.verdict is ClaimVerdict.BROKEN
    power = next(
        (
            one
            for one in sorted(
                audit.findings, key=lambda one: 9e9 if one.factor is None else one.factor
            )
        ),
        None,
    )
    sure = (
        "No test was run."
        if power is None
        else f"The sharpest test would have found, four times out of five: {power.power}."
    )
    if broken:
        sure = (
            f"All bounds together hold with a confidence of {audit.level:g}: that is no accident."
        )
    lines = [
        TestedLine(f"{shown(one.pair, 22)}, {shown(one.box, 10)} box", "yes", str(one.verdict))
        for one in ranked
    ]
    lines += [
        TestedLine(
            f"{shown(one.pair, 22)}{f', {shown(one.box, 10)} box' if one.box else ''}",
            "no",
            "not tried",
        )
        for one in audit.skipped[:MOST]
    ]
    return (
        _dots(
            1,
            "Is the promise kept?",
            audit.lead,
            figures,
            share=False,
            word="fail" if broken else "not known",
        ),
        PageAnswer(SURE, sure),
        _looks(3, NOT_TESTED, limit, lines),
    )


def tree_answers(
    audit: TreeAudit,
    lead: str,
    cost: str,
    limit: str,
    *,
    isolating: int | None,
    scores: tuple[float, float] | None,
    isolates: bool,
) -> tuple[PageAnswer, ...]:
    """Return whom a tree isolates, what pruning costs, and what was not tried; `isolating` is how many nodes do, None where not known.

    `cost` and `scores` are of a model that was pruned, as `lead`, `isolating` and `isolates` then are too.
    """
    nodes = (
        "not known"
        if isolating is None
        else "none"
        if not isolating
        else f"{isolating:,} nodes"
        if isolating >= audit.threshold
        else f"fewer than {audit.threshold} nodes"
    )
    counts = TestedLine(
        "Nodes that isolate, by their counts",
        "part" if isolating is None else "no" if isolating else "yes",
        nodes,
    )
    tried = TestedLine(
        "Leaves tried on data",
        "no" if audit.tries is None else "yes",
        "no data were given" if audit.tries is None else "tried",
    )
    word = "fail" if isolates else "not assessed" if isolating is None else ""
    figures: tuple[DecisionFigure, ...] = ()
    if scores is not None:
        figures = (DecisionFigure("before", scores[0]), DecisionFigure("after", scores[1]))
    known = all(0 <= one.value <= 1 for one in figures)
    lines = (
        tried,
        TestedLine("Other models of the same people", "no", "not tested"),
        TestedLine("Membership", "no", "not tested here"),
        TestedLine("Promise of privacy", "no", "none"),
    )
    return (
        _looks(1, GIVES_AWAY, lead, (counts,), word),
        _dots(2, "What does pruning cost?", cost, figures if known else ()),
        _looks(3, NOT_TESTED, limit, lines),
    )


def evolve_answers(result: EvolveResult, reached: str, limit: str) -> tuple[PageAnswer, ...]:
    """Return what went into evolved datasets, what they reproduce, and what they do not say."""
    reports = result.copies[0].outputs if result.copies else ()
    ranked = sorted(reports, key=lambda one: -one.outside / max(one.numbers, 1))[:4]
    figures = [
        DecisionFigure(shown(one.name, 34), 1 - one.outside / one.numbers)
        for one in ranked
        if one.numbers
    ]
    lines = (
        TestedLine("Records of people", "no", "none went in"),
        TestedLine(
            "Published numbers", "yes", f"{number(sum(one.numbers for one in reports))} went in"
        ),
        TestedLine("What the numbers give away", "no", "see chaffinch check"),
        TestedLine("Other analyses than these", "no", "not there"),
    )
    away = "Nothing that the published numbers do not: no record went into it. What these themselves give away is asked by chaffinch check."
    picture = (
        bars_picture("box-2", GOOD_FOR, figures, ("none as published", "all as published"))
        if figures
        else None
    )
    return (
        PageAnswer(GIVES_AWAY, away),
        PageAnswer(GOOD_FOR, reached, picture),
        _looks(3, NOT_TESTED, limit, lines),
    )
