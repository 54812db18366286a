"""Private selection: exact probabilities on neighbouring tables, what is charged and when, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import exp, log, sqrt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from chaffinch._base.errors import BudgetError, InputError, PrivacyError, TooLargeError
from chaffinch.counts import MemoryCounter
from chaffinch.privacy.accounting import rho_to_epsilon
from chaffinch.privacy.counter import PrivateCounter
from chaffinch.privacy.ledger import Account, Budget, Ledger
from chaffinch.privacy.mechanisms import noise_of
from chaffinch.privacy.relation import PrivacyUnit
from chaffinch.privacy.selection import (
    Candidate,
    Stopping,
    pairs_workload,
    plan_selection,
    select_candidate,
    stopping_for,
)
from chaffinch.privacy.session import prepare
from chaffinch.synth.bayesnet import BayesNet
from chaffinch.table import Column, Schema
from tests.privacy.conftest import gaussian_pmf

from .conftest import exponential_probabilities, laplace_pmf, permute_and_flip_probabilities
from .test_counter import Noted, Plain, Recorder, schema_of

SIZES = (2, 2)
WORKLOAD = (("c0",), ("c0", "c1"))
UNITS = [PrivacyUnit(neighbours, m) for neighbours in ("add-remove", "replace-one") for m in (1, 2)]
APART = (("x", "y"), ("y", "x"))
RELEASED = [[(0, 0)] * 3, [(1, 1)] * 3, [(0, 1), (1, 0), (1, 1)]]
CELLS = list(product(range(2), repeat=2))


def neighbours(unit):
    """Return all pairs of tables, of up to two rows of others, in which one person differs, both ways round."""
    others = [list(rows) for n in range(3) for rows in combinations_with_replacement(CELLS, n)]
    m = unit.rows_per_person
    people = [
        list(rows)
        for n in range(m if unit.bounded else 1, m + 1)
        for rows in combinations_with_replacement(CELLS, n)
    ]
    if unit.bounded:
        return [(o + a, o + b) for o in others for a in people for b in people]
    return [pair for o in others for a in people for pair in ((o + a, o), (o, o + a))]


def by_hand(rows, released):
    """Return the distance of two lists of rows over the workload, cell by cell."""
    total = 0
    for axes in ((0,), (0, 1)):
        cells = {tuple(row[a] for a in axes) for row in rows + released}
        total += sum(
            abs(
                sum(tuple(r[a] for a in axes) == cell for r in rows)
                - sum(tuple(r[a] for a in axes) == cell for r in released)
            )
            for cell in cells
        )
    return total


def chosen(rows, unit, amount, budget=None, mechanism=None):
    """Return the scores and the scale that the noise was asked with."""
    noise = Recorder()
    counter = PrivateCounter(
        Plain(schema_of(SIZES), rows), Ledger(budget or Budget(1e6), unit), noise
    )
    counter.select_candidate(
        WORKLOAD,
        [Plain(schema_of(SIZES), r) for r in RELEASED],
        amount,
        why="test",
        mechanism=mechanism,
    )
    return noise.calls[0]


@pytest.mark.parametrize("unit", UNITS, ids=lambda u: f"{u.neighbours}-{u.rows_per_person}")
def test_one_person_moves_no_score_by_more_than_claimed_and_some_by_that(unit):
    cache = {}
    worst = 0
    for pair in neighbours(unit):
        one, two = (
            cache.setdefault(tuple(rows), [-by_hand(rows, r) for r in RELEASED]) for rows in pair
        )
        worst = max(worst, *(abs(a - b) for a, b in zip(one, two, strict=True)))
    assert worst == unit.l1 * len(WORKLOAD)
    rows = [(0, 1), (1, 1)]
    scores, scale = chosen(rows, unit, 0.5)
    assert scores.tolist() == [-by_hand(rows, r) for r in RELEASED]
    assert scale == 2 * worst / 0.5


LAWS = {
    "permute-and-flip": permute_and_flip_probabilities,
    "exponential": exponential_probabilities,
}


@pytest.mark.parametrize("mechanism", LAWS)
@pytest.mark.parametrize("unit", UNITS, ids=lambda u: f"{u.neighbours}-{u.rows_per_person}")
def test_no_choice_is_more_than_e_to_the_epsilon_times_as_likely(unit, mechanism):
    """Exact output probabilities on every pair of small neighbours. Met: by permute-and-flip on these tables, by the exponential one nearly."""
    epsilon, cache, worst = 1.0, {}, 0.0

    def law(rows):
        if (key := tuple(sorted(rows))) not in cache:
            scores, scale = chosen(rows, unit, epsilon, mechanism=mechanism)
            cache[key] = np.log(LAWS[mechanism](scores, scale))
        return cache[key]

    for one, two in neighbours(unit):
        worst = max(worst, float(np.abs(law(one) - law(two)).max()))
    assert worst <= epsilon * (1 + 1e-9)
    assert worst >= 0.5 * epsilon


def test_the_epsilon_is_met_where_a_far_candidate_comes_nearer_and_the_others_go():
    """Two candidates in opposite corners of a binary column, far behind each other: one record moves them apart by twice the sensitivity."""
    unit, epsilon, sizes, n = PrivacyUnit("add-remove"), 1.0, (2,), 60
    released = [Plain(schema_of(sizes), [(0,)] * n), Plain(schema_of(sizes), [(1,)] * n)]

    def law(rows):
        noise = Recorder()
        PrivateCounter(
            Plain(schema_of(sizes), rows), Ledger(Budget(10.0), unit), noise
        ).select_candidate([("c0",)], released, epsilon, why="test")
        return np.log(permute_and_flip_probabilities(*noise.calls[0]))

    rows = [(0,)] * 30
    assert np.abs(law(rows) - law([*rows, (1,)])).max() == pytest.approx(epsilon, rel=1e-6)


@pytest.mark.parametrize("unit", UNITS[::2], ids=lambda u: u.neighbours)
def test_renyi_divergences_of_a_choice_are_within_rho(unit):
    rho, budget, cache = 0.08, Budget(5.0, 1e-6, "zcdp"), {}

    def law(rows):
        if (key := tuple(sorted(rows))) not in cache:
            cache[key] = np.log(exponential_probabilities(*chosen(rows, unit, rho, budget)))
        return cache[key]

    for one, two in neighbours(unit):
        p, q = law(one), law(two)
        for order in (1.5, 2, 8, 32):
            assert (
                np.log(np.exp(order * p + (1 - order) * q).sum()) / (order - 1)
                <= order * rho + 1e-9
            )
    # By hand: epsilon^2 / 8 = rho.
    assert chosen([(0, 0)], unit, rho, budget)[1] == pytest.approx(2 * unit.l1 * 2 / sqrt(8 * rho))


def test_a_noisy_distance_has_the_law_of_its_noise():
    """Seeded; a right build fails with one seed in a million."""
    unit, amount, n = PrivacyUnit("replace-one"), 0.8, 1500
    rows, released = [(0, 1), (1, 1), (0, 0)], RELEASED[0]
    counter = PrivateCounter(Plain(schema_of(SIZES), rows), Ledger(Budget(1e6), unit), noise_of(4))
    answers = [
        counter.workload_distance(WORKLOAD, Plain(schema_of(SIZES), released), amount, why="test")
        for _ in range(n)
    ]
    scale = unit.l1 * 2 / amount
    noise = np.array([d for d, _ in answers]) - by_hand(rows, released)
    z = np.arange(-400, 401)
    expected = laplace_pmf(z, scale) * n
    inside = expected >= 15
    seen = np.array([(noise == v).sum() for v in z[inside]] + [(~np.isin(noise, z[inside])).sum()])
    assert (
        stats.chisquare(seen, np.append(expected[inside], n - expected[inside].sum())).pvalue > 1e-6
    )
    assert answers[0][1] == pytest.approx(sqrt((laplace_pmf(z, scale) * z**2).sum()), rel=1e-6)


# The two ways as wholes


def account_of(budget, unit, *, test_only=True):
    return Account(budget, unit, (), test_only=test_only, rows=3, rows_how="declared")


def constant_fits(unit, released=RELEASED, log=None, test_only=True):
    """Candidates that do not depend on the data: what is left is the choice."""

    def fit_of(position, rows):
        def fit(budget, seed):
            if log is not None:
                log.append(("fit", budget, seed))
            return Candidate(
                position,
                Plain(schema_of(SIZES), rows),
                account_of(budget, unit, test_only=test_only),
            )

        return fit

    return [fit_of(i, rows) for i, rows in enumerate(released)]


def repeated_law(rows, plan, stopping):
    """Return the chance of each candidate to be the nearest of K runs, by enumeration of noisy distances, ties to the earlier run."""
    unit, m = plan.unit, len(RELEASED)
    z = np.arange(-300, 301)
    grid = np.arange(-340, 341)  # noisy distances
    law = np.zeros((m, grid.size))
    for i, released in enumerate(RELEASED):
        law[i, np.searchsorted(grid, by_hand(rows, released) + z)] = (
            laplace_pmf(z, unit.l1 * 2 / plan.choice) / m
        )
    by_distance = law.sum(axis=0)
    beyond = np.append(
        np.cumsum(by_distance[::-1])[::-1], 0.0
    )  # the chance of a run to be at this distance or farther
    f = np.array([stopping.generating(min(x, 1.0)) for x in beyond])
    return law / np.where(by_distance > 0, by_distance, 1) * (f[:-1] - f[1:])


def repeated_plan(unit, choice=1.2, one_in=4, shape=1):
    plan = plan_selection(Budget(6.0), unit, len(RELEASED), way="repeated", shape=shape)
    return type(plan)(
        plan.budget, unit, len(RELEASED), "repeated", Budget(0.1), choice, Stopping(one_in, shape)
    )


@pytest.mark.parametrize("unit", [UNITS[0], UNITS[2]], ids=lambda u: u.neighbours)
def test_the_best_of_runs_is_within_its_claim_on_all_neighbours(unit):
    """Exact chances of (candidate, noisy distance), which the release of the candidate alone is a part of."""
    plan = repeated_plan(unit)
    cache, worst = {}, 0.0
    for pair in neighbours(unit):
        one, two = (
            cache.setdefault(key, repeated_law(list(key), plan, plan.stopping))
            for key in (tuple(sorted(r)) for r in pair)
        )
        inside = (one > 1e-13) & (two > 1e-13)
        worst = max(worst, float(np.abs(np.log(one[inside] / two[inside])).max()))
    assert worst <= plan.stopping.pure_cost(plan.choice) + 1e-6
    assert worst > 1.2 * plan.choice  # more than one run: keeping the best is not free


@pytest.mark.parametrize("shape", [1, 0.5])
def test_the_best_of_runs_has_the_enumerated_law(shape):
    """Seeded; a right build fails with one seed in a million."""
    unit, rows, n = PrivacyUnit("add-remove"), [(0, 0), (0, 1)], 1200
    plan = repeated_plan(unit, choice=1.5, shape=shape)
    expected = repeated_law(rows, plan, plan.stopping).sum(axis=1)
    assert expected.sum() == pytest.approx(1, abs=1e-9)
    data = Plain(schema_of(SIZES), rows)
    seen = np.bincount(
        [
            select_candidate(data, constant_fits(unit), WORKLOAD, plan, seed=seed).position
            for seed in range(n)
        ],
        minlength=3,
    )
    assert stats.chisquare(seen, expected * n).pvalue > 1e-6
    assert stats.chisquare(seen, np.full(3, n / 3)).pvalue < 1e-6  # and is no blind pick


def test_each_once_has_the_law_of_the_choice():
    """Seeded; a right build fails with one seed in a million."""
    unit, rows, n = PrivacyUnit("add-remove"), [(0, 0), (0, 1)], 1500
    plan = plan_selection(Budget(30.0), unit, 3, way="each once")
    scores, scale = chosen(rows, unit, plan.choice)
    expected = permute_and_flip_probabilities(scores, scale) * n
    data = Plain(schema_of(SIZES), rows)
    seen = np.bincount(
        [
            select_candidate(data, constant_fits(unit), WORKLOAD, plan, seed=s).position
            for s in range(n)
        ],
        minlength=3,
    )
    assert stats.chisquare(seen, expected).pvalue > 1e-6


budgets = st.one_of(
    st.builds(Budget, st.floats(0.05, 20)),
    st.builds(Budget, st.floats(0.05, 20), st.floats(1e-12, 1e-4)),
    st.builds(Budget, st.floats(0.05, 20), st.floats(1e-12, 1e-4), st.just("zcdp")),
)


@settings(deadline=None, max_examples=60)
@given(
    budget=budgets,
    m=st.integers(1, 60),
    share=st.floats(0.01, 0.9),
    way=st.sampled_from([None, "each once", "repeated"]),
)
def test_a_plan_never_overspends(budget, m, share, way):
    plan = plan_selection(budget, UNITS[0], m, way=way, choice_share=share)
    ledger = plan.preview().ledger()
    for charge in plan.preview().charges():
        ledger.charge(charge)
    epsilon, delta = plan.budget.guarantee(*plan.budget.amounts(ledger.charges))
    assert epsilon <= budget.epsilon * (1 + 1e-8)
    assert delta <= (budget.delta or 0.0) * (1 + 1e-12)
    run = plan.fit_cost + plan.choice
    if plan.stopping is None:  # said anew, by hand
        assert m * plan.fit_cost + plan.choice <= plan.budget.total * (1 + 1e-9)
    elif budget.delta is None:
        assert 3 * run <= budget.epsilon * (1 + 1e-9)
    else:
        assert plan.stopping.zcdp_cost(run, budget.delta) <= budget.epsilon * (1 + 1e-9)
    assert plan.pure_fit.epsilon <= (plan.fit_cost if plan.pure else sqrt(2 * plan.fit_cost))


def test_the_cheaper_way_is_taken():
    # Pure, a tenth for the choice: 0.9 / m against 0.9 / 3. With a delta, at these numbers, from four candidates on, too.
    for m, way in (
        (1, "each once"),
        (2, "each once"),
        (3, "each once"),
        (4, "repeated"),
        (20, "repeated"),
    ):
        plan = plan_selection(Budget(1.0), UNITS[0], m)
        assert plan.way == way
        assert plan.fit_cost == pytest.approx(max(0.9 / m, 0.3), rel=1e-6)
    for m in (1, 2, 4, 8, 30):
        once, repeated = (
            plan_selection(Budget(1.0, 1e-9), UNITS[0], m, way=way).fit_cost
            for way in ("each once", "repeated")
        )
        assert plan_selection(Budget(1.0, 1e-9), UNITS[0], m).fit_cost == max(once, repeated)
        assert (repeated > once) == (m > 3)


@pytest.mark.parametrize("way", ["each once", "repeated"])
@pytest.mark.parametrize("budget", [Budget(2.0), Budget(2.0, 1e-6)], ids=["pure", "rho"])
def test_every_touch_is_charged_before_and_said_in_the_account(way, budget, monkeypatch):
    log = []
    unit = PrivacyUnit("add-remove")
    monkeypatch.setattr(
        "chaffinch.privacy.selection.Ledger", type("Logged", (Noted,), {"log": log})
    )
    plan = plan_selection(budget, unit, 3, way=way)
    data = Plain(schema_of(SIZES), [(0, 0), (1, 1)], log)
    selected = select_candidate(data, constant_fits(unit, log=log), WORKLOAD, plan, seed=3)
    kinds = [entry if isinstance(entry, str) else entry[0] for entry in log]
    assert kinds[0] == "charge"
    assert "rows" not in kinds
    for i, kind in enumerate(kinds):
        if (
            kind == "marginal"
        ):  # of the data: a charge stands before it, with nothing but other tables of the workload between
            assert [k for k in kinds[:i] if k != "marginal"][-1] == "charge"
    assert all(entry[1] == plan.fit for entry in log if isinstance(entry, tuple))
    assert len(selected.account.charges) == (4 if way == "each once" else 1)
    assert selected.account.spent <= plan.budget.total * (1 + 1e-9)
    epsilon, delta = selected.account.spent_guarantee
    assert epsilon <= 2.0 * (1 + 1e-8)
    assert delta <= (budget.delta or 0)
    assert bool(selected.candidates) == (way == "each once")


@pytest.mark.parametrize("way", ["each once", "repeated"])
def test_seeds_are_for_tests(way):
    unit, log = PrivacyUnit("add-remove"), []
    plan = plan_selection(Budget(3.0), unit, 3, way=way)
    data = Plain(schema_of(SIZES), [(0, 0), (1, 1)])
    first, second = (
        select_candidate(data, constant_fits(unit), WORKLOAD, plan, seed=11) for _ in range(2)
    )
    assert first.test_only
    assert first.account.sentence.startswith("TEST ONLY")
    assert first.position == second.position
    selected = select_candidate(data, constant_fits(unit, log=log, test_only=False), WORKLOAD, plan)
    assert not selected.test_only
    assert {entry[2] for entry in log} == {None}
    seeded = []
    select_candidate(data, constant_fits(unit, log=seeded), WORKLOAD, plan, seed=1)
    states = [entry[2].generate_state(2).tolist() for entry in seeded]
    assert len({tuple(state) for state in states}) == len(states)


def test_a_candidate_that_does_not_keep_to_the_plan_is_refused():
    unit, data = PrivacyUnit("add-remove"), Plain(schema_of(SIZES), [(0, 0)])
    plan = plan_selection(Budget(1.0), unit, 1)

    def choose(account, plan=plan, seed=1):
        return select_candidate(
            data,
            [lambda budget, _: Candidate(None, Plain(schema_of(SIZES), []), account)],
            WORKLOAD,
            plan,
            seed=seed,
        )

    assert choose(account_of(plan.fit, unit)).position == 0
    with pytest.raises(PrivacyError, match="more than the plan gives"):
        choose(account_of(Budget(1.0), unit))
    with pytest.raises(PrivacyError, match="another relation"):
        choose(account_of(plan.fit, PrivacyUnit("replace-one")))
    with pytest.raises(PrivacyError, match="fitted with a seed"):
        choose(account_of(plan.fit, unit), seed=None)
    with pytest.raises(PrivacyError, match="no account"):
        choose(None)
    with pytest.raises(PrivacyError, match="delta of its own"):
        choose(account_of(Budget(0.1, 1e-9, "pure"), unit))
    with pytest.raises(PrivacyError, match="more than the plan gives"):
        choose(account_of(Budget(0.01, 1e-9), unit))  # Gaussian noise has no pure epsilon
    gaussian = plan_selection(Budget(1.0, 1e-9), unit, 1)
    assert choose(account_of(gaussian.pure_fit, unit), gaussian).position == 0
    with pytest.raises(PrivacyError, match="more than the plan gives"):
        choose(account_of(Budget(gaussian.pure_fit.epsilon * 1.01), unit), gaussian)
    with pytest.raises(PrivacyError, match="delta of its own"):
        choose(account_of(Budget(0.1, 1e-9, reserved_delta=1e-10), unit), gaussian)


def test_bad_input_is_named_before_anything_is_charged():
    unit, data = PrivacyUnit("add-remove"), Plain(schema_of(SIZES), [(0, 0)])
    with pytest.raises(InputError, match="number of candidates"):
        plan_selection(Budget(1.0), unit, 0)
    with pytest.raises(InputError, match="Unknown way of selecting 'twice'"):
        plan_selection(Budget(1.0), unit, 2, way="twice")
    with pytest.raises(InputError, match="choice_share"):
        plan_selection(Budget(1.0), unit, 2, choice_share=1.0)
    with pytest.raises(InputError, match="not reserved"):
        plan_selection(Budget(1.0, 1e-6, "pure"), unit, 2)
    plan = plan_selection(Budget(1.0), unit, 3)
    with pytest.raises(InputError, match="plan is for 3 candidates"):
        select_candidate(data, constant_fits(unit)[:1], WORKLOAD, plan, seed=1)
    ledger = Ledger(Budget(1.0), unit)
    counter = PrivateCounter(data, ledger, Recorder())
    wide = Plain(schema_of((2, 3)), [])
    for workload, candidates, error, match in (
        ([], [data], InputError, "at least one clique"),
        ([("c0",)], [], InputError, "at least one released"),
        ([("c7",)], [data], InputError, "Unknown column 'c7'"),
        ([("c0", "c0")], [data], InputError, "different columns"),
        ([("c0",)], [wide], InputError, "columns and levels"),
    ):
        with pytest.raises(error, match=match):
            counter.select_candidate(workload, candidates, 0.1, why="test")
    large = schema_of((5000, 5000))
    with pytest.raises(TooLargeError, match="too many cells"):
        PrivateCounter(Plain(large, []), ledger, Recorder()).select_candidate(
            [("c0", "c1")], [Plain(large, [])], 0.1, why="test"
        )
    assert ledger.charges == ()
    with pytest.raises(BudgetError, match="exceeded"):
        counter.select_candidate([("c0",)], [data], 1.1, why="test")


def test_a_preview_touches_nothing_and_says_both_ways():
    once = plan_selection(Budget(1.0, 1e-9), UNITS[0], 6, way="each once")
    assert "Each of 6 candidates" in once.sentence
    assert len(once.preview().rows_table()) == 2
    repeated = plan_selection(Budget(1.0, 1e-9), UNITS[0], 6, way="repeated")
    assert "nothing else may be seen" in repeated.sentence
    plain = repeated.to_dict()
    assert plain["plan"]["steps"][0]["delta"] == 1e-9
    assert plain["tried"] >= 0.9
    assert log(plain["stopping"]["mean"]) > 0


def test_the_network_that_may_have_the_edge_is_chosen():
    """Whole fits: y repeats x, so a network without that edge is half of all records away. The wrong one would be chosen with a chance below e^-100."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, 2000)
    columns = tuple(Column(name, "categorical", levels=("no", "yes")) for name in ("x", "y", "z"))
    schema = Schema(columns, public=True)
    words = np.array(["no", "yes"])
    table = prepare(
        pa.table({"x": words[x], "y": words[x], "z": words[rng.integers(0, 2, 2000)]}), schema
    )
    unit = PrivacyUnit("add-remove")

    def fit_with(settings_of):
        def fit(budget, seed):
            model = settings_of(budget).fit(table, seed=seed)
            return Candidate(model, MemoryCounter(model.sample(2000, seed=1)), model.privacy)

        return fit

    fits = [
        fit_with(lambda b: BayesNet(forbid=APART, epsilon=b.epsilon, delta=b.delta)),
        fit_with(lambda b: BayesNet(epsilon=b.epsilon, delta=b.delta)),
    ]
    for budget in (Budget(8.0, 1e-6), Budget(8.0)):
        plan = plan_selection(budget, unit, 2)
        selected = select_candidate(
            MemoryCounter(table), fits, pairs_workload(table.schema), plan, seed=2
        )
        assert selected.position == 1
        assert selected.model.privacy.test_only
        assert [charge.mechanism for charge in selected.account.charges][-1] in (
            "exponential",
            "permute-and-flip",
        )


