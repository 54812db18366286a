"""The columns of a dataset that evolves: a matrix of codes, one list of levels for each column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .._base.errors import InputError, unknown_name
from .._base.seeds import Seed, generator

Codes = NDArray[np.int32]
"""A dataset as the engines see it: (n_rows, n_columns), each entry a code from 0 to the column's size - 1.

Records that outputs are checked against may miss values: `MISSING` stands for one, and each output is of those that miss none of its columns."""

MISSING = -1
"""The code of a value that a record does not have."""

Floats = NDArray[np.float64]

MOST_LEVELS = 2**31 - 1


@dataclass(frozen=True, eq=False)
class CodeColumn:
    """A column: how many levels it has, what they are worth, and from which distribution new ones are drawn.

    `values` are the numbers behind the codes of a numeric column, rising: a step of a few codes is then a small change. `weights` are the
    chance of each level in starts and proposals, in any unit; None for all alike. The search leaves a `fixed` column as it starts.
    """

    name: str
    size: int
    values: Floats | None = None
    weights: Floats | None = None
    fixed: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.size <= MOST_LEVELS:
            raise InputError(
                f"Column '{self.name}' must have between 1 and {MOST_LEVELS} levels. Got {self.size}."
            )
        for what, numbers in (("values", self.values), ("weights", self.weights)):
            if numbers is not None and (
                numbers.shape != (self.size,) or not np.isfinite(numbers).all()
            ):
                raise InputError(
                    f"Column '{self.name}' needs one finite number for each of its {self.size} levels as {what}."
                )
        if self.values is not None and (np.diff(self.values) <= 0).any():
            raise InputError(f"The values of column '{self.name}' must rise from level to level.")
        if self.weights is not None and ((self.weights < 0).any() or self.weights.sum() <= 0):
            raise InputError(
                f"The weights of column '{self.name}' must be at least 0, and not all 0."
            )

    @property
    def chances(self) -> Floats:
        """The chance of each level in starts and proposals; they add up to 1."""
        weights = np.ones(self.size) if self.weights is None else self.weights
        return weights / weights.sum()


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a dataset, in order.

    Examples
    --------
    >>> columns = Columns((CodeColumn("sex", 2), CodeColumn("age", 3, values=np.array([0.0, 1.0, 2.0]))))
    >>> columns.position("age"), columns.sizes
    (1, (2, 3))
    >>> columns.start(4, seed=1).shape
    (4, 2)
    """

    every: tuple[CodeColumn, ...]

    def __post_init__(self) -> None:
        if not self.every:
            raise InputError("A dataset needs at least one column. Got none.")
        if len(set(self.names)) < len(self.every):
            raise InputError("Columns must have different names.")

    def __iter__(self) -> Iterator[CodeColumn]:
        return iter(self.every)

    def __len__(self) -> int:
        return len(self.every)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names, in order."""
        return tuple(column.name for column in self.every)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of levels of each column."""
        return tuple(column.size for column in self.every)

    def position(self, name: str) -> int:
        """Return the position of a column by its name."""
        if name not in self.names:
            raise unknown_name("column", name, self.names)
        return self.names.index(name)

    def cells(self, positions: Sequence[int]) -> int:
        """Return the number of combinations of levels of some columns: 1 for none."""
        return int(np.prod([self.sizes[p] for p in positions], dtype=np.int64))

    def start(self, n_rows: int, *, seed: Seed = None) -> Codes:
        """Return a random dataset: every cell drawn on its own from its column's `chances`."""
        if n_rows < 1:
            raise InputError(f"n_rows must be at least 1. Got {n_rows}.")
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
