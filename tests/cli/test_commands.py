"""The command line, as a person uses it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest


def run(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "chaffinch", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        **options,
    )


def test_help_and_version():
    assert "schema" in run("--help").stdout
    import chaffinch

    assert run("--version").stdout.strip() == f"chaffinch {chaffinch.__version__}"
    for command in ("schema", "describe"):
        done = run(command, "--help")
        assert done.returncode == 0
        assert "--json" in done.stdout


def test_schema_to_standard_output_and_to_a_file(data, tmp_path):
    done = run("schema", data / "cmc.csv")
    assert done.returncode == 0
    out = tmp_path / "cmc.toml"
    second = run("schema", data / "cmc.csv", "-o", out, "--json", tmp_path / "cmc.json")
    assert second.returncode == 0
    assert second.stdout == ""
    assert out.read_text() == done.stdout
    assert oct(out.stat().st_mode)[-3:] == "600"
    listed = json.loads((tmp_path / "cmc.json").read_text())
    assert listed["rows"] == 1473
    assert [column["name"] for column in listed["columns"]][:2] == ["wife_age", "wife_education"]
    edited = out.read_text().replace(
        '[columns.num_children]\nkind = "integer"', '[columns.num_children]\nkind = "categorical"'
    )
    out.write_text(edited)
    described = run("describe", data / "cmc.csv", "--schema", out, "--json", tmp_path / "d.json")
    assert described.returncode == 0, described.stderr
    kinds = {c["name"]: c["kind"] for c in json.loads((tmp_path / "d.json").read_text())["columns"]}
    assert kinds["num_children"] == "categorical"


def test_describe_hides_small_counts(tmp_path):
    path = tmp_path / "t.csv"
    rows = ["common,x"] * 40 + ["seldom,y"] * 9 + ["once,"] * 1
    path.write_text("word,other\n" + "\n".join(rows) + "\n")
    done = run("describe", path, "--json", tmp_path / "d.json", "--html", tmp_path / "d.html", "--rare", "keep")
    assert done.returncode == 0, done.stderr
    shown = done.stdout + (tmp_path / "d.json").read_text() + (tmp_path / "d.html").read_text()
    assert "common" in shown
    assert "seldom" not in shown
    assert "once" not in shown
    found = json.loads((tmp_path / "d.json").read_text())
    assert found["columns"][1]["missing"] == "<10"
    assert found["columns"][0]["common"] == [{"level": "common", "records": 40}]
    assert (tmp_path / "d.html").read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["schema", "none.csv"], "No such file: 'none.csv'"),
        (["describe", "t.csv", "--schema", "none.toml"], "No such file: 'none.toml'"),
        (["describe", "t.csv", "--json", "no/such/folder.json"], "there is no folder"),
        (["schema", "t.csv", "-o", "."], "it is a folder"),
        (["schema", "t.csv", "--rare", "polo"], "Unknown --rare mode 'polo'. Did you mean 'pool'"),
        (["schema", "t.csv", "--encoding", "x"], "Unknown encoding"),
        (["schema", "t.csv", "--threads", "0"], "threads must be at least 1"),
        (["schema", "latin.csv"], "--encoding cp1252"),
        (["schema"], "Missing argument"),
        (["skema", "t.csv"], "No such command"),
    ],
)
def test_bad_use_exits_with_2_and_writes_nothing(tmp_path, arguments, says):
    (tmp_path / "t.csv").write_text("a,b\n" + "1,x\n2,y\n" * 20)
    (tmp_path / "latin.csv").write_bytes("a,b\né,x\né,y\n".encode("latin-1"))
    before = sorted(os.listdir(tmp_path))
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert says in " ".join(done.stderr.replace("│", " ").split())
    assert "Traceback" not in done.stderr
    assert sorted(os.listdir(tmp_path)) == before


def test_a_fault_of_ours_tells_where_and_not_what(tmp_path):
    code = (
        "import sys, chaffinch.cli.app as m, chaffinch.cli.reading as r\n"
        "def broken(*a, **k): raise RuntimeError('secret cell')\n"
        "r.scan_input = broken\n"
        "sys.argv = ['chaffinch', 'describe', 'x.csv']\n"
        "m.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 3
    assert "Internal fault: RuntimeError" in done.stderr
    assert "secret cell" not in done.stderr


def test_a_closed_pipe_is_no_fault(data):
    done = subprocess.run(
        f"{sys.executable} -m chaffinch schema {data / 'adult_train.parquet'} | head -1",
        shell=True,
        capture_output=True,
        text=True,
    )
    assert done.stderr == "" or "Traceback" not in done.stderr


def test_ctrl_c_leaves_the_old_output(tmp_path):
    big = tmp_path / "big.csv"
    big.write_text("a,b,c\n" + "".join(f"{i},{i * 7 % 1000},{i / 3}\n" for i in range(3_000_000)))
    out = tmp_path / "big.toml"
    out.write_text("old")
    process = subprocess.Popen(
        [sys.executable, "-m", "chaffinch", "schema", str(big), "-o", str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    if process.returncode == 0:
        pytest.skip("the machine finished before the signal came")
    assert process.returncode == 130
    assert out.read_text() == "old"
    assert b"Traceback" not in errors
    assert sorted(os.listdir(tmp_path)) == ["big.csv", "big.toml"]
