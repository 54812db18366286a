"""Check digits against another library (python-stdnum): the same numbers pass, the same fail."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from stdnum.exceptions import InvalidChecksum, ValidationError

from chaffinch.table.personal import checks
from chaffinch.table.personal.fake import parse_mask
from chaffinch.table.personal.forms import FORMS

DIGITS = "0123456789"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def digits(rng, n):
    return "".join(rng.choice(list(DIGITS), n))


def born(rng, order):
    """A day after 1950, its parts in some order."""
    parts = {
        "Y": f"{rng.integers(50, 99)}",
        "M": f"{rng.integers(1, 13):02d}",
        "D": f"{rng.integers(1, 29):02d}",
    }
    return "".join(parts[part] for part in order)


BODIES = {
    # name: (module of the other library, a number without its check signs, where these stand, which signs may stand there)
    "es_dni": ("es.dni", lambda rng: digits(rng, 8), "{0}{c}", LETTERS),
    "nl_bsn": ("nl.bsn", lambda rng: "1" + digits(rng, 7), "{0}{c}", DIGITS),
    "fr_nir": (
        "fr.nir",
        lambda rng: "1" + born(rng, "YM") + "75" + digits(rng, 6),
        "{0}{c}",
        [f"{i:02d}" for i in range(100)],
    ),
    "it_codice_fiscale": (
        "it.codicefiscale",
        lambda rng: (
            "RSSMRA"
            + f"{rng.integers(50, 99)}"
            + "A"
            + f"{rng.integers(1, 29):02d}"
            + "H"
            + digits(rng, 3)
        ),
        "{0}{c}",
        LETTERS,
    ),
    "se_personnummer": (
        "se.personnummer",
        lambda rng: born(rng, "YMD") + "-" + digits(rng, 3),
        "{0}{c}",
        DIGITS,
    ),
    "fi_hetu": (
        "fi.hetu",
        lambda rng: born(rng, "DMY") + "-" + f"{rng.integers(2, 900):03d}",
        "{0}{c}",
        DIGITS + LETTERS,
    ),
    "no_fnr": (
        "no.fodselsnummer",
        lambda rng: born(rng, "DMY") + f"{rng.integers(0, 400):03d}",
        "{0}{c}",
        [f"{i:02d}" for i in range(100)],
    ),
    "pl_pesel": ("pl.pesel", lambda rng: born(rng, "YMD") + digits(rng, 4), "{0}{c}", DIGITS),
    "de_tax_id": (
        "de.idnr",
        lambda rng: "".join(rng.permutation(list(DIGITS[1:]))) + "1",
        "{0}{c}",
        DIGITS,
    ),
    "ch_ahv": ("ch.ssn", lambda rng: "756" + digits(rng, 9), "{0}{c}", DIGITS),
    "be_insz": (
        "be.nn",
        lambda rng: f"{rng.integers(0, 20):02d}" + born(rng, "MD") + digits(rng, 3),
        "{0}{c}",
        [f"{i:02d}" for i in range(100)],
    ),
    "uk_nhs": ("gb.nhs", lambda rng: "4" + digits(rng, 8), "{0}{c}", DIGITS),
    "pt_nif": ("pt.nif", lambda rng: "2" + digits(rng, 7), "{0}{c}", DIGITS),
    "ca_sin": ("ca.sin", lambda rng: "4" + digits(rng, 7), "{0}{c}", DIGITS),
    "br_cpf": ("br.cpf", lambda rng: digits(rng, 9), "{0}{c}", [f"{i:02d}" for i in range(100)]),
    "cz_rc": ("cz.rc", lambda rng: born(rng, "YMD") + digits(rng, 3), "{0}{c}", DIGITS),
    "ee_lt_id": ("ee.ik", lambda rng: "4" + born(rng, "YMD") + digits(rng, 3), "{0}{c}", DIGITS),
    "bg_egn": ("bg.egn", lambda rng: born(rng, "YMD") + digits(rng, 3), "{0}{c}", DIGITS),
    "ro_cnp": (
        "ro.cnp",
        lambda rng: "1" + born(rng, "YMD") + "12" + digits(rng, 3),
        "{0}{c}",
        DIGITS,
    ),
    "tr_tckn": (
        "tr.tckimlik",
        lambda rng: "1" + digits(rng, 8),
        "{0}{c}",
        [f"{i:02d}" for i in range(100)],
    ),
    "cn_id": (
        "cn.ric",
        lambda rng: "36042619" + born(rng, "YMD") + digits(rng, 3),
        "{0}{c}",
        DIGITS + "X",
    ),
    "in_aadhaar": ("in_.aadhaar", lambda rng: "2" + digits(rng, 10), "{0}{c}", DIGITS),
    "iban": ("iban", lambda rng: digits(rng, 18), "DE{c}{0}", [f"{i:02d}" for i in range(2, 99)]),
    "credit_card": ("luhn", lambda rng: "4" + digits(rng, 14), "{0}{c}", DIGITS),
    "at_svnr": (
        "at.vnr",
        lambda rng: ("1" + digits(rng, 2), born(rng, "DMY")),
        "{0[0]}{c}{0[1]}",
        DIGITS,
    ),
}


@pytest.mark.parametrize("name", BODIES)
def test_the_same_numbers_pass_as_in_another_library(name):
    module, body, place, signs = BODIES[name]
    other = importlib.import_module(f"stdnum.{module}")
    form, rng = FORMS[name], np.random.default_rng(3)
    passed = failed = 0
    for _ in range(60):
        start = body(rng)
        for sign in signs:
            number = place.format(start, c=sign)
            try:
                other.validate(number)
            except InvalidChecksum:
                assert not form.passes(number), number
                failed += 1
            except ValidationError:
                continue  # of a part that is not the check: a component, a form, a length
            else:
                assert form.passes(number), number
                passed += 1
    assert passed >= 10
    assert failed >= 5 * passed


def test_german_health_insurance_numbers():
    """The worked example of the GKV's specification: A 123 456 78 has the check digit 0."""
    assert [checks.kvnr(f"A12345678{digit}") for digit in DIGITS] == [True] + [False] * 9


def test_chances_are_not_understated():
    """The share of random numbers of a form that pass: at most the stated chance, within what 4,000 draws let one see (4.5 standard errors)."""
    rng = np.random.default_rng(4)
    for form in FORMS:
        if form.check is None or form.name in ("iban", "fr_nir", "it_codice_fiscale"):
            continue
        words = parse_mask(form.mask).spell(rng.integers(0, 1 << 60, 4000)).tolist()
        passed = [form.passes(word) for word in words if form.has(word)]
        n = len(passed)
        assert n > 40, form.name
        assert np.mean(passed) <= form.chance + 4.5 * np.sqrt(form.chance / n), form.name
