"""Null moves: a walk among datasets that all give the very same outputs, so that an ensemble spreads over what was not published.

Two kinds of moves keep every count, and every sum to rounding:

- a column is shuffled among records that agree on all columns which some output reads together with it;
- a label is flipped in a 2 x 2 pattern: four records that agree on all else have (a, b), (a, b'), (a', b), (a', b') in two columns
  which no output reads together with the label, and labels v, w, w, v; these become w, v, v, w. Sums over a, and over b, stay.

So the claim that only the original has error zero does not hold: for fixed X a fit depends on y only through X'y.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from chaffinch._base.errors import ChaffinchError, InputError
from chaffinch._base.seeds import Seed, generator
from chaffinch.outputs.domain import Codes, Floats
from chaffinch.outputs.equations import CountTable, Output, Problem, SumSystem
from chaffinch.outputs.families import FAMILIES
from chaffinch.outputs.solve.program import compile_problem, sums_from_scratch

Ints = NDArray[np.int64]
Reads = tuple[frozenset[int], ...]
"""Sets of columns, each with the column asked about: an output follows from the joint distributions over each of the sets."""

TRIES = 1
"""Records that each 2 x 2 search starts from, in multiples of the number of records."""
MOST_PAIRS = 40
"""The most pairs of columns for which patterns are sought in one round and column."""
EXACT = 1e-9
"""How far a sum may move, as a share of the sum of what records add to it in size: rounding alone."""


@dataclass(frozen=True, eq=False)
class Spread:
    """A dataset after a walk, every output as before, and how many 2 x 2 patterns were flipped.

    `changed` is the share of records, 0 to 1, that the start does not have: records are compared as a whole and in any order.
    """

    codes: Codes = field(repr=False)
    changed: float
    flips: int


def walk(
    problem: Problem, codes: NDArray[np.integer], *, rounds: int = 1, seed: Seed = None
) -> Spread:
    """Return another dataset with the same outputs: every count equal, every sum to rounding; this is checked before it returns.

    Examples
    --------
    Only the margin of the second column was published, so its values go anywhere, and none is lost:

    >>> from chaffinch.outputs.domain import OutputColumn, OutputDomain
    >>> from chaffinch.outputs.equations import CountTable
    >>> margin = CountTable("b", ((1, np.arange(2)),), np.array([4, 4]), np.array([4, 4]))
    >>> problem = Problem(OutputDomain((OutputColumn("a", tuple("01234567")), OutputColumn("b", tuple("01")))), (margin,))
    >>> start = np.stack([np.arange(8), np.repeat([0, 1], 4)], axis=1)
    >>> after = walk(problem, start, seed=1)
    >>> np.bincount(after.codes[:, 1]).tolist(), after.changed > 0
    ([4, 4], True)
    """
    if rounds < 0:
        raise InputError(f"rounds must be at least 0. Got {rounds}.")
    rng = generator(seed)
    start = problem.domain.check(codes)
    now = start.copy()
    free = [c for c, column in enumerate(problem.domain) if not column.fixed and column.size > 1]
    flips = 0
    for _ in range(rounds):
        for column in rng.permutation(free):
            reads = all_reads(problem, int(column))
            others = frozenset().union(*reads) - {int(column)}
            if not only_trades(problem, int(column), others):
                _shuffle(now, int(column), equal_on(problem, now, int(column), others), rng)
            apart = [
                (p, q)
                for p, q in combinations(sorted(others), 2)
                if not any({p, q} <= some for some in reads)
            ]
            for p, q in (apart[k] for k in rng.permutation(len(apart))[:MOST_PAIRS]):
                flips += _flip(
                    now,
                    int(column),
                    p,
                    q,
                    equal_on(problem, now, int(column), others - {p, q}),
                    rng,
                )
    _check_same(problem, start, now)
    return Spread(now, _new_share(start, now), flips)


def _new_share(before: Codes, after: Codes) -> float:
    """Return the share of records of one dataset that another does not have, counted as multisets."""
    records, of = np.unique(np.concatenate([before, after]), axis=0, return_inverse=True)
    had = np.bincount(of.reshape(-1)[: len(before)], minlength=len(records))
    has = np.bincount(of.reshape(-1)[len(before) :], minlength=len(records))
    return float(np.maximum(has - had, 0).sum() / len(after))


def _shuffle(codes: Codes, column: int, classes: Ints, rng: np.random.Generator) -> None:
    """Shuffle a column among the records of each class, in place."""
    sorted_once = np.argsort(classes, kind="stable")
    shuffled = np.lexsort((rng.random(len(codes)), classes))
    codes[sorted_once, column] = codes[shuffled, column]


def _flip(codes: Codes, label: int, p: int, q: int, classes: Ints, rng: np.random.Generator) -> int:
    """Flip labels of 2 x 2 patterns over columns p and q inside classes, in place; return how many."""
    n = len(codes)
    of_p, of_q, y = (codes[:, c].astype(np.int64) for c in (p, q, label))
    wide_p, wide_q, wide_y = int(of_p.max()) + 1, int(of_q.max()) + 1, int(y.max()) + 1
    if float(classes.max() + 1) * wide_p * wide_q * wide_y >= 2.0**62:
        return 0
    whole = ((classes * wide_p + of_p) * wide_q + of_q) * wide_y + y
    first = rng.integers(0, n, TRIES * n)
    beside = _another(classes * wide_p + of_p, first, rng)
    below = _another(classes * wide_q + of_q, first, rng)
    fits = (
        (of_q[beside] != of_q[first])
        & (of_p[below] != of_p[first])
        & (y[beside] != y[first])
        & (y[below] == y[beside])
    )
    first, beside, below = first[fits], beside[fits], below[fits]
    corner = ((classes[first] * wide_p + of_p[below]) * wide_q + of_q[beside]) * wide_y + y[first]
    order = np.argsort(whole, kind="stable")
    at, end = (
        np.searchsorted(whole[order], corner),
        np.searchsorted(whole[order], corner, side="right"),
    )
    closed = end > at
    across = order[np.minimum(at + (rng.random(len(at)) * (end - at)).astype(np.int64), n - 1)]
    used = np.zeros(n, dtype=bool)
    flips = 0
    for four in np.stack([first, beside, below, across], axis=1)[closed]:
        if not used[four].any():
            used[four] = True
            a, b = y[four[0]], y[four[1]]
            codes[four, label] = (b, a, a, b)
            flips += 1
    return flips


def _another(classes: Ints, of: Ints, rng: np.random.Generator) -> Ints:
    """Draw for each record one of its class (perhaps itself)."""
    order = np.argsort(classes, kind="stable")
    ordered, wanted = classes[order], classes[of]
    at, end = np.searchsorted(ordered, wanted), np.searchsorted(ordered, wanted, side="right")
    drawn: Ints = order[at + (rng.random(len(of)) * (end - at)).astype(np.int64)]
    return drawn


def sums_of(problem: Problem, codes: Codes) -> tuple[Ints, Floats]:
    """Return the counts of all tables and the sums of all systems, end to end."""
    program = compile_problem(problem)
    counts, sums = np.zeros(program.n_cells, dtype=np.int64), np.zeros(program.n_sums)
    sums_from_scratch(program, codes, counts, np.zeros((len(codes), program.n_multipliers)), sums)
    return counts, sums


def _check_same(problem: Problem, before: Codes, after: Codes) -> None:
    """Raise if a walk changed an output: a defect of ours, which must not leave unseen."""
    counts, sums = sums_of(problem, before)
    new_counts, new_sums = sums_of(problem, after)
    room = EXACT * (np.abs(sums) + len(before))
    if (counts != new_counts).any() or (np.abs(sums - new_sums) > room * _sizes(problem)).any():
        raise ChaffinchError("A null move changed an output.")


def _sizes(problem: Problem) -> Floats:
    """How large what one record adds to each sum can be, at least 1: the unit of rounding errors."""
    every = [np.zeros(0)]
    for system in (output for output in problem.outputs if isinstance(output, SumSystem)):
        largest = max(
            (float(np.abs(terms.values).max(initial=0.0)) for terms in system.terms), default=0.0
        )
        every.append(np.full(system.size, max(1.0, largest)))
    return np.concatenate(every)


def reads_with(output: Output, column: int) -> Reads:
    """Return the sets of columns that an output reads together with a column, itself among them; none if it does not read it.

    With every other column left as it is, an output depends on the column only through its joint distribution over each set. A table
    has one set. A plain sum has one for each of its terms. The score of a regression mixes all its columns in the linear predictor;
    but of the label, under a canonical link, it reads only X'y: one set for each term of the design.

    Examples
    --------
    >>> table = CountTable("t", ((0, np.array([0, 1])), (2, np.array([0, 1]))), np.zeros(4, int), np.ones(4, int))
    >>> [sorted(some) for some in reads_with(table, 2)], reads_with(table, 1)
    ([[0, 2]], ())
    """
    if column not in output.columns:
        return ()
    if isinstance(output, CountTable):
        return (frozenset(output.columns),)
    filtering = frozenset(c for look in output.keep for c in look.columns)
    if output.model is None:
        sets = {frozenset(terms.columns) | filtering for terms in output.terms}
        return tuple(some for some in sorted(sets, key=sorted) if column in some)
    label = frozenset(output.model.label.columns)
    beside = filtering.union(
        *(terms.columns for terms in output.terms), *(look.columns for look in output.model.eta)
    )
    linear = output.model.quantity == "score" and FAMILIES[output.model.family].canonical
    if linear and column in label and not label & beside:
        return tuple(
            sorted(
                {frozenset(terms.columns) | filtering | label for terms in output.terms}, key=sorted
            )
        )
    return (frozenset(output.columns),)


def all_reads(problem: Problem, column: int) -> Reads:
    """Return the sets of all outputs of a problem, each once."""
    return tuple(
        sorted(
            {some for output in problem.outputs for some in reads_with(output, column)}, key=sorted
        )
    )


def _maps(problem: Problem, column: int, others: Iterable[int]) -> list[tuple[int, Ints | None]]:
    """How finely records must agree on other columns: on groups where only tables read them beside the column, else on codes."""
    maps: list[tuple[int, Ints | None]] = []
    for other in sorted(others):
        readers = [
            output
            for output in problem.outputs
            if any(other in some for some in reads_with(output, column))
        ]
        tables = [output for output in readers if isinstance(output, CountTable)]
        if not tables or len(tables) < len(readers):
            maps.append((other, None))
        else:
            maps += [(other, dict(table.groups)[other]) for table in tables]
    return maps


def equal_on(problem: Problem, codes: Codes, column: int, others: Iterable[int]) -> Ints:
    """Return the class of each record: records of one class agree on the other columns, as finely as outputs with the column read them."""
    classes = np.zeros(len(codes), dtype=np.int64)
    for other, group in _maps(problem, column, others):
        level = (
            codes[:, other].astype(np.int64)
            if group is None
            else group[codes[:, other]].astype(np.int64) + 1
        )
        # Numbered anew after each column: a product of all sizes would overflow.
        classes = np.unique(classes * (int(level.max()) + 1) + level, return_inverse=True)[
            1
        ].reshape(-1)
    return classes


def only_trades(problem: Problem, column: int, others: Iterable[int]) -> bool:
    """Return whether records that agree on the other columns agree on all but the column: they would only trade places."""
    exact = {other for other, group in _maps(problem, column, others) if group is None}
    return exact | {column} >= set(range(len(problem.domain)))
