"""Results as plain data and back, where a fault names its place and never a value; what a run left out; plain HTML."""

from __future__ import annotations

import json
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaffinch._base.results import (
    KEEP_INSIDE,
    LeftOut,
    RunFacts,
    from_plain,
    html_page,
    html_table,
    not_measured,
    to_plain,
    write_page,
)
from chaffinch.errors import InputError


@dataclass(frozen=True)
class Part:
    columns: tuple[str, ...]
    value: float | None


@dataclass(frozen=True)
class Whole:
    parts: tuple[Part, ...]
    by_name: Mapping[str, float]
    count: int | str
    flag: bool = False


parts = st.builds(
    Part,
    st.lists(st.text(max_size=3), max_size=3).map(tuple),
    st.none() | st.floats(allow_nan=False),
)
wholes = st.builds(
    Whole,
    st.lists(parts, max_size=3).map(tuple),
    st.dictionaries(
        st.text(max_size=3), st.floats(allow_nan=False, allow_infinity=False), max_size=3
    ),
    st.integers() | st.text(max_size=4),
    st.booleans(),
)


@given(wholes)
def test_what_json_held_is_the_same_again(whole: Whole) -> None:
    assert from_plain(Whole, json.loads(json.dumps(to_plain(whole))), what="the test") == whole


def test_numbers_of_numpy_become_plain() -> None:
    plain = to_plain({"a": np.float64(0.5), "b": np.arange(2), "c": (np.int32(1),)})
    assert plain == {"a": 0.5, "b": [0, 1], "c": [1]}
    assert [type(plain["a"]), type(plain["c"][0])] == [float, int]


def test_a_fault_names_its_place_and_no_value() -> None:
    data = {"parts": [{"columns": ["a"], "value": "secret"}], "by_name": {}, "count": 1}
    with pytest.raises(
        InputError, match=r"The data of the report are not as they should be at 'parts\.0\.value'"
    ) as caught:
        from_plain(Whole, data, what="the report")
    assert "secret" not in str(caught.value)


def test_what_is_not_known_is_left_out():
    assert RunFacts().to_dict() == {}
    assert RunFacts(date="2026-01-02").to_dict() == {"date": "2026-01-02"}


def test_seconds_are_rounded_to_the_millisecond_and_stand_first():
    facts = RunFacts({"fit": 1.23456, "draw": 2.0}, {"numpy": "2.0"}, command=("chaffinch", "fit"))
    assert list(facts.to_dict().items()) == [
        ("seconds", {"fit": 1.235, "draw": 2.0}),
        ("versions", {"numpy": "2.0"}),
        ("command", ("chaffinch", "fit")),
    ]


def test_an_option_is_named_once_and_nothing_where_nothing_was_left_out():
    parts = [LeftOut("delta"), LeftOut("the attacker rf"), LeftOut("delta")]
    assert not_measured(parts) == "Not measured: delta, the attacker rf (--thorough)."
    assert not_measured([]) == ""


class Reader(HTMLParser):
    """The tags of a page and its words."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.words = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.words.append(data)


def test_every_cell_is_escaped():
    table = Reader(html_table(["<i>"], [["<script>", 3], [None, "&"]], caption="<b>"))
    assert table.words == ["<b>", "<i>", "<script>", "3", "None", "&"]
    assert set(table.tags) == {"table", "caption", "thead", "tbody", "tr", "th", "td"}


def test_a_page_is_to_be_kept_inside_and_loads_nothing():
    page = html_page("<title>", html_table(["a"], [[1]]))
    assert "default-src 'none'" in page
    assert Reader(page).words.count("<title>") == 2
    assert KEEP_INSIDE in Reader(page).words
    assert "script" not in Reader(page).tags


def test_a_page_is_readable_by_its_owner_alone(tmp_path):
    write_page(tmp_path / "p.html", html_page("t", ""))
    assert stat.S_IMODE((tmp_path / "p.html").stat().st_mode) == 0o600
