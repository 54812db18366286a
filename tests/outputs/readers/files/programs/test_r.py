"""`summary()` of R, as R 4.2 prints it; expected numbers are read off by eye."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from chaffinch.outputs.readers.files.parsed import ParsedFit, ParsedOutput, ParsedTable, ParsedTest
from chaffinch.outputs.readers.files.programs.r_models import (
    arguments,
    read_r_mixed,
    read_r_models,
)
from chaffinch.outputs.readers.files.programs.r_tables import read_r_tables
from chaffinch.outputs.readers.files.programs.r_tests import read_r_tests
from chaffinch.outputs.readers.files.protocol import Annotation, LineError, OpenQuestionError
from chaffinch.outputs.rules import Policy

BROUGHT = Path(__file__).parents[5] / "examples" / "outputs" / "brought"
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


def fits(text: str, given: Annotation | None = None) -> list[ParsedFit]:
    parsed = [match.parse(given or Annotation()) for match in read_r_models(text.splitlines())]
    assert all(isinstance(one, ParsedFit) for one in parsed)
    return parsed  # type: ignore[return-value]


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
    assert "strata" in fits(COX.replace("~ age,", "~ age + strata(sex),"))[0].unresolved_reason


def test_two_models_in_one_file_are_two_outputs_with_their_lines() -> None:
    matches = [*read_r_models((LM + GLM).splitlines())]
    assert [match.line for match in matches] == [2, 22]
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
    assert "write where" in fits(some)[0].unresolved_reason
    assert fits(some, Annotation(where="am == 1"))[0].unresolved_reason == ""
    assert (
        fits(LM.replace("data = mtcars)", "data = mtcars, weights = w)"))[0].unresolved_reason
        == "it is weighted"
    )
    assert (
        "write where"
        in fits(LM.replace("data = mtcars)", "data = mtcars[1:16, ])"))[0].unresolved_reason
    )


def test_few_records_that_were_left_out_are_said() -> None:
    text = LM.replace(
        "28 degrees of freedom",
        "28 degrees of freedom\n  (3 observations deleted due to missingness)",
    )
    assert fits(text)[0].left_out == 3
    (fit,) = fits(text)
    assert [one.rule for one in fit.further_findings("m", Policy())] == [
        "records left out",
        "extremes of residuals",
    ]
    assert [one.rule for one in fit.further_findings("m", Policy(threshold=3))] == [
        "extremes of residuals"
    ]
    for threshold in (4, 20):  # the count that the policy has, not one of our own
        assert (
            f"fewer than {threshold}."
            in fit.further_findings("m", Policy(threshold=threshold))[0].sentence
        )


def test_other_functions_are_asked_about() -> None:
    with pytest.raises(OpenQuestionError) as asked:
        fits(LM.replace("lm(", "rlm("))
    assert "a model by rlm" in asked.value.understood


def test_arguments_are_cut_at_commas_that_are_in_no_brackets() -> None:
    assert arguments("f(a, b = c(1, 2), d == 3)") == {"0": "a", "b": "c(1, 2)", "2": "d == 3"}


def tables(text: str, given: Annotation | None = None) -> list[ParsedTable]:
    parsed = [match.parse(given or Annotation()) for match in read_r_tables(text.splitlines())]
    assert all(isinstance(one, ParsedTable) for one in parsed)
    return parsed  # type: ignore[return-value]


# with(mtcars, table(cyl, gear))
TWO = """   gear
cyl  3  4  5
  4  1  8  2
  6  2  4  1
  8 12  0  2
