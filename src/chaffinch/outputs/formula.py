"""Formulas as look-ups: which level puts what into which column of the design, with the names that patsy prints.

    TENURE ~ AGE + I(AGE ** 2) + C(SEX) + C(MSTATUS, Treatment('single')):AGE

The grammar of `_base/formula.py` over columns with declared levels, in patsy's dialect; no part of a formula is ever evaluated as Python. What R
and formulaic write otherwise is read too: log(x), ^ for **, offset(x), bs(x, df=4), ns(x, df=3), poly(x, 2). Columns of words are categorical, with
treatment coding; the first level of the file is the reference unless the formula names one. Terms are ordered, and redundant
columns left out (`_base/formula.py`), by patsy's rules. The columns of a basis (`basis.py`) are numbered from 0, as patsy does; where all
coefficients are given, numbers from 1 (formulaic: bs(x, df=4)[1], R: bs(x, df = 4)1) are understood too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base.arrays import Floats
from .._base.errors import InputError, UnknownNameError, join_names, unknown_name
from .._base.formula import Expression, Grammar, Part, parts_of, unique
from .._base.masking import HIDDEN, unknown_level, without_levels
from .._base.tokens import Reader, Token
from .basis import BASES, Basis, basis_call
from .domain import Codes, OutputColumn, OutputDomain, Scalar
from .equations import Lookup, Terms
from .filters import Filter

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
_Block = tuple[NDArray[np.intp], NDArray[np.intp], Floats]


@dataclass(frozen=True, eq=False)
class Formula:
    """A formula compiled: the label, and the design as terms with the names of its columns in patsy's order.

    `safe_names` are the names as messages may have them: a sign stands for levels that ten records are not known to have, `rare`.
    `source_terms` are the terms of the text, `coefficients` the factors of each column with the codes of their levels, None for numbers.
    `offsets` are what is added to the linear predictor as it is. `unlearnt` are the bases whose numbers come from data that were not there:
    names and columns are right then, what the terms hold is not.
    """

    label: Factor
    names: tuple[str, ...]
    terms: tuple[Terms, ...]
    safe_names: tuple[str, ...]
    rare: frozenset[str]
    source_terms: tuple[Term, ...]
    coefficients: tuple[tuple[tuple[Factor, int | None], ...], ...]
    threshold: int
    offsets: tuple[Lookup, ...] = ()
    unlearnt: tuple[str, ...] = ()

    def known(self, given: Iterable[str]) -> dict[str, str]:
        """Return the names of the design's columns by how they may be written, without spaces: columns of bases as all of the given names count them."""
        plain = {plain_name(name): name for name in self.names}
        plain |= {"const": "Intercept"} if "Intercept" in self.names else {}
        names = {plain_name(name) for name in given}
        if names <= set(plain) or not any(
            factor.column_of for coefficient in self.coefficients for factor, _ in coefficient
        ):
            return plain
        counted = {counted: self._counted(counted) for counted in ("[{}]", "{}")}
        return next((other for other in counted.values() if set(other) - {"const"} <= names), plain)

    def _counted(self, counted: str) -> dict[str, str]:
        """The names with columns of bases counted from 1."""
        names = {}
        for name, coefficient in zip(self.names, self.coefficients, strict=True):
            written = name
            for factor, _ in coefficient:
                if factor.column_of:
                    number = int(factor.text.removeprefix(factor.column_of)[1:-1])
                    written = written.replace(
                        factor.text, factor.column_of + counted.format(number + 1)
                    )
            names[plain_name(written)] = name
        return names | ({"const": "Intercept"} if "Intercept" in self.names else {})

    def unknown(self, thing: str, name: str) -> UnknownNameError:
        """Return the error for a name that is none of a column of the design."""
        return unknown_level(
            thing, without_levels(name, self.rare), self.common_names, threshold=self.threshold
        )

    @property
    def common_names(self) -> tuple[str, ...]:
        """The names that messages may have in full."""
        return tuple(
            name for name, safe in zip(self.names, self.safe_names, strict=True) if name == safe
        )

    @property
    def size(self) -> int:
        """The number of columns of the design."""
        return len(self.names)


