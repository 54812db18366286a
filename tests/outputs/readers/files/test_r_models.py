"""`summary()` of R, as R 4.2 prints it; expected numbers are read off by eye."""

from __future__ import annotations

import pytest

from chaffinch.outputs.readers.files.crossed import OpenQuestionError
from chaffinch.outputs.readers.files.printed import PrintedFit
from chaffinch.outputs.readers.files.protocol import Help, LineError
from chaffinch.outputs.readers.files.r_text import arguments, read_r_models
from chaffinch.outputs.rules import Policy

# summary(lm(mpg ~ wt + factor(cyl), data = mtcars))
LM = """
Call:
lm(formula = mpg ~ wt + factor(cyl), data = mtcars)

Residuals:
    Min      1Q  Median      3Q     Max
-4.5890 -1.2357 -0.5159  1.3845  5.7915

Coefficients:
             Estimate Std. Error t value Pr(>|t|)
(Intercept)   33.9908     1.8878  18.006  < 2e-16 ***
wt            -3.2056     0.7539  -4.252 0.000213 ***
factor(cyl)6  -4.2556     1.3861  -3.070 0.004718 **
factor(cyl)8  -6.0709     1.6523  -3.674 0.000999 ***
---
Signif. codes:  0 '***' 0.001 '**' 0.01 '*' 0.05 '.' 0.1 ' ' 1

Residual standard error: 2.557 on 28 degrees of freedom
Multiple R-squared:  0.8374,	Adjusted R-squared:   0.82
F-statistic: 48.08 on 3 and 28 DF,  p-value: 3.594e-11
"""
# summary(glm(am ~ wt, data = mtcars, family = binomial(link = "probit")))
GLM = """
Call:
glm(formula = am ~ wt, family = binomial(link = "probit"), data = mtcars)

Coefficients:
            Estimate Std. Error z value Pr(>|z|)
(Intercept)    6.917      2.381   2.905  0.00367 **
wt            -2.304      0.786  -2.932  0.00337 **
---
(Dispersion parameter for binomial family taken to be 1)

    Null deviance: 43.230  on 31  degrees of freedom
Residual deviance: 18.767  on 30  degrees of freedom
AIC: 22.767

Number of Fisher Scoring iterations: 7
"""


def fits(text: str, given: Help | None = None) -> list[PrintedFit]:
    facts = [piece.facts(given or Help()) for piece in read_r_models(text.splitlines())]
    assert all(isinstance(one, PrintedFit) for one in facts)
    return facts  # type: ignore[return-value]


def test_a_linear_model_gives_its_coefficients_and_n() -> None:
    (fit,) = fits(LM)
    assert (fit.kind, fit.label, fit.formula, fit.n, fit.dof, fit.extremes) == (
        "ols",
        "mpg",
        "mpg ~ wt + factor(cyl)",
        32,
        28,
        True,
    )
    assert fit.coefficients == {
        "(Intercept)": "33.9908",
        "wt": "-3.2056",
        "factor(cyl)6": "-4.2556",
        "factor(cyl)8": "-6.0709",
    }
    assert fit.standard_errors["wt"] == "0.7539"


def test_a_generalised_model_has_its_family_and_link() -> None:
    (fit,) = fits(GLM)
    assert (fit.kind, fit.n, fit.dof, fit.extremes, fit.robust) == ("probit", 32, 30, False, True)
    assert fits(GLM.replace("probit", "logit"))[0].kind == "logit"
    assert (
        fits(
            GLM.replace('binomial(link = "probit")', "poisson").replace(
                "for binomial", "for poisson"
            )
        )[0].kind
        == "poisson"
    )
    gamma = fits(
        GLM.replace('binomial(link = "probit")', "Gamma").replace("for binomial", "for Gamma")
    )[0]
    assert (gamma.kind, gamma.family, gamma.link) == ("glm", "gamma", "inverse")


# summary(coxph(Surv(time, status == 2) ~ age, data = lung)), of package survival
COX = """Call:
coxph(formula = Surv(time, status == 2) ~ age, data = lung)

  n= 228, number of events= 165

        coef exp(coef) se(coef)     z Pr(>|z|)
age 0.018720  1.018897 0.009199 2.035   0.0419 *
---
Signif. codes:  0 '***' 0.001 '**' 0.01 '*' 0.05 '.' 0.1 ' ' 1

    exp(coef) exp(-coef) lower .95 upper .95
age     1.019     0.9815     1.001     1.037

Concordance= 0.55  (se = 0.025 )
Likelihood ratio test= 4.24  on 1 df,   p=0.04
Wald test            = 4.14  on 1 df,   p=0.04
Score (logrank) test = 4.15  on 1 df,   p=0.04
"""


