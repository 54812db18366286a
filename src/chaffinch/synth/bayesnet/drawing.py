"""A network drawn as SVG: parents above children, the label, sensitive and other columns in different colours.

Columns stand in layers, with few crossings and a free way for every edge. Sugiyama's method in small: an edge over several layers gets a place of its own in each layer between, layers are reordered by
the mean place of their neighbours, and places are spread so that nothing overlaps.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from itertools import pairwise

from ..._base.svg import Drawing, box, canvas, element, text
from .network import Network

# Okabe and Ito's colours, distinguishable also by those who see red and green alike; the shape of the border tells them too.
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


def network_drawing(
    network: Network,
    strengths: Mapping[tuple[str, str], float],
    *,
    label: str | None = None,
    sensitive: Collection[str] = (),
    link_of: Callable[[str], str] | None = None,
) -> Drawing:
    """Return a network as a picture.

    Columns stand in layers, each below its lowest parent; an edge over several layers runs between the columns there, never
    behind one. The wider an edge, the higher its strength, in nats. With `link_of` columns lead to the addresses that it returns; to none where that is empty.
    """
    roles = {
        name: "label" if name == label else "sensitive" if name in sensitive else "other"
        for name in network.order
    }
    width_of = {name: 22 + PER_CHARACTER * len(name) for name in network.order}
    layers = network_layers(network)
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
    body = _edges(network, strengths, centre)
    for name, role in roles.items():
        node = _node(name, role, centre[name], width_of[name])
        address = "" if link_of is None else link_of(name)
        body.append(
            element("a", node, href=address, aria_label=f"Links of {name}") if address else node
        )
    body += _legend(set(roles.values()), legend_y)
    families = "; ".join(
        f"{child} from {', '.join(network[child])}" for child in network.order if network[child]
    )
    title = f"Bayesian network of {len(network.order)} columns and {len(network.edges)} edges"
    return Drawing(
        canvas(
            breadth,
            legend_y + 40,
            body,
            title=title,
            desc=families or "No edges",
            defs=TIP,
            role="img" if link_of is None else "group",
        )
    )


def _edges(
    network: Network, strengths: Mapping[tuple[str, str], float], centre: Centres
) -> list[str]:
    strongest = max(strengths.values(), default=0.0) or 1.0
    out = []
    for parent, child in network.edges:
        strength = strengths.get((parent, child))
        information = "" if strength is None else f": {strength:.3f} nats"
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
                stroke_width=f"{0.8 + 3.2 * (strength or 0.0) / strongest:.2f}",
                marker_end="url(#tip)",
                tooltip=f"{parent} to {child}{information}",
            )
        )
    return out


def _node(name: str, role: str, centre: tuple[float, float], width: float) -> str:
    x, y = centre
    fill, dashes = COLOURS[role]
    frame = box(
        x - width / 2,
        y - HEIGHT / 2,
        width,
        HEIGHT,
        fill=fill,
        rx=8,
        stroke=BORDER,
        stroke_width=1.2,
        stroke_dasharray=dashes or None,
    )
    return frame + text(x, y + 4.5, name, anchor="middle", fill="#111")


def _legend(roles: Collection[str], y: float) -> list[str]:
    out, x = [], float(MARGIN)
    for role, (fill, dashes) in COLOURS.items():
        if role in roles:
            out.append(
                box(x, y, 18, 14, fill=fill, rx=4, stroke=BORDER, stroke_dasharray=dashes or None)
            )
            out.append(text(x + 24, y + 12, role, fill=BORDER))
            x += 44 + PER_CHARACTER * len(role)
    out.append(text(x, y + 12, "wider edge: more mutual information", fill=BORDER))
    return out


def network_layers(network: Network) -> list[list[Point]]:
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
    neighbours = _neighbours(links)
    best, fewest = [list(layer) for layer in layers], _crossings(layers, links)
    for sweep in range(SWEEPS):
        rows = range(1, len(layers)) if sweep % 2 == 0 else range(len(layers) - 2, -1, -1)
        for row in rows:
            fixed = layers[row - 1 if sweep % 2 == 0 else row + 1]
            fixed_index = {point: i for i, point in enumerate(fixed)}
            index = {point: i for i, point in enumerate(layers[row])}
            layers[row].sort(key=lambda p: _mean(neighbours[p], fixed_index, index[p]))
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
    neighbours = _neighbours(
        [link for edge in network.edges for link in pairwise(way(edge, points))]
    )
    for sweep in range(2 * SWEEPS):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            wanted = {p: _mean(neighbours[p], x, x[p]) for p in layer}
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


def _neighbours(links: list[tuple[Point, Point]]) -> dict[Point, list[Point]]:
    ends: dict[Point, list[Point]] = defaultdict(list)
    for upper, lower in links:
        ends[upper].append(lower)
        ends[lower].append(upper)
    return ends


def _mean(points: list[Point], positions: Mapping[Point, float], otherwise: float) -> float:
    """The mean position of those points that have one."""
    values = [positions[point] for point in points if point in positions]
    return sum(values) / len(values) if values else otherwise


def _crossings(layers: list[list[Point]], links: list[tuple[Point, Point]]) -> int:
    """Return how many pairs of links cross."""
    total = 0
    for upper, lower in pairwise(layers):
        above = {p: i for i, p in enumerate(upper)}
        below = {p: i for i, p in enumerate(lower)}
        ends = sorted((above[a], below[b]) for a, b in links if a in above and b in below)
        passed: list[int] = []
        for _, end in ends:  # crosses every link that starts before it and ends behind it
            total += len(passed) - bisect_right(passed, end)
            insort(passed, end)
    return total
