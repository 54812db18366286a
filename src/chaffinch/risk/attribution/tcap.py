"""Targeted correct attribution (TCAP): how often the source is right where it looks certain.

One name, five numbers in use; the convention is part of every result. A source row is *selected* where its WEAP, the
share of source rows with its key that have its value, is at least tau. Over people, a key is disclosive where some
value reaches that share, and right for a person whose own value does.

- p1: share of people with the row's key who have its value, mean over selected source rows whose key some person has;
- p1_zero: the same over all selected source rows, 0 where no person has the key;
- certain: right, and the person's value reaches tau among people with the key too, mean over people with a match;
- matched: right, mean over people with a match in the source;
- conditional: right, mean over people whose key is disclosive in the source.

"p1" is the default because it is the definition printed with equations (appendix A of the paper on output checking
by evolutionary synthesis, after Taub and Elliot 2019); that paper's figure 3 uses "p1_zero". "certain" = DiSDiO / iS,
"matched" = DiSCO / iS, "conditional" = DiSCO / DiS, so certain <= matched <= conditional.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._base.errors import InputError, unknown_name
from ..._base.masking import about
from ...stats.scores import Scores
from .cap import Match, check_tau, match
from .classes import Cells, Ints, Keys, squeeze
from .wildcard import wild_sums

__all__ = [
    "CONVENTIONS",
    "Convention",
    "Tcap",
    "TcapCells",
    "all_conventions",
    "tcap",
    "tcap_credit",
    "tcap_of",
    "weap",
]

Convention = Literal["p1", "p1_zero", "certain", "matched", "conditional"]
CONVENTIONS: tuple[Convention, ...] = get_args(Convention)

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
        Whether classes without people count 0 ("p1_zero") or are dropped ("p1").
    """

    weight: Floats
    person_class: Ints
    person_right: Floats
    zero: bool = False

    @classmethod
    def of(cls, cells: Cells, *, tau: float, zero: bool) -> TcapCells:
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
        found = [self._values(table[at : at + step]) for at in range(0, len(table), step)]
        return np.concatenate(found or [np.empty(0)]).reshape(drawn.shape[:-1])

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
        return f"TcapCells(classes: {about(len(self.weight))}, people: {about(len(self.person_class))})"


@dataclass(frozen=True, eq=False, repr=False)
class Tcap:
    """TCAP under one convention, in [0, 1], higher is riskier.

    Parameters
    ----------
    value, why_not
        The number, or None and the reason.
    n_source_selected
        Source rows with WEAP of at least tau.
    n_matched
        p1, p1_zero: those of them whose key some person has. Else: people over whom the mean goes.
    scores
        The score of each person; None for p1 and p1_zero, which are no mean over people.
    cells
        p1 and p1_zero: what is needed to draw people anew; None else, and where a missing key matches anything (a
        person then stands in several classes).
    counted
        What the value divides by: source rows for p1 and p1_zero, else people.
    """

    value: float | None
    why_not: str
    convention: Convention
    tau: float
    n_source_selected: int
    n_matched: int
    scores: Scores | None = None
    cells: TcapCells | None = None
    counted: float = 0.0

    def __repr__(self) -> str:
        shown = f"not applicable because {self.why_not}" if self.value is None else f"{self.value:.4g}"
        return f"Tcap({shown}, convention: {self.convention}, tau: {self.tau:g}, matched: {about(self.n_matched)})"


def weap(source_keys: Keys, source_sensitive: NDArray[Any], *, source_missing: Keys | None = None) -> Floats:
    """Return for each source row the share of source rows with its key that have its value: WEAP, in (0, 1].

    Examples
    --------
    >>> weap(np.array([[0], [0], [1]]), np.array([1, 2, 2])).tolist()
    [0.5, 0.5, 1.0]
    """
    own = match(
        source_keys,
        source_sensitive,
        source_keys,
        source_sensitive,
        people_missing=source_missing,
        source_missing=source_missing,
    )
    return own.n_both / own.n_key


