"""One of our synthesisers on one table at one epsilon, in a process of its own: distances, seconds and memory as JSON.

    python -m private.ours FOLDER METHOD EPSILON RUNS DELTA         (in benchmarks/)

FOLDER holds codes.npy and domain.json; EPSILON "none" is no privacy. No seed is given: noise comes from the operating system through OpenDP, as in a release. Before the runs that count, a fit of the first
1,000 rows loads the compiled kernels.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.private.coarse import Cells, Coarse, codes_of, distances
from chaffinch import BayesNet, Independent, synth
from chaffinch.synth import PrivBayes

DELTA = 1e-9
BOOTSTRAP = "bootstrap of the data"

Settings = Any
Make = Callable[[float], Settings]


def methods(delta: float = DELTA) -> dict[str, Make]:
    """Return the private synthesisers that are compared, each as a function of epsilon; delta is for those that spend one."""
    out: dict[str, Make] = {
        "BayesNet": lambda e: BayesNet(epsilon=e, delta=delta),
        "BayesNet, genetic": lambda e: BayesNet(search="genetic", epsilon=e, delta=delta),
        "BayesNet, pure": lambda e: BayesNet(epsilon=e),
        "PrivBayes": lambda e: PrivBayes(epsilon=e),
        "PrivBayes, add-remove": lambda e: PrivBayes(epsilon=e, neighbours="add-remove"),
        "PrivBayes, dpart": lambda e: PrivBayes(epsilon=e, variant="dpart"),
        "PrivBayes, sdg": lambda e: PrivBayes(epsilon=e, variant="sdg"),
        "PrivBayes, datasynthesizer, k=1": lambda e: PrivBayes(
            epsilon=e, variant="datasynthesizer", parents=1
        ),
    }
    field_groups = getattr(synth, "FieldGroups", None)
    if field_groups is not None:
        out["FieldGroups"] = lambda e: field_groups(epsilon=e)
    return out


PLAIN: dict[str, Callable[[], Settings]] = {
    "BayesNet": BayesNet,
    "BayesNet, genetic": lambda: BayesNet(search="genetic"),
    "BayesNet, greedy": lambda: BayesNet(search="greedy"),
    "Independent": Independent,
}
"""Without a promise, for comparison."""


def settings_of(method: str, epsilon: float | None, delta: float) -> Settings:
    """Return the settings of a method; epsilon None is no privacy."""
    return PLAIN[method]() if epsilon is None else methods(delta)[method](epsilon)


def cpu() -> float:
    """Return the seconds of processor time so far, of this process and of those that it waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def peak() -> float:
    """Return the most memory that the process has held so far, in MiB, imports included."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def bootstrap(coarse: Coarse, seed: int) -> Cells:
    """Return as many rows, drawn from the table with replacement: about the least distance that drawing rows allows."""
    rng = np.random.default_rng(seed)
    return coarse.codes[rng.integers(0, coarse.n_rows, coarse.n_rows)]


def run(
    coarse: Coarse, method: str, epsilon: float | None, runs: int, delta: float = DELTA
) -> list[dict[str, float]]:
    """Return, for each run, the distances, the seconds of fit and sample together, and the peak memory of the process in MiB."""
    if method == BOOTSTRAP:
        return [asdict(distances(coarse, bootstrap(coarse, i))) for i in range(runs)]
    settings = settings_of(method, epsilon, delta)
    small, table = coarse.head(1000), coarse.declared()
    settings.fit(small.declared()).sample(small.n_rows)
    made, costs = [], []
    for _ in range(runs):
        start, begun = cpu(), time.perf_counter()
        synthetic = settings.fit(table).sample(coarse.n_rows)
        costs.append({"cpu": cpu() - start, "wall": time.perf_counter() - begun, "peak": peak()})
        made.append(codes_of(synthetic))
    # Measured after all fits: the tables of the measure are no part of the peak.
    return [
        {**asdict(distances(coarse, codes)), **cost}
        for codes, cost in zip(made, costs, strict=True)
    ]


def main() -> None:
    """Run what the command line names and print it."""
    folder, method, told, runs, delta = sys.argv[1:]
    epsilon = None if told == "none" else float(told)
    print(json.dumps(run(Coarse.read(Path(folder)), method, epsilon, int(runs), float(delta))))


if __name__ == "__main__":
    main()
