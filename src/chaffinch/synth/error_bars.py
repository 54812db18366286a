"""Error bars: what noise and model may have done to the counts of some columns, from released numbers alone.

*Measured*: some released table holds all of the columns. Its noise is in the account. A cell of the marginal is a sum of cells of that table,
each with noise of its own, so its error has the standard deviation of a cell times the square root of how many are summed. Single columns
that were measured by themselves hand on their noise to tables that are made to agree with them.

*Bounds*: the columns were never measured together. What links them in the model is then an assumption, and noise says nothing of it. What
released tables of fewer columns leave open are the bounds of Fréchet and Bonferroni: a count is at most any count that holds it, and at least
count(U) + count(V) - count(U and V). They hold whatever the data are, as far as the bars of the tables they come from hold.

Nothing is charged: all of this is done to the model and its account.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .._base.arrays import Floats
from .._base.checks import check_name, check_share
from .._base.errors import InputError
from .._base.results import html_table
from .._base.text import text_table
from ..privacy.ledger import Account
from .rules import keep_constraints

if TYPE_CHECKING:
    from .model import FittedModel


DRAWN_ROWS = 1 << 20
"""Rows drawn, from a fixed stream, to sum the model over all other columns; what they are off by is part of the bars."""

MOST_COLUMNS = 4
MOST_CELLS = 1 << 20
_BATCH = 1 << 16

Basis = Literal["measured", "bounds"]


@dataclass(frozen=True, eq=False, repr=False)
class ErrorBars:
    """The counts of a marginal under a model, and between which numbers the counts of the data lie.

    Parameters
    ----------
    columns, names
        The columns, and the names of their codes.
    estimate
        The counts under the model, for as many rows as the fit was told or measured; an axis for each column.
    low, high
        The ends of the bars. At least 0.
    basis
        "measured": a released table holds all columns, and `level` of the cells are expected within their bars. "bounds": none does; the bars
        are what released tables of fewer columns leave open.
    noise
        Measured: the standard deviation of a cell's noise, in records.
    level
        The share of cells that bars of measured tables are made for.
    test_only
        Whether the noise of the fit came from a seed: then model and bars are as confidential as the data.
    """

    columns: tuple[str, ...]
    names: tuple[tuple[str, ...], ...]
    estimate: Floats
    low: Floats
    high: Floats
    basis: Basis
    noise: float | None
    level: float
    test_only: bool = False

    @property
    def sentence(self) -> str:
        """What the bars are, in words."""
        named = "TEST ONLY. " * self.test_only + ", ".join(self.columns)
        if self.basis == "measured":
            return (
                f"{named}: measured with noise of a standard deviation of {self.noise:.4g} records in each cell; the bars are made to hold the "
                f"counts of the data in {self.level:.0%} of the cells."
            )
        return (
            f"{named}: never measured together. How they hang together is the model's assumption; the bars are all that released tables of fewer "
            "columns leave open."
        )

    def rows(self) -> list[tuple[str, ...]]:
        """Return a row of words for each cell: its codes, the count, and the ends of its bar."""
        out = []
        for index in np.ndindex(*self.estimate.shape):
            levels = (self.names[k][code] for k, code in enumerate(index))
            out.append(
                (*levels, *(f"{ends[index]:,.0f}" for ends in (self.estimate, self.low, self.high)))
            )
        return out

    def show(self) -> None:
        """Print the bars."""
        print(self.sentence)
        print(text_table([*self.columns, "count", "low", "high"], self.rows()))

    def to_dict(self) -> dict[str, Any]:
        """Return the bars as plain data: `chaffinch-error-bars`, version 1."""
        return {
            "format": "chaffinch-error-bars",
            "version": 1,
            "columns": list(self.columns),
            "codes": [list(names) for names in self.names],
            "basis": self.basis,
            "level": self.level,
            "noise": self.noise,
            "test_only": self.test_only,
            "sentence": self.sentence,
            "estimate": self.estimate.tolist(),
            "low": self.low.tolist(),
            "high": self.high.tolist(),
        }

    def __repr__(self) -> str:
        return f"ErrorBars({', '.join(self.columns)}: {self.estimate.size} cells, {self.basis}, {self.level:.0%})"

    def _repr_html_(self) -> str:
        return html_table(
            [*self.columns, "count", "low", "high"], self.rows(), caption=self.sentence
        )


def error_bars(model: FittedModel, columns: Sequence[str], *, level: float = 0.9) -> ErrorBars:
    """Return the error bars of a marginal of a private model; raise for a model without a promise: its noise is not known."""
    account = model.privacy
    if account is None:
        raise InputError(
            "Error bars are for models with a promise of privacy: what noise did is in their account. This one has none."
        )
    check_share("level", level)
    chosen = tuple(columns)
    for name in chosen:
        check_name("column", name, model.schema.names)
    if not 1 <= len(chosen) <= MOST_COLUMNS or len(set(chosen)) < len(chosen):
        raise InputError(
            f"Error bars are for one to {MOST_COLUMNS} different columns. Got {len(chosen)}."
        )
    sizes = {name: model.schema[name].size for name in model.schema.names}
    if prod(sizes[name] for name in chosen) > MOST_CELLS:
        raise InputError(f"Error bars are for up to {MOST_CELLS:,} cells. Choose fewer columns.")
    released = _Released(
        measured_tables(account, sizes),
        sizes,
        _marginal(model, chosen),
        chosen,
        account,
        NormalDist().inv_cdf((1 + level) / 2),
    )
    low, high = released.bars(chosen)
    noise = released.noise(chosen)
    names = tuple(tuple(model.schema[name].fitted_codec.names()) for name in chosen)
    return ErrorBars(
        chosen,
        names,
        released.estimate,
        low,
        high,
        "bounds" if noise is None else "measured",
        noise,
        level,
        account.test_only,
    )


def measured_tables(account: Account, names: Mapping[str, Any]) -> dict[frozenset[str], float]:
    """Return the tables that a fit released, by their columns, and the standard deviation of a cell's noise; means of all that were measured twice."""
    precisions: dict[frozenset[str], float] = {}
    for charge in account.charges:
        columns = (
            _columns_in(charge.what.removeprefix("table of "), list(names))
            if charge.what.startswith("table of ")
            else None
        )
        if columns is not None:
            _, std = account.budget.noise(
                charge.cost(account.budget.kind), l1=account.unit.l1, l2=account.unit.l2_up
            )
            precisions[columns] = precisions.get(columns, 0.0) + 1 / max(std, 1e-9) ** 2
    return {columns: precision**-0.5 for columns, precision in precisions.items()}


