"""What every counting engine offers: three things, nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..table.scan import CodedBatch
from ..table.schema import Schema
from .marginal import Marginal

Columns = tuple[int, ...]
"""Positions of columns among the modelled ones, ascending."""


@runtime_checkable
class Counter(Protocol):
    """Counts marginals of data that may be in memory, in a file or elsewhere.

    Synthesisers learn from a counter and never see rows, so data can stay where they are.
    """

    @property
    def schema(self) -> Schema:
        """The fitted schema whose codes are counted."""

    @property
    def n_rows(self) -> int:
        """The number of records."""

    def marginals(self, cliques: Sequence[Sequence[str]]) -> list[Marginal]:
        """Return the marginal of each clique (a list of column names), in the order given."""


@runtime_checkable
class RowCounter(Counter, Protocol):
    """A counter that also hands out the codes of its rows, some at a time and always in the same order: what trees are counted from."""

    def coded(self) -> Iterator[CodedBatch]:
        """Return batches of the codes of all columns, with the weights that records count by."""


@runtime_checkable
class EntropyCounter(Counter, Protocol):
    """A counter that reduces tables to their entropies where it counts them, so that wide tables need not travel: searches ask it for these."""

    def entropies(self, sets: list[Columns]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the joint entropy in nats and the number of filled cells of each set of columns; -1 cells for a set that it leaves to `marginals`."""
