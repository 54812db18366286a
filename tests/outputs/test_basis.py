"""Bases against patsy, formulaic and R."""

from __future__ import annotations

import formulaic
import numpy as np
import pandas as pd
import patsy
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from chaffinch._base.errors import InputError
from chaffinch._base.tokens import Reader
from chaffinch.outputs.basis import Basis, NaturalSpline, Polynomial, Spline, basis_call

# R 4.2.2: library(splines); ns(x, df = 3); ns(x, knots = c(25, 35), Boundary.knots = c(20, 40)); bs(x, df = 5); poly(x, 3)
X = np.array([16, 18, 19, 21, 21, 24, 25, 27, 30, 31, 31, 35, 38, 40, 44, 49], dtype=float)
NS = np.array(
    [
        [0, 0, 0],
        [-0.0804769412513, 0.197076508926, -0.114579365655],
        [-0.11440197241, 0.289581479546, -0.168361325317],
        [-0.156998276862, 0.450458285412, -0.261894351983],
        [-0.156998276862, 0.450458285412, -0.261894351983],
        [-0.119877702076, 0.595240952714, -0.346070321345],
        [-0.07171488975, 0.609067821041, -0.353976307914],
        [0.0653318775634, 0.592218645221, -0.340725125959],
        [0.298125349374, 0.505999896905, -0.265481667636],
        [0.363094849318, 0.474424930669, -0.230247052715],
        [0.363094849318, 0.474424930669, -0.230247052715],
        [0.48893203661, 0.385141967912, -0.0588551493027],
        [0.461231207547, 0.353067012424, 0.0960721503993],
        [0.396798578824, 0.344819556648, 0.209290955437],
        [0.186817893118, 0.351505553123, 0.453259045342],
        [-0.160829163688, 0.384203002144, 0.776626161544],
    ]
)
NS_BOUNDS = np.array(
    [
        [0.114156358597, -0.456625434388, 0.342469075791],
        [0.0570781792985, -0.228312717194, 0.171234537896],
        [0.0285390896493, -0.114156358597, 0.0856172689478],
        [-0.0276443832114, 0.113244199512, -0.0849331496341],
        [-0.0276443832114, 0.113244199512, -0.0849331496341],
        [-0.056895146571, 0.398247252951, -0.298685439713],
        [-0.0308571435078, 0.456761907365, -0.342571430524],
        [0.090430944373, 0.499609555841, -0.372040500214],
        [0.348694661969, 0.438554685457, -0.287249347426],
        [0.426571403031, 0.403047721211, -0.230285790908],
        [0.426571403031, 0.403047721211, -0.230285790908],
        [0.506580847631, 0.30700994281, 0.103075876226],
        [0.195805789633, 0.374110174801, 0.424750702232],
        [-0.115384615385, 0.461538461538, 0.653846153846],
        [-0.761538461538, 0.646153846154, 1.11538461538],
        [-1.56923076923, 0.876923076923, 1.69230769231],
    ]
)
BS = np.array(
    [
        [0, 0, 0, 0, 0],
        [0.490902777778, 0.085202020202, 0.0020202020202, 0, 0],
        [0.573984375, 0.175056818182, 0.00681818181818, 0, 0],
        [0.521918402778, 0.393781565657, 0.0315656565657, 0, 0],
        [0.521918402778, 0.393781565657, 0.0315656565657, 0, 0],
        [0.217777777778, 0.652929292929, 0.129292929293, 0, 0],
        [0.137142857143, 0.679480519481, 0.183148051948, 0.000228571428571, 0],
        [0.0406349206349, 0.64253968254, 0.310653968254, 0.00617142857143, 0],
        [0.000634920634921, 0.460721500722, 0.489272150072, 0.0493714285714, 0],
        [0, 0.392727272727, 0.528872727273, 0.0784, 0],
        [0, 0.392727272727, 0.528872727273, 0.0784, 0],
        [0, 0.184781144781, 0.539208978676, 0.265035939643, 0.0109739368999],
        [0, 0.0896296296296, 0.434404938272, 0.417151989026, 0.0588134430727],
        [0, 0.0490909090909, 0.336109090909, 0.4898, 0.125],
        [0, 0.00841750841751, 0.131705948373, 0.483161865569, 0.376714677641],
        [0, 0, 0, 0, 1],
    ]
)
POLY = np.array(
    [
        [-0.351617304154, 0.415914404788, -0.452404668529],
        [-0.298792169258, 0.252496017661, -0.125684874034],
        [-0.27237960181, 0.17917825872, -0.00406322695182],
        [-0.219554466913, 0.0493256100855, 0.165240343623],
        [-0.219554466913, 0.0493256100855, 0.165240343623],
        [-0.140316764569, -0.10349618975, 0.262956720724],
        [-0.11390419712, -0.143248210197, 0.261494540145],
        [-0.061079062224, -0.205969381844, 0.218962851658],
        [0.0181586401206, -0.258093966199, 0.0847573308146],
        [0.0445712075689, -0.264280248153, 0.0288761150946],
        [0.0445712075689, -0.264280248153, 0.0288761150946],
        [0.150221477362, -0.23308247848, -0.19951614904],
        [0.229459179706, -0.150944108861, -0.32251516872],
        [0.282284314603, -0.0682137470376, -0.352906480948],
        [0.387934584396, 0.164378453596, -0.221165030743],
        [0.519997421637, 0.580990223739, 0.461851238191],
    ]
)


