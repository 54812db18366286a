"""What one decides by, in words."""

from __future__ import annotations

import re
from dataclasses import replace
from html import escape

import pyarrow as pa
import pytest

import chaffinch
from chaffinch.report.decision import (
    NO_ATTACK,
    Decision,
    answers_of,
    decision_of,
    gives_away,
    good_for,
    headline_of,
    not_tested,
)
from chaffinch.report.heads import (
    GIVES_AWAY,
    GOOD_FOR,
    NOT_TESTED,
    DecisionFigure,
    TestedLine,
    bars_picture,
    dots_picture,
    looks_picture,
)
from chaffinch.report.promise import TEST_ONLY
from chaffinch.report.release import render
from chaffinch.report.result import report_of
from chaffinch.risk.attacker import plan_attackers
from chaffinch.risk.finding import Finding
from chaffinch.risk.result import AttackedTable, RiskAbout, RiskResult
from chaffinch.risk.verdict import LimitVerdict, limit_verdict
from chaffinch.stats.familywise import FamilywiseTest
from chaffinch.stats.intervals import LimitState
from chaffinch.utility import VerdictRow

from .test_promise import account, synthesis

ROWS = (
    VerdictRow(id="mu", measure="mu", value=0.1, word="close", sentence="Pairs are kept."),
    VerdictRow(id="delta", measure="delta", word="not applicable", sentence="No label."),
)
OVER = LimitVerdict(max_excess=0.01, state=LimitState.EXCEEDS, lower_bound=0.02, attacks=1)


def decided(*findings: Finding, holdout: bool = True, **more: object) -> Decision:
    """Return the decision of a report on a measure that is close and one that does not apply, and of what attacks found."""
    about = replace(HELD, holdout=AttackedTable(100) if holdout else None)
    report = report_of(title="t", risk=study(*findings, about=about, **more))
    return decision_of(replace(report, rows=ROWS))


def test_nothing_is_weighed_and_what_is_missing_is_said():
    decision = decided(holdout=False)
    assert [row.id for row in decision.good_for] == ["mu"]
    assert "No label." in decision.not_tested
    assert any("name keys" in sentence for sentence in decision.not_tested)
    assert "The limit" not in str(decision)
    assert (decision.allowed, "limit" in decision.to_dict()) == (None, False)
    assert "mu: close. Pairs are kept." in str(decision)


def test_a_study_in_which_nothing_was_tried_is_no_test(study_of):
    assert decided(holdout=False).not_tested[0] == NO_ATTACK
    unattacked = decision_of(report_of(study_of(6), title="t"))
    assert unattacked.not_tested[0] == NO_ATTACK
    assert unattacked.gives_away == ()
    assert NO_ATTACK in str(unattacked)


def test_attacks_and_a_policy_have_their_say():
    vote = replace(LOW, sensitive="<vote>")
    decision = decided(vote, policy=OVER.to_dict())
    assert decision.gives_away == (vote.sentence, study(vote).sentence)
    assert str(decision).startswith("The limit\n- EXCEEDS THE LIMIT: ")
    assert decision.allowed is False
    assert decision.to_dict()["limit"]["state"] == "exceeds"
    assert "&lt;vote&gt;" in decision._repr_html_()
    assert not any("holdout" in sentence for sentence in decision.not_tested)


def test_without_keys_the_tests_of_whole_records_speak_and_attacks_are_missed():
    plan = plan_attackers(())
    about = replace(HELD, keys=(), sensitive=(), left_out=plan.left_out)
    decision = decision_of(report_of(title="t", risk=study(COPY, about=about)))
    assert decision.gives_away == (COPY.sentence, study(COPY).sentence)
    told = " ".join(decision.not_tested)
    for words in (
        "Not run: attacks by matching keys, attacks by learning. This needs columns that an outsider knows and a sensitive column (--keys, --sensitive).",
        "Not run: membership inference and singling out by shadow models. This needs the synthesiser, to fit it to subsets of the people (chaffinch attack).",
    ):
        assert words in told
    # Each is said once: what needs something that is not there is not left out to be quick.
    assert not any("attacks by learning" in note for note in decision.answers[2].notes)


