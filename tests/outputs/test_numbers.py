"""Intervals of printed numbers: everything that prints as a number lies in its interval, and little else does."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch._base.errors import InputError
from chaffinch.outputs.document import Outputs
from chaffinch.outputs.numbers import (
    Interval,
    Number,
    Printer,
    compare_numbers,
    count_interval,
    digits_in,
    format_number,
    numbers,
    printed_interval,
    share_interval,
    style_of,
    within_share,
)

finite = st.floats(-1e6, 1e6)


@given(finite, st.integers(0, 6))
def test_a_number_lies_in_the_interval_of_its_print(value: float, decimals: int) -> None:
    shown = f"{value:.{decimals}f}"
    quoted, given_decimals = (
        printed_interval(shown),
        printed_interval(float(shown), decimals=decimals),
    )
    assert quoted == pytest.approx(given_decimals, abs=1e-9)
    assert quoted.lo - 1e-9 <= value <= quoted.hi + 1e-9
    assert quoted.half == pytest.approx(0.5 * 10.0**-decimals, rel=1e-3)


@given(finite, st.integers(1, 8))
def test_scientific_notation_keeps_its_digits(value: float, digits: int) -> None:
    interval = printed_interval(f"{value:.{digits}e}")
    assert interval.lo <= value + 1e-9 * abs(value)
    assert value <= interval.hi + 1e-9 * abs(value)


@given(finite)
def test_a_bare_number_is_exact(value: float) -> None:
    assert printed_interval(value) == (value, value)


@pytest.mark.parametrize(
    "bad", ["", "ten", "nan", "inf", float("nan"), float("inf"), True, None, [1], "1e999999"]
)
def test_what_is_no_number(bad: object) -> None:
    with pytest.raises(InputError, match="Output 'o' must be"):
        printed_interval(bad, what="Output 'o'")


def test_a_minus_as_journals_print_it() -> None:
    assert (
        printed_interval("\u22121.50")
        == printed_interval("-1.50")
        == pytest.approx((-1.505, -1.495))
    )


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
    assert count_interval(cell, max_count=1000, **options) == expected


@given(st.integers(0, 500), st.integers(1, 20))
def test_rounded_counts_hold_what_was_rounded(count: int, base: int) -> None:
    for rounding, shown in (
        ("nearest", round(count / base) * base),
        ("down", count // base * base),
        ("up", -(-count // base) * base),
    ):
        low, high = count_interval(shown, max_count=1000, base=base, rounding=rounding)  # type: ignore[arg-type]
        assert low <= count <= high


@pytest.mark.parametrize("bad", [-1, 1.5, "many", True, [], None, "<1", "9-5", "-"])
def test_what_is_no_count(bad: object) -> None:
    with pytest.raises(InputError, match="A count"):
        count_interval(bad, max_count=10)


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


@given(st.floats(-1e9, 1e9), st.sampled_from(["0", "0.00", "0.0000", "0e+00", "0.000e+00", 0, 3]))
@settings(deadline=None)
def test_printed_numbers_hold_what_they_print(value: float, style: str | int) -> None:
    text = format_number(value, style, None)
    low, high = printed_interval(text)
    assert low - 1e-7 * max(1, abs(value)) <= value <= high + 1e-7 * max(1, abs(value))
    assert format_number(float(text), style_of(text), None) in (
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
        cell,
        max_count=200,
        threshold=threshold,
        suppressed_zeros=zeros,
        base=base,
        rounding=rounding,
    )
    assert low <= count <= high
    if threshold is not None and (0 if zeros else 1) <= count < threshold:
        assert isinstance(cell, str)
    inside = [count_interval(band, max_count=200, suppressed_zeros=zeros) for band in bands]
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
    assert format_number(-0.001, None, 2) == 0.0


CMC = Path(__file__).parents[2] / "examples" / "data" / "cmc.csv"
COLUMNS = [
    {"name": "wife_age", "from": 16, "to": 49},
    {"name": "wife_education", "levels": ["e1", "e2", "e3", "e4"]},
    {"name": "num_children", "from": 0, "to": 16},
    {"name": "wife_religion", "levels": [0, 1]},
    {"name": "contraceptive_method", "levels": [1, 2, 3]},
]


def refit(output, fields, codes):
    """The numbers of an output, by name, as these records give them."""
    return {number.name: number.value for number in numbers(output, fields, codes)}


@pytest.fixture(scope="module")
def frame():
    data = pd.read_csv(CMC)[[column["name"] for column in COLUMNS]]
    return data.assign(wife_education="e" + data["wife_education"].astype(str))


def made(frame, *outputs):
    spec = Outputs.from_dict(
        {
            "format": "chaffinch-outputs",
            "version": 1,
            "rows": len(frame),
            "columns": COLUMNS,
            "outputs": list(outputs),
        }
    )
    return spec, spec.fields.codes({name: frame[name].tolist() for name in frame})


def test_survival_by_hand():
    """Times 1, 2, 2, 3 with events at 1, 2 and 3, the other 2 censored: 3/4, then 3/4 x 2/3, then 0."""
    columns = [{"name": "t", "from": 1, "to": 3}, {"name": "died", "levels": ["no", "yes"]}]
    output = {
        "name": "km",
        "kind": "kaplan-meier",
        "time": "t",
        "event": "died",
        "times": [1, 2, 3],
        "at_risk": [4, 3, 1],
        "events": [1, 1, 1],
        "survival": ["0.75", "0.50", "0.00"],
    }
    spec = Outputs.from_dict(
        {
            "format": "chaffinch-outputs",
            "version": 1,
            "rows": 4,
            "columns": columns,
            "outputs": [output],
        }
    )
    codes = np.array([[0, 1], [1, 1], [1, 0], [2, 1]], dtype=np.int32)
    found = refit(spec.outputs[0], spec.fields, codes)
    assert [found[f"survival at {t}"] for t in (1, 2, 3)] == pytest.approx([0.75, 0.5, 0.0])
    assert [found[f"at risk at {t}"] for t in (1, 2, 3)] == [4, 3, 1]
    assert compare_numbers(spec, codes)[0].within
    codes[0, 1] = 0
    assert compare_numbers(spec, codes)[0].within is False


@pytest.mark.parametrize(
    ("kind", "formula", "fit"),
    [
        ("ols", "wife_age ~ num_children + C(wife_education)", smf.ols),
        ("logit", "wife_religion ~ wife_age + wife_education", smf.logit),
        ("probit", "wife_religion ~ wife_age + wife_education", smf.probit),
        ("poisson", "num_children ~ wife_age * C(wife_religion)", smf.poisson),
    ],
)
def test_regressions_are_those_of_formulas(frame, kind, formula, fit):
    """The design here is our own; patsy's, from the same records and formula, must give the same fit."""
    result = fit(formula, frame).fit(
        **({} if kind == "ols" else {"disp": 0, "method": "newton", "tol": 1e-12, "maxiter": 100})
    )
    output = {
        "name": "r",
        "kind": kind,
        "formula": formula,
        "coefficients": result.params.to_dict(),
    }
    if kind != "probit":
        output |= {"standard_errors": result.bse.to_dict(), "loglik": float(result.llf)}
    spec, codes = made(frame, output)
    found = refit(spec.outputs[0], spec.fields, codes)
    for name, number in result.params.items():
        assert found[name] == pytest.approx(number, abs=1e-7, rel=1e-7)
    if kind != "probit":
        assert found["loglik"] == pytest.approx(result.llf)
        assert found["standard error of Intercept"] == pytest.approx(
            result.bse["Intercept"], rel=1e-6
        )
    whole = compare_numbers(spec, codes)[0]
    assert whole.within
    assert whole.worst_in_precision < 1.0
    codes[::3, 0] = 0
    codes[::5, 3] = 0
    assert compare_numbers(spec, codes)[0].within is False


