"""Summaries as statsmodels prints them."""

from __future__ import annotations

import pandas as pd
import pytest

from chaffinch.outputs.readers.files.parsed import ParsedFit
from chaffinch.outputs.readers.files.programs.drawn import read_drawn
from chaffinch.outputs.readers.files.programs.statsmodels import read_statsmodels_text
from chaffinch.outputs.readers.files.protocol import Annotation, LineError, OpenQuestionError

from .....factories import people

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
    assert read_drawn(text.splitlines()) == []  # its double lines are no table of texreg's


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
