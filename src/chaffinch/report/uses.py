"""What one does with the table, as sections: learning a label, learning any column, a regression, a sweep over settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import fmean
from typing import Any

from markupsafe import Markup

from .._base.masking import THRESHOLD
from .._base.svg import GREY, INK, SERIES, Axis, Dot, circle, cut, dots, line, picture, text
from .._base.text import between, count_noun, display_name, format_fixed, number
from ..utility.composite import Sweep
from ..utility.delta import Delta, DeltaRow
from ..utility.learning import Confusion, Learning, LearningRow
from ..utility.regression import CoefficientRow, Regression
from ..utility.result import UtilityResult
from .charts import MOST_COLUMNS
from .sections import (
    Block,
    Col,
    Details,
    Figure,
    Grid,
    Listing,
    Num,
    PageTable,
    Paragraph,
    Section,
    page_table,
)

MODELS = {
    "nb": "Naive Bayes",
    "svc": "Support vector machine",
    "knn": "Nearest neighbours",
    "rf": "Random forest",
    "lr": "Logistic regression",
}
SIDES = {"original": "original", "synthetic": "synthetic", "marginals": "independent columns"}
SCORES = {"accuracy": "accuracy", "r2": "R²"}
MOST_LEVELS = 12
RATES = {"precision": "Precision", "recall": "Recall", "f2": "F2", "auc": "AUC", "rmse": "RMSE"}


def uses_sections(result: UtilityResult, threshold: int = THRESHOLD) -> Iterator[Section]:
    """Yield a section for each use that a result has measured."""
    uses: tuple[tuple[str, str, Callable[[Any], Iterator[Block]]], ...] = (
        ("learning", "Learning the label", partial(_learning, threshold=threshold)),
        ("delta", "Learning any column", _delta),
        ("regression", "A regression on both tables", _regression),
    )
    for name, title, build in uses:
        if name in result.results:
            yield _section(name, title, build(result[name]), result[name].reason)
    if result.sweep is not None:
        yield _section("sweep", "Over settings", _sweep(result.sweep), "")


def _section(name: str, title: str, blocks: Iterator[Block], reason: str) -> Section:
    absent = Paragraph(f"Not applicable: {(reason or 'nothing was measured').rstrip('.')}.")
    return Section(name, title, tuple(blocks) or (absent,))


def _model(name: str) -> str:
    return MODELS.get(name, display_name(name, 30))


def _side(name: str) -> str:
    return SIDES.get(name, display_name(name))


def _dots_words(drawn: Sequence[tuple[str, Sequence[Dot]]]) -> str:
    return "; ".join(
        f"{name}: " + ", ".join(f"{d.series} {number(d.value)}" for d in row) for name, row in drawn
    )


# Learning a label.


def _learning(result: Learning, threshold: int) -> Iterator[Block]:
    rows = result.rows
    if not rows:
        return
    score = SCORES.get(result.score, result.score or "score")
    label = display_name(result.label or "the label")
    yield Paragraph(
        f"Models predict {label} of real records after learning from the original, from the synthetic table, and from a table of "
        "independent columns, which teaches nothing but how often each value occurs."
    )
    sides_used = [side for side in SIDES if any(row.trained_on == side for row in rows)]
    models = list(dict.fromkeys(row.model for row in rows))
    drawn = [
        (_model(m), [_score_dot(row) for row in rows if row.model == m and row.trained_on in SIDES])
        for m in models
    ]
    caption = f"{score.capitalize()} on real records, by what the model learnt from"
    plot = dots(
        "fig-learning-plot",
        caption,
        _dots_words(drawn),
        drawn,
        [SIDES[side] for side in sides_used],
        label=f"{score}; bars: ± one standard deviation",
    )
    yield Figure("fig-learning", caption, (plot,), _learning_table(rows, score, caption), open=True)
    yield from _confusions(result.confusion, label, threshold)
    yield from _notes(result.notes)


def _score_dot(row: LearningRow) -> Dot:
    low, high = (None, None) if row.sd is None else (row.score - row.sd, row.score + row.sd)
    return Dot(SIDES[row.trained_on], row.score, low, high)


def _learning_table(rows: Sequence[LearningRow], score: str, caption: str) -> PageTable:
    rates = [name for name in RATES if any(getattr(row, name) is not None for row in rows)]
    cells = tuple(
        (
            _model(row.model),
            _side(row.trained_on),
            format_fixed(row.score),
            format_fixed(row.sd),
            *(format_fixed(getattr(row, n)) for n in rates),
        )
        for row in rows
    )
    return page_table(
        caption,
        cells,
        Col("Model"),
        Col("Learnt from"),
        Num(score.capitalize()),
        Num("Standard deviation"),
        *(Num(RATES[name]) for name in rates),
    )


def _confusions(matrices: Sequence[Confusion], label: str, threshold: int) -> Iterator[Block]:
    small = [matrix for matrix in matrices if 0 < len(matrix.levels) <= MOST_LEVELS]
    if small:
        tables = tuple(_confusion(matrix) for matrix in small)
        unit = "tens" if threshold == 10 else f"multiples of {threshold}"
        note = Paragraph(
            f"Rows: what {label} is. Columns: what the model predicts. Counts are rounded to {unit}; small ones are hidden."
        )
        yield Details(f"Confusion matrices ({len(tables)})", (note, Grid(tables)))
    if len(small) < len(matrices):
        yield Paragraph(
            f"Confusion matrices of more than {MOST_LEVELS} levels are in the JSON.", "note"
        )


def _confusion(matrix: Confusion) -> PageTable:
    levels = [display_name(level, 24) for level in matrix.levels]
    rows = tuple(
        (level, *map(number, counts)) for level, counts in zip(levels, matrix.counts, strict=True)
    )
    caption = f"{_model(matrix.model)}, {_side(matrix.trained_on)}"
    return page_table(caption, rows, Col(""), *map(Num, levels))


def _notes(notes: Sequence[str]) -> Iterator[Block]:
    if notes:
        more = (
            [f"And {len(notes) - MOST_COLUMNS} more, in the JSON."]
            if len(notes) > MOST_COLUMNS
            else []
        )
        yield Listing((*(display_name(note, 400) for note in notes[:MOST_COLUMNS]), *more))


# Learning any column.


ERRORS = {
    "original": "original",
    "synthetic": "synthetic, tested on synthetic",
    "synthetic_on_original": "synthetic, tested on original",
}


def _delta(result: Delta) -> Iterator[Block]:
    if not result.rows:
        return
    yield Paragraph(
        "Each categorical column is the label in turn. delta compares error rates of models that were trained and tested on their own table; "
        "the honest version (TSTR) tests the model learnt from synthetic rows on original records."
    )
    rows = sorted(result.rows, key=lambda row: -abs(row.synthetic_on_original - row.original))
    shortlist = rows[:MOST_COLUMNS]
    apart = [key for key in ("model", "score") if len({getattr(row, key) for row in rows}) > 1]
    names = [
        ", ".join([display_name(row.label), *(_model(getattr(row, key)) for key in apart)])
        for row in shortlist
    ]
    what = "error rate" if {row.score for row in rows} == {"error"} else "score"
    drawn = [
        (name, [Dot(label, rate) for label, rate in _rates(row)])
        for name, row in zip(names, shortlist, strict=True)
    ]
    scope = (
        f", the {len(shortlist)} that differ most of {len(rows)}"
        if len(shortlist) < len(rows)
        else ""
    )
    caption = f"{what.capitalize()} by label{scope}"
    plot = dots(
        "fig-delta-plot",
        caption,
        _dots_words(drawn[:12]),
        drawn,
        tuple(ERRORS.values()),
        label=what,
        low=0.0,
    )
    cells = tuple(
        (
            display_name(row.label),
            _model(row.model),
            *(format_fixed(rate) for _, rate in _rates(row)),
        )
        for row in shortlist
    )
    yield Figure(
        "fig-delta",
        caption,
        (plot,),
        page_table(
            caption,
            cells,
            Col("Label"),
            Col("Model"),
            Num("Original"),
            Num("Synthetic, tested on synthetic"),
            Num("Synthetic, tested on original"),
        ),
    )
    left_out = [
        f"{display_name(output.label)}: left out, {display_name(output.why, 200)}"
        for output in result.skipped
    ]
    yield from _notes((*left_out, *result.notes))


def _rates(row: DeltaRow) -> list[tuple[str, float]]:
    return [(label, getattr(row, side)) for side, label in ERRORS.items()]


# A regression.


def _regression(result: Regression) -> Iterator[Block]:
    rows = result.rows
    if not rows:
        return
    family = {"ols": "Linear regression", "logit": "Logistic regression"}[result.family]
    yield Paragraph(f"{family}: {display_name(result.formula, 300)}")
    order = sorted(
        range(len(rows)), key=lambda i: -99.0 if (overlap := rows[i].overlap) is None else overlap
    )
    shortlist = [rows[i] for i in sorted(order[:MOST_COLUMNS])]
    scope = (
        f", the {len(shortlist)} of {len(rows)} that overlap least"
        if len(shortlist) < len(rows)
        else ""
    )
    caption = f"Coefficients with 95 % confidence intervals{scope}"
    drawn = [(display_name(row.term), both) for row in shortlist if (both := _in_errors(row))]
    values = (
        f"{display_name(row.term)}: {number(row.original)}, {number(row.synthetic)}"
        for row in shortlist[:12]
    )
    plot = dots(
        "fig-regression-plot",
        caption,
        f"Original and synthetic coefficients. {'; '.join(values)}",
        drawn,
        ("original", "synthetic"),
        label="distance from the original's coefficient, in its standard errors",
        level=0.0,
    )
    notes = (
        [Col("Note", lambda row: display_name(row.note, 200))]
        if any(r.note for r in shortlist)
        else []
    )
    table = page_table(
        caption,
        shortlist,
        Col("Term", lambda row: display_name(row.term)),
        Num("Original", lambda row: number(row.original)),
        Num("95 % interval", lambda row: between(row.original_interval)),
        Num("Synthetic", lambda row: number(row.synthetic)),
        Num("95 % interval", lambda row: between(row.synthetic_interval)),
        Num("Overlap", lambda row: format_fixed(row.overlap, 2)),
        Num("Difference in standard errors", lambda row: format_fixed(row.difference_in_se, 2)),
        *notes,
    )
    yield Figure("fig-regression", caption, (plot,) if drawn else (), table, open=not drawn)


def _in_errors(row: CoefficientRow) -> list[Dot]:
    """Return both coefficients on one scale for all terms: the original's at zero, in its standard errors; none without intervals."""
    if row.original is None or row.synthetic is None or row.original_interval is None:
        return []
    low, high = row.original_interval
    if high <= low:
        return []
    error, zero = (high - low) / (2 * 1.959964), row.original
    ends = [(end - zero) / error for end in row.synthetic_interval or ()]
    original_dot = Dot("original", 0.0, (low - zero) / error, (high - zero) / error)
    return [original_dot, Dot("synthetic", (row.synthetic - zero) / error, *ends)]


