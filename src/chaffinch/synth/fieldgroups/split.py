"""How the budget is split: from declared sizes and a public number of rows alone, so that it can be shown before it is spent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...privacy.ledger import Plan
from ...privacy.opening import opening_of
from ...privacy.samplers import laplace_std
from ...table.schema import Schema
from ..settings import noise_step
from .groups import clear_of, resolved_groups, usable_pairs

if TYPE_CHECKING:
    from .settings import FieldGroups


_TELLING = 0.25
"""Learning is left out unless a distance of this share of the records would stand out from its noise."""


@dataclass(frozen=True)
class GroupSplit:
    """Amounts of epsilon: for single columns and for distances of `pairs` (0: nothing is learnt), and for the groups' tables."""

    columns: float
    distances: float
    tables: float
    pairs: tuple[tuple[int, int], ...] = ()

    @property
    def learnt(self) -> bool:
        """Whether groups are learnt."""
        return bool(self.pairs)


def split_of(settings: FieldGroups, sizes: Sequence[int], rows: int, amount: float) -> GroupSplit:
    """Return the split of an amount of epsilon.

    Learning takes its share, half of it for single columns and half for the distances of pairs that could be worth a table.
    Where there is no such pair, or noise would drown the distances, all goes to a table for each column.
    """
    whole = GroupSplit(0.0, 0.0, amount)
    if settings.groups is not None:
        return whole
    half = settings.learning * amount / 2
    l1 = settings.unit.l1
    pairs = usable_pairs(sizes, rows, amount - 2 * half, l1)
    clear = clear_of(len(pairs), l1 / 2 * len(pairs) / half)
    if not pairs or clear > _TELLING * rows:
        return whole
    return GroupSplit(half, half, amount - 2 * half, tuple(pairs))


def planned(settings: FieldGroups, schema: Schema) -> Plan:
    """Return the preview of a fit under a schema; raise if the settings do not fit it."""
    opening = opening_of(schema, settings.budget, settings.unit)
    groups = resolved_groups(settings.groups or (), opening.schema)
    if not opening.settled:
        return opening.plan_unsettled("tables of groups and what they are learnt from, all")
    split = split_of(settings, opening.schema.sizes, opening.schema.rows or 0, opening.left)
    if split.learnt:
        distances = f"distances of {len(split.pairs):,} pairs from independence"
        steps = [
            noise_step("tables of single columns, all", "groups", split.columns),
            noise_step(distances, "groups", split.distances),
            noise_step("tables of groups, all", "tables", split.tables),
        ]
    else:
        each = split.tables / len(groups)
        noise = f"standard deviation {laplace_std(settings.unit.l1 / each):.4g}"
        steps = [noise_step("table of a group", "tables", each, noise=noise, times=len(groups))]
    return opening.plan(steps)
