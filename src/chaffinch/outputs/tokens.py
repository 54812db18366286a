"""Filters and formulas cut into words, numbers, names and signs. Nothing here or after it is ever evaluated as Python."""

from __future__ import annotations

import re
from typing import NamedTuple

from .._base.errors import InputError

__all__ = ["Reader", "Token"]

LONGEST = 20_000
DEEPEST = 40

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
      | (?P<name>[^\W\d]\w*)
      | `(?P<quoted>[^`]+)`
      | (?P<word>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
      | (?P<sign>\*\*|==|!=|<=|>=|[-+*/:~<>()\[\],=.])
    )""",
    re.VERBOSE,
)


class Token(NamedTuple):
    """A piece of text: its kind (number, name, word, sign, end), what it says, as it was written, and where it begins, from 1."""

    kind: str
    value: str
    text: str
    position: int = 0

    @property
    def safe_text(self) -> str:
        """The piece as messages may have it: words, names and numbers may be levels of a few records, so their place stands for them."""
        if self.kind in ("sign", "end"):
            return self.text
        what = {"word": "a word in quotes", "name": "a name", "number": "a number"}[self.kind]
        return f"{what} (position {self.position})"


class Reader:
    """The tokens of a text, read from left to right.

    Examples
    --------
    >>> reader = Reader("AGE >= 16", what="A filter")
    >>> [reader.take().value for _ in range(3)]
    ['AGE', '>=', '16']
    """

    def __init__(self, text: str, *, what: str) -> None:
        if len(text) > LONGEST:
            raise InputError(f"{what} must have at most {LONGEST} characters. Got {len(text)}.")
        self.what = what
        self._tokens: list[Token] = []
        self._at = 0
        self._depth = 0
        place = 0
        while text[place:].strip():
            found = _TOKEN.match(text, place)
            if found is None:
                place = len(text) - len(text[place:].lstrip())
                raise InputError(f"{what} has a sign at position {place + 1} that it may not have: {text[place]!r}.")
            kind = found.lastgroup or "sign"
            begin = found.end() - len(found[0].lstrip()) + 1
            value = found[kind]
            if kind == "word":
                value = re.sub(r"\\(.)", r"\1", value[1:-1])
            self._tokens.append(Token("name" if kind == "quoted" else kind, value, found[0].strip(), begin))
            place = found.end()
        self._tokens.append(Token("end", "", "the end"))

    @property
    def next(self) -> Token:
        """The token that comes next."""
        return self._tokens[self._at]

    @property
    def place(self) -> int:
        """How many tokens were taken."""
        return self._at

    def since(self, place: int) -> list[Token]:
        """The tokens taken from a place on."""
        return self._tokens[place : self._at]

    def take(self) -> Token:
        """Return the next token and go on."""
        token = self._tokens[self._at]
        self._at = min(self._at + 1, len(self._tokens) - 1)
        return token

    def ahead(self, value: str) -> bool:
        """Whether the next token is this sign or name, not in quotes."""
        return self.next.kind in ("sign", "name") and self.next.value == value

    def accept(self, *values: str) -> str | None:
        """Return the next token and go on if it is one of these signs or names; None otherwise."""
        return self.take().value if self.next.kind in ("sign", "name") and self.next.value in values else None

    def expect(self, value: str) -> None:
        """Go past a sign, or say that it is missing."""
        if not self.accept(value):
            raise InputError(f"{self.what} must have '{value}' before {self.next.safe_text}.")

    def deeper(self) -> None:
        """Count one more open bracket."""
        self._depth += 1
        if self._depth > DEEPEST:
            raise InputError(f"{self.what} may nest at most {DEEPEST} brackets deep.")

    def shallower(self) -> None:
        """Count one less open bracket."""
        self._depth -= 1

    def finish(self) -> None:
        """Raise if something is left."""
        if self.next.kind != "end":
            raise InputError(f"{self.what} goes on with {self.next.safe_text} where it should end.")
