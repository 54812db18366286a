"""delta of Galloni et al.: do models score alike on both tables? And its honest twin: train on synthetic, test on original."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._base.errors import InputError, unknown_name
from .._base.html import html_table
from .._base.progress import Progress, silent
from .._base.seeds import Seed, seed_sequence
from ..stats.features import Encoder, Encoding, Matrix, standardised
from ..stats.intervals import jackknife
from ..stats.learners import Fit, Models, chosen_models, fit, work
from ..stats.result import Direction, Result
from ..stats.scoring import auc
from ..stats.splits import child, split, subsample
from ..table.alike import alike
from ..table.table import Table
from .labels import Label, label_column

__all__ = ["SCORES", "Delta", "DeltaRow", "Tstr", "delta"]

SCORES = ("error", "balanced_error", "auc")
"""Misclassification; its mean over classes; the area under the curve of each class against the rest, mean over classes."""
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


@dataclass(frozen=True, kw_only=True, repr=False)
class Tstr(Result):
    """Train on synthetic, test on real: the mean absolute difference in score from models trained on the original."""

    name: ClassVar[str] = "delta, tested on the original"
    direction: ClassVar[Direction] = "lower is better"
    identical: ClassVar[float] = 0.0


@dataclass(frozen=True, kw_only=True, repr=False)
class Delta(Result):
    """Mean absolute difference of scores between models of the original and of the synthetic table, each on its own data.

    Between 0 and 1; 0 says that labels are as hard to predict in either table, not that the same model predicts them: a
    degenerate table can score 0. Read `tstr` beside it.
    """

    name: ClassVar[str] = "delta"
    direction: ClassVar[Direction] = "lower is better"
    identical: ClassVar[float] = 0.0

    tstr: Tstr
    rows: tuple[DeltaRow, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()

    def details(self) -> dict[str, Any]:
        """Return the twin, the score of each label, and the labels that were left out."""
        return {
            "tstr": self.tstr.to_dict(),
            "rows": [vars(row).copy() for row in self.rows],
            "skipped": [{"label": label, "why": why} for label, why in self.skipped],
            "notes": list(self.notes),
        }

    def _repr_html_(self) -> str:
        head = ["label", "model", "score", "original", "synthetic", "synthetic on original"]
        rows = [
            [r.label, r.model, r.score, *(f"{v:.4g}" for v in (r.original, r.synthetic, r.synthetic_on_original))]
            for r in self.rows
        ]
        return super()._repr_html_() + self.tstr._repr_html_() + html_table(head, rows)


def delta(
    original: Table,
    synthetic: Any,
    *,
    labels: Sequence[str] | None = None,
    models: Models = ("svc",),
    scores: Sequence[str] = ("error",),
    repeats: int = 10,
    test_share: float = 0.2,
    rows: int | None = 5000,
    encoding: Encoding = "codes",
    seed: Seed = None,
    progress: Progress = silent,
    threads: int | None = None,
) -> Delta:
    """Return delta (equation 3 of Galloni et al.) and, in `tstr`, the same with synthetic models tested on the original.

    Each label in turn is predicted from all other columns: in each repeat both tables are capped and split at random by the
    classes of the label, one model is trained on the training part of each, and each is tested on the test part of
    its own table; the synthetic one also on the original's. The paper writes a norm of a difference of two scores and repeats the
    task ten times: here scores are averaged over repeats, then their absolute difference is averaged over labels, models
    and scores. Both tables use one stream of random numbers, so tables that are equal row by row score 0 exactly.

    Parameters
    ----------
    labels
        The columns to predict; every categorical and boolean one unless named. A label with one class, or with fewer than ten
        records, in either table is left out and listed.
    models
        Names or estimators as in `learning`; the paper has `svc` (RBF kernel, C = 1, gamma "scale").
    scores
        Some of `error` (misclassification, the paper's), `balanced_error` and `auc`.
    rows
        Most records of each table in a repeat, drawn anew by class; None for all, which is slow for support vectors.
    """
    scores = (scores,) if isinstance(scores, str) else tuple(scores)
    labels = (labels,) if isinstance(labels, str) else labels
    _check(repeats, test_share, rows, scores)
    for name in labels or ():
        label_column(original, name)
    tables = alike(original, synthetic)
    estimators, left_out = chosen_models(models, task="classification")
    chosen = _labels(tables[0], labels)
    skipped = {label.name: why for label in chosen if (why := _why_not(label, tables))}
    used = [label for label in chosen if label.name not in skipped]
    settings = {
        "labels": [label.name for label in used],
        "models": list(estimators),
        "left_out": left_out,
        "scores": list(scores),
        "repeats": repeats,
        "test_share": test_share,
        "rows": rows,
        "encoding": encoding,
        "norm": "scores are averaged over repeats, then absolute differences over labels, models and scores",
        "interval": "jackknife over repeats: random splits and subsamples, not other records or another synthesis",
        "seed": seed if isinstance(seed, int) else None,
    }
    if why_not := _nothing(tables[0], chosen, skipped, estimators):
        twin = Tstr(value=None, why_not=why_not, settings=settings)
        return Delta(value=None, why_not=why_not, tstr=twin, skipped=tuple(skipped.items()), settings=settings)
    encoder = Encoder.of(tables, encoding=encoding)
    matrices = [encoder.matrix(table) for table in tables]
    run = _Run(tables, encoder, matrices, estimators, scores, test_share, rows, seed_sequence(seed))
    items = [(label, name, repeat) for repeat in range(repeats) for label in used for name in estimators]
    done = work(run.trial, items, threads=threads, progress=progress, doing="learning each column in turn")
    found = np.array([trial.scores for trial in done]).reshape(repeats, len(used) * len(estimators), 3, len(scores))
    own, twin_value = (_distance(found, which) for which in (1, 2))
    return Delta(
        value=own[0],
        interval=own[1],
        tstr=Tstr(value=twin_value[0], interval=twin_value[1], settings=settings),
        rows=_rows(items, found.mean(axis=0), scores),
        skipped=tuple(skipped.items()),
        notes=tuple(_notes(tables, rows, items, [trial.converged for trial in done])),
        settings=settings,
    )


def _check(repeats: int, test_share: float, rows: int | None, scores: Sequence[str]) -> None:
    if repeats < 1:
        raise InputError(f"repeats must be at least 1. Got {repeats}.")
    if not 0 < test_share < 1:
        raise InputError(f"test_share must lie between 0 and 1. Got {test_share}.")
    if rows is not None and rows < 10:
        raise InputError(f"rows must be at least 10, or None for all. Got {rows}.")
    if not scores:
        raise InputError(f"Name at least one score of {', '.join(SCORES)}.")
    for score in scores:
        if score not in SCORES:
            raise unknown_name("score", score, SCORES)


def _labels(table: Table, names: Sequence[str] | None) -> list[Label]:
    if names is None:
        return [Label(c, "classification") for c in table.schema if c.kind in ("categorical", "boolean")]
    return [Label.of(table, name, "classification") for name in dict.fromkeys(names)]


def _why_not(label: Label, tables: Sequence[Table]) -> str:
    for table, which in zip(tables, ("original", "synthetic"), strict=True):
        if why := label.why_not(table, which):
            return why
        held = label.values(table)[label.present(table)]
        if len(np.unique(held)) == len(held):
            return f"every class of label '{label.name}' has one record in the {which} table"
    return ""


def _nothing(table: Table, chosen: Sequence[Label], skipped: Mapping[str, str], models: Mapping[str, Any]) -> str:
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
class _Run:
    """Both tables as features of all columns, encoded once, and one trial at a time."""

    tables: Sequence[Table]
    encoder: Encoder
    matrices: Sequence[Matrix]
    models: Mapping[str, Any]
    scores: Sequence[str]
    test_share: float
    most: int | None
    root: np.random.SeedSequence

    def trial(self, item: tuple[Label, str, int]) -> _Trial:
        """Train on either table and test on its own records, the synthetic model on the original's too."""
        label, name, repeat = item
        stream = child(self.root, repeat, self.tables[0].schema.names.index(label.name))
        (train_o, truth_o, test_o, wanted_o), (train_s, truth_s, test_s, wanted_s) = (
            self._parts(label, which, stream) for which in (0, 1)
        )
        model, seed = self.models[name], int(child(stream, _STATE).generate_state(1)[0])
        ranked = "auc" in self.scores
        scaled = self.encoder.scaled[self._kept(label)]
        first = standardised(train_o, test_o, scaled=scaled)
        real = fit(model, first[0], truth_o, first[1:], seed=seed, chances=ranked)
        second = standardised(train_s, test_s, test_o, scaled=scaled)
        made = fit(model, second[0], truth_s, second[1:], seed=seed, chances=ranked)
        found = [self._scores(real, 0, wanted_o), self._scores(made, 0, wanted_s), self._scores(made, 1, wanted_o)]
        return _Trial(np.array(found), real.converged and made.converged)

    def _parts(
        self, label: Label, which: int, stream: np.random.SeedSequence
    ) -> tuple[Matrix, NDArray[Any], Matrix, NDArray[Any]]:
        """Return features and labels that train, and features and labels that test."""
        table, kept = self.tables[which], self._kept(label)
        rows = np.flatnonzero(label.present(table))
        labels = label.values(table)[rows]
        capped = subsample(labels, len(rows), self.most, np.random.default_rng(child(stream, _CAP)))
        rows, labels = rows[capped], labels[capped]
        train, test = split(labels, len(rows), self.test_share, np.random.default_rng(child(stream, _SPLIT)))
        matrix = self.matrices[which]
        return matrix[rows[train]][:, kept], labels[train], matrix[rows[test]][:, kept], labels[test]

    def _kept(self, label: Label) -> NDArray[np.bool_]:
        return np.array([owner != label.name for owner in self.encoder.owners], dtype=bool)

    def _scores(self, done: Fit, test: int, truth: NDArray[Any]) -> list[float]:
        return [_score(name, done, test, truth) for name in self.scores]


def _score(name: str, done: Fit, test: int, truth: NDArray[Any]) -> float:
    right = done.answers[test].predicted == truth
    if name == "error":
        return float(1 - right.mean())
    if name == "balanced_error":
        return float(1 - np.mean([right[truth == level].mean() for level in np.unique(truth)]))
    areas = [auc(done.chance(test, level), truth == level) for level in np.unique(truth)]
    held = [area for area in areas if area is not None]
    return float(np.mean(held)) if held else 0.5


def _distance(found: NDArray[np.float64], which: int) -> tuple[float, tuple[float, float] | None]:
    """Return the mean absolute difference of mean scores from those of the original, and its interval over repeats."""
    gaps = found[:, :, which, :] - found[:, :, 0, :]
    value = float(np.abs(gaps.mean(axis=0)).mean())
    if len(gaps) < 2:
        return value, None
    without = [float(np.abs(np.delete(gaps, repeat, axis=0).mean(axis=0)).mean()) for repeat in range(len(gaps))]
    return value, jackknife(value, without, low=0.0, high=1.0)


def _rows(
    items: Sequence[tuple[Label, str, int]], means: NDArray[np.float64], scores: Sequence[str]
) -> tuple[DeltaRow, ...]:
    return tuple(
        DeltaRow(label.name, model, score, *(float(side) for side in means[i, :, j]))
        for i, (label, model, _) in enumerate(items[: len(means)])
        for j, score in enumerate(scores)
    )


def _notes(
    tables: Sequence[Table], rows: int | None, items: Sequence[tuple[Label, str, int]], converged: Sequence[bool]
) -> list[str]:
    notes = []
    if rows is not None and any(table.n_rows > rows for table in tables):
        notes.append(f"At most {rows:,} records of each table train and test in a repeat, drawn by class.")
    late = {(label.name, name) for (label, name, _), done in zip(items, converged, strict=True) if not done}
    return notes + [f"Model {name} did not converge in some fits of label '{label}'." for label, name in sorted(late)]
