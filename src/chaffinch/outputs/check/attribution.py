"""TCAP of many synthetic datasets against people who are behind the outputs and people who are not, and the marginal risk: the difference, with an interval.

Two of the conventions of `risk.attribution.tcap`: `matched_rows` drops synthetic rows whose keys nobody has, `all_rows` counts them 0. Elliot, Little
and Allmendinger's figures use now the one, now the other; here both are always reported. TCAP is taken within a key set, then averaged over key
sets, then over datasets.

Two things are uncertain about a marginal risk. Another ensemble from the same outputs would attack differently: the variance over datasets. And
other people could have stood on either side: the delete-one jackknife over people, whose influences are added up *with their signs* over the
folds. A person counts for the ensemble of one fold and against that of the other, so where the two ensembles are alike, as they are if
outputs tell nothing of their own people, this part cancels. That is what the second fold is for.

In the compiled attack of one dataset, rows are found by their keys in a hash table of the synthetic dataset's keys. A key *speaks* where one value
has at least a share of tau of its rows (tau above 1/2, so at most one value can): it says that value. Deleting one person changes the result by a
term that is known in closed form; these terms are added up for each person (the delete-one jackknife of the mean over key sets). Of c people of
one key who are asked about, a deleted one changes their mean by (x - mean) / (c - 1), and such squares add up to c / (c - 1) of the variance of the
mean: twice too much where there are two of them, as there often are. So the term is multiplied by sqrt((c - 1) / c), which makes them unbiased
(MacKinnon and White 1985: HC2 in place of HC3).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..._base.arrays import Floats, Ints
from ..._base.compiled import jit
from ..._base.errors import InputError
from ..._base.results import Number, finite, shown_parts
from ..._base.runtime import thread_map
from ...stats.intervals import (
    NOTHING,
    CrossedPart,
    Estimate,
    crossed_difference,
    crossed_mean,
    crossed_means,
    student_quantile,
)
from ..domain import Codes, OutputDomain
from .settings import LEVEL

if TYPE_CHECKING:
    from ...risk.finding import Finding


CONVENTIONS = ("matched_rows", "all_rows")
"""What TCAP is a share of."""
MOST_KEYS = 2.0**62


NO_KEY = -1


POWER = 0.8
RATE, DIFFERENCE = (0.0, 1.0), (-1.0, 1.0)
"""What a rate can be, and a difference of two."""

ORIGINAL, HOLDOUT = 0, 1


@dataclass(frozen=True)
class KeyAttack:
    """What an attacker knows and wants: key sets, and a sensitive attribute."""

    sensitive: str
    """The column to be guessed."""
    key_sets: tuple[tuple[str, ...], ...]
    """What is known, set by set."""
    position: int
    """The sensitive column's position, for the kernel."""
    columns: Ints
    """The positions of all sets' columns, one set after the other."""
    starts: Ints
    """Where each set begins in `columns`."""
    radix: Ints
    """The columns' sizes."""
    tau: float = 1.0
    """The share of a key's rows that must have one value before the attacker takes it: above 0.5,
    at most 1.
    """


