"""What a table is worth: a copy is worth all, independent columns little, and a column that was left out says the same of everybody."""

from __future__ import annotations

import numpy as np
import pytest

import chaffinch
from chaffinch.utility.tvd import marginal_distance
from chaffinch.workflows.frontier.evaluate import MadeTable, filled, worth_figures

from .conftest import made_people, quick

SEED = np.random.SeedSequence(1)


def halves() -> tuple[chaffinch.Table, chaffinch.Table]:
    table = chaffinch.read(made_people(400))
    return table.take(np.arange(200)), table.take(np.arange(200, 400))


def test_a_copy_is_worth_more_than_independent_columns() -> None:
    first, second = halves()
    free = chaffinch.Independent().fit(first).sample(seed=1)
    asked = quick(label="ill", formula="age ~ sex", tables=(("age", "job"),))
    copied, scores = worth_figures([MadeTable(first, first, second)], asked, SEED)
    apart, _ = worth_figures([MadeTable(first, free, second)], asked, SEED)
    assert [one.name for one in copied] == ["accuracy", "regression", "tables"]
    assert copied[0].value > apart[0].value + 0.05
    assert copied[1].value == pytest.approx(1.0)
    assert copied[2].value == 0.0 < apart[2].value
    assert len(scores) == 200
    assert all(one.interval is not None for one in copied[:1])


def test_two_folds_are_averaged() -> None:
    first, second = halves()
    asked = quick(label=None, tables=(("age", "sex"),))
    both, _ = worth_figures(
        [MadeTable(first, second, second), MadeTable(second, first, first)], asked, SEED
    )
    each = [
        marginal_distance(a, b, cliques=[("age", "sex")]).value
        for a, b in ((first, second), (second, first))
    ]
    assert both[0].value == pytest.approx(np.mean(each))


def test_headline_measures_have_values() -> None:
    first, second = halves()
    figures, _ = worth_figures([MadeTable(first, second, second)], quick(label=None), SEED)
    assert [one.name for one in figures] == ["tvd_2", "phi_k", "tvd_3", "pmse"]
    assert all(one.value is not None and not one.higher for one in figures)


def test_a_column_that_was_left_out_has_its_commonest_value() -> None:
    first, _ = halves()
    made = filled(first[["age", "sex", "town", "ill"]], first)
    assert made.column_names == list(first.columns)
    values, counts = np.unique(
        first.data.column("job").to_numpy(zero_copy_only=False), return_counts=True
    )
    assert set(made.column("job").to_pylist()) == {values[counts.argmax()]}
    assert filled(first, first) is first


def test_a_label_without_people_has_a_reason() -> None:
    first, second = halves()
    figures, scores = worth_figures(
        [MadeTable(first, first.take(np.arange(5)), second)], quick(), SEED
    )
    assert figures[0].value is None
    assert "too few" in figures[0].reason
    assert len(scores) == 0
