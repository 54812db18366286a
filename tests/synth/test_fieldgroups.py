"""Field groups against the plain method with the same noise, and at the ends."""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import log10

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from chaffinch._base.errors import InputError, PrivacyError, TooLargeError, UnknownNameError
from chaffinch.privacy.counter import NoisyTable
from chaffinch.privacy.mechanisms import draw_laplace, laplace_std
from chaffinch.privacy.prepare import prepare
from chaffinch.synth import FieldGroups, load_model
from chaffinch.synth.fieldgroups import _Costs, merged_groups, tables_of, threshold_of, usable_pairs
from chaffinch.table import Column, Schema, Table


def declared(sizes, rows=None):
    columns = (
        Column(f"c{j}", "categorical", levels=tuple(f"v{i}" for i in range(s)))
        for j, s in enumerate(sizes)
    )
    return Schema(tuple(columns), public=True, rows=rows)


def private(codes, sizes, *, rows="true"):
    """Return a prepared table of columns c0, c1, ... with the given codes."""
    n = len(codes[0])
    data = pa.table(
        {f"c{j}": pa.array([f"v{i}" for i in codes[j]], pa.string()) for j in range(len(sizes))}
    )
    return prepare(data, declared(sizes, n if rows == "true" else rows))


def random_codes(seed, sizes, n):
    rng = np.random.default_rng(seed)
    return [(rng.random(n) ** 2 * size).astype(int) for size in sizes]


ODDS = 1e-6


def whole_domain(model):
    """Return the model's probability of every cell of its domain, in C order."""
    sizes = model.schema.sizes
    grid = np.array(list(product(*map(range, sizes))), dtype=np.uint32)
    table = Table.from_codes(model.schema, [grid[:, j] for j in range(len(sizes))], seed=0)
    return np.exp(model.log_likelihood(table)).reshape(sizes)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_the_model_is_the_plain_method_with_the_same_noise(neighbours, epsilon):
    sizes, groups = (3, 2, 4, 2), (("c2", "c0"), ("c3",))
    codes = random_codes(1, sizes, 300)
    settings = FieldGroups(epsilon, groups, neighbours=neighbours)
    model = settings.fit(private(codes, sizes), seed=5)

    rng = np.random.default_rng(5)
    scale = (1 if neighbours == "add-remove" else 2) * 3 / epsilon
    expected = np.ones(sizes)
    for group in ((2, 0), (3,), (1,)):
        shape = tuple(sizes[c] for c in group)
        rows = Counter(zip(*(codes[c] for c in group), strict=True))
        noise = draw_laplace(rng, scale, shape)
        kept = {}
        for cell in product(*map(range, shape)):
            value = rows[cell] + int(noise[cell])
            limit = 1.9 * scale * log10(np.prod(shape))
            kept[cell] = value if value >= limit else 0
        total = sum(kept.values())
        assert total > 0
        for cell in product(*map(range, sizes)):
            expected[cell] *= kept[tuple(cell[c] for c in group)] / total
    np.testing.assert_allclose(whole_domain(model), expected, atol=1e-12)
    assert model.network.order == ("c2", "c0", "c3", "c1")
    assert model.network.parents == ((), ("c2",), (), ())
    assert model.fitted.method == "fieldgroups"


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_a_huge_epsilon_gives_the_tables_of_the_groups(neighbours):
    sizes = (3, 4, 2, 3, 2)
    codes = random_codes(2, sizes, 500)
    model = FieldGroups(1e6, [["c0", "c1", "c2"], ["c3", "c4"]], neighbours=neighbours).fit(
        private(codes, sizes), seed=1
    )
    result = whole_domain(model)
    for group in ((0, 1, 2), (3, 4)):
        exact = np.zeros([sizes[c] for c in group])
        np.add.at(exact, tuple(codes[c] for c in group), 1)
        others = tuple(c for c in range(5) if c not in group)
        np.testing.assert_allclose(result.sum(axis=others), exact / 500, atol=1e-12)


