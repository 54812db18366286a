"""Formulas as look-ups: which level puts what into which column of the design, with the names that patsy prints.

    TENURE ~ AGE + I(AGE ** 2) + C(SEX) + C(MSTATUS, Treatment('single')):AGE

A small grammar of ours, read by a parser of ours; no part of a formula is ever evaluated as Python. Columns of words are categorical, with
treatment coding; the first level of the file is the reference unless the formula names one. Terms are ordered, and redundant
columns left out (`_base/design.py`), by patsy's rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from .._base.design import Part, parts_of
from .._base.errors import InputError, UnknownNameError
from .._base.masking import unknown_level, without_levels
from .columns import Floats
from .equations import Terms
from .fields import Fields
from .grammar import MOST_COLUMNS, Factor, Parser, Term
from .where import Filter

__all__ = ["Factor", "Formula", "plain_name", "read_formula"]

_Block = tuple[NDArray[np.intp], NDArray[np.intp], Floats]


@dataclass(frozen=True, eq=False)
class Formula:
    """A formula compiled: the label, and the design as terms with the names of its columns in patsy's order.

    `safe_names` are the names as messages may have them: a sign stands for levels that ten records are not known to have, `rare`.
    `source_terms` are the terms of the text, `coefficients` the factors of each column with the codes of their levels, None for numbers.
    """

    label: Factor
    names: tuple[str, ...]
    terms: tuple[Terms, ...]
    safe_names: tuple[str, ...]
    rare: frozenset[str]
    source_terms: tuple[Term, ...]
    coefficients: tuple[tuple[tuple[Factor, int | None], ...], ...]
    threshold: int

    def unknown(self, thing: str, name: str) -> UnknownNameError:
        """Return the error for a name that is none of a column of the design."""
        return unknown_level(thing, without_levels(name, self.rare), self.common_names, threshold=self.threshold)

    @property
    def common_names(self) -> tuple[str, ...]:
        """The names that messages may have in full."""
        return tuple(name for name, safe in zip(self.names, self.safe_names, strict=True) if name == safe)

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


def read_formula(text: str, fields: Fields, *, within: Filter | None = None, output: str = "") -> Formula:
    """Return a formula compiled for columns; InputError, with what is supported, for anything else.

    Levels that the output's filter, `within`, leaves out are no levels of the formula's factors; `output` names it in messages.

    Examples
    --------
    >>> from chaffinch.outputs.fields import Field
    >>> fields = Fields((Field("rich", ("no", "yes")), Field("sex", ("f", "m")), Field("age", (0, 1, 2))))
    >>> read_formula("rich ~ age + C(sex) + sex:age", fields).names
    ('Intercept', 'C(sex)[T.m]', 'age', 'sex[T.m]:age')
    """
    parser = Parser(text, fields, within or Filter((), fields.columns.sizes), output=output)
    label, terms = parser.formula()
    names, safe_names, coefficients = list[str](), list[str](), list[tuple[tuple[Factor, int | None], ...]]()
    blocks: dict[tuple[int, ...], list[_Block]] = {}
    for part in parts_of(_ordered(terms), lambda factor: factor.coding):
        columns = tuple(sorted({column for factor in part.factors for column in factor.columns}))
        rows, at, value = _block(part, columns, parser)
        blocks.setdefault(columns, []).append((rows, at + len(names), value))
        names += _names(part, fields, safe=False)
        safe_names += _names(part, fields, safe=True)
        coefficients += part.coefficients()
        if len(names) > MOST_COLUMNS:
            raise InputError(f"{parser.reader.what} has over {MOST_COLUMNS} columns.")
    if len({plain_name(name) for name in names}) < len(names):
        raise InputError(f"{parser.reader.what} makes two columns of the same name.")
    look_ups = tuple(_look_up(columns, some, fields) for columns, some in blocks.items())
    coded = {column for term in terms for factor in term if factor.categorical for column in factor.columns}
    rare = frozenset(label for column in coded for label in fields.every[column].rare)
    return Formula(label, tuple(names), look_ups, tuple(safe_names), rare, tuple(terms), tuple(coefficients), fields.threshold)


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

    return [":".join(name(*one) for one in coefficient) or "Intercept" for coefficient in part.coefficients()]


def _block(part: Part[Factor], columns: tuple[int, ...], parser: Parser) -> _Block:
    """The combinations of levels that have an entry, its column from 0, and its value."""
    fields = parser.fields
    grid = fields.grid(columns)
    inside, at, value = part.entries(prod(fields.sizes(columns)), lambda f: grid[f.columns[0]], lambda f: f.numbers(fields, grid))
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
