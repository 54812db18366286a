"""Constraints on records: read, put on codes, checked against brute force over values, contradictions named."""

from __future__ import annotations

from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import chaffinch
from chaffinch.errors import SchemaError
from chaffinch.privacy.domain import declared_schema
from chaffinch.table import Column, Schema
from chaffinch.table.bins import fit_intervals
from chaffinch.table.rules.constraints import (
    above,
    allowed_codes,
    at_or_above,
    broken_rows,
    cut_intervals,
    drawn_ranges,
    rules_of,
)
from chaffinch.table.schema_file import schema_from_toml, schema_text

COLUMNS = (
    Column("age", "integer", bounds=(0, 99), bins=3, nullable=True),
    Column(
        "marital", "categorical", levels=("never", "married", "widowed"), other=True, nullable=True
    ),
    Column("grade", "categorical", type="int64", levels=(1, 2, 3)),
    Column("ill", "boolean"),
    Column("seen", "date", bounds=(18_262, 18_627), bins=2),
    Column("who", "identifier"),
)


def schema_of(*constraints: str, columns=COLUMNS) -> Schema:
    return declared_schema(Schema(columns, public=True, rules=constraints))


def holds(text: str, age, marital, grade, ill) -> bool | None:
    """What each constraint below says of values, worked out in Python; None where a missing value leaves it open."""
    young = None if age is None else age < 16
    never = None if marital is None else marital == "never"
    if text == "age < 16 implies marital == 'never'":
        return (
            True
            if young is False or never is True
            else None
            if young is None or never is None
            else False
        )
    if text == "age != 40 or ill == true":
        return True if ill or (age is not None and age != 40) else None if age is None else False
    if text == "not (grade >= 2 and marital in ['married', 'widowed'])":
        among = None if marital is None else marital in ("married", "widowed")
        return True if grade < 2 or among is False else None if among is None else False
    assert text == "age == missing or 18 <= age < 65 or marital != 'married'"
    inside = None if age is None else 18 <= age < 65
    other = None if marital is None else marital != "married"
    return True if age is None or inside or other else None if other is None else False


@pytest.mark.parametrize(
    "text",
    [
        "age < 16 implies marital == 'never'",
        "age != 40 or ill == true",
        "not (grade >= 2 and marital in ['married', 'widowed'])",
        "age == missing or 18 <= age < 65 or marital != 'married'",
    ],
)
def test_codes_are_allowed_as_values_are(text):
    """Brute force over values: each row breaks the constraint by its values exactly if its codes are not allowed."""
    values = list(
        product(
            [None, *range(0, 100)],
            [None, "never", "married", "widowed", "else"],
            [1, 2, 3],
            [True, False],
        )
    )
    age, marital, grade, ill = (list(column) for column in zip(*values, strict=True))
    data = pa.table(
        {"age": pa.array(age, pa.int64()), "marital": marital, "grade": grade, "ill": ill}
    )
    schema = Schema(COLUMNS[:4], public=True, rules=(text,))
    table = chaffinch.prepare(data, schema)
    (group,) = allowed_codes(table.schema)
    fine = group.holds({name: table.code(name) for name in table.schema.names})
    expected = [holds(text, *row) is not False for row in values]
    assert fine.tolist() == expected
    assert broken_rows(
        table.schema, {name: table.code(name) for name in table.schema.names}
    ).sum() == expected.count(False)


def test_bins_are_cut_where_constraints_name_numbers():
    schema = schema_of(
        "age < 16 implies ill == false",
        "age == 40 implies ill == true",
        "seen < '2020-03-01' implies ill == true",
    )
    assert schema["age"].codec.names() == [
        "0 to 15",
        "16 to 32",
        "33 to 39",
        "40",
        "41 to 65",
        "66 to 99",
        "(missing)",
    ]
    assert (
        int((np.datetime64("2020-03-01") - np.datetime64("1970-01-01")).astype(int))
        in schema["seen"].codec.starts.tolist()
    )


def test_constraints_that_share_columns_belong_together():
    groups = allowed_codes(
        schema_of(
            "age < 16 implies marital == 'never'",
            "grade == 3 or ill == true",
            "marital != 'widowed' or age >= 18",
        )
    )
    assert [group.columns for group in groups] == [("grade", "ill"), ("age", "marital")]


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (("agee < 16 implies ill == true",), "Did you mean 'age'"),
        (("age < 16 implies",), "Rule 1 has the end where a column"),
        (("3 < 4",), "Rule 1 names no column"),
        (("who == 'x'",), "'who', which is identifier: it is not modelled"),
        (("age < grade or ill == true",), "must compare a column with a number"),
        (("age < 'x'",), "'age', which is integer, with a word. It needs a number"),
        (("marital < 'x'",), "by size: that needs numbers"),
        (("grade == 7",), "does not have: Unknown level '7'"),
        (("age > missing",), "with missing by == or != only"),
        (("seen < 'x'",), "a word that is no date"),
        (
            ("ill == true", "age < 16", "ill == false"),
            "No record can keep 'ill == true' and 'ill == false': the constraints contradict",
        ),
        (("age > 200",), "contradict each other, or the levels and bounds"),
    ],
)
def test_faults_are_named(texts, words):
    columns = tuple(
        Column("age", "integer", bounds=(0, 99)) if c.name == "age" else c for c in COLUMNS
    )
    with pytest.raises(SchemaError) as caught:
        schema_of(*texts, columns=columns)
    assert words in str(caught.value)


def test_too_many_combinations_are_refused():
    wide = tuple(Column(name, "integer", bounds=(0, 9_999), bins=5_000) for name in "ab")
    with pytest.raises(SchemaError, match="more than 4,194,304 combinations: a, b"):
        schema_of("a == 0 or b == 0", columns=wide)


