"""Histograms: numpy's counts."""

from __future__ import annotations

from typing import Any

import numpy as np


def test_histograms_count_as_numpy_does(cmc: Any, check: Any) -> None:
    counts, edges = np.histogram(cmc.frame["wife_age"], bins=[15, 20, 30, 40, 49])
    spec = cmc.spec(
        {"kind": "histogram", "of": "wife_age", "edges": edges.tolist(), "counts": counts.tolist()}
    )
    assert check(spec, cmc.codes()) == []
    older = cmc.frame.copy()
    older["wife_age"] = np.minimum(older["wife_age"] + 1, 49)
    assert check(spec, cmc.codes(older)) == ["o0"]
