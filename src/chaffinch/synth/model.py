"""What every model shares: rows drawn in batches, a file, and how it shows itself. A kind of model adds what it draws and writes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .._base.drawing import Drawing
from .._base.errors import InputError
from .._base.html import html_table
from .._base.progress import Progress, silent
from .._base.seeds import Seed, seed_sequence
from .._base.threads import thread_count, thread_map
from ..privacy.account import Account
from ..table.codes import Codes
from ..table.constraints import AllowedCodes, allowed_codes
from ..table.schema import Schema
from ..table.table import Origin, Table
from .constraining import check_given, keep_constraints
from .projecting import Projection, projection_of
from .protocol import ModelColumn, ModelDescription

if TYPE_CHECKING:
    from .error_bars import ErrorBars

__all__ = ["BATCH_ROWS", "Draw", "FittedModel", "joined", "whole_rows"]

BATCH_ROWS = 1 << 16
"""Rows drawn at a time. Each batch has its own random stream, so the number of threads changes nothing."""

ColumnCodes = Mapping[str, NDArray[np.uint32]]

Draw = Literal["systematic", "independent"]
"""How rows of a batch are drawn: so that counts are as near to what is expected as they can be, or one by one."""


class FittedModel:
    """A model that draws rows on the codes of its schema. Frozen dataclasses inherit it.

    A kind of model has a `schema` and an `origin` (what came in, or None), and implements `n_rows`, `draw_codes`, `state` and
    `from_state`; and, where it has more to tell, `privacy`, `conditioned`, `describe`, `plot` and `to_dict`.
    """

    kind: ClassVar[str]
    """What its files say they hold."""
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
        return projection_of(self.allowed, self.draw_codes) if self.allowed else None

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what a file needs beside the schema: plain data, and arrays by name."""
        raise NotImplementedError

    @classmethod
    def from_state(cls, schema: Schema, data: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
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
        return joined(list(self.batches(n_rows, seed=seed, given=given, like=like, threads=threads)))

    def batches(
        self,
        n_rows: int | None = None,
        *,
        seed: Seed = None,
        given: Mapping[str, Any] | None = None,
        like: Table | None = None,
        threads: int | None = None,
        progress: Progress = silent,
    ) -> Iterator[Table]:
        """Return the same rows as `sample`, as tables of at most 65,536 rows: any number of rows in bounded memory."""
        rows = self.n_rows if n_rows is None else whole_rows(n_rows)
        evidence = self.conditioned(given) if given else None
        if evidence is not None and self.allowed:
            check_given(self.allowed, evidence.codes)

        def draw(_first: int, n: int, rng: np.random.Generator) -> ColumnCodes:
            codes = self.draw_codes(n, rng) if evidence is None else evidence.draw(n, rng)
            return keep_constraints(self, codes, rng, evidence=evidence)

        for table in self.drawn(rows, draw, seed=seed, like=like, threads=threads, progress=progress):
            yield table if evidence is None else evidence.stamped(table)

    def drawn(
        self,
        n_rows: int,
        draw: Callable[[int, int, np.random.Generator], ColumnCodes],
        *,
        seed: Seed,
        like: Table | None,
        threads: int | None,
        progress: Progress = silent,
    ) -> Iterator[Table]:
        """Return tables of the codes that `draw(first_row, n_rows, rng)` gives, batch by batch over threads."""
        starts = list(range(0, n_rows, BATCH_ROWS)) or [0]
        root = seed_sequence(seed)
        workers = thread_count(threads)
        look = self.origin if like is None else like

        def one(at: int) -> Table:
            # Streams are told apart by the number of their batch, as SeedSequence.spawn would.
            stream = np.random.SeedSequence(root.entropy, spawn_key=(*root.spawn_key, at // BATCH_ROWS))
            rng = np.random.default_rng(stream)
            codes = draw(at, min(BATCH_ROWS, n_rows - at), rng)
            arrays = [codes[name] for name in self.schema.names]
            return Table.from_codes(self.schema, arrays, seed=rng, first_row=at, like=look)

        for first in range(0, len(starts), 2 * workers):
            yield from thread_map(one, starts[first : first + 2 * workers], threads=workers)
            progress("drawing rows", min(1.0, (first + 2 * workers) / len(starts)))

    def error_bars(self, columns: Sequence[str], *, level: float = 0.9) -> ErrorBars:
        """Return what noise and model may have done to the counts of some columns of a private model, from released numbers alone."""
        from .error_bars import error_bars

        return error_bars(self, columns, level=level)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file: JSON and safetensors, readable by its owner only."""
        from .model_file import save_model

        save_model(self, path)

    def describe(self) -> ModelDescription:
        """Return what the model holds, for people."""
        columns = tuple(ModelColumn(name) for name in self.schema.names)
        promise = None if self.privacy is None else self.privacy.short
        return ModelDescription(self.method, f"{len(columns)} columns, method {self.method}", "", columns, promise)

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


def whole_rows(n_rows: object) -> int:
    """Return a number of rows; raise for anything else, without showing what it holds."""
    if isinstance(n_rows, bool) or not isinstance(n_rows, int | np.integer) or n_rows < 0:
        word = n_rows if isinstance(n_rows, int | float | np.number) else f"a {type(n_rows).__name__}"
        raise InputError(f"rows must be a whole number of at least 0. Got {word}.")
    return int(n_rows)


def joined(parts: list[Table]) -> Table:
    """Return one table of several with the same schema."""
    first = parts[0]
    if len(parts) == 1:
        return first
    data = pa.concat_tables([part.data for part in parts])
    codes = [np.concatenate([part.codes[j] for part in parts]) for j in range(len(first.codes))]
    persons = [part.person_of for part in parts if part.person_of is not None]
    whose = np.concatenate(persons) if len(persons) == len(parts) else None
    return Table(first.schema, data, Codes.of(codes, first.codes.sizes), first.notes, first.origin, person_of=whose)
