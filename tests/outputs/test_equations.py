"""Equations over records against statsmodels, whose scores, information and log-likelihoods were written by others."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.special import gammaln

from chaffinch._base.errors import InputError, UnknownNameError
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.equations import (
    CountTable,
    Lookup,
    Problem,
    RegressionModel,
    SumSystem,
    Terms,
    regression,
)
from chaffinch.outputs.families import FAMILIES, FamilyName, moments, multipliers

N = 40
COLUMNS = OutputDomain(
    (
        OutputColumn("a", tuple("012")),
        OutputColumn("x", tuple(np.linspace(-1.0, 1.0, 5).tolist())),
        OutputColumn("y", tuple("0123")),
    )
)
CODES = COLUMNS.start(N, seed=3)
TERMS = (
    Terms.dense((), (), np.array([[1.0, 0.0, 0.0, 0.0, 0.0]])),
    Terms.dense(
        (0,), (3,), np.array([[0.0] * 5, [0.0, 1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0, 0.0]])
    ),
    Terms.dense(
        (1,), (5,), np.linspace(-1.0, 1.0, 5)[:, None] * np.array([0.0, 0.0, 0.0, 1.0, 0.0])
    ),
    # An interaction is a look-up on two columns: x where a is its last level.
    Terms.dense(
        (0, 1),
        (3, 5),
        np.kron([[0.0], [0.0], [1.0]], np.linspace(-1.0, 1.0, 5)[:, None]) * np.eye(5)[4],
    ),
)
B = np.array([0.9, -0.2, 0.15, 0.3, -0.25])
A, X = CODES[:, 0], np.linspace(-1.0, 1.0, 5)[CODES[:, 1]]
DESIGN = np.column_stack([np.ones(N), A == 1, A == 2, X, X * (A == 2)])

LABELS = {
    "gaussian": [-1.0, 0.5, 1.0, 4.0],
    "logit": [0.0, 1.0, 0.0, 1.0],
    "probit": [0.0, 1.0, 0.0, 1.0],
    "cloglog": [0.0, 1.0, 0.0, 1.0],
    "poisson": [0.0, 1.0, 2.0, 5.0],
    "negative_binomial": [0.0, 1.0, 2.0, 5.0],
    "gamma_log": [0.3, 1.0, 2.0, 5.0],
    "gamma_inverse": [0.3, 1.0, 2.0, 5.0],
    "inverse_gaussian_log": [0.3, 1.0, 2.0, 5.0],
    "inverse_gaussian": [0.3, 1.0, 2.0, 5.0],
    "multinomial": [0.0, 1.0, 2.0, 3.0],
}
ALPHA = 0.7


def statsmodels_family(family: FamilyName) -> sm.families.Family:
    links, families = sm.families.links, sm.families
    return {
        "gaussian": lambda: families.Gaussian(),
        "cloglog": lambda: families.Binomial(links.CLogLog()),
        "negative_binomial": lambda: families.NegativeBinomial(alpha=ALPHA),
        "gamma_log": lambda: families.Gamma(links.Log()),
        "gamma_inverse": lambda: families.Gamma(links.InversePower()),
        "inverse_gaussian_log": lambda: families.InverseGaussian(links.Log()),
        "inverse_gaussian": lambda: families.InverseGaussian(links.InverseSquared()),
    }[family]()


def fitted(family: FamilyName, coefficients: np.ndarray = B, **options: object) -> SumSystem:
    label = Lookup((2,), (4,), np.array(LABELS.get(family, [0.0] * 4))[:, None])
    return regression(
        "r",
        family=family,
        terms=TERMS,
        label=label,
        coefficients=coefficients,
        parameter=ALPHA,
        **options,
    )


@pytest.mark.parametrize("family", [name for name in FAMILIES if name != "multinomial"])
def test_contributions_are_the_scores_of_statsmodels(family: FamilyName) -> None:
    y = np.array(LABELS[family])[CODES[:, 2]]
    discrete = {"logit": sm.Logit, "probit": sm.Probit, "poisson": sm.Poisson}
    if family in discrete:
        expected = discrete[family](y, DESIGN).score_obs(B)
    else:
        expected = sm.GLM(y, DESIGN, family=statsmodels_family(family)).score_obs(B, scale=1.0)
    np.testing.assert_allclose(fitted(family).contributions(CODES), expected, rtol=1e-9, atol=1e-12)


def test_contributions_are_the_scores_of_a_multinomial_logit() -> None:
    coefficients = np.column_stack([B, -B, B[::-1]])
    expected = sm.MNLogit(CODES[:, 2], DESIGN).score_obs(coefficients)
    np.testing.assert_allclose(
        fitted("multinomial", coefficients).contributions(CODES), expected, atol=1e-12
    )


@pytest.mark.parametrize("family", ["logit", "probit", "poisson", "multinomial"])
def test_log_likelihoods_add_up_to_those_of_statsmodels(family: FamilyName) -> None:
    coefficients = np.column_stack([B, -B, B[::-1]]) if family == "multinomial" else B
    score = fitted(family, coefficients).model
    assert score is not None
    one = Terms.dense((), (), np.ones((1, 1)))
    model = RegressionModel(family, score.eta, score.label, quantity="loglik")
    system = SumSystem("loglik", 1, (one,), np.zeros(1), np.zeros(1), model)
    y = np.array(LABELS[family])[CODES[:, 2]]
    kinds = {
        "logit": sm.Logit,
        "probit": sm.Probit,
        "poisson": sm.Poisson,
        "multinomial": sm.MNLogit,
    }
    expected = kinds[family](y, DESIGN).loglike(coefficients)
    assert system.contributions(CODES).sum() == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(
    "family", ["gaussian", "gamma_log", "inverse_gaussian_log", "negative_binomial", "cloglog"]
)
def test_log_likelihoods_of_glms_add_up_to_those_of_statsmodels(family: FamilyName) -> None:
    score = fitted(family).model
    assert score is not None
    scale = 1.0 if family == "cloglog" else ALPHA
    model = RegressionModel(family, score.eta, score.label, quantity="loglik", parameter=scale)
    y = np.array(LABELS[family])[CODES[:, 2]]
    glm = sm.GLM(y, DESIGN, family=statsmodels_family(family))
    expected = glm.family.loglike_obs(
        y, glm.predict(B), scale=1.0 if family == "negative_binomial" else scale
    )
    found = model.multipliers(CODES)[:, 0]
    if family == "cloglog":  # statsmodels counts the coefficient of one trial, which is 1
        expected = expected - (gammaln(2.0) - gammaln(y + 1.0) - gammaln(2.0 - y))
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_weights_are_the_information_of_statsmodels() -> None:
    score = fitted("probit").model
    assert score is not None
    weight = RegressionModel("probit", score.eta, score.label, quantity="weight").multipliers(CODES)
    y = np.array(LABELS["probit"])[CODES[:, 2]]
    glm = sm.GLM(y, DESIGN, family=sm.families.Binomial(sm.families.links.Probit()))
    expected = -glm.hessian(B, observed=False)
    np.testing.assert_allclose(DESIGN.T @ (weight * DESIGN), expected, rtol=1e-9)


def test_records_that_are_filtered_out_add_nothing() -> None:
    keep = Lookup((0,), (3,), np.array([[1.0], [0.0], [1.0]]))
    kept, every = (
        fitted("logit", keep=[keep]).contributions(CODES),
        fitted("logit").contributions(CODES),
    )
    np.testing.assert_array_equal(kept, np.where((CODES[:, 0] == 1)[:, None], 0.0, every))


def test_a_table_counts_what_it_keeps() -> None:
    table = CountTable(
        "t",
        ((1, np.array([0, 0, 1, -1, 2])), (0, np.array([1, 0, -1]))),
        np.zeros(6, int),
        np.ones(6, int),
    )
    expected = np.zeros((3, 2), dtype=int)
    for a, x, _ in CODES:
        if x != 3 and a != 2:
            expected[[0, 0, 1, -9, 2][x], [1, 0][a]] += 1
    assert table.counts(CODES).tolist() == expected.ravel().tolist()
    assert table.shape == (3, 2)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Lookup((0,), (3,), np.ones((2, 1))), "3 combinations. Got 2"),
        (lambda: Lookup((0, 0), (3, 3), np.ones((9, 1))), "different columns"),
        (lambda: Lookup((0,), (2,), np.array([[1.0], [np.nan]])), "finite"),
        (
            lambda: CountTable("t", ((0, np.array([0, 1])),), np.ones(2, int), np.zeros(2, int)),
            "at least the smallest",
        ),
        (
            lambda: CountTable("t", ((0, np.array([0, 1])),), np.ones(3, int), np.ones(3, int)),
            "its 2 cells",
        ),
        (lambda: SumSystem("s", 5, TERMS, np.ones(5), np.zeros(5)), "the lower end first"),
        (lambda: SumSystem("s", 3, TERMS, np.ones(3), np.ones(3)), "outside 0 to 2"),
        (lambda: SumSystem("s", 5, TERMS, np.ones(4), np.ones(4)), "5 numbers, but 4 intervals"),
        (
            lambda: SumSystem("s", 5, TERMS, np.ones(5), np.ones(5), reported="coefficients"),
            "needs a model's score",
        ),
        (lambda: Problem(COLUMNS, ()), "at least one output"),
        (
            lambda: Problem(
                COLUMNS,
                (CountTable("t", ((0, np.array([0, 1])),), np.ones(2, int), np.ones(2, int)),),
            ),
            "levels",
        ),
        (lambda: COLUMNS.check(np.full((2, 3), 3)), "Column 'a' has codes outside"),
        (lambda: OutputColumn("x", (1.0, 0.5)), "must rise"),
    ],
)
def test_what_breaks_a_rule_is_named(make: object, said: str) -> None:
    with pytest.raises(InputError, match=said):
        make()  # type: ignore[operator]


def test_unknown_names_are_told_with_a_suggestion() -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown family 'logot'\. Did you mean 'logit'"):
        fitted("logot")  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="Unknown column 'b'"):
        COLUMNS.position("b")


def test_starts_follow_the_chances() -> None:
    columns = OutputDomain((OutputColumn("a", tuple("012"), weights=(1.0, 0.0, 3.0)),))
    counts = np.bincount(columns.start(10_000, seed=1)[:, 0], minlength=3)
    # Binomial(10,000, 0.75): within 5 standard deviations (217), which fails once in 1.7 million if right.
    assert counts[1] == 0
    assert abs(counts[2] - 7_500) < 217


STEP = 1e-6
SINGLE = [name for name in FAMILIES if name != "multinomial"]
ETA = np.array([0.3, 0.8, 1.4])
FAMILY_LABELS = {"logit": [0.0, 1.0, 1.0], "probit": [0.0, 1.0, 1.0], "cloglog": [0.0, 1.0, 1.0]}


@pytest.mark.parametrize("family", SINGLE)
def test_slopes_are_derivatives_of_the_mean(family: FamilyName) -> None:
    _, slope, variance = moments(family, ETA, 0.7)
    above, below = (moments(family, ETA + step, 0.7)[0] for step in (STEP, -STEP))
    np.testing.assert_allclose(slope, (above - below) / (2 * STEP), rtol=1e-6)
    assert (variance > 0).all()


@pytest.mark.parametrize("family", SINGLE)
def test_scores_are_derivatives_of_the_log_likelihood(family: FamilyName) -> None:
    """At dispersion 1; alpha of the negative binomial is the parameter of both."""
    y = np.array(FAMILY_LABELS.get(family, [1.0, 2.0, 4.0]))
    score = multipliers(family, "score", ETA[:, None], y)
    above, below = (
        multipliers(family, "loglik", (ETA + step)[:, None], y) for step in (STEP, -STEP)
    )
    np.testing.assert_allclose(score, (above - below) / (2 * STEP), rtol=1e-5)


@pytest.mark.parametrize("family", SINGLE)
def test_weights_and_pearson_residuals(family: FamilyName) -> None:
    y = np.array(FAMILY_LABELS.get(family, [1.0, 2.0, 4.0]))
    mean, slope, variance = moments(family, ETA, 1.0)
    np.testing.assert_allclose(
        multipliers(family, "weight", ETA[:, None], y)[:, 0], slope**2 / variance
    )
    np.testing.assert_allclose(
        multipliers(family, "pearson", ETA[:, None], y)[:, 0], (y - mean) ** 2 / variance
    )


def test_a_multinomial_of_two_classes_is_a_logit() -> None:
    y = np.array([0.0, 1.0, 1.0])
    for part in ("score", "loglik"):
        np.testing.assert_allclose(
            multipliers("multinomial", part, ETA[:, None], y),
            multipliers("logit", part, ETA[:, None], y),
        )


def test_codes_of_families_are_distinct() -> None:
    assert len({family.code for family in FAMILIES.values()}) == len(FAMILIES)
