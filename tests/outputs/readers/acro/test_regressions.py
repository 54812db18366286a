"""Regressions of ACRO: formulas from commands, or put together from coefficients."""

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.iolib.summary import forg

from chaffinch.errors import InputError
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.numbers import printed_interval
from chaffinch.outputs.readers.acro.read import AcroDirectory, AcroFile, AcroResult
from chaffinch.outputs.readers.acro.recipes import recipes_of_acro
from chaffinch.outputs.readers.acro.regressions import (
    coefficient_text,
    error_text,
    likelihood_text,
    read_summary,
)


def test_formulas_come_from_the_command_or_from_the_coefficients(read):
    found = {output.uid: output.entry.get("formula") for output in read.outputs}
    assert found["reference"] == "uses ~ wife_age + C(area, Treatment('south'))"
    assert found["probit"] == "uses ~ wife_age + num_children"
    assert found["no constant"] == "uses ~ 0 + wife_age + num_children"
    assert found["logitr cut off"] == "uses ~ C(wife_education) + wife_age"
    assert any("put together" in note for note in read.outputs_of("logitr cut off")[0].notes)
    assert read.outputs_of("olsr")[0].notes == ()


def test_large_coefficients_keep_four_digits(read, entries):
    assert entries(read, "large numbers")[""]["coefficients"] == {
        "Intercept": "2.639e+04",
        "num_children": "1884.1025",
    }


def test_standard_errors_of_a_probit_are_left_out(read, entries):
    assert "standard_errors" not in entries(read, "probitr")[""]
    assert "observed information" in read.outputs_of("probitr")[0].notes[0]
    assert "standard_errors" in entries(read, "olsr")[""]


def regression(
    tmp_path, coefficients, *, fields, label="b", command="s.logitr(", head=(), method="logitr"
):
    head = (
        ("Dep. Variable:", label, "No. Observations:", "50"),
        ("Model:", "Logit", "", ""),
        *head,
    )
    numbers = (("", "coef", "std err"), *((name, "0.1", "0.2") for name in coefficients))
    files = tuple(AcroFile(f"t_{k}.csv", "", tuple(rows)) for k, rows in enumerate((head, numbers)))
    made = AcroResult("t", "pass", "regression", method, files, command=command)
    return recipes_of_acro(AcroDirectory(tmp_path, "1.0.2", {}, (made,)), fields)


def test_a_missing_coefficient_is_not_named(tmp_path):
    fields = OutputDomain((OutputColumn("b", (0, 1)), OutputColumn("a", ("u", "v", "secret"))))
    (skipped,) = regression(tmp_path, ["Intercept", "a[T.v]"], fields=fields).skipped
    assert "secret" not in skipped.reason


AREA = OutputColumn("area", (57, 58, 59))
PEOPLE = OutputDomain(
    (
        OutputColumn("b", (0, 1)),
        AREA,
        OutputColumn("age", (1, 2, 3)),
        OutputColumn("my sex", ("f", "m")),
        OutputColumn("sex", ("f", "m")),
    )
)


@pytest.mark.parametrize(
    ("coefficients", "formula"),
    [
        (["Intercept", "C(area)[T.58]", "C(area)[T.59]", "age"], "b ~ C(area) + age"),
        (["const", "C(area)[T.58.0]", "C(area)[T.59.0]"], "b ~ C(area)"),
        (["Intercept", "area[T.58]", "area[T.59]"], "b ~ C(area)"),
        (["Intercept", "area[T.57]", "area[T.58]"], "b ~ C(area, Treatment(59))"),
        (["Intercept", "sex[T.f]"], "b ~ C(sex, Treatment('m'))"),
        (["Intercept", "sex[T.m]", "age", "age:sex[T.m]"], "b ~ sex + age + age:sex"),
        (["sex[f]", "sex[m]", "age"], "b ~ 0 + sex + age"),
        (["Intercept", "Q('my sex')[T.m]"], "b ~ Q('my sex')"),
        (["Intercept", "I(age ** 2)"], "b ~ I(age ** 2)"),
        (["const"], "b ~ 1"),
    ],
)
def test_formulas_are_put_together_from_coefficients(tmp_path, coefficients, formula):
    found = regression(tmp_path, coefficients, fields=PEOPLE)
    assert found.skipped == ()
    assert found.outputs[0].entry["formula"] == formula


