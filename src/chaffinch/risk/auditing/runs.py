"""Many runs on a pair of tables, in memory, and what can be seen of each: the released table, its number of rows, errors and warnings, and the model.

Runs on small tables take milliseconds, so they are worked in larger parts than shadows are and not kept on disk: files for each part
would take longer than the runs. Seeds follow the numbers of the runs; who works on which changes nothing.

To an auditor everything that a run does is an answer. A synthesiser that stops at one of two neighbouring tables has told them apart, so
an error does not end an audit: it is counted.
"""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import InputError
from ..._base.seeds import child
from ...synth.bayesnet.model import BayesNetModel
from ...synth.bayesnet.network import Network
from ...synth.protocol import TableGenerator
from ...table.domain import same_codes
from ...table.table import Table
from ..membership.features import level_counts, match_counts, sampled_counts, subset_sample
from ..membership.whitebox import WhiteBox
from ..shadows.generator import Generator, Released, unknown_code
from ..shadows.run import ShadowJob, ShadowPart, Working, results, stage_words
from ..shadows.settings import Grid
from .pairs import Pair

OUTSIDE = ("error", "rows", "warnings")
"""What is seen of a run besides its table and its model: the first numbers that `Look.cells` gives."""


MOST_RECORDS = 64
"""Records whose probabilities are looked at one by one. Domains of so many records are seen whole."""


MOST_CELLS = 4096
"""Cells of the reference network's tables up to which these are looked at."""


MOST_COLUMNS = 11
"""Columns up to which every subset is counted: 2,048 subsets. Above, as many are drawn."""


SMALLEST, PARTS = 25, 20
"""The fewest runs of a part, and about how many parts there are otherwise."""


@dataclass(frozen=True, eq=False)
class Answer:
    """What one run did, apart from its table: the model if there is one, the rows it gave, errors, and warnings."""

    model: Any
    n_rows: int
    error: str
    warnings: int


@dataclass(frozen=True, eq=False)
class Watched(Generator):
    """A generator that never fails: an error is an answer, and so is any number of rows.

    Codes are cut to the rows that were asked for, or filled up with the code of an unknown value, which matches nothing. Both tables of a
    pair have the grid of the base table: what a guarantee is about is distinguished on one grid.
    """

    grid: Grid = "population"

    @property
    def fits(self) -> bool:
        """True: there is always an `Answer` to look into, also where there is no model."""
        return True

    @property
    def description(self) -> str:
        """What makes the tables, in a line that holds settings and no data."""
        if self.models and getattr(type(self.maker), "__repr__", None) is object.__repr__:
            return type(self.maker).__qualname__  # its repr would say where in memory it stands
        return TableGenerator(self.maker).description

    @property
    def models(self) -> bool:
        """Whether there is a model between the data and the tables."""
        return hasattr(self.maker, "fit")

    def release(
        self,
        table: Table,
        *,
        tables: int,
        rows: int,
        seed: np.random.SeedSequence,
        sight: Any = None,
    ) -> Released:
        """Return what a run on `table` gave, and what it did, as an `Answer` in place of the model. One table for each run."""
        fitting, drawing = (child(seed, i) for i in range(2))
        out = np.full(
            (1, rows, len(self.base.schema.names)), unknown_code(self._dtype), dtype=self._dtype
        )
        model, codes, error = None, out[0, :0], ""
        with _collect_warnings() as messages:
            try:
                if self.models:
                    model = self.maker.fit(table, seed=fitting)
                    codes, _ = self._draw_table(model, table, rows, drawing, None)
                else:
                    codes = self.codes_of(self.draw(None, table, rows, drawing))
            except Exception as raised:  # its message may quote a record: only its kind is kept
                model, error = None, type(raised).__name__
        out[0, : len(codes)] = codes[:rows]
        return Released(out, Answer(model, len(codes), error, len(messages)))


