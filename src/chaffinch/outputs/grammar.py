"""Formulas in patsy's dialect: the grammar of `_base/formula.py` over columns with declared levels; never evaluated as Python.

What R and formulaic write otherwise is read too: log(x), ^ for **, offset(x), bs(x, df=4), ns(x, df=3), poly(x, 2).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base.errors import InputError, unknown_name
from .._base.formula import Expression, Grammar, unique
from .._base.masking import HIDDEN
from .._base.tokens import Reader, Token
from .basis import Basis
from .basis_calls import BASES, basis_call
from .columns import Codes, Floats
from .fields import Field, Fields, Scalar
from .where import Filter

MOST_COLUMNS = 2_000
FUNCTIONS = {
    "log": np.log,
    "log1p": np.log1p,
    "log2": np.log2,
    "log10": np.log10,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "square": np.square,
    "abs": np.abs,
}
HELP = (
    "A formula may have: names, Q('a name'), 1, 0, -1, +, :, *, (a + b)**2, C(name), C(name, Treatment('level')), "
    f"I(arithmetic), {', '.join(FUNCTIONS)}, with np. or without, {', '.join(BASES)} and offset(arithmetic)."
)

_SIGNS = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}

Grid = dict[int, NDArray[np.intp]]


class _Number(NamedTuple):
    """Arithmetic: the columns it reads, and its result for each combination of levels in a grid."""

    columns: frozenset[int]
    of: Callable[[Fields, Grid], Floats]

    @classmethod
    def column(cls, position: int) -> _Number:
        return cls(
            frozenset({position}),
            lambda fields, grid: fields.every[position].values[grid[position]],
        )

    def through(self, function: Callable[..., Floats], *others: _Number) -> _Number:
        numbers = (self, *others)
        columns = frozenset[int]().union(*(number.columns for number in numbers))
        return _Number(
            columns, lambda fields, grid: function(*(number.of(fields, grid) for number in numbers))
        )


@dataclass(frozen=True)
class Factor:
    """One factor of a term: a number worked out of columns, or the levels of one column. Factors with one name are the same.

    `text` is its name, spaced as patsy spaces it; `safe_text` the same as messages may have it, without a reference level that ten records
    are not known to have. `levels` are the codes of a categorical factor's levels in order, those that the output's filter leaves out not
    among them. A factor with a `basis` has several columns, of the number that stands in it; one that `is_offset` has no
    coefficient; one that `is_column` is a column as it is, in levels or not; `column_of` is the name of the basis that a factor is one column of.
    """

    text: str
    columns: tuple[int, ...] = field(compare=False)
    levels: tuple[int, ...] | None = field(default=None, compare=False)
    reference: int = field(default=0, compare=False)
    number: _Number | None = field(default=None, compare=False)
    basis: Basis | None = field(default=None, compare=False)
    is_offset: bool = field(default=False, compare=False)
    is_column: bool = field(default=False, compare=False)
    column_of: str = field(default="", compare=False)
    safe_text: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if not self.safe_text:
            object.__setattr__(self, "safe_text", self.text)

    @property
    def categorical(self) -> bool:
        """Whether it has levels."""
        return self.levels is not None

    @property
    def coding(self) -> tuple[tuple[int, ...], int] | None:
        """Its levels and its reference; None for a number."""
        return None if self.levels is None else (self.levels, self.reference)

    def numbers(self, fields: Fields, grid: Grid) -> Floats:
        """Return the number for each combination of levels in a grid; not finite where the arithmetic is not."""
        assert self.number is not None
        with np.errstate(all="ignore"):
            size = len(next(iter(grid.values()))) if grid else 1
            return np.broadcast_to(self.number.of(fields, grid), (size,)).astype(float)

    @property
    def width(self) -> int:
        """The number of columns of a factor that is no category."""
        return 1 if self.basis is None else self.basis.width

    def column(self, number: int) -> Factor:
        """Return one column of a basis, counted from 0, as a factor of its own: bs(x, df=4)[0]."""
        basis, inner = self.basis, self.number
        assert basis is not None
        assert inner is not None
        own = _Number(
            inner.columns, lambda fields, grid: basis.of(self.numbers(fields, grid))[:, number]
        )
        return Factor(
            f"{self.text}[{number}]",
            self.columns,
            number=own,
            safe_text=f"{self.safe_text}[{number}]",
            column_of=self.text,
        )


Term = tuple[Factor, ...]


class Parser(Grammar[Factor]):
    """The grammar with patsy's factors: names, C(...), Q(...), I(...), functions and bases over columns with declared levels.

    Bases whose numbers are not all given learn them from `records`, those that pass the filter. Without records they learn from every
    level once, and `unlearnt` has their names: the columns that such a formula makes are right, what is in them is not.
    """

    powers = ("**", "^")

    def __init__(
        self,
        text: str,
        fields: Fields,
        within: Filter,
        *,
        output: str,
        records: Codes | None = None,
    ) -> None:
        super().__init__(
            Reader(text, what=f"The formula of output '{output}'" if output else "The formula")
        )
        self.fields, self.within, self.records = fields, within, records
        self.unlearnt: list[str] = []

    def formula(self) -> tuple[Factor, list[Term]]:
        """Return the label and the terms, the intercept first, offsets among them."""
        label = self.factor()
        if label.basis is not None or label.is_offset:
            raise self._refused("a label of several columns, or an offset as its label,")
        if not self.reader.accept("~"):
            got = self.reader.next.safe_text
            raise InputError(
                f"{self.reader.what} must have the label, ~ and the terms. Got {got} after the label. {HELP}"
            )
        right = self.sum()
        self.reader.finish()
        terms = unique([*([()] if right.has_intercept else []), *right.terms])
        if any(factor.is_offset for term in terms if len(term) > 1 for factor in term):
            raise self._refused("an offset in an interaction")
        if all(factor.is_offset for term in terms for factor in term) and () not in terms:
            raise InputError(f"{self.reader.what} has no terms.")
        return label, terms

    def negative(self, first: Expression[Factor]) -> Expression[Factor]:
        raise self._refused("a minus before its first term")

    def product(self) -> Expression[Factor]:
        left = super().product()
        if self.reader.ahead("/"):
            raise self._refused("a / between terms")
        return left

    def exponent(self, base: Expression[Factor]) -> int:
        token = self.reader.next
        if token.kind != "number" or not token.value.isdigit() or int(token.value) < 1:
            raise self._refused("a power that is no whole number of at least 1")
        self._refuse_intercept(base)
        return int(token.value)

    def check_power(self, terms: list[Term]) -> None:
        if len(terms) > MOST_COLUMNS:
            raise InputError(f"{self.reader.what} has over {MOST_COLUMNS} terms.")

    def operand(self) -> Expression[Factor]:
        if self.reader.next.kind != "number":
            return super().operand()
        number = self.reader.take().value
        if number not in ("0", "1"):
            raise self._refused("a number other than 0 and 1 as a term")
        return Expression.of_number(number)

    def crossed(self, left: Expression[Factor], right: Expression[Factor]) -> Expression[Factor]:
        self._refuse_intercept(left, right)
        return super().crossed(left, right)

    def _refuse_intercept(self, *sides: Expression[Factor]) -> None:
        if any(side.intercept for side in sides):
            raise self._refused("an interaction with the intercept")

    def _refused(self, what: str) -> InputError:
        return InputError(f"{self.reader.what} has {what}, which is not supported. {HELP}")

    def factor(self) -> Factor:
        """A name, C(...), Q(...), I(...), offset(...), a function or a basis."""
        reader, place = self.reader, self.reader.place
        token = reader.take()
        if token.kind != "name":
            raise self._refused(token.safe_text)
        if reader.ahead("(") and token.value == "C":
            return self._categorical(place)
        if reader.ahead("(") and token.value == "I":
            reader.take()
            return self._number(place)
        if reader.ahead(".") and token.value in ("np", "numpy"):
            return self._number(place, self._function())
        if reader.ahead("(") and not token.quoted and token.value in FUNCTIONS:
            reader.take()
            return self._number(place, token.value)
        if reader.ahead("(") and not token.quoted and token.value == "offset":
            reader.take()
            return replace(self._number(place), is_offset=True)
        if reader.ahead("(") and not token.quoted and token.value in BASES:
            return self._basis(place, token.value)
        column = self._column(token)
        position = self.fields.position(column.name)
        text = _spaced(reader.since(place))
        if not column.numeric:
            return self._levels(text, column, None)
        return Factor(text, (position,), number=_Number.column(position), is_column=True)

    def _column(self, token: Token) -> Field:
        reader = self.reader
        name = token.value
        if reader.ahead("("):
            if name != "Q":
                raise self._refused(f"'{name}(...)'")
            reader.take()
            word = reader.take()
            if word.kind != "word":
                raise self._refused("Q() without a name in quotes")
            name = word.value
            reader.expect(")")
        elif reader.ahead(".") or token.kind != "name":
            raise self._refused(token.safe_text)
        if name not in self.fields.names:
            raise InputError(f"{reader.what}: {self.fields.unknown_column(name)}")
        return self.fields[name]

    def _categorical(self, place: int) -> Factor:
        reader = self.reader
        reader.take()
        column = self._column(reader.take())
        reference: Scalar | None = None
        written: Token | None = None
        if reader.accept(","):
            name = reader.take().value
            if name == "contr":
                reader.expect(".")
                name = reader.take().value
            if name.lower() != "treatment":
                raise self._refused(f"the coding '{name}'")
            if reader.accept("("):
                if not reader.ahead(")"):
                    if reader.accept("reference", "base"):
                        reader.expect("=")
                    token = reader.take()
                    negative = token.value == "-" and reader.next.kind == "number"
                    token = reader.take() if negative else token
                    if token.kind not in ("word", "number"):
                        raise self._refused(f"{token.safe_text} as a reference level")
                    reference, written = ("-" if negative else "") + token.value, token
                reader.expect(")")
        reader.expect(")")
        tokens = reader.since(place)
        safe = [one._replace(text=f"'{HIDDEN}'") if one is written else one for one in tokens]
        return self._levels(_spaced(tokens), column, reference, _spaced(safe))

    def _levels(
        self, text: str, column: Field, reference: Scalar | None, safe_text: str = ""
    ) -> Factor:
        position = self.fields.position(column.name)
        levels = tuple(np.flatnonzero(self.within.levels(position)).tolist())
        code = levels[0] if reference is None else column.code(reference)
        if code not in levels:
            raise InputError(
                f"{self.reader.what} has a reference level of '{column.name}' that its filter leaves out."
            )
        hidden = reference is not None and column.safe_label(code) == HIDDEN
        return Factor(
            text, (position,), levels, code, safe_text=safe_text if hidden else text, is_column=True
        )

    def _function(self) -> str:
        """The name of a function of numpy, and go past its bracket."""
        self.reader.take()
        function = self.reader.take().value
        if function not in FUNCTIONS or not self.reader.accept("("):
            raise InputError(
                f"{self.reader.what}: {unknown_name('function', function, FUNCTIONS)} {HELP}"
            )
        return function

    def _number(self, place: int, function: str = "") -> Factor:
        number = self._plus()
        self.reader.expect(")")
        number = number.through(FUNCTIONS[function]) if function else number
        return Factor(
            _spaced(self.reader.since(place)), tuple(sorted(number.columns)), number=number
        )

    def _basis(self, place: int, name: str) -> Factor:
        reader = self.reader
        reader.take()
        number = self._plus()
        try:
            basis = basis_call(name, reader)
            columns = tuple(sorted(number.columns))
            if not columns:
                raise InputError("there is no column in it")
            factor = Factor(_spaced(reader.since(place)), columns, number=number)
            if not basis.complete:
                self.unlearnt += [] if self.records is not None else [factor.text]
                basis = basis.learnt(self._learnt_from(factor))
        except InputError as error:
            what = str(error).rstrip(".")
            raise InputError(f"{reader.what}: {name}(...): {what}. {HELP}") from None
        return replace(factor, basis=basis)

    def _learnt_from(self, factor: Factor) -> Floats:
        """The numbers of records that a basis learns from, or of every combination of levels."""
        if self.records is not None:
            return factor.numbers(
                self.fields, {c: self.records[:, c].astype(np.intp) for c in factor.columns}
            )
        grid = self.fields.grid(factor.columns)
        values = factor.numbers(self.fields, grid)[self.within.of_grid(grid)]
        return values[np.isfinite(values)]

    def _plus(self) -> _Number:
        number = self._times()
        while sign := self.reader.accept("+", "-"):
            number = number.through(_SIGNS[sign], self._times())
        return number

    def _times(self) -> _Number:
        number = self._unary()
        while sign := self.reader.accept("*", "/"):
            number = number.through(_SIGNS[sign], self._unary())
        return number

    def _unary(self) -> _Number:
        self.reader.deeper()
        try:
            if self.reader.accept("-"):
                return self._unary().through(np.negative)
            number = self._operand()
            return (
                number.through(np.power, self._unary())
                if self.reader.accept(*self.powers)
                else number
            )
        finally:
            self.reader.shallower()

    def _operand(self) -> _Number:
        reader = self.reader
        token = reader.take()
        if token.kind == "number":
            constant = np.array([float(token.value)])
            return _Number(frozenset(), lambda fields, grid: constant)
        if token.value == "(" and token.kind == "sign":
            number = self._plus()
            reader.expect(")")
            return number
        if token.kind != "name":
            raise self._refused(f"{token.safe_text} inside arithmetic")
        if reader.ahead(".") and token.value in ("np", "numpy"):
            function, number = self._function(), self._plus()
            reader.expect(")")
            return number.through(FUNCTIONS[function])
        if reader.ahead("(") and not token.quoted and token.value in FUNCTIONS:
            reader.take()
            number = self._plus()
            reader.expect(")")
            return number.through(FUNCTIONS[token.value])
        column = self._column(token)
        if not column.numeric:
            raise InputError(
                f"{reader.what} works out a number from column '{column.name}', which has words."
            )
        return _Number.column(self.fields.position(column.name))


def _spaced(tokens: list[Token]) -> str:
    """Tokens as patsy writes them: spaces around signs of arithmetic and after commas."""
    text, after_object, wants_space = "", False, False
    for token in tokens:
        is_object = token.kind in ("name", "number", "word")
        binary = token.text in ("+", "-", "*", "/", "**", "^") and (
            after_object or token.text not in ("+", "-")
        )
        text += (" " if wants_space or binary else "") + token.text
        wants_space = binary or token.text == ","
        after_object = is_object or token.text == ")"
    return text
