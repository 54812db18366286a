"""A synthesis: rows in bounded memory, what is held and written, the order of reading, checking and charging; in one line; and from a model file."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import chaffinch
import chaffinch as cf
from chaffinch.errors import InputError
from chaffinch.workflows.engines import engine_of
from chaffinch.workflows.local import copy_paths, write_batches
from chaffinch.workflows.run import Observer, RunOptions
from chaffinch.workflows.synthesise import Synthesis, SynthesisSettings, draw_sample

TABLE = pd.DataFrame({"a": ["x", "y"] * 40, "b": ["p", "q", "q", "p"] * 20})


class Heard(Observer):
    def __init__(self):
        self.said = []

    def before_reading(self, choice):
        self.said.append("before reading")

    def after_reading(self, table):
        self.said.append("after reading")


def test_options_are_checked_before_what_was_read_is_told():
    heard = Heard()
    synthesis = Synthesis(
        SynthesisSettings(method=cf.Independent()), RunOptions(seed=1, observer=heard)
    )
    synthesis.read(TABLE, lambda schema: heard.said.append(f"check {', '.join(schema.names)}"))
    assert heard.said == ["before reading", "check a, b", "after reading"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rows": -1}, "at least 0"),
        ({"copies": 0}, "at least 1"),
        ({"rows": 3, "keep": ("a",)}, "keep completes"),
        ({"ledger": "l.json"}, "give epsilon too"),
    ],
)
def test_what_contradicts_itself_is_refused(options, words):
    with pytest.raises(InputError, match=words):
        SynthesisSettings.from_options(method=cf.Independent(), **options)


def typed_people(n: int = 200) -> pd.DataFrame:
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
    frame = typed_people()
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
    frame = typed_people().assign(year=np.tile([2001, 2002], 100)).set_index("year")
    drawn = chaffinch.synthesise(frame, seed=1)
    assert drawn.index.name == "year"
    assert set(drawn.index) == {2001, 2002}
    both = (
        typed_people()
        .assign(year=np.tile([2001, 2002], 100), area=np.repeat(["n", "s"], 100))
        .set_index(["area", "year"])
    )
    assert chaffinch.synthesise(both, seed=1).index.names == ["area", "year"]
    plain = chaffinch.synthesise(typed_people().iloc[::-1], seed=1)
    assert plain.index.equals(pd.RangeIndex(200)), "an index without a name numbers rows"


def test_a_panel_by_its_index():
    frame = (
        typed_people(400)
        .assign(who=np.repeat(np.arange(100), 4), wave=np.tile(np.arange(4), 100))
        .set_index(["who", "wave"])
    )
    drawn = chaffinch.synthesise(frame, person="who", order="wave", seed=1)
    assert drawn.index.names == ["who", "wave"]
    assert drawn.groupby("who").size().eq(4).mean() > 0.95


def test_settings_reach_the_fit():
    frame = typed_people()
    one = chaffinch.synthesise(frame, method=chaffinch.BayesNet(parents=1), seed=1)
    assert one.equals(chaffinch.synthesise(frame, method=chaffinch.BayesNet(parents=1), seed=1))
    with pytest.raises(chaffinch.errors.UnknownNameError, match="'agee'"):
        chaffinch.synthesise(frame, label="agee", sensitive=["sex"])


def test_the_file_is_what_the_model_draws(tmp_path):
    table = pd.DataFrame({"a": ["x", "y"] * 40, "b": ["p", "q", "q", "p"] * 20})
    model = cf.BayesNet(parents=1).fit(table, seed=1)
    model.save(tmp_path / "m.chaffinch")
    result = draw_sample(
        tmp_path / "m.chaffinch",
        tmp_path / "o.csv",
        engine=engine_of("auto"),
        rows=30,
        given={"a": "x"},
        run=RunOptions(seed=2),
    )
    assert result.to_dict()["given"] == ["a"]
    assert set(result.to_dict()["run"]["seconds"]) == {"sample", "write"}
    drawn = model.sample(30, seed=2, given={"a": "x"}).to_pandas()
    assert pd.read_csv(tmp_path / "o.csv").to_numpy().tolist() == drawn.to_numpy().tolist()


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
def test_a_table_that_is_held_is_written_as_if_drawn_into_its_file(tmp_path, ending):
    settings = SynthesisSettings(method=cf.Independent(), rows=70_000, copies=2)
    outputs = copy_paths(tmp_path / f"o.{ending}", 2)
    synthesis = Synthesis(settings, RunOptions(seed=1), outputs)
    synthesis.read(TABLE)
    model = synthesis.fit()
    tables = synthesis.draw(model, hold=1)
    assert [len(held) for held in tables] == [70_000]
    write_batches(tables[0], tmp_path / f"again.{ending}")
    assert (tmp_path / f"again.{ending}").read_bytes() == outputs[0].read_bytes()
    assert outputs[0].read_bytes() != outputs[1].read_bytes()
    account = synthesis.account(model)
    assert len(account.rows_equal_to_an_original) == account.copies == 2


def test_versions_a_date_and_the_command_where_there_is_one():
    facts = RunOptions().facts
    assert facts["versions"]["chaffinch"] == chaffinch.__version__
    assert facts["date"].endswith("UTC")
    assert "command" not in facts
    assert RunOptions(command="chaffinch release").facts["command"] == "chaffinch release"
