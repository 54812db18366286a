"""Matching people with source rows by their keys: the counts that measures of correct attribution are functions of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.arrays import Ints, Mask
from ..._base.errors import InputError, unknown_name
from ...counts.marginal import Marginal, SparseCounts
from ...stats.rates import Scores
from ...table.compare.classes import Classes, Keys, KeySpace, squeeze, zero_based
from .classes import KeyCells, sums_of


@dataclass(frozen=True, eq=False, repr=False)
class SourceRows:
    """Counts for batches of source rows with equal keys and value, for measures that average over the source.

    `weight`: source rows of the batch. `own_key`, `own_both`: source rows with its key, and with its key and value.
    `people_key`, `people_both`: the same of people.
    """

    weight: Ints
    own_key: Ints
    own_both: Ints
    people_key: Ints
    people_both: Ints

    @property
    def weap(self) -> NDArray[np.float64]:
        """The share of source rows with the batch's key that have its value."""
        return self.own_both / self.own_key


@dataclass(frozen=True, eq=False, repr=False)
class Match:
    """What each person shares with the source and with other people: arrays over people, none of it fit to leave.

    `n_key`, `n_both`, `n_top`: source rows with the person's key; those that have the person's sensitive value too; and those that have
    the most frequent value among them. `people_key`, `people_both`: the same of people, the person included: with the person's key,
    with key and value. `values`: the person's sensitive value, as a code. `cells`: what the counts came from. `count`: how many people each entry stands for, where equal people share one; None: one each.
    """

    n_key: Ints
    n_both: Ints
    n_top: Ints
    people_key: Ints
    people_both: Ints
    values: NDArray[Any]
    cells: KeyCells
    count: Ints | None = None

    @property
    def n_entries(self) -> int:
        """The number of entries: of people, unless equal ones share one."""
        return len(self.n_key)

    @property
    def n_people(self) -> int:
        """The number of people."""
        return self.n_entries if self.count is None else int(self.count.sum())

    def people_in(self, entries: Mask) -> int:
        """Return how many people some of the entries stand for."""
        return int(np.count_nonzero(entries) if self.count is None else self.count[entries].sum())

    def of_people(self, scores: Scores) -> Scores:
        """Return scores of entries with the weight of the people they stand for."""
        return (
            scores
            if self.count is None
            else Scores(scores.numerator * self.count, scores.weight * self.count)
        )

    @property
    def matched(self) -> Mask:
        """Whether a source row has the person's key."""
        return self.n_key > 0

    @property
    def right(self) -> Mask:
        """Whether the source rows with the person's key (at least one) all have the person's value."""
        return self.right_at(1.0)

    @property
    def unique_people(self) -> Mask:
        """Whether no other person has the person's key."""
        return self.people_key == 1

    def disclosive_at(self, tau: float) -> Mask:
        """Return whether some value has a share of at least tau among the source rows with the person's key."""
        return share(self.n_top, self.n_key) >= check_tau(tau)

    def right_at(self, tau: float) -> Mask:
        """Return whether the person's own value has such a share; for tau up to 1/2 it need not be the only one."""
        return share(self.n_both, self.n_key) >= check_tau(tau)

    def people_at(self, tau: float) -> Mask:
        """Return whether the person's own value has such a share among people with the person's key."""
        return share(self.people_both, self.people_key) >= check_tau(tau)

    @cached_property
    def people_value(self) -> Ints:
        """The number of people with the person's sensitive value, whatever their key."""
        ids, filled = squeeze(*zero_based([self.values]))
        return sums_of(ids, self.count, len(filled))[ids]

    @cached_property
    def source_rows(self) -> SourceRows:
        """The same counts from the side of the source."""
        cells = self.cells
        filled = cells.source > 0
        class_number, weight = cells.cell_class[filled], cells.source[filled]
        return SourceRows(
            weight,
            cells.source_of_class[class_number],
            weight,
            cells.people_of_class[class_number],
            cells.people[filled],
        )


def match(
    people_keys: Keys,
    people_sensitive: NDArray[Any],
    source_keys: Keys,
    source_sensitive: NDArray[Any],
) -> Match:
    """Return what each person shares with the source rows.

    `people_keys`, `source_keys`: integer codes, a matrix of rows x keys or a sequence of columns; the same code means the same value in
    both. `people_sensitive`, `source_sensitive`: integer codes; a missing key or sensitive value is a value like others.

    Examples
    --------
    Keys A A B with values 1 2 1; source A A B with values 1 1 2:

    >>> found = match(np.array([[0], [0], [1]]), np.array([1, 2, 1]), np.array([[0], [0], [1]]), np.array([1, 1, 2]))
    >>> found.n_key.tolist(), found.n_both.tolist(), found.right.tolist()
    ([2, 2, 1], [2, 0, 0], [True, False, False])
    """
    classes = KeySpace.from_tables(people_keys, source_keys).classes()
    return match_classes(classes, people_sensitive, source_sensitive)


def match_classes(
    classes: Classes,
    people_sensitive: NDArray[Any],
    source_sensitive: NDArray[Any],
    *,
    people: int = 0,
    source: int = 1,
) -> Match:
    """Return the match of two of the tables (by position) whose key classes are known: for many subsets of keys."""
    cells = KeyCells.from_codes(
        classes.ids[people],
        people_sensitive,
        classes.ids[source],
        source_sensitive,
        n_classes=classes.n_classes,
    )
    return _match_of_cells(cells, people_sensitive)


def _match_of_cells(cells: KeyCells, values: NDArray[Any], count: Ints | None = None) -> Match:
    ids, cell = cells.people_class, cells.people_cell
    return Match(
        cells.source_of_class[ids],
        cells.source[cell],
        cells.source_top[ids],
        cells.people_of_class[ids],
        cells.people[cell],
        values,
        cells,
        count,
    )


