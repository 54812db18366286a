"""Pages on attacks and audits: who was in the data (membership), who can be singled out, and whether a promise is kept.

No record, no target and no constant of a predicate is on them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from .._base.results import Leaving
from .._base.svg import Axis
from .._base.text import (
    NONE,
    between,
    capital,
    count_noun,
    display_name,
    format_fixed,
    number,
    percent,
)
from ..risk.auditing.result import (
    AuditResult,
    ClaimVerdict,
    bounds_plot,
    claim_share,
    claim_verdict,
    power_words,
)
from ..risk.finding import Finding, claim_factor
from ..risk.membership.rates import Rates
from ..risk.membership.result import GUESS, MembershipResult
from ..risk.singling_out import SinglingOutResult, nobody_in
from .charts import Curve, Point, curves, frame
from .heads import (
    GIVES_AWAY,
    MOST_LINES,
    NOT_TESTED,
    SURE,
    DecisionFigure,
    TestedLine,
    dots_answer,
    looks_answer,
)
from .page import PageContent
from .sections import (
    Block,
    Cell,
    Col,
    Figure,
    Listing,
    Num,
    PageAnswer,
    Paragraph,
    Row,
    Section,
    Wide,
    page_table,
)
from .text import AUDIT_LIMITS, AUDIT_PAIRS

SIZE = (560.0, 400.0)
LEAVING = {
    False: Leaving(True, "It holds numbers of runs on made-up tables."),
    True: Leaving(
        False,
        "It says how records of the user's own table fared, one of them being the most vulnerable.",
    ),
}
"""The first line, by whether the user's table was among those audited."""


def membership_page(result: MembershipResult, title: str = "Was this person in the data?") -> str:
    """Return one HTML file on a membership attack: the finding, rates beside the closest row, curves, and every target's AUC."""
    sections = [
        Section("finding", "What was found", _membership_finding(result)),
        Section("curve", "True positives against false ones", (_roc(result),)),
        Section("targets", "Each target", (_targets(result),)),
        Section("how", "How it was done", attack_settings(result), folded=True),
        Section("limits", "What this does not say", (Listing(_membership_limits(result)),)),
    ]
    alarm = (
        "Membership can be told from what is released." if result.findings[0].excess_found else ""
    )
    answers = membership_answers(result, _membership_limits(result)[1])
    return PageContent(
        title, sections, facts=attack_facts(result), alarm=alarm, answers=answers
    ).html


def membership_answers(result: MembershipResult, limit: str) -> tuple[PageAnswer, ...]:
    """Return how well members are told, how sure that is, and what was not tried."""
    finding = result.findings[0]
    lead = f"{_more_words(finding)}: members and others are told apart with AUC {format_fixed(result.auc)}, where a guess has 0.5."
    figures = [
        DecisionFigure("a guess", GUESS),
        *(
            DecisionFigure(name, rates.auc, rates.auc_interval)
            for name, rates in (
                ("the closest row alone", result.closest),
                ("attackers, all targets", result.pooled),
                ("the worst target", result.worst),
            )
        ),
    ]
    sure = f"The 95 % interval is {_ends(result.interval)}, over {count_noun(result.targets, 'target')} and fits that nobody learnt from."
    true_positives = [
        DecisionFigure(f"true at {100 * point.level:g} % false", point.tpr, point.tpr_interval)
        for point in result.pooled.at_fpr[:MOST_LINES]
        if point.tpr is not None
    ]
    return (
        dots_answer(1, GIVES_AWAY, lead, figures, share=False, word=finding.word),
        dots_answer(2, SURE, sure, true_positives),
        looks_answer(3, NOT_TESTED, limit, _attack_lines("Membership", result)),
    )


def _more_words(finding: Finding) -> str:
    return "More than a guess" if finding.excess_found else "No more than a guess"


def _groups(result: MembershipResult) -> tuple[tuple[str, Rates], ...]:
    return (
        ("Attackers, all targets", result.pooled),
        ("Closest row alone", result.closest),
        ("Worst target", result.worst),
    )


