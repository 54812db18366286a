"""Withheld cells that can be worked out: by hand, and against counting every table that fits."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch.outputs.document import output_of
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.rules import Policy, atoms, check_entries, feasible_tables, ranges
from chaffinch.outputs.rules.cell_counts import CellCounts, tallies_of
from chaffinch.outputs.rules.system import CellSystem


def tallies(entry: Any, fields: OutputDomain, codes: Any) -> list[CellCounts]:
    return tallies_of(output_of(entry), fields, codes)


RULE = "suppression undone"
TABLE = {"kind": "table", "by": ["A", "B"], "threshold": 10}


@pytest.fixture
def codes(people_by_cell):
    #        b1   b2
    #  a1    20    3
    #  a2    15   12
    #  a3    30   10
    sizes = {"a1": (20, 3), "a2": (15, 12), "a3": (30, 10)}
    return people_by_cell(
        *(
            (n, {"A": a, "B": b})
            for a, row in sizes.items()
            for n, b in zip(row, ("b1", "b2"), strict=True)
        )
    )


def test_totals_undo_a_single_withheld_cell(check, one, codes):
    assert one(check(codes, TABLE), RULE).status == "pass"
    found = one(check(codes, {**TABLE, "margins": True}), RULE)
    assert (found.status, found.other, found.where) == ("fail", None, ("a1|b2",))
    assert "a1" not in str(found.to_dict())


def test_so_does_its_n(check, one, codes):
    assert one(check(codes, {**TABLE, "n": 90}), RULE).status == "fail"


def test_withholding_others_beside_it_protects_the_cell(check, one, codes):
    # Four cells, a rectangle: row and column sums leave each an interval. "?" says nothing of a count.
    counts = [[20, "?", 23], ["?", "?", 27], [30, 10, 40], [65, 25, 90]]
    counts[0][0] = "?"
    found = one(check(codes, {**TABLE, "margins": True, "counts": counts}), RULE)
    assert found.status == "pass"
    # What sums leave: a1|b2 is 0 to 15, by the column's 25 - 10.
    assert (
        one(
            check(
                codes, {**TABLE, "margins": True, "counts": counts}, policy=Policy(protection=15)
            ),
            RULE,
        ).status
        == "pass"
    )
    assert (
        one(
            check(
                codes, {**TABLE, "margins": True, "counts": counts}, policy=Policy(protection=16)
            ),
            RULE,
        ).status
        == "fail"
    )
    # Two in one row only: the columns give them away.
    counts = [["?", "?", 23], [15, 12, 27], [30, 10, 40], [65, 25, 90]]
    assert one(check(codes, {**TABLE, "margins": True, "counts": counts}), RULE).where == ("a1|b2",)


def test_another_outputs_margin(check, codes):
    report = check(codes, TABLE, {"kind": "table", "by": ["A"]})
    (found,) = [each for each in report if each.rule == RULE]
    assert (found.status, found.output, found.other) == ("fail", "o1", "o2")
    report = check(codes, TABLE, {"kind": "table", "by": ["A"], "where": "Y == 'yes' or Y == 'no'"})
    assert [each.status for each in report if each.rule == RULE] == ["fail"]
    report = check(
        codes, TABLE, {"kind": "table", "by": ["A"], "where": "AGE < 50"}
    )  # another population
    assert [each.status for each in report if each.rule == RULE] == ["pass"]


def test_bands_that_do_not_fit_say_nothing(check, codes):
    banded = {"kind": "table", "by": ["A"], "groups": {"A": [["a1", "a2"], ["a3"]]}}
    assert [each.status for each in check(codes, TABLE, banded) if each.rule == RULE] == [
        "fail"
    ]  # 50 - 20 - 15 - 12
    crossing = {"kind": "table", "by": ["A"], "groups": {"A": [["a2", "a3"]]}}
    assert [each.status for each in check(codes, TABLE, crossing) if each.rule == RULE] == ["pass"]


def test_finer_outputs_and_filters_that_are_columns_elsewhere(check, codes):
    coarse = {"kind": "table", "by": ["B"], "where": "A == 'a1'", "threshold": 10}
    report = check(codes, coarse, {"kind": "table", "by": ["A", "B"]})
    assert [(each.other, each.status) for each in report if each.rule == RULE] == [("o2", "fail")]
    report = check(
        codes,
        coarse,
        {"kind": "table", "by": ["B", "Y"], "where": "A == 'a1'", "suppressed_zeros": True},
    )
    assert [(each.other, each.status) for each in report if each.rule == RULE] == [("o2", "fail")]


def test_a_finer_output_that_withholds_cells_of_its_own(check, people_by_cell):
    codes = people_by_cell(
        (20, {}), (20, {"Y": "yes"}), (4, {"B": "b2"}), (3, {"B": "b2", "Y": "yes"})
    )
    coarse = {"kind": "table", "by": ["B"], "threshold": 10}
    finer = {"kind": "table", "by": ["B", "Y"], "counts": [["?", 20], [4, 3]]}
    report = check(codes, coarse, finer)
    assert [
        (each.output, each.other, each.where)
        for each in report
        if each.rule == RULE and each.status == "fail"
    ] == [("o1", "o2", ("b2",))]


def test_zeros_need_protection_only_if_they_are_disclosive(check, one, people_by_cell):
    table = {"kind": "table", "by": ["B"], "threshold": 10, "suppressed_zeros": True, "n": 20}
    codes = people_by_cell((20, {}))
    assert one(check(codes, table), RULE).status == "fail"
    assert (
        one(check(codes, table, policy=Policy(zeros_are_disclosive=False)), RULE).status == "pass"
    )


def test_several_others_together(check, codes):
    # The rows' totals come from one output, and neither of the two columns of unknowns is closed by it alone.
    table = {**TABLE, "counts": [["?", "?"], [15, "?"], [30, 10]]}
    rows, columns = {"kind": "table", "by": ["A"]}, {"kind": "table", "by": ["B"]}
    assert [each.status for each in check(codes, table, rows) if each.rule == RULE] == ["pass"]
    found = [each for each in check(codes, table, rows, columns) if each.rule == RULE]
    assert [(each.status, each.other, each.others) for each in found] == [
        ("fail", None, ("o2", "o3"))
    ]
    assert "'o2', 'o3'" in found[0].sentence


def test_released_tables_are_protected_too(check, codes):
    alone = [
        {"name": "old", **TABLE, "margins": True}
    ]  # what it gave away itself is not the new output's fault
    assert not [
        each
        for each in check(codes, {"kind": "table", "by": ["A"]}, released=alone)
        if each.rule == RULE
    ]
    before = [{"name": "old", **TABLE}]
    report = check(codes, {"kind": "table", "by": ["A"]}, released=before)
    found = [each for each in report if each.rule == RULE]
    assert [(each.output, each.other, each.status) for each in found] == [("old", "o1", "fail")]
    assert not [
        each
        for each in check(
            codes, {"kind": "table", "by": ["Y"], "where": "AGE < 50"}, released=before
        )
        if each.rule == RULE and each.status == "fail"
    ]


def test_cells_withheld_to_protect_others_need_no_protection(check, one, codes):
    counts = [[20, 3], ["?", 12], [30, 10]]
    assert (
        one(check(codes, {**TABLE, "threshold": None, "counts": counts, "n": 90}), RULE).status
        == "pass"
    )


FIELDS = OutputDomain((OutputColumn("A", ("p", "q", "r")), OutputColumn("B", ("x", "y", "z"))))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 5), min_size=9, max_size=9).filter(any),
    st.sets(st.integers(0, 8), max_size=5),
    st.tuples(st.booleans(), st.booleans(), st.booleans()),
)
def test_bounds_are_those_of_all_tables_that_fit(cells, hidden, shown):
    """Tables of two columns: linear bounds are exact. Every filling of the withheld cells (0 to 5) is tried."""
    counts = np.array(cells).reshape(3, 3)
    codes = np.repeat(np.indices((3, 3)).reshape(2, -1).T, counts.ravel(), axis=0).astype(np.int32)
    given_counts = [
        ["0-5" if 3 * i + j in hidden else int(counts[i, j]) for j in range(3)] for i in range(3)
    ]
    table, *_ = tallies(
        {"name": "t", "kind": "table", "by": ["A", "B"], "counts": given_counts}, FIELDS, codes
    )
    others = []
    for by, is_shown in zip((["A"], ["B"], None), shown, strict=True):
        entry = (
            {"name": "n", "kind": "mean", "of": "A", "n": True}
            if by is None
            else {"name": "m", "kind": "table", "by": by}
        )
        if is_shown and by is not None:
            others += tallies(entry, FIELDS, codes)[:1]
        elif is_shown:
            others += [
                one
                for one in tallies(
                    {"name": "n", "kind": "ols", "formula": "x", "n": True}, FIELDS, codes
                )
                if one.part_name == "n"
            ]
    places = sorted(hidden)
    fitting = []
    for filled in product(range(6), repeat=len(places)):
        trial = counts.copy().ravel()
        trial[places] = filled
        trial = trial.reshape(3, 3)
        if (
            (not shown[0] or (trial.sum(axis=1) == counts.sum(axis=1)).all())
            and (not shown[1] or (trial.sum(axis=0) == counts.sum(axis=0)).all())
            and (not shown[2] or trial.sum() == counts.sum())
        ):
            fitting.append(trial.ravel())
    lo, hi, _ = CellSystem([table, *others]).ranges(table, others)
    assert lo.tolist() == np.min(fitting, axis=0).tolist()
    assert hi.tolist() == np.max(fitting, axis=0).tolist()


# --- a limit of work ---------------------------------------------------------------------------------------------------


@pytest.fixture
def programmes(monkeypatch):
    """Allow so many linear programmes for a table, and no walk to other records that fit."""

    def allow(number):
        monkeypatch.setattr(ranges.FittingTables, "cost", 1)
        monkeypatch.setattr(ranges, "MAX_WORK", number)
        monkeypatch.setattr(feasible_tables, "MAX_PROPOSALS", 0)

    return allow


OPEN = [["?", "?", 23], ["?", "?", 27], [30, 10, 40], [65, 25, 90]]
"""A rectangle of withheld cells, which only linear programmes can show to be safe."""


def test_what_was_not_looked_at_is_not_assessed(check, one, codes, programmes):
    programmes(0)
    report = check(codes, {**TABLE, "margins": True, "counts": OPEN})
    found = one(report, RULE)
    assert (found.status, found.where) == ("not assessed", ("a1|b2",))
    assert "looked at for none of fewer than 10 such cells" in found.sentence
    assert (report.worst, report.status("o1")) == ("not assessed", "not assessed")
    assert report.to_dict()["worst"] == "not assessed"
    assert "a1|" not in str(report.to_dict())
    programmes(1)
    assert one(check(codes, {**TABLE, "margins": True, "counts": OPEN}), RULE).status == "pass"


def test_few_cells_are_counted_from_the_policys_threshold_on(check, one, codes, programmes):
    programmes(0)
    entry = {**TABLE, "margins": True, "counts": OPEN}
    words = {
        least: one(check(codes, entry, policy=Policy(threshold=least)), RULE).sentence
        for least in (4, 16)
    }
    assert "looked at for none of fewer than 4 such cells" in words[4]
    assert "looked at for none of fewer than 16 such cells" in words[16]


def test_an_undone_cell_fails_whatever_was_not_looked_at(fields, programmes):
    """Two blocks in one table: of p a cell follows from its row, q and r are a rectangle that nobody looks at."""
    codes = np.repeat(
        np.indices((3, 3)).reshape(2, -1).T, [20, 15, 3, 4, 4, 20, 4, 4, 20], axis=0
    ).astype(np.int32)
    entry = {
        "name": "t",
        "kind": "table",
        "by": ["A", "B"],
        "margins": True,
        "counts": [[20, 15, "?", 38], ["?", "?", 20, 28], ["?", "?", 20, 28], [28, 23, 43, 94]],
    }
    programmes(0)
    report = check_entries([entry], FIELDS, codes, Policy())
    statuses = {one.status: one for one in report if one.rule == RULE}
    assert set(statuses) == {"fail", "not assessed"}
    assert statuses["fail"].where == ("p|z",)
    assert len(statuses["not assessed"].where) == 4
    assert "some of those do" in statuses["not assessed"].sentence
    assert report.worst == "fail"
    programmes(50)
    assert [
        one.status for one in check_entries([entry], FIELDS, codes, Policy()) if one.rule == RULE
    ] == ["fail"]


def test_a_table_beyond_the_limit_says_how_many_were_looked_at(programmes):
    rng = np.random.default_rng(5)
    fields = OutputDomain(
        tuple(OutputColumn(name, tuple(f"{name}{k}" for k in range(6))) for name in "AB")
    )
    codes = rng.integers(0, 6, (180, 2)).astype(np.int32)
    entry = {"name": "t", "kind": "table", "by": ["A", "B"], "margins": True, "threshold": 10}
    programmes(1)
    (found,) = (one for one in check_entries([entry], fields, codes, Policy()) if one.rule == RULE)
    assert found.status == "not assessed"
    assert 0 < found.cells < found.total
    assert (
        f"looked at for {found.total - found.cells:,} of {found.total:,} such cells"
        in found.sentence
    )
    programmes(400)
    (found,) = (one for one in check_entries([entry], fields, codes, Policy()) if one.rule == RULE)
    assert found.status == "pass"


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 5), min_size=9, max_size=9).filter(any),
    st.sets(st.integers(0, 8), min_size=4, max_size=9),
    st.integers(0, 6),
    st.integers(1, 3),
)
def test_a_limit_changes_no_answer_but_to_not_assessed(cells, hidden, programmes, protection):
    """Against the whole work: cells that are said to be safe, or undone, are so."""
    counts = np.array(cells).reshape(3, 3)
    codes = np.repeat(np.indices((3, 3)).reshape(2, -1).T, counts.ravel(), axis=0).astype(np.int32)
    shown = [
        ["0-5" if 3 * i + j in hidden else int(counts[i, j]) for j in range(3)] for i in range(3)
    ]
    table, *_ = tallies(
        {"name": "t", "kind": "table", "by": ["A", "B"], "counts": shown}, FIELDS, codes
    )
    others = [tallies({"name": "m", "kind": "table", "by": [by]}, FIELDS, codes)[0] for by in "AB"]
    secret = table.withheld
    system = CellSystem([table, *others])
    whole, nothing = system.disclosed_cells(table, others, secret, protection)
    assert not nothing.any()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranges.FittingTables, "cost", 1)
        patch.setattr(ranges, "MAX_WORK", programmes)
        system = CellSystem([table, *others])
        undone, unseen = system.disclosed_cells(table, others, secret, protection)
    assert not (undone & ~whole).any()
    assert not (whole & ~undone & ~unseen).any()


def test_what_one_sum_gives_away_is_passed_on_to_the_last():
    """Of 40 cells the last is known; each sum of two neighbours then gives away one more, from the last to the first."""
    fields = OutputDomain((OutputColumn("A", tuple(f"a{k:02}" for k in range(40))),))
    codes = np.repeat(np.arange(40), 3)[:, None].astype(np.int32)
    names = fields["A"].levels
    table, *_ = tallies(
        {"name": "t", "kind": "table", "by": ["A"], "counts": [*["0-9"] * 39, 3]}, fields, codes
    )
    pairs = [
        tallies(
            {
                "name": f"p{k}",
                "kind": "table",
                "by": ["A"],
                "groups": {"A": [[names[k], names[k + 1]]]},
            },
            fields,
            codes,
        )[0]
        for k in range(39)
    ]
    lo, hi, _ = CellSystem([table, *pairs]).ranges(table, pairs)
    assert lo.tolist() == hi.tolist() == [3] * 40


# --- one system over all outputs ---------------------------------------------------------------------------------------


def test_two_filters_that_make_up_a_third(check, people_by_cell):
    """By hand: of b2 there are 3 + 20 and 12 of a3; "AGE < 50" and "AGE >= 50" by B give 35 of b2, A gives 12 of a3: 35 - 20 - 12 = 3."""
    codes = people_by_cell(
        (20, {"A": "a1"}),
        (3, {"A": "a1", "B": "b2"}),
        (15, {"A": "a2", "AGE": 60}),
        (20, {"A": "a2", "B": "b2", "AGE": 60}),
        (30, {"A": "a3"}),
        (12, {"A": "a3", "B": "b2"}),
    )
    halves = [{"kind": "table", "by": ["B"], "where": where} for where in ("AGE < 50", "AGE >= 50")]
    assert [each.status for each in check(codes, TABLE, halves[0]) if each.rule == RULE] == ["pass"]
    (found,) = [each for each in check(codes, TABLE, *halves) if each.rule == RULE]
    assert (found.status, found.others, found.where) == ("fail", ("o2", "o3"), ("a1|b2",))


def test_whole_people_know_more_than_real_numbers():
    """Sums of each two of three cells, 1 to 2 each: 3, 3, 2 leaves no half a person; only 2, 1, 1 fits."""
    fields = OutputDomain((OutputColumn("A", ("p", "q", "r")),))
    codes = np.repeat([0, 1, 2], [2, 1, 1])[:, None].astype(np.int32)
    table, *_ = tallies(
        {"name": "t", "kind": "table", "by": ["A"], "counts": ["1-2", "1-2", "1-2"]}, fields, codes
    )
    pairs = [
        tallies(
            {"name": a + b, "kind": "table", "by": ["A"], "groups": {"A": [[a, b]]}}, fields, codes
        )[0]
        for a, b in ("pq", "qr")
    ]
    lo, hi, assessed = CellSystem([table, *pairs]).ranges(table, pairs)
    assert (lo.tolist(), hi.tolist(), assessed.tolist()) == ([2, 1, 1], [2, 1, 1], [True] * 3)


def test_halves_of_people_do_not_count():
    """Of four levels each two have 0 or 1 people together: so have all four, though halves of people would make 2. Everyone else is of B = 1."""
    fields = OutputDomain((OutputColumn("A", ("p", "q", "r", "s")), OutputColumn("B", (0, 1))))
    codes = np.array([[0, 0], *[[0, 1]] * 20], dtype=np.int32)
    table, *pairs = (
        tallies(
            {
                "name": "".join(some),
                "kind": "table",
                "by": ["A"],
                "groups": {"A": [list(some)]},
                "where": "B == 0",
                "counts": [sign],
            },
            fields,
            codes,
        )[0]
        for some, sign in [("pqrs", "0-4"), *((pair, "0-1") for pair in combinations("pqrs", 2))]
    )
    lo, hi, assessed = CellSystem([table, *pairs]).ranges(table, pairs)
    assert (lo.tolist(), hi.tolist(), assessed.tolist()) == ([0], [1], [True])


def test_a_total_of_none_and_a_total_that_its_part_reaches():
    """Counts are not below 0: a row of 0 in another output empties its cells, and a shown part as large as the whole the others."""
    codes = np.repeat(
        np.indices((3, 3)).reshape(2, -1).T, [9, 0, 0, 0, 0, 0, 4, 2, 3], axis=0
    ).astype(np.int32)
    shown = [[9, "0-9", "0-9"], ["0-9", "0-9", "0-9"], ["0-9", "0-9", "0-9"]]
    table, *_ = tallies(
        {"name": "t", "kind": "table", "by": ["A", "B"], "counts": shown}, FIELDS, codes
    )
    rows = tallies({"name": "r", "kind": "table", "by": ["A"]}, FIELDS, codes)[0]
    lo, hi, _ = CellSystem([table, rows]).ranges(table, [rows])
    assert lo.tolist() == [9, 0, 0, 0, 0, 0, 0, 0, 0]
    assert hi.tolist() == [9, 0, 0, 0, 0, 0, 9, 9, 9]


DEEP = OutputDomain(
    (OutputColumn("A", (0, 1)), OutputColumn("B", (0, 1)), OutputColumn("C", (0, 1)))
)
BESIDE = [
    {"by": ["A", "B"]},
    {"by": ["A", "C"]},
    {"by": ["B", "C"]},
    {"by": ["B"], "where": "A == 0"},
    {"by": ["C"]},
    {"by": ["A"], "where": "B == 0 or C == 1"},
    {"by": ["A", "C"], "threshold": 2},
    {"by": ["B"], "base": 3},
]


def compositions(total, parts):
    """Every way to put so many people into so many cells."""
    if parts == 1:
        return [(total,)]
    return [
        (first, *rest)
        for first in range(total + 1)
        for rest in compositions(total - first, parts - 1)
    ]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(*[st.integers(0, 1)] * 3), min_size=1, max_size=6),
    st.sampled_from([["A"], ["A", "B"], ["A", "B", "C"]]),
    st.lists(st.sampled_from(range(len(BESIDE))), max_size=3, unique=True),
)
def test_ranges_are_those_of_all_whole_tables_of_all_outputs(rows, by, chosen):
    """Every table of 2 x 2 x 2 cells with as many people that gives what all outputs show: the range of each withheld cell is theirs."""
    codes, each = (
        np.array(rows, dtype=np.int32),
        np.indices((2, 2, 2)).reshape(3, -1).T.astype(np.int32),
    )
    entries = [{"by": by, "bands": ["0-3"]}, *(BESIDE[k] for k in chosen)]
    # The cell of each combination of levels is that of a record with them.
    table, *shown = (
        tallies({"name": f"o{k}", "kind": "table", **entry}, DEEP, codes)[0]
        for k, entry in enumerate(entries)
    )
    labels = [
        tallies({"name": "d", "kind": "table", **entry}, DEEP, each)[0].labels for entry in entries
    ]
    fitting = np.array(compositions(len(rows), 8))
    for label, tally in zip(labels, (table, *shown), strict=True):
        counted = (
            fitting @ np.array([label == cell for cell in range(tally.size)], dtype=np.int64).T
        )
        fitting = fitting[((counted >= tally.lo) & (counted <= tally.hi)).all(axis=1)]
    counted = (
        fitting @ np.array([labels[0] == cell for cell in range(table.size)], dtype=np.int64).T
    )
    total = tallies({"name": "n", "kind": "ols", "formula": "x", "n": True}, DEEP, codes)[-1:]
    lo, hi, assessed = CellSystem([table, *shown, *total]).ranges(table, [*shown, *total])
    assert assessed.all()
    assert lo[table.withheld].tolist() == counted.min(axis=0)[table.withheld].tolist()
    assert hi[table.withheld].tolist() == counted.max(axis=0)[table.withheld].tolist()


def test_outputs_that_were_left_out_are_no_pass(check, one, codes, monkeypatch):
    """Where not all combinations of levels can be written out, what is open is not assessed; what is undone is."""
    columns = {"kind": "table", "by": ["B"], "where": "AGE < 30"}
    assert one(check(codes, TABLE, columns), RULE).status == "pass"
    monkeypatch.setattr(atoms, "MAX_ATOMS", 6)
    assert one(check(codes, TABLE, columns), RULE).status == "not assessed"
    assert [
        each.status
        for each in check(codes, TABLE, columns, {"kind": "table", "by": ["A"]})
        if each.rule == RULE
    ] == ["fail"]
