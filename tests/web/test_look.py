"""A look at a file: kinds, pictures and a schema to edit, and nothing that fewer than ten records share."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from chaffinch import read
from chaffinch.table import Column, Schema
from chaffinch.table.schema_file import schema_from_toml
from chaffinch.web import look as web_look
from chaffinch.web.look import FIRST_ROWS, main, sparse
from chaffinch.web.project import FOUND


def test_a_look_says_what_was_understood_and_who_somebody_is(
    people_file: Path, tmp_path: Path
) -> None:
    assert main([str(people_file), str(tmp_path)]) == 0
    seen = json.loads((tmp_path / FOUND).read_text())
    assert seen["rows"] == 300
    assert seen["file"]["delimiter"] == ","
    assert list(seen["personal"]) == ["surname"]
    assert [column["name"] for column in seen["columns"]] == [
        "surname",
        "age",
        "sex",
        "ill",
        "area",
    ]
    assert stat.S_IMODE((tmp_path / FOUND).stat().st_mode) == 0o600


def test_no_rare_value_and_no_small_count_is_written(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(
        "town,age\n" + "Bath,30\n" * 40 + "Rareville,97\n" * 4 + "York,31\n" * 40, encoding="utf-8"
    )
    assert main([str(path), str(tmp_path)]) == 0
    written = (tmp_path / FOUND).read_text()
    assert "Rareville" not in written
    assert "97" not in written
    cells = [cell for column in json.loads(written)["columns"] for cell in column["cells"]]
    assert all(cell == "<10" or cell % 10 == 0 for cell in cells)


def test_the_schema_can_be_used_as_it_is(people_file: Path, tmp_path: Path) -> None:
    main([str(people_file), str(tmp_path)])
    text = json.loads((tmp_path / FOUND).read_text())["schema"]
    assert "levels" not in text.split("format =")[1].replace("# levels", "").replace(
        "listed in levels", ""
    )
    with pytest.warns(match="who somebody is"):
        as_found = read(people_file)
    with pytest.warns(match="who somebody is"):
        again = read(people_file, schema_from_toml(text))
    assert [(c.name, c.kind) for c in again.schema] == [(c.name, c.kind) for c in as_found.schema]


def test_a_sparse_schema_has_no_level_and_no_bound() -> None:
    schema = Schema(
        (
            Column("a", "integer", levels=None, bounds=(0.0, 9.0)),
            Column("b", "categorical", levels=("x",)),
        )
    )
    assert all(column.levels is None and column.bounds is None for column in sparse(schema))


def test_a_file_that_cannot_be_read_is_said_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path / "none.csv"), str(tmp_path)]) == 2
    assert "No such file" in capsys.readouterr().err


def test_first_rows_are_written_before_all_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[dict[str, Any]] = []
    monkeypatch.setattr(web_look, "write_json", lambda path, data: written.append(data))
    monkeypatch.setattr(web_look, "LARGE", 0)
    path = tmp_path / "a.csv"
    path.write_text(
        "town,age\n" + "Bath,30\nYork,31\n" * 260 + "Rareville,97\n" * 4, encoding="utf-8"
    )
    assert main([str(path), str(tmp_path)]) == 0
    assert [(one["part"], one["rows"]) for one in written] == [(True, FIRST_ROWS), (False, 524)]
    assert "Rareville" not in json.dumps(written)
    written.clear()
    path.write_text("town,age\n" + "Bath,30\nYork,31\n" * 200, encoding="utf-8")
    assert main([str(path), str(tmp_path)]) == 0
    assert [one["part"] for one in written] == [False]
    path.write_text("town,age\n" + "Bath,30\nYork,31\n" * 300, encoding="utf-8")
    monkeypatch.undo()
    assert main([str(path), str(tmp_path)]) == 0
    assert not json.loads((tmp_path / FOUND).read_text())["part"]


def test_a_fault_in_first_rows_is_left_to_the_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.csv"
    path.write_text("town,age\n" + "Bath,30\n" * 600 + "Bath,30,1\n", encoding="utf-8")
    assert main([str(path), str(tmp_path)]) == 2
    assert "a row of 3 cells" in capsys.readouterr().err
