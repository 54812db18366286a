"""Attacks in a report: words by the rules, sentences by hand, pages that nothing breaks, and two reports compared."""

from __future__ import annotations

import copy
import json
import re
from dataclasses import replace

import pytest

import chaffinch
from chaffinch._base.results import to_plain
from chaffinch.report.compare import compare
from chaffinch.report.release import render
from chaffinch.report.result import report_of
from chaffinch.report.risk import (
    joint_blocks,
    memorisation_blocks,
    risk_sections,
    risk_verdict_section,
)
from chaffinch.report.sections import Details, Figure, Heading, Listing, PageTable, Paragraph
from chaffinch.report.text import CROSS_FIT_LINE, DETECTABLE_LINE, EXCESS_LINE
from chaffinch.risk.attacker import memorisation_tests
from chaffinch.risk.attribution.result import CrossFit, RiskAbout, RiskResult
from chaffinch.risk.attribution.together import JointFinding, Together
from chaffinch.risk.finding import Finding
from chaffinch.stats.familywise import Family

from .conftest import HOSTILE, Page, whole_page


def look(report) -> Page:
    """Return the parts of a rendered report, after what every page must keep to."""
    html = render(report)
    assert html == render(json.loads(json.dumps(report.to_dict(), allow_nan=False)))
    assert len(html.encode()) < 2_000_000
    return whole_page(html)


# The page.


def test_cross_fit_speaks_in_the_verdict_where_there_is_no_holdout(risk_of):
    study = risk_of(holdout=False)
    rows = {row.id: row for row in RiskResult.from_dict(study).verdict}
    assert rows["family"].words == "not known: no holdout"
    assert rows["cross_fit"].word == "excess found"
    said = look(report_of(title="t", risk=study)).said()
    assert "All attacks together, cross-fit: excess found." in said
    assert "models of half the size" in said


def test_both_studies_make_one_page(study_of, risk_of):
    report = report_of(study_of(6), title="t", risk=risk_of(sizes=(4, 5)))
    data = report.to_dict()
    assert set(data) == {
        "format",
        "version",
        "title",
        "about",
        "synthesis",
        "utility",
        "risk",
        "decision",
        "verdict",
        "run",
    }
    assert {row["section"] for row in data["verdict"]} == {"utility", "risk"}
    assert data["run"]["date"] == "2025-11-15 09:00 UTC"
    assert set(data["run"]["seconds"]) == {"phi_k", "synthetic"}
    found = look(report)
    order = [
        key
        for key in found.ids
        if key in ("verdict", "risk-verdict", "where", "risk-attacks", "limits")
    ]
    assert order == ["verdict", "risk-verdict", "where", "risk-attacks", "limits"]
    said = found.said().replace("\xa0", " ")
    for words in (
        "no privacy verdict",
        "Read the risk sections",
        "TCAP by convention",
        "matched_rows (used here)",
        "hidden: fewer than 10 records",
        "membership",
        "Several releases",
        "Taub",
        "Raab",
        "appendix A",
        "Elliot 2014",
        "for whom the synthetic table is certain",
        "<10",
        "Mean and largest value over sets of keys",
        "3.1 % of the synthetic rows equal a row of the original.",
    ):
        assert words in said, words
    assert "Sensitive column: relationship" in said


def test_risk_alone_makes_a_page(risk_of):
    report = report_of(title="t", risk=risk_of(holdout=False, extras=False))
    assert "utility" not in report.to_dict()
    found = look(report)
    said = found.said()
    assert "Holdout none given: no excess can be stated" in said
    assert "no excess found" not in re.sub(r"The words of the verdicts.*", "", said)
    assert {"verdict", "where", "limits", "memorisation", "risk-keys", "risk-funnel"}.isdisjoint(
        found.ids
    )
    assert "risk-limits" in found.ids


def test_several_syntheses_are_told_as_one(risk_of):
    study = risk_of(extras=False)
    study["about"]["synthetic"] = [{"name": "s1.csv", "rows": 100}, {"rows": 100}]
    report = report_of(title="t", risk=study)
    assert report.to_dict()["about"]["synthetic"] == {
        "name": "2 syntheses, the first s1.csv",
        "rows": 100,
    }
    look(report)


