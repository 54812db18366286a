"""From noisy tables to distributions and models: nothing negative, totals kept, overlapping tables made to agree, noise held back where a model explains as much. Post-processing only.

Tables that share columns tell the same sums twice, each with its own noise. Their best common estimate is the mean weighted by
precision; spreading the difference evenly over the cells that make up a sum moves the table least. Shared sets are taken
from small to large, closed under intersection, so a later step never undoes an earlier one (Barak et al. 2007; Qardaji, Yang and Li,
PriView, SIGMOD 2014).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from math import prod

import numpy as np
from numpy.typing import NDArray

from ..counts.marginal import Marginal, mutual_information
from ..privacy.counter import NoisyTable
from ..table.schema import Schema
from ..table.table import Origin
from .bayesnet.model import BayesNetModel, FitSummary
from .bayesnet.network import Network
from .bayesnet.tables import ConditionalTable, table_from_marginal

MOST_SHARED = 4_000

_ROUNDS = 3

SIGMAS = np.geomspace(1e-2, 1e7, 46)

Counts = NDArray[np.float64]

Target = tuple[tuple[int, ...], Counts]
"""Axes of a table, ascending, and what its sums over all others should be."""


def private_model(
    schema: Schema,
    order: Sequence[int],
    parents: Sequence[Sequence[int]],
    tables: Sequence[Marginal],
    summary: FitSummary,
    *,
    uniform: bool = False,
    origin: Origin | None = None,
) -> BayesNetModel:
    """Return the model of a structure and of tables that hold its families, with the account of what was spent.

    Each column's table is summed from the smallest given table that has it and its parents, strongest parent first. A combination of
    parents without weight has the distribution of fewer parents; `uniform` makes it even instead. `summary` holds the account and
    what the method says of itself; what can be read off the tables is filled in here.
    """
    assert summary.privacy is not None
    names = schema.names
    conditionals: list[ConditionalTable] = []
    strengths: list[float] = []
    fitness = 0.0
    for child, chosen in zip(order, parents, strict=True):
        wanted = {names[child], *(names[p] for p in chosen)}
        source = min((m for m in tables if wanted <= set(m.columns)), key=lambda m: m.n_cells)
        information = {
            p: mutual_information(source.project((names[p], names[child]))) for p in chosen
        }
        strongest = sorted(chosen, key=lambda p: (-information[p], p))
        joint = source.project((*(names[p] for p in strongest), names[child]))
        fitness += mutual_information(joint) if chosen else 0.0
        strengths += [information[p] for p in strongest]
        conditionals.append(
            table_from_marginal(_fill_empty_rows(joint) if uniform else joint, smoothing=0.0)
        )
    network = Network(
        tuple(names[i] for i in order), tuple(table.parents for table in conditionals)
    )
    fitted = replace(
        summary,
        fitness=fitness,
        strengths=tuple(strengths),
        n_rows=summary.privacy.rows,
        parents=summary.parents or network.most_parents,
    )
    return BayesNetModel(schema, network, tuple(conditionals), fitted, origin)


def _fill_empty_rows(joint: Marginal) -> Marginal:
    """The table with a trace of weight, the same everywhere, in the rows that have none."""
    counts = np.asarray(joint.dense(), dtype=np.float64).copy()
    empty = counts.sum(axis=-1) <= 0
    counts[empty] = 1e-9
    return Marginal(joint.columns, joint.sizes, counts)


def agree(tables: Sequence[NoisyTable]) -> list[Marginal]:
    """Return tables without negative counts that agree with each other as nearly as that allows, in the order given."""
    estimates = [np.asarray(table.counts, dtype=np.float64) for table in tables]
    for _ in range(_ROUNDS):
        estimates = consistent(tables, estimates)
        estimates = [nonnegative(counts) for counts in estimates]
    return [
        Marginal(t.columns, t.sizes, counts) for t, counts in zip(tables, estimates, strict=True)
    ]


def clip(tables: Sequence[NoisyTable]) -> list[Marginal]:
    """Return tables with negative counts set to 0, one by one: what other implementations do."""
    return [
        Marginal(t.columns, t.sizes, np.maximum(t.counts, 0).astype(np.float64)) for t in tables
    ]


def consistent(tables: Sequence[NoisyTable], estimates: Sequence[Counts]) -> list[Counts]:
    """Return the tables with equal sums on all columns they share (the grand total among them)."""
    out = [counts.copy() for counts in estimates]
    sets = [frozenset(table.columns) for table in tables]
    for shared in _shared_sets(sets):
        members = [i for i, columns in enumerate(sets) if shared <= columns]
        if len(members) < 2:
            continue
        order = sorted(shared)
        sums, weights = [], []
        for i in members:
            sums.append(_project(out[i], tables[i].columns, order))
            spread = tables[i].n_cells / max(prod(sums[-1].shape), 1)
            weights.append(1.0 / (max(tables[i].std, 1e-9) ** 2 * spread))
        mean = sum(w * s for w, s in zip(weights, sums, strict=True)) / sum(weights)
        for i, total in zip(members, sums, strict=True):
            spread = tables[i].n_cells / max(prod(total.shape), 1)
            out[i] += _broadcast((mean - total) / spread, order, tables[i].columns)
    return out


def nonnegative(counts: Counts) -> Counts:
    """Return the nearest table without negative counts of the same total: what the others have too much is taken from all alike.

    The Euclidean projection on counts >= 0 of a given sum. A total of 0 or less gives zeros.

    Examples
    --------
    >>> nonnegative(np.array([5.0, -1.0, 2.0])).tolist()
    [4.5, 0.0, 1.5]
    """
    total = float(counts.sum())
    if total <= 0:
        return np.zeros_like(counts)
    if counts.min() >= 0:
        return counts
    flat = np.sort(counts, axis=None)[::-1]
    over = (np.cumsum(flat) - total) / np.arange(1, flat.size + 1)
    last = int(np.flatnonzero(flat > over)[-1])
    return np.asarray(np.maximum(counts - over[last], 0.0))


def _shared_sets(sets: Sequence[frozenset[str]]) -> list[frozenset[str]]:
    """Every set of columns that two tables share, and what these share again, small ones first; single columns if too many."""
    shared = {frozenset[str]()} | {a & b for a, b in combinations(sets, 2)}
    new = set(shared)
    while new and len(shared) <= MOST_SHARED:
        new = {a & b for a in new for b in shared} - shared
        shared |= new
    if len(shared) > MOST_SHARED:
        shared = {frozenset[str](), *(frozenset({name}) for columns in sets for name in columns)}
    return sorted(shared, key=lambda s: (len(s), sorted(s)))


def _project(counts: Counts, columns: Sequence[str], onto: Sequence[str]) -> Counts:
    """The sums of a table over all columns but some, axes in the order of `onto`."""
    summed_axes = tuple(a for a, name in enumerate(columns) if name not in onto)
    shared = [name for name in columns if name in onto]
    return np.asarray(counts.sum(axis=summed_axes)).transpose([shared.index(name) for name in onto])


def _broadcast(sums: Counts, order: Sequence[str], columns: Sequence[str]) -> Counts:
    """An array of sums laid out so that it can be added to a table of more columns."""
    shared = [name for name in columns if name in order]
    laid = sums.transpose([order.index(name) for name in shared])
    return laid.reshape(
        [laid.shape[shared.index(name)] if name in shared else 1 for name in columns]
    )


def margins_of(tables: Sequence[Counts], stds: Sequence[float]) -> tuple[list[Counts], float]:
    """Return single columns without negative counts, all of one total: the mean of their totals, weighted by precision."""
    precisions = [
        1 / max(table.size * std**2, 1e-300) for table, std in zip(tables, stds, strict=True)
    ]
    total = sum(p * float(table.sum()) for p, table in zip(precisions, tables, strict=True)) / sum(
        precisions
    )
    total = max(total, 1.0)
    return [of_total(table, total) for table in tables], total


def of_total(table: Counts, total: float) -> Counts:
    """Return the nearest table without negative counts that has a total."""
    shifted = nonnegative(table + (total - table.sum()) / table.size)
    return shifted if shifted.sum() > 0 else np.full_like(table, total / table.size)


def rake(table: Counts, targets: Sequence[Target], *, rounds: int) -> Counts:
    """Return the table nearest to a start (in relative entropy) with given sums, by iterative proportional fitting."""
    out = table
    for _ in range(rounds):
        for axes, target in targets:
            summed_axes = tuple(a for a in range(out.ndim) if a not in axes)
            sums = out.sum(axis=summed_axes)
            factor = np.divide(target, sums, out=np.zeros_like(sums), where=sums > 0)
            out = out * factor.reshape([out.shape[a] if a in axes else 1 for a in range(out.ndim)])
    return out


def error_curve(model: Counts) -> NDArray[np.float64]:
    """Return the expected half L1 error of measuring a table, at each of `SIGMAS`: a cell cannot be wrong by more than it holds."""
    flat = np.sort(model, axis=None)
    sums = np.concatenate([[0.0], np.cumsum(flat)])
    below = np.searchsorted(flat, SIGMAS)
    return np.asarray(0.4 * (sums[below] + SIGMAS * (flat.size - below)))


def error_at(curve: NDArray[np.float64], sigma: float) -> float:
    """Return the expected error at a standard deviation."""
    return float(np.interp(np.log(sigma), np.log(SIGMAS), curve))


def conditional_target(estimate: Counts, parents: Counts, child: Counts) -> Counts:
    """Return sums over (parents, child) that have the estimate's conditional distributions and the sums of parents.

    Where the estimate has no weight for a combination of parents, the child is as in its own distribution.
    """
    rows = estimate.sum(axis=-1, keepdims=True)
    share = child / max(float(child.sum()), 1e-300)
    conditional = np.where(rows > 0, estimate / np.maximum(rows, 1e-300), share)
    return np.asarray(conditional * parents[..., None])


def product_of(clique: Sequence[int], margins: Sequence[Counts], total: float) -> Counts:
    """Return the table of independent columns, in records."""
    out = np.asarray(total)
    for c in clique:
        out = out[..., None] * (margins[c] / total)
    return out


def column_noise(
    clique: Sequence[int], model: Counts, margins: Sequence[Counts], stds: Sequence[float]
) -> float:
    """Return how far from their model independent columns would seem to be, because it is made of noisy ones: half an L1 distance."""
    squared = np.zeros_like(model)
    for axis, c in enumerate(clique):
        shape = [-1 if a == axis else 1 for a in range(len(clique))]
        counts = np.maximum(
            margins[c], stds[c]
        )  # a cell is not wrong by more than it holds, or may hold
        squared += (model * (stds[c] / counts).reshape(shape)) ** 2
    return float(0.4 * np.sqrt(squared).sum())


def cells_of(sizes: Sequence[int], columns: Sequence[int]) -> int:
    """Return the number of cells of a table over some columns."""
    return prod(sizes[c] for c in columns)
