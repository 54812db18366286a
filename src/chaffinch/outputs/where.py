"""Filters: which records an output was made of, in a small language that is parsed, never evaluated.

    AGE >= 16 and SEX != 'f'        16 <= AGE < 65        REGION in ['north', 'east']        not (AGE < 16 or SEX == 'f')

A comparison has a column on one side and a number or a word in quotes on the other; names with spaces stand in backticks. What comes out is
a product of masks, each over the levels of one column wherever the filter allows it, so that the engines need look-ups alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._base.errors import InputError
from .._base.tokens import Reader
from .columns import Codes, Floats
from .equations import Lookup
from .fields import Field, Fields, Scalar

__all__ = ["Filter", "read_filter"]

Mask = NDArray[np.bool_]

_SIGNS: dict[str, Callable[[Floats, float], Mask]] = {
    "==": np.equal, "!=": np.not_equal, "<=": np.less_equal, ">=": np.greater_equal, "<": np.less, ">": np.greater,
}  # fmt: skip
_TURNED = {"==": "==", "!=": "!=", "<=": ">=", ">=": "<=", "<": ">", ">": "<"}
HELP = (
    "Filters are made of comparisons such as AGE >= 16, SEX == 'f' or REGION in ['north', 'east'], with and, or, not."
)


@dataclass(frozen=True, eq=False)
class Filter:
    """The records that an output was made of: those for which every mask holds.

    A mask has positions of columns, and for each combination of their levels (C order) whether it is kept. A column that stands alone in
    a mask stands in no other such mask. `sizes` are the numbers of levels of all columns.
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
        passes = np.ones(len(codes), dtype=bool)
        for look in self.keep():
            passes &= look.of(codes)[:, 0] > 0
        return passes

    def of_grid(self, grid: Mapping[int, NDArray[np.intp]]) -> Mask:
        """Return which combinations of levels have none that a mask of a single column leaves out."""
        return np.logical_and.reduce([self.levels(column)[codes] for column, codes in grid.items()])


def read_filter(text: str | None, fields: Fields, *, output: str = "") -> Filter:
    """Return the filter that a text describes; None or nothing keeps all records.

    Examples
    --------
    >>> fields = Fields((Field("sex", ("f", "m")), Field("age", (0, 1, 2, 3))))
    >>> adults = read_filter("age >= 1 and sex != 'f'", fields)
    >>> [(columns, mask.tolist()) for columns, mask in adults.masks]
    [((0,), [False, True]), ((1,), [False, True, True, True])]
    """
    sizes = fields.columns.sizes
    if text is None or not text.strip():
        return Filter((), sizes)
    reader = Reader(text, what=f"The filter of output '{output}'" if output else "The filter")
    conditions = _Conditions(reader, fields).either()
    reader.finish()
    single: dict[int, Mask] = {}
    joint: _Masks = []
    for columns, mask in conditions:
        if len(columns) == 1:
            single[columns[0]] = single.get(columns[0], np.ones(sizes[columns[0]], dtype=bool)) & mask
        else:
            joint.append((columns, mask))
    masks = [((column,), mask) for column, mask in sorted(single.items())] + joint
    if any(not mask.any() for _, mask in masks):
        raise InputError(f"{reader.what} keeps no level of a column that it reads: no record could pass.")
    return Filter(tuple((columns, mask) for columns, mask in masks if not mask.all()), sizes)


_Masks = list[tuple[tuple[int, ...], Mask]]
"""Conditions that must all hold: columns, and for each combination of their levels whether it does."""


class _Conditions:
    """Recursive descent. `negated` turns `or` into `and` and the reverse, so that `not (a or b)` is two conditions."""

    def __init__(self, reader: Reader, fields: Fields) -> None:
        self.reader, self.fields = reader, fields

    def either(self, *, negated: bool = False) -> _Masks:
        parts = [self.both(negated=negated)]
        while self.reader.accept("or"):
            parts.append(self.both(negated=negated))
        return [mask for part in parts for mask in part] if negated else self.one_of(parts)

    def both(self, *, negated: bool) -> _Masks:
        parts = [self.one(negated=negated)]
        while self.reader.accept("and"):
            parts.append(self.one(negated=negated))
        return self.one_of(parts) if negated else [mask for part in parts for mask in part]

    def one_of(self, parts: list[_Masks]) -> _Masks:
        """Return the single condition that all of one part hold."""
        if len(parts) == 1:
            return parts[0]
        columns = tuple(sorted({column for part in parts for some, _ in part for column in some}))
        grid, sizes = self.fields.grid(columns), self.fields.columns.sizes
        whole = [
            [mask[np.ravel_multi_index([grid[c] for c in some], [sizes[c] for c in some])] for some, mask in part]
            for part in parts
        ]
        return [(columns, np.logical_or.reduce([np.logical_and.reduce(part) for part in whole]))]

    def one(self, *, negated: bool) -> _Masks:
        self.reader.deeper()
        try:
            if self.reader.accept("not"):
                return self.one(negated=not negated)
            if self.reader.accept("("):
                masks = self.either(negated=negated)
                self.reader.expect(")")
                return masks
            return self.comparison(negated=negated)
        finally:
            self.reader.shallower()

    def comparison(self, *, negated: bool) -> _Masks:
        reader, fields = self.reader, self.fields
        left = _operand(reader, fields)
        if isinstance(left, Field) and reader.ahead("in", "not"):
            outside = bool(reader.accept("not"))
            reader.expect("in")
            mask = np.zeros(len(left.levels), dtype=bool)
            for level in _listed(reader, fields):
                mask[left.code(level)] = True
            return [((fields.position(left.name),), mask ^ outside ^ negated)]
        masks: _Masks = []
        while sign := reader.accept(*_SIGNS):
            right = _operand(reader, fields)
            if isinstance(left, Field) == isinstance(right, Field):
                raise InputError(f"{reader.what} must compare a column with a number or a word in quotes. {HELP}")
            field, mask = _compared(left, sign, right) if isinstance(left, Field) else _compared(right, _TURNED[sign], left)
            masks.append(((fields.position(field.name),), mask ^ negated))
            left = right
        if not masks:
            raise InputError(f"{reader.what} has no comparison before {reader.next.safe_text}. {HELP}")
        return self.one_of([[mask] for mask in masks]) if negated else masks


def _compared(field: Field | Scalar, sign: str, value: Field | Scalar) -> tuple[Field, Mask]:
    """A column, and for each of its levels whether a comparison holds."""
    assert isinstance(field, Field)
    assert not isinstance(value, Field)
    if sign in ("==", "!="):
        return field, (np.arange(len(field.levels)) == field.code(value)) ^ (sign == "!=")
    if not field.numeric or isinstance(value, str | bool):
        raise InputError(
            f"Column '{field.name}' cannot be compared by size in a filter: that needs numbers. Use == or in."
        )
    return field, _SIGNS[sign](field.values, value)


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
    values: list[Scalar] = []
    while True:
        value = _operand(reader, fields)
        if isinstance(value, Field):
            raise InputError(f"{reader.what} may list numbers and words in quotes after 'in', no columns.")
        values.append(value)
        if not reader.accept(","):
            break
    reader.expect("]" if opened == "[" else ")")
    return values


def _number(text: str) -> int | float:
    return int(text) if text.isdigit() else float(text)
