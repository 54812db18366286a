"""A tossed value: guessed from a copy, not from a generator that ignores its input or that column; and who cannot be tossed."""

import json

import numpy as np
import pandas as pd
import pytest

from chaffinch import read
from chaffinch.errors import InputError, UnknownNameError
from chaffinch.risk.membership import MembershipResult, membership
from chaffinch.risk.membership.secret_bit import secret_campaign
from chaffinch.risk.membership.settings import ShadowSettings
from chaffinch.risk.membership.study import campaign_against
from chaffinch.risk.shadows import Working


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(7)
    frame = pd.DataFrame(
        {name: rng.choice(list("abcdef"), 150) for name in ("one", "two", "three")}
    )
    frame["ill"] = rng.choice(["yes", "no"], 150)
    return read(frame, rare="keep")


def copy(given, seed):
    return given


def without_the_secret(given, seed):
    frame = given.to_pandas()
    frame["ill"] = np.random.default_rng(seed).choice(["yes", "no"], len(frame))
    return frame


def attacked(table, maker, **more):
    options = {
        "secret": "ill",
        "shadows": 30,
        "tests": 30,
        "tables": 1,
        "targets": 3,
        "rows": 30,
        "seed": 1,
        "workers": 1,
    }
    return membership(table, maker, **{**options, **more})


def test_versions_and_coins(table):
    plan = ShadowSettings(shadows=10, tests=10, tables=1)
    campaign = campaign_against(table, copy, None, plan, 1, Working(workers=1), targets=3, rows=20)
    tossed = secret_campaign(campaign, "ill")
    frame = tossed.world.table.to_pandas()
    assert len(frame) == campaign.world.n_population + 3
    ones, zeros = frame.iloc[tossed.world.targets], frame.iloc[tossed.others]
    assert ones["ill"].nunique() == zeros["ill"].nunique() == 1
    assert (ones["ill"].to_numpy() != zeros["ill"].to_numpy()).all()
    assert (ones.drop(columns="ill").to_numpy() == zeros.drop(columns="ill").to_numpy()).all()
    codes = tossed.world.codes
    column = tossed.world.table.schema.names.index("ill")
    assert ((codes[tossed.world.targets] != codes[tossed.others]).nonzero()[1] == column).all()
    draws = tossed.drawn(10, 0)
    assert draws.member.sum(axis=0).tolist() == [10, 10, 10]
    for rows, coin in zip(draws.rows, draws.member, strict=True):
        assert len(set(rows)) == 20
        assert (np.isin(tossed.world.targets, rows) == coin).all()
        assert (np.isin(tossed.others, rows) == ~coin).all()
        assert (
            np.diff(tossed.place[rows]) > 0
        ).all()  # either version stands where the record stood


def test_a_copy_gives_the_coin_away(table):
    found = attacked(table, copy)
    assert found.secret.accuracy > 0.95
    assert found.secret.interval[0] > 0.85
    assert found.sentence.startswith("The tossed value of 'ill' is guessed in ")
    assert "What is released tells values of the people in the data." in found.sentence
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["secret"]["column"] == "ill"
    assert MembershipResult.from_dict(plain).to_dict() == plain


def test_a_release_without_the_column_s_values_gives_nothing_away(table):
    """The target's other values are in every release, so nothing is left to tell the coin; seeded."""
    found = attacked(table, without_the_secret)
    low, high = found.secret.interval
    assert low <= 0.5 <= high
    assert "no more was found than guessing gives" in found.sentence


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"secret": "one"}, "must have two values and none missing: column 'one'"),
        ({"design": "neighbours"}, 'Use design="shared"'),
        ({"rows": 3}, "needs more than 3 rows"),
    ],
)
def test_bad_input_says_what_to_do(table, more, said):
    with pytest.raises(InputError, match=said):
        attacked(table, copy, **more)


def test_an_unknown_column_is_named(table):
    with pytest.raises(UnknownNameError, match="'il'"):
        attacked(table, copy, secret="il")