def test_groups_are_drawn_independently_and_columns_of_a_group_are_not():
    a = np.arange(3000) % 3
    model = FieldGroups(1000.0, [["c0", "c1"]]).fit(private([a, a, a], (3, 3, 3)), seed=1)
    drawn = model.sample(20_000, seed=2)
    c0, c1, c2 = (drawn.code(f"c{j}") for j in range(3))
    assert np.array_equal(c0, c1)  # copies in the data, and in one group
    table = np.zeros((3, 3))
    np.add.at(table, (c0, c2), 1)
    assert stats.chi2_contingency(table).pvalue > ODDS  # copies in the data, but apart


def test_rows_are_measured_where_they_are_not_declared():
    table = private(random_codes(4, (2, 2), 100), (2, 2), rows=None)
    account = FieldGroups(1.0).fit(table, seed=1).fitted.privacy
    assert account.rows_how == "measured"
    assert account.spent == pytest.approx(1.0)
    with pytest.raises(PrivacyError, match="must be declared"):
        FieldGroups(1.0, neighbours="replace-one").fit(table, seed=1)


@pytest.mark.parametrize("n", [0, 1])
@pytest.mark.parametrize("groups", [None, [["c0", "c1"]]])
@pytest.mark.parametrize("empty", ["columns", "first"])
@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 1e6])
def test_hardly_any_rows(n, groups, empty, epsilon):
    model = FieldGroups(epsilon, groups, empty=empty).fit(
        private([[1] * n, [1] * n], (2, 3)), seed=1
    )
    assert model.sample(20, seed=1).n_rows == 20


def test_a_single_column_of_a_single_level():
    model = FieldGroups(1.0).fit(private([[0] * 9], (1,)), seed=1)
    assert model.sample(5, seed=1).n_rows == 5
    assert model.fitted.privacy.spent == pytest.approx(1.0)


def test_groups_are_learnt_where_columns_hang_together():
    rng = np.random.default_rng(6)
    a, b, e = rng.integers(0, 3, 5000), rng.integers(0, 4, 5000), rng.integers(0, 2, 5000)
    model = FieldGroups(2.0).fit(private([a, b, a, b, e], (3, 4, 3, 4, 2)), seed=1)
    assert set(model.network.edges) == {("c0", "c2"), ("c1", "c3")}
    assert model.fitted.search == "groups"
    apart = FieldGroups(2.0).fit(private([a, b, e], (3, 4, 2)), seed=1)
    assert apart.network.edges == ()


def test_a_wide_group_of_many_columns():
    rng = np.random.default_rng(1)
    first = rng.integers(0, 2, 2000)
    codes = [first] + [np.where(rng.random(2000) < 0.1, 1 - first, first) for _ in range(15)]
    model = FieldGroups(50.0, [[f"c{j}" for j in range(16)]]).fit(private(codes, (2,) * 16), seed=1)
    drawn = model.sample(2000, seed=1)
    assert model.network.most_parents == 15
    assert np.mean(drawn.code("c0") == drawn.code("c9")) > 0.85


def test_a_model_survives_its_file(tmp_path):
    model = FieldGroups(5.0, [["c0", "c1"]]).fit(
        private(random_codes(1, (3, 2, 2), 200), (3, 2, 2)), seed=1
    )
    model.save(tmp_path / "m.chaffinch")
    again = load_model(tmp_path / "m.chaffinch")
    np.testing.assert_array_equal(whole_domain(again), whole_domain(model))
    assert again.fitted.privacy == model.fitted.privacy
    assert again.fitted.method == "fieldgroups"


def test_thresholds_worked_by_hand():
    # 4 groups at epsilon 0.8 have scale 4 / 0.8 = 5; 100 cells: 1.9 * 5 * log10(100) = 19.
    assert threshold_of(100, 5.0, 1.9) == pytest.approx(19.0)
    assert threshold_of(1, 5.0, 1.9) == 0.0
    # Of 10,000 empty cells, Laplace noise of a large scale passes it in 10^(4 * 0.17486) / 2 = 2.5 on average.
    noise = draw_laplace(np.random.default_rng(1), 200.0, (100, 10_000))
    above = (noise >= threshold_of(10_000, 200.0, 1.9)).sum()
    assert stats.poisson.cdf(above, 250.1) > ODDS / 2
    assert stats.poisson.sf(above - 1, 250.1) > ODDS / 2