"""


def test_a_table_of_two_columns_has_its_names_and_labels() -> None:
    (table,) = tables(TWO)
    assert table.by == ("cyl", "gear")
    assert table.labels == (("4", "6", "8"), ("3", "4", "5"))
    assert table.cells["8", "3"] == 12
    assert table.people == 32


def test_a_table_without_names_is_one_all_the_same() -> None:
    # table(mtcars$cyl, mtcars$gear)
    (table,) = tables("    \n      3  4  5\n  4   1  8  2\n  6   2  4  1\n  8  12  0  2\n")
    assert table.by == ("(rows)", "(columns)")
    assert table.cells["4", "4"] == 8
    assert tables(TWO, Annotation(by=["a", "b"]))[0].by == ("a", "b")


def test_one_column_and_labels_with_blanks_are_read() -> None:
    # table(cyl); and with words of several parts
    (one,) = tables("cyl\n 4  6  8 \n11  7 14 \n")
    assert one.by == ("cyl",)
    assert one.cells == {("4",): 11, ("6",): 7, ("8",): 14}
    (words,) = tables(
        "                sex\nmarital          man woman\n  never married   12    20\n  married         33    45\n"
    )
    assert words.labels == (("never married", "married"), ("man", "woman"))


def test_three_columns_stand_in_layers() -> None:
    text = f", , am = 0\n\n{TWO}\n, , am = 1\n\n{TWO}\n"
    (table,) = tables(text)
    assert table.by == ("cyl", "gear", "am")
    assert table.cells["8", "3", "1"] == 12
    with pytest.raises(
        LineError, match="line 9: a layer of the table has no rows: the file is cut"
    ):
        tables(f", , am = 0\n\n{TWO}\n, , am = 1\n")


def test_a_wide_table_that_is_folded_is_one_table() -> None:
    (table,) = tables("   gear\ncyl  3  4\n  4  1  8\n  6  2  4\n   gear\ncyl  5\n  4  2\n  6  1\n")
    assert table.labels[1] == ("3", "4", "5")
    assert table.cells["6", "5"] == 1


def test_totals_and_several_tables_in_one_file() -> None:
    sums = "     gear\ncyl    3  4 Sum\n  4    1  8   9\n  6    2  4   6\n  Sum  3 12  15\n"
    first, second = tables(f"{sums}\n{TWO}")
    assert first.margins
    assert first.cells["All", "All"] == 15
    assert not second.margins
    assert [match.line for match in read_r_tables(f"{sums}\n{TWO}".splitlines())] == [1, 7]


def test_a_row_that_is_cut_is_not_left_out_in_silence() -> None:
    with pytest.raises(LineError, match="line 5"):
        tables(TWO.rsplit("  2\n", 1)[0])


@pytest.mark.parametrize(
    "text",
    [
        "        hp\nMazda  110\nDatsun  93\nHornet 110\n",  # mtcars["hp"]: records
        "\n f  m \n90 87 \n",  # tapply(age, sex, max)
    ],
)
def test_values_in_the_form_of_a_table_are_asked_about(text: str) -> None:
    (match,) = read_r_tables(text.splitlines())
    with pytest.raises(OpenQuestionError, match="Are they counts of people"):
        match.parse(Annotation())


def test_records_with_their_numbers_are_no_table() -> None:
    assert not [*read_r_tables(["   age", "1   45", "2   37", "3   62"])]


def test_text_is_no_table() -> None:
    assert not [*read_r_tables(["We asked 120 people in 3 towns.", "", "  see table 2"])]


VALUE_COUNTS = "smoke\n{}\nName: count, dtype: int64\n"


@pytest.mark.parametrize(
    "levels", [("10", "20"), ("0", "1"), ("no", "yes"), ("a b", "c"), ("1", "2", "3")]
)
def test_value_counts_of_pandas_have_labels_beside_their_counts(levels: tuple[str, ...]) -> None:
    """print(data["smoke"].value_counts()): read as R prints a table, two levels 10 and 20 of 115 and 74 people were 20 and 74 people."""
    rows = "\n".join(
        f"{level}    {count}" for level, count in zip(levels, (115, 74, 33), strict=False)
    )
    (table,) = tables(VALUE_COUNTS.format(rows))
    assert table.by == ("smoke",)
    assert table.is_stated
    assert table.cells == {
        (level,): count for level, count in zip(levels, (115, 74, 33), strict=False)
    }


def test_two_lines_of_two_numbers_may_be_either_way() -> None:
    pandas_without_its_type, r_cut = "smoke\n10    115\n20     74\n", "smoke\n100 200\n115 174\n"
    for text in (pandas_without_its_type, r_cut):
        with pytest.raises(
            OpenQuestionError, match="as R prints a table, or beside them, as pandas"
        ):
            tables(text)
        with pytest.raises(
            OpenQuestionError, match="as R prints a table, or beside them, as pandas"
        ):
            tables(text, Annotation(kind="table", by=["smoke"]))
    (table,) = tables("smoke\n100 200 \n115 174 \n")  # R ends lines with a blank
    assert table.cells == {("100",): 115, ("200",): 174}
    (table,) = tables("smoke\n  0   1\n115  74\n")  # pandas begins them without
    assert table.cells == {("0",): 115, ("1",): 74}


CHI = """
	Pearson's Chi-squared test

