"""The only handle a private synthesiser gets: noisy answers, each charged before the data are touched.

There is no number of rows, no exact table and no row here. After the last charge the counter is closed and lets go of
the data, so whatever is computed later is post-processing of what was released, by construction.

**Sensitivity**: how far one person can move the score of a family, and scores on an integer grid for exact selection. A family is a child and its parents, seen as a table of counts c with a row for each combination of parents (margin r),
a column for each level of the child (margin k) and n records. Scores are taken on counts (`counts.families`): n R, n F,
and min(n, N) I in nats with a public number of rows N; under replace-one n is public and N = n. I, F and R are those of
Zhang et al., PrivBayes (TODS 2017), section 4; natural logarithms throughout: a bound in nats for a score in bits is
1.44 times too small.

Notation of the proofs: h(t) = t log t and g(t) = h(t + 1) - h(t), with h(0) = g(0) = 0. Since g'(t) = log(1 + 1/t) is
positive and falls, g rises and is concave. A record added to the cell (y, x) of a table of n changes
n I = h(n) - sum h(r) - sum h(k) + sum h(c) by g(n) - p with p = g(r_y) + g(k_x) - g(c_yx), counts before the record.

Lemma (A). 0 <= p <= 2 g(w/2), where w = r_y + k_x - c_yx <= n records lie in row y or in column x. Since c <= r and g
rises, p >= g(k) >= 0. Taking one from c and from r leaves w and k as they are and does not lower p (g' falls and c <=
r), so that p is largest at c = 0, r + k = w; there concavity gives 2 g(w/2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, floor, isfinite, log, log1p, log2, prod
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .._base.checks import check_at_least, check_name
from .._base.errors import ClosedError, InputError, PrivacyError, TooLargeError
from ..counts.counter import Counter
from ..counts.families import Family, family_scores
from ..table.schema import Schema
from .accounting import UP
from .ledger import Ledger
from .mechanisms import Noise
from .relation import PrivacyUnit

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
    def unit(self) -> PrivacyUnit:
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
        if not self.unit.rows_public:
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
            chunk = [tuple(clique) for clique in cliques[start : start + _TABLES_HELD]]
            for clique, marginal, (scale, std) in zip(
                chunk, counter.marginals(chunk), noises[start:], strict=False
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
        what = f"choice of one of {len(families):,} families"
        noise = f"score {score} on counts, sensitivity {widest:.4g}"
        choose = self._charge_choice(what, amount, why, mechanism, noise)
        capped = None if self.unit.rows_public else rows
        new = [family for family in families if (score, capped, family) not in self._scores]
        if new:
            for family, value in zip(
                new, family_scores(counter, new, score, most_rows=capped), strict=True
            ):
                self._scores[score, capped, family] = float(value)
        values = np.array([self._scores[score, capped, family] for family in families])
        scores, step = integer_scores(values, widest)
        return choose(scores, step)

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

    def select_worst_fit(
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
        choose = self._charge_choice(what, amount, why, mechanism, noise, picks=picks)
        scores = _distance_steps(counter, cliques, models)
        scores -= np.ceil(np.asarray(handicaps, dtype=np.float64) * _DISTANCE_STEPS).astype(
            np.int64
        )
        remaining = np.arange(len(cliques))
        out: list[int] = []
        for _ in range(picks):
            position = choose(scores[remaining], self._distance_jump)
            out.append(int(remaining[position]))
            remaining = np.delete(remaining, position)
        return out

    def select_candidate(
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
        choose = self._charge_choice(what, amount, why, mechanism, noise)
        return choose(-_workload_distances(counter, workload, candidates), jump)

    def workload_distance(
        self, workload: Sequence[Sequence[str]], candidate: Counter, amount: float, *, why: str
    ) -> tuple[int, float]:
        """Return, with noise, the L1 distance between a released table and the data, summed over a workload, and the noise's deviation.

        One number of the sensitivity that `select_candidate` states, q `unit.l1`, both in L1 and in L2.
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
                check_name("column", name, sizes)
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

    def _charge_choice(
        self,
        what: str,
        amount: float,
        why: str,
        mechanism: Mechanism,
        noise: str,
        *,
        picks: int = 1,
    ) -> Callable[[NDArray[np.int64], float], int]:
        """Charge for one or more choices, and return what makes one of them: from scores, and how far one person can move each."""
        budget = self.ledger.budget
        self.ledger.charge(budget.charge(what, why, amount, mechanism=mechanism, noise=noise))
        epsilon = budget.choice_epsilon(amount / picks, mechanism, after=self.ledger.remaining)
        exponential = mechanism == "exponential"
        draw = self._noise.exponential if exponential else self._noise.permute_and_flip
        return lambda scores, jump: draw(scores, 2 * jump / epsilon)

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
        chunk = [tuple(clique) for clique in cliques[start : start + _TABLES_HELD]]
        for i, marginal in enumerate(counter.marginals(chunk), start=start):
            gap = np.abs(np.asarray(marginal.dense(), dtype=np.float64) - next(expected)).sum() / 2
            steps[i] = np.floor(gap * _DISTANCE_STEPS)
    return steps


