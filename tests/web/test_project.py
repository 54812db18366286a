"""A project is one folder of plain files for its owner alone; what stands in it is read back as it was, and strangers' files are data."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaffinch.errors import FileError, InputError
from chaffinch.table.schema_file import schema_from_toml
from chaffinch.web import project
from chaffinch.web.project import (
    FOUND,
    Places,
    ProjectChoices,
    ProjectFolder,
    as_toml,
    default_folder,
    read_json,
    write_json,
)

words = st.text(st.characters(blacklist_categories=("Cs",)), max_size=30)


def test_a_project_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    made = ProjectFolder.open(tmp_path / "p")
    assert stat.S_IMODE(made.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(made.path("project.toml").stat().st_mode) == 0o600
    assert ProjectFolder.open(tmp_path / "p").choices() == ProjectChoices()


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(FileError, match="is no project"):
        ProjectFolder.open(tmp_path)
    with pytest.raises(FileError, match="Cannot make"):
        ProjectFolder.open(tmp_path / "not" / "there")


@given(
    st.builds(
        ProjectChoices,
        source=words,
        holdout=words,
        max_excess=st.none() | st.floats(0, 1),
        epsilon=st.none() | st.floats(0.01, 100),
        forbid=st.lists(words, max_size=3).map(tuple),
        seed=st.none() | st.integers(0, 10**9),
    )
)
def test_choices_come_back_as_they_were(choices: ProjectChoices) -> None:
    assert project._choices_from(as_toml(choices), "p") == choices


def test_a_project_of_an_earlier_release_opens() -> None:
    text = as_toml(ProjectChoices(source="a.csv"))
    assert project._choices_from(f"{text}declared = true\n", "p") == ProjectChoices(source="a.csv")
    by_hand = project._choices_from(f'{text}epsilon = 1\nrequire = ["a:b"]\n', "p")
    assert by_hand == ProjectChoices(source="a.csv", epsilon=1.0, require=("a:b",))


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("epsilon = true", "'epsilon' is not as it should be: input should be a valid number"),
        ('seed = "1"', "'seed' is not as it should be: input should be a valid integer"),
        ("seed = 1.5", "'seed' is not as it should be: input should be a valid integer"),
        ("source = 1", "'source' is not as it should be: input should be a valid string"),
        ('forbid = "a:b"', "'forbid' is not as it should be: input should be a valid tuple"),
        ("forbid = [1]", "'forbid' is not as it should be: input should be a valid string"),
        ("epsilom = 1", "Unknown key 'epsilom'. Did you mean 'epsilon'?"),
        ("declared = 1", None),
        ("=", "is not valid TOML"),
    ],
)
def test_a_project_that_somebody_changed_is_refused_in_words(line: str, says: str | None) -> None:
    text = f"{as_toml(ProjectChoices())}{line}\n"
    if says is None:
        assert project._choices_from(text, "p.toml") == ProjectChoices()
        return
    with pytest.raises(InputError) as error:
        project._choices_from(text, "p.toml")
    assert str(error.value).startswith("'p.toml'")
    assert says in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x = 1",
        'format = "chaffinch-project"\nversion = 2',
        "[[",
        'format = "chaffinch-project"\nversion = 1\nepsilon = "1"',
        'format = "chaffinch-project"\nversion = 1\nthorough = 1',
        'format = "chaffinch-project"\nversion = 1\nunknown = 1',
    ],
)
def test_a_file_that_is_no_project_is_said_to_be_none(tmp_path: Path, text: str) -> None:
    made = ProjectFolder.open(tmp_path / "p")
    made.path("project.toml").write_text(text)
    with pytest.raises(InputError):
        made.choices()


def test_numbers_of_folders_rise_and_none_is_used_twice(tmp_path: Path) -> None:
    made = ProjectFolder.open(tmp_path / "p")
    assert [made.next_folder("runs").name for _ in range(3)] == ["0001", "0002", "0003"]
    os.rmdir(made.path("runs", "0002"))
    assert made.next_folder("runs").name == "0004"


def test_the_choices_of_a_run_can_be_had_again(tmp_path: Path) -> None:
    made = ProjectFolder.open(tmp_path / "p")
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
    assert (
        default_folder(tmp_path / "a.csv")
        == default_folder(tmp_path)
        == tmp_path / "chaffinch-project"
    )


def test_two_pages_do_not_hold_one_project(tmp_path: Path) -> None:
    made = ProjectFolder.open(tmp_path / "p")
    with (
        made.lock(),
        pytest.raises(FileError, match="is open already"),
        ProjectFolder.open(tmp_path / "p").lock(),
    ):
        pass
    with made.lock():
        pass


def test_a_folder_of_another_user_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ProjectFolder.open(tmp_path / "p")
    own = os.getuid()
    monkeypatch.setattr(project.os, "getuid", lambda: own + 1)
    with pytest.raises(FileError, match="belongs to another user"):
        ProjectFolder.open(tmp_path / "p")


@pytest.mark.parametrize("name", ["runs", "decisions", "look"])
def test_a_project_whose_folders_lead_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    folder = ProjectFolder.open(tmp_path / "p").folder
    if (folder / name).exists():
        (folder / name).rmdir()
    (folder / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileError, match="is a link"):
        ProjectFolder.open(folder)


def found(
    folder: ProjectFolder,
    *,
    part: bool,
    source: str = "a.csv",
    kind: str = "integer",
    options: dict[str, str] | None = None,
) -> None:
    """Write what a look at a file finds."""
    folder.path("look").mkdir(exist_ok=True)
    text = f'format = "chaffinch-schema"\nversion = 1\n[columns.a]\nkind = "{kind}"\nrole = "other"\n[columns.b]\nkind = "integer"\n'
    write_json(
        folder.path(FOUND),
        {
            "part": part,
            "source": source,
            "options": options or {},
            "schema": text,
            "columns": [],
            "rows": 500,
        },
    )


def test_roles_that_were_chosen_while_first_rows_were_known_are_kept(tmp_path: Path) -> None:
    made = ProjectFolder.open(tmp_path / "p")
    made.change(source="a.csv")
    found(made, part=True)
    made.adopt()
    first = made.schema_text()
    made.path("schema.toml").write_text(first.replace('role = "other"', 'role = "key"'))
    stamp = made.stamp()
    found(made, part=False, kind="categorical")
    made.adopt()
    schema = schema_from_toml(made.schema_text())
    assert (schema["a"].kind, schema["a"].role, schema["b"].role) == ("categorical", "key", "other")
    columns = made.columns()
    assert columns is not None
    assert (columns["part"], columns["before"]) == (False, stamp)
    found(made, part=False, kind="float")
    made.adopt()  # what is whole is not taken over again
    assert schema_from_toml(made.schema_text())["a"].kind == "categorical"


@pytest.mark.parametrize("other", [{"source": "b.csv"}, {"options": {"encoding": "latin-1"}}])
def test_what_was_found_of_another_file_or_in_another_way_is_not_taken_over(
    tmp_path: Path, other: dict[str, Any]
) -> None:
    made = ProjectFolder.open(tmp_path / "p")
    made.change(source="a.csv")
    found(made, part=False, **other)
    made.adopt()
    assert made.columns() is None


def test_stamps_tell_states_apart(tmp_path: Path) -> None:
    made = ProjectFolder.open(tmp_path / "p")
    stamps = [made.stamp(), made.decisions_stamp()]
    made.change(seed=1)
    assert made.stamp() != stamps[0]
    assert made.decisions_stamp() == stamps[1]
    made.change(seed=None)
    assert made.stamp() == stamps[0]
    (folder := made.next_folder("decisions")).joinpath("decision.json").write_text("{}")
    one = made.decisions_stamp()
    folder.rename(folder.with_name("0002"))
    assert len({one, made.decisions_stamp(), stamps[1]}) == 3


@pytest.fixture
def places(tmp_path: Path) -> Places:
    """Return an opened folder beside one that was not."""
    for name in ("opened", "opened/deep", "other"):
        (tmp_path / name).mkdir()
    for name in ("opened/a.csv", "opened/deep/b.csv", "other/secret.csv", "opened/.hidden"):
        (tmp_path / name).write_text("x\n1\n")
    (tmp_path / "opened" / "out").symlink_to(tmp_path / "other")
    (tmp_path / "opened" / "out.csv").symlink_to(tmp_path / "other" / "secret.csv")
    (tmp_path / "opened" / "in.csv").symlink_to(tmp_path / "opened" / "a.csv")
    (tmp_path / "opened" / "loop").symlink_to(tmp_path / "opened" / "loop")
    return Places(((tmp_path / "opened").resolve(),))


def test_files_inside_are_found_by_either_path(places: Places) -> None:
    root = places.folders[0]
    assert (
        places.inside("a.csv")
        == places.inside(str(root / "a.csv"))
        == places.inside("deep/../a.csv")
        == places.inside("in.csv")
        == root / "a.csv"
    )


@pytest.mark.parametrize(
    "text",
    [
        "../other/secret.csv",
        "deep/../../other/secret.csv",
        "out/secret.csv",
        "out.csv",
        "/etc/passwd",
        "~root",
        "~nobody-here",
        "..",
        "loop",
        "",
        "a\0b",
        "x" * 300,
        "x" * 5000,
    ],
)
def test_what_is_outside_is_refused(places: Places, text: str) -> None:
    with pytest.raises(FileError):
        places.inside(text)


def test_the_folder_above_with_the_same_beginning_is_outside(
    places: Places, tmp_path: Path
) -> None:
    (tmp_path / "opened2").mkdir()
    (tmp_path / "opened2" / "c.csv").write_text("x")
    with pytest.raises(FileError, match="outside"):
        places.inside(str(tmp_path / "opened2" / "c.csv"))


def test_a_listing_shows_no_hidden_file_and_no_way_out(places: Places) -> None:
    listing = places.listing()
    assert (listing.folders, listing.files, listing.above) == (("deep",), ("a.csv", "in.csv"), None)
    assert places.listing("deep").above == places.folders[0]
    with pytest.raises(FileError):
        places.listing("out")


@given(st.text(max_size=60))
def test_no_words_lead_out(text: str) -> None:
    places = Places((Path(__file__).resolve().parent,))
    try:
        path = places.inside(text)
    except FileError:
        return
    assert path == places.folders[0] or places.folders[0] in path.parents


def test_a_path_that_became_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name in ("in/a.csv", "in/b.csv", "out.csv"):
        (tmp_path / name).write_text("x")
    places = Places((tmp_path / "in",))
    path = str(places.inside("a.csv"))
    assert str(places.still(path)) == path
    for target, said in (("in/b.csv", "is a link by now"), ("out.csv", "outside the folders")):
        (tmp_path / "in" / "a.csv").unlink()
        (tmp_path / "in" / "a.csv").symlink_to(tmp_path / target)
        with pytest.raises(FileError, match=said):
            places.still(path)
