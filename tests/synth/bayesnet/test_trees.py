"""Trees of whole tables: the same from every engine, and nothing that protection forbids, by the joint distribution itself."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

import chaffinch
from chaffinch import BayesNet
from chaffinch._base.errors import InputError
from chaffinch.counts import StreamCounter
from chaffinch.counts.counter import ReferenceCounter
from chaffinch.synth.bayesnet import trees as learning
from chaffinch.synth.bayesnet.trees import (
    TrainingRows,
    TreeSampler,
    TreeSettings,
    TreeTable,
    grow,
    x_log_x,
)

from ...factories import people

COLUMNS = ("age", "ill", "pay", "sex", "town")


@pytest.mark.parametrize("sample", [200_000, 300])
def test_every_engine_gives_the_same_bytes(tmp_path, monkeypatch, sample):
    monkeypatch.setattr(learning, "SAMPLE", sample)
    table = people(2_000, columns=COLUMNS)
    import pyarrow.parquet as pq

    pq.write_table(table, tmp_path / "t.parquet", row_group_size=330)
    read = chaffinch.read(tmp_path / "t.parquet")
    settings = BayesNet(conditionals="trees")
    models = [
        settings.fit(data, seed=1)
        for data in (
            read,
            StreamCounter(chaffinch.scan(tmp_path / "t.parquet")),
            ReferenceCounter(read),
        )
    ]
    first, *others = [model.state()[1] for model in models]
    for other in others:
        assert first.keys() == other.keys()
        assert all(np.array_equal(first[name], other[name]) for name in first)
    assert models[0].schema.sizes == models[1].schema.sizes
    assert sum((tree.splits < 0).sum() for tree in models[0].tables) > 5


def test_numbers_keep_their_grain():
    drawn = (
        BayesNet(conditionals="trees")
        .fit(people(2_000, columns=COLUMNS), seed=1)
        .sample(4_000, seed=2)
        .data.to_pandas()
    )
    assert drawn["age"].nunique() > 60
    tables = BayesNet(conditionals="tables").fit(people(2_000, columns=COLUMNS), seed=1)
    trees = BayesNet(conditionals="trees").fit(people(2_000, columns=COLUMNS), seed=1)
    assert trees.schema["pay"].size > 100 > 25 > tables.schema["pay"].size
    assert trees.schema == tables.schema, "what is declared of columns stays"


def joint(model) -> dict[tuple[int, ...], float]:
    """The probability of every combination of codes."""
    sizes = model.schema.sizes
    every = np.array(list(product(*(range(size) for size in sizes))))
    chance = np.ones(len(every))
    names = model.schema.names
    for table in model.tables:
        chance *= table.probabilities(
            every[:, names.index(table.child)], [every[:, names.index(p)] for p in table.parents]
        )
    return dict(zip(map(tuple, every.tolist()), chance, strict=True))


@pytest.mark.parametrize("protect", ["separate", "together"])
def test_protected_columns_are_told_by_the_label_alone(protect):
    """Brute force over all combinations: given the label, the sensitive columns and the others are independent."""
    rng = np.random.default_rng(4)
    n = 1_500
    a, b = rng.integers(0, 3, n), rng.integers(0, 3, n)
    secret, label = (a + b) % 3, np.where(rng.random(n) < 0.7, (a > 1) * 1, rng.integers(0, 2, n))
    other = np.where(rng.random(n) < 0.8, secret, rng.integers(0, 3, n))
    columns = {"a": a, "b": b, "secret": secret, "other_secret": other, "label": label}
    table = pa.table({name: [f"v{k}" for k in values] for name, values in columns.items()})
    model = BayesNet(
        conditionals="trees", label="label", sensitive=("secret", "other_secret"), protect=protect
    ).fit(table, seed=1)
    names = list(model.schema.names)
    array = np.zeros(model.schema.sizes)
    for place, chance in joint(model).items():
        array[place] = chance
    assert array.sum() == pytest.approx(1.0)
    array = np.transpose(
        array, [names.index(name) for name in ("label", "secret", "other_secret", "a", "b")]
    )
    for part in array:
        whole = part.sum()
        hidden, open_ones = part.sum(axis=(2, 3)), part.sum(axis=(0, 1))
        assert np.allclose(
            part / whole,
            (hidden / whole)[:, :, None, None] * (open_ones / whole)[None, None],
            atol=1e-12,
        )
        if protect == "separate":
            assert np.allclose(
                hidden / whole,
                np.outer(hidden.sum(axis=1), hidden.sum(axis=0)) / whole**2,
                atol=1e-12,
            )


def test_edges_that_are_required_forbidden_or_given():
    table = people(2_000, columns=COLUMNS)
    model = BayesNet(
        conditionals="trees", require=(("town", "sex"),), forbid=(("age", "ill"), ("ill", "age"))
    ).fit(table, seed=1)
    assert ("town", "sex") in model.network.edges
    assert not {("age", "ill"), ("ill", "age")} & set(model.network.edges)
    given = chaffinch.Network.from_edges(COLUMNS, [("sex", "age"), ("age", "ill")])
    assert set(BayesNet(conditionals="trees", network=given).fit(table, seed=1).network.edges) == {
        ("sex", "age"),
        ("age", "ill"),
    }
    assert (
        max(
            len(parents)
            for parents in BayesNet(conditionals="trees", parents=1)
            .fit(table, seed=1)
            .network.parents
        )
        <= 1
    )


def test_leaves_hold_ten_records_and_more_if_asked():
    for leaf in (10, 100):
        for tree in (
            BayesNet(conditionals="trees", leaf=leaf)
            .fit(people(2_000, columns=COLUMNS), seed=1)
            .tables
        ):
            assert tree.totals[tree.splits < 0].min() >= leaf


def test_weights_count():
    rng = np.random.default_rng(5)
    sex = rng.choice(["f", "m"], 600)
    table = pa.table(
        {
            "sex": sex,
            "ill": np.where(rng.random(600) < 0.4, "yes", "no"),
            "w": np.where(sex == "f", 3.0, 1.0),
        }
    )
    model = BayesNet(conditionals="trees").fit(
        chaffinch.read(table, schema={"w": "weight"}), seed=1
    )
    tree = next(one for one in model.tables if one.child == "sex")
    share = tree.weights[tree.starts[0] : tree.starts[1]]
    assert share[0] / share.sum() == pytest.approx(
        3 * (sex == "f").sum() / (3 * (sex == "f").sum() + (sex == "m").sum())
    )


def test_bad_use_is_named():
    with pytest.raises(InputError, match="Trees have no private fit"):
        BayesNet(conditionals="trees", epsilon=1.0)
    with pytest.raises(InputError, match="conditionals"):
        BayesNet(conditionals="forest")
    with pytest.raises(InputError, match="A panel has tables"):
        chaffinch.Panel(BayesNet(conditionals="trees"))

    class Counts:
        schema = chaffinch.read(people(60)).schema
        n_rows = 60

        def marginals(self, cliques):
            return chaffinch.MemoryCounter(chaffinch.read(people(60))).marginals(cliques)

    with pytest.raises(InputError, match="hand out"):
        BayesNet(conditionals="trees").fit(Counts())


def test_two_rows_and_a_column_without_values():
    for table in (
        chaffinch.read(pa.table({"a": ["x", "y"], "b": [1.5, 2.5]})),
        pa.table({"a": ["x", "y"] * 20, "b": pa.array([None] * 40, pa.float64())}),
    ):
        model = BayesNet(conditionals="trees").fit(table, seed=1)
        assert model.sample(5, seed=1).n_rows == 5


def grown(
    x,
    y,
    sizes,
    *,
    ordered=True,
    y_size=2,
    y_ordered=True,
    least=5,
    most=6,
    price=1.0,
    naming=1.0,
    required=None,
):
    x = np.asarray(x, dtype=np.uint16)
    rows = TrainingRows(
        x,
        sizes=np.array(sizes, dtype=np.int64),
        ordered=np.full(len(x), ordered),
        required=np.zeros(len(x), dtype=bool) if required is None else np.array(required),
        y=np.asarray(y, dtype=np.uint16),
        y_size=y_size,
        y_values=y_size,
        y_ordered=y_ordered,
        weights=np.zeros(0),
        logs=x_log_x(x.shape[1]),
    )
    settings = TreeSettings(least, most, price, naming)
    tree = grow(rows, settings)
    weighted = grow(rows._replace(weights=np.ones(x.shape[1]), logs=np.zeros(0)), settings)
    assert all(
        np.array_equal(one, other) for one, other in zip(tree, weighted, strict=True)
    )  # looked up or not, counted once or twice: the same
    return tree


def entropy(y: np.ndarray) -> float:
    """Summed over records, in nats."""
    counts = np.bincount(y)
    counts = counts[counts > 0]
    return float(-(counts * np.log(counts / counts.sum())).sum())


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(20, 80), st.integers(2, 3))
def test_the_first_split_is_the_best_of_all(seed, n, y_size):
    rng = np.random.default_rng(seed)
    sizes = [4, 3]
    x = np.stack([rng.integers(0, size, n) for size in sizes])
    y = np.where(rng.random(n) < 0.6, np.minimum(x[0], y_size - 1), rng.integers(0, y_size, n))
    splits, _below, first, sides = grown(x, y, sizes, y_size=y_size, price=0.0, naming=0.0)
    gains = {}
    for column, size in enumerate(sizes):
        for cut in range(1, size):
            left = x[column] < cut
            if min(left.sum(), (~left).sum()) >= 5:
                gains[column, cut] = entropy(y) - entropy(y[left]) - entropy(y[~left])
    best = max(gains.values(), default=0.0)
    if best < 1e-9:
        assert splits[0] == -1
        return
    side = sides[first[0] : first[0] + sizes[splits[0]]]
    assert abs(gains[int(splits[0]), int((side == 0).sum())] - best) < 1e-9
    assert np.all(np.diff(side.astype(int)) >= 0)


def test_categories_are_split_by_what_they_tell():
    """Levels 0 and 2 go with one value of the child, 1 and 3 with the other: no cut in their order says so, a tree of one split does."""
    x = np.tile(np.arange(4), 50)[None, :]
    splits, _below, _first, sides = grown(x, x[0] % 2, [4], ordered=False)
    assert splits.tolist() == [0, -1, -1]
    assert sides.tolist() in ([0, 1, 0, 1], [1, 0, 1, 0])


def test_chance_is_not_split():
    """Twenty tables of twelve columns that tell nothing: each split names one of 108 cuts and gains a nat more; together less than two are expected."""
    found = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        found += int(
            (
                grown(rng.integers(0, 10, (12, 400)), rng.integers(0, 2, 400), [10] * 12)[0] >= 0
            ).sum()
        )
    assert found <= 8


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(1, 3))
def test_leaves_have_records_enough_and_columns_are_few(seed, least, most):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 5, (5, 200))
    y = (x.sum(axis=0) + rng.integers(0, 3, 200)) % 4
    splits, below, first, sides = grown(
        x, y, [5] * 5, y_size=4, least=least, most=most, price=0.1, naming=0.0
    )
    node = np.zeros(200, dtype=int)
    while (splits[node] >= 0).any():
        inner = splits[node] >= 0
        code = x[splits[node], np.arange(200)]
        node = np.where(inner, below[node] + sides[np.where(inner, first[node] + code, 0)], node)
    assert np.bincount(node, minlength=len(splits))[splits < 0].min() >= min(least, 200)
    assert len(np.unique(splits[splits >= 0])) <= most


def test_required_columns_count_among_those_that_may_be_split():
    rng = np.random.default_rng(1)
    x = rng.integers(0, 3, (3, 600))
    splits, *_ = grown(x, x[1], [3] * 3, y_size=3, most=1, required=[True, False, False])
    assert set(splits[splits >= 0].tolist()) <= {0}


def test_a_relation_of_fine_numbers_is_followed_to_the_end():
    """A child that is its parent's number: groups of the child are those of the node, so that splits go on below the grain of twelve."""
    x = np.repeat(np.arange(60), 20)[None, :]
    splits, _below, first, sides = grown(x, x[0], [60], y_size=60, least=10)
    assert (splits < 0).sum() == 60
    ends = sorted(
        int((sides[first[node] : first[node] + 60] == 0).sum())
        for node in np.flatnonzero(splits >= 0)
    )
    assert all(a < b for a, b in pairwise(ends))


