"""alpha and beta of G from baselines: one share is tuned on CMC and Cardio, its effect is reported on Adult and Diabetes.

python -m experiments.p4_composite.weights [measure] [show]

`measure` appends a row for each synthesis of CMC and Cardio to `weights_tables.csv` (rows that are there are skipped); `show` writes `weights.csv`
from it and from the committed syntheses of Adult and Diabetes.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import read_rows, run_parts
from benchmarks.data import BUNDLED, bundled
from chaffinch import Independent
from chaffinch.privacy.prepare import prepare
from chaffinch.table.schema import Column, Schema
from chaffinch.table.schema_file import as_schema
from chaffinch.utility.delta import delta
from chaffinch.utility.mu import mu
from experiments.cells import append_rows
from experiments.p4_composite.run import PRIVATE, told
from experiments.training import save, whole

HERE = Path(__file__).resolve().parent

FOUND = HERE / "weights_tables.csv"
HEAD = ["dataset", "synthesiser", "epsilon", "copy", "mu", "delta", "delta TSTR", "cpu seconds"]
SYNTHESISERS = ("privbayes", "bayesnet", "fieldgroups")
COPIES, MEASURED, ROWS = 3, 5_000, 1_000
"""Syntheses for each setting, records measured of either table, records of each support vector machine."""
TUNED, REPORTED = ("cmc", "cardio"), ("adult", "diabetes")
SHARES = tuple(round(0.05 * step, 2) for step in range(21))


def measure() -> None:
    """Append what is missing of mu and delta of the tables that the share is tuned on."""
    epsilons = sorted(float(row["epsilon"]) for row in read_rows(HERE / "p4_epsilons.csv"))[::-1]
    done = {tuple(row[name] for name in HEAD[:4]) for row in read_rows(FOUND)}
    for dataset in TUNED:
        table, known = tables(dataset)
        cells: list[tuple[str, str, Any, Any]] = [("independent", "", Independent(), table)]
        cells += [
            (name, str(e), PRIVATE[name](e, known.n_rows), known)
            for e in epsilons
            for name in SYNTHESISERS
        ]
        for name, epsilon, synthesiser, learnt in cells:
            for copy in range(1, COPIES + 1):
                if (dataset, name, epsilon, str(copy)) in done:
                    continue
                start = time.process_time()
                made = synthesiser.fit(learnt, seed=10 + copy).sample(table.n_rows, seed=20 + copy)
                far, use = mu(table, made), delta(table, made, repeats=1, rows=ROWS, seed=copy)
                row = [
                    dataset,
                    name,
                    epsilon,
                    copy,
                    told(far.value),
                    told(use.value),
                    told(use.tstr.value),
                ]
                append_rows(FOUND, HEAD, [[*row, f"{time.process_time() - start:.1f}"]])
                print(*row, flush=True)


def tables(dataset: str) -> tuple[Any, Any]:
    """Return a table as it is measured, and all of its records under a declared domain."""
    if dataset == "cmc":
        values = bundled("cmc")
        schema = as_schema(BUNDLED / "cmc_declared.toml")
        assert schema is not None
        return whole(values), prepare(values, replace(schema, rows=values.num_rows))
    values = bundled("cardio_binned")
    levels = {
        name: sorted(values.column(name).unique().to_pylist()) for name in values.column_names
    }
    columns = tuple(
        Column(name, "categorical", levels=tuple(levels[name])) for name in values.column_names
    )
    known = prepare(values, Schema(columns, public=True, rows=values.num_rows))
    chosen = np.sort(np.random.default_rng(1).permutation(values.num_rows)[:MEASURED])
    return known.take(chosen), known


def concordance(values: Sequence[float], epsilons: Sequence[float]) -> float:
    """Return the share of pairs of syntheses with different epsilons in which that with the larger one has the smaller value; half 1 for ties.

    >>> concordance([0.1, 0.2, 0.3], [2.0, 1.0, 0.5])
    1.0
    """
    pairs = [
        (a - b) * (e - f)
        for (a, e), (b, f) in combinations(list(zip(values, epsilons, strict=True)), 2)
        if e != f
    ]
    return sum(1.0 if pair < 0 else 0.5 if pair == 0 else 0.0 for pair in pairs) / len(pairs)


def syntheses(
    dataset: str,
) -> tuple[tuple[float, float], dict[str, list[tuple[float, float, float]]]]:
    """Return mean mu and delta of independent columns, and (mu, delta, epsilon) of each private synthesis by synthesiser."""
    if dataset in TUNED:
        rows = [row for row in read_rows(FOUND) if row["dataset"] == dataset]
        alone = [row for row in rows if row["synthesiser"] == "independent"]
        private = [row for row in rows if row["epsilon"]]
    else:
        alone = [row for row in read_rows(HERE / f"{dataset}.csv") if row["parents"] == "0"]
        private = read_rows(HERE / f"{dataset}_private.csv")
    baseline = tuple(
        float(np.mean([float(row[name]) for row in alone])) for name in ("mu", "delta")
    )
    by_name: dict[str, list[tuple[float, float, float]]] = {}
    for row in private:
        if row["mu"] and row["delta"]:
            by_name.setdefault(row["synthesiser"], []).append(
                tuple(float(row[n]) for n in ("mu", "delta", "epsilon"))
            )  # type: ignore[arg-type]
    return baseline, by_name  # type: ignore[return-value]


def agreement(dataset: str, alpha: float, beta: float) -> dict[str, float]:
    """Return the concordance of alpha mu + beta delta with epsilon, by synthesiser."""
    return {
        name: concordance([alpha * m + beta * d for m, d, _ in rows], [e for _, _, e in rows])
        for name, rows in syntheses(dataset)[1].items()
    }


def weighted(dataset: str, share: float) -> tuple[float, float]:
    """Return alpha and beta by the rule: relations lost altogether cost `share`, learning as bad as from independent columns the rest."""
    far, use = syntheses(dataset)[0]
    return share / far, (1 - share) / use


def show() -> None:
    """Choose the share on the first tables; write the concordance of every table, with alpha = beta = 1 and with the rule."""
    curve = {
        share: np.mean([c for d in TUNED for c in agreement(d, *weighted(d, share)).values()])
        for share in SHARES
    }
    for share, value in curve.items():
        print(f"share {share:.2f}: {value:.4f}")
    best = max(curve, key=lambda share: curve[share])
    rows: list[list[Any]] = []
    for dataset in (*TUNED, *REPORTED):
        ways = {"alpha = beta = 1": (1.0, 1.0), "mu alone": (1.0, 0.0), "delta alone": (0.0, 1.0)}
        ways |= {
            f"baselines, share {share}": weighted(dataset, share) for share in sorted({0.5, best})
        }
        for way, (alpha, beta) in ways.items():
            for name, value in agreement(dataset, alpha, beta).items():
                part = "tuned on" if dataset in TUNED else "reported"
                rows.append(
                    [dataset, part, way, f"{alpha:.3f}", f"{beta:.3f}", name, f"{value:.3f}"]
                )
    save(
        HERE,
        "weights",
        ["dataset", "part", "weights", "alpha", "beta", "synthesiser", "concordance"],
        rows,
    )
    save(
        HERE,
        "weights_shares",
        ["share", "concordance"],
        [[share, f"{value:.4f}"] for share, value in curve.items()],
    )


if __name__ == "__main__":
    run_parts({"measure": measure, "show": show})
