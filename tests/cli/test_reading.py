"""Decimal commas through every command that reads a delimited file."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from chaffinch.errors import InputError
from chaffinch.table.settings import Reading
from chaffinch.workflows.engines import engine_of

PUBLIC = """format = "chaffinch-schema"
version = 1
public = true
rows = 240
[columns.pay]
kind = "float"
bounds = [0.0, 300.0]
bins = 4
decimals = 2
nullable = true
[columns.region]
kind = "categorical"
levels = ["n", "o", "s"]
[columns.ill]
kind = "categorical"
levels = ["no", "yes"]
"""


def frame(seed, n=240):
    rng = np.random.default_rng(seed)
    pay = np.round(rng.gamma(2, 30, n), 2)
    return pd.DataFrame(
        {
            "pay": pay,
            "region": rng.choice(["n", "o", "s"], n),
            "ill": np.where(rng.random(n) < pay / 200, "yes", "no"),
        }
    )


@pytest.fixture
def files(tmp_path):
    """An original with decimal commas, a synthetic table with points and a holdout with commas."""
    frame(1).to_csv(tmp_path / "people.csv", sep=";", decimal=",", index=False)
    frame(2).to_csv(tmp_path / "synthetic.csv", index=False)
    frame(3).to_csv(tmp_path / "others.csv", sep=";", decimal=",", index=False)
    (tmp_path / "public.toml").write_text(PUBLIC)
    return tmp_path


def test_a_table_comes_back_with_decimal_commas(files, run_here):
    done = run_here("synth", files / "people.csv", "-o", files / "out.csv", "--seed", 1)
    assert done.code == 0, done.err
    assert (
        "Note: Decimal commas: columns pay are read as numbers, and written so. --decimal . keeps them as text."
        in done.err
    )
    drawn = pd.read_csv(files / "out.csv", sep=";", decimal=",")
    assert drawn["pay"].dtype == float
    assert not set(drawn["pay"]) <= set(frame(1)["pay"])
    assert (
        run_here("fit", files / "people.csv", "-o", files / "m.chaffinch", "--decimal", ",").code
        == 0
    )
    assert (
        run_here(
            "sample", files / "m.chaffinch", "-o", files / "s.csv", "--given", "pay=60,5", "-n", 20
        ).code
        == 0
    )
    assert set(pd.read_csv(files / "s.csv", sep=";", decimal=",")["pay"]) == {60.5}


def test_the_option_keeps_them_as_text(files, run_here):
    done = run_here("describe", files / "people.csv", "--decimal", ".", "--json", files / "d.json")
    assert done.code == 0, done.err
    assert "look like numbers with a decimal comma" in done.out
    kinds = {c["name"]: c["kind"] for c in json.loads((files / "d.json").read_text())["columns"]}
    assert kinds["pay"] == "text"
    done = run_here("describe", files / "people.csv", "--decimal", ";")
    assert done.code == 2
    assert "decimal must be '.' or ','" in done.err


def test_schemas_say_the_sign(files, run_here):
    done = run_here("schema", files / "people.csv", "-o", files / "s.toml")
    assert done.code == 0
    assert 'decimal = ","' in (files / "s.toml").read_text()
    assert (
        run_here(
            "synth", files / "people.csv", "-o", files / "o.csv", "--schema", files / "s.toml"
        ).code
        == 0
    )
    blank = run_here("schema", files / "people.csv", "--blank", "--decimal", ",")
    assert blank.out.count('{ decimal = "," }') == 3
    assert "decimal" not in run_here("schema", files / "people.csv", "--blank").out


@pytest.mark.parametrize("decimal", [None, ","])
def test_worth_and_risk_read_every_file(files, run_here, decimal):
    option = [] if decimal is None else ["--decimal", decimal]
    holdout = ["--holdout", files / "others.csv"]
    done = run_here(
        "utility",
        files / "people.csv",
        files / "synthetic.csv",
        *holdout,
        "--measures",
        "jensen_shannon,tvd",
        "--json",
        files / "u.json",
        "--seed",
        1,
        *option,
    )
    assert done.code == 0, done.err
    frame(1).to_csv(files / "plain.csv", index=False)
    same = run_here(
        "utility",
        files / "plain.csv",
        files / "synthetic.csv",
        *holdout,
        "--measures",
        "jensen_shannon,tvd",
        "--json",
        files / "v.json",
        "--seed",
        1,
    )
    assert same.code == 0, same.err
    one, two = (json.loads((files / name).read_text()) for name in ("u.json", "v.json"))
    assert one["verdict"] == two["verdict"]  # the same numbers, however they are written
    done = run_here(
        "risk",
        files / "people.csv",
        files / "synthetic.csv",
        *holdout,
        "--keys",
        "pay,region",
        "--sensitive",
        "ill",
        "--attackers",
        "cap,dcap,disco,tcap,nb,memorisation",
        "--resamples",
        50,
        "--seed",
        1,
        *option,
    )
    assert done.code == 0, done.err


def test_a_release_measures_what_it_wrote(files, run_here):
    done = run_here(
        "release",
        files / "people.csv",
        "-o",
        files / "out",
        "--measures",
        "jensen_shannon",
        "--decimal",
        ",",
        "--seed",
        1,
    )
    assert done.code == 0, done.err
    assert (
        pd.read_csv(files / "out" / "to-release" / "synthetic.csv", sep=";", decimal=",")[
            "pay"
        ].dtype
        == float
    )


def test_a_promise_takes_the_sign_by_option_alone(files, run_here):
    """Under epsilon nothing is found: with the point all cells of the column are missing, and nothing says so."""
    said = []
    for option, share in ((["--decimal", ","], 0.5), ([], 0.5)):
        (files / "p.csv").unlink(missing_ok=True)
        done = run_here(
            "synth",
            files / "people.csv",
            "-o",
            files / "p.csv",
            "--schema",
            files / "public.toml",
            "--epsilon",
            20,
            "--parents",
            1,
            "--seed",
            1,
            *option,
        )
        assert done.code == 0, done.err
        present = (
            pd.read_csv(files / "p.csv", sep=";", decimal="," if option else ".")["pay"]
            .notna()
            .mean()
        )
        assert (present > share) == bool(option)
        said.append(done.err)
    assert said[0] == said[1]


def test_attacks_checks_and_trees_take_the_option(files, run_here):
    done = run_here(
        "attack",
        "membership",
        files / "people.csv",
        "--synth",
        "independent",
        "--targets",
        2,
        "--shadows",
        10,
        "--test-shadows",
        10,
        "--decimal",
        ",",
        "--seed",
        1,
    )
    assert done.code == 0, done.err
    for command in (
        ["check"],
        ["audit"],
        ["tree", "audit"],
        ["tree", "prune"],
        ["attack", "singling-out"],
    ):
        assert "--decimal" in run_here(*command, "--help-all").out


def test_trees_read_decimal_commas(files, run_here):
    import skops.io
    from sklearn.tree import DecisionTreeClassifier

    people = frame(1)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(people[["pay"]], people["ill"])
    skops.io.dump(tree, files / "t.skops")
    people[["pay", "ill"]].to_csv(files / "c.csv", sep=";", decimal=",", index=False)
    people[["pay", "ill"]].to_csv(files / "p.csv", index=False)
    told = []
    for name in ("c.csv", "p.csv"):
        done = run_here(
            "tree",
            "audit",
            files / "t.skops",
            "--data",
            files / name,
            "--label",
            "ill",
            "--overwrite",
            "--json",
            files / "a.json",
        )
        assert done.code in (0, 1), done.err
        told.append(json.loads((files / "a.json").read_text()))
    assert told[0] == told[1]
    assert told[0]["accuracy"] == round(tree.score(people[["pay"]], people["ill"]), 4)
    done = run_here(
        "tree",
        "audit",
        files / "t.skops",
        "--data",
        files / "c.csv",
        "--label",
        "ill",
        "--decimal",
        ".",
    )
    assert done.code == 2
    assert "Column 'pay' does not hold numbers only" in done.err


def test_what_is_said_of_the_original_is_said_of_what_it_is_compared_with(tmp_path):
    path = tmp_path / "synthetic.csv"
    path.write_bytes("sex;süß\n".encode("cp1252") + b"f;1\nm;2\n" * 20)
    source = engine_of("auto").other(path, Reading(encoding="cp1252", delimiter=";", table="May"))
    assert source.columns == ("sex", "süß")
    with pytest.raises(InputError, match=r"one column when read with the delimiter '\|'"):
        engine_of("auto").other(path, Reading(delimiter="|"))
