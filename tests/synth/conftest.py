"""Second opinions for the synthesisers: random tables with links, plain probabilities, all small networks, a fit test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from math import log

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from chaffinch import prepare
from chaffinch.synth.bayesnet import searches
from chaffinch.table import Column, Schema

ODDS = 1e-6
"""Every statistical test here fails once in a million runs if the code is right; seeds are fixed besides."""


def linked_codes(
    seed: int, sizes: Sequence[int], n_rows: int, *, noise: float = 0.5
) -> list[np.ndarray]:
    """Return columns that hang together: each copies one or two earlier ones, in part."""
    rng = np.random.default_rng(seed)
    columns: list[np.ndarray] = []
    for j, size in enumerate(sizes):
        column = rng.integers(0, size, n_rows) * rng.integers(0, 2, n_rows)
        if j:
            chosen = rng.choice(j, size=min(j, 2), replace=False)
            mixed = sum(columns[c] * rng.integers(1, 3) for c in chosen) % size
            column = np.where(rng.random(n_rows) < noise * rng.random(), column, mixed)
        columns.append(column.astype(np.uint32))
    shuffled = rng.permutation(len(sizes))
    return [columns[i] % size for i, size in zip(shuffled, sizes, strict=True)]


@pytest.fixture
def linked(coded):
    """Make a random table of columns c0, c1, ... that hang together."""
    return lambda seed, sizes, n_rows, **options: coded(
        linked_codes(seed, sizes, n_rows, **options), sizes
    )


@pytest.fixture
def linked_table(linked):
    return linked(4, [3, 2, 4, 3, 2], 400)


def sealed(codes, sizes, rows=None):
    columns = tuple(
        Column(f"c{j}", "categorical", levels=tuple(range(size))) for j, size in enumerate(sizes)
    )
    data = pa.table({f"c{j}": pa.array(np.asarray(c, dtype=np.int64)) for j, c in enumerate(codes)})
    return prepare(data, Schema(columns, public=True, rows=data.num_rows if rows is None else rows))


def plain_entropy(rows: Sequence[Sequence[int]], columns: Sequence[int]) -> float:
    """Return the entropy in nats of some columns, from a plain count."""
    counts = Counter(tuple(row[c] for c in columns) for row in rows)
    n = sum(counts.values())
    return -sum(c / n * log(c / n) for c in counts.values())


def plain_information(rows: Sequence[Sequence[int]], child: int, parents: Sequence[int]) -> float:
    """Return I(child; parents) in nats."""
    return (
        plain_entropy(rows, [child])
        + plain_entropy(rows, parents)
        - plain_entropy(rows, [child, *parents])
    )


@pytest.fixture
def information() -> Callable[..., float]:
    return plain_information


def plain_back_off(
    rows: Sequence[Sequence[int]],
    child: int,
    parents: Sequence[int],
    smoothing: Fraction,
    row: Sequence[int],
) -> Fraction:
    """Return P(row[child] | row[parents]) as the documented formula has it, in fractions, by going through all rows."""
    fits = [r for r in rows if all(r[p] == row[p] for p in parents)]
    hits = sum(r[child] == row[child] for r in fits)
    if not parents:
        return Fraction(hits, len(fits))
    fewer = plain_back_off(rows, child, parents[:-1], smoothing, row)
    return (hits + smoothing * fewer) / (len(fits) + smoothing) if fits else fewer


@pytest.fixture
def back_off() -> Callable[..., Fraction]:
    return plain_back_off


@pytest.fixture
def joint_of():
    """Return the exact distribution of a model over all cells of its domain, from the rows that it was fitted to."""

    def joint(model, table, smoothing) -> np.ndarray:
        names = list(model.schema.names)
        rows = np.stack([table.code(name) for name in names], axis=1).tolist()
        smoothing = Fraction(smoothing)
        out = np.zeros(model.schema.sizes)
        families = [(names.index(c), [names.index(p) for p in model.network[c]]) for c in names]
        known: dict[tuple, Fraction] = {}
        for cell in product(*map(range, model.schema.sizes)):
            value = Fraction(1)
            for child, parents in families:
                key = (child, cell[child], *(cell[p] for p in parents))
                if key not in known:
                    known[key] = plain_back_off(rows, child, parents, smoothing, cell)
                value *= known[key]
            out[cell] = float(value)
        return out

    return joint


@pytest.fixture
def count_cells():
    """Return how often each cell of the domain occurs in a table."""

    def count(table) -> np.ndarray:
        out = np.zeros(table.schema.sizes, dtype=np.int64)
        np.add.at(out, tuple(table.code(name) for name in table.schema.names), 1)
        return out

    return count


@pytest.fixture
def assert_drawn_from():
    """Assert that counts come from a distribution: Pearson's chi-square, cells expected less than 5 times pooled."""

    def check(observed: np.ndarray, distribution: np.ndarray) -> None:
        observed, expected = observed.ravel(), distribution.ravel() * observed.sum()
        assert observed[expected == 0].sum() == 0, "an impossible combination was drawn"
        small = expected < 5
        ours = np.append(observed[~small], observed[small].sum())
        theirs = np.append(expected[~small], expected[small].sum())
        if theirs[-1] < 5:
            ours, theirs = ours[:-1], theirs[:-1]
            ours = np.append(ours, observed.sum() - ours.sum())
            theirs = np.append(theirs, max(expected.sum() - theirs.sum(), 1e-300))
            if theirs[-1] < 1e-6:
                ours, theirs = ours[:-1], theirs[:-1]
        assert len(ours) > 1
        statistic = ((ours - theirs) ** 2 / theirs).sum()
        assert stats.chi2.sf(statistic, len(ours) - 1) > ODDS

    return check


@cache
def every_network(d: int, most: int) -> tuple[list[list[tuple[int, ...]]], np.ndarray]:
    """Return all parent sets of each column, and one row of choices among them for each network without a cycle."""
    sets = [
        [
            c
            for width in range(most + 1)
            for c in combinations([p for p in range(d) if p != child], width)
        ]
        for child in range(d)
    ]
    masks = [np.array([sum(1 << p for p in parents) for parents in each]) for each in sets]
    choices = np.indices([len(each) for each in sets]).reshape(d, -1)
    placed = np.zeros(choices.shape[1], dtype=np.int64)
    for _ in range(d):
        for child in range(d):
            ready = masks[child][choices[child]] & ~placed == 0
            placed |= ready.astype(np.int64) << child
    return sets, choices[:, placed == (1 << d) - 1].T


@pytest.fixture
def all_networks():
    return every_network


SEARCHES = [
    ("ordering", "penalised"),
    ("ordering", "pairwise"),
    ("ordering", "joint"),
    ("local", "penalised"),
    ("local", "pairwise"),
    ("greedy", "joint"),
    ("greedy", "penalised"),
    ("listed", "joint"),
    ("genetic", "pairwise"),
]


@pytest.fixture(params=SEARCHES, ids="-".join)
def how(request, monkeypatch) -> dict[str, str]:
    """Every search with every score; "local" and "listed": ordering and greedy search as they work on many columns."""
    search, score = request.param
    if search == "local":
        monkeypatch.setattr(searches, "EXACT", 0)
        search = "ordering"
    if search == "listed":
        monkeypatch.setattr(searches, "MAX_MASKED_COLUMNS", 0)
        search = "greedy"
    return {"search": search, "score": score}
