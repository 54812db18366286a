"""Synthesisers that people would pick instead, beside ours, on halves of tables: the measures of `run.py`.

    python -m experiments.tree_conditionals.peers FOLDER --only Wage --splits 1 --sdv SDV_PYTHON --arf ARF_PYTHON --rscript Rscript

FOLDER has CSV files. `--sdv` and `--arf` name the Python of an environment that has `sdv` (with torch) or `arfpy`; `--rscript` an Rscript with rpart. What is not named is not run. Each row is
written to `peers.csv` as soon as it is measured, and a row that stands there is not measured again. CPU seconds are those of fit and sample, on one thread.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.common import read_rows, run_study, write_rows
from experiments.tree_conditionals.run import HEAD as MEASURES
from experiments.tree_conditionals.run import (
    HERE,
    Frame,
    cart,
    copies,
    distance,
    halves,
    nearer,
    network,
    tables,
    told_apart,
)

RESULTS = HERE / "peers.csv"
HEAD = [name for name in MEASURES if name != "TSTR"]
Peer = Callable[[Path, Path], list[str]]
"""From files of the rows to fit and of those to make to the command that makes them."""

OURS = {
    "tables": network(conditionals="tables"),
    "trees": network(conditionals="trees"),
    "CART sequence (scikit-learn)": lambda _table, train: cart(train, np.random.default_rng(1)),
}


def peers(sdv: str | None, arf: str | None, rscript: str | None) -> dict[str, Peer]:
    """The peers that can be run, by name."""
    scripts, out = HERE / "peers", dict[str, Peer]()
    if rscript:
        out["CART sequence (R, rpart)"] = lambda source, target: [
            rscript,
            str(scripts / "rpart_sequence.R"),
            str(source),
            str(target),
        ]
    if arf:
        out["arfpy"] = lambda source, target: [
            arf,
            str(scripts / "arf_peer.py"),
            str(source),
            str(target),
        ]
    if sdv:
        for method, name in (
            ("copula", "SDV Gaussian copula"),
            ("tvae", "SDV TVAE, 300 epochs"),
            ("ctgan", "SDV CTGAN, 300 epochs"),
        ):
            out[name] = lambda source, target, method=method: [
                sdv,
                str(scripts / "sdv_peer.py"),
                method,
                str(source),
                str(target),
            ]  # type: ignore[misc]
    return out


def rows_of_peer(peer: Peer, train: Frame) -> tuple[Frame, float]:
    """Synthetic rows in the columns and types of those fitted, and the CPU seconds they took."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "train.csv", Path(folder) / "rows.csv"
        train.to_csv(source, index=False)
        one_thread = os.environ | {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        done = subprocess.run(
            peer(source, target), capture_output=True, text=True, env=one_thread, check=False
        )
        if done.returncode:
            raise RuntimeError(done.stderr.strip().splitlines()[-1])
        rows = pd.read_csv(target)
    for name in rows:
        if train[name].dtype == bool:
            rows[name] = rows[name].astype(str).str.lower() == "true"
        elif rows[name].notna().all():
            rows[name] = rows[name].astype(train[name].dtype)
    return rows, float(done.stdout.split()[-1])


def figures(train: Frame, other: Frame, synthetic: Frame | None) -> list[str]:
    """C2ST, 2-way and 3-way distance, copies and DCR share of synthetic rows; of the half itself where there are none."""
    rows = train if synthetic is None else synthetic
    values = [
        told_apart(other, rows),
        distance(other, rows, 2),
        distance(other, rows, 3),
        copies(train, other if synthetic is None else rows),
    ]
    return [
        f"{value:.4f}"
        for value in (*values, 0.5 if synthetic is None else nearer(train, other, rows))
    ]


def main(
    folder: Path,
    *,
    only: tuple[str, ...] = (),
    splits: int = 1,
    sdv: str | None = None,
    arf: str | None = None,
    rscript: str | None = None,
) -> None:
    rows: list[list[object]] = [list(row.values()) for row in read_rows(RESULTS)]
    others = peers(sdv, arf, rscript)
    done = {(str(row[0]), str(row[1]), str(row[4])) for row in rows}
    warnings.simplefilter("ignore")
    for make in OURS.values():  # loops are compiled before they are timed
        few = pd.DataFrame({"a": np.arange(200.0) % 37, "b": ["x", "y"] * 100})
        make(halves(few, 0)[2], few.iloc[:100])
    for name, frame in tables(folder, only).items():
        for split in range(splits):
            train, other, table = halves(frame, split)
            for label in ("the half itself", *OURS, *others):
                if (name, str(split), label) in done:
                    continue
                synthetic, seconds = None, 0.0
                if label in OURS:
                    began = time.process_time()
                    synthetic = OURS[label](table, train)
                    seconds = time.process_time() - began
                elif label != "the half itself":
                    try:
                        synthetic, seconds = rows_of_peer(others[label], train)
                    except RuntimeError as error:
                        print(f"{name}, {label}: {error}", file=sys.stderr)
                        continue
                names = list(
                    train if synthetic is None else synthetic
                )  # arfpy leaves out columns with missing values
                rows.append(
                    [
                        name,
                        split,
                        len(train),
                        len(names),
                        label,
                        *figures(train[names], other[names], synthetic),
                        f"{seconds:.2f}",
                    ]
                )
                print(*rows[-1], flush=True)
                write_rows(RESULTS, rows, HEAD)


if __name__ == "__main__":
    run_study(main)
