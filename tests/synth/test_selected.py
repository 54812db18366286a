"""A synthesiser that chooses privately: one promise for all, the account of everything, and the better candidate at a large budget."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import chaffinch
from chaffinch._base.errors import InputError, PrivacyError
from chaffinch.synth.selected import SelectedSettings
from chaffinch.table import Column, Schema, Table


def two_equal_columns(n: int = 600) -> Table:
    rng = np.random.default_rng(1)
    a = rng.choice(["x", "y"], n)
    table = pa.table({"a": a, "b": np.where(a == "x", "p", "q")})
    schema = Schema(
        (
            Column("a", "categorical", type="string", levels=("x", "y")),
            Column("b", "categorical", type="string", levels=("p", "q")),
        ),
        rows=n,
        public=True,
    )
    return chaffinch.prepare(table, schema)


def candidates(epsilon: float = 1.0) -> tuple:
    """Columns apart, and columns together: the second is right."""
    return chaffinch.FieldGroups(epsilon=epsilon, groups=[["a"], ["b"]]), chaffinch.FieldGroups(
        epsilon=epsilon, groups=[["a", "b"]]
    )


def test_the_account_is_of_everything_and_within_epsilon() -> None:
    settings = SelectedSettings(epsilon=4.0, candidates=candidates())
    model = settings.fit(two_equal_columns(), seed=1)
    account = model.privacy
    assert account is not None
    assert account.budget.epsilon == 4.0
    assert account.test_only
    assert len(account.charges) == 3  # two fits, and the choice
    assert sum(charge.epsilon for charge in account.charges) <= 4.0 * (1 + 1e-9)
    assert settings.selection.fit.epsilon == pytest.approx(4.0 * 0.9 / 2)
    assert model.sample(10, seed=1).n_rows == 10


def test_with_budget_enough_the_nearer_table_is_chosen() -> None:
    """The distance of tables of a and b is about 600 for columns apart and near 0 together: at epsilon 40 the worse one comes less than once in a billion."""
    settings = SelectedSettings(epsilon=40.0, candidates=candidates(), workload=(("a", "b"),))
    model = settings.fit(two_equal_columns(), seed=2)
    assert settings.position_of(model) == 1


def test_the_place_is_that_of_the_model_whatever_was_fitted_since() -> None:
    """At a small epsilon either is chosen, by seed: each model knows its own."""
    settings = SelectedSettings(epsilon=0.02, candidates=candidates(), workload=(("a",),))
    models = [settings.fit(two_equal_columns(), seed=seed) for seed in range(8)]
    places = [place for _, place in settings.selections]
    assert set(places) == {0, 1}  # eight alike: 1 in 128 for fair coins; the seeds are fixed
    assert [settings.position_of(model) for model in reversed(models)] == places[::-1]


def test_what_makes_no_promise_or_another_is_refused() -> None:
    with pytest.raises(PrivacyError, match="makes no promise"):
        SelectedSettings(epsilon=1.0, candidates=(chaffinch.BayesNet(),))
    with pytest.raises(PrivacyError, match="same relation"):
        SelectedSettings(
            epsilon=1.0, candidates=(chaffinch.BayesNet(epsilon=1.0, neighbours="replace-one"),)
        )
    with pytest.raises(InputError, match="at least one candidate"):
        SelectedSettings(epsilon=1.0)
    with pytest.raises(InputError, match="leave out delta"):
        SelectedSettings(epsilon=1.0, delta=1e-6, candidates=candidates())
    with pytest.raises(PrivacyError, match="declared schema"):
        SelectedSettings(epsilon=1.0, candidates=candidates()).fit("people.csv")


def test_a_preview_charges_what_a_fit_does() -> None:
    settings = SelectedSettings(epsilon=4.0, candidates=candidates())
    preview = settings.plan(two_equal_columns().schema)
    assert sum(step.charge.epsilon * step.times for step in preview.steps) <= 4.0 * (1 + 1e-9)
