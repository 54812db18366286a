"""compare, as a person uses it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest


def run(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "chaffinch", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        **options,
    )


@pytest.fixture(scope="module")
def synthetic(data, tmp_path_factory):
    out = tmp_path_factory.mktemp("made") / "synthetic.csv"
    assert run("synth", data / "cmc.csv", "-o", out, "--seed", 1, "--quiet").returncode == 0
    return out


def test_compare_tells_which_table_is_nearer(data, synthetic, tmp_path):
    assert (
        run(
            "synth",
            data / "cmc.csv",
            "-o",
            tmp_path / "i.csv",
            "--method",
            "independent",
            "--seed",
            1,
        ).returncode
        == 0
    )
    for name, table in (("a", synthetic), ("b", tmp_path / "i.csv")):
        done = run(
            "utility",
            data / "cmc.csv",
            table,
            "--measures",
            "phi_k,tvd",
            "--seed",
            1,
            "--quiet",
            "--json",
            tmp_path / f"{name}.json",
        )
        assert done.returncode == 0, done.stderr
    done = run(
        "compare",
        tmp_path / "a.json",
        tmp_path / "b.json",
        "--json",
        tmp_path / "c.json",
        "--html",
        tmp_path / "c.html",
    )
    assert done.returncode == 0, done.stderr
    assert "mu" in done.stdout
    assert json.loads((tmp_path / "c.json").read_text())


@pytest.mark.parametrize(
    ("text", "words"),
    [("not json", "is not JSON"), ("[1]", "is no report"), ('{"format": "other"}', "chaffinch")],
)
def test_compare_refuses_what_is_no_report(tmp_path, text, words):
    (tmp_path / "a.json").write_text(text)
    done = run("compare", tmp_path / "a.json", tmp_path / "a.json")
    assert done.returncode == 2
    assert words in done.stderr
