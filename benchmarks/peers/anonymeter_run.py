"""Run by Anonymeter's Python: `anonymeter_run.py KEYS SECRET FOLDER ...`. Prints one line of JSON."""

from __future__ import annotations

import importlib.metadata
import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator

warnings.simplefilter("ignore")


def lower_bounds(folder: Path, keys: list[str], secret: str) -> dict[str, float | None]:
    """The lower end of the 95 % interval of each risk; None where the program gives none."""
    original, released, control = (
        pd.read_csv(folder / f"{name}.csv") for name in ("original", "released", "control")
    )
    others = [name for name in original if name not in keys]
    out: dict[str, float | None] = {}
    attacks = {
        "univariate": lambda: SinglingOutEvaluator(
            original, released, control=control, seed=1
        ).evaluate(mode="univariate"),
        "multivariate": lambda: SinglingOutEvaluator(
            original, released, control=control, seed=1
        ).evaluate(mode="multivariate"),
        "linkability": lambda: LinkabilityEvaluator(
            original, released, aux_cols=(keys, others), control=control
        ).evaluate(n_jobs=1),
        "inference": lambda: InferenceEvaluator(
            original,
            released,
            aux_cols=[n for n in original if n != secret],
            secret=secret,
            control=control,
        ).evaluate(n_jobs=1),
    }
    for name, attack in attacks.items():
        try:
            out[name] = float(attack().risk(confidence_level=0.95).ci[0])
        except (RuntimeError, ValueError) as error:
            print(f"{folder.name}, {name}: {error}", file=sys.stderr)
            out[name] = None
    return out


def main() -> None:
    keys, secret = sys.argv[1].split(","), sys.argv[2]
    found = []
    for folder in sys.argv[3:]:
        np.random.seed(1)
        began = time.process_time()
        bounds = lower_bounds(Path(folder), keys, secret)
        found.append({"bounds": bounds, "seconds": time.process_time() - began})
    print(
        json.dumps(
            {
                "found": found,
                "versions": {
                    name: importlib.metadata.version(name)
                    for name in ("anonymeter", "numpy", "pandas")
                },
            }
        )
    )


main()
