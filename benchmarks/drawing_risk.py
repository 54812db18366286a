"""What systematic drawing gives away where no promise covers it: membership AUC and exact rows, beside rows drawn one by one.

    python -m benchmarks.drawing_risk TABLE ... [--pairs 60] [--tests 60] [--targets 6] [--splits 20]

A TABLE is a file. Membership: as in `membership_parts.py`, all parts together, up to 2,000 records and 12 columns, the same targets and
seeds for both ways. Exact rows: the share of members whose row is in the synthetic table, less that of people who were left out, over
random halves of the table.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np

from benchmarks.common import run_study, save
from benchmarks.membership_parts import RECORDS, targets_of
from chaffinch import BayesNet, Independent, Table, read
from chaffinch.risk.membership import ShadowSettings
from chaffinch.risk.membership.study import campaign_against, part_finding
from chaffinch.risk.shadows import Working

Draw = Literal["independent", "systematic"]
DRAWS: tuple[Draw, ...] = ("independent", "systematic")
MAKERS = {"network": BayesNet, "independent columns": Independent}
HEAD = [
    "table",
    "model",
    "drawing",
    "membership AUC",
    "standard error",
    "exact-row excess",
    "standard error of excess",
]


def membership(
    table: Table, maker: Any, targets: np.ndarray, plan: ShadowSettings
) -> tuple[float, float]:
    """Return the AUC of all parts together over all targets, and its standard error."""
    working = Working(workers=1)
    campaign = campaign_against(
        table,
        maker,
        None,
        plan.with_options(targets=targets, rows=table.n_rows // 5, duplicates="keep"),
        1,
        working,
    )
    seen = campaign.learnt().look(campaign.drawn(plan.test_shadows, 3), "test", 4)
    finding = part_finding("combined", seen, seen.log_odds)
    return finding.value, (finding.interval[1] - finding.interval[0]) / 4


def exact_rows(table: Table, maker: Any, splits: int) -> tuple[float, float]:
    """Return how much more often a member's row is released than that of a person left out, and the standard error over splits."""
    rows = np.stack([table.code(name) for name in table.schema.names], axis=1).astype(np.int64)
    out = []
    for split in range(splits):
        order = np.random.default_rng(split).permutation(len(rows))
        members, others = np.array_split(order, 2)
        model = maker.fit(table.take(np.sort(members)), seed=split)
        drawn = model.sample(len(members), seed=split)
        codes = np.stack([drawn.code(name) for name in table.schema.names], axis=1).astype(np.int64)
        released = {tuple(row) for row in codes.tolist()}
        hit = np.array([tuple(row) in released for row in rows.tolist()])
        out.append(float(hit[members].mean() - hit[others].mean()))
    return float(np.mean(out)), float(np.std(out, ddof=1) / np.sqrt(splits))


def main(
    tables: tuple[Path, ...],
    *,
    pairs: int = 60,
    tests: int = 60,
    targets: int = 6,
    splits: int = 20,
) -> None:
    """Print and write the table."""
    plan = ShadowSettings(
        shadows=pairs, test_shadows=tests, tables_per_shadow=1, learner="combined"
    )
    rows: list[list[object]] = []
    for path in tables:
        frame = read(path, rare="keep").to_pandas()
        frame = frame.iloc[
            np.sort(np.random.default_rng(1).permutation(len(frame))[:RECORDS])
        ].reset_index(drop=True)
        table = read(frame.iloc[:, :12], rare="keep")
        target_records = targets_of(table, targets)
        for label, maker in MAKERS.items():
            for draw in DRAWS:
                auc = membership(table, maker(draw=draw), target_records, plan)
                excess = exact_rows(table, maker(draw=draw), splits)
                rows.append(
                    [
                        path.stem,
                        label,
                        draw,
                        f"{auc[0]:.3f}",
                        f"{auc[1]:.3f}",
                        f"{excess[0]:.4f}",
                        f"{excess[1]:.4f}",
                    ]
                )
                print(*rows[-1], sep="\t", flush=True)
    save("drawing_risk", HEAD, rows, "scikit-learn")


if __name__ == "__main__":
    run_study(main)
