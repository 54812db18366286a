"""People who are not in the data: whether a holdout is made of them, and how to set some aside.

Two samples of one population are exchangeable: given all rows, each choice of the rows that are the
holdout's is as likely as any other. So of `m` equal rows, as many pairs lie one in the input and
one in the holdout as that choice explains, however often rows repeat in the population. A holdout
with rows of the input has more: each of these rows is half of such a pair. The test (`chance_explains`)
is a permutation test of that, exact whatever the table. It looks at rows that few share: where many
do, a split that was stratified by a label is as even as one with copies. A systematic split of a
file that is sorted by all columns is no random choice, and may be refused.

What it cannot see: copies of rows that many people have, which change nothing that can be counted
(`overlap_notes` says where 5 % of copies would not be seen), and rows that were changed. Ids are
compared besides.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from .._base.arrays import Floats, Ints
from .._base.checks import check_name
from .._base.errors import InputError, join_names
from .._base.masking import THRESHOLD
from .._base.seeds import Seed, seed_sequence
from .align import align, values_of_column
from .formats import Source
from .rows import UNKNOWN, Names, Rows, Step
from .sample import below_share, hashes_of_persons, hashes_of_places, hashes_without
from .schema import Column, Schema
from .table import Table

FALSE_REFUSALS = 0.001
"""Honest holdouts that are refused, at most: a share of them. Tests of ids and of rows share it."""

DRAWS = 4_999
"""Permutations that an overlap is compared with, at least; fewer where it is soon seen whether
chance explains it.
"""

PERMUTED_ROWS = 12_000
"""Rows that are permuted, at most: of more, those of the classes that say most about copies."""

LARGEST_CLASS = 10
"""Units of a class that is looked at, at most: in larger ones a stratified split is more even than
chance, as copies are.
"""

COUNTED_ROWS = 4_000_000
"""Rows of both tables whose classes are counted, about: of more, those in a slice of the space of
rows.
"""

BLOCKED_ROWS = 200_000
"""Rows of both tables up to which classes are weighted by how many rows differ from them in one
block of columns.
"""

BLOCKS = 16
"""Blocks of columns that are left out one at a time: single columns in tables of no more."""

COMPARED_IDS = 5_000_000
"""Rows of a table whose ids are compared, at most: its first ones."""

COPIED_SHARE = 0.05
"""The share of a holdout's rows that are rows of the input, which the test should see."""

_KEY, _SEED, _ASIDE = 41, 410, 1 << 22
"""The key of hashes of rows, the seed of permutations (the same data have the same verdict), and
the random stream by which people are set aside.
"""


# Equal rows.


