"""Scores of many families (a child and its parents) at once, on counts: what a private search
selects from.

A score on counts has a sensitivity that hardly depends on the number of records. R and F are sums
of whole numbers, divided once. I is h(n) - sum h(r) - sum h(k) + sum h(c) with h(t) = t log t,
where each h is split into a part on a grid so coarse that its sums are exact and a small rest. So
no score depends on the order of rows or cells by more than a few roundings, and all engines agree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base.checks import check_at_least, check_name
from .._base.compiled import jit
from .._base.errors import InputError
from ..table.compare.classes import class_ids
from .code_entropies import (
    bump,
    count_log_count,
    in_threads,
    pad_sets,
    scratch,
    spread_of_sets,
    walk,
)
from .counter import Counter, MemoryCounter
from .entropies import batches
from .marginal import Marginal
from .plan import Columns

Family = tuple[int, Columns]
"""A child and its parents: positions among the modelled columns."""

MAX_ROWS = 1 << 31
"""Records up to which n^2 R fits in a 64-bit integer."""


def family_scores(
    counter: Counter, families: Sequence[Family], score: str, *, most_rows: int | None = None
) -> NDArray[np.float64]:
    """Return the score of each family on counts: n R, n F, or min(n, most_rows) I in nats.

    Of the dependence of child and parents, larger is stronger. R and I: 0 if independent or without
    parents. F, for a child of two levels: 0 at best, -n/2 at worst. An empty table scores 0.
    `most_rows` is for I; None stands for n.

    R and F are exact but for the rounding of the last division. The error of n I is below 2^-48 n
    log n for n up to 2^25: each h(t) has a relative error of at most 2^-51, each of the four sums
    of h is at most n log n, and adding up to n rests, each below 2^-50 n log n, loses less than n^2
    2^-102 n log n.

    Examples
    --------
    >>> import pyarrow as pa, chaffinch
    >>> table = chaffinch.read(pa.table({"a": ["x", "y"] * 30, "b": ["x", "y"] * 30, "c": ["x", "x", "y", "y"] * 15}))
    >>> counter = chaffinch.MemoryCounter(table)
    >>> family_scores(counter, [(1, (0,)), (2, (0,)), (1, (0, 2))], "R").tolist()
    [30.0, 0.0, 30.0]
    >>> family_scores(counter, [(1, (0,)), (2, (0,))], "F").tolist()
    [0.0, -30.0]
    """
    check_name("score", score, ("I", "R", "F"))
    check_at_least("most_rows", most_rows, 0, optional=True)
    if getattr(counter, "weight", None) is not None:
        raise InputError("Scores on counts need whole counts. Count without weights.")
    n = counter.n_rows
    if n > MAX_ROWS:
        raise InputError(f"Families are scored on up to {MAX_ROWS:,} records. Take a sample.")
    plan = _plan(tuple(families), len(counter.schema.names), score == "I")
    if score == "F" and any(counter.schema.sizes[c] != 2 for c in plan.children.tolist()):
        odd = next(c for c in plan.children.tolist() if counter.schema.sizes[c] != 2)
        raise InputError(
            f"F is defined for a child of 2 levels. '{counter.schema.names[odd]}' has {counter.schema.sizes[odd]}."
        )
    if n == 0 or not families:
        return np.zeros(len(families))
    if score == "I":
        return _information(counter, plan, n) * (
            1.0 if most_rows is None else min(n, most_rows) / n
        )
    sums = _sums(counter, plan, score)
    return sums / n if score == "R" else 0.0 - sums / 2  # and no -0.0


class _FamilyPlan(NamedTuple):
    """Families in the order of the kernels: sorted column sets, and the indices of each family's
    sets among them.
    """

    sets: tuple[Columns, ...]
    padded: NDArray[np.int64]
    widths: NDArray[np.int64]
    starts: NDArray[np.int64]
    children: NDArray[np.int64]
    order: NDArray[np.int64]
    parts: NDArray[np.int64]


@lru_cache(maxsize=64)  # the same families are scored on table after table
def _plan(families: tuple[Family, ...], d: int, joint: bool) -> _FamilyPlan:
    """Return the plan of some families among `d` columns.

    For R and F: sets are those of parents, and `order` sorts families by set. For I (`joint`): sets
    are all whose h is summed, and `parts` holds the places of each family's child, parents and both
    (-1: no parents).
    """
    for child, parents in families:
        clique = (child, *parents)
        if len(set(clique)) != len(clique) or not all(0 <= c < d for c in clique):
            raise InputError(
                f"A family is a child and other columns, each once, by position (0 to {d - 1}). Got child {child} and "
                f"parents {', '.join(map(str, parents)) or 'none'}."
            )
    children = np.array([child for child, _ in families], dtype=np.int64)
    above = [tuple(sorted(parents)) for _, parents in families]
    if joint:
        triples = [
            ((child,), up, tuple(sorted((child, *up))))
            for (child, _), up in zip(families, above, strict=True)
        ]
        sets = sorted({columns for triple in triples for columns in triple if columns})
        position = {columns: q for q, columns in enumerate(sets)} | {(): -1}
        parts = np.array(
            [[position[columns] for columns in triple] for triple in triples], dtype=np.int64
        ).reshape(-1, 3)
        starts, order = np.zeros(0, dtype=np.int64), np.arange(len(families))
    else:
        sets = sorted(set(above))
        position = {columns: q for q, columns in enumerate(sets)}
        which = np.array([position[up] for up in above], dtype=np.int64)
        order = np.argsort(which, kind="stable")
        starts = np.searchsorted(which[order], np.arange(len(sets) + 1)).astype(np.int64)
        parts = np.zeros((0, 3), dtype=np.int64)
    return _FamilyPlan(tuple(sets), *pad_sets(sets), starts, children[order], order, parts)


def _information(counter: Counter, plan: _FamilyPlan, n: int) -> NDArray[np.float64]:
    """Return n I of each family. Real and imaginary parts carry the two parts of h, so that one
    kernel sums both.
    """
    sums = np.zeros(len(plan.sets) + 1, dtype=np.complex128)
    sums[-1] = count_log_count(np.array([n]), n)[0]  # of no columns
    filled = np.full(len(plan.sets), -1, dtype=np.int64)
    if isinstance(counter, MemoryCounter):
        sums[:-1], filled = spread_of_sets(
            counter.table.codes, plan.padded, plan.widths, threads=counter.threads
        )
    for q, marginal in _marginals(counter, plan.sets, np.flatnonzero(filled < 0)):
        sums[q] = count_log_count(marginal.counts[marginal.counts > 0], n).sum()
    child, parents, both = plan.parts.T
    out = sums[-1] - sums[child] - sums[parents] + sums[both]
    return np.maximum(0.0, np.where(parents < 0, 0.0, out.real + out.imag))


def _sums(counter: Counter, plan: _FamilyPlan, score: str) -> NDArray[np.float64]:
    """Return n^2 R, or the shortfall of F, of each family, from whole numbers."""

    n = counter.n_rows
    sums = np.full(len(plan.children), -1, dtype=np.int64)
    # Two rows of scratch for F, none for R; a narrow type where it holds every count: twice as fast.
    kind, shape = (
        np.int32 if n < 1 << 30 else np.int64,
        (2, (n + 1) // 2 + 1 if score == "F" else 0),
    )
    if isinstance(counter, MemoryCounter):
        codes, width = counter.table.codes, plan.padded.shape[1]
        sizes, n_cells = np.array(codes.sizes, dtype=np.int64), scratch(codes.sizes, n, width + 1)
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        margins = np.zeros(int(offsets[-1]), dtype=np.int64)
        for c in set(plan.children.tolist()) if score == "R" else ():
            margins[offsets[c] : offsets[c + 1]] = np.bincount(codes[c], minlength=sizes[c])

        def work(run: slice) -> None:
            ids, cells = (
                np.zeros((width + 1, n), dtype=np.uint32),
                np.zeros(n_cells, dtype=np.uint32),
            )
            room, best = np.zeros((2, n), dtype=np.int64), np.zeros(shape, dtype=kind)
            starts = plan.starts[run.start : run.stop + 1]
            where = (codes.groups, codes.rows, sizes, *codes.matrices)
            scored = (plan.padded[run], plan.widths[run], starts, plan.children)
            family_sums(*scored, margins, offsets, *where, ids, cells, room, best, sums)

        in_threads(work, len(plan.sets), n_rows=n, visits=len(sums), threads=counter.threads)
    which = np.searchsorted(plan.starts, np.arange(len(sums)), side="right") - 1
    uncounted = np.flatnonzero(sums < 0)
    cliques = [
        (*plan.sets[q], int(c))
        for q, c in zip(which[uncounted], plan.children[uncounted], strict=True)
    ]
    for index, marginal in _marginals(counter, cliques, np.arange(len(cliques))):
        row, column, counts = _list_families(marginal)
        if score == "F":
            pairs = np.zeros((2, int(row.max(initial=0)) + 1), dtype=np.int64)
            pairs[column, row] = counts
            sums[uncounted[index]] = shortfall(pairs[0], pairs[1], np.zeros(shape, dtype=kind))
        else:
            heights = np.zeros(int(row.max()) + 1, dtype=np.int64)
            margin = np.zeros(int(column.max()) + 1, dtype=np.int64)
            np.add.at(heights, row, counts)
            np.add.at(margin, column, counts)
            sums[uncounted[index]] = np.maximum(0, n * counts - heights[row] * margin[column]).sum()
    out = np.empty(len(sums))
    out[plan.order] = sums
    return out


def _list_families(
    marginal: Marginal,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the parents' combination, the code of the child (the last column) and the count of
    each filled cell.
    """
    if marginal.cells is None:
        matrix = marginal.counts.reshape(-1, marginal.sizes[-1])
        row, column = np.nonzero(matrix)
        return row, column, matrix[row, column]
    if len(marginal.columns) == 1:
        return (
            np.zeros(len(marginal.cells), dtype=np.int64),
            marginal.cells[:, 0].astype(np.int64),
            marginal.counts,
        )
    (row,) = class_ids(marginal.cells[:, :-1])
    return row, marginal.cells[:, -1].astype(np.int64), marginal.counts


