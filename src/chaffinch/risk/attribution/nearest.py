"""The majority of the three nearest rows: an attack that knows how far numbers are apart.

GCAP calls two keys equal or not; here keys have Gower's distance, so that an age of 41 is nearer to 42 than to 80. Rows as near as the third nearest count too,
so no answer depends on the order of rows; of equally frequent values the first in the order of the column is said.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..._base.compiled import jit
from ..._base.runtime import thread_count, thread_map
from ...table.compare.distances import gower_sums, smallest
from ..attacker import ATTACKERS, Attacker
from ..memorisation.distances import scaled_rows
from ..memorisation.protocol import ColumnValues
from .attempt import AttackContext, AttackScores, answer_scores

N_NEAREST = 3
TIE = np.float32(1e-6)
"""Distances that differ by less are equal: they are sums of scaled numbers, rounded."""


def nearest_values(attempt: AttackContext) -> list[NDArray[np.int64]]:
    """Return for each side of people the most frequent sensitive value of the three nearest rows of the source."""
    data, question = attempt.data, attempt.question
    tables = [attempt.source, *attempt.people]
    columns = [_column(attempt, name, tables) for name in question.keys]
    ranges = [c.number_range(np.concatenate([c.released, c.people])) for c in columns]
    rows = scaled_rows(columns, [c.released for c in columns], ranges, np.float32)
    people = scaled_rows(columns, [c.people for c in columns], ranges, np.float32)
    source_values = data.values(attempt.source, question.sensitive)
    answers = np.zeros(len(columns[0].people), dtype=np.int64)
    step = -(-len(answers) // (4 * thread_count(attempt.threads))) or 1

    def block(start: int) -> None:
        stop = min(start + step, len(answers))
        size = data.grids[question.sensitive].size
        majority_of_nearest(*people, *rows, source_values, size, N_NEAREST, start, stop, answers)

    thread_map(block, range(0, len(answers), step), threads=attempt.threads)
    return np.split(answers, attempt.ends)


def _column(attempt: AttackContext, name: str, tables: Sequence[str]) -> ColumnValues:
    grid = attempt.data.grids[name]
    released, *people = (attempt.data.by_side[side].codes[name] for side in tables)
    numbers = None
    if grid.labels is None:
        numbers = np.where(np.arange(grid.size) < grid.n_values, grid.numbers, np.nan)
    return ColumnValues(name, released, np.concatenate(people), grid.size, grid.n_values, numbers)


def _attack(attempt: AttackContext) -> list[AttackScores]:
    if attempt.data.by_side[attempt.source].n_rows < N_NEAREST:
        reason = f"the source has fewer than {N_NEAREST} rows"
        return [answer_scores(np.zeros(len(values)), values, reason) for values in attempt.values]
    return [
        answer_scores(answers == values, values)
        for answers, values in zip(nearest_values(attempt), attempt.values, strict=True)
    ]


ATTACKERS.register(
    Attacker(
        name="nearest_rows",
        attack=_attack,
        title="Majority of the three nearest rows",
        short="Nearest rows",
        answers=True,
        named_only=True,
        says="someone who takes the most frequent value of the three nearest synthetic rows guesses {sensitive}",
        definition="Share of people whose value is the most frequent one of the three synthetic rows whose keys are nearest in Gower's distance, rows as near as the third included.",
        blindness="Keys count alike, also those that tell nothing of the sensitive value.",
        reference="Fix and Hodges (1951); Gower (1971)",
    )
)


@jit
def majority_of_nearest(  # type: ignore[no-untyped-def]
    numbers, levels, row_numbers, row_levels, row_values, n_values, n_nearest, start, stop, out
):
    """Set `out` for people `start` to `stop` to the most frequent value of the rows that are as near as the nearest ones."""
    sums = np.empty(row_values.size, dtype=np.float32)
    nearest = np.empty(n_nearest, dtype=np.float32)
    counts = np.empty(n_values, dtype=np.int64)
    for i in range(start, stop):
        gower_sums(numbers, levels, i, row_numbers, row_levels, sums)
        smallest(sums, nearest)
        counts[:] = 0
        for r in range(sums.size):
            if sums[r] <= nearest[n_nearest - 1] + TIE:
                counts[row_values[r]] += 1
        out[i] = np.argmax(counts)
