"""A page on predicate singling out: how often somebody is named rightly, beside guessing. No constant of a predicate is on it."""

from __future__ import annotations

from .._base.svg import Axis
from .._base.text import count_noun, fixed, number, percent
from ..risk.singling_out.chances import nobody_in
from ..risk.singling_out.result import SinglingOutResult
from .curves import Curve, Point, curves, frame
from .membership import attack_facts, attack_settings
from .page import page
from .page_heads import singling_out_answers
from .sections import Block, Figure, Listing, PageTable, Paragraph, Row, Section

SIZE = (560.0, 400.0)


def singling_out_page(
    result: SinglingOutResult, title: str = "Can somebody be singled out?"
) -> str:
    """Return one HTML file on an attack by predicate singling out: success beside guessing, by number of attributes and of targets."""
    sections = [
        Section("finding", "What was found", _finding(result)),
        Section("attributes", "By number of attributes", (_attributes(result),)),
        Section("chance", "Is anybody there to be named?", (_nobody(result),)),
        Section("how", "How it was done", attack_settings(result), folded=True),
        Section("limits", "What this does not say", (Listing(_limits(result)),)),
    ]
    alarm = "People can be singled out from what is released." if result.above_baseline else ""
    facts = (*attack_facts(result), ("Releases", f"{result.releases:,}"))
    return page(
        title,
        sections,
        facts=facts,
        alarm=alarm,
        answers=singling_out_answers(result, _limits(result)[2]),
    )


def _finding(result: SinglingOutResult) -> tuple[Block, ...]:
    low, high = result.interval
    said = (
        "the releases tell who is in the data."
        if result.above_baseline
        else "no more was found than guessing gives."
    )
    lead = (
        f"Somebody was singled out from {percent(result.success)} of {count_noun(result.releases, 'release')} (95 % interval {percent(low)} to {percent(high)}); a "
        f"guess without any release is right in {percent(result.baseline)}: {said}"
    )
    near = result.closest
    rows: tuple[Row, ...] = (
        (
            "Attackers: the target that is surest to be in",
            percent(result.success),
            _ends(result.interval),
        ),
        ("The target with the closest row", percent(near.success), _ends(near.interval)),
        ("A guess: |X| / |D|", percent(result.baseline), ""),
        (
            "A blind attacker at the same weight (Cohen and Nissim)",
            percent(result.isolations[-1].blind_attacker),
            "",
        ),
    )
    table = PageTable(
        "Share of releases in which one record of the data was isolated",
        ("Who", "Success", "95 % interval"),
        rows,
        numbers=frozenset({1, 2}),
    )
    skill = result.skill
    words = f"Attackers reached AUCs of {fixed(skill.least)} to {fixed(skill.most)}, in the mean {fixed(skill.mean)}, on fits that they did not learn from."
    return Paragraph(lead, "lead"), table, Paragraph(words)


def _ends(ends: tuple[float, float]) -> str:
    return f"{percent(ends[0])} to {percent(ends[1])}"


def _attributes(result: SinglingOutResult) -> Figure:
    isolations = result.isolations
    (left, right), (bottom, top) = frame(SIZE)
    across = Axis(0, max(len(isolations), 2), left, right)
    across.ticks = [tick for tick in across.ticks if tick == int(tick)]
    most = max(
        v for one in isolations for v in (one.interval[1], one.blind_attacker, one.without_release)
    )
    up = Axis(0.0, max(most, result.baseline), bottom, top)
    lines = [
        Curve(
            "Attack", tuple(Point(one.attributes, one.success, *one.interval) for one in isolations)
        ),
        Curve(
            "Blind attacker", tuple(Point(one.attributes, one.blind_attacker) for one in isolations)
        ),
        Curve(
            "Without release",
            tuple(Point(one.attributes, one.without_release) for one in isolations),
        ),
    ]
    desc = f"Success with up to {count_noun(len(isolations), 'attribute')}; with all {percent(result.success)}, a guess {percent(result.baseline)}."
    drawn = curves(
        "attributes-plot",
        "Success by number of attributes",
        desc,
        lines,
        across=across,
        up=up,
        labels=("attributes in the predicate", "share of releases"),
        level=("A guess: |X| / |D|", result.baseline),
        size=SIZE,
    )
    rows: tuple[Row, ...] = tuple(
        (
            f"{one.attributes}",
            percent(one.success),
            _ends(one.interval),
            number(one.weight),
            percent(one.blind_attacker),
            percent(one.without_release),
        )
        for one in isolations
    )
    head = ("Attributes", "Success", "95 % interval", "Weight", "Blind attacker", "Without release")
    table = PageTable("Success by number of attributes", head, rows, numbers=frozenset(range(6)))
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
    rows, targets = result.rows, result.targets
    population = result.population if isinstance(result.population, int) else max(rows, targets)
    size = (560.0, 330.0)
    (left, right), (bottom, top) = frame(size)
    most = min(max(targets, 10), population)
    across, up = Axis(0, most, left, right), Axis(0.0, 1.0, bottom, top)
    points = tuple(Point(k, nobody_in(rows, population, k)) for k in range(most + 1))
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
    told = tuple(
        (f"{k}", number(nobody_in(rows, population, k)))
        for k in sorted({1, 2, 5, 10, 20, 30, 50, targets})
        if k <= most
    )
    table = PageTable(
        "The chance that no target is in the data",
        ("Targets", "Chance"),
        told,
        numbers=frozenset({0, 1}),
    )
    note = (
        "With many targets some of them are nearly always in the data, and the attacker has only to find which. "
        "Where none is, the attack fails whatever it does."
    )
    return Figure(
        "nobody-figure", "The chance that no target is in the data", (drawn,), table, note=note
    )


def _limits(result: SinglingOutResult) -> tuple[str, ...]:
    return (
        "To isolate by all attributes the attacker must know them all: what is learnt is that the person is in the data.",
        "Success is compared with a guess at one over the share of the population in the data. Heavy predicates isolate by luck: look at the weight and at the blind attacker.",
        f"Targets are the {count_noun(result.targets, 'most vulnerable record')}. An attack that fails proves nothing; only a promise of differential privacy bounds every attacker.",
    )
