"""How mu, delta and G move over a setting of a synthesiser, as the figures of Galloni et al."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from .._base.errors import InputError
from .._base.results import from_plain, html_table, to_plain
from .._base.runtime import Progress, silent
from .._base.seeds import Seed, seed_sequence
from ..stats.result import Result
from ..stats.splits import child
from ..synth.generator import TableGenerator
from ..table.table import Table
from .composite import composite
from .delta import delta
from .mu import mu_from
from .phi_k import phi_k


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
class Sweep:
    """mu, delta and G over a setting, several syntheses each: lower is better, identical tables score 0."""

    setting: str = "setting"
    rows: tuple[SweepRow, ...] = ()
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

    def to_dict(self) -> dict[str, Any]:
        """Return the sweep as plain data."""
        return {
            "setting": self.setting,
            "rows": to_plain(self.rows),
            "means": self.means(),
            "settings": dict(self.settings),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Sweep:
        """Return the sweep that plain data hold."""
        return from_plain(cls, data, what="'sweep'")

    def _repr_html_(self) -> str:
        rows = [
            ["" if v is None else f"{v:.4g}" if isinstance(v, float) else v for v in row.values()]
            for row in self.means()
        ]
        return html_table(
            [self.setting, *_MEASURED], rows, caption="Means over syntheses; lower is better"
        )


@dataclass(frozen=True, kw_only=True)
class SweepSettings:
    """What the settings are called, how many syntheses each has, the weights of G and the norm of mu."""

    setting: str = "setting"
    copies: int = 3
    alpha: float = 1.0
    beta: float = 1.0
    norm: str = "frobenius"

    def __post_init__(self) -> None:
        if self.copies < 1:
            raise InputError(f"copies must be at least 1. Got {self.copies}.")


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
    own = {
        part.name: options.pop(part.name) for part in fields(SweepSettings) if part.name in options
    }
    asked = SweepSettings(**own)
    copies = asked.copies
    relations = _mu(asked.norm) if measure_mu is None else measure_mu
    root = seed_sequence(seed)
    rows, total = [], len(synthesisers) * copies
    for i, (value, synthesiser) in enumerate(synthesisers.items()):
        for copy in range(copies):
            at = i * copies + copy
            progress(f"{asked.setting} {value}, synthesis {copy + 1} of {copies}", at / total)
            seeds = (int(state) for state in child(root, 1, i, copy).generate_state(2))
            table = TableGenerator(synthesiser).synthesis(original, *seeds)

            def part(doing: str, share: float, at: int = at) -> None:
                progress(doing, (at + max(share, 0.0)) / total)

            first = relations(original, table)
            second = delta(original, table, seed=child(root, 0), progress=part, **options)
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
