"""Regressions against statsmodels: the records that were fitted satisfy the equations of what was printed, others do not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf

from chaffinch._base.errors import InputError
from chaffinch.outputs.document import Outputs, recipes_of
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.kinds.regression.spec import RegressionSpec

pytestmark = pytest.mark.filterwarnings(
    "ignore:The InversePower link"
)  # our gamma means stay positive

RIGHT = "wife_age + I(wife_age ** 2) + C(wife_education) + media_exposure:num_children"
WHERE = "wife_age >= 20 and wife_education != 'none'"
F = sm.families


@pytest.fixture(scope="module")
def frame(cmc: Any) -> pd.DataFrame:
    """The records with labels as statsmodels wants them."""
    frame = cmc.frame.copy()
    frame["working"] = (frame["wife_now_working"] == "yes").astype(int)
    return frame


def kept(frame: pd.DataFrame, where: str | None) -> pd.DataFrame:
    if where is None:
        return frame
    out = frame.query(where).copy()
    out["wife_education"] = out["wife_education"].cat.remove_unused_categories()
    return out


FITS: dict[str, tuple[str, dict[str, Any], Any]] = {
    "ols": ("wife_age ~ num_children + C(wife_education)*media_exposure", {"kind": "ols"}, smf.ols),
    "logit": (f"working ~ {RIGHT}", {"kind": "logit", "success": "yes"}, smf.logit),
    "probit": (f"working ~ {RIGHT}", {"kind": "probit", "success": "yes"}, smf.probit),
    "cloglog": (
        f"working ~ {RIGHT}",
        {"kind": "cloglog", "success": "yes"},
        lambda f, d: smf.glm(f, d, family=F.Binomial(F.links.CLogLog())),
    ),
    "poisson": (
        "num_children ~ wife_age + np.log(wife_age) + C(wife_education, Treatment('more'))",
        {"kind": "poisson"},
        smf.poisson,
    ),
    "negative-binomial": (
        "num_children ~ wife_age + wife_education",
        {"kind": "glm", "family": "negative-binomial", "alpha": 0.3},
        lambda f, d: smf.glm(f, d, family=F.NegativeBinomial(alpha=0.3)),
    ),
    "gamma": (
        "wife_age ~ num_children + wife_education",
        {"kind": "gamma"},
        lambda f, d: smf.glm(f, d, family=F.Gamma()),
    ),
    "gamma log": (
        "wife_age ~ num_children + wife_education",
        {"kind": "gamma", "link": "log"},
        lambda f, d: smf.glm(f, d, family=F.Gamma(F.links.Log())),
    ),
    "inverse-gaussian": (
        "wife_age ~ num_children",
        {"kind": "glm", "family": "inverse-gaussian", "link": "log"},
        lambda f, d: smf.glm(f, d, family=F.InverseGaussian(F.links.Log())),
    ),
    "glm": (
        f"working ~ {RIGHT}",
        {"kind": "glm", "family": "binomial", "link": "probit", "success": "yes"},
        lambda f, d: smf.glm(f, d, family=F.Binomial(F.links.Probit())),
    ),
    "label of numbers": ("wife_religion ~ wife_age", {"kind": "logit"}, smf.logit),
    "label worked out": ("np.log(wife_age) ~ num_children", {"kind": "ols"}, smf.ols),
}


def fitted(name: str, frame: pd.DataFrame) -> Any:
    formula, _, fit = FITS[name]
    model = fit(formula, frame)
    precise = (
        {"tol": 1e-11}
        if "GLM" in type(model).__name__
        else {"disp": 0, "method": "newton", "tol": 1e-14, "maxiter": 200}
    )
    return model.fit() if name in ("ols", "label worked out") else model.fit(**precise)


def output_of(name: str, where: str | None, result: Any) -> dict[str, Any]:
    formula, keys, _ = FITS[name]
    output = {
        **keys,
        "formula": formula.replace("working ~", "wife_now_working ~"),
        "coefficients": result.params.to_dict(),
    }
    return output if where is None else {**output, "where": where, "n": int(result.nobs)}


@pytest.mark.parametrize("where", [None, WHERE])
@pytest.mark.parametrize("name", FITS)
def test_scores_are_zero_at_the_coefficients(
    cmc: Any, frame: Any, check: Any, name: str, where: str | None
) -> None:
    result = fitted(name, kept(frame, where))
    output = output_of(name, where, result)
    spec = cmc.spec(output)
    assert check(spec, cmc.codes()) == []
    label = output["formula"].split(" ~")[0].replace("np.log(", "").replace(")", "")
    assert "o0" in check(spec, cmc.shuffled(label))


@pytest.mark.parametrize(
    "name",
    [
        "ols",
        "logit",
        "cloglog",
        "poisson",
        "negative-binomial",
        "gamma",
        "gamma log",
        "inverse-gaussian",
        "glm",
    ],
)
def test_standard_errors_and_log_likelihoods(cmc: Any, frame: Any, check: Any, name: str) -> None:
    where = None if name in ("ols", "cloglog") else WHERE
    result = fitted(name, kept(frame, where))
    extra: dict[str, Any] = {"standard_errors": result.bse.to_dict(), "loglik": float(result.llf)}
    if name in ("ols", "gamma", "gamma log", "inverse-gaussian"):
        extra["dispersion"] = float(result.scale)
    spec = cmc.spec({**output_of(name, where, result), **extra})
    assert check(spec, cmc.codes(), slack=1e-6) == []
    others = check(spec, np.ascontiguousarray(cmc.codes()[:-100]))
    assert any("standard errors" in part for part in others)
    assert any("loglik" in part for part in others)


def test_standard_errors_of_some_coefficients(cmc: Any, frame: Any, check: Any) -> None:
    result = fitted("logit", frame)
    some = {"wife_age": f"{result.bse['wife_age']:.4f}"}
    spec = cmc.spec({**output_of("logit", None, result), "standard_errors": some})
    assert check(spec, cmc.codes()) == []
    assert spec.problem().outputs[1].lo.shape == (1,)


def test_multinomial(cmc: Any, frame: Any, check: Any) -> None:
    for where in (None, WHERE):
        data = kept(frame, where).assign(method=lambda d: d["contraceptive_method"].cat.codes)
        result = smf.mnlogit("method ~ wife_age + wife_education", data).fit(
            disp=0, method="newton", tol=1e-14
        )
        params = result.params
        coefficients = {"long": params[0].to_dict(), "short": params[1].to_dict()}
        output = {
            "kind": "multinomial",
            "formula": "contraceptive_method ~ wife_age + wife_education",
            "coefficients": coefficients,
        }
        output |= {"loglik": float(result.llf)} | (
            {} if where is None else {"where": where, "n": int(result.nobs)}
        )
        spec = cmc.spec(output)
        assert check(spec, cmc.codes()) == []
        assert check(spec, cmc.shuffled("contraceptive_method")) == ["o0", "o0: loglik"]
        # Another base: coefficients are differences.
        turned = {"none": (-params[1]).to_dict(), "long": (params[0] - params[1]).to_dict()}
        assert (
            check(cmc.spec({**output, "base": "short", "coefficients": turned}), cmc.codes()) == []
        )


def test_printed_digits(cmc: Any, frame: Any) -> None:
    """I^-1 S, with statsmodels' covariance, is what was cut off with the digits after the fourth, to second order."""
    formula = "~ wife_age + C(wife_education) + media_exposure"
    result = smf.logit(f"working {formula}", frame).fit(disp=0, method="newton", tol=1e-14)
    output = {**output_of("logit", None, result), "formula": f"wife_now_working {formula}"}
    shown = {name: f"{value:.4f}" for name, value in result.params.items()}
    spec = cmc.spec({**output, "coefficients": shown})
    (system,) = spec.problem().outputs
    np.testing.assert_allclose(system.hi - system.lo, 1e-4)
    names = list(spec.outputs[0].compiled(frame_of(spec)).names)  # type: ignore[attr-defined]
    off = result.cov_params().loc[names, names].to_numpy() @ system.contributions(cmc.codes()).sum(
        axis=0
    )
    np.testing.assert_allclose(
        off, result.params[names].to_numpy() - system.coefficients, atol=2e-6
    )
    assert (np.abs(off) <= 5.1e-5).all()
    plain = cmc.spec({**output, "coefficients": result.params.round(4).to_dict(), "decimals": 4})
    np.testing.assert_allclose(plain.problem().outputs[0].lo, system.lo, atol=1e-12)