@dataclass(frozen=True, eq=False)
class Look:
    """What is read off each run: errors, rows, warnings; and off a network that is on the codes of the base table its numbers.

    For up to 64 records (all of the base table if it has no more, else the target and the first others) the log-probability, whole and
    column by column; the tables of a reference network; which column is a parent of which; the weight of each column's table; the number of
    records that the model states. Where a model is of another kind or has other codes, these are NaN.
    """

    base: Table
    records: NDArray[Any]
    reference: Network | None = None

    @cached_property
    def _white(self) -> WhiteBox:
        sizes = dict(zip(self.base.schema.names, self.base.schema.sizes, strict=True))
        families = (
            [] if self.reference is None else [(name, *self.reference[name]) for name in sizes]
        )
        small = sum(prod(sizes[name] for name in family) for family in families) <= MOST_CELLS
        # Weights, not chances: a noisy count says more than its share of the others.
        return WhiteBox.from_schema(
            self.base.schema,
            self.records,
            reference=self.reference if small else None,
            values="weights",
        )

    @cached_property
    def _width(self) -> int:
        """How many numbers are read off a model."""
        columns = len(self.base.schema.names)
        cells = self._white.families[-1].stop if self._white.families else 0
        return len(self.records) * (1 + columns) + cells + columns * (columns + 1) + 1

    def nodes(self, _answer: Answer) -> NDArray[np.float32]:
        """Return nothing: all is in `cells`."""
        return np.empty((1, 0), dtype=np.float32)

    def cells(self, answer: Answer) -> NDArray[np.float32]:
        """Return what is seen of a run: first `OUTSIDE`, then the model."""
        head = [float(bool(answer.error)), float(answer.n_rows), float(answer.warnings)]
        return np.concatenate([np.array(head, dtype=np.float32), self._model(answer.model)])

    def _model(self, model: Any) -> NDArray[np.float32]:
        if not readable(model, self.base):
            return np.full(self._width, np.nan, dtype=np.float32)
        names = self.base.schema.names
        edges = np.zeros((len(names), len(names)))
        weights = np.zeros(len(names))
        for table in model.tables:
            child = names.index(table.child)
            edges[child, [names.index(parent) for parent in table.parents]] = 1
            weights[child] = table.total_weight
        model_features = [edges.ravel(), weights, [float(model.n_rows)]]
        return np.concatenate(
            [self._white.nodes(model).ravel(), self._white.cells(model), *model_features]
        ).astype(np.float32)


def readable(model: Any, base: Table) -> bool:
    """Return whether a model is a network on the codes of the base table."""
    if not isinstance(model, BayesNetModel) or model.schema.names != base.schema.names:
        return False
    return all(
        same_codes(model.schema[name].codec, base.schema[name].codec) for name in base.schema.names
    )


@contextmanager
def _collect_warnings() -> Iterator[list[Any]]:
    """Collect warnings, in the main thread only: how Python handles them is shared by all threads."""
    if threading.current_thread() is not threading.main_thread():
        yield []
        return
    with warnings.catch_warnings(record=True) as messages:
        warnings.simplefilter("always")
        yield messages


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


def finished_parts(
    jobs: list[ShadowJob],
    total: int,
    working: Working,
    noun: str,
    title: Callable[[int | None], str],
) -> list[ShadowPart]:
    """Return what jobs of `total` runs gave; `noun`: what progress calls a run; `title`: what an error calls one, by its number."""
    parts: list[ShadowPart] = []
    began, finished = time.monotonic(), 0
    for done in results(jobs, working):
        if done.failed is not None or done.finished is None:
            raise InputError(f"{title(done.failed)} failed: {done.reason.rstrip('.')}.")
        parts.append(done.finished)
        finished += len(done.finished.ids)
        message = stage_words(finished, total, total, time.monotonic() - began)
        working.progress(message.replace("shadow", noun), finished / total)
    return parts


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
    parts = finished_parts(
        jobs, total, working, "run", lambda run: f"Run {run} of {total:,} on pair '{name}'"
    )
    order = np.argsort(np.concatenate([shadow_part.ids for shadow_part in parts]))
    cells = np.concatenate([np.asarray(shadow_part.cells) for shadow_part in parts])[order]
    return Played(np.concatenate([shadow_part.codes[:, 0] for shadow_part in parts])[order], cells)


def table_features(
    tables: NDArray[Any],
    target: NDArray[Any],
    sizes: tuple[int, ...],
    *,
    threads: int | None = None,
) -> NDArray[np.float32]:
    """Return (tables, features) counts: rows that match the target on subsets of columns, rows with each level, and each record.

    `tables`: (tables, rows, columns) codes; the largest code of the type is a value unknown to the domain, or a row that is not there.
    `target`, `sizes`: the target's codes, and how many codes each column has. Records are counted one by one where there are up to 64
    of them.

    Examples
    --------
    >>> table_features(np.array([[[0, 1], [0, 0], [1, 1]]], dtype=np.uint8), np.array([0, 1]), (2, 2)).astype(int).tolist()
    [[3, 2, 2, 1, 2, 1, 1, 2, 1, 1, 0, 1]]
    """
    columns = len(sizes)
    if columns <= MOST_COLUMNS:
        around = match_counts(tables, target, dtype=np.float32, threads=threads)
    else:
        subsets = subset_sample(
            columns, max_subsets=1 << MOST_COLUMNS, seed=0
        )  # public, and the same for all tables
        around = sampled_counts(tables, target, subsets, dtype=np.float32, threads=threads)
    parts = [around, level_counts(tables, sizes, threads=threads)]
    cells = int(np.prod(sizes, dtype=np.float64))
    if columns > 1 and cells <= MOST_RECORDS:
        known = (tables < np.array(sizes)).all(axis=2)
        cell = np.ravel_multi_index(
            tuple(np.minimum(tables[:, :, j], sizes[j] - 1) for j in range(columns)), sizes
        )
        parts.append(
            level_counts(
                np.where(known, cell, cells).astype(np.uint8)[:, :, None], [cells], threads=threads
            )
        )
    return np.concatenate(parts, axis=1).astype(np.float32)
