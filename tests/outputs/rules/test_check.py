"""All rules together, on recipes, and on every kind of the documented file of outputs."""

from __future__ import annotations

import json
import tomllib
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chaffinch._base.errors import InputError
from chaffinch.outputs.document import Outputs, recipes_of
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.kinds import KINDS
from chaffinch.outputs.kinds.table import TableSpec
from chaffinch.outputs.rules import Policy, check_entries, check_rules
from chaffinch.outputs.rules.check import EVERY_RULE
from chaffinch.outputs.rules.findings import (
    RuleReport,
    cells_in_words,
    count_phrase,
    finding,
    statbarn_of,
)

ROOT = Path(__file__).resolve().parents[3]


NAMES = {
    "AGE": "wife_age",
    "EDUCATION": "wife_education",
    "CHILDREN": "num_children",
    "MEDIA": "media_exposure",
    "METHOD": "contraceptive_method",
    "LIVING": "standard_of_living",
}


def test_every_kind_has_a_statbarn_and_a_rule(fields, people_by_cell):
    codes = people_by_cell(
        *(
            (3, {"A": a, "B": b, "Y": y, "AGE": age})
            for a in ("a1", "a2")
            for b in ("b1", "b2")
            for y in ("no", "yes")
            for age in (20, 40)
        )
    )
    special = {
        "t-test": {"of": "PAY", "by": ["B"], "welch": True},
        "anova": {"of": "PAY", "by": ["A"]},
        "mann-whitney": {"of": "AGE", "by": ["B"]},
        "wilcoxon": {"of": "AGE", "paired": "PAY", "correction": True},
        "kruskal-wallis": {"of": "AGE", "by": ["A"]},
        "fisher": {"by": ["B", "Y"]},
        "describe": {"of": "AGE"},
        "ratio": {"of": "AGE", "over": "PAY"},
        "weighted-mean": {"of": "AGE", "weight": "PAY"},
        "shares": {"of": "AGE", "by": ["A"]},
        "weighted-table": {"by": ["A"], "weight": "AGE"},
        "gini": {"of": "AGE"},
        "lorenz": {"of": "AGE", "at": [0.5]},
        "confusion": {
            "truth": "B",
            "predicted": "Y",
            "groups": {"B": {"no": ["b1"], "yes": ["b2"]}},
        },
        "scatter": {"x": "AGE", "y": "PAY"},
        "roc": {"score": "AGE", "label": "Y", "auc": True},
        "calibration": {"score": "AGE", "label": "PAY", "groups": [[0, 30], [31, 99]]},
        "residuals": {"formula": "PAY ~ AGE"},
        "table": {"by": ["A"]},
        "chi-square": {"by": ["A", "B"]},
        "histogram": {"of": "AGE", "edges": [0, 30, 99]},
        "median": {"of": "AGE"},
        "quantiles": {"of": "AGE", "at": [0.5]},
        "correlation": {"of": ["AGE", "PAY"]},
        "kaplan-meier": {
            "time": "AGE",
            "event": "Y",
            "level": "yes",
            "times": [20, 40],
            "at_risk": True,
        },
        "tree": {
            "label": "Y",
            "leaves": [
                {"where": "AGE < 30", "counts": True},
                {"where": "AGE >= 30", "counts": True},
            ],
        },
        "cox": {"formula": "AGE ~ A", "event": "Y"},
        "mixed": {"formula": "PAY ~ AGE", "group": "A"},
        "gee": {
            "formula": "PAY ~ AGE",
            "group": "A",
            "family": "gaussian",
            "correlation": "independence",
        },
        **{f"ordered-{link}": {"formula": "AGE ~ A"} for link in ("logit", "probit")},
        "multinomial": {"formula": "A ~ AGE"},
        "glm": {"formula": "Y ~ AGE", "family": "binomial", "success": "yes"},
        **{kind: {"of": "AGE"} for kind in ("mean", "sum", "sd", "variance")},
    }
    for kind in KINDS.names:
        entry = {"name": kind, "kind": kind, **special.get(kind, {"formula": "PAY ~ AGE"})}
        if kind in ("logit", "probit", "cloglog"):
            entry |= {"formula": "Y ~ AGE", "success": "yes"}
        report = check_entries([entry], fields, codes, Policy())
        assert len(report.findings) >= 2, kind
        assert len({one.statbarn for one in report}) == 1
        assert json.loads(json.dumps(report.to_dict())) == report.to_dict()
        json.dumps(report.confidential())


