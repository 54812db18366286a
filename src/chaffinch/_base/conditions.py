"""The grammar of conditions on records: from tokens to a small tree. Nothing is evaluated as Python.

    rule        =  either [ "implies" either ]               only where rules are asked for, as is all that has sums
                |  name "determines" name
    either      =  both { "or" both }
    both        =  one { "and" one }
    one         =  "not" one  |  "(" either ")"  |  comparison
    comparison  =  operand { sign operand }                  16 <= AGE < 65
                |  name [ "not" ] "in" "[" operand { "," operand } "]"
    operand     =  name | word | number | sum
    sum         =  ["-"] term { ("+" | "-") term }           change = after - before
    term        =  part { ("*" | "/") number }  |  number "*" part
    part        =  name | function "(" name ")" | "(" sum ")" | number

Names are columns, and stand in backticks where they have spaces; words stand in quotes. What a name means and whether a comparison
holds, two dialects say: `outputs.filters` (which records an output was made of) and the rules of a schema, `table.rules.constraints` (columns and
values) and `table.rules.relations` (columns and columns). In a rule `=` is `==`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from .errors import InputError
from .tokens import Reader

SIGNS = ("==", "!=", "<=", ">=", "<", ">")
TURNED = {"==": "==", "!=": "!=", "<=": ">=", ">=": "<=", "<": ">", ">": "<"}
"""What each sign becomes when its sides are exchanged."""

HELP = "made of comparisons such as AGE >= 16, SEX == 'f' or REGION in ['north', 'east'], with and, or, not."

FUNCTIONS = ("year", "month", "day", "missing")
"""What a rule may ask of a column: a part of its dates, or whether it is missing."""

_KEYWORDS = ("and", "or", "not", "in")


@dataclass(frozen=True)
class Name:
    """A name that is not in quotes: of a column, or true or false."""

    name: str


@dataclass(frozen=True)
class Addend:
    """A column in a sum, through a function or as it is, and what it is multiplied with."""

    column: str
    factor: float = 1.0
    function: str = ""


@dataclass(frozen=True)
class Sum:
    """Columns, each times a number, and a number that is added."""

    parts: tuple[Addend, ...]
    constant: float = 0.0


Operand = Name | str | int | float | Sum


@dataclass(frozen=True)
class Comparisons:
    """Operands with a sign between each two: all comparisons of neighbours hold."""

    operands: tuple[Operand, ...]
    signs: tuple[str, ...]


@dataclass(frozen=True)
class Among:
    """A column whose value is one of a list; `outside`: is none of it."""

    column: Name
    values: tuple[Operand, ...]
    outside: bool = False


@dataclass(frozen=True)
class Not:
    """A condition that does not hold."""

    inner: Condition


@dataclass(frozen=True)
class All:
    """Conditions that all hold."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class AnyOf:
    """Conditions of which one holds."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class Implies:
    """A condition that holds wherever another does."""

    when: Condition
    then: Condition


@dataclass(frozen=True)
class Determines:
    """A column whose value determines that of another: records with the same value of the first have the same of the second."""

    determinant: str
    dependent: str


Condition = Comparisons | Among | Not | All | AnyOf | Implies
Rule = Condition | Determines


def read_condition(reader: Reader) -> Condition:
    """Return the condition that a text says; raise where it is none.

    Examples
    --------
    >>> read_condition(Reader("16 <= AGE < 65", what="A filter"))
    Comparisons(operands=(16, Name(name='AGE'), 65), signs=('<=', '<'))
    """
    condition = _Grammar(reader).either()
    reader.finish()
    return condition


def read_rule(reader: Reader) -> Rule:
    """Return what a rule says: a condition, which may have an `implies` and sums, or that a column determines another.

    Examples
    --------
    >>> rule = read_rule(Reader("age < 16 implies marital == 'never'", what="A rule"))
    >>> type(rule).__name__, rule.then.operands
    ('Implies', (Name(name='marital'), 'never'))
    >>> read_rule(Reader("change = after - before", what="A rule")).operands[1]
    Sum(parts=(Addend(column='after', factor=1.0, function=''), Addend(column='before', factor=-1.0, function='')), constant=0.0)
    """
    grammar = _RuleGrammar(reader)
    rule: Rule = grammar.either()
    if reader.accept("implies"):
        assert not isinstance(rule, Determines)
        rule = Implies(rule, grammar.either())
    elif grammar.determines is not None:
        rule = grammar.determines
    reader.finish()
    return rule


class _Grammar:
    """Recursive descent, one method for each rule; the reader bounds how deep it goes."""

    signs: ClassVar[tuple[str, ...]] = SIGNS

    def __init__(self, reader: Reader) -> None:
        self.reader = reader

    def either(self) -> Condition:
        parts = [self.both()]
        while self.reader.accept("or"):
            parts.append(self.both())
        return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))

    def both(self) -> Condition:
        parts = [self.single()]
        while self.reader.accept("and"):
            parts.append(self.single())
        return parts[0] if len(parts) == 1 else All(tuple(parts))

    def single(self) -> Condition:
        self.reader.deeper()
        try:
            if self.reader.accept("not"):
                return Not(self.single())
            if self.reader.accept("("):
                inner = self.either()
                self.reader.expect(")")
                return inner
            return self.comparison()
        finally:
            self.reader.shallower()

    def comparison(self) -> Condition:
        reader = self.reader
        operands, signs = [self.operand()], list[str]()
        if isinstance(operands[0], Name) and reader.ahead("in", "not"):
            outside = bool(reader.accept("not"))
            reader.expect("in")
            return Among(operands[0], self.listed(), outside)
        while sign := reader.accept(*self.signs):
            signs.append("==" if sign == "=" else sign)
            operands.append(self.operand())
        if not signs:
            raise InputError(
                f"{reader.what} has no comparison before {reader.next.safe_text}. It is {HELP}"
            )
        return Comparisons(tuple(operands), tuple(signs))

    def listed(self) -> tuple[Operand, ...]:
        opened = self.reader.accept("[", "(")
        if not opened:
            raise InputError(
                f"{self.reader.what} must have a list in brackets after 'in'. It is {HELP}"
            )
        values = [self.operand()]
        while self.reader.accept(","):
            values.append(self.operand())
        self.reader.expect("]" if opened == "[" else ")")
        return tuple(values)

    def operand(self) -> Operand:
        token = self.reader.take()
        if token.kind == "word":
            return token.value
        if token.kind == "number":
            return _number(token.value)
        if token.kind == "sign" and token.value == "-" and self.reader.next.kind == "number":
            return -_number(self.reader.take().value)
        if token.kind == "name" and (token.quoted or token.value not in _KEYWORDS):
            return Name(token.value)
        raise InputError(
            f"{self.reader.what} has {token.safe_text} where a column, a number or a word in quotes belongs. It is {HELP}"
        )


class _RuleGrammar(_Grammar):
    """Conditions whose operands may be sums of columns, and `determines`."""

    signs = (*SIGNS, "=")

    def __init__(self, reader: Reader) -> None:
        super().__init__(reader)
        self.determines: Determines | None = None

    def comparison(self) -> Condition:
        start = self.reader.place
        if self.reader.next.kind == "name":
            column = self.reader.take()
            if self.reader.accept("determines"):
                right = self.reader.take()
                if start or right.kind != "name" or self.reader.next.kind != "end":
                    raise InputError(
                        f"{self.reader.what} is a line of its own where it says 'determines': one column, the word, one column."
                    )
                self.determines = Determines(column.value, right.value)
                return All(())
            self.reader.place = start
        return super().comparison()

    def operand(self) -> Operand:
        if self.reader.next.kind == "word":
            return super().operand()
        total = self.sum()
        if not all(
            math.isfinite(number)
            for number in (total.constant, *(addend.factor for addend in total.parts))
        ):
            raise InputError(f"{self.reader.what} has a number that is too large.")
        if not total.parts:
            constant = total.constant
            return int(constant) if constant.is_integer() else constant
        (first, *more) = total.parts
        plain = not more and not total.constant and first.factor == 1 and not first.function
        return Name(first.column) if plain else total

    def sum(self) -> Sum:
        terms = [scale_sum(self.term(), -1.0) if self.reader.accept("-") else self.term()]
        while sign := self.reader.accept("+", "-"):
            terms.append(scale_sum(self.term(), 1.0 if sign == "+" else -1.0))
        return add_sums(*terms)

    def term(self) -> Sum:
        out = self.addend()
        while sign := self.reader.accept("*", "/"):
            other = self.addend()
            if sign == "/":
                if other.parts or not other.constant:
                    raise InputError(
                        f"{self.reader.what} may divide by a number that is not 0, and by nothing else."
                    )
                out = scale_sum(out, 1 / other.constant)
            elif out.parts and other.parts:
                raise InputError(
                    f"{self.reader.what} may multiply a column with a number, not two columns with each other."
                )
            else:
                out = (
                    scale_sum(out, other.constant)
                    if out.parts or not other.parts
                    else scale_sum(other, out.constant)
                )
        return out

    def addend(self) -> Sum:
        reader = self.reader
        if reader.accept("("):
            reader.deeper()
            inner = self.sum()
            reader.expect(")")
            reader.shallower()
            return inner
        if reader.next.kind == "name" and not reader.next.quoted and reader.next.value in FUNCTIONS:
            position, function = reader.place, reader.take().value
            if reader.accept("("):
                column = super().operand()
                if not isinstance(column, Name):
                    raise InputError(
                        f"{reader.what} must have one column between the brackets of {function}."
                    )
                reader.expect(")")
                return Sum((Addend(column.name, function=function),))
            reader.place = position
        operand = super().operand()
        if isinstance(operand, str):
            raise InputError(
                f"{reader.what} has a word in quotes in a sum, where a column or a number belongs. It is {HELP}"
            )
        return (
            Sum((Addend(operand.name),)) if isinstance(operand, Name) else Sum((), float(operand))  # type: ignore[arg-type]
        )


def scale_sum(total: Sum, factor: float) -> Sum:
    """Return a sum times a number."""
    return Sum(
        tuple(Addend(p.column, p.factor * factor, p.function) for p in total.parts),
        total.constant * factor,
    )


def add_sums(*terms: Sum) -> Sum:
    """Return the sum of sums, each column once; what cancels out is gone."""
    factors: dict[tuple[str, str], float] = {}
    for addend in (addend for term in terms for addend in term.parts):
        key = (addend.column, addend.function)
        factors[key] = factors.get(key, 0.0) + addend.factor
    parts = tuple(
        Addend(column, factor, function) for (column, function), factor in factors.items() if factor
    )
    return Sum(parts, sum(term.constant for term in terms))


def _number(text: str) -> int | float:
    return int(text) if text.isdigit() else float(text)