def _columns_in(text: str, names: Sequence[str]) -> frozenset[str] | None:
    """The columns that a list names, also where names have commas; None if it is no such list."""
    for name in names:
        if text == name:
            return frozenset({name})
        if text.startswith(f"{name}, "):
            rest = _columns_in(text[len(name) + 2 :], [other for other in names if other != name])
            if rest is not None:
                return rest | {name}
    return None


def _marginal(model: FittedModel, columns: tuple[str, ...]) -> Floats:
    """The counts of a marginal under a model, for its public number of rows."""
    sizes = [model.schema[name].size for name in columns]
    counts = np.zeros(prod(sizes))
    rng = np.random.default_rng(0)
    for _ in range(DRAWN_ROWS // _BATCH):
        codes = keep_constraints(model, model.draw_codes(_BATCH, rng), rng)
        cells = np.ravel_multi_index([codes[name].astype(np.int64) for name in columns], sizes)
        counts += np.bincount(cells, minlength=counts.size)
    return np.asarray(counts.reshape(sizes) / DRAWN_ROWS * model.n_rows)


@dataclass(frozen=True, eq=False)
class _Released:
    """What was released of some columns: which tables with what noise, and the model's estimate."""

    tables: Mapping[frozenset[str], float]
    sizes: Mapping[str, int]
    estimate: Floats
    columns: tuple[str, ...]
    account: Account
    z: float

    def noise(self, columns: Sequence[str]) -> float | None:
        """The standard deviation with which a table over some columns was measured, or else the least over more columns; None where none was.

        Tables over more columns may tell more, but a method need not use what they tell of fewer.
        """
        wanted = frozenset(columns)
        if wanted in self.tables:
            return self.tables[wanted]
        stds = [
            std * sqrt(prod(self.sizes[name] for name in table - wanted))
            for table, std in self.tables.items()
            if wanted <= table
        ]
        return min(stds, default=None)

    def counts(self, columns: Sequence[str]) -> Floats:
        """The model's counts of some of the columns, axes in their order."""
        summed_axes = tuple(axis for axis, name in enumerate(self.columns) if name not in columns)
        return np.asarray(self.estimate.sum(axis=summed_axes))

    def bars(self, columns: Sequence[str]) -> tuple[Floats, Floats]:
        """The ends of the bars of a table over some of the columns, in the order of all."""
        counts = self.counts(columns)
        if not columns:
            return counts, counts
        noise = self.noise(columns)
        if noise is not None:
            share = np.clip(counts / max(float(counts.sum()), 1e-9), 0, 1)
            variance = (
                noise**2
                + self.account.rows**2 * share * (1 - share) / DRAWN_ROWS
                + self._of_columns(counts, columns)
            )
            reach = self.z * np.sqrt(variance)
            return np.maximum(counts - reach, 0.0), counts + reach
        less = [tuple(c for c in columns if c != name) for name in columns]
        bars = [self._spread(self.bars(subset), subset, columns) for subset in less]
        high = np.minimum.reduce([ends for _, ends in bars])
        low = np.zeros_like(high)
        for i, j in combinations(range(len(columns)), 2):
            both = tuple(c for k, c in enumerate(columns) if k not in (i, j))
            low = np.maximum(
                low, bars[i][0] + bars[j][0] - self._spread(self.bars(both), both, columns)[1]
            )
        return low, np.maximum(high, low)

    def _of_columns(self, counts: Floats, columns: Sequence[str]) -> Floats:
        """The variance that a table takes over from single columns which it was made to agree with: of each a part as large as the cell's."""
        out = np.zeros_like(counts)
        for axis, name in enumerate(columns):
            std = self.tables.get(frozenset({name}))
            if std is not None and len(columns) > 1:
                sums = counts.sum(
                    axis=tuple(k for k in range(counts.ndim) if k != axis), keepdims=True
                )
                out = (
                    out
                    + (std * np.divide(counts, sums, out=np.zeros_like(counts), where=sums > 0))
                    ** 2
                )
        return out

    def _spread(
        self, bars: tuple[Floats, Floats], subset: Sequence[str], columns: Sequence[str]
    ) -> tuple[Floats, Floats]:
        """Bars of a table of fewer columns, laid out over one of more."""
        shape = [self.sizes[name] if name in subset else 1 for name in columns]
        full_shape = [self.sizes[name] for name in columns]
        low, high = (np.broadcast_to(np.asarray(ends).reshape(shape), full_shape) for ends in bars)
        return low, high
