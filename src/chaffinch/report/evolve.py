"""A page on datasets evolved from published numbers: coefficients original beside synthetic, tables, and the error on the way."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any

from .._base.results import Leaving
from .._base.svg import Axis
from .._base.text import (
    NONE,
    count_noun,
    display_name,
    format_fixed,
    format_signed,
    is_number,
    number,
)
from ..outputs.evolve import (
    EvolveAbout,
    EvolvedCopy,
    EvolveResult,
    OutputReport,
    ShownNumber,
    TracePoint,
)
from ..outputs.solve.engine import SearchEngine
from ..outputs.solve.settings import SEARCH_ENGINES
from .charts import Curve, Point, curves, frame
from .heads import (
    GIVES_AWAY,
    GOOD_FOR,
    NOT_TESTED,
    DecisionFigure,
    TestedLine,
    bars_picture,
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
    filled_sections,
    page_table,
)
from .text import EVOLVE_LIMITS

LEAVING = Leaving(
    True,
    "It was made from published numbers, and no record went into it; where these are not published yet, it leaves with them.",
)
MOST_LINES = 6
MOST_POINTS = 12
FULL = 6
"""Decimals of numbers that came without a printed precision."""


def sentence(result: EvolveResult) -> str:
    """Return what was reached, in a sentence or two, and which outputs had no part in it."""
    without = [
        f"'{display_name(output.name)}' had no part in it (rules only): {display_name(output.reason, 300)}."
        for output in result.about.rules_only
    ]
    return " ".join([_reach_sentence(result), *without])


def _reach_sentence(result: EvolveResult) -> str:
    copies = result.copies
    if not copies:
        return "No dataset was made."
    n_numbers = sum(output.numbers for output in copies[0].outputs)
    several = len(copies) > 1
    if result.reached:
        who = f"All {len(copies)} datasets have" if several else "The dataset has"
        return f"{who} {'all ' * (n_numbers != 1)}{count_noun(n_numbers, 'published number')}, within the precision they were printed with."
    late = [copy for copy in copies if not copy.reached]
    missed = list(dict.fromkeys(name for copy in late for name in copy.missed))
    max_outside = max(sum(output.outside for output in copy.outputs) for copy in late)
    who = f"{len(late)} of {len(copies)} datasets do" if several else "The dataset does"
    up_to = "up to " if several else ""
    if not missed:
        return f"{who} not have all outputs for certain: the search ended before it said so."
    names = ", ".join(f"'{display_name(name)}'" for name in missed[:5]) + (
        f" and {len(missed) - 5} more" if len(missed) > 5 else ""
    )
    verb = "differ" if max_outside > 1 else "differs"
    return f"{who} not have all outputs: {up_to}{max_outside:,} of {count_noun(n_numbers, 'published number')} {verb}, in {names}."


def evolve_page(result: EvolveResult, title: str = "A dataset from published numbers") -> str:
    """Return one HTML file on evolved datasets: what was reached, each regression and table beside what was published, the search."""
    about, copies = result.about, result.copies
    outputs = [tuple(same) for same in zip(*(copy.outputs for copy in copies), strict=True)]
    regressions = [same for same in outputs if same[0].regression]
    others = [same for same in outputs if not same[0].regression]
    coefficients = [block for k, same in enumerate(regressions) for block in _coefficients(same, k)]
    sections = filled_sections(
        (
            ("finding", "What was reached", _finding(result, outputs)),
            ("coefficients", "Coefficients, original beside synthetic", coefficients),
            ("tables", "Tables and summaries", _tables(others) if others else ()),
            ("search", "The search", _figures(result)),
            ("limits", "What this does not say", (Listing(EVOLVE_LIMITS),)),
        )
    )
    facts = (
        ("File", display_name(about.spec)),
        ("Records", f"{result.rows:,}"),
        ("Copies", f"{len(copies)}"),
        ("Engine", _engine(about)),
        ("Start", _start(about)),
        ("Seed", display_name(about.seed)),
        ("Seconds", number(result.seconds)),
        *([("Date", display_name(result.run.date))] if result.run.date else []),
    )
    alarm = "" if result.reached else "Not all outputs were reached: the dataset is marked so."
    answers = evolve_answers(result, sentence(result), EVOLVE_LIMITS[1])
    return PageContent(
        title, tuple(sections), facts=facts, alarm=alarm, answers=answers, leaving=LEAVING
    ).html


def _start(about: EvolveAbout) -> str:
    if about.settings.start != "margins":
        return "uniform over levels"
    return "published margins" + (
        f" ({', '.join(display_name(name, 40) for name in about.margins)})" if about.margins else ""
    )


def _engine(about: EvolveAbout) -> str:
    search = about.settings.search
    changed = {} if search.engine_settings is None else search.engine_settings.given()
    options = [f"{name.replace('_', ' ')} {display_name(value)}" for name, value in changed.items()]
    return display_name(search.search_engine) + (f" ({', '.join(options)})" if options else "")


def _finding(result: EvolveResult, outputs: Sequence[Sequence[OutputReport]]) -> tuple[Block, ...]:
    rows: list[Row] = []
    for same in outputs:
        worst = max(same, key=lambda report: (report.outside, report.largest_error or 0.0))
        rows.append(
            (
                display_name(worst.name),
                display_name(worst.kind),
                f"{worst.numbers:,}",
                f"{worst.numbers - worst.outside:,}",
                number(worst.largest_error),
                number(worst.mean_error),
                Cell("not reached" if worst.outside else "reached"),
            )
        )
    who = "largest over the copies; " if len(result.copies) > 1 else ""
    blocks: list[Block] = [
        Paragraph(sentence(result), "lead" if result.reached else "alarm"),
        page_table(
            f"Each output, computed again from the records ({who}differences in its own unit)",
            rows,
            Col("Output"),
            Col("Kind"),
            Num("Numbers"),
            Num("As published"),
            Num("Largest difference"),
            Num("Mean difference"),
            Col("Verdict"),
        ),
        Paragraph(_by_whom(result, outputs), "note"),
    ]
    if not result.reached:
        limit = result.proposals
        used = max(copy.proposals for copy in result.copies)
        more = "More of them (--proposals, --seconds), another" if 2 * used > limit else "Another"
        blocks.append(
            Paragraph(
                f"The search had up to {limit:,} proposals for each dataset. {more} seed or another engine may reach what is left; if none "
                "does, the outputs may contradict each other, or not be of so many records."
            )
        )
    return tuple(blocks)


def _by_whom(result: EvolveResult, outputs: Sequence[Sequence[OutputReport]]) -> str:
    by = result.about.refitted_by
    if any(not same[0].refitted for same in outputs):
        return (
            "Regressions were not refitted: statsmodels is not installed (pip install 'chaffinch[statsmodels]'). What is said of them is what the "
            "engine worked out, to first order. Everything else was counted anew."
        )
    fitted = (
        f"Regressions were refitted by {display_name(by)}; "
        if any(same[0].regression for same in outputs)
        else ""
    )
    rest = "tables and summaries were counted anew, by other code than the engine's."
    return fitted + (rest if fitted else rest.capitalize())


def _decimals(each: ShownNumber) -> int:
    """The decimals that a number was printed with, from the width of its interval; a few where it is known in full, none for a count."""
    low, high = each.low, each.high
    if low is None or high is None:
        return FULL
    if high <= low:
        return 0 if low == int(low) else FULL
    return min(max(round(-math.log10(high - low)), 0), FULL)


def _coefficients(same: Sequence[OutputReport], index: int) -> tuple[Block, ...]:
    first = same[0]
    name = display_name(first.name, 120)
    if not first.refitted:
        return (
            Paragraph(name, "strong"),
            Paragraph(
                f"Not refitted: statsmodels is not installed. By the engine's count {_agreeing(first)}."
            ),
        )
    several = len(same) > 1
    head: tuple[str, ...] = (
        "Coefficient",
        "Original",
        "Mean of copies" if several else "Synthetic",
        "Difference",
    )
    head += ("Largest of any copy", "As published") if several else ("As published",)
    rows: list[Row] = []
    for k, published in enumerate(first.shown):
        values = [report.shown[k].synthetic for report in same]
        known = [value for value in values if value is not None]
        original, digits = published.published, _decimals(published)
        if len(known) < len(values) or original is None:
            rows.append(
                (
                    display_name(published.name),
                    format_fixed(original, digits),
                    *[NONE] * (len(head) - 3),
                    "no",
                )
            )
            continue
        mean = fmean(known)
        extra = (
            (format_fixed(max(abs(value - original) for value in known), digits + 2),)
            if several
            else ()
        )
        agrees = "yes" if all(report.shown[k].within for report in same) else "no"
        rows.append(
            (
                display_name(published.name),
                format_fixed(original, digits),
                format_fixed(mean, digits),
                _difference(mean - original, digits),
                *extra,
                agrees,
            )
        )
    sentence = f"{name}: {_agreeing(max(same, key=lambda report: report.outside))}."
    if any(each.synthetic is None for report in same for each in report.shown):
        sentence += " Where nothing stands beside the original, statsmodels found no fit."
    caption = f"{display_name(first.kind)}: {name}"
    return (
        Paragraph(sentence),
        page_table(caption, rows, Col(head[0]), *map(Num, head[1:-1]), Col(head[-1])),
    )


def _difference(value: float, digits: int) -> str:
    """A difference with one digit more than its numbers have.

    Examples
    --------
    >>> _difference(-0.00012, 4), _difference(1e-9, 4), _difference(0.0, 0)
    ('−0.00012', 'under 0.00001', '0')
    """
    text = format_signed(value, digits + 1)
    if value == 0:
        return "0"
    return (
        text
        if any(c in "123456789" for c in text)
        else f"under {10.0 ** -(digits + 1):.{digits + 1}f}"
    )


def _agreeing(report: OutputReport) -> str:
    if not report.outside:
        return f"{'all ' * (report.numbers != 1)}{count_noun(report.numbers, 'number is', 'numbers are')} as published"
    verb = "is" if report.outside == 1 else "are"
    return f"{report.outside:,} of {count_noun(report.numbers, 'number')} {verb} not as published"


def _tables(others: Sequence[Sequence[OutputReport]]) -> tuple[Block, ...]:
    sentences: list[str] = []
    rows: list[Row] = []
    for same in others:
        worst = max(same, key=lambda report: (report.outside, report.largest_error or 0.0))
        sentences.append(
            f"{display_name(worst.name)} ({display_name(worst.kind)}): {_agreeing(worst)}."
        )
        for k, each in enumerate(n for n in worst.shown if not n.within):
            if k >= MOST_POINTS:
                break
            rows.append(
                (
                    display_name(worst.name),
                    display_name(each.name),
                    _interval(each),
                    number(each.synthetic),
                )
            )
    blocks: list[Block] = [Listing(tuple(sentences))]
    if rows:
        blocks.append(
            page_table(
                "The largest differences to what was published",
                rows,
                Col("Output"),
                Col("Number"),
                Num("Original"),
                Num("Synthetic"),
            )
        )
    return tuple(blocks)


def _interval(each: ShownNumber) -> str:
    if is_number(each.published):
        return number(each.published)
    return f"{number(each.low)} to {number(each.high)}"


def _figures(result: EvolveResult) -> tuple[Block, ...]:
    copies = [copy for copy in result.copies if copy.trace]
    if not copies:
        return ()
    engine = SEARCH_ENGINES[result.about.settings.search.search_engine]
    return (*_errors(copies[0], engine, len(result.copies) > 1), _outside(copies, engine))


def _errors(copy: EvolvedCopy, engine: SearchEngine, several: bool) -> tuple[Block, ...]:
    """The mean error of each output on the way, as in Elliot, Little and Allmendinger's figures 1 and 2."""
    trace, steps = copy.trace, engine.steps
    names = list(trace[-1].mean_error)
    moving = [
        name for name in names if any((point.mean_error.get(name) or 0.0) > 0 for point in trace)
    ]
    fits = {output.name for output in copy.outputs if output.regression}
    drawn = sorted(moving, key=lambda name: name not in fits)[:MOST_LINES]
    if not drawn:
        return ()
    lines = {
        name: [
            (point.proposals, error)
            for point in trace
            if (error := point.mean_error.get(name)) is not None
        ]
        for name in drawn
    }
    above = [error for spots in lines.values() for _, error in spots if error > 0]
    low, high = min(above), max(above)
    reached_zero = any(error == 0 for spots in lines.values() for _, error in spots)
    floor = low / 3 if reached_zero else low
    across, x_of = _across(trace, engine)
    (_, _), (bottom, top) = frame()
    up = Axis(_below(floor), _over(high), bottom, top, log=True)
    shapes = [
        Curve(
            display_name(name),
            tuple(Point(x, max(error, floor)) for x, error in spots),
            marks=False,
        )
        for name, spots in lines.items()
    ]
    which = " (first copy)" if several else ""
    axes = "both axes logarithmic" if engine.log_steps else "on a logarithmic axis"
    desc = f"{count_noun(len(drawn), 'line')}, from {number(high)} down to {number(0.0 if reached_zero else low)}."
    picture = curves(
        "errors",
        f"Mean error by {steps}",
        desc,
        shapes,
        across=across,
        up=up,
        labels=(steps, "mean absolute error"),
        x_of=x_of,
    )
    table = page_table(
        f"Mean absolute error by {steps}{which}",
        _thin_trace(trace),
        Num(steps.capitalize(), lambda point: f"{point.proposals:,}"),
        *(Num(display_name(name), _mean_error(name)) for name in drawn),
    )
    note = "Each output in its own unit; coefficients to first order, as the engine works them out without refitting."
    if reached_zero:
        note += " A line that ends at the bottom arrived at 0."
    if len(drawn) < len(moving):
        note += (
            f" Not drawn: {count_noun(len(moving) - len(drawn), 'more output', 'more outputs')}."
        )
    return (
        Figure(
            "errors-figure", f"Mean error by {steps}, {axes}{which}", (picture,), table, note=note
        ),
    )


