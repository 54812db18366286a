"""From released numbers to a network: who becomes whose parent, which way links point, and tables that are as flat as estimated sums allow. None of this touches data.

*Parents* come from a search over the distances of pairs, each less what its noise would cost. *Directions*: a column whose parents are not linked to each other makes them
independent, whatever both have in common with it. The tables of pairs ask for something else: the flattest distribution that has them keeps such columns independent only given the one between them. So
such parents are avoided where this costs no link. (On a graph without holes there is an order that has no such parents, and a maximum cardinality search finds it: Tarjan and Yannakakis 1984.)
Sums over pairs do not tell the directions apart, so turning links costs nothing.

*Tables*: a child's table given several parents starts as if they told nothing of it and is raked to the estimated table of the child with each
of them: the distribution of largest entropy among those (a log-linear model without the interactions that nobody measured).
The distribution of the parents themselves is that of one column, or of one estimated table, or is counted in a sample drawn
from the tables so far, of the columns that it takes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...._base.errors import InputError
from ....counts.marginal import Marginal
from ....counts.plan import Columns
from ....privacy.counter import PrivateCounter
from ...noisy import Counts, Target, conditional_target, rake
from ..network import Rules
from ..searches import genetic_search, ordering_search
from ..tables import Sampler, table_from_marginal
from .links import Gaps, std_of

if TYPE_CHECKING:
    from ..settings import BayesNet


NOISY = 0.01
"""The mean error of single columns, if all were spent on them, beyond which columns get few parents."""

FEW_PARENTS = 3

STARTS = 6
"""Columns that an order is tried from: those with the strongest links."""

SAMPLE = (10_000, 100_000)
"""The fewest and the most rows of the sample; twenty for each record in between."""

MOST_CELLS = 200_000

_ROUNDS = 12

_SETTLING = 20
"""The most rounds in which a column's table is brought back to the column's own counts."""

_SETTLED = 1e-4
"""The part of the records by which it may miss them."""

_TRACE = 1e-6
"""Counts below this many records are left out of a table: a combination of parents without any then falls back on fewer."""


def with_fewer_parents(rules: Rules, error: float) -> Rules:
    """Return rules that allow fewer parents if single columns alone would have a mean error beyond `NOISY`: public numbers alone.

    Many noisy links of one column pull its table in many directions. Parents that must be, are.
    """
    if error <= NOISY:
        return rules
    return replace(
        rules, max_parents=min(rules.max_parents, max(FEW_PARENTS, *map(len, rules.required)))
    )


def searched_parents(
    settings: BayesNet,
    counter: PrivateCounter,
    rules: Rules,
    gaps: Gaps,
    triples: Sequence[Columns],
    rng: np.random.Generator,
) -> dict[int, Columns]:
    """Return the parents that a search finds on the distances of pairs, each less what its noise would cost.

    How noisy tables will be depends on how many there are: the search is run again on the number of the last. The columns of a
    triple that is to be measured are linked before all others: an interaction needs all three together, whatever their pairs tell.
    """
    edges = rules.d * min(rules.max_parents, rules.d - 1)
    parents: dict[int, Columns] = {}
    for _ in range(3):
        sigma = std_of(counter.ledger.remaining / max(edges, 1), counter.unit, pure=counter.pure)
        matrix = np.zeros((rules.d, rules.d))
        for i, (a, b) in enumerate(gaps.cliques):
            if (gain := gaps.gain(i, sigma)) > 0:
                matrix[a, b] = matrix[b, a] = gain
        strong = 2 * matrix.max(initial=1.0)
        for triple in triples:
            for a, b in combinations(triple, 2):
                matrix[a, b] = matrix[b, a] = strong
        if settings.search == "genetic":
            families, _ = genetic_search(matrix, rules, rng, settings.evolution)
        else:
            families, _ = ordering_search(PairScores(matrix), rules, rng, score="pairwise")  # type: ignore[arg-type]
        parents = {
            child: _worthwhile(child, chosen, matrix, counter.schema.sizes, rules)
            for child, chosen in enumerate(families)
        }
        now = sum(len(chosen) for chosen in parents.values())
        if now == edges:
            break
        edges = now
    # A triple that is measured needs a column that has the two others as parents: its links stay as they are.
    return parents if triples else orient_links(parents, matrix, counter.schema.sizes, rules)


def _worthwhile(
    child: int,
    chosen: Sequence[int],
    matrix: NDArray[np.float64],
    sizes: Sequence[int],
    rules: Rules,
) -> Columns:
    """The parents that are worth it, strongest first, as many as keep the table small; those that must be come before all."""
    must = rules.required[child]
    strengths = {p: float(matrix[child, p]) for p in chosen if matrix[child, p] > 0}
    strongest = strongest_parents(
        {**strengths, **dict.fromkeys(must, float("inf"))}, child, sizes, rules.max_parents
    )
    if any(p not in strongest for p in must):
        raise InputError(
            f"The table of '{rules.names[child]}' with the parents it must have is too large to be measured. Use fewer levels."
        )
    return strongest


class PairScores:
    """Scores of families as sums over pairs of a released matrix: what the searches over orders ask for."""

    def __init__(self, matrix: NDArray[np.float64]) -> None:
        self.matrix = matrix
        self.d = len(matrix)

    def pairs(self) -> NDArray[np.float64]:
        """Return the matrix."""
        return self.matrix

    def masked(
        self, score: str, child: int, parents: NDArray[np.int64], *, max_parents: int
    ) -> NDArray[np.float64]:
        """Return the scores of a child with many parent sets, given as bit masks."""
        return (parents[:, None] >> np.arange(self.d) & 1) @ self.matrix[child]


def orient_links(
    parents: Mapping[int, Columns],
    matrix: NDArray[np.float64],
    sizes: tuple[int, ...],
    rules: Rules,
) -> dict[int, Columns]:
    """Return the same links, turned such that fewer parents of one column are not linked to each other.

    `matrix` holds the strengths of links. Nothing is turned where rules say anything about directions, or where a column
    would have more parents than it may.
    """
    best = dict(parents)
    fewest = unlinked_parents(best)
    free = (
        rules.allowed.sum() == rules.d * (rules.d - 1)
        and not any(rules.required)
        and not rules.fixed
    )
    if not fewest or not free:
        return best
    links = np.zeros((rules.d, rules.d))
    for child, chosen in parents.items():
        for parent in chosen:
            links[child, parent] = links[parent, child] = matrix[child, parent]
    for start in np.argsort(-links.sum(axis=1), kind="stable")[:STARTS].tolist():
        trial = _from(start, links, sizes, rules.max_parents)
        if trial is not None and (number := unlinked_parents(trial)) < fewest:
            best, fewest = trial, number
    return best


def unlinked_parents(parents: Mapping[int, Columns]) -> int:
    """Return how many pairs of parents of one column are not linked to each other.

    Examples
    --------
    >>> unlinked_parents({0: (), 1: (), 2: (0, 1)}), unlinked_parents({0: (), 1: (0,), 2: (0, 1)})
    (1, 0)
    """
    return sum(
        b not in parents[a] and a not in parents[b]
        for chosen in parents.values()
        for a, b in combinations(chosen, 2)
    )


def _from(
    start: int, links: NDArray[np.float64], sizes: tuple[int, ...], max_parents: int
) -> dict[int, Columns] | None:
    """The links as an order tells that goes on with the column most linked to those before it; None if a column had too many parents."""
    linked = (links > 0).astype(np.float64)
    # The number of links decides, then their strength to those before, then to all.
    strongest = max(float(links.sum()), 1e-300)
    near = links.sum(axis=1) / strongest / len(links)
    waiting = np.ones(len(links), dtype=bool)
    out: dict[int, Columns] = {}
    for _ in range(len(links)):
        column = start if not out else int(np.argmax(np.where(waiting, near, -1.0)))
        before = np.flatnonzero(linked[column] * ~waiting).tolist()
        out[column] = strongest_parents(
            {p: float(links[column, p]) for p in before}, column, sizes, max_parents
        )
        if len(out[column]) < len(before):
            return None
        waiting[column] = False
        near += linked[column] + links[column] / strongest
    return out


@dataclass(frozen=True, eq=False)
class Assembled:
    """The columns in order, their parents (strongest first), the tables, and a sample to draw on."""

    order: tuple[int, ...]
    parents: tuple[Columns, ...]
    tables: tuple[Marginal, ...]
    sample: NetworkSample


@dataclass(eq=False)
class NetworkSample:
    """Rows of a network, a column at a time: a column is drawn when it is first asked for, and its parents with it.

    Rows that have the same parents share a column's levels as exactly as whole numbers allow, in random order: sums are nearer to those
    of the tables than independent draws would be, and columns with the same parents stay independent of each other.
    """

    n_rows: int
    rng: np.random.Generator
    parents: dict[int, Columns] = field(default_factory=dict)
    tables: dict[int, Marginal] = field(default_factory=dict)
    _codes: dict[int, NDArray[np.uint32]] = field(default_factory=dict)

    def add(self, column: int, parents: Columns, table: Marginal) -> None:
        """Take in the table of a column, whose parents have theirs already."""
        self.parents[column], self.tables[column] = parents, table

    def column(self, column: int) -> NDArray[np.uint32]:
        """Return the codes of a column."""
        if column not in self._codes:
            given = [self.column(p) for p in self.parents[column]]
            uniform = spread_evenly(self._key(self.parents[column]), self.rng)
            sampler = Sampler(table_from_marginal(self.tables[column], smoothing=0.0))
            self._codes[column] = sampler.draw(given, uniform)
        return self._codes[column]

    def counts(self, columns: Columns) -> Counts:
        """Return the table of some columns, in rows of the sample."""
        sizes = [self.tables[c].sizes[-1] for c in columns]
        return (
            np.bincount(self._key(columns), minlength=prod(sizes)).reshape(sizes).astype(np.float64)
        )

    def _key(self, columns: Columns) -> NDArray[np.int64]:
        key = np.zeros(self.n_rows, dtype=np.int64)
        for c in columns:
            key = key * self.tables[c].sizes[-1] + self.column(c)
        return key


def spread_evenly(key: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Return numbers in [0, 1), a random order of equal steps from a random start for each group of rows with the same key."""
    order = rng.permutation(len(key))
    narrow = (
        key.astype(np.uint16) if int(key.max(initial=0)) < 1 << 16 else key
    )  # short numbers sort in linear time
    order = order[np.argsort(narrow[order], kind="stable")]
    laid = key[order]
    first = np.flatnonzero(np.concatenate([[True], laid[1:] != laid[:-1]]))
    sizes = np.diff([*first, len(key)])
    uniform = np.empty(len(key))
    rank = np.arange(len(key)) - np.repeat(first, sizes)
    uniform[order] = (rank + np.repeat(rng.random(len(first)), sizes)) / np.repeat(sizes, sizes)
    return np.minimum(uniform, 1 - 1e-16)


