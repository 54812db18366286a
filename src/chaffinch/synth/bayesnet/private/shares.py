"""How the budget is shared among steps: from the declared sizes, the public number of rows and the budget alone.

What noise does to a table of c cells and n records is told by the mean error of a cell, 0.4 sigma c / n (the mean of |noise| is 0.8 sigma,
and half of an L1 distance counts). Columns get shares that make the sum of these smallest; single columns get more of the budget the
noisier they would be, since every pair rests on two of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....privacy.counter import NoisyTable, PrivateCounter
from ....privacy.relation import Unit

DISTANCES, DISTANCES_PURE = 0.06, 0.1
"""The shares of distances of pairs, with a delta and under pure epsilon."""
TRIPLES = 0.01

FIRST_LOOK = 0.3
"""The part of what single columns get that is shared by declared levels; the rest goes where levels turned out to be filled."""
_FILLED = 3.0

ONLY_COLUMNS, ONLY_COLUMNS_PURE = 0.3, 0.06
"""Mean errors of single columns beyond which all is spent on them: links would be lost in noise. Under pure epsilon noise
of every table grows with the number of tables, and with what is spent on looking for them."""


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


def std_of(amount: float, unit: Unit, *, pure: bool) -> float:
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


def shares_of(
    amount: float, sizes: Sequence[int], rows: int, unit: Unit, *, pure: bool, wants: Wants
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
    amount: float, sizes: Sequence[int], rows: int, unit: Unit, *, pure: bool
) -> float:
    """Return the mean error of single columns that share an amount, as a part of the rows: half of an L1 distance."""
    amounts = amount * parts_of(sizes, pure=pure)
    errors = [
        0.4 * size * std_of(part, unit, pure=pure) / max(rows, 1)
        for size, part in zip(sizes, amounts, strict=True)
    ]
    return float(np.mean(errors))
