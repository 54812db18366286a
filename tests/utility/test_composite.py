"""G: sums by hand, intervals, what is lacking; and curves over a setting."""

import json
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier

import chaffinch
from chaffinch import BayesNet, Independent
from chaffinch.errors import InputError
from chaffinch.stats.intervals import Result
from chaffinch.utility.composite import baseline_weights, composite, sweep
from chaffinch.utility.delta import delta
from chaffinch.utility.mu import mu


@dataclass(frozen=True, kw_only=True, repr=False)
class Part(Result):
    name: ClassVar[str] = "part"
    direction: ClassVar = "lower is better"
    identical: ClassVar[float] = 0.0


def test_g_is_the_weighted_sum_and_half_widths_add_in_squares() -> None:
    result = composite(
        Part(value=0.2, interval=(0.17, 0.23)),
        Part(value=0.1, interval=(0.08, 0.14)),
        alpha=1,
        beta=2,
    )
    assert result.value == pytest.approx(0.4)
    # Below: sqrt(0.03^2 + (2 x 0.02)^2) = 0.05; above: sqrt(0.03^2 + (2 x 0.04)^2).
    assert result.interval == pytest.approx((0.35, 0.4 + np.hypot(0.03, 0.08)))
    told = result.to_dict()
    assert (told["alpha"], told["beta"], told["identical"]) == (1, 2, 0)


def test_g_without_an_interval_of_a_part_has_none_and_never_falls_below_zero() -> None:
    assert composite(Part(value=0.2), Part(value=0.1, interval=(0, 1))).interval is None
    assert (
        composite(
            Part(value=0.1, interval=(-0.2, 0.2)), Part(value=0.1, interval=(0, 0.2))
        ).interval[0]
        == 0
    )


def test_g_without_a_part_is_not_applicable() -> None:
    for parts in [
        (Part(value=None, reason="no pairs"), Part(value=1)),
        (Part(value=1), Part(value=None, reason="no pairs")),
    ]:
        result = composite(*parts)
        assert result.value is None
        assert result.reason == "part is not applicable: no pairs"


@pytest.mark.parametrize("weight", [-1, float("nan"), float("inf")])
def test_weights_are_numbers_of_at_least_zero(weight: float) -> None:
    with pytest.raises(InputError, match="alpha must be at least 0"):
        composite(Part(value=1), Part(value=1), alpha=weight)
    with pytest.raises(InputError, match="beta must be at least 0"):
        composite(Part(value=1), Part(value=1), beta=weight)


POSITIVE = st.floats(1e-6, 1.0)


@given(mu=POSITIVE, delta=POSITIVE, share=st.floats(0.0, 1.0), part=st.floats(0.0, 1.0))
def test_by_baselines_g_is_one_for_independent_columns_and_a_share_of_it_in_between(
    mu: float, delta: float, share: float, part: float
) -> None:
    alpha, beta = baseline_weights(Part(value=mu), Part(value=delta), share=share)
    assert composite(
        Part(value=mu), Part(value=delta), alpha=alpha, beta=beta
    ).value == pytest.approx(1.0)
    assert composite(
        Part(value=part * mu), Part(value=part * delta), alpha=alpha, beta=beta
    ).value == pytest.approx(part)
    # All relations lost and nothing of learning: the share itself, whatever the scales of mu and delta.
    assert composite(
        Part(value=mu), Part(value=0.0), alpha=alpha, beta=beta
    ).value == pytest.approx(share)


def test_baselines_that_are_no_scale_are_refused() -> None:
    with pytest.raises(
        InputError,
        match="part of independent columns is no scale: it is 0, so there are no relations to lose",
    ):
        baseline_weights(Part(value=0.0), Part(value=0.1))
    with pytest.raises(InputError, match="is no scale: no column is categorical"):
        baseline_weights(Part(value=0.1), Part(value=None, reason="no column is categorical"))
    with pytest.raises(InputError, match=r"share must lie between 0 and 1\. Got 1\.5"):
        baseline_weights(Part(value=0.1), Part(value=0.1), share=1.5)


def linked_columns(n: int = 200, seed: int = 1) -> chaffinch.Table:
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(n, 1)) + 0.4 * rng.normal(size=(n, 3))
    return chaffinch.read(
        pa.table({name: np.where(hidden[:, j] > 0, "u", "v") for j, name in enumerate("abc")})
    )


def test_a_study_weighs_by_its_own_independent_columns() -> None:
    table = linked_columns()
    result = chaffinch.utility(
        table, table, measures=["phi_k", "delta"], repeats=1, weights="baselines", seed=1
    )
    told, references = result["G"].to_dict(), result.references
    assert result["G"].value == 0.0
    assert references["G"].marginals == pytest.approx(1.0)
    assert told["alpha"] * references["mu"].marginals == pytest.approx(0.5)
    assert told["beta"] * references["delta"].marginals == pytest.approx(0.5)
    assert told["settings"]["weights"] == "baselines"


