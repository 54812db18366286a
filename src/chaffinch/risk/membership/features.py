"""What an attacker reads off a released table: a few numbers for each table, the same for every table.

A `BlackBox` is made once, for a schema, and used for shadows and released tables alike, so that features line up: the sample of subsets is
drawn when it is made and kept in it. (Drawn anew for the attacked table, as in Sedlmeyr's (2024) code for more than 16 columns, they would not.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import compress
from math import prod
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._base.errors import InputError, unknown_name
from ..._base.seeds import Seed
from ..shadows.generator import unknown_code

BlackBoxName = Literal["queries", "naive", "histogram", "closest"]
BLACK_BOXES = ("queries", "naive", "histogram", "closest")

MOST = 20_000
"""Subsets of columns that are counted where all are too many."""


@dataclass(frozen=True, eq=False)
class BlackBox:
    """How tables become features. Make one with `black_box`.

    `name`: "queries", "naive", "histogram" or "closest". `columns`: the names of the columns. `sizes`: the number of codes of each
    column. `ordered`: whether the order of a column's codes means something ("naive"). `subsets`: the sample of subsets ("queries" of
    more than 16 columns), or None: all of them.
    """

    name: BlackBoxName
    columns: tuple[str, ...]
    sizes: tuple[int, ...]
    ordered: tuple[bool, ...]
    subsets: NDArray[np.uint64] | None = field(default=None, repr=False)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What each feature is, in the order of `of`."""
        if self.name == "queries":
            from .matches import subset_columns, subset_sample

            subsets = (
                subset_sample(len(self.sizes), most=1 << 17)
                if self.subsets is None
                else self.subsets
            )
            memberships = subset_columns(subsets, len(self.sizes)).tolist()
            return tuple(
                f"rows that match: {', '.join(compress(self.columns, row))}" if any(row) else "rows"
                for row in memberships
            )
        if self.name == "naive":
            both = zip(self.columns, self.ordered, strict=True)
            return tuple(f"{c}: {what}" for c, o in both for what in _NAIVE[: 6 if o else 3])
        if self.name == "histogram":
            return tuple(
                f"{c}: code {i}"
                for c, size in zip(self.columns, self.sizes, strict=True)
                for i in range(size)
            )
        return ("closeness",)

    def of(
        self, tables: NDArray[Any], target: ArrayLike, *, threads: int | None = None
    ) -> NDArray[np.float32]:
        """Return (..., d) features of tables (..., rows, columns) of codes, as seen by an attacker who looks for the target (columns,).

        "naive" and "histogram" do not look at the target. Unknown codes (255 or 65535) neither match nor count as a level.
        """
        from . import matches

        if tables.ndim < 3 or tables.shape[-1] != len(self.sizes):
            raise InputError(
                f"Tables must be an array of tables, rows and columns, with {len(self.sizes)} columns."
            )
        flat = tables.reshape(
            prod(tables.shape[:-2]), *tables.shape[-2:]
        )  # not -1: tables may be without rows
        matches.checked_tables(flat)
        if max(self.sizes, default=0) > unknown_code(flat.dtype):
            raise InputError(
                f"Codes of type {flat.dtype} do not hold all levels and the unknown one. Use a wider type."
            )
        if self.name == "queries" and self.subsets is None:
            out = matches.match_counts(flat, target, dtype=np.float32, threads=threads)
        elif self.name == "queries":
            out = matches.sampled_counts(
                flat, target, cast(Any, self.subsets), dtype=np.float32, threads=threads
            )
        elif self.name == "closest":
            near = matches.closest_matches(flat, target, threads=threads)
            out = (near - np.int32(len(self.sizes)))[:, None].astype(np.float32)
        else:
            counts = matches.level_counts(flat, self.sizes, threads=threads)
            out = counts.astype(np.float32) if self.name == "histogram" else self._naive(counts)
        return out.reshape(*tables.shape[:-2], out.shape[-1])

    def _naive(self, counts: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return the naive features from the numbers of rows with each code."""
        out = []
        at = 0
        for size, ordered in zip(self.sizes, self.ordered, strict=True):
            out += _summary(counts[:, at : at + size], ordered=ordered)
            at += size
        return (
            np.stack(out, axis=1).astype(np.float32)
            if out
            else np.zeros((len(counts), 0), dtype=np.float32)
        )


_NAIVE = (
    "levels that occur",
    "share of the most frequent",
    "share of the least frequent",
    "mean",
    "median",
    "variance",
)


def _summary(counts: NDArray[np.int32], *, ordered: bool) -> list[NDArray[np.float64]]:
    """Return summaries of one column of each table, from its counts (T, size); 0 where nothing is known."""
    total = counts.sum(axis=1)
    some = np.maximum(total, 1)
    least = np.where(counts > 0, counts, np.iinfo(np.int32).max).min(
        axis=1, initial=np.iinfo(np.int32).max
    )
    out = [
        (counts > 0).sum(axis=1).astype(np.float64),
        counts.max(axis=1, initial=0) / some,
        np.where(total > 0, least, 0) / some,
    ]
    if not ordered:
        return out
    codes = np.arange(counts.shape[1], dtype=np.float64)
    mean = counts @ codes / some
    spread = (counts * (codes - mean[:, None]) ** 2).sum(axis=1) / some
    # The two middle rows, one and the same where their number is odd: each is where the running count passes its rank.
    running = counts.cumsum(axis=1)
    middle = [(running <= rank[:, None]).sum(axis=1) for rank in ((total - 1) // 2, total // 2)]
    return [*out, mean, np.where(total > 0, (middle[0] + middle[1]) / 2, 0.0), spread]


def black_box(
    name: BlackBoxName,
    sizes: Sequence[int],
    *,
    columns: Sequence[str] | None = None,
    ordered: Sequence[bool] | None = None,
    most: int = MOST,
    seed: Seed = None,
) -> BlackBox:
    """Return how tables with so many codes in each column become features of one kind.

    Parameters
    ----------
    name
        "queries": numbers of rows that match the target on all columns of a subset, for all 2^F subsets up to F = 16, for a sample of
        `most` subsets above (Sedlmeyr 2024, section 5.1; Achilles' Heels). Raw counts.
        "naive": for each column the number of levels that occur, the shares of rows with the most and the least frequent of them, and
        where its codes are ordered their mean, median and variance (Stadler et al., "Groundhog Day", 2022).
        "histogram": the number of rows with each code of each column.
        "closest": minus the Hamming distance of the closest row to the target, from -F to 0: the cheapest attacker.
    columns
        Names of the columns; numbered if there are none.
    ordered
        Whether the order of each column's codes means something; taken for all if not given. A level for missing values comes last
        in the order, which a mean takes at its word.
    seed
        For the sample of subsets. With the same seed it is the same sample.

    Examples
    --------
    >>> box = black_box("queries", [2, 3], columns=["sex", "area"])
    >>> box.names
    ('rows', 'rows that match: sex', 'rows that match: area', 'rows that match: sex, area')
    >>> box.of(np.array([[[0, 1], [0, 2], [1, 255]]], dtype=np.uint8), [0, 2]).tolist()
    [[3.0, 2.0, 1.0, 1.0]]
    """
    if name not in BLACK_BOXES:
        raise unknown_name("kind of feature", name, BLACK_BOXES)
    if not len(sizes) or min(sizes) < 0:
        raise InputError("Features need at least one column, and for each the number of its codes.")
    named = [f"column {j}" for j in range(len(sizes))] if columns is None else list(columns)
    in_order = [True] * len(sizes) if ordered is None else [bool(o) for o in ordered]
    if len(named) != len(sizes) or len(in_order) != len(sizes):
        raise InputError(
            f"columns and ordered need one entry for each of the {len(sizes)} columns."
        )
    from .matches import ALL_UP_TO, subset_sample

    sampled = name == "queries" and len(sizes) > ALL_UP_TO
    subsets = subset_sample(len(sizes), most=most, seed=seed) if sampled else None
    return BlackBox(name, tuple(named), tuple(int(s) for s in sizes), tuple(in_order), subsets)