def _membership_finding(result: MembershipResult) -> tuple[Block, ...]:
    groups = _groups(result)
    rows: list[Row] = [
        (
            name,
            format_fixed(rates.auc),
            _ends(rates.auc_interval),
            format_fixed(rates.advantage),
            _ends(rates.advantage_interval),
            *(
                NONE
                if point.tpr is None
                else f"{format_fixed(point.tpr)} ({_ends(point.tpr_interval)})"
                for point in rates.at_fpr
            ),
        )
        for name, rates in groups
    ]
    levels = [f"True positives at {100 * point.level:g} % false" for point in result.pooled.at_fpr]
    table = page_table(
        "How well membership is told",
        rows,
        Col(""),
        Num("AUC"),
        Num("95 % interval"),
        Num("Advantage"),
        Num("95 % interval"),
        *map(Num, levels),
    )
    why = sorted({point.reason for _, rates in groups for point in rates.at_fpr if point.reason})
    notes = (
        [f"{NONE} means too few trials: {' '.join(display_name(reason, 200) for reason in why)}"]
        if why
        else []
    )
    notes.append(
        f"The worst target is the highest of {result.targets:,}, and by chance alone the highest lies above the mean."
    )
    return (
        Paragraph(result.sentence, "lead"),
        table,
        *(Paragraph(note, "note") for note in notes),
        *_parts(result),
    )


def _parts(result: MembershipResult) -> tuple[Block, ...]:
    """What each part of the attackers reaches alone."""
    if not result.parts:
        return ()
    table = page_table(
        "How well each part does alone",
        result.parts,
        Col("Part", lambda finding: display_name(finding.attacker)),
        Wide("What it goes by", lambda finding: display_name(finding.about.definition, 200)),
        Num("AUC", lambda finding: format_fixed(finding.value)),
        Num("95 % interval", lambda finding: _ends(finding.interval)),
        Num(
            "Mean AUC of targets",
            lambda finding: format_fixed(result.mean_aucs.get(finding.attacker)),
        ),
    )
    note = (
        "The attackers weigh these parts for each target by how well each does on shadows that it did not learn from. AUC is over all targets; the mean is of "
        "the targets' own AUCs. The strongest of several is a little flattered."
    )
    return table, Paragraph(note, "note")


def _ends(ends: Sequence[float] | None) -> str:
    return NONE if ends is None else f"{format_fixed(ends[0])} to {format_fixed(ends[1])}"


