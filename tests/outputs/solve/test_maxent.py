"""The maxent engine: what is drawn has the outputs on average, and what is polished has them exactly."""

import numpy as np
import pytest

from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.equations import (
    CountTable,
    Lookup,
    Problem,
    RegressionModel,
    Terms,
    regression,
)
from chaffinch.outputs.families import multipliers
from chaffinch.outputs.solve.engines import maxent
from chaffinch.outputs.solve.state import State
from chaffinch.outputs.statistics import numbers_of

COLUMNS = OutputDomain(
    (
        OutputColumn("y", tuple("01")),
        OutputColumn("a", tuple("012")),
        OutputColumn("b", tuple("0123")),
        OutputColumn("age", tuple(np.arange(30.0).tolist())),
    )
)


def count_table(name, columns, codes, chosen):
    groups = tuple((c, np.arange(columns.sizes[c])) for c in chosen)
    size = int(np.prod(columns.shape(chosen)))
    blank = CountTable(name, groups, np.zeros(size, int), np.zeros(size, int))
    counts = blank.counts(codes)
    return CountTable(name, groups, counts, counts)


def model(family="logit", label=None, coefficients=(-0.5, 0.04, 0.6, -0.3), half=5e-4, keep=()):
    age = np.zeros((30, 4))
    age[:, 1] = np.arange(30)
    a = np.zeros((3, 4))
    a[1, 2] = a[2, 3] = 1.0
    terms = [
        Terms.dense((), (), np.eye(1, 4)),
        Terms.dense((3,), (30,), age),
        Terms.dense((1,), (3,), a),
    ]
    label = label or Lookup((0,), (2,), np.array([[0.0], [1.0]]))
    return regression(
        "r",
        family=family,
        terms=terms,
        label=label,
        coefficients=np.array(coefficients),
        half_widths=half,
        keep=keep,
    )


def test_linked_tables_are_fitted_together():
    """Two tables that share a column: the drawn counts are within rounding of both, since largest entropy has them exactly."""
    truth = COLUMNS.start(2_000, seed=1)
    tables = (count_table("ya", COLUMNS, truth, (0, 1)), count_table("ab", COLUMNS, truth, (1, 2)))
    drawn = maxent.draw(Problem(COLUMNS, tables), COLUMNS.start(2_000, seed=2), seed=3)
    for one in tables:
        # Systematic draws: each cell of the joint is off by less than 1, and a published cell adds up at most 12 of them.
        assert np.abs(one.counts(drawn) - one.lo).max() <= 4
    # Given a, y and b are independent under largest entropy: the joint is the product of the two conditionals.
    joint = count_table("", COLUMNS, drawn, (0, 1, 2)).lo.reshape(2, 3, 4)
    ya, ab = tables[0].lo.reshape(2, 3), tables[1].lo.reshape(3, 4)
    np.testing.assert_allclose(
        joint, ya[:, :, None] * ab[None] / ab.sum(axis=1)[None, :, None], atol=2.0
    )


def test_tables_too_large_together_are_drawn_one_given_the_other(monkeypatch):
    monkeypatch.setattr(maxent, "MOST_CELLS", 13)
    truth = COLUMNS.start(2_000, seed=1)
    tables = (count_table("ya", COLUMNS, truth, (0, 1)), count_table("ab", COLUMNS, truth, (1, 2)))
    drawn = maxent.draw(Problem(COLUMNS, tables), COLUMNS.start(2_000, seed=2), seed=3)
    np.testing.assert_array_equal(tables[1].counts(drawn), tables[1].lo)
    assert np.abs(tables[0].counts(drawn) - tables[0].lo).max() <= 2


def test_filtered_suppressed_and_empty_cells():
    groups = ((1, np.array([0, 1, -1])),)
    lo, hi = np.array([700, 1]), np.array([700, 9])
    drawn = maxent.draw(
        Problem(COLUMNS, (CountTable("t", groups, lo, hi),)), COLUMNS.start(1_000, seed=1), seed=2
    )
    counts = np.bincount(drawn[:, 1], minlength=3)
    assert abs(counts[0] - 700) <= 1
    # The nearest to alike in relative entropy: as many as may be in the suppressed cell.
    assert abs(counts[1] - 9) <= 1
    assert abs(counts[2] - 291) <= 1


