"""Marginal risk by size: the line through two estimates, by hand, and a check that asks for it."""

import pytest

from chaffinch.outputs.check.attribution import RiskMeasure
from chaffinch.outputs.check.paper_figures import _extrapolated
from chaffinch.stats.crossed import NOTHING, Estimate

JOINT = {"name": "joint", "kind": "table", "by": ["a", "b", "c", "y"]}


def measure(estimate):
    return RiskMeasure(
        "y",
        "matched_rows",
        *(NOTHING,) * 3,
        marginal=estimate,
        beyond_prior=NOTHING,
        detectable=0.1,
    )


def test_one_doubling_back_is_one_doubling_ahead():
    """0.1 at 100 and 0.3 at 200 are 0.5 at 400; at 800, two doublings ahead, 0.7. Errors are of 2 b - a and 3 b - 2 a; intervals two errors wide."""
    small, large = (
        measure(Estimate(0.1, 0.03, 0.04, 0.16, 9)),
        measure(Estimate(0.3, 0.04, 0.22, 0.38, 7)),
    )
    ahead = _extrapolated(small, large, [100, 200, 400])
    assert (ahead.value, ahead.error, ahead.freedom) == pytest.approx(
        (0.5, (0.08**2 + 0.03**2) ** 0.5, 7)
    )
    assert (ahead.low, ahead.high) == pytest.approx((0.5 - 2 * ahead.error, 0.5 + 2 * ahead.error))
    further = _extrapolated(small, large, [100, 200, 800])
    assert (further.value, further.error) == pytest.approx((0.7, (0.12**2 + 0.06**2) ** 0.5))


def test_folds_of_folds(checked):
    found = checked(JOINT, fold_of_fold=True)
    assert [(one.sensitive, one.convention) for one in found.sizes] == [
        ("y", "matched_rows"),
        ("y", "all_rows"),
    ]
    first = found.sizes[0]
    assert first.whole.value == pytest.approx(2 * first.folds.value - first.folds_of_folds.value)
