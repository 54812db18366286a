"""Rerun P3 figures 8 to 11: distance and learning of private tables over epsilon, ten subsets of 1,000 records each.

python -m experiments.p3_utility.run [adult] [cardio]
python -m experiments.p3_utility.run --show    # figures and tables of the README again, from the CSV
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

from benchmarks.common import Option, run_study
from chaffinch import BayesNet, PrivBayes
from chaffinch.privacy.prepare import prepare
from chaffinch.stats.learners import (
    Encoder,
    auc,
    fit,
)
from chaffinch.table import Table
from chaffinch.table.align import align
from chaffinch.table.schema import Schema
from chaffinch.utility import jensen_shannon
from experiments.p3_population import declared, population
from experiments.p3_utility.showing import draw, tabulate
from experiments.training import save

HERE = Path(__file__).resolve().parent

EPSILONS = (0.1, 1.0, 10.0, 100.0, 1000.0)
SUBSETS, ROWS, OUTSIDE = 10, 1_000, 5_000
"""Subsets, their records, and the records outside a subset on which forests are tested."""
SYNTHESISERS: dict[str, Callable[[float], Any]] = {
    "dpart": lambda epsilon: PrivBayes(epsilon, variant="dpart"),
    "sdg": lambda epsilon: PrivBayes(epsilon, variant="sdg"),
    "published": PrivBayes,
    "bayesnet": lambda epsilon: BayesNet(epsilon=epsilon, delta=1e-6),
}
FROM_SAMPLE = ("dpart", "sdg")
"""Those that are also run on levels read from the subset, as the packages do: no promise holds then."""
LABELS = {"adult": "income", "cardio": "cardio"}
FORESTS = {
    "adult": ("onehot", RandomForestClassifier()),
    "cardio": ("codes", RandomForestClassifier(n_estimators=30, max_depth=10)),
}
"""As in the code that accompanies the paper."""
MEASURES = ("distance", "AUC", "AUC of classes", "AUC as P3", "AUC as P3 outside")
COMPARED = ("AUC", "AUC as P3", "AUC as P3 outside")
"""Those of which the original's is taken off, subset by subset."""
ORIGINAL, FRESH = "original", "other records"
Row = tuple[str, str, float | None, int, dict[str, float]]


def areas(
    dataset: str, train: Table, tests: Sequence[Table], seed: int
) -> list[tuple[float, float, bool]]:
    """Return for each test table the AUC of scores, that of predicted classes, and whether only one class was predicted."""
    label = LABELS[dataset]
    encoding, forest = FORESTS[dataset]
    encoder = Encoder.from_tables(
        [train, *tests], [n for n in train.schema.names if n != label], encoding=encoding
    )
    matrices = [encoder.matrix(test) for test in tests]
    found = fit(
        forest,
        encoder.matrix(train),
        train.code(label).astype(np.int64),
        matrices,
        seed=seed,
        chances=True,
    )
    out = []
    for i, test in enumerate(tests):
        positive: NDArray[np.bool_] = test.code(label) == 1
        predicted = found.answers[i].predicted
        scored, hard = (
            auc(found.chance(i, 1), positive),
            auc((predicted == 1).astype(float), positive),
        )
        assert scored is not None
        assert hard is not None
        out.append((scored, hard, len(np.unique(predicted)) < 2))
    return out


def measured(
    dataset: str, original: Table, train: Table, outside: Table, seed: int
) -> dict[str, float]:
    """Return what a table is worth in place of the original, tested on records outside, and as the paper's code tests it.

    That code fits synthesisers to all 1,000 records, trains on 800 rows of the result (or of the original), tests on 200
    of the original's own records, takes the AUC of predicted classes, and writes 0 where only one was predicted. "Outside"
    changes nothing but the test records.
    """
    order = np.random.default_rng([3, seed]).permutation(original.n_rows)
    cut = original.n_rows // 5
    scored, hard, _ = areas(dataset, train, [outside], seed)[0]
    seen, unseen = areas(
        dataset, train.take(order[cut:]), [original.take(order[:cut]), outside], seed
    )
    as_p3 = {
        "AUC as P3": 0.0 if seen[2] else seen[1],
        "AUC as P3 outside": 0.0 if unseen[2] else unseen[1],
    }
    return {"AUC": scored, "AUC of classes": hard, **as_p3}


