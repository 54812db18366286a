"""The claim that is audited, and how hard it is tried. Nothing heavy is imported here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, get_args

from ..._base.checks import check_name
from ..._base.masking import THRESHOLD
from ..._base.options import MEASURE, PRIVACY, Declared, Option
from ...privacy.relation import Neighbours
from ...table.settings import Threshold
from ..shadows.settings import TimeLimit

if TYPE_CHECKING:
    from .pairs import Pairs

Box = Literal["mechanism", "white", "black"]
BOXES: tuple[Box, ...] = get_args(Box)
MADE = ("narrow", "repeated", "empty", "lone level", "crowded")
"""Pairs that need no data of anybody: made for the worst case."""
PAIRS = (*MADE, "average", "canaries")


def names_in(text: str) -> tuple[str, ...]:
    """Return the names in a list, as A,B."""
    return tuple(word.strip() for word in text.split(",") if word.strip())


@dataclass(frozen=True, kw_only=True)
class AuditSettings(Declared):
    """The claim that is audited, and how hard it is tried.

    Parameters
    ----------
    epsilon, delta, neighbours
        The claim. Default: that of the synthesiser's `budget` and `unit`. A function has none: say it.
    pairs
        Names out of `PAIRS`, or `Pair`s. Default: all that are made for the worst case, and "average" where there is a table; "canaries",
        several records in or out in each run, only where it is named.
    runs
        Runs for each pair.
    box
        "mechanism" looks at the noisy answers of a fit, "white" into the model, "black" at the released table.
    rows
        Rows to draw of each model. Default: 500 or as many as the larger table has. A function returns as many as it will.
    average_rows
        The most records of a user's table in the pair "average".
    level
        The confidence of all bounds together. Default: a refutation by accident once in a thousand audits.
    threshold
        Records below which a number of them is masked.
    time_limit
        Seconds that a run may take.
    """

    epsilon: Annotated[
        float | None,
        Option("Claimed epsilon. Default: that of SPEC.", basic=True, panel=PRIVACY, gt=0),
    ] = None
    delta: Annotated[
        float | None, Option("Claimed delta. Default: that of SPEC.", panel=PRIVACY, ge=0, lt=1)
    ] = None
    neighbours: Annotated[
        Neighbours | None,
        Option(
            "Relation of the claim: add-remove or replace-one. Default: that of SPEC.",
            panel=PRIVACY,
        ),
    ] = None
    pairs: Annotated[
        Pairs | None,
        Option(
            "Pairs of tables: some of {pairs}, as A,B. Default: all but canaries.",
            panel=MEASURE,
            read=names_in,
        ),
    ] = None
    runs: Annotated[
        int,
        Option(
            "Runs for each pair of tables: more show a larger epsilon.",
            basic=True,
            panel=MEASURE,
            ge=80,
        ),
    ] = 2000
    box: Annotated[
        Sequence[Box],
        Option(
            "Noisy answers of a fit (mechanism), its model (white) or its table (black).",
            panel=MEASURE,
            read=names_in,
        ),
    ] = BOXES
    rows: Annotated[
        int | None,
        Option("Rows drawn of each model. Default: 500 or more.", unit="rows", ge=1),
    ] = None
    average_rows: Annotated[
        int, Option("The most records of DATA in the pair average.", unit="records", ge=1)
    ] = 1000
    level: Annotated[
        float, Option("Confidence of all bounds together.", panel=PRIVACY, gt=0, lt=1)
    ] = 0.999
    threshold: Threshold = THRESHOLD
    time_limit: TimeLimit = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for pair in self.pairs or ():
            if isinstance(pair, str):
                check_name("pair", pair, PAIRS)
