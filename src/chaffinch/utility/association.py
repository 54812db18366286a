"""How pairs of columns hang together in two tables: two matrices, and how far they are apart.

Both tables stand on one grid. A level or bin that either table uses is a row of both tables' counts, empty in the one that lost
it, so that a synthetic table cannot look better or worse by changing the shape; one that neither uses does not count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from .._base.arrays import Floats
from .._base.errors import InputError
from .._base.results import from_plain, to_plain
from ..stats.intervals import Result, jackknife
from ..stats.pair import TablePair
from ..table.groups import GROUPS
from .metric import Distance

Rows = tuple[tuple[float | None, ...], ...]

WORST = 20
"""Pairs that a result lists by name."""

_INTERVAL = (
    f"delete-a-group jackknife: one of {GROUPS} random groups of records left out of both tables in turn; covers the "
    "sampling of records, not the synthesis"
)
_NO_INTERVAL = f"none: not asked for, or a table has fewer than {GROUPS} records"


@dataclass(frozen=True)
class PairDifference:
    """How two columns hang together in both tables; `difference` is synthetic less original."""

    columns: tuple[str, str]
    original: float | None = None
    synthetic: float | None = None
    difference: float | None = None


@dataclass(frozen=True, kw_only=True)
class _AssociationData(Result):
    """An association as plain data hold it."""

    name: ClassVar[str] = "association"
    columns: tuple[str, ...] = ()
    original: Rows = ()
    synthetic: Rows = ()
    worst: tuple[PairDifference, ...] = ()


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Association(Distance):
    """Two symmetric matrices of how pairs of columns hang together, and the mean absolute difference over pairs.

    The matrices are read-only, in the order of `names`, with NaN where not defined (constant columns). `differences` are synthetic less
    original for each pair that has a value in both, in the order of the upper triangle; `without` the same with each group of records
    left out in turn, one a row: what intervals are made of. `worst` are the pairs that differ most.
    """

    max_value: ClassVar[float]
    """The largest that the value can be."""

    names: tuple[str, ...] = ()
    original: Floats = field(default_factory=lambda: np.empty((0, 0)))
    synthetic: Floats = field(default_factory=lambda: np.empty((0, 0)))
    differences: Floats = field(default_factory=lambda: np.empty(0))
    without: Floats = field(default_factory=lambda: np.empty((0, 0)))
    worst: tuple[PairDifference, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        for array in (self.original, self.synthetic, self.differences, self.without):
            array.flags.writeable = False

    def details(self) -> dict[str, Any]:
        """Return the columns, both matrices (None where not defined) and the worst pairs."""
        return {
            "columns": list(self.names),
            "original": [[_plain(value) for value in row] for row in self.original],
            "synthetic": [[_plain(value) for value in row] for row in self.synthetic],
            "worst": to_plain(self.worst),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the result that plain data hold; without the groups of records, which are not written."""
        plain = from_plain(_AssociationData, cls._fields_of(data), what=f"'{cls.name}'")
        size = len(plain.columns)
        matrices = []
        for side in (plain.original, plain.synthetic):
            if len(side) != size or any(len(row) != size for row in side):
                raise InputError(
                    f"The data of '{cls.name}' are not as they should be: its matrices need {size} rows and columns."
                )
            matrices.append(
                np.array(side, dtype=np.float64).reshape(size, size)
            )  # None becomes NaN
        apart = (matrices[1] - matrices[0])[np.triu_indices(size, 1)]
        return cls(
            value=plain.value,
            interval=plain.interval,
            reason=plain.reason,
            settings=plain.settings,
            names=plain.columns,
            original=matrices[0],
            synthetic=matrices[1],
            differences=apart[np.isfinite(apart)],
            worst=plain.worst,
        )


A = TypeVar("A", bound=Association)


def association_result(
    kind: type[A],
    pair: TablePair,
    matrices: Sequence[Floats],
    apart: Floats,
    settings: Mapping[str, Any],
) -> A:
    """Return the result of two matrices and of the differences by pair: of all records, then without each group."""
    defined = np.isfinite(apart[0])
    if not defined.any():
        return kind(
            value=None, reason="no two columns have values in the same record", settings=settings
        )
    differences = apart[0, defined]
    without = np.where(np.isfinite(apart[1:, defined]), apart[1:, defined], differences)
    value = float(np.abs(differences).mean())
    interval = None
    if len(without):
        interval = jackknife(value, np.abs(without).mean(axis=1), low=0.0, high=kind.max_value)
    first, second = matrices
    return kind(
        value=value,
        interval=interval,
        settings={
            **settings,
            "pairs": int(defined.sum()),
            "interval": _INTERVAL if len(without) else _NO_INTERVAL,
        },
        names=pair.names,
        original=first,
        synthetic=second,
        differences=differences,
        without=without,
        worst=_worst(pair.names, first, second),
    )


def _worst(names: Sequence[str], original: Floats, synthetic: Floats) -> tuple[PairDifference, ...]:
    """Return the pairs that differ most, by name."""
    apart = synthetic - original
    upper = [(i, j) for i, j in combinations(range(len(names)), 2) if np.isfinite(apart[i, j])]
    upper.sort(key=lambda pair: -abs(apart[pair]))
    return tuple(
        PairDifference(
            (names[i], names[j]), *(_plain(matrix[i, j]) for matrix in (original, synthetic, apart))
        )
        for i, j in upper[:WORST]
    )


def too_few(usable: Sequence[str], what: str) -> str:
    """Return why there is nothing to compare."""
    return f"it needs at least two columns that have {what}, and {len(usable) or 'none'} has"


def _plain(value: float) -> float | None:
    """Return a number for JSON: six decimals, None for NaN."""
    return round(float(value), 6) + 0.0 if np.isfinite(value) else None  # + 0.0: no minus zero
