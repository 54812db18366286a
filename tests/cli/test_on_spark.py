"""`--engine spark` on the command line: what it says, and with what it ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import chaffinch
from chaffinch.errors import InputError, UnknownNameError
from chaffinch.workflows.engines import engine_of


def test_other_engines_are_not_sparks():
    with pytest.raises(UnknownNameError, match="Did you mean 'spark'"):
        engine_of("sparc")
    with pytest.raises(InputError, match="give --engine spark too"):
        engine_of("memory", "/cache")


def test_what_is_wrong_ends_with_2_before_spark_is_started(run_here, data, tmp_path, monkeypatch):
    from chaffinch.workflows import on_spark

    monkeypatch.setattr(on_spark, "started_session", lambda: pytest.fail("Spark was started"))
    table, out = data / "cmc.csv", tmp_path / "out"
    for arguments, words in (
        (
            ["synth", table, "-o", tmp_path / "out.csv", "--engine", "spark"],
            "folders of Parquet files",
        ),
        (["synth", table, "-o", out, "--engine", "spark", "--keep", "wife_age"], "keep completes"),
        (
            ["synth", table, "-o", tmp_path / "out.csv", "--cache", tmp_path],
            "give --engine spark too",
        ),
        (
            ["synth", table, "-o", tmp_path / "out.csv", "--engine", "sparc"],
            "Did you mean 'spark'?",
        ),
        (["release", table, "-o", out, "--engine", "sparc"], "Did you mean 'spark'?"),
        (["utility", table, table, "--engine", "sparc"], "Did you mean 'spark'?"),
        (
            ["synth", table, "-o", out, "--engine", "spark", "--rows", "1.5"],
            "rows must be a whole number",
        ),
        (
            ["synth", table, "-o", out, "--engine", "spark", "--delimiter", ";"],
            "leave out --delimiter",
        ),
        (
            ["release", table, "-o", out, "--engine", "spark", "--copies", "2"],
            "A release on Spark has one synthesis",
        ),
        (
            ["release", table, "-o", out, "--engine", "spark", "--epsilon", "1"],
            "promises privacy is not measured on Spark",
        ),
        (
            ["release", table, "-o", out, "--engine", "spark", "--keep", "wife_age"],
            "keep completes",
        ),
        (
            ["release", table, "-o", out, "--engine", "spark", "--sample-rows", "9999999"],
            "at most 1,000,000 on Spark",
        ),
        (["release", table, "-o", out, "--cache", tmp_path], "give --engine spark too"),
        (
            ["utility", table, table, "--engine", "spark", "--sample-rows", "9999999"],
            "at most 1,000,000 on Spark",
        ),
        (["utility", table, table, "--cache", tmp_path], "give --engine spark too"),
        (
            ["risk", table, table, table, "--engine", "spark"],
            "attack one synthetic table at a time on Spark",
        ),
    ):
        done = run_here(*arguments)
        assert done.code == 2, done.err
        assert words in " ".join(done.err.split())
    assert list(tmp_path.iterdir()) == []


def test_rows_are_counted_in_powers_of_ten(run_here, data, tmp_path):
    done = run_here(
        "synth", data / "caesarian.csv", "-o", tmp_path / "s.csv", "--rows", "1.2e2", "--seed", "1"
    )
    assert done.code == 0, done.err
    assert len((tmp_path / "s.csv").read_text().splitlines()) == 121


def test_a_journey_on_spark(spark, run_here, data, tmp_path):
    people = tmp_path / "people.parquet"
    chaffinch.read(data / "cmc.csv").write(people)
    done = run_here(
        "synth",
        people,
        "-o",
        tmp_path / "out",
        "--engine",
        "spark",
        "--rows",
        "1e3",
        "--seed",
        "7",
        "--model",
        tmp_path / "m.chaffinch",
        "--json",
        tmp_path / "a.json",
    )
    assert done.code == 0, done.err
    assert f"Wrote {tmp_path / 'out'}: 1,000 rows." in done.err
    assert pq.read_table(tmp_path / "out").num_rows == 1000
    assert json.loads((tmp_path / "a.json").read_text())["rows"] == 1000
    assert (
        run_here(
            "fit", people, "-o", tmp_path / "f.chaffinch", "--engine", "spark", "--seed", "7"
        ).code
        == 0
    )
    assert (tmp_path / "f.chaffinch").read_bytes() == (tmp_path / "m.chaffinch").read_bytes()
    assert (
        run_here(
            "sample",
            tmp_path / "m.chaffinch",
            "-o",
            tmp_path / "drawn",
            "-n",
            "1e1",
            "--engine",
            "spark",
        ).code
        == 0
    )
    measured = run_here(
        "utility",
        people,
        tmp_path / "out",
        "--engine",
        "spark",
        "--measures",
        "jensen_shannon",
        "--seed",
        "1",
        "--json",
        tmp_path / "u.json",
        "--html",
        tmp_path / "u.html",
    )
    assert measured.code == 0, measured.err
    assert "Of all records: Distance of columns (Jensen-Shannon)." in measured.out
    assert json.loads((tmp_path / "u.json").read_text())["about"]["original"]["rows"] == 1470
    attacked = run_here(
        "risk",
        people,
        tmp_path / "out",
        "--engine",
        "spark",
        "--attackers",
        "exact_row",
        "--seed",
        "1",
        "--json",
        tmp_path / "r.json",
    )
    assert attacked.code == 0, attacked.err
    assert json.loads((tmp_path / "r.json").read_text())["about"]["sample"]["original"] == 1470
    assert pq.read_table(tmp_path / "drawn").num_rows == 10
    assert run_here("schema", people, "-o", tmp_path / "s.toml", "--engine", "spark").code == 0
    assert chaffinch.read_schema(tmp_path / "s.toml").names
    done, alone = run_here("describe", people, "--engine", "spark"), run_here("describe", people)
    assert done.out.splitlines()[:12] == alone.out.splitlines()[:12]


def test_a_private_synthesis_on_spark_prints_its_promise_and_no_bad_cell(
    spark, run_here, data, tmp_path
):
    """At most two rows of each person, and a cell that no declaration has: it becomes what the schema says, and nothing repeats it."""
    pytest.importorskip("opendp")
    rows = chaffinch.read(data / "cmc.csv").data
    ids = pa.array([f"p{i // 3}" for i in range(rows.num_rows)])
    methods = pa.array(
        [
            "4711-secret" if i == 5 else str(value)
            for i, value in enumerate(rows.column("contraceptive_method").to_pylist())
        ]
    )
    rows = rows.set_column(
        rows.column_names.index("contraceptive_method"), "contraceptive_method", methods
    ).append_column("id", ids)
    pq.write_table(rows, tmp_path / "people.parquet")
    schema = (
        data / "cmc_declared.toml"
    ).read_text() + '\n[columns.id]\nkind = "identifier"\nrole = "person"\n'
    (tmp_path / "schema.toml").write_text(schema)
    done = run_here(
        "synth",
        tmp_path / "people.parquet",
        "-o",
        tmp_path / "out",
        "--engine",
        "spark",
        "--epsilon",
        "2",
        "--person-id",
        "id",
        "--rows-per-person",
        "2",
        "--schema",
        tmp_path / "schema.toml",
        "--rows",
        "500",
        "--json",
        tmp_path / "a.json",
    )
    assert done.code == 0, done.err
    assert "epsilon" in done.err
    assert "4711-secret" not in done.err + done.out + (tmp_path / "a.json").read_text()
    assert pq.read_table(tmp_path / "out").num_rows == 500
    assert json.loads((tmp_path / "a.json").read_text()).get("run", {}) == {}


def test_what_is_no_table_ends_with_2_and_leaves_nothing(spark, run_here, tmp_path):
    (tmp_path / "empty").mkdir()
    for place in (tmp_path / "empty", tmp_path / "absent", "nowhere://here/people"):
        done = run_here("synth", place, "-o", tmp_path / "out", "--engine", "spark")
        assert done.code == 2, done.err
        assert "no table" in done.err or "Spark knows no such scheme" in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["empty"]


def command(*words, **environment):
    cleared = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYSPARK", "SPARK"))
    }
    return subprocess.run(
        [sys.executable, "-m", "chaffinch", *map(str, words)],
        capture_output=True,
        text=True,
        env={**cleared, **environment},
        timeout=400,
    )


@pytest.mark.slow
def test_the_command_starts_spark_itself_and_says_where_there_is_no_cluster(spark, data, tmp_path):
    people = tmp_path / "people.parquet"
    chaffinch.read(data / "cmc.csv").write(people)
    done = command(
        "synth",
        people,
        "-o",
        tmp_path / "out",
        "--engine",
        "spark",
        "--rows",
        "1e3",
        "--seed",
        "7",
        "--parents",
        "1",
        PYSPARK_SUBMIT_ARGS="--driver-memory 1g pyspark-shell",
    )
    assert done.returncode == 0, done.stderr
    assert pq.read_table(tmp_path / "out").num_rows == 1000
    for nowhere in ({"SPARK_REMOTE": "sc://127.0.0.1:1"}, {"JAVA_HOME": str(tmp_path)}):
        done = command("synth", people, "-o", tmp_path / "other", "--engine", "spark", **nowhere)
        assert done.returncode == 2, (nowhere, done.stderr)
        assert (
            "Error: No Spark cluster could be reached" in done.stderr
            or "Error: Spark could not be started" in done.stderr
        )
        assert not (tmp_path / "other").exists()
