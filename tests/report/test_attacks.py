"""Pages on attacks and audits, from made-up plain data: what they say, what they draw, and what is never on them."""

from __future__ import annotations

import math
import re

import pytest

from chaffinch._base.errors import InputError
from chaffinch._base.svg import Axis
from chaffinch.report.audit import audit_page
from chaffinch.report.curves import Curve, Point, curves, frame, success_figure
from chaffinch.report.membership import membership_page
from chaffinch.report.singling_out import singling_out_page
from chaffinch.risk.auditing import AuditResult
from chaffinch.risk.membership import MembershipResult
from chaffinch.risk.singling_out import SinglingOutResult
from chaffinch.risk.singling_out.chances import nobody_in

PLAN = {
    "shadows": 1000, "tests": 500, "tables": 4, "design": "shared", "share": "half", "box": "blackbox", "features": "queries", "learner": "linear",
    "combine": "argmax", "synthesiser": "BayesNet(parents=3, search='ordering', score=None, epsilon=1.0, delta=None)",
}  # fmt: skip


def rates(auc, *, few=False):
    at = [
        {"level": 0.01, "tpr": 0.2, "tpr_interval": [0.15, 0.25], "fpr": 0.01, "fpr_interval": [0.0, 0.02], "threshold": 1.0, "reason": ""},
        {"level": 0.001, "tpr": None, "tpr_interval": None, "fpr": None, "fpr_interval": None, "threshold": None, "reason": "0.1 % needs more."},
    ]  # fmt: skip
    return {
        "auc": auc, "auc_interval": [auc - 0.02, auc + 0.02], "at": at[1:] * 2 if few else at, "advantage": 0.3, "advantage_interval": [0.2, 0.4],
        "roc": {"fpr": [0.0, 0.0, 0.1, 0.5, 1.0], "tpr": [0.0, 0.3, 0.6, 0.9, 1.0]}, "trials": {"shadows": 100, "members": 500, "others": 500},
        "confidence": 0.95,
    }  # fmt: skip


def membership(**more):
    worst = rates(0.9, few=True)
    worst.pop("roc")
    return MembershipResult.from_dict({
        "format": "chaffinch-membership", "version": 1, "auc": 0.8, "interval": [0.78, 0.82], "direction": "lower is safer", "baseline": 0.5, "above_baseline": True, "pooled": rates(0.8),
        "closest_distance": rates(0.7), "worst_target": worst, "auc_of_targets": [0.9, 0.8, 0.75, 0.45], "targets": 4, "rows": 200,
        "population": 1000, "duplicates_left_out": "<10", "settings": PLAN, "run": {"seconds_of_fits": 1.0}, **more,
    })  # fmt: skip


def singling_out(**more):
    def one(attributes, success):
        return {
            "attributes": attributes, "success": success, "interval": [success - 0.05, success + 0.05], "weight": 0.001, "blind_attacker": 0.16,
            "without_release": 0.2,
        }  # fmt: skip

    return SinglingOutResult.from_dict({
        "format": "chaffinch-singling-out", "version": 1, "success": 0.6, "interval": [0.55, 0.65], "direction": "lower is safer", "baseline": 0.2, "above_baseline": True,
        "nobody_of_targets_in_data": 0.1, "releases": 1000, "targets": 12, "rows": 200, "population": 1000, "duplicates_left_out": 0,
        "closest_distance": one(3, 0.4), "by_attributes": [one(1, 0.1), one(2, 0.5), one(3, 0.6)], "attributes_that_suffice": 2.5,
        "auc_of_attackers": {"mean": 0.7, "least": 0.5, "most": 0.9}, "settings": PLAN, "run": {}, **more,
    })  # fmt: skip


def audit(bound=0.4):
    findings = [
        {"pair": "narrow", "box": box, "verdict": "claim broken" if value > 1 else "not refuted", "bound": value, "epsilon": 1.0, "delta": 0.0, "runs": 2000,
         "test_runs": 500, "detectable": 4.4, "attacker": "linear", "true_positives": 300, "false_positives": 200}
        for box, value in (("white", bound), ("black", 0.1))
    ]  # fmt: skip
    return AuditResult.from_dict({
        "format": "chaffinch-audit", "version": 1, "synthesiser": "BayesNet(epsilon=1.0)", "verdict": "claim broken" if bound > 1 else "not refuted", "bound": bound, "epsilon": 1.0, "delta": 1e-6,
        "neighbours": "add or remove one record", "level": 0.99, "level_each": 0.995, "findings": findings,
        "skipped": [{"pair": "empty", "box": "", "reason": "the synthesiser refuses <it>"}],
    })  # fmt: skip


