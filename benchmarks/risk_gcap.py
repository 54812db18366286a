"""Speed of GCAP: beside SDMetrics, on all of Adult, and its growth with rows and keys.

    python -m benchmarks.risk_gcap [--without-peer] [--most-rows N] [--dry]

The source is a synthetic table of Adult (BayesNet, k = 2) with as many rows as there are people; keys are raw values, also ages. SDMetrics'
score is 1 less our mean score: both values are compared. Growth: Adult's rows drawn with replacement, each line a process of its
own; 15 keys are all columns but the sensitive one, and age by decade. "random": independent codes of 10 levels, where no keys agree.
Writes results/risk_gcap.csv and results/risk_gcap_growth.csv; with --dry, prints only.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv

import chaffinch
from benchmarks.common import SCRATCH, Option, best, machine, run_study, save, show
from benchmarks.data import bundled
from benchmarks.peers import sdmetrics
from benchmarks.synth_growth import peak
from chaffinch.risk.attribution.gcap import Gcap, gcap

Rows = list[list[object]]
Coded = tuple[list[np.ndarray], np.ndarray, list[np.ndarray], np.ndarray, int]

KEYS = ["age", "workclass", "occupation", "race", "sex"]
MORE = [
    "education",
    "marital_status",
    "hours_per_week",
    "native_country",
    "income",
    "education_num",
]
WIDE = [*KEYS, *MORE, "capital_gain", "capital_loss", "decade", "fnlwgt"]
SENSITIVE = "relationship"
ROWS = (10**4, 10**5, 10**6)
PEER_ROWS = (1000, 2000, 4000)
HEAD = ["what", "how", "seconds", "mean score", "times faster"]
GROWTH_HEAD = [
    "grows",
    "people = source rows",
    "keys",
    "threads",
    "seconds",
    "largest radius",
    "peak before, GiB",
    "peak, GiB",
]


def text(table: pa.Table, columns: list[str]) -> pa.Table:
    """Return columns as text, missing as "?"."""
    return pa.table(
        {name: pc.fill_null(pc.cast(table[name], pa.string()), "?") for name in columns}
    )


def coded(original: pa.Table, synthetic: pa.Table, keys: list[str], sensitive: str) -> Coded:
    """Return the codes of two tables of text: those of each column from 0 on, shared."""
    first, second = [], []
    n = original.num_rows
    for name in (*keys, sensitive):
        both = pa.concat_arrays(
            [*original[name].chunks, *synthetic[name].chunks]
        ).dictionary_encode()
        codes = both.indices.to_numpy()
        first.append(codes[:n])
        second.append(codes[n:])
    return first[:-1], first[-1], second[:-1], second[-1], len(both.dictionary)


def attack(tables: Coded, threads: int | None) -> Gcap:
    """Return the outcome of the attack."""
    people, values, source, others, n_levels = tables
    return gcap(people, values, source, others, n_levels=n_levels, threads=threads)


def beside_peer(n_rows: int, *, with_peer: bool) -> Rows:
    """Return the times of both on as many rows of Adult; values must agree."""
    rng = np.random.default_rng(n_rows)
    adult = bundled("adult")
    model = chaffinch.BayesNet(parents=2).fit(chaffinch.read(adult), seed=1)
    columns = [*KEYS, SENSITIVE]
    original = text(
        adult.take(pa.array(rng.choice(adult.num_rows, n_rows, replace=False))), columns
    ).combine_chunks()
    synthetic = text(model.sample(n_rows, seed=2).to_arrow(), columns).combine_chunks()
    tables = coded(original, synthetic, KEYS, SENSITIVE)
    value = attack(tables, 1).mean_score
    what = f"Adult, {n_rows:,} x {n_rows:,}, 5 keys"
    seconds = {
        "chaffinch, 1 thread": best(lambda: attack(tables, 1)),
        "chaffinch, 1 thread, coding of text included": best(
            lambda: attack(coded(original, synthetic, KEYS, SENSITIVE), 1)
        ),
    }
    theirs = None
    rows: Rows = []
    if with_peer:
        SCRATCH.mkdir(exist_ok=True)
        paths = SCRATCH / "gcap_original.csv", SCRATCH / "gcap_synthetic.csv"
        for table, path in zip((original, synthetic), paths, strict=True):
            csv.write_csv(table, path)
        found = sdmetrics.generalized_cap(*paths, keys=KEYS, sensitive=SENSITIVE)
        assert abs(1 - found["score"] - value) < 1e-9, (found["score"], value)
        theirs = found["seconds"]
        versions = ", ".join(
            f"{name} {number}" for name, number in found["versions"].items() if name != "sdmetrics"
        )
        how = f"SDMetrics {found['versions']['sdmetrics']} ({versions})"
        rows.append([what, how, f"{theirs:.3f}", f"{1 - found['score']:.6f}", "1"])
    for how, taken in seconds.items():
        rows.append(
            [what, how, f"{taken:.4f}", f"{value:.6f}", f"{theirs / taken:.0f}" if theirs else ""]
        )
    return rows


def whole_adult() -> Rows:
    """Return the times on all of Adult, three sensitive columns."""
    adult = bundled("adult")
    made = (
        chaffinch.BayesNet(parents=2)
        .fit(chaffinch.read(adult), seed=1)
        .sample(adult.num_rows, seed=2)
        .to_arrow()
    )
    rows: Rows = []
    for sensitive in ("relationship", "education", "marital_status"):
        original, synthetic = (
            text(table, [*KEYS, sensitive]).combine_chunks() for table in (adult, made)
        )
        for name, source in (("synthetic", synthetic), ("itself", original)):
            tables = coded(original, source, KEYS, sensitive)
            what = f"Adult, 48,842 x 48,842, 5 keys, {sensitive}, from {name}"
            value = f"{attack(tables, 1).mean_score:.6f}"
            rows.append(
                [
                    what,
                    "chaffinch, 1 thread",
                    f"{best(lambda t=tables: attack(t, 1)):.4f}",
                    value,
                    "",
                ]
            )
    return rows


def prepared(asked: dict[str, Any]) -> Coded:
    """Return the tables of one line of the growth."""
    n, rng = asked["rows"], np.random.default_rng(7)
    if asked["grows"] == "random":
        people, source = (list(rng.integers(0, 10, (asked["keys"], n))) for _ in range(2))
        return people, rng.integers(0, 6, n), source, rng.integers(0, 6, n), 6
    adult = bundled("adult")
    decades = pc.cast(pc.floor(pc.divide(pc.cast(adult["age"], pa.float64()), 10.0)), pa.int64())
    adult = adult.append_column("decade", pc.cast(decades, pa.string()))
    made = (
        chaffinch.BayesNet(parents=2)
        .fit(chaffinch.read(adult), seed=1)
        .sample(n, seed=2)
        .to_arrow()
    )
    keys = WIDE[: asked["keys"]]
    drawn = adult.take(pa.array(rng.integers(0, adult.num_rows, n)))
    return coded(
        *(text(table, [*keys, SENSITIVE]).combine_chunks() for table in (drawn, made)),
        keys,
        SENSITIVE,
    )


def work(asked: dict[str, Any]) -> dict[str, float]:
    """Attack once, after a small attack that is not counted, and return seconds and memory."""
    tables = prepared(asked)
    attack(
        (
            [k[:99] for k in tables[0]],
            tables[1][:99],
            [k[:99] for k in tables[2]],
            tables[3][:99],
            tables[4],
        ),
        None,
    )
    before = peak()
    start = time.perf_counter()
    found = attack(tables, asked["threads"])
    return {
        "seconds": time.perf_counter() - start,
        "radius": int(found.radius.max()),
        "before": before,
        "peak": peak(),
    }


def growth(most_rows: int) -> Rows:
    """Return the growth with rows at 5 keys, with keys at 50,000 rows, and with keys where none agree."""
    lines = [("rows", n, 5) for n in ROWS if n <= most_rows]
    lines += [("keys", 50_000, d) for d in (5, 8, 11, 13, 14, 15)]
    lines += [("random", 20_000, d) for d in (5, 10, 15)] + [("random", 50_000, 15)]
    rows: Rows = []
    for grows, n, d in lines:
        for threads in (1, 2):
            asked = {"grows": grows, "rows": n, "keys": d, "threads": threads}
            command = [sys.executable, "-m", "benchmarks.risk_gcap", "--line", json.dumps(asked)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            got = json.loads(done.stdout.splitlines()[-1])
            rows.append(
                [
                    grows,
                    n,
                    d,
                    threads,
                    f"{got['seconds']:.3f}",
                    got["radius"],
                    f"{got['before']:.3f}",
                    f"{got['peak']:.3f}",
                ]
            )
            print(*rows[-1], flush=True)
    return rows


def main(
    *,
    without_peer: Annotated[bool, Option("leave SDMetrics out; then nothing is saved")] = False,
    most_rows: int = ROWS[-1],
    dry: Annotated[bool, Option("print and save nothing")] = False,
    line: Annotated[
        str | None, Option("attack once, as this JSON says, and print the figures as JSON")
    ] = None,
) -> None:
    """Measure all, or the line of the growth that is asked for."""
    if line:
        print(json.dumps(work(json.loads(line))))
        return
    print(machine())
    rows = [
        row for n in PEER_ROWS for row in beside_peer(n, with_peer=not without_peer)
    ] + whole_adult()
    grown = growth(most_rows)
    if dry or without_peer:
        show(HEAD, rows)
        show(GROWTH_HEAD, grown)
    else:
        save("risk_gcap", HEAD, rows)
        save("risk_gcap_growth", GROWTH_HEAD, grown)


if __name__ == "__main__":
    run_study(main)
