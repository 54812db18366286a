"""Attackers that learn: what a source shows is learnt, and a source of few records is refused."""

import numpy as np
import pyarrow as pa
import pytest

import chaffinch
from chaffinch.risk import ATTACKERS
from chaffinch.risk.attribution.attack_data import AttackData
from chaffinch.risk.attribution.attempt import Attempt, Question, outcomes
from chaffinch.risk.attribution.learners import FEWEST, LEARNERS


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
