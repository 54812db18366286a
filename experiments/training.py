"""What the learning experiments share: a split, a synthesis, five learners, and the printed figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import chaffinch
from benchmarks.common import machine, read_rows, write_rows
from chaffinch.report.charts import Matrices, heat_maps
from chaffinch.stats.learners import (
    CLASSIFIERS,
    Encoder,
    accuracy,
    chosen_models,
    confusion,
    fit,
    is_svm,
    split,
    standardise,
    subsample,
    work,
)
from chaffinch.table import Table
from chaffinch.utility.pearson import Pearson


def whole(values: pa.Table) -> Table:
    """Return a table whose levels are all kept: figures are to be compared with papers that pool none."""
    return chaffinch.read(values, rare="keep")


def again(table: Table, like: Table) -> Table:
    """Return rows under the schema of another table: trees cut numbers finer than the table they learn from."""
    return (
        table
        if table.schema.sizes == like.schema.sizes
        else chaffinch.read(table.data, like.schema)
    )


def halves(
    table: Table, share: float, seed: int, *, label: str | None = None
) -> tuple[Table, Table]:
    """Return a random split into training and test records; with a label each class is split by itself."""
    labels = None if label is None else table.code(label)
    train, test = split(labels, table.n_rows, share, np.random.default_rng(seed))
    return table.take(train), table.take(test)


def confusions(
    train: Table,
    test: Table,
    label: str,
    *,
    seed: int,
    svm_rows: int | None = None,
    rows: int | None = None,
) -> dict[str, np.ndarray]:
    """Return the confusion matrix of each learner: integer codes, standard scaling fitted on the training side.

    `svm_rows` and `rows` cap the training records of the support vector machine and of all learners by a stratified subsample.
    """
    rng = np.random.default_rng(seed)
    train = train.take(subsample(train.code(label), train.n_rows, rows, rng))
    encoder = Encoder.from_tables(
        [train, test], [name for name in train.schema.names if name != label]
    )
    matrix, tested = standardise(encoder.matrix(train), encoder.matrix(test), scaled=encoder.scaled)
    classes, truth = train.code(label).astype(np.int64), test.code(label)
    few = subsample(classes, len(classes), svm_rows, rng)
    models, _ = chosen_models(None, task="classification")

    def one(name: str) -> np.ndarray:
        chosen = few if is_svm(models[name]) else slice(None)
        found = fit(models[name], matrix[chosen], classes[chosen], [tested], seed=seed)
        return confusion(truth, found.answers[0].predicted, train.schema[label].size)

    return dict(zip(models, work(one, list(models)), strict=True))


def accuracies(
    train: Table,
    test: Table,
    label: str,
    *,
    seed: int,
    svm_rows: int | None = None,
    rows: int | None = None,
) -> list[float]:
    """Return the accuracy of each of `CLASSIFIERS`, in per cent."""
    found = confusions(train, test, label, seed=seed, svm_rows=svm_rows, rows=rows)
    return [100 * accuracy(found[name]) for name in CLASSIFIERS]


def shown(values: Iterable[float]) -> list[str]:
    """Return per cents as cells keep them."""
    return [f"{value:.4f}" for value in values]


def map_of(matrix: np.ndarray, names: Sequence[str], what: str) -> str:
    """Return a heat map of correlations as SVG."""
    relations = Pearson(value=0.0, names=tuple(names), original=matrix, synthetic=matrix.copy())
    return str(heat_maps("map", what, Matrices(relations), signs=True)[0]).replace(
        ", original table", ""
    )


def kept(path: Path, head: Sequence[str], arms: Iterable[str]) -> list[list[str]]:
    """Return the rows of a table that was saved before whose arm is none of those: arms that are not run again stay."""
    again = set(arms)
    return [[row[name] for name in head] for row in read_rows(path) if row["arm"] not in again]


def save(folder: Path, name: str, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write rows to NAME.csv, and the machine and versions beside them."""
    write_rows(folder / f"{name}.csv", rows, head)
    (folder / "machine.txt").write_text(machine("scikit-learn") + "\n")
