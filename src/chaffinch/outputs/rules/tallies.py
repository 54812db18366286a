"""What lies behind an output, as cells of records: which record falls into which cell, and what a reader is shown of its count.

An output has several tallies: its cells, its margins and totals, and its n. Each is a cross of groups of levels, the filter folded in: a filter
on one column is a column of one group. Filters that tie columns together stay beside (`joint`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..crossing import Step
from .findings import Finding, finding

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Joint = tuple[tuple[tuple[int, ...], Mask], ...]

COUNT = "count"
"""The quantity that differencing compares first; others are "sum:COLUMN" and "fit:FORMULA"."""


@dataclass(frozen=True, eq=False, repr=False)
class OutputTally:
    """Cells of records: those of one part of an output ("cells", "totals", "n" ...), in C order of the groups of its columns.

    `steps` and `names` are the group of each level (-1 for none) of each column, and what the groups are called; `joint` filters that tie
    columns together; `labels` the cell of each record (-1 for none). A cell is `possible` unless the filter or the groups leave it no level.
    What a reader is shown of a count lies from `lo` to `hi`, ends included, rounded to `base`; `width` is how much printing leaves open: 0
    for exact counts, more for rounded ones and for percentages. `quantities` are what is published of each cell, as far as differences can
    be taken of it. `implied`: it is not printed but follows from other tallies of the output. `more_margins`: it has margins that follow
    from it and are none of the output's tallies; they are made where they are wanted (`margin`). `protected`: it is a table of counts within an
    output of another kind, whose withheld cells must not be worked out either. `sizes` are the numbers of levels of all
    columns of the data; the last level of those in `with_missing` is a missing value.
    """

    output: str
    kind: str
    part: str
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

    def __repr__(self) -> str:
        return f"OutputTally({self.output!r}, {self.part!r}, {self.size} cells)"

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of groups of each column."""
        return tuple(len(names) for names in self.names)

    @property
    def size(self) -> int:
        """The number of cells."""
        return len(self.counts)

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
    def said(self) -> bytes:
        """What two tallies have in common that say the same of the same cells."""
        return self.key + self.lo.tobytes() + self.hi.tobytes()

    def called(self, cells: Sequence[int] | Ints) -> list[str]:
        """Return the names of some cells, such as "m|rented"; the part's name where the tally has one cell."""
        if not self.shape:
            return [self.part for _ in cells]
        at = np.unravel_index(np.asarray(cells, dtype=np.int64), self.shape)
        words = (
            "|".join(n[k] for n, k in zip(self.names, place, strict=True) if n[k])
            for place in zip(*at, strict=True)
        )
        return [word or self.part for word in words]

    def named(self, cells: Mask) -> list[str]:
        """Return the names of those cells of which something is so."""
        return self.called(np.flatnonzero(cells))

    def finding(self, rule: str, where: Sequence[str], **words: Any) -> Finding:
        """Return what a rule says of the output that it is a tally of; see `findings.finding`."""
        return finding(self.output, self.kind, rule, where, **words)

    @property
    def is_shown(self) -> Mask:
        """Which cells could have records, and are not withheld."""
        return self.possible & ~self.withheld

    @property
    def leaves_out_levels(self) -> bool:
        """Whether a filter, or groups that not all levels are in, leave people out: others than those with a missing value."""
        kept = (
            group[:-1] if position in self.with_missing else group for position, group in self.steps
        )
        return bool(self.joint) or any((group < 0).any() for group in kept)

    @property
    def is_exact(self) -> bool:
        """Whether all its counts are shown as they are, so that its margins follow."""
        return self.base == 1 and not self.withheld.any()

    def levels(self, cell: int) -> dict[int, Mask]:
        """Return, for each column that defines a cell, which levels are in it."""
        at = np.unravel_index(cell, self.shape) if self.shape else ()
        return {position: group == k for (position, group), k in zip(self.steps, at, strict=True)}

    def lines(self) -> Iterator[NDArray[np.int64]]:
        """Give, for each column that is crossed, the cells as a matrix: a row for each combination of the other columns."""
        index = np.arange(self.size).reshape(self.shape)
        for axis, size in enumerate(self.shape):
            if size > 1:
                yield np.moveaxis(index, axis, -1).reshape(-1, size)


def margin(table: OutputTally, positions: Collection[int]) -> OutputTally:
    """Return the margin of a table by some of its columns, the others summed over the levels that are in a group.

    Examples
    --------
    >>> from chaffinch.outputs.document import recipes_of
    >>> from chaffinch.outputs.fields import Field, Fields
    >>> from chaffinch.outputs.rules.tallying import tallies_of
    >>> fields = Fields((Field("sex", ("f", "m")), Field("area", ("n", "s"))))
    >>> codes = np.array([[0, 0], [0, 1], [1, 1]], dtype=np.int32)
    >>> (output,) = recipes_of([{"name": "t", "kind": "table", "by": ["sex", "area"]}], fields).outputs
    >>> margin(tallies_of(output, fields, codes)[0], {1}).counts.tolist()
    [1, 2]
    """
    steps, names, at = list[Step](), list[tuple[str, ...]](), np.zeros(table.shape, dtype=np.int64)
    places = np.indices(table.shape)
    for axis, ((position, group), words) in enumerate(zip(table.steps, table.names, strict=True)):
        if position in positions:
            at = at * len(words) + places[axis]
            steps.append((position, group))
            names.append(words)
        elif (group < 0).any():
            steps.append((position, np.where(group < 0, -1, 0).astype(np.int64)))
            names.append(("",))
    of = at.ravel()
    size = int(np.prod([len(words) for words in names], dtype=np.int64))
    labels = np.where(table.labels >= 0, of[table.labels], -1)
    counts = np.bincount(of, weights=table.counts, minlength=size).astype(np.int64)
    possible = np.bincount(of, weights=table.possible, minlength=size) > 0
    return replace(
        table,
        part="margin",
        steps=tuple(steps),
        names=tuple(names),
        labels=labels,
        counts=counts,
        possible=possible,
        lo=counts,
        hi=counts,
        withheld=np.zeros(size, dtype=bool),
        implied=True,
        more_margins=False,
    )


