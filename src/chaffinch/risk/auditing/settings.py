"""The claim that is audited, and how hard it is tried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..._base.checks import check_at_least
from ..._base.errors import InputError, unknown_name
from ..._base.masking import THRESHOLD
from ...privacy.relation import Neighbours
from .claims import divided
from .pairs import PAIRS, Pair

Box = Literal["mechanism", "white", "black"]
BOXES: tuple[Box, ...] = ("mechanism", "white", "black")
FEWEST_RUNS = 80
LEVEL = 0.999
"""The confidence of all bounds together: a refutation by accident once in a thousand audits."""


@dataclass(frozen=True, kw_only=True)
class AuditSettings:
    """The claim that is audited, and how hard it is tried.

    Parameters
    ----------
    epsilon, delta, neighbours
        The claim; unless said, that of the synthesiser's `budget` and `unit`. A function has none: say it.
    pairs
        Names out of `PAIRS`, or `Pair`s. Without: all that are made for the worst case, and "average" where there is a table; "canaries",
        several records in or out in each run, only where it is named.
    runs
        Runs for each pair.
    box
        "mechanism" looks at the noisy answers of a fit, "white" into the model, "black" at the released table.
    rows
        Rows to draw of each model; without, 500 or as many as the larger table has. A function returns as many as it will.
    average_rows
        The most records of a user's table in the pair "average".
    level
        The confidence of all bounds together.
    threshold
        Records below which a number of them is not told.
    """

    epsilon: float | None = None
    delta: float | None = None
    neighbours: Neighbours | None = None
    pairs: Sequence[str | Pair] | None = None
    runs: int = 2000
    box: Sequence[str] = BOXES
    rows: int | None = None
    average_rows: int = 1000
    level: float = LEVEL
    threshold: int = THRESHOLD

    def __post_init__(self) -> None:
        for pair in self.pairs or ():
            if isinstance(pair, str) and pair not in PAIRS:
                raise unknown_name("pair", pair, PAIRS)
        object.__setattr__(
            self, "box", (self.box,) if isinstance(self.box, str) else tuple(self.box)
        )
        for name in self.box:
            if name not in BOXES:
                raise unknown_name("box", name, BOXES)
        if (
            isinstance(self.runs, bool)
            or not isinstance(self.runs, int | np.integer)
            or self.runs < FEWEST_RUNS
        ):
            raise InputError(
                f"runs must be a whole number of at least {FEWEST_RUNS}. Got {self.runs!r}."
            )
        divided(self.level, 1)
        check_at_least("threshold", self.threshold, 1)
