"""The one grammar: its algebra in a toy dialect, and what tables and outputs read and refuse of the same texts."""

from __future__ import annotations

import pytest

from chaffinch._base.formula import Expression, Grammar, unique
from chaffinch._base.tokens import Reader
from chaffinch.errors import InputError
from chaffinch.outputs.fields import Field, Fields
from chaffinch.outputs.formula import read_formula
from chaffinch.table import Column, Schema
from chaffinch.table.formula import formula_of


class Letters(Grammar[str]):
    """Factors are names, numbers stand anywhere."""

    def factor(self) -> str:
        return self.reader.take().value

    def exponent(self, base: Expression[str]) -> int:
        return int(self.reader.next.value)

    def negative(self, first: Expression[str]) -> Expression[str]:
        return Expression([])

    def operand(self) -> Expression[str]:
        if self.reader.next.kind == "number":
            return Expression.of_number(self.reader.take().value)
        return super().operand()


@pytest.mark.parametrize(
    ("text", "terms", "intercept"),
    [
        ("a", "a", True),
        ("a + b + a", "a b", True),
        ("b:a + a:b", "ba", True),
        ("a*b", "a b ab", True),
        ("a*b*c - a:b:c", "a b ab c ac bc", True),
        ("(a + b + c)**2", "a b c ab ac bc", True),
        ("(a + b)**7", "a b ab", True),
        ("((a + b)**2)**2", "a b ab", True),
        ("a:(b + c)", "ab ac", True),
        ("a - 1", "a", False),
        ("0 + a", "a", False),
        ("-1 + a + 1", "a", True),
        ("-a + b", "b", True),
        ("a + 0 - 0", "a", True),
        ("1", "", True),
    ],
)
def test_the_algebra_of_terms(text: str, terms: str, intercept: bool) -> None:
    right = Letters(Reader(text, what="It")).sum()
    assert ["".join(term) for term in right.terms] == terms.split()
    assert right.has_intercept == intercept


def test_terms_are_sets() -> None:
    assert unique([("a", "b"), ("b", "a"), (), ("a",)]) == [("a", "b"), (), ("a",)]


def test_a_dialect_may_refuse_powers_of_powers() -> None:
    class Once(Letters):
        chained_powers = False

    reader = Reader("a**2**2", what="It")
    Once(reader).sum()
    assert reader.next.value == "**"


# The dialects beside each other: the terms, or what is said.

SCHEMA = Schema(
    (
        Column("y", "integer"),
        Column("a", "categorical"),
        Column("b", "categorical"),
        Column("x", "integer"),
        Column("a b", "categorical"),
        Column("m.n", "integer"),
    )
)
FIELDS = Fields(
    (
        Field("y", (0, 1)),
        Field("a", ("u", "v")),
        Field("b", ("q", "p")),
        Field("x", (1, 2, 3)),
        Field("a b", ("k", "l")),
        Field("m.n", (1, 2)),
    )
)
UNSUPPORTED = "which is not supported. A formula may have: names"

