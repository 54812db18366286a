"""The private counter: what it answers, what it charges first, and that one person never moves an answer by more than it claims."""

from __future__ import annotations

import gc
import inspect
import math
import sys
import weakref
from functools import cache
from itertools import combinations, combinations_with_replacement, product

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from chaffinch._base.errors import BudgetError, ClosedError, InputError, PrivacyError, TooLargeError
from chaffinch.counts import Marginal, MemoryCounter
from chaffinch.privacy.counter import MOST_CELLS, PrivateCounter, sensitivity
from chaffinch.privacy.domain import declared_schema
from chaffinch.privacy.ledger import Budget, Ledger
from chaffinch.privacy.mechanisms import noise_of
from chaffinch.privacy.prepare import prepare
from chaffinch.privacy.relation import PrivacyUnit
from chaffinch.table import Column, Schema

from .conftest import exponential_probabilities, permute_and_flip_probabilities

ODDS = 1e-6
"""Statistical tests here fail once in a million runs if the code is right; those with a seed always pass or always fail."""

ADD, REPLACE = "add-remove", "replace-one"
UNITS = [PrivacyUnit(neighbours, m) for neighbours in (ADD, REPLACE) for m in (1, 2)]


def schema_of(sizes) -> Schema:
    columns = (
        Column(f"c{j}", "categorical", levels=tuple(range(size))) for j, size in enumerate(sizes)
    )
    return declared_schema(Schema(tuple(columns), public=True))


class Plain:
    """A counting engine in four lines, which notes every touch of the data."""

    def __init__(self, schema, rows, log=None):
        self.schema, self.held, self.log = (
            schema,
            [tuple(row) for row in rows],
            [] if log is None else log,
        )

    @property
    def n_rows(self):
        self.log.append("rows")
        return len(self.held)

    def marginals(self, cliques):
        out = []
        for clique in cliques:
            self.log.append("marginal")
            axes = [self.schema.names.index(name) for name in clique]
            counts = np.zeros([self.schema.sizes[a] for a in axes], dtype=np.int64)
            for row in self.held:
                counts[tuple(row[a] for a in axes)] += 1
            out.append(Marginal(tuple(clique), counts.shape, counts))
        return out


class Noted(Ledger):
    """A ledger that notes every charge in the same log as the touches."""

    log: list

    def charge(self, charge):
        super().charge(charge)
        self.log.append("charge")


class Recorder:
    """Noise that adds nothing, and remembers what it was given."""

    test_only = True

    def __init__(self):
        self.calls = []

    def laplace(self, values, scale):
        self.calls.append((np.array(values), scale))
        return values

    gaussian = laplace

    def exponential(self, scores, scale):
        self.calls.append((np.array(scores), scale))
        return int(np.argmax(scores))

    permute_and_flip = exponential


def opened(rows, sizes, unit=UNITS[0], budget=None, noise=None):
    return PrivateCounter(
        Plain(schema_of(sizes), rows),
        Ledger(budget or Budget(1e6), unit),
        noise_of(1) if noise is None else noise,
    )


def exact(rows, sizes, axes):
    counts = np.zeros([sizes[a] for a in axes], dtype=np.int64)
    for row in rows:
        counts[tuple(row[a] for a in axes)] += 1
    return counts


def some_rows(seed, sizes, n):
    rng = np.random.default_rng(seed)
    return [tuple(int(rng.integers(size)) for size in sizes) for _ in range(n)]


# The law of the noise


def laplace_law(z, unit, epsilon):
    """Each of m rows adds 1 to a cell, or moves 1: the scale is m / epsilon, or 2 m / epsilon."""
    a = math.exp(-epsilon / (unit.rows_per_person * (2 if unit.neighbours == REPLACE else 1)))
    return (1 - a) / (1 + a) * a ** np.abs(z)


