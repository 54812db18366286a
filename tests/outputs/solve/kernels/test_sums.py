"""Products of records, held against statsmodels."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
import statsmodels.api as sm

from chaffinch.outputs.equations import Problem, regression
from chaffinch.outputs.families import FamilyName
from chaffinch.outputs.solve.kernels import gram
from chaffinch.outputs.solve.state import State


@pytest.mark.parametrize("family", ["logit", "probit", "poisson", "gamma_log", "negative_binomial"])
def test_information_is_the_hessian_of_statsmodels(problems: ModuleType, family: FamilyName) -> None:
    rng = np.random.default_rng(5)
    terms = problems.random_terms(rng, 3)
    system = regression(
        "r", family=family, terms=terms, label=problems.labels(family), coefficients=np.full(3, 0.2), parameter=0.7
    )
    codes = problems.COLUMNS.start(60, seed=2)
    state = State(Problem(problems.COLUMNS, (system,)), codes)
    x = np.sum([t.of(codes, 3) for t in terms], axis=0)
    y = problems.labels(family).of(codes)[:, 0]
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
