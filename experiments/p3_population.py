"""The populations of P3's attacks and figures: Adult and Cardio as words, each combination of values once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from benchmarks.data import bundled
from chaffinch.table.schema import Column, Schema


def population(dataset: str) -> pd.DataFrame:
    """Return the records of a dataset as words, each combination once."""
    if dataset == "cardio":
        return bundled("cardio_binned").to_pandas().drop_duplicates().astype(str)
    frame = bundled("adult").to_pandas().dropna()
    frame = frame.drop(columns=["fnlwgt", "education_num", "capital_gain", "capital_loss"])
    for name in ("age", "hours_per_week"):
        frame[name] = (np.rint(frame[name] / 10) * 10).astype(int)
    return frame.drop_duplicates().astype(str)


def declared(frame: pd.DataFrame, rows: int) -> Schema:
    """Return a schema with the levels of a frame; that of the whole population stands for a public code book."""

    def order(level: Any) -> tuple[float, str]:
        return (float(level) if level.lstrip("-").isdigit() else 0.0, level)

    columns = (
        Column(c, "categorical", levels=tuple(sorted(frame[c].unique(), key=order))) for c in frame
    )
    return Schema(tuple(columns), public=True, rows=rows)
