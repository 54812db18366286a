"""What to measure, and with how much of the budget: the links whose distance from the model is more than measuring them would add in noise.

What noise does to a table of c cells and n records is told by the mean error of a cell, 0.4 sigma c / n (the mean of |noise| is 0.8 sigma,
and half of an L1 distance counts). Columns get shares that make the sum of these smallest; single columns get more of the budget the
noisier they would be, since every pair rests on two of them. Shares come from the declared sizes, the public number of rows and the budget alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import comb, log
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from ....counts.plan import Columns
from ....privacy.counter import NoisyTable, PrivateCounter
from ....privacy.relation import PrivacyUnit
from ...noisy import Counts, cells_of, column_noise, error_at, error_curve, product_of
from ..network import Rules

DISTANCES, DISTANCES_PURE = 0.06, 0.1
"""The shares of distances of pairs, with a delta and under pure epsilon."""

TRIPLES = 0.01

FIRST_LOOK = 0.3
"""The part of what single columns get that is shared by declared levels; the rest goes where levels turned out to be filled."""

_FILLED = 3.0

ONLY_COLUMNS, ONLY_COLUMNS_PURE = 0.3, 0.06
"""Mean errors of single columns beyond which all is spent on them: links would be lost in noise. Under pure epsilon noise
of every table grows with the number of tables, and with what is spent on looking for them."""

MOST_PAIR_CELLS = 1 << 20

MOST_TRIPLES = 1_140

ALL_TRIPLES = 20
"""Columns up to which all triples are looked at."""

MOST_TRIPLE_CELLS = 1 << 16

_ALARMS = 1.0
"""How many of all pairs may seem to be linked by noise alone, on average."""

FEW_ALARMS = 0.02
"""How many triples may seem to be linked by noise alone, on average: they are modelled only where they are there for sure."""

_LOW_BAR = 0.1
"""Part of the records below which the bar of distances is low enough for all pairs to be measured at once."""

_TRIPLE_BAR = 0.25
"""Part of the records that the bar of triples may be: beyond, hardly any interaction could pass it."""

_REACH = 0.2
"""Part of the records by which a pick should be able to tell candidates apart."""

_SURE = 1.25
"""How far above its mean the distance that chance makes may lie."""


@dataclass(frozen=True)
class Wants:
    """What a fit has to do, whatever the budget: `links` must be measured, `distances` of pairs, and of `triples`, are of use."""

    links: bool
    distances: bool
    triples: bool


@dataclass(frozen=True)
class StepShares:
    """Amounts, in the currency of the budget, of single columns, distances of pairs, distances of triples, and tables of links."""

    margins: float
    distances: float
    triples: float
    tables: float


def shares_of(
    amount: float, sizes: Sequence[int], rows: int, unit: PrivacyUnit, *, pure: bool, wants: Wants
) -> StepShares:
    """Return what each step gets.

    If all were spent on single columns their mean error would be e; they get a share of 0.2 + 20 e, at most 0.8. (Chosen on Adult
    at epsilon 0.1 to 10, where the best share rises from 0.2 to 0.6 as the budget falls.) If e is beyond `ONLY_COLUMNS`, links
    are not looked for, unless something else asks for them.
    """
    error = column_error(amount, sizes, rows, unit, pure=pure)
    limit = ONLY_COLUMNS_PURE if pure else ONLY_COLUMNS
    if len(sizes) == 1 or (not wants.links and error > limit):
        return StepShares(amount, 0.0, 0.0, 0.0)
    share = min(0.8, 0.2 + 20 * error)
    distances = DISTANCES_PURE if pure else DISTANCES
    second, third = distances * amount * wants.distances, TRIPLES * amount * wants.triples
    margins = share * (amount - second - third)
    return StepShares(margins, second, third, amount - margins - second - third)


def column_error(
    amount: float, sizes: Sequence[int], rows: int, unit: PrivacyUnit, *, pure: bool
) -> float:
    """Return the mean error of single columns that share an amount, as a part of the rows: half of an L1 distance."""
    amounts = amount * parts_of(sizes, pure=pure)
    errors = [
        0.4 * size * std_of(amount, unit, pure=pure) / max(rows, 1)
        for size, amount in zip(sizes, amounts, strict=True)
    ]
    return float(np.mean(errors))


def std_of(amount: float, unit: PrivacyUnit, *, pure: bool) -> float:
    """Return the standard deviation of the noise of a cell of a table that costs an amount."""
    if pure:
        return 2**0.5 * unit.l1 / amount
    return unit.l2_up / (2 * amount) ** 0.5


def parts_of(cells: Sequence[float], *, pure: bool) -> NDArray[np.float64]:
    """Return the parts of an amount for tables of these numbers of cells, such that their errors add up to the least.

    The error of a table is in proportion to c / epsilon, or to c / sqrt(rho): parts go as c^(1/2), or as c^(2/3).

    Examples
    --------
    >>> parts_of([1, 8], pure=False).round(3).tolist()
    [0.2, 0.8]
    """
    weights = np.maximum(np.asarray(cells, dtype=np.float64), 1.0) ** (1 / 2 if pure else 2 / 3)
    return np.asarray(weights / weights.sum())


def single_columns(
    counter: PrivateCounter, amount: float, *, why: str, cells: Sequence[float] | None = None
) -> list[NoisyTable]:
    """Return noisy tables of all single columns, which share an amount by their numbers of cells, or by others."""
    parts = parts_of(counter.schema.sizes if cells is None else cells, pure=counter.pure)
    amounts = (amount * parts * (1 - 1e-12)).tolist()
    return counter.tables([(name,) for name in counter.schema.names], amounts, why=why)


def filled_cells(margins: Sequence[NDArray[np.float64]], stds: Sequence[float]) -> list[float]:
    """Return how many cells of each column hold enough for noise to matter: one counts in full from `_FILLED` standard deviations on.

    Examples
    --------
    >>> filled_cells([np.array([90.0, 9.0, 0.0, 0.0])], [3.0])
    [2.0]
    """
    return [
        float(np.minimum(m / (_FILLED * std), 1.0).sum())
        for m, std in zip(margins, stds, strict=True)
    ]


def amounts_for(models: Sequence[Counts], amount: float, *, pure: bool) -> list[float]:
    """Return the parts of an amount for tables with these models: cells that hold next to nothing hardly count."""
    effective = [float(np.minimum(model, 50.0).sum()) for model in models]
    return (amount * parts_of(effective, pure=pure) * (1 - 1e-12)).tolist()


@dataclass
class Candidates:
    """Cliques, and what they would be if their columns were independent; `stds` is the noise of a cell of each single column."""

    cliques: Sequence[Columns]
    margins: Sequence[Counts]
    stds: Sequence[float]
    total: float
    curves: list[NDArray[np.float64]] = field(default_factory=list)
    chances: list[float] = field(default_factory=list)

    def models(self) -> Iterator[Counts]:
        """Yield the model of each clique, noting how wrong a measurement of it would be at every level of noise."""
        for clique in self.cliques:
            table = product_of(clique, self.margins, self.total)
            self.curves.append(error_curve(table))
            self.chances.append(column_noise(clique, table, self.margins, self.stds))
            yield table


@dataclass(frozen=True, eq=False)
class Gaps:
    """Distances of cliques from a model beyond chance, in records, the deviation of their noise, and the errors of measuring.

    `excess` is by how much the noisy distances lie above what noise in the model explains.
    """

    cliques: Sequence[Columns]
    values: NDArray[np.float64]
    std: float
    curves: Sequence[NDArray[np.float64]]
    excess: NDArray[np.float64]
    bar: float

    def gain(self, i: int, sigma: float) -> float:
        """Return what measuring a clique wins at a level of noise: its distance, less the error that noise would add.

        Nothing where the distance may be noise alone.
        """
        if self.excess[i] <= self.bar:
            return 0.0
        return float(self.values[i]) - error_at(self.curves[i], sigma)


def possible_pairs(sizes: Sequence[int]) -> list[Columns]:
    """Return the pairs that are small enough to be measured."""
    return [
        pair
        for pair in combinations(range(len(sizes)), 2)
        if cells_of(sizes, pair) <= MOST_PAIR_CELLS
    ]


def triples_of(rules: Rules, sizes: Sequence[int], rng: np.random.Generator) -> list[Columns]:
    """Return triples in which some column may have the two others as parents; where they are many, some drawn blindly."""

    def fits(triple: Columns) -> bool:
        return (
            any(all(rules.allowed[child, p] for p in triple if p != child) for child in triple)
            and cells_of(sizes, triple) <= MOST_TRIPLE_CELLS
        )

    if rules.max_parents < 2:
        return []
    if rules.d <= ALL_TRIPLES:
        return [t for t in combinations(range(rules.d), 3) if fits(t)]
    drawn = {
        tuple(sorted(rng.choice(rules.d, 3, replace=False).tolist())) for _ in range(MOST_TRIPLES)
    }
    return sorted(t for t in drawn if fits(t))


def triples_show(
    columns: int, rows: float, amount: float, unit: PrivacyUnit, *, pure: bool
) -> bool:
    """Return whether an interaction of three columns could stand out in noise: the bar is below `_TRIPLE_BAR` of the records."""
    many = comb(columns, 3) if columns <= ALL_TRIPLES else MOST_TRIPLES
    if not many:
        return False
    return (
        bar_of(many, distance_std(many, amount, unit, pure=pure), FEW_ALARMS, pure=pure)
        <= _TRIPLE_BAR * rows
    )


def measured_gaps(counter: PrivateCounter, candidates: Candidates, amount: float, why: str) -> Gaps:
    """Return the noisy distances of all candidates from their model, less what the model's own noise makes: one query for all."""
    names = counter.schema.names
    cliques = [tuple(names[c] for c in clique) for clique in candidates.cliques]
    values, std = counter.distances(cliques, candidates.models(), amount, why=why)
    # Dependence and the noise of the model add up in each cell like independent deviations.
    of_model = np.array(candidates.chances)
    beyond = np.sqrt(np.maximum(np.maximum(values, 0.0) ** 2 - of_model**2, 0.0))
    excess = values - _SURE * of_model
    bar = bar_of(len(values), std, _ALARMS, pure=counter.pure)
    return Gaps(candidates.cliques, beyond, std, candidates.curves, excess, bar)


