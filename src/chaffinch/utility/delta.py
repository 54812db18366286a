"""delta of Galloni et al.: do models score alike on both tables? And its honest twin: train on synthetic, test on original."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

import numpy as np
from numpy.typing import NDArray

from .._base.options import takes
from .._base.results import html_table
from .._base.runtime import Progress, silent
from .._base.seeds import Seed, child, seed_sequence
from ..stats.intervals import jackknife
from ..stats.learners import (
    Encoder,
    LearnerFit,
    Matrix,
    auc,
    chosen_models,
    fit,
    split,
    standardise,
    subsample,
    work,
)
from ..table import Table
from ..table.align import align
from ..table.schema import LEVEL_KINDS
from .metric import METRICS, Distance, Metric, UtilityRun
from .settings import DeltaSettings
from .trials import LearningLabel, label_column

if TYPE_CHECKING:
    from ..keywords import DeltaOptions

_CAP, _SPLIT, _STATE = range(3)


@dataclass(frozen=True)
class DeltaRow:
    """One label, model and score, means over repeats.

    `original`: trained and tested on the original; `synthetic`: both on the synthetic table; `synthetic_on_original`: trained on
    the synthetic table, tested on the original.
    """

    label: str
    model: str
    score: str
    original: float
    synthetic: float
    synthetic_on_original: float


@dataclass(frozen=True)
class SkippedLabel:
    """A column that was left out, and why."""

    label: str
    why: str


@dataclass(frozen=True, kw_only=True, repr=False)
class Tstr(Distance):
    """Train on synthetic, test on real: the mean absolute difference in score from models trained on the original."""

    name: ClassVar[str] = "delta, tested on the original"


@dataclass(frozen=True, kw_only=True, repr=False)
class Delta(Distance):
    """Mean absolute difference of scores between models of the original and of the synthetic table, each on its own data.

    Between 0 and 1; 0 says that labels are as hard to predict in either table, not that the same model predicts them: a
    degenerate table can score 0. Read `tstr` beside it.
    """

    name: ClassVar[str] = "delta"

    tstr: Tstr = field(default_factory=lambda: Tstr(value=None, reason="it was not measured"))
    rows: tuple[DeltaRow, ...] = ()
    skipped: tuple[SkippedLabel, ...] = ()
    notes: tuple[str, ...] = ()

    def details(self) -> dict[str, Any]:
        """Return the twin, the score of each label, and the labels that were left out."""
        return super().details() | {"tstr": self.tstr.to_dict()}

    @classmethod
    def _fields_of(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        known = super()._fields_of(data)
        twin = known.pop("tstr", None)
        return {**known, "tstr": Tstr.from_dict(twin)} if isinstance(twin, Mapping) else known

    def _repr_html_(self) -> str:
        head = ["label", "model", "score", "original", "synthetic", "synthetic on original"]
        rows = [
            [
                r.label,
                r.model,
                r.score,
                *(f"{v:.4g}" for v in (r.original, r.synthetic, r.synthetic_on_original)),
            ]
            for r in self.rows
        ]
        return super()._repr_html_() + self.tstr._repr_html_() + html_table(head, rows)


@takes(DeltaSettings)
def delta(
    original: Table,
    synthetic: Any,
    *,
    settings: DeltaSettings | None = None,
    seed: Seed = None,
    threads: int | None = None,
    progress: Progress = silent,
    **options: Unpack[DeltaOptions],
) -> Delta:
    """Return delta (equation 3 of Galloni et al.) and, in `tstr`, the same with synthetic models tested on the original.

    Each label in turn is predicted from all other columns: in each repeat both tables are capped and split at random by the
    classes of the label, one model is trained on the training part of each, and each is tested on the test part of
    its own table; the synthetic one also on the original's. The paper writes a norm of a difference of two scores and repeats the
    task ten times: here scores are averaged over repeats, then their absolute difference is averaged over labels, models
    and scores. Both tables use one stream of random numbers, so tables that are equal row by row score 0 exactly.

    `settings` are a `DeltaSettings`, or its options one by one.
    """
    asked = DeltaSettings.chosen(settings, options)
    for name in asked.labels or ():
        label_column(original, name)
    tables = align(original, synthetic)
    estimators, left_out = chosen_models(asked.models, task="classification")
    chosen = _labels(tables[0], asked.labels)
    skipped = {
        label.name: why for label in chosen if (why := _reason(label, tables, asked.threshold))
    }
    used = [label for label in chosen if label.name not in skipped]
    facts = {
        "labels": [label.name for label in used],
        "models": list(estimators),
        "left_out": left_out,
        "scores": list(asked.scores),
        "repeats": asked.repeats,
        "test_share": asked.test_share,
        "rows": asked.rows,
        "encoding": asked.feature_encoding,
        "norm": "scores are averaged over repeats, then absolute differences over labels, models and scores",
        "interval": "jackknife over repeats: random splits and subsamples, not other records or another synthesis",
        "seed": seed if isinstance(seed, int) else None,
    }
    skipped_labels = tuple(SkippedLabel(label, why) for label, why in skipped.items())
    if reason := _nothing(tables[0], chosen, skipped, estimators):
        twin = Tstr(value=None, reason=reason, settings=facts)
        return Delta(value=None, reason=reason, tstr=twin, skipped=skipped_labels, settings=facts)
    encoder = Encoder.from_tables(tables, encoding=asked.feature_encoding)
    matrices = [encoder.matrix(table) for table in tables]
    run = _DeltaRun(tables, encoder, matrices, estimators, asked, seed_sequence(seed))
    items = [
        (label, name, repeat)
        for repeat in range(asked.repeats)
        for label in used
        for name in estimators
    ]
    done = work(
        run.trial, items, threads=threads, progress=progress, doing="learning each column in turn"
    )
    measured = np.array([trial.scores for trial in done])
    measured = measured.reshape(asked.repeats, len(used) * len(estimators), 3, len(asked.scores))
    distance, tstr_distance = (_distance(measured, which) for which in (1, 2))
    return Delta(
        value=distance[0],
        interval=distance[1],
        tstr=Tstr(value=tstr_distance[0], interval=tstr_distance[1], settings=facts),
        rows=_rows(items, measured.mean(axis=0), asked.scores),
        skipped=skipped_labels,
        notes=tuple(_notes(tables, asked.rows, items, [trial.converged for trial in done])),
        settings=facts,
    )


def _labels(table: Table, names: Sequence[str] | None) -> list[LearningLabel]:
    if names is None:
        return [LearningLabel(c, "classification") for c in table.schema if c.kind in LEVEL_KINDS]
    return [
        LearningLabel.from_table(table, name, "classification") for name in dict.fromkeys(names)
    ]


def _reason(label: LearningLabel, tables: Sequence[Table], threshold: int) -> str:
    for table, which in zip(tables, ("original", "synthetic"), strict=True):
        if why := label.reason(table, which, threshold):
            return why
        classes = label.values(table)[label.present(table)]
        if len(np.unique(classes)) == len(classes):
            return f"every class of label '{label.name}' has one record in the {which} table"
    return ""


def _nothing(
    table: Table,
    chosen: Sequence[LearningLabel],
    skipped: Mapping[str, str],
    models: Mapping[str, Any],
) -> str:
    """Return why there is nothing to measure, or nothing."""
    if not models:
        return "no model that was named does classification"
    if not chosen:
        return "no column is categorical or boolean; name labels to predict the bins of numbers"
    if len(table.schema.names) < 2:
        return "there is no column beside the label to learn from"
    return "" if len(skipped) < len(chosen) else "no label is left: " + "; ".join(skipped.values())


@dataclass(frozen=True)
class _Trial:
    """Scores of one label, model and repeat: original, synthetic, synthetic on original, each with all scores."""

    scores: NDArray[np.float64]
    converged: bool


@dataclass(frozen=True, eq=False)
class _DeltaRun:
    """Both tables as features of all columns, encoded once, and one trial at a time."""

    tables: Sequence[Table]
    encoder: Encoder
    matrices: Sequence[Matrix]
    models: Mapping[str, Any]
    settings: DeltaSettings
    root: np.random.SeedSequence

    def trial(self, item: tuple[LearningLabel, str, int]) -> _Trial:
        """Train on either table and test on its own records, the synthetic model on the original's too."""
        label, name, repeat = item
        stream = child(self.root, repeat, self.tables[0].schema.names.index(label.name))
        (train_o, truth_o, test_o, wanted_o), (train_s, truth_s, test_s, wanted_s) = (
            self._parts(label, which, stream) for which in (0, 1)
        )
        model, seed = self.models[name], int(child(stream, _STATE).generate_state(1)[0])
        ranked = "auc" in self.settings.scores
        scaled = self.encoder.scaled[self._features(label)]
        first = standardise(train_o, test_o, scaled=scaled)
        real = fit(model, first[0], truth_o, first[1:], seed=seed, chances=ranked)
        second = standardise(train_s, test_s, test_o, scaled=scaled)
        learnt = fit(model, second[0], truth_s, second[1:], seed=seed, chances=ranked)
        scores = [
            self._scores(real, 0, wanted_o),
            self._scores(learnt, 0, wanted_s),
            self._scores(learnt, 1, wanted_o),
        ]
        return _Trial(np.array(scores), real.converged and learnt.converged)

    def _parts(
        self, label: LearningLabel, which: int, stream: np.random.SeedSequence
    ) -> tuple[Matrix, NDArray[Any], Matrix, NDArray[Any]]:
        """Return features and labels that train, and features and labels that test."""
        table, features = self.tables[which], self._features(label)
        rows = np.flatnonzero(label.present(table))
        labels = label.values(table)[rows]
        capped = subsample(
            labels, len(rows), self.settings.rows, np.random.default_rng(child(stream, _CAP))
        )
        rows, labels = rows[capped], labels[capped]
        train, test = split(
            labels,
            len(rows),
            self.settings.test_share,
            np.random.default_rng(child(stream, _SPLIT)),
        )
        matrix = self.matrices[which]
        return (
            matrix[rows[train]][:, features],
            labels[train],
            matrix[rows[test]][:, features],
            labels[test],
        )

    def _features(self, label: LearningLabel) -> NDArray[np.bool_]:
        return np.array([owner != label.name for owner in self.encoder.owners], dtype=bool)

    def _scores(self, done: LearnerFit, test: int, truth: NDArray[Any]) -> list[float]:
        return [_score(name, done, test, truth) for name in self.settings.scores]


