"""Shapes of columns and pairs: counted by hand, and nothing small shows, whatever the table."""

from __future__ import annotations

from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chaffinch
from chaffinch.table.align import align
from chaffinch.utility.shapes import nice_edges, shapes_of, worst_pairs


def shapes(original: dict, synthetic: dict | None = None, **options):
    one, other = align(
        chaffinch.read(pa.table(original)), pa.table(original if synthetic is None else synthetic)
    )
    return shapes_of(one, other, options.pop("results", {}), **options)


def test_bars_are_counted_and_rounded():
    column = {"sex": ["f"] * 63 + ["m"] * 37, "ill": ["no"] * 100}
    shape = shapes(column).columns[0]
    assert (shape.kind, shape.labels) == ("bars", ("f", "m"))
    assert shape.original == (0.6, 0.4)  # 63 and 37 to the nearest ten, of 100


def test_levels_that_few_have_are_not_named():
    towns = ["Leeds"] * 60 + ["York"] * 31 + ["Sark"] * 4 + ["Herm"] * 5
    for rare in ("keep", "pool"):
        table = chaffinch.read(
            pa.table({"town": towns, "x": ["a"] * 100}),
            schema={"town": {"kind": "categorical", "rare": rare}},
        )
        one, other = align(table, table)
        shape = shapes_of(one, other, {}).columns[0]
        assert not any(name in label for label in shape.labels for name in ("Sark", "Herm"))
        assert shape.original[-1] is None  # nine people in all
    assert shapes({"town": [*towns, "Sark"], "x": ["a"] * 101}).columns[0].original[-1] is not None


def test_bins_end_at_round_numbers_and_extremes_do_not_show():
    ages = [*np.random.default_rng(1).integers(20, 60, 990).tolist(), *range(90, 99), 12345]
    shape = shapes({"age": ages, "x": ["a"] * 1000}).columns[0]
    assert shape.kind == "histogram"
    assert shape.labels[-1] == "55 or more"
    expected = 10 * round(sum(25 <= age < 30 for age in ages) / 10) / 1000
    assert shape.original[shape.labels.index("25 to below 30")] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("low", "high", "most"),
    [(0, 1, 20), (17.3, 72.8, 6), (-5e6, 3e7, 20), (1e-9, 2e-9, 6), (0, 0, 5), (3, 4, 20)],
)
def test_edges_are_round_and_few(low, high, most):
    edges = nice_edges(low, high, most)
    assert len(edges) <= most + 1
    assert all(low - abs(low) * 1e-9 <= edge <= high + abs(high) * 1e-9 for edge in edges)
    steps = np.diff(edges)
    assert np.allclose(steps, steps[:1] if len(steps) else 0)


def test_missing_values_have_a_cell_of_their_own():
    shape = shapes({"age": [None] * 30 + list(range(20, 90)), "x": ["a"] * 100}).columns[0]
    assert shape.labels[-1] == "missing"
    assert shape.original[-1] == 0.3


def test_the_worst_pairs_are_drawn():
    rng = np.random.default_rng(3)
    a = rng.choice(["x", "y"], 400)
    original = {"a": a.tolist(), "b": a.tolist(), "c": rng.choice(["p", "q"], 400).tolist()}
    broken = {**original, "b": rng.permutation(a).tolist()}
    result = chaffinch.utility(pa.table(original), pa.table(broken), measures=["tvd"], seed=1)
    first = result.shapes.pairs[0]
    assert first.columns == ("a", "b")
    counts = {
        pair: sum((x, y) == pair for x, y in zip(original["a"], original["b"], strict=True))
        for pair in product("xy", "xy")
    }
    expected = tuple(
        None if counts[pair] < 10 else round(counts[pair] / 10) * 10 / 400
        for pair in product(*first.labels)
    )
    assert first.original == expected
    assert [pair.value for pair in result.shapes.pairs] == sorted(
        (pair.value for pair in result.shapes.pairs), reverse=True
    )
    assert worst_pairs({}) == []


def test_plain_data_hold_no_shapes():
    table = pa.table({"town": ["Leeds"] * 60 + ["York"] * 40, "x": ["a", "b"] * 50})
    result = chaffinch.utility(table, table, measures=["jensen_shannon"], seed=1)
    assert result.shapes is not None
    assert "Leeds" not in str(result.to_dict())
    assert type(result).from_dict(result.to_dict()).shapes is None


def test_several_rows_of_a_person_are_one_person():
    frame = pa.table(
        {
            "id": [f"p{i % 20}" for i in range(200)],
            "town": ["Sark" if i % 20 < 4 else "Leeds" for i in range(200)],
            "x": ["a", "b"] * 100,
        }
    )
    table = chaffinch.read(frame, person="id")
    one, other = align(table, table)
    shape = next(shape for shape in shapes_of(one, other, {}).columns if shape.name == "town")
    assert "Sark" not in shape.labels  # forty rows, of four people
    assert None in shape.original


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from("abcdefghijklmn"), st.integers(-50, 50)),
        min_size=12,
        max_size=150,
    ),
    st.sampled_from([3, 10, 25]),
)
def test_nothing_small_shows(rows, threshold):
    letters, numbers = zip(*rows, strict=True)
    table = {"letter": list(letters), "number": list(numbers)}
    found = shapes(table, threshold=threshold)
    total = round(len(rows) / threshold) * threshold
    for shape in (*found.columns, *found.pairs):
        for share in (*shape.original, *shape.synthetic):
            assert share is None or share >= min(threshold / max(total, 1), 1.0) - 1e-9
    for label, share in zip(found.columns[0].labels, found.columns[0].original, strict=True):
        if len(label) == 1:
            assert letters.count(label) >= threshold
            assert share is not None or len(rows) < threshold
