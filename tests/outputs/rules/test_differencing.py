"""Outputs that differ by a few people: the usual ways by hand, and against trying all unions of cells."""

from __future__ import annotations

from itertools import chain, combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch.outputs.document import output_of
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.rules import Policy, check_entries
from chaffinch.outputs.rules import differencing as rule
from chaffinch.outputs.rules.cell_counts import CellCounts, tallies_of
from chaffinch.outputs.rules.differencing import Comparer, unions_of


def tallies(entry: Any, fields: OutputDomain, codes: Any) -> list[CellCounts]:
    return tallies_of(output_of(entry), fields, codes)


BY_A = {"kind": "table", "by": ["A"]}


def found(report):
    return [
        (each.output, each.other, each.status)
        for each in report
        if each.rule == "differencing" and each.status != "pass"
    ]


def test_two_tables_that_differ_by_one_person(check, codes):
    report = check(codes, BY_A, {**BY_A, "where": "AGE < 80"})
    assert found(report) == [("o1", "o2", "fail")]
    (one,) = [each for each in report if each.rule == "differencing"]
    assert "a2" not in str(one.to_dict())
    assert any("a2" in name for name in one.where)
    assert report.status("o2") == "fail"


def test_the_same_twice_and_different_columns_are_no_difference(check, codes):
    assert (
        found(
            check(
                codes,
                BY_A,
                BY_A,
                {"kind": "table", "by": ["B"]},
                {"kind": "table", "by": ["A", "B"]},
            )
        )
        == []
    )
    assert found(check(codes, BY_A, {**BY_A, "where": "AGE < 50"})) == []
    assert (
        found(check(codes, BY_A, {**BY_A, "where": "AGE < 80"}, policy=Policy(differencing=False)))
        == []
    )


def test_shifted_bands(check, codes):
    young = {"kind": "table", "by": ["AGE"], "groups": {"AGE": [[0, 49], [50, 99]]}}
    older = {"kind": "table", "by": ["AGE"], "groups": {"AGE": [[0, 50], [51, 99]]}}
    assert found(check(codes, young, older)) == [("o1", "o2", "fail")]  # three people aged 50
    two_years = {"kind": "table", "by": ["AGE"], "groups": {"AGE": [[0, 47], [48, 99]]}}
    assert found(check(codes, young, two_years)) == [("o1", "o2", "fail")]  # six people
    four_years = {"kind": "table", "by": ["AGE"], "groups": {"AGE": [[0, 45], [46, 99]]}}
    assert found(check(codes, young, four_years)) == []  # twelve
    later = {"kind": "table", "by": ["AGE"], "groups": {"AGE": [[0, 59], [60, 99]]}}
    assert found(check(codes, young, later)) == []


def test_bands_that_shift_only_in_the_middle(check, codes):
    # No band lies in another: only [0, 29] and [30, 49] together lie in [0, 39] and [40, 50].
    one = {
        "kind": "table",
        "by": ["AGE"],
        "groups": {"AGE": [[0, 29], [30, 49], [50, 69], [70, 99]]},
    }
    two = {
        "kind": "table",
        "by": ["AGE"],
        "groups": {"AGE": [[0, 39], [40, 50], [51, 59], [60, 99]]},
    }
    assert found(check(codes, one, two)) == [("o1", "o2", "fail")]


def test_totals_against_totals(check, codes):
    logit = {"kind": "ols", "formula": "PAY ~ AGE", "n": 181}
    assert found(
        check(codes, logit, {"kind": "mean", "of": "AGE", "where": "AGE < 80", "n": 180})
    ) == [("o2", None, "fail"), ("o1", None, "review")]
    without = {"kind": "mean", "of": "AGE", "where": "AGE < 80"}
    assert found(check(codes, logit, without)) == []  # a mean without its n
    histogram = {"kind": "histogram", "of": "AGE", "edges": [20, 50, 79]}
    assert found(check(codes, logit, histogram)) == [("o2", None, "fail"), ("o1", None, "review")]


