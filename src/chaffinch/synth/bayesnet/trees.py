"""Conditional distributions as trees over the parents' codes: what matters, where it matters.

Rows go down a tree by the codes of parents, and draw at the leaf, with back-off along the path. A node splits the codes of one parent in two. Every node has the weights of the child's codes among
the records that came through it. The probability at a node is

    p(x | node) = (c(node, x) + a p(x | the node above)) / (c(node) + a)

with the smoothing a (0: none), from the root down to the leaf of the row: what is not known of a few records is asked of more.

Trees are grown on a sample that every engine chooses alike, and their leaves counted over all rows. The order of columns is that of the network of tables; a column's tree may split any column before it that rules
allow, of those that tell most of it. At each node stands the split that tells most of the child, while it tells more than chance would. Where rows are
more than `SAMPLE`, splits are learnt from those whose number, hashed, falls below a bound: the same rows on every engine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._base.compiled import jit
from ..._base.errors import InputError
from ..._base.runtime import thread_map
from ...counts.counter import RowCounter
from ...counts.plan import runs_of
from ...table.codes import Codes
from ...table.rows import CodedBatch
from ...table.schema import Column, Schema
from .tables import rows_by_group, systematic_uniforms

SAMPLE = 200_000
"""Rows, about, from which splits are learnt."""

MOST_CELLS = 1 << 23
"""Cells of nodes by codes, 8 bytes each, that are counted in one pass."""

CANDIDATES = 12
"""Columns that a tree may split, of those that tell most of the child by themselves."""

MOST_DEPTH = 64
"""Splits above a node of a tree that is read, at most."""

MOST_GROWN_DEPTH = 60
"""Splits above a node of a tree that is grown, at most."""

GROUPS = 12
"""Groups of the child's codes, of those that occur at a node, between which splits tell: with more, chance tells too."""

ROWS = 20
"""Rows for each group of a node."""

TRIED = 3
"""Groups of the child by whose share the codes of a parent without an order are put in one."""