def attack_of(
    fields: OutputDomain,
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
    >>> from chaffinch.outputs.domain import OutputColumn, OutputDomain
    >>> fields = OutputDomain(tuple(OutputColumn(name, ("a", "b")) for name in "wxyz"))
    >>> attack_of(fields, ["w", "x", "y"], "z", sizes=(2, 3)).key_sets
    (('w', 'x'), ('w', 'y'), ('x', 'y'), ('w', 'x', 'y'))
    """
    known = [key for key in keys if key != sensitive]
    if not known:
        raise InputError(f"An attack on '{sensitive}' needs at least one other column as key.")
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
    columns = np.array(
        [fields.position(name) for key_set in sets for name in key_set], dtype=np.int64
    )
    starts = np.cumsum([0, *(len(key_set) for key_set in sets)]).astype(np.int64)
    radix = np.array(fields.sizes, dtype=np.int64)
    return KeyAttack(
        sensitive, tuple(sets), fields.position(sensitive), columns, starts, radix, tau
    )


@dataclass(frozen=True, eq=False, repr=False)
class EnsembleClaims:
    """What an ensemble says of each person under each key set (arrays are key sets x people)."""

    first: NDArray[np.int32]
    """The first thing said, a code of the sensitive column."""
    spoken: NDArray[np.int32]
    """How many datasets said anything."""
    agreed: NDArray[np.bool_]
    """Whether all that spoke said the same."""
    correct: NDArray[np.int32]
    """How many were right."""
    n_datasets: int
    """How many datasets there are."""

    def pinned(self, share: float = 0.5) -> NDArray[np.bool_]:
        """Return where at least this share of the datasets spoke, and all that did said the same."""
        return self.agreed & (self.spoken >= max(1, math.ceil(share * self.n_datasets)))


@dataclass(frozen=True, eq=False, repr=False)
class EnsembleTcap:
    """What an ensemble gives away about two groups of people."""

    values: Floats
    """TCAP: datasets x groups (original, holdout) x conventions x key sets; nan where no row speaks
    of anyone.
    """
    influence: Floats
    """What each person adds to the mean TCAP of their own group: conventions x people (delete-one
    jackknife, unbiased within keys), 0 for those in no group.
    """
    squares: Floats
    """The squared influences of each dataset alone, summed over a group's people: datasets x groups
    x conventions.
    """
    group: NDArray[np.int8]
    """0 for people behind the outputs, 1 for people held out, -1 for neither."""
    claims: EnsembleClaims | None
    """What the datasets say of each person; None where that was left out (it is large)."""

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
    # compiled: loaded when needed

    groups = np.ascontiguousarray(group, dtype=np.int8)
    people = np.ascontiguousarray(people, dtype=np.int32)
    values = np.ascontiguousarray(people[:, attack.position])
    shape = len(attack.key_sets), len(people)
    first, spoken, correct = (np.zeros(shape, dtype=np.int32) for _ in range(3))
    agreed = np.ones(shape, dtype=np.bool_)
    influence = np.zeros((len(CONVENTIONS), len(people)))
    tcaps, squares = [], []

    def attack_dataset(dataset: Codes) -> tuple[Floats, Floats, NDArray[np.int32]]:
        claims, adds = np.empty(shape, dtype=np.int32), np.zeros_like(influence)
        rows = np.ascontiguousarray(dataset, dtype=np.int32)
        label = np.ascontiguousarray(rows[:, attack.position])
        tcap = tcap_of_dataset(
            rows,
            label,
            attack.columns,
            attack.starts,
            attack.radix,
            people,
            values,
            groups,
            attack.tau,
            claims,
            adds,
        )
        sets = np.maximum(
            np.isfinite(tcap).sum(axis=2), 1
        )  # groups x conventions: the key sets that the mean is over
        adds /= sets[np.maximum(groups, 0)].T
        return tcap, adds, claims

    step = 8  # so many at a time: claims are large, and are added up in order
    for first_dataset in range(0, len(datasets), step):
        for tcap, adds, claims in thread_map(
            attack_dataset, datasets[first_dataset : first_dataset + step], threads=threads
        ):
            tcaps.append(tcap)
            influence += adds
            squares.append([(adds[:, groups == side] ** 2).sum(axis=1) for side in (0, 1)])
            add_claims(claims, values, first, spoken, agreed, correct)
    together = EnsembleClaims(first, spoken, agreed, correct, len(datasets))
    return EnsembleTcap(
        np.array(tcaps), influence / max(len(datasets), 1), np.array(squares), groups, together
    )


@dataclass(frozen=True)
class RiskMeasure:
    """One sensitive attribute under one convention, averaged over key sets, datasets and folds."""

    sensitive: str
    convention: str
    original: Estimate
    """TCAP against the people behind the outputs."""
    holdout: Estimate
    """TCAP against people held out."""
    prior: Estimate
    """TCAP of datasets made from the same start without any output, against the people behind the
    outputs.
    """
    marginal: Estimate
    """`original - holdout`: the risk that comes from having been in the data. Its interval is
    simultaneous over all attributes and conventions of an assessment.
    """
    beyond_prior: Estimate
    """`original - prior`: what the outputs tell at all, about anyone."""
    detectable: Number
    """The smallest marginal risk that would have been found with a chance of 80 %; infinite where
    even the largest, 1, would have been missed more often.
    """
    prior_marginal: Estimate = NOTHING
    """The marginal risk of datasets from the start alone: what margins of a fold tell of its people
    without any output.
    """

    @property
    def finding(self) -> Finding:
        """The same in the form that all attacks give."""
        from ...risk.finding import Finding  # half of what a check by rules alone would import

        return Finding(
            attacker="evolved_datasets",
            convention=self.convention,
            sensitive=self.sensitive,
            value=finite(self.original.value),
            interval=_ends(self.original),
            guess=finite(self.prior.value),
            holdout=finite(self.holdout.value),
            excess=finite(self.marginal.value),
            excess_interval=_ends(self.marginal),
            lower_bound=finite(self.marginal.low),
            upper_bound=finite(self.marginal.high),
            detectable=finite(self.detectable),
            n_people=None,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold, with the finding."""
        return {**shown_parts(self), "finding": self.finding.to_dict()}


def _ends(estimate: Estimate) -> tuple[float, float] | None:
    low, high = finite(estimate.low), finite(estimate.high)
    return None if low is None or high is None else (low, high)


def measures_of(
    evolved: Mapping[str, Sequence[EnsembleTcap]],
    prior: Mapping[str, Sequence[EnsembleTcap]],
    *,
    level: float = LEVEL,
) -> tuple[RiskMeasure, ...]:
    """Return the measures of each sensitive attribute under each convention, from what the ensembles of the folds give away by attribute.

    Intervals of marginal risks hold together with the probability `level`; `prior` is of datasets from the same start without outputs.
    """
    which = [(sensitive, c) for sensitive in evolved for c in range(len(CONVENTIONS))]
    marginals = crossed_means(
        [[excess_of(tcap, c) for tcap in evolved[name]] for name, c in which], level=level
    )
    measures = []
    for (sensitive, c), marginal in zip(which, marginals, strict=True):
        original, holdout, before = (
            [side_of(tcap, side, c) for tcap in ensembles[sensitive]]
            for ensembles, side in ((evolved, ORIGINAL), (evolved, HOLDOUT), (prior, ORIGINAL))
        )
        measures.append(
            RiskMeasure(
                sensitive,
                CONVENTIONS[c],
                original=crossed_mean(original, level=level).within(*RATE),
                holdout=crossed_mean(holdout, level=level).within(*RATE),
                prior=crossed_mean(before, level=level).within(*RATE),
                prior_marginal=_start_estimate(
                    [excess_of(tcap, c) for tcap in prior[sensitive]], level
                ),
                marginal=marginal.within(*DIFFERENCE),
                beyond_prior=crossed_difference(original, before, level=level).within(*DIFFERENCE),
                detectable=_detectable(marginal),
            )
        )
    return tuple(measures)


def _start_estimate(parts: Sequence[CrossedPart], level: float) -> Estimate:
    """What a start tells of its own people: exactly nothing where both folds have the same, whose people change sides."""
    estimate = crossed_mean(parts, level=level).within(*DIFFERENCE)
    return Estimate(0.0, 0.0, 0.0, 0.0) if estimate.value == 0.0 else estimate


def _detectable(marginal: Estimate) -> float:
    """The smallest difference of rates that would have been found; infinite where that is more than any can be."""
    if not marginal.error > 0.0:
        return 0.0 if marginal.error == 0.0 else math.nan
    difference = (
        marginal.quantile + student_quantile(POWER, max(marginal.freedom, 1.0))
    ) * marginal.error
    return difference if difference <= DIFFERENCE[1] else math.inf


def side_of(tcap: EnsembleTcap, side: int, convention: int) -> CrossedPart:
    """Return the TCAP of an ensemble against one group of people."""
    influence = np.where(tcap.group == side, tcap.influence[convention], 0.0)
    return CrossedPart(
        tcap.means[:, side, convention], influence, tcap.squares[:, side, convention]
    )


def excess_of(tcap: EnsembleTcap, convention: int) -> CrossedPart:
    """Return the TCAP of an ensemble against the people behind the outputs less that against people held out."""
    return side_of(tcap, ORIGINAL, convention).less(side_of(tcap, HOLDOUT, convention))


@jit
def tcap_of_dataset(  # type: ignore[no-untyped-def]
    synthetic, label, columns, starts, radix, people, values, group, tau, claims, influence
):
    """Return TCAP for each group, convention and key set; fill `claims` and add to `influence`.

    synthetic: (m, F) codes; label: (m,) codes of the sensitive column; columns, starts: positions of each key set's columns; radix: (F,)
    sizes; people: (n, F); values: (n,); group: (n,) 0 or 1, or -1 for people who take no part; claims: (K, n) int32, what the dataset
    says of each person, -1 for nothing; influence: (2, n) for the two conventions, added to, summed over key sets.
    """
    size = 16
    while size < 2 * synthetic.shape[0]:
        size *= 2
    tcap = np.full((2, 2, starts.shape[0] - 1), np.nan)
    for k in range(tcap.shape[2]):
        used = columns[starts[k] : starts[k + 1]]
        domain = 1.0
        for c in used:
            domain *= radix[c]
        # A key that is small enough is its own slot in the table.
        dense = domain <= size
        keys = np.full(int(domain) if dense else size, NO_KEY, np.int64)
        slots_of_rows = _slots(synthetic, used, radix, keys, dense, True)
        claim, weight = _claimed_values(slots_of_rows, label, keys.shape[0], tau)
        slots = _slots(people, used, radix, keys, dense, False)
        met, right = _count_answers(slots, group, values, claim, weight, claims[k])
        selected = weight.sum()
        above = np.zeros(2)
        below = np.zeros(2)
        for g in range(2):
            for slot in range(keys.shape[0]):
                if met[g, slot] > 0:
                    above[g] += weight[slot] * (right[g, slot] / met[g, slot])
                    below[g] += weight[slot]
            if below[g] > 0:
                tcap[g, 0, k] = above[g] / below[g]
            if selected > 0:
                tcap[g, 1, k] = above[g] / selected
        for i in range(people.shape[0]):
            slot = slots[i]
            if slot < 0:
                continue
            g = group[i]
            w, hit, count = (
                float(weight[slot]),
                1.0 if claim[slot] == values[i] else 0.0,
                met[g, slot],
            )
            if count > 1:
                change = w * (hit - right[g, slot] / count) / np.sqrt(count * (count - 1.0))
                influence[0, i] += change / below[g]
                influence[1, i] += change / selected
            else:
                if below[g] > w:
                    influence[0, i] += tcap[g, 0, k] - (above[g] - w * hit) / (below[g] - w)
                influence[1, i] += w * hit / selected
    return tcap


@jit
def _slots(codes, columns, radix, keys, dense, add):  # type: ignore[no-untyped-def]
    """The slot of each row's key in a table of keys, to which keys are added if asked; else -1 for a key that is not in it."""
    slots = np.empty(codes.shape[0], np.int64)
    for i in range(codes.shape[0]):
        key = np.int64(0)
        for c in columns:
            key = key * radix[c] + codes[i, c]
        slot = key if dense else _slot(keys, key, np.int64(keys.shape[0] - 1))
        if add:
            keys[slot] = key
        slots[i] = slot if keys[slot] == key else -1
    return slots


@jit
def _claimed_values(slots, label, n_slots, tau):  # type: ignore[no-untyped-def]
    """For each slot the value that could have more than half of its rows (Boyer and Moore's vote), and how many rows have it: 0 where that is under a share of tau."""
    total = np.zeros(n_slots, np.int64)
    balance = np.zeros(n_slots, np.int64)
    claim = np.zeros(n_slots, np.int64)
    weight = np.zeros(n_slots, np.int64)
    for i, slot in enumerate(slots):
        total[slot] += 1
        if balance[slot] == 0:
            claim[slot] = label[i]
        balance[slot] += 1 if claim[slot] == label[i] else -1
    for i, slot in enumerate(slots):
        weight[slot] += claim[slot] == label[i]
    for slot in range(n_slots):
        if weight[slot] < tau * total[slot]:
            weight[slot] = 0
    return claim, weight


@jit
def _count_answers(slots, group, values, claim, weight, claims):  # type: ignore[no-untyped-def]
    """For each group and slot how many people are told a value, and how many the right one; fill `claims`, and -1 into the slots of others."""
    met = np.zeros((2, claim.shape[0]), np.int64)
    right = np.zeros((2, claim.shape[0]), np.int64)
    for i, slot in enumerate(slots):
        claims[i] = -1
        if group[i] < 0 or slot < 0 or weight[slot] == 0:
            slots[i] = -1
            continue
        claims[i] = claim[slot]
        met[group[i], slot] += 1
        right[group[i], slot] += claim[slot] == values[i]
    return met, right


@jit
def _slot(keys, key, mask):  # type: ignore[no-untyped-def]
    """The place of a key in the hash table: its own, or the empty one where it would go."""
    slot = (key * np.int64(-7046029254386353131)) ^ (
        (key * np.int64(-7046029254386353131)) >> np.int64(29)
    )
    slot = slot & mask
    while keys[slot] != NO_KEY and keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@jit
def add_claims(claims, values, first, spoken, agreed, correct):  # type: ignore[no-untyped-def]
    """Add what one dataset says of each person to what others said: first claim, how many, whether all alike, how many right."""
    for k in range(claims.shape[0]):
        for i in range(claims.shape[1]):
            claim = claims[k, i]
            if claim < 0:
                continue
            if spoken[k, i] == 0:
                first[k, i] = claim
            elif first[k, i] != claim:
                agreed[k, i] = False
            spoken[k, i] += 1
            correct[k, i] += claim == values[i]
