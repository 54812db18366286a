"""A table on Spark becomes rows on Spark, figures and a release: those that one machine gives, and nothing where something is wrong."""

from __future__ import annotations

import json
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import chaffinch
from chaffinch.errors import FileError, InputError, UnknownNameError
from chaffinch.risk import RiskSettings
from chaffinch.spark.drawing import plain_table
from chaffinch.spark.scanning import scan
from chaffinch.synth.model_file import model_to_bytes
from chaffinch.utility import UtilitySettings
from chaffinch.workflows import on_spark
from chaffinch.workflows import on_spark as module
from chaffinch.workflows.on_spark import (
    check_on_spark,
    check_sample,
    copy_places,
    fit_on_spark,
    release_on_spark,
    risk_on_spark,
    sample_on_spark,
    synthesise_on_spark,
    utility_on_spark,
)
from chaffinch.workflows.release import ReleaseResult, ReleaseSettings
from chaffinch.workflows.run import RunOptions
from chaffinch.workflows.synthesise import ReadSettings, Synthesis, SynthesisSettings

NET = chaffinch.BayesNet(parents=2, conditionals="tables")


@pytest.fixture(scope="module")
def cmc_file(data, tmp_path_factory):
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


def test_outputs_that_cannot_be_are_named_before_spark_starts(cmc_file, tmp_path, monkeypatch):
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
                str(cmc_file),
                str(tmp_path / place),
                SynthesisSettings(synthesiser=NET),
                RunOptions(),
            )
    with pytest.raises(FileError, match="it is the input"):
        synthesise_on_spark(
            str(cmc_file), f"file:{cmc_file}", SynthesisSettings(synthesiser=NET), RunOptions()
        )
    with pytest.raises(InputError, match="leave out --delimiter"):
        synthesise_on_spark(
            str(cmc_file),
            str(tmp_path / "out"),
            SynthesisSettings(synthesiser=NET, reading=ReadSettings(file={"delimiter": ";"})),
            RunOptions(),
        )


def test_rows_and_model_are_those_of_one_machine(spark, cmc_file, tmp_path):
    """The same seed in the same workflow: a file in memory, and a folder on Spark."""
    settings, run = SynthesisSettings(synthesiser=NET, rows=70_000, copies=2), RunOptions(seed=7)
    result = synthesise_on_spark(
        str(cmc_file), str(tmp_path / "out"), settings, run, model=tmp_path / "m.chaffinch"
    )
    with Synthesis(settings, run) as alone:
        model, table = alone.fit(alone.read(cmc_file))
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


def test_an_address_is_written_by_spark(spark, cmc_file, tmp_path, monkeypatch):
    """file: stands for another scheme here."""
    monkeypatch.setattr(module, "is_address", lambda place: place.startswith("file:"))
    place = f"file:{tmp_path}/out"
    synthesise_on_spark(
        str(cmc_file),
        place,
        SynthesisSettings(synthesiser=NET, rows=1000),
        RunOptions(seed=7),
        cache=f"file:{tmp_path}",
    )
    assert spark.read.parquet(place).count() == 1000
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith(".")] == ["out"]


