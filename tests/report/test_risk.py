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
from chaffinch.report.risk import findings_blocks, findings_section, joint_blocks, risk_sections
from chaffinch.report.sections import (
    Cell,
    Details,
    Figure,
    Heading,
    Listing,
    PageTable,
    Paragraph,
    Section,
)
from chaffinch.report.text import (
    CROSS_FIT_LINE,
    DETECTABLE_LINE,
    EXCESS_LINE,
    MEMORISATION_TESTED,
)
from chaffinch.risk.attacker import attackers_of_kind
from chaffinch.risk.finding import Finding, ReleasesGain, worst_of_key_sets
from chaffinch.risk.result import RiskResult
from chaffinch.risk.together import MultiReleaseResult

from .conftest import HOSTILE, Page, whole_page


def look(report) -> Page:
    """Return the parts of a rendered report, after what every page must keep to."""
    html = render(report)
    assert html == render(json.loads(json.dumps(report.to_dict(), allow_nan=False)))
    assert len(html.encode()) < 2_000_000
    return whole_page(html)


# The page.


def table_of(section):
    return next(block for block in section.blocks if isinstance(block, Details)).blocks[0]


def test_cross_fit_speaks_in_the_verdict_where_there_is_no_holdout(risk_of):
    study = risk_of(holdout=False)
    result = RiskResult.from_dict(study)
    assert {finding.verdict for finding in result.findings} == {"not known: no holdout"}
    assert {finding.word for finding in result.leading.findings} == {"excess found"}
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
    assert {row["section"] for row in data["verdict"]} == {"utility"}
    assert {finding["word"] for finding in data["risk"]["findings"]} == {"no excess found"}
    assert data["run"]["date"] == "2025-11-15 09:00 UTC"
    assert set(data["run"]["seconds"]) == {"phi_k", "synthetic"}
    found = look(report)
    order = [
        key
        for key in found.ids
        if key in ("verdict", "risk-findings", "where", "risk-attacks", "limits")
    ]
    assert order == ["verdict", "risk-findings", "where", "risk-attacks", "limits"]
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
    assert len(study["findings"]) == 2 * 126 * 11
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
    study["findings"][0].update(
        attacker=HOSTILE[0], convention=HOSTILE[2], n_matched=HOSTILE[0], reason=HOSTILE[0]
    )
    study["findings"][1].update(value=None, reason=HOSTILE[0])
    study["family"] = {"reason": HOSTILE[0]}
    study["cross_fit"]["note"] = study["records"][0]["what"] = study["about"]["scenario"] = HOSTILE[
        0
    ]
    study["classes"][0]["people"] = HOSTILE[0]
    study["findings"][2].update(attacker=HOSTILE[2])
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
        p for p in nodes(study) if p[-1] not in ("format", "version") and isinstance(p[-1], str)
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
    look(report_of(title="t", risk={"format": "chaffinch-risk", "version": 3}))
    assert RiskResult.from_dict({"format": "chaffinch-risk", "version": 3}).findings == ()
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
        attackers=["gcap", "nb", "memorisation"],
        resamples=50,
        seed=1,
    )
    report = report_of(title="t", risk=json.loads(json.dumps(found.to_dict())))
    said = look(report).said()
    assert "not known" in said
    assert "GCAP, majority vote" in said
    value = next(a.value for a in found.findings if a.attacker == "gcap_vote")
    assert f"{value:.3f}" in said


# Two reports.


def test_attacks_of_two_reports_are_compared(risk_of):
    first, second = (
        risk_of(("a", "b"), ("s",), measures=("cap", "rf", "tcap", "nb"), extras=False)
        for _ in "AB"
    )
    second["findings"][0].update(value=0.3, interval=[0.28, 0.32])  # lower: B is safer
    second["findings"][1].update(
        value=0.605, interval=[0.595, 0.615], keys=["b", "a"]
    )  # overlaps 0.59 to 0.61
    second["findings"][2]["convention"] = "matched"
    second["findings"][3]["attacker"] = "lr"
    found = compare(report_of(title="A", risk=first), second)
    by_name = {row.attacker: row for row in found.findings}
    assert [row.attacker for row in found.findings] == ["cap", "rf", "tcap"]
    assert (by_name["cap"].best, by_name["cap"].difference) == (("B",), pytest.approx(-0.3))
    assert by_name["rf"].verdict == "intervals overlap"
    assert (by_name["tcap"].best, by_name["tcap"].why) == ((), "other convention")
    assert {"1 attack is in A only.", "1 attack is in B only."} <= set(found.notes)
    told = found.to_dict()
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    assert "attacks and tests" in found.to_text()
    parts = Page(found.to_html())
    for side in "AB":
        assert (
            f"{side}: of 3 attacks and tests in all reports, no excess found by 3." in parts.said()
        )
    second["about"]["settings"]["tau"] = 0.5
    assert {row.why for row in compare(first, second).findings} == {
        "other settings",
        "other convention",
    }


