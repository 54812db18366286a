"""Models: likelihood by enumeration, partial synthesis, streams, any small table."""

from __future__ import annotations

import dataclasses
import datetime
import json
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import chaffinch
from chaffinch._base.errors import ChaffinchError
from chaffinch.counts import MemoryCounter, StreamCounter
from chaffinch.counts.counter import ReferenceCounter
from chaffinch.synth import BayesNet, BayesNetModel, Evolution, Independent, Network
from chaffinch.synth.bayesnet import model as model_module
from chaffinch.table import Scan
from chaffinch.table.sources import open_source

SMALL = Evolution(population_size=20, selection_size=4, generations=10)


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
        chaffinch._base.errors.InputError,
        match="'c0' has other codes in this table than in the model",
    ):
        model.complete(other, keep=["c0"])
    with pytest.raises(
        chaffinch._base.errors.InputError,
        match="'c0' has other codes in this table than in the model",
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
    model = BayesNet(
        network=Network.from_edges(["c0", "c1", "c2"], [("c0", "c1"), ("c1", "c2")])
    ).fit(table)
    with pytest.raises(
        chaffinch._base.errors.InputError, match="'c1' cannot be kept: its parent 'c0' is not"
    ):
        model.complete(table, keep=["c1"])
    with pytest.raises(chaffinch._base.errors.UnknownNameError, match="Unknown column 'c9'"):
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
    with pytest.raises(chaffinch._base.errors.InputError, match="must have the same columns"):
        dataclasses.replace(model, network=other.network)
    with pytest.raises(chaffinch._base.errors.InputError, match="does not belong to the network"):
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


NAMES = ["c0", "c1", "c2", "c3"]
DIAMOND = Network.from_edges(NAMES, [("c0", "c1"), ("c0", "c2"), ("c1", "c3"), ("c2", "c3")])
CASES = {
    "root": {"c0": 1},
    "middle": {"c1": 2},
    "leaf": {"c3": 0},
    "root and leaf": {"c0": 0, "c3": 1},
    "both middles": {"c1": 1, "c2": 1},
    "middle and leaf": {"c2": 0, "c3": 1},
    "all but one": {"c0": 1, "c1": 0, "c3": 1},
}


def word(code: int) -> str:
    return f"v{code:06d}"


@pytest.mark.parametrize("smoothing", [0.0, 1.0])
@pytest.mark.parametrize("case", CASES)
def test_rows_have_the_exact_conditional_distribution(
    case, smoothing, linked, joint_of, count_cells, assert_drawn_from
):
    table = linked(7, [2, 3, 2, 4], 60)
    model = BayesNet(conditionals="tables", network=DIAMOND, smoothing=smoothing).fit(table)
    given = {name: word(code) for name, code in CASES[case].items()}
    drawn = model.sample(40_000, seed=2, given=given)
    assert drawn.n_rows == 40_000
    for name, value in given.items():
        assert set(drawn.data.column(name).to_pylist()) == {value}
    joint = joint_of(model, table, smoothing)
    cut = tuple(CASES[case].get(name, slice(None)) for name in NAMES)
    assert_drawn_from(count_cells(drawn)[cut], joint[cut] / joint[cut].sum())


def test_the_unconditional_distribution_would_be_noticed(
    linked, joint_of, count_cells, assert_drawn_from
):
    """The other end: fixing a leaf without weighing what precedes it gives another distribution."""
    table = linked(7, [2, 3, 2, 4], 60)
    model = BayesNet(conditionals="tables", network=DIAMOND).fit(table)
    joint = joint_of(model, table, 1)
    plain = count_cells(model.sample(40_000, seed=2)).sum(axis=3)
    with pytest.raises(AssertionError):
        assert_drawn_from(plain, joint[..., 0] / joint[..., 0].sum())


def test_all_columns_given(linked):
    model = BayesNet(conditionals="tables", network=DIAMOND).fit(linked(7, [2, 3, 2, 4], 60))
    drawn = model.sample(
        5, seed=0, given={"c0": word(1), "c1": word(0), "c2": word(1), "c3": word(1)}
    )
    assert (
        drawn.data.to_pylist() == [{"c0": word(1), "c1": word(0), "c2": word(1), "c3": word(1)}] * 5
    )


def test_given_rows_are_reproducible_and_threads_do_not_matter(linked):
    model = BayesNet(conditionals="tables", network=DIAMOND).fit(linked(7, [2, 3, 2, 4], 60))
    given = {"c3": word(0)}
    one = model.sample(70_000, seed=5, given=given, threads=1)
    assert one.n_rows == 70_000
    assert model.sample(70_000, seed=5, given=given, threads=3).data.equals(one.data)
    assert model.sample(0, seed=5, given=given).n_rows == 0
    assert model.sample(10, seed=5, given={}).data.equals(model.sample(10, seed=5).data)


@pytest.fixture
def mixed():
    rng = np.random.default_rng(2)
    n = 600
    group = rng.integers(0, 3, n)
    return chaffinch.read(
        pa.table(
            {
                "word": np.array(["x", "y", "z"])[group].tolist(),
                "age": rng.integers(0, 80, n) + 5 * group,
                "height": np.round(rng.normal(size=n) + group, 3),
                "day": pa.array((rng.integers(0, 3000, n)).astype("datetime64[D]")),
                "flag": rng.random(n) < 0.3 + 0.2 * group,
                "holes": pa.array([None if x < 0.2 else round(float(x), 3) for x in rng.random(n)]),
            }
        )
    )


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("word", "y", "y"),
        ("age", 33, 33),
        ("age", "33", 33),
        ("age", np.int64(33), 33),
        ("height", 0.123, 0.123),
        ("height", "0.123", 0.123),
        ("height", 1, 1.0),
        ("day", datetime.date(1973, 2, 3), datetime.date(1973, 2, 3)),
        ("day", "1973-02-03", datetime.date(1973, 2, 3)),
        ("flag", True, True),
        ("flag", "true", True),
        ("holes", None, None),
        ("holes", 0.5, 0.5),
    ],
)
def test_the_value_given_is_the_value_that_comes_out(mixed, name, value, shown):
    drawn = (
        BayesNet(conditionals="tables", parents=2)
        .fit(mixed, seed=1)
        .sample(50, seed=3, given={name: value})
    )
    assert drawn.data.column(name).to_pylist() == [shown] * 50


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"wrod": "x"}, r"Unknown column 'wrod'\. Did you mean 'word'\?"),
        ({"word": "nobody"}, "The value given for 'word' cannot occur"),
        ({"word": 3}, "The value given for 'word' cannot occur"),
        ({"word": None}, "The value given for 'word' cannot occur"),
        ({"word": ["x"]}, "The value given for 'word' cannot occur"),
        ({"word": {"a": 1}}, "The value given for 'word' cannot occur"),
        ({"word": object()}, "The value given for 'word' cannot occur"),
        ({"age": "old"}, "The value given for 'age' cannot occur"),
        ({"age": 3.5}, "The value given for 'age' cannot occur"),
        ({"age": None}, "The value given for 'age' cannot occur"),
        ({"age": 10**30}, "The value given for 'age' cannot occur"),
        ({"age": float("inf")}, "The value given for 'age' cannot occur"),
        ({"age": np.array([1, 2])}, "The value given for 'age' cannot occur"),
        ({"height": float("nan")}, "The value given for 'height' cannot occur"),
        ({"height": float("inf")}, "The value given for 'height' cannot occur"),
        ({"height": "tall"}, "The value given for 'height' cannot occur"),
        ({"day": "soon"}, "The value given for 'day' cannot occur"),
        ({"day": 3.5}, "The value given for 'day' cannot occur"),
        ({"flag": "perhaps"}, "The value given for 'flag' cannot occur"),
    ],
)
def test_values_that_cannot_occur(mixed, given, message):
    with pytest.raises(chaffinch._base.errors.InputError, match=message) as caught:
        BayesNet(conditionals="tables", parents=2).fit(mixed, seed=1).sample(5, given=given)
    for value in given.values():
        if isinstance(value, str) and len(value) > 3:
            assert value not in str(caught.value)  # no message repeats a cell value


