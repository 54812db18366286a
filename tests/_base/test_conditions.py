"""The grammar of conditions: what is read, and what is refused."""

from __future__ import annotations

import pytest

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
from chaffinch._base.errors import InputError
from chaffinch._base.tokens import Reader

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
