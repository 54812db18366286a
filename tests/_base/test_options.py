"""Settings that are declared once: what they take, say, refuse, and how groups of them nest."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaffinch._base.options import Declared, Option, own_settings, settings_of, takes
from chaffinch.errors import InputError

Names = Annotated[Sequence[str], Option("Columns.", basic=True)]


@dataclass(frozen=True, kw_only=True)
class Reading(Declared):
    schema: Annotated[Path | None, Option("A schema.")] = None
    threshold: Annotated[int, Option("Records.", ge=1)] = 10


@dataclass(frozen=True, kw_only=True)
class Search(Declared):
    keys: Names = ()
    parents: Annotated[int | None, Option("Parents.", ge=1)] = None
    epsilon: Annotated[float | None, Option("A budget.", gt=0)] = None
    share: Annotated[float, Option("A share.", ge=0, le=1)] = 0.5
    way: Annotated[Literal["ordering", "greedy"], Option("How.")] = "ordering"
    all: Annotated[bool, Option("All of them.")] = False
    once: Annotated[bool, Option("Once.", flag="--again")] = True
    edges: Annotated[tuple[tuple[str, str], ...], Option("Edges.")] = ()
    groups: Annotated[tuple[tuple[str, ...], ...], Option("Groups.")] = ()
    sizes: Annotated[tuple[int, int] | None, Option("Sizes.")] = None
    widths: Annotated[Mapping[str, float], Option("Widths.")] = field(default_factory=dict)
    reading: Reading = field(default_factory=lambda: Reading(threshold=5))
    threshold: Annotated[int, Option("Records.", ge=1)] = 5
    network: Any = None


def test_settings_of_a_class_are_those_of_its_groups_too_and_one_name_is_one_setting():
    settings = settings_of(Search)
    assert settings["schema"].path == ("reading",)
    assert settings["threshold"].path == ()
    assert "network" not in settings
    assert "schema" not in own_settings(Search)
    made = Search.from_options(threshold=7, schema=Path("a.toml"))
    assert (made.threshold, made.reading.threshold) == (7, 7)
    assert made.reading.schema == Path("a.toml")
    assert made.given() == {"threshold": 7, "schema": Path("a.toml")}
    assert Search.from_options() == Search()


def test_a_group_begins_with_the_default_of_its_field():
    assert settings_of(Search)["threshold"].default == 5
    assert Search.from_options(schema=None).reading.threshold == 5


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"epsilon": "abc"}, "epsilon must be a number above 0. Got 'abc'."),
        ({"epsilon": 0}, "epsilon must be a number above 0. Got 0."),
        ({"epsilon": float("nan")}, "epsilon must be a number above 0. Got nan."),
        ({"epsilon": float("inf")}, "epsilon must be a number above 0. Got inf."),
        ({"epsilon": True}, "epsilon must be a number above 0. Got True."),
        ({"parents": 0}, "parents must be a whole number of at least 1. Got 0."),
        ({"parents": 2.5}, "parents must be a whole number of at least 1. Got 2.5."),
        ({"share": 1.5}, "share must lie between 0 and 1. Got 1.5."),
        ({"keys": "age"}, "keys must be a list of names, as ['age', 'sex']. Got 'age'."),
        ({"way": "gredy"}, "Unknown way 'gredy'. Did you mean 'greedy'? Ways: ordering, greedy."),
        ({"all": "yes"}, "all must be true or false. Got 'yes'."),
        ({"edges": [("a", "b", "c")]}, "edges must be a pair PARENT:CHILD"),
        ({"threshold": None}, "threshold must be a whole number of at least 1. Got None."),
        ({"parnts": 1}, "Unknown option 'parnts'. Did you mean 'parents'?"),
    ],
)
def test_what_breaks_a_rule_is_refused_in_words(given, words):
    with pytest.raises(InputError) as error:
        Search.from_options(**given)
    assert words in str(error.value)


def test_whatever_counts_as_a_number_is_one():
    import numpy as np

    made = Search(parents=np.int64(2), epsilon=np.float32(1.5), share=1)
    assert (made.parents, made.epsilon, made.share) == (2, 1.5, 1)


names = st.lists(st.text("abcXYZ _", min_size=1).map(str.strip).filter(bool), unique=True)


@given(
    names.filter(bool),
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz")), min_size=1),
    st.tuples(st.integers(1, 5), st.integers(6, 9)),
    st.dictionaries(st.sampled_from(["a", "b=c"]), st.floats(0.5, 9), min_size=1),
    st.floats(1e-3, 1e3),
    st.integers(1, 10**9),
)
def test_what_is_written_is_read_back(keys, edges, sizes, widths, epsilon, parents):
    settings = settings_of(Search)
    for name, value in {
        "keys": tuple(keys),
        "edges": tuple(edges),
        "groups": (tuple(keys), ("q",)),
        "sizes": sizes,
        "parents": parents,
        "epsilon": epsilon,
        "widths": widths,
    }.items():
        setting = settings[name]
        text = setting.write(value)
        assert setting.read(text if setting.repeated else text[0]) == value, name


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("epsilon", "abc", "epsilon must be a number above 0. Got 'abc'."),
        ("parents", "1.5", "parents must be a whole number of at least 1. Got '1.5'."),
        ("sizes", "3-x", "sizes must be a size or a range, as 4 or 3-6. Got '3-x'."),
        ("edges", ["a"], "edges must be a pair PARENT:CHILD. Got 'a'."),
        ("widths", ["a=b"], "widths must be COLUMN=VALUE. Got 'a=b'."),
        ("widths", ["a=1", "a=2"], "widths says two things of 'a'. Say one."),
    ],
)
def test_words_that_say_no_value_are_refused(name, text, words):
    with pytest.raises(InputError) as error:
        settings_of(Search)[name].read(text)
    assert str(error.value) == words


def test_whole_numbers_may_be_powers_of_ten():
    assert settings_of(Search)["parents"].read("1e9") == 10**9


def test_a_function_takes_settings_or_options_and_shows_them():
    @takes(Search)
    def search(data: str, *, settings: Search | None = None, **options: Any) -> Search:
        return Search.chosen(settings, options)

    assert search("data", keys=["age"]) == Search(keys=("age",))
    assert search("data", settings=Search(parents=2)).parents == 2
    with pytest.raises(InputError, match="in settings or one by one, not both"):
        search("data", settings=Search(), parents=3)
    shown = inspect.signature(search).parameters
    assert list(shown)[:2] == ["data", "settings"]
    assert set(settings_of(Search)) <= set(shown)
    assert shown["share"].default == 0.5
    assert replace(search("data"), parents=4).parents == 4


def test_an_error_shows_what_was_typed_and_no_table():
    """Whoever gives a table where a name belongs must not find its records in the message."""
    table = pa.table({"name": ["Ann", "Bob"], "age": [39, 50]})
    for options in (
        {"keys": table},
        {"keys": table["name"].to_pylist() * 3 + [1]},
        {"epsilon": table},
        {"way": table},
        {"edges": table.to_pylist()},
        {"sizes": table},
        {"all": table},
        {"schema": table},
    ):
        with pytest.raises(InputError) as caught:
            Search.from_options(**options)
        assert "Ann" not in str(caught.value)
        assert "39" not in str(caught.value)
        assert str(caught.value).partition("Got ")[2] in ("Table.", "list of 7.", "dict.")
