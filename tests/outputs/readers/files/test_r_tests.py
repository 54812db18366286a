"""Tests as R prints them."""

from __future__ import annotations

import pytest

from chaffinch.outputs.readers.files.companion import Help
from chaffinch.outputs.readers.files.crossed import OpenQuestionError
from chaffinch.outputs.readers.files.found import Facts, LineError
from chaffinch.outputs.readers.files.printed_groups import PrintedTest
from chaffinch.outputs.readers.files.r_tests import read_r_tests

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
    assert (test.kind, test.by, test.numbers) == ("chi-square", ("cyl", "gear"), {"statistic": "18.036", "dof": 4, "p_value": "0.001214"})
    assert facts(CHI.replace("cyl and gear", "table(mtcars$cyl, mtcars$gear)")).variables == ["cyl", "gear"]
    assert facts(CHI.replace("= 0.001214", "< 2.2e-16")).numbers["p_value"] == "<2.2e-16"  # type: ignore[attr-defined]


def test_columns_that_are_not_named_can_be_given() -> None:
    assert facts(CHI.replace("cyl and gear", "m")).variables == []
    assert facts(CHI.replace("cyl and gear", "m"), Help(by=["a", "b"])).variables == ["a", "b"]


def test_a_corrected_statistic_is_not_compared() -> None:
    yates = facts(CHI.replace("test\n", "test with Yates' continuity correction\n", 1))
    assert yates.incomparable == "it has Yates' correction"  # type: ignore[attr-defined]


def test_a_test_that_is_cut_or_unknown_says_so() -> None:
    with pytest.raises(LineError, match="line 4: the test ends before its result"):
        facts(CHI.split("X-squared")[0].rstrip("\n"))
    with pytest.raises(LineError, match="line 5: a chi-square test must have"):
        facts(CHI.replace("X-squared = ", "X = "))
    with pytest.raises(OpenQuestionError) as asked:
        facts(CHI.replace("Pearson's Chi-squared test", "Bartlett test of homogeneity of variances"))
    assert "Bartlett" in asked.value.understood
