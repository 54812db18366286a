"""The columns that outputs are about: their levels, whose places are the codes that engines see."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .._base.arrays import Floats
from .._base.checks import check_at_least, check_name
from .._base.errors import InputError, UnknownNameError, join_names, unknown_name
from .._base.masking import HIDDEN, THRESHOLD, unknown_level
from .._base.seeds import Seed, generator

Scalar = bool | int | float | str
MOST_CELLS = 4_000_000
"""The most combinations of levels that one look-up may have."""
Codes = NDArray[np.int32]
"""A dataset as the engines see it: (n_rows, n_columns), each entry a code from 0 to the column's size - 1.

Records that outputs are checked against may miss values: `MISSING` stands for one, and each output is of those that miss none of its columns."""
MISSING = -1
"""The code of a value that a record does not have."""
MOST_LEVELS = 2**31 - 1
MAX_ROWS = 10**9
"""The number of records of a domain that does not say how many: more than any data have, so that what is checked on reading does not depend on it."""


@dataclass(frozen=True)
class OutputColumn:
    """A column: its name and its levels in order, which are its codes from 0 on. Levels that are all numbers make it numeric; they must rise.

    `weights` say how often each level is drawn in starts and proposals, in any unit; None: all alike. The search leaves a `fixed` column as it starts. `common` are
    the labels that `threshold` records or more are known to have: a message names no other level.

    Examples
    --------
    >>> OutputColumn("sex", ("f", "m")).numeric, OutputColumn("age", (0, 1, 2)).numeric
    (False, True)
    >>> OutputColumn("sex", ("f", "m")).code("m")
    1
    """

    name: str
    levels: tuple[Scalar, ...]
    weights: tuple[float, ...] | None = None
    fixed: bool = False
    common: frozenset[str] = dataclasses.field(default=frozenset(), compare=False, repr=False)
    threshold: int = dataclasses.field(default=THRESHOLD, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not self.levels:
            raise InputError(
                f"Column '{self.name}' needs at least one level, or from, to and step."
            )
        if len(set(self.labels)) < self.size:
            raise InputError(f"Column '{self.name}' must name each of its levels once.")
        if not self.numeric and any(map(_is_number, self.levels)):
            raise InputError(
                f"Column '{self.name}' mixes words and numbers. Write all its levels as words, in quotes."
            )
        weights = self.weights or ()
        numbers = {"values": self.values if self.numeric else (), "weights": weights}
        for what, entries in numbers.items():
            if len(entries) not in (0, self.size) or not np.isfinite(entries).all():
                raise InputError(
                    f"Column '{self.name}' needs one finite number for each of its {self.size} levels as {what}."
                )
        if self.numeric and (np.diff(self.values) <= 0).any():
            raise InputError(f"The values of column '{self.name}' must rise from level to level.")
        if self.weights is not None and (min(weights, default=0.0) < 0 or sum(weights) <= 0):
            raise InputError(
                f"The weights of column '{self.name}' must be at least 0, and not all 0."
            )

    @property
    def size(self) -> int:
        """The number of levels."""
        return len(self.levels)

    @cached_property
    def numeric(self) -> bool:
        """Whether the levels are numbers."""
        return all(map(_is_number, self.levels))

    @property
    def is_whole(self) -> bool:
        """Whether the levels are whole numbers."""
        return self.numeric and all(float(level).is_integer() for level in self.levels)

    @property
    def chances(self) -> Floats:
        """The chance of each level in starts and proposals; they add up to 1."""
        weights = np.ones(self.size) if self.weights is None else np.array(self.weights)
        return weights / weights.sum()

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The levels as printed."""
        return tuple(str(level) for level in self.levels)

    @cached_property
    def values(self) -> Floats:
        """The numbers behind the codes; InputError for a column of words."""
        if not self.numeric:
            raise InputError(f"Column '{self.name}' has words as levels, where numbers are needed.")
        return np.array([float(level) for level in self.levels])

    @cached_property
    def _codes(self) -> dict[Scalar, int]:
        if self.numeric:
            return {float(level): code for code, level in enumerate(self.levels)}
        return {label: code for code, label in enumerate(self.labels)}

    def code(self, level: Scalar) -> int:
        """Return the code of a level; numbers may be written as words, and words that look like numbers as numbers."""
        key: Scalar = str(level)
        if self.numeric and not isinstance(level, bool):
            try:
                key = float(level)
            except ValueError:
                key = str(level)
        if key not in self._codes:
            common = [label for label in self.labels if label in self.common]
            raise unknown_level(
                "level", level, common, where=f" of column '{self.name}'", threshold=self.threshold
            )
        return self._codes[key]

    @cached_property
    def rare(self) -> frozenset[str]:
        """The labels that messages may not name."""
        return frozenset(self.labels) - self.common

    def safe_label(self, code: int) -> str:
        """Return a level as a message may have it: a sign in place of one that ten records are not known to have.

        Examples
        --------
        >>> area = OutputColumn("area", ("north", "Sark"), common=frozenset({"north"}))
        >>> area.safe_label(0), area.safe_label(1)
        ('north', '…')
        """
        return HIDDEN if self.labels[code] in self.rare else self.labels[code]

    def safe_name(self, code: int) -> str:
        """Return "level 'north' of column 'area'", or "a level of column 'area'" where the level may not be named."""
        label = self.safe_label(code)
        level = "a level" if label == HIDDEN else f"level '{label}'"
        return f"{level} of column '{self.name}'"


