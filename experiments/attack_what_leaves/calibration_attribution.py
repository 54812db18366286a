"""Do attacks that compare values keep their promises? Families' p-values and 95 % intervals over draws in which nothing leaks.

python -m experiments.attack_what_leaves.calibration_attribution [draws] [part parts]

Original, holdout and synthetic table are three samples of one population with a number to one decimal, a whole number, words of which many are
rare, and a sensitive word of 30 levels, many rare. Tables are read as by default, with rare levels pooled and numbers in bins, and attacked as
by default, by values. Given the synthetic table, members and others are alike: every excess is 0.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

import chaffinch
from benchmarks.common import read_rows, run_study, write_rows
from chaffinch.risk import RiskResult
from chaffinch.risk.finding import column_findings
from chaffinch.table import Schema
from chaffinch.table.schema import Column

HERE = Path(__file__).resolve().parent
N_ORIGINAL, N_HOLDOUT, N_SYNTHETIC = 300, 200, 300
KEYS = ["town", "age", "score"]
SCHEMA = Schema(
    (
        Column("town", "categorical"),
        Column("age", "integer", type="int64"),
        Column("score", "float", type="double", decimals=1),
        Column("secret", "categorical"),
    )
)


def sample(n: int, rng: np.random.Generator) -> pa.Table:
    """Return people of the population."""
    town = np.minimum((rng.pareto(1.1, n) * 2).astype(int), 30)
    age = 20 + rng.binomial(12, 0.4, n) + town % 3
    score = np.round(rng.normal(town % 4, 0.2), 1)
    secret = np.minimum((rng.pareto(1.2, n) * 2).astype(int) + age % 2, 29)
    return pa.table(
        {
            "town": [f"t{i:02d}" for i in town],
            "age": age,
            "score": score,
            "secret": [f"s{i:02d}" for i in secret],
        }
    )


def attacked(seed: int, *, resamples: int = 199) -> RiskResult:
    """Return the attacks on one draw."""
    rng = np.random.default_rng((5, seed))
    original, synthetic, holdout = (sample(n, rng) for n in (N_ORIGINAL, N_SYNTHETIC, N_HOLDOUT))
    return chaffinch.risk(
        chaffinch.read(original, SCHEMA),
        synthetic,
        holdout,
        keys=KEYS,
        sensitive=["secret"],
        attackers=["matching", "memorisation"],
        resamples=resamples,
        threshold=1,
        seed=seed,
    )


def draws_of(seeds: range) -> list[list[object]]:
    """Return a row for each draw and attack, and for each draw's family."""
    rows: list[list[object]] = []
    for seed in seeds:
        result = attacked(seed)
        rows.append([seed, "family", "", result.family.p_value])
        for attack in column_findings(result.findings):
            if attack.excess is not None and attack.excess_interval is not None:
                low, high = attack.excess_interval
                rows.append([seed, attack.attacker, int(low <= 0.0 <= high), attack.p_value])
    return rows


def summarised(rows: list[list[object]]) -> list[list[object]]:
    """Return for each attack how often intervals cover 0 and p-values are at most a level."""
    groups: dict[object, list[tuple[object, float]]] = {}
    for _, measure, covers, p in rows:
        groups.setdefault(measure, []).append((covers, float(p)))  # type: ignore[arg-type]
    out: list[list[object]] = []
    for measure, values in groups.items():
        p = np.array([one for _, one in values])
        covered = (
            "" if measure == "family" else f"{np.mean([float(covers) for covers, _ in values]):.4f}"
        )
        out.append(
            [
                measure,
                len(values),
                covered,
                *(f"{np.mean(p <= level):.4f}" for level in (0.01, 0.05, 0.1, 0.5)),
            ]
        )
    return out


def main(draws: int = 2000, part: int = 0, parts: int = 1) -> None:
    """Write the table; of several parts each one's draws to a file of its own, and the table once all are there."""
    rows = draws_of(range(part, draws, parts))
    if parts > 1:
        write_rows(HERE / f"draws{part}.tmp", rows, ["draw", "attack", "covers", "p"])
        files = [HERE / f"draws{number}.tmp" for number in range(parts)]
        if not all(file.exists() for file in files):
            return
        rows = []
        for file in files:
            rows += [list(row.values()) for row in read_rows(file)]
            file.unlink()
    head = [
        "attack",
        "draws",
        "coverage_of_95",
        "p_at_most_01",
        "p_at_most_05",
        "p_at_most_10",
        "p_at_most_50",
    ]
    write_rows(HERE / "calibration_attribution.csv", summarised(rows), head)


if __name__ == "__main__":
    run_study(main)
