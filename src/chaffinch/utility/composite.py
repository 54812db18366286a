"""G of Galloni et al., the weighted sum of mu and delta; and how all three move over a setting of a synthesiser, as their figures show it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import hypot
from typing import Any, ClassVar

import numpy as np

from .._base.checks import check_at_least, check_between
from .._base.errors import InputError
from .._base.options import settings_of
from .._base.results import PlainData, html_table, plain_form, to_plain
from .._base.runtime import Progress, silent
from .._base.seeds import Seed, child, seed_sequence
from ..stats.intervals import Result
from ..synth.protocol import TableGenerator
from ..table import Table
from .delta import delta
from .metric import METRICS, Distance, Metric, UtilityRun
from .mu import mu_from
from .phi_k import phi_k
from .settings import SweepSettings

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
        check_at_least(name, weight, 0, finite=True)
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
    check_between("share", share, 0, 1)
    for result in (mu, delta):
        if not result.value:
            why = result.reason or "it is 0, so there are no relations to lose"
            raise InputError(
                f"G has no baseline: {result.name} of independent columns is no scale: {why}. Name alpha and beta."
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


@dataclass(frozen=True)
class SweepRow:
    """The measures of one synthesis at one setting; None where one does not apply."""

    setting: float | str = ""
    copy: int = 1
    mu: float | None = None
    delta: float | None = None
    delta_tstr: float | None = None
    G: float | None = None


_MEASURED = ("mu", "delta", "delta_tstr", "G")


@dataclass(frozen=True)
class Sweep(PlainData):
    """mu, delta and G over a setting, several syntheses each: lower is better, identical tables score 0."""

    SUBJECT: ClassVar[str] = "'sweep'"

    setting: str = "setting"
    rows: tuple[SweepRow, ...] = field(
        default=(),
        metadata=plain_form(
            write=lambda sweep, rows: {"rows": rows, "means": sweep.means()}, spread=True
        ),
    )
    settings: Mapping[str, Any] = field(default_factory=dict)

    def means(self) -> list[dict[str, Any]]:
        """Return for each setting, in the order given, the means over its syntheses; None where nothing applies."""
        out = []
        for value in dict.fromkeys(row.setting for row in self.rows):
            rows = [row for row in self.rows if row.setting == value]
            out.append(
                {
                    "setting": value,
                    **{name: _mean([getattr(row, name) for row in rows]) for name in _MEASURED},
                }
            )
        return out

    def _repr_html_(self) -> str:
        rows = [
            ["" if v is None else f"{v:.4g}" if isinstance(v, float) else v for v in row.values()]
            for row in self.means()
        ]
        return html_table(
            [self.setting, *_MEASURED], rows, caption="Means over syntheses; lower is better"
        )


def sweep(
    original: Table,
    synthesisers: Mapping[Any, Any],
    *,
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
    measure_mu
        A function of both tables that returns the result to stand in the place of mu.
    options
        Those of `SweepSettings`, and of `delta`.
    """
    if not synthesisers:
        raise InputError("A sweep needs at least one synthesiser. Got none.")
    names = set(settings_of(SweepSettings)) & set(options)
    asked = SweepSettings.from_options(**{name: options.pop(name) for name in names})
    copies = asked.copies
    relations = _mu(asked.norm) if measure_mu is None else measure_mu
    root = seed_sequence(seed)
    rows, total = [], len(synthesisers) * copies
    for i, (value, synthesiser) in enumerate(synthesisers.items()):
        for copy in range(copies):
            index = i * copies + copy
            progress(f"{asked.setting} {value}, synthesis {copy + 1} of {copies}", index / total)
            seeds = (int(state) for state in child(root, 1, i, copy).generate_state(2))
            table = TableGenerator(synthesiser).synthesis(original, *seeds)

            def report_progress(doing: str, share: float, index: int = index) -> None:
                progress(doing, (index + max(share, 0.0)) / total)

            first = relations(original, table)
            second = delta(
                original, table, seed=child(root, 0), progress=report_progress, **options
            )
            both = composite(first, second, alpha=asked.alpha, beta=asked.beta)
            shown = value if isinstance(value, int | float | str) else str(value)
            rows.append(
                SweepRow(shown, copy + 1, first.value, second.value, second.tstr.value, both.value)
            )
    settings = {
        **to_plain(asked),
        "delta": dict(second.settings),
        "seed": seed if isinstance(seed, int) else None,
    }
    return Sweep(settings.pop("setting"), tuple(rows), settings)


def _mu(norm: str) -> Callable[[Table, Any], Result]:
    return lambda original, synthetic: mu_from(phi_k(original, synthetic), norm=norm)


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
