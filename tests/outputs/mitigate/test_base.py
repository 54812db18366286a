"""A trial asks the rules and counts how often; the cells of an output are those before anything is withheld."""

from __future__ import annotations

import numpy as np

from chaffinch.outputs.mitigate import MITIGATIONS
from chaffinch.outputs.mitigate.base import bad_findings, has_key, plain_cells


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
    trial.most = 2
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
