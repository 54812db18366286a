"""schema, as a person uses it."""

from __future__ import annotations

import io
import json

import chaffinch


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
