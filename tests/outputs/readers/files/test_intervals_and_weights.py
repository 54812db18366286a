"""Histograms, correlations and sums of weights as R 4.2, pandas and Stata print them; second opinions: numpy and scipy on the bundled records."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import pearsonr

import chaffinch
from chaffinch.outputs.readers.files.grids import csv_grid
from chaffinch.outputs.readers.files.parsed import ParsedTable, ParsedTest, interval_edges
from chaffinch.outputs.readers.files.programs.r_tables import read_r_tables
from chaffinch.outputs.readers.files.programs.r_tests import read_r_tests
from chaffinch.outputs.readers.files.programs.stata import read_stata_logs
from chaffinch.outputs.readers.files.protocol import Annotation, LineError, OpenQuestionError
from chaffinch.outputs.readers.files.read import read_files
from chaffinch.outputs.readers.files.sheet_tables import grid_matches
from chaffinch.outputs.rules import Policy

EXAMPLES = Path(__file__).parents[4] / "examples"
BROUGHT, DATA = EXAMPLES / "outputs" / "brought", EXAMPLES / "data" / "cmc.csv"
OUTPUTS = {output.name: output.parsed for output in read_files([BROUGHT]).outputs}
RECORDS = pd.read_csv(DATA)


@pytest.mark.parametrize(
    ("labels", "values"),
    [
        (["[10,20)", "[20,30)", "[30,40]"], [10, 19, 20, 29, 30, 40]),
        (["(30, 40]", "(10, 20]", "(20, 30]"], [11, 20, 21, 30, 31, 40]),
        (["[10,20]", "(20,30]"], [10, 20, 21, 30]),
    ],
)
def test_edges_of_intervals_put_each_value_where_pandas_does(
    labels: list[str], values: list[int]
) -> None:
    edges = interval_edges(labels)
    assert edges is not None
    counts = np.histogram(values, bins=np.array(edges))[0]
    assert counts.tolist() == [2] * len(labels)


@pytest.mark.parametrize(
    "labels", [["a", "b"], ["(1,2]", "(3,4]"], ["(1,2]", "(2,Inf]"], ["(1,2]"]]
)
def test_other_labels_are_no_bins(labels: list[str]) -> None:
    assert interval_edges(labels) is None


def test_the_smallest_value_is_seen_in_the_first_edge_that_pandas_lowers(tmp_path: Path) -> None:
    counts = RECORDS.wife_age.value_counts(bins=5).rename_axis("wife_age")
    edges = interval_edges([str(label) for label in counts.index])
    assert edges is not None
    assert (edges[0], edges[-1]) == (RECORDS.wife_age.min(), RECORDS.wife_age.max())
    counts.to_csv(tmp_path / "ages.csv")
    (printed,) = chaffinch.check(tmp_path, rules_only=True).summary
    assert (printed.verdict, printed.why) == ("not assessed", ("ends (not assessed)",))
    result = chaffinch.check(tmp_path, DATA, rules_only=True)
    assert result.outputs[0].consistent
    assert [row.verdict for row in result.summary] == ["review"]
    assert "ends (review)" in result.summary[0].why


@pytest.mark.parametrize("name", ["r_hist.txt", "pandas_bins.csv"])
def test_histograms_have_the_counts_of_the_records(name: str) -> None:
    table = OUTPUTS[name]
    assert isinstance(table, ParsedTable)
    assert (table.kind, table.by) == ("histogram", ("wife_age",))
    expected = np.histogram(RECORDS.wife_age, bins=[10, 25.5, 35.5, 60])[0]
    assert list(table.cells.values()) == expected.tolist()


def test_a_small_bin_fails_and_intervals_that_are_levels_stay_a_table(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('age,n\n"(10, 20]",4\n"(20, 30]",40\n')
    (row,) = chaffinch.check(tmp_path, rules_only=True).summary
    assert row.verdict == "fail"
    people = pd.DataFrame({"age": ["(10, 20]"] * 40 + ["(20, 30]"] * 40, "sex": ["f", "m"] * 40})
    (tmp_path / "t.csv").write_text('age,n\n"(10, 20]",40\n"(20, 30]",40\n')
    result = chaffinch.check(tmp_path, people, rules_only=True)
    assert [(row.kind, row.verdict) for row in result.summary] == [("table", "pass")]


def test_a_printed_histogram_that_is_cut_is_said() -> None:
    text = (BROUGHT / "r_hist.txt").read_text(encoding="utf-8")
    (match,) = read_r_tables(text[: text.index("$mids")].splitlines())
    with pytest.raises(LineError, match="breaks and a count between each two"):
        match.parse(Annotation())


# Correlations.


@pytest.mark.parametrize(
    "name", ["r_cor_test.txt", "r_cor_matrix.txt", "pandas_corr.csv", "stata_correlate.log"]
)
def test_correlations_are_those_of_the_records(name: str) -> None:
    test = OUTPUTS[name]
    assert isinstance(test, ParsedTest)
    assert (test.kind, test.n) == ("correlation", len(RECORDS))
    expected = pearsonr(RECORDS[test.by[0]], RECORDS[test.by[1]]).statistic
    rows = test.numbers.get("values")
    value = rows[1][0] if rows else test.numbers["value"]
    assert float(value) == pytest.approx(expected, abs=6e-5)


def test_a_matrix_of_correlations_is_asked_of_which_kind_and_of_how_many(tmp_path: Path) -> None:
    text = (BROUGHT / "pandas_corr.csv").read_text(encoding="utf-8")
    (match,) = grid_matches(csv_grid(text))
    with pytest.raises(OpenQuestionError, match="Are they Pearson's, and of how many people"):
        match.parse(Annotation())
    (wrong,) = grid_matches(csv_grid(",a,b\na,1.0,0.5\nb,0.4,1.0\n"))
    with pytest.raises(LineError, match="halves"):
        wrong.parse(Annotation(kind="correlation"))
    pairs = match.parse(Annotation(kind="correlation", n=9))
    assert {"fail", "not assessed"} <= {one.status for one in pairs.findings("c", Policy())}
    unsaid = match.parse(Annotation(kind="correlation"))
    assert {one.status for one in unsaid.findings("c", Policy())} == {"not assessed"}
    (tmp_path / "c.csv").write_text(text.replace("0.54", "0.55"))
    (tmp_path / "outputs.toml").write_text('"c.csv" = { kind = "correlation", n = 1473 }\n')
    (output,) = chaffinch.check(tmp_path, DATA, rules_only=True).outputs
    assert output.consistent is False


def test_few_people_and_a_perfect_correlation_do_not_pass() -> None:
    text = (BROUGHT / "r_cor_test.txt").read_text(encoding="utf-8")
    few = text.replace("df = 1471", "df = 6")
    (match,) = read_r_tests(few.splitlines())
    assert "fail" in {one.status for one in match.parse(Annotation()).findings("c", Policy())}
    (match,) = read_r_tests(text.replace("0.5401259", "1").splitlines())
    statuses = {one.status for one in match.parse(Annotation()).findings("c", Policy())}
    assert statuses == {"pass", "not assessed"}
    (match,) = read_r_tests(text[: text.index("sample estimates")].splitlines())
    with pytest.raises(LineError, match="before its estimate"):
        match.parse(Annotation())


def test_correlations_of_stata_with_more_beside_them_are_asked_for() -> None:
    text = (BROUGHT / "stata_correlate.log").read_text(encoding="utf-8")
    (match,) = read_stata_logs(text.replace("children\n", "children, covariance\n", 1).splitlines())
    with pytest.raises(OpenQuestionError, match="Give them alone"):
        match.parse(Annotation())
    (match,) = read_stata_logs(text.splitlines()[:-1])
    with pytest.raises(LineError, match="the log is cut"):
        match.parse(Annotation())


# Sums of weights.

# xtabs(w ~ wife_education + wife_now_working), of weights with two decimals
WEIGHTED = """              wife_now_working
wife_education      0      1
             1  41.96 150.31
             2  96.43 311.55
