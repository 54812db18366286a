"""Tests as R prints them: `t.test()`, `chisq.test()`, `fisher.test()`, `kruskal.test()` and `wilcox.test()`."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import partial
from typing import Any

from .companion import Help
from .crossed import OpenQuestionError
from .found import Facts, LineError
from .pieces import NUMBER, P_VALUE, READERS, Piece, TextReader
from .printed_groups import PrintedTest

_DATA = re.compile(r"data:\s+(\S.*)")
_RESULT = re.compile(
    rf"(?:(?P<what>[\w-]+(?: chi-squared)?) = (?P<statistic>{NUMBER}), (?:df = (?P<dof>{NUMBER}), )?)?p-value (?:= )?(?P<p>{P_VALUE})"
)
_INTERVAL = re.compile(
    rf"(?P<level>[\d.]+) percent confidence interval:\s+(?P<low>{NUMBER}|-Inf)\s+(?P<high>{NUMBER}|Inf)"
)
_ALTERNATIVE = re.compile(r"alternative hypothesis: .*\b(less than|greater than|not equal to)\b")
_TWO = re.compile(
    r"(?:table|xtabs)\(~?\s*([\w.$]+)\s*[,+]\s*([\w.$]+)(?:\s*,.*)?\)|([\w.$]+) and ([\w.$]+)"
)
_SIDES = {"less than": "less", "greater than": "greater", "not equal to": "two-sided"}


def read_r_tests(lines: Sequence[str]) -> list[Piece]:
    """Return a piece for each test in some lines: from its title to the end of its block."""
    pieces = []
    for at, line in enumerate(lines):
        if not _DATA.fullmatch(line.rstrip()):
            continue
        title = next((k for k in range(at - 1, -1, -1) if lines[k].strip()), at)
        end = at + 1
        while end < len(lines) and lines[end].strip() and not _DATA.fullmatch(lines[end].rstrip()):
            end += 1
        body = list(lines[at:end])
        pieces.append(
            Piece(
                range(title + 1, end + 1), "R", partial(_facts, lines[title].strip(), body, at + 1)
            )
        )
    return pieces


def _facts(title: str, body: Sequence[str], first: int, given: Help) -> Facts:
    match = _DATA.fullmatch(body[0].rstrip())
    data = match[1] if match else ""
    text = "\n".join(body)
    if len(body) < 2:
        raise LineError(first, "the test ends before its result: the file is cut.")
    result = _RESULT.search(text)
    if result is None:
        raise LineError(first + 1, "a test must have its statistic and a p-value in this line.")
    for words, read in _KINDS.items():
        if words in title:
            return read(title, text, data, result, given)
    raise OpenQuestionError(
        f"R: {title}.", "Tests of this kind are not read: describe it in a file of outputs.", {}
    )


def _column(text: str) -> str:
    return text.split("$")[-1]


def _pair(data: str, given: Help) -> tuple[str, ...]:
    """The two columns of a test on a table."""
    match = _TWO.fullmatch(data)
    return tuple(given.by or ([_column(part) for part in match.groups() if part] if match else []))


def _by(data: str, given: Help) -> tuple[str | None, tuple[str, ...]]:
    """The number and the groups of a test by groups."""
    match = re.fullmatch(r"([\w.$]+) by ([\w.$]+)", data)
    of = given.of or (_column(match[1]) if match else None)
    return of, tuple(given.by or ([_column(match[2])] if match else []))


def _sided(text: str) -> dict[str, str]:
    match = _ALTERNATIVE.search(text)
    side = _SIDES[match[1]] if match else "two-sided"
    return {} if side == "two-sided" else {"alternative": side}


def _numbers(result: re.Match[str], *, dof: bool = True) -> dict[str, Any]:
    """The statistic, its degrees of freedom and the p-value, as printed."""
    p = result["p"].replace(" ", "")
    numbers: dict[str, Any] = {"statistic": result["statistic"]} if result["statistic"] else {}
    if dof and result["dof"]:
        numbers["dof"] = result["dof"] if "." in result["dof"] else int(result["dof"])
    return numbers | {"p_value": p}


def _chi_square(
    title: str, text: str, data: str, result: re.Match[str], given: Help
) -> PrintedTest:
    if "given probabilities" in title:
        raise OpenQuestionError(
            f"R: {title}.", "Tests of this kind are not read: describe it in a file of outputs.", {}
        )
    correction = {"correction": True} if "Yates" in title else {}
    return PrintedTest(
        "chi-square",
        title,
        _numbers(result) | correction,
        _pair(data, given),
        n=given.n,
        where=given.where,
    )


def _fisher(title: str, text: str, data: str, result: re.Match[str], given: Help) -> PrintedTest:
    ratio = re.search(rf"odds ratio\s+({NUMBER})\s*$", text)
    numbers = (
        _numbers(result)
        | ({"conditional": True, "odds_ratio": _vouched(ratio[1])} if ratio else {})
        | _sided(text)
    )
    return PrintedTest("fisher", title, numbers, _pair(data, given), n=given.n, where=given.where)


def _vouched(ratio: str) -> str:
    """An odds ratio with the digits that R vouches for: it searches for it (or its inverse, above 1) with a tolerance of 1.2e-4.

    Examples
    --------
    >>> _vouched("1.016303"), _vouched("25.53"), _vouched("0.325")
    ('1.016', '26', '0.325')
    """
    value = float(ratio)
    decimals = max(0, math.floor(-math.log10(2.5e-4 * max(1.0, value**2))))
    return ratio if len(ratio.partition(".")[2]) <= decimals else f"{value:.{decimals}f}"


def _t_test(title: str, text: str, data: str, result: re.Match[str], given: Help) -> PrintedTest:
    of, by = _by(data, given)
    numbers: dict[str, Any] = _numbers(result) | _sided(text)
    if "Two Sample" not in title:
        why = "it is of one sample or paired: describe it in a file of outputs"
        return PrintedTest(
            "t-test", title, numbers, by, of, n=given.n, where=given.where, unsaid=why
        )
    numbers["welch"] = "Welch" in title
    if (interval := _INTERVAL.search(text)) and "alternative" not in numbers:
        numbers |= {
            "low": interval["low"],
            "high": interval["high"],
            "level": float(interval["level"]) / 100,
        }
    if means := re.search(rf"mean in group .*\s+({NUMBER})\s+({NUMBER})\s*$", text):
        numbers["means"] = [means[1], means[2]]
    return PrintedTest("t-test", title, numbers, by, of, n=given.n, where=given.where)


def _kruskal(title: str, text: str, data: str, result: re.Match[str], given: Help) -> PrintedTest:
    of, by = _by(data, given)
    return PrintedTest(
        "kruskal-wallis", title, _numbers(result), by, of, n=given.n, where=given.where
    )


def _wilcoxon(title: str, text: str, data: str, result: re.Match[str], given: Help) -> PrintedTest:
    of, by = _by(data, given)
    numbers = _numbers(result) | {"correction": "continuity correction" in title} | _sided(text)
    if "exact" in title:
        numbers.pop("p_value")
    unsaid = (
        ""
        if "rank sum" in title
        else "it is of one sample or paired: describe it in a file of outputs"
    )
    return PrintedTest(
        "mann-whitney", title, numbers, by, of, n=given.n, where=given.where, unsaid=unsaid
    )


_KINDS = {
    "Chi-squared test": _chi_square,
    "Fisher's Exact Test": _fisher,
    "t-test": _t_test,
    "Kruskal-Wallis": _kruskal,
    "Wilcoxon": _wilcoxon,
}
"""What the title of a test has in it, and how it is read."""

READERS.register(
    TextReader(
        "r tests",
        "t.test(), chisq.test(), fisher.test(), kruskal.test() and wilcox.test() in R",
        read_r_tests,
    )
)
