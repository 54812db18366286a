"""Tables as pandas writes them: which cells are of which levels, held against pandas itself."""

import csv

import pandas as pd
import pytest

from chaffinch.outputs.domain import Field, Fields
from chaffinch.outputs.readers.acro.read import UnclearError
from chaffinch.outputs.readers.acro.tables import read_layout


def test_a_level_called_all_is_no_total(tmp_path, one):
    fields = Fields((Field("a", ("x", "All")), Field("b", (0, 1))))
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