def test_what_a_table_costs_worked_by_hand():
    # Two columns, (60, 40) and (90, 10) of 100: cells 54, 6, 36, 4. One group at epsilon 1: scale 1, threshold 1.9 log10(4) = 1.14:
    # all stay, 4 halves. Ten groups: scale 10, threshold 11.4: 6 and 4 are lost, two cells wrong by 5 each.
    costs = _Costs([np.array([60.0, 40.0]), np.array([90.0, 10.0])], 100.0, 1.0, 1, 1.9)
    assert costs.table_error([0, 1], 1) == pytest.approx(2.0)
    assert costs.table_error([0, 1], 10) == pytest.approx(6 + 4 + 2 * 5)


def test_groups_join_from_the_closest_while_it_pays():
    margins = [np.full(2, 500.0)] * 4
    pairs = [(0, 1), (0, 2), (2, 3)]
    options = {"epsilon": 1.0, "l1": 1, "factor": 1.9}
    assert merged_groups(pairs, np.array([400.0, 300, 200]), 10.0, margins, **options) == [
        [0, 1, 2, 3]
    ]
    assert merged_groups(pairs, np.array([400.0, 5, 200]), 10.0, margins, **options) == [
        [0, 1],
        [2, 3],
    ]
    assert merged_groups(pairs, np.array([400.0, 300, 200]), 500.0, margins, **options) == [
        [0],
        [1],
        [2],
        [3],
    ]
    # Of little use: the joint table would lose more than the distance.
    assert merged_groups(
        pairs, np.array([400.0, 300, 200]), 1.0, margins, epsilon=0.001, l1=1, factor=1.9
    ) == [[0], [1], [2], [3]]


def test_usable_pairs_come_from_public_numbers():
    # 4 columns: as if 2 groups, scale 2 / 0.5 = 4; 100 rows: tables of up to 25 cells.
    assert usable_pairs((5, 5, 6, 2), 100, 0.5, 1) == [(0, 1), (0, 3), (1, 3), (2, 3)]
    assert usable_pairs((5, 5), 0, 0.5, 1) == []


def test_groups_that_cannot_be():
    table = private([[0], [1], [0]], (2, 2, 2))
    with pytest.raises(InputError, match="'a' is in groups twice"):
        FieldGroups(1.0, [["a", "b"], ["c", "a"]])
    with pytest.raises(InputError, match="groups must be lists of names"):
        FieldGroups(1.0, "ab")
    with pytest.raises(InputError, match="groups must be lists of names"):
        FieldGroups(1.0, ["a", "b"])
    with pytest.raises(InputError, match="at least one column"):
        FieldGroups(1.0, [[]])
    with pytest.raises(UnknownNameError, match="Unknown column 'c9'"):
        FieldGroups(1.0, [["c9"]]).fit(table, seed=1)
    for bad in (
        {"threshold": -1},
        {"learning": 1.0},
        {"empty": "none"},
        {"epsilon": 0},
        {"rows_per_person": 0},
    ):
        with pytest.raises(InputError):
            FieldGroups(**{"epsilon": 1.0, **bad})


def test_a_group_beyond_memory_is_named_before_anything_is_spent():
    sizes = (1000,) * 8  # 10^24 cells: beyond 64 bits
    settings = FieldGroups(1.0, [[f"c{j}" for j in range(8)]])
    for call in (
        lambda: settings.plan(declared(sizes, 10)),
        lambda: settings.fit(private([[0]] * 8, sizes), seed=1),
    ):
        with pytest.raises(TooLargeError, match=r"group c0, c1, .* cells, over the limit"):
            call()