def plain_name(name: str) -> str:
    """Return a coefficient's name without spaces and with one kind of quotes: programs differ in both.

    Examples
    --------
    >>> plain_name('C(SEX, Treatment("f"))[T.m]') == plain_name("C(SEX,Treatment('f'))[T.m]")
    True
    """
    return "".join(name.split()).replace('"', "'")


def column_words(text: str, *, what: str = "The text") -> set[str]:
    """Return the words of a formula or a filter among which are the columns that it reads; InputError for signs that neither has.

    Examples
    --------
    >>> sorted(column_words("rich ~ log(age) + C(sex, Treatment('f')) + Q('a b')"))
    ['a b', 'age', 'rich', 'sex']
    """
    names, called, reader = set[str](), "", Reader(text, what=what)
    while reader.next.kind != "end":
        token = reader.take()
        is_function = token.kind == "name" and not token.quoted and reader.ahead("(")
        # Q('a name') has the column as a word; other words are levels, and a name before a bracket is a function.
        is_quoted = token.kind == "word" and called == "Q"
        if is_quoted or (token.kind == "name" and not is_function):
            names.add(token.value)
        if token.value != "(":
            called = token.value if is_function else ""
    return names


def read_formula(
    text: str,
    fields: OutputDomain,
    *,
    within: Filter | None = None,
    output: str = "",
    records: Codes | None = None,
) -> Formula:
    """Return a formula compiled for columns; InputError, with what is supported, for anything else.

    Levels that the output's filter, `within`, leaves out are no levels of the formula's factors; `output` names it in messages. Knots and
    other numbers of bases that the formula does not give are learnt from `records`, those that pass the filter.

    Examples
    --------
    >>> from chaffinch.outputs.domain import OutputColumn
    >>> fields = OutputDomain((OutputColumn("rich", ("no", "yes")), OutputColumn("sex", ("f", "m")), OutputColumn("age", (0, 1, 2))))
    >>> read_formula("rich ~ age + C(sex) + sex:age", fields).names
    ('Intercept', 'C(sex)[T.m]', 'age', 'sex[T.m]:age')
    """
    within = within or Filter((), fields.sizes)
    parser = Parser(text, fields, within, output=output, records=records)
    label, all_terms = parser.formula()
    offsets = tuple(_offset(term[0], parser) for term in all_terms if term and term[0].is_offset)
    terms = [term for term in all_terms if not term or not term[0].is_offset]
    design: list[tuple[str, str, tuple[tuple[Factor, int | None], ...]]] = []
    blocks: dict[tuple[int, ...], list[_Block]] = {}
    for design_part in parts_of(_sort_terms(terms), lambda factor: factor.coding):
        columns = tuple(
            sorted({column for factor in design_part.factors for column in factor.columns})
        )
        block = dict[int, tuple[str, str, tuple[tuple[Factor, int | None], ...]]]()
        for piece, places in _pieces(design_part):
            rows, column, value = _block(piece, columns, parser)
            blocks.setdefault(columns, []).append((rows, places[column] + len(design), value))
            named = zip(
                _names(piece, fields, safe=False),
                _names(piece, fields, safe=True),
                piece.coefficients(),
                strict=True,
            )
            block |= dict(zip(places.tolist(), named, strict=True))
        design += [block[index] for index in range(len(block))]
        if len(design) > MOST_COLUMNS:
            raise InputError(f"{parser.reader.what} has over {MOST_COLUMNS} columns.")
    if len({plain_name(name) for name, _, _ in design}) < len(design):
        raise InputError(f"{parser.reader.what} makes two columns of the same name.")
    look_ups = tuple(
        _look_up(columns, column_blocks, fields) for columns, column_blocks in blocks.items()
    )
    coded = {
        column
        for term in terms
        for factor in term
        if factor.categorical
        for column in factor.columns
    }
    rare = frozenset(label for column in coded for label in fields.columns[column].rare)
    return Formula(
        label,
        tuple(name for name, _, _ in design),
        look_ups,
        tuple(safe_name for _, safe_name, _ in design),
        rare,
        tuple(terms),
        tuple(coefficient for _, _, coefficient in design),
        fields.threshold,
        offsets,
        tuple(parser.unlearnt),
    )