SHAPES = [Fraction(-1, 2), Fraction(0), Fraction(1, 2), Fraction(1)]


def law_of(stopping, most=60_000):
    """Return P(K = k) for k = 1, 2, ... from the definition, factor by factor."""
    g, h = 1 / stopping.one_in, float(stopping.shape)
    steps = np.arange(1, most)
    logs = np.concatenate([[0.0], np.cumsum(np.log((steps + h) / (steps + 1)) + np.log1p(-g))])
    weights = np.exp(logs)
    return weights / weights.sum()


def best_law(stopping, law):
    """Return the law of the best of K runs, outcomes in ascending order, by the series: sum over k of P(k) (Q(up to y)^k - Q(below y)^k)."""
    chances = law_of(stopping)
    upto = np.concatenate([[0.0], np.cumsum(law)])
    upto[-1] = 1.0
    powers = np.array([(chances * x ** np.arange(1, len(chances) + 1)).sum() for x in upto])
    return np.diff(powers)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("one_in", [2, 7, 40])
def test_mean_and_generating_function_are_those_of_the_series(one_in, shape):
    stopping = Stopping(one_in, shape)
    chances = law_of(stopping)
    k = np.arange(1, len(chances) + 1)
    assert stopping.mean == pytest.approx((chances * k).sum(), rel=1e-9)
    for x in (0.0, 0.3, 0.9, 1.0):
        assert stopping.generating(x) == pytest.approx((chances * x**k).sum(), abs=1e-12)
    assert stopping.tried(1) == 1
    assert stopping.tried(4) == pytest.approx(1 - (chances * 0.75**k).sum(), abs=1e-12)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_draws_have_the_law(shape):
    """Seeded; the p-value of a right sampler is below 1e-6 once in a million seeds."""
    stopping, n = Stopping(6, shape), 20_000
    rng = np.random.default_rng(5)
    below = lambda size: int(rng.integers(size))  # noqa: E731
    draws = np.array([stopping.draw(below) for _ in range(n)])
    expected = law_of(stopping) * n
    last = int(np.flatnonzero(expected >= 25)[-1])
    seen = np.bincount(np.minimum(draws, last + 2), minlength=last + 3)[1:]
    expected = np.append(expected[: last + 1], expected[last + 1 :].sum())
    assert stats.chisquare(seen, expected).pvalue > 1e-6
    other = law_of(Stopping(6, 1 if shape != 1 else 0)) * n  # and not another law
    assert (
        stats.chisquare(seen, np.append(other[: last + 1], other[last + 1 :].sum())).pvalue < 1e-6
    )


