"""What a memorisation test looks at: the released rows and people, coded together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..._base.arrays import Floats, Ints
from ..._base.errors import unknown_name
from ..._base.masking import masked_count
from ..._base.runtime import SharedWork
from ...table.compare.classes import KeySpace
from ...table.compare.values import CodedTables
from ..settings import Parts

MOST_ROWS = 20_000
"""Rows that tests by distance look for neighbours among; of more, so many are drawn at random."""


class NotApplicableError(Exception):
    """Why a test says nothing about a table; its words stand in the result."""


class NobodyConcernedError(NotApplicableError):
    """A test is about nobody, as one of rare values where none is rare: no excess is possible, whoever was in the data."""


@dataclass(frozen=True, eq=False, repr=False)
class ColumnValues:
    """One column of the released rows and of people, numbered together; it holds records, and stays inside.

    `released`, `people`: a code for each row, 0 to `size` - 1; kinds of missing values have those from `n_values` on. `numbers`: the number
    that each code stands for, NaN where it is missing; None for categories.
    """

    name: str
    released: NDArray[np.integer]
    people: NDArray[np.integer]
    size: int
    n_values: int
    numbers: Floats | None = None

    @classmethod
    def from_tables(
        cls, coded: CodedTables, name: str, released: Sequence[str], people: Sequence[str]
    ) -> ColumnValues:
        """Return a column of coded tables, by the names of those that were released and of those of people."""
        column = coded.column(name)
        grid = column.grid
        is_value = np.arange(grid.size) < grid.n_values
        return cls(
            name,
            np.concatenate([column.codes[side] for side in released]),
            np.concatenate([column.codes[side] for side in people]),
            grid.size,
            grid.n_values,
            np.where(is_value, grid.numbers, np.nan) if grid.labels is None else None,
        )

    @property
    def numeric(self) -> bool:
        """Whether its values are numbers, which have a distance."""
        return self.numbers is not None

    def number_range(self, codes: NDArray[np.integer]) -> tuple[float, float]:
        """Return the lowest number of some codes, and how wide their range is: 0 and 1 without numbers, 1 wide where there is one number."""
        numbers = np.zeros(0) if self.numbers is None else self.numbers[codes]
        known = numbers[~np.isnan(numbers)]
        return (float(known.min()), float(np.ptp(known)) or 1.0) if len(known) else (0.0, 1.0)

    def take(self, people: Ints) -> ColumnValues:
        """Return the column with people in another order, or some of them."""
        return ColumnValues(
            self.name, self.released, self.people[people], self.size, self.n_values, self.numbers
        )


@dataclass(frozen=True, eq=False, repr=False)
class ReleaseCase(SharedWork):
    """A released table and people, some of whom it was made from; a test is not told who, nor is that in their order.

    Scores that do not depend on who is a member make the comparison of members with others exact: any choice of members would have been
    scored the same.

    Parameters
    ----------
    columns
        The values of released rows and of people.
    n_released, n_people
        Their numbers.
    keys
        The columns that an outsider knows, where some were named.
    parts
        Two sets of columns that an outsider has in two files, where they were named.
    seed
        For draws of a test's own.
    release_of
        The number of the release that each released row is of, from 0 on, where there are several; None where there is one.
    """

    columns: tuple[ColumnValues, ...]
    n_released: int
    n_people: int
    keys: tuple[str, ...] = ()
    seed: np.random.SeedSequence = field(default_factory=lambda: np.random.SeedSequence(0))
    threads: int | None = None
    parts: Parts | None = None
    release_of: Ints | None = None

    @classmethod
    def from_tables(
        cls,
        coded: CodedTables,
        released: Sequence[str],
        people: Sequence[str],
        *,
        keys: Sequence[str] = (),
        parts: Parts | None = None,
        seed: np.random.SeedSequence | None = None,
        threads: int | None = None,
    ) -> ReleaseCase:
        """Return the case of released tables and of tables of people, by name, rows in the order of the tables."""
        names = coded.tables[released[0]].schema.names
        columns = tuple(ColumnValues.from_tables(coded, name, released, people) for name in names)
        root = np.random.SeedSequence(0) if seed is None else seed
        sizes = [coded.tables[side].n_rows for side in released]
        return cls(
            columns,
            sum(sizes),
            sum(coded.tables[side].n_rows for side in people),
            tuple(keys),
            root,
            threads,
            parts,
            np.repeat(np.arange(len(sizes)), sizes) if len(sizes) > 1 else None,
        )

    def take(self, people: Ints) -> ReleaseCase:
        """Return the case with people in another order, or some of them."""
        return replace(
            self,
            columns=tuple(column.take(people) for column in self.columns),
            n_people=len(people),
            _shared={},
        )

    def named(self, names: Sequence[str]) -> tuple[ColumnValues, ...]:
        """Return some of the columns."""
        by_name = {column.name: column for column in self.columns}
        for name in names:
            if name not in by_name:
                raise unknown_name("column", name, by_name)
        return tuple(by_name[name] for name in names)

    def classes(self, names: Sequence[str] | None = None) -> tuple[Ints, Ints, int]:
        """Return the class of each released row and of each person, equal where all (or the named) columns are, and the number of classes."""
        columns = self.columns if names is None else self.named(names)
        space = KeySpace.from_tables(
            [column.released for column in columns], [column.people for column in columns]
        )
        classes = space.classes()
        released, people = classes.ids
        return released, people, classes.n_classes

    @cached_property
    def whole_rows(self) -> tuple[Ints, Ints, int]:
        """The classes of whole rows: worked out once for all tests of them."""
        return self.classes()

    def __repr__(self) -> str:
        return (
            f"ReleaseCase({len(self.columns)} columns, released: {masked_count(self.n_released)}, "
            f"people: {masked_count(self.n_people)})"
        )


def draw_at_most(n: int, max_rows: int, rng: np.random.Generator) -> Ints:
    """Return all numbers below n, or so many of them at random, in rising order."""
    return np.arange(n) if n <= max_rows else np.sort(rng.choice(n, max_rows, replace=False))
