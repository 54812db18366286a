"""Columns that look like names or personal numbers are pointed out, by name and by what numbers given out once do."""

from __future__ import annotations

import warnings

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import chaffinch
from chaffinch.table import schema_text
from chaffinch.table.personal import _expected_equals, given_out_once, names_a_person
from chaffinch.table.profile import Profile

SURE = [
    "vorname", "Nachname", "surname", "first_name", "firstName", "Last Name", "geburtsname", "Mädchenname", "prénom", "apellidos", "cognome", "voornaam",
    "imię", "nazwisko", "příjmení", "förnamn", "etternavn", "svnr", "SVNR", "SSN", "nhs_number", "NHS No", "passport", "passport_no", "iban", "personnummer",
    "PESEL", "codice_fiscale", "mother_maiden_name", "patient_surname", "Sozialversicherungsnummer", "kontonummer", "credit_card_number", "last_name_2",
]  # fmt: skip
LIKELY = [
    "name", "Name", "patient_name", "email", "e-mail", "E_Mail_Address", "phone", "telefon", "Telefonnummer", "mobile_number", "home_address", "address", "Straße",
    "strasse", "Anschrift", "patient_id", "patientId", "PatientNo", "customer_number", "Kundennummer", "household_id", "hhid", "pid",
]  # fmt: skip
NEITHER = [
    "age", "car_name", "country_name", "filename", "phone_service", "n_emails", "email_opt_in", "ip", "address_change", "fnlwgt", "income", "education_num", "id_type",
    "number_children", "passenger", "postcode", "zip", "city", "family_size", "kind_code", "work_class", "username_length", "nameplate", "streetcar", "state_id", "str",
    "household_size", "member_since", "tenure", "unnamed_0", "nominal", "mailing", "telemetry",
]  # fmt: skip


def test_names_in_several_languages():
    assert [name for name in SURE if names_a_person(name) != 2] == []
    assert [name for name in LIKELY if names_a_person(name) != 10] == []
    assert [name for name in NEITHER if names_a_person(name) != -1] == []


def profiled(numbers):
    profile = Profile(pa.int64())
    profile.add(pa.array(np.asarray(numbers, dtype=np.int64)))
    return profile


