"""What a fit may be given: every kind of table, counters, prepared data; and clear words for everything else."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import chaffinch
from chaffinch import BayesNet, FieldGroups, Independent, PrivBayes
from chaffinch._base.errors import InputError
from chaffinch.cli.app import app
from chaffinch.counts import StreamCounter
from chaffinch.synth.data import FEWEST_ROWS


def frame(n: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    ill = rng.random(n) < 0.3
    return pd.DataFrame(
        {
            "sex": pd.Categorical(rng.choice(["f", "m"], n)),
            "age": pd.array(
                np.where(rng.random(n) < 0.1, None, rng.integers(20, 60, n)), dtype="Int32"
            ),
            "ill": pd.array(ill, dtype="boolean"),
            "area": pd.array(np.where(ill, "north", "south"), dtype="string"),
        }
    )


KINDS = {
    "pandas": (frame, pd.DataFrame),
    "polars": (lambda: pl.from_pandas(frame()), pl.DataFrame),
    "arrow": (lambda: pa.table(frame()), pa.Table),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("settings", [BayesNet(parents=2), Independent()], ids=repr)
def test_what_came_in_comes_out(kind, settings):
    make, native = KINDS[kind]
    model = settings.fit(make(), seed=1)
    drawn = model.sample(seed=2)
    assert len(drawn) == model.n_rows == 300, "as many rows as it learnt from"
    assert isinstance(drawn.to_native(), native)
    read = settings.fit(chaffinch.read(make()), seed=1)
    assert read.sample(seed=2).data.equals(drawn.data)
    assert isinstance(read.sample(5, seed=2).to_native(), native)


def test_pandas_types_survive_a_synthesis():
    drawn = BayesNet(parents=1).fit(frame(), seed=1).sample(seed=2).to_native()
    assert dict(drawn.dtypes) == dict(frame().dtypes)
    assert drawn["age"].isna().any()


def test_paths_and_counters(tmp_path):
    frame().to_csv(tmp_path / "t.csv", index=False)
    model = Independent().fit(tmp_path / "t.csv")
    assert isinstance(model.sample(3).to_native(), pa.Table)
    counter = StreamCounter(chaffinch.scan(tmp_path / "t.csv"))
    assert Independent().fit(counter).sample(9, seed=1).data.equals(model.sample(9, seed=1).data)
    assert isinstance(
        Independent().fit(chaffinch.MemoryCounter(chaffinch.read(frame()))).sample(3).to_native(),
        pd.DataFrame,
    )


def test_a_loaded_model_gives_arrow_and_the_same_values(tmp_path):
    model = BayesNet(parents=1).fit(frame(), seed=1)
    model.save(tmp_path / "m")
    back = chaffinch.load(tmp_path / "m").sample(seed=4)
    assert isinstance(back.to_native(), pa.Table)
    assert back.data.to_pylist() == model.sample(seed=4).data.to_pylist()


def test_a_model_holds_the_look_and_no_row():
    model = Independent().fit(frame().assign(area=["Zebedee", *frame()["area"][1:]]))
    assert "Zebedee" not in repr(model.origin)
    assert model.origin.fields.names == list(frame().columns)


# What cannot be data


@pytest.mark.parametrize("settings", [BayesNet(), Independent()], ids=repr)
def test_what_is_no_table(settings, tmp_path):
    for data, words in (
        ([1, 2], "Cannot read a list"),
        ({"a": [1]}, "Cannot read a dict"),
        (None, "Cannot read a NoneType"),
        (7, "Cannot read a int"),
        (BayesNet(), "Cannot read a BayesNet"),
        (Independent().fit(frame()), r"This is a model, and data are needed: .*model\.sample\(\)"),
    ):
        with pytest.raises(chaffinch._base.errors.InputError, match=words):
            settings.fit(data)
    with pytest.raises(chaffinch._base.errors.FileError, match="No such file"):
        settings.fit(tmp_path / "none.csv")


def test_an_unknown_column_is_named():
    with pytest.raises(
        chaffinch._base.errors.UnknownNameError, match=r"Unknown column 'agge'\. Did you mean 'age'"
    ):
        BayesNet(label="agge").fit(frame())


@pytest.mark.parametrize(
    "settings", [BayesNet(epsilon=1.0), PrivBayes(epsilon=1.0), FieldGroups(epsilon=1.0)], ids=repr
)
def test_a_private_fit_takes_prepared_data_alone(settings, tmp_path):
    frame().to_csv(tmp_path / "t.csv", index=False)
    for data in (frame(), tmp_path / "t.csv", tmp_path / "none.csv", pa.table(frame()), [1, 2]):
        with pytest.raises(
            chaffinch._base.errors.PrivacyError, match=r"declared domain.*chaffinch\.prepare"
        ):
            settings.fit(data)
    with pytest.raises(chaffinch._base.errors.InputError, match="This is a model"):
        settings.fit(Independent().fit(frame()))


def test_a_private_fit_gives_back_the_kind_it_was_given():
    columns = (
        chaffinch.Column("sex", "categorical", levels=("f", "m")),
        chaffinch.Column("ill", "boolean"),
    )
    schema = chaffinch.Schema(columns, public=True, rows=300)
    model = BayesNet(epsilon=5.0).fit(chaffinch.prepare(frame()[["sex", "ill"]], schema), seed=1)
    drawn = model.sample(seed=1)
    assert len(drawn) == 300
    assert isinstance(drawn.to_native(), pd.DataFrame)


# What cannot be a model, a number of rows, a table for a model


def test_other_things_in_the_place_of_a_model(tmp_path):
    for thing in (chaffinch.read(frame()), frame(), [1], None):
        with pytest.raises(
            chaffinch._base.errors.InputError, match="loaded from the path of its file"
        ):
            chaffinch.load(thing)
    frame().to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(chaffinch._base.errors.FileError, match="is not a Chaffinch model"):
        chaffinch.load(tmp_path / "t.csv")


def test_a_table_in_the_place_of_a_number_is_not_printed():
    model = Independent().fit(frame())
    for rows in (frame(), chaffinch.read(frame()), "many", -1, 2.5, True):
        with pytest.raises(
            chaffinch._base.errors.InputError, match="rows must be a whole number of at least 0"
        ) as caught:
            model.sample(rows)
        assert "north" not in str(caught.value)


def test_tables_for_a_model_are_read_with_its_schema():
    model = BayesNet(parents=1, keep=("sex",)).fit(frame(), seed=1)
    assert np.allclose(
        model.log_likelihood(frame()), model.log_likelihood(chaffinch.read(frame(), model.schema))
    )
    whole = model.complete(frame(), keep=["sex"], seed=1).to_native()
    assert whole["sex"].tolist() == frame()["sex"].tolist()
    with pytest.raises(chaffinch._base.errors.InputError, match="This is a model"):
        model.log_likelihood(model)


def weighted_survey(n: int = 6000) -> pa.Table:
    """Half of the records are men, who stand for a quarter of the people; illness goes with sex."""
    rng = np.random.default_rng(3)
    sex = np.array(["f", "m"])[np.arange(n) % 2]
    ill = np.where(rng.random(n) < np.where(sex == "f", 0.6, 0.2), "yes", "no")
    return pa.table({"sex": sex, "ill": ill, "w": np.where(sex == "f", 30.0, 10.0)})


@pytest.mark.parametrize("settings", [BayesNet(), Independent()], ids=repr)
def test_records_are_counted_by_their_weight(settings):
    """Of 20,000 drawn rows 3/4 are women and 1/2 ill, each within 0.03: six standard errors of 0.0035 and what 6,000 records scatter."""
    from chaffinch.table.weights import with_weight

    table = with_weight(chaffinch.read(weighted_survey()), "w")
    drawn = settings.fit(table, seed=1).sample(20_000, seed=2).to_pandas()
    assert (drawn["sex"] == "f").mean() == pytest.approx(0.75, abs=0.03)
    assert (drawn["ill"] == "yes").mean() == pytest.approx(0.5, abs=0.03)
    assert set(drawn["w"]) == {20.0}, "every row has the mean weight: totals stay"
    plain = settings.fit(weighted_survey(), seed=1).sample(20_000, seed=2).to_pandas()
    assert (plain["sex"] == "f").mean() == pytest.approx(0.5, abs=0.03)
    assert set(plain["w"]) == {10.0, 30.0}


def test_equal_weights_change_nothing():
    from chaffinch.table.weights import with_weight

    values = weighted_survey().set_column(2, "w", pa.array([7.0] * 6000))
    one = BayesNet().fit(with_weight(chaffinch.read(values), "w"), seed=1)
    two = BayesNet().fit(chaffinch.read(values), seed=1)
    assert one.network == two.network
    assert one.sample(500, seed=2).data.equals(two.sample(500, seed=2).data)


@pytest.mark.parametrize("n", [3, 27, 28])
def test_a_table_of_few_rows_is_not_synthesised(n, tmp_path):
    """Of 28 rows nine at each end of a column are not looked at, and ten are left between them; of three, rows of means came out."""
    rng = np.random.default_rng(1)
    few = pd.DataFrame(
        {
            "age": rng.integers(20, 90, n),
            "income": rng.normal(2000, 300, n).round(2),
            "sex": rng.choice(["f", "m"], n),
        }
    )
    few.to_csv(tmp_path / "few.csv", index=False)
    calls = [
        lambda: chaffinch.BayesNet().fit(few, seed=1),
        lambda: chaffinch.Independent().fit(tmp_path / "few.csv", seed=1),
        lambda: chaffinch.synthesise(few, seed=1),
        lambda: chaffinch.synthesise(chaffinch.read(few), seed=1),
    ]
    for call in calls:
        if n >= FEWEST_ROWS:
            call()
            continue
        with pytest.raises(InputError, match="A table of fewer than 28 rows is not synthesised"):
            call()
    for words in (["synth"], ["synth", "--engine", "stream"], ["fit"]):
        out = tmp_path / f"out{len(words)}{words[0]}.{'chaffinch' if words == ['fit'] else 'csv'}"
        done = CliRunner().invoke(app, [*words, str(tmp_path / "few.csv"), "-o", str(out)])
        assert (done.exit_code == 0) if n >= FEWEST_ROWS else isinstance(done.exception, InputError)
        assert out.exists() == (n >= FEWEST_ROWS)
    assert not list(tmp_path.glob(".*"))


def test_rows_of_few_persons_are_not_enough():
    rows = {
        "pid": [f"p{i // 10}" for i in range(200)],
        "wave": list(range(10)) * 20,
        "x": [i % 13 for i in range(200)],
    }
    with pytest.raises(InputError, match="fewer than 28 persons"):
        chaffinch.synthesise(pd.DataFrame(rows), person="pid", order="wave", seed=1)
