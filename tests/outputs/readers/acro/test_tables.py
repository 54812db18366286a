"""Tables of ACRO: what is withheld, rounded or a total, and what cannot be told."""

import csv

import pandas as pd
import pytest

from chaffinch.outputs.document import Outputs
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.kinds import KINDS
from chaffinch.outputs.readers.acro.read import UnclearError
from chaffinch.outputs.readers.acro.tables import read_layout


def test_several_functions_have_their_own_class_and_name(read, entries):
    found = {output.name: output.statbarn for output in read.outputs_of("five functions")}
    assert found == {
        "five functions: mean": "LinearAggregations",
        "five functions: std": "Shape",
        "five functions: count": "Frequencies",
        "five functions: sum": "LinearAggregations",
        "five functions: median": "Position",
    }
    assert entries(read, "five functions")["median"]["n"]["4|1"] == 402


def test_means_have_full_precision(read, frame):
    (entry,) = (
        output.entry
        for output in read.outputs_of("means with totals")
        if output.name == "means with totals"
    )
    assert "decimals" not in entry
    north = frame[(frame.area == "north") & (frame.wife_education == 4)].num_children
    assert entry["values"]["4|north"] * len(north) == pytest.approx(north.sum(), abs=1e-9)


def test_totals_of_means_are_outputs_of_their_own(read, frame, entries):
    found = entries(read, "means with totals")
    assert set(found) == {"", "by area", "by wife_education", "in all"}
    assert found["in all"]["value"] == pytest.approx(frame.num_children.mean())
    assert found["by area"]["by"] == ["area"]


def test_totals_of_counts(read, entries):
    assert entries(read, "counts with totals")[""]["margins"] is True
    assert entries(read, "counts with totals")[""]["cells"]["All|All"] == 1473
    assert set(entries(read, "two by two")) == {
        "",
        "by area and uses",
        "by wife_education and media_exposure",
    }


def test_suppressed_counts_are_intervals(read, entries):
    entry = entries(read, "suppressed")[""]
    assert entry["cells"]["1|2"] == "x"
    assert (entry["threshold"], entry["suppressed_zeros"]) == (
        10,
        True,
    )  # ACRO turns zeros into missing numbers, too
    output = KINDS["table"].spec.model_validate(dict(entry))
    (equations,) = Outputs(read.fields, (output,), 1473).problem().outputs
    assert (equations.lo.min(), equations.hi[1]) == (0, 9)


def test_totals_of_suppressed_and_rounded_tables_are_left_out(read, entries):
    for uid in ("suppressed with totals", "rounded", "rounded sums"):
        (output,) = read.outputs_of(uid)
        assert "margins" not in output.entry
        assert any("totals" in note for note in output.notes)
    # The total of rounded cells is 330, where 334 records would round to 335.
    assert (
        sum(n for key, n in entries(read, "rounded")[""]["cells"].items() if key.startswith("2|"))
        == 330
    )


def test_suppression_that_did_not_happen_is_said(read):
    (output,) = read.outputs_of("suppressed with totals")
    assert "it is marked as suppressed, yet shows counts below the threshold" in output.notes


def test_rounding_is_an_interval(read, entries):
    assert entries(read, "rounded")[""]["base"] == 5
    assert entries(read, "rounded sums")[""]["decimals"] == -1
    assert "taken as rounded to 10" in " ".join(read.outputs_of("rounded sums")[0].notes)


def test_shares_are_percentages_of_rows(read, entries):
    entry = entries(read, "shares")[""]
    assert entry["percentages"] == "rows"
    assert sum(
        share for key, share in entry["values"].items() if key.startswith("1|")
    ) == pytest.approx(100)


def test_bands_are_groups(read, entries):
    groups = entries(read, "bands")[""]["groups"]["wife_age"]
    assert groups == {"(15, 25]": [16, 25], "(25, 35]": [26, 35], "(35, 50]": [36, 49]}


def test_a_small_table_is_read(tmp_path, one):
    (output,) = one(tmp_path).outputs
    assert output.entry == {
        "name": "t",
        "kind": "table",
        "by": ["a", "b"],
        "cells": {"x|0": 3, "x|1": 4, "y|0": 5, "y|1": 6},
    }


MEANS = {
    "summary": "Mean : \n",
    "dependent": "c",
    "command": "s.crosstab(df.a, df.b, values=df.c, aggfunc='mean')",
}


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ({"summary": "pass"}, "which statistic it is"),
        ({"summary": "ModeCalculation : \n"}, "a table of modes is not supported"),
        ({"independent": ()}, "one table with the variables"),
        ({"independent": ("a", "z")}, "'z' is no column of the data"),
        ({"summary": "Mean : \n"}, "did not note which variable"),
        (
            {"rows": (("a", "0", "7"), ("x", "3", "4"), ("y", "5", "6"))},
            "'7' in its table is no level of column 'b'",
        ),
        ({"rows": (("a", "False", "True"), ("x", "3", "4"))}, "is no level of column 'b'"),
        ({"rows": (("q", "0", "1"), ("x", "3", "4"))}, "does not have the variables"),
        ({"rows": (("a", "0", "1"), ("x", "3"))}, "not equally long"),
        (
            {"rows": (("a", "0", "1"), ("x", "3", "4"), ("x", "5", "6"))},
            "two cells for the same levels",
        ),
        ({"rows": (("a", "0", "1"),)}, "has no cells"),
        ({"rows": (("a", "0", "1"), ("x", "3", "many"))}, "is no number"),
        ({"rows": (("a", "0", "1"), ("x", "3.5", "4"))}, "neither counts nor shares"),
        ({"command": "s.crosstab(df.a, df.b.shift())"}, "an expression"),
        ({"command": "s.crosstab(df.a, df.z)"}, "an expression"),
        ({"command": "s.crosstab(df[df.zz > 1].a, df.b)"}, "Unknown column 'zz'"),
        ({**MEANS, "rows": (("a", "0", "1"), ("x", "", ""))}, "every number of it is withheld"),
        ({"method": "melt"}, "'melt' are not supported"),
        (
            {
                **MEANS,
                "command": "s.crosstab(df.a, df.b, values=df.c, aggfunc='mean', normalize=True)",
            },
            "shares of anything",
        ),
        (
            {
                **MEANS,
                "method": "pivot_table",
                "command": "s.pivot_table(df, 'c', 'a', 'b', fill_value=0)",
            },
            "were filled with a value",
        ),
    ],
)
def test_tables_that_cannot_be_told_are_skipped_with_the_reason(tmp_path, what, words, one):
    found = one(tmp_path, **what)
    assert found.outputs == ()
    assert words in found.skipped[0].reason


