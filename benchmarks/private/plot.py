"""The picture of utility against epsilon: mean total variation of all 2-way marginals of coarse Adult, ours and peers, as plain SVG."""

from __future__ import annotations

from collections.abc import Sequence
from math import log10

from benchmarks.common import RESULTS, read_rows

WIDTH, HEIGHT, LEFT, TOP, RIGHT = 470, 360, 62, 40, 250
NONE = 4.2
"""Where "no privacy" stands on the axis of log10 epsilon: past 1000, after a gap."""

OURS = {
    "BayesNet": ("#2e7d4f", "BayesNet, delta 1e-9"),
    "BayesNet, pure": ("#7bb661", "BayesNet, pure epsilon"),
    "PrivBayes": ("#2a6f97", "PrivBayes as published"),
    "FieldGroups": ("#8d6cab", "FieldGroups, groups learnt"),
}
PEERS = {
    "mbi MST": ("#b5541c", "MST on mbi 2.0.0"),
    "dpmm MST": ("#d08b2e", "dpmm 0.1.9 MST"),
    "dpmm PrivBayes": ("#a23b4a", "dpmm 0.1.9 PrivBayes"),
    "DataSynthesizer, k=1": ("#555555", "DataSynthesizer 0.1.13, k = 1"),
}
FLOORS = {
    "Independent": "independent columns, no privacy",
    "bootstrap of the data": "bootstrap of the data",
}
Y_TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)

Point = tuple[float, float]
Rows = Sequence[dict[str, str]]


def read(name: str) -> list[dict[str, str]]:
    """Return the rows of a result; none where it is absent."""
    return read_rows(RESULTS / f"{name}.csv")


def redraw() -> None:
    """Write results/private.svg from the results."""
    if mine := read("private_adult"):
        (RESULTS / "private.svg").write_text(draw(mine, read("private_peers")))


def draw(mine: Rows, theirs: Rows) -> str:
    """Return the picture of the rows of results/private_adult.csv and results/private_peers.csv."""
    whole_width, whole_height = LEFT + WIDTH + RIGHT, TOP + HEIGHT + 56
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {whole_width} {whole_height}" role="img" '
        'aria-labelledby="t d" font-family="sans-serif" font-size="12" fill="#222">',
        '<title id="t">Utility against epsilon on coarse Adult</title>',
        '<desc id="d">One panel with logarithmic axes: the mean total variation of all 2-way marginals, lower is better, against '
        "epsilon. Filled points are ours, hollow ones peers. The figures are in private_adult.csv and private_peers.csv.</desc>",
        f'<rect width="{whole_width}" height="{whole_height}" fill="#fff"/>',
        *_frame(),
    ]
    for row in mine:
        if row["method"] in FLOORS:
            parts += _floor(FLOORS[row["method"]], float(row["2-way"]))
    ends: list[tuple[float, str, str, bool]] = []
    for styles, rows, hollow in ((OURS, mine, False), (PEERS, theirs, True)):
        for method, (colour, label) in styles.items():
            placed = sorted(_place(row) for row in rows if row["method"] == method)
            if placed:
                parts += _line(placed, colour, hollow=hollow)
                ends.append((placed[0][1], colour, label, hollow))
    parts += _legend(ends)
    return "\n".join([*parts, "</svg>", ""])


def _x(epsilon: str) -> float:
    at = NONE if epsilon == "none" else log10(float(epsilon))
    return LEFT + (at + 1.25) / (NONE + 0.35 + 1.25) * WIDTH


def _y(distance: float) -> float:
    low, high = log10(0.008), log10(0.8)
    return TOP + HEIGHT - (log10(distance) - low) / (high - low) * HEIGHT


def _place(row: dict[str, str]) -> Point:
    return _x(row["epsilon"]), _y(float(row["2-way"]))


def _frame() -> list[str]:
    """Return frame, grid, ticks and names of the axes."""
    bottom = TOP + HEIGHT
    out = [
        f'<rect x="{LEFT}" y="{TOP}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#999"/>'
    ]
    for epsilon in ("0.1", "1", "10", "100", "1000", "none"):
        x = _x(epsilon)
        out.append(f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{bottom}" stroke="#e4e4e4"/>')
        out.append(f'<text x="{x:.1f}" y="{bottom + 17}" text-anchor="middle">{epsilon}</text>')
    for tick in Y_TICKS:
        y = _y(tick)
        out.append(
            f'<line x1="{LEFT}" y1="{y:.1f}" x2="{LEFT + WIDTH}" y2="{y:.1f}" stroke="#e4e4e4"/>'
        )
        out.append(f'<text x="{LEFT - 7}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>')
    out.append(
        f'<text x="{LEFT + WIDTH / 2}" y="{bottom + 38}" text-anchor="middle">epsilon ("none": no privacy)</text>'
    )
    out.append(
        f'<text x="{LEFT}" y="{TOP - 14}">mean total variation of all 2-way marginals; lower is better</text>'
    )
    return out


def _floor(label: str, distance: float) -> list[str]:
    """Return a dashed line across the panel with its name at the right, just above it."""
    y = _y(distance)
    return [
        f'<line x1="{LEFT}" y1="{y:.1f}" x2="{LEFT + WIDTH}" y2="{y:.1f}" stroke="#888" stroke-dasharray="2 4"/>',
        f'<text x="{LEFT + WIDTH - 6}" y="{y - 5:.1f}" text-anchor="end" font-size="10" fill="#666">{label}</text>',
    ]


def _line(placed: Sequence[Point], colour: str, *, hollow: bool) -> list[str]:
    """Return a line with its points; the step to "no privacy" is dotted, for it has no length."""
    solid = [point for point in placed if point[0] < _x("none") - 1]
    dash = ' stroke-dasharray="6 3"' if hollow else ""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in solid)
    out = [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.8"{dash}/>']
    if len(solid) < len(placed):
        (x1, y1), (x2, y2) = solid[-1], placed[-1]
        out.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-dasharray="1 4"/>'
        )
    fill = "#fff" if hollow else colour
    return out + [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.4" fill="{fill}" stroke="{colour}" stroke-width="1.5"/>'
        for x, y in placed
    ]


def _legend(ends: Sequence[tuple[float, str, str, bool]]) -> list[str]:
    """Return the names beside the panel, from the farthest at the least epsilon to the nearest."""
    out = []
    x = LEFT + WIDTH + 20
    for i, (_, colour, label, hollow) in enumerate(sorted(ends)):
        y = TOP + 14 + 24 * i
        dash, fill = (' stroke-dasharray="6 3"', "#fff") if hollow else ("", colour)
        out.append(
            f'<line x1="{x}" y1="{y}" x2="{x + 30}" y2="{y}" stroke="{colour}" stroke-width="1.8"{dash}/>'
        )
        out.append(
            f'<circle cx="{x + 15}" cy="{y}" r="3.4" fill="{fill}" stroke="{colour}" stroke-width="1.5"/>'
        )
        out.append(f'<text x="{x + 38}" y="{y + 4}">{label}</text>')
    return out
