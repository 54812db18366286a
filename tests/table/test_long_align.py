"""Files on one grid, part by part: codes and values are those of `align` in memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chaffinch
from chaffinch.errors import FileError, InputError
from chaffinch.table.align import align, align_files
from chaffinch.table.long import LongTable, joined
from chaffinch.table.sources import open_source


def people(n: int, seed: int, *, odd: bool = False) -> pa.Table:
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


def same(long: LongTable, whole: chaffinch.Table) -> None:
    table = joined(list(long.parts()))
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
    first, second, third = people(300, seed), people(250, seed + 1, odd=odd), people(90, seed + 2)
    whole = align(chaffinch.read(first), second, third)
    long = align_files(chaffinch.scan(first), batched(second, rows), batched(third, rows))
    for mine, theirs in zip(long, whole, strict=True):
        same(mine, theirs)
        assert list(mine.notes) == list(theirs.notes)


@pytest.mark.parametrize("write", [pq.write_table, pv.write_csv])
def test_files_too_and_codes_from_a_cache(tmp_path, write):
    for name, table in (("a", people(500, 1)), ("b", people(400, 2, odd=True))):
        write(table, tmp_path / name)
    whole = align(chaffinch.read(tmp_path / "a"), tmp_path / "b")
    folder = tmp_path / "cache"
    folder.mkdir()
    long = align_files(chaffinch.scan(tmp_path / "a"), tmp_path / "b")
    for mine, theirs in zip(long, whole, strict=True):
        same(mine, theirs)
        kept = replace(mine, folder=folder).cached()
        same(kept, theirs)
        some = next(iter(kept.batches(columns=["age"]))).codes
        np.testing.assert_array_equal(some[1], theirs.code("age")[: some.n_rows])
        assert not some[1].flags.owndata  # mapped


def test_a_scan_and_a_table_in_memory_may_stand_beside_files():
    first, second = people(300, 1), people(200, 2)
    coded = {"age": {"missing": [7]}}  # a code of which the table keeps the token alone
    original, other = chaffinch.read(first, coded), chaffinch.read(second, coded)
    whole = align(original, other)
    long = align_files(chaffinch.scan(first, coded), other)
    for mine, theirs in zip(long, whole, strict=True):
        same(mine, theirs)
    scanned = align_files(chaffinch.scan(first, coded), chaffinch.scan(second, coded))
    same(scanned[1], align(original, second)[1])


def test_columns_that_differ_are_refused():
    first = people(50, 1)
    with pytest.raises(InputError, match="lacks columns of the original: age"):
        align_files(chaffinch.scan(first), first.drop_columns(["age"]))
    with pytest.raises(
        InputError, match="no value of the synthetic table is one that the original has"
    ):
        align_files(chaffinch.scan(first), first.set_column(0, "colour", pa.array(["?"] * 50)))


@pytest.mark.parametrize(
    ("role", "says"), [("weight", "records have weights"), ("person", "people have several rows")]
)
def test_weights_and_persons_are_measured_in_memory(role, says):
    first = people(50, 1).append_column("w", pa.array([1.0, 2.0] * 25))
    scanned = chaffinch.scan(first, {"w": role})
    with pytest.raises(InputError, match=f"{says} are measured in memory: pass --engine memory"):
        align_files(scanned, first)


def test_a_file_that_grows_meanwhile_is_refused(tmp_path: Path):
    pq.write_table(people(50, 1), tmp_path / "a.parquet")
    (long,) = align_files(chaffinch.scan(tmp_path / "a.parquet"))
    pq.write_table(people(60, 1), tmp_path / "a.parquet")
    with pytest.raises(InputError, match="was changed or replaced while it was read"):
        list(long.parts())


def test_no_room_for_the_cache_is_said(tmp_path, monkeypatch):
    (long,) = align_files(chaffinch.scan(people(50, 1)))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pa.ipc, "new_file", full)
    with pytest.raises(FileError, match=r"there is no room left\. Set TMPDIR"):
        replace(long, folder=tmp_path).cached()
