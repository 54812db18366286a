"""GCAP: what the source rows nearest to a person's keys say about the person's sensitive value.

The adversary knows a person's keys, looks up the source rows whose keys differ from them in the fewest places (the minimal Hamming
radius), and reads the sensitive value off those rows. Papers call two figures of this GCAP. The *score* is equation 1 of Hittmeir, Mayer and Ekelhart (2022): the
share of the nearest rows that have the person's value. The *vote* is a classifier: the most frequent value among the nearest
rows, right or wrong; its accuracy is what their tables and those of
Niederhametner and Mayer (2023) print.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..._base.arrays import Ints
from ..._base.checks import check_at_least
from ..._base.errors import InputError, unknown_name
from ..._base.runtime import Progress, silent
from ..attacker import ATTACKERS, Attacker
from .attempt import AttackScores, answer_scores
from .hamming import Search, align, distinct, find_nearest

if TYPE_CHECKING:
    from .attempt import AttackContext


Keys = NDArray[Any] | Sequence[NDArray[Any]]
Ties = Literal["common", "lowest"]


@dataclass(frozen=True, eq=False, repr=False)
class Gcap:
    """The result of the attack for each person; it holds one entry a person and stays inside.

    `value`: the person's sensitive value, as a code. `radius`: the smallest Hamming distance of the person's keys to those of any
    source row; -1 where there is no source row. `n_near`: source rows at that distance. `n_right`: those of them with the person's
    sensitive value. `vote`: the most frequent sensitive value among them, as a code; -1 where there is no source row. `reason`: why
    there is no figure over people, to follow "because"; empty where there is one.
    """

    value: Ints
    radius: Ints
    n_near: Ints
    n_right: Ints
    vote: Ints
    reason: str = ""

    @property
    def score(self) -> NDArray[np.float64]:
        """The share of the nearest rows with the right value, for each person; NaN without source rows."""
        return np.divide(
            self.n_right, self.n_near, out=np.full(len(self.value), np.nan), where=self.n_near > 0
        )

    @property
    def correct(self) -> NDArray[np.bool_]:
        """Whether the vote is right, for each person."""
        return self.vote == self.value

    @property
    def mean_score(self) -> float | None:
        """The mean score: 0 nobody's value shows in the nearest rows, 1 everybody's does and no other; less is safer."""
        return None if self.reason else float(self.score.mean())

    @property
    def vote_accuracy(self) -> float | None:
        """The share of people whose value the vote guesses: 0 none, 1 all; less is safer."""
        return None if self.reason else float(self.correct.mean())


def gcap(
    people_keys: Keys,
    people_sensitive: NDArray[Any],
    source_keys: Keys,
    source_sensitive: NDArray[Any],
    *,
    n_levels: int,
    ties: Ties = "common",
    search: Search = "auto",
    threads: int | None = None,
    progress: Progress = silent,
) -> Gcap:
    """Return what the nearest source rows say about each person's sensitive value.

    Parameters
    ----------
    people_keys, source_keys
        Codes (integers from 0) shared by both: a matrix of rows x keys, or a sequence of arrays, one a key. Without any key every
        source row is at distance 0. A missing key is a value of its own, with a code.
    people_sensitive, source_sensitive
        Codes of the sensitive value, from 0 to below `n_levels`.
    ties
        Which of equally frequent values wins the vote: the one that is most frequent in the whole source and, of those, the lowest
        code ("common"), or the lowest code ("lowest", as a mode in pandas). The papers do not say. Their figures for the
        original data attacking itself cannot tell: there all nearest rows of a class are its own people, and whichever
        of the tied values is voted, equally many of them have it.
    search
        How rows are found: by groupings ("classes"), by comparing all pairs of distinct keys ("pairs"), or whichever is expected
        to cost less ("auto"). It never changes the answer.
    threads
        The most threads to use; None is all cores. It never changes the answer.

    Examples
    --------
    The second person's key 7 is nowhere, so that all three rows are at distance 1.

    >>> keys, other = np.array([[0], [7]]), np.array([[0], [0], [1]])
    >>> found = gcap(keys, np.array([1, 0]), other, np.array([1, 0, 1]), n_levels=2)
    >>> found.radius.tolist(), found.n_right.tolist(), found.n_near.tolist(), found.vote.tolist()
    ([0, 1], [1, 1], [2, 3], [1, 1])
    """
    if ties not in ("common", "lowest"):
        raise unknown_name("tie rule", ties, ("common", "lowest"))
    if search not in ("auto", "classes", "pairs"):
        raise unknown_name("search", search, ("auto", "classes", "pairs"))
    value = _values("people_sensitive", people_sensitive, n_levels)
    other = _values("source_sensitive", source_sensitive, n_levels)
    mine = _keys("people_keys", people_keys, len(value))
    theirs = _keys("source_keys", source_keys, len(other))
    if len(mine) != len(theirs):
        raise InputError(
            f"people_keys and source_keys must have the same keys. Got {len(mine)} and {len(theirs)} of them."
        )
    if not len(value) or not len(other):
        return _nobody(
            value, "there are no people" if not len(value) else "there are no source rows"
        )

    by_rank = np.arange(n_levels)
    if ties == "common":
        by_rank = np.argsort(-np.bincount(other, minlength=n_levels), kind="stable")
    rank = np.empty(n_levels, dtype=np.int64)
    rank[by_rank] = np.arange(n_levels)

    aligned = [align(first, second) for first, second in zip(mine, theirs, strict=True)]
    sizes = [size for _, _, size in aligned]
    people = distinct([first for first, _, _ in aligned], rank[value])
    source = distinct([second for _, second, _ in aligned], rank[other])
    nearest = find_nearest(
        people, source, sizes, n_levels=n_levels, by=search, threads=threads, progress=progress
    )
    key, right = nearest.key, nearest.right[people.inverse]
    return Gcap(
        value=value,
        radius=nearest.radius[key],
        n_near=nearest.near[key],
        n_right=right,
        vote=by_rank[nearest.vote][key],
    )


def _nobody(value: Ints, reason: str) -> Gcap:
    """Return the result where there is nothing to compare."""
    nothing, none = np.zeros(len(value), dtype=np.int64), np.full(len(value), -1, dtype=np.int64)
    return Gcap(value, none, nothing, nothing, none, reason)


def _values(name: str, values: NDArray[Any], n_levels: int) -> Ints:
    """Return codes of the sensitive value, checked."""
    check_at_least("n_levels", n_levels, 1)
    out = np.asarray(values)
    if out.ndim != 1 or (len(out) and not np.issubdtype(out.dtype, np.integer)):
        raise InputError(
            f"{name} must be an array of integer codes. Got {out.ndim} dimensions of {out.dtype}."
        )
    if len(out) and (out.min() < 0 or out.max() >= n_levels):
        raise InputError(
            f"{name} has codes outside 0 to {n_levels - 1}. Raise n_levels, or code the values anew."
        )
    return out.astype(np.int64)


def _keys(name: str, keys: Keys, n_rows: int) -> list[NDArray[Any]]:
    """Return a matrix or a sequence of arrays as a list of columns of codes, each with an entry a row; checked."""
    if isinstance(keys, np.ndarray) and keys.ndim != 2:
        raise InputError(
            f"{name} must be a matrix of rows x keys, or a sequence of arrays. Got {keys.ndim} dimensions."
        )
    columns = (
        list(keys.T) if isinstance(keys, np.ndarray) else [np.asarray(column) for column in keys]
    )
    for j, column in enumerate(columns):
        if column.shape != (n_rows,):
            raise InputError(
                f"{name} must have an entry for each of the rows of the sensitive value. Lengths differ."
            )
        if len(column) and not np.issubdtype(column.dtype, np.integer):
            raise InputError(f"{name} must be integer codes. Key {j} has {column.dtype}.")
        if len(column) and (column.min() < 0 or column.max() >= 1 << 62):
            raise InputError(
                f"{name} must be codes from 0 to below 2^62. Key {j} is not; code its values anew."
            )
    return columns


# As attackers.

PAPERS = "Hittmeir, Mayer and Ekelhart 2022; Niederhametner and Mayer 2023"


def _attack(
    scores: Callable[[Gcap], NDArray[Any]],
) -> Callable[[AttackContext], list[AttackScores]]:
    def attack(attempt: AttackContext) -> list[AttackScores]:
        nearest = attempt.once("gcap", lambda: _nearest(attempt))
        parts = np.split(scores(nearest), attempt.ends)
        return [
            answer_scores(scores, values, nearest.reason)
            for scores, values in zip(parts, attempt.values, strict=True)
        ]

    return attack


def _nearest(attempt: AttackContext) -> Gcap:
    return gcap(
        *attempt.rows(attempt.people),
        *attempt.rows([attempt.source]),
        n_levels=attempt.data.grids[attempt.question.sensitive].size,
        threads=attempt.threads,
        progress=attempt.progress,
    )


ATTACKERS.register(
    Attacker(
        name="gcap_score",
        attack=_attack(lambda near: np.nan_to_num(near.score)),
        title="GCAP, mean score",
        short="GCAP score",
        guess_by="draw",
        group="gcap",
        own_stream=False,
        says="someone who draws one of the nearest synthetic rows gets {sensitive}",
        definition="As DCAP, from the synthetic rows that differ in the fewest keys (minimal Hamming radius).",
        reference=f"{PAPERS} (equation 1)",
    )
)
ATTACKERS.register(
    Attacker(
        name="gcap_vote",
        attack=_attack(lambda near: near.correct),
        title="GCAP, majority vote",
        short="GCAP vote",
        answers=True,
        group="gcap",
        own_stream=False,
        says="someone who takes the most frequent value of the nearest synthetic rows guesses {sensitive}",
        definition="Share of people whose value is the most frequent one of the synthetic rows that differ in the fewest keys.",
        reference=f"{PAPERS} (their tables)",
    )
)
