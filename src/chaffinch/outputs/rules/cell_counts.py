"""What lies behind an output, as cells of records: which record falls into which cell, and what a reader is shown of its count.

An output has several tallies: its cells, its margins and totals, and its n. Each is a cross of groups of levels, the filter folded in: a filter
on one column is a column of one group. Filters that tie columns together stay beside (`joint`). A kind of output has its people counted by a `CellCounter`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property, partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..._base.arrays import Ints, Mask
from ..cells import CrossClassification, Step, unite_groups
from ..domain import MOST_CELLS, Codes, OutputDomain
from ..filters import Filter
from ..numbers import SUPPRESSED, UNKNOWN, UNSAID, count_interval
from .findings import RuleFinding, finding

if TYPE_CHECKING:
    from ..kinds.base import OutputSpec

Joint = tuple[tuple[tuple[int, ...], Mask], ...]
COUNT = "count"
"""The quantity that differencing compares first; others are "sum:COLUMN" and "fit:FORMULA"."""
Shown = Callable[[Ints], tuple[Ints, Ints, Mask]]
"""From counts to what a reader is shown of each: the least and largest it may be, and whether it is withheld."""


@dataclass(frozen=True, eq=False, repr=False)
class CellCounts:
    """Cells of records: those of one part of an output ("cells", "totals", "n" ...), in C order of the groups of its columns.

    `steps` and `names` are the group of each level (-1 for none) of each column, and what the groups are called; `joint` filters that tie
    columns together; `labels` the cell of each record (-1 for none). A cell is `possible` unless the filter or the groups leave it no level.
    What a reader is shown of a count lies from `lo` to `hi`, ends included, rounded to `base`; `width` is how much printing leaves open: 0
    for exact counts, more for rounded ones and for percentages. `quantities` are what is published of each cell, as far as differences can
    be taken of it. `implied`: it is not printed but follows from other tallies of the output. `more_margins`: it has margins that follow
    from it and are none of the output's tallies; they are made where they are wanted (`margin`). `protected`: it is a table of counts within an
    output of another kind, whose withheld cells must not be worked out either. `sizes` are the numbers of levels of all
    columns of the data; the last level of those in `with_missing` is a missing value. A record stands for `weights` people, where they are there.
    """

    output: str
    kind: str
    part_name: str
    steps: tuple[Step, ...]
    names: tuple[tuple[str, ...], ...]
    joint: Joint
    labels: Ints
    counts: Ints
    possible: Mask
    lo: Ints
    hi: Ints
    withheld: Mask
    base: int = 1
    width: int = 0
    quantities: frozenset[str] = field(default_factory=frozenset)
    implied: bool = False
    more_margins: bool = False
    protected: bool = False
    sizes: tuple[int, ...] = ()
    with_missing: tuple[int, ...] = ()
    weights: Ints | None = None

    def __repr__(self) -> str:
        return f"CellCounts({self.output!r}, {self.part_name!r}, {self.size} cells)"

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of groups of each column."""
        return tuple(len(names) for names in self.names)

    @property
    def size(self) -> int:
        """The number of cells."""
        return len(self.counts)

    @property
    def n_people(self) -> int:
        """The number of all people of the data, in a cell or not."""
        return len(self.labels) if self.weights is None else int(self.weights.sum())

    @cached_property
    def known(self) -> Ints:
        """The cell of each record; -1 also where the cell's count is withheld."""
        if not self.withheld.any():
            return self.labels
        return np.where((self.labels >= 0) & ~self.withheld[self.labels], self.labels, -1)

    @cached_property
    def key(self) -> bytes:
        """What two tallies of the same definitions, with the same cells withheld, have in common."""
        parts = (
            [(p, group.tobytes()) for p, group in self.steps],
            [(c, mask.tobytes()) for c, mask in self.joint],
        )
        return hashlib.sha256(repr((parts, self.withheld.tobytes())).encode()).digest()

    @cached_property
    def shown_key(self) -> bytes:
        """What two tallies have in common that show the same of the same cells."""
        return self.key + self.lo.tobytes() + self.hi.tobytes()

    def called(self, cells: Sequence[int] | Ints) -> list[str]:
        """Return the names of some cells, such as "m|rented"; the part's name where the tally has one cell."""
        if not self.shape:
            return [self.part_name for _ in cells]
        index = np.unravel_index(np.asarray(cells, dtype=np.int64), self.shape)
        names = (
            "|".join(n[k] for n, k in zip(self.names, groups, strict=True) if n[k])
            for groups in zip(*index, strict=True)
        )
        return [word or self.part_name for word in names]

    def named(self, cells: Mask) -> list[str]:
        """Return the names of those cells of which something is so."""
        return self.called(np.flatnonzero(cells))

    def finding(self, rule: str, where: Sequence[str], **fields: Any) -> RuleFinding:
        """Return what a rule says of the output that it is a tally of; see `findings.finding`."""
        return finding(self.output, self.kind, rule, where, **fields)

    @property
    def is_shown(self) -> Mask:
        """Which cells could have records, and are not withheld."""
        return self.possible & ~self.withheld

    @property
    def leaves_out_levels(self) -> bool:
        """Whether a filter, or groups that not all levels are in, leave people out: others than those with a missing value."""
        groups = (
            group[:-1] if position in self.with_missing else group for position, group in self.steps
        )
        return bool(self.joint) or any((group < 0).any() for group in groups)

    @property
    def is_exact(self) -> bool:
        """Whether all its counts are shown as they are, so that its margins follow."""
        return self.base == 1 and not self.withheld.any()

    def lines(self) -> Iterator[NDArray[np.int64]]:
        """Give, for each column that is crossed, the cells as a matrix: a row for each combination of the other columns."""
        index = np.arange(self.size).reshape(self.shape)
        for axis, size in enumerate(self.shape):
            if size > 1:
                yield np.moveaxis(index, axis, -1).reshape(-1, size)


