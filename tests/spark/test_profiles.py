"""Profiles of partitions, merged, are the profile of the table."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from chaffinch.spark.blocks import CHECK, PART, sum_hashes
from chaffinch.spark.profiles import (
    PROFILE_SHAPE,
    ROWS,
    MergeProfiles,
    ProfileRows,
    packed_profile,
    unpacked_profile,
)
from chaffinch.table.profile import Profile

from .conftest import LocalFrame


def odd_columns(n_rows: int = 3000) -> pa.Table:
    rng = np.random.default_rng(6)
    gone = rng.random(n_rows) < 0.1
    numbers = rng.integers(0, 40, n_rows).astype(float)
    numbers[:20] = np.nan
    return pa.table(
        {
            "word": pa.array(rng.choice(["a", "b", "ü"], n_rows), mask=gone),
            "whole": pa.array(rng.integers(-5, 900, n_rows), mask=gone),
            "real": pa.array(np.round(rng.normal(size=n_rows), 2)),
            "nan": pa.array(numbers, mask=gone),
            "code": pa.array(np.where(rng.random(n_rows) < 0.2, -8, rng.integers(1, 4, n_rows))),
            "flag": pa.array(rng.random(n_rows) < 0.5),
            "day": pa.array(rng.integers(0, 10_000, n_rows).astype("datetime64[D]")),
            "row": pa.array(np.arange(n_rows)),
            "empty": pa.nulls(n_rows, pa.string()),
        }
    )


MISSING = {"code": (-8,)}


def merged(table: pa.Table, bounds: list[int]) -> dict[int, dict]:
    """What the job gives, without Spark."""
    hashes = pa.array(np.random.default_rng(1).integers(-(2**63), 2**63 - 1, table.num_rows))
    rows = table.append_column(CHECK, hashes)
    parts = []
    for number, (start, stop) in enumerate(
        zip([0, *bounds], [*bounds, table.num_rows], strict=True)
    ):
        part = rows.slice(start, stop - start)
        parts.append(
            part.append_column(PART, pa.array([number] * part.num_rows, pa.int32()))
            .combine_chunks()
            .to_batches(max_chunksize=400)
        )
    names = tuple(table.column_names)
    frame = LocalFrame(parts).mapInArrow(
        ProfileRows(names, tuple(MISSING.get(name, ()) for name in names)), PROFILE_SHAPE
    )
    for by in (("bucket", "field"), ("field",)):
        frame = frame.repartition(3, *by).mapInArrow(MergeProfiles(), PROFILE_SHAPE)
    answer = frame.toArrow().to_pylist()
    seen = {row["part"]: row for row in answer if row["field"] == ROWS}
    for number, (start, stop) in enumerate(
        zip([0, *bounds], [*bounds, table.num_rows], strict=True)
    ):
        assert (number in seen) == (stop > start)
        if number in seen:
            assert seen[number]["n"] == stop - start
            assert seen[number]["checksum"] == sum_hashes(hashes.to_numpy()[start:stop])
    return {row["field"]: row for row in answer}


@pytest.mark.parametrize("n_parts", [1, 2, 7, 97])
def test_profiles_do_not_depend_on_partitions(n_parts):
    table = odd_columns()
    ends = np.sort(np.random.default_rng(n_parts).integers(0, table.num_rows, n_parts - 1)).tolist()
    answer = merged(table, ends)
    for j, name in enumerate(table.column_names):
        whole = Profile(table.schema.field(name).type, MISSING.get(name, ()))
        whole.add(table.column(name))
        ours = unpacked_profile(answer[j]["profile"])
        assert ours.value_counts() == whole.value_counts(), name
        for fact in (
            "kind",
            "missing",
            "n_rows",
            "n_null",
            "n_nan",
            "n_infinite",
            "n_fraction",
            "n_missing",
            "rising",
            "largest",
            "n_present",
        ):
            assert getattr(ours, fact) == getattr(whole, fact), (name, fact)
    assert unpacked_profile(answer[table.column_names.index("row")]["profile"]).rising
    assert not unpacked_profile(answer[table.column_names.index("whole")]["profile"]).rising


def test_profiles_travel_without_loss():
    profile = Profile(pa.float64(), (-1.0,))
    profile.add(pa.array([1.5, None, -1.0, float("nan"), 2.0]))
    there = unpacked_profile(packed_profile(profile))
    assert there.value_counts() == profile.value_counts()
    assert (there.n_null, there.n_nan, there.n_missing) == (1, 1, {-1.0: 1})


def test_partitions_without_rows_say_nothing():
    assert list(ProfileRows(("a",), ((),))(iter([]))) == []
