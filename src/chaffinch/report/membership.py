"""A page on a membership attack: how well it is told who was in the data. No record and no target is on it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from .._base.svg import Axis
from .._base.text import NONE, between, count_noun, fixed, number, percent, shown
from ..risk.membership import ATTACKERS
from ..risk.membership.rates import AtFpr, Rates
from ..risk.membership.result import MembershipResult
from ..risk.singling_out.result import SinglingOutResult
from .curves import Curve, Point, curves, frame
from .page import page
from .page_heads import membership_answers
from .sections import Block, Figure, Listing, PageTable, Paragraph, Row, Section

SIZE = (560.0, 400.0)


def membership_page(result: MembershipResult, title: str = "Was this person in the data?") -> str:
    """Return one HTML file on a membership attack: the finding, rates beside the closest row, curves, and every target's AUC."""
    sections = [
        Section("finding", "What was found", _finding(result)),
        Section("curve", "True positives against false ones", (_roc(result),)),
        Section("targets", "Each target", (_targets(result),)),
        Section("how", "How it was done", attack_settings(result), folded=True),
        Section("limits", "What this does not say", (Listing(_limits(result)),)),
    ]
    alarm = "Membership can be told from what is released." if result.above_baseline else ""
    if result.secret is not None:
        alarm = (
            "Values of people can be told from what is released."
            if result.secret.interval[0] > 0.5
            else ""
        )
    answers = membership_answers(result, _limits(result)[1])
    return page(title, sections, facts=attack_facts(result), alarm=alarm, answers=answers)


def attack_facts(result: MembershipResult | SinglingOutResult) -> tuple[tuple[str, str], ...]:
    """Return what was attacked, in names and words for the top of a page."""
    names = (("Data", result.about.get("data")), ("Population", result.about.get("population")))
    facts = [(word, shown(name)) for word, name in names if name]
    facts += [
        ("Synthesiser", shown(_short(str(result.settings["synthesiser"])), 160)),
        ("Targets", f"{result.targets:,}"),
        ("Subsets", f"{result.rows:,} of {count_noun(result.population, 'record')}"),
    ]
    if date := result.run.get("date"):
        facts.append(("Date", shown(date)))
    return tuple(facts)


def _short(words: str) -> str:
    """The name and the settings that a reader asks for first; the whole is in the table of settings."""
    name, bracket, rest = words.partition("(")
    wanted = ("parents=", "search=", "variant=", "epsilon=", "delta=")
    kept = [
        part
        for part in rest.rstrip(")").split(", ")
        if part.startswith(wanted) and not part.endswith(("None", "''"))
    ]
    return f"{name}({', '.join(kept)})" if bracket else name


def attack_settings(result: MembershipResult | SinglingOutResult) -> tuple[Block, ...]:
    """Return how attackers learnt, as a sentence and a table of settings."""
    chosen = result.settings
    design = {
        "shared": "All targets learn from the same fits; each is in some of them and not in the others.",
        "neighbours": "Each target has pairs of fits of its own that differ in one record: the target, or somebody in its place.",
    }[chosen["design"]]
    box = {
        "blackbox": "The attacker sees synthetic tables.",
        "whitebox": "The attacker sees the fitted model itself.",
    }[chosen["box"]]
    rows: list[Row] = [(shown(name), shown(value, 400)) for name, value in chosen.items()]
    rows.append(("records left out, as others have the same values", shown(result.duplicates)))
    words = (
        f"The attacker knows the population of {count_noun(result.population, 'record')}, the synthesiser and its settings, and all values of each "
        f"target, and wants to know whether the target is among the {count_noun(result.rows, 'record')} that a release was made from. {design} {box} Every fit has "
        "noise of its own. Rates are from fits that nobody learnt from, at thresholds chosen before."
    )
    return Paragraph(words), PageTable(
        "Settings", ("Setting", "Value"), tuple(rows), wide=frozenset({1})
    )


