"""The fits behind a learning table: what trains, what tests, and what each fit scored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.masking import SHOWN_FROM
from .._base.progress import Progress
from ..stats.features import Encoder, Encoding, Matrix, standardised
from ..stats.learners import fit, is_random, is_svm, work
from ..stats.scoring import accuracy, auc, confusion, precision_recall_f2, r2_rmse
from ..stats.splits import Rows, child, split, subsample
from ..synth.independent import Independent
from ..table.table import Table
from .labels import Label

__all__ = ["Outcome", "Side", "Trials"]

Found = dict[tuple[str, str], list["Outcome"]]
_SPLIT, _SUBSET, _MARGINALS, _STATE, _CAP = range(5)
"""The streams of a repeat."""


@dataclass(frozen=True, eq=False)
class Side:
    """Records with labels, as a matrix."""

    matrix: Matrix
    labels: NDArray[Any]

    def take(self, rows: Rows) -> Side:
        """Return the chosen records."""
        return Side(self.matrix[rows], self.labels[rows])

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, kw_only=True, eq=False)
class Outcome:
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
class Trials:
    """A label, tables on one grid (original, synthetic and perhaps holdout; records with a label alone), and models."""

    label: Label
    tables: Sequence[Table]
    models: Mapping[str, Any]
    encoding: Encoding
    repeats: int
    test_share: float
    marginals: bool
    svm_rows: int | None
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
        """The class with the fewest original records, where there are two and at least ten records have it."""
        if not self.classes:
            return None
        counts = np.bincount(self.label.values(self.tables[0]), minlength=self.label.n_classes)
        held = np.flatnonzero(counts)
        if len(held) != 2 or counts[held].min() < SHOWN_FROM:
            return None
        return int(held[0] if counts[held[0]] < counts[held[1]] else held[1])

    @cached_property
    def encoder(self) -> Encoder:
        """How the columns beside the label become features."""
        features = [name for name in self.tables[0].schema.names if name != self.label.name]
        return Encoder.of(self.tables, features, encoding=self.encoding)

    def run(self) -> Found:
        """Return the outcomes of each model and training table, one for each fit."""
        found: Found = {}
        for repeat in range(self.repeats):
            models = self.models if repeat == 0 or not self.held_out else self._varying
            for key, outcome in self._repeat(repeat, list(models)):
                found.setdefault(key, []).append(outcome)
        return found

    @cached_property
    def _varying(self) -> Mapping[str, Any]:
        """The models whose fits to the same records differ between repeats."""
        capped = self.svm_rows is not None and any(table.n_rows > self.svm_rows for table in self.tables[:2])
        return {name: m for name, m in self.models.items() if is_random(m) or (capped and is_svm(m))}

    def _repeat(self, repeat: int, models: Sequence[str]) -> Iterator[tuple[tuple[str, str], Outcome]]:
        if not models:
            return
        sides, test = self._all_and_holdout if self.held_out else self._split(repeat)
        items = [(name, on) for name in models for on in sides]
        # Forests take longest, most of all on columns without relations: they start first, so that no thread waits for one.
        first = sorted(items, key=lambda item: (not is_random(self.models[item[0]]), item[1] != "marginals"))

        def one(item: tuple[str, str]) -> Outcome:
            name, on = item
            return self._outcome(self.models[name], sides[on], test, repeat)

        span = repeat / self.repeats, (repeat + 1) / self.repeats
        doing = f"learning {self.label.name}"
        done = work(one, first, threads=self.threads, progress=self.progress, doing=doing, span=span)
        outcomes = dict(zip(first, done, strict=True))
        yield from ((item, outcomes[item]) for item in items)

    @cached_property
    def _encoded(self) -> list[Side]:
        return [self._side(table) for table in self.tables]

    @cached_property
    def _all_and_holdout(self) -> tuple[dict[str, Side], Side]:
        """All records of each table train; the holdout tests."""
        original, synthetic, holdout = self._encoded
        sides = {"original": original, "synthetic": synthetic}
        if self.marginals:
            sides["marginals"] = self._independent(self.tables[0], child(self.root, 0, _MARGINALS))
        return sides, holdout

    def _split(self, repeat: int) -> tuple[dict[str, Side], Side]:
        """A part of the original and as many other records train; the rest of the original tests."""
        original, synthetic = self._encoded
        labels = original.labels if self.classes else None
        train, test = split(labels, len(original), self.test_share, self._rng(repeat, _SPLIT))
        kept = subsample(None, len(synthetic), len(train), self._rng(repeat, _SUBSET))
        sides = {"original": original.take(train), "synthetic": synthetic.take(kept)}
        if self.marginals:
            part = self.tables[0].take(train)
            sides["marginals"] = self._independent(part, child(self.root, repeat, _MARGINALS))
        return sides, original.take(test)

    def _side(self, table: Table) -> Side:
        return Side(self.encoder.matrix(table), self.label.values(table))

    def _independent(self, table: Table, seed: np.random.SeedSequence) -> Side:
        return self._side(Independent().fit(table).sample(table.n_rows, seed=seed, threads=self.threads))

    def _rng(self, *key: int) -> np.random.Generator:
        return np.random.default_rng(child(self.root, *key))

    def _outcome(self, model: Any, side: Side, test: Side, repeat: int) -> Outcome:
        if is_svm(model):
            labels = side.labels if self.classes else None
            side = side.take(subsample(labels, len(side), self.svm_rows, self._rng(repeat, _CAP)))
        train, asked = standardised(side.matrix, test.matrix, scaled=self.encoder.scaled)
        seed = int(child(self.root, repeat, _STATE).generate_state(1)[0])
        ranked = self.rarer is not None
        done = fit(model, train, side.labels, [asked], task=self.label.task, seed=seed, chances=ranked)
        answer = done.answers[0]
        if not self.classes:
            r2, rmse = r2_rmse(test.labels, answer.predicted)
            return Outcome(score=r2, rmse=rmse, converged=done.converged)
        counts = confusion(test.labels, answer.predicted, self.label.n_classes)
        precision, recall, f2 = precision_recall_f2(counts, self.rarer)
        area = None
        if self.rarer is not None and answer.chances is not None:
            area = auc(done.chance(0, self.rarer), test.labels == self.rarer)
        return Outcome(
            score=accuracy(counts), precision=precision, recall=recall, f2=f2, auc=area, counts=counts,
            converged=done.converged,
        )  # fmt: skip
