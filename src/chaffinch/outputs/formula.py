"""Formulas as look-ups: which level puts what into which column of the design, with the names that patsy prints.

    TENURE ~ AGE + I(AGE ** 2) + C(SEX) + C(MSTATUS, Treatment('single')):AGE

A small grammar of ours, read by a parser of ours; no part of a formula is ever evaluated as Python. Columns of words are categorical, with
treatment coding; the first level of the file is the reference unless the formula names one. Terms are ordered, and redundant
columns left out (`_base/formula.py`), by patsy's rules. The columns of a basis (`basis.py`) are numbered from 0, as patsy does; where all
coefficients are given, numbers from 1 (formulaic: bs(x, df=4)[1], R: bs(x, df = 4)1) are understood too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from .._base.errors import InputError, UnknownNameError, listed
from .._base.formula import Part, parts_of
from .._base.masking import unknown_level, without_levels
from .columns import Codes, Floats
from .equations import Lookup, Terms
from .fields import Fields
from .grammar import MOST_COLUMNS, Factor, Parser, Term
from .where import Filter

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
            factor.column_of for one in self.coefficients for factor, _ in one
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


def unlearnt_words(formula: Formula) -> str:
    """Return that the numbers of a formula's bases come from the data, and how they are given; nothing where they are given.

    Examples
    --------
    >>> from chaffinch.outputs.fields import Field
    >>> fields = Fields((Field("rich", (0, 1)), Field("age", (16, 17, 18))))
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
    return (
        f"the numbers of {listed(formula.unlearnt, most=4)} come from the data; give them, as {how}"
    )