@given(st.lists(st.integers(-40, 400), min_size=2, max_size=40), st.sampled_from([1, 5, 100]))
def test_the_expected_equals_are_pairs_a_few_steps_apart(numbers, factor):
    """Second opinion: all pairs, one by one."""
    values, counts = np.unique(np.array(numbers) * factor, return_counts=True)
    if len(values) < 2:
        return
    gaps = np.diff(values)
    step = int(np.gcd.reduce(gaps))
    reach = max(step, int(np.median(gaps)) // step * step)
    every = np.sort(np.array(numbers) * factor)
    pairs = sum(0 < b - a <= reach for i, a in enumerate(every) for b in every[i + 1 :])
    assert _expected_equals(values, counts.astype(float)) == pytest.approx(pairs / (2 * reach / step))


PERSONAL = {
    "counted on, with gaps": lambda rng: np.cumsum(rng.integers(1, 12, 600)) + 1000,
    "by site": lambda rng: np.concatenate([1000 * s + rng.choice(150, 60, replace=False) for s in range(1, 11)]),
    "seven digits": lambda rng: rng.choice(9_000_000, 400, replace=False) + 1_000_000,
    "nine digits": lambda rng: rng.choice(800_000_000, 60, replace=False) + 100_000_000,
    "few persons twice": lambda rng: np.concatenate([ids := np.cumsum(rng.integers(1, 9, 800)), ids[:20]]),
    "every fifth": lambda rng: 5 * np.cumsum(rng.integers(1, 6, 500)),
}
MEASURES = {
    "income": lambda rng: np.rint(rng.lognormal(10.3, 0.6, 300)),
    "income, a few people": lambda rng: np.rint(rng.lognormal(10.3, 0.6, 60)),
    "income in hundreds": lambda rng: 100 * np.rint(rng.lognormal(5.7, 0.6, 300)),
    "price": lambda rng: np.rint(rng.lognormal(12.4, 0.5, 300) / 500) * 500,
    "weights of records": lambda rng: np.rint(rng.gamma(3, 60_000, 1000)),
    "days of age": lambda rng: rng.integers(6000, 33_000, 100),
    "population": lambda rng: np.rint(rng.pareto(1.1, 200) * 20_000) + 500,
    "normal": lambda rng: np.rint(rng.normal(170_000, 9_000, 400)),
}


@pytest.mark.parametrize("draw", PERSONAL.values(), ids=PERSONAL)
def test_numbers_that_are_given_out_once_are_seen_sorted_or_not(draw):
    """Random ones of six to eight digits pass a test of evenness at 1 %: of 20 tables all but at most two, once in a thousand more."""
    rng = np.random.default_rng(5)
    seen = []
    for _ in range(20):
        numbers = np.asarray(draw(rng))
        seen.append(given_out_once(profiled(numbers)))
        assert given_out_once(profiled(np.sort(numbers))) == given_out_once(profiled(rng.permutation(numbers)))
    assert sum(seen) >= 18


@pytest.mark.parametrize("draw", MEASURES.values(), ids=MEASURES)
def test_measures_are_not(draw):
    """One column in ten thousand by the first sign; 50 tables of each of eight measures fail once in 25 by that alone, if at all."""
    rng = np.random.default_rng(6)
    assert not any(given_out_once(profiled(draw(rng))) for _ in range(50))


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
    with pytest.warns(chaffinch.errors.PersonalDataWarning, match=r"nachname \(by its name\), svnr \(by its name\), v3 \(by its numbers\)") as caught:
        table = chaffinch.read(pa.table(people()))
    assert caught[0].filename == __file__
    (note,) = [note for note in table.notes if note.what == "personal"]
    assert str(note) == str(caught[0].message)
    assert 'declare kind = "identifier"' in str(note)
    assert not any(str(value) in str(note) for value in ("Huber", people()["svnr"][0], "600"))
    reasons = {column.name: column.reason for column in table.schema}
    assert "looks like a name or a personal number by its numbers" in reasons["v3"]
    assert "looks like" not in reasons["income"] + reasons["email"] + reasons["sex"]
    assert 'if it is, write kind = "identifier"' in schema_text(table.schema)
    with pytest.warns(chaffinch.errors.PersonalDataWarning):
        chaffinch.scan(pa.table(people()))


def test_declared_identifiers_are_not_pointed_out(tmp_path):
    with pytest.warns(chaffinch.errors.PersonalDataWarning):
        text = schema_text(chaffinch.read(pa.table(people())).schema)
    for name in ("nachname", "svnr", "v3"):
        kind = "categorical" if name == "nachname" else "integer"
        text = text.replace(f'[columns.{name}]\nkind = "{kind}"', f'[columns.{name}]\nkind = "identifier"')
    text = "\n".join(line for line in text.splitlines() if not line.startswith('levels = ["Gruber'))
    (tmp_path / "s.toml").write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = chaffinch.read(pa.table(people()), schema=tmp_path / "s.toml")
    assert table.schema.names == ("email", "income", "sex")


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
        {"surname": ["a"] * 300, "v3": list(range(300)), "phone": ["yes"] * 300, "svnr": list(range(300))},
        {"surname": ["x"], "v3": [None], "phone": [None], "svnr": [None]},
    ):
        with pytest.warns(chaffinch.errors.PersonalDataWarning, match=r"surname \(by its name\)\. If") as caught:
            table = chaffinch.prepare(pa.table(rows), schema)
        assert "v3" not in str(caught[0].message)
        said.append((str(caught[0].message), table.notes))
    assert said[0] == said[1]
