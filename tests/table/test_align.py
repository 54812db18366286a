"""Two tables on one grid: lost and new levels, missing values, spellings, reordered columns, and every kind of input."""

from __future__ import annotations

import datetime
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.csv as pv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chaffinch
from chaffinch.errors import FileError, InputError
from chaffinch.synth import BayesNet, Independent
from chaffinch.table import Column, Schema, Table
from chaffinch.table.align import align
from chaffinch.table.rows import Rows
from chaffinch.table.sources import open_source


def frame(n: int = 120, **changed) -> pa.Table:
    """Return a small table with a column of each kind, some of them replaced."""
    rng = np.random.default_rng(3)
    columns = {
        "word": rng.choice(["red", "green", "blue"], n),
        "age": rng.integers(18, 90, n),
        "pay": np.round(rng.gamma(2.0, 100.0, n), 2),
        "ill": rng.random(n) < 0.4,
        "day": pa.array(rng.integers(12_000, 14_000, n).astype("datetime64[D]")).cast(pa.date32()),
    }
    return pa.table({name: pa.array(values) for name, values in {**columns, **changed}.items()})


def put(table: pa.Table, **changed) -> pa.Table:
    """Return an Arrow table with some columns replaced, each in its place."""
    for name, values in changed.items():
        table = table.set_column(table.column_names.index(name), name, [pa.array(values)])
    return table


def labels(table: Table, name: str) -> list[str]:
    """Return the readable name of each record's code."""
    names = table.schema[name].codec.names()
    return [names[code] for code in table.code(name)]


def same_codes(first: Table, second: Table) -> bool:
    return first.schema.names == second.schema.names and all(
        np.array_equal(first.code(name), second.code(name)) for name in first.schema.names
    )


@pytest.fixture(scope="module")
def original() -> Table:
    return chaffinch.read(frame())


def test_the_same_values_get_the_same_codes(original):
    first, second = align(original, frame())
    assert first.schema is second.schema
    assert first.schema.sizes == original.schema.sizes
    assert same_codes(first, second)
    assert same_codes(first, original)
    assert second.notes == ()


def test_a_lost_level_keeps_its_cell(original):
    words = ["red" if word == "blue" else word for word in frame()["word"].to_pylist()]
    first, second = align(original, put(frame(), word=words))
    assert first.schema["word"].codec.names() == ["blue", "green", "red"]
    assert np.bincount(second.code("word"), minlength=3)[0] == 0
    assert labels(second, "word") == words


def test_new_levels_share_one_cell(original):
    words = ["mauve", "pink", *frame()["word"].to_pylist()[2:]]
    first, second = align(original, put(frame(), word=words))
    assert first.schema["word"].codec.names() == ["blue", "green", "red", "(other)"]
    assert labels(second, "word") == ["(other)", "(other)", *words[2:]]
    assert labels(first, "word") == frame()["word"].to_pylist()
    (note,) = second.notes
    assert (note.column, "(other)" in note.sentence, "mauve" in note.sentence) == (
        "word",
        True,
        False,
    )


@pytest.mark.parametrize("name", ["word", "age", "pay", "ill", "day"])
def test_missing_values_that_the_original_lacks_get_a_cell(original, name):
    values = [None, None, *frame()[name].to_pylist()[2:]]
    changed = put(frame(), **{name: pa.array(values, type=frame().schema.field(name).type)})
    first, second = align(original, changed)
    assert first.schema[name].size == original.schema[name].size + 1
    assert labels(second, name)[:2] == ["(missing)"] * 2
    assert np.array_equal(second.code(name)[2:], first.code(name)[2:])
    assert [note.column for note in second.notes] == [name]


def test_fractions_in_a_whole_column(original):
    age = frame()["age"].to_numpy() + 0.25
    _, second = align(original, put(frame(), age=age))
    low, high = original.schema["age"].codec.ranges()
    for value, code in zip(age, second.code("age"), strict=True):
        # Between the lowest of its own cell (end cells are open) and the lowest of the next.
        assert value >= low[code] or code == 0
        assert code + 1 == len(low) or value < low[code + 1]
        assert value < high[code] + 1 or code + 1 == len(high)
    assert any("fractions" in note.sentence for note in second.notes)


def test_numbers_beyond_the_range_fall_in_the_end_bins(original):
    ages = [-5, 500, *frame()["age"].to_pylist()[2:]]
    _, second = align(original, put(frame(), age=ages))
    assert second.code("age")[:2].tolist() == [0, original.schema["age"].size - 1]


