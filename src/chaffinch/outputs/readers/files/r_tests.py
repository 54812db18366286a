"""Tests as R prints them: `t.test()`, `chisq.test()` and others of the same form."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

from ...kinds import KINDS
from .companion import Help
from .crossed import OpenQuestionError
from .found import Facts, LineError
from .pieces import NUMBER, P_VALUE, READERS, Piece, TextReader
from .printed_groups import PrintedTest

__all__ = ["read_r_tests"]

_DATA = re.compile(r"data:\s+(\S.*)")
_CHI = re.compile(rf"X-squared = (?P<statistic>{NUMBER}), df = (?P<dof>\d+), p-value (?:= )?(?P<p>{P_VALUE})")
_T = re.compile(rf"t = (?P<statistic>{NUMBER}), df = (?P<dof>{NUMBER}), p-value (?:= )?(?P<p>{P_VALUE})")


def read_r_tests(lines: Sequence[str]) -> list[Piece]:
    """Return a piece for each test in some lines: from its title to the end of its block."""
    pieces = []
    for at, line in enumerate(lines):
        if not _DATA.fullmatch(line.rstrip()):
            continue
        title = next((k for k in range(at - 1, -1, -1) if lines[k].strip()), at)
        end = at + 1
        while end < len(lines) and lines[end].strip():
            end += 1
        body = list(lines[at:end])
        pieces.append(Piece(range(title + 1, end + 1), "R", partial(_facts, lines[title].strip(), body, at + 1)))
    return pieces


def _facts(title: str, body: Sequence[str], first: int, given: Help) -> Facts:
    match = _DATA.fullmatch(body[0].rstrip())
    data = match[1] if match else ""
    text = "\n".join(body)
    if len(body) < 2:
        raise LineError(first, "the test ends before its result: the file is cut.")
    if "Chi-squared test" in title and "given probabilities" not in title:
        return _chi_square(title, text, data, first, given)
    if "t-test" in title:
        return _t_test(title, text, data, first, given)
    raise OpenQuestionError(f"R: {title}.", "Tests of this kind are not read: describe it in a file of outputs.", {})


def _p(text: str) -> str:
    return text.replace(" ", "")


def _chi_square(title: str, text: str, data: str, first: int, given: Help) -> Facts:
    match = _CHI.search(text)
    if match is None:
        raise LineError(first + 1, "a chi-square test must have X-squared, df and a p-value in this line.")
    words = re.fullmatch(r"([\w.$]+) and ([\w.$]+)", data) or re.fullmatch(
        r"(?:table|xtabs)\(~?\s*([\w.$]+)\s*[,+]\s*([\w.$]+)(?:\s*,.*)?\)", data
    )
    by = tuple(given.by or ([part.split("$")[-1] for part in words.groups()] if words else []))
    numbers: dict[str, Any] = {"statistic": match["statistic"], "dof": int(match["dof"]), "p_value": _p(match["p"])}
    yates = "it has Yates' correction" if "Yates" in title else ""
    return PrintedTest("chi-square", title, numbers, by, n=given.n, where=given.where, incomparable=yates)


def _t_test(title: str, text: str, data: str, first: int, given: Help) -> Facts:
    match = _T.search(text)
    if match is None:
        raise LineError(first + 1, "a t test must have t, df and a p-value in this line.")
    if "t-test" not in KINDS:
        raise OpenQuestionError(f"R: {title}.", "Tests of this kind are not known: give it as a file of outputs.", {})
    words = re.fullmatch(r"([\w.$]+) by ([\w.$]+)", data)
    by = tuple(given.by or ([words[2].split("$")[-1]] if words else []))
    of = given.of or (words[1].split("$")[-1] if words else None)
    numbers = {"statistic": match["statistic"], "p_value": _p(match["p"])}
    return PrintedTest("t-test", title, numbers, by, of=of, n=given.n, where=given.where, incomparable="")


READERS.register(TextReader("r tests", "t.test() and chisq.test() in R", read_r_tests))
