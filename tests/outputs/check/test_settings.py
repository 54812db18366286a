"""Settings of a check: bad ones are named at once."""

import pytest

from chaffinch.errors import InputError
from chaffinch.outputs.check import CheckSettings


def test_settings_are_checked_at_once():
    assert CheckSettings(keys="a", sensitive=["y"]).keys == ("a",)
    with pytest.raises(InputError, match="keys must differ"):
        CheckSettings(keys=["a", "a"], sensitive=["y"])
    with pytest.raises(InputError, match="Did you mean 'always'"):
        CheckSettings(keys=["a"], sensitive=["y"], leave_one_out="alway")