def test_declared_bounds_do_not_stop_a_comparison():
    schema = Schema(
        (
            Column("age", "integer", type="int64", bounds=(0.0, 120.0)),
            Column("word", "categorical", type="string"),
        )
    )
    original = chaffinch.read(frame().select(["age", "word"]), schema=schema)
    ages = [-5, 500, *frame()["age"].to_pylist()[2:]]
    first, second = align(original, put(frame(), age=ages).select(["age", "word"]))
    assert same_codes(first, original)
    assert second.code("age")[1] == second.code("age").max()


def test_whole_numbers_spelled_with_a_point(original, tmp_path):
    path = tmp_path / "synthetic.csv"
    pa.csv.write_csv(put(frame(), age=[f"{age}.0" for age in frame()["age"].to_pylist()]), path)
    _, second = align(original, path)
    assert np.array_equal(second.code("age"), original.code("age"))


@pytest.mark.parametrize("word", ["NA", "NaN", "null", ".", "?", ""])
def test_words_for_missing_in_a_text_file(original, tmp_path, word):
    path = tmp_path / "synthetic.csv"
    ages = [word, *map(str, frame()["age"].to_pylist()[1:])]
    words = [word, *frame()["word"].to_pylist()[1:]]
    pa.csv.write_csv(
        put(frame(), age=ages, word=words), path, pa.csv.WriteOptions(quoting_style="none")
    )
    first, second = align(original, path)
    assert labels(second, "age")[0] == labels(second, "word")[0] == "(missing)"
    assert np.array_equal(second.code("age")[1:], first.code("age")[1:])


def test_a_word_for_missing_that_is_a_level_stays_a_level(tmp_path):
    # In Arrow data "NA" is a word as any other (Namibia); a text file of its sample must not lose it.
    words = ["NA", "ZA"] * 60
    original = chaffinch.read(put(frame(), word=words))
    path = tmp_path / "synthetic.csv"
    pa.csv.write_csv(put(frame(), word=words), path, pa.csv.WriteOptions(quoting_style="none"))
    _, second = align(original, path)
    assert labels(second, "word") == words


def write_survey(path, ages: list[str]) -> None:
    path.write_text("age,sex\n" + "".join(f"{age},{'fm'[i % 2]}\n" for i, age in enumerate(ages)))


def test_missing_codes_of_text_files_stay_apart(tmp_path):
    ages = [*map(str, range(20, 70)), *["NA"] * 12, *["?"] * 15, *[""] * 11]
    write_survey(tmp_path / "a.csv", ages)
    write_survey(tmp_path / "b.csv", ages[::-1])
    original = chaffinch.read(tmp_path / "a.csv")
    first, second = align(original, tmp_path / "b.csv")
    assert labels(second, "age")[0] == "(missing)"
    assert labels(second, "age")[11] == "(missing ?)"
    assert labels(second, "age")[26] == "(missing NA)"
    counts = [
        np.bincount(t.code("age"), minlength=first.schema["age"].size) for t in (first, second)
    ]
    assert np.array_equal(*counts)


def test_missing_codes_of_tables_stay_apart_whatever_their_order(tmp_path):
    # "NA" is the second missing code of the original and the only one of the other table.
    write_survey(
        tmp_path / "a.csv", [*map(str, range(20, 70)), *["NA"] * 12, *["?"] * 15, *[""] * 11]
    )
    write_survey(tmp_path / "b.csv", [*["NA"] * 15, *map(str, range(20, 70)), *[""] * 4])
    original, other = chaffinch.read(tmp_path / "a.csv"), chaffinch.read(tmp_path / "b.csv")
    assert (original.schema["age"].missing, other.schema["age"].missing) == (("?", "NA"), ("NA",))
    _, second = align(original, other)
    assert labels(second, "age")[:15] == ["(missing NA)"] * 15
    assert labels(second, "age")[-4:] == ["(missing)"] * 4


def test_declared_missing_numbers_stay_apart():
    ages = [*range(20, 70), *[-8] * 12, *[-9] * 15]
    schema = Schema(
        (
            Column("age", "integer", type="int64", missing=(-8, -9), output="keep"),
            Column("sex", "categorical", type="string"),
        )
    )
    arrow = pa.table({"age": ages, "sex": ["f"] * 40 + ["m"] * 37})
    original = chaffinch.read(arrow, schema=schema)
    for other in (
        arrow,
        chaffinch.read(arrow, schema=schema),
        Independent().fit(original).sample(500, seed=1),
    ):
        _, second = align(original, other)
        values = second.data["age"].to_pylist()
        assert {labels(second, "age")[i] for i, v in enumerate(values) if v == -8} == {
            "(missing -8)"
        }
        assert {labels(second, "age")[i] for i, v in enumerate(values) if v == -9} == {
            "(missing -9)"
        }


