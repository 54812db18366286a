"""The first experiment of Elliot, Little and Allmendinger: outputs of all the data, a few datasets evolved from them, and how well they attack everyone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._base.results import Number
from ..._base.runtime import Progress, silent
from ..._base.seeds import seed_sequence
from .assessment import CheckRun
from .attribution import CONVENTIONS, ensemble_tcap


@dataclass(frozen=True)
class WholeDataRisk:
    """TCAP against all the data, of datasets made from outputs of all the data."""

    sensitive: str
    convention: str
    runs: int
    # mean, sd: TCAP averaged over key sets: mean and standard deviation over datasets
    mean: Number
    sd: Number
    # full_mean, full_sd: The same for the largest key set alone
    full_mean: Number
    full_sd: Number
    error: Number  # The mean absolute error of the outputs, over datasets


def whole_data(
    run: CheckRun, *, runs: int = 10, progress: Progress = silent
) -> tuple[WholeDataRisk, ...]:
    """Return what datasets made from the outputs of all the data give away (the paper has ten runs): of those that every fold gives.

    InputError where all the data cannot give one of them.
    """
    codes, seed = run.codes, seed_sequence(run.entropy).spawn(5)[4]
    spec = run.begun(run.recipes.computed(codes, only=run.specs[0].names), codes)
    ensemble = run.maker(spec, copies=runs, seed=seed, progress=progress)
    risks = []
    for attack in run.attacks:
        everyone = np.zeros(len(codes), dtype=np.int8)
        values = ensemble_tcap(ensemble.datasets, codes, everyone, attack, threads=run.threads)
        for c, convention in enumerate(CONVENTIONS):
            means, full = values.means[:, 0, c], values.values[:, 0, c, -1]
            error = float(np.mean(ensemble.errors)) if ensemble.errors else float("nan")
            risks.append(
                WholeDataRisk(
                    attack.sensitive, convention, runs, *_mean_sd(means), *_mean_sd(full), error
                )
            )
    return tuple(risks)


def _mean_sd(numbers: np.ndarray[Any, Any]) -> tuple[float, float]:
    known = numbers[np.isfinite(numbers)]
    if not len(known):
        return float("nan"), float("nan")
    return float(known.mean()), float(known.std(ddof=1)) if len(known) > 1 else float("nan")
