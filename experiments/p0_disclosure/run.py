"""Rerun the disclosure tables of P0, VIII to XII: attackers on original, synthetic and protected synthetic records, k = 4, genetic.

python experiments/p0_disclosure/run.py [cmc] [adult]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from attacking import HEAD, attacked, rows_of  # noqa: E402
from training import confusions, halves, printed, save, whole  # noqa: E402

from chaffinch import BayesNet  # noqa: E402
from chaffinch.stats.scoring import accuracy  # noqa: E402

sys.path.insert(0, str(HERE.parents[1] / "benchmarks"))

from data import adult, bundled  # noqa: E402

TABLES = {"cmc": ("09", "11"), "adult": ("10", "12")}


def roles(dataset: str) -> tuple[list[str], str, str]:
    """Return the keys, the sensitive column and the label of a scenario of table VIII."""
    rows = [row for row in printed(HERE / "p0_table08_scenarios.csv") if row["dataset"] == dataset]
    of = {role: [row["column"] for row in rows if row["role"] == role] for role in ("key", "sensitive", "label")}
    return of["key"], of["sensitive"][0], of["label"][0]


def disclosure(dataset: str) -> None:
    """Tables IX and X: all original records are attacked, with the keys of length 4 (cmc) or 5 (Adult)."""
    keys, sensitive, label = roles(dataset)
    table = whole(bundled("cmc") if dataset == "cmc" else adult("train"))
    makers = {
        "genetic": BayesNet(parents=4, search="genetic"),
        "genetic_custom": BayesNet(parents=4, search="genetic", label=label, sensitive=(sensitive,)),
    }
    size = (4, 4) if dataset == "cmc" else (5, 5)
    found = attacked(
        table,
        makers,
        keys=keys,
        sensitive=[sensitive],
        label=label,
        key_sizes=size,
        syntheses=5 if dataset == "cmc" else 1,
    )
    file = next(HERE.glob(f"p0_table{TABLES[dataset][0]}*.csv"))
    paper = {(sensitive, row["trained_on"], row["model"]): row["accuracy"] for row in printed(file)}
    save(HERE, f"{dataset}_disclosure", HEAD, rows_of(dataset, *found, paper))


def learning(dataset: str) -> None:
    """Tables XI and XII: what protection costs learners of the label."""
    _, sensitive, label = roles(dataset)
    custom = {"genetic": {}, "genetic_custom": {"label": label, "sensitive": (sensitive,)}}
    file = next(HERE.glob(f"p0_table{TABLES[dataset][1]}*.csv"))
    paper = {(row["trained_on"], row["model"]): row["accuracy"] for row in printed(file)}
    found: dict[tuple[str, str], list[float]] = {}
    table = whole(bundled("cmc") if dataset == "cmc" else adult("train", "test"))
    for seed in range(10 if dataset == "cmc" else 2):
        if dataset == "cmc":
            train, test = halves(table, 0.2, seed)
        else:
            train, test = table.take(np.arange(32_561)), table.take(np.arange(32_561, table.n_rows))
        for name, settings in custom.items():
            synthetic = (
                BayesNet(parents=4, search="genetic", **settings)
                .fit(train, seed=seed)
                .sample(train.n_rows, seed=50 + seed)
            )
            for model, counts in confusions(synthetic, test, label, seed=seed, svm_rows=5_000).items():
                found.setdefault((name, model), []).append(100 * accuracy(counts))
        print(".", end="", flush=True)
    rows = [
        [dataset, sensitive, name, model, f"{np.mean(values):.1f}", f"{np.std(values, ddof=1):.1f}", paper[name, model]]
        for (name, model), values in found.items()
    ]
    for name in custom:
        mean = np.mean([np.mean(v) for (n, _), v in found.items() if n == name])
        rows.append([dataset, sensitive, name, "avg", f"{mean:.1f}", "", paper[name, "avg"]])
    save(
        HERE,
        f"{dataset}_learning",
        ["dataset", "sensitive", "trained_on", "model", "accuracy", "sd", "accuracy P0"],
        rows,
    )


if __name__ == "__main__":
    for part in sys.argv[1:] or TABLES:
        print(part, end=" ", flush=True)
        disclosure(part)
        learning(part)
        print("done")