@pytest.mark.parametrize("least", [3, 7, 25])
@pytest.mark.parametrize(
    ("entry", "rule"),
    [
        ({"kind": "table", "by": ["A"]}, "threshold"),
        ({"kind": "table", "by": ["A"], "percentages": "all", "n": True}, "threshold"),
        ({"kind": "chi-square", "by": ["A", "B"]}, "threshold"),
        ({"kind": "histogram", "of": "AGE", "edges": [0, 2, 99]}, "threshold"),
        ({"kind": "mean", "of": "PAY", "by": ["A"]}, "threshold"),
        ({"kind": "median", "of": "PAY", "by": ["A"]}, "threshold"),
        (
            {"kind": "correlation", "of": ["AGE", "PAY"], "where": "A == 'a1'", "n": True},
            "threshold",
        ),
        ({"kind": "tree", "leaves": [{"where": "A == 'a1'"}, {"where": "A == 'a2'"}]}, "threshold"),
        (
            {"kind": "ols", "formula": "PAY ~ A", "where": "A != 'a3'"},
            "small group behind a coefficient",
        ),
    ],
)
def test_the_threshold_is_the_policys(check, people_by_cell, entry, rule, least):
    """One group has so many people: no rule looks at ten."""
    for few in (least - 1, least):
        codes = people_by_cell(
            *((1, {"A": "a1", "B": "b1", "AGE": 1, "PAY": k}) for k in range(few)),
            *((1, {"A": "a2", "B": f"b{k % 2 + 1}", "AGE": 3, "PAY": k}) for k in range(80)),
        )
        report = check(
            codes, entry, policy=Policy(threshold=least, residual_dof=0, zeros_are_disclosive=False)
        )
        (found,) = [one for one in report if one.rule == rule]
        assert found.status == ("fail" if few < least else "pass"), found.sentence
        assert (
            str(least - 1 if found.status == "pass" and rule == "threshold" else least)
            in found.sentence
        )
        assert "10 people" not in str([one.sentence for one in report])


def test_recipes_with_numbers_and_without_say_the_same():
    fields = OutputDomain((OutputColumn("A", ("p", "q")), OutputColumn("B", ("x", "y"))))
    counts = np.array([[20, 4], [30, 15]])
    codes = np.repeat(np.indices((2, 2)).reshape(2, -1).T, counts.ravel(), axis=0).astype(np.int32)
    bare = {"name": "t", "kind": "table", "by": ["A", "B"], "threshold": 10, "margins": True}
    full = {**bare, "counts": [[20, "x", 24], [30, 15, 45], [50, 19, 69]]}
    one, two = (check_rules(recipes_of([entry], fields), codes, Policy()) for entry in (bare, full))
    assert one.to_dict() == two.to_dict()
    assert [(f.rule, f.status) for f in one if f.status != "pass"] == [
        ("suppression undone", "fail"),
        ("differencing", "fail"),
    ]
    # "?" beside the small cell: only the numbers say that the cell is withheld.
    more = {**bare, "counts": [["?", "x", 24], ["?", "?", 45], [50, 19, 69]]}
    report = check_rules(recipes_of([more], fields), codes, Policy())
    assert report.worst == "pass"


def test_released_recipes():
    fields = OutputDomain((OutputColumn("A", ("p", "q")), OutputColumn("B", ("x", "y"))))
    codes = np.repeat([[0, 0], [1, 0], [1, 1]], [20, 30, 2], axis=0).astype(np.int32)
    new = recipes_of([{"name": "t", "kind": "table", "by": ["A"]}], fields)
    old = recipes_of([{"name": "s", "kind": "table", "by": ["A"], "where": "B == 'x'"}], fields)
    assert check_rules(new, codes, Policy()).worst == "pass"
    report = check_rules(new, codes, Policy(), released=old)
    assert [(f.output, f.other, f.status) for f in report if f.rule == "differencing"] == [
        ("t", "s", "fail")
    ]