def shortlisted_gaps(
    counter: PrivateCounter, candidates: Candidates, amount: float, picks: int, why: str
) -> Gaps:
    """Return the noisy distances of some candidates that were picked first: half of the amount picks them, half measures them.

    A pick prefers what lies farther from the model than chance and the noise of measuring it, if all picks were measured, explain.
    """
    names = counter.schema.names
    cliques = [tuple(names[c] for c in clique) for clique in candidates.cliques]
    sigma = std_of((counter.ledger.remaining - amount) / picks, counter.unit, pure=counter.pure)
    models = list(candidates.models())
    handicaps = [
        _SURE * of_model + error_at(curve, sigma)
        for curve, of_model in zip(candidates.curves, candidates.chances, strict=True)
    ]
    chosen = sorted(
        counter.select_worst_fit(cliques, models, handicaps, picks, amount / 2, why=why)
    )
    few = replace(
        candidates, cliques=[candidates.cliques[i] for i in chosen], curves=[], chances=[]
    )
    return measured_gaps(counter, few, amount / 2 * (1 - 1e-12), why)


def picks_of(
    many: int, columns: int, rows: float, amount: float, unit: PrivacyUnit, *, pure: bool
) -> int:
    """Return how many of so many pairs are to be picked before any distance is measured; 0: all are measured at once.

    Noise of distances measured together grows with their number: all at once are good enough if the bar that noise sets is at
    most `_LOW_BAR` of the records. Otherwise as many are picked as a choice can tell apart by `_REACH` of the records; not if that is
    nearly all of them. Public numbers and the measured total alone.
    """
    std = distance_std(many, amount, unit, pure=pure)
    if bar_of(many, std, _ALARMS, pure=pure) <= _LOW_BAR * rows:
        return 0
    reach = (
        _REACH * rows / log(max(many, 3)) / unit.l1
    )  # noise of a choice, in records, that many candidates stay below
    half = amount / 2
    picks = max(1, min(int(half * reach if pure else 8 * half * reach**2), 2 * columns))
    return picks if picks <= many / 3 else 0


