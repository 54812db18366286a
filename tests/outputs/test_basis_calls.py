"""How bases are written, by R's, patsy's and formulaic's users."""

from __future__ import annotations

import pytest

from chaffinch._base.errors import InputError
from chaffinch._base.tokens import Reader
from chaffinch.outputs.basis import Basis, NaturalSpline, Polynomial, Spline, basis_call


@pytest.mark.parametrize(
    ("name", "text", "basis"),
    [
        ("bs", ")", Spline()),
        ("bs", ", 4)", Spline(4)),
        ("bs", ", df=5, degree=2)", Spline(5, degree=2)),
        ("bs", ", None, [2, 5.5], 1)", Spline(knots=(2.0, 5.5), degree=1)),
        (
            "bs",
            ", knots=(2, 5), lower_bound=-1, upper_bound=9)",
            Spline(knots=(2.0, 5.0), lower=-1.0, upper=9.0),
        ),
        (
            "bs",
            ", knots = c(2, 5), Boundary.knots = c(0, 9), intercept = FALSE)",
            Spline(knots=(2.0, 5.0), lower=0.0, upper=9.0),
        ),
        ("bs", ", knots=3)", Spline(knots=(3.0,))),
        ("ns", ", 3)", NaturalSpline(3)),
        (
            "ns",
            ", knots=c(2), Boundary.knots=c(-1, 9))",
            NaturalSpline(knots=(2.0,), lower=-1.0, upper=9.0),
        ),
        ("poly", ", 2)", Polynomial(2)),
        ("poly", ", degree=3, raw = TRUE)", Polynomial(3, raw=True)),
    ],
)
def test_calls(name: str, text: str, basis: Basis) -> None:
    reader = Reader(text, what="A formula")
    assert basis_call(name, reader) == basis
    reader.finish()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("bs", ", 4, include_intercept=True)", "programs differ"),
        ("bs", ", knot=[2])", "Unknown argument 'knot'. Did you mean 'knots'"),
        ("bs", ", df=4, df=5)", "df twice"),
        ("bs", ", df=4.5)", "df must be a whole number"),
        ("bs", ", df=x)", "must be numbers"),
        ("bs", ", Boundary.knots=c(1))", "two numbers"),
        ("bs", ", 1, 2, 3, 4, 5, 6, 7)", "too many arguments"),
        ("bs", ", lower_bound=[1, 2])", "lower_bound must be a number"),
        ("bs", ", knots=True)", "knots must be a list"),
        ("poly", ", Boundary.knots=c(1, 2))", "Unknown argument"),
        ("poly", ", 2", r"must have '\)'"),
        ("ns", ", knots=[1 2])", "must have ','"),
    ],
)
def test_calls_that_are_refused(name: str, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        basis_call(name, Reader(text, what="A formula"))
