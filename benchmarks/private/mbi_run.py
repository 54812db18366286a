"""Run an MST on the mbi engine on a table of codes and print its cost as JSON. Runs in the peer's own environment, which lacks Chaffinch.

python mbi_run.py FOLDER METHOD EPSILON DELTA SEED OUT.npy

mbi 2 ships the engine, not the mechanism. This is the mechanism in short, after McKenna, Miklau and Sheldon (2021): a third of the budget
(zCDP, one record added or removed) for noisy columns, a third for a spanning tree, chosen edge by edge by the exponential mechanism on
the L1 distance of pairs from independence, a third for the tables of the tree; then mirror descent. Noise is numpy's, which is good
enough to measure and not for a release.
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

import numpy as np

warnings.simplefilter("ignore")
import mbi  # noqa: E402  (it warns when imported)


def rho_of(epsilon: float, delta: float) -> float:
    """Return the largest zCDP that gives (epsilon, delta), by the conversion of Canonne, Kamath and Steinke (2020), proposition 12."""

    def least(rho: float) -> float:
        # delta of rho-zCDP at epsilon: the least over the order a of exp((a - 1)(a rho - epsilon)) (1 - 1 / a)^a / (a - 1)
        a = 1 + np.logspace(-4, 5, 20_000)
        told = (a - 1) * (a * rho - epsilon) + a * np.log1p(-1 / a) - np.log(a - 1)
        return float(np.exp(min(told.min(), 0.0)))

    low, high = 0.0, epsilon + 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if least(middle) <= delta else (low, middle)
    return low


def mst(data: mbi.Dataset, rho: float, rng: np.random.Generator) -> mbi.MarkovRandomField:
    """Return the fitted model of a tree."""
    domain, names = data.domain, list(data.domain.attributes)
    exact = {c: np.asarray(data.project(c).datavector(flatten=False)) for k in (1, 2) for c in combinations(names, k)}

    def measured(cliques: Sequence[tuple[str, ...]]) -> list[mbi.LinearMeasurement]:
        sigma = math.sqrt(len(cliques) / (2 * rho / 3))
        noisy = {c: (exact[c] + rng.normal(0, sigma, exact[c].shape)).ravel() for c in cliques}
        return [mbi.LinearMeasurement(noisy[c], c, sigma) for c in cliques]

    single = measured([(name,) for name in names])
    # Columns alone need no engine: clipped and scaled, they are the model of independence.
    total = float(np.mean([m.noisy_measurement.sum() for m in single]))
    shares = {m.clique[0]: np.maximum(m.noisy_measurement, 0) for m in single}
    shares = {name: share / share.sum() for name, share in shares.items()}
    scores = {
        (a, b): float(np.abs(exact[a, b] - total * np.outer(shares[a], shares[b])).sum())
        for a, b in combinations(names, 2)
    }
    epsilon, group = math.sqrt(8 * rho / 3 / (len(names) - 1)), {name: name for name in names}
    tree: list[tuple[str, str]] = []
    while len(tree) < len(names) - 1:
        open_ = [pair for pair in scores if group[pair[0]] != group[pair[1]]]
        # the largest score plus Gumbel noise: the exponential mechanism for sensitivity 1
        keys = epsilon / 2 * np.array([scores[pair] for pair in open_]) + rng.gumbel(size=len(open_))
        a, b = open_[int(keys.argmax())]
        tree.append((a, b))
        old, new = group[b], group[a]
        group = {name: new if held == old else held for name, held in group.items()}
    return mbi.estimation.MirrorDescent().estimate(domain, single + measured(tree), iters=1000)


def cpu() -> float:
    """Return the seconds of processor time so far, of this process and of those that it waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def run(folder: Path, epsilon: float, delta: float, seed: int, out: Path) -> dict[str, object]:
    """Return the seconds of fit and sample, and the peak memory; the synthetic codes are written to a file."""
    sizes = json.loads((folder / "domain.json").read_text())
    codes = np.load(folder / "codes.npy")
    rng = np.random.default_rng(seed)
    np.random.seed(seed)  # mbi draws from it
    rho = rho_of(epsilon, delta)
    start, begun = cpu(), time.perf_counter()
    domain = mbi.Domain(tuple(sizes), tuple(sizes.values()))
    data = mbi.Dataset({name: codes[:, j] for j, name in enumerate(sizes)}, domain)
    made = mst(data, rho, rng).synthetic_data(rows=len(codes)).to_dict()
    seconds = {"cpu": cpu() - start, "wall": time.perf_counter() - begun}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    np.save(out, np.stack([np.asarray(made[name], dtype=np.int64) for name in sizes], axis=1))
    return {**seconds, "peak": peak, "version": version("mbi")}


if __name__ == "__main__":
    source, _, budget, slack, start_at, target = sys.argv[1:]
    print(json.dumps(run(Path(source), float(budget), float(slack), int(start_at), Path(target))))