def strongest_parents(
    strengths: Mapping[int, float], child: int, sizes: Sequence[int], max_parents: int
) -> Columns:
    """Return the strongest parents, as many as are allowed and as keep the child's table small."""
    chosen: list[int] = []
    cells = sizes[child]
    for parent in sorted(strengths, key=lambda p: (-strengths[p], p)):
        if len(chosen) < max_parents and cells * sizes[parent] <= MOST_CELLS:
            chosen.append(parent)
            cells *= sizes[parent]
    return tuple(chosen)


def assemble(
    rules: Rules,
    order: Sequence[int],
    parents: Mapping[int, Columns],
    margins: Sequence[Counts],
    tables: Mapping[Columns, Counts],
    rng: np.random.Generator,
) -> Assembled:
    """Return the network of some parents, with tables that agree with what was estimated.

    `tables` maps sorted tuples of columns to estimates; every pair of a child and one of its parents must be there.
    """
    sample = NetworkSample(int(np.clip(20 * margins[0].sum(), *SAMPLE)), rng)
    for child in order:
        chosen = parents[child]
        counts = _table(child, chosen, margins, tables, sample)
        names = (*(rules.names[p] for p in chosen), rules.names[child])
        sample.add(child, chosen, Marginal(names, counts.shape, counts))
    return Assembled(
        tuple(order),
        tuple(parents[c] for c in order),
        tuple(sample.tables[c] for c in order),
        sample,
    )


