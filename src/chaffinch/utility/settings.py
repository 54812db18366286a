"""What is measured, and how: the settings of a study of utility."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from .._base.errors import InputError, unknown_name
from .._base.masking import THRESHOLD
from ..stats.features import Encoding
from ..stats.learners import QUICK, Models
from ..stats.sampled import SAMPLE_ROWS, check_sample_rows

Weights = Literal["given", "baselines"]
"""Where the weights of G come from: named, or from what a table of independent columns scores."""

QUICK_SPLITS, ALL_SPLITS = 3, 10
"""Splits for learners unless named: of a quick run and of a thorough one. The first three are the same."""


@dataclass(frozen=True, kw_only=True)
class UtilitySettings:
    """Which metrics are measured, and the options that metrics have.

    `label` is the column that learners predict, `formula` a regression to fit on both tables, `measures` are the words that ask for
    metrics (all unless named). `models`, `repeats`, `encoding` and `svm_rows` are of learners, `norm` of mu, `alpha` and `beta` of G
    (`weights` = "baselines" sets them by what independent columns score, see `baseline_weights`), `pmse_model` of pMSE. `threshold` is how many records must share a value or a cell before it may show.

    What is not named is what a quick run takes: measures that no support vector machine is behind, learners that fit in a moment, three splits.
    `thorough` takes all measures, all learners and ten splits. `sample_rows` is about how many records of the largest table measures that
    learn are given, where tables are in files that are read part by part; tables in memory are measured whole.
    """

    label: str | None = None
    formula: str | None = None
    measures: Sequence[str] | None = None
    models: Models = None
    repeats: int | None = None
    norm: str = "frobenius"
    encoding: Encoding = "codes"
    pmse_model: str = "tree"
    alpha: float = 1.0
    beta: float = 1.0
    weights: Weights = "given"
    svm_rows: int | None = 5000
    threshold: int = THRESHOLD
    thorough: bool = False
    sample_rows: int = SAMPLE_ROWS

    def __post_init__(self) -> None:
        check_sample_rows(self.sample_rows)
        if self.weights not in get_args(Weights):
            raise unknown_name("way to weigh G", self.weights, get_args(Weights))
        if self.weights == "baselines" and (self.alpha, self.beta) != (1.0, 1.0):
            raise InputError(
                "alpha and beta are given, and weights = 'baselines' sets them: leave out either."
            )
        for name, number in (("repeats", self.splits), ("threshold", self.threshold)):
            if number < 1:
                raise InputError(f"{name} must be at least 1. Got {number}.")

    @property
    def splits(self) -> int:
        """How often learners are trained and tested: as often as was asked for, else three times, or ten to be thorough."""
        return (
            self.repeats
            if self.repeats is not None
            else ALL_SPLITS
            if self.thorough
            else QUICK_SPLITS
        )

    @property
    def learners(self) -> Models:
        """The learners of the label: those that were named, else the quick ones, or all to be thorough."""
        return QUICK if self.models is None and not self.thorough else self.models
