"""What several releases of the same people add: copies of a network, its model, copies that each reveal some people, fresh tables.

    python -m experiments.attack_what_leaves.releases FOLDER [--table NAME ...] [--draws N]

FOLDER holds tables as Parquet files. Each is split into members, others and fresh people. Writes `releases.csv` beside this file; with `--draws` also how often
fresh tables were said to add something, over draws of members from the first table, to `releases_null.csv`.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import chaffinch
from benchmarks.common import run_study, write_rows

MOST = 1000
COPIES = 5


def thirds(table: pa.Table, rng: np.random.Generator, most: int) -> list[pa.Table]:
    """Return members, others, and the rest as people to draw fresh tables from."""
    order = rng.permutation(table.num_rows)
    n = min(most, table.num_rows // 3)
    return [table.take(np.sort(part)) for part in (order[:n], order[n : 2 * n], order[2 * n :])]


def measured(table: pa.Table, name: str) -> list[dict[str, Any]]:
    """Return the rows of one table."""
    rng = np.random.default_rng(1)
    members, others, rest = thirds(table, rng, MOST)
    names = list(chaffinch.read(members).schema.names)
    members, others, rest = (part.select(names) for part in (members, others, rest))
    n = members.num_rows

    def fresh() -> pa.Table:
        return rest.take(rng.integers(0, rest.num_rows, n))

    def revealing(share: float) -> pa.Table:
        copied = round(share * n)
        return pa.concat_tables(
            [members.take(rng.choice(n, copied, replace=False)), fresh().slice(copied)]
        )

    model = chaffinch.BayesNet(parents=2).fit(chaffinch.read(members), seed=1)
    draws = [model.sample(n, seed=seed) for seed in range(2, 2 + COPIES)]
    cases: dict[str, tuple[list[Any], Any]] = {
        "fresh tables": ([fresh() for _ in range(COPIES)], None),
        "2 % of people in each": ([revealing(0.02) for _ in range(COPIES)], None),
        "copies of a network": (draws, None),
        "a table and its network": (draws[:1], model),
    }
    out = []
    for kind, (released, fitted) in cases.items():
        start = time.perf_counter()
        result = attacked(members, released, others, names, model=fitted)
        joint = result.together
        assert joint is not None
        best = joint.strongest
        out.append(
            {
                "table": name,
                "rows": n,
                "columns": len(names),
                "released": kind,
                "adds": best is not None and best.adds,
                "by": "" if best is None else best.words,
                "excess_together": None if best is None else best.excess,
                "added": None if best is None else best.added,
                "interval": None if best is None else best.added_interval,
                "p_all_together": None if best is None else best.added_p_family,
                "seconds": round(time.perf_counter() - start, 1),
            }
        )
    return out


def attacked(
    members: pa.Table, released: list[Any], others: pa.Table, names: list[str], **more: Any
) -> Any:
    """Return the study with the first half of the columns as keys and the last as sensitive."""
    keys = [name for name in names[: max(2, len(names) // 2)] if name != names[-1]]
    return chaffinch.risk(
        members,
        released,
        others,
        keys=keys,
        sensitive=[names[-1]],
        attackers=["dcap", "disco", "memorisation"],
        resamples=500,
        seed=3,
        **more,
    )


def null_draws(table: pa.Table, draws: int) -> list[dict[str, Any]]:
    """Return p-values of "nothing is added" where nothing is: members, others and three releases are drawn from one table."""
    out = []
    for draw in range(draws):
        rng = np.random.default_rng(draw)
        order = rng.permutation(table.num_rows)[:1000].reshape(5, 200)
        members, others, *released = (table.take(part) for part in order)
        names = list(chaffinch.read(members).schema.names)
        members, others, *released = (part.select(names) for part in (members, others, *released))
        joint = attacked(members, released, others, names).together
        best = joint.strongest
        out.append({"draw": draw, "p_all_together": None if best is None else best.added_p_family})
    return out


def written(rows: list[dict[str, Any]], name: str) -> None:
    write_rows(Path(__file__).parent / name, rows)


def main(
    folder: Path,
    *,
    table: tuple[str, ...] = ("islp_wage", "sm_fair", "lm_card", "nyc_planes"),
    draws: int = 0,
) -> None:
    rows: list[dict[str, Any]] = []
    for name in table:
        rows += measured(pq.read_table(folder / f"{name}.parquet"), name)
        written(rows, "releases.csv")
    if draws:
        written(
            null_draws(pq.read_table(folder / f"{table[0]}.parquet"), draws),
            "releases_null.csv",
        )


if __name__ == "__main__":
    run_study(main)
