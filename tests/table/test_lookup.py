"""Codes that are looked up: the same as those worked out value by value, or left to `encode`, which says what is wrong."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chaffinch
from chaffinch.errors import SchemaError
from chaffinch.table.codec import OTHER, Categories, Intervals
from chaffinch.table.encode import MOST_LISTED, NumberList, encode_column, looked_up, word_codes
from chaffinch.table.schema import Column


def intervals(atoms, starts, missing=(), *, null=False, bounds=None):
    """A codec whose codes follow the numbers."""
    cuts = sorted([*((a, 0) for a in atoms), *((s, 1) for s in starts)])
    codes = {cut: i for i, cut in enumerate(cuts)}
    whole = [np.array(x, dtype=np.int64) for x in (atoms, starts)]
    knots = tuple(np.array([[0.0, 1.0], [s, s + 1.0]]) for s in starts)
    own = [
        np.array([codes[cut, kind] for cut in cut_list], dtype=np.int64)
        for kind, cut_list in enumerate((atoms, starts))
    ]
    return Intervals(*whole, knots, *own, True, null=null, missing=missing, bounds=bounds)


def code_by_hand(codec, value):
    """The code of one value, as the classes say; None where there is none."""
    if value is None:
        return (
            codec.n_values
            if codec.null
            else codec.n_values - 1
            if codec.other and not isinstance(value, str)
            else None
        )
    for i, code in reversed(list(enumerate(codec.missing))):
        if not isinstance(code, str) and code == value:
            return codec.n_values + codec.null + i
    if isinstance(codec, Categories):
        if not codec.n_values and codec.null:
            return codec.n_values
        place = next(
            (
                i
                for i, level in enumerate(codec.levels)
                if not isinstance(level, str) and level == value
            ),
            None,
        )
        return place if place is not None else len(codec.levels) if codec.other else None
    atoms, starts = codec.atoms.tolist(), codec.starts.tolist()
    if not starts:
        nearest = min(atoms, key=lambda atom: (abs(atom - value), -atom))
        return int(codec.atom_codes[atoms.index(nearest)])
    if value in atoms:
        return int(codec.atom_codes[atoms.index(value)])
    return int(
        codec.bin_codes[max([i for i, start in enumerate(starts) if start <= value], default=0)]
    )


NUMBERS = st.integers(-40, 60)
SOME = st.lists(NUMBERS, max_size=6, unique=True).map(sorted)


@given(
    SOME,
    SOME,
    st.lists(st.sampled_from([-9, 77, 5.0, 0.5, "x", float("inf")]), max_size=3, unique=True),
    st.booleans(),
    st.lists(st.none() | NUMBERS | st.sampled_from([2**62, -(2**62)])),
)
@settings(max_examples=200, deadline=None)
def test_whole_numbers(atoms, starts, missing, null, values):
    starts = [s for s in starts if s not in atoms]
    if not atoms and not starts:
        return
    codec = intervals(atoms, starts, tuple(missing), null=null)
    column = Column("x", "integer", type="int64", codec=codec)
    values = values * 40
    expected = [code_by_hand(codec, value) for value in values]
    found = looked_up(column, pa.array(values, type=pa.int64()))
    if None in expected:
        assert found is None
        with pytest.raises(SchemaError, match="has missing values"):
            encode_column(column, pa.array(values, type=pa.int64()))
    elif found is not None:
        assert found.dtype == np.uint8
        assert found.tolist() == expected
    if values and None not in expected and 16 * len(values) >= codec.number_list.length:
        assert found is not None


@given(
    st.lists(NUMBERS | st.sampled_from([0.5, 3.0, "word"]), max_size=6, unique=True),
    st.booleans(),
    st.booleans(),
    st.data(),
)
@settings(max_examples=200, deadline=None)
def test_numbers_that_are_levels(levels, other, null, data):
    codec = Categories(tuple(levels), other, null, (-3,))
    known = [level for level in levels if level != "word" and level == int(level)]
    values = data.draw(st.lists(st.none() | NUMBERS | st.sampled_from([-3, *map(int, known)])))
    column, array = (
        Column("x", "categorical", type="int64", codec=codec),
        pa.array(values * 40, type=pa.int64()),
    )
    expected = [code_by_hand(codec, value) for value in values * 40]
    found = looked_up(column, array)
    if None in expected:
        assert found is None
        with pytest.raises(SchemaError):
            encode_column(column, array)
    elif 16 * len(expected) >= codec.number_list.length:
        assert found is not None
        assert found.tolist() == expected


@pytest.mark.parametrize("index", [pa.int8(), pa.int32(), pa.uint16()])
@given(st.lists(st.none() | st.sampled_from("abcdef")), st.booleans(), st.booleans())
@settings(max_examples=60, deadline=None)
def test_words(index, values, other, null):
    codec = Categories(("c", "a", "b"), other, null, ("f",))
    column, known = Column("x", "categorical", type="string", codec=codec), word_codes(codec)
    expected = [
        known.get(value, 3 if other else None)
        if value is not None
        else (codec.n_values if null else None)
        for value in values
    ]
    words = pa.array(values, type=pa.string())
    for array in (words, words.dictionary_encode().cast(pa.dictionary(index, pa.string()))):
        found = looked_up(column, array)
        assert (found is None) == (None in expected)
        if found is not None:
            assert found.tolist() == expected


def test_a_dictionary_as_long_as_its_index_type_has_room_for_null():
    words = [f"w{i:03d}" for i in range(128)]
    array = pa.DictionaryArray.from_arrays(
        pa.array([0, None, 127], type=pa.int8()), pa.array(words)
    )
    column = Column("x", "categorical", type="string", codec=Categories(tuple(words), null=True))
    found = looked_up(column, array)
    assert found is not None
    assert found.tolist() == [0, 128, 127]
    nulls = pa.DictionaryArray.from_arrays(
        pa.array([0, 1], type=pa.int8()), pa.array(["w001", None])
    )
    again = looked_up(column, nulls)
    assert again is not None
    assert again.tolist() == [1, 128]


def test_as_many_codes_as_a_byte_has():
    column = Column("x", "integer", type="int64", codec=Categories(tuple(range(256))))
    found = looked_up(column, pa.array(list(range(256))))
    assert found is not None
    assert (found.dtype, found.tolist()) == (np.uint8, list(range(256)))
    assert looked_up(column, pa.array([256] * 99)) is None
    assert word_codes(Categories(("a",), True, False, ("?",))) == {"a": 0, OTHER: 1, "?": 2}


def test_what_lies_far_apart_or_beyond_bounds_is_left():
    far = intervals([0], [1, MOST_LISTED + 5])
    assert NumberList.of(far).length == 0
    assert NumberList.of(Categories((2**60,))).length == 0
    assert looked_up(Column("x", "integer", type="int64", codec=far), pa.array([1] * 99)) is None
    bounded = Column("x", "integer", type="int64", codec=intervals([], [0, 5], bounds=(0.0, 9.0)))
    assert looked_up(bounded, pa.array([3, 9] * 9)) is not None
    assert looked_up(bounded, pa.array([3, 10] * 9)) is None
    with pytest.raises(SchemaError, match="outside its bins"):
        encode_column(bounded, pa.array([3, 10] * 9))


def test_a_table_has_the_codes_of_its_values_one_by_one():
    rng = np.random.default_rng(0)
    data = pa.table(
        {
            "a": rng.integers(0, 90, 2000),
            "b": rng.choice(["x", "y", None], 2000),
            "c": rng.integers(10**6, 10**6 + 5000, 2000),
        }
    )
    table = chaffinch.read(data)
    for name in ("a", "c"):
        codec = table.schema[name].fitted_codec
        assert table.code(name).tolist() == [
            code_by_hand(codec, value) for value in data.column(name).to_pylist()
        ]
