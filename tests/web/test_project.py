"""A project is one folder of plain files for its owner alone; what stands in it is read back as it was, and strangers' files are data."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaffinch.errors import FileError, InputError
from chaffinch.web import project
from chaffinch.web.project import ProjectChoices, ProjectFolder, as_toml, default_folder, read_json, write_json

words = st.text(st.characters(blacklist_categories=("Cs",)), max_size=30)


def test_a_project_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    made = ProjectFolder.at(tmp_path / "p")
    assert stat.S_IMODE(made.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(made.path("project.toml").stat().st_mode) == 0o600
    assert ProjectFolder.at(tmp_path / "p").choices() == ProjectChoices()


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(FileError, match="is no project"):
        ProjectFolder.at(tmp_path)
    with pytest.raises(FileError, match="Cannot make"):
        ProjectFolder.at(tmp_path / "not" / "there")


@given(
    st.builds(
        ProjectChoices, source=words, holdout=words, declared=st.booleans(), max_excess=st.none() | st.floats(0, 1),
        epsilon=st.none() | st.floats(0.01, 100), forbid=st.lists(words, max_size=3).map(tuple), seed=st.none() | st.integers(0, 10**9),
    )
)  # fmt: skip
def test_choices_come_back_as_they_were(choices: ProjectChoices) -> None:
    assert project._choices_from(as_toml(choices), "p") == choices


@pytest.mark.parametrize(
    "text", ["", "x = 1", 'format = "chaffinch-project"\nversion = 2', "[[", 'format = "chaffinch-project"\nversion = 1\nepsilon = "1"',
             'format = "chaffinch-project"\nversion = 1\nthorough = 1', 'format = "chaffinch-project"\nversion = 1\nunknown = 1'],
)  # fmt: skip
def test_a_file_that_is_no_project_is_said_to_be_none(tmp_path: Path, text: str) -> None:
    made = ProjectFolder.at(tmp_path / "p")
    made.path("project.toml").write_text(text)
    with pytest.raises(InputError):
        made.choices()


def test_numbers_of_folders_rise_and_none_is_used_twice(tmp_path: Path) -> None:
    made = ProjectFolder.at(tmp_path / "p")
    assert [made.next_folder("runs").name for _ in range(3)] == ["0001", "0002", "0003"]
    os.rmdir(made.path("runs", "0002"))
    assert made.next_folder("runs").name == "0004"


def test_the_choices_of_a_run_can_be_had_again(tmp_path: Path) -> None:
    made = ProjectFolder.at(tmp_path / "p")
    made.change(source="a.csv", seed=1)
    run = made.next_folder("runs")
    (run / "project.toml").write_text(made.path("project.toml").read_text())
    made.change(seed=2)
    made.use_again(run)
    assert made.choices().seed == 1


def test_json_that_is_not_whole_is_none(tmp_path: Path) -> None:
    write_json(tmp_path / "a", {"b": 1})
    assert read_json(tmp_path / "a") == {"b": 1}
    (tmp_path / "a").write_text('{"b":')
    assert read_json(tmp_path / "a") is None
    assert read_json(tmp_path / "none") is None


def test_a_project_goes_beside_what_was_opened(tmp_path: Path) -> None:
    (tmp_path / "a.csv").touch()
    assert default_folder(tmp_path / "a.csv") == default_folder(tmp_path) == tmp_path / "chaffinch-project"