def _workload_distances(
    counter: Counter, workload: Sequence[Sequence[str]], candidates: Sequence[Counter]
) -> NDArray[np.int64]:
    """Return the L1 distance of each candidate's tables from the data's, summed over the workload: whole numbers."""
    out = np.zeros(len(candidates), dtype=np.int64)
    for start in range(0, len(workload), _TABLES_HELD):
        chunk = [tuple(clique) for clique in workload[start : start + _TABLES_HELD]]
        exact = [
            np.asarray(marginal.dense(), dtype=np.int64) for marginal in counter.marginals(chunk)
        ]
        for i, candidate in enumerate(candidates):
            for counts, marginal in zip(exact, candidate.marginals(chunk), strict=True):
                out[i] += np.abs(counts - np.asarray(marginal.dense(), dtype=np.int64)).sum()
    return out


SCORES: tuple[str, ...] = ("I", "R", "F")

GRID_BITS = 22
"""A sensitivity is between 2^21 and 2^22 steps of the integer grid."""

LIMIT = 2.0**52
"""Integer scores are held within this: up to here a float holds every half step."""


@lru_cache(maxsize=4096)
def sensitivity(
    score: str, unit: PrivacyUnit, *, rows: int, child_size: int, parent_cells: int
) -> float:
    """Return the most that one person can change the score of a family, rounded up a hair.

    `rows` is public: the number n of records under replace-one with one row for each person, otherwise the N of
    min(n, N) I, declared or measured privately; R and F do not use N. `child_size` and `parent_cells` are the declared
    levels of the child and combinations of its parents. The neighbour relation is that of `unit`.

    With m > 1 rows for each person: neighbours are joined by a chain of m single additions, or, under replace-one, of m
    removals and m additions. The number of rows is then not fixed, so each link is bounded under add-remove, whose
    bounds hold at every n: m times and 2 m times that of one record.

    Examples
    --------
    >>> round(sensitivity("I", PrivacyUnit("replace-one"), rows=1000, child_size=2, parent_cells=12), 3)
    7.907
    >>> round(sensitivity("R", PrivacyUnit("add-remove", 3), rows=1000, child_size=5, parent_cells=12), 3)
    6.0
    """
    check_name("score", score, SCORES)
    for name, value, minimum in (
        ("rows", rows, 0),
        ("child_size", child_size, 1),
        ("parent_cells", parent_cells, 1),
    ):
        check_at_least(name, value, minimum)
    if score == "F" and child_size != 2:
        raise InputError(
            f"F is defined for a child of 2 declared levels. Got {child_size}. Use R or I."
        )
    shorter, m = min(child_size, parent_cells), unit.rows_per_person
    if unit.rows_public:
        return UP * {"I": _information_replaced, "R": _r_replaced, "F": _f}[score](rows, shorter)
    single = {"I": _information_added, "R": _r_added, "F": _f}[score](rows, shorter)
    return UP * single * m * (2 if unit.bounded else 1)


def _f(rows: int, shorter: int) -> float:
    """Return the bound of n F under either relation: 1, which is reached. Zhang et al., PrivBayes, section 4.4.

    n F is the largest of -((n/2 - K0)+ + (n/2 - K1)+) over the ways to give each combination of parents to a child
    value, Kx counting the records with value x given to x. Proof. Maxima over the same ways differ by no more than the
    most that one way does, so fix a way. A record more raises both halves by 1/2, and one K by 1 or none: each bracket
    rises or falls by at most 1/2. A record exchanged leaves the halves; if one K moves it moves by 1, and if both do,
    one rises and the other falls by 1: the brackets then move in opposite directions. The sum moves by at most 1.
    """
    return 1.0


