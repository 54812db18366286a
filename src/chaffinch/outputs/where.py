"""Filters: which records an output was made of, in a small language that is parsed, never evaluated.

    AGE >= 16 and SEX != 'f'        16 <= AGE < 65        REGION in ['north', 'east']        not (AGE < 16 or SEX == 'f')

A comparison has a column on one side and a number or a word in quotes on the other; names with spaces stand in backticks. What comes out is
a product of masks, each over the levels of one column wherever the filter allows it, so that the engines need look-ups alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._base.errors import InputError
from .._base.tokens import Reader
from .columns import Codes
from .equations import Lookup
from .fields import Field, Fields, Scalar

__all__ = ["Filter", "read_filter"]

Mask = NDArray[np.bool_]

_SIGNS = ("==", "!=", "<=", ">=", "<", ">")
_TURNED = {"==": "==", "!=": "!=", "<=": ">=", ">=": "<=", "<": ">", ">": "<"}
HELP = (
    "Filters are made of comparisons such as AGE >= 16, SEX == 'f' or REGION in ['north', 'east'], with and, or, not."
)


@dataclass(frozen=True, eq=False)
class Filter:
    """The records that an output was made of: those for which every mask holds.

    Parameters
    ----------
    masks
        Positions of columns, and for each combination of their levels (C order) whether it is kept. A column that stands alone in a
        mask stands in no other such mask.
    sizes
        The numbers of levels of all columns.
    """

    masks: tuple[tuple[tuple[int, ...], Mask], ...]
    sizes: tuple[int, ...]

    @property
    def simple(self) -> bool:
        """Whether each mask reads one column."""
        return all(len(columns) == 1 for columns, _ in self.masks)

    @property
    def key(self) -> tuple[tuple[tuple[int, ...], bytes], ...]:
        """What two filters that keep the same levels have in common."""
        return tuple((columns, mask.tobytes()) for columns, mask in self.masks)

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns it reads."""
        return tuple(sorted({column for columns, _ in self.masks for column in columns}))

    def levels(self, position: int) -> Mask:
        """Return for each level of a column whether a mask of its own keeps it."""
        return next(
            (mask for columns, mask in self.masks if columns == (position,)), np.ones(self.sizes[position], dtype=bool)
        )

    def keep(self) -> tuple[Lookup, ...]:
        """Return the filter as look-ups of 0 and 1, whose product says whether a record counts."""
        return tuple(
            Lookup(columns, tuple(self.sizes[c] for c in columns), mask.astype(float)[:, None])
            for columns, mask in self.masks
        )

    def of(self, codes: Codes) -> Mask:
        """Return which records are kept."""
        kept = np.ones(len(codes), dtype=bool)
        for look in self.keep():
            kept &= look.of(codes)[:, 0] > 0
        return kept


def read_filter(text: str | None, fields: Fields, *, output: str = "") -> Filter:
    """Return the filter that a text describes; None or nothing keeps all records.

    Examples
    --------
    >>> fields = Fields((Field("sex", ("f", "m")), Field("age", (0, 1, 2, 3))))
    >>> kept = read_filter("age >= 1 and sex != 'f'", fields)
    >>> [(columns, mask.tolist()) for columns, mask in kept.masks]
    [((0,), [False, True]), ((1,), [False, True, True, True])]
    """
    sizes = fields.columns.sizes
    if text is None or not text.strip():
        return Filter((), sizes)
    reader = Reader(text, what=f"The filter of output '{output}'" if output else "The filter")
    tree = _either(reader, fields)
    reader.finish()
    single: dict[int, Mask] = {}
    joint: list[tuple[tuple[int, ...], Mask]] = []
    for part in _conjuncts(tree, negated=False):
        columns = tuple(sorted(_columns(part)))
        mask = _evaluate(part, fields.grid(columns))
        if len(columns) == 1:
            single[columns[0]] = single.get(columns[0], np.ones(sizes[columns[0]], dtype=bool)) & mask
        else:
            joint.append((columns, mask))
    masks = [((column,), mask) for column, mask in sorted(single.items())] + joint
    if any(not mask.any() for _, mask in masks):
        raise InputError(f"{reader.what} keeps no level of a column that it reads: no record could pass.")
    return Filter(tuple((columns, mask) for columns, mask in masks if not mask.all()), sizes)


# A tree of ("and" | "or", left, right), ("not", inner) and leaves (column, mask over its levels).
_Tree = tuple[object, ...]


def _either(reader: Reader, fields: Fields) -> _Tree:
    tree = _both(reader, fields)
    while reader.accept("or"):
        tree = ("or", tree, _both(reader, fields))
    return tree


def _both(reader: Reader, fields: Fields) -> _Tree:
    tree = _one(reader, fields)
    while reader.accept("and"):
        tree = ("and", tree, _one(reader, fields))
    return tree


