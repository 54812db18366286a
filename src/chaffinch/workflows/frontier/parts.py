"""People parted by person: those the search looks at, and those it never does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import InputError
from ..._base.text import detectable_words
from ...table.table import Table

LEAST = 50
"""People whom each table of a search must be made of at least, and be held against."""

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class PeopleFold:
    """Rows of the people a table is made of, and of people it is not made of: of the same table, or of the holdout."""

    members: Rows
    others: Rows


@dataclass(frozen=True)
class PeoplePart:
    """A part of the people, its folds, and how many people there are in it."""

    name: str
    folds: tuple[PeopleFold, ...]
    people: int


def split_people(
    table: Table, rows: Rows, share: float, rng: np.random.Generator
) -> tuple[Rows, Rows]:
    """Return the rows of two groups of the people in some rows: a share of them, and the rest; all rows of a person are in one."""
    if table.person_of is None:
        mixed = rng.permutation(rows)
        cut = round(share * len(mixed))
        return np.sort(mixed[:cut]), np.sort(mixed[cut:])
    persons = table.person_of[rows]
    names = rng.permutation(np.unique(persons))
    first = np.isin(persons, names[: round(share * len(names))])
    return rows[first], rows[~first]


def parted(
    table: Table, holdout: Table | None, share: float, rng: np.random.Generator
) -> tuple[PeoplePart, PeoplePart]:
    """Return the part of the search and the part that confirms, which has a share of the people.

    Without a holdout each part has two folds: each half of its people once a table is made of, once not. With one, its people are parted too.

    Raises
    ------
    InputError
        If there are too few people.
    """
    every = np.arange(table.n_rows, dtype=np.int64)
    confirm, search = split_people(table, every, share, rng)
    parts = []
    if holdout is None:
        for name, rows in (("search", search), ("confirmation", confirm)):
            first, second = split_people(table, rows, 0.5, rng)
            parts.append(
                PeoplePart(
                    name,
                    (PeopleFold(first, second), PeopleFold(second, first)),
                    _persons(table, rows),
                )
            )
        smallest = min(min(_persons(table, fold.members) for fold in part.folds) for part in parts)
        if smallest < LEAST:
            raise InputError(
                f"Too few people to part: a search and a confirmation with two halves each need {LEAST} people in every half, at least {4 * LEAST} in all. "
                "Give a holdout (people who are not in the data), or more people."
            )
        return parts[0], parts[1]
    others = np.arange(holdout.n_rows, dtype=np.int64)
    for_confirm, for_search = split_people(holdout, others, share, rng)
    for name, rows, fresh in (
        ("search", search, for_search),
        ("confirmation", confirm, for_confirm),
    ):
        if _persons(table, rows) < LEAST or _persons(holdout, fresh) < LEAST:
            raise InputError(
                f"Too few people to part: a search and a confirmation need {LEAST} people each, of the data and of the holdout."
            )
        parts.append(PeoplePart(name, (PeopleFold(rows, fresh),), _persons(table, rows)))
    return parts[0], parts[1]


def rows_of(parts: Sequence[PeoplePart]) -> list[set[int]]:
    """Return the rows of the data that each part looks at: no row is in two."""
    return [set(np.concatenate([fold.members for fold in part.folds]).tolist()) for part in parts]


def cost_of_parting(
    part: PeoplePart, whole: int, detectable: tuple[float, float] | None, *, holdout: bool
) -> tuple[str, ...]:
    """Return sentences on what parting people costs: in what can be seen, and in what the figures are of."""
    made_of = part.people if holdout else part.people // 2
    out = [
        f"Figures of the search are of tables made of {made_of:,} people, where the release is made of {whole:,}. A smaller table is worth less; it may give more "
        "away about each of its people, or less, since a larger one has more rare combinations. So the release is attacked again itself, before it is written."
    ]
    if detectable is not None:
        low, high = detectable
        gain = sqrt(part.people / whole)
        out.append(
            f"Parting costs precision: on the people of the search the attacks see an excess of {detectable_words(low)} to {detectable_words(high)}, the most and the least precise; on "
            f"all people that would be {detectable_words(low * gain)} to {detectable_words(high * gain)}. An excess below that may be there unseen."
        )
    return tuple(out)


def _persons(table: Table, rows: Rows) -> int:
    return len(rows) if table.person_of is None else len(np.unique(table.person_of[rows]))
