"""Several rows for one person: roles, order, and levels that count persons."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import chaffinch
from chaffinch.table.align import align
from chaffinch.table.persons import one_row_each, person_numbers, person_rows, with_persons
from chaffinch.table.schema_file import schema_from_toml, schema_text

VISITS = {
    "who": ["b", "a", "a", "c", "b", "a"] * 10,
    "when": [2, 3, 1, 1, 1, 2] * 10,
    "ill": ["no", "yes", "no", "no", "yes", "no"] * 10,
}


def panel(n_persons: int = 40, waves: int = 3, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(n_persons), waves)
    return pa.table(
        {
            "who": who,
            "wave": np.tile(np.arange(1, waves + 1), n_persons),
            "sex": np.array(["f", "m"])[who % 2],
            "pay": rng.normal(100, 10, len(who)).round(2),
        }
    )


def test_rows_stand_person_by_person_in_their_order():
    table = chaffinch.read(
        pa.table({name: values[:6] + values[:6] for name, values in VISITS.items()}),
        person="who",
        order="when",
    )
    rows = person_rows(table)
    by_hand = [
        (who, when) for who, when in zip(VISITS["who"][:6] * 2, VISITS["when"][:6] * 2, strict=True)
    ]
    in_order = [by_hand[i] for i in rows.rows]
    for start, length in zip(rows.starts, rows.lengths, strict=True):
        part = in_order[start : start + length]
        assert len({who for who, _ in part}) == 1
        assert [when for _, when in part] == sorted(when for _, when in part)
    later, earlier = rows.steps
    assert len(later) == 12 - 3
    assert all(
        by_hand[i][0] == by_hand[j][0] and by_hand[i][1] >= by_hand[j][1]
        for i, j in zip(later, earlier, strict=True)
    )


def test_without_an_order_rows_are_as_the_source_has_them():
    rows = person_rows(chaffinch.read(pa.table(VISITS), person="who"))
    assert all(a < b for a, b in zip(*rows.steps[::-1], strict=True))


def test_the_persons_column_has_no_codes_and_is_made_anew():
    table = chaffinch.read(panel(), person="who", order="wave")
    assert table.schema["who"].kind == "identifier"
    assert table.schema["who"].written
    assert "who" not in table.schema.names
    assert table.n_persons == 40
    assert table.take(np.arange(4)).n_persons == 2


def test_ten_rows_of_one_person_are_one_record():
    """A number that one person has in twelve rows would be a level of its own if rows were counted: it would be given away."""
    wide = panel(15, 12, seed=3).to_pydict()
    odd = 77.77
    wide["pay"] = [
        odd if who == 0 else value for who, value in zip(wide["who"], wide["pay"], strict=True)
    ]
    by_rows = chaffinch.read(pa.table(wide))
    assert odd in by_rows.schema["pay"].codec.atoms
    by_person = chaffinch.read(pa.table(wide), person="who", order="wave")
    assert odd not in by_person.schema["pay"].codec.atoms
    words = {**wide, "town": ["Nowhere" if who == 0 else "Here" for who in wide["who"]]}
    assert chaffinch.read(pa.table(words), person="who").schema["town"].codec.levels == ("Here",)
    assert "Nowhere" in chaffinch.read(pa.table(words)).schema["town"].codec.levels


def test_missing_codes_survive_the_second_fit():
    values = panel(60, 4).to_pydict()
    values["pay"] = [
        None if i % 7 == 0 else -8.0 if i % 11 == 0 else value
        for i, value in enumerate(values["pay"])
    ]
    base = chaffinch.read(pa.table(values))
    schema = replace(
        base.schema,
        columns=tuple(
            replace(c, missing=(-8,), codec=None) if c.name == "pay" else c for c in base.schema
        ),
    )
    table = chaffinch.read(pa.table(values), schema, person="who")
    codec = table.schema["pay"].codec
    null = np.array([value is None for value in values["pay"]])
    coded = np.array([value == -8.0 for value in values["pay"]])
    assert ((table.code("pay") == codec.n_values) == null).all()
    assert ((table.code("pay") == codec.n_values + 1) == coded).all()


def test_a_schema_file_says_the_same():
    table = chaffinch.read(panel(), person="who", order="wave")
    again = chaffinch.read(panel(), schema_from_toml(schema_text(table.schema)))
    assert again.schema.only("person") == "who"
    assert again.schema.only("order") == "wave"
    assert (again.person_of == table.person_of).all()


def test_aligned_tables_know_their_people():
    table = chaffinch.read(panel(), person="who", order="wave")
    ours, theirs, raw = align(
        table, table.take(np.arange(12)), panel(20, 3, seed=5), names=("synthetic", "holdout")
    )
    assert (ours.n_persons, theirs.n_persons, raw.n_persons) == (40, 4, 20)


def test_one_row_of_each_person():
    """Each of three rows is as likely: 600 persons, a share of 1/3 within 0.1 (five standard deviations)."""
    table = chaffinch.read(panel(600), person="who", order="wave")
    some = one_row_each(table, np.random.default_rng(1))
    assert some.n_rows == 600
    assert len(set(some.data["who"].to_pylist())) == 600
    shares = np.bincount(some.data["wave"].to_numpy(), minlength=4)[1:] / 600
    assert np.abs(shares - 1 / 3).max() < 0.1
    assert some.person_of is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"person": "whom"}, "Unknown column 'whom'. Did you mean 'who'"),
        ({"person": "who", "order": "who"}, "cannot say whose row it is and order the rows"),
        ({"order": "wave"}, "name the column that says whose row it is too"),
        ({"person": "who", "order": "sex"}, "cannot order rows: it is categorical"),
    ],
)
def test_what_makes_no_sense_is_refused(options, message):
    with pytest.raises(chaffinch.errors.ChaffinchError, match=message):
        chaffinch.read(panel(), **options)


def test_an_order_with_gaps_is_refused():
    values = panel().to_pydict()
    values["wave"][5] = None
    table = chaffinch.read(pa.table(values), person="who", order="wave")
    with pytest.raises(chaffinch.errors.InputError, match="it has missing values"):
        person_rows(table)
    with pytest.raises(chaffinch.errors.InputError, match="No column says whose row it is"):
        person_rows(chaffinch.read(pa.table(values)))


def test_a_modelled_column_cannot_say_whose_row_it_is():
    with pytest.raises(
        chaffinch.errors.SchemaError, match="it is an identifier, and not synthesised"
    ):
        chaffinch.Schema(
            (chaffinch.Column("who", "integer", "person"), chaffinch.Column("b", "boolean"))
        )


def test_roles_move():
    table = with_persons(chaffinch.read(panel(), person="who", order="wave"), None, "pay")
    assert table.schema.only("order") == "pay"
    assert table.schema["wave"].role == "other"


@pytest.mark.parametrize(
    ("ids", "same"),
    [
        (["a", "b", " a "], [(0, 2)]),
        ([1, 2, 1], [(0, 2)]),
        ([0.0, -0.0, 1.0], [(0, 1)]),
        (pa.array(["x", "y", "x"]).dictionary_encode(), [(0, 2)]),
        (pa.array([None, None, "a"]), []),
        ([float("nan"), float("nan"), 2.0], []),
    ],
)
def test_rows_of_one_id_have_one_number(ids, same):
    numbers = person_numbers(ids)
    equal = {(i, j) for i in range(3) for j in range(i + 1, 3) if numbers[i] == numbers[j]}
    assert equal == set(same)


def test_lists_tell_nobody():
    with pytest.raises(
        chaffinch.errors.InputError, match="cannot be told by a column of type list"
    ):
        person_numbers(pa.array([[1], [2]]))


def test_numbers_are_whole():
    assert person_numbers(np.array([5, 7, 5])).tolist() == [0, 1, 0]