def test_the_schema_file_holds_them(tmp_path):
    head = 'format = "chaffinch-schema"\nversion = 1\n'
    text = (
        head
        + 'rules = ["age < 16 implies ill == true"]\n[columns]\nage = { kind = "integer" }\nill = { kind = "boolean" }\n'
    )
    schema = schema_from_toml(text)
    assert schema.rules == ("age < 16 implies ill == true",)
    assert schema_from_toml(schema_text(schema)).rules == schema.rules
    with pytest.raises(SchemaError, match="Rule 1: Unknown column 'aeg'"):
        schema_from_toml(text.replace("age < 16", "aeg < 16"))
    assert [rule.columns for rule in rules_of(schema)] == [("age", "ill")]


def test_records_that_break_them_are_said_but_not_a_few():
    schema = Schema(
        (Column("age", "integer", type="int64"), Column("ill", "boolean", type="bool")),
        rules=("age < 16 implies ill == false",),
    )
    for broken, words in (
        (3, "<10 of its records break"),
        (37, "40 of its records break"),
        (0, ""),
    ):
        age, ill = (
            [5] * broken + [*range(6, 86)] * 5,
            [True] * broken + ([False] * 10 + [False, True] * 35) * 5,
        )
        table = chaffinch.read(pa.table({"age": age, "ill": ill}), schema)
        said = [note.sentence for note in table.notes if note.what == "rules"]
        assert words in "".join(said)
        assert bool(said) == bool(broken)
    prepared = chaffinch.prepare(
        pa.table({"age": [5] * 50, "ill": [True] * 50}),
        Schema(
            (Column("age", "integer", bounds=(0, 99)), Column("ill", "boolean")),
            public=True,
            rules=schema.rules,
        ),
    )
    assert not prepared.notes  # nothing is said of records under a promise


def codec_of(values, **settings):
    whole = settings.pop("whole", True)
    column = Column("x", "integer" if whole else "float", **settings)
    distinct, counts = np.unique(np.asarray(values), return_counts=True)
    return fit_intervals(column, distinct, counts.astype(np.float64), integral=whole)


@given(st.lists(st.integers(-50, 150), max_size=8), st.integers(0, 3), st.booleans())
def test_codes_are_finer_and_numbers_stay_in_them(cuts, seed, whole):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 100, 400) if whole else rng.normal(50, 20, 400).round(seed)
    codec = codec_of(values, whole=whole, bins=6, decimals=None if whole or seed == 0 else seed)
    fine = cut_intervals(codec, [float(cut) for cut in cuts])
    low, high = drawn_ranges(fine)
    for cut in cuts:
        assert not ((low < cut) & (high >= cut)).any()
    coarse_codes, fine_codes = codec.encode(values), fine.encode(values)
    for code in np.unique(fine_codes):  # each new code lies in one old one
        assert len(np.unique(coarse_codes[fine_codes == code])) == 1
    drawn = fine.decode(np.repeat(np.arange(fine.n_values), 20), rng)
    first, last = (np.repeat(ends, 20) for ends in (low, high))
    assert (drawn >= first).all()
    assert (drawn <= last).all()
    assert cut_intervals(fine, [float(cut) for cut in cuts]).to_dict() == fine.to_dict()


def test_what_is_drawn_from_the_halves_together_is_what_the_bin_drew():
    """Kolmogorov and Smirnov's distance of 20,000 draws each; 1.95 times the square root of 2/n is passed once in a thousand."""
    values = np.random.default_rng(1).gamma(2.0, 20.0, 5000)
    codec = codec_of(values, whole=False, bins=1)
    fine = cut_intervals(codec, [30.0])
    rng = np.random.default_rng(2)
    share = float(np.interp(30.0, codec.knots[0][1], codec.knots[0][0]))
    whole = np.sort(codec.decode(np.zeros(20_000, np.int64), rng))
    halves = np.sort(fine.decode((rng.random(20_000) >= share).astype(np.int64), rng))
    points = np.concatenate([whole, halves])
    gap = np.abs(np.searchsorted(whole, points) - np.searchsorted(halves, points)).max() / 20_000
    assert gap < 1.95 * np.sqrt(2 / 20_000)


def test_numbers_are_cut_on_the_grid_of_the_column():
    minutes = codec_of([], bounds=(0, 3600), step=60, bins=4, binning="width")
    assert (at_or_above(minutes, 90), above(minutes, 60), above(minutes, 61)) == (120, 120, 120)
    cents = codec_of([], whole=False, bounds=(0, 10), decimals=2, bins=4, binning="width")
    assert (at_or_above(cents, 0.1), above(cents, 0.1), at_or_above(cents, 0.001)) == (
        0.1,
        0.11,
        0.01,
    )
    free = codec_of([], whole=False, bounds=(0, 10), bins=4, binning="width")
    assert at_or_above(free, 0.5) == 0.5
    assert above(free, 0.5) > 0.5


def test_numbers_of_their_own_are_no_bins():
    codec = codec_of([*[18] * 500, *range(60)], bins=5)
    assert 18 in codec.atoms
    fine = cut_intervals(codec, [18.0, 19.0])
    low, high = drawn_ranges(fine)
    alone = (low == 18) & (high == 18)
    assert alone.sum() == 1
    assert ((high < 18) | (low > 18) | alone).all()


@pytest.mark.parametrize("cut", [-10.0, 0.0, 99.5, 1000.0])
def test_a_cut_outside_changes_nothing(cut):
    codec = codec_of([], bounds=(0, 99), bins=4, binning="width")
    assert cut_intervals(codec, [cut]) is codec