def _finding(result: MembershipResult) -> tuple[Block, ...]:
    low, high = result.interval
    said = (
        "What is released tells who is in the data."
        if result.above_baseline
        else "No more was found than guessing gives."
    )
    lead = (
        result.sentence
        if result.secret is not None
        else f"Members and others are told apart with AUC {fixed(result.auc)} (95 % interval {fixed(low)} to {fixed(high)}); a guess has 0.5. {result.explanation if result.above_baseline else ''}{said}"
    )
    sides = (
        ("Attackers, all targets", result.pooled),
        ("Closest row alone", result.closest),
        ("Worst target", result.worst),
    )
    levels = [f"True positives at {100 * at.level:g} % false" for at in result.pooled.at]
    rows: list[Row] = [
        (
            name,
            fixed(one.auc),
            _ends(one.auc_interval),
            fixed(one.advantage),
            _ends(one.advantage_interval),
            *(_rate(at) for at in one.at),
        )
        for name, one in sides
    ]
    head = ("", "AUC", "95 % interval", "Advantage", "95 % interval", *levels)
    table = PageTable(
        "How well membership is told", head, tuple(rows), numbers=frozenset(range(1, len(head)))
    )
    why = sorted({at.reason for _, one in sides for at in one.at if at.reason})
    notes = (
        [Paragraph(f"{NONE} means too few trials: {' '.join(shown(w, 200) for w in why)}", "note")]
        if why
        else []
    )
    worst = f"The worst target is the highest of {result.targets:,}, and by chance alone the highest lies above the mean."
    return Paragraph(lead, "lead"), table, *notes, Paragraph(worst, "note"), *_parts(result)


def _parts(result: MembershipResult) -> tuple[Block, ...]:
    """What each part of the attackers reaches alone."""
    if not result.strengths:
        return ()
    rows = tuple(
        (
            shown(part.name),
            shown(
                ATTACKERS[part.name].definition if part.name in ATTACKERS else part.evidence, 200
            ),
            fixed(part.auc),
            _ends(part.interval),
            fixed(part.mean_auc),
        )
        for part in result.strengths
    )
    head = ("Part", "What it goes by", "AUC", "95 % interval", "Mean AUC of targets")
    table = PageTable(
        "How well each part does alone",
        head,
        rows,
        numbers=frozenset({2, 3, 4}),
        wide=frozenset({1}),
    )
    note = (
        "The attackers weigh these parts for each target by how well each does on shadows that it did not learn from. AUC is over all targets; the mean is of "
        "the targets' own AUCs. The strongest of several is a little flattered."
    )
    return table, Paragraph(note, "note")


def _ends(ends: Sequence[float] | None) -> str:
    return NONE if ends is None else f"{fixed(ends[0])} to {fixed(ends[1])}"


def _rate(at: AtFpr) -> str:
    return NONE if at.tpr is None else f"{fixed(at.tpr)} ({_ends(at.tpr_interval)})"


def _roc(result: MembershipResult) -> Figure:
    (left, right), (bottom, top) = frame(SIZE)
    others = result.pooled.others
    low = 10.0 ** -min(4, max(1, math.floor(math.log10(max(others, 1)))))
    across, up = Axis(low, 1.0, left, right, log=True), Axis(low, 1.0, bottom, top, log=True)
    sides: tuple[tuple[str, Rates], ...] = (
        ("Attackers, all targets", result.pooled),
        ("Closest row alone", result.closest),
    )
    lines = [Curve(name, _stairs(one.fpr, one.tpr, low), marks=False) for name, one in sides]
    desc = f"Both axes are logarithmic, from {number(low)} to 1. AUC {fixed(result.auc)}, by the closest row {fixed(result.closest.auc)}."
    drawn = curves(
        "roc",
        "True against false positives",
        desc,
        lines,
        across=across,
        up=up,
        labels=("false positives", "true positives"),
        diagonal="A guess",
        size=SIZE,
    )
    rows = tuple(
        (number(at), *(fixed(_height(one.fpr, one.tpr, at)) for _, one in sides))
        for at in (0.001, 0.01, 0.05, 0.1, 0.25, 0.5)
        if at >= low
    )
    table = PageTable(
        "True positives where false ones are at most",
        ("False positives", *(name for name, _ in sides)),
        rows,
        numbers=frozenset({0, 1, 2}),
    )
    note = (
        "Left is what counts: an attacker who is rarely wrong about others. Curves are read off the test fits themselves, so they are a little kinder to "
        "attackers than the table above, whose thresholds were chosen before."
    )
    return Figure(
        "roc-figure",
        "True positives against false positives, both axes logarithmic",
        (drawn,),
        table,
        note=note,
    )