def _marginals(
    counter: Counter, cliques: Sequence[Columns], wanted: NDArray[np.int64]
) -> Iterator[tuple[int, Marginal]]:
    """Yield the indices and the marginals of the wanted cliques, counted a bounded number of cells
    at a time.
    """
    names, sizes = counter.schema.names, counter.schema.sizes
    numbered_cliques = [(int(q), cliques[q]) for q in wanted]
    for batch in batches([prod(sizes[c] for c in columns) for _, columns in numbered_cliques]):
        clique_names = [[names[c] for c in numbered_cliques[i][1]] for i in batch]
        yield from zip(
            (numbered_cliques[i][0] for i in batch), counter.marginals(clique_names), strict=True
        )


@jit
def _excess(ids, codes, size, cells, heights, distinct, margin):  # type: ignore[no-untyped-def]
    """Return the sum of max(0, n c - r k) over the cells of (id, code); `cells` is zero before and
    after.

    Whole numbers: r k, n c and the sum are at most n^2, below 2^62 for n up to 2^31.
    """
    n, total = np.int64(ids.size), np.int64(0)
    bump(ids, codes, size, cells)
    if distinct * margin.size <= ids.size:
        cell = 0
        for row in range(distinct):
            for level in range(margin.size):
                if cells[cell]:
                    total += max(0, n * np.int64(cells[cell]) - heights[row] * margin[level])
                    cells[cell] = 0
                cell += 1
    else:  # more cells than rows: touch those of the rows only, each at its first row
        for i in range(ids.size):
            cell = ids[i] * size + codes[i]
            if cells[cell]:
                total += max(0, n * np.int64(cells[cell]) - heights[ids[i]] * margin[codes[i]])
                cells[cell] = 0
    return total


