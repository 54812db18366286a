"""How the budget is split: from declared sizes and a public number of rows alone, so that it can be shown before it is spent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from ..._base.errors import InputError, TooLargeError
from ...privacy.budget import Charge
from ...privacy.counter import MOST_CELLS
from ...privacy.ledger import Plan, Step
from ...privacy.opening import opening_of
from ...privacy.samplers import laplace_std
from ...table.schema import Schema
from ..settings import noise_step
from .candidates import degree, useful_cells

if TYPE_CHECKING:
    from .settings import PrivBayes


@dataclass(frozen=True)
class FamilySplit:
    """What each step gets: the choice of a structure and the tables of its families."""

    score: str
    linked: bool  # any column could have a parent
    parents: int | None  # if their number is fixed; None: as many as stay useful
    cells: float  # the most of a useful table
    selections: int  # families that are chosen privately; none if no column could have a parent
    each_selection: float
    joint_columns: int  # how many of the first columns share one table
    n_tables: int
    structure: float  # what the steps cost in all
    tables: float


def split_of(settings: PrivBayes, schema: Schema, amount: float, rows: int) -> FamilySplit:
    """Return the split of an amount of epsilon.

    Columns of two declared levels throughout have the published degree-k form, others theta-usefulness. Where no column could
    have a parent, the choice of a structure is worth nothing and all goes to the tables.
    """
    sizes = schema.sizes
    d = len(sizes)
    binary = all(size == 2 for size in sizes)
    score = settings.score or ("F" if binary and settings.parents is None else "R")
    named = dict(zip(schema.names, sizes, strict=True))
    _check_score(score, named)
    beta, l1 = settings.beta or 0.0, settings.unit.l1
    for_tables = (1 - beta) * amount
    parents = settings.parents
    if parents is None and binary and settings.joint_start:
        parents = degree(rows, for_tables, d, l1=l1, theta=settings.theta)
    cells = useful_cells(rows, for_tables, tables=d, l1=l1, theta=settings.theta)
    smallest = sorted(sizes)[:2]
    linked = d > 1 and (parents > 0 if parents is not None else smallest[0] * smallest[1] <= cells)
    together = (
        min(parents, d - 1) + 1 if linked and parents is not None and settings.joint_start else 1
    )
    if linked and parents is not None:
        _check_widest(named, parents)
    # The last column has a single family to choose where all before it are its parents: nothing is spent on that.
    rounds = d - 1 - (d == 2 or (parents is not None and d - 1 <= parents)) if linked else 0
    structure = beta * amount if rounds else 0.0
    return FamilySplit(
        score=score,
        linked=linked,
        parents=parents if linked else 0,
        cells=cells,
        selections=rounds,
        each_selection=structure / rounds if rounds else 0.0,
        joint_columns=together,
        n_tables=d - together + 1,
        structure=structure,
        tables=amount - structure,
    )


def _check_score(score: str | None, sizes: Mapping[str, int]) -> None:
    """Raise, before anything is spent, if columns of these sizes cannot have the score."""
    wide = [name for name, size in sizes.items() if size != 2]
    if score == "F" and wide:
        raise InputError(
            f"Score F is for columns of two declared levels. '{wide[0]}' has {sizes[wide[0]]}. Use R or I."
        )


def _check_widest(sizes: Mapping[str, int], parents: int) -> None:
    """Raise, before anything is spent, if the choice of a fixed number of parents could need a table that is too large."""
    widest = sorted(((size, name) for name, size in sizes.items()), reverse=True)[: parents + 1]
    if prod(size for size, _ in widest) > MOST_CELLS:
        raise TooLargeError(
            f"With {parents} parents a table of {', '.join(name for _, name in widest)} could be needed, which has too many cells to put "
            "noise in each. Use fewer parents, or fewer levels or bins."
        )


def planned(settings: PrivBayes, schema: Schema) -> Plan:
    """Return the preview of a fit under a schema; raise if the settings do not fit it."""
    opening = opening_of(schema, settings.budget, settings.unit)
    if not opening.settled:
        known = {column.name: column.size for column in opening.schema.modelled if column.codec}
        _check_score(settings.score, known)
        if settings.parents:
            _check_widest(known, settings.parents)
        return opening.plan_unsettled("choices of families, tables of families, all")
    split = split_of(settings, opening.schema, opening.left, opening.schema.rows or 0)
    steps = []
    if split.selections:
        cost, law = split.each_selection, settings.mechanism
        choice = Charge(
            "choice of a family",
            "structure",
            epsilon=cost,
            mechanism=law,
            noise=f"score {split.score}",
        )
        steps.append(Step(choice, split.selections))
    each = split.tables / split.n_tables
    noise = f"standard deviation {laplace_std(settings.unit.l1 / each):.4g}"
    return opening.plan(
        [*steps, noise_step("table of a family", "tables", each, noise=noise, times=split.n_tables)]
    )
