"""A synthetic table in one line, of the kind that came in."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import chaffinch


def people(n: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "sex": pd.Categorical(rng.choice(["f", "m"], n)),
            "age": pd.array(rng.integers(20, 60, n), dtype="Int16"),
            "ill": pd.array(rng.random(n) < 0.3, dtype="boolean"),
            "town": pd.array(rng.choice(["a", "b"], n), dtype="string"),
        }
    )


def test_what_came_in_comes_out(tmp_path):
    frame = people()
    drawn = chaffinch.synthesise(frame, seed=1)
    assert isinstance(drawn, pd.DataFrame)
    assert (drawn.dtypes == frame.dtypes).all()
    assert len(drawn) == 200
    assert isinstance(chaffinch.synthesise(pl.from_pandas(frame), seed=1, rows=5), pl.DataFrame)
    assert isinstance(chaffinch.synthesise(pa.table(frame), seed=1, rows=5), pa.Table)
    frame.to_parquet(tmp_path / "people.parquet")
    assert isinstance(
        chaffinch.synthesise(tmp_path / "people.parquet", seed=1, rows=5), chaffinch.Table
    )


def test_a_named_index_stays_an_index():
    frame = people().assign(year=np.tile([2001, 2002], 100)).set_index("year")
    drawn = chaffinch.synthesise(frame, seed=1)
    assert drawn.index.name == "year"
    assert set(drawn.index) == {2001, 2002}
    both = (
        people()
        .assign(year=np.tile([2001, 2002], 100), area=np.repeat(["n", "s"], 100))
        .set_index(["area", "year"])
    )
    assert chaffinch.synthesise(both, seed=1).index.names == ["area", "year"]
    plain = chaffinch.synthesise(people().iloc[::-1], seed=1)
    assert plain.index.equals(pd.RangeIndex(200)), "an index without a name numbers rows"


def test_a_panel_by_its_index():
    frame = (
        people(400)
        .assign(who=np.repeat(np.arange(100), 4), wave=np.tile(np.arange(4), 100))
        .set_index(["who", "wave"])
    )
    drawn = chaffinch.synthesise(frame, person="who", order="wave", seed=1)
    assert drawn.index.names == ["who", "wave"]
    assert drawn.groupby("who").size().eq(4).mean() > 0.95


def test_settings_reach_the_fit():
    frame = people()
    one = chaffinch.synthesise(frame, method=chaffinch.BayesNet(parents=1), seed=1)
    assert one.equals(chaffinch.synthesise(frame, method=chaffinch.BayesNet(parents=1), seed=1))
    with pytest.raises(chaffinch.errors.InputError, match="must be a list of names"):
        chaffinch.synthesise(frame, sensitive="sex")
    with pytest.raises(chaffinch.errors.UnknownNameError, match="'agee'"):
        chaffinch.synthesise(frame, label="agee", sensitive=["sex"])
