"""phi_k: how strongly pairs of columns hang together in two tables, of whatever kind the columns are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from .._base.errors import InputError, unknown_name
from ..stats.pair import pair_up
from ..table.groups import GROUPS
from ..table.long import LongTable
from ..table.table import Table
from .association import Association, associated, too_few
from .metric import METRICS, Metric
from .phi_k_grid import batches, grid_of, phi_k_of_pairs

Floats = NDArray[np.float64]
Missing = Literal["level", "drop"]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class PhiK(Association):
    """phi_k matrices of two tables on one grid; the value is the mean absolute difference over pairs, 0 to 1."""

    name: ClassVar[str] = "phi_k"
    most: ClassVar[float] = 1.0


def phi_k(
    original: Table | LongTable,
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
    settings = {
        "bins": bins,
        "missing": missing,
        "noise_correction": noise_correction,
        "columns": len(grid.usable),
        "left_out": [name for name in pair.names if name not in grid.usable],
    }
    if len(grid.usable) < 2:
        return PhiK(
            value=None,
            reason=too_few(grid.usable, "two levels or more on the shared grid"),
            settings=settings,
        )
    values = np.concatenate(
        [phi_k_of_pairs(grid, batch, noise_correction) for batch in batches(grid)], axis=2
    )
    matrices = [_matrix(side[0], pair.names, grid.usable) for side in values]
    return associated(PhiK, pair, matrices, values[1] - values[0], settings)


def _matrix(values: Floats, names: Sequence[str], usable: Sequence[str]) -> Floats:
    """Return the symmetric matrix of the values of all pairs of usable columns: 1 on the diagonal, NaN for other columns."""
    out = np.full((len(names), len(names)), np.nan)
    at = np.array([names.index(name) for name in usable])
    i, j = (at[index] for index in np.triu_indices(len(at), 1))
    out[i, j] = out[j, i] = values
    out[at, at] = 1.0
    return out


def _check(bins: object, missing: object) -> None:
    whole = isinstance(bins, int) and not isinstance(bins, bool)
    if bins != "schema" and not (whole and 2 <= bins <= 10_000):  # type: ignore[operator]
        raise InputError(
            f"bins must be a whole number from 2 to 10,000, or 'schema'. Got {bins!r}."
        )
    if missing not in ("level", "drop"):
        raise unknown_name("way with missing values", missing, ("level", "drop"))


METRICS.register(
    Metric(
        name="phi_k",
        kind=PhiK,
        measure=lambda run, side: phi_k(run.original, run.tables[side]),
        counted=True,
        doing="comparing pairs of columns",
        group="relations",
        title="Relations of pairs (phi_k)",
        question="Are pairs of columns related as strongly as before?",
        definition="Mean absolute difference of the correlation coefficient phi_k over all pairs of columns, on bins shared by both tables.",
        source="Baak, Koopman, Snoek and Klous 2020, Computational Statistics and Data Analysis 152",
        phrases=(
            "Pairs of columns are related almost as in the original",
            "Pairs of columns are related roughly as in the original",
            "Much of how pairs of columns are related is lost",
            "How pairs of columns are related is lost",
        ),
        detail="on average phi_k differs by {value}",
        limits=(0.02, 0.05, 0.1),
    )
)
