"""release, as a person uses it."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys

LABEL = "contraceptive_method"


def run(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "chaffinch", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        **options,
    )


def test_release_fills_a_folder_and_the_same_seed_gives_the_same(data, tmp_path):
    options = [
        "--label",
        LABEL,
        "--sensitive",
        "wife_age",
        "--repeats",
        1,
        "--measures=-delta",
        "--seed",
        3,
        "--quiet",
    ]
    for name in ("one", "two"):
        done = run("release", data / "cmc.csv", "-o", tmp_path / name, *options)
        assert done.returncode == 0, done.stderr
        made = sorted(
            str(path.relative_to(tmp_path / name)) for path in (tmp_path / name).rglob("*.*")
        )
        assert made == [
            "confidential/model.chaffinch",
            "confidential/report.html",
            "confidential/report.json",
            "to-release/synthetic.csv",
        ]
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


def test_a_release_that_fails_leaves_nothing(data, tmp_path):
    done = run(
        "release",
        data / "cmc.csv",
        "-o",
        tmp_path / "out",
        "--label",
        LABEL,
        "--formula",
        "nobody ~ wife_age",
    )
    assert done.returncode == 2
    assert "Unknown column 'nobody'" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_release_keeps_other_files_of_the_folder_and_never_the_input(data, tmp_path):
    folder = tmp_path / "out"
    (folder / "to-release").mkdir(parents=True)
    (folder / "notes.txt").write_text("mine")
    (folder / "to-release" / "synthetic.csv").write_bytes((data / "cmc.csv").read_bytes())
    done = run(
        "release",
        folder / "to-release" / "synthetic.csv",
        "-o",
        folder,
        "--measures",
        "tvd",
        "--quiet",
    )
    assert done.returncode == 2
    assert "would be overwritten" in done.stderr
    words = ["release", data / "cmc.csv", "-o", folder, "--measures", "tvd", "--quiet", "--seed", 1]
    done = run(*words, "--overwrite")
    assert done.returncode == 2
    assert "'to-release' in it is of no earlier result" in done.stderr
    (folder / "to-release" / "synthetic.csv").unlink()
    (folder / "to-release").rmdir()
    done = run(*words)
    assert done.returncode == 0, done.stderr
    table = (folder / "to-release" / "synthetic.csv").read_bytes()
    (folder / "to-release" / "of-an-earlier-run.csv").write_text("a")
    done = run("release", data / "none.csv", "-o", folder)  # before anything is read
    assert done.returncode == 2
    assert (
        f"Cannot write '{folder}': it exists. Name another, or replace it with --overwrite"
        in done.stderr
    )
    done = run(*words[:-1], 2, "--overwrite")
    assert done.returncode == 0, done.stderr
    assert [path.name for path in (folder / "to-release").iterdir()] == ["synthetic.csv"]
    assert (folder / "to-release" / "synthetic.csv").read_bytes() != table
    assert (folder / "notes.txt").read_text() == "mine"
    done = run(*words, "--schema", folder / "confidential" / "s.toml", "--overwrite")
    assert done.returncode == 2
    assert "would be overwritten" in done.stderr


def test_a_table_that_exceeds_its_limit_never_lies_where_a_release_does(data, tmp_path):
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
    words += ["--measures", "tvd", "--attackers", "gcap", "--seed", 1, "--max-excess", 0.02]

    def files() -> list[str]:
        return sorted(path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file())

    inside = [
        "confidential/model.chaffinch",
        "confidential/report.html",
        "confidential/report.json",
    ]
    done = run(*words, "--keep", kept)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("EXCEEDS THE LIMIT: ")
    first = " ".join(done.stdout.partition("What does it give away?")[0].split())
    assert "The table was refused: it is in" in first
    assert "to leave once you decide so" not in done.stdout
    assert files() == [*inside[:1], "confidential/refused/synthetic.csv", *inside[1:]]
    assert all(
        stat.S_IMODE(path.stat().st_mode) & 0o077 == 0 for path in (out / "confidential").rglob("*")
    )
    assert "EXCEEDS THE LIMIT" in (out / "confidential" / "report.html").read_text()
    assert (
        json.loads((out / "confidential" / "report.json").read_text())["decision"]["limit"]["state"]
        == "exceeds"
    )
    done = run(*words, "--require-shown", "--overwrite")
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("UNDECIDED: ")
    assert files() == [
        *inside,
        "to-release/synthetic.csv",
    ]  # undecided is not refused, whatever the exit code


def test_what_has_to_be_shown_needs_a_limit_and_a_holdout_before_anything_is_read(data, tmp_path):
    words = [
        "release",
        data / "cmc.csv",
        "-o",
        tmp_path / "out",
        "--keys",
        "wife_age",
        "--sensitive",
        "standard_of_living",
        "--require-shown",
    ]
    for more, message in (([], "needs a limit"), (["--max-excess", 0.1], "needs a holdout")):
        done = run(*words, *more)
        assert (done.returncode, message in done.stderr) == (2, True)
    assert list(tmp_path.iterdir()) == []


def test_five_lines_and_the_path_of_the_page(data, tmp_path):
    """What to decide by (three), what was not measured, what was written; then the page. The long tables are for --verbose, 80 columns wide."""
    words = [
        "release",
        data / "cmc.csv",
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
    done = run(*words, env={**os.environ, "COLUMNS": "2000"})
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 6
    assert [line.split("?")[0] for line in lines[:3]] == [
        "What does it give away",
        "What is it good for",
        "What was not tested, what is not promised",
    ]
    told = run(*words, "--overwrite", "--verbose", env={**os.environ, "COLUMNS": "80"})
    assert told.returncode == 0, told.stderr
    assert max(map(len, told.stdout.splitlines())) <= 80
    for words_of_table in ("Distance of 3-way", "p, all together", "Exact row"):
        assert words_of_table not in done.stdout
        assert words_of_table in told.stdout
    assert "…" not in told.stdout  # no figure is cut
    joined = " ".join(told.stdout.split())
    assert "7 of 10 splits for learners (--thorough)" in joined
    assert lines[3].startswith("Not measured: ")
    assert (
        lines[5].rstrip()
        == f"The page to decide by: {tmp_path / 'out' / 'confidential' / 'report.html'}"
    )


def test_what_may_leave_and_what_stays_inside_are_apart(data, tmp_path):
    done = run(
        "release",
        data / "cmc.csv",
        "-o",
        tmp_path / "out",
        "--measures",
        "tvd",
        "--seed",
        1,
        "--quiet",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    modes = {
        str(path.relative_to(tmp_path)): stat.S_IMODE(path.stat().st_mode)
        for path in tmp_path.rglob("*")
    }
    assert {name: oct(mode) for name, mode in modes.items() if "confidential" in name} == {
        "out/confidential": "0o700",
        "out/confidential/model.chaffinch": "0o600",
        "out/confidential/report.html": "0o600",
        "out/confidential/report.json": "0o600",
    }
    assert modes["out/to-release/synthetic.csv"] & 0o400
    assert [name for name in modes if name.startswith("out/to-release/")] == [
        "out/to-release/synthetic.csv"
    ]
