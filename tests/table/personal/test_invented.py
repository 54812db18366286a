"""Made-up words: different for different numbers, and in nobody's range."""

from __future__ import annotations

import ipaddress

import pytest

from chaffinch.table.personal import forms


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
        (forms.place, 20_000),
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
