"""CPU seconds of the rules on outputs together: withheld cells of large tables, and many outputs that share columns.

    python -m benchmarks.rules_speed [LABEL]

Adds rows to benchmarks/results/rules_speed.csv: the case, how many withheld cells or outputs it has, how many withheld cells were not assessed, what
was said, and user and system seconds of the process, after one small run that loads everything.
"""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.rules import Policy, check_entries

RESULTS = Path(__file__).parent / "results" / "rules_speed.csv"


def columns(*sizes: int) -> tuple[OutputColumn, ...]:
    return tuple(
        OutputColumn(f"C{k}", tuple(f"l{level}" for level in range(size)))
        for k, size in enumerate(sizes)
    )


def table(
    rows: int, width: int, height: int, *, others: bool = False
) -> tuple[OutputDomain, Any, list[dict[str, Any]]]:
    """A table by two columns with small counts withheld and totals shown; with others beside it, by a third column."""
    fields = OutputDomain(columns(width, height, 3))
    # Levels of which the first are frequent and the last rare, as they are in life.
    codes = (np.random.default_rng(1).random((rows, 3)) ** 2 * (width, height, 3)).astype(np.int32)
    entries = [
        {
            "name": "t",
            "kind": "table",
            "by": ["C0", "C1"],
            "threshold": 10,
            "suppressed_zeros": True,
            "margins": True,
        }
    ]
    beside = (
        [{"name": f"o{k}", "kind": "table", "by": [f"C{k}", "C2"]} for k in range(2)]
        if others
        else []
    )
    return fields, codes, [*entries, *beside]


def web(
    rows: int, n_columns: int, levels: int, *, filters: bool = False
) -> tuple[OutputDomain, Any, list[dict[str, Any]]]:
    """All tables by two of several columns; with filters by age that end a year apart."""
    fields = OutputDomain((*columns(*[levels] * n_columns), OutputColumn("AGE", tuple(range(100)))))
    rng = np.random.default_rng(2)
    codes = np.append(
        rng.integers(0, levels, (rows, n_columns)), rng.integers(0, 100, (rows, 1)), axis=1
    ).astype(np.int32)
    ages = [None, "AGE < 65", "AGE >= 65", "AGE < 66"] if filters else [None]
    pairs = enumerate(combinations(range(n_columns), 2))
    return (
        fields,
        codes,
        [
            {
                "name": f"t{k}",
                "kind": "table",
                "by": [f"C{a}", f"C{b}"],
                "where": ages[k % len(ages)],
            }
            for k, (a, b) in pairs
        ],
    )


def three() -> tuple[OutputDomain, Any, list[dict[str, Any]]]:
    """Three outputs that leave one person together."""
    fields = OutputDomain((*columns(4, 4), OutputColumn("AGE", tuple(range(100)))))
    codes = np.random.default_rng(3).integers(0, (4, 4, 80), (100_000, 3)).astype(np.int32)
    codes[0, 2] = 90
    ages = {"young": "AGE < 50", "old": "AGE >= 50 and AGE < 80"}
    parts = [
        {"name": name, "kind": "table", "by": ["C0"], "where": where}
        for name, where in ages.items()
    ]
    return fields, codes, [{"name": "all", "kind": "table", "by": ["C0", "C1"]}, *parts]


def cases() -> Iterator[tuple[str, tuple[OutputDomain, Any, list[dict[str, Any]]]]]:
    yield "three outputs, 100,000 records", three()
    yield "80 x 70 table, 10,000 records", table(10_000, 80, 70)
    yield "80 x 70 table and two others, 10,000 records", table(10_000, 80, 70, others=True)
    yield "75 x 70 table, 15,000 records", table(15_000, 75, 70)
    yield "28 tables by 8 columns, 10,000 records", web(10_000, 8, 4)
    yield "45 tables by 10 columns, 10,000 records", web(10_000, 10, 3)
    yield "45 tables with filters by 11 columns, 10,000 records", web(10_000, 10, 3, filters=True)


def main(label: str) -> None:
    check_entries(three()[2][:1], *three()[:2], Policy())
    new = not RESULTS.exists()
    with RESULTS.open("a", newline="") as file:
        writer = csv.writer(file)
        if new:
            writer.writerow(
                [
                    "label",
                    "case",
                    "outputs",
                    "withheld",
                    "not_assessed_cells",
                    "suppression",
                    "differencing",
                    "cpu_seconds",
                ]
            )
        for case, (fields, codes, entries) in cases():
            start = time.process_time()
            report = check_entries(entries, fields, codes, Policy())
            seconds = time.process_time() - start
            said = {
                rule: "+".join(sorted({one.status for one in report if one.rule == rule}))
                for rule in ("suppression undone", "differencing")
            }
            cells = [one for one in report if one.rule == "suppression undone"]
            open_cells = sum(one.cells for one in cells if one.status == "not assessed")
            row = [
                label,
                case,
                len(entries),
                max((one.of for one in cells), default=0),
                open_cells,
                *said.values(),
                f"{seconds:.2f}",
            ]
            writer.writerow(row)
            print(*row, sep=" | ", flush=True)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "now")
