"""Rerun P2 table III and figures 3 to 8: learners trained on tables with 0 to 3 protected columns, both methods, p = 1 to 4.

python -m experiments.p2_learning.run [caesarian] [cmc] [adult] [tried] [figures] [drawn] [--arms papers ours trees] [--splits N]

Finished cells are kept in NAME_cells.csv and skipped on the next start. `drawn` draws figures 6 to 8 from the tables that are there.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from benchmarks.common import Option, read_rows, run_study
from benchmarks.data import bundled
from chaffinch import BayesNet
from chaffinch._base.runtime import one_thread
from chaffinch.table import Table
from chaffinch.utility import pearson
from experiments.cells import Cells
from experiments.p2_learning.accuracy_figures import accuracy_figure
from experiments.published import Published
from experiments.training import (
    CLASSIFIERS,
    accuracies,
    again,
    halves,
    kept,
    map_of,
    save,
    shown,
    whole,
)

HERE = Path(__file__).resolve().parent

DATASETS = ("caesarian", "cmc", "adult")
PROTECT = {"method_1": "separate", "method_2": "together"}
ARMS = ("papers", "ours", "trees")
"""The papers' own settings; their search with our bins, smoothing and back-off; our default search and trees. The README says more."""
SPLITS = 10
SVM_ROWS = {"adult": 5_000}
"""Support vectors learn from a stratified draw of so many; every other learner from all training records."""
CELLS = [
    (p, n, m) for p in range(1, 5) for n in range(4) for m in PROTECT if n > 1 or m == "method_1"
]
HEAD = [
    "dataset",
    "arm",
    "p",
    "n_sensitive",
    "method",
    "splits",
    "records",
    "SVM records",
    "accuracy",
    "difference",
    "standard error",
    "accuracy P2",
    "difference P2",
]


def roles(dataset: str) -> tuple[str, list[str]]:
    """Return the label and the sensitive columns, in the order of the paper's table II."""
    rows = [row for row in read_rows(HERE / "p2_table02_roles.csv") if row["dataset"] == dataset]
    label = next(row["column"] for row in rows if row["role"] == "label")
    return label, [row["column"] for row in rows if row["role"] == "sensitive"]


def network(label: str, sensitive: list[str], p: int, method: str, *, arm: str = "ours") -> Any:
    """Return the synthesiser of an arm, with protection where columns are sensitive."""
    guard = (
        {"label": label, "sensitive": tuple(sensitive), "protect": PROTECT[method]}
        if sensitive
        else {}
    )
    if arm == "trees":
        return BayesNet(parents=p, **guard)  # type: ignore[arg-type]
    genetic = BayesNet(parents=p, search="genetic", **guard)  # type: ignore[arg-type]
    return Published(genetic, levels=22) if arm == "papers" else genetic


def table_three(dataset: str, arms: list[str], splits: int) -> None:
    """One part of table III: every split first of all, so that a run that is stopped has whole splits."""
    table = whole(bundled(dataset))
    label, sensitive = roles(dataset)
    svm = SVM_ROWS.get(dataset)
    cells = Cells(
        HERE / f"{dataset}_cells.csv", ["arm", "split", "p", "n_sensitive", "method"], CLASSIFIERS
    )
    for seed in range(splits):
        train, test = halves(table, 0.25, seed)

        def learnt(source: Table, seed: int = seed, test: Table = test) -> list[list[str]]:
            return [shown(accuracies(source, test, label, seed=seed, svm_rows=svm))]

        def drawn(
            arm: str, p: int, n: int, method: str, seed: int = seed, train: Table = train
        ) -> Table:
            model = network(label, sensitive[:n], p, method, arm=arm).fit(train, seed=seed)
            return again(model.sample(train.n_rows, seed=1000 + seed), train)

        cells.get(("original", seed, "", "", ""), lambda train=train: learnt(train))
        for arm in arms:
            for p, n, method in CELLS:
                cells.get(
                    (arm, seed, p, n, method), lambda cell=(arm, p, n, method): learnt(drawn(*cell))
                )
        summary(dataset, cells, svm)
    print(f"{dataset}: {cells.cpu():.0f} CPU seconds in all cells")


def summary(dataset: str, cells: Cells, svm: int | None) -> None:
    """Write the table of what is finished: means over learners and splits, ours beside the paper's."""
    theirs = {
        (int(r["parents"]), r["n_sensitive"], r["method"]): r
        for r in read_rows(HERE / "p2_table03_learning.csv")
        if r["dataset"] == dataset
    }
    paper = next(r["accuracy"] for r in theirs.values() if r["trained_on"] == "original")
    means = {
        key: np.mean([float(v) for v in rows[0][len(key) : -1]]) for key, rows in cells.rows.items()
    }
    base = {key[1]: value for key, value in means.items() if key[0] == "original"}
    rows: list[list[object]] = [
        [
            dataset,
            "original",
            "",
            "",
            "",
            len(base),
            "all",
            svm or "all",
            f"{np.mean(list(base.values())):.2f}",
            "",
            "",
            paper,
            "",
        ]
    ]
    for arm in ARMS:
        for p, n, method in CELLS:
            values = {
                k[1]: v for k, v in means.items() if (k[0], *k[2:]) == (arm, str(p), str(n), method)
            }
            if not values:
                continue
            gap = np.array([value - base[split] for split, value in values.items()])
            row = theirs[p, str(n), method if n > 1 else "both"]
            error = f"{gap.std(ddof=1) / np.sqrt(len(gap)):.2f}" if len(gap) > 1 else ""
            rows.append(
                [
                    dataset,
                    arm,
                    p,
                    n,
                    method if n > 1 else "both",
                    len(gap),
                    "all",
                    svm or "all",
                    f"{np.mean(list(values.values())):.2f}",
                    f"{gap.mean():.2f}",
                    error,
                    row["accuracy"],
                    row["difference"],
                ]
            )
    save(
        HERE,
        dataset,
        HEAD,
        rows + kept(HERE / f"{dataset}.csv", HEAD, {key[0] for key in cells.rows}),
    )


