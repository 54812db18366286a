"""Where the columns of a network stand in a picture: layers, few crossings, and a free way for every edge.

Sugiyama's method in small: an edge over several layers gets a place of its own in each layer between, layers are reordered by
the mean place of their neighbours, and places are spread so that nothing overlaps.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import pairwise

from .network import Network

Point = str | tuple[str, str, int]
"""A column, or the place of an edge (parent, child) in a layer between its ends."""

GAP = 18.0
SWEEPS = 12


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
            (parent, child, at) for at in range(depth[parent] + 1, depth[child])
        ]
        for point, at in zip(between, range(depth[parent] + 1, depth[child]), strict=True):
            layers[at].append(point)
        links += pairwise([parent, *between, child])
    best, fewest = [list(layer) for layer in layers], _crossings(layers, links)
    for sweep in range(SWEEPS):
        rows = range(1, len(layers)) if sweep % 2 == 0 else range(len(layers) - 2, -1, -1)
        for row in rows:
            fixed = layers[row - 1 if sweep % 2 == 0 else row + 1]
            place = {point: i for i, point in enumerate(fixed)}
            own = {point: i for i, point in enumerate(layers[row])}
            layers[row].sort(key=lambda p: _mean(_neighbours(p, links, place), own[p]))
        if (crossings := _crossings(layers, links)) < fewest:
            best, fewest = [list(layer) for layer in layers], crossings
    return best


def spread(
    network: Network, layers: list[list[Point]], width: Mapping[Point, float]
) -> dict[Point, float]:
    """Return the centre of each point: close to its neighbours, in order, without overlap."""
    x: dict[Point, float] = {}
    for layer in layers:
        at = -sum(width[p] + GAP for p in layer) / 2
        for point in layer:
            x[point] = at + width[point] / 2
            at += width[point] + GAP
    points = list(x)
    links = [link for edge in network.edges for link in pairwise(way(edge, points))]
    for sweep in range(2 * SWEEPS):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            wanted = {p: _mean(_neighbours(p, links, x), x[p]) for p in layer}
            placed: list[float] = []
            for i, point in enumerate(layer):
                least = (
                    placed[-1] + (width[layer[i - 1]] + width[point]) / 2 + GAP
                    if placed
                    else wanted[point]
                )
                placed.append(max(wanted[point], least))
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
    point: Point, links: list[tuple[Point, Point]], place: Mapping[Point, float]
) -> list[float]:
    ends = [b if a == point else a for a, b in links if point in (a, b)]
    return [place[end] for end in ends if end in place]


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
