"""The line through attribution and error: statsmodels' least squares; datasets of every stop are on it."""

from dataclasses import dataclass

import numpy as np
import pytest
import statsmodels.api as sm

from chaffinch.outputs.check.assessment import CheckRun, DatasetEnsemble, folds, prior_datasets
from chaffinch.outputs.check.attribution import RiskMeasure, attack_of
from chaffinch.outputs.check.paper_figures import (
    STOPS,
    _extrapolated,
    _mean_sd,
    error_lines,
    line_through,
)
from chaffinch.outputs.document import recipes_of
from chaffinch.stats.intervals import NOTHING, Estimate


def test_the_line_is_that_of_least_squares():
    rng = np.random.default_rng(1)
    x = rng.random(20)
    y = 0.4 - 0.3 * x + 0.05 * rng.standard_normal(20)
    intercept, slope, r_squared = line_through(x, y, level=0.9)
    expected = sm.OLS(y, sm.add_constant(x)).fit()
    for one, value, error, ends in zip(
        (intercept, slope), expected.params, expected.bse, expected.conf_int(alpha=0.1), strict=True
    ):
        assert (one.value, one.error, one.low, one.high) == pytest.approx((value, error, *ends))
    assert r_squared == pytest.approx(expected.rsquared)


@pytest.mark.parametrize("x", [[0.0, 1.0], [0.5, 0.5, 0.5]])
def test_too_few_points_make_no_line(x):
    intercept, slope, r_squared = line_through(np.array(x), np.ones(len(x)))
    assert np.isnan([intercept.value, slope.value, r_squared]).all()


@dataclass(frozen=True)
class Stopped:
    """Datasets of the start, whose error falls with the proposals."""

    proposals: int | None = 60_000

    def __call__(self, spec, *, copies, seed, progress=None):
        datasets = prior_datasets(spec.fields, spec.n_rows(), copies=copies, seed=seed)
        return DatasetEnsemble(datasets, (False,) * copies, (), (1.0 / self.proposals,) * copies)


def test_every_stop_is_on_the_line(fields, people_whose_y_follows):
    codes = people_whose_y_follows(120, 1)
    recipes = recipes_of([{"name": "t", "kind": "table", "by": ["a", "y"]}], fields)
    attack = attack_of(fields, list("abcd"), "y")  # rare keys: some dataset row always speaks
    run = CheckRun(codes, recipes, (attack,), folds(len(codes), seed=1), Stopped())
    lines = error_lines(run, ["t"], Stopped(), copies=2)
    assert [line.convention for line in lines] == ["matched_rows", "all_rows"]
    # A search is stopped where the line asks for it, or where any search is.
    stops = [60_000 if stop is None else min(stop, 60_000) for stop in STOPS]
    for line in lines:
        assert [point.error for point in line.points] == [
            1.0 / stop for stop in stops for _ in range(2)
        ]


JOINT = {"name": "joint", "kind": "table", "by": ["a", "b", "c", "y"]}


def test_whole_data(checked):
    found = checked(JOINT, whole_runs=3)
    assert [(one.sensitive, one.convention, one.runs) for one in found.whole] == [
        ("y", "matched_rows", 3),
        ("y", "all_rows", 3),
    ]
    assert (
        found.whole[0].mean > 0.9
    )  # every cell of the joint table is known: whoever is alone in a cell is found
    assert found.whole[0].error == 0.0
    assert checked(JOINT).whole == ()


def test_means_and_spreads_are_of_what_was_measured():
    assert _mean_sd(np.array([0.2, np.nan, 0.4])) == pytest.approx(
        (0.3, np.std([0.2, 0.4], ddof=1))
    )
    mean, sd = _mean_sd(np.array([0.2]))
    assert mean == 0.2
    assert np.isnan(sd)
    assert np.isnan(_mean_sd(np.array([np.nan]))).all()


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