def gaussian_law(z, unit, rho):
    """sigma^2 = L2^2 / (2 rho), where L2^2 is m^2, or 2 m^2 if m rows leave one cell for another."""
    variance = unit.rows_per_person**2 * (2 if unit.neighbours == REPLACE else 1) / (2 * rho)
    weights = np.exp(-(np.arange(-2000, 2001) ** 2) / (2 * variance))
    return np.exp(-(z**2) / (2 * variance)) / weights.sum()


def assert_law(noise, chance, expected_std, stated_std):
    """Pearson's chi-square over all values, far ones pooled; and the deviation that was stated is that of the law."""
    assert stated_std == pytest.approx(expected_std, rel=1e-6)
    noise = noise.ravel()
    values = np.arange(-2000, 2001)
    expected = chance(values) * noise.size
    inside = expected >= 10
    observed = np.array(
        [(noise == v).sum() for v in values[inside]] + [(~np.isin(noise, values[inside])).sum()]
    )
    expected = np.append(expected[inside], max(noise.size - expected[inside].sum(), 1e-9))
    statistic = ((observed - expected) ** 2 / expected).sum()
    assert stats.chi2.sf(statistic, len(observed) - 1) > ODDS


@pytest.mark.parametrize("unit", UNITS, ids=lambda u: f"{u.neighbours}-{u.rows_per_person}")
@pytest.mark.parametrize("pure", [True, False], ids=["laplace", "gaussian"])
def test_noise_in_every_declared_cell_has_the_stated_law(unit, pure):
    sizes, amount = (120, 150), 0.7 if pure else 0.05
    rows = some_rows(0, (2, 2), 40)  # all but four of the 18,000 cells are empty
    budget = Budget(1e3) if pure else Budget(1e3, 1e-6)
    counter = opened(rows, sizes, unit, budget, noise_of(3))
    (table,) = counter.tables([("c1", "c0")], [amount], why="test")
    assert table.counts.dtype == np.int64
    assert (table.columns, table.sizes, table.counts.shape, table.n_cells) == (
        ("c1", "c0"),
        (150, 120),
        (150, 120),
        18_000,
    )
    noise = table.counts - exact(rows, sizes, (1, 0))
    law = laplace_law if pure else gaussian_law
    z = np.arange(-2000, 2001)
    std = math.sqrt((law(z, unit, amount) * z**2).sum())
    assert_law(noise, lambda z: law(z, unit, amount), std, table.std)
    # The variance too, without the bins of the chi-square: a sum of 18,000 squares, of which the law gives mean and variance.
    fourth = (law(z, unit, amount) * z.astype(float) ** 4).sum()
    spread = math.sqrt((fourth - std**4) / noise.size)
    assert (
        abs((noise.astype(float) ** 2).mean() - std**2) < 5 * spread
    )  # a normal law leaves this once in 1.7 million
    (charge,) = counter.ledger.charges
    assert charge.mechanism == ("discrete Laplace" if pure else "discrete Gaussian")
    assert charge.cost("pure" if pure else "zcdp") == amount
    assert charge.what == "table of c1, c0"


@pytest.mark.parametrize("pure", [True, False], ids=["laplace", "gaussian"])
def test_noise_of_a_release_has_the_same_law(pure):
    """Unseeded: fails once in a million runs."""
    amount = 0.7 if pure else 0.05
    counter = opened([], (40, 50), UNITS[0], Budget(1e3) if pure else Budget(1e3, 1e-6), noise_of())
    assert not counter.test_only
    (table,) = counter.tables([("c0", "c1")], [amount], why="test")
    law = laplace_law if pure else gaussian_law
    z = np.arange(-2000, 2001)
    std = math.sqrt((law(z, UNITS[0], amount) * z**2).sum())
    assert_law(table.counts, lambda z: law(z, UNITS[0], amount), std, table.std)


def test_the_noise_does_not_shrink_with_the_rows():
    """The scale has no 1/n: it is that of counts."""
    for n in (0, 10, 1000):
        noise = Recorder()
        opened(some_rows(0, (2, 3), n), (2, 3), noise=noise).tables(
            [("c0", "c1")], [0.5], why="test"
        )
        assert noise.calls[0][1] == 2.0


