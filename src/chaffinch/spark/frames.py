"""Spark tables on one grid, for measures: what `table.align` does with files, where the tables are.

Measures ask for counts, summaries and a sample (`table.long.RemoteParts`); work goes to workers, and these come back. A sample is of records: whoever
measures a table on Spark brings so many of its records to the driver.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from .._base.errors import ClusterError, InputError, TooLargeError
from .._base.runtime import Progress, silent
from .._base.seeds import generator
from ..counts.counter import Counter
from ..counts.marginal import Marginal
from ..synth.independent import Independent
from ..synth.model import BATCH_ROWS
from ..synth.model_file import model_to_bytes
from ..table.align import ColumnRoom, OtherTable, check_long_schema, same_columns, shared_columns
from ..table.codes import Codes
from ..table.fit_schema import enough_rows
from ..table.groups import GROUPS, group_column
from ..table.long import LongTable, Summary, joined
from ..table.schema import Column, Schema
from ..table.table import Table
from .blocks import hashed, summed
from .counter import MOST_SPARSE, RowsSeen, SparkCounter, added_cells
from .counting import CELL_SHAPE, ROWS, marginal_of_cells
from .holding import held_codes
from .jobs import collected, in_our_words, mapped
from .parts import (
    SUMMARY_SHAPE,
    ChooseRows,
    CountKeyCells,
    DrawnBatches,
    DrawnRows,
    EncodeParts,
    FindRoom,
    FrameRows,
    OverCodes,
    OverParts,
    PartCodes,
    PartReader,
    RecodedRows,
    ResampledRows,
    unpacked_table,
)
from .profiles import PART
from .session import parallelism, session_of, spark_functions

if TYPE_CHECKING:
    from .scanning import SparkScan


REMEMBERED_CELLS = 1 << 23
"""Cells of marginals of a table that are kept, at most, since measures ask for those of the original once for each table beside it."""


@dataclass(frozen=True, eq=False)
class RawFrame:
    """A DataFrame whose columns tasks get by name, with the number of the partition and, if asked for, hashes of rows."""

    frame: Any

    def select(self, names: Sequence[str], *, check: bool) -> Any:
        """Return the frame of some columns."""
        functions = spark_functions()
        if check:
            rows = hashed(self.frame, names)
        else:
            places = {name: f"c{j}" for j, name in enumerate(self.frame.columns)}
            rows = self.frame.toDF(*places.values()).select(*(places[name] for name in names))
        return rows.withColumn(PART, functions.spark_partition_id())


@dataclass(frozen=True, eq=False)
class NumberFrame:
    """Numbers of batches that workers draw."""

    session: Any
    n_batches: int

    def select(self, names: Sequence[str], *, check: bool) -> Any:
        """Return the frame of numbers, a task for each core or for 16 batches."""
        tasks = max(
            1, min(self.n_batches, max(parallelism(self.session), -(-self.n_batches // 16)))
        )
        with in_our_words():
            return self.session.range(0, self.n_batches, 1, tasks)


@dataclass(frozen=True, eq=False)
class FrameParts:
    """The parts of a table on Spark (`RemoteParts`).

    `rows`: what every pass must see; None where rows are drawn anew in each. `cache`, `held`: where codes are held, and what removes them.
    """

    frame: RawFrame | NumberFrame
    reader: PartReader
    rows: RowsSeen | None
    session: Any
    cache: str | os.PathLike[str] | None
    held: ExitStack
    _counters: dict[int, SparkCounter] = field(default_factory=dict)
    _marginals: dict[Any, list[Marginal]] = field(default_factory=dict)

    def summaries(self, task: Summary, columns: Collection[str] | None) -> Iterator[pa.Table]:
        """Return what a task makes of each partition."""
        names = None if columns is None else tuple(columns)
        work = OverParts(self.reader, names, task)
        answer = collected(
            mapped(
                self.frame.select(self.reader.raw(names), check=names is None), work, SUMMARY_SHAPE
            )
        ).sort_by("part")
        self._check(answer, hashes=names is None)
        yield from (unpacked_table(raw) for raw in answer.column("summary").to_pylist())

    def code_summaries(
        self, task: Callable[[Iterator[Codes]], pa.Table], groups: int
    ) -> Iterator[pa.Table]:
        """Return what a task makes of the codes of each partition."""
        counter = self._coded(groups)
        answer = collected(
            mapped(
                counter.frame,
                OverCodes(counter.source, tuple(counter.schema.sizes), task),
                SUMMARY_SHAPE,
            )
        )
        counter.rows.check(_seen(answer))
        yield from (unpacked_table(raw) for raw in answer.column("summary").to_pylist())

    def counter(self, group: Column, dense_cells: int) -> Counter:
        """Return what counts the codes, a column of groups before the others; what was asked before is remembered."""
        counter = self._coded(group.size)
        schema = replace(counter.schema, columns=(group, *counter.schema.columns[1:]))
        return _RememberingCounter(
            replace(counter, schema=schema, dense_cells=dense_cells), self._marginals
        )

    def key_counts(
        self,
        code: Callable[[Table, int], Mapping[str, NDArray[Any]]],
        columns: Collection[str],
        cliques: Sequence[Sequence[str]],
        sizes: Mapping[str, int],
    ) -> list[Marginal]:
        """Return the marginals of codes that are made of parts on workers; Spark's group-by adds them up."""
        task = CountKeyCells(
            PartCodes(self.reader, tuple(columns), code), tuple(map(tuple, cliques)), dict(sizes)
        )
        found, n_rows = _cells(self.frame.select(self.reader.raw(columns), check=False), task)
        if self.rows is not None:
            replace(self.rows, checksum=0).check(RowsSeen(n_rows, 0))
        return found

    def drawn_key_counts(
        self,
        draw: Callable[[int, int], Mapping[str, NDArray[Any]]],
        n_rows: int,
        cliques: Sequence[Sequence[str]],
        sizes: Mapping[str, int],
    ) -> list[Marginal]:
        """Return the marginals of rows that workers draw."""
        numbers = NumberFrame(self.session, -(-n_rows // BATCH_ROWS)).select((), check=False)
        return _cells(
            numbers,
            CountKeyCells(DrawnBatches(draw, n_rows), tuple(map(tuple, cliques)), dict(sizes)),
        )[0]

    def chosen(self, share: float, key: int, by: str, most: float) -> Table | None:
        """Return the rows that a keyed hash chooses, in an order that partitions do not change where it is one of values; None where they are more than `most`.

        By place, a row is chosen by the numbers of its partition and of its row there.
        """
        frame = self.frame.select(self.reader.raw(None), check=True)
        task = ChooseRows(self.reader, share, key, by)
        if np.isfinite(most) and share < 1:  # before they come to the driver
            counts = collected(mapped(frame, replace(task, count=True), SUMMARY_SHAPE))
            if (
                sum(
                    unpacked_table(raw).column(0)[0].as_py()
                    for raw in counts.column("summary").to_pylist()
                )
                > most
            ):
                return None
        answer = collected(mapped(frame, task, SUMMARY_SHAPE)).sort_by("part")
        self._check(answer, hashes=True)
        schema, width = self.reader.schema, len(self.reader.schema.names)
        tables, hashes = [], [np.zeros(0, dtype=np.uint64)]
        for raw, n in zip(
            answer.column("summary").to_pylist(), answer.column("n").to_pylist(), strict=True
        ):
            if n:
                continue
            rows = unpacked_table(raw)
            codes = Codes.of(
                [rows.column(width + j).to_numpy() for j in range(width)], schema.sizes
            )
            tables.append(
                Table(
                    schema,
                    rows.select(list(range(width))).rename_columns(list(schema.names)),
                    codes,
                )
            )
            hashes.append(rows.column(2 * width).to_numpy())
        if not tables:
            return Table(
                schema, pa.table({}), Codes.of([np.zeros(0, dtype=np.uint8)] * width, schema.sizes)
            )
        whole = joined(tables)
        if by == "place":
            return whole
        # Equal rows have equal hashes, so that this order hangs on nothing but the rows. Shuffled: attackers that take the first of equally near rows must
        # not meet copies of one row together.
        order = np.argsort(np.concatenate(hashes), kind="stable")
        return whole.take(order[generator(key).permutation(len(order))])

    def recoded(self, schema: Schema, codes: Callable[[Table], list[NDArray[Any]]]) -> FrameParts:
        """Return the same rows under other codes."""
        return replace(
            self, reader=RecodedRows(schema, self.reader, codes), _counters={}, _marginals={}
        )

    def independent(self, n_rows: int, seed: np.random.SeedSequence) -> FrameParts:
        """Return as many rows of independent columns, drawn by workers: the very rows that one machine draws from the seed."""
        counter = _WithoutGroups(
            self.reader.schema, self._coded(1) if 1 in self._counters else self._coded(GROUPS)
        )
        model = model_to_bytes(Independent().fit(counter))
        entropy = seed.entropy
        assert isinstance(entropy, int)
        reader = DrawnRows(self.reader.schema, model, n_rows, entropy, tuple(seed.spawn_key))
        return self._derived(NumberFrame(self.session, -(-n_rows // BATCH_ROWS)), reader)

    def resampled(self, n_rows: int, seed: np.random.SeedSequence) -> FrameParts:
        """Return each row a Poisson number of times: about as many rows in all."""
        assert self.rows is not None
        words = tuple(int(word) for word in seed.generate_state(4))
        return self._derived(
            self.frame,
            ResampledRows(self.reader.schema, self.reader, n_rows / self.rows.n_rows, words),
        )

    def count_rows(self) -> int:
        """Return how many rows there are: those of the codes, which are made for it where nobody counted before."""
        return self.rows.n_rows if self.rows is not None else self._coded(GROUPS).n_rows

    def _derived(self, frame: RawFrame | NumberFrame, reader: PartReader) -> FrameParts:
        return replace(self, frame=frame, reader=reader, rows=None, _counters={}, _marginals={})

    def _coded(self, groups: int) -> SparkCounter:
        """The codes of all rows with their groups, held until the end."""
        if groups not in self._counters:
            schema = self.reader.schema
            wide = replace(schema, columns=(group_column(groups), *schema.columns), rules=())
            rows = self.frame.select(self.reader.raw(None), check=True)
            self._counters[groups] = self.held.enter_context(
                held_codes(
                    rows,
                    EncodeParts(self.reader, groups),
                    wide,
                    self.rows,
                    self.session,
                    self.cache,
                )
            )
        return self._counters[groups]

    def _check(self, answer: pa.Table, *, hashes: bool) -> None:
        if self.rows is not None:
            seen = _seen(answer)
            self.rows.check(seen if hashes else replace(seen, checksum=self.rows.checksum))


@dataclass(frozen=True, eq=False)
class _WithoutGroups:
    """A counter under the schema without the column of groups."""

    schema: Schema
    counter: SparkCounter

    @property
    def n_rows(self) -> int:
        return self.counter.n_rows

    def marginals(self, cliques: Sequence[Sequence[str]]) -> list[Marginal]:
        return self.counter.marginals(cliques)


@dataclass(frozen=True, eq=False)
class _RememberingCounter:
    """A counter that remembers its answers, up to a number of cells."""

    counter: SparkCounter
    known: dict[Any, list[Marginal]]

    @property
    def schema(self) -> Schema:
        return self.counter.schema

    @property
    def n_rows(self) -> int:
        return self.counter.n_rows

    def marginals(self, cliques: Sequence[Sequence[str]]) -> list[Marginal]:
        asked = (self.counter.schema.sizes[0], self.counter.dense_cells, tuple(map(tuple, cliques)))
        if asked in self.known:
            return self.known[asked]
        answer = self.counter.marginals(cliques)
        held = sum(marginal.counts.size for every in self.known.values() for marginal in every)
        if held + sum(marginal.counts.size for marginal in answer) <= REMEMBERED_CELLS:
            self.known[asked] = answer
        return answer


def _seen(answer: pa.Table) -> RowsSeen:
    return RowsSeen(
        sum(answer.column("n").to_pylist()),
        summed(np.array(answer.column("checksum").to_pylist(), dtype=np.int64)),
    )


def _cells(frame: Any, task: CountKeyCells) -> tuple[list[Marginal], int]:
    """The marginals of what tasks count, and how many rows they saw."""
    found = collected(added_cells(mapped(frame, task, CELL_SHAPE)).limit(MOST_SPARSE))
    if found.num_rows >= MOST_SPARSE:
        raise TooLargeError(
            f"Keys and sensitive values have more than {MOST_SPARSE:,} combinations that occur, too many for the driver. Attack with fewer keys, with a "
            "tolerance, or with bins (--numeric bins)."
        )
    n_rows = pc.sum(found.filter(pc.equal(found.column("clique"), ROWS)).column("n")).as_py() or 0
    marginals = []
    for q, clique in enumerate(task.cliques):
        own = found.filter(pc.equal(found.column("clique"), q))
        sizes = tuple(task.sizes[name] for name in clique)
        marginals.append(
            marginal_of_cells(
                clique, sizes, own.column("cell").to_pylist(), own.column("n").to_numpy()
            )
        )
    return marginals, n_rows


@contextmanager
def frames_on_one_grid(
    original: SparkScan,
    *others: Any,
    names: Sequence[str] = ("synthetic", "holdout"),
    cache: str | os.PathLike[str] | None = None,
    progress: Progress = silent,
) -> Iterator[tuple[LongTable, ...]]:
    """Give a scanned DataFrame and others (DataFrames, or scans of them) with one schema between them, as `align_files` does for files.

    Codes that are held meanwhile, where `cache` says (see `SparkScan.coded`), are removed at the end of the block.
    """
    check_long_schema(original.schema)
    enough_rows("The original table", original.n_rows)
    session = session_of(original.frame)
    frames = [other.frame if isinstance(other, type(original)) else other for other in others]
    called = list(names[: len(frames)])
    for name, frame in zip(called, frames, strict=True):
        session_of(frame)
        if len(set(frame.columns)) < len(frame.columns):
            raise InputError(f"The {name} table has columns of one name. Rename them.")
        same_columns(original.schema, OtherTable(name, frame.columns, None, None, pa.table({})))
    found = []
    for name, frame in zip(called, frames, strict=True):
        progress(f"reading the {name} table", -1)
        found.append(_rooms(RawFrame(frame), original.schema.modelled, name))
        enough_rows(f"The {name} table", found[-1][1].n_rows)
    gone = [column for column in original.schema.modelled if not column.fitted_codec.n_values]
    own = {}
    if gone:
        for room in _rooms(RawFrame(original.frame), gone, "original")[0]:
            own[room.column.name] = [room]
    shared, schema, notes = shared_columns(
        original.schema, [rooms for rooms, _ in found], own, called
    )
    with ExitStack() as held:
        sides = [
            ("", original.frame, original.rows, original.notes),
            *(
                (name, frame, seen, tuple(said))
                for name, frame, (_, seen), said in zip(called, frames, found, notes, strict=True)
            ),
        ]
        yield tuple(
            LongTable(
                schema,
                seen.n_rows,
                _refuse,
                _refuse,
                said,
                remote=FrameParts(
                    RawFrame(frame),
                    FrameRows(schema, tuple(shared), name),
                    seen,
                    session,
                    cache,
                    held,
                ),
            )
            for name, frame, seen, said in sides
        )


def _refuse(_columns: Collection[str] | None) -> Iterator[Table]:
    raise ClusterError(
        "Rows of a table on Spark stay there: this measure needs them all. Measure a file on one machine."
    )


def _rooms(
    frame: RawFrame, columns: Sequence[Column], name: str
) -> tuple[list[ColumnRoom], RowsSeen]:
    """What of a frame's values the columns have no codes for, and the rows that were seen."""
    rooms = [ColumnRoom(column) for column in columns]
    answer = collected(
        mapped(
            frame.select([column.name for column in columns], check=True),
            FindRoom(tuple(columns), name),
            SUMMARY_SHAPE,
        )
    )
    for raw in answer.column("summary").to_pylist():
        for room, used, fractions in zip(
            rooms, *unpacked_table(raw).to_pydict().values(), strict=True
        ):
            room.used |= np.frombuffer(used, dtype=bool)
            room.fractions |= fractions
    return rooms, _seen(answer)
