"""A network drawn as SVG: parents above children, the label, sensitive and other columns in different colours."""

from __future__ import annotations

from html import escape
from itertools import pairwise

from ..synth.bayesnet.model import BayesNetModel
from .layers import Point, layered, spread, way

__all__ = ["network_svg"]

# Okabe and Ito's colours, told apart also by those who see red and green alike; the shape of the border tells them too.
COLOURS = {"label": ("#E69F00", ""), "sensitive": ("#56B4E9", "6 3"), "other": ("#9BD3B8", "")}
HEIGHT, GAP_Y, MARGIN, PER_CHARACTER, WAY, LEGEND = 30, 74, 24, 7.4, 8.0, 560.0


def network_svg(model: BayesNetModel) -> str:
    """Return a model's network as an SVG picture: no script, nothing from elsewhere, a title and a description inside.

    Columns stand in layers, each below its lowest parent; an edge over several layers runs between the columns there, never
    behind one. The wider an edge, the more its ends tell of each other.
    """
    width_of = {name: 22 + PER_CHARACTER * len(name) for name in model.network.order}
    layers = layered(model.network)
    width: dict[Point, float] = {p: width_of[p] if isinstance(p, str) else WAY for layer in layers for p in layer}
    x_of = spread(model.network, layers, width)
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
    parts = [*_edges(model, centre), *_nodes(model, centre, width_of), *_legend(model, legend_y)]
    total = legend_y + 40
    edges = "; ".join(
        f"{child} from {', '.join(model.network[child])}" for child in model.network.order if model.network[child]
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {breadth:.0f} {total:.0f}" width="{breadth:.0f}" '
        f'height="{total:.0f}" role="img" font-family="system-ui, sans-serif" font-size="13">'
        f"<title>Bayesian network of {len(model.network.order)} columns and {len(model.network.edges)} edges</title>"
        f"<desc>{escape(edges or 'No edges')}</desc>"
        '<rect width="100%" height="100%" fill="#fff"/>'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto" '
        'markerUnits="userSpaceOnUse"><path d="M0 0L8 4L0 8z" fill="#555"/></marker></defs>'
        + "".join(parts)
        + "</svg>\n"
    )


def _role(model: BayesNetModel, name: str) -> str:
    return "label" if name == model.fitted.label else "sensitive" if name in model.fitted.sensitive else "other"


def _edges(model: BayesNetModel, centre: dict[Point, tuple[float, float]]) -> list[str]:
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


def _nodes(model: BayesNetModel, centre: dict[Point, tuple[float, float]], width_of: dict[str, float]) -> list[str]:
    out = []
    for name in model.network.order:
        x, y = centre[name]
        fill, dashes = COLOURS[_role(model, name)]
        out.append(_box(x - width_of[name] / 2, y - HEIGHT / 2, width_of[name], fill, dashes))
        out.append(f'<text x="{x:.1f}" y="{y + 4.5:.1f}" text-anchor="middle" fill="#111">{escape(name)}</text>')
    return out


def _box(x: float, y: float, width: float, fill: str, dashes: str) -> str:
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{HEIGHT}" rx="8" fill="{fill}" stroke="#333"'
        f' stroke-width="1.2"{dashed}/>'
    )


def _legend(model: BayesNetModel, y: float) -> list[str]:
    out, x = [], float(MARGIN)
    for role, (fill, dashes) in COLOURS.items():
        if any(_role(model, name) == role for name in model.network.order):
            dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
            out.append(
                f'<rect x="{x:.0f}" y="{y:.0f}" width="18" height="14" rx="4" fill="{fill}" stroke="#333"{dashed}/>'
            )
            out.append(f'<text x="{x + 24:.0f}" y="{y + 12:.0f}" fill="#333">{role}</text>')
            x += 44 + PER_CHARACTER * len(role)
    out.append(f'<text x="{x:.0f}" y="{y + 12:.0f}" fill="#333">wider edge: more mutual information</text>')
    return out
