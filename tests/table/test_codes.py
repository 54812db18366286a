"""Codes: each column in the narrowest type, what was given comes back, and what does not fit is refused."""

from __future__ import annotations

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
    for columns, sizes in (([np.zeros(2, np.uint8), np.zeros(3, np.uint8)], [1, 1]), ([np.zeros(2, np.uint8)], [1, 1])):
        with pytest.raises(InputError, match="one array for each size, all of one length"):
            Codes.of(columns, sizes)
