"""Tests as R prints them."""

from __future__ import annotations

import pytest

from chaffinch.outputs.readers.files.crossed import OpenQuestionError
from chaffinch.outputs.readers.files.printed import PrintedTest
from chaffinch.outputs.readers.files.protocol import Facts, Help, LineError
from chaffinch.outputs.readers.files.r_text import read_r_tests

CHI = """
	Pearson's Chi-squared test

data:  cyl and gear
X-squared = 18.036, df = 4, p-value = 0.001214

"""


def facts(text: str, given: Help | None = None) -> Facts:
    (piece,) = read_r_tests(text.splitlines())
    return piece.facts(given or Help())


def test_a_chi_square_test_has_its_numbers_and_columns() -> None:
    test = facts(CHI)
    assert isinstance(test, PrintedTest)
    assert (test.kind, test.by, test.numbers) == (
        "chi-square",
        ("cyl", "gear"),
        {"statistic": "18.036", "dof": 4, "p_value": "0.001214"},
    )
    assert facts(CHI.replace("cyl and gear", "table(mtcars$cyl, mtcars$gear)")).variables == [
        "cyl",
        "gear",
    ]
    assert facts(CHI.replace("= 0.001214", "< 2.2e-16")).numbers["p_value"] == "<2.2e-16"  # type: ignore[attr-defined]


def test_columns_that_are_not_named_can_be_given() -> None:
    assert facts(CHI.replace("cyl and gear", "m")).variables == []
    assert facts(CHI.replace("cyl and gear", "m"), Help(by=["a", "b"])).variables == ["a", "b"]


def test_a_corrected_statistic_says_so() -> None:
    assert (
        facts(CHI.replace("test\n", "test with Yates' continuity correction\n", 1)).numbers[
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
    test = facts(T)
    assert isinstance(test, PrintedTest)
    assert (test.kind, test.of, test.by) == ("t-test", "mpg", ("am",))
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
    less = facts(T.replace("not equal to 0", "less than 0"))
    assert less.numbers["alternative"] == "less"  # type: ignore[attr-defined]
    assert "low" not in less.numbers  # type: ignore[attr-defined]
    assert "paired" in facts(T.replace("Welch Two Sample", "Paired")).unsaid  # type: ignore[attr-defined]


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
    test = facts(f"\n\t{title}\n\ndata:  mpg by cyl\n{line}\n\n")
    assert isinstance(test, PrintedTest)
    assert (test.kind, test.numbers, test.variables) == (kind, numbers, ["cyl", "mpg"])


def test_fisher_s_odds_ratio_has_the_digits_that_r_vouches_for() -> None:
    text = "\n\tFisher's Exact Test for Count Data\n\ndata:  a and b\np-value = 0.04\nalternative hypothesis: true odds ratio is not equal to 1\nsample estimates:\nodds ratio \n  1.016303 \n"
    assert facts(text).numbers == {"p_value": "0.04", "conditional": True, "odds_ratio": "1.016"}  # type: ignore[attr-defined]


def test_a_test_that_is_cut_or_unknown_says_so() -> None:
    with pytest.raises(LineError, match="line 4: the test ends before its result"):
        facts(CHI.split("X-squared")[0].rstrip("\n"))
    with pytest.raises(LineError, match="line 5: a test must have"):
        facts(CHI.replace("p-value", "value"))
    with pytest.raises(OpenQuestionError) as asked:
        facts(
            CHI.replace("Pearson's Chi-squared test", "Bartlett test of homogeneity of variances")
        )
    assert "Bartlett" in asked.value.understood
