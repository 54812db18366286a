"""Features of released tables against numpy on one table at a time."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch._base.errors import InputError, TooLargeError
from chaffinch.risk.membership.features import (
    BLACK_BOXES,
    black_box,
    closest_matches,
    level_counts,
    match_counts,
    sampled_counts,
    subset_columns,
    subset_sample,
)


def some_tables(
    seed: int, shape: tuple[int, ...], top: int = 4, unknown: float = 0.1
) -> np.ndarray:
    rng = np.random.default_rng(seed)
    tables = rng.integers(0, top, shape).astype(np.uint8)
    tables[rng.random(shape) < unknown] = 255
    return tables


def naive_by_numpy(table: np.ndarray, ordered: list[bool]) -> list[float]:
    """Return the naive features of one table, a column at a time."""
    out: list[float] = []
    for column, in_order in zip(table.T, ordered, strict=True):
        known = column[column != 255].astype(float)
        _, counts = np.unique(known, return_counts=True)
        out += [
            len(counts),
            *((counts.max() / len(known), counts.min() / len(known)) if len(known) else (0, 0)),
        ]
        if in_order:
            out += [known.mean(), np.median(known), known.var()] if len(known) else [0, 0, 0]
    return out


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(0, 9), unknown=st.sampled_from([0.0, 0.3, 1.0]))
def test_naive_is_what_numpy_says(seed: int, n: int, unknown: float) -> None:
    tables = some_tables(seed, (3, n, 4), unknown=unknown)
    ordered = [True, False, True, True]
    box = black_box("naive", [4, 4, 5, 200], ordered=ordered)
    features = box.features(tables, tables[0, 0] if n else [0, 0, 0, 0])
    assert features.dtype == np.float32
    assert len(box.names) == features.shape[1] == 3 * 4 + 3 * 3
    np.testing.assert_allclose(
        features, [naive_by_numpy(t, ordered) for t in tables], rtol=1e-5, atol=1e-6
    )


def test_histogram_is_one_way_counts() -> None:
    tables = some_tables(1, (5, 40, 3))
    box = black_box("histogram", [4, 5, 6], columns=["a", "b", "c"])
    features = box.features(tables, [0, 0, 0])
    assert features.shape == (5, 15)
    for place, name in enumerate(box.names):
        column, code = name.split(": code ")
        assert (
            features[:, place].tolist()
            == (tables[:, :, "abc".index(column)] == int(code)).sum(axis=1).tolist()
        )


def test_closest_is_minus_the_smallest_distance() -> None:
    tables = some_tables(2, (6, 30, 5), unknown=0.0)
    target = np.array([0, 1, 2, 3, 0], dtype=np.uint8)
    box = black_box("closest", [4] * 5)
    assert box.features(tables, target)[:, 0].tolist() == [
        -(t != target).sum(axis=1).min() for t in tables
    ]
    tables[0, 0] = target
    assert box.features(tables, target)[0, 0] == 0.0


def test_queries_are_all_subsets_up_to_sixteen_columns() -> None:
    tables = some_tables(3, (4, 30, 6))
    target = np.array([0, 1, 2, 3, 0, 1], dtype=np.uint8)
    box = black_box("queries", [4] * 6, columns=list("abcdef"))
    assert box.subsets is None
    assert (box.features(tables, target) == match_counts(tables, target)).all()
    assert box.names[0] == "rows"
    assert box.names[0b100101] == "rows that match: a, c, f"
    assert len(set(box.names)) == 64


def test_sixteen_columns_have_a_name_for_each_feature() -> None:
    assert len(black_box("queries", [2] * 16).names) == 1 << 16
    assert black_box("queries", [2] * 16).subsets is None


@pytest.mark.parametrize("d", [17, 70])
def test_queries_of_more_columns_are_a_sample_that_stays(d: int) -> None:
    tables = some_tables(4, (4, 30, d), top=2)
    target = np.zeros(d, dtype=np.uint8)
    box = black_box("queries", [2] * d, max_subsets=500, seed=9)
    assert box.subsets is not None
    features = box.features(tables, target)
    assert features.shape == (4, 500)
    assert (features == sampled_counts(tables, target, box.subsets)).all()
    assert (
        box.features(tables[2:3], target) == features[2:3]
    ).all()  # a released table alone lines up with the shadows
    assert (
        black_box("queries", [2] * d, max_subsets=500, seed=9).features(tables, target) == features
    ).all()
    held = subset_columns(box.subsets, d)
    assert box.names[300] == "rows that match: " + ", ".join(
        f"column {j}" for j in np.flatnonzero(held[300])
    )
    assert len(set(box.names)) == 500


@pytest.mark.parametrize("name", BLACK_BOXES)
def test_shape_order_threads_and_unknown_values(name: str) -> None:
    blocks = some_tables(5, (3, 2, 25, 4))
    target = blocks[0, 0, 0]
    box = black_box(name, [4] * 4)  # type: ignore[arg-type]
    features = box.features(blocks, target)
    assert features.shape == (3, 2, len(box.names))
    assert features.dtype == np.float32
    assert (
        features.reshape(6, -1) == box.features(blocks.reshape(6, 25, 4), target, threads=1)
    ).all()
    shuffled = blocks[:, :, np.random.default_rng(0).permutation(25)]
    assert (box.features(shuffled, target, threads=2) == features).all()
    # The same tables in wide codes.
    wide = np.where(blocks == 255, 65535, blocks).astype(np.uint16)
    assert (box.features(wide, np.where(target == 255, 65535, target)) == features).all()
    # Nothing known: no level, no match.
    blank = box.features(np.full((1, 3, 4), 255, dtype=np.uint8), np.full(4, 255, dtype=np.uint8))
    expected = {"queries": [3.0, *[0.0] * 15], "closest": [-4.0]}.get(name, [0.0] * len(box.names))
    assert blank[0].tolist() == expected


def test_errors() -> None:
    with pytest.raises(InputError, match=r"Unknown kind of feature 'query'"):
        black_box("query", [2])  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"at least one column"):
        black_box("naive", [])
    with pytest.raises(InputError, match=r"one entry for each of the 2 columns"):
        black_box("naive", [2, 2], ordered=[True])
    box = black_box("histogram", [2, 2])
    with pytest.raises(InputError, match=r"with 2 columns"):
        box.features(np.zeros((1, 2, 3), dtype=np.uint8), [0, 0])
    with pytest.raises(InputError, match=r"unsigned"):
        box.features(np.zeros((1, 2, 2), dtype=np.int64), [0, 0])
    with pytest.raises(InputError, match=r"uint8 do not hold all levels .* wider type"):
        black_box("histogram", [256]).features(np.zeros((1, 2, 1), dtype=np.uint8), [0])
    assert "subsets" not in repr(black_box("queries", [2] * 20, max_subsets=30, seed=1))


def matching(tables: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Where codes equal the target's; an unknown value equals nothing."""
    unknown = np.iinfo(tables.dtype).max
    codes = np.asarray(target).astype(np.int64)
    return (tables == codes) & (codes != unknown)


