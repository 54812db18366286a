"""Is the record with the largest value told from a release of a network without epsilon? A line of code, the attack as it was, and ours."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from value_attack import areas, finished, opened, ours, written

from chaffinch import BayesNet
from chaffinch.stats.features import numbers_of

TUNED = (("islp_wage", "wage"), ("lm_wage_panel", "hours"), ("sm_fair", "affairs"))
OTHERS = (("nyc_planes", "seats"), ("sm_randhie", "mdvis"), ("lifelines_gbsg2", "pnodes"))


def main(folder: Path) -> None:
    """Run the tables of a folder of Parquet files that are not yet in, and write outliers.csv."""
    rows: list[dict[str, Any]] = finished("outliers")
    for name, column in (*TUNED, *OTHERS):
        if name in {row["table"] for row in rows}:
            continue
        table = opened(folder, name)
        size = min(400, table.n_rows // 2)
        target = int(np.nanargmax(numbers_of(table, column)))
        numeric = [one for one in table.schema.names if table.schema[one].kind in ("integer", "float", "date", "datetime")]
        maker = BayesNet(parents=2)
        found = areas(table, maker, [target], rows=size, column=numeric.index(column))
        found["ours"] = ours(table, maker, [target], rows=size)
        rows.append({"table": name, "column": column, "tuned on": (name, column) in TUNED, **{k: f"{v:.3f}" for k, v in found.items()}})
        print(rows[-1], flush=True)
        written("outliers", rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
