"""The grammar of formulas in Wilkinson's notation: from tokens to terms, each a tuple of factors that are multiplied.

    sum         =  ["+" | "-"] item { ("+" | "-") item }     0 and 1 are the intercept
    item        =  interaction { "*" interaction }           a*b is a + b + a:b
    interaction =  power { ":" power }
    power       =  atom [ "**" number ]                      (a + b)**2 is a + b + a:b
    atom        =  factor | "(" sum ")"

What a factor is, and how what breaks a rule is refused, the two dialects say: `table.formula` (columns of a schema) and
`outputs.grammar` (patsy's formulas over declared levels). It holds no data and stands left of `table`: the processes in which
engines run read formulas and must not load a module that could open records.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from .tokens import Reader

F = TypeVar("F", bound=Hashable)
"""A factor; two that are equal are the same."""


@dataclass(frozen=True)
class Expression(Generic[F]):
    """Terms so far, and what was said of the intercept; `number` where it is nothing but 0 or 1."""

    terms: list[tuple[F, ...]]
    intercept: bool = False
    removed: bool = False
    number: str = ""

    @classmethod
    def of_number(cls, number: str) -> Expression[F]:
        """Return 0 or 1 as an expression."""
        return cls([], number == "1", number == "0", number)

    @property
    def has_intercept(self) -> bool:
        """Whether a formula with this right-hand side has an intercept: unless it was removed."""
        return self.intercept or not self.removed


def unique(terms: Iterable[tuple[F, ...]]) -> list[tuple[F, ...]]:
    """Return terms in order, each once: a:b is b:a."""
    first: dict[frozenset[F], tuple[F, ...]] = {}
    for term in terms:
        first.setdefault(frozenset(term), term)
    return list(first.values())


class Grammar(Generic[F]):
    """Recursive descent, one method for each rule; only parentheses recurse, and the reader bounds their depth."""

    chained_powers = True
    """Whether a power may have a power."""
    powers: tuple[str, ...] = ("**",)
    """The signs of a power."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader

    # What a dialect says.

    def factor(self) -> F:
        """Read one factor."""
        raise NotImplementedError

    def exponent(self, base: Expression[F]) -> int:
        """Return the number that comes next, without going past it, if what stands before it may have a power."""
        raise NotImplementedError

    def negative(self, first: Expression[F]) -> Expression[F]:
        """Return a first item behind a minus that is no number."""
        raise NotImplementedError

    def item(self) -> Expression[F]:
        """Read one item of a sum."""
        return self.product()

    def operand(self) -> Expression[F]:
        """Read what stands without parentheses in a product."""
        return Expression([(self.factor(),)])

    def close(self) -> None:
        """Go past the end of a parenthesis."""
        self.reader.expect(")")

    def joined(self, *parts: list[tuple[F, ...]]) -> list[tuple[F, ...]]:
        """Return the terms of several lists."""
        return unique(term for part in parts for term in part)

    def check_power(self, terms: list[tuple[F, ...]]) -> None:
        """Raise if a power has too many terms."""

    # What both share.

    def sum(self) -> Expression[F]:
        """Read items with their signs."""
        sign = self.reader.accept("+", "-")
        left = self.item()
        if sign == "-":
            left = (
                Expression([], left.number == "0", left.number == "1")
                if left.number
                else self.negative(left)
            )
        while sign := self.reader.accept("+", "-"):
            right = self.item()
            if sign == "+":
                terms = self.joined(left.terms, right.terms)
            else:
                gone = {frozenset(term) for term in right.terms}
                terms = [term for term in left.terms if frozenset(term) not in gone]
            if right.number == "0":
                left = Expression(terms, sign == "-", sign == "+")
            elif right.intercept:
                left = Expression(terms, sign == "+", sign == "-")
            else:
                left = Expression(terms, left.intercept, left.removed)
        return left

    def product(self) -> Expression[F]:
        """Read factors and their crossings."""
        left = self.interaction()
        while self.reader.accept("*"):
            right = self.interaction()
            left = Expression(self.joined(left.terms, right.terms, self.crossed(left, right).terms))
        return left

    def interaction(self) -> Expression[F]:
        """Read what is multiplied."""
        left = self.power()
        while self.reader.accept(":"):
            left = self.crossed(left, self.power())
        return left

    def power(self) -> Expression[F]:
        """Read an atom and its power: all products of so many of its terms, of one to as many as there are."""
        left = self.atom()
        while self.reader.accept(*self.powers):
            exponent, terms, big = self.exponent(left), left.terms, left
            for _ in range(1, min(len(left.terms), exponent)):
                big = self.crossed(left, big)
                terms = self.joined(terms, big.terms)
                self.check_power(terms)
            self.reader.take()
            left = Expression(terms)
            if not self.chained_powers:
                break
        return left

    def atom(self) -> Expression[F]:
        """Read a factor or a sum in parentheses."""
        if not self.reader.accept("("):
            return self.operand()
        self.reader.deeper()
        inner = self.sum()
        self.close()
        self.reader.shallower()
        return Expression(inner.terms, inner.intercept, inner.removed)

    def crossed(self, left: Expression[F], right: Expression[F]) -> Expression[F]:
        """Return each term of the one with each of the other, factors in order of appearance."""
        pairs = [(*a, *(f for f in b if f not in a)) for a in left.terms for b in right.terms]
        return Expression(self.joined(pairs))
