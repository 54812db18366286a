"""Tables of groups of fields, after DPFieldGroups (John Gardner, NIST 2018 challenge): each group measured as one full table with noise, drawn independently of the others.

Galloni, Lendák and Horváth (2020) call it DPGroupFields. Groups are given, or learnt from noisy distances. How the budget is split follows from declared sizes and a public number
of rows alone, so that it can be shown before it is spent; all that is done to noisy tables is post-processing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import log, prod
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from .._base.checks import check_name
from .._base.errors import InputError, TooLargeError, join_names
from .._base.options import Option
from .._base.runtime import Progress, silent
from .._base.seeds import Seed, generator
from ..counts.marginal import Marginal
from ..privacy.advice import Expectation, expect
from ..privacy.counter import MOST_CELLS, NoisyTable, PrivateCounter
from ..privacy.ledger import Plan
from ..privacy.mechanisms import laplace_std
from ..privacy.relation import Neighbours
from ..privacy.session import plan_budget, public_rows, start_private_session
from ..privacy.settings import EPSILON, NEIGHBOURS, Delta, RowsPerPerson
from ..table.schema import Schema
from .bayesnet.model import BayesNetModel, FitSummary
from .bayesnet.private.links import single_columns
from .data import private_data
from .noisy import margins_of, nonnegative, private_model, product_of
from .options import DrawnRows, Groups
from .settings import SYNTHESISERS, PureMethod, noise_step

Group = tuple[str, ...]

Margin = NDArray[np.float64]

Empty = Literal["columns", "first"]

SPARSE = 1 << 12
"""Cells beyond which the cells that are left after the threshold are kept as a list."""

MOST_LEARNT_CELLS = 1 << 18
"""Cells beyond which columns are not grouped by learning; given groups may have `MOST_CELLS`."""

MOST_LOST = 0.5
"""The share of records that a learnt group may be expected to lose."""

_TELLING = 0.25
"""Learning is left out unless a distance of this share of the records would stand out from its noise."""


@SYNTHESISERS.register
@dataclass(frozen=True, repr=False)
class FieldGroups(PureMethod):
    """Groups of columns, each measured as one full table with noise; rows draw each group independently of the others.

    The promise is pure epsilon, by default for one record more or less. Proof: the table of each of G groups is a discrete Laplace
    mechanism of epsilon / G (one person moves it by `unit.l1`, the noise has scale `unit.l1` G / epsilon, in every declared cell);
    learning, if there is any, is two more such steps; amounts add up (sequential composition). Threshold and drawing read
    only what these released.

    What is not promised: links between columns of different groups are lost altogether, and rare combinations fall below
    the threshold.

    Parameters
    ----------
    epsilon
        The whole budget.
    groups
        Lists of columns that share a table; columns not named are groups of their own. They must not be chosen by looking at the
        data. None: learnt from the data, which is paid for. The published method has groups fixed by hand.
    delta
        Only needed where levels are to be discovered (`discover = true` in the schema).
    neighbours
        "add-remove" (published) or "replace-one" (the schema must declare rows).
    rows_per_person
        The most rows of one person, where the table was prepared with a person's identifier.
    threshold
        Cells below threshold * scale * log10(cells) are set to 0.
    learning
        The share of the budget for learning groups: half of it for single columns, half for the distances of pairs from
        independence. Nothing is spent on it where noise would drown the distances; every column is then a group of its own.
    empty
        A group with nothing above its threshold is drawn from its noisy single columns ("columns"), or has the first level in all
        columns ("first", as published).
    draw
        How rows are drawn: "systematic" (None, the default) or "independent", one by one as published.

    Examples
    --------
    >>> FieldGroups(epsilon=1.0, groups=[["age", "sex"], ["job"]]).groups
    (('age', 'sex'), ('job',))
    """

    name: ClassVar[str] = "fieldgroups"
    sentence: ClassVar[str] = "one noisy table for each group of columns"
    model: ClassVar[type[BayesNetModel]] = BayesNetModel
    without: ClassVar[str] = "BayesNet()"

    epsilon: Annotated[float, EPSILON]
    groups: Groups = None
    delta: Delta = None
    neighbours: Annotated[Neighbours, NEIGHBOURS] = "add-remove"
    rows_per_person: RowsPerPerson = 1
    threshold: Annotated[
        float,
        Option("Cells below this times the scale of the noise times log10(cells) are 0.", ge=0),
    ] = 1.9
    learning: Annotated[float, Option("Share of the budget for learning groups.", gt=0, lt=1)] = 0.3
    empty: Annotated[
        Empty, Option("Groups with nothing above the threshold: columns (drawn alone) or first.")
    ] = "columns"
    draw: DrawnRows = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_groups(self.groups or ())

    def plan(self, schema: Schema) -> Plan:
        """Return how the budget would be split on a declared schema, before anything is spent; raise if the settings do not fit it."""
        budget_plan = plan_budget(schema, self.budget, self.unit)
        groups = resolved_groups(self.groups or (), budget_plan.schema)
        if not budget_plan.settled:
            return budget_plan.plan_unsettled("tables of groups and what they are learnt from, all")
        split = split_of(
            self, budget_plan.schema.sizes, budget_plan.schema.rows or 0, budget_plan.remaining
        )
        if split.learnt:
            distances = f"distances of {len(split.pairs):,} pairs from independence"
            steps = [
                noise_step("tables of single columns, all", "groups", split.columns),
                noise_step(distances, "groups", split.distances),
                noise_step("tables of groups, all", "tables", split.tables),
            ]
        else:
            each = split.tables / len(groups)
            noise = f"standard deviation {laplace_std(self.unit.l1 / each):.4g}"
            steps = [noise_step("table of a group", "tables", each, noise=noise, times=len(groups))]
        return budget_plan.plan(steps)

    def expectation(self, schema: Schema) -> Expectation:
        """Return what to expect of the budget; columns of different groups are never linked."""
        split, sizes, rows = self.plan(schema), schema.sizes, schema.rows or 0
        if self.groups is None:
            return expect(
                self.title, split, sizes, rows, n_tables=len(sizes), linked=len(split.steps) > 1
            )
        groups = [
            [schema.names.index(n) for n in group] for group in resolved_groups(self.groups, schema)
        ]
        return expect(self.title, split, sizes, rows, n_tables=len(groups), groups=groups)

    def fit(self, data: Any, *, seed: Seed = None, progress: Progress = silent) -> BayesNetModel:
        """Return a private model of a table with a declared schema (`chaffinch.prepare`).

        It is a network in which each column has the earlier columns of its group as parents. Noise comes from the operating
        system through OpenDP. A seed is for tests and attacks: the model is then marked `test_only`.
        """
        rng = generator(seed)
        data, origin = private_data(data)
        with start_private_session(
            data, self.budget, self.unit, seed=None if seed is None else rng
        ) as counter:
            schema = counter.schema
            groups = resolved_groups(self.groups or (), schema)
            rows, how = public_rows(counter)
            split = split_of(self, schema.sizes, rows, counter.ledger.remaining)
            columns: dict[str, Margin] = {}
            if split.learnt:
                progress("learning groups", -1)
                margins, stds = measured_columns(counter, split)
                columns = dict(zip(schema.names, margins, strict=True))
                groups = learnt_groups(counter, split, margins, stds, factor=self.threshold)
            progress("measuring groups", -1)
            each = counter.ledger.remaining / len(groups) * (1 - 1e-12)
            noisy = counter.tables(groups, [each] * len(groups), why="tables")
            account = counter.ledger.account(test_only=counter.test_only, rows=rows, rows_how=how)
        tables, linked_groups = tables_of(
            noisy, self.unit.l1 / each, factor=self.threshold, empty=self.empty, columns=columns
        )
        order = [schema.names.index(name) for group in groups for name in group]
        parents: list[list[int]] = []
        for group, linked in zip(groups, linked_groups, strict=True):
            indices = [schema.names.index(name) for name in group]
            parents += [indices[:i] if linked else [] for i in range(len(indices))]
        search, score = ("groups", "distance") if split.learnt else ("given", "none")
        summary = FitSummary(self.name, search, score, privacy=account, draw=self.drawing)
        return private_model(schema, order, parents, tables, summary, origin=origin)


def check_groups(groups: Iterable[Group]) -> None:
    """Raise unless no column is in two groups and no group is empty."""
    names: set[str] = set()
    for group in groups:
        if not group:
            raise InputError("A group needs at least one column. Leave empty groups out.")
        for name in group:
            if name in names:
                raise InputError(
                    f"Column '{name}' is in groups twice. Groups may not overlap: name it once."
                )
            names.add(name)


def resolved_groups(groups: Sequence[Sequence[str]], schema: Schema) -> tuple[Group, ...]:
    """Return the groups in the order given, then each column that is in none as a group of its own.

    Raises TooLargeError, before anything is spent, for a group with more cells than noise can be put in. A column that is still to be
    discovered has one level at least.
    """
    sizes = {column.name: column.size if column.codec else 1 for column in schema.modelled}
    named = {name for group in groups for name in group}
    for name in named:
        check_name("column", name, schema.names)
    all_groups: tuple[Group, ...] = (
        *map(tuple, groups),
        *((name,) for name in schema.names if name not in named),
    )
    for group in all_groups:
        cells = prod(sizes[name] for name in group)
        if cells > MOST_CELLS:
            raise TooLargeError(
                f"The group {join_names(group)} has {cells:,} cells, over the limit of {MOST_CELLS:,}: noise goes into every "
                "one. Take a column out of the group, or declare fewer bins."
            )
    return all_groups


@dataclass(frozen=True)
class GroupSplit:
    """Amounts of epsilon: for single columns and for distances of `pairs` (0: nothing is learnt), and for the groups' tables."""

    columns: float
    distances: float
    tables: float
    pairs: tuple[tuple[int, int], ...] = ()

    @property
    def learnt(self) -> bool:
        """Whether groups are learnt."""
        return bool(self.pairs)