@dataclass(frozen=True, eq=False)
class RowClasses:
    """Classes of equal units (rows, or persons with all their rows) of an input and a holdout: how
    many of each are in which.

    `n_input`, `n_holdout`: the units of both, also where the classes are those of a slice.
    `weight`: what a class counts.
    """

    in_input: Ints
    in_holdout: Ints
    n_input: int
    n_holdout: int
    weight: Floats

    @classmethod
    def from_rows(cls, original: Rows, holdout: Rows) -> RowClasses:
        """Return the classes of two tables under one schema."""
        if original.person_of is not None and holdout.person_of is not None:
            first, second = _persons(original.table()), _persons(holdout.table())
        else:
            total = original.n_rows + holdout.n_rows
            blocks = min(BLOCKS, len(original.schema.modelled)) if total <= BLOCKED_ROWS else 0
            task = CountRows(
                _KEY, blocks if blocks > 1 else 0, min(1.0, COUNTED_ROWS / max(total, 1))
            )
            first, second = original.reduce(task), holdout.reduce(task)
        rows = np.concatenate([first[0], second[0]])
        _, where, inverse = np.unique(rows[:, 0], return_index=True, return_inverse=True)
        n_first = len(first[0])
        in_input = np.bincount(inverse[:n_first], first[1], len(where)).astype(np.int64)
        in_holdout = np.bincount(inverse[n_first:], second[1], len(where)).astype(np.int64)
        sizes = in_input + in_holdout
        near = np.zeros(len(where))
        for block in range(1, rows.shape[1]):
            _, group = np.unique(rows[where, block], return_inverse=True)
            near += np.bincount(group, sizes)[group] - sizes
        n_input = original.n_rows if first[2] is None else first[2]
        n_holdout = holdout.n_rows if second[2] is None else second[2]
        return cls(in_input, in_holdout, n_input, n_holdout, 1.0 / (1.0 + near))

    @property
    def sizes(self) -> Ints:
        """Units of each class in both together."""
        return self.in_input + self.in_holdout

    @property
    def shared(self) -> tuple[float, float, int]:
        """The share of the holdout's units that have an equal one in the input, that which chance
        explains, and how many the first is of.

        Of m units each is the holdout's with the chance q: m q of them are, and m q^m where no
        other is the input's.
        """
        q = self.n_holdout / (self.n_input + self.n_holdout)
        n, m = max(int(self.in_holdout.sum()), 1), self.sizes
        n_shared = int(self.in_holdout[self.in_input > 0].sum())
        return n_shared / n, float((m * q - m * q**m).sum()) / n, n_shared

    def statistic(self, in_holdout: NDArray[Any]) -> Any:
        """Return the weighted sum over classes of the share of pairs that lie one in each table,
        for one or more choices of the holdout's units.
        """
        m = self.sizes
        return (in_holdout * (m - in_holdout)) @ (self.weight / (m * (m - 1.0)))

    @property
    def expected(self) -> float:
        """The mean of the statistic over all choices: a pair lies in both tables with one chance,
        whatever its class.
        """
        n, h = self.n_input, self.n_holdout
        return float(self.weight.sum()) * n * h / ((n + h) * (n + h - 1))

    def repeated(self) -> RowClasses:
        """Return the classes of two units to `LARGEST_CLASS`; of more units than are permuted,
        those with the most weight for each unit.
        """
        chosen = np.flatnonzero((self.sizes > 1) & (self.sizes <= LARGEST_CLASS))
        if int(self.sizes[chosen].sum()) > PERMUTED_ROWS:
            chosen = chosen[np.argsort(-self.weight[chosen] / self.sizes[chosen], kind="stable")]
            chosen = chosen[
                : max(int(np.searchsorted(np.cumsum(self.sizes[chosen]), PERMUTED_ROWS)), 1)
            ]
        return replace(
            self,
            in_input=self.in_input[chosen],
            in_holdout=self.in_holdout[chosen],
            weight=self.weight[chosen],
        )

    def permuted(self, draws: int, rng: np.random.Generator) -> Floats:
        """Return the statistic of random choices of the holdout's units among all."""
        m = self.sizes
        n = int(m.sum())
        starts = np.cumsum(m) - m
        if self.n_input + self.n_holdout < 10**9:
            taken = rng.hypergeometric(n, self.n_input + self.n_holdout - n, self.n_holdout, draws)
        else:  # more than NumPy draws of: without replacement is then the same as with it
            taken = rng.binomial(n, self.n_holdout / (self.n_input + self.n_holdout), draws)
        labels = rng.permuted((np.arange(n) < taken[:, None]).astype(np.int32), axis=1)
        out: Floats = self.statistic(np.add.reduceat(labels, starts, axis=1))
        return out


