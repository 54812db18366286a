"""What was learnt: a network and its tables. Frozen, printable, saved as an open file, sampled in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import InputError, unknown_name
from ..._base.runtime import Progress, silent
from ..._base.seeds import Seed, seed_sequence
from ..._base.svg import Drawing
from ...privacy.account import Account
from ...table.long import joined
from ...table.read import open_table
from ...table.refit import on_codes_of
from ...table.schema import Schema
from ...table.table import Origin, Table
from ..constraining import keep_constraints
from ..model import Draw, FittedModel, Given
from ..protocol import ModelColumn, ModelDescription
from .drawing import network_drawing
from .evidence import Evidence
from .network import Network
from .protection import Protection
from .sampling import Sampler
from .systematic import TIES
from .tables import ConditionalTable
from .trees.table import TreeSampler, TreeTable

MOST_KEPT = 1 << 23
"""Weights of all trees together up to which their running sums, 8 bytes each, are kept from batch to batch: of many columns they are worked out anew."""


@dataclass(frozen=True)
class FitSummary:
    """How a model was learnt: search, score and its value, what is protected, how many records there were.

    `privacy` is the account of what a private fit spent; without one there is no promise. `n_rows` is then the public number of
    rows: declared, or measured with noise. `strengths` follow the edges of the network, in nats. `draw` is how rows are drawn.
    `note` is a sentence where links did not pay under a promise, from released numbers; empty where they did.
    """

    method: str
    search: str
    score: str
    fitness: float = 0.0
    strengths: tuple[float, ...] = ()
    label: str | None = None
    sensitive: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    protection: Protection | None = None
    n_rows: int = 0
    parents: int = 0
    privacy: Account | None = None
    draw: Draw = "independent"
    note: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class BayesNetModel(FittedModel):
    """A fitted network. Holds tables of counts: as confidential as the data, unless a private fit made them.

    `tables` follow `network.order`.
    """

    kind: ClassVar[str] = "bayesnet"
    schema: Schema
    network: Network
    tables: tuple[ConditionalTable | TreeTable, ...]
    fitted: FitSummary
    origin: Origin | None = None

    def __post_init__(self) -> None:
        if sorted(self.network.order) != sorted(self.schema.names):
            raise InputError("The network and the schema of a model must have the same columns.")
        sizes = dict(zip(self.schema.names, self.schema.sizes, strict=True))
        for name, parents, table in zip(
            self.network.order, self.network.parents, self.tables, strict=True
        ):
            fits = table.child == name and table.parents == parents and table.size == sizes[name]
            if not fits or table.sizes != tuple(sizes[p] for p in parents):
                raise InputError(f"The table of column '{name}' does not belong to the network.")

    @property
    def method(self) -> str:
        """The name of the method that made it, with its variant."""
        return self.fitted.method

    @property
    def n_rows(self) -> int:
        """The number of records it learnt from: the public one, where the fit was private."""
        return self.fitted.n_rows

    @property
    def conditionals(self) -> str:
        """Whether its columns have "trees" or "tables"."""
        return "trees" if any(isinstance(table, TreeTable) for table in self.tables) else "tables"

    @property
    def drawing_order(self) -> tuple[str, ...]:
        """The columns in the order of the network."""
        return self.network.order

    @property
    def privacy(self) -> Account | None:
        """What a private fit spent; None without a promise."""
        return self.fitted.privacy

    def role(self, name: str) -> str:
        """Return "label", "sensitive" or nothing."""
        return (
            "label"
            if name == self.fitted.label
            else "sensitive"
            if name in self.fitted.sensitive
            else ""
        )

    def complete(
        self, data: Any, *, keep: Sequence[str], seed: Seed = None, threads: int | None = None
    ) -> Table:
        """Return a table with the kept columns as they are and all others drawn given them.

        The model must have been fitted with the same `keep`, so that no drawn column is a parent of a kept one: then drawing
        in order is exact.
        """
        table = self._coded(data, keep)
        return joined(
            list(
                self.complete_batches(
                    [table], table.n_rows, keep=keep, seed=seed, like=table, threads=threads
                )
            )
        )

    def complete_batches(
        self,
        parts: Iterable[Table],
        n_rows: int,
        *,
        keep: Sequence[str],
        seed: Seed = None,
        like: Table | None = None,
        threads: int | None = None,
        progress: Progress = silent,
    ) -> Iterator[Table]:
        """Return the same rows as `complete`, as tables of at most `batch_rows`, of a table that comes in parts.

        `parts` have a multiple of `batch_rows` each, but for the last, and `n_rows` rows between them. `like` as in `batches`.
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
        root, first, size = seed_sequence(seed), 0, self.batch_rows
        for part in parts:
            if first % size:
                raise InputError(
                    f"Parts of a table that is completed must have a multiple of {size:,} rows each, but for the last."
                )
            numbers = range(
                first // size, max(-(-(first + part.n_rows) // size), first // size + (n_rows == 0))
            )
            draw, given = self._completing(self._coded(part, keep), first, keep)
            yield from self.drawn(
                n_rows, draw, seed=root, like=like, threads=threads, given=given, numbers=numbers
            )
            first += part.n_rows
            progress("drawing rows", first / max(n_rows, 1))
        if first != n_rows:
            raise InputError(
                f"The parts of a table that is completed have other rows than it has: {n_rows:,} were to come."
            )

    def _completing(
        self, table: Table, first: int, keep: Sequence[str]
    ) -> tuple[
        Callable[[NDArray[np.int64], np.random.Generator], Mapping[str, NDArray[np.uint32]]], Given
    ]:
        """Return what draws rows given the kept columns of a table, whose rows are numbered from `first` on, and what stamps those on them."""
        fixed = {name: table.code(name).astype(np.uint32) for name in keep}

        def draw(
            rows: NDArray[np.int64], rng: np.random.Generator
        ) -> Mapping[str, NDArray[np.uint32]]:
            drawn = self.draw_codes(
                len(rows), rng, {name: codes[rows - first] for name, codes in fixed.items()}
            )
            return keep_constraints(self, drawn, rng, fixed=keep)

        def stamp(drawn: Table, rows: NDArray[np.int64]) -> Table:
            values, own = drawn.data, table.data.select(list(keep)).take(rows - first)
            for name in keep:
                at = values.column_names.index(name)
                values = values.set_column(at, table.data.schema.field(name), own.column(name))
            return replace(drawn, data=values)

        return draw, Given(tuple(keep), stamp)

    def log_likelihood(self, data: Any) -> NDArray[np.float64]:
        """Return the log-probability of each row of a table with the same schema, in nats (minus infinity: impossible)."""
        table = self._coded(data, self.schema.names)
        total = np.zeros(table.n_rows)
        with np.errstate(divide="ignore"):
            for name, conditional in zip(self.network.order, self.tables, strict=True):
                parents = [table.code(parent) for parent in conditional.parents]
                total += np.log(conditional.probabilities(table.code(name), parents))
        return total

    def _coded(self, data: Any, names: Sequence[str]) -> Table:
        """Return data on the codes of the model; numbers of a table that was read already may be cut otherwise, as trees do."""
        if not isinstance(data, Table):
            return open_table(data, self.schema)
        return on_codes_of(data, self.schema, names)

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what a file needs beside the schema."""
        from .file import network_state

        return network_state(self)

    @classmethod
    def from_state(
        cls, schema: Schema, data: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> Self:
        """Return the model of a file, every part checked."""
        from .file import network_from_state

        return network_from_state(cls, schema, data, arrays)

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
            "kept": list(fitted.keep),
            "parents": fitted.parents,
            "conditionals": self.conditionals,
            "search": fitted.search,
            "score": fitted.score,
            "fitness": fitted.fitness,
            "protection": None if fitted.protection is None else fitted.protection.to_dict(),
            "draw": fitted.draw,
            **({"note": fitted.note} if fitted.note else {}),
            **({} if fitted.privacy is None else {"privacy": fitted.privacy.to_dict()}),
        }

    def describe(self) -> ModelDescription:
        """Return the network in words: each column with its parents and what these tell of it, and what protection cut."""
        fitted, strength = (
            self.fitted,
            dict(zip(self.network.edges, self.fitted.strengths, strict=True)),
        )
        columns = tuple(
            ModelColumn(
                child, self.role(child), ", ".join(f"{p} {strength[p, child]:.3f}" for p in parents)
            )
            for child, parents in self._families
        )
        noisy = "" if fitted.privacy is None else ", from released tables"
        return ModelDescription(
            method=fitted.method,
            summary=f"{len(self.network.order)} columns, {len(self.network.edges)} edges, {self.conditionals} of at most {fitted.parents} parents; "
            f"search {fitted.search}, score {fitted.score}, fitness {fitted.fitness:.4f}",
            heading=f"parents (mutual information, nats{noisy})",
            columns=columns,
            promise=None if fitted.privacy is None else fitted.privacy.short,
            notes=(
                *(
                    ()
                    if fitted.protection is None
                    else fitted.protection.sentences(fitted.label, fitted.sensitive)
                ),
                *((fitted.note,) if fitted.note else ()),
            ),
        )

    def plot(self) -> Drawing:
        """Return the network as a drawing: parents above children, wider edges where these tell more of each other."""
        return network_drawing(self)

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{child} <- {', '.join(ps)}" if ps else child for child, ps in self._families[:4]
        )
        more = ", ..." * (len(self._families) > 4)
        promise = f"; {self.privacy.short}" if self.privacy is not None else ""
        return f"BayesNetModel({len(self.network.order)} columns, {len(self.network.edges)} edges: {shown}{more}{promise})"

    @property
    def _families(self) -> list[tuple[str, tuple[str, ...]]]:
        return list(zip(self.network.order, self.network.parents, strict=True))

    @cached_property
    def _sizes(self) -> dict[str, int]:
        return dict(zip(self.schema.names, self.schema.sizes, strict=True))

    @cached_property
    def _samplers(self) -> tuple[Sampler | TreeSampler, ...]:
        few = (
            sum(len(table.weights) for table in self.tables if isinstance(table, TreeTable))
            <= MOST_KEPT
        )
        return tuple(
            table.sampler(kept=few) if isinstance(table, TreeTable) else Sampler(table)
            for table in self.tables
        )

    def draw_codes(
        self,
        n_rows: int,
        rng: np.random.Generator,
        fixed: Mapping[str, NDArray[np.uint32]] | None = None,
        *,
        draw: Draw | None = None,
    ) -> Mapping[str, NDArray[np.uint32]]:
        """Return codes of new rows, column by column in the order of the network; fixed columns are taken as given.

        Rows are drawn as the fit says, or as `draw` says. Either way each row alone has exactly the distribution of the network.
        """
        codes: dict[str, NDArray[np.uint32]] = dict(fixed or {})
        systematic = (draw or self.fitted.draw) == "systematic"
        for name, sampler in zip(self.network.order, self._samplers, strict=True):
            if name in codes:
                continue
            parents = [codes[p] for p in sampler.table.parents]
            if systematic:
                others = [other for other in codes if other not in sampler.table.parents]
                ties = [
                    (codes[other], self._sizes[other])
                    for other in others[max(len(others) - TIES, 0) :]
                ]
                codes[name] = sampler.draw_systematic(parents, ties, n_rows, rng)
            else:
                codes[name] = sampler.draw(parents, rng.random(n_rows))
        return codes

    def conditioned(self, given: Mapping[str, Any]) -> Evidence:
        """Return what draws rows that have given values, exactly."""
        return Evidence.of(self, given)
