"""Whether links paid: what a fit can say of it from released numbers alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .estimate import Table, column_noise, product_of
from .links import Gaps, possible_pairs

MOST_PAIRS = 500
"""Pairs over which the noise of columns is averaged; where there are more, evenly spaced ones."""


def paying_note(
    margins: Sequence[Table],
    stds: Sequence[float],
    total: float,
    gaps: Gaps | None,
    *,
    edges: int,
    every_pair: bool,
) -> str:
    """Return a sentence where links did not pay; empty where they did.

    Noise in single columns moves the tables of pairs, in a model of independent columns as in any other. Where all pairs were looked at,
    that is put beside the mean distance of pairs from independence, which is what leaving out all links costs.
    """
    if len(margins) < 2:
        return ""
    noise = _pair_noise(margins, stds, total)
    told = (
        ""
        if edges
        else "No link was worth its noise: columns are drawn independently of each other."
    )
    if every_pair and gaps is not None and len(gaps.cliques):
        links = min(float(np.mean(gaps.values)) / total, 1.0)
        if noise > links:
            more = (
                f"Noise moves tables of two columns by about {noise:.2g} on average, and leaving out all links would by about "
                f"{links:.2g}: at this budget no private model is nearer to the data than independent columns without noise."
            )
            return f"{told} {more}".strip()
    return told


def _pair_noise(margins: Sequence[Table], stds: Sequence[float], total: float) -> float:
    """The mean distance by which noise in single columns moves the product of two, as a part of the records."""
    pairs = possible_pairs([len(margin) for margin in margins])
    if not pairs:
        return 0.0
    some = pairs[:: -(-len(pairs) // MOST_PAIRS)]
    noises = [column_noise(pair, product_of(pair, margins, total), margins, stds) for pair in some]
    return min(float(np.mean(noises)) / total, 1.0)
