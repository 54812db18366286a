"""Finished cells of long runs: each is appended to a CSV at once and skipped on the next start."""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

CPU = "cpu seconds"


def append_rows(path: Path, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Append rows to a CSV, the names of its columns before the first."""
    new = not path.exists()
    with open(path, "a", newline="") as handle:
        csv.writer(handle).writerows([head, *rows] if new else rows)


class Cells:
    """Rows of a CSV by the cell they belong to; the first `len(keys)` columns name the cell, the last has its CPU seconds."""

    def __init__(self, path: Path, keys: Sequence[str], values: Sequence[str]) -> None:
        self.path, self.n_keys = path, len(keys)
        self.head = [*keys, *values, CPU]
        self.rows: dict[tuple[str, ...], list[list[str]]] = {}
        if path.exists():
            with open(path, newline="") as handle:
                head, *rows = list(csv.reader(handle))
            if head != self.head:
                raise SystemExit(
                    f"{path.name} has other columns than this script writes: rename it and start again."
                )
            for row in rows:
                if len(row) == len(self.head):  # a run that was stopped leaves half a line at most
                    self.rows.setdefault(tuple(row[: self.n_keys]), []).append(row)

    def __contains__(self, key: tuple[Any, ...]) -> bool:
        return tuple(map(str, key)) in self.rows

    def get(
        self, key: tuple[Any, ...], work: Callable[[], Sequence[Sequence[Any]]]
    ) -> list[list[str]]:
        """Return the values of a cell, each row without its key and its CPU seconds: from the file, or worked out and appended to it."""
        name = tuple(map(str, key))
        if name not in self.rows:
            start = time.process_time()
            found = work()
            spent = f"{time.process_time() - start:.2f}"
            self.rows[name] = [
                [*name, *map(str, row), spent if i == 0 else ""] for i, row in enumerate(found)
            ]
            append_rows(self.path, self.head, self.rows[name])
            print(".", end="", flush=True, file=sys.stderr)
        return [row[self.n_keys : -1] for row in self.rows[name]]

    def cpu(self) -> float:
        """Return the CPU seconds of all finished cells."""
        return sum(float(row[-1] or 0) for rows in self.rows.values() for row in rows)
