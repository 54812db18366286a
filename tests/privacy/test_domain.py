"""Declared domains: codecs come from declarations alone, and what is lacking is named before data are read."""

from __future__ import annotations

import pytest

from chaffinch._base.errors import PrivacyError
from chaffinch.privacy.domain import (
    check_declared,
    declared_column,
    declared_schema,
    missing_declarations,
)
from chaffinch.table import Column, Schema

AGE = Column("age", "integer", type="int64", bounds=(0, 99), bins=4)
JOB = Column("job", "categorical", levels=("baker", "clerk"), other=True, nullable=True)


def test_codecs_come_from_the_declaration():
    schema = declared_schema(Schema((AGE, JOB), public=True))
    assert schema.sealed
    assert schema["age"].codec.names() == ["0 to 24", "25 to 49", "50 to 74", "75 to 99"]
    assert schema["job"].codec.names() == ["baker", "clerk", "(other)", "(missing)"]


def test_a_bin_is_no_narrower_than_a_step():
    few = declared_column(Column("n", "integer", type="int64", bounds=(0, 2), bins=20))
    assert few.codec.names() == ["0", "1", "2"]


def test_what_is_lacking_is_named():
    schema = Schema(
        (Column("age", "integer"), Column("job", "categorical", discover=True)), public=True
    )
    assert missing_declarations(schema, delta=1e-6) == ["age: bounds (or discover = true)"]
    assert (
        missing_declarations(schema, delta=0.0)[1]
        == "job: levels (to discover them takes a delta above 0)"
    )
    with pytest.raises(PrivacyError, match=r"age: bounds.*Nothing was read from the data"):
        check_declared(schema)
    with pytest.raises(
        PrivacyError, match=r"lacks: public = true at its top \(nothing in this file was read"
    ):
        check_declared(Schema((AGE,)))
    with pytest.raises(PrivacyError, match="only identifiers and free text"):
        check_declared(Schema((Column("id", "identifier"),), public=True))
    with pytest.raises(PrivacyError, match=r"not yet known. job: levels"):
        declared_schema(Schema((AGE, Column("job", "categorical", discover=True)), public=True))


def test_all_that_is_lacking_is_named_at_once():
    columns = (
        Column("age", "integer"),
        Column("job", "categorical"),
        Column("what", "unknown"),
        Column("else", "unknown", discover=True),
        Column("town", "categorical", discover=True),
        Column("pay", "float", discover=True),
        Column("ill", "boolean"),
    )
    with pytest.raises(PrivacyError) as caught:
        check_declared(Schema(columns), delta=0.0, rows_public=True, source="in/a.csv")
    said = str(caught.value)
    for phrase in (
        "public = true at its top",
        "rows = N at its top",
        "age: bounds (or discover = true)",
        "job: levels (or discover = true)",
        "what: a kind (or discover = true)",
        "else: a kind (to discover it takes a delta above 0)",
        "town: levels (to discover them takes a delta above 0)",
        "`chaffinch schema in/a.csv --blank -o a.toml`",
        'discover = "all"',
    ):
        assert said.count(phrase) == 1, phrase
    assert "pay" not in said
    assert "ill:" not in said
    assert not missing_declarations(Schema(columns, public=True).discovering(), delta=1e-6)


def test_all_declarations_that_give_no_codes_are_named_at_once():
    wrong = Column("a", "boolean", type="int64"), Column("b", "integer", bounds=(0.1, 0.2)), AGE
    with pytest.raises(
        PrivacyError, match=r"Column 'a' is declared boolean.*Column 'b': its bounds hold fewer"
    ):
        declared_schema(Schema(wrong, public=True))


@pytest.mark.parametrize(
    "column",
    [Column("a", "integer", type="bool", bounds=(0, 1)), Column("a", "boolean", type="int64")],
)
def test_a_type_that_does_not_hold_the_kind_is_refused(column):
    with pytest.raises(PrivacyError):
        declared_column(column)
