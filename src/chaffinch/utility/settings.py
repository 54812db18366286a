"""What is measured, and how: the settings of a study of utility. Nothing heavy is imported here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from .._base.errors import InputError
from .._base.masking import THRESHOLD
from .._base.options import MEASURE, Declared, Option
from ..stats.settings import SAMPLE_ROWS, SampleRows, SvmRows, Thorough
from ..table.settings import LabelColumn, Threshold

Norm = Literal["frobenius", "frobenius_full", "spectral"]
"""Of a matrix: over pairs of columns, over all its cells, or its largest singular value."""

Weights = Literal["given", "baselines"]
"""Where the weights of G come from: named, or from what a table of independent columns scores."""

QUICK_SPLITS, ALL_SPLITS = 3, 10
"""Splits for learners unless named: of a quick run and of a thorough one. The first three are the same."""

Formula = Annotated[
    str | None,
    Option("Regression to fit on both tables, as 'income ~ age + sex'.", panel=MEASURE),
]


@dataclass(frozen=True, kw_only=True)
class UtilitySettings(Declared):
    """Which metrics are measured, and the options that metrics have.

    What is not named is what a quick run takes: measures that no support vector machine is behind, learners that fit in a moment, three splits.
    `thorough` takes all measures, all learners and ten splits. `models` and `delta_models` may be scikit-learn estimators by name too. `weights` =
    "baselines" sets `alpha` and `beta` by what independent columns score, see `baseline_weights`. Tables in memory are measured whole, whatever
    `sample_rows` is.
    """

    label: LabelColumn = None
    formula: Formula = None
    measures: Annotated[
        Sequence[str] | None,
        Option(
            "Some of {metrics}, as A,B; or those of the run but some, as -A,-B. Default: all; delta with --thorough.",
            panel=MEASURE,
        ),
    ] = None
    models: Annotated[
        Sequence[str] | Mapping[str, Any] | None,
        Option(
            "Learners of the label: some of {models}, as A,B. Default: nb, knn, lr; all with --thorough.",
            panel=MEASURE,
        ),
    ] = None
    repeats: Annotated[
        int | None,
        Option(
            "Splits for learners; more take longer and give tighter figures. Default: 3; 10 with --thorough.",
            panel=MEASURE,
            ge=1,
        ),
    ] = None
    feature_encoding: Annotated[
        Literal["codes", "onehot"],
        Option("Categories as features of learners: codes, or onehot: an indicator each."),
    ] = "codes"
    svm_rows: SvmRows = 5000
    delta_models: Annotated[
        Sequence[str] | Mapping[str, Any],
        Option("Learners of delta: some of {models}, as A,B."),
    ] = ("svc",)
    delta_labels: Annotated[
        Sequence[str] | None,
        Option("Columns that delta predicts, as A,B. Default: all categorical and boolean ones."),
    ] = None
    delta_scores: Annotated[
        Sequence[str],
        Option("Scores of delta: some of error, balanced_error, auc, as A,B."),
    ] = ("error",)
    norm: Annotated[
        Norm, Option("Norm of mu: frobenius (over pairs), frobenius_full (all cells) or spectral.")
    ] = "frobenius"
    weights: Annotated[
        Weights,
        Option(
            "Weights of G: given (--alpha, --beta), or baselines: G is 1 for independent columns."
        ),
    ] = "given"
    alpha: Annotated[float, Option("Weight of mu in G.", ge=0)] = 1.0
    beta: Annotated[float, Option("Weight of delta in G.", ge=0)] = 1.0
    pmse_model: Annotated[
        Literal["tree", "logistic"],
        Option("Model of pMSE, that tells synthetic rows from original ones: tree or logistic."),
    ] = "tree"
    threshold: Threshold = THRESHOLD
    thorough: Thorough = False
    sample_rows: SampleRows = SAMPLE_ROWS

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.weights == "baselines" and (self.alpha, self.beta) != (1.0, 1.0):
            raise InputError(
                "alpha and beta are given, and weights = 'baselines' sets them: leave out either."
            )
        if self.measures is not None:
            from .metric import asked_metrics

            asked_metrics(self.measures)

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
    def learners(self) -> Sequence[str] | Mapping[str, Any] | None:
        """The learners of the label: those that were named, else the quick ones, or all to be thorough."""
        from ..stats.learners import QUICK

        return QUICK if self.models is None and not self.thorough else self.models
