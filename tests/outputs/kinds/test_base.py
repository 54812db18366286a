"""A kind is one place: a toy one, added through the registry, is read, computed, judged by rules, on the page and in help.

And the page that documents the file: its blocks make a file with every kind of output, which the records behind it satisfy.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from typer.testing import CliRunner

from chaffinch._base.errors import InputError
from chaffinch.cli.app import app
from chaffinch.outputs.cells import CrossClassification, column_numbers, cross_classify
from chaffinch.outputs.contradictions import contradictions
from chaffinch.outputs.document import Outputs, read_outputs, recipes_of
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.equations import SumSystem
from chaffinch.outputs.filters import read_filter
from chaffinch.outputs.kinds import KINDS, Kind, OutputSpec
from chaffinch.outputs.kinds.base import (
    Estimates,
    NumberBlock,
    Sample,
    Statistic,
    Variable,
    groups_of,
)
from chaffinch.outputs.numbers import compare_numbers
from chaffinch.outputs.rules import Policy, check_rules
from chaffinch.outputs.rules.cell_counts import COUNT, CellCounter, CellCounts
from chaffinch.outputs.rules.evidence import Counts
from chaffinch.workflows.evolve import evolve

FIELDS = OutputDomain((OutputColumn("sex", ("f", "m")), OutputColumn("age", tuple(range(6)))))
FILE = """
format = "chaffinch-outputs"
version = 1
rows = 40
columns = [{ name = "sex", levels = ["f", "m"] }, { name = "age", from = 0, to = 5 }]
outputs = [
    { name = "old", kind = "count-above", of = "age", bound = 3, count = 17 },
    { name = "sexes", kind = "table", by = ["sex"], counts = [25, 15] },
]
"""


class AboveSpec(OutputSpec):
    """How many records have a number above a bound."""

    kind: Literal["count-above"] = "count-above"
    variable: Variable
    bound: float
    count: Annotated[int | None, Statistic(presence="required", is_whole=True)] = None

    def _step(self, fields: OutputDomain) -> tuple[int, Any]:
        field = fields[self.variable]
        return fields.position(self.variable), np.where(field.values > self.bound, 0, -1).astype(
            np.int64
        )

    def layout(self, frame: OutputDomain) -> Iterator[NumberBlock]:
        yield NumberBlock("count", ["count"], [self.count] if self.has_numbers else [], "whole")

    def estimates(self, sample: Sample) -> Mapping[str, Estimates]:
        ages = column_numbers(self.variable, sample.domain, sample.inside)
        return {"count": Estimates([int((ages > self.bound).sum())])}

    def tallies(self, counter: CellCounter) -> list[CellCounts]:
        return [
            counter.tally(
                "cells",
                CrossClassification((self._step(counter.domain),), (("above",),)),
                quantities=[COUNT],
            )
        ]

    def evidence(self, tallies: list[CellCounts], counter: CellCounter) -> Iterator[Any]:
        yield Counts(tallies)


@pytest.fixture
def toy() -> Iterator[Kind]:
    kind = KINDS.register(
        Kind("count-above", AboveSpec, "Frequencies", "how many lie above a bound", searched=False)
    )
    yield kind
    KINDS.remove(kind.name)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "outputs.toml"
    path.write_text(FILE, encoding="utf-8")
    return path


def test_a_toy_kind_is_read_computed_and_judged(toy: Kind, file: Path) -> None:
    spec = read_outputs(file, numbers="required")
    assert spec["old"].definition is toy
    codes = np.array([[0, 4]] * 3 + [[1, 1]] * 30, dtype=np.int32)
    recipes = read_outputs(file)
    assert recipes.computed(codes)["old"].to_dict() == {
        "name": "old",
        "kind": "count-above",
        "of": "age",
        "bound": 3,
        "count": 3,
    }
    assert [one.within for one in compare_numbers(spec, codes)] == [False, False]
    report = check_rules(recipes.only(["old"]), codes, Policy())
    assert next((one.rule, one.status, one.statbarn, one.where) for one in report) == (
        "threshold",
        "fail",
        "Frequencies",
        ("above",),
    )
    bare = recipes_of([{"name": "old", "kind": "count-above", "of": "age", "bound": 3}], FIELDS)
    assert not bare["old"].has_numbers
    assert bare.computed(codes).outputs[0].to_dict()["count"] == 3
    assert Policy(kinds={"count-above": {"threshold": 3}}).for_kind("count-above").threshold == 3


def test_a_toy_kind_is_in_results_and_on_the_page(toy: Kind, file: Path, tmp_path: Path) -> None:
    data, result, page = (tmp_path / name for name in ("people.csv", "c.json", "c.html"))
    data.write_text(
        "sex,age\n" + "".join(f"{'fm'[k % 3 == 0]},{k % 7 % 6}\n" for k in range(120)),
        encoding="utf-8",
    )
    words = [
        "check",
        str(file),
        "--data",
        str(data),
        "--keys",
        "sex",
        "--sensitive",
        "age",
        "--syntheses",
        "2",
    ]
    words += [
        "--no-cumulative",
        "--seed",
        "1",
        "--quiet",
        "--json",
        str(result),
        "--html",
        str(page),
    ]
    done = CliRunner().invoke(app, words)
    assert done.exit_code in (0, 1), done.output
    told = json.loads(result.read_text("utf-8"))
    (old,) = [one for one in told["outputs"] if one["name"] == "old"]
    assert (old["kind"], old["statbarn"]) == ("count-above", "Frequencies")
    assert "threshold" in {
        one["rule"] for one in told["rules"]["findings"] if one["output"] == "old"
    }
    assert "count-above" in page.read_text("utf-8")


def test_of_a_kind_for_rules_only_no_dataset_is_evolved(toy: Kind, file: Path) -> None:
    spec = read_outputs(file, numbers="required")
    assert spec.searched.names == ("sexes",)
    copy = evolve(spec, seed=1).copies[0]
    assert copy.reached
    assert [one.name for one in copy.outputs] == ["sexes"]
    with pytest.raises(InputError, match="of kind count-above only the rules are checked"):
        evolve(spec.only(["old"]))


@pytest.mark.parametrize("command", ["evolve", "check"])
def test_a_toy_kind_is_in_help(toy: Kind, command: str) -> None:
    text = "".join(
        CliRunner().invoke(app, [command, "--help-all"], env={"COLUMNS": "200"}).output.split()
    )
    assert "count-above" in text
    assert "chi-square" in text


def test_without_the_toy_it_is_unknown(file: Path) -> None:
    with pytest.raises(InputError, match="Unknown kind 'count-above'"):
        read_outputs(file, numbers="required")


# The page.

ROOT = Path(__file__).resolve().parents[3]
BLOCKS = re.findall(
    r"```toml\n(.*?)```", (ROOT / "docs" / "outputs-file.md").read_text("utf-8"), flags=re.DOTALL
)


@pytest.fixture(scope="module")
def documented(tmp_path_factory: pytest.TempPathFactory) -> Outputs:
    file = tmp_path_factory.mktemp("documented") / "outputs.toml"
    file.write_text("\n".join(BLOCKS), encoding="utf-8")
    return read_outputs(file, numbers="required")


def test_every_kind_is_shown(documented: Outputs) -> None:
    assert {output.kind for output in documented.outputs} == set(KINDS.names)
    page = (ROOT / "docs" / "outputs-file.md").read_text("utf-8")
    for kind in KINDS:
        for key in kind.spec.file_keys.values():
            assert re.search(rf"\b{key}\b", page), f"'{key}' of kind {kind.name} is not on the page"


def test_the_records_satisfy_the_page(documented: Outputs, codes: np.ndarray, check: Any) -> None:
    coefficients = {
        o.name
        for o in documented.problem().outputs
        if isinstance(o, SumSystem) and o.reported == "coefficients"
    }
    assert len(coefficients) == 12
    assert (
        set(check(documented, codes)) <= coefficients
    )  # whose scores are not 0 at rounded coefficients
    for output in documented.problem().outputs:
        if output.name in coefficients:
            assert isinstance(output, SumSystem)
            each = output.contributions(codes)
            # To first order: the score in units of its own spread, against one that a rounded coefficient can make.
            assert np.abs(each.sum(axis=0) / np.sqrt((each**2).sum(axis=0))).max() < 0.6


def test_the_page_does_not_contradict_itself(documented: Outputs) -> None:
    assert contradictions(documented) == []


def test_json_says_the_same(documented: Outputs, tmp_path: Path) -> None:
    file = tmp_path / "outputs.json"
    file.write_text(json.dumps(tomllib.loads("\n".join(BLOCKS))), encoding="utf-8")
    other = read_outputs(file, numbers="required")
    again = Outputs.from_dict(json.loads(json.dumps(documented.to_dict())))
    for spec in (other, again):
        assert [output.name for output in spec.problem().outputs] == [
            output.name for output in documented.problem().outputs
        ]
        for mine, theirs in zip(spec.problem().outputs, documented.problem().outputs, strict=True):
            np.testing.assert_array_equal(mine.lo, theirs.lo)
            np.testing.assert_array_equal(mine.hi, theirs.hi)


AGES = OutputDomain((OutputColumn("age", (0, 1, 2, 5)),))


def test_a_part_without_values_can_have_no_records() -> None:
    (group,) = groups_of(
        [""],
        AGES.with_rows(6),
        0,
        cross_classify([], {}, AGES, output="t"),
        read_filter(None, AGES, output="t"),
    )
    beyond = (group.values > 9).astype(int)
    assert group.cut("t", beyond, [6, 0], [6, 0], fault="nobody is so old").lo.tolist() == [6]
    with pytest.raises(InputError, match="nobody is so old"):
        group.cut("t", beyond, [5, 1], [5, 1], fault="nobody is so old")
