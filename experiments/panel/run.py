"""Sequences drawn of a real panel beside its own: `wage_panel` of linearmodels (Vella and Verbeek 1998), 545 men over eight years.

python -m experiments.panel.run wage_panel.csv [--seeds 10]
"""

from __future__ import annotations

import time
from pathlib import Path
from statistics import mean, stdev

import numpy as np
import pandas as pd

import chaffinch
from benchmarks.common import run_study, write_rows

PERSON, ORDER = "nr", "year"
CHAINED = ("lwage", "hours", "union", "married", "occupation")
RESULTS = Path(__file__).parent / "results.csv"


def lag_correlation(rows: pd.DataFrame, column: str) -> float:
    """Return the correlation of a column with itself in the row of the same person before."""
    ordered = rows.sort_values([PERSON, ORDER])
    before = ordered.groupby(PERSON)[column].shift()
    return float(np.corrcoef(before[before.notna()], ordered.loc[before.notna(), column])[0, 1])


def within_share(rows: pd.DataFrame, column: str) -> float:
    """Return the share of a column's variance that lies within persons."""
    return float(
        rows.groupby(PERSON)[column].transform(lambda x: x - x.mean()).var() / rows[column].var()
    )


def figures(rows: pd.DataFrame) -> dict[str, float]:
    """Return what a user of a panel would look at."""
    out = {f"lag correlation of {name}": lag_correlation(rows, name) for name in CHAINED}
    out |= {
        f"within-person variance of {name}": within_share(rows, name) for name in ("lwage", "hours")
    }
    groups = rows.groupby(PERSON)
    out["persons"] = groups.ngroups
    out["persons with 8 rows"] = float((groups.size() == 8).mean())
    out["persons whose schooling changes"] = float((groups["educ"].nunique() > 1).mean())
    out["steps in which experience grows by one"] = float(
        (groups["exper"].diff().dropna() == 1).mean()
    )
    return out


def main(file: str | None = None, *, seeds: int = 10) -> None:
    """Fit on all rows, draw as many, once for each seed; and the same from a network of rows, its ids drawn at random."""
    if file is None:
        print("Name the file of wage_panel, written from linearmodels: nothing to do without it.")
        return
    original = pd.read_csv(file)
    table = chaffinch.read(original, person=PERSON, order=ORDER)
    rows_alone = chaffinch.BayesNet().fit(chaffinch.read(original.drop(columns=PERSON)), seed=1)
    start = time.process_time()
    drawn, flat = [], []
    for seed in range(seeds):
        drawn.append(figures(chaffinch.Panel().fit(table, seed=seed).sample(seed=seed).to_pandas()))
    seconds = (time.process_time() - start) / seeds
    for seed in range(seeds):
        sampled = rows_alone.sample(seed=seed).to_pandas()
        flat.append(
            figures(
                sampled.assign(
                    **{PERSON: np.random.default_rng(seed).permutation(original[PERSON])}
                )
            )
        )
    rows = []
    for name, value in figures(original).items():
        ours, alone = [run[name] for run in drawn], [run[name] for run in flat]
        rows.append(
            [
                name,
                f"{value:.4f}",
                f"{mean(ours):.4f}",
                f"{stdev(ours):.4f}",
                f"{mean(alone):.4f}",
            ]
        )
    write_rows(
        RESULTS, rows, ["figure", "original", "panel, mean", "panel, sd", "rows alone, mean"]
    )
    print(RESULTS.read_text(), f"{seconds:.2f} CPU seconds a fit and draw")


if __name__ == "__main__":
    run_study(main)
