"""The page on a check, from made-up plain data: the verdict first, every part that was asked for, and nothing that must stay inside."""

from __future__ import annotations

import copy
import re
from math import nan

import numpy as np
import pandas as pd
import pytest

import chaffinch
from chaffinch.outputs.check import CheckResult
from chaffinch.outputs.rules import RuleReport
from chaffinch.outputs.rules.findings import RuleFinding
from chaffinch.report import check as pages
from chaffinch.report.check import check_page, mitigation_blocks, rules_sentence
from chaffinch.report.check_figures import estimate
from chaffinch.report.sections import Cell, Listing, PageTable, Paragraph
from chaffinch.stats.intervals import Estimate
from chaffinch.workflows.check import check

from .conftest import whole_page


def page_of(told):
    """The page on plain data, as they come back from a file."""
    return pages.check_page(CheckResult.from_dict(told)).html


def plain_estimate(value, half=0.01):
    known = value is not None
    return {
        "value": value,
        "low": value - half if known else None,
        "high": value + half if known else None,
    }


def measure(sensitive, convention, original, holdout, *, excess=False):
    difference = None if original is None else original - holdout
    return {
        "sensitive": sensitive,
        "convention": convention,
        "original": plain_estimate(original),
        "holdout": plain_estimate(holdout),
        "prior": plain_estimate(0.2),
        "marginal": plain_estimate(difference),
        "beyond_prior": plain_estimate(None if original is None else original - 0.2),
        "detectable": 0.031 if original is not None else None,
        "excess": excess,
    }


def stage(name, outputs, shift=0.0, *, excess=False):
    measures = [
        measure(sensitive, convention, 0.4 + shift, 0.4, excess=excess)
        for sensitive in ("job<s>", "tenure")
        for convention in ("matched_rows", "all_rows")
    ]
    return {"name": name, "outputs": outputs, "reached": 1.0, "fits": [], "measures": measures}


def output(name, kind, statbarn, *, consistent=None, released=False, reached=1.0):
    fit = {
        "name": name,
        "kind": kind,
        "numbers": 2_428,
        "reached": reached,
        "mean": 0.00002,
        "worst": 0.0001,
    }
    return {
        "name": name,
        "kind": kind,
        "statbarn": statbarn,
        "released": released,
        "consistent": consistent,
        "columns": ["job<s>", "tenure"],
        "fit": fit,
    }


def finding(name, rule, status, words, other=None):
    return {
        "output": name,
        "other": other,
        "rule": rule,
        "status": status,
        "statbarn": "Frequencies",
        "cells": 1,
        "of": 12,
        "words": words,
    }


def agreement(sensitive):
    by_keys = [{"keys": ["age", "sex"], "right": 0.125}, {"keys": ["age"], "right": None}]
    return {
        "sensitive": sensitive,
        "pinned": 0.3,
        "pinned_holdout": 0.29,
        "right": 0.2,
        "right_holdout": 0.15,
        "excess": plain_estimate(0.05),
        "by_keys": by_keys,
    }


def told(**changed):
    names = ["who <owns>", "home by sex"]
    base = {
        "format": "chaffinch-check",
        "version": 3,
        "about": {
            "outputs": "wanted<1>.toml",
            "acro": None,
            "data": "people.csv",
            "released": None,
            "released_head": None,
            "recorded": False,
            "skipped": [],
        },
        "verdict": {
            "word": "no excess found",
            "text": "no excess found (detectable: 0.031)",
            "detectable": 0.031,
            "sentences": [
                "No difference was found between people in the data and people held out; one of 0.031 would have been found with a chance of 80 %."
            ],
        },
        "passed": True,
        "settings": {
            "keys": ["age", "sex"],
            "sensitive": ["job<s>", "tenure"],
            "key_sizes": [1, 2],
            "syntheses": 50,
            "holdout_share": 0.5,
            "repeat_splits": 1,
            "search_engine": "incremental",
            "start": "uniform",
            "proposals": 9000,
            "tau": 1.0,
            "level": 0.95,
        },
        "resolved": {"key_sets": 3, "seed": 1},
        "records": 1470,
        "left_out": 0.02,
        "outputs": [
            output(names[0], "logit", "CorrelationCoefficients"),
            output(names[1], "table", "Frequencies", consistent=True),
        ],
        "all": stage("home by sex", names),
        "cumulative": [
            {**stage(names[0], names[:1]), "added": []},
            {
                **stage(names[1], names),
                "added": [
                    {"sensitive": "tenure", "convention": "matched_rows", **plain_estimate(0.003)}
                ],
            },
        ],
        "without": [],
        "agreement": [agreement("job<s>"), agreement("tenure")],
        "rules": {
            "policy": "ours",
            "policy_hash": "ab" * 32,
            "worst": "review",
            "findings": [
                finding(
                    names[0],
                    "residual dof",
                    "pass",
                    "There are at least 10 residual degrees of freedom.",
                ),
                finding(
                    names[1],
                    "class disclosure",
                    "review",
                    "1 cell of the table: everyone in the row is in that one cell.",
                ),
            ],
        },
        "exposed_classes": "<10",
        "run": {"seconds": 12.5, "date": "2025-11-15 09:00 UTC"},
    }
    return {**base, **changed}


