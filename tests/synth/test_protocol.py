"""What is a model, by its class alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import chaffinch
from chaffinch.synth import BayesNet, Independent, TableGenerator
from chaffinch.table.read import is_model


def test_models_are_told_from_tables_and_settings():
    frame = pd.DataFrame({"a": [1, 2] * 19, "b": [1, 2] * 19})
    assert is_model(Independent().fit(frame))
    for other in (
        frame,
        pl.from_pandas(frame),
        Independent().fit(frame).sample(2),
        BayesNet(),
        None,
        3,
        "m.chaffinch",
    ):
        assert not is_model(other)


class Noted:
    """A synthesiser that notes its seeds."""

    def __init__(self):
        self.seeds = []

    def fit(self, table, *, seed=None):
        self.seeds.append(seed)
        self.table = table
        return self

    def sample(self, n_rows, *, seed=None):
        self.seeds.append(seed)
        return self.table[:n_rows]


def test_a_synthesiser_gets_both_seeds(linked):
    table, noted = linked(1, [2, 3], 50), Noted()
    assert len(TableGenerator(noted).synthesis(table, 3, 4)) == 50
    assert noted.seeds == [3, 4]


def test_a_function_gets_the_first_seed_and_any_table_back(linked):
    table, calls = linked(1, [2, 3], 50), []
    generator = TableGenerator(lambda given, seed: calls.append((given, seed)) or "anything")
    assert generator.synthesis(table, 3, 4) == "anything"
    assert calls == [(table, 3)]
    assert generator.fit(table, 3) is None
    stream = np.random.SeedSequence(9)
    assert generator.draw(None, table, 5, stream) == "anything"
    assert calls[1] == (table, int(stream.generate_state(1, np.uint32)[0]))


def test_a_model_is_drawn_from(linked):
    table = linked(1, [2, 3], 50)
    generator = TableGenerator(Independent())
    model = generator.fit(table, 1)
    stream = np.random.SeedSequence(9)
    assert generator.draw(model, table, 7, stream).data.equals(
        model.sample(7, seed=np.random.SeedSequence(9)).data
    )


def test_the_words_hold_settings_and_no_data():
    assert TableGenerator(BayesNet(parents=2)).description == "BayesNet(parents=2)"
    assert TableGenerator(len).description == "builtins.len"


def test_what_makes_no_tables():
    with pytest.raises(
        chaffinch._base.errors.InputError,
        match=r"method fit\(table, seed=\.\.\.\) or be a function .* Got int",
    ):
        TableGenerator(7)
