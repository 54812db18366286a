"""Rerun P2 table III and figures 3 to 8: learners trained on tables with 0 to 3 protected columns, both methods, p = 1 to 4.

python experiments/p2_learning/run.py [caesarian] [cmc] [adult] [figures]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from training import confusions, halves, map_of, printed, save, whole  # noqa: E402

from chaffinch import BayesNet  # noqa: E402
from chaffinch.stats.scoring import accuracy  # noqa: E402
from chaffinch.table import Table  # noqa: E402
from chaffinch.utility import pearson  # noqa: E402

sys.path.insert(0, str(HERE.parents[1] / "benchmarks"))

from data import bundled  # noqa: E402

PROTECT = {"method_1": "separate", "method_2": "together"}
SPLITS = {"caesarian": 10, "cmc": 10, "adult": 5}
ADULT_ROWS = {"rows": 5_000, "svm_rows": 2_500}
HEAD = [
    "dataset",
    "p",
    "n_sensitive",
    "method",
    "accuracy",
    "difference",
    "standard error",
    "accuracy P2",
    "difference P2",
]


def roles(dataset: str) -> tuple[str, list[str]]:
    """Return the label and the sensitive columns, in the order of the paper's table II."""
    rows = [row for row in printed(HERE / "p2_table02_roles.csv") if row["dataset"] == dataset]
    label = next(row["column"] for row in rows if row["role"] == "label")
    return label, [row["column"] for row in rows if row["role"] == "sensitive"]


def network(label: str, sensitive: list[str], p: int, method: str) -> BayesNet:
    """Return the synthesiser of the paper: the genetic search, with protection where columns are sensitive."""
    if not sensitive:
        return BayesNet(parents=p, search="genetic")
    return BayesNet(parents=p, search="genetic", label=label, sensitive=tuple(sensitive), protect=PROTECT[method])  # type: ignore[arg-type]


def mean_accuracy(train: Table, test: Table, label: str, seed: int, caps: dict[str, int]) -> float:
    """Return the mean accuracy of the five learners, in per cent."""
    return 100 * float(np.mean([accuracy(c) for c in confusions(train, test, label, seed=seed, **caps).values()]))


def table_three(dataset: str) -> None:
    """One part of table III."""
    table = whole(bundled(dataset))
    label, sensitive = roles(dataset)
    caps = ADULT_ROWS if dataset == "adult" else {}
    cells = [(p, n, m) for p in range(1, 5) for n in range(4) for m in PROTECT if n > 1 or m == "method_1"]
    original = []
    found: dict[tuple[int, int, str], list[float]] = {cell: [] for cell in cells}
    for seed in range(SPLITS[dataset]):
        train, test = halves(table, 0.25, seed)
        if dataset == "adult":
            test, _ = halves(test, 1 - 5_000 / test.n_rows, seed)
        original.append(mean_accuracy(train, test, label, seed, caps))
        for p, n, method in cells:
            model = network(label, sensitive[:n], p, method).fit(train, seed=seed)
            synthetic = model.sample(train.n_rows, seed=1000 + seed)
            found[p, n, method].append(mean_accuracy(synthetic, test, label, seed, caps))
        print(".", end="", flush=True)
    theirs = {
        (int(r["parents"]), r["n_sensitive"], r["method"]): r
        for r in printed(HERE / "p2_table03_learning.csv")
        if r["dataset"] == dataset
    }
    paper = next(r["accuracy"] for r in theirs.values() if r["trained_on"] == "original")
    rows: list[list[object]] = [[dataset, "", "", "original", f"{np.mean(original):.2f}", "", "", paper, ""]]
    for (p, n, method), values in found.items():
        gap = np.array(values) - np.array(original)
        printed_row = theirs[p, str(n), method if n > 1 else "both"]
        rows.append(
            [
                dataset, p, n, method if n > 1 else "both", f"{np.mean(values):.2f}", f"{gap.mean():.2f}",
                f"{gap.std(ddof=1) / np.sqrt(len(gap)):.2f}", printed_row["accuracy"], printed_row["difference"],
            ]
        )  # fmt: skip
    save(HERE, dataset, HEAD, rows)


def figures() -> None:
    """Figures 3 to 5: networks and correlations of codes on Contraceptive Method Choice."""
    table = whole(bundled("cmc"))
    label, sensitive = roles("cmc")
    rows = []
    pictures = {"original": table}
    for method in PROTECT:
        for n in range(4) if method == "method_1" else (2, 3):
            model = network(label, sensitive[:n], 2, method).fit(table, seed=1)
            if n == 3:
                (HERE / f"figure3_{method}.svg").write_text(model.plot().svg, encoding="utf-8")
            pictures[f"{method}_{n}" if n > 1 else f"synthetic_{n}"] = model.sample(table.n_rows, seed=2)
    for name, synthetic in pictures.items():
        matrix = pearson(table, synthetic).synthetic
        rows += [
            [name, a, b, f"{matrix[i, j]:.4f}"]
            for i, a in enumerate(table.schema.names)
            for j, b in enumerate(table.schema.names)
            if i < j
        ]
        picture = map_of(matrix, table.schema.names, f"Pearson correlation of codes, cmc, {name.replace('_', ' ')}")
        (HERE / f"figure4_{name}.svg").write_text(picture, encoding="utf-8")
    save(HERE, "figure4", ["table", "column", "other", "pearson"], rows)


PARTS = {
    "caesarian": lambda: table_three("caesarian"),
    "cmc": lambda: table_three("cmc"),
    "figures": figures,
    "adult": lambda: table_three("adult"),
}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        print(part, end=" ", flush=True)
        PARTS[part]()
        print("done")