def test_many_attacks_show_the_worst_and_stay_small(risk_of):
    keys = [f"{'<&>' * 30}{i}" for i in range(9)]
    study = risk_of(keys, ("s", "t"), sizes=(4, 4))  # 126 sets of keys
    assert len(study["attacks"]) == 2 * 126 * 11
    said = look(report_of(title="t", risk=study)).said()
    assert "the 20 worst of 1,386 attacks" in said
    assert "the 40 worst of 126" in said
    figures = [
        block
        for section in risk_sections(RiskResult.from_dict(study))
        for block in section.blocks
        if isinstance(block, Figure)
    ]
    assert max(len(figure.table.rows) for figure in figures) == 40


def test_hostile_names_are_text(study_of, risk_of):
    study = risk_of(HOSTILE[:8], HOSTILE[:4], sizes=(7, 8), measures=("cap", "tcap", "rf"))
    study["about"]["notes"] = [HOSTILE[0]]
    study["about"]["label"] = HOSTILE[0]
    study["attacks"][0].update(
        measure=HOSTILE[0], convention=HOSTILE[2], n_matched=HOSTILE[0], reason=HOSTILE[0]
    )
    study["attacks"][1].update(value=None, reason=HOSTILE[0])
    study["family"] = {"reason": HOSTILE[0]}
    study["cross_fit"]["note"] = study["records"][0]["what"] = study["about"]["scenario"] = HOSTILE[
        0
    ]
    study["classes"][0]["people"] = HOSTILE[0]
    study["by_attacker"][0]["maximum_attacker"] = study["by_attacker"][0]["attackers"][0] = HOSTILE[
        2
    ]
    study["funnel"][0]["tcap"] = {HOSTILE[0]: 0.5}
    said = look(report_of(study_of(3), title="t", risk=study)).said()
    assert HOSTILE[0] in said
    assert "\x00" not in said


def nodes(data, path=()):
    for key, value in (
        data.items()
        if isinstance(data, dict)
        else enumerate(data[:1])
        if isinstance(data, list)
        else ()
    ):
        yield (*path, key)
        yield from nodes(value, (*path, key))


def test_what_is_missing_or_null_makes_a_page_or_is_refused_by_its_place(risk_of):
    study = risk_of(("a", "b"), ("s",), sizes=(1, 2), measures=("cap", "tcap"))
    study["about"]["synthetic"].append({"rows": 10})
    paths = [
        p for p in nodes(study) if p[0] not in ("format", "version") and isinstance(p[-1], str)
    ]
    assert len(paths) > 90
    refused = []
    for path in paths:
        for null in (True, False):
            less = copy.deepcopy(study)
            at = less
            for key in path[:-1]:
                at = at[key]
            if null:
                at[path[-1]] = None
            else:
                del at[path[-1]]
            try:
                html = render(report_of(title="t", risk=less))
            except chaffinch.errors.InputError as error:
                refused.append(str(error))
                continue
            odd = re.search(r">[^<]*\b(nan|None)\b[^<]*<", html)
            assert odd is None, (path, odd)
    assert len(refused) < len(paths) / 2
    assert all("are not as they should be at" in words for words in refused)


def test_an_empty_study_and_none():
    look(report_of(title="t", risk={"format": "chaffinch-risk", "version": 2}))
    assert RiskResult.from_dict({"format": "chaffinch-risk", "version": 2}).verdict == ()
    with pytest.raises(
        chaffinch.errors.InputError, match=r"needs a study of utility, of risk, or both"
    ):
        report_of(title="t")
    with pytest.raises(chaffinch.errors.InputError, match="Give the JSON of chaffinch risk"):
        report_of(title="t", risk={"format": "chaffinch-utility", "version": 1})