def read_formula(
    text: str,
    fields: Fields,
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
    >>> from chaffinch.outputs.fields import Field
    >>> fields = Fields((Field("rich", ("no", "yes")), Field("sex", ("f", "m")), Field("age", (0, 1, 2))))
    >>> read_formula("rich ~ age + C(sex) + sex:age", fields).names
    ('Intercept', 'C(sex)[T.m]', 'age', 'sex[T.m]:age')
    """
    within = within or Filter((), fields.columns.sizes)
    parser = Parser(text, fields, within, output=output, records=records)
    label, every = parser.formula()
    offsets = tuple(_offset(term[0], parser) for term in every if term and term[0].is_offset)
    terms = [term for term in every if not term or not term[0].is_offset]
    names, safe_names, coefficients = (
        list[str](),
        list[str](),
        list[tuple[tuple[Factor, int | None], ...]](),
    )
    blocks: dict[tuple[int, ...], list[_Block]] = {}
    for part in parts_of(_ordered(terms), lambda factor: factor.coding):
        columns = tuple(sorted({column for factor in part.factors for column in factor.columns}))
        block = dict[int, tuple[str, str, tuple[tuple[Factor, int | None], ...]]]()
        for piece, places in _pieces(part):
            rows, at, value = _block(piece, columns, parser)
            blocks.setdefault(columns, []).append((rows, places[at] + len(names), value))
            named = zip(
                _names(piece, fields, safe=False),
                _names(piece, fields, safe=True),
                piece.coefficients(),
                strict=True,
            )
            block |= dict(zip(places.tolist(), named, strict=True))
        for place in range(len(block)):
            name, safe_name, coefficient = block[place]
            names.append(name)
            safe_names.append(safe_name)
            coefficients.append(coefficient)
        if len(names) > MOST_COLUMNS:
            raise InputError(f"{parser.reader.what} has over {MOST_COLUMNS} columns.")
    if len({plain_name(name) for name in names}) < len(names):
        raise InputError(f"{parser.reader.what} makes two columns of the same name.")
    look_ups = tuple(_look_up(columns, some, fields) for columns, some in blocks.items())
    coded = {
        column
        for term in terms
        for factor in term
        if factor.categorical
        for column in factor.columns
    }
    rare = frozenset(label for column in coded for label in fields.every[column].rare)
    return Formula(
        label,
        tuple(names),
        look_ups,
        tuple(safe_names),
        rare,
        tuple(terms),
        tuple(coefficients),
        fields.threshold,
        offsets,
        tuple(parser.unlearnt),
    )


def _offset(factor: Factor, parser: Parser) -> Lookup:
    """What an offset adds to the linear predictor; 0 for levels that the filter leaves out."""
    fields, grid = parser.fields, parser.fields.grid(factor.columns)
    size = prod(fields.sizes(factor.columns))
    inside = (
        np.broadcast_to(parser.within.of_grid(grid), size) if grid else np.ones(size, dtype=bool)
    )
    values = np.where(inside, np.broadcast_to(factor.numbers(fields, grid), size), 0.0)
    if not np.isfinite(values).all():
        raise InputError(
            f"{parser.reader.what}: {factor.safe_text} is no finite number for some levels. Leave them out by a filter."
        )
    return Lookup(factor.columns, fields.sizes(factor.columns), values[:, None])


def _pieces(part: Part[Factor]) -> Iterator[tuple[Part[Factor], NDArray[np.intp]]]:
    """Give a part with each combination of columns of its bases as factors of their own, and where its columns stand in the whole part."""
    bases = [k for k, factor in enumerate(part.factors) if factor.basis is not None]
    if not bases:
        yield part, np.arange(part.size)
        return
    sizes = [
        factor.width if levels is None else len(levels)
        for factor, levels in zip(part.factors, part.levels, strict=True)
    ]
    # The first factor runs fastest: axes in reverse, in C order.
    places = np.arange(prod(sizes)).reshape(sizes[::-1])
    for chosen in product(*(range(sizes[k]) for k in bases)):
        column = dict(zip(bases, chosen, strict=True))
        factors = tuple(
            factor.column(column[k]) if k in column else factor
            for k, factor in enumerate(part.factors)
        )
        own = tuple(
            slice(column[k], column[k] + 1) if k in column else slice(None)
            for k in range(len(sizes))
        )
        yield replace(part, factors=factors), places[own[::-1]].ravel()


def _ordered(terms: list[Term]) -> list[Term]:
    """Terms as patsy orders them: by their numbers, those without any first, and by degree."""
    buckets: dict[frozenset[Factor], list[Term]] = {frozenset(): []}
    for term in terms:
        buckets.setdefault(frozenset(f for f in term if not f.categorical), []).append(term)
    return [term for bucket in buckets.values() for term in sorted(bucket, key=len)]


def _names(part: Part[Factor], fields: Fields, *, safe: bool) -> list[str]:
    """The names of a part's columns as patsy prints them, or as messages may have them."""
    whole = dict(zip(part.factors, part.whole, strict=True))

    def name(factor: Factor, code: int | None) -> str:
        text = factor.safe_text if safe else factor.text
        if code is None:
            return text
        field = fields.every[factor.columns[0]]
        return f"{text}[{'' if whole[factor] else 'T.'}{field.safe_label(code) if safe else field.labels[code]}]"

    return [
        ":".join(name(*one) for one in coefficient) or "Intercept"
        for coefficient in part.coefficients()
    ]


def _block(part: Part[Factor], columns: tuple[int, ...], parser: Parser) -> _Block:
    """The combinations of levels that have an entry, its column from 0, and its value."""
    fields = parser.fields
    grid = fields.grid(columns)
    inside, at, value = part.entries(
        prod(fields.sizes(columns)), lambda f: grid[f.columns[0]], lambda f: f.numbers(fields, grid)
    )
    inside &= parser.within.of_grid(grid)
    if not np.isfinite(value[inside]).all():
        text = ":".join(factor.safe_text for factor in part.factors)
        raise InputError(
            f"{parser.reader.what}: {text} is no finite number for some levels. Leave them out by a filter."
        )
    rows = np.flatnonzero(inside & (value != 0.0))
    return rows, at[rows], value[rows]


def _look_up(columns: tuple[int, ...], blocks: list[_Block], fields: Fields) -> Terms:
    """Blocks that read the same columns as one look-up."""
    rows, equations, values = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    return Terms.sparse(columns, fields.sizes(columns), rows, equations, values)
