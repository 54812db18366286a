"""Counts as printed: what each may be, and beside those of records."""

from __future__ import annotations

from typing import Any

import pytest

from chaffinch.outputs.kinds.table import TableSpec


@pytest.mark.parametrize(
    ("keys", "cells", "ends"),
    [
        ({}, [7, "?", "<5"], [(7, 7), (0, 50), (1, 4)]),
        ({"threshold": 6}, ["x", None, 9], [(1, 5), (1, 5), (9, 9)]),
        ({"threshold": 6, "suppressed_zeros": True}, ["x"], [(0, 5)]),
        ({"base": 5}, [10, 0], [(8, 12), (0, 2)]),
        ({"base": 5, "rounding": "down"}, [10], [(10, 14)]),
        ({"base": 5, "rounding": "random"}, [10], [(6, 14)]),
    ],
)
def test_what_a_printed_count_may_be(
    keys: dict[str, Any], cells: list[Any], ends: list[tuple[int, int]]
) -> None:
    spec = TableSpec(name="t", by=["A"], **keys)
    lo, hi = spec.bounds(cells, 50)
    assert list(zip(lo.tolist(), hi.tolist(), strict=True)) == ends
    assert (spec.printer.base, spec.printer.rounding) == (spec.base, spec.rounding)


def test_counts_beside_those_of_records() -> None:
    spec = TableSpec(name="t", by=["A"], threshold=6)
    numbers = list(spec.count_numbers(["f", "m"], ["x", 9], [3, 10], 50))
    assert [(one.name, one.lo, one.hi, one.value, one.within()) for one in numbers] == [
        ("f", 1.0, 5.0, 3.0, True),
        ("m", 9.0, 9.0, 10.0, False),
    ]