def unlearnt_words(formula: Formula) -> str:
    """Return that the numbers of a formula's bases come from the data, and how they are given; nothing where they are given.

    Examples
    --------
    >>> from chaffinch.outputs.domain import OutputColumn
    >>> fields = OutputDomain((OutputColumn("rich", (0, 1)), OutputColumn("age", (16, 17, 18))))
    >>> unlearnt_words(read_formula("rich ~ poly(age, 2)", fields))
    'the numbers of poly(age, 2) come from the data; give them, as raw=True'
    """
    if not formula.unlearnt:
        return ""
    polynomials = any(name.startswith("poly") for name in formula.unlearnt)
    splines = any(not name.startswith("poly") for name in formula.unlearnt)
    how = " and ".join(
        [
            *(["knots=..., lower_bound=... and upper_bound=..."] * splines),
            *(["raw=True"] * polynomials),
        ]
    )
    return f"the numbers of {join_names(formula.unlearnt, max_names=4)} come from the data; give them, as {how}"


def _offset(factor: Factor, parser: Parser) -> Lookup:
    """What an offset adds to the linear predictor; 0 for levels that the filter leaves out."""
    fields, grid = parser.fields, parser.fields.grid(factor.columns)
    size = prod(fields.shape(factor.columns))
    inside = (
        np.broadcast_to(parser.within.level_mask(grid), size) if grid else np.ones(size, dtype=bool)
    )
    values = np.where(inside, np.broadcast_to(factor.numbers(fields, grid), size), 0.0)
    if not np.isfinite(values).all():
        raise InputError(
            f"{parser.reader.what}: {factor.safe_text} is no finite number for some levels. Leave them out by a filter."
        )
    return Lookup(factor.columns, fields.shape(factor.columns), values[:, None])


def _pieces(design_part: Part[Factor]) -> Iterator[tuple[Part[Factor], NDArray[np.intp]]]:
    """Give a part with each combination of columns of its bases as factors of their own, and where its columns stand in the whole part."""
    bases = [k for k, factor in enumerate(design_part.factors) if factor.basis is not None]
    if not bases:
        yield design_part, np.arange(design_part.size)
        return
    sizes = [
        factor.width if levels is None else len(levels)
        for factor, levels in zip(design_part.factors, design_part.levels, strict=True)
    ]
    # The first factor runs fastest: axes in reverse, in C order.
    places = np.arange(prod(sizes)).reshape(sizes[::-1])
    for chosen in product(*(range(sizes[k]) for k in bases)):
        column = dict(zip(bases, chosen, strict=True))
        factors = tuple(
            factor.column(column[k]) if k in column else factor
            for k, factor in enumerate(design_part.factors)
        )
        slices = tuple(
            slice(column[k], column[k] + 1) if k in column else slice(None)
            for k in range(len(sizes))
        )
        yield replace(design_part, factors=factors), places[slices[::-1]].ravel()


def _sort_terms(terms: list[Term]) -> list[Term]:
    """Terms as patsy orders them: by their numbers, those without any first, and by degree."""
    buckets: dict[frozenset[Factor], list[Term]] = {frozenset(): []}
    for term in terms:
        buckets.setdefault(frozenset(f for f in term if not f.categorical), []).append(term)
    return [term for bucket in buckets.values() for term in sorted(bucket, key=len)]