def tried(splits: int = 40) -> None:
    """What was tried for the Caesarian row of table III (p = 1, no sensitive column: 63.90 printed, 64.10 on the original)."""
    table = whole(bundled("caesarian"))
    label, _ = roles("caesarian")
    plain = BayesNet(parents=1, search="genetic")
    makers: dict[str, Any] = {
        "original": None,
        "papers": Published(plain, levels=22),
        "papers, ages in 20 bins of equal width": Published(plain),
        "papers, label first": Published(replace(plain, root=label), levels=22),
        "papers, greedy": Published(replace(plain, search="greedy"), levels=22),
        "ours": plain,
    }
    cells = Cells(
        HERE / "caesarian_tried_cells.csv", ["what", "classes split", "split"], CLASSIFIERS
    )
    for what, maker in makers.items():
        for by in ("together", "each") if what in ("original", "papers") else ("together",):
            for seed in range(splits):
                train, test = halves(table, 0.25, seed, label=label if by == "each" else None)

                def one(
                    seed: int = seed, train: Table = train, test: Table = test, maker: Any = maker
                ) -> list[list[str]]:
                    source = (
                        train
                        if maker is None
                        else maker.fit(train, seed=seed).sample(train.n_rows, seed=1000 + seed)
                    )
                    return [shown(accuracies(source, test, label, seed=seed))]

                cells.get((what, by, seed), one)
    rows = []
    for what, by in dict.fromkeys((key[0], key[1]) for key in cells.rows):
        values = np.array(
            [row[0][3:-1] for key, row in cells.rows.items() if key[:2] == (what, by)], dtype=float
        )
        means, first = values.mean(axis=1), values[:SPLITS].mean()
        error = means.std(ddof=1) / np.sqrt(len(means))
        rows.append(
            [
                what,
                by,
                len(means),
                f"{means.mean():.2f}",
                f"{error:.2f}",
                f"{first:.2f}",
                *(f"{v:.1f}" for v in values.mean(axis=0)),
            ]
        )
    save(
        HERE,
        "caesarian_tried",
        [
            "what",
            "classes split",
            "splits",
            "accuracy",
            "standard error",
            "first ten splits",
            *CLASSIFIERS,
        ],
        rows,
    )
    print(f"caesarian, tried: {cells.cpu():.0f} CPU seconds in all cells")


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
            pictures[f"{method}_{n}" if n > 1 else f"synthetic_{n}"] = model.sample(
                table.n_rows, seed=2
            )
    for name, synthetic in pictures.items():
        matrix = pearson(table, synthetic).synthetic
        rows += [
            [name, a, b, f"{matrix[i, j]:.4f}"]
            for i, a in enumerate(table.schema.names)
            for j, b in enumerate(table.schema.names)
            if i < j
        ]
        picture = map_of(
            matrix,
            table.schema.names,
            f"Pearson correlation of codes, cmc, {name.replace('_', ' ')}",
        )
        (HERE / f"figure4_{name}.svg").write_text(picture, encoding="utf-8")
    save(HERE, "figure4", ["table", "column", "other", "pearson"], rows)


def drawn_figures() -> None:
    """Figures 6 to 8, from the tables that are there: the papers' arm where it was run, ours where it was not."""
    for number, dataset in zip((6, 7, 8), DATASETS, strict=True):
        rows = read_rows(HERE / f"{dataset}.csv")
        arm = next(arm for arm in ARMS if any(row["arm"] == arm for row in rows))
        base = next(
            row
            for row in rows
            if row["arm"].startswith("original") and (row["arm"] == "original" or arm == "ours")
        )
        originals = float(base["accuracy"]), float(base["accuracy P2"])
        svg = accuracy_figure(
            number, dataset, arm, [row for row in rows if row["arm"] == arm], originals
        )
        (HERE / f"figure{number}.svg").write_text(svg, encoding="utf-8")


MORE = {"tried": tried, "figures": figures, "drawn": drawn_figures}


PARTS = (*DATASETS, *MORE)


@one_thread()
def main(
    parts: Annotated[tuple[str, ...], Option("", known=lambda: PARTS)] = PARTS,
    *,
    arms: Annotated[tuple[str, ...], Option("", known=lambda: ARMS)] = ARMS,
    splits: int = SPLITS,
) -> None:
    """Run the parts asked for."""
    for part in parts:
        print(part, flush=True)
        if part in MORE:
            MORE[part]()
        else:
            table_three(part, arms, splits)


if __name__ == "__main__":
    run_study(main)
