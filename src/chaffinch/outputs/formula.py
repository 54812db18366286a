"""Formulas as look-ups: which level puts what into which column of the design, with the names that patsy prints.

    TENURE ~ AGE + I(AGE ** 2) + C(SEX) + C(MSTATUS, Treatment('single')):AGE

A small grammar of ours, read by a parser of ours; no part of a formula is ever evaluated as Python. Columns of words are categorical, with
treatment coding; the first level of the file is the reference unless the formula names one. Terms are ordered, and redundant
columns left out, by patsy's rules (Smith 2011, "Redundancy and categorical factors" in the manual of patsy): within terms of the same
numbers, a factor gets all its levels exactly if nothing before it has covered what its reference would.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from .._base.errors import InputError, UnknownNameError
from .._base.masking import unknown_level, without_levels
from .columns import Floats
from .equations import Terms
from .fields import Fields
from .grammar import HELP, MOST_COLUMNS, Factor, Parser, Term, unique
from .tokens import Reader
from .where import Filter

__all__ = ["Factor", "Formula", "plain_name", "read_formula"]


@dataclass(frozen=True, eq=False)
class Formula:
    """A formula compiled: the label, and the design as terms with the names of its columns in patsy's order.

    `safe_names` are the names as messages may have them: a sign stands for levels that ten records are not known to have, `rare`.
    """

    label: Factor
    names: tuple[str, ...]
    terms: tuple[Terms, ...]
    safe_names: tuple[str, ...]
    rare: frozenset[str] = frozenset()

    def unknown(self, thing: str, name: str) -> UnknownNameError:
        """Return the error for a name that is none of a column of the design."""
        return unknown_level(thing, without_levels(name, self.rare), self.common_names)

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


def read_formula(text: str, fields: Fields, *, kept: Filter | None = None, output: str = "") -> Formula:
    """Return a formula compiled for columns; InputError, with what is supported, for anything else.

    Parameters
    ----------
    text
        The formula.
    fields
        The columns.
    kept
        The output's filter: levels that it leaves out are no levels of the formula's factors.
    output
        The output's name, for messages.

    Examples
    --------
    >>> from chaffinch.outputs.fields import Field
    >>> fields = Fields((Field("rich", ("no", "yes")), Field("sex", ("f", "m")), Field("age", (0, 1, 2))))
    >>> read_formula("rich ~ age + C(sex) + sex:age", fields).names
    ('Intercept', 'C(sex)[T.m]', 'age', 'sex[T.m]:age')
    """
    reader = Reader(text, what=f"The formula of output '{output}'" if output else "The formula")
    parser = Parser(reader, fields, kept or Filter((), fields.columns.sizes))
    label = parser.factor()
    if not reader.accept("~"):
        raise InputError(
            f"{reader.what} must have the label, ~ and the terms. Got {reader.next.safe_text} after the label. {HELP}"
        )
    expression = parser.sum()
    reader.finish()
    terms = unique([*([()] if expression.intercept or not expression.removed else []), *expression.terms])
    if not terms:
        raise InputError(f"{reader.what} has no terms.")
    return _compiled(label, terms, parser)


def _ordered(terms: list[Term]) -> list[list[Term]]:
    """Terms in buckets of the same numbers, those without any first, by degree within a bucket."""
    buckets: dict[frozenset[str], list[Term]] = {frozenset(): []}
    for term in terms:
        buckets.setdefault(frozenset(f.text for f in term if not f.categorical), []).append(term)
    return [sorted(bucket, key=len) for bucket in buckets.values()]


def _codings(term: Term, used: set[frozenset[str]]) -> list[dict[str, bool]]:
    """For each part of a term its categorical factors, and whether each has all its levels (True) or not its reference.

    a:b stands for 1 + a- + b- + a-:b- (the minus: without reference); parts that came before are left out, and a part that lacks one
    factor of a longer part is absorbed by it, the factor then having all its levels.
    """
    names = [factor.text for factor in term if factor.categorical]
    parts: list[frozenset[tuple[str, bool]]] = []
    for size in range(len(names) + 1):
        for subset in combinations(names, size):
            if frozenset(subset) not in used:
                used.add(frozenset(subset))
                parts.append(frozenset((name, False) for name in subset))
    while (pair := _absorbable(parts)) is not None:
        short, long = pair
        (gained,) = parts[long] - parts[short]
        parts[long] = parts[short] | {(gained[0], True)}
        del parts[short]
    return [dict(part) for part in parts]


def _absorbable(parts: list[frozenset[tuple[str, bool]]]) -> tuple[int, int] | None:
    for short, small in enumerate(parts):
        for long in range(short + 1, len(parts)):
            if len(parts[long]) == len(small) + 1 and parts[long] > small:
                return short, long
    return None


def _compiled(label: Factor, terms: list[Term], parser: Parser) -> Formula:
    names, safe_names = list[str](), list[str]()
    blocks: dict[tuple[int, ...], list[tuple[NDArray[np.intp], NDArray[np.intp], Floats]]] = {}
    for bucket in _ordered(terms):
        used: set[frozenset[str]] = set()
        for term in bucket:
            for coding in _codings(term, used):
                factors = [factor for factor in term if not factor.categorical or factor.text in coding]
                columns = tuple(sorted({column for factor in factors for column in factor.columns}))
                block = _block(factors, coding, columns, parser)
                new, safe = _names(factors, coding, parser.fields)
                blocks.setdefault(columns, []).append((block[0], block[1] + len(names), block[2]))
                names += new
                safe_names += safe
                if len(names) > MOST_COLUMNS:
                    raise InputError(f"{parser.reader.what} has over {MOST_COLUMNS} columns.")
    if len({plain_name(name) for name in names}) < len(names):
        raise InputError(f"{parser.reader.what} makes two columns of the same name.")
    joined = tuple(_joined(columns, made, parser.fields) for columns, made in blocks.items())
    coded = {column for term in terms for factor in term if factor.categorical for column in factor.columns}
    rare = frozenset(label for column in coded for label in parser.fields.every[column].rare)
    return Formula(label, tuple(names), joined, tuple(safe_names), rare)


def _coded(factor: Factor, whole: bool) -> list[int]:
    """The codes of the levels that have a column."""
    assert factor.levels is not None
    return [code for code in factor.levels if whole or code != factor.reference]


def _names(factors: list[Factor], coding: dict[str, bool], fields: Fields) -> tuple[list[str], list[str]]:
    """The names of a part's columns, and the same as messages may have them."""
    pieces, safe_pieces = list[list[str]](), list[list[str]]()
    for factor in factors:
        if factor.categorical:
            whole, field = coding[factor.text], fields.every[factor.columns[0]]
            sign, codes = "" if whole else "T.", _coded(factor, whole)
            pieces.append([f"{factor.text}[{sign}{field.labels[code]}]" for code in codes])
            safe_pieces.append([f"{factor.safe_text}[{sign}{field.safe_label(code)}]" for code in codes])
        else:
            pieces.append([factor.text])
            safe_pieces.append([factor.safe_text])
    # The leftmost factor runs fastest.
    names, safe_names = (
        [":".join(reversed(parts)) or "Intercept" for parts in product(*reversed(some))]
        for some in (pieces, safe_pieces)
    )
    return names, safe_names


