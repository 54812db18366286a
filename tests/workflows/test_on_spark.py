"""A table on Spark becomes rows on Spark: those that one machine gives, and nothing where something is wrong."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import chaffinch
from chaffinch.errors import FileError, InputError
from chaffinch.spark.drawing import plain_table
from chaffinch.synth.model_file import model_to_bytes
from chaffinch.workflows import on_spark as module
from chaffinch.workflows.on_spark import (
    check_on_spark,
    copy_places,
    fit_on_spark,
    sample_on_spark,
    synthesise_on_spark,
)
from chaffinch.workflows.run import RunOptions
from chaffinch.workflows.synthesise import ReadSettings, Synthesis, SynthesisSettings

NET = chaffinch.BayesNet(parents=2, conditionals="tables")


@pytest.fixture(scope="module")
def people(data, tmp_path_factory):
    path = tmp_path_factory.mktemp("people") / "cmc.parquet"
    chaffinch.read(data / "cmc.csv").write(path)
    return path


def rows_of(folder):
    return pa.concat_tables([pq.read_table(path) for path in sorted(folder.glob("*.parquet"))])


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"keep": ("a",)}, "keep completes the rows"),
        ({"person": "id"}, "Rows in the order of a person"),
        ({"weight": "w"}, "not counted by weight"),
        ({"reading": ReadSettings(discover="all")}, "Domains are not discovered"),
        ({"synthesiser": chaffinch.Panel(NET)}, "learns from rows in one place"),
    ],
)
def test_what_takes_rows_in_one_place_is_refused_before_anything_is_read(settings, words):
    with pytest.raises(InputError, match=words):
        check_on_spark(SynthesisSettings(**{"synthesiser": NET, **settings}))


def test_places_of_copies():
    assert copy_places("s3a://bucket/a.b/people/", 2) == [
        "s3a://bucket/a.b/people-1",
        "s3a://bucket/a.b/people-2",
    ]
    assert copy_places("out", 1) == ["out"]


def test_outputs_that_cannot_be_are_named_before_spark_starts(people, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "started_session", lambda: pytest.fail("Spark was started"))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep")
    for place, words in (
        ("out.csv", "folders of Parquet files"),
        ("mine", "holds other files"),
        ("no/where", "there is no folder"),
    ):
        with pytest.raises((FileError, InputError), match=words):
            synthesise_on_spark(
                str(people), str(tmp_path / place), SynthesisSettings(synthesiser=NET), RunOptions()
            )
    with pytest.raises(FileError, match="it is the input"):
        synthesise_on_spark(
            str(people), f"file:{people}", SynthesisSettings(synthesiser=NET), RunOptions()
        )
    with pytest.raises(InputError, match="leave out --delimiter"):
        synthesise_on_spark(
            str(people),
            str(tmp_path / "out"),
            SynthesisSettings(synthesiser=NET, reading=ReadSettings(file={"delimiter": ";"})),
            RunOptions(),
        )


def test_rows_and_model_are_those_of_one_machine(spark, people, tmp_path):
    """The same seed in the same workflow: a file in memory, and a folder on Spark."""
    settings, run = SynthesisSettings(synthesiser=NET, rows=70_000, copies=2), RunOptions(seed=7)
    result = synthesise_on_spark(
        str(people), str(tmp_path / "out"), settings, run, model=tmp_path / "m.chaffinch"
    )
    with Synthesis(settings, run) as alone:
        model, table = alone.fit(alone.read(people))
        want = alone.draw(model, table, hold=2)
    assert result.model.network == model.network
    for number, copy in enumerate(want, 1):
        assert rows_of(tmp_path / f"out-{number}").equals(plain_table(copy.data))
    assert result.places == (str(tmp_path / "out-1"), str(tmp_path / "out-2"))
    account = result.account.to_dict()
    assert account["rows"] == 70_000
    assert account["run"]["engine"] == "spark"
    assert "rows_equal_to_an_original" not in account
    assert "not looked up" in json.dumps(account["notes"])
    assert sample_on_spark(tmp_path / "m.chaffinch", str(tmp_path / "drawn"), rows=10, seed=3) == 10
    assert rows_of(tmp_path / "drawn").equals(
        plain_table(chaffinch.load(tmp_path / "m.chaffinch").sample(10, seed=3).data)
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "drawn",
        "m.chaffinch",
        "out-1",
        "out-2",
    ]


def test_an_address_is_written_by_spark(spark, people, tmp_path, monkeypatch):
    """file: stands for another scheme here."""
    monkeypatch.setattr(module, "is_address", lambda place: place.startswith("file:"))
    place = f"file:{tmp_path}/out"
    synthesise_on_spark(
        str(people),
        place,
        SynthesisSettings(synthesiser=NET, rows=1000),
        RunOptions(seed=7),
        cache=f"file:{tmp_path}",
    )
    assert spark.read.parquet(place).count() == 1000
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith(".")] == ["out"]


def test_a_private_fit_charges_before_it_reads_and_is_that_of_memory(
    spark, people, data, monkeypatch
):
    pytest.importorskip("opendp")
    schema = chaffinch.read_schema(data / "cmc_declared.toml")
    settings = SynthesisSettings(
        synthesiser=chaffinch.BayesNet(epsilon=2.0), reading=ReadSettings(schema=schema)
    )
    order = []
    charge, counted = module.charge_ledger, module.prepare.__globals__["counted_rows"]
    monkeypatch.setattr(module, "charge_ledger", lambda *a: order.append("charged") or charge(*a))
    monkeypatch.setitem(
        module.prepare.__globals__,
        "counted_rows",
        lambda frame: order.append("read") or counted(frame),
    )
    ours = fit_on_spark(str(people), settings, RunOptions(seed=5))
    assert order == ["charged", "read"]
    with Synthesis(settings, RunOptions(seed=5)) as alone:
        theirs, _ = alone.fit(alone.read(people))
    assert model_to_bytes(ours.model) == model_to_bytes(theirs)
    assert ours.account.run == {}


def test_what_fails_leaves_neither_rows_nor_codes(spark, people, tmp_path, monkeypatch):
    class Broken:
        def fit(self, *_, **__):
            raise FileError("it breaks")

        private, name = False, "broken"

    settings = SynthesisSettings(synthesiser=NET)
    object.__setattr__(settings, "synthesiser", Broken())
    monkeypatch.setattr(module, "check_on_spark", lambda settings: None)
    with pytest.raises(FileError, match="it breaks"):
        synthesise_on_spark(
            str(people), str(tmp_path / "out"), settings, RunOptions(), cache=str(tmp_path)
        )
    assert list(tmp_path.iterdir()) == []
