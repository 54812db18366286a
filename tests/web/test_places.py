"""Files outside the opened folders are not reached: not by a path, not by going up, not by a link."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaffinch.errors import FileError
from chaffinch.web.places import Places


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
