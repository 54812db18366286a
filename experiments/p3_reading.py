"""What was read from the graphics of P3's figures, and lines of a page that a script writes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.common import read_rows


def read_values(folder: Path) -> dict[tuple[int, str, str], float]:
    """Return what could be read from the paper's figures, by figure, series and epsilon; about two digits are good."""
    return {
        (int(row["figure"].removeprefix("fig")), row["series"], row["epsilon"]): float(row["value"])
        for row in read_rows(folder / "p3_figures_read.csv")
        if row["value"] != "hidden/none"
    }


def replace_between(path: Path, name: str, lines: Sequence[str]) -> None:
    """Write lines between the marks of a name in a page."""
    first, last = f"<!-- {name} -->\n", f"<!-- /{name} -->\n"
    head, found, rest = path.read_text(encoding="utf-8").partition(first)
    _, end, tail = rest.partition(last)
    if not found or not end:
        raise ValueError(
            f"{path.name} has no place between '{first.strip()}' and '{last.strip()}'."
        )
    path.write_text(head + first + "\n".join(lines) + "\n" + last + tail, encoding="utf-8")
