"""The split of the budget: what is planned adds up, and what a fit spends is what was planned."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from chaffinch._base.errors import InputError, PrivacyError, TooLargeError
from chaffinch.privacy.prepare import prepare
from chaffinch.synth import BayesNet, PrivBayes
from chaffinch.synth.privbayes.candidates import degree
from chaffinch.synth.privbayes.split import split_of
from chaffinch.table import Column, Schema


def sealed(sizes, n, seed=0):
    """A declared table of linked columns."""
    rng = np.random.default_rng(seed)
    base = rng.integers(0, 60, n)
    columns = tuple(
        Column(f"c{j}", "categorical", levels=tuple(range(size))) for j, size in enumerate(sizes)
    )
    codes = {
        f"c{j}": np.where(rng.random(n) < 0.7, base, rng.integers(0, 60, n)) % size
        for j, size in enumerate(sizes)
    }
    return prepare(pa.table(codes), Schema(columns, public=True, rows=n))


MIXED, BINARY = (3, 2, 4, 2, 5, 3), (2,) * 6
CASES = {
    "published": (PrivBayes(epsilon=2.0), MIXED, 3000),
    "published add-remove": (PrivBayes(epsilon=2.0, neighbours="add-remove"), MIXED, 2000),
    "binary": (PrivBayes(epsilon=2.0), BINARY, 300),
    "fixed k": (PrivBayes(epsilon=2.0, parents=2, score="I"), MIXED, 500),
    "sdg": (PrivBayes(epsilon=2.0, variant="sdg"), MIXED, 3000),
    "dpart": (PrivBayes(epsilon=2.0, variant="dpart"), MIXED, 500),
    "datasynthesizer": (PrivBayes(epsilon=2.0, variant="datasynthesizer"), MIXED, 500),
    "no parent is useful": (PrivBayes(epsilon=0.01), MIXED, 100),
    "flip": (PrivBayes(epsilon=2.0, variant="dpart", mechanism="permute-and-flip"), MIXED, 500),
}


def tallied(budget, charges):
    """How often each reason, mechanism and amount (to nine digits) was charged."""
    return Counter((c.why, c.mechanism, float(f"{c.cost(budget.kind):.9g}")) for c in charges)


@pytest.mark.parametrize("case", CASES)
def test_a_fit_spends_what_was_planned(case):
    settings, sizes, n = CASES[case]
    table = sealed(sizes, n)
    plan = settings.plan(table.schema)
    assert plan.total == pytest.approx(settings.epsilon, rel=1e-9)
    assert plan.total <= settings.epsilon * (1 + 1e-9)
    account = settings.fit(table, seed=1).fitted.privacy
    assert tallied(plan.budget, account.charges) == tallied(plan.budget, plan.charges())
    assert account.spent == pytest.approx(settings.epsilon, rel=1e-9)
    stated = {step.charge.noise for step in plan.steps if step.charge.why == "tables"}
    assert {charge.noise for charge in account.charges if charge.why == "tables"} == stated


@pytest.mark.parametrize("k", [5, 4])
def test_a_choice_that_is_none_is_not_charged_and_the_tables_get_it(k):
    """With k = d - 1 the last column has one family only: nothing to choose. The plan counts d - 1 choices all the same."""
    table = sealed(MIXED, 500)
    settings = PrivBayes(epsilon=2.0, parents=k, variant="dpart")
    account = settings.fit(table, seed=1).fitted.privacy
    chosen = sum(charge.why == "structure" for charge in account.charges)
    assert chosen == (4 if k == 5 else 5)
    assert account.spent == pytest.approx(2.0, rel=1e-9)
    assert settings.plan(table.schema).total == pytest.approx(2.0, rel=1e-9)


@pytest.mark.parametrize("delta", [None, 1e-6])
@pytest.mark.parametrize(
    "more", [{}, {"parents": 1}, {"sensitive": ("c1",), "label": "c0"}], ids=["free", "one", "cut"]
)
def test_a_network_spends_what_was_planned_step_by_step(delta, more):
    table = sealed(MIXED, 2000)
    settings = BayesNet(epsilon=2.0, delta=delta, **more)
    plan = settings.plan(table.schema)
    assert plan.total == pytest.approx(plan.budget.total, rel=1e-9)
    account = settings.fit(table, seed=1).fitted.privacy
    spent: dict[str, float] = {}
    for charge in account.charges:
        spent[charge.why] = spent.get(charge.why, 0.0) + charge.cost(plan.budget.kind)
    planned: dict[str, float] = {}
    for charge in plan.charges():
        planned[charge.why] = planned.get(charge.why, 0.0) + charge.cost(plan.budget.kind)
    assert spent == pytest.approx(planned, rel=1e-6)
    assert account.spent == pytest.approx(plan.budget.total, rel=1e-6)


# The variants' units


def split(settings, sizes, n):
    return split_of(settings._resolved(), sealed(sizes, n).schema, settings.epsilon, n)


def test_dpart_halves_the_budget_and_measures_a_table_for_each_column():
    result = split(PrivBayes(epsilon=2.0, variant="dpart"), MIXED, 500)
    assert (result.score, result.parents, result.n_tables, result.joint_columns) == ("I", 2, 6, 1)
    assert (result.structure, result.tables) == (1.0, 1.0)
    assert (result.selections, result.each_selection) == (5, pytest.approx(1.0 / 5))
    account = PrivBayes(epsilon=2.0, variant="dpart").fit(sealed(MIXED, 500), seed=1).fitted.privacy
    tables = [c for c in account.charges if c.why == "tables"]
    assert [c.epsilon for c in tables] == pytest.approx(
        [1.0 / 6] * 6
    )  # so the scale is 2 / (1/6) = 2 d / epsilon2 = 12
    q = np.exp(-1 / 12)
    assert tables[0].noise == f"standard deviation {np.sqrt(2 * q) / (1 - q):.4g}"


def test_sdg_takes_three_tenths_for_the_structure():
    result = split(PrivBayes(epsilon=2.0, variant="sdg"), MIXED, 3000)
    assert (result.score, result.parents, result.n_tables, result.joint_columns) == (
        "R",
        None,
        6,
        1,
    )
    assert (result.structure, result.tables) == (pytest.approx(0.6), pytest.approx(1.4))
    assert result.cells == pytest.approx(3000 * 1.4 / (2 * 6 * 4))  # theta 4


def test_datasynthesizer_measures_d_minus_k_tables():
    result = split(PrivBayes(epsilon=2.0, variant="datasynthesizer"), MIXED, 500)
    assert (result.score, result.parents, result.n_tables, result.joint_columns) == (
        "I",
        3,
        6 - 3,
        4,
    )
    assert (result.structure, result.tables) == (1.0, 1.0)


def test_published_on_columns_of_two_levels():
    result = split(PrivBayes(epsilon=2.0), BINARY, 300)
    k = degree(300, 1.4, 6, l1=2, theta=4)
    assert (
        k == 3
    )  # n epsilon2 = 420: 420 / ((6-3) 2^5) = 4.4, but 420 / ((6-4) 2^6) = 420 / ((6-5) 2^7) = 3.3 < 4
    assert (result.score, result.parents, result.n_tables, result.joint_columns) == (
        "F",
        k,
        6 - k,
        k + 1,
    )
    assert (result.structure, result.tables) == (pytest.approx(0.6), pytest.approx(1.4))
    settings = PrivBayes(epsilon=2.0)
    account = settings.fit(sealed(BINARY, 300), seed=1).fitted.privacy
    assert sum(c.why == "tables" for c in account.charges) == 6 - k
    assert all("score F" in c.noise for c in account.charges if c.why == "structure")


def test_where_no_parent_is_useful_all_goes_to_the_tables():
    result = split(PrivBayes(epsilon=0.01), MIXED, 100)
    assert (result.selections, result.structure, result.n_tables) == (0, 0.0, 6)
    assert result.tables == 0.01


def test_what_a_split_refuses():
    with pytest.raises(
        InputError, match=r"Score F is for columns of two declared levels. 'c0' has 3\. Use R or I"
    ):
        split(PrivBayes(epsilon=1.0, score="F"), MIXED, 100)
    undeclared = Schema((Column("a", "categorical", levels=(0, 1)),), public=True)
    with pytest.raises(PrivacyError, match="the number of rows is public, and must be declared"):
        PrivBayes(epsilon=1.0).plan(undeclared)
    looking = Schema((Column("a", "categorical", discover=True),), public=True, rows=5)
    with pytest.raises(PrivacyError, match="to discover them takes a delta above 0"):
        PrivBayes(epsilon=1.0).plan(looking)
    wide = Schema(
        (*looking.columns, Column("b", "categorical", levels=(0, 1, 2))), public=True, rows=5
    )
    with pytest.raises(
        InputError, match=r"Score F is for columns of two declared levels. 'b' has 3\."
    ):
        PrivBayes(epsilon=1.0, delta=1e-6, score="F").plan(wide)
    wider = tuple(Column(name, "integer", bounds=(0, 9999), bins=5000) for name in "bc")
    with pytest.raises(TooLargeError, match="a table of c, b could be needed"):
        PrivBayes(epsilon=1.0, delta=1e-6, parents=1).plan(
            replace(wide, columns=(*looking.columns, *wider))
        )