def test_of_tests_those_with_an_excess_have_a_sentence_of_many_key_sets_the_worst():
    quiet = replace(COPY, attacker="k_map", p_family=0.6)
    other = replace(LOW, keys=("age",), excess=0.02)
    crossed = RiskResult(findings=(quiet, replace(COPY, value=0.03)), family=KNOWN)
    decision = decided(LOW, other, quiet, COPY, cross_fit=crossed)
    assert decision.gives_away == (
        replace(other, key_sets=2).sentence,
        COPY.sentence,
        replace(COPY, value=0.03).sentence,
        study(LOW, other, quiet, COPY).sentence,
        crossed.sentence,
    )


def test_a_report_carries_its_decision(study_of, risk_of):
    report = report_of(study_of(6), title="t", risk=risk_of())
    decision = decision_of(report)
    plain = report.to_dict()["decision"]
    assert [part["question"] for part in plain["answers"]] == [GIVES_AWAY, GOOD_FOR, NOT_TESTED]
    assert [part["sentence"] for part in plain["answers"]] == [
        part.sentence for part in decision.answers
    ]
    assert plain["answers"][1]["figures"][0]["value"] == decision.answers[1].figures[0].value
    page = render(report).replace("\xa0", " ")
    assert all(
        escape(part.sentence.replace("\xa0", " "), quote=False)[:60] in page
        for part in decision.answers
    )
    assert str(decision).startswith("To decide by")


def test_a_strangers_decision_is_not_believed(study_of):
    plain = report_of(study_of(6), title="t").to_dict()
    plain["decision"] = {"answers": [{"question": "?", "sentence": "All is safe."}]}
    assert "All is safe" not in render(plain)


def test_no_page_calls_a_table_safe(study_of, risk_of):
    for given in ({}, {"holdout": False}, {"holdout": False, "extras": False}):
        for part in decision_of(report_of(study_of(6), title="t", risk=risk_of(**given))).answers:
            assert not re.search(r"\bsafe\b|\bscore of\b", part.sentence)


LOW = Finding(
    attacker="dcap",
    sensitive="ill",
    keys=("age", "sex"),
    value=0.62,
    interval=(0.6, 0.64),
    holdout=0.61,
    guess=0.47,
    original=0.9,
    excess=0.01,
    p_family=0.4,
    detectable=0.03,
)
HIGH = replace(LOW, sensitive="pay", value=0.7, holdout=0.6, excess=0.1, p_family=0.001)
COPY = Finding(attacker="exact_row", value=0.02, holdout=0.01, excess=0.01, p_family=0.001)
HELD = RiskAbout(holdout=AttackedTable(100), keys=("age", "sex"), sensitive=("ill",))
KNOWN = FamilywiseTest(p_value=0.4, adjusted=(0.4,), lower=(-0.01,))


def study(
    *findings: Finding, about: RiskAbout = HELD, family: FamilywiseTest = KNOWN, **more: object
) -> RiskResult:
    return RiskResult(about=about, findings=findings, family=family, **more)


def said(risk: RiskResult | None) -> str:
    return gives_away(report_of(title="t", risk=risk)).sentence.replace("\xa0", " ")


def test_no_excess_is_told_with_its_references():
    part = gives_away(report_of(title="t", risk=study(LOW)))
    assert part.word == "no excess found"
    assert {one.name: one.value for one in part.figures} == {
        "guess": 0.47,
        "people not in the data": 0.61,
        "people in the data": 0.62,
        "from the original itself": 0.9,
        "detectable excess": 0.03,
    }
    assert (
        "is right for 62 % of the people in the data and 61 % of people who are not, an excess of +0.010 (p = 0.4, "
        in said(study(LOW))
    )
    assert said(study(LOW)).endswith("; a guess is right for 47 %.")
    assert "0.03 is found four times out of five" in part.notes[0]