def test_rows_with_noise():
    for unit in UNITS:
        noise = Recorder()
        counter = opened(some_rows(0, (2,), 17), (2,), unit, noise=noise)
        if unit.rows_per_person == 1 and unit.bounded:
            continue  # public then
        assert counter.rows(0.5, why="test") == 17
        # One person has at most m rows: exchanging them for none changes n by m.
        assert noise.calls[0][1] == unit.rows_per_person / 0.5
    drawn = [opened([], (2,), noise=noise_of(seed)).rows(0.01, why="test") for seed in range(40)]
    assert min(drawn) == 0
    assert max(drawn) > 10
    assert all(isinstance(n, int) for n in drawn)


# One person moves no answer by more than the noise is made for


def neighbours_of(sizes, unit, most):
    """Every pair of small neighbours: one person's rows more; or that person's rows for another's, of any number up to m."""
    cells = list(product(*map(range, sizes)))
    m = unit.rows_per_person
    persons = [p for k in range(m + 1) for p in combinations_with_replacement(cells, k)]
    for n in range(most + 1):
        for base in combinations_with_replacement(cells, n):
            if not unit.bounded:
                yield from (((*base, *p), base) for p in persons if p)
            else:
                alike = [p for p in persons if len(p) == 1] if m == 1 else persons
                yield from (((*base, *a), (*base, *b)) for a, b in combinations(alike, 2))


def asked(rows, sizes, unit, pure, ask):
    noise = Recorder()
    counter = opened(rows, sizes, unit, Budget(1e3) if pure else Budget(1e3, 1e-6), noise)
    ask(counter)
    return noise.calls


def claimed(scale, amount, pure):
    """The distance that a scale is made for: L1 = scale epsilon, L2 = sigma sqrt(2 rho)."""
    return scale * amount if pure else scale * math.sqrt(2 * amount)


def norm(difference, pure):
    d = np.abs(difference.astype(float)).ravel()
    return d.sum() if pure else math.sqrt((d**2).sum())


@pytest.mark.parametrize("unit", UNITS, ids=lambda u: f"{u.neighbours}-{u.rows_per_person}")
@pytest.mark.parametrize("pure", [True, False], ids=["L1", "L2"])
def test_distances_and_tables_move_by_at_most_what_is_claimed(unit, pure):
    amount, sizes = 0.3, (2, 3) if unit.rows_per_person == 1 else (2, 2)
    cliques, shapes = [("c0",), ("c1",), ("c0", "c1")], (sizes[:1], sizes[1:], sizes)
    rng = np.random.default_rng(5)
    models = [rng.random(shape) * 2 for shape in shapes]
    peaked = [
        np.where(np.arange(math.prod(shape)) == 0, 9.0, 0.0).reshape(shape) for shape in shapes
    ]

    def ask(counter):
        counter.distances(cliques, models, amount, why="test")
        counter.distances(cliques, peaked, amount, why="test")
        counter.tables([("c0", "c1")], [amount], why="test")

    answers = cache(lambda rows: asked(rows, sizes, unit, pure, ask))
    worst = [0.0, 0.0, 0.0]
    for one, other in neighbours_of(sizes, unit, 2 if unit.rows_per_person == 1 else 1):
        for i, (a, b) in enumerate(
            zip(answers(tuple(sorted(one))), answers(tuple(sorted(other))), strict=True)
        ):
            assert a[1] == b[1]  # the scale is public
            moved, most = norm(a[0] - b[0], pure), claimed(a[1], amount, pure)
            assert moved <= most * (1 + 1e-9)
            worst[i] = max(worst[i], moved / most)
    assert worst[1] > 0.99  # and the claim is not idle
    assert worst[2] == pytest.approx(1, rel=1e-9)


