"""A problem laid out flat has what the problem has, in its order."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
import statsmodels.api as sm

from chaffinch.outputs.equations import CountTable, Problem, SumSystem, regression
from chaffinch.outputs.families import FAMILIES, FamilyName, moments
from chaffinch.outputs.solve.program import compile_problem, family_moments, gram, softmax
from chaffinch.outputs.solve.state import State


def test_a_flat_problem_knows_who_reads_a_column_and_the_bounds_of_cells(
    problems: ModuleType,
) -> None:
    problem = problems.random_problem(3, [("logit", "score"), ("gaussian", "loglik")])
    p = compile_problem(problem)
    tables = [output for output in problem.outputs if isinstance(output, CountTable)]
    systems = [output for output in problem.outputs if isinstance(output, SumSystem)]
    assert (p.n_tables, p.n_systems) == (2, 3)
    assert p.n_sums == sum(s.size for s in systems)
    for outputs, starts, first in (
        (tables, p.tables_of_starts, p.tables_of),
        (systems, p.systems_of_starts, p.systems_of),
    ):
        for c in range(len(problem.domain)):
            begin, end = p.ints[starts + c], p.ints[starts + c + 1]
            expected = [k for k, output in enumerate(outputs) if c in output.columns]
            assert p.ints[first + begin : first + end].tolist() == expected
    for at, bounds in ((p.cell_lo, [t.lo for t in tables]), (p.cell_hi, [t.hi for t in tables])):
        assert p.ints[at : at + p.n_cells].tolist() == np.concatenate(bounds).tolist()


@pytest.mark.parametrize("family", [name for name in FAMILIES if name != "multinomial"])
@pytest.mark.parametrize("eta", [0.2, 1.0, 2.5])
def test_moments_are_those_of_the_families(family: FamilyName, eta: float) -> None:
    expected = [float(one[0]) for one in moments(family, np.array([eta]), 0.7)]
    assert family_moments(FAMILIES[family].code, eta, 0.7) == pytest.approx(expected, rel=1e-9)


def test_classes_have_the_chances_of_a_softmax() -> None:
    eta = np.array([1.0, -2.0, 800.0])
    assert softmax(eta, 2) == pytest.approx(1 / (1 + np.e + np.exp(-2)))
    np.testing.assert_allclose(eta[:2], np.exp([1.0, -2.0]) / (1 + np.e + np.exp(-2)))
    assert eta[2] == 800.0


@pytest.mark.parametrize("family", ["logit", "probit", "poisson", "gamma_log", "negative_binomial"])
def test_information_is_the_hessian_of_statsmodels(
    problems: ModuleType, family: FamilyName
) -> None:
    rng = np.random.default_rng(5)
    terms = problems.random_terms(rng, 3)
    system = regression(
        "r",
        family=family,
        terms=terms,
        label=problems.labels(family),
        coefficients=np.full(3, 0.2),
        parameter=0.7,
    )
    codes = problems.COLUMNS.start(60, seed=2)
    state = State(Problem(problems.COLUMNS, (system,)), codes)
    x = np.sum([t.evaluate(codes, 3) for t in terms], axis=0)
    y = problems.labels(family).evaluate(codes)[:, 0]
    families = {
        "logit": sm.families.Binomial(),
        "probit": sm.families.Binomial(sm.families.links.Probit()),
        "poisson": sm.families.Poisson(),
        "gamma_log": sm.families.Gamma(sm.families.links.Log()),
        "negative_binomial": sm.families.NegativeBinomial(alpha=0.7),
    }
    glm = sm.GLM(y, x, family=families[family])
    for kind, observed in ((1, False), (2, True)):
        out = np.zeros((3, 3))
        gram(state.program, 0, state.codes, state.multipliers, kind, 1, out)
        np.testing.assert_allclose(
            out, -glm.hessian(np.full(3, 0.2), scale=1.0, observed=observed), rtol=1e-6, atol=1e-7
        )
