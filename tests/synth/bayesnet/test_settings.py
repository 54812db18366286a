"""The settings of a network: what they refuse, and about what a fit will take."""

from __future__ import annotations

import pyarrow as pa
import pytest

from chaffinch import MemoryCounter, read
from chaffinch._base.errors import InputError, UnknownNameError
from chaffinch.synth import BayesNet
from chaffinch.synth.bayesnet.tables import ConditionalTable


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"parents": 0}, "parents must be a whole number of at least 1. Got 0."),
        ({"parents": 2.5}, "parents must be a whole number of at least 1. Got 2.5."),
        (
            {"sensitive": "age"},
            "sensitive must be a list of names, as ['age', 'sex']. Got 'age'.",
        ),
        ({"require": ["ab"]}, "require must be a pair PARENT:CHILD. Got ['ab']."),
        ({"delta": 1e-6}, "delta is part of a privacy guarantee: give epsilon too."),
        ({"smoothing": -1}, "smoothing must be a number of at least 0. Got -1."),
        ({"penalty": float("inf")}, "penalty must be a number of at least 0. Got inf."),
    ],
)
def test_settings_that_break_a_rule(settings, words):
    with pytest.raises(InputError) as caught:
        BayesNet(**settings)
    assert str(caught.value) == words


def test_unknown_searches_and_scores():
    with pytest.raises(UnknownNameError, match="Unknown search 'greeedy'"):
        BayesNet(search="greeedy")
    with pytest.raises(UnknownNameError, match="Unknown score for genetic search 'joint'"):
        BayesNet(search="genetic", score="joint")


def test_trees_unless_something_asks_for_tables():
    assert all(
        s.has_trees
        for s in (
            BayesNet(),
            BayesNet(score="penalised", parents=2),
            BayesNet(search="greedy", conditionals="trees"),
        )
    )
    tables = [
        {"conditionals": "tables"},
        {"search": "greedy"},
        {"search": "genetic"},
        {"score": "joint"},
        {"epsilon": 1.0},
    ]
    assert not any(BayesNet(**settings).has_trees for settings in tables)
    with pytest.raises(UnknownNameError, match="Conditionals: tables, trees"):
        BayesNet(conditionals="tree")


class CountsAlone:
    """A counter elsewhere, which hands out no rows."""

    def __init__(self, table):
        self._inner = MemoryCounter(table)
        self.schema, self.n_rows = self._inner.schema, self._inner.n_rows

    def marginals(self, cliques):
        return self._inner.marginals(cliques)


def test_counts_alone_give_the_network_of_tables():
    table = read(pa.table({"a": ["x", "y"] * 40, "b": ["p", "q", "p", "r"] * 20}))
    model = BayesNet().fit(CountsAlone(table), seed=1)
    assert model.network == BayesNet(conditionals="tables").fit(table, seed=1).network
    assert all(isinstance(conditional, ConditionalTable) for conditional in model.tables)
    with pytest.raises(InputError, match="Trees are learnt from rows"):
        BayesNet(conditionals="trees").fit(CountsAlone(table), seed=1)
