"""The score of each person: its mean is the accuracy of the learning table, or R2."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import chaffinch
from chaffinch.utility.learning import learning
from chaffinch.utility.trials import person_scores


def table(n: int, seed: int, *, number: bool = False) -> chaffinch.Table:
    rng = np.random.default_rng(seed)
    a, b = rng.choice(["x", "y"], n), rng.integers(0, 40, n)
    label = (
        b + rng.normal(0, 4, n)
        if number
        else np.where((a == "x") ^ (rng.random(n) < 0.2), "p", "q")
    )
    return chaffinch.read(pa.table({"a": a, "b": b, "label": label}))


def test_their_mean_is_what_learning_scores_on_a_holdout() -> None:
    """The same learners on the same tables: the second opinion is the learning table."""
    original, synthetic, holdout = table(400, 1), table(400, 2), table(300, 3)
    found = person_scores(original, synthetic, holdout, label="label", models=("nb", "lr"), seed=1)
    rows = learning(
        original, synthetic, holdout, label="label", models=("nb", "lr"), repeats=1, seed=1
    ).rows
    expected = np.mean([row.score for row in rows if row.trained_on == "synthetic"])
    assert found.scores.shape == (300,)
    assert found.scores.mean() == pytest.approx(expected, abs=1e-9)


def test_of_numbers_their_mean_is_r2() -> None:
    original, synthetic, holdout = (
        table(400, 1, number=True),
        table(400, 2, number=True),
        table(300, 3, number=True),
    )
    found = person_scores(original, synthetic, holdout, label="label", models=("lr",), seed=1)
    rows = learning(
        original, synthetic, holdout, label="label", models=("lr",), repeats=1, seed=1
    ).rows
    assert found.task == "regression"
    assert found.scores.mean() == pytest.approx(
        next(row.score for row in rows if row.trained_on == "synthetic"), abs=1e-9
    )


def test_too_few_labels_have_a_reason() -> None:
    few = table(400, 1).take(np.arange(5))
    assert "too few" in person_scores(table(400, 1), few, table(50, 2), label="label").reason
