"""schema with its questions, and describe, as a person uses them."""

from __future__ import annotations

import io
import json

import pyarrow as pa
import pytest

import chaffinch
from chaffinch.cli.editing import edited_schema, typed_answer


def test_schema_to_standard_output_and_to_a_file(data, run_here, tmp_path):
    done = run_here("schema", data / "cmc.csv")
    assert done.code == 0
    out = tmp_path / "cmc.toml"
    second = run_here("schema", data / "cmc.csv", "-o", out, "--json", tmp_path / "cmc.json")
    assert second.code == 0
    assert second.out == ""
    assert out.read_text() == done.out
    assert oct(out.stat().st_mode)[-3:] == "600"
    listed = json.loads((tmp_path / "cmc.json").read_text())
    assert listed["rows"] == 1473
    assert [column["name"] for column in listed["columns"]][:2] == ["wife_age", "wife_education"]
    edited = out.read_text().replace(
        '[columns.num_children]\nkind = "integer"', '[columns.num_children]\nkind = "categorical"'
    )
    out.write_text(edited)
    described = run_here(
        "describe", data / "cmc.csv", "--schema", out, "--json", tmp_path / "d.json"
    )
    assert described.code == 0, described.err
    kinds = {c["name"]: c["kind"] for c in json.loads((tmp_path / "d.json").read_text())["columns"]}
    assert kinds["num_children"] == "categorical"


def test_a_pass_over_the_columns_from_a_pipe(run_here, tmp_path, monkeypatch):
    rows = [
        f"{['Huber', 'Maier', 'Gruber'][i % 3]},{20 + i % 50},{'fm'[i % 2]}" for i in range(150)
    ]
    (tmp_path / "p.csv").write_text("nachname,age,sex\n" + "\n".join(rows) + "\n")
    monkeypatch.setattr("sys.stdin", io.StringIO("drop\nkey\n"))
    done = run_here("schema", tmp_path / "p.csv", "--edit", "-o", tmp_path / "p.toml")
    assert done.code == 0, done.err
    assert "Warning" not in done.err
    schema = chaffinch.read_schema(tmp_path / "p.toml")
    assert [(c.name, c.kind, c.role) for c in schema] == [
        ("nachname", "identifier", "identifier"),
        ("age", "integer", "key"),
        ("sex", "categorical", "other"),
    ]
    assert (
        'role = "other"  # perhaps "key": others often know it of a person'
        in (tmp_path / "p.toml").read_text()
    )
    assert run_here("schema", tmp_path / "p.csv", "--edit", "--blank").code == 2


@pytest.fixture
def schema():
    rows = [(["Huber", "Maier", "Gruber"][i % 3], 20 + i % 50, i % 2) for i in range(150)]
    with pytest.warns(chaffinch.errors.PersonalDataWarning):
        return chaffinch.scan(
            pa.table(
                {
                    "nachname": [r[0] for r in rows],
                    "age": [r[1] for r in rows],
                    "target": [r[2] for r in rows],
                }
            )
        ).schema


def answers(*words):
    left = list(words)
    return lambda question: left.pop(0) if left else None


def test_nothing_is_assumed(schema, capsys):
    assert edited_schema(schema, answers("", "", "")) == schema
    assert edited_schema(schema, answers()) == schema
    assert edited_schema(schema, answers("q", "key")) == schema
    said = capsys.readouterr().err
    assert "Perhaps key: others often know it of a person." in said
    assert "Perhaps label" in said
    assert "until you say drop, fake or keep" in said
    assert "Huber" not in said


def test_answers_are_words_or_their_beginnings(schema, capsys):
    edited = edited_schema(schema, answers("fake", "?", "nonsense", "k", "key", "lab"))
    assert [(c.name, c.kind, c.role, c.output) for c in edited] == [
        ("nachname", "identifier", "identifier", "fake"),
        ("age", "integer", "key", ""),
        ("target", "categorical", "label", ""),
    ]
    said = capsys.readouterr().err
    assert "'nonsense' is none of them" in said
    assert "'k' is none of them" in said  # key or keep
    assert "a quasi-identifier" in said


def test_one_label_only(schema, capsys):
    edited = edited_schema(schema, answers("label", "label", "key", ""))
    assert edited.with_role("label") == ("nachname",)
    assert "Only one column can have the role label" in capsys.readouterr().err


def test_whose_rows_they_are(schema, capsys):
    edited = edited_schema(schema, answers("person", "order"))
    assert (edited.only("person"), edited.only("order"), edited["nachname"].kind) == (
        "nachname",
        "age",
        "identifier",
    )
    edited_schema(schema, answers("order", "", "q"))
    assert "name the column that says whose row it is too" in capsys.readouterr().err


def test_a_line_of_standard_input(monkeypatch, capsys):
    import io

    monkeypatch.setattr("sys.stdin", io.StringIO(" key \n"))
    assert typed_answer("role? ") == "key"
    assert typed_answer("role? ") is None
    assert capsys.readouterr().err == "role? role? "


def test_describe_hides_small_counts(run_here, tmp_path):
    path = tmp_path / "t.csv"
    rows = ["common,x"] * 40 + ["seldom,y"] * 9 + ["once,"] * 1
    path.write_text("word,other\n" + "\n".join(rows) + "\n")
    done = run_here(
        "describe",
        path,
        "--json",
        tmp_path / "d.json",
        "--html",
        tmp_path / "d.html",
        "--rare",
        "keep",
    )
    assert done.code == 0, done.err
    shown = done.out + (tmp_path / "d.json").read_text() + (tmp_path / "d.html").read_text()
    assert "common" in shown
    assert "seldom" not in shown
    assert "once" not in shown
    description = json.loads((tmp_path / "d.json").read_text())
    assert description["columns"][1]["missing"] == "<10"
    assert description["columns"][0]["common"] == [{"level": "common", "records": 40}]
    assert (tmp_path / "d.html").read_text().startswith("<!doctype html>")
