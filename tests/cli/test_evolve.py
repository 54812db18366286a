"""chaffinch evolve: what was published comes back, what could not be reached is marked, bad input is named, and one file is opened."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples" / "outputs").glob("*.toml"))
EXAMPLES = [
    path for path in EXAMPLES if not path.stem.startswith("check_")
]  # recipes, without numbers

HEAD = """
format = "chaffinch-outputs"
version = 1
rows = 100

[[columns]]
name = "sex"
levels = ["f", "m"]

[[columns]]
name = "home"
levels = ["rented", "owned"]
"""

TABLE = """
[[outputs]]
name = "home by sex"
kind = "table"
by = ["sex", "home"]
counts = [[20, 25], [30, 25]]
"""

# The odds of owning are 25/20 for f and 25/30 for m: the intercept is log 1.25, the coefficient log (25/30) - log 1.25.
LOGIT = """
[[outputs]]
name = "who owns"
kind = "logit"
formula = "home ~ C(sex)"
success = "owned"
decimals = 4
coefficients = { Intercept = 0.2231, "C(sex)[T.m]" = -0.4055 }
"""

UNREACHABLE = """
[[columns]]
name = "age"
from = 0
to = 95

[[outputs]]
name = "age by sex"
kind = "mean"
of = "age"
by = ["sex"]
decimals = 2
values = [41.37, 38.21]
"""
"""Reachable, but not in the first generation of `ea`."""


@pytest.fixture
def run(run_here):
    """Run `chaffinch evolve ...` in this process."""
    return lambda *arguments: run_here("evolve", *arguments)


@pytest.fixture
def spec(tmp_path):
    def write(*parts):
        path = tmp_path / "spec.toml"
        path.write_text("".join(parts))
        return path

    return write


def note(path):
    return json.loads(pq.read_schema(path).metadata[b"chaffinch"])


def test_what_was_published_comes_back(run, spec, tmp_path):
    out, told, page = tmp_path / "out.parquet", tmp_path / "out.json", tmp_path / "out.html"
    ask = (spec(HEAD, TABLE, LOGIT), "-o", out, "--seed", 1, "--threads", 1, "--json", told)
    done = run(*ask, "--html", page)
    assert done.code == 0, done.err
    # Counted here, by hand, from what was written.
    rows = pq.read_table(out).to_pylist()
    assert Counter((row["sex"], row["home"]) for row in rows) == {
        ("f", "rented"): 20,
        ("f", "owned"): 25,
        ("m", "rented"): 30,
        ("m", "owned"): 25,
    }
    assert note(out) == {
        "format": "chaffinch-evolved",
        "version": 2,
        "copy": 1,
        "search_engine": "incremental",
        "reached": True,
        "missed": [],
    }
    left = json.loads(told.read_text())
    assert left["format"] == "chaffinch-evolved"
    assert left["reached"] is True
    assert left["about"]["refitted_by"].startswith("statsmodels 0.")
    table, logit = left["copies"][0]["outputs"]
    assert (table["numbers"], table["outside"], table["largest_error"]) == (4, 0, 0.0)
    assert logit["largest_error"] < 5e-5
    assert [n["published"] for n in logit["shown"]] == [0.2231, -0.4055]
    trace = left["copies"][0]["trace"]
    assert set(trace[0]["mean_error"]) == {"home by sex", "who owns"}
    assert trace[-1]["outside"] == 0
    assert set(left["run"]["seconds"]) == {"all", "copies"}
    # What 60 seconds stand for is printed, and asking for it gives the same dataset and the same account.
    most = left["about"]["proposals"]
    assert f"--proposals {most} repeats this" in done.err
    assert "seconds" not in left["about"]
    assert "seconds" not in trace[0]
    assert "The dataset has all 6 published numbers" in done.out
    assert "C(sex)[T.m]" in page.read_text()
    # The same seed gives the same dataset and the same account of it, but for how the run went.
    before = out.read_bytes()
    assert run(*ask, "--quiet", "--proposals", most).out == ""
    assert out.read_bytes() == before
    again = json.loads(told.read_text())
    assert {**again, "run": None} == {**left, "run": None}


def test_several_copies_are_different_and_all_right(run, spec, tmp_path):
    told = tmp_path / "t.json"
    done = run(
        spec(HEAD, TABLE),
        "-o",
        tmp_path / "o.parquet",
        "--copies",
        2,
        "--rows",
        100,
        "--seed",
        2,
        "--json",
        told,
    )
    assert done.code == 0, done.err
    first, second = (pq.read_table(tmp_path / f"o-{k}.parquet").to_pylist() for k in (1, 2))
    assert first != second
    assert Counter(map(str, first)) == Counter(map(str, second))
    assert [note(tmp_path / f"o-{k}.parquet")["copy"] for k in (1, 2)] == [1, 2]
    assert len(json.loads(told.read_text())["copies"]) == 2
    assert not (tmp_path / "o.parquet").exists()


def test_what_is_not_reached_is_written_and_marked(run, spec, tmp_path):
    out, told, page = tmp_path / "out.parquet", tmp_path / "out.json", tmp_path / "out.html"
    done = run(
        spec(HEAD, TABLE, UNREACHABLE),
        "-o",
        out,
        "--search-engine",
        "ea",
        "--selection",
        "best",
        "--best",
        3,
        "--fitness",
        "fisher",
        "--seconds",
        0.001,
        "--seed",
        1,
        "--json",
        told,
        "--html",
        page,
    )
    assert done.code == 1, done.err
    assert pq.read_metadata(out).num_rows == 100
    assert note(out)["reached"] is False
    left = json.loads(told.read_text())
    assert left["reached"] is False
    assert (left["about"]["selection"], left["about"]["best"]) == ("best", 3)
    assert "selection best, best 3, fitness fisher" in page.read_text()
    assert "age by sex" in left["copies"][0]["missed"]
    assert note(out)["missed"] == left["copies"][0]["missed"]
    assert "Not all outputs were reached" in page.read_text()
    assert "does not have all outputs" in done.out
    assert "marked" in done.err


def test_without_statsmodels_it_says_so(run, spec, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "statsmodels.api", None)
    told, page = tmp_path / "t.json", tmp_path / "t.html"
    coarse = (
        LOGIT.replace("0.2231", "0.2")
        .replace("0.4055", "0.4")
        .replace("decimals = 4", "decimals = 1")
    )
    done = run(
        spec(HEAD, coarse),
        "-o",
        tmp_path / "o.parquet",
        "--seed",
        1,
        "--json",
        told,
        "--html",
        page,
    )
    assert done.code == 0, done.err
    left = json.loads(told.read_text())
    (logit,) = left["copies"][0]["outputs"]
    assert logit["refitted"] is False
    assert logit["largest_error"] is None
    assert left["about"]["refitted_by"] is None
    assert "nobody" in done.out
    assert "chaffinch[statsmodels]" in page.read_text()


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((HEAD, TABLE.replace('"sex", "home"', '"sex", "hme"')), "Did you mean 'home'?"),
        ((HEAD, LOGIT.replace('"owned"', '"ownd"')), "'ownd'"),
        (
            (HEAD, LOGIT.replace('formula = "home ~ C(sex)"\n', "")),
            "coefficients without a formula",
        ),
        ((HEAD, TABLE.replace("[30, 25]]", "[30, 26]]")), "'home by sex'"),
        (
            (HEAD, TABLE, TABLE.replace("home by sex", "again").replace("[[20, 25]", "[[25, 20]")),
            "'home by sex' and 'again' cannot both hold",
        ),
        ((HEAD,), "no outputs"),
        ((HEAD.replace("chaffinch-outputs", "other"), TABLE), "is no description of outputs"),
        (("= nonsense",), "not valid TOML"),
        ((HEAD.replace("rows = 100\n", ""), TABLE), "rows"),
    ],
)
def test_a_bad_specification_is_named_and_nothing_is_written(run, spec, tmp_path, parts, message):
    path = spec(*parts)
    done = run(
        path,
        "-o",
        tmp_path / "o.parquet",
        "--json",
        tmp_path / "t.json",
        "--html",
        tmp_path / "p.html",
    )
    assert done.code == 2, done.out + done.err
    assert message in done.err
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--search-engine", "incrementl"), "Did you mean 'incremental'?"),
        (("--start", "margin"), "Did you mean 'margins'?"),
        (("--selection", "roulette"), "selection is for the search engine 'ea'"),
        (("--search-engine", "ea", "--selection", "torunament"), "Did you mean 'tournament'?"),
        (("--best", "2"), "best is for the selection 'best'"),
        (("--tournament-size", "3"), "tournament_size is for the search engine 'ea'"),
        (
            ("--search-engine", "ea", "--best", "2"),
            "best is for the selection 'best', and parents are chosen by 'tournament'",
        ),
        (
            ("--search-engine", "ea", "--selection", "best", "--best", "33"),
            "best must be at least 1, and at most the population, 32. Got 33.",
        ),
        (
            ("--search-engine", "ea", "--tournament-size", "1"),
            "tournament_size must be at least 2, and at most the population, 32. Got 1.",
        ),
        (("--search-engine", "ea", "--fitness", "scores"), "Did you mean 'score'?"),
        (("--copies", "0"), "copies must lie between 1 and 100,000. Got 0."),
        (("--rows", "0"), "rows must be a whole number of at least 1. Got 0."),
        (
            ("--rows", "1000000000000"),
            "A search with 1,000,000,000,000 rows is too large: rows x columns x 24 bytes must be at most 8 GiB. With 2 columns",
        ),
        (
            ("--rows", "20000000", "--search-engine", "ea"),
            "rows x columns x 384 bytes must be at most 8 GiB",
        ),
        (("--copies", "1000000000000"), "copies must lie between 1 and 100,000"),
        (
            ("--copies", "10000", "--rows", "200000"),
            "10,000 datasets of 200,000 rows are too large",
        ),
        (("--max-error", "0.1"), "for numbers without a printed precision, and here are none"),
        (("--rows", "101"), "'home by sex'"),
        (("--seconds", "0"), "seconds must be a number above 0. Got 0.0."),
        (("--proposals", "0"), "proposals must lie between 1 and"),
        (("--proposals", "9", "--seconds", "9"), "Give seconds or proposals, not both"),
        (("--max-error", "-1"), "max_error must be a number of at least 0. Got -1.0."),
        (("--json", "spec.toml"), "it is the input"),
    ],
)
def test_bad_use_is_named_and_nothing_is_written(
    run, spec, tmp_path, monkeypatch, options, message
):
    monkeypatch.chdir(tmp_path)
    path = spec(HEAD, TABLE)
    done = run(path, "-o", tmp_path / "o.parquet", *options)
    assert done.code == 2, done.out + done.err
    assert message in done.err
    assert list(tmp_path.iterdir()) == [path]


def test_unknown_endings_and_absent_files(run, spec, tmp_path):
    assert "Cannot tell the format" in run(spec(HEAD, TABLE), "-o", tmp_path / "o.xyz").err
    assert "No such file" in run(tmp_path / "none.toml", "-o", tmp_path / "o.parquet").err


WATCH = """
import sys
opened = []

def watch(event, arguments):
    if event == "open" and isinstance(arguments[0], str):
        opened.append(arguments[0])

sys.addaudithook(watch)
folder = sys.argv[1]
sys.argv = ["chaffinch", "evolve", folder + "/spec.toml", "-o", folder + "/o.parquet", "--quiet", "--seed", "1"]
from chaffinch.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print(sorted({name[len(folder) + 1:].split(".")[0] for name in opened if name.startswith(folder)} - {"", "o"}))
"""


def test_the_specification_is_the_only_file_that_is_opened(spec, tmp_path):
    spec(HEAD, TABLE)
    (tmp_path / "people.csv").write_text("sex,home\nf,owned\n")
    done = subprocess.run(
        [sys.executable, "-c", WATCH, str(tmp_path)], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    opened = done.stdout.strip()
    assert opened == "['spec']", opened


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_examples_are_valid_and_hold_together(path):
    from chaffinch.outputs.contradictions import contradictions
    from chaffinch.outputs.document import read_outputs

    found = read_outputs(path, numbers="required")
    assert contradictions(found) == []
    assert found.problem().outputs


def test_there_are_examples():
    assert "cmc" in [path.stem for path in EXAMPLES]
