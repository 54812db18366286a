"""Formulas and filters cut into words, numbers, names and signs. Nothing here or after it is ever evaluated as Python."""

from __future__ import annotations

import re
from typing import ClassVar, NamedTuple

from .errors import InputError

_PATTERN = re.compile(
    r"""\s*(?:
        (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
      | (?P<name>[^\W\d]\w*)
      | (?P<quoted>`[^`]+`)
      | (?P<word>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
      | (?P<sign>\*\*|==|!=|<=|>=|[-+*/^:~<>()\[\],=.])
      | (?P<bad>\S)
    )""",
    re.VERBOSE,
)


class Token(NamedTuple):
    """A piece of text: its kind (number, name, word, sign, bad, end), what it says, as it was written, and where it begins, from 1."""

    kind: str
    value: str
    text: str
    position: int

    @property
    def quoted(self) -> bool:
        """Whether it is a name in backquotes."""
        return self.text.startswith("`")

    @property
    def safe_text(self) -> str:
        """The piece as messages may have it: words, names and numbers may be levels of a few records, so their place stands for them."""
        if self.kind in ("sign", "end"):
            return self.text
        what = {"word": "a word in quotes", "name": "a name", "number": "a number"}[self.kind]
        return f"{what} (position {self.position})"


def cut(text: str, pattern: re.Pattern[str] = _PATTERN) -> list[Token]:
    """Return the tokens of a text, and one for its end; signs that the pattern does not have are `bad`."""
    text = text.rstrip()
    tokens, position = list[Token](), 0
    while position < len(text):
        match = pattern.match(text, position)
        assert match is not None
        kind = match.lastgroup or "bad"
        value = written = match[kind]
        if kind == "quoted":
            kind, value = "name", written[1:-1].replace("``", "`")
        elif kind == "word":
            value = re.sub(r"\\(.)", r"\1", written[1:-1])
        tokens.append(Token(kind, value, written, match.end() - len(written) + 1))
        position = match.end()
    return [*tokens, Token("end", "", "the end", len(text) + 1)]


class Reader:
    """The tokens of a text, read from left to right.

    Examples
    --------
    >>> reader = Reader("AGE >= 16", what="A filter")
    >>> [reader.take().value for _ in range(3)]
    ['AGE', '>=', '16']
    """

    pattern: ClassVar[re.Pattern[str]] = _PATTERN
    longest: ClassVar[int] = 20_000
    deepest: ClassVar[int] = 40

    def __init__(self, text: str, *, what: str) -> None:
        self.what = what
        self.depth = 0
        self.place = 0
        if len(text) > self.longest:
            raise self.too_long(text)
        self._tokens = cut(text, self.pattern)
        if unknown := next((token for token in self._tokens if token.kind == "bad"), None):
            raise self.unknown_sign(unknown)

    def too_long(self, text: str) -> InputError:
        """Return the error for a text that is too long."""
        return InputError(
            f"{self.what} must have at most {self.longest} characters. Got {len(text)}."
        )

    def unknown_sign(self, token: Token) -> InputError:
        """Return the error for a sign that the language does not have."""
        return InputError(
            f"{self.what} has a sign at position {token.position} that it may not have: {token.text!r}."
        )

    def too_deep(self) -> InputError:
        """Return the error for too many open brackets."""
        return InputError(f"{self.what} may nest at most {self.deepest} brackets deep.")

    @property
    def next(self) -> Token:
        """The token that comes next."""
        return self._tokens[self.place]

    def since(self, start: int) -> list[Token]:
        """The tokens taken from a place on."""
        return self._tokens[start : self.place]

    def take(self) -> Token:
        """Return the next token and go on."""
        token = self.next
        self.place = min(self.place + 1, len(self._tokens) - 1)
        return token

    def ahead(self, *values: str) -> bool:
        """Whether the next token is one of these signs or names, not in quotes."""
        return (
            self.next.kind in ("sign", "name")
            and self.next.value in values
            and not self.next.quoted
        )

    def accept(self, *values: str) -> str:
        """Return the next token and go on if it is one of these signs or names; nothing otherwise."""
        return self.take().value if self.ahead(*values) else ""

    def expect(self, value: str) -> None:
        """Go past a sign, or say that it is missing."""
        if not self.accept(value):
            raise InputError(f"{self.what} must have '{value}' before {self.next.safe_text}.")

    def deeper(self) -> None:
        """Count one more open bracket."""
        self.depth += 1
        if self.depth > self.deepest:
            raise self.too_deep()

    def shallower(self) -> None:
        """Count one less open bracket."""
        self.depth -= 1

    def finish(self) -> None:
        """Raise if something is left."""
        if self.next.kind != "end":
            raise InputError(f"{self.what} goes on with {self.next.safe_text} where it should end.")