def test_draws_of_a_release_come_from_the_system():
    # 400 draws of mean 3, standard deviation sqrt(6): six errors of the mean, once in 500 million runs.
    draws = [Stopping(3).draw() for _ in range(400)]
    assert abs(np.mean(draws) - 3) < 6 * (6 / 400) ** 0.5


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("epsilon", [0.2, 1.0])
def test_pure_loss_is_two_and_the_shape_times_that_of_a_run(shape, epsilon):
    # Three outcomes. The top one is e^epsilon less likely on D, the middle one as much more, both rare: what is likely must make up for little.
    top, middle = 1e-3, 1e-7
    law = np.array(
        [
            1 - middle * exp(epsilon) - top * exp(-epsilon),
            middle * exp(epsilon),
            top * exp(-epsilon),
        ]
    )
    other = np.array([1 - middle - top, middle, top])
    assert np.abs(np.log(law / other)).max() <= epsilon * (1 + 1e-12)

    def exact(stopping, q):  # by the generating function: the series would need too many terms
        g, h = 1 / stopping.one_in, float(stopping.shape)
        above = np.append(np.cumsum(q[::-1])[::-1], 0.0)  # 1 - Q(below y)
        p = g + (1 - g) * above
        f = np.log(p) / log(g) if h == 0 else (p**-h - 1) / (g**-h - 1)
        return np.diff(f)

    claim = Stopping(2, shape).pure_cost(epsilon)
    worst = 0.0
    for one_in in (2, 10, 10**3, 10**6):
        stopping = Stopping(one_in, shape)
        losses = np.log(exact(stopping, law) / exact(stopping, other))
        worst = max(worst, float(np.abs(losses).max()))
        if one_in <= 10:
            np.testing.assert_allclose(
                exact(stopping, law)[[0, 2]], best_law(stopping, law)[[0, 2]], rtol=1e-7
            )
    assert worst <= claim
    assert worst >= 0.97 * claim