def split_of(settings: FieldGroups, sizes: Sequence[int], rows: int, amount: float) -> GroupSplit:
    """Return the split of an amount of epsilon.

    Learning takes its share, half of it for single columns and half for the distances of pairs that could be worth a table.
    Where there is no such pair, or noise would drown the distances, all goes to a table for each column.
    """
    not_learnt = GroupSplit(0.0, 0.0, amount)
    if settings.groups is not None:
        return not_learnt
    half = settings.learning * amount / 2
    l1 = settings.unit.l1
    pairs = usable_pairs(sizes, rows, amount - 2 * half, l1)
    clear = clear_of(len(pairs), l1 / 2 * len(pairs) / half)
    if not pairs or clear > _TELLING * rows:
        return not_learnt
    return GroupSplit(half, half, amount - 2 * half, tuple(pairs))


def usable_pairs(sizes: Sequence[int], rows: int, epsilon: float, l1: int) -> list[tuple[int, int]]:
    """Return the pairs whose table could be worth its noise: on average a count of at least the scale of the noise.

    From public numbers alone, and generous: as if half as many groups as columns were left.
    """
    scale = l1 * max(len(sizes) // 2, 1) / epsilon
    max_cells = min(rows / scale, MOST_LEARNT_CELLS)
    return [
        (i, j) for i, j in combinations(range(len(sizes)), 2) if sizes[i] * sizes[j] <= max_cells
    ]


def clear_of(many: int, scale: float) -> float:
    """Return a distance that the largest of many Laplace draws exceeds in about every other case: scale * log(many)."""
    return scale * log(max(many, 3))


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
        epsilon=counter.ledger.remaining,
        l1=counter.unit.l1,
        factor=factor,
    )
    return tuple(tuple(names[c] for c in group) for group in merged)


