"""Rows drawn in parts are the rows of one machine."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import chaffinch
from chaffinch.errors import InputError, TooLargeError
from chaffinch.spark import draw
from chaffinch.spark import drawing as module
from chaffinch.spark.drawing import DrawRows, draw_task, plain_table, plain_type
from chaffinch.synth.model import BATCH_ROWS


@pytest.fixture(scope="module")
def model(data):
    return chaffinch.BayesNet(parents=2, conditionals="tables").fit(data / "cmc.csv", seed=1)


@pytest.mark.parametrize(
    "seed", [8, np.random.SeedSequence(5).spawn(2)[1], np.random.SeedSequence([1, 2])]
)
def test_batches_by_their_numbers_are_those_of_one_machine(model, seed):
    n_rows = 2 * BATCH_ROWS + 10
    want = plain_table(model.sample(n_rows, seed=seed).data)
    task = draw_task(model, n_rows, seed)
    parts = [next(task.tables([number])) for number in (2, 0, 1)]
    assert pa.concat_tables([parts[1], parts[2], parts[0]]).equals(want)


def test_a_task_gives_the_batches_of_its_numbers(model):
    task = draw_task(model, BATCH_ROWS + 3, 4)
    out = list(
        task(
            iter([pa.record_batch({"id": [1]}), pa.record_batch({"id": pa.array([], pa.int64())})])
        )
    )
    assert sum(batch.num_rows for batch in out) == 3


def test_without_a_seed_all_batches_hang_on_one(model):
    task = draw_task(model, 100, None)
    assert next(task.tables([0])).equals(next(task.tables([0])))
    assert not next(task.tables([0])).equals(next(draw_task(model, 100, None).tables([0])))


def test_trees_travel_too(data):
    model = chaffinch.BayesNet().fit(data / "cmc.csv", seed=1)
    assert next(draw_task(model, 500, 3).tables([0])).equals(
        plain_table(model.sample(500, seed=3).data)
    )


def test_rows_that_hang_on_those_before_are_refused(model):
    class Panel:
        kind, separable = "panel", False

    with pytest.raises(InputError, match="'panel' cannot be drawn in parts"):
        draw_task(Panel(), 5, 1)
    with pytest.raises(InputError, match="rows must be a whole number"):
        draw_task(model, 0.5, 1)


def test_a_model_that_is_too_large_to_travel_is_refused(model, monkeypatch):
    monkeypatch.setattr(module, "MAX_MODEL_BYTES", 10)
    with pytest.raises(TooLargeError, match="too many to send"):
        draw_task(model, 5, 1)


@pytest.mark.parametrize(
    ("kind", "plain"),
    [
        (pa.int8(), pa.int8()),
        (pa.uint8(), pa.int16()),
        (pa.uint64(), pa.decimal128(20, 0)),
        (pa.time64("us"), pa.string()),
        (pa.timestamp("s"), pa.timestamp("us")),
        (pa.timestamp("ns", "Europe/Oslo"), pa.timestamp("us", "UTC")),
        (pa.null(), pa.string()),
        (pa.dictionary(pa.int8(), pa.large_string()), pa.string()),
        (pa.date64(), pa.date32()),
        (pa.bool_(), pa.bool_()),
    ],
)
def test_types_that_spark_lacks(kind, plain):
    assert plain_type(kind) == plain
    values = pa.nulls(2, kind)
    assert plain_table(pa.table({"x": values})).schema.field("x").type == plain


def test_a_frame_of_rows_is_the_table_of_one_machine_in_any_partitions(spark, model):
    n_rows = BATCH_ROWS + 1000
    want = plain_table(model.sample(n_rows, seed=8).data).to_pandas()
    for partitions in (1, 7):
        frame = draw(model, n_rows, seed=8, partitions=partitions)
        assert frame.toPandas().equals(want)
    assert draw(model, 0, seed=8).count() == 0


def test_numbers_of_rows_do_not_depend_on_the_task(model):
    task = draw_task(model, 10, 1)
    assert DrawRows(task.model, 10, task.entropy, task.spawn_key) == task
