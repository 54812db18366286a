"""The two private steps of PrivBayes: choosing who depends on whom, and measuring the tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...privacy.counter import NoisyTable, PrivateCounter
from .candidates import exact_candidates, maximal_candidates
from .split import FamilySplit

if TYPE_CHECKING:
    from .settings import PrivBayes


Columns = tuple[int, ...]


@dataclass(frozen=True)
class Structure:
    """Columns in the order in which they were placed, each with its parents."""

    order: Columns
    parents: tuple[Columns, ...]


def learn(
    counter: PrivateCounter,
    settings: PrivBayes,
    split: FamilySplit,
    rows: int,
    rng: np.random.Generator,
) -> Structure:
    """Return a structure chosen family by family (PrivBayes, algorithms 2 and 4).

    The first column is drawn blindly. A round in which no family has a parent is decided blindly too: there is nothing to choose, so
    nothing is spent.
    """
    sizes = counter.schema.sizes
    left = list(range(len(sizes)))
    if not split.linked:
        return Structure(tuple(left), ((),) * len(left))
    placed = [left.pop(int(rng.integers(len(left))))]
    parents: list[Columns] = [()]
    while left:
        if split.parents is not None:
            families = exact_candidates(
                placed, left, split.parents, most=settings.most_candidates, rng=rng
            )
        else:
            families = maximal_candidates(
                placed, left, sizes, split.cells, most=settings.most_candidates, rng=rng
            )
        if len(families) == 1 or not any(chosen for _, chosen in families):
            best = int(rng.integers(len(families)))
        else:
            best = counter.select(
                families,
                split.score,
                split.each_selection,
                rows=rows,
                why="structure",
                mechanism=settings.mechanism,
            )
        child, chosen = families[best]
        placed.append(child)
        parents.append(chosen)
        left.remove(child)
    return Structure(tuple(placed), tuple(parents))


def measure(counter: PrivateCounter, structure: Structure, split: FamilySplit) -> list[NoisyTable]:
    """Return the noisy table of each family; the first columns share one where their parents are all that stand before them.

    What choices did not need is spent here: all tables get the same.
    """
    names = counter.schema.names
    joint = tuple(names[i] for i in structure.order[: split.joint_columns])
    cliques = [joint] + [
        (*(names[p] for p in chosen), names[child])
        for child, chosen in list(zip(structure.order, structure.parents, strict=True))[
            split.joint_columns :
        ]
    ]
    each = counter.ledger.left / len(cliques)
    return counter.tables(cliques, [each] * len(cliques), why="tables")
