"""What one does with the table, as sections: learning a label, learning any column, a regression, a sweep over settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .heatmap import MOST_COLUMNS
from .plots import Dot, dots, sweep_plot
from .sections import Block, Details, Figure, Grid, Listing, Paragraph, Section, Table
from .words import between, fixed, is_number, number, shown

__all__ = ["uses_sections"]

Data = Mapping[str, Any]
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
COLUMNS = ("precision", "recall", "f2", "auc", "rmse")


def uses_sections(utility: Data) -> Iterator[Section]:
    """Yield a section for each use that a study has measured."""
    builders = (
        ("learning", "Learning the label", _learning),
        ("delta", "Learning any column", _delta),
        ("regression", "A regression on both tables", _regression),
        ("sweep", "Over settings", _sweep),
    )
    for key, title, build in builders:
        data = utility.get(key)
        if isinstance(data, Mapping):
            blocks = tuple(build(data))
            yield Section(key, title, blocks or (_absent(data),))


def _absent(data: Data) -> Paragraph:
    reason = str(data.get("not_applicable") or "nothing was measured").rstrip(".")
    return Paragraph(f"Not applicable: {reason}.")


def _model(name: Any) -> str:
    return MODELS.get(str(name), shown(name, 30))


# Learning a label.


def _learning(data: Data) -> Iterator[Block]:
    rows = [row for row in data.get("rows") or () if is_number(row.get("score"))]
    if not rows:
        return
    score = SCORES.get(str(data.get("score")), str(data.get("score") or "score"))
    label = shown(data.get("label") or "the label")
    yield Paragraph(
        f"Models predict {label} of real records after learning from the original, from the synthetic table, and from a table of "
        "independent columns, which teaches nothing but how often each value occurs."
    )
    sides = [side for side in SIDES if any(row.get("trained_on") == side for row in rows)]
    models = list(dict.fromkeys(row.get("model") for row in rows))
    drawn = [
        (_model(m), [_scored(row) for row in rows if row.get("model") == m and row.get("trained_on") in SIDES])
        for m in models
    ]
    caption = f"{score.capitalize()} on real records, by what the model learnt from"
    desc = "; ".join(f"{name}: " + ", ".join(f"{d.series} {number(d.value)}" for d in found) for name, found in drawn)
    plot = dots(
        "fig-learning-plot",
        caption,
        desc,
        drawn,
        [SIDES[side] for side in sides],
        label=f"{score}; bars: ± one standard deviation",
    )
    yield Figure("fig-learning", caption, (plot,), _learning_table(rows, score, caption), open=True)
    yield from _confusions(data.get("confusion") or (), shown(data.get("label") or "the label"))
    yield from _notes(data)


def _scored(row: Data) -> Dot:
    score, sd = float(row["score"]), row.get("sd")
    spread = float(sd) if is_number(sd) else None  # type: ignore[arg-type]
    low, high = (None, None) if spread is None else (score - spread, score + spread)
    return Dot(SIDES[str(row["trained_on"])], score, low, high)


def _learning_table(rows: Sequence[Data], score: str, caption: str) -> Table:
    extra = [name for name in COLUMNS if any(is_number(row.get(name)) for row in rows)]
    head = ("Model", "Learnt from", score.capitalize(), "Standard deviation", *(_heading(name) for name in extra))
    cells = tuple(
        (
            _model(row.get("model")), SIDES.get(str(row.get("trained_on")), shown(row.get("trained_on"))), fixed(row.get("score")),
            fixed(row.get("sd")), *(fixed(row.get(name)) for name in extra),
        )
        for row in rows
    )  # fmt: skip
    return Table(caption, head, cells, frozenset(range(2, len(head))))


def _heading(name: str) -> str:
    return {"f2": "F2", "auc": "AUC", "rmse": "RMSE"}.get(name, name.capitalize())


def _confusions(found: Sequence[Data], label: str) -> Iterator[Block]:
    small = [one for one in found if 0 < len(one.get("levels") or ()) <= MOST_LEVELS]
    if small:
        tables = tuple(_confusion(one) for one in small)
        note = Paragraph(
            f"Rows: what {label} is. Columns: what the model predicts. Counts are rounded to tens; small ones are hidden."
        )
        yield Details(f"Confusion matrices ({len(tables)})", (note, Grid(tables)))
    if len(small) < len(found):
        yield Paragraph(f"Confusion matrices of more than {MOST_LEVELS} levels are in the JSON.", "note")


def _confusion(one: Data) -> Table:
    levels = [shown(level, 24) for level in one["levels"]]
    side = SIDES.get(str(one.get("trained_on")), shown(one.get("trained_on")))
    rows = tuple(
        (level, *([number(count) for count in counts] + [""] * len(levels))[: len(levels)])
        for level, counts in zip(levels, one.get("counts") or (), strict=False)
    )
    return Table(f"{_model(one.get('model'))}, {side}", ("", *levels), rows, frozenset(range(1, len(levels) + 1)))


def _notes(data: Data) -> Iterator[Block]:
    left_out = [
        f"{shown(row.get('label'))}: left out, {shown(row.get('why', ''), 200)}" for row in data.get("skipped") or ()
    ]
    notes = [shown(note, 400) for note in (*left_out, *(data.get("notes") or ()))]
    if notes:
        more = [f"And {len(notes) - MOST_COLUMNS} more, in the JSON."] if len(notes) > MOST_COLUMNS else []
        yield Listing((*notes[:MOST_COLUMNS], *more))


# Learning any column.


ERRORS = {
    "original": "original",
    "synthetic": "synthetic, tested on synthetic",
    "synthetic_on_original": "synthetic, tested on original",
}


def _delta(data: Data) -> Iterator[Block]:
    rows = [row for row in data.get("rows") or () if is_number(row.get("original"))]
    if not rows:
        return
    yield Paragraph(
        "Each categorical column is the label in turn. delta compares error rates of models that were trained and tested on their own table; "
        "the honest version (TSTR) tests the model learnt from synthetic rows on original records."
    )
    rows.sort(key=lambda row: -_change(row))
    some = rows[:MOST_COLUMNS]
    apart = [key for key in ("model", "score") if len({row.get(key) for row in rows}) > 1]
    names = [", ".join([shown(row.get("label")), *(_model(row.get(key)) for key in apart)]) for row in some]
    what = "error rate" if {row.get("score", "error") for row in rows} == {"error"} else "score"
    drawn = [
        (name, [Dot(words, float(row[side])) for side, words in ERRORS.items() if is_number(row.get(side))])
        for name, row in zip(names, some, strict=True)
    ]
    of = f", the {len(some)} that differ most of {len(rows)}" if len(some) < len(rows) else ""
    caption = f"{what.capitalize()} by label{of}"
    desc = "; ".join(
        f"{name}: " + ", ".join(f"{d.series} {number(d.value)}" for d in found) for name, found in drawn[:12]
    )
    plot = dots("fig-delta-plot", caption, desc, drawn, tuple(ERRORS.values()), label=what, low=0.0)
    head = ("Label", "Model", "Original", "Synthetic, tested on synthetic", "Synthetic, tested on original")
    cells = tuple(
        (shown(row.get("label")), _model(row.get("model")), *(fixed(row.get(side)) for side in ERRORS)) for row in some
    )
    yield Figure("fig-delta", caption, (plot,), Table(caption, head, cells, frozenset({2, 3, 4})))
    yield from _notes(data)


def _change(row: Data) -> float:
    other = row.get("synthetic_on_original")
    other = other if is_number(other) else row.get("synthetic")
    return abs(float(other) - float(row["original"])) if is_number(other) else 0.0  # type: ignore[arg-type]


# A regression.


def _regression(data: Data) -> Iterator[Block]:
    rows = list(data.get("rows") or ())
    if not rows:
        return
    family = {"ols": "Linear regression", "logit": "Logistic regression"}.get(str(data.get("family")), "Regression")
    yield Paragraph(f"{family}: {shown(data.get('formula') or '', 300)}")
    least = sorted(range(len(rows)), key=lambda i: rows[i]["overlap"] if is_number(rows[i].get("overlap")) else -99.0)
    kept = [rows[i] for i in sorted(least[:MOST_COLUMNS])]
    of = f", the {len(kept)} of {len(rows)} that overlap least" if len(kept) < len(rows) else ""
    caption = f"Coefficients with 95 % confidence intervals{of}"
    drawn = [(shown(row.get("term")), dots_of) for row in kept if (dots_of := _in_errors(row))]
    told = (
        f"{shown(row.get('term'))}: {number(row.get('original'))}, {number(row.get('synthetic'))}" for row in kept[:12]
    )
    plot = dots(
        "fig-regression-plot", caption, f"Original and synthetic coefficients. {'; '.join(told)}", drawn, ("original", "synthetic"),
        label="distance from the original's coefficient, in its standard errors", line=0.0,
    )  # fmt: skip
    noted = any(row.get("note") for row in kept)
    head = (
        "Term",
        "Original",
        "95 % interval",
        "Synthetic",
        "95 % interval",
        "Overlap",
        "Difference in standard errors",
    )
    cells = tuple(
        (
            shown(row.get("term")), number(row.get("original")), between(row.get("original_interval")), number(row.get("synthetic")),
            between(row.get("synthetic_interval")), fixed(row.get("overlap"), 2), fixed(row.get("difference_in_se"), 2),
            *([shown(row.get("note") or "", 200)] if noted else []),
        )
        for row in kept
    )  # fmt: skip
    table = Table(caption, (*head, "Note") if noted else head, cells, frozenset(range(1, 7)))
    yield Figure("fig-regression", caption, (plot,) if drawn else (), table, open=not drawn)


def _in_errors(row: Data) -> list[Dot]:
    """Return both coefficients on one scale for all terms: the original's at zero, in its standard errors; none without intervals."""
    low, high = _ends(row.get("original_interval"))
    if (
        not (is_number(row.get("original")) and is_number(row.get("synthetic")))
        or low is None
        or high is None
        or high <= low
    ):
        return []
    error, zero = (high - low) / (2 * 1.959964), float(row["original"])
    ends = [None if end is None else (end - zero) / error for end in _ends(row.get("synthetic_interval"))]
    own = Dot("original", 0.0, (low - zero) / error, (high - zero) / error)
    return [own, Dot("synthetic", (float(row["synthetic"]) - zero) / error, ends[0], ends[1])]


