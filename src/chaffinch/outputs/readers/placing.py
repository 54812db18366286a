"""From a parsed output to recipes over the columns of the data: which columns, filter and records it is of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ..._base.errors import InputError

Placed = TypeVar("Placed")


@dataclass(frozen=True)
class Placement:
    """A recipe over the columns of data, with the numbers that were published: what a reader should know of it, and of how many records it is where that shows.

    `uncertain`: why its entry has no numbers, so that only the rules can be asked of it.
    """

    entry: Mapping[str, Any] = field(repr=False)
    notes: tuple[str, ...] = ()
    n: int | None = None
    uncertain: str = ""


def place_candidates(
    candidates: Iterator[list[dict[str, Any]]], compiled: Callable[[list[dict[str, Any]]], Placed]
) -> Placed:
    """Return the first of some ways to say an output that the columns of data allow, each compiled once; InputError, that of the first, where none does."""
    faults: list[InputError] = []
    try:
        for entries in candidates:
            try:
                return compiled(entries)
            except InputError as error:
                faults.append(error)
    except InputError as error:
        faults.append(error)
    raise faults[0]