def test_reports_with_and_without_risk_still_compare(study_of, risk_of):
    both = report_of(study_of(5), title="A", risk=risk_of())
    found = compare(both, report_of(study_of(5, noise=2.0), title="B"))
    assert found.findings == ()
    assert found.measures
    assert compare(both, both).findings[0].verdict == "equal"
    alone = compare(both, report_of(title="B", risk=risk_of()))
    assert len(alone.findings) == 22
    alone.to_html()


def found_by(attacker, **more) -> Finding:
    numbers = {"value": 0.25, "holdout": 0.2, "excess": 0.05, "p_value": 0.01, "p_family": 0.04}
    return Finding(attacker=attacker.name, n_people="<10", **{**numbers, **more})


def test_every_test_has_a_sentence_a_row_and_a_definition() -> None:
    tests = attackers_of_kind("memorisation")
    findings = tuple(found_by(test, direction=test.direction) for test in tests)
    details, sentences = findings_blocks(findings, "Each attack beside its references")
    assert isinstance(details, Details)
    assert isinstance(sentences, Listing)
    assert details.summary == f"{len(tests)} attacks, with all numbers"
    heading, *rows = table_of(Section("s", "S", (details,))).rows
    assert heading == Heading("Whole records: memorisation")
    assert len(sentences.items) == len(rows) == len(tests)
    assert all("more than chance gives" in sentence for sentence in sentences.items)
    assert [row[0].text for row in rows] == [test.title for test in tests]
    assert [row[0].note for row in rows] == [f"{test.direction}; <10 people" for test in tests]
    assert {"lower is safer", "higher is safer"} == {test.direction for test in tests}
    assert {row[-1].word for row in rows} == {"excess found"}
    sections = {section.id: section for section in risk_sections(RiskResult(findings=findings))}
    definitions = sections["risk-measures"].blocks[0]
    assert isinstance(definitions, PageTable)
    assert [row[0] for row in definitions.rows] == [test.title for test in tests]
    assert any("no evidence of privacy" in str(row[2]) for row in definitions.rows)
    assert all(all(row) for row in definitions.rows)
    limits = sections["risk-limits"].blocks
    assert limits[0] == Paragraph(MEMORISATION_TESTED)


def test_what_memorisation_tests_are_is_said_where_there_are_some(risk_of) -> None:
    sections = risk_sections(RiskResult.from_dict(risk_of()))
    limits = next(section for section in sections if section.id == "risk-limits")
    assert Paragraph(MEMORISATION_TESTED) not in limits.blocks


def test_attacks_and_tests_stand_in_one_table_by_what_they_are_on(attack_of) -> None:
    attack = Finding.from_dict(attack_of("dcap", ["age", "sex"], "pay", n_matched="<10"))
    copies = found_by(next(iter(attackers_of_kind("memorisation"))), p_family=0.4)
    (details, _) = findings_blocks((attack, copies), "c")
    table = details.blocks[0]
    assert table.head == (
        "Attack",
        "Value and 95 % interval",
        "Guess",
        "Marginals only",
        "Label only",
        "Holdout",
        "Original",
        "Excess and 95 % interval",
        "Word",
    )
    assert [row.text for row in table.rows if isinstance(row, Heading)] == [
        "Sensitive column: pay",
        "Whole records: memorisation",
    ]
    on_column, on_records = (row for row in table.rows if not isinstance(row, Heading))
    assert on_column[0] == Cell("DCAP", "Knowing age, sex; 32,560 people, <10 matched")
    assert on_column[1] == Cell("0.600", "0.590 to 0.610")
    assert on_column[2:7] == ("0.270", "0.400", "0.450", "0.595", "0.810")
    assert on_column[7] == Cell("+0.005", "−0.005 to 0.015")
    assert on_column[8] == Cell("", "p = 0.7 (detectable: 0.012)", word="no excess found")
    # Values of both are shares in one unit, and so is what is between them.
    assert on_records[1].text == "0.250"
    assert on_records[2:7] == ("–", "–", "–", "0.200", "–")
    assert on_records[7].text == "+0.050"


