"""`chaffinch plan`: advice that never opens the data."""

from __future__ import annotations

import json
import sys

import pytest
from typer.testing import CliRunner

from chaffinch.cli.app import app
from chaffinch.errors import ChaffinchError, InputError, PrivacyError


def run(*arguments):
    done = CliRunner().invoke(app, ["plan", *map(str, arguments)])
    if isinstance(done.exception, ChaffinchError):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture
def cmc(data):
    return ["--schema", data / "cmc_declared.toml"]


def test_the_data_are_not_opened(cmc, tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("wife_age\n17\n")
    opened, watching = [], True
    # A hook cannot be taken out again, so it is switched off at the end.
    sys.addaudithook(
        lambda event, told: opened.append(str(told[0])) if watching and event == "open" else None
    )
    run(path, *cmc, "--epsilon", "1")
    assert any(name.endswith("cmc_declared.toml") for name in opened)
    assert not any(name.endswith("data.csv") for name in opened)
    path.read_text()
    watching = False
    assert opened[-1].endswith("data.csv")


def test_the_data_change_nothing(cmc, tmp_path):
    path, out = tmp_path / "data.csv", tmp_path / "out.json"
    said = []
    for content in (None, b"", b"wife_age\n17\n", b"\xff\x00 no table at all"):
        if content is not None:
            path.write_bytes(content)
        text = run(path, *cmc, "--epsilon", "1", "--json", out)
        said.append((text, out.read_bytes()))
        out.unlink()
    path.unlink()
    path.mkdir()  # could not be opened at all
    said.append((run(path, *cmc, "--epsilon", "1", "--json", out), out.read_bytes()))
    said.append((run(*cmc, "--epsilon", "1"), said[0][1]))
    assert len(set(said)) == 1


@pytest.mark.parametrize(
    ("epsilon", "verdict", "words"),
    [
        ("0.01", "too small", "even single columns would be mostly noise"),
        ("0.2", "single columns only", "links between columns hardly"),
        ("1", "pairs of small columns", "columns of few levels"),
        ("10", "most pairs", "could be measured well"),
    ],
)
def test_verdicts_by_epsilon(cmc, tmp_path, epsilon, verdict, words):
    # PrivBayes as published: errors fall below 0.25 at epsilon 0.12, 4 cells are useful from 0.31.
    said = run(
        *cmc,
        "--epsilon",
        epsilon,
        "--method",
        "privbayes",
        "--json",
        tmp_path / "a.json",
        "--overwrite",
    )
    found = json.loads((tmp_path / "a.json").read_text())
    assert words in " ".join(said.split())
    assert found["format"] == "chaffinch-advice"
    assert found["verdict"] == verdict
    assert found["rows"] == 1473
    assert ("times as much epsilon" in said) == (verdict != "most pairs")
    assert found["plan"]["total"] == pytest.approx(float(epsilon))


def test_the_methods_are_compared_and_the_chosen_one_comes_first(cmc, tmp_path):
    def methods(*options):
        run(*cmc, "--epsilon", "1", "--json", tmp_path / "a.json", "--overwrite", *options)
        found = json.loads((tmp_path / "a.json").read_text())["methods"]
        return {m["method"]: m for m in found}

    plain = methods()
    assert list(plain) == ["bayesnet (pure)", "privbayes"]
    assert plain["privbayes"]["relation"] == "replace one record"
    both = methods("--delta", "1e-6", "--method", "privbayes:dpart", "--neighbours", "add-remove")
    assert list(both) == ["privbayes:dpart", "bayesnet (Gaussian)", "bayesnet (pure)", "privbayes"]
    assert {m["relation"] for m in both.values()} == {"add or remove one record"}
    assert both["privbayes:dpart"]["parents"] == 2
    assert both["bayesnet (Gaussian)"]["column_noise"] < both["bayesnet (pure)"]["column_noise"]


def test_the_largest_table_is_that_of_privbayes_itself(data, cmc, tmp_path):
    from chaffinch.privacy.domain import declared_schema
    from chaffinch.synth import PrivBayes
    from chaffinch.synth.privbayes import split_of
    from chaffinch.table import read_schema

    schema = declared_schema(read_schema(data / "cmc_declared.toml"))
    for epsilon in (0.05, 0.2, 1.0, 20.0):
        run(
            *cmc,
            "--epsilon",
            epsilon,
            "--method",
            "privbayes",
            "--json",
            tmp_path / "a.json",
            "--overwrite",
        )
        told = json.loads((tmp_path / "a.json").read_text())["methods"][0]
        split = split_of(PrivBayes(epsilon)._resolved(), schema, epsilon, 1473)
        assert told["largest_table"] == (int(split.cells) if split.selections else 0)
        if told["verdict"] != "too small" and told["more_epsilon"]:
            for factor, better in ((0.99, False), (1.01, True)):
                run(
                    *cmc,
                    "--epsilon",
                    epsilon * told["more_epsilon"] * factor,
                    "--method",
                    "privbayes",
                    "--json",
                    tmp_path / "b.json",
                    "--overwrite",
                )
                found = json.loads((tmp_path / "b.json").read_text())["verdict"]
                assert (found != told["verdict"]) == better


def test_the_degree_of_privbayes_on_columns_of_two_levels(tmp_path):
    columns = "".join(
        f'[columns.c{j}]\nkind = "categorical"\nlevels = ["n", "y"]\n' for j in range(16)
    )
    path = tmp_path / "binary.toml"
    path.write_text(
        f'format = "chaffinch-schema"\nversion = 1\npublic = true\nrows = 21574\n{columns}'
    )
    run(
        "--schema",
        path,
        "--epsilon",
        "1",
        "--method",
        "privbayes",
        "--json",
        tmp_path / "a.json",
        "--overwrite",
    )
    # Replace-one, 0.7 for tables: 21574 * 0.7 / (2 * 4 * (16 - k)) is 188.8 at k = 6, at least 2^7, and 209.7 at k = 7, below 2^8.
    assert json.loads((tmp_path / "a.json").read_text())["methods"][0]["parents"] == 6


def test_field_groups(cmc, tmp_path):
    said = run(*cmc, "--epsilon", "5", "--method", "fieldgroups")
    assert "tables of groups, all" in said
    said = run(
        *cmc,
        "--epsilon",
        "5",
        "--method",
        "fieldgroups",
        "--groups",
        "wife_age,num_children;wife_religion",
    )
    assert "table of a group  9 " in said
    assert "1 of 45" in said
    with pytest.raises(InputError, match="--groups is for --method fieldgroups"):
        run(*cmc, "--epsilon", "5", "--groups", "wife_age,num_children")


def test_rows_can_be_told(data, cmc, tmp_path):
    path = tmp_path / "s.toml"
    path.write_text((data / "cmc_declared.toml").read_text().replace("rows = 1473\n", ""))
    with pytest.raises(InputError, match="give --rows N"):
        run("--schema", path, "--epsilon", "1")
    assert run("--schema", path, "--epsilon", "1", "--rows", "1473") == run(*cmc, "--epsilon", "1")
    assert "mostly noise" in run(*cmc, "--epsilon", "1", "--rows", "0")


def test_persons_with_several_rows_have_more_noise(cmc, tmp_path):
    out = tmp_path / "a.json"
    run(*cmc, "--epsilon", "1", "--json", out, "--person-id", "wife_age", "--rows-per-person", "3")
    told = json.loads(out.read_text())
    assert told["columns"] == 9  # who it is has no table
    assert told["methods"][0]["relation"] == "add or remove one person (at most 3 rows each)"
    with pytest.raises(InputError, match="--rows-per-person needs --person-id"):
        run(*cmc, "--epsilon", "1", "--rows-per-person", "3", "--method", "fieldgroups")


def test_what_cannot_be_planned(cmc, tmp_path):
    with pytest.raises(PrivacyError, match="needs a declared domain"):
        run("--epsilon", "1")
    with pytest.raises(InputError, match="makes no promise"):
        run(*cmc, "--epsilon", "1", "--method", "independent")
    with pytest.raises(InputError, match="epsilon"):
        run(*cmc, "--epsilon", "0")
    with pytest.raises(InputError, match="rows must be a whole number of at least 0"):
        run(*cmc, "--epsilon", "1", "--rows", "-1")
    table = tmp_path / "t.csv"
    table.write_text("a\n1\n")
    with pytest.raises(ChaffinchError, match="it is the input"):
        run(table, *cmc, "--epsilon", "1", "--json", table)
    assert table.read_text() == "a\n1\n"


def test_the_price_of_discovery_is_shown_before_it_is_paid(run_here, data, tmp_path, monkeypatch):
    from chaffinch.table.formats import Source

    monkeypatch.setattr(Source, "table", lambda self: pytest.fail("a record was read"))
    promise = ("--epsilon", 1, "--delta", 1e-6, "--discover", "all")
    planned = run_here(
        "plan", data / "cmc.csv", *promise, "--rows", 1473, "--json", tmp_path / "plan.json"
    )
    shown = run_here(
        "synth",
        data / "cmc.csv",
        "-o",
        tmp_path / "out.csv",
        *promise,
        "--dry-run",
        "--json",
        tmp_path / "dry.json",
    )
    plan, dry = (json.loads((tmp_path / name).read_text()) for name in ("plan.json", "dry.json"))
    assert plan["discovery"] == dry["discovery"]
    assert len(dry["discovery"]["columns"]) == 10
    for done in (planned, shown):
        assert done.code == 0, done.err
        words = " ".join(done.out.split())
        assert f"Discovery takes {dry['discovery']['share']:.1%} of the budget" in words
        assert (
            f"is found if about {dry['discovery']['columns'][0]['records']:,} records or more have it"
            in words
        )
    spent = sum(step["total"] for step in dry["steps"] if step["why"] == "discover = true")
    assert spent / dry["budget"] == pytest.approx(dry["discovery"]["share"])
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            ("--discover", "some", "--epsilon", 1, "--delta", 1e-6),
            "Unknown discover 'some'. Discovers: all.",
        ),
        (("--discover", "all", "--epsilon", 1), "a kind (to discover it takes a delta above 0)"),
        (("--discover", "all"), "discover is for a privacy guarantee: give epsilon too"),
        (("--epsilon", 1), "--discover all, with a --delta"),
    ],
)
def test_what_discovery_needs(run_here, data, tmp_path, options, words):
    done = run_here("synth", data / "cmc.csv", "-o", tmp_path / "out.csv", *options, "--dry-run")
    assert done.code == 2
    assert words in " ".join(done.err.split())


