"""What holds records inside prints none of them."""

from __future__ import annotations

from dataclasses import fields

import pytest

from chaffinch.risk.attribution.attack_data import AttackData, AttackSide
from chaffinch.risk.attribution.classes import KeyCells
from chaffinch.risk.attribution.gcap import Gcap
from chaffinch.risk.attribution.matching import KeyCounts, Match, SourceRows, WholeCounts
from chaffinch.risk.attribution.tcap import Tcap, TcapCells
from chaffinch.risk.memorisation.distances import Distances
from chaffinch.risk.memorisation.predicates import Predicates
from chaffinch.risk.memorisation.protocol import ColumnValues


@pytest.mark.parametrize(
    "kind",
    [
        AttackData,
        AttackSide,
        ColumnValues,
        Distances,
        Gcap,
        KeyCells,
        KeyCounts,
        Match,
        Predicates,
        SourceRows,
        Tcap,
        TcapCells,
        WholeCounts,
    ],
    ids=lambda kind: kind.__name__,
)
def test_no_value_of_a_record_shows_in_a_repr(kind: type) -> None:
    holder = object.__new__(kind)
    for entry in fields(kind):
        object.__setattr__(holder, entry.name, ["Ada Lovelace"])
    assert kind.__name__ in repr(holder)
    assert "Lovelace" not in repr(holder)
