"""frontier, as a person uses it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

KEYS = [
    "--keys",
    "wife_age,husband_education,num_children",
    "--sensitive",
    "wife_religion",
    "--label",
    "contraceptive_method",
]
QUICK = ["--attackers", "gcap", "--tests", "none", "--seed", "3"]


def run(*arguments: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "chaffinch", "frontier", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_a_frontier_fills_a_folder_and_goes_on_in_it(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = run(data / "cmc.csv", "-o", out, *KEYS, *QUICK, "--evaluations", 2)
    assert done.returncode == 0, done.stderr
    assert "2 settings tried" in done.stdout
    assert "Nothing was chosen: name --max-excess" in done.stdout
    done = run(
        data / "cmc.csv",
        "-o",
        out,
        *KEYS,
        *QUICK,
        "--evaluations",
        3,
        "--max-excess",
        0.3,
        "--json",
        tmp_path / "f.json",
    )
    assert done.returncode == 0, done.stderr
    assert "Went on from 2 settings" in done.stderr
    assert "Chosen: " in done.stdout
    assert (out / "to-release" / "synthetic.csv").exists()
    stored = json.loads((tmp_path / "f.json").read_text("utf-8"))
    assert stored["format"] == "chaffinch-frontier"
    assert stored["about"]["original"] == "cmc.csv"
    assert len(stored["evaluations"]) == 3
    assert "<script" not in (out / "confidential" / "frontier.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--budget", "0s"], "above zero"),
        (["--budget", "soon"], "as 10min"),
        (["--evaluations", "0"], "at least 1"),
        (["--budget", "10min", "--evaluations", "5"], "Got both"),
        (["--keys", "nobody"], "nobody"),
        (["--max-excess", "2"], "between 0 and 1"),
        (["--epsilons", "many"], "Write --epsilons none,10,3,1"),
        (["--epsilons", "none,1"], "no promise of privacy covers"),
        (["--ledger", "ledger.json"], "give --epsilons"),
    ],
)
def test_bad_use_ends_with_2_and_writes_nothing(
    data: Path, tmp_path: Path, options: list[str], message: str
) -> None:
    own = KEYS if "--keys" not in options else KEYS[2:]
    done = run(data / "cmc.csv", "-o", tmp_path / "out", *own, *options)
    assert done.returncode == 2
    assert message in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_limit_that_nothing_keeps_names_the_nearest(data: Path, tmp_path: Path) -> None:
    """One setting, whose excess at this seed is above zero, as any table's is that learnt from 190 people with every test."""
    out = tmp_path / "out"
    done = run(
        data / "diabetes.csv",
        "-o",
        out,
        "--keys",
        "age,pregnancies",
        "--sensitive",
        "bmi",
        "--attackers",
        "gcap",
        "--seed",
        3,
        "--evaluations",
        1,
        "--max-excess",
        0,
    )
    assert done.returncode == 2
    assert (
        "None of 1 setting is within an excess of at most 0, with room for doubt. Nearest: trees, with an excess of 0.0"
        in done.stderr
    )
    assert (out / "confidential" / "evaluations.json").exists()
    assert not (out / "to-release").exists()


def test_a_folder_of_another_search_is_refused(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run(data / "cmc.csv", "-o", out, *KEYS, *QUICK, "--evaluations", 1).returncode == 0
    done = run(
        data / "diabetes.csv",
        "-o",
        out,
        "--keys",
        "age,pregnancies",
        "--sensitive",
        "bmi",
        *QUICK,
        "--evaluations",
        1,
    )
    assert done.returncode == 2
    assert "holds a search of another original" in done.stderr
