"""Rerun the run times of P0, tables II to IV: seconds to describe and to generate, theirs beside ours.

    python -m experiments.p0_runtime.run [--rows N] [--tables NAME ...]

Tables: cmc, adult, creditcard. With --rows only the first rows are used, and nothing is saved.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import pyarrow as pa

import chaffinch
from benchmarks.common import Option, machine, read_rows, run_study, show, write_rows
from benchmarks.data import bundled, creditcard, creditcard_absent
from chaffinch import BayesNet, Evolution

HERE = Path(__file__).resolve().parent

PRINTED = {
    "cmc": ("II", "p0_table02_cmc_runtime.csv"),
    "adult": ("III", "p0_table03_adult_runtime.csv"),
    "creditcard": ("IV", "p0_table04_creditcard_runtime.csv"),
}
GENERATIONS = {"cmc": 400, "adult": 400, "creditcard": 2000}
THEIR_MACHINE = "AMD Ryzen 7 5800H, 8 cores of 3.2 GHz, 16 GB (P0, footnote 16)"
HEAD = [
    "table",
    "rows",
    "columns",
    "search",
    "k",
    "describe P0, s",
    "describe ours, s",
    "of which fit, s",
    "generate P0, s",
    "generate ours, s",
    "times faster",
]

Printed = dict[tuple[str, int, str], float]


def printed(name: str) -> Printed:
    """Return the seconds that the paper prints for a table, by search, k and part."""
    return {
        (row["synthesiser"], int(row["k"]), row["part"]): float(row["seconds"])
        for row in read_rows(HERE / PRINTED[name][1])
    }


def values_of(name: str) -> pa.Table | None:
    """Return a table's values, None where they are absent."""
    return creditcard() if name == "creditcard" else bundled(name)


def timed(values: pa.Table, settings: BayesNet) -> tuple[float, float, float]:
    """Return seconds to type and discretise the values, to fit, and to draw as many rows."""
    start = time.perf_counter()
    table = chaffinch.read(values)
    read = time.perf_counter()
    model = settings.fit(table, seed=1)
    fitted = time.perf_counter()
    model.sample(table.n_rows, seed=2)
    return read - start, fitted - read, time.perf_counter() - fitted


def rerun(name: str, values: pa.Table, *, whole: bool) -> list[list[object]]:
    """Return a row for each search and k that the paper prints; each is run once, small, to compile and once to be timed.

    There is no ratio where the table is not whole: the paper's seconds are for all rows.
    """
    theirs = printed(name)
    rows: list[list[object]] = []
    for search, k in sorted(
        {(search, k) for search, k, _ in theirs}, reverse=True, key=lambda key: (key[0], -key[1])
    ):
        settings = BayesNet(
            parents=k, search=search, evolution=Evolution(generations=GENERATIONS[name])
        )
        timed(values.slice(0, 1000), settings)
        read, fit, sample = timed(values, settings)
        describe, generate = theirs[search, k, "describe"], theirs[search, k, "generate"]
        faster = f"{(describe + generate) / (read + fit + sample):.0f}" if whole else ""
        ours = [
            f"{describe:.2f}",
            f"{read + fit:.3f}",
            f"{fit:.3f}",
            f"{generate:.2f}",
            f"{sample:.3f}",
            faster,
        ]
        rows.append([name, values.num_rows, values.num_columns, search, k, *ours])
    return rows


def main(
    *,
    rows: Annotated[int | None, Option("only the first rows; nothing is saved")] = None,
    tables: Annotated[tuple[str, ...], Option("", known=lambda: tuple(PRINTED))] = tuple(PRINTED),
) -> None:
    """Run the tables asked for, print theirs beside ours, write results.csv."""
    here = machine()
    print(f"Theirs: {THEIR_MACHINE}\nOurs:   {here}\n")
    measured: list[list[object]] = []
    for name in tables:
        values = values_of(name)
        if values is None:
            print(creditcard_absent())
            continue
        print(f"Table {PRINTED[name][0]} of P0: {name}")
        found = rerun(name, values.slice(0, rows), whole=rows is None)
        show(HEAD, found)
        measured += found
    if rows is None and {row[0] for row in measured} == set(PRINTED):
        save(measured, here)
    else:
        print("Not all of the tables: results.csv is left as it is.")


def save(rows: list[list[object]], here: str) -> None:
    """Write results.csv and the machine beside it."""
    write_rows(HERE / "results.csv", rows, HEAD)
    (HERE / "machine.txt").write_text(here + "\n")


if __name__ == "__main__":
    run_study(main)