def test_a_rule_that_was_not_assessed_is_no_pass():
    base = told()
    finding_of = finding(
        "home by sex",
        "suppression undone",
        "not assessed",
        "Looked at for 4,000 of 4,909 such cells.",
    )
    rules = {
        **base["rules"],
        "worst": "not assessed",
        "findings": [*base["rules"]["findings"], finding_of],
    }
    page = page_of(told(rules=rules, passed=False))
    assert "Not everything was looked at: a rule is not assessed to the end." in page
    assert "1 was not assessed to the end: that is no pass" in page
    assert "1 of 2 outputs is not assessed." in page
    assert 'class="word word-not-assessed"' in page
    assert "not assessed" not in page_of(base)


def found():
    """An excess, a failed rule, and everything that can be asked for."""
    names = ["who <owns>", "home by sex"]
    bad = told(
        verdict={
            "word": "excess found",
            "text": "excess found",
            "detectable": 0.031,
            "sentences": ["An attacker is right more often."],
        },
        passed=False,
        all=stage("home by sex", names, 0.1, excess=True),
        without=[
            stage("without who <owns>", names[1:], 0.09),
            stage("without home by sex", names[:1]),
        ],
        exposed_classes=120,
    )
    bad["rules"] = copy.deepcopy(bad["rules"])
    bad["rules"]["findings"].append(
        finding(
            "home by sex",
            "differencing",
            "fail",
            "The two differ by fewer than 10 people.",
            "who <owns>",
        )
    )
    bad["rules"]["worst"] = "fail"
    return bad


def unmeasured():
    none = told()
    none["all"] = {
        **none["all"],
        "measures": [measure("tenure", c, None, 0.4) for c in ("matched_rows", "all_rows")],
    }
    none["cumulative"] = [{**none["all"], "added": []}]
    none["outputs"] = [
        {**output("t", "table", "Frequencies", consistent=False, released=True), "fit": None}
    ]
    none["about"] = {
        **none["about"],
        "skipped": [{"name": "output_4", "reason": "an image, without the numbers behind it"}],
    }
    none["records"] = "<10"
    none["settings"] = {**none["settings"], "key_sizes": [2, 2], "repeat_splits": 3}
    return none


def ruled():
    """The rules alone, with outputs that were not asked for, and one whose numbers are other ones."""
    bare = told(all=None, cumulative=[], agreement=[], exposed_classes=0)
    bare["verdict"] = {
        "word": "rules only",
        "text": "rules only",
        "detectable": None,
        "sentences": ["Only the rules were asked."],
    }
    bare["settings"] = {
        **bare["settings"],
        "keys": [],
        "sensitive": [],
        "rules_only": True,
    }
    bare["outputs"] = [{**one, "fit": None} for one in bare["outputs"]]
    bare["outputs"][0]["consistent"] = False
    bare["about"] = {
        **bare["about"],
        "not_asked": ["other"],
        "by_recipe": [{"name": "home by sex", "readable": True}],
    }
    return bare


CASES = {
    "nothing found": told(),
    "all there is": found(),
    "not measured": unmeasured(),
    "rules alone": ruled(),
}


@pytest.mark.parametrize("name", CASES)
def test_a_page_is_whole_and_calls_nobody(name):
    html = page_of(CASES[name])
    whole_page(html)
    assert "wanted&lt;1&gt;.toml" in html


