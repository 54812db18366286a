"""The tree of errors: each is also the builtin that a caller expects, and messages suggest what was meant."""

from __future__ import annotations

import inspect

import pytest

from chaffinch._base import errors
from chaffinch._base.errors import join_names, plural, suggestion, unknown_name
from chaffinch.errors import UnknownNameError

BUILTINS = {
    "InputError": ValueError,
    "SchemaError": ValueError,
    "UnknownNameError": KeyError,
    "PrivacyError": ValueError,
    "BudgetError": ValueError,
    "LedgerError": ValueError,
    "ClosedError": ValueError,
    "FileError": OSError,
    "TooLargeError": MemoryError,
    "MissingExtraError": ImportError,
    "ClusterError": RuntimeError,
}


@pytest.mark.parametrize(("name", "builtin"), BUILTINS.items())
def test_an_error_is_ours_and_a_builtin(name, builtin):
    assert issubclass(getattr(errors, name), errors.ChaffinchError)
    assert issubclass(getattr(errors, name), builtin)


def test_the_tree_drawn_at_the_top_is_the_tree():
    """Each line of the drawing has a name, indented under its parent."""
    drawn = {}
    parents = []
    for line in (errors.__doc__ or "").splitlines():
        name = line.lstrip(" │├└─").split(" ")[0]
        if name.endswith("Error"):
            depth = line.index(name) // 4
            parents = [*parents[: depth - 1], name]
            drawn[name] = parents[-2] if len(parents) > 1 else None
    ours = {
        name: kind
        for name, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, errors.ChaffinchError)
    }
    assert set(drawn) == set(ours)
    assert all(
        parent is None or issubclass(ours[name], ours[parent]) for name, parent in drawn.items()
    )


def test_an_unknown_name_is_printed_without_quotes_and_names_the_nearest():
    error = unknown_name("search", "gredy", ["ordering", "greedy"])
    assert isinstance(error, UnknownNameError)
    assert (
        str(error) == "Unknown search 'gredy'. Did you mean 'greedy'? Searches: ordering, greedy."
    )
    assert suggestion("xyz", ["ordering", "greedy"]) == ""


def test_lists_and_plurals():
    assert join_names([]) == ""
    assert join_names(range(13)) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 1 more"
    assert [plural(word) for word in ("key", "property", "class", "branch")] == [
        "keys",
        "properties",
        "classes",
        "branches",
    ]
    phrases = (
        "way with numbers",
        "kind of output",
        "rule for empty classes",
        "way to know the rows",
    )
    assert [plural(word) for word in phrases] == [
        "ways with numbers",
        "kinds of output",
        "rules for empty classes",
        "ways to know the rows",
    ]
