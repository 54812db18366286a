"""Run DataSynthesizer on a table of codes and print its cost as JSON. Runs in the peer's own environment, which lacks Chaffinch.

python datasynthesizer_run.py FOLDER K EPSILON DELTA SEED OUT.npy

Correlated attribute mode with K parents. The promise is pure epsilon: DELTA is not used. Every code is a category and the domain is given,
so that nothing is read from the records.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import resource
import sys
import tempfile
import time
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np
from DataSynthesizer.DataDescriber import DataDescriber
from DataSynthesizer.DataGenerator import DataGenerator


def cpu() -> float:
    """Return the seconds of processor time so far, of this process and of those that it waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def run(folder: Path, parents: int, epsilon: float, seed: int, out: Path) -> dict[str, object]:
    """Return the seconds to describe and to generate, and the peak memory; the synthetic codes are written to a file."""
    warnings.simplefilter("ignore")
    sizes = json.loads((folder / "domain.json").read_text())
    codes = np.load(folder / "codes.npy")
    with tempfile.TemporaryDirectory() as place, contextlib.redirect_stdout(io.StringIO()):
        table, levels, description = (
            str(Path(place) / name) for name in ("table.csv", "levels.json", "told.json")
        )
        with open(table, "w", newline="") as handle:
            writer = csv.writer(handle)
            writer.writerow(sizes)
            writer.writerows([f"v{code}" for code in row] for row in codes.tolist())
        Path(levels).write_text(
            json.dumps({name: [f"v{i}" for i in range(size)] for name, size in sizes.items()})
        )
        start, begun = cpu(), time.perf_counter()
        describer = DataDescriber()
        describer.describe_dataset_in_correlated_attribute_mode(
            table,
            k=parents,
            epsilon=epsilon,
            attribute_to_datatype=dict.fromkeys(sizes, "String"),
            attribute_to_is_categorical=dict.fromkeys(sizes, True),
            attribute_to_is_candidate_key=dict.fromkeys(sizes, False),
            categorical_attribute_domain_file=levels,
            seed=seed,
        )
        describer.save_dataset_description_to_file(description)
        generator = DataGenerator()
        generator.generate_dataset_in_correlated_attribute_mode(len(codes), description, seed=seed)
        made = generator.synthetic_dataset
        seconds = {"cpu": cpu() - start, "wall": time.perf_counter() - begun}
    peak = (
        max(
            resource.getrusage(who).ru_maxrss
            for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        )
        / 1024
    )
    np.save(
        out, np.stack([made[name].str[1:].astype(np.int64).to_numpy() for name in sizes], axis=1)
    )
    return {**seconds, "peak": peak, "version": version("DataSynthesizer")}


if __name__ == "__main__":
    source, k, budget, _, start_at, target = sys.argv[1:]
    print(json.dumps(run(Path(source), int(k), float(budget), int(start_at), Path(target))))
