"""The search: what it takes mends the rules of all outputs together, at the least loss of what it lists, and what it cannot mend is said."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from chaffinch.outputs.check import CheckInputs, CheckSettings
from chaffinch.outputs.mitigate import MITIGATIONS, find_mitigations
from chaffinch.outputs.mitigate.base import bad_findings, has_key, plain_cells
from chaffinch.outputs.mitigate.search import loss_of, loss_of_all
from chaffinch.outputs.rules import Policy
from chaffinch.workflows.check import check


def document(*outputs):
    return {"format": "chaffinch-outputs", "version": 1, "outputs": list(outputs)}


def frame(counts, names=("x", "y")):
    rows = [
        place
        for place in np.ndindex(*np.shape(counts))
        for _ in range(int(np.asarray(counts)[place]))
    ]
    return pd.DataFrame(
        {
            name: [f"{name}{row[k]}" for row in rows]
            for k, name in enumerate(names[: np.ndim(counts)])
        }
    )


TABLE = {"name": "t", "kind": "table", "by": ["x", "y"]}
COUNTS = [[40, 30, 25], [35, 4, 28], [22, 31, 45]]


def mended(*outputs, data=None, **options):
    return check(
        document(*outputs),
        frame(COUNTS) if data is None else data,
        rules_only=True,
        mitigate=True,
        **options,
    )


def test_outputs_that_pass_are_left_alone():
    result = mended({**TABLE, "by": ["x"]})
    assert result.passed
    assert (result.mitigation.steps, result.mitigation.sentence, result.mitigated) == (
        (),
        "Nothing had to be mended.",
        None,
    )


def test_a_small_cell_is_mended_with_the_least_loss_and_checked_anew():
    result = mended({**TABLE, "margins": True})
    plan = result.mitigation
    assert not result.passed
    assert plan.passed
    assert result.mitigated.passed
    assert (plan.rules_before, plan.rules_after) == ("fail", "pass")
    (step,) = plan.steps
    clean = [one for one in plan.options if one.status == "pass"]
    assert step.loss.share == min(one.loss.share for one in clean)
    assert [one.loss.share for one in plan.options] == sorted(
        one.loss.share for one in plan.options
    )
    assert [option.description for option in plan.options if option.taken] == list(step.actions)
    kinds = {one.mitigation for one in plan.options}
    assert {"round", "suppress", "band"} <= kinds


def test_every_option_that_is_listed_breaks_no_rule_when_asked_again():
    """The same outputs with one cell withheld and its three corners: checked by themselves, from numbers that are typed in."""
    plan = mended({**TABLE, "margins": True}).mitigation
    (suppressed,) = [one for one in plan.options if one.mitigation == "suppress"]
    assert suppressed.loss.withheld == 4
    counts = [[40, 30, 25, 95], [35, "?", "?", 67], [22, "?", "?", 98], [97, 65, 98, 260]]
    typed = check(
        document({**TABLE, "margins": True, "counts": counts}), frame(COUNTS), rules_only=True
    )
    assert typed.passed


def test_two_tables_that_differ_by_few_people():
    data = frame(COUNTS)
    data["z"] = ["in"] * (len(data) - 3) + ["out"] * 3
    every = {"name": "all", "kind": "table", "by": ["x"]}
    result = mended(every, {**every, "name": "most", "where": "z == 'in'"}, data=data)
    assert any(one.rule == "differencing" and one.status == "fail" for one in result.rules)
    assert result.mitigation.passed
    assert len(result.mitigation.steps) == 1  # one of the two is enough
    assert not any(one.status == "fail" for one in result.mitigated.rules)


def test_what_was_released_before_is_reckoned_with_and_not_changed(tmp_path):
    data = frame(COUNTS)
    data["z"] = ["in"] * (len(data) - 3) + ["out"] * 3
    every = {"name": "all", "kind": "table", "by": ["x"]}
    released = tmp_path / "released.json"
    first = check(document(every), data, rules_only=True, released=released, record=True)
    assert first.passed
    before = released.read_text()
    result = mended({**every, "name": "most", "where": "z == 'in'"}, data=data, released=released)
    assert result.mitigation.passed
    assert [step.output for step in result.mitigation.steps] == ["most"]
    assert released.read_text() == before
    assert json.loads(before)


def test_a_model_that_nothing_mends_is_dropped_and_the_rest_stands():
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"g": ["a"] * 40 + ["b"] * 38 + ["c"] * 2, "v": rng.integers(0, 50, 80)})
    model = {"name": "model", "kind": "ols", "formula": "v ~ C(g)"}
    result = mended(model, {"name": "mean", "kind": "mean", "of": "v", "decimals": 1}, data=data)
    plan = result.mitigation
    assert result.rules.status("model") == "fail"
    assert plan.dropped == ("model",)
    assert [one.name for one in result.mitigated.outputs] == ["mean"]
    assert plan.steps[-1].loss.description == "everything"
    assert plan.passed


def test_nothing_left_to_publish_is_said():
    data = pd.DataFrame({"x": ["a"] * 4 + ["b"] * 3, "w": ["c"] * 7})
    result = mended(
        {"name": "t", "kind": "table", "by": ["x"], "percentages": "all", "decimals": 0},
        data=data,
        rules=Policy(threshold=8),
    )
    assert result.mitigation.dropped == ("t",)
    assert (
        result.mitigation.sentence
        == "1 output changed, 1 of them dropped: nothing is left to publish."
    )
    assert not result.mitigation.passed


def test_numbers_that_are_not_the_datas_are_held_back_and_the_others_leave():
    wrong = {**TABLE, "name": "wrong", "counts": [[41, 30, 25], [35, 4, 28], [22, 31, 45]]}
    result = mended(wrong, {"name": "x", "kind": "table", "by": ["x"]})
    assert result.verdict.word == "outputs inconsistent"
    (step,) = result.mitigation.steps
    assert (step.output, step.dropped, step.actions) == (
        "wrong",
        True,
        ("held back: its published numbers are not those of the data",),
    )
    assert result.mitigation.not_mended == {
        "wrong": "its published numbers are not those of the data"
    }
    assert result.mitigation.passed
    assert [one.name for one in result.mitigated.outputs] == ["x"]


def test_no_level_and_no_cell_is_in_what_leaves():
    data = frame(COUNTS).replace({"x1": "secretlevel"})
    result = mended({**TABLE, "margins": True}, data=data)
    assert "secretlevel" not in json.dumps(result.mitigation.to_dict())


@pytest.mark.parametrize("seed", [1, 2])
def test_what_is_taken_passes_on_random_tables(seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 40, (3, 4))
    tables = [
        {**TABLE, "margins": True},
        {"name": "x", "kind": "table", "by": ["x"]},
        {"name": "n", "kind": "table", "by": ["y"], "margins": True},
    ]
    result = mended(*tables, data=frame(counts))
    if not result.passed:
        assert result.mitigation.passed
        assert not any(one.status in ("fail", "not assessed") for one in result.mitigated.rules)


def test_a_check_that_did_not_pass_for_another_reason_is_not_said_to_need_nothing():
    result = mended({**TABLE, "by": ["x"]})
    unreached = replace(result, verdict=replace(result.verdict, word="not reached (lower bound)"))
    fields = result.recipes.fields
    codes = np.array([[0]] * 95 + [[1]] * 67 + [[2]] * 98, dtype=np.int32)
    assert [len(one.levels) for one in fields] == [3]
    inputs = CheckInputs(result.recipes, codes, CheckSettings(rules_only=True))
    plan, after = find_mitigations(inputs, unreached)
    assert after is None
    assert plan.sentence == "Nothing could be mended."
    assert plan.not_mended == {
        "all outputs together": "not reached (lower bound): nothing that was tried mends it"
    }


@pytest.mark.slow  # four measurements
@pytest.mark.parametrize("cumulative", [True, False])
def test_an_excess_is_mended_in_a_few_measurements(cumulative):
    """Every person's combination is published: the rules are told to say nothing, so that the measured risk alone speaks."""
    rng = np.random.default_rng(3)
    n = 160
    data = pd.DataFrame(
        {
            "age": rng.integers(20, 50, n),
            "area": rng.choice(list("abcdef"), n),
            "ill": rng.choice(["no", "yes"], n),
        }
    )
    lax = Policy(threshold=1, zeros_are_disclosive=False, differencing=False, name="lax")
    outputs = document(
        {"name": "fine", "kind": "table", "by": ["age", "area", "ill"]},
        {"name": "coarse", "kind": "table", "by": ["area", "ill"]},
    )
    result = check(
        outputs,
        data,
        keys=["age", "area"],
        sensitive=["ill"],
        key_sizes=(2, 2),
        syntheses=4,
        seed=1,
        workers=1,
        rules=lax,
        mitigate=True,
        proposals=10_000,
        cumulative=cumulative,
    )
    assert result.verdict.word == "excess found"
    plan = result.mitigation
    assert 2 <= len(plan.assessed) <= 4
    assert plan.assessed[0].description == "as they came"
    assert plan.assessed[1].risk < plan.assessed[0].risk
    assert not plan.assessed[-1].risk > 0  # nothing is attributed once it is dropped, if not before
    assert [step.output for step in plan.steps] == ["fine"]
    assert plan.passed == result.mitigated.passed
    assert result.mitigated.verdict.word != "excess found"