def rows_of(html, first):
    """The texts of the table rows that begin with a word."""
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", html, flags=re.DOTALL)
    texts = [
        [
            " ".join(re.sub(r"<[^>]*>", " ", cell).split())
            for cell in re.findall(r"<t[hd].*?</t[hd]>", row, flags=re.DOTALL)
        ]
        for row in rows
    ]
    return [row for row in texts if row and row[0] == first]


def test_the_verdict_stands_first_and_is_never_bare():
    html = page_of(CASES["nothing found"])
    lead = html.index("No excess found (detectable: 0.031). 2 outputs: 1 review, 1 pass.")
    assert lead < html.index("<table") < html.index("All together</h2>")
    assert 'role="alert"' not in html
    assert not re.search(r"\bsafe\b(?!:)", html.replace("does not mean safe", ""))
    bad = page_of(CASES["all there is"])
    assert bad.index("Excess found. A rule failed.") < bad.index("<h1")
    assert ["home by sex and who &lt;owns&gt;", "The two differ by fewer than 10 people."] in [
        [row[0], row[-1]] for row in rows_of(bad, "home by sex and who &lt;owns&gt;")
    ]
    assert "without 'home by sex' no outputs fail together" in bad.replace("&#39;", "'")


def test_numbers_stand_with_their_intervals():
    html = page_of(CASES["all there is"])
    tcap, marginal, *_ = [row for row in rows_of(html, "tenure") if row[1] == "matched rows"]
    assert tcap[2:] == [
        "0.500 0.490 to 0.510",
        "0.400 0.390 to 0.410",
        "0.200 0.190 to 0.210",
        "+0.300 0.290 to 0.310",
    ]
    assert marginal[2:] == ["+0.100 0.090 to 0.110", "0.031", "excess found"]
    # What an output adds to those before it; and the set without it.
    added = [
        row for row in rows_of(html, "2: home by sex") if row[1:3] == ["tenure", "matched rows"]
    ]
    assert added[0][4] == "+0.003 −0.007 to 0.013"
    assert [row[3] for row in rows_of(html, "without who &lt;owns&gt;")] == [
        "+0.090 0.080 to 0.100"
    ] * 4


def test_outputs_have_their_class_their_fit_and_their_state():
    html = page_of(CASES["nothing found"])
    verdict, _rule, row, *_ = rows_of(html, "home by sex")
    assert verdict == [
        "home by sex",
        "table",
        "review",
        "+0.003",
        "review",
        "class disclosure (review)",
    ]
    assert row[1:8] == [
        "table",
        "Frequencies",
        "2,428",
        "100\xa0%".replace("\xa0", " "),
        "0.00002",
        "0.0001",
        "are those of the data",
    ]
    assert row[8] == "review"
    html = page_of(CASES["not measured"])
    assert "are not those of the data" in html
    assert rows_of(html, "output_4") == [
        ["output_4", "–", "–", "–", "not assessed", "an image, without the numbers behind it"]
    ]
    assert "into two folds 3 times" in html
    assert html.index("1 of 1 output is not assessed") < html.index("<h1")


def test_figures_are_drawn_where_there_is_something():
    count = lambda name: page_of(CASES[name]).partition("<main")[2].count("<svg")  # noqa: E731
    # TCAP, marginal risk, a curve for each of two attributes.
    assert count("nothing found") == 4
    assert count("all there is") == 4
    assert count("not measured") == 2
    assert count("rules alone") == 0


def test_the_rules_alone_say_what_was_not_done():
    html = page_of(CASES["rules alone"]).replace("&#39;", "'")
    assert rows_of(html, "who &lt;owns&gt;")[0][1:] == [
        "logit",
        "pass",
        "fail",
        "numbers are not the data's",
    ]
    assert rows_of(html, "home by sex")[0][3:] == [
        "not assessed",
        "a recipe was judged in its place, though it can be read; class disclosure (review)",
    ]
    assert "Not asked for, and nothing is said of it: 'other'." in html
    assert "1 result was judged by a recipe, not by the files" in html
    assert "How it was measured" not in html
    assert "Key sets" not in html


