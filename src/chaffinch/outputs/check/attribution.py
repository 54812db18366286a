"""TCAP of many synthetic datasets against people who are behind the outputs and people who are not.

Two of the conventions of `risk.attribution.tcap`: `matched_rows` drops synthetic rows whose keys nobody has, `all_rows` counts them 0. Elliot, Little
and Allmendinger's figures use now the one, now the other; here both are always reported. TCAP is taken within a key set, then averaged over key
sets, then over datasets.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import InputError
from ..._base.runtime import thread_map
from ..domain import Codes, Fields, Floats

CONVENTIONS = ("matched_rows", "all_rows")
"""What TCAP is a share of."""
MOST_KEYS = 2.0**62

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class KeyAttack:
    """What an attacker knows and wants: key sets, and a sensitive attribute."""

    sensitive: str  # The column to be guessed
    key_sets: tuple[tuple[str, ...], ...]  # What is known, set by set
    # position, columns, starts, radix: The same for the kernel: the sensitive column's position; the positions of all sets' columns, one
    # set after the other; the columns' sizes
    position: int
    columns: Ints
    starts: Ints
    radix: Ints
    tau: float = 1.0  # The share of a key's rows that must have one value before the attacker takes it: above 0.5, at most 1.


def attack_of(
    fields: Fields,
    keys: Sequence[str],
    sensitive: str,
    *,
    sizes: tuple[int, int] | None = None,
    tau: float = 1.0,
) -> KeyAttack:
    """Return the attack with every set of so many keys.

    Sets have 3 to all keys unless `sizes` says otherwise, fewer if there are fewer; the sensitive column is left out of them.

    Examples
    --------
    >>> from chaffinch.outputs.domain import Field, Fields
    >>> fields = Fields(tuple(Field(name, ("a", "b")) for name in "wxyz"))
    >>> attack_of(fields, ["w", "x", "y"], "z", sizes=(2, 3)).key_sets
    (('w', 'x'), ('w', 'y'), ('x', 'y'), ('w', 'x', 'y'))
    """
    known = [key for key in keys if key != sensitive]
    if not known:
        raise InputError(f"An attack on '{sensitive}' needs at least one other column as key.")
    if not 0.5 < tau <= 1.0:
        raise InputError(f"tau must be above 0.5 and at most 1. Got {tau:g}.")
    top = len(known)
    low, high = (min(3, top), top) if sizes is None else (min(sizes[0], top), min(sizes[1], top))
    from ...risk.attribution.classes import (
        key_subsets,
    )  # half of what a check by rules alone would import

    sets = key_subsets(known, (low, high))
    if math.prod(float(len(fields[name].levels)) for name in known) >= MOST_KEYS:
        raise InputError(
            "The keys together have over 2^62 combinations of levels. Declare coarser columns, or fewer keys."
        )
    columns = np.array([fields.position(name) for one in sets for name in one], dtype=np.int64)
    starts = np.cumsum([0, *(len(one) for one in sets)]).astype(np.int64)
    radix = np.array(fields.columns.sizes, dtype=np.int64)
    return KeyAttack(
        sensitive, tuple(sets), fields.position(sensitive), columns, starts, radix, tau
    )


@dataclass(frozen=True, eq=False, repr=False)
class EnsembleClaims:
    """What an ensemble says of each person under each key set (arrays are key sets x people)."""

    first: NDArray[np.int32]  # The first thing said, a code of the sensitive column
    spoken: NDArray[np.int32]  # How many datasets said anything
    agreed: NDArray[np.bool_]  # Whether all that spoke said the same
    correct: NDArray[np.int32]  # How many were right
    n_datasets: int  # How many datasets there are

    def pinned(self, share: float = 0.5) -> NDArray[np.bool_]:
        """Return where at least this share of the datasets spoke, and all that did said the same."""
        return self.agreed & (self.spoken >= max(1, math.ceil(share * self.n_datasets)))


@dataclass(frozen=True, eq=False, repr=False)
class EnsembleTcap:
    """What an ensemble gives away about two groups of people."""

    values: Floats  # TCAP: datasets x groups (original, holdout) x conventions x key sets; nan where no row speaks of anyone
    # What each person adds to the mean TCAP of their own group: conventions x people (delete-one jackknife, unbiased within keys), 0 for those
    # in no group
    influence: Floats
    squares: Floats  # The squared influences of each dataset alone, summed over a group's people: datasets x groups x conventions
    group: NDArray[
        np.int8
    ]  # 0 for people behind the outputs, 1 for people held out, -1 for neither
    claims: (
        EnsembleClaims | None
    )  # What the datasets say of each person; None where that was left out (it is large)

    @cached_property
    def means(self) -> Floats:
        """TCAP averaged over key sets: datasets x groups x conventions."""
        with np.errstate(invalid="ignore"):
            counted = np.isfinite(self.values).sum(axis=3)
            total = np.nansum(self.values, axis=3)
            return np.asarray(np.where(counted > 0, total / np.maximum(counted, 1), np.nan))


def ensemble_tcap(
    datasets: Sequence[Codes],
    people: Codes,
    group: NDArray[np.integer],
    attack: KeyAttack,
    *,
    threads: int | None = None,
) -> EnsembleTcap:
    """Return what datasets give away about the people of two groups.

    `group` has for each person 0 (original), 1 (holdout) or -1 (takes no part).
    """
    from . import kernels  # compiled: loaded when needed

    sides = np.ascontiguousarray(group, dtype=np.int8)
    people = np.ascontiguousarray(people, dtype=np.int32)
    values = np.ascontiguousarray(people[:, attack.position])
    shape = len(attack.key_sets), len(people)
    first, spoken, correct = (np.zeros(shape, dtype=np.int32) for _ in range(3))
    agreed = np.ones(shape, dtype=np.bool_)
    influence = np.zeros((len(CONVENTIONS), len(people)))
    tcaps, squares = [], []

    def one(dataset: Codes) -> tuple[Floats, Floats, NDArray[np.int32]]:
        claims, adds = np.empty(shape, dtype=np.int32), np.zeros_like(influence)
        rows = np.ascontiguousarray(dataset, dtype=np.int32)
        label = np.ascontiguousarray(rows[:, attack.position])
        tcap = kernels.attack(
            rows,
            label,
            attack.columns,
            attack.starts,
            attack.radix,
            people,
            values,
            sides,
            attack.tau,
            claims,
            adds,
        )
        sets = np.maximum(
            np.isfinite(tcap).sum(axis=2), 1
        )  # groups x conventions: the key sets that the mean is over
        adds /= sets[np.maximum(sides, 0)].T
        return tcap, adds, claims

    step = 8  # so many at a time: claims are large, and are added up in order
    for at in range(0, len(datasets), step):
        for tcap, adds, claims in thread_map(one, datasets[at : at + step], threads=threads):
            tcaps.append(tcap)
            influence += adds
            squares.append([(adds[:, sides == side] ** 2).sum(axis=1) for side in (0, 1)])
            kernels.absorb(claims, values, first, spoken, agreed, correct)
    together = EnsembleClaims(first, spoken, agreed, correct, len(datasets))
    return EnsembleTcap(
        np.array(tcaps), influence / max(len(datasets), 1), np.array(squares), sides, together
    )
