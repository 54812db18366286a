"""Lines through points, and success against epsilon."""

from __future__ import annotations

import math
import re

import pytest

from chaffinch._base.errors import InputError
from chaffinch._base.svg import Axis
from chaffinch.report.charts import Curve, Point, curves, frame, success_figure


def rows(*epsilons, names=("sdg", "dpart")):
    return [
        {
            "synthesiser": name,
            "epsilon": e,
            "success": 0.2 + 0.1 * i,
            "interval": [0.15 + 0.1 * i, 0.25 + 0.1 * i],
            "baseline": 0.2,
        }
        for name in names
        for i, e in enumerate(epsilons)
    ]


@pytest.mark.parametrize("epsilons", [(0.1, 1, 10, 1000, None), (1.0,), (None,), (0.1, 1000)])
def test_success_against_epsilon_has_a_mark_for_each_row(epsilons):
    drawn = str(success_figure(rows(*epsilons)))
    assert drawn.count("<g><title>") == 2 * len(epsilons)
    assert ("no promise" in drawn) == (None in epsilons)
    assert "a guess: |X| / |D|" in drawn
    assert "nan" not in drawn
    assert "inf" not in drawn


def test_epsilon_stands_on_a_logarithmic_axis():
    drawn = str(success_figure(rows(0.1, 1, 10, names=("one",))))
    across = [float(x) for x in re.findall(r'<circle cx="([\d.]+)"', drawn)[:3]]
    assert across[1] - across[0] == pytest.approx(across[2] - across[1], abs=0.2)


def test_no_line_leads_to_what_has_no_promise():
    drawn = str(success_figure(rows(1, 10, None, names=("one",))))
    blue = re.findall(r'<path d="(M[^"]*)" fill="none" stroke="#0072B2"', drawn)
    assert [path.count("L") for path in blue] == [1, 1]  # two budgets, and the sample in the legend


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: r.clear(), "needs rows"),
        (lambda r: r[0].pop("baseline"), "lacks 'baseline'"),
        (lambda r: r[0].update(epsilon=0), "above 0"),
        (lambda r: r[0].update(epsilon=math.nan), "above 0"),
        (lambda r: r[0].update(baseline=0.1), "several baselines"),
    ],
)
def test_a_figure_that_cannot_be_says_why(change, message):
    wrong = rows(1, 10)
    change(wrong)
    with pytest.raises(InputError, match=message):
        success_figure(wrong)


def test_names_of_lines_are_escaped():
    (left, right), (bottom, top) = frame()
    line = Curve("<b>&", (Point(0, 0), Point(1, 1, 0.5, 1.0)))
    drawn = str(
        curves(
            "k",
            "t",
            "d",
            [line],
            across=Axis(0, 1, left, right),
            up=Axis(0, 1, bottom, top),
            labels=("x", "y"),
        )
    )
    assert "<b>" not in drawn
    assert "&lt;b&gt;&amp;" in drawn