def test_a_level_that_was_never_seen_cannot_occur(coded):
    model = BayesNet(conditionals="tables", parents=1).fit(coded([[0, 0, 1], [0, 1, 1]], [3, 2]))
    with pytest.raises(
        chaffinch._base.errors.InputError,
        match="The value given for 'c0' cannot occur in this model",
    ):
        model.sample(5, given={"c0": word(2)})


def test_values_that_never_occur_together(coded, monkeypatch):
    monkeypatch.setattr(model_module, "MOST_DRAWS", 100_000)
    table = coded([[0, 1] * 20, [0, 1] * 20, [0, 1] * 20], [2, 2, 2])
    model = BayesNet(conditionals="tables", parents=1, smoothing=0, order=("c0", "c1", "c2")).fit(
        table
    )
    with pytest.raises(
        chaffinch._base.errors.InputError, match="occur together less than once in a million rows"
    ):
        model.sample(5, seed=0, given={"c0": word(0), "c2": word(1)})


def test_rare_values_are_found_all_the_same(coded):
    rng = np.random.default_rng(0)
    first = rng.integers(0, 2, 20_000)
    rare = np.where((first == 1) & (np.arange(20_000) % 4000 == 7), 1, 0)
    first[rare == 1] = 1
    model = BayesNet(conditionals="tables", parents=1, smoothing=0, order=("c0", "c1")).fit(
        coded([first, rare], [2, 2])
    )
    drawn = model.sample(2000, seed=0, given={"c1": word(1)})
    assert drawn.n_rows == 2000
    assert set(drawn.data.column("c0").to_pylist()) == {word(1)}


