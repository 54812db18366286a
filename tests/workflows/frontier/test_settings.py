"""What a frontier is asked, and what it refuses."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import chaffinch
from chaffinch.errors import InputError
from chaffinch.workflows.frontier.settings import minutes

from .conftest import quick


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": 10.0, "evaluations": 3}, "Got both"),
        ({"budget": 0.0}, "budget must be a number above 0"),
        ({"evaluations": 0}, "at least 1"),
        ({"confirm_share": 0.0}, "confirm_share must lie"),
        ({"epsilons": ()}, "at least one epsilon"),
        ({"epsilons": (-1.0,), "choose": "none"}, "above 0"),
        ({"epsilons": (1.0, None)}, "no promise of privacy covers a choice"),
        ({"epsilons": (1.0,), "choose": "data"}, "voids a promise"),
        ({"epsilons": (1.0, None), "choose": "public"}, "'none' is no epsilon"),
        ({"epsilons": (1.0, None), "choose": "private"}, "'none' is no epsilon"),
        ({"choose": "public"}, "name --epsilons too"),
        ({"choose": "dice"}, "Unknown choose 'dice'"),
        ({"worth": "beauty"}, "Unknown worth 'beauty'"),
        ({"keys": ()}, "at least one key"),
        ({"attackers": ("magic",)}, "magic"),
    ],
)
def test_what_breaks_a_rule_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        quick(**options)


def test_purposes_are_worths_and_without_any_the_headline_measures(people: pa.Table) -> None:
    assert quick().worths == ("accuracy",)
    assert quick(tables=(("age", "sex"),), worth="tables").worths == ("tables", "accuracy")
    assert quick(label=None).worths == ("tvd_2", "phi_k", "tvd_3", "pmse")


def test_columns_that_are_not_there_are_named(people: pa.Table) -> None:
    schema = chaffinch.read(people).schema
    for options, message in (
        ({"keys": ("agee",)}, "agee"),
        ({"tables": (("age", "tow"),)}, "tow"),
        ({"label": "job"}, "both the label and sensitive"),
    ):
        with pytest.raises(InputError, match=message):
            quick(**options).check(schema)
    quick(formula="ill ~ age").check(schema)


def test_nobody_attacks_with_a_key_that_was_left_out() -> None:
    assert quick().attack_without(("age",)).keys == ("sex", "town")


@pytest.mark.parametrize(
    ("text", "seconds"), [("10min", 600.0), ("90 s", 90.0), ("2h", 7200.0), ("0s", 0.0)]
)
def test_times(text: str, seconds: float) -> None:
    assert minutes(text) == seconds


def test_a_time_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match="as 10min"):
        minutes("soon")