def _one(reader: Reader, fields: Fields) -> _Tree:
    reader.deeper()
    try:
        if reader.accept("not"):
            return ("not", _one(reader, fields))
        if reader.accept("("):
            tree = _either(reader, fields)
            reader.expect(")")
            return tree
        return _comparison(reader, fields)
    finally:
        reader.shallower()


def _comparison(reader: Reader, fields: Fields) -> _Tree:
    left = _operand(reader, fields)
    if isinstance(left, Field) and (reader.ahead("in", "not")):
        outside = bool(reader.accept("not"))
        reader.expect("in")
        mask = np.zeros(len(left.levels), dtype=bool)
        for level in _listed(reader, fields):
            mask[left.code(level)] = True
        return (fields.position(left.name), ~mask if outside else mask)
    tree: _Tree | None = None
    while sign := reader.accept(*_SIGNS):
        right = _operand(reader, fields)
        if isinstance(left, Field) == isinstance(right, Field):
            raise InputError(f"{reader.what} must compare a column with a number or a word in quotes. {HELP}")
        leaf = (
            _leaf(left, sign, right, fields) if isinstance(left, Field) else _leaf(right, _TURNED[sign], left, fields)
        )
        tree = leaf if tree is None else ("and", tree, leaf)
        left = right
    if tree is None:
        raise InputError(f"{reader.what} has no comparison before {reader.next.safe_text}. {HELP}")
    return tree


def _leaf(field: Field | Scalar, sign: str, value: Field | Scalar, fields: Fields) -> _Tree:
    assert isinstance(field, Field)
    assert not isinstance(value, Field)
    position = fields.position(field.name)
    if sign in ("==", "!="):
        mask = np.arange(len(field.levels)) == field.code(value)
        return (position, mask if sign == "==" else ~mask)
    if not field.numeric or isinstance(value, str | bool):
        raise InputError(
            f"Column '{field.name}' cannot be compared by size in a filter: that needs numbers. Use == or in."
        )
    values = field.values
    mask = {"<": values < value, "<=": values <= value, ">": values > value, ">=": values >= value}[sign]
    return (position, mask)


def _operand(reader: Reader, fields: Fields) -> Field | Scalar:
    token = reader.take()
    if token.kind == "word":
        return token.value
    if token.kind == "number":
        return _number(token.value)
    if token.kind == "sign" and token.value == "-" and reader.next.kind == "number":
        return -_number(reader.take().value)
    if token.kind == "name" and token.value not in ("and", "or", "not", "in"):
        if token.value in fields.names:
            return fields[token.value]
        if token.value in ("True", "False", "true", "false"):
            return token.value.capitalize() == "True"
        raise InputError(f"{reader.what}: {fields.unknown_column(token.value)} Words stand in quotes.")
    raise InputError(
        f"{reader.what} has {token.safe_text} where a column, a number or a word in quotes belongs. {HELP}"
    )


def _listed(reader: Reader, fields: Fields) -> list[Scalar]:
    opened = reader.accept("[", "(")
    if not opened:
        raise InputError(f"{reader.what} must have a list in brackets after 'in'. {HELP}")
    found: list[Scalar] = []
    while True:
        value = _operand(reader, fields)
        if isinstance(value, Field):
            raise InputError(f"{reader.what} may list numbers and words in quotes after 'in', no columns.")
        found.append(value)
        if not reader.accept(","):
            break
    reader.expect("]" if opened == "[" else ")")
    return found


def _number(text: str) -> int | float:
    return int(text) if text.isdigit() else float(text)


def _conjuncts(tree: _Tree, *, negated: bool) -> list[_Tree]:
    """The parts that must all hold; `not (a or b)` has two."""
    if tree[0] == "not":
        return _conjuncts(tree[1], negated=not negated)  # type: ignore[arg-type]
    if tree[0] == ("or" if negated else "and"):
        return [part for side in tree[1:] for part in _conjuncts(side, negated=negated)]  # type: ignore[arg-type]
    return [("not", tree)] if negated else [tree]


def _columns(tree: _Tree) -> set[int]:
    if tree[0] in ("and", "or", "not"):
        return set().union(*(_columns(side) for side in tree[1:]))  # type: ignore[arg-type]
    return {tree[0]}  # type: ignore[arg-type]


def _evaluate(tree: _Tree, grid: dict[int, NDArray[np.intp]]) -> Mask:
    if tree[0] == "not":
        return ~_evaluate(tree[1], grid)  # type: ignore[arg-type]
    if tree[0] in ("and", "or"):
        left, right = (_evaluate(side, grid) for side in tree[1:])  # type: ignore[arg-type]
        return left & right if tree[0] == "and" else left | right
    return tree[1][grid[tree[0]]]  # type: ignore[index]
