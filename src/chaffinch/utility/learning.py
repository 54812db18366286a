"""Learning tables: models trained on original, on synthetic and on independent columns, all tested on original records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

import numpy as np

from .._base.masking import is_small, masked_count
from .._base.options import takes
from .._base.results import NOT_WRITTEN, PlainData, html_table
from .._base.runtime import Progress, silent
from .._base.seeds import Seed, seed_sequence
from ..stats.intervals import mean_interval
from ..stats.learners import chosen_models, is_svm
from ..table import Table
from ..table.align import align
from .metric import METRICS, Distance, Metric, References, UtilityRun
from .settings import LearningSettings
from .trials import (
    FEWEST,
    FitScores,
    LearningLabel,
    LearningTrials,
    Scored,
    label_column,
    shown_levels,
)

if TYPE_CHECKING:
    from ..keywords import LearningOptions

MOST_LEVELS = 50
"""Levels of a label above which confusion matrices do not stand in the plain data."""


@dataclass(frozen=True)
class LearningRow:
    """One model trained on one table: means over repeats, and the standard deviation of the score."""

    model: str
    trained_on: str
    score: float
    sd: float | None = None
    precision: float | None = None
    recall: float | None = None
    f2: float | None = None
    auc: float | None = None
    rmse: float | None = None


@dataclass(frozen=True, repr=False)
class Confusion(PlainData):
    """Counts of test records by true level (rows) and predicted level, summed over fits, small ones masked.

    One record may be tested in every fit, so small is fewer than the threshold in each.
    """

    model: str
    trained_on: str
    levels: tuple[str, ...]
    counts: tuple[tuple[int | str, ...], ...]
    fits: int = field(default=1, metadata=NOT_WRITTEN)


@dataclass(frozen=True, kw_only=True, repr=False)
class Learning(Distance):
    """How much worse models are when trained on the synthetic table: mean over models of the difference in score.

    0 is no loss, and what identical tables score in the mean; below 0 the synthetic table taught better. Scores are accuracies
    (0 to 1) or, for numbers, R2. `marginals` is the same difference for a table of independent columns.
    """

    name: ClassVar[str] = "loss in learning"
    decisive: ClassVar[tuple[str, ...]] = ("label", "task", "score")

    label: str = ""
    task: str = ""
    score: str = ""
    rows: tuple[LearningRow, ...] = ()
    confusion: tuple[Confusion, ...] = ()
    marginals: float | None = None
    notes: tuple[str, ...] = ()

    def details(self) -> dict[str, Any]:
        """Return the rows, and the confusion matrices of few levels."""
        rates = ("rmse",) if self.task == "regression" else ("precision", "recall", "f2", "auc")
        fields = ("model", "trained_on", "score", "sd", *rates)
        shown = [matrix for matrix in self.confusion if len(matrix.levels) <= MOST_LEVELS]
        return {
            "label": self.label,
            "task": self.task,
            "score": self.score,
            "rows": [{field: getattr(row, field) for field in fields} for row in self.rows],
            "confusion": [matrix.to_dict() for matrix in shown],
            "references": {"marginals": self.marginals, "holdout": None},
            "notes": list(self.notes),
        }

    @classmethod
    def _fields_of(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        references = data.get("references")
        marginals = references.get("marginals") if isinstance(references, Mapping) else None
        return {**super()._fields_of(data), "marginals": marginals}

    @property
    def references(self) -> References:
        """What models lose that learn from independent columns: their rows stand in the learning table itself."""
        if self.marginals is not None:
            return References(marginals=self.marginals)
        score = {(row.model, row.trained_on): row.score for row in self.rows}
        gaps = [
            score[model, "original"] - value
            for (model, side), value in score.items()
            if side == "marginals" and (model, "original") in score
        ]
        return References(marginals=sum(gaps) / len(gaps) if gaps else None)

    def _repr_html_(self) -> str:
        rows = self.details()["rows"]
        if not rows:
            return super()._repr_html_()
        cells = [
            ["" if v is None else f"{v:.4g}" if isinstance(v, float) else v for v in row.values()]
            for row in rows
        ]
        return super()._repr_html_() + html_table(
            list(rows[0]), cells, caption=f"Learning '{self.label}'"
        )


@takes(LearningSettings)
def learning(
    original: Table,
    synthetic: Any,
    holdout: Any = None,
    *,
    settings: LearningSettings | None = None,
    seed: Seed = None,
    threads: int | None = None,
    progress: Progress = silent,
    **options: Unpack[LearningOptions],
) -> Learning:
    """Return how models trained on the synthetic table do on original records, beside models trained on originals.

    Without a holdout each repeat splits the original at random, by class; models are trained on the training part, on as
    many synthetic rows, and on as many rows of independent columns drawn from the training part, and tested on
    the test part. The synthetic table may have been made from the test records too, and then looks a little better than it is.
    With a holdout all records train and the holdout tests; repeats then differ in the random states of models, in the rows
    of capped ones, and in nothing else: a model without either is fitted once.

    `settings` are a `LearningSettings`, or its options one by one. Precision, recall, F2 and AUC are of the rarer class of a label with two
    classes, else (AUC apart) means over the classes of the test records.
    """
    settings = LearningSettings.chosen(settings, options)
    name = label_column(original, settings.label).name
    aligned_tables = align(original, synthetic, *([] if holdout is None else [holdout]))
    target = LearningLabel.from_table(aligned_tables[0], name, settings.task)
    estimators, left_out = chosen_models(settings.models, task=target.task)
    trials = LearningTrials(
        label=target,
        tables=[target.labelled(table) for table in aligned_tables],
        models=estimators,
        settings=settings,
        root=seed_sequence(seed),
        threads=threads,
        progress=progress,
    )
    chosen = {
        "models": list(estimators),
        "left_out": left_out,
        "encoding": settings.feature_encoding,
        "repeats": settings.repeats,
        "test_share": settings.test_share if holdout is None else None,
        "svm_rows": settings.svm_rows,
        "tested_on": "the part of the original that trained no model"
        if holdout is None
        else "the holdout",
        "interval": "differences between repeats; they share records, so it is too narrow for new data",
        "seed": seed if isinstance(seed, int) else None,
    }
    score = "accuracy" if trials.classes else "r2"
    same: dict[str, Any] = {
        "label": target.name,
        "task": target.task,
        "score": score,
        "settings": chosen,
    }
    if reason := _reason(trials):
        return Learning(value=None, reason=reason, **same)
    scored = trials.run()
    lost = _differences(scored, list(estimators), "synthetic")
    return Learning(
        value=float(np.mean(lost)),
        interval=mean_interval(lost),
        rows=tuple(
            _row(key, fits, trials.rarer, settings.threshold) for key, fits in scored.items()
        ),
        confusion=_confusions(trials, scored) if trials.classes else (),
        marginals=float(np.mean(_differences(scored, list(estimators), "marginals")))
        if settings.marginals
        else None,
        notes=tuple(_notes(trials, scored, aligned_tables)),
        **same,
    )


def _reason(trials: LearningTrials) -> str:
    """Return why nothing can be learnt, or nothing."""
    label, tables, threshold = trials.label, trials.tables, trials.settings.threshold
    if not trials.models:
        return f"no model that was named does {label.task}"
    if len(tables[0].schema.names) < 2:
        return "there is no column beside the label to learn from"
    for table, which in zip(tables, ("original", "synthetic"), strict=False):
        if reason := label.reason(table, which, threshold):
            return reason
    if trials.held_out and tables[2].n_rows < max(FEWEST, threshold):
        return f"the holdout has fewer than {max(FEWEST, threshold)} records with a label '{label.name}'"
    labels = label.values(tables[0])
    if trials.classes and not trials.held_out and len(np.unique(labels)) == len(labels):
        return (
            f"every class of label '{label.name}' has one record, so none can both train and test"
        )
    return ""


def _differences(scored: Scored, models: Sequence[str], on: str) -> list[float]:
    """Return for each repeat the mean over models of score(original) - score(on); a model fitted once stays the same."""
    n_repeats = max(len(fits) for fits in scored.values())
    scores = {
        key: np.resize([fit.score for fit in fits], n_repeats) for key, fits in scored.items()
    }
    gaps = [scores[name, "original"] - scores[name, on] for name in models]
    return [float(gap) for gap in np.mean(gaps, axis=0)]


def _confusions(trials: LearningTrials, scored: Scored) -> tuple[Confusion, ...]:
    sums = {
        key: np.sum([fit.counts for fit in fits if fit.counts is not None], axis=0)
        for key, fits in scored.items()
    }
    total = np.sum(list(sums.values()), axis=0)
    seen = np.flatnonzero(total.sum(axis=0) + total.sum(axis=1)).tolist()
    threshold = trials.settings.threshold
    levels = shown_levels(trials.label, trials.tables[0], seen, threshold)

    def masked(key: tuple[str, str]) -> tuple[tuple[int | str, ...], ...]:
        times = len(scored[key])
        return tuple(
            tuple(masked_count(count, threshold, times=times) for count in row)
            for row in sums[key][np.ix_(seen, seen)].tolist()
        )

    return tuple(Confusion(*key, levels, masked(key), len(fits)) for key, fits in scored.items())


def _notes(
    trials: LearningTrials, scored: Scored, aligned_tables: Sequence[Table]
) -> Iterator[str]:
    """Yield what a reader of the table should know."""
    tables, settings = trials.tables, trials.settings
    for table, labelled, which in zip(
        aligned_tables, tables, ("original", "synthetic", "holdout"), strict=False
    ):
        if missing := table.n_rows - labelled.n_rows:
            amount = (
                f"{missing / table.n_rows:.1%}"
                if missing >= settings.threshold
                else f"fewer than {settings.threshold}"
            )
            yield f"Records of the {which} table without a label are left out: {amount}."
    if not trials.held_out:
        yield "Without a holdout the synthetic table may have been made from the test records too."
        if tables[1].n_rows < round(tables[0].n_rows * (1 - settings.test_share)):
            yield f"The synthetic table has fewer rows ({masked_count(tables[1].n_rows, settings.threshold)}) than train on the original."
        if trials.classes and (np.bincount(trials.label.values(tables[0])) == 1).any():
            yield "Classes with one record train and are never tested."
    if trials.rarer is not None:
        (level,) = shown_levels(trials.label, tables[0], [trials.rarer], settings.threshold)
        yield f"Precision, recall, F2 and AUC are of the rarer class, {level}."
    elif trials.classes:
        yield "Precision, recall and F2 are means over the classes of the test records."
    if any(_hidden_rates(fits, trials.rarer, settings.threshold) for fits in scored.values()):
        yield f"Rates that are made of fewer than {settings.threshold} records a fit are left out."
    if settings.svm_rows is not None and any(is_svm(model) for model in trials.models.values()):
        drawn = "by class" if trials.classes else "at random"
        yield f"Support vector machines are trained on at most {settings.svm_rows:,} records, drawn {drawn}."
    for (name, on), fits in scored.items():
        if late := sum(not fit.converged for fit in fits):
            yield f"Model {name} trained on {on} did not converge in {late} of {len(fits)} fits."
    if trials.classes and trials.label.n_classes > MOST_LEVELS:
        yield f"Confusion matrices of more than {MOST_LEVELS} levels are not shown."


def _row(
    key: tuple[str, str], fits: Sequence[FitScores], rarer: int | None, threshold: int
) -> LearningRow:
    """Return the means of a model's scores, what is None left out, and the standard deviation of its main score.

    A rate that is made of few records, as the confusion matrix masks them, is left out: times the class it is their number.
    """

    def mean(field: str) -> float | None:
        known = [value for fit in fits if (value := getattr(fit, field)) is not None]
        return float(np.mean(known)) if known else None

    scores = [fit.score for fit in fits]
    sd = float(np.std(scores, ddof=1)) if len(scores) > 1 else None
    hidden = _hidden_rates(fits, rarer, threshold)
    rates = (
        None if field in hidden else mean(field)
        for field in ("precision", "recall", "f2", "auc", "rmse")
    )
    return LearningRow(*key, float(np.mean(scores)), sd, *rates)


def _hidden_rates(fits: Sequence[FitScores], rarer: int | None, threshold: int) -> set[str]:
    """Return the rates that few records of a class make: right ones, or those that are missed or wrongly named so.

    The class is the rarer one. Where a mean over two classes is told, since one has few records, it is both: the mean gives away what either is made of.
    """
    matrices = [fit.counts for fit in fits if fit.counts is not None]
    if not matrices:
        return set()
    counts = np.sum(matrices, axis=0)
    seen = np.flatnonzero(counts.sum(axis=0) + counts.sum(axis=1)).tolist()
    hidden: set[str] = set()
    levels = [rarer] if rarer is not None else seen if len(seen) == 2 else []
    for level in levels:
        right = counts[level, level]
        missed, wrong = counts[level].sum() - right, counts[:, level].sum() - right
        few, missed_few, wrong_few = (
            is_small(int(count), threshold, times=len(fits)) for count in (right, missed, wrong)
        )
        hidden |= {"recall", "f2"} if few or missed_few else set()
        hidden |= {"precision", "f2"} if few or wrong_few else set()
    return hidden


def _measure(run: UtilityRun, side: str) -> Learning:
    asked = run.settings
    return learning(
        run.original,
        run.tables[side],
        run.tables.get("holdout"),
        label=asked.label,
        models=asked.learners,
        task=asked.task,
        feature_encoding=asked.feature_encoding,
        test_share=asked.test_share,
        repeats=asked.splits,
        svm_rows=asked.svm_rows,
        threshold=asked.threshold,
        seed=run.seed,
        progress=run.progress,
        threads=run.threads,
    )


METRICS.register(
    Metric(
        name="learning",
        kind=Learning,
        measure=_measure,
        needs=("label",),
        own_references=lambda result: result.references,
        number=9,
        group="uses",
        position=-2,
        title="Learning the label",
        question="Do models trained on synthetic rows predict real ones?",
        definition="Mean over models of the score when trained on the original less the score when trained on the synthetic table; both are "
        "tested on real records.",
        source="Hittmeir, Mayer and Ekelhart 2022, tables V to VII; Niederhametner and Mayer 2023, table III",
        phrases=(
            "Models learnt from the synthetic table predict almost as well",
            "Models learnt from the synthetic table predict somewhat worse",
            "Models learnt from the synthetic table predict much worse",
            "Models learn little from the synthetic table",
        ),
        detail="on average they score {gap} than those learnt from the original",
        limits=(0.02, 0.05, 0.1),
    )
)
