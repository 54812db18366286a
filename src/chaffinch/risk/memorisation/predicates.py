"""Do predicates that isolate a released row isolate a person? Singling out by one column or by several together.

Somebody reads predicates off the released table, each true of exactly one of its rows, and claims that each is true of exactly one person in the data
(Giomi and others, 2023, after Cohen and Nissim, 2020). A predicate is a condition on some columns: a level or a missing value equals the row's; a number
is at least the row's where that lies above the median of the release, else at most. Conditions are ranges of codes, and evaluated by loops over codes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..._base.arrays import Ints
from ..._base.compiled import jit
from ..._base.errors import InputError
from ..._base.runtime import thread_count, thread_map
from ...stats.rates import Scores
from ..attacker import ATTACKERS, Attacker
from .protocol import (
    ColumnValues,
    NotApplicableError,
    ReleaseCase,
    draw_at_most,
)

MOST = 5000
"""Predicates that are tried on people."""

DRAWS = 20_000
"""Rows and columns that are drawn to make predicates of several columns: most are true of more than one released row."""

SEVERAL = 5
"""Columns of a predicate of several, or all where there are fewer: on tables with copies five tell more than three, and hardly less than six."""

ENOUGH = 3
"""Predicates of one person that count: further ones are of the same unusual value."""


@dataclass(frozen=True, eq=False, repr=False)
class Predicates:
    """Predicates that are conjunctions of as many conditions each: the code of a column lies between `low` and `high`.

    `columns`, `low`, `high`: one row a predicate, one column a condition; columns by their place in a case. They hold values of the release.
    """

    columns: Ints
    low: Ints
    high: Ints

    def __len__(self) -> int:
        return len(self.columns)

    def take(self, which: Ints) -> Predicates:
        """Return some of the predicates."""
        return Predicates(self.columns[which], self.low[which], self.high[which])

    def distinct(self) -> Predicates:
        """Return the predicates without repetitions, in order of their first; conditions stand in order of columns."""
        conditions = np.concatenate([self.columns, self.low, self.high], axis=1)
        first = np.unique(conditions, axis=0, return_index=True)[1]
        return self.take(np.sort(first))

    def counts(
        self, codes: Ints, *, max_count: int | None = None, threads: int | None = None
    ) -> Ints:
        """Return how many rows each is true of; `codes` has one row a column. Counting ends above `most`."""
        out = np.zeros(len(self), dtype=np.int64)
        limit = codes.shape[1] if max_count is None else max_count
        self._blocks(
            lambda block, rows: count_matches(
                codes, block.columns, block.low, block.high, limit, out[rows]
            ),
            threads,
        )
        return out

    def only(self, codes: Ints, *, threads: int | None = None) -> Ints:
        """Return the row that each isolates: the only one that it is true of; -1 where that is none or several."""
        if self.columns.shape[1] == 1:
            return self._only_by_code(codes)
        out = np.full(len(self), -1, dtype=np.int64)
        self._blocks(
            lambda block, rows: only_match(codes, block.columns, block.low, block.high, out[rows]),
            threads,
        )
        return out

    def _only_by_code(self, codes: Ints) -> Ints:
        """Return the same for predicates of one column, from the counts of its codes: no predicate looks at a row."""
        out = np.full(len(self), -1, dtype=np.int64)
        for column in np.unique(self.columns):
            mine = np.flatnonzero(self.columns[:, 0] == column)
            order = np.argsort(codes[column], kind="stable")
            ordered = codes[column][order]
            first = np.searchsorted(ordered, self.low[mine, 0], side="left")
            is_single = np.searchsorted(ordered, self.high[mine, 0], side="right") - first == 1
            out[mine[is_single]] = order[first[is_single]]
        return out

    def _blocks(self, work: Callable[[Predicates, slice], None], threads: int | None) -> None:
        size = max(1, -(-len(self) // (4 * thread_count(threads))))

        def block(start: int) -> None:
            rows = slice(start, start + size)
            work(self.take(np.arange(len(self))[rows]), rows)

        thread_map(block, range(0, len(self), size), threads=threads)


def count_isolations(case: ReleaseCase, n_columns: int) -> Scores:
    """Return for each person how many predicates that isolate a released row are true of them alone, of all people: of up to three, in thirds.

    All people, members and others, stand together, so that nobody's score depends on who is a member: a difference of the two shares is
    then exact. `Predicates.counts` on one table gives the share of predicates that isolate in it.
    """
    predicates = (
        predicates_of_values(case) if n_columns == 1 else predicates_of_columns(case, n_columns)
    )
    if not len(predicates):
        raise NotApplicableError(
            "No predicate of so many columns isolates a row of the released table."
        )
    people = predicates.only(_codes(case.columns, released=False), threads=case.threads)
    times = np.bincount(people[people >= 0], minlength=case.n_people)
    return Scores(np.minimum(times, ENOUGH) / ENOUGH, np.ones(case.n_people))


def predicates_of_values(case: ReleaseCase, *, max_predicates: int = MOST) -> Predicates:
    """Return predicates of one column that isolate a released row: values that occur once, and the ends of numbers where one row has them.

    Where there are more than `most`, as many are drawn.
    """
    parts = [
        condition
        for index, column in enumerate(case.columns)
        for condition in _single_values(index, column)
    ]
    conditions = np.array(parts, dtype=np.int64).reshape(-1, 3)
    predicates = Predicates(conditions[:, [0]], conditions[:, [1]], conditions[:, [2]])
    return predicates.take(
        draw_at_most(len(predicates), max_predicates, np.random.default_rng(case.seed))
    )


def predicates_of_columns(
    case: ReleaseCase, n_columns: int, *, max_predicates: int = MOST, draws: int = DRAWS
) -> Predicates:
    """Return predicates of several columns that isolate a released row, from rows and columns that are drawn."""
    if n_columns < 1:
        raise InputError(f"A predicate is of at least 1 column. Got {n_columns}.")
    if n_columns > len(case.columns):
        raise NotApplicableError(f"The table has fewer than {n_columns} columns.")
    rng = np.random.default_rng(case.seed)
    places = rng.random((draws, len(case.columns))).argpartition(n_columns - 1, axis=1)[
        :, :n_columns
    ]
    columns = np.sort(places, axis=1).astype(np.int64)
    rows = rng.integers(0, case.n_released, draws)
    codes = _codes(case.columns, released=True)
    ranges = [_range_of(column) for column in case.columns]
    low, high = (
        np.stack([side[value] for side, value in zip(bounds, codes, strict=True)])
        for bounds in zip(*ranges, strict=True)
    )
    predicates = Predicates(
        columns, low[columns, rows[:, None]], high[columns, rows[:, None]]
    ).distinct()
    true_of_one = predicates.counts(codes, max_count=1, threads=case.threads) == 1
    isolating = predicates.take(np.flatnonzero(true_of_one))
    return isolating.take(draw_at_most(len(isolating), max_predicates, rng))


def _single_values(index: int, column: ColumnValues) -> list[tuple[int, int, int]]:
    """Return (column, low, high) of each condition on one column that is true of one released row."""
    counts = np.bincount(column.released, minlength=column.size)
    out = [(index, int(code), int(code)) for code in np.flatnonzero(counts == 1)]
    if column.numbers is None:
        return out
    known = np.flatnonzero((counts > 0) & ~np.isnan(column.numbers))
    if len(known):
        last = column.n_values - 1
        smallest, largest = int(known[0]), int(known[-1])
        out += [(index, 0, smallest)] * int(counts[smallest] == 1) + [(index, largest, last)] * int(
            counts[largest] == 1
        )
    return out


def _range_of(column: ColumnValues) -> tuple[Ints, Ints]:
    """Return for each code of a column the ends of the condition that a row with it makes."""
    low, high = (np.arange(column.size, dtype=np.int64) for _ in range(2))
    if column.numbers is None:
        return low, high
    number = column.numbers[column.released]
    known = ~np.isnan(number)
    n_values = column.n_values
    middle = float(np.median(number[known])) if known.any() else 0.0
    above = column.numbers[:n_values] > middle
    high[:n_values][above] = n_values - 1
    low[:n_values][~above] = 0
    return low, high


def _codes(columns: Sequence[ColumnValues], *, released: bool) -> Ints:
    return np.stack([column.released if released else column.people for column in columns]).astype(
        np.int64
    )


def _register(name: str, most_columns: int) -> None:
    kind = "one column" if most_columns == 1 else f"up to {most_columns} columns"
    ATTACKERS.register(
        Attacker(
            name=name,
            score=lambda case: count_isolations(case, min(most_columns, len(case.columns))),
            title=f"Singled out by {kind}",
            short=f"Singled out ({most_columns})",
            definition=(
                f"Predicates of {kind} are read off the released table, each true of one row there. A person scores a third for each that is true of "
                f"that person alone, of all people asked about, up to {ENOUGH}; the value is the mean score."
            ),
            sentence=(
                f"Predicates of {kind}, read off the released table, single out people in the data with a score of {{value}} of 100 %, and people "
                "who are not with {holdout}"
            ),
            blindness=(
                "A person is seen only if a predicate that was drawn fits; a predicate that is true of several people does not count, however near "
                "the row is, and ends of numbers isolate somebody in any table."
            ),
            singles_out=True,
            reference="Giomi, Boenisch, Wehmeyer and Tasnádi (2023); predicate singling out: Cohen and Nissim (2020)",
        )
    )


_register("singled_out", 1)
_register("singled_out_by_several", SEVERAL)


@jit(inline="always")
def _is_true(codes, row, columns, low, high, p):  # type: ignore[no-untyped-def]
    for c in range(columns.shape[1]):
        code = codes[columns[p, c], row]
        if code < low[p, c] or code > high[p, c]:
            return False
    return True


@jit
def count_matches(codes, columns, low, high, max_count, out):  # type: ignore[no-untyped-def]
    """Write the number of rows that each predicate is true of; counting ends above `most`.

    `codes`: one row a column. A predicate is true of a row if in each of its columns the code lies between `low` and `high`.
    """
    for p in range(columns.shape[0]):
        count = 0
        for row in range(codes.shape[1]):
            if _is_true(codes, row, columns, low, high, p):
                count += 1
                if count > max_count:
                    break
        out[p] = count


@jit
def only_match(codes, columns, low, high, out):  # type: ignore[no-untyped-def]
    """Write the row that a predicate is true of where it is true of one alone, else -1."""
    for p in range(columns.shape[0]):
        only = -1
        for row in range(codes.shape[1]):
            if _is_true(codes, row, columns, low, high, p):
                if only >= 0:
                    only = -1
                    break
                only = row
        out[p] = only
