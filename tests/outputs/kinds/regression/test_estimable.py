"""Whether a regression has an estimate: two ways to decide it agree."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch.outputs.kinds.regression import computing


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["logit", "poisson", "multinomial"]),
    st.integers(4, 30),
)
@settings(max_examples=80, deadline=None)
def test_newton_and_the_linear_programme_agree_on_separation(
    seed: int, family: Any, rows: int
) -> None:
    rng = np.random.default_rng(seed)
    x = np.column_stack(
        [np.ones(rows), rng.integers(0, 2, (rows, 2)), rng.normal(size=rows).round(1)]
    )
    x /= np.abs(x).max(axis=0).clip(1e-9)
    y = rng.integers(0, 3 if family == "multinomial" else 2, rows).astype(float)
    if np.linalg.matrix_rank(x) == x.shape[1] and len(set(y)) == (
        3 if family == "multinomial" else 2
    ):
        by_newton = computing._by_newton(x, y, family)
        assert by_newton is None or bool(by_newton) == bool(computing._by_programme(x, y, family))
