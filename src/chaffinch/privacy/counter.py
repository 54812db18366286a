"""The only handle a private synthesiser gets: noisy answers, each charged before the data are touched.

There is no number of rows, no exact table and no row here. After the last charge the counter is closed and lets go of
the data, so whatever is computed later is post-processing of what was released, by construction.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .._base.errors import ClosedError, InputError, PrivacyError, TooLargeError, unknown_name
from ..counts.counter import Counter
from ..counts.families import Family, family_scores
from ..table.schema import Schema
from .ledger import Ledger
from .noise import Noise
from .relation import Unit
from .sensitivity import integer_scores, sensitivity

Mechanism = Literal["exponential", "permute-and-flip"]

MOST_CELLS = 1 << 24
"""Cells beyond which a table is not measured: every cell gets noise, so every cell has to be held."""

_DISTANCE_STEPS = 1 << 10
_TABLES_HELD = 64


@dataclass(frozen=True, eq=False)
class NoisyTable:
    """A table of counts with noise in every declared cell: whole numbers, some of them negative.

    `std` is the standard deviation of the noise of a cell. Public: it was paid for.
    """

    columns: tuple[str, ...]
    sizes: tuple[int, ...]
    counts: NDArray[np.int64]
    std: float

    @property
    def n_cells(self) -> int:
        """The number of cells."""
        return prod(self.sizes)


class PrivateCounter:
    """Noisy counts of one table, paid from one ledger.

    Amounts are in the ledger's currency: epsilon (discrete Laplace noise) or rho (discrete Gaussian noise). Every answer
    holds for the ledger's neighbour relation; the proof of each mechanism stands with it, and their sum is the ledger's.
    """

    def __init__(self, counter: Counter, ledger: Ledger, noise: Noise) -> None:
        if not counter.schema.sealed:
            raise PrivacyError(
                "A private counter needs codes that come from a declaration alone. Pass the table through chaffinch.prepare."
            )
        if getattr(counter, "weight", None) is not None:
            raise PrivacyError(
                "A private fit counts records: a record of weight w would change a count by w. Count without weights."
            )
        self._counter: Counter | None = counter
        self._scores: dict[tuple[str, int | None, Family], float] = {}
        self._noise = noise
        self.ledger = ledger
        self.schema: Schema = counter.schema

    @property
    def unit(self) -> Unit:
        """Whose data are protected."""
        return self.ledger.unit

    @property
    def pure(self) -> bool:
        """Whether amounts are epsilons; otherwise they are rhos."""
        return self.ledger.budget.kind == "pure"

    @property
    def test_only(self) -> bool:
        """Whether the noise is drawn from a seed, and so protects nobody."""
        return self._noise.test_only

    @property
    def closed(self) -> bool:
        """Whether the data have been let go."""
        return self._counter is None

    def close(self) -> None:
        """Let go of the data and close the ledger. The caller's table is untouched."""
        self._counter = None
        self._scores.clear()
        self.ledger.close()

    def __enter__(self) -> PrivateCounter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def check_rows(self, declared: int) -> None:
        """Raise unless the table has as many rows as declared; only where the relation makes the number public."""
        counter = self._open()
        if not self.unit.replaced or self.unit.rows_per_person > 1:
            raise PrivacyError(
                "The number of rows is private under this relation: it cannot be compared."
            )
        if counter.n_rows != declared:
            raise PrivacyError(
                f"The schema declares rows = {declared}, but the table has another number. Under replace-one the number of "
                "rows is public: correct it, or choose neighbours = 'add-remove'."
            )

    def rows(self, amount: float, *, why: str) -> int:
        """Return the number of rows with noise, at least 0.

        One person changes it by at most m, the rows of a person, under add-remove and, with m > 1, under replace-one.
        """
        counter = self._open()
        person = self.unit.rows_per_person
        scale, std = self._scale(amount, l1=person, l2=float(person))
        self._charge_noise("number of rows", amount, why, std)
        noisy = self._noisy(np.array([counter.n_rows], dtype=np.int64), scale)
        return max(0, int(noisy[0]))

    def tables(
        self, cliques: Sequence[Sequence[str]], amounts: Sequence[float], *, why: str
    ) -> list[NoisyTable]:
        """Return the tables of some cliques with noise in every declared cell.

        One person's rows change a table of counts by `unit.l1` in L1 and by `unit.l2_up` in L2.
        """
        counter = self._open()
        sizes = dict(zip(self.schema.names, self.schema.sizes, strict=True))
        for clique in cliques:
            if prod(sizes[name] for name in clique) > MOST_CELLS:
                raise TooLargeError(
                    f"The table of {', '.join(clique)} has too many cells to put noise in each. Use fewer parents or bins."
                )
        noises = [self._scale(amount, l1=self.unit.l1, l2=self.unit.l2_up) for amount in amounts]
        for clique, amount, (_, std) in zip(cliques, amounts, noises, strict=True):
            self._charge_noise(f"table of {', '.join(clique)}", amount, why, std)
        out = []
        for start in range(0, len(cliques), _TABLES_HELD):
            some = [tuple(clique) for clique in cliques[start : start + _TABLES_HELD]]
            for clique, marginal, (scale, std) in zip(
                some, counter.marginals(some), noises[start:], strict=False
            ):
                noisy = self._noisy(np.ascontiguousarray(marginal.dense(), dtype=np.int64), scale)
                out.append(NoisyTable(clique, marginal.sizes, noisy, std))
        return out

    def select(
        self,
        families: Sequence[Family],
        score: str,
        amount: float,
        *,
        rows: int,
        why: str,
        mechanism: Mechanism = "exponential",
    ) -> int:
        """Return the position of one of some families (child, parents), better ones more likely.

        Scores are taken on counts and are whole numbers of a public step. All candidates share the largest of their
        sensitivities. `rows` is the public number of rows. Which epsilon an amount buys is said by `Budget.choice_epsilon`: under zCDP
        an exponential mechanism of epsilon costs epsilon^2 / 8, permute-and-flip epsilon^2 / 2.
        """
        counter = self._open()
        if not families:
            raise InputError("A selection needs at least one candidate.")
        sizes = self.schema.sizes
        shapes = {(sizes[child], prod(sizes[p] for p in parents)) for child, parents in families}
        widest = max(
            sensitivity(score, self.unit, rows=rows, child_size=child, parent_cells=cells)
            for child, cells in shapes
        )
        what, noise = (
            f"choice of one of {len(families):,} families",
            f"score {score} on counts, sensitivity {widest:.4g}",
        )
        self.ledger.charge(
            self.ledger.budget.charge(what, why, amount, mechanism=mechanism, noise=noise)
        )
        epsilon = self.ledger.budget.choice_epsilon(amount, mechanism, after=self.ledger.left)
        capped = None if self.unit.replaced and self.unit.rows_per_person == 1 else rows
        new = [family for family in families if (score, capped, family) not in self._scores]
        if new:
            for family, value in zip(
                new, family_scores(counter, new, score, most_rows=capped), strict=True
            ):
                self._scores[score, capped, family] = float(value)
        values = np.array([self._scores[score, capped, family] for family in families])
        scores, step = integer_scores(values, widest)
        draw = (
            self._noise.exponential if mechanism == "exponential" else self._noise.permute_and_flip
        )
        return draw(scores, 2 * step / epsilon)

    def distances(
        self,
        cliques: Sequence[Sequence[str]],
        models: Iterable[NDArray[np.float64]],
        amount: float,
        *,
        why: str,
    ) -> tuple[NDArray[np.float64], float]:
        """Return, with noise, half the L1 distance of each clique's counts from a public model of them, and the noise's deviation.

        The models are made of what was released before, so they are constants here: one row changes one count by 1, and so half
        the distance by at most 1/2; all m rows of a person, or their exchange, by `unit.l1` / 2. For q cliques together
        that is q times as much in L1 and sqrt(q) times in L2. Distances are whole numbers of a small step, rounding adds one.
        """
        counter = self._open()
        jump, many = self._distance_jump, max(len(cliques), 1)
        scale, std = self._scale(amount, l1=jump * many, l2=jump * many**0.5 * (1 + 1e-12))
        self._charge_noise(
            f"distances of {len(cliques):,} tables from the model",
            amount,
            why,
            std / _DISTANCE_STEPS,
        )
        noisy = self._noisy(_distance_steps(counter, cliques, models), scale)
        return noisy / _DISTANCE_STEPS, std / _DISTANCE_STEPS

    def farthest(
        self,
        cliques: Sequence[Sequence[str]],
        models: Iterable[NDArray[np.float64]],
        handicaps: Sequence[float],
        picks: int,
        amount: float,
        *,
        why: str,
    ) -> list[int]:
        """Return the positions of some cliques whose counts are far from a public model of them, after a handicap; far ones more likely.

        Distances and their sensitivity are those of `distances`: each moves by at most `unit.l1` / 2, and a step for rounding. A
        handicap, in records, is public and moves nothing. Each pick is a choice of its own among those that are left, by
        permute-and-flip if amounts are epsilons, and by the exponential mechanism if they are rhos, and gets an equal part of the amount: they
        add up, and each buys what `Budget.choice_epsilon` says where what is left after all of them is left. Who is left depends on earlier
        picks alone.
        """
        counter = self._open()
        if not 1 <= picks <= len(cliques):
            raise InputError(
                f"picks must be between 1 and the number of candidates, {len(cliques):,}. Got {picks}."
            )
        mechanism: Mechanism = "permute-and-flip" if self.pure else "exponential"
        what = f"choice of {picks:,} of {len(cliques):,} tables, one after the other"
        noise = f"distance from the model, sensitivity {self._distance_jump / _DISTANCE_STEPS:.4g}"
        self.ledger.charge(
            self.ledger.budget.charge(what, why, amount, mechanism=mechanism, noise=noise)
        )
        part = amount / picks
        epsilon = self.ledger.budget.choice_epsilon(part, mechanism, after=self.ledger.left)
        scores = _distance_steps(counter, cliques, models)
        scores -= np.ceil(np.asarray(handicaps, dtype=np.float64) * _DISTANCE_STEPS).astype(
            np.int64
        )
        draw = self._noise.permute_and_flip if self.pure else self._noise.exponential
        left = np.arange(len(cliques))
        out: list[int] = []
        for _ in range(picks):
            at = draw(scores[left], 2 * self._distance_jump / epsilon)
            out.append(int(left[at]))
            left = np.delete(left, at)
        return out

    def closest(
        self,
        workload: Sequence[Sequence[str]],
        candidates: Sequence[Counter],
        amount: float,
        *,
        why: str,
        mechanism: Mechanism | None = None,
    ) -> int:
        """Return the position of one of some released tables whose counts of a public workload lie near those of the data; near ones more likely.

        The score of a candidate is minus the L1 distance between its tables of the q cliques and those of the data, summed. Candidates were
        released, so they are constants here. Sensitivity: adding one row changes one count of each clique by 1, and so each of
        the q distances by at most 1 (triangle inequality); all m rows of a person, or their exchange, by `unit.l1` each, in all q `unit.l1`. It is
        reached where the row falls into cells in which one candidate is above the data and another below. Counts are whole and so is the score: nothing is
        rounded. By permute-and-flip if amounts are epsilons, and by the exponential mechanism if they are rhos, unless named; what an
        amount buys is said by `Budget.choice_epsilon`. The score of no candidate is released.
        """
        counter = self._open()
        self._check_workload(workload, candidates)
        mechanism = mechanism or ("permute-and-flip" if self.pure else "exponential")
        jump = self.unit.l1 * len(workload)
        what = f"choice of one of {len(candidates):,} released tables"
        noise = f"distance of {len(workload):,} tables of counts, sensitivity {jump}"
        self.ledger.charge(
            self.ledger.budget.charge(what, why, amount, mechanism=mechanism, noise=noise)
        )
        epsilon = self.ledger.budget.choice_epsilon(amount, mechanism, after=self.ledger.left)
        scores = -_workload_distances(counter, workload, candidates)
        draw = (
            self._noise.exponential if mechanism == "exponential" else self._noise.permute_and_flip
        )
        return draw(scores, 2 * jump / epsilon)

    def workload_distance(
        self, workload: Sequence[Sequence[str]], candidate: Counter, amount: float, *, why: str
    ) -> tuple[int, float]:
        """Return, with noise, the L1 distance between a released table and the data, summed over a workload, and the noise's deviation.

        One number of the sensitivity that `closest` states, q `unit.l1`, both in L1 and in L2.
        """
        counter = self._open()
        self._check_workload(workload, [candidate])
        jump = self.unit.l1 * len(workload)
        scale, std = self._scale(amount, l1=jump, l2=float(jump))
        self._charge_noise(
            f"distance of {len(workload):,} tables from a released one", amount, why, std
        )
        return int(self._noisy(_workload_distances(counter, workload, [candidate]), scale)[0]), std

    def _check_workload(
        self, workload: Sequence[Sequence[str]], candidates: Sequence[Counter]
    ) -> None:
        """Raise for a workload or candidates whose tables cannot be compared: by public sizes alone, before anything is charged."""
        if not workload or not candidates:
            raise InputError(
                "A choice needs at least one released table, and a workload of at least one clique to compare them by."
            )
        sizes = dict(zip(self.schema.names, self.schema.sizes, strict=True))
        for clique in workload:
            for name in clique:
                if name not in sizes:
                    raise unknown_name("column", name, sizes)
            if not clique or len(set(clique)) < len(clique):
                raise InputError("A clique of a workload is one or more different columns.")
            if prod(sizes[name] for name in clique) > MOST_CELLS:
                raise TooLargeError(
                    f"The table of {', '.join(clique)} has too many cells to be compared. Leave it out of the workload."
                )
        for candidate in candidates:
            if (
                candidate.schema.names != self.schema.names
                or candidate.schema.sizes != self.schema.sizes
            ):
                raise InputError(
                    "A released table must have the columns and levels of the schema that the data are counted under. Code it under that schema."
                )

    @property
    def _distance_jump(self) -> int:
        """By how many steps one person can move a distance from a model."""
        return -(-self.unit.l1 * _DISTANCE_STEPS // 2) + 1

    def _open(self) -> Counter:
        if self._counter is None:
            raise ClosedError(
                "The private counter is closed: the last charge is made and the data are let go."
            )
        return self._counter

    def _scale(self, amount: float, *, l1: float, l2: float) -> tuple[float, float]:
        """Return the parameter of the noise that an amount buys, and the standard deviation of that noise."""
        if not amount > 0:
            raise InputError(f"An amount of privacy must be above 0. Got {amount}.")
        return self.ledger.budget.noise(amount, l1=l1, l2=l2)

    def _charge_noise(self, what: str, amount: float, why: str, std: float) -> None:
        self.ledger.charge(self.ledger.budget.noise_charge(what, why, amount, std))

    def _noisy(self, values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        return (
            self._noise.laplace(values, scale) if self.pure else self._noise.gaussian(values, scale)
        )


def _distance_steps(
    counter: Counter, cliques: Sequence[Sequence[str]], models: Iterable[NDArray[np.float64]]
) -> NDArray[np.int64]:
    """Return half the L1 distances of the cliques' counts from their models, in whole steps."""
    steps = np.empty(len(cliques), dtype=np.int64)
    expected = iter(models)
    for start in range(0, len(cliques), _TABLES_HELD):
        some = [tuple(clique) for clique in cliques[start : start + _TABLES_HELD]]
        for i, marginal in enumerate(counter.marginals(some), start=start):
            gap = np.abs(np.asarray(marginal.dense(), dtype=np.float64) - next(expected)).sum() / 2
            steps[i] = np.floor(gap * _DISTANCE_STEPS)
    return steps


def _workload_distances(
    counter: Counter, workload: Sequence[Sequence[str]], candidates: Sequence[Counter]
) -> NDArray[np.int64]:
    """Return the L1 distance of each candidate's tables from the data's, summed over the workload: whole numbers."""
    out = np.zeros(len(candidates), dtype=np.int64)
    for start in range(0, len(workload), _TABLES_HELD):
        some = [tuple(clique) for clique in workload[start : start + _TABLES_HELD]]
        exact = [
            np.asarray(marginal.dense(), dtype=np.int64) for marginal in counter.marginals(some)
        ]
        for i, candidate in enumerate(candidates):
            for counts, marginal in zip(exact, candidate.marginals(some), strict=True):
                out[i] += np.abs(counts - np.asarray(marginal.dense(), dtype=np.int64)).sum()
    return out