data:  cyl and gear
X-squared = 18.036, df = 4, p-value = 0.001214

"""


def parsed(text: str, given: Annotation | None = None) -> ParsedOutput:
    (match,) = read_r_tests(text.splitlines())
    return match.parse(given or Annotation())


def test_a_chi_square_test_has_its_numbers_and_columns() -> None:
    test = parsed(CHI)
    assert isinstance(test, ParsedTest)
    assert (test.kind, test.by, test.numbers) == (
        "chi-square",
        ("cyl", "gear"),
        {"statistic": "18.036", "dof": 4, "p_value": "0.001214"},
    )
    assert parsed(CHI.replace("cyl and gear", "table(mtcars$cyl, mtcars$gear)")).variables == [
        "cyl",
        "gear",
    ]
    assert parsed(CHI.replace("= 0.001214", "< 2.2e-16")).numbers["p_value"] == "<2.2e-16"  # type: ignore[attr-defined]


def test_columns_that_are_not_named_can_be_given() -> None:
    assert parsed(CHI.replace("cyl and gear", "m")).variables == []
    assert parsed(CHI.replace("cyl and gear", "m"), Annotation(by=["a", "b"])).variables == [
        "a",
        "b",
    ]


def test_a_corrected_statistic_says_so() -> None:
    assert (
        parsed(CHI.replace("test\n", "test with Yates' continuity correction\n", 1)).numbers[
            "correction"
        ]
        is True
    )  # type: ignore[attr-defined]


# t.test(mpg ~ am, data = mtcars)
T = """
	Welch Two Sample t-test

data:  mpg by am
t = -3.7671, df = 18.332, p-value = 0.001374
alternative hypothesis: true difference in means between group 0 and group 1 is not equal to 0
95 percent confidence interval:
 -11.280194  -3.209684
sample estimates:
mean in group 0 mean in group 1
       17.14737        24.39231

"""


def test_a_t_test_has_its_interval_and_means() -> None:
    test = parsed(T)
    assert isinstance(test, ParsedTest)
    assert (test.kind, test.variable, test.by) == ("t-test", "mpg", ("am",))
    assert test.numbers == {
        "statistic": "-3.7671",
        "dof": "18.332",
        "p_value": "0.001374",
        "welch": True,
        "low": "-11.280194",
        "high": "-3.209684",
        "level": 0.95,
        "means": ["17.14737", "24.39231"],
    }
    less = parsed(T.replace("not equal to 0", "less than 0"))
    assert less.numbers["alternative"] == "less"  # type: ignore[attr-defined]
    assert "low" not in less.numbers  # type: ignore[attr-defined]
    assert "paired" in parsed(T.replace("Welch Two Sample", "Paired")).unresolved_reason  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("title", "line", "kind", "numbers"),
    [
        (
            "Kruskal-Wallis rank sum test",
            "Kruskal-Wallis chi-squared = 25.746, df = 2, p-value = 2.566e-06",
            "kruskal-wallis",
            {"statistic": "25.746", "dof": 2, "p_value": "2.566e-06"},
        ),
        (
            "Wilcoxon rank sum test with continuity correction",
            "W = 42, p-value = 0.001871",
            "mann-whitney",
            {"statistic": "42", "p_value": "0.001871", "correction": True},
        ),
        (
            "Wilcoxon rank sum exact test",
            "W = 42, p-value = 0.001871",
            "mann-whitney",
            {"statistic": "42", "correction": False},
        ),
    ],
)
def test_rank_tests_are_read(title: str, line: str, kind: str, numbers: dict[str, object]) -> None:
    test = parsed(f"\n\t{title}\n\ndata:  mpg by cyl\n{line}\n\n")
    assert isinstance(test, ParsedTest)
    assert (test.kind, test.numbers, test.variables) == (kind, numbers, ["cyl", "mpg"])


def test_fisher_s_odds_ratio_has_the_digits_that_r_vouches_for() -> None:
    text = "\n\tFisher's Exact Test for Count Data\n\ndata:  a and b\np-value = 0.04\nalternative hypothesis: true odds ratio is not equal to 1\nsample estimates:\nodds ratio \n  1.016303 \n"
    assert parsed(text).numbers == {"p_value": "0.04", "conditional": True, "odds_ratio": "1.016"}  # type: ignore[attr-defined]


def test_a_test_that_is_cut_or_unknown_says_so() -> None:
    with pytest.raises(LineError, match="line 4: the test ends before its result"):
        parsed(CHI.split("X-squared")[0].rstrip("\n"))
    with pytest.raises(LineError, match="line 5: a test must have"):
        parsed(CHI.replace("p-value", "value"))
    with pytest.raises(OpenQuestionError) as asked:
        parsed(
            CHI.replace("Pearson's Chi-squared test", "Bartlett test of homogeneity of variances")
        )
    assert "Bartlett" in asked.value.understood


MIXED = (BROUGHT / "r_lmer.txt").read_text(encoding="utf-8")


def mixed(text: str, **keys: Any) -> ParsedFit:
    (match,) = read_r_mixed(text.splitlines())
    parsed = match.parse(Annotation(**keys))
    assert isinstance(parsed, ParsedFit)
    return parsed


def test_a_mixed_model_has_its_groups_and_variances() -> None:
    fit = mixed(MIXED)
    assert (fit.kind, fit.label, fit.n) == ("mixed", "num_children", 1473)
    assert fit.formula == "num_children ~ wife_age + factor(wife_education)"
    assert fit.extra == {
        "group": "standard_of_living",
        "reml": True,
        "group_variance": "0.008562",
        "residual_variance": "3.747405",
    }
    assert (fit.coefficients["wife_age"], fit.standard_errors["wife_age"]) == (
        "0.159325",
        "0.006373",
    )
    assert fit.extremes


def test_a_printed_mixed_model_has_names_over_numbers() -> None:
    text = """Linear mixed model fit by maximum likelihood  ['lmerMod']