def margin(table: CellCounts, positions: Collection[int]) -> CellCounts:
    """Return the margin of a table by some of its columns, the others summed over the levels that are in a group.

    Examples
    --------
    >>> from chaffinch.outputs.document import recipes_of
    >>> from chaffinch.outputs.domain import OutputColumn, OutputDomain
    >>> from chaffinch.outputs.rules.cell_counts import tallies_of
    >>> fields = OutputDomain((OutputColumn("sex", ("f", "m")), OutputColumn("area", ("n", "s"))))
    >>> codes = np.array([[0, 0], [0, 1], [1, 1]], dtype=np.int32)
    >>> (output,) = recipes_of([{"name": "t", "kind": "table", "by": ["sex", "area"]}], fields).outputs
    >>> margin(tallies_of(output, fields, codes)[0], {1}).counts.tolist()
    [1, 2]
    """
    columns = [
        (step, names) if step[0] in positions else (unite_groups(step), ("",))
        for step, names in zip(table.steps, table.names, strict=True)
        if step[0] in positions or (step[1] < 0).any()
    ]
    # Columns that are summed over are of one group, and do not move the number of a cell.
    shape = [
        len(names) if p in positions else 1
        for (p, _), names in zip(table.steps, table.names, strict=True)
    ]
    size = int(np.prod(shape, dtype=np.int64))
    margin_of = np.broadcast_to(np.arange(size).reshape(shape), table.shape).ravel()
    labels = np.where(table.labels >= 0, margin_of[table.labels], -1)
    counts = np.bincount(margin_of, weights=table.counts, minlength=size).astype(np.int64)
    possible = np.bincount(margin_of, weights=table.possible, minlength=size) > 0
    return replace(
        table,
        part_name="margin",
        steps=tuple(step for step, _ in columns),
        names=tuple(names for _, names in columns),
        labels=labels,
        counts=counts,
        possible=possible,
        lo=counts,
        hi=counts,
        withheld=np.zeros(size, dtype=bool),
        implied=True,
        more_margins=False,
    )


def _joint_filters(tally: CellCounts) -> set[tuple[tuple[int, ...], bytes]]:
    return {(columns, mask.tobytes()) for columns, mask in tally.joint}


