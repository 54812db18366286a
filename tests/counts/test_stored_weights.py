"""Weights in a file: what memory has of them, part by part."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import chaffinch
from chaffinch.counts.stored_weights import StoredWeights
from chaffinch.errors import InputError
from chaffinch.synth.data import table_counter
from chaffinch.table.weights import with_weight

ROWS = pa.table(
    {"a": ["x", "y", "y"] * 40, "w": pa.array(np.random.default_rng(1).lognormal(size=120))}
)


def test_weights_are_handed_out_as_memory_scales_them(tmp_path):
    table = with_weight(chaffinch.read(ROWS), "w")
    waiting = StoredWeights.waiting(table.schema, tmp_path / "weights")
    assert waiting.sums is None
    for start in range(0, 120, 50):
        waiting.add({"w": (ROWS.column("w").slice(start, 50).combine_chunks(), None)})
    stored = waiting.summed()
    memory = table_counter(table)
    assert stored.schema["w"] == memory.schema["w"]
    (batch,) = memory.coded()
    for _ in range(2):
        read = stored.reader()
        assert np.concatenate([read(7), read(100), read(13)]).tolist() == batch.weights.tolist()


def test_without_a_modelled_weight_there_is_nothing_to_store(tmp_path):
    assert StoredWeights.waiting(chaffinch.read(ROWS).schema, tmp_path / "weights") is None


def test_what_is_no_weight_is_said_without_a_value(tmp_path):
    table = with_weight(chaffinch.read(ROWS), "w")
    waiting = StoredWeights.waiting(table.schema, tmp_path / "weights")
    with pytest.raises(
        InputError, match="cannot be a weight: it has missing, infinite or negative values"
    ) as error:
        waiting.add({"w": (pa.array([1.0, -17.25]), None)})
    assert "17" not in str(error.value)
    with pytest.raises(InputError, match="add up to 0"):
        waiting.summed()
