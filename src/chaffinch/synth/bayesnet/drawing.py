"""A network drawn as SVG: parents above children, the label, sensitive and other columns in different colours."""

from __future__ import annotations

from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING

from ..._base.svg import Drawing, canvas, label, rectangle
from .layers import Point, layered, spread, way

if TYPE_CHECKING:
    from .model import BayesNetModel


# Okabe and Ito's colours, told apart also by those who see red and green alike; the shape of the border tells them too.
COLOURS = {"label": ("#E69F00", ""), "sensitive": ("#56B4E9", "6 3"), "other": ("#9BD3B8", "")}
HEIGHT, GAP_Y, MARGIN, PER_CHARACTER, WAY, LEGEND = 30, 74, 24, 7.4, 8.0, 560.0
TIP = (
    '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto" '
    'markerUnits="userSpaceOnUse"><path d="M0 0L8 4L0 8z" fill="#555"/></marker>'
)

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
    left = min(x_of[p] - width[p] / 2 for p in x_of) - MARGIN
    right = max(x_of[p] + width[p] / 2 for p in x_of) + MARGIN
    breadth = max(right - left, LEGEND)
    shift = (breadth - right - left) / 2
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
        width = 0.8 + 3.2 * strength / strongest
        out.append(
            f'<path d="{path}" fill="none" stroke="#555" stroke-opacity=".65" stroke-width="{width:.2f}" '
            f'marker-end="url(#tip)"><title>{escape(parent)} to {escape(child)}: {strength:.3f} nats</title></path>'
        )
    return out


def _nodes(model: BayesNetModel, centre: Centres, width_of: dict[str, float]) -> list[str]:
    out = []
    for name in model.network.order:
        x, y = centre[name]
        fill, dashes = COLOURS[model.role(name) or "other"]
        out.append(
            rectangle(
                x - width_of[name] / 2,
                y - HEIGHT / 2,
                width_of[name],
                HEIGHT,
                fill=fill,
                radius=8,
                stroke_width=1.2,
                dashes=dashes,
            )
        )
        out.append(label(x, y + 4.5, name, anchor="middle", fill="#111"))
    return out


def _legend(model: BayesNetModel, y: float) -> list[str]:
    out, x = [], float(MARGIN)
    roles = {model.role(name) or "other" for name in model.network.order}
    for role, (fill, dashes) in COLOURS.items():
        if role in roles:
            out.append(rectangle(x, y, 18, 14, fill=fill, radius=4, dashes=dashes))
            out.append(label(x + 24, y + 12, role))
            x += 44 + PER_CHARACTER * len(role)
    out.append(label(x, y + 12, "wider edge: more mutual information"))
    return out