@pytest.mark.parametrize(
    "options",
    [
        {"groups": [["c0", "c2"]]},
        {"groups": [["c0", "c2"]], "neighbours": "replace-one"},
        {},
        {"neighbours": "replace-one"},
        {"learning": 0.6},
        {"epsilon": 1e-4},
    ],
)
def test_charges_add_up_to_the_budget_and_are_those_of_the_plan(options):
    sizes = (3, 2, 4)
    settings = FieldGroups(**{"epsilon": 2.0, **options})
    account = settings.fit(private(random_codes(3, sizes, 400), sizes), seed=1).fitted.privacy
    plan = settings.plan(declared(sizes, 400))
    assert account.spent == pytest.approx(settings.epsilon, rel=1e-9)
    assert account.spent <= settings.epsilon
    assert plan.total == pytest.approx(settings.epsilon, rel=1e-9)
    for why in ("groups", "tables"):
        spent = sum(c.epsilon for c in account.charges if c.why == why)
        assert spent == pytest.approx(
            sum(s.charge.epsilon * s.times for s in plan.steps if s.charge.why == why)
        )
    assert account.unit.neighbours == options.get("neighbours", "add-remove")


@pytest.mark.parametrize(
    ("neighbours", "persons", "scale"),
    [("add-remove", 1, 3), ("replace-one", 1, 6), ("add-remove", 4, 12)],
)
def test_the_noise_of_a_cell_has_the_scale_of_the_relation(neighbours, persons, scale):
    settings = FieldGroups(1.0, (), neighbours=neighbours, rows_per_person=persons)
    charges = settings.fit(
        private(random_codes(4, (2, 2, 2), 50), (2, 2, 2)), seed=1
    ).fitted.privacy.charges
    assert [c.noise for c in charges] == [f"standard deviation {laplace_std(scale):.4g}"] * 3


def test_nothing_is_spent_on_learning_that_noise_would_drown():
    charges = (
        FieldGroups(0.01)
        .fit(private(random_codes(1, (3, 3, 3), 200), (3, 3, 3)), seed=1)
        .fitted.privacy.charges
    )
    assert [c.what for c in charges] == ["table of c0", "table of c1", "table of c2"]
    # Twenty columns of two levels, 400 rows, epsilon 1: each pair would be worth a table, but 190 distances for 0.15 have
    # noise of scale 190 / 2 / 0.15 = 633 records.
    sizes = (2,) * 20
    assert len(usable_pairs(sizes, 400, 0.7, 1)) == 190
    charges = (
        FieldGroups(1.0)
        .fit(private(random_codes(1, sizes, 400), sizes), seed=1)
        .fitted.privacy.charges
    )
    assert {c.why for c in charges} == {"tables"}


def test_a_group_with_nothing_above_the_threshold():
    codes = [[1] * 60, [2] * 60]
    table = private(codes, (4, 30))
    options = {"groups": [["c0", "c1"]], "threshold": 1e6}
    first = FieldGroups(50.0, empty="first", **options).fit(table, seed=1)
    assert first.network.edges == ()
    assert whole_domain(first)[0, 0] == 1.0  # as published: the first level of each column
    ours = whole_domain(FieldGroups(50.0, **options).fit(table, seed=1))
    assert ours[1, 2] > 0.9  # the single columns that the noisy table adds up to


def test_a_learnt_group_that_is_empty_has_its_measured_columns():
    a = np.arange(4000) % 4
    table = private([a, a], (4, 4))
    model = FieldGroups(20.0, threshold=0.0).fit(table, seed=1)
    assert model.network.parents == ((), ("c0",))
    empty = FieldGroups(20.0, threshold=1e6).fit(table, seed=1)
    assert empty.network.edges == ()
    np.testing.assert_allclose(whole_domain(empty).sum(axis=0), 0.25, atol=0.01)


def test_an_empty_table_has_the_columns_that_were_released_or_its_own_sums():
    noisy = NoisyTable(("a", "b"), (2, 2), np.array([[3, -1], [1, 1]]), 5.0)
    tables, whole = tables_of(
        [noisy], 5.0, factor=1.9, empty="columns", columns={"a": np.array([7.0, 9.0])}
    )
    assert whole == [False]
    assert [(t.columns, t.counts.tolist()) for t in tables] == [
        (("a",), [7.0, 9.0]),
        (("b",), [4.0, 0.0]),
    ]