@dataclass(frozen=True, eq=False)
class TreeTable:
    """The distribution of a child given its parents, as a tree. Node 0 is the root; nodes come after the node above them."""

    child: str
    size: int
    parents: tuple[str, ...]
    sizes: tuple[int, ...]
    """Numbers of codes of the parents."""
    smoothing: float
    splits: NDArray[np.int32]
    """For each node the number of the parent that it splits, -1 for a leaf."""
    below: NDArray[np.int32]
    """For each node the first of the two below it, -1 for a leaf; the second is the next one."""
    first_sides: NDArray[np.int64]
    """For each node where its parent's codes begin in `code_sides`."""
    code_sides: NDArray[np.uint8]
    """For each split and code of its parent: 0 for the first node below, 1 for the second."""
    starts: NDArray[np.int64]
    """Where the entries of each node begin; one more at the end."""
    codes: NDArray[np.uint32]
    """The child's codes that occur in a node."""
    weights: NDArray[np.float64]
    """How often each entry occurs."""

    def check(self) -> None:
        """Raise unless the parts fit together: for tables that come from a file."""
        n, leaf = len(self.splits), self.splits < 0
        shapes = (
            len(self.below) == len(self.first_sides) == n > 0
            and len(self.starts) == n + 1
            and len(self.codes) == len(self.weights)
        )
        sound = shapes and bool(
            (self.splits < len(self.parents)).all()
            and (self.below[leaf] == -1).all()
            and (self.below[~leaf] > np.flatnonzero(~leaf)).all()
            and (self.below[~leaf] + 1 < n).all()
            and len(np.unique(self.below[~leaf])) == int((~leaf).sum()) == (n - 1) // 2
            and (self.code_sides <= 1).all()
            and self.starts[0] == 0
            and self.starts[-1] == len(self.codes)
            and (np.diff(self.starts) > 0).all()
            and ((self.weights > 0) & (self.weights < 1e290)).all()
            and (len(self.codes) == 0 or int(self.codes.max()) < self.size)
            and (
                np.diff(np.repeat(np.arange(n), np.diff(self.starts)) << 32 | self.codes) > 0
            ).all()
        )
        if sound and (~leaf).any():
            ends = self.first_sides[~leaf] + np.array(self.sizes)[self.splits[~leaf]]
            sound = bool(
                (self.first_sides[~leaf] >= 0).all() and (ends <= len(self.code_sides)).all()
            )
        if (
            not sound
            or not np.isfinite(self.smoothing)
            or self.smoothing < 0
            or int(self.depths.max()) >= MOST_DEPTH
        ):
            raise InputError(
                f"The tree of '{self.child}' does not fit together. The file that holds it is damaged."
            )

    @cached_property
    def above(self) -> NDArray[np.int32]:
        """The node above each; -1 for the root."""
        out = np.full(len(self.splits), -1, dtype=np.int32)
        inner = np.flatnonzero(self.splits >= 0)
        out[self.below[inner]] = out[self.below[inner] + 1] = inner
        return out

    @cached_property
    def depths(self) -> NDArray[np.int32]:
        """How many splits are above each node."""
        out = np.zeros(len(self.splits), dtype=np.int32)
        for node in range(1, len(out)):
            out[node] = out[self.above[node]] + 1
        return out

    @cached_property
    def totals(self) -> NDArray[np.float64]:
        """The summed weights of each node."""
        return np.add.reduceat(self.weights, self.starts[:-1])

    @property
    def total_weight(self) -> float:
        """The weights of all leaves together."""
        return float(self.totals[self.splits < 0].sum())

    def leaves(self, parents: Sequence[NDArray[np.integer]], n_rows: int) -> NDArray[np.int64]:
        """Return the leaf of each row, given the codes of the parents."""
        stacked = np.empty((len(parents), n_rows), dtype=np.uint32)
        for row, codes in zip(stacked, parents, strict=True):
            row[:] = codes
        tree = (self.splits, self.below, self.first_sides, self.code_sides)
        return np.asarray(_leaves(stacked, n_rows, *tree))

    def probabilities(
        self, codes: NDArray[np.integer], parents: Sequence[NDArray[np.integer]]
    ) -> NDArray[np.float64]:
        """Return the probability of each code given the codes of its parents."""
        leaves = self.leaves(parents, len(codes))
        entries = (self.starts, self.codes, self.weights, self.totals)
        return np.asarray(
            _probabilities(
                leaves,
                np.asarray(codes, dtype=np.uint32),
                self.above,
                float(self.smoothing),
                *entries,
            )
        )

    def largest(self, code: int) -> float:
        """Return an upper bound of P(code | parents) over all parents: the best leaf."""
        bound = np.zeros(len(self.splits))
        entries = np.flatnonzero(self.codes == code)
        weight = np.zeros(len(bound))
        weight[np.searchsorted(self.starts, entries, side="right") - 1] = self.weights[entries]
        for node, above in enumerate(self.above):
            a, p = (self.smoothing, bound[above]) if above >= 0 else (0.0, 0.0)
            bound[node] = (weight[node] + a * p) / (self.totals[node] + a)
        return float(min(bound[self.splits < 0].max(), 1.0))


