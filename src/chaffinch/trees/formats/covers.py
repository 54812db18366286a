"""Numbers of records from the covers of boosted trees: the sum of second derivatives in a leaf, taken apart again.

The cover of a leaf is the sum over its records of the second derivative h of the loss at the margin so far. Before the first tree every record
has the same margin, so cover / h is the number of records. Later, records that fell into the same leaves of all earlier trees (a cell) have the
same margin, which the file tells: with n[a, b] records of cell a in leaf b, and h[a] for each of them,

    sum over a of h[a] * n[a, b] = cover of b,        sum over b of n[a, b] = records of a,        n[a, b] = 0 where no value can be in both.

Whole numbers that fit are bounded by propagation, and counted out leaf by leaf where few enough are left. Weights of the records, a part of the
records for each tree, or margins given from outside leave no solution, and then nothing is said. Weights that are whole and the same for all, as 2
for every record, cannot be told from records.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.arrays import Floats
from ..tree import Tree

Whole = NDArray[np.int64]
Bounds = tuple[Whole, Whole]

_ROUNDING = 1e-6
"""Rounding of a cover, as a share of it: derivatives, margins and sums are 32-bit floats, of 6e-8 each."""
_MOST_PAIRS = 20_000
_MOST_RANGES = 5_000_000
_MOST_ROWS = 4_000
_MOST_OPEN = 24
"""Pairs of a leaf whose number is still open: with more, too many numbers fit to be counted out."""
_MOST_RECORDS = 1 << 40

NOT_WHOLE = (
    "The covers are not those of whole records: the records had weights or margins of their own, or the objective is another, and how many "
    "stand behind a cover cannot be told."
)
OTHER_RECORDS = "The covers of this tree do not fit the records of the first: each tree saw a part of them, or they had weights."
DROPPED = "Trees were dropped while others were fitted, so margins of later trees are not known."
TOO_MANY = (
    "There are too many ways through the earlier trees to work out what stands behind a cover."
)


def _logistic(margins: Floats, output: int, max_delta_step: float) -> Floats:
    p = 1.0 / (1.0 + np.exp(-margins[:, output]))
    return np.asarray(np.maximum(p * (1.0 - p), 1e-16))


def _softmax(margins: Floats, output: int, max_delta_step: float) -> Floats:
    odds = np.exp(margins - margins.max(axis=1, keepdims=True))
    p = odds[:, output] / odds.sum(axis=1)
    return np.asarray(np.maximum(2.0 * p * (1.0 - p), 1e-16))


COVER_LAWS: dict[str, Callable[[Floats, int, float], Floats]] = {
    "binary:logistic": _logistic,
    "reg:logistic": _logistic,
    "binary:logitraw": _logistic,
    "multi:softmax": _softmax,
    "multi:softprob": _softmax,
    "count:poisson": lambda margins, output, max_delta_step: np.asarray(
        np.exp(margins[:, output] + max_delta_step)
    ),
}
"""The second derivative of a record by objective: of its margins, for one output, without its label."""

PLAIN_COVERS = frozenset(
    {"reg:squarederror", "reg:linear", "reg:absoluteerror", "reg:quantileerror"}
)
"""Objectives whose second derivative is 1 for every record: their covers are numbers of records."""


@dataclass(frozen=True)
class CoverLaw:
    """What a file tells of how its covers came about: `objective` is a key of `COVER_LAWS`, `base` the margin of each output before the first
    tree, `outputs` and `rounds` the output and the round of each tree; with `sums` False (dart) margins of later rounds are not known.
    """

    objective: str
    base: tuple[float, ...]
    outputs: tuple[int, ...]
    rounds: tuple[int, ...]
    max_delta_step: float = 0.7
    """Of Poisson."""
    sums: bool = True

    def derivatives(self, margins: Floats, output: int) -> Floats:
        """Return the second derivative of a record with each of the margins (cells x outputs)."""
        with np.errstate(over="ignore"):
            return COVER_LAWS[self.objective](margins, output, self.max_delta_step)


@dataclass(frozen=True, eq=False)
class _Cells:
    """Records that no tree so far distinguishes: their ranges (cells x columns), margins, what the round adds, and how many they are."""

    low: Floats
    high: Floats
    missing: NDArray[np.bool_]
    margin: Floats
    step: Floats
    min_records: Whole
    max_records: Whole

    def met(self, leaves: _Cells) -> tuple[Whole, Whole] | None:
        """Which cells and leaves can share a record: in every column a range, or a missing value. None if these are too many."""
        if len(self.low) * len(leaves.low) > _MOST_RANGES:
            return None
        out = np.ones((len(self.low), len(leaves.low)), dtype=bool)
        for j in range(self.low.shape[1]):
            present = np.maximum.outer(self.low[:, j], leaves.low[:, j]) < np.minimum.outer(
                self.high[:, j], leaves.high[:, j]
            )
            out &= present | np.logical_and.outer(self.missing[:, j], leaves.missing[:, j])
        cell, leaf = np.nonzero(out)
        return None if len(cell) > _MOST_PAIRS else (cell, leaf)


def counted_trees(
    trees: Sequence[Tree], covers: Sequence[Floats], law: CoverLaw
) -> tuple[Tree, ...]:
    """Return the trees with the numbers of records that their covers tell: `samples` where all are certain, else `bounds`, else the reason.

    Examples
    --------
    >>> stump = Tree.from_nodes([1, -1, -1], [2, -1, -1], [0, 0, 0], [0.5, 0, 0], [False] * 3, np.zeros((3, 1, 1)))
    >>> law = CoverLaw("binary:logistic", (0.0,), (0,), (0,))
    >>> counted_trees([stump], [np.array([2.5, 2.25, 0.25])], law)[0].samples.tolist()
    [10, 9, 1]
    """
    columns = _used_columns(trees)
    start = cells = _everybody(len(columns), law)
    out: list[Tree] = []
    reason, complete = "", True  # whether the cells distinguish all trees so far
    for number, (tree, cover) in enumerate(zip(trees, covers, strict=True)):
        if number and law.rounds[number] != law.rounds[number - 1]:
            if not law.sums:
                reason = reason or DROPPED
            elif not complete:
                reason = reason or TOO_MANY
            start = cells = replace(
                cells, margin=cells.margin + cells.step, step=np.zeros_like(cells.step)
            )
        if reason:
            out.append(replace(tree, reason=reason))
            continue
        leaves = _boxes(tree, columns, law)
        met = cells.met(leaves) if complete else None
        if (
            met is None
        ):  # the trees of a round have the margins that it started with: those cells will do for counts
            cells, met, complete = start, start.met(leaves), False
        if met is None:
            reason = TOO_MANY
            out.append(replace(tree, reason=reason))
            continue
        answer = _solve_bounds(
            law.derivatives(cells.margin, law.outputs[number]), cells, cover[tree.leaves], *met
        )
        if answer is None:
            reason = OTHER_RECORDS if number else NOT_WHOLE
            out.append(replace(tree, reason=reason))
            continue
        (min_records, max_records), pairs = answer
        out.append(_with_bounds(tree, min_records, max_records))
        if complete:
            cells = _split_cells(
                cells, leaves, met, pairs, tree.value[tree.leaves, 0, 0], law.outputs[number]
            )
    return tuple(out)


def _used_columns(trees: Sequence[Tree]) -> list[int]:
    """The columns that are split on; none where ranges of all would be too large to hold: then every leaf may share records with every other."""
    columns = sorted({int(j) for tree in trees for j in tree.feature if j >= 0})
    widest = max(len(tree.leaves) for tree in trees)
    steps = max(int(tree.depth[tree.leaves].sum()) for tree in trees)
    return columns if widest * len(columns) <= _MOST_RANGES and steps <= _MOST_RANGES else []


def _everybody(d: int, law: CoverLaw) -> _Cells:
    base = np.array([law.base], dtype=np.float64)
    limit = np.full((1, d), np.inf)
    return _Cells(
        -limit,
        limit,
        np.ones((1, d), dtype=bool),
        base,
        np.zeros_like(base),
        np.zeros(1, dtype=np.int64),
        np.full(1, _MOST_RECORDS, dtype=np.int64),
    )


def _boxes(tree: Tree, columns: Sequence[int], law: CoverLaw) -> _Cells:
    """The leaves of a tree as ranges."""
    position = {column: j for j, column in enumerate(columns)}
    n = len(tree.leaves)
    low, high = np.full((n, len(columns)), -np.inf), np.full((n, len(columns)), np.inf)
    missing = np.ones((n, len(columns)), dtype=bool)
    for i, leaf in enumerate(tree.leaves.tolist()):
        for split, goes_left in tree.path(leaf) if columns else ():
            j, cut = position[int(tree.feature[split])], tree.threshold[split]
            if goes_left:
                high[i, j] = min(high[i, j], cut)
            else:
                low[i, j] = max(low[i, j], cut)
            missing[i, j] &= bool(tree.missing_left[split]) == goes_left
    nothing = np.zeros((n, len(law.base)))
    nobody = np.zeros(n, dtype=np.int64)
    return _Cells(low, high, missing, nothing, nothing, nobody, nobody)


def _split_cells(
    cells: _Cells,
    leaves: _Cells,
    met: tuple[Whole, Whole],
    pairs: Bounds,
    value: Floats,
    output: int,
) -> _Cells:
    """The cells with the leaves of one more tree distinguished; those that must be empty are left out."""
    low, high = pairs
    possible = high > 0
    cell, leaf = (indices[possible] for indices in met)
    step = cells.step[cell].copy()
    step[:, output] += value[leaf]
    return _Cells(
        np.maximum(cells.low[cell], leaves.low[leaf]),
        np.minimum(cells.high[cell], leaves.high[leaf]),
        cells.missing[cell] & leaves.missing[leaf],
        cells.margin[cell],
        step,
        low[possible],
        high[possible],
    )


def _with_bounds(tree: Tree, min_records: Whole, max_records: Whole) -> Tree:
    """The tree with the bounds of its leaves: as numbers of records where they agree."""
    bounds = np.zeros((tree.n_nodes, 2), dtype=np.int64)
    bounds[tree.leaves, 0], bounds[tree.leaves, 1] = min_records, max_records
    bounds = tree.summed(bounds)
    if np.array_equal(min_records, max_records):
        return replace(tree, samples=bounds[:, 0], reason="")
    return replace(tree, bounds=bounds, reason="")


@dataclass(eq=False)
class _Equations:
    """Whole numbers `low` <= n <= `high` of records for each pair of a cell and a leaf, and the equations they must fit."""

    weight: Floats
    """The derivative of each pair's cell."""
    cell: Whole
    leaf: Whole
    cover: Floats
    """Of each leaf."""
    slack: Floats
    min_records: Whole
    """Of each cell."""
    max_records: Whole
    low: Whole
    high: Whole

    def propagate(self, rounds: int = 100) -> bool:
        """Tighten the bounds by every equation until nothing moves; False where nothing fits."""
        ones = np.ones_like(self.weight)
        for _ in range(rounds):
            before = self.low.copy(), self.high.copy()
            self._tighten(self.weight, self.leaf, self.cover - self.slack, self.cover + self.slack)
            self._tighten(
                ones,
                self.cell,
                self.min_records.astype(np.float64),
                self.max_records.astype(np.float64),
            )
            if (self.low > self.high).any():
                return False
            if np.array_equal(before[0], self.low) and np.array_equal(before[1], self.high):
                break
        return True

    def _tighten(self, weight: Floats, group: Whole, lower: Floats, upper: Floats) -> None:
        low, high = weight * self.low, weight * self.high
        sums = np.bincount(group, low, len(lower)), np.bincount(group, high, len(lower))
        # A sum that leaves 1e-9 of a record open is rounding of our own.
        top = (upper[group] - (sums[0][group] - low)) / weight
        bottom = (lower[group] - (sums[1][group] - high)) / weight
        self.high = np.minimum(
            self.high, np.floor(np.clip(top, -1, _MOST_RECORDS) + 1e-9).astype(np.int64)
        )
        self.low = np.maximum(
            self.low, np.ceil(np.clip(bottom, 0, _MOST_RECORDS) - 1e-9).astype(np.int64)
        )

    def enumerated(self, leaf: int) -> Bounds | bool | None:
        """Count out what fits a leaf: bounds of its total, having tightened those of its pairs; True if too many do, None if nothing."""
        mine = self.leaf == leaf
        open_pairs = np.flatnonzero(mine & (self.high > self.low))
        if len(open_pairs) > _MOST_OPEN:
            return True
        sure = mine & (self.high == self.low)
        remaining = float(self.cover[leaf] - (self.weight[sure] * self.low[sure]).sum())
        open_pairs = open_pairs[np.argsort(-self.weight[open_pairs])]
        weight, low, high = self.weight[open_pairs], self.low[open_pairs], self.high[open_pairs]
        rest_low = np.append(np.cumsum((weight * low)[::-1])[::-1][1:], 0.0)
        rest_high = np.append(np.cumsum((weight * high)[::-1])[::-1][1:], 0.0)
        rows, sums = np.zeros((1, 0), dtype=np.int64), np.zeros(1)
        for k in range(len(open_pairs)):
            span = int(high[k] - low[k]) + 1
            if span * len(rows) > 10 * _MOST_ROWS:
                return True
            numbers = np.arange(low[k], high[k] + 1)
            sums = (sums[:, None] + weight[k] * numbers).ravel()
            fits = sums + rest_low[k] <= remaining + self.slack[leaf]
            fits &= sums + rest_high[k] >= remaining - self.slack[leaf]
            row, number = np.divmod(np.flatnonzero(fits), span)
            rows, sums = np.column_stack([rows[row], numbers[number]]), sums[fits]
            if len(rows) > _MOST_ROWS:
                return True
        if not len(rows):
            return None
        self.low[open_pairs], self.high[open_pairs] = rows.min(axis=0), rows.max(axis=0)
        totals = rows.sum(axis=1) + int(self.low[sure].sum())
        return np.array(totals.min()), np.array(totals.max())

    def totals(self) -> Bounds:
        """Bounds of the records of each leaf: what is not yet certain all of the lightest, or all of the heaviest cells."""
        n = len(self.cover)
        low, high = np.bincount(self.leaf, self.low, n), np.bincount(self.leaf, self.high, n)
        remaining = self.cover - np.bincount(self.leaf, self.weight * self.low, n)
        open_pairs = self.high > self.low
        lightest, heaviest = np.full(n, np.inf), np.full(n, 1e-300)
        np.minimum.at(lightest, self.leaf[open_pairs], self.weight[open_pairs])
        np.maximum.at(heaviest, self.leaf[open_pairs], self.weight[open_pairs])
        closed = ~np.isfinite(lightest)
        max_records = np.minimum(high, low + np.floor((remaining + self.slack) / lightest + 1e-9))
        min_records = np.where(
            closed,
            low,
            low + np.ceil((remaining - self.slack) / np.where(closed, 1.0, heaviest) - 1e-9),
        )
        return np.maximum(low, min_records).astype(np.int64), max_records.astype(np.int64)


