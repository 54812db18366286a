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
from chaffinch.outputs.fields import Field, Fields
from chaffinch.outputs.formula import plain_name, read_formula
from chaffinch.outputs.solve.process import FORBIDDEN
from chaffinch.outputs.where import read_filter

FIELDS = Fields(
    (
        Field("y", (0, 1)),
        Field("a", ("u", "v", "w")),
        Field("b", ("q", "p")),
        Field("x", (1, 2, 3, 4, 5)),
        Field("z", (0.5, 1.5, 2.5)),
        Field("g", (1, 2, 3)),
        Field("a b", ("k", "l")),
        Field("t", (False, True)),
    )
)
CODES = FIELDS.columns.start(120, seed=5)
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
| I(x/z) + np.log1p(x) | I((x - 2)**2):a | a + a | a:a | C(a):a | x:x | C(a, Treatment)"""


def compared(right: str) -> None:
    """Ours has patsy's names in patsy's order and its rows; formulaic's columns are the same set, in an order of its own."""
    ours = read_formula(f"y ~ {right}", FIELDS)
    rows = np.zeros((len(CODES), ours.size))
    for terms in ours.terms:
        rows += terms.of(CODES, ours.size)
    theirs = patsy.dmatrix(right, FRAME)
    assert list(ours.names) == theirs.design_info.column_names
    np.testing.assert_allclose(rows, np.asarray(theirs))


@pytest.mark.parametrize("right", [form.strip() for form in FORMS.split("|")])
def test_forms(right: str) -> None:
    compared(right)


@pytest.mark.parametrize("right", [form.strip() for form in FORMS.split("|")[:22]])
def test_forms_as_formulaic_reads_them(right: str) -> None:
    ours = read_formula(f"y ~ {right}", FIELDS)
    rows = sum(terms.of(CODES, ours.size) for terms in ours.terms)
    theirs = formulaic.model_matrix(right, FRAME)
    names = [plain_name(name) for name in theirs.columns]
    assert sorted(names) == sorted(plain_name(name) for name in ours.names)
    np.testing.assert_allclose(
        rows, np.asarray(theirs, dtype=float)[:, [names.index(plain_name(name)) for name in ours.names]]
    )


factor = st.sampled_from(["a", "b", "x", "z", "C(g)", "C(a, Treatment('w'))", "I(x ** 2)", "np.log(z)"])
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
    part = FRAME[kept.of(CODES)].copy()
    part["a"] = part["a"].cat.remove_unused_categories()
    theirs = patsy.dmatrix("a*x + np.log(x - 1)", part)
    assert list(ours.names) == theirs.design_info.column_names
    rows = sum(terms.of(CODES[kept.of(CODES)], ours.size) for terms in ours.terms)
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
        ("y ~ bs(x, 3)", "'bs\\(...\\)', which is not supported. A formula may have"),
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
)  # fmt: skip
def test_bad_formulas(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_formula(text, FIELDS, output="o")


def test_reading_a_formula_loads_nothing_that_could_open_records() -> None:
    """The processes of engines read formulas, and fail where one of these packages is loaded."""
    code = (
        "import sys\n"
        "from chaffinch.outputs.fields import Field, Fields\n"
        "from chaffinch.outputs.formula import read_formula\n"
        "assert read_formula('y ~ x', Fields((Field('y', (0, 1)), Field('x', (0, 1))))).size == 2\n"
        f"print([name for name in {FORBIDDEN!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
