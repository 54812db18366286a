"""Texts cut into tokens, and the grammar of conditions: what is read, and what is refused."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaffinch._base.conditions import (
    All,
    Among,
    AnyOf,
    Comparisons,
    Implies,
    Name,
    Not,
    read_condition,
    read_rule,
)
from chaffinch._base.tokens import Reader, cut
from chaffinch.errors import InputError

A, B = Comparisons((Name("a"), 1), ("<",)), Comparisons((Name("b"), "x"), ("==",))


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a < 1", A),
        ("a < 1 and b == 'x'", All((A, B))),
        ("a < 1 or b == 'x' and a < 1", AnyOf((A, All((B, A))))),
        ("(a < 1 or b == 'x') and a < 1", All((AnyOf((A, B)), A))),
        ("not not a < 1", Not(Not(A))),
        ("-1 <= `a b` < 2.5", Comparisons((-1, Name("a b"), 2.5), ("<=", "<"))),
        ("a not in [1, 'x']", Among(Name("a"), (1, "x"), outside=True)),
        ("`in` in (1)", Among(Name("in"), (1,))),
        ("a < 1 implies b == 'x'", Implies(A, B)),
        ("implies < 1 implies b == 'x'", Implies(Comparisons((Name("implies"), 1), ("<",)), B)),
    ],
)
def test_trees(text, tree):
    assert read_rule(Reader(text, what="A rule")) == tree
    if "implies b" not in text:
        assert read_condition(Reader(text, what="A rule")) == tree


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a < 1 implies b == 'x' implies a < 1", "goes on with"),
        ("a", "A rule has no comparison before the end"),
        ("", "where a column, a number or a word in quotes belongs"),
        ("a in []", "where a column, a number or a word in quotes belongs"),
        ("a in 3", "must have a list in brackets"),
        ("a < 1 implies", "where a column"),
        ("not", "where a column"),
    ],
)
def test_what_is_no_condition(text, message):
    with pytest.raises(InputError, match=message):
        read_rule(Reader(text, what="A rule"))


def test_a_filter_has_no_implication():
    with pytest.raises(InputError, match="goes on with"):
        read_condition(Reader("a < 1 implies b == 'x'", what="A filter"))


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", []),
        ("AGE>=16", [("name", "AGE", 1), ("sign", ">=", 4), ("number", "16", 6)]),
        ("  .5e-3 x", [("number", ".5e-3", 3), ("name", "x", 9)]),
        ("a**b", [("name", "a", 1), ("sign", "**", 2), ("name", "b", 4)]),
        ("`a b`:c", [("name", "a b", 1), ("sign", ":", 6), ("name", "c", 7)]),
        (r"'it\'s' " + '"q"', [("word", "it's", 1), ("word", "q", 9)]),
        ("a;b", [("name", "a", 1), ("bad", ";", 2), ("name", "b", 3)]),
        ("'open", [("bad", "'", 1), ("name", "open", 2)]),
        ("`open", [("bad", "`", 1), ("name", "open", 2)]),
    ],
)
def test_tokens_of_a_text(text: str, tokens: list[tuple[str, str, int]]) -> None:
    *ours, end = cut(text)
    assert [(token.kind, token.value, token.position) for token in ours] == tokens
    assert (end.kind, end.position) == ("end", len(text) + 1)


@given(st.text(alphabet=" ab`'\"\\1.e+*=<;\n\u00e9", max_size=30))
def test_tokens_are_the_text_without_its_blanks(text: str) -> None:
    *tokens, _ = cut(text)
    for token in tokens:
        assert text[token.position - 1 :].startswith(token.text)
    between = re.sub(r"\s", "", "".join(token.text for token in tokens))
    assert between == re.sub(r"\s", "", text)


def test_names_and_numbers_are_not_in_messages() -> None:
    shown = [token.safe_text for token in cut("Sark 'Sark' 7 :")]
    assert shown == [
        "a name (position 1)",
        "a word in quotes (position 6)",
        "a number (position 13)",
        ":",
        "the end",
    ]


def test_a_reader_goes_on_past_what_it_accepts() -> None:
    reader = Reader("not (x)", what="The filter")
    assert reader.accept("and", "or") == ""
    assert reader.accept("not") == "not"
    reader.expect("(")
    place = reader.place
    reader.take()
    assert [token.value for token in reader.since(place)] == ["x"]
    with pytest.raises(InputError, match=r"The filter must have '\]' before \)\."):
        reader.expect("]")
    with pytest.raises(InputError, match=r"The filter goes on with \) where it should end\."):
        reader.finish()
    reader.take()
    assert reader.take().kind == reader.take().kind == "end"
    reader.finish()


def test_a_name_in_backquotes_is_no_sign_and_no_word_of_the_language() -> None:
    for text in ("`+`", "`and`"):
        assert not Reader(text, what="It").ahead("+", "and")


def test_long_deep_and_unknown() -> None:
    with pytest.raises(InputError, match=r"It must have at most 20000 characters. Got 20001\."):
        Reader("a" * 20_001, what="It")
    with pytest.raises(
        InputError, match=r"It has a sign at position 3 that it may not have: ';'\."
    ):
        Reader("a ; b", what="It")
    reader = Reader("a", what="It")
    for _ in range(40):
        reader.deeper()
    with pytest.raises(InputError, match="It may nest at most 40 brackets deep"):
        reader.deeper()
