"""Drawn rows keep the constraints of the schema, by every way of drawing and for every method, and at no cost."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import chaffinch
from chaffinch._base.errors import InputError
from chaffinch.synth import SYNTHESISERS
from chaffinch.synth.constraining import TRIES, keeping
from chaffinch.table import Column, Schema
from chaffinch.table.rules.constraints import AllowedCodes

N = 2000
RULES = (
    "age < 16 implies marital == 'never'",
    "age < 15 implies income == missing",
    "sex == 'm' implies pregnant == false",
)
COLUMNS = (
    Column("age", "integer", type="int64", bounds=(0, 99), bins=7, out_of_range="clip"),
    Column("marital", "categorical", levels=("never", "married", "widowed")),
    Column(
        "income",
        "float",
        type="double",
        bounds=(0, 3000),
        bins=4,
        nullable=True,
        out_of_range="clip",
    ),
    Column("sex", "categorical", levels=("f", "m")),
    Column("pregnant", "boolean", type="bool"),
    Column("town", "categorical", levels=("a", "b", "c")),
)
SCHEMA = Schema(COLUMNS, public=True, rows=N, rules=RULES)


def people(seed: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    age, sex = rng.integers(0, 90, N), rng.choice(["f", "m"], N)
    return pa.table(
        {
            "age": age,
            "marital": np.where(age < 16, "never", rng.choice(["never", "married", "widowed"], N)),
            "income": pa.array(np.where(age < 15, None, rng.normal(1000, 300, N)), pa.float64()),
            "sex": sex,
            "pregnant": (sex == "f") & (rng.random(N) < 0.1),
            "town": rng.choice(["a", "b", "c"], N),
        }
    )


def broken(table) -> int:
    frame = table.data.to_pandas()
    young, adult = frame["age"] < 16, frame["age"] >= 15
    return int(
        (young & (frame["marital"] != "never")).sum()
        + (~adult & frame["income"].notna()).sum()
        + ((frame["sex"] == "m") & frame["pregnant"]).sum()
    )


@pytest.mark.parametrize("name", SYNTHESISERS.names)
@pytest.mark.parametrize("epsilon", [0.05, 1.0, None])
def test_every_method_keeps_them(name, epsilon):
    kind = SYNTHESISERS[name]
    if (kind.promise == "always" and epsilon is None) or (
        kind.promise == "never" and epsilon is not None
    ):
        pytest.skip("the method has no such promise")
    if name == "panel":
        pytest.skip("it refuses constraints: tests/synth/panel")
    settings = kind() if epsilon is None else kind(epsilon=epsilon)
    data = (
        chaffinch.read(people(), replace(SCHEMA, public=False, rows=None))
        if epsilon is None
        else chaffinch.prepare(people(), SCHEMA)
    )
    model = settings.fit(data, seed=3)
    drawn = model.sample(3000, seed=4)
    assert drawn.n_rows == 3000
    assert broken(drawn) == 0
    loose = replace(model, schema=replace(model.schema, rules=()))
    if epsilon == 0.05:
        assert broken(loose.sample(3000, seed=4)) > 0  # the test would see it
    assert model.privacy == loose.privacy


@pytest.fixture(scope="module")
def noisy():
    return chaffinch.BayesNet(epsilon=0.1, delta=1e-6).fit(
        chaffinch.prepare(people(), SCHEMA), seed=3
    )


def test_single_columns_stay_where_the_model_has_them(noisy):
    """Zeros alone would take children away with married children. 20,000 rows: 0.018 is five standard deviations of a difference."""
    loose = replace(noisy, schema=replace(noisy.schema, rules=()))
    kept, free = noisy.sample(20_000, seed=1), loose.sample(20_000, seed=1)
    for name in noisy.schema.names:
        size = noisy.schema[name].size
        shares = [np.bincount(table.code(name), minlength=size) / 20_000 for table in (kept, free)]
        assert np.abs(shares[0] - shares[1]).max() < 0.018 + 0.02, name


def test_seeds_batches_threads_and_files_change_nothing(noisy, tmp_path):
    one, two = noisy.sample(70_000, seed=5, threads=1), noisy.sample(70_000, seed=5, threads=2)
    assert one.data.equals(two.data)
    assert broken(one) == 0
    noisy.save(tmp_path / "m.chaffinch")
    again = chaffinch.load(tmp_path / "m.chaffinch")
    assert again.schema.rules == RULES
    assert again.sample(500, seed=5).data.equals(noisy.sample(500, seed=5).data)


def test_given_values(noisy):
    for given in ({"age": 10}, {"marital": "married"}, {"sex": "m", "town": "a"}):
        rows = noisy.sample(400, given=given, seed=2)
        assert broken(rows) == 0
        for name, value in given.items():
            assert set(rows.data.column(name).to_pylist()) == {value}
    with pytest.raises(
        InputError, match=r"break what the schema says of all records: 'age < 16 implies"
    ):
        noisy.sample(5, given={"age": 10, "marital": "married"})


def test_kept_columns_stay_also_where_they_break_a_constraint():
    table = chaffinch.read(people(), replace(SCHEMA, public=False, rows=None))
    model = chaffinch.BayesNet(keep=("age", "sex")).fit(table, seed=1)
    whole = model.complete(table, keep=("age", "sex"), seed=2)
    assert broken(whole) == 0
    assert whole.data.column("age").equals(table.data.column("age"))


def test_a_row_is_drawn_again_from_where_it_went_wrong():
    group = AllowedCodes(
        ("b", "a"), np.array([[True, True], [False, True]]), ("not (a == 0 and b == 1)",)
    )
    calls = []

    def redraw(n, rng, before):
        calls.append((n, sorted(before)))
        return {
            "a": np.full(n, 9, np.uint32),
            "b": np.zeros(n, np.uint32),
            "c": np.full(n, 7, np.uint32),
            **before,
        }

    codes = {"a": np.array([0, 0, 1]), "b": np.array([1, 0, 1]), "c": np.array([1, 1, 1])}
    out = keeping(codes, [group], np.random.default_rng(0), redraw, order=("a", "b", "c"))
    assert calls == [(1, ["a"])]  # a stays, b and what follows it are drawn again
    assert {name: column.tolist() for name, column in out.items()} == {
        "a": [0, 0, 1],
        "b": [0, 0, 1],
        "c": [7, 1, 1],
    }
    assert codes["b"].tolist() == [1, 0, 1]


def test_what_no_draw_puts_right_is_put_right_by_the_nearest():
    """Three levels each, b must be at least a: of (2, 0) the nearest with one column changed is (2, 2), later columns first."""
    group = AllowedCodes(("a", "b"), np.triu(np.ones((3, 3), dtype=bool)), ("b >= a",))
    calls = []

    def redraw(n, rng, before):
        calls.append(n)
        return {"a": before.get("a", np.full(n, 2)), "b": np.zeros(n, np.uint32)}

    codes = {"a": np.array([2, 1, 0]), "b": np.array([0, 0, 0])}
    out = keeping(codes, [group], np.random.default_rng(0), redraw, order=("a", "b"))
    assert len(calls) == TRIES
    assert (out["a"].tolist(), out["b"].tolist()) == ([2, 1, 0], [2, 1, 0])
    fixed = keeping(
        codes, [group], np.random.default_rng(0), redraw, order=("a", "b"), fixed=("b",)
    )
    assert (fixed["a"].tolist(), fixed["b"].tolist()) == ([0, 0, 0], [0, 0, 0])
