"""How pairs of columns hang together in two tables: phi_k matrices, their distance mu, and Pearson correlations of codes.

Both tables stand on one grid. A level or bin that either table uses is a row of both tables' counts, empty in the one that lost
it, so that a synthetic table cannot look better or worse by changing the shape; one that neither uses does not count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._base.errors import InputError, unknown_name
from ..stats.intervals import jackknife
from ..stats.pair import GROUPS, Pair, pair_up
from ..stats.result import Direction, Result
from ..table.table import Table
from .pairs import batches, grid_of, groups_of, phi_k_of_pairs, with_and_without

__all__ = ["NORMS", "Mu", "Pearson", "PhiK", "mu", "mu_from", "pearson", "phi_k"]

Floats = NDArray[np.float64]
Missing = Literal["level", "drop"]
Norm = Literal["frobenius", "frobenius_full", "spectral"]

NORMS: dict[str, str] = {
    "frobenius": "root of the summed squares over the upper triangle",
    "frobenius_full": "root of the summed squares over the whole matrix: sqrt(2) times the upper triangle's",
    "spectral": "largest singular value of the whole symmetric matrix",
}

WORST = 20
"""Pairs that a result lists by name."""

_INTERVAL = (
    f"delete-a-group jackknife: one of {GROUPS} random groups of records left out of both tables in turn; covers the "
    "sampling of records, not the synthesis"
)
_NO_INTERVAL = f"none: not asked for, or a table has fewer than {GROUPS} records"


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Association(Result):
    """Two symmetric matrices of how pairs of columns hang together, and the mean absolute difference over pairs.

    Parameters
    ----------
    names
        The columns, in the order of the matrices.
    original, synthetic
        The matrices, read-only; NaN where not defined (constant columns).
    differences
        Synthetic less original for each pair that has a value in both, in the order of the upper triangle.
    without
        The same with each group of records left out in turn, one a row: what intervals are made of.
    """

    direction: ClassVar[Direction] = "lower is better"
    identical: ClassVar[float] = 0.0
    most: ClassVar[float]
    """The largest that the value can be."""

    names: tuple[str, ...] = ()
    original: Floats = field(default_factory=lambda: np.empty((0, 0)))
    synthetic: Floats = field(default_factory=lambda: np.empty((0, 0)))
    differences: Floats = field(default_factory=lambda: np.empty(0))
    without: Floats = field(default_factory=lambda: np.empty((0, 0)))

    def __post_init__(self) -> None:
        super().__post_init__()
        for array in (self.original, self.synthetic, self.differences, self.without):
            array.flags.writeable = False

    def worst(self, most: int = WORST) -> list[dict[str, Any]]:
        """Return the pairs that differ most, by name; `difference` is synthetic less original."""
        apart = self.synthetic - self.original
        upper = [(i, j) for i, j in combinations(range(len(self.names)), 2) if np.isfinite(apart[i, j])]
        upper.sort(key=lambda pair: -abs(apart[pair]))
        return [
            {
                "columns": [self.names[i], self.names[j]],
                "original": _plain(self.original[i, j]),
                "synthetic": _plain(self.synthetic[i, j]),
                "difference": _plain(apart[i, j]),
            }
            for i, j in upper[:most]
        ]

    def details(self) -> dict[str, Any]:
        """Return the columns, both matrices (None where not defined) and the worst pairs."""
        return {
            "columns": list(self.names),
            "original": [[_plain(value) for value in row] for row in self.original],
            "synthetic": [[_plain(value) for value in row] for row in self.synthetic],
            "worst": self.worst(),
        }


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class PhiK(Association):
    """phi_k matrices of two tables on one grid; the value is the mean absolute difference over pairs, 0 to 1."""

    name: ClassVar[str] = "phi_k"
    most: ClassVar[float] = 1.0


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Pearson(Association):
    """Pearson correlations of the codes of two tables; the value is the mean absolute difference over pairs, 0 to 2."""

    name: ClassVar[str] = "pearson"
    most: ClassVar[float] = 2.0


@dataclass(frozen=True, kw_only=True, repr=False)
class Mu(Result):
    """Distance mu of two phi_k matrices: a norm of their difference over the number of pairs.

    0 for identical tables. A norm over a count: mu shrinks about as 1/m with the number of columns m, so compare it between
    tables of the same columns only; the mean absolute difference (`PhiK.value`) does not shrink.
    """

    name: ClassVar[str] = "mu"
    direction: ClassVar[Direction] = "lower is better"
    identical: ClassVar[float] = 0.0
    norm: str = "frobenius"

    def details(self) -> dict[str, Any]:
        """Return the norm."""
        return {"norm": self.norm}


A = TypeVar("A", bound=Association)


def phi_k(
    original: Table,
    synthetic: Any,
    *,
    bins: int | Literal["schema"] = 10,
    missing: Missing = "level",
    noise_correction: bool = True,
    interval: bool = True,
) -> PhiK:
    """Return the phi_k matrices of two tables on one grid, and their mean absolute difference: 0 if identical, at most 1.

    Parameters
    ----------
    bins
        Bins of equal width over the original's range for numbers and dates; values of the synthetic table beyond it fall
        in the end bins. "schema" takes the bins of the original's schema instead.
    missing
        "level": missing values, and each declared missing code, are levels of their own. "drop": a pair is measured
        on the records that have both values.
    noise_correction
        Whether to take off what chi-square comes to by chance alone.
    interval
        Whether to work out an interval, of mu too: about half of the time.

    Examples
    --------
    >>> import pyarrow as pa, chaffinch
    >>> table = chaffinch.read(pa.table({"a": ["x", "y"] * 40, "b": ["p", "q"] * 40, "c": ["k", "k", "l", "l"] * 20}))
    >>> shuffled = pa.table({"a": ["x", "y"] * 40, "b": ["p", "p", "q", "q"] * 20, "c": ["k", "k", "l", "l"] * 20})
    >>> phi_k(table, table)
    PhiK(phi_k = 0 [0, 0], lower is better, identical tables 0)
    >>> phi_k(table, shuffled).synthetic.round(2)
    array([[1., 0., 0.],
           [0., 1., 1.],
           [0., 1., 1.]])
    """
    _check(bins, missing)
    pair = pair_up(original, synthetic)
    groups = GROUPS if interval and min(table.n_rows for table in pair.tables) >= GROUPS else 1
    grid = grid_of(pair, bins, groups, drop=missing == "drop")
    chosen = {"bins": bins, "missing": missing, "noise_correction": noise_correction}
    said = {**chosen, "columns": len(grid.usable), "left_out": [n for n in pair.names if n not in grid.usable]}
    if len(grid.usable) < 2:
        return PhiK(value=None, why_not=_too_few(grid.usable, "two levels or more on the shared grid"), settings=said)
    found = np.concatenate([phi_k_of_pairs(grid, batch, noise_correction) for batch in batches(grid)], axis=2)
    matrices = [_matrix(values[0], pair.names, grid.usable) for values in found]
    return _measured(PhiK, pair, matrices, found[1] - found[0], said)


def mu(
    original: Table,
    synthetic: Any,
    *,
    norm: Norm = "frobenius",
    bins: int | Literal["schema"] = 10,
    missing: Missing = "level",
    noise_correction: bool = True,
    interval: bool = True,
) -> Mu:
    """Return mu: a norm of the difference of two phi_k matrices over the number of pairs, m(m - 1)/2; 0 if identical.

    Equation (2) of Galloni, Lendák and Horváth, "A Novel Evaluation Metric for Synthetic Data Generation" (2020).
    The paper does not say which norm it means. "frobenius" is over the upper triangle, "frobenius_full" over the whole
    matrix, "spectral" the largest singular value. For the other settings see `phi_k`; who needs both calls
    `mu_from(phi_k(...))` and counts once.

    Examples
    --------
    >>> import pyarrow as pa, chaffinch
    >>> table = chaffinch.read(pa.table({"a": ["x", "y"] * 40, "b": ["p", "q"] * 40}))
    >>> mu(table, pa.table({"a": ["x", "y"] * 40, "b": ["p", "p", "q", "q"] * 20})).value > 0.9
    True
    """
    _check_norm(norm)
    found = phi_k(original, synthetic, bins=bins, missing=missing, noise_correction=noise_correction, interval=interval)
    return mu_from(found, norm=norm)


def mu_from(phi: PhiK, *, norm: Norm = "frobenius") -> Mu:
    """Return mu of phi_k matrices that are there already; see `mu`."""
    _check_norm(norm)
    settings = {"norm": norm, "norm_means": NORMS[norm], **phi.settings}
    if phi.value is None:
        return Mu(value=None, why_not=phi.why_not, norm=norm, settings=settings)
    where = np.isfinite(phi.synthetic - phi.original)[np.triu_indices(len(phi.names), 1)]
    value = float(_norms(phi.differences[None], norm, where)[0])
    interval = jackknife(value, _norms(phi.without, norm, where), low=0.0) if len(phi.without) else None
    return Mu(value=value, interval=interval, norm=norm, settings=settings)


def pearson(original: Table, synthetic: Any) -> Pearson:
    """Return the Pearson correlations of two tables' codes, and their mean absolute difference: 0 if identical, at most 2.

    Codes are the shared integer codes of the schema: levels in their order, bins in order of value, missing values as
    the codes after them. For levels without an order such a correlation says little of itself; it is what is often
    printed. A column that is constant in a table has none there (NaN); where only one table holds it constant, it
    counts as 0 there in the value, so that losing a column's variety is not free.
    """
    pair = pair_up(original, synthetic)
    groups = GROUPS if min(table.n_rows for table in pair.tables) >= GROUPS else 1
    firsts, seconds = (_correlations(table, groups) for table in pair.tables)
    varies = [np.isfinite(np.diag(found[0])) for found in (firsts, seconds)]
    either = varies[0] | varies[1]
    names = [name for name, usable in zip(pair.names, either, strict=True) if usable]
    one = [name for name, a, b in zip(pair.names, *varies, strict=True) if a != b]
    said = {
        "codes": "shared codes of the schema; missing values are the codes after the levels",
        "columns": len(names),
        "left_out": [name for name in pair.names if name not in names],
        "constant_in_one_table": one,
    }
    if len(names) < 2:
        return Pearson(value=None, why_not=_too_few(names, "more than one code"), settings=said)
    upper = np.triu_indices(len(pair.names), 1)
    both = either[upper[0]] & either[upper[1]]
    kept = (slice(None), upper[0][both], upper[1][both])
    apart = np.nan_to_num(seconds[kept]) - np.nan_to_num(firsts[kept])
    return _measured(Pearson, pair, [firsts[0], seconds[0]], apart, said)


def _correlations(table: Table, groups: int) -> Floats:
    """Return Pearson matrices of the codes: of all records, then without each group; NaN with a constant column.

    Products of codes add, as counts do: they are summed for each group once, and a group is left out by a subtraction.
    """
    group = groups_of(table, groups)
    columns = [table.codes[j] for j in range(len(table.codes))]
    shift = [codes.mean() for codes in columns]
    n, sums, products = (np.zeros((groups, *[len(columns)] * axes)) for axes in (0, 1, 2))
    for g in range(groups):
        mine = np.flatnonzero(group == g)
        held = np.stack([codes[mine] - middle for codes, middle in zip(columns, shift, strict=True)])
        n[g], sums[g], products[g] = len(mine), held.sum(axis=1), held @ held.T
    n, sums, products = (with_and_without(held) for held in (n, sums, products))
    with np.errstate(divide="ignore", invalid="ignore"):
        scatter = products - sums[:, :, None] * sums[:, None, :] / n[:, None, None]
        spread = np.einsum("gii->gi", scatter).copy()
        spread[~(spread > 0.25)] = np.nan  # whole numbers that differ at all have at least 1 - 1/n
        out: Floats = np.clip(scatter / np.sqrt(spread[:, :, None] * spread[:, None, :]), -1.0, 1.0)
    i = np.arange(len(columns))
    out[:, i, i] = np.where(np.isnan(out[:, i, i]), np.nan, 1.0)
    return out


def _measured(kind: type[A], pair: Pair, matrices: Sequence[Floats], apart: Floats, said: Mapping[str, Any]) -> A:
    """Return the result of two matrices and of the differences by pair: of all records, then without each group."""
    defined = np.isfinite(apart[0])
    if not defined.any():
        return kind(value=None, why_not="no two columns have values in the same record", settings=said)
    differences = apart[0, defined]
    without = np.where(np.isfinite(apart[1:, defined]), apart[1:, defined], differences)
    value = float(np.abs(differences).mean())
    interval = None
    if len(without):
        interval = jackknife(value, np.abs(without).mean(axis=1), low=0.0, high=kind.most)
    first, second = matrices
    return kind(
        value=value,
        interval=interval,
        settings={**said, "pairs": int(defined.sum()), "interval": _INTERVAL if len(without) else _NO_INTERVAL},
        names=pair.names,
        original=first,
        synthetic=second,
        differences=differences,
        without=without,
    )


def _matrix(values: Floats, names: Sequence[str], usable: Sequence[str]) -> Floats:
    """Return the symmetric matrix of the values of all pairs of usable columns: 1 on the diagonal, NaN for other columns."""
    out = np.full((len(names), len(names)), np.nan)
    at = np.array([names.index(name) for name in usable])
    i, j = (at[index] for index in np.triu_indices(len(at), 1))
    out[i, j] = out[j, i] = values
    out[at, at] = 1.0
    return out


def _norms(apart: Floats, norm: Norm, where: NDArray[np.bool_]) -> Floats:
    """Return a norm of the differences (one set a row; `where` in the upper triangle they stand) over the number of pairs."""
    pairs = apart.shape[1]
    if norm != "spectral":
        root = np.sqrt((apart**2).sum(axis=1))
        return (root if norm == "frobenius" else np.sqrt(2.0) * root) / pairs
    size = round((1 + np.sqrt(1 + 8 * len(where))) / 2)
    i, j = (index[where] for index in np.triu_indices(size, 1))
    whole = np.zeros((len(apart), size, size))
    whole[:, i, j] = whole[:, j, i] = apart
    return np.abs(np.linalg.eigvalsh(whole)).max(axis=1) / pairs


def _check(bins: object, missing: object) -> None:
    whole = isinstance(bins, int) and not isinstance(bins, bool)
    if bins != "schema" and not (whole and 2 <= bins <= 10_000):  # type: ignore[operator]
        raise InputError(f"bins must be a whole number from 2 to 10,000, or 'schema'. Got {bins!r}.")
    if missing not in ("level", "drop"):
        raise unknown_name("way with missing values", missing, ("level", "drop"))


def _check_norm(norm: object) -> None:
    if norm not in NORMS:
        raise unknown_name("norm", norm, NORMS)


def _too_few(usable: Sequence[str], what: str) -> str:
    return f"it needs at least two columns that have {what}, and {len(usable) or 'none'} has"


def _plain(value: float) -> float | None:
    """Return a number for JSON: six decimals, None for NaN."""
    return round(float(value), 6) + 0.0 if np.isfinite(value) else None  # + 0.0: no minus zero