def chance_distance(model: Margin, stds: tuple[float, float]) -> float:
    """Return about how far a pair of independent columns is from the product of its noisy columns, in records.

    Counts of independent columns scatter around the product with a variance of about the count; the noise of the columns, of
    standard deviations `stds`, moves the product. Half the L1 distance is then 0.4 times the sum of deviations.

    Examples
    --------
    >>> chance_distance(np.full((2, 2), 100.0), (0.0, 0.0))
    16.0
    """
    total = max(float(model.sum()), 1e-300)
    rows, columns = (
        model.sum(axis=1, keepdims=True) / total,
        model.sum(axis=0, keepdims=True) / total,
    )
    variance = model + (stds[0] * columns) ** 2 + (stds[1] * rows) ** 2
    return 0.4 * float(np.sqrt(variance).sum())


def merged_groups(
    pairs: Sequence[tuple[int, int]],
    distances: NDArray[np.float64],
    clear: float,
    margins: Sequence[Margin],
    *,
    epsilon: float,
    l1: int,
    factor: float,
) -> list[list[int]]:
    """Return columns in groups: the closest pairs first, joined wherever that wins more than it costs.

    Two groups are at least as far from independence as any pair across them (summing out columns lowers the distance), so the
    pair's noisy distance is what a joint table wins; it must also exceed `clear`, which noise alone seldom does. It costs what
    the larger table loses beyond the two smaller ones, and that may be no more than half of all records. Fewer groups have less
    noise each, so passes go on while some join.
    """
    total = float(margins[0].sum()) if margins else 0.0
    group_of = {c: [c] for c in range(len(margins))}
    costs = _Costs(margins, total, epsilon, l1, factor)
    order = sorted(
        (i for i in range(len(pairs)) if distances[i] > clear), key=lambda i: (-distances[i], i)
    )
    joined = total > 0
    while joined:
        joined = False
        for i in order:
            first, second = (group_of[c] for c in pairs[i])
            if (
                first is second
                or prod(margins[c].size for c in (*first, *second)) > MOST_LEARNT_CELLS
            ):
                continue
            n_groups = len({id(group) for group in group_of.values()})
            apart = costs.table_error(first, n_groups) + costs.table_error(second, n_groups)
            together = costs.table_error([*first, *second], n_groups - 1)
            if together <= MOST_LOST * total and distances[i] > together - apart:
                first += second
                group_of.update(dict.fromkeys(second, first))
                joined = True
    unique = {id(group): sorted(group) for group in group_of.values()}
    return sorted(unique.values())