@pytest.mark.parametrize("unit", UNITS, ids=lambda u: f"{u.neighbours}-{u.rows_per_person}")
@pytest.mark.parametrize("pure", [True, False], ids=["epsilon", "rho"])
def test_picks_of_far_tables_move_by_at_most_what_is_claimed(unit, pure):
    """Two picks share an amount: each has epsilon = 2 D / scale, and in rho epsilon^2 / 8."""
    amount, sizes = 0.3, (2, 3) if unit.rows_per_person == 1 else (2, 2)
    cliques, shapes = [("c0",), ("c1",), ("c0", "c1")], (sizes[:1], sizes[1:], sizes)
    peaked = [
        np.where(np.arange(math.prod(shape)) == 0, 9.0, 0.0).reshape(shape) for shape in shapes
    ]
    answers = cache(
        lambda rows: asked(
            rows,
            sizes,
            unit,
            pure,
            lambda c: c.select_worst_fit(cliques, peaked, [0.3, 0.0, 1.5], 2, amount, why="test"),
        )
    )
    epsilon = amount / 2 if pure else math.sqrt(8 * amount / 2)
    worst = 0.0
    for one, other in neighbours_of(sizes, unit, 2 if unit.rows_per_person == 1 else 1):
        (a, scale), (b, same) = answers(tuple(sorted(one)))[0], answers(tuple(sorted(other)))[0]
        assert scale == same
        worst = max(worst, np.abs(a - b).max() / (scale * epsilon / 2))
    assert 0.99 < worst <= 1 + 1e-9


def test_far_tables_are_picked_one_after_the_other():
    """Distances 10, 5 and 0 of one column of ten records, with a handicap of 8 for the first: far ones win where noise is small."""
    rows, sizes = [(0,)] * 10, (2,)
    models = [np.array([0.0, 10.0]), np.array([5.0, 5.0]), np.array([10.0, 0.0])]
    counter = opened(rows, sizes)
    assert counter.select_worst_fit([("c0",)] * 3, models, [0.0] * 3, 2, 1e5, why="test") == [0, 1]
    assert counter.select_worst_fit([("c0",)] * 3, models, [8.0, 0.0, 0.0], 3, 1e5, why="test") == [
        1,
        0,
        2,
    ]
    assert counter.ledger.charges[0].what == "choice of 2 of 3 tables, one after the other"
    with pytest.raises(
        InputError, match=r"picks must be between 1 and the number of candidates, 3\. Got 4"
    ):
        counter.select_worst_fit([("c0",)] * 3, models, [0.0] * 3, 4, 1.0, why="test")
    # At rho 0.08 a pick has epsilon 0.8 and a sensitivity of 1/2: chances go as exp(0.8 distance), up to the grid's step.
    many, budget = 4000, Budget(1e6, 1e-6)
    rng = np.random.default_rng(4)
    firsts = [
        opened(rows, sizes, budget=budget, noise=noise_of(rng)).select_worst_fit(
            [("c0",)] * 2,
            [np.array([10.0, 1.0]), np.array([10.0, 0.0])],
            [0.0] * 2,
            1,
            0.08,
            why="test",
        )[0]
        for _ in range(many)
    ]
    chance = 1 / (1 + math.exp(0.8 * 0.5))
    assert abs(np.mean(firsts) - chance) < 5 * math.sqrt(chance * (1 - chance) / many)


@pytest.mark.parametrize("unit", UNITS, ids=lambda u: f"{u.neighbours}-{u.rows_per_person}")
@pytest.mark.parametrize("score", ["I", "R", "F"])
def test_scores_move_by_at_most_what_is_claimed(unit, score):
    sizes, epsilon, families = (2, 2), 0.5, [(0, (1,)), (1, (0,)), (0, ())]
    public = unit.bounded and unit.rows_per_person == 1

    @cache
    def answer(rows, n):
        return asked(
            rows,
            sizes,
            unit,
            True,
            lambda c: c.select(families, score, epsilon, rows=n, why="test"),
        )[0]

    worst = 0.0
    for one, other in neighbours_of(sizes, unit, 3 if unit.rows_per_person == 1 else 1):
        n = len(one) if public else 2
        (a, scale), (b, same) = (answer(tuple(sorted(rows)), n) for rows in (one, other))
        assert scale == same
        worst = max(
            worst, np.abs(a - b).max() / (scale * epsilon / 2)
        )  # the scale is 2 D / epsilon, D in steps
    assert 0.1 < worst <= 1 + 1e-9


