"""Codes: of a table in the narrowest types, of values and back, looked up or searched for, and numbers drawn for them."""

from __future__ import annotations

import datetime
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import chaffinch
from chaffinch.errors import InputError, SchemaError
from chaffinch.table import Column
from chaffinch.table.codes import Codes, narrowest
from chaffinch.table.domain import (
    MOST_LISTED,
    OTHER,
    Categories,
    Intervals,
    NumberList,
    encode_column,
)
from chaffinch.table.drawing import BinLayout, ClassShares, draw_numbers, move_to_classes
from tests.table.conftest import again, arrow_table


def test_no_atom_edge_or_knot_rests_on_fewer_than_ten_records():
    """Every number in a codec is a value of ten records or more, or differs from every original number."""
    rng = np.random.default_rng(8)
    for values in (
        rng.normal(size=500),
        np.exp(rng.normal(size=500) * 3),
        rng.integers(0, 7, 500) + rng.random(500),
    ):
        table = chaffinch.read(pa.table({"x": values, "y": ["a", "b"] * 250}))
        codec = table.schema["x"].codec
        inner = np.concatenate([codec.starts, *(knot[1] for knot in codec.knots)])
        assert not np.isin(inner, values).any()
        assert len(codec.atoms) == 0


@given(
    st.lists(st.sampled_from([1, 2, 256, 257, 65_536, 65_537, 1 << 20]), max_size=6),
    st.integers(0, 5),
    st.integers(0, 99),
)
def test_codes_come_back_whatever_the_mix_of_widths(sizes, n_rows, seed):
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, size, n_rows).astype(np.uint32) for size in sizes]
    codes = Codes.from_columns(columns, sizes, n_rows=n_rows)
    assert len(codes) == len(sizes)
    assert codes.n_rows == n_rows
    for j, column in enumerate(columns):
        assert codes[j].dtype == narrowest(sizes[j])
        assert not codes[j].flags.writeable
        np.testing.assert_array_equal(codes[j], column)
        np.testing.assert_array_equal(codes.take(slice(None, None, -1))[j], column[::-1])


def test_what_does_not_fit_is_refused():
    with pytest.raises(InputError, match="A code lies outside its column: column 1 has 2 codes"):
        Codes.from_columns([np.array([0], np.uint8), np.array([2], np.uint8)], [1, 2])
    for columns, sizes in (
        ([np.zeros(2, np.uint8), np.zeros(3, np.uint8)], [1, 1]),
        ([np.zeros(2, np.uint8)], [1, 1]),
    ):
        with pytest.raises(InputError, match="one array for each size, all of one length"):
            Codes.from_columns(columns, sizes)


@given(
    st.lists(st.sampled_from([1, 256, 257, 65_537]), max_size=4),
    st.lists(st.integers(0, 5), min_size=1, max_size=4),
    st.integers(0, 99),
)
def test_rows_that_are_cut_apart_are_joined_again(sizes, lengths, seed):
    rng = np.random.default_rng(seed)
    n = sum(lengths)
    codes = Codes.from_columns([rng.integers(0, size, n) for size in sizes], sizes, n_rows=n)
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
        Codes.joined([Codes.from_columns([np.zeros(1, np.uint8)], [size]) for size in (1, 2)])


@given(
    st.lists(st.sampled_from([1, 256, 257, 65_537]), max_size=4),
    st.lists(st.integers(0, 5), min_size=1, max_size=4),
    st.data(),
)
def test_parts_are_gathered_as_they_come_also_of_some_columns(sizes, lengths, data):
    rng = np.random.default_rng(1)
    n = sum(lengths)
    codes = Codes.from_columns([rng.integers(0, size, n) for size in sizes], sizes, n_rows=n)
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
    codes = Codes.from_columns([np.zeros(3, np.uint8)], [1])
    for sizes, n_rows in (([2], 3), ([1], 2)):
        with pytest.raises(InputError, match="of the same columns, and no more rows"):
            Codes.gathered([codes], sizes, n_rows)
    with pytest.raises(InputError, match="all of the rows that were to come"):
        Codes.gathered([codes], [1], 4)


