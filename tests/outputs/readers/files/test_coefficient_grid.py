"""Tables of coefficients: broom, esttab, modelsummary, SPSS."""

from __future__ import annotations

import pytest

from chaffinch.outputs.readers.files.coefficient_grid import (
    coefficient_matches,
    is_coefficients,
)
from chaffinch.outputs.readers.files.grids import blocks_of, csv_grid
from chaffinch.outputs.readers.files.parsed import ParsedFit
from chaffinch.outputs.readers.files.programs.drawn import read_drawn
from chaffinch.outputs.readers.files.protocol import Annotation, LineError, OpenQuestionError

# broom::tidy(lm(mpg ~ wt, mtcars)), rounded
TIDY = "term,estimate,std.error,statistic,p.value\n(Intercept),37.285,1.878,19.858,8.24e-19\nwt,-5.344,0.559,-9.559,1.29e-10\n"
SIDE = (
    ",(1),(2)\n,mpg,mpg\nwt,-5.344***,-3.878***\n,(0.559),(0.633)\nhp,,-0.0318**\n,,(0.009)\n_cons,37.285***,37.227***\n,(1.878),(1.599)\n"
    "N,32,32\nR-sq,0.753,0.827\nadj. R-sq,0.745,0.815\nStandard errors in parentheses\n"
)


def fits(text: str, given: Annotation | None = None) -> list[ParsedFit]:
    (block,) = blocks_of(csv_grid(text))
    assert is_coefficients(block)
    return [match.parse(given or Annotation()) for match in coefficient_matches(block, "table")]  # type: ignore[misc]


def test_one_model_of_broom_needs_its_kind() -> None:
    with pytest.raises(OpenQuestionError, match="Of which kind of model") as asked:
        fits(TIDY)
    assert "formula" in asked.value.keys
    (fit,) = fits(TIDY, Annotation(kind="ols", formula="mpg ~ wt", n=32))
    assert (fit.label, fit.n, fit.coefficients["wt"], fit.standard_errors["wt"]) == (
        "mpg",
        32,
        "-5.344",
        "0.559",
    )


def test_estimates_that_are_all_above_zero_may_be_ratios() -> None:
    with pytest.raises(OpenQuestionError) as asked:
        fits(TIDY.replace("-5.344", "5.344"))
    assert asked.value.keys["exponentiated"] is True


def test_a_column_of_models_makes_several() -> None:
    rows = TIDY.splitlines()
    text = "\n".join([f"model,{rows[0]}", f"a,{rows[1]}", f"a,{rows[2]}", f"b,{rows[1]}"])
    assert [len(fit.coefficients) for fit in fits(text, Annotation(kind="ols"))] == [2, 1]


def test_a_model_may_be_named_in_its_first_row_alone_and_by_a_number() -> None:
    text = "model,term,estimate,std.error\n1,(Intercept),1.5,0.2\n,age,-0.3,0.1\n2,(Intercept),1.7,0.2\n"
    models = fits(text, Annotation(kind="ols", formula="y ~ age"))
    assert [list(one.coefficients) for one in models] == [["(Intercept)", "age"], ["(Intercept)"]]


def test_a_column_called_model_may_name_the_coefficients() -> None:
    (one,) = fits(
        "model,estimate,std.error\n(Intercept),1.5,0.2\nage,-0.3,0.1\n",
        Annotation(kind="ols", formula="y ~ age"),
    )
    assert one.coefficients == {"(Intercept)": "1.5", "age": "-0.3"}


def test_models_side_by_side_have_their_own_coefficients() -> None:
    first, second = fits(SIDE)
    assert (first.kind, first.label, first.n, first.coefficients) == (
        "ols",
        "mpg",
        32,
        {"wt": "-5.344", "_cons": "37.285"},
    )
    assert second.coefficients == {"wt": "-3.878", "hp": "-0.0318", "_cons": "37.227"}
    assert second.standard_errors["hp"] == "0.009"


def test_brackets_are_standard_errors_only_where_it_says_so() -> None:
    assert fits(SIDE.replace("Standard errors in", "t statistics in"))[0].standard_errors == {}


def test_without_r2_the_kind_is_asked() -> None:
    with pytest.raises(OpenQuestionError, match="Of which kind of model, and of which formula"):
        fits("\n".join(line for line in SIDE.splitlines() if "R-sq" not in line))


