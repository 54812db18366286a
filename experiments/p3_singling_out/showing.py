"""What results.csv shows: figures 12 to 15 and the table of the README, ours beside what was read from the paper's graphics."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from benchmarks.common import read_rows
from chaffinch._base.errors import InputError
from chaffinch._base.svg import GREY, Axis, line, text
from chaffinch._base.text import count_noun, is_number, number
from chaffinch.report.charts import Curve, Point, curves, frame
from experiments.p3_reading import read_values, replace_between

HERE = Path(__file__).resolve().parent
Figures = Mapping[int, tuple[str, int, int]]
Row = dict[str, str]
ARMS = {
    ("blackbox", "data", "independent", "paper"): "paper's attack, levels from the data",
    (
        "blackbox",
        "data",
        "independent",
        "paper, one search",
    ): "paper's attack, settings of one search, levels from the data",
    (
        "blackbox",
        "data",
        "independent",
        "paper, other search",
    ): "paper's attack, settings of another search, levels from the data",
    (
        "blackbox",
        "data",
        "same seed",
        "paper, one search",
    ): "paper's attack, settings of one search, levels from the data, same seed everywhere",
    (
        "blackbox",
        "data",
        "independent",
        "paper in full",
    ): "paper's attack, more evidence, levels from the data",
    (
        "blackbox",
        "data",
        "same seed",
        "paper",
    ): "paper's attack, levels from the data, same seed everywhere",
    ("blackbox", "declared", "independent", "paper"): "paper's attack, declared levels",
    ("blackbox", "data", "independent", "ours"): "our attack, levels from the data",
    ("blackbox", "declared", "independent", "ours"): "our attack, declared levels",
    (
        "blackbox",
        "declared",
        "same",
        "ours",
    ): "our attack, declared levels, same noise in every fit",
    ("whitebox", "data", "independent", "paper"): "paper's white box, levels from the data",
    (
        "whitebox",
        "data",
        "independent",
        "paper, one search",
    ): "paper's white box, settings of one search, levels from the data",
    ("whitebox", "declared", "independent", "ours"): "our white box, declared levels",
}
"""What was attacked and how, in words, by box, levels, noise and attack."""
READ = "read from the figure"


def results() -> list[Row]:
    """Return the rows of results.csv."""
    return read_rows(HERE / "results.csv")


def arm(row: Row) -> str:
    """Return what a row was, in words."""
    return ARMS[row["box"], row["levels"], row["noise"], row["attack"]]


def draw(figures: Figures, epsilons: Sequence[float]) -> None:
    """Write figures 12 to 15: success against epsilon, levels from the data and declared, beside the values read from the paper's."""
    rows = results()
    read = read_values(HERE)
    for figure, (dataset, size, population) in figures.items():
        mine = [
            row
            for row in rows
            if int(row["figure"]) == figure and row["synthesiser"] in ("dpart", "sdg")
        ]
        points = []
        for name in ("dpart", "sdg"):
            # The arm nearest to the paper that is there at most epsilons.
            nearness = ("ours", "paper, one search", "paper")
            counts = {ARMS["blackbox", "data", "independent", attack]: 0 for attack in nearness}
            for row in mine:
                if row["synthesiser"] == name and arm(row) in counts:
                    counts[arm(row)] += 1
            wanted = [
                max(reversed(counts), key=lambda words: counts[words]),
                ARMS["blackbox", "declared", "independent", "ours"],
            ]
            for words, said in zip(
                wanted, ("levels from the data", "declared levels"), strict=True
            ):
                points += [
                    {
                        "synthesiser": f"{name}, {said}",
                        "epsilon": float(row["epsilon"]),
                        "success": float(row["success"]),
                        "interval": (float(row["low"]), float(row["high"])),
                        "baseline": float(row["baseline"]),
                    }
                    for row in mine
                    if row["synthesiser"] == name and arm(row) == words
                ]
            values = {
                epsilon: read[figure, name, f"{epsilon:g}"]
                for epsilon in epsilons
                if (figure, name, f"{epsilon:g}") in read
            }
            points += [
                {
                    "synthesiser": f"{name}, paper as read",
                    "epsilon": e,
                    "success": v,
                    "interval": (v, v),
                    "baseline": size / population,
                }
                for e, v in values.items()
            ]
        drawn = success_figure(
            points, key=f"p3_{figure}", title=f"{dataset}, {size:,} of {population:,} records"
        )
        (HERE / f"figure{figure}.svg").write_text(str(drawn), encoding="utf-8")


