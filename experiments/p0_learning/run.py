"""Rerun the learning tables of P0, V to VII, and figure 1: learners trained on original and on synthetic records.

python experiments/p0_learning/run.py [cmc] [adult] [creditcard] [figure]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from training import CLASSIFIERS, confusions, halves, map_of, printed, save, whole  # noqa: E402

from chaffinch import BayesNet, Evolution  # noqa: E402
from chaffinch.stats.scoring import accuracy, precision_recall_f2  # noqa: E402
from chaffinch.table import Table  # noqa: E402
from chaffinch.utility import pearson  # noqa: E402

sys.path.insert(0, str(HERE.parents[1] / "benchmarks"))

from data import adult, bundled, creditcard_absent, shared_folder  # noqa: E402

SEARCHES = ("greedy", "genetic", "ordering")
ADULT_SVM_ROWS = 10_000
HEAD = [
    "dataset", "trained_on", "k", "model", "accuracy", "sd", "n", "accuracy P0", "gap", "gap P0", "standard error",
]  # fmt: skip


def settings(search: str, k: int, *, generations: int = 400, **more: object) -> BayesNet:
    """Return a synthesiser as P0 sets it, for one of its searches or for ours."""
    return BayesNet(parents=k, search=search, evolution=Evolution(generations=generations), **more)  # type: ignore[arg-type]


def trained(
    train: Table, test: Table, label: str, seed: int, ks: range, *, copies: int = 1, svm_rows: int | None = None
) -> Iterator[tuple[str, int, str, float]]:
    """Yield what learners reach on a test set: trained on, k, model, accuracy."""
    for name, counts in confusions(train, test, label, seed=seed, svm_rows=svm_rows).items():
        yield "original", 0, name, accuracy(counts)
    for search in SEARCHES:
        for k in ks:
            for copy in range(copies):
                model = settings(search, k).fit(train, seed=seed + copy)
                synthetic = model.sample(train.n_rows, seed=1000 + seed + copy)
                for name, counts in confusions(synthetic, test, label, seed=seed, svm_rows=svm_rows).items():
                    yield search, k, name, accuracy(counts)
            print(".", end="", flush=True)


def summary(dataset: str, found: list[tuple[str, int, str, float]], theirs: list[dict[str, str]]) -> list[list[object]]:
    """Return a row for each training set and model, and one for the mean over models, ours beside the paper's."""
    paper = {(row["trained_on"], int(row["k"] or 0), row["model"]): float(row["accuracy"]) for row in theirs}
    rows: list[list[object]] = []
    originals = means_over_models(found, "original", 0)
    for trained_on, k in sorted({(row[0], row[1]) for row in found}, key=lambda key: (key[0] != "original", *key)):
        for model in (*CLASSIFIERS, "avg"):
            values = 100 * (
                means_over_models(found, trained_on, k) if model == "avg" else of(found, trained_on, k, model)
            )
            base = originals if model == "avg" else of(found, "original", 0, model)
            gaps = 100 * base.repeat(len(values) // len(base)) - values
            printed_here = paper.get((trained_on, k, model))
            printed_gap = None if printed_here is None else paper["original", 0, model] - printed_here
            rows.append(
                [
                    dataset, trained_on, k or "", model, f"{values.mean():.1f}", f"{values.std(ddof=1) if len(values) > 1 else 0:.1f}",
                    len(values), "" if printed_here is None else printed_here, f"{gaps.mean():.2f}",
                    "" if printed_gap is None else f"{printed_gap:.1f}",
                    f"{gaps.std(ddof=1) / np.sqrt(len(gaps)):.2f}" if len(gaps) > 1 else "",
                ]
            )  # fmt: skip
    return rows


def of(found: list[tuple[str, int, str, float]], trained_on: str, k: int, model: str) -> np.ndarray:
    """Return the accuracies of one model, in the order of the runs."""
    return np.array([row[3] for row in found if row[:3] == (trained_on, k, model)])


def means_over_models(found: list[tuple[str, int, str, float]], trained_on: str, k: int) -> np.ndarray:
    """Return the mean over the five models of each run."""
    return np.mean([of(found, trained_on, k, model) for model in CLASSIFIERS], axis=0)


def cmc() -> None:
    """Table V: ten random splits."""
    table = whole(bundled("cmc"))
    found = []
    for seed in range(10):
        train, test = halves(table, 0.2, seed)
        found += list(trained(train, test, "contraceptive_method", seed, range(1, 5)))
    save(HERE, "cmc", HEAD, summary("cmc", found, printed(HERE / "p0_table05_cmc_learning.csv")))


def adult_split() -> None:
    """Table VI: the published split, ten syntheses of the training side for each search and k."""
    table = whole(adult("train", "test"))
    train, test = table.take(np.arange(32_561)), table.take(np.arange(32_561, table.n_rows))
    found = list(trained(train, test, "income", 0, range(1, 5), copies=10, svm_rows=ADULT_SVM_ROWS))
    save(HERE, "adult", HEAD, summary("adult", found, printed(HERE / "p0_table06_adult_learning.csv")))


def creditcard() -> None:
    """Table VII: one random split of the public sample; confusion matrices and F2 of the frauds."""
    path = shared_folder() / "creditcard" / "creditcard_sample.parquet"
    if not path.exists():
        print(creditcard_absent())
        return
    table = whole(pq.read_table(path))
    label = "class"
    train, test = halves(table, 0.2, 0, label=label)
    theirs = {(r["trained_on"], r["k"]): r["f2_avg"] for r in printed(HERE / "p0_table07_creditcard_f2.csv")}
    rows: list[list[object]] = []
    for search in ("original", *SEARCHES):
        for k in range(1, 4) if search != "original" else (0,):
            source = train
            if k:
                source = settings(search, k, generations=2000).fit(train, seed=1).sample(train.n_rows, seed=2)
            every = confusions(source, test, label, seed=0)
            scores = {name: 100 * precision_recall_f2(counts, positive=1)[2] for name, counts in every.items()}
            for name, counts in every.items():
                rows.append(
                    ["creditcard sample", search, k or "", name, *counts.ravel().tolist(), f"{scores[name]:.1f}", ""]
                )
            mean = f"{np.mean(list(scores.values())):.1f}"
            rows.append(
                [
                    "creditcard sample",
                    search,
                    k or "",
                    "avg",
                    "",
                    "",
                    "",
                    "",
                    mean,
                    theirs.get((search, str(k or "")), ""),
                ]
            )
            print(".", end="", flush=True)
    save(HERE, "creditcard", ["dataset", "trained_on", "k", "model", "tn", "fp", "fn", "tp", "F2", "F2 P0"], rows)


def figure() -> None:
    """Figure 1: Pearson correlations of codes on Adult: original, synthetic, and with `relationship` protected."""
    table = whole(adult("train", "test"))
    plain = settings("genetic", 4).fit(table, seed=1).sample(table.n_rows, seed=2)
    guarded = settings("genetic", 4, label="income", sensitive=("relationship",)).fit(table, seed=1)
    protected = guarded.sample(table.n_rows, seed=2)
    first, second = pearson(table, plain), pearson(table, protected)
    matrices = {"original": first.original, "synthetic": first.synthetic, "relationship protected": second.synthetic}
    rows = [
        [name, a, b, f"{matrix[i, j]:.4f}"]
        for name, matrix in matrices.items()
        for i, a in enumerate(table.schema.names)
        for j, b in enumerate(table.schema.names)
        if i < j
    ]
    save(HERE, "figure1", ["table", "column", "other", "pearson"], rows)
    for name, matrix in matrices.items():
        picture = map_of(matrix, table.schema.names, f"Pearson correlation of codes, Adult, {name}")
        (HERE / f"figure1_{name.split()[0]}.svg").write_text(picture, encoding="utf-8")


PARTS = {"cmc": cmc, "figure": figure, "creditcard": creditcard, "adult": adult_split}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        print(part, end=" ", flush=True)
        PARTS[part]()
        print("done")
