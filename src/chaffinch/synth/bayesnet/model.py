"""What was learnt: a network and its tables. Frozen, printable, saved as an open file, sampled in batches.

Rows are drawn given values of any columns exactly (`Evidence`). Columns with a given value are set; the others are drawn in order. A row is then accepted with probability

    product over given columns of  P(value | its parents) / max over parents of P(value | parents)

which is rejection sampling from the network's own conditional distribution: what is accepted has exactly that distribution.
Values of columns without parents cost nothing; the rarer the given values are under what precedes them, the more
rows are drawn for one that stays. Where rows are rejected they are drawn one by one: among rows that hang together, the first accepted
ones would not have exactly that distribution.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Self, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..._base.checks import check_name
from ..._base.errors import InputError, SchemaError
from ..._base.runtime import Progress, silent
from ..._base.seeds import Seed, seed_sequence
from ..._base.svg import Drawing
from ...privacy.ledger import Account, account_from_dict
from ...table.domain import OTHER, encode_column
from ...table.refit import on_codes_of
from ...table.rows import as_rows, join_tables, open_table
from ...table.schema import Column, Schema
from ...table.table import Origin, Table
from ...table.text import Spelling, parse_words
from ...table.types import is_numeric, parse_type
from ..model import FittedModel, Given
from ..options import Draw
from ..protocol import ModelColumn, ModelDescription
from ..rules import keep_constraints
from .drawing import network_drawing
from .network import Network
from .protection import Cut, Protection
from .tables import TIES, ConditionalTable, Level, Sampler
from .trees import TreeSampler, TreeTable

MOST_KEPT = 1 << 23
"""Weights of all trees together up to which their running sums, 8 bytes each, are kept from batch to batch: of many columns they are worked out anew."""

MOST_DRAWS = 5_000_000

PARTS = {"keys": np.int64, "starts": np.int64, "codes": np.uint32, "weights": np.float64}
"""The arrays of a level of a table, and their types."""

TREE_PARTS = {
    "splits": np.int32,
    "below": np.int32,
    "first_sides": np.int64,
    "code_sides": np.uint8,
    "starts": np.int64,
    "codes": np.uint32,
    "weights": np.float64,
}
"""The arrays of a tree, and their types."""

KEYS = {"keep": "kept", "code_sides": "sides"}
"""Entries of the file that have another name than the field."""


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
        return join_tables(
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
            check_name("column", name, self.schema.names)
        for name in keep:
            for parent in self.network[name]:
                if parent not in keep:
                    raise InputError(
                        f"Column '{name}' cannot be kept: its parent '{parent}' is not. Fit with keep = {tuple(keep)}."
                    )
        root, first, size = seed_sequence(seed), 0, self.batch_rows
        for chunk in parts:
            if first % size:
                raise InputError(
                    f"Parts of a table that is completed must have a multiple of {size:,} rows each, but for the last."
                )
            numbers = range(
                first // size,
                max(-(-(first + chunk.n_rows) // size), first // size + (n_rows == 0)),
            )
            draw, given = self._completing(self._coded(chunk, keep), first, keep)
            yield from self.drawn(
                n_rows, draw, seed=root, like=like, threads=threads, given=given, numbers=numbers
            )
            first += chunk.n_rows
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
            values, originals = drawn.data, table.data.select(list(keep)).take(rows - first)
            for name in keep:
                index = values.column_names.index(name)
                values = values.set_column(
                    index, table.data.schema.field(name), originals.column(name)
                )
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
        rows = as_rows(data)
        if rows is None:
            return open_table(data, self.schema)
        return on_codes_of(rows.table(), self.schema, names)

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what a file needs beside the schema: the network and how it was fitted as plain data, and its tables as arrays."""
        summary = {
            KEYS.get(field.name, field.name): getattr(self.fitted, field.name)
            for field in fields(FitSummary)
        }
        for name in ("protection", "privacy"):
            summary[name] = None if summary[name] is None else summary[name].to_dict()
        data = {
            "order": list(self.network.order),
            "parents": [list(parents) for parents in self.network.parents],
            "smoothing": [table.smoothing for table in self.tables],
            "fitted": summary,
        }
        arrays: dict[str, NDArray[Any]] = {}
        for t, table in enumerate(self.tables):
            if isinstance(table, TreeTable):
                arrays |= {
                    f"{t}.tree.{KEYS.get(array, array)}": getattr(table, array)
                    for array in TREE_PARTS
                }
            else:
                arrays |= {
                    f"{t}.{i}.{array}": getattr(level, array)
                    for i, level in enumerate(table.levels)
                    for array in PARTS
                }
        if any(isinstance(table, TreeTable) for table in self.tables):
            data["trees"] = [
                t for t, table in enumerate(self.tables) if isinstance(table, TreeTable)
            ]
        return data, arrays

    @classmethod
    def from_state(
        cls, schema: Schema, data: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> Self:
        """Return the model that `state` wrote, every part checked; raise where its parts do not fit together."""
        network = Network(
            tuple(data["order"]), tuple(tuple(parents) for parents in data["parents"])
        )
        trees = set(data.get("trees", []))
        n_tables = sum(
            len(parents) + 1 for t, parents in enumerate(network.parents) if t not in trees
        )
        n_arrays = len(PARTS) * n_tables + len(TREE_PARTS) * len(trees)
        if len(arrays) != n_arrays or len(data["smoothing"]) != len(network.order):
            raise InputError("There are more or fewer tables than the network needs.")
        sizes = dict(zip(schema.names, schema.sizes, strict=True))
        tables: list[ConditionalTable | TreeTable] = []
        for t, (name, parents) in enumerate(zip(network.order, network.parents, strict=True)):
            widths, smoothing = tuple(sizes[p] for p in parents), float(data["smoothing"][t])
            if t in trees:
                tables.append(
                    TreeTable(
                        name,
                        sizes[name],
                        parents,
                        widths,
                        smoothing,
                        *_parts(arrays, f"{t}.tree", TREE_PARTS),
                    )
                )
            else:
                levels = [
                    Level(widths[:i], *_parts(arrays, f"{t}.{i}", PARTS))
                    for i in range(len(parents) + 1)
                ]
                tables.append(
                    ConditionalTable(name, sizes[name], parents, tuple(levels), smoothing)
                )
            tables[-1].check()
        return cls(schema, network, tuple(tables), _summary(data["fitted"], schema.names, network))

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
        fitted = self.fitted
        strengths = dict(zip(self.network.edges, fitted.strengths, strict=True))
        return network_drawing(
            self.network, strengths, label=fitted.label, sensitive=fitted.sensitive
        )

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
            TreeSampler(table, few) if isinstance(table, TreeTable) else Sampler(table)
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
        return Evidence.from_values(self, given)


@dataclass(frozen=True, eq=False)
class Evidence:
    """Given codes and values of some columns of a model, and the largest probability that each can have."""

    model: BayesNetModel
    codes: Mapping[str, int]
    bounds: Mapping[str, float]
    values: Mapping[str, pa.Scalar]

    @classmethod
    def from_values(cls, model: BayesNetModel, given: Mapping[str, Any]) -> Evidence:
        """Return the evidence that values amount to; raise where one cannot occur."""
        codes, bounds, values = {}, {}, {}
        for name, value in given.items():
            check_name("column", name, model.schema.names)
            codes[name], values[name] = _code(model.schema[name], value)
            table = model.tables[model.network.order.index(name)]
            bounds[name] = table.largest(codes[name])
            if bounds[name] <= 0:
                raise InputError(
                    f"The value given for '{name}' cannot occur in this model. Give another, or leave it out."
                )
        return cls(model, codes, bounds, values)

    def draw(self, n_rows: int, rng: np.random.Generator) -> dict[str, NDArray[np.uint32]]:
        """Return codes of rows that have the given values."""
        names = self.model.schema.names
        accepted: list[dict[str, NDArray[np.uint32]]] = []
        have, drawn, size = 0, 0, max(n_rows, 1024)
        while have < n_rows:
            if drawn > MOST_DRAWS and have * 1_000_000 < drawn:
                raise InputError(
                    "The given values occur together less than once in a million rows of this model, or never. "
                    "Give fewer, or others."
                )
            fixed = {
                name: np.full(size, code, dtype=np.uint32) for name, code in self.codes.items()
            }
            # Some rows may not stay: a given column has parents.
            rejects = any(self.model.network[name] for name in self.codes)
            codes = self.model.draw_codes(size, rng, fixed, draw="independent" if rejects else None)
            stay = rng.random(size) < self._share(codes)
            accepted.append({name: codes[name][stay] for name in names})
            have, drawn = have + int(stay.sum()), drawn + size
            rate = max(have / drawn, 1e-5)
            size = int(min(max((n_rows - have) / rate * 1.1, 1024), 1 << 20))
        return {
            name: np.concatenate([codes[name] for codes in accepted] or [np.empty(0, np.uint32)])[
                :n_rows
            ]
            for name in names
        }

    def stamped(self, table: Table) -> Table:
        """Return the table with the given numbers themselves where a bin was drawn from."""
        data = table.data
        for name, value in self.values.items():
            if value.is_valid and self.model.schema[name].is_numeric:
                index = data.column_names.index(name)
                data = data.set_column(
                    index, data.schema.field(name), pa.repeat(value, table.n_rows)
                )
        return replace(table, data=data)

    def _share(self, codes: Mapping[str, NDArray[np.uint32]]) -> NDArray[np.float64]:
        out = np.ones(len(next(iter(codes.values()))))
        for name, bound in self.bounds.items():
            table = self.model.tables[self.model.network.order.index(name)]
            if table.parents:
                out *= table.probabilities(codes[name], [codes[p] for p in table.parents]) / bound
        return out


def _code(column: Column, value: Any) -> tuple[int, pa.Scalar]:
    """Return the code of a value as a person writes it (itself, a word that reads as one, None for missing), and the value."""
    kind = parse_type(column.type)
    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    codec = column.codec
    assert codec is not None
    if (
        isinstance(value, str | int | float)
        and not isinstance(value, bool)
        and value in codec.missing
    ):
        return codec.missing_start + codec.missing.index(value), pa.scalar(None, inner)
    try:
        array = (
            _parse_word(column, value, inner)
            if isinstance(value, str)
            else pa.array([value]).cast(inner)
        )
        if not codec.numeric and array[0].as_py() not in (None, *codec.levels, OTHER):
            raise SchemaError
        if pa.types.is_floating(inner) and array.null_count == 0 and np.isinf(array[0].as_py()):
            raise SchemaError
        return int(encode_column(column, array)[0]), array[0]
    except (pa.ArrowException, SchemaError, TypeError, ValueError, OverflowError):
        raise InputError(
            f"The value given for '{column.name}' cannot occur: it is no {column.kind} value of this column. "
            f"{'Its numbers have a decimal comma. ' if column.decimal == ',' else ''}"
            "`chaffinch describe` shows its common levels."
        ) from None


def _parse_word(column: Column, word: str, kind: pa.DataType) -> pa.Array:
    """Return the value that a word spells as the column's file does, or plainly: dates and times as ISO 8601."""
    cells = pa.array([word])
    if not is_numeric(kind):
        return cells.cast(kind)
    spelling = Spelling(kind, column.format, decimal=column.decimal, thousands=column.thousands)
    with contextlib.suppress(SchemaError):
        return parse_words(cells, spelling, name=column.name)[0]
    return parse_words(cells, replace(spelling, format=""), name=column.name)[0]


def _parts(
    arrays: Mapping[str, NDArray[Any]], prefix: str, types: Mapping[str, Any]
) -> list[NDArray[Any]]:
    """The arrays of a level or a tree, of the right types."""
    parts = [arrays[f"{prefix}.{KEYS.get(name, name)}"] for name in types]
    if any(a.ndim != 1 or a.dtype != kind for a, kind in zip(parts, types.values(), strict=True)):
        raise InputError("A table has the wrong type.")
    return parts


def _summary(data: Mapping[str, Any], names: tuple[str, ...], network: Network) -> FitSummary:
    """Return how a network was fitted; raise unless it is of the right types and speaks of the model's columns."""
    entries = {"privacy": None, "draw": "independent", "note": "", **data}
    entries = {
        field.name: entries.pop(KEYS.get(field.name, field.name)) for field in fields(FitSummary)
    } | entries
    if len(entries) != len(fields(FitSummary)):
        raise InputError("The account of the fit has other entries than this release knows.")
    cut = entries["protection"]
    protection = (
        None
        if cut is None
        else Protection(
            cut["protect"], tuple(Cut(**pair) for pair in cut["cuts"]), tuple(cut.get("rules", ()))
        )
    )
    privacy = None if entries["privacy"] is None else account_from_dict(entries["privacy"])
    entries = {
        key: tuple(value) if isinstance(value, list) else value for key, value in entries.items()
    }
    summary = FitSummary(**(entries | {"protection": protection, "privacy": privacy}))
    if len(summary.strengths) != len(network.edges) or not all(
        _numeric(x) for x in summary.strengths
    ):
        raise InputError("The strengths of the edges are not as many as the edges.")
    cuts = protection.cuts if protection else ()
    numbers = [
        summary.fitness,
        *summary.strengths,
        *(x for c in cuts for x in (c.information, c.through_label)),
    ]
    columns = [
        *summary.sensitive,
        *summary.keep,
        *(name for c in cuts for name in (c.sensitive, c.other)),
    ]
    columns += [] if summary.label is None else [summary.label]
    sound = (
        all(
            isinstance(word, str)
            for word in (summary.method, summary.search, summary.score, summary.note)
        )
        and all(_numeric(x) and np.isfinite(x) for x in numbers)
        and all(isinstance(x, int) and x >= 0 for x in (summary.n_rows, summary.parents))
        and all(isinstance(name, str) and name in names for name in columns)
        and (protection is None or protection.protect in ("separate", "together"))
        and (protection is None or all(isinstance(text, str) for text in protection.rules))
        and summary.draw in get_args(Draw)
    )
    if not sound:
        raise InputError("The account of the fit does not go with the model.")
    return summary


def _numeric(value: object) -> bool:
    return isinstance(value, float | int)
