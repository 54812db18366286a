"""Who is worth attacking: records ranked by how far they are from others, by how extreme their numbers are, and by how rare their values.

No one ranking finds all whom a release shows: distances of codes do not see that a number is the largest, nor that a pooled level is unique.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import InputError, unknown_name
from ...table.table import Table
from ..shadows.generator import value_reader
from ..shadows.values import PlainValues
from .vulnerability import most_vulnerable, vulnerability

Ranking = Literal["union", "hamming", "cosine", "extremes", "rarity"]
Floats = NDArray[np.float64]


def extremeness(numbers: Floats) -> Floats:
    """Return how extreme the most extreme number of each record is; larger is more extreme. `numbers`: (columns, records), NaN missing.

    Less the number of records that are as far out in a column or farther, on the record's side (1 for the largest and for the smallest), plus,
    below 1, how far out that is in quartile ranges from the median: of several records that are each the largest of a column the one that is
    farthest from all others comes first.

    Examples
    --------
    >>> extremeness(np.array([[1.0, 2.0, 3.0, 4.0, 100.0]])).round(2).tolist()
    [-0.5, -1.67, -3.0, -1.67, -0.02]
    """
    n_records = numbers.shape[1]
    out = np.full(n_records, -float(n_records))
    for column in numbers:
        present = ~np.isnan(column)
        x = column[present]
        if not len(x):
            continue
        ordered = np.sort(x)
        at_least = len(x) - np.searchsorted(ordered, x, side="left")
        at_most = np.searchsorted(ordered, x, side="right")
        low, middle, high = np.quantile(x, [0.25, 0.5, 0.75])
        unit = high - low if high > low else (float(np.std(x)) or 1.0)
        apart = np.abs(x / unit - middle / unit)
        out[present] = np.maximum(
            out[present], -np.minimum(at_least, at_most) + apart / (1 + apart)
        )
    return out


def rarity(values: PlainValues) -> Floats:
    """Return how rare the single values of each record are; larger is rarer.

    For each column in which nobody else has the record's value, the share of records that do share theirs in that column: a unique level among common
    ones counts 1, a unique number among numbers that are all different nothing. Ties by the mean of -log of the share that has the value.
    """
    codes = values.codes
    out = np.zeros(len(codes))
    for column in codes.T:
        counts = np.bincount(column)[column]
        out += (counts == 1) * (counts > 1).mean()
        out += 1e-3 / codes.shape[1] * -np.log(counts / len(codes))
    return out


RANKINGS: dict[str, Callable[[Table, PlainValues, int | None], Floats]] = {
    "hamming": lambda table, values, threads: vulnerability(
        table, distance="hamming", threads=threads
    ),
    "cosine": lambda table, values, threads: vulnerability(
        table, distance="cosine", threads=threads
    ),
    "extremes": lambda table, values, threads: extremeness(values.numbers),
    "rarity": lambda table, values, threads: rarity(values),
}
"""Scores of records by the name of a ranking, the most vulnerable the largest."""


def round_robin(orders: Sequence[NDArray[np.int64]], k: int) -> tuple[NDArray[np.int64], list[int]]:
    """Return the first k of several orders, one of each in turn, nobody twice, and how many came from each.

    Examples
    --------
    >>> chosen, shares = round_robin([np.array([4, 2, 1]), np.array([4, 3, 0])], 3)
    >>> chosen.tolist(), shares
    ([4, 3, 2], [2, 1])
    """
    chosen: list[int] = []
    taken: set[int] = set()
    shares = [0] * len(orders)
    places = [0] * len(orders)
    while len(chosen) < k and any(
        place < len(order) for place, order in zip(places, orders, strict=True)
    ):
        for i, order in enumerate(orders):
            while places[i] < len(order) and int(order[places[i]]) in taken:
                places[i] += 1
            if places[i] < len(order) and len(chosen) < k:
                taken.add(int(order[places[i]]))
                chosen.append(int(order[places[i]]))
                shares[i] += 1
    return np.array(chosen, dtype=np.int64), shares


def targets_by(
    ranking: Ranking, table: Table, own: NDArray[np.bool_], k: int, *, threads: int | None = None
) -> tuple[NDArray[np.int64], dict[str, int]]:
    """Return the k most vulnerable of a table's `own` records by a ranking, or by all in turn, and how many came from which."""
    if ranking not in ("union", *RANKINGS):
        raise unknown_name("ranking", ranking, ("union", *RANKINGS))
    if k > own.sum():
        raise InputError(
            f"There must be 1 to {int(own.sum()):,} targets, one record each. Got {k:,}."
        )
    names = list(RANKINGS) if ranking == "union" else [ranking]
    values = value_reader(table).read(table)
    orders = []
    for name in names:
        if name == "extremes" and not len(values.numbers) and ranking == "union":
            orders.append(
                np.empty(0, dtype=np.int64)
            )  # nothing to be extreme in: all would be ties
            continue
        scores = np.where(own, RANKINGS[name](table, values, threads), -np.inf)
        orders.append(most_vulnerable(scores, k))
    chosen, shares = round_robin(orders, k)
    return chosen, {name: share for name, share in zip(names, shares, strict=True) if share}