def test_a_withheld_count_beside_other_functions_says_nothing(tmp_path, one):
    """ACRO leaves out the records of a cell that fails any check: its count may be large, and one person dominate its mean."""
    rows = (
        ("", "mean", "mean", "count", "count"),
        ("b", "0", "1", "0", "1"),
        ("a", "", "", "", ""),
    )
    both = {
        **MEANS,
        "summary": "Mean : \nFrequencyTable : \n",
        "properties": {"mitigation": "suppress"},
    }
    found = one(
        tmp_path, **both, rows=(*rows, ("x", "1.5", "", "20", ""), ("y", "2.5", "3", "30", "40"))
    )
    mean, count = (output.entry for output in found.outputs)
    assert count["cells"]["x|1"] == "?"
    assert "threshold" not in count
    assert mean["values"]["x|1"] == "x"


def test_missing_counts_without_suppression_are_empty_cells(tmp_path, one):
    (output,) = one(tmp_path, rows=(("a", "0", "1"), ("x", "3", ""), ("y", "5.0", "6"))).outputs
    assert output.entry["cells"]["x|1"] == 0


def test_the_threshold_comes_from_the_configuration(tmp_path, one):
    rows = (("a", "0", "1"), ("x", "30", ""), ("y", "50.0", "60"))
    config = {"safe_threshold": 5, "zeros_are_disclosive": False}
    (output,) = one(tmp_path, config, properties={"mitigation": "suppress"}, rows=rows).outputs
    assert output.entry["cells"]["x|1"] == "x"
    assert (output.entry["threshold"], output.entry["suppressed_zeros"]) == (5, False)


def test_levels_written_as_floats_are_the_same_levels(tmp_path, one):
    (output,) = one(tmp_path, rows=(("a", "0.0", "1.0"), ("x", "3", "4"))).outputs
    assert set(output.entry["cells"]) == {"x|0", "x|1"}


def test_a_level_called_all_is_no_total(tmp_path, one):
    fields = OutputDomain((OutputColumn("a", ("x", "All")), OutputColumn("b", (0, 1))))
    (output,) = one(
        tmp_path, fields=fields, rows=(("a", "0", "1"), ("x", "3", "4"), ("All", "5", "6"))
    ).outputs
    assert output.entry["cells"]["All|0"] == 5
    assert "margins" not in output.entry


def test_totals_may_have_another_name(tmp_path, one):
    rows = (("a", "0", "1", "Sum"), ("x", "3", "4", "7"), ("Sum", "3", "4", "7"))
    (output,) = one(
        tmp_path, rows=rows, command="s.crosstab(df.a, df.b, margins=True, margins_name='Sum')"
    ).outputs
    assert output.entry["cells"]["x|All"] == 7


FRAME = pd.DataFrame(
    {"a": list("xxyyx"), "b": [0, 1, 0, 1, 1], "d": list("uvuvu"), "c": [1.0, 2.0, 3.0, 4.0, 5.0]}
)


def lines(table):
    return list(csv.reader(table.to_csv().splitlines()))


@pytest.mark.parametrize(
    ("rows", "columns"), [(["a"], ["b"]), (["a", "d"], ["b"]), (["a"], ["b", "d"])]
)
def test_cells_have_the_levels_that_pandas_gives_them(rows, columns):
    table = FRAME.pivot_table(values="c", index=rows, columns=columns, aggfunc="sum", fill_value=0)
    layout = read_layout(lines(table), [*rows, *columns], functions=["sum"], values="c")
    assert (layout.rows, layout.columns) == (tuple(rows), tuple(columns))
    for key, text in layout.parts[""].items():
        inside = FRAME
        for name, label in zip(layout.variables, key, strict=True):
            inside = inside[inside[name].astype(str) == label]
        assert float(text) == inside.c.sum()


def test_several_functions_have_cells_of_their_own_and_totals_no_level():
    table = FRAME.pivot_table(
        values="c", index="a", columns="b", aggfunc=["mean", "sum"], margins=True
    )
    layout = read_layout(lines(table), ["a", "b"], functions=["mean", "sum"], values="c")
    assert set(layout.parts) == {"mean", "sum"}
    assert layout.totals
    assert float(layout.parts["sum"][("x", "1")]) == 7.0
    assert float(layout.parts["mean"][(None, None)]) == 3.0


def test_headers_with_other_words_are_not_guessed():
    with pytest.raises(UnclearError, match="neither functions nor variables"):
        read_layout([["", "p90"], ["a", ""], ["x", "1"]], ["a"], functions=["mean"], values="c")