def chance_explains(classes: RowClasses, level: float = FALSE_REFUSALS) -> bool:
    """Return whether two samples of one population explain the number of equal units in both: False
    for at most a share `level` of honest holdouts.

    The rank of an observed statistic among B permutations is uniform where units are exchangeable,
    so that r of them reach it with a chance of at most (r + 1) / (B + 1). Drawing ends where too
    many have, or where the statistic is so far above its mean, which is known, that Cantelli's
    inequality is enough: with a spread that is estimated from 256 draws, twice what it asks for.

    Examples
    --------
    >>> pairs, none = np.ones(12, dtype=np.int64), np.zeros(12, dtype=np.int64)
    >>> chance_explains(RowClasses(pairs, pairs, 1000, 1000, np.ones(12)))  # all of 12 pairs are split: one chance in 4,096
    False
    >>> chance_explains(RowClasses(np.array([1, 2, 0] * 4), np.array([1, 0, 2] * 4), 1000, 1000, np.ones(12)))
    True
    """
    repeated = classes.repeated()
    if not len(repeated.sizes):
        return True
    draws = max(DRAWS, int(np.ceil(2 / level)) - 1)
    max_reached = int(level * (draws + 1) + 1e-9) - 1
    rng = np.random.default_rng(_SEED)
    observed = float(repeated.statistic(repeated.in_holdout)) * (1 - 1e-9)
    largest = max(4, (1 << 21) // int(repeated.sizes.sum()))
    first: list[Floats] = []
    reached = done = 0
    batch = 32
    while done < draws:
        batch = min(2 * batch, largest, draws - done)
        statistics = repeated.permuted(batch, rng)
        reached += int((statistics >= observed).sum())
        if reached > max_reached:
            return True
        done += batch
        if done < 512:
            first.append(statistics)
        if (
            256 <= done < 512
            and (observed - repeated.expected) ** 2 > 2 / level * float(np.concatenate(first).var())
            and observed > repeated.expected
        ):
            return False
    return False


def overlap_unseen(classes: RowClasses, share: float = COPIED_SHARE, *, trials: int = 20) -> bool:
    """Return whether a holdout with a share of its units taken from the input would be missed in
    more than one of five cases.

    Units are taken so, at random; the statistic is then compared with its mean and spread under
    permutation.
    """
    rng = np.random.default_rng(_SEED)
    b, a = classes.in_input, classes.in_holdout
    n_copies = round(share * int(a.sum()))
    if not n_copies or not b.sum():
        return True
    seen = 0
    spread = 0.0
    for trial in range(trials):
        taken = np.bincount(
            rng.choice(np.repeat(np.arange(len(a)), a), n_copies, replace=False), minlength=len(a)
        )
        copies = np.bincount(
            rng.choice(np.repeat(np.arange(len(b)), b), n_copies), minlength=len(b)
        )
        planted = replace(classes, in_holdout=a - taken + copies).repeated()
        if not len(planted.sizes):
            continue
        if not spread:
            spread = float(
                planted.permuted(max(8, min(200, (1 << 22) // int(planted.sizes.sum()))), rng).std()
            )
        seen += (float(planted.statistic(planted.in_holdout)) - planted.expected) > 3.2 * spread > 0
        if trial == 4 and seen in (0, 5):
            return not seen
    return seen < 0.8 * trials


@dataclass(frozen=True)
class CountRows:
    """Counts the distinct rows of parts: hashes (see `hashes_without`), and how often each occurs.
    `share`: of the space of rows, by the hash of the whole row.
    """

    key: int
    blocks: int
    share: float

    columns = None
    values = True

    def summary(self, chunks: Iterator[Table]) -> pa.Table:
        """Return the counts of all chunks; those of two are added before the next is read."""
        rows, counts = np.zeros((0, self.blocks + 1), dtype=np.uint64), np.zeros(0, dtype=np.int64)
        for chunk in chunks:
            hashes = hashes_without(chunk, self.key, self.blocks)
            if self.share < 1:
                hashes = hashes[hashes[:, 0] < below_share(self.share)]
            rows, counts = _distinct(
                np.concatenate([rows, hashes]),
                np.concatenate([counts, np.ones(len(hashes), dtype=np.int64)]),
            )
        return pa.table(
            {"count": counts, **{f"row{j}": rows[:, j] for j in range(self.blocks + 1)}}
        )

    def result(self, summaries: Iterator[pa.Table]) -> Counted:
        """Return the counts of all rows."""
        counts = pa.concat_tables(summaries)
        hashes = [counts.column(f"row{j}").to_numpy() for j in range(self.blocks + 1)]
        return *_distinct(np.stack(hashes, axis=1), counts.column("count").to_numpy()), None


def _distinct(rows: NDArray[np.uint64], counts: Ints) -> tuple[NDArray[np.uint64], Ints]:
    _, where, inverse = np.unique(rows[:, 0], return_index=True, return_inverse=True)
    return rows[where], np.bincount(inverse, counts, len(where)).astype(np.int64)


Counted = tuple[NDArray[np.uint64], Ints, int | None]
"""Hashes of distinct units, how often each occurs, and how many units there are where they are not
rows.
"""


def _persons(table: Table) -> Counted:
    """A person is one unit: all rows of one together, in whatever order, or rows of one person
    would count as people who are alike.
    """
    assert table.person_of is not None
    hashes = hashes_without(table, _KEY, 0)[:, 0]
    _, whose = np.unique(table.person_of, return_inverse=True)
    n_persons = int(whose.max()) + 1
    sums = np.zeros(n_persons, dtype=np.uint64)
    np.add.at(sums, whose, (hashes ^ (hashes >> np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9))
    return *_distinct(sums[:, None], np.ones(n_persons, dtype=np.int64)), n_persons


# Ids.


@dataclass(frozen=True)
class _SharedIds:
    """Ids of one column that occur in both tables: whether that alone shows that people are in
    both, and the note where it does not.
    """

    column: str
    refused: bool
    note: str = ""


def _shared_ids(
    column: Column, first: pa.Array, second: pa.Array, level: float
) -> _SharedIds | None:
    """Compare the ids of an input and a holdout; None where no id is in both.

    - Ids that say whose row it is: whoever is in both is in the data.
    - Rows numbered from 0 or 1 in each file: they say nothing.
    - Ids with a figure in each, and each on one row of its table: an id in both is one record.
    - Else, as names or households: more in both than two samples of one population explain.
    """
    distinct = pc.unique(second)
    both = pc.is_in(distinct, value_set=pc.unique(first))
    if not pc.any(both).as_py():
        return None
    if column.role == "person":
        return _SharedIds(column.name, refused=True)
    if _numbers_rows(first) and _numbers_rows(second):
        return _SharedIds(
            column.name,
            False,
            f"Column '{column.name}' numbers the rows of input and holdout from one start: its values were not compared.",
        )
    unique = len(pc.unique(first)) == len(first) and len(distinct) == len(second)
    if unique and pc.all(pc.match_substring_regex(distinct, r"\d")).as_py():
        return _SharedIds(column.name, refused=True)
    indices = pa.concat_arrays([first, second]).dictionary_encode().indices.to_numpy()
    in_input, in_holdout = (
        np.bincount(table_indices, minlength=int(indices.max()) + 1)
        for table_indices in (indices[: len(first)], indices[len(first) :])
    )
    refused = not chance_explains(
        RowClasses(in_input, in_holdout, len(first), len(second), np.ones(len(in_input))), level
    )
    note = f"Values of column '{column.name}' occur in the input and in the holdout. If they say whose row it is, give the column the role person."
    return _SharedIds(column.name, refused, note)


def _numbers_rows(ids: pa.Array) -> bool:
    """Return whether ids are the whole numbers from 0 or 1 to the number of distinct ones."""
    distinct = pc.unique(ids)
    if not pc.all(pc.match_substring_regex(distinct, r"^\d{1,15}$")).as_py():
        return False
    numbers = distinct.cast(pa.int64())
    low, high = pc.min_max(numbers).values()
    return low.as_py() in (0, 1) and high.as_py() - low.as_py() + 1 == len(distinct)


@dataclass(frozen=True, eq=False)
class IdWords:
    """Reads the ids of a table as words, without those that are missing; None where they are of
    another kind.
    """

    column: Column
    name: str
    text: bool

    values = True

    @property
    def columns(self) -> list[str]:
        """The name of the column."""
        return [self.column.name]

    def summary(self, chunks: Iterator[Table]) -> pa.Table:
        """Return the words of chunks, of the first rows alone where there are many; without a
        column where they are of another kind.
        """
        ids: list[pa.Array] = []
        for chunk in chunks:
            try:
                cells = chunk.data.column(self.column.name)
                if not chunk.schema.names:
                    cells = values_of_column(chunk, self.column, self.name, text=self.text)[0]
                ids.append(_id_text(cells))
            except (InputError, pa.ArrowException):
                return pa.table({})  # ids of another kind are other ids
            if sum(map(len, ids)) >= COMPARED_IDS:
                break
        return pa.table({"words": pa.concat_arrays(ids) if ids else pa.array([], pa.string())})

    def result(self, summaries: Iterator[pa.Table]) -> pa.Array | None:
        """Return the words of all chunks."""
        tables = list(summaries)
        if not all(table.num_columns for table in tables):
            return None
        return pa.concat_tables(tables).column("words").combine_chunks()


def _id_text(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return values as words, without blanks around them, whole numbers without decimals; missing
    and empty ones are left out.
    """
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks() if values.num_chunks != 1 else values.chunk(0)
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    values = values.drop_null()
    if pa.types.is_floating(values.type) and pc.all(pc.equal(pc.floor(values), values)).as_py():
        values = values.cast(pa.int64())
    ids = pc.utf8_trim_whitespace(values.cast(pa.string()))
    return ids.filter(pc.greater(pc.utf8_length(ids), 0))


# The check.


def check_holdout_file(original: Any, holdout: Any) -> None:
    """Raise where a holdout is the input itself: one object, or one file."""
    same = holdout is not None and original is holdout
    if all(isinstance(location, str | os.PathLike) for location in (original, holdout)):
        first, second = Path(original), Path(holdout)
        same = first == second or (first.exists() and second.exists() and first.samefile(second))
    if same:
        raise InputError(f"The holdout is the input itself. {NEXT_STEP}")


NEXT_STEP = (
    "A holdout has records of people who are not in the input. Name such a table, or set people aside: `chaffinch release` and `chaffinch risk` take "
    "--holdout-share 0.25 in place of --holdout."
)
"""How a holdout is had."""


def check_holdout(
    original: Rows, holdout: Any, *, set_aside: bool = False
) -> tuple[Rows, tuple[str, ...]]:
    """Raise unless a holdout may be of people who are not in the input; return it, and what else is
    to be said of it.

    Beside an input in memory it comes back on that one's grid, so that it is read and encoded once.

    Parameters
    ----------
    original
        The input, in memory or elsewhere.
    holdout
        A table, a path, a frame or a source; of any order of columns and any spelling that `align`
        understands.
    set_aside
        Whether its people were set aside here: ids alone are then compared, since rows of theirs
        that are in both are chance.

    Raises
    ------
    InputError
        If people of the input are in it by their ids, or more of its rows are equal to rows of the
        input than two samples of one population explain.
        At most one honest holdout in 1,000 is refused.
    """
    opened = original.open(holdout)
    first, second = align(original, opened, names=("holdout",))
    notes = check_aligned(first, second, original, opened, set_aside=set_aside)
    return second if original.in_memory else opened, notes


IDS_UNCOMPARED = "Holdout: ids of input and holdout were not compared on the cluster."
"""What is said where ids stay where they are."""


def check_aligned(
    first: Rows, second: Rows, original: Rows, holdout: Any, *, set_aside: bool = False
) -> tuple[str, ...]:
    """Do what `check_holdout` does with tables that are under one schema. `original`, `holdout`: as
    they were read, with their ids; these are not compared on a cluster.
    """
    columns = [c for c in original.schema if c.kind == "identifier" and c.role != "weight"]
    level = FALSE_REFUSALS / 2 if columns else FALSE_REFUSALS
    notes: tuple[str, ...] = ()
    if columns and not original.local:
        notes = (IDS_UNCOMPARED,)
    elif columns:
        level_of_one = level / len(columns)
        notes = _check_ids(columns, original.raw(), original.open(holdout), level_of_one)
    if set_aside:
        return notes
    if is_run_of(first, second):
        raise InputError(
            f"The holdout is a part of the input: its rows stand there one after another. {NEXT_STEP}"
        )
    classes = RowClasses.from_rows(first, second)
    if len(classes.sizes) >= ALIKE and (classes.in_input == classes.in_holdout).all():
        raise InputError(f"The holdout is the input itself, in another order. {NEXT_STEP}")
    if not chance_explains(classes, level):
        raise InputError(
            f"The holdout has records of the input: {_equal_rows(classes)} {NEXT_STEP}"
        )
    return (*notes, UNSEEN) if overlap_unseen(classes) else notes


UNSEEN = "Holdout: no more rows are equal to rows of the input than chance explains, but in so few or so similar rows 5 % of copied ones would not be detected. Make sure that its people are not in the input."
"""What is said where the test of equal rows has little power."""


ALIKE = 20
"""Classes of equal rows that a holdout and the input have the same number of each, where one is a
copy of the other: chance has no part in so many.
"""

RUNS = 20
"""Changes from one row to an unequal one in a holdout whose rows are looked for in the input in
their order: fewer may be alike in two sorted tables.
"""

ORDERED_ROWS = 2_000_000
"""Rows of a table up to which rows are looked for in their order."""


@dataclass(frozen=True)
class HashRows:
    """Hashes all rows, in their order."""

    columns = None
    values = True

    def summary(self, chunks: Iterator[Table]) -> pa.Table:
        """Return the hashes of chunks."""
        hashes = [hashes_without(chunk, _KEY, 0)[:, 0] for chunk in chunks]
        return pa.table({"hash": np.concatenate(hashes or [np.zeros(0, dtype=np.uint64)])})

    def result(self, summaries: Iterator[pa.Table]) -> NDArray[np.uint64]:
        """Return the hashes of all rows."""
        return np.concatenate([summary.column("hash").to_numpy() for summary in summaries])


def is_run_of(first: Rows, second: Rows) -> bool:
    """Return whether the rows of the second table are a contiguous run of rows of the first: a
    copy, or the first lines of a file.

    It sees such a part also where rows are so alike that counts say nothing. In samples it has no
    chance, whether rows are in a random order (at most n c^h for h rows, c the chance that two rows
    are equal) or sorted: all but the first and the last run of equal rows would have one length in
    both.
    """
    if not second.n_rows <= first.n_rows <= ORDERED_ROWS:
        return False
    rows, run = first.reduce(HashRows()), second.reduce(HashRows())
    if int((run[1:] != run[:-1]).sum()) < RUNS:
        return False
    row_bytes, run_bytes = rows.tobytes(), run.tobytes()
    offsets: list[int] = []
    offset = row_bytes.find(run_bytes)
    while offset >= 0 and len(offsets) < 2:
        offsets += [offset] if offset % 8 == 0 else []
        offset = row_bytes.find(run_bytes, offset + 1)
    return len(offsets) == 1  # more: rows that come round again, as in a made-up table


def _equal_rows(classes: RowClasses) -> str:
    share, chance, n = classes.shared
    if n < THRESHOLD:
        return f"more of its rows are equal to rows of the input than two samples of one population explain (p < {FALSE_REFUSALS:g})."
    return f"{share:.1%} of its rows are equal to a row of the input, where two samples of one population explain {chance:.1%} (p < {FALSE_REFUSALS:g})."


def _check_ids(
    columns: Sequence[Column], original: Rows, holdout: Rows, level: float
) -> tuple[str, ...]:
    shared_ids = []
    for column in columns:
        first, second = (
            rows.reduce(IdWords(column, name, rows.text)) if column.name in rows.columns else None
            for rows, name in ((original, "original"), (holdout, "holdout"))
        )
        if (
            first is not None
            and second is not None
            and len(first)
            and len(second)
            and (shared := _shared_ids(column, first, second, level))
        ):
            shared_ids.append(shared)
    if refused := [shared.column for shared in shared_ids if shared.refused]:
        what = "column" if len(refused) == 1 else "columns"
        raise InputError(
            f"The holdout has people of the input: values of the {what} {join_names(refused)} occur in both. Remove these people from the holdout, or give "
            f"other people other ids. {NEXT_STEP}"
        )
    return tuple(shared.note for shared in shared_ids)


# People who are set aside.


def check_holdout_share(share: float | None, holdout: Any = None) -> None:
    """Raise unless a share of people may be set aside."""
    if share is None:
        return
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 0.5:
        raise InputError(f"holdout_share must be above 0 and at most 0.5. Got {share}.")
    if holdout is not None:
        raise InputError("Give a holdout, or a holdout_share of the input to set aside: not both.")


def set_aside(
    data: Rows | Source, share: float, *, seed: Seed = None, person: str | None = None
) -> tuple[Any, Any]:
    """Split rows or a source into the rest and a holdout of about a share of the people.

    Each person is chosen by a keyed hash of the id in the column `person`; without one each row by
    its place. The same seed chooses the same people of the same file, whatever the engine; no seed
    is seed 0. Of a source both parts are read anew, so that nothing that is inferred of the first
    (levels, bins) is of people who were set aside; rows keep the schema that they have.

    Examples
    --------
    >>> from chaffinch.table.sources import open_source
    >>> rest, aside = set_aside(open_source(pa.table({"who": [1, 1, 2, 2, 3, 3] * 50, "x": range(300)})), 0.34, seed=3, person="who")
    >>> sorted(set(rest.table()["who"].to_pylist())), sorted(set(aside.table()["who"].to_pylist()))
    ([1, 3], [2])
    """
    root = seed_sequence(0 if seed is None else seed)
    stream = np.random.SeedSequence(root.entropy, spawn_key=(*root.spawn_key, _ASIDE))
    key = int.from_bytes(stream.generate_state(2, np.uint64).tobytes(), "little")
    if isinstance(data, Source):
        check_name("column", person, data.schema.names, optional=True)
        rest, aside = (SetAside(share, key, person, aside) for aside in (False, True))
        return _filter_source(data, rest), _filter_source(data, aside)
    person = data.schema.only("person") if person is None else person
    rest, aside = (SetAside(share, key, person, aside) for aside in (False, True))
    parts = _remaining(data, rest, data.schema), _remaining(data.raw(), aside, data.raw().schema)
    if not all(rows.n_rows for rows in parts):
        raise InputError(
            f"A share of {share:g} of these people leaves one part without rows. Give more rows, or a share nearer to 0.5."
        )
    return parts


@dataclass(frozen=True)
class SetAside(Step):
    """Leaves the rows of a chunk that are set aside, or the others."""

    share: float
    key: int
    person: str | None
    aside: bool

    values = True
    filters = True

    def needs(self, columns: Names) -> Names:
        """Return the columns, and the person column."""
        known = columns is None or self.person is None or self.person in columns
        return columns if known else [*columns, self.person]  # type: ignore[list-item,misc]

    def rows(self, data: pa.RecordBatch | pa.Table, first_row: int) -> NDArray[np.int64]:
        """Return the places of the rows that are left."""
        hashes = (
            hashes_of_places(first_row, data.num_rows, self.key)
            if self.person is None
            else hashes_of_persons(data.column(self.person), first_row, self.key)
        )
        return np.flatnonzero((hashes < below_share(self.share)) == self.aside)

    def __call__(self, chunk: Table) -> Table:
        return chunk.take(self.rows(chunk.data, chunk.first_row))


@dataclass(frozen=True)
class NumberOfRows:
    """Counts rows."""

    columns: tuple[str, ...]

    values = False

    def summary(self, chunks: Iterator[Table]) -> pa.Table:
        """Return the rows of chunks."""
        return pa.table({"n": [sum(chunk.codes.n_rows for chunk in chunks)]})

    def result(self, summaries: Iterator[pa.Table]) -> int:
        """Return the number of all rows."""
        return sum(summary.column("n")[0].as_py() for summary in summaries)


def _remaining(rows: Rows, step: SetAside, schema: Schema) -> Rows:
    """Return the rows that a step leaves, counted."""
    n_rows = rows.map(step, schema, n_rows=UNKNOWN).reduce(NumberOfRows(rows.columns[:1]))
    return rows.map(step, schema, n_rows=n_rows, notes=rows.notes)


def _filter_source(source: Source, step: SetAside) -> Source:
    """Return a source with the rows that a step leaves."""

    def read(columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        wanted = step.needs(columns)
        first_row = 0
        for batch in source.read(None if wanted is None else list(wanted)):
            rows = batch.take(pa.array(step.rows(batch, first_row)))
            first_row += batch.num_rows
            yield rows if columns is None or wanted is columns else rows.select(list(columns))

    return replace(source, read=read, head=None, n_rows=None)


def check_set_aside(synthetic: Rows, aside: Rows, name: str) -> None:
    """Raise where a synthetic table has more rows of the people who were set aside than a sample of
    any population without them explains.

    A sample of another population than theirs has fewer rows in common with them than one of theirs
    (the inequality of Cauchy and Schwarz), so that a table made of other people is refused no more
    often than an honest holdout.
    """
    if not chance_explains(RowClasses.from_rows(synthetic, aside)):
        raise InputError(
            f"The {name} table has records of the people who were set aside: it was made from all of the input, and they are no holdout for it. Make it "
            "from the others (`chaffinch release` with the same --holdout-share and --seed), or name a holdout that it was not made from."
        )


def set_aside_note(share: float) -> str:
    """Return the note on people who were set aside."""
    return f"Holdout: {share:.0%} of the people of the input, set aside by the seed."
