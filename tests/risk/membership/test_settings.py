"""How attackers learn: settings that are checked when they are made."""

import pytest

from chaffinch.errors import InputError
from chaffinch.risk.membership import ShadowSettings
from chaffinch.risk.membership.settings import CHOICES


def test_settings_are_plain_data():
    plain = ShadowSettings(shadows=20).to_dict()
    assert ShadowSettings(**plain) == ShadowSettings(shadows=20)
    assert set(CHOICES) <= set(plain)


@pytest.mark.parametrize("name", [*CHOICES, "learner"])
def test_an_unknown_word_is_named(name):
    with pytest.raises(InputError, match=f"Unknown {name} 'nothing'"):
        ShadowSettings(**{name: "nothing"})


@pytest.mark.parametrize(("name", "least"), [("shadows", 10), ("tests", 10), ("tables", 1)])
def test_too_few_are_refused(name, least):
    with pytest.raises(InputError, match=f"{name} must be at least {least}"):
        ShadowSettings(**{name: least - 1})


def test_the_white_box_compares_models_on_one_grid():
    assert ShadowSettings().grid == "release"
    assert ShadowSettings(box="whitebox").grid == "population"
