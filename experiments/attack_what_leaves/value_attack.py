"""What the two studies of released values share: shadows of one table on both grids, and the AUC of each attacker on the same test shadows."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import chaffinch
from benchmarks.common import read_rows, write_rows
from chaffinch.risk.membership.attacker import learner
from chaffinch.risk.membership.features import black_box
from chaffinch.risk.membership.values import ValueFeatures
from chaffinch.risk.shadows import Generator, Working, run_shadows, shared_draws
from chaffinch.stats.learners import auc

HERE = Path(__file__).parent
MOST_RECORDS = 2000


@dataclass(frozen=True)
class OneLine:
    """A sight that also notes the largest released number of one column: the attacker of one line."""

    sight: ValueFeatures
    column: int | None

    @property
    def names(self) -> tuple[str, ...]:
        """What is seen, in order."""
        return (*self.sight.names, "largest released number")

    @property
    def targets(self) -> Any:
        """The values of the targets."""
        return self.sight.targets

    def look(self, values: Any) -> NDArray[np.float32]:
        """Return the features of each target, and the largest number last."""
        seen = self.sight.look(values)
        largest = (
            0.0 if self.column is None else np.nanmax(values.numbers[self.column], initial=-np.inf)
        )
        return np.column_stack([seen, np.full(len(seen), largest, dtype=np.float32)])


def opened(folder: Path, name: str) -> chaffinch.Table:
    """Return a table of at most 2,000 records, drawn with a fixed seed."""
    frame = pd.read_parquet(folder / f"{name}.parquet")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return chaffinch.read(
            frame.sample(min(MOST_RECORDS, len(frame)), random_state=0).reset_index(drop=True)
        )


def areas(
    table: chaffinch.Table,
    maker: Any,
    targets: Sequence[int],
    *,
    rows: int = 400,
    pairs: int = 60,
    tests: int = 80,
    column: int | None = None,
    seed: int = 1,
) -> dict[str, float]:
    """Return the mean AUC over targets of each attacker, on test shadows that it did not learn from."""
    whom = np.asarray(targets)
    draws = shared_draws(
        table.n_rows, whom, rows=rows, shadows=2 * (pairs + tests), rng=np.random.default_rng(seed)
    )
    sight = OneLine(ValueFeatures.from_population(table, whom), column)
    working = Working(workers=1)
    release = run_shadows(
        Generator(maker, table), draws.rows, sight=sight, seed=seed, working=working
    )
    population = run_shadows(
        Generator(maker, table, "population"), draws.rows, seed=seed, working=working
    )
    queries = black_box("queries", table.schema.sizes, columns=table.schema.names, seed=seed)
    codes = np.stack([table.code(name) for name in table.schema.names], axis=1)[whom]
    learn = 2 * pairs
    out: dict[str, list[float]] = {}
    for k in range(len(whom)):
        member = draws.member[:, k]

        def judge(
            name: str, features: NDArray[Any], kind: str, inside: NDArray[np.bool_] = member
        ) -> None:
            # Features that never vary say nothing, and a design without any cannot be fitted.
            varied = features[:learn].reshape(-1, features.shape[-1]).std(axis=0) > 0
            scores = np.zeros(len(inside) - learn)
            if varied.any():
                attacker = learner("linear", kind=kind).fit(
                    features[:learn][:, :, varied], inside[:learn], seed=seed
                )  # type: ignore[arg-type]
                scores = attacker.log_odds(features[learn:][:, :, varied])[:, 0]
            out.setdefault(name, []).append(auc(scores, inside[learn:]) or 0.5)

        target = codes[k]
        values = release.values[:, :, k, :-1]
        if column is not None:
            out.setdefault("one line", []).append(
                auc(release.values[learn:, 0, k, -1], member[learn:]) or 0.5
            )
        judge(
            "today: queries, population's grid",
            population.gather(lambda tables: queries.features(tables, target)),  # noqa: B023
            "counts",
        )
        seen = release.gather(lambda tables: queries.features(tables, target))  # noqa: B023
        judge("queries, release's grid", seen, "counts")
        for group, part in sight.sight.groups.items():
            judge(f"values: {group}", values[:, :, part], "real")
        judge("values, all", values, "real")
    return {name: float(np.mean(each)) for name, each in out.items()}


def ours(
    table: chaffinch.Table,
    maker: Any,
    targets: Sequence[int],
    *,
    rows: int = 400,
    pairs: int = 60,
    tests: int = 80,
    seed: int = 2,
) -> float:
    """Return the mean AUC over targets of the package's own attack as it comes."""
    result = chaffinch.membership(
        table,
        maker,
        shadows=pairs,
        test_shadows=tests,
        tables_per_shadow=1,
        targets=list(targets),
        rows=rows,
        duplicates="keep",
        seed=seed,
        workers=1,
    )
    return float(np.mean(result.target_aucs))


def finished(name: str) -> list[dict[str, Any]]:
    """Return the rows that are in a CSV beside this file."""
    return read_rows(HERE / f"{name}.csv")


def written(name: str, rows: Sequence[dict[str, Any]]) -> None:
    """Write rows as CSV beside this file."""
    head = list(dict.fromkeys(key for row in rows for key in row))
    write_rows(HERE / f"{name}.csv", rows, head)
