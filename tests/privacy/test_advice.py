"""Advice before spending: hand-worked numbers, the known bad case, and what fits really do."""

from __future__ import annotations

from itertools import combinations
from math import sqrt

import numpy as np
import pyarrow as pa
import pytest

from chaffinch._base.errors import InputError
from chaffinch.privacy.advice import THETA, Usefulness, advise, expect
from chaffinch.privacy.domain import declared_schema
from chaffinch.privacy.ledger import Budget, Charge, Plan, Step
from chaffinch.privacy.prepare import prepare
from chaffinch.privacy.relation import PrivacyUnit
from chaffinch.synth import BayesNet, PrivBayes
from chaffinch.table import Column, Schema


def declared(sizes, rows):
    columns = (
        Column(f"c{j}", "categorical", levels=tuple(f"v{i}" for i in range(s)))
        for j, s in enumerate(sizes)
    )
    return declared_schema(Schema(tuple(columns), public=True, rows=rows))


def plan_of(tables, times=1, *, columns=0.0, delta=None):
    """A plan that spends an amount on single columns and, times over, one on tables."""
    pure = delta is None

    def step(why, cost, times=1):
        amount = {"epsilon" if pure else "rho": cost}
        return Step(Charge(why, why, **amount, mechanism="", noise=""), times)

    steps = (step("single columns", columns),) if columns else ()
    return Plan(
        Budget(10.0, delta), PrivacyUnit("add-remove"), (*steps, step("tables", tables, times))
    )


def test_numbers_worked_by_hand():
    # Single columns of 4 and 16 levels share epsilon 0.3 as 2 to 4: 0.1 and 0.2, scales 10 and 5, deviations 14.14 and 7.07.
    # Errors for 1,000 records: 0.4 * 14.14 * 4 / 1000 = 0.0226 and 0.4 * 7.07 * 16 / 1000 = 0.0453.
    # The one pair: epsilon 0.7, scale 1.43, deviation 2.02; 64 cells of 15.6 records each, 7.7 deviations: useful.
    told = expect("m", plan_of(0.7, columns=0.3), [4, 16], 1000)
    assert told.column_noise == pytest.approx((14.14 + 7.07) / 2, rel=0.01)
    assert told.column_count == pytest.approx((250 + 62.5) / 2)
    assert told.column_error == pytest.approx((0.0226 + 0.0453) / 2, rel=0.01)
    assert told.pair_noise == pytest.approx(
        sqrt(2) / 0.7, rel=0.1
    )  # the discrete law is a little narrower
    assert told.pair_count == 1000 / 64
    assert (told.pairs, told.useful_pairs, told.at_once) == (1, 1, 1)
    assert told.largest_table == int(1000 / (4 * told.pair_noise))
    assert told.verdict is Usefulness.PAIRS
    assert told.more_epsilon is None


def test_gaussian_parts_and_noise_by_hand():
    # rho 0.005 for columns of 1 and 8 levels as 1 to 4: 0.001 and 0.004, sigma 1/sqrt(2 rho) = 22.36 and 11.18.
    # To be whole-numbered takes a variance of about 0.4 more.
    told = expect("m", plan_of(0.005, columns=0.005, delta=1e-6), [1, 8], 10_000)
    assert told.column_noise == pytest.approx((22.36 + 11.18) / 2, rel=3e-3)
    assert told.column_error == pytest.approx(
        0.4 * 11.18 * 8 / 10_000 / 2, rel=3e-3
    )  # a column of one level has no error
    assert told.pair_noise == pytest.approx(100.4**0.5, rel=1e-3)


