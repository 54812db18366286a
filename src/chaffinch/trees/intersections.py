"""Paths of two trees together: a record that neither tree isolates may be the only one on both paths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.errors import InputError
from .._base.masking import THRESHOLD
from .predicates import Label, Predicate, label_of, predicate_of
from .recount import checked_data, label_codes
from .summary import IntersectionSummary
from .tree import Ensemble


@dataclass(frozen=True, eq=False)
class Intersections:
    """What pairs of trees isolate beyond what each does alone. Pairs of predicates hold constants: they are confidential."""

    tried: int  # pairs of trees that were looked at
    pairs: int
    isolating_pairs: int  # that isolate someone whom neither tree of the pair isolates
    cells: (
        int  # pairs of leaves (with a class, for classification) that do, over all pairs of trees
    )
    n_exposed: int  # distinct records
    share: float
    examples: tuple[tuple[Predicate, Predicate], ...] = field(
        repr=False
    )  # some of the conjunctions
    threshold: int = THRESHOLD

    @property
    def summary(self) -> IntersectionSummary:
        """What may leave: no constant and no record."""
        small = 0 < self.n_exposed < self.threshold
        share = f"under {self.threshold} records" if small else self.share
        return IntersectionSummary(self.tried, self.pairs, self.isolating_pairs, share)


def intersections(
    model: Ensemble,
    columns: Sequence[NDArray[Any]],
    labels: Sequence[NDArray[Any]],
    *,
    at_least: int = 2,
    label: str | Sequence[str] = "label",
    most_pairs: int = 200,
    most_examples: int = 20,
    threshold: int = THRESHOLD,
    seed: int = 0,
) -> Intersections:
    """Return what conjunctions of a leaf path of one tree and one of another isolate although neither does alone.

    With classes a conjunction also says the class (of the first output). All pairs of trees are tried if there are at most `most_pairs`,
    otherwise so many drawn at random.
    """
    if at_least < 2:
        raise InputError(f"at_least must be 2 or more. Got {at_least}.")
    if most_pairs < 1:
        raise InputError(f"most_pairs must be 1 or more. Got {most_pairs}.")
    x, y = checked_data(model, columns, labels)
    names = [label] if isinstance(label, str) else list(label)
    classes = model.classes[0] if model.classes else model.targets
    codes = label_codes(y[0], classes) if classes else np.zeros(len(x[0]), dtype=np.int64)
    used = np.flatnonzero(
        codes >= 0
    )  # a label that the model does not know is no part of any predicate of it
    k = max(len(classes), 1)
    cell = [(tree.apply(x) * k + codes)[used] for tree in model.trees]
    alone = [_sizes(one) for one in cell]
    chosen, n_pairs = _pairs(len(cell), most_pairs, seed)
    exposed = np.zeros(len(used), dtype=bool)
    isolating, n_cells = 0, 0
    examples: list[tuple[Predicate, Predicate]] = []
    for i, j in chosen:
        both = _sizes(cell[i] * (int(cell[j].max(initial=0)) + 1) + cell[j])
        hit = (both < at_least) & (alone[i] >= at_least) & (alone[j] >= at_least)
        isolating += bool(hit.any())
        exposed |= hit
        at = np.flatnonzero(hit)
        _, first = np.unique(np.stack([cell[i][at], cell[j][at]]), axis=1, return_index=True)
        n_cells += len(first)
        for row in at[np.sort(first)][: max(most_examples - len(examples), 0)]:
            named: Label | None = None
            if classes:
                code = int(codes[used[row]])
                named = (
                    label_of(model, 0, code, names)
                    if model.classes
                    else Label(names[0], 0, "=", classes[code])
                )
            pair = [predicate_of(model, t, int(cell[t][row]) // k, named) for t in (i, j)]
            examples.append((pair[0], pair[1]))
    n = int(exposed.sum())
    return Intersections(
        len(chosen),
        n_pairs,
        isolating,
        n_cells,
        n,
        n / max(len(codes), 1),
        tuple(examples),
        threshold,
    )


def _sizes(cells: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each record how many share its cell."""
    _, inverse, counts = np.unique(cells, return_inverse=True, return_counts=True)
    return np.asarray(counts[inverse])


def _pairs(n: int, most: int, seed: int) -> tuple[list[tuple[int, int]], int]:
    total = n * (n - 1) // 2
    if total <= most:
        return list(combinations(range(n), 2)), total
    rng = np.random.default_rng(seed)
    chosen: set[tuple[int, int]] = set()
    while len(chosen) < most:
        i, j = sorted(rng.choice(n, size=2, replace=False).tolist())
        chosen.add((i, j))
    return sorted(chosen), total
