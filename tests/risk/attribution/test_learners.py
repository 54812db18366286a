"""Attackers that learn: what a source shows is learnt, and a source of few records is refused."""

import numpy as np
import pyarrow as pa
import pytest

import chaffinch
from chaffinch.risk import ATTACKERS
from chaffinch.risk.attribution.attack_data import AttackData
from chaffinch.risk.attribution.attempt import AttackContext, AttackSpec, run_attackers
from chaffinch.risk.attribution.learners import FEWEST, LEARNERS, MOST_VALUES
from chaffinch.table import Schema
from chaffinch.table.schema import Column


def asked(n_rows):
    rng = np.random.default_rng(3)
    key = rng.integers(0, 2, n_rows)
    frame = pa.table({"k": [f"k{v}" for v in key], "s": [f"s{v}" for v in key]})
    table = chaffinch.read(frame, rare="keep")
    data = AttackData.from_tables(table, [table], columns=["k", "s"])
    return run_attackers(
        AttackContext(data, "synthetic", ["original"], AttackSpec(("k",), "s", tuple(LEARNERS)))
    )


def test_every_learner_is_registered_as_one_that_learns():
    assert [one.name for one in ATTACKERS if one.learns][: len(LEARNERS)] == list(LEARNERS)


def test_a_rule_that_the_source_shows_is_learnt():
    answers = asked(60)
    assert {name: sides[0].value for name, sides in answers.items()} == pytest.approx(
        dict.fromkeys(LEARNERS, 1.0)
    )


def test_few_records_give_a_reason():
    for (only,) in asked(FEWEST - 1).values():
        assert only.value is None
        assert f"fewer than {FEWEST} records" in only.reason


def test_of_very_many_values_the_most_frequent_are_learnt():
    """A number of 150 values, each with two records and 50 of them with a third, known by their key: those 50 are learnt, 150 of 350 people."""
    values = np.repeat(np.arange(150), np.where(np.arange(150) % 3 == 0, 3, 2)) * 10
    schema = Schema((Column("k", "integer", type="int64"), Column("s", "integer", type="int64")))
    table = chaffinch.read(pa.table({"k": values, "s": values + 5}), schema)
    data = AttackData.from_tables(table, [table], columns=["k", "s"])
    (forest,) = run_attackers(
        AttackContext(data, "synthetic", ["original"], AttackSpec(("k",), "s", ("rf",)))
    )["rf"]
    assert MOST_VALUES == 50
    assert forest.value == pytest.approx(
        150 / 350, abs=0.02
    )  # a forest may miss a record that few of its trees saw
    binned = AttackData.from_tables(table, [table], columns=["k", "s"], numeric="bins")
    (coarse,) = run_attackers(
        AttackContext(binned, "synthetic", ["original"], AttackSpec(("k",), "s", ("rf",)))
    )["rf"]
    assert coarse.value > 0.98


def attack_of(original, synthetic, keys, *, attackers=("nb", "gaussian_nb"), people="original"):
    table = chaffinch.read(pa.table(original), rare="keep")
    data = AttackData.from_tables(table, [pa.table(synthetic)], columns=[*keys, "s"])
    answers = run_attackers(
        AttackContext(data, "synthetic", [people], AttackSpec(tuple(keys), "s", attackers))
    )
    return {name: (side.value, side.guess.value) for name, (side,) in answers.items()}


def test_a_value_that_one_record_has_does_not_win_everywhere():
    """500 people: `s` is b for those with the key y, of whom one in ten has a instead; a third value has one record, at the most frequent key.

    Naive Bayes is right for all but 26: 25 with the rarer value of their key, and the one. Gaussian naive Bayes on codes gives the third value, which
    has no variance, everything at that key: it is right for 1 + 225 at most.
    """
    key = ["x"] * 250 + ["y"] * 250
    value = ["c"] + ["a"] * 249 + ["a"] * 25 + ["b"] * 225
    frame = {"k": key, "s": value}
    answers = attack_of(frame, frame, ["k"])
    assert answers["nb"][0] == pytest.approx(1 - 26 / 500)
    assert answers["gaussian_nb"][0] <= 226 / 500
    assert answers["nb"][1] == pytest.approx(274 / 500)


def test_a_constant_number_of_a_rare_value_does_not_win_everywhere():
    """A number that is 0 for most people, and for all five who have the rare value: nine in ten people have the frequent value."""
    rng = np.random.default_rng(5)
    gain = np.where(rng.random(400) < 0.9, 0, rng.integers(1, 5000, 400))
    value = np.where(np.arange(400) % 10 == 9, "b", "a")
    value[np.flatnonzero(gain == 0)[:5]] = "rare"
    frame = {"gain": gain, "age": rng.integers(18, 90, 400), "s": value}
    answers = attack_of(frame, frame, ["gain", "age"])
    assert answers["nb"][0] >= answers["nb"][1] - 0.01
    assert answers["gaussian_nb"][0] < answers["nb"][1] / 2


def test_that_a_number_is_missing_is_learnt_from():
    rng = np.random.default_rng(6)
    there = np.arange(300) % 3 > 0
    number = [
        int(v) if have else None for v, have in zip(rng.integers(0, 1000, 300), there, strict=True)
    ]
    frame = {"k": number, "s": np.where(there, "a", "b")}
    assert attack_of(frame, frame, ["k"], attackers=("nb",))["nb"][0] == 1.0


def test_the_printed_variant_runs_where_it_is_named_alone():
    from chaffinch.risk import RiskSettings

    roles = {"keys": ["a"], "sensitive": ["s"]}
    seed = np.random.SeedSequence(1)
    for settings in (RiskSettings(**roles), RiskSettings(**roles, thorough=True)):
        questions = settings.questions(seed)
        assert "nb" in questions[0].attackers
        assert "gaussian_nb" not in questions[0].attackers
        assert "gaussian_nb" not in str(settings.plan().left_out)
    assert (
        "gaussian_nb"
        in RiskSettings(
            **roles, attackers=["cap", "dcap", "disco", "tcap", "gaussian_nb", "memorisation"]
        )
        .questions(seed)[0]
        .attackers
    )