def test_an_excess_leads_whatever_stands_before_it():
    assert headline_of(study(LOW, HIGH)).finding.value == 0.7
    assert said(study(LOW, HIGH)).startswith("More about its own people than about others: ")
    assert "an excess of +0.100" in said(study(LOW, HIGH))
    risk = study(LOW, HIGH)
    part = gives_away(
        report_of(
            title="t",
            risk=replace(
                risk,
                policy=limit_verdict(
                    replace(risk, family=replace(KNOWN, lower=(0.05, 0.0))), 0.01
                ).to_dict(),
            ),
        )
    )
    assert part.notes[0].startswith(
        "EXCEEDS THE LIMIT: an excess of at most 0.01 is allowed, and the largest excess of 2 attacks is above 0.05 "
    )
    assert part.notes[1:] == ("An excess was found by 1 of 2 attacks on columns.",)


def test_a_test_of_whole_records_leads_where_it_alone_found_something():
    risk = study(LOW, COPY)
    assert said(risk) == (
        "More about its own people than about others: the whole row is in the released table for 2 % of the people in the data, and for 1 % "
        "of people who are not, an excess of +0.010 (p = 0.001, adjusted for all attacks and tests)."
    )


def test_the_strongest_of_all_findings_leads_be_it_attack_or_test():
    weak = replace(HIGH, excess=0.026, p_family=0.03)
    pairs = Finding(
        attacker="rare_combination",
        value=0.719,
        holdout=0.565,
        excess=0.154,
        excess_interval=(0.05, 0.25),
        p_family=0.007,
        lower_bound=-0.01,
        detectable=0.1,
    )
    family = FamilywiseTest(
        p_value=0.007, strongest=1, adjusted=(0.03, 0.007), lower=(-0.02, -0.01)
    )
    risk = study(weak, pairs, family=family)
    assert headline_of(risk).finding == pairs
    assert (
        "an excess of +0.154 (95 % interval 0.05 to 0.25; p = 0.007, adjusted for all attacks and tests)"
        in said(risk)
    )
    plain = risk.to_dict()["headline"]
    assert (
        plain["number"],
        plain["cross_fit"],
        plain["title"],
        plain["excess"],
        plain["word"],
    ) == (1, False, pairs.about.title, 0.154, "excess found")
    assert plain.items() >= risk.to_dict()["findings"][1].items()
    assert RiskResult.from_dict(risk.to_dict()).headline == pairs
    # without an excess found the nearest to one is a test, too
    near = study(
        LOW,
        replace(pairs, p_family=0.2),
        family=replace(family, p_value=0.2, adjusted=(0.4, 0.2)),
    )
    assert headline_of(near).finding.attacker == "rare_combination"
    assert said(near).startswith("No excess was found by 1 attack and 1 test; nearest to one: ")
    # one that is about few people leads by its p-value alone
    few = study(
        LOW,
        replace(pairs, value=None, holdout=None, excess=None, excess_interval=None, reason="Few."),
        family=family,
    )
    assert "(p = 0.007, adjusted for all attacks and tests)" in said(few)
    masked = study(
        replace(HIGH, value=None, holdout=None, guess=None, excess=None, reason="It is about few."),
        family=replace(family, strongest=0),
    )
    assert "DCAP on pay knowing age, sex: it is about few (p = 0.001" in said(masked)
    # and counts as an attack with an excess, alone too
    for risk, words in (
        (masked, "1 of 1 attack on columns"),
        (few, "0 of 1 attack on columns and 1 of 1 test of whole records"),
    ):
        part = gives_away(report_of(title="t", risk=risk))
        assert part.word == "excess found"
        assert part.notes == (f"An excess was found by {words}.",)


