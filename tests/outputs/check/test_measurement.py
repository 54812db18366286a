"""What is measured: outputs that every fold gives, in steps, and what else was asked for."""

import pytest

from chaffinch.errors import ChaffinchError, InputError
from chaffinch.outputs.check import CheckSettings
from chaffinch.outputs.check.measurement import MOST_STEPS, CheckInputs, OutputSet, measure
from chaffinch.outputs.document import recipes_of

LOGIT = {"name": "logit", "kind": "logit", "formula": "y ~ C(a)", "success": "y1", "decimals": 4}


@pytest.fixture(name="measure")
def measurer(fields, people_whose_y_follows, maker):
    def run(entries, codes=None, **options):
        settings = CheckSettings(**{"keys": ["a"], "sensitive": ["y"], "syntheses": 2, **options})
        people = people_whose_y_follows(100, 7) if codes is None else codes
        inputs = CheckInputs(recipes_of(entries, fields), people, settings, seed=1, maker=maker)
        outputs, codes_of_outputs = inputs.encode()
        return measure(inputs, outputs, codes_of_outputs, settings)

    return run


def test_many_outputs_are_added_a_few_at_a_time(measure):
    entries = [{"name": f"t{k}", "kind": "table", "by": ["a", "y"]} for k in range(MOST_STEPS + 1)]
    found = measure(entries)
    assert [len(stage.outputs) for stage in found.cumulative] == [2, 4, 6, 8, 9]
    assert (found.key_sets, found.key_sizes, found.unmeasured) == (1, (1, 1), {})
    assert found.search.proposals > 0


def test_nothing_to_measure(measure, people_whose_y_follows):
    codes = people_whose_y_follows(100, 7)
    codes[codes[:, 0] == 4, 0] = 0
    codes[0, 0] = 4
    found = measure([LOGIT], codes)
    assert (found.all, found.cumulative, found.search) == (None, (), None)
    assert list(found.unmeasured) == ["logit"]


PLAIN = {"name": "plain", "kind": "table", "by": ["y"]}
JOINT = {"name": "joint", "kind": "table", "by": ["a", "y"]}


def test_columns_are_those_of_the_outputs(fields, rules_only):
    new, old = recipes_of([JOINT, rules_only("ruled")], fields), recipes_of([PLAIN], fields)
    outputs = OutputSet.over_columns(new, old, CheckSettings(keys=["a"], sensitive=["y"]), 10)
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
        OutputSet.over_columns(recipes_of([JOINT], fields), None, CheckSettings(**settings), 10)
    alone = CheckSettings(**settings, rules_only=True)  # nobody attacks
    assert OutputSet.over_columns(
        recipes_of([JOINT], fields), None, alone, 10
    ).recipes.fields.names == (
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
    asked, said = OutputSet.over_columns(
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


def test_settings_are_checked_at_once():
    with pytest.raises(InputError, match="keys must differ"):
        CheckSettings(keys=["a", "a"], sensitive=["y"]).check_attack()
    with pytest.raises(InputError, match="Did you mean 'always'"):
        CheckSettings(keys=["a"], sensitive=["y"], leave_one_out="alway")