def small(smoothing: float = 2.0) -> TreeTable:
    """Of parent p (3 codes) the first goes left; on the right, q (2 codes) splits again. Counts of the child's codes 0 and 1: 6 and 4 left, 9 and 1, 2 and 8 right."""
    return TreeTable(
        "x",
        2,
        ("p", "q"),
        (3, 2),
        smoothing,
        splits=np.array([0, -1, 1, -1, -1], dtype=np.int32),
        below=np.array([1, -1, 3, -1, -1], dtype=np.int32),
        first_sides=np.array([0, -1, 3, -1, -1], dtype=np.int64),
        code_sides=np.array([0, 1, 1, 0, 1], dtype=np.uint8),
        starts=np.array([0, 2, 4, 6, 8, 10], dtype=np.int64),
        codes=np.array([0, 1] * 5, dtype=np.uint32),
        weights=np.array([17.0, 13, 6, 4, 11, 9, 9, 1, 2, 8]),
    )


def test_probabilities_by_hand():
    table = small()
    table.check()
    root = 17 / 30
    right = (11 + 2 * root) / 22
    left, first, second = (6 + 2 * root) / 12, (9 + 2 * right) / 12, (2 + 2 * right) / 12
    p, q = np.array([0, 0, 1, 2, 1, 2]), np.array([0, 1, 0, 0, 1, 1])
    expected = np.array([left, left, first, first, second, second])
    assert table.probabilities(np.zeros(6, dtype=int), [p, q]) == pytest.approx(expected)
    assert table.probabilities(np.ones(6, dtype=int), [p, q]) == pytest.approx(1 - expected)
    assert table.largest(0) == pytest.approx(first)
    assert small(0.0).probabilities(np.array([0]), [np.array([2]), np.array([1])]) == pytest.approx(
        [0.2]
    )
    assert ((table.splits < 0).sum(), table.total_weight, table.depths.tolist()) == (
        3,
        30.0,
        [0, 1, 1, 2, 2],
    )


