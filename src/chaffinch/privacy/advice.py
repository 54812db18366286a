"""What to expect of a budget before it is spent: from the number of rows, the declared domain and the plan alone.

Noise does to a table of c cells and n records an error of about 0.4 sigma c / n: the mean of |noise| is about 0.8 sigma, and
half of an L1 distance counts. A table is called useful if the mean count of its cells is at least theta times the noise (after
Zhang et al., PrivBayes, section 5.3). Real columns are uneven, so single cells fare better and worse than their mean; nothing here
says how well the data hang together, since nothing here has seen them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, asdict, dataclass
from enum import StrEnum
from functools import cached_property
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.checks import check_at_least
from .._base.errors import join_names
from ..table.schema import Schema
from .ledger import Plan

THETA = 4.0
"""A table is useful if the mean count of a cell is at least this many times its noise."""

MOSTLY_NOISE = 0.25
"""An expected error of single columns beyond which they are called noise. (Total variation: 0 none, 1 nothing in common.)"""

LINKS = 0.08
"""An error of pairs from noise alone beyond which links are not expected to pay: pairs of five real tables are 0.03 to 0.11 from
independence on average (total variation)."""

PAIR_ERROR = 1.75
"""The error of a pair of independent columns, in errors of one: they add up, but for what cancels. (1.7 to 1.9 on real tables.)"""

_MOST = 2.0**53
_WIDEST = 3


class Usefulness(StrEnum):
    """What a budget is enough for, from nothing to much."""

    NOISE = "too small"
    COLUMNS = "single columns only"
    SMALL_PAIRS = "pairs of small columns"
    PAIRS = "most pairs"

    @property
    def sentence(self) -> str:
        """The verdict in a sentence."""
        return {
            Usefulness.NOISE: "n is too small for this epsilon: even single columns would be mostly noise.",
            Usefulness.COLUMNS: "Single columns only: they would come through, links between columns hardly.",
            Usefulness.SMALL_PAIRS: "Pairs of small columns: links between columns of few levels would come through, others not.",
            Usefulness.PAIRS: "Most pairs: links between most columns could be measured well.",
        }[self]


@dataclass(frozen=True)
class Expectation:
    """What a method is expected to make of a budget.

    Parameters
    ----------
    method, accounting, relation
        The method, how its budget adds up, and whose data are protected.
    column_noise, column_count, column_error
        Means over single columns: the standard deviation of a cell's noise, the mean count of a cell, and the total variation that
        noise is expected to cause (0 none, 1 nothing in common; smaller is better).
    pair_error
        The total variation that noise in single columns alone is expected to cause in a table of two of them. None with one column.
    pair_noise, pair_count
        The noise and the mean count of a cell of a typical pair: one with the median number of cells. None with one column.
    pairs, useful_pairs, at_once
        How many pairs there are; how many of them are useful if as many tables are measured as link all columns; how many
        could be measured together and all be useful.
    largest_table
        The most cells of a useful table.
    parents
        The degree of the network, where the method fixes it.
    verdict
        What the budget is enough for.
    more_epsilon
        About how many times as much epsilon (or as many rows) the next verdict takes; None at the last, or without rows.
    """

    method: str
    accounting: str
    relation: str
    _: KW_ONLY
    column_noise: float
    column_count: float
    column_error: float
    pair_error: float | None
    pair_noise: float | None
    pair_count: float | None
    pairs: int
    useful_pairs: int
    at_once: int
    largest_table: int
    parents: int | None
    verdict: Usefulness
    more_epsilon: float | None

    @property
    def links_pay(self) -> bool:
        """Whether links between columns are expected to be worth more than noise takes away."""
        return self.pair_error is None or self.pair_error <= LINKS

    def to_dict(self) -> dict[str, Any]:
        """Return the expectation as plain data."""
        return {**asdict(self), "verdict": self.verdict.value}


@dataclass(frozen=True)
class Advice:
    """What to expect of each method, the chosen one first, and what would help it."""

    rows: int
    columns: int
    widest: tuple[tuple[str, int], ...]
    methods: tuple[Expectation, ...]

    @property
    def chosen(self) -> Expectation:
        """What to expect of the chosen method."""
        return self.methods[0]

    @property
    def warning(self) -> str:
        """A sentence where no private model is expected to be nearer to the data than independent columns without noise; else empty."""
        if self.chosen.links_pay or self.chosen.pair_error is None:
            return ""
        return (
            f"Noise in single columns alone would move a table of two of them by about {self.chosen.pair_error:.2g}; leaving out all links "
            "does by 0.03 to 0.11 on ordinary tables. Expect nothing nearer to the data than independent columns without noise."
        )

    @cached_property
    def remedies(self) -> tuple[str, ...]:
        """Sentences on what would help; none if most pairs would come through."""
        chosen = self.chosen
        out = []
        if chosen.more_epsilon is not None:
            next_one = {
                Usefulness.NOISE: "single columns",
                Usefulness.COLUMNS: "some pairs",
                Usefulness.SMALL_PAIRS: "most pairs",
            }
            out.append(
                f"About {_times(chosen.more_epsilon)} times as much epsilon, or as many rows, for {next_one[chosen.verdict]} to "
                "come through."
            )
        elif chosen.verdict is not Usefulness.NOISE:
            return ()
        if self.widest:
            named = join_names(
                (f"{name} ({size:,})" for name, size in self.widest), max_names=_WIDEST
            )
            side = int(chosen.largest_table**0.5)
            enough = (
                f" Pairs of columns of up to {side} levels each would be useful."
                if side >= 2
                else ""
            )
            out.append(f"Fewer levels or bins. The widest columns: {named}.{enough}")
        if chosen.verdict is Usefulness.NOISE and self.columns > 1:
            out.append("Fewer columns: the budget is shared among them.")
        order = list(Usefulness)
        better_ones = [
            m for m in self.methods[1:] if order.index(m.verdict) > order.index(chosen.verdict)
        ]
        if better_ones:
            methods = join_names(
                f"{m.method} ({m.verdict.value}; {m.relation})" for m in better_ones
            )
            out.append(f"Another method: {methods}.")
        return tuple(out)

    def to_dict(self) -> dict[str, Any]:
        """Return the advice as plain data, ready for JSON."""
        return {
            "rows": self.rows,
            "columns": self.columns,
            "widest": [{"column": name, "levels": size} for name, size in self.widest],
            "verdict": self.chosen.verdict.value,
            "sentence": self.chosen.verdict.sentence,
            "warning": self.warning,
            "remedies": list(self.remedies),
            "methods": [m.to_dict() for m in self.methods],
        }


def advise(schema: Schema, rows: int, methods: Sequence[Expectation]) -> Advice:
    """Return the advice for a declared schema: the expectations of some methods, the chosen one first."""
    ranked = sorted(zip(schema.names, schema.sizes, strict=True), key=lambda pair: -pair[1])
    wide = [(name, size) for name, size in ranked if size > max(2, ranked[0][1] / 2)]
    return Advice(rows, len(ranked), tuple(wide[:_WIDEST]), tuple(methods))


def expect(
    method: str,
    plan: Plan,
    sizes: Sequence[int],
    rows: int,
    *,
    n_tables: int | None = None,
    linked: bool = True,
    largest: float | None = None,
    parents: int | None = None,
    groups: Sequence[Sequence[int]] | None = None,
) -> Expectation:
    """Return what to expect of a plan on columns of these declared sizes.

    Parameters
    ----------
    plan
        Its steps say what goes to single columns (if they have a step of their own) and to tables.
    n_tables
        How many tables the latter pays for, where the method fixes it. None: as many as are worth it.
    linked
        Whether the method would look for links at all.
    largest
        The most cells of a useful table, where the method has a rule of its own.
    parents
        The degree, where the method fixes it.
    groups
        Positions of columns that share a table, each column once, where that is fixed: other pairs are never linked.

    Examples
    --------
    >>> from .ledger import Budget, Charge
    >>> from .ledger import Step
    >>> from .relation import PrivacyUnit
    >>> table = Charge("table of a column", "tables", epsilon=0.5, mechanism="discrete Laplace", noise="")
    >>> plan = Plan(Budget(1.0), PrivacyUnit("add-remove"), (Step(table, 2),))
    >>> expectation = expect("independent", plan, [2, 4], 1000, n_tables=2, linked=False)
    >>> expectation.verdict.value, round(expectation.column_noise, 2), round(expectation.column_error, 4)
    ('single columns only', 2.8, 0.0034)
    """
    check_at_least("rows", rows, 0)
    noise = _Noise(plan)
    levels = np.asarray(sizes, dtype=np.float64)
    d = len(levels)
    tables = noise.spent("links", "tables")
    links = n_tables or max(d - 1, 1)
    table_noise = noise.std(tables / links) if tables else 0.0
    alone = noise.spent("single columns")
    stds = (
        np.array([noise.std(a) for a in alone * noise.parts(levels)])
        if alone
        else np.full(d, table_noise)
    )
    for group in groups or ():
        wide = np.array(group)
        # A column of a larger table is the sum over the others, and so is its noise.
        stds[wide] *= np.sqrt(levels[wide].prod() / levels[wide])
    errors = np.where(levels > 1, 0.4 * stds * levels / max(rows, 1e-9), 0.0)
    pairs = d * (d - 1) // 2
    cells = _pair_cells(levels) if groups is None else _grouped_cells(levels, groups)
    room = rows / (THETA * max(table_noise, 1e-9)) if largest is None else largest
    useful_cells = min(room, _MOST) if linked and tables else 0.0
    useful = int((cells <= useful_cells).sum())
    typical = float(median(cells.tolist())) if len(cells) else None
    verdict = _verdict(errors, useful, pairs)
    return Expectation(
        method,
        plan.budget.kind,
        plan.unit.description,
        column_noise=float(stds.mean()),
        column_count=float((rows / levels).mean()),
        column_error=(mean := float(np.minimum(errors, 1.0).mean())),
        pair_error=min(PAIR_ERROR * mean, 1.0) if d > 1 else None,
        pair_noise=None if typical is None or not tables else table_noise,
        pair_count=None if typical is None else rows / typical,
        pairs=pairs,
        useful_pairs=useful,
        at_once=_at_once(cells, rows, tables, noise) if n_tables is None else min(useful, n_tables),
        largest_table=int(useful_cells),
        parents=parents,
        verdict=verdict,
        more_epsilon=_more(verdict, errors, cells, pairs, room),
    )


@dataclass(frozen=True)
class _Noise:
    """The noise that amounts of a plan's budget buy."""

    plan: Plan

    @property
    def pure(self) -> bool:
        return self.plan.budget.kind == "pure"

    def spent(self, *whys: str) -> float:
        """What the plan spends for some reasons, in its currency."""
        steps = (s for s in self.plan.steps if s.charge.why in whys)
        return sum(s.charge.cost(self.plan.budget.kind) * s.times for s in steps)

    def std(self, amount: float) -> float:
        """The standard deviation of the noise of a cell of a table that costs an amount."""
        return self.plan.budget.noise(amount, l1=self.plan.unit.l1, l2=self.plan.unit.l2_up)[1]

    def parts(self, levels: NDArray[np.float64]) -> NDArray[np.float64]:
        """The parts of single columns: those that make the sum of errors least go as c^(1/2), for Gaussian noise as c^(2/3)."""
        weights = levels ** (1 / 2 if self.pure else 2 / 3)
        return np.asarray(weights / weights.sum())


