"""The one grammar: its algebra in a toy dialect, and what tables and outputs read and refuse of the same texts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch._base.formula import Expression, Grammar, Part, parts_of, unique
from chaffinch._base.tokens import Reader
from chaffinch.errors import InputError
from chaffinch.outputs.domain import OutputColumn, OutputDomain
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
FIELDS = OutputDomain(
    (
        OutputColumn("y", (0, 1)),
        OutputColumn("a", ("u", "v")),
        OutputColumn("b", ("q", "p")),
        OutputColumn("x", (1, 2, 3)),
        OutputColumn("a b", ("k", "l")),
        OutputColumn("m.n", (1, 2)),
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


CODINGS = {"a": ((0, 1), 0), "b": ((0, 1, 2), 1), "x": None, "z": None}


def laid(
    terms: list[tuple[str, ...]],
) -> list[tuple[tuple[str, ...], tuple[tuple[int, ...] | None, ...]]]:
    return [(part.factors, part.levels) for part in parts_of(terms, CODINGS.__getitem__)]


@pytest.mark.parametrize(
    ("terms", "parts"),
    [
        ([()], [((), ())]),
        ([(), ("a",)], [((), ()), (("a",), ((1,),))]),
        ([("a",)], [(("a",), ((0, 1),))]),  # without an intercept all levels
        ([(), ("b",)], [((), ()), (("b",), ((0, 2),))]),  # another reference
        ([("a",), ("b",)], [(("a",), ((0, 1),)), (("b",), ((0, 2),))]),
        ([(), ("a", "b")], [((), ()), (("b",), ((0, 2),)), (("a", "b"), ((1,), (0, 1, 2)))]),
        (
            [(), ("a",), ("b",), ("a", "b")],
            [((), ()), (("a",), ((1,),)), (("b",), ((0, 2),)), (("a", "b"), ((1,), (0, 2)))],
        ),
        ([("a",), ("a", "b")], [(("a",), ((0, 1),)), (("a", "b"), ((0, 1), (0, 2)))]),
        # Terms with other numbers have nothing in common with these.
        ([(), ("a", "x")], [((), ()), (("a", "x"), ((0, 1), None))]),
        ([("x",), ("a", "x")], [(("x",), (None,)), (("a", "x"), ((1,), None))]),
    ],
)
def test_parts_by_hand(terms: list[tuple[str, ...]], parts: list[object]) -> None:
    assert laid(terms) == parts


def test_columns_run_through_the_first_factor_fastest() -> None:
    part = Part(("a", "x", "b"), ((0, 1), None, (0, 2)), (True, False, False))
    assert part.size == 4
    levels = [tuple(level for _, level in coefficient) for coefficient in part.coefficients()]
    assert levels == [(0, None, 0), (1, None, 0), (0, None, 2), (1, None, 2)]


def test_entries_by_hand() -> None:
    part = Part(("b", "x"), ((0, 2), None), (False, False))
    inside, column, value = part.entries(
        4, lambda _: np.array([0, 1, 2, 2]), lambda _: np.array([3.0, 4.0, 0.0, 5.0])
    )
    assert inside.tolist() == [True, False, True, True]
    assert column[inside].tolist() == [0, 1, 1]
    assert value[inside].tolist() == [3.0, 0.0, 5.0]


def test_a_factor_of_one_level_has_no_column_beside_the_intercept() -> None:
    parts = list(parts_of([(), ("c",)], lambda _: ((0,), 0)))
    assert [part.size for part in parts] == [1, 0]
    inside, _, _ = parts[1].entries(2, lambda _: np.array([0, 0]), lambda _: np.zeros(2))
    assert not inside.any()


@given(
    st.lists(
        st.sets(st.sampled_from("abxz"), max_size=4).map(sorted).map(tuple),
        min_size=1,
        max_size=5,
        unique=True,
    )
)
@settings(max_examples=100, deadline=None)
def test_columns_are_independent_and_span_every_product_of_indicators(
    terms: list[tuple[str, ...]],
) -> None:
    """The span of all indicators times numbers has the rank of the design, and as many columns as that."""
    terms = sorted(terms, key=len)
    rng = np.random.default_rng(1)
    codes = {"a": rng.integers(0, 2, 300), "b": rng.integers(0, 3, 300)}
    numbers = {name: rng.normal(size=300) for name in "xz"}

    def dense(parts: list[Part[str]]) -> np.ndarray:
        blocks = [np.zeros((300, 0))]
        for part in parts:
            inside, column, value = part.entries(300, codes.__getitem__, numbers.__getitem__)
            block = np.zeros((300, part.size))
            block[inside, column[inside]] = value[inside]
            blocks.append(block)
        return np.hstack(blocks)

    ours = dense(list(parts_of(terms, CODINGS.__getitem__)))
    levels = [tuple(CODINGS[f] and CODINGS[f][0] for f in term) for term in terms]
    every = dense(
        [Part(term, some, (True,) * len(term)) for term, some in zip(terms, levels, strict=True)]
    )
    ranks = [int(np.linalg.matrix_rank(m)) for m in (ours, every, np.hstack([ours, every]))]
    assert ranks == [ours.shape[1]] * 3
