"""`chaffinch.plan`: what the command computes, without one; and what it reckons with where a domain is to be discovered."""

from __future__ import annotations

import json

import pytest

import chaffinch
import chaffinch as cf
from chaffinch.errors import InputError
from chaffinch.privacy.session import discovery_price, plan_budget
from chaffinch.table import Column, Schema
from chaffinch.workflows.plan import MOST_LEVELS, assumed_schema, with_what_is_left


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


SCHEMA = Schema(
    (
        Column("job", "categorical", discover=True),
        Column("age", "integer", discover=True, bins=7),
        Column("day", "date", discover=True, bins=5),
        Column("what", "unknown", discover=True),
        Column("sex", "categorical", levels=("f", "m")),
    ),
    public=True,
)
SETTINGS = chaffinch.BayesNet(epsilon=1.0, delta=1e-6)


def test_sizes_are_those_that_discovery_may_find():
    price = discovery_price(plan_budget(SCHEMA, SETTINGS.budget, SETTINGS.unit))
    records = price.columns[0].records
    assert assumed_schema(SCHEMA, price, 10**6).sizes == (MOST_LEVELS + 1, 7, 5, MOST_LEVELS + 1, 2)
    assert assumed_schema(SCHEMA, price, 3 * records).sizes == (4, 7, 5, 4, 2)
    assert assumed_schema(SCHEMA, price, 0).sizes == (2, 7, 5, 2, 2)


@pytest.mark.parametrize(
    "settings", [SETTINGS, chaffinch.PrivBayes(epsilon=1.0, delta=1e-6, neighbours="add-remove")]
)
def test_the_budget_is_what_discovery_leaves(settings):
    opening = plan_budget(SCHEMA, settings.budget, settings.unit)
    less = with_what_is_left(settings, opening)
    from dataclasses import replace

    assert replace(opening.budget, epsilon=less.epsilon).total == pytest.approx(opening.remaining)
    assert 0.6 < less.epsilon < 1
