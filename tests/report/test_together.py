"""Several releases on a page."""

from __future__ import annotations

from dataclasses import replace

from chaffinch._base.results import to_plain
from chaffinch.report.risk import joint_blocks
from chaffinch.risk.attribution.result import CrossFit, RiskAbout, RiskResult
from chaffinch.risk.attribution.together import JointFinding, Together
from chaffinch.stats.family import Family

FINDING = JointFinding(
    kind="test",
    measure="exact_row",
    value=0.08,
    holdout=0.0,
    excess=0.08,
    alone=(0.02, None),
    added=0.06,
    added_interval=(0.04, 0.08),
    added_p=0.001,
    added_p_family=0.002,
)
JOINT = Together(tables=2, names=("a.csv", "b.csv"), model_rows=5000, findings=(FINDING,))
RESULT = RiskResult(about=RiskAbout(), attacks=(), family=Family(), together=JOINT)


def test_the_page_says_what_further_releases_add() -> None:
    words = str(to_plain(list(joint_blocks(RESULT))))
    for part in (
        JOINT.sentence,
        "a.csv, b.csv",
        "as 5,000 rows drawn from it",
        "Exact row",
        "+0.020, masked",
        "+0.060",
        "somebody who looks for what differs",
    ):
        assert part in words


def test_one_release_has_no_section() -> None:
    assert list(joint_blocks(replace(RESULT, together=None))) == []


def test_the_cross_fit_is_shown_where_it_has_an_excess() -> None:
    result = replace(
        RESULT,
        together=Together(tables=2, reason="No holdout."),
        cross_fit=CrossFit(together=JOINT),
    )
    assert JOINT.sentence in str(to_plain(list(joint_blocks(result))))