Formula: num_children ~ wife_age + (1 | husband_occupation)
   Data: cmc
      AIC       BIC    logLik  deviance  df.resid
 6142.340  6163.520 -3067.170  6134.340      1469
Random effects:
 Groups             Name        Std.Dev.
 husband_occupation (Intercept) 0.2808
 Residual                       2.3616
Number of obs: 1409, groups:  husband_occupation, 4
Fixed Effects:
(Intercept)     wife_age
    -2.9309       0.1483
"""
    fit = mixed(text)
    assert fit.coefficients == {"(Intercept)": "-2.9309", "wife_age": "0.1483"}
    assert (fit.standard_errors, fit.extra) == ({}, {"group": "husband_occupation", "reml": False})
    assert mixed(text.replace("Data: cmc", "Data: cmc[1:9, ]")).unresolved_reason.startswith(
        "it is of some of the records"
    )
    assert mixed(text.replace("   Data: cmc", "   Data: cmc\nWeights: w")).unresolved_reason == (
        "it is weighted"
    )


def test_other_mixed_models_are_asked_for() -> None:
    slopes = MIXED.replace("(1 | standard_of_living)", "(wife_age | standard_of_living)")
    for text in (slopes, MIXED.replace("Linear mixed", "Generalized linear mixed", 1)):
        with pytest.raises(OpenQuestionError, match="random intercept of one group"):
            mixed(text)
    with pytest.raises(LineError, match="before its fixed effects"):
        mixed(MIXED[: MIXED.index("Fixed effects")])
    warning = "optimizer (nloptwrap) convergence code: 0 (OK)\nModel failed to converge with max|grad| = 2\n"
    assert "did not converge" in mixed(MIXED + warning).unresolved_reason


def test_a_cox_model_with_robust_standard_errors_has_the_usual_ones_beside_them() -> None:
    head = "        coef exp(coef) se(coef) robust se     z Pr(>|z|)"
    row = "age 0.018720  1.018897 0.009199  0.009301 2.013   0.0441 *"
    lines = COX.splitlines()
    lines[5:7] = [head, row]
    (fit,) = fits("\n".join(lines))
    assert (fit.coefficients, fit.standard_errors) == ({"age": "0.018720"}, {"age": "0.009199"})
