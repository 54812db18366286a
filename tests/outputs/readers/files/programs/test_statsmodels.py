"""Summaries as statsmodels prints them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from chaffinch.outputs.readers.files.parsed import ParsedFit
from chaffinch.outputs.readers.files.programs.drawn import read_drawn
from chaffinch.outputs.readers.files.programs.statsmodels import read_statsmodels_text
from chaffinch.outputs.readers.files.protocol import Annotation, LineError, OpenQuestionError
from chaffinch.outputs.rules import Policy

from .....factories import people

BROUGHT = Path(__file__).parents[5] / "examples" / "outputs" / "brought"
smf = pytest.importorskip("statsmodels.formula.api")


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return people(200).to_pandas().assign(works=lambda frame: (frame["vote"] == "a") * 1)


def fits(text: str, given: Annotation | None = None) -> list[ParsedFit]:
    return [
        match.parse(given or Annotation()) for match in read_statsmodels_text(text.splitlines())
    ]  # type: ignore[misc]


def test_what_is_printed_is_what_was_fitted(frame: pd.DataFrame) -> None:
    ols = smf.ols("children ~ age + sex", frame).fit()
    (fit,) = fits(str(ols.summary()))
    assert (fit.kind, fit.label, fit.n, fit.dof, fit.robust) == ("ols", "children", 200, 197, False)
    for name, text in fit.coefficients.items():
        assert float(text) == pytest.approx(ols.params[name], abs=5.1e-5)
        assert float(fit.standard_errors[name]) == pytest.approx(ols.bse[name], abs=5.1e-4)
    assert list(fit.coefficients) == ["Intercept", "sex[T.m]", "age"]


def test_kinds_robust_errors_and_several_in_one_file(frame: pd.DataFrame) -> None:
    logit, poisson = (
        smf.logit("works ~ age", frame).fit(disp=0),
        smf.poisson("children ~ age", frame).fit(disp=0),
    )
    robust = smf.ols("children ~ age", frame).fit(cov_type="HC1")
    text = "\n\n".join(str(one.summary()) for one in (logit, poisson, robust))
    assert [(fit.kind, fit.robust) for fit in fits(text)] == [
        ("logit", False),
        ("poisson", False),
        ("ols", True),
    ]
    assert float(fits(text)[0].loglik or 0) == pytest.approx(logit.llf, rel=1e-4)
    assert not [*read_drawn(text.splitlines())]  # its double lines are no table of texreg's


def test_a_summary_that_is_cut_says_so_wherever(frame: pd.DataFrame) -> None:
    lines = str(smf.ols("children ~ age + sex", frame).fit().summary()).splitlines()
    closed = [k for k, line in enumerate(lines) if line.startswith("====")][2]
    for last in range(3, closed):
        with pytest.raises(LineError, match="the file is cut"):
            fits("\n".join(lines[:last]))
    assert len(fits("\n".join(lines[: closed + 1]))) == 1


def test_other_models_and_fits_that_did_not_converge(frame: pd.DataFrame) -> None:
    text = str(smf.logit("works ~ age", frame).fit(disp=0).summary())
    assert (
        "did not converge"
        in fits(
            text.replace(
                "converged:                       True", "converged:                      False"
            )
        )[0].unresolved_reason
    )
    with pytest.raises(OpenQuestionError) as asked:
        fits(str(smf.wls("children ~ age", frame, weights=frame.age).fit().summary()))
    assert "a model of WLS" in asked.value.understood


MIXED = (BROUGHT / "statsmodels_mixed.txt").read_text(encoding="utf-8")


def mixed(text: str, **keys: Any) -> ParsedFit:
    (match,) = read_statsmodels_text(text.splitlines())
    parsed = match.parse(Annotation(**keys))
    assert isinstance(parsed, ParsedFit)
    return parsed


def test_a_mixed_model_has_its_groups_and_variances() -> None:
    fit = mixed(MIXED)
    assert (fit.kind, fit.label, fit.n) == ("mixed", "num_children", 1473)
    assert fit.coefficients["wife_now_working"] == "0.576"
    assert fit.standard_errors["Intercept"] == "0.322"
    assert fit.extra == {
        "group": "wife_education",
        "reml": True,
        "group_variance": "0.194",
        "residual_variance": "3.6943",
    }
    assert [one.status for one in fit.further_findings("m", Policy())] == []


def test_the_size_of_the_smallest_group_is_looked_at() -> None:
    small = mixed(MIXED.replace("size:   152 ", "size:   9   "))
    assert [(one.rule, one.status) for one in small.further_findings("m", Policy())] == [
        ("threshold", "fail")
    ]


def test_a_mixed_model_without_groups_or_with_several_effects_is_asked_for() -> None:
    unnamed = MIXED.replace("wife_education Var", "Group Var         ")
    assert "by = [...]" in mixed(unnamed).unresolved_reason
    assert mixed(unnamed, by=["wife_education"]).extra["group"] == "wife_education"
    row = next(line for line in MIXED.splitlines() if " Var " in line)
    with pytest.raises(OpenQuestionError, match="random intercept of one group"):
        mixed(MIXED.replace(row, f"{row}\n{row.replace('wife_education', 'other         ')}"))
    assert "did not converge" in mixed(MIXED.replace("Yes", "No ")).unresolved_reason
    with pytest.raises(LineError, match="the file is cut"):
        mixed(MIXED[: MIXED.index("wife_age  ")])