def cells_within(fine: CellCounts, coarse: CellCounts) -> tuple[Ints, Mask]:
    """Return which coarse cell each fine cell lies in by definition (-1: in none), and which coarse cells are unions of fine ones but for filters that tie columns.

    Examples
    --------
    Records of a1 and a3 lie in the one cell of all records, which has others too:

    >>> from chaffinch.outputs.document import recipes_of
    >>> from chaffinch.outputs.domain import OutputColumn, OutputDomain
    >>> from chaffinch.outputs.rules.cell_counts import tallies_of
    >>> fields = OutputDomain((OutputColumn("A", ("a1", "a2", "a3")), OutputColumn("PAY", (0, 1))))
    >>> entries = [{"name": "s", "kind": "sum", "of": "PAY", "where": "A != 'a2'"}, {"name": "t", "kind": "sum", "of": "PAY"}]
    >>> some, every = (tallies_of(one, fields, np.zeros((3, 2), dtype=np.int32))[0] for one in recipes_of(entries, fields).outputs)
    >>> [part.tolist() for part in cells_within(some, every)]
    [[0], [False]]
    """
    if not _joint_filters(coarse) <= _joint_filters(fine):
        return np.full(fine.size, -1, dtype=np.int64), np.zeros(coarse.size, dtype=bool)
    groups, others = dict(fine.steps), dict(coarse.steps)
    maps: dict[int, Ints] = {}
    is_union: dict[int, Mask] = {}
    for position, pairs in _shared_levels(fine, coarse).items():
        single = pairs[:-1].sum(axis=1) == 1
        maps[position] = np.where(
            single & pairs[:-1, :-1].any(axis=1), pairs[:-1].argmax(axis=1), -1
        )
        # A coarse group is whole if all its levels are in fine groups, each of which lies in it entirely.
        split = pairs[:-1][~single, :-1].any(axis=0)
        is_union[position] = ~pairs[-1, :-1] & ~split & pairs[:, :-1].any(axis=0)
    # A column that only one of the two has is one group of all levels in the other.
    unions, inside = np.ones(1, dtype=bool), np.ones(1, dtype=bool)
    for position in {**others, **groups}:
        unions = (unions[:, None] & is_union[position]).ravel()
    coarse_cells = np.zeros(1, dtype=np.int64)
    strides = {p: int(np.prod(coarse.shape[k + 1 :])) for k, p in enumerate(others)}
    for position in {**groups, **others}:
        shift = np.maximum(maps[position], 0) * strides.get(position, 0)
        coarse_cells = (coarse_cells[:, None] + shift).ravel()
        inside = (inside[:, None] & (maps[position] >= 0)).ravel()
    return np.where(inside, coarse_cells, -1), unions


def _shared_levels(table: CellCounts, other: CellCounts) -> dict[int, Mask]:
    """For each column of either: which groups of one (rows) have levels in which of the other; the last row and column are for levels in no group."""
    pairs: dict[int, Mask] = {}
    groups, others = (
        {p: (group, len(names)) for (p, group), names in zip(table.steps, table.names, strict=True)}
        for table in (table, other)
    )
    for position in {**groups, **others}:
        levels = len((groups.get(position) or others[position])[0])
        everything = (np.zeros(levels, dtype=np.int64), 1)
        (row, n_rows), (column, n_columns) = (
            tables.get(position, everything) for tables in (groups, others)
        )
        pairs[position] = np.zeros((n_rows + 1, n_columns + 1), dtype=bool)
        pairs[position][row, column] = True
    return pairs


def defined_within(
    inner: CellCounts, cells: Sequence[int] | Ints, outer: CellCounts, union: Mask
) -> bool:
    """Return whether cells lie within a union of another tally's cells by their definitions, not only for these records."""
    if not _joint_filters(outer) <= _joint_filters(inner):
        return False
    outside = (~union & (outer.counts > 0)).reshape(outer.shape)
    places = np.unravel_index(np.asarray(cells, dtype=np.int64), inner.shape) if inner.shape else ()
    group_of = {position: k for (position, _), k in zip(inner.steps, places, strict=True)}
    pairs, none = _shared_levels(inner, outer), np.zeros(len(cells), dtype=np.int64)
    touched = [pairs[position][group_of.get(position, none)] for position, _ in outer.steps]
    if any(groups[:, -1].any() for groups in touched):
        return False
    return not any(
        outside[np.ix_(*(groups[cell, :-1] for groups in touched))].any()
        for cell in range(len(cells))
    )


class CellMark(Enum):
    """What is said of a cell in place of a number."""

    WITHHELD = "withheld"
    BY_RULE = "withheld if the output's threshold or bands say so"


def is_unsaid(cell: object) -> bool:
    """Return whether a number that is no count is marked as withheld."""
    is_sign = cell is None or (isinstance(cell, str) and cell.strip() in UNSAID)
    return is_sign or cell is CellMark.WITHHELD


def sum_out(cells: CrossClassification, out: tuple[bool, ...]) -> CrossClassification:
    """Return cells with some columns summed out, over the levels that are in a group."""
    columns = list(zip(cells.steps, cells.names, out, strict=True))
    remaining = [(step, names) for step, names, is_out in columns if not is_out]
    remaining += [
        (unite_groups(step), ("",)) for step, _, is_out in columns if is_out and (step[1] < 0).any()
    ]
    return CrossClassification(
        tuple(step for step, _ in remaining), tuple(names for _, names in remaining)
    )


