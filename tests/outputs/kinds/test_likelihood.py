"""One step of Newton's out of sums, against a model that is linear in them; joint levels against records."""

from __future__ import annotations

from typing import Any

import numpy as np

from chaffinch.outputs.cells import Frame
from chaffinch.outputs.domain import Field, Fields
from chaffinch.outputs.formula import read_formula
from chaffinch.outputs.kinds.model import (
    JointLevels,
    OneStep,
    inverse,
    joint_columns,
    symmetric,
    upper,
)


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


def test_triangles() -> None:
    matrix = np.array([[2.0, 0.5], [0.5, 1.0]])
    np.testing.assert_array_equal(symmetric(upper(matrix[None])[0], 2), matrix)
    np.testing.assert_allclose(inverse(matrix) @ matrix, np.eye(2), atol=1e-12)


def test_joint_levels_have_the_design_of_records() -> None:
    fields = Fields(
        (Field("y", (0, 1, 2)), Field("a", ("u", "v")), Field("z", (1, 2)), Field("x", (1, 2, 5)))
    )
    formula = read_formula("y ~ a*x + offset(log(x))", fields)
    columns = joint_columns(formula, 0)
    assert columns == (0, 1, 3)
    joint = JointLevels.of(formula, Frame(fields, 10), columns)
    codes = fields.columns.start(40, seed=1)
    terms = joint.terms(np.c_[joint.x, joint.offset])
    theirs = np.sum([one.of(codes, formula.size) for one in formula.terms], axis=0)
    np.testing.assert_allclose(
        terms.of(codes, 5), np.c_[theirs, np.log(fields["x"].values[codes[:, 3]])]
    )
    assert JointLevels.too_many(fields, columns, 10) == ""
    assert "too many combinations" in JointLevels.too_many(fields, columns, 10**6)
