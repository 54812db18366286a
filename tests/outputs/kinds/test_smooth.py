"""Formulas of sums: their derivatives against central differences and by hand, and the scales that equations have p-values on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from chaffinch.outputs.kinds.single import (
    Followed,
    SmoothNumbers,
    at_least,
    scaled,
    scaled_interval,
)
from chaffinch.outputs.numbers import Interval


class Ratio(SmoothNumbers):
    """a / b, and its square, which follows."""

    def formulas(self, sums: Any) -> Mapping[str, Any]:
        return {"ratio": sums[..., 0] / at_least(sums[..., 1], 1.0)}

    def follow(self, numbers: Mapping[str, float]) -> Mapping[str, Followed]:
        return {"square": Followed(numbers["ratio"] ** 2, {"ratio": 2.0 * numbers["ratio"]})}


def test_derivatives_by_hand() -> None:
    values, slope = Ratio(("square", "ratio"), {})(np.array([6.0, 3.0]))
    assert values.tolist() == [4.0, 2.0]
    assert slope == pytest.approx(
        np.array([[4.0 / 3.0, -8.0 / 3.0], [1.0 / 3.0, -2.0 / 3.0]]), abs=1e-14
    )
    assert not Ratio(("ratio",), {}).undetermined(np.zeros(2)).any()


@given(st.floats(1e-12, 1.0))
def test_a_p_value_becomes_the_size_of_a_normal_statistic(p: float) -> None:
    z, slope = scaled("p_value", p)
    assert 2.0 * norm.sf(z) == pytest.approx(p, rel=1e-9)
    h = 1e-6 * p
    assert slope == pytest.approx(
        (scaled("p_value", p + min(h, 1 - p))[0] - scaled("p_value", p - h)[0])
        / (h + min(h, 1 - p)),
        rel=2e-3,
    )


def test_intervals_keep_their_order() -> None:
    low, high = scaled_interval("p_value", Interval(0.0, 0.001))
    assert high > 37.0
    assert low == pytest.approx(3.2905, abs=1e-4)
    assert scaled_interval("odds_ratio", Interval(0.5, 2.0)) == pytest.approx(
        (-np.log(2), np.log(2))
    )
    assert scaled_interval("statistic", Interval(1.0, 2.0)) == (1.0, 2.0)
