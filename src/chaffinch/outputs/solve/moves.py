"""Which moves a search may make, which of them it tries more often, and which records are alike."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

import numpy as np

from ..domain import Codes, Columns, Floats
from ..equations import CountTable
from .compiled import Arms, WrongCells
from .state import State

Kind = Literal["change", "step", "swap", "near_swap", "copy", "copy_two", "repair"]

KINDS: tuple[Kind, ...] = ("change", "step", "swap", "near_swap", "copy", "copy_two", "repair")
"""Kinds of moves, by the number that kernels know them by.

change: a cell takes a level drawn from its column's chances. step: a number moves by a few codes. swap: two records swap a column,
so that its margin stays. near_swap: two alike records do; tables stay too, and sums move by little. copy, copy_two: a record takes
one or two cells from another. repair: a record goes from a cell of a table that has too many to one that has too few.
"""

FLOOR = 0.1
"""Share of the proposals that is spread over all arms alike, whatever they gained."""
MEMORY = 0.7
"""How much of the gains of earlier blocks is remembered from block to block."""
ROOM = 2**62


class Moves:
    """The arms (a kind of move in a column) with their chances, which follow what each arm gained by proposal."""

    def __init__(
        self, state: State, rng: np.random.Generator, *, kinds: Collection[Kind] = KINDS
    ) -> None:
        columns = state.problem.columns
        free = [c for c, column in enumerate(columns) if not column.fixed and column.size > 1]
        arms = [
            (kind, c)
            for c in free
            for kind in KINDS
            if kind in kinds and _possible(kind, c, columns, len(free))
        ]
        if "repair" in kinds and state.tables and free:
            arms.append(("repair", 0))
        self.arms = tuple(arms)
        order = np.tile(np.arange(len(state.codes), dtype=np.int64), (len(columns), 1))
        cdf, cdf_first = cumulative_chances(columns)
        self.kernel = Arms(
            kinds=np.array([KINDS.index(kind) for kind, _ in arms], dtype=np.int64),
            columns=np.array([c for _, c in arms], dtype=np.int64),
            sizes=np.array(columns.sizes, dtype=np.int64),
            cdf=cdf,
            cdf_first=cdf_first,
            free=np.array(free, dtype=np.int64),
            movable=np.isin(np.arange(len(columns)), free),
            order=order,
            places=order.copy(),
            bits=rng.integers(1, 2**63, 2).astype(np.uint64),
            tries=np.zeros(len(arms)),
            gains=np.zeros(len(arms)),
        )
        self.shares = np.full(len(arms), 1.0 / max(1, len(arms)))
        self._rates = self.shares
        self._beside = _beside(state.tables, len(columns))
        self._table_of = np.repeat(
            np.arange(len(state.tables)), [len(t.lo) for t in state.tables]
        ).astype(np.int64)
        self._rng = rng

    def chances(self) -> Floats:
        """Return the cumulative chances of the arms; the last one is beyond any draw."""
        chances: Floats = np.cumsum(self.shares)
        chances[-1] = 2.0
        return chances

    def learn(self) -> None:
        """Let the chances follow the gains of the block that ended."""
        gains = self.kernel.gains / np.maximum(self.kernel.tries, 1.0)
        if gains.sum() > 0.0:
            self._rates = MEMORY * self._rates + (1.0 - MEMORY) * gains / gains.sum()
            self.shares = FLOOR / len(gains) + (1.0 - FLOOR) * self._rates / self._rates.sum()
        self.kernel.tries[:] = 0.0
        self.kernel.gains[:] = 0.0

    def wrong(self, state: State) -> WrongCells:
        """Return the cells that have too many records or too few."""
        over, under = (
            np.flatnonzero(state.counts > state.cell_hi),
            np.flatnonzero(state.counts < state.cell_lo),
        )
        cells = np.concatenate([over, under])
        return WrongCells(np.stack([self._table_of[cells], cells], axis=1), len(over), len(under))

    def sort(self, codes: Codes) -> None:
        """Put alike records next to each other, for each column on its own.

        First come the other columns of the tables that the column is in (swapping it between records that agree in those changes
        no table), then the rest in random order, so that neighbours change from sort to sort.
        """
        sizes, order = self.kernel.sizes, self.kernel.order
        for c in self.kernel.free:
            rest = [
                k for k in self._rng.permutation(len(sizes)) if k not in self._beside[c] and k != c
            ]
            key, room = np.zeros(len(codes), dtype=np.int64), ROOM
            for k in [*self._beside[c], *rest]:
                room //= int(sizes[k])
                if room == 0:
                    break
                key = key * sizes[k] + codes[:, k]
            order[c] = np.argsort(key, kind="stable")
            self.kernel.places[c, order[c]] = np.arange(len(codes))


def _possible(kind: Kind, column: int, columns: Columns, n_free: int) -> bool:
    if kind == "step":
        return columns.every[column].values is not None
    return kind != "repair" and (kind != "copy_two" or n_free > 1)


def _beside(tables: list[CountTable], n_columns: int) -> list[list[int]]:
    """For each column the other columns of the tables that it is in."""
    return [
        sorted({k for t in tables if c in t.columns for k in t.columns} - {c})
        for c in range(n_columns)
    ]


def cumulative_chances(columns: Columns) -> tuple[Floats, np.ndarray]:
    """Return the cumulative chances of levels end to end, and where each column's start; -1 for uniform ones."""
    parts, first, size = [np.zeros(0)], [], 0
    for column in columns:
        first.append(-1 if column.weights is None else size)
        if column.weights is not None:
            parts.append(np.cumsum(column.chances))
            size += column.size
    return np.concatenate(parts), np.array(first, dtype=np.int64)