def same(a: int, b: int, unknown: int) -> bool:
    return a == b and a != unknown


def brute(tables: np.ndarray, target: list, subsets: list) -> list:
    """Return the counts by walking over tables, subsets (tuples of columns) and rows."""
    unknown = np.iinfo(tables.dtype).max
    return [
        [
            sum(all(same(int(row[j]), int(target[j]), unknown) for j in subset) for row in table)
            for subset in subsets
        ]
        for table in tables
    ]


def every_subset(d: int) -> list[tuple[int, ...]]:
    return [tuple(j for j in range(d) if s >> j & 1) for s in range(1 << d)]


@st.composite
def problems(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Small alphabets with the unknown code among them, also in the target."""
    kind = draw(st.sampled_from([np.uint8, np.uint16]))
    unknown = np.iinfo(kind).max
    d, n, t = draw(st.integers(1, 6)), draw(st.integers(0, 12)), draw(st.integers(0, 4))
    cell = st.sampled_from([0, 1, 2, int(unknown)])
    cells = draw(st.lists(cell, min_size=t * n * d, max_size=t * n * d))
    target = draw(st.lists(cell, min_size=d, max_size=d))
    return np.array(cells, dtype=kind).reshape(t, n, d), np.array(target, dtype=kind)


@settings(max_examples=80, deadline=None)
@given(problem=problems(), threads=st.integers(1, 3))
def test_all_ways_against_brute_force(problem: tuple, threads: int) -> None:
    tables, target = problem
    d = len(target)
    expected = np.array(brute(tables, target, every_subset(d))).reshape(len(tables), 1 << d)
    counts = match_counts(tables, target, threads=threads)
    assert counts.dtype == np.int32
    assert (counts == expected).all()
    assert (match_counts(tables, target, dtype=np.float32, threads=threads) == expected).all()
    sampled = sampled_counts(tables, target, np.arange(1 << d, dtype=np.uint64), threads=threads)
    assert (sampled == expected).all()
    unknown = np.iinfo(tables.dtype).max
    most = [
        max((sum(map(same, r, target, [unknown] * d)) for r in t.tolist()), default=0)
        for t in tables
    ]
    assert closest_matches(tables, target, threads=threads).tolist() == most
    assert (matching(tables, target).all(axis=-1).sum(axis=-1) == expected[:, -1]).all()


@settings(max_examples=40, deadline=None)
@given(problem=problems(), seed=st.integers(0, 99))
def test_properties(problem: tuple, seed: int) -> None:
    tables, target = problem
    counts = match_counts(tables, target)
    shuffled = tables[:, np.random.default_rng(seed).permutation(tables.shape[1])]  # not contiguous
    assert (match_counts(shuffled, target) == counts).all()
    assert (counts[:, 0] == tables.shape[1]).all()
    places = np.arange(counts.shape[1])
    for j in range(len(target)):
        assert (counts[:, places | 1 << j] <= counts[:, places & ~(1 << j)]).all()


@pytest.mark.parametrize("n", [1, 63, 64, 65, 200])
@pytest.mark.parametrize("d", [17, 64, 65, 130])
def test_samples_of_many_columns(n: int, d: int) -> None:
    rng = np.random.default_rng(n * d)
    tables = rng.integers(0, 2, (3, n, d)).astype(np.uint8)
    tables[1, 0] = 0  # a copy of the target, so that the last subset is met
    target = np.zeros(d, dtype=np.uint8)
    subsets = subset_sample(d, max_subsets=d + 200, seed=1)
    held = [tuple(np.flatnonzero(row).tolist()) for row in subset_columns(subsets, d)]
    counts = sampled_counts(tables, target, subsets)
    expected = [[int((table[:, list(s)] == 0).all(axis=1).sum()) for s in held] for table in tables]
    assert counts.tolist() == expected
    assert counts[1, -1] >= 1
    assert (counts == sampled_counts(tables, target, subsets, threads=3)).all()


@pytest.mark.parametrize(
    ("d", "most"), [(17, 20_000), (17, 100), (64, 2500), (65, 67), (130, 9000), (250, 20_000)]
)
def test_what_a_sample_holds(d: int, most: int) -> None:
    subsets = subset_sample(d, max_subsets=most, seed=3)
    assert subsets.shape == (most, -(-d // 64))
    held = [tuple(np.flatnonzero(row).tolist()) for row in subset_columns(subsets, d)]
    assert len(set(held)) == most
    assert held[0] == ()
    assert held[1 : d + 1] == [(j,) for j in range(d)]
    assert held[-1] == tuple(range(d))
    pairs = list(combinations(range(d), 2))
    if len(pairs) + d + 2 <= most:
        assert held[d + 1 : d + 1 + len(pairs)] == pairs
    assert (subset_sample(d, max_subsets=most, seed=3) == subsets).all()
    if most > d + 2 + len(pairs):
        assert (subset_sample(d, max_subsets=most, seed=4) != subsets).any()


def test_random_subsets_come_in_all_sizes_alike() -> None:
    """About 19,530 over the sizes 3 to 29; with even odds for each column sizes 3 and 27 would have about none.

    Sizes 5 to 26 have so many subsets that few come twice: about 770 of each, standard deviation 27; 180 is 6.6 of them, for 22 sizes
    a false alarm in some 10^9 seeds. Of size 29 there are 30, and all are met.
    """
    counts = np.bincount(subset_columns(subset_sample(30, seed=5), 30).sum(axis=1), minlength=31)
    assert counts[[0, 1, 2, 29, 30]].tolist() == [1, 30, 435, 30, 1]
    assert (np.abs(counts[5:27] - counts[5:27].mean()) < 180).all()
    assert min(counts[3], counts[27]) > 500


@pytest.mark.parametrize(("d", "most"), [(3, 5), (3, 7), (4, 12), (4, 15), (10, 1023)])
def test_nearly_all_subsets(d: int, most: int) -> None:
    held = subset_sample(d, max_subsets=most, seed=0).ravel().tolist()
    assert len(held) == len(set(held)) == most
    assert held[-1] == (1 << d) - 1
    assert subset_sample(d, max_subsets=1 << d, seed=0).ravel().tolist() == list(range(1 << d))


def test_codes_that_the_tables_cannot_hold_match_nothing() -> None:
    """300 is 44 in eight bits; 255 of a narrow target is unknown beside wide tables, where 255 is a code."""
    narrow = np.full((1, 4, 2), 44, dtype=np.uint8)
    assert match_counts(narrow, np.array([300, 44])).tolist() == [[4, 0, 4, 0]]
    assert match_counts(narrow, [-212, 44]).tolist() == [[4, 0, 4, 0]]
    assert match_counts(np.full((1, 4, 2), 255, dtype=np.uint8), [255, 511]).tolist() == [
        [4, 0, 0, 0]
    ]
    wide = np.full((1, 4, 2), 255, dtype=np.uint16)
    assert match_counts(wide, np.array([255, 255], dtype=np.uint8)).tolist() == [[4, 0, 0, 0]]
    assert match_counts(wide, [255, 255]).tolist() == [[4, 4, 4, 4]]


def test_read_only_and_strided_tables() -> None:
    rng = np.random.default_rng(0)
    tables = rng.integers(0, 3, (5, 20, 8)).astype(np.uint8)
    tables.flags.writeable = False
    target = tables[0, 0]
    part = tables[::2, ::3, 1:7]
    assert (match_counts(part, target[1:7]) == match_counts(part.copy(), target[1:7].copy())).all()
    assert match_counts(tables, target)[0, -1] >= 1


def test_many_tables_to_a_thread_are_told_apart() -> None:
    rng = np.random.default_rng(6)
    tables = rng.integers(0, 3, (60, 70, 5)).astype(np.uint8)
    target = np.array([0, 1, 2, 0, 1], dtype=np.uint8)
    expected = np.array(brute(tables, target.tolist(), every_subset(5)))
    subsets = np.arange(32, dtype=np.uint64)
    for threads in (1, 2, 3):
        assert (match_counts(tables, target, threads=threads) == expected).all()
        assert (sampled_counts(tables, target, subsets, threads=threads) == expected).all()
        near = closest_matches(tables, target, threads=threads)
        assert near.tolist() == matching(tables, target).sum(axis=2).max(axis=1).tolist()
        alone = np.concatenate([level_counts(table[None], [3] * 5) for table in tables])
        assert (level_counts(tables, [3] * 5, threads=threads) == alone).all()


def test_sixteen_columns_and_no_more() -> None:
    rng = np.random.default_rng(2)
    tables = rng.integers(0, 2, (2, 50, 17)).astype(np.uint8)
    target = tables[0, 0]
    counts = match_counts(tables[:, :, :16], target[:16])
    assert counts.shape == (2, 1 << 16)
    some = rng.integers(0, 1 << 16, 200)
    expected = [
        [
            int(
                (t[:, :16] == target[:16])[:, [s >> j & 1 for j in range(16)] == np.ones(16)]
                .all(1)
                .sum()
            )
            for s in some
        ]
        for t in tables
    ]
    assert counts[:, some].tolist() == expected
    with pytest.raises(TooLargeError, match=r"up to 16 columns. Got 17: count a sample"):
        match_counts(tables, target)


def test_level_counts_are_bincounts() -> None:
    rng = np.random.default_rng(4)
    tables = rng.integers(0, 5, (7, 30, 3)).astype(np.uint8)
    tables[rng.random(tables.shape) < 0.1] = 255
    sizes = [5, 6, 7]
    counts = level_counts(tables, sizes, threads=2)
    for table, row in zip(tables, counts, strict=True):
        expected = [
            np.bincount(c[c != 255], minlength=size) for c, size in zip(table.T, sizes, strict=True)
        ]
        assert row.tolist() == np.concatenate(expected).tolist()
    assert level_counts(np.full((1, 2, 1), 255, dtype=np.uint8), [256]).sum() == 0


def test_tables_and_targets_that_do_not_fit_are_refused() -> None:
    tables = np.zeros((1, 2, 3), dtype=np.uint8)
    with pytest.raises(InputError, match=r"tables, rows and columns. Got 2 dimensions"):
        match_counts(tables[0], [0, 0, 0])
    with pytest.raises(InputError, match=r"unsigned, uint8 or uint16. Got int64"):
        closest_matches(tables.astype(np.int64), [0, 0, 0])
    with pytest.raises(InputError, match=r"unsigned"):
        match_counts(tables.astype(float), [0, 0, 0])
    with pytest.raises(InputError, match=r"one code for each of the 3 columns"):
        match_counts(tables, [0, 0])
    with pytest.raises(InputError, match=r"number of columns plus 2, 22. Got 21"):
        subset_sample(20, max_subsets=21)
    with pytest.raises(InputError, match=r"beyond the 3 that there are"):
        sampled_counts(tables, [0, 0, 0], np.array([8], dtype=np.uint64))
    with pytest.raises(InputError, match=r"one word of 64 bits for each 64"):
        subset_columns(np.zeros((4, 1), dtype=np.uint64), 65)
    with pytest.raises(InputError, match=r"3 columns, one for each size|must have 2 columns"):
        level_counts(tables, [2, 2])
