"""The grammar of conditions on records: from tokens to a small tree. Nothing is evaluated as Python.

    rule        =  either [ "implies" either ]               only where rules are asked for
    either      =  both { "or" both }
    both        =  one { "and" one }
    one         =  "not" one  |  "(" either ")"  |  comparison
    comparison  =  operand { sign operand }                  16 <= AGE < 65
                |  name [ "not" ] "in" "[" operand { "," operand } "]"

Names are columns, and stand in backticks where they have spaces; words stand in quotes. What a name means and whether a comparison
holds, two dialects say: `outputs.where` (which records an output was made of) and `table.constraints` (what no record may be).
"""

from __future__ import annotations

from dataclasses import dataclass

from .errors import InputError
from .tokens import Reader

__all__ = [
    "HELP", "SIGNS", "TURNED", "All", "Among", "AnyOf", "Comparisons", "Condition", "Implies", "Name", "Not", "Operand", "read_condition",
    "read_rule",
]  # fmt: skip

SIGNS = ("==", "!=", "<=", ">=", "<", ">")
TURNED = {"==": "==", "!=": "!=", "<=": ">=", ">=": "<=", "<": ">", ">": "<"}
"""What each sign becomes when its sides are exchanged."""

HELP = "made of comparisons such as AGE >= 16, SEX == 'f' or REGION in ['north', 'east'], with and, or, not."

_KEYWORDS = ("and", "or", "not", "in")


@dataclass(frozen=True)
class Name:
    """A name that is not in quotes: of a column, or true or false."""

    name: str


Operand = Name | str | int | float


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

    part: Condition


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


Condition = Comparisons | Among | Not | All | AnyOf | Implies


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


def read_rule(reader: Reader) -> Condition:
    """Return the condition that a text says, which may have an `implies`.

    Examples
    --------
    >>> rule = read_rule(Reader("age < 16 implies marital == 'never'", what="A constraint"))
    >>> type(rule).__name__, rule.then.operands
    ('Implies', (Name(name='marital'), 'never'))
    """
    grammar = _Grammar(reader)
    rule = grammar.either()
    if reader.accept("implies"):
        rule = Implies(rule, grammar.either())
    reader.finish()
    return rule


class _Grammar:
    """Recursive descent, one method for each rule; the reader bounds how deep it goes."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader

    def either(self) -> Condition:
        parts = [self.both()]
        while self.reader.accept("or"):
            parts.append(self.both())
        return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))

    def both(self) -> Condition:
        parts = [self.one()]
        while self.reader.accept("and"):
            parts.append(self.one())
        return parts[0] if len(parts) == 1 else All(tuple(parts))

    def one(self) -> Condition:
        self.reader.deeper()
        try:
            if self.reader.accept("not"):
                return Not(self.one())
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
        while sign := reader.accept(*SIGNS):
            signs.append(sign)
            operands.append(self.operand())
        if not signs:
            raise InputError(f"{reader.what} has no comparison before {reader.next.safe_text}. It is {HELP}")
        return Comparisons(tuple(operands), tuple(signs))

    def listed(self) -> tuple[Operand, ...]:
        opened = self.reader.accept("[", "(")
        if not opened:
            raise InputError(f"{self.reader.what} must have a list in brackets after 'in'. It is {HELP}")
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


def _number(text: str) -> int | float:
    return int(text) if text.isdigit() else float(text)
