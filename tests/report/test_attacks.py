"""The page on membership."""

from __future__ import annotations

import pytest

from chaffinch._base.errors import InputError
from chaffinch.report.attacks import audit_page, membership_page, singling_out_page
from chaffinch.risk.auditing import AuditResult
from chaffinch.risk.membership import MembershipResult
from chaffinch.risk.singling_out import SinglingOutResult, nobody_in

from .conftest import whole_page

PLAN = {
    "shadows": 1000,
    "tests": 500,
    "tables": 4,
    "design": "shared",
    "share": "half",
    "box": "blackbox",
    "features": "queries",
    "learner": "linear",
    "combine": "argmax",
    "synthesiser": "BayesNet(parents=3, search='ordering', score=None, epsilon=1.0, delta=None)",
}


def rates(auc, *, few=False):
    at = [
        {
            "level": 0.01,
            "tpr": 0.2,
            "tpr_interval": [0.15, 0.25],
            "fpr": 0.01,
            "fpr_interval": [0.0, 0.02],
            "threshold": 1.0,
            "reason": "",
        },
        {
            "level": 0.001,
            "tpr": None,
            "tpr_interval": None,
            "fpr": None,
            "fpr_interval": None,
            "threshold": None,
            "reason": "0.1 % needs more.",
        },
    ]
    return {
        "auc": auc,
        "auc_interval": [auc - 0.02, auc + 0.02],
        "at": at[1:] * 2 if few else at,
        "advantage": 0.3,
        "advantage_interval": [0.2, 0.4],
        "roc": {"fpr": [0.0, 0.0, 0.1, 0.5, 1.0], "tpr": [0.0, 0.3, 0.6, 0.9, 1.0]},
        "trials": {"shadows": 100, "members": 500, "others": 500},
        "confidence": 0.95,
    }


def membership(**more):
    worst = rates(0.9, few=True)
    worst.pop("roc")
    return MembershipResult.from_dict(
        {
            "format": "chaffinch-membership",
            "version": 1,
            "auc": 0.8,
            "interval": [0.78, 0.82],
            "direction": "lower is safer",
            "baseline": 0.5,
            "above_baseline": True,
            "pooled": rates(0.8),
            "closest_distance": rates(0.7),
            "worst_target": worst,
            "auc_of_targets": [0.9, 0.8, 0.75, 0.45],
            "targets": 4,
            "rows": 200,
            "population": 1000,
            "duplicates_left_out": "<10",
            "settings": PLAN,
            "run": {"seconds_of_fits": 1.0},
            **more,
        }
    )


def test_membership_says_whether_it_can_be_told():
    html = membership_page(membership())
    assert "Membership can be told from what is released." in html
    assert "AUC 0.800 (95 % interval 0.780 to 0.820)" in html
    assert "0.200 (0.150 to 0.250)" in html
    assert "too few trials: 0.1 % needs more." in html
    assert "&lt;10" in html
    assert "BayesNet(parents=3, search=&#39;ordering&#39;, epsilon=1.0)" in html
    quiet = membership_page(membership(pooled=rates(0.51)))
    assert "Membership can be told" not in quiet
    assert "No more was found than guessing gives." in quiet


def test_parts_are_on_the_page():
    parts = [
        {
            "name": "extremes",
            "auc": 0.79,
            "interval": [0.77, 0.81],
            "mean_auc": 0.78,
            "evidence": "the largest and smallest values",
        },
        {
            "name": "my own",
            "auc": 0.6,
            "interval": [0.55, 0.65],
            "mean_auc": 0.61,
            "evidence": "this & that",
        },
    ]
    html = membership_page(membership(parts=parts))
    assert "How well each part does alone" in html
    assert "The largest and smallest values alone tell them apart with AUC 0.790." in html
    assert "this &amp; that" in html
    assert "0.770 to 0.810" in html
    assert "How well each part does alone" not in membership_page(membership())


def test_membership_of_few_trials_and_one_target_is_drawn():
    few = rates(0.5, few=True)
    few["trials"]["others"] = 5
    few["roc"] = {"fpr": [0.0, 1.0], "tpr": [0.0, 1.0]}
    html = membership_page(
        membership(pooled=few, closest_distance=few, auc_of_targets=[0.5], targets=1)
    )
    assert html.count("<svg") == 2 + 2  # two in the head: too few trials for true positives


