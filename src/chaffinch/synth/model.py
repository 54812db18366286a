"""What every model shares: rows drawn in batches, a file, and how it shows itself. A kind of model adds what it draws and writes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .._base.errors import InputError
from .._base.results import html_table
from .._base.runtime import Progress, silent, thread_count, thread_map
from .._base.seeds import Seed, seed_sequence
from .._base.svg import Drawing
from ..privacy.ledger import Account
from ..table.rows import join_tables
from ..table.rules.constraints import AllowedCodes, allowed_codes
from ..table.rules.keep import relation_groups
from ..table.schema import FunctionMap, Schema
from ..table.table import Origin, Table
from .error_bars import ErrorBars, error_bars
from .protocol import ModelColumn, ModelDescription
from .rules import (
    ColumnCodes,
    Projection,
    check_given,
    functions_of,
    keep_constraints,
    keep_relations,
    projection_of,
)

BATCH_ROWS, BATCH_CELLS, LEAST_ROWS = 1 << 16, 1 << 22, 1 << 10
"""Rows drawn at a time; the cells of these, which tables of more than 64 columns reach with fewer; and the rows below which these do not matter."""

WIDE = 100
"""Columns from which on a batch takes so much memory that fewer are held."""

MADE_UP = 1 << 31
"""The number of the stream that orders made-up values: no batch has it."""

MOST_PROJECTED = 2
"""The most relations that are weighted together under a promise; weights multiply, and so do the rows that are drawn for one that stays."""


def batch_rows(n_columns: int) -> int:
    """Return the rows that are drawn at a time. Each batch has its own random stream, so the number of threads changes nothing.

    Examples
    --------
    >>> batch_rows(15), batch_rows(64), batch_rows(1000)
    (65536, 65536, 4096)
    """
    rows = BATCH_ROWS
    while rows > LEAST_ROWS and rows * n_columns > BATCH_CELLS:
        rows //= 2
    return rows


@dataclass(frozen=True)
class Given:
    """Columns whose values are given; `stamp(table, rows)` puts those of rows, by their numbers, in."""

    columns: tuple[str, ...] = ()
    stamp: Callable[[Table, NDArray[np.int64]], Table] = lambda table, _: table


class FittedModel:
    """A model that draws rows on the codes of its schema. Frozen dataclasses inherit it.

    A kind of model has a `schema` and an `origin` (what came in, or None), and implements `n_rows`, `draw_codes`, `state` and
    `from_state`; and, where it has more to tell, `privacy`, `conditioned`, `describe`, `plot` and `to_dict`.
    """

    kind: ClassVar[str]
    """What its files say they hold."""
    separable: ClassVar[bool] = True
    """Whether any batch of rows can be drawn without those before it."""
    schema: Schema
    origin: Origin | None

    @property
    def method(self) -> str:
        """The name of the synthesiser that made it."""
        return self.kind

    @property
    def n_rows(self) -> int:
        """The number of records it learnt from: what may be known of it, where the fit was private."""
        raise NotImplementedError

    def draw_codes(self, n_rows: int, rng: np.random.Generator) -> ColumnCodes:
        """Return codes of new rows for every modelled column."""
        raise NotImplementedError

    @property
    def batch_rows(self) -> int:
        """The rows that are drawn at a time."""
        return batch_rows(len(self.schema.names))

    @property
    def drawing_order(self) -> tuple[str, ...]:
        """The modelled columns in the order in which they are drawn, if `draw_codes` takes codes of the first ones as a third argument."""
        return ()

    @cached_property
    def allowed(self) -> tuple[AllowedCodes, ...]:
        """The combinations of codes that the constraints of the schema allow: no other is drawn."""
        return allowed_codes(self.schema)

    @cached_property
    def projection(self) -> Projection | None:
        """What brings the model onto the constraints of the schema; None where it hardly breaks them."""
        groups = (
            *self.allowed,
            *(
                self.related
                if self.privacy is not None and len(self.related) <= MOST_PROJECTED
                else ()
            ),
        )
        return projection_of(groups, self.draw_codes) if groups else None

    @cached_property
    def functions(self) -> tuple[FunctionMap, ...]:
        """What columns that determine others map to: as fitted, else, as under a promise, what the model itself puts most of its rows on."""
        return functions_of(self.schema, self.draw_codes)

    @cached_property
    def related(self) -> tuple[AllowedCodes, ...]:
        """The combinations of codes that leave the relations of the schema possible."""
        return relation_groups(self.schema, self.functions)

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what a file needs beside the schema: plain data, and arrays by name."""
        raise NotImplementedError

    @classmethod
    def from_state(
        cls, schema: Schema, data: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> Self:
        """Return the model that `state` wrote; raise for anything that does not fit together: files come from strangers."""
        raise NotImplementedError

    @property
    def privacy(self) -> Account | None:
        """What a private fit spent; None without a promise."""
        return None

    @property
    def confidential(self) -> bool:
        """Whether the model is as confidential as the data: unless a private fit with real noise made it."""
        return self.privacy is None or self.privacy.test_only

    def conditioned(self, given: Mapping[str, Any]) -> Any:
        """Return what draws codes of rows that have given values, and stamps given numbers on their table: see `Evidence`."""
        raise InputError(f"A model of kind '{self.kind}' cannot be given values. Leave given out.")

    def sample(
        self,
        n_rows: int | None = None,
        *,
        seed: Seed = None,
        given: Mapping[str, Any] | None = None,
        like: Table | None = None,
        threads: int | None = None,
    ) -> Table:
        """Return a table of new rows with the schema of the data, by default as many as the model learnt from.

        `to_native()` of it is the kind of object that was fitted to. `given` fixes values of any columns: rows are drawn from
        the distribution given them, exactly. `like` is a table whose kind of object and Arrow types to follow instead.
        """
        return join_tables(
            list(self.batches(n_rows, seed=seed, given=given, like=like, threads=threads))
        )

    def batches(
        self,
        n_rows: int | None = None,
        *,
        seed: Seed = None,
        given: Mapping[str, Any] | None = None,
        like: Table | None = None,
        threads: int | None = None,
        progress: Progress = silent,
        numbers: Sequence[int] | None = None,
    ) -> Iterator[Table]:
        """Return the same rows as `sample`, as tables of at most 65,536 rows, fewer where columns are many: any number of rows in bounded memory.

        `numbers` asks for some of these tables alone, counted from 0: so machines share the work, and rows do not depend on how.
        """
        rows = self.n_rows if n_rows is None else whole_rows(n_rows)
        evidence = self.conditioned(given) if given else None
        if evidence is not None:
            check_given((*self.allowed, *self.related), evidence.codes)

        def draw(rows: NDArray[np.int64], rng: np.random.Generator) -> ColumnCodes:
            n = len(rows)
            codes = self.draw_codes(n, rng) if evidence is None else evidence.draw(n, rng)
            return keep_constraints(self, codes, rng, evidence=evidence)

        given_values = (
            Given()
            if evidence is None
            else Given(tuple(evidence.codes), lambda table, _: evidence.stamped(table))
        )
        yield from self.drawn(
            rows,
            draw,
            seed=seed,
            like=like,
            threads=threads,
            progress=progress,
            given=given_values,
            numbers=numbers,
        )

    def drawn(
        self,
        n_rows: int,
        draw: Callable[[NDArray[np.int64], np.random.Generator], ColumnCodes],
        *,
        seed: Seed,
        like: Table | None,
        threads: int | None,
        progress: Progress = silent,
        given: Given | None = None,
        numbers: Sequence[int] | None = None,
    ) -> Iterator[Table]:
        """Return tables of the codes that `draw(rows, rng)` gives for rows by their numbers, batch by batch over threads. Their rows keep the rules of the schema."""
        given = given or Given()
        size = self.batch_rows
        starts = (
            list(range(0, n_rows, size)) or [0]
            if numbers is None
            else [number * size for number in numbers]
        )
        root = seed_sequence(seed)
        workers = thread_count(threads)
        look = self.origin if like is None else like
        key = made_up_key(root)

        def draw_batch(first_row: int) -> Table:
            # Streams are distinguished by the number of their batch, as SeedSequence.spawn would.
            stream = np.random.SeedSequence(
                root.entropy, spawn_key=(*root.spawn_key, first_row // size)
            )
            rng = np.random.default_rng(stream)

            def rows(places: NDArray[np.int64]) -> Table:
                codes = draw(first_row + places, rng)
                arrays = [codes[name] for name in self.schema.names]
                return given.stamp(
                    Table.from_codes(
                        self.schema, arrays, seed=rng, first_row=first_row, like=look, key=key
                    ),
                    first_row + places,
                )

            table = rows(np.arange(min(size, n_rows - first_row)))
            ruled = keep_relations(table, self.functions, rng, rows, fixed=given.columns)
            return (
                ruled if ruled is table else ruled.with_new_identifiers(first_row, key, rng)
            )  # rows that were drawn again have those of others

        # Batches that are in memory at a time: of a wide table as many as are worked on, and no more.
        ahead = 2 * workers if len(self.schema.names) <= WIDE else workers
        for first in range(0, len(starts), ahead):
            yield from thread_map(draw_batch, starts[first : first + ahead], threads=workers)
            progress("drawing rows", min(1.0, (first + ahead) / len(starts)))

    def error_bars(self, columns: Sequence[str], *, level: float = 0.9) -> ErrorBars:
        """Return what noise and model may have done to the counts of some columns of a private model, from released numbers alone."""
        return error_bars(self, columns, level=level)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the model to one file: JSON and safetensors, readable by its owner only.

        A file that is there is refused unless `overwrite`; always where either model was paid for with a privacy budget.
        """
        from .model_file import save_model

        save_model(self, path, overwrite=overwrite)

    def describe(self) -> ModelDescription:
        """Return what the model holds, for people."""
        columns = tuple(ModelColumn(name) for name in self.schema.names)
        promise = None if self.privacy is None else self.privacy.short
        return ModelDescription(
            self.method, f"{len(columns)} columns, method {self.method}", "", columns, promise
        )

    def plot(self) -> Drawing | None:
        """Return a drawing of the model; None where there is nothing to draw."""
        return None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for reports: at least the `method` and the `nodes`."""
        account = {} if self.privacy is None else {"privacy": self.privacy.to_dict()}
        return {"method": self.method, "nodes": list(self.schema.names), **account}

    def __repr__(self) -> str:
        promise = f"; {self.privacy.short}" if self.privacy is not None else ""
        return f"{type(self).__qualname__}({len(self.schema.names)} columns{promise})"

    def _repr_html_(self) -> str:
        description = self.describe()
        promise = "" if self.privacy is None else self.privacy.sentence
        rows = [(column.name, column.detail, column.role) for column in description.columns]
        return html_table(["column", description.heading, ""], rows, caption=promise)


def made_up_key(root: np.random.SeedSequence) -> int:
    """Return the number that orders made-up values of all rows that are drawn from a seed."""
    return int(
        np.random.SeedSequence(root.entropy, spawn_key=(*root.spawn_key, MADE_UP)).generate_state(
            1, np.uint64
        )[0]
    )


def whole_rows(n_rows: object) -> int:
    """Return a number of rows; raise for anything else, without showing what it holds."""
    if isinstance(n_rows, bool) or not isinstance(n_rows, int | np.integer) or n_rows < 0:
        word = (
            n_rows if isinstance(n_rows, int | float | np.number) else f"a {type(n_rows).__name__}"
        )
        raise InputError(f"rows must be a whole number of at least 0. Got {word}.")
    return int(n_rows)
