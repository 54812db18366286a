"""Tests as R prints them: t, chi-square, Fisher, Kruskal-Wallis and Wilcoxon."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..numbers import (
    NUMBER,
    P_VALUE,
    PrintedText,
    group_of,
    line_where,
    parse_count,
    same_position,
)
from ..parsed import COMPARISONS, ParsedTest
from ..protocol import (
    READERS,
    Annotation,
    LineError,
    Match,
    OpenQuestionError,
    TextReader,
)

_DATA = re.compile(r"data:\s+(\S.*)")
_END = re.compile(r"\s*$|data:\s+\S")
_RESULT = re.compile(
    rf"(?:(?P<what>[\w-]+(?: chi-squared)?) = (?P<statistic>{NUMBER}), (?:df = (?P<dof>{NUMBER}), )?)?p-value (?:= )?(?P<p_value>{P_VALUE})"
)
_INTERVAL = rf"([\d.]+) percent confidence interval:\s+({NUMBER}|-Inf)\s+({NUMBER}|Inf)"
_ALTERNATIVE = re.compile(r"alternative hypothesis: .*\b(less|greater) than\b")
_TWO = re.compile(
    r"(?:table|xtabs)\(~?\s*([\w.$]+)\s*[,+]\s*([\w.$]+)(?:\s*,.*)?\)|([\w.$]+) and ([\w.$]+)"
)
_GROUPED = re.compile(r"([\w.$]+) by ([\w.$]+)")
_TEST_KINDS = {
    "Chi-squared test": "chi-square",
    "Fisher's Exact Test": "fisher",
    "t-test": "t-test",
    "Kruskal-Wallis": "kruskal-wallis",
    "Wilcoxon": "mann-whitney",
    "Pearson's product-moment correlation": "correlation",
}
"""What the title of a test has in it, and the kind that it is."""
_TWO_SAMPLES = {"t-test": "Two Sample", "mann-whitney": "rank sum"}


def read_r_tests(lines: Sequence[str]) -> Iterator[Match]:
    """Give a match for each test in some lines: from its title to the end of its block."""
    for start, line in enumerate(lines):
        if data := _DATA.fullmatch(line.rstrip()):
            title = next((k for k in range(start - 1, -1, -1) if lines[k].strip()), start)
            end = line_where(lines, start + 1, _END.match)
            body = "\n".join(lines[start:end]) if end > start + 1 else ""
            parse = partial(_parse_test, lines[title].strip(), data[1], body, start + 1)
            yield Match(range(title + 1, end + 1), "R", parse)


def _parse_test(title: str, data: str, body: str, first: int, annotation: Annotation) -> ParsedTest:
    if not body:
        raise LineError(first, "the test ends before its result: the file is cut.")
    result = _RESULT.search(body)
    if result is None:
        raise LineError(first + 1, "a test must have its statistic and a p-value in this line.")
    kind = next((kind for title_part, kind in _TEST_KINDS.items() if title_part in title), None)
    if kind is None or (kind == "chi-square" and "given probabilities" in title):
        raise OpenQuestionError(
            f"R: {title}.", "Tests of this kind are not read: describe it in a file of outputs."
        )
    is_by_groups = kind in COMPARISONS
    match = (_GROUPED if is_by_groups else _TWO).fullmatch(data)
    columns = [column.split("$")[-1] for column in match.groups() if column] if match else []
    variable = (annotation.variable or next(iter(columns), None)) if is_by_groups else None
    is_one_sample = _TWO_SAMPLES.get(kind, "") not in title
    text = _TestText(title, body, first)
    n, numbers = annotation.n, _general_numbers(result, first)
    if kind == "correlation":
        n = n or parse_count(result["dof"]) + 2
        numbers = _correlation_numbers(text)
    elif kind in _NUMBERS_OF_KINDS:
        numbers |= _NUMBERS_OF_KINDS[kind](text)
    if kind == "mann-whitney" and "exact" in title:
        del numbers["p_value"]
    return ParsedTest(
        kind,
        title,
        numbers,
        tuple(annotation.by or columns[is_by_groups:]),
        variable,
        n,
        annotation.where,
        "it is of one sample or paired: describe it in a file of outputs" if is_one_sample else "",
    )


@dataclass(frozen=True)
class _TestText:
    """The title of a test, and what stands below it from the line `first` on."""

    title: str
    body: str
    first: int

    def numbers(self, pattern: str, *groups: int) -> list[PrintedText]:
        """Return groups of the first place that a pattern has in the text; none where it has no place."""
        match = re.search(pattern, self.body)
        return [group_of(match, group, self.first) for group in groups] if match else []

    @property
    def alternative(self) -> dict[str, Any]:
        """The alternative of a one-sided test."""
        match = _ALTERNATIVE.search(self.body)
        return {"alternative": match[1]} if match else {}


def _general_numbers(result: re.Match[str], first: int) -> dict[str, Any]:
    """The statistic, its degrees of freedom and the p-value, as printed."""
    numbers: dict[str, Any] = {
        key: group_of(result, key, first) for key in ("statistic", "dof", "p_value") if result[key]
    }
    numbers["p_value"] = same_position(numbers["p_value"], result["p_value"].replace(" ", ""))
    if result["dof"] and "." not in result["dof"]:
        numbers["dof"] = parse_count(numbers["dof"])
    return numbers


def _correlation_numbers(text: _TestText) -> dict[str, Any]:
    """The coefficient: the statistic follows from it."""
    if not (values := text.numbers(rf"\bcor\s+({NUMBER})\s*$", 1)):
        raise LineError(text.first, "the test ends before its estimate: the file is cut.")
    return {"value": values[0]}


def _chi_square_numbers(text: _TestText) -> dict[str, Any]:
    return {"correction": True} if "Yates" in text.title else {}


def _fisher_numbers(text: _TestText) -> dict[str, Any]:
    ratios = text.numbers(rf"odds ratio\s+({NUMBER})\s*$", 1)
    ratio = {"conditional": True, "odds_ratio": _reliable_digits(ratios[0])} if ratios else {}
    return text.alternative | ratio


def _mann_whitney_numbers(text: _TestText) -> dict[str, Any]:
    return text.alternative | {"correction": "continuity correction" in text.title}


def _t_test_numbers(text: _TestText) -> dict[str, Any]:
    """Which t test it is, with the means and the interval of the difference where it is one of two samples."""
    numbers = text.alternative
    if _TWO_SAMPLES["t-test"] not in text.title:
        return numbers
    interval = [] if numbers else text.numbers(_INTERVAL, 1, 2, 3)
    numbers["welch"] = "Welch" in text.title
    if interval:
        level, numbers["low"], numbers["high"] = interval
        numbers["level"] = float(level) / 100
    if means := text.numbers(rf"mean in group .*\s+({NUMBER})\s+({NUMBER})\s*$", 1, 2):
        numbers["means"] = means
    return numbers


_NUMBERS_OF_KINDS: dict[str, Callable[[_TestText], dict[str, Any]]] = {
    "chi-square": _chi_square_numbers,
    "fisher": _fisher_numbers,
    "mann-whitney": _mann_whitney_numbers,
    "t-test": _t_test_numbers,
}
"""What a kind of test has beside its statistic, degrees of freedom and p-value."""


def _reliable_digits(ratio: str) -> str:
    """An odds ratio with the digits that R vouches for: it searches for it (or its inverse, above 1) with a tolerance of 1.2e-4.

    Examples
    --------
    >>> _reliable_digits("1.016303"), _reliable_digits("25.53"), _reliable_digits("0.325")
    ('1.016', '26', '0.325')
    """
    value = float(ratio)
    decimals = max(0, math.floor(-math.log10(2.5e-4 * max(1.0, value**2))))
    is_whole = len(ratio.partition(".")[2]) <= decimals
    return ratio if is_whole else same_position(ratio, f"{value:.{decimals}f}")


READERS.register(
    TextReader(
        "r tests",
        "t.test(), chisq.test(), fisher.test(), kruskal.test(), wilcox.test() and cor.test() in R",
        read_r_tests,
    )
)
