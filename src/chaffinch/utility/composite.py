"""G of Galloni et al.: the weighted sum of mu and delta."""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot
from typing import Any, ClassVar

from .._base.errors import InputError
from ..stats.result import Result
from .metric import METRICS, Distance, Metric, UtilityRun

__all__ = ["G", "composite"]


@dataclass(frozen=True, kw_only=True, repr=False)
class G(Distance):
    """alpha mu + beta delta (equation 4): how far a synthetic table is from the original in relations and in learning.

    A figure of worth; the privacy parameter at which a table was made is an index of it and no part of it.
    """

    name: ClassVar[str] = "G"
    decisive: ClassVar[tuple[str, ...]] = ("alpha", "beta")

    alpha: float = 1.0
    beta: float = 1.0


def composite(mu: Result, delta: Result, *, alpha: float = 1.0, beta: float = 1.0) -> G:
    """Return G, the weighted sum of mu and delta, with an interval where both have one.

    Distances from the value to the ends of the parts' intervals are weighted, squared and added, as for independent parts.
    """
    for name, weight in (("alpha", alpha), ("beta", beta)):
        if not weight >= 0 or weight == float("inf"):
            raise InputError(f"{name} must be a number of at least 0. Got {weight}.")
    settings = {
        "alpha": alpha,
        "beta": beta,
        "interval": "half-widths of mu and delta, weighted, squared and added as for independent parts",
    }
    same: dict[str, Any] = {"alpha": alpha, "beta": beta, "settings": settings}
    if mu.value is None or delta.value is None:
        lacking = mu if mu.value is None else delta
        return G(value=None, reason=f"{lacking.name} is not applicable: {lacking.reason}", **same)
    value = alpha * mu.value + beta * delta.value
    if mu.interval is None or delta.interval is None:
        return G(value=value, **same)
    below, above = (
        hypot(alpha * (mu.value - mu.interval[end]), beta * (delta.value - delta.interval[end])) for end in (0, 1)
    )
    return G(value=value, interval=(max(0.0, value - below), value + above), **same)


def _measure(run: UtilityRun, side: str) -> G:
    parts = (run.results[name][side] for name in ("mu", "delta"))
    return composite(*parts, alpha=run.settings.alpha, beta=run.settings.beta)


METRICS.register(
    Metric(
        name="G",
        kind=G,
        measure=_measure,
        derived_from=("mu", "delta"),
        group="uses",
        title="Relations and learning together (G)",
        question="Both at once, as one number for comparing syntheses?",
        definition="alpha mu + beta delta.",
        source="Galloni, Lendák and Horváth 2020, equation 4",
        phrases=(
            "Relations and learning together are almost as in the original",
            "Relations and learning together are roughly as in the original",
            "Relations and learning together are far from the original",
            "Relations and learning together are lost",
        ),
        detail="G is {value}; use it to compare syntheses of the same table, not by itself",
    )
)
