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

SCORES = ("error", "balanced_error", "auc")
"""Misclassification; its mean over classes; the area under the curve of each class against the rest, mean over classes."""

Models = Sequence[str] | Mapping[str, Any]
"""Learners by their short names, or scikit-learn estimators by names of your own."""

DeltaLabels = Annotated[
    Sequence[str] | None,
    Option("Columns that delta predicts, as A,B. Default: all categorical and boolean ones."),
]
DeltaModels = Annotated[Models | None, Option("Learners of delta: some of {models}, as A,B.")]
DeltaScores = Annotated[
    Sequence[str],
    Option("Scores of delta: some of error, balanced_error, auc, as A,B.", known=lambda: SCORES),
]
Repeats = Annotated[int, Option("Splits for learners.", ge=1)]
Formula = Annotated[
    str | None,
    Option("Regression to fit on both tables, as 'income ~ age + sex'.", panel=MEASURE),
]


@dataclass(frozen=True, kw_only=True)
class LearnerSettings(Declared):
    """How learners are trained and tested. Features are `codes` (standardised, as Hittmeir et al. have it) or `onehot`, fitted on the training side: see `Encoder`."""

    test_share: Annotated[
        float,
        Option("Share of records that learners are tested on, without a holdout.", gt=0, lt=1),
    ] = 0.2
    feature_encoding: Annotated[
        Literal["codes", "onehot"],
        Option("Categories as features of learners: codes, or onehot: an indicator each."),
    ] = "codes"
    threshold: Threshold = THRESHOLD


@dataclass(frozen=True, kw_only=True)
class LabelSettings(LearnerSettings):
    """What learners predict, and which learners."""

    label: LabelColumn = None
    task: Annotated[
        Literal["classification", "regression"] | None,
        Option(
            "Task of learners. Default: regression for numbers with more than ten distinct values."
        ),
    ] = None
    models: Annotated[
        Models | None,
        Option(
            "Learners of the label: some of {models}, as A,B. Default: nb, knn, lr; all with --thorough.",
            panel=MEASURE,
        ),
    ] = None
    svm_rows: SvmRows = 5000


@dataclass(frozen=True, kw_only=True)
class CompositeSettings(Declared):
    """The weights of G and the norm of mu."""

    alpha: Annotated[float, Option("Weight of mu in G.", ge=0)] = 1.0
    beta: Annotated[float, Option("Weight of delta in G.", ge=0)] = 1.0
    norm: Annotated[
        Norm, Option("Norm of mu: frobenius (over pairs), frobenius_full (all cells) or spectral.")
    ] = "frobenius"


@dataclass(frozen=True, kw_only=True)
class UtilitySettings(LabelSettings, CompositeSettings):
    """Which metrics are measured, and the options that metrics have.

    What is not named is what a quick run takes: measures that no support vector machine is behind, learners that fit in a moment, three splits.
    `thorough` takes all measures, all learners and ten splits. `models` and `delta_models` may be scikit-learn estimators by name too. `weights` =
    "baselines" sets `alpha` and `beta` by what independent columns score, see `baseline_weights`. Tables in memory are measured whole, whatever
    `sample_rows` is.
    """

    formula: Formula = None
    measures: Annotated[
        Sequence[str] | None,
        Option(
            "Some of {metrics}, as A,B; or those of the run but some, as -A,-B. Default: all; delta with --thorough.",
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
    delta_models: DeltaModels = ("svc",)
    delta_labels: DeltaLabels = None
    delta_scores: DeltaScores = ("error",)
    weights: Annotated[
        Weights,
        Option(
            "Weights of G: given (--alpha, --beta), or baselines: G is 1 for independent columns."
        ),
    ] = "given"
    pmse_model: Annotated[
        Literal["tree", "logistic"],
        Option("Model of pMSE, that tells synthetic rows from original ones: tree or logistic."),
    ] = "tree"
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
    def learners(self) -> Models | None:
        """The learners of the label: those that were named, else the quick ones, or all to be thorough."""
        from ..stats.learners import QUICK

        return QUICK if self.models is None and not self.thorough else self.models


@dataclass(frozen=True, kw_only=True)
class LearningSettings(LabelSettings):
    """What is learnt, by which models, how often.

    `models` are some of `nb`, `svc`, `knn`, `rf`, `lr` (`lr`, `knn`, `rf`, `svr` for regression), or scikit-learn estimators by name. Records
    without a label are left out. The time of a support vector machine grows with the square of `svm_rows` or faster; records are drawn by class.
    """

    repeats: Repeats = 10
    marginals: Annotated[bool, Option("Learn from a table of independent columns too.")] = True


@dataclass(frozen=True, kw_only=True)
class DeltaSettings(LearnerSettings):
    """Which labels are predicted, by which models (as in `learning`), how often, and how it is scored.

    A label with one class, or with fewer records than the threshold, in either table is left out and listed. The defaults are the paper's: support
    vectors with an RBF kernel, C = 1 and gamma "scale", and the error. All records are slow for support vectors: `rows` are drawn anew in each repeat,
    by class.
    """

    labels: DeltaLabels = None
    models: DeltaModels = ("svc",)
    scores: DeltaScores = ("error",)
    repeats: Repeats = 10
    rows: Annotated[
        int | None,
        Option("The most records of a table in a repeat.", unit="records", ge=10),
    ] = 5000

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.scores:
            raise InputError(f"Name at least one score of {', '.join(SCORES)}.")


@dataclass(frozen=True, kw_only=True)
class SweepSettings(CompositeSettings):
    """What the settings are called, and how many syntheses each has."""

    setting: Annotated[str, Option("Name of what is varied.")] = "setting"
    copies: Annotated[int, Option("Syntheses at each setting.", ge=1)] = 3
