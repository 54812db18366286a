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

    Parameters
    ----------
    label
        The column that learners predict.
    formula
        A regression to fit on both tables, as `income ~ age + sex`.
    measures
        The metrics, by the words that ask for them; all unless named.
    models, repeats, encoding, svm_rows
        Of learners, see `learning` and `delta`.
    norm, alpha, beta
        The norm of mu, and the weights of mu and delta in G.
    pmse_model
        The model that tells the tables apart, see `pmse`.
    threshold
        Records that must share a value or a cell before it may show.
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