laws = st.lists(st.floats(0.01, 1.0), min_size=2, max_size=6)


@given(
    weights=laws,
    tilts=st.lists(st.floats(-1, 1), min_size=6, max_size=6),
    shape=st.sampled_from(SHAPES),
    one_in=st.integers(2, 500),
)
def test_no_law_of_a_run_loses_more(weights, tilts, shape, one_in):
    q = np.array(weights) / sum(weights)
    other = q * np.exp(tilts[: len(q)])
    other /= other.sum()
    epsilon = float(np.abs(np.log(q / other)).max())
    if epsilon < 1e-6:
        return
    stopping = Stopping(one_in, shape)
    best, best_other = (
        np.diff([stopping.generating(min(x, 1.0)) for x in np.append(0.0, np.cumsum(law))])
        for law in (q, other)
    )
    assert np.abs(np.log(best / best_other)).max() <= stopping.pure_cost(epsilon) + 1e-9


@pytest.mark.parametrize("shape", SHAPES[1:], ids=str)
@pytest.mark.parametrize(("rho", "one_in"), [(0.02, 20), (0.1, 8), (0.5, 50)])
def test_zcdp_cost_holds_for_noisy_scores(rho, one_in, shape):
    """A run of one discrete Gaussian number, moved by 1 up or down: exactly rho-zCDP at whole orders. The exact delta of the best is below the claim's."""
    stopping, sigma, delta = Stopping(one_in, shape), (1 / (2 * rho)) ** 0.5, 1e-5
    reach = int(14 * sigma) + 3
    z = np.arange(-reach, reach + 1)

    def best(centre):
        above = np.append(np.cumsum(gaussian_pmf(z - centre, sigma)[::-1])[::-1], 0.0)
        g, h = 1 / one_in, float(shape)
        p = g + (1 - g) * np.minimum(above, 1.0)
        return np.diff(np.log(p) / log(g) if h == 0 else (p**-h - 1) / (g**-h - 1))

    epsilon = stopping.zcdp_cost(rho, delta)
    for one, two in ((0, 1), (1, 0)):
        p, q = best(one), best(two)
        assert np.maximum(p - exp(epsilon) * q, 0).sum() <= delta
    assert epsilon > rho_to_epsilon(rho, delta)  # the best of many is dearer than one
    p, q = best(1), best(0)
    assert (
        np.maximum(p - exp(epsilon / 4) * q, 0).sum() > delta
    )  # and a quarter of the claim would be wrong


