"""Made-up values: of the same form, never an original one, different where the original's were, and made without a look at records under a promise."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chaffinch
from chaffinch.table.personal.fake import (
    Mask,
    fake_values,
    fitted_form,
    free_of,
    learnt_mask,
    parse_form,
    parse_mask,
)
from chaffinch.table.personal.forms import FORMS
from chaffinch.table.profile import Profile


def made(column, values, n=300, key=1):
    """What is made up in place of some values, and the form."""
    array = pa.array(values)
    profile = Profile(array.type)
    profile.add(array)
    fitted = fitted_form(
        chaffinch.Column(column, "identifier", "identifier", str(array.type), output="fake"),
        profile,
    )
    drawn = fake_values(fitted, 0, n, key=key, rng=np.random.default_rng(key))
    assert drawn.type == array.type
    return drawn.to_pylist(), fitted


CASES = {
    "study ids": [f"P-{i:04d}" for i in range(400)],
    "whole numbers": list(range(1001, 1500)),
    "numbers as words": [str(i * 7) for i in range(400)],
    "negative numbers": list(range(-200, 200)),
    "words of no form": ["a", "bb", "ccc", "Dd d"],
    "several forms": [*(f"A{i}" for i in range(100, 200)), *(f"{i}-x" for i in range(50))],
    "one letter only": ["a", "b"] * 30,
    "every code there is": [f"{i:02d}" for i in range(100)],
    "what we would make up": [FORMS["email"].make(i) for i in range(500)],
    "names that we would make up": [FORMS["surname"].make(i) for i in range(500)],
    "missing ones": [None, "A1", "A2", None] * 10,
    "numbers of computers": [FORMS["ip"].make(i) for i in range(300)],
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    "name",
    ["v1", "surname", "email", "ssn", "phone", "name", "bsn", "ip_address", "address", "url"],
)
def test_none_is_an_original_value(case, name):
    values, column = made(name, CASES[case])
    assert not set(values) & set(CASES[case])
    if case == "numbers as words" and all(
        str(value).isdecimal() for value in values
    ):  # whoever reads the file will take them for numbers
        assert not set(map(int, values)) & set(map(int, CASES[case]))
    assert None not in values
    if (
        column.repeats == 1
        or not parse_form(column.form).form
        or not parse_form(column.form).form.repeats
    ):
        assert len(set(values)) == len(values)


@settings(max_examples=60)
@given(
    st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=60),
    st.sampled_from(["x", "name", "iban", "dni", "email"]),
)
def test_nor_is_any_of_whatever_stands_there(values, name):
    assert not set(made(name, values)[0]) & set(values)


def test_the_form_is_that_of_the_values():
    rng = np.random.default_rng(4)
    dni = [
        f"{i:08d}-{'TRWAGMYFPDXBNJZSQVHLCKE'[i % 23]}"
        for i in rng.choice(10**8, 200, replace=False)
    ]
    values, column = made("dni", dni)
    assert column.form == "es_dni:########-?"
    assert all(parse_mask("########-?").matches(value) for value in values)
    assert not any(map(FORMS["es_dni"].passes, values))
    assert made("v1", CASES["study ids"])[1].form == "P-1###"
    phones, _ = made("phone", [f"+43 664 {i:07d}" for i in rng.choice(10**7, 100, replace=False)])
    assert all(
        value.startswith("+999 ") and len(value) == len("+43 664 1234567") for value in phones
    ) or all(value.startswith("+99 9") for value in phones)
    american, _ = made("phone", [f"{i % 800 + 200}-{i % 700 + 200}-{i:04d}" for i in range(200)])
    assert all(value[4:10] == "555-01" for value in american)


def test_the_key_and_nothing_else_changes_them():
    first, column = made("v1", CASES["study ids"], key=1)
    assert made("v1", CASES["study ids"], key=1)[0] == first
    assert made("v1", CASES["study ids"], key=2)[0] != first
    rng = np.random.default_rng(1)
    parts = [fake_values(column, at, 100, key=1, rng=rng).to_pylist() for at in (0, 100, 200)]
    assert [value for part in parts for value in part] == first


def test_values_repeat_as_declared():
    column = chaffinch.Column(
        "person", "identifier", "identifier", output="fake", form="P-####", repeats=3
    )
    values = fake_values(column, 0, 30, key=3, rng=np.random.default_rng(1)).to_pylist()
    assert values == [value for value in values[::3] for _ in range(3)]
    assert len(set(values)) == 10
    assert fake_values(column, 4, 5, key=3, rng=np.random.default_rng(1)).to_pylist() == values[4:9]


def test_first_names_repeat_unless_the_original_were_all_different():
    repeated, column = made("vorname", ["Anna", "Maria", "Franz", "Josef"] * 50)
    assert column.repeats is None
    assert len(set(repeated)) < len(repeated)
    different, column = made("vorname", [f"Anna{i}" for i in range(100)])
    assert column.repeats == 1
    assert len(set(different)) == len(different)


def test_without_records_the_declaration_and_the_name_decide():
    forms = {
        "email": "email",
        "v1": "#########",
        "svnr": "at_svnr:##########",
        "surname": "surname",
        "patient_id": "id:#########",
    }
    for name, form in forms.items():
        column = chaffinch.Column(name, "identifier", "identifier", output="fake")
        assert fitted_form(column).form == form
        assert (
            len(set(fake_values(column, 0, 50, key=1, rng=np.random.default_rng(1)).to_pylist()))
            > 20
        )
    whole = chaffinch.Column("v1", "identifier", "identifier", "int64", output="fake")
    assert fake_values(whole, 0, 5, key=1, rng=np.random.default_rng(1)).type == pa.int64()


def test_bad_forms_are_named():
    for form, words in (
        ("emial", "Did you mean 'email'"),
        ("surname:###", "without a mask"),
        ("nl_bsn:", "# stands for a digit"),
    ):
        with pytest.raises(chaffinch.errors.InputError, match=words):
            chaffinch.Column("x", "identifier", output="fake", form=form)
    column = chaffinch.Column("x", "identifier", output="fake", form="P-#")
    with pytest.raises(chaffinch.errors.InputError, match="10 values, and more rows are drawn"):
        fake_values(column, 0, 11, key=1, rng=np.random.default_rng(1))


MASKS = st.text("#?*-Px0", min_size=1, max_size=9).filter(lambda text: set(text) & set("#?*"))


@given(MASKS)
def test_masks_are_read_as_they_are_written(text):
    mask = parse_mask(text)
    assert str(mask) == text
    numbers = np.arange(min(mask.size, 500))
    words = mask.spell(numbers).tolist()
    assert len(set(words)) == len(numbers)
    assert all(map(mask.matches, words))


def test_signs_that_stand_for_themselves():
    mask = parse_mask(r"\#-##")
    assert mask.spell(np.array([7])).tolist() == ["#-07"]
    assert str(mask) == r"\#-##"
    for bad in ("", "abc", "#" * 61):
        with pytest.raises(chaffinch.errors.SchemaError, match=r"# stands for a digit"):
            parse_mask(bad)


@given(
    st.lists(st.integers(0, 99_999), min_size=1, max_size=300, unique=True),
    st.integers(1, 2000),
    st.booleans(),
)
def test_a_freed_mask_has_none_of_the_words_and_room(numbers, rows, whole):
    words = (
        [str(number) for number in numbers] if whole else [f"A-{number:05d}" for number in numbers]
    )
    mask = parse_mask("#####" if whole else "A-#####")
    free = free_of(mask, words, rows, whole_number=whole)
    assert free.size >= rows
    assert not any(map(free.matches, words))
    made = free.spell(np.arange(min(free.size, rows))).tolist()
    assert not set(made) & set(words)
    assert len(set(made)) == min(free.size, rows)
    if whole:
        assert not any(word.startswith("0") for word in made)


def test_masks_are_learnt_of_ten_words_or_more():
    assert str(learnt_mask([f"P-{i:03d}" for i in range(50)])) == "P-###"
    assert str(learnt_mask([f"{chr(65 + i % 26)}{i % 10}x" for i in range(50)])) == "?#x"
    assert learnt_mask([f"P-{i:03d}" for i in range(9)]) is None
    assert learnt_mask([]) is None
    assert str(learnt_mask([*(f"{i:03d}" for i in range(20)), "other", "word"])) == "###"


def test_codes_of_more_signs_than_numbers_can_tell_apart():
    mask = parse_mask("#" * 30)
    words = mask.spell(np.arange(1000), np.random.default_rng(1)).tolist()
    assert len(set(words)) == 1000
    assert len({word[:5] for word in words}) > 900  # the signs beyond are drawn
    assert Mask(("a", "01")).size == 2
