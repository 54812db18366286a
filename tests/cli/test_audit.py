"""chaffinch audit: a broken claim ends with 1, a sound one is not refuted, and bad use is named."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("opendp", reason="private fits need the extra")


@pytest.fixture
def run(run_here):
    """Run `chaffinch audit ...` in this process."""
    return lambda *arguments: run_here("audit", *arguments)


QUICK = ("--runs", 80, "--pairs", "narrow", "--threads", 1, "--seed", 1)


def test_what_promises_nothing_breaks_any_claim(run, tmp_path):
    told, page = tmp_path / "a.json", tmp_path / "a.html"
    done = run(
        "--synth",
        "independent",
        "--epsilon",
        0.1,
        "--neighbours",
        "add-remove",
        *QUICK,
        "--json",
        told,
        "--html",
        page,
    )
    assert done.code == 1, done.err
    assert "claim broken" in done.out
    left = json.loads(told.read_text())
    assert left["format"] == "chaffinch-audit"
    assert left["verdict"] == "claim broken"
    # Independent columns without noise tell the two tables apart whenever the model is looked into: every guess is right.
    white = next(f for f in left["findings"] if f["box"] == "white")
    assert white["right"] == white["guesses"] == white["test_runs"] == 40
    assert [(s["box"], s["reason"][:8]) for s in left["skipped"]] == [("mechanism", "no noise")]
    assert "claim is broken" in page.read_text()


def test_a_sound_promise_is_not_refuted(run, tmp_path):
    told = tmp_path / "a.json"
    done = run("--synth", "bayesnet:parents=1,epsilon=1", *QUICK, "--box", "black", "--json", told)
    assert done.code == 0, done.err
    assert "not refuted" in done.out
    assert "no proof" in done.out
    left = json.loads(told.read_text())
    assert left["epsilon"] == 1.0
    assert [(f["pair"], f["box"], f["runs"]) for f in left["findings"]] == [("narrow", "black", 80)]
    assert (
        run("--synth", "bayesnet:parents=1,epsilon=1", *QUICK, "--box", "black", "--quiet").out
        == ""
    )


def test_the_mechanism_stands_beside_the_other_boxes(run):
    done = run("--synth", "privbayes:epsilon=1", *QUICK)
    assert done.code == 0, done.err
    assert [line.split()[1] for line in done.out.splitlines() if line.startswith("narrow")] == [
        "mechanism",
        "white",
        "black",
    ]
    assert "80 % power at" in done.out


def test_a_claim_can_be_smaller_than_the_budget_that_is_spent(run):
    done = run("--synth", "bayesnet:parents=1,epsilon=1000", "--epsilon", 0.1, *QUICK)
    assert done.code == 1
    assert "0.1" in done.out


def test_a_table_of_ones_own(run, data, tmp_path, timings_in):
    told = tmp_path / "a.json"
    done = run(
        "--synth",
        "fieldgroups:epsilon=1",
        "--data",
        data / "cmc.csv",
        "--schema",
        data / "cmc_declared.toml",
        "--runs",
        80,
        "--pairs",
        "average",
        "--average-rows",
        30,
        "--box",
        "black",
        "--threads",
        1,
        "--seed",
        1,
        "--json",
        told,
    )
    assert done.code == 0, done.err
    left = json.loads(told.read_text())
    assert left["about"] == {"synth": "fieldgroups:epsilon=1", "data": "cmc.csv", "seed": 1}
    assert timings_in(told) == []
    assert [f["pair"] for f in left["findings"]] == ["average"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--synth", "bayesnet"), "There is no claim to audit"),
        (("--synth", "independent", "--epsilon", "1"), "Under which relation"),
        (
            ("--synth", "bayesnet:epsilon=1", "--neighbours", "add"),
            "Unknown neighbour relation 'add'",
        ),
        (("--synth", "bayesnet:epsilon=1", "--pairs", "narow"), "Did you mean 'narrow'?"),
        (("--synth", "bayesnet:epsilon=1", "--pairs", "average"), "made from a table"),
        (("--synth", "bayesnet:epsilon=1", "--box", "grey"), "Unknown box 'grey'"),
        (
            ("--synth", "bayesnet:epsilon=1", "--runs", "10"),
            "runs must be a whole number of at least 80",
        ),
        (("--synth", "bayesnet:epsilon=1", "--schema", "x.toml"), "--schema is for --data"),
    ],
)
def test_bad_use_is_named_and_nothing_is_written(run, tmp_path, options, message):
    told = tmp_path / "a.json"
    done = run(*options, "--json", told)
    assert done.code == 2, done.out + done.err
    assert message in done.err
    assert not told.exists()


def test_a_private_table_needs_its_schema(run, data):
    done = run("--synth", "bayesnet:epsilon=1", "--data", data / "cmc.csv", *QUICK)
    assert done.code == 2
    assert "schema" in done.err