def _names(design_part: Part[Factor], fields: OutputDomain, *, safe: bool) -> list[str]:
    """The names of a part's columns as patsy prints them, or as messages may have them."""
    all_levels = dict(zip(design_part.factors, design_part.full_rank, strict=True))

    def name(factor: Factor, code: int | None) -> str:
        text = factor.safe_text if safe else factor.text
        if code is None:
            return text
        field = fields.columns[factor.columns[0]]
        return f"{text}[{'' if all_levels[factor] else 'T.'}{field.safe_label(code) if safe else field.labels[code]}]"

    return [
        ":".join(name(*factor_code) for factor_code in coefficient) or "Intercept"
        for coefficient in design_part.coefficients()
    ]


def _block(design_part: Part[Factor], columns: tuple[int, ...], parser: Parser) -> _Block:
    """The combinations of levels that have an entry, its column from 0, and its value."""
    fields = parser.fields
    grid = fields.grid(columns)
    inside, column, value = design_part.entries(
        prod(fields.shape(columns)), lambda f: grid[f.columns[0]], lambda f: f.numbers(fields, grid)
    )
    inside &= parser.within.level_mask(grid)
    if not np.isfinite(value[inside]).all():
        text = ":".join(factor.safe_text for factor in design_part.factors)
        raise InputError(
            f"{parser.reader.what}: {text} is no finite number for some levels. Leave them out by a filter."
        )
    rows = np.flatnonzero(inside & (value != 0.0))
    return rows, column[rows], value[rows]


def _look_up(columns: tuple[int, ...], blocks: list[_Block], fields: OutputDomain) -> Terms:
    """Blocks that read the same columns as one look-up."""
    rows, equations, values = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    return Terms.sparse(columns, fields.shape(columns), rows, equations, values)


