"""Formulas of tables: the grammar against patsy's, and what must be refused."""

from __future__ import annotations

import patsy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch.errors import InputError
from chaffinch.table import Column, Schema
from chaffinch.table.formula import ColumnFactor, RegressionFormula, formula_of

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


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("y ~ " + "(" * 4000 + "a" + ")" * 4000, "parentheses nest at most 30 deep"),
        ("y ~ " + "(" * 9000, "parentheses nest at most 30 deep"),
        ("y ~ " + "a + " * 1_000_000, "at most 10,000 characters"),
        ("y ~ " + "`" * 9001, "Unknown column|no backquote closes"),
        ("y ~ " + "-" * 9001, "a column name"),
    ],
)
def test_long_and_deep_formulas_end_in_an_error(text: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        formula_of(text, SCHEMA)
    assert any(part in str(caught.value) for part in said.split("|"))
    assert len(str(caught.value)) < 600


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
