"""A table on Spark becomes rows on Spark, figures and a release: those that one machine gives, and nothing where something is wrong."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import chaffinch
from chaffinch.errors import FileError, InputError
from chaffinch.risk import RiskSettings, measure_risk
from chaffinch.risk.finding import column_findings, record_findings
from chaffinch.spark import private
from chaffinch.spark.scanning import scan
from chaffinch.synth.options import MethodOptions
from chaffinch.table.settings import Reading
from chaffinch.utility import UtilitySettings, measure_utility
from chaffinch.workflows import on_spark
from chaffinch.workflows.engines import compared_tables, engine_of
from chaffinch.workflows.on_spark import SparkOriginal
from chaffinch.workflows.release import run_release
from chaffinch.workflows.run import RunOptions
from chaffinch.workflows.settings import (
    Execution,
    ReleaseAttack,
    ReleaseSettings,
    SynthesisSettings,
)
from chaffinch.workflows.synthesise import (
    Synthesis,
)

NET = chaffinch.BayesNet(parents=2, conditionals="tables")
SPARK = Execution(engine="spark")


def synthesised(source, outputs=(), *, model=None, **options):
    """Return a synthesis on Spark, and its model."""
    run = RunOptions(seed=options.pop("seed", None))
    settings = SynthesisSettings.from_options(**{"method": NET, **options}, engine="spark")
    with Synthesis(settings, run, list(map(str, outputs))) as synthesis:
        synthesis.read(str(source))
        fitted = synthesis.fit()
        if model is not None:
            fitted.save(model)
        synthesis.draw(fitted)
    return synthesis, fitted


@pytest.fixture(scope="module")
def cmc_file(data, tmp_path_factory):
    path = tmp_path_factory.mktemp("people") / "cmc.parquet"
    chaffinch.read(data / "cmc.csv").write(path)
    return path


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"keep": ("a",)}, "keep completes the rows"),
        ({"person": "id"}, "Rows in the order of a person"),
        ({"weight": "w"}, "not counted by weight"),
        ({"method": "bayesnet", "epsilon": 1.0, "discover": "all"}, "Domains are not discovered"),
        ({"method": chaffinch.Panel(NET)}, "learns from rows in one place"),
        ({"delimiter": ";"}, "leave out --delimiter"),
    ],
)
def test_what_takes_rows_in_one_place_is_refused_before_anything_is_read(settings, words):
    asked = SynthesisSettings.from_options(**{"method": NET, **settings}, engine="spark")
    with pytest.raises(InputError, match=words):
        Synthesis(asked, RunOptions())


def test_outputs_that_cannot_be_are_named_before_spark_starts(cmc_file, tmp_path, monkeypatch):
    monkeypatch.setattr(on_spark, "started_session", lambda: pytest.fail("Spark was started"))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep")
    engine = engine_of("spark")
    for place, words in (
        (str(tmp_path / "out.csv"), "folders of Parquet files"),
        (str(tmp_path / "mine"), "holds other files"),
        (str(tmp_path / "no" / "where"), "there is no folder"),
        (f"file:{cmc_file}", "it is the input"),
    ):
        with pytest.raises((FileError, InputError), match=words):
            engine.outputs(str(cmc_file), place)


def test_an_address_is_written_by_spark(spark, cmc_file, tmp_path, monkeypatch):
    """file: stands for another scheme here."""
    monkeypatch.setattr(on_spark, "is_address", lambda place: place.startswith("file:"))
    place = f"file:{tmp_path}/out"
    synthesised(cmc_file, [place], rows=1000, seed=7, cache=f"file:{tmp_path}")
    assert spark.read.parquet(place).count() == 1000
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith(".")] == ["out"]


def test_a_private_fit_charges_before_it_reads(spark, cmc_file, data, monkeypatch):
    pytest.importorskip("opendp")
    order = []
    charge, frame = on_spark.charge_ledger, private.RawFrame
    monkeypatch.setattr(on_spark, "charge_ledger", lambda *a: order.append("charged") or charge(*a))
    monkeypatch.setattr(private, "RawFrame", lambda *a: order.append("read") or frame(*a))
    net, schema = chaffinch.BayesNet(epsilon=2.0), data / "cmc_declared.toml"
    synthesised(cmc_file, method=net, schema=schema, seed=5)
    assert order == ["charged", "read"]


def test_what_fails_leaves_neither_rows_nor_codes(spark, cmc_file, tmp_path, monkeypatch):
    def breaks(*_, **__):
        raise FileError("it breaks")

    monkeypatch.setattr(chaffinch.BayesNet, "fit", breaks)
    with pytest.raises(FileError, match="it breaks"):
        synthesised(cmc_file, [tmp_path / "out"], cache=str(tmp_path))
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def places(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    table = chaffinch.read(data / "cmc.csv")
    for name, part in (("a", table[:900]), ("b", table[400:1000]), ("c", table[1000:])):
        part.write(folder / f"{name}.parquet")
    return [str(folder / f"{name}.parquet") for name in "abc"]


def compared(places, *, cache=None, **options):
    """Return tables that are compared on Spark, until the block ends."""
    reading, run = Reading(rare=options.pop("rare", "pool")), RunOptions()
    original, synthetic, holdout = places
    engine, sample_rows = engine_of("spark", cache), options.pop("sample_rows", 100)
    return compared_tables(
        engine, original, [synthetic], holdout, reading, run, sample_rows=sample_rows, **options
    )


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (
            {"sample_rows": 2_000_000},
            "at most 1,000,000 on Spark: that many records come to the driver",
        ),
        ({"holdout_share": 0.2}, "People are set aside where files are read on one machine"),
        ({"models": 1}, "a model beside them, are attacked in memory"),
    ],
)
def test_what_is_not_measured_there_is_refused_before_spark_starts(asked, words, monkeypatch):
    monkeypatch.setattr(on_spark, "started_session", lambda: pytest.fail("Spark was started"))
    with (
        pytest.raises(InputError, match=words),
        compared(["a", "b", None], **asked),
    ):
        pass


def test_utility_is_that_of_files_and_says_its_sample(spark, places, tmp_path):
    settings = UtilitySettings(measures=("tvd", "pmse"), sample_rows=150)
    with compared([*places[:2], None], cache=str(tmp_path)) as (table, (other,), _):
        result = measure_utility(table, other, None, settings, seed=1)
        assert any("Rules between columns" in str(note) for note in table.notes)
    want = chaffinch.utility(
        chaffinch.scan(places[0]), places[1], measures=["tvd", "pmse"], sample_rows=150, seed=1
    )
    plain, other = result.to_dict(), want.to_dict()
    assert plain.keys() == other.keys()
    assert result.results["tvd.2"].value == pytest.approx(want.results["tvd.2"].value, abs=1e-12)
    assert result.results["pmse_ratio"].settings["records"] == "sample"
    assert any(sentence.startswith("The sample has ") for sentence in result.about.notes)
    assert type(result).from_dict(plain).about.sample == result.about.sample
    assert list(tmp_path.iterdir()) == []


def test_risk_is_that_of_files_and_a_copy_is_found(spark, places):
    settings = RiskSettings(
        keys=("wife_age", "wife_education"),
        sensitive=("contraceptive_method",),
        attackers=["matching", "exact_row"],
        resamples=50,
        sample_rows=400,
    )
    with compared(places, rare="keep") as (table, others, fresh):
        result = measure_risk(table, others, fresh, settings, seed=1)
    scanned = chaffinch.scan(places[0], rare="keep")
    want = measure_risk(scanned, places[1], places[2], settings, seed=1)
    assert [
        attack.value for attack in column_findings(result.findings) if attack.records == "all"
    ] == pytest.approx(
        [attack.value for attack in column_findings(want.findings) if attack.records == "all"],
        abs=1e-12,
    )
    assert result.about.sample == want.about.sample  # the same slice of rows
    assert result.memorisation == want.memorisation
    assert (
        result.memorisation.rows_equal > 0.7
    )  # five of six rows of the released table are people's own
    assert [test.value for test in record_findings(result.findings)] == pytest.approx(
        [test.value for test in record_findings(want.findings)]
    )
    assert record_findings(result.findings)[0].value > 0.4  # 500 of 900 people


def test_a_place_without_a_table_is_named(spark, places, tmp_path):
    with (
        pytest.raises(FileError, match=r"(?i)there is no|holds no|no table"),
        compared([places[0], str(tmp_path / "absent"), None]),
    ):
        pass


KEYS, HIDDEN = ("wife_age", "wife_education"), ("contraceptive_method",)


def settings(**options: object) -> ReleaseSettings:
    attack = ReleaseAttack(
        keys=KEYS,
        sensitive=HIDDEN,
        attackers=["matching", "exact_row"],
        resamples=50,
        sample_rows=600,
    )
    net = chaffinch.BayesNet(parents=2)
    return ReleaseSettings(
        synthesis=SynthesisSettings(method=net, execution=SPARK),
        utility=UtilitySettings(measures=("tvd", "pmse"), sample_rows=600),
        attack=attack,
        **options,
    )


def test_halves_are_fitted_as_the_release_is():
    """On Spark networks have tables: halves in memory with trees would be another method than what leaves."""
    original = SparkOriginal(None, None)
    assert original.method(chaffinch.BayesNet()).conditionals == "tables"
    chosen = chaffinch.Independent()
    assert original.method(chosen) is chosen


@pytest.mark.parametrize(
    ("synthesis", "words"),
    [
        ({"copies": 2}, "one synthesis"),
        (
            {
                "method": chaffinch.BayesNet(epsilon=1.0),
                "reading": Reading(schema="schema.toml"),
            },
            "promises privacy",
        ),
        (
            {"options": MethodOptions.from_options(keep=("wife_age",)), "method": "bayesnet"},
            "keep completes",
        ),
    ],
)
def test_a_release_that_is_not_made_on_spark_is_named(synthesis, words):
    plain = settings()
    asked = replace(plain, synthesis=replace(plain.synthesis, **synthesis))
    with pytest.raises(InputError, match=words):
        run_release("people", asked, run=RunOptions())


def test_what_is_measured_is_what_was_learnt_from(spark, cmc_file, tmp_path, monkeypatch):
    scans = []
    monkeypatch.setattr(
        on_spark, "scan", lambda *args, **options: scans.append(1) or scan(*args, **options)
    )
    result = run_release(str(cmc_file), settings(), run=RunOptions(seed=3))
    assert scans == [1]
    assert "not looked up" in json.dumps(result.to_dict()["synthesis"]["notes"])
    assert set(result.report.synthesis.run["seconds"]) == {"read", "fit", "sample and write"}
    assert result.risk.cross_fit.about.sample.sentences[0].startswith(
        "Of a sample: models of halves"
    )