@dataclass(frozen=True)
class _Costs:
    """What the table of a group would lose to noise and to the threshold, in records."""

    margins: Sequence[Margin]
    total: float
    epsilon: float
    l1: int
    factor: float

    def table_error(self, group: Sequence[int], n_groups: int) -> float:
        """Return the expected error of a table, if its columns were independent.

        Cells below the threshold are lost with what they hold; the others are wrong by half the mean of |noise|, which is
        the scale. Columns that hang together fill fewer cells, so this is more than the true error.
        """
        model = product_of(tuple(group), self.margins, self.total)
        scale = self.l1 * n_groups / self.epsilon
        above = model >= max(threshold_of(model.size, scale, self.factor), scale)
        return float(model[~above].sum()) + 0.5 * scale * int(above.sum())


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
    linked_groups: list[bool] = []
    for table in noisy:
        kept_counts = cut(table.counts, threshold_of(table.n_cells, scale, factor))
        linked_groups.append(bool(kept_counts.any()))
        if linked_groups[-1]:
            out += _prefixes(_marginal(table, kept_counts))
        elif empty == "first":
            out += [
                Marginal((name,), (size,), np.eye(1, size)[0])
                for name, size in zip(table.columns, table.sizes, strict=True)
            ]
        else:
            for axis, name in enumerate(table.columns):
                counts = columns[name] if name in columns else _column_margin(table, axis)
                out.append(Marginal((name,), counts.shape, counts.astype(np.float64)))
    return out, linked_groups


def threshold_of(cells: int, scale: float, factor: float) -> float:
    """Return the count below which a cell is set to 0: factor * scale * log10(cells), the published rule with factor 1.9.

    Laplace noise exceeds it with a chance of c^(-0.825) / 2 at factor 1.9, so of c empty cells c^0.175 / 2 are expected to: the
    threshold keeps most noise out, not all.

    Examples
    --------
    >>> threshold_of(1000, 10.0, 1.9)
    57.0
    """
    return factor * scale * float(np.log10(max(cells, 1)))


def cut(counts: NDArray[np.int64], threshold: float) -> NDArray[np.int64]:
    """Return counts with those below a threshold set to 0; never a negative one.

    Examples
    --------
    >>> cut(np.array([-3, 4, 5, 9]), 5.0).tolist()
    [0, 0, 5, 9]
    """
    return np.where((counts >= threshold) & (counts > 0), counts, 0)


def _marginal(table: NoisyTable, kept_counts: NDArray[np.int64]) -> Marginal:
    """The cells that are left: dense if the table is small, else those above 0 in a list. Weights are floats: their sums cannot overflow."""
    dense = Marginal(table.columns, table.sizes, kept_counts.astype(np.float64))
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


def _column_margin(table: NoisyTable, axis: int) -> Margin:
    """A column of a noisy table: the sums over the others, without negative counts; all alike if nothing is left."""
    others = tuple(a for a in range(len(table.sizes)) if a != axis)
    sums = nonnegative(np.asarray(table.counts.sum(axis=others, dtype=np.float64)))
    return sums if sums.sum() > 0 else np.ones(table.sizes[axis])
