"""Runs on a pair of tables: on D or D' by fair coins, whoever works."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from chaffinch._base.errors import InputError
from chaffinch.privacy.relation import PrivacyUnit
from chaffinch.risk.auditing.pairs import made_pair
from chaffinch.risk.auditing.runs import OUTSIDE, Look, Watched, coins, run_pair, table_features
from chaffinch.risk.shadows import Working
from chaffinch.risk.shadows.generator import code_array
from chaffinch.synth.privbayes import PrivBayes


def copies(table, seed):
    return table


def runs(maker, working):
    pair = made_pair("narrow", PrivacyUnit("add-remove"))
    look = Look(pair.base, code_array(pair.base))
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


def test_features_against_a_loop():
    rng = np.random.default_rng(4)
    sizes = (2, 3, 2)
    tables = np.stack([rng.integers(0, size, (5, 7)) for size in sizes], axis=2).astype(np.uint8)
    tables[0, 3:] = 255  # rows that are not there
    tables[1, 0, 1] = 255  # a value that is not known
    target = np.array([1, 2, 0])
    found = table_features(tables, target, sizes)
    for table, row in zip(tables, found, strict=True):
        around = [
            sum(all(r[j] == target[j] for j in range(3) if s >> j & 1) for r in table)
            for s in range(8)
        ]
        levels = [sum(r[j] == v for r in table) for j in range(3) for v in range(sizes[j])]
        whole = [sum(tuple(r) == cell for r in table) for cell in np.ndindex(*sizes)]
        assert row.tolist() == [*around, *levels, *whole]


def test_wide_tables_have_features_too():
    tables = np.random.default_rng(5).integers(0, 2, (3, 10, 20)).astype(np.uint8)
    found = table_features(tables, np.zeros(20, dtype=np.int64), (2,) * 20)
    assert found.shape == (3, 2048 + 40)


def test_look_reads_a_model():
    pair = made_pair("narrow", PrivacyUnit("replace-one"))
    table = pair.base.take(pair.rows_with)
    model = PrivBayes(5.0, variant="dpart").fit(table, seed=1)
    look = Look(pair.base, code_array(pair.base), model.network)
    watched = Watched(PrivBayes(5.0, variant="dpart"), pair.base)
    answer = watched.release(table, tables=1, rows=30, seed=np.random.SeedSequence(9)).model
    seen = look.cells(answer)
    assert seen[: len(OUTSIDE)].tolist() == [0.0, 30.0, 0.0]
    logs = seen[len(OUTSIDE) :][: pair.base.n_rows * 4].reshape(-1, 4)
    # The chances of all records of the domain sum to 1.
    assert np.exp(logs[:, 0]).sum() == pytest.approx(1.0, abs=1e-5)
    failed = look.cells(type(answer)(None, 0, "KeyError", 0))
    assert failed.shape == seen.shape
    assert np.isnan(failed[len(OUTSIDE) :]).all()
