"""Rerun P4's figures on the synthesisers without privacy: mu, delta and G, three syntheses for each setting.

python experiments/p4_composite/run.py [diabetes] [adult]
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from training import save, whole  # noqa: E402

from chaffinch import BayesNet, Independent  # noqa: E402
from chaffinch.measure.utility import sweep  # noqa: E402
from chaffinch.report.plots import sweep_plot  # noqa: E402

sys.path.insert(0, str(HERE.parents[1] / "benchmarks"))

from data import bundled  # noqa: E402

SETTINGS = {0: Independent(), **{k: BayesNet(parents=k, search="genetic") for k in range(1, 5)}}
"""By the most parents of a column; 0 is independent columns."""
REPEATS = {"diabetes": 10, "adult": 2}
ROWS = {"diabetes": None, "adult": 2_000}


def main(dataset: str) -> None:
    """Write a row for each setting and synthesis."""
    table = whole(bundled(dataset))
    found = sweep(table, SETTINGS, copies=3, seed=1, repeats=REPEATS[dataset], rows=ROWS[dataset])
    rows = [
        [dataset, r["setting"], r["copy"], *(f"{r[name]:.5f}" for name in ("mu", "delta", "delta_tstr", "G"))]
        for r in found.to_dict()["rows"]
    ]
    save(HERE, dataset, ["dataset", "parents", "copy", "mu", "delta", "delta TSTR", "G"], rows)
    for name in ("mu", "delta", "G"):
        points = [(r["setting"], r[name]) for r in found.to_dict()["rows"]]
        (HERE / f"{dataset}_{name}.svg").write_text(
            str(sweep_plot(name, f"{name}, {dataset}", "parents", points)), encoding="utf-8"
        )


if __name__ == "__main__":
    for part in sys.argv[1:] or REPEATS:
        print(part, flush=True)
        main(part)
