"""What can be seen of one run: the released table, how many rows it has, errors and warnings, and the model.

To an auditor everything that a run does is an answer. A synthesiser that stops at one of two neighbouring tables has told them apart, so
an error does not end an audit: it is counted.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...stats.splits import child
from ...synth.bayesnet.model import BayesNetModel
from ...synth.bayesnet.network import Network
from ...synth.generator import TableGenerator
from ...table.codec import same_codes
from ...table.table import Table
from ..membership.whitebox import WhiteBox
from ..shadows.generator import Generator, Grid, Released, unknown_code

OUTSIDE = ("error", "rows", "warnings")
"""What is seen of a run besides its table and its model: the first numbers that `Look.cells` gives."""

MOST_RECORDS = 64
"""Records whose probabilities are looked at one by one. Domains of so many records are seen whole."""
MOST_CELLS = 4096
"""Cells of the reference network's tables up to which these are looked at."""


@dataclass(frozen=True, eq=False)
class Answer:
    """What one run did, apart from its table: the model if there is one, the rows it gave, errors, and warnings."""

    model: Any
    n_rows: int
    error: str
    warnings: int


@dataclass(frozen=True, eq=False)
class Watched(Generator):
    """A generator that never fails: an error is an answer, and so is any number of rows.

    Codes are cut to the rows that were asked for, or filled up with the code of an unknown value, which matches nothing. Both tables of a
    pair have the grid of the base table: what a promise is about is told apart on one grid.
    """

    grid: Grid = "population"

    @property
    def fits(self) -> bool:
        """True: there is always an `Answer` to look into, also where there is no model."""
        return True

    @property
    def words(self) -> str:
        """What makes the tables, in a line that holds settings and no data."""
        if self.models and getattr(type(self.maker), "__repr__", None) is object.__repr__:
            return type(self.maker).__qualname__  # its repr would say where in memory it stands
        return TableGenerator(self.maker).words

    @property
    def models(self) -> bool:
        """Whether there is a model between the data and the tables."""
        return hasattr(self.maker, "fit")

    def release(
        self,
        table: Table,
        *,
        tables: int,
        rows: int,
        seed: np.random.SeedSequence,
        sight: Any = None,
    ) -> Released:
        """Return what a run on `table` gave, and what it did, as an `Answer` in place of the model. One table for each run."""
        fitting, drawing = (child(seed, i) for i in range(2))
        out = np.full(
            (1, rows, len(self.base.schema.names)), unknown_code(self._dtype), dtype=self._dtype
        )
        model, codes, error = None, out[0, :0], ""
        with _warned() as messages:
            try:
                if self.models:
                    model = self.maker.fit(table, seed=fitting)
                    codes, _ = self._one(model, table, rows, drawing, None)
                else:
                    codes = self.codes_of(self.draw(None, table, rows, drawing))
            except Exception as raised:  # its message may quote a record: only its kind is kept
                model, error = None, type(raised).__name__
        out[0, : len(codes)] = codes[:rows]
        return Released(out, Answer(model, len(codes), error, len(messages)))


@dataclass(frozen=True, eq=False)
class Look:
    """What is read off each run: errors, rows, warnings; and off a network that is on the codes of the base table its numbers.

    For up to 64 records (all of the base table if it has no more, else the target and the first others) the log-probability, whole and
    column by column; the tables of a reference network; which column is a parent of which; the weight of each column's table; the number of
    records that the model states. Where a model is of another kind or has other codes, these are NaN.
    """

    base: Table
    records: NDArray[Any]
    reference: Network | None = None

    @cached_property
    def _white(self) -> WhiteBox:
        sizes = dict(zip(self.base.schema.names, self.base.schema.sizes, strict=True))
        families = (
            [] if self.reference is None else [(name, *self.reference[name]) for name in sizes]
        )
        small = sum(prod(sizes[name] for name in family) for family in families) <= MOST_CELLS
        # Weights, not chances: a noisy count says more than its share of the others.
        return WhiteBox.of(
            self.base.schema,
            self.records,
            reference=self.reference if small else None,
            values="weights",
        )

    @cached_property
    def _width(self) -> int:
        """How many numbers are read off a model."""
        columns = len(self.base.schema.names)
        cells = self._white.families[-1].stop if self._white.families else 0
        return len(self.records) * (1 + columns) + cells + columns * (columns + 1) + 1

    def nodes(self, _answer: Answer) -> NDArray[np.float32]:
        """Return nothing: all is in `cells`."""
        return np.empty((1, 0), dtype=np.float32)

    def cells(self, answer: Answer) -> NDArray[np.float32]:
        """Return what is seen of a run: first `OUTSIDE`, then the model."""
        head = [float(bool(answer.error)), float(answer.n_rows), float(answer.warnings)]
        return np.concatenate([np.array(head, dtype=np.float32), self._model(answer.model)])

    def _model(self, model: Any) -> NDArray[np.float32]:
        if not readable(model, self.base):
            return np.full(self._width, np.nan, dtype=np.float32)
        names = self.base.schema.names
        edges = np.zeros((len(names), len(names)))
        weights = np.zeros(len(names))
        for table in model.tables:
            child = names.index(table.child)
            edges[child, [names.index(parent) for parent in table.parents]] = 1
            weights[child] = table.total_weight
        own = [edges.ravel(), weights, [float(model.n_rows)]]
        return np.concatenate(
            [self._white.nodes(model).ravel(), self._white.cells(model), *own]
        ).astype(np.float32)


def readable(model: Any, base: Table) -> bool:
    """Return whether a model is a network on the codes of the base table."""
    if not isinstance(model, BayesNetModel) or model.schema.names != base.schema.names:
        return False
    return all(
        same_codes(model.schema[name].codec, base.schema[name].codec) for name in base.schema.names
    )


@contextmanager
def _warned() -> Iterator[list[Any]]:
    """Collect warnings, in the main thread only: how Python handles them is shared by all threads."""
    if threading.current_thread() is not threading.main_thread():
        yield []
        return
    with warnings.catch_warnings(record=True) as messages:
        warnings.simplefilter("always")
        yield messages
