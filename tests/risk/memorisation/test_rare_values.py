from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest

from chaffinch.risk import ATTACKERS
from chaffinch.risk.memorisation.protocol import NotApplicableError
from chaffinch.risk.memorisation.rare_values import rare_combinations, rare_values
from tests.risk.memorisation.conftest import with_copies

from .conftest import case_of, distinct_people


def columns(rng: np.random.Generator, n: int) -> pa.Table:
    towns = np.array([f"t{i}" for i in rng.zipf(1.5, n) % 60], dtype=object)
    towns[rng.random(n) < 0.02] = None
    return distinct_people(n, rng, 3).append_column("town", pa.array(towns.tolist(), pa.string()))


def test_rare_values_are_counted_as_a_plain_loop_does(rng: np.random.Generator) -> None:
    members, others, released = (columns(rng, 80) for _ in range(3))
    case = case_of(released, members, others)
    everybody = members.to_pylist() + others.to_pylist()
    numerator, weight = np.zeros(160), np.zeros(160)
    for name in members.column_names:
        counts, there = Counter(row[name] for row in everybody), set(released[name].to_pylist())
        for i, row in enumerate(everybody):
            rare = row[name] is not None and counts[row[name]] < 3
            weight[i] += rare
            numerator[i] += rare and row[name] in there
    scores = rare_values(case, case.columns)
    assert scores.weight.tolist() == weight.tolist()
    assert scores.numerator.tolist() == numerator.tolist()
    assert 0 < numerator.sum() < weight.sum()


def test_columns_that_are_shuffled_give_their_rare_values_away(rng: np.random.Generator) -> None:
    members, others = (columns(rng, 400) for _ in range(2))
    shuffled = pa.table(
        {name: members[name].take(pa.array(rng.permutation(400))) for name in members.column_names}
    )
    for name in ("rare_level", "rare_number"):
        scores = ATTACKERS[name].score(case_of(shuffled, members, others))
        ours, theirs = (
            scores.numerator[part].sum() / scores.weight[part].sum()
            for part in (slice(400), slice(400, None))
        )
        assert ours == 1.0
        assert theirs < 0.9


@pytest.mark.parametrize(
    ("score", "lacks"),
    [(ATTACKERS["rare_level"].score, "values"), (rare_combinations, "pairs")],
)
def test_where_nothing_is_rare_it_does_not_apply(score, lacks) -> None:
    table = pa.table({"a": ["x", "y"] * 20, "b": ["u", "v"] * 20})
    with pytest.raises(NotApplicableError, match=f"no rare {lacks}"):
        score(case_of(table, table, table))


@pytest.mark.parametrize("n", [40, 120])
def test_rare_pairs_are_counted_as_a_plain_loop_does(rng: np.random.Generator, n: int) -> None:
    members, others, fresh = (distinct_people(n, rng, 5) for _ in range(3))
    released = with_copies(fresh, members, 0.1)
    everybody, rows = members.to_pylist() + others.to_pylist(), released.to_pylist()
    numerator, weight = np.zeros(2 * n), np.zeros(2 * n)
    single = {name: Counter(row[name] for row in everybody) for name in members.column_names}
    for a, b in combinations(members.column_names, 2):
        counts, there = (
            Counter((row[a], row[b]) for row in everybody),
            {(row[a], row[b]) for row in rows},
        )
        for i, row in enumerate(everybody):
            rare = counts[row[a], row[b]] < 3 <= min(single[a][row[a]], single[b][row[b]])
            weight[i] += rare
            numerator[i] += rare and (row[a], row[b]) in there
    scores = rare_combinations(case_of(released, members, others))
    assert scores.weight.tolist() == weight.tolist()
    assert scores.numerator.tolist() == numerator.tolist()
    assert weight.sum() > 0


def test_of_many_pairs_some_are_looked_at(rng: np.random.Generator) -> None:
    case = case_of(*(distinct_people(100, rng, 8) for _ in range(3)))
    some, every = (rare_combinations(case, most_pairs=most).weight.sum() for most in (5, 300))
    assert 0 < some < every
