"""The picture of growth: seconds and memory against rows, columns and k, as plain SVG with logarithmic axes."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10

SEARCHES = {
    "greedy": "#b5541c",
    "genetic": "#2a6f97",
    "ordering": "#2e7d4f",
    "ordering, from a file": "#8a8a8a",
}
ENGINES = {"stream": "#2e7d4f", "memory": "#b5541c"}
COLOURS = SEARCHES | ENGINES
WIDTH, HEIGHT, LEFT, TOP, GAP_X, GAP_Y = 230, 170, 62, 52, 62, 64
PANELS = (("rows", "rows"), ("columns", "columns"), ("k", "parents (k)"))
MEASURES = (("fit, s", 5), ("peak, GiB", 8))

Point = tuple[float, float]


def draw(rows: Sequence[Sequence[object]]) -> str:
    """Return the picture of the rows of results/growth.csv."""
    whole_width = LEFT + len(PANELS) * (WIDTH + GAP_X)
    whole_height = TOP + len(MEASURES) * (HEIGHT + GAP_Y) + 24
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {whole_width} {whole_height}" role="img" '
        'aria-labelledby="t d" font-family="sans-serif" font-size="11" fill="#222">',
        '<title id="t">Growth of fit time and peak memory</title>',
        '<desc id="d">Six panels with logarithmic axes: seconds to fit (above) and peak memory in GiB (below) against rows, '
        "columns and the number of parents, one line for each search. The figures are in growth.csv.</desc>",
        f'<rect width="{whole_width}" height="{whole_height}" fill="#fff"/>',
    ]
    for row, (measure, at) in enumerate(MEASURES):
        for column, (grows, name) in enumerate(PANELS):
            lines = _lines(rows, grows, at)
            x0, y0 = LEFT + column * (WIDTH + GAP_X), TOP + row * (HEIGHT + GAP_Y)
            parts += _panel(lines, x0, y0, name, measure)
    parts += _legend(LEFT, 22, SEARCHES)
    return "\n".join([*parts, "</svg>", ""])


def draw_journey(rows: Sequence[Sequence[object]]) -> str:
    """Return the picture of the rows of results/journey_growth.csv."""
    panels, measures = (
        (("rows", "rows, of 15 columns", 2), ("columns", "columns, of 100,000 rows", 3)),
        (("processor time, s", 4), ("peak memory, GiB", 12)),
    )
    width, height = (
        LEFT + len(panels) * (WIDTH + GAP_X),
        TOP + len(measures) * (HEIGHT + GAP_Y) + 24,
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-labelledby="t d" font-family="sans-serif" font-size="11" fill="#222">',
        '<title id="t">Growth of chaffinch synth with rows and with columns</title>',
        '<desc id="d">Four panels with logarithmic axes: processor time (above) and peak memory (below) of the whole command against rows and against '
        "columns, one line for each engine. The figures are in journey_growth.csv.</desc>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for i, (measure, at) in enumerate(measures):
        for j, (grows, name, x_at) in enumerate(panels):
            lines: dict[str, list[Point]] = {}
            for row in rows:
                if row[0] == grows:
                    lines.setdefault(str(row[1]), []).append(
                        (float(str(row[x_at])), float(str(row[at])))
                    )
            parts += _panel(
                lines,
                LEFT + j * (WIDTH + GAP_X),
                TOP + i * (HEIGHT + GAP_Y),
                name,
                measure,
                figures=True,
            )
    parts += _legend(
        LEFT,
        22,
        {
            f"--engine {name}": colour
            for name, colour in ENGINES.items()
            if any(row[1] == name for row in rows)
        },
    )
    return "\n".join([*parts, "</svg>", ""])


def _lines(rows: Sequence[Sequence[object]], grows: str, at: int) -> dict[str, list[Point]]:
    """Return the points of each search in one panel."""
    x_at = {"rows": 2, "columns": 3, "k": 4}[grows]
    out: dict[str, list[Point]] = {}
    for row in rows:
        if row[0] == grows:
            out.setdefault(str(row[1]), []).append(
                (float(str(row[x_at])), max(float(str(row[at])), 1e-4))
            )
    return out


def _ticks(values: Sequence[float]) -> list[float]:
    """Return powers of ten around values, or 1, 2, 5 of each where that gives too few."""
    low, high = floor(log10(min(values)) + 1e-9), ceil(log10(max(values)) - 1e-9)
    if high - low >= 2:
        return [10.0**e for e in range(low, high + 1)]
    fine = [m * 10.0**e for e in range(low, high + 1) for m in (1, 2, 5)]
    return [t for t in fine if min(values) / 2.5 < t < max(values) * 2.5]


def _panel(
    lines: dict[str, list[Point]],
    x0: float,
    y0: float,
    name: str,
    measure: str,
    *,
    figures: bool = False,
) -> list[str]:
    """Return one panel: frame, grid, ticks, lines; with `figures` also what each point stands for, above the highest line and below the others."""
    points = [point for line in lines.values() for point in line]
    if not points:
        return []
    heights = [y for _, y in points]
    x_ticks, y_ticks = (
        _ticks([x for x, _ in points]),
        _ticks([0.75 * min(heights), *heights]),
    )  # room for a figure below the lowest point
    if not name.startswith("rows"):
        x_ticks = sorted({x for x, _ in points})
    x_low, x_high = (
        log10(min(x_ticks[0], *(x for x, _ in points))),
        log10(max(x_ticks[-1], *(x for x, _ in points))),
    )
    y_low, y_high = (
        log10(min(y_ticks[0], *(y for _, y in points))),
        log10(max(y_ticks[-1], *(y for _, y in points))),
    )

    def place(x: float, y: float) -> Point:
        across = (log10(x) - x_low) / ((x_high - x_low) or 1)
        up = (log10(y) - y_low) / ((y_high - y_low) or 1)
        return x0 + across * WIDTH, y0 + HEIGHT - up * HEIGHT

    out = [f'<rect x="{x0}" y="{y0}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#999"/>']
    for tick in x_ticks:
        x, _ = place(tick, 10**y_low)
        out.append(
            f'<line x1="{x:.1f}" y1="{y0}" x2="{x:.1f}" y2="{y0 + HEIGHT}" stroke="#e4e4e4"/>'
        )
        out.append(
            f'<text x="{x:.1f}" y="{y0 + HEIGHT + 14}" text-anchor="middle">{_number(tick)}</text>'
        )
    for tick in y_ticks:
        _, y = place(10**x_low, tick)
        out.append(
            f'<line x1="{x0}" y1="{y:.1f}" x2="{x0 + WIDTH}" y2="{y:.1f}" stroke="#e4e4e4"/>'
        )
        out.append(f'<text x="{x0 - 5}" y="{y + 4:.1f}" text-anchor="end">{_number(tick)}</text>')
    out.append(
        f'<text x="{x0 + WIDTH / 2}" y="{y0 + HEIGHT + 30}" text-anchor="middle">{name}</text>'
    )
    out.append(f'<text x="{x0}" y="{y0 - 6}">{measure}</text>')
    for search, line in lines.items():
        placed = [place(*point) for point in sorted(line)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in placed)
        colour = COLOURS.get(search, "#555")
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.8"/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6" fill="{colour}"/>' for x, y in placed]
        highest = (
            dict(line)
            if len(lines) == 1
            else {
                x: y
                for x, y in line
                if y >= max(other for some in lines.values() for at, other in some if at == x)
            }
        )
        for (x, y), (value_x, value) in zip(placed, sorted(line), strict=True) if figures else ():
            left, right = x - x0 < 20, x0 + WIDTH - x < 20
            anchor, shift = ("start", 5) if left else ("end", -5) if right else ("middle", 0)
            above = (
                value_x in highest and not left
            )  # lines rise: the first figure stands below them
            out.append(
                f'<text x="{x + shift:.1f}" y="{y - 7 if above else y + (22 if right else 13):.1f}" text-anchor="{anchor}" font-size="9" fill="{colour}">{value:.3g}</text>'
            )
    return out


def _number(value: float) -> str:
    """Return a tick's label: plain up to a thousand, then a power of ten."""
    if value >= 10_000:
        return f'10<tspan dy="-4" font-size="8">{round(log10(value))}</tspan>'
    return f"{value:g}"


def _legend(x: float, y: float, colours: dict[str, str]) -> list[str]:
    """Return a line of colours and names."""
    out = []
    for name, colour in colours.items():
        out.append(
            f'<line x1="{x}" y1="{y}" x2="{x + 22}" y2="{y}" stroke="{colour}" stroke-width="2.5"/>'
        )
        out.append(f'<text x="{x + 28}" y="{y + 4}">{name}</text>')
        x += 50 + 7 * len(name)
    return out