# A sweep.


def _sweep(sweep: Sweep) -> Iterator[Block]:
    setting = display_name(sweep.setting, 40)
    plots = []
    for measure in ("mu", "delta", "G"):
        values = [(row.setting, getattr(row, measure)) for row in sweep.rows]
        points = [
            (display_name(where, 30) if isinstance(where, str) else float(where), value)
            for where, value in values
            if value is not None
        ]
        if points:
            plots.append(sweep_plot(f"fig-sweep-{measure}", measure, setting, points))
    if not plots:
        return
    caption = f"mu, delta and G by {setting}: lower is nearer to the original"
    cells = tuple(
        tuple(map(number, (row.setting, row.copy, row.mu, row.delta, row.G)))
        for row in sweep.rows[:500]
    )
    note = "Circles: single syntheses. Line: their means."
    yield Figure(
        "fig-sweep",
        caption,
        tuple(plots),
        page_table(
            caption, cells, Col(setting), Num("Synthesis"), Num("mu"), Num("delta"), Num("G")
        ),
        note,
        across=3,
    )


def sweep_plot(
    key: str, measure: str, setting: str, points: Sequence[tuple[float | str, float]]
) -> Markup:
    """Return the values of a measure at each setting: a point for each synthesis, a line through the means.

    Settings that are numbers stand on an axis, a logarithmic one where they span more than a factor of twenty; others side by side.
    """
    width, height, x_start, foot = 340.0, 240.0, 56.0, 196.0
    settings = list(dict.fromkeys(setting for setting, _ in points))
    numbers = [setting for setting in settings if isinstance(setting, int | float)]
    by_number = len(numbers) == len(settings)
    if by_number:
        log = min(numbers) > 0 and max(numbers) / min(numbers) > 20
        across = Axis(min(numbers), max(numbers), x_start + 8, width - 14, log=log)
        settings = sorted(numbers)
        x_of = {setting: across(setting) for setting in numbers}
    else:
        step = (width - 14 - x_start) / len(settings)
        x_of = {setting: x_start + (i + 0.5) * step for i, setting in enumerate(settings)}  # type: ignore[misc]
    values = [value for _, value in points]
    up = Axis(min(0.0, *values), max(values) or 1.0, foot, 28)
    means = [
        (x_of[setting], up(fmean(value for p, value in points if p == setting)))  # type: ignore[index]
        for setting in settings
    ]
    parts = [text(0, 14, measure, size=13, bold=True), *up.up(x_start, width - 6)]
    if by_number:
        parts += across.across(foot, foot + 5)
    else:
        parts += [
            text(x_of[p], foot + 16, cut(p, step, 11), anchor="middle", size=11, fill=GREY)  # type: ignore[index]
            for p in settings
        ]
    parts.append(line(means, stroke=SERIES[0][0], width=2))
    for position, value in points:
        x = x_of[position]  # type: ignore[index]
        title = f"{display_name(setting, 40)} {display_name(position)}: {number(value)}"
        parts.append(circle(x, up(value), 3.5, fill="#fff", stroke=INK, tooltip=title))
    parts.append(
        text(
            (x_start + width) / 2,
            foot + 36,
            display_name(setting, 40),
            anchor="middle",
            size=11,
            fill=GREY,
        )
    )
    desc = f"{count_noun(len(points), 'synthesis', 'syntheses')} at {count_noun(len(settings), 'setting')}; {measure} from {number(min(values))} to {number(max(values))}."
    return picture(key, width, height, title=f"{measure} by {setting}", desc=desc, body=parts)