def test_the_same_regression_on_two_populations(check, codes):
    fit = {"kind": "ols", "formula": "PAY ~ AGE"}
    assert found(check(codes, fit, {**fit, "where": "AGE < 80"})) == [("o1", "o2", "review")]
    assert found(check(codes, fit, {**fit, "formula": "PAY ~ A", "where": "AGE < 80"})) == []


def test_a_finer_table_with_a_group_left_out(check, people_by_cell):
    codes = people_by_cell(
        *((30, {"A": a, "Y": y}) for a in ("a1", "a2", "a3") for y in ("no", "yes")),
        (4, {"A": "a2", "B": "b2", "Y": "yes"}),
    )
    finer = {"kind": "table", "by": ["A", "Y"], "where": "B == 'b1'"}
    assert found(check(codes, BY_A, finer)) == [("o1", "o2", "fail")]
    assert found(check(codes, finer, BY_A)) == [("o1", "o2", "fail")]
    assert found(
        check(codes, {"kind": "table", "by": ["A", "Y"]}, {**BY_A, "where": "B == 'b1'"})
    ) == [("o1", "o2", "fail")]


def test_an_omitted_group_of_its_own(check, codes):
    # The n counts everyone, the bands leave out those from 80 on.
    banded = {"kind": "table", "by": ["AGE"], "groups": {"AGE": [[0, 49], [50, 79]]}}
    assert found(check(codes, banded)) == []
    assert found(check(codes, {**banded, "n": 181})) == [("o1", None, "fail")]


def test_means_of_the_same_number(check, codes):
    mean = {"kind": "mean", "of": "PAY", "by": ["A"]}
    assert found(check(codes, mean, {**mean, "where": "AGE < 80"})) == [("o1", "o2", "fail")]
    assert found(check(codes, mean, {**mean, "of": "AGE", "where": "AGE < 80"})) == []
    assert found(check(codes, mean, {**mean, "kind": "sum", "where": "AGE < 80"})) == [
        ("o1", "o2", "fail")
    ]


def test_trees_and_survival(check, codes):
    leaves = [{"where": "AGE <= 49", "n": True}, {"where": "AGE > 49", "n": True}]
    other = [{"where": "AGE <= 50", "n": True}, {"where": "AGE > 50", "n": True}]
    assert found(
        check(codes, {"kind": "tree", "leaves": leaves}, {"kind": "tree", "leaves": other})
    ) == [("o1", "o2", "fail")]
    survival = {
        "kind": "kaplan-meier",
        "time": "AGE",
        "event": "Y",
        "level": "yes",
        "times": [20, 50],
        "at_risk": True,
    }
    bands = {"kind": "table", "by": ["AGE"], "groups": {"AGE": [[20, 48], [49, 99]]}}
    assert found(check(codes, survival, bands)) == [("o1", "o2", "fail")]


def test_what_is_released_already(check, codes):
    before = [{"name": "old", **BY_A}, {"name": "older", **BY_A, "where": "AGE < 80"}]
    assert found(check(codes, {"kind": "table", "by": ["B"]}, released=before)) == [
        ("o1", "older", "fail")
    ]
    assert (
        found(check(codes, {"kind": "table", "by": ["Y"], "where": "AGE < 40"}, released=before))
        == []
    )


def test_rounding_and_decimals_leave_it_open(check, codes):
    cut = {**BY_A, "where": "AGE < 80"}
    assert found(check(codes, {**BY_A, "base": 5}, {**cut, "base": 5})) == [("o1", "o2", "review")]
    assert found(check(codes, {**BY_A, "base": 10}, {**cut, "base": 10})) == []
    shares = {"kind": "table", "by": ["A"], "percentages": "all", "n": True}
    assert found(check(codes, {**shares, "decimals": 2}, {**cut, **shares, "decimals": 2})) == [
        ("o1", "o2", "fail")
    ]


