"""The account of a synthesis: its plain data, and back."""

from __future__ import annotations

import json

import pytest

from chaffinch._base.errors import InputError
from chaffinch.synth.account import AccountNote, SynthesisAccount

NETWORK = {
    "method": "bayesnet",
    "nodes": ["a", "b"],
    "edges": [["a", "b"]],
    "strengths": [0.5],
    "own": {"of a model": 1},
}


def test_there_and_back_with_what_a_model_adds():
    account = SynthesisAccount(
        rows=10,
        columns=("a", "b"),
        seed=1,
        network=NETWORK,
        notes=(AccountNote("a", "pooled", "rare"),),
        copies=2,
        rows_equal_to_an_original=(0.5, 0.25),
        run={"seconds": {"fit": 0.1}},
    )
    plain = json.loads(json.dumps(account.to_dict()))
    assert list(plain)[:3] == ["format", "version", "rows"]
    assert plain["network"] == NETWORK
    assert SynthesisAccount.from_dict(plain) == account
    assert account.model.edges == (("a", "b"),)


def test_what_a_promise_does_not_cover_is_left_out():
    assert "rows_equal_to_an_original" not in SynthesisAccount(rows=1).to_dict()


@pytest.mark.parametrize("nothing", [None, {}, [], "text"])
def test_nothing_is_known(nothing):
    assert SynthesisAccount.from_dict(nothing) is None


def test_damage_is_named_by_its_place():
    with pytest.raises(InputError, match="'rows'"):
        SynthesisAccount.from_dict({"rows": "many"})
    with pytest.raises(InputError, match=r"'edges"):
        SynthesisAccount(network={"edges": [["a"]]}).model  # noqa: B018