@pytest.mark.parametrize("systematic", [False, True])
def test_draws_follow_probabilities(systematic):
    """A wrong share of a twentieth would be seen; a right one fails once in a million."""
    table, rng = small(), np.random.default_rng(3)
    for p, q in ((0, 0), (1, 0), (2, 1)):
        parents = [np.full(40_000, p, dtype=np.uint32), np.full(40_000, q, dtype=np.uint32)]
        sampler = TreeSampler(table)
        drawn = (
            sampler.draw_systematic(parents, [], 40_000, rng)
            if systematic
            else sampler.draw(parents, rng.random(40_000))
        )
        chance = table.probabilities(np.array([0]), [parents[0][:1], parents[1][:1]])[0]
        assert (
            chisquare(
                np.bincount(drawn, minlength=2), 40_000 * np.array([chance, 1 - chance])
            ).pvalue
            > 1e-6
        )


@pytest.mark.parametrize(
    "damage",
    [
        {"splits": np.array([2, -1, 1, -1, -1], dtype=np.int32)},
        {"below": np.array([0, -1, 3, -1, -1], dtype=np.int32)},
        {"below": np.array([3, -1, 3, -1, -1], dtype=np.int32)},
        {"below": np.array([1, -1, 4, -1, -1], dtype=np.int32)},
        {"first_sides": np.array([0, -1, 4, -1, -1], dtype=np.int64)},
        {"code_sides": np.array([0, 1, 2, 0, 1], dtype=np.uint8)},
        {"starts": np.array([0, 2, 4, 6, 8, 9], dtype=np.int64)},
        {"starts": np.array([0, 2, 2, 6, 8, 10], dtype=np.int64)},
        {"codes": np.array([0, 1] * 4 + [0, 2], dtype=np.uint32)},
        {"codes": np.array([1, 0] + [0, 1] * 4, dtype=np.uint32)},
        {"weights": np.array([17.0, 13, 6, 4, 11, 9, 9, 1, 2, np.nan])},
        {"weights": np.array([17.0, 13, 6, 4, 11, 9, 9, 1, 2, 0])},
        {"smoothing": -1.0},
    ],
)
def test_damaged_trees_are_refused(damage):
    with pytest.raises(InputError, match="The tree of 'x' does not fit together"):
        replace(small(), **damage).check()


