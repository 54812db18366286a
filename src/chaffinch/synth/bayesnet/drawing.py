"""A network drawn as SVG: parents above children, the label, sensitive and other columns in different colours.

Columns stand in layers, with few crossings and a free way for every edge. Sugiyama's method in small: an edge over several layers gets a place of its own in each layer between, layers are reordered by
the mean place of their neighbours, and places are spread so that nothing overlaps.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

from ..._base.svg import Drawing, box, canvas, element, text
from .network import Network

if TYPE_CHECKING:
    from .model import BayesNetModel


# Okabe and Ito's colours, told apart also by those who see red and green alike; the shape of the border tells them too.
COLOURS = {"label": ("#E69F00", ""), "sensitive": ("#56B4E9", "6 3"), "other": ("#9BD3B8", "")}

HEIGHT, GAP_Y, MARGIN, PER_CHARACTER, WAY, LEGEND = 30, 74, 24, 7.4, 8.0, 560.0

TIP = element(
    "marker",
    element("path", d="M0 0L8 4L0 8z", fill="#555"),
    id="tip",
    viewBox="0 0 8 8",
    refX=7,
    refY=4,
    markerWidth=7,
    markerHeight=7,
    orient="auto",
    markerUnits="userSpaceOnUse",
)

GAP, BORDER = 18.0, "#333"

SWEEPS = 12

Point = str | tuple[str, str, int]
"""A column, or the place of an edge (parent, child) in a layer between its ends."""

Centres = dict[Point, tuple[float, float]]


def network_drawing(model: BayesNetModel) -> Drawing:
    """Return a model's network as a picture.

    Columns stand in layers, each below its lowest parent; an edge over several layers runs between the columns there, never
    behind one. The wider an edge, the more its ends tell of each other.
    """
    network = model.network
    width_of = {name: 22 + PER_CHARACTER * len(name) for name in network.order}
    layers = layered(network)
    width: dict[Point, float] = {
        p: width_of[p] if isinstance(p, str) else WAY for layer in layers for p in layer
    }
    x_of = spread(network, layers, width)
    left_edge = min(x_of[p] - width[p] / 2 for p in x_of) - MARGIN
    right = max(x_of[p] + width[p] / 2 for p in x_of) + MARGIN
    breadth = max(right - left_edge, LEGEND)
    shift = (breadth - right - left_edge) / 2
    centre = {
        point: (x_of[point] + shift, MARGIN + row * GAP_Y + HEIGHT / 2)
        for row, layer in enumerate(layers)
        for point in layer
    }
    legend_y = MARGIN + len(layers) * GAP_Y
    body = [*_edges(model, centre), *_nodes(model, centre, width_of), *_legend(model, legend_y)]
    families = "; ".join(
        f"{child} from {', '.join(network[child])}" for child in network.order if network[child]
    )
    title = f"Bayesian network of {len(network.order)} columns and {len(network.edges)} edges"
    return Drawing(
        canvas(breadth, legend_y + 40, body, title=title, desc=families or "No edges", defs=TIP)
    )


def _edges(model: BayesNetModel, centre: Centres) -> list[str]:
    strongest = max(model.fitted.strengths, default=0.0) or 1.0
    out = []
    for (parent, child), strength in zip(model.network.edges, model.fitted.strengths, strict=True):
        points = [centre[point] for point in way((parent, child), centre)]
        (x1, y1), (x2, y2) = points[0], points[-1]
        stops = [(x1, y1 + HEIGHT / 2), *points[1:-1], (x2, y2 - HEIGHT / 2)]
        path = f"M{stops[0][0]:.1f} {stops[0][1]:.1f}"
        for (a, b), (c, d) in pairwise(stops):
            path += f"C{a:.1f} {(b + d) / 2:.1f} {c:.1f} {(b + d) / 2:.1f} {c:.1f} {d:.1f}"
        out.append(
            element(
                "path",
                d=path,
                fill="none",
                stroke="#555",
                stroke_opacity=".65",
                stroke_width=f"{0.8 + 3.2 * strength / strongest:.2f}",
                marker_end="url(#tip)",
                tooltip=f"{parent} to {child}: {strength:.3f} nats",
            )
        )
    return out


def _nodes(model: BayesNetModel, centre: Centres, width_of: dict[str, float]) -> list[str]:
    out = []
    for name in model.network.order:
        x, y = centre[name]
        fill, dashes = COLOURS[model.role(name) or "other"]
        out.append(
            box(
                x - width_of[name] / 2,
                y - HEIGHT / 2,
                width_of[name],
                HEIGHT,
                fill=fill,
                rx=8,
                stroke=BORDER,
                stroke_width=1.2,
                stroke_dasharray=dashes or None,
            )
        )
        out.append(text(x, y + 4.5, name, anchor="middle", fill="#111"))
    return out


def _legend(model: BayesNetModel, y: float) -> list[str]:
    out, x = [], float(MARGIN)
    roles = {model.role(name) or "other" for name in model.network.order}
    for role, (fill, dashes) in COLOURS.items():
        if role in roles:
            out.append(
                box(x, y, 18, 14, fill=fill, rx=4, stroke=BORDER, stroke_dasharray=dashes or None)
            )
            out.append(text(x + 24, y + 12, role, fill=BORDER))
            x += 44 + PER_CHARACTER * len(role)
    out.append(text(x, y + 12, "wider edge: more mutual information", fill=BORDER))
    return out


def layered(network: Network) -> list[list[Point]]:
    """Return the columns and the places of long edges, layer by layer, ordered so that edges cross little."""
    depth: dict[str, int] = {}
    for name in network.order:
        depth[name] = 1 + max((depth[p] for p in network[name]), default=-1)
    layers: list[list[Point]] = [[] for _ in range(max(depth.values(), default=0) + 1)]
    for name in network.order:
        layers[depth[name]].append(name)
    links: list[tuple[Point, Point]] = []
    for parent, child in network.edges:
        between: list[Point] = [
            (parent, child, row) for row in range(depth[parent] + 1, depth[child])
        ]
        for point, layer_index in zip(between, range(depth[parent] + 1, depth[child]), strict=True):
            layers[layer_index].append(point)
        links += pairwise([parent, *between, child])
    best, fewest = [list(layer) for layer in layers], _crossings(layers, links)
    for sweep in range(SWEEPS):
        rows = range(1, len(layers)) if sweep % 2 == 0 else range(len(layers) - 2, -1, -1)
        for row in rows:
            fixed = layers[row - 1 if sweep % 2 == 0 else row + 1]
            fixed_index = {point: i for i, point in enumerate(fixed)}
            index = {point: i for i, point in enumerate(layers[row])}
            layers[row].sort(key=lambda p: _mean(_neighbours(p, links, fixed_index), index[p]))
        if (crossings := _crossings(layers, links)) < fewest:
            best, fewest = [list(layer) for layer in layers], crossings
    return best


def spread(
    network: Network, layers: list[list[Point]], width: Mapping[Point, float]
) -> dict[Point, float]:
    """Return the centre of each point: close to its neighbours, in order, without overlap."""
    x: dict[Point, float] = {}
    for layer in layers:
        edge = -sum(width[p] + GAP for p in layer) / 2
        for point in layer:
            x[point] = edge + width[point] / 2
            edge += width[point] + GAP
    points = list(x)
    links = [link for edge in network.edges for link in pairwise(way(edge, points))]
    for sweep in range(2 * SWEEPS):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            wanted = {p: _mean(_neighbours(p, links, x), x[p]) for p in layer}
            placed: list[float] = []
            for i, point in enumerate(layer):
                nearest = (
                    placed[-1] + (width[layer[i - 1]] + width[point]) / 2 + GAP
                    if placed
                    else wanted[point]
                )
                placed.append(max(wanted[point], nearest))
            shift = sum(wanted[p] - q for p, q in zip(layer, placed, strict=True)) / max(
                len(layer), 1
            )
            x.update({p: q + shift for p, q in zip(layer, placed, strict=True)})
    return x


def way(edge: tuple[str, str], points: Collection[Point]) -> list[Point]:
    """Return the points that an edge passes: its parent, its places between, its child."""
    between = sorted(
        (p for p in points if isinstance(p, tuple) and p[:2] == edge), key=lambda p: p[2]
    )
    return [edge[0], *between, edge[1]]


def _neighbours(
    point: Point, links: list[tuple[Point, Point]], index: Mapping[Point, float]
) -> list[float]:
    ends = [b if a == point else a for a, b in links if point in (a, b)]
    return [index[end] for end in ends if end in index]


def _mean(values: list[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _crossings(layers: list[list[Point]], links: list[tuple[Point, Point]]) -> int:
    """Return how many pairs of links cross."""
    total = 0
    for upper, lower in pairwise(layers):
        above = {p: i for i, p in enumerate(upper)}
        below = {p: i for i, p in enumerate(lower)}
        ends = [(above[a], below[b]) for a, b in links if a in above and b in below]
        total += sum(
            (a - c) * (b - d) < 0 for i, (a, b) in enumerate(ends) for c, d in ends[i + 1 :]
        )
    return total
