"""delta of P4 on all records of Adult: each fit is a row of `adult_all.csv`, appended when it ends and skipped when it is there.

python -m experiments.p4_composite.all_records [REPEATS]

Ten repeats over three syntheses: repeat r splits synthesis (r - 1) mod 3 + 1 anew. Repeats come one after the other, so a run
that was stopped has the same number of repeats at every epsilon, but for the last.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import read_rows, run_study
from benchmarks.data import bundled
from chaffinch import PrivBayes
from chaffinch.stats.learners import (
    Encoder,
    split,
    standardise,
)
from chaffinch.table import Table
from chaffinch.table.align import align
from experiments.cells import append_rows
from experiments.p4_composite.run import declared, synthesis
from experiments.p4_composite.support_vectors import KernelVotes
from experiments.training import whole

HERE = Path(__file__).resolve().parent

FOUND = HERE / "adult_all.csv"
HEAD = [
    "synthesiser",
    "epsilon",
    "copy",
    "repeat",
    "label",
    "records",
    "error",
    "error on original",
    "cpu seconds",
]
COPIES = 3
FIRST = (2.0, 0.1, 0.5, 0.01, 1.0, 0.05)
"""Epsilons that every repeat begins with."""

Key = tuple[str, str, str, str]


def finished() -> set[Key]:
    """Return the fits that are in the file."""
    return {(r["synthesiser"], r["epsilon"], r["repeat"], r["label"]) for r in read_rows(FOUND)}


def parts(table: Table, label: str, repeat: int) -> tuple[np.ndarray, np.ndarray]:
    """Return which records train and which test; the same stream for every table, as `utility.delta` has it."""
    rng = np.random.default_rng([repeat, table.schema.names.index(label)])
    train, test = split(table.code(label), table.n_rows, 0.2, rng)
    return train, test


def errors(original: Table, table: Table, label: str, repeat: int) -> tuple[float, float]:
    """Return the share of wrong answers of a model of a table: on the table's own test records, and on the original's."""
    features = [name for name in table.schema.names if name != label]
    encoder = Encoder.from_tables([original, table], features)
    train, test = parts(table, label, repeat)
    _, real = parts(original, label, repeat)
    matrix, others = encoder.matrix(table), encoder.matrix(original)
    known, own, theirs = standardise(
        matrix[train], matrix[test], others[real], scaled=encoder.scaled
    )
    model = KernelVotes().fit(known, table.code(label)[train])
    return tuple(
        float(np.mean(model.predict(asked) != truth))
        for asked, truth in ((own, table.code(label)[test]), (theirs, original.code(label)[real]))
    )  # type: ignore[return-value]


def main(repeats: int = 10) -> None:
    """Append a row for each fit that is not there yet."""
    original, known = whole(bundled("adult")), declared("adult")
    labels = [c.name for c in original.schema if c.kind in ("categorical", "boolean")]
    every = [float(row["epsilon"]) for row in read_rows(HERE / "p4_epsilons.csv")]
    epsilons = [*FIRST, *(epsilon for epsilon in every if epsilon not in FIRST)]
    done = finished()
    for repeat in range(1, repeats + 1):
        copy = (repeat - 1) % COPIES + 1
        for epsilon in (None, *epsilons):
            name, word = ("original", "") if epsilon is None else ("privbayes", str(epsilon))
            missing = [label for label in labels if (name, word, str(repeat), label) not in done]
            if not missing:
                continue
            first, table = original, original
            if epsilon is not None:
                made = synthesis(PrivBayes(epsilon), known)(original, 2 * copy - 1)
                first, table = align(original, made)
            for label in missing:
                start = time.process_time()
                own, real = errors(first, table, label, repeat)
                seconds = time.process_time() - start
                row: list[Any] = [
                    name,
                    word,
                    copy,
                    repeat,
                    label,
                    table.n_rows,
                    f"{own:.5f}",
                    f"{real:.5f}",
                    f"{seconds:.1f}",
                ]
                append_rows(FOUND, HEAD, [row])
                print(*row, flush=True)


if __name__ == "__main__":
    run_study(main)
