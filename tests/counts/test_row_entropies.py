"""Entropies from all rows at once, and from columns that are held in turn, against marginals counted one by one."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chaffinch.counts import row_entropies as module
from chaffinch.counts.entropies import joint_entropies
from chaffinch.counts.reference import ReferenceCounter
from chaffinch.counts.row_entropies import column_entropies, in_threads, padded


@given(
    st.integers(0, 10**6),
    st.integers(1, 90),
    st.lists(st.sampled_from([1, 2, 5, 40, 300]), min_size=1, max_size=6),
    st.sampled_from([1, 7, 1000]),
    st.sampled_from([1, 200, 10**6]),
    st.data(),
)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_columns_held_in_turn_give_what_marginals_do(
    coded, monkeypatch, seed, n, sizes, rows, held_bytes, data
):
    rng = np.random.default_rng(seed)
    table = coded([rng.integers(0, size, n) for size in sizes], sizes)
    every = sorted(c for w in range(1, 5) for c in combinations(range(len(sizes)), w))
    sets = sorted(data.draw(st.sets(st.sampled_from(every), min_size=1)))
    monkeypatch.setattr(module, "HELD_BYTES", held_bytes)
    values, filled = column_entropies(
        lambda: (table.codes.between(start, start + rows) for start in range(0, n, rows)),
        table.codes.sizes,
        sets,
        n,
        threads=2,
    )
    want, want_filled = joint_entropies(ReferenceCounter(table), sets)
    assert values == pytest.approx(want, abs=1e-12)
    assert filled.tolist() == want_filled.tolist()


def test_only_the_columns_that_fit_are_held(coded, monkeypatch):
    table = coded(np.random.default_rng(1).integers(0, 3, (30, 100)), [3] * 30)
    monkeypatch.setattr(module, "HELD_BYTES", 700)  # seven columns of a hundred rows
    held, passes = [], []
    keep = module._held
    monkeypatch.setattr(
        module,
        "_held",
        lambda batches, columns, sizes, n_rows: (
            held.append(len(columns)) or keep(batches, columns, sizes, n_rows)
        ),
    )
    sets = [(i, i + 1, i + 2) for i in range(28)]
    column_entropies(lambda: passes.append(1) or iter([table.codes]), table.codes.sizes, sets, 100)
    assert max(held) == 7
    assert len(passes) == len(held) == 6


def test_sets_are_padded_with_their_widths():
    rows, widths = padded([(0,), (1, 4), (2, 3, 5)])
    assert rows.tolist() == [[0, -1, -1], [1, 4, -1], [2, 3, 5]]
    assert widths.tolist() == [1, 2, 3]
    assert padded([])[0].shape == (0, 1)


@pytest.mark.parametrize("threads", [1, 3])
def test_work_is_cut_into_pieces_so_that_an_interrupt_is_answered(threads):
    pieces = []
    in_threads(pieces.append, 1000, n_rows=10**8, visits=1000, threads=threads)
    assert sorted((part.start, part.stop) for part in pieces) == [
        (part.start, part.stop) for part in sorted(pieces, key=lambda part: part.start)
    ]
    assert [part.start for part in sorted(pieces, key=lambda part: part.start)][1:] == [
        part.stop for part in sorted(pieces, key=lambda part: part.start)
    ][:-1]
    assert max(part.stop - part.start for part in pieces) * 10**8 <= module.PIECE_VISITS + 10**8
    few = []
    in_threads(few.append, 1000, n_rows=10, visits=1000, threads=threads)
    assert few == [slice(0, 1000)]
