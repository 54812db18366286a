"""Designs against patsy and formulaic: names and rows, over a list of forms and over random formulas."""

from __future__ import annotations

import subprocess
import sys

import formulaic
import numpy as np
import pandas as pd
import patsy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch._base.errors import InputError
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.filters import Filter, read_filter
from chaffinch.outputs.formula import Factor, Parser, plain_name, read_formula, unlearnt_words
from chaffinch.outputs.solve.process import FORBIDDEN

FIELDS = OutputDomain(
    (
        OutputColumn("y", (0, 1)),
        OutputColumn("a", ("u", "v", "w")),
        OutputColumn("b", ("q", "p")),
        OutputColumn("x", (1, 2, 3, 4, 5)),
        OutputColumn("z", (0.5, 1.5, 2.5)),
        OutputColumn("g", (1, 2, 3)),
        OutputColumn("a b", ("k", "l")),
        OutputColumn("t", (False, True)),
        OutputColumn("w", tuple(range(20, 60))),
    )
)
CODES = FIELDS.start(120, seed=5)
FRAME = pd.DataFrame(
    {
        f.name: np.array(f.levels)[CODES[:, k]]
        if f.numeric or f.name == "t"
        else pd.Categorical.from_codes(CODES[:, k], categories=list(f.levels))
        for k, f in enumerate(FIELDS)
    }
)

FORMS = """x + a | a + x | C(a) | a + b + a:b | a:b | a*b | a:b - 1 | 0 + a | 0 + a + b | 0 + a:b + x | -1 + x | x:a | x + x:a | a + x:a | x*a
| 0 + x:a + x | (a+b+x)**2 | (a + C(g) + b)**3 | a*b*x - a:b:x | I(x**2) + x | I(x ** 2 + -z*2) | np.log(x) + np.sqrt(z) | t | t:x
| C(a, Treatment('v')) | C(a,Treatment(reference="w")):x | C(g) | C(g, Treatment(2))*b | C(z) | Q('a b') + x | x:z + a:x + a:z | x*z*a | 1
| a:C(g):b | a:C(g) + b | a + a:b + 0 | b:a:x | np.log(x + 1):a | a + b - a | a + 0 + 1 | a - 0 | -0 + a | x + (a + b)*z - 1 | I(x*z) | I(-x)
| I(x/z) + np.log1p(x) | I((x - 2)**2):a | a + a | a:a | C(a):a | x:x | C(a, Treatment)
| bs(w, df=5) | bs(w, df=4):a | a:bs(w, df=4) | a*bs(w, df=3, degree=2) + z | bs(w, knots=[30, 41], lower_bound=0, upper_bound=80):x
| bs(np.log(w), df=4) + np.abs(x - 3) | bs(w, df=3):bs(x, df=3, degree=2):b | bs(w, 4) + bs(w, 5) | 0 + a + bs(w, 4)"""
FORMULAIC = """log(x) + log10(x) + log2(x) + exp(z) | poly(w, 3) | poly(w, 2):a | a*poly(log(w), 2) | poly(w, 2, raw=True) | (a + b + x)^2 | bs(w, df=4)*b
| a:b:poly(x, degree=2) + z"""


def compared(right: str) -> None:
    """Ours has patsy's names in patsy's order and its rows; formulaic's columns are the same set, in an order of its own."""
    ours = read_formula(f"y ~ {right}", FIELDS, records=CODES)
    assert ours.unlearnt == ()
    rows = np.zeros((len(CODES), ours.size))
    for terms in ours.terms:
        rows += terms.evaluate(CODES, ours.size)
    theirs = patsy.dmatrix(right, FRAME)
    assert list(ours.names) == theirs.design_info.column_names
    np.testing.assert_allclose(rows, np.asarray(theirs))


@pytest.mark.parametrize("right", [form.strip() for form in FORMS.split("|")])
def test_forms(right: str) -> None:
    compared(right)


@pytest.mark.parametrize(
    "right", [form.strip() for form in [*FORMS.split("|")[:22], *FORMULAIC.split("|")]]
)
def test_forms_as_formulaic_reads_them(right: str) -> None:
    ours = read_formula(f"y ~ {right}", FIELDS, records=CODES)
    rows = sum(terms.evaluate(CODES, ours.size) for terms in ours.terms)
    theirs = formulaic.model_matrix(right, FRAME)
    known = ours.known(theirs.columns)  # formulaic counts the columns of a basis from 1
    names = [known[plain_name(name)] for name in theirs.columns]
    assert sorted(names) == sorted(ours.names)
    np.testing.assert_allclose(
        rows,
        np.asarray(theirs, dtype=float)[:, [names.index(name) for name in ours.names]],
        atol=1e-12,
    )


