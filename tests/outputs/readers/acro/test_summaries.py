"""Digits of statsmodels' summaries: what ACRO lost of them comes back."""

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.iolib.summary import forg

from chaffinch.errors import InputError
from chaffinch.outputs.numbers import printed
from chaffinch.outputs.readers.acro.regressions import (
    coefficient_text,
    error_text,
    likelihood_text,
    read_summary,
)

numbers = st.floats(-1e9, 1e9).filter(lambda x: abs(x) > 1e-11)


def lost(text):
    """What ACRO makes of a printed number: it is read as one, and written again."""
    try:
        return float(repr(float(text)))
    except ValueError:
        return text


@given(numbers)
def test_the_interval_holds_the_coefficient_and_is_no_wider_than_printed(number):
    shown = forg(number, prec=4).strip()
    interval = printed(coefficient_text(lost(shown)))
    slack = 1e-12 * abs(number)
    assert interval.lo - slack <= number <= interval.hi + slack
    digits = (
        5e-5 if 1e-4 <= abs(number) < 1e4 else 0.5 * 10.0 ** (np.floor(np.log10(abs(number))) - 3)
    )
    # At the ends of a rule, such as 9999.99999 or 0.000099999, rounding may lead into the next.
    if not any(np.isclose(abs(number), 10.0**k, rtol=1e-3) for k in range(-12, 10)):
        assert interval.half == pytest.approx(digits, rel=1e-6)


@given(st.floats(1e-11, 1e9))
def test_the_interval_holds_the_standard_error(number):
    interval = printed(error_text(lost(forg(number, prec=3).strip())))
    assert interval.lo - 1e-12 * number <= number <= interval.hi + 1e-12 * number


@given(st.floats(-1e9, -1e-3))
def test_the_interval_holds_the_likelihood(number):
    interval = printed(likelihood_text(lost(f"{number:#8.5g}".strip())))
    assert interval.lo * (1 + 1e-12) <= number <= interval.hi * (1 - 1e-12)
    assert interval.half <= 0.51e-4 * abs(number)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (-0.324, "-0.3240"),
        (32410.0, "3.241e+04"),
        (0.0, "0.0000"),
        (1e-17, "0.0000"),
        (0.0001, "0.0001"),
        (5, "5.0000"),
    ],
)
def test_trailing_zeros_come_back(number, text):
    assert coefficient_text(number) == text


def as_acro(result):
    """The tables of a summary, cut into cells, as ACRO stores them."""
    return [
        [[str(lost(str(cell.data).strip())) for cell in row] for row in table]
        for table in result.summary().tables
    ]


def test_n_is_found_by_its_label_whatever_the_layout(frame):
    design = sm.add_constant(frame[["wife_age", "num_children"]])
    for model in (
        sm.OLS(frame.num_children, design[["const", "wife_age"]]),
        sm.Logit(frame.uses, design),
    ):
        result = model.fit(disp=0) if isinstance(model, sm.Logit) else model.fit()
        found = read_summary(as_acro(result))
        assert found.n == len(frame)
        for name, value in result.params.items():
            assert (
                printed(found.coefficients[name]).lo
                <= value
                <= printed(found.coefficients[name]).hi
            )
        assert printed(found.loglik).lo <= result.llf <= printed(found.loglik).hi


def test_layouts_of_ols_and_logit_in_the_examples(census):
    for uid in ("output_0", "output_1", "output_5"):
        assert read_summary([file.rows for file in census[uid].tables]).n == 3000
    ols = read_summary([file.rows for file in census["output_5"].tables])
    assert ols.coefficients == {"const": "3.241e+04", "AGE": "8.3132", "SEX": "1499.8727"}
    assert ols.standard_errors == {"const": "3221.720", "AGE": "34.871", "SEX": "1620.753"}
    assert ols.loglik == "-3.6356e+04"
    assert ols.label == "INCOME"


HEAD = [["Dep. Variable:", "y", "No. Observations:", "30"]]


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ([HEAD], "no table with the columns coef"),
        ([HEAD, [["", "coef", "std err"], ["", "1", "1"]]], "no names"),
        (
            [HEAD, [["", "coef", "std err"], ["x", "1", "1"], ["x", "1", "1"]]],
            "no names, or two the same",
        ),
        ([HEAD, [["", "coef", "std err"], ["x", "nan", "1"]]], "no numbers"),
        ([HEAD, [["", "coef", "std err"], ["x", "", "1"]]], "no numbers"),
    ],
)
def test_summaries_without_coefficients_say_so(tables, words):
    with pytest.raises(InputError, match=words):
        read_summary(tables)