# Distances and choices


def test_distances_are_half_the_l1_distance_with_noise():
    sizes, rows = (2, 3), some_rows(4, (2, 3), 30)
    model = np.full((2, 3), 5.0)
    gap = np.abs(exact(rows, sizes, (0, 1)) - model).sum() / 2
    values, std = opened(rows, sizes).distances([("c0", "c1")] * 3, [model] * 3, 1e5, why="test")
    assert values == pytest.approx([gap] * 3, abs=0.01)
    assert 0 < std < 0.01
    # 70 cliques, more than are held at once, each in its place; the deviation as stated, by the variance of 2,000 draws.
    many = 2000
    counter = opened(rows, sizes, noise=noise_of(8))
    values, std = counter.distances(
        [("c0", "c1"), ("c0",)] * (many // 2), _endless(model), 50.0, why="test"
    )
    own = np.array(
        [gap, np.abs(exact(rows, sizes, (0,)) - model.sum(axis=1)).sum() / 2] * (many // 2)
    )
    noise = (values - own) / std
    assert std == pytest.approx(math.sqrt(2) * 0.5 * many / 50, rel=0.01)
    assert abs((noise**2).mean() - 1) < 5 * math.sqrt(
        5 / many
    )  # the kurtosis of a Laplace law is 6
    assert counter.ledger.charges[0].what == "distances of 2,000 tables from the model"


def _endless(model):
    while True:
        yield model
        yield model.sum(axis=1)


def n_r(rows, child, parents, sizes):
    """n R by hand: half the L1 distance of the counts from those of independent columns."""
    counts = exact(rows, sizes, (*parents, child)).reshape(-1, sizes[child]).astype(float)
    return np.abs(counts - counts.sum(1, keepdims=True) * counts.sum(0) / len(rows)).sum() / 2


FAMILIES = [(0, (1,)), (2, (0, 1)), (2, (1,)), (0, (2,))]
SIZES = (2, 2, 3)


@pytest.mark.parametrize("mechanism", ["exponential", "permute-and-flip"])
@pytest.mark.parametrize("pure", [True, False], ids=["epsilon", "rho"])
def test_a_choice_has_the_exact_probabilities(mechanism, pure):
    rows = some_rows(6, SIZES, 25)
    unit, amount = PrivacyUnit(REPLACE), 1.5
    epsilon = amount if pure else math.sqrt((8 if mechanism == "exponential" else 2) * amount)
    scores = np.array([n_r(rows, child, parents, SIZES) for child, parents in FAMILIES])
    widest = max(
        sensitivity(
            "R",
            unit,
            rows=25,
            child_size=SIZES[c],
            parent_cells=math.prod(SIZES[p] for p in parents),
        )
        for c, parents in FAMILIES
    )
    assert widest == pytest.approx(
        3 * 24 / 25
    )  # 3 (n-1)/n, since one table has no side of two cells
    weights = np.exp(epsilon * scores / (2 * widest))
    ((steps, scale),) = asked(
        rows,
        SIZES,
        unit,
        pure,
        lambda c: c.select(FAMILIES, "R", amount, rows=25, why="test", mechanism=mechanism),
    )
    chances = exponential_probabilities(steps, scale)
    assert chances == pytest.approx(weights / weights.sum(), rel=1e-5)
    if mechanism == "permute-and-flip":
        chances = permute_and_flip_probabilities(steps, scale)
    rng, many = np.random.default_rng(2), 2000
    picked = []
    for _ in range(many // 100):  # the ledger adds up all charges each time
        counter = opened(
            rows, SIZES, unit, Budget(1e6) if pure else Budget(1e6, 1e-6), noise_of(rng)
        )
        picked += [
            counter.select(FAMILIES, "R", amount, rows=25, why="test", mechanism=mechanism)
            for _ in range(100)
        ]
    observed = np.bincount(picked, minlength=len(FAMILIES))
    assert stats.chisquare(observed, chances / chances.sum() * many).pvalue > ODDS
    assert counter.ledger.spent == pytest.approx(100 * amount)
    assert counter.ledger.charges[0].mechanism == mechanism


def test_a_choice_of_one_and_of_none():
    counter = opened(some_rows(0, SIZES, 5), SIZES)
    assert counter.select([(0, (1,))], "R", 1.0, rows=5, why="test") == 0
    with pytest.raises(InputError, match="at least one candidate"):
        counter.select([], "R", 1.0, rows=5, why="test")
    assert opened([], SIZES).select([(0, (1,))], "I", 1.0, rows=0, why="test") == 0


def test_a_count_of_rows_caps_the_information_under_add_remove():
    """min(n, N) I with N public: the score of a table with more rows than N is that of N rows like them."""
    rows = [(0, 0), (1, 1)] * 50
    noise = Recorder()
    opened(rows, (2, 2), noise=noise).select([(0, (1,)), (1, ())], "I", 1.0, rows=10, why="test")
    steps, scale = noise.calls[0]
    top = sensitivity("I", UNITS[0], rows=10, child_size=2, parent_cells=2)
    assert (steps[0] - steps[1]) / scale == pytest.approx(10 * math.log(2) / (2 * top), rel=1e-5)


# Charged before touched


def noted(rows=((0, 0), (1, 2)), budget=None):
    log = []
    ledger = Noted(budget or Budget(1.0), UNITS[0])
    ledger.log = log
    counter = PrivateCounter(Plain(schema_of((2, 3)), rows, log), ledger, noise_of(1))
    assert log == []  # opening touches nothing
    return counter, log


ASKS = {
    "rows": lambda c, amount: c.rows(amount, why="test"),
    "tables": lambda c, amount: c.tables([("c0",), ("c1",)], [amount / 2] * 2, why="test"),
    "select": lambda c, amount: c.select([(0, (1,)), (1, (0,))], "R", amount, rows=2, why="test"),
    "distances": lambda c, amount: c.distances(
        [("c0", "c1")], [np.ones((2, 3))], amount, why="test"
    ),
    "select_worst_fit": lambda c, amount: c.select_worst_fit(
        [("c0",), ("c1",)], [np.ones(2), np.ones(3)], [0, 0], 2, amount, why="test"
    ),
    "select_candidate": lambda c, amount: c.select_candidate(
        [("c0",), ("c1",)], [Plain(c.schema, [(0, 0)]), Plain(c.schema, [])], amount, why="test"
    ),
    "workload_distance": lambda c, amount: c.workload_distance(
        [("c0", "c1")], Plain(c.schema, [(0, 0)]), amount, why="test"
    ),
}


@pytest.mark.parametrize("ask", ASKS)
def test_charged_before_touched(ask):
    counter, log = noted()
    ASKS[ask](counter, 0.5)
    assert log[0] == "charge"
    assert len([entry for entry in log if entry != "charge"]) > 0
    if ask == "tables":
        assert log == ["charge", "charge", "marginal", "marginal"]  # all of them before any


@pytest.mark.parametrize("ask", ASKS)
def test_what_there_is_no_budget_for_touches_nothing(ask):
    counter, log = noted()
    with pytest.raises(BudgetError, match="nothing was touched"):
        ASKS[ask](counter, 2.5)
    assert log == []
    assert counter.ledger.spent == 0
    with pytest.raises((InputError, BudgetError)):
        ASKS[ask](counter, 0.0)
    assert log == []


def test_a_table_too_large_is_refused_before_any_charge():
    assert MOST_CELLS < 300**3
    wide = PrivateCounter(
        Plain(schema_of((300, 300, 300)), []), Ledger(Budget(1.0), UNITS[0]), noise_of(1)
    )
    with pytest.raises(TooLargeError, match="The table of c0, c1, c2 has too many cells"):
        wide.tables([("c1",), ("c0", "c1", "c2")], [0.5, 0.5], why="test")
    assert wide.ledger.charges == ()


# Closed


@pytest.mark.parametrize("ask", ASKS)
def test_nothing_can_be_asked_after_the_end(ask):
    counter, log = noted()
    with counter:
        ASKS[ask](counter, 0.25)
    log.clear()
    assert counter.closed
    with pytest.raises(ClosedError, match="closed"):
        ASKS[ask](counter, 0.25)
    with pytest.raises(ClosedError, match="closed"):
        counter.check_rows(2)
    assert log == []


def test_the_data_are_let_go_and_the_callers_table_still_works():
    schema = Schema((Column("a", "categorical", levels=("x", "y")),), public=True)
    table = prepare(pa.table({"a": ["x", "y", "y"]}), schema)
    own = MemoryCounter(table)
    counter = PrivateCounter(own, Ledger(Budget(1.0), UNITS[0]), noise_of(1))
    counter.close()
    assert own.marginals([("a",)])[0].counts.tolist() == [1, 2]
    assert table.n_rows == 3
    alive = weakref.ref(own)
    del own
    gc.collect()
    assert alive() is None  # neither the counter, nor its scores, nor its ledger holds on to it
    assert counter.schema.names == ("a",)


def test_no_attribute_tells_what_was_not_paid_for():
    counter = opened(some_rows(0, SIZES, 9), SIZES)
    public = {name for name in dir(counter) if not name.startswith("_")}
    assert public == {
        *(
            "check_rows",
            "close",
            "closed",
            "select_candidate",
            "distances",
            "select_worst_fit",
            "ledger",
            "pure",
        ),
        *("rows", "schema", "select", "tables", "test_only", "unit", "workload_distance"),
    }
    for name in ("n_rows", "marginals", "table", "counter"):
        assert not hasattr(counter, name)
    assert "9" not in repr(counter).partition(" object at ")[0]


def test_the_number_of_rows_is_compared_only_where_it_is_public():
    with pytest.raises(PrivacyError, match="private under this relation"):
        opened([(0,)], (2,), PrivacyUnit(ADD)).check_rows(1)
    with pytest.raises(PrivacyError, match="private under this relation"):
        opened([(0,)], (2,), PrivacyUnit(REPLACE, 2)).check_rows(1)
    counter = opened([(0,)] * 5, (2,), PrivacyUnit(REPLACE))
    counter.check_rows(5)
    with pytest.raises(PrivacyError, match="rows = 6, but the table has another number") as caught:
        counter.check_rows(6)
    assert "5" not in str(caught.value)
    assert counter.ledger.charges == ()


# Refused


def test_codes_that_were_fitted_to_data_are_refused(coded):
    with pytest.raises(PrivacyError, match=r"chaffinch\.prepare"):
        PrivateCounter(
            MemoryCounter(coded([[0, 1], [1, 0]], [2, 2])),
            Ledger(Budget(1.0), UNITS[0]),
            noise_of(1),
        )


def test_a_weighted_counter_is_refused():
    """One record moves a weighted count by its weight, and no noise here is made for that."""
    schema = Schema(
        (
            Column("a", "categorical", levels=("x", "y")),
            Column("w", "integer", bounds=(0, 2000), role="weight"),
        ),
        public=True,
    )
    table = prepare(pa.table({"a": ["x", "y"], "w": [1000, 1]}), schema)
    with pytest.raises((PrivacyError, InputError)):
        PrivateCounter(
            MemoryCounter(table, weight="w"), Ledger(Budget(1.0), UNITS[0]), noise_of(1)
        ).tables([("a",)], [1.0], why="test")


def test_every_choice_asks_the_budget_for_its_epsilon():
    """What an amount buys hangs on the accounting and on what is left: a formula of its own beside a draw would be a hole."""
    source = inspect.getsource(sys.modules[PrivateCounter.__module__])
    assert source.count("self._noise.exponential") == source.count("budget.choice_epsilon(") > 0