def tcap(
    people_keys: Keys,
    people_sensitive: NDArray[Any],
    source_keys: Keys,
    source_sensitive: NDArray[Any],
    *,
    convention: Convention = "p1",
    tau: float = 1.0,
    people_missing: Keys | None = None,
    source_missing: Keys | None = None,
) -> Tcap:
    """Return TCAP under one convention; codes and missing masks are those of `match`.

    Examples
    --------
    >>> keys = np.array([[0], [0], [0], [1], [3], [3]]), np.array([[0], [1], [3], [3]])
    >>> tcap(keys[0], np.array([1, 1, 2, 2, 3, 4]), keys[1], np.array([1, 2, 3, 4]))
    Tcap(0.8333, convention: p1, tau: 1, matched: <10)
    """
    found = match(
        people_keys,
        people_sensitive,
        source_keys,
        source_sensitive,
        people_missing=people_missing,
        source_missing=source_missing,
    )
    return tcap_of(found, convention=convention, tau=tau)


def tcap_of(found: Match, *, convention: Convention = "p1", tau: float = 1.0) -> Tcap:
    """Return TCAP under one convention from a match."""
    check_tau(tau)
    if convention not in CONVENTIONS:
        raise unknown_name("convention", convention, CONVENTIONS)
    if convention in ("p1", "p1_zero"):
        return _over_source(found, convention, tau)
    return _over_people(found, convention, tau)


def all_conventions(found: Match, *, tau: float = 1.0) -> dict[Convention, Tcap]:
    """Return TCAP under every convention from one match."""
    return {convention: tcap_of(found, convention=convention, tau=tau) for convention in CONVENTIONS}


def _over_source(found: Match, convention: Convention, tau: float) -> Tcap:
    rows = found.source_rows
    selected = rows.weap >= tau
    met = selected & (rows.people_key > 0)
    n_selected, n_met = int(rows.weight[selected].sum()), int(rows.weight[met].sum())
    cells = TcapCells.of(found.sides, tau=tau, zero=convention == "p1_zero") if isinstance(found.sides, Cells) else None
    count = n_selected if convention == "p1_zero" else n_met
    why_not = ""
    if not found.n_people:
        why_not = "there are no people"
    elif not n_selected:
        why_not = f"no source row has a WEAP of at least {tau:g}"
    elif not count:
        why_not = f"no person has the keys of a source row with a WEAP of at least {tau:g}"
    if why_not:
        return Tcap(None, why_not, convention, tau, n_selected, n_met, cells=cells)
    value = float((rows.weight[met] * (rows.people_both[met] / rows.people_key[met])).sum()) / count
    return Tcap(value, "", convention, tau, n_selected, n_met, cells=cells, counted=count)


def _over_people(found: Match, convention: Convention, tau: float) -> Tcap:
    right, counted = found.right_at(tau), found.matched
    why_not = "no person's keys are in the source"
    if convention == "certain":
        right = right & found.people_at(tau)
    elif convention == "conditional":
        counted = found.disclosive_at(tau)
        why_not = f"no person's keys have a value with a share of at least {tau:g} in the source"
    scores = Scores(right, counted)
    rows = found.source_rows
    n_selected = int(rows.weight[rows.weap >= tau].sum())
    n_counted = int(counted.sum())
    return Tcap(
        scores.value,
        "" if n_counted else why_not,
        convention,
        tau,
        n_selected,
        n_counted,
        scores=scores,
        counted=n_counted,
    )


def tcap_credit(found: Match, told: Tcap) -> Floats:
    """Return what each person adds to TCAP, times `counted`, if the person's own value is answered for every key alike.

    An answer that knows no key scores the summed credit of the people with that value over `counted`: each person of those whom the
    measure counts adds 1 (under "certain" only where the key is certain among people too); over source rows the people of a key
    share what its rows weigh.

    Examples
    --------
    Two keys that the source is certain of, with 3 rows and 1; two people have the first key, one has the second:

    >>> keys = np.array([[0], [0], [1]]), np.array([[0], [0], [0], [1]])
    >>> found = match(keys[0], np.array([5, 6, 6]), keys[1], np.array([5, 5, 5, 6]))
    >>> tcap_credit(found, tcap_of(found)).tolist()
    [1.5, 1.5, 1.0]
    """
    if told.cells is not None:
        cells = told.cells
        here = cells.person_class >= 0
        at = cells.person_class[here]
        out = np.zeros(found.n_people)
        out[here] = cells.weight[at] / cells.n_people[at]
        return out
    if told.scores is not None:
        counts = told.scores.weight > 0
        return (counts & found.people_at(told.tau) if told.convention == "certain" else counts).astype(np.float64)
    rows = found.source_rows
    met = (rows.weap >= told.tau) & (rows.people_key > 0)
    assert not isinstance(found.sides, Cells)
    return wild_sums(*found.sides, np.where(met, rows.weight / np.maximum(rows.people_key, 1), 0.0))
