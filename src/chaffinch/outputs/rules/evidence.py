"""What lies behind an output, in the pieces that rules look at: counts of people, numbers by groups, degrees of freedom, a fitted model.

A kind of output gives its pieces (`OutputSpec.evidence`), a reader those that a print gives without records; `judge` puts each piece before the rules that
look at such pieces. A rule is one file of this folder: it registers a `Rule` with a function for each kind of piece that it looks at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..._base.arrays import Floats, Ints
from ..._base.registry import Registry
from ..domain import Codes, OutputDomain
from ..numbers import printed_interval
from .findings import RuleFinding, Status, finding
from .policy import Policy

if TYPE_CHECKING:
    from ..kinds.base import OutputSpec
    from .cell_counts import CellCounter, CellCounts, MissingLevels


@dataclass(frozen=True, eq=False)
class Counts:
    """Counts of people behind what an output shows; `noun` is what its cells are called."""

    cells: Sequence[CellCounts]
    noun: str = "cell"


class TableCells(Counts):
    """Counts that are what the output shows: a cell of nobody, and a row with all its people in one cell, say something too."""


class EmptyCells(Counts):
    """Counts of which the output shows only where nobody is."""


class People(NamedTuple):
    """The number of people that an output says it is of."""

    n: int


class CurveBands(NamedTuple):
    """The people between each two points of a curve, beyond the first and beyond the last."""

    names: Sequence[str]
    counts: Sequence[float]


class Points(NamedTuple):
    """The points of a plot, and how many records each is."""

    names: Sequence[str]
    counts: Ints


class DegreesOfFreedom(NamedTuple):
    """The residual degrees of freedom of a fit or a test."""

    dof: int


class Spread(NamedTuple):
    """Groups of which a spread is published."""

    cells: CellCounts


class SurvivalTable(NamedTuple):
    """Numbers at risk and events by time: the column of times, the count below which they are withheld, and what they are rounded to."""

    tallies: Sequence[CellCounts]
    time: int
    withheld: int
    base: int
    counter: CellCounter


class HistogramEnds(NamedTuple):
    """The ends of a histogram that are extreme values, by name, and how many people have each."""

    n_equal: Mapping[str, int]


class ModelGroups(NamedTuple):
    """The column of a model's groups, and how many there are."""

    column: str
    n_groups: int


class InterpolatingFit(NamedTuple):
    """A fit that passes through records; whether its coefficients are printed in full."""

    in_full: bool


class RecordsBehind(NamedTuple):
    """An output with its cells, on all records."""

    output: OutputSpec
    tallies: Sequence[CellCounts]
    domain: OutputDomain
    codes: Codes


class PrintedOutput(NamedTuple):
    """An output as it is printed, of so many records."""

    output: OutputSpec
    domain: OutputDomain


class Magnitudes:
    """Numbers of people's own, record by record, in the groups of a label (-1 for none), sorted from the largest in each group."""

    def __init__(self, cells: CellCounts, values: Floats) -> None:
        self.cells, self.labels, self.values = cells, cells.labels, values

    @cached_property
    def groups(self) -> SortedGroups:
        """The values of each group, sorted."""
        return SortedGroups(self.values, self.labels, self.cells.size)


class SortedGroups:
    """Numbers in groups (-1 for none), each group from its largest on: `largest(0)` are the first of all groups, `total` their sums."""

    def __init__(self, values: Floats, labels: Ints, size: int) -> None:
        inside = labels >= 0
        order = np.lexsort((-values[inside], labels[inside]))
        self._values = np.append(values[inside][order], 0.0)
        self.counts = np.bincount(labels[inside], minlength=size)
        self._starts = np.cumsum(self.counts) - self.counts
        self.total = np.bincount(labels[inside], weights=values[inside], minlength=size)
        last = self._values[np.maximum(self._starts + self.counts - 1, 0)]
        self.negative = (self.counts > 0) & (last < 0)
        self.equal = (self.counts > 1) & (self.largest(0) == last)

    def largest(self, k: int) -> Floats:
        """Return the number of each group that k others are before; 0 where it has no more than k."""
        index = np.minimum(self._starts + k, len(self._values) - 1)
        return np.where(self.counts > k, self._values[index], 0.0)


