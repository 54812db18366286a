"""Features of a released network itself, that line up over models whose structures differ.

An attacker who holds the model, not only its tables of rows, can ask it how likely a target is: as a whole, and column by
column given the column's parents, whatever these are. That gives the same numbers in the same places for every network. The
tables themselves line up only where two models have a family in common: the same column with the same set of parents. Sedlmeyr's (2024)
code flattens tables in the order of each network and cuts them to one length, so that places mean nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._base.arrays import Singles
from ..._base.errors import InputError, TooLargeError, unknown_name
from ...synth.bayesnet.model import BayesNetModel
from ...synth.bayesnet.network import Network
from ...synth.bayesnet.tables import ConditionalTable
from ...synth.bayesnet.trees import TreeTable
from ...table.schema import Schema

Values = Literal["chances", "weights"]

FLOOR = 1e-9
"""What a probability below it (or of 0) counts as, so that logarithms are finite and one impossible value is not all there is."""
MOST_CELLS = 1 << 22


@dataclass(frozen=True)
class NodeFamily:
    """A column, its parents in the order of the schema, and which places its table takes: the child's code moves fastest."""

    child: str
    parents: tuple[str, ...]
    sizes: tuple[int, ...]
    start: int

    @property
    def stop(self) -> int:
        """One beyond its last place."""
        return self.start + prod(self.sizes)

    def __str__(self) -> str:
        return f"{self.child} | {', '.join(self.parents)}" if self.parents else self.child


@dataclass(frozen=True, eq=False)
class WhiteBox:
    """What to ask of each model: targets, and the families of a reference network. Make one with `WhiteBox.of`."""

    schema: Schema
    targets: NDArray[np.int64] = field(repr=False)
    families: tuple[NodeFamily, ...] = ()
    values: Values = "chances"

    @classmethod
    def from_schema(
        cls,
        schema: Schema,
        targets: ArrayLike,
        *,
        reference: Network | None = None,
        values: Values = "chances",
    ) -> WhiteBox:
        """Return the questions for targets, codes (targets, columns) in the order of the schema.

        `reference`: the network whose families `cells` reads: one fitted once, or one that all models are made to have. `values`: what
        `cells` reads: "chances" of the child given its parents, or "weights", the table as it was released (noisy counts), which also
        says how large each combination of parents is.
        """
        rows = np.asarray(targets)
        sizes, names = schema.sizes, schema.names
        if (
            rows.ndim != 2
            or rows.shape[1] != len(names)
            or not np.issubdtype(rows.dtype, np.integer)
        ):
            raise InputError(
                f"Targets are codes: one row each, {len(names)} columns. Got shape {rows.shape}."
            )
        codes = rows.astype(np.int64)
        if len(codes) and (codes.min() < 0 or (codes.max(axis=0) >= np.asarray(sizes)).any()):
            raise InputError(
                "Targets must have codes of the schema. Some lie outside: encode them with the same schema."
            )
        if values not in ("chances", "weights"):
            raise unknown_name("kind of values", values, ("chances", "weights"))
        return cls(schema, codes, () if reference is None else _families(schema, reference), values)

    @property
    def names(self) -> tuple[str, ...]:
        """What the features of `nodes` are, in order."""
        return ("log P(target)", *(f"log P({name} | its parents)" for name in self.schema.names))

    @cached_property
    def cell_names(self) -> tuple[str, ...]:
        """What the features of `cells` are, in order: the family and a place, no value."""
        return tuple(
            f"{family}: {cell}" for family in self.families for cell in range(prod(family.sizes))
        )

    def nodes(self, model: BayesNetModel) -> Singles:
        """Return for each target its log-probability and those of its columns given their parents, (targets, 1 + columns), nats.

        Columns are in the order of the schema. Each column's probability counts as `FLOOR` at least, so all are finite and the
        first is the sum of the others.
        """
        self._check(model)
        column_index = {name: j for j, name in enumerate(self.schema.names)}
        out = np.empty((len(self.targets), 1 + len(column_index)))
        for table in model.tables:
            parents = [self.targets[:, column_index[name]] for name in table.parents]
            chances = table.probabilities(self.targets[:, column_index[table.child]], parents)
            out[:, 1 + column_index[table.child]] = np.log(np.maximum(chances, FLOOR))
        out[:, 0] = out[:, 1:].sum(axis=1)
        return out.astype(np.float32)

    def cells(self, model: BayesNetModel) -> Singles:
        """Return the tables of the reference's families, one after the other; not a number where the model lacks the family.

        A model has a family if the column has the same set of parents there, in any order.
        """
        self._check(model)
        tables = {table.child: table for table in model.tables}
        out = np.full(self.families[-1].stop if self.families else 0, np.nan, dtype=np.float32)
        for family in self.families:
            table = tables[family.child]
            if set(table.parents) == set(family.parents):
                out[family.start : family.stop] = (
                    _chances if self.values == "chances" else _weights
                )(family, table)
        return out

    def places(self, target: int) -> NDArray[np.int64]:
        """Return where in `cells` a target's own rows stand: of each family the chances given the target's values of the parents.

        One record moves these rows and no others, so they are what an attack on it learns from.
        """
        column_index = {name: j for j, name in enumerate(self.schema.names)}
        out = [np.empty(0, dtype=np.int64)]
        for family in self.families:
            row = 0
            for name, size in zip(family.parents, family.sizes, strict=False):
                row = row * size + int(self.targets[target, column_index[name]])
            out.append(family.start + row * family.sizes[-1] + np.arange(family.sizes[-1]))
        return np.concatenate(out)

    def _check(self, model: BayesNetModel) -> None:
        if not isinstance(model, BayesNetModel):
            raise InputError(
                f"White-box features are of Bayesian networks. Got {type(model).__name__}."
            )
        if model.schema is self.schema:
            return
        if model.schema.names != self.schema.names:
            raise InputError(
                "The model has other columns, or in another order, than the schema of the targets."
            )
        for name in self.schema.names:
            ours, theirs = self.schema[name].codec, model.schema[name].codec
            if ours is not theirs and (
                ours is None or theirs is None or ours.to_dict() != theirs.to_dict()
            ):
                raise InputError(
                    f"Column '{name}' has other codes in the model than in the schema of the targets."
                )


