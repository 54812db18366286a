"""G: sums by hand, intervals, what is lacking."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from chaffinch.errors import InputError
from chaffinch.stats.result import Result
from chaffinch.utility.composite import composite


@dataclass(frozen=True, kw_only=True, repr=False)
class Part(Result):
    name: ClassVar[str] = "part"
    direction: ClassVar = "lower is better"
    identical: ClassVar[float] = 0.0


def test_g_is_the_weighted_sum_and_half_widths_add_in_squares() -> None:
    result = composite(Part(value=0.2, interval=(0.17, 0.23)), Part(value=0.1, interval=(0.08, 0.14)), alpha=1, beta=2)
    assert result.value == pytest.approx(0.4)
    # Below: sqrt(0.03^2 + (2 x 0.02)^2) = 0.05; above: sqrt(0.03^2 + (2 x 0.04)^2).
    assert result.interval == pytest.approx((0.35, 0.4 + np.hypot(0.03, 0.08)))
    told = result.to_dict()
    assert (told["alpha"], told["beta"], told["identical"]) == (1, 2, 0)


def test_g_without_an_interval_of_a_part_has_none_and_never_falls_below_zero() -> None:
    assert composite(Part(value=0.2), Part(value=0.1, interval=(0, 1))).interval is None
    assert composite(Part(value=0.1, interval=(-0.2, 0.2)), Part(value=0.1, interval=(0, 0.2))).interval[0] == 0


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
