"""Counts of levels: those of a dictionary, also where they lie in runs on disk."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chaffinch.errors import FileError
from chaffinch.privacy import tallies
from chaffinch.privacy.tallies import LevelCounts

WORDS = st.lists(
    st.lists(st.tuples(st.text(max_size=2), st.integers(1, 9)), max_size=9), max_size=9
)
NUMBERS = st.lists(
    st.lists(st.tuples(st.integers(-5, 5), st.integers(1, 9)), max_size=9), max_size=9
)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(parts=WORDS | NUMBERS, most=st.integers(0, 6))
def test_counts_are_those_of_a_dictionary_however_few_are_held(tmp_path_factory, parts, most):
    folder = tmp_path_factory.mktemp("runs") / "column"
    expected = Counter()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tallies, "MOST_LEVELS", most)
        patch.setattr(tallies, "RUN_ROWS", 2)
        counts = LevelCounts(folder)
        for part in parts:
            counts.add(part)
            for level, n in part:
                expected[level] += n
            assert len(counts._held) <= most
        for _ in range(2):
            assert list(counts.sorted_items()) == sorted(expected.items())


def test_without_a_folder_all_are_held(monkeypatch):
    monkeypatch.setattr(tallies, "MOST_LEVELS", 1)
    counts = LevelCounts()
    counts.add([("c", 1), ("a", 2), ("b", 3)])
    assert list(counts.sorted_items()) == [("a", 2), ("b", 3), ("c", 1)]


def test_no_room_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(tallies, "MOST_LEVELS", 1)
    counts = LevelCounts(tmp_path / "missing" / "column")
    with pytest.raises(FileError, match="Cannot write the code cache") as error:
        counts.add([("secret", 1), ("other", 2)])
    assert "secret" not in str(error.value)
