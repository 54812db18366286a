"""Options in a file: read, written, and beaten by the command line."""

from __future__ import annotations

import stat
import tomllib

import pytest


@pytest.fixture
def place(data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.csv").write_bytes((data / "cmc.csv").read_bytes())
    return tmp_path


def test_what_is_saved_gives_the_same_run_and_the_command_line_wins(run_here, place):
    words = [
        "--label",
        "contraceptive_method",
        "--forbid",
        "wife_age:num_children",
        "--forbid",
        "wife_age:wife_education",
        "--seed",
        1,
        "--quiet",
    ]
    done = run_here("synth", "in.csv", "-o", "one.csv", *words, "--save-config", "run.toml")
    assert done.code == 0, done.err
    assert tomllib.loads((place / "run.toml").read_text()) == {
        "output": "one.csv",
        "label": "contraceptive_method",
        "forbid": ["wife_age:num_children", "wife_age:wife_education"],
        "seed": 1,
        "quiet": True,
    }
    assert stat.S_IMODE((place / "run.toml").stat().st_mode) == 0o600
    done = run_here("synth", "in.csv", "--config", "run.toml", "--output", "two.csv")
    assert done.code == 0, done.err
    assert (place / "one.csv").read_bytes() == (place / "two.csv").read_bytes()
    done = run_here(
        "synth", "in.csv", "--config=run.toml", "-othree.csv", "--seed", 2, "--rows", 20
    )
    assert done.code == 0, done.err
    assert len((place / "three.csv").read_text().splitlines()) == 21
    assert sorted(path.name for path in place.iterdir()) == [
        "in.csv",
        "one.csv",
        "run.toml",
        "three.csv",
        "two.csv",
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('labl = "a"', "Unknown option in 'run.toml' 'labl'. Did you mean 'label'?"),
        ('quiet = "yes"', "Option 'quiet' in 'run.toml' must be true or false. Got 'yes'."),
        (
            "label = true",
            "Option 'label' in 'run.toml' must be a text, a number, or a list of them. Got true or false.",
        ),
        ("[label]\nname = 1", "Got a table."),
        ("label = ", "'run.toml' is not valid TOML"),
        ('config = "other.toml"', "Unknown option in 'run.toml' 'config'"),
        ('rows = "many"', "rows"),
        ("", "output"),
    ],
)
def test_a_file_that_cannot_be_meant_is_refused_before_work(run_here, place, text, words):
    (place / "run.toml").write_text(text)
    more = () if text == "" else ("-o", "out.csv")
    done = run_here("synth", "in.csv", "--config", "run.toml", *more)
    assert done.code == 2
    assert words in " ".join(done.err.split()), done.err
    assert sorted(path.name for path in place.iterdir()) == ["in.csv", "run.toml"]


def test_a_run_that_fails_saves_no_options(run_here, place):
    done = run_here(
        "synth", "in.csv", "-o", "out.csv", "--label", "nobody", "--save-config", "run.toml"
    )
    assert done.code == 2
    assert not (place / "run.toml").exists()
    assert (
        "No such file"
        in run_here("synth", "in.csv", "-o", "out.csv", "--config", "absent.toml").err
    )


def test_a_list_of_names_is_what_commas_are(run_here, place):
    (place / "run.toml").write_text(
        'keys = ["wife_age", "num_children"]\nsensitive = "wife_religion"\nresamples = 5\nattackers = ["matching"]\njson = "r.json"\nquiet = true\n'
    )
    done = run_here("risk", "in.csv", "in.csv", "--config", "run.toml")
    assert done.code == 0, done.err
    assert '"wife_age",' in (place / "r.json").read_text()