def test_singling_out_is_told_as_it_was_tested():
    one, several = (
        Finding(attacker=name, value=0.02, holdout=0.01, p_family=0.4)
        for name in ("singled_out", "singled_out_by_several")
    )
    for tests, state, words in (
        ((one, several), "yes", "2 of 2 made"),
        ((one, replace(several, value=None, p_family=None)), "part", "1 of 2 made"),
        ((replace(one, value=None, p_family=None),), "no", "0 of 1 made"),
        ((COPY,), "no", "not tested here"),
    ):
        decision = decision_of(report_of(title="t", risk=study(LOW, *tests)))
        line = next(look for look in decision.answers[2].looks if look.what == "Singling out")
        assert (line.state, line.detail) == (state, words)
        assert ("singling out" in decision.answers[2].sentence) == (state == "no")


def test_without_a_holdout_the_halves_lead():
    alone = replace(LOW, holdout=None, excess=None, p_family=None, detectable=None)
    bare = replace(HELD, holdout=None)
    assert "is not known, for want of people who are not" in said(
        study(alone, about=bare, family=FamilywiseTest(reason="no holdout"))
    )
    crossed = RiskResult(findings=(HIGH,), family=KNOWN)
    with_halves = study(
        alone, about=bare, family=FamilywiseTest(reason="no holdout"), cross_fit=crossed
    )
    assert said(with_halves).startswith(
        "More about its own people than about others (from models of half the people, for want of a holdout): "
    )
    look = {one.what: one.state for one in not_tested(report_of(title="t", risk=with_halves)).looks}
    assert look["People who are not in the data"] == "part"


def test_no_attack_that_could_be_made_is_no_pass():
    risk = study(
        Finding(attacker="dcap", sensitive="ill", reason="No key is in both tables."),
        family=FamilywiseTest(reason="none"),
    )
    part = gives_away(report_of(title="t", risk=risk))
    assert (part.word, part.figures) == ("not assessed", ())
    assert (
        part.sentence == "Not known: no attack and no test could be made: No key is in both tables."
    )
    looks = {one.what: one.state for one in not_tested(report_of(title="t", risk=risk)).looks}
    assert looks["Attacks on columns"] == "no"


def test_what_was_not_measured_is_not_told_as_good(study_of, risk_of):
    assert said_of_worth(report_of(title="t", risk=risk_of())).startswith("Not measured: ")
    assert gives_away(report_of(study_of(3), title="t")).sentence.startswith("Not tested: ")


def said_of_worth(report) -> str:
    return good_for(report).sentence.replace("\xa0", " ")


def test_four_measures_from_independent_columns_to_a_fresh_sample(study_of):
    part = good_for(report_of(study_of(15), title="t"))
    assert len(part.figures) == 4
    assert part.scale == ("independent columns", "a fresh sample")
    two = part.figures[0]
    assert two.value == pytest.approx(
        (0.12 - 0.034) / (0.12 - 0.021)
    )  # worked out by hand from the made-up study
    assert (
        good_for(report_of(study_of(15, holdout=False), title="t")).scale[1] == "an identical table"
    )


def test_what_was_left_out_to_be_quick_stands_in_the_box():
    table = pa.table({"a": ["x", "y"] * 60, "b": ["p", "q", "r"] * 40})
    decision = decision_of(
        report_of(chaffinch.utility(table, table, measures=["tvd"], seed=1), title="t")
    )
    assert (
        decision.answers[2].notes == ()
    )  # measures were named: nothing was left out for want of time
    quick = decision_of(report_of(chaffinch.utility(table, table, label="b", seed=1), title="t"))
    assert "--thorough" in quick.answers[2].notes[0]
    assert quick.answers[2].notes[0] in quick.not_tested


def test_one_column_has_no_relations_to_speak_of():
    table = pa.table({"id": [f"person {i}" for i in range(100)], "age": [1, 2, 3, 4] * 25})
    result = chaffinch.utility(table, table, measures=["jensen_shannon", "tvd", "phi_k"], seed=1)
    part = good_for(report_of(result, title="t"))
    assert part.figures == ()
    assert "close" in part.sentence
    assert "relation" not in part.sentence


def third(study, made: dict | None) -> tuple[str, str, str]:
    part = decision_of(report_of(study, title="t", synthesis=made)).answers[2]
    return part.sentence, part.looks[0].state, part.looks[0].detail


