"""Attacks in a report: words by the rules, sentences by hand, pages that nothing breaks, and two reports compared."""

from __future__ import annotations

import copy
import json
import re
from html.parser import HTMLParser

import pytest

import chaffinch
from chaffinch.report.compare import compare
from chaffinch.report.release import render
from chaffinch.report.result import report_of
from chaffinch.report.risk import risk_sections
from chaffinch.report.sections import Figure
from chaffinch.risk import RiskResult

HOSTILE = [
    "<script>alert(1)</script>",
    "\"&'",
    "</td></table><h1>x",
    "x" * 5000,
    "عمر المريض",
    "a\x00b\nc",
    "{{ 7*7 }}",
    "",
]


class Parts(HTMLParser):
    """The identifiers, tags and text of a page, and whether its tags are nested well."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.ids: list[str] = []
        self.tags: list[str] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.ids += [value for name, value in attrs if name == "id"]
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, self.getpos()

    def handle_data(self, data):
        if self.open[-1:] != ["style"]:
            self.words.append(data)

    def said(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.words))


def look(report) -> Parts:
    """Return the parts of a rendered report, after what every page must keep to."""
    html = render(report)
    assert html == render(json.loads(json.dumps(report.to_dict(), allow_nan=False)))
    assert len(html.encode()) < 2_000_000
    parts = Parts(html)
    assert parts.open == []
    assert len(parts.ids) == len(set(parts.ids))
    assert not {"script", "img", "iframe", "link", "form"} & set(parts.tags)
    assert parts.tags.count("h1") == 1
    assert re.search(r"\b(nan|None|inf)\b", parts.said()) is None
    return parts


def plain(words: str) -> str:
    return words.replace("\xa0", " ")


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
    said = plain(found.said())
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


def test_every_figure_has_a_title_a_description_and_its_numbers(risk_of):
    html = render(report_of(title="t", risk=risk_of(sizes=(4, 5))))
    figures = re.findall(r"<figure .*?</figure>", html, flags=re.DOTALL)
    assert len(figures) == 2 + 2 + 2 + 1  # ladders, maps, funnels, records
    for figure in figures:
        assert re.search(
            r"<svg [^>]*role=\"img\"[^>]*><title id=\"[^\"]+\">[^<]+</title><desc id=\"[^\"]+\">[^<]+</desc>",
            figure,
        )
        assert re.search(
            r"<details[^>]*><summary>Data of this figure.*?<table>", figure, flags=re.DOTALL
        )


def test_many_attacks_show_the_worst_and_stay_small(risk_of):
    keys = [f"{'<&>' * 30}{i}" for i in range(10)]
    study = risk_of(keys, ("s", "t"), sizes=(5, 5))  # 252 sets of keys
    assert len(study["attacks"]) == 2 * 252 * 11
    said = look(report_of(title="t", risk=study)).said()
    assert "the 20 worst of 2,772 attacks" in said
    assert "the 40 worst of 252" in said
    figures = [
        block
        for section in risk_sections(RiskResult.from_dict(study))
        for block in section.blocks
        if isinstance(block, Figure)
    ]
    assert max(len(figure.table.rows) for figure in figures) == 40


def test_hostile_names_are_text(study_of, risk_of):
    study = risk_of(HOSTILE, HOSTILE[:4], sizes=(7, 8), measures=("cap", "tcap", "rf"))
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
    look(report_of(title="t", risk={"format": "chaffinch-risk", "version": 1}))
    assert RiskResult.from_dict({"format": "chaffinch-risk", "version": 1}).verdict == ()
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
    value = next(a.value for a in found.attacks if a.measure == "gcap_vote")
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
    second["attacks"][3]["measure"] = "lr"
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
    parts = Parts(found.to_html())
    for side in "AB":
        assert f"{side}: of 3 attacks and tests in both, no excess found by 3." in parts.said()
    second["about"]["settings"]["missing"] = "wildcard"
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
