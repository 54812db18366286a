"""Entropies from batches of codes, against marginals counted one by one."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chaffinch.counts import batch_entropies as module
from chaffinch.counts.batch_entropies import batch_entropies
from chaffinch.counts.entropies import joint_entropies
from chaffinch.counts.reference import ReferenceCounter
from chaffinch.table.codes import Codes


def in_batches(table, rows, passes):
    def batches():
        passes.append(1)
        for start in range(0, table.n_rows, rows):
            columns = [table.codes[j][start : start + rows] for j in range(len(table.codes))]
            yield Codes.of(columns, table.codes.sizes)

    return batches


@given(
    st.integers(0, 10**6),
    st.integers(1, 90),
    st.lists(st.sampled_from([1, 2, 5, 40, 300]), min_size=1, max_size=5),
    st.sampled_from([1, 7, 1000]),
    st.sampled_from([1, 50, 10**6]),
    st.data(),
)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_equal_to_marginals(coded, monkeypatch, seed, n, sizes, rows, budget, data):
    rng = np.random.default_rng(seed)
    table = coded([rng.integers(0, size, n) for size in sizes], sizes)
    every = sorted(c for w in range(1, 5) for c in combinations(range(len(sizes)), w))
    sets = sorted(data.draw(st.sets(st.sampled_from(every), min_size=1)))
    monkeypatch.setattr(module, "BUDGET", budget)
    monkeypatch.setattr(module, "MOST_BEGINNINGS", 1 << 30)  # none of the sets is left
    monkeypatch.setattr(module, "NUMBERED_FROM", data.draw(st.sampled_from([1, 20, 10**4])))
    passes: list[int] = []
    values, filled = batch_entropies(
        in_batches(table, rows, passes), table.codes.sizes, sets, n, threads=2
    )
    want, want_filled = joint_entropies(ReferenceCounter(table), sets)
    assert values == pytest.approx(want, abs=1e-12)
    assert np.array_equal(filled, want_filled)
    assert len(passes) <= len(sets)


def test_what_does_not_fit_waits_for_another_pass(coded, monkeypatch):
    rng = np.random.default_rng(3)
    table = coded(rng.integers(0, 10, (5, 400)), [10] * 5)
    sets = list(combinations(range(5), 3))
    for budget, least, most in ((10**9, 1, 1), (3000, 2, 9)):
        monkeypatch.setattr(module, "BUDGET", budget)
        passes: list[int] = []
        values, _ = batch_entropies(in_batches(table, 100, passes), table.codes.sizes, sets, 400)
        assert least <= len(passes) <= most
        assert values == pytest.approx(joint_entropies(ReferenceCounter(table), sets)[0], abs=1e-12)


def test_sets_with_too_many_beginnings_are_left_to_others(coded, monkeypatch):
    monkeypatch.setattr(module, "MOST_BEGINNINGS", 50)
    rng = np.random.default_rng(3)
    table = coded(rng.integers(0, 10, (3, 40)), [10] * 3)
    sets = [(0,), (0, 1), (0, 1, 2)]
    _, filled = batch_entropies(in_batches(table, 7, []), table.codes.sizes, sets, 40)
    assert (filled < 0).tolist() == [False, False, True]