@dataclass(frozen=True, eq=False)
class TreeSampler:
    """A tree laid out for drawing; `kept`: whether it keeps running sums, of as many numbers as the tree has weights, from batch to batch."""

    table: TreeTable
    keeps_sums: bool = True

    @cached_property
    def _kept_sums(self) -> NDArray[np.float64]:
        return self._running_sums()

    def _running_sums(self) -> NDArray[np.float64]:
        table = self.table
        sums = np.cumsum(table.weights)
        before = np.concatenate([[0.0], sums])[table.starts[:-1]]
        return np.asarray(sums - np.repeat(before, np.diff(table.starts)))

    def draw(
        self, parents: Sequence[NDArray[np.uint32]], uniform: NDArray[np.float64]
    ) -> NDArray[np.uint32]:
        """Return a code for each row, given the codes of the parents and a uniform number for each row."""
        table = self.table
        out = np.empty(len(uniform), dtype=np.uint32)
        leaves = table.leaves(parents, len(uniform))
        sums = self._kept_sums if self.keeps_sums else self._running_sums()
        _draw(
            out,
            leaves,
            uniform,
            table.above,
            float(table.smoothing),
            table.starts,
            table.codes,
            sums,
            table.totals,
        )
        return out

    def draw_systematic(
        self,
        parents: Sequence[NDArray[np.uint32]],
        ties: Sequence[tuple[NDArray[np.uint32], int]],
        n_rows: int,
        rng: np.random.Generator,
    ) -> NDArray[np.uint32]:
        """Return a code for each row by systematic sampling; see `Sampler.draw_systematic`."""
        leaves = self.table.leaves(parents, n_rows)
        order, starts, numbers = rows_by_group(leaves, len(self.table.splits), ties, rng)
        return self.draw(parents, systematic_uniforms(order, starts, rng.random(len(numbers))))


@jit
def _leaves(parents, n_rows, splits, below, first_sides, code_sides):  # type: ignore[no-untyped-def]
    """Return the leaf that each row comes to."""
    out = np.empty(n_rows, dtype=np.int64)
    for row in range(n_rows):
        node = 0
        while splits[node] >= 0:
            node = below[node] + code_sides[first_sides[node] + parents[splits[node], row]]
        out[row] = node
    return out


@jit
def _probabilities(leaves, wanted, above, smoothing, starts, codes, weights, totals):  # type: ignore[no-untyped-def]
    """Return the probability of the wanted code of each row at its leaf."""
    out = np.empty(leaves.size)
    path = np.empty(MOST_DEPTH, dtype=np.int64)
    for row in range(leaves.size):
        depth, node = 0, leaves[row]
        while node >= 0:
            path[depth] = node
            depth += 1
            node = above[node]
        p = 0.0
        for k in range(depth - 1, -1, -1):
            node = path[k]
            low, high = starts[node], starts[node + 1]
            entry = low + np.searchsorted(codes[low:high], wanted[row])
            weight = weights[entry] if entry < high and codes[entry] == wanted[row] else 0.0
            a = 0.0 if k == depth - 1 else smoothing
            p = (weight + a * p) / (totals[node] + a)
        out[row] = p
    return out


@jit
def _draw(out, leaves, uniform, above, smoothing, starts, codes, cumulated, totals):  # type: ignore[no-untyped-def]
    """Draw a code for each row, from its leaf upwards: what is left of the uniform number serves again, so one is enough for a row."""
    for row in range(out.size):
        node, u = leaves[row], uniform[row]
        while True:
            a = smoothing if above[node] >= 0 else 0.0
            x = u * (totals[node] + a)
            if x < totals[node] or above[node] < 0:
                low, high = starts[node], starts[node + 1] - 1
                out[row] = codes[low + np.searchsorted(cumulated[low:high], x, side="right")]
                break
            u = min((x - totals[node]) / a, 1.0 - 1e-16)
            node = above[node]


class TreeSettings(NamedTuple):
    """`min_rows`: records of a leaf at least. `parents`: columns that a tree may split. `price`: nats that a split must gain for each free share, beside `naming`
    times the logarithm of how many splits there are to choose from. `smoothing`: how much, in records, the node above weighs.
    """

    min_rows: int = 10
    parents: int = 6
    price: float = 1.0
    naming: float = 1.0
    smoothing: float = 3.0


