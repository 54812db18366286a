"""From the data to tables of groups, through the private counter; and from noisy tables to those rows are drawn from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...counts.marginal import Marginal
from ...privacy.counter import NoisyTable, PrivateCounter
from ..bayesnet.private.estimate import margins_of
from ..bayesnet.private.shares import single_columns
from ..noisy import nonnegative
from .groups import Group, chance_distance, clear_of, merged_groups, threshold_of
from .split import GroupSplit

Empty = Literal["columns", "first"]
Margin = NDArray[np.float64]

SPARSE = 1 << 12
"""Cells beyond which the cells that are left after the threshold are kept as a list."""


def measured_columns(
    counter: PrivateCounter, split: GroupSplit
) -> tuple[list[Margin], list[float]]:
    """Return all single columns, without negative counts and of one total of at least 1; and the deviations of their noise."""
    noisy = single_columns(counter, split.columns, why="groups")
    stds = [table.std for table in noisy]
    margins, _ = margins_of([table.counts.astype(np.float64) for table in noisy], stds)
    return margins, stds


def learnt_groups(
    counter: PrivateCounter,
    split: GroupSplit,
    margins: Sequence[Margin],
    stds: Sequence[float],
    *,
    factor: float,
) -> tuple[Group, ...]:
    """Return groups learnt from one query: how far each pair is from the product of its noisy columns, beyond what chance does."""
    names = counter.schema.names
    total = float(margins[0].sum())
    chance: list[float] = []

    def models() -> Iterator[Margin]:
        for i, j in split.pairs:
            model = np.outer(margins[i], margins[j]) / total
            chance.append(chance_distance(model, (stds[i], stds[j])))
            yield model

    cliques = [(names[i], names[j]) for i, j in split.pairs]
    distances, std = counter.distances(
        cliques, models(), split.distances * (1 - 1e-12), why="groups"
    )
    merged = merged_groups(
        split.pairs,
        distances - np.array(chance),
        clear_of(len(split.pairs), std / 2**0.5),
        margins,
        epsilon=counter.ledger.left,
        l1=counter.unit.l1,
        factor=factor,
    )
    return tuple(tuple(names[c] for c in group) for group in merged)


def cut(counts: NDArray[np.int64], threshold: float) -> NDArray[np.int64]:
    """Return counts with those below a threshold set to 0; never a negative one.

    Examples
    --------
    >>> cut(np.array([-3, 4, 5, 9]), 5.0).tolist()
    [0, 0, 5, 9]
    """
    return np.where((counts >= threshold) & (counts > 0), counts, 0)


def tables_of(
    noisy: Sequence[NoisyTable],
    scale: float,
    *,
    factor: float,
    empty: Empty,
    columns: dict[str, Margin],
) -> tuple[list[Marginal], list[bool]]:
    """Return the tables that rows are drawn from, and for each group whether its columns hang together in them.

    A group with nothing above the threshold has a table for each of its columns instead: its released single column (`columns`,
    measured for learning) or else what its noisy table adds up to, even if that is nothing; "first": all in the first
    level, as published.
    """
    out: list[Marginal] = []
    whole: list[bool] = []
    for table in noisy:
        counts = cut(table.counts, threshold_of(table.n_cells, scale, factor))
        whole.append(bool(counts.any()))
        if whole[-1]:
            out += _prefixes(_marginal(table, counts))
        elif empty == "first":
            out += [
                _single(name, _first(size))
                for name, size in zip(table.columns, table.sizes, strict=True)
            ]
        else:
            for axis, name in enumerate(table.columns):
                known = columns.get(name)
                out.append(_single(name, _summed(table, axis) if known is None else known))
    return out, whole


def _marginal(table: NoisyTable, left: NDArray[np.int64]) -> Marginal:
    """The cells that are left: dense if the table is small, else those above 0 in a list. Weights are floats: their sums cannot overflow."""
    dense = Marginal(table.columns, table.sizes, left.astype(np.float64))
    if table.n_cells <= SPARSE:
        return dense
    cells, counts = dense.nonzero()
    return Marginal(table.columns, table.sizes, counts, cells)


def _prefixes(marginal: Marginal) -> list[Marginal]:
    """The table and its sums over the last columns, so that each column of the chain finds a table of just what it needs."""
    out = [marginal]
    while len(out[-1].columns) > 1:
        out.append(out[-1].project(out[-1].columns[:-1]))
    return out


def _single(name: str, counts: Margin) -> Marginal:
    return Marginal((name,), counts.shape, counts.astype(np.float64))


def _first(size: int) -> Margin:
    """All weight on the first level."""
    out = np.zeros(size)
    out[0] = 1.0
    return out


def _summed(table: NoisyTable, axis: int) -> Margin:
    """A column of a noisy table: the sums over the others, without negative counts; all alike if nothing is left."""
    others = tuple(a for a in range(len(table.sizes)) if a != axis)
    sums = nonnegative(np.asarray(table.counts.sum(axis=others, dtype=np.float64)))
    return sums if sums.sum() > 0 else np.ones(table.sizes[axis])
