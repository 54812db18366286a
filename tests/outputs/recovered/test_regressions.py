"""Regressions fitted by statsmodels to real records, recovered from what was printed of them."""

from __future__ import annotations

from typing import Any

import numpy as np  # noqa: F401 - formulas call it
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf

Outputs = list[dict[str, Any]]

links = sm.families.links


def long_term(frame: pd.DataFrame) -> pd.DataFrame:
    """The label of the binary regressions as statsmodels wants it."""
    return frame.assign(METHOD=(frame["METHOD"] == "long").astype(int))


def fitted(model: Any) -> Any:
    return model.fit(disp=0, tol=1e-12, maxiter=200)


def glm(formula: str, frame: pd.DataFrame, family: Any, **options: Any) -> Any:
    return smf.glm(formula, frame, family=family, **options).fit(tol=1e-12, maxiter=200)


def described(
    kind: str, formula: str, fit: Any, p: Any, decimals: int = 4, **more: Any
) -> dict[str, Any]:
    return {
        "kind": kind,
        "formula": formula,
        "decimals": decimals,
        "coefficients": p.plain(fit.params, decimals),
        **more,
    }


LOGIT = "METHOD ~ AGE + C(EDUCATION, Treatment('some')) + MEDIA:CHILDREN"


def logit(frame: pd.DataFrame, p: Any) -> Outputs:
    return [
        described("logit", LOGIT, fitted(smf.logit(LOGIT, long_term(frame))), p, success="long")
    ]


def logit_with_errors(frame: pd.DataFrame, p: Any) -> Outputs:
    fit = fitted(smf.logit(LOGIT, long_term(frame)))
    some = {"standard_errors": p.quoted(fit.bse, 3), "loglik": p.quoted(fit.llf, 2)}
    return [described("logit", LOGIT, fit, p, success="long", n=p.count(len(frame)), **some)]


def logit_of_some(frame: pd.DataFrame, p: Any) -> Outputs:
    some = long_term(frame[(frame["AGE"] >= 25) & (frame["METHOD"] != "none")])
    formula = "METHOD ~ AGE + CHILDREN + EDUCATION"
    where = "AGE >= 25 and METHOD != 'none'"
    return [
        described(
            "logit",
            formula,
            fitted(smf.logit(formula, some)),
            p,
            success="long",
            where=where,
            n=p.count(len(some)),
        )
    ]


def ols(frame: pd.DataFrame, p: Any) -> Outputs:
    formula = "CHILDREN ~ AGE + EDUCATION"
    fit = smf.ols(formula, frame).fit()
    some = {
        "standard_errors": p.quoted(fit.bse, 4),
        "loglik": p.quoted(fit.llf, 2),
        "dispersion": p.quoted(fit.scale, 3),
    }
    return [described("ols", formula, fit, p, **some)]


def ols_transformed(frame: pd.DataFrame, p: Any) -> Outputs:
    formula = "np.log1p(CHILDREN) ~ AGE + I((AGE - 30)**2 / 100) + C(LIVING) * MEDIA"
    return [described("ols", formula, smf.ols(formula, frame).fit(), p)]


def probit(frame: pd.DataFrame, p: Any) -> Outputs:
    formula = "METHOD ~ AGE + CHILDREN"
    return [
        described(
            "probit", formula, fitted(smf.probit(formula, long_term(frame))), p, success="long"
        )
    ]


def probit_with_errors(frame: pd.DataFrame, p: Any) -> Outputs:
    formula = "METHOD ~ AGE + CHILDREN"
    fit = glm(formula, long_term(frame), sm.families.Binomial(links.Probit()))
    some = {
        "standard_errors": p.quoted(fit.bse, 4),
        "loglik": p.quoted(fit.llf, 2),
        "information": "expected",
    }
    return [described("probit", formula, fit, p, success="long", **some)]


def cloglog(frame: pd.DataFrame, p: Any) -> Outputs:
    formula = "METHOD ~ AGE + EDUCATION"
    fit = glm(formula, long_term(frame), sm.families.Binomial(links.CLogLog()))
    return [
        described("cloglog", formula, fit, p, success="long", standard_errors=p.quoted(fit.bse, 3))
    ]


def poisson(frame: pd.DataFrame, p: Any) -> Outputs:
    older = frame[frame["AGE"] >= 30]
    formula = "CHILDREN ~ AGE + EDUCATION"
    fit = fitted(smf.poisson(formula, older))
    some = {
        "coefficients": p.quoted(fit.params, 4),
        "loglik": p.quoted(fit.llf, 2),
        "standard_errors": p.quoted(fit.bse, 4),
    }
    return [
        {
            "kind": "poisson",
            "formula": formula,
            "where": "AGE >= 30",
            "n": p.count(len(older)),
            **some,
        }
    ]