TWO_BY_TWO = [[100, 4], [200, 50]]


def loss(trial_of, entry=None, **change):
    trial = trial_of(TWO_BY_TWO, entry or {}, numeric=True)
    before = trial.outputs.outputs[0]
    return loss_of(before, trial.recipe_of(before).changed(**change), trial)


def test_withheld_cells(trial_of):
    one = loss(trial_of, withheld=["0|1"])
    assert (one.share, one.withheld, one.numbers_before, one.numbers_after) == (0.25, 1, 4, 4)
    assert one.records_covered == 0.95  # 350 of 354, in steps of 0.05: what is missing is no count
    assert one.description == "1 of 4 numbers withheld; at least 95% of records covered"


def test_bands(trial_of):
    one = loss(trial_of, groups={"x": [[0, 1]]})
    assert (one.share, one.numbers_after) == (0.5, 2)


def test_rounding_counts_by_how_far_a_number_may_be_off(trial_of):
    one = loss(trial_of, base=10)
    # Printed 100, 0, 200, 50: off by 5 at most, of themselves 0.05, all, 0.025 and 0.1.
    assert one.share == pytest.approx((0.05 + 1 + 0.025 + 0.1) / 4)
    assert one.largest_error == 1.0
    assert "may be off by up to 100.0% of itself" in one.description


