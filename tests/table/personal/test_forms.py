"""Forms: each can be made up, and what is made up passes no check."""

from __future__ import annotations

import numpy as np
import pytest

from chaffinch.table.personal.fake import parse_form
from chaffinch.table.personal.forms import FORMS, compacted


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
    assert compacted("ab 12-34.5/6") == "AB123456"
    assert FORMS["uk_nhs"].passes("943 476 5919")
