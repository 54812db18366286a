"""Relations put on codes: which combinations of codes leave a relation possible, and what a column that determines another maps to.

Codes of numbers are ranges. A combination of codes may occur if some numbers of their ranges keep the relation; which numbers are
drawn is decided afterwards. Missing codes leave every relation open.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.errors import SchemaError
from .._base.masking import THRESHOLD
from .codec import Categories, Intervals
from .constraints import AllowedCodes
from .function_map import FunctionMap
from .relations import (
    Equality,
    Function,
    MissingTogether,
    Order,
    Relation,
    part_of,
    per_unit,
    relations_of,
)
from .schema import Column, Schema

MOST_GRID = 1 << 18
"""The most combinations of codes that are looked at for one relation; above, rows are put right by their numbers alone."""

Mask = NDArray[np.bool_]
Ranges = tuple[NDArray[np.float64], NDArray[np.float64], Mask]


def code_ranges(column: Column) -> Ranges:
    """Return the lowest and the highest number of each code in the units of rules, and which codes stand for numbers at all."""
    codec = column.fitted_codec
    low, high = np.zeros(codec.size), np.zeros(codec.size)
    there = np.zeros(codec.size, dtype=bool)
    if isinstance(codec, Intervals):
        low[: codec.n_values], high[: codec.n_values] = codec.ranges()
        there[: codec.n_values] = True
    else:
        for code, level in enumerate(codec.levels):
            if not isinstance(level, str):
                low[code] = high[code] = float(level)
                there[code] = True
    scale = per_unit(column)
    return low / scale, high / scale, there


def relation_groups(schema: Schema, functions: Sequence[FunctionMap]) -> tuple[AllowedCodes, ...]:
    """Return for each relation of a fitted schema which combinations of codes may occur. Relations over too many combinations have none.

    Raises SchemaError if a relation allows nothing: it contradicts the levels or bounds.
    """
    out = []
    maps = {(function.left, function.right): function for function in functions}
    for relation in relations_of(schema):
        columns = tuple(dict.fromkeys(relation.columns))
        sizes = [schema[name].size for name in columns]
        if prod(sizes) > MOST_GRID:
            continue
        allowed = _allowed(relation, [schema[name] for name in columns], maps)
        if allowed is None:
            continue
        if not allowed.any():
            raise SchemaError(
                f"No record can keep '{relation.text}': it contradicts the levels or bounds of its columns. Correct one."
            )
        out.append(AllowedCodes(columns, allowed, (relation.text,)))
    return tuple(out)


def _allowed(
    relation: Relation, columns: Sequence[Column], maps: Mapping[tuple[str, str], FunctionMap]
) -> Mask | None:
    if isinstance(relation, Function):
        function = maps.get((relation.left, relation.right))
        return None if function is None else _by_function(function, *columns)
    shapes = [[-1 if i == j else 1 for i in range(len(columns))] for j in range(len(columns))]
    if isinstance(relation, MissingTogether):
        empty = [
            (np.arange(c.size) >= c.fitted_codec.n_values).reshape(shape)
            for c, shape in zip(columns, shapes, strict=True)
        ]
        none, every = np.ones((1,), dtype=bool), np.ones((1,), dtype=bool)
        for mask in empty:
            none, every = none & ~mask, every & mask
        return np.asarray(none | every)
    total = relation.right if isinstance(relation, Equality) else relation.difference
    if any(part.function and not part.function.startswith("year") for part in total.parts):
        return None
    ranges = {
        column.name: (*code_ranges(column), shape)
        for column, shape in zip(columns, shapes, strict=True)
    }
    low, high = (
        np.full([1] * len(columns), total.constant),
        np.full([1] * len(columns), total.constant),
    )
    open_ones = np.zeros([1] * len(columns), dtype=bool)
    parts = [(p.column, p.factor, p.function) for p in total.parts]
    if isinstance(relation, Equality):
        parts.append((relation.left, -1.0, ""))
    for name, factor, word in parts:
        first, last, there, shape = ranges[name]
        ends = np.sort(np.stack([part_of(first, word), part_of(last, word)]) * factor, axis=0)
        low, high = low + ends[0].reshape(shape), high + ends[1].reshape(shape)
        open_ones = open_ones | ~there.reshape(shape)
    size = np.maximum(np.abs(low), np.abs(high))
    if isinstance(relation, Order):
        return np.asarray(
            open_ones | ((high > 1e-9 * size) if relation.strict else (high >= -1e-9 * size))
        )
    room = relation.slack * (1 + 1e-6) + 1e-6 * size
    return np.asarray(open_ones | ((low <= room) & (high >= -room)))


def _by_function(function: FunctionMap, left: Column, right: Column) -> Mask:
    allowed = np.ones((left.size, right.size), dtype=bool)
    for code, image in enumerate(function.codes):
        if image >= 0:
            allowed[code, : right.fitted_codec.n_values] = False
            allowed[code, image] = True
    return allowed


def function_of_counts(
    relation: Function,
    schema: Schema,
    counts: NDArray[Any],
    number_of: Callable[[int, int], float | None],
) -> FunctionMap:
    """Return the map that counts of records by left and right code speak for: the right code that most records of a left code have.

    Left codes that no record has go where most records are. `number_of(left, right)` is the number that stands for a bin, if any does.
    """
    left, right = schema[relation.left].fitted_codec, schema[relation.right]
    codec = right.fitted_codec
    n = codec.n_values
    if not n:
        return FunctionMap(relation.left, relation.right, (), ())
    seen = np.asarray(counts)[: left.n_values, :n]
    usual = int(seen.sum(axis=0).argmax())
    codes = np.where(seen.any(axis=1), seen.argmax(axis=1), usual).tolist()
    bins = set(codec.bin_codes.tolist()) if isinstance(codec, Intervals) else set()
    numbers = tuple(
        (shared if (shared := number_of(code, image)) is not None else _middle(codec, image))
        if image in bins and isinstance(codec, Intervals)
        else None
        for code, image in enumerate(codes)
    )
    return FunctionMap(relation.left, relation.right, tuple(codes), numbers)


def _middle(codec: Intervals, code: int) -> float:
    """The number in the middle of what is drawn from a bin: on its digits, and no atom."""
    knots = codec.knots[int(np.flatnonzero(codec.bin_codes == code)[0])]
    low, high = (float(ends[code]) for ends in codec.ranges())
    middle = float(np.interp(0.5, *knots))
    grid = (
        float(codec.step)
        if codec.whole
        else 0.0
        if codec.decimals is None
        else 10.0**-codec.decimals
    )
    for steps in (0, 1, -1, 2, -2, 3, -3):
        number = middle if not grid else np.rint(middle / grid + steps) * grid
        number = (
            float(np.round(number, codec.decimals)) if codec.decimals is not None else float(number)
        )
        if (
            low <= number <= high
            and int(codec.encode(np.array([number], dtype=codec.atoms.dtype))[0]) == code
        ):
            return number
    return low


def fit_function(
    relation: Function,
    schema: Schema,
    left: NDArray[Any],
    right: NDArray[Any],
    numbers: NDArray[Any] | None,
    *,
    threshold: int = THRESHOLD,
) -> FunctionMap:
    """Return the map of a function from the codes of all records, and the stored numbers of the right column where it has bins."""
    rows, columns = schema[relation.left].size, schema[relation.right].size
    counts = np.bincount(left.astype(np.int64) * columns + right, minlength=rows * columns).reshape(
        rows, columns
    )

    def shared(code: int, image: int) -> float | None:
        if numbers is None:
            return None
        values, records = np.unique(numbers[(left == code) & (right == image)], return_counts=True)
        return (
            float(values[records.argmax()]) if len(values) and records.max() >= threshold else None
        )

    return function_of_counts(relation, schema, counts, shared)


def check_functions(schema: Schema) -> None:
    """Raise unless the functions of a schema go with the codes of its columns: files come from strangers."""
    for function in schema.functions:
        left, right = schema[function.left].fitted_codec, schema[function.right].fitted_codec
        fits = len(function.codes) in (0, left.n_values) and all(
            -1 <= code < right.n_values for code in function.codes
        )
        if isinstance(right, Categories):
            fits = fits and all(number is None for number in function.numbers)
        else:
            low, high = right.ranges()
            fits = fits and all(
                n is None or low[c] <= n <= high[c]
                for c, n in zip(function.codes, function.numbers, strict=True)
            )
        if not fits:
            raise SchemaError(
                f"The function from '{function.left}' to '{function.right}' does not go with their codes."
            )