def frame_of(spec: Outputs) -> Any:

    return spec.fields.with_rows(spec.n_rows())


def test_an_offset(cmc: Any, check: Any) -> None:
    result = smf.glm(
        "num_children ~ wife_age", cmc.frame, family=F.Poisson(), offset=cmc.frame["wife_religion"]
    ).fit(tol=1e-14)
    output = {
        "kind": "poisson",
        "formula": "num_children ~ wife_age",
        "coefficients": result.params.to_dict(),
    }
    assert check(cmc.spec({**output, "offset": "wife_religion"}), cmc.codes()) == []
    assert check(cmc.spec(output), cmc.codes()) == ["o0"]


LOGIT = {
    "kind": "logit",
    "formula": "wife_now_working ~ wife_age",
    "success": "yes",
    "coefficients": {"Intercept": 1, "wife_age": 0.1},
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"success": None}, "'o0': the label has words: say which"),
        ({"success": "maybe"}, "Unknown level 'maybe' of column 'wife_now_working'"),
        (
            {"coefficients": {"Intercept": 1}},
            "'o0' has no coefficient for 'wife_age', which its formula makes",
        ),
        (
            {"coefficients": {"Intercept": 1, "wife_aeg": 1}},
            "Unknown coefficient 'wife_aeg'. Did you mean 'wife_age'",
        ),
        (
            {"coefficients": {"Intercept": 1, "wife_age": "big"}},
            "coefficient 'wife_age' must be a number",
        ),
        ({"formula": "wife_now_working ~ wife_aeg"}, "Unknown column 'wife_aeg'"),
        ({"kind": "poisson", "success": None}, 'must be a number for kind = "poisson"'),
        ({"kind": "glm"}, "is a glm, so it needs a family"),
        (
            {"kind": "glm", "family": "poisson", "link": "logit"},
            "Unknown link of family poisson 'logit'",
        ),
        ({"link": "log"}, 'belong to kind = "glm"'),
        ({"kind": "gamma", "formula": "num_children ~ wife_age"}, "must be above 0"),
        ({"formula": "num_children ~ wife_age", "success": None}, "must be 0 or 1"),
        ({"kind": "negative-binomial", "formula": "num_children ~ wife_age"}, "needs alpha"),
        (
            {"kind": "probit", "standard_errors": {"wife_age": 1}},
            "observed information are not supported",
        ),
        ({"standard_errors": {"wife_age": -1}}, "must be above 0"),
        ({"standard_errors": {"age": 1}}, "Unknown standard error 'age'"),
        ({"dispersion": 1}, "does not have"),
        (
            {
                "kind": "gamma",
                "formula": "wife_age ~ num_children",
                "coefficients": {"Intercept": 1, "num_children": 1},
                "loglik": 1,
            },
            "needs the dispersion",
        ),
        (
            {"kind": "multinomial", "formula": "contraceptive_method ~ wife_age"},
            "Unknown class 'Intercept'",
        ),
        (
            {
                "kind": "multinomial",
                "formula": "contraceptive_method ~ wife_age",
                "coefficients": {"long": {}},
            },
            "no coefficients for a class of column 'contraceptive_method'",
        ),
    ],
)
def test_bad_regressions(cmc: Any, change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        cmc.spec({**LOGIT, **change}).problem()


def test_coefficients_without_a_formula(cmc: Any) -> None:
    with pytest.raises(InputError, match="output 'o0' has coefficients without a formula"):
        cmc.spec({k: v for k, v in LOGIT.items() if k != "formula"})


FIELDS = OutputDomain(
    (
        OutputColumn("word", ("a", "b", "c")),
        OutputColumn("truth", (False, True)),
        OutputColumn("count", (0, 1, 2)),
        OutputColumn("x", (0, 1)),
    )
)


def numbers(**keys: Any) -> list[float]:
    (output,) = recipes_of([{"name": "m", **keys}], FIELDS).outputs
    assert isinstance(output, RegressionSpec)
    frame = FIELDS.with_rows(100)
    return output.label(frame, output.compiled(frame)).values[:, 0].tolist()


def test_levels_by_family() -> None:
    assert numbers(kind="logit", formula="word ~ x", success="b") == [0.0, 1.0, 0.0]
    assert numbers(kind="probit", formula="truth ~ x") == [0.0, 1.0]
    assert numbers(kind="multinomial", formula="word ~ x", base="b") == [1.0, 0.0, 2.0]
    assert numbers(kind="multinomial", formula="word ~ x", where="word != 'a'") == [0.0, 0.0, 1.0]
    assert numbers(kind="poisson", formula="count ~ x") == [0.0, 1.0, 2.0]
    np.testing.assert_allclose(
        numbers(kind="ols", formula="log(count + 1) ~ x"), np.log([1.0, 2.0, 3.0])
    )
    assert numbers(kind="gamma", formula="count ~ x", where="count > 0") == [1.0, 1.0, 2.0]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"kind": "logit", "formula": "word ~ x"}, "say which of them counts as 1"),
        ({"kind": "ols", "formula": "word ~ x"}, "must be a number"),
        ({"kind": "logit", "formula": "count ~ x"}, "must be 0 or 1"),
        ({"kind": "gamma", "formula": "count ~ x"}, "must be above 0"),
        ({"kind": "poisson", "formula": "I(count - 1) ~ x"}, "must be at least 0"),
        ({"kind": "ols", "formula": "log(count) ~ x"}, "no finite number"),
    ],
)
def test_labels_that_a_family_cannot_have(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        numbers(**keys)
