"""Learning tables: models trained on original, on synthetic and on independent columns, all tested on original records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._base.errors import InputError
from .._base.html import html_table
from .._base.masking import SHOWN_FROM, about
from .._base.progress import Progress, silent
from .._base.seeds import Seed, seed_sequence
from ..stats.features import Encoding
from ..stats.intervals import mean_interval
from ..stats.learners import Models, chosen_models, is_svm
from ..stats.result import Direction, Result
from ..table.alike import alike
from ..table.table import Table
from .labels import FEWEST, Label, label_column, shown_levels
from .trials import Found, Outcome, Trials

__all__ = ["Confusion", "Learning", "LearningRow", "learning"]

MOST_LEVELS = 50
"""Levels of a label above which confusion matrices do not stand in the plain data."""


@dataclass(frozen=True)
class LearningRow:
    """One model trained on one table: means over repeats, and the standard deviation of the score."""

    model: str
    trained_on: str
    score: float
    sd: float | None
    precision: float | None = None
    recall: float | None = None
    f2: float | None = None
    auc: float | None = None
    rmse: float | None = None


@dataclass(frozen=True, repr=False)
class Confusion:
    """Exact counts of test records by true level (rows) and predicted level, summed over fits: confidential."""

    model: str
    trained_on: str
    levels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    fits: int

    def to_dict(self) -> dict[str, Any]:
        """Return the counts for showing. One record may be tested in every fit, so small is fewer than ten in each."""
        small = SHOWN_FROM * self.fits
        cells = [[about(count, at_least=small) for count in row] for row in self.counts]
        return {"model": self.model, "trained_on": self.trained_on, "levels": list(self.levels), "counts": cells}


@dataclass(frozen=True, kw_only=True, repr=False)
class Learning(Result):
    """How much worse models are when trained on the synthetic table: mean over models of the difference in score.

    0 is no loss, and what identical tables score in the mean; below 0 the synthetic table taught better. Scores are accuracies
    (0 to 1) or, for numbers, R2. `marginals` is the same difference for a table of independent columns.
    """

    name: ClassVar[str] = "loss in learning"
    direction: ClassVar[Direction] = "lower is better"
    identical: ClassVar[float] = 0.0

    label: str
    task: str
    score: str
    rows: tuple[LearningRow, ...] = ()
    confusion: tuple[Confusion, ...] = ()
    marginals: float | None = None
    notes: tuple[str, ...] = ()

    def details(self) -> dict[str, Any]:
        """Return the rows, and the confusion matrices with small counts masked."""
        kept = ("rmse",) if self.task == "regression" else ("precision", "recall", "f2", "auc")
        fields = ("model", "trained_on", "score", "sd", *kept)
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

    def _repr_html_(self) -> str:
        told = self.details()["rows"]
        if not told:
            return super()._repr_html_()
        cells = [["" if v is None else f"{v:.4g}" if isinstance(v, float) else v for v in row.values()] for row in told]
        return super()._repr_html_() + html_table(list(told[0]), cells, caption=f"Learning '{self.label}'")


def learning(
    original: Table,
    synthetic: Any,
    holdout: Any = None,
    *,
    label: str | None = None,
    task: str | None = None,
    models: Models = None,
    encoding: Encoding = "codes",
    repeats: int = 10,
    test_share: float = 0.2,
    marginals: bool = True,
    svm_rows: int | None = 5000,
    seed: Seed = None,
    progress: Progress = silent,
    threads: int | None = None,
) -> Learning:
    """Return how models trained on the synthetic table do on original records, beside models trained on originals.

    Without a holdout each repeat splits the original at random, by class; models are trained on the training part, on as
    many synthetic rows, and on as many rows of independent columns drawn from the training part, and tested on
    the test part. The synthetic table may have been made from the test records too, and then looks a little better than it is.
    With a holdout all records train and the holdout tests; repeats then differ in the random states of models, in the rows
    of capped ones, and in nothing else: a model without either is fitted once.

    Parameters
    ----------
    label
        The column to predict; the schema's label unless named. Records without a label are left out.
    task
        `classification` or `regression`; numbers with more than ten distinct values are regression unless named.
    models
        Some of `nb`, `svc`, `knn`, `rf`, `lr` (`lr`, `knn`, `rf`, `svr` for regression), or scikit-learn estimators by name.
    encoding
        `codes` (standardised, as Hittmeir et al. have it) or `onehot`; fitted on the training side, see `Encoder`.
    svm_rows
        Most records that train a support vector machine, drawn by class; None for all. Time grows with their square or faster.

    Notes
    -----
    Precision, recall, F2 and AUC are of the rarer class of a label with two classes, else (AUC apart) means over the
    classes of the test records.
    """
    _check(repeats, test_share, svm_rows)
    named = label_column(original, label).name
    whole = alike(original, synthetic, *([] if holdout is None else [holdout]))
    target = Label.of(whole[0], named, task)
    estimators, left_out = chosen_models(models, task=target.task)
    trials = Trials(
        label=target, tables=[target.labelled(table) for table in whole], models=estimators, encoding=encoding,
        repeats=repeats, test_share=test_share, marginals=marginals, svm_rows=svm_rows, root=seed_sequence(seed),
        threads=threads, progress=progress,
    )  # fmt: skip
    settings = {
        "models": list(estimators),
        "left_out": left_out,
        "encoding": encoding,
        "repeats": repeats,
        "test_share": test_share if holdout is None else None,
        "svm_rows": svm_rows,
        "tested_on": "the part of the original that trained no model" if holdout is None else "the holdout",
        "interval": "differences between repeats; they share records, so it is too narrow for new data",
        "seed": seed if isinstance(seed, int) else None,
    }
    score = "accuracy" if trials.classes else "r2"
    same: dict[str, Any] = {"label": target.name, "task": target.task, "score": score, "settings": settings}
    if why_not := _why_not(trials):
        return Learning(value=None, why_not=why_not, **same)
    found = trials.run()
    lost = _differences(found, list(estimators), "synthetic")
    return Learning(
        value=float(np.mean(lost)),
        interval=mean_interval(lost),
        rows=tuple(_row(key, outcomes) for key, outcomes in found.items()),
        confusion=_confusions(trials, found) if trials.classes else (),
        marginals=float(np.mean(_differences(found, list(estimators), "marginals"))) if marginals else None,
        notes=tuple(_notes(trials, found, whole)),
        **same,
    )


def _check(repeats: int, test_share: float, svm_rows: int | None) -> None:
    if repeats < 1:
        raise InputError(f"repeats must be at least 1. Got {repeats}.")
    if not 0 < test_share < 1:
        raise InputError(f"test_share must lie between 0 and 1. Got {test_share}.")
    if svm_rows is not None and svm_rows < 10:
        raise InputError(f"svm_rows must be at least 10, or None for all. Got {svm_rows}.")


def _why_not(trials: Trials) -> str:
    """Return why nothing can be learnt, or nothing."""
    label, tables = trials.label, trials.tables
    if not trials.models:
        return f"no model that was named does {label.task}"
    if len(tables[0].schema.names) < 2:
        return "there is no column beside the label to learn from"
    for table, which in zip(tables, ("original", "synthetic"), strict=False):
        if why := label.why_not(table, which):
            return why
    if trials.held_out and tables[2].n_rows < FEWEST:
        return f"the holdout has fewer than {FEWEST} records with a label '{label.name}'"
    labels = label.values(tables[0])
    if trials.classes and not trials.held_out and len(np.unique(labels)) == len(labels):
        return f"every class of label '{label.name}' has one record, so none can both train and test"
    return ""


def _differences(found: Found, models: Sequence[str], on: str) -> list[float]:
    """Return for each repeat the mean over models of score(original) - score(on); a model fitted once stays the same."""
    most = max(len(outcomes) for outcomes in found.values())
    scores = {key: np.resize([outcome.score for outcome in outcomes], most) for key, outcomes in found.items()}
    gaps = [scores[name, "original"] - scores[name, on] for name in models]
    return [float(gap) for gap in np.mean(gaps, axis=0)]


def _confusions(trials: Trials, found: Found) -> tuple[Confusion, ...]:
    sums = {
        key: np.sum([o.counts for o in outcomes if o.counts is not None], axis=0) for key, outcomes in found.items()
    }
    total = np.sum(list(sums.values()), axis=0)
    seen = np.flatnonzero(total.sum(axis=0) + total.sum(axis=1)).tolist()
    levels = shown_levels(trials.label, trials.tables[0], seen)
    return tuple(
        Confusion(*key, levels, tuple(map(tuple, held[np.ix_(seen, seen)].tolist())), len(found[key]))
        for key, held in sums.items()
    )


def _notes(trials: Trials, found: Found, whole: Sequence[Table]) -> Iterator[str]:
    """Yield what a reader of the table should know."""
    tables = trials.tables
    for table, held, which in zip(whole, tables, ("original", "synthetic", "holdout"), strict=False):
        if missing := table.n_rows - held.n_rows:
            some = f"{missing / table.n_rows:.1%}" if missing >= SHOWN_FROM else f"fewer than {SHOWN_FROM}"
            yield f"Records of the {which} table without a label are left out: {some}."
    if not trials.held_out:
        yield "Without a holdout the synthetic table may have been made from the test records too."
        if tables[1].n_rows < round(tables[0].n_rows * (1 - trials.test_share)):
            yield f"The synthetic table has fewer rows ({about(tables[1].n_rows)}) than train on the original."
        if trials.classes and (np.bincount(trials.label.values(tables[0])) == 1).any():
            yield "Classes with one record train and are never tested."
    if trials.rarer is not None:
        (level,) = shown_levels(trials.label, tables[0], [trials.rarer])
        yield f"Precision, recall, F2 and AUC are of the rarer class, {level}."
    elif trials.classes:
        yield "Precision, recall and F2 are means over the classes of the test records."
    if trials.svm_rows is not None and any(is_svm(model) for model in trials.models.values()):
        drawn = "by class" if trials.classes else "at random"
        yield f"Support vector machines are trained on at most {trials.svm_rows:,} records, drawn {drawn}."
    for (name, on), outcomes in found.items():
        if late := sum(not outcome.converged for outcome in outcomes):
            yield f"Model {name} trained on {on} did not converge in {late} of {len(outcomes)} fits."
    if trials.classes and trials.label.n_classes > MOST_LEVELS:
        yield f"Confusion matrices of more than {MOST_LEVELS} levels are not shown."


def _row(key: tuple[str, str], outcomes: Sequence[Outcome]) -> LearningRow:
    """Return the means of a model's outcomes, what is None left out, and the standard deviation of its score."""

    def mean(field: str) -> float | None:
        held = [value for outcome in outcomes if (value := getattr(outcome, field)) is not None]
        return float(np.mean(held)) if held else None

    scores = [outcome.score for outcome in outcomes]
    sd = float(np.std(scores, ddof=1)) if len(scores) > 1 else None
    rates = (mean(field) for field in ("precision", "recall", "f2", "auc", "rmse"))
    return LearningRow(*key, float(np.mean(scores)), sd, *rates)
