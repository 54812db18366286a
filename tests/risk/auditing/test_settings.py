"""The settings of an audit are checked when they are made."""

import pytest

from chaffinch.errors import InputError
from chaffinch.risk.auditing import AuditSettings


def test_one_box_may_be_a_word():
    assert AuditSettings(box="black").box == ("black",)
    assert AuditSettings().box == ("mechanism", "white", "black")
    assert AuditSettings().level == 0.999


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"pairs": ["narow"]}, "Unknown pair 'narow'. Did you mean 'narrow'"),
        ({"box": "grey"}, "Unknown box 'grey'"),
        ({"runs": 79}, "runs must be a whole number of at least 80"),
        ({"runs": True}, "runs must be a whole number"),
        ({"level": 1.0}, "level must lie between 0 and 1"),
        ({"threshold": 0}, "threshold must be at least 1"),
    ],
)
def test_what_breaks_a_rule_is_refused(options, words):
    with pytest.raises(InputError, match=words.replace(".", r"\.")):
        AuditSettings(**options)
