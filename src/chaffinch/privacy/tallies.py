"""Exact counts of the cells of columns, which noise is put in: of cells in memory column by column, of a file all columns in one pass over it.

Counts of parts add, so those of a file are those of its cells in memory, however it is cut into batches. What is counted is seen with the noise that a
charge has paid for, and not before: that a pass over a file counts other columns along with the one that was paid for shows nowhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..table.code_cache import writing_to
from .prepare import CellParts, StoredCells

READ_AT_ONCE = 1 << 20
"""Stored numbers that are in memory at a time."""


class CellTally(Protocol):
    """Counts cells of a column, part by part."""

    def add(self, cells: StoredCells) -> None:
        """Count some more rows."""


T = TypeVar("T", bound=CellTally)


class CellTallies(Generic[T]):
    """The tallies of columns, by name; each is handed out once, when its cells have been counted."""

    def __init__(self, cells: CellParts, tallies: Mapping[str, T]) -> None:
        self._cells, self._waiting, self._counted = cells, dict(tallies), dict[str, T]()

    def take(self, name: str) -> T:
        """Return the tally of a column, and hold it no more."""
        if name not in self._counted:
            names = [name] if self._cells.folder is None else list(self._waiting)
            tallies = {one: self._waiting.pop(one) for one in names}
            for part in self._cells.parts(names):
                for tally in tallies.values():
                    tally.add(part)
            self._counted |= tallies
        return self._counted.pop(name)


class StoredNumbers:
    """Numbers that are looked at again: eight bytes each, in a file where there is a place for it, else in memory."""

    def __init__(self, file: Path | None = None) -> None:
        self.file = file
        self._held: list[NDArray[np.float64]] = []

    def add(self, numbers: NDArray[np.generic]) -> None:
        """Keep some more."""
        plain = numbers.astype(np.float64, copy=False)
        if self.file is None:
            self._held.append(plain)
            return
        with writing_to(self.file.parent), self.file.open("ab") as handle:
            handle.write(np.ascontiguousarray(plain).data)

    def parts(self) -> Iterator[NDArray[np.float64]]:
        """Yield all of them, in their order."""
        yield from self._held
        if self.file is not None and self.file.exists():
            with self.file.open("rb") as handle:
                while len(numbers := np.fromfile(handle, dtype=np.float64, count=READ_AT_ONCE)):
                    yield numbers

    def remove(self) -> None:
        """Let them go."""
        self._held.clear()
        if self.file is not None:
            self.file.unlink(missing_ok=True)