@pytest.mark.parametrize("delta", [None, 1e-6])
@pytest.mark.parametrize("rows", [0, 30, 300, 3000, 30_000])
def test_pairs_at_once_against_trying_every_number(rows, delta):
    sizes = [2, 3, 5, 8, 13, 21]
    told = expect("m", plan_of(0.9, columns=0.1, delta=delta), sizes, rows)
    cells = sorted(a * b for a, b in combinations(sizes, 2))

    def noise(many):
        return sqrt(2) * many / 0.9 if delta is None else 1 / sqrt(2 * 0.9 / many)

    # By the law's own deviation, which is a little below the one of the smooth law.
    fits = [k for k in range(1, 16) if all(rows / c >= THETA * noise(k) for c in cells[:k])]
    assert told.at_once in (max(fits, default=0), max(fits, default=0) + 1)
    tree = sum(rows / c >= THETA * told.pair_noise for c in cells)
    assert told.useful_pairs == tree


def test_verdicts_rise_with_the_rows_and_the_factor_leads_to_the_next():
    sizes = [2, 4, 8, 16]

    def at(factor, rows):
        return expect("m", plan_of(0.001 * factor, columns=0.005 * factor), sizes, rows)

    seen = [at(1, rows).verdict for rows in (0, 1000, 100_000, 300_000, 10_000_000)]
    assert [list(Usefulness).index(v) for v in seen] == sorted(
        list(Usefulness).index(v) for v in seen
    )
    assert set(seen) == set(Usefulness)
    for rows in (1000, 100_000, 300_000):  # too small, columns, small pairs
        told = at(1, rows)
        better = at(told.more_epsilon * 1.01, rows)
        nearly = at(told.more_epsilon * 0.97, rows)
        assert list(Usefulness).index(better.verdict) > list(Usefulness).index(told.verdict)
        assert nearly.verdict is told.verdict
        assert at(1, int(rows * told.more_epsilon * 1.01)).verdict is better.verdict


@pytest.mark.parametrize("delta", [None, 1e-6])
@pytest.mark.parametrize("method", [BayesNet, PrivBayes])
def test_176_rows_of_80_columns_at_a_tenth_are_noise(method, delta):
    # A user's clinical table (DataSynthesizer, issue 35).
    schema = declared([5] * 80, 176)
    settings = method(epsilon=0.1, delta=delta)
    n_tables = 80 if method is PrivBayes else None
    told = expect("m", settings.plan(schema), schema.sizes, 176, n_tables=n_tables)
    assert told.verdict is Usefulness.NOISE
    assert told.column_error > 0.9
    assert told.more_epsilon > 10
    assert "even single columns would be mostly noise" in told.verdict.sentence


@pytest.mark.parametrize(("epsilon", "delta"), [(0.2, None), (0.2, 1e-6), (1.0, None), (1.0, 1e-6)])
def test_the_error_of_columns_is_that_of_fits(epsilon, delta):
    """The mean total variation over 6 seeded fits lies within a factor of 3 of what was said: drawing adds next to nothing to it."""
    sizes, n = (2, 3, 6, 12, 4), 2000
    rng = np.random.default_rng(8)
    codes = [
        rng.integers(0, size, n) for size in sizes
    ]  # even columns: hardly anything is cut off at 0
    data = pa.table({f"c{j}": [f"v{i}" for i in column] for j, column in enumerate(codes)})
    schema = declared(sizes, n)
    table = prepare(data, schema)
    settings = BayesNet(epsilon=epsilon, delta=delta)
    told = expect("bayesnet", settings.plan(schema), sizes, n)
    found = []
    for seed in range(6):
        model = settings.fit(table, seed=seed)
        drawn = model.sample(50_000, seed=1)
        for j, size in enumerate(sizes):
            exact = np.bincount(codes[j], minlength=size) / n
            found.append(
                np.abs(np.bincount(drawn.code(f"c{j}"), minlength=size) / 50_000 - exact).sum() / 2
            )
    assert told.column_error / 3 < np.mean(found) < told.column_error * 2.5


