"""Rerun the learning tables of P0, V to VII, and figure 1: learners trained on original and on synthetic records.

python -m experiments.p0_learning.run [cmc] [adult] [svm] [creditcard] [figure] [--arms papers ours] [--syntheses N]

Finished cells of cmc, adult and svm are kept in NAME_cells.csv and skipped on the next start.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.common import Option, read_rows, run_study
from benchmarks.data import adult, bundled, creditcard_absent, shared_folder
from chaffinch import BayesNet, Evolution
from chaffinch._base.runtime import one_thread
from chaffinch.stats.learners import precision_recall_f2
from chaffinch.table import Table
from chaffinch.utility import pearson
from experiments.cells import Cells
from experiments.published import Published
from experiments.training import (
    CLASSIFIERS,
    accuracies,
    again,
    confusions,
    halves,
    kept,
    map_of,
    save,
    shown,
    whole,
)

HERE = Path(__file__).resolve().parent

SEARCHES = ("greedy", "genetic", "ordering")
ARMS = {"papers": ("greedy", "genetic"), "ours": (*SEARCHES, "trees")}
"""The searches of each arm: the paper's with its own settings; the same and ours with our bins, smoothing and back-off, and our default trees. The README says more."""
LABELS = {"cmc": "contraceptive_method", "adult": "income"}
SVM_ROWS = {"cmc": None, "adult": 5_000}
LEFT_OUT = ("fnlwgt", "education")
"""Columns of Adult that the table published with the paper's code does not have."""
SPLITS, SYNTHESES, KEYS = 10, {"papers": 1, "ours": 10}, ["arm", "trained_on", "k", "run"]
HEAD = [
    "dataset",
    "arm",
    "trained_on",
    "k",
    "model",
    "accuracy",
    "sd",
    "n",
    "accuracy P0",
    "gap",
    "gap P0",
    "standard error",
]

Accuracies = dict[tuple[str, int], np.ndarray]
"""Per cents of one arm by training set and k: a row for each run, a column for each learner."""


def settings(search: str, k: int, *, generations: int = 400, **more: object) -> BayesNet:
    """Return a synthesiser as P0 sets it, for one of its searches or for ours; "trees" is our default."""
    if search == "trees":
        return BayesNet(parents=k, **more)  # type: ignore[arg-type]
    evolution = Evolution(generations=generations)
    return BayesNet(parents=k, search=search, evolution=evolution, conditionals="tables", **more)  # type: ignore[arg-type]


def table_of(dataset: str, arm: str) -> Table:
    """Return the table of an arm."""
    values: pa.Table = bundled("cmc") if dataset == "cmc" else adult("train", "test")
    return whole(
        values.drop_columns(list(LEFT_OUT)) if (dataset, arm) == ("adult", "papers") else values
    )


def sides_of(dataset: str, table: Table, run: int) -> tuple[Table, Table]:
    """Return training and test records: a random split for each run (cmc), the published one (Adult)."""
    if dataset == "cmc":
        return halves(table, 0.2, run)
    return table.take(np.arange(32_561)), table.take(np.arange(32_561, table.n_rows))


