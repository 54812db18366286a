"""P1's first experiment: outputs of all the data, a few datasets evolved from them, and how well they attack everyone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._base.progress import Progress, silent
from ..._base.seeds import Seed
from ..columns import Codes
from ..recipes import Recipes
from .attribution import CONVENTIONS, Attack, attributed
from .ensembles import Maker

__all__ = ["Whole", "whole_data"]


@dataclass(frozen=True)
class Whole:
    """TCAP against all the data, of datasets made from outputs of all the data.

    Parameters
    ----------
    sensitive, convention
        Which attack.
    runs
        How many datasets.
    mean, sd
        TCAP averaged over key sets: mean and standard deviation over datasets.
    full_mean, full_sd
        The same for the largest key set alone.
    error
        The mean absolute error of the outputs, over datasets.
    """

    sensitive: str
    convention: str
    runs: int
    mean: float
    sd: float
    full_mean: float
    full_sd: float
    error: float

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        numbers = {name: getattr(self, name) for name in ("mean", "sd", "full_mean", "full_sd", "error")}
        shown = {name: float(number) if np.isfinite(number) else None for name, number in numbers.items()}
        return {"sensitive": self.sensitive, "convention": self.convention, "runs": self.runs, **shown}


def whole_data(
    recipes: Recipes,
    codes: Codes,
    attacks: Sequence[Attack],
    maker: Maker,
    *,
    runs: int = 10,
    seed: Seed = None,
    threads: int | None = None,
    progress: Progress = silent,
) -> tuple[Whole, ...]:
    """Return what datasets made from the outputs of all the data give away: P1's experiment 1 (ten runs)."""
    ensemble = maker(recipes.spec(codes), copies=runs, seed=seed, progress=progress)
    found = []
    for attack in attacks:
        everyone = np.zeros(len(codes), dtype=np.int8)
        values = attributed(ensemble.datasets, codes, everyone, attack, threads=threads)
        for c, convention in enumerate(CONVENTIONS):
            means, full = values.means[:, 0, c], values.values[:, 0, c, -1]
            error = float(np.mean(ensemble.errors)) if ensemble.errors else float("nan")
            found.append(Whole(attack.sensitive, convention, runs, *_mean_sd(means), *_mean_sd(full), error))
    return tuple(found)


def _mean_sd(numbers: np.ndarray[Any, Any]) -> tuple[float, float]:
    known = numbers[np.isfinite(numbers)]
    if not len(known):
        return float("nan"), float("nan")
    return float(known.mean()), float(known.std(ddof=1)) if len(known) > 1 else float("nan")
