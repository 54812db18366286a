"""Attacks in folds: two folds are the cross-fit, and everybody is once a member and once not."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import chaffinch
from chaffinch._base.seeds import child
from chaffinch.risk.attribution.crossfit import AttackedFold, attack_folds, halves_of
from chaffinch.risk.attribution.settings import RiskSettings


def people(n: int = 300) -> chaffinch.Table:
    rng = np.random.default_rng(3)
    age = rng.integers(20, 50, n)
    return chaffinch.read(
        pa.table(
            {
                "age": age,
                "sex": rng.choice(["f", "m"], n),
                "job": np.where(age > 35, rng.choice(["a", "b"], n), "c"),
            }
        )
    )


def test_folds_of_copies_are_known_and_of_others_are_not() -> None:
    """A copy answers for all its members; the largest excess is near one. Other people's table has none."""
    table = people()
    first, second = halves_of(table, np.random.default_rng(1))
    settings = RiskSettings(
        keys=["age", "sex"],
        sensitive=["job"],
        attackers=["gcap"],
        tests=["exact_row"],
        resamples=100,
    )
    root = np.random.SeedSequence(1)
    questions = settings.questions(child(root, 0))
    copies = attack_folds(
        [AttackedFold(first, [first], second), AttackedFold(second, [second], first)],
        questions,
        settings,
        root,
    )
    apart = attack_folds(
        [AttackedFold(first, [second], second), AttackedFold(second, [first], first)],
        questions,
        settings,
        root,
    )
    assert len(copies.outcomes[0][0][0].group[0]) == table.n_rows
    assert copies.largest()[0].lower > 0.1
    assert apart.largest()[0].estimate < 0.05


def test_one_fold_is_a_study_with_a_holdout() -> None:
    table = people()
    first, second = halves_of(table, np.random.default_rng(1))
    settings = RiskSettings(
        keys=["age", "sex"],
        sensitive=["job"],
        attackers=["gcap"],
        measures=["dcap"],
        tests=(),
        resamples=100,
    )
    root = np.random.SeedSequence(1)
    run = attack_folds(
        [AttackedFold(first, [first], second)], settings.questions(child(root, 0)), settings, root
    )
    known = chaffinch.risk(
        first,
        first,
        second,
        keys=["age", "sex"],
        sensitive=["job"],
        attackers=["gcap"],
        measures=["dcap"],
        tests=(),
        resamples=100,
        seed=1,
    )
    assert [a.value for a in run.attacks] == [a.value for a in known.attacks]
    name = run.largest()[1]
    assert "on job" in name