def test_a_real_study_makes_a_page():
    from pathlib import Path

    table = chaffinch.read(Path(__file__).parents[2] / "examples" / "data" / "cmc.csv")
    names = list(table.schema.names)
    found = chaffinch.risk(
        table,
        table,
        keys=names[:3],
        sensitive=[names[5]],
        attackers=["gcap", "nb"],
        resamples=50,
        seed=1,
    )
    report = report_of(title="t", risk=json.loads(json.dumps(found.to_dict())))
    said = look(report).said()
    assert "not known" in said
    assert "GCAP, majority vote" in said
    value = next(a.value for a in found.attacks if a.attacker == "gcap_vote")
    assert f"{value:.3f}" in said


# Two reports.


def test_attacks_of_two_reports_are_compared(risk_of):
    first, second = (
        risk_of(("a", "b"), ("s",), measures=("cap", "rf", "tcap", "nb"), extras=False)
        for _ in "AB"
    )
    second["attacks"][0].update(value=0.3, interval=[0.28, 0.32])  # lower: B is safer
    second["attacks"][1].update(
        value=0.605, interval=[0.595, 0.615], keys=["b", "a"]
    )  # overlaps 0.59 to 0.61
    second["attacks"][2]["convention"] = "matched"
    second["attacks"][3]["attacker"] = "lr"
    found = compare(report_of(title="A", risk=first), second)
    by_name = {row.measure: row for row in found.attacks}
    assert [row.measure for row in found.attacks] == ["cap", "rf", "tcap"]
    assert (by_name["cap"].safer, by_name["cap"].difference) == ("B", pytest.approx(-0.3))
    assert by_name["rf"].safer == "cannot be told apart"
    assert (by_name["tcap"].safer, by_name["tcap"].why) == (None, "other convention")
    assert {"1 attack is in A only.", "1 attack is in B only."} <= set(found.notes)
    told = found.to_dict()
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    assert "attacks and tests" in found.to_text()
    parts = Page(found.to_html())
    for side in "AB":
        assert f"{side}: of 3 attacks and tests in both, no excess found by 3." in parts.said()
    second["about"]["settings"]["tau"] = 0.5
    assert {row.why for row in compare(first, second).attacks} == {
        "other settings",
        "other convention",
    }


def test_reports_with_and_without_risk_still_compare(study_of, risk_of):
    both = report_of(study_of(5), title="A", risk=risk_of())
    found = compare(both, report_of(study_of(5, noise=2.0), title="B"))
    assert found.attacks == ()
    assert found.measures
    assert compare(both, both).attacks[0].safer == "equal"
    alone = compare(both, report_of(title="B", risk=risk_of()))
    assert len(alone.attacks) == 22
    alone.to_html()


def test_every_test_has_a_sentence_a_row_and_a_definition() -> None:
    findings = [
        Finding(
            attacker=test.name,
            value=0.25,
            holdout=0.2,
            excess=0.05,
            p_value=0.01,
            p_family=0.04,
            n_people="<10",
        )
        for test in memorisation_tests()
    ]
    words, sentences, table, details = memorisation_blocks(findings)
    assert isinstance(words, Paragraph)
    assert isinstance(sentences, Listing)
    assert isinstance(table, PageTable)
    assert isinstance(details, Details)
    assert len(sentences.items) == len(table.rows) == len(memorisation_tests())
    assert all("more than chance gives" in sentence for sentence in sentences.items)
    assert all(row[-1] == "<10" for row in table.rows)
    (definitions,) = details.blocks
    assert isinstance(definitions, PageTable)
    assert any("no evidence of privacy" in str(row[2]) for row in definitions.rows)


def test_what_does_not_apply_says_why() -> None:
    _, sentences, table, _ = memorisation_blocks(
        [Finding(attacker="rare_level", reason="There are no rare values: none.")]
    )
    assert sentences.items == ("Rare level: There are no rare values: none.",)
    assert table.rows[0][1:7] == ("–",) * 6


def test_no_tests_no_blocks() -> None:
    assert list(memorisation_blocks([])) == []


