"""The pages on membership, singling out and audits."""

from __future__ import annotations

import json
from dataclasses import fields, replace

import pytest

from chaffinch._base.errors import InputError
from chaffinch.report.attacks import audit_page, membership_page, singling_out_page
from chaffinch.risk.auditing import AuditResult, Skipped
from chaffinch.risk.finding import Finding, Trials
from chaffinch.risk.membership import MembershipResult, Rates
from chaffinch.risk.membership.rates import AtFpr
from chaffinch.risk.membership.result import auc_finding
from chaffinch.risk.singling_out import (
    AttackerSkill,
    Isolation,
    SinglingOutResult,
    nobody_in,
    success_finding,
)

from .conftest import whole_page

PLAN = {
    "shadows": 1000,
    "test_shadows": 500,
    "tables_per_shadow": 4,
    "design": "shared",
    "target_share": "half",
    "access": "blackbox",
    "features": "queries",
    "learner": "linear",
    "combine": "argmax",
    "synthesiser": "BayesNet(parents=3, search='ordering', score=None, epsilon=1.0, delta=None)",
}


def rates(auc, *, few=False):
    at_fpr = (
        AtFpr(0.01, 1.0, 0.2, 0.01, (0.15, 0.25), (0.0, 0.02)),
        AtFpr(0.001, reason="0.1 % needs more."),
    )
    return Rates(
        auc=auc,
        auc_interval=(auc - 0.02, auc + 0.02),
        at_fpr=at_fpr[1:] * 2 if few else at_fpr,
        advantage=0.3,
        advantage_interval=(0.2, 0.4),
        fpr=(0.0, 0.0, 0.1, 0.5, 1.0),
        tpr=(0.0, 0.3, 0.6, 0.9, 1.0),
        shadows=100,
        members=500,
        others=500,
    )


def membership(*, pooled=None, closest=None, parts=(), **more):
    """Return a result as it is read from JSON."""
    pooled, closest = pooled or rates(0.8), closest or rates(0.7)
    both = (("combined", pooled), ("closest", closest))
    result = MembershipResult(
        findings=(
            *(auc_finding(name, one.auc, one.auc_interval, targets=4) for name, one in both),
            *parts,
        ),
        pooled=pooled,
        closest=closest,
        worst=rates(0.9, few=True),
        mean_aucs={part.attacker: part.value - 0.01 for part in parts},
        run={"seconds_of_fits": 1.0},
        **{
            "target_aucs": (0.9, 0.8, 0.75, 0.45),
            "targets": 4,
            "subset_rows": 200,
            "population": 1000,
            "duplicates": "<10",
            "settings": PLAN,
            **more,
        },
    )
    return MembershipResult.from_dict(json.loads(json.dumps(result.to_dict())))


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
    parts = (
        auc_finding("extremes", 0.79, (0.77, 0.81), targets=4),
        auc_finding("my <own>", 0.6, (0.55, 0.65), targets=4),
    )
    html = membership_page(membership(parts=parts))
    assert "How well each part does alone" in html
    assert "The largest and smallest values alone tell them apart with AUC 0.790." in html
    assert "Ranks of the largest and smallest released numbers" in html
    assert "my &lt;own&gt;" in html
    assert "0.770 to 0.810" in html
    assert "0.780" in html
    assert "How well each part does alone" not in membership_page(membership())


def test_membership_of_few_trials_and_one_target_is_drawn():
    few = replace(rates(0.5, few=True), others=5, fpr=(0.0, 1.0), tpr=(0.0, 1.0))
    html = membership_page(membership(pooled=few, closest=few, target_aucs=(0.5,), targets=1))
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
    """Return a result as it is read from JSON."""

    def one(attributes, success):
        ends = (success - 0.05, success + 0.05)
        return Isolation(attributes, success, ends, 0.001, 0.16, 0.2)

    result = SinglingOutResult(
        findings=tuple(
            success_finding(convention, isolation, 0.2, targets=12, releases=1000)
            for convention, isolation in (("linear", one(3, 0.6)), ("closest", one(3, 0.4)))
        ),
        isolations=(one(1, 0.1), one(2, 0.5), one(3, 0.6)),
        closest=one(3, 0.4),
        nobody=0.1,
        releases=1000,
        attributes_that_suffice=2.5,
        skill=AttackerSkill(0.7, 0.5, 0.9),
        targets=12,
        subset_rows=200,
        population=1000,
        duplicates=0,
        settings=PLAN,
    )
    return SinglingOutResult.from_dict(json.loads(json.dumps({**result.to_dict(), **more})))


def test_singling_out_stands_beside_guessing_and_draws_figure_5():
    html = singling_out_page(singling_out())
    text = html.replace("\xa0", " ")
    assert (
        "Somebody was singled out from 60 % of 1,000 releases (95 % interval 55 % to 65 %)" in text
    )
    assert "right in 20 %" in text
    assert "People can be singled out" in text
    assert f"with 12 it is {nobody_in(200, 1000, 12):.3g}" in text
    with pytest.raises(InputError, match="isolations"):
        singling_out(isolations=[])


def audit(bound=0.4):
    """Return an audit as it is read from JSON."""
    result = AuditResult(
        findings=tuple(
            Finding(
                attacker="logistic",
                scope=("narrow", box),
                quantity="epsilon",
                value=value,
                claim=1.0,
                lower_bound=value - 1.0,
                detectable=factor,
                n_people=None,
                trials=Trials(runs=2000, judged=1000, guesses=900, right=500),
            )
            for box, value, factor in (("mechanism", bound, 2.3), ("black", 0.1, None))
        ),
        synthesiser="BayesNet(epsilon=1.0)",
        epsilon=1.0,
        delta=1e-6,
        neighbours="add or remove one record",
        level=0.99,
        level_each=0.995,
        skipped=(Skipped("empty", "the synthesiser refuses <it>"),),
    )
    return AuditResult.from_dict(json.loads(json.dumps(result.to_dict())))


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


CONDITIONAL = {entry.name for entry in fields(Finding) if entry.metadata.get("omit") is not None}
"""Fields of a finding that plain data hold where there is something in them."""


@pytest.mark.parametrize("result", [membership, singling_out, audit])
def test_findings_have_one_form_whatever_was_tried(result):
    """All three results round-trip, and each finding has the same keys."""
    found = result()
    plain = json.loads(json.dumps(found.to_dict()))
    assert type(found).from_dict(plain).to_dict() == plain
    assert type(found).from_dict(plain).findings == found.findings
    assert list(plain)[:3] == ["format", "version", "findings"]
    always = [entry.name for entry in fields(Finding) if entry.name not in CONDITIONAL]
    for finding in plain["findings"]:
        assert [name for name in finding if name not in CONDITIONAL] == [*always, "word"]
        assert set(finding) == set(plain["findings"][0])
    assert len(found.to_pandas()) == len(found.findings)
    with pytest.raises(InputError, match="Measure again, or update Chaffinch"):
        type(found).from_dict({**plain, "version": plain["version"] - 1})
    holed = [{**finding, "value": None} for finding in plain["findings"]]
    with pytest.raises(InputError, match="must have 'value'"):
        type(found).from_dict({**plain, "findings": holed})
