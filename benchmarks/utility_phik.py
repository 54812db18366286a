"""Speed of phi_k matrices: ours of two tables (original and synthetic) beside the phik library's of one.

    python -m benchmarks.utility_phik [--repeats N] [--scale SHARE]

Adult, all 48,842 rows, 15 columns, 105 pairs; the synthetic table has independent columns and as many rows. "cold" is the
first call of a fresh process, with no shape tabulated; the imports (numba and scipy here; pandas, joblib and scipy there), the
loading of the compiled counting kernel from its cache and the interval are counted apart. With --scale the table is cut to a
share of its rows: figures are printed and not saved.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Annotated, Literal

import pyarrow.parquet as pq

from benchmarks.common import SCRATCH, Option, best, machine, run_study, save, show
from benchmarks.data import bundled

Rows = list[list[object]]
ORIGINAL, SYNTHETIC = SCRATCH / "phik_original.parquet", SCRATCH / "phik_synthetic.parquet"


def prepare(scale: float) -> int:
    """Write both tables and return their number of rows; by then the kernels are compiled."""
    import chaffinch
    from chaffinch.utility.phi_k import phi_k

    SCRATCH.mkdir(exist_ok=True)
    values = bundled("adult")
    values = values.slice(0, int(values.num_rows * scale))
    table = chaffinch.read(values)
    synthetic = chaffinch.Independent().fit(table).sample(table.n_rows, seed=1)
    pq.write_table(values, ORIGINAL)
    pq.write_table(synthetic.to_arrow(), SYNTHETIC)
    phi_k(table, synthetic)
    return table.n_rows


def seconds(work: Callable[[], object]) -> float:
    """Return the time of one run."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def ours(repeats: int) -> dict[str, float]:
    """Return our times in this process: its first call, calls without shapes, calls with them, and with the interval."""
    import chaffinch

    table = chaffinch.read(ORIGINAL)
    other = chaffinch.read(SYNTHETIC, table.schema)

    def imports() -> None:
        import scipy.special  # noqa: F401 - for the interval

        import chaffinch.counts.tally
        import chaffinch.utility.phi_k  # noqa: F401

    out = {"imports": seconds(imports)}
    from chaffinch.counts.counter import MemoryCounter
    from chaffinch.utility.phi_k import _curve, _panels, phi_k

    out["loading the compiled kernel"] = seconds(
        lambda: MemoryCounter(table).marginals([table.schema.names[:1]])
    )

    def plain() -> object:
        return phi_k(table, other, interval=False)

    def afresh() -> object:
        _curve.cache_clear()
        _panels.cache_clear()
        return plain()

    out["cold"] = seconds(plain)
    out["shapes not tabulated"] = best(afresh, repeats=repeats)
    out["shapes tabulated"] = best(plain, repeats=repeats)
    out["shapes tabulated, interval"] = best(lambda: phi_k(table, other), repeats=repeats)
    return out


def theirs(repeats: int) -> dict[str, float]:
    """Return the phik library's times in this process: its first call, then the quickest with one job and with all cores."""
    warnings.simplefilter("ignore")
    frame = pq.read_table(ORIGINAL).to_pandas()

    def imports() -> None:
        import phik  # noqa: F401

    out = {"imports": seconds(imports)}
    from phik import phik_matrix

    numeric = list(frame.select_dtypes("number").columns)
    out["cold"] = seconds(lambda: phik_matrix(frame, interval_cols=numeric, njobs=1))
    for how, jobs in (("1 job", 1), ("all cores", -1)):
        out[how] = best(
            lambda jobs=jobs: phik_matrix(frame, interval_cols=numeric, njobs=jobs), repeats=repeats
        )
    return out


def in_fresh_process(side: str, repeats: int) -> dict[str, float]:
    """Return the times of one side, measured in a process of its own."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.utility_phik",
        "--side",
        side,
        "--repeats",
        str(repeats),
    ]
    return json.loads(
        subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1]
    )


def measure(scale: float, repeats: int) -> tuple[list[str], Rows]:
    """Return both sides, one process after the other."""
    n_rows = prepare(scale)
    # In turn, so that a busy spell of the machine does not meet one side alone.
    runs = [(in_fresh_process("theirs", 2), in_fresh_process("ours", repeats)) for _ in range(3)]
    peer, mine = zip(*runs, strict=True)
    quickest = {name: min(run[name] for run in peer) for name in peer[0]}
    found = {name: min(run[name] for run in mine) for name in mine[0]}
    warm = min(quickest["1 job"], quickest["all cores"])
    against = {"imports": quickest["imports"], "cold": min(warm, quickest["cold"])}
    rows: Rows = []
    for name, value in quickest.items():
        rows.append(
            [f"Adult, {n_rows:,} x 15", f"phik, one table, {name}", f"{value * 1e3:.1f}", ""]
        )
    for name, value in found.items():
        ratio = "" if name.startswith("loading") else f"{against.get(name, warm) / value:.1f}"
        rows.append(
            [
                f"Adult, {n_rows:,} x 15",
                f"chaffinch, two tables, {name}",
                f"{value * 1e3:.1f}",
                ratio,
            ]
        )
    return ["what", "how", "ms", "times faster"], rows


def main(
    *,
    repeats: int = 7,
    scale: Annotated[float, Option("share of the rows; below 1 nothing is saved")] = 1.0,
    side: Annotated[
        Literal["ours", "theirs"] | None,
        Option("print the times of one side as JSON (tables are there)"),
    ] = None,
) -> None:
    """Measure both sides, or the side asked for."""
    if side:
        print(json.dumps({"ours": ours, "theirs": theirs}[side](repeats)))
        return
    print(machine("scipy", "phik"))
    got = measure(scale, repeats)
    if scale == 1.0:
        save("utility_phik", *got, "scipy", "phik")
    else:
        show(*got)


if __name__ == "__main__":
    run_study(main)
