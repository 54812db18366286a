"""The fits behind a learning table: the label, what trains, what tests, what each fit scored, and how well each person's label is predicted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.checks import check_name
from .._base.errors import InputError
from .._base.masking import THRESHOLD
from .._base.runtime import Progress, silent
from .._base.seeds import Seed, child, seed_sequence
from ..counts.counter import MemoryCounter
from ..stats.learners import (
    QUICK,
    Encoder,
    Matrix,
    Models,
    Rows,
    Task,
    accuracy,
    auc,
    chosen_models,
    confusion,
    fit,
    is_random,
    is_svm,
    precision_recall_f2,
    r2_rmse,
    split,
    standardise,
    subsample,
    work,
)
from ..synth.independent import Independent
from ..table import Table
from ..table.align import align
from ..table.compare.values import numbers_of
from ..table.domain import level_labels
from ..table.schema import Column
from .settings import LearningSettings

FEWEST = 10
"""Records with a label that a table needs before anything is learnt from it; more where the threshold is higher."""
MOST_CLASSES = 10
"""Numeric labels with more distinct values than this are numbers to predict, not classes."""
RARE_LEVEL = "(rare level)"
_NUMERIC = ("integer", "float", "date", "datetime")


@dataclass(frozen=True)
class LearningLabel:
    """A column to predict, as classes (its codes) or as numbers."""

    column: Column
    task: Task

    @classmethod
    def from_table(cls, table: Table, name: str | None, task: str | None = None) -> LearningLabel:
        """Return the label of a table: the named column, or the one with the role; the task is found unless it is named.

        Numbers, dates and times with more than ten distinct values are regression; all else is classification.
        """
        column = label_column(table, name)
        numeric = column.kind in _NUMERIC
        check_name("task", task, ("classification", "regression"), optional=True)
        if task == "regression" and not numeric:
            raise InputError(
                f"Label '{column.name}' is {column.kind}: regression needs numbers. Leave task out."
            )
        if task is None:
            numbers = numbers_of(table, column.name) if numeric else np.empty(0)
            task = (
                "regression"
                if len(np.unique(numbers[~np.isnan(numbers)])) > MOST_CLASSES
                else "classification"
            )
        return cls(column, "regression" if task == "regression" else "classification")

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.column.name

    @property
    def n_classes(self) -> int:
        """The number of codes that are classes: levels and `(other)`, not missing."""
        assert self.column.codec is not None
        return self.column.codec.n_values

    def values(self, table: Table) -> NDArray[Any]:
        """Return the codes of a table's labels, or its numbers; codes from `n_classes` on and NaN are missing."""
        if self.task == "regression":
            return numbers_of(table, self.name)
        return table.code(self.name).astype(np.int64)

    def present(self, table: Table) -> NDArray[np.bool_]:
        """Return which records have a label."""
        values = self.values(table)
        return ~np.isnan(values) if self.task == "regression" else values < self.n_classes

    def labelled(self, table: Table) -> Table:
        """Return the records of a table that have a label."""
        present = self.present(table)
        return table if present.all() else table.take(np.flatnonzero(present))

    def reason(self, table: Table, which: str, threshold: int = THRESHOLD) -> str:
        """Return why nothing can be learnt from a table that `which` names, or nothing."""
        values, fewest = self.values(table)[self.present(table)], max(FEWEST, threshold)
        if len(values) < fewest:
            return f"the {which} table has fewer than {fewest} records with a label '{self.name}'"
        if len(np.unique(values)) > 1:
            return ""
        only = "class" if self.task == "classification" else "value"
        return f"label '{self.name}' has one {only} in the {which} table"


def label_column(table: Table, name: str | None) -> Column:
    """Return the column of a label that is named, or of the schema's label."""
    if name is None:
        if not (named := table.schema.with_role("label")):
            raise InputError(
                "Name the column that learners predict: label = ... No column has the role label."
            )
        name = named[0]
    column = table.schema[name]
    if not column.modelled:
        raise InputError(
            f"Column '{name}' cannot be the label: it is {column.kind}. Name a column with levels or numbers."
        )
    return column


