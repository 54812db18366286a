"""Heads of pages that are no reports: three questions, and nothing said that was not looked at."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest
from sklearn.tree import DecisionTreeClassifier

from chaffinch.report.attacks import (
    audit_answers,
    audit_page,
    membership_answers,
    singling_out_answers,
)
from chaffinch.report.check import check_answers
from chaffinch.report.evolve import evolve_answers
from chaffinch.report.heads import NOT_TESTED
from chaffinch.report.trees import tree_answers, tree_page
from chaffinch.trees import audit as audit_tree

from .test_accessible import outline
from .test_attacks import audit, membership, rates, singling_out
from .test_check import CASES as CHECKS
from .test_check import CheckResult
from .test_evolve import CASES as EVOLVED
from .test_evolve import EvolveResult


def test_members_are_told_beside_a_guess():
    answers = membership_answers(membership(), "A limit.")
    assert (
        answers[0].sentence
        == "More than a guess: members and others are told apart with AUC 0.800, where a guess has 0.5."
    )
    assert (answers[0].word, answers[2].question, answers[2].sentence) == (
        "excess found",
        NOT_TESTED,
        "A limit.",
    )
    none = membership_answers(membership(pooled=rates(0.5)), "A limit.")
    assert all(answer.picture is not None for answer in none)
    assert singling_out_answers(singling_out(), "A limit.")[0].word in (
        "excess found",
        "no excess found",
    )


def test_an_audit_that_refutes_nothing_is_no_pass():
    assert audit_answers(audit(), "A limit.")[0].word == "not known"
    assert audit_answers(audit(bound=9.0), "A limit.")[0].word == "fail"
    assert (
        audit_answers(audit(bound=9.0), "A limit.")[1].sentence
        == "All bounds together hold with a confidence of 0.99: that is no accident."
    )
    assert "2.3 times epsilon" in audit_answers(audit(), "A limit.")[1].sentence
    assert "<strong>May leave.</strong>" in audit_page(
        audit()
    ) or "<strong>Keep inside.</strong>" in audit_page(audit())


@pytest.mark.parametrize("name", CHECKS)
def test_checks_say_the_worst_and_what_was_not_assessed(name):
    result = CheckResult.from_dict(CHECKS[name])
    answers = check_answers(result, "Rules.", "")
    worst = [row.verdict for row in result.summary]
    assert answers[0].word == next(
        (word for word in ("fail", "not assessed", "review", "pass") if word in worst),
        "not assessed",
    )
    assert ("datasets evolved from them" in answers[2].sentence) is (result.all is None)


def test_evolved_data_saw_no_record():
    result = EvolveResult.from_dict(EVOLVED["one copy"])
    answers = evolve_answers(result, "All reached.", "A limit.")
    assert "no record went into it" in answers[0].sentence
    assert answers[1].sentence == "All reached."


def test_a_tree_that_isolates_says_so_and_counts_stay_small():
    table = pa.table({"a": list(range(200)), "b": [i % 7 for i in range(200)]})
    model = DecisionTreeClassifier(random_state=0).fit(
        table.to_pandas()[["a"]], table["b"].to_pylist()
    )
    found = audit_tree(model, features=["a"])
    page = tree_page(found, None, "t")
    outline(page)
    assert 'class="word word-fail"' in page
    first = tree_answers(found, "Lead.", "", "A limit.", isolating=3, scores=None, isolates=True)[0]
    assert f"fewer than {found.threshold} nodes" in re.sub(r"<[^>]+>", " ", str(first.picture))
