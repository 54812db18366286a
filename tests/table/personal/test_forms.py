"""Forms: each can be made up, and what is made up passes no check."""

from __future__ import annotations

import ipaddress

import numpy as np
import pytest

from chaffinch.table.personal import forms
from chaffinch.table.personal.fake import parse_form
from chaffinch.table.personal.forms import FORMS, compact


@pytest.mark.parametrize("name", FORMS.names)
def test_made_up_values_have_the_form_and_fail_the_check(name):
    form, fake = FORMS[name], parse_form(name)
    rng = np.random.default_rng(2)
    words = fake.spell(rng.integers(0, min(fake.size, 1 << 40), 300).tolist(), rng)
    if form.check is not None:
        assert not any(map(form.passes, words))
    if form.unissued:
        assert not any(map(form.passes, words)) or form.check is None
    if form.pattern and form.check is None and not form.unissued and name != "phone":
        assert all(map(form.has, words))


def test_grouping_is_taken_out():
    assert compact("ab 12-34.5/6") == "AB123456"
    assert FORMS["uk_nhs"].passes("943 476 5919")


@pytest.mark.parametrize(
    ("make", "n"),
    [
        (forms.given_name, 5000),
        (forms.surname, 20_000),
        (forms.full_name, 20_000),
        (forms.user_name, 20_000),
        (forms.email, 20_000),
        (forms.url, 500),
        (forms.ip, 5000),
        (forms.address, 20_000),
        (forms.latitude, 20_000),
        (forms.longitude, 20_000),
        (forms.coordinates, 20_000),
    ],
)
def test_different_numbers_have_different_words(make, n):
    assert len({make(number) for number in range(n)}) == n


def test_addresses_are_kept_for_examples():
    """RFC 5737 and RFC 1112, by the standard library's own tables."""
    for number in (*range(0, 1000, 7), 10**6, 10**8):
        one = ipaddress.ip_address(forms.ip(number))
        assert one.is_reserved or any(
            one in ipaddress.ip_network(net)
            for net in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24")
        )
    assert forms.email(12345).endswith("@example.org")
