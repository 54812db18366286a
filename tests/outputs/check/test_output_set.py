"""Outputs over their columns: who is asked about, and what an attack may not ask for."""

import pytest

from chaffinch.errors import ChaffinchError
from chaffinch.outputs.check import CheckSettings
from chaffinch.outputs.check.measurement import OutputSet
from chaffinch.outputs.document import recipes_of

PLAIN = {"name": "plain", "kind": "table", "by": ["y"]}
JOINT = {"name": "joint", "kind": "table", "by": ["a", "y"]}


def test_columns_are_those_of_the_outputs(fields, rules_only):
    new, old = recipes_of([JOINT, rules_only("ruled")], fields), recipes_of([PLAIN], fields)
    outputs = OutputSet.of(new, old, CheckSettings(keys=["a"], sensitive=["y"]), 10)
    assert outputs.recipes.fields.names == ("a", "y")
    assert (outputs.names, outputs.new, outputs.old) == (
        ("plain", "joint", "ruled"),
        ("joint", "ruled"),
        ("plain",),
    )
    assert outputs.columns == {"plain": ("y",), "joint": ("a", "y"), "ruled": ("a", "y")}
    assert outputs.searched(outputs.names) == ("plain", "joint")
    assert outputs.searched(outputs.names, but={"joint": "why"}) == ("plain",)
    assert outputs.but(["joint"]).names == ("plain", "ruled")
    assert outputs.but([]) is outputs


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"keys": ["aa"], "sensitive": ["y"]}, "Did you mean 'a'"),
        ({"keys": ["dob"], "sensitive": ["y"]}, "Unknown column 'dob'"),
        (
            {"keys": ["a"], "sensitive": ["y"], "leave_one_out": "always"},
            "nothing to leave one out of",
        ),
    ],
)
def test_what_an_attack_asks_for_must_be_there(fields, settings, words):
    with pytest.raises(ChaffinchError, match=words):
        OutputSet.of(recipes_of([JOINT], fields), None, CheckSettings(**settings), 10)
    alone = CheckSettings(**settings, rules_only=True)  # nobody attacks
    assert OutputSet.of(recipes_of([JOINT], fields), None, alone, 10).recipes.fields.names == (
        "a",
        "y",
    )


@pytest.mark.parametrize(
    ("keys", "sensitive", "left", "notes"),
    [
        (["a"], ["y"], (("a",), ("y",), False), 0),
        (
            ["a", "b", "dob"],
            ["y", "c"],
            (("a",), ("y",), False),
            3,
        ),  # dob is a column of the data alone
        (["b"], ["y"], ((), (), True), 2),
        (["a"], ["c"], ((), (), True), 2),
    ],
)
def test_what_is_in_no_output_is_left_out_of_the_attack_and_said(
    fields, keys, sensitive, left, notes
):
    settings = CheckSettings(keys=keys, sensitive=sensitive, key_sizes=(2, 3))
    asked, said = OutputSet.of(
        recipes_of([JOINT], fields), None, settings, 10, known=["dob"]
    ).attackable(settings)
    assert (asked.keys, asked.sensitive, asked.rules_only) == left
    assert len(said) == notes
    if len(keys) == 3:
        assert asked.key_sizes == (1, 1)
        assert (
            said[0]
            == "The key 'b' is in no output, so no output can tell anything with it: it was left out of the attack."
        )
    if left[2]:
        assert said[-1].startswith(
            f"No {'key' if keys == ['b'] else 'sensitive attribute'} is in any output"
        )
