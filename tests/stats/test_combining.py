"""Several syntheses: Rubin's rule by hand."""

from __future__ import annotations

import json
from math import sqrt

import pytest

from chaffinch._base.results import to_plain
from chaffinch.stats.excess import (
    ONE_SYNTHESIS,
    Excess,
    combine,
)


def known(value: float | None, error: float | None) -> Excess:
    return Excess(
        value=value,
        standard_error=error,
        interval=None if value is None else (value - 0.1, value + 0.1),
        n_members=100,
        n_others=100,
        reason="" if value is not None else "There is no excess: no people.",
    )


def test_combining_is_rubins_rule() -> None:
    found = combine([known(0.1, 0.02), known(0.16, 0.04), known(0.13, 0.03)])
    # By hand: W = (4 + 16 + 9)e-4/3, B = 9e-4, T = W + 4/3 B = 21.6667e-4, degrees = 2 (1 + W / 12e-4)^2 = 6.5201.
    assert found.value == pytest.approx(0.13)
    assert found.within == pytest.approx(29e-4 / 3)
    assert found.between == pytest.approx(9e-4)
    assert found.standard_error == pytest.approx(sqrt(21.666667e-4), rel=1e-6)
    assert found.degrees == pytest.approx(6.5201, abs=1e-3)
    assert found.interval is not None
    # Student's 97.5 % points are 2.447 for 6 and 2.365 for 7 degrees.
    assert 2.365 < (found.interval[1] - 0.13) / found.standard_error < 2.447  # type: ignore[operator]


def test_syntheses_that_agree_leave_the_variance_within() -> None:
    found = combine([known(0.1, 0.02)] * 4)
    assert found.degrees is None
    assert found.interval == pytest.approx((0.1 - 1.959964 * 0.02, 0.1 + 1.959964 * 0.02), abs=1e-6)
    json.dumps(to_plain(found), allow_nan=False)


def test_one_synthesis_says_what_is_absent() -> None:
    found = combine([known(0.1, 0.02)])
    assert found.between is None
    assert found.note == ONE_SYNTHESIS
    assert found.interval == pytest.approx((0.0, 0.2))


def test_a_synthesis_without_an_excess_gives_the_reason() -> None:
    found = combine([known(0.1, 0.02), known(None, None)])
    assert found.value is None
    assert "1 of 2" in found.reason
