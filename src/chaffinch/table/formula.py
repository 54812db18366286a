"""Regression formulas in Wilkinson's notation: read by a small grammar of their own, and laid out for a table.

    formula  =  factor "~" sum
    sum      =  ["+" | "-"] item { ("+" | "-") item }          item is a product, or 0 or 1 for the intercept
    product  =  interaction { "*" interaction }                a*b is a + b + a:b
    interaction = power { ":" power }
    power    =  atom [ "**" digit ]                            (a + b)**2 is a + b + a:b
    atom     =  factor | "(" sum ")"                           without 0 and 1 inside the parentheses
    factor   =  name | "C(" name ")" | "log(" name ")"         names with spaces or signs stand in backquotes

Nothing else is read, and nothing is executed. `C(x)` takes the codes of a numeric column (its atoms and bins) as levels.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, NoReturn

from .._base.errors import InputError, UnknownNameError, unknown_name
from .schema import NUMERIC_KINDS, Column, Schema

__all__ = ["ColumnFactor", "RegressionFormula", "Term", "formula_of"]

MAX_LENGTH = 10_000
MAX_DEPTH = 30
MAX_TERMS = 500
MAX_ORDER = 8

_BARE = re.compile(r"[^\W\d][\w.]*")
_TOKEN = re.compile(
    rf"\s*(?:(?P<name>{_BARE.pattern})|(?P<quoted>`(?:[^`]|``)+`)|(?P<number>[0-9]+)|(?P<sign>\*\*|[~+\-*:()])|(?P<bad>\S))"
)
_SHAPE = "Formulas read like 'y ~ a + b + a:b + a*b + C(a) + log(x)', with 0 or -1 for no intercept."


@dataclass(frozen=True, order=True)
class ColumnFactor:
    """A column in a formula, as it is or through a function: `C` makes levels of numbers, `log` is natural."""

    column: str
    function: Literal["", "C", "log"] = ""

    @property
    def label(self) -> str:
        """The factor as a reader sees it."""
        return f"{self.function}({self.column})" if self.function else self.column

    def __str__(self) -> str:
        name = self.column if _BARE.fullmatch(self.column) else "`" + self.column.replace("`", "``") + "`"
        return f"{self.function}({name})" if self.function else name


Term = tuple[ColumnFactor, ...]
"""Factors that are multiplied, in the order of the schema's columns."""


@dataclass(frozen=True)
class RegressionFormula:
    """A response, terms from low order to high, and whether there is an intercept; `str` gives it as text again."""

    response: ColumnFactor
    terms: tuple[Term, ...]
    intercept: bool = True

    @property
    def factors(self) -> tuple[ColumnFactor, ...]:
        """The distinct factors of the terms, in order of appearance."""
        return tuple(dict.fromkeys(factor for term in self.terms for factor in term))

    def __str__(self) -> str:
        head = ["0"] if not self.intercept else [] if self.terms else ["1"]
        return f"{self.response} ~ {' + '.join([*head, *(':'.join(map(str, term)) for term in self.terms)])}"


def formula_of(text: str, schema: Schema) -> RegressionFormula:
    """Return the formula that a text spells, with columns of a schema.

    Raises
    ------
    InputError
        If the text does not follow the grammar (position and rule are named), or names what the schema lacks.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from chaffinch.table import read
    >>> schema = read(pa.table({"y": [1.5, 2.5] * 9, "a": ["u", "v"] * 9, "b c": ["u", "v"] * 9})).schema
    >>> print(formula_of("y~a*`b c` - 1", schema))
    y ~ 0 + a + `b c` + a:`b c`
    """
    return _Parser(text, schema).formula()


class _Token(NamedTuple):
    kind: str
    text: str
    position: int