def learn_trees(
    counter: RowCounter,
    order: Sequence[str],
    candidates: Mapping[str, Sequence[str]],
    required: Mapping[str, Sequence[str]],
    settings: TreeSettings,
) -> tuple[TreeTable, ...]:
    """Return the tree of each column of an order; `candidates` are what each may split, `required` what each has as a parent at any rate."""
    return tuple(
        _fill_counts(_grow_shapes(counter, order, candidates, required, settings), counter)
    )


def _grow_shapes(
    counter: RowCounter,
    order: Sequence[str],
    candidates: Mapping[str, Sequence[str]],
    required: Mapping[str, Sequence[str]],
    settings: TreeSettings,
) -> list[TreeTable]:
    """The trees without counts. The sample of codes is let go with them: of many columns it is large."""
    schema = counter.schema
    number = {name: j for j, name in enumerate(schema.names)}
    codes, weights = _sample(counter)
    logs = np.zeros(0) if len(weights) else x_log_x(codes.n_rows)
    wide = np.uint16 if max(schema.sizes, default=0) <= 1 << 16 else np.uint32

    def learnt(name: str) -> TreeTable:
        columns, child = [schema[other] for other in candidates[name]], schema[name]
        x = np.empty((len(columns), codes.n_rows), dtype=wide)
        for row, column in zip(x, columns, strict=True):
            row[:] = codes[number[column.name]]
        data = TrainingRows(
            x,
            sizes=np.array([column.size for column in columns], dtype=np.int64),
            ordered=np.array([_is_ordered(column) for column in columns], dtype=bool),
            required=np.array([column.name in required[name] for column in columns], dtype=bool),
            y=codes[number[name]].astype(wide),
            y_size=child.size,
            y_values=child.fitted_codec.n_values,
            y_ordered=_is_ordered(child),
            weights=weights,
            logs=logs,
        )
        grown = grow(data, settings)
        return _shape(name, schema, candidates[name], required[name], grown, settings.smoothing)

    return thread_map(learnt, list(order), threads=getattr(counter, "threads", None))


def _is_ordered(column: Column) -> bool:
    return column.is_numeric or column.ordered


