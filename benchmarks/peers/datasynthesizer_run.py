"""Run DataSynthesizer on a CSV file and print its times as JSON. Runs in the peer's own environment, which lacks Chaffinch.

python datasynthesizer_run.py TABLE.csv PARENTS ROWS
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

from DataSynthesizer.DataDescriber import DataDescriber
from DataSynthesizer.DataGenerator import DataGenerator


def run(path: str, parents: int, n_rows: int) -> dict[str, object]:
    """Return seconds to describe and to generate: correlated attribute mode, no privacy."""
    with tempfile.TemporaryDirectory() as folder:
        description = str(Path(folder) / "description.json")
        start = time.perf_counter()
        describer = DataDescriber(category_threshold=20)
        describer.describe_dataset_in_correlated_attribute_mode(path, k=parents, epsilon=0)
        describer.save_dataset_description_to_file(description)
        described = time.perf_counter()
        generator = DataGenerator()
        generator.generate_dataset_in_correlated_attribute_mode(n_rows, description)
        generated = time.perf_counter()
        made = len(generator.synthetic_dataset)
    if made != n_rows:
        raise SystemExit(f"DataSynthesizer made {made} rows, not {n_rows}.")
    return {
        "describe": described - start,
        "generate": generated - described,
        "versions": {
            name: version(name) for name in ("DataSynthesizer", "numpy", "pandas", "scikit-learn")
        },
    }


if __name__ == "__main__":
    print(json.dumps(run(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
