"""The map of sets of keys: which tell most, by a table worked by hand."""

from __future__ import annotations

from chaffinch.report.risk import risk_sections
from chaffinch.report.sections import Figure
from chaffinch.risk import RiskResult


def test_the_map_marks_the_largest_excess(risk_of):
    study = risk_of(("a", "b", "c"), ("s",), sizes=(1, 3), measures=("cap", "rf"), extras=False)
    for attack in study["attacks"]:
        attack["excess"] = -0.01
    study["attacks"][5] |= {"excess": 0.3, "p_family": 0.0123}
    figure = next(
        f
        for s in risk_sections(RiskResult.from_dict(study))
        if s.id == "risk-keys"
        for f in s.blocks
        if isinstance(f, Figure)
    )
    assert (
        "Outlined: the largest, +0.300 (Random forest). Its p-value over all attacks: 0.0123"
        in figure.note
    )
    assert figure.pictures[0].count('stroke-width="3"') == 1
    assert figure.table.rows[0][0] == "c"
    bare = [{**a, "excess": None, "value": 0.9} for a in study["attacks"]]
    caption = next(
        f
        for s in risk_sections(RiskResult.from_dict({**study, "attacks": bare}))
        if s.id == "risk-keys"
        for f in s.blocks
    ).caption
    assert "value less guess" in caption
