"""Are the records with the largest values told from a release? A line of code, every part of our attack, and all parts together, on the same shadows.

python -m experiments.attack_what_leaves.outliers FOLDER [--pairs 300] [--tests 200] [--only TABLE ...] [--generators NAME ...] [--keep FOLDER]

FOLDER holds the tables as Parquet files. Targets are the records with the largest value of up to four columns of each table; they share their
shadows. Two generators: a network of two parents as it comes, and one that keeps the ends of columns, to see attackers where there is something to
see. What is finished is in outliers.csv and is not run again.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import chaffinch
from benchmarks.common import Option, run_study
from chaffinch import BayesNet
from chaffinch.risk.membership import ShadowSettings
from chaffinch.risk.membership.combined import PARTS
from chaffinch.risk.membership.study import campaign_against
from chaffinch.risk.shadows import Working
from chaffinch.stats.learners import auc
from experiments.attack_what_leaves.value_attack import MOST_RECORDS, finished, written

TUNED = ("islp_wage", "lm_wage_panel", "sm_fair")
OTHERS = ("nyc_planes", "sm_randhie", "lifelines_gbsg2", "islp_college", "lm_fringe", "lm_meps")
MOST_COLUMNS, MOST_TARGETS = 8, 4
ONE_LINE = "end on the target's side"


def means_of_ten(table: chaffinch.Table, seed: Any) -> pd.DataFrame:
    """Columns drawn apart: numbers between the means of ten neighbours each, so that the largest record moves the upper end; others permuted."""
    rng = np.random.default_rng(seed)
    frame = table.to_pandas()
    out = {}
    for name in frame:
        column = frame[name]
        if column.dtype.kind not in "if" or column.nunique() <= 20 or column.isna().any():
            out[name] = column.iloc[rng.permutation(len(frame))].reset_index(drop=True)
            continue
        means = [
            group.mean()
            for group in np.array_split(np.sort(column.to_numpy(dtype=float)), len(frame) // 10)
        ]
        drawn = np.interp(rng.random(len(frame)) * (len(means) - 1), np.arange(len(means)), means)
        out[name] = pd.Series(np.rint(drawn) if column.dtype.kind == "i" else drawn).astype(
            column.dtype
        )
    return pd.DataFrame(out)


GENERATORS: dict[str, Any] = {"network": BayesNet(parents=2), "means of ten": means_of_ten}


def opened(folder: Path, name: str) -> tuple[chaffinch.Table, dict[str, int]]:
    """Return a table of at most 2,000 records and eight columns, and the record with the largest value of some columns: the most extreme ones."""
    frame = pd.read_parquet(folder / f"{name}.parquet")
    frame = frame.sample(min(MOST_RECORDS, len(frame)), random_state=0).reset_index(drop=True)
    numbers = frame.select_dtypes("number").dropna(axis=1)
    numbers = numbers.loc[:, [numbers[one].nunique() > 20 for one in numbers]]
    low, middle, high, most = (numbers.quantile(q) for q in (0.1, 0.5, 0.9, 1.0))
    columns = list(
        ((most - middle) / (high - low).where(high > low, np.inf))
        .sort_values(ascending=False, kind="stable")
        .index
    )
    targets: dict[str, int] = {}
    for column in columns:
        row = int(frame[column].argmax())
        if row not in targets.values() and len(targets) < MOST_TARGETS:
            targets[column] = row
    chosen = [*targets, *(one for one in frame if one not in targets)][:MOST_COLUMNS]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = chaffinch.read(frame[[one for one in frame if one in chosen]])
    return table, {column: row for column, row in targets.items() if column in table.schema.names}


def difference_error(first: NDArray[Any], second: NDArray[Any], member: NDArray[np.bool_]) -> float:
    """Return the standard error of the difference of two areas on the same shadows (DeLong, DeLong and Clarke-Pearson 1988)."""

    def placed(scores: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        above = (scores[member][:, None] > scores[~member]) + 0.5 * (
            scores[member][:, None] == scores[~member]
        )
        return above.mean(axis=1), above.mean(axis=0)

    apart = [a - b for a, b in zip(placed(first), placed(second), strict=True)]
    return float(np.sqrt(sum(side.var(ddof=1) / len(side) for side in apart)))


def attacked(
    table: chaffinch.Table, targets: dict[str, int], maker: Any, plan: ShadowSettings, keep: Path
) -> list[dict[str, Any]]:
    """Return the areas of all attackers for each target."""
    working = Working(workers=1, shadow_folder=keep)
    size = min(400, table.n_rows // 2)
    campaign = campaign_against(
        table,
        maker,
        None,
        plan.with_options(targets=list(targets.values()), rows=size, duplicates="keep"),
        1,
        working,
    )
    learnt = campaign.learnt()
    draws = campaign.drawn(plan.test_shadows, 3)
    seen = learnt.look(draws, "test", 4)
    values = campaign.fitted(draws, "test", 4, tables=1, white=None).values[
        :, 0
    ]  # finished: they are read, not fitted
    sight = campaign.sight
    assert sight is not None
    rows = []
    for k, column in enumerate(targets):
        member = draws.member[:, k]
        numeric = [sight.reader.columns[j].name for j in sight.reader.numeric]
        place = (
            sight._outermost[k].tolist().index(numeric.index(column))
        )  # among the columns in which the target is most extreme
        scores = {
            "one line": values[:, k, sight.names.index(f"extremes: {ONE_LINE}, number {place + 1}")]
        }
        scores |= {part: seen.parts[part][:, k] for part in PARTS if part in seen.parts}
        areas = {name: auc(one, member) or 0.5 for name, one in scores.items()}
        ours = seen.log_odds[:, k]
        best = max(areas, key=lambda name: areas[name])
        behind, error = (
            areas[best] - (auc(ours, member) or 0.5),
            difference_error(scores[best], ours, member),
        )
        rows.append(
            {
                "column": column,
                **{name: f"{area:.3f}" for name, area in areas.items()},
                "ours": f"{auc(ours, member):.3f}",
                "best": best,
                "behind the best": f"{behind:.3f}",
                "standard error of that": f"{error:.3f}",
            }
        )
    return rows


def main(
    folder: Path,
    *,
    pairs: int = 300,
    tests: int = 200,
    only: tuple[str, ...] = (),
    generators: Annotated[tuple[str, ...], Option("", known=lambda: tuple(GENERATORS))] = tuple(
        GENERATORS
    ),
    keep: Path | None = None,
    out: str = "outliers",
) -> None:
    """Run the tables that are not yet in, and write outliers.csv."""
    plan = ShadowSettings(shadows=pairs, test_shadows=tests, tables_per_shadow=1)
    rows: list[dict[str, Any]] = finished(out)
    with TemporaryDirectory() as temporary:
        for label in generators:
            for name in (*TUNED, *OTHERS):
                if (name, label) in {(row["table"], row["generator"]) for row in rows} or (
                    only and name not in only
                ):
                    continue
                table, targets = opened(folder, name)
                cache = (keep or Path(temporary)) / f"{name}-{label.replace(' ', '-')}"
                cache.mkdir(parents=True, exist_ok=True)
                for row in attacked(table, targets, GENERATORS[label], plan, cache):
                    rows.append(
                        {
                            "table": name,
                            "tuned on": name in TUNED,
                            "generator": label,
                            "pairs": f"{pairs} and {tests}",
                            **row,
                        }
                    )
                    print(*rows[-1].values(), sep="\t", flush=True)
                written(out, rows)


if __name__ == "__main__":
    run_study(main)
