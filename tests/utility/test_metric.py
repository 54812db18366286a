"""A metric is one place: a toy one, registered, stands in results, plain data, the page, a comparison and `--help`."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import chaffinch
from chaffinch.cli.app import app
from chaffinch.errors import InputError, UnknownNameError
from chaffinch.report.compare import compare
from chaffinch.report.release import render
from chaffinch.report.result import report_of
from chaffinch.stats.intervals import Result
from chaffinch.utility import METRICS, Metric, UtilityResult, UtilitySettings, choices


@dataclass(frozen=True, kw_only=True, repr=False)
class Drawn(Result):
    name: ClassVar[str] = "drawn"
    direction: ClassVar[Any] = "lower is better"
    identical: ClassVar[float] = 0.0

    rows: int = 0

    def details(self):
        return {"rows": self.rows}


PHRASES = ("Much stays", "Some stays", "Little stays", "Nothing stays")
DRAWN = Metric(
    name="drawn",
    kind=Drawn,
    # Independent columns score 0.9 or more, all else below 0.1: a draw from the metric's own stream.
    measure=lambda run, side: Drawn(
        value=0.1 * np.random.default_rng(run.seed).random() + 0.9 * (side == "marginals"),
        rows=run.tables[side].n_rows,
    ),
    title="A number drawn",
    question="Is a number drawn?",
    definition="A uniform number, and nine tenths more for independent columns.",
    source="Nobody 2020",
    phrases=PHRASES,
    detail="the number is {value}",
)
TWICE = replace(
    DRAWN,
    name="drawn.twice",
    id="",
    choice="",
    title="Twice the number",
    measure=lambda run, side: Drawn(value=2 * run.results["drawn"][side].value),
    derived_from=("drawn",),
)


@pytest.fixture
def drawn():
    for metric in (DRAWN, TWICE):
        METRICS.register(metric)
    yield
    for metric in (DRAWN, TWICE):
        METRICS.remove(metric.name)


@pytest.fixture(scope="module")
def cmc(data):
    table = chaffinch.read(data / "cmc.csv")
    return table, chaffinch.Independent().fit(table).sample(500, seed=2)


def test_a_toy_metric_is_found_everywhere(drawn, cmc, data, tmp_path):
    result = chaffinch.utility(*cmc, measures=["drawn", "tvd"], seed=1)
    one = result["drawn"]
    assert one.rows == 500
    assert result["drawn.twice"].value == 2 * one.value
    assert result.references["drawn"].marginals == pytest.approx(
        one.value + 0.9
    )  # the same stream for every table
    row = next(row for row in result.verdict if row.id == "drawn")
    assert (row.word, row.share_kept) == ("close", 1.0)
    assert row.sentence.startswith("Much stays: the number is ")

    plain = json.loads(json.dumps(result.to_dict()))
    assert plain["drawn"]["rows"] == 500
    assert plain["drawn"]["twice"]["value"] == 2 * one.value
    assert UtilityResult.from_dict(plain)["drawn"] == one

    page = render(report_of(plain, title="t"))
    for words in (
        "A number drawn",
        "Twice the number",
        "Nobody 2020",
        "Is a number drawn?",
        "Much stays",
    ):
        assert words in page
    assert "A number drawn" in result.to_html()
    assert [
        row.measure for row in compare(plain, plain).measures if row.id.startswith("drawn")
    ] == [
        "A number drawn",
        "Twice the number",
    ]

    said = CliRunner().invoke(app, ["utility", "--help-all"], terminal_width=200).output
    assert "delta, drawn, as A,B" in " ".join(said.replace("│", " ").split())
    cmc[1].write(tmp_path / "s.csv")
    asked = [
        "utility",
        str(data / "cmc.csv"),
        str(tmp_path / "s.csv"),
        "--measures",
        "drawn",
        "--seed",
        "1",
    ]
    done = CliRunner().invoke(app, [*asked, "--json", str(tmp_path / "u.json")])
    assert done.exit_code == 0, done.output
    assert "A number drawn" in done.output
    assert next(iter(json.loads((tmp_path / "u.json").read_text())["drawn"])) == "value"


def test_without_it_nothing_else_moves_and_its_plain_data_are_passed_over(cmc):
    METRICS.register(DRAWN)
    try:
        with_it = chaffinch.utility(*cmc, measures=["drawn", "tvd", "pmse"], seed=1)
        plain = with_it.to_dict()
    finally:
        METRICS.remove("drawn")
    without = chaffinch.utility(*cmc, measures=["tvd", "pmse"], seed=1)
    assert {name: with_it[name] for name in without.results} == without.results
    assert "drawn" not in UtilityResult.from_dict(plain).results
    assert "drawn" not in choices()
    with pytest.raises(UnknownNameError, match="Unknown measure 'drawn'"):
        chaffinch.utility(*cmc, measures=["drawn"])


def test_a_name_is_registered_once_and_groups_are_known():
    with pytest.raises(InputError, match="There is a metric 'mu' already"):
        METRICS.register(replace(DRAWN, name="mu", id=""))
    with pytest.raises(UnknownNameError, match=r"Unknown group 'hole'\. Did you mean 'whole'"):
        replace(DRAWN, group="hole")


def test_streams_are_a_metrics_own():
    others = {metric.choice: metric.stream for metric in METRICS}
    assert DRAWN.stream not in others.values()
    assert DRAWN.stream == TWICE.stream or DRAWN.choice != TWICE.choice
    assert [others[name] for name in ("tvd", "pmse", "learning", "delta")] == [5, 7, 9, 10]


def test_metrics_that_are_derived_come_after_what_they_are_made_of():
    names = METRICS.names
    for metric in METRICS:
        assert all(names.index(part) < names.index(metric.name) for part in metric.derived_from)
        assert metric.kind.direction in ("lower is better", "higher is better")
        assert metric.title
        assert metric.question
        assert metric.definition
        assert metric.source


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("repeats", "repeats must be a whole number of at least 1. Got 0"),
        ("threshold", "threshold must be a whole number of at least 1. Got 0"),
    ],
)
def test_numbers_have_rules(option, words):
    with pytest.raises(InputError, match=words):
        UtilitySettings(**{option: 0})


def test_another_threshold_reaches_everything_that_leaves():
    """Level 'few' has 14 records: ten would let it show, twenty does not; no rounded count is below the threshold."""
    rng = np.random.default_rng(1)
    n = 300
    area = np.where(np.arange(n) < 14, "few", rng.choice(["north", "south"], n))
    income = rng.normal(30, 5, n).round(1) + 3 * (area == "few")
    ill = np.where(rng.random(n) < 0.3, "yes", "no")
    original = chaffinch.read(pa.table({"area": area, "income": income, "ill": ill}))
    synthetic = pa.table(
        {
            "area": rng.permutation(area),
            "income": rng.permutation(income),
            "ill": rng.permutation(ill),
        }
    )
    asked = {
        "formula": "income ~ area",
        "label": "area",
        "models": ["nb"],
        "repeats": 1,
        "svm_rows": 100,
        "seed": 1,
    }
    for threshold, shows in ((10, True), (20, False)):
        plain = chaffinch.utility(original, synthetic, threshold=threshold, **asked).to_dict()
        terms = json.dumps(plain["regression"])
        levels = {level for matrix in plain["learning"]["confusion"] for level in matrix["levels"]}
        assert ("area[few]" in terms or '"area": "few"' in terms) == shows
        assert ("few" in levels) == shows
        counts = [c for m in plain["learning"]["confusion"] for row in m["counts"] for c in row]
        assert all(
            count == 0 or count == f"<{threshold}" or count % threshold == 0
            for count in counts
            if count != f"<{threshold}"
        )
        for words in re.findall(r"fewer than (\d+)", json.dumps(plain)):
            assert int(words) in (threshold, 20)  # 20 groups of records too
        assert plain["about"]["original"]["rows"] == 300
    small = original.data.slice(0, 15)
    few = chaffinch.utility(
        original, small, measures=["jensen_shannon", "impossible"], threshold=20, seed=1
    ).to_dict()
    assert few["about"]["synthetic"]["rows"] == "<20"