def _block(
    factors: list[Factor], coding: dict[str, bool], columns: tuple[int, ...], parser: Parser
) -> tuple[NDArray[np.intp], NDArray[np.intp], Floats]:
    """The combinations that have an entry, its column from 0, and its value: one entry at most for each combination."""
    fields = parser.fields
    grid = fields.grid(columns)
    size = int(np.prod(fields.sizes(columns), dtype=np.int64))
    inside = np.ones(size, dtype=bool)
    for column in columns:
        inside &= parser.kept.levels(column)[grid[column]]
    at, stride, value = np.zeros(size, dtype=np.intp), 1, np.ones(size)
    for factor in factors:
        if factor.categorical:
            codes = _coded(factor, coding[factor.text])
            number = np.full(fields.columns.sizes[factor.columns[0]], -1)
            number[codes] = np.arange(len(codes))
            of = number[grid[factor.columns[0]]]
            inside &= of >= 0
            at += stride * np.maximum(of, 0)
            stride *= len(codes)
        else:
            value = value * factor.numbers(fields, grid)
    if not np.isfinite(value[inside]).all():
        text = ":".join(factor.safe_text for factor in factors)
        raise InputError(
            f"{parser.reader.what}: {text} is no finite number for some levels. Leave them out by a filter."
        )
    rows = np.flatnonzero(inside & (value != 0.0))
    return rows, at[rows], value[rows]


def _joined(
    columns: tuple[int, ...], made: list[tuple[NDArray[np.intp], NDArray[np.intp], Floats]], fields: Fields
) -> Terms:
    """Blocks that read the same columns as one look-up."""
    rows, equations, values = (np.concatenate(parts) for parts in zip(*made, strict=True))
    order = np.lexsort((equations, rows))
    sizes = fields.sizes(columns)
    counts = np.bincount(rows, minlength=int(np.prod(sizes, dtype=np.int64)))
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Terms(columns, sizes, starts, equations[order].astype(np.int64), values[order])
