"""Attackers that learn: what a source shows is learnt, and a source of few records is refused."""

import numpy as np
import pyarrow as pa
import pytest

import chaffinch
from chaffinch.risk import ATTACKERS
from chaffinch.risk.attribution.attack_data import AttackData
from chaffinch.risk.attribution.attempt import Attempt, Question, outcomes
from chaffinch.risk.attribution.learners import FEWEST, LEARNERS, MOST_VALUES
from chaffinch.table import Schema
from chaffinch.table.schema import Column


def asked(n_rows):
    rng = np.random.default_rng(3)
    key = rng.integers(0, 2, n_rows)
    frame = pa.table({"k": [f"k{v}" for v in key], "s": [f"s{v}" for v in key]})
    table = chaffinch.read(frame, rare="keep")
    data = AttackData.of(table, [table], columns=["k", "s"])
    return outcomes(Attempt(data, "synthetic", ["original"], Question(("k",), "s", tuple(LEARNERS))))


def test_every_learner_is_registered_as_one_that_learns():
    assert [one.name for one in ATTACKERS if one.learns][: len(LEARNERS)] == list(LEARNERS)


def test_a_rule_that_the_source_shows_is_learnt():
    answers = asked(60)
    assert {name: sides[0].value for name, sides in answers.items()} == pytest.approx(dict.fromkeys(LEARNERS, 1.0))


def test_few_records_give_a_reason():
    for (only,) in asked(FEWEST - 1).values():
        assert only.value is None
        assert f"fewer than {FEWEST} records" in only.reason


def test_of_very_many_values_the_most_frequent_are_learnt():
    """A number of 150 values, each with two records and 50 of them with a third, known by their key: those 50 are learnt, 150 of 350 people."""
    values = np.repeat(np.arange(150), np.where(np.arange(150) % 3 == 0, 3, 2)) * 10
    schema = Schema((Column("k", "integer", type="int64"), Column("s", "integer", type="int64")))
    table = chaffinch.read(pa.table({"k": values, "s": values + 5}), schema)
    data = AttackData.of(table, [table], columns=["k", "s"])
    (forest,) = outcomes(Attempt(data, "synthetic", ["original"], Question(("k",), "s", ("rf",))))["rf"]
    assert MOST_VALUES == 50
    assert forest.value == pytest.approx(150 / 350, abs=0.02)  # a forest may miss a record that few of its trees saw
    binned = AttackData.of(table, [table], columns=["k", "s"], numeric="bins")
    (coarse,) = outcomes(Attempt(binned, "synthetic", ["original"], Question(("k",), "s", ("rf",))))["rf"]
    assert coarse.value > 0.98
