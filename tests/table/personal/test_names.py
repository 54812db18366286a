"""What names of columns say of persons."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from chaffinch.table.personal.forms import FORMS
from chaffinch.table.personal.names import _LIKELY, _OTHER_SCRIPTS, _OWNERS, _SURE, name_sign

SURE = [
    "vorname",
    "Nachname",
    "surname",
    "first_name",
    "firstName",
    "Last Name",
    "geburtsname",
    "Mädchenname",
    "prénom",
    "apellidos",
    "cognome",
    "voornaam",
    "imię",
    "nazwisko",
    "příjmení",
    "förnamn",
    "etternavn",
    "svnr",
    "SVNR",
    "SSN",
    "nhs_number",
    "NHS No",
    "passport",
    "passport_no",
    "iban",
    "personnummer",
    "PESEL",
    "codice_fiscale",
    "mother_maiden_name",
    "patient_surname",
    "Sozialversicherungsnummer",
    "kontonummer",
    "credit_card_number",
    "last_name_2",
]
LIKELY = [
    "name",
    "Name",
    "patient_name",
    "email",
    "e-mail",
    "E_Mail_Address",
    "phone",
    "telefon",
    "Telefonnummer",
    "mobile_number",
    "home_address",
    "address",
    "Straße",
    "strasse",
    "Anschrift",
    "patient_id",
    "patientId",
    "PatientNo",
    "customer_number",
    "Kundennummer",
    "household_id",
    "hhid",
    "pid",
]
NEITHER = [
    "age",
    "car_name",
    "country_name",
    "filename",
    "phone_service",
    "n_emails",
    "email_opt_in",
    "ip",
    "address_change",
    "fnlwgt",
    "income",
    "education_num",
    "id_type",
    "number_children",
    "passenger",
    "postcode",
    "zip",
    "city",
    "family_size",
    "kind_code",
    "work_class",
    "username_length",
    "nameplate",
    "streetcar",
    "state_id",
    "str",
    "household_size",
    "member_since",
    "tenure",
    "unnamed_0",
    "nominal",
    "mailing",
    "telemetry",
]


OTHER_SCRIPTS = ["имя", "Фамилия", "姓名", "電話番号", "전화번호", "Όνομα", "البريد الإلكتروني"]


def test_names_in_several_languages():
    assert [
        name for name in SURE if (sign := name_sign(name)) is None or sign.max_distinct != 2
    ] == []
    assert [
        name for name in LIKELY if (sign := name_sign(name)) is None or sign.max_distinct != 10
    ] == []
    assert [name for name in NEITHER if name_sign(name) is not None] == []
    assert [name for name in OTHER_SCRIPTS if name_sign(name) is None] == []


def test_they_name_forms_that_there_are():
    assert {*_SURE, *_LIKELY, "id", *_OTHER_SCRIPTS} <= set(FORMS.names)
    forms = {
        "vorname": "given_name",
        "e-mail": "email",
        "Telefonnummer": "phone",
        "SVNR": "at_svnr",
        "patient_id": "id",
        "längengrad": "longitude",
    }
    assert {name: name_sign(name).form for name in forms} == forms


WORDS = sorted(
    {word for words in (*_SURE.values(), *_LIKELY.values()) for word in words.split("|")}
)


@given(
    st.sampled_from(["", "x", *_OWNERS]),
    st.sampled_from(["age", "", *WORDS]),
    st.sampled_from(["", "s", "ss", "x"]),
)
def test_words_are_those_of_a_pattern(owner, word, ending):
    """The lists as patterns: somebody or nobody, then a word, then the s of a plural where the word is sure."""
    said = f"{owner}{word}{ending}"
    owners = "|".join(_OWNERS)
    sure = (form for form, words in _SURE.items() if re.fullmatch(f"({owners})?({words})s?", said))
    likely = (
        form for form, words in _LIKELY.items() if re.fullmatch(f"({owners})?({words})", said)
    )
    form = next(sure, None) or next(likely, None)
    sign = name_sign(said)
    assert form == (None if sign is None or sign.form == "id" else sign.form)
