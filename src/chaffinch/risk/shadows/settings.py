"""Whom an attack by shadow models is on, and how its shadows are run. Nothing heavy is imported here."""

from __future__ import annotations

from dataclasses import dataclass
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from ..._base.errors import InputError
from ..._base.masking import THRESHOLD
from ..._base.options import FILES, MEASURE, RUN, Declared, Option
from ...table.settings import Threshold

if TYPE_CHECKING:
    from .world import Targets

Ranking = Literal["union", "hamming", "cosine", "extremes", "rarity"]
Duplicates = Literal["drop", "keep"]
Grid = Literal["release", "population"]
TargetShare = Literal["half", "natural"]

TimeLimit = Annotated[
    float | None,
    Option("Seconds that one fit may take. Default: no limit.", panel=RUN, unit="seconds", gt=0),
]


def targets_in(text: str) -> int | tuple[int, ...]:
    """Return a number of targets, or the rows of a table that are listed.

    Examples
    --------
    >>> targets_in("50"), targets_in("3,17"), targets_in("3,")
    (50, (3, 17), (3,))
    """
    numbers = [word.strip() for word in text.split(",") if word.strip()]
    if not numbers or not all(map(str.isdigit, numbers)):
        raise InputError(f"targets must be a number, or rows of the data as 3,17. Got '{text}'.")
    return tuple(map(int, numbers)) if "," in text else int(text)


@dataclass(frozen=True, kw_only=True)
class AttackTargets(Declared):
    """Whom to attack, and what subsets are drawn from.

    Parameters
    ----------
    targets
        How many of the most vulnerable records to attack, or the numbers of the table's rows to attack.
    rows
        The size of subsets. Default: a fifth of the table, or all of it where there is a population beside it.
    duplicates
        "drop": each combination of values once, as Sedlmeyr (2024) assumes. "keep": only the other copies of targets are left out.
    ranking
        Who is most vulnerable: by the distance of codes to the nearest others ("hamming"), by that of mixed types ("cosine"), by the most extreme number
        ("extremes"), by the rarity of single values ("rarity"), or by all in turn ("union").
    threshold
        Records below which a number of them is masked.
    """

    targets: Annotated[
        Targets,
        Option(
            "People to attack: so many of the most vulnerable records, or rows as 3,17.",
            basic=True,
            panel=MEASURE,
            metavar="INTEGER",
            unit="records",
            read=targets_in,
        ),
    ] = 50
    rows: Annotated[
        int | None,
        Option(
            "Records in each subset. Default: a fifth of DATA, or all with --population.",
            basic=True,
            panel=MEASURE,
            unit="records",
            ge=1,
        ),
    ] = None
    ranking: Annotated[
        Ranking,
        Option(
            "How vulnerable records are found: hamming, cosine, extremes, rarity, or their union.",
            panel=MEASURE,
        ),
    ] = "union"
    duplicates: Annotated[
        Duplicates,
        Option("Records with equal values: drop all but one, or keep those of others."),
    ] = "drop"
    threshold: Threshold = THRESHOLD

    def __post_init__(self) -> None:
        super().__post_init__()
        targets: Any = self.targets
        try:
            counted = tuple(map(index, targets)) if hasattr(targets, "__len__") else index(targets)
        except TypeError:
            raise InputError(
                f"targets must be a number, or numbers of rows of the table. Got {type(targets).__name__}."
            ) from None
        object.__setattr__(self, "targets", counted)


@dataclass(frozen=True, kw_only=True)
class ShadowRun(Declared):
    """How shadows are run: none of it changes a result."""

    shadow_folder: Annotated[
        Path | None,
        Option(
            "Folder for finished shadows, to go on from after a stop. Confidential.",
            panel=FILES,
            leaves=False,
        ),
    ] = None
    time_limit: TimeLimit = None
