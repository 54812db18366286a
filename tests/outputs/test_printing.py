"""Printing: what is printed holds what it prints, and is read back by its digits."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch.outputs.numbers import Printer, count_interval, digits_in, printed, rounded, style_of


@given(st.floats(-1e9, 1e9), st.sampled_from(["0", "0.00", "0.0000", "0e+00", "0.000e+00", 0, 3]))
@settings(deadline=None)
def test_printed_numbers_hold_what_they_print(value: float, style: str | int) -> None:
    text = rounded(value, style, None)
    low, high = printed(text)
    assert low - 1e-7 * max(1, abs(value)) <= value <= high + 1e-7 * max(1, abs(value))
    assert rounded(float(text), style_of(text), None) in (
        text,
        str(text).replace("-", "", 1),
    )  # the same digits, but for -0


@given(
    st.integers(0, 200),
    st.sampled_from([None, 5, 10]),
    st.booleans(),
    st.sampled_from([1, 3, 5, 10]),
    st.sampled_from(["nearest", "down", "up", "random"]),
    st.sampled_from([[], ["<7"], ["3-9", ">=50"]]),
)
@settings(deadline=None)
def test_printed_counts_hold_what_they_print(
    count: int, threshold: int | None, zeros: bool, base: int, rounding: Any, bands: list[str]
) -> None:
    rules: dict[str, Any] = {
        "name": "t",
        "threshold": threshold,
        "suppressed_zeros": zeros,
        "base": base,
        "rounding": rounding,
        "bands": bands,
    }
    cell = Printer(**rules).counts([count], ["c"])[0]
    low, high = count_interval(
        cell, most=200, threshold=threshold, suppressed_zeros=zeros, base=base, rounding=rounding
    )
    assert low <= count <= high
    if threshold is not None and (0 if zeros else 1) <= count < threshold:
        assert isinstance(cell, str)
    inside = [count_interval(band, most=200, suppressed_zeros=zeros) for band in bands]
    assert (cell in bands) == any(lo <= count <= hi for lo, hi in inside)


def test_random_rounding_has_no_bias_and_repeats() -> None:
    """1 of base 5 goes up with chance 1/5: 20,000 draws, sd 57, so 4,000 -+ 300 fails once in 10 million."""
    rules: dict[str, Any] = {"name": "t", "base": 5, "rounding": "random"}
    cells = Printer(**rules).counts([1] * 20_000, [""] * 20_000)
    assert abs(cells.count(5) - 4000) < 300
    assert set(cells) == {0, 5}
    assert Printer(**rules).counts([1] * 50, [""] * 50) == cells[:50]
    assert Printer(**{**rules, "name": "u"}).counts([1] * 50, [""] * 50) != cells[:50]


def test_digits_of_withheld_numbers_do_not_count() -> None:
    assert digits_in(["x", None, "1.5"], ["a", "b", "c"]) == "0.0"
    assert digits_in(["<10"], ["a"]) is None
    assert style_of("nan") is None
    assert rounded(-0.001, None, 2) == 0.0
