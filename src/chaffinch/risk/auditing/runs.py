"""Many runs on a pair of tables, in memory.

Runs on small tables take milliseconds, so they are worked in larger parts than shadows are and not kept on disk: files for each part
would take longer than the runs. Seeds follow the numbers of the runs; who works on which changes nothing.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import InputError
from ..shadows.run import results, stage_words
from ..shadows.store import ShadowPart
from ..shadows.work import ShadowJob, Working
from .pairs import Pair
from .watch import Look, Watched

__all__ = ["PairRuns", "run_pair"]

SMALLEST, PARTS = 25, 20
"""The fewest runs of a part, and about how many parts there are otherwise."""


@dataclass(frozen=True, eq=False)
class PairRuns:
    """What was seen of the runs on one pair: even runs are on D, odd ones on D'.

    `tables`: (runs, rows, columns) codes of what was released. `cells`: (runs, numbers) what each run did, and its model: see
    `Look.cells`.
    """

    pair: Pair
    tables: NDArray[Any]
    cells: NDArray[np.float32]

    @property
    def member(self) -> NDArray[np.bool_]:
        """For each run whether it was on D', the table with the target."""
        return np.arange(len(self.cells)) % 2 == 1


def run_pair(
    generator: Watched, pair: Pair, look: Look, *, times: int, rows: int, seed: np.random.SeedSequence, working: Working
) -> PairRuns:
    """Return what is seen of `times` runs on each table of a pair, each run with a seed of its own."""
    draws, total = pair.draws, 2 * times
    size = max(SMALLEST, -(-total // PARTS))
    jobs = [
        ShadowJob(generator, ids, tuple(draws[i % 2] for i in ids), 1, rows, seed, look, working.time_limit)
        for ids in np.array_split(np.arange(total), -(-total // size))
    ]
    parts: list[ShadowPart] = []
    began, finished = time.monotonic(), 0
    for done in results(jobs, working):
        if done.failed is not None or done.part is None:
            raise InputError(f"Run {done.failed} of {total:,} on pair '{pair.name}' failed: {done.reason.rstrip('.')}.")
        parts.append(done.part)
        finished += len(done.part.ids)
        words = stage_words(finished, total, total, time.monotonic() - began).replace("shadow", "run")
        working.progress(words, finished / total)
    order = np.argsort(np.concatenate([part.ids for part in parts]))
    cells = np.concatenate([np.asarray(part.cells) for part in parts])[order]
    return PairRuns(pair, np.concatenate([part.codes[:, 0] for part in parts])[order], cells)
