"""Rows given values: the exact conditional distribution, and clear words for values that cannot be."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
import pytest

import chaffinch
from chaffinch.synth import BayesNet, Independent, Network
from chaffinch.synth.bayesnet import evidence as evidence_module

NAMES = ["c0", "c1", "c2", "c3"]
DIAMOND = Network.of(NAMES, [("c0", "c1"), ("c0", "c2"), ("c1", "c3"), ("c2", "c3")])
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
    with pytest.raises(chaffinch.errors.InputError, match=message) as caught:
        BayesNet(conditionals="tables", parents=2).fit(mixed, seed=1).sample(5, given=given)
    for value in given.values():
        if isinstance(value, str) and len(value) > 3:
            assert value not in str(caught.value)  # no message repeats a cell value


def test_a_level_that_was_never_seen_cannot_occur(coded):
    model = BayesNet(conditionals="tables", parents=1).fit(coded([[0, 0, 1], [0, 1, 1]], [3, 2]))
    with pytest.raises(
        chaffinch.errors.InputError, match="The value given for 'c0' cannot occur in this model"
    ):
        model.sample(5, given={"c0": word(2)})


def test_values_that_never_occur_together(coded, monkeypatch):
    monkeypatch.setattr(evidence_module, "MOST_DRAWS", 100_000)
    table = coded([[0, 1] * 20, [0, 1] * 20, [0, 1] * 20], [2, 2, 2])
    model = BayesNet(conditionals="tables", parents=1, smoothing=0, order=("c0", "c1", "c2")).fit(
        table
    )
    with pytest.raises(
        chaffinch.errors.InputError, match="occur together less than once in a million rows"
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
    with pytest.raises(chaffinch.errors.InputError, match="The value given for 'a' cannot occur"):
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
    with pytest.raises(chaffinch.errors.InputError, match="The value given for 'x' cannot occur"):
        model.sample(5, given={"x": np.array([1, 2])})