def match_counts(
    people: KeyCounts,
    source: KeyCounts,
    persons_keys: Sequence[NDArray[Any]],
    persons_sensitive: NDArray[Any],
) -> tuple[Match, Match]:
    """Return what people share with a source, both given by how many there are of each kind: of all people, and of some persons among them.

    The sensitive value is the last column of both counts. Both matches hold the counts of all people and of the whole source.
    """
    n_persons = len(persons_sensitive)
    keys = [
        np.concatenate([keys_of_persons, codes])
        for keys_of_persons, codes in zip(persons_keys, people.codes[:-1], strict=True)
    ]
    values = np.concatenate([persons_sensitive, people.codes[-1]])
    classes = KeySpace.from_tables(keys, source.codes[:-1]).classes()
    cells = KeyCells.from_codes(
        classes.ids[0],
        values,
        classes.ids[1],
        source.codes[-1],
        n_classes=classes.n_classes,
        people_count=np.concatenate([np.zeros(n_persons, dtype=np.int64), people.counts]),
        source_count=source.counts,  # persons are among the people
    )

    def entries(rows: slice, count: Ints | None) -> Match:
        keys_of_personsched = replace(
            cells, people_class=cells.people_class[rows], people_cell=cells.people_cell[rows]
        )
        return _match_of_cells(keys_of_personsched, values[rows], count)

    return entries(slice(n_persons, None), people.counts), entries(slice(n_persons), None)


def check_tau(tau: float) -> float:
    """Return tau if it is above 0 and at most 1."""
    if not 0.0 < tau <= 1.0:
        raise InputError(f"tau must be above 0 and at most 1. Got {tau}.")
    return tau


def share(matching: Ints, total: Ints) -> NDArray[np.float64]:
    """Return part / whole, 0 where whole is 0. Divided, not multiplied out: 7 of 10 then equals a tau of 0.7."""
    return np.divide(matching, total, out=np.zeros(len(matching)), where=total > 0)


@dataclass(frozen=True, eq=False, repr=False)
class KeyCounts:
    """Distinct combinations of codes, a column of codes for each of `columns`, and how many rows have each."""

    columns: tuple[str, ...]
    codes: tuple[Ints, ...]
    counts: Ints

    def summed_to(self, columns: Sequence[str]) -> KeyCounts:
        """Return the counts of some of the columns, in another order where they are given so.

        Examples
        --------
        >>> whole = KeyCounts(("a", "b"), (np.array([0, 0, 1]), np.array([5, 6, 5])), np.array([2, 3, 4]))
        >>> part = whole.summed_to(["b"])
        >>> part.codes[0].tolist(), part.counts.tolist()
        ([5, 6], [6, 3])
        """
        places = [self._position(name) for name in columns]
        tally = SparseCounts([int(self.codes[j].max(initial=0)) + 1 for j in places])
        if len(self.counts):
            tally.add([self.codes[j] for j in places], self.counts)  # type: ignore[misc]
        return counts_of_marginal(tally.marginal(tuple(columns)), columns)

    def _position(self, name: str) -> int:
        if name not in self.columns:
            raise unknown_name("column", name, self.columns)
        return self.columns.index(name)


@dataclass(frozen=True, eq=False, repr=False)
class WholeCounts:
    """The counts of all records of files, by side and sensitive column, of all keys and that column; and the records of each side."""

    cells: Mapping[tuple[str, str], KeyCounts]
    n_rows: Mapping[str, int]

    def counts_of(self, names: Sequence[str], keys: Sequence[str], sensitive: str) -> KeyCounts:
        """Return the counts of sides together, of some keys and a sensitive column, which comes last."""
        parts = [self.cells[side, sensitive].summed_to([*keys, sensitive]) for side in names]
        codes = tuple(
            np.concatenate(columns)
            for columns in zip(*(counts_of_side.codes for counts_of_side in parts), strict=True)
        )
        return KeyCounts(
            (*keys, sensitive),
            codes,
            np.concatenate([counts_of_side.counts for counts_of_side in parts]),
        )

    def with_union(self, names: Sequence[str], *, name: str) -> WholeCounts:
        """Return the counts with a side that has the records of several.

        Examples
        --------
        >>> one = KeyCounts(("a",), (np.array([0, 1]),), np.array([2, 3]))
        >>> both = WholeCounts({("x", "a"): one, ("y", "a"): one}, {"x": 5, "y": 5}).with_union(["x", "y"], name="z")
        >>> both.cells["z", "a"].counts.tolist(), both.n_rows["z"]
        ([4, 6], 10)
        """
        cells = dict(self.cells)
        for wanted in dict.fromkeys(sensitive for _, sensitive in self.cells):
            columns = self.cells[names[0], wanted].columns
            cells[name, wanted] = self.counts_of(names, columns[:-1], wanted).summed_to(columns)
        return WholeCounts(cells, {**self.n_rows, name: sum(self.n_rows[side] for side in names)})

    def column(self, side: str, name: str) -> KeyCounts:
        """Return the counts of one column of a side."""
        return next(
            cells.summed_to([name])
            for (columns, _), cells in self.cells.items()
            if columns == side and name in cells.columns
        )


def counts_of_marginal(marginal: Marginal, columns: Sequence[str]) -> KeyCounts:
    """Return the counts of a marginal's cells that occur."""
    cells, counts = marginal.nonzero()
    return KeyCounts(
        tuple(columns),
        tuple(cells[:, j].astype(np.int64) for j in range(len(columns))),
        counts.astype(np.int64),
    )
