"""Speed of the synthesisers: fit and sample, ours beside DataSynthesizer, and ours alone on larger tables.

    python -m benchmarks.synth_speed [PART ...] [--scale SHARE] [--peer-limit SECONDS]

Parts: peer, adult, creditcard, sampling, small; all without an argument. With --scale the tables are cut to a share of their
rows, to try things out: figures are printed and not saved. All times are warm: a first run, which compiles, is not counted.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Annotated

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

import chaffinch
from benchmarks.common import SCRATCH, Option, best, durations, machine, run_study, save, show
from benchmarks.data import BUNDLED, adult, creditcard, creditcard_absent
from benchmarks.peers import datasynthesizer
from chaffinch import BayesNet, Evolution, Table

Rows = list[list[object]]


def fit_and_sample(settings: BayesNet, table: Table, *, repeats: int = 3) -> tuple[float, float]:
    """Return seconds to fit and to sample as many rows, of the quickest of several runs, each from the start."""
    runs = []
    for _ in range(repeats + 1):  # the first compiles
        start = time.perf_counter()
        model = settings.fit(table, seed=1)
        fitted = time.perf_counter()
        model.sample(table.n_rows, seed=2)
        runs.append((fitted - start, time.perf_counter() - fitted))
    return min(runs[1:], key=sum)


def read_seconds(path: Path, *, repeats: int = 3) -> float:
    """Return seconds to read a CSV file and fit its schema, of the quickest of several runs after one not counted."""
    times = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        chaffinch.read(path)
        times.append(time.perf_counter() - start)
    return min(times[1:])


def share(table: pa.Table, scale: float) -> pa.Table:
    """Return the first rows of a table."""
    return table.slice(0, int(table.num_rows * scale))


def peer(scale: float, limit: float) -> tuple[list[str], Rows]:
    """Adult train, k = 2, the same CSV file for DataSynthesizer and for us, one after the other."""
    SCRATCH.mkdir(exist_ok=True)
    path = SCRATCH / "adult_peer.csv"
    pc.write_csv(share(adult("train"), scale), path)
    table = chaffinch.read(path)
    ours = {}
    read = read_seconds(path)
    for search in ("greedy", "genetic", "ordering"):
        ours[search] = fit_and_sample(BayesNet(parents=2, search=search), table)
    theirs = datasynthesizer.run(path, parents=2, n_rows=table.n_rows, limit=limit)
    peer_total = None if theirs is None else theirs["describe"] + theirs["generate"]
    what = f"Adult train, {table.n_rows:,} x {len(table.schema.names)}, k = 2"
    rows: Rows = []
    if theirs is None:
        rows.append(
            [what, f"DataSynthesizer 0.1.13, stopped at {limit:.0f} s", "", "", "", "", "", ""]
        )
    else:
        how = "DataSynthesizer {DataSynthesizer} (numpy {numpy}, pandas {pandas})".format(
            **theirs["versions"]
        )
        rows.append(
            [
                what,
                how,
                "in fit",
                f"{theirs['describe']:.2f}",
                f"{theirs['generate']:.2f}",
                f"{peer_total:.2f}",
                "1",
                "1",
            ]
        )
    for search, (fit, sample) in ours.items():
        ratios = (
            ["", ""]
            if peer_total is None
            else [f"{peer_total / (fit + sample):.0f}", f"{peer_total / (read + fit + sample):.0f}"]
        )
        rows.append(
            [
                what,
                f"chaffinch, {search}",
                f"{read:.3f}",
                f"{fit:.3f}",
                f"{sample:.3f}",
                f"{fit + sample:.3f}",
                *ratios,
            ]
        )
    head = [
        "what",
        "how",
        "read CSV, s",
        "fit, s",
        "sample, s",
        "fit + sample, s",
        "times faster",
        "times faster with read",
    ]
    return head, rows


def searches(
    what: str, table: Table, settings: dict[str, BayesNet], *, repeats: int = 3
) -> tuple[list[str], Rows]:
    """One table, several settings."""
    rows: Rows = []
    for how, setting in settings.items():
        fit, sample = fit_and_sample(setting, table, repeats=repeats)
        rows.append([what, how, f"{fit:.3f}", f"{sample:.3f}", f"{fit + sample:.3f}"])
        print(*rows[-1], flush=True)
    return ["what", "how", "fit, s", "sample, s", "fit + sample, s"], rows


def whole_adult(scale: float) -> tuple[list[str], Rows]:
    """Adult, all rows, k = 4."""
    table = chaffinch.read(share(adult("train", "test"), scale))
    settings = {
        search: BayesNet(parents=4, search=search) for search in ("greedy", "genetic", "ordering")
    }
    return searches(f"Adult, {table.n_rows:,} x 15, k = 4", table, settings)


def large(scale: float) -> tuple[list[str], Rows] | None:
    """Credit Card Fraud, blown up to its whole size, k = 3."""
    values = creditcard()
    if values is None:
        print(creditcard_absent())
        return None
    table = chaffinch.read(share(values, scale))
    settings = {
        "greedy": BayesNet(parents=3, search="greedy"),
        "genetic, 2,000 generations": BayesNet(
            parents=3, search="genetic", evolution=Evolution(generations=2000)
        ),
        "ordering": BayesNet(parents=3),
    }
    what = f"Credit Card Fraud (resampled, jitter), {table.n_rows:,} x {len(table.schema.names)}, k = 3"
    return searches(what, table, settings, repeats=2)


def sampling(scale: float) -> tuple[list[str], Rows]:
    """A million rows of 15 columns, in memory, on one thread and on all."""
    n_rows = int(1_000_000 * scale)
    rows: Rows = []
    for parents in (2, 4):
        model = BayesNet(parents=parents).fit(chaffinch.read(adult("train")), seed=1)
        for how, threads in (("1 thread", 1), ("all cores", None)):
            seconds = best(
                lambda m=model, t=threads: m.sample(n_rows, seed=2, threads=t), repeats=3
            )
            rows.append(
                [
                    f"Adult, k = {parents}, {n_rows:,} x 15",
                    how,
                    f"{seconds:.3f}",
                    f"{n_rows / seconds:,.0f}",
                ]
            )
    return ["what", "how", "s", "rows a second"], rows


def small(repeats: int = 200) -> tuple[list[str], Rows]:
    """A single fit of 1,000 rows of 11 columns, k = 2: median and the middle nine tenths, in milliseconds."""
    values = pq.read_table(BUNDLED / "cardio_binned.parquet").slice(0, 1000).drop_columns(["gluc"])
    table = chaffinch.read(values)
    rows: Rows = []
    for search in ("ordering", "greedy", "genetic"):
        settings = BayesNet(parents=2, search=search)
        times = durations(lambda s=settings: s.fit(table, seed=1), repeats=repeats)
        cuts = statistics.quantiles(times, n=20)
        shown = (statistics.median(times), cuts[0], cuts[-1])
        rows.append(
            [
                f"Cardio, {table.n_rows:,} x {len(table.schema.names)}, k = 2",
                search,
                *(f"{t * 1e3:.2f}" for t in shown),
            ]
        )
    return ["what", "how", "median, ms", "5 %, ms", "95 %, ms"], rows


def main(
    parts: Annotated[
        tuple[str, ...], Option("peer, adult, creditcard, sampling, small (all)")
    ] = (),
    *,
    scale: Annotated[float, Option("share of the rows; below 1 nothing is saved")] = 1.0,
    peer_limit: Annotated[float, Option("seconds after which the peer is stopped")] = 3600.0,
) -> None:
    """Run the parts asked for."""
    work = {
        "peer": lambda: peer(scale, peer_limit),
        "adult": lambda: whole_adult(scale),
        "creditcard": lambda: large(scale),
        "sampling": lambda: sampling(scale),
        "small": small,
    }
    print(machine())
    for part in parts or work:
        got = work[part]()
        if got is not None and scale == 1.0:
            save(f"synth_{part}", *got)
        elif got is not None:
            show(*got)


if __name__ == "__main__":
    run_study(main)