@jit
def shortfall(zeros, ones, best):  # type: ignore[no-untyped-def]
    """Return the least max(0, n - 2 K0) + max(0, n - 2 K1) over all ways to give each combination
    to one child value.

    `zeros` and `ones` are the counts of each combination; Kx is the sum of those with child value x
    given to x. `best` is scratch of two rows of (n + 1) // 2 + 1 places. Of the row in use, place a
    is the largest K1 for K0 = a, where a past half the records counts as half; far below 0 if there
    is none.
    """
    n, sure_zeros, sure_ones = np.int64(0), np.int64(0), np.int64(0)
    for row in range(zeros.size):
        n += zeros[row] + ones[row]
    cap = (n + 1) // 2
    best[:, : cap + 1] = -(n + 1)
    best[0, 0] = 0
    now, reach = 0, np.int64(0)
    for row in range(zeros.size):
        if zeros[row] == 0 or ones[row] == 0:  # of one value only: given to it, nothing is lost
            sure_zeros += zeros[row]
            sure_ones += ones[row]
            continue
        zero_count, one_count = min(zeros[row], cap), best.dtype.type(ones[row])
        old, new = best[now, : cap + 1], best[1 - now, : cap + 1]
        top = old[cap] + one_count
        for a in range(cap - zero_count, min(cap, reach) + 1):
            top = max(top, old[a])
        for a in range(min(zero_count, cap)):
            new[a] = old[a] + one_count
        reach = min(cap, reach + zero_count)
        shifted, unshifted, into = (
            old[: reach + 1 - zero_count],
            old[zero_count : reach + 1],
            new[zero_count : reach + 1],
        )
        for a in range(
            into.size
        ):  # two rows and no branch: compilers make vector instructions of it
            into[a] = max(unshifted[a] + one_count, shifted[a])
        new[cap] = top
        now = 1 - now
    smallest = 2 * n
    for a in range(cap + 1):
        if best[now, a] >= 0:
            smallest = min(
                smallest,
                max(0, n - 2 * (a + sure_zeros)) + max(0, n - 2 * (best[now, a] + sure_ones)),
            )
    return smallest