def test_every_arrow_type_survives():
    given_table = arrow_table()
    table = chaffinch.read(given_table)
    out = again(table)
    assert out.to_arrow().schema == given_table.schema
    kinds = {column.name: column.kind for column in table.schema}
    assert kinds["word"] == kinds["kind"] == kinds["code"] == "categorical"
    assert (kinds["flag"], kinds["day"], kinds["stamp"], kinds["real"]) == (
        "boolean",
        "date",
        "datetime",
        "float",
    )
    for name in out.columns:
        assert out.data[name].null_count == given_table[name].null_count
    assert out.data["kind"].chunk(0).dictionary.equals(given_table["kind"].chunk(0).dictionary)
    assert out.data["ranked"].chunk(0).dictionary.to_pylist() == ["low", "mid", "high"]
    assert out.data["word"].to_pylist() == given_table["word"].to_pylist()
    assert out.data["flag_gaps"].to_pylist() == given_table["flag_gaps"].to_pylist()


def test_a_decoded_number_encodes_to_its_own_code():
    table = chaffinch.read(arrow_table())
    for seed in range(5):
        back = chaffinch.read(again(table, seed).to_arrow(), schema=table.schema)
        for j, name in enumerate(table.schema.names):
            assert np.array_equal(back.codes[j], table.codes[j]), name


def test_decimals_and_steps_survive():
    out = again(chaffinch.read(arrow_table()))
    money = out.data["money"].to_numpy()
    assert np.array_equal(np.round(money, 2), money)
    assert not np.array_equal(np.round(money, 1), money)
    stamps = out.data["stamp"].cast(pa.int64()).to_numpy()
    assert (stamps % 60_000_000 == 0).all()  # whole minutes came, whole minutes go
    assert (out.data["day64"].cast(pa.int64()).to_numpy() % 86_400_000 == 0).all()


@st.composite
def columns(draw):
    n = draw(st.integers(2, 60))
    base = {
        "ints": st.integers(-(2**40), 2**40),
        "few": st.integers(0, 3),
        "floats": st.floats(-1e9, 1e9, allow_nan=False),
        "cents": st.integers(-10_000, 10_000).map(lambda x: x / 100),
        "words": st.sampled_from(["a", "b", 'ä"', "c,d"]),
        "any words": st.text(max_size=8),
        "flags": st.booleans(),
        "days": st.dates(datetime.date(1900, 1, 1), datetime.date(2100, 1, 1)),
        "times": st.datetimes(datetime.datetime(1950, 1, 1), datetime.datetime(2050, 1, 1)),
    }
    names = draw(st.lists(st.sampled_from(sorted(base)), min_size=2, max_size=4, unique=True))
    holey = draw(st.booleans())
    out = {}
    for name in names:
        one = st.none() | base[name] if holey else base[name]
        out[name] = pa.array(draw(st.lists(one, min_size=n, max_size=n)))
    return pa.table(out)


@given(columns(), st.integers(0, 3))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_codes_and_values_agree_whatever_the_table(given_table, seed):
    try:
        table = chaffinch.read(given_table)
    except chaffinch.errors.InputError as error:  # only identifiers and free text
        if "nothing to model" not in str(error):
            raise
        return
    out = again(table, seed)
    for column in table.schema.modelled:
        assert out.data[column.name].type == given_table[column.name].type
    for name in out.columns:  # decode undoes encode for categories
        if table.schema[name].kind in ("categorical", "boolean") and "pooled" not in [
            n.what for n in table.notes if n.column == name
        ]:
            assert out.data[name].to_pylist() == given_table[name].to_pylist()
    kept = tuple(c for c in table.schema if c.name in out.columns)
    if len(kept) > 1:
        back = chaffinch.read(out.to_arrow(), schema=chaffinch.Schema(kept))
        for name in back.schema.names:
            codec = table.schema[name].codec
            if codec.other and codec.null and table.schema[name].type != "string":
                continue  # (other) is no value of the type: written as null, it reads back as null
            assert np.array_equal(back.code(name), table.code(name)), name


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
def test_pooled_words_are_written_as_other_in_every_type_of_words(kind):
    words = pa.array(["a", "b"] * 30 + ["rare"], type=kind)
    table = chaffinch.read(pa.table({"w": words, "v": ["x"] * 61}))
    (note,) = [note for note in table.notes if note.what == "pooled"]
    assert "missing" not in note.sentence
    assert again(table).data["w"].to_pylist()[-1] == "(other)"


