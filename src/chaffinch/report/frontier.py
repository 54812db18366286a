"""A page on a frontier: what was chosen and on whom that was measured, settings by what they give away and are worth, and which setting moved what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from markupsafe import Markup

from .._base.results import Leaving
from .._base.svg import GREY, INK, Axis, picture, text
from .._base.text import (
    NONE,
    between,
    capital,
    count_noun,
    detectable_words,
    display_name,
    number,
    percent,
)
from ..stats.intervals import LimitState
from .charts import Level, Spot, plane, scatter
from .frontier_result import (
    ATTEMPTS,
    Evaluation,
    FrontierResult,
    RiskFigure,
    WorthFigure,
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
    PageTable,
    Paragraph,
    Row,
    Section,
    Wide,
    page_table,
)
from .text import FRONTIER_LIMITS, FRONTIER_READING

SIZE = (720.0, 420.0)
BLUE, ORANGE, PALE = "#0072B2", "#D55E00", "#858585"
LEAVING = Leaving(
    False, "Its figures are taken from the original, and the choice was made by them."
)
COLUMNS = (
    Wide("Settings"),
    Num("Largest excess"),
    Num("95 % bounds"),
    Wide("Strongest"),
    Num("Worth"),
    Num("95 % interval"),
)


def frontier_page(result: FrontierResult) -> str:
    """Return a frontier as one HTML file, to be kept inside."""
    name = result.about.original
    sections = [
        Section("front", "What is given away beside what it is worth", tuple(_pictures(result))),
        *_chosen_section(result),
        *_why_section(result),
        Section(
            "front-table",
            "Settings on the front",
            (_front_table(result), Paragraph(FRONTIER_READING, "note")),
        ),
        Section(
            "evaluations",
            f"{count_noun(len(result.evaluations), 'setting')} tried",
            tuple(_all_tables(result)),
            folded=True,
        ),
        Section(
            "limits", "What this does not say", (Listing((*result.about.notes, *FRONTIER_LIMITS)),)
        ),
    ]
    return PageContent(
        f"The frontier of {display_name(name)}" if name else "The frontier",
        sections,
        facts=_facts(result),
        answers=tuple(_answers(result)),
        alarm=_alarm(result),
        leaving=LEAVING,
    ).html


# What one decides by.


NO_TABLE = "No table was written."
RULES = {
    "public": "By a public rule: the largest epsilon that is allowed, with the method's own defaults. No figure of this page had a part in it, and no promise covers a figure of this page.",
    "private": "By a private selection, charged to the same epsilon. No figure of this page had a part in it, and no promise covers a figure of this page.",
    "search": "The most useful of those that qualify, or within a standard error of it the one that gives least away.",
}
"""How settings are chosen, by the rule of a choice."""


def _alarm(result: FrontierResult) -> str:
    """What is known of the limits and what became of the table, where that is not that they are shown to be kept."""
    return (
        ""
        if result.choice is None or result.choice.state is LimitState.SHOWN
        else result.choice.limit_sentence
    )


def _answers(result: FrontierResult) -> Iterator[PageAnswer]:
    choice = result.choice
    if choice is None:
        sentence = (
            result.about.stopped
            if result.about.stopped.startswith("Stopped")
            else "Nothing was chosen: no limit was set."
        )
        yield PageAnswer(
            "Which settings?",
            f"{sentence} The front below shows what each excess buys.",
            word="not decided",
            notes=(NO_TABLE,),
        )
        return
    last, search = choice.confirmation, choice.evaluation
    if search is None or last is None:
        yield PageAnswer(
            "Which settings?", choice.sentence, word="not confirmed", notes=(NO_TABLE,)
        )
        return
    unseen = last.evaluation
    yield PageAnswer(
        "Which settings?",
        f"{capital(display_name(search.description, 300))}.",
        word="confirmed" if choice.allowed else "not confirmed",
        notes=(
            RULES.get(choice.rule, RULES["search"]),
            f"The table is in {choice.table}." if choice.table else NO_TABLE,
        ),
    )
    state = {"shown to keep": "shown to be kept", "exceeds": "exceeded"}.get(last.word, last.word)
    limit = f" The limit, {choice.limits.description}, is {state} there." if choice.limits else ""
    seen = unseen.risk.detectable
    power = (
        ()
        if seen is None
        else (
            f"What would have been seen there in four of five tries: an excess of {detectable_words(seen[0])} by the most precise attack, {detectable_words(seen[1])} by the least.",
        )
    )
    yield PageAnswer(
        "What does it give away?",
        f"The largest excess of any attack is {_estimate(unseen)} on {count_noun(unseen.people, 'person', 'people')} the search never saw, and {_estimate(search)} on the {search.people:,} it was chosen on.{limit}",
        notes=power,
        word=last.word if choice.limits else "",
    )
    reference_rows = [
        f"{evaluation.description} {_value(evaluation.worth_of(choice.worth))}"
        for evaluation in result.references
        if evaluation.worth_of(choice.worth).value is not None
    ]
    figure = unseen.worth_of(choice.worth)
    yield PageAnswer(
        "What is it worth?",
        f"{capital(figure.title or figure.name)}: {_value(figure)} on people the search never saw, {_value(search.worth_of(choice.worth))} on those it was chosen on.",
        notes=(f"On the people of the search: {'; '.join(reference_rows)}.",)
        if reference_rows
        else (),
    )


def _estimate(evaluation: Evaluation) -> str:
    return f"{number(evaluation.risk.estimate)} ({_bounds(evaluation.risk)})"


def _facts(result: FrontierResult) -> tuple[tuple[str, str], ...]:
    about = result.about
    keys, sensitive = (
        ", ".join(display_name(name, 40) for name in names)
        for names in (about.keys, about.sensitive)
    )
    return (
        (
            "People",
            f"{about.people.get('all', 0):,}, of them {about.people.get('search', 0):,} for the search and {about.people.get('confirmation', 0):,} set aside to confirm",
        ),
        (
            "Others",
            "people of a holdout, parted alike" if about.holdout else "the other half of each part",
        ),
        ("Attack", f"knowing {keys}, wanting {sensitive}"),
        ("Limits", result.limits.description),
        ("Search", f"{count_noun(len(result.evaluations), 'setting')}. {about.stopped}"),
        ("Seed", display_name(about.seed)),
        *([("Date", display_name(result.run.date))] if result.run.date else []),
    )


def _chosen_section(result: FrontierResult) -> Iterator[Section]:
    """The figures of what was chosen, each with whom it was measured on."""
    choice = result.choice
    if choice is None:
        return
    rows: list[Row] = []
    for confirmation in choice.confirmations:
        evaluation = confirmation.evaluation
        search = next((e for e in result.evaluations if e.candidate == evaluation.candidate), None)
        if search is not None:
            rows.append(
                _figure_row(
                    f"{display_name(evaluation.description, 160)}",
                    f"{count_noun(search.people, 'person', 'people')} of the search, who it was chosen on",
                    search.risk,
                    search.worth_of(choice.worth),
                    "",
                )
            )
        people_text = f"{count_noun(evaluation.people, 'person', 'people')} the search never saw, attempt {confirmation.attempt} of {ATTEMPTS} at most"
        rows.append(
            _figure_row(
                display_name(evaluation.description, 160),
                people_text,
                evaluation.risk,
                evaluation.worth_of(choice.worth),
                confirmation.word if choice.limits else "",
            )
        )
    if choice.released is not None:
        whom = "everybody, those included whom it was chosen on"
        rows.append(_figure_row("the release itself", whom, choice.released, WorthFigure(), ""))
    table = page_table(
        "The chosen settings, and whom each figure was measured on",
        rows,
        Wide("Settings"),
        Wide("Measured on"),
        Num("Largest excess"),
        Num("95 % bounds"),
        Num("Worth"),
        Num("95 % interval"),
        Col("Limit"),
        cards=True,
    )
    blocks: list[Block] = [table]
    if choice.rule not in ("public", "private"):
        blocks.append(
            Paragraph(
                "The first line flatters what was chosen, since it was chosen by it; the second does not: those people had no part in the choice.",
                "note",
            )
        )
    yield Section(
        "chosen", "The choice, on people it was made on and on people it was not", tuple(blocks)
    )


def _figure_row(name: str, whom: str, risk: RiskFigure, figure: WorthFigure, word: str) -> Row:
    return (
        name,
        whom,
        number(risk.estimate),
        _bounds(risk),
        _value(figure),
        "" if figure.interval is None else between(figure.interval),
        word,
    )


def _why_section(result: FrontierResult) -> Iterator[Section]:
    if not result.changes:
        return
    blocks: list[Block] = []
    for towards in dict.fromkeys(change.towards for change in result.changes):
        shortlist = [change for change in result.changes if change.towards == towards]
        blocks.append(Paragraph(f"Towards the {towards} neighbour on the front", "strong"))
        blocks.append(Listing(tuple(display_name(change.sentence, 600) for change in shortlist)))
    blocks.append(
        Paragraph(
            "Each sentence is of two settings that differ in one alone, fitted to the same people and attacked on the same people of the search. The attack named is the one whose excess moves furthest; its interval holds for all attacks together.",
            "note",
        )
    )
    yield Section("why", "Which setting moves what", tuple(blocks))


# Pictures.


def _pictures(result: FrontierResult) -> Iterator[Block]:
    yield Paragraph(
        "Right is worth more, down gives less away. The line is the front: no other settings that were tried are better on both sides. Nothing is merged.",
        "note",
    )
    for index, name in enumerate(result.worths):
        title = _title(result, name)
        rows: list[Row] = [
            _row(evaluation, name, str(number_))
            for number_, evaluation in enumerate(result.front(name), start=1)
        ]
        rows += [_row(evaluation, name, "") for evaluation in result.references]
        table = _settings_table(f"The front by {title}, and what it is held against", rows)
        yield Figure(
            f"fig-front-{index}",
            f"The largest excess of any attack, by {title}",
            (front_picture(result, name, key=f"front-{index}"),),
            table,
        )


def _title(result: FrontierResult, name: str) -> str:
    return next(
        (
            figure.title
            for evaluation in result.evaluations
            if (figure := evaluation.worth_of(name)).title
        ),
        name,
    )


def front_picture(result: FrontierResult, worth: str, *, key: str) -> Markup:
    """Return settings by worth and by the largest excess of any attack, with bounds, the front as a line, references, and limits as lines."""
    front = result.front(worth)
    known, references = (
        [e for e in side if e.risk.estimate is not None and e.worth_of(worth).value is not None]
        for side in (result.evaluations, result.references)
    )
    title = f"The largest excess of any attack, by {_title(result, worth)}"
    if not known:
        none = "No settings could be measured."
        return picture(key, SIZE[0], 60, title=title, desc=none, body=[text(12, 34, none)])
    limit = result.limits.max_excess
    axes = _axes([*known, *references], front, worth, limit)
    higher = [e for e in known if _excess(e) > axes[1].high]
    spots = [
        *(_spot(e, worth, PALE, "dot") for e in known if e not in front),
        *(
            _spot(e, worth, BLUE, "circle", label=str(i), above=True)
            for i, e in enumerate(front, start=1)
        ),
        *_chosen_spot(result, known, worth),
        *(_reference_spot(e, worth, axes[1].high) for e in references),
        *_independent_spot(known, worth, axes[1].high),
    ]
    better = "more" if known[0].worth_of(worth).higher else "less"
    return scatter(
        key,
        title,
        "; ".join(
            f"{i}: {e.description}, excess {number(e.risk.estimate)}, worth {number(e.worth_of(worth).value)}"
            for i, e in enumerate(front, start=1)
        ),
        spots,
        axes=axes,
        names=(
            f"worth: {_title(result, worth)} ({better} is better)",
            "largest excess of any attack",
        ),
        levels=[Level(f"the limit, {number(limit)}", limit, ORANGE, at_right=True)]
        if limit is not None
        else [],
        stairs=[(e.worth_of(worth).value or 0.0, _excess(e)) for e in front],
        remark=f"{len(higher)} of {count_noun(len(known), 'setting')}: above this scale"
        if higher
        else "",
        size=SIZE,
    )


def _axes(
    drawn: Sequence[Evaluation], front: Sequence[Evaluation], worth: str, limit: float | None
) -> tuple[Axis, Axis]:
    """Return axes that hold the worth of everything drawn; upwards the front, or with a limit what is near to it."""
    figures = [evaluation.worth_of(worth) for evaluation in drawn]
    worths = [end for f in figures for end in (f.value, *(f.interval or ())) if end is not None]
    highest = 2.5 * (limit or 0.0)
    near = [excess for e in front if (excess := _excess(e)) <= highest or limit is None]
    top = max(1.25 * max(near, default=0.0), highest, 0.005)
    low = min(-0.04 * top, *map(_excess, drawn))
    return plane((min(worths), max(worths)), (low, top), SIZE)


def _excess(evaluation: Evaluation) -> float:
    return evaluation.risk.estimate or 0.0


def _spot(
    evaluation: Evaluation,
    worth: str,
    colour: str,
    shape: str,
    *,
    label: str = "",
    ink: str = "",
    above: bool = False,
) -> Spot:
    figure, risk = evaluation.worth_of(worth), evaluation.risk
    bounds = None if risk.lower is None or risk.upper is None else (risk.lower, risk.upper)
    small = shape == "dot"
    return Spot(
        x=figure.value or 0.0,
        y=_excess(evaluation),
        x_interval=None if small else figure.interval,
        y_interval=None if small else bounds,
        colour=colour,
        shape=shape,
        description=f"{evaluation.description}: largest excess {number(risk.estimate)} ({_bounds(risk)}), {figure.title} {number(figure.value)}",
        label=label,
        ink=ink or colour,
        above=above,
    )


def _chosen_spot(result: FrontierResult, known: Sequence[Evaluation], worth: str) -> Iterator[Spot]:
    chosen = None if result.choice is None else result.choice.candidate
    for evaluation in known:
        if evaluation.candidate == chosen:
            yield _spot(evaluation, worth, ORANGE, "square", label="chosen", ink=INK)


def _reference_spot(evaluation: Evaluation, worth: str, highest: float) -> Spot:
    excess = _excess(evaluation)
    scope = f" (excess {number(excess)}, above the scale)" if excess > highest else ""
    return _spot(evaluation, worth, GREY, "diamond", label=f"{evaluation.description}{scope}")


def _independent_spot(known: Sequence[Evaluation], worth: str, highest: float) -> list[Spot]:
    """The name of independent columns, at one of their settings that is on the scale where there is one."""
    settings = [e for e in known if e.candidate.method == "independent"]
    first = next((e for e in settings if _excess(e) <= highest), settings[0] if settings else None)
    return [] if first is None else [_spot(first, worth, GREY, "", label="independent columns")]


# Tables.


def _front_table(result: FrontierResult) -> PageTable:
    name = result.worths[0]
    rows = [
        _row(evaluation, name, str(index))
        for index, evaluation in enumerate(result.front(name), start=1)
    ]
    return replace(
        _settings_table(f"By {_title(result, name)}, the safest first", rows), cards=True
    )


def _settings_table(caption: str, rows: Sequence[Row]) -> PageTable:
    return page_table(caption, rows, *COLUMNS)


def _row(evaluation: Evaluation, worth: str, index: str) -> Row:
    figure, risk = evaluation.worth_of(worth), evaluation.risk
    name = Cell(
        f"{index}. {display_name(evaluation.description, 160)}"
        if index
        else display_name(evaluation.description, 160),
        note="" if not evaluation.failure else display_name(evaluation.failure, 200),
    )
    return (
        name,
        number(risk.estimate),
        _bounds(risk),
        display_name(risk.strongest, 80) or NONE,
        _value(figure),
        "" if figure.interval is None else between(figure.interval),
    )


def _all_tables(result: FrontierResult) -> Iterator[Block]:
    for name in result.worths:
        rows = [
            _row(evaluation, name, str(index))
            for index, evaluation in enumerate(result.evaluations, start=1)
        ]
        yield _settings_table(
            f"In the order in which they were tried, by {_title(result, name)}", rows
        )


def _bounds(risk: RiskFigure) -> str:
    if risk.lower is None:
        return NONE
    return (
        f"above {number(risk.lower)}" if risk.upper is None else between((risk.lower, risk.upper))
    )


def _value(figure: WorthFigure) -> str:
    return (
        percent(figure.value)
        if figure.name == "accuracy" and figure.value is not None
        else number(figure.value)
    )