def test_promises_are_told_and_seeds_void_them(study_of):
    study = study_of(2)
    assert third(study, None)[1:] == ("no", "none is known of")
    assert third(study, synthesis(None))[0].startswith("No formal promise: ")
    assert third(study, synthesis(account(delta=None)))[1:] == ("yes", "epsilon 1")
    sentence, state, words = third(study, synthesis(account(delta=None, test_only=True)))
    assert sentence.startswith(TEST_ONLY.rstrip("."))
    assert (state, words) == ("no", "test only: none")
    kept = third(study, synthesis(account(delta=None), kept=["a"]))
    assert (kept[0].startswith("NO PROMISE FOR THIS TABLE"), kept[1]) == (True, "no")


def test_an_excess_that_no_rates_can_have_is_not_called_detectable(risk_of):
    """Two rates differ by 1 at most: with so few people that 1.5 would be needed nothing is detectable, and the page says that."""
    risk = risk_of(extras=False)
    for attack in risk["findings"]:
        attack["detectable"] = 1.5
    report = report_of(title="", risk=risk)
    part = gives_away(report)
    assert part.word == "no excess found"
    assert (
        part.notes[0]
        == "That is no proof of none: with so few people this attack finds no excess of any size four times out of five."
    )
    assert "detectable excess" not in [figure.name for figure in part.figures]
    page = render(report)
    assert "none of any size" in page
    assert "1.5" not in re.sub(r"<style>.*?</style>|<svg.*?</svg>", "", page, flags=re.DOTALL)


def test_three_answers_each_with_a_picture(study_of, risk_of):
    answers = answers_of(decision_of(report_of(study_of(6), title="t", risk=risk_of())))
    assert len(answers) == 3
    assert all(answer.picture is not None and "<desc" in answer.picture for answer in answers)


def test_what_was_not_measured_has_no_picture(study_of, risk_of):
    assert [
        answer.picture is None
        for answer in answers_of(decision_of(report_of(study_of(6), title="t")))
    ] == [True, False, False]
    assert [
        answer.picture is None
        for answer in answers_of(decision_of(report_of(title="t", risk=risk_of())))
    ] == [False, True, False]


def test_dots_stand_where_their_values_are():
    figures = (
        DecisionFigure("guess", 0.0),
        DecisionFigure("people not in the data", 0.5),
        DecisionFigure("people in the data", 1.0, (0.9, 1.0)),
    )
    drawn = dots_picture("k", "t", (*figures, DecisionFigure("detectable excess", 0.25)))
    first = float(re.search(r"<title>guess.*?M([\d.]+) ", drawn)[1])
    middle = (
        float(re.search(r"<title>people not.*?M([\d.]+) ", drawn)[1]) + 4.5
    )  # a square starts at its left edge
    last = float(re.search(r'<title>people in the.*?cx="([\d.]+)"', drawn)[1])
    assert abs((first + last) / 2 - middle) < 0.2
    band = re.search(r'<rect x="([\d.]+)" y="8" width="([\d.]+)"', drawn)
    assert abs(float(band[1]) - middle) < 0.2
    assert abs(float(band[2]) - (last - first) / 4) < 0.2


def test_bars_end_where_their_shares_are():
    drawn = bars_picture(
        "k",
        "t",
        (DecisionFigure("a", 0.5, (0.25, 0.75), "weak"), DecisionFigure("b", 1.0)),
        ("none", "all"),
    )
    half, whole = (
        float(width) for width in re.findall(r'width="([\d.]+)" height="11" fill="#0072B2"', drawn)
    )
    assert half * 2 == whole
    assert "a: weak" in drawn


def test_what_was_looked_at_is_told_by_shape_too():
    drawn = looks_picture(
        "k",
        "t",
        (TestedLine("a", "yes", "x"), TestedLine("b", "no", "y"), TestedLine("c", "part", "<z>")),
    )
    shapes = {re.sub(r"[\d. ]+", "", path) for path in re.findall(r'<path d="([^"]+)"', drawn)}
    assert len(shapes) == 3
    assert "&lt;z&gt;" in drawn
