"""release, as a person uses it."""

from __future__ import annotations

import json
import stat
import subprocess
import sys

import pytest

LABEL = "contraceptive_method"


@pytest.fixture(scope="module")
def original(data, tmp_path_factory):
    """A fifth of a table: what a release writes, not what it measures, is the question here."""
    path = tmp_path_factory.mktemp("release") / "cmc.csv"
    head, *lines = (data / "cmc.csv").read_text().splitlines(keepends=True)
    path.write_text("".join([head, *lines[::5]]))
    return path


def test_release_fills_a_folder_and_the_same_seed_gives_the_same(run_here, original, tmp_path):
    """What may leave and what stays inside are apart, and the latter is its owner's alone."""
    options = ["--label", LABEL, "--sensitive", "wife_age", "--repeats", 1, "--models", "nb"]
    options += ["--measures", "phi_k,tvd,learning", "--seed", 3, "--quiet"]
    for name in ("one", "two"):
        words = ["release", original, "-o", tmp_path / name, *options]
        if name == "one":
            done = run_here(*words)
            assert (done.code, done.out) == (0, ""), done.err
        else:  # in another process, where sets of names have another order
            subprocess.run([sys.executable, "-m", "chaffinch", *map(str, words)], check=True)
        files = sorted((tmp_path / name).rglob("*"))
        modes = {
            path.relative_to(tmp_path / name).as_posix(): stat.S_IMODE(path.stat().st_mode)
            for path in files
        }
        assert {file: oct(mode) for file, mode in modes.items() if "confidential" in file} == {
            "confidential": "0o700",
            "confidential/model.chaffinch": "0o600",
            "confidential/report.html": "0o600",
            "confidential/report.json": "0o600",
            "confidential/shapes.json": "0o600",
        }
        assert list(modes)[5:] == ["to-release", "to-release/synthetic.csv"]
        assert modes["to-release/synthetic.csv"] & 0o400
    one, two = (
        json.loads((tmp_path / name / "confidential" / "report.json").read_text())
        for name in ("one", "two")
    )
    for report in (one, two):
        del report["run"], report["synthesis"]["run"]
    assert one == two
    assert (tmp_path / "one/to-release/synthetic.csv").read_bytes() == (
        tmp_path / "two/to-release/synthetic.csv"
    ).read_bytes()
    assert {"mu", "tvd", "learning"} <= set(one["utility"])
    assert (
        "Bayesian network of 10 columns" in (tmp_path / "one/confidential/report.html").read_text()
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "two"]


def test_a_release_that_fails_leaves_nothing(run_here, original, tmp_path):
    done = run_here(
        "release",
        original,
        "-o",
        tmp_path / "out",
        "--label",
        LABEL,
        "--formula",
        "nobody ~ wife_age",
    )
    assert done.code == 2
    assert "Unknown column 'nobody'" in done.err
    assert list(tmp_path.iterdir()) == []


def test_a_release_keeps_other_files_of_the_folder_and_never_the_input(
    run_here, original, tmp_path
):
    folder = tmp_path / "out"
    (folder / "to-release").mkdir(parents=True)
    (folder / "notes.txt").write_text("mine")
    (folder / "to-release" / "synthetic.csv").write_bytes(original.read_bytes())
    done = run_here(
        "release",
        folder / "to-release" / "synthetic.csv",
        "-o",
        folder,
        "--measures",
        "tvd",
        "--quiet",
    )
    assert done.code == 2
    assert "would be overwritten" in done.err
    words = ["release", original, "-o", folder, "--measures", "tvd", "--quiet", "--seed", 1]
    done = run_here(*words, "--overwrite")
    assert done.code == 2
    assert "'to-release' in it is of no earlier result" in done.err
    (folder / "to-release" / "synthetic.csv").unlink()
    (folder / "to-release").rmdir()
    done = run_here(*words)
    assert done.code == 0, done.err
    table = (folder / "to-release" / "synthetic.csv").read_bytes()
    (folder / "to-release" / "of-an-earlier-run.csv").write_text("a")
    done = run_here("release", tmp_path / "none.csv", "-o", folder)  # before anything is read
    assert done.code == 2
    assert (
        f"Cannot write '{folder}': it exists. Name another, or replace it with --overwrite"
        in done.err
    )
    done = run_here(*words[:-1], 2, "--overwrite")
    assert done.code == 0, done.err
    assert [path.name for path in (folder / "to-release").iterdir()] == ["synthetic.csv"]
    assert (folder / "to-release" / "synthetic.csv").read_bytes() != table
    assert (folder / "notes.txt").read_text() == "mine"
    done = run_here(*words, "--schema", folder / "confidential" / "s.toml", "--overwrite")
    assert done.code == 2
    assert "would be overwritten" in done.err


