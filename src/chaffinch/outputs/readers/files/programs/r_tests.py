"""Tests as R prints them: t, chi-square, Fisher, Kruskal-Wallis and Wilcoxon."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import partial
from typing import Any

from ..numbers import (
    NUMBER,
    P_VALUE,
    group_of,
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
_RESULT = re.compile(
    rf"(?:(?P<what>[\w-]+(?: chi-squared)?) = (?P<statistic>{NUMBER}), (?:df = (?P<dof>{NUMBER}), )?)?p-value (?:= )?(?P<p_value>{P_VALUE})"
)
_INTERVAL = re.compile(
    rf"(?P<level>[\d.]+) percent confidence interval:\s+(?P<low>{NUMBER}|-Inf)\s+(?P<high>{NUMBER}|Inf)"
)
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


def read_r_tests(lines: Sequence[str]) -> list[Match]:
    """Return a match for each test in some lines: from its title to the end of its block."""
    matches = []
    for start, line in enumerate(lines):
        data = _DATA.fullmatch(line.rstrip())
        if data is None:
            continue
        title = next((k for k in range(start - 1, -1, -1) if lines[k].strip()), start)
        end = start + 1
        while end < len(lines) and lines[end].strip() and not _DATA.fullmatch(lines[end].rstrip()):
            end += 1
        body = "\n".join(lines[start:end]) if end > start + 1 else ""
        parse = partial(_parse_test, lines[title].strip(), data[1], body, start + 1)
        matches.append(Match(range(title + 1, end + 1), "R", parse))
    return matches


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
    numbers = _test_numbers(kind, title, body, result, first)
    n = annotation.n
    if kind == "correlation":
        n = n or parse_count(result["dof"]) + 2
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


def _test_numbers(
    kind: str, title: str, body: str, result: re.Match[str], first: int
) -> dict[str, Any]:
    """The statistic, its degrees of freedom and the p-value, as printed; and what a kind has beside these. Of a correlation they follow."""
    if kind == "correlation":
        value = re.search(rf"\bcor\s+({NUMBER})\s*$", body)
        if value is None:
            raise LineError(first, "the test ends before its estimate: the file is cut.")
        return {"value": group_of(value, 1, first)}
    numbers: dict[str, Any] = {
        key: group_of(result, key, first) for key in ("statistic", "dof", "p_value") if result[key]
    }
    numbers["p_value"] = same_position(numbers["p_value"], result["p_value"].replace(" ", ""))
    if result["dof"] and "." not in result["dof"]:
        numbers["dof"] = parse_count(numbers["dof"])
    alternative = _ALTERNATIVE.search(body)
    if alternative and kind in ("fisher", "t-test", "mann-whitney"):
        numbers["alternative"] = alternative[1]
    if kind == "chi-square":
        numbers |= {"correction": True} if "Yates" in title else {}
    elif kind == "fisher":
        ratio = re.search(rf"odds ratio\s+({NUMBER})\s*$", body)
        numbers |= (
            {"conditional": True, "odds_ratio": _reliable_digits(group_of(ratio, 1, first))}
            if ratio
            else {}
        )
    elif kind == "mann-whitney":
        numbers["correction"] = "continuity correction" in title
        if "exact" in title:
            del numbers["p_value"]
    elif kind == "t-test" and _TWO_SAMPLES[kind] in title:
        numbers["welch"] = "Welch" in title
        interval = _INTERVAL.search(body)
        if interval and not alternative:
            numbers |= {key: group_of(interval, key, first) for key in ("low", "high")}
            numbers["level"] = float(interval["level"]) / 100
        if means := re.search(rf"mean in group .*\s+({NUMBER})\s+({NUMBER})\s*$", body):
            numbers["means"] = [group_of(means, k, first) for k in (1, 2)]
    return numbers


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