def _score(name: str, done: LearnerFit, test: int, truth: NDArray[Any]) -> float:
    right = done.answers[test].predicted == truth
    if name == "error":
        return float(1 - right.mean())
    if name == "balanced_error":
        return float(1 - np.mean([right[truth == level].mean() for level in np.unique(truth)]))
    areas = [auc(done.chance(test, level), truth == level) for level in np.unique(truth)]
    known = [area for area in areas if area is not None]
    return float(np.mean(known)) if known else 0.5


def _distance(scores: NDArray[np.float64], which: int) -> tuple[float, tuple[float, float] | None]:
    """Return the mean absolute difference of mean scores from those of the original, and its interval over repeats."""
    gaps = scores[:, :, which, :] - scores[:, :, 0, :]
    value = float(np.abs(gaps.mean(axis=0)).mean())
    if len(gaps) < 2:
        return value, None
    without = [
        float(np.abs(np.delete(gaps, repeat, axis=0).mean(axis=0)).mean())
        for repeat in range(len(gaps))
    ]
    return value, jackknife(value, without, low=0.0, high=1.0)


def _rows(
    items: Sequence[tuple[LearningLabel, str, int]],
    means: NDArray[np.float64],
    scores: Sequence[str],
) -> tuple[DeltaRow, ...]:
    return tuple(
        DeltaRow(label.name, model, score, *(float(side) for side in means[i, :, j]))
        for i, (label, model, _) in enumerate(items[: len(means)])
        for j, score in enumerate(scores)
    )


