"""Formulas of tables: the grammar and the design against patsy's, and what must be refused."""

from __future__ import annotations

import formulaic
import numpy as np
import pandas as pd
import patsy
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch import read
from chaffinch.errors import InputError
from chaffinch.table import Categories, Column, Schema, Table
from chaffinch.table.formula import ColumnFactor, Design, RegressionFormula, design, formula_of

COLUMNS = (
    Column("y", "float"),
    Column("a", "categorical"),
    Column("b", "categorical"),
    Column("c", "boolean"),
    Column("x", "integer"),
    Column("z", "float"),
    Column("hours per week", "integer"),
    Column("odd `tick` ~ +", "categorical"),
    Column("capital.gain", "integer"),
    Column("who", "identifier"),
    Column("born", "date"),
    Column("C", "categorical"),
)
SCHEMA = Schema(COLUMNS)


def terms(text: str) -> list[str]:
    return [":".join(map(str, term)) for term in formula_of(text, SCHEMA).terms]


# The grammar.


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("y~a+b", "y ~ a + b"),
        ("  y ~ b : a  ", "y ~ a:b"),
        ("y ~ a*b", "y ~ a + b + a:b"),
        ("y ~ b*a", "y ~ b + a + a:b"),
        ("y ~ 0 + a", "y ~ 0 + a"),
        ("y ~ a - 1", "y ~ 0 + a"),
        ("y ~ -1 + a", "y ~ 0 + a"),
        ("y ~ a + 0 + 1", "y ~ a"),
        ("y ~ a - 0", "y ~ a"),
        ("y ~ 1", "y ~ 1"),
        ("y ~ (a + b + x)**2", "y ~ a + b + x + a:b + a:x + b:x"),
        ("y ~ a*b*x - a:b:x", "y ~ a + b + x + a:b + a:x + b:x"),
        ("y ~ a:(b + x)", "y ~ a:b + a:x"),
        ("y ~ a + a:a + a*a", "y ~ a"),
        ("y ~ C(x) + log(z) + x", "y ~ C(x) + log(z) + x"),
        ("y ~ C(a) + a", "y ~ a"),  # a categorical column is what C makes of it
        ("log(y) ~ `hours per week`", "log(y) ~ `hours per week`"),
        ("y ~ `odd ``tick`` ~ +`:`a`", "y ~ a:`odd ``tick`` ~ +`"),
        ("y ~ capital.gain + C", "y ~ capital.gain + C"),
        ("C(x) ~ a", "C(x) ~ a"),
        ("y ~ C (\n x\t)", "y ~ C(x)"),
        ("y ~ born + C(born)", "y ~ born + C(born)"),
    ],
)
def test_formulas_read_as_written(text: str, found: str) -> None:
    formula = formula_of(text, SCHEMA)
    assert str(formula) == found
    assert formula_of(found, SCHEMA) == formula


def test_a_formula_is_plain_data() -> None:
    formula = formula_of("y ~ 0 + x*a", SCHEMA)
    assert formula == RegressionFormula(
        ColumnFactor("y"),
        ((ColumnFactor("x"),), (ColumnFactor("a"),), (ColumnFactor("a"), ColumnFactor("x"))),
        intercept=False,
    )
    assert formula.factors == (ColumnFactor("x"), ColumnFactor("a"))


NAMES = st.sampled_from(["a", "b", "x", "z", "C(x)", "log(z)"])


