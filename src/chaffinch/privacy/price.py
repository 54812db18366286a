"""What discovery will cost, said before it is paid: its share of the budget, and how many records a level needs to be found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from .._base.errors import listed
from .discover import Discovery, noise_law, threshold
from .opening import Opening


@dataclass(frozen=True)
class ColumnPrice:
    """What discovering one column takes: which things, what share of the budget, and for levels the records that each needs.

    `records` is the count at which a level is found more often than not; None for bounds and quantiles.
    """

    column: str
    what: tuple[str, ...]
    share: float
    records: int | None = None


@dataclass(frozen=True)
class DiscoveryPrice:
    """What all discoveries of a fit take together. Public: it depends on declarations and the promise alone."""

    share: float
    columns: tuple[ColumnPrice, ...]
    delta: float = 0.0

    @property
    def sentences(self) -> tuple[str, ...]:
        """The price in words: the share of the budget, then what a level needs."""
        names = f"{len(self.columns):,} column{'s' * (len(self.columns) != 1)}"
        delta = f" and a delta of {self.delta:g}" if self.delta else ""
        out = [
            f"Discovery takes {self.share:.1%} of the budget{delta}, for {names}: {listed(c.column for c in self.columns)}."
        ]
        groups: dict[int, list[str]] = {}
        for column in self.columns:
            if column.records is not None:
                groups.setdefault(column.records, []).append(column.column)
        for records, columns in sorted(groups.items()):
            out.append(
                f"A level of {listed(columns)} is found if about {records:,} records or more have it; rarer ones go to (other). "
                "Declared levels cost nothing, however rare."
            )
        return tuple(out)

    def to_dict(self) -> dict[str, Any]:
        """Return the price as plain data."""
        return {
            "share": self.share,
            "delta": self.delta,
            "columns": [asdict(column) for column in self.columns],
        }


def discovery_price(opening: Opening) -> DiscoveryPrice | None:
    """Return what the discoveries of an opening take; None where all is declared."""
    if not opening.discoveries and not opening.kinds:
        return None
    budget = opening.budget
    kinds = dict(zip(opening.unknown, opening.kinds, strict=True))
    columns = []
    for discovery in opening.discoveries:
        name = discovery.column.name
        charges = [*([kinds[name]] if name in kinds else []), *discovery.charges]
        cost = sum(charge.cost(budget.kind) for charge in charges)
        columns.append(
            ColumnPrice(
                name,
                _things(discovery, name in kinds),
                cost / budget.total,
                records_needed(opening, discovery),
            )
        )
    share, delta = budget.amounts(
        [*opening.kinds, *(c for d in opening.discoveries for c in d.charges)]
    )
    return DiscoveryPrice(share / budget.total, tuple(columns), delta)


def records_needed(opening: Opening, discovery: Discovery) -> int | None:
    """Return how many records a level needs: the public threshold of its noisy count. None where no levels are discovered."""
    paid = discovery.levels
    if paid is None:
        return None
    return threshold(opening.unit, noise_law(opening.budget, opening.unit, paid), delta=paid.delta)


def _things(discovery: Discovery, kind: bool) -> tuple[str, ...]:
    named: Sequence[tuple[str, object]] = (
        ("kind", kind),
        ("levels", discovery.levels),
        ("bounds", discovery.bounds),
        ("quantiles", discovery.quantiles),
    )
    return tuple(name for name, charge in named if charge)