def _stairs(fpr: Sequence[float], tpr: Sequence[float], low: float) -> tuple[Point, ...]:
    """A curve as stairs, never above itself, from `low` on: what lies left of it is one point, the highest there."""
    out = [(low, max(_height(fpr, tpr, low), low))]
    for x, y in zip(fpr, tpr, strict=True):
        if x > low:
            out += [(x, out[-1][1]), (x, max(y, low))]
    return tuple(Point(x, y) for x, y in dict.fromkeys(out))


def _height(fpr: Sequence[float], tpr: Sequence[float], at: float) -> float:
    return max((y for x, y in zip(fpr, tpr, strict=True) if x <= at), default=0.0)


def _targets(result: MembershipResult) -> Figure:
    aucs = sorted(result.target_aucs, reverse=True)
    size = (560.0, 330.0)
    (left, right), (bottom, top) = frame(size)
    across = Axis(0, max(len(aucs), 2), left, right)
    across.ticks = [tick for tick in across.ticks if tick == int(tick)]
    up = Axis(min([0.4, *aucs]), 1.0, bottom, top)
    points = tuple(Point(i + 1, auc) for i, auc in enumerate(aucs))
    desc = (
        f"{count_noun(len(aucs), 'target')}, AUC from {fixed(aucs[-1])} to {fixed(aucs[0])}."
        if aucs
        else "No target."
    )
    drawn = curves(
        "aucs",
        "AUC of each target",
        desc,
        [Curve("One target", points, joined=False)],
        across=across,
        up=up,
        labels=("targets, the one told best first", "AUC"),
        level=("A guess: 0.5", 0.5),
        size=size,
    )
    shares = [
        (f"at least {edge:g}", percent(sum(a >= edge for a in aucs) / len(aucs) if aucs else None))
        for edge in (0.5, 0.6, 0.7, 0.8, 0.9, 0.99)
    ]
    table = PageTable(
        "Share of targets by AUC",
        ("AUC", "Share of targets"),
        tuple(shares),
        numbers=frozenset({1}),
    )
    return Figure(
        "aucs-figure",
        "AUC of each target",
        (drawn,),
        table,
        note="A dot is a target. Who they are is in --confidential alone.",
    )


def _ranking_words(ranked: Mapping[str, int]) -> str:
    """Return by what targets were found, with how many came from each; nothing where they were named."""
    words = {
        "hamming": "by the distance of their codes to others",
        "cosine": "by their distance to others, numbers and categories together",
        "extremes": "by their most extreme number",
        "rarity": "by the rarity of single values",
    }
    parts = [f"{count:,} {words.get(name, name)}" for name, count in ranked.items()]
    return f": {', '.join(parts)}" if parts else ""


def _limits(result: MembershipResult) -> tuple[str, ...]:
    low, high = result.interval
    return (
        f"Targets are the {count_noun(result.targets, 'most vulnerable record')}{_ranking_words(result.ranked)}. Others are expected to be told less well.",
        "An attacker with less knowledge of the population does worse; one with another method may do better. An attack that fails proves nothing.",
        f"The interval, {between((low, high))}, is over fits. With other targets, or another population, it would be another number.",
        "Only a promise of differential privacy bounds every attacker.",
    )
