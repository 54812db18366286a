"""Who is in the data, by released rows: trees beside tables, in one run.

    python -m experiments.tree_conditionals.membership FOLDER [--only NAME ...]

For each table the same targets, shadows and releases of 300 records; AUC and its 95 % interval of the attackers together. Writes `membership.csv`.
"""

from __future__ import annotations

import argparse
import csv
import warnings
from pathlib import Path

import pyarrow as pa

import chaffinch
from experiments.tree_conditionals.run import tables

HERE = Path(__file__).resolve().parent

ROWS = 300


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="*", default=["Adult", "Wage", "gbsg2", "OJ"])
    asked = parser.parse_args()
    plan = chaffinch.ShadowSettings.from_options(shadows=60, test_shadows=60, targets=6, rows=ROWS)
    rows = [["table", "conditionals", "AUC", "low", "high"]]
    for name, frame in tables(asked.folder, asked.only).items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            table = chaffinch.read(pa.Table.from_pandas(frame, preserve_index=False))
            for kind in ("tables", "trees"):
                found = chaffinch.membership(
                    table,
                    chaffinch.BayesNet(conditionals=kind),
                    settings=plan,
                    seed=1,
                    workers=2,
                )
                low, high = found.interval
                rows.append([name, kind, f"{found.auc:.3f}", f"{low:.3f}", f"{high:.3f}"])
                print(*rows[-1], flush=True)
                with (HERE / "membership.csv").open("w", newline="") as file:
                    csv.writer(file, lineterminator="\n").writerows(rows)


if __name__ == "__main__":
    main()