def test_the_documented_file():
    """Every block of the page on outputs files, with the page's records; counts of the page are those of pandas."""
    import pandas as pd

    page = (ROOT / "docs" / "outputs-file.md").read_text("utf-8")
    data = tomllib.loads("\n".join(part.split("```")[0] for part in page.split("```toml\n")[1:]))
    raw, fields = (
        pd.read_csv(ROOT / "examples" / "data" / "cmc.csv"),
        Outputs.from_dict(data).fields,
    )
    columns = {}
    for field in fields:
        values = raw[NAMES[field.name]]
        first = 1 if field.name in ("EDUCATION", "METHOD") else 0
        columns[field.name] = (
            values.tolist() if field.numeric else [field.levels[v - first] for v in values]
        )
    codes = fields.codes(columns)
    recipes = recipes_of(data["outputs"], fields)
    report = check_rules(recipes, codes, Policy())
    failed = {(one.output, one.rule): one.where for one in report if one.status == "fail"}
    # By eye on the page: one cell of education by method is "<10", and the percentages of the same table show it as 5.9 of 152.
    assert failed["method within education", "threshold"] == ("none|long",)
    assert ("education by method", "threshold") not in failed
    assert failed["tree for method", "zeros"] == ("leaf 1: long",)
    assert ("media by method, with totals", "threshold") not in failed
    assert ("quartiles of age", "threshold") not in failed
    # "<10" follows from the total by method in "media by method, with totals".
    assert failed["education by method", "suppression undone"] == ("none|long",)
    told = json.dumps(report.to_dict())
    assert not any(name in told for where in failed.values() for name in where if "|" in name)


def test_names_must_differ(fields, people_by_cell):
    entry = {"name": "t", "kind": "table", "by": ["A"]}
    with pytest.raises(InputError, match="Two are called 't'"):
        check_entries([entry, entry], fields, people_by_cell((20, {})), Policy())


def _uncountable(monkeypatch, name):
    """Have one output fail where what lies behind it is counted."""
    real = TableSpec.tallies

    def tallies(self, tallier):
        if self.name == name:
            raise InputError("it has too many cells")
        return real(self, tallier)

    monkeypatch.setattr(TableSpec, "tallies", tallies)


def test_an_output_that_cannot_be_counted_is_not_assessed_and_stops_no_other(
    fields, people_by_cell, monkeypatch
):
    codes = people_by_cell(
        (30, {"A": "a1", "B": "b1"}), (3, {"A": "a1", "B": "b2"}), (30, {"A": "a2", "B": "b2"})
    )
    entries = [
        {"name": name, "kind": "table", "by": by} for name, by in (("x", ["A"]), ("y", ["A", "B"]))
    ]
    before = check_entries(entries, fields, codes, Policy())
    _uncountable(monkeypatch, "x")
    report = check_entries(entries, fields, codes, Policy())
    assert [(one.rule, one.status, one.sentence) for one in report.about("x")] == [
        (EVERY_RULE, "not assessed", "it has too many cells")
    ]
    alone = [
        one for one in before.about("y") if one.rule in ("threshold", "zeros", "class disclosure")
    ]
    assert len(alone) == 3
    assert set(alone) <= set(report.about("y"))
    assert report.status("y") == "fail"
    released = check_entries(entries[1:], fields, codes, Policy(), released=entries[:1])
    assert released.status("x") == "not assessed"
    assert {one.rule for one in released.about("y")} >= {"threshold", "zeros"}


