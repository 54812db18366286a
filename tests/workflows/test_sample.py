"""Rows of a saved model into a file."""

from __future__ import annotations

import pandas as pd

import chaffinch as cf
from chaffinch.workflows.run import RunOptions
from chaffinch.workflows.synthesise import sample_to_file


def test_the_file_is_what_the_model_draws(tmp_path):
    table = pd.DataFrame({"a": ["x", "y"] * 40, "b": ["p", "q", "q", "p"] * 20})
    model = cf.BayesNet(parents=1).fit(table, seed=1)
    model.save(tmp_path / "m.chaffinch")
    result = sample_to_file(
        tmp_path / "m.chaffinch",
        tmp_path / "o.csv",
        rows=30,
        given={"a": "x"},
        run=RunOptions(seed=2),
    )
    assert result.to_dict()["given"] == ["a"]
    assert set(result.to_dict()["run"]["seconds"]) == {"sample", "write"}
    drawn = model.sample(30, seed=2, given={"a": "x"}).to_pandas()
    assert pd.read_csv(tmp_path / "o.csv").to_numpy().tolist() == drawn.to_numpy().tolist()
