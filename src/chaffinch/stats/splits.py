"""Which records train and which test: random splits and subsamples that keep the shares of classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]
Labels = NDArray[Any]


def child(root: np.random.SeedSequence, *key: int) -> np.random.SeedSequence:
    """Return the stream of a seed that has a number, always the same one; `root` is left as it is."""
    return np.random.SeedSequence(root.entropy, spawn_key=(*root.spawn_key, *key))


def split(
    labels: Labels | None, n_rows: int, share: float, rng: np.random.Generator
) -> tuple[Rows, Rows]:
    """Return the rows that train and the rows that test, each in rising order.

    Each class is split by itself: the share of it tests, rounded, but at least one record of it tests and one trains. A
    class with a single record trains. Without labels (None) the share is of all rows.

    Examples
    --------
    >>> train, test = split(np.array([0] * 8 + [1] * 2 + [2]), 11, 0.25, np.random.default_rng(0))
    >>> [np.bincount(np.array([0] * 8 + [1] * 2 + [2])[rows], minlength=3).tolist() for rows in (train, test)]
    [[6, 1, 1], [2, 1, 0]]
    """
    classes = (
        np.zeros(n_rows, dtype=np.int64)
        if labels is None
        else np.unique(labels, return_inverse=True)[1]
    )
    sizes = np.bincount(classes)
    tests = np.clip(
        np.rint(sizes * share).astype(np.int64), np.minimum(1, sizes - 1), np.maximum(sizes - 1, 0)
    )
    chosen = _first_of_each(classes, sizes, tests, rng)
    return np.flatnonzero(~chosen), np.flatnonzero(chosen)


def subsample(
    labels: Labels | None, n_rows: int, most: int | None, rng: np.random.Generator
) -> Rows:
    """Return at most `most` rows (None: all), in rising order, each class with its share and at least one record.

    With more classes than `most`, or without labels (None), rows are drawn whatever their class.

    Examples
    --------
    >>> labels = np.array([0] * 90 + [1] * 9 + [2])
    >>> np.bincount(labels[subsample(labels, 100, 10, np.random.default_rng(0))]).tolist()
    [8, 1, 1]
    """
    if most is None or n_rows <= most:
        return np.arange(n_rows)
    classes = (
        np.zeros(n_rows, dtype=np.int64)
        if labels is None
        else np.unique(labels, return_inverse=True)[1]
    )
    sizes = np.bincount(classes)
    if len(sizes) > most:
        return np.sort(rng.choice(n_rows, most, replace=False))
    return np.flatnonzero(_first_of_each(classes, sizes, _quotas(sizes, most), rng))


def _quotas(sizes: Rows, total: int) -> Rows:
    """Return how many of each class: its share of the total, by largest remainders, and at least one."""
    exact = sizes * (total / int(sizes.sum()))
    quotas = np.maximum(np.floor(exact).astype(np.int64), 1)
    left = total - int(quotas.sum())
    if left > 0:
        quotas[np.argsort(quotas - exact, kind="stable")[:left]] += 1
    for _ in range(
        -left
    ):  # classes that were lifted to one take from those that have most above their share
        quotas[np.argmax(np.where(quotas > 1, quotas - exact, -np.inf))] -= 1
    return quotas


def _first_of_each(
    classes: Rows, sizes: Rows, quotas: Rows, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Return which rows are among the first so many of their class, in a random order."""
    order = rng.permutation(len(classes))
    order = order[np.argsort(classes[order], kind="stable")]
    rank = np.arange(len(classes)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    chosen = np.zeros(len(classes), dtype=bool)
    chosen[order] = rank < np.repeat(quotas, sizes)
    return chosen