@dataclass(frozen=True)
class OutputDomain:
    """The columns of a dataset, in order, and how many records outputs are compiled for.

    Examples
    --------
    >>> domain = OutputDomain((OutputColumn("sex", ("f", "m")), OutputColumn("age", (0, 1, 2))))
    >>> domain.position("age"), domain.sizes
    (1, (2, 3))
    >>> domain.start(4, seed=1).shape
    (4, 2)
    >>> {position: codes.tolist() for position, codes in domain.grid([1, 0]).items()}
    {1: [0, 0, 1, 1, 2, 2], 0: [0, 1, 0, 1, 0, 1]}
    """

    columns: tuple[OutputColumn, ...]
    n_rows: int = MAX_ROWS

    def __post_init__(self) -> None:
        if not self.columns:
            raise InputError("A dataset needs at least one column. Got none.")
        if len(set(self.names)) < len(self.columns):
            raise InputError("Columns must have different names.")

    def __iter__(self) -> Iterator[OutputColumn]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __getitem__(self, name: str) -> OutputColumn:
        return self.columns[self.position(name)]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names, in order."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of levels of each column."""
        return tuple(column.size for column in self.columns)

    def with_rows(self, n_rows: int) -> OutputDomain:
        """Return the columns with another number of records."""
        return OutputDomain(self.columns, n_rows)

    def position(self, name: str) -> int:
        """Return the position of a column by its name."""
        check_name("column", name, self.names)
        return self.names.index(name)

    def shape(self, positions: Sequence[int]) -> tuple[int, ...]:
        """Return the numbers of levels of some columns."""
        return tuple(self.sizes[p] for p in positions)

    def start(self, n_rows: int, *, seed: Seed = None) -> Codes:
        """Return a random dataset: every cell drawn on its own from its column's `chances`."""
        check_at_least("n_rows", n_rows, 1)
        rng = generator(seed)
        codes = np.empty((n_rows, len(self)), dtype=np.int32)
        for position, column in enumerate(self):
            if column.weights is None:
                codes[:, position] = rng.integers(0, column.size, n_rows)
            else:
                codes[:, position] = rng.choice(column.size, n_rows, p=column.chances)
        return codes

    def check(self, codes: NDArray[np.integer], *, may_miss: bool = False) -> Codes:
        """Return codes as the engines want them: int32, rows together in memory; InputError if they do not fit.

        `may_miss`: whether some of them may be `MISSING`.
        """
        if codes.ndim != 2 or codes.shape[1] != len(self) or codes.shape[0] < 1:
            raise InputError(
                f"Codes must be a matrix of at least 1 row and {len(self)} columns. Got shape {codes.shape}."
            )
        outside = ((codes < (MISSING if may_miss else 0)) | (codes >= np.array(self.sizes))).any(
            axis=0
        )
        if outside.any():
            raise InputError(
                f"Column '{self.names[int(np.argmax(outside))]}' has codes outside its levels."
            )
        return np.ascontiguousarray(codes, dtype=np.int32)

    def unknown_column(self, name: str) -> UnknownNameError:
        """Return the error for a word that is no column; where it is a level that may not be named, without the word."""
        level_of = next((column.name for column in self if name in column.rare), None)
        if level_of is not None:
            return UnknownNameError(
                f"What stands for a column is none, but a level of column '{level_of}'. Columns: {join_names(self.names)}."
            )
        return unknown_name("column", name, self.names)

    def grid(self, positions: Sequence[int]) -> dict[int, NDArray[np.intp]]:
        """Return the codes of every combination of levels of some columns, last one fastest; empty for no columns."""
        shape = self.shape(positions)
        if math.prod(shape) > MOST_CELLS:
            names = ", ".join(self.names[p] for p in positions)
            raise InputError(
                f"The columns {names} together have over {MOST_CELLS} combinations of levels. Use coarser grids."
            )
        codes = (
            np.indices(shape).reshape(len(shape), -1) if shape else np.zeros((0, 1), dtype=np.intp)
        )
        return dict(zip(positions, codes, strict=True))

    @property
    def threshold(self) -> int:
        """How many records must share what a message tells of the data."""
        return max(column.threshold for column in self)

    def with_threshold(self, threshold: int) -> OutputDomain:
        """Return the columns with another threshold for what messages tell."""
        columns = (dataclasses.replace(column, threshold=threshold) for column in self)
        return OutputDomain(tuple(columns), self.n_rows)

    def counted(self, codes: NDArray[np.integer]) -> OutputDomain:
        """Return the columns with the levels that as many of these records as the threshold or more have added to those that messages may name.

        Examples
        --------
        >>> domain = OutputDomain((OutputColumn("area", ("north", "Sark")),))
        >>> sorted(domain.counted(np.array([[0]] * 12 + [[1]], dtype=np.int32))["area"].common)
        ['north']
        """
        from ..counts.tally import (
            count_cells,
        )  # here, since engines read this module and must not load counts

        columns = []
        for column, column_codes in zip(self, codes.T, strict=True):
            counts = count_cells([column_codes], [column.size])
            labels = zip(column.labels, counts, strict=True)
            common = column.common | {label for label, n in labels if n >= column.threshold}
            if common != column.common:
                column = dataclasses.replace(column, common=common)
            columns.append(column)
        return OutputDomain(tuple(columns), self.n_rows)

    def codes(self, data: dict[str, Sequence[Scalar]]) -> NDArray[np.int32]:
        """Return values by column as a matrix of codes; for tests and teaching, since engines never see records."""
        coded = []
        for column in self:
            code = {value: column.code(value) for value in set(data[column.name])}
            coded.append([code[value] for value in data[column.name]])
        return np.array(coded, dtype=np.int32).T.copy()


def _is_number(level: Scalar) -> bool:
    return isinstance(level, int | float) and not isinstance(level, bool)


def same_column_checked(names: Sequence[str], *, output: str) -> None:
    """Raise InputError where a list of columns names one twice."""
    if len(set(names)) < len(names):
        raise InputError(f"Output '{output}' must name each of its columns once.")
