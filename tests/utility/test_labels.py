"""Labels: tasks, where they come from, which of their levels may show."""

import json
import sys

import numpy as np
import pyarrow as pa
import pytest

import chaffinch
from chaffinch.errors import InputError, UnknownNameError
from chaffinch.table.align import align
from chaffinch.utility.learning import learning
from chaffinch.utility.trials import LearningLabel, shown_levels


def people(n: int, seed: int, *, noise: float = 0.6, share: float = 0.7) -> pa.Table:
    """A label 'ill' (rarer: yes) that depends on two of four columns, and a number 'cost' that depends on them too."""
    rng = np.random.default_rng(seed)
    age, sex, town = (
        rng.normal(50, 12, n).round(2),
        rng.choice(["f", "m"], n),
        rng.choice(["a", "b", "c"], n),
    )
    signal = (age - 50) / 12 + (sex == "m") + noise * rng.normal(size=n)
    return pa.table(
        {
            "age": age,
            "sex": sex,
            "town": town,
            "cost": (100 * signal + rng.normal(size=n)).round(1),
            "ill": np.where(signal > share, "yes", "no"),
            "stage": np.where(signal > 1.5, "late", np.where(signal > 0, "early", "none")),
        }
    )


ORIGINAL = chaffinch.read(people(300, 1))
GOOD = people(300, 2)


def test_small_counts_and_rare_levels_do_not_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    words = GOOD["stage"].to_pylist()
    words[:4] = ["odd"] * 4
    table = chaffinch.read(GOOD.set_column(5, "stage", pa.array(words)))
    asked = {"label": "stage", "models": ["nb"], "repeats": 2, "seed": 3}
    result = learning(table, table, **asked)
    monkeypatch.setattr(
        sys.modules["chaffinch.utility.learning"], "masked_count", lambda count, *_, **__: count
    )
    exact = learning(table, table, **asked)
    told = result.to_dict()
    assert "odd" not in json.dumps(told)
    assert "(rare level)" in told["confusion"][0]["levels"]
    for matrix, shown in zip(exact.confusion, told["confusion"], strict=True):
        for count, masked in zip(
            np.ravel(matrix.counts), np.ravel(np.array(shown["counts"], dtype=object)), strict=True
        ):
            # Two fits may count a record twice: below 20 there may be fewer than ten.
            assert masked == (0 if count == 0 else "<20" if count < 20 else round(count / 10) * 10)
    assert [list(map(list, matrix.counts)) for matrix in result.confusion] == [
        m["counts"] for m in told["confusion"]
    ]
    assert "odd" not in repr(result.confusion[0])
    assert repr(result).startswith("Learning(loss in learning = ")
    label = LearningLabel.of(align(table, table)[0], "stage")
    assert shown_levels(label, table, [0, 1, 2, 3]) == ("early", "late", "none", "(rare level)")


def test_tasks_follow_the_label_unless_named() -> None:
    assert LearningLabel.of(ORIGINAL, "cost").task == "regression"
    assert LearningLabel.of(ORIGINAL, "cost", "classification").task == "classification"
    assert LearningLabel.of(ORIGINAL, "ill").task == "classification"
    binned = learning(
        ORIGINAL, GOOD, label="cost", task="classification", models=["nb"], repeats=1, seed=1
    )
    assert binned.score == "accuracy"
    with pytest.raises(InputError, match="'ill' is categorical: regression needs numbers"):
        LearningLabel.of(ORIGINAL, "ill", "regression")
    with pytest.raises(UnknownNameError, match="Unknown task 'guessing'"):
        LearningLabel.of(ORIGINAL, "ill", "guessing")


def test_the_label_may_come_from_the_schema() -> None:
    from dataclasses import replace

    table = replace(ORIGINAL, schema=ORIGINAL.schema.with_roles(label="ill"))
    assert learning(table, GOOD, models=["nb"], repeats=1).label == "ill"
    with pytest.raises(InputError, match="No column has the role label"):
        learning(ORIGINAL, GOOD)
