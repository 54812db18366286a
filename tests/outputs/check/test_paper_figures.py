"""P1's figures (experiments/p1_output_risk): the line through attribution and error is statsmodels' least squares; datasets of every stop are on it."""

from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pytest
import statsmodels.api as sm

from chaffinch._base.seeds import seed_sequence
from chaffinch.outputs.check import CheckSettings
from chaffinch.outputs.check.assessment import CheckRun, folds, prior_datasets
from chaffinch.outputs.check.attribution import RiskMeasure, attack_of
from chaffinch.outputs.document import recipes_of
from chaffinch.outputs.solve.settings import SearchSettings
from chaffinch.stats.intervals import NOTHING, Estimate
from experiments.p1_output_risk.paper_figures import (
    STOPS,
    _extrapolated,
    _mean_sd,
    by_size,
    error_lines,
    error_picture,
    folds_of,
    line_through,
    mean_error,
    prepared,
    whole_data,
)


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

    search: SearchSettings = field(default_factory=lambda: SearchSettings(proposals=60_000))

    def evolve(self, spec, *, copies, seed):
        datasets = prior_datasets(spec.fields, spec.n_rows(), copies=copies, seed=seed)
        table = SimpleNamespace(kind="table", size=2, mean=1.0 / self.search.proposals)
        return SimpleNamespace(
            copies=[SimpleNamespace(codes=codes, compared=[table]) for codes in datasets]
        )


def test_every_stop_is_on_the_line(fields, people_whose_y_follows):
    codes = people_whose_y_follows(120, 1)
    recipes = recipes_of([{"name": "t", "kind": "table", "by": ["a", "y"]}], fields)
    attack = attack_of(fields, list("abcd"), "y")  # rare keys: some dataset row always speaks
    run = CheckRun(codes, recipes, (attack,), folds(len(codes), seed=1), Stopped())
    lines = error_lines(run, Stopped(), copies=2)
    assert [line.convention for line in lines] == ["matched_rows", "all_rows"]
    # A search is stopped where the line asks for it, or where any search is.
    stops = [60_000 if stop is None else min(stop, 60_000) for stop in STOPS]
    for line in lines:
        assert [point.error for point in line.points] == [
            1.0 / stop for stop in stops for _ in range(2)
        ]
        assert str(error_picture(line, "line")).count("<g><title>") == 4 * len(
            stops
        )  # people in the data, and people held out


JOINT = {"name": "joint", "kind": "table", "by": ["a", "b", "c", "y"]}


@pytest.fixture
def run_with(fields, people_whose_y_follows, maker):
    def prepare(*entries, codes=None, keys=("a", "b", "c")):
        settings = CheckSettings(keys=keys, sensitive=("y",), syntheses=6)
        people = people_whose_y_follows(240, 1) if codes is None else codes
        return prepared(recipes_of(entries, fields), people, settings, seed=3, maker=maker)

    return prepare


def test_whole_data(run_with):
    risks = whole_data(run_with(JOINT), runs=3)
    assert [(risk.sensitive, risk.convention, risk.runs) for risk in risks] == [
        ("y", "matched_rows", 3),
        ("y", "all_rows", 3),
    ]
    assert (
        risks[0].mean > 0.9
    )  # every cell of the joint table is known: whoever is alone in a cell is found
    assert risks[0].error == 0.0


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


def test_folds_of_a_fold_are_of_its_people():
    fold = folds(200, holdout_share=0.2, seed=1)[0]
    for inner in folds_of(fold, seed=1):
        assert set(inner.original) | set(inner.holdout) == set(fold.original)
        assert not set(inner.original) & set(inner.holdout)


def test_folds_of_folds(run_with, checked):
    run = run_with(JOINT)
    stage = run.assess("all outputs", ["joint"]).stage
    assert stage.measures == checked(JOINT).all.measures  # the same folds and searches as a check's
    sizes = by_size(run, stage)
    assert [(size.sensitive, size.convention) for size in sizes] == [
        ("y", "matched_rows"),
        ("y", "all_rows"),
    ]
    first = sizes[0]
    assert first.whole.value == pytest.approx(2 * first.folds.value - first.folds_of_folds.value)


LOGIT = {"name": "logit", "kind": "logit", "formula": "y ~ C(a)", "success": "y1", "decimals": 4}


def test_what_a_fold_of_a_fold_cannot_give_is_said(run_with, people_whose_y_follows):
    """Two people of each fold have a4, with different labels: folds give the logit, and of their halves none does."""
    codes = people_whose_y_follows(400, 7)
    codes[codes[:, 0] == 4, 0] = 0
    for fold in folds(400, seed=int(seed_sequence(3).generate_state(1, np.uint64)[0])):
        pair = fold.original[:2]
        codes[pair, 0], codes[pair, 4] = 4, [0, 1]
    run = run_with(
        {"name": "table", "kind": "table", "by": ["a", "y"]}, LOGIT, codes=codes, keys=["a"]
    )
    assert run.uncomputable == {}
    with pytest.raises(
        ValueError, match="Output 'logit' cannot be computed on the first fold of the"
    ):
        by_size(run, run.assess("all outputs", ["table", "logit"]).stage)


def test_errors_are_over_regressions_if_there_are_any():
    table, logit = (
        SimpleNamespace(kind="table", size=4, mean=1.0),
        SimpleNamespace(kind="logit", size=2, mean=0.5),
    )
    poisson = SimpleNamespace(kind="poisson", size=6, mean=0.1)
    assert mean_error([table]) == 1.0
    assert mean_error([table, logit]) == 0.5
    assert mean_error([table, logit, poisson]) == pytest.approx((2 * 0.5 + 6 * 0.1) / 8)
    assert np.isnan(mean_error([SimpleNamespace(kind="table", size=0, mean=np.nan)]))
