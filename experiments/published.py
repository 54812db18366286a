"""The synthesiser of P0 and P2 as their published code sets it: equal-width bins, plain conditional tables, no smoothing.

DataSynthesizer and its fork by the authors of P0, read at 0.1.13 and 3e57a13: a number with more than 20 values is cut into 20 bins of equal width between
its least and its largest value, any other column is a column of levels, missing is one more; a conditional table is counts by all
parents, and the same chance for every code where the parents' combination never occurs; a number is drawn
evenly inside its bin, and rounded where the column has whole numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

import chaffinch
from chaffinch import BayesNet
from chaffinch.synth.bayesnet.network import Network
from chaffinch.table import Table

BINS = 20
"""Bins of a number, and the most values of one that is a column of levels."""

Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Coding:
    """How one column becomes codes and codes become values: edges of bins, or levels; the last code is missing."""

    values: pa.Array
    edges: NDArray[np.float64] | None = None

    @property
    def size(self) -> int:
        """Codes without the one of missing values."""
        return len(self.values) if self.edges is None else len(self.edges) - 1

    def codes(self, column: pa.ChunkedArray) -> Codes:
        """Return the code of each value."""
        if self.edges is None:
            found = pc.index_in(column, self.values)
        else:
            numbers = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
            bins = np.searchsorted(self.edges[1:-1], np.nan_to_num(numbers), side="right")
            found = pa.chunked_array([pa.array(bins, mask=np.isnan(numbers))])
        return pc.fill_null(found.cast(pa.int64()), self.size).to_numpy(zero_copy_only=False)

    def drawn(self, codes: Codes, rng: np.random.Generator) -> pa.Array:
        """Return a value for each code, drawn evenly inside bins."""
        absent = codes == self.size
        if self.edges is None:
            return self.values.take(pa.array(codes, mask=absent))
        known = np.where(absent, 0, codes)
        numbers = rng.uniform(self.edges[known], self.edges[known + 1])
        if pa.types.is_integer(self.values.type):
            numbers = np.rint(numbers)
        return pa.array(numbers, mask=absent, from_pandas=True).cast(self.values.type, safe=False)


def coding_of(column: pa.ChunkedArray, *, bins: int = BINS) -> Coding:
    """Return the coding of a column, from its values alone."""
    values = pc.drop_null(pc.unique(column))
    values = values.take(pc.sort_indices(values))
    if (
        not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type))
        or len(values) <= bins
    ):
        return Coding(values)
    return Coding(
        values, np.linspace(float(values[0].as_py()), float(values[-1].as_py()), BINS + 1)
    )


@dataclass(frozen=True)
class Published:
    """A synthesiser: the parents that `search` finds on such codes, plain tables, even draws.

    Numbers with at most `levels` values are columns of levels; P2's Caesarian has 22 ages, so that 22 makes levels of them.
    """

    search: BayesNet
    levels: int = BINS

    def fit(self, table: Table, *, seed: int) -> PublishedModel:
        """Return a model of a table."""
        codings = {
            name: coding_of(table.data.column(name), bins=self.levels)
            for name in table.schema.names
        }
        codes = {name: coding.codes(table.data.column(name)) for name, coding in codings.items()}
        coded = chaffinch.read(
            pa.table({name: pc.cast(pa.array(c), pa.string()) for name, c in codes.items()}),
            rare="keep",
        )
        network = (
            replace(self.search, conditionals="tables", smoothing=0.0).fit(coded, seed=seed).network
        )
        return PublishedModel(table, codings, codes, network)


@dataclass(frozen=True, eq=False)
class PublishedModel:
    """A network, the codes of the table it was learnt from, and how values become codes."""

    table: Table
    codings: Mapping[str, Coding]
    codes: Mapping[str, Codes]
    network: Network

    def sample(self, n_rows: int, *, seed: int) -> Table:
        """Return rows under the schema of the table it was learnt from."""
        rng = np.random.default_rng(seed)
        rows: dict[str, Codes] = {}
        for name in self.network.order:
            parents, size = self.network[name], self.codings[name].size + 1
            fitted, asked = (
                np.zeros(len(self.codes[name]), dtype=np.int64),
                np.zeros(n_rows, dtype=np.int64),
            )
            for parent in parents:
                width = self.codings[parent].size + 1
                fitted, asked = fitted * width + self.codes[parent], asked * width + rows[parent]
            rows[name] = plain_draws(fitted, self.codes[name], asked, size, rng)
        arrays = {
            name: self.codings[name].drawn(rows[name], rng) for name in self.table.schema.names
        }
        types = self.table.data.schema
        return chaffinch.read(
            pa.table({n: a.cast(types.field(n).type) for n, a in arrays.items()}), self.table.schema
        )


def plain_draws(
    parents: Codes, child: Codes, asked: Codes, size: int, rng: np.random.Generator
) -> Codes:
    """Return a code of the child for each asked combination of parents: one of those it had there, any observed code where it never occurs.

    Examples
    --------
    >>> plain_draws(np.array([0, 0, 7]), np.array([1, 1, 0]), np.array([0, 7, 0]), 3, np.random.default_rng(0)).tolist()
    [1, 0, 1]
    """
    order = np.argsort(parents, kind="stable")
    low = np.searchsorted(parents[order], asked, side="left")
    high = np.searchsorted(parents[order], asked, side="right")
    at = low + (rng.random(len(asked)) * (high - low)).astype(
        np.int64
    )  # an own record of the combination: the plain conditional distribution
    even = rng.integers(
        0, min(size, int(child.max()) + 1), len(asked)
    )  # their tables end at the largest code that occurs
    return np.where(high > low, child[order[np.minimum(at, len(order) - 1)]], even)