def test_only_for_these_records(check, people_by_cell):
    # Everyone of b2 but three is of a1, and nobody of b2 is of a2: nothing in the definitions says so.
    codes = people_by_cell(
        (40, {"A": "a1", "B": "b2"}), (3, {"A": "a1"}), (40, {"A": "a2"}), (40, {"A": "a3"})
    )
    assert found(check(codes, BY_A, {"kind": "table", "by": ["B"], "groups": {"B": [["b2"]]}})) == [
        ("o1", "o2", "review")
    ]


def test_withheld_cells_cannot_be_subtracted(check, codes):
    cut = {**BY_A, "where": "AGE < 80"}
    assert found(check(codes, {**BY_A, "counts": [60, "?", 60]}, cut)) == []


FIELDS = OutputDomain(
    (
        OutputColumn("A", ("p", "q", "r")),
        OutputColumn("B", ("x", "y")),
        OutputColumn("C", (0, 1, 2, 3)),
    )
)
WHERE = st.sampled_from([None, "C >= 1", "C != 2", "A != 'p'", "B == 'x'", "C < 3 or A == 'q'"])
BY = st.sampled_from(
    [
        (["A"], {}),
        (["A", "B"], {}),
        (["C"], {"C": [[0, 1], [2, 3]]}),
        (["C"], {"C": [[0, 0], [1, 2]]}),
        (["B", "C"], {"C": [[1, 3]]}),
    ]
)
ROWS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 3)), min_size=1, max_size=40
)


def cells_of(labels):
    return [frozenset(np.flatnonzero(labels == k).tolist()) for k in np.unique(labels[labels >= 0])]


def unions(cells):
    every = chain.from_iterable(combinations(cells, k) for k in range(1, len(cells) + 1))
    return {frozenset().union(*some) for some in every}


@settings(max_examples=150, deadline=None)
@given(ROWS, BY, WHERE, BY, WHERE, st.integers(2, 6))
def test_all_unions_of_cells_agree(rows, by, where, other_by, other_where, threshold):
    codes = np.array(rows, dtype=np.int32)
    one, two = (
        tallies(
            {"name": name, "kind": "table", "by": columns, "groups": groups, "where": text},
            FIELDS,
            codes,
        )[0]
        for name, (columns, groups), text in (("1", by, where), ("2", other_by, other_where))
    )
    reported = bool(Comparer().compare(one, two, threshold).differences)
    first, second = cells_of(one.labels), cells_of(two.labels)
    few = range(1, threshold)
    nested = any(
        (small < large and len(large - small) in few)
        for a in unions(first)
        for b in unions(second)
        for small, large in ((a, b), (b, a))
    )
    # What is reported is there.
    assert not reported or nested
    # Two cells, one in the other, are reported, unless the difference is made up of cells that are published themselves.
    for large, small, others in [(a, b, second) for a in first for b in second] + [
        (b, a, first) for a in first for b in second
    ]:
        inside = frozenset().union(*(cell for cell in others if cell <= large))
        if small < large and len(large - small) in few and inside != large:
            assert reported


def test_unions_beyond_the_limit_of_one_search_are_not_lost_as_totals():
    """Two tables of 144 cells, of which 128 are united in one search, whose totals differ by two people, spread over all cells otherwise."""
    fields = OutputDomain(
        (*(OutputColumn(name, tuple(range(12))) for name in "ABC"), OutputColumn("D", (0, 1)))
    )
    codes = np.random.default_rng(3).integers(0, [12, 12, 12, 1], (7_200, 4)).astype(np.int32)
    codes[:2, 3] = 1
    entries = [
        {"name": "1", "kind": "table", "by": ["A", "B"]},
        {"name": "2", "kind": "table", "by": ["A", "C"], "where": "D == 0"},
    ]
    report = check_entries(entries, fields, codes, Policy())
    assert found(report) == [("1", "2", "fail")]


# --- limits ----------------------------------------------------------------------------------------------------------