def test_what_does_not_apply_says_why() -> None:
    details, sentences = findings_blocks(
        [Finding(attacker="rare_level", reason="There are no rare values: none."), FINDING], "c"
    )
    assert sentences.items[0] == "Rare level: There are no rare values: none."
    table = details.blocks[0]
    assert table.head[1:4] == (
        "Value and 95 % interval",
        "Holdout",
        "Excess and 95 % interval",
    )
    row = table.rows[1]
    assert [cell.text if isinstance(cell, Cell) else cell for cell in row[1:4]] == ["–"] * 3
    assert row[-1] == Cell("", word="not applicable")


def test_people_who_score_alike_give_an_excess_and_no_word_for_it() -> None:
    """Nobody scores: the excess is 0, which is stated, and no chance can be named."""
    finding = Finding(attacker="singled_out", value=0.0, holdout=0.0, excess=0.0, p_value=1.0)
    assert (finding.word, finding.verdict) == ("not known", "not known: all people score alike")
    details, _ = findings_blocks([finding], "c")
    assert details.blocks[0].rows[1][-1] == Cell("", "all people score alike", word="not known")


def test_no_findings_no_blocks() -> None:
    assert list(findings_blocks([], "c")) == []


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
    for attack in study["findings"]:
        attack["excess"] = -0.01
    study["findings"][5] |= {"excess": 0.3, "p_family": 0.0123}
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
    bare = [{**a, "excess": None, "value": 0.9} for a in study["findings"]]
    caption = next(
        f
        for s in risk_sections(RiskResult.from_dict({**study, "findings": bare}))
        if s.id == "risk-keys"
        for f in s.blocks
    ).caption
    assert "value less guess" in caption


def test_each_attacker_has_a_row_and_all_together_the_first_sentence(risk_of):
    result = RiskResult.from_dict(risk_of(("a", "b"), ("s",), measures=("cap", "rf"), extras=False))
    section = findings_section(result)
    assert (section.id, section.title) == (
        "risk-findings",
        "What it gives away, attack by attack",
    )
    table = table_of(section)
    assert [row.text for row in table.rows if isinstance(row, Heading)] == ["Sensitive column: s"]
    assert len(table.rows) == 1 + len(result.findings) == 3
    lead = section.blocks[0].text
    assert lead.startswith(
        "2 attacks: 2 × no excess found. All attacks together: no excess found (detectable: 0.012). "
    )
    assert lead.endswith(result.sentence)
    cap = result.findings[0]
    row = next(
        row for row in table.rows if not isinstance(row, Heading) and row[0].text == cap.title
    )
    assert row[1].text == f"{cap.value:.3f}"


def test_an_excess_that_was_found_is_counted_first(risk_of):
    study = risk_of(("a", "b"), ("s",), measures=("cap", "rf", "nb", "lr"), extras=False)
    study["findings"][0].update(value=None, p_family=None, lower_bound=None, reason="Nobody.")
    study["findings"][2].update(p_family=0.01)
    lead = findings_section(RiskResult.from_dict(study)).blocks[0].text
    assert lead.startswith(
        "4 attacks: 1 × excess found, 2 × no excess found, 1 × not applicable. All attacks together: "
    )


def test_no_row_repeats_a_sentence(risk_of):
    result = RiskResult.from_dict(risk_of())
    page = render(report_of(title="t", risk=result))
    for finding in result.findings:
        assert page.count(finding.sentence) <= 1
    cells = [
        cell
        for row in table_of(findings_section(result)).rows
        if not isinstance(row, Heading)
        for cell in row
    ]
    assert max(len(str(getattr(cell, "text", cell)).split()) for cell in cells) <= 8


def test_each_word_of_the_trade_has_a_plain_line(risk_of):
    lines = findings_section(RiskResult.from_dict(risk_of(extras=False))).blocks[1]
    assert isinstance(lines, Listing)
    assert lines.items == (EXCESS_LINE, DETECTABLE_LINE)


