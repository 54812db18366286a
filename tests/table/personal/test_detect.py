"""Columns that look as if they said who somebody is: by name, by form, by check digits, by their numbers; and nothing by chance."""

from __future__ import annotations

import warnings

import numpy as np
import pyarrow as pa
import pytest

import chaffinch
from chaffinch.table import schema_text
from chaffinch.table.personal.detect import evidence_of, form_of_words
from chaffinch.table.personal.fake import FakeForm, parse_mask
from chaffinch.table.personal.forms import FORMS
from chaffinch.table.schema import Reason


def people(n=600):
    rng = np.random.default_rng(7)
    return {
        "nachname": rng.choice(["Huber", "Maier", "Gruber", "Wagner"], n),
        "svnr": rng.choice(900_000_000, n, replace=False) + 1_000_000_000,
        "v3": np.cumsum(rng.integers(1, 12, n)),
        "email": ["yes", "no"] * (n // 2),
        "income": np.rint(rng.lognormal(10.3, 0.6, n)).astype(int),
        "sex": ["f", "m"] * (n // 2),
    }


def test_columns_are_named_with_what_to_do_and_no_value():
    words = r"nachname \(surnames, by its name\), svnr \(Austrian social insurance numbers, by its name\), v3 \(numbers that were given out once, by its numbers\)"
    with pytest.warns(chaffinch.errors.PersonalDataWarning, match=words) as caught:
        table = chaffinch.read(pa.table(people()))
    assert caught[0].filename == __file__
    (note,) = [note for note in table.notes if note.what == "personal"]
    assert str(note) == str(caught[0].message)
    assert not any(str(value) in str(note) for value in ("Huber", people()["svnr"][0], "600"))
    assert {column.name for column in table.schema if column.evidence is not None} == {
        "nachname",
        "svnr",
        "v3",
    }
    assert table.schema["v3"].evidence.reason == Reason.NUMBERS
    assert schema_text(table.schema).count('write output = "drop", "fake" or "keep"') == 3
    with pytest.warns(chaffinch.errors.PersonalDataWarning):
        chaffinch.scan(pa.table(people()))


@pytest.mark.parametrize("decision", ["drop", "keep", "fake"])
def test_decided_columns_are_not_pointed_out(tmp_path, decision):
    decided = dict.fromkeys(("nachname", "svnr", "v3"), decision)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = chaffinch.read(pa.table(people()), decided)
        chaffinch.write_schema(table.schema, tmp_path / "s.toml")
        again = chaffinch.read(pa.table(people()), tmp_path / "s.toml")
    assert (
        table.schema.names
        == again.schema.names
        == (("nachname", "svnr", "v3") if decision == "keep" else ()) + ("email", "income", "sex")
    )


def test_real_tables_raise_no_false_alarm(data):
    with warnings.catch_warnings():
        warnings.simplefilter("error", chaffinch.errors.PersonalDataWarning)
        for path in sorted(data.glob("*.csv")) + sorted(data.glob("*.parquet")):
            chaffinch.scan(path)


def test_under_a_promise_names_and_declarations_alone_decide():
    columns = (
        chaffinch.Column("surname", "categorical", levels=("a", "b", "c"), other=True),
        chaffinch.Column("v3", "integer", bounds=(0, 10_000)),
        chaffinch.Column("phone", "categorical", levels=("yes", "no"), other=True),
        chaffinch.Column("svnr", "identifier", "identifier"),
    )
    schema = chaffinch.Schema(columns, public=True)
    said = []
    for rows in (
        {
            "surname": ["a"] * 300,
            "v3": list(range(300)),
            "phone": ["yes"] * 300,
            "svnr": list(range(300)),
        },
        {"surname": ["x"], "v3": [None], "phone": [None], "svnr": [None]},
    ):
        with pytest.warns(
            chaffinch.errors.PersonalDataWarning,
            match=r"surname \(surnames, by its name\)\. Nothing",
        ) as caught:
            table = chaffinch.prepare(pa.table(rows), schema)
        assert "v3" not in str(caught[0].message)
        said.append((str(caught[0].message), table.notes))
    assert said[0] == said[1]


WORDS = {
    "email": ["a.b@c.org", "x_y+1@mail.example.co.uk", "ü@müller.de"],
    "url": ["https://a.org/x", "http://b.net", "www.c.de/d?e=f"],
    "ip": ["10.0.0.1", "192.168.255.254", "8.8.8.8"],
    "ipv6": ["2001:db8::1", "fe80::1ff:fe23:4567:890a", "::1:2"],
    "mac": ["00:1B:44:11:3A:B7", "aa-bb-cc-dd-ee-ff", "01:23:45:67:89:ab"],
    "phone": [
        "+43 1 5877760",
        "(212) 555-0188",
        "0664/1234567",
        "212-555-0199",
        "+1-541-754-3010x12",
    ],
    "coordinates": ["48.2082, 16.3738", "-33.8688;151.2093", "(40.7128, -74.0060)"],
    "address": [
        "Hauptstraße 12",
        "12 High Street",
        "5 rue de Rivoli, Paris",
        "Kerkstraat 3a",
        "via Roma 7",
    ],
    "postcode_and_house": ["1012 AB 14", "SW1A 1AA, 10", "3511 LN 27b"],
    "us_ssn": ["123-45-6789", "234-56-7890", "536-22-1111"],
    "uk_nino": ["AB123456C", "JG 10 37 59 A", "ZZ000000D".replace("ZZ", "PW")],
    "dk_cpr": ["010190-1234", "311299-4321", "150660-0001"],
}


@pytest.mark.parametrize("name", WORDS)
def test_words_of_a_form(name):
    found = form_of_words(WORDS[name])
    assert found is not None
    assert (found.form, found.reason) == (name, Reason.PATTERN)


@pytest.mark.parametrize(
    "words",
    [
        ["ford f250", "datsun 210", "mazda rx3"],
        ["2019-01-02", "2020-11-30", "1999-12-31"],
        ["01/02/2019", "11/12/2020", "3/4/1999"],
        ["I10", "E11.9", "J45.0"],
        ["978-3-16-148410-0", "978-0-306-40615-7", "978-1-86197-876-9"],
        ["A1", "B2", "C3"],
        ["12:30", "09:15", "23:59"],
        ["1.2.3", "10.4", "2.0.1"],
        ["12345-6789", "90210-1234", "10001-0001"],
        ["100-200", "200-300", "300-400"],
        ["St. Louis", "Via Nova", "Main"],
        ["AB12CDE", "XY34ZZZ", "PQ56RST"],
    ],
)
def test_other_words_have_none(words):
    assert form_of_words(words) is None


CHECKED = [form.name for form in FORMS if form.check is not None]


def numbers_of(name, rng, n, *, right):
    """Numbers of a form whose check digits are right, by trying; or random ones."""
    form = FORMS[name]
    mask = parse_mask(form.mask if name != "iban" else "DE##" + "#" * 18)
    out = []
    while len(out) < n:
        word = str(mask.spell(rng.integers(0, 1 << 62, 1))[0])
        if form.has(word) and (not right or form.passes(word)):
            out.append(word)
        elif right and name in (
            "fr_nir",
            "it_codice_fiscale",
            "no_fnr",
            "iban",
            "cn_id",
            "br_cpf",
            "tr_tckn",
        ):
            place = FakeForm(form, mask).check_place
            signs = "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if name == "it_codice_fiscale" else "0123456789"
            out += (
                [w for sign in signs if form.passes(w := word[:place] + sign + word[place + 1 :])][
                    :1
                ]
                if place is not None and form.has(word)
                else []
            )
    return out


@pytest.mark.parametrize(
    "name",
    [
        "nl_bsn",
        "credit_card",
        "es_dni",
        "uk_nhs",
        "de_tax_id",
        "ch_ahv",
        "at_svnr",
        "pl_pesel",
        "pt_nif",
        "in_aadhaar",
        "de_kvnr",
    ],
)
def test_check_digits_are_evidence_from_a_dozen_numbers_on(name):
    rng = np.random.default_rng(5)
    numbers = numbers_of(name, rng, 40, right=True)
    found = form_of_words(numbers)
    assert found is not None
    assert (found.form, found.reason) == (name, Reason.CHECKSUM)
    assert form_of_words(numbers[:2]) is None
    typo = [*numbers[:-2], *numbers_of(name, rng, 2, right=False)]  # two of forty may be wrong
    assert form_of_words(typo).form == name


def test_random_digits_are_not():
    """300 columns of 5 to 100 random numbers, of nine to sixteen digits: by the stated odds, once in 100 such tests at the most one is taken for something."""
    rng = np.random.default_rng(6)
    for i in range(300):
        n, length = int(rng.integers(5, 100)), 9 + i % 8
        words = [str(number) for number in rng.integers(10 ** (length - 1), 10**length, n)]
        assert form_of_words(words) is None
        assert form_of_words(words, numbers=True) is None


def test_whole_numbers_that_lost_their_zeros():
    rng = np.random.default_rng(7)
    numbers = [
        *(f"0{number}" for number in range(10_000_000, 10_000_900)),
        *map(str, rng.integers(100_000_000, 999_999_999, 900)),
    ]
    right = [int(word) for word in numbers if FORMS["nl_bsn"].passes(word)]
    table = chaffinch.scan(
        pa.table({"v1": np.tile(right, 4), "sex": ["f", "m"] * (2 * len(right))})
    )
    assert table.schema["v1"].evidence.form == "nl_bsn"


def test_coordinates_are_named_and_precise():
    def float_column(decimals):
        return chaffinch.Column("Latitude", "float", type="double", decimals=decimals)

    assert evidence_of(float_column(5)).form == "latitude"
    assert evidence_of(float_column(None)).form == "latitude"
    assert evidence_of(float_column(2)) is None
    assert evidence_of(chaffinch.Column("birth_name", "date", type="date32")) is None
