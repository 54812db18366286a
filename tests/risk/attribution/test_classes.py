"""Key classes and cells, beside Python's tuples and dictionaries."""

from collections import Counter
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch._base.errors import InputError, TooLargeError
from chaffinch.risk.attribution import classes as module
from chaffinch.risk.attribution.classes import (
    KeyCells,
    KeySpace,
    class_ids,
    count_subsets,
    key_subsets,
    squeeze,
)

# Codes that are small, negative, or so wide that three of them in one mixed-radix number pass 2^63.
SPANS = st.sampled_from([(0, 2), (-3, 3), (0, 10**6), (0, 2**40), (-(2**63), 2**63 - 1)])


@st.composite
def tables(draw: st.DrawFn) -> list[np.ndarray]:
    spans = draw(st.lists(SPANS, min_size=1, max_size=5))
    pools = [draw(st.lists(st.integers(*span), min_size=1, max_size=4)) for span in spans]
    found = []
    for _ in range(draw(st.integers(1, 3))):
        row = st.tuples(*(st.sampled_from(pool) for pool in pools))
        rows = draw(st.lists(row, max_size=20))
        found.append(np.array(rows, dtype=np.int64).reshape(len(rows), len(spans)))
    return found


def check_ids(found: list[np.ndarray], tables: list[np.ndarray]) -> None:
    """Equal keys have equal ids and the other way round; ids have no gap."""
    keys = [tuple(row) for table in tables for row in table.tolist()]
    ids = [i for part in found for i in part.tolist()]
    assert len(ids) == len(keys)
    assert len(set(zip(keys, ids, strict=True))) == len(set(keys)) == len(set(ids))
    assert set(ids) == set(range(len(set(keys))))


@settings(deadline=None)
@given(tables())
def test_ids_are_equal_exactly_where_keys_are(given_tables: list[np.ndarray]) -> None:
    check_ids(class_ids(*given_tables), given_tables)


@settings(deadline=None)
@given(tables())
def test_ids_without_room_for_lookups(given_tables: list[np.ndarray]) -> None:
    """The way by sorting gives the same numbers."""
    usual = class_ids(*given_tables)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "ROOM", 0)
        patch.setattr(module, "SMALL_ROOM", 0)
        sorted_way = class_ids(*given_tables)
    for one, other in zip(usual, sorted_way, strict=True):
        assert one.tolist() == other.tolist()


@settings(deadline=None)
@given(tables(), st.randoms(use_true_random=False))
def test_every_subset_of_a_sweep_is_as_if_alone(
    given_tables: list[np.ndarray], random: object
) -> None:
    d = given_tables[0].shape[1]
    subsets = [s for size in range(d + 1) for s in combinations(range(d), size)]
    random.shuffle(subsets)  # type: ignore[attr-defined]
    space = KeySpace.of(*given_tables)
    swept = list(space.sweep(subsets))
    assert [s for s, _ in swept] == sorted(subsets)
    for subset, found in swept:
        part = [table[:, list(subset)] for table in given_tables]
        if sum(len(t) for t in part):
            check_ids(list(found.ids), part)
        assert found.n_classes == len({tuple(row) for table in part for row in table.tolist()})


def test_forty_columns_of_1024_levels_do_not_overflow() -> None:
    """1024^40 = 2^400: without care the first columns would be shifted out of 64 bits.

    Rows that differ in the first or the last column alone stay apart.
    """
    rng = np.random.default_rng(1)
    table = np.repeat(rng.integers(0, 1024, (50, 40)), 3, axis=0)
    table[0], table[3] = 0, 1023  # so that each column spans all levels
    table[1::3, 0] ^= 1
    table[2::3, -1] ^= 1
    check_ids(class_ids(table, table[::-1]), [table, table[::-1]])


def test_matrix_and_columns_are_the_same() -> None:
    matrix = np.array([[1, 2], [1, 3], [1, 2]])
    assert (
        class_ids(matrix)[0].tolist()
        == class_ids([matrix[:, 0], matrix[:, 1].astype(np.uint8)])[0].tolist()
        == [0, 1, 0]
    )


def test_no_key_is_one_class_and_no_row_is_none() -> None:
    assert class_ids(np.empty((3, 0), dtype=np.int64))[0].tolist() == [0, 0, 0]
    empty = KeySpace.of(
        np.empty((0, 2), dtype=np.int64), np.empty((0, 2), dtype=np.int64)
    ).classes()
    assert empty.n_classes == 0
    assert [len(ids) for ids in empty.ids] == [0, 0]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ((), "at least one table"),
        ((np.zeros(3, dtype=int),), "matrix of rows x keys"),
        ((np.zeros((3, 2)),), "array of integers"),
        (([],), "at least one column"),
        (([np.zeros(2, dtype=int), np.zeros(3, dtype=int)],), "different lengths"),
        ((np.zeros((3, 2), dtype=int), np.zeros((3, 1), dtype=int)), "same number of keys"),
        ((np.array([[2**63]], dtype=np.uint64),), "below 2\\^63"),
    ],
)
def test_bad_keys(bad: tuple, message: str) -> None:
    with pytest.raises(InputError, match=message):
        class_ids(*bad)


def test_bad_subset() -> None:
    with pytest.raises(InputError, match="numbered from 0 to 1"):
        KeySpace.of(np.zeros((2, 2), dtype=int)).classes([2])


@settings(deadline=None)
@given(st.lists(st.integers(0, 30), max_size=40), st.integers(31, 10**7))
def test_squeeze_ranks(numbers: list[int], domain: int) -> None:
    ids, filled = squeeze(np.array(numbers, dtype=np.int64), domain)
    assert filled.tolist() == sorted(set(numbers))
    assert [sorted(set(numbers)).index(n) for n in numbers] == ids.tolist()


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
    cells = KeyCells.of(pc, pv, sc, sv, n_classes=6)
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
    found = KeySpace.of(people, source).classes([0])
    cells = KeyCells.of(
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
        KeyCells.of(ids, np.zeros(3, dtype=int), ids, np.zeros(2, dtype=int), n_classes=1)


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
    found = key_subsets(range(25), (2, 25), most=500, seed=3)
    assert len(set(found)) == len(found) == 500
    assert all(tuple(sorted(s)) == s and 2 <= len(s) <= 25 for s in found)
    assert found == key_subsets(range(25), (2, 25), most=500, seed=3)
    assert found != key_subsets(range(25), (2, 25), most=500, seed=4)
    assert [len(s) for s in found] == sorted(len(s) for s in found)


def test_sampling_almost_all_ends() -> None:
    assert len(set(key_subsets(range(5), (1, 5), most=30, seed=0))) == 30 == 2**5 - 2


def test_sampled_subsets_are_equally_likely() -> None:
    """Each of 26 subsets of 2 to 5 of 5 keys is among 5 drawn of 26 in 5/26 of 2,000 draws.

    The count has an SD of 17.6; a bound of 5.5 SDs on 26 counts fails once in a million if right.
    """
    times = Counter(
        s for seed in range(2000) for s in key_subsets(range(5), (2, 5), most=5, seed=seed)
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
        key_subsets("abc", (1, 2), most=0)


def test_reprs_hold_no_small_count() -> None:
    space = KeySpace.of(np.zeros((3, 2), dtype=int))
    cells = KeyCells.of(*[np.zeros(3, dtype=np.int64)] * 4, n_classes=1)
    assert repr(space) == "KeySpace(keys: 2, rows: <10)"
    assert repr(space.classes()) == "Classes(classes: <10, rows: <10)"
    assert repr(cells) == "KeyCells(cells: <10, classes: <10)"
