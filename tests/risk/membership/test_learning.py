"""Attackers for each target: what they learn from and what they think of new fits."""

import numpy as np
import pandas as pd
import pytest

from chaffinch import read
from chaffinch.risk.membership import ShadowSettings
from chaffinch.risk.membership.study import campaign_against
from chaffinch.risk.shadows import Working


def copy(given, seed):
    return given


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(7)
    return read(
        pd.DataFrame({name: rng.choice(list("abcde"), 100) for name in ("one", "two", "three")}),
        rare="keep",
    )


def campaign(table, design="shared"):
    plan = ShadowSettings(shadows=10, tests=10, tables=1, design=design, features="closest")
    return campaign_against(
        table,
        copy,
        None,
        plan,
        1,
        Working(workers=1),
        targets=2,
        rows=20,
        duplicates="drop",
        ranking="hamming",
    )


@pytest.mark.parametrize("design", ["shared", "neighbours"])
def test_draws_are_of_the_design(table, design):
    draws = campaign(table, design).drawn(10, 0)
    assert len(draws) == (20 if design == "shared" else 40)
    assert [int(draws.member[draws.of(k), k].sum()) for k in range(2)] == [10, 10]


def test_a_copy_is_told_by_its_closest_row(table):
    learnt = campaign(table).learnt()
    assert learnt.aucs.tolist() == [1.0, 1.0]
    seen = learnt.look(learnt.campaign.drawn(10, 3), "test", 4)
    assert (
        (seen.closest == 3) == seen.draws.member
    ).all()  # all three columns match where the target is in the table
    assert ((seen.log_odds > 0) == seen.draws.member).all()
    assert learnt.seconds is not None


def test_steps_have_streams_of_their_own(table):
    one = campaign(table)
    states = {tuple(one.stream(step).generate_state(2)) for step in range(5)}
    assert len(states) == 5
