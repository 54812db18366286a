"""What is promised of privacy: settings that methods, commands and functions share. Nothing heavy is imported here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from .._base.errors import InputError
from .._base.options import PRIVACY, Declared, Option
from .relation import Neighbours

EPSILON = Option(
    "Budget of differential privacy; needs a schema that declares the domain. Default: no guarantee.",
    basic=True,
    panel=PRIVACY,
    gt=0,
)
NEIGHBOURS = Option(
    "What one person changes: add-remove or replace-one. Default: the method's own.", panel=PRIVACY
)
Delta = Annotated[
    float | None, Option("Probability that the guarantee may fail with.", panel=PRIVACY, gt=0, lt=1)
]
RowsPerPerson = Annotated[
    int, Option("The most rows kept of one person.", panel=PRIVACY, unit="rows", ge=1)
]


@dataclass(frozen=True, kw_only=True)
class PrivacyBudget(Declared):
    """What a private fit may spend, and whose data it protects: see `PrivacyUnit`. None, and only None, means no privacy."""

    epsilon: Annotated[float | None, EPSILON] = None
    delta: Delta = None
    neighbours: Annotated[Neighbours | None, NEIGHBOURS] = None
    rows_per_person: RowsPerPerson = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epsilon is None and self.delta is not None:
            raise InputError("delta is part of a privacy guarantee: give epsilon too.")


@dataclass(frozen=True, kw_only=True)
class PrivacyGuarantee(PrivacyBudget):
    """What is promised, and whether what the schema does not declare is discovered: see `chaffinch.prepare`."""

    discover: Annotated[
        Literal["all"] | None,
        Option(
            "all: find with noise what the schema leaves open, at the price --dry-run shows.",
            panel=PRIVACY,
        ),
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epsilon is None and (self.neighbours is not None or self.rows_per_person != 1):
            raise InputError(
                "neighbours and rows_per_person are part of a privacy guarantee: give epsilon too."
            )
        if self.epsilon is None and self.discover is not None:
            raise InputError(
                "discover is for a privacy guarantee: give epsilon too. Without one the schema is inferred from all rows."
            )
