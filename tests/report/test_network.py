"""Links by strength, whatever is known of them."""

from __future__ import annotations

from markupsafe import Markup

from chaffinch.report.synthesis import network_figures
from chaffinch.synth.account import SynthesisAccount


def account(**network) -> SynthesisAccount:
    return SynthesisAccount.from_dict(
        {"network": {"method": "bayesnet", "nodes": ["a", "b", "c"], **network}}
    )


def test_links_stand_by_strength():
    of = account(edges=[["a", "b"], ["a", "c"]], strengths=[0.1, 0.4], require=[["a", "c"]])
    picture, links = network_figures(of, Markup("<svg></svg>"))
    assert picture.table.rows == (("a", "c", "0.4", "required"), ("a", "b", "0.1", ""))
    assert [row[0] for row in links.table.rows] == ["a → c", "a → b"]


def test_without_edges_or_strengths_nothing_is_made_up():
    assert network_figures(None, None) == []
    assert network_figures(account(), None) == []
    assert network_figures(account(edges=[["a", "b"]]), None) == []