def test_columns_in_another_order(original):
    turned = frame().select(["day", "ill", "pay", "age", "word"])
    for other in (turned, chaffinch.read(turned)):
        first, second = align(original, other)
        assert second.schema.names == original.schema.names
        assert same_codes(first, second)
        assert second.data.column_names == list(original.schema.names)


def test_a_column_that_is_lacking(original):
    with pytest.raises(
        InputError,
        match=r"synthetic table lacks columns of the original: age\. Compare tables with",
    ):
        align(original, frame().drop_columns("age"))


def test_a_column_too_many(original):
    with pytest.raises(
        InputError, match=r"holdout table has columns that the original lacks: extra\. Drop them"
    ):
        align(original, frame(), frame(extra=["x", "y"] * 60))


def test_identifiers_may_be_absent():
    keys = [f"person {i:05d}" for i in range(120)]
    original = chaffinch.read(frame(id=keys))
    assert "id" not in original.schema.names
    for other in (frame(), frame(id=keys), original):
        first, second = align(original, other)
        assert first.columns == second.columns == tuple(frame().column_names)
        assert same_codes(first, second)


def test_no_level_in_common(original):
    with pytest.raises(
        InputError,
        match=r"Column 'word': no value of the synthetic table is one that the original has",
    ):
        align(original, put(frame(), word=["RED", "BLUE"] * 60))


def test_another_type_is_an_error_that_names_the_column(original, tmp_path):
    path = tmp_path / "synthetic.csv"
    pa.csv.write_csv(put(frame(), age=["young", "old"] * 60), path)
    with pytest.raises(InputError, match="Column 'age'"):
        align(original, path)
    with pytest.raises(
        InputError,
        match="Column 'age' of the synthetic table holds string, that of the original int64",
    ):
        align(original, put(frame(), age=["young", "old"] * 60))
    with pytest.raises(
        InputError,
        match="Column 'age' of the synthetic table holds string, that of the original int64",
    ):
        align(original, chaffinch.read(put(frame(), age=["young", "old"] * 60)))


@pytest.mark.parametrize("rows", [0, 1])
def test_too_few_rows(original, rows):
    said = "one row" if rows else "no rows"
    with pytest.raises(InputError, match=said):
        align(original, frame().slice(0, rows))
    codes = [original.code(name)[:rows] for name in original.schema.names]
    with pytest.raises(InputError, match=said):
        align(original, Table.from_codes(original.schema, codes, seed=1))


def test_two_rows_are_enough(original):
    _, second = align(original, frame().slice(0, 2))
    assert second.n_rows == 2


def test_a_sample_of_a_model_is_taken_as_it_is(original):
    sample = Independent().fit(original).sample(50, seed=1)
    first, second = align(original, sample)
    assert first is original
    assert second is sample
    assert align(first, second) == (first, second)


def test_what_came_out_goes_in_unchanged(original):
    # Measures pair up tables that may be paired already: nothing is encoded twice.
    words = ["mauve", None, *frame()["word"].to_pylist()[2:]]
    first, second = align(original, put(frame(), word=words))
    again = align(first, second)
    assert again[0] is first
    assert again[1] is second


def test_a_third_table_widens_the_grid_of_all(original):
    words = ["mauve", *frame()["word"].to_pylist()[1:]]
    gaps = pa.array([None, *frame()["age"].to_pylist()[1:]])
    three = align(original, put(frame(), word=words), put(frame(), age=gaps))
    assert len({id(table.schema) for table in three}) == 1
    assert three[0].schema["word"].codec.names()[-1] == "(other)"
    assert three[0].schema["age"].codec.names()[-1] == "(missing)"
    assert [len(table.notes) for table in three[1:]] == [1, 1]
    assert three[0].schema.names == original.schema.names


@pytest.mark.parametrize(
    "form", ["arrow", "polars", "pandas", "csv", "tsv", "csv.gz", "parquet", "arrow file", "table"]
)
def test_every_kind_of_input(original, tmp_path, form):
    arrow = frame()
    path = tmp_path / f"synthetic.{'arrow' if form == 'arrow file' else form}"
    if form in ("csv", "tsv", "csv.gz", "parquet", "arrow file"):
        original.write(path)
    given = {
        "arrow": arrow,
        "polars": pl.from_arrow(arrow),
        "pandas": arrow.to_pandas(),
        "table": chaffinch.read(arrow),
    }
    first, second = align(original, given.get(form, path))
    assert same_codes(first, second)
    assert first.schema.sizes == original.schema.sizes


