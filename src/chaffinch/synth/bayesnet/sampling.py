"""Drawing rows from conditional tables: one compiled pass for each column, whatever the number of parents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..._base.compiled import compiled
from .systematic import rows_by_group, systematic_codes, systematic_uniforms
from .tables import ConditionalTable


@dataclass(frozen=True, eq=False)
class Sampler:
    """A conditional table laid out for drawing: all levels one after the other."""

    table: ConditionalTable

    @cached_property
    def _arrays(self) -> tuple[NDArray[np.generic], ...]:
        levels = self.table.levels
        keys = np.concatenate([level.keys for level in levels])
        first_key = np.cumsum([0, *(len(level.keys) for level in levels)])
        lookup = np.concatenate([level.lookup for level in levels])
        first_lookup = np.cumsum([0, *(len(level.lookup) for level in levels)])
        entries = np.cumsum([0, *(len(level.codes) for level in levels)])
        starts = np.concatenate(
            [level.starts[:-1] + at for level, at in zip(levels, entries[:-1], strict=True)]
            + [entries[-1:]]
        )
        codes = np.concatenate([level.codes for level in levels])
        cumulated = np.concatenate([level.cumulated for level in levels])
        totals = np.concatenate([level.totals for level in levels])
        sizes = np.array([*levels[-1].sizes, 0], dtype=np.int64)
        return sizes, keys, first_key, lookup, first_lookup, starts, codes, cumulated, totals

    def draw(
        self, parents: Sequence[NDArray[np.uint32]], uniform: NDArray[np.float64]
    ) -> NDArray[np.uint32]:
        """Return a code for each row, given the codes of the parents and a uniform number for each row."""
        out = np.empty(len(uniform), dtype=np.uint32)
        given = np.stack(parents) if parents else np.empty((0, len(uniform)), dtype=np.uint32)
        _draw(out, given, uniform, float(self.table.smoothing), self._arrays)
        return out

    def draw_systematic(
        self,
        parents: Sequence[NDArray[np.uint32]],
        ties: Sequence[tuple[NDArray[np.uint32], int]],
        n_rows: int,
        rng: np.random.Generator,
    ) -> NDArray[np.uint32]:
        """Return a code for each row by systematic sampling.

        `ties`: columns, with their numbers of codes, that rows with the same parents are sorted by (see `systematic`).
        """
        given = np.stack(parents) if parents else np.empty((0, n_rows), dtype=np.uint32)
        groups = _rows(given, self._arrays) if parents else np.zeros(n_rows, dtype=np.int64)
        order, starts, numbers = rows_by_group(
            groups, len(self._arrays[1]) if parents else 1, ties, rng
        )
        if self.table.smoothing > 0:
            return self.draw(parents, systematic_uniforms(order, starts, rng.random(len(numbers))))
        uniforms = rng.random(self.table.size - 1)
        return np.asarray(systematic_codes(order, starts, numbers, uniforms, self._arrays[-4:-1]))


@compiled
def _rows(parents, arrays):  # type: ignore[no-untyped-def]
    """Return where each row's distribution stands: with all its parents if they occur together, else with the first of them."""
    sizes, keys, first_key, lookup, first_lookup = arrays[:5]
    k, n = parents.shape
    out = np.zeros(n, dtype=np.int64)
    level_key = np.empty(k + 1, dtype=np.int64)
    for i in range(n):
        key = 0
        level_key[0] = 0
        for p in range(k):
            key = key * sizes[p] + parents[p, i]
            level_key[p + 1] = key
        for level in range(k, 0, -1):
            if first_lookup[level + 1] > first_lookup[level]:
                at = lookup[first_lookup[level] + level_key[level]]
                if at >= 0:
                    out[i] = first_key[level] + at
                    break
            else:
                low, high = first_key[level], first_key[level + 1]
                low += np.searchsorted(keys[low:high], level_key[level])
                if low < high and keys[low] == level_key[level]:
                    out[i] = low
                    break
    return out


@compiled
def _draw(out, parents, uniform, smoothing, arrays):  # type: ignore[no-untyped-def]
    """Draw a code for each row; `arrays` as `Sampler` lays them out.

    From all parents to none: with probability c / (c + a) the code comes from the combination's own entries, otherwise from
    the next level; what is left of the uniform number serves again, so one number is enough for a row.
    """
    sizes, keys, first_key, lookup, first_lookup, starts, codes, cumulated, totals = arrays
    k = parents.shape[0]
    level_key = np.empty(k + 1, dtype=np.int64)
    for i in range(out.size):
        key = 0
        level_key[0] = 0
        for p in range(k):
            key = key * sizes[p] + parents[p, i]
            level_key[p + 1] = key
        u = uniform[i]
        for level in range(k, -1, -1):
            row = -1
            if first_lookup[level + 1] > first_lookup[level]:
                at = lookup[first_lookup[level] + level_key[level]]
                if at >= 0:
                    row = first_key[level] + at
            else:
                low, high = first_key[level], first_key[level + 1]
                low += np.searchsorted(keys[low:high], level_key[level])
                if low < high and keys[low] == level_key[level]:
                    row = low
            if row < 0:
                continue
            a = smoothing if level > 0 else 0.0
            x = u * (totals[row] + a)
            if x < totals[row] or level == 0:
                low, high = starts[row], starts[row + 1] - 1
                out[i] = codes[low + np.searchsorted(cumulated[low:high], x, side="right")]
                break
            u = min((x - totals[row]) / a, 1.0 - 1e-16)
