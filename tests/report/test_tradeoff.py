"""Risk beside worth: points stand where their numbers are, and nothing is drawn without both."""

from __future__ import annotations

import re

from chaffinch.report.result import report_of
from chaffinch.report.tradeoff import TradePoint, headline_step, tradeoff_figure, tradeoff_section


def test_a_table_stands_between_independent_columns_and_the_original(study_of, risk_of):
    section = tradeoff_section(report_of(study_of(6), title="t", risk=risk_of()))
    figure = section.blocks[1]
    names = [row[0] for row in figure.table.rows]
    assert names[0] == "this table"
    assert "the original itself" in names


def test_without_an_attack_or_a_measure_there_is_no_picture(study_of, risk_of):
    assert tradeoff_section(report_of(study_of(6), title="t")) is None
    assert tradeoff_section(report_of(title="t", risk=risk_of())) is None


def test_points_stand_where_their_numbers_are(study_of):
    row, kept, interval = headline_step(report_of(study_of(6), title="t").rows)
    assert row.id == "tvd_2"
    points = [
        TradePoint("a", 0.0, 0.0),
        TradePoint("b", 1.0, 0.5, (0.9, 1.0), (0.4, 0.5)),
        TradePoint("c", kept, 0.25, interval),
    ]
    drawn = tradeoff_figure("f", points, worth=row, attack="an attack").pictures[0]
    first = re.search(r"<title>a:.*?cx=\"([\d.]+)\" cy=\"([\d.]+)\"", drawn)
    second = re.search(r"<title>b:.*?M([\d.]+) ([\d.]+)h9", drawn)
    x, y = float(second[1]) + 4.5, float(second[2]) + 4.5
    third = re.search(r"<title>c:.*?M([\d.]+) ([\d.]+)l6", drawn)
    assert abs(float(third[1]) - (float(first[1]) + kept * (x - float(first[1])))) < 0.2
    assert abs(float(third[2]) + 6 - (float(first[2]) + y) / 2) < 0.2