def _r_added(rows: int, shorter: int) -> float:
    """Return the bound of n R under add-remove, for every n: 2, which is approached as n grows.

    Proof. With D and (B) of `_r_replaced`, a record added to n others changes D by n/(n+1) (e_y - a)(e_x - b), and n R
    = |D|_1 / 2 by at most half its L1 norm, n/(n+1) 2 (1 - a_y) (1 - b_x) <= 2n/(n+1) < 2. To a table of one filled
    cell, a record in another row and column adds just 2n/(n+1). Added to none, it leaves n R at 0.
    """
    return 2.0


def _information_replaced(n: int, shorter: int) -> float:
    """Return the bound of n I under replace-one (n public), where one side of the table has `shorter` cells.

    2 g((n-1)/2) = 2 log((n+1)/2) + (n-1) log((n+1)/(n-1)), or g(n-1) = log n + (n-1) log(n/(n-1)) if `shorter` is 2:
    the values of PrivBayes, lemma 4.1. Proof. Take the n - 1 records that stay, with margins r and k. The two tables
    add a record at (y, x) and at (y', x'), so that their n I differ by p(y, x) - p(y', x'), at most 2 g((n-1)/2) by
    (A). Let the child have two levels. p(y', x') >= g(k_x'), as g(r_y') >= g(c_y'x'). If x' = x, the difference is at
    most g(r_y) - g(c_yx) <= g(n-1). Otherwise g(r_y) - g(c_yx) <= g(r_y - c_yx) (concave, g(0) = 0) = g(c_yx') <=
    g(k_x'), and what is left is g(k_x) <= g(n-1). Two combinations of parents: the same with rows and columns
    exchanged.

    Tables of one record score 0, and no table of none has a neighbour: any positive number does, here that of n = 2.
    """
    others = max(n, 2) - 1
    return _g(others) if shorter <= 2 else 2 * _g(others / 2)


def _r_replaced(n: int, shorter: int) -> float:
    """Return the bound of n R under replace-one (n public): 3 (n-1)/n, or 2 (n-1)/n if one side has two cells.

    Less than the 3 + 2/n of PrivBayes, section 4.3. The 2 is reached, the 3 approached as n grows. Proof. Let a and b
    be the margins r and k of the m = n - 1 records that stay, divided by m; e_y and e_x a one in place y of a column
    and in place x of a row; D = c - r k / n, so that n R = |D|_1 / 2. One record at (y, x) more changes D of the m
    records by

        (m/n) (e_y - a) (e_x - b)      (multiply out: r and k gain e_y and e_x, and m becomes n)      (B)

    so that D of the two tables differ by m/n times e_y' e_x' - e_y e_x - (e_y' - e_y) b - a (e_x' - e_x), whose L1 norm
    is at most 2 + 2 + 2; half of it is 3. For x = x' it reads (e_y' - e_y)(e_x - b): at most 4. It is convex in b,
    hence largest at a corner of the simplex. If the child has only the levels x and x', these are b = e_x, where it
    reads (e_y' - a)(e_x' - e_x), and b = e_x', where it reads (e_y - a)(e_x' - e_x): at most 4. Half of it is 2. Two
    combinations of parents: the same with rows and columns exchanged.
    """
    n = max(n, 2)  # one record scores 0: any positive number does
    return (2 if shorter <= 2 else 3) * (n - 1) / n


