"""Numbers as programs print them: stars, brackets, thousands, the decimal sign, marks of withheld cells, counts, and remarks in numbers beside a table."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from typing import NamedTuple, Self

from ...numbers import SUPPRESSED

MAX_NUMBER = 80
"""Characters of a cell up to which it may be a number."""

NUMBER = r"[-+\u2212]?(?:\d[\d.,]*|[.,]\d+)(?:[eE][-+]?\d+)?"
P_VALUE = rf"[<>]?\s?{NUMBER}"


LEGEND = re.compile(r"[*+†‡.' ]*+p ?< ?0?[.,]\d++([;,][*+†‡.' ]*+p ?< ?0?[.,]\d++)*+")
"""What stars stand for, below a table."""
# Nothing is tried twice (+ after each count): a row of stars or blanks takes no longer than it is long.
_DECORATED = re.compile(
    r"[(\[]?+\s*+(?P<number>[-+]?+(?:\d[\d.,' ]*+|[.,]\d++)(?:[eE][-+]?+\d++)?+)\s*+\*{0,4}+[)\]]?+[\s*.+†‡^]*+%?+"
)
_PLAIN = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")
_BAND = re.compile(r"(?:<=?|>=?)\s*\d+|\d+\s*(?:-|to)\s*\d+")
_THREES = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+")
_POINT_THREES = re.compile(r"[-+]?\d{1,3}(?:\.\d{3})+")


class Position(NamedTuple):
    """Where a number stands in its file: the line (the row of a sheet), and in it the column of a sheet or the character, from 1."""

    line: int
    column: int


class PrintedText(str):
    """Text of a file with where it stands. What is read from it keeps that: a number as printed, or a count (`PrintedCount`)."""

    position: Position

    def __new__(cls, text: str, line: int = 0, column: int = 0) -> Self:
        printed = super().__new__(cls, text)
        printed.position = Position(line, column)
        return printed

    @property
    def end(self) -> int:
        """After how many characters of its line it ends."""
        return self.position.column - 1 + len(self)


class PrintedCount(int):
    """A whole number with where it stood."""

    position: Position


def position_of(number: object) -> Position | None:
    """Return where a number of a parsed output, or of its entry, stood in the file; None for one that did not stand there as such.

    Examples
    --------
    >>> position_of(parse_count(PrintedText("1,473", 4, 12))), position_of(1473)
    (Position(line=4, column=12), None)
    """
    return getattr(number, "position", None)


def same_position(text: str, number: str) -> str:
    """Return a number as it was read from a text, at its position if it has one."""
    position = position_of(text)
    return number if position is None else PrintedText(number, *position)


def words_in(text: str, line: int) -> list[PrintedText]:
    """Return the words of a line of text.

    Examples
    --------
    >>> [(word, word.position.column) for word in words_in("age  0.12", 3)]
    [('age', 1), ('0.12', 6)]
    """
    matches = re.finditer(r"\S+", text)
    return [PrintedText(word.group(), line, word.start() + 1) for word in matches]


_TOKEN = re.compile(rf"<\s{NUMBER}|\S+")
_CELL = re.compile(rf"{P_VALUE}|NA|NaN|nan|-?[Ii]nf")
_STARS = re.compile(r"\s(\*{1,3}|\.)?\s*$")


def line_where(
    lines: Sequence[str], start: int, test: Callable[[str], object], stop: int | None = None
) -> int:
    """Return the first line from `start` on of which something holds; `stop`, or how many there are, where it holds of none.

    Examples
    --------
    >>> line_where(["a", "b", ""], 0, lambda line: not line), line_where(["a", "b"], 0, lambda line: not line)
    (2, 2)
    """
    end = len(lines) if stop is None else stop
    return next((k for k in range(start, end) if test(lines[k])), end)


def named_cells(line: str, number: int, n_cells: int) -> tuple[str, list[PrintedText]]:
    """Return what stands at the beginning of a line, and the numbers at its end, at most so many; stars are left out.

    Examples
    --------
    >>> named_cells("factor(area) 2   0.31  0.04 < 2e-16 ***", 5, 3)
    ('factor(area) 2', ['0.31', '0.04', '< 2e-16'])
    """
    text = _STARS.sub("", f"{line.rstrip()} ")
    tokens = [
        PrintedText(match.group(), number, match.start() + 1) for match in _TOKEN.finditer(text)
    ]
    cells = [*takewhile(_CELL.fullmatch, reversed(tokens))][:n_cells][::-1]
    end = cells[0].position.column - 1 if cells else len(text)
    return text[:end].strip(), cells


def labels_over(head: str, numbers: Sequence[PrintedText], start: int = 0) -> list[str] | None:
    """Return the labels in the line over some numbers, from a character on, each up to the end of its number; None where they do not fit.

    Examples
    --------
    >>> labels_over("(Intercept)   age", words_in("     -2.931  0.15", 2))
    ['(Intercept)', 'age']
    """
    ends = [number.end for number in numbers]
    labels = [head[low:high].strip() for low, high in pairwise([start, *ends])]
    return labels if ends and all(labels) and len(head.rstrip()) <= ends[-1] else None


def group_of(match: re.Match[str], group: int | str, first: int) -> PrintedText:
    """Return a group of a match in lines that are joined, the first of which has this number."""
    start = match.start(group)
    before = match.string[:start]
    line = first + before.count("\n")
    return PrintedText(match[group], line, start - before.rfind("\n"))


@dataclass(frozen=True)
class DecimalSign:
    """How the numbers of a file are written: `sign` is "." or ","; None where both readings are possible, `line` is then the first such line.

    `mixed` has the lines of two numbers that cannot both be written the same way.
    """

    sign: str | None
    line: int | None = None
    mixed: tuple[int, int] | None = None


def parse_count(text: str) -> int:
    """Return a count as programs print it; ValueError where it is none.

    Examples
    --------
    >>> [parse_count(text) for text in ("1,473", "1473", "1.473", "1473.0")]
    [1473, 1473, 1473, 1473]
    """
    plain = text.strip()
    if re.fullmatch(r"\d{1,3}([,. ]\d{3})+", plain):
        plain = re.sub(r"\D", "", plain)
    if not re.fullmatch(r"\+?\d+(\.0*)?", plain):
        raise ValueError("this is no count")
    position = position_of(text)
    if position is None:
        return int(float(plain))
    count = PrintedCount(float(plain))
    count.position = position
    return count


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


def plain_text(text: str) -> str:
    """Return a cell without signs of other alphabets: true minus, hard spaces."""
    return text.replace("\u2212", "-").replace("\u00a0", " ").replace("\u202f", " ").strip()


def _core(text: str) -> str | None:
    """The digits and signs of a number, without stars and brackets; None where it is no number."""
    if len(text) > MAX_NUMBER:
        return None
    match = _DECORATED.fullmatch(plain_text(text))
    return None if match is None else match["number"].strip().replace(" ", "").replace("'", "")


def sign_of(cells: Iterable[str]) -> DecimalSign:
    """Return the decimal sign of cells, by what their digits allow.

    Examples
    --------
    >>> sign_of(["0,25", "12,5 *"]).sign, sign_of(["1,234.5"]).sign, sign_of([PrintedText("1,234", 3, 1), "17"])
    (',', '.', DecimalSign(sign=None, line=3, mixed=None))
    """
    lines: dict[str, int] = {}
    for text in cells:
        core = _core(text)
        sign = None if core is None else _decimal_sign_of(core)
        if sign is not None:
            lines.setdefault(sign, (position_of(text) or Position(1, 1)).line)
    if "." in lines and "," in lines:
        return DecimalSign(None, mixed=(lines["."], lines[","]))
    known = next((sign for sign in ".," if sign in lines), None)
    return DecimalSign(known, line=None if known else lines.get("?")) if lines else DecimalSign(".")


def _decimal_sign_of(core: str) -> str | None:
    """The decimal sign of a number; "?" for a comma that may stand for thousands, None where there is none, or a point that may.

    1.234 is a number of three decimals unless commas are the decimal sign elsewhere.
    """
    signs = [sign for sign in core if sign in ".,"]
    if len(set(signs)) != 1:
        return signs[-1] if signs else None
    sign, has_several = signs[0], len(signs) > 1
    thousands = _THREES if sign == "," else _POINT_THREES
    is_fraction = core.lstrip("+-").startswith(f"0{sign}") and (sign == "," or not has_several)
    if is_fraction or not thousands.fullmatch(core):
        return sign
    if has_several:
        return "." if sign == "," else ","
    return "?" if sign == "," else None


def number_text(text: str, sign: str = ".") -> str | None:
    """Return a number with a decimal point and without thousands, stars and brackets; None where it is none. Its digits stay as printed.

    Examples
    --------
    >>> number_text("(0.0960)**"), number_text("1.234,50", ","), number_text("< 2e-16"), number_text("total")
    ('0.0960', '1234.50', None, None)
    """
    core = _core(text)
    if core is None:
        return None
    core = core.replace(".", "").replace(",", ".") if sign == "," else core.replace(",", "")
    core = (
        f"{core[0]}0{core[1:]}"
        if re.match(r"[-+]\.", core)
        else f"0{core}"
        if core.startswith(".")
        else core
    )
    return same_position(text, core) if _PLAIN.fullmatch(core) else None


def is_number(text: str) -> bool:
    """Return whether a cell is a number, decorated or not."""
    return _core(text) is not None


def is_whole(text: str) -> bool:
    """Return whether a plain number is a whole one of at least 0, also if it was written as 12.0 or 12.000."""
    return bool(re.fullmatch(r"\+?\d+(\.0*)?", text))


def is_withheld_mark(text: str) -> bool:
    """Return whether a cell stands for a count that is withheld: a mark, or a band such as <10."""
    text = plain_text(text)
    return bool(_BAND.fullmatch(text)) or (text != "" and text.lower() in SUPPRESSED)
