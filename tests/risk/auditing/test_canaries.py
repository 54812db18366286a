"""Several canaries in a run: tables that are neighbours, coins that are guessed, claims that stand and fall."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pyarrow as pa
import pytest

import chaffinch
from chaffinch.privacy.relation import PrivacyUnit
from chaffinch.risk.auditing.canaries import made_canaries, run_canaries
from chaffinch.risk.auditing.pairs import Pair
from chaffinch.risk.auditing.runs import Look, Watched
from chaffinch.risk.shadows import Working
from chaffinch.risk.shadows.generator import code_array

RECORDS = list(product("ab", repeat=3))


class NoisyHistogram:
    """Each record as often as a noisy count says: private with its epsilon under add-remove."""

    def __init__(self, epsilon):
        self.epsilon = epsilon

    def __call__(self, table, seed):
        rows = list(zip(*table.data.to_pydict().values(), strict=True))
        noise = np.round(np.random.default_rng(seed).laplace(size=8) / self.epsilon)
        counts = np.clip(
            np.array([rows.count(record) for record in RECORDS]) + noise, 0, 60
        ).astype(int)
        out = [record for record, n in zip(RECORDS, counts, strict=True) for _ in range(n)] or [
            RECORDS[0]
        ]
        return pa.table({f"c{j}": [record[j] for record in out] for j in range(3)})


@pytest.mark.parametrize(
    "unit",
    [
        PrivacyUnit("add-remove"),
        PrivacyUnit("replace-one"),
        PrivacyUnit("add-remove", 3),
        PrivacyUnit("replace-one", 2),
    ],
    ids=str,
)
def test_tables_with_one_coin_changed_are_neighbours(unit):
    made = made_canaries(unit)
    for coins in product((False, True), repeat=4):
        for i in range(4):
            without, with_ = ([*coins[:i], coin, *coins[i + 1 :]] for coin in (False, True))
            Pair(
                "any", made.base, made.rows(without), made.rows(with_), made.target_row, unit
            )  # raises where they are not


def test_canaries_share_no_cell_of_two_columns():
    made = made_canaries(PrivacyUnit("add-remove"))
    codes = code_array(made.base)[[rows[0] for rows in made.inside]]
    for i, j in combinations(range(3), 2):
        assert len({tuple(row) for row in codes[:, [i, j]].tolist()}) == 4


def test_each_run_has_the_canaries_of_its_coins():
    made = made_canaries(PrivacyUnit("add-remove"))
    look = Look(made.base, code_array(made.base)[:0])
    seen = run_canaries(
        Watched(lambda table, seed: table, made.base),
        made,
        look,
        runs=60,
        rows=8,
        seed=np.random.SeedSequence(1),
        working=Working(workers=1),
    )
    codes = code_array(made.base)
    for i, rows in enumerate(made.inside):
        there = (seen.seen.tables == codes[rows[0]]).all(axis=2).any(axis=1)
        np.testing.assert_array_equal(there, seen.member[:, i])
    # 240 fair coins: within 50 of half of them but for 1 in 10^9 seeds.
    assert abs(int(seen.member.sum()) - 120) < 50


def audited(maker, neighbours="add-remove", **options):
    chosen = {
        "epsilon": 1.0,
        "pairs": ["canaries"],
        "box": "black",
        "runs": 80,
        "seed": 1,
        "threads": 1,
    } | options
    return chaffinch.audit(maker, neighbours=neighbours, **chosen)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_a_copy_gives_all_coins_away(neighbours):
    finding = audited(lambda table, seed: table, neighbours).findings[0]
    assert finding.scope == ("canaries", "black")
    assert finding.trials.judged == 40
    assert finding.trials.guesses == finding.trials.right == 160  # forty runs, four coins each
    assert finding.value > 2.5
    assert finding.excess_found


def test_a_sound_histogram_stands_and_a_loose_one_falls():
    # A true epsilon of 4 at 300 runs gave bounds of 1.8 to 2.3 with the first four seeds.
    assert audited(NoisyHistogram(1.0), runs=300).findings[0].value <= 1
    assert audited(NoisyHistogram(4.0), runs=300).findings[0].value > 1


def test_what_several_coins_are_not_for():
    with pytest.raises(
        chaffinch.errors.InputError,
        match="with a delta one answer may give all coins of its run away",
    ):
        audited(NoisyHistogram(1.0), delta=1e-6)
    result = audited(
        chaffinch.BayesNet(parents=1, epsilon=1.0),
        neighbours=None,
        box=("mechanism", "white", "black"),
    )
    assert [finding.scope[1] for finding in result.findings] == ["black"]
    assert {(s.pair, s.box) for s in result.skipped} == {
        ("canaries", "mechanism"),
        ("canaries", "white"),
    }
