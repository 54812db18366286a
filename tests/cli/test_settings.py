"""Options that say what to learn: what contradicts itself ends with 2 and writes nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import chaffinch as cf
from chaffinch.cli.options import reading_of
from chaffinch.cli.settings import Choice
from chaffinch.errors import InputError


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--parents", "0"], "parents must be at least 1. Got 0."),
        (["--rows", "-1"], "rows must be at least 0"),
        (["--copies", "0"], "copies must be at least 1"),
        (["--sensitive", "agee"], "Did you mean 'age'"),
        (["--sensitive", "age", "--label", "age"], "cannot be the label and sensitive"),
        (["--require", "age"], "--require takes PARENT:CHILD"),
        (
            ["--require", "age:caesarian", "--require", "caesarian:age"],
            "cycle: age -> caesarian -> age",
        ),
        (
            ["--require", "age:caesarian", "--forbid", "age:caesarian"],
            "required and forbidden at once",
        ),
        (["--search", "greddy"], "Did you mean 'greedy'"),
        (["--score", "pairwise", "--search", "greedy"], "score for greedy search"),
        (["--method", "ctgan"], "Unknown method 'ctgan'"),
        (["--keep", "age", "--rows", "5"], "--rows cannot be given"),
        (["--smoothing", "-1"], "smoothing must be at least 0"),
        (["--protect", "both", "--sensitive", "age"], "Unknown way to protect 'both'"),
    ],
)
def test_bad_settings_exit_with_2_and_write_nothing(data, tmp_path, run_here, arguments, says):
    done = run_here("synth", data / "caesarian.csv", "-o", tmp_path / "s.csv", *arguments)
    assert done.code == 2, done.err
    assert says in done.err
    assert os.listdir(tmp_path) == []


def test_options_that_contradict_each_other():
    with pytest.raises(InputError, match="--rows cannot be given"):
        Choice(cf.Independent(), None, ("a",)).check_counts(3, 1)
    with pytest.raises(InputError, match="--ledger adds up"):
        Choice(cf.Independent(), None, ()).synthesis(
            reading_of(), Path("o.csv"), ledger=Path("l.json")
        )


def test_a_variant_is_named_after_its_method_and_no_option_that_does_not_exist(
    run_here, data, tmp_path
):
    schema = data / "cmc_declared.toml"
    words = [
        "synth",
        data / "cmc.csv",
        "-o",
        tmp_path / "o.csv",
        "--epsilon",
        1,
        "--schema",
        schema,
    ]
    done = run_here(*words, "--method", "privbayes:variant=dpart")
    assert done.code == 2
    assert "A variant stands after the method's name: --method privbayes:dpart." in done.err
    assert "--variant" not in done.err
    assert run_here(*words, "--method", "privbayes:dpart").code == 0
