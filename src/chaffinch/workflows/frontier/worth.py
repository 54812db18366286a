"""What a table is worth for a purpose: for each fold a number, over all folds a value with an interval."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..._base.errors import ChaffinchError
from ...report.frontier_result import WorthFigure
from ...stats.intervals import jackknife, mean_interval
from ...table.align import align
from ...table.table import Table
from ...utility.person_scores import person_scores
from ...utility.phi_k import phi_k
from ...utility.pmse import pmse
from ...utility.regression import regression
from ...utility.tvd import marginal_distance
from .settings import FrontierSettings

TITLES = {
    "accuracy": "accuracy of learnt models",
    "r2": "R2 of learnt models",
    "regression": "overlap of the regression's intervals",
    "tables": "distance of the named tables",
    "tvd_2": "distance of tables of two columns",
    "tvd_3": "distance of tables of three columns",
    "phi_k": "distance of relations (phi_k)",
    "pmse": "ease of telling rows apart (pMSE ratio)",
}
"""What each worth is, in words."""

GROUPS = 10
"""Groups of records that are left out in turn for the interval of a regression's overlap."""

Interval = tuple[float, float] | None
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MadeTable:
    """A table, whom it was made of, and people it was not made of, all with all columns."""

    members: Table
    table: Any
    others: Table


def filled(made: Any, members: Table) -> Any:
    """Return a table with the columns that were left out of it, each with the commonest value for everybody: what somebody without them would guess."""
    missing = [name for name in members.schema.names if name not in made.schema.names]
    if not missing:
        return made
    data = made.data
    for name in missing:
        counts = pc.value_counts(members.data.column(name).combine_chunks())
        common = counts.field("values")[int(np.argmax(counts.field("counts")))]
        data = data.append_column(members.data.schema.field(name), pa.repeat(common, made.n_rows))
    return data.select([name for name in members.schema.names if name in data.column_names])


def worth_figures(
    folds: Sequence[MadeTable], settings: FrontierSettings, seed: np.random.SeedSequence
) -> tuple[tuple[WorthFigure, ...], Floats]:
    """Return the worth of tables for each purpose, and for a label how well each person's was predicted: for paired differences."""
    out, scores = [], np.empty(0)
    for name in settings.worths:
        if name == "accuracy":
            figure, scores = _learnt(folds, settings, seed)
        else:
            figure = _measured(name, folds, settings, seed)
        out.append(figure)
    return tuple(out), scores


def _learnt(
    folds: Sequence[MadeTable], settings: FrontierSettings, seed: np.random.SeedSequence
) -> tuple[WorthFigure, Floats]:
    """Models learn from the table and predict people it was not made of."""
    assert settings.label is not None
    parts = [
        person_scores(fold.members, fold.table, fold.others, label=settings.label, seed=seed)
        for fold in folds
    ]
    title = TITLES["r2" if parts[0].task == "regression" else "accuracy"]
    if reason := next((part.reason for part in parts if part.reason), ""):
        return WorthFigure(name="accuracy", title=title, reason=reason), np.empty(0)
    scores = np.concatenate([part.scores for part in parts])
    return WorthFigure(
        name="accuracy",
        title=title,
        value=float(scores.mean()),
        interval=mean_interval(scores),  # type: ignore[arg-type]
    ), scores


def _measured(
    name: str, folds: Sequence[MadeTable], settings: FrontierSettings, seed: np.random.SeedSequence
) -> WorthFigure:
    """A measure of how near the table is to whom it was made of, its mean over folds, whose people have nobody in common."""
    measure: dict[str, Callable[[MadeTable], tuple[float | None, Interval, str]]] = {
        "tables": lambda fold: _plain(
            marginal_distance(fold.members, fold.table, cliques=settings.tables)
        ),
        "tvd_2": lambda fold: _plain(
            marginal_distance(fold.members, fold.table, width=2, seed=seed)
        ),
        "tvd_3": lambda fold: _plain(
            marginal_distance(fold.members, fold.table, width=3, seed=seed)
        ),
        "phi_k": lambda fold: _plain(phi_k(fold.members, fold.table)),
        "pmse": lambda fold: _plain(pmse(fold.members, fold.table, seed=seed)),
        "regression": lambda fold: _overlap(fold, settings),
    }
    same: dict[str, Any] = {"name": name, "title": TITLES[name], "higher": name == "regression"}
    parts = [measure[name](fold) for fold in folds]
    values = [value for value, _, _ in parts if value is not None]
    if len(values) < len(parts):
        return WorthFigure(reason=next(reason for _, _, reason in parts if reason), **same)
    value = float(np.mean(values))
    halves = [(ends[1] - ends[0]) / 2 for _, ends, _ in parts if ends is not None]
    half = sqrt(sum(one**2 for one in halves)) / len(parts) if len(halves) == len(parts) else None
    return WorthFigure(
        value=value, interval=None if half is None else (value - half, value + half), **same
    )


def _plain(result: Any) -> tuple[float | None, Interval, str]:
    return result.value, result.interval, result.reason or "there is no value"


def _overlap(fold: MadeTable, settings: FrontierSettings) -> tuple[float | None, Interval, str]:
    """The overlap of a regression's intervals; its own interval from leaving out groups of records of both tables in turn."""
    members, table = align(fold.members, fold.table)

    def overlap(first: Table, second: Table) -> tuple[float | None, str]:
        result = regression(first, second, settings.formula or "", threshold=settings.threshold)
        return result.value, result.reason or "there is no value"

    value, reason = overlap(members, table)
    if value is None:
        return None, None, reason
    without = []
    for group in range(GROUPS):
        parts = [
            one.take(np.flatnonzero(np.arange(one.n_rows) % GROUPS != group))
            for one in (members, table)
        ]
        try:
            left, _ = overlap(parts[0], parts[1])
        except ChaffinchError:
            left = None
        without += [] if left is None else [left]
    return value, jackknife(value, without, high=1.0) if len(without) == GROUPS else None, ""