def test_a_file_gives_the_same_model(tmp_path):
    rng = np.random.default_rng(1)
    age = rng.integers(20, 70, 900)
    table = pa.table(
        {
            "age": age,
            "ill": np.where(rng.random(900) < age / 100, "yes", "no"),
            "sex": rng.choice(["f", "m"], 900),
        }
    )
    model = BayesNet(conditionals="trees").fit(table, seed=1)
    assert any(isinstance(one, TreeTable) and (one.splits < 0).sum() > 1 for one in model.tables)
    model.save(tmp_path / "m")
    back = chaffinch.load(tmp_path / "m")
    assert back.sample(200, seed=4).data.equals(
        chaffinch.load(tmp_path / "m").sample(200, seed=4).data
    )
    assert back.sample(200, seed=4).data.to_pylist() == model.sample(200, seed=4).data.to_pylist()
    assert back.log_likelihood(table) == pytest.approx(model.log_likelihood(table))


def test_given_values_are_drawn_exactly():
    """Against rows of the model that have the value by themselves: 20,000 of each, a difference of 3 points in a share would be seen."""
    rng = np.random.default_rng(2)
    a = rng.integers(0, 4, 3_000)
    b = (a + (rng.random(3_000) < 0.3) * rng.integers(0, 4, 3_000)) % 4
    table = pa.table(
        {"a": [f"a{k}" for k in a], "b": [f"b{k}" for k in b], "c": [f"c{k}" for k in (a * b) % 3]}
    )
    model = BayesNet(conditionals="trees").fit(table, seed=1)
    given = model.sample(
        20_000,
        seed=3,
        given={model.network.order[-1]: table.column(model.network.order[-1])[0].as_py()},
    ).data.to_pandas()
    free = model.sample(120_000, seed=4).data.to_pandas()
    last = model.network.order[-1]
    free = free[free[last] == given[last].iloc[0]]
    for name in model.network.order[:-1]:
        shares = [one[name].value_counts(normalize=True) for one in (given, free)]
        assert abs(shares[0] - shares[1]).max() < 0.03


def test_running_sums_that_are_not_kept_draw_the_same(data, monkeypatch):
    table = chaffinch.read(data / "cmc.csv")
    model = chaffinch.BayesNet().fit(table, seed=1)
    want = model.sample(500, seed=2)
    monkeypatch.setattr("chaffinch.synth.bayesnet.model.MOST_KEPT", 10)
    again = chaffinch.BayesNet().fit(table, seed=1)
    assert again.sample(500, seed=2).data.equals(want.data)
    assert not any(sampler.keeps_sums for sampler in again._samplers)
    assert all(sampler.keeps_sums for sampler in model._samplers)
