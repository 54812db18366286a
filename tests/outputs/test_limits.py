"""What is refused before any work: one step on either side of each limit."""

from __future__ import annotations

import numpy as np
import pytest

from chaffinch.errors import InputError
from chaffinch.outputs.domain import CodeColumn, Columns
from chaffinch.outputs.equations import CountTable, Problem, SumSystem, Terms
from chaffinch.outputs.evolve import (
    MOST_BYTES,
    MOST_COPIES,
    check_copies,
    check_size,
    check_start,
    check_tolerance,
    needs_tolerance,
)

COLUMNS = Columns((CodeColumn("a", 2),))
TABLE = CountTable("t", ((0, np.array([0, 1])),), np.array([1, 2]), np.array([1, 2]))


def sums(half: float) -> SumSystem:
    terms = Terms.dense((0,), (2,), np.array([[0.0], [1.0]]))
    return SumSystem("s", 1, (terms,), np.array([5.0 - half]), np.array([5.0 + half]))


def test_copies() -> None:
    check_copies(1)
    check_copies(MOST_COPIES)
    with pytest.raises(InputError, match="at least 1"):
        check_copies(0)
    with pytest.raises(InputError, match="at most 100,000"):
        check_copies(MOST_COPIES + 1)


@pytest.mark.parametrize(
    ("options", "per_cell"),
    [({}, 24), ({"population": 10}, 3 * 4 * 10), ({"copies": 100}, 4 * 100)],
)
def test_the_most_rows_are_those_that_the_message_names(
    options: dict[str, int], per_cell: int
) -> None:
    most = MOST_BYTES // (5 * per_cell)
    check_size(most, 5, **options)
    with pytest.raises(InputError, match=f"at most {most:,} rows"):
        check_size(most + 1, 5, **options)


def test_a_start_from_margins_needs_some() -> None:
    check_start("uniform", COLUMNS)
    check_start("margins", Columns((CodeColumn("a", 2, weights=np.array([1.0, 2.0])),)))
    with pytest.raises(InputError, match="A start from margins needs the margin of a column"):
        check_start("margins", COLUMNS)


def test_a_tolerance_is_for_numbers_that_are_known_in_full() -> None:
    counts, exact, printed = (Problem(COLUMNS, (one,)) for one in (TABLE, sums(0.0), sums(0.5)))
    assert [needs_tolerance(one) for one in (counts, exact, printed)] == [False, True, False]
    check_tolerance(None, counts)
    check_tolerance(0.0, counts, exact)
    with pytest.raises(InputError, match="Leave it out"):
        check_tolerance(0.001, counts, printed)
    for wrong in (-0.1, float("inf"), float("nan")):
        with pytest.raises(InputError, match="at least 0"):
            check_tolerance(wrong, exact)
