"""The price of discovery: what an opening will charge, and the counts at which levels are found."""

from __future__ import annotations

import pyarrow as pa
import pytest

import chaffinch
from chaffinch.privacy.ledger import Budget
from chaffinch.privacy.relation import Unit
from chaffinch.privacy.session import DISCOVERY_SHARE, discovery_price, open_private, opening_of
from chaffinch.table import Column, Schema

UNIT = Unit("add-remove")
DECLARED = Column("sex", "categorical", levels=("f", "m"))


def price_of(*columns: Column, epsilon: float = 1.0, delta: float = 1e-6):
    schema = Schema((DECLARED, *columns), public=True, rows=1000).discovering()
    return discovery_price(opening_of(schema, Budget(epsilon, delta), UNIT))


def test_what_is_declared_costs_nothing():
    assert (
        discovery_price(
            opening_of(Schema((DECLARED,), public=True, rows=9), Budget(1.0, 1e-6), UNIT)
        )
        is None
    )


def test_shares_add_up_to_what_is_charged():
    price = price_of(
        Column("job", "categorical"), Column("age", "integer"), Column("what", "unknown")
    )
    assert [column.column for column in price.columns] == ["job", "age", "what"]
    assert [column.what for column in price.columns] == [
        ("levels",),
        ("bounds", "quantiles"),
        ("kind", "levels"),
    ]
    assert sum(column.share for column in price.columns) == pytest.approx(price.share)
    assert 0 < price.share < 2 * DISCOVERY_SHARE
    assert price.columns[1].records is None
    assert 0 < price.delta < 1e-6


def test_the_records_that_a_level_needs_are_those_at_which_it_is_found():
    """A level with twice as many records is found, one with half as many is not; each errs once in 10,000 at most."""
    schema = Schema((Column("job", "categorical", discover=True),), public=True, rows=1000)
    budget = Budget(1.0, 1e-6)
    price = discovery_price(opening_of(schema, budget, UNIT))
    records = price.columns[0].records
    assert records is not None
    words = pa.table({"job": ["often"] * (2 * records) + ["seldom"] * (records // 2)})
    with open_private(chaffinch.prepare(words, schema), budget, UNIT, seed=1) as counter:
        assert counter.schema["job"].levels == ("often",)


def test_more_columns_and_less_epsilon_cost_more_records():
    few, many = (
        price_of(Column("a", "categorical")),
        price_of(*(Column(name, "categorical") for name in "abcdef")),
    )
    tight = price_of(Column("a", "categorical"), epsilon=0.5)
    assert few.columns[0].records < many.columns[0].records
    assert few.columns[0].records < tight.columns[0].records
    said = few.sentences
    assert f"found if about {few.columns[0].records:,} records or more have it" in said[1]
    assert said[0].startswith(
        f"Discovery takes {few.share:.1%} of the budget and a delta of {few.delta:g}, for 1 column: a."
    )
    assert few.to_dict()["columns"][0]["records"] == few.columns[0].records
