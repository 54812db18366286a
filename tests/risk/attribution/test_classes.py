"""Key cells and sets of keys, beside Python's dictionaries."""

from collections import Counter
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch._base.errors import InputError, TooLargeError
from chaffinch.risk.attribution.classes import KeyCells, count_subsets, key_subsets
from chaffinch.table.compare.classes import KeySpace

ROWS = st.lists(st.tuples(st.integers(0, 4), st.sampled_from([0, 1, 2, -5, 2**61])), max_size=30)


@settings(deadline=None)
@given(ROWS, ROWS)
def test_cells_count_what_a_dictionary_counts(
    people: list[tuple[int, int]], source: list[tuple[int, int]]
) -> None:
    """Classes 0 to 5 are given, of which some are empty in both tables (as where a third table fills them)."""
    (pc, pv), (sc, sv) = (
        np.array(rows, dtype=np.int64).reshape(-1, 2).T for rows in (people, source)
    )
    cells = KeyCells.from_codes(pc, pv, sc, sv, n_classes=6)
    every = sorted(set(people) | set(source))
    of_people, of_source = Counter(people), Counter(source)
    assert cells.cell_class.tolist() == [c for c, _ in every]
    assert cells.people.tolist() == [of_people[cell] for cell in every]
    assert cells.source.tolist() == [of_source[cell] for cell in every]
    assert [every[i] for i in cells.people_cell] == people
    assert [every[i] for i in cells.source_cell] == source
    assert cells.people_of_class.tolist() == [sum(c == k for c, _ in people) for k in range(6)]
    assert cells.source_of_class.tolist() == [sum(c == k for c, _ in source) for k in range(6)]
    tops = [max((n for (c, _), n in of_source.items() if c == k), default=0) for k in range(6)]
    assert cells.source_top.tolist() == tops


def test_cells_of_a_million_rows_and_a_hundred_thousand_levels() -> None:
    """A dense table of classes x levels would have 10^10 entries."""
    rng = np.random.default_rng(2)
    n, levels = 500_000, 100_000
    people, source = (rng.integers(0, levels, (n, 2)) for _ in range(2))
    found = KeySpace.from_tables(people, source).classes([0])
    cells = KeyCells.from_codes(
        found.ids[0], people[:, 1], found.ids[1], source[:, 1], n_classes=found.n_classes
    )
    assert len(cells.people) <= 2 * n
    both = np.concatenate([people, source])
    assert len(cells.people) == len(np.unique(both[:, 0] * levels + both[:, 1]))
    assert cells.source_of_class[found.ids[0]][:200].tolist() == [
        int((source[:, 0] == k).sum()) for k in people[:200, 0]
    ]


def test_cells_need_a_value_for_each_row() -> None:
    ids = np.zeros(2, dtype=np.int64)
    with pytest.raises(InputError, match="different lengths"):
        KeyCells.from_codes(ids, np.zeros(3, dtype=int), ids, np.zeros(2, dtype=int), n_classes=1)


def test_all_subsets() -> None:
    keys = list("abcdef")
    found = key_subsets(keys, (3, 6))
    assert len(found) == len(set(found)) == 42 == count_subsets(6, (3, 6))
    assert found == [s for size in (3, 4, 5, 6) for s in combinations(keys, size)]


def test_too_many_subsets_are_refused_with_a_way_out() -> None:
    with pytest.raises(
        TooLargeError,
        match=r"1,048,575 subsets of sizes 1 to 20, over the limit of 10,000.*give a seed",
    ):
        key_subsets(range(20), (1, 20))


def test_sampled_subsets_are_distinct_and_seeded() -> None:
    found = key_subsets(range(25), (2, 25), max_subsets=500, seed=3)
    assert len(set(found)) == len(found) == 500
    assert all(tuple(sorted(s)) == s and 2 <= len(s) <= 25 for s in found)
    assert found == key_subsets(range(25), (2, 25), max_subsets=500, seed=3)
    assert found != key_subsets(range(25), (2, 25), max_subsets=500, seed=4)
    assert [len(s) for s in found] == sorted(len(s) for s in found)


def test_sampling_almost_all_ends() -> None:
    assert len(set(key_subsets(range(5), (1, 5), max_subsets=30, seed=0))) == 30 == 2**5 - 2


def test_sampled_subsets_are_equally_likely() -> None:
    """Each of 26 subsets of 2 to 5 of 5 keys is among 5 drawn of 26 in 5/26 of 2,000 draws.

    The count has an SD of 17.6; a bound of 5.5 SDs on 26 counts fails once in a million if right.
    """
    times = Counter(
        s for seed in range(2000) for s in key_subsets(range(5), (2, 5), max_subsets=5, seed=seed)
    )
    share = 5 / 26
    bound = 5.5 * np.sqrt(2000 * share * (1 - share))
    assert len(times) == sum(comb(5, k) for k in range(2, 6)) == 26
    assert all(abs(n - 2000 * share) < bound for n in times.values())


@pytest.mark.parametrize("sizes", [(0, 2), (2, 1), (1, 4)])
def test_bad_sizes(sizes: tuple[int, int]) -> None:
    with pytest.raises(InputError, match="from 1 to the number of keys, 3"):
        key_subsets("abc", sizes)


def test_other_bad_subsets() -> None:
    with pytest.raises(InputError, match="differ"):
        key_subsets("aba", (1, 2))
    with pytest.raises(InputError, match="most must be at least 1"):
        key_subsets("abc", (1, 2), max_subsets=0)
