"""Is a value of a person given away that was tossed by a coin? Controls of the attack on a secret bit, and a network.

python experiments/attack_what_leaves/secret_bit.py FOLDER [--pairs 100] [--tests 100]

The targets are in every subset; the value of one column with two values is tossed for each in each. A copy of the data must give the coin away (positive
control), a table in which that column is drawn from other people must not (negative control).
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from value_attack import MOST_RECORDS, written

import chaffinch
from chaffinch import BayesNet
from chaffinch.risk.membership import ShadowSettings

CASES = (("islp_wage", "health_ins"), ("nyc_flights", "origin_is_jfk"))
TARGETS = 5


def copied(table: chaffinch.Table, seed: Any) -> pd.DataFrame:
    """The rows as they are, in another order."""
    return (
        table.to_pandas()
        .sample(frac=1.0, random_state=np.random.default_rng(seed))
        .reset_index(drop=True)
    )


def tossed(column: str) -> Any:
    """The rows as they are, but for one column, which is a coin for everybody."""

    def without(table: chaffinch.Table, seed: Any) -> pd.DataFrame:
        rng = np.random.default_rng(seed)
        frame = copied(table, rng)
        levels = np.sort(frame[column].unique())
        frame[column] = pd.Series(levels[rng.integers(0, 2, len(frame))], dtype=frame[column].dtype)
        return frame

    without.__qualname__ = f"without_{column}"
    return without


def opened(folder: Path, name: str) -> pd.DataFrame:
    """Return at most 2,000 records of a table and eight columns, with the secret among them."""
    if name == "islp_wage":
        frame = pd.read_parquet(folder / f"{name}.parquet")[
            ["age", "maritl", "race", "education", "jobclass", "health", "health_ins", "wage"]
        ]
    else:
        frame = pd.read_parquet(
            folder / f"{name}.parquet",
            columns=[
                "month",
                "hour",
                "dep_delay",
                "carrier",
                "dest",
                "distance",
                "air_time",
                "origin",
            ],
        )
        frame = (
            frame.dropna()
            .assign(origin_is_jfk=lambda one: np.where(one["origin"] == "JFK", "yes", "no"))
            .drop(columns="origin")
        )
    return frame.sample(min(MOST_RECORDS, len(frame)), random_state=0).reset_index(drop=True)


def main() -> None:
    """Run both tables and write secret_bit.csv."""
    words = argparse.ArgumentParser()
    words.add_argument("folder", type=Path)
    words.add_argument("--pairs", type=int, default=100)
    words.add_argument("--tests", type=int, default=100)
    asked = words.parse_args()
    plan = ShadowSettings(shadows=asked.pairs, tests=asked.tests, tables=1)
    rows = []
    for name, column in CASES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            table = chaffinch.read(opened(asked.folder, name))
        makers = {
            "copy (positive control)": copied,
            "secret tossed again (negative control)": tossed(column),
            "network of two parents": BayesNet(parents=2),
        }
        for label, maker in makers.items():
            result = chaffinch.membership(
                table,
                maker,
                settings=plan,
                targets=TARGETS,
                rows=400,
                secret=column,
                duplicates="keep",
                seed=1,
                workers=1,
            )
            secret = result.secret
            rows.append(
                {
                    "table": name,
                    "secret": column,
                    "released": label,
                    "pairs": f"{asked.pairs} and {asked.tests}",
                    "targets": TARGETS,
                    "coins guessed": f"{secret.accuracy:.3f}",
                    "from": f"{secret.interval[0]:.3f}",
                    "to": f"{secret.interval[1]:.3f}",
                    "AUC": f"{result.pooled.auc:.3f}",
                }
            )
            print(*rows[-1].values(), sep="\t", flush=True)
            written("secret_bit", rows)


if __name__ == "__main__":
    main()
