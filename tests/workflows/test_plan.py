"""`chaffinch.plan`: what the command computes, without one."""

from __future__ import annotations

import json

import pytest

import chaffinch as cf
from chaffinch.errors import InputError


def test_it_is_what_the_command_writes(data, tmp_path, run_here):
    schema = data / "cmc_declared.toml"
    done = run_here(
        "plan", "--schema", schema, "--epsilon", 1, "--delta", "1e-6", "--json", tmp_path / "p.json"
    )
    assert done.code == 0, done.err
    result = cf.plan(schema, cf.BayesNet(epsilon=1.0, delta=1e-6))
    assert json.loads((tmp_path / "p.json").read_text()) == json.loads(json.dumps(result.to_dict()))
    assert result.advice.chosen.method in result._repr_html_()
    assert "epsilon 1" in repr(result)


def test_it_shows_itself(data, capsys):
    cf.plan(data / "cmc_declared.toml", "privbayes:epsilon=1").show()
    assert "privbayes" in capsys.readouterr().out


@pytest.mark.parametrize("method", [cf.BayesNet(), "independent", 3])
def test_there_is_no_plan_without_a_budget(data, method):
    with pytest.raises(InputError, match="epsilon"):
        cf.plan(data / "cmc_declared.toml", method)