def test_columns_of_a_basis_are_counted_from_0_unless_all_names_count_from_1() -> None:
    formula = read_formula("y ~ bs(w, df=3) + a:poly(x, 2)", FIELDS)
    from_0 = ["bs(w, df=3)[0]", "bs(w, df=3)[1]", "bs(w, df=3)[2]"]
    assert [formula.known(from_0)[plain_name(name)] for name in from_0] == from_0
    some = ["bs(w, df=3)[1]", "bs(w, df=3)[2]"]  # of either way to count: ours
    assert [formula.known(some)[plain_name(name)] for name in some] == some
    in_r = [
        *(f"bs(w, df = 3){k}" for k in (1, 2, 3)),
        *(f"a[{level}]:poly(x, 2){k}" for level in "uvw" for k in (1, 2)),
        "Intercept",
    ]
    known = formula.known(in_r)
    assert [known[plain_name(name)] for name in in_r[:3]] == from_0
    assert known[plain_name("a[v]:poly(x, 2)2")] == "a[v]:poly(x, 2)[1]"
    mixed = [*in_r[:3], "bs(w, df=3)[0]"]
    assert plain_name("bs(w, df = 3)1") not in formula.known(mixed)


def test_without_records_a_basis_knows_its_columns_alone() -> None:
    bare, learnt = (
        read_formula("y ~ bs(w, df=4) + ns(x, 2) + poly(z, 2, raw=True)", FIELDS, records=some)
        for some in (None, CODES)
    )
    assert bare.names == learnt.names
    assert bare.unlearnt == ("bs(w, df=4)", "ns(x, 2)")
    assert learnt.unlearnt == ()
    words = "the numbers of bs(w, df=4), ns(x, 2) come from the data; give them, as knots=..., lower_bound=... and upper_bound=..."
    assert unlearnt_words(bare) == words
    assert unlearnt_words(learnt) == ""
    given = read_formula(
        "y ~ ns(w, knots=c(30, 41), Boundary.knots=c(25, 55)) + bs(x, knots=[2], lower_bound=0, upper_bound=9)",
        FIELDS,
    )
    assert given.unlearnt == ()


def test_a_basis_learns_from_the_records_that_pass_the_filter() -> None:
    kept = read_filter("w < 40 and a != 'u'", FIELDS)
    part = CODES[kept.record_mask(CODES)]
    ours = read_formula("y ~ a*bs(w, df=5)", FIELDS, within=kept, records=part)
    frame = FRAME[kept.record_mask(CODES)].copy()
    frame["a"] = frame["a"].cat.remove_unused_categories()
    theirs = patsy.dmatrix("a*bs(w, df=5)", frame)
    assert list(ours.names) == theirs.design_info.column_names
    np.testing.assert_allclose(
        sum(terms.evaluate(part, ours.size) for terms in ours.terms), np.asarray(theirs), atol=1e-12
    )


def test_offsets_have_no_coefficient_and_are_added_up() -> None:
    ours = read_formula("y ~ a + offset(log(x)) + x + offset(2 * z - w)", FIELDS)
    assert ours.names == ("Intercept", "a[T.v]", "a[T.w]", "x")
    added = sum(look.evaluate(CODES)[:, 0] for look in ours.offsets)
    np.testing.assert_allclose(added, np.log(FRAME["x"]) + 2 * FRAME["z"] - FRAME["w"])
    kept = read_filter("x > 1", FIELDS)
    assert read_formula("y ~ offset(log(x - 1))", FIELDS, within=kept).offsets[0].values[
        :2, 0
    ].tolist() == [0.0, 0.0]


factor = st.sampled_from(
    [
        "a",
        "b",
        "x",
        "z",
        "C(g)",
        "C(a, Treatment('w'))",
        "I(x ** 2)",
        "np.log(z)",
        "bs(w, df=3)",
        "bs(x, 2, degree=1)",
    ]
)
term = st.lists(factor, min_size=1, max_size=3, unique=True).map(":".join)


@settings(max_examples=80, deadline=None)
@given(
    st.sampled_from(["", "0 + ", "1 + "]),
    st.lists(st.one_of(term, st.builds("{}*{}".format, factor, factor)), min_size=1, max_size=4),
)
def test_random_formulas(intercept: str, terms: list[str]) -> None:
    compared(intercept + " + ".join(terms))


def test_levels_that_the_filter_leaves_out_are_no_levels() -> None:
    kept = read_filter("a != 'u' and x > 1", FIELDS)
    ours = read_formula("y ~ a*x + np.log(x - 1)", FIELDS, within=kept)
    part = FRAME[kept.record_mask(CODES)].copy()
    part["a"] = part["a"].cat.remove_unused_categories()
    theirs = patsy.dmatrix("a*x + np.log(x - 1)", part)
    assert list(ours.names) == theirs.design_info.column_names
    rows = sum(terms.evaluate(CODES[kept.record_mask(CODES)], ours.size) for terms in ours.terms)
    np.testing.assert_allclose(rows, np.asarray(theirs))
    with pytest.raises(InputError, match="a reference level of 'a' that its filter leaves out"):
        read_formula("y ~ C(a, Treatment('u'))", FIELDS, within=kept)