def _solve_bounds(
    derivatives: Floats, cells: _Cells, cover: Floats, cell: Whole, leaf: Whole
) -> tuple[Bounds, Bounds] | None:
    """Bounds of the records of each leaf, and of each pair of a cell and a leaf; None where no whole numbers fit."""
    if not (
        np.isfinite(cover).all()
        and (cover >= 0).all()
        and np.isfinite(derivatives).all()
        and (derivatives > 0).all()
    ):
        return None
    slack = _ROUNDING * cover + 1e-9
    total = float(cover.sum())
    min_total, max_total = (
        float(derivatives @ cells.min_records),
        float(derivatives @ cells.max_records),
    )
    if not min_total - slack.sum() <= total <= max_total + slack.sum() or len(
        np.unique(leaf)
    ) < len(cover):
        return None
    nobody = np.zeros(len(cell), dtype=np.int64)
    equations = _Equations(
        derivatives[cell],
        cell,
        leaf,
        cover,
        slack,
        cells.min_records,
        cells.max_records,
        nobody,
        cells.max_records[cell],
    )
    if not equations.propagate():
        return None
    exact: dict[int, Bounds] = {}
    for _ in range(3):
        before = int((equations.high - equations.low).sum())
        for b in np.argsort(cover, kind="stable").tolist():
            mine = leaf == b
            if (equations.high[mine] == equations.low[mine]).all():
                continue
            bounds = equations.enumerated(b)
            if bounds is None:
                return None
            if isinstance(bounds, tuple):
                exact[b] = bounds
        if not equations.propagate():
            return None
        if int((equations.high - equations.low).sum()) in (0, before):
            break
    min_records, max_records = equations.totals()
    for b, (low, high) in exact.items():
        min_records[b], max_records[b] = max(min_records[b], low), min(max_records[b], high)
    return (
        None
        if (min_records > max_records).any()
        else ((min_records, max_records), (equations.low, equations.high))
    )


def law_of(
    objective: str,
    base: Any,
    outputs: Sequence[int],
    rounds: Sequence[int],
    *,
    max_delta_step: float = 0.7,
    sums: bool = True,
) -> CoverLaw | None:
    """Return the law of an objective with its base score as a file writes it; None where it is not known or makes no sense."""
    if objective not in COVER_LAWS:
        return None
    scores = np.atleast_1d(np.asarray(base, dtype=np.float64))
    n = max(outputs, default=0) + 1
    scores = np.repeat(scores, n) if len(scores) == 1 else scores
    if objective in ("binary:logistic", "reg:logistic"):
        if not ((scores > 0) & (scores < 1)).all():
            return None
        scores = np.log(scores / (1 - scores))
    elif objective == "count:poisson":
        if not (scores > 0).all():
            return None
        scores = np.log(scores)
    if len(scores) != n or not np.isfinite(scores).all():
        return None
    return CoverLaw(
        objective, tuple(scores.tolist()), tuple(outputs), tuple(rounds), max_delta_step, sums
    )
