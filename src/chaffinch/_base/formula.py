"""Formulas in Wilkinson's notation: from tokens to terms, each a tuple of factors that are multiplied, and from terms to the columns of a design.

    sum         =  ["+" | "-"] item { ("+" | "-") item }     0 and 1 are the intercept
    item        =  interaction { "*" interaction }           a*b is a + b + a:b
    interaction =  power { ":" power }
    power       =  atom [ "**" number ]                      (a + b)**2 is a + b + a:b
    atom        =  factor | "(" sum ")"

What a factor is, and how what breaks a rule is refused, the two dialects say: `table.formula` (columns of a schema) and
`outputs.formula` (patsy's formulas over declared levels). It holds no data and stands left of `table`: the processes in which
engines run read formulas and must not load a module that could open records.

In a design, a categorical factor is coded against a reference level; where the formula lacks what it is marginal to, it gets all its levels (the rule of
R, patsy and formulaic; Smith 2011, "Redundancy and categorical factors" in the manual of patsy), which keeps the columns independent.
Records are codes: those of a table, or every combination of levels, once each, where a design is made into look-ups.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import prod
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

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
        return unique(term for terms in parts for term in terms)

    def check_power(self, terms: list[tuple[F, ...]]) -> None:
        """Raise if a power has too many terms."""

    # What both share.

    def sum(self) -> Expression[F]:
        """Read items with their signs."""
        sign = self.reader.accept("+", "-")
        total = self.item()
        if sign == "-":
            total = (
                Expression([], total.number == "0", total.number == "1")
                if total.number
                else self.negative(total)
            )
        while sign := self.reader.accept("+", "-"):
            right = self.item()
            if sign == "+":
                terms = self.joined(total.terms, right.terms)
            else:
                removed = {frozenset(term) for term in right.terms}
                terms = [term for term in total.terms if frozenset(term) not in removed]
            if right.number == "0":
                total = Expression(terms, sign == "-", sign == "+")
            elif right.intercept:
                total = Expression(terms, sign == "+", sign == "-")
            else:
                total = Expression(terms, total.intercept, total.removed)
        return total

    def product(self) -> Expression[F]:
        """Read factors and their crossings."""
        expression = self.interaction()
        while self.reader.accept("*"):
            right = self.interaction()
            expression = Expression(
                self.joined(expression.terms, right.terms, self.crossed(expression, right).terms)
            )
        return expression

    def interaction(self) -> Expression[F]:
        """Read what is multiplied."""
        expression = self.power()
        while self.reader.accept(":"):
            expression = self.crossed(expression, self.power())
        return expression

    def power(self) -> Expression[F]:
        """Read an atom and its power: all products of so many of its terms, of one to as many as there are."""
        expression = self.atom()
        while self.reader.accept(*self.powers):
            exponent, terms, big = self.exponent(expression), expression.terms, expression
            for _ in range(1, min(len(expression.terms), exponent)):
                big = self.crossed(expression, big)
                terms = self.joined(terms, big.terms)
                self.check_power(terms)
            self.reader.take()
            expression = Expression(terms)
            if not self.chained_powers:
                break
        return expression

    def atom(self) -> Expression[F]:
        """Read a factor or a sum in parentheses."""
        if not self.reader.accept("("):
            return self.operand()
        self.reader.deeper()
        inner = self.sum()
        self.close()
        self.reader.shallower()
        return Expression(inner.terms, inner.intercept, inner.removed)

    def crossed(self, first: Expression[F], right: Expression[F]) -> Expression[F]:
        """Return each term of the one with each of the other, factors in order of appearance."""
        pairs = [(*a, *(f for f in b if f not in a)) for a in first.terms for b in right.terms]
        return Expression(self.joined(pairs))


@dataclass(frozen=True)
class Part(Generic[F]):
    """Some columns of a design: each combination of levels of its categorical factors, times the numbers of the others.

    `levels` are the codes that have a column, None for numbers; `full_rank` says whether the reference is among them.
    """

    factors: tuple[F, ...]
    levels: tuple[tuple[int, ...] | None, ...]
    full_rank: tuple[bool, ...]

    @property
    def size(self) -> int:
        """The number of columns."""
        return prod(1 if levels is None else len(levels) for levels in self.levels)

    def coefficients(self) -> Iterator[tuple[tuple[F, int | None], ...]]:
        """Give for each column its factors with their levels, None for numbers; the first factor runs fastest."""
        choices: list[Sequence[int | None]] = [
            (None,) if levels is None else levels for levels in self.levels
        ]
        return (
            tuple(zip(self.factors, chosen[::-1], strict=True))
            for chosen in product(*reversed(choices))
        )

    def entries(
        self,
        n_rows: int,
        codes: Callable[[F], NDArray[Any]],
        numbers: Callable[[F], NDArray[np.float64]],
    ) -> tuple[NDArray[np.bool_], NDArray[np.intp], NDArray[np.float64]]:
        """Return for each record whether it has an entry, in which column (one at most), and its value.

        `codes` and `numbers` give what each record has of a categorical and of another factor.
        """
        inside, value = np.ones(n_rows, dtype=bool), np.ones(n_rows)
        column, stride = np.zeros(n_rows, dtype=np.intp), 1
        for factor, levels in zip(self.factors, self.levels, strict=True):
            if levels is None:
                value = value * numbers(factor)
                continue
            factor_codes = codes(factor)
            level_index = np.full(max(int(factor_codes.max(initial=0)), *levels, 0) + 1, -1)
            level_index[list(levels)] = np.arange(len(levels))
            index = level_index[factor_codes]
            inside &= index >= 0
            column += stride * np.maximum(index, 0)
            stride *= len(levels)
        return inside, column, value


def parts_of(
    terms: Iterable[tuple[F, ...]], coding: Callable[[F], tuple[Sequence[int], int] | None]
) -> Iterator[Part[F]]:
    """Give the parts of a design, term by term; `coding` says the levels of a factor and its reference, None for numbers.

    A categorical term spans the spaces of all its margins, a:b = 1 + a- + b- + a-:b-, where a- lacks the reference.
    Margins that earlier terms with the same numbers span are left out, and what remains is joined: 1 + a- is a.

    Examples
    --------
    Two levels each, the intercept first; the second term of a alone, then a:b with all levels of a:

    >>> levels = lambda name: None if name == "x" else ((0, 1), 0)
    >>> [(part.factors, part.levels) for part in parts_of([(), ("a", "b"), ("x",)], levels)]
    [((), ()), (('b',), ((1,),)), (('a', 'b'), ((1,), (0, 1))), (('x',), (None,))]
    """
    spanned: dict[frozenset[F], set[frozenset[tuple[F, bool]]]] = {}
    for term in terms:
        coded = {factor: coding(factor) for factor in term}
        levelled = [factor for factor in term if coded[factor] is not None]
        before = spanned.setdefault(frozenset(term).difference(levelled), set())
        margins = [
            frozenset((factor, False) for factor in chosen)
            for k in range(len(levelled) + 1)
            for chosen in combinations(levelled, k)
        ]
        new = [margin for margin in margins if margin not in before]
        before.update(new)
        for margin in _join_margins(new):
            full_rank = dict(margin)
            factors = tuple(
                factor for factor in term if coded[factor] is None or factor in full_rank
            )
            levels = tuple(
                _with_column(coded[factor], full_rank.get(factor, False)) for factor in factors
            )
            yield Part(factors, levels, tuple(full_rank.get(factor, False) for factor in factors))


def _with_column(
    coded: tuple[Sequence[int], int] | None, full_rank: bool
) -> tuple[int, ...] | None:
    if coded is None:
        return None
    levels, reference = coded
    return tuple(level for level in levels if full_rank or level != reference)


def _join_margins(margins: list[frozenset[tuple[F, bool]]]) -> list[frozenset[tuple[F, bool]]]:
    """Return margins with pairs m and m:a- joined to m:a, greedily from the left, until no pair is left."""
    while True:
        pairs = combinations(range(len(margins)), 2)
        pair = next(
            (
                (i, j)
                for i, j in pairs
                if margins[i] < margins[j] and len(margins[j] - margins[i]) == 1
            ),
            None,
        )
        if pair is None:
            return margins
        i, j = pair
        ((factor, _),) = margins[j] - margins[i]
        margins[j] = margins[i] | {(factor, True)}
        del margins[i]