def _all_records(cells: CrossClassification | None) -> CrossClassification:
    """All records of some cells as one; all there are without cells."""
    return (
        CrossClassification((), ()) if cells is None else sum_out(cells, (True,) * len(cells.steps))
    )


class MissingLevels:
    """Missing values as one more level of each column that has some: a level that no output has in a group.

    An output that leaves out records with a missing value is so by its definition, as by a filter on each of its columns: what two outputs
    leave out, and what lies between them, is looked at by the same rules as any other filter.

    Examples
    --------
    >>> MissingLevels((2, 3), np.array([[0, 2], [1, -1]], dtype=np.int32)).sizes
    (2, 4)
    """

    def __init__(self, sizes: Sequence[int], codes: Codes) -> None:
        self._plain = tuple(sizes)
        self.columns = tuple(int(column) for column in np.flatnonzero((codes < 0).any(axis=0)))
        self.sizes = tuple(size + (column in self.columns) for column, size in enumerate(sizes))

    def coded(self, codes: Codes) -> Codes:
        """Return codes with the last level in place of missing values."""
        return (
            np.where(codes < 0, np.array(self._plain, dtype=np.int32), codes)
            if self.columns
            else codes
        )

    def step(self, step: Step) -> Step:
        """Return a column's groups with one more level, in none, if it has missing values."""
        return (step[0], np.append(step[1], -1)) if step[0] in self.columns else step

    def mask(self, columns: tuple[int, ...], mask: Mask) -> Mask:
        """Return for each combination of levels, missing ones too, whether it is kept: none with a missing value is."""
        by_columns = mask.reshape([self._plain[column] for column in columns])
        return np.pad(by_columns, [(0, int(column in self.columns)) for column in columns]).ravel()


