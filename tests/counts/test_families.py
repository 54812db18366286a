"""Scores of families on counts, against the scores of their marginals, exact fractions and hand-worked tables."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import chaffinch
from chaffinch.counts import MemoryCounter, StreamCounter, code_entropies
from chaffinch.counts.counter import ReferenceCounter
from chaffinch.counts.families import family_scores
from chaffinch.counts.marginal import mutual_information

from .conftest import f_score, r_score

ONE_BY_ONE = {"I": mutual_information, "R": r_score, "F": f_score}


def families_of(sizes, most, score):
    d = len(sizes)
    return [
        (c, up)
        for w in range(most + 1)
        for up in combinations(range(d), w)
        for c in range(d)
        if c not in up and (score != "F" or sizes[c] == 2)
    ]


def one_by_one(counter, families, score):
    """n times the score of each family's marginal, counted alone."""
    names, out = counter.schema.names, []
    for child, parents in families:
        (marginal,) = counter.marginals([[*(names[p] for p in parents), names[child]]])
        out.append(ONE_BY_ONE[score](marginal) * counter.n_rows)
    return np.array(out)


@given(
    st.integers(0, 10**6),
    st.integers(1, 60),
    st.lists(st.sampled_from([1, 2, 2, 3, 7, 300]), min_size=1, max_size=5),
)
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_equal_to_the_scores_of_marginals(coded, seed, n, sizes):
    rng = np.random.default_rng(seed)
    base = rng.integers(0, 300, n)
    table = coded([(base + rng.integers(0, 1 + size // 2, n)) % size for size in sizes], sizes)
    for score in "IRF":
        families = families_of(sizes, 3, score)
        got = family_scores(MemoryCounter(table), families, score)
        assert got == pytest.approx(one_by_one(ReferenceCounter(table), families, score), abs=1e-9)
        # Any other engine: equal to the last bit for sums of whole numbers, and for I to a few roundings.
        other = family_scores(ReferenceCounter(table), families, score)
        assert (
            np.array_equal(got, other) if score != "I" else got == pytest.approx(other, abs=1e-12)
        )


def test_hand_worked_table(coded):
    # Counts (4, 1; 1, 4): I = 2(.4 log 1.6 + .1 log .4), R = .3, F = -.2 (tests of scores), times 10 records.
    table = coded([[0] * 5 + [1] * 5, [0, 0, 0, 0, 1, 0, 1, 1, 1, 1]], [2, 2])
    counter = MemoryCounter(table)
    information = 20 * (0.4 * np.log(1.6) + 0.1 * np.log(0.4))
    assert family_scores(counter, [(1, (0,))], "R").tolist() == [3.0]
    assert family_scores(counter, [(1, (0,))], "F").tolist() == [-2.0]
    assert family_scores(counter, [(1, (0,))], "I") == pytest.approx(information, abs=1e-13)
    assert family_scores(counter, [(1, (0,))], "I", most_rows=4) == pytest.approx(
        0.4 * information, abs=1e-13
    )
    assert family_scores(counter, [(1, (0,))], "I", most_rows=40) == pytest.approx(
        information, abs=1e-13
    )
    assert family_scores(counter, [(1, (0,))], "I", most_rows=0).tolist() == [0.0]


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1, max_size=7))
@example(
    [(6, 1), (6, 1), (0, 8)]
)  # both to 0: together they pass half of the records, neither does alone
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_f_is_the_best_of_all_splits(coded, pairs):
    counts = np.array(pairs)
    n = counts.sum()
    gains = [
        [sum(row[x] for row, to in zip(pairs, split, strict=True) if to == x) for x in (0, 1)]
        for split in product([0, 1], repeat=len(pairs))
    ]
    best = max(-max(0, n / 2 - zero) - max(0, n / 2 - one) for zero, one in gains)
    rows, columns = np.nonzero(counts)
    codes = [np.repeat(rows, counts[rows, columns]), np.repeat(columns, counts[rows, columns])]
    assert family_scores(MemoryCounter(coded(codes, [7, 2])), [(1, (0,))], "F").tolist() == [best]


def test_r_is_the_nearest_float_to_the_exact_fraction(coded):
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 9, (2, 997))
    codes[1] = (codes[0] + (rng.random(997) < 0.3) * codes[1]) % 9
    counts = np.zeros((9, 9), dtype=int)
    np.add.at(counts, tuple(codes), 1)
    n, r, k = 997, counts.sum(axis=1), counts.sum(axis=0)
    exact = (
        sum(
            abs(Fraction(int(counts[i, j])) - Fraction(int(r[i] * k[j]), n))
            for i in range(9)
            for j in range(9)
        )
        / 2
    )
    (value,) = family_scores(MemoryCounter(coded(codes, [9, 9])), [(1, (0,))], "R")
    assert value == float(exact)


def test_information_is_accurate_and_does_not_depend_on_row_order(coded):
    # 60,000 records, of a column that tells nothing: what is left is rounding, far below 2^-48 n log n = 2e-9 here.
    n = 60_000
    free = np.stack([np.arange(n) % 6, np.arange(n) // 6 % 10, np.arange(n) // 60 % 100])
    families = [(0, (1,)), (2, (0, 1)), (1, (0, 2))]
    assert family_scores(MemoryCounter(coded(free, [6, 10, 100])), families, "I").max() < 1e-9
    rng = np.random.default_rng(6)
    codes = rng.integers(0, 7, (4, 5_000)) % [[7], [3], [5], [2]]
    mixed = codes[:, rng.permutation(5_000)]
    for score, many in (("I", families_of([7] * 4, 3, "I")), ("R", families_of([7] * 4, 3, "R"))):
        first, second = (
            family_scores(MemoryCounter(coded(c, [7] * 4)), many, score) for c in (codes, mixed)
        )
        assert second == pytest.approx(first, abs=1e-11)
        assert score == "I" or np.array_equal(first, second)


@pytest.mark.parametrize("score", ["I", "R", "F"])
def test_odd_tables(coded, score):
    assert family_scores(
        MemoryCounter(coded([[], []], [2, 2])), [(0, (1,)), (1, ())], score
    ).tolist() == [0.0, 0.0]
    assert family_scores(MemoryCounter(coded([[1], [0]], [2, 2])), [], score).shape == (0,)
    # One record: nothing to tell; of F, half a record is missing from the other value.
    one = family_scores(MemoryCounter(coded([[1], [0]], [2, 2])), [(0, (1,)), (0, ())], score)
    assert one.tolist() == ([-0.5, -0.5] if score == "F" else [0.0, 0.0])
    # Without parents F is that of one combination: it goes to value 1, and all of value 0's half, 2 of 4, is missing.
    some = family_scores(
        MemoryCounter(coded([[0, 1, 1, 1], [0, 0, 0, 0]], [2, 2])), [(0, ()), (0, (1,))], score
    )
    assert some.tolist() == ([-2.0, -2.0] if score == "F" else [0.0, 0.0])
    # The order of parents does not matter, nor that of families.
    rng = np.random.default_rng(8)
    counter = MemoryCounter(coded(rng.integers(0, 2, (4, 50)), [2] * 4))
    given_ = [(3, (2, 0)), (1, ()), (3, (0, 2)), (0, (3, 1, 2)), (1, (3,))]
    forth, back = (family_scores(counter, families, score) for families in (given_, given_[::-1]))
    assert forth[0] == forth[2]
    assert np.array_equal(forth, back[::-1])


@pytest.mark.parametrize("score", ["I", "R", "F"])
def test_families_too_large_for_the_scratch_and_for_integers(coded, monkeypatch, score):
    rng = np.random.default_rng(3)
    sizes = [2, *[70_000] * 2, *[300] * 4]  # six parents have 70,000^2 x 300^4 cells, over 2^64
    base = rng.integers(0, 40, 200)
    table = coded(
        [
            base % 2,
            *(base * 1_700 + rng.integers(0, 3, (2, 200))),
            *(base * 7 + rng.integers(0, 2, (4, 200))),
        ],
        sizes,
    )
    families = [
        (0, (1, 2, 3, 4, 5, 6)),
        (0, (5,)),
        *([] if score == "F" else [(2, (1, 3, 4, 5)), (5, (0, 1))]),
    ]
    want = family_scores(MemoryCounter(table), families, score)
    assert want == pytest.approx(one_by_one(ReferenceCounter(table), families, score), abs=1e-9)
    monkeypatch.setattr(code_entropies, "SCRATCH_CELLS", 100)
    assert family_scores(MemoryCounter(table), families, score) == pytest.approx(want, abs=1e-11)


@pytest.mark.parametrize("score", ["I", "R", "F"])
def test_threads_do_not_change_scores(coded, score):
    rng = np.random.default_rng(5)
    table = coded(rng.integers(0, 2, (8, 20_000)), [2] * 8)
    families = families_of([2] * 8, 2, score)
    one, three = (family_scores(MemoryCounter(table, threads=t), families, score) for t in (1, 3))
    assert np.array_equal(one, three)


def test_a_file_is_scored_as_a_table_is(tmp_path):
    rng = np.random.default_rng(9)
    path = tmp_path / "some.csv"
    rows = rng.integers(0, 3, (400, 4)) % [2, 3, 2, 3]
    path.write_text("a,b,c,d\n" + "\n".join(",".join(f"v{x}" for x in row) for row in rows) + "\n")
    table, scan = chaffinch.read(path), chaffinch.scan(path)
    for score in "IRF":
        families = families_of(table.schema.sizes, 2, score)
        assert families
        here, there = (
            family_scores(c, families, score) for c in (MemoryCounter(table), StreamCounter(scan))
        )
        assert there == pytest.approx(here, abs=1e-11)


def test_messages(coded):
    counter = MemoryCounter(coded([[0, 1, 2], [0, 1, 1]], [3, 2]))
    with pytest.raises(chaffinch.errors.UnknownNameError, match="Unknown score 'MI'"):
        family_scores(counter, [(0, (1,))], "MI")
    for family in ((0, (0,)), (0, (2,)), (-1, (0,)), (0, (1, 1))):
        with pytest.raises(chaffinch.errors.InputError, match=r"by position \(0 to 1\)"):
            family_scores(counter, [family], "R")
    with pytest.raises(chaffinch.errors.InputError, match=r"child of 2 levels\. 'c0' has 3"):
        family_scores(counter, [(0, (1,))], "F")
    with pytest.raises(chaffinch.errors.InputError, match="most_rows must be at least 0"):
        family_scores(counter, [(0, (1,))], "I", most_rows=-1)
    weighted = MemoryCounter(
        chaffinch.read(pa.table({"a": ["x", "y"] * 9, "w": [1.0, 2.5] * 9})), weight="w"
    )
    with pytest.raises(chaffinch.errors.InputError, match="without weights"):
        family_scores(weighted, [(0, ())], "R")