class Quantile(NamedTuple):
    """A quantile of a group as printed: its name, which it is, how many people have it as their value, and how many lie beyond it."""

    name: str
    point: float
    n_equal: int
    n_beyond: float


@dataclass(frozen=True, eq=False)
class Quantiles:
    """Quantiles of a number by groups, at some points, printed with so many decimals."""

    cells: CellCounts
    values: Floats
    points: Sequence[float]
    decimals: int | None

    @cached_property
    def shown(self) -> list[Quantile]:
        """Those that are shown. A quantile as printed is the value of those people of the group whose own values print the same."""
        cells, quantiles = self.cells, list[Quantile]()
        order = np.argsort(cells.labels, kind="stable")
        starts = np.searchsorted(cells.labels[order], np.arange(cells.size + 1))
        for group, name in enumerate(cells.called(np.arange(cells.size))):
            values = np.sort(self.values[order[starts[group] : starts[group + 1]]])
            if not len(values) or cells.withheld[group]:
                continue
            for q in self.points:
                value = float(np.quantile(values, q))
                value = value if self.decimals is None else round(value, self.decimals)
                low, high = printed_interval(value, decimals=self.decimals)
                n_equal = np.searchsorted(values, high, side="right") - np.searchsorted(values, low)
                beyond = min(q, 1.0 - q) * len(values)
                quantiles.append(Quantile(f"{name} at {q:g}", q, int(n_equal), beyond))
        return quantiles


@dataclass(frozen=True, eq=False)
class Release:
    """The cells of all outputs, new ones and those that are out already, by name.

    `numbers` gives the values of a column, record by record; `missing` says which columns have a level for missing values.
    """

    new: Mapping[str, Sequence[CellCounts]]
    before: Mapping[str, Sequence[CellCounts]]
    missing: MissingLevels
    numbers: Callable[[str], Floats]

    @property
    def tallies(self) -> list[CellCounts]:
        """The cells of all of them."""
        return [tally for cells in (*self.new.values(), *self.before.values()) for tally in cells]


class RuleOutcome(NamedTuple):
    """What a rule says of a piece: `where` it is broken, out of how many places in `total`, and in which sentence; see `findings.finding`."""

    where: Sequence[str]
    total: int
    sentence: str
    clear_sentence: str = ""
    status: Status = "fail"
    other: str | None = None
    others: Sequence[str] = ()


Look = Callable[[Any, Policy], Iterable[RuleOutcome | RuleFinding]]
"""From a piece of evidence and the policy to what a rule says of it; nothing where it does not apply."""


@dataclass(frozen=True, eq=False)
class Rule:
    """A rule of disclosure.

    `asks` is what it asks, in a sentence; `keys` are those of the policy that it reads; `looks` has a function for each kind of piece that it looks at.
    """

    name: str
    asks: str
    keys: tuple[str, ...] = ("threshold",)
    looks: dict[type, Look] = field(default_factory=dict)

    def looks_at(self, *pieces: type) -> Callable[[Look], Rule]:
        """Return a decorator of a function that looks at such pieces for this rule; the function's name is then the rule's."""

        def add(look: Look) -> Rule:
            self.looks.update(dict.fromkeys(pieces, look))
            return self

        return add

    def look(self, piece: Any, policy: Policy) -> Iterable[Any]:
        """Return what it says of a piece: outcomes, or findings of outputs together; nothing of pieces that it does not look at."""
        return self.looks[type(piece)](piece, policy) if type(piece) in self.looks else ()


RULES: Registry[Rule] = Registry(
    "rule",
    __package__,
    "counts",
    "magnitudes",
    "models",
    "suppression",
    "derived_dominance",
    "differencing",
    "*",
)
"""All rules, in the order in which they look. Add one of your own with `RULES.register(Rule(...))`."""


def judge(output: str, kind: str, evidence: Iterable[Any], policy: Policy) -> list[RuleFinding]:
    """Return what all rules say of the pieces behind an output, one piece after the other.

    Examples
    --------
    >>> [(one.rule, one.status) for one in judge("fit", "logit", [DegreesOfFreedom(3)], Policy())]
    [('residual degrees of freedom', 'fail')]
    """
    return [
        finding(output, kind, rule.name, **outcome._asdict())
        for piece in evidence
        for rule in RULES
        for outcome in rule.look(piece, policy)
    ]