MANY = OutputDomain(
    (OutputColumn("Z", tuple(range(300))), OutputColumn("W", (0, 1)), OutputColumn("Y", (0, 1)))
)


def many(few=5):
    """Twelve people of each of 300 levels, a few of the first 200 levels with W = 1."""
    codes = np.zeros((3600, 3), dtype=np.int32)
    codes[:, 0] = np.repeat(np.arange(300), 12)
    codes[np.arange(few) * 24, 1] = 1
    codes[:, 2] = np.arange(3600) % 2
    return codes


FINE = {"name": "o1", "kind": "table", "by": ["Z"]}
COARSE = {
    "name": "o2",
    "kind": "table",
    "by": ["Z"],
    "groups": {"Z": [[0, 199]]},
    "where": "W == 0",
}


def of_many(codes, *entries):
    return [
        one for one in check_entries(entries, MANY, codes, Policy()) if one.rule == "differencing"
    ]


def test_a_union_of_two_hundred_cells_is_looked_at():
    """The first 200 cells of one table are the one cell of the other and five people more."""
    (found_one,) = of_many(many(), FINE, COARSE)
    assert (found_one.status, found_one.other) == ("fail", "o2")
    assert {one.status for one in of_many(many(0), FINE, COARSE)} == {"pass"}


def test_unions_beyond_the_limit_of_work_are_not_assessed(monkeypatch):
    monkeypatch.setattr(rule, "MAX_STEPS", 0)
    (found_one,) = of_many(many(), FINE, COARSE)
    assert (found_one.status, found_one.other) == ("not assessed", "o2")
    assert "nothing is known" in found_one.sentence
    assert not any(one.status == "pass" for one in of_many(many(0), FINE, COARSE))
    # All pairs share one limit.
    monkeypatch.undo()
    monkeypatch.setattr(rule, "MAX_STEPS_OF_ALL", 0)
    assert of_many(many(), FINE, COARSE)[0].status == "not assessed"


def test_finds_that_were_not_looked_at_are_not_assessed(monkeypatch):
    """W differs from Y by a few people in each of many places, never by definition."""
    rng = np.random.default_rng(3)
    codes = many(0)
    codes[:, 1] = codes[:, 0] % 2
    codes[rng.choice(3600, 200, replace=False), 1] ^= 1
    finer = {"name": "o1", "kind": "table", "by": ["Z", "Y"]}
    other = {"name": "o2", "kind": "table", "by": ["Z", "W"]}
    assert {one.status for one in of_many(codes, finer, other)} <= {
        "review",
        "not assessed",
        "fail",
    }
    monkeypatch.setattr(rule, "MAX_CHECKED", 1)
    with_one = {one.status for one in of_many(codes, finer, other)}
    monkeypatch.setattr(rule, "MAX_CHECKED", 10_000)
    with_all = {one.status for one in of_many(codes, finer, other)}
    assert with_all == {"review"}
    assert with_one == {"not assessed"}


@settings(max_examples=100, deadline=None)
@given(ROWS, BY, WHERE, BY, WHERE, st.integers(2, 6))
def test_a_limit_of_work_leaves_out_no_find_without_a_word(
    rows, by, where, other_by, other_where, threshold
):
    codes = np.array(rows, dtype=np.int32)
    one, two = (
        tallies(
            {"name": name, "kind": "table", "by": columns, "groups": groups, "where": text},
            FIELDS,
            codes,
        )[0]
        for name, (columns, groups), text in (("1", by, where), ("2", other_by, other_where))
    )
    whole = [
        (each.outer.output, each.cells, each.by_definition)
        for each in Comparer().compare(one, two, threshold).differences
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rule, "MAX_SMALL_CELLS", 0)
        sparse = [
            (each.outer.output, each.cells, each.by_definition)
            for each in Comparer().compare(one, two, threshold).differences
        ]
        patch.setattr(rule, "MAX_STEPS", 0)
        cut = Comparer().compare(one, two, threshold)
    assert sparse == whole
    assert not cut.differences
    assert cut.unseen or not whole


