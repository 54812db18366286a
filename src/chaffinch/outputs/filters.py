"""Filters: which records an output was made of, in a small language that is parsed, never evaluated.

    AGE >= 16 and SEX != 'f'        16 <= AGE < 65        REGION in ['north', 'east']        not (AGE < 16 or SEX == 'f')

A comparison has a column on one side and a number or a word in quotes on the other; names with spaces stand in backticks. What comes out is
a product of masks, each over the levels of one column wherever the filter allows it, so that the engines need look-ups alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from .._base.arrays import Floats, Mask
from .._base.conditions import (
    HELP,
    TURNED,
    All,
    Among,
    AnyOf,
    Comparisons,
    Condition,
    Name,
    Not,
    Operand,
    Sum,
    read_condition,
)
from .._base.errors import InputError
from .._base.tokens import Reader
from .domain import Codes, OutputColumn, OutputDomain, Scalar
from .equations import Lookup

_SIGNS: dict[str, Callable[[Floats, float], Mask]] = {
    "==": np.equal,
    "!=": np.not_equal,
    "<=": np.less_equal,
    ">=": np.greater_equal,
    "<": np.less,
    ">": np.greater,
}


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
            (mask for columns, mask in self.masks if columns == (position,)),
            np.ones(self.sizes[position], dtype=bool),
        )

    def keep(self) -> tuple[Lookup, ...]:
        """Return the filter as look-ups of 0 and 1, whose product says whether a record counts."""
        return tuple(
            Lookup(columns, tuple(self.sizes[c] for c in columns), mask.astype(float)[:, None])
            for columns, mask in self.masks
        )

    def record_mask(self, codes: Codes) -> Mask:
        """Return which records are kept."""
        passes = np.ones(len(codes), dtype=bool)
        for look in self.keep():
            passes &= look.evaluate(codes)[:, 0] > 0
        return passes

    def level_mask(self, grid: Mapping[int, NDArray[np.intp]]) -> Mask:
        """Return which combinations of levels have none that a mask of a single column leaves out."""
        return np.logical_and.reduce([self.levels(column)[codes] for column, codes in grid.items()])


def read_filter(text: str | None, fields: OutputDomain, *, output: str = "") -> Filter:
    """Return the filter that a text describes; None or nothing keeps all records.

    Examples
    --------
    >>> fields = OutputDomain((OutputColumn("sex", ("f", "m")), OutputColumn("age", (0, 1, 2, 3))))
    >>> adults = read_filter("age >= 1 and sex != 'f'", fields)
    >>> [(columns, mask.tolist()) for columns, mask in adults.masks]
    [((0,), [False, True]), ((1,), [False, True, True, True])]
    """
    sizes = fields.sizes
    if text is None or not text.strip():
        return Filter((), sizes)
    reader = Reader(text, what=f"The filter of output '{output}'" if output else "The filter")
    conditions = _Conditions(reader.what, fields).masks(read_condition(reader))
    single: dict[int, Mask] = {}
    joint: _Masks = []
    for columns, mask in conditions:
        if len(columns) == 1:
            single[columns[0]] = (
                single.get(columns[0], np.ones(sizes[columns[0]], dtype=bool)) & mask
            )
        else:
            joint.append((columns, mask))
    masks = [((column,), mask) for column, mask in sorted(single.items())] + joint
    if any(not mask.any() for _, mask in masks):
        raise InputError(
            f"{reader.what} keeps no level of a column that it reads: no record could pass."
        )
    return Filter(tuple((columns, mask) for columns, mask in masks if not mask.all()), sizes)


_Masks = list[tuple[tuple[int, ...], Mask]]
"""Conditions that must all hold: columns, and for each combination of their levels whether it does."""


class _Conditions:
    """Conditions as masks. `negated` turns `or` into `and` and the reverse, so that `not (a or b)` is two conditions."""

    def __init__(self, what: str, fields: OutputDomain) -> None:
        self.what, self.fields = what, fields

    def masks(self, condition: Condition, *, negated: bool = False) -> _Masks:
        if isinstance(condition, Not):
            return self.masks(condition.inner, negated=not negated)
        if isinstance(condition, All | AnyOf):
            parts = [self.masks(operand, negated=negated) for operand in condition.parts]
            together = isinstance(condition, All) != negated
            return [mask for masks in parts for mask in masks] if together else self.one_of(parts)
        if isinstance(condition, Among):
            return [self.among(condition, negated=negated)]
        assert isinstance(condition, Comparisons)
        masks = self.compared(condition, negated=negated)
        return self.one_of([[mask] for mask in masks]) if negated else masks

    def one_of(self, parts: Sequence[_Masks]) -> _Masks:
        """Return the single condition that all of one part hold."""
        if len(parts) == 1:
            return parts[0]
        columns = tuple(
            sorted(
                {column for masks in parts for columns_read, _ in masks for column in columns_read}
            )
        )
        grid, sizes = self.fields.grid(columns), self.fields.sizes
        expanded = [
            [
                mask[
                    np.ravel_multi_index(
                        [grid[c] for c in columns_read], [sizes[c] for c in columns_read]
                    )
                ]
                for columns_read, mask in masks
            ]
            for masks in parts
        ]
        return [
            (columns, np.logical_or.reduce([np.logical_and.reduce(masks) for masks in expanded]))
        ]

    def among(self, condition: Among, *, negated: bool) -> tuple[tuple[int, ...], Mask]:
        field = self.operand(condition.column)
        if not isinstance(field, OutputColumn):
            raise InputError(f"{self.what} must have a column before 'in'. It is {HELP}")
        mask = np.zeros(len(field.levels), dtype=bool)
        for operand in condition.values:
            value = self.operand(operand)
            if isinstance(value, OutputColumn):
                raise InputError(
                    f"{self.what} may list numbers and words in quotes after 'in', no columns."
                )
            mask[field.code(value)] = True
        return (self.fields.position(field.name),), mask ^ condition.outside ^ negated

    def compared(self, condition: Comparisons, *, negated: bool) -> _Masks:
        masks: _Masks = []
        operands = [self.operand(operand) for operand in condition.operands]
        for (first, right), sign in zip(pairwise(operands), condition.signs, strict=True):
            if isinstance(first, OutputColumn) == isinstance(right, OutputColumn):
                raise InputError(
                    f"{self.what} must compare a column with a number or a word in quotes. It is {HELP}"
                )
            field, mask = (
                _compare_levels(first, sign, right)
                if isinstance(first, OutputColumn)
                else _compare_levels(right, TURNED[sign], first)
            )
            masks.append(((self.fields.position(field.name),), mask ^ negated))
        return masks

    def operand(self, operand: Operand) -> OutputColumn | Scalar:
        assert not isinstance(operand, Sum)  # sums are for rules
        if not isinstance(operand, Name):
            return operand
        if operand.name in self.fields.names:
            return self.fields[operand.name]
        if operand.name in ("True", "False", "true", "false"):
            return operand.name.capitalize() == "True"
        raise InputError(
            f"{self.what}: {self.fields.unknown_column(operand.name)} Words stand in quotes."
        )


def _compare_levels(
    field: OutputColumn | Scalar, sign: str, value: OutputColumn | Scalar
) -> tuple[OutputColumn, Mask]:
    """A column, and for each of its levels whether a comparison holds."""
    assert isinstance(field, OutputColumn)
    assert not isinstance(value, OutputColumn)
    if sign in ("==", "!="):
        return field, (np.arange(len(field.levels)) == field.code(value)) ^ (sign == "!=")
    if not field.numeric or isinstance(value, str | bool):
        raise InputError(
            f"Column '{field.name}' cannot be compared by size in a filter: that needs numbers. Use == or in."
        )
    return field, _SIGNS[sign](field.values, value)
