"""Results as plain data and back, where a fault names its place and never a value; what a run left out; plain HTML."""

from __future__ import annotations

import json
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaffinch._base.results import (
    KEEP_INSIDE,
    NOT_WRITTEN,
    UNLESS_EMPTY,
    UNLESS_NONE,
    LeftOut,
    PlainData,
    RunFacts,
    TabularResult,
    from_plain,
    html_page,
    html_table,
    not_measured,
    plain_form,
    to_plain,
    write_page,
)
from chaffinch.errors import InputError, MissingExtraError


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
        ("command", ["chaffinch", "fit"]),
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


# The base of results.


@dataclass(frozen=True)
class Bounds(PlainData):
    low: float | None = field(default=None, metadata=UNLESS_NONE)
    high: float | None = field(default=None, metadata=UNLESS_NONE)


@dataclass(frozen=True, kw_only=True)
class Measured(TabularResult):
    FORMAT: ClassVar[str] = "measured"
    VERSION: ClassVar[int] = 2
    SUBJECT: ClassVar[str] = "a measured number"
    NEXT_STEP: ClassVar[str] = "Give the JSON of the test."

    value: float = field(metadata=plain_form(write=lambda result, value: round(value, 2)))
    bounds: tuple[Bounds, ...] = ()
    label: str = field(default="", metadata=UNLESS_EMPTY)
    counts: Mapping[str, int] = field(default_factory=dict)
    ends: tuple[int, int] = field(
        default=(0, 1),
        metadata=plain_form(
            write=lambda result, ends: {"first": ends[0], "last": ends[1]}, spread=True
        ),
    )
    cache: str = field(default="", compare=False, metadata=NOT_WRITTEN)

    @classmethod
    def _parsed(cls, data: Mapping[str, Any]) -> Measured:
        return super()._parsed({**data, "ends": [data["first"], data["last"]]})


numbers = st.none() | st.floats(allow_nan=False, allow_infinity=False)
measured = st.builds(
    Measured,
    value=st.integers(-1000, 1000).map(lambda hundredths: hundredths / 100),
    bounds=st.lists(st.builds(Bounds, numbers, numbers), max_size=3).map(tuple),
    label=st.text(max_size=3),
    counts=st.dictionaries(st.text(max_size=3), st.integers(), max_size=3),
    ends=st.tuples(st.integers(), st.integers()),
    cache=st.text(max_size=3),
)


@given(measured)
def test_a_result_is_the_same_again(result: Measured) -> None:
    assert Measured.from_dict(json.loads(json.dumps(result.to_dict()))) == result


def test_fields_are_written_in_their_order_each_in_its_form() -> None:
    result = Measured(value=0.126, bounds=(Bounds(low=1.0), Bounds()), counts={"a": 1}, cache="x")
    assert json.dumps(result.to_dict()) == (
        '{"format": "measured", "version": 2, "value": 0.13, "bounds": [{"low": 1.0}, {}], '
        '"counts": {"a": 1}, "first": 0, "last": 1}'
    )
    assert to_plain([Bounds(high=2.0)]) == [{"high": 2.0}]


@pytest.mark.parametrize("data", [{"format": "other", "version": 2}, {}, [], None])
def test_data_of_another_format_are_refused_with_the_next_step(data: Any) -> None:
    with pytest.raises(
        InputError, match=r"must be of format 'measured'\. Got .* Give the JSON of the test\."
    ):
        Measured.from_dict(data)


def test_data_of_another_version_are_refused() -> None:
    data = {**Measured(value=1.0).to_dict(), "version": 1}
    with pytest.raises(InputError, match=r"reads version 2 of 'measured'\. Got '1'\."):
        Measured.from_dict(data)


def test_data_of_a_part_of_a_file_need_no_format_and_are_checked() -> None:
    assert Bounds.from_dict({"low": 1}) == Bounds(1.0)
    with pytest.raises(InputError, match="The data of a result are not as they should be at 'low'"):
        Bounds.from_dict({"low": "x"})


def test_results_that_compare_by_identity_still_do() -> None:
    @dataclass(frozen=True, eq=False)
    class Fit(PlainData):
        value: float

    assert Fit(1.0) != Fit(1.0)


@dataclass(frozen=True)
class Named(TabularResult):
    HEAD: ClassVar[tuple[str, ...]] = ("name", "value")
    numbers: Mapping[str, float]

    def rows(self) -> list[tuple[str, float]]:
        return list(self.numbers.items())


def test_the_table_of_a_result_is_a_frame() -> None:
    frame = Measured(value=0.5, ends=(3, 4)).to_pandas()
    assert frame[["value", "first", "last"]].to_dict("records") == [
        {"value": 0.5, "first": 3, "last": 4}
    ]
    frame = Named({"a": 1.0, "b": 2.0}).to_pandas()
    assert list(frame.columns) == ["name", "value"]
    assert frame.to_numpy().tolist() == [["a", 1.0], ["b", 2.0]]
    assert list(Named({}).to_pandas().columns) == ["name", "value"]


def test_a_frame_without_pandas_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'chaffinch\[pandas\]'"):
        Named({}).to_pandas()


@dataclass(frozen=True)
class Share(PlainData):
    SUBJECT: ClassVar[str] = "a share"
    n_rows: int
    share_kept: float | None = field(default=None, metadata=plain_form(key="kept"))


@dataclass(frozen=True)
class Shares(PlainData):
    shares: tuple[Share, ...] = ()


def test_a_field_may_have_another_key_in_plain_data() -> None:
    shares = Shares((Share(3, 0.5), Share(2)))
    plain = {"shares": [{"n_rows": 3, "kept": 0.5}, {"n_rows": 2, "kept": None}]}
    assert shares.to_dict() == to_plain(shares) == plain
    assert Shares.from_dict(plain) == shares
    with pytest.raises(InputError, match=r"'kept': input should be a valid number"):
        Share.from_dict({"n_rows": 3, "kept": "half"})
