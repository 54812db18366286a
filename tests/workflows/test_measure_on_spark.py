"""`utility` and `risk` of tables on Spark: the results of files, and nothing where something is wrong."""

from __future__ import annotations

import pytest

import chaffinch
from chaffinch.errors import FileError, InputError
from chaffinch.risk import RiskSettings
from chaffinch.utility import UtilitySettings
from chaffinch.workflows.on_spark import check_sample, risk_on_spark, utility_on_spark
from chaffinch.workflows.run import RunOptions
from chaffinch.workflows.synthesise import ReadSettings


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