def test_a_statistic_that_is_not_known_is_no_coefficient() -> None:
    assert (
        "Mean of mpg"
        not in fits(SIDE.replace("N,32,32\n", "Mean of mpg,20.1,20.1\nN,32,32\n"))[0].coefficients
    )


def test_a_file_of_modelsummary_says_what_stands_below_a_coefficient() -> None:
    text = (
        "part,term,statistic,Model 1,Model 2\nestimates,(Intercept),estimate,37.285***,37.227***\nestimates,(Intercept),std.error,(1.878),(1.599)\n"
        "estimates,wt,estimate,-5.344***,-3.878***\nestimates,wt,std.error,(0.559),(0.633)\nestimates,hp,estimate,,-0.032**\nestimates,hp,std.error,,(0.009)\n"
        "gof,Num.Obs.,,32,32\ngof,R2,,0.753,0.827\ngof,R2 Adj.,,0.745,0.815\n"
    )
    first, second = fits(text)
    assert (first.n, first.coefficients, first.standard_errors["wt"]) == (
        32,
        {"(Intercept)": "37.285", "wt": "-5.344"},
        "0.559",
    )
    assert second.coefficients["hp"] == "-0.032"
    assert fits(text.replace("std.error", "statistic"))[0].standard_errors == {}


def test_spss_coefficients_name_their_label_below() -> None:
    text = (
        "Coefficients,,,,,,\nModel,,Unstandardized,,Standardized,t,Sig.\n,,B,Std. Error,Beta,,\n1,(Constant),37.285,1.878,,19.858,.000\n,wt,-5.344,.559,-.868,-9.559,.000\n"
        "a. Dependent Variable: mpg,,,,,,\n"
    )
    (fit,) = fits(text)
    assert (fit.kind, fit.label, fit.n) == ("ols", "mpg", None)
    assert fit.coefficients == {"(Constant)": "37.285", "wt": "-5.344"}
    assert fit.standard_errors["wt"] == "0.559"


def test_glance_has_n_and_degrees_of_freedom() -> None:
    (fit,) = fits("r.squared,sigma,df.residual,nobs\n0.75,3.05,30,32\n")
    assert (fit.kind, fit.n, fit.dof, fit.coefficients) == ("ols", 32, 30, {})
    with pytest.raises(OpenQuestionError, match="Of which kind of model"):
        fits("null.deviance,df.residual,nobs\n0.75,30,32\n")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (TIDY.replace("wt,-5.344,0.559", "wt,-5.344,low"), "line 3: a coefficient must have"),
        (TIDY.replace("wt,", ",", 1), "line 3: a coefficient must have"),
        (SIDE.replace("-5.344***", "high"), "line 3: a coefficient is no number"),
        (SIDE.replace("hp,", "wt,"), "line 5: a coefficient stands there twice"),
        (SIDE.replace("(0.559)", "(low)"), "line 4: what stands in brackets is no number"),
    ],
)
def test_what_cannot_be_read_names_its_line(text: str, words: str) -> None:
    with pytest.raises(LineError, match=words):
        fits(text, Annotation(kind="ols"))


SCREEN = """
=================================
             Model 1    Model 2
---------------------------------
(Intercept)  37.29 ***  37.23 ***
             (1.88)     (1.60)
wt           -5.34 ***  -3.88 ***
             (0.56)     (0.63)
hp                      -0.03 **
                        (0.01)
---------------------------------
R^2           0.75       0.83
Adj. R^2      0.74       0.81
Num. obs.    32         32
=================================
*** p < 0.001; ** p < 0.01; * p < 0.05
"""


def test_models_between_double_lines_have_their_own_coefficients() -> None:
    matches = [*read_drawn(SCREEN.splitlines())]
    first, second = (match.parse(Annotation()) for match in matches)
    assert isinstance(first, ParsedFit)
    assert isinstance(second, ParsedFit)
    assert first.coefficients == {"(Intercept)": "37.29", "wt": "-5.34"}
    assert second.coefficients == {"(Intercept)": "37.23", "wt": "-3.88", "hp": "-0.03"}
    assert (first.n, second.n, first.kind) == (32, 32, "ols")
    assert matches[0].lines == range(2, 17)


def test_a_table_without_its_end_is_cut() -> None:
    (match,) = read_drawn(SCREEN.splitlines()[:14])
    with pytest.raises(LineError, match="line 14: the table has no double line at its end"):
        match.parse(Annotation())


def test_other_double_lines_are_none_of_its_business() -> None:
    assert not [*read_drawn(["==========", "Results 2024", "=========="])]
