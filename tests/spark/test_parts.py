"""Parts of tables on workers: those that one machine makes of a file, and tasks that give no more than they should."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import chaffinch
from chaffinch.spark.blocks import codes_of
from chaffinch.spark.parts import (
    PLACES,
    ChooseRows,
    EncodeParts,
    FrameRows,
    OverParts,
    RecodedRows,
    ResampledRows,
    packed_table,
    unpacked_table,
)
from chaffinch.table.align import ColumnRoom, align, shared_columns

from .conftest import LocalRows


def reader_of(original, other=None):
    rooms = []
    if other is not None:
        rooms = [[ColumnRoom(column) for column in original.schema.modelled]]
        for room in rooms[0]:
            room.used[:] = True
            room.fractions = False
    shared, schema, _ = shared_columns(original.schema, rooms, {}, ["synthetic"] * len(rooms))
    return FrameRows(schema, tuple(shared), "" if other is None else "synthetic")


@dataclass(frozen=True)
class RowsAndSum:
    name: str

    def __call__(self, parts):
        tables = list(parts)
        return pa.table(
            {
                "n": [sum(table.n_rows for table in tables)],
                "sum": [sum(int(table.code(self.name).sum()) for table in tables)],
            }
        )


def test_a_table_that_travels_comes_back():
    table = pa.table({"a": [1, None], "b": ["x", "y"], "c": [b"", b"\x00"]})
    assert unpacked_table(packed_table(table)).equals(table)


@settings(max_examples=15)
@given(n_rows=st.integers(30, 300), n_parts=st.integers(1, 9), seed=st.integers(0, 99))
def test_parts_have_the_codes_and_values_of_one_machine(n_rows, n_parts, seed):
    rng = np.random.default_rng(seed)
    data = pa.table({"a": rng.integers(0, 5, n_rows), "b": rng.choice(["x", "y", "z"], n_rows)})
    original = chaffinch.read(data)
    frame = LocalRows(data, n_parts, seed=seed).select(["a", "b"], check=True)
    parts = [part for batches in frame.parts for part in reader_of(original).read(iter(batches))]
    (want,) = align(original)
    assert (
        np.concatenate([part.table.code("b") for part in parts]).tolist() == want.code("b").tolist()
    )
    assert pa.concat_tables([part.table.data for part in parts]).equals(want.data.combine_chunks())
    assert [part.place >> PLACES for part in parts] == [
        number for number, batches in enumerate(frame.parts) if batches
    ]
    summaries = [
        row
        for batches in frame.parts
        for batch in OverParts(reader_of(original), None, RowsAndSum("b"))(iter(batches))
        for row in batch.to_pylist()
    ]
    assert sum(row["n"] for row in summaries) == n_rows
    assert (
        sum(unpacked_table(row["summary"]).column("sum")[0].as_py() for row in summaries)
        == want.code("b").sum()
    )


def test_groups_stand_before_codes_and_are_of_nearly_equal_size():
    data = pa.table({"a": [1, 2, 3] * 100, "b": ["x", "y"] * 150})
    reader = reader_of(chaffinch.read(data))
    (batches,) = LocalRows(data, 1).select(["a", "b"], check=True).parts
    (block,) = EncodeParts(reader, 20)(iter(batches))
    ((codes, _),) = codes_of(iter([block]), (20, *reader.schema.sizes))
    assert np.bincount(codes[0]).tolist() == [15] * 20
    assert np.ptp(np.diff(codes[0].astype(int))) > 1  # at random, not in turn


def test_recoded_and_resampled_rows():
    data = pa.table({"a": [1, 2, 3] * 40, "b": ["x", "y"] * 60})
    original = chaffinch.read(data)
    reader, (batches,) = (
        reader_of(original),
        LocalRows(data, 1).select(["a", "b"], check=True).parts,
    )

    def turned(part):
        return [1 - part.code("b"), part.code("b")]

    schema = replace(
        reader.schema, columns=(replace(reader.schema["b"], name="a"), reader.schema["b"])
    )
    (part,) = RecodedRows(schema, reader, turned).read(iter(batches))
    assert (part.table.code("a") + part.table.code("b") == 1).all()
    drawn = [
        next(iter(ResampledRows(reader.schema, reader, 2.0, (seed,)).read(iter(batches)))).table
        for seed in (1, 1, 2)
    ]
    assert drawn[0].data.equals(drawn[1].data)
    assert not drawn[0].data.equals(drawn[2].data)
    assert (
        150 < drawn[0].n_rows < 330
    )  # 240 and 6 standard errors of a Poisson number: once in 10^8


def test_chosen_rows_alone_leave_and_a_count_without_rows():
    data = pa.table({"a": list(range(100)) * 3, "b": ["x", "y"] * 150})
    reader = reader_of(chaffinch.read(data))
    (batches,) = LocalRows(data, 1).select(["a", "b"], check=True).parts
    task = ChooseRows(reader, 0.2, 7, "values")
    *chosen, last = [row for batch in task(iter(batches)) for row in batch.to_pylist()]
    rows = unpacked_table(chosen[0]["summary"])
    assert last["n"] == 300
    assert unpacked_table(last["summary"]).to_pydict() == {"chosen": [rows.num_rows]}
    assert 0 < rows.num_rows < 150
    (counted,) = [
        row for batch in replace(task, count=True)(iter(batches)) for row in batch.to_pylist()
    ]
    assert unpacked_table(counted["summary"]).to_pydict() == {"chosen": [rows.num_rows]}