def success_figure(
    rows: Sequence[Mapping[str, Any]],
    *,
    key: str = "success",
    title: str = "Success of singling out against epsilon",
) -> Markup:
    """Return success against epsilon, a line for each synthesiser with intervals, beside the baseline: Sedlmeyr (2024), figures 12 to 15.

    Parameters
    ----------
    rows
        Each has `synthesiser` (a name), `epsilon` (above 0, or None for no promise: it stands apart at the right), `success`, `interval`
        and `baseline` (|X| / |D|, equation 1).

    Raises
    ------
    InputError
        If there are no rows, one lacks a key, or the baselines differ: they are other settings, and another figure.
    """
    if not rows:
        raise InputError("A figure of success needs rows. Got none.")
    for row in rows:
        for name in ("synthesiser", "epsilon", "success", "interval", "baseline"):
            if name not in row:
                raise InputError(f"A row of the figure lacks '{name}'.")
        if row["epsilon"] is not None and not (is_number(row["epsilon"]) and row["epsilon"] > 0):
            raise InputError("epsilon must be a number above 0, or None for no promise.")
    baselines = {float(row["baseline"]) for row in rows}
    if len(baselines) > 1:
        raise InputError("The rows have several baselines: draw a figure for each |X| / |D|.")
    size = (640.0, 400.0)
    (x_start, right), (bottom, top) = frame(size)
    known = sorted({float(row["epsilon"]) for row in rows if row["epsilon"] is not None})
    promised = len(known) > 0
    none = any(row["epsilon"] is None for row in rows)
    edge = right - 96 if none and promised else right
    across = Axis(
        known[0] if promised else 1.0,
        known[-1] if promised else 1.0,
        x_start + 14,
        edge - 14,
        log=True,
    )
    if len(known) < 2:
        across.ticks = known
    apart = right - 40 if promised else (x_start + right) / 2
    up = Axis(
        0.0,
        max(float(v) for row in rows for v in (*row["interval"], row["success"], row["baseline"])),
        bottom,
        top,
    )
    names = list(dict.fromkeys(str(row["synthesiser"]) for row in rows))
    lines = []
    for i, name in enumerate(names):
        mine = sorted(
            (row for row in rows if str(row["synthesiser"]) == name),
            key=lambda row: row["epsilon"] or 0.0,
        )
        # No line leads from a budget to none: what has no promise stands apart.
        for shortlist in (
            [r for r in mine if r["epsilon"] is not None],
            [r for r in mine if r["epsilon"] is None],
        ):
            points = tuple(
                Point(
                    float(row["epsilon"] or math.inf),
                    float(row["success"]),
                    *map(float, row["interval"]),
                )
                for row in shortlist
            )
            # Bars at one epsilon would hide each other: each stands a little beside it.
            lines += (
                [Curve(name, points, look=i, shift=7.0 * (i - (len(names) - 1) / 2))]
                if points
                else []
            )
    extra = []
    if none:
        extra = [text(apart, bottom + 16, "no promise", anchor="middle", size=11, fill=GREY)]
    if none and promised:
        extra.append(line([(edge, top), (edge, bottom)], stroke=GREY))
    (guess,) = baselines
    ways = [f"at {count_noun(len(known), 'value')} of epsilon"] * promised + [
        "without a promise"
    ] * none
    desc = f"{count_noun(len(names), 'synthesiser')} {' and '.join(ways)}; a guess reaches {number(guess)}."
    return curves(
        key,
        title,
        desc,
        lines,
        across=across,
        up=up,
        labels=("epsilon", "share of releases"),
        level=("a guess: |X| / |D|", guess),
        size=size,
        x_of=lambda x: across(x) if x < math.inf else apart,
        extra=extra,
    )


def tabulate(figures: Figures, epsilons: Sequence[float]) -> None:
    """Write the tables of the README: success with its interval and how far it is from what was read; evidence and CPU time."""
    rows, read = results(), read_values(HERE)
    columns = [f"{epsilon:g}" for epsilon in epsilons] + [""]
    lines = [
        "| figure | synthesiser | | epsilon 0.1 | 1 | 10 | 100 | 1000 | no promise |",
        "|" + "---|" * 9,
    ]
    for figure, (dataset, size, population) in figures.items():
        place = f"{figure}: {dataset}, {size:,} of {population:,}"
        for name in ("dpart", "sdg", "bayesnet"):
            if name != "bayesnet":
                values = [
                    f"**{read[figure, name, e]:.2f}**" if (figure, name, e) in read else ""
                    for e in columns
                ]
                lines.append(f"| {place} | {name} | {READ} | " + " | ".join(values) + " |")
            mine = [
                row for row in rows if int(row["figure"]) == figure and row["synthesiser"] == name
            ]
            for words in ARMS.values():
                held = {row["epsilon"]: row for row in mine if arm(row) == words}
                if held:
                    cells = [
                        _cell(
                            held.get(e), read.get((figure, name, e)) if "box" not in words else None
                        )
                        for e in columns
                    ]
                    lines.append(f"| {place} | {name} | {words} | " + " | ".join(cells) + " |")
    replace_between(HERE / "README.md", "table", lines)
    replace_between(HERE / "README.md", "evidence", _evidence(rows))


def _cell(row: Row | None, read: float | None) -> str:
    if row is None:
        return ""
    told = f"{float(row['success']):.2f} ({float(row['low']):.2f} to {float(row['high']):.2f})"
    return told if read is None else f"{told} {float(row['success']) - read:+.2f}"


def _evidence(rows: Sequence[Row]) -> list[str]:
    """What attackers learnt from and how long that took, by attack and figure."""
    lines = [
        "| attack | figures | pairs | tables of each fit | releases | searches for settings | points | CPU seconds of a point |",
        "|" + "---|" * 8,
    ]
    names = ("attack", "pairs", "tables", "releases", "searches")
    for key in dict.fromkeys(
        tuple(row[name] for name in names)
        for row in sorted(rows, key=lambda row: row["attack"], reverse=True)
    ):
        mine = [row for row in rows if tuple(row[name] for name in names) == key]
        seconds = [int(row["CPU seconds"]) for row in mine if row["CPU seconds"]]
        told = (
            f"{min(seconds)} to {max(seconds)} ({len(seconds)} measured, {sum(seconds):,} in all)"
            if seconds
            else "not measured"
        )
        figures = ", ".join(sorted({row["figure"] for row in mine}))
        attack, pairs, tables, releases, searches = key
        words = "ours" if attack == "ours" else "paper's"
        lines.append(
            f"| {words} | {figures} | {pairs} | {tables} | {releases} | {searches} | {len(mine)} | {told} |"
        )
    return lines
