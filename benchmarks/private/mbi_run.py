"""Run an MST or an AIM on the mbi engine on a table of codes and print its cost as JSON. Runs in the peer's own environment, which lacks Chaffinch.

python mbi_run.py FOLDER METHOD EPSILON DELTA SEED OUT.npy

mbi 2 ships the engine, not the mechanisms. MST: see `mst.py`. AIM: see `aim`. Noise is numpy's, which is good enough to measure and not for
a release.
"""

from __future__ import annotations

import json
import math
import resource
import sys
import time
import warnings
from collections.abc import Sequence
from importlib.metadata import version
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

warnings.simplefilter("ignore")
import mbi  # noqa: E402  (it warns when imported)

# Last, so that no file beside this one is imported in place of a package.
sys.path.append(str(Path(__file__).parents[2]))
from benchmarks.private.mst import Codes, Counts, counted, exponential, measure_tree, rho_of  # noqa: E402


def mst(codes: Codes, sizes: Sequence[int], rho: float, rng: np.random.Generator) -> Codes:
    """Return synthetic codes of a tree."""
    released = measure_tree(codes, sizes, rho, rng)
    std, spread = released.column_std, released.pair_std
    measured = [
        mbi.LinearMeasurement(noisy, (str(j),), std, query=mbi.WeightedQuery(weights))
        for j, (noisy, weights) in enumerate(zip(released.columns, released.weights, strict=True))
    ]
    for (a, b), noisy in zip(released.tree, released.pairs, strict=True):
        measured.append(mbi.LinearMeasurement(noisy.ravel(), (str(a), str(b)), spread))
    domain = mbi.Domain(tuple(str(j) for j in range(len(sizes))), released.sizes)
    model = mbi.estimation.MirrorDescent().estimate(
        domain, measured, known_total=released.total, iters=1000
    )
    return released.expanded(rows_of(model, len(codes), len(sizes)), rng)


def aim(codes: Codes, sizes: Sequence[int], rho: float, rng: np.random.Generator) -> Codes:
    """Return synthetic codes by AIM (McKenna, Mullins, Sheldon and Miklau, VLDB 2022) for all pairs, at its published settings.

    At most 16 d rounds, nine tenths of each for measuring, models up to 80 MB in proportion to what is spent, halved noise where a
    round changed the model by less than its noise.
    """
    width, most_mib, rounds, share = len(sizes), 80.0, 16 * len(sizes), 0.9
    names = [str(j) for j in range(width)]
    domain = mbi.Domain(tuple(names), tuple(sizes))
    pairs = list(combinations(range(width), 2))
    candidates = [(j,) for j in range(width)] + pairs
    exact = {clique: counted(codes, sizes, clique).ravel() for clique in candidates}
    weight = {
        clique: float(sum(len(set(clique) & set(pair)) for pair in pairs)) for clique in candidates
    }
    largest = max(weight.values())
    sigma, epsilon = (
        math.sqrt(rounds / (2 * share * rho)),
        math.sqrt(8 * (1 - share) * rho / rounds),
    )
    measured: list[mbi.LinearMeasurement] = []

    def measure(clique: tuple[int, ...]) -> None:
        noisy = exact[clique] + rng.normal(0, sigma, exact[clique].shape)
        measured.append(mbi.LinearMeasurement(noisy, tuple(names[j] for j in clique), sigma))

    for j in range(width):
        measure((j,))
    spent, last = width / (2 * sigma**2), False
    engine = mbi.estimation.MirrorDescent()
    model = engine.estimate(domain, measured, iters=1000)
    while not last:
        left = rho - spent
        if left < 2 * (1 / (2 * sigma**2) + epsilon**2 / 8):
            sigma, epsilon, last = (
                math.sqrt(1 / (2 * share * left)),
                math.sqrt(8 * (1 - share) * left),
                True,
            )
        spent += 1 / (2 * sigma**2) + epsilon**2 / 8
        inside = list({m.clique for m in measured})
        limit = most_mib * spent / rho
        small = [c for c in candidates if fits(domain, inside, tuple(names[j] for j in c), limit)]
        answers = {c: answer(model, names, c) for c in small}
        noise = math.sqrt(2 / math.pi) * sigma
        scores = [
            weight[c] * (np.abs(exact[c] - answers[c]).sum() - noise * exact[c].size) for c in small
        ]
        clique = small[exponential(scores, epsilon, largest, rng)]
        measure(clique)
        model = engine.estimate(domain, measured, iters=1000, warm_start=model)
        if (
            np.abs(answer(model, names, clique) - answers[clique]).sum()
            <= noise * exact[clique].size
        ):
            sigma, epsilon = sigma / 2, epsilon * 2
    return rows_of(model, len(codes), width)


def answer(model: Any, names: Sequence[str], clique: tuple[int, ...]) -> Counts:
    """Return a model's counts of a marginal."""
    return np.asarray(model.project(tuple(names[j] for j in clique)).datavector(), dtype=np.float64)


def fits(
    domain: mbi.Domain, inside: Sequence[tuple[str, ...]], clique: tuple[str, ...], limit: float
) -> bool:
    """Return whether a model with one clique more has at most a size; a clique that is in the model already has."""
    if any(set(clique) <= set(other) for other in inside):
        return True
    return bool(mbi.junction_tree.hypothetical_model_size(domain, [*inside, clique]) <= limit)


def rows_of(model: Any, n_rows: int, width: int) -> Codes:
    """Return rows of a model."""
    table = model.synthetic_data(rows=n_rows).to_dict()
    return np.stack([np.asarray(table[str(j)], dtype=np.int64) for j in range(width)], axis=1)


METHODS = {"MST": mst, "AIM": aim}


def cpu() -> float:
    """Return the seconds of processor time so far, of this process and of those that it waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def run(
    folder: Path, method: str, epsilon: float, delta: float, seed: int, out: Path
) -> dict[str, object]:
    """Return the seconds of fit and sample, and the peak memory; the synthetic codes are written to a file."""
    sizes = json.loads((folder / "domain.json").read_text())
    codes = np.load(folder / "codes.npy")
    rng = np.random.default_rng(seed)
    np.random.seed(seed)  # mbi draws from it
    rho = rho_of(epsilon, delta)
    start, begun = cpu(), time.perf_counter()
    synthetic = METHODS[method](codes, list(sizes.values()), rho, rng)
    seconds = {"cpu": cpu() - start, "wall": time.perf_counter() - begun}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    np.save(out, synthetic)
    return {**seconds, "peak": peak, "version": version("mbi")}


if __name__ == "__main__":
    source, name, budget, slack, start_at, target = sys.argv[1:]
    print(
        json.dumps(
            run(Path(source), name, float(budget), float(slack), int(start_at), Path(target))
        )
    )
