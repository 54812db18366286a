"""White-box features: against the model's own likelihood, and in the same places whatever the network's order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from chaffinch import BayesNet, PrivBayes
from chaffinch._base.errors import InputError, TooLargeError
from chaffinch.counts.marginal import Marginal
from chaffinch.privacy.prepare import prepare
from chaffinch.risk.membership import whitebox
from chaffinch.risk.membership.whitebox import FLOOR, WhiteBox
from chaffinch.synth.bayesnet.network import Network
from chaffinch.synth.bayesnet.tables import table_from_marginal
from chaffinch.table import Column, Schema

SIZES = (3, 2, 4, 3)
NAMES = ("c0", "c1", "c2", "c3")


def sealed(seed=1, n=300, sizes=SIZES):
    """A table of columns each of which mostly copies the one before."""
    rng = np.random.default_rng(seed)
    codes = [rng.integers(0, sizes[0], n)]
    for size in sizes[1:]:
        codes.append(np.where(rng.random(n) < 0.7, codes[-1] % size, rng.integers(0, size, n)))
    columns = tuple(
        Column(f"c{j}", "categorical", levels=tuple(range(size))) for j, size in enumerate(sizes)
    )
    return prepare(
        pa.table({f"c{j}": c for j, c in enumerate(codes)}), Schema(columns, public=True, rows=n)
    )


def codes_of(table):
    return np.column_stack([table.code(name) for name in table.schema.names])


def with_network(table, network, *, smoothing=0.0, model=None):
    """A model with a given network and exact tables of the data."""
    model = model or BayesNet(parents=1).fit(table, seed=1)
    codes = {name: table.code(name) for name in table.schema.names}
    size = dict(zip(table.schema.names, table.schema.sizes, strict=True))
    tables = []
    for child, parents in zip(network.order, network.parents, strict=True):
        axes = (*parents, child)
        counts = np.zeros([size[a] for a in axes], dtype=np.int64)
        np.add.at(counts, tuple(codes[a] for a in axes), 1)
        tables.append(
            table_from_marginal(Marginal(axes, counts.shape, counts), smoothing=smoothing)
        )
    fitted = replace(model.fitted, strengths=(0.0,) * len(network.edges))
    return replace(model, network=network, tables=tuple(tables), fitted=fitted)


DIAMOND = Network(("c0", "c1", "c2", "c3"), ((), ("c0",), ("c0",), ("c1", "c2")))
SHUFFLED = Network(("c0", "c2", "c1", "c3"), ((), ("c0",), ("c0",), ("c2", "c1")))


@pytest.mark.parametrize("epsilon", [None, 1.0, 100.0])
def test_nodes_add_up_to_the_likelihood_of_the_model(epsilon):
    table = sealed()
    how = BayesNet(parents=2) if epsilon is None else PrivBayes(epsilon, variant="sdg")
    model = how.fit(table, seed=1)
    nodes = WhiteBox.from_schema(table.schema, codes_of(table)).nodes(model)
    assert nodes.shape == (300, 5)
    assert nodes.dtype == np.float32
    assert np.isfinite(nodes).all()
    assert (nodes >= 4 * np.log(FLOOR) - 1e-3).all()
    np.testing.assert_allclose(nodes[:, 0], nodes[:, 1:].sum(axis=1), rtol=1e-5)
    truth = model.log_likelihood(table)
    fine = np.isfinite(truth)
    assert fine.any()
    np.testing.assert_allclose(nodes[fine, 0], truth[fine], rtol=1e-5)


def test_nodes_by_hand_and_the_floor():
    """c0 = 0 has 2 of 4 records; c1 = 1 given c0 = 0 one of 2; c1 = 0 given c0 = 1 none of 2."""
    columns = (
        Column("c0", "categorical", levels=(0, 1)),
        Column("c1", "categorical", levels=(0, 1)),
    )
    data = pa.table({"c0": [0, 0, 1, 1], "c1": [0, 1, 1, 1]})
    table = prepare(data, Schema(columns, public=True, rows=4))
    model = with_network(table, Network(("c0", "c1"), ((), ("c0",))))
    box = WhiteBox.from_schema(table.schema, codes_of(table)[[1]], reference=model.network)
    np.testing.assert_allclose(
        box.nodes(model), [[np.log(0.25), np.log(0.5), np.log(0.5)]], rtol=1e-6
    )
    assert box.names == ("log P(target)", "log P(c0 | its parents)", "log P(c1 | its parents)")
    zero, one = (int(codes_of(table)[i, 1]) for i in (0, 1))
    second = int(codes_of(table)[2, 0])
    never = WhiteBox.from_schema(table.schema, np.array([[second, zero]])).nodes(model)
    np.testing.assert_allclose(
        never, [[np.log(0.5) + np.log(FLOOR), np.log(0.5), np.log(FLOOR)]], rtol=1e-6
    )
    cells = box.cells(model).reshape(-1)
    assert len(cells) == box.families[-1].stop == len(box.cell_names) == 2 + 4
    grid = cells[2:].reshape(2, 2)
    assert grid[second, one] == 1
    assert grid[1 - second].tolist() == [0.5, 0.5]


@pytest.mark.parametrize("values", ["chances", "weights"])
def test_order_of_network_and_parents_changes_nothing(values):
    table = sealed(n=3000)
    first, second = with_network(table, DIAMOND), with_network(table, SHUFFLED)
    assert first.network.order != second.network.order
    for reference in (DIAMOND, SHUFFLED):
        box = WhiteBox.from_schema(
            table.schema, codes_of(table)[:20], reference=reference, values=values
        )
        np.testing.assert_allclose(box.nodes(first), box.nodes(second), rtol=1e-6)
        a, b = box.cells(first), box.cells(second)
        assert not np.isnan(a).any()
        np.testing.assert_allclose(a, b, rtol=1e-6)
        assert [str(f) for f in box.families] == ["c0", "c1 | c0", "c2 | c0", "c3 | c1, c2"]


def test_cells_are_counted_by_brute_force():
    table = sealed()
    model = with_network(table, SHUFFLED)
    codes = codes_of(table)
    for values in ("chances", "weights"):
        box = WhiteBox.from_schema(table.schema, codes[:1], reference=DIAMOND, values=values)
        cells, family = box.cells(model), box.families[3]
        got = cells[family.start : family.stop].reshape(family.sizes)
        for a, b, c in np.ndindex(*family.sizes):
            rows = (codes[:, 1] == a) & (codes[:, 2] == b)
            count = (rows & (codes[:, 3] == c)).sum()
            if values == "weights":
                assert got[a, b, c] == count
            elif rows.any():
                assert got[a, b, c] == pytest.approx(count / rows.sum())


def test_a_family_the_model_lacks_is_missing():
    table = sealed()
    chain = Network(NAMES, ((), ("c0",), ("c1",), ("c2",)))
    box = WhiteBox.from_schema(table.schema, codes_of(table)[:2], reference=DIAMOND)
    cells = box.cells(with_network(table, chain))
    missing = [bool(np.isnan(cells[f.start : f.stop]).all()) for f in box.families]
    assert missing == [False, False, True, True]
    assert np.isnan(cells).sum() == sum(f.stop - f.start for f in box.families[2:])
    assert (
        len(
            WhiteBox.from_schema(table.schema, codes_of(table)[:2]).cells(
                with_network(table, chain)
            )
        )
        == 0
    )


def test_privbayes_models_of_one_table_line_up():
    """Structures differ from seed to seed; features have the same shape, and the reference has itself in full."""
    table = sealed()
    models = [PrivBayes(1.0, variant="sdg").fit(table, seed=seed) for seed in range(6)]
    box = WhiteBox.from_schema(table.schema, codes_of(table)[:3], reference=models[0].network)
    cells = np.stack([box.cells(model) for model in models])
    assert not np.isnan(cells[0]).any()
    assert np.isnan(cells).any()
    for family in box.families:  # chances given each combination of parents add up to 1
        sums = cells[:, family.start : family.stop].reshape(6, -1, family.sizes[-1]).sum(axis=2)
        assert np.allclose(sums[~np.isnan(sums)], 1, atol=1e-5)


def test_bad_input_is_refused(monkeypatch):
    table = sealed()
    codes = codes_of(table)
    box = WhiteBox.from_schema(table.schema, codes[:2], reference=DIAMOND)
    for wrong, said in [
        (codes[0], "one row each"),
        (codes[:, :3], "one row each"),
        (codes.astype(float), "one row each"),
        (codes + 200, "outside"),
    ]:
        with pytest.raises(InputError, match=said):
            WhiteBox.from_schema(table.schema, wrong)
    with pytest.raises(InputError, match="same columns"):
        WhiteBox.from_schema(table.schema, codes, reference=Network(("c0",), ((),)))
    with pytest.raises(InputError, match="kind of values"):
        WhiteBox.from_schema(table.schema, codes, values="counts")
    with pytest.raises(InputError, match="Bayesian networks"):
        box.nodes("model")
    wider = sealed(sizes=(3, 2, 4, 5))
    with pytest.raises(InputError, match="Column 'c3' has other codes"):
        box.nodes(with_network(wider, DIAMOND))
    fewer = sealed(sizes=(3, 2, 4))
    with pytest.raises(InputError, match="other columns"):
        box.cells(with_network(fewer, Network(NAMES[:3], ((), (), ()))))
    monkeypatch.setattr(whitebox, "MOST_CELLS", 10)
    with pytest.raises(TooLargeError, match="fewer parents"):
        WhiteBox.from_schema(table.schema, codes, reference=DIAMOND)


@pytest.mark.parametrize("network", [DIAMOND, SHUFFLED])
def test_the_places_of_a_target_hold_its_own_chances(network):
    """The entry at the target's value in each family's row is the chance that `nodes` takes the logarithm of."""
    table = sealed()
    targets = codes_of(table)[:6]
    seen = WhiteBox.from_schema(table.schema, targets, reference=DIAMOND)
    model = with_network(table, network)
    cells, nodes = seen.cells(model), seen.nodes(model)
    for k, target in enumerate(targets):
        rows = np.split(cells[seen.places(k)], np.cumsum(SIZES)[:-1])
        own = [row[code] for row, code in zip(rows, target, strict=True)]
        np.testing.assert_allclose(np.log(np.maximum(own, FLOOR)), nodes[k, 1:], rtol=1e-5)
        np.testing.assert_allclose([row.sum() for row in rows], 1.0, rtol=1e-5)