def _mean_error(output: str) -> Callable[[Any], str]:
    return lambda point: number(point.mean_error.get(output))


def _outside(copies: Sequence[EvolvedCopy], engine: SearchEngine) -> Figure:
    drawn, steps = copies[:MOST_LINES], engine.steps
    max_outside = max(max(point.outside for point in copy.trace) for copy in drawn)
    across, x_of = _across([point for copy in drawn for point in copy.trace], engine)
    (_, _), (bottom, top) = frame()
    up = Axis(0.0, max(max_outside, 1), bottom, top)
    up.ticks = [tick for tick in up.ticks if tick == int(tick)]
    names = (
        [f"Copy {k}" for k in range(1, len(drawn) + 1)]
        if len(copies) > 1
        else ["Numbers that are off"]
    )
    shapes = [
        Curve(name, tuple(Point(p.proposals, p.outside) for p in copy.trace), marks=False)
        for name, copy in zip(names, drawn, strict=True)
    ]
    ends = [copy.trace[-1].outside for copy in drawn]
    desc = f"{count_noun(len(drawn), 'line')}, from {max_outside:,} down to {max(ends):,}."
    picture = curves(
        "outside",
        f"Numbers not yet as published, by {steps}",
        desc,
        shapes,
        across=across,
        up=up,
        labels=(steps, "numbers that are off"),
        x_of=x_of,
    )
    table = page_table(
        f"Numbers that are off, by {steps}",
        (
            (f"{k}", f"{p.proposals:,}", f"{p.outside:,}")
            for k, copy in enumerate(drawn, 1)
            for p in _thin_trace(copy.trace)
        ),
        Col("Copy"),
        Num(steps.capitalize()),
        Num("Off"),
    )
    note = "As the engine counts them: a quantile is two numbers, records below it and up to it."
    if len(copies) > len(drawn):
        note += f" Not drawn: {count_noun(len(copies) - len(drawn), 'more copy', 'more copies')}."
    return Figure(
        "outside-figure",
        f"Published numbers that are still off, by {steps}",
        (picture,),
        table,
        note=note,
    )