def test_margins_of_a_table_of_many_columns_are_made_where_they_are_wanted():
    fields = OutputDomain(tuple(OutputColumn(name, (0, 1, 2)) for name in "ABCDEF"))
    codes = np.random.default_rng(2).integers(0, 3, (4_000, 6)).astype(np.int32)
    wide, two = ({"name": by, "kind": "table", "by": list(by)} for by in ("ABCDEF", "AC"))
    # Beside a table by A and C it is the margin by A and C.
    beside = rule._margins_beside(tallies(wide, fields, codes), tallies(two, fields, codes))
    assert [sorted(position for position, _ in one.steps) for one in beside] == [[0, 2]]


def test_of_numbers_that_cannot_be_subtracted_nothing_is_said(check, people_by_cell):
    codes = people_by_cell((60, {"A": "a1"}), (60, {"A": "a2", "AGE": 7}))
    report = check(
        codes, {"kind": "median", "of": "AGE", "by": ["A"]}, {"kind": "table", "by": ["A"]}
    )
    assert [one.output for one in report if one.rule == "differencing"] == ["o2"]


def test_an_output_of_a_subset_fails_and_not_those_that_print_n(check, codes):
    """Eight outputs of all 181 people, and one of 180: it is the one that shows a person, beside any of the others."""
    whole = [
        {"kind": "ols", "formula": f"PAY ~ {right}", "n": 181}
        for right in ("AGE", "A", "B", "Y", "A + B", "A + Y", "B + Y")
    ]
    subset = {"kind": "mean", "of": "AGE", "where": "AGE < 80", "n": 180}
    report = check(codes, *whole[:4], subset, *whole[4:], BY_A)
    assert {one.output: one.status for one in report if one.rule == "differencing"} == {
        **{f"o{k}": "review" for k in (1, 2, 3, 4, 6, 7, 8, 9)},
        "o5": "fail",
    }
    (bad,) = [one for one in report if one.status == "fail"]
    assert bad.sentence.startswith("It leaves out fewer than 10 people who are in 'o1', 'o2', 'o3'")
    assert check(codes, *whole, BY_A).worst == "pass"


def test_one_of_a_subset_that_is_out_already_fails_what_would_show_who_is_not_in_it(check, codes):
    subset = {"kind": "mean", "of": "AGE", "where": "AGE < 80", "n": 180}
    fit = {"kind": "ols", "formula": "PAY ~ AGE", "n": 181}
    assert found(check(codes, fit, released=[{**subset, "name": "old"}])) == [("o1", "old", "fail")]
    assert found(check(codes, subset, released=[{**fit, "name": "old"}])) == [("o1", None, "fail")]


def test_numbers_of_people_who_lack_a_value_are_for_a_person_to_look_at(check, codes):
    """One person without B: two n tell that somebody has none, tables tell of whom, and sums what the person earns."""
    codes = codes.copy()
    codes[7, 1] = -1
    fits = [
        {"kind": "ols", "formula": f"PAY ~ {right}", "n": n}
        for right, n in (("AGE", 181), ("B", 180), ("A", 181))
    ]
    assert found(check(codes, *fits)) == [("o1", "o2", "review"), ("o2", "o3", "review")]
    assert found(check(codes, fits[0], {"kind": "table", "by": ["B"]})) == [
        ("o2", None, "fail"),
        ("o1", None, "review"),
    ]
    assert found(check(codes, BY_A, {"kind": "table", "by": ["A", "B"]})) == [("o1", "o2", "fail")]
    mean = {"kind": "mean", "of": "PAY", "n": True}
    assert found(check(codes, mean, {**mean, "by": ["B"]})) == [("o1", "o2", "fail")]


