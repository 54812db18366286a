"""utility, as a person uses it."""

from __future__ import annotations

import json

import pytest

from chaffinch._base.options import settings_of
from chaffinch.errors import InputError, UnknownNameError
from chaffinch.utility import UtilitySettings, choices
from chaffinch.utility.metric import asked_metrics

LABEL = "contraceptive_method"


def test_utility_writes_figures_a_page_and_a_verdict(run_here, data, synthetic, tmp_path):
    told, page = tmp_path / "u.json", tmp_path / "u.html"
    options = [
        "--label",
        LABEL,
        "--thorough",
        "--repeats",
        1,
        "--svm-rows",
        300,
        "--seed",
        1,
        "--formula",
        "num_children ~ wife_age",
    ]
    done = run_here(
        "utility",
        data / "cmc.csv",
        synthetic,
        *options,
        "--json",
        told,
        "--html",
        page,
        "--verbose",
    )
    assert done.code == 0, done.err
    assert "Relations of pairs (mu)" in done.out
    found = json.loads(told.read_text())
    for name in (
        "mu",
        "delta",
        "G",
        "jensen_shannon",
        "tvd",
        "pmse_ratio",
        "learning",
        "regression",
        "verdict",
    ):
        assert name in found
    assert found["about"]["original"] == {"rows": 1470, "columns": 10, "name": "cmc.csv"}
    text = page.read_text()
    assert text.startswith("<!doctype html>")
    assert "<script" not in text
    assert len(text) < 2_000_000


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--measures", "nothing"], "Unknown measure 'nothing'"),
        (["--measures=phi_k,-tvd"], "not both"),
        (["--label", "nobody"], "Unknown label 'nobody'"),
        (["--repeats", "0"], "repeats must be a whole number of at least 1"),
        (["--models", "gpt", "--label", LABEL, "--measures", "learning"], "Unknown model 'gpt'"),
        (["--svm-rows", "-5", "--measures", "delta"], "at least"),
        (["--holdout", "absent.csv"], "absent.csv"),
    ],
)
def test_bad_use_ends_with_2_and_writes_nothing(
    run_here, data, synthetic, tmp_path, options, words
):
    done = run_here("utility", data / "cmc.csv", synthetic, *options, "--json", tmp_path / "u.json")
    assert done.code == 2, done.err
    assert words in done.err
    assert list(tmp_path.iterdir()) == []


def test_a_table_with_other_columns_is_refused(run_here, data, tmp_path):
    done = run_here(
        "utility", data / "cmc.csv", data / "caesarian.csv", "--json", tmp_path / "u.json"
    )
    assert done.code == 2
    assert "lacks columns of the original" in done.err


def test_measures_to_take_or_to_leave_out():
    assert asked_metrics(None) == choices()
    assert asked_metrics(["tvd", "phi_k"]) == ("tvd", "phi_k")
    assert asked_metrics(["-delta"]) == tuple(name for name in choices() if name != "delta")
    with pytest.raises(InputError, match="not both"):
        UtilitySettings(measures=["tvd", "-delta"])
    with pytest.raises(UnknownNameError, match="'mean'"):
        UtilitySettings(measures=["mean"])


def test_what_python_can_set_the_command_can(data, synthetic, tmp_path, run_here):
    told, saved = tmp_path / "u.json", tmp_path / "run.toml"
    words = ["--measures", "phi_k,delta", "--repeats", 1, "--svm-rows", 0, "--norm", "spectral"]
    words += ["--alpha", 2, "--beta", 3, "--delta-models", "nb", "--delta-labels", LABEL]
    tables = (data / "cmc.csv", synthetic)
    done = run_here("utility", *tables, *words, "--seed", 1, "--json", told, "--save-config", saved)
    assert done.code == 0, done.err
    found = json.loads(told.read_text())
    assert found["mu"]["norm"] == "spectral"
    assert (found["G"]["alpha"], found["G"]["beta"]) == (2, 3)
    assert found["delta"]["settings"]["models"] == ["nb"]
    assert found["delta"]["settings"]["labels"] == [LABEL]
    assert found["delta"]["settings"]["rows"] is None
    again = run_here(
        "utility", *tables, "--config", saved, "--json", tmp_path / "v.json", "--quiet"
    )
    assert again.code == 0, again.err
    assert json.loads((tmp_path / "v.json").read_text())["verdict"] == found["verdict"]


def test_settings_of_the_command_line():
    settings = settings_of(UtilitySettings)
    assert settings["svm_rows"].read("0") is None
    assert settings["models"].read("nb,rf") == ("nb", "rf")


def test_files_are_read_batch_by_batch_where_asked_or_where_they_are_large(
    data, synthetic, tmp_path, run_here, monkeypatch
):
    words = ["utility", data / "cmc.csv", synthetic, "--measures", "tvd,pmse", "--seed", 1]
    told = {}
    for name, engine in (("memory", "memory"), ("stream", "stream"), ("auto", "auto")):
        with monkeypatch.context() as patch:
            patch.setattr("chaffinch.table.sources.free_bytes", lambda: 1 << 20)
            done = run_here(
                *words,
                "--engine",
                engine,
                "--sample-rows",
                500,
                "--json",
                tmp_path / f"{name}.json",
            )
        assert done.code == 0, done.err
        assert ("Rows are read batch by batch (--engine stream)" in done.err) == (engine == "auto")
        assert ("of 1,470 original" in " ".join(done.out.split())) == (engine != "memory")
        told[name] = json.loads((tmp_path / f"{name}.json").read_text())
    for width in "123":
        assert told["stream"]["tvd"][width]["value"] == pytest.approx(
            told["memory"]["tvd"][width]["value"], rel=1e-12
        )
    assert "sample" not in told["memory"]["about"]
    assert {**told["auto"], "run": 0} == {**told["stream"], "run": 0}


def test_many_rows_with_weights_are_measured_in_memory(
    data, synthetic, tmp_path, run_here, monkeypatch
):
    monkeypatch.setattr("chaffinch.table.sources.MANY_ROWS", 1000)
    schema = 'format = "chaffinch-schema"\nversion = 1\n[columns]\nwife_age = "weight"\n'
    (tmp_path / "schema.toml").write_text(schema)
    words = ["utility", data / "cmc.csv", synthetic, "--measures", "tvd"]
    done = run_here(*words, "--schema", tmp_path / "schema.toml")
    assert done.code == 0, done.err
    assert "tables in which records have weights are measured there." in done.err
    assert "Rows are read batch by batch (--engine stream): there are about" in run_here(*words).err


def test_an_unknown_engine_is_refused(data, synthetic, run_here):
    done = run_here("utility", data / "cmc.csv", synthetic, "--engine", "disk")
    assert done.code == 2
    assert "Unknown engine 'disk'" in done.err
