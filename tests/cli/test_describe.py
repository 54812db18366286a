"""describe, as a person uses it: what few records share is not shown."""

from __future__ import annotations

import json


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