def _notes(
    tables: Sequence[Table],
    rows: int | None,
    items: Sequence[tuple[LearningLabel, str, int]],
    converged: Sequence[bool],
) -> list[str]:
    notes = []
    if rows is not None and any(table.n_rows > rows for table in tables):
        notes.append(
            f"At most {rows:,} records of each table train and test in a repeat, drawn by class."
        )
    late = {
        (label.name, name)
        for (label, name, _), done in zip(items, converged, strict=True)
        if not done
    }
    return notes + [
        f"Model {name} did not converge in some fits of label '{label}'."
        for label, name in sorted(late)
    ]


def _measure(run: UtilityRun, side: str) -> Delta:
    asked = run.settings
    return delta(
        run.original,
        run.tables[side],
        repeats=asked.splits if side == "synthetic" else 1,
        rows=asked.svm_rows,
        feature_encoding=asked.feature_encoding,
        test_share=asked.test_share,
        labels=asked.delta_labels,
        models=asked.delta_models,
        scores=asked.delta_scores,
        threshold=asked.threshold,
        seed=run.seed,
        progress=run.progress,
        threads=run.threads,
    )


def _twin(run: UtilityRun, side: str) -> Tstr | None:
    result = run.results["delta"][side]
    return result.tstr if isinstance(result, Delta) and result.value is not None else None


METRICS.register(
    Metric(
        name="delta",
        kind=Delta,
        measure=_measure,
        doing="learning each column in turn",
        thorough=True,
        number=10,
        group="uses",
        title="Learning any column (delta)",
        question="Are columns as easy to predict within the synthetic table as within the original?",
        definition="Mean absolute difference of error rates, each model trained and tested on its own table, over labels and models. A "
        "degenerate table can score well: read TSTR beside it.",
        source="Galloni, Lendák and Horváth 2020, equation 3",
        phrases=(
            "Columns are about as easy to predict as in the original",
            "Columns are not quite as easy or hard to predict as in the original",
            "Columns are clearly easier or harder to predict than in the original",
            "How easy columns are to predict is lost",
        ),
        detail="error rates within each table differ by {value} on average",
        limits=(0.02, 0.05, 0.1),
    )
)
METRICS.register(
    Metric(
        name="delta.tstr",
        kind=Tstr,
        measure=_twin,
        derived_from=("delta",),
        id="tstr",
        group="uses",
        position=-1,
        title="Learning any column (TSTR)",
        question="Whichever column one predicts: do models trained on synthetic rows work on real ones?",
        definition="Train on synthetic, test on real: how far the error rate on original records is from that of models trained on the "
        "original, averaged over labels and models.",
        source="Esteban, Hyland and Rätsch 2017, arXiv 1706.02633",
        phrases=(
            "Whichever column is predicted, synthetic rows teach almost as well as original ones",
            "Whichever column is predicted, synthetic rows teach somewhat worse than original ones",
            "Whichever column is predicted, synthetic rows teach much worse than original ones",
            "Whichever column is predicted, synthetic rows teach little",
        ),
        detail="tested on original records, error rates are off by {value} on average",
        limits=(0.02, 0.05, 0.1),
    )
)
