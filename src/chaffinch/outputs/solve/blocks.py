"""A problem laid out for records that change as a whole: everything that reads the same columns in one block, found by one key.

The layout of `compiled.py` serves moves that touch a column or two. Where a record is replaced, all that reads it is read: a block has
the part of the linear predictor, the filter, the label and the terms of one combination of columns side by side, so that a record costs
one look-up for each of its columns and not one for each of them and each use.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..domain import Floats
from ..equations import Lookup, Problem, SumSystem, Terms
from ..families import FAMILIES, PARTS
from .compiled import Heap, Program, compile_problem

Ints = NDArray[np.int64]


class Blocks(NamedTuple):
    """The flat problem; kernels take it whole.

    - `tables`: the layout that cells of tables are read by;
    - `systems`, rows of 8: family, part, multipliers of a record, linear predictors, equations of a multiplier, first sum, first block, the block
      after the last; `parameters`, one for each system;
    - `blocks`, rows of 6: first of its `columns` (column, stride) and the one after the last; where its predictors, filters and labels start in
      `numbers` and its rows of terms in `starts`, -1 where it has none;
    - `equations`, `values`: the terms.
    """

    tables: Program
    systems: Ints
    parameters: Floats
    blocks: Ints
    columns: Ints
    numbers: Floats
    starts: Ints
    equations: Ints
    values: Floats
    n_sums: int
    most_blocks: int
    most_predictors: int


def blocks_of(problem: Problem) -> Blocks:
    """Return the problem laid out by blocks."""
    layout, rows, first_sum = _Layout(), [], 0
    systems = [output for output in problem.outputs if isinstance(output, SumSystem)]
    for system in systems:
        model, first = system.model, len(layout.blocks)
        for columns, sizes in dict.fromkeys((look.columns, look.sizes) for look in system.lookups):
            layout.add(system, columns, sizes)
        family, part = (FAMILIES[model.family].code, PARTS.index(model.part)) if model else (0, 0)
        width, predictors = (model.width, model.n_predictors) if model else (1, 1)
        rows.append(
            [
                family,
                part,
                width,
                predictors,
                system.size // width,
                first_sum,
                first,
                len(layout.blocks),
            ]
        )
        first_sum += system.size
    table = np.array(rows, dtype=np.int64).reshape(-1, 8)
    return Blocks(
        tables=compile_problem(problem),
        systems=table,
        parameters=np.array(
            [system.model.parameter if system.model else 1.0 for system in systems]
        ),
        blocks=np.array(layout.blocks, dtype=np.int64).reshape(-1, 6),
        columns=np.array(layout.columns, dtype=np.int64).reshape(-1, 2),
        numbers=layout.numbers.whole(),
        starts=layout.starts.whole(),
        equations=layout.equations.whole(),
        values=layout.values.whole(),
        n_sums=first_sum,
        most_blocks=int((table[:, 7] - table[:, 6]).max(initial=1)),
        most_predictors=int(table[:, 3].max(initial=1)),
    )


class _Layout:
    """Blocks as they are laid down, one after the other."""

    def __init__(self) -> None:
        self.blocks: list[tuple[int, ...]] = []
        self.columns: list[tuple[int, int]] = []
        self.numbers, self.values = Heap(np.float64), Heap(np.float64)
        self.starts, self.equations = Heap(np.int64), Heap(np.int64)

    def add(self, system: SumSystem, columns: tuple[int, ...], sizes: tuple[int, ...]) -> None:
        """Lay down all that a system reads by some columns."""

        def values(looks: Iterable[Lookup]) -> list[Floats]:
            return [look.values for look in looks if (look.columns, look.sizes) == (columns, sizes)]

        model, first = system.model, len(self.columns)
        strides = [int(np.prod(sizes[k + 1 :], dtype=np.int64)) for k in range(len(sizes))]
        self.columns += zip(columns, strides, strict=True)
        self.blocks.append(
            (
                first,
                len(self.columns),
                self._add_numbers(values(model.eta if model else ()), np.add),
                self._add_numbers(values(system.keep), np.multiply),
                self._add_numbers(values([model.label] if model else []), np.add),
                self._add_terms(
                    [one for one in system.terms if (one.columns, one.sizes) == (columns, sizes)]
                ),
            )
        )

    def _add_numbers(self, parts: list[Floats], joined: np.ufunc) -> int:
        """Lay down numbers, several as one; return where they start, -1 if there are none."""
        return self.numbers.add(joined.reduce(parts, axis=0)) if parts else -1

    def _add_terms(self, every: list[Terms]) -> int:
        """Lay down terms, several as one; return where their rows start, -1 if there are none."""
        if not every:
            return -1
        rows = np.concatenate(
            [np.repeat(np.arange(len(t.starts) - 1), np.diff(t.starts)) for t in every]
        )
        equations, values = (
            np.concatenate([getattr(t, name) for t in every]) for name in ("equations", "values")
        )
        one = Terms.sparse(every[0].columns, every[0].sizes, rows, equations, values)
        start = self.starts.add(one.starts + self.equations.size)
        self.equations.add(one.equations)
        self.values.add(one.values)
        return start
