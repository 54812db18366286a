"""mu of Galloni et al.: a norm of the difference of two phi_k matrices over the number of pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from .._base.arrays import Floats
from .._base.checks import check_name
from ..stats.intervals import jackknife
from ..table import Table
from .metric import METRICS, Distance, Metric, UtilityRun
from .phi_k import PhiK, phi_k
from .settings import Norm

NORMS: dict[str, str] = {
    "frobenius": "root of the summed squares over the upper triangle",
    "frobenius_full": "root of the summed squares over the whole matrix: sqrt(2) times the upper triangle's",
    "spectral": "largest singular value of the whole symmetric matrix",
}


@dataclass(frozen=True, kw_only=True, repr=False)
class Mu(Distance):
    """Distance mu of two phi_k matrices: a norm of their difference over the number of pairs.

    0 for identical tables. A norm over a count: mu shrinks about as 1/m with the number of columns m, so compare it between
    tables of the same columns only; the mean absolute difference (`PhiK.value`) does not shrink.
    """

    name: ClassVar[str] = "mu"
    decisive: ClassVar[tuple[str, ...]] = ("norm",)

    norm: str = "frobenius"


def mu(original: Table, synthetic: Any, *, norm: Norm = "frobenius", **options: Any) -> Mu:
    """Return mu: a norm of the difference of two phi_k matrices over the number of pairs, m(m - 1)/2; 0 if identical.

    Equation (2) of Galloni, Lendák and Horváth, "A Novel Evaluation Metric for Synthetic Data Generation" (2020).
    The paper does not say which norm it means. "frobenius" is over the upper triangle, "frobenius_full" over the whole
    matrix, "spectral" the largest singular value. `options` are those of `phi_k`; who needs both calls
    `mu_from(phi_k(...))` and counts once.

    Examples
    --------
    >>> import pyarrow as pa, chaffinch
    >>> table = chaffinch.read(pa.table({"a": ["x", "y"] * 40, "b": ["p", "q"] * 40}))
    >>> mu(table, pa.table({"a": ["x", "y"] * 40, "b": ["p", "p", "q", "q"] * 20})).value > 0.9
    True
    """
    check_name("norm", norm, NORMS)
    return mu_from(phi_k(original, synthetic, **options), norm=norm)


def mu_from(phi: PhiK, *, norm: str = "frobenius") -> Mu:
    """Return mu of phi_k matrices that are there already; see `mu`."""
    check_name("norm", norm, NORMS)
    settings = {"norm": norm, "norm_means": NORMS[norm], **phi.settings}
    if phi.value is None:
        return Mu(value=None, reason=phi.reason, norm=norm, settings=settings)
    where = np.isfinite(phi.synthetic - phi.original)[np.triu_indices(len(phi.names), 1)]
    value = float(_norms(phi.differences[None], norm, where)[0])
    interval = (
        jackknife(value, _norms(phi.without, norm, where), low=0.0) if len(phi.without) else None
    )
    return Mu(value=value, interval=interval, norm=norm, settings=settings)


def _norms(apart: Floats, norm: str, where: NDArray[np.bool_]) -> Floats:
    """Return a norm of the differences (one set a row; `where` in the upper triangle they stand) over the number of pairs."""
    pairs = apart.shape[1]
    if norm != "spectral":
        root = np.sqrt((apart**2).sum(axis=1))
        return (root if norm == "frobenius" else np.sqrt(2.0) * root) / pairs
    size = round((1 + np.sqrt(1 + 8 * len(where))) / 2)
    i, j = (index[where] for index in np.triu_indices(size, 1))
    matrices = np.zeros((len(apart), size, size))
    matrices[:, i, j] = matrices[:, j, i] = apart
    return np.abs(np.linalg.eigvalsh(matrices)).max(axis=1) / pairs


def _measure(run: UtilityRun, side: str) -> Mu:
    return mu_from(cast(PhiK, run.results["phi_k"][side]), norm=run.settings.norm)


METRICS.register(
    Metric(
        name="mu",
        kind=Mu,
        measure=_measure,
        derived_from=("phi_k",),
        group="relations",
        title="Relations of pairs (mu)",
        question="Are pairs of columns related as before, large differences weighing more?",
        definition="Norm of the difference of the two phi_k matrices, divided by the number of pairs of columns.",
        source="Galloni, Lendák and Horváth 2020, equation 2",
        phrases=(
            "The pattern of relations is almost that of the original",
            "The pattern of relations is roughly that of the original",
            "Much of the pattern of relations is lost",
            "The pattern of relations is lost",
        ),
        detail="mu is {value}; it shrinks as columns are added, so compare it between tables of the same columns only",
    )
)
