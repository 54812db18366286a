"""What every result says of itself."""

from __future__ import annotations

import dataclasses
import json

import pytest

from chaffinch.stats.intervals import Result


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class Height(Result):
    name = "height"
    direction = "higher is better"
    identical = 1.0

    steps: int = 0

    def details(self):
        return {"steps": self.steps}


def test_a_result_has_a_value_or_a_reason():
    with pytest.raises(
        ValueError, match="height needs either a value or the reason why there is none"
    ):
        Height(value=None)
    with pytest.raises(ValueError, match="either a value or the reason"):
        Height(value=1.0, reason="there are no steps")


def test_a_result_as_plain_data():
    plain = Height(value=0.5, interval=(0.25, 0.75), steps=3, settings={"seed": 1}).to_dict()
    assert plain == {
        "value": 0.5,
        "interval": [0.25, 0.75],
        "direction": "higher is better",
        "identical": 1.0,
        "steps": 3,
        "settings": {"seed": 1},
    }
    assert json.loads(json.dumps(plain)) == plain
    assert Height(value=0.5).to_dict()["interval"] is None


def test_a_result_that_does_not_apply_as_plain_data():
    plain = Height(value=None, reason="there are no steps").to_dict()
    assert (plain["value"], plain["not_applicable"]) == (None, "there are no steps")
    assert not {"interval", "steps"} & plain.keys()


def test_a_result_in_words():
    assert repr(Height(value=0.5, interval=(0.25, 0.75))) == (
        "Height(height = 0.5 [0.25, 0.75], higher is better, identical tables 1)"
    )
    assert (
        repr(Height(value=None, reason="there are no steps"))
        == "Height(not applicable because there are no steps)"
    )
    assert "<td>0.25 to 0.75</td>" in Height(value=0.5, interval=(0.25, 0.75))._repr_html_()
    assert "&lt;b&gt;" in Height(value=None, reason="<b>")._repr_html_()


def test_a_result_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Height(value=0.5).value = 1.0