def _roc(result: MembershipResult) -> Figure:
    across_ends, up_ends = frame(SIZE)
    others = result.pooled.others
    low = 10.0 ** -min(4, max(1, math.floor(math.log10(max(others, 1)))))
    across, up = Axis(low, 1.0, *across_ends, log=True), Axis(low, 1.0, *up_ends, log=True)
    groups = _groups(result)[:2]
    lines = [Curve(name, _stairs(rates.fpr, rates.tpr, low), marks=False) for name, rates in groups]
    desc = f"Both axes are logarithmic, from {number(low)} to 1. AUC {format_fixed(result.auc)}, by the closest row {format_fixed(result.closest.auc)}."
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
        (number(fpr), *(format_fixed(_height(rates.fpr, rates.tpr, fpr)) for _, rates in groups))
        for fpr in (0.001, 0.01, 0.05, 0.1, 0.25, 0.5)
        if fpr >= low
    )
    table = page_table(
        "True positives where false ones are at most",
        rows,
        Num("False positives"),
        *(Num(name) for (name, _) in groups),
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


def _height(fpr: Sequence[float], tpr: Sequence[float], max_fpr: float) -> float:
    return max((y for x, y in zip(fpr, tpr, strict=True) if x <= max_fpr), default=0.0)


def _targets(result: MembershipResult) -> Figure:
    aucs = sorted(result.target_aucs, reverse=True)
    size = (560.0, 330.0)
    across_ends, up_ends = frame(size)
    across = Axis(0, max(len(aucs), 2), *across_ends)
    across.ticks = [tick for tick in across.ticks if tick == int(tick)]
    up = Axis(min([0.4, *aucs]), 1.0, *up_ends)
    points = tuple(Point(i + 1, auc) for i, auc in enumerate(aucs))
    desc = (
        f"{count_noun(len(aucs), 'target')}, AUC from {format_fixed(aucs[-1])} to {format_fixed(aucs[0])}."
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
    table = page_table("Share of targets by AUC", shares, Col("AUC"), Num("Share of targets"))
    return Figure(
        "aucs-figure",
        "AUC of each target",
        (drawn,),
        table,
        note="A dot is a target. Who they are is in --confidential alone.",
    )


def _membership_limits(result: MembershipResult) -> tuple[str, ...]:
    return (
        f"Targets are the {count_noun(result.targets, 'most vulnerable record')}{_ranking_words(result.ranked)}. Others are expected to be told less well.",
        "An attacker with less knowledge of the population does worse; one with another method may do better. An attack that fails proves nothing.",
        f"The interval, {between(result.interval)}, is over fits. With other targets, or another population, it would be another number.",
        "Only a promise of differential privacy bounds every attacker.",
    )


def _ranking_words(ranked: Mapping[str, int]) -> str:
    """Return by what targets were found, with how many came from each; nothing where they were named."""
    bases = {
        "hamming": "by the distance of their codes to others",
        "cosine": "by their distance to others, numbers and categories together",
        "extremes": "by their most extreme number",
        "rarity": "by the rarity of single values",
    }
    parts = [f"{count:,} {bases.get(name, name)}" for name, count in ranked.items()]
    return f": {', '.join(parts)}" if parts else ""


def singling_out_page(
    result: SinglingOutResult, title: str = "Can somebody be singled out?"
) -> str:
    """Return one HTML file on an attack by predicate singling out: success beside guessing, by number of attributes and of targets."""
    sections = [
        Section("finding", "What was found", _singled_out(result)),
        Section("attributes", "By number of attributes", (_attributes(result),)),
        Section("chance", "Is anybody there to be named?", (_nobody(result),)),
        Section("how", "How it was done", attack_settings(result), folded=True),
        Section("limits", "What this does not say", (Listing(_singling_out_limits(result)),)),
    ]
    alarm = (
        "People can be singled out from what is released."
        if result.findings[0].excess_found
        else ""
    )
    facts = (*attack_facts(result), ("Releases", f"{result.releases:,}"))
    return PageContent(
        title,
        sections,
        facts=facts,
        alarm=alarm,
        answers=singling_out_answers(result, _singling_out_limits(result)[2]),
    ).html


def singling_out_answers(result: SinglingOutResult, limit: str) -> tuple[PageAnswer, ...]:
    """Return how often somebody is singled out, how sure that is, and what was not tried."""
    finding = result.findings[0]
    lead = (
        f"{_more_words(finding)}: somebody was singled out from {percent(result.success)} of the releases, by guessing from "
        f"{percent(result.guess)}."
    )
    figures = (
        DecisionFigure("a guess", result.guess),
        DecisionFigure("the closest row alone", result.closest.success, result.closest.interval),
        DecisionFigure("attackers", result.success, result.interval),
    )
    sure = f"The 95 % interval is {_percents(result.interval)}, over {count_noun(result.releases, 'release')}."
    by_attributes = [
        DecisionFigure(
            count_noun(isolation.attributes, "attribute"), isolation.success, isolation.interval
        )
        for isolation in result.isolations[-MOST_LINES:]
    ]
    return (
        dots_answer(1, GIVES_AWAY, lead, figures, word=finding.word),
        dots_answer(2, SURE, sure, by_attributes),
        looks_answer(3, NOT_TESTED, limit, _attack_lines("Singling out", result)),
    )


def _singled_out(result: SinglingOutResult) -> tuple[Block, ...]:
    near = result.closest
    rows: tuple[Row, ...] = (
        (
            "Attackers: the target that is surest to be in",
            percent(result.success),
            _percents(result.interval),
        ),
        (
            "The target with the closest row",
            percent(near.success),
            _percents(near.interval),
        ),
        ("A guess: |X| / |D|", percent(result.guess), ""),
        (
            "A blind attacker at the same weight (Cohen and Nissim)",
            percent(result.isolations[-1].blind_attacker),
            "",
        ),
    )
    table = page_table(
        "Share of releases in which one record of the data was isolated",
        rows,
        Col("Who"),
        Num("Success"),
        Num("95 % interval"),
    )
    skill = result.skill
    aucs = f"Attackers reached AUCs of {format_fixed(skill.lowest)} to {format_fixed(skill.highest)}, in the mean {format_fixed(skill.mean)}, on fits that they did not learn from."
    return Paragraph(result.sentence, "lead"), table, Paragraph(aucs)


def _percents(ends: tuple[float, float]) -> str:
    return f"{percent(ends[0])} to {percent(ends[1])}"


def _attributes(result: SinglingOutResult) -> Figure:
    isolations = result.isolations
    across_ends, up_ends = frame(SIZE)
    across = Axis(0, max(len(isolations), 2), *across_ends)
    across.ticks = [tick for tick in across.ticks if tick == int(tick)]
    highest = max(
        value
        for isolation in isolations
        for value in (isolation.interval[1], isolation.blind_attacker, isolation.without_release)
    )
    up = Axis(0.0, max(highest, result.guess), *up_ends)
    lines = [
        Curve(
            "Attack",
            tuple(
                Point(isolation.attributes, isolation.success, *isolation.interval)
                for isolation in isolations
            ),
        ),
        *(
            Curve(
                capital(name.replace("_", " ")),
                tuple(
                    Point(isolation.attributes, getattr(isolation, name))
                    for isolation in isolations
                ),
            )
            for name in ("blind_attacker", "without_release")
        ),
    ]
    desc = f"Success with up to {count_noun(len(isolations), 'attribute')}; with all {percent(result.success)}, a guess {percent(result.guess)}."
    drawn = curves(
        "attributes-plot",
        "Success by number of attributes",
        desc,
        lines,
        across=across,
        up=up,
        labels=("attributes in the predicate", "share of releases"),
        level=("A guess: |X| / |D|", result.guess),
        size=SIZE,
    )
    table = page_table(
        "Success by number of attributes",
        isolations,
        Num("Attributes", lambda isolation: f"{isolation.attributes}"),
        Num("Success", lambda isolation: percent(isolation.success)),
        Num("95 % interval", lambda isolation: _percents(isolation.interval)),
        Num("Weight", lambda isolation: number(isolation.weight)),
        Num("Blind attacker", lambda isolation: percent(isolation.blind_attacker)),
        Num("Without release", lambda isolation: percent(isolation.without_release)),
    )
    note = (
        "A predicate says what so many attributes are; of each size the one that is true of fewest is taken. It isolates if it is true of exactly one record of "
        "the data. Its weight is the share of the population that it is true of. The blind attacker has any predicate no heavier than that and sees nothing "
        "(37 % at a weight of one over the number of records); without release, the same predicates are tried on data drawn afresh. "
        f"{count_noun(result.attributes_that_suffice, 'attribute is', 'attributes are')} enough, in the mean, to tell a target from everybody in the population."
    )
    return Figure(
        "attributes-figure",
        "Success by number of attributes",
        (drawn,),
        table,
        note=note,
        open=True,
    )


def _nobody(result: SinglingOutResult) -> Figure:
    rows, targets = result.subset_rows, result.targets
    population = result.population if isinstance(result.population, int) else max(rows, targets)
    size = (560.0, 330.0)
    across_ends, up_ends = frame(size)
    max_targets = min(max(targets, 10), population)
    across, up = Axis(0, max_targets, *across_ends), Axis(0.0, 1.0, *up_ends)
    points = tuple(Point(k, nobody_in(rows, population, k)) for k in range(max_targets + 1))
    here = (Point(targets, nobody_in(rows, population, targets)),)
    desc = (
        f"The chance falls with the number of targets; with {targets:,} it is {number(here[0].y)}."
    )
    drawn = curves(
        "nobody-plot",
        "The chance that no target is in the data",
        desc,
        [
            Curve("By number of targets", points, marks=False),
            Curve("This attack", here, joined=False),
        ],
        across=across,
        up=up,
        labels=("targets", "chance that none is in the data"),
        size=size,
    )
    table = page_table(
        "The chance that no target is in the data",
        [k for k in sorted({1, 2, 5, 10, 20, 30, 50, targets}) if k <= max_targets],
        Num("Targets", lambda k: f"{k}"),
        Num("Chance", lambda k: number(nobody_in(rows, population, k))),
    )
    note = (
        "With many targets some of them are nearly always in the data, and the attacker has only to find which. "
        "Where none is, the attack fails whatever it does."
    )
    return Figure(
        "nobody-figure", "The chance that no target is in the data", (drawn,), table, note=note
    )


def _singling_out_limits(result: SinglingOutResult) -> tuple[str, ...]:
    return (
        "To isolate by all attributes the attacker must know them all: what is learnt is that the person is in the data.",
        "Success is compared with a guess at one over the share of the population in the data. Heavy predicates isolate by luck: look at the weight and at the blind attacker.",
        f"Targets are the {count_noun(result.targets, 'most vulnerable record')}. An attack that fails proves nothing; only a promise of differential privacy bounds every attacker.",
    )


def audit_page(audit: AuditResult, title: str = "Is the promise kept?") -> str:
    """Return one HTML file on an audit: the verdict, bounds beside the claim for each pair and box, and what they cannot say."""
    broken = audit.verdict is ClaimVerdict.BROKEN
    sections = [
        Section("finding", "What was found", _audit_blocks(audit, broken)),
        Section("bounds", "Bounds beside the claim", (_bounds_figure(audit),)),
        Section("pairs", "The tables", _table_pairs(audit)),
        Section("limits", "What this does not say", (Listing(AUDIT_LIMITS),)),
    ]
    date = audit.run.get("date")
    facts = (
        ("Synthesiser", display_name(audit.about.get("synth") or audit.synthesiser, 200)),
        ("Claim", _claim(audit)),
        ("Confidence", percent(audit.level)),
        *([("Date", display_name(date))] if date else []),
    )
    return PageContent(
        title,
        sections,
        facts=facts,
        alarm="The claim is broken: do not rely on this promise." if broken else "",
        answers=audit_answers(audit, AUDIT_LIMITS[0]),
        leaving=LEAVING[any(finding.scope[0] == "average" for finding in audit.findings)],
    ).html


def audit_answers(audit: AuditResult, limit: str) -> tuple[PageAnswer, ...]:
    """Return whether the promise stands, which violation would have been found, and what runs cannot say."""
    ranked = sorted(audit.findings, key=claim_share, reverse=True)[:MOST_LINES]
    figures = [
        DecisionFigure("the claim", 1.0),
        *(
            DecisionFigure(
                f"{display_name(finding.scope[0], 18)}, {display_name(finding.scope[1], 10)}",
                claim_share(finding),
            )
            for finding in ranked
        ),
    ]
    broken = audit.verdict is ClaimVerdict.BROKEN
    sharpest = min(audit.findings, key=lambda finding: claim_factor(finding) or 9e9, default=None)
    sure = (
        "No test was run."
        if sharpest is None
        else f"The sharpest test would have found, four times out of five: {power_words(sharpest)}."
    )
    if broken:
        sure = (
            f"All bounds together hold with a confidence of {audit.level:g}: that is no accident."
        )
    lines = [
        TestedLine(_test_words(finding.scope, 22), "yes", str(claim_verdict(finding)))
        for finding in ranked
    ]
    lines += [
        TestedLine(_test_words((test.pair, test.box), 22), "no", "not tried")
        for test in audit.skipped[:MOST_LINES]
    ]
    return (
        dots_answer(
            1,
            "Is the promise kept?",
            audit.lead,
            figures,
            share=False,
            word="fail" if broken else "not known",
        ),
        PageAnswer(SURE, sure),
        looks_answer(3, NOT_TESTED, limit, lines),
    )


def _test_words(scope: Sequence[str], width: int = 40) -> str:
    pair, box = scope
    return f"{display_name(pair, width)}{f', {display_name(box, 10)} box' if box else ''}"


def _claim(audit: AuditResult) -> str:
    delta = f", delta {audit.delta:g}" if audit.delta else ""
    return f"epsilon {number(audit.epsilon)}{delta} ({display_name(audit.neighbours, 120)})"


def _audit_blocks(audit: AuditResult, broken: bool) -> tuple[Block, ...]:
    rows: tuple[Row, ...] = tuple(
        (
            *map(display_name, finding.scope),
            f"{finding.quantity} {number(finding.value)}",
            number(finding.claim),
            power_words(finding),
            f"{trials.right:,} of {trials.guesses:,}",
            f"{trials.runs:,}",
            display_name(finding.attacker),
            Cell(display_name(str(claim_verdict(finding)))),
        )
        for finding in audit.findings
        if (trials := finding.trials) is not None
    )
    tests = len(audit.findings)
    how = (
        f"All bounds together hold with a confidence of {percent(audit.level)}: each of the {tests} tests has {audit.level_each:.6g}. Attackers and their rules "
        "were chosen on other runs than those that are counted."
    )
    return (
        Paragraph(audit.lead, "alarm" if broken else "lead"),
        page_table(
            "What was proved, by pair of tables and by what is looked at",
            rows,
            Col("Pair"),
            Col("Box"),
            Num("At least"),
            Num("Claimed"),
            Num("Found with 80 %"),
            Num("Right guesses"),
            Num("Runs"),
            Col("Attacker"),
            Col("Verdict"),
        ),
        Paragraph(how, "note"),
    )


def _bounds_figure(audit: AuditResult) -> Figure:
    table = page_table(
        "Bounds over the claim",
        audit.findings,
        Col("Test", lambda finding: _test_words(finding.scope)),
        Num("Proved", lambda finding: number(claim_share(finding))),
        Col("Found with 80 %", lambda finding: power_words(finding)),
    )
    plot = bounds_plot("bounds-plot", audit)
    return Figure("bounds-figure", "What was proved, as a share of what is claimed", (plot,), table)


def _table_pairs(audit: AuditResult) -> tuple[Block, ...]:
    names = list(dict.fromkeys(finding.scope[0] for finding in audit.findings))
    blocks: list[Block] = [
        page_table(
            "Pairs of tables that differ in one record",
            names,
            Col("Pair", lambda name: display_name(name)),
            Wide("What it is", lambda name: AUDIT_PAIRS.get(name, "A pair of the user's own.")),
        )
    ]
    if skipped := audit.skipped:
        reasons = tuple(
            f"{_test_words((test.pair, test.box))}: {display_name(test.reason, 300)}."
            for test in skipped
        )
        blocks += [Paragraph("Not tried:", "strong"), Listing(reasons)]
    return tuple(blocks)


def attack_facts(result: MembershipResult | SinglingOutResult) -> tuple[tuple[str, str], ...]:
    """Return what was attacked, in names and words for the top of a page."""
    names = (("Data", result.about.get("data")), ("Population", result.about.get("population")))
    date = result.run.get("date")
    return (
        *((title, display_name(name)) for title, name in names if name),
        ("Synthesiser", display_name(_short(str(result.settings["synthesiser"])), 160)),
        ("Targets", f"{result.targets:,}"),
        ("Subsets", f"{result.subset_rows:,} of {count_noun(result.population, 'record')}"),
        *([("Date", display_name(date))] if date else []),
    )


def _short(synthesiser: str) -> str:
    """The name and the settings that a reader asks for first; the whole is in the table of settings."""
    name, bracket, rest = synthesiser.partition("(")
    wanted = ("parents=", "search=", "variant=", "epsilon=", "delta=")
    options = [
        option
        for option in rest.rstrip(")").split(", ")
        if option.startswith(wanted) and not option.endswith(("None", "''"))
    ]
    return f"{name}({', '.join(options)})" if bracket else name


def attack_settings(result: MembershipResult | SinglingOutResult) -> tuple[Block, ...]:
    """Return how attackers learnt, as a sentence and a table of settings."""
    chosen = result.settings
    design = {
        "shared": "All targets learn from the same fits; each is in some of them and not in the others.",
        "neighbours": "Each target has pairs of fits of its own that differ in one record: the target, or somebody in its place.",
    }[chosen["design"]]
    access = {
        "blackbox": "The attacker sees synthetic tables.",
        "whitebox": "The attacker sees the fitted model itself.",
    }[chosen["access"]]
    rows = (
        *((display_name(name), display_name(value, 400)) for name, value in chosen.items()),
        ("records left out, as others have the same values", display_name(result.duplicates)),
    )
    knowledge = (
        f"The attacker knows the population of {count_noun(result.population, 'record')}, the synthesiser and its settings, and all values of each "
        f"target, and wants to know whether the target is among the {count_noun(result.subset_rows, 'record')} that a release was made from. {design} {access} Every fit has "
        "noise of its own. Rates are from fits that nobody learnt from, at thresholds chosen before."
    )
    return Paragraph(knowledge), page_table("Settings", rows, Col("Setting"), Wide("Value"))


def _attack_lines(
    attack: str, result: MembershipResult | SinglingOutResult
) -> tuple[TestedLine, ...]:
    access = str(result.settings.get("access", ""))
    others = [name for name in ("Membership", "Singling out") if name != attack]
    return (
        TestedLine(attack, "yes", count_noun(result.targets, "target")),
        TestedLine(
            "Attackers who see the model",
            "yes" if access == "whitebox" else "no",
            "tried" if access == "whitebox" else "not tried",
        ),
        *(TestedLine(name, "no", "not tested here") for name in others),
        TestedLine("Attacks on columns", "no", "not tested here"),
        TestedLine("Other people than the targets", "no", "not tested"),
    )
