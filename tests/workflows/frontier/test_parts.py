"""People are parted by person: no one is in two parts, and no one is both a member and another."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chaffinch
from chaffinch.errors import InputError
from chaffinch.workflows.frontier.evaluate import cost_of_parting, parted, rows_of, split_people

from .conftest import made_people


def rows_set(rows: np.ndarray) -> set[int]:
    return set(rows.tolist())


@settings(max_examples=15, deadline=None)
@given(st.integers(220, 400), st.floats(0.3, 0.6), st.integers(0, 99))
def test_every_row_is_in_one_part_and_its_folds_mirror_each_other(
    n: int, share: float, seed: int
) -> None:
    table = chaffinch.read(made_people(400)).take(np.arange(n))
    try:
        parts = parted(table, None, share, np.random.default_rng(seed))
    except InputError:
        assert n * min(share, 1 - share) / 2 <= 51
        return
    search, confirmation = rows_of(parts)
    assert search.isdisjoint(confirmation)
    assert search | confirmation == set(range(n))
    for part in parts:
        first, second = part.folds
        assert rows_set(first.members) == rows_set(second.others)
        assert rows_set(first.members).isdisjoint(rows_set(first.others))


def test_all_rows_of_a_person_stay_together() -> None:
    table = chaffinch.read(made_people(400))
    table = replace(table, person_of=np.arange(400) // 2)
    first, second = split_people(table, np.arange(400), 0.5, np.random.default_rng(1))
    assert len(first) == len(second) == 200
    assert set((first // 2).tolist()).isdisjoint(set((second // 2).tolist()))


def test_a_holdout_is_parted_alike() -> None:
    table, holdout = chaffinch.read(made_people(300)), chaffinch.read(made_people(200, 2))
    search, confirmation = parted(table, holdout, 0.5, np.random.default_rng(1))
    assert len(search.folds) == len(confirmation.folds) == 1
    assert rows_set(search.folds[0].others).isdisjoint(rows_set(confirmation.folds[0].others))
    assert len(search.folds[0].members) == 150


def test_too_few_people_are_refused() -> None:
    table = chaffinch.read(made_people(150))
    with pytest.raises(InputError, match=r"Too few people to part.*Give a holdout"):
        parted(table, None, 0.5, np.random.default_rng(1))
    with pytest.raises(InputError, match="Too few people to part"):
        parted(table, table.take(np.arange(60)), 0.5, np.random.default_rng(1))


def test_what_parting_costs_is_the_root_of_the_share() -> None:
    """A quarter of the people see twice as large an excess at the least: sqrt(1/4) is a half."""
    part = parted(chaffinch.read(made_people(400)), None, 0.75, np.random.default_rng(1))[0]
    sentences = cost_of_parting(part, 400, (0.04, 0.2), holdout=False)
    assert "made of 50 people, where the release is made of 400" in sentences[0]
    assert "0.04 to 0.2" in sentences[1]
    assert "0.02 to 0.1" in sentences[1]