def test_zcdp_cost_holds_for_runs_that_are_worst_and_is_needed():
    """Rare outcomes: the top one less likely on one table, that below it more. What keeping the best costs beyond the best run is most of it here."""
    top, middle, delta = 0.01, 1e-4, 1e-3
    law = np.array([1 - middle * exp(1) - top * exp(-1), middle * exp(1), top * exp(-1)])
    other = np.array([1 - middle - top, middle, top])
    orders = 1 + np.geomspace(1e-3, 1e4, 3000)
    rho = max(  # the largest divergence over its order, both ways: peaks are wide, so that a fine grid is near
        float(
            (
                np.logaddexp.reduce(
                    orders[:, None] * np.log(p) + (1 - orders[:, None]) * np.log(q), axis=1
                )
                / (orders - 1)
                / orders
            ).max()
        )
        for p, q in ((law, other), (other, law))
    )
    stopping = Stopping(1000)
    g = 1 / 1000

    def best(q):
        p = g + (1 - g) * np.append(np.cumsum(q[::-1])[::-1], 0.0)
        return np.diff((1 / p - 1) / (1 / g - 1))

    claim = stopping.zcdp_cost(rho * 1.0001, delta)
    for p, q in ((best(law), best(other)), (best(other), best(law))):
        assert np.maximum(p - exp(claim) * q, 0).sum() <= delta
    worst = max(
        np.maximum(p - exp(0.65 * claim) * q, 0).sum()
        for p, q in ((best(law), best(other)), (best(other), best(law)))
    )
    assert worst > delta  # two thirds of the claim would be wrong
    alone = rho_to_epsilon(rho, delta)
    assert claim > 2 * alone