@jit
def _split(ids, codes, cells, distinct, zeros, ones, best):  # type: ignore[no-untyped-def]
    """Return the `shortfall` of a child of two levels; `cells` is zero before and after."""
    bump(ids, codes, np.uint32(2), cells)
    for row in range(distinct):
        zeros[row], ones[row] = cells[2 * row], cells[2 * row + 1]
        cells[2 * row] = cells[2 * row + 1] = 0
    return shortfall(zeros[:distinct], ones[:distinct], best)


@jit
def family_sums(  # type: ignore[no-untyped-def]
    sets,
    widths,
    starts,
    children,
    margins,
    offsets,
    groups,
    rows,
    sizes,
    c8,
    c16,
    c32,
    ids,
    cells,
    room,
    best,
    out,
):
    """Fill in a whole number for each family: n^2 R, or the shortfall of F if `best` has any
    places.

    Parent sets are sorted as words are; set q has the children `starts[q]` to `starts[q + 1]`.
    Combinations of a set are numbered once for all of its children, and sets that begin alike share
    the numbering of their beginning. The margin of column c starts at `offsets[c]`. A family that
    would need more scratch than `cells` has is marked by -1.
    """
    path = np.full(ids.shape[0], -1, dtype=np.int64)
    distinct = np.ones(ids.shape[0], dtype=np.int64)
    known = 0
    for q in range(sets.shape[0]):
        width = widths[q]
        known = walk(
            sets[q, :width], known, path, distinct, groups, rows, sizes, c8, c16, c32, ids, cells
        )
        keys, combinations = ids[width], distinct[width]
        heights = room[0]
        if known == width and best.size == 0:
            heights[:combinations] = 0
            for i in range(keys.size):
                heights[keys[i]] += 1
        for f in range(starts[q], starts[q + 1]):
            c = children[f]
            size = np.uint32(sizes[c])
            if known < width or combinations * sizes[c] > cells.size:
                out[f] = -1
            elif best.size and groups[c] == 0:
                out[f] = _split(keys, c8[rows[c]], cells, combinations, room[0], room[1], best)
            else:
                margin = margins[offsets[c] : offsets[c + 1]]
                if groups[c] == 0:
                    out[f] = _excess(keys, c8[rows[c]], size, cells, heights, combinations, margin)
                elif groups[c] == 1:
                    out[f] = _excess(keys, c16[rows[c]], size, cells, heights, combinations, margin)
                else:
                    out[f] = _excess(keys, c32[rows[c]], size, cells, heights, combinations, margin)
