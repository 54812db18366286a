"""How far marginals of a synthetic table lie from the original's: Jensen-Shannon by column, total variation by clique.

Both are distances between shares, so tables may differ in size. Neither is corrected for chance: two samples of one
population do not score 0, and the more cells a marginal has for its records the further apart they lie. A holdout
measured in place of the synthetic table says how far that is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import comb, prod, sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._base.errors import InputError
from .._base.seeds import Seed, generator
from ..counts.marginal import Marginal
from ..counts.sparse import SparseCounts
from ..counts.tally import DENSE_CELLS
from ..stats.intervals import Interval, jackknife
from ..stats.pair import GROUPS, Pair, deal, pair_up
from ..stats.result import Direction, Result
from ..table.table import Table

__all__ = ["JensenShannon", "MarginalDistance", "in_batches", "jensen_shannon", "marginal_distance", "total_variation"]

MOST = 5_000
"""Cliques that are compared; where there are more, so many are drawn. All triples of 32 columns."""

INTERVAL_CLIQUES = 128
"""Cliques from which the interval is worked out; where there are more, so many are drawn, always the same."""

SHOWN = 20
"""Cliques that a result lists, the furthest first."""

BATCH_CELLS = 1 << 23
"""Cells held at once for each table: 64 MiB."""

Array = NDArray[np.float64]
Clique = tuple[str, ...]


@dataclass(frozen=True, kw_only=True, repr=False)
class JensenShannon(Result):
    """Jensen-Shannon distance in base 2 of each column, and their mean: 0 the same shares, 1 no level in common."""

    name: ClassVar[str] = "jensen_shannon"
    direction: ClassVar[Direction] = "lower is better"
    identical: ClassVar[float] = 0.0

    per_column: Mapping[str, float] = field(default_factory=dict)

    def details(self) -> dict[str, Any]:
        """Return the mean and the distance of each column."""
        return {"mean": self.value, "per_column": dict(self.per_column)}


@dataclass(frozen=True, kw_only=True, repr=False)
class MarginalDistance(Result):
    """Total variation distance of marginals, mean and worst: 0 the same shares in every cell, 1 no cell in common.

    `cliques` of `of` column sets were compared; `largest` are those that lie furthest apart, at most 20.
    """

    name: ClassVar[str] = "tvd"
    direction: ClassVar[Direction] = "lower is better"
    identical: ClassVar[float] = 0.0

    worst: float = 0.0
    cliques: int = 0
    of: int = 0
    largest: tuple[tuple[Clique, float], ...] = ()

    @property
    def worst_columns(self) -> Clique:
        """The columns whose marginals lie furthest apart."""
        return self.largest[0][0] if self.largest else ()

    def details(self) -> dict[str, Any]:
        """Return mean, worst, how many were compared, and the columns that lie furthest apart."""
        return {
            "mean": self.value,
            "worst": self.worst,
            "worst_columns": list(self.worst_columns),
            "cliques": self.cliques,
            "of": self.of,
            "largest": [{"columns": list(clique), "value": value} for clique, value in self.largest],
        }


def total_variation(p: Array, q: Array) -> float:
    """Return half the summed absolute difference of two distributions: 0 same, 1 disjoint.

    Examples
    --------
    >>> total_variation(np.array([0.5, 0.5]), np.array([1.0, 0.0]))
    0.5
    """
    return min(1.0, 0.5 * float(np.abs(p - q).sum()))


def jensen_shannon(original: Table, synthetic: Any) -> JensenShannon:
    """Return the mean over columns of the Jensen-Shannon distance of their shares: 0 the same, 1 no level in common.

    The distance is the square root of the divergence in base 2. Levels and bins are the original's; missing values are
    levels; values that only the synthetic table has share one. Numbers are compared by bin.

    Examples
    --------
    >>> import pyarrow as pa, chaffinch
    >>> first = chaffinch.read(pa.table({"a": ["x", "y"] * 50, "b": ["p", "q"] * 50}))
    >>> second = pa.table({"a": ["x"] * 9 + ["y"], "b": ["p", "q"] * 5})
    >>> result = jensen_shannon(first, second)
    >>> {name: round(value, 8) for name, value in result.per_column.items()}
    {'a': 0.38313588, 'b': 0.0}
    """
    pair = pair_up(original, synthetic)
    dealt = [_dealt_shares(*both) for both in zip(*pair.grouped([(name,) for name in pair.names]), strict=True)]
    per_column = {name: float(_js(whole[0], whole[1])) for name, (whole, _) in zip(pair.names, dealt, strict=True)}
    value = float(np.mean(list(per_column.values())))
    interval, said = None, _too_few(pair)
    if not said:
        interval = jackknife(value, np.mean([_js(*without) for _, without in dealt], axis=0), low=0.0, high=1.0)
        said = f"jackknife over {GROUPS} groups of records of both tables; of the mean, not corrected for chance"
    settings = {"distance": "square root of the divergence, base 2", "interval": said}
    return JensenShannon(value=value, interval=interval, per_column=per_column, settings=settings)


def marginal_distance(
    original: Table, synthetic: Any, *, width: int = 2, most: int = MOST, seed: Seed = None
) -> MarginalDistance:
    """Return the mean total variation distance of all marginals of `width` columns: 0 the same, 1 no cell in common.

    Parameters
    ----------
    width
        How many columns a marginal has.
    most
        Above so many column sets, this many are drawn at random, each set as likely as any other, none twice.

    Examples
    --------
    >>> import pyarrow as pa, chaffinch
    >>> first = chaffinch.read(pa.table({"a": ["x", "y"] * 50, "b": ["p", "q"] * 50}))
    >>> second = pa.table({"a": ["x", "y"] * 50, "b": ["p"] * 50 + ["q"] * 50})
    >>> marginal_distance(first, second, width=1).value, marginal_distance(first, second, width=2).value
    (0.0, 0.5)
    """
    for what, number in (("width", width), ("most", most)):
        if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 1:
            raise InputError(f"{what} must be a whole number of at least 1. Got {number!r}.")
    pair = pair_up(original, synthetic)
    settings: dict[str, Any] = {"width": int(width), "most": int(most)}
    if width > len(pair.names):
        why = f"a {width}-way marginal needs {width} columns; the tables have {len(pair.names)}"
        return MarginalDistance(value=None, why_not=why, settings=settings)
    of = comb(len(pair.names), width)
    cliques = _chosen(pair.names, int(width), int(most), generator(seed))
    distances = np.concatenate([_distances(pair, batch) for batch in in_batches(pair, cliques)])
    value = float(distances.mean())
    interval, settings["interval"] = _interval(pair, cliques, distances, of)
    settings["cliques"] = "all" if len(cliques) == of else f"{len(cliques):,} of {of:,}, drawn at random"
    order = np.argsort(-distances, kind="stable")[:SHOWN]
    return MarginalDistance(
        value=value,
        interval=interval,
        worst=float(distances.max()),
        cliques=len(cliques),
        of=of,
        largest=tuple((cliques[i], float(distances[i])) for i in order),
        settings=settings,
    )


def _js(p: Array, q: Array) -> Array:
    """Return the Jensen-Shannon distance along the last axis, base 2."""
    from scipy.special import rel_entr

    middle = (p + q) / 2
    # Relative entropies to the middle, not a difference of entropies: exactly 0 where the shares are the same.
    divergence = (rel_entr(p, middle) + rel_entr(q, middle)).sum(axis=-1) / (2 * np.log(2.0))
    distance: Array = np.sqrt(np.clip(divergence, 0.0, 1.0))
    return distance


def _chosen(names: Sequence[str], width: int, most: int, rng: np.random.Generator) -> list[Clique]:
    """Return all column sets of a width, or so many drawn uniformly without replacement, in the order of the columns."""
    of = comb(len(names), width)
    if of <= 10 * most:
        every = list(combinations(names, width))
        return every if of <= most else [every[i] for i in np.sort(rng.choice(of, most, replace=False))]
    found: set[tuple[int, ...]] = set()  # far more sets than are drawn: few draws come twice
    while len(found) < most:
        found.add(tuple(sorted(rng.choice(len(names), width, replace=False).tolist())))
    return [tuple(names[j] for j in clique) for clique in sorted(found)]


def in_batches(pair: Pair, cliques: Sequence[Clique], *, groups: int = 1) -> Iterator[list[Clique]]:
    """Yield the cliques in runs whose marginals together stay small enough to hold, sparse ones too."""
    sizes = dict(zip(pair.names, pair.schema.sizes, strict=True))
    rows = max(table.n_rows for table in pair.tables)
    batch: list[Clique] = []
    held = 0
    for clique in cliques:
        cells = groups * prod(sizes[name] for name in clique)
        cells = cells if cells <= DENSE_CELLS else min(cells, rows * (len(clique) + 1))
        if batch and held + cells > BATCH_CELLS:
            yield batch
            batch, held = [], 0
        batch.append(clique)
        held += cells
    yield batch


def _distances(pair: Pair, cliques: Sequence[Clique]) -> Array:
    first, second = (table.n_rows for table in pair.tables)
    return np.array([_distance(a, b, first, second) for a, b in zip(*pair.marginals(cliques), strict=True)])


def _distance(ours: Marginal, theirs: Marginal, first: int, second: int) -> float:
    """Return the total variation distance of two marginals of one shape, dense or sparse."""
    if ours.cells is None and theirs.cells is None:
        return total_variation(ours.counts / first, theirs.counts / second)
    difference = SparseCounts(ours.sizes, weighted=True)
    for marginal, n in ((ours, first), (theirs, -second)):
        cells, counts = marginal.nonzero()
        difference.add([cells[:, a] for a in range(cells.shape[1])], counts / n)
    return min(1.0, 0.5 * float(np.abs(difference.counts).sum()))


def _too_few(pair: Pair) -> str:
    """Return why there is no interval for small tables; empty if there is one."""
    return f"none: a table has fewer than {GROUPS} records" if min(t.n_rows for t in pair.tables) < GROUPS else ""


def _interval(pair: Pair, cliques: list[Clique], distances: Array, of: int) -> tuple[Interval | None, str]:
    """Return the interval of the mean distance, and what it is made of."""
    if said := _too_few(pair):
        return None, said
    some = np.arange(len(cliques))
    said = f"jackknife over {GROUPS} groups of records of both tables; of the mean, not corrected for chance"
    if len(cliques) > INTERVAL_CLIQUES:
        some = np.sort(generator(0).choice(len(cliques), INTERVAL_CLIQUES, replace=False))
        said += f"; from {INTERVAL_CLIQUES} of the column sets"
    chosen = [cliques[i] for i in some]
    without = np.zeros(GROUPS)
    for batch in in_batches(pair, chosen, groups=GROUPS):
        without += _without_groups(pair, batch) / len(chosen)
    value = float(distances.mean())
    low, high = jackknife(value, without)
    half = (high - low) / 2
    if len(cliques) < of:
        drawn = float(distances.var(ddof=1)) / len(cliques) * (1 - len(cliques) / of) if len(cliques) > 1 else np.inf
        half = sqrt(half**2 + 1.96**2 * drawn)
        said += "; widened for the draw of column sets"
    return (max(0.0, value - half), min(1.0, value + half)), said


def _without_groups(pair: Pair, cliques: Sequence[Clique]) -> Array:
    """Return the summed distance of cliques without each group of records in turn."""
    sizes = dict(zip(pair.names, pair.schema.sizes, strict=True))
    dense = [c for c in cliques if GROUPS * prod(sizes[name] for name in c) <= DENSE_CELLS]
    held = set(dense)
    found = np.zeros(GROUPS)
    for first, second in zip(*pair.grouped(dense), strict=True):
        _, (p, q) = _dealt_shares(first.reshape(GROUPS, -1), second.reshape(GROUPS, -1))
        found += 0.5 * np.abs(p - q).sum(axis=1)
    for clique in cliques:
        if clique in held:
            continue
        found += _without_groups_of_many(pair, clique)
    return found


def _without_groups_of_many(pair: Pair, clique: Clique) -> Array:
    """Return the same for a clique with more cells than an array should have: a cell for each combination that occurs."""
    rows = [table.n_rows for table in pair.tables]
    ids = np.zeros(sum(rows), dtype=np.int64)
    domain = 1
    for name in clique:
        size = pair.schema[name].size
        if domain * size >= 1 << 63:
            domain, ids = _numbered(ids)
        domain *= size
        ids = ids * size + np.concatenate([table.code(name) for table in pair.tables])
    cells, ids = _numbered(ids)
    parts = np.split(ids, rows[:1])
    deals = [deal(n) for n in rows]
    totals = [np.bincount(part, minlength=cells) for part in parts]
    found = np.zeros(GROUPS)
    for g in range(GROUPS):
        p, q = (
            (total - np.bincount(part[deal == g], minlength=cells)) / (deal != g).sum()
            for total, part, deal in zip(totals, parts, deals, strict=True)
        )
        found[g] = total_variation(p, q)
    return found


def _numbered(ids: NDArray[np.int64]) -> tuple[int, NDArray[np.int64]]:
    """Return how many distinct ids there are, and the ids numbered from 0."""
    distinct, numbers = np.unique(ids, return_inverse=True)
    return len(distinct), numbers.astype(np.int64)


def _dealt_shares(first: NDArray[Any], second: NDArray[Any]) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Return the shares of both tables' cells, whole and without each group in turn."""
    whole, without = [], []
    for counts in (first, second):
        total = counts.sum(axis=0)
        left = total - counts
        whole.append(total / max(int(total.sum()), 1))
        without.append(left / np.maximum(left.sum(axis=1, keepdims=True), 1))
    return (whole[0], whole[1]), (without[0], without[1])
