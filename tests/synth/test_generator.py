"""One adapter for all that makes tables: synthesisers and functions, each with the seeds it was given."""

from __future__ import annotations

import numpy as np
import pytest

import chaffinch
from chaffinch.synth import BayesNet, Independent, TableGenerator


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
    assert TableGenerator(BayesNet(parents=2)).words == "BayesNet(parents=2)"
    assert TableGenerator(len).words == "builtins.len"


def test_what_makes_no_tables():
    with pytest.raises(
        chaffinch.errors.InputError,
        match=r"method fit\(table, seed=\.\.\.\) or be a function .* Got int",
    ):
        TableGenerator(7)