def test_the_policy_is_named_with_its_hash_and_small_counts_are_not_told():
    html = page_of(CASES["nothing found"])
    assert "ab" * 32 in html
    assert "fewer than 10 classes" in html
    assert "about 120 classes" in page_of(CASES["all there is"])
    # A set of keys that tells of fewer than ten people has no row.
    assert rows_of(html, "age, sex")
    assert not rows_of(html, "age")


def test_sentences_on_rules():
    def said(*statuses):
        findings = tuple(
            RuleFinding("t", None, "threshold", status, "Frequencies", 1, 4, (), "")
            for status in statuses
        )
        return rules_sentence(RuleReport(findings, "p", "0" * 64))

    assert (
        said("fail", "fail", "review", "review", "pass")
        == "Of 5 checks by the rules of policy 'p', 2 failed and 2 are for review."
    )
    assert (
        said("pass") == "Of 1 check by the rules of policy 'p', none failed and none is for review."
    )
    assert (
        said("not assessed", "pass")
        == "Of 2 checks by the rules of policy 'p', none failed and none is for review; 1 was not assessed to the end: that is no pass."
    )


def test_the_page_says_where_outputs_stand_and_has_the_line_to_write(tmp_path):
    (tmp_path / "t.csv").write_text("sex,n\nf,40\nm,60\n")
    (tmp_path / "u.csv").write_text("sex,a,b\nf,40,11\nm,60,12\n")
    page = pages.check_page(chaffinch.check(tmp_path, rules_only=True)).html
    assert "What was read" in page
    assert "t.csv, line 1" in page
    assert "a table of counts of &#39;sex&#39;, 2 cells." in page
    assert (
        "&#34;u.csv&#34; = { kind = &#34;table&#34;, by = [&#34;sex&#34;, &#34;(columns)&#34;] }"
        in page
    )


@pytest.mark.parametrize(
    ("one", "plus", "cell"),
    [
        (Estimate(0.25, low=0.2, high=0.3), False, Cell("0.250", "0.200 to 0.300")),
        (Estimate(0.25, low=0.2, high=0.3), True, Cell("+0.250", "0.200 to 0.300")),
        (Estimate(0.25), False, Cell("0.250")),
        (Estimate(nan), False, Cell("–")),
        (None, False, Cell("–")),
    ],
)
def test_a_number_stands_over_its_interval(one, plus, cell):
    assert estimate(one, plus=plus) == cell


def result_of(**options):
    rows = [
        (i, j)
        for i, j in np.ndindex(3, 3)
        for _ in range([[40, 30, 25], [35, 4, 28], [22, 31, 45]][i][j])
    ]
    data = pd.DataFrame({"x": [f"x{i}" for i, _ in rows], "y": [f"y{j}" for _, j in rows]})
    table = {"name": "<b>t</b>", "kind": "table", "by": ["x", "y"], "margins": True}
    wrong = {"name": "wrong", "kind": "table", "by": ["x"], "counts": [1, 2, 3]}
    document = {"format": "chaffinch-outputs", "version": 1, "outputs": [table, wrong]}
    return check(document, data, rules_only=True, mitigate=True, **options)


def test_the_section_says_what_is_done_and_what_is_not():
    plan = result_of().mitigation
    blocks = mitigation_blocks(plan)
    assert blocks[0] == Paragraph(plan.sentence)
    tables = [one for one in blocks if isinstance(one, PageTable)]
    assert [one.caption for one in tables] == [
        "What is done, least loss first",
        "Each way that was tried and breaks no rule, least loss first",
    ]
    assert len(tables[1].rows) == len(plan.options)
    (listing,) = [one for one in blocks if isinstance(one, Listing)]
    assert "Not mended: 'wrong'" in listing.items[0]


def test_the_page_has_it_and_escapes_names():
    page = check_page(result_of()).html
    assert "What would mend them" in page
    assert "<b>t</b>" not in page
    assert "x1" not in page  # no level


def test_a_check_without_it_has_no_such_section():
    data = pd.DataFrame({"x": ["a", "b"] * 40, "y": ["c"] * 80})
    document = {
        "format": "chaffinch-outputs",
        "version": 1,
        "outputs": [{"name": "t", "kind": "table", "by": ["x"]}],
    }
    assert "What would mend them" not in check_page(check(document, data, rules_only=True)).html