def test_a_plan_without_a_schema_needs_the_names_of_columns(run_here):
    done = run_here("plan", "--discover", "all", "--epsilon", 1, "--delta", 1e-6, "--rows", 100)
    assert done.code == 2
    assert "name the input" in done.err


def test_columns_that_are_left_out_by_their_names_are_named(run_here, tmp_path):
    (tmp_path / "d.csv").write_text(
        "surname,age\n" + "".join(f"s{i},{i % 50}\n" for i in range(400))
    )
    promise = ("--discover", "all", "--epsilon", 20, "--delta", 1e-6)
    for more in (("--dry-run",), ("--seed", 1, "--quiet")):
        done = run_here("synth", tmp_path / "d.csv", "-o", tmp_path / "out.csv", *promise, *more)
        assert done.code == 0, done.err
        assert "names say who somebody is or number rows: surname." in " ".join(
            (done.out + done.err).split()
        )
    assert (tmp_path / "out.csv").read_text().startswith("age\n")


def test_everything_can_be_discovered(run_here, data, tmp_path):
    done = run_here(
        "synth",
        data / "cmc.csv",
        "-o",
        tmp_path / "out.csv",
        "--discover",
        "all",
        "--epsilon",
        20,
        "--delta",
        1e-6,
        "--seed",
        1,
    )
    assert done.code == 0, done.err
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert lines[0] == (data / "cmc.csv").read_text().splitlines()[0]
    assert len(lines) > 1000