def test_pooled_numbers_are_said_to_come_out_missing():
    table = chaffinch.read(pa.table({"n": [1, 2] * 30 + [3], "v": ["x", "y"] * 30 + ["x"]}))
    assert "Output has a missing value in its place" in str(table.notes[0])


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
    for array in (values, values * 40):  # one by one, and by a list of all numbers
        expected = [code_by_hand(codec, value) for value in array]
        if None in expected:
            with pytest.raises(SchemaError, match="has missing values"):
                encode_column(column, pa.array(array, type=pa.int64()))
        else:
            codes = encode_column(column, pa.array(array, type=pa.int64()))
            assert (codes.dtype, codes.tolist()) == (np.uint8, expected)


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
    if None in expected:
        with pytest.raises(SchemaError):
            encode_column(column, array)
    else:
        assert encode_column(column, array).tolist() == expected


DOMAINS = st.builds(
    Categories,
    st.just(("a", 3)),
    st.booleans(),
    st.booleans(),
    st.sampled_from([(), (-8,), (-8, "NA")]),
)


@given(DOMAINS, st.booleans(), st.booleans())
def test_codes_of_a_wider_domain_have_the_same_names(domain, other, null):
    wide = replace(domain, other=domain.other or other, null=domain.null or null)
    codes = domain.remap(np.arange(domain.size), wide)
    assert [wide.names()[code] for code in codes] == domain.names()


@given(DOMAINS, st.sampled_from([pa.string(), pa.int64()]), st.data())
def test_a_widened_domain_keeps_of_its_room_what_is_used(domain, kind, data):
    wide = domain.widened(kind, fractions=True)
    assert wide.other
    assert wide.null_code(kind) < wide.size
    used = np.array(data.draw(st.lists(st.booleans(), min_size=wide.size, max_size=wide.size)))
    final = wide.narrowed(domain, used)
    kept = {*domain.names(), *(name for name, use in zip(wide.names(), used, strict=True) if use)}
    assert set(final.names()) == kept
    assert (final is domain) == (kept == set(domain.names()))


@given(st.lists(NUMBERS | st.just("word"), max_size=6, unique=True), st.lists(NUMBERS))
def test_codes_of_numbers_are_those_of_the_levels(levels, numbers):
    codes, known = Categories(tuple(levels)).codes_of_numbers(np.array(numbers, dtype=np.float64))
    assert known.tolist() == [number in levels for number in numbers]
    assert [levels[c] for c in codes[known]] == [n for n in numbers if n in levels]


@pytest.mark.parametrize("index", [pa.int8(), pa.int32(), pa.uint16()])
@given(st.lists(st.none() | st.sampled_from("abcdef")), st.booleans(), st.booleans())
@settings(max_examples=60, deadline=None)
def test_words(index, values, other, null):
    codec = Categories(("c", "a", "b"), other, null, ("f",))
    column, known = Column("x", "categorical", type="string", codec=codec), codec.word_codes()
    expected = [
        known.get(value, 3 if other else None)
        if value is not None
        else (codec.n_values if null else None)
        for value in values
    ]
    words = pa.array(values, type=pa.string())
    for array in (words, words.dictionary_encode().cast(pa.dictionary(index, pa.string()))):
        if None in expected:
            with pytest.raises(SchemaError, match=r"missing values|outside its levels"):
                encode_column(column, array)
        else:
            assert encode_column(column, array).tolist() == expected


def test_a_dictionary_as_long_as_its_index_type_has_room_for_null():
    words = [f"w{i:03d}" for i in range(128)]
    array = pa.DictionaryArray.from_arrays(
        pa.array([0, None, 127], type=pa.int8()), pa.array(words)
    )
    column = Column("x", "categorical", type="string", codec=Categories(tuple(words), null=True))
    assert encode_column(column, array).tolist() == [0, 128, 127]
    nulls = pa.DictionaryArray.from_arrays(
        pa.array([0, 1], type=pa.int8()), pa.array(["w001", None])
    )
    assert encode_column(column, nulls).tolist() == [1, 128]


def test_as_many_codes_as_a_byte_has():
    column = Column("x", "integer", type="int64", codec=Categories(tuple(range(256))))
    codes = encode_column(column, pa.array(list(range(256))))
    assert (codes.dtype, codes.tolist()) == (np.uint8, list(range(256)))
    assert Categories(("a",), True, False, ("?",)).word_codes() == {"a": 0, OTHER: 1, "?": 2}