def _pair_cells(levels: NDArray[np.float64]) -> NDArray[np.float64]:
    """The cells of every pair's table, few first."""
    i, j = np.triu_indices(len(levels), 1)
    return np.sort(levels[i] * levels[j])


def _grouped_cells(
    levels: NDArray[np.float64], groups: Sequence[Sequence[int]]
) -> NDArray[np.float64]:
    """The cells of the table that each pair inside a group is measured in, few first."""
    groups_cells = [(float(levels[list(g)].prod()), len(g) * (len(g) - 1) // 2) for g in groups]
    return np.sort(
        np.repeat([cells for cells, _ in groups_cells], [many for _, many in groups_cells])
    )


def _at_once(cells: NDArray[np.float64], rows: int, amount: float, noise: _Noise) -> int:
    """The most pairs, small ones first, that share an amount evenly and are all useful."""
    low, high = 0, len(cells) if amount else 0
    while (
        low < high
    ):  # more tables have more noise and more cells: once it fails it fails for all that are more
        many = (low + high + 1) // 2
        fits = cells[many - 1] * THETA * noise.std(amount / many) <= rows
        low, high = (many, high) if fits else (low, many - 1)
    return low


def _verdict(errors: NDArray[np.float64], useful: int, pairs: int) -> Usefulness:
    if np.minimum(errors, 1.0).mean() > MOSTLY_NOISE:
        return Usefulness.NOISE
    if not useful:
        return Usefulness.COLUMNS
    return Usefulness.PAIRS if 2 * useful >= pairs else Usefulness.SMALL_PAIRS


def _more(
    verdict: Usefulness,
    errors: NDArray[np.float64],
    cells: NDArray[np.float64],
    pairs: int,
    room: float,
) -> float | None:
    """About how many times the epsilon the next verdict takes: noise falls as epsilon grows. None if there is none to reach."""
    if not room > 0:  # no rows: no epsilon helps
        return None
    if verdict is Usefulness.NOISE:
        low, high = 1.0, max(float(errors.max()) / MOSTLY_NOISE, 1.0)
        for _ in range(60):
            middle = (low * high) ** 0.5
            enough = np.minimum(errors / middle, 1.0).mean() <= MOSTLY_NOISE
            low, high = (low, middle) if enough else (middle, high)
        return min(high, _MOST)
    if verdict is Usefulness.PAIRS or not len(cells):
        return None
    index = 0 if verdict is Usefulness.COLUMNS else min((pairs - 1) // 2, len(cells) - 1)
    factor = float(cells[index]) / room
    return min(factor, _MOST) if factor > 1 else None


def _times(factor: float) -> str:
    """A factor in two digits, rounded up."""
    digits = 10.0 ** (np.floor(np.log10(factor)) - 1)
    return f"{np.ceil(round(factor / digits, 6)) * digits:,.12g}"