def test_a_cox_model_has_its_time_and_event() -> None:
    (fit,) = fits(COX)
    assert (fit.kind, fit.label, fit.formula, fit.n) == ("cox", "time", "time ~ age", 228)
    assert fit.extra == {"event": "status", "level": 2, "ties": "efron"}
    assert (fit.coefficients, fit.standard_errors) == ({"age": "0.018720"}, {"age": "0.009199"})
    assert "strata" in fits(COX.replace("~ age,", "~ age + strata(sex),"))[0].unsaid


def test_two_models_in_one_file_are_two_outputs_with_their_lines() -> None:
    pieces = read_r_models((LM + GLM).splitlines())
    assert [piece.line for piece in pieces] == [2, 22]
    assert [fit.kind for fit in fits(LM + GLM)] == ["ols", "probit"]


@pytest.mark.parametrize(
    ("last", "words"),
    [
        (9, "line 9: the summary ends before its table"),
        (12, "line 12: the table of coefficients is cut"),
        (17, "line 16: the summary ends before its residual"),
    ],
)
def test_a_summary_that_is_cut_names_its_last_line(last: int, words: str) -> None:
    with pytest.raises(LineError, match=words):
        fits("\n".join(LM.splitlines()[:last]))


def test_rows_that_are_none_and_two_decimal_signs_name_their_line() -> None:
    with pytest.raises(LineError, match="line 12: a row of coefficients"):
        fits(LM.replace("wt            -3.2056     0.7539", "wt            -3.2056     zero"))
    with pytest.raises(LineError, match="line 12: its decimal sign is not that of line 11"):
        fits(LM.replace("-3.2056     0.7539", "-3,2056     0,7539"))


def test_decimal_commas_throughout_are_read() -> None:
    import re

    comma = re.sub(r"(?<=\d)\.(?=\d)", ",", LM)
    assert fits(comma)[0].coefficients["wt"] == "-3.2056"


def test_coefficients_that_are_not_estimable_are_none() -> None:
    text = LM.replace(
        "factor(cyl)8  -6.0709     1.6523  -3.674 0.000999 ***",
        "factor(cyl)8       NA         NA      NA       NA    ",
    )
    assert "factor(cyl)8" not in fits(text)[0].coefficients
    assert fits(text)[0].n == 31


def test_models_of_some_records_and_weighted_ones_say_so() -> None:
    some = LM.replace("data = mtcars)", "data = mtcars, subset = am == 1)")
    assert "write where" in fits(some)[0].unsaid
    assert fits(some, Help(where="am == 1"))[0].unsaid == ""
    assert (
        fits(LM.replace("data = mtcars)", "data = mtcars, weights = w)"))[0].unsaid
        == "it is weighted"
    )
    assert "write where" in fits(LM.replace("data = mtcars)", "data = mtcars[1:16, ])"))[0].unsaid


def test_few_records_that_were_left_out_are_said() -> None:
    text = LM.replace(
        "28 degrees of freedom",
        "28 degrees of freedom\n  (3 observations deleted due to missingness)",
    )
    assert fits(text)[0].left_out == 3
    (fit,) = fits(text)
    assert [one.rule for one in fit.beside("m", Policy())] == [
        "records left out",
        "extremes of residuals",
    ]
    assert [one.rule for one in fit.beside("m", Policy(threshold=3))] == ["extremes of residuals"]
    for threshold in (4, 20):  # the count that the policy has, not one of our own
        assert f"fewer than {threshold}." in fit.beside("m", Policy(threshold=threshold))[0].words


def test_other_functions_are_asked_about() -> None:
    with pytest.raises(OpenQuestionError) as asked:
        fits(LM.replace("lm(", "rlm("))
    assert "a model by rlm" in asked.value.understood


def test_arguments_are_cut_at_commas_that_are_in_no_brackets() -> None:
    assert arguments("f(a, b = c(1, 2), d == 3)") == {"0": "a", "b": "c(1, 2)", "2": "d == 3"}