def poisson_with_offset(frame: pd.DataFrame, p: Any) -> Outputs:
    formula = "CHILDREN ~ AGE"
    fit = fitted(smf.poisson(formula, frame, offset=frame["LIVING"]))
    return [described("poisson", formula, fit, p, offset="LIVING")]


def negative_binomial(frame: pd.DataFrame, p: Any) -> Outputs:
    formula = "CHILDREN ~ AGE + MEDIA"
    fit = glm(formula, frame, sm.families.NegativeBinomial(alpha=0.2))
    some = {
        "alpha": 0.2,
        "standard_errors": p.quoted(fit.bse, 4),
        "information": "expected",
        "loglik": p.quoted(fit.llf, 2),
    }
    return [described("negative-binomial", formula, fit, p, **some)]


def gamma(frame: pd.DataFrame, p: Any) -> Outputs:
    formula = "AGE ~ CHILDREN + MEDIA"
    fit = glm(formula, frame, sm.families.Gamma(links.Log()))
    some = {"dispersion": p.quoted(fit.scale, 4), "standard_errors": p.quoted(fit.bse, 4)}
    return [described("gamma", formula, fit, p, link="log", **some)]


def gamma_inverse(frame: pd.DataFrame, p: Any) -> Outputs:
    fit = glm("AGE ~ CHILDREN", frame, sm.families.Gamma())
    return [
        {"kind": "gamma", "formula": "AGE ~ CHILDREN", "coefficients": p.scientific(fit.params, 4)}
    ]


def inverse_gaussian(frame: pd.DataFrame, p: Any) -> Outputs:
    formula = "AGE ~ CHILDREN"
    fit = glm(formula, frame, sm.families.InverseGaussian(links.Log()))
    some = {"dispersion": p.scientific(fit.scale, 3), "standard_errors": p.scientific(fit.bse, 2)}
    return [
        {
            "kind": "inverse-gaussian",
            "formula": formula,
            "link": "log",
            "coefficients": p.scientific(fit.params, 4),
            **some,
        }
    ]


def inverse_squared(frame: pd.DataFrame, p: Any) -> Outputs:
    formula = "AGE ~ EDUCATION"  # with a number beside it, predictors of some records would be below 0, where the link has no mean
    fit = glm(formula, frame, sm.families.InverseGaussian())
    return [
        {
            "kind": "inverse-gaussian",
            "formula": formula,
            "coefficients": p.scientific(fit.params, 3),
        }
    ]


def glm_binomial(frame: pd.DataFrame, p: Any) -> Outputs:
    formula = "METHOD ~ AGE + MEDIA"
    fit = glm(formula, long_term(frame), sm.families.Binomial())
    return [
        described(
            "glm",
            formula,
            fit,
            p,
            family="binomial",
            link="logit",
            success="long",
            loglik=p.quoted(fit.llf, 3),
        )
    ]


def glm_gaussian(frame: pd.DataFrame, p: Any) -> Outputs:
    formula = "CHILDREN ~ AGE + METHOD"
    fit = glm(formula, frame, sm.families.Gaussian())
    return [described("glm", formula, fit, p, family="gaussian", dispersion=p.quoted(fit.scale, 3))]


def multinomial(frame: pd.DataFrame, p: Any) -> Outputs:
    formula = "METHOD ~ AGE + CHILDREN"
    fit = fitted(smf.mnlogit(formula, frame.assign(METHOD=frame["METHOD"].cat.codes.astype(int))))
    classes = {
        level: p.plain(fit.params.iloc[:, k], 4) for k, level in enumerate(["long", "short"])
    }
    more = {"base": "none", "decimals": 4, "coefficients": classes, "loglik": p.quoted(fit.llf, 2)}
    return [{"kind": "multinomial", "formula": formula, **more}]


CASES = [
    logit,
    logit_of_some,
    ols,
    ols_transformed,
    probit,
    poisson,
    poisson_with_offset,
    negative_binomial,
    gamma,
    gamma_inverse,
    inverse_gaussian,
    inverse_squared,
    glm_binomial,
    glm_gaussian,
    multinomial,
]
SLOW = [logit_with_errors, probit_with_errors, cloglog]


@pytest.mark.filterwarnings("ignore::statsmodels.tools.sm_exceptions.DomainWarning")
@pytest.mark.parametrize(
    "case",
    [*CASES, *(pytest.param(case, marks=pytest.mark.slow) for case in SLOW)],
    ids=lambda case: case.__name__,
)
def test_regressions_are_recovered(recovered, case):
    assert recovered(case) == []