@pytest.mark.parametrize(
    ("basis", "theirs"),
    [
        (NaturalSpline(df=3), NS),
        (NaturalSpline(knots=(25.0, 35.0), lower=20.0, upper=40.0), NS_BOUNDS),
        (Spline(df=5), BS),
        (Polynomial(3), POLY),
    ],
)
def test_as_r_has_them(basis: Spline | Polynomial, theirs: np.ndarray) -> None:
    ours = basis.learnt(X).evaluate(X)
    assert ours.shape == theirs.shape == (len(X), basis.width)
    np.testing.assert_allclose(ours, theirs, atol=1e-11)


values = st.lists(st.integers(-50, 50).map(lambda k: k / 4), min_size=8, max_size=40).filter(
    lambda some: len(set(some)) > 4
)


@settings(max_examples=25, deadline=None)
@given(values, st.integers(0, 4), st.integers(0, 4))
def test_splines_of_any_data_as_patsy_and_formulaic_have_them(
    some: list[float], degree: int, more: int
) -> None:
    x, df = np.array(some), max(degree + more, 1)
    learnt = Spline(df=df, degree=degree).learnt(x)
    assume(
        all(x.min() < knot < x.max() for knot in learnt.knots or ())
    )  # at a knot on a bound programs differ
    ours = learnt.evaluate(x)
    np.testing.assert_allclose(
        ours, np.asarray(patsy.dmatrix(f"bs(x, df={df}, degree={degree}) - 1", {"x": x})), atol=1e-9
    )
    theirs = formulaic.model_matrix(f"bs(x, df={df}, degree={degree}) - 1", pd.DataFrame({"x": x}))
    np.testing.assert_allclose(ours, np.asarray(theirs), atol=1e-9)


@settings(max_examples=30, deadline=None)
@given(values, st.integers(1, 4))
def test_polynomials_of_any_data_are_orthonormal_and_as_formulaic_has_them(
    some: list[float], degree: int
) -> None:
    x = np.array(some)
    ours = Polynomial(degree).learnt(x).evaluate(x)
    np.testing.assert_allclose(ours.T @ ours, np.eye(degree), atol=1e-7)
    np.testing.assert_allclose(ours.sum(axis=0), 0.0, atol=1e-7)
    np.testing.assert_allclose(
        ours,
        np.asarray(formulaic.model_matrix(f"poly(x, {degree}) - 1", pd.DataFrame({"x": x}))),
        atol=1e-7,
    )


@settings(max_examples=40, deadline=None)
@given(values, st.integers(1, 4))
def test_natural_splines_are_straight_beyond_their_bounds_and_smooth_within(
    some: list[float], df: int
) -> None:
    basis = NaturalSpline(df=df).learnt(np.array(some))
    lower, upper = min(some), max(some)
    assume(all(lower < knot < upper for knot in basis.knots or ()))
    for start, step in ((lower, -1.0), (upper, 1.0)):
        line = basis.evaluate(start + step * np.arange(4.0))
        np.testing.assert_allclose(np.diff(line, n=2, axis=0), 0.0, atol=1e-9)
        # The straight part goes on with the slope that the curve has.
        near = basis.evaluate(start + np.array([-1e-6, 0.0, 1e-6]))
        np.testing.assert_allclose(near[2] - near[1], near[1] - near[0], atol=1e-8)


def test_what_a_basis_learns_is_of_the_records_that_it_is_given() -> None:
    part = Spline(df=4).learnt(X[:8])
    assert (part.lower, part.upper, part.knots) == (16.0, 27.0, (21.0,))
    assert part.complete
    np.testing.assert_array_equal(
        part.evaluate(np.array([27.0])), part.evaluate(np.array([49.0]))
    )  # a level that no such record has
    assert np.isnan(
        Spline(knots=(), lower=0.0, upper=1.0).evaluate(np.array([2.0]))
    ).all()  # but given bounds are kept


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Spline(df=2), "df of this spline must be at least 3"),
        (lambda: Spline(df=4, knots=(1.0,)), "df or knots, not both"),
        (lambda: Spline(knots=(2.0, 1.0)), "must rise"),
        (lambda: Spline(knots=(2.0,), lower=3.0), "between its bounds"),
        (lambda: Spline(lower=3.0, upper=3.0), "must be below"),
        (lambda: Spline(degree=11), "between 0 and 10"),
        (lambda: Spline(df=99), "at most|between 1 and 50"),
        (lambda: Spline(degree=0), "between 1 and 50"),
        (lambda: Polynomial(0), "between 1 and 20"),
        (lambda: Spline(df=4).learnt(np.ones(5)), "no two different finite values"),
        (
            lambda: Polynomial(3).learnt(np.array([1.0, 2.0, 3.0, 3.0])),
            "more than 3 different values",
        ),
    ],
)
def test_bases_that_cannot_be(make: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()  # type: ignore[operator]


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