def _information_added(max_rows: int, shorter: int) -> float:
    """Return the bound of min(n, N) I under add-remove, for every n, where the shorter side of the table has K cells.

    max(g(max(N-1, 1)), N/(N+1) (Q - g(N))), where Q is the largest 2 g(qN/2) + J(q) over 0 <= q <= 1 and J(q) = q
    log(2/q) + (1-q) log((K-1)/(1-q)). For K up to 20 and N >= 100 this is g(N-1) < 1 + log N, which is reached.

    Proof. Add a record to a table of n; I becomes I'.
    (1) n < N. (n+1) I' - n I = g(n) - p lies between g(n) - 2 g(n/2) and g(n) by (A). g(n) <= g(N-1), and
    2 g(n/2) - g(n) = g(n+1) - g(1) <= g(n) as g is concave and g(0) = 0: at most g(N-1) either way.
    (2) n >= N >= 1, rising. N (I' - I) = N/(n+1) (g(n) - p - I) <= N g(n)/(n+1). The derivative of g(n)/(n+1) is
    -log(n)/(n+1)^2, so that for N >= 2 this is at most N g(N-1)/N; for N = 1 at most g(1)/2.
    (3) n >= N, falling. N (I - I') = N/(n+1) (p + I - g(n)). Let U tell whether a record lies in row y or column x, as
    a share q do. I <= H(U) + I(given U) <= H(U) + q log 2 + (1-q) log(K-1) = J(q): outside, one side has at most K - 1
    cells left; inside, whether the record lies in row y (one bit) fixes its row, or else its column. With (A) the fall
    is at most N f(n), f(n) = (2 g(qn/2) + J(q) - g(n))/(n+1). The derivative of the bracket is q log(1 + 2/(qn)) -
    log(1 + 1/n), largest at q = 1: log((n+2)/(n+1)) <= 1/(n+1). So f falls wherever its bracket is at least 1, and f(n)
    <= max(f(N), 1/(N+1)), where N/(N+1) < g(1). At n = N take the largest over q.

    Q is the maximum of a concave function: it lies below the tangent at any point, and such a tangent is returned.
    """
    max_rows = max(max_rows, 1)  # with N = 0 all tables score 0
    return max(
        _g(max(max_rows - 1, 1)),
        max_rows / (max_rows + 1) * (_largest_fall(max_rows, shorter) - _g(max_rows)),
    )


@lru_cache(maxsize=4096)
def _largest_fall(max_rows: int, shorter: int) -> float:
    """Return Q of `_information_added`: bisection on the slope, then a tangent, which lies above a concave function."""
    if shorter == 1:
        return 0.0  # all tables score 0
    others = shorter - 1

    def slope(q: float) -> float:
        return max_rows * log1p(2 / (q * max_rows)) + log(2 / q) - log(others / (1 - q))

    low, high = (
        1e-9,
        1 - 1e-9,
    )  # the slope is above 0 at the left for any size below 10^17, and below 0 at the right
    for _ in range(50):
        q = (low + high) / 2
        low, high = (q, high) if slope(q) > 0 else (low, q)
    q = (low + high) / 2
    value = 2 * _g(q * max_rows / 2) + q * log(2 / q) + (1 - q) * log(others / (1 - q))
    tilt = slope(q)
    return value + max(tilt * (1 - q), -tilt * q)


def _g(t: float) -> float:
    """Return (t + 1) log(t + 1) - t log t."""
    return log(t + 1) + (t * log1p(1 / t) if t > 0 else 0.0)


def integer_scores(
    values: NDArray[np.float64], sensitivity: float
) -> tuple[NDArray[np.int64], int]:
    """Return scores as whole steps of a grid, and the most whole steps that one person can change them.

    The grid is a power of two that depends on the (public) sensitivity alone: S is between 2^21 and 2^22 steps, so that
    what rounding loses of a score is below a millionth of S. Selection then works on integers, exactly. Under the
    neighbour relation of `sensitivity`:

    Proof. Let v and v' be the scores of neighbours in steps, |v - v'| <= S, and u, u' what was computed of them.
    Scaling by a power of two is exact and holding within +-2^52 moves no two values apart. |floor(u) - floor(u')| < |u
    - u'| + 1, and whole: at most ceil(S) if u and u' are exact, and at most ceil(S) + 1, as returned, if |u - v| + |u'
    - v'| <= 1. n R and n F come from exact integer sums with a rounding of at most 2^-52 n: below half a step, 2^-23 S
    or more, up to n = 2^28. N I comes with an error below 2^-48 N log n (`counts.families`); S >= log N, so that this
    is below half a step for N up to 10^7 and n up to 2^25.

    Examples
    --------
    >>> steps, most = integer_scores(np.array([0.0, 1.5, 3.0]), 2.0)
    >>> (steps / most).round(3).tolist()
    [0.0, 0.75, 1.5]
    """
    if not (isfinite(sensitivity) and sensitivity > 0):
        raise InputError(f"A sensitivity must be a positive number. Got {sensitivity}.")
    if not np.isfinite(values).all():
        raise InputError("Scores must be finite numbers. Leave out families without a score.")
    grid = 2.0 ** floor(GRID_BITS - log2(sensitivity))
    steps = np.floor(np.clip(values * grid, -LIMIT, LIMIT)).astype(np.int64)
    return steps, ceil(sensitivity * grid) + 1
