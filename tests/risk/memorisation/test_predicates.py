"""Predicates against another library's counts, brute force, and both ends of leaking."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest

from chaffinch.risk.memorisation.predicates import (
    Predicates,
    count_isolations,
    count_matches,
    only_match,
    predicates_of_columns,
    predicates_of_values,
)
from chaffinch.risk.memorisation.protocol import NotApplicableError, ReleaseCase
from chaffinch.stats.excess import excess

from .conftest import case_of, distinct_people, reference_tables, with_copies


def isolating(predicates: Predicates, case: ReleaseCase, people: slice) -> tuple[int, int]:
    """Return how many predicates are true of one of some people alone, and how often they are true of any."""
    counts = predicates.counts(np.stack([column.people[people] for column in case.columns]))
    return int((counts == 1).sum()), int(counts.sum())


def test_predicates_of_one_column_are_those_of_another_library() -> None:
    # Anonymeter 1.1.0: univariate_singling_out_queries(syn, 10000, rng): 215 queries; _evaluate_queries == 1: 60 of ori, 0 of control.
    original, synthetic, holdout = reference_tables()
    case = case_of(synthetic, original, holdout)
    predicates = predicates_of_values(case)
    assert len(predicates) == 215
    assert isolating(predicates, case, slice(120))[0] == 60
    assert isolating(predicates, case, slice(120, None))[0] == 0


@pytest.mark.parametrize(
    ("n_columns", "n", "members", "others"),
    [(2, 58, (22, 54), (8, 37)), (3, 224, (69, 201), (37, 154))],
)
def test_predicates_of_several_columns_are_those_of_another_library(
    n_columns: int, n: int, members: tuple[int, int], others: tuple[int, int]
) -> None:
    # Anonymeter 1.1.0: _query_from_record of every row of syn and every set of columns, with the medians of syn; those that are unique and
    # true of one row of syn (UniqueSinglingOutQueries); then how many are true of one row of ori and control, and the sums of counts.
    # 60,000 draws of 1,000 rows and sets miss one of them with a chance of 1e-23.
    original, synthetic, holdout = reference_tables()
    case = case_of(synthetic, original, holdout)
    predicates = predicates_of_columns(case, n_columns, max_predicates=10_000, draws=60_000)
    assert len(predicates) == n
    assert isolating(predicates, case, slice(120)) == members
    assert isolating(predicates, case, slice(120, None)) == others


def test_predicates_are_conditions_on_values(rng: np.random.Generator) -> None:
    """Every predicate by hand: the row it was read off, its condition from values and medians, evaluated on values."""
    released, members, others = (distinct_people(30, rng, 4) for _ in range(3))
    case = case_of(released, members, others, seed=np.random.SeedSequence(1))
    rows, everybody = released.to_pylist(), members.to_pylist() + others.to_pylist()
    middle = {name: float(np.median(released[name].to_numpy())) for name in ("age", "income")}

    def true(row: dict, of: dict, names: tuple[str, ...]) -> bool:
        def one(name: str) -> bool:
            if name not in middle:
                return of[name] == row[name]
            return of[name] >= row[name] if row[name] > middle[name] else of[name] <= row[name]

        return all(one(name) for name in names)

    times = np.zeros(60)
    for row in rows:
        for names in combinations(released.column_names, 2):
            if sum(true(row, other, names) for other in rows) == 1:
                matches = [i for i, person in enumerate(everybody) if true(row, person, names)]
                times[matches] += len(matches) == 1
    scores = count_isolations(
        case, 2
    )  # 20,000 draws of 180 rows and sets miss one with a chance of 1e-46
    assert scores.numerator == pytest.approx(np.minimum(times, 3) / 3)
    assert len(set(times.tolist())) > 2


def test_a_missing_value_is_a_condition_and_no_number_is_above_it() -> None:
    released = pa.table({"x": [None, *range(1, 20)], "g": ["p"] * 19 + ["q"]})
    members = pa.table({"x": [None, None, *range(1, 19)], "g": ["p"] * 20})
    case = case_of(released, members, pa.table({"x": [30] * 20, "g": ["p"] * 20}))
    predicates = predicates_of_values(case)
    # 19 numbers, the missing one, both ends, the level q.
    assert len(predicates) == 23
    counts = predicates.counts(np.stack([column.people[:20] for column in case.columns]))
    missing = predicates.low[:, 0] == case.columns[0].people[0]
    assert counts[missing].tolist() == [2]
    # "At most 1" and 18 of the numbers are true of one member; "at least 19" of none, the missing ones not among them.
    assert sorted(counts.tolist()) == [0, 0, 0, *[1] * 19, 2]


def test_members_are_singled_out_by_copies_and_nobody_by_fresh_rows(
    rng: np.random.Generator,
) -> None:
    members, others, fresh = (distinct_people(500, rng, 8) for _ in range(3))
    for share, significant in ((0.3, True), (0.0, False)):
        for n_columns in (1, 5):
            scores = count_isolations(
                case_of(with_copies(fresh, members, share), members, others), n_columns
            )
            groups = [
                (scores.numerator[part], scores.weight[part])
                for part in (slice(500), slice(500, None))
            ]
            assert ((excess(*groups, seed=1).p_value or 1.0) < 0.01) == significant


def test_nothing_to_say_is_said() -> None:
    table = pa.table({"u": ["x", "y"] * 20, "v": ["y"] * 40})
    case = case_of(table, table, table)
    with pytest.raises(NotApplicableError, match="isolates a row"):
        count_isolations(case, 2)
    with pytest.raises(NotApplicableError, match="fewer than 3 columns"):
        count_isolations(case, 3)
    with pytest.raises(NotApplicableError, match="isolates a row"):
        count_isolations(case, 1)


def test_the_only_row_of_a_range_is_found_as_by_looking_at_every_row(
    rng: np.random.Generator,
) -> None:
    codes = rng.integers(0, 40, (3, 60))
    low = rng.integers(0, 40, (200, 1))
    predicates = Predicates(rng.integers(0, 3, (200, 1)), low, low + rng.integers(0, 4, (200, 1)))
    expected = []
    for column, least, most in zip(
        predicates.columns[:, 0], low[:, 0], predicates.high[:, 0], strict=True
    ):
        rows = np.flatnonzero((codes[column] >= least) & (codes[column] <= most))
        expected.append(rows[0] if len(rows) == 1 else -1)
    assert predicates.only(codes).tolist() == expected
    assert -1 in expected
    assert len(set(expected)) > 5


def test_predicates_are_true_of_the_rows_whose_codes_lie_between() -> None:
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 6, (3, 25))
    columns = np.array([[0, 1], [1, 2], [0, 2]] * 20)
    low = rng.integers(0, 5, (60, 2))
    high = low + rng.integers(0, 3, (60, 2))
    matches = np.array(
        [
            ((codes[c] >= a[:, None]) & (codes[c] <= b[:, None])).all(axis=0)
            for c, a, b in zip(columns, low, high, strict=True)
        ]
    )
    counts, only, few = np.zeros(60, np.int64), np.zeros(60, np.int64), np.zeros(60, np.int64)
    count_matches(codes, columns, low, high, 25, counts)
    count_matches(codes, columns, low, high, 1, few)
    only_match(codes, columns, low, high, only)
    assert counts.tolist() == matches.sum(axis=1).tolist()
    assert few.tolist() == np.minimum(counts, 2).tolist()
    assert only.tolist() == [int(row.argmax()) if row.sum() == 1 else -1 for row in matches]
    assert {0, 1, 2} <= set(counts.tolist())
