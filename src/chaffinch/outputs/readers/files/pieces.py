"""Pieces of a file that readers claim, each with its lines and a way to its facts; the registry of readers of text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...._base.registry import Registry
from .companion import Help
from .found import Facts, LineError

NUMBER = r"[-+\u2212]?(?:\d[\d.,]*|[.,]\d+)(?:[eE][-+]?\d+)?"
P_VALUE = rf"[<>]?\s?{NUMBER}"


@dataclass(frozen=True)
class Piece:
    """Lines of a file, numbered from 1, that one output stands in; `facts` reads them with what outputs.toml says of it."""

    lines: range
    program: str
    facts: Callable[[Help], Facts] = field(repr=False)

    @property
    def line(self) -> int:
        """The first line."""
        return self.lines[0]


def refused_piece(lines: range, program: str, error: LineError) -> Piece:
    """Return lines that cannot be read: whoever asks for what they say is told why."""

    def facts(given: Help) -> Facts:
        raise error

    return Piece(lines, program, facts)


@dataclass(frozen=True)
class TextReader:
    """A reader of text: finds the pieces that it knows. Lines that no reader claims, and that hold numbers, are said to be not understood."""

    name: str
    sentence: str
    pieces: Callable[[Sequence[str]], list[Piece]]


READERS: Registry[TextReader] = Registry("reader")
"""All readers of text, in the order in which they are asked."""


def fit_keys(given: Help) -> dict[str, Any]:
    """Return what a line of help says of a model, by the names of its facts."""
    keys: dict[str, Any] = {
        key: getattr(given, key) for key in ("kind", "formula", "n", "where", "success")
    }
    if given.formula is not None and "~" in given.formula:
        keys["label"] = given.formula.split("~")[0].strip()
    keys["exponentiated"] = given.exponentiated
    return {key: value for key, value in keys.items() if value is not None} | (
        {"columns": given.columns} if given.columns else {}
    )


def whole(text: str) -> int:
    """Return a count as programs print it; ValueError where it is none.

    Examples
    --------
    >>> [whole(text) for text in ("1,473", "1473", "1.473", "1473.0")]
    [1473, 1473, 1473, 1473]
    """
    plain = text.strip()
    if re.fullmatch(r"\d{1,3}([,. ]\d{3})+", plain):
        return int(re.sub(r"\D", "", plain))
    if not re.fullmatch(r"\d+(\.0*)?", plain):
        raise ValueError("this is no count")
    return int(float(plain))


LEGEND = re.compile(r"[*+†‡.' ]*+p ?< ?0?[.,]\d++([;,][*+†‡.' ]*+p ?< ?0?[.,]\d++)*+")
"""What stars stand for, below a table."""


def is_remark(text: str) -> bool:
    """Return whether a line beside a table says something in numbers: not what stars stand for, a year, or the number of a table.

    Examples
    --------
    >>> [is_remark(text) for text in ("Table 3: work in 2019", "* p<0.05, ** p<0.01", "3 people of Skye left out")]
    [False, False, True]
    """
    plain = re.sub(
        r"^(table|tabelle|tableau|tabla|figure|abbildung)\s*[\d.]+",
        "",
        text.strip(),
        flags=re.IGNORECASE,
    )
    plain = re.sub(r"\b(19|20)\d\d\b", "", plain)
    return bool(re.search(r"\d", plain)) and not LEGEND.fullmatch(plain.strip())
