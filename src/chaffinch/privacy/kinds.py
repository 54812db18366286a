"""Kinds of columns found with noise, where a schema leaves them open: what share of the cells reads as a number, a date, a truth value.

Each cell belongs to one class by its own spelling, so a column's classes are a table of counts like any other, with noise in every
class, also empty ones. The kind is decided on noisy counts alone. Levels and bounds are discovered after it (`discover`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..table.schema import UNKNOWN, Column, Kind, Schema
from ..table.schema_file import usual_type
from ..table.spell import is_bytes, spell_values
from ..table.types import is_words
from .budget import Budget, Charge
from .noise import Noise
from .prepare import CellParts, StoredCells
from .relation import Unit
from .tallies import CellTallies

KINDS_SHARE = 0.04
"""The share of the budget for kinds that are to be discovered, shared evenly by their columns."""

CLASSES = ("empty", "whole", "fraction", "date", "moment", "truth", "word")
"""What a cell may be."""

FEW = 0.05
"""The share of cells that may be of another kind before a column is one of words: they are read as missing."""

MANY = 0.4
"""The share of fractions among numbers, or of times among dates, that is enough whatever the noise: a column of them has mostly such."""

SIGMAS = 3.0
"""How many standard deviations of the noise a small count must have before it says anything: public, and no part of the promise."""

_PATTERNS = (
    ("whole", re.compile(r"[+-]?[0-9]+(\.0*)?")),
    ("fraction", re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")),
    ("truth", re.compile(r"true|false", re.IGNORECASE)),
    ("date", re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ]00:00(:00(\.0+)?)?Z?)?")),
    (
        "moment",
        re.compile(
            r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?(Z|[+-][0-9]{2}:?[0-9]{2})?"
        ),
    ),
)


def as_words(schema: Schema) -> Schema:
    """Return the schema with columns of unknown kind as words to be discovered: what a plan reckons with, since it costs the most."""
    words = {
        c.name: replace(c, kind="categorical", type="string", bounds=None)
        for c in schema
        if c.kind == UNKNOWN
    }
    return replace(schema, columns=tuple(words.get(column.name, column) for column in schema))


def planned_kinds(schema: Schema, budget: Budget, unit: Unit) -> tuple[Charge, ...]:
    """Return the charge for the kind of each column whose kind is to be discovered: settled by declarations alone."""
    open_ones = [column.name for column in schema if column.kind == UNKNOWN]
    if not open_ones:
        return ()
    amount = KINDS_SHARE * budget.total / len(open_ones)
    _, std = budget.noise(amount, l1=unit.l1, l2=unit.l2_up)
    return tuple(
        budget.noise_charge(f"kind of '{name}'", "discover = true", amount, std)
        for name in open_ones
    )


def discover_kinds(
    cells: CellParts,
    schema: Schema,
    charges: Sequence[Charge],
    noise: Noise,
    budget: Budget,
    unit: Unit,
    charge: Callable[[Charge], None],
) -> Schema:
    """Return the schema with the kinds that were open, found at the cost that `planned_kinds` says; each is charged before the touch.

    Proof, for both relations: the class of a cell depends on the cell and on the declared decimal sign alone, so a row lies in one
    class of a column, and the counts of neighbours differ by at most l1 in sum and l2 in length. Noise as for any table of
    counts (`PrivateCounter.tables`) goes on all seven classes; the rest is done to noisy counts.
    """
    open_ones = [column for column in schema if column.kind == UNKNOWN]
    kinds, tallies = (
        {},
        CellTallies(cells, {column.name: _KindTally(column) for column in open_ones}),
    )
    for column, paid in zip(open_ones, charges, strict=True):
        charge(paid)
        counts = tallies.take(column.name).counts
        scale, std = budget.noise(paid.cost(budget.kind), l1=unit.l1, l2=unit.l2_up)
        noisy = (
            noise.laplace(counts, scale) if budget.kind == "pure" else noise.gaussian(counts, scale)
        )
        kinds[column.name] = _of_kind(column, *kind_from_counts(noisy, std))
    return replace(schema, columns=tuple(kinds.get(column.name, column) for column in schema))


class _KindTally:
    """How many cells of a column are of each class."""

    def __init__(self, column: Column) -> None:
        self.column, self.counts = column, np.zeros(len(CLASSES), dtype=np.int64)

    def add(self, cells: StoredCells) -> None:
        self.counts += np.bincount(
            cell_classes(self.column, cells.columns[self.column.name]), minlength=len(CLASSES)
        )


def with_decimals(schema: Schema, names: Sequence[str]) -> Schema:
    """Return the schema with decimals for floats among some columns, a hundred steps to their narrowest bin: how many the data have is not known.

    Done to edges that were released.
    """
    columns = [
        _rounded(c) if c.name in names and c.kind == "float" and c.decimals is None else c
        for c in schema
    ]
    return replace(schema, columns=tuple(columns))


def _rounded(column: Column) -> Column:
    ends = column.edges or column.bounds
    if ends is None:
        return column
    width = float(np.diff(ends).min()) / (1 if column.edges else column.bins)
    decimals = min(max(2 - math.floor(math.log10(width)), 0), 15)
    edges = None if column.edges is None else tuple(round(edge, decimals) for edge in column.edges)
    return replace(column, decimals=decimals, edges=edges)


def cell_classes(column: Column, values: pa.Array) -> NDArray[np.int64]:
    """Return the class of each cell, as a position in `CLASSES`: a function of the cell and of the declaration."""
    coded = spell_values(values).dictionary_encode()
    missing = {str(code) for code in column.missing}
    comma = column.decimal == "," and (
        is_words(values.type) or is_bytes(values.type)
    )  # our own spelling has a point
    table = np.array(
        [*(_class(word, missing, comma) for word in coded.dictionary.to_pylist()), 0],
        dtype=np.int64,
    )
    at = coded.indices.cast(pa.int64()).fill_null(len(table) - 1).to_numpy(zero_copy_only=False)
    return np.asarray(table[at])


def _class(word: str | None, missing: set[str], comma: bool) -> int:
    bare = "" if word is None else word.strip()
    if not bare or bare in missing:
        return CLASSES.index("empty")
    if comma:
        bare = bare.translate({ord(","): ".", ord("."): ","})
    return CLASSES.index(
        next((name for name, pattern in _PATTERNS if pattern.fullmatch(bare)), "word")
    )


def kind_from_counts(noisy: NDArray[np.integer], std: float) -> tuple[Kind, bool]:
    """Return the kind that noisy counts of classes speak for, and whether cells may be missing.

    The family that most cells are of: numbers, dates, truth or words; words, if more than one cell in twenty is of another family, and noise does
    not explain it. Fractions make numbers floats if they are more than one in a hundred beyond noise, or four in ten of the numbers.

    Examples
    --------
    >>> kind_from_counts(np.array([3, 900, 2, 0, -1, 4, 1]), 5.0)
    ('integer', False)
    >>> kind_from_counts(np.array([80, 500, 400, 0, -1, 4, 1]), 5.0)
    ('float', True)
    """
    by_class = dict(zip(CLASSES, noisy.tolist(), strict=True))
    families = {
        "number": ("whole", "fraction"),
        "moment": ("date", "moment"),
        "truth": ("truth",),
        "word": ("word",),
    }
    sums = {family: sum(by_class[name] for name in names) for family, names in families.items()}
    total = sum(sums.values())
    name = max(sums, key=lambda family: sums[family])
    others, n_others = total - sums[name], len(CLASSES) - 1 - len(families[name])
    if name == "word" or sums[name] <= 0 or others > max(FEW * total, _noise(std, n_others)):
        return "categorical", by_class["empty"] > _noise(std, 1)
    kinds: dict[str, tuple[Kind, Kind, str]] = {
        "number": ("integer", "float", "fraction"),
        "moment": ("date", "datetime", "moment"),
        "truth": ("boolean", "boolean", "truth"),
    }
    plain, fine, sign = kinds[name]
    fine_enough = by_class[sign] > min(max(FEW * total / 5, _noise(std, 1)), MANY * sums[name])
    kind = fine if fine_enough else plain
    return kind, by_class["empty"] + others > _noise(std, n_others + 1)


def _noise(std: float, many: int) -> float:
    """What the sum of so many noisy counts must pass to say anything."""
    return SIGMAS * std * many**0.5


def _of_kind(column: Column, kind: Kind, nullable: bool) -> Column:
    numeric = kind not in ("categorical", "boolean")
    return replace(
        column,
        kind=kind,
        type=usual_type(kind),
        nullable=column.nullable or nullable,
        levels=(False, True) if kind == "boolean" else None,
        bounds=column.bounds if numeric else None,
        discover=kind != "boolean",
        reason="discovered",
    )