def _hash_rows(rows: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return numbers without pattern for row numbers (SplitMix64), the same everywhere."""
    with np.errstate(over="ignore"):
        z = (rows + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def _sample(counter: RowCounter) -> tuple[Codes, NDArray[np.float64]]:
    """Codes, and weights, none where each record counts one, of all rows or of a sample that hangs on row numbers alone."""
    chosen = _chosen_rows(counter.n_rows)
    weights: list[NDArray[np.float64]] = []

    def parts() -> Iterator[Codes]:
        first = 0
        for batch in counter.coded():
            rows = (
                slice(None)
                if chosen is None
                else chosen[slice(*np.searchsorted(chosen, [first, first + batch.codes.n_rows]))]
                - first
            )
            if batch.weights is not None:
                weights.append(batch.weights[rows])
            first += batch.codes.n_rows
            yield batch.codes if chosen is None else batch.codes.take(rows)

    codes = Codes.gathered(
        parts(), counter.schema.sizes, counter.n_rows if chosen is None else len(chosen)
    )
    return codes, np.concatenate(weights) if weights else np.zeros(0)


def _chosen_rows(n_rows: int) -> NDArray[np.int64] | None:
    """The numbers of the rows of a sample, ascending; None where all are looked at."""
    if n_rows <= SAMPLE:
        return None
    bound = np.uint64(min(int(SAMPLE / n_rows * 2.0**64), 2**64 - 1))
    step = 1 << 20
    numbers = (
        np.arange(first, min(first + step, n_rows), dtype=np.uint64)
        for first in range(0, n_rows, step)
    )
    return np.concatenate([block[_hash_rows(block) < bound] for block in numbers]).astype(np.int64)


def _shape(
    name: str,
    schema: Schema,
    candidates: Sequence[str],
    required: Sequence[str],
    grown: Any,
    smoothing: float,
) -> TreeTable:
    """A tree without counts, of those parents that it splits and those that are required."""
    splits, below, first, code_sides = grown
    used = list(dict.fromkeys(splits[splits >= 0].tolist()))  # those split first are the strongest
    parents = list(dict.fromkeys([*(candidates[j] for j in used), *required]))
    number = {j: k for k, j in enumerate(used)}
    renamed = np.array([number[int(j)] if j >= 0 else -1 for j in splits], dtype=np.int32)
    sizes = tuple(schema[parent].size for parent in parents)
    nothing: NDArray[Any] = np.zeros(0)
    return TreeTable(
        name,
        schema[name].size,
        tuple(parents),
        sizes,
        smoothing,
        renamed,
        below,
        np.where(renamed >= 0, first, -1),
        code_sides,
        np.zeros(1, dtype=np.int64),
        nothing.astype(np.uint32),
        nothing,
    )


def _fill_counts(trees: Sequence[TreeTable], counter: RowCounter) -> list[TreeTable]:
    """Trees with the counts of all rows in their nodes: as many as fit in one pass."""
    number = {name: j for j, name in enumerate(counter.schema.names)}
    filled: list[TreeTable] = []
    for run in runs_of([len(tree.splits) * tree.size for tree in trees], MOST_CELLS):
        counted = [
            (trees[index], np.zeros((len(trees[index].splits), trees[index].size))) for index in run
        ]
        for batch in counter.coded():
            thread_map(
                lambda tree: _add(*tree, batch, number),  # noqa: B023
                counted,
                threads=getattr(counter, "threads", None),
            )
        filled += [_with_counts(tree, counts) for tree, counts in counted]
        del counted
    return filled


def _add(
    tree: TreeTable, counts: NDArray[np.float64], batch: CodedBatch, number: Mapping[str, int]
) -> None:
    """Count some rows in the leaves of a tree."""
    leaves = tree.leaves(
        [batch.codes[number[parent]] for parent in tree.parents], batch.codes.n_rows
    )
    key = leaves * tree.size + batch.codes[number[tree.child]]
    if batch.weights is None:
        counts += np.bincount(key, minlength=counts.size).reshape(counts.shape)
    else:  # one after the other, as one batch of all rows would be added
        np.add.at(counts.reshape(-1), key, batch.weights)


def _with_counts(tree: TreeTable, counts: NDArray[np.float64]) -> TreeTable:
    """A tree with the counts of its leaves, and of the nodes above them."""
    for node in range(len(tree.splits) - 1, -1, -1):
        if tree.splits[node] >= 0:
            counts[node] = counts[tree.below[node]] + counts[tree.below[node] + 1]
    if not counts[0].any():
        counts[:] = 1.0  # a table without any record gives every code the same weight
    for node in range(1, len(counts)):
        if not counts[node].any():  # nobody came here after all: as above
            counts[node] = counts[tree.above[node]]
    nodes, codes = np.nonzero(counts)
    starts = np.searchsorted(nodes, np.arange(len(counts) + 1)).astype(np.int64)
    return replace(tree, starts=starts, codes=codes.astype(np.uint32), weights=counts[nodes, codes])


@jit(inline="always")  # type: ignore[untyped-decorator]
def _xlogx(value: float) -> float:
    return value * np.log(value) if value > 0.0 else 0.0


@jit
def x_log_x(n: int) -> Any:
    """Return x log x of 0 to n: what `grow` looks up where records have no weights."""
    out = np.zeros(n + 1)
    for x in range(n + 1):
        out[x] = _xlogx(float(x))
    return out


@jit(inline="always")  # type: ignore[untyped-decorator]
def _looked_up(value: float, known: Any) -> float:
    return known[int(value)] if len(known) else _xlogx(value)


@jit
def _best_cut(
    table: Any,
    people: Any,
    order: Any,
    min_rows: float,
    known: Any,
    first_side: Any,
    group_totals: Any,
) -> Any:
    """Return the gain in nats of the best cut of the codes of a parent, in some order, and how many of them come before it; 0 where there is none."""
    n_codes, n_groups = table.shape
    first_side[:n_groups] = 0.0
    group_totals[:n_groups] = 0.0
    total = behind = 0.0
    for code in range(n_codes):
        if people[code] == 0.0:
            continue
        total += people[code]
        for group in range(n_groups):
            group_totals[group] += table[code, group]
    base = weight = 0.0
    for group in range(n_groups):
        base += _looked_up(group_totals[group], known)
        weight += group_totals[group]
    base -= _looked_up(weight, known)
    best, cut, before = 0.0, 0, 0.0
    for k in range(n_codes - 1):
        code = order[k]
        if people[code] == 0.0:
            continue
        behind += people[code]
        for group in range(n_groups):
            first_side[group] += table[code, group]
            before += table[code, group]
        if behind < min_rows:
            continue
        if total - behind < min_rows:
            break
        gain = -base - _looked_up(before, known) - _looked_up(weight - before, known)
        for group in range(n_groups):
            gain += _looked_up(first_side[group], known) + _looked_up(
                group_totals[group] - first_side[group], known
            )
        if gain > best:
            best, cut = gain, k + 1
    return best, cut


@jit
def _group_codes(shares: Any, n_values: int, in_order: bool, max_groups: int, group_of: Any) -> int:
    """Put the codes of a child that occur at a node into groups, and return how many: neighbours of about the same weight, or the commonest and the rest.

    Codes that stand for no value have groups of their own.
    """
    size = len(shares)
    present = 0
    for code in range(size):
        present += shares[code] > 0.0
    if present <= max_groups or not in_order:
        rank = np.argsort(-shares)
        for k in range(size):
            group_of[rank[k]] = min(k, max_groups - 1)
        return min(present, max_groups)
    total = 0.0
    for code in range(n_values):
        total += shares[code]
    behind, groups, last = 0.0, -1, -1
    for code in range(n_values):
        if shares[code] > 0.0:
            wanted = int((behind + 0.5 * shares[code]) / total * max_groups)
            if wanted != last:
                groups, last = groups + 1, wanted
            group_of[code] = groups
            behind += shares[code]
    for code in range(n_values, size):
        if shares[code] > 0.0:
            groups += 1
            group_of[code] = min(groups, max_groups + 1)
    return min(groups, max_groups + 1) + 1


class TrainingRows(NamedTuple):
    """The codes that a tree is learnt from: of columns that may be split (`x`, by column and row), and of the child (`y`).

    `sizes`: numbers of codes of the columns; `ordered`: whether they stand in an order of their own;
    `required`: columns that count among those that are split. Of the child's `y_size` codes the
    first `y_values` are values, and in an order where `y_ordered`. `weights`: those of records,
    none where each counts one; `logs`: `x_log_x` then, none otherwise.
    """

    x: Any
    sizes: Any
    ordered: Any
    required: Any
    y: Any
    y_size: int
    y_values: int
    y_ordered: bool
    weights: Any
    logs: Any


class NodeTables(NamedTuple):
    """What `grow` works on at a node, laid out once.

    `shares` and `group_of`: the weight and the group of each code of the child; `groups`: the group
    of each row. Of the column that is looked at, `table` has the weights of codes by group and
    `people` the rows of each code, `counts` serves to fill both; `order` is that in which codes are
    cut, by `score`, and `best_order` that of the best cut so far. `first_side` and `group_totals`: sums by group, before a cut and of all codes.
    """

    shares: Any
    group_of: Any
    groups: Any
    table: Any
    people: Any
    counts: Any
    order: Any
    score: Any
    best_order: Any
    first_side: Any
    group_totals: Any


@jit
def _lay_out(rows: TrainingRows) -> NodeTables:
    widest = 1
    for size in rows.sizes:
        widest = max(widest, size)
    return NodeTables(
        np.zeros(rows.y_size),
        np.zeros(rows.y_size, dtype=np.int64),
        np.zeros(rows.x.shape[1], dtype=np.uint8),
        np.zeros((widest, GROUPS + 2)),
        np.zeros(widest),
        np.zeros((widest, GROUPS + 2), dtype=np.int32),
        np.empty(widest, dtype=np.int64),
        np.empty(widest),
        np.empty(widest, dtype=np.int64),
        np.zeros(GROUPS + 2),
        np.zeros(GROUPS + 2),
    )


@jit
def _group_child(data: TrainingRows, node: NodeTables, rows: Any) -> Any:
    """Put the child's codes at a node into groups; return the groups, the commonest first."""
    alike = len(data.weights) == 0
    node.shares[:] = 0.0
    for row in rows:
        node.shares[data.y[row]] += 1.0 if alike else data.weights[row]
    max_groups = min(max(2 + len(rows) // ROWS, 3), GROUPS)
    n_groups = _group_codes(node.shares, data.y_values, data.y_ordered, max_groups, node.group_of)
    weights = np.zeros(n_groups)
    for code in range(data.y_size):
        if node.shares[code] > 0.0:
            weights[node.group_of[code]] += node.shares[code]
    for k in range(len(rows)):
        node.groups[k] = node.group_of[data.y[rows[k]]]
    return np.argsort(-weights)


@jit
def _count_column(data: TrainingRows, node: NodeTables, rows: Any, column: int, n: int) -> None:
    """Count the codes of a column at a node by the `n` groups of the child, and the rows of each code."""
    alike, size, codes = len(data.weights) == 0, data.sizes[column], data.x[column]
    table, people, counts = node.table, node.people, node.counts
    people[:size] = 0.0
    if alike and len(rows) > 2 * size:  # one count each, and people are summed from these
        for k in range(len(rows)):
            counts[codes[rows[k]], node.groups[k]] += np.int32(1)
        for code in range(size):
            for group in range(n):
                table[code, group] = counts[code, group]
                people[code] += counts[code, group]
                counts[code, group] = 0
        return
    table[:size, :n] = 0.0
    for k in range(len(rows)):
        row = rows[k]
        table[codes[row], node.groups[k]] += 1.0 if alike else data.weights[row]
        people[codes[row]] += 1.0


@jit
def _order_codes(node: NodeTables, size: int, n_groups: int, group: int) -> None:
    """Order the codes of a column: as they are, or with a group of the child by its share, codes that nobody has last."""
    for code in range(size):
        node.order[code] = code
    if group >= 0:
        for code in range(size):
            code_total = node.table[code, :n_groups].sum()
            node.score[code] = node.table[code, group] / code_total if code_total > 0.0 else 2.0
        node.order[:size] = np.argsort(node.score[:size])


@jit
def _best_split(
    data: TrainingRows, node: NodeTables, rows: Any, open_columns: Any, settings: TreeSettings
) -> Any:
    """Return the column of the best split at a node, -1 for none that gains enough, and how many of its codes, in `best_order`, come before the cut."""
    common = _group_child(data, node, rows)
    n_groups, ways = len(common), 0
    for column in range(len(open_columns)):
        ways += data.sizes[column] - 1 if open_columns[column] else 0
    best = settings.price * (n_groups - 1) + settings.naming * np.log(max(ways, 1))
    best_column, best_place = -1, 0
    for column in range(len(open_columns)):
        if n_groups < 2 or not open_columns[column]:
            continue
        size = data.sizes[column]
        _count_column(data, node, rows, column, n_groups)
        for way in range(1 if data.ordered[column] else min(TRIED, n_groups)):
            _order_codes(node, size, n_groups, -1 if data.ordered[column] else common[way])
            table, order = node.table[:size, :n_groups], node.order[:size]
            gain, cut = _best_cut(
                table,
                node.people[:size],
                order,
                settings.min_rows,
                data.logs,
                node.first_side,
                node.group_totals,
            )
            if gain > best:
                best, best_column, best_place = gain, column, cut
                node.best_order[:size] = order
    return best_column, best_place


@jit
def _sides_of_codes(data: TrainingRows, node: NodeTables, rows: Any, column: int, cut: int) -> Any:
    """Return the side of each code of a column that is split: 0 before the cut, 1 behind it; codes that nobody has here go with the larger side."""
    size, people = data.sizes[column], node.people
    code_sides = np.ones(size, dtype=np.uint8)
    people[:size] = 0.0
    for row in rows:
        people[data.x[column, row]] += 1.0
    before = 0.0
    for code in node.best_order[:cut]:
        code_sides[code] = 0
        before += people[code]
    if not data.ordered[column]:
        for code in range(size):
            if people[code] == 0.0:
                code_sides[code] = 0 if before * 2.0 >= len(rows) else 1
    return code_sides


@jit
def _part_rows(rows: Any, codes: Any, code_sides: Any, spare: Any) -> int:
    """Put the rows of the first side before those of the second, each in the order they had; return how many are of the first."""
    n_first = n_second = 0
    for k in range(len(rows)):
        row = rows[k]
        if code_sides[codes[row]] == 0:
            rows[n_first] = row
            n_first += 1
        else:
            spare[n_second] = row
            n_second += 1
    rows[n_first:] = spare[:n_second]
    return n_first


@jit
def grow(data: TrainingRows, settings: TreeSettings) -> Any:
    """Return a tree: the column that each node splits (-1: leaf), the first node below, where its sides begin, and the sides of codes.

    A split leaves `min_rows` rows on both sides. It must gain `price` nats for each free share of groups
    of the child's codes (the fewer rows, the fewer groups), and `naming` times what it takes to name
    it among all that could be. At most so many columns are split as a tree may have parents, the
    `required` ones among them.
    """
    n = data.x.shape[1]
    room = 2 * (n // max(settings.min_rows, 1)) + 3
    splits, below = np.full(room, -1, dtype=np.int32), np.full(room, -1, dtype=np.int32)
    first, depth = np.zeros(room, dtype=np.int64), np.zeros(room, dtype=np.int64)
    begin, end = np.zeros(room, dtype=np.int64), np.zeros(room, dtype=np.int64)
    all_sides = np.zeros(1024, dtype=np.uint8)
    order, spare = np.arange(n), np.empty(n, dtype=np.int64)
    used, n_sides, n_nodes = data.required.copy(), 0, 1
    tables = _lay_out(data)
    end[0], node = n, 0
    while node < n_nodes:
        rows = order[begin[node] : end[node]]
        if len(rows) >= 2 * settings.min_rows and depth[node] < MOST_GROWN_DEPTH:
            full = used.sum() >= settings.parents
            column, cut = _best_split(data, tables, rows, used | (not full), settings)
            if column >= 0:
                code_sides = _sides_of_codes(data, tables, rows, column, cut)
                while n_sides + len(code_sides) > len(all_sides):
                    longer = np.zeros(2 * len(all_sides), dtype=np.uint8)
                    longer[: len(all_sides)] = all_sides
                    all_sides = longer
                all_sides[n_sides : n_sides + len(code_sides)] = code_sides
                middle = begin[node] + _part_rows(rows, data.x[column], code_sides, spare)
                splits[node], below[node], first[node] = column, n_nodes, n_sides
                n_sides += len(code_sides)
                used[column] = True
                begin[n_nodes], end[n_nodes] = begin[node], middle
                begin[n_nodes + 1], end[n_nodes + 1] = middle, end[node]
                depth[n_nodes] = depth[n_nodes + 1] = depth[node] + 1
                n_nodes += 2
        node += 1
    return (
        splits[:n_nodes].copy(),
        below[:n_nodes].copy(),
        first[:n_nodes].copy(),
        all_sides[:n_sides].copy(),
    )