def test_pandas_whole_numbers_beside_missing_ones(original):
    # pandas turns whole numbers with gaps into floats.
    gaps = put(frame(), age=pa.array([None, *frame()["age"].to_pylist()[1:]]))
    _, second = align(original, gaps.to_pandas())
    _, expected = align(original, gaps)
    assert np.array_equal(second.code("age"), expected.code("age"))
    assert not any("fractions" in note.sentence for note in second.notes)


def test_pooled_levels_of_the_original():
    # "teal" and "plum" occur once or twice: pooled. They and new levels share (other), and that needs no widening.
    words = ["teal", "plum", "plum", *frame()["word"].to_pylist()[3:]]
    original = chaffinch.read(put(frame(), word=words))
    assert original.schema["word"].codec.names() == ["blue", "green", "red", "(other)"]
    first, second = align(original, put(frame(), word=["new", *words[1:]]))
    assert labels(second, "word")[:3] == ["(other)"] * 3
    assert same_codes(first, second)
    assert second.notes == ()
    sample = Independent().fit(original).sample(2000, seed=2)
    _, third = align(original, sample.to_arrow())
    assert same_codes(sample, third)


def test_pooled_levels_of_coded_categories():
    # Numbers as categories: (other) is no number and is written as null, which must be read as (other) again.
    codes = [7, 8, 8, *np.random.default_rng(1).integers(1, 5, 117).tolist()]
    original = chaffinch.read(put(frame(), word=codes))
    assert original.schema["word"].codec.names()[-1] == "(other)"
    sample = Independent().fit(original).sample(2000, seed=2)
    assert sample.data["word"].null_count > 0
    first, second = align(original, sample.to_arrow())
    assert same_codes(sample, second)
    assert first.schema["word"].size == original.schema["word"].size


