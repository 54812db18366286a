"""Models: likelihood by enumeration, partial synthesis, streams, any small table."""

from __future__ import annotations

import dataclasses
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import chaffinch
from chaffinch.counts import MemoryCounter, StreamCounter
from chaffinch.counts.counter import ReferenceCounter
from chaffinch.synth import BayesNet, Evolution, Network
from chaffinch.synth.bayesnet.model import BayesNetModel
from chaffinch.table import Scan
from chaffinch.table.sources import open_source

SMALL = Evolution(population=20, selected=4, generations=10)


@pytest.mark.parametrize("smoothing", [0.0, 1.0])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_log_likelihood_equals_enumeration(smoothing, k, linked, coded, joint_of):
    sizes = [2, 3, 2, 4]
    table = linked(9, sizes, 30)
    model = BayesNet(parents=k, score="joint", smoothing=smoothing).fit(table)
    domain = coded(list(zip(*product(*map(range, sizes)), strict=True)), sizes)
    logs = model.log_likelihood(domain)
    joint = joint_of(model, table, smoothing).ravel()
    assert np.exp(logs).sum() == pytest.approx(1)
    assert np.exp(logs) == pytest.approx(joint, abs=1e-14)
    assert (np.isneginf(logs) == (joint == 0)).all()
    assert np.isfinite(model.log_likelihood(table)).all()  # what was seen can occur


def test_log_likelihood_of_no_rows(linked, coded):
    model = BayesNet(parents=1).fit(linked(9, [2, 3], 30))
    assert model.log_likelihood(coded([[], []], [2, 3])).shape == (0,)


def test_tables_of_other_codes_are_refused(linked, coded):
    model = BayesNet(parents=1, keep=("c0",)).fit(linked(9, [2, 3], 30))
    other = coded([[0, 700], [1, 2]], [1000, 3])
    with pytest.raises(
        chaffinch.errors.InputError, match="'c0' has other codes in this table than in the model"
    ):
        model.complete(other, keep=["c0"])
    with pytest.raises(
        chaffinch.errors.InputError, match="'c0' has other codes in this table than in the model"
    ):
        model.log_likelihood(other)


def test_a_new_table_read_with_the_schema_of_the_model(data):
    table = chaffinch.read(data / "diabetes.csv")
    model = BayesNet(parents=2, keep=table.schema.names[:2]).fit(table, seed=0)
    half = table.data.slice(0, 300)
    assert chaffinch.read(half).schema.sizes != model.schema.sizes, (
        "numbers are cut otherwise there, and put on the model's codes"
    )
    assert model.log_likelihood(chaffinch.read(half)) == pytest.approx(
        model.log_likelihood(table)[:300]
    )
    again = chaffinch.read(half, schema=model.schema)
    assert model.log_likelihood(again) == pytest.approx(model.log_likelihood(table)[:300])
    assert model.complete(again, keep=table.schema.names[:2], seed=0).n_rows == 300


# Partial synthesis


def test_kept_columns_stay_and_the_rest_is_drawn_given_them(
    linked, count_cells, assert_drawn_from, joint_of
):
    table = linked(2, [2, 3, 2, 3], 80)
    model = BayesNet(parents=2, score="joint", keep=("c1", "c3"), smoothing=1.0).fit(table)
    rng = np.random.default_rng(0)
    kept = {name: rng.integers(0, 3, 60_000).astype(np.uint32) for name in ("c1", "c3")}
    codes = [kept.get(name, np.zeros(60_000, dtype=np.uint32)) for name in table.schema.names]
    big = chaffinch.Table.from_codes(table.schema, codes, seed=0)
    done = model.complete(big, keep=("c1", "c3"), seed=4)
    for name in ("c1", "c3"):
        assert done.data.column(name).equals(big.data.column(name))
        assert np.array_equal(done.code(name), kept[name])
    joint = joint_of(model, table, 1)
    counts = count_cells(done)
    for i, j in product(range(3), range(3)):
        given_kept = joint[:, i, :, j]
        if given_kept.sum() > 0:
            assert_drawn_from(counts[:, i, :, j], given_kept / given_kept.sum())


