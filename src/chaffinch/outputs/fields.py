"""The columns as a file of outputs describes them: levels with their words, and how codes and words turn into each other."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .._base.errors import InputError, UnknownNameError, listed, unknown_name
from .._base.masking import HIDDEN, THRESHOLD, unknown_level
from .columns import CodeColumn, Columns, Floats

Scalar = bool | int | float | str

MOST_CELLS = 4_000_000
"""The most combinations of levels that one look-up may have."""


@dataclass(frozen=True)
class Field:
    """A column: its name and its levels in order. Levels that are all numbers make it numeric; they must rise.

    `weights` say how often each level is drawn to begin with; the search leaves a `fixed` column alone. `common` are the labels that
    `threshold` records or more are known to have: a message names no other level. None, where records were not counted.

    Examples
    --------
    >>> Field("sex", ("f", "m")).numeric, Field("age", (0, 1, 2)).numeric
    (False, True)
    >>> Field("sex", ("f", "m")).code("m")
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
        if len(set(self.labels)) < len(self.levels):
            raise InputError(f"Column '{self.name}' must name each of its levels once.")
        if not self.numeric and any(
            isinstance(level, int | float) and not isinstance(level, bool) for level in self.levels
        ):
            raise InputError(
                f"Column '{self.name}' mixes words and numbers. Write all its levels as words, in quotes."
            )
        self.column  # noqa: B018  CodeColumn's own rules: numbers rise, weights fit

    @property
    def numeric(self) -> bool:
        """Whether the levels are numbers."""
        return all(
            isinstance(level, int | float) and not isinstance(level, bool) for level in self.levels
        )

    @property
    def whole(self) -> bool:
        """Whether the levels are whole numbers."""
        return self.numeric and all(float(level).is_integer() for level in self.levels)

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
    def column(self) -> CodeColumn:
        """The column as the engines see it."""
        weights = None if self.weights is None else np.array(self.weights, dtype=float)
        return CodeColumn(
            self.name, len(self.levels), self.values if self.numeric else None, weights, self.fixed
        )

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
                "level", level, common, of=f" of column '{self.name}'", threshold=self.threshold
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
        >>> area = Field("area", ("north", "Sark"), common=frozenset({"north"}))
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
class Fields:
    """The columns of a dataset, in order.

    Examples
    --------
    >>> fields = Fields((Field("sex", ("f", "m")), Field("age", (0, 1, 2))))
    >>> {position: codes.tolist() for position, codes in fields.grid([1, 0]).items()}
    {1: [0, 0, 1, 1, 2, 2], 0: [0, 1, 0, 1, 0, 1]}
    """

    every: tuple[Field, ...]

    def __post_init__(self) -> None:
        self.columns  # noqa: B018  Columns' own rules: at least one, different names

    def __iter__(self) -> Iterator[Field]:
        return iter(self.every)

    def __len__(self) -> int:
        return len(self.every)

    @cached_property
    def columns(self) -> Columns:
        """The columns as the engines see them."""
        return Columns(tuple(field.column for field in self.every))

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in order."""
        return self.columns.names

    def position(self, name: str) -> int:
        """Return the position of a column by its name."""
        return self.columns.position(name)

    def unknown_column(self, name: str) -> UnknownNameError:
        """Return the error for a word that is no column; where it is a level that may not be named, without the word."""
        level_of = next((field.name for field in self if name in field.rare), None)
        if level_of is not None:
            return UnknownNameError(
                f"What stands for a column is none, but a level of column '{level_of}'. Columns: {listed(self.names)}."
            )
        return unknown_name("column", name, self.names)

    def __getitem__(self, name: str) -> Field:
        return self.every[self.position(name)]

    def sizes(self, positions: Sequence[int]) -> tuple[int, ...]:
        """Return the numbers of levels of some columns."""
        return tuple(self.columns.sizes[p] for p in positions)

    def grid(self, positions: Sequence[int]) -> dict[int, NDArray[np.intp]]:
        """Return the codes of every combination of levels of some columns, last one fastest; empty for no columns."""
        sizes = self.sizes(positions)
        if math.prod(sizes) > MOST_CELLS:
            names = ", ".join(self.names[p] for p in positions)
            raise InputError(
                f"The columns {names} together have over {MOST_CELLS} combinations of levels. Use coarser grids."
            )
        codes = (
            np.indices(sizes).reshape(len(sizes), -1) if sizes else np.zeros((0, 1), dtype=np.intp)
        )
        return dict(zip(positions, codes, strict=True))

    @property
    def threshold(self) -> int:
        """How many records must share what a message tells of the data."""
        return max((field.threshold for field in self.every), default=THRESHOLD)

    def with_threshold(self, threshold: int) -> Fields:
        """Return the columns with another threshold for what messages tell."""
        return Fields(
            tuple(dataclasses.replace(field, threshold=threshold) for field in self.every)
        )

    def counted(self, codes: NDArray[np.integer]) -> Fields:
        """Return the columns with the levels that as many of these records as the threshold or more have added to those that messages may name.

        Examples
        --------
        >>> fields = Fields((Field("area", ("north", "Sark")),)).counted(np.array([[0]] * 12 + [[1]], dtype=np.int32))
        >>> sorted(fields["area"].common)
        ['north']
        """
        from ..counts.tally import (
            count_cells,
        )  # here, since engines read this module and must not load counts

        every = []
        for field, column in zip(self.every, codes.T, strict=True):
            counts = count_cells([column], [len(field.levels)])
            common = frozenset(
                label
                for label, count in zip(field.labels, counts, strict=True)
                if count >= field.threshold
            )
            every.append(
                field
                if common <= field.common
                else dataclasses.replace(field, common=field.common | common)
            )
        return Fields(tuple(every))

    def codes(self, data: dict[str, Sequence[Scalar]]) -> NDArray[np.int32]:
        """Return values by column as a matrix of codes; for tests and teaching, since engines never see records."""
        coded = []
        for field in self.every:
            code = {value: field.code(value) for value in set(data[field.name])}
            coded.append([code[value] for value in data[field.name]])
        return np.array(coded, dtype=np.int32).T.copy()


def same_column_checked(names: Sequence[str], *, output: str) -> None:
    """Raise InputError where a list of columns names one twice."""
    if len(set(names)) < len(names):
        raise InputError(f"Output '{output}' must name each of its columns once.")