def test_weights_are_named_or_given_and_not_both() -> None:
    with pytest.raises(InputError, match=r"Unknown weights 'baseline'\. Did you mean 'baselines'"):
        chaffinch.utility(linked_columns(), linked_columns(), weights="baseline")  # type: ignore[arg-type]
    with pytest.raises(
        InputError, match="alpha and beta are given, and weights = 'baselines' sets them"
    ):
        chaffinch.utility(linked_columns(), linked_columns(), weights="baselines", alpha=2.0)


def blurred(share: float):
    """A synthesiser as a plain function: that share of each column is shuffled."""

    def make(original: chaffinch.Table, seed: int) -> pa.Table:
        rng = np.random.default_rng(seed)
        columns = {}
        for name in original.columns:
            order = np.arange(original.n_rows)
            moved = np.flatnonzero(rng.random(original.n_rows) < share)
            order[moved] = rng.permutation(moved)
            columns[name] = original.data[name].take(order)
        return pa.table(columns)

    return make


def test_a_sweep_over_worse_and_worse_tables_rises_and_starts_at_zero() -> None:
    original = linked_columns()
    result = sweep(
        original,
        {0.0: blurred(0), 0.5: blurred(0.5), 1.0: blurred(1)},
        setting="blur",
        copies=2,
        seed=1,
        models=["nb"],
        repeats=2,
    )
    assert [(row.setting, row.copy) for row in result.rows] == [
        (s, c) for s in (0.0, 0.5, 1.0) for c in (1, 2)
    ]
    means = result.means()
    assert means[0] == {"setting": 0.0, "mu": 0, "delta": 0, "delta_tstr": 0, "G": 0}
    # Errors move from 0.15 to 0.5 and phi_k from 0.9 to 0.1, half as far at the middle: far beyond the noise of two copies.
    for name in ("mu", "delta", "G"):
        assert means[0][name] < means[1][name] < means[2][name]
    for row in result.rows:
        assert pytest.approx(row.mu + row.delta) == row.G
    told = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert told["setting"] == "blur"
    assert told["rows"][0] == {
        "setting": 0.0,
        "copy": 1,
        "mu": 0,
        "delta": 0,
        "delta_tstr": 0,
        "G": 0,
    }
    assert told["settings"]["delta"]["repeats"] == 2
    assert "<th>blur</th>" in result._repr_html_()


def test_a_sweep_measures_what_the_measures_alone_do() -> None:
    original = linked_columns()
    made: list[chaffinch.Table] = []

    @dataclass(frozen=True)
    class Kept:
        def fit(self, data, *, seed=None):
            self.seeds.append(seed)
            return self

        def sample(self, n_rows, *, seed=None):
            made.append(Independent().fit(original).sample(n_rows, seed=seed))
            self.seeds.append(seed)
            return made[-1]

        seeds: ClassVar[list[int]] = []

    result = sweep(
        original,
        {"kept": Kept()},
        copies=2,
        seed=7,
        alpha=2,
        models=["nb"],
        repeats=2,
        labels=["a"],
    )
    assert len(set(Kept.seeds)) == 4  # every fit and every sample has its own
    assert all(t.n_rows == original.n_rows for t in made)
    seed = np.random.SeedSequence(7, spawn_key=(0,))
    for row, synthetic in zip(result.rows, made, strict=True):
        alone = delta(original, synthetic, models=["nb"], repeats=2, labels=["a"], seed=seed)
        assert (row.delta, row.delta_tstr) == (alone.value, alone.tstr.value)
        assert row.mu == mu(original, synthetic).value
        assert pytest.approx(2 * row.mu + row.delta) == row.G


def test_a_sweep_repeats_itself_with_its_seed_whatever_the_threads() -> None:
    asked = {
        "copies": 2,
        "models": {"forest": RandomForestClassifier(7)},
        "repeats": 1,
        "labels": ["a"],
    }
    makers = {"network": BayesNet(parents=1), "alone": Independent()}
    one, two = (sweep(linked_columns(), makers, seed=3, threads=n, **asked) for n in (1, 2))
    assert one == two
    assert one != sweep(linked_columns(), makers, seed=4, **asked)
    assert one.rows[0].mu != one.rows[1].mu


def test_a_sweep_takes_another_measure_for_mu_and_says_none_where_a_part_does_not_apply() -> None:
    heard: list[float] = []
    result = sweep(
        linked_columns(),
        {"alone": Independent()},
        copies=1,
        seed=1,
        measure_mu=lambda *_: Part(value=None, reason="none"),
        models=["nb"],
        repeats=1,
        progress=lambda _, share: heard.append(share),
    )
    (row,) = result.rows
    assert row.mu is None
    assert row.G is None
    assert row.delta is not None
    assert result.means()[0]["G"] is None
    assert heard == sorted(heard)
    assert "<td></td>" in result._repr_html_()


def test_errors() -> None:
    with pytest.raises(InputError, match="at least one synthesiser"):
        sweep(linked_columns(), {})
    with pytest.raises(InputError, match=r"copies must be a whole number of at least 1. Got 0"):
        sweep(linked_columns(), {1: Independent()}, copies=0)
    with pytest.raises(InputError, match="must have a method fit"):
        sweep(linked_columns(), {1: "privbayes"})
