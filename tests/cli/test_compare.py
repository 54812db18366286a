"""compare, as a person uses it."""

from __future__ import annotations

import json

import pytest


def test_compare_tells_which_table_is_nearer(run_here, data, synthetic, tmp_path):
    assert (
        run_here(
            "synth",
            data / "cmc.csv",
            "-o",
            tmp_path / "i.csv",
            "--method",
            "independent",
            "--seed",
            1,
        ).code
        == 0
    )
    for name, table in (("a", synthetic), ("b", tmp_path / "i.csv")):
        done = run_here(
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
        assert done.code == 0, done.err
    done = run_here(
        "compare",
        tmp_path / "a.json",
        tmp_path / "b.json",
        "--json",
        tmp_path / "c.json",
        "--html",
        tmp_path / "c.html",
    )
    assert done.code == 0, done.err
    assert "mu" in done.out
    assert json.loads((tmp_path / "c.json").read_text())


@pytest.mark.parametrize(
    ("text", "words"),
    [("not json", "is not JSON"), ("[1]", "is no report"), ('{"format": "other"}', "chaffinch")],
)
def test_compare_refuses_what_is_no_report(run_here, tmp_path, text, words):
    (tmp_path / "a.json").write_text(text)
    done = run_here("compare", tmp_path / "a.json", tmp_path / "a.json")
    assert done.code == 2
    assert words in done.err


def test_folders_of_release_are_compared_by_their_reports(run_here, data, tmp_path):
    quick = ("--measures", "tvd", "--attackers", "exact_row", "--quiet")
    for seed in (1, 2):
        folder = tmp_path / str(seed)
        done = run_here("release", data / "cmc.csv", "-o", folder, *quick, "--seed", seed)
        assert done.code == 0, done.err
    whole = run_here("compare", tmp_path / "1", tmp_path / "2")
    assert whole.code == 0, whole.err
    files = [tmp_path / seed / "confidential" / "report.json" for seed in ("1", "2")]
    assert whole.out == run_here("compare", *files).out
    (tmp_path / "empty").mkdir()
    done = run_here("compare", tmp_path / "1", tmp_path / "empty")
    assert done.code == 2
    assert "empty' has no confidential/report.json. Give a folder of release" in done.err
    assert "needs two reports or more. Got 1" in run_here("compare", tmp_path / "1").err
