"""P2 figures 6 to 8: accuracy over the number of sensitive columns, a panel for each p, ours beside the printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chaffinch._base.svg import GREY, SERIES, Axis, mark, picture, text

Row = Mapping[str, str]
METHODS = ("method_1", "method_2")
WIDTH, PANEL, TOP, HEIGHT = 760.0, 175.0, 74.0, 210.0


def accuracy_figure(
    number: int, dataset: str, arm: str, rows: Sequence[Row], originals: tuple[float, float]
) -> str:
    """Return the figure as SVG. `rows` are those of the arm in the table; `originals` the accuracies trained on originals, ours and printed."""
    values = [float(row[key]) for row in rows for key in ("accuracy", "accuracy P2") if row[key]]
    bars = [
        float(row["accuracy"]) + side * 2 * float(row["standard error"] or 0)
        for row in rows
        for side in (-1, 1)
    ]
    axis = Axis(
        min([*values, *bars, *originals]), max([*values, *bars, *originals]), TOP + HEIGHT, TOP
    )
    design = f"arm {arm}, {rows[0]['splits']} splits, {rows[0]['records']} training records"
    parts = _legend(f"{dataset}: accuracy, %, mean of five learners; {design}", originals)
    for panel in range(4):
        left = 46 + panel * (PANEL + 3)
        right = left + PANEL - 16
        places = [left + 12 + n * (right - left - 24) / 3 for n in range(4)]
        parts += (
            axis.up(left, right)
            if panel == 0
            else [line for line in axis.up(left, right) if line.startswith("<path")]
        )
        parts.append(
            text((left + right) / 2, TOP - 8, f"p = {panel + 1}", anchor="middle", bold=True)
        )
        parts += [
            text(x, TOP + HEIGHT + 16, str(n), anchor="middle", size=11, fill=GREY)
            for n, x in enumerate(places)
        ]
        for value, dash in zip(originals, ("", ' stroke-dasharray="5 4"'), strict=True):
            parts.append(
                f'<path d="M{left:.1f} {axis(value):.1f}H{right:.1f}" stroke="{GREY}" stroke-width="1.5"{dash}/>'
            )
        here = [row for row in rows if row["p"] == str(panel + 1)]
        for i, method in enumerate(METHODS):
            line = [row for row in here if row["method"] in (method, "both")]
            parts += _line(line, "accuracy P2", axis, places, i, ours=False) + _line(
                line, "accuracy", axis, places, i, ours=True
            )
    parts.append(
        text(
            WIDTH / 2,
            TOP + HEIGHT + 36,
            "number of sensitive columns",
            anchor="middle",
            size=11,
            fill=GREY,
        )
    )
    title = f"Accuracy on original records, {dataset}, P2 figure {number}"
    desc = f"Mean of five learners, {design}; bars are two standard errors of the difference to the original."
    return str(
        picture(f"p2_{number}", WIDTH, TOP + HEIGHT + 46, title=title, desc=desc, body=parts)
    )


def _legend(heading: str, originals: tuple[float, float]) -> list[str]:
    out = [text(0, 14, heading, bold=True)]
    for i, name in enumerate(("method 1", "method 2")):
        colour, shape = SERIES[i]
        x = i * 196.0
        out += [mark(x + 8, 34, colour, shape), text(x + 20, 38, f"{name}, ours")]
        out += [
            f'<path d="M{x + 116:.0f} 34h18" stroke="{colour}" stroke-width="1.5" stroke-dasharray="5 4"/>',
            text(x + 137, 38, "printed"),
        ]
    names = (f"original, ours {originals[0]:.1f}", f"printed {originals[1]:.1f}")
    for (x, dash), name in zip(
        ((402.0, ""), (570.0, ' stroke-dasharray="5 4"')), names, strict=True
    ):
        out += [
            f'<path d="M{x:.0f} 34h20" stroke="{GREY}" stroke-width="1.5"{dash}/>',
            text(x + 26, 38, name),
        ]
    return out


def _line(
    rows: Sequence[Row], key: str, axis: Axis, places: Sequence[float], i: int, *, ours: bool
) -> list[str]:
    """The line of one method, with marks and bars where it is ours, broken where the paper has a dash."""
    colour, shape = SERIES[i]
    shift = (i - 0.5) * 4
    points = [
        (places[int(row["n_sensitive"])] + shift, axis(float(row[key])), row)
        for row in rows
        if row[key]
    ]
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y, _ in points)
    dash = "" if ours else ' stroke-dasharray="5 4"'
    out = (
        [f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="1.5"{dash}/>']
        if points
        else []
    )
    if ours:
        for x, y, row in points:
            error = 2 * float(row["standard error"] or 0)
            low, high = (axis(float(row[key]) + side * error) for side in (-1, 1))
            out += [
                f'<path d="M{x:.1f} {low:.1f}V{high:.1f}" stroke="{colour}" stroke-opacity="0.5"/>',
                mark(x, y, colour, shape),
            ]
    return out
