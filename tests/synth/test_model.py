"""What every model does, whatever its kind: batches, look, description, drawing, and how it shows itself."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

import chaffinch
from chaffinch.synth import BayesNet, FittedModel, Independent, Model, ModelDescription
from chaffinch.synth.model import BATCH_ROWS, batch_rows
from chaffinch.table.rows import join_tables


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(1)
    a = rng.integers(0, 3, 300)
    data = pa.table(
        {
            "a": a.astype(str),
            "b": ((a + rng.integers(0, 2, 300)) % 3).astype(str),
            "c": rng.random(300),
        }
    )
    return BayesNet(parents=1, label="a", sensitive=("b",)).fit(data, seed=1)


def test_models_are_models(model):
    assert isinstance(model, Model)
    assert isinstance(model, FittedModel)
    assert not isinstance(model.sample(3), Model)
    assert model.privacy is None
    assert model.confidential


def test_batches_are_the_sample_and_do_not_hang_on_threads(model):
    rows = 2 * BATCH_ROWS + 5
    parts = list(model.batches(rows, seed=3, threads=1))
    assert [len(part) for part in parts] == [BATCH_ROWS, BATCH_ROWS, 5]
    assert join_tables(parts).data.equals(model.sample(rows, seed=3, threads=2).data)
    assert not any(one[:5].data.equals(other[:5].data) for one, other in pairwise(parts)), (
        "each has its own stream"
    )


def test_batches_of_many_columns_have_fewer_rows(model, monkeypatch):
    """As many cells as may be: a power of two of rows, so that parts of a table that is completed fit."""
    assert [batch_rows(d) for d in (1, 64, 65, 300, 1_000, 5_000, 100_000)] == [
        65_536,
        65_536,
        32_768,
        8_192,
        4_096,
        1_024,
        1_024,
    ]
    d = len(model.schema.names)
    monkeypatch.setattr("chaffinch.synth.model.BATCH_CELLS", 2_048 * d)
    parts = list(model.batches(5_000, seed=3, threads=1))
    assert [len(part) for part in parts] == [2_048, 2_048, 904]
    assert join_tables(parts).data.equals(model.sample(5_000, seed=3, threads=2).data)
    (second,) = model.batches(5_000, seed=3, numbers=[1])
    assert second.data.equals(parts[1].data)


def test_batches_come_by_their_numbers(model):
    n_rows = 2 * BATCH_ROWS + 5
    every = list(model.batches(n_rows, seed=3))
    last, first = model.batches(n_rows, seed=3, numbers=[2, 0])
    assert last.data.equals(every[2].data)
    assert first.data.equals(every[0].data)
    assert list(model.batches(n_rows, seed=3, numbers=[])) == []


def test_a_description_has_every_column_once(model):
    description = model.describe()
    assert isinstance(description, ModelDescription)
    assert sorted(column.name for column in description.columns) == ["a", "b", "c"]
    assert {column.name: column.role for column in description.columns} == {
        "a": "label",
        "b": "sensitive",
        "c": "",
    }
    assert next(column.detail for column in description.columns if column.name == "b").startswith(
        "a 0."
    )
    assert description.notes[0].startswith("Protected (separate): b. 1 links cut")
    assert description.promise is None


def test_a_model_shows_itself(model):
    html = model._repr_html_()
    assert html.startswith("<table>")
    assert "parents (mutual information, nats)" in html
    assert model.plot()._repr_svg_().startswith("<svg ")
    assert (
        Independent()
        .fit(chaffinch.read(pa.table({"a": ["x", "y"] * 9, "b": ["p", "q"] * 9})))
        .plot()
        is not None
    )


def test_like_wins_over_what_came_in(model):
    other = chaffinch.read(model.sample(50, seed=1).to_polars(), model.schema)
    assert type(model.sample(3, like=other).to_native()).__module__.startswith("polars")
    assert isinstance(model.sample(3).to_native(), pa.Table)


def test_rows_do_not_depend_on_how_many_batches_are_held(model, monkeypatch):
    drawn = model.sample(3 * BATCH_ROWS, seed=2, threads=2)
    monkeypatch.setattr("chaffinch.synth.model.WIDE", 0)
    assert model.sample(3 * BATCH_ROWS, seed=2, threads=2).data.equals(drawn.data)
