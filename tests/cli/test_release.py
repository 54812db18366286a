"""release, as a person uses it."""

from __future__ import annotations

import json
import subprocess
import sys

LABEL = "contraceptive_method"


def run(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "chaffinch", *map(str, arguments)],
        capture_output=True, text=True, timeout=300, **options,
    )  # fmt: skip


def test_release_fills_a_folder_and_the_same_seed_gives_the_same(data, tmp_path):
    options = ["--label", LABEL, "--sensitive", "wife_age", "--repeats", 1, "--measures=-delta", "--seed", 3, "--quiet"]
    for name in ("one", "two"):
        done = run("release", data / "cmc.csv", "-o", tmp_path / name, *options)
        assert done.returncode == 0, done.stderr
        made = sorted(path.name for path in (tmp_path / name).iterdir())
        assert made == ["model.chaffinch", "report.html", "report.json", "synthetic.csv"]
    one, two = (json.loads((tmp_path / name / "report.json").read_text()) for name in ("one", "two"))
    for report in (one, two):
        del report["run"], report["synthesis"]["run"]
    assert one == two
    assert (tmp_path / "one" / "synthetic.csv").read_bytes() == (tmp_path / "two" / "synthetic.csv").read_bytes()
    assert {"mu", "tvd", "learning"} <= set(one["utility"])
    assert "Bayesian network of 10 columns" in (tmp_path / "one" / "report.html").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "two"]


def test_a_release_that_fails_leaves_nothing(data, tmp_path):
    done = run("release", data / "cmc.csv", "-o", tmp_path / "out", "--label", LABEL, "--formula", "nobody ~ wife_age")
    assert done.returncode == 2
    assert "Unknown column 'nobody'" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_release_keeps_other_files_of_the_folder_and_never_the_input(data, tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    (folder / "synthetic.csv").write_bytes((data / "cmc.csv").read_bytes())
    done = run("release", folder / "synthetic.csv", "-o", folder, "--measures", "tvd", "--quiet")
    assert done.returncode == 2
    assert "would be overwritten" in done.stderr
    done = run("release", data / "cmc.csv", "-o", folder, "--measures", "tvd", "--quiet")
    assert done.returncode == 0, done.stderr
    assert (folder / "notes.txt").read_text() == "mine"