def test_the_curve_never_stands_above_itself():
    from chaffinch.report.attacks import _stairs

    points = _stairs([0.0, 0.0, 0.1, 0.5, 1.0], [0.0, 0.3, 0.6, 0.9, 1.0], 0.01)
    assert [(p.x, p.y) for p in points] == [
        (0.01, 0.3),
        (0.1, 0.3),
        (0.1, 0.6),
        (0.5, 0.6),
        (0.5, 0.9),
        (1.0, 0.9),
        (1.0, 1.0),
    ]


def singling_out(**more):
    def one(attributes, success):
        return {
            "attributes": attributes,
            "success": success,
            "interval": [success - 0.05, success + 0.05],
            "weight": 0.001,
            "blind_attacker": 0.16,
            "without_release": 0.2,
        }

    return SinglingOutResult.from_dict(
        {
            "format": "chaffinch-singling-out",
            "version": 1,
            "success": 0.6,
            "interval": [0.55, 0.65],
            "direction": "lower is safer",
            "baseline": 0.2,
            "above_baseline": True,
            "nobody_of_targets_in_data": 0.1,
            "releases": 1000,
            "targets": 12,
            "rows": 200,
            "population": 1000,
            "duplicates_left_out": 0,
            "closest_distance": one(3, 0.4),
            "by_attributes": [one(1, 0.1), one(2, 0.5), one(3, 0.6)],
            "attributes_that_suffice": 2.5,
            "auc_of_attackers": {"mean": 0.7, "least": 0.5, "most": 0.9},
            "settings": PLAN,
            "run": {},
            **more,
        }
    )


def test_singling_out_stands_beside_guessing_and_draws_figure_5():
    html = singling_out_page(singling_out())
    text = html.replace("\xa0", " ")
    assert (
        "Somebody was singled out from 60 % of 1,000 releases (95 % interval 55 % to 65 %)" in text
    )
    assert "right in 20 %" in text
    assert "People can be singled out" in text
    assert f"with 12 it is {nobody_in(200, 1000, 12):.3g}" in text
    with pytest.raises(InputError, match="by_attributes"):
        singling_out(by_attributes=[])


def audit(bound=0.4):
    findings = [
        {
            "pair": "narrow",
            "box": box,
            "verdict": "claim broken" if value > 1 else "not refuted",
            "measure": "epsilon",
            "bound": value,
            "claim": 1.0,
            "runs": 2000,
            "test_runs": 1000,
            "guesses": 900,
            "right": 500,
            "factor": factor,
            "attacker": "linear",
        }
        for box, value, factor in (("mechanism", bound, 2.3), ("black", 0.1, None))
    ]
    return AuditResult.from_dict(
        {
            "format": "chaffinch-audit",
            "version": 2,
            "synthesiser": "BayesNet(epsilon=1.0)",
            "verdict": "claim broken" if bound > 1 else "not refuted",
            "lead": "",
            "epsilon": 1.0,
            "delta": 1e-6,
            "neighbours": "add or remove one record",
            "level": 0.99,
            "level_each": 0.995,
            "findings": findings,
            "skipped": [{"pair": "empty", "box": "", "reason": "the synthesiser refuses <it>"}],
        }
    )


def test_an_audit_says_broken_or_not_refuted():
    html = audit_page(audit(2.0))
    assert "The claim is broken" in html
    assert (
        "Claim broken: epsilon 1.0, delta 1e-06 (add or remove one record) is claimed, and epsilon is at least 2."
        in html
    )
    sound = audit_page(audit())
    assert "The claim is broken" not in sound
    assert "That is no proof" in sound
    assert (
        "A true epsilon of 2.3 times the claim would have been found with a probability of 80 %"
        in sound
    )
    assert "hardly any violation" in sound
    assert "the synthesiser refuses &lt;it&gt;" in sound


@pytest.mark.parametrize(
    "page",
    [
        lambda: membership_page(membership()),
        lambda: singling_out_page(singling_out()),
        lambda: audit_page(audit(2.0)),
    ],
)
def test_a_page_is_whole_and_calls_nobody(page):
    html = page()
    assert "<svg" in html
    whole_page(html.replace("=None", ""))  # settings of the synthesiser, as they are printed
