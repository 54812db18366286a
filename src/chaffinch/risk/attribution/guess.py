"""The guess beside an attack: what somebody without keys would score, were they scored as the attack is.

An attack answers with a value, or draws one, and its measure says whom it is about and how answers count. The guess is for the same
people and counts in the same way, but its answer is the same for everybody: the value that scores most; or, where the attack draws, a
draw from the distribution of the value among those people (for DCAP the baseline of Taub, Elliot, Pampaka and Smith 2018, which Raab,
Nowok and Dibben 2024 call baseCAPd).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

By = Literal["value", "draw"]
"""Whether an answer is one value for everybody, or drawn."""


@dataclass(frozen=True)
class Guess:
    """What is scored without keys, None where nobody counts: with the one best `value` for all, and with a `draw` for each; over how many.

    Which of the two stands beside an attack is the attacker's to say, once: `guess_by`. `counted` is what the attack's own value divides by:
    people, or for TCAP over source rows these.
    """

    value: float | None
    draw: float | None
    counted: float

    def by(self, by: By) -> float | None:
        """Return what is scored in one of the ways."""
        return self.draw if by == "draw" else self.value


def guess(
    values: NDArray[np.integer[Any]],
    *,
    credit: NDArray[Any] | None = None,
    counted: float | None = None,
) -> Guess:
    """Return the guess at values, of people as they count.

    `values`: each person's sensitive value, as a code. `credit`: what each person adds to the score of an answer that is the person's
    value; 1 unless given. `counted`: what the sum is divided by; the summed credit unless given.

    Examples
    --------
    Four people, three of whom count, with values 0, 0 and 1:

    >>> guess(np.array([0, 0, 1, 1]), credit=np.array([1, 1, 1, 0]))
    Guess(value=0.6666666666666666, draw=0.5555555555555556, counted=3.0)
    """
    added = np.bincount(values, weights=credit).astype(np.float64)
    total = float(added.sum()) if counted is None else float(counted)
    if not total > 0:
        return Guess(None, None, 0.0)
    shares = added / total
    return Guess(float(shares.max(initial=0.0)), float((shares**2).sum()), total)


def pooled(guesses: Sequence[Guess]) -> Guess:
    """Return the guess over groups of people who are each guessed at by themselves: the mean over all who count."""
    total = sum(one.counted for one in guesses)
    if not total > 0:
        return Guess(None, None, 0.0)

    def mean(by: By) -> float:
        return sum((one.by(by) or 0.0) * one.counted for one in guesses) / total

    return Guess(mean("value"), mean("draw"), total)
