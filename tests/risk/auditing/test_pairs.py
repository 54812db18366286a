"""Pairs are neighbours under the relation they name, counted from their decoded rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import chaffinch
from chaffinch._base.errors import InputError
from chaffinch.privacy.relation import PrivacyUnit
from chaffinch.risk.auditing.pairs import MADE, Pair, Skipped, average_pair, made_pair

UNITS = [
    PrivacyUnit("add-remove"),
    PrivacyUnit("replace-one"),
    PrivacyUnit("add-remove", 3),
    PrivacyUnit("replace-one", 2),
]


def records(table):
    """The rows of a table as values, with how often each is there."""
    return Counter(tuple(row.values()) for row in table.data.to_pylist())


def sides(pair):
    return records(pair.base.take(pair.rows_without)), records(pair.base.take(pair.rows_with))


def check_neighbours(pair):
    without, with_ = sides(pair)
    target = tuple(pair.base.take(np.array([pair.target_row])).data.to_pylist()[0].values())
    most = pair.unit.rows_per_person
    assert with_ - without == Counter({target: most})
    gone = without - with_
    assert gone.total() == (most if pair.unit.bounded else 0)


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.description)
@pytest.mark.parametrize("name", MADE)
def test_made_pairs_are_neighbours(name, unit):
    pair = made_pair(name, unit)
    if name == "empty" and unit.bounded:
        assert isinstance(pair, Skipped)
        return
    check_neighbours(pair)
    one, other = (pair.base.take(rows).schema.rows for rows in pair.draws)
    # A declared number of rows must be the same on both tables, or it tells them apart.
    assert one == other
    assert (one is not None) == (unit.bounded and unit.rows_per_person == 1)
    assert pair.base.schema.sealed
    assert pair.base.schema.public


def test_what_the_names_promise():
    unit = PrivacyUnit("add-remove")
    narrow = made_pair("narrow", unit)
    target = narrow.base.data.to_pylist()[narrow.target_row]
    others = narrow.base.take(narrow.rows_without).data.to_pylist()
    assert len(target) == 3
    assert [sum(row[c] != target[c] for c in row) for row in others] == [3, 1, 2]
    assert all(others[1][c] != others[2][c] for c in target)
    without, with_ = sides(made_pair("repeated", unit))
    assert sorted(set(with_.values())) == [1, 2]
    assert with_.keys() == without.keys()
    without, _ = sides(made_pair("empty", unit))
    assert without.total() == 0
    without, with_ = sides(made_pair("lone level", unit))
    assert {row[0] for row in with_} - {row[0] for row in without} == {"c"}
    without, _ = sides(made_pair("crowded", unit))
    assert without.total() == 150


def test_every_level_is_in_the_base_table():
    # What is released is coded on the levels that the base table has.
    for name in MADE:
        base = made_pair(name, PrivacyUnit("add-remove")).base
        for j, size in enumerate(base.schema.sizes):
            assert len(np.unique(base.codes[j])) == size


def test_tables_that_are_no_neighbours_are_refused():
    pair = made_pair("narrow", PrivacyUnit("add-remove"))
    with pytest.raises(InputError, match="no neighbours under the relation 'replace one record'"):
        replace(pair, unit=PrivacyUnit("replace-one"))
    with pytest.raises(InputError, match="no neighbours"):
        replace(pair, rows_with=np.concatenate([pair.rows_with, pair.rows_with[:1]]))
    with pytest.raises(InputError, match="no neighbours"):
        replace(pair, rows_with=pair.rows_without)
    with pytest.raises(InputError, match="does not have"):
        replace(pair, rows_with=np.array([99]))


def test_unknown_pair():
    with pytest.raises(InputError, match=r"Unknown pair 'narow'\. Did you mean 'narrow'"):
        made_pair("narow", PrivacyUnit("add-remove"))


@pytest.fixture(scope="module")
def sixty_with_one_odd():
    rng = np.random.default_rng(3)
    data = {f"x{j}": rng.choice(["a", "b"], 60).tolist() for j in range(5)}
    for j in range(5):
        data[f"x{j}"][17] = "c"  # the odd one out
    schema = chaffinch.table.Schema(
        tuple(chaffinch.table.Column(name, "categorical", levels=("a", "b", "c")) for name in data),
        public=True,
        rows=60,
    )
    return chaffinch.privacy.prepare.prepare(pa.table(data), schema)


@pytest.mark.parametrize("unit", UNITS[:2], ids=lambda unit: unit.description)
def test_average_pair_has_the_most_vulnerable_record(sixty_with_one_odd, unit):
    pair = average_pair(sixty_with_one_odd, unit, rows=20, rng=np.random.default_rng(1))
    check_neighbours(pair)
    assert pair.target_row == 17
    assert len(pair.rows_with) == 20
    one, other = (pair.base.take(rows).schema.rows for rows in pair.draws)
    assert one == other == (20 if unit.bounded else None)
    again = average_pair(sixty_with_one_odd, unit, rows=20, rng=np.random.default_rng(1))
    assert again.rows_with.tolist() == pair.rows_with.tolist()


def test_average_pair_where_there_is_none(sixty_with_one_odd):
    few = sixty_with_one_odd.take(np.array([0, 1]))
    for threshold in (10, 25):
        skipped = average_pair(few, UNITS[0], threshold=threshold, rng=np.random.default_rng(1))
        assert f"fewer than {threshold} records" in skipped.reason
    same = sixty_with_one_odd.take(np.array([5] * 10))
    assert "too few records" in average_pair(same, UNITS[0], rng=np.random.default_rng(1)).reason
    assert (
        "one person"
        in average_pair(sixty_with_one_odd, UNITS[2], rng=np.random.default_rng(1)).reason
    )


def test_a_pair_shows_no_record(sixty_with_one_odd):
    pair = average_pair(sixty_with_one_odd, UNITS[0], rows=20, rng=np.random.default_rng(1))
    assert isinstance(pair, Pair)
    assert "17" not in repr(pair)