def test_independent_columns_take_values_too(mixed):
    drawn = Independent().fit(mixed).sample(20, seed=1, given={"word": "z"})
    assert drawn.data.column("word").to_pylist() == ["z"] * 20


def test_pooled_and_missing_codes_can_be_given():
    frame = pa.table({"a": ["x"] * 50 + ["y"] * 50 + ["rare", "seldom"] * 2, "b": [1, 2] * 52})
    table = chaffinch.read(frame)
    model = BayesNet(conditionals="tables", parents=1).fit(table, seed=0)
    with pytest.raises(
        chaffinch._base.errors.InputError, match="The value given for 'a' cannot occur"
    ):
        model.sample(5, given={"a": "seldom"})  # pooled: the model no longer tells it apart
    assert set(model.sample(9, seed=0, given={"a": "(other)"}).data.column("a").to_pylist()) == {
        "(other)"
    }


def test_a_missing_code_given_comes_out_as_it_would_be_drawn():
    rng = np.random.default_rng(0)
    numbers = np.where(rng.random(300) < 0.3, -8, rng.integers(20, 60, 300))
    schema = chaffinch.Schema(
        (
            chaffinch.Column("x", "integer", type="int64", missing=(-8,)),
            chaffinch.Column("y", "categorical"),
        )
    )
    table = chaffinch.read(
        pa.table({"x": numbers, "y": rng.choice(["p", "q"], 300).tolist()}), schema=schema
    )
    model = BayesNet(conditionals="tables", parents=1).fit(table, seed=0)
    assert -8 in model.sample(100, seed=0).data.column("x").to_pylist()
    assert model.sample(5, seed=0, given={"x": -8}).data.column("x").to_pylist() == [-8] * 5
    with pytest.raises(
        chaffinch._base.errors.InputError, match="The value given for 'x' cannot occur"
    ):
        model.sample(5, given={"x": np.array([1, 2])})


@pytest.fixture
def model(linked):
    return BayesNet(conditionals="tables", parents=2, label="c0", sensitive=("c1",)).fit(
        linked(1, [3, 2, 4, 2], 200), seed=1
    )


def test_a_network_comes_back_through_json(model):
    data, arrays = model.state()
    back = BayesNetModel.from_state(model.schema, json.loads(json.dumps(data)), arrays)
    assert (back.network, back.fitted) == (model.network, model.fitted)
    assert back.sample(50, seed=1).data.equals(model.sample(50, seed=1).data)
    assert data["fitted"]["kept"] == (), "the entry keeps its name in files"


def test_parts_that_do_not_fit_are_refused(model):
    data, arrays = model.state()
    for change in (
        lambda d, a: a.pop("0.0.keys"),
        lambda d, a: a.update({"0.0.codes": a["0.0.codes"].astype(np.int64)}),
        lambda d, a: d["fitted"].update(n_rows=-1),
        lambda d, a: d["fitted"].update(more=1),
        lambda d, a: d["fitted"].pop("kept"),
        lambda d, a: d["fitted"].update(strengths=[]),
        lambda d, a: d["fitted"].update(label="nobody"),
        lambda d, a: d.update(order=list(reversed(d["order"]))),
    ):
        other, tensors = json.loads(json.dumps(data)), dict(arrays)
        change(other, tensors)
        with pytest.raises((ChaffinchError, KeyError)):
            BayesNetModel.from_state(model.schema, other, tensors)
