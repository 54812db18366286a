"""One setting at a time: mu, delta, G and what is given away over its values, as the figures of Galloni et al. with risk beside worth."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..._base.runtime import Progress, silent
from ..._base.seeds import child
from ...report.frontier_result import CandidateSettings, SettingCurve
from ...stats.learners import QUICK
from ...utility.composite import sweep
from ..synthesise import synthesiser_for
from .evaluate import FrontierStudy

COPIES, MOST_ROWS = 2, 4000
"""Syntheses at each value, and records that mu and delta are measured on at most: delta learns every column in turn."""

_STREAM = 31


def curve_of(
    study: FrontierStudy, name: str, base: CandidateSettings, *, progress: Progress = silent
) -> SettingCurve:
    """Return mu, delta, G and the largest excess at each value of a setting, all other settings as they are in `base`.

    mu, delta and G are of syntheses of people of the search, at most 4,000 records, and of their usual definition: lower is better. The excess is of
    the whole part, as in the search.
    """
    values = study.space.values(name)
    settings = {_label(value): replace(base, **{name: value}) for value in values}
    rng = np.random.default_rng(child(study.root, _STREAM))
    some = np.sort(rng.permutation(len(study.search.folds[0].members))[:MOST_ROWS])
    number = int(child(study.root, _STREAM, 1).generate_state(1)[0] % (1 << 31))
    rows: list[dict[str, Any]] = []
    for label, candidate in settings.items():
        table = study.coded(candidate, study.search, 0).take(some)
        maker = synthesiser_for(candidate.synthesiser(study.settings.label), table.schema)
        measured = sweep(
            table,
            {label: maker},
            setting=name,
            copies=COPIES,
            models=QUICK,
            repeats=1,
            seed=number,
            progress=progress,
        )
        evaluation = study.evaluate(candidate).evaluation
        means = measured.means()[0]
        figure = evaluation.worth_of(study.settings.worths[0])
        rows.append(
            {
                "value": label,
                "mu": means["mu"],
                "delta": means["delta"],
                "G": means["G"],
                "risk": evaluation.risk.estimate,
                "lower": evaluation.risk.lower,
                "upper": evaluation.risk.upper,
                "worth": figure.value,
                "failure": evaluation.failure,
            }
        )
    return SettingCurve(setting=name, base=base, rows=tuple(rows))


def _label(value: Any) -> float | str:
    return "default" if value is None else value