def _families(schema: Schema, reference: Network) -> tuple[NodeFamily, ...]:
    """The families of a network, children and parents in the order of the schema."""
    names = list(schema.names)
    if sorted(reference.order) != sorted(names):
        raise InputError("The reference network and the schema must have the same columns.")
    size = dict(zip(names, schema.sizes, strict=True))
    out: list[NodeFamily] = []
    for child in names:
        parents = tuple(sorted(reference[child], key=names.index))
        start = out[-1].stop if out else 0
        out.append(
            NodeFamily(child, parents, tuple(size[name] for name in (*parents, child)), start)
        )
        if out[-1].stop > MOST_CELLS:
            raise TooLargeError(
                f"The tables of the reference network have more than {MOST_CELLS} cells. Use fewer parents."
            )
    return tuple(out)


def _chances(family: NodeFamily, table: ConditionalTable | TreeTable) -> NDArray[np.float64]:
    """The chance of each code of the child for each combination of parents."""
    grid = np.indices(family.sizes).reshape(len(family.sizes), -1)
    codes = dict(zip((*family.parents, family.child), grid, strict=True))
    return table.probabilities(codes[family.child], [codes[name] for name in table.parents])


def _weights(family: NodeFamily, table: ConditionalTable | TreeTable) -> NDArray[np.float64]:
    """The weights of the table with all its parents, 0 where it has none; of a tree those of the leaf that parents come to."""
    if isinstance(table, TreeTable):
        return _leaf_weights(family, table)
    level = table.levels[-1]
    dense = np.zeros((prod(level.sizes), table.size))
    dense[np.repeat(level.keys, np.diff(level.starts)), level.codes] = level.weights
    axes = [*(table.parents.index(name) for name in family.parents), len(table.parents)]
    return dense.reshape(*level.sizes, table.size).transpose(axes).ravel()


def _leaf_weights(family: NodeFamily, table: TreeTable) -> NDArray[np.float64]:
    grid = np.indices(family.sizes).reshape(len(family.sizes), -1)
    codes = dict(zip((*family.parents, family.child), grid, strict=True))
    leaves = table.leaves([codes[name] for name in table.parents], grid.shape[1])
    dense = np.zeros((len(table.splits), table.size))
    dense[np.repeat(np.arange(len(table.splits)), np.diff(table.starts)), table.codes] = (
        table.weights
    )
    return np.asarray(dense[leaves, codes[family.child]])