def test_the_loss_of_rounding_depends_on_what_is_published_alone(trial_of):
    near = [[102, 3], [199, 54]]  # printed alike
    shares = []
    for counts in (TWO_BY_TWO, near):
        trial = trial_of(counts, numeric=True)
        before = trial.outputs.outputs[0]
        shares.append(loss_of(before, trial.recipe_of(before).changed(base=10), trial).share)
    assert shares[0] == shares[1]


def test_decimals(trial_of):
    entry = {"name": "m", "kind": "mean", "of": "y", "by": ["x"]}
    one = loss(trial_of, entry, decimals=1)
    assert one.decimals == 1
    assert 0 < one.share < 1


def test_a_recipe_that_cannot_be_computed_has_no_loss_and_a_dropped_output_loses_everything(
    trial_of,
):
    assert loss(trial_of, by=["nothing"]) is None
    trial = trial_of(TWO_BY_TWO)
    gone = loss_of_all(trial.outputs.outputs[0], trial)
    assert (gone.share, gone.numbers_before, gone.numbers_after, gone.description) == (
        1.0,
        4,
        0,
        "everything",
    )


def test_mitigations_are_registered_with_what_they_do():
    assert MITIGATIONS.names == (
        "band",
        "top-code",
        "leave out",
        "no ends",
        "round",
        "fewer decimals",
        "suppress",
    )
    assert all(one.sentence for one in MITIGATIONS)


def test_the_rules_are_counted_and_an_output_is_judged_alone_or_beside_others(trial_of):
    trial = trial_of([[20, 30], [1, 15]], {}, {"name": "u", "by": ["x"]})
    output = trial.outputs.outputs[0]
    assert {one.output for one in trial.judge(output)} == {"t", "u"}
    trial.together = False
    report = trial.judge(output)
    assert {one.output for one in report} == {"t"}
    assert trial.asked == 2
    assert not trial.exhausted
    trial.max_asked = 2
    assert trial.exhausted
    assert [one.rule for one in bad_findings(report)] == ["threshold"]
    assert bad_findings(report, "u") == []


def test_a_recipe_that_cannot_be_computed_is_not_assessed(trial_of):
    trial = trial_of([5, 5])
    wrong = trial.outputs.outputs[0].changed(by=["nothing"])
    (one,) = trial.report([wrong])
    assert one.status == "not assessed"


def test_cells_are_those_before_anything_is_withheld(trial_of):
    counts = np.array([[2, 30], [40, 5]])
    trial = trial_of(counts, {"margins": True, "threshold": 10, "base": 5})
    cells = plain_cells(trial.outputs.outputs[0], trial)
    assert cells.names == [
        "a0|b0",
        "a0|b1",
        "a0|All",
        "a1|b0",
        "a1|b1",
        "a1|All",
        "All|b0",
        "All|b1",
        "All|All",
    ]
    assert cells.counts.tolist() == [2, 30, 32, 40, 5, 45, 42, 35, 77]
    mean = trial_of(counts, {"name": "m", "kind": "mean", "of": "y", "by": ["x"]}, numeric=True)
    cells = plain_cells(mean.outputs.outputs[0], mean)
    assert (cells.names, cells.counts.tolist(), cells.counted) == (["0", "1"], [32, 45], False)


def test_whether_a_mitigation_fits_is_seen_by_keys(trial_of):
    table = trial_of([5, 5]).outputs.outputs[0]
    assert has_key(table, "by", "groups")
    assert not has_key(table, "edges")