def test_missing_values_ask_for_no_large_programme_in_whole_numbers(monkeypatch):
    """Four columns with missing values are 1,296 unknowns: far too many for a programme in whole numbers. Tables near the true one prove most cells without."""
    import scipy.optimize

    sizes, solve = [0], scipy.optimize.milp

    def noted(aim: Any, **options: Any) -> Any:
        sizes.append(len(aim) if "integrality" in options and options["integrality"].any() else 0)
        assert sizes[-1] <= 1_000, "a large programme in whole numbers"
        return solve(aim, **options)

    monkeypatch.setattr(scipy.optimize, "milp", noted)
    monkeypatch.setattr(
        "chaffinch.outputs.rules.feasible_tables.MAX_PROPOSALS", 0
    )  # no walks: programmes alone
    rng = np.random.default_rng(3)
    fields = OutputDomain(
        tuple(OutputColumn(name, tuple(f"{name}{k}" for k in range(5))) for name in "ABCD")
    )
    codes = np.minimum(rng.geometric(0.45, (1_500, 4)) - 1, 4).astype(np.int32)
    codes[rng.random(codes.shape) < 0.01] = -1
    entries = [{"name": name, "kind": "table", "by": [name]} for name in "ABCD"]
    entries += [
        {"name": a + b, "kind": "table", "by": [a, b], "threshold": 20}
        for a, b in combinations("ABCD", 2)
    ]
    found = [
        one
        for one in check_entries(entries, fields, codes, Policy(threshold=20))
        if one.rule == "suppression undone"
    ]
    assert {one.output for one in found} <= {a + b for a, b in combinations("ABCD", 2)}
    assert "pass" in {one.status for one in found}


@pytest.mark.parametrize(
    ("count", "threshold", "words"),
    [
        (0, 5, "none"),
        (4, 5, "fewer than 5"),
        (5, 5, "5"),
        (9, 5, "9"),
        (9, 10, "fewer than 10"),
        (19, 20, "fewer than 20"),
        (1234, 20, "1,234"),
    ],
)
def test_numbers_of_cells_below_the_threshold_are_hidden(
    count: int, threshold: int, words: str
) -> None:
    assert cells_in_words(count, threshold) == words


def test_what_may_leave_names_no_cell() -> None:
    one = finding(
        "t",
        "mean",
        "threshold",
        ["a1|b2"],
        total=4,
        sentence="One is small.",
        status="review",
        other="u",
    )
    assert one.to_dict() == {
        "output": "t",
        "other": "u",
        "rule": "threshold",
        "status": "review",
        "statbarn": "LinearAggregations",
        "cells": 1,
        "of": 4,
        "words": "One is small.",
        "others": [],
    }
    assert one.confidential() == {**one.to_dict(), "where": ["a1|b2"]}


def test_a_report_is_as_bad_as_its_worst_finding() -> None:
    good = finding(
        "t", "table", "threshold", [], total=4, clear_sentence="None is small.", sentence=""
    )
    unseen = finding(
        "u", "table", "differencing", ["x"], total=4, sentence="", status="not assessed", other="t"
    )
    report = RuleReport((good, unseen), "ours", "0" * 64)
    assert (good.status, report.worst, report.status("t"), report.status("v")) == (
        "pass",
        "not assessed",
        "not assessed",
        "pass",
    )
    assert [one.rule for one in report.about("u")] == ["differencing"]
    assert report.to_dict()["findings"] == [good.to_dict(), unseen.to_dict()]


def test_words() -> None:
    assert (count_phrase(2, 4), count_phrase(1, 1, "group"), statbarn_of("sd")) == (
        "2 of 4 cells",
        "the only group",
        "Shape",
    )


@pytest.mark.parametrize("seed", range(4))
def test_rows_that_stand_for_several_people_are_so_many_records(seed: int) -> None:
    """A table of counts as its own data, in place of one record for each person."""
    fields = OutputDomain((OutputColumn("A", ("a1", "a2", "a3")), OutputColumn("B", ("b1", "b2"))))
    rng = np.random.default_rng(seed)
    cells = np.indices((3, 2)).reshape(2, -1).T.astype(np.int32)
    counts = rng.integers(0, 25, len(cells))
    entries = [
        {"name": "t", "kind": "table", "by": ["A", "B"], "threshold": 10, "margins": True},
        {"name": "a", "kind": "table", "by": ["A"], "where": "B == 'b1'"},
    ]
    records = check_entries(entries, fields, np.repeat(cells, counts, axis=0), Policy())
    weighted = check_entries(entries, fields, cells, Policy(), weights=counts)
    assert weighted.confidential() == records.confidential()
