"""Rewrite the tables of benchmarks/README.md from the CSV files in benchmarks/results.

    python -m benchmarks.tables

A table stands between `<!-- NAME -->` and `<!-- /NAME -->`, NAME being that of its CSV file. A missing file is said so.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable

from benchmarks.common import HERE, RESULTS, SOURCE

README = HERE / "README.md"
SECTION = re.compile(r"<!-- (?P<name>\w+) -->\n.*?<!-- /(?P=name) -->", re.DOTALL)

Row = list[str]


def read(name: str) -> list[Row]:
    """Return the rows of a result, its head first; none where it is absent."""
    path = RESULTS / f"{name}.csv"
    if not path.exists():
        return []
    with open(path, newline="") as handle:
        return list(csv.reader(handle))


def is_number(cell: str) -> bool:
    """Return whether a cell reads as a number, or is empty."""
    return not cell or re.fullmatch(r"[-+]?[\d,]*\.?\d+ ?%?", cell) is not None


def markdown(rows: list[Row]) -> str:
    """Return rows as a Markdown table, columns of numbers to the right."""
    head, *body = rows
    right = [all(is_number(row[j]) for row in body) for j in range(len(head))]
    rule = ["---:" if numbers else "---" for numbers in right]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, rule, *body))


def only_distance_and_likelihood(rows: list[Row]) -> list[Row]:
    """Return the paired differences of the default search, without the floored likelihood, which says the same."""
    head, *body = rows
    return [
        head,
        *(row for row in body if row[2] == "ordering, penalised" and "floored" not in row[4]),
    ]


def only_whole_commands(rows: list[Row]) -> list[Row]:
    """Return what whole commands took, without their steps."""
    head, *body = rows
    return [
        [*row[:3], *row[4:]] for row in (head, *body) if row is head or row[3] == "whole command"
    ]


def states_side_by_side(rows: list[Row]) -> list[Row]:
    """Return ns a row of each piece of work, a column for each state of the source."""
    body = rows[1:]
    states = list(dict.fromkeys(row[0] for row in body))
    cells = {(row[2], int(row[1]), row[0]): row[3] for row in body}
    lines = list(dict.fromkeys((what, n_rows) for what, n_rows, _ in cells))
    return [
        ["what", "rows", *states],
        *(
            [what, f"{n_rows:,}", *(cells.get((what, n_rows, state), "") for state in states)]
            for what, n_rows in lines
        ),
    ]


CHOSEN: dict[str, Callable[[list[Row]], list[Row]]] = {
    "scaling": states_side_by_side,
    "heldout_differences": only_distance_and_likelihood,
    "synth_journey": only_whole_commands,
}


def section(name: str) -> str:
    """Return the text of one section: its table, and the machine that it was measured on."""
    rows = read(name)
    if not rows:
        return "Not measured yet."
    noted = notes().get(name)
    table = markdown(CHOSEN.get(name, list)(rows))
    return table + (f"\n\n{noted['machine']}." if noted else "")


def notes() -> dict[str, dict[str, str]]:
    """Return the machine and the source that each result was measured with."""
    path = RESULTS / "machines.json"
    return json.loads(path.read_text()) if path.exists() else {}


def rewritten(text: str) -> str:
    """Return the text with each marked section made anew."""
    return SECTION.sub(
        lambda found: (
            f"<!-- {found['name']} -->\n{section(found['name'])}\n<!-- /{found['name']} -->"
        ),
        text,
    )


if __name__ == "__main__":
    text = rewritten(README.read_text())
    README.write_text(text)
    names = [found["name"] for found in SECTION.finditer(text)]
    print(f"Rewrote {len(names)} tables of benchmarks/README.md.")
    older = [name for name in names if notes().get(name, {}).get("source") != SOURCE]
    if older:
        print(
            f"Measured with another state of the source than now, or unknown: {', '.join(older)}."
        )
