"""Outputs over their columns: who is asked about, and what an attack may not ask for."""

import pytest

from chaffinch.errors import ChaffinchError
from chaffinch.outputs.check import CheckSettings
from chaffinch.outputs.check.output_set import OutputSet
from chaffinch.outputs.document import recipes_of

PLAIN = {"name": "plain", "kind": "table", "by": ["y"]}
JOINT = {"name": "joint", "kind": "table", "by": ["a", "y"]}


def test_columns_are_those_of_the_outputs(fields, rules_only):
    new, old = recipes_of([JOINT, rules_only("ruled")], fields), recipes_of([PLAIN], fields)
    outputs = OutputSet.of(new, old, CheckSettings(keys=["a"], sensitive=["y"]), 10)
    assert outputs.recipes.fields.names == ("a", "y")
    assert (outputs.names, outputs.new, outputs.old) == (("plain", "joint", "ruled"), ("joint", "ruled"), ("plain",))
    assert outputs.columns == {"plain": ("y",), "joint": ("a", "y"), "ruled": ("a", "y")}
    assert outputs.searched(outputs.names) == ("plain", "joint")
    assert outputs.searched(outputs.names, but={"joint": "why"}) == ("plain",)
    assert outputs.but(["joint"]).names == ("plain", "ruled")
    assert outputs.but([]) is outputs


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"keys": ["aa"], "sensitive": ["y"]}, "Did you mean 'a'"),
        ({"keys": ["b"], "sensitive": ["y"]}, "The key 'b' is in no output"),
        ({"keys": ["a"], "sensitive": ["c"]}, "The sensitive attribute 'c' is in no output"),
        ({"keys": ["a"], "sensitive": ["y"], "leave_one_out": "always"}, "nothing to leave one out of"),
    ],
)
def test_what_an_attack_asks_for_must_be_there(fields, settings, words):
    with pytest.raises(ChaffinchError, match=words):
        OutputSet.of(recipes_of([JOINT], fields), None, CheckSettings(**settings), 10)
    alone = CheckSettings(**settings, rules_only=True)  # nobody attacks
    assert OutputSet.of(recipes_of([JOINT], fields), None, alone, 10).recipes.fields.names == ("a", "y")
