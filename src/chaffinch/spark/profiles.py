"""Profiles of the columns of a Spark DataFrame: one for each partition, merged in the order of
partitions.

Counts add, so profiles do not depend on partitions, but for columns of more than a million distinct
numbers, whose groups of neighbours hang on what was merged with what. So profiles are merged in a
tree that is the same whenever partitions are: thirty-two neighbours, and these in their order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from ..table.fit_schema import TableProfile
from ..table.profile import Profile
from .blocks import CHECK, PART, hash_rows, regroup_batches, sum_hashes
from .counter import PartitionRows, RowsSeen
from .jobs import collect_table, map_partitions

PROFILE_ROWS = 1 << 18
"""Rows that are profiled at a time."""

NEIGHBOURS = 32
"""Partitions whose profiles are merged first."""

COLUMNS_A_TASK = 4
"""Columns whose profiles one task merges, about: starting a task costs more than merging a small
profile.
"""

ROWS = -1
"""The number in place of a column's that stands for rows of a partition: how many there were, and
the sum of their hashes.
"""

PROFILE_SHAPE = "part int, bucket int, field int, n long, checksum long, profile binary"
_PROFILE = pa.schema(
    [
        ("part", pa.int32()),
        ("bucket", pa.int32()),
        ("field", pa.int32()),
        ("n", pa.int64()),
        ("checksum", pa.int64()),
        ("profile", pa.binary()),
    ]
)

Missing = tuple[Any, ...]


def profile_frame(frame: Any, empty: TableProfile) -> tuple[TableProfile, PartitionRows]:
    """Return the profiles of a frame's columns, with the types of the empty ones, and the rows and
    hashes of each partition: one job.
    """
    names = tuple(empty.columns)
    parts = map_partitions(
        hash_rows(frame, names),
        ProfileRows(names, tuple(empty.columns[name].missing for name in names)),
        PROFILE_SHAPE,
    )
    for by in (("bucket", "field"), ("field",)):
        parts = map_partitions(
            parts.repartition(-(-len(names) // COLUMNS_A_TASK), *by), MergeProfiles(), PROFILE_SHAPE
        )
    answer = collect_table(parts).to_pylist()
    seen = PartitionRows(
        {row["part"]: RowsSeen(row["n"], row["checksum"]) for row in answer if row["field"] == ROWS}
    )
    columns = {
        names[row["field"]]: unpacked_profile(row["profile"])
        for row in answer
        if row["field"] != ROWS
    }
    n_rows = seen.total.n_rows
    return replace(empty, columns={**empty.columns, **columns}, n_rows=n_rows), seen


@dataclass(frozen=True)
class ProfileRows:
    """The task that profiles the columns of its partition, and sums up its rows and their
    hashes.
    """

    names: tuple[str, ...]
    missing: tuple[Missing, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        profiles: list[Profile] = []
        seen, partition = RowsSeen(0, 0), 0
        for batch in regroup_batches(batches, PROFILE_ROWS):
            batch = batch.rename_columns([*self.names, CHECK, PART])
            if not profiles:
                profiles = [
                    Profile(batch.column(name).type, missing)
                    for name, missing in zip(self.names, self.missing, strict=True)
                ]
                partition = batch.column(PART)[0].as_py()
            for name, profile in zip(self.names, profiles, strict=True):
                profile.add(batch.column(name))
            seen += RowsSeen(batch.num_rows, sum_hashes(batch.column(CHECK).to_numpy()))
        if profiles:
            yield _row(partition, ROWS, seen.n_rows, seen.checksum, b"")
            yield from (
                _row(partition, j, 0, 0, packed_profile(profile))
                for j, profile in enumerate(profiles)
            )


@dataclass(frozen=True)
class MergeProfiles:
    """The task that merges the profiles of a column in the order of partitions, within buckets or
    across them; row counts of partitions are passed on.
    """

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = [row for batch in batches for row in batch.to_pylist()]
        groups: dict[tuple[int, int], list[dict[str, Any]]] = {}
        for row in sorted(rows, key=lambda row: row["part"]):
            if row["field"] == ROWS:
                yield _row(row["part"], ROWS, row["n"], row["checksum"], b"", merged=True)
            else:
                groups.setdefault((row["field"], row["bucket"]), []).append(row)
        for (field, _), group in groups.items():
            merged = _merge_profiles([row["profile"] for row in group])
            yield _row(group[0]["part"], field, 0, 0, merged, merged=True)


def _merge_profiles(raws: list[bytes]) -> bytes:
    if len(raws) == 1:
        return raws[0]
    profile = unpacked_profile(raws[0])
    for raw in raws[1:]:
        profile.merge(unpacked_profile(raw))
    return packed_profile(profile)


def _row(
    partition: int, field: int, n: int, check: int, raw: bytes, *, merged: bool = False
) -> pa.RecordBatch:
    # After the first merge all buckets of a column are one.
    bucket = 0 if merged else partition // NEIGHBOURS
    return pa.RecordBatch.from_arrays(
        [
            pa.array([value], kind)
            for value, kind in zip(
                (partition, bucket, field, n, check, raw), _PROFILE.types, strict=True
            )
        ],
        schema=_PROFILE,
    )


def packed_profile(profile: Profile) -> bytes:
    """Return a profile as bytes. It holds values of records, and stays among workers and the
    driver.
    """
    batch = profile.to_arrow()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


def unpacked_profile(raw: bytes) -> Profile:
    """Return the profile from its bytes."""
    with pa.ipc.open_stream(raw) as reader:
        return Profile.from_arrow(reader.read_next_batch())