def test_multinomial_and_a_filter(frame):
    kept = frame[frame["wife_age"] < 40]
    result = smf.mnlogit("contraceptive_method ~ wife_age + num_children", kept).fit(
        disp=0, method="newton", tol=1e-12
    )
    coefficients = {label: result.params.iloc[:, k].to_dict() for k, label in enumerate(["2", "3"])}
    output = {
        "name": "m",
        "kind": "multinomial",
        "formula": "contraceptive_method ~ wife_age + num_children",
        "where": "wife_age < 40",
        "n": len(kept),
        "coefficients": coefficients,
    }
    spec, codes = made(frame, output)
    found = refit(spec.outputs[0], spec.fields, codes)
    assert found["3: wife_age"] == pytest.approx(coefficients["3"]["wife_age"], abs=1e-7)
    assert found["n"] == len(kept)
    assert compare_numbers(spec, codes)[0].within


def test_estimates_that_run_off_are_outside(frame):
    """All labels are 1: the estimates run off to infinity, and their standard errors with them, which must not excuse them."""
    output = {
        "name": "r",
        "kind": "logit",
        "formula": "wife_religion ~ C(wife_education)",
        "coefficients": {
            "Intercept": 0.1,
            **{f"C(wife_education)[T.e{k}]": 0.1 for k in (2, 3, 4)},
        },
    }
    spec, codes = made(frame, output)
    codes[:, 3] = 1
    assert compare_numbers(spec, codes)[0].within is False


def test_without_statsmodels_regressions_are_not_refitted(frame, monkeypatch):
    real = builtins.__import__

    def absent(name, *args, **kwargs):
        if name.startswith("statsmodels"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    spec, codes = made(
        frame,
        {
            "name": "r",
            "kind": "logit",
            "formula": "wife_religion ~ wife_age",
            "coefficients": {"Intercept": 0.1, "wife_age": 0.1},
        },
        {"name": "m", "kind": "mean", "of": "wife_age", "value": float(frame["wife_age"].mean())},
    )
    monkeypatch.setattr(builtins, "__import__", absent)
    regression, mean = compare_numbers(spec, codes)
    assert regression.within is None
    assert not regression.refitted
    assert mean.within


def test_a_number_and_its_precision():
    printed = Number("b", 1.15, 1.25, 1.24, 0.1)
    assert printed.within()
    assert printed.in_precision() == pytest.approx(0.8)
    assert not Number("b", 1.15, 1.25, 1.26, 0.1).within()
    exact = Number("b", 1.2, 1.2, 1.20005, 0.1)  # half of the tolerance of a thousandth of 0.1
    assert exact.within()
    assert exact.in_precision() == pytest.approx(0.5)
    assert not exact.within(1e-4)
    suppressed = Number("cell", 1, 9, 8)
    assert (suppressed.error, suppressed.in_precision()) == (0.0, 0.0)
    assert not Number("cell", 1, 9, 10).within()
    assert not Number("b", 0, 1, float("nan")).within()