def subset(frame: pd.DataFrame, schema: Schema, dataset: str, seed: int) -> list[Row]:
    """Return the measures of every synthesiser and epsilon on one subset."""
    order = np.random.default_rng([list(LABELS).index(dataset), seed]).permutation(len(frame))
    held = frame.iloc[order[:ROWS]]
    original = prepare(held, schema)
    outside, fresh = (
        prepare(frame.iloc[order[ROWS:][rows]], schema)
        for rows in (slice(OUTSIDE), slice(OUTSIDE, OUTSIDE + ROWS))
    )
    rows: list[Row] = [
        (
            ORIGINAL,
            "",
            None,
            seed,
            {"distance": 0.0, **measured(dataset, original, original, outside, seed)},
        ),
        (FRESH, "", None, seed, {"distance": float(jensen_shannon(original, fresh).value or 0.0)}),
    ]
    for domain, table in (("declared", original), ("subset", prepare(held, declared(held, ROWS)))):
        for name, made in SYNTHESISERS.items():
            if domain == "subset" and name not in FROM_SAMPLE:
                continue
            for epsilon in EPSILONS:
                synthetic = made(epsilon).fit(table, seed=seed).sample(ROWS, seed=1000 + seed)
                same = align(original, synthetic)[1]
                distance = float(jensen_shannon(original, same).value or 0.0)
                found = measured(dataset, original, same, outside, seed)
                rows.append((name, domain, epsilon, seed, {"distance": distance, **found}))
    print(".", end="", flush=True)
    return rows


def measure(dataset: str) -> None:
    """Write a row for each synthesis and their means."""
    frame = population(dataset)
    schema = declared(frame, ROWS)
    print(dataset, f"{len(frame)} records", flush=True)
    # Processes, since forests of this size hold on to the interpreter, and scikit-learn's handling of warnings is not for threads.
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        rows = [
            row
            for part in pool.map(partial(subset, frame, schema, dataset), range(SUBSETS))
            for row in part
        ]
    print()
    told = [
        [
            dataset,
            name,
            domain,
            epsilon,
            seed,
            *(f"{found[m]:.5f}" if m in found else "" for m in MEASURES),
        ]
        for name, domain, epsilon, seed, found in rows
    ]
    save(HERE, dataset, ["dataset", "synthesiser", "levels", "epsilon", "seed", *MEASURES], told)
    originals = {seed: found for name, _, _, seed, found in rows if name == ORIGINAL}
    means: list[list[Any]] = []
    for key in dict.fromkeys(row[:3] for row in rows):
        held = [(row[3], row[4]) for row in rows if row[:3] == key]
        cells: list[str] = []
        for measure in MEASURES:
            values = [found[measure] for _, found in held if measure in found]
            cells += told_mean(values)
        for measure in COMPARED:
            cells += told_mean(
                [
                    found[measure] - originals[seed][measure]
                    for seed, found in held
                    if measure in found
                ]
            )
        means.append([dataset, *key, len(held), *cells])
        print(*means[-1])
    head = [name for measure in MEASURES for name in (measure, f"{measure}, s.e.")]
    more = [f"{measure} less original's" for measure in COMPARED]
    head += [name for measure in more for name in (measure, f"{measure}, s.e.")]
    save(
        HERE,
        f"{dataset}_means",
        ["dataset", "synthesiser", "levels", "epsilon", "subsets", *head],
        means,
    )


def told_mean(values: Sequence[float]) -> list[str]:
    """Return the mean and its standard error, as text; empty where there is nothing."""
    if not values:
        return ["", ""]
    return [f"{np.mean(values):.4f}", f"{np.std(values, ddof=1) / np.sqrt(len(values)):.4f}"]


def main(
    datasets: Annotated[tuple[str, ...], Option("", known=lambda: tuple(LABELS))] = tuple(LABELS),
    *,
    show: bool = False,
) -> None:
    """Measure what is asked for, unless results are only shown, and draw and print all."""
    for dataset in () if show else datasets:
        measure(dataset)
    draw()
    tabulate()


if __name__ == "__main__":
    run_study(main)
