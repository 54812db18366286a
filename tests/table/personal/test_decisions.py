"""Nothing is synthesised before somebody said what becomes of columns that say who somebody is."""

from __future__ import annotations

import re
import tomllib

import numpy as np
import pyarrow as pa
import pytest

import chaffinch
from chaffinch.table.personal.detect import check_decided, check_declared_decided, with_decisions


def people(n=200):
    rng = np.random.default_rng(3)
    return pa.table(
        {
            "nach name": rng.choice(["Huber", "Maier", "Gruber"], n),
            "svnr": rng.choice(900_000_000, n, replace=False) + 1_000_000_000,
            "sex": ["f", "m"] * (n // 2),
        }
    )


@pytest.fixture
def table():
    with pytest.warns(chaffinch.errors.PersonalDataWarning):
        return chaffinch.read(people())


def test_one_message_names_all_and_has_the_lines_to_write(table, tmp_path):
    with pytest.raises(chaffinch.errors.PersonalDataError) as stopped:
        check_decided(table.schema)
    message = str(stopped.value)
    assert "  nach name  surnames, by its name\n  svnr       Austrian" in message
    assert "--personal 'nach name=drop' --personal svnr=drop" in message
    assert "Huber" not in message
    block = re.search(r"\n\n(format.*)\n\nOn the", message, re.DOTALL)[1]
    assert tomllib.loads(block)["columns"] == {"nach name": "drop", "svnr": "drop"}
    (tmp_path / "s.toml").write_text(block)
    assert chaffinch.read(people(), tmp_path / "s.toml").schema.names == ("sex",)
    python = re.search(r"schema=(\{.*\}), for", message)[1]
    assert python == '{"nach name": "drop", "svnr": "drop"}'


def test_fits_stop(table):
    for data in (table, people()):
        with pytest.raises(chaffinch.errors.PersonalDataError, match="nach name"):
            chaffinch.BayesNet().fit(data)
    decided = chaffinch.read(people(), {"nach name": "keep", "svnr": "drop"})
    assert chaffinch.BayesNet().fit(decided).schema.names == ("nach name", "sex")


def test_a_subset_of_columns_that_is_free_of_them_does_not_stop(table):
    check_decided(table[["sex"]].schema)
    with pytest.raises(chaffinch.errors.PersonalDataError):
        check_decided(table[:50].schema)


def test_under_a_promise_what_was_found_in_records_has_no_say(table):
    columns = (
        chaffinch.Column("v1", "integer", bounds=(0, 10)),
        chaffinch.Column("sex", "categorical", levels=("f", "m")),
    )
    check_declared_decided(chaffinch.Schema(columns, public=True))
    with pytest.raises(chaffinch.errors.PersonalDataError, match="surnames, by its name"):
        check_declared_decided(
            chaffinch.Schema(
                (*columns, chaffinch.Column("surname", "categorical", levels=("a", "b", "c"))),
                public=True,
            )
        )


def test_decisions_win_over_a_schema():
    schema = chaffinch.Schema(
        (
            chaffinch.Column("a", "categorical", levels=("x", "y")),
            chaffinch.Column("b", "identifier", "identifier"),
        )
    )
    both = with_decisions(schema, {"a": "drop", "b": "keep", "c": "fake"})
    assert [(column.name, column.kind, column.output) for column in both] == [
        ("a", "identifier", ""),
        ("b", "unknown", "keep"),
        ("c", "identifier", "fake"),
    ]
    assert with_decisions(schema, {}) is schema
    assert with_decisions(None, {"a": "keep"}).columns[0].output == "keep"
    with pytest.raises(chaffinch.errors.UnknownNameError, match="Did you mean 'drop'"):
        with_decisions(None, {"a": "dropp"})
