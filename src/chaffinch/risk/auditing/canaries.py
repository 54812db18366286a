"""Several canaries in a run: each in or out by a coin of its own, and all coins guessed from the one table that comes out.

If a mechanism is epsilon-private, then given its output and the coins of any other canaries each coin is guessed with a probability of at most
p = e^epsilon / (1 + e^epsilon), so right guesses, of all canaries and all runs together, are no more than a Binomial(guesses, p) (Steinke, Nasr
and Jagielski 2023, Theorem 5.2): one run gives as many guesses as it has canaries. That holds without a delta only: with one, an answer may
give all coins of its run away at once.

Canaries must not blur each other. Those here are an orthogonal array of strength two: in each pair of columns they lie in cells of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np
from numpy.typing import NDArray

from ..._base.seeds import child
from ...privacy.relation import PrivacyUnit
from ...table.table import Table
from ..shadows.generator import code_array
from ..shadows.run import Working
from .attacker import attack
from .claims import Claim, Guessed, least_share
from .pairs import COLUMNS, small_domain
from .runs import OUTSIDE, Look, Played, Watched, play, table_features

CANARIES = "canaries"
"""The name of the tables with several canaries."""


@dataclass(frozen=True, eq=False)
class Canaries:
    """Tables that differ in several records, each of which is in or out. Any two with one coin changed are neighbours.

    `base`: a table whose rows they are made of. `others`: the rows that are always there. `inside`, `outside`: for each canary the rows that
    stand for it where its coin says so, and where not (under add-remove none). `unit`: the relation of neighbours.
    """

    base: Table = field(repr=False)
    others: NDArray[np.int64] = field(repr=False)
    inside: tuple[NDArray[np.int64], ...] = field(repr=False)
    outside: tuple[NDArray[np.int64], ...] = field(repr=False)
    unit: PrivacyUnit
    name: str = CANARIES

    def rows(self, coins: Sequence[bool] | NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the rows of the table with these coins."""
        chosen = [self.inside[i] if coin else self.outside[i] for i, coin in enumerate(coins)]
        return np.concatenate([self.others, *chosen])

    @property
    def draws(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The rows with no canary in, and with all of them."""
        return self.rows([False] * len(self.inside)), self.rows_with

    @property
    def rows_with(self) -> NDArray[np.int64]:
        """The rows with all canaries in."""
        return self.rows([True] * len(self.inside))

    @property
    def target_row(self) -> int:
        """The row of the base table that is the first canary."""
        return int(self.inside[0][0])


def made_canaries(unit: PrivacyUnit) -> Canaries:
    """Return tables of three columns of two levels: the four records with an even sum are canaries, each of the others is there once.

    Under replace-one a canary that is out is replaced by the record that differs from it in every column. With several rows for each
    person a canary has as many.

    Examples
    --------
    >>> made = made_canaries(PrivacyUnit("add-remove"))
    >>> [len(rows) for rows in made.draws]
    [4, 8]
    """
    records = list(product((0, 1), repeat=COLUMNS))
    canaries = [record for record in records if sum(record) % 2 == 0]
    others = [record for record in records if sum(record) % 2]
    copies = unit.rows_per_person
    declared = len(others) + len(canaries) if unit.bounded and copies == 1 else None
    base, row_of = small_domain((2,) * COLUMNS, declared)
    inside = tuple(np.array([row_of[record]] * copies) for record in canaries)
    far = [tuple(1 - value for value in record) for record in canaries]
    outside = tuple(
        np.array([row_of[record]] * copies if unit.bounded else [], dtype=np.int64)
        for record in far
    )
    return Canaries(base, np.array([row_of[record] for record in others]), inside, outside, unit)


@dataclass(frozen=True, eq=False)
class CanaryRuns:
    """What was seen of runs, and for each run and canary whether it was in."""

    pair: Canaries
    seen: Played
    member: NDArray[np.bool_]


def run_canaries(
    generator: Watched,
    canaries: Canaries,
    look: Look,
    *,
    runs: int,
    rows: int,
    seed: np.random.SeedSequence,
    working: Working,
) -> CanaryRuns:
    """Return what is seen of runs, each with a seed, and a coin for each canary, of its own."""
    coins = np.random.default_rng(child(seed, 1 << 30)).random((runs, len(canaries.inside))) < 0.5
    taken = [canaries.rows(coins[i]) for i in range(runs)]
    return CanaryRuns(
        canaries,
        play(generator, taken, look, name=canaries.name, rows=rows, seed=seed, working=working),
        coins,
    )


def attack_canaries(
    runs: CanaryRuns,
    claim: Claim,
    *,
    level: float,
    seed: np.random.SeedSequence,
    threads: int | None = None,
) -> tuple[str, Guessed, float]:
    """Return who guessed, what the guesses of all canaries together prove, and how far apart scores were on average.

    An attacker is trained and chosen for each canary by itself, as for one. The claim must be one of epsilon without a delta.
    """
    schema = runs.pair.base.schema
    verdicts = []
    for i, inside in enumerate(runs.pair.inside):
        target = code_array(runs.pair.base)[inside[0]]
        around = table_features(runs.seen.tables, target, schema.sizes, threads=threads)
        features = np.concatenate([runs.seen.cells[:, : len(OUTSIDE)], around], axis=1)
        verdicts.append(
            attack(features, runs.member[:, i], claim, level=level, seed=child(seed, i))
        )
    guesses, right = (
        sum(getattr(verdict.guessed, name) for verdict in verdicts) for name in ("guesses", "right")
    )
    tests = sum(verdict.guessed.runs for verdict in verdicts)
    bound = claim.lower_bound(float(least_share(right, guesses, tests, delta=0.0, level=level)))
    names = ", ".join(dict.fromkeys(verdict.attacker for verdict in verdicts))
    return (
        names,
        Guessed(verdicts[0].guessed.runs, guesses, right, bound),
        float(np.mean([verdict.apart for verdict in verdicts])),
    )
