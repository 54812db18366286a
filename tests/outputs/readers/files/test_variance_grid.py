"""Analyses of variance of R 4.2 and statsmodels, and in the forms that the manuals of Stata and SPSS show; second opinion: scipy on the bundled records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from scipy.stats import f_oneway

from chaffinch.outputs.readers.files.grids import csv_grid
from chaffinch.outputs.readers.files.parsed import ParsedTest
from chaffinch.outputs.readers.files.programs.stata import read_stata_logs
from chaffinch.outputs.readers.files.programs.variance import read_variance_tables
from chaffinch.outputs.readers.files.protocol import Annotation, LineError, OpenQuestionError
from chaffinch.outputs.readers.files.read import read_files
from chaffinch.outputs.readers.files.sheet_tables import grid_matches

EXAMPLES = Path(__file__).parents[4] / "examples"
BROUGHT = EXAMPLES / "outputs" / "brought"
# summary(aov(num_children ~ factor(wife_education), data = cmc))
AOV = """                         Df Sum Sq Mean Sq F value   Pr(>F)
factor(wife_education)    3    332  110.54   20.67 4.06e-13 ***
Residuals              1469   7857    5.35
---
Signif. codes:  0 '***' 0.001 '**' 0.01 '*' 0.05 '.' 0.1 ' ' 1
"""
# anova(lm(num_children ~ wife_age + factor(wife_education), data = cmc))
TWO_TERMS = """Analysis of Variance Table

Response: num_children
                         Df Sum Sq Mean Sq F value    Pr(>F)
wife_age                  1 2388.8 2388.84 636.466 < 2.2e-16 ***
factor(wife_education)    3  289.7   96.56  25.728 3.205e-16 ***
Residuals              1468 5509.8    3.75
"""
# SPSS, One-Way ANOVA, as its manual shows it
SPSS = """ANOVA,,,,,
,Sum of Squares,df,Mean Square,F,Sig.
Between Groups,331.631,3,110.544,20.669,.000
Within Groups,7856.741,1469,5.348,,
Total,8188.372,1472,,,
"""


def parse(text: str, **keys: Any) -> ParsedTest:
    (match,) = read_variance_tables(text.splitlines())
    parsed = match.parse(Annotation(**keys))
    assert isinstance(parsed, ParsedTest)
    return parsed


@pytest.mark.parametrize(
    "name", ["r_anova.txt", "statsmodels_anova.txt", "statsmodels_anova.csv", "stata_anova.log"]
)
def test_each_program_s_table_has_the_numbers_of_the_records(name: str) -> None:
    (output,) = (one for one in read_files([BROUGHT]).outputs if one.name == name)
    test, records = output.parsed, pd.read_csv(EXAMPLES / "data" / "cmc.csv")
    assert isinstance(test, ParsedTest)
    assert (test.kind, test.variable, test.by) == ("anova", "num_children", ("wife_education",))
    groups = [rows.num_children for _, rows in records.groupby("wife_education")]
    expected = f_oneway(*groups)
    within = sum(((group - group.mean()) ** 2).sum() for group in groups)
    assert float(test.numbers["statistic"]) == pytest.approx(expected.statistic, abs=6e-3)
    assert float(test.numbers["p_value"]) == pytest.approx(expected.pvalue, abs=6e-5)
    assert float(test.numbers["ss_within"]) == pytest.approx(within, abs=0.06)
    assert (test.numbers["dof_between"], test.numbers["dof_within"]) == (3, 1469)
    assert test.n == len(records)


def test_summary_of_aov_does_not_say_its_column() -> None:
    test = parse(AOV)
    assert (test.variable, test.by) == (None, ("wife_education",))
    assert (test.numbers["ss_between"], test.numbers["p_value"]) == ("332", "4.06e-13")
    assert parse(AOV, of="num_children").variable == "num_children"
    assert parse(AOV.replace("4.06e-13", " <2e-16 ")).numbers["p_value"] == "<2e-16"


def test_several_terms_strata_and_numbers_are_asked_for() -> None:
    with pytest.raises(OpenQuestionError, match="Those of one factor are read"):
        parse(TWO_TERMS)
    with pytest.raises(OpenQuestionError, match="Those of one factor are read"):
        parse(f"Error: school\n{AOV}")
    line = "factor(wife_education)    3 "
    with pytest.raises(OpenQuestionError) as caught:
        parse(AOV.replace(line, "wife_now_working          1 "))
    assert "a factor of two levels, or a number" in str(caught.value)
    assert caught.value.keys == {"kind": "anova", "by": ["wife_now_working"]}
    assert parse(AOV.replace(line, "wife_now_working          1 "), kind="anova").by == (
        "wife_now_working",
    )
    with pytest.raises(OpenQuestionError, match="Those of one factor are read"):
        parse(AOV.replace("factor(wife_education)", "log(income)           "))
    with pytest.raises(LineError, match="before its residuals"):
        parse("\n".join(AOV.splitlines()[:2]))


def test_sheets_of_spss_do_not_name_their_columns() -> None:
    (match,) = grid_matches(csv_grid(SPSS))
    test = match.parse(Annotation(of="num_children", by=["wife_education"]))
    assert isinstance(test, ParsedTest)
    assert (test.by, test.n, test.numbers["p_value"]) == (("wife_education",), 1473, "0.000")
    regression = SPSS.replace("Between Groups", "Regression").replace("Within Groups", "Residual")
    (match,) = grid_matches(csv_grid(regression))
    with pytest.raises(OpenQuestionError, match="Those of one factor"):
        match.parse(Annotation())


def test_a_log_of_stata_that_is_cut_or_has_more_is_said() -> None:
    text = (BROUGHT / "stata_anova.log").read_text(encoding="utf-8")
    (match,) = read_stata_logs(text[: text.index(" Within")].splitlines())
    with pytest.raises(LineError, match="the log is cut"):
        match.parse(Annotation())
    (match,) = read_stata_logs(text.replace("education\n", "education, tab\n", 1).splitlines())
    with pytest.raises(OpenQuestionError, match="Give it alone"):
        match.parse(Annotation())
