"""Field groups against the plain method with the same noise, and at the ends."""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import log10

import numpy as np
import pytest
from scipy import stats

from chaffinch._base.errors import PrivacyError
from chaffinch.privacy.samplers import draw_laplace
from chaffinch.synth import load_model
from chaffinch.synth.fieldgroups import FieldGroups
from chaffinch.table import Table

ODDS = 1e-6


def whole_domain(model):
    """Return the model's probability of every cell of its domain, in C order."""
    sizes = model.schema.sizes
    grid = np.array(list(product(*map(range, sizes))), dtype=np.uint32)
    table = Table.from_codes(model.schema, [grid[:, j] for j in range(len(sizes))], seed=0)
    return np.exp(model.log_likelihood(table)).reshape(sizes)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_the_model_is_the_plain_method_with_the_same_noise(
    neighbours, epsilon, private, random_codes
):
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
def test_a_huge_epsilon_gives_the_tables_of_the_groups(neighbours, private, random_codes):
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


def test_groups_are_drawn_independently_and_columns_of_a_group_are_not(private):
    a = np.arange(3000) % 3
    model = FieldGroups(1000.0, [["c0", "c1"]]).fit(private([a, a, a], (3, 3, 3)), seed=1)
    drawn = model.sample(20_000, seed=2)
    c0, c1, c2 = (drawn.code(f"c{j}") for j in range(3))
    assert np.array_equal(c0, c1)  # copies in the data, and in one group
    table = np.zeros((3, 3))
    np.add.at(table, (c0, c2), 1)
    assert stats.chi2_contingency(table).pvalue > ODDS  # copies in the data, but apart


def test_rows_are_measured_where_they_are_not_declared(private, random_codes):
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
def test_hardly_any_rows(n, groups, empty, epsilon, private):
    model = FieldGroups(epsilon, groups, empty=empty).fit(
        private([[1] * n, [1] * n], (2, 3)), seed=1
    )
    assert model.sample(20, seed=1).n_rows == 20


def test_a_single_column_of_a_single_level(private):
    model = FieldGroups(1.0).fit(private([[0] * 9], (1,)), seed=1)
    assert model.sample(5, seed=1).n_rows == 5
    assert model.fitted.privacy.spent == pytest.approx(1.0)


def test_groups_are_learnt_where_columns_hang_together(private):
    rng = np.random.default_rng(6)
    a, b, e = rng.integers(0, 3, 5000), rng.integers(0, 4, 5000), rng.integers(0, 2, 5000)
    model = FieldGroups(2.0).fit(private([a, b, a, b, e], (3, 4, 3, 4, 2)), seed=1)
    assert set(model.network.edges) == {("c0", "c2"), ("c1", "c3")}
    assert model.fitted.search == "groups"
    apart = FieldGroups(2.0).fit(private([a, b, e], (3, 4, 2)), seed=1)
    assert apart.network.edges == ()


def test_a_wide_group_of_many_columns(private):
    rng = np.random.default_rng(1)
    first = rng.integers(0, 2, 2000)
    codes = [first] + [np.where(rng.random(2000) < 0.1, 1 - first, first) for _ in range(15)]
    model = FieldGroups(50.0, [[f"c{j}" for j in range(16)]]).fit(private(codes, (2,) * 16), seed=1)
    drawn = model.sample(2000, seed=1)
    assert model.network.most_parents == 15
    assert np.mean(drawn.code("c0") == drawn.code("c9")) > 0.85


def test_a_model_survives_its_file(tmp_path, private, random_codes):
    model = FieldGroups(5.0, [["c0", "c1"]]).fit(
        private(random_codes(1, (3, 2, 2), 200), (3, 2, 2)), seed=1
    )
    model.save(tmp_path / "m.chaffinch")
    again = load_model(tmp_path / "m.chaffinch")
    np.testing.assert_array_equal(whole_domain(again), whole_domain(model))
    assert again.fitted.privacy == model.fitted.privacy
    assert again.fitted.method == "fieldgroups"
