"""Tables against pandas: the records behind a table satisfy it in every form it is printed in, other records do not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from chaffinch._base.errors import InputError
from chaffinch.outputs.equations import CountTable, SumSystem

BY = ["wife_education", "contraceptive_method"]


def crosstab(study: Any, **options: Any) -> pd.DataFrame:
    return pd.crosstab(study.frame[BY[0]], study.frame[BY[1]], dropna=False, **options)


def both(
    study: Any, check: Any, output: dict[str, Any], *, shuffle: str = "contraceptive_method"
) -> list[Any]:
    """The records satisfy the output, the shuffled ones do not; returns the equation sets."""
    spec = study.spec(output)
    assert check(spec, study.codes()) == []
    assert check(spec, study.shuffled(shuffle)) != []
    return list(spec.problem().outputs)


def test_exact_counts(cmc: Any, check: Any) -> None:
    (table,) = both(
        cmc, check, {"kind": "table", "by": BY, "counts": crosstab(cmc).to_numpy().tolist()}
    )
    assert isinstance(table, CountTable)
    assert table.shape == (4, 3)
    assert table.lo.sum() == len(cmc.frame)


def test_cells_by_name_and_those_not_named_are_zero(cmc: Any, check: Any) -> None:
    counts = cmc.frame[BY].value_counts()
    cells = {f"{a} | {b}": int(n) for (a, b), n in counts.items() if n}
    (table,) = both(cmc, check, {"kind": "table", "by": BY, "cells": cells})
    del cells["none | none"]
    (fewer,) = cmc.spec({"kind": "table", "by": BY, "cells": cells}).problem().outputs
    assert fewer.lo[0] == fewer.hi[0] == 0 != table.lo[0]


def test_a_filter_folds_into_the_table(cmc: Any, check: Any) -> None:
    where = "wife_age >= 30 and media_exposure == 'good' and wife_education != 'none'"
    kept = cmc.frame.query(where)
    counts = pd.crosstab(kept[BY[0]], kept[BY[1]], dropna=False).reindex(
        cmc.frame[BY[0]].cat.categories, fill_value=0
    )
    tables = both(
        cmc,
        check,
        {
            "kind": "table",
            "by": BY,
            "where": where,
            "n": len(kept),
            "counts": counts.to_numpy().tolist(),
        },
    )
    assert [table.name for table in tables] == ["o0", "o0: n"]
    assert all(isinstance(table, CountTable) for table in tables)
    assert tables[0].shape == (3, 3, 1, 1)  # "none" is gone


def test_a_filter_that_ties_columns_together_becomes_sums(cmc: Any, check: Any) -> None:
    where = "wife_age >= 30 or media_exposure == 'poor'"
    kept = cmc.frame.query(where)
    counts = pd.crosstab(kept[BY[0]], kept[BY[1]], dropna=False).to_numpy().tolist()
    tables = both(
        cmc, check, {"kind": "table", "by": BY, "where": where, "n": len(kept), "counts": counts}
    )
    assert [type(table) for table in tables] == [SumSystem, SumSystem]


def test_counts_where_the_filter_leaves_none(cmc: Any) -> None:
    counts = crosstab(cmc).to_numpy().tolist()
    with pytest.raises(InputError, match="'o0' counts records in cells that its filter leaves out"):
        cmc.spec(
            {"kind": "table", "by": BY, "where": "wife_education != 'none'", "counts": counts}
        ).problem()


def test_suppressed_rounded_and_unknown_cells(cmc: Any, check: Any) -> None:
    groups = {"num_children": [[0, 0], [1, 4], [5, 16]]}
    bands = pd.cut(cmc.frame["num_children"], [-1, 0, 4, 16])
    counts = (
        pd.crosstab([cmc.frame["wife_education"], bands], cmc.frame["media_exposure"], dropna=False)
        .to_numpy()
        .reshape(4, 3, 2)
    )
    shown = [[[("<10" if 0 < n < 10 else int(n)) for n in row] for row in part] for part in counts]
    output = {
        "kind": "table",
        "by": ["wife_education", "num_children", "media_exposure"],
        "groups": groups,
    }
    (table,) = both(cmc, check, {**output, "counts": shown}, shuffle="num_children")
    small = (counts > 0) & (counts < 10)
    assert small.any()
    assert (table.lo.reshape(counts.shape)[small] == 1).all()
    assert (table.hi.reshape(counts.shape)[small] == 9).all()
    withheld = [[["x" if 0 < n < 10 else int(n) for n in row] for row in part] for part in counts]
    (same,) = cmc.spec({**output, "counts": withheld, "threshold": 10}).problem().outputs
    np.testing.assert_array_equal(same.hi, table.hi)
    rounded = (np.round(counts / 5) * 5).astype(int).tolist()
    (five,) = both(cmc, check, {**output, "counts": rounded, "base": 5}, shuffle="num_children")
    assert (five.hi - five.lo).max() == 4
    down = (counts // 10 * 10).tolist()
    both(
        cmc,
        check,
        {**output, "counts": down, "base": 10, "rounding": "down"},
        shuffle="num_children",
    )


def test_margins_are_tables_of_their_own(cmc: Any, check: Any) -> None:
    counts = crosstab(cmc, margins=True).to_numpy().tolist()
    tables = both(cmc, check, {"kind": "table", "by": BY, "counts": counts, "margins": True})
    assert [table.name for table in tables] == [
        "o0",
        "o0: wife_education",
        "o0: contraceptive_method",
        "o0: all",
    ]
    np.testing.assert_array_equal(tables[1].lo, crosstab(cmc).sum(axis=1))
    np.testing.assert_array_equal(tables[3].lo, [len(cmc.frame)])


@pytest.mark.parametrize(
    ("of", "normalize"), [("all", "all"), ("rows", "index"), ("columns", "columns")]
)
def test_percentages(cmc: Any, check: Any, of: str, normalize: str) -> None:
    shares = (100 * crosstab(cmc, normalize=normalize)).round(1)
    (table,) = both(
        cmc,
        check,
        {
            "kind": "table",
            "by": BY,
            "percentages": of,
            "values": shares.to_numpy().tolist(),
            "decimals": 1,
        },
    )
    # All rows are the total of percentages of all; rows and columns have totals that nobody published.
    assert isinstance(table, CountTable if of == "all" else SumSystem)
    # Digits in quotes say the same.
    quoted = [[f"{p:.1f}" for p in row] for row in shares.to_numpy()]
    (again,) = (
        cmc.spec({"kind": "table", "by": BY, "percentages": of, "values": quoted}).problem().outputs
    )
    np.testing.assert_allclose(again.lo, table.lo, atol=1e-12)


def test_percentages_with_totals(cmc: Any, check: Any) -> None:
    shares, totals = (
        (100 * crosstab(cmc, normalize="index")).round(1),
        crosstab(cmc).sum(axis=1).tolist(),
    )
    output = {
        "kind": "table",
        "by": BY,
        "percentages": "rows",
        "values": shares.to_numpy().tolist(),
        "decimals": 1,
    }
    table, of_rows = both(cmc, check, {**output, "totals": totals})
    assert isinstance(table, CountTable)
    assert of_rows.lo.tolist() == totals


def test_a_percentage_that_no_count_has(cmc: Any) -> None:
    values = [[33.33, 66.67], [0.0, 0.0]]
    output = {
        "kind": "table",
        "by": ["wife_now_working", "media_exposure"],
        "percentages": "all",
        "values": values,
        "decimals": 2,
    }
    with pytest.raises(
        InputError,
        match="'o0': a percentage: no count out of its total of 100 records prints as this",
    ):
        cmc.spec({**output, "where": "wife_age > 20", "n": 100}).problem()


def test_shares_have_their_derivatives(cmc: Any, slopes_hold: Any) -> None:
    shares = (100 * crosstab(cmc, normalize="index")).round(1).to_numpy().tolist()
    (system,) = (
        cmc.spec({"kind": "table", "by": BY, "percentages": "rows", "values": shares})
        .problem()
        .outputs
    )
    slopes_hold(system.reported, crosstab(cmc).to_numpy().astype(float).ravel())


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"by": ["sex"], "counts": [1, 2]}, "Unknown column 'sex'"),
        ({"by": ["wife_education"], "counts": [1, 2]}, "'o0' must have 4 entries.*Got a list of 2"),
        ({"by": ["wife_education"], "counts": [1, 2, 3, [4]]}, "nested 1 deep"),
        (
            {"by": ["wife_education"], "counts": [1, 2, 3, None]},
            "suppressed: say below which count",
        ),
        ({"by": ["wife_education"], "counts": [1, 2, 3, -4]}, "whole number of at least 0"),
        ({"by": ["wife_education"], "counts": [1, 2, 3, 4.5]}, "whole number of at least 0"),
        (
            {"by": ["wife_education"], "cells": {"mots": 4}},
            "Unknown cell 'mots'. Cells are listed only where",
        ),
        ({"by": ["wife_education"]}, "must have counts, or cells, or values"),
        (
            {"by": ["wife_education"], "values": [1, 2, 3, 4]},
            "must have counts, or cells, or values with percentages",
        ),
        ({"by": BY[:1] * 2, "counts": []}, "must name each of its columns once"),
        (
            {
                "by": ["num_children"],
                "groups": {"num_children": [[0, 4], [3, 16]]},
                "counts": [1, 2],
            },
            "overlap",
        ),
        (
            {"by": ["num_children"], "groups": {"num_children": [[20, 30]]}, "counts": [1]},
            "has no level",
        ),
        (
            {"by": ["num_children"], "groups": {"wife_age": [[20, 30]]}, "counts": [1]},
            "groups for a column that it does not use",
        ),
        (
            {"by": BY[:1], "groups": {BY[0]: [["none", "soem"]]}, "counts": [1]},
            "Unknown level 'soem' of column 'wife_education'",
        ),
        (
            {"by": BY[:1], "counts": [1, 2, 3, 4], "totals": [1]},
            "totals, which belong to percentages",
        ),
    ],
)
def test_bad_tables(cmc: Any, keys: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        cmc.spec({"kind": "table", **keys}).problem()


def test_histograms_count_as_numpy_does(cmc: Any, check: Any) -> None:
    counts, edges = np.histogram(cmc.frame["wife_age"], bins=[15, 20, 30, 40, 49])
    spec = cmc.spec(
        {"kind": "histogram", "of": "wife_age", "edges": edges.tolist(), "counts": counts.tolist()}
    )
    assert check(spec, cmc.codes()) == []
    older = cmc.frame.copy()
    older["wife_age"] = np.minimum(older["wife_age"] + 1, 49)
    assert check(spec, cmc.codes(older)) == ["o0"]
