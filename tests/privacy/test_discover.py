"""Private discovery: privacy loss by enumeration, sensitivities by brute force, and answers that make sense."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations_with_replacement, product

import numpy as np
import pyarrow as pa
import pytest

import chaffinch
from chaffinch._base.errors import BudgetError, PrivacyError
from chaffinch.privacy.accounting import gaussian_delta
from chaffinch.privacy.discover import (
    CLASSES,
    KINDS_SHARE,
    NoiseLaw,
    as_words,
    cell_classes,
    discover,
    gaussian_tail,
    kind_from_counts,
    laplace_tail,
    noise_law,
    planned_discoveries,
    planned_kinds,
    private_bounds,
    private_quantiles,
    stable_levels,
    threshold,
    with_decimals,
)
from chaffinch.privacy.domain import declared_schema
from chaffinch.privacy.ledger import Budget, Charge
from chaffinch.privacy.mechanisms import gaussian_log_law, noise_of
from chaffinch.privacy.prepare import open_cells, prepare
from chaffinch.privacy.relation import PrivacyUnit
from chaffinch.privacy.session import plan_budget, start_private_session
from chaffinch.privacy.tallies import bound_counts, bound_grid
from chaffinch.table import Column, Schema, schema_text

PURE = Budget(1.0, 1e-6, "pure")
UNITS = [
    PrivacyUnit(neighbours, m) for neighbours in ("add-remove", "replace-one") for m in (1, 2, 3)
]


class Recorder:
    """Noise that adds nothing, and remembers the counts it was given and the scale."""

    test_only = True

    def __init__(self):
        self.calls = []

    def laplace(self, values, scale):
        self.calls.append((values.copy(), scale))
        return values

    gaussian = laplace


def laplace(unit, epsilon):
    return NoiseLaw("laplace", unit.l1 / epsilon)


def pmf(z, scale):
    a = math.exp(-1 / scale)
    return (1 - a) / (1 + a) * a ** abs(z)


@pytest.mark.parametrize("scale", [0.3, 1.0, 7.0])
def test_the_tail_is_the_sum_of_the_probabilities(scale):
    for t in range(-6, 7):
        assert laplace_tail(t, scale) == pytest.approx(
            sum(pmf(z, scale) for z in range(t, 600)), abs=1e-12
        )


@pytest.mark.parametrize("sigma", [0.4, 1.0, 7.3, 150.0])
def test_the_gaussian_tail_is_a_bound_and_a_close_one(sigma):
    z = np.arange(-40 * math.ceil(sigma), 40 * math.ceil(sigma) + 1)
    upper = np.cumsum(np.exp(gaussian_log_law(z, sigma))[::-1])[::-1]
    for t in (math.ceil(sigma + 0.5), math.ceil(3 * sigma + 1), math.ceil(6 * sigma + 1)):
        exact = upper[z == t][0]
        assert exact <= gaussian_tail(t, sigma)
        if sigma > 5:
            assert gaussian_tail(t, sigma) < (1 + 2 / sigma) * exact
    assert gaussian_tail(math.floor(sigma), sigma) == 1.0


def exact_tail(t, law):
    """P(Z >= t), by a sum for Gaussian noise."""
    if law.kind == "laplace":
        return laplace_tail(t, law.scale)
    z = np.arange(t, t + 40 * math.ceil(law.scale))
    return float(np.exp(gaussian_log_law(z, law.scale)).sum())


def released(counts, law, at):
    """The chance of each set of released words, by enumeration: words that do not occur are never released."""
    chances = {word: exact_tail(at - n, law) for word, n in counts.items() if n}
    out = {}
    for kept in product([False, True], repeat=len(chances)):
        chance = math.prod(
            p if keep else 1 - p for keep, p in zip(kept, chances.values(), strict=True)
        )
        out[frozenset(word for word, keep in zip(chances, kept, strict=True) if keep)] = chance
    return out


def worst_delta(unit, epsilon, law, at):
    """The largest hockey-stick divergence over all small neighbours: three words, each with 0 or 4 records of others."""
    rows = [
        r for k in range(unit.rows_per_person + 1) for r in combinations_with_replacement("uvw", k)
    ]
    worst = 0.0
    for base in product([0, 4], repeat=3):
        laws = [
            released({w: n + r.count(w) for w, n in zip("uvw", base, strict=True)}, law, at)
            for r in rows
        ]
        for i, one in enumerate(laws):
            for j, two in enumerate(laws):
                if i != j and (
                    unit.bounded or 0 in (i, j)
                ):  # rows[0] is the person who is not there
                    excess = sum(
                        max(0.0, p - math.exp(epsilon) * two.get(s, 0.0)) for s, p in one.items()
                    )
                    worst = max(worst, excess)
    return worst


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.description)
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-3), (0.3, 0.02), (4.0, 1e-6)])
def test_stable_histogram_costs_what_it_says(unit, epsilon, delta):
    """Over every small pair of neighbours delta is kept at the threshold, and broken one below: the threshold is exact."""
    law = laplace(unit, epsilon)
    at = threshold(unit, law, delta=delta)
    assert worst_delta(unit, epsilon, law, at) <= delta
    assert worst_delta(unit, epsilon, law, at - 1) > delta


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.description)
@pytest.mark.parametrize("delta", [1e-3, 0.02])
def test_a_stable_histogram_with_gaussian_noise_costs_what_it_says(unit, delta):
    """At every epsilon: the exact delta of the noise, and that of words of one person alone; one below the threshold is too much."""
    sigma, mu = 3.0 * unit.l2_up, 1 / 3
    law = NoiseLaw("gaussian", sigma)
    at = threshold(unit, law, delta=delta)
    for epsilon in (0.2, 0.5, 1.0, 2.0):
        assert worst_delta(unit, epsilon, law, at) <= gaussian_delta(mu, epsilon) + delta
    assert (
        worst_delta(unit, 30.0, law, at) <= delta
    )  # the chance that something is released which the other table lacks
    assert worst_delta(unit, 30.0, law, at - 1) > 0.8 * delta
    assert worst_delta(unit, 30.0, law, at - 1 - unit.rows_per_person) > delta


def test_thresholds_that_discovery_asks_for():
    """At epsilon 1, delta 1e-6 and a tenth of the budget: a third of what Laplace noise of the same rho asked for."""
    unit, budget = PrivacyUnit("add-remove"), Budget(1.0, 1e-6, reserved_delta=1e-7)
    for columns, before, after in ((1, 206, 72), (33, 1470, 451)):
        rho, delta = 0.1 * budget.total / columns, 1e-7 / columns
        paid = Charge("levels", "discover = true", rho=rho, delta=delta, mechanism="", noise="")
        law = noise_law(budget, unit, paid)
        assert law.scale == pytest.approx((2 * rho) ** -0.5, rel=1e-3)
        assert threshold(unit, law, delta=delta) == pytest.approx(after, rel=0.02)
        assert threshold(unit, laplace(unit, (2 * rho) ** 0.5), delta=delta) > 0.9 * before


def test_opendp_asks_for_a_threshold_no_lower():
    """OpenDP's own map for Gaussian noise and a threshold, on counts of words, one row a person: the same rho; its delta is ours or more.

    Its sum over words is for any number of keys that a person may add: here one.
    """
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    unit, sigma, delta = PrivacyUnit("add-remove"), 12.0, 1e-6
    at = threshold(unit, NoiseLaw("gaussian", sigma), delta=delta)
    space = (
        dp.map_domain(dp.atom_domain(T="String"), dp.atom_domain(T="i64")),
        dp.l02inf_distance(dp.absolute_distance(T="i64")),
    )
    for t, fits in ((at, True), (at - 1, False)):
        rho, chance = dp.m.make_gaussian_threshold(*space, scale=sigma, threshold=t).map((1, 1, 1))
        assert rho == pytest.approx(0.5 / sigma**2)
        assert (chance <= delta) is fits


def test_many_rows_fall_on_one_word_or_on_many():
    # Small epsilon: m new words are m chances. Large epsilon: one word of m rows is nearer to the threshold.
    few, many = PrivacyUnit("add-remove", 1), PrivacyUnit("add-remove", 5)
    assert threshold(many, laplace(many, 0.1), delta=1e-6) > 5 * (
        threshold(few, laplace(few, 0.1), delta=1e-6) - 1
    )
    at = threshold(many, laplace(many, 50.0), delta=1e-6)
    assert laplace_tail(at - 5, 5 / 50.0) <= 1e-6 < laplace_tail(at - 6, 5 / 50.0)


def test_levels_come_sorted_and_only_common_ones():
    """Counts 500 over the threshold fail to show, and single ones to hide, far less than once in a million."""
    for unit in UNITS:
        counts = {"w": 5000, "b": 4000, "a": 3000, **{f"rare{i}": 1 for i in range(50)}}
        assert stable_levels(counts, noise_of(3), unit, laplace(unit, 0.5), delta=1e-9) == (
            "a",
            "b",
            "w",
        )
        normal = NoiseLaw("gaussian", 100.0)
        assert stable_levels(counts, noise_of(3), unit, normal, delta=1e-9) == ("a", "b", "w")
    assert stable_levels({}, noise_of(1), UNITS[0], laplace(UNITS[0], 1.0), delta=1e-9) == ()
    recorder = Recorder()
    stable_levels(
        {"b": 2, "a": 1},
        recorder,
        PrivacyUnit("replace-one", 3),
        NoiseLaw("gaussian", 12.0),
        delta=1e-3,
    )
    assert recorder.calls[0][0].tolist() == [1, 2]
    assert recorder.calls[0][1] == 12.0
    for delta in (0.0, 1.0, math.nan):
        with pytest.raises(PrivacyError, match="must"):
            stable_levels({"a": 1}, noise_of(1), UNITS[0], laplace(UNITS[0], 1.0), delta=delta)


def bounds_of_numbers(numbers, noise, law, *, integral):
    counts = bound_counts(numbers, bound_grid(integral))
    return private_bounds(counts, noise, law, integral=integral, grid=None)


def bounds_of(numbers, noise, unit):
    return bounds_of_numbers(
        np.array(numbers, dtype=np.float64), noise, laplace(unit, 0.5), integral=False
    )


def quantiles_of(numbers, noise, unit):
    return private_quantiles(
        np.array(numbers, dtype=np.float64), (-1.0, 1.0), [0.5], noise, laplace(unit, 0.5)
    )


@pytest.mark.parametrize("unit", UNITS[:2] + UNITS[3:5], ids=lambda unit: unit.description)
@pytest.mark.parametrize("ask", [bounds_of, quantiles_of])
def test_sensitivity_by_brute_force(ask, unit):
    """Over all pairs of neighbours of few numbers: counts differ by at most l1, some by l1, and the scale is l1 / epsilon."""
    values = (-np.inf, -0.7, 0.0, 3.0, 1e300)
    rows = [
        r for k in range(unit.rows_per_person + 1) for r in combinations_with_replacement(values, k)
    ]
    worst, lengths = 0, set()
    for others in combinations_with_replacement(values, 2):
        given = []
        for person in rows:
            noise = Recorder()
            ask([*others, *person], noise, unit)
            ((counts, scale),) = noise.calls
            assert scale == unit.l1 / 0.5
            given.append(counts)
            lengths.add(len(counts))
        for i, one in enumerate(given):
            for j, two in enumerate(given):
                if unit.bounded or 0 in (i, j):
                    worst = max(worst, int(np.abs(one - two).sum()))
    assert worst == unit.l1
    assert len(lengths) == 1  # the cells are public


def test_bounds_hold_the_bulk_and_no_outlier():
    """5,000 numbers a cell against noise of scale 4: fails far less than once in a million."""
    rng = np.random.default_rng(1)
    for unit in UNITS[:2] + UNITS[3:5]:
        for low, high, wanted in (
            (17, 90, (10.0, 99.0)),
            (0, 1, (0.0, 1.0)),
            (-40, 3, (-50.0, 4.0)),
            (1, 1, (1.0, 2.0)),
        ):
            numbers = np.append(rng.integers(low, high + 1, 100_000), [10**12, -(10**12)])
            assert (
                bounds_of_numbers(numbers, noise_of(2), laplace(unit, 1.0), integral=True) == wanted
            )
    numbers = np.append(rng.random(50_000) * 0.29 + 0.01, [np.inf, -np.inf])
    assert bounds_of_numbers(numbers, noise_of(2), laplace(UNITS[0], 1.0), integral=False) == (
        0.01,
        0.5,
    )
    assert bounds_of_numbers(np.empty(0), noise_of(2), laplace(UNITS[0], 1.0), integral=True) == (
        0.0,
        1.0,
    )


def test_false_alarms_are_as_rare_as_stated():
    """No records, 400 seeds: wider bounds than none in about one of a hundred; 17 or more once in a million (binomial)."""
    for law in (NoiseLaw("laplace", 10.0), NoiseLaw("gaussian", 10.0)):
        alarms = sum(
            bounds_of_numbers(np.empty(0), noise_of(seed), law, integral=True) != (0.0, 1.0)
            for seed in range(400)
        )
        assert alarms < 17


def test_quantiles_are_near_the_exact_ones():
    """Noise of scale 4 in 256 cells moves a rank by 90 records in a standard deviation; six of those and a cell are allowed."""
    numbers = np.random.default_rng(3).exponential(1.0, 40_000)
    shares = [0.1, 0.25, 0.5, 0.75, 0.9]
    for unit in (UNITS[0], UNITS[3]):
        edges = private_quantiles(numbers, (0.0, 8.0), shares, noise_of(5), laplace(unit, 0.5))
        assert (edges[0], edges[-1], len(edges)) == (0.0, 8.0, 7)
        for share, edge in zip(shares, edges[1:-1], strict=True):
            assert abs((numbers < edge).mean() - share) < 6 * 91 / 40_000 + 8 / 256
    whole = private_quantiles(
        np.repeat(np.arange(10), 1000),
        (0.0, 9.0),
        [0.3, 0.5],
        noise_of(5),
        laplace(UNITS[0], 5.0),
        integral=True,
    )
    assert whole[0] == 0.0
    assert whole[-1] == 9.0
    assert all(edge == int(edge) for edge in whole)
    empty = private_quantiles(np.empty(0), (0.0, 1.0), [0.5], Recorder(), laplace(UNITS[0], 1.0))
    assert empty == (0.0, 0.5, 1.0)


SCHEMA = Schema(
    (
        Column("job", "categorical", discover=True, missing=("NA",)),
        Column("grade", "categorical", type="int64", discover=True),
        Column("age", "integer", discover=True, bins=5, missing=(999,)),
        Column("pay", "float", discover=True, binning="width"),
        Column("born", "date", discover=True, binning="width"),
        Column("ill", "boolean", discover=True),
        Column("size", "integer", bounds=(0, 9)),
    ),
    public=True,
)


def some_table(odd=False):
    n = 20_000
    rng = np.random.default_rng(1)
    words = {
        "job": rng.choice(["baker", "smith", "NA"], n),
        "grade": rng.choice(["1", "2.0"], n),
        "age": rng.integers(20, 80, n),
        "pay": rng.integers(1000, 1999, n),
        "born": rng.choice(["1985-03-01", "1992-07-30"], n),
        "ill": rng.choice(["true", "false"], n),
        "size": rng.integers(0, 9, n),
    }
    cells = {name: [str(x) for x in values] for name, values in words.items()}
    if odd:
        for name, cell in {
            "job": "canary",
            "grade": "7731",
            "age": "10000000",
            "pay": "-1e9",
            "born": "1807-01-01",
        }.items():
            cells[name].append(cell)
        cells["ill"].append("canary")
        cells["size"].append("canary")
    return pa.table(cells)


@pytest.mark.parametrize(
    "budget",
    [Budget(1.0, 1e-6, "pure"), Budget(2.0, 2e-6, reserved_delta=1e-6)],
    ids=["pure", "gaussian"],
)
def test_discovery_charges_first_and_finds_what_is_there(budget):
    """Thousands of records for each answer against noise of scale below 100: fails far less than once in a million."""
    charges = []
    cells = open_cells(some_table(odd=True), SCHEMA)

    planned = planned_discoveries(SCHEMA, budget, budget.total)
    found = discover(
        cells, SCHEMA, planned, noise_of(4), budget, PrivacyUnit("add-remove"), charges.append
    )
    assert found["job"].levels == ("baker", "smith")
    assert found["grade"].levels == (1, 2)
    assert found["job"].other
    assert found["age"].edges[0] == 20
    assert found["age"].edges[-1] == 99
    assert 4 <= len(found["age"].edges) <= 6
    assert found["pay"].bounds == (1000.0, 2000.0)
    assert found["born"].bounds == (15 * 365 + 4.0, 23 * 365 + 6 - 1.0)  # 1985-01-01 to 1992-12-31
    assert found["ill"] == SCHEMA["ill"]
    assert not any(column.discover for column in found if column.name != "ill")
    assert charges == [charge for discovery in planned for charge in discovery.charges]
    assert [charge.what for charge in charges] == [
        "levels of 'job'",
        "levels of 'grade'",
        "bounds of 'age'",
        "quantiles of 'age'",
        "bounds of 'pay'",
        "bounds of 'born'",
    ]
    law = "discrete Laplace" if budget.kind == "pure" else "discrete Gaussian"
    assert all(charge.why == "discover = true" and law in charge.mechanism for charge in charges)
    assert sum(charge.cost(budget.kind) for charge in charges) == pytest.approx(budget.total)
    assert sum(charge.delta for charge in charges) == pytest.approx(1e-6)
    table = prepare(cells, found)
    assert table.schema.sealed
    text = schema_text(table.schema)
    assert not any(canary in text for canary in ("canary", "7731", "10000000", "1807"))


def test_missing_codes_of_text_are_no_levels(tmp_path):
    (tmp_path / "d.csv").write_text("job,size\n" + "NA,1\nbaker,1\n baker,2\n(other),2\n" * 500)
    schema = replace(SCHEMA, columns=(SCHEMA["job"], SCHEMA["size"]))
    cells = open_cells(tmp_path / "d.csv", schema)
    planned = planned_discoveries(schema, PURE, 1.0)
    found = discover(
        cells, schema, planned, noise_of(1), PURE, PrivacyUnit("add-remove"), lambda _: None
    )
    assert found["job"].levels == ("baker",)
    assert prepare(cells, found).code("job")[:4].tolist() == [2, 0, 0, 1]


def test_a_refused_charge_touches_nothing():
    class Untouchable:
        test_only = True

        def __getattr__(self, name):
            raise AssertionError("noise was drawn")

    def refuse(*_):
        raise BudgetError("no")

    cells = open_cells(some_table(), SCHEMA)
    poisoned = replace(cells, columns={})
    planned = planned_discoveries(SCHEMA, PURE, 1.0)
    with pytest.raises(BudgetError):
        discover(poisoned, SCHEMA, planned, Untouchable(), PURE, PrivacyUnit("add-remove"), refuse)
    with pytest.raises(PrivacyError, match=r"job: levels .*delta above 0.*grade"):
        planned_discoveries(SCHEMA, Budget(1.0), 1.0)
    numbers = replace(SCHEMA, columns=SCHEMA.columns[5:])  # nothing to discover: nothing is charged
    assert planned_discoveries(numbers, Budget(1.0), 1.0) == ()
    assert (
        discover(cells, numbers, (), Untouchable(), PURE, PrivacyUnit("add-remove"), refuse)
        == numbers
    )


def test_nothing_found_is_still_a_domain():
    cells = open_cells(some_table().slice(0, 0), SCHEMA)
    planned = planned_discoveries(SCHEMA, PURE, 0.5)
    found = discover(
        cells, SCHEMA, planned, noise_of(4), PURE, PrivacyUnit("replace-one", 2), lambda _: None
    )
    assert found["job"].levels == ("(other)",)
    sealed = declared_schema(found)
    assert all(size >= 1 for size in sealed.sizes)
    assert prepare(cells, found).n_rows == 0


OPEN = Column("a", "unknown", discover=True)
CELLS = {
    "empty": ["", "  ", None],
    "whole": ["1", "-3", "+7", "4.", "2.00", "9" * 400],
    "fraction": ["1.5", ".5", "1e3", "-2.5E-3"],
    "date": ["2020-01-02", "2020-01-02 00:00:00"],
    "moment": ["2020-01-02T10:00", "2020-01-02 10:00:01.5+01:00"],
    "truth": ["true", "FALSE"],
    "word": ["a", "1,5", "1.5.2", "nan", "2020-1-2", "1 2", "\ufffd"],
}


@pytest.mark.parametrize("name", CELLS)
def test_the_class_of_a_cell_is_its_own(name):
    cells = pa.array(CELLS[name], pa.large_string())
    together = cell_classes(
        OPEN, pa.concat_arrays([cells, pa.array(["x", "1", None], pa.large_string())])
    )
    assert [CLASSES[code] for code in together[: len(cells)]] == [name] * len(cells)
    for i in range(len(cells)):
        assert cell_classes(OPEN, cells[i : i + 1])[0] == together[i]


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (pa.array([1, None, 2**62]), ["whole", "empty", "whole"]),
        (pa.array([1.0, float("nan"), 0.5]), ["whole", "empty", "fraction"]),
        (pa.array([True, None]), ["truth", "empty"]),
        (pa.array([0, 1], pa.date32()), ["date", "date"]),
        (pa.array([0, 3600], pa.timestamp("s")), ["date", "moment"]),
        (pa.array([b"\xff", b"12"]), ["word", "whole"]),
        (pa.nulls(2), ["empty", "empty"]),
    ],
)
def test_how_values_are_stored_does_not_matter(values, names):
    assert [CLASSES[code] for code in cell_classes(OPEN, values)] == names


def test_declared_missing_codes_and_decimal_commas():
    cells = pa.array(["1,5", "NA", "99", "1.5"])
    column = replace(OPEN, decimal=",", missing=("NA", 99))
    assert [CLASSES[code] for code in cell_classes(column, cells)] == [
        "fraction",
        "empty",
        "empty",
        "word",
    ]


@pytest.mark.parametrize(
    ("counts", "kind"),
    [
        ([0, 100, 0, 0, 0, 0, 0], ("integer", False)),
        ([50, 100, 30, 0, 0, 0, 0], ("float", True)),
        ([0, 100, 0, 0, 0, 0, 5], ("integer", False)),  # a few words are read as missing ...
        ([0, 500, 0, 0, 0, 0, 20], ("integer", True)),
        ([0, 100, 0, 0, 0, 0, 20], ("categorical", False)),  # ... more make it a column of words
        ([0, 50, 0, 50, 0, 0, 0], ("categorical", False)),
        ([0, 0, 0, 90, 10, 0, 0], ("datetime", False)),
        ([0, 0, 0, 90, 0, 0, 0], ("date", False)),
        ([0, 0, 0, 0, 0, 90, 0], ("boolean", False)),
        ([0, 3, 0, 0, 0, 0, 1], ("integer", False)),  # little says little
        ([0, 3, 3, 0, 0, 0, 1], ("float", False)),
        ([-2, -1, -3, -1, -2, -3, -1], ("categorical", False)),  # and nothing says nothing
        ([0, 0, 0, 0, 0, 0, 0], ("categorical", False)),
    ],
)
def test_what_counts_speak_for(counts, kind):
    assert kind_from_counts(np.array(counts), 2.0) == kind


def words_of_every_kind(n: int = 4000) -> pa.Table:
    rng = np.random.default_rng(5)
    return pa.table(
        {
            "n": [str(v) for v in rng.integers(0, 60, n)],
            "x": [f"{v:.2f}" for v in rng.normal(size=n)],
            "d": [f"20{y:02d}-03-04" for y in rng.integers(0, 20, n)],
            "t": rng.choice(["true", "false"], n),
            "w": rng.choice(["baker", "clerk", ""], n),
            "surname": [f"s{i}" for i in range(n)],
        }
    )


@pytest.mark.parametrize("unit", [PrivacyUnit("add-remove"), PrivacyUnit("replace-one")])
@pytest.mark.parametrize("pure", [False, True])
def test_a_fit_of_names_alone_finds_the_domain_within_its_budget(unit, pure):
    data = chaffinch.prepare(words_of_every_kind(), discover="all")
    if unit.bounded:
        data = replace(data, schema=replace(data.schema, rows=4000))
    budget = Budget(8.0, 1e-6, accounting="pure" if pure else "zcdp")
    opening = plan_budget(data.schema, budget, unit)
    with start_private_session(data, budget, unit, seed=3) as counter:
        kinds = {column.name: column.kind for column in counter.schema}
        assert kinds == {
            "n": "integer",
            "x": "float",
            "d": "date",
            "t": "boolean",
            "w": "categorical",
            "surname": "identifier",
        }
        assert counter.schema["w"].levels == ("baker", "clerk")
        assert [column.name for column in counter.schema if column.nullable] == ["w"]
        assert counter.schema.sealed
        assert counter.ledger.spent <= budget.total - opening.remaining + 1e-12
        assert sum(
            charge.delta for charge in counter.ledger.charges
        ) <= opening.budget.delta_total * (1 + 1e-9)


def test_the_plan_reckons_with_words_and_shares_evenly():
    schema = Schema(
        (OPEN, replace(OPEN, name="b"), Column("c", "categorical", levels=("x", "y"))), public=True
    )
    budget, unit = Budget(1.0, 1e-6), PrivacyUnit("add-remove")
    charges = planned_kinds(schema, budget, unit)
    assert [charge.what for charge in charges] == ["kind of 'a'", "kind of 'b'"]
    assert budget.amounts(charges)[0] == pytest.approx(KINDS_SHARE * budget.total)
    assert [column.lacks for column in as_words(schema)] == ["levels", "levels", ""]
    opening = plan_budget(schema, budget, unit)
    assert [charge.what for charge in opening.charges][2:4] == [
        "levels or bounds of 'a'",
        "levels or bounds of 'b'",
    ]
    assert opening.budget.delta_total > 0  # words may be found


def test_neighbours_differ_in_one_class_of_each_column():
    """What the proof rests on: a record more adds 1 to one class, whatever the record."""
    cells = [cell for every in CELLS.values() for cell in every]
    base = pa.array(["1", "x", ""], pa.large_string())
    before = np.bincount(cell_classes(OPEN, base), minlength=len(CLASSES))
    for cell in cells:
        more = pa.concat_arrays([base, pa.array([cell], pa.large_string())])
        change = np.bincount(cell_classes(OPEN, more), minlength=len(CLASSES)) - before
        assert sorted(change.tolist()) == [0] * (len(CLASSES) - 1) + [1]


def test_a_decimal_comma_is_that_of_kinds_that_are_open_too(tmp_path):
    rng = np.random.default_rng(3)
    (tmp_path / "d.csv").write_text(
        "pay;sex\n" + "".join(f"{v:.2f};f\n".replace(".", ",") for v in rng.normal(50, 9, 2000))
    )
    data = chaffinch.prepare(tmp_path / "d.csv", discover="all", decimal=",")
    with start_private_session(
        data, Budget(8.0, 1e-6), PrivacyUnit("add-remove"), seed=3
    ) as counter:
        assert (counter.schema["pay"].kind, counter.schema["pay"].decimal) == ("float", ",")
        assert counter.schema["pay"].size > 3
        assert counter.schema["pay"].decimals in (
            2,
            3,
        )  # bins of about 1: a hundredth of the narrowest


def test_decimals_follow_the_narrowest_bin():
    columns = (
        Column("a", "float", edges=(0.0, 0.31239, 10.0), binning="edges"),
        Column("b", "float", bounds=(0, 4000), bins=4),
        Column("c", "float", bounds=(0, 1)),
        Column("d", "integer", bounds=(0, 9)),
        Column("e", "float", bounds=(0, 1), decimals=5),
    )
    schema = with_decimals(Schema(columns), ("a", "b", "d", "e"))
    assert [column.decimals for column in schema] == [3, 0, None, None, 5]
    assert schema["a"].edges == (0.0, 0.312, 10.0)