def shown_levels(
    label: LearningLabel, original: Table, codes: Sequence[int], threshold: int = THRESHOLD
) -> tuple[str, ...]:
    """Return the names of classes for showing; those that fewer original records have than the threshold share a name."""
    counts = np.bincount(original.code(label.name), minlength=label.column.size)
    names = level_labels(label.column)
    return tuple(names[code] if counts[code] >= threshold else RARE_LEVEL for code in codes)


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
        return Encoder.from_tables(self.tables, features, encoding=self.settings.feature_encoding)

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
        max_rows = self.settings.svm_rows
        capped = max_rows is not None and any(table.n_rows > max_rows for table in self.tables[:2])
        return {
            name: m for name, m in self.models.items() if is_random(m) or (capped and is_svm(m))
        }

    def _repeat(
        self, repeat: int, models: Sequence[str]
    ) -> Iterator[tuple[tuple[str, str], FitScores]]:
        if not models:
            return
        training, test = self._all_and_holdout if self.held_out else self._split(repeat)
        items = [(name, on) for name in models for on in training]
        # Forests take longest, most of all on columns without relations: they start first, so that no thread waits for one.
        first = sorted(
            items, key=lambda item: (not is_random(self.models[item[0]]), item[1] != "marginals")
        )

        def train_and_test(item: tuple[str, str]) -> FitScores:
            name, on = item
            return self._outcome(self.models[name], training[on], test, repeat)

        span = repeat / self.settings.repeats, (repeat + 1) / self.settings.repeats
        doing = f"learning {self.label.name}"
        done = work(
            train_and_test,
            first,
            threads=self.threads,
            progress=self.progress,
            doing=doing,
            span=span,
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
        training = {"original": original, "synthetic": synthetic}
        if self.settings.marginals:
            training["marginals"] = self._independent(
                self.tables[0], child(self.root, 0, _MARGINALS)
            )
        return training, holdout

    def _split(self, repeat: int) -> tuple[dict[str, LabelledMatrix], LabelledMatrix]:
        """A part of the original and as many other records train; the rest of the original tests."""
        original, synthetic = self._encoded
        labels = original.labels if self.classes else None
        train, test = split(
            labels, len(original), self.settings.test_share, self._rng(repeat, _SPLIT)
        )
        same_size = subsample(None, len(synthetic), len(train), self._rng(repeat, _SUBSET))
        training = {"original": original.take(train), "synthetic": synthetic.take(same_size)}
        if self.settings.marginals:
            train_table = self.tables[0].take(train)
            training["marginals"] = self._independent(
                train_table, child(self.root, repeat, _MARGINALS)
            )
        return training, original.take(test)

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
        train, asked = standardise(side.matrix, test.matrix, scaled=self.encoder.scaled)
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


@dataclass(frozen=True, eq=False)
class PersonScores:
    """For each person with a label the mean over models of being right (1 or 0), or for numbers of 1 - squared error / variance; their mean is accuracy or R2.

    Empty, with `reason`, where nothing can be learnt.
    """

    scores: NDArray[np.float64]
    task: str
    reason: str = ""


def person_scores(
    original: Table,
    learnt: Any,
    people: Any,
    *,
    label: str,
    models: Models = None,
    seed: Seed = None,
    threads: int | None = None,
) -> PersonScores:
    """Return how well models that learnt from a table predict the labels of people.

    Parameters
    ----------
    original
        The table that the columns, the grid and the kind of label are those of.
    learnt, people
        The table that models learn from, and the people whose labels they predict.
    models
        As in `learning`; the quick ones unless named.

    Examples
    --------
    >>> import pyarrow as pa, chaffinch
    >>> table = chaffinch.read(pa.table({"a": ["x", "y"] * 50, "b": ["p", "q"] * 50}))
    >>> float(person_scores(table, table, table, label="b").scores.mean())
    1.0
    """
    aligned_tables = align(original, learnt, people, names=("learnt", "people"))
    name = label_column(original, label).name
    target = LearningLabel.from_table(aligned_tables[0], name, None)
    estimators, _ = chosen_models(QUICK if models is None else models, task=target.task)
    tables = [target.labelled(table) for table in aligned_tables]
    root = seed_sequence(seed)
    if (
        not estimators
        or len(tables[0].schema.names) < 2
        or min(table.n_rows for table in tables[1:]) < FEWEST
    ):
        return PersonScores(
            np.empty(0),
            target.task,
            f"too few records have a label '{name}', or there is nothing to learn from",
        )
    trials = LearningTrials(
        label=target,
        tables=tables,
        models=estimators,
        settings=LearningSettings(label=name, repeats=1, marginals=False),
        root=root,
        threads=threads,
        progress=silent,
    )
    train, asked = standardise(
        trials.encoder.matrix(tables[1]),
        trials.encoder.matrix(tables[2]),
        scaled=trials.encoder.scaled,
    )
    labels, truth = target.values(tables[1]), target.values(tables[2])
    state = int(child(root, 1).generate_state(1)[0])

    def score_people(model: Any) -> NDArray[np.float64]:
        answer = (
            fit(model, train, labels, [asked], task=target.task, seed=state).answers[0].predicted
        )
        if target.task == "classification":
            return np.asarray(answer == truth, dtype=np.float64)
        spread = float(np.var(truth)) or 1.0
        return np.asarray(1 - (truth - answer) ** 2 / spread, dtype=np.float64)

    scores = work(score_people, list(estimators.values()), threads=threads)
    return PersonScores(np.mean(scores, axis=0), target.task)
