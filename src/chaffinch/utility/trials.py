"""The fits behind a learning table: what trains, what tests, and what each fit scored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.masking import THRESHOLD
from .._base.runtime import Progress
from ..counts.counter import MemoryCounter
from ..stats.features import Encoder, Encoding, Matrix, standardised
from ..stats.learners import Models, fit, is_random, is_svm, work
from ..stats.scoring import accuracy, auc, confusion, precision_recall_f2, r2_rmse
from ..stats.splits import Rows, child, split, subsample
from ..synth.independent import Independent
from ..table.table import Table
from .labels import LearningLabel, check_repeats

Scored = dict[tuple[str, str], list["FitScores"]]
"""Scores of each fit, by model and by what it was trained on."""
_SPLIT, _SUBSET, _MARGINALS, _STATE, _CAP = range(5)
"""The streams of a repeat."""


@dataclass(frozen=True, eq=False)
class LabelledMatrix:
    """Records with labels, as a matrix."""

    matrix: Matrix
    labels: NDArray[Any]

    def take(self, rows: Rows) -> LabelledMatrix:
        """Return the chosen records."""
        return LabelledMatrix(self.matrix[rows], self.labels[rows])

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, kw_only=True, eq=False)
class FitScores:
    """What one fit scored on the test records; a rate is None where the label has none."""

    score: float
    precision: float | None = None
    recall: float | None = None
    f2: float | None = None
    auc: float | None = None
    rmse: float | None = None
    counts: NDArray[np.int64] | None = None
    converged: bool = True


@dataclass(frozen=True, kw_only=True)
class LearningSettings:
    """What is learnt, by which models, how often.

    `models` are some of `nb`, `svc`, `knn`, `rf`, `lr` (`lr`, `knn`, `rf`, `svr` for regression), or scikit-learn estimators by name.
    Features are `codes` (standardised, as Hittmeir et al. have it) or `onehot`, fitted on the training side: see `Encoder`.
    """

    label: str | None = None  # the schema's label unless named; records without one are left out
    task: str | None = (
        None  # numbers with more than ten distinct values are `regression` unless named, else `classification`
    )
    models: Models = None
    encoding: Encoding = "codes"
    repeats: int = 10
    test_share: float = 0.2
    marginals: bool = True  # a table of independent columns is learnt from too
    svm_rows: int | None = (
        5000  # most that train a support vector machine, drawn by class: time grows with their square or faster
    )
    threshold: int = THRESHOLD

    def __post_init__(self) -> None:
        check_repeats(self.repeats, self.test_share, "svm_rows", self.svm_rows)


@dataclass(frozen=True, kw_only=True, eq=False)
class LearningTrials:
    """A label, tables on one grid (original, synthetic and perhaps holdout; records with a label alone), and models."""

    label: LearningLabel
    tables: Sequence[Table]
    models: Mapping[str, Any]
    settings: LearningSettings
    root: np.random.SeedSequence
    threads: int | None
    progress: Progress

    @property
    def classes(self) -> bool:
        """Whether classes are learnt, not numbers."""
        return self.label.task == "classification"

    @property
    def held_out(self) -> bool:
        """Whether there is a holdout."""
        return len(self.tables) > 2

    @cached_property
    def rarer(self) -> int | None:
        """The class with the fewest original records, where there are two and as many records as the threshold have it."""
        if not self.classes:
            return None
        counts = np.bincount(self.label.values(self.tables[0]), minlength=self.label.n_classes)
        classes = np.flatnonzero(counts)
        if len(classes) != 2 or counts[classes].min() < self.settings.threshold:
            return None
        return int(classes[0] if counts[classes[0]] < counts[classes[1]] else classes[1])

    @cached_property
    def encoder(self) -> Encoder:
        """How the columns beside the label become features."""
        features = [name for name in self.tables[0].schema.names if name != self.label.name]
        return Encoder.of(self.tables, features, encoding=self.settings.encoding)

    def run(self) -> Scored:
        """Return the outcomes of each model and training table, one for each fit."""
        scored: Scored = {}
        for repeat in range(self.settings.repeats):
            models = self.models if repeat == 0 or not self.held_out else self._varying
            for key, outcome in self._repeat(repeat, list(models)):
                scored.setdefault(key, []).append(outcome)
        return scored

    @cached_property
    def _varying(self) -> Mapping[str, Any]:
        """The models whose fits to the same records differ between repeats."""
        most = self.settings.svm_rows
        capped = most is not None and any(table.n_rows > most for table in self.tables[:2])
        return {
            name: m for name, m in self.models.items() if is_random(m) or (capped and is_svm(m))
        }

    def _repeat(
        self, repeat: int, models: Sequence[str]
    ) -> Iterator[tuple[tuple[str, str], FitScores]]:
        if not models:
            return
        sides, test = self._all_and_holdout if self.held_out else self._split(repeat)
        items = [(name, on) for name in models for on in sides]
        # Forests take longest, most of all on columns without relations: they start first, so that no thread waits for one.
        first = sorted(
            items, key=lambda item: (not is_random(self.models[item[0]]), item[1] != "marginals")
        )

        def one(item: tuple[str, str]) -> FitScores:
            name, on = item
            return self._outcome(self.models[name], sides[on], test, repeat)

        span = repeat / self.settings.repeats, (repeat + 1) / self.settings.repeats
        doing = f"learning {self.label.name}"
        done = work(
            one, first, threads=self.threads, progress=self.progress, doing=doing, span=span
        )
        outcomes = dict(zip(first, done, strict=True))
        yield from ((item, outcomes[item]) for item in items)

    @cached_property
    def _encoded(self) -> list[LabelledMatrix]:
        return [self._side(table) for table in self.tables]

    @cached_property
    def _all_and_holdout(self) -> tuple[dict[str, LabelledMatrix], LabelledMatrix]:
        """All records of each table train; the holdout tests."""
        original, synthetic, holdout = self._encoded
        sides = {"original": original, "synthetic": synthetic}
        if self.settings.marginals:
            sides["marginals"] = self._independent(self.tables[0], child(self.root, 0, _MARGINALS))
        return sides, holdout

    def _split(self, repeat: int) -> tuple[dict[str, LabelledMatrix], LabelledMatrix]:
        """A part of the original and as many other records train; the rest of the original tests."""
        original, synthetic = self._encoded
        labels = original.labels if self.classes else None
        train, test = split(
            labels, len(original), self.settings.test_share, self._rng(repeat, _SPLIT)
        )
        same_size = subsample(None, len(synthetic), len(train), self._rng(repeat, _SUBSET))
        sides = {"original": original.take(train), "synthetic": synthetic.take(same_size)}
        if self.settings.marginals:
            part = self.tables[0].take(train)
            sides["marginals"] = self._independent(part, child(self.root, repeat, _MARGINALS))
        return sides, original.take(test)

    def _side(self, table: Table) -> LabelledMatrix:
        return LabelledMatrix(self.encoder.matrix(table), self.label.values(table))

    def _independent(self, table: Table, seed: np.random.SeedSequence) -> LabelledMatrix:
        return self._side(
            Independent()
            .fit(MemoryCounter(table))
            .sample(table.n_rows, seed=seed, threads=self.threads)
        )

    def _rng(self, *key: int) -> np.random.Generator:
        return np.random.default_rng(child(self.root, *key))

    def _outcome(
        self, model: Any, side: LabelledMatrix, test: LabelledMatrix, repeat: int
    ) -> FitScores:
        if is_svm(model):
            labels = side.labels if self.classes else None
            side = side.take(
                subsample(labels, len(side), self.settings.svm_rows, self._rng(repeat, _CAP))
            )
        train, asked = standardised(side.matrix, test.matrix, scaled=self.encoder.scaled)
        seed = int(child(self.root, repeat, _STATE).generate_state(1)[0])
        ranked = self.rarer is not None
        done = fit(
            model, train, side.labels, [asked], task=self.label.task, seed=seed, chances=ranked
        )
        answer = done.answers[0]
        if not self.classes:
            r2, rmse = r2_rmse(test.labels, answer.predicted)
            return FitScores(score=r2, rmse=rmse, converged=done.converged)
        counts = confusion(test.labels, answer.predicted, self.label.n_classes)
        precision, recall, f2 = precision_recall_f2(counts, self.rarer)
        area = None
        if self.rarer is not None and answer.chances is not None:
            area = auc(done.chance(0, self.rarer), test.labels == self.rarer)
        return FitScores(
            score=accuracy(counts),
            precision=precision,
            recall=recall,
            f2=f2,
            auc=area,
            counts=counts,
            converged=done.converged,
        )