def _joint_filters(tally: OutputTally) -> set[tuple[tuple[int, ...], bytes]]:
    return {(columns, mask.tobytes()) for columns, mask in tally.joint}


def aligned(fine: OutputTally, coarse: OutputTally) -> tuple[Ints, Mask] | None:
    """Return which coarse cell each fine cell lies in by definition (-1: in none), and which coarse cells are unions of fine ones.

    None where no coarse cell is. Definitions alone are compared, never records.
    """
    if _joint_filters(fine) != _joint_filters(coarse):
        return None
    cells, good = cells_within(fine, coarse)
    return (cells, good) if good.any() else None


def cells_within(fine: OutputTally, coarse: OutputTally) -> tuple[Ints, Mask]:
    """Return which coarse cell each fine cell lies in by definition (-1: in none), and which coarse cells are unions of fine ones but for filters that tie columns.

    Examples
    --------
    Records of a1 and a3 lie in the one cell of all records, which has others too:

    >>> from chaffinch.outputs.document import recipes_of
    >>> from chaffinch.outputs.fields import Field, Fields
    >>> from chaffinch.outputs.rules.tallying import tallies_of
    >>> fields = Fields((Field("A", ("a1", "a2", "a3")), Field("PAY", (0, 1))))
    >>> entries = [{"name": "s", "kind": "sum", "of": "PAY", "where": "A != 'a2'"}, {"name": "t", "kind": "sum", "of": "PAY"}]
    >>> some, every = (tallies_of(one, fields, np.zeros((3, 2), dtype=np.int32))[0] for one in recipes_of(entries, fields).outputs)
    >>> [part.tolist() for part in cells_within(some, every)], aligned(some, every)
    ([[0], [False]], None)
    """
    if not _joint_filters(coarse) <= _joint_filters(fine):
        return np.full(fine.size, -1, dtype=np.int64), np.zeros(coarse.size, dtype=bool)
    groups = {p: (g, len(n)) for (p, g), n in zip(fine.steps, fine.names, strict=True)}
    others = {p: (g, len(n)) for (p, g), n in zip(coarse.steps, coarse.names, strict=True)}
    maps: dict[int, Ints] = {}
    whole: dict[int, Mask] = {}
    for position in {**groups, **others}:
        some = groups.get(position) or others[position]
        everything = (np.zeros(len(some[0]), dtype=np.int64), 1)
        (of_fine, n_fine), (of_coarse, n_coarse) = (
            groups.get(position, everything),
            others.get(position, everything),
        )
        pairs = np.zeros(
            (n_fine + 1, n_coarse + 1), dtype=bool
        )  # the last row and column: in no group
        pairs[of_fine, of_coarse] = True
        single = pairs[:-1].sum(axis=1) == 1
        maps[position] = np.where(
            single & pairs[:-1, :-1].any(axis=1), pairs[:-1].argmax(axis=1), -1
        )
        # A coarse group is whole if all its levels are in fine groups, each of which lies in it entirely.
        split = (
            pairs[:-1][~single, :-1].any(axis=0)
            if (~single).any()
            else np.zeros(n_coarse, dtype=bool)
        )
        whole[position] = ~pairs[-1, :-1] & ~split & pairs[:, :-1].any(axis=0)
    good = np.ones(1, dtype=bool)
    for position, _ in coarse.steps:
        good = (good[:, None] & whole[position][None, :]).ravel()
    for position in groups:
        if position not in others:
            good = good & whole[position][0]
    place, inside = np.zeros(1, dtype=np.int64), np.ones(1, dtype=bool)
    strides = dict(zip((p for p, _ in coarse.steps), _strides(coarse.shape), strict=True))
    for position, _ in fine.steps:
        of = maps[position]
        place = (place[:, None] + np.maximum(of, 0)[None, :] * strides.get(position, 0)).ravel()
        inside = (inside[:, None] & (of >= 0)[None, :]).ravel()
    for position in others:
        if position not in groups and maps[position][0] < 0:
            inside = np.zeros_like(inside)
        elif position not in groups:
            place = place + maps[position][0] * strides[position]
    return np.where(inside, place, -1), good


def _strides(shape: tuple[int, ...]) -> list[int]:
    return [int(np.prod(shape[k + 1 :], dtype=np.int64)) for k in range(len(shape))]


def defined_within(
    inner: OutputTally, cells: Sequence[int] | Ints, outer: OutputTally, union: Mask
) -> bool:
    """Return whether cells lie within a union of another tally's cells by their definitions, not only for these records."""
    if not _joint_filters(outer) <= _joint_filters(inner):
        return False
    outside = ~union & (outer.counts > 0)
    for cell in cells:
        levels = inner.levels(int(cell))
        touched = []
        for position, group in outer.steps:
            of = np.unique(group[levels[position]] if position in levels else group)
            if of[0] < 0:
                return False
            touched.append(of)
        reached = (
            np.ravel_multi_index(np.ix_(*touched), outer.shape).ravel()
            if touched
            else np.zeros(1, dtype=np.int64)
        )
        if outside[reached].any():
            return False
    return True
