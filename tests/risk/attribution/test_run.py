"""A run of attacks: values from every source, then intervals and excesses."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import chaffinch
from chaffinch._base.runtime import silent
from chaffinch.risk.attribution.attack_data import AttackData
from chaffinch.risk.attribution.attacker import Question
from chaffinch.risk.attribution.run import Run
from chaffinch.workflows.policy import RiskPolicy


def table(seed, n_rows=40):
    rng = np.random.default_rng(seed)
    columns = {"a": rng.choice(["x", "y"], n_rows), "s": rng.choice(["u", "v"], n_rows)}
    return chaffinch.read(pa.table(columns), rare="keep")


def finished(syntheses, holdout):
    data = AttackData.of(table(1), syntheses, holdout, columns=["a", "s"])
    run = Run(data, np.random.SeedSequence(1), 50, 1, silent)
    run.attack(Question(("a",), "s", ("dcap",)), None)
    return run.finished()


def test_the_value_is_the_mean_over_syntheses():
    singles = [finished([table(seed)], None)[0][0].value for seed in (2, 3)]
    (both,), _ = finished([table(2), table(3)], None)
    assert both.value == pytest.approx(np.mean(singles))
    assert both.interval is None  # one of several tables has one


def test_the_excess_is_members_less_others():
    (attack,), family = finished([table(2)], table(4))
    assert attack.excess == pytest.approx(attack.value - attack.holdout)
    assert attack.p_family == family.adjusted[0] == family.p_value
    assert attack.lower_bound == family.lower[0]


def test_bounds_of_several_releases_are_of_the_one_with_most():
    """The second release is the original itself: what is said of the first alone would miss it."""
    rng = np.random.default_rng(5)

    def people(n_rows: int) -> pa.Table:
        return pa.table({name: rng.integers(0, 60, n_rows) for name in ("a", "b", "c")})

    original, other, fresh = people(300), people(300), people(300)
    options = {"tests": ["exact_row", "copied_row"], "resamples": 100, "seed": 1}
    safe, both = (
        chaffinch.risk(original, other, fresh, **options),
        chaffinch.risk(original, [other, original], fresh, **options),
    )
    assert safe.lower_bound is None or safe.lower_bound < 0.05
    assert both.lower_bound > 0.9
    assert both.family.p_value < 0.05
    assert both.headline.p_family == both.family.p_value
    assert RiskPolicy(0.5).judged(both, {}).limit.state == "exceeds"
    assert all(
        bound >= alone for bound, alone in zip(both.family.upper, safe.family.upper, strict=True)
    )
    assert (
        RiskPolicy(1.0).judged(both, {}).limit.state == "undecided"
    )  # all releases together have no bound


def test_without_a_holdout_there_is_a_reason():
    (attack,), family = finished([table(2)], None)
    assert attack.excess is None
    assert "No holdout was given" in attack.reason
    assert family.p_value is None


def test_a_quick_run_has_the_figures_of_a_thorough_one():
    """Attack by attack: what is said of all attacks together is of those that were tried."""
    tables = (table(1, 200), table(2, 200), table(4, 200))
    options = {"keys": ["a"], "sensitive": ["s"], "resamples": 40, "svm_rows": 50, "seed": 3}
    quick, thorough = (
        chaffinch.risk(*tables, **options, thorough=thorough) for thorough in (False, True)
    )
    every = {attack.measure: attack for attack in thorough.attacks}
    of_all = {"p_family": None, "lower_bound": None, "upper_bound": None}
    assert set(every) - {attack.measure for attack in quick.attacks} == {"svm", "rf", "lr"}
    for attack in quick.attacks:
        assert replace(attack, **of_all) == replace(every[attack.measure], **of_all)
    together = [
        [replace(test, **of_all) for test in run.memorisation_tests] for run in (quick, thorough)
    ]
    assert together[0] == together[1]
    assert [(part.what, part.flag) for part in quick.about.left_out] == [
        ("attackers svm, rf, lr", "--thorough")
    ]
    assert thorough.about.left_out == ()