@pytest.mark.parametrize(
    ("family", "levels", "coefficients"),
    [
        ("logit", np.array([0.0, 1.0]), (-0.5, 0.04, 0.6, -0.3)),
        ("probit", np.array([0.0, 1.0]), (-0.5, 0.02, 0.3, -0.3)),
        ("gaussian", np.arange(20.0), (5.0, 0.1, 2.0, -1.0)),
        ("poisson", np.arange(30.0), (0.5, 0.02, 0.3, -0.3)),
        ("gamma_log", np.arange(1.0, 40.0), (1.5, 0.02, 0.3, -0.3)),
    ],
)
def test_the_score_is_zero_on_average(family, levels, coefficients):
    """S / sd(S) is about standard normal for each equation: beyond 5 once in 2 million equations."""
    columns = OutputDomain((OutputColumn("y", tuple(levels.tolist())), *COLUMNS.columns[1:]))
    system = model(family, Lookup((0,), (len(levels),), levels[:, None]), coefficients)
    drawn = maxent.draw(Problem(columns, (system,)), columns.start(4_000, seed=1), seed=2)
    psi = system.contributions(drawn)
    assert np.abs(psi.sum(axis=0) / np.sqrt((psi**2).sum(axis=0))).max() < 5.0


def test_a_label_of_two_levels_is_bernoulli():
    system = model()
    shares = maxent._shares(
        system.model, np.array([[-2.0], [0.0], [3.0]]), np.array([0.0, 1.0]), np.array([0.5, 0.5])
    )
    np.testing.assert_allclose(shares[:, 1], 1 / (1 + np.exp([2.0, 0.0, -3.0])), atol=1e-4)


def test_a_multinomial_label_has_the_chances_of_the_model():
    values = np.array([0.0, 1.0, 2.0])
    eta = np.array([[0.5, -1.0]])
    look = Lookup((), (), eta)
    system = RegressionModel("multinomial", (look,), Lookup((1,), (3,), values[:, None]))
    shares = maxent._shares(system, eta, values, np.full(3, 1 / 3))[0]
    score = sum(
        share * multipliers("multinomial", "score", eta, np.array([k]))
        for k, share in enumerate(shares / shares.sum())
    )
    np.testing.assert_allclose(score, 0.0, atol=1e-12)


def test_a_small_problem_is_reached_and_refitted():
    truth = COLUMNS.start(1_500, seed=1)
    problem = Problem(
        COLUMNS,
        (
            model(),
            count_table("ab", COLUMNS, truth, (1, 2)),
            count_table("age", COLUMNS, truth, (3,)),
        ),
    )
    start = COLUMNS.start(1_500, seed=2)
    drawn = maxent.draw(problem, start, seed=3)
    assert State(problem, drawn).error < 0.2 * State(problem, start).error
    solved = maxent.solve(problem, start, seed=3)
    assert solved.reached
    system = problem.outputs[0]
    assert np.abs(numbers_of(system, solved.codes) - system.coefficients).max() <= 5e-4
    for one in problem.outputs[1:]:
        np.testing.assert_array_equal(one.counts(solved.codes), one.lo)
    assert solved.trace[-1].seconds <= solved.seconds


def test_a_label_tabulated_with_a_covariate_is_left_to_the_table_and_fixed_columns_stay():
    columns = OutputDomain(
        (COLUMNS.columns[0], OutputColumn("a", tuple("012"), fixed=True), *COLUMNS.columns[2:])
    )
    truth = columns.start(600, seed=1)
    problem = Problem(columns, (model(), count_table("ya", columns, truth, (0, 1))))
    start = columns.start(600, seed=2)
    drawn = maxent.draw(problem, start, seed=3)
    np.testing.assert_array_equal(drawn[:, 1], start[:, 1])
    share = [drawn[drawn[:, 1] == k, 0].mean() for k in range(3)]
    wanted = truth[:, 0][:, None], truth[:, 1]
    np.testing.assert_allclose(
        share, [wanted[0][wanted[1] == k].mean() for k in range(3)], atol=0.01
    )


def test_records_that_a_filter_leaves_out_keep_their_label():
    keep = (Lookup((2,), (4,), np.array([[1.0], [1.0], [0.0], [0.0]])),)
    problem = Problem(COLUMNS, (model(keep=keep),))
    start = COLUMNS.start(500, seed=2)
    drawn = maxent.draw(problem, start, seed=3)
    out = start[:, 2] > 1
    np.testing.assert_array_equal(drawn[out], start[out])
    assert (drawn[~out, 0] != start[~out, 0]).any()


def test_seeds():
    problem = Problem(COLUMNS, (model(),))
    start = COLUMNS.start(200, seed=2)
    np.testing.assert_array_equal(
        maxent.draw(problem, start, seed=1), maxent.draw(problem, start, seed=1)
    )
    assert (maxent.draw(problem, start, seed=1) != maxent.draw(problem, start, seed=2)).any()
