"""Impossible pairs against brute force over records and hand-worked tables."""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import chaffinch
from chaffinch.stats.intervals import wilson
from chaffinch.synth import Independent
from chaffinch.utility import impossible, marginals
from chaffinch.utility.impossible import impossible_pairs


def plain(first, second) -> tuple[float, int, int, dict[tuple[str, str], int]]:
    """Return share of rows, column pairs, cells and rows by column pair, by going through all records."""
    bad_rows: set[int] = set()
    cells = 0
    rows = {}
    for names in combinations(first.schema.names, 2):
        known = set(zip(*(first.code(n).tolist() for n in names), strict=True))
        result = list(zip(*(second.code(n).tolist() for n in names), strict=True))
        bad = [i for i, cell in enumerate(result) if cell not in known]
        cells += len({result[i] for i in bad})
        bad_rows.update(bad)
        if bad:
            rows[names] = len(bad)
    return len(bad_rows) / second.n_rows, len(rows), cells, rows


def shown(count: int) -> int | str:
    return 0 if not count else "<10" if count < 10 else int(round(count / 10) * 10)


def test_by_hand():
    # Pregnant men: 2 of 20 rows; one of them also has a value the original never has, which pairs with both others.
    original = chaffinch.read(
        pa.table(
            {
                "sex": ["f", "m"] * 50,
                "pregnant": ["yes", "no", "no", "no"] * 25,
                "town": ["a", "a", "b", "b"] * 25,
            }
        )
    )
    other = pa.table(
        {
            "sex": ["m"] * 10 + ["f"] * 10,
            "pregnant": ["yes"] * 2 + ["no"] * 18,
            "town": ["new"] + ["b"] * 19,
        }
    )
    result = impossible_pairs(original, other)
    # Row 0: a pregnant man, and a new town with either. Row 1: a pregnant man, and pregnant in b, which no one was.
    assert result.value == 2 / 20
    assert result.interval == wilson(2, 20)
    assert (result.pairs, result.total_pairs) == (3, 3)
    assert result.cells == "<10"
    assert result.worst == ()  # fewer than ten rows each


@given(st.integers(0, 10_000), st.integers(2, 40), st.integers(2, 60), st.booleans())
@settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_brute_force(coded, seed, n_first, n_second, sparse):
    rng = np.random.default_rng(seed)
    sizes = (4, 3, 6, 2)
    first, second = (
        coded([rng.integers(0, s, n) for s in sizes], sizes) for n in (n_first, n_second)
    )
    with pytest.MonkeyPatch.context() as patch:
        if sparse:
            from chaffinch.counts.counter import MemoryCounter

            patch.setattr(MemoryCounter.__init__, "__defaults__", (None, 1, None, None))
            patch.setattr(marginals, "BATCH_CELLS", 1)
            patch.setattr(impossible, "MARKED_CELLS", 1)
        result = impossible_pairs(first, second)
    value, pairs, cells, rows = plain(first, second)
    assert result.value == pytest.approx(value)
    assert (result.pairs, result.cells) == (pairs, shown(cells))
    assert {one.columns: one.share for one in result.worst} == pytest.approx(
        {k: n / n_second for k, n in rows.items() if n >= 10}
    )
    assert result.interval[0] - 1e-12 <= result.value <= result.interval[1] + 1e-12


def test_identical_tables_score_0(data):
    table = chaffinch.read(data / "cmc.csv")
    result = impossible_pairs(table, data / "cmc.csv")
    assert (result.value, result.pairs, result.cells, result.worst) == (0.0, 0, 0, ())
    assert result.interval[0] == 0.0


def test_some_of_the_original_scores_0(coded):
    rng = np.random.default_rng(1)
    codes = [rng.integers(0, 5, 200) for _ in range(3)]
    assert (
        impossible_pairs(coded(codes, [5] * 3), coded([c[:30] for c in codes], [5] * 3)).value
        == 0.0
    )


def test_independent_columns_score_badly_and_a_holdout_hardly(data):
    original = chaffinch.read(data / "adult_train.parquet")
    independent = Independent().fit(original).sample(10_000, seed=1)
    bad = impossible_pairs(original, independent)
    fresh = impossible_pairs(original, data / "adult_test.parquet")
    assert bad.value > 0.8
    assert bad.worst[0].columns == ("education", "education_num")
    assert 0.0 < fresh.value < 0.1


def test_columns_of_5000_levels(coded):
    rng = np.random.default_rng(2)
    first, second = (coded(rng.integers(0, 5000, (3, 300)), [5000] * 3) for _ in "ab")
    value, pairs, cells, _ = plain(first, second)
    result = impossible_pairs(first, second)
    assert (result.value, result.pairs, result.cells) == (value, pairs, shown(cells))


def test_bins_count_as_values():
    rng = np.random.default_rng(3)
    age = rng.integers(0, 100, 2000)
    rows = pa.table({"age": age, "child": np.where(age < 15, "yes", "no")})
    original = chaffinch.read(rows)
    turned = pa.table({"age": age, "child": np.where(age > 50, "yes", "no")})
    # Records that are wrong in the middle of a bin are all caught; those of bins that straddle 15 are not.
    expected = np.mean((age > 50) | (age < 10))
    assert impossible_pairs(original, turned).value == pytest.approx(expected, abs=0.06)


def test_one_column_does_not_apply(coded):
    table = coded([[0, 1] * 10], [2])
    result = impossible_pairs(table, table)
    assert result.reason == "a pair needs two columns and there is one"


def test_two_rows_one_level_and_missing_values(coded):
    first, second = coded([[0, 0], [0, 1]], [1, 2]), coded([[0, 0], [1, 1]], [1, 2])
    assert impossible_pairs(first, second).value == 0.0
    original = chaffinch.read(pa.table({"a": ["x", "y"] * 20, "b": pa.nulls(40, pa.string())}))
    assert impossible_pairs(original, original.data).value == 0.0
    result = impossible_pairs(
        original, pa.table({"a": ["x", None] * 20, "b": pa.nulls(40, pa.string())})
    )
    assert result.value == 0.5


def test_small_counts_do_not_show(coded):
    first = coded([[0, 1] * 500, [0, 1] * 500], [2, 2])
    second = coded([[0] * 997 + [1] * 3, [0] * 1000], [2, 2])
    result = impossible_pairs(first, second)
    plain_data = result.to_dict()
    assert (plain_data["cells"], plain_data["worst"]) == ("<10", [])
    assert json.loads(json.dumps(plain_data)) == plain_data
