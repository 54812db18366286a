"""How published trees are attacked and pruned: settings that are declared. Nothing heavy is imported here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from .._base.masking import THRESHOLD
from .._base.options import LEARN, MEASURE, Declared, Option
from ..table.settings import DecimalSign, Threshold

Splits = Literal["safe", "most"]
"""Which splits pruning keeps: those that are safe against every label, or most, with leaves that tell less."""


@dataclass(frozen=True, kw_only=True)
class TreeSettings(Declared):
    """Which records a published model is attacked with, and when a node singles out.

    Parameters
    ----------
    label
        The column of the data that the model predicts, or several.
    at_least
        Records of a class below which a node isolates.
    trained_on
        Whether the model was trained on the data. It says of which records the score is; unless said they are "the data given".
    decimal
        The decimal sign of a text file.
    threshold
        Counts of nodes and records below it leave as a word.
    """

    label: Annotated[
        Sequence[str] | str | None,
        Option(
            "Outcome column that the model predicts, or several as A,B.",
            basic=True,
            panel=LEARN,
            metavar="COLUMN",
        ),
    ] = None
    at_least: Annotated[
        int,
        Option(
            "Records of a class below which a node singles out.",
            basic=True,
            panel=MEASURE,
            unit="records",
            ge=2,
        ),
    ] = 2
    trained_on: Annotated[
        bool,
        Option("The model was trained on --data: its accuracy is called so.", panel=MEASURE),
    ] = False
    decimal: DecimalSign = None
    threshold: Threshold = THRESHOLD

    def __post_init__(self) -> None:
        if isinstance(self.label, str):
            object.__setattr__(self, "label", (self.label,))
        super().__post_init__()

    @property
    def labels(self) -> tuple[str, ...]:
        """The columns that the model predicts."""
        return tuple(self.label or ("label",))


@dataclass(frozen=True, kw_only=True)
class PruneSettings(TreeSettings):
    """How a published model is pruned; `splits`: see `prune`."""

    splits: Annotated[
        Splits,
        Option(
            "Splits that stay: those safe against every label, or most, with leaves that tell less.",
            basic=True,
            panel=LEARN,
        ),
    ] = "safe"
