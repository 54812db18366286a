"""What was learnt: a network and its tables. Frozen, printable, saved as an open file, sampled in batches."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import InputError, unknown_name
from ..._base.html import html_table
from ..._base.progress import Progress, silent
from ..._base.seeds import Seed, seed_sequence
from ..._base.threads import thread_count, thread_map
from ...privacy.account import Account
from ...table.schema import Schema
from ...table.table import Table
from .evidence import Evidence
from .network import Network
from .protection import Protection
from .sampling import Sampler
from .tables import ConditionalTable

__all__ = ["BATCH_ROWS", "BayesNetModel", "Fitted"]

BATCH_ROWS = 1 << 16
"""Rows drawn at a time. Each batch has its own random stream, so the number of threads changes nothing."""


@dataclass(frozen=True)
class Fitted:
    """How a model was learnt: search, score and its value, what is protected, how many records there were.

    `privacy` is the account of what a private fit spent; without one there is no promise. `n_rows` is then the public number of
    rows: declared, or measured with noise.
    """

    method: str
    search: str
    score: str
    fitness: float
    strengths: tuple[float, ...]
    label: str | None
    sensitive: tuple[str, ...]
    kept: tuple[str, ...]
    protection: Protection | None
    n_rows: int
    parents: int
    privacy: Account | None = None


@dataclass(frozen=True, eq=False)
class BayesNetModel:
    """A fitted network. Holds tables of counts: as confidential as the data, unless a private fit made them.

    `tables` follow `network.order`.
    """

    schema: Schema
    network: Network
    tables: tuple[ConditionalTable, ...]
    fitted: Fitted

    def __post_init__(self) -> None:
        if sorted(self.network.order) != sorted(self.schema.names):
            raise InputError("The network and the schema of a model must have the same columns.")
        sizes = dict(zip(self.schema.names, self.schema.sizes, strict=True))
        for name, parents, table in zip(self.network.order, self.network.parents, self.tables, strict=True):
            fits = table.child == name and table.parents == parents and table.size == sizes[name]
            if not fits or table.levels[-1].sizes != tuple(sizes[p] for p in parents):
                raise InputError(f"The table of column '{name}' does not belong to the network.")

    def sample(
        self,
        n_rows: int,
        *,
        seed: Seed = None,
        given: Mapping[str, Any] | None = None,
        like: Table | None = None,
        threads: int | None = None,
    ) -> Table:
        """Return a table of new rows, with the schema of the data.

        `given` fixes values of any columns: rows are drawn from the distribution given them, exactly. `like` is a table
        whose kind of object and Arrow types to follow.
        """
        parts = list(self.batches(n_rows, seed=seed, given=given, like=like, threads=threads))
        return parts[0] if len(parts) == 1 else _joined(parts)

    def batches(
        self,
        n_rows: int,
        *,
        seed: Seed = None,
        given: Mapping[str, Any] | None = None,
        like: Table | None = None,
        threads: int | None = None,
        progress: Progress = silent,
    ) -> Iterator[Table]:
        """Return the same rows as `sample`, as tables of at most 65,536 rows: any number of rows in bounded memory."""
        if isinstance(n_rows, bool) or not isinstance(n_rows, int | np.integer) or n_rows < 0:
            raise InputError(f"rows must be a whole number of at least 0. Got {n_rows}.")
        evidence = Evidence.of(self, given) if given else None
        yield from self._drawn(int(n_rows), {}, seed, like, threads, progress, evidence)

    def complete(self, table: Table, *, keep: Sequence[str], seed: Seed = None, threads: int | None = None) -> Table:
        """Return a table with the kept columns as they are and all others drawn given them.

        The model must have been fitted with the same `keep`, so that no drawn column is a parent of a kept one: then drawing
        in order is exact.
        """
        for name in keep:
            if name not in self.schema.names:
                raise unknown_name("column", name, self.schema.names)
        for name in keep:
            for parent in self.network[name]:
                if parent not in keep:
                    raise InputError(
                        f"Column '{name}' cannot be kept: its parent '{parent}' is not. Fit with keep = {tuple(keep)}."
                    )
        self._check_codes(table, keep)
        fixed = {name: table.code(name).astype(np.uint32) for name in keep}
        parts = list(self._drawn(table.n_rows, fixed, seed, table, threads, silent, None))
        out = parts[0] if len(parts) == 1 else _joined(parts)
        data = out.data
        for name in keep:
            at = data.column_names.index(name)
            data = data.set_column(at, table.data.schema.field(name), table.data.column(name))
        return Table(out.schema, data, out.codes, out.notes, out.origin)

    def log_likelihood(self, table: Table) -> NDArray[np.float64]:
        """Return the log-probability of each row of a table with the same schema, in nats (minus infinity: impossible)."""
        self._check_codes(table, self.schema.names)
        total = np.zeros(table.n_rows)
        with np.errstate(divide="ignore"):
            for name, conditional in zip(self.network.order, self.tables, strict=True):
                parents = [table.code(parent) for parent in conditional.parents]
                total += np.log(conditional.probabilities(table.code(name), parents))
        return total

    def _check_codes(self, table: Table, names: Sequence[str]) -> None:
        for name in names:
            ours, theirs = self.schema[name].codec, table.schema[name].codec
            if ours is not theirs and (ours is None or theirs is None or ours.to_dict() != theirs.to_dict()):
                raise InputError(
                    f"Column '{name}' has other codes in this table than in the model. Read it with the model's schema: "
                    "chaffinch.read(data, schema=model.schema)."
                )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file: JSON and safetensors, readable by its owner only."""
        from ..model_file import save_model

        save_model(self, path)

    def to_dict(self) -> dict[str, Any]:
        """Return the network as plain data: nodes, edges with strengths, order, label, sensitive, fitness."""
        fitted = self.fitted
        return {
            "method": fitted.method,
            "nodes": list(self.schema.names),
            "edges": [list(edge) for edge in self.network.edges],
            "strengths": list(fitted.strengths),
            "order": list(self.network.order),
            "label": fitted.label,
            "sensitive": list(fitted.sensitive),
            "kept": list(fitted.kept),
            "parents": fitted.parents,
            "search": fitted.search,
            "score": fitted.score,
            "fitness": fitted.fitness,
            "protection": None if fitted.protection is None else fitted.protection.to_dict(),
            **({} if fitted.privacy is None else {"privacy": fitted.privacy.to_dict()}),
        }

    def __repr__(self) -> str:
        shown = ", ".join(f"{child} <- {', '.join(ps)}" if ps else child for child, ps in self._families[:4])
        more = ", ..." * (len(self._families) > 4)
        promise = f"; {self.fitted.privacy.short}" if self.fitted.privacy is not None else ""
        return (
            f"BayesNetModel({len(self.network.order)} columns, {len(self.network.edges)} edges: {shown}{more}{promise})"
        )

    @property
    def confidential(self) -> bool:
        """Whether the model is as confidential as the data: unless a private fit with real noise made it."""
        return self.fitted.privacy is None or self.fitted.privacy.test_only

    def _repr_html_(self) -> str:
        strength = dict(zip(self.network.edges, self.fitted.strengths, strict=True))
        rows = [
            (child, ", ".join(f"{p} ({strength[p, child]:.3f})" for p in parents), _role(self.fitted, child))
            for child, parents in self._families
        ]
        promise = None if self.fitted.privacy is None else self.fitted.privacy.sentence
        return html_table(["column", "parents (mutual information, nats)", ""], rows, caption=promise or "")

    @property
    def _families(self) -> list[tuple[str, tuple[str, ...]]]:
        return list(zip(self.network.order, self.network.parents, strict=True))

    @cached_property
    def _samplers(self) -> tuple[Sampler, ...]:
        return tuple(Sampler(table) for table in self.tables)

    def draw_codes(
        self, n_rows: int, rng: np.random.Generator, fixed: Mapping[str, NDArray[np.uint32]]
    ) -> dict[str, NDArray[np.uint32]]:
        """Return codes of new rows, column by column in the order of the network; fixed columns are taken as given."""
        codes: dict[str, NDArray[np.uint32]] = dict(fixed)
        for name, sampler in zip(self.network.order, self._samplers, strict=True):
            if name not in codes:
                codes[name] = sampler.draw([codes[p] for p in sampler.table.parents], rng.random(n_rows))
        return codes

    def _drawn(
        self,
        n_rows: int,
        fixed: Mapping[str, NDArray[np.uint32]],
        seed: Seed,
        like: Table | None,
        threads: int | None,
        progress: Progress,
        evidence: Evidence | None,
    ) -> Iterator[Table]:
        starts = list(range(0, n_rows, BATCH_ROWS)) or [0]
        root = seed_sequence(seed)
        workers = thread_count(threads)

        def one(at: int) -> Table:
            stop = min(at + BATCH_ROWS, n_rows)
            # Streams are told apart by the number of their batch, as SeedSequence.spawn would.
            stream = np.random.SeedSequence(root.entropy, spawn_key=(*root.spawn_key, at // BATCH_ROWS))
            rng = np.random.default_rng(stream)
            known = {name: codes[at:stop] for name, codes in fixed.items()}
            codes = self.draw_codes(stop - at, rng, known) if evidence is None else evidence.draw(stop - at, rng)
            arrays = [codes[name] for name in self.schema.names]
            table = Table.from_codes(self.schema, arrays, seed=rng, first_row=at, like=like)
            return table if evidence is None else evidence.stamped(table)

        for first in range(0, len(starts), 2 * workers):
            yield from thread_map(one, starts[first : first + 2 * workers], threads=workers)
            progress("drawing rows", min(1.0, (first + 2 * workers) / len(starts)))


def _role(fitted: Fitted, name: str) -> str:
    return "label" if name == fitted.label else "sensitive" if name in fitted.sensitive else ""


def _joined(parts: list[Table]) -> Table:
    """Return one table of several with the same schema."""
    import pyarrow as pa

    from ...table.codes import Codes

    first = parts[0]
    data = pa.concat_tables([part.data for part in parts])
    codes = [np.concatenate([part.codes[j] for part in parts]) for j in range(len(first.codes))]
    return Table(first.schema, data, Codes.of(codes, first.codes.sizes), first.notes, first.origin)