@pytest.mark.parametrize(
    ("coefficients", "more", "words"),
    [
        (["Intercept", "income"], {}, "'income' is no column of the data"),
        (["const", "x1"], {"method": "logit"}, "'x1' is no column of the data"),
        (["Intercept", "C(area)[T.61]"], {}, "level '61', which column 'area' does not have"),
        (
            ["Intercept", "C(area)[T.58]"],
            {},
            "has no coefficient for 'C(area)[T.…]', which its formula makes",
        ),
        (["Intercept", "age"], {"head": (("converged:", "False", "", ""),)}, "did not converge"),
        (
            ["Intercept", "age"],
            {"command": "s.logitr('b ~ age', df, drop_cols=['c'])"},
            "were dropped",
        ),
        (
            ["Intercept", "age"],
            {"command": "s.logitr('b ~ age', df[mask])"},
            "filter not understood: give a recipe",
        ),
        (["Intercept", "age"], {"label": ""}, "no name"),
        (["Intercept", "age"], {"label": "sex"}, "say which of them counts as 1"),
    ],
)
def test_regressions_that_cannot_be_told_are_skipped_with_the_reason(
    tmp_path, coefficients, more, words
):
    found = regression(tmp_path, coefficients, fields=PEOPLE, **more)
    assert found.outputs == ()
    assert words in found.skipped[0].reason


def test_of_a_fit_that_did_not_converge_only_the_rules_can_be_asked(tmp_path):
    head, command = (
        (("converged:", "False", "", ""),),
        "s.logitr('b ~ C(area) * age', df[df.age > 1])",
    )
    found = regression(tmp_path, ["Intercept", "age"], fields=PEOPLE, head=head, command=command)
    (output,) = found.outputs
    assert found.skipped == ()
    assert {key: output.entry[key] for key in ("formula", "where")} == {
        "formula": "b ~ C(area) * age",
        "where": "age > 1",
    }
    assert not {"coefficients", "standard_errors", "loglik"} & set(output.entry)
    assert "did not converge" in output.uncertain
    assert [one.has_numbers for one in found.recipes().outputs] == [False]


def test_robust_standard_errors_are_left_out(tmp_path):
    found = regression(
        tmp_path, ["Intercept", "age"], fields=PEOPLE, head=(("Covariance Type:", "HC1", "", ""),)
    )
    assert "standard_errors" not in found.outputs[0].entry
    assert "robust" in found.outputs[0].notes[0]


def test_the_reference_of_a_filter_is_that_of_what_is_left(tmp_path):
    command = "s.logitr('b ~ C(area)', df[df.area > 57])"
    found = regression(tmp_path, ["Intercept", "C(area)[T.59]"], fields=PEOPLE, command=command)
    assert found.outputs[0].entry["where"] == "area > 57"


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
    interval = printed_interval(coefficient_text(lost(shown)))
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
    interval = printed_interval(error_text(lost(forg(number, prec=3).strip())))
    assert interval.lo - 1e-12 * number <= number <= interval.hi + 1e-12 * number


@given(st.floats(-1e9, -1e-3))
def test_the_interval_holds_the_likelihood(number):
    interval = printed_interval(likelihood_text(lost(f"{number:#8.5g}".strip())))
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
        found = read_summary("ols", as_acro(result))
        assert found.n == len(frame)
        for name, value in result.params.items():
            assert (
                printed_interval(found.coefficients[name]).lo
                <= value
                <= printed_interval(found.coefficients[name]).hi
            )
        assert printed_interval(found.loglik).lo <= result.llf <= printed_interval(found.loglik).hi


def test_layouts_of_ols_and_logit_in_the_examples(census):
    for uid in ("output_0", "output_1", "output_5"):
        assert read_summary("ols", [file.rows for file in census[uid].tables]).n == 3000
    ols = read_summary("ols", [file.rows for file in census["output_5"].tables])
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
        read_summary("ols", tables)