def _ends(interval: Any) -> tuple[float | None, float | None]:
    known = isinstance(interval, list | tuple) and len(interval) == 2 and all(map(is_number, interval))
    return (float(interval[0]), float(interval[1])) if known else (None, None)


# A sweep.


def _sweep(data: Data) -> Iterator[Block]:
    rows = list(data.get("rows") or ())
    setting = shown(data.get("setting") or "setting", 40)
    plots = []
    for measure in ("mu", "delta", "G"):
        points = [(_place(row.get("setting")), float(row[measure])) for row in rows if is_number(row.get(measure))]
        if points:
            plots.append(sweep_plot(f"fig-sweep-{measure}", measure, setting, points))
    if not plots:
        return
    caption = f"mu, delta and G by {setting}: lower is nearer to the original"
    head = (setting, "Synthesis", "mu", "delta", "G")
    cells = tuple(
        (number(row.get("setting")), number(row.get("copy")), *(number(row.get(m)) for m in ("mu", "delta", "G")))
        for row in rows[:500]
    )
    note = "Circles: single syntheses. Line: their means."
    yield Figure(
        "fig-sweep", caption, tuple(plots), Table(caption, head, cells, frozenset({1, 2, 3, 4})), note, across=3
    )


def _place(setting: Any) -> float | str:
    return float(setting) if is_number(setting) else shown(setting, 30)
