"""G: sums by hand, intervals, what is lacking."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import chaffinch
from chaffinch.errors import InputError
from chaffinch.stats.intervals import Result
from chaffinch.utility.composite import baseline_weights, composite


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
    with pytest.raises(InputError, match="alpha must be a number of at least 0"):
        composite(Part(value=1), Part(value=1), alpha=weight)
    with pytest.raises(InputError, match="beta must be a number of at least 0"):
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
    with pytest.raises(InputError, match=r"share must be a number from 0 to 1\. Got 1\.5"):
        baseline_weights(Part(value=0.1), Part(value=0.1), share=1.5)


def pairs(n: int = 400) -> pa.Table:
    rng = np.random.default_rng(1)
    a = rng.integers(0, 3, n)
    return pa.table(
        {
            "a": [f"a{x}" for x in a],
            "b": [f"b{x}" for x in (a + (rng.random(n) < 0.1)) % 3],
            "c": [f"c{x}" for x in a // 2],
        }
    )


def test_a_study_weighs_by_its_own_independent_columns() -> None:
    table = pairs()
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
    with pytest.raises(
        InputError, match=r"Unknown way to weigh G 'baseline'\. Did you mean 'baselines'"
    ):
        chaffinch.utility(pairs(), pairs(), weights="baseline")  # type: ignore[arg-type]
    with pytest.raises(
        InputError, match="alpha and beta are given, and weights = 'baselines' sets them"
    ):
        chaffinch.utility(pairs(), pairs(), weights="baselines", alpha=2.0)