PAGES = {
    "membership": membership_page(membership()),
    "singling out": singling_out_page(singling_out()),
    "audit": audit_page(audit(2.0)),
}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_whole_and_calls_nobody(name, whole_page):
    html = PAGES[name]
    whole_page(html)
    assert "nan" not in re.sub(r"<style.*?</style>", "", html, flags=re.DOTALL).lower().split()
    assert html.count("<svg") == html.count("</svg>") >= 1


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


def test_membership_of_few_trials_and_one_target_is_drawn():
    few = rates(0.5, few=True)
    few["trials"]["others"] = 5
    few["roc"] = {"fpr": [0.0, 1.0], "tpr": [0.0, 1.0]}
    html = membership_page(membership(pooled=few, closest_distance=few, auc_of_targets=[0.5], targets=1))
    assert html.count("<svg") == 2


def test_the_curve_never_stands_above_itself():
    from chaffinch.report.membership import _stairs

    points = _stairs([0.0, 0.0, 0.1, 0.5, 1.0], [0.0, 0.3, 0.6, 0.9, 1.0], 0.01)
    assert [(p.x, p.y) for p in points] == [(0.01, 0.3), (0.1, 0.3), (0.1, 0.6), (0.5, 0.6), (0.5, 0.9), (1.0, 0.9), (1.0, 1.0)]  # fmt: skip


def test_singling_out_stands_beside_guessing_and_draws_figure_5():
    html = singling_out_page(singling_out())
    text = html.replace("\xa0", " ")
    assert "Somebody was singled out from 60 % of 1,000 releases (95 % interval 55 % to 65 %)" in text
    assert "right in 20 %" in text
    assert "People can be singled out" in text
    assert f"with 12 it is {nobody_in(200, 1000, 12):.3g}" in text
    with pytest.raises(InputError, match="by_attributes"):
        singling_out(by_attributes=[])


def test_an_audit_says_broken_or_not_refuted():
    assert "The claim is broken" in PAGES["audit"]
    assert (
        "Claim broken: epsilon 1, delta 1e-06 (add or remove one record) is claimed, and epsilon is at least 2."
        in PAGES["audit"]
    )
    sound = audit_page(audit())
    assert "The claim is broken" not in sound
    assert "That is no proof." in sound
    assert "the synthesiser refuses &lt;it&gt;" in sound


def rows(*epsilons, names=("sdg", "dpart")):
    return [
        {"synthesiser": name, "epsilon": e, "success": 0.2 + 0.1 * i, "interval": [0.15 + 0.1 * i, 0.25 + 0.1 * i], "baseline": 0.2}
        for name in names for i, e in enumerate(epsilons)
    ]  # fmt: skip


@pytest.mark.parametrize("epsilons", [(0.1, 1, 10, 1000, None), (1.0,), (None,), (0.1, 1000)])
def test_success_against_epsilon_has_a_mark_for_each_row(epsilons):
    drawn = str(success_figure(rows(*epsilons)))
    assert drawn.count("<g><title>") == 2 * len(epsilons)
    assert ("no promise" in drawn) == (None in epsilons)
    assert "a guess: |X| / |D|" in drawn
    assert "nan" not in drawn
    assert "inf" not in drawn


def test_epsilon_stands_on_a_logarithmic_axis():
    drawn = str(success_figure(rows(0.1, 1, 10, names=("one",))))
    across = [float(x) for x in re.findall(r'<circle cx="([\d.]+)"', drawn)[:3]]
    assert across[1] - across[0] == pytest.approx(across[2] - across[1], abs=0.2)


def test_no_line_leads_to_what_has_no_promise():
    drawn = str(success_figure(rows(1, 10, None, names=("one",))))
    blue = re.findall(r'<path d="(M[^"]*)" fill="none" stroke="#0072B2"', drawn)
    assert [path.count("L") for path in blue] == [1, 1]  # two budgets, and the sample in the legend


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: r.clear(), "needs rows"),
        (lambda r: r[0].pop("baseline"), "lacks 'baseline'"),
        (lambda r: r[0].update(epsilon=0), "above 0"),
        (lambda r: r[0].update(epsilon=math.nan), "above 0"),
        (lambda r: r[0].update(baseline=0.1), "several baselines"),
    ],
)
def test_a_figure_that_cannot_be_says_why(change, message):
    wrong = rows(1, 10)
    change(wrong)
    with pytest.raises(InputError, match=message):
        success_figure(wrong)


def test_names_of_lines_are_escaped():
    (left, right), (bottom, top) = frame()
    line = Curve("<b>&", (Point(0, 0), Point(1, 1, 0.5, 1.0)))
    drawn = str(
        curves("k", "t", "d", [line], across=Axis(0, 1, left, right), up=Axis(0, 1, bottom, top), labels=("x", "y"))
    )
    assert "<b>" not in drawn
    assert "&lt;b&gt;&amp;" in drawn