def test_a_table_that_exceeds_its_limit_never_lies_where_a_release_does(run_here, data, tmp_path):
    """All columns but one are kept as they are, so the table is nearly the original; then it is drawn, and the same folder has a release."""
    lines = (data / "cmc.csv").read_text().splitlines(keepends=True)
    for name, part in (("mine.csv", lines[1::2]), ("others.csv", lines[2::2])):
        (tmp_path / name).write_text("".join([lines[0], *part]))
    kept, out = lines[0].strip().removesuffix(f",{LABEL}"), tmp_path / "out"
    words = [
        "release",
        tmp_path / "mine.csv",
        "-o",
        out,
        "--holdout",
        tmp_path / "others.csv",
        "--keys",
        "wife_age,wife_education",
        "--sensitive",
        "standard_of_living",
    ]
    words += [
        "--measures",
        "tvd",
        "--attackers",
        "matching,memorisation",
        "--seed",
        1,
        "--max-excess",
        0.02,
    ]

    def files() -> list[str]:
        return sorted(path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file())

    inside = [
        "confidential/model.chaffinch",
        "confidential/report.html",
        "confidential/report.json",
        "confidential/shapes.json",
    ]
    done = run_here(*words, "--keep", kept)
    assert done.code == 1, done.err
    assert done.out.startswith("EXCEEDS THE LIMIT: ")
    first = " ".join(done.out.partition("What does it give away?")[0].split())
    assert "The table was refused: it is in" in first
    assert "to leave once you decide so" not in done.out
    assert files() == [*inside[:1], "confidential/refused/synthetic.csv", *inside[1:]]
    assert all(
        stat.S_IMODE(path.stat().st_mode) & 0o077 == 0 for path in (out / "confidential").rglob("*")
    )
    assert "EXCEEDS THE LIMIT" in (out / "confidential" / "report.html").read_text()
    assert (
        json.loads((out / "confidential" / "report.json").read_text())["decision"]["limit"]["state"]
        == "exceeds"
    )
    done = run_here(*words, "--require-shown", "--overwrite")
    assert done.code == 1, done.err
    assert done.out.startswith("UNDECIDED: ")
    assert files() == [
        *inside,
        "to-release/synthetic.csv",
    ]  # undecided is not refused, whatever the exit code


def test_what_has_to_be_shown_needs_a_limit_and_a_holdout_before_anything_is_read(
    run_here, original, tmp_path
):
    words = [
        "release",
        original,
        "-o",
        tmp_path / "out",
        "--keys",
        "wife_age",
        "--sensitive",
        "standard_of_living",
        "--require-shown",
    ]
    for more, message in (([], "needs a limit"), (["--max-excess", 0.1], "needs a holdout")):
        done = run_here(*words, *more)
        assert (done.code, message in done.err) == (2, True)
    assert list(tmp_path.iterdir()) == []


def test_five_lines_and_the_path_of_the_page(run_here, original, tmp_path, monkeypatch):
    """What to decide by (three), what was not measured, what was written; then the page. The long tables are for --verbose, 80 columns wide."""
    words = [
        "release",
        original,
        "-o",
        tmp_path / "out",
        "--label",
        LABEL,
        "--measures",
        "tvd,learning",
        "--models",
        "nb",
        "--seed",
        1,
    ]
    monkeypatch.setenv("COLUMNS", "2000")
    done = run_here(*words)
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert len(lines) == 6
    assert [line.split("?")[0] for line in lines[:3]] == [
        "What does it give away",
        "What is it good for",
        "What was not tested, what is not promised",
    ]
    monkeypatch.setenv("COLUMNS", "80")
    told = run_here(*words, "--overwrite", "--verbose")
    assert told.code == 0, told.err
    assert max(map(len, told.out.splitlines())) <= 80
    for words_of_table in ("Distance of 3-way", "p, all together", "Exact row"):
        assert words_of_table not in done.out
        assert words_of_table in told.out
    assert "…" not in told.out  # no figure is cut
    joined = " ".join(told.out.split())
    assert "7 of 10 splits for learners (--thorough)" in joined
    assert lines[3].startswith("Not measured: ")
    assert (
        lines[5].rstrip()
        == f"The page to decide by: {tmp_path / 'out' / 'confidential' / 'report.html'}"
    )
