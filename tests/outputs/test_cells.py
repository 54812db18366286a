"""Columns crossed into cells: pandas counts the same, nested lists and names say the same, and equations add up what is counted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from chaffinch._base.errors import InputError
from chaffinch.outputs.cells import (
    CrossClassification,
    cell_array,
    cell_names,
    cross_classify,
    crosstab,
    record_groups,
    scalar_code,
    sums_by_cell,
    table_of_counts,
    unite_groups,
    with_margins,
)
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.equations import CountTable, SumSystem
from chaffinch.outputs.filters import read_filter

FIELDS = OutputDomain(
    (
        OutputColumn("sex", ("f", "m")),
        OutputColumn("age", tuple(range(6))),
        OutputColumn("area", ("n", "e", "s", "w")),
    )
)
GROUPS = {"age": [[0, 1], [3, 5]], "area": {"up": ["n"], "sides": ["e", "w"]}}


@pytest.fixture(scope="module")
def codes() -> Any:
    rng = np.random.default_rng(1)
    return np.stack([rng.integers(0, len(field.levels), 200) for field in FIELDS], axis=1).astype(
        np.int32
    )


@pytest.fixture(scope="module")
def cells() -> CrossClassification:
    return cross_classify(["sex", "age", "area"], GROUPS, FIELDS, output="t")


def groups_of(codes: Any) -> pd.DataFrame:
    """The same groups by pandas; rows in none are left out."""
    frame = pd.DataFrame(
        {field.name: [field.levels[k] for k in codes[:, p]] for p, field in enumerate(FIELDS)}
    )
    frame["age"] = frame["age"].map({0: "0-1", 1: "0-1", 3: "3-5", 4: "3-5", 5: "3-5"})
    frame["area"] = frame["area"].map({"n": "up", "e": "sides", "w": "sides"})
    return frame.dropna()


def test_counts_and_margins_are_those_of_pandas(cells: CrossClassification, codes: Any) -> None:
    counts = groups_of(codes).value_counts()
    names = cell_names(cells)
    assert names[:3] == ["f|0-1|up", "f|0-1|sides", "f|3-5|up"]
    assert crosstab(cells, codes).ravel().tolist() == [
        counts.get(tuple(name.split("|")), 0) for name in names
    ]
    two = cross_classify(["sex", "area"], {}, FIELDS, output="t")
    frame = pd.DataFrame(codes[:, [0, 2]], columns=["sex", "area"])
    expected = pd.crosstab(frame["sex"], frame["area"], margins=True)
    assert with_margins(crosstab(two, codes)).tolist() == expected.to_numpy().tolist()
    assert cell_names(two, margins=True)[4] == "f|All"


def test_records_of_each_cell(cells: CrossClassification, codes: Any) -> None:
    rows = list(record_groups(cells, codes))
    assert [len(some) for some in rows] == crosstab(cells, codes).ravel().tolist()
    assert sorted(int(row) for some in rows for row in some) == groups_of(codes).index.tolist()
    none = cross_classify([], {}, FIELDS, output="t")
    assert (none.size, [len(some) for some in record_groups(none, codes)]) == (1, [200])
    assert unite_groups(cells.steps[1])[1].tolist() == [0, 0, -1, 0, 0, 0]


@pytest.mark.parametrize("where", [None, "sex == 'm' and age > 1", "sex == 'm' or age > 3"])
def test_equations_count_what_is_counted(
    cells: CrossClassification, codes: Any, where: str | None
) -> None:
    """A filter of single columns is folded into the table; one that ties columns together makes sums of indicators."""
    frame, kept = FIELDS.with_rows(len(codes)), read_filter(where, FIELDS)
    counts = crosstab(cells, codes[kept.record_mask(codes)])
    part = table_of_counts("t", frame, cells.steps, kept, counts, counts)
    assert isinstance(part, SumSystem if where and " or " in where else CountTable)
    made = (
        part.counts(codes)
        if isinstance(part, CountTable)
        else part.contributions(codes).sum(axis=0)
    )
    assert made.tolist() == part.lo.tolist()
    assert made.sum() == counts.sum()


def test_sums_by_cell_by_hand(cells: CrossClassification, codes: Any) -> None:
    terms = sums_by_cell(
        FIELDS.with_rows(200), cells, [((1,), lambda grid: FIELDS["age"].values[grid[1]])]
    )
    sums = terms.evaluate(codes, 2 * cells.size).sum(axis=0).reshape(-1, 2)
    for k, rows in enumerate(record_groups(cells, codes)):
        assert sums[k].tolist() == [len(rows), codes[rows, 1].sum()]


def test_nested_lists_and_names_say_the_same() -> None:
    cells = cross_classify(["sex", "area"], {"area": GROUPS["area"]}, FIELDS, output="t")
    named = {"f|up": 1, "f | sides": 2, "m|up": 3, "m|sides": 4}
    assert (
        cell_array([[1, 2], [3, 4]], cells, what="counts").tolist()
        == cell_array(named, cells, what="counts").tolist()
    )
    assert cell_array({"m|up": 3}, cells, what="counts", absent=0).tolist() == [[0, 0], [3, 0]]
    assert cell_array(
        [[1, 2, 3], [3, 4, 7], [4, 6, 10]], cells, what="counts", total="All"
    ).shape == (
        3,
        3,
    )
    for wrong, words in (
        ([[1, 2]], "must have 2 x 2 entries"),
        ([[1, 2], [3, [4]]], "Got deeper lists"),
        ([[1, 2], 3], "Got no list at depth 2"),
        ({"f|up": 1}, "must give a number for each of its 4 cells"),
        ({"f|down": 1}, "Unknown cell"),
    ):
        with pytest.raises(InputError, match=words):
            cell_array(wrong, cells, what="counts")


@pytest.mark.parametrize(
    ("by", "groups", "words"),
    [
        (["sex", "sex"], {}, "name each of its columns once"),
        (["sex"], {"age": [[0, 1]]}, "groups for a column that it does not use"),
        (["sx"], {}, "Did you mean 'sex'"),
        (["age"], {"age": [[0, 2], [2, 3]]}, "overlap"),
        (["age"], {"age": [[7, 9]]}, "group 1 has no level"),
        (["age"], {"age": [[0, 1, 2]]}, "two numbers, both included"),
        (["age"], {"age": 3}, "a list of groups, or groups by name"),
        (["area"], {"area": [[]]}, "a list of levels for words"),
    ],
)
def test_groups_that_cannot_be(by: list[str], groups: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        cross_classify(by, groups, FIELDS, output="t")


def test_groups_that_messages_may_name() -> None:
    """Of the areas n, e and s are common; a group's own name is as common as any of its levels, a name made of levels as all of them."""
    common = frozenset({"n", "e", "s", "0"})
    fields = OutputDomain(
        tuple(OutputColumn(one.name, one.levels, common=common & set(one.labels)) for one in FIELDS)
    )
    area = cross_classify(["area"], {"area": [["n", "e"], ["s", "w"]]}, fields, output="t")
    assert (area.names, area.safe_names) == ((("n+e", "s+w"),), (("n+e", "…"),))
    assert cross_classify(
        ["area"], {"area": {"rest": ["s", "w"]}}, fields, output="t"
    ).safe_names == (("rest",),)
    assert cross_classify(["age"], {"age": [[0, 1], [2, 3]]}, fields, output="t").safe_names == (
        ("0-1", "…"),
    )
    both = cross_classify(["sex", "area"], {}, fields, output="t")
    assert both.safe_cell(4) == "…|n"
    assert both.rare == {"f", "m", "w"}


def test_a_level_that_an_output_names() -> None:
    assert scalar_code(FIELDS["sex"], None, output="t", key="success") == 1
    assert scalar_code(FIELDS["area"], "s", output="t", key="success") == 2
    with pytest.raises(InputError, match="must say which level of column 'area'"):
        scalar_code(FIELDS["area"], None, output="t", key="success")
    with pytest.raises(InputError, match="Output 't': Unknown level"):
        scalar_code(FIELDS["area"], "x", output="t", key="success")