def test_booleans_and_their_spelling(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("ill,sex\n" + "True,f\nFalse,m\nFalse,f\n" * 20)
    original = chaffinch.read(path)
    _, second = align(original, pa.table({"ill": [True, False] * 10, "sex": ["f", "m"] * 10}))
    assert labels(second, "ill") == ["True", "False"] * 10
    only = tmp_path / "b.csv"
    only.write_text("ill,sex\n" + "False,m\n" * 10)
    _, third = align(original, only)
    assert labels(third, "ill") == ["False"] * 10


def test_dates_as_dates_and_as_words(original, tmp_path):
    path = tmp_path / "synthetic.csv"
    pa.csv.write_csv(frame(), path)
    _, second = align(original, path)
    assert np.array_equal(second.code("day"), original.code("day"))
    assert second.data["day"][0].as_py() == frame()["day"][0].as_py()
    days = pa.array([datetime.date(1800, 1, 1), *frame()["day"].to_pylist()[1:]], type=pa.date32())
    _, early = align(original, put(frame(), day=days))
    assert early.code("day")[0] == 0


@pytest.mark.parametrize("kind", [pa.timestamp("ns"), pa.timestamp("s"), pa.date64()])
def test_dates_in_other_units(original, kind):
    # pandas has no dates: it holds them as nanoseconds.
    _, second = align(original, put(frame(), day=frame()["day"].combine_chunks().cast(kind)))
    assert np.array_equal(second.code("day"), original.code("day"))


@pytest.mark.parametrize("name", ["word", "age", "pay", "ill", "day"])
def test_a_column_of_null_type(original, name):
    first, second = align(original, put(frame(), **{name: pa.nulls(120)}))
    assert set(labels(second, name)) == {"(missing)"}
    assert same_codes(first, original)


def test_another_kind_of_numbers_is_an_error(original):
    with pytest.raises(
        InputError,
        match=r"Column 'day' of the synthetic table holds int64, that of the original date32",
    ):
        align(original, put(frame(), day=frame()["age"].combine_chunks()))


def test_a_copy_of_a_column_with_hardly_any_value_has_the_same_codes():
    # Fewer than three records have a number: the original's schema makes them missing.
    nearly_empty = put(frame(), age=pa.array([30, 40, *[None] * 118], type=pa.int64()))
    original = chaffinch.read(nearly_empty)
    assert original.schema["age"].size == 1
    first, second = align(original, nearly_empty)
    assert same_codes(first, second)
    assert labels(first, "age")[1:3] == ["(other)", "(missing)"]


def test_a_column_without_any_value(original):
    first, second = align(original, put(frame(), word=pa.array([None] * 120, type=pa.string())))
    assert set(labels(second, "word")) == {"(missing)"}
    assert first.schema["word"].size == 4
    empty = chaffinch.read(put(frame(), word=pa.array([None] * 120, type=pa.string())))
    both = align(empty, frame())
    assert both[0].schema["word"].size == both[1].schema["word"].size == 2


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow", "tsv.gz"])
@pytest.mark.parametrize(
    "name", ["adult_train.parquet", "cmc.csv", "caesarian.csv", "diabetes.csv"]
)
def test_a_written_sample_comes_back_with_its_codes(data, tmp_path, name, ending):
    original = chaffinch.read(data / name)
    sample = (
        BayesNet(parents=1, conditionals="tables").fit(original, seed=1).sample(3000, seed=2)
    )  # trees cut numbers finer
    path = tmp_path / f"synthetic.{ending}"
    sample.write(path)
    first, second = align(original, path)
    assert first.schema.sizes == original.schema.sizes
    assert same_codes(sample, second)


def test_a_written_sample_of_every_kind_comes_back_with_its_codes(tmp_path):
    gaps = pa.array(
        [None if i % 7 == 0 else age for i, age in enumerate(frame()["age"].to_pylist())]
    )
    rare = ["teal", "plum", None, *frame()["word"].to_pylist()[3:]]
    original = chaffinch.read(put(frame(), age=gaps, word=rare))
    sample = Independent().fit(original).sample(4000, seed=3)
    for ending in ("csv", "parquet"):
        sample.write(tmp_path / f"s.{ending}")
        _, second = align(original, tmp_path / f"s.{ending}")
        for column in original.schema.names:
            assert np.array_equal(sample.code(column), second.code(column)), (ending, column)


words = st.lists(st.sampled_from(["a", "b", "c", "NA", None]), min_size=4, max_size=40)


@given(words, words, st.lists(st.integers(-3, 3) | st.none(), min_size=40, max_size=40))
@settings(deadline=None, max_examples=60)
def test_counts_by_value_are_those_of_the_values(ours, theirs, numbers):
    """Whatever two tables hold, a record's cell says what its value was, or that the original lacks it."""
    first = {
        "w": pa.array(ours, type=pa.string()),
        "n": pa.array(numbers[: len(ours)], type=pa.int64()),
    }
    second = {
        "w": pa.array(theirs, type=pa.string()),
        "n": pa.array(numbers[-len(theirs) :], type=pa.int64()),
    }
    schema = Schema(
        (
            Column("w", "categorical", type="string", nullable=True, rare="keep"),
            Column("n", "integer", type="int64", nullable=True),
        )
    )
    original = chaffinch.read(pa.table(first), schema=schema)
    present = {word for word in ours if word is not None}
    if present and any(theirs) and not present & set(theirs):
        with pytest.raises(InputError, match="no value of the synthetic table"):
            align(original, pa.table(second))
        return
    both = align(original, pa.table(second))
    for table, values in zip(both, (ours, theirs), strict=True):
        expected = ["(missing)" if w is None else w if w in present else "(other)" for w in values]
        assert labels(table, "w") == expected
        assert [label == "(missing)" for label in labels(table, "n")] == [
            v is None for v in table.data["n"].to_pylist()
        ]


def people_in_colours(n: int, seed: int, *, odd: bool = False) -> pa.Table:
    rng = np.random.default_rng(seed)
    words = np.array(["red", "green", "blue", *(["lilac"] if odd else [])])
    numbers = rng.integers(0, 60, n).astype(float)
    if odd:
        numbers[: n // 10] += 0.5
    amounts = rng.normal(0, 3, n).round(4)
    return pa.table(
        {
            "colour": pa.array(
                words[rng.integers(0, len(words), n)], mask=rng.random(n) < 0.1 * odd
            ),
            "age": pa.array(numbers if odd else numbers.astype(np.int64)),
            "amount": pa.array(amounts, mask=rng.random(n) < 0.05),
            "yes": pa.array(rng.random(n) < 0.3),
        }
    )


def same(long: Rows, whole: chaffinch.Table) -> None:
    table = long.table()
    assert [c.codec.size for c in long.schema] == [c.codec.size for c in whole.schema]
    assert long.n_rows == whole.n_rows
    for name in whole.schema.names:
        np.testing.assert_array_equal(table.code(name), whole.code(name))
        assert table.data.column(name).to_pylist() == whole.data.column(name).to_pylist()
    coded = [batch.codes for batch in long.batches()]
    for j in range(len(whole.codes)):
        np.testing.assert_array_equal(np.concatenate([codes[j] for codes in coded]), whole.codes[j])


def batched(data: pa.Table, rows: int):
    """A source whose batches have a few rows."""
    source = open_source(data)
    return replace(
        source,
        read=lambda columns: iter(
            (data if columns is None else data.select(list(columns))).to_batches(max_chunksize=rows)
        ),
    )


@settings(max_examples=12, deadline=None)
@given(rows=st.integers(3, 400), seed=st.integers(0, 99), odd=st.booleans())
def test_codes_and_values_are_those_of_memory_whatever_the_batches(rows, seed, odd):
    first, second, third = (
        people_in_colours(300, seed),
        people_in_colours(250, seed + 1, odd=odd),
        people_in_colours(90, seed + 2),
    )
    whole = align(chaffinch.read(first), second, third)
    long = align(chaffinch.scan(first), batched(second, rows), batched(third, rows))
    for mine, theirs in zip(long, whole, strict=True):
        same(mine, theirs)
        assert list(mine.notes) == list(theirs.notes)


@pytest.mark.parametrize("write", [pq.write_table, pv.write_csv])
def test_files_too_and_codes_from_a_cache(tmp_path, write):
    for name, table in (
        ("a", people_in_colours(500, 1)),
        ("b", people_in_colours(400, 2, odd=True)),
    ):
        write(table, tmp_path / name)
    whole = align(chaffinch.read(tmp_path / "a"), tmp_path / "b")
    long = align(chaffinch.scan(tmp_path / "a"), tmp_path / "b")
    for mine, theirs in zip(long, whole, strict=True):
        same(mine, theirs)
        with mine.cached() as cached:
            same(cached, theirs)
            codes = next(iter(cached.batches(columns=["age"]))).codes
            np.testing.assert_array_equal(codes[1], theirs.code("age")[: codes.n_rows])
            assert not codes[1].flags.owndata  # mapped


def test_a_scan_and_a_table_in_memory_may_stand_beside_files():
    first, second = people_in_colours(300, 1), people_in_colours(200, 2)
    coded = {"age": {"missing": [7]}}  # a code of which the table keeps the token alone
    original, other = chaffinch.read(first, coded), chaffinch.read(second, coded)
    whole = align(original, other)
    long = align(chaffinch.scan(first, coded), other)
    for mine, theirs in zip(long, whole, strict=True):
        same(mine, theirs)
    scanned = align(chaffinch.scan(first, coded), chaffinch.scan(second, coded))
    same(scanned[1], align(original, second)[1])


def test_columns_that_differ_are_refused():
    first = people_in_colours(50, 1)
    with pytest.raises(InputError, match="lacks columns of the original: age"):
        align(chaffinch.scan(first), first.drop_columns(["age"]))
    with pytest.raises(
        InputError, match="no value of the synthetic table is one that the original has"
    ):
        align(chaffinch.scan(first), first.set_column(0, "colour", pa.array(["?"] * 50)))


@pytest.mark.parametrize(
    ("role", "says"), [("weight", "records have weights"), ("person", "people have several rows")]
)
def test_weights_and_persons_are_measured_in_memory(role, says):
    first = people_in_colours(50, 1).append_column("w", pa.array([1.0, 2.0] * 25))
    scanned = chaffinch.scan(first, {"w": role})
    with pytest.raises(InputError, match=f"{says} are measured in memory: pass --engine memory"):
        align(scanned, first)


def test_a_file_that_grows_meanwhile_is_refused(tmp_path: Path):
    pq.write_table(people_in_colours(50, 1), tmp_path / "a.parquet")
    (long,) = align(chaffinch.scan(tmp_path / "a.parquet"))
    pq.write_table(people_in_colours(60, 1), tmp_path / "a.parquet")
    with pytest.raises(InputError, match="was changed or replaced while it was read"):
        long.table()


def test_no_room_for_the_cache_is_said(monkeypatch):
    (long,) = align(chaffinch.scan(people_in_colours(50, 1)))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pa.ipc, "new_file", full)
    with pytest.raises(FileError, match=r"there is no room left\. Set TMPDIR"), long.cached():
        pass
