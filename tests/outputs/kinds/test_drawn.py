"""What is drawn record by record: points that are people fail; residuals are R's, and their ends one person's; both for rules only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from chaffinch._base.errors import InputError
from chaffinch.cli.app import app
from chaffinch.outputs.document import recipes_of
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.numbers import compare_numbers
from chaffinch.outputs.rules import Policy, check_entries

FIELDS = OutputDomain((OutputColumn("x", tuple(range(10))), OutputColumn("y", tuple(range(10)))))
SCATTER: dict[str, Any] = {"name": "s", "kind": "scatter", "x": "x", "y": "y"}
RESIDUALS: dict[str, Any] = {"name": "e", "kind": "residuals", "formula": "y ~ x"}


def test_points_that_few_people_have_fail() -> None:
    codes = np.array([[1, 2]] * 12 + [[3, 4]] * 9 + [[5, 5]], dtype=np.int32)
    report = check_entries([SCATTER], FIELDS, codes, Policy())
    (shown,) = [one for one in report if one.rule == "records shown"]
    assert (shown.status, shown.cells, shown.total, shown.where) == ("fail", 2, 3, ("3|4", "5|5"))
    assert "3|4" not in json.dumps(report.to_dict())
    assert check_entries([{**SCATTER, "where": "x < 2"}], FIELDS, codes, Policy()).worst == "pass"
    computed = recipes_of([SCATTER], FIELDS).computed(codes)
    assert computed.outputs[0].to_dict()["points"] == 3
    assert all(one.within for one in compare_numbers(computed, codes))


# R 4.2.2: quantile(resid(lm(num_children ~ wife_age + factor(wife_education), d)))
def test_residuals_are_those_of_r(cmc: Any) -> None:
    entry = {
        "name": "e",
        "kind": "residuals",
        "formula": "num_children ~ wife_age + C(wife_education)",
    }
    computed = recipes_of([entry], cmc.spec().fields).computed(cmc.codes())
    wanted = [
        -6.3437737631775,
        -1.0896309953126,
        -0.0853577319318,
        0.9724655277047,
        10.8363257139371,
    ]
    assert computed.outputs[0].to_dict()["values"] == pytest.approx(wanted, abs=1e-9)
    assert all(one.within for one in compare_numbers(computed, cmc.codes()))


def test_the_ends_of_residuals_are_one_persons() -> None:
    codes = np.array([[k % 10, (k * k + k // 10) % 10] for k in range(300)], dtype=np.int32)
    codes = np.vstack([codes, [[0, 9]]]).astype(np.int32)
    found = {one.rule: one for one in check_entries([RESIDUALS], FIELDS, codes, Policy())}
    assert found["ends"].status == "fail"
    without = {**RESIDUALS, "at": [0.25, 0.5, 0.75]}
    assert "ends" not in {one.rule for one in check_entries([without], FIELDS, codes, Policy())}
    few = {one.rule: one.status for one in check_entries([RESIDUALS], FIELDS, codes[:9], Policy())}
    assert (few["threshold"], few["residual degrees of freedom"]) == ("fail", "fail")


def test_bad_recipes() -> None:
    with pytest.raises(InputError, match="Unknown column 'z'"):
        recipes_of([{**SCATTER, "y": "z"}], FIELDS)
    with pytest.raises(InputError, match="z"):
        recipes_of([{**RESIDUALS, "formula": "y ~ z"}], FIELDS)
    with pytest.raises(InputError, match="must have 5 values"):
        recipes_of([{**RESIDUALS, "values": [1.0]}], FIELDS)


def test_that_they_are_for_rules_only_is_said(tmp_path: Path) -> None:
    lines = "".join(f"{k % 10},{(k * 3) % 10}\n" for k in range(200))
    (tmp_path / "people.csv").write_text("x,y\n" + lines, encoding="utf-8")
    head = 'format = "chaffinch-outputs"\nversion = 1\n'
    table = '[[outputs]]\nname = "t"\nkind = "table"\nby = ["x"]\n'
    drawn = '[[outputs]]\nname = "s"\nkind = "scatter"\nx = "x"\ny = "y"\n'
    (tmp_path / "o.toml").write_text(head + table + drawn, encoding="utf-8")
    words = [
        "check",
        str(tmp_path / "o.toml"),
        "--data",
        str(tmp_path / "people.csv"),
        "--keys",
        "x",
        "--sensitive",
        "y",
        "--syntheses",
        "2",
    ]
    words += [
        "--no-cumulative",
        "--seed",
        "1",
        "--json",
        str(tmp_path / "c.json"),
        "--html",
        str(tmp_path / "c.html"),
    ]
    done = CliRunner().invoke(app, words, env={"COLUMNS": "250"})
    assert "- Rules only: 's': " in done.output
    assert "rules only" in (tmp_path / "c.html").read_text("utf-8")
    (one,) = [
        one
        for one in json.loads((tmp_path / "c.json").read_text("utf-8"))["outputs"]
        if one["name"] == "s"
    ]
    assert one["rules_only"]