def _across(trace: Sequence[TracePoint], engine: SearchEngine) -> tuple[Axis, Any]:
    """An axis of steps; where it is logarithmic, what is before the first at its left end."""
    counts = [point.proposals for point in trace if point.proposals > 0] or [1]
    low, high = min(counts), max(counts)
    (x_start, right), _ = frame()
    if not engine.log_steps:
        return Axis(0.0, high, x_start, right), None
    axis = Axis(_below(low), _over(max(high, low + 1)), x_start, right, log=True)
    return axis, lambda x: axis(max(x, low))


def _below(value: float) -> float:
    return float(10.0 ** math.floor(math.log10(value)))


def _over(value: float) -> float:
    return float(10.0 ** math.ceil(math.log10(value)))


def _thin_trace(trace: Sequence[TracePoint]) -> list[TracePoint]:
    """A dozen points of a trace, the first and the last among them."""
    if len(trace) <= MOST_POINTS:
        return list(trace)
    return [trace[round(k * (len(trace) - 1) / (MOST_POINTS - 1))] for k in range(MOST_POINTS)]


def evolve_answers(result: EvolveResult, reached: str, limit: str) -> tuple[PageAnswer, ...]:
    """Return what went into evolved datasets, what they reproduce, and what they do not say."""
    reports = result.copies[0].outputs if result.copies else ()
    ranked = sorted(reports, key=lambda report: -report.outside / max(report.numbers, 1))[:4]
    figures = [
        DecisionFigure(display_name(report.name, 34), 1 - report.outside / report.numbers)
        for report in ranked
        if report.numbers
    ]
    lines = (
        TestedLine("Records of people", "no", "none went in"),
        TestedLine(
            "Published numbers",
            "yes",
            f"{number(sum(report.numbers for report in reports))} went in",
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
        looks_answer(3, NOT_TESTED, limit, lines),
    )