"""


@pytest.mark.parametrize("name", ["pandas_weighted.csv", "stata_fweights.log"])
def test_sums_of_weights_are_those_of_the_records(name: str) -> None:
    table = OUTPUTS[name]
    assert isinstance(table, ParsedTable)
    assert (table.kind, table.variable, table.people) == (
        "weighted-table",
        "standard_of_living",
        None,
    )
    sums = RECORDS.groupby(["wife_education", "wife_now_working"]).standard_of_living.sum()
    assert {tuple(map(int, key)): int(text) for key, text in table.cells.items()} == sums.to_dict()


def test_weighted_tables_of_r_are_asked_for_and_never_pass_without_records() -> None:
    (match,) = read_r_tables(WEIGHTED.splitlines())
    with pytest.raises(OpenQuestionError, match="neither counts nor shares"):
        match.parse(Annotation())
    with pytest.raises(OpenQuestionError) as caught:
        match.parse(Annotation(kind="weighted-table"))
    assert caught.value.keys["of"] == "WEIGHT"
    table = match.parse(Annotation(kind="weighted-table", of="w"))
    assert isinstance(table, ParsedTable)
    assert table.cells["2", "1"] == "311.55"
    assert [one.status for one in table.findings("t", Policy())] == ["not assessed"]


def test_weights_of_stata_that_are_no_sums_and_totals_that_are_none() -> None:
    text = (BROUGHT / "stata_fweights.log").read_text(encoding="utf-8")
    (match,) = read_stata_logs(text.replace("[fw=", "[aw=").splitlines())
    with pytest.raises(OpenQuestionError, match="It is weighted"):
        match.parse(Annotation())
    (match,) = read_stata_logs(text.replace("4,616", "4,617").splitlines())
    with pytest.raises(OpenQuestionError, match="may be a decimal sign"):
        match.parse(Annotation())
