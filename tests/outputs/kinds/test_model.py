"""What models of a formula share: names, standard errors of some coefficients, printing, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from chaffinch._base.errors import InputError, MissingExtraError
from chaffinch.outputs.document import Outputs, recipes_of
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.formula import read_formula
from chaffinch.outputs.kinds.model import (
    JointLevels,
    ModelFit,
    ModelSpec,
    OneStep,
    joint_columns,
    upper,
)
from chaffinch.outputs.numbers import compare_numbers

FIELDS = OutputDomain(
    (
        OutputColumn("t", (1, 2, 3, 4)),
        OutputColumn("e", (0, 1)),
        OutputColumn("a", ("u", "v")),
        OutputColumn("x", tuple(range(30))),
    )
)
CODES = FIELDS.start(200, seed=1)
RECIPE = {"name": "m", "kind": "cox", "formula": "t ~ a + x", "event": "e"}


def model(**keys: Any) -> ModelSpec:
    (output,) = recipes_of([{**RECIPE, **keys}], FIELDS).outputs
    assert isinstance(output, ModelSpec)
    return output


def test_a_recipe_says_which_standard_errors_are_published() -> None:
    frame = FIELDS.with_rows(200)
    every = model(standard_errors=True, loglik=True)
    assert every.error_names(every.compiled(frame)) == ("a[T.v]", "x")
    some = model(standard_errors=["x"])
    assert some.error_names(some.compiled(frame)) == ("x",)
    assert list(some.computed(FIELDS, CODES).standard_errors or {}) == ["x"]
    both = model(standard_errors=["x", "a[T.v]"])
    assert both.announcements(frame)["standard_errors"] is True


def test_numbers_keep_their_digits_on_other_records() -> None:
    published = {
        "coefficients": {"x": "0.0123", "a[T.v]": "1.5e-01"},
        "standard_errors": {"x": "0.01"},
        "loglik": "-500.1",
    }
    again = model(**published).computed(FIELDS, CODES)
    assert [
        len(str(number).partition(".")[2])
        for number in (again.coefficients["x"], again.standard_errors["x"], again.loglik)
    ] == [4, 2, 1]  # type: ignore[index]
    assert "e-" in again.coefficients["a[T.v]"] or "e+" in again.coefficients["a[T.v]"]


def test_a_fit_that_fails_gives_no_number_and_other_records_other_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    output = model(standard_errors=True, loglik=True, decimals=6).computed(FIELDS, CODES)
    spec = Outputs(FIELDS, (output,), 200)
    assert compare_numbers(spec, CODES)[0].within
    assert not compare_numbers(spec, FIELDS.start(200, seed=2))[0].within
    monkeypatch.setattr(
        type(output), "fitted", lambda *_: (_ for _ in ()).throw(InputError("nothing to be had."))
    )
    (none,) = compare_numbers(spec, CODES)
    assert (none.outside, none.size) == (5, 5)
    with pytest.raises(
        InputError,
        match=r"Output 'm' cannot be computed on the first fold: nothing to be had. Merge levels",
    ):
        model().computed(FIELDS, CODES, source="the first fold")
    monkeypatch.setattr(
        type(output), "fitted", lambda *_: ModelFit(np.array([np.nan, 1.0]), np.ones(2))
    )
    with pytest.raises(InputError, match="no finite estimate"):
        model().computed(FIELDS, CODES)
    monkeypatch.setattr(
        type(output), "fitted", lambda *_: ModelFit(np.ones(2), np.array([np.inf, 1.0]))
    )
    with pytest.raises(InputError, match="a standard error is not finite"):
        model(standard_errors=True).computed(FIELDS, CODES)
    monkeypatch.setattr(
        type(output),
        "fitted",
        lambda *_: (_ for _ in ()).throw(MissingExtraError("Fitting", "statsmodels")),
    )
    assert compare_numbers(spec, CODES)[0].refitted is False


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"coefficients": {"x": 1.0}}, r"no coefficient for 'a\[T.…\]', which its formula makes"),
        ({"coefficients": {"x": 1.0, "a[T.v]": 1.0, "z": 0.0}}, "Unknown coefficient 'z'"),
        (
            {"coefficients": {"x": 1.0, "a[T.v]": 1.0}, "standard_errors": {"x": 0.0}},
            "standard errors must be above 0",
        ),
        ({"where": "x > 90"}, "no record could pass"),
    ],
)
def test_numbers_that_are_none_of_the_formula(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        model(**keys).computed(FIELDS, CODES)


def test_coefficients_need_their_formula() -> None:
    with pytest.raises(InputError, match="has coefficients without a formula"):
        recipes_of([{"name": "m", "kind": "cox", "event": "e", "coefficients": {"x": 1.0}}], FIELDS)


def test_one_step_from_anywhere_is_the_least_squares_estimate(slopes_hold: Any) -> None:
    """With y ~ N(x b, 1) the log-likelihood is quadratic, so that one step arrives, and l + s' J^-1 s / 2 is the maximum."""
    rng = np.random.default_rng(1)
    x = np.c_[np.ones(50), rng.normal(size=(50, 2))]
    y, at = x @ [1.0, 2.0, -1.0] + rng.normal(size=50), np.array([0.5, 0.0, 3.0])
    rest = y - x @ at
    each = np.hstack(
        [x * rest[:, None], upper(x[:, :, None] * x[:, None, :]), -0.5 * rest[:, None] ** 2]
    )
    reading = OneStep(at, [0, 2], loglik=True)
    sums = each.sum(axis=0)
    values, _ = reading(sums)
    best = np.linalg.lstsq(x, y)[0]
    errors = np.sqrt(np.diag(np.linalg.inv(x.T @ x)))
    np.testing.assert_allclose(
        values, [*best, errors[0], errors[2], -0.5 * ((y - x @ best) ** 2).sum()]
    )
    assert reading.size == len(sums) == 10
    slopes_hold(reading, sums)
    assert not reading.undetermined(sums).any()
    assert reading.undetermined(each[:2].sum(axis=0)).all()  # two records, three coefficients


def test_joint_levels_have_the_design_of_records() -> None:
    fields = OutputDomain(
        (
            OutputColumn("y", (0, 1, 2)),
            OutputColumn("a", ("u", "v")),
            OutputColumn("z", (1, 2)),
            OutputColumn("x", (1, 2, 5)),
        )
    )
    formula = read_formula("y ~ a*x + offset(log(x))", fields)
    columns = joint_columns(formula, 0)
    assert columns == (0, 1, 3)
    joint = JointLevels.from_formula(formula, fields.with_rows(10), columns)
    codes = fields.start(40, seed=1)
    terms = joint.terms(np.c_[joint.x, joint.offset])
    theirs = np.sum([one.evaluate(codes, formula.size) for one in formula.terms], axis=0)
    np.testing.assert_allclose(
        terms.evaluate(codes, 5), np.c_[theirs, np.log(fields["x"].values[codes[:, 3]])]
    )
    assert JointLevels.too_many(fields, columns, 10) == ""
    assert "too many combinations" in JointLevels.too_many(fields, columns, 10**6)
