"""Intervals of printed numbers: everything that prints as a number lies in its interval, and little else does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaffinch._base.errors import InputError
from chaffinch.outputs.numbers import (
    Interval,
    count_interval,
    printed,
    share_interval,
    within_share,
)

finite = st.floats(-1e6, 1e6)


@given(finite, st.integers(0, 6))
def test_a_number_lies_in_the_interval_of_its_print(value: float, decimals: int) -> None:
    shown = f"{value:.{decimals}f}"
    quoted, given_decimals = printed(shown), printed(float(shown), decimals=decimals)
    assert quoted == pytest.approx(given_decimals, abs=1e-9)
    assert quoted.lo - 1e-9 <= value <= quoted.hi + 1e-9
    assert quoted.half == pytest.approx(0.5 * 10.0**-decimals, rel=1e-3)


@given(finite, st.integers(1, 8))
def test_scientific_notation_keeps_its_digits(value: float, digits: int) -> None:
    interval = printed(f"{value:.{digits}e}")
    assert interval.lo <= value + 1e-9 * abs(value)
    assert value <= interval.hi + 1e-9 * abs(value)


@given(finite)
def test_a_bare_number_is_exact(value: float) -> None:
    assert printed(value) == (value, value)


@pytest.mark.parametrize(
    "bad", ["", "ten", "nan", "inf", float("nan"), float("inf"), True, None, [1], "1e999999"]
)
def test_what_is_no_number(bad: object) -> None:
    with pytest.raises(InputError, match="Output 'o' must be"):
        printed(bad, what="Output 'o'")


def test_a_minus_as_journals_print_it() -> None:
    assert printed("\u22121.50") == printed("-1.50") == pytest.approx((-1.505, -1.495))


@pytest.mark.parametrize(
    ("cell", "options", "expected"),
    [
        (0, {}, (0, 0)),
        (7, {}, (7, 7)),
        (7.0, {}, (7, 7)),
        ("1,234", {}, (1234, 1234)),
        ("<10", {}, (1, 9)),
        ("<10", {"suppressed_zeros": True}, (0, 9)),
        ("<= 9", {}, (1, 9)),
        (">=20", {}, (20, 1000)),
        (">20", {}, (21, 1000)),
        ("5-9", {}, (5, 9)),
        ("5 to 9", {}, (5, 9)),
        ("?", {}, (0, 1000)),
        ("x", {"threshold": 5}, (1, 4)),
        (None, {"threshold": 5}, (1, 4)),
        (10, {"base": 5}, (8, 12)),
        (0, {"base": 5}, (0, 2)),
        (10, {"base": 10}, (5, 15)),
        (10, {"base": 5, "rounding": "down"}, (10, 14)),
        (10, {"base": 5, "rounding": "up"}, (6, 10)),
        (10, {"base": 3, "rounding": "random"}, (8, 12)),
    ],
)
def test_counts(cell: object, options: dict, expected: tuple[int, int]) -> None:
    assert count_interval(cell, most=1000, **options) == expected


@given(st.integers(0, 500), st.integers(1, 20))
def test_rounded_counts_hold_what_was_rounded(count: int, base: int) -> None:
    for rounding, shown in (
        ("nearest", round(count / base) * base),
        ("down", count // base * base),
        ("up", -(-count // base) * base),
    ):
        low, high = count_interval(shown, most=1000, base=base, rounding=rounding)  # type: ignore[arg-type]
        assert low <= count <= high


@pytest.mark.parametrize("bad", [-1, 1.5, "many", True, [], None, "<1", "9-5", "-"])
def test_what_is_no_count(bad: object) -> None:
    with pytest.raises(InputError, match="A count"):
        count_interval(bad, most=10)


@given(st.integers(1, 3000), st.data(), st.integers(0, 3))
def test_shares_hold_the_count(total: int, data: st.DataObject, decimals: int) -> None:
    count = data.draw(st.integers(0, total))
    share = share_interval(f"{100 * count / total:.{decimals}f}", decimals=None)
    assert share is not None
    low, high = within_share(share, total)
    assert low <= count <= high
    # Counts beyond the ends print otherwise.
    for outside in (low - 1, high + 1):
        assert (
            outside < 0
            or outside > total
            or abs(outside / total - share.middle) > share.half - 1e-9
        )


def test_shares_that_are_not_published_or_not_possible() -> None:
    assert share_interval("x", decimals=1) is None
    assert share_interval(0, decimals=1) == pytest.approx((0, 0.0005))
    with pytest.raises(InputError, match="between 0 and 100"):
        share_interval(101, decimals=0)
    with pytest.raises(InputError, match="out of its total of fewer than 10 records"):
        within_share(Interval(0.333, 0.3331), 7)
