"""Rows drawn on workers: the same rows as on one machine with the seed, for any number of
partitions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from .._base.errors import InputError, TooLargeError
from .._base.seeds import Seed, seed_sequence
from ..synth.model import FittedModel, whole_rows
from ..synth.model_file import model_from_bytes, model_to_bytes
from .jobs import in_our_words, map_partitions
from .session import current_session, ready

MAX_MODEL_BYTES = 1 << 30
"""Bytes of a model that travels to workers, at most."""


@lru_cache(maxsize=2)
def cached_model(raw: bytes) -> FittedModel:
    """Return the model from its bytes; read once by a worker, for all of its tasks."""
    return model_from_bytes(raw)


@dataclass(frozen=True)
class DrawRows:
    """The task that draws batches of rows by batch number, each from its own random stream."""

    model: bytes
    n_rows: int
    entropy: int | tuple[int, ...]
    spawn_key: tuple[int, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for numbers in batches:
            for table in self.tables(numbers.column(0).to_pylist()):
                yield from table.combine_chunks().to_batches()

    def tables(self, numbers: list[int]) -> Iterator[pa.Table]:
        """Yield batches of rows by batch number, with types that Spark supports."""
        model, entropy = (
            cached_model(self.model),
            list(self.entropy) if isinstance(self.entropy, tuple) else self.entropy,
        )
        seed = np.random.SeedSequence(entropy, spawn_key=self.spawn_key)
        for number in numbers:
            for table in model.batches(self.n_rows, seed=seed, threads=1, numbers=[number]):
                yield plain_table(table.data)


def draw(
    model: FittedModel,
    n_rows: int | None = None,
    *,
    seed: Seed = None,
    session: Any = None,
    partitions: int | None = None,
) -> Any:
    """Return a Spark DataFrame of new rows, drawn when it is written or counted: the rows of
    `model.sample(n_rows, seed=seed)`, in any number of partitions.

    `session`: the active one unless given. `partitions`: one for each batch of rows at most, 65,536
    or, of more than 64 columns, fewer, and as many as Spark likes unless given. The order of rows
    is that of partitions. Each action on the frame draws anew, and the same.
    """
    session = current_session(session)
    task = draw_task(model, n_rows, seed)
    ready(session)
    from pyspark.sql.pandas.types import from_arrow_schema

    batches = max(1, -(-task.n_rows // model.batch_rows))
    with in_our_words():
        numbers = session.range(
            0, batches, 1, None if partitions is None else min(partitions, batches)
        )
        shape = from_arrow_schema(
            next(DrawRows(task.model, 0, task.entropy, task.spawn_key).tables([0])).schema,
            prefer_timestamp_ntz=True,
        )
    return map_partitions(numbers, task, shape)


def draw_task(model: FittedModel, n_rows: int | None, seed: Seed) -> DrawRows:
    """Return the task that draws the rows of a model."""
    if not getattr(model, "separable", False):
        raise InputError(
            f"Rows of a model of kind '{getattr(model, 'kind', type(model).__name__)}' cannot be drawn in parts, as workers do: draw them on one machine, by "
            "model.batches."
        )
    rows = model.n_rows if n_rows is None else whole_rows(n_rows)
    raw = model_to_bytes(model)
    if len(raw) > MAX_MODEL_BYTES:
        raise TooLargeError(
            f"The model has {len(raw):,} bytes, too many to send to workers ({MAX_MODEL_BYTES:,}). Use fewer parents or bins."
        )
    root = seed_sequence(seed)
    entropy = root.entropy
    assert entropy is not None
    return DrawRows(
        raw,
        rows,
        int(entropy) if isinstance(entropy, int | np.integer) else tuple(int(e) for e in entropy),
        tuple(root.spawn_key),
    )


def plain_table(table: pa.Table) -> pa.Table:
    """Return a table with types that Spark supports."""
    for i, field in enumerate(table.schema):
        if (kind := plain_type(field.type)) != field.type:
            table = table.set_column(i, field.with_type(kind), table.column(i).cast(kind))
    return pa.Table.from_arrays(
        table.columns, schema=pa.schema([field.remove_metadata() for field in table.schema])
    )


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the Spark-compatible type of an Arrow type: no dictionaries, no unsigned numbers,
    timestamps in microseconds.

    Examples
    --------
    >>> plain_type(pa.uint32()), plain_type(pa.dictionary(pa.int8(), pa.string())), plain_type(pa.timestamp("ns", "Asia/Tokyo"))
    (DataType(int64), DataType(string), TimestampType(timestamp[us, tz=UTC]))
    """
    if pa.types.is_dictionary(kind):
        return plain_type(kind.value_type)
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", None if kind.tz is None else "UTC")
    if pa.types.is_duration(kind):
        return pa.duration("us")
    if pa.types.is_time(kind) or pa.types.is_null(kind):
        return pa.string()
    return _PLAIN.get(kind, kind)


_PLAIN = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(),
    pa.date64(): pa.date32(),
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
    pa.large_binary(): pa.binary(),
}
