"""Features of released tables against numpy on one table at a time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch._base.errors import InputError
from chaffinch.risk.membership.features import (
    BLACK_BOXES,
    black_box,
    match_counts,
    sampled_counts,
    subset_columns,
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
    features = box.of(tables, tables[0, 0] if n else [0, 0, 0, 0])
    assert features.dtype == np.float32
    assert len(box.names) == features.shape[1] == 3 * 4 + 3 * 3
    np.testing.assert_allclose(
        features, [naive_by_numpy(t, ordered) for t in tables], rtol=1e-5, atol=1e-6
    )


def test_histogram_is_one_way_counts() -> None:
    tables = some_tables(1, (5, 40, 3))
    box = black_box("histogram", [4, 5, 6], columns=["a", "b", "c"])
    features = box.of(tables, [0, 0, 0])
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
    assert box.of(tables, target)[:, 0].tolist() == [
        -(t != target).sum(axis=1).min() for t in tables
    ]
    tables[0, 0] = target
    assert box.of(tables, target)[0, 0] == 0.0


def test_queries_are_all_subsets_up_to_sixteen_columns() -> None:
    tables = some_tables(3, (4, 30, 6))
    target = np.array([0, 1, 2, 3, 0, 1], dtype=np.uint8)
    box = black_box("queries", [4] * 6, columns=list("abcdef"))
    assert box.subsets is None
    assert (box.of(tables, target) == match_counts(tables, target)).all()
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
    box = black_box("queries", [2] * d, most=500, seed=9)
    assert box.subsets is not None
    features = box.of(tables, target)
    assert features.shape == (4, 500)
    assert (features == sampled_counts(tables, target, box.subsets)).all()
    assert (
        box.of(tables[2:3], target) == features[2:3]
    ).all()  # a released table alone lines up with the shadows
    assert (black_box("queries", [2] * d, most=500, seed=9).of(tables, target) == features).all()
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
    features = box.of(blocks, target)
    assert features.shape == (3, 2, len(box.names))
    assert features.dtype == np.float32
    assert (features.reshape(6, -1) == box.of(blocks.reshape(6, 25, 4), target, threads=1)).all()
    shuffled = blocks[:, :, np.random.default_rng(0).permutation(25)]
    assert (box.of(shuffled, target, threads=2) == features).all()
    # The same tables in wide codes.
    wide = np.where(blocks == 255, 65535, blocks).astype(np.uint16)
    assert (box.of(wide, np.where(target == 255, 65535, target)) == features).all()
    # Nothing known: no level, no match.
    blank = box.of(np.full((1, 3, 4), 255, dtype=np.uint8), np.full(4, 255, dtype=np.uint8))
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
        box.of(np.zeros((1, 2, 3), dtype=np.uint8), [0, 0])
    with pytest.raises(InputError, match=r"unsigned"):
        box.of(np.zeros((1, 2, 2), dtype=np.int64), [0, 0])
    with pytest.raises(InputError, match=r"uint8 do not hold all levels .* wider type"):
        black_box("histogram", [256]).of(np.zeros((1, 2, 1), dtype=np.uint8), [0])
    assert "subsets" not in repr(black_box("queries", [2] * 20, most=30, seed=1))
