"""Rerun the disclosure tables of P0, VIII to XII: attackers on original, synthetic and protected synthetic records, k = 4.

python -m experiments.p0_disclosure.run [cmc] [adult] [--only disclosure learning] [--arms papers ours trees]

Finished cells are kept in NAME_disclosure_cells.csv and NAME_learning_cells.csv, and skipped on the next start.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np

from benchmarks.common import Option, read_rows, run_study
from benchmarks.data import adult, bundled
from chaffinch import BayesNet
from chaffinch._base.runtime import one_thread
from experiments.attacking import HEAD, KEYS, VALUES, attacked, rows_of
from experiments.cells import Cells
from experiments.published import Published
from experiments.training import (
    CLASSIFIERS,
    accuracies,
    again,
    halves,
    kept,
    save,
    shown,
    whole,
)

HERE = Path(__file__).resolve().parent

TABLES = {"cmc": ("09", "11"), "adult": ("10", "12")}
ARMS = ("papers", "ours", "trees")
"""The paper's own settings; its search with our bins, smoothing and back-off; our default search and trees. The README says more."""
SYNTHESES = {"cmc": 5, "adult": 1}
REPEATS, SVM_ROWS = 10, 5_000


def roles(dataset: str) -> tuple[list[str], str, str]:
    """Return the keys, the sensitive column and the label of a scenario of table VIII."""
    rows = [
        row for row in read_rows(HERE / "p0_table08_scenarios.csv") if row["dataset"] == dataset
    ]
    of = {
        role: [row["column"] for row in rows if row["role"] == role]
        for role in ("key", "sensitive", "label")
    }
    return of["key"], of["sensitive"][0], of["label"][0]


def makers(arm: str, label: str, sensitive: str) -> dict[str, Any]:
    """Return the synthesisers of an arm, without and with protection."""
    search = "ordering" if arm == "trees" else "genetic"
    plain = BayesNet(parents=4, search=search)  # type: ignore[arg-type]
    custom = BayesNet(parents=4, search=search, label=label, sensitive=(sensitive,))  # type: ignore[arg-type]
    made = {"genetic": plain, "genetic_custom": custom}
    return (
        {name: Published(settings) for name, settings in made.items()}
        if arm == "papers"
        else dict(made)
    )


def disclosure(dataset: str, arms: list[str]) -> None:
    """Tables IX and X: all original records are attacked, with the keys of length 4 (cmc) or 5 (Adult)."""
    keys, sensitive, label = roles(dataset)
    table = whole(bundled("cmc") if dataset == "cmc" else adult("train"))
    size = (4, 4) if dataset == "cmc" else (5, 5)
    file = next(HERE.glob(f"p0_table{TABLES[dataset][0]}*.csv"))
    paper = {
        (sensitive, row["trained_on"], row["model"]): row["accuracy"] for row in read_rows(file)
    }
    cells = Cells(HERE / f"{dataset}_disclosure_cells.csv", KEYS, VALUES)
    rows: list[list[Any]] = []
    for arm in ARMS:
        if arm in arms or (arm, "genetic_custom", SYNTHESES[dataset] - 1) in cells:
            found = attacked(
                table,
                makers(arm, label, sensitive),
                cells,
                arm=arm,
                syntheses=SYNTHESES[dataset],
                keys=keys,
                sensitive=[sensitive],
                label=label,
                key_sizes=size,
            )
            rows += rows_of(dataset, arm, found, paper, SYNTHESES[dataset])
    save(
        HERE,
        f"{dataset}_disclosure",
        HEAD,
        rows + kept(HERE / f"{dataset}_disclosure.csv", HEAD, {row[1] for row in rows}),
    )
    print(f"{dataset} disclosure: {cells.cpu():.0f} CPU seconds in all cells")


def learning(dataset: str, arms: list[str]) -> None:
    """Tables XI and XII: what protection costs learners of the label; ten splits (cmc) or ten syntheses of the published split (Adult)."""
    _, sensitive, label = roles(dataset)
    table = whole(bundled("cmc") if dataset == "cmc" else adult("train", "test"))
    cells = Cells(
        HERE / f"{dataset}_learning_cells.csv", ["arm", "trained_on", "seed"], CLASSIFIERS
    )
    for seed in range(REPEATS):
        if dataset == "cmc":
            train, test = halves(table, 0.2, seed)
        else:
            train, test = table.take(np.arange(32_561)), table.take(np.arange(32_561, table.n_rows))
        for arm in arms:
            for name, maker in makers(arm, label, sensitive).items():

                def one(
                    maker: Any = maker, seed: int = seed, train: Any = train, test: Any = test
                ) -> list[list[str]]:
                    synthetic = again(
                        maker.fit(train, seed=seed).sample(train.n_rows, seed=50 + seed), train
                    )
                    return [shown(accuracies(synthetic, test, label, seed=seed, svm_rows=SVM_ROWS))]

                cells.get((arm, name, seed), one)
    file = next(HERE.glob(f"p0_table{TABLES[dataset][1]}*.csv"))
    paper = {(row["trained_on"], row["model"]): row["accuracy"] for row in read_rows(file)}
    rows: list[list[Any]] = []
    for arm in ARMS:
        for name in ("genetic", "genetic_custom"):
            runs = [rows[0] for key, rows in cells.rows.items() if key[:2] == (arm, name)]
            if runs:
                values = np.array([row[3:-1] for row in runs], dtype=float)
                for model, column in zip(
                    (*CLASSIFIERS, "avg"), [*values.T, values.mean(axis=1)], strict=True
                ):
                    spread = f"{column.std(ddof=1):.1f}" if len(column) > 1 else ""
                    rows.append(
                        [
                            dataset,
                            arm,
                            sensitive,
                            name,
                            model,
                            f"{column.mean():.1f}",
                            spread,
                            len(column),
                            paper[name, model],
                        ]
                    )
    head = [
        "dataset",
        "arm",
        "sensitive",
        "trained_on",
        "model",
        "accuracy",
        "sd",
        "n",
        "accuracy P0",
    ]
    save(
        HERE,
        f"{dataset}_learning",
        head,
        rows + kept(HERE / f"{dataset}_learning.csv", head, {row[1] for row in rows}),
    )
    print(f"{dataset} learning: {cells.cpu():.0f} CPU seconds in all cells")


PARTS = {"disclosure": disclosure, "learning": learning}


@one_thread()
def main(
    tables: Annotated[tuple[str, ...], Option("", known=lambda: tuple(TABLES))] = tuple(TABLES),
    *,
    only: Annotated[tuple[str, ...], Option("", known=lambda: tuple(PARTS))] = tuple(PARTS),
    arms: Annotated[tuple[str, ...], Option("", known=lambda: ARMS)] = ARMS,
) -> None:
    """Run the parts asked for on the tables asked for."""
    for dataset in tables:
        for part in only:
            PARTS[part](dataset, arms)


if __name__ == "__main__":
    run_study(main)