def test_numbers_that_are_kept_are_the_very_numbers():
    rng = np.random.default_rng(1)
    frame = pa.table(
        {
            "id": np.arange(400),
            "age": rng.integers(0, 1000, 400),
            "height": pa.chunked_array([rng.normal(size=150), rng.normal(size=250)]),
            "job": rng.choice(["x", "y"], 400).tolist(),
        }
    )
    table = chaffinch.read(frame)
    model = BayesNet(parents=2, keep=("age", "height")).fit(table, seed=0)
    done = model.complete(table, keep=("age", "height"), seed=0)
    assert done.data.column("age").to_pylist() == frame.column("age").to_pylist()
    assert done.data.column("height").to_pylist() == frame.column("height").to_pylist()
    assert done.data.column("job").to_pylist() != frame.column("job").to_pylist()
    for threads in (1, 3):
        assert model.complete(table, keep=("age", "height"), seed=0, threads=threads).data.equals(
            done.data
        )


def test_a_column_is_not_kept_without_its_parents(linked):
    table = linked(2, [2, 3, 2], 80)
    model = BayesNet(network=Network.of(["c0", "c1", "c2"], [("c0", "c1"), ("c1", "c2")])).fit(
        table
    )
    with pytest.raises(
        chaffinch.errors.InputError, match="'c1' cannot be kept: its parent 'c0' is not"
    ):
        model.complete(table, keep=["c1"])
    with pytest.raises(chaffinch.errors.UnknownNameError, match="Unknown column 'c9'"):
        model.complete(table, keep=["c9"])
    assert (
        model.complete(table, keep=["c0", "c1"], seed=0)
        .data.column("c1")
        .equals(table.data.column("c1"))
    )
    assert model.complete(table, keep=["c0", "c1", "c2"], seed=0).data.equals(table.data)


# Engines


def same_tables(one: BayesNetModel, other: BayesNetModel) -> bool:
    arrays = [model.state()[1] for model in (one, other)]
    return (
        one.network == other.network
        and arrays[0].keys() == arrays[1].keys()
        and all(np.array_equal(arrays[0][name], arrays[1][name]) for name in arrays[0])
    )


def test_a_stream_gives_the_same_model_as_memory(linked, tmp_path, how):
    table = linked(3, [2, 3, 4, 2, 3], 500)
    table.write(tmp_path / "t.parquet")
    stream = StreamCounter(Scan(open_source(tmp_path / "t.parquet"), table.schema, table.n_rows))
    for chosen in (
        BayesNet(parents=2, **how, evolution=SMALL),
        BayesNet(
            parents=2,
            label="c0",
            sensitive=("c2", "c3"),
            protect="together",
            **how,
            evolution=SMALL,
        ),
    ):
        memory = chosen.fit(table, seed=6)
        streamed = chosen.fit(stream, seed=6)
        assert same_tables(memory, streamed)
        assert streamed.sample(100, seed=1).data.equals(memory.sample(100, seed=1).data)
        assert streamed.fitted.fitness == pytest.approx(memory.fitted.fitness, abs=1e-9)
        assert same_tables(memory, chosen.fit(ReferenceCounter(table), seed=6))


def test_a_csv_gives_the_same_model_as_memory(data):
    path = data / "cmc.csv"
    assert same_tables(
        BayesNet(parents=2).fit(StreamCounter(chaffinch.scan(path)), seed=0),
        BayesNet(parents=2).fit(chaffinch.read(path), seed=0),
    )


def test_weighted_records_count_by_their_weight():
    frame = pa.table(
        {
            "a": ["x"] * 40 + ["y"] * 40,
            "b": (["p"] * 30 + ["q"] * 10) * 2,
            "w": [3.0] * 40 + [1.0] * 40,
        }
    )
    table = chaffinch.read(frame)
    model = BayesNet(parents=1, smoothing=0).fit(MemoryCounter(table, weight="w"), seed=0)
    shares = {t.child: t for t in model.tables}
    drawn = model.sample(20_000, seed=0)
    share = np.mean([value == "x" for value in drawn.data.column("a").to_pylist()])
    # P(x) = 3/4; six deviations of a share of 20,000 rows are 0.0184.
    assert share == pytest.approx(0.75, abs=0.0184)
    assert set(shares) == {"a", "b", "w"}


# Any table


@st.composite
def small_tables(draw):
    width = draw(st.integers(1, 5))
    sizes = draw(st.lists(st.integers(1, 5), min_size=width, max_size=width))
    n = draw(st.integers(0, 25))
    codes = [draw(st.lists(st.integers(0, size - 1), min_size=n, max_size=n)) for size in sizes]
    return codes, sizes


