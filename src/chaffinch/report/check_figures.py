"""Pictures of a check: attribution between its references, and marginal risk as outputs are added or left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._base.svg import Axis, Dot, cut, dots
from .._base.text import (
    NONE,
    count_noun,
    display_name,
    format_fixed,
    format_signed,
    is_number,
    number,
)
from ..outputs.check.assessment import CumulativeStage, Stage
from ..outputs.check.attribution import RiskMeasure
from ..stats.intervals import Estimate
from .charts import Curve, Point, curves, frame
from .sections import Block, Cell, Col, Figure, Num, Paragraph, Row, page_table

CONVENTIONS = {"matched_rows": "matched rows", "all_rows": "all rows"}
"""What the two ways of counting TCAP are called on a page."""
SIDES = {
    "original": "people in the data",
    "holdout": "people held out",
    "prior": "without the outputs",
}
MOST_STEPS = 40


def estimate(estimate: Estimate | None, *, plus: bool = False) -> Cell:
    """Return a number with its interval below it."""
    if estimate is None or not is_number(estimate.value):
        return Cell(NONE)
    value = format_signed(estimate.value) if plus else format_fixed(estimate.value)
    ends = estimate.low, estimate.high
    return Cell(
        value,
        f"{format_fixed(ends[0])} to {format_fixed(ends[1])}" if all(map(is_number, ends)) else "",
    )


def convention_name(measure: RiskMeasure) -> str:
    """Return what the convention of a measure is called."""
    return (
        CONVENTIONS[measure.convention]
        if measure.convention in CONVENTIONS
        else display_name(measure.convention)
    )


def _which(measure: RiskMeasure) -> str:
    return f"{display_name(measure.sensitive, 20)}, {convention_name(measure)}"


def _dot(series: str, estimate: Estimate) -> list[Dot]:
    if not is_number(estimate.value):
        return []
    known = is_number(estimate.low) and is_number(estimate.high)
    return [
        Dot(
            series,
            estimate.value,
            estimate.low if known else None,
            estimate.high if known else None,
        )
    ]


def attribution_figure(measures: Sequence[RiskMeasure], level: float) -> Figure:
    """Return TCAP against people in the data and people held out, and that of datasets which know no output, with intervals."""
    rows = [
        (_which(m), [dot for side, name in SIDES.items() for dot in _dot(name, getattr(m, side))])
        for m in measures
    ]
    caption = "How often the datasets are right about people (TCAP)"
    description = "; ".join(
        f"{name}: " + (", ".join(f"{d.series} {number(d.value)}" for d in marks) or "no value")
        for name, marks in rows
    )
    plot = dots(
        "tcap",
        caption,
        description,
        rows,
        list(SIDES.values()),
        label=f"TCAP; bars: {_percent(level)} interval",
        low=0.0,
    )
    table = page_table(
        caption,
        (
            (
                display_name(m.sensitive, 40),
                convention_name(m),
                *(estimate(getattr(m, side)) for side in SIDES),
                estimate(m.beyond_prior, plus=True),
            )
            for m in measures
        ),
        Col("Sensitive attribute"),
        Col("Counted"),
        *(Num(name.capitalize()) for name in SIDES.values()),
        Col("Beyond the start"),
    )
    note = (
        "Mean over key sets, datasets and folds. Without the outputs: datasets drawn as the search starts, which know no output. Beyond the "
        "start: what the outputs tell at all, about anyone; most of it is what they were published for."
    )
    return Figure("tcap-figure", caption, (plot,), table, note, open=True)


def marginal(measures: Sequence[RiskMeasure], level: float) -> Figure:
    """Return the marginal risk of each attribute with its simultaneous interval and what could have been found."""
    caption = "Marginal risk: people in the data less people held out"
    rows = [(_which(m), _dot("marginal risk", m.marginal)) for m in measures]
    description = "; ".join(f"{name} {number(d.value)}" for name, marks in rows for d in marks)
    plot = dots(
        "marginal",
        caption,
        description,
        rows,
        ["marginal risk"],
        label=f"difference in TCAP; bars: {_percent(level)} interval, all together",
        level=0.0,
    )
    table = page_table(
        caption,
        measures,
        Col("Sensitive attribute", lambda m: display_name(m.sensitive, 40)),
        Col("Counted", lambda m: convention_name(m)),
        Num("Marginal risk", lambda m: estimate(m.marginal, plus=True)),
        Num("Detectable", lambda m: format_fixed(m.detectable)),
        Col("", lambda m: Cell("", word=m.finding.word)),
    )
    note = (
        "An interval above 0 is an excess. Detectable: the smallest marginal risk that would have been found with a chance of 80 %; "
        "what is smaller may be there all the same."
    )
    return Figure("marginal-figure", caption, (plot,), table, note, open=True)


def cumulative(stages: Sequence[CumulativeStage], level: float) -> Figure | None:
    """Return the marginal risk as outputs are added one by one; None where there is but one step."""
    steps = list(stages)[:MOST_STEPS]
    if len(steps) < 2:
        return None
    caption = "Marginal risk as outputs are added"
    pictures = []
    for k, sensitive in enumerate(dict.fromkeys(m.sensitive for m in steps[0].measures)):
        lines = []
        for i, (convention, label) in enumerate(CONVENTIONS.items()):
            risks = [stage.marginal(sensitive, convention) for stage in steps]
            points = tuple(
                Point(
                    index, risk.value, *(v if is_number(v) else None for v in (risk.low, risk.high))
                )
                for index, risk in enumerate(risks, 1)
                if risk is not None and is_number(risk.value)
            )
            lines.append(Curve(label, points, look=i, shift=-4.0 + 8.0 * i))
        pictures.append(
            _steps(
                f"cumulative-{k}",
                f"{caption}: {display_name(sensitive, 40)}",
                lines,
                len(steps),
                cut(f"marginal risk, {display_name(sensitive, 40)}", 230.0, 11.0),
            )
        )
    rows: list[Row] = []
    for index, stage in enumerate(steps, 1):
        for m in stage.measures:
            added = next(
                (
                    a
                    for a in stage.added
                    if (a.sensitive, a.convention) == (m.sensitive, m.convention)
                ),
                None,
            )
            rows.append(
                (
                    f"{index}: {display_name(stage.name)}",
                    display_name(m.sensitive, 40),
                    convention_name(m),
                    estimate(m.marginal, plus=True),
                    estimate(added, plus=True),
                )
            )
    table = page_table(
        caption,
        rows,
        Col("Output added"),
        Col("Sensitive attribute"),
        Col("Counted"),
        Num("Marginal risk of all so far"),
        Num("Added by this one"),
    )
    names = "; ".join(
        f"{index}: {display_name(stage.name, 40)}" for index, stage in enumerate(steps, 1)
    )
    note = f"From left to right: {names}. Bars: {_percent(level)} interval. What an output adds depends on those before it."
    if len(stages) > len(steps):
        note += f" The JSON has {count_noun(len(stages) - len(steps), 'more step', 'more steps')}."
    return Figure("cumulative-figure", caption, tuple(pictures), table, note)


def _steps(key: str, title: str, lines: Sequence[Curve], count: int, up_label: str) -> Any:
    size = (560.0, 320.0)
    (x_start, right), (bottom, top) = frame(size)
    across = Axis(0.5, count + 0.5, x_start, right)
    across.low, across.high = 0.5, count + 0.5
    spacing = max(1, -(-count // 12))
    across.ticks = [float(index) for index in range(1, count + 1, spacing)]
    ends = [v for line in lines for p in line.points for v in (p.y, p.low, p.high) if v is not None]
    up = Axis(min([0.0, *ends]), max([0.0, *ends]) or 0.01, bottom, top)
    desc = "; ".join(
        f"{line.name}: " + (", ".join(number(p.y) for p in line.points) or "no value")
        for line in lines
    )
    return curves(
        key,
        title,
        desc,
        lines,
        across=across,
        up=up,
        labels=("outputs so far", up_label),
        level=("no difference", 0.0),
        size=size,
    )


def without(stages: Sequence[Stage], all_outputs: Stage) -> tuple[Block, ...]:
    """Return the marginal risk with each output left out, beside that of all."""
    if not stages:
        return ()
    rows: list[Row] = []
    for m in all_outputs.measures:
        which = display_name(m.sensitive, 40), convention_name(m)
        rows.append(("all outputs", *which, estimate(m.marginal, plus=True)))
        for stage in stages:
            risk = stage.marginal(m.sensitive, m.convention)
            rows.append((display_name(stage.name), *which, estimate(risk, plus=True)))
    table = page_table(
        "Marginal risk with one output left out",
        rows,
        Col("Outputs"),
        Col("Sensitive attribute"),
        Col("Counted"),
        Num("Marginal risk"),
    )
    return (
        Paragraph(
            "Which output did it? The one without which the marginal risk falls. Where none falls, several tell the same."
        ),
        table,
    )


def _percent(level: float) -> str:
    return f"{100 * level:g} %"
