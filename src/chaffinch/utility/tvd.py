"""Total variation distance: how far marginals of a synthetic table lie from the original's.

A distance between shares, so tables may differ in size. It is not corrected for chance: two samples of one population do not
score 0, and the more cells a marginal has for its records the further apart they lie. A holdout measured in place of the synthetic
table says how far that is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import comb, prod, sqrt
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._base.arrays import Floats
from .._base.checks import check_name, check_whole
from .._base.errors import InputError
from .._base.results import plain_form
from .._base.seeds import Seed, generator
from ..counts.marginal import Marginal, SparseCounts
from ..counts.tally import DENSE_CELLS
from ..stats.intervals import Interval, jackknife
from ..stats.pair import TablePair, pair_up
from ..table.groups import GROUPS
from ..table.rows import Rows
from .marginals import Clique, in_batches, shares_of_groups, too_few_records
from .metric import METRICS, Distance, Metric, UtilityRun

MOST = 5_000
"""Cliques that are compared; where there are more, so many are drawn. All triples of 32 columns."""

INTERVAL_CLIQUES = 128
"""Cliques from which the interval is worked out; where there are more, so many are drawn, always the same."""

SHOWN = 20
"""Cliques that a result lists, the furthest first."""


@dataclass(frozen=True)
class CliqueDistance:
    """Some columns and how far their marginals lie apart."""

    columns: Clique
    value: float


@dataclass(frozen=True, kw_only=True, repr=False)
class MarginalDistance(Distance):
    """Total variation distance of marginals, mean and worst: 0 the same shares in every cell, 1 no cell in common.

    `cliques` of `total_cliques` column sets were compared; `largest` are those that lie furthest apart, at most 20.
    """

    name: ClassVar[str] = "tvd"

    worst: float = 0.0
    cliques: int = 0
    total_cliques: int = field(default=0, metadata=plain_form(key="of"))
    largest: tuple[CliqueDistance, ...] = ()

    @property
    def worst_columns(self) -> Clique:
        """The columns whose marginals lie furthest apart."""
        return self.largest[0].columns if self.largest else ()

    def details(self) -> dict[str, Any]:
        """Return mean, worst, how many were compared, and the columns that lie furthest apart."""
        plain = super().details()
        return {
            "mean": self.value,
            "worst": plain.pop("worst"),
            "worst_columns": list(self.worst_columns),
            **plain,
        }


def total_variation(p: Floats, q: Floats) -> float:
    """Return half the summed absolute difference of two distributions: 0 same, 1 disjoint.

    Examples
    --------
    >>> total_variation(np.array([0.5, 0.5]), np.array([1.0, 0.0]))
    0.5
    """
    return min(1.0, 0.5 * float(np.abs(p - q).sum()))


def marginal_distance(
    original: Rows,
    synthetic: Any,
    *,
    width: int = 2,
    max_cliques: int = MOST,
    cliques: Sequence[Sequence[str]] | None = None,
    seed: Seed = None,
) -> MarginalDistance:
    """Return the mean total variation distance of all marginals of `width` columns, or of those named: 0 the same, 1 no cell in common.

    Parameters
    ----------
    width
        How many columns a marginal has.
    max_cliques
        Column sets that are compared at most. Where there are more, this many are drawn at random, each set as likely as any other, none twice.
    cliques
        Column sets to compare, in the place of all of a width.

    Examples
    --------
    >>> import pyarrow as pa, chaffinch
    >>> first = chaffinch.read(pa.table({"a": ["x", "y"] * 50, "b": ["p", "q"] * 50}))
    >>> second = pa.table({"a": ["x", "y"] * 50, "b": ["p"] * 50 + ["q"] * 50})
    >>> marginal_distance(first, second, width=1).value, marginal_distance(first, second, width=2).value
    (0.0, 0.5)
    """
    for what, number in (("width", width), ("max_cliques", max_cliques)):
        check_whole(what, number, 1, type_=Integral)
    pair = pair_up(original, synthetic)
    settings: dict[str, Any] = {"width": int(width), "most": int(max_cliques)}
    if cliques is not None:
        return _of_cliques(pair, [tuple(clique) for clique in cliques])
    if width > len(pair.names):
        why = f"a {width}-way marginal needs {width} columns; the tables have {len(pair.names)}"
        return MarginalDistance(value=None, reason=why, settings=settings)
    n_column_sets = comb(len(pair.names), width)
    chosen = chosen_cliques(pair.names, int(width), int(max_cliques), generator(seed))
    settings["cliques"] = (
        "all"
        if len(chosen) == n_column_sets
        else f"{len(chosen):,} of {n_column_sets:,}, drawn at random"
    )
    return _compare_cliques(pair, chosen, n_column_sets, settings)


def _of_cliques(pair: TablePair, cliques: list[Clique]) -> MarginalDistance:
    """Return the mean distance of marginals that somebody named."""
    for name in (name for clique in cliques for name in clique):
        check_name("column", name, pair.names)
    if not cliques or not all(cliques):
        raise InputError("Name at least one set of columns, as [('age', 'sex')].")
    return _compare_cliques(pair, cliques, len(cliques), {"cliques": "named"})


def _compare_cliques(
    pair: TablePair, cliques: list[Clique], n_column_sets: int, settings: dict[str, Any]
) -> MarginalDistance:
    distances = np.concatenate([_distances(pair, batch) for batch in in_batches(pair, cliques)])
    value = float(distances.mean())
    interval, covers = _interval(pair, cliques, distances, n_column_sets)
    settings = {
        **{name: word for name, word in settings.items() if name != "cliques"},
        "interval": covers,
        "cliques": settings["cliques"],
    }
    order = np.argsort(-distances, kind="stable")[:SHOWN]
    return MarginalDistance(
        value=value,
        interval=interval,
        worst=float(distances.max()),
        cliques=len(cliques),
        total_cliques=n_column_sets,
        largest=tuple(CliqueDistance(cliques[i], float(distances[i])) for i in order),
        settings=settings,
    )


def chosen_cliques(
    names: Sequence[str], width: int, max_cliques: int, rng: np.random.Generator
) -> list[Clique]:
    """Return all column sets of a width, or `max_cliques` drawn uniformly without replacement, in the order of the columns."""
    n_column_sets = comb(len(names), width)
    if n_column_sets <= 10 * max_cliques:
        cliques = list(combinations(names, width))
        return (
            cliques
            if n_column_sets <= max_cliques
            else [
                cliques[i] for i in np.sort(rng.choice(n_column_sets, max_cliques, replace=False))
            ]
        )
    drawn: set[tuple[int, ...]] = set()  # far more sets than are drawn: few draws come twice
    while len(drawn) < max_cliques:
        drawn.add(tuple(sorted(rng.choice(len(names), width, replace=False).tolist())))
    return [tuple(names[j] for j in clique) for clique in sorted(drawn)]


def _distances(pair: TablePair, cliques: Sequence[Clique]) -> Floats:
    first, second = pair.totals
    return np.array(
        [distance_of(a, b, first, second) for a, b in zip(*pair.marginals(cliques), strict=True)]
    )


def distance_of(ours: Marginal, theirs: Marginal, first: float, second: float) -> float:
    """Return the total variation distance of two marginals of one shape, dense or sparse."""
    if ours.cells is None and theirs.cells is None:
        return total_variation(ours.counts / first, theirs.counts / second)
    difference = SparseCounts(ours.sizes, weighted=True)
    for marginal, n in ((ours, first), (theirs, -second)):
        cells, counts = marginal.nonzero()
        difference.add([cells[:, a] for a in range(cells.shape[1])], counts / n)
    return min(1.0, 0.5 * float(np.abs(difference.counts).sum()))


def _interval(
    pair: TablePair, cliques: list[Clique], distances: Floats, n_column_sets: int
) -> tuple[Interval | None, str]:
    """Return the interval of the mean distance, and what it is made of."""
    if lacking := too_few_records(pair):
        return None, lacking
    indices = np.arange(len(cliques))
    covers = f"jackknife over {GROUPS} groups of records of both tables; of the mean, not corrected for chance"
    if len(cliques) > INTERVAL_CLIQUES:
        indices = np.sort(generator(0).choice(len(cliques), INTERVAL_CLIQUES, replace=False))
        covers += f"; from {INTERVAL_CLIQUES} of the column sets"
    chosen = [cliques[i] for i in indices]
    without = np.zeros(GROUPS)
    for batch in in_batches(pair, chosen, groups=GROUPS):
        without += _without_groups(pair, batch) / len(chosen)
    value = float(distances.mean())
    low, high = jackknife(value, without)
    half = (high - low) / 2
    if len(cliques) < n_column_sets:
        drawn = (
            float(distances.var(ddof=1)) / len(cliques) * (1 - len(cliques) / n_column_sets)
            if len(cliques) > 1
            else np.inf
        )
        half = sqrt(half**2 + 1.96**2 * drawn)
        covers += "; widened for the draw of column sets"
    return (max(0.0, value - half), min(1.0, value + half)), covers


def _without_groups(pair: TablePair, cliques: Sequence[Clique]) -> Floats:
    """Return the summed distance of cliques without each group of records in turn."""
    sizes = pair.sizes
    dense = [c for c in cliques if GROUPS * prod(sizes[name] for name in c) <= DENSE_CELLS]
    small = set(dense)
    sums = np.zeros(GROUPS)
    for first, second in zip(*pair.grouped(dense), strict=True):
        _, (p, q) = shares_of_groups(first.reshape(GROUPS, -1), second.reshape(GROUPS, -1))
        sums += 0.5 * np.abs(p - q).sum(axis=1)
    for clique in cliques:
        if clique in small:
            continue
        sums += _without_groups_of_many(pair, clique)
    return sums


def _without_groups_of_many(pair: TablePair, clique: Clique) -> Floats:
    """Return the same for a clique with more cells than an array should have: a cell for each combination that occurs."""
    filled = [
        marginals[0].nonzero() for marginals in pair.marginals_of_groups([clique], dense_cells=0)
    ]
    ids = np.zeros(sum(len(counts) for _, counts in filled), dtype=np.int64)
    domain = 1
    for axis, name in enumerate(clique, start=1):
        size = pair.schema[name].size
        if domain * size >= 1 << 63:
            domain, ids = _number_ids(ids)
        domain *= size
        ids = ids * size + np.concatenate([cells[:, axis] for cells, _ in filled])
    cells, ids = _number_ids(ids)
    parts = np.split(ids, [len(filled[0][1])])
    groups = [by_cell[:, 0] for by_cell, _ in filled]
    weights = [counts.astype(np.float64) for _, counts in filled]
    totals = [
        np.bincount(cell_ids, weight, minlength=cells)
        for cell_ids, weight in zip(parts, weights, strict=True)
    ]
    distances = np.zeros(GROUPS)
    for g in range(GROUPS):
        p, q = (
            (total - np.bincount(cell_ids[group == g], weight[group == g], minlength=cells))
            / weight[group != g].sum()
            for total, cell_ids, group, weight in zip(totals, parts, groups, weights, strict=True)
        )
        distances[g] = total_variation(p, q)
    return distances


def _number_ids(ids: NDArray[np.int64]) -> tuple[int, NDArray[np.int64]]:
    """Return how many distinct ids there are, and the ids numbered from 0."""
    distinct, numbers = np.unique(ids, return_inverse=True)
    return len(distinct), numbers.astype(np.int64)


def _metric(width: int, what: str, each: str, limits: tuple[float, float, float]) -> Metric:
    def measure(run: UtilityRun, side: str) -> MarginalDistance:
        return marginal_distance(run.original, run.tables[side], width=width, seed=run.seed)

    return Metric(
        name=f"tvd.{width}",
        kind=MarginalDistance,
        measure=measure,
        counted=True,
        doing=f"comparing {width}-way marginals",
        choice="tvd",
        members="widths",
        number=5,
        group="columns" if width == 1 else "relations",
        title=f"Distance of {width}-way tables (TVD)",
        question=f"Do {what} hold the same shares?",
        definition=f"Half the summed absolute difference of the shares of all cells of {each}, averaged over {what} (sampled where many).",
        source="Total variation distance",
        phrases=(
            f"Tables of {what} hold almost the same shares as in the original",
            f"Tables of {what} hold roughly the same shares as in the original",
            f"Tables of {what} hold clearly other shares than in the original",
            f"Tables of {what} hold quite other shares than in the original",
        ),
        detail=f"on average {{percent}} of the records would have to move to make {each} equal",
        limits=limits,
        scaled=width > 1,
    )


METRICS.register(_metric(1, "single columns", "a column", (0.03, 0.07, 0.15)))
METRICS.register(_metric(2, "pairs of columns", "a table of two columns", (0.05, 0.12, 0.25)))
METRICS.register(_metric(3, "triples of columns", "a table of three columns", (0.08, 0.18, 0.35)))
