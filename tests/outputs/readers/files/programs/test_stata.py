"""Logs in the form of Stata 17, after the examples of its manual ([R] regress, logit, tabulate, summarize)."""

from __future__ import annotations

import pytest

from chaffinch.outputs.readers.files.parsed import (
    ParsedFit,
    ParsedOutput,
    ParsedSummary,
    ParsedTable,
)
from chaffinch.outputs.readers.files.programs.stata import read_stata_logs
from chaffinch.outputs.readers.files.protocol import Annotation, LineError, OpenQuestionError

REGRESS = """. sysuse auto
(1978 automobile data)

. regress mpg weight i.foreign

      Source |       SS           df       MS      Number of obs   =        74
-------------+----------------------------------   F(2, 71)        =     69.75
       Model |   1619.2877         2  809.643849   Prob > F        =    0.0000
    Residual |  824.171761        71   11.608053   R-squared       =    0.6627
-------------+----------------------------------   Adj R-squared   =    0.6532
       Total |  2443.45946        73  33.4720474   Root MSE        =    3.4071

------------------------------------------------------------------------------
         mpg | Coefficient  Std. err.      t    P>|t|     [95% conf. interval]
-------------+----------------------------------------------------------------
      weight |  -.0065879   .0006371   -10.34   0.000    -.0078583   -.0053175
             |
     foreign |
    Foreign  |  -1.650029   1.075994    -1.53   0.130      -3.7955    .4954422
       _cons |    41.6797   2.165547    19.25   0.000     37.36172    45.99768
------------------------------------------------------------------------------
"""
TABULATE = """. tabulate rep78 foreign

    Repair |
    record |      Car origin
      1978 |  Domestic    Foreign |     Total
-----------+----------------------+----------
         1 |         2          0 |         2
         3 |        27          3 |        30
         5 |         2          9 |        11
-----------+----------------------+----------
     Total |        31         12 |        43
"""


def parsed(text: str, given: Annotation | None = None) -> list[ParsedOutput]:
    return [match.parse(given or Annotation()) for match in read_stata_logs(text.splitlines())]


def test_a_regression_has_its_coefficients_n_and_formula() -> None:
    (fit,) = parsed(REGRESS.replace("    Foreign  |", "          1  |"))
    assert isinstance(fit, ParsedFit)
    assert (fit.kind, fit.label, fit.formula, fit.n, fit.dof) == (
        "ols",
        "mpg",
        "mpg ~ weight + C(foreign)",
        74,
        71,
    )
    assert fit.coefficients == {
        "weight": "-0.0065879",
        "1.foreign": "-1.650029",
        "_cons": "41.6797",
    }
    assert fit.standard_errors["weight"] == "0.0006371"


def test_robust_errors_ratios_filters_and_weights_are_seen() -> None:
    robust = REGRESS.replace("i.foreign\n", "i.foreign, vce(robust)\n")
    assert parsed(robust)[0].robust  # type: ignore[attr-defined]
    ratios = REGRESS.replace("Coefficient  Std. err.", "Odds ratio   Std. err.").replace(
        "regress", "logistic"
    )
    assert parsed(ratios)[0].exponentiated  # type: ignore[attr-defined]
    some = REGRESS.replace("i.foreign\n", "i.foreign if mpg > 20\n")
    assert "write where" in parsed(some)[0].unresolved_reason  # type: ignore[attr-defined]
    assert parsed(some, Annotation(where="mpg > 20"))[0].unresolved_reason == ""  # type: ignore[attr-defined]
    assert (
        parsed(REGRESS.replace("i.foreign\n", "i.foreign [pw=w]\n"))[0].unresolved_reason
        == "it is weighted"
    )  # type: ignore[attr-defined]


def test_the_likelihood_is_the_last_one() -> None:
    logit = REGRESS.replace("regress", "logit").replace(
        "      Source |",
        "Iteration 0:  Log likelihood = -45.03\nLog likelihood = -27.17\n      Source |",
    )
    assert parsed(logit)[0].loglik == "-27.17"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (9, "line 9: the output of the model ends"),
        (17, "line 17: the table of coefficients is cut"),
        (4, "line 4: the command has no output"),
    ],
)
def test_a_log_that_is_cut_names_its_line(lines: int, words: str) -> None:
    with pytest.raises(LineError, match=words):
        parsed("\n".join(REGRESS.splitlines()[:lines]))


def test_tables_of_two_columns_and_of_one() -> None:
    (two,) = parsed(TABULATE)
    assert isinstance(two, ParsedTable)
    assert two.by == ("rep78", "foreign")
    assert two.labels == (("1", "3", "5"), ("Domestic", "Foreign"))
    assert two.cells["3", "Domestic"] == 27
    (one,) = parsed(
        ". tab foreign\n\n Car origin |      Freq.     Percent        Cum.\n------------+-----------------------------------\n   Domestic |      1,052       70.27       70.27\n"
        "    Foreign |        445       29.73      100.00\n------------+-----------------------------------\n      Total |      1,497      100.00\n"
    )
    assert isinstance(one, ParsedTable)
    assert one.cells == {("Domestic",): 1052, ("Foreign",): 445, ("All",): 1497}
    with pytest.raises(LineError, match="no row of totals: the log is cut"):
        parsed(TABULATE.split("-----------+----------------------+----------\n     Total")[0])
    with pytest.raises(OpenQuestionError, match="counts alone"):
        parsed(TABULATE.replace("foreign\n", "foreign, row\n", 1))


def test_more_below_a_table_is_not_left_out_in_silence() -> None:
    assert parsed(TABULATE + "\n          Pearson chi2(2) =  27.2640   Pr = 0.000\n")
    with pytest.raises(LineError, match="line 14: more stands below the table"):
        parsed(TABULATE + "\n-> tabulation of b\n         1 |         2          0 |         2\n")


def test_a_summary_of_one_variable() -> None:
    text = ". summarize mpg\n\n    Variable |        Obs        Mean    Std. dev.       Min        Max\n-------------+---\n         mpg |         74     21.2973    5.785503         12         41\n"
    (summary,) = parsed(text)
    assert isinstance(summary, ParsedSummary)
    assert summary.variable == "mpg"
    assert {key: value[()] for key, value in summary.numbers.items()} == {
        "n": "74",
        "mean": "21.2973",
        "sd": "5.785503",
        "min": "12",
        "max": "41",
    }
    with pytest.raises(OpenQuestionError, match="one by one"):
        parsed(text + "      weight |         74    3019.459    777.1936       1760       4840\n")


def test_other_commands_are_asked_about_and_preparations_are_not() -> None:
    with pytest.raises(OpenQuestionError) as asked:
        parsed(". xtreg y x\n\nNumber of obs = 12\n")
    assert "'xtreg'" in asked.value.understood
    assert parsed(". use cmc, clear\n(1,473 rows)\n. generate z = 3\n") == []
