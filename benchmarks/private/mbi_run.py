"""Run an MST or an AIM on the mbi engine on a table of codes and print its cost as JSON. Runs in the peer's own environment, which lacks Chaffinch.

python mbi_run.py FOLDER METHOD EPSILON DELTA SEED OUT.npy

mbi 2 ships the engine, not the mechanisms. These are the mechanisms in short. MST, after McKenna, Miklau and Sheldon (2021): a third of
the budget (zCDP, one record added or removed) for noisy columns, whose rare levels are merged, a third for a spanning tree, chosen edge
by edge by the exponential mechanism on the L1 distance of pairs from independence, a third for the tables of the tree; then mirror
descent. AIM: see `aim`. Noise is numpy's, which is good enough to measure and not for a release.
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
from numpy.typing import NDArray

warnings.simplefilter("ignore")
import mbi  # noqa: E402  (it warns when imported)

Codes = NDArray[np.int64]
Counts = NDArray[np.float64]


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


def counted(codes: Codes, sizes: Sequence[int], clique: Sequence[int]) -> Counts:
    """Return the counts of a marginal, one axis a column."""
    shape = [sizes[j] for j in clique]
    cells = np.ravel_multi_index([codes[:, j] for j in clique], shape)
    return np.bincount(cells, minlength=math.prod(shape)).reshape(shape).astype(np.float64)


def exponential(scores: Sequence[float], epsilon: float, sensitivity: float, rng: np.random.Generator) -> int:
    """Return the place of the largest score plus Gumbel noise: the exponential mechanism."""
    return int((epsilon / 2 / sensitivity * np.array(scores) + rng.gumbel(size=len(scores))).argmax())


def mst(codes: Codes, sizes: Sequence[int], rho: float, rng: np.random.Generator) -> Codes:
    """Return synthetic codes of a tree.

    Levels whose noisy count is below three standard deviations are one level for the tree, as published, and are drawn evenly after it.
    """
    width = len(sizes)
    sigma = math.sqrt(width / (2 * rho / 3))
    columns = [counted(codes, sizes, [j]) for j in range(width)]
    columns = [counts + rng.normal(0, sigma, counts.shape) for counts in columns]
    common = [counts >= 3 * sigma for counts in columns]
    merged, shrunk, single = np.empty_like(codes), [], []
    for j, (counts, stay) in enumerate(zip(columns, common, strict=True)):
        place = np.where(stay, np.cumsum(stay) - 1, stay.sum())
        merged[:, j] = place[codes[:, j]]
        rest = [] if stay.all() else [counts[~stay].sum()]
        shrunk.append(int(stay.sum()) + len(rest))
        # The sum of several noisy counts has the noise of all of them: it is measured on the scale of one.
        scale = [1.0] * int(stay.sum()) + [1 / math.sqrt((~stay).sum()) for _ in rest]
        single.append((np.concatenate([counts[stay], rest]), np.array(scale)))
    total = max(float(np.mean([counts.sum() for counts, _ in single])), 1.0)
    # Columns alone need no engine: clipped and scaled, they are the model of independence.
    shares = [np.maximum(counts, 0) / max(np.maximum(counts, 0).sum(), 1e-9) for counts, _ in single]
    pairs = {pair: counted(merged, shrunk, pair) for pair in combinations(range(width), 2)}
    scores = {(a, b): float(np.abs(t - total * np.outer(shares[a], shares[b])).sum()) for (a, b), t in pairs.items()}
    epsilon, group = math.sqrt(8 * rho / 3 / max(width - 1, 1)), list(range(width))
    tree: list[tuple[int, int]] = []
    while len(tree) < width - 1:
        open_ = [pair for pair in scores if group[pair[0]] != group[pair[1]]]
        a, b = open_[exponential([scores[pair] for pair in open_], epsilon, 1.0, rng)]
        tree.append((a, b))
        group = [group[a] if held == group[b] else held for held in group]
    measured = [
        mbi.LinearMeasurement(counts * scale, (str(j),), sigma, query=mbi.WeightedQuery(scale))
        for j, (counts, scale) in enumerate(single)
    ]
    spread = math.sqrt(max(width - 1, 1) / (2 * rho / 3))
    for a, b in tree:
        noisy = (pairs[a, b] + rng.normal(0, spread, pairs[a, b].shape)).ravel()
        measured.append(mbi.LinearMeasurement(noisy, (str(a), str(b)), spread))
    domain = mbi.Domain(tuple(str(j) for j in range(width)), tuple(shrunk))
    model = mbi.estimation.MirrorDescent().estimate(domain, measured, known_total=total, iters=1000)
    drawn = rows_of(model, len(codes), width)
    out = np.empty_like(drawn)
    for j, stay in enumerate(common):
        levels, rare = np.flatnonzero(stay), np.flatnonzero(~stay)
        out[:, j] = np.append(levels, -1)[np.minimum(drawn[:, j], len(levels))]
        merged_rows = out[:, j] < 0
        out[merged_rows, j] = rng.choice(rare, int(merged_rows.sum())) if merged_rows.any() else 0
    return out


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
    weight = {clique: float(sum(len(set(clique) & set(pair)) for pair in pairs)) for clique in candidates}
    largest = max(weight.values())
    sigma, epsilon = math.sqrt(rounds / (2 * share * rho)), math.sqrt(8 * (1 - share) * rho / rounds)
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
            sigma, epsilon, last = math.sqrt(1 / (2 * share * left)), math.sqrt(8 * (1 - share) * left), True
        spent += 1 / (2 * sigma**2) + epsilon**2 / 8
        inside = list({m.clique for m in measured})
        limit = most_mib * spent / rho
        small = [c for c in candidates if fits(domain, inside, tuple(names[j] for j in c), limit)]
        answers = {c: answer(model, names, c) for c in small}
        noise = math.sqrt(2 / math.pi) * sigma
        scores = [weight[c] * (np.abs(exact[c] - answers[c]).sum() - noise * exact[c].size) for c in small]
        clique = small[exponential(scores, epsilon, largest, rng)]
        measure(clique)
        model = engine.estimate(domain, measured, iters=1000, warm_start=model)
        if np.abs(answer(model, names, clique) - answers[clique]).sum() <= noise * exact[clique].size:
            sigma, epsilon = sigma / 2, epsilon * 2
    return rows_of(model, len(codes), width)


def answer(model: Any, names: Sequence[str], clique: tuple[int, ...]) -> Counts:
    """Return a model's counts of a marginal."""
    return np.asarray(model.project(tuple(names[j] for j in clique)).datavector(), dtype=np.float64)


def fits(domain: mbi.Domain, inside: Sequence[tuple[str, ...]], clique: tuple[str, ...], limit: float) -> bool:
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


def run(folder: Path, method: str, epsilon: float, delta: float, seed: int, out: Path) -> dict[str, object]:
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
    print(json.dumps(run(Path(source), name, float(budget), float(slack), int(start_at), Path(target))))