def test_how_values_were_compared_stands_above_the_table(risk_of):
    study = risk_of(extras=False)
    study["about"]["comparison"] = ["age is compared in bins."]
    lines = findings_section(RiskResult.from_dict(study)).blocks[1]
    assert lines.items == (EXCESS_LINE, DETECTABLE_LINE, "age is compared in bins.")


def test_without_a_holdout_the_cross_fit_leads(risk_of):
    result = RiskResult.from_dict(risk_of(holdout=False))
    section = findings_section(result)
    lead = section.blocks[0].text
    assert lead.startswith("There is no holdout, so models of half the people speak. ")
    assert "All attacks together, cross-fit: excess found." in lead
    assert CROSS_FIT_LINE in section.blocks[1].items
    assert "not known" not in str(table_of(section).rows)
    assert {row[-1].text for row in table_of(section).rows if not isinstance(row, Heading)} == {
        "see the halves"
    }
    alone = findings_section(RiskResult.from_dict(risk_of(holdout=False, extras=False)))
    for lonely in (section, alone):  # no column in which nothing stands
        assert table_of(lonely).head[-2:] == ("Original", "Word")
    assert alone.blocks[0].text == (
        "22 attacks: 22 × not known. All attacks together: not known. No holdout was given."
    )


def test_what_hides_few_people_without_a_holdout_is_in_the_halves(risk_of):
    study = risk_of(("a",), ("s",), measures=("cap",), holdout=False)
    study["findings"].append({"attacker": "copied_row", "n_people": 740, "reason": "Few."})
    rows = table_of(findings_section(RiskResult.from_dict(study))).rows
    assert rows[-1][0].text == "Copied row"
    assert rows[-1][-1] == Cell("see the halves")


def test_of_many_sets_of_keys_a_row_shows_the_worst_and_tests_stay(risk_of):
    study = risk_of(("a", "b", "c"), ("s",), sizes=(1, 3), measures=("cap", "rf"), extras=False)
    study["findings"].append({"attacker": "exact_row", "value": 0.1, "holdout": 0.1, "excess": 0.0})
    result = RiskResult.from_dict(study)
    rows = [row for row in table_of(findings_section(result)).rows if not isinstance(row, Heading)]
    assert [row[0].text for row in rows] == ["CAP", "Random forest", "Exact row"]
    for row, attacker in zip(rows, ("cap", "rf"), strict=False):
        excesses = [f.excess for f in result.findings if f.attacker == attacker]
        assert float(row[-2].text.replace("−", "-")) == pytest.approx(max(excesses), abs=6e-4)
    assert worst_of_key_sets(result.findings)[0].key_sets == 7


FINDING = Finding(
    attacker="exact_row",
    value=0.08,
    holdout=0.0,
    excess=0.08,
    releases=ReleasesGain(
        alone=(0.02, None), added=0.06, interval=(0.04, 0.08), p_value=0.001, p_family=0.002
    ),
)
JOINT = MultiReleaseResult(tables=2, names=("a.csv", "b.csv"), model_rows=5000, findings=(FINDING,))
RESULT = RiskResult(together=JOINT)


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


def test_what_several_releases_cannot_tell_leaves_no_cell_empty() -> None:
    nothing = Finding(attacker="rare_level", reason="None.", releases=ReleasesGain())
    joint = replace(JOINT, findings=(FINDING, nothing))
    table = next(
        block
        for block in joint_blocks(replace(RESULT, together=joint))
        if isinstance(block, PageTable)
    )
    first, last = table.rows
    assert first[0] == Cell("Exact row", "whole records")
    assert first[1:] == (
        "0.080",
        "0.000",
        "+0.080",
        "+0.020, masked",
        "+0.060",
        "0.04 to 0.08",
        "0.002",
    )
    assert last[1:] == ("–",) * 7


def test_one_release_has_no_section() -> None:
    assert list(joint_blocks(replace(RESULT, together=None))) == []


def test_the_cross_fit_is_shown_where_it_has_an_excess() -> None:
    result = replace(
        RESULT,
        together=MultiReleaseResult(tables=2, reason="No holdout."),
        cross_fit=RiskResult(together=JOINT),
    )
    assert JOINT.sentence in str(to_plain(list(joint_blocks(result))))
