"""Run SDMetrics' GeneralizedCAP on two CSV files and print its time as JSON. Runs in the peer's own environment, which lacks Chaffinch.

python sdmetrics_run.py ORIGINAL.csv SYNTHETIC.csv KEY,KEY,... SENSITIVE
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from importlib.metadata import version

import pandas as pd
from sdmetrics.single_table import CategoricalGeneralizedCAP


def run(original: str, synthetic: str, keys: list[str], sensitive: str) -> dict[str, object]:
    """Return the seconds of the measure, reading not counted, and its value. Every column is text, also numbers."""
    warnings.simplefilter("ignore")
    real, fake = (
        pd.read_csv(path, dtype=str, keep_default_na=False) for path in (original, synthetic)
    )
    metadata = {"columns": {name: {"sdtype": "categorical"} for name in real.columns}}
    start = time.perf_counter()
    score = CategoricalGeneralizedCAP.compute(
        real, fake, metadata=metadata, key_fields=keys, sensitive_fields=[sensitive]
    )
    seconds = time.perf_counter() - start
    return {
        "seconds": seconds,
        "score": float(score),
        "versions": {name: version(name) for name in ("sdmetrics", "numpy", "pandas")},
    }


if __name__ == "__main__":
    print(json.dumps(run(sys.argv[1], sys.argv[2], sys.argv[3].split(","), sys.argv[4])))
