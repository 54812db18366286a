"""The page on membership."""

from __future__ import annotations

from chaffinch.report.attacks import membership_page
from chaffinch.risk.membership import MembershipResult

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


def test_a_page_is_whole_and_calls_nobody(whole_drawing):
    whole_drawing(membership_page(membership()))


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