def test_a_private_fit_charges_before_it_reads_and_is_that_of_memory(
    spark, cmc_file, data, monkeypatch
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
    ours = fit_on_spark(str(cmc_file), settings, RunOptions(seed=5))
    assert order == ["charged", "read"]
    with Synthesis(settings, RunOptions(seed=5)) as alone:
        theirs, _ = alone.fit(alone.read(cmc_file))
    assert model_to_bytes(ours.model) == model_to_bytes(theirs)
    assert ours.account.run == {}


def test_what_fails_leaves_neither_rows_nor_codes(spark, cmc_file, tmp_path, monkeypatch):
    class Broken:
        def fit(self, *_, **__):
            raise FileError("it breaks")

        private, name = False, "broken"

    settings = SynthesisSettings(synthesiser=NET)
    object.__setattr__(settings, "synthesiser", Broken())
    monkeypatch.setattr(module, "check_on_spark", lambda settings: None)
    with pytest.raises(FileError, match="it breaks"):
        synthesise_on_spark(
            str(cmc_file), str(tmp_path / "out"), settings, RunOptions(), cache=str(tmp_path)
        )
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def places(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    table = chaffinch.read(data / "cmc.csv")
    for name, part in (("a", table[:900]), ("b", table[400:1000]), ("c", table[1000:])):
        part.write(folder / f"{name}.parquet")
    return [str(folder / f"{name}.parquet") for name in "abc"]


def test_a_sample_that_is_too_large_is_refused_before_spark_starts():
    check_sample(1_000_000)
    with pytest.raises(
        InputError, match="at most 1,000,000 on Spark: that many records come to the driver"
    ):
        utility_on_spark(
            "a", "b", None, UtilitySettings(sample_rows=2_000_000), ReadSettings(), RunOptions()
        )


def test_utility_has_the_form_of_files_and_says_its_sample(spark, places, tmp_path):
    settings = UtilitySettings(measures=("tvd", "pmse"), sample_rows=150)
    result, notes = utility_on_spark(
        *places[:2], None, settings, ReadSettings(), RunOptions(seed=1), cache=str(tmp_path)
    )
    want = chaffinch.utility(
        chaffinch.scan(places[0]), places[1], measures=["tvd", "pmse"], sample_rows=150, seed=1
    )
    plain, other = result.to_dict(), want.to_dict()
    assert plain.keys() == other.keys()
    assert result.results["tvd.2"].value == pytest.approx(want.results["tvd.2"].value, abs=1e-12)
    assert result.results["pmse_ratio"].settings["records"] == "sample"
    assert any(sentence.startswith("The sample has ") for sentence in result.about.notes)
    assert type(result).from_dict(plain).about.sample == result.about.sample
    assert any("Rules between columns" in str(note) for note in notes)
    assert list(tmp_path.iterdir()) == []


def test_risk_is_that_of_files_and_a_copy_is_found(spark, places):
    settings = RiskSettings(
        keys=("wife_age", "wife_education"),
        sensitive=("contraceptive_method",),
        attackers=("gcap",),
        tests=("exact_row",),
        resamples=50,
        sample_rows=400,
    )
    result, _ = risk_on_spark(*places, settings, ReadSettings(rare="keep"), RunOptions(seed=1))
    want = chaffinch.risk(
        chaffinch.scan(places[0], rare="keep"),
        places[1],
        places[2],
        keys=["wife_age", "wife_education"],
        sensitive=["contraceptive_method"],
        attackers=["gcap"],
        tests=["exact_row"],
        resamples=50,
        sample_rows=400,
        seed=1,
    )
    assert [attack.value for attack in result.attacks if attack.records == "all"] == pytest.approx(
        [attack.value for attack in want.attacks if attack.records == "all"], abs=1e-12
    )
    assert result.about.sample == want.about.sample  # the same slice of rows
    assert result.memorisation == want.memorisation
    assert (
        result.memorisation.rows_equal > 0.7
    )  # five of six rows of the released table are people's own
    assert [test.value for test in result.memorisation_tests] == pytest.approx(
        [test.value for test in want.memorisation_tests]
    )
    assert result.memorisation_tests[0].value > 0.4  # 500 of 900 people


def test_a_place_without_a_table_is_named(spark, places, tmp_path):
    with pytest.raises(FileError, match=r"(?i)there is no|holds no|no table"):
        risk_on_spark(
            places[0], str(tmp_path / "absent"), None, RiskSettings(), ReadSettings(), RunOptions()
        )


KEYS, HIDDEN = ("wife_age", "wife_education"), ("contraceptive_method",)


def settings(**options: object) -> ReleaseSettings:
    attack = RiskSettings(
        keys=KEYS,
        sensitive=HIDDEN,
        attackers=("gcap",),
        tests=("exact_row",),
        resamples=50,
        sample_rows=600,
    )
    return ReleaseSettings(
        synthesis=SynthesisSettings(synthesiser=chaffinch.BayesNet(parents=2)),
        utility=UtilitySettings(measures=("tvd", "pmse"), sample_rows=600),
        attack=attack,
        keys=KEYS,
        sensitive=HIDDEN,
        **options,
    )


def test_halves_are_fitted_as_the_release_is():
    """On Spark networks have tables: halves in memory with trees would be another method than what leaves."""
    assert on_spark._as_fitted(chaffinch.BayesNet()).conditionals == "tables"
    chosen = chaffinch.Independent()
    assert on_spark._as_fitted(chosen) is chosen


def test_what_is_not_done_on_spark_is_named_before_it_starts(monkeypatch, tmp_path):
    monkeypatch.setattr(on_spark, "started_session", lambda: pytest.fail("Spark was started"))
    plain = settings()
    for changed, words in (
        (replace(plain, synthesis=replace(plain.synthesis, copies=2)), "one synthesis"),
        (
            replace(
                plain,
                synthesis=replace(plain.synthesis, synthesiser=chaffinch.BayesNet(epsilon=1.0)),
            ),
            "promises privacy",
        ),
        (replace(plain, synthesis=replace(plain.synthesis, keep=("wife_age",))), "keep completes"),
    ):
        with pytest.raises(InputError, match=words):
            release_on_spark("a.parquet", changed, tmp_path, RunOptions())


def test_a_release_is_rows_a_model_and_a_report(spark, cmc_file, tmp_path, monkeypatch):
    scans = []
    monkeypatch.setattr(
        on_spark, "scan", lambda *args, **options: scans.append(1) or scan(*args, **options)
    )
    result = release_on_spark(str(cmc_file), settings(max_excess=0.5), tmp_path, RunOptions(seed=3))
    assert scans == [1]  # what is measured is what was learnt from
    names = result.write_beside(tmp_path)
    assert "confidential/report.html" in names
    assert "confidential/model.chaffinch" in names
    rows = pq.read_table(tmp_path / "to-release" / "synthetic.parquet")
    assert rows.num_rows == result.model.n_rows == 1473
    alone = synthesise_on_spark(
        str(cmc_file), str(tmp_path / "alone"), settings().synthesis, RunOptions(seed=3)
    )
    assert model_to_bytes(result.model) == model_to_bytes(alone.model)
    assert rows.equals(pq.read_table(tmp_path / "alone"))
    want = chaffinch.utility(
        chaffinch.scan(cmc_file), rows, measures=["tvd"], sample_rows=600, seed=3
    )
    assert result.utility.results["tvd.2"].value == pytest.approx(
        want.results["tvd.2"].value, abs=1e-12
    )
    assert result.risk.cross_fit is not None
    assert result.risk.cross_fit.about.sample.sentences[0].startswith(
        "Of a sample: models of halves"
    )
    assert ReleaseResult.from_dict(result.to_dict()).decision.to_dict() == result.decision.to_dict()


def test_a_holdout_of_other_columns_is_named_before_anything_is_learnt(
    spark, cmc_file, tmp_path, monkeypatch
):
    pq.write_table(pq.read_table(cmc_file).drop_columns(["wife_age"]), tmp_path / "other.parquet")
    monkeypatch.setattr(
        chaffinch.BayesNet, "fit", lambda *_, **__: pytest.fail("something was learnt")
    )
    with pytest.raises(UnknownNameError, match="wife_age"):
        release_on_spark(
            str(cmc_file),
            settings(),
            tmp_path,
            RunOptions(seed=3),
            holdout=str(tmp_path / "other.parquet"),
        )
