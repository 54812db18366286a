"""Linkability and singling out on real tables: ours beside Anonymeter's, for copies, a network and fresh people.

    python -m experiments.attack_what_leaves.linkage FOLDER [--peer PYTHON] [--table NAME ...]

FOLDER holds tables as Parquet files. Each is split into members, others and fresh people; keys are the first half of its columns. `--peer` is the Python of an
environment with Anonymeter, which is then run on the same tables. Writes `linkage.csv` beside this file.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import chaffinch
from benchmarks.common import run_study, write_rows
from chaffinch.risk.memorisation.battery import memorisation_scores
from chaffinch.stats.excess import excess
from chaffinch.table.align import align
from chaffinch.table.compare.values import CodedTables

TESTS = ("linkability", "linkability_5", "singled_out", "singled_out_by_several")
MOST = 2000

PEER = """
import sys, json, warnings
warnings.filterwarnings("ignore")
import pandas as pd
from anonymeter.evaluators import LinkabilityEvaluator, SinglingOutEvaluator
folder, keys = sys.argv[1], json.loads(sys.argv[2])
ori, syn, control = (pd.read_parquet(f"{folder}/{name}.parquet") for name in ("members", "released", "others"))
rest = [c for c in ori.columns if c not in keys]
out = {}
n = min(len(ori), len(control), 500)
for k, name in ((1, "linkability"), (5, "linkability_5")):
    try:
        one = LinkabilityEvaluator(ori, syn, (keys, rest), n_attacks=n, n_neighbors=k, control=control).evaluate(n_jobs=1).results()
        out[name] = [one.n_success / n, one.n_control / n, one.n_baseline / n]
    except Exception as error:
        out[name] = [None, None, None]
for mode, name in (("univariate", "singled_out"), ("multivariate", "singled_out_by_several")):
    try:
        one = SinglingOutEvaluator(ori, syn, n_attacks=500, n_cols=min(5, len(ori.columns)), control=control, max_attempts=20000, seed=1)
        one = one.evaluate(mode=mode).results()
        out[name] = [one.n_success / 500, one.n_control / 500, one.n_baseline / 500]
    except Exception as error:
        out[name] = [None, None, None]
print(json.dumps(out))
"""


def releases(members: pa.Table, fresh: pa.Table, seed: int) -> dict[str, pa.Table]:
    """Return what is released of members: fresh people alone, with copies of 2 and 20 % of the members, and a network's draw."""

    def copies(share: float) -> pa.Table:
        n = round(share * members.num_rows)
        return pa.concat_tables([members.slice(0, n), fresh.slice(n)])

    model = chaffinch.BayesNet(parents=2).fit(chaffinch.read(members), seed=seed)
    return {
        "fresh": fresh,
        "2 % copies": copies(0.02),
        "20 % copies": copies(0.2),
        "network": model.sample(members.num_rows, seed=seed + 1).to_arrow(),
    }


def measured(table: pa.Table, name: str, peer: str | None) -> list[dict[str, Any]]:
    """Return the rows of one table."""
    rng = np.random.default_rng(1)
    order = rng.permutation(table.num_rows)[: 3 * MOST]
    members, others, fresh = (table.take(np.sort(part)) for part in np.array_split(order, 3))
    original = chaffinch.read(members)
    names = list(original.schema.names)
    members, others, fresh = (part.select(names) for part in (members, others, fresh))
    keys = names[: len(names) // 2]
    out = []
    for kind, released in releases(members, fresh, 1).items():
        aligned = align(chaffinch.read(members), released.select(names), others)
        start = time.perf_counter()
        root = np.random.SeedSequence(2)
        coded = CodedTables(dict(zip(("original", "synthetic", "holdout"), aligned, strict=True)))
        outcomes = memorisation_scores(coded, ["synthetic"], TESTS, keys=keys, seed=root)
        p_values = {
            test: excess(inside.group, outside.group, resamples=1000, seed=root).p_value
            for test, (inside, outside) in outcomes.items()
            if inside.value is not None and outside.value is not None
        }
        seconds = time.perf_counter() - start
        theirs = peer_figures(peer, members, released.select(names), others, keys) if peer else {}
        for test, (inside, outside) in outcomes.items():
            success, control, baseline = theirs.get(test, (None, None, None))
            out.append(
                {
                    "table": name,
                    "rows": members.num_rows,
                    "columns": len(names),
                    "released": kind,
                    "test": test,
                    "value": inside.value,
                    "holdout": outside.value,
                    "guess": inside.guess.value,
                    "p_value": p_values.get(test),
                    "anonymeter": success,
                    "anonymeter_control": control,
                    "anonymeter_baseline": baseline,
                    "seconds_of_four_tests": round(seconds, 2),
                    "reason": inside.reason or None,
                }
            )
    return out


def peer_figures(
    peer: str, members: pa.Table, released: pa.Table, others: pa.Table, keys: list[str]
) -> dict[str, list[float | None]]:
    """Return what Anonymeter says of the same tables."""
    import json

    with tempfile.TemporaryDirectory() as folder:
        for name, table in (("members", members), ("released", released), ("others", others)):
            pq.write_table(table.cast(members.schema, safe=False), f"{folder}/{name}.parquet")
        try:
            done = subprocess.run(
                [peer, "-c", PEER, folder, json.dumps(keys)],
                capture_output=True,
                text=True,
                timeout=240,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return {}
    lines = done.stdout.strip().splitlines()
    figures: dict[str, list[float | None]] = json.loads(lines[-1]) if lines else {}
    return figures


def main(
    folder: Path,
    *,
    peer: str | None = None,
    table: tuple[str, ...] = ("islp_wage", "sm_fair", "lm_card", "nyc_planes"),
) -> None:
    rows = []
    for name in table:
        rows += measured(pq.read_table(folder / f"{name}.parquet"), name, peer)
        write_rows(Path(__file__).parent / "linkage.csv", rows)


if __name__ == "__main__":
    run_study(main)
