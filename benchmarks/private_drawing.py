"""How rows are drawn from one private model: one by one, by halves, and by halves in sorted rows, as private models do.

    python -m benchmarks.private_drawing FOLDER TABLE ... [--epsilon 1] [--fits 4] [--draws 3]

FOLDER holds Parquet files (`private/folder.py` says how they are coarsened). All three ways draw from the same fits without a seed,
delta 1e-6; distances are those of `private/coarse.py`.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from benchmarks.common import run_study, save
from benchmarks.private.coarse import Cells, distances
from benchmarks.private.folder import SETS, folder_table
from chaffinch import BayesNet
from chaffinch.synth.bayesnet import model as model_module
from chaffinch.synth.bayesnet.model import BayesNetModel
from chaffinch.synth.bayesnet.tables import TIES

WAYS = {
    "one by one": ("independent", TIES),
    "by halves": ("systematic", 0),
    "and sorted": ("systematic", TIES),
}
HEAD = ["table", "shape", "drawing", "1-way", "2-way", "3-way", "2-way to one by one", "CPU ms"]


def drawn(model: BayesNetModel, rows: int, way: str, seed: int) -> tuple[Cells, float]:
    """Return codes of rows, and the processor time in seconds."""
    draw, model_module.TIES = WAYS[way]  # type: ignore[assignment]
    rng, start = np.random.default_rng(seed), time.process_time()
    codes = model.draw_codes(rows, rng, draw=draw)  # type: ignore[arg-type]
    seconds = time.process_time() - start
    model_module.TIES = TIES
    return np.stack([codes[name] for name in model.schema.names], axis=1).astype(np.int64), seconds


def main(
    folder: Path, tables: tuple[str, ...], *, epsilon: float = 1.0, fits: int = 4, draws: int = 3
) -> None:
    """Print and write the table."""
    rows: list[list[object]] = []
    for name in [name for word in tables for name in SETS.get(word, (word,))]:
        coarse = folder_table(folder, name)
        table = coarse.declared()
        measured: dict[str, list[tuple[float, ...]]] = {way: [] for way in WAYS}
        for _ in range(fits):
            model = BayesNet(epsilon=epsilon, delta=1e-6).fit(table)
            for seed in range(draws):
                for way in WAYS:
                    codes, seconds = drawn(model, coarse.n_rows, way, seed)
                    d = distances(coarse, codes)
                    measured[way].append((d.one, d.two, d.three, seconds))
        base = np.mean([two for _, two, _, _ in measured["one by one"]])
        for way, runs in measured.items():
            one, two, three, _ = np.mean(runs, axis=0)
            quickest = 1000 * min(seconds for *_, seconds in runs)
            shape = f"{coarse.n_rows:,} x {len(coarse.sizes)}"
            rows.append(
                [
                    name,
                    shape,
                    way,
                    f"{one:.4f}",
                    f"{two:.4f}",
                    f"{three:.4f}",
                    f"{two / base:.3f}",
                    f"{quickest:.1f}",
                ]
            )
            print(*rows[-1], sep="\t", flush=True)
    save("private_drawing", HEAD, rows, "opendp")


if __name__ == "__main__":
    run_study(main)
