"""Whose row it is."""

import numpy as np
import pyarrow as pa
import pytest

import chaffinch
from chaffinch.table.persons import person_numbers


@pytest.mark.parametrize(
    ("ids", "same"),
    [
        (["a", "b", " a "], [(0, 2)]),
        ([1, 2, 1], [(0, 2)]),
        ([0.0, -0.0, 1.0], [(0, 1)]),
        (pa.array(["x", "y", "x"]).dictionary_encode(), [(0, 2)]),
        (pa.array([None, None, "a"]), []),
        ([float("nan"), float("nan"), 2.0], []),
    ],
)
def test_rows_of_one_id_have_one_number(ids, same):
    numbers = person_numbers(ids)
    equal = {(i, j) for i in range(3) for j in range(i + 1, 3) if numbers[i] == numbers[j]}
    assert equal == set(same)


def test_lists_tell_nobody():
    with pytest.raises(
        chaffinch.errors.InputError, match="cannot be told by a column of type list"
    ):
        person_numbers(pa.array([[1], [2]]))


def test_numbers_are_whole():
    assert person_numbers(np.array([5, 7, 5])).tolist() == [0, 1, 0]
