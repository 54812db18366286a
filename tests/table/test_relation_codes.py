"""Relations on codes: a combination may occur exactly if some values of it keep the relation, by brute force over values."""

from __future__ import annotations

from itertools import product

import numpy as np
import pyarrow as pa
import pytest

import chaffinch
from chaffinch._base.errors import SchemaError
from chaffinch.privacy.domain import declared_schema
from chaffinch.table import Column, Schema
from chaffinch.table.rules.keep import check_functions, relation_groups
from chaffinch.table.schema import FunctionMap

COLUMNS = (
    Column("a", "integer", bounds=(0, 9), bins=4, nullable=True),
    Column("b", "integer", bounds=(0, 9), bins=3),
    Column("c", "categorical", type="int64", levels=(0, 3, 7)),
)


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("a <= b", lambda a, b, c: a <= b),
        ("a + 2 < b", lambda a, b, c: a + 2 < b),
        ("a = b + c", lambda a, b, c: a == b + c),
        ("b >= c", lambda a, b, c: b >= c),
        ("a = 0.5 * b", lambda a, b, c: abs(a - b / 2) <= 0.75),
    ],
)
def test_codes_may_occur_if_values_may(text, holds):
    schema = declared_schema(Schema(COLUMNS, public=True, rules=(text,)))
    (group,) = relation_groups(schema, ())
    possible = np.zeros([schema[name].size for name in group.columns], dtype=bool)
    for a, b, c in product(range(10), range(10), (0, 3, 7)):
        codes = {
            "a": int(schema["a"].codec.encode(np.array([a]))[0]),
            "b": int(schema["b"].codec.encode(np.array([b]))[0]),
            "c": [0, 3, 7].index(c),
        }
        if holds(a, b, c):
            possible[tuple(codes[name] for name in group.columns)] = True
    if "a" in group.columns:
        index = [slice(None)] * possible.ndim
        index[group.columns.index("a")] = schema["a"].codec.n_values
        possible[tuple(index)] = True  # a missing value leaves it open
    assert (group.allowed == possible).all()


def test_what_cannot_be_kept_is_refused():
    with pytest.raises(SchemaError, match="No record can keep 'a > b \\+ 50': it contradicts"):
        relation_groups(
            declared_schema(
                Schema(
                    (*COLUMNS[1:], Column("a", "integer", bounds=(0, 9))),
                    public=True,
                    rules=("a > b + 50",),
                )
            ),
            (),
        )


def test_functions_have_no_number_that_few_share():
    """Values of 12 and of 5 records in one bin: the one that ten share stands, for the other the middle of the bin."""
    rng = np.random.default_rng(1)
    wide = rng.integers(1000, 9000, 4000)
    word = [f"w{i % 300}" for i in range(4000)]
    many = {"often": 4321, "seldom": 4567}
    words = [*word, *["often"] * 12, *["seldom"] * 5]
    value = [*[1000 + 7 * (i % 300) for i in range(4000)], *[4321] * 12, *[4567] * 5]
    table = chaffinch.read(
        pa.table({"word": words, "value": value, "x": [*wide, *rng.integers(0, 9, 17)]})
    )
    assert "word determines value" in table.schema.rules
    (function,) = table.schema.functions
    levels = table.schema["word"].codec.levels
    numbers = dict(zip(levels, function.numbers, strict=False))
    assert numbers["seldom"] not in (None, many["seldom"])
    assert numbers["often"] in (None, many["often"])
    drawn = chaffinch.BayesNet().fit(table, seed=1).sample(30_000, seed=1).data.to_pandas()
    assert (drawn.groupby("word")["value"].nunique() == 1).all()
    assert not (drawn["value"] == many["seldom"]).any()


def test_functions_of_strangers_are_checked():
    schema = chaffinch.read(pa.table({"a": ["x", "y"] * 30, "b": ["p", "q"] * 30})).schema
    from dataclasses import replace

    check_functions(replace(schema, functions=(FunctionMap("a", "b", (0, 1), (None, None)),)))
    for codes, numbers in (((0,), (None,)), ((0, 9), (None, None)), ((0, 1), (3.0, None))):
        with pytest.raises(SchemaError, match="does not go with their codes"):
            check_functions(replace(schema, functions=(FunctionMap("a", "b", codes, numbers),)))
