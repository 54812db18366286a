"""Results of a check: what leaves, by which threshold, and back from plain data."""

import json
import re

import pytest

from chaffinch.errors import InputError
from chaffinch.outputs.check import CheckResult

JOINT = {"name": "joint", "kind": "table", "by": ["a", "b", "c", "y"]}
MARGIN = {"name": "margin", "kind": "table", "by": ["a", "b", "c"]}
PLAIN = {"name": "plain", "kind": "table", "by": ["y"]}


def test_what_leaves_holds_no_class(checked):
    found = checked(JOINT)
    names = re.compile(r"\b[abcy]\d\b")  # of levels
    assert not names.search(json.dumps(found.to_dict()))
    assert names.search(json.dumps(found.confidential()))


def test_counts_follow_the_threshold(checked):
    found = checked(JOINT, threshold=500)
    assert (found.records, found.exposed_classes) == ("<500", "<500")
    assert checked(JOINT, threshold=7).records == 238


def test_results_come_back_from_plain_data(checked):
    found = checked(
        PLAIN,
        JOINT,
        fold_of_fold=True,
        whole_runs=2,
        error_line=False,
        leave_one_out="always",
        released=[MARGIN],
    )
    plain = json.loads(json.dumps(found.to_dict()))
    again = CheckResult.from_dict(plain)
    assert again.to_dict() == plain
    assert again.passed == found.passed
    assert again.all.measures[0].excess
    for wrong, words in (
        ({}, "must be of format"),
        ({**plain, "all": {}}, "'all'"),
        ({**plain, "version": 2}, "version 1"),
    ):
        with pytest.raises(InputError, match=words):
            CheckResult.from_dict(wrong)