@given(
    epsilon=st.floats(0.01, 20),
    delta=st.floats(1e-12, 1e-3),
    one_in=st.integers(2, 1000),
    shape=st.sampled_from(SHAPES),
)
def test_what_is_affordable_is_within_the_budget_and_uses_it(epsilon, delta, one_in, shape):
    stopping = Stopping(one_in, shape)
    run = stopping.affordable_epsilon(epsilon)
    assert epsilon * (1 - 1e-9) <= stopping.pure_cost(run) <= epsilon
    rho = stopping.affordable_rho(epsilon, delta)
    assert epsilon * (1 - 1e-6) <= stopping.zcdp_cost(rho, delta) <= epsilon


@pytest.mark.parametrize("candidates", [1, 2, 9, 40])
@pytest.mark.parametrize("tried", [0.5, 0.9])
def test_the_fewest_runs_that_try_enough(candidates, tried):
    stopping = stopping_for(candidates, tried=tried)
    assert stopping.tried(candidates) >= tried
    if stopping.one_in > 2:
        assert Stopping(stopping.one_in - 1).tried(candidates) < tried
    # By hand for geometric numbers: (1 - g)/m over g + (1 - g)/m, and g of it where the first run hits.
    g = 1 / stopping.one_in
    assert stopping.tried(candidates) == pytest.approx(
        1 - g * (1 - 1 / candidates) / (g + (1 - g) / candidates)
    )


def test_bad_laws_are_named():
    with pytest.raises(InputError, match="one_in must be a whole number of at least 2"):
        Stopping(1)
    with pytest.raises(InputError, match="above -1 and at most 1"):
        Stopping(5, Fraction(-1))
    with pytest.raises(InputError, match="above -1 and at most 1"):
        Stopping(5, "many")
    with pytest.raises(InputError, match="far too many runs"):
        stopping_for(1000, tried=0.99, shape=Fraction(0))
    with pytest.raises(InputError, match="between 0 and 1"):
        stopping_for(10, tried=1.0)
    with pytest.raises(InputError, match="Got 0"):
        stopping_for(0)