def test_what_lies_far_apart_or_beyond_bounds_is_left():
    far = intervals([0], [1, MOST_LISTED + 5])
    assert NumberList.for_domain(far).length == 0
    assert NumberList.for_domain(Categories((2**60,))).length == 0
    bounded = Column("x", "integer", type="int64", codec=intervals([], [0, 5], bounds=(0.0, 9.0)))
    assert encode_column(bounded, pa.array([3, 9] * 9)).tolist() == [0, 1] * 9
    with pytest.raises(SchemaError, match="outside its bins"):
        encode_column(bounded, pa.array([3, 10] * 9))


NONE = np.empty(0)


def draw(uniform, *, avoid=NONE, step=0, scale=0.0, codes=None):
    """One bin, code 0, from 0 to 10 with the median at 2; one atom, code 1, at 99."""
    uniform = np.asarray(uniform, dtype=np.float64)
    out = np.empty(len(uniform))
    codes = (
        np.zeros(len(uniform), dtype=np.uint8)
        if codes is None
        else np.asarray(codes, dtype=np.uint8)
    )
    ranks, values = np.array([0.0, 0.5, 1.0]), np.array([0.0, 2.0, 10.0])
    bins = np.array([0, 3]), np.array([0.0]), np.array([10.0])
    atoms = np.array([False, True]), np.array([0, 0]), np.array([99.0])
    layout = BinLayout(*atoms, ranks, values, *bins, avoid, step, scale)
    draw_numbers(out, codes, uniform, layout)
    return out


def test_a_draw_is_the_quantile_function_and_an_atom_is_itself():
    uniform = np.linspace(0, 0.999, 50)
    np.testing.assert_allclose(
        draw(uniform), np.interp(uniform, [0, 0.5, 1], [0, 2, 10]), rtol=1e-12
    )
    assert draw([0.3, 0.3], codes=[1, 0]).tolist() == [99.0, pytest.approx(1.2)]


def test_draws_are_rounded_and_stay_inside():
    whole = draw(np.linspace(0, 0.999, 200), step=3)
    assert set(whole) == {0.0, 3.0, 6.0, 9.0}
    assert draw([0.31], scale=10.0).tolist() == [1.2]
    assert draw([0.999], step=4).max() <= 10.0


def test_what_is_to_be_avoided_is_not_drawn():
    drawn = draw(np.linspace(0, 0.999, 500), step=1, avoid=np.array([0.0, 1.0, 4.0]))
    assert not set(drawn) & {0.0, 1.0, 4.0}
    assert set(drawn) == {2.0, 3.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0}


@pytest.mark.parametrize("width", [1, 3])
def test_classes_get_the_shares_that_are_wanted(width):
    """Even numbers 0 to 2,999 in one bin, four classes: shares within five standard errors; a number moves by at most half a turn, but at the ends; narrow bins take of what they have."""
    rng = np.random.default_rng(1)
    wanted = np.array([0.7, 0.2, 0.1, 0.0])
    smooth = np.full(4, 0.25)
    missing = np.maximum(wanted - smooth, 0)
    before = rng.integers(0, 3_000, 40_000)
    for low, high in ((0, 2_999), (6 * width, 6 * width + 2 * width - 1)):
        out = np.clip(before, low, high)
        start = out.copy()
        codes = np.zeros(len(out), dtype=np.uint8)
        atoms = np.array([False]), np.array([0]), NONE
        knots = NONE, NONE, np.array([0]), np.array([float(low)]), np.array([float(high)])
        layout = BinLayout(*atoms, *knots, NONE, step=1)
        shares = np.minimum(wanted / smooth, 1), np.cumsum(missing) / missing.sum(), wanted / smooth
        classes = ClassShares(width, *shares)
        move_to_classes(out, codes, rng.random(len(out)), layout, np.array([7]), classes)
        assert out.min() >= low
        assert out.max() <= high
        moved = out[start != 7]
        assert not (moved == 7).any()  # fixed
        if high > 100:
            found = np.bincount(moved // width % 4, minlength=4) / len(moved)
            assert found == pytest.approx(wanted, abs=5 * 0.5 / np.sqrt(len(moved)) + 0.002)
            assert np.abs(moved - start[start != 7]).max() <= 4 * width
        else:  # turns 6 and 7: classes 2 and 3, of which 3 is not wanted
            assert (moved // width % 4 == 2).mean() > 0.8


def test_no_other_module_looks_at_the_class_of_a_domain():
    asks = re.compile(r"isinstance\([^)]*\b(Categories|Intervals|ColumnDomain)\b")
    sources = Path(chaffinch.__file__).parent.rglob("*.py")
    assert [path.name for path in sources if asks.search(path.read_text("utf-8"))] == []