class _Parser:
    """Reads one formula from left to right; only parentheses recurse, and their depth is bounded."""

    def __init__(self, text: str, schema: Schema) -> None:
        if len(text) > MAX_LENGTH:
            raise InputError(f"A formula has at most {MAX_LENGTH:,} characters. Got {len(text):,}.")
        self.schema = schema
        self.order = {column.name: i for i, column in enumerate(schema)}
        self.tokens = _tokens(text)
        self.at = 0
        self.intercept = True

    @property
    def next(self) -> _Token:
        return self.tokens[self.at]

    def take(self, *texts: str) -> str:
        """Return the next sign and step past it, if it is one of these; else return nothing."""
        if self.next.kind == "sign" and self.next.text in texts:
            self.at += 1
            return self.tokens[self.at - 1].text
        return ""

    def fail(self, rule: str, token: _Token | None = None) -> NoReturn:
        token = token or self.next
        got = "the end of the formula" if token.kind == "end" else f"'{token.text[:40]}'"
        raise InputError(f"Formula, position {token.position}: {rule}. Got {got}. {_SHAPE}")

    def formula(self) -> RegressionFormula:
        response = self.factor("the response, a column name, must stand here")
        if not self.take("~"):
            self.fail("'~' must follow the response, which is one column, C(column) or log(column)")
        terms = self.sum(0)
        if self.next.kind != "end":
            self.fail("'+', '-', '*', ':', '**' or the end must follow")
        if any(factor.column == response.column for term in terms for factor in term):
            raise InputError(f"Column '{response.column}' stands on both sides of the formula. Keep it on one.")
        if not terms and not self.intercept:
            raise InputError(f"The formula leaves nothing to fit: no term and no intercept. {_SHAPE}")
        return RegressionFormula(response, tuple(sorted(terms, key=len)), self.intercept)

    def sum(self, depth: int) -> list[Term]:
        terms: list[Term] = []
        sign = self.take("+", "-") or "+"
        while sign:
            if self.next.kind == "number" and depth == 0:
                self.set_intercept(sign)
            elif sign == "+":
                terms = self.merged(terms, self.product(depth))
            else:
                gone = set(self.product(depth))
                terms = [term for term in terms if term not in gone]
            sign = self.take("+", "-")
        return terms

    def set_intercept(self, sign: str) -> None:
        if self.next.text not in ("0", "1"):
            self.fail("the only numbers in a sum are 0 and 1, for the intercept")
        self.intercept = (self.next.text == "1") == (sign == "+")
        self.at += 1

    def product(self, depth: int) -> list[Term]:
        terms = self.interaction(depth)
        while self.take("*"):
            other = self.interaction(depth)
            terms = self.merged(terms, other, self.crossed(terms, other))
        return terms

    def interaction(self, depth: int) -> list[Term]:
        terms = self.power(depth)
        while self.take(":"):
            terms = self.crossed(terms, self.power(depth))
        return terms

    def power(self, depth: int) -> list[Term]:
        base = terms = self.atom(depth)
        if self.take("**"):
            if self.next.text not in list("12345678"):
                self.fail("after '**' a whole number from 1 to 8 must stand")
            for _ in range(int(self.next.text) - 1):
                terms = self.merged(terms, self.crossed(terms, base))
            self.at += 1
        return terms

    def atom(self, depth: int) -> list[Term]:
        if not self.take("("):
            return [(self.factor("a column name, C(name), log(name) or '(' must stand here"),)]
        if depth == MAX_DEPTH:
            self.fail(f"parentheses nest at most {MAX_DEPTH} deep")
        terms = self.sum(depth + 1)
        if not self.take(")"):
            self.fail("')' must close the parenthesis")
        return terms

    def factor(self, rule: str) -> ColumnFactor:
        token = self.name(rule)
        if token.kind == "quoted" or not self.take("("):
            return ColumnFactor(self.column(token).name)
        if token.text not in ("C", "log"):
            raise _placed(unknown_name("function", token.text[:40], ("C", "log")), token)
        column = self.column(self.name("a column name must stand between the parentheses of a function"))
        if not self.take(")"):
            self.fail("')' must close the function, which takes one column")
        if token.text == "C":
            return ColumnFactor(column.name, "C" if column.kind in NUMERIC_KINDS else "")
        if column.kind not in ("integer", "float"):
            raise InputError(
                f"Formula, position {token.position}: log needs a column of numbers. Column '{column.name}' is "
                f"{column.kind}. Name it without log, or declare it integer or float in the schema."
            )
        return ColumnFactor(column.name, "log")

    def name(self, rule: str) -> _Token:
        token = self.next
        if token.kind not in ("name", "quoted"):
            self.fail("0 and 1 stand outside parentheses and products" if token.kind == "number" else rule)
        self.at += 1
        return token

    def column(self, token: _Token) -> Column:
        name = token.text[1:-1].replace("``", "`") if token.kind == "quoted" else token.text
        if name not in self.order:
            raise _placed(unknown_name("column", name[:80], self.order), token)
        column = self.schema[name]
        if not column.modelled:
            raise InputError(
                f"Formula, position {token.position}: column '{name}' has no levels and no numbers to fit, it is "
                f"{column.kind}. Name another."
            )
        return column

    def crossed(self, left: Sequence[Term], right: Sequence[Term]) -> list[Term]:
        if len(left) * len(right) > 40 * MAX_TERMS:
            self.fail(f"a formula has at most {MAX_TERMS} terms")
        terms = (tuple(sorted({*a, *b}, key=lambda f: (self.order[f.column], f.function))) for a in left for b in right)
        return self.merged(terms)

    def merged(self, *parts: Iterable[Term]) -> list[Term]:
        terms = list(dict.fromkeys(term for part in parts for term in part))
        if len(terms) > MAX_TERMS:
            self.fail(f"a formula has at most {MAX_TERMS} terms")
        if any(len(term) > MAX_ORDER for term in terms):
            self.fail(f"an interaction has at most {MAX_ORDER} columns")
        return terms


def _tokens(text: str) -> list[_Token]:
    """Return the tokens of a text, with positions from 1, and an end token."""
    text = text.rstrip()
    found, at = [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        assert match is not None
        assert match.lastgroup is not None
        kind, start = match.lastgroup, match.start(match.lastgroup)
        if kind == "bad":
            what = "a backquote opens a name that no backquote closes" if text[start] == "`" else "unknown sign"
            raise InputError(
                f"Formula, position {start + 1}: {what}, '{text[start]}'. Names with spaces or signs stand in backquotes. {_SHAPE}"
            )
        found.append(_Token(kind, match.group(kind), start + 1))
        at = match.end()
    return [*found, _Token("end", "", len(text) + 1)]


def _placed(error: UnknownNameError, token: _Token) -> UnknownNameError:
    return UnknownNameError(
        f"Formula, position {token.position}: {error} Names with spaces or signs stand in backquotes."
    )