READ = [
    # the right-hand side, the terms of a table's formula, the names of an output's design
    ("1", "1", "Intercept"),
    ("x", "x", "Intercept, x"),
    ("x - 1", "0 + x", "x"),
    ("a + x", "a + x", "Intercept, a[T.v], x"),
    ("0 + a", "0 + a", "a[u], a[v]"),
    ("a*b", "a + b + a:b", "Intercept, a[T.v], b[T.p], a[T.v]:b[T.p]"),
    ("b:a", "a:b", "Intercept, a[T.v], b[T.p]:a[u], b[T.p]:a[v]"),
    ("(a + x)**2", "a + x + a:x", "Intercept, a[T.v], x, a[T.v]:x"),
    ("a*x - a", "x + a:x", "Intercept, x, a[T.v]:x"),
    ("C(x)", "C(x)", "Intercept, C(x)[T.2], C(x)[T.3]"),
    ("C(a)", "a", "Intercept, C(a)[T.v]"),
    ("`a b`", "`a b`", "Intercept, `a b`[T.l]"),
]
ONE_SIDED = [
    # what a table's formula reads or says, what an output's does
    ("log(x)", "y ~ log(x)", "Intercept, log(x)"),
    ("m.n", "y ~ m.n", f"has a name (position 5), {UNSUPPORTED}"),
    ("-a", "y ~ 1", f"has a minus before its first term, {UNSUPPORTED}"),
    ("np.log(x)", "Formula, position 5: Unknown function 'np.log'.", "Intercept, np.log(x)"),
    ("I(x ** 2)", "Formula, position 5: Unknown function 'I'.", "Intercept, I(x ** 2)"),
    ("Q('a b')", "Formula, position 7: unknown sign, '''.", "Intercept, Q('a b')[T.l]"),
    (
        "C(a, Treatment('v'))",
        "Formula, position 8: unknown sign, ','.",
        "Intercept, C(a, Treatment('v'))[T.u]",
    ),
    (
        "a**2**2",
        "Formula, position 9: '+', '-', '*', ':', '**' or the end must follow.",
        "Intercept, a[T.v]",
    ),
    (
        "(a + x)**9",
        "Formula, position 14: after '**' a whole number from 1 to 8 must stand.",
        "Intercept, a[T.v], x, a[T.v]:x",
    ),
    (
        "(0 + a)",
        "Formula, position 6: 0 and 1 stand outside parentheses and products.",
        "a[u], a[v]",
    ),
]
REFUSED = [
    ("", "position 4: a column name", f"has the end, {UNSUPPORTED}"),
    ("0", "leaves nothing to fit", "has no terms"),
    ("2", "the only numbers in a sum are 0 and 1", "a number other than 0 and 1 as a term"),
    ("x:1", "position 7: 0 and 1 stand outside", "an interaction with the intercept"),
    ("a / x", "unknown sign, '/'", "a / between terms"),
    ("(a", "position 7: ')' must close the parenthesis", "must have ')' before the end"),
    ("a)", "position 6: '+', '-'", "goes on with ) where it should end"),
    ("a b", "position 7: '+', '-'", "goes on with a name (position 7) where it should end"),
    ("a ~ b", "position 7: '+', '-'", "goes on with ~ where it should end"),
    ("(a)**x", "after '**' a whole number", "a power that is no whole number of at least 1"),
    ("nn", "Unknown column 'nn'", "Unknown column 'nn'"),
    ("f(x)", "Unknown function 'f'", "has 'f(...)'"),
    ("a; b", "unknown sign, ';'", "has a sign at position 6 that it may not have: ';'"),
    (
        "(" * 50 + "a" + ")" * 50,
        "parentheses nest at most 30 deep",
        "may nest at most 40 brackets deep",
    ),
]


def said_by_table(text: str) -> str:
    try:
        return str(formula_of(f"y ~ {text}", SCHEMA))
    except InputError as error:
        return str(error)


def said_by_outputs(text: str) -> str:
    try:
        return ", ".join(read_formula(f"y ~ {text}", FIELDS, output="o").names)
    except InputError as error:
        return str(error)


@pytest.mark.parametrize(("text", "table", "outputs"), READ)
def test_what_both_dialects_read(text: str, table: str, outputs: str) -> None:
    assert said_by_table(text) == f"y ~ {table}"
    assert said_by_outputs(text) == outputs


@pytest.mark.parametrize(("text", "table", "outputs"), ONE_SIDED + REFUSED)
def test_what_one_or_both_refuse(text: str, table: str, outputs: str) -> None:
    assert table in said_by_table(text)
    assert outputs in said_by_outputs(text)


@pytest.mark.parametrize(("text", "table", "outputs"), REFUSED)
def test_refusals_are_errors(text: str, table: str, outputs: str) -> None:
    with pytest.raises(InputError):
        formula_of(f"y ~ {text}", SCHEMA)
    with pytest.raises(InputError):
        read_formula(f"y ~ {text}", FIELDS)