def _table(
    child: int,
    chosen: Columns,
    margins: Sequence[Counts],
    tables: Mapping[Columns, Counts],
    sample: NetworkSample,
) -> Counts:
    margin = margins[child]
    total = float(margin.sum())
    if not chosen:
        return margin.copy()
    of_parents = _parents_table(chosen, margins, tables, sample)
    targets: list[Target] = [(tuple(range(len(chosen))), of_parents)]
    family = (*chosen, child)
    for clique, estimate in tables.items():
        if child in clique and len(clique) > 1 and set(clique) <= set(family):
            axes = tuple(a for a, c in enumerate(family) if c in clique)
            laid = estimate.transpose([clique.index(family[a]) for a in axes])
            summed = of_parents.sum(axis=tuple(a for a in range(len(chosen)) if a not in axes))
            targets.append((axes, conditional_target(laid, summed, margin)))
    start = of_parents[..., None] * (margin / max(total, 1e-300)) + 1e-12
    out = rake(start, targets, rounds=1 if len(targets) == 2 else _ROUNDS)
    if len(targets) > 2:
        out = _match_margins(out, of_parents, margin)
    return np.where(out > _TRACE, out, 0.0)


def _match_margins(table: Counts, of_parents: Counts, margin: Counts) -> Counts:
    """The table brought back to the sums of the parents and of the column itself, as far as its empty cells allow.

    Noisy links contradict each other and what their columns do together, and the last of them would have its way. The column itself is
    known best, and what moves it moves all that come after.
    """
    out, first = table.reshape(-1, len(margin)), of_parents.reshape(-1)
    for _ in range(_SETTLING):
        out = rake(out, [((0,), first)], rounds=1)
        if np.abs(out.sum(axis=0) - margin).sum() <= _SETTLED * margin.sum():
            break
        out = rake(out, [((1,), margin)], rounds=1)
    return out.reshape(table.shape)


def _parents_table(
    chosen: Columns,
    margins: Sequence[Counts],
    tables: Mapping[Columns, Counts],
    sample: NetworkSample,
) -> Counts:
    """The joint table of some columns that have their tables already, in records."""
    if len(chosen) == 1:
        return margins[chosen[0]]
    key = tuple(sorted(chosen))
    if key in tables:
        return tables[key].transpose([key.index(c) for c in chosen])
    return sample.counts(chosen) * (float(margins[chosen[0]].sum()) / sample.n_rows)
