"""TCAP over source rows when people are drawn anew: what its value depends on while the source stays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._base.errors import InputError
from ..._base.masking import masked_count
from .classes import Ints, KeyCells, squeeze

__all__ = ["TcapCells"]

BLOCK = 1 << 18
"""Numbers of a batch of resampled weights that are worked on at a time: 2 MB was the fastest of 0.5 to 32."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class TcapCells:
    """What a mean over source rows depends on when people are drawn anew and the source stays.

    Parameters
    ----------
    weight
        Selected source rows of each selected class (a key with at least one selected row).
    person_class
        The selected class of each person, -1 for none.
    person_right
        The share of the class's selected rows that have the person's value: 0 or 1 for tau above 1/2.
    zero
        Whether classes without people count 0 ("all_rows") or are dropped ("matched_rows").
    """

    weight: Floats
    person_class: Ints
    person_right: Floats
    zero: bool = False

    @classmethod
    def of(cls, cells: KeyCells, *, tau: float, zero: bool) -> TcapCells:
        """Return the selected classes of the cells of people and source."""
        rows = cells.source_of_class[cells.cell_class]
        selected = (cells.source > 0) & (cells.source / np.maximum(rows, 1) >= tau)
        chosen = np.where(selected, cells.source, 0)
        weight = np.bincount(cells.cell_class, chosen, cells.n_classes).astype(np.float64, copy=False)
        number = np.where(weight > 0, np.cumsum(weight > 0) - 1, -1)
        right = chosen / np.maximum(weight[cells.cell_class], 1)
        return cls(weight[weight > 0], number[cells.people_class], right[cells.people_cell], zero)

    @cached_property
    def n_people(self) -> Ints:
        """The number of people in each selected class."""
        return np.bincount(self.person_class[self.person_class >= 0], minlength=len(self.weight))

    @cached_property
    def n_right(self) -> Floats:
        """The summed `person_right` of each selected class: for tau above 1/2 the people who have its value."""
        here = self.person_class >= 0
        return np.bincount(self.person_class[here], self.person_right[here], len(self.weight)).astype(np.float64)

    def value_for(self, weights: ArrayLike) -> NDArray[np.float64]:
        """Return TCAP for people who count so often: one number for each row of `weights`, NaN where undefined.

        `weights` is B x people (or people alone, for one number), each row saying how often each person was drawn.
        To compare two groups, join them, and give one group the weight 1 and the other 0.

        Examples
        --------
        Two selected classes of 1 and 3 source rows, three people:

        >>> cells = TcapCells(np.array([1.0, 3.0]), np.array([0, 0, 1]), np.array([1.0, 0.0, 1.0]))
        >>> cells.value_for([[1, 1, 1], [2, 0, 0], [0, 0, 0]]).tolist()
        [0.875, 1.0, nan]
        """
        drawn = np.asarray(weights)
        if drawn.ndim == 0 or drawn.ndim > 2 or drawn.shape[-1] != len(self.person_class):
            raise InputError("Weights need one number for each person, in one row or several.")
        table = np.atleast_2d(drawn)
        step = max(1, BLOCK // max(table.shape[1], 1))
        parts = [self._values(table[at : at + step]) for at in range(0, len(table), step)]
        return np.concatenate(parts or [np.empty(0)]).reshape(drawn.shape[:-1])

    def _values(self, drawn: NDArray[Any]) -> Floats:
        """Return the values for a block of weights.

        A class with one person (or group of people) has a fixed share when that person is drawn, and what it adds is a
        whole number; so a matrix product is exact, whatever the number of threads. Other classes are summed first.
        """
        alone, several = self._lots
        at = self.person_class[alone]
        adds = np.stack([np.rint(self.weight[at] * self.person_right[alone]), self.weight[at]], axis=1)
        above, below = ((drawn[:, alone] > 0).astype(np.float64) @ adds).T
        if several is not None:
            columns, people, right, weight = several
            chosen = np.ascontiguousarray(drawn[:, columns].T, dtype=np.float64)
            n_people, n_right = people @ chosen, right @ chosen
            shares = np.divide(n_right, n_people, out=np.zeros(n_people.shape), where=n_people > 0)
            above = above + (shares * weight[:, None]).sum(axis=0)
            below = below + np.where(n_people > 0, weight[:, None], 0.0).sum(axis=0)
        if self.zero:
            below = np.where(drawn.any(axis=1), self.weight.sum(), 0.0)
        return np.divide(above, below, out=np.full(len(drawn), np.nan), where=below > 0)

    @cached_property
    def _lots(self) -> tuple[Ints, tuple[Ints, Any, Any, Floats] | None]:
        """People who are alone in their class; and the others, with matrices that sum people and right ones by class."""
        from scipy.sparse import csr_array

        here = np.flatnonzero(self.person_class >= 0)
        crowd = self.n_people[self.person_class[here]]
        alone, others = here[crowd == 1], here[crowd > 1]
        if not len(others):
            return alone, None
        ids, filled = squeeze(self.person_class[others], len(self.weight))
        columns = np.arange(len(others))
        shape = len(filled), len(others)
        people = csr_array((np.ones(len(others)), (ids, columns)), shape=shape)
        right = csr_array((self.person_right[others], (ids, columns)), shape=shape)
        return alone, (others, people, right, self.weight[filled])

    def grouped(self) -> tuple[Ints, TcapCells]:
        """Return a group for each person, and the cells with groups as people: those who are alike share a group.

        Weights of groups are the summed weights of their people; there are at most as many as (key, value) cells, and
        all who stand in no selected class are one. So a resample draws counts of groups, not people.
        """
        rights, right = np.unique(self.person_right, return_inverse=True)
        alike = (self.person_class + 1) * max(len(rights), 1) + np.where(self.person_class < 0, 0, right)
        group, filled = squeeze(alike, (len(self.weight) + 1) * max(len(rights), 1))
        one = np.zeros(len(filled), dtype=np.int64)
        one[group] = np.arange(len(group))
        return group, TcapCells(self.weight, self.person_class[one], self.person_right[one], self.zero)

    def __repr__(self) -> str:
        return f"TcapCells(classes: {masked_count(len(self.weight))}, people: {masked_count(len(self.person_class))})"
