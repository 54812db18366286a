"""Run dpmm's PrivBayes or MST on a table of codes and print its cost as JSON. Runs in the peer's own environment, which lacks Chaffinch.

python dpmm_run.py FOLDER METHOD EPSILON DELTA SEED OUT.npy

FOLDER holds codes.npy and domain.json. The models are called without the pipeline, which would bin and look for the domain: the
domain is given. All settings are the defaults. The seed rules selection and drawing; the noise of dpmm has none.
"""

from __future__ import annotations

import json
import resource
import sys
import time
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
from dpmm.models import MSTGM, PrivBayesGM

METHODS = {"PrivBayes": PrivBayesGM, "MST": MSTGM}


def cpu() -> float:
    """Return the seconds of processor time so far, of this process and of those that it waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def run(
    folder: Path, method: str, epsilon: float, delta: float, seed: int, out: Path
) -> dict[str, object]:
    """Return the seconds of fit and generate, and the peak memory; the synthetic codes are written to a file."""
    warnings.simplefilter("ignore")
    domain = json.loads((folder / "domain.json").read_text())
    table = pd.DataFrame(np.load(folder / "codes.npy"), columns=list(domain))
    start, begun = cpu(), time.perf_counter()
    rng = np.random.RandomState(seed)
    model = METHODS[method](epsilon=epsilon, delta=delta, domain=domain, random_state=rng, n_jobs=1)
    model.fit(table)
    made = model.generate(n_records=len(table))
    seconds = {"cpu": cpu() - start, "wall": time.perf_counter() - begun}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    np.save(out, made[list(domain)].to_numpy().astype(np.int64))
    return {**seconds, "peak": peak, "version": version("dpmm")}


if __name__ == "__main__":
    source, name, budget, slack, start_at, target = sys.argv[1:]
    print(
        json.dumps(
            run(Path(source), name, float(budget), float(slack), int(start_at), Path(target))
        )
    )
