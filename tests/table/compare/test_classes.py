"""Equal rows, numbered and looked up, beside Python's tuples and sets."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chaffinch._base.errors import InputError
from chaffinch.table.codes import Codes
from chaffinch.table.compare import classes as module
from chaffinch.table.compare.classes import KeyedRows, KeySpace, class_ids, squeeze

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
    space = KeySpace.from_tables(*given_tables)
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
    empty = KeySpace.from_tables(
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
        KeySpace.from_tables(np.zeros((2, 2), dtype=int)).classes([2])


@settings(deadline=None)
@given(st.lists(st.integers(0, 30), max_size=40), st.integers(31, 10**7))
def test_squeeze_ranks(numbers: list[int], domain: int) -> None:
    ids, filled = squeeze(np.array(numbers, dtype=np.int64), domain)
    assert filled.tolist() == sorted(set(numbers))
    assert [sorted(set(numbers)).index(n) for n in numbers] == ids.tolist()


def test_ids_are_in_the_order_of_the_codes() -> None:
    rng = np.random.default_rng(2)
    columns = [rng.integers(0, 1 << 40, 6)[rng.integers(0, 6, 100)] for _ in range(4)]
    rows = list(zip(*columns, strict=True))
    rank = {row: k for k, row in enumerate(sorted(set(rows)))}
    assert class_ids(columns)[0].tolist() == [rank[row] for row in rows]


def test_reprs_hold_no_small_count() -> None:
    space = KeySpace.from_tables(np.zeros((3, 2), dtype=int))
    assert repr(space) == "KeySpace(keys: 2, rows: <10)"
    assert repr(space.classes()) == "Classes(classes: <10, rows: <10)"
    assert repr(KeyedRows.from_chunks([codes_of([(0, 2)], (1, 2))], [2, 3], 1)) == "KeyedRows(<10)"


# Look-ups.


def codes_of(rows, tops) -> Codes:
    columns = [np.array([row[j] for row in rows], dtype=np.int64) for j in range(len(tops))]
    return Codes.from_columns(columns, [top + 1 for top in tops])


def looked_up(first, second, tops) -> tuple[int, int]:
    """Return what a look-up gives for rows of one table in another."""
    sizes = [top + 1 for top in tops]
    return KeyedRows.from_chunks([codes_of(first, tops)], sizes, len(first)).look_up(
        codes_of(second, tops)
    )


@st.composite
def two_tables(draw):
    """Columns of few or of very many levels, so that rows are one word or several; the second table repeats rows of the first."""
    tops = draw(
        st.lists(st.sampled_from([1, 2, 3, 255, 65_536, (1 << 32) - 2]), min_size=1, max_size=6)
    )
    row = st.tuples(*(st.integers(0, top) for top in tops))
    first = draw(st.lists(row, max_size=40))
    second = draw(st.lists(st.one_of(row, st.sampled_from(first)) if first else row, max_size=40))
    return first, second, tops


@given(two_tables())
@settings(max_examples=300, deadline=None)
def test_rows_are_found_exactly_where_a_set_has_them(tables) -> None:
    first, second, tops = tables
    known = set(first)
    assert looked_up(first, second, tops) == (sum(row in known for row in second), len(second))
    assert looked_up(first, first, tops) == (len(first), len(first))


def test_rows_whose_words_differ_in_high_bits_alone_are_told_apart() -> None:
    """Rows that a weak hash sends to one slot: what is found is still exact, and each is found."""
    first = [(i << 20, 0) for i in range(4_000)]
    tops = ((1 << 32) - 2, 1)
    assert looked_up(first, first, tops) == (4_000, 4_000)
    assert looked_up(first, [(high + 1, low) for high, low in first], tops) == (0, 4_000)


def test_tables_of_other_columns_are_refused() -> None:
    rows = KeyedRows.from_chunks([codes_of([(0, 0)], (1, 1))], [2, 2], 1)
    with pytest.raises(InputError, match=r"same number of columns\. Got 2 and 1"):
        rows.look_up(codes_of([(0,)], (1,)))


@given(
    st.integers(0, 10**6),
    st.lists(st.integers(0, 60), min_size=1, max_size=4),
    st.integers(0, 60),
    st.sampled_from([8, 64, 1 << 22]),
)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_as_a_set_of_rows_finds_them_in_a_slice(monkeypatch, seed, lengths, drawn, limit) -> None:
    monkeypatch.setattr(module, "MAX_KEYED", limit)
    rng = np.random.default_rng(seed)
    tops = (2, 3, 299)
    *chunks, second = (
        [tuple(row) for row in rng.integers(0, np.array(tops) + 1, (n, 3)).tolist()]
        for n in (*lengths, drawn)
    )
    keyed = KeyedRows.from_chunks(
        (codes_of(rows, tops) for rows in chunks), (3, 4, 300), sum(lengths)
    )
    known = {row for rows in chunks for row in rows}
    chosen = module._in_slice(codes_of(second, tops), keyed.bits)
    inside = [row for row, is_in in zip(second, chosen, strict=True) if is_in]
    assert keyed.look_up(codes_of(second, tops)) == (
        sum(row in known for row in inside),
        len(inside),
    )
    assert keyed.all_rows == (sum(lengths) <= limit)


def test_a_slice_holds_its_share_of_rows_and_estimates_the_whole(monkeypatch) -> None:
    """20,000 rows of which half are copies, one in eight looked up: 2,500 of them, 1,250 equal; six standard deviations are 280 and 150."""
    monkeypatch.setattr(module, "MAX_KEYED", 2_500)
    rng = np.random.default_rng(1)
    sizes = (50_000, 60_000)
    original = Codes.from_columns([rng.integers(0, size, 20_000) for size in sizes], sizes)
    fresh = Codes.from_columns([rng.integers(0, size, 20_000) for size in sizes], sizes)
    half = np.arange(20_000) % 2 == 0
    synthetic = Codes.from_columns([np.where(half, original[j], fresh[j]) for j in range(2)], sizes)
    keyed = KeyedRows.from_chunks([original], sizes, 20_000)
    equal, compared = keyed.look_up(synthetic)
    assert keyed.bits == 3
    assert compared == pytest.approx(2_500, abs=280)
    assert equal == pytest.approx(1_250, abs=220)