@pytest.mark.parametrize(
    ("shared", "a_out", "b_out", "threshold", "few"),
    [
        ([[20]], [3], [0], 10, 3),
        ([[20]], [3], [0], 3, 0),
        ([[20]], [0], [3], 10, 0),
        ([[20, 15]], [0], [0, 0], 10, 0),
        ([[20, 4]], [0], [0, 1], 10, 4),
        ([[20, 0], [15, 0], [0, 30]], [1, 2, 0], [0, 0], 10, 3),
    ],
)
def test_people_beyond_the_union_inside(
    shared: Any, a_out: list[int], b_out: list[int], threshold: int, few: int
) -> None:
    table, sizes = np.array(shared), (np.array(a_out), np.array(b_out))
    beyond = [
        int(
            (table.sum(axis=1) + sizes[0])[union].sum()
            - (table.sum(axis=0) + sizes[1])[inside].sum()
        )
        for union, inside in unions_of(table, *sizes, threshold).pairs
    ]
    assert max(beyond, default=0) == few


PEOPLE = st.sampled_from([0, 0, 0, 1, 2, 5, 9, 10, 30])


@st.composite
def shared_people(draw, most=5):
    n_a, n_b = draw(st.integers(1, most)), draw(st.integers(1, most))
    table = np.array(draw(st.lists(PEOPLE, min_size=n_a * n_b, max_size=n_a * n_b))).reshape(
        n_a, n_b
    )
    a_out, b_out = (
        np.array(draw(st.lists(st.sampled_from([0, 0, 1, 3, 12]), min_size=n, max_size=n)))
        for n in (n_a, n_b)
    )
    return table, a_out, b_out


def looked_at(found: Any) -> set[bytes]:
    return {np.concatenate(one).tobytes() for one in found.pairs}


@settings(max_examples=400, deadline=None)
@given(shared_people(most=8), st.integers(2, 10), st.integers(1, 5))
def test_the_unions_of_many_cells_are_those_of_few(shared: Any, threshold: int, batch: int) -> None:
    """Sparse matrices and one seed of those that bring in each other, up to a limit of steps."""
    table, *rest = shared
    whole = unions_of(table, *rest, threshold)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rule, "MAX_SMALL_CELLS", 0)
        patch.setattr(rule, "SEEDS", batch)
        many = unions_of(table, *rest, threshold)
        cut = unions_of(table, *rest, threshold, most_steps=1)
        none = unions_of(table, *rest, threshold, most_steps=0)
    assert looked_at(many) == looked_at(whole)
    assert not any(cells.any() for cells in many.unseen)
    assert looked_at(cut) <= looked_at(whole)
    assert any(cells.any() for cells in cut.unseen) or looked_at(cut) == looked_at(whole)
    for cells, axis in zip(none.unseen, (1, 0), strict=True):
        assert (cells == (table.sum(axis=axis) > 0)).all()


@settings(max_examples=150, deadline=None)
@given(shared_people(most=4), st.integers(2, 10))
def test_a_difference_is_found_where_there_is_one(shared, threshold):
    """Every union of a's cells is tried, with all of b's cells that lie within it; a cell of a that shares nobody with these is a small count of its own."""
    table, a_out, b_out = shared
    there = False
    for chosen in product([False, True], repeat=len(table)):
        mask = np.array(chosen)
        within = (b_out == 0) & (table[~mask].sum(axis=0) == 0) & (table.sum(axis=0) > 0)
        beyond = (table.sum(axis=1) + a_out)[mask].sum() - table.sum(axis=0)[within].sum()
        tied = (table[mask][:, within] > 0).any(axis=1).all()
        there |= bool(within.any() and tied and 0 < beyond < threshold)
    found = unions_of(table, a_out, b_out, threshold).pairs
    assert bool(found) == there
    for mask, within in found:
        beyond = (table.sum(axis=1) + a_out)[mask].sum() - (table.sum(axis=0) + b_out)[within].sum()
        assert 0 < beyond < threshold
        assert (table[~mask][:, within] == 0).all()
        assert (b_out[within] == 0).all()
