"""G of Galloni et al.: the weighted sum of mu and delta."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import hypot
from typing import Any, ClassVar

from .._base.errors import InputError
from ..stats.result import Result
from .metric import METRICS, Distance, Metric, UtilityRun

SHARE = 0.5
"""What a table of independent columns owes to its lost relations, of a G that is 1 for it; learning owes the rest."""


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
        hypot(alpha * (mu.value - mu.interval[end]), beta * (delta.value - delta.interval[end]))
        for end in (0, 1)
    )
    return G(value=value, interval=(max(0.0, value - below), value + above), **same)


def baseline_weights(mu: Result, delta: Result, *, share: float = SHARE) -> tuple[float, float]:
    """Return alpha and beta with which G is 1 for a table of independent columns, from what such a table scores.

    mu is a norm over a number of pairs and delta a difference of error rates: with equal weights delta decides G, and by how much depends on
    the number of columns. Here `share` of G is how much of the relations is lost, the rest how much of what can be learnt: alpha = share / mu,
    beta = (1 - share) / delta. Galloni et al. leave the weights to further work; `experiments/p4_composite` has what this rule does.

    Raises
    ------
    InputError
        If share is not between 0 and 1, or the original has no relations to lose: mu or delta of independent columns is 0 or not applicable.

    Examples
    --------
    >>> from chaffinch.utility.metric import Distance
    >>> class Part(Distance):
    ...     name = "part"
    >>> baseline_weights(Part(value=0.02), Part(value=0.25))
    (25.0, 2.0)
    """
    if not 0 <= share <= 1:
        raise InputError(f"share must be a number from 0 to 1. Got {share}.")
    for part in (mu, delta):
        if not part.value:
            why = part.reason or "it is 0, so there are no relations to lose"
            raise InputError(
                f"G has no baseline: {part.name} of independent columns is no scale: {why}. Name alpha and beta."
            )
    assert mu.value
    assert delta.value
    return share / mu.value, (1 - share) / delta.value


def _measure(run: UtilityRun, side: str) -> G:
    mu, delta = (run.results[name] for name in ("mu", "delta"))
    alpha, beta = run.settings.alpha, run.settings.beta
    if run.settings.weights == "baselines":
        try:
            alpha, beta = baseline_weights(mu["marginals"], delta["marginals"])
        except InputError as error:
            return G(
                value=None, reason=str(error).removesuffix("."), settings={"weights": "baselines"}
            )
    result = composite(mu[side], delta[side], alpha=alpha, beta=beta)
    return replace(result, settings={**result.settings, "weights": run.settings.weights})


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
