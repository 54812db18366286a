"""What is a model, by its class alone."""

from __future__ import annotations

import pandas as pd
import polars as pl

from chaffinch.synth import BayesNet, Independent
from chaffinch.table.read import is_model


def test_models_are_told_from_tables_and_settings():
    frame = pd.DataFrame({"a": [1, 2] * 19, "b": [1, 2] * 19})
    assert is_model(Independent().fit(frame))
    for other in (
        frame,
        pl.from_pandas(frame),
        Independent().fit(frame).sample(2),
        BayesNet(),
        None,
        3,
        "m.chaffinch",
    ):
        assert not is_model(other)