def test_look_ups_that_read_the_same_columns_are_one() -> None:
    ours = read_formula("y ~ x + I(x ** 2) + np.log(x) + a + a:x", FIELDS)
    assert sorted(terms.columns for terms in ours.terms) == [(), (1,), (1, 3), (3,)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("y ~ agee", "Unknown column 'agee'"),
        ("y ~ cr(x, 3)", "'cr\\(...\\)', which is not supported. A formula may have"),
        (
            "y ~ bs(x, 2)",
            r"bs\(...\): the df of this spline must be at least 3. A formula may have",
        ),
        ("y ~ bs(x, df=5, knots=[2])", "df or knots, not both"),
        ("y ~ bs(3)", "no column in it"),
        ("y ~ bs(a, 3)", "column 'a', which has words"),
        (
            "y ~ bs(w, knots=[30], lower_bound=25, upper_bound=50)",
            "no finite number for some levels",
        ),
        ("bs(x, 3) ~ w", "a label of several columns"),
        ("offset(x) ~ w", "an offset as its label"),
        ("y ~ offset(x):w", "an offset in an interaction"),
        ("y ~ 0 + offset(x)", "has no terms"),
        ("y ~ offset(log(x - 1))", "no finite number for some levels"),
        ("y ~ __import__('os')", "not supported"),
        ("y ~ x.max()", "not supported"),
        ("y ~ np.linalg(x)", "Unknown function 'linalg'"),
        ("y ~ np.log(np.linalg(x))", "Unknown function 'linalg'"),
        ("y ~ I(a + 1)", "column 'a', which has words"),
        ("y ~ I(exec('1'))", "not supported"),
        ("y ~ I('x')", "inside arithmetic"),
        ("y ~ x / a", "a / between terms"),
        ("y ~ 2", "a number other than 0 and 1"),
        ("y ~ 0", "has no terms"),
        ("y ~ a:1", "interaction with the intercept"),
        ("y ~ (a+b)**x", "no whole number"),
        ("y ~ -a", "a minus before its first term"),
        ("y ~ C(a, Sum)", "the coding 'Sum'"),
        ("y ~ C(a, Treatment('no'))", "Unknown level 'no' of column 'a'"),
        ("y ~ C(a, Treatment(x))", "as a reference level"),
        ("y", "must have the label, ~"),
        ("~ x", "not supported"),
        ("y ~ x +", "not supported"),
        ("y ~ x x", r"goes on with a name \(position 7\)"),
        ("y ~ np.log(x - 1)", "no finite number for some levels"),
        ("y ~ " + "(" * 60 + "x" + ")" * 60, "at most 40 brackets"),
        ("y ~ lambda: x", "Unknown column 'lambda'"),
        ("y ~ x; y", "a sign at position"),
    ],
)
def test_bad_formulas(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_formula(text, FIELDS, output="o")


def test_reading_a_formula_loads_nothing_that_could_open_records() -> None:
    """The processes of engines read formulas, and fail where one of these packages is loaded."""
    code = (
        "import sys\n"
        "from chaffinch.outputs.domain import OutputColumn, OutputDomain\n"
        "from chaffinch.outputs.formula import read_formula\n"
        "assert read_formula('y ~ x', OutputDomain((OutputColumn('y', (0, 1)), OutputColumn('x', (0, 1))))).size == 2\n"
        f"print([name for name in {FORBIDDEN!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


GRAMMAR_FIELDS = OutputDomain(
    (
        OutputColumn("y", (0, 1)),
        OutputColumn("a", ("u", "v", "w"), common=frozenset({"u", "v"})),
        OutputColumn("x", (1, 2, 4)),
        OutputColumn("z", (0.5, 2.0)),
    )
)


def parser(text: str, where: str | None = None) -> Parser:
    return Parser(text, GRAMMAR_FIELDS, read_filter(where, GRAMMAR_FIELDS), output="o")


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
    grid = GRAMMAR_FIELDS.grid([2, 3])
    x, z = GRAMMAR_FIELDS["x"].values[grid[2]], GRAMMAR_FIELDS["z"].values[grid[3]]
    np.testing.assert_array_equal(
        factor.numbers(GRAMMAR_FIELDS, grid), np.broadcast_to(work(x, z), 6)
    )  # type: ignore[operator]


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
        Parser("y ~ x", GRAMMAR_FIELDS, Filter((), GRAMMAR_FIELDS.sizes), output="").reader.what
        == "The formula"
    )


def test_powers_are_bounded() -> None:
    fields = OutputDomain(tuple(OutputColumn(f"v{k}", (0, 1)) for k in range(40)))
    every = " + ".join(fields.names[1:])
    with pytest.raises(InputError, match="has over 2000 terms"):
        Parser(f"v0 ~ ({every})**4", fields, Filter((), fields.sizes), output="o").formula()
