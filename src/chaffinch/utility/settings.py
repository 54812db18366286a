"""What is measured, and how: the settings of a study of utility."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .._base.errors import InputError
from .._base.masking import THRESHOLD
from ..stats.features import Encoding
from ..stats.learners import Models

__all__ = ["UtilitySettings"]


@dataclass(frozen=True, kw_only=True)
class UtilitySettings:
    """Which metrics are measured, and the options that metrics have.

    `label` is the column that learners predict, `formula` a regression to fit on both tables, `measures` are the words that ask for
    metrics (all unless named). `models`, `repeats`, `encoding` and `svm_rows` are of learners, `norm` of mu, `alpha` and `beta` of G,
    `pmse_model` of pMSE. `threshold` is how many records must share a value or a cell before it may show.
    """

    label: str | None = None
    formula: str | None = None
    measures: Sequence[str] | None = None
    models: Models = None
    repeats: int = 10
    norm: str = "frobenius"
    encoding: Encoding = "codes"
    pmse_model: str = "tree"
    alpha: float = 1.0
    beta: float = 1.0
    svm_rows: int | None = 5000
    threshold: int = THRESHOLD

    def __post_init__(self) -> None:
        for name in ("repeats", "threshold"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1. Got {getattr(self, name)}.")
