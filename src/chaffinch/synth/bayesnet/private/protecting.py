"""What protection cut, from released numbers alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ....counts.marginal import Marginal
from ..protection import Cut, Protection, cut_pairs, through_label
from ..rules import Rules
from .assemble import Assembled
from .links import Gaps

if TYPE_CHECKING:
    from ..settings import BayesNet


def noisy_protection(
    settings: BayesNet, rules: Rules, gaps: Gaps | None, assembled: Assembled, total: float
) -> Protection | None:
    """Return the pairs that protection cuts, with what they tell of each other at least.

    The information of a pair is a lower bound from its noisy distance t from independence, 2 t^2 nats (Pinsker's inequality); what passes
    through the label is counted in the model.
    """
    if not settings.sensitive or gaps is None:
        return None
    names = rules.names
    distance = {
        pair: max(float(v), 0.0) / total for pair, v in zip(gaps.cliques, gaps.values, strict=True)
    }
    cuts = []
    for s, o in cut_pairs(names, settings.label, settings.sensitive, settings.protect):
        i, j = names.index(s), names.index(o)
        information = 2 * min(distance.get((min(i, j), max(i, j)), 0.0), 1.0) ** 2
        through = 0.0
        if settings.label is not None:
            label = names.index(settings.label)
            through = through_label(
                _pair(assembled, names, label, i), _pair(assembled, names, label, j)
            )
        cuts.append(Cut(s, o, information, through))
    return Protection(settings.protect, tuple(cuts))


def _pair(assembled: Assembled, names: Sequence[str], a: int, b: int) -> Marginal:
    counts = assembled.sample.counts((a, b))
    return Marginal((names[a], names[b]), counts.shape, counts / counts.sum())
