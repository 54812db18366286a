"""Relations between columns: read by the one grammar, put to values, checked against the same arithmetic in plain Python."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import chaffinch
from chaffinch.errors import SchemaError
from chaffinch.table import Column, Schema
from chaffinch.table.rules.constraints import check_rules, cut_schema
from chaffinch.table.rules.relations import (
    Equality,
    Function,
    MissingTogether,
    Order,
    quote_name,
    relations_of,
    rows_breaking,
    table_values,
)

COLUMNS = (
    Column("before", "float", type="double", decimals=1),
    Column("after", "float", type="double", decimals=1),
    Column("change", "float", type="double", decimals=1),
    Column("start", "date", type="date32"),
    Column("end", "date", type="date32"),
    Column("seen", "datetime", type="timestamp[s]"),
    Column("year", "integer", type="int64"),
    Column("town", "categorical"),
    Column("net worth", "integer", type="int64"),
    Column("who", "identifier"),
)


def relations(*texts: str):
    return relations_of(check_rules(Schema(COLUMNS, rules=texts)))


def test_what_rules_say():
    (equality,) = relations("change = after - before")
    assert isinstance(equality, Equality)
    assert equality.columns == ("change", "after", "before")
    assert equality.units == (0.1, 0.1, 0.1)
    assert relations("after - before = change")[0].terms == equality.terms
    assert [
        type(r)
        for r in relations(
            "start <= end",
            "town determines year",
            "missing(before) == missing(after)",
            "who determines town",
        )
    ] == [Order, Function, MissingTogether]
    low, high = relations("0 <= before <= after")
    assert (low.columns, high.columns) == (("before",), ("before", "after")) or (
        low.columns,
        high.columns,
    ) == (("before",), ("after", "before"))
    (scaled,) = relations("change = 2*(after - before)/4 + 1")
    assert [(p.column, p.factor) for p in scaled.terms.parts] == [("after", 0.5), ("before", -0.5)]
    assert scaled.terms.constant == 1
    assert relations("year = year(start)")[0].terms.parts[0].function == "year"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("change = after - befor", "Rule 1: Unknown column 'befor'. Did you mean 'before'"),
        ("change = after - town", "arithmetic with column 'town', which is categorical"),
        ("change + before = after - 1 + year", "one side of an equality must be one column alone"),
        ("change = change + before", "stands on both sides"),
        ("start <= year", "mixes dates or moments with numbers"),
        ("start <= seen", "mixes dates or moments with numbers"),
        ("change = start + end", "mixes dates or moments with numbers"),
        ("after != before", "compared by =, <, <=, > or >="),
        ("before < before", "nothing is left to compare"),
        ("year = year(before)", "needs dates. Column 'before' is float"),
        ("year = year(start, end)", "must have ')' before"),
        ("change = after * before", "not two columns with each other"),
        ("change = after / 0", "divide by a number that is not 0"),
        ("change = after + 1e999", "a number that is too large"),
        ("town determines", "one column, the word, one column"),
        ("town determines town", "determines itself"),
        ("missing(before) == 1", "compared with missing(b) by =="),
        ("before <= after implies town == 'x'", "in a rule of their own"),
        ("change = after - before and year > 3", "in a rule of their own"),
        ("change = __import__('os')", "may not have|goes on with|must"),
    ],
)
def test_faults_are_named(text, words):
    with pytest.raises(SchemaError, match=words.replace("(", r"\(").replace(")", r"\)")):
        cut_schema(check_rules(Schema(COLUMNS, rules=(text,))))


@given(
    st.text(
        st.characters(
            codec="utf-8",
            exclude_characters="`\x00",
            exclude_categories=("Cs", "Cc", "Zl", "Zp", "Zs"),
        ),
        min_size=1,
    )
)
def test_any_name_can_stand_in_a_rule(name):
    columns = (Column(name, "integer", type="int64"), Column(name + "2", "integer", type="int64"))
    (order,) = relations_of(
        check_rules(Schema(columns, rules=(f"{quote_name(name)} <= {quote_name(name + '2')}",)))
    )
    assert set(order.columns) == {name, name + "2"}


def test_values_break_relations_as_arithmetic_says():
    """Brute force, row by row, in decimal units: rounding is to the digits of the left side."""
    rng = np.random.default_rng(5)
    n = 400
    before, after = rng.integers(0, 60, n), rng.integers(0, 60, n)  # tenths
    change = after - before + (rng.random(n) < 0.2)
    start = rng.integers(18_000, 18_900, n)
    end = start + rng.integers(-3, 30, n)
    year = [
        datetime.date.fromordinal(int(d) + 719_163).year + int(rng.random() < 0.1) for d in start
    ]
    missing = rng.random(n) < 0.2
    data = pa.table(
        {
            "before": before / 10,
            "after": pa.array(after / 10, mask=missing),
            "change": np.round(change / 10, 1),
            "start": pa.array(start.astype("int32")).cast(pa.date32()),
            "end": pa.array(end.astype("int32")).cast(pa.date32()),
            "year": year,
            "half": np.round(before / 10 * 0.37, 2),
            "other": pa.array(before, mask=missing ^ (np.arange(n) == 7)),
        }
    )
    table = chaffinch.read(data, chaffinch.Schema(tuple(c for c in chaffinch.read(data).schema)))
    rules = (
        "change = after - before",
        "start < end",
        "year = year(start)",
        "half = 0.37 * before",
        "missing(after) == missing(other)",
    )
    schema = check_rules(Schema(table.schema.columns, rules=rules))
    values = table_values(table, table.schema.names)
    found = {relation.text: rows_breaking(relation, values) for relation in relations_of(schema)}
    assert found[rules[0]].tolist() == [
        not m and c != a - b for a, b, c, m in zip(after, before, change, missing, strict=True)
    ]
    assert found[rules[1]].tolist() == (start >= end).tolist()
    assert found[rules[2]].tolist() == [
        datetime.date.fromordinal(int(d) + 719_163).year != y
        for d, y in zip(start, year, strict=True)
    ]
    assert not found[rules[3]].any()
    assert np.flatnonzero(found[rules[4]]).tolist() == [7]


def test_a_function_is_broken_by_the_rows_that_differ_from_most():
    data = pa.table(
        {"a": ["x"] * 60 + ["y"] * 60, "b": [1] * 55 + [2] * 5 + [3] * 60, "c": ["p", "q"] * 60}
    )
    table = chaffinch.read(data)
    (relation,) = relations_of(Schema(table.schema.columns, rules=("a determines b",)))
    assert np.flatnonzero(rows_breaking(relation, table_values(table, ("a", "b")))).tolist() == [
        55,
        56,
        57,
        58,
        59,
    ]


def test_moments_have_parts_and_differences_in_seconds():
    moments = [
        datetime.datetime(2020, 12, 31, 23, 59) + datetime.timedelta(minutes=7 * i)
        for i in range(200)
    ]
    later = [m + datetime.timedelta(minutes=i % 40) for i, m in enumerate(moments)]
    data = pa.table(
        {
            "one": pa.array(moments, pa.timestamp("us")),
            "two": pa.array(later, pa.timestamp("us")),
            "minutes": [i % 40 for i in range(200)],
            "month": [m.month for m in moments],
        }
    )
    table = chaffinch.read(data)
    relations = relations_of(
        Schema(
            table.schema.columns,
            rules=("minutes = two/60 - one/60", "month = month(one)", "one <= two"),
        )
    )
    assert not any(
        rows_breaking(relation, table_values(table, table.schema.names)).any()
        for relation in relations
    )
