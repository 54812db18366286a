"""Many runs on a pair of tables, in memory.

Runs on small tables take milliseconds, so they are worked in larger parts than shadows are and not kept on disk: files for each part
would take longer than the runs. Seeds follow the numbers of the runs; who works on which changes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import InputError
from ...stats.splits import child
from ..shadows.run import results, stage_words
from ..shadows.store import ShadowPart
from ..shadows.work import ShadowJob, Working
from .pairs import Pair
from .watch import Look, Watched

SMALLEST, PARTS = 25, 20
"""The fewest runs of a part, and about how many parts there are otherwise."""


@dataclass(frozen=True, eq=False)
class PairRuns:
    """What was seen of the runs on one pair, each on D or D' by a coin of its own.

    `tables`: (runs, rows, columns) codes of what was released. `cells`: (runs, numbers) what each run did, and its model: see
    `Look.cells`. `member`: for each run whether it was on D', the table with the target.
    """

    pair: Pair
    tables: NDArray[Any]
    cells: NDArray[np.float32]
    member: NDArray[np.bool_]


def coins(runs: int, seed: np.random.SeedSequence) -> NDArray[np.bool_]:
    """Return a fair coin for each run: whether it is on D', the table with the target."""
    return np.random.default_rng(child(seed, 1 << 30)).random(runs) < 0.5


def run_pair(
    generator: Watched,
    pair: Pair,
    look: Look,
    *,
    runs: int,
    rows: int,
    seed: np.random.SeedSequence,
    working: Working,
) -> PairRuns:
    """Return what is seen of so many runs on a pair, each with a seed and a coin of its own that says on which of the tables it is."""
    member = coins(runs, seed)
    taken = [pair.draws[int(inside)] for inside in member]
    seen = play(generator, taken, look, name=pair.name, rows=rows, seed=seed, working=working)
    return PairRuns(pair, seen.tables, seen.cells, member)


@dataclass(frozen=True, eq=False)
class Played:
    """What was seen of runs: the codes of what was released, (runs, rows, columns), and what each run did, and its model."""

    tables: NDArray[Any]
    cells: NDArray[np.float32]


def play(
    generator: Watched,
    taken: Sequence[NDArray[np.int64]],
    look: Look,
    *,
    name: str,
    rows: int,
    seed: np.random.SeedSequence,
    working: Working,
) -> Played:
    """Return what is seen of runs, each on some rows of the base table. `name`: that of the pair."""
    total = len(taken)
    size = max(SMALLEST, -(-total // PARTS))
    jobs = [
        ShadowJob(
            generator, ids, tuple(taken[i] for i in ids), 1, rows, seed, look, working.time_limit
        )
        for ids in np.array_split(np.arange(total), -(-total // size))
    ]
    parts: list[ShadowPart] = []
    began, finished = time.monotonic(), 0
    for done in results(jobs, working):
        if done.failed is not None or done.part is None:
            raise InputError(
                f"Run {done.failed} of {total:,} on pair '{name}' failed: {done.reason.rstrip('.')}."
            )
        parts.append(done.part)
        finished += len(done.part.ids)
        words = stage_words(finished, total, total, time.monotonic() - began).replace(
            "shadow", "run"
        )
        working.progress(words, finished / total)
    order = np.argsort(np.concatenate([part.ids for part in parts]))
    cells = np.concatenate([np.asarray(part.cells) for part in parts])[order]
    return Played(np.concatenate([part.codes[:, 0] for part in parts])[order], cells)