def learning(dataset: str, arms: list[str], syntheses: int | None) -> None:
    """Tables V and VI: ten random splits (cmc), or syntheses of the training side of the published split (Adult)."""
    label, svm = LABELS[dataset], SVM_ROWS[dataset]
    cells = Cells(HERE / f"{dataset}_cells.csv", KEYS, CLASSIFIERS)
    for arm in arms:
        table = table_of(dataset, arm)
        for run in range(SPLITS if dataset == "cmc" else syntheses or SYNTHESES[arm]):
            train, test = sides_of(dataset, table, run)

            def learnt(source: Table, run: int = run, test: Table = test) -> list[list[str]]:
                return [
                    shown(
                        accuracies(
                            source, test, label, seed=run if dataset == "cmc" else 0, svm_rows=svm
                        )
                    )
                ]

            def drawn(
                search: str, k: int, arm: str = arm, run: int = run, train: Table = train
            ) -> Table:
                maker: Any = (
                    Published(settings(search, k)) if arm == "papers" else settings(search, k)
                )
                return again(
                    maker.fit(train, seed=run).sample(train.n_rows, seed=1000 + run), train
                )

            if dataset == "cmc" or run == 0:
                cells.get((arm, "original", "", run), lambda train=train: learnt(train))  # type: ignore[misc]
            for search in ARMS[arm]:
                for k in range(1, 5):
                    cells.get(
                        (arm, search, k, run), lambda search=search, k=k: learnt(drawn(search, k))
                    )  # type: ignore[misc]
    file = next(HERE.glob(f"p0_table0[56]_{dataset}*.csv"))
    rows = [
        row for arm in ARMS for row in summary(dataset, arm, runs_of(cells, arm), read_rows(file))
    ]
    save(
        HERE,
        dataset,
        HEAD,
        rows + kept(HERE / f"{dataset}.csv", HEAD, {str(row[1]) for row in rows}),
    )
    print(f"{dataset}: {cells.cpu():.0f} CPU seconds in all cells")


def runs_of(cells: Cells, arm: str) -> Accuracies:
    """Return the finished runs of an arm."""
    found: dict[tuple[str, int], list[list[str]]] = {}
    for key, (row,) in cells.rows.items():
        if key[0] == arm:
            found.setdefault((key[1], int(key[2] or 0)), []).append(row[len(KEYS) : -1])
    return {key: np.array(rows, dtype=float) for key, rows in found.items()}


def summary(
    dataset: str, arm: str, found: Accuracies, theirs: list[dict[str, str]]
) -> list[list[object]]:
    """Return a row for each training set and model, and one for the mean over models, ours beside the paper's."""
    paper = {
        (row["trained_on"], int(row["k"] or 0), row["model"]): float(row["accuracy"])
        for row in theirs
    }
    rows: list[list[object]] = []
    for trained_on, k in sorted(found, key=lambda key: (key[0] != "original", *key)):
        for i, model in enumerate((*CLASSIFIERS, "avg")):
            values, base = (
                runs.mean(axis=1) if model == "avg" else runs[:, i]
                for runs in (found[trained_on, k], found["original", 0])
            )
            gaps = (base if len(base) == len(values) else base[:1].repeat(len(values))) - values
            printed_here = paper.get((trained_on, k, model))
            printed_gap = (
                None if printed_here is None else paper["original", 0, model] - printed_here
            )
            rows.append(
                [
                    dataset,
                    arm,
                    trained_on,
                    k or "",
                    model,
                    f"{values.mean():.1f}",
                    f"{values.std(ddof=1) if len(values) > 1 else 0:.1f}",
                    len(values),
                    "" if printed_here is None else printed_here,
                    f"{gaps.mean():.2f}",
                    "" if printed_gap is None else f"{printed_gap:.1f}",
                    f"{gaps.std(ddof=1) / np.sqrt(len(gaps)):.2f}" if len(gaps) > 1 else "",
                ]
            )
    return rows


