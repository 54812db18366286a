"""Rows chosen by a keyed hash."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chaffinch
from chaffinch.errors import InputError
from chaffinch.table.align import align
from chaffinch.table.groups import GROUP, GROUPS, group_column
from chaffinch.table.sample import (
    choose_people,
    choose_rows,
    choose_slice,
    hashes_of_places,
    hashes_of_values,
)
from chaffinch.table.sources import open_source


def words_with_a_rare_one(n: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "word": pa.array(
                np.array(["a", "b", "rare", "c"])[rng.choice(4, n, p=[0.4, 0.4, 0.01, 0.19])],
                mask=rng.random(n) < 0.1,
            ),
            "number": pa.array(rng.normal(0, 1, n).round(2), mask=rng.random(n) < 0.05),
        }
    )


def long(data: pa.Table, rows: int, *others: pa.Table):
    def source(table: pa.Table):
        return replace(
            open_source(table),
            read=lambda columns: iter(
                (table if columns is None else table.select(list(columns))).to_batches(rows)
            ),
        )

    scanned = replace(chaffinch.scan(data), source=source(data))
    return align(scanned, *map(source, others))


@settings(max_examples=10, deadline=None)
@given(
    rows=st.integers(1, 2000), by=st.sampled_from(["place", "values"]), key=st.integers(0, 1 << 100)
)
def test_the_same_rows_are_chosen_whatever_the_batches(rows, by, key):
    data = words_with_a_rare_one(1500, 1)
    (whole,), (parts,) = long(data, 5000), long(data, rows)
    first, second = (
        choose_rows({"x": table}, 300, key=key, by=by)["x"] for table in (whole, parts)
    )
    assert first.data.to_pylist() == second.data.to_pylist()
    assert 0 < first.n_rows < 1500


def test_places_are_a_simple_random_sample():
    # 2^20 rows, a share of 1/8: within five standard deviations, once in two million; so for pairs of neighbours
    chosen = hashes_of_places(0, 1 << 20, 42) < np.uint64(1 << 61)
    n, p = 1 << 20, 1 / 8
    assert abs(chosen.sum() - n * p) < 5 * np.sqrt(n * p * (1 - p))
    both = (chosen[1:] & chosen[:-1]).sum()
    assert abs(both - n * p**2) < 5 * np.sqrt(n * p**2 * (1 + 2 * p - 3 * p**2))
    assert (chosen != (hashes_of_places(0, 1 << 20, 43) < np.uint64(1 << 61))).any()


def test_hashes_of_values_are_equal_exactly_where_rows_are_across_tables():
    first, second = align(
        chaffinch.read(words_with_a_rare_one(3000, 1)), words_with_a_rare_one(3000, 2)
    )
    rows = [tuple(row.values()) for table in (first, second) for row in table.data.to_pylist()]
    hashes = np.concatenate([hashes_of_values(table, 7) for table in (first, second)])
    of = {}
    for row, one in zip(rows, hashes.tolist(), strict=True):
        assert of.setdefault(row, one) == one
    assert len(set(of.values())) == len(of)  # two of some 2,000 collide once in 10^13
    spread = np.array(list(set(of.values())), dtype=np.uint64) < np.uint64(1 << 63)
    assert abs(spread.mean() - 0.5) < 5 * 0.5 / np.sqrt(len(spread))


def test_words_and_numbers_behind_other_are_told_apart():
    first, second = align(
        chaffinch.read(pa.table({"a": ["x", "y"] * 30, "b": [1, 2] * 30})),
        pa.table({"a": ["x", "new", "old", "new"], "b": [1, 1, 1, 1]}),
    )
    assert first.n_rows == 60
    hashes = hashes_of_values(second, 3)
    assert hashes[1] == hashes[3]
    assert len(set(hashes.tolist())) == 3


def test_minus_zero_is_zero_and_types_do_not_matter():
    mine = chaffinch.read(pa.table({"a": [0.0, 1.0, 2.0] * 20, "b": ["p", "q"] * 30}))
    first, second = align(
        mine, pa.table({"a": pa.array([-0.0, 1.0], type=pa.float32()), "b": ["p", "q"]})
    )
    np.testing.assert_array_equal(hashes_of_values(first, 3)[:1], hashes_of_values(second, 3)[:1])


def test_all_rows_are_chosen_where_they_are_few_and_equal_rows_go_together():
    data = words_with_a_rare_one(400, 5)
    first, second = long(data, 90, words_with_a_rare_one(300, 6))
    every = choose_rows({"a": first, "b": second}, 400, key=1, by="values")
    assert (every["a"].n_rows, every["b"].n_rows) == (400, 300)
    some = choose_rows({"a": first, "b": second}, 200, key=1, by="values")
    rows = [{tuple(row.values()) for row in some[name].data.to_pylist()} for name in "ab"]
    missed = {tuple(row.values()) for row in data.to_pylist()} - rows[0]
    assert not missed & rows[1]
    assert rows[0] & rows[1]


def test_an_empty_choice_is_a_table_without_rows():
    (table,) = long(words_with_a_rare_one(60, 1), 10)
    assert choose_rows({"a": replace(table, n_rows=60)}, 1, key=5, by="place")["a"].n_rows in range(
        8
    )


@pytest.mark.parametrize("by", ["place", "values"])
def test_samples_have_the_schema_and_the_notes(by):
    (table,) = long(words_with_a_rare_one(600, 1), 100)
    chosen = choose_rows({"a": table}, 100, key=5, by=by)["a"]
    assert chosen.schema is table.schema
    assert chosen.notes == table.notes


def test_slices_are_by_values_unless_rows_are_alike_too_often():
    first, second = long(words_with_a_rare_one(2000, 1), 300, words_with_a_rare_one(1000, 2))
    sample, by = choose_slice({"a": first, "b": second}, 500, key=3)
    assert by == "values"
    assert 300 < sample["a"].n_rows < 750
    (alike,) = long(pa.table({"word": ["a", "b"] * 1000, "number": [1, 1, 2, 2] * 500}), 300)
    for key in range(5):  # four kinds of rows: a slice has none, or a quarter of all at least
        sample, by = choose_slice({"a": alike}, 200, key=key)
        assert by == "place"
        assert 100 < sample["a"].n_rows < 300  # six standard deviations of 13 either way


@settings(max_examples=10, deadline=None)
@given(rows=st.integers(1, 900), most=st.integers(1, 900), key=st.integers(0, 1 << 100))
def test_rows_of_a_scan_are_those_that_their_places_choose(rows, most, key):
    """Whatever the batches, and as one finds by hand in the whole table."""
    data = words_with_a_rare_one(800, 2)
    whole = chaffinch.read(data)
    scanned = replace(
        chaffinch.scan(data),
        source=replace(open_source(data), read=lambda columns: iter(data.to_batches(rows))),
    )
    chosen = choose_people(scanned, most, key=key)
    places = (
        np.arange(800)
        if most >= 800
        else np.flatnonzero(hashes_of_places(0, 800, key) < int(most / 800 * 2**64))
    )
    assert chosen.data.equals(whole.data.take(pa.array(places)))
    for name in whole.schema.names:
        np.testing.assert_array_equal(chosen.code(name), whole.code(name)[places])


@pytest.mark.parametrize("rows", [7, 250, 2_000])
def test_all_rows_of_a_person_are_chosen_or_none(rows):
    rng = np.random.default_rng(4)
    who = rng.integers(0, 300, 1_200)
    data = words_with_a_rare_one(1_200, 2).append_column(
        "who",
        pa.array([None if i == 0 else f" p{i}" if k % 2 else f"p{i} " for k, i in enumerate(who)]),
    )
    batches = replace(
        open_source(data),
        read=lambda columns: iter(
            (data if columns is None else data.select(list(columns))).to_batches(rows)
        ),
    )
    chosen = choose_people(replace(chaffinch.scan(data), source=batches), 400, key=5, person="who")
    names = chosen.data.column("who").to_pylist()
    own = {name.strip() for name in names if name is not None}
    assert sorted(name.strip() for name in names if name is not None) == sorted(
        name.strip()
        for name in data.column("who").to_pylist()
        if name is not None and name.strip() in own
    )
    assert (
        60 < len(own) < 140
    )  # of 300, each with a chance of a third: further off once in a million times, by the binomial
    assert len(np.unique(chosen.person_of)) == len(own) + names.count(None)


def test_a_file_that_changes_between_passes_is_no_sample():
    data = words_with_a_rare_one(800, 2)
    shorter = replace(
        chaffinch.scan(data),
        source=replace(open_source(data), read=lambda columns: iter(data.slice(1).to_batches())),
    )
    with pytest.raises(InputError, match="another number of rows than when it was first read"):
        choose_people(shorter, 100, key=1)


def test_it_is_no_column_of_a_file():
    schema = chaffinch.read(pa.table({"group": ["a", "b"] * 20, "groups": [1, 2] * 20})).schema
    wide = replace(schema, columns=(group_column(5), *schema.columns))
    assert wide.names == (GROUP, "group", "groups")
    assert wide.sizes[0] == 5
    assert group_column().size == GROUPS