def test_the_noise_told_is_the_noise_of_a_fit():
    sizes, n = (2, 3, 6), 500
    data = pa.table({f"c{j}": [f"v{i % size}" for i in range(n)] for j, size in enumerate(sizes)})
    schema = declared(sizes, n)
    for settings in (BayesNet(epsilon=1.0), BayesNet(epsilon=1.0, delta=1e-6)):
        told = expect("m", settings.plan(schema), sizes, n)
        charges = settings.fit(prepare(data, schema), seed=1).fitted.privacy.charges
        stds: dict[str, list[float]] = {}
        for charge in charges:
            if charge.why == "single columns":
                stds.setdefault(charge.what, []).append(float(charge.noise.rpartition(" ")[2]))
        # With a delta each column is looked at twice, and precisions add up; all of its levels are filled, so parts are the same.
        assert [len(each) for each in stds.values()] == [1 if settings.delta is None else 2] * 3
        both = [sum(std**-2 for std in each) ** -0.5 for each in stds.values()]
        assert told.column_noise == pytest.approx(np.mean(both), rel=1e-3)


def test_told_groups_link_their_own_pairs_alone():
    sizes = [2, 3, 4]
    told = expect("g", plan_of(1.0, 2), sizes, 1000, n_tables=2, groups=[[0, 2], [1]])
    assert (told.pairs, told.useful_pairs) == (3, 1)
    assert told.pair_count == 1000 / 8
    alone = expect("g", plan_of(1.0, 2), sizes, 1000, n_tables=2, linked=False)
    # Column c0 is summed over 4 cells, c2 over 2: their noise is 2 and sqrt(2) times that of a cell.
    assert told.column_noise == pytest.approx(alone.column_noise * (2 + 1 + sqrt(2)) / 3)
    assert told.more_epsilon is None


def test_one_column_and_many_columns():
    one = expect("m", plan_of(1.0), [3], 1000, n_tables=1)
    assert one.verdict is Usefulness.COLUMNS
    assert (one.pairs, one.pair_count, one.more_epsilon) == (0, None, None)
    many = expect("m", plan_of(1.0, columns=1.0), [4] * 500, 10**7)
    assert many.pairs == 500 * 499 // 2
    none = expect("m", plan_of(1.0, columns=1.0), [2, 2], 0)
    assert (none.verdict, none.column_error, none.more_epsilon) == (Usefulness.NOISE, 1.0, None)
    assert "epsilon" not in " ".join(advise(declared([2, 2], 0), 0, [none]).remedies)
    with pytest.raises(InputError, match="rows must be at least 0"):
        expect("m", plan_of(1.0), [3], -1)


def test_what_would_help_is_said():
    schema = declared([2, 3, 30, 40], 60)
    settings = BayesNet(epsilon=0.1)
    told = expect("bayesnet", settings.plan(schema), schema.sizes, 60)
    other = expect("other", plan_of(9.0), schema.sizes, 10**7, n_tables=1)
    advice = advise(schema, 60, [told, other])
    said = " ".join(advice.remedies)
    assert "times as much epsilon" in said
    assert "c3 (40), c2 (30)." in said
    assert "c1" not in said
    assert "Another method: other (most pairs" in said
    assert advise(schema, 10**7, [other]).remedies == ()
    plain = advice.to_dict()
    assert plain["verdict"] == "too small"
    assert plain["widest"] == [{"column": "c3", "levels": 40}, {"column": "c2", "levels": 30}]
    assert [m["method"] for m in plain["methods"]] == ["bayesnet", "other"]


def test_where_noise_takes_more_than_links_give_it_is_said_before_anything_is_spent():
    """1.75 times the expected error of single columns, beside 0.08."""
    noisy, fine = (expect("m", plan_of(1.0), [4] * 6, rows, n_tables=5) for rows in (50, 100_000))
    assert noisy.pair_error == pytest.approx(min(1.75 * noisy.column_error, 1.0))
    assert (noisy.links_pay, fine.links_pay) == (False, True)
    schema = declared([4] * 6, 50)
    assert (
        "nothing nearer to the data than independent columns" in advise(schema, 50, [noisy]).warning
    )
    assert advise(schema, 100_000, [fine]).warning == ""
    assert (
        advise(schema, 50, [noisy]).to_dict()["warning"].startswith("Noise in single columns alone")
    )
    alone = expect("m", plan_of(1.0), [4], 50, n_tables=1)
    assert (alone.pair_error, alone.links_pay) == (None, True)