def support_vectors() -> None:
    """Table VI, support vectors: what they reach from 5,000, 10,000 and all 32,561 records, original and synthetic (genetic, k = 4, papers)."""
    from sklearn.svm import SVC

    from chaffinch.stats.learners import Encoder, standardise, subsample

    cells = Cells(HERE / "svm_cells.csv", ["trained_on", "rows"], ["accuracy", "accuracy P0"])
    paper = {
        (row["trained_on"], row["k"]): row["accuracy"]
        for row in read_rows(HERE / "p0_table06_adult_learning.csv")
        if row["model"] == "svc"
    }
    table, label = table_of("adult", "papers"), LABELS["adult"]
    train, test = sides_of("adult", table, 0)
    sources = {
        "original": train,
        "genetic": Published(settings("genetic", 4))
        .fit(train, seed=0)
        .sample(train.n_rows, seed=1000),
    }
    for rows in (5_000, 10_000, train.n_rows):
        for name, source in sources.items():

            def one(rows: int = rows, name: str = name, source: Table = source) -> list[list[str]]:
                encoder = Encoder.from_tables(
                    [source, test], [column for column in table.schema.names if column != label]
                )
                matrix, tested = standardise(
                    encoder.matrix(source), encoder.matrix(test), scaled=encoder.scaled
                )
                classes = source.code(label).astype(np.int64)
                few = subsample(classes, len(classes), rows, np.random.default_rng(0))
                right = (
                    SVC(cache_size=1000).fit(matrix[few], classes[few]).predict(tested)
                    == test.code(label)
                ).mean()
                return [[f"{100 * right:.4f}", paper[name, "4" if name == "genetic" else ""]]]

            cells.get((name, rows), one)
    print(f"svm: {cells.cpu():.0f} CPU seconds in all cells")


def creditcard() -> None:
    """Table VII: one random split of the public sample; confusion matrices and F2 of the frauds."""
    path = shared_folder() / "creditcard" / "creditcard_sample.parquet"
    if not path.exists():
        print(creditcard_absent())
        return
    table = whole(pq.read_table(path))
    label = "class"
    train, test = halves(table, 0.2, 0, label=label)
    theirs = {
        (r["trained_on"], r["k"]): r["f2_avg"]
        for r in read_rows(HERE / "p0_table07_creditcard_f2.csv")
    }
    rows: list[list[object]] = []
    for search in ("original", *SEARCHES):
        for k in range(1, 4) if search != "original" else (0,):
            source = train
            if k:
                source = (
                    settings(search, k, generations=2000)
                    .fit(train, seed=1)
                    .sample(train.n_rows, seed=2)
                )
            every = confusions(source, test, label, seed=0)
            scores = {
                name: 100 * precision_recall_f2(counts, positive=1)[2]
                for name, counts in every.items()
            }
            for name, counts in every.items():
                rows.append(
                    [
                        "creditcard sample",
                        search,
                        k or "",
                        name,
                        *counts.ravel().tolist(),
                        f"{scores[name]:.1f}",
                        "",
                    ]
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
    save(
        HERE,
        "creditcard",
        ["dataset", "trained_on", "k", "model", "tn", "fp", "fn", "tp", "F2", "F2 P0"],
        rows,
    )


def figure() -> None:
    """Figure 1: Pearson correlations of codes on Adult: original, synthetic, and with `relationship` protected."""
    table = whole(adult("train", "test"))
    plain = settings("genetic", 4).fit(table, seed=1).sample(table.n_rows, seed=2)
    guarded = settings("genetic", 4, label="income", sensitive=("relationship",)).fit(table, seed=1)
    protected = guarded.sample(table.n_rows, seed=2)
    first, second = pearson(table, plain), pearson(table, protected)
    matrices = {
        "original": first.original,
        "synthetic": first.synthetic,
        "relationship protected": second.synthetic,
    }
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


PARTS = {"svm": support_vectors, "figure": figure, "creditcard": creditcard}


@one_thread()
def main(
    parts: Annotated[tuple[str, ...], Option("", known=lambda: (*LABELS, *PARTS))] = (
        *LABELS,
        *PARTS,
    ),
    *,
    arms: Annotated[tuple[str, ...], Option("", known=lambda: tuple(ARMS))] = tuple(ARMS),
    syntheses: Annotated[
        int | None, Option("of the published split of Adult, for each search and k")
    ] = None,
) -> None:
    """Run the parts asked for."""
    for part in parts:
        print(part, flush=True)
        PARTS[part]() if part in PARTS else learning(part, arms, syntheses)


if __name__ == "__main__":
    run_study(main)
