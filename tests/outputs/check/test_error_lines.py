"""The line through attribution and error: statsmodels' least squares; datasets of every stop are on it."""

from dataclasses import dataclass

import numpy as np
import pytest
import statsmodels.api as sm

from chaffinch.outputs.check.assessment import CheckRun, DatasetEnsemble, folds, prior_datasets
from chaffinch.outputs.check.attribution import attack_of
from chaffinch.outputs.check.paper_figures import STOPS, error_lines, line_through
from chaffinch.outputs.document import recipes_of


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


def test_every_stop_is_on_the_line(fields, people):
    codes = people(120, 1)
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