class _Number(NamedTuple):
    """Arithmetic: the columns it reads, and its result for each combination of levels in a grid."""

    columns: frozenset[int]
    evaluate: Callable[[OutputDomain, Grid], Floats]

    @classmethod
    def column(cls, position: int) -> _Number:
        return cls(
            frozenset({position}),
            lambda fields, grid: fields.columns[position].values[grid[position]],
        )

    def through(self, function: Callable[..., Floats], *others: _Number) -> _Number:
        numbers = (self, *others)
        columns = frozenset[int]().union(*(number.columns for number in numbers))
        return _Number(
            columns,
            lambda fields, grid: function(*(number.evaluate(fields, grid) for number in numbers)),
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

    def numbers(self, fields: OutputDomain, grid: Grid) -> Floats:
        """Return the number for each combination of levels in a grid; not finite where the arithmetic is not."""
        assert self.number is not None
        with np.errstate(all="ignore"):
            size = len(next(iter(grid.values()))) if grid else 1
            return np.broadcast_to(self.number.evaluate(fields, grid), (size,)).astype(float)

    @property
    def width(self) -> int:
        """The number of columns of a factor that is no category."""
        return 1 if self.basis is None else self.basis.width

    def column(self, number: int) -> Factor:
        """Return one column of a basis, counted from 0, as a factor of its own: bs(x, df=4)[0]."""
        basis, inner = self.basis, self.number
        assert basis is not None
        assert inner is not None
        column_number = _Number(
            inner.columns,
            lambda fields, grid: basis.evaluate(self.numbers(fields, grid))[:, number],
        )
        return Factor(
            f"{self.text}[{number}]",
            self.columns,
            number=column_number,
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
        fields: OutputDomain,
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
        expression = super().product()
        if self.reader.ahead("/"):
            raise self._refused("a / between terms")
        return expression

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

    def crossed(self, first: Expression[Factor], right: Expression[Factor]) -> Expression[Factor]:
        self._refuse_intercept(first, right)
        return super().crossed(first, right)

    def _refuse_intercept(self, *expressions: Expression[Factor]) -> None:
        if any(side.intercept for side in expressions):
            raise self._refused("an interaction with the intercept")

    def _refused(self, what: str) -> InputError:
        return InputError(f"{self.reader.what} has {what}, which is not supported. {HELP}")

    def factor(self) -> Factor:
        """A name, C(...), Q(...), I(...), offset(...), a function or a basis."""
        reader, start = self.reader, self.reader.place
        token = reader.take()
        if token.kind != "name":
            raise self._refused(token.safe_text)
        if token.value == "C" and reader.accept("("):
            return self._categorical(start)
        if token.value == "I" and reader.accept("("):
            return self._number(start)
        if function := self._function(token):
            return self._number(start, function)
        if token.value == "offset" and not token.quoted and reader.accept("("):
            return replace(self._number(start), is_offset=True)
        if token.value in BASES and not token.quoted and reader.accept("("):
            return self._basis(start, token.value)
        column = self._column(token)
        position = self.fields.position(column.name)
        text = _join_tokens(reader.since(start))
        if not column.numeric:
            return self._levels(text, column, None)
        return Factor(text, (position,), number=_Number.column(position), is_column=True)

    def _column(self, token: Token) -> OutputColumn:
        reader = self.reader
        name = token.value
        if name == "Q" and reader.accept("("):
            word = reader.take()
            if word.kind != "word":
                raise self._refused("Q() without a name in quotes")
            name = word.value
            reader.expect(")")
        elif reader.ahead("("):
            raise self._refused(f"'{name}(...)'")
        elif reader.ahead(".") or token.kind != "name":
            raise self._refused(token.safe_text)
        if name not in self.fields.names:
            raise InputError(f"{reader.what}: {self.fields.unknown_column(name)}")
        return self.fields[name]

    def _categorical(self, start: int) -> Factor:
        reader = self.reader
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
        tokens = reader.since(start)
        safe = [
            token._replace(text=f"'{HIDDEN}'") if token is written else token for token in tokens
        ]
        return self._levels(_join_tokens(tokens), column, reference, _join_tokens(safe))

    def _levels(
        self, text: str, column: OutputColumn, reference: Scalar | None, safe_text: str = ""
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

    def _function(self, token: Token) -> str:
        """The function that a name begins, with np. or without, and go past its bracket; empty for another name."""
        reader, function = self.reader, token.value
        if reader.ahead(".") and function in ("np", "numpy"):
            reader.take()
            function = reader.take().value
            if function in FUNCTIONS and reader.accept("("):
                return function
            raise InputError(
                f"{reader.what}: {unknown_name('function', function, FUNCTIONS)} {HELP}"
            )
        is_called = function in FUNCTIONS and not token.quoted
        return function if is_called and reader.accept("(") else ""

    def _number(self, start: int, function: str = "") -> Factor:
        number = self._plus()
        self.reader.expect(")")
        number = number.through(FUNCTIONS[function]) if function else number
        return Factor(
            _join_tokens(self.reader.since(start)), tuple(sorted(number.columns)), number=number
        )

    def _basis(self, start: int, name: str) -> Factor:
        reader, number = self.reader, self._plus()
        try:
            basis = basis_call(name, reader)
            columns = tuple(sorted(number.columns))
            if not columns:
                raise InputError("there is no column in it")
            factor = Factor(_join_tokens(reader.since(start)), columns, number=number)
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
        values = factor.numbers(self.fields, grid)[self.within.level_mask(grid)]
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
        if function := self._function(token):
            number = self._plus()
            reader.expect(")")
            return number.through(FUNCTIONS[function])
        column = self._column(token)
        if not column.numeric:
            raise InputError(
                f"{reader.what} works out a number from column '{column.name}', which has words."
            )
        return _Number.column(self.fields.position(column.name))


def _join_tokens(tokens: list[Token]) -> str:
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