def distance_std(many: int, amount: float, unit: PrivacyUnit, *, pure: bool) -> float:
    """Return the standard deviation of the noise of so many distances that are measured together."""
    if pure:
        return 2**0.5 * many * unit.l1 / 2 / amount
    return float((many / (8 * amount)) ** 0.5 * unit.l1)


def bar_of(many: int, std: float, alarms: float, *, pure: bool) -> float:
    """Return what so many noises exceed as often as `alarms` says, all together: Laplace noise has longer tails than Gaussian.

    Examples
    --------
    >>> round(bar_of(91, 1.0, 0.2, pure=False), 2), round(bar_of(91, 1.0, 0.2, pure=True), 2)
    (2.85, 3.84)
    """
    chance = min(0.5, alarms / max(many, 1))
    return std * (log(0.5 / chance) / 2**0.5 if pure else NormalDist().inv_cdf(1 - chance))


def worth(gaps: Gaps, amount: float, counter: PrivateCounter, *, max_cliques: int) -> list[Columns]:
    """Return the cliques that are for sure worth measuring, if an amount were for them alone, best first."""
    chosen: list[int] = []
    for _ in range(4):  # fewer tables have less noise each: settle the number
        sigma = std_of(amount / max(len(chosen) or max_cliques, 1), counter.unit, pure=counter.pure)
        gains = [gaps.gain(i, sigma) for i in range(len(gaps.cliques))]
        ranked = sorted(
            (i for i, gain in enumerate(gains) if gain > 0), key=lambda i: (-gains[i], i)
        )
        chosen = ranked[:max_cliques]
    return [gaps.cliques[i] for i in chosen]
