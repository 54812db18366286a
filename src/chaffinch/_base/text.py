"""Numbers, names and tables as people read them: on a page, in a terminal, in a sentence."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from string import ascii_uppercase
from typing import Any

NONE = "–"
MAX_LENGTH = 60
HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
JOINERS = "\u200c\u200d"  # scripts need them, and they turn nothing


def is_number(value: Any) -> bool:
    """Return whether a value from a file is a number that can be shown or drawn: no NaN, no infinity, no truth value.

    Examples
    --------
    >>> is_number(1), is_number(None), is_number(True), is_number(float("nan"))
    (True, False, False, False)
    """
    return (
        isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float("inf")
    )


def number(value: Any) -> str:
    """Return a number with three significant digits, without an exponent down to a millionth.

    Examples
    --------
    >>> number(0.01234), number(-2), number(32561.0), number(0.00003214), number(None), number(float("nan"))
    ('0.0123', '−2', '32,561', '0.0000321', '–', '–')
    """
    if not is_number(value):
        return NONE if value is None or isinstance(value, float) else str(value)
    size = abs(value)
    if size >= 1000:
        text = f"{size:,.0f}"
    elif size == 0 or size >= 1e-4:
        text = f"{size:.3g}"
    elif size >= 1e-6:
        text = f"{float(f'{size:.3g}'):.9f}".rstrip("0")
    else:
        text = f"{size:.2g}"
    return ("−" if value < 0 else "") + text


def format_fixed(value: Any, digits: int = 3) -> str:
    """Return a number with the same decimals as its neighbours in a column.

    Examples
    --------
    >>> format_fixed(0.5), format_fixed(-0.0312, 2), format_fixed(None)
    ('0.500', '−0.03', '–')
    """
    if not is_number(value):
        return number(value)
    text = f"{abs(value):.{digits}f}"
    return ("−" if value < 0 and float(text) else "") + text


def format_signed(value: Any, digits: int = 3) -> str:
    """Return a number with its sign, also a plus.

    Examples
    --------
    >>> format_signed(0.25), format_signed(-0.25), format_signed(0.0)
    ('+0.250', '−0.250', '0.000')
    """
    text = format_fixed(value, digits)
    return "+" + text if is_number(value) and value > 0 and float(text) else text


def percent(value: Any) -> str:
    """Return a share in per cent, on one line.

    Examples
    --------
    >>> [percent(share).replace("\\xa0", " ") for share in (0.0314, 0.5, 0.00004, 0, 1, 0.9998, -0.02)]
    ['3.1 %', '50 %', 'less than 0.1 %', '0 %', '100 %', 'more than 99.9 %', '−2 %']
    """
    if not is_number(value):
        return number(value)
    if 0 < value < 0.001:
        return "less than 0.1\xa0%"
    if 0.999 < value < 1 and f"{100 * value:.1f}" == "100.0":
        return "more than 99.9\xa0%"
    text = f"{abs(100 * value):.1f}".removesuffix(".0")
    return ("−" if value < 0 and text != "0" else "") + f"{text}\xa0%"


def between(interval: Any) -> str:
    """Return an interval in words.

    Examples
    --------
    >>> between([0.01, 0.02]), between(None)
    ('0.01 to 0.02', '–')
    """
    if (
        not isinstance(interval, list | tuple)
        or len(interval) != 2
        or not all(map(is_number, interval))
    ):
        return NONE
    return f"{number(interval[0])} to {number(interval[1])}"


def detectable_words(value: Any) -> str:
    """Return the smallest excess of a rate that is found four times out of five: in words where no excess is large enough, since rates differ by 1 at most.

    Examples
    --------
    >>> detectable_words(0.0123), detectable_words(1.5), detectable_words(float("inf")), detectable_words(None)
    ('0.0123', 'none of any size', 'none of any size', 'not known')
    """
    if value is None or value != value:
        return "not known"
    return "none of any size" if value > 1 else number(value)


def count_noun(n: Any, noun: str, nouns: str = "") -> str:
    """Return a number of things with its noun, singular or plural; `nouns` where an s does not make it. A masked number is plural.

    Examples
    --------
    >>> count_noun(1, "row"), count_noun(0, "row"), count_noun(1629, "row"), count_noun(2, "person", "people"), count_noun("<10", "row")
    ('1 row', '0 rows', '1,629 rows', '2 people', '<10 rows')
    """
    shown_number = f"{n:,}" if isinstance(n, int) else number(n)
    return f"{shown_number} {noun if shown_number == '1' else nouns or f'{noun}s'}"


def capital(phrase: str) -> str:
    """Return a phrase as it begins a sentence: the first letter large, the others as they are.

    Examples
    --------
    >>> capital("no excess of R² found"), capital("")
    ('No excess of R² found', '')
    """
    return phrase[:1].upper() + phrase[1:]


def display_name(name: Any, max_length: int = MAX_LENGTH) -> str:
    """Return a name that fits: long ones cut in the middle, control characters made visible, its direction kept to itself.

    Names come from strangers' files. A character that turns the direction of writing would otherwise turn the words around it.

    Examples
    --------
    >>> display_name("a" * 100, max_length=7)
    'aaaa…aa'
    >>> display_name("line\\nbreak")
    'line�break'
    """
    return NONE if name is None else _display_text(str(name), max_length)


@lru_cache(maxsize=20_000)
def _display_text(text: str, max_length: int) -> str:
    if len(text) > max_length:
        tail = (max_length - 1) // 3
        text = text[: max_length - 1 - tail] + "…" + text[len(text) - tail :]
    text = "".join(
        "�" if unicodedata.category(c) in HIDDEN and c not in JOINERS else c for c in text
    )
    if any(unicodedata.bidirectional(c) in ("R", "AL", "AN") for c in text):
        return f"\u2068{text}\u2069"
    return text


@lru_cache(maxsize=20_000)
def width_of(text: str, size: float) -> float:
    """Return about how wide a text is in a sans-serif of a size: wide characters count double, marks not at all."""
    narrow = "iljtfrI.,:;|!'()[] "
    total = 0.0
    for c in text:
        if unicodedata.combining(c) or c in "\u2068\u2069":
            continue
        wide = unicodedata.east_asian_width(c) in ("W", "F")
        total += (
            1.05
            if wide
            else 0.39
            if c in narrow
            else 0.98
            if c in "mwMW@%<>=+~#&"
            else 0.74
            if c.isupper()
            else 0.63
        )
    return total * size


def size_words(n_bytes: int) -> str:
    """Return bytes in words.

    Examples
    --------
    >>> size_words(6_335_076_762), size_words(300 << 20), size_words(4000)
    ('5.9 GiB', '300 MiB', '4 KiB')
    """
    if n_bytes >= 1 << 30:
        return f"{n_bytes / (1 << 30):.1f} GiB"
    return (
        f"{n_bytes / (1 << 20):.0f} MiB" if n_bytes >= 1 << 20 else f"{n_bytes / (1 << 10):.0f} KiB"
    )


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table with aligned columns, as wide as its longest words.

    Examples
    --------
    >>> print(text_table(["name", "value"], [["mu", "0.1"], ["delta", "0.25"]]))
    name   value
    mu     0.1
    delta  0.25
    """
    lines = [list(head), *map(list, rows)]
    widths = [max(len(line[j]) for line in lines) for j in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def letter(index: int) -> str:
    """Return the letters that name one of several things, as columns of a spreadsheet are named.

    Examples
    --------
    >>> letter(0), letter(25), letter(26)
    ('A', 'Z', 'AA')
    """
    first, last = divmod(index, len(ascii_uppercase))
    return (letter(first - 1) if first else "") + ascii_uppercase[last]
