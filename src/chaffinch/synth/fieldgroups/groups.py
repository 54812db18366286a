"""Which columns share a table: as given, or learnt from noisy distances. Reads settings and released numbers only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import log, prod

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import InputError, TooLargeError, listed, unknown_name
from ...privacy.counter import MOST_CELLS
from ...table.schema import Schema
from ..bayesnet.private.estimate import product_of

Group = tuple[str, ...]
Margin = NDArray[np.float64]

MOST_LEARNT_CELLS = 1 << 18
"""Cells beyond which columns are not grouped by learning; given groups may have `MOST_CELLS`."""


MOST_LOST = 0.5
"""The share of records that a learnt group may be expected to lose."""


def parse_groups(text: str) -> tuple[Group, ...]:
    """Return groups written in one line: columns between commas, groups between semicolons.

    Examples
    --------
    >>> parse_groups("age, sex; job, pay")
    (('age', 'sex'), ('job', 'pay'))
    """
    split = (
        tuple(word.strip() for word in part.split(",") if word.strip()) for part in text.split(";")
    )
    return tuple(group for group in split if group)


def check_groups(groups: Iterable[Iterable[str]]) -> tuple[Group, ...]:
    """Return groups as tuples of names; raise unless no column is in two of them and none is empty."""
    groups = (groups,) if isinstance(groups, str) else tuple(groups)
    if any(isinstance(group, str) for group in groups):
        raise InputError(
            "groups is a list of lists of columns, such as (('age', 'sex'), ('job', 'pay')). Got text."
        )
    tuples = tuple(tuple(group) for group in groups)
    if not all(tuples):
        raise InputError("A group needs at least one column. Leave empty groups out.")
    seen: set[str] = set()
    for name in (name for group in tuples for name in group):
        if not isinstance(name, str):
            raise InputError("groups is a list of lists of names of columns.")
        if name in seen:
            raise InputError(
                f"Column '{name}' is in groups twice. Groups may not overlap: name it once."
            )
        seen.add(name)
    return tuples


def resolved_groups(groups: Sequence[Sequence[str]], schema: Schema) -> tuple[Group, ...]:
    """Return the groups in the order given, then each column that is in none as a group of its own.

    Raises TooLargeError, before anything is spent, for a group with more cells than noise can be put in. A column that is still to be
    discovered has one level at least.
    """
    sizes = {column.name: column.size if column.codec else 1 for column in schema.modelled}
    named = {name for group in groups for name in group}
    for name in named:
        if name not in sizes:
            raise unknown_name("column", name, schema.names)
    every: tuple[Group, ...] = (
        *map(tuple, groups),
        *((name,) for name in schema.names if name not in named),
    )
    for group in every:
        cells = prod(sizes[name] for name in group)
        if cells > MOST_CELLS:
            raise TooLargeError(
                f"The group {listed(group)} has {cells:,} cells, over the limit of {MOST_CELLS:,}: noise goes into every "
                "one. Take a column out of the group, or declare fewer bins."
            )
    return every


def threshold_of(cells: int, scale: float, factor: float) -> float:
    """Return the count below which a cell is set to 0: factor * scale * log10(cells), the published rule with factor 1.9.

    Laplace noise exceeds it with a chance of c^(-0.825) / 2 at factor 1.9, so of c empty cells c^0.175 / 2 are expected to: the
    threshold keeps most noise out, not all.

    Examples
    --------
    >>> threshold_of(1000, 10.0, 1.9)
    57.0
    """
    return factor * scale * float(np.log10(max(cells, 1)))


def usable_pairs(sizes: Sequence[int], rows: int, epsilon: float, l1: int) -> list[tuple[int, int]]:
    """Return the pairs whose table could be worth its noise: on average a count of at least the scale of the noise.

    From public numbers alone, and generous: as if half as many groups as columns were left.
    """
    scale = l1 * max(len(sizes) // 2, 1) / epsilon
    most = min(rows / scale, MOST_LEARNT_CELLS)
    return [(i, j) for i, j in combinations(range(len(sizes)), 2) if sizes[i] * sizes[j] <= most]


def chance_distance(model: Margin, stds: tuple[float, float]) -> float:
    """Return about how far a pair of independent columns is from the product of its noisy columns, in records.

    Counts of independent columns scatter around the product with a variance of about the count; the noise of the columns, of
    standard deviations `stds`, moves the product. Half the L1 distance is then 0.4 times the sum of deviations.

    Examples
    --------
    >>> chance_distance(np.full((2, 2), 100.0), (0.0, 0.0))
    16.0
    """
    total = max(float(model.sum()), 1e-300)
    rows, columns = (
        model.sum(axis=1, keepdims=True) / total,
        model.sum(axis=0, keepdims=True) / total,
    )
    variance = model + (stds[0] * columns) ** 2 + (stds[1] * rows) ** 2
    return 0.4 * float(np.sqrt(variance).sum())


@dataclass(frozen=True)
class _Costs:
    """What the table of a group would lose to noise and to the threshold, in records."""

    margins: Sequence[Margin]
    total: float
    epsilon: float
    l1: int
    factor: float

    def of(self, group: Sequence[int], n_groups: int) -> float:
        """Return the expected error of a table, if its columns were independent.

        Cells below the threshold are lost with what they hold; the others are wrong by half the mean of |noise|, which is
        the scale. Columns that hang together fill fewer cells, so this is more than the true error.
        """
        model = product_of(tuple(group), self.margins, self.total)
        scale = self.l1 * n_groups / self.epsilon
        above = model >= max(threshold_of(model.size, scale, self.factor), scale)
        return float(model[~above].sum()) + 0.5 * scale * int(above.sum())


def merged_groups(
    pairs: Sequence[tuple[int, int]],
    distances: NDArray[np.float64],
    clear: float,
    margins: Sequence[Margin],
    *,
    epsilon: float,
    l1: int,
    factor: float,
) -> list[list[int]]:
    """Return columns in groups: the closest pairs first, joined wherever that wins more than it costs.

    Two groups are at least as far from independence as any pair across them (summing out columns lowers the distance), so the
    pair's noisy distance is what a joint table wins; it must also exceed `clear`, which noise alone seldom does. It costs what
    the larger table loses beyond the two smaller ones, and that may be no more than half of all records. Fewer groups have less
    noise each, so passes go on while some join.
    """
    total = float(margins[0].sum()) if margins else 0.0
    group_of = {c: [c] for c in range(len(margins))}
    costs = _Costs(margins, total, epsilon, l1, factor)
    order = sorted(
        (i for i in range(len(pairs)) if distances[i] > clear), key=lambda i: (-distances[i], i)
    )
    joined = total > 0
    while joined:
        joined = False
        for i in order:
            first, second = (group_of[c] for c in pairs[i])
            if (
                first is second
                or prod(margins[c].size for c in (*first, *second)) > MOST_LEARNT_CELLS
            ):
                continue
            n_groups = len({id(group) for group in group_of.values()})
            apart = costs.of(first, n_groups) + costs.of(second, n_groups)
            together = costs.of([*first, *second], n_groups - 1)
            if together <= MOST_LOST * total and distances[i] > together - apart:
                first += second
                group_of.update(dict.fromkeys(second, first))
                joined = True
    unique = {id(group): sorted(group) for group in group_of.values()}
    return sorted(unique.values())


def clear_of(many: int, scale: float) -> float:
    """Return a distance that the largest of many Laplace draws exceeds in about every other case: scale * log(many)."""
    return scale * log(max(many, 3))
