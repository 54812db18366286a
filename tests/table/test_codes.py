"""Codes: each column in the narrowest type, what was given comes back, and what does not fit is refused."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaffinch._base.errors import InputError
from chaffinch.table.codes import Codes, narrowest


@given(
    st.lists(st.sampled_from([1, 2, 256, 257, 65_536, 65_537, 1 << 20]), max_size=6),
    st.integers(0, 5),
    st.integers(0, 99),
)
def test_codes_come_back_whatever_the_mix_of_widths(sizes, n_rows, seed):
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, size, n_rows).astype(np.uint32) for size in sizes]
    codes = Codes.of(columns, sizes, n_rows=n_rows)
    assert len(codes) == len(sizes)
    assert codes.n_rows == n_rows
    for j, column in enumerate(columns):
        assert codes[j].dtype == narrowest(sizes[j])
        assert not codes[j].flags.writeable
        np.testing.assert_array_equal(codes[j], column)
        np.testing.assert_array_equal(codes.take(slice(None, None, -1))[j], column[::-1])


def test_what_does_not_fit_is_refused():
    with pytest.raises(InputError, match="A code lies outside its column: column 1 has 2 codes"):
        Codes.of([np.array([0], np.uint8), np.array([2], np.uint8)], [1, 2])
    for columns, sizes in (
        ([np.zeros(2, np.uint8), np.zeros(3, np.uint8)], [1, 1]),
        ([np.zeros(2, np.uint8)], [1, 1]),
    ):
        with pytest.raises(InputError, match="one array for each size, all of one length"):
            Codes.of(columns, sizes)


@given(
    st.lists(st.sampled_from([1, 256, 257, 65_537]), max_size=4),
    st.lists(st.integers(0, 5), min_size=1, max_size=4),
    st.integers(0, 99),
)
def test_rows_that_are_cut_apart_are_joined_again(sizes, lengths, seed):
    rng = np.random.default_rng(seed)
    n = sum(lengths)
    codes = Codes.of([rng.integers(0, size, n) for size in sizes], sizes, n_rows=n)
    ends = np.cumsum([0, *lengths]).tolist()
    parts = [codes.between(start, stop) for start, stop in pairwise(ends)]
    assert [part.n_rows for part in parts] == lengths
    assert all(
        np.shares_memory(part[j], codes[j])
        for part in parts
        for j in range(len(sizes))
        if part.n_rows
    )
    again = Codes.joined(parts)
    assert again.n_rows == n
    for j in range(len(sizes)):
        np.testing.assert_array_equal(again[j], codes[j])
    assert codes.between(0, n + 9).n_rows == n


def test_codes_of_other_columns_are_not_joined():
    with pytest.raises(InputError, match="of the same columns"):
        Codes.joined([Codes.of([np.zeros(1, np.uint8)], [size]) for size in (1, 2)])


@given(
    st.lists(st.sampled_from([1, 256, 257, 65_537]), max_size=4),
    st.lists(st.integers(0, 5), min_size=1, max_size=4),
    st.data(),
)
def test_parts_are_gathered_as_they_come_also_of_some_columns(sizes, lengths, data):
    rng = np.random.default_rng(1)
    n = sum(lengths)
    codes = Codes.of([rng.integers(0, size, n) for size in sizes], sizes, n_rows=n)
    places = data.draw(st.permutations(range(len(sizes))))[:3]
    ends = np.cumsum([0, *lengths]).tolist()
    chosen = codes.columns(places)
    assert all(np.shares_memory(chosen[i], codes[j]) for i, j in enumerate(places) if n)
    again = Codes.gathered(
        (chosen.between(start, stop) for start, stop in pairwise(ends)),
        [sizes[j] for j in places],
        n,
    )
    assert again.n_rows == n
    for i, j in enumerate(places):
        np.testing.assert_array_equal(again[i], codes[j])
        assert not again[i].flags.writeable


def test_other_rows_or_columns_than_were_to_come_are_not_gathered():
    codes = Codes.of([np.zeros(3, np.uint8)], [1])
    for sizes, n_rows in (([2], 3), ([1], 2)):
        with pytest.raises(InputError, match="of the same columns, and no more rows"):
            Codes.gathered([codes], sizes, n_rows)
    with pytest.raises(InputError, match="all of the rows that were to come"):
        Codes.gathered([codes], [1], 4)
