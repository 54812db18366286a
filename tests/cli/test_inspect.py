"""inspect: what a model holds, printed from its description."""

from __future__ import annotations

import os
import stat

import pytest

import chaffinch


@pytest.fixture
def model(data, tmp_path):
    settings = chaffinch.BayesNet(parents=2, label="contraceptive_method", sensitive=("wife_age",))
    settings.fit(data / "cmc.csv", seed=1).save(tmp_path / "m.chaffinch")
    return tmp_path / "m.chaffinch"


def test_every_column_is_shown_with_its_role_and_parents(model, tmp_path, run_here):
    done = run_here("inspect", model, "--svg", tmp_path / "n.svg")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0].startswith("10 columns, ")
    assert ["column", "role", "parents", "(mutual", "information,", "nats)"] in [
        line.split() for line in lines[1:3]
    ]
    assert any(line.split()[:2] == ["wife_age", "sensitive"] for line in lines)
    assert any(line.startswith("Protected (separate): wife_age. 8 links cut") for line in lines)
    assert (tmp_path / "n.svg").read_text() == chaffinch.load(model).plot().svg
    if (
        os.name == "posix"
    ):  # the widths of its lines are figures of the data, as those of a page are
        assert stat.S_IMODE((tmp_path / "n.svg").stat().st_mode) == 0o600


def test_a_file_that_is_no_model(data, run_here):
    done = run_here("inspect", data / "cmc.csv")
    assert (done.code, "is not a Chaffinch model" in done.err) == (2, True)


def test_error_bars_of_a_private_model(data, tmp_path, run_here, model):
    import json

    table = chaffinch.prepare(data / "cmc.csv", data / "cmc_declared.toml")
    chaffinch.BayesNet(epsilon=1.0, delta=1e-6).fit(table, seed=1).save(tmp_path / "p.chaffinch")
    done = run_here(
        "inspect",
        tmp_path / "p.chaffinch",
        "--error-bars",
        "wife_religion",
        "--json",
        tmp_path / "p.json",
    )
    assert done.code == 0, done.err
    assert "TEST ONLY. wife_religion: measured with noise" in " ".join(done.out.split())
    bars = json.loads((tmp_path / "p.json").read_text())["error_bars"]
    assert (bars["basis"], len(bars["low"])) == ("measured", 2)
    plain = run_here("inspect", model, "--error-bars", "wife_age")
    assert (plain.code, "models with a promise of privacy" in plain.err) == (2, True)