def wider(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pair = st.tuples(inner, st.sampled_from([" + ", "*", ":", " - "]), inner).map(
        lambda t: f"({t[0]}){t[1]}({t[2]})"
    )
    power = st.tuples(inner, st.integers(1, 3)).map(lambda t: f"({t[0]})**{t[1]}")
    bare = st.tuples(NAMES, st.sampled_from([" + ", "*", ":", " - "]), NAMES).map("".join)
    return pair | power | bare


SUMS = st.recursive(NAMES, wider, max_leaves=6)


@given(SUMS, st.sampled_from(["", "0 + ", "1 + ", "-1 + "]))
@settings(max_examples=300, deadline=None)
def test_the_terms_are_those_that_patsy_reads(text: str, head: str) -> None:
    theirs = patsy.ModelDesc.from_formula(f"y ~ {head}{text}").rhs_termlist
    expected = {frozenset(factor.name() for factor in term.factors) for term in theirs}
    if expected == set():
        with pytest.raises(InputError, match="leaves nothing to fit"):
            formula_of(f"y ~ {head}{text}", SCHEMA)
        return
    ours = formula_of(f"y ~ {head}{text}", SCHEMA)
    found = {frozenset(factor.label for factor in term) for term in ours.terms}
    assert found | ({frozenset()} if ours.intercept else set()) == expected
    # Format, then read: the same formula.
    assert formula_of(str(ours), SCHEMA) == ours


@given(
    st.lists(st.text(min_size=1).filter(str.strip), min_size=2, max_size=5, unique=True), st.data()
)
@settings(max_examples=200, deadline=None)
def test_any_column_name_survives(names: list[str], data: st.DataObject) -> None:
    schema = Schema(tuple(Column(name, "integer") for name in names))
    chosen = data.draw(st.lists(st.sampled_from(names[1:]), min_size=1, unique=True))
    factors = tuple(
        sorted((ColumnFactor(name) for name in chosen), key=lambda f: names.index(f.column))
    )
    formula = RegressionFormula(
        ColumnFactor(names[0]), ((factors[0],), factors) if len(factors) > 1 else (factors,)
    )
    assert formula_of(str(formula), schema) == formula


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "",
            "position 1: the response, a column name, must stand here. Got the end of the formula",
        ),
        ("y", "position 2: '~' must follow the response"),
        ("y ~", "position 4: a column name"),
        ("y + a ~ b", "position 3: '~' must follow the response"),
        ("~ a", "position 1: the response"),
        ("y ~ a ~ b", "position 7: '+', '-', '*', ':', '**' or the end must follow. Got '~'"),
        ("y ~ a b", "position 7: '+', '-'"),
        ("y ~ a + ", "position 8: a column name"),
        ("y ~ a ++ b", "position 8: a column name"),
        ("y ~ (a + b", "position 11: ')' must close the parenthesis"),
        ("y ~ a)", "position 6: '+', '-'"),
        ("y ~ ()", "position 6: a column name"),
        ("y ~ a + 2", "the only numbers in a sum are 0 and 1, for the intercept. Got '2'"),
        ("y ~ a:1", "position 7: 0 and 1 stand outside parentheses and products"),
        ("y ~ (a + 0)*b", "position 10: 0 and 1 stand outside parentheses and products"),
        ("y ~ 1:a", "position 6: '+', '-'"),
        (
            "y ~ (a + b)**9",
            "position 14: after '**' a whole number from 1 to 8 must stand. Got '9'",
        ),
        ("y ~ (a + b)**" + "9" * 5000, "after '**' a whole number from 1 to 8"),
        ("y ~ (a + b)**x", "after '**' a whole number"),
        ("y ~ C(x, 3)", "position 8: unknown sign, ','"),
        ("y ~ C(x + z)", "position 9: ')' must close the function, which takes one column"),
        (
            "y ~ log(C(x))",
            "position 9: Unknown column 'C'|position 10: ')' must close the function",
        ),
        ("y ~ `hours per week", "position 5: a backquote opens a name that no backquote closes"),
        ("y ~ ``", "position 5: a backquote opens a name"),
        ("y ~ a^2", "position 6: unknown sign, '^'"),
        ("y ~ a/b", "position 6: unknown sign, '/'"),
        ("y ~ .", "position 5: unknown sign, '.'"),
        ("y ~ y", "Column 'y' stands on both sides"),
        ("y ~ a*log(y)", "Column 'y' stands on both sides"),
        ("y ~ 0", "leaves nothing to fit"),
        ("y ~ a - a - 1", "leaves nothing to fit"),
        ("y ~ log(a)", "position 5: log needs a column of numbers. Column 'a' is categorical"),
        ("y ~ log(born)", "log needs a column of numbers. Column 'born' is date"),
        (
            "y ~ who",
            "position 5: column 'who' has no levels and no numbers to fit, it is identifier",
        ),
        ("y ~ capital_gain", "Unknown column 'capital_gain'. Did you mean 'capital.gain'?"),
        (
            "y ~ `hours per wek`",
            "position 5: Unknown column 'hours per wek'. Did you mean 'hours per week'?",
        ),
        ("y ~ sqrt(x)", "position 5: Unknown function 'sqrt'. Functions: C, log."),
        ("y ~ " + "(" * 4000 + "a" + ")" * 4000, "parentheses nest at most 30 deep"),
        ("y ~ " + "(" * 9000, "parentheses nest at most 30 deep"),
        ("y ~ " + "a + " * 1_000_000, "at most 10,000 characters"),
        ("y ~ " + "`" * 9001, "Unknown column|no backquote closes"),
        ("y ~ " + "-" * 9001, "a column name"),
    ],
)
def test_what_breaks_the_grammar_is_named_with_its_place(text: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        formula_of(text, SCHEMA)
    assert any(part in str(caught.value) for part in said.split("|"))
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize(
    "text",
    [
        "y ~ __import__('os').system('true')",
        "__import__('os') ~ a",
        "y ~ C(__import__)",
        "y ~ `__import__('os').system('true')`",
        "y ~ ```a```",
        "y ~ `a`b`",
        "y ~ {a}",
        "y ~ I(x**2)",
        "y ~ Q('a')",
        "y ~ a.__class__",
        "y ~ lambda: 0",
        "y ~ a; import os",
        "y ~ a\x00",
        "y ~ '%s' % a",
        "y ~ C(C(a))",
    ],
)
def test_code_is_no_formula(text: str) -> None:
    with pytest.raises(InputError):
        formula_of(text, SCHEMA)


def test_thirty_parentheses_are_read() -> None:
    assert terms("y ~ " + "(" * 30 + "a" + ")" * 30) == ["a"]


def test_expansions_are_bounded() -> None:
    schema = Schema(tuple(Column(f"v{i}", "integer") for i in range(60)))
    every = " + ".join(f"v{i}" for i in range(1, 60))
    with pytest.raises(InputError, match="at most 500 terms"):
        formula_of(f"v0 ~ ({every})**8", schema)
    with pytest.raises(InputError, match="an interaction has at most 8 columns"):
        formula_of("v0 ~ " + ":".join(f"v{i}" for i in range(1, 10)), schema)
    with pytest.raises(InputError, match=r"(?s)at most 8 columns|at most 500 terms"):
        formula_of("v0 ~ " + "*".join(f"v{i}" for i in range(1, 60)), schema)
    assert len(formula_of("v0 ~ " + "*".join(f"v{i}" for i in range(1, 9)), schema).terms) == 255


def sample(n: int = 200) -> tuple[Table, pd.DataFrame]:
    """Return a table, and the same as a frame whose categories have the table's levels."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "y": rng.normal(size=n),
            "a": rng.choice(["a1", "a2", "a3"], n),
            "b": rng.choice(["b1", "b2"], n),
            "c": rng.integers(0, 2, n).astype(bool),
            "d": rng.choice([10, 20, 30], n),
            "x": rng.normal(size=n).round(6),
            "z": rng.gamma(2.0, size=n).round(6) + 0.1,
        }
    )
    table = read(frame)
    for name in "abcd":
        codec = table.schema[name].codec
        assert isinstance(codec, Categories)
        frame[name] = pd.Categorical(
            [codec.names()[i] for i in table.code(name)], categories=codec.names()
        )
    return table, frame


TABLE, FRAME = sample()

FORMULAS = [
    "1",
    "a",
    "0 + a",
    "a + b",
    "0 + a + b",
    "a:b",
    "0 + a:b",
    "a*b",
    "a + a:b",
    "b + a:b",
    "a*x",
    "a:x",
    "x + a:x",
    "0 + a:x",
    "0 + x",
    "x*z",
    "a*b*c",
    "(a + b + c)**2",
    "a:b:c",
    "0 + a*b*x",
    "a + b:x + c:x",
    "b:c + a:c + a:b",
    "d + x",
    "0 + a:b:x + c",
]


def laid(text: str) -> Design:
    return design(formula_of(f"y ~ {text}", TABLE.schema), TABLE)


def plain(name: str) -> str:
    """Return a name of patsy's or formulaic's in our spelling."""
    return name.replace("[T.", "[")


def by_patsy(text: str) -> dict[str, np.ndarray]:
    theirs = patsy.dmatrix(text, FRAME)
    names = theirs.design_info.column_names
    return {plain(name): np.asarray(theirs)[:, j] for j, name in enumerate(names)}


def by_formulaic(text: str) -> dict[str, np.ndarray]:
    theirs = formulaic.model_matrix(text, FRAME)
    return {plain(str(name)): theirs[name].to_numpy(dtype=float) for name in theirs.columns}


@pytest.mark.parametrize("library", [by_patsy, by_formulaic])
@pytest.mark.parametrize("text", FORMULAS)
def test_the_columns_are_those_of_other_libraries(text: str, library) -> None:
    columns, ours = library(text), laid(text)
    assert sorted(ours.names) == sorted(columns)
    matrix = ours.matrix()
    for j, name in enumerate(ours.names):
        np.testing.assert_allclose(matrix[:, j], columns[name], rtol=1e-12)


@given(
    st.lists(
        st.lists(st.sampled_from("abcx"), min_size=1, max_size=3, unique=True),
        min_size=1,
        max_size=4,
    ),
    st.booleans(),
)
@settings(max_examples=100, deadline=None)
def test_columns_are_independent_and_span_what_patsys_span(
    chosen: list[list[str]], intercept: bool
) -> None:
    """Whatever the order of factors, by rank: of ours, of theirs, and of both together."""
    text = f"{int(intercept)} + {' + '.join(':'.join(term) for term in chosen)}"
    ours, theirs = laid(text).matrix(), np.asarray(patsy.dmatrix(text, FRAME))
    ranks = [int(np.linalg.matrix_rank(m)) for m in (ours, theirs, np.hstack([ours, theirs]))]
    assert ranks == [ours.shape[1]] * 3


def test_functions() -> None:
    ours = laid("log(z) + C(x)")
    by_name = dict(zip(ours.names, ours.matrix().T, strict=True))
    np.testing.assert_allclose(by_name["log(z)"], np.log(FRAME["z"]))
    codec = TABLE.schema["x"].codec
    assert codec is not None
    levels = codec.names()[: codec.n_values]
    for code, level in enumerate(levels[1:], start=1):
        assert np.array_equal(by_name[f"C(x)[{level}]"], TABLE.code("x") == code)
    assert f"C(x)[{levels[0]}]" not in by_name


def test_factors_are_codes_and_values_per_level() -> None:
    ours = laid("a + x")
    a, x = ours.factors[ColumnFactor("a")], ours.factors[ColumnFactor("x")]
    assert a.levels == ("a1", "a2", "a3")
    assert np.array_equal(a.codes, TABLE.code("a"))
    assert (np.diff(x.values) > 0).all()
    np.testing.assert_allclose(x.numbers(), FRAME["x"])
    np.testing.assert_allclose(ours.response.numbers(), FRAME["y"])


def test_another_reference() -> None:
    formula = formula_of("y ~ a", TABLE.schema)
    assert design(formula, TABLE, references={ColumnFactor("a"): 2}).names == (
        "Intercept",
        "a[a1]",
        "a[a2]",
    )


def test_a_level_that_no_record_has_keeps_its_column() -> None:
    levels = ("u", "v", "w")
    schema = Schema(
        (
            Column("y", "categorical", codec=Categories(("n", "p"))),
            Column("a", "categorical", codec=Categories(levels)),
        )
    )
    table = Table.from_codes(
        schema, [np.array([0, 1, 0, 1], np.uint8), np.array([0, 0, 2, 2], np.uint8)], seed=0
    )
    found = design(formula_of("y ~ a", schema), table)
    assert found.names == ("Intercept", "a[v]", "a[w]")
    assert found.matrix().tolist() == [[1, 0, 0], [1, 0, 0], [1, 0, 1], [1, 0, 1]]


def test_incomplete_records_are_left_out_and_other_is_a_level() -> None:
    n = 120
    a: list[str | None] = ["u", "v", "w"] * (n // 3)
    a[0], a[1] = "rare", None  # pooled, and missing
    x: list[float | None] = [i / 7 for i in range(n)]
    x[2], x[3] = None, float("nan")
    y: list[float | None] = [float(i * i % 97) + 0.5 for i in range(n)]
    y[4] = None
    unused: list[str | None] = [None, "p"] * (n // 2)
    table = read(pa.table({"y": y, "a": a, "x": x, "unused": unused}))
    found = design(formula_of("y ~ a + x", table.schema), table)
    assert found.names == ("Intercept", "a[v]", "a[w]", "a[(other)]", "x")
    assert (found.n_rows, found.n_left_out) == (n - 4, 4)
    assert found.matrix()[0].tolist() == [1.0, 0.0, 0.0, 1.0, 0.0]
    assert found.matrix()[1].tolist() == [1.0, 0.0, 1.0, 0.0, pytest.approx(5 / 7)]


def test_declared_missing_codes_count_as_missing(tmp_path: object) -> None:
    n = 100
    x = [float(i % 40) + 0.25 for i in range(n)]
    x[:15] = [-8.0] * 15
    schema = Schema(
        (Column("y", "float", type="double"), Column("x", "float", type="double", missing=(-8.0,)))
    )
    table = read(pa.table({"y": [i / 3 for i in range(n)], "x": x}), schema=schema)
    found = design(formula_of("y ~ x", table.schema), table)
    assert (found.n_rows, found.n_left_out) == (85, 15)
    assert found.factors[ColumnFactor("x")].values.min() > 0


def test_dates_are_numbers() -> None:
    days = pa.array(list(range(18_000, 18_100)), pa.int32()).cast(pa.date32())
    table = read(
        pa.table({"y": [i / 3 for i in range(100)], "born": days}),
        schema=Schema(
            (Column("y", "float", type="double"), Column("born", "date", type="date32[day]"))
        ),
    )
    found = design(formula_of("y ~ born", table.schema), table)
    assert found.matrix()[:, 1].tolist() == list(range(18_000, 18_100))


def test_a_logarithm_of_nought_is_an_error_without_values() -> None:
    table = read(pa.table({"y": [i / 3 for i in range(100)], "x": [i / 7 for i in range(100)]}))
    with pytest.raises(
        InputError, match=r"log\(x\) needs numbers above 0, and column 'x' has others\."
    ):
        design(formula_of("y ~ log(x)", table.schema), table)


def test_too_many_coefficients_are_refused_before_they_are_made() -> None:
    levels = tuple(f"l{i}" for i in range(2000))
    codes = np.arange(4000, dtype=np.uint16) % 2000
    schema = Schema(
        tuple(Column(name, "categorical", codec=Categories(levels)) for name in "abcdefgh")
    )
    table = Table.from_codes(schema, [codes] * 8, seed=0)
    with pytest.raises(InputError, match="more than 1,000 coefficients"):
        design(formula_of("a ~ b:c:d:e:f:g:h", schema), table)


# By hand: two factors of two levels, a number, four records.

SMALL = Table.from_codes(
    Schema(
        (
            Column("y", "categorical", codec=Categories(("n", "p"))),
            Column("a", "categorical", codec=Categories(("u", "v"))),
            Column("b", "categorical", codec=Categories(("q", "r", "s"))),
        )
    ),
    [np.array(codes, np.uint8) for codes in ([0, 1, 0, 1], [0, 0, 1, 1], [0, 1, 2, 0])],
    seed=0,
)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("1", {"Intercept": [1, 1, 1, 1]}),
        ("0 + b", {"b[q]": [1, 0, 0, 1], "b[r]": [0, 1, 0, 0], "b[s]": [0, 0, 1, 0]}),
        (
            "a + b",
            {
                "Intercept": [1, 1, 1, 1],
                "a[v]": [0, 0, 1, 1],
                "b[r]": [0, 1, 0, 0],
                "b[s]": [0, 0, 1, 0],
            },
        ),
        (
            "a:b",  # 1 + b- + a-:b, the first factor fastest
            {
                "Intercept": [1, 1, 1, 1],
                "b[r]": [0, 1, 0, 0],
                "b[s]": [0, 0, 1, 0],
                "a[v]:b[q]": [0, 0, 0, 1],
                "a[v]:b[r]": [0, 0, 0, 0],
                "a[v]:b[s]": [0, 0, 1, 0],
            },
        ),
        (
            "0 + a:b",
            {
                "a[u]:b[q]": [1, 0, 0, 0],
                "a[v]:b[q]": [0, 0, 0, 1],
                "a[u]:b[r]": [0, 1, 0, 0],
                "a[v]:b[r]": [0, 0, 0, 0],
                "a[u]:b[s]": [0, 0, 0, 0],
                "a[v]:b[s]": [0, 0, 1, 0],
            },
        ),
    ],
)
def test_designs_by_hand(text: str, columns: dict[str, list[int]]) -> None:
    ours = design(formula_of(f"y ~ {text}", SMALL.schema), SMALL)
    assert ours.names == tuple(columns)
    assert ours.matrix().T.tolist() == list(columns.values())
