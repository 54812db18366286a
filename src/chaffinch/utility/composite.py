"""G of Galloni et al., the weighted sum of mu and delta, and how it moves over a setting of a synthesiser."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import hypot
from typing import Any, ClassVar

import numpy as np

from .._base.errors import InputError
from .._base.html import html_table
from .._base.progress import Progress, silent
from .._base.seeds import Seed, seed_sequence
from ..stats.result import Direction, Result
from ..stats.splits import child
from ..table.table import Table
from .association import Norm, mu_from, phi_k
from .delta import Delta, delta

__all__ = ["Delta", "G", "Sweep", "SweepRow", "composite", "delta", "sweep"]


@dataclass(frozen=True, kw_only=True, repr=False)
class G(Result):
    """alpha mu + beta delta (equation 4): how far a synthetic table is from the original in relations and in learning.

    A figure of worth; the privacy parameter at which a table was made is an index of it and no part of it.
    """

    name: ClassVar[str] = "G"
    direction: ClassVar[Direction] = "lower is better"
    identical: ClassVar[float] = 0.0

    alpha: float = 1.0
    beta: float = 1.0

    def details(self) -> dict[str, Any]:
        """Return the weights."""
        return {"alpha": self.alpha, "beta": self.beta}


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
        return G(value=None, why_not=f"{lacking.name} is not applicable: {lacking.why_not}", **same)
    value = alpha * mu.value + beta * delta.value
    if mu.interval is None or delta.interval is None:
        return G(value=value, **same)
    below, above = (
        hypot(alpha * (mu.value - mu.interval[end]), beta * (delta.value - delta.interval[end])) for end in (0, 1)
    )
    return G(value=value, interval=(max(0.0, value - below), value + above), **same)


@dataclass(frozen=True)
class SweepRow:
    """The measures of one synthesis at one setting; None where one does not apply."""

    setting: float | str
    copy: int
    mu: float | None
    delta: float | None
    delta_tstr: float | None
    G: float | None


_MEASURED = ("mu", "delta", "delta_tstr", "G")


@dataclass(frozen=True)
class Sweep:
    """mu, delta and G over a setting, several syntheses each: lower is better, identical tables score 0."""

    setting: str
    rows: tuple[SweepRow, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)

    def means(self) -> list[dict[str, Any]]:
        """Return for each setting, in the order given, the means over its syntheses; None where nothing applies."""
        out = []
        for value in dict.fromkeys(row.setting for row in self.rows):
            held = [row for row in self.rows if row.setting == value]
            out.append({"setting": value, **{name: _mean([getattr(row, name) for row in held]) for name in _MEASURED}})
        return out

    def to_dict(self) -> dict[str, Any]:
        """Return the sweep as plain data."""
        return {
            "setting": self.setting,
            "rows": [vars(row).copy() for row in self.rows],
            "means": self.means(),
            "settings": dict(self.settings),
        }

    def _repr_html_(self) -> str:
        rows = [
            ["" if v is None else f"{v:.4g}" if isinstance(v, float) else v for v in row.values()]
            for row in self.means()
        ]
        return html_table([self.setting, *_MEASURED], rows, caption="Means over syntheses; lower is better")


def sweep(
    original: Table,
    synthesisers: Mapping[Any, Any],
    *,
    setting: str = "setting",
    copies: int = 3,
    alpha: float = 1.0,
    beta: float = 1.0,
    norm: Norm = "frobenius",
    measure_mu: Callable[[Table, Any], Result] | None = None,
    seed: Seed = None,
    progress: Progress = silent,
    **options: Any,
) -> Sweep:
    """Return mu, delta and G of several syntheses at each setting, as the figures of Galloni et al.

    Each synthesis has as many rows as the original and random streams of its own. Splits for delta are the same for
    all, so that settings differ by their tables alone.

    Parameters
    ----------
    synthesisers
        By setting (a number such as epsilon, or a word): something with `fit(table, seed=...)` whose model has
        `sample(n_rows, seed=...)`, or a function `(table, seed) -> table`.
    setting
        What the settings are called.
    copies
        Syntheses for each setting.
    norm, measure_mu
        The norm of mu; or a function of both tables that returns the result to stand in its place.
    options
        Passed to `delta`.
    """
    if not synthesisers:
        raise InputError("A sweep needs at least one synthesiser. Got none.")
    if copies < 1:
        raise InputError(f"copies must be at least 1. Got {copies}.")
    relations = _mu(norm) if measure_mu is None else measure_mu
    root = seed_sequence(seed)
    rows, total = [], len(synthesisers) * copies
    for i, (value, synthesiser) in enumerate(synthesisers.items()):
        for copy in range(copies):
            at = i * copies + copy
            progress(f"{setting} {value}, synthesis {copy + 1} of {copies}", at / total)
            table = _synthesis(synthesiser, original, child(root, 1, i, copy))

            def part(doing: str, share: float, at: int = at) -> None:
                progress(doing, (at + max(share, 0.0)) / total)

            first = relations(original, table)
            second = delta(original, table, seed=child(root, 0), progress=part, **options)
            both = composite(first, second, alpha=alpha, beta=beta)
            shown = value if isinstance(value, int | float | str) else str(value)
            rows.append(SweepRow(shown, copy + 1, first.value, second.value, second.tstr.value, both.value))
    settings = {"copies": copies, "alpha": alpha, "beta": beta, "norm": norm, "delta": dict(second.settings)}
    return Sweep(setting, tuple(rows), {**settings, "seed": seed if isinstance(seed, int) else None})


def _mu(norm: Norm) -> Callable[[Table, Any], Result]:
    return lambda original, synthetic: mu_from(phi_k(original, synthetic), norm=norm)


def _synthesis(synthesiser: Any, original: Table, stream: np.random.SeedSequence) -> Any:
    """Return one synthetic table; whole numbers as seeds, since that is what any generator takes."""
    first, second = (int(state) for state in stream.generate_state(2))
    if hasattr(synthesiser, "fit"):
        return synthesiser.fit(original, seed=first).sample(original.n_rows, seed=second)
    if callable(synthesiser):
        return synthesiser(original, first)
    raise InputError(
        f"A synthesiser needs a fit, or is a function (table, seed) -> table. Got {type(synthesiser).__name__}."
    )


def _mean(values: list[float | None]) -> float | None:
    held = [value for value in values if value is not None]
    return float(np.mean(held)) if held else None
