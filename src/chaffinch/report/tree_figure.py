"""A tree as a picture: the root at the left, one line for each leaf, and the ways to chosen nodes marked by colour, width and shape."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from html import escape

import numpy as np
from markupsafe import Markup

from .._base.svg import GREY, INK, cut, picture, text
from .._base.words import shown
from ..trees import Tree

__all__ = ["tree_picture"]

MOST_LEAVES = 200
MARKED, PLAIN = "#D55E00", "#8a8a8a"
WIDTH, TOP, LEFT = 520.0, 34.0, 12.0
NAMED, NAMED_WIDTH, DEEPEST = 4, 92.0, 24
"""Levels with names beside their splits, how wide these are, and the levels that fit: two pictures stand side by side."""


def tree_picture(
    key: str, title: str, tree: Tree, features: Sequence[str], marked: Collection[int]
) -> tuple[Markup, bool]:
    """Return a picture of a tree with some nodes marked, and whether deep parts had to be folded.

    Names of columns and structure only: no cut and no count.
    """
    deepest = _drawn_depth(tree)
    levels = [node for node in tree.order if tree.depth[node] <= deepest]
    ends = [node for node in levels if tree.left[node] < 0 or tree.depth[node] == deepest]
    # A way is marked from the root down to each marked node; a fold is, if one of them lies below it.
    ways = {above for node in marked for above in (node, *(split for split, _ in tree.path(node)))}
    pitch = 16.0 if len(ends) <= 40 else 11.0 if len(ends) <= 100 else 8.0
    x = _columns(deepest)
    y = {node: TOP + pitch * (i + 0.5) for i, node in enumerate(ends)}
    for node in reversed(levels):
        if node not in y:
            y[node] = (y[int(tree.left[node])] + y[int(tree.right[node])]) / 2
    # Marked ways last, so that they lie on top.
    lines = sorted(levels[1:], key=lambda node: node in ways)
    parts = [text(LEFT, 16, title, bold=True), *(_edge(tree, node, x, y, node in ways) for node in lines)]
    folds = set()
    for node in levels:
        at, depth = y[node], int(tree.depth[node])
        leaf = tree.left[node] < 0
        if not leaf and depth == deepest:
            folds.add(node)
            parts.append(_fold(x[depth], at, node in ways, pitch))
            continue
        name = "" if leaf else features[int(tree.feature[node])]
        parts.append(_node(x[depth], at, leaf, node in marked, shown(name), pitch))
        if name and depth < min(NAMED, deepest) and _has_room(tree, node, y):
            parts.append(text(x[depth] + 7, at + 3.5, cut(name, x[depth + 1] - x[depth] - 12, 10), size=10))
    height = TOP + pitch * len(ends) + 10
    told = "Ways to nodes that isolate are marked." if ways else "No node is marked."
    desc = f"A tree of {tree.n_nodes:,} nodes and {len(tree.leaves):,} leaves, the root at the left. {told}"
    return picture(key, x[-1] + 24, height, title=title, desc=desc, body=parts), bool(folds)


def _drawn_depth(tree: Tree) -> int:
    """The depth down to which the tree is drawn: the greatest with no more ends and levels than fit."""
    most = int(tree.depth.max())
    inner = np.bincount(tree.depth[tree.left >= 0], minlength=most + 1)
    leaves = np.cumsum(np.bincount(tree.depth[tree.leaves], minlength=most + 1))
    fit = np.flatnonzero(leaves + inner <= MOST_LEAVES)
    return min(int(fit[-1]), DEEPEST)


def _columns(deepest: int) -> list[float]:
    """Where each level stands: the first ones wide, for names; the others share what is left."""
    wide = min(NAMED, deepest)
    rest = (WIDTH - LEFT - wide * NAMED_WIDTH) / max(deepest - wide, 1)
    steps = [NAMED_WIDTH] * wide + [min(rest, NAMED_WIDTH / 2)] * (deepest - wide)
    return [LEFT, *(LEFT + np.cumsum(steps)).tolist()] if steps else [LEFT]


def _has_room(tree: Tree, node: int, y: dict[int, float]) -> bool:
    """Whether a name beside a split meets no line: its children's lines stand clear above and below."""
    return y[int(tree.right[node])] - y[int(tree.left[node])] >= 14.0


def _edge(tree: Tree, node: int, x: Sequence[float], y: dict[int, float], marked: bool) -> str:
    above = int(tree.parent[node])
    at, to = x[int(tree.depth[above])], x[int(tree.depth[node])]
    look = f'stroke="{MARKED}" stroke-width="2.6"' if marked else f'stroke="{PLAIN}" stroke-width="0.9"'
    return f'<path d="M{at:.1f} {y[above]:.1f}V{y[node]:.1f}H{to:.1f}" fill="none" {look}/>'


def _node(x: float, y: float, leaf: bool, marked: bool, name: str, pitch: float) -> str:
    size = min(4.5, pitch / 2 - 0.6)
    if marked:
        box = f'x="{x - size:.1f}" y="{y - size:.1f}" width="{2 * size:.1f}" height="{2 * size:.1f}"'
        shape = f'<rect {box} fill="{MARKED}" stroke="{INK}" stroke-width="0.8"'
    elif leaf:
        shape = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size * 0.75:.1f}" fill="#fff" stroke="{GREY}"'
    else:
        shape = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size * 0.6:.1f}" fill="{GREY}"'
    return f"{shape}><title>{escape(name)}</title></{shape[1:].split()[0]}>" if name else f"{shape}/>"


def _fold(x: float, y: float, marked: bool, pitch: float) -> str:
    half = min(5.0, pitch / 2 - 0.4)
    fill, line = (MARKED, INK) if marked else ("#fff", GREY)
    path = f"M{x:.1f} {y:.1f}L{x + 2 * half:.1f} {y - half:.1f}V{y + half:.1f}Z"
    return f'<path d="{path}" fill="{fill}" stroke="{line}" stroke-width="0.8"/>'