def test_hidden_bins_are_not_drawn_as_nothing(risk_of):
    study = risk_of()
    figure = next(
        s for s in risk_sections(RiskResult.from_dict(study)) if s.id == "risk-records"
    ).blocks[0]
    drawn = {row[0]: row[1] for row in figure.table.rows}
    assert drawn["0.7 to 0.8"] == "hidden: fewer than 10 records"
    assert drawn["0.9 to 1"] == "0\xa0%"
    assert figure.pictures[0].count(">hidden: fewer than 10 records</text>") == 2
    other = next(
        s for s in risk_sections(RiskResult.from_dict(study), 25) if s.id == "risk-records"
    ).blocks[0]
    assert ("0.7 to 0.8", "hidden: fewer than 25 records") in other.table.rows


def test_the_map_marks_the_largest_excess(risk_of):
    study = risk_of(("a", "b", "c"), ("s",), sizes=(1, 3), measures=("cap", "rf"), extras=False)
    for attack in study["attacks"]:
        attack["excess"] = -0.01
    study["attacks"][5] |= {"excess": 0.3, "p_family": 0.0123}
    figure = next(
        f
        for s in risk_sections(RiskResult.from_dict(study))
        if s.id == "risk-keys"
        for f in s.blocks
        if isinstance(f, Figure)
    )
    assert (
        "Outlined: the largest, +0.300 (Random forest). Its p-value over all attacks: 0.0123"
        in figure.note
    )
    assert figure.pictures[0].count('stroke-width="3"') == 1
    assert figure.table.rows[0][0] == "c"
    bare = [{**a, "excess": None, "value": 0.9} for a in study["attacks"]]
    caption = next(
        f
        for s in risk_sections(RiskResult.from_dict({**study, "attacks": bare}))
        if s.id == "risk-keys"
        for f in s.blocks
    ).caption
    assert "value less guess" in caption


def table_of(section):
    return next(block for block in section.blocks if isinstance(block, Details)).blocks[0]


def test_the_verdict_has_a_row_for_each_attacker_and_one_for_all(risk_of):
    result = RiskResult.from_dict(risk_of(("a", "b"), ("s",), measures=("cap", "rf"), extras=False))
    section = risk_verdict_section(result.verdict)
    table = table_of(section)
    assert [row.text for row in table.rows if isinstance(row, Heading)] == [
        "All attacks together",
        "Sensitive column: s",
    ]
    assert len(table.rows) == 2 + len(result.verdict) == 5
    assert section.blocks[0].text.startswith("Attribute disclosure by 2 attacks: ")
    by_id = {row.id: row for row in result.verdict}
    shown = next(
        row
        for row in table.rows
        if not isinstance(row, Heading) and row[0].text == by_id["cap"].measure
    )
    assert shown[1].text == f"{by_id['cap'].value:.3f}"


def test_no_row_repeats_a_sentence(risk_of):
    result = RiskResult.from_dict(risk_of())
    page = render(report_of(title="t", risk=result))
    for row in result.verdict:
        assert row.together or page.count(row.sentence) <= 1
    cells = [
        cell
        for row in table_of(risk_verdict_section(result.verdict)).rows
        if not isinstance(row, Heading)
        for cell in row
    ]
    assert max(len(str(getattr(cell, "text", cell)).split()) for cell in cells) <= 8


def test_each_word_of_the_trade_has_a_plain_line(risk_of):
    lines = risk_verdict_section(RiskResult.from_dict(risk_of(extras=False)).verdict).blocks[1]
    assert isinstance(lines, Listing)
    assert lines.items == (EXCESS_LINE, DETECTABLE_LINE)


def test_without_a_holdout_the_cross_fit_leads(risk_of):
    result = RiskResult.from_dict(risk_of(holdout=False))
    section = risk_verdict_section(result.verdict, result)
    assert section.blocks[0].text.startswith(
        "There is no holdout, so models of half the people speak. All attacks together, cross-fit: excess found."
    )
    assert CROSS_FIT_LINE in section.blocks[1].items
    assert "not known" not in str(table_of(section).rows)
    alone = risk_verdict_section(RiskResult.from_dict(risk_of(holdout=False, extras=False)).verdict)
    assert "not known" in alone.blocks[0].text


FINDING = JointFinding(
    kind="test",
    attacker="exact_row",
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
