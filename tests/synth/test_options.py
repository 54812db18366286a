"""Options as one value: what was given, and the promise they amount to."""

from __future__ import annotations

from chaffinch.synth import BayesNet, FieldGroups, MethodOptions, PrivBayes


def test_options_become_settings():
    asked = MethodOptions(parents=2, epsilon=1.0, neighbours="replace-one", label="x")
    assert BayesNet.from_options(asked) == BayesNet(parents=2, epsilon=1.0, neighbours="replace-one", label="x")
    assert PrivBayes.from_options(asked) == PrivBayes(epsilon=1.0), "it has the parents that its own rule gives"
    assert FieldGroups.from_options(asked) == FieldGroups(epsilon=1.0, neighbours="replace-one")
    assert BayesNet.from_options(MethodOptions(generations=7)).evolution.generations == 7


def test_what_was_given_and_what_is_promised():
    asked = MethodOptions(parents=2, epsilon=1.0, delta=1e-6)
    assert asked.changed == {"parents": 2, "epsilon": 1.0, "delta": 1e-6}
    assert asked.promise == {"epsilon": 1.0, "delta": 1e-6, "rows_per_person": 1}
    assert MethodOptions().changed == MethodOptions().promise == {}
