"""What `evolve` and `check` refuse before any work: datasets that no memory holds, and settings that would change nothing."""

from __future__ import annotations

import math

from .._base.errors import InputError
from .columns import Columns
from .equations import Problem, SumSystem

MOST_BYTES = 8 << 30
"""The most memory that one search may need, and that all datasets may take when they are made: 8 GiB each."""
MOST_COPIES = 100_000
"""The most datasets from one specification."""
CODE = 4
"""Bytes of a cell of a dataset."""
SEARCHED = 24
"""Bytes that a search needs for each cell: the code, the best so far, and two places in an order of alike records."""
SHARE_OF_POPULATION = 3
"""Datasets that `ea` holds at once, at most, for each of its candidates: itself, its child, and which of its records changed."""


def check_copies(copies: int) -> None:
    """Raise InputError unless the number of datasets is one that can be made."""
    if copies < 1:
        raise InputError(f"copies must be at least 1. Got {copies}.")
    if copies > MOST_COPIES:
        raise InputError(f"copies must be at most {MOST_COPIES:,}. Got {copies:,}.")


def check_size(rows: int, columns: int, *, copies: int = 1, population: int | None = None) -> None:
    """Raise InputError where a search, or all its datasets, would need over `MOST_BYTES`, with the most rows that are possible.

    `population` are the candidates of `ea`; None for the other engines.

    Examples
    --------
    >>> check_size(1_000_000, 20)
    >>> check_size(10**12, 2)
    Traceback (most recent call last):
    chaffinch._base.errors.InputError: A search with 1,000,000,000,000 rows is too large: rows x columns x 24 bytes must be at most 8 GiB. With 2 columns there can be at most 178,956,970 rows.
    """
    per_cell = SEARCHED if population is None else SHARE_OF_POPULATION * CODE * population
    rules = [
        (f"A search with {rows:,} rows is", f"rows x columns x {per_cell} bytes", per_cell),
        (
            f"{copies:,} datasets of {rows:,} rows are",
            f"copies x rows x columns x {CODE} bytes",
            CODE * copies,
        ),
    ]
    for what, rule, each in rules:
        if rows * columns * each > MOST_BYTES:
            most = MOST_BYTES // (columns * each)
            raise InputError(
                f"{what} too large: {rule} must be at most {MOST_BYTES >> 30} GiB. "
                f"With {columns} columns there can be at most {most:,} rows."
            )


def check_start(start: str, columns: Columns) -> None:
    """Raise InputError where a start from known margins is asked for, and no column has any."""
    if start != "uniform" and all(column.weights is None for column in columns):
        raise InputError(
            f"A start from {start} needs the margin of a column, and none is known: no output counts all records by one, and no column has weights. "
            "Add weights = [...] to the columns whose margins are known, or start uniform."
        )


def needs_tolerance(problem: Problem) -> bool:
    """Return whether some number is known in full, so that a tolerance says when it has arrived."""
    return any(
        isinstance(output, SumSystem) and bool((output.lo == output.hi).any())
        for output in problem.outputs
    )


def check_tolerance(tolerance: float | None, *problems: Problem) -> None:
    """Raise InputError where a tolerance is below 0, or given although every number of every problem is a count or has a printed precision."""
    if tolerance is None:
        return
    if not 0.0 <= tolerance < math.inf:
        raise InputError(f"tolerance must be at least 0. Got {tolerance}.")
    if not any(needs_tolerance(problem) for problem in problems):
        raise InputError(
            "The tolerance is for numbers without a printed precision, and here are none: each is a count, or has decimals of its own. Leave it out."
        )
