"""Runs on a pair of tables: on D or D' by fair coins, whoever works."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from chaffinch.errors import InputError
from chaffinch.privacy.relation import Unit
from chaffinch.risk.auditing.pairs import made_pair
from chaffinch.risk.auditing.runs import OUTSIDE, Look, Watched, coins, run_pair
from chaffinch.risk.shadows import Working
from chaffinch.risk.shadows.generator import coded


def copies(table, seed):
    return table


def runs(maker, working):
    pair = made_pair("narrow", Unit("add-remove"))
    look = Look(pair.base, coded(pair.base))
    return run_pair(
        Watched(maker, pair.base),
        pair,
        look,
        runs=60,
        rows=4,
        seed=np.random.SeedSequence(1),
        working=working,
    )


def test_coins_say_which_table_a_run_is_on():
    seen = runs(copies, Working(workers=1))
    rows = seen.cells[:, OUTSIDE.index("rows")]
    np.testing.assert_array_equal(rows, np.where(seen.member, 4.0, 3.0))
    # Fair, and of the seed alone: 20,000 tosses are within 400 of half of them but for 2 in 10^8 seeds.
    many = coins(20_000, np.random.SeedSequence(1))
    assert abs(int(many.sum()) - 10_000) < 400
    np.testing.assert_array_equal(many[:60], seen.member)


def test_who_works_changes_nothing():
    said = []
    one = runs(
        copies, Working(workers=1, progress=lambda words, share: said.append((words, share)))
    )
    with ThreadPoolExecutor(2) as pool:
        other = runs(copies, Working(executor=pool))
    np.testing.assert_array_equal(one.tables, other.tables)
    assert said[-1][1] == 1.0
    assert said[-1][0].startswith("run 60 of 60")


def test_a_run_that_takes_too_long_ends_it():
    def endless(table, seed):
        while True:
            pass

    with pytest.raises(InputError, match="Run 0 of 60 on pair 'narrow' failed: it took longer"):
        runs(endless, Working(workers=1, time_limit=0.2))
