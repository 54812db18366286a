"""Pictures of a check: numbers with their intervals, and what is not there."""

from __future__ import annotations

from math import nan

import pytest

from chaffinch.outputs.check.paper_figures import ErrorLine, ErrorPoint
from chaffinch.report.check_figures import counted, error_lines, estimate
from chaffinch.report.sections import Cell
from chaffinch.stats.crossed import Estimate


@pytest.mark.parametrize(
    ("one", "plus", "cell"),
    [
        (Estimate(0.25, low=0.2, high=0.3), False, Cell("0.250", "0.200 to 0.300")),
        (Estimate(0.25, low=0.2, high=0.3), True, Cell("+0.250", "0.200 to 0.300")),
        (Estimate(0.25), False, Cell("0.250")),
        (Estimate(nan), False, Cell("–")),
        (None, False, Cell("–")),
    ],
)
def test_a_number_stands_over_its_interval(one, plus, cell):
    assert estimate(one, plus=plus) == cell


def test_a_line_has_a_point_for_each_pair_of_error_and_attribution():
    known = Estimate(0.45, low=0.4, high=0.5)
    points = (ErrorPoint(0.0, 0.45, 0.41), ErrorPoint(0.2, 0.39, 0.4), ErrorPoint(1.0, 0.15, 0.14))
    line = ErrorLine(
        "tenure",
        "matched_rows",
        points=points,
        intercept=known,
        slope=Estimate(-0.3, low=-0.4, high=-0.2),
        r_squared=0.62,
    )
    assert counted(line) == "matched rows"
    figure = error_lines([line])
    assert figure.pictures[0].count("<g><title>") == 2 * len(
        points
    )  # people in the data, and people held out