class CellCounter:
    """An output with the columns and records that it is counted on: those with a value in each of its columns (`own`).

    `records` are all records, those with missing values (below 0) among them; `codes` has the first level in their place. Each stands for `weights` people.
    """

    def __init__(
        self,
        output: OutputSpec,
        fields: OutputDomain,
        codes: Codes,
        *,
        own_columns: tuple[int, ...] | None = None,
        weights: Ints | None = None,
    ) -> None:
        self.output, self.records, self.weights = output, codes, weights
        self.missing = MissingLevels(fields.sizes, codes)
        self.codes = np.maximum(codes, 0) if self.missing.columns else codes
        self.own_columns = (
            tuple(c for c in output.own_columns(fields) if c in self.missing.columns)
            if own_columns is None and self.missing.columns
            else own_columns or ()
        )
        self.complete = np.asarray((codes[:, list(self.own_columns)] >= 0).all(axis=1))
        complete = self.complete if weights is None else weights[self.complete]
        self.domain = fields.with_rows(int(complete.sum()))
        if len(codes) and not self.domain.n_rows:
            raise output.fault(
                ": no record of the data has a value in each of its columns. Leave out a column that is mostly missing."
            )
        self.filter = output.filter(self.domain)

    @property
    def n_people(self) -> int:
        """The number of people of the data, those with missing values too."""
        return len(self.codes) if self.weights is None else int(self.weights.sum())

    @property
    def inside(self) -> Codes:
        """The records that have a value in each of its columns, and pass the filter."""
        return self.codes[self.filter.record_mask(self.codes) & self.complete]

    def of_part(self, spec: OutputSpec) -> CellCounter:
        """Return the same for a part of the output, which is of the same records."""
        return CellCounter(
            spec, self.domain, self.records, own_columns=self.own_columns, weights=self.weights
        )

    def tally(
        self,
        part_name: str,
        cells: CrossClassification,
        *,
        within: Filter | None = None,
        shown: Shown | None = None,
        quantities: Iterable[str] = (),
        **options: Any,
    ) -> CellCounts:
        """Return cells within a filter (the output's, if absent) as a tally; their counts are exact without `shown`."""
        within, used = self.filter if within is None else within, set(cells.positions)
        steps = [
            (p, np.where(within.levels(p), group, -1).astype(np.int64)) for p, group in cells.steps
        ]
        single = [(c[0], mask) for c, mask in within.masks if len(c) == 1 and c[0] not in used]
        steps += [(p, np.where(mask, 0, -1).astype(np.int64)) for p, mask in single]
        joint = tuple((columns, mask) for columns, mask in within.masks if len(columns) > 1)
        crossing = CrossClassification(tuple(steps), (*cells.names, *(("",) for _ in single)))
        labels, counts = self.counted(crossing, joint)
        lo, hi, withheld = (
            (counts, counts, np.zeros(crossing.size, dtype=bool))
            if shown is None
            else shown(counts)
        )
        used_columns = {*crossing.positions, *(c for columns, _ in joint for c in columns)}
        present = [
            (p, np.zeros(self.domain.sizes[p], dtype=np.int64))
            for p in self.own_columns
            if p not in used_columns
        ]
        return CellCounts(
            self.output.name,
            self.output.kind,
            part_name,
            tuple(self.missing.step(step) for step in (*crossing.steps, *present)),
            (*crossing.names, *(("",) for _ in present)),
            tuple((columns, self.missing.mask(columns, mask)) for columns, mask in joint),
            labels,
            counts,
            self._possible(crossing, joint),
            lo,
            hi,
            withheld,
            quantities=frozenset(quantities),
            sizes=self.missing.sizes,
            with_missing=self.missing.columns,
            weights=self.weights,
            **options,
        )

    def counts(
        self,
        part_name: str,
        cells: CrossClassification,
        printed: NDArray[np.object_] | None,
        **options: Any,
    ) -> CellCounts:
        """Return a tally of counts that are published: as printed, where they are there, and by the output's rules."""
        base, rounding = (
            int(getattr(self.output, "base", 1)),
            str(getattr(self.output, "rounding", "nearest")),
        )
        width = {"nearest": 2 * (base // 2), "down": base - 1, "up": base - 1}.get(
            rounding, 2 * (base - 1)
        )
        shown = partial(_show_counts, self.output, printed, self.n_people, base, rounding)
        return self.tally(
            part_name, cells, shown=shown, base=base, width=width, quantities=[COUNT], **options
        )

    def counted(self, cells: CrossClassification, joint: Joint) -> tuple[Ints, Ints]:
        """Return the cell of each record, -1 for none, and the number of records of each cell."""
        labels = self._labels(
            cells, joint, {p: self.codes[:, p] for p in range(len(self.domain))}, len(self.codes)
        )
        from ...counts.tally import count_cells  # engines read this module, and must not load it

        labels[~self.complete] = -1
        return labels, count_cells([labels], [cells.size], weights=self.weights)

    def _labels(
        self, cells: CrossClassification, joint: Joint, grid: Mapping[int, NDArray[Any]], size: int
    ) -> Ints:
        labels = cells.cell_index(grid, size)
        for columns, mask in joint:
            key = np.ravel_multi_index(
                tuple(grid[column] for column in columns), self.domain.shape(columns)
            )
            labels[~mask[key]] = -1
        return labels

    def _possible(self, cells: CrossClassification, joint: Joint) -> Mask:
        possible = np.ones(cells.shape, dtype=bool)
        for axis, ((_, group), width) in enumerate(zip(cells.steps, cells.shape, strict=True)):
            present = np.isin(np.arange(width), group)
            possible &= present.reshape([-1 if k == axis else 1 for k in range(len(cells.shape))])
        columns = sorted({*cells.positions, *(c for of_mask, _ in joint for c in of_mask)})
        size = int(np.prod(self.domain.shape(columns), dtype=object)) if joint else MOST_CELLS + 1
        if (
            size <= MOST_CELLS
        ):  # else too many to look at: a cell may then count as possible that is not
            labels = self._labels(cells, joint, self.domain.grid(columns), size)
            possible &= (
                np.bincount(labels[labels >= 0], minlength=cells.size).reshape(cells.shape) > 0
            )
        return possible.ravel()

    def n(self) -> list[CellCounts]:
        """Return the number of records after the filter, if it is published."""
        if not self.output.publishes("n") or isinstance(self.output.n, list | Mapping):
            return []
        return [self.count_all()]

    def count_all(self, cells: CrossClassification | None = None) -> CellCounts:
        """Return the number of records after the filter (and in some cells), which is told."""
        return self.tally("n", _all_records(cells), quantities=[COUNT])

    def fit(self, what: str, cells: CrossClassification | None = None) -> list[CellCounts]:
        """Return the tally of an output that is one fit on all its records (in some cells), which two populations may differ in, and n."""
        text = "".join(what.split())
        return [
            self.tally("records", _all_records(cells), quantities=[f"fit:{text}"], implied=True),
            *self.n(),
        ]

    def marked(self, names: tuple[tuple[str, ...], ...]) -> NDArray[np.object_] | None:
        """Return marks of the cells that an output without numbers withholds by name, and of the others, which its rules may withhold."""
        if not self.output.withheld:
            return None
        marks = [
            CellMark.WITHHELD
            if "|".join(labels_of_cell) in self.output.withheld
            else CellMark.BY_RULE
            for labels_of_cell in product(*names)
        ]
        return np.array(marks, dtype=object).reshape(
            [len(labels_of_groups) for labels_of_groups in names]
        )

    def numbers_shown(self, printed: NDArray[np.object_] | None) -> Shown:
        """Return what is shown of the counts behind numbers that are not counts: nothing of those withheld."""
        hidden = (
            None
            if printed is None
            else np.array([is_unsaid(cell) for cell in printed.ravel()], dtype=bool)
        )

        def shown(counts: Ints) -> tuple[Ints, Ints, Mask]:
            lo, hi, withheld = _show_counts(self.output, None, 0, 1, "nearest", counts)
            if hidden is not None:
                withheld = withheld | hidden if self.output.withheld else hidden
            return lo, hi, withheld

        return shown


def tallies_of(
    output: OutputSpec, fields: OutputDomain, codes: Codes, weights: Ints | None = None
) -> list[CellCounts]:
    """Return the tallies behind an output, that of its cells first.

    Examples
    --------
    >>> from chaffinch.outputs.document import recipes_of
    >>> from chaffinch.outputs.domain import OutputColumn
    >>> fields = OutputDomain((OutputColumn("sex", ("f", "m")),))
    >>> (output,) = recipes_of([{"name": "by sex", "kind": "table", "by": ["sex"]}], fields).outputs
    >>> [(t.part_name, t.counts.tolist()) for t in tallies_of(output, fields, np.array([[0], [0], [1]], dtype=np.int32))]
    [('cells', [2, 1]), ('total', [3])]
    """
    return output.tallies(CellCounter(output, fields, codes, weights=weights))


def _show_counts(
    output: OutputSpec,
    cells: NDArray[np.object_] | None,
    n_people: int,
    base: int,
    rounding: str,
    counts: Ints,
) -> tuple[Ints, Ints, Mask]:
    """What a reader is shown of counts: by how they are rounded, by the output's rules, and as each cell is printed."""
    shift, below, above = {
        "nearest": (base // 2, base // 2, base // 2),
        "down": (0, 0, base - 1),
        "up": (base - 1, base - 1, 0),
    }.get(rounding, (0, base - 1, base - 1))
    printed = (counts + shift) // base * base
    lo, hi = np.maximum(printed - below, 0), printed + above
    withheld = np.zeros(len(counts), dtype=bool)
    for lowest, highest in _withheld_intervals(output, n_people):
        inside = (counts >= lowest) & (counts <= highest)
        lo, hi = np.where(inside, lowest, lo), np.where(inside, highest, hi)
        withheld |= inside
    # A cell as printed says whether it is withheld; its number is that of these records.
    for index, cell in enumerate(() if cells is None else cells.ravel()):
        if cell is CellMark.BY_RULE:
            continue
        interval = _printed_interval(cell, output, n_people)
        if interval is None and withheld[index]:
            lo[index] = hi[index] = counts[index]
        elif interval is not None:
            lo[index], hi[index] = interval
        withheld[index] = interval is not None
    # Numbers as printed may be of other records than these; what is known must at least allow what is there.
    return np.minimum(lo, counts), np.maximum(hi, counts), withheld


def _withheld_intervals(output: OutputSpec, n_people: int) -> Iterator[tuple[int, int]]:
    """The least and the largest count of the cells that an output's threshold and bands withhold."""
    zeros = bool(output.suppressed_zeros)
    if output.threshold is not None:
        yield 0 if zeros else 1, output.threshold - 1
    for band in output.bands or ():
        yield count_interval(band, max_count=n_people, suppressed_zeros=zeros)


def _printed_interval(cell: object, output: OutputSpec, n_people: int) -> tuple[int, int] | None:
    """The interval that a cell as printed leaves; None where it is a number."""
    text = cell.strip().lower() if isinstance(cell, str) else None
    is_suppressed = cell is None or cell is CellMark.WITHHELD or text in SUPPRESSED
    if not is_suppressed and (text is None or text.replace(",", "").isdigit()):
        return None
    sign = None if is_suppressed else cell
    return count_interval(
        UNKNOWN if is_suppressed and output.threshold is None else sign,
        max_count=n_people,
        threshold=output.threshold,
        suppressed_zeros=bool(output.suppressed_zeros),
    )
