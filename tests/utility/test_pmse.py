"""pMSE by hand from predicted probabilities, its null by simulation, and both ends: a copy and independent columns."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
import statsmodels.api as sm
from scipy import stats
from sklearn.tree import DecisionTreeClassifier

import chaffinch
from chaffinch.errors import InputError
from chaffinch.synth import Independent
from chaffinch.utility.pmse import MODELS, pmse

SIZES = (5, 5, 4, 2)
FREE = sum(SIZES) - len(SIZES)  # parameters without the intercept


def sample(rng, n_rows: int) -> list[np.ndarray]:
    """Return records of one population: linked columns with falling shares."""
    first = rng.choice(5, n_rows, p=[0.4, 0.25, 0.15, 0.1, 0.1])
    second = np.where(rng.random(n_rows) < 0.6, first, rng.integers(0, 5, n_rows))
    third = (second + rng.integers(0, 2, n_rows)) % 4
    return [first, second, third, rng.integers(0, 2, n_rows)]


@pytest.fixture
def tables(coded):
    rng = np.random.default_rng(1)
    return coded(sample(rng, 700), SIZES), coded(
        [c[::-1] if j == 1 else c for j, c in enumerate(sample(rng, 400))], SIZES
    )


def stacked(first, second) -> tuple[np.ndarray, np.ndarray]:
    codes = np.concatenate(
        [np.stack([t.code(n) for n in first.schema.names], axis=1) for t in (first, second)]
    )
    return codes, np.repeat([0, 1], [first.n_rows, second.n_rows])


# By hand


def test_the_tree_by_hand(tables):
    # Leaves of the same tree: c (synthetic share) and each leaf's share of synthetic records.
    codes, labels = stacked(*tables)
    tree = DecisionTreeClassifier(min_samples_leaf=20, max_depth=6, random_state=0).fit(
        codes, labels
    )
    leaves = tree.apply(codes)
    share = labels.mean()
    by_hand = sum(
        (leaves == leaf).sum() * (labels[leaves == leaf].mean() - share) ** 2
        for leaf in np.unique(leaves)
    )
    result = pmse(*tables, seed=1)
    # Ties between splits are broken at random: the tree may differ a little from ours.
    assert result.pmse == pytest.approx(by_hand / len(labels), rel=0.1)
    assert result.value == pytest.approx(result.pmse / result.null_mean)
    assert result.z == pytest.approx((result.pmse - result.null_mean) / result.null_sd)
    assert result.fixed_ratio == pytest.approx(result.value / (7 / 11))


def test_the_logistic_model_is_statsmodels(tables):
    codes, labels = stacked(*tables)
    columns = [codes[:, j] == level for j, size in enumerate(SIZES) for level in range(1, size)]
    design = sm.add_constant(np.stack(columns, axis=1).astype(float))
    predicted = sm.Logit(labels, design).fit(disp=0, method="newton").predict(design)
    result = pmse(*tables, model="logistic")
    assert result.pmse == pytest.approx(np.mean((predicted - labels.mean()) ** 2), rel=1e-5)
    assert result.settings["parameters"] == np.linalg.matrix_rank(design) == FREE + 1
    c, n = 4 / 11, 1100
    assert result.null_mean == pytest.approx(FREE * c * (1 - c) / n)
    assert result.null_sd == pytest.approx(np.sqrt(2 * FREE) * c * (1 - c) / n)
    # Snoke et al. 2018, theorem 1: (k - 1)(1 - c)^2 c / N.
    assert result.fixed_ratio == pytest.approx(result.pmse / (FREE * (1 - c) ** 2 * c / n))


def test_columns_that_say_the_same_count_once(coded):
    rng = np.random.default_rng(2)
    one, two = (sample(rng, 500) for _ in "ab")
    plain = pmse(coded(one, SIZES), coded(two, SIZES), model="logistic")
    doubled = pmse(
        coded([*one, one[0]], [*SIZES, 5]), coded([*two, two[0]], [*SIZES, 5]), model="logistic"
    )
    assert doubled.settings["parameters"] == plain.settings["parameters"] == FREE + 1
    assert doubled.value == pytest.approx(plain.value, rel=1e-4)


# The null


def ratios(coded, times, sizes, draw, **options) -> tuple[np.ndarray, np.ndarray]:
    """Return the ratios, and those with the original held fixed, of many pairs of tables."""
    rng = np.random.default_rng(7)
    result = [
        pmse(
            *(coded(codes, SIZES) for codes in draw(rng, *sizes)),
            seed=i,
            permutations=6,
            threads=1,
            **options,
        )
        for i in range(times)
    ]
    return np.array([r.value for r in result]), np.array([r.fixed_ratio for r in result])


def two_samples(rng, first, second):
    return sample(rng, first), sample(rng, second)


def resampled(rng, first, second):
    """Draws from the original's own records: a right model with the original's estimates, the original held fixed."""
    one = sample(rng, first)
    rows = rng.integers(0, first, second)
    return one, [column[rows] for column in one]


@pytest.mark.parametrize("sizes", [(600, 600), (400, 1200)])
def test_two_samples_of_one_population_score_1_by_logistic_regression(coded, sizes):
    # The ratio is chi-square / its 12 degrees: sd sqrt(2/12). The mean of 120 lies within 4 standard errors of 1 (and 2 %
    # for terms of order k/N) but for one in 10,000; so does the spread, whose relative error is about 1/sqrt(240).
    values, _ = ratios(coded, 120, sizes, two_samples, model="logistic")
    assert values.mean() == pytest.approx(1.0, abs=4 * np.sqrt(2 / FREE / 120) + 0.02)
    assert values.std(ddof=1) == pytest.approx(np.sqrt(2 / FREE), rel=0.35)
    # The whole distribution, once in a million.
    assert stats.kstest(values * FREE, stats.chi2(FREE).cdf).pvalue > 1e-6


@pytest.mark.parametrize("sizes", [(600, 600), (400, 1200)])
def test_the_original_held_fixed_is_the_null_of_snoke_et_al(coded, sizes):
    # Same odds as above. Were their expectation used for two fresh samples, the mean would be 1 / (1 - c): 2 and 4.
    _, fixed = ratios(coded, 120, sizes, resampled, model="logistic")
    assert fixed.mean() == pytest.approx(1.0, abs=4 * np.sqrt(2 / FREE / 120) + 0.02)


def test_two_samples_of_one_population_score_1_by_tree(coded):
    # Labels of two samples of one population may be exchanged: the expectation of pMSE is that of its permutations. One
    # ratio's sd is measured; 4 standard errors, and 3 % because a ratio's mean is not the ratio of means (6 permutations).
    values, _ = ratios(coded, 60, (500, 400), two_samples)
    assert values.mean() == pytest.approx(1.0, abs=4 * values.std(ddof=1) / np.sqrt(60) + 0.03)
    assert values.std(ddof=1) < 0.6


def test_z_is_calibrated(coded):
    # z by logistic regression of two samples: mean 0, sd 1, each within 4 standard errors of 100 draws.
    rng = np.random.default_rng(8)
    z = [
        pmse(*(coded(sample(rng, 500), SIZES) for _ in "ab"), model="logistic").z
        for _ in range(100)
    ]
    assert abs(np.mean(z)) < 0.45
    assert 0.65 < np.std(z) < 1.4


# Both ends


@pytest.mark.parametrize("model", MODELS)
def test_a_copy_scores_0(tables, model):
    result = pmse(tables[0], tables[0], model=model, seed=1)
    assert (result.value, result.pmse) == (0.0, 0.0)
    assert result.null_mean > 0


def test_a_copy_larger_than_the_cap_scores_0(tables):
    result = pmse(tables[0], tables[0], rows=300, seed=1)
    assert result.value == 0.0
    assert result.settings["rows"] == 300


@pytest.mark.parametrize("model", MODELS)
def test_tables_with_nothing_in_common_are_told_apart(coded, model):
    first, second = (
        coded([[0, 1] * 100, [0, 0] * 100], [4, 2]),
        coded([[2, 3] * 100, [0, 0] * 100], [4, 2]),
    )
    result = pmse(first, second, model=model, seed=1)
    assert result.pmse == pytest.approx(0.25, abs=0.01)  # c (1 - c), the most there is
    assert result.value > 10


def test_independent_columns_are_told_apart_by_the_tree_alone(data):
    original = chaffinch.read(data / "adult_test.parquet")
    synthetic = Independent().fit(original).sample(original.n_rows, seed=1)
    tree = pmse(original, synthetic, seed=1, permutations=4)
    logistic = pmse(original, synthetic, model="logistic")
    assert tree.value > 20
    assert tree.z > 20
    assert logistic.value < 1.0  # columns alone are as they were
    assert logistic.fixed_ratio == pytest.approx(1.0, abs=0.4)  # 180 degrees: sd .1


def test_a_holdout_scores_about_1(data):
    original = chaffinch.read(data / "adult_train.parquet")
    result = pmse(original, data / "adult_test.parquet", seed=1, permutations=8, rows=15_000)
    assert result.value == pytest.approx(1.0, abs=0.7)
    assert abs(result.z) < 5


# The same whatever the threads


def test_threads_do_not_change_a_result(tables):
    one, two, other = (
        pmse(*tables, seed=seed, threads=threads) for seed, threads in ((5, 1), (5, 2), (6, 1))
    )
    assert one.to_dict() == two.to_dict()
    assert one.null_mean != other.null_mean


def test_progress_is_told(tables):
    told: list[float] = []
    pmse(
        *tables,
        seed=1,
        permutations=3,
        threads=1,
        progress=lambda _stage, share: told.append(share),
    )
    assert told == [0.25, 0.5, 0.75, 1.0]


# Odd tables


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("first", "second", "lacks"),
    [
        ([[0, 1], [0, 1]], [[0, 1], [1, 0]], "records"),
        ([[0] * 60, [0] * 60], [[0] * 60, [0] * 60], "column"),
    ],
    ids=["two rows", "columns of one level"],
)
def test_too_little_to_tell_apart_does_not_apply(coded, model, first, second, lacks):
    sizes = (np.max(first) + 1, 2)
    result = pmse(coded(first, sizes), coded(second, sizes), model=model, seed=1)
    assert result.value is None
    assert lacks in result.reason


def test_too_many_parameters_do_not_apply(coded):
    rng = np.random.default_rng(1)
    table = coded([rng.integers(0, 5000, 600), rng.integers(0, 2, 600)], [5000, 2])
    assert "fewer than 5 records for each of" in pmse(table, table, model="logistic").reason
    large = coded([np.arange(12_000) % 3000], [3000])
    assert "3,000 parameters" not in (why := pmse(large, large, model="logistic").reason)
    assert "2,999 parameters, more than 2,000; use the tree" in why
    assert pmse(large, large, seed=1, permutations=2).value == 0.0


def test_one_column_and_missing_values():
    rng = np.random.default_rng(1)
    words = rng.choice(["a", "b", "c"], 400)
    original = chaffinch.read(pa.table({"w": words, "gone": pa.nulls(400, pa.string())}))
    other = pa.table(
        {
            "w": pa.array([None if w == "c" else w for w in words]),
            "gone": pa.nulls(400, pa.string()),
        }
    )
    for model in MODELS:
        assert pmse(original, other, model=model, seed=1, permutations=4).value > 5


def test_bad_options(tables):
    with pytest.raises(InputError, match=r"Unknown model 'forest'\. Models: tree, logistic"):
        pmse(*tables, model="forest")
    with pytest.raises(InputError, match=r"permutations must be at least 2\. Got 1"):
        pmse(*tables, permutations=1)
    with pytest.raises(InputError, match=r"rows must be at least 2\. Got 0"):
        pmse(*tables, rows=0)


def test_the_result_as_plain_data(tables):
    for model in MODELS:
        plain = pmse(*tables, model=model, seed=1).to_dict()
        assert plain.keys() >= {"value", "pmse", "null_mean", "null_sd", "z", "fixed_ratio"}
        assert plain["interval"] is None
        assert plain["settings"]["interval"].startswith("none:")
        assert json.loads(json.dumps(plain)) == plain
