"""What pooling rare sensitive levels does to the excess of a generator that ignores the data: its mean, and how often its interval covers 0.

python -m experiments.attack_what_leaves.pooling [draws]

Original and holdout are 300 people each of one population, with a sensitive column of 59 levels, most of them rare; the synthetic table is a
third sample. Given it, members and others are alike, so the true excess of every attack is 0. Three ways with levels that have fewer than three
records: kept; pooled where they are rare in the original (what a schema fitted to the original does); pooled where they are rare in original and
holdout together.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

import chaffinch
from benchmarks.common import run_study, write_rows
from chaffinch.risk import RiskResult
from chaffinch.risk.finding import column_findings
from chaffinch.table import Schema
from chaffinch.table.schema import Column

HERE = Path(__file__).resolve().parent
LEVELS, PEOPLE, FEW = 59, 300, 3
WAYS = ("by the original", "by both together", "not at all")
SCHEMA = Schema(tuple(Column(name, "categorical") for name in ("a", "b", "secret")))


def populations(seed: int, n_tables: int = 3, n_rows: int = PEOPLE) -> list[dict[str, np.ndarray]]:
    """Return samples of one population: two keys, and a sensitive value whose shares fall by rank and depend on the first key."""
    rng = np.random.default_rng(seed)
    base = 1.0 / np.arange(1, LEVELS + 1) ** 1.0
    chances = np.array([rng.permutation(base[:20]).tolist() + base[20:].tolist() for _ in range(4)])
    chances /= chances.sum(axis=1, keepdims=True)
    out = []
    for _ in range(n_tables):
        first, second = (
            rng.integers(0, 4, n_rows),
            rng.choice(5, n_rows, p=[0.4, 0.3, 0.15, 0.1, 0.05]),
        )
        drawn = (rng.random(n_rows)[:, None] > chances[first].cumsum(axis=1)).sum(axis=1)
        out.append({"a": first, "b": second, "secret": np.minimum(drawn, LEVELS - 1)})
    return out


def words(table: dict[str, np.ndarray]) -> pa.Table:
    """Return codes as words."""
    return pa.table(
        {name: [f"{name}{value:02d}" for value in values] for name, values in table.items()}
    )


def attacked(seed: int, way: str, *, resamples: int = 399) -> RiskResult:
    """Return the attacks on one draw."""
    original, synthetic, holdout = populations(seed)
    rare = "pool" if way == "by both together" else "keep"
    if way == "by the original":
        rarely = np.bincount(original["secret"], minlength=LEVELS) < FEW
        for table in (original, synthetic, holdout):
            table["secret"] = np.where(rarely[table["secret"]], LEVELS, table["secret"])
    tables = [words(table) for table in (original, synthetic, holdout)]
    first = chaffinch.read(tables[0], SCHEMA)
    return chaffinch.risk(
        first,
        tables[1],
        tables[2],
        keys=["a", "b"],
        sensitive=["secret"],
        attackers=["matching", "memorisation"],
        rare=rare,
        resamples=resamples,
        seed=seed,
    )


def summaries(draws: int) -> Iterator[list[object]]:
    """Yield a row for each way and attack."""
    for way in WAYS:
        cells: dict[str, list[tuple[float, bool]]] = {}
        family = []
        for seed in range(draws):
            result = attacked(seed, way)
            family.append(result.family.p_value)
            for attack in column_findings(result.findings):
                if attack.excess is not None and attack.excess_interval is not None:
                    low, high = attack.excess_interval
                    cells.setdefault(attack.attacker, []).append(
                        (attack.excess, low <= 0.0 <= high)
                    )
        for measure, values in cells.items():
            excesses, covered = (np.array(part, dtype=float) for part in zip(*values, strict=True))
            error = excesses.std(ddof=1) / np.sqrt(len(excesses))
            yield [
                way,
                measure,
                len(values),
                f"{excesses.mean():.4f}",
                f"{error:.4f}",
                f"{covered.mean():.3f}",
                "",
            ]
        yield [
            way,
            "family",
            draws,
            "",
            "",
            "",
            f"{np.mean([p is not None and p <= 0.05 for p in family]):.3f}",
        ]
        print(way, flush=True)


def main(draws: int = 500) -> None:
    """Write the table."""
    rows = list(summaries(draws))
    write_rows(
        HERE / "pooling.csv",
        rows,
        [
            "pooled",
            "attack",
            "draws",
            "mean_excess",
            "standard_error",
            "coverage_of_95",
            "family_p_at_most_05",
        ],
    )


if __name__ == "__main__":
    run_study(main)