@given(
    small_tables(),
    st.sampled_from(
        [("ordering", None), ("ordering", "pairwise"), ("greedy", None), ("genetic", None)]
    ),
    st.integers(1, 6),
    st.sampled_from([0.0, 0.3, 1.0]),
    st.integers(0, 30),
)
@settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_small_table_fits_and_samples(coded, drawn, search, k, smoothing, n_rows):
    codes, sizes = drawn
    table = coded(codes, sizes)
    model = BayesNet(
        parents=k, search=search[0], score=search[1], smoothing=smoothing, evolution=SMALL
    ).fit(table, seed=1)
    assert model.network.most_parents <= min(k, len(sizes) - 1)
    assert sorted(model.network.order) == sorted(table.schema.names)
    rows = model.sample(n_rows, seed=2)
    assert rows.n_rows == n_rows
    assert rows.schema == table.schema
    assert rows.data.schema.equals(table.data.schema)
    for table_of in model.tables:
        table_of.check()
    if n_rows:
        assert np.isfinite(model.log_likelihood(rows)).all()  # what is drawn can occur
    if table.n_rows and smoothing == 0:
        assert (model.log_likelihood(table) <= 1e-12).all()


@given(
    st.lists(
        st.tuples(
            st.one_of(st.none(), st.integers(-50, 50)),
            st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False, width=32)),
            st.one_of(st.none(), st.text(max_size=3)),
            st.booleans(),
        ),
        min_size=2,
        max_size=40,
    ),
    st.integers(1, 3),
)
@settings(max_examples=60, deadline=None)
def test_any_small_table_of_mixed_types_keeps_its_schema(rows, k):
    kinds = [pa.int64(), pa.float64(), pa.string(), pa.bool_()]
    frame = pa.table(
        {f"x{i}": pa.array([row[i] for row in rows], kind) for i, kind in enumerate(kinds)}
    )
    table = chaffinch.read(frame)
    if not table.schema.names:
        return
    model = BayesNet(parents=k).fit(table, seed=1)
    drawn = model.sample(20, seed=2)
    assert drawn.n_rows == 20
    written = [column for column in table.schema if column.written]
    assert list(drawn.schema) == written
    assert [drawn.data.schema.field(c.name).type for c in written] == [
        frame.schema.field(c.name).type for c in written
    ]


# The model itself


def test_models_check_that_their_parts_belong_together(linked):
    model = BayesNet(parents=1).fit(linked(0, [2, 3, 2], 50))
    other = BayesNet(parents=1).fit(linked(0, [2, 3], 50))
    with pytest.raises(chaffinch.errors.InputError, match="must have the same columns"):
        dataclasses.replace(model, network=other.network)
    with pytest.raises(chaffinch.errors.InputError, match="does not belong to the network"):
        dataclasses.replace(model, tables=model.tables[::-1])


def test_models_are_frozen_and_show_themselves(linked):
    model = BayesNet(parents=1, label="c0", sensitive=("c1",)).fit(linked(0, [2, 3, 2], 50))
    with pytest.raises(dataclasses.FrozenInstanceError):
        model.network = None
    assert repr(model).startswith("BayesNetModel(3 columns, ")
    assert "sensitive" in model._repr_html_()
    shown = model.to_dict()
    assert shown["nodes"] == ["c0", "c1", "c2"]
    assert ["c0", "c1"] in shown["edges"]
    assert len(shown["strengths"]) == len(shown["edges"])
    assert shown["order"][0] == "c0"


def test_strengths_are_the_pairwise_information_of_edges(linked, information):
    table = linked(3, [2, 3, 4, 2], 200)
    model = BayesNet(parents=3, score="joint").fit(table)
    names = table.schema.names
    rows = np.stack([table.code(name) for name in names], axis=1).tolist()
    for (parent, child), strength in zip(model.network.edges, model.fitted.strengths, strict=True):
        assert strength == pytest.approx(
            information(rows, names.index(child), [names.index(parent)]), abs=1e-12
        )
    for child in names:  # strongest first: the last to be dropped when a combination is unseen
        result = [
            information(rows, names.index(child), [names.index(p)]) for p in model.network[child]
        ]
        assert result == sorted(result, reverse=True)
