"""Factors of patsy's dialect: names, levels, references, arithmetic, and how they are spaced."""

from __future__ import annotations

import numpy as np
import pytest

from chaffinch.errors import InputError
from chaffinch.outputs.domain import Field, Fields
from chaffinch.outputs.filters import Filter, read_filter
from chaffinch.outputs.formula import Factor, Parser

FIELDS = Fields(
    (
        Field("y", (0, 1)),
        Field("a", ("u", "v", "w"), common=frozenset({"u", "v"})),
        Field("x", (1, 2, 4)),
        Field("z", (0.5, 2.0)),
    )
)


def parser(text: str, where: str | None = None) -> Parser:
    return Parser(text, FIELDS, read_filter(where, FIELDS), output="o")


@pytest.mark.parametrize(
    ("text", "name", "coding"),
    [
        ("a", "a", ((0, 1, 2), 0)),
        ("C( a )", "C(a)", ((0, 1, 2), 0)),
        ("C(a,Treatment( 'v'))", "C(a, Treatment('v'))", ((0, 1, 2), 1)),
        ("C(x, Treatment(reference=4))", "C(x, Treatment(reference=4))", ((0, 1, 2), 2)),
        ("C(a, contr.treatment(base = 'w'))", "C(a, contr.treatment(base='w'))", ((0, 1, 2), 2)),
        ("Q('x')", "Q('x')", None),
        ("I(x**2+-z)", "I(x ** 2 + -z)", None),
        ("np.log( x*z )", "np.log(x * z)", None),
        ("log( x^2 )", "log(x ^ 2)", None),
        ("bs( x,df = 4 )", "bs(x, df=4)", None),
        (
            "ns(x, knots=c(2),Boundary.knots=c( 0,9 ))",
            "ns(x, knots=c(2), Boundary.knots=c(0, 9))",
            None,
        ),
    ],
)
def test_factors(text: str, name: str, coding: tuple[tuple[int, ...], int] | None) -> None:
    factor = parser(text).factor()
    assert (factor.text, factor.coding) == (name, coding)


@pytest.mark.parametrize(
    ("text", "columns", "work"),
    [
        ("x", (2,), lambda x, z: x),
        ("I(2)", (), lambda x, z: 2.0),
        ("I(-x ** 2)", (2,), lambda x, z: -(x**2)),
        ("I(2 ** -x)", (2,), lambda x, z: 2.0**-x),
        ("I(x - 1 - z)", (2, 3), lambda x, z: x - 1 - z),
        ("I(x / z * 2)", (2, 3), lambda x, z: x / z * 2),
        ("I((x + z) * (x - z))", (2, 3), lambda x, z: (x + z) * (x - z)),
        ("np.sqrt(np.log1p(x) + z)", (2, 3), lambda x, z: np.sqrt(np.log1p(x) + z)),
        ("sqrt(log1p(x) + z^2)", (2, 3), lambda x, z: np.sqrt(np.log1p(x) + z**2)),
        ("abs(x - 3)", (2,), lambda x, z: np.abs(x - 3)),
    ],
)
def test_arithmetic_over_every_combination_of_levels(
    text: str, columns: tuple[int, ...], work: object
) -> None:
    factor = parser(text).factor()
    assert factor.columns == columns
    grid = FIELDS.grid([2, 3])
    x, z = FIELDS["x"].values[grid[2]], FIELDS["z"].values[grid[3]]
    np.testing.assert_array_equal(factor.numbers(FIELDS, grid), np.broadcast_to(work(x, z), 6))  # type: ignore[operator]


def test_factors_of_one_name_are_the_same() -> None:
    assert Factor("a", (1,), (0, 1)) == Factor("a", (1,), (0, 1), reference=1)
    assert len({Factor("a", (1,)), Factor("a", (1,)), Factor("b", (1,))}) == 2


def test_levels_that_a_filter_leaves_out_are_none() -> None:
    assert parser("a", "a != 'u'").factor().coding == ((1, 2), 1)
    with pytest.raises(InputError, match="a reference level of 'a' that its filter leaves out"):
        parser("C(a, Treatment('u'))", "a != 'u'").factor()


def test_a_rare_reference_is_not_in_messages() -> None:
    assert parser("C(a, Treatment('w'))").factor().safe_text == "C(a, Treatment('…'))"
    assert parser("C(a, Treatment('v'))").factor().safe_text == "C(a, Treatment('v'))"


def test_a_formula_is_a_label_and_terms_the_intercept_first() -> None:
    label, terms = parser("y ~ a*x - x").formula()
    assert label.text == "y"
    assert [":".join(factor.text for factor in term) for term in terms] == ["", "a", "a:x"]
    assert (
        Parser("y ~ x", FIELDS, Filter((), FIELDS.columns.sizes), output="").reader.what
        == "The formula"
    )


def test_powers_are_bounded() -> None:
    fields = Fields(tuple(Field(f"v{k}", (0, 1)) for k in range(40)))
    every = " + ".join(fields.names[1:])
    with pytest.raises(InputError, match="has over 2000 terms"):
        Parser(f"v0 ~ ({every})**4", fields, Filter((), fields.columns.sizes), output="o").formula()
