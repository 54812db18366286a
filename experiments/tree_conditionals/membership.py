"""Who is in the data, by released rows: trees beside tables, in one run.

    python -m experiments.tree_conditionals.membership FOLDER [--only NAME ...]

For each table the same targets, shadows and releases of 300 records; AUC and its 95 % interval of the attackers together. Writes `membership.csv`.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import pyarrow as pa

import chaffinch
from benchmarks.common import run_study, write_rows
from experiments.tree_conditionals.run import tables

HERE = Path(__file__).resolve().parent

ROWS = 300


def main(folder: Path, *, only: tuple[str, ...] = ("Adult", "Wage", "gbsg2", "OJ")) -> None:
    plan = chaffinch.ShadowSettings.from_options(shadows=60, test_shadows=60, targets=6, rows=ROWS)
    rows = [["table", "conditionals", "AUC", "low", "high"]]
    for name, frame in tables(folder, only).items():
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
                write_rows(HERE / "membership.csv", rows[1:], rows[0])


if __name__ == "__main__":
    run_study(main)
