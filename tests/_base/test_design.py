"""Which level gets a column: by hand, and by rank over random terms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch._base.formula import Part, parts_of

CODINGS = {"a": ((0, 1), 0), "b": ((0, 1, 2), 1), "x": None, "z": None}


def laid(
    terms: list[tuple[str, ...]],
) -> list[tuple[tuple[str, ...], tuple[tuple[int, ...] | None, ...]]]:
    return [(part.factors, part.levels) for part in parts_of(terms, CODINGS.__getitem__)]


@pytest.mark.parametrize(
    ("terms", "parts"),
    [
        ([()], [((), ())]),
        ([(), ("a",)], [((), ()), (("a",), ((1,),))]),
        ([("a",)], [(("a",), ((0, 1),))]),  # without an intercept all levels
        ([(), ("b",)], [((), ()), (("b",), ((0, 2),))]),  # another reference
        ([("a",), ("b",)], [(("a",), ((0, 1),)), (("b",), ((0, 2),))]),
        ([(), ("a", "b")], [((), ()), (("b",), ((0, 2),)), (("a", "b"), ((1,), (0, 1, 2)))]),
        (
            [(), ("a",), ("b",), ("a", "b")],
            [((), ()), (("a",), ((1,),)), (("b",), ((0, 2),)), (("a", "b"), ((1,), (0, 2)))],
        ),
        ([("a",), ("a", "b")], [(("a",), ((0, 1),)), (("a", "b"), ((0, 1), (0, 2)))]),
        # Terms with other numbers have nothing in common with these.
        ([(), ("a", "x")], [((), ()), (("a", "x"), ((0, 1), None))]),
        ([("x",), ("a", "x")], [(("x",), (None,)), (("a", "x"), ((1,), None))]),
    ],
)
def test_parts_by_hand(terms: list[tuple[str, ...]], parts: list[object]) -> None:
    assert laid(terms) == parts


def test_columns_run_through_the_first_factor_fastest() -> None:
    part = Part(("a", "x", "b"), ((0, 1), None, (0, 2)), (True, False, False))
    assert part.size == 4
    levels = [tuple(level for _, level in coefficient) for coefficient in part.coefficients()]
    assert levels == [(0, None, 0), (1, None, 0), (0, None, 2), (1, None, 2)]


def test_entries_by_hand() -> None:
    part = Part(("b", "x"), ((0, 2), None), (False, False))
    inside, column, value = part.entries(
        4, lambda _: np.array([0, 1, 2, 2]), lambda _: np.array([3.0, 4.0, 0.0, 5.0])
    )
    assert inside.tolist() == [True, False, True, True]
    assert column[inside].tolist() == [0, 1, 1]
    assert value[inside].tolist() == [3.0, 0.0, 5.0]


def test_a_factor_of_one_level_has_no_column_beside_the_intercept() -> None:
    parts = list(parts_of([(), ("c",)], lambda _: ((0,), 0)))
    assert [part.size for part in parts] == [1, 0]
    inside, _, _ = parts[1].entries(2, lambda _: np.array([0, 0]), lambda _: np.zeros(2))
    assert not inside.any()


@given(
    st.lists(
        st.sets(st.sampled_from("abxz"), max_size=4).map(sorted).map(tuple),
        min_size=1,
        max_size=5,
        unique=True,
    )
)
@settings(max_examples=100, deadline=None)
def test_columns_are_independent_and_span_every_product_of_indicators(
    terms: list[tuple[str, ...]],
) -> None:
    """The span of all indicators times numbers has the rank of the design, and as many columns as that."""
    terms = sorted(terms, key=len)
    rng = np.random.default_rng(1)
    codes = {"a": rng.integers(0, 2, 300), "b": rng.integers(0, 3, 300)}
    numbers = {name: rng.normal(size=300) for name in "xz"}

    def dense(parts: list[Part[str]]) -> np.ndarray:
        blocks = [np.zeros((300, 0))]
        for part in parts:
            inside, column, value = part.entries(300, codes.__getitem__, numbers.__getitem__)
            block = np.zeros((300, part.size))
            block[inside, column[inside]] = value[inside]
            blocks.append(block)
        return np.hstack(blocks)

    ours = dense(list(parts_of(terms, CODINGS.__getitem__)))
    levels = [tuple(CODINGS[f] and CODINGS[f][0] for f in term) for term in terms]
    every = dense(
        [Part(term, some, (True,) * len(term)) for term, some in zip(terms, levels, strict=True)]
    )
    ranks = [int(np.linalg.matrix_rank(m)) for m in (ours, every, np.hstack([ours, every]))]
    assert ranks == [ours.shape[1]] * 3
