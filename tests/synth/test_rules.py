"""Drawn rows keep the constraints of the schema, by every way of drawing and for every method, and at no cost."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chaffinch
from chaffinch._base.errors import InputError
from chaffinch.synth import SYNTHESISERS
from chaffinch.synth.rules import (
    MOST_WEIGHT,
    TRIES,
    Projection,
    fitted_weights,
    keeping,
    projected_rows,
    projection_of,
)
from chaffinch.table import Column, Schema
from chaffinch.table.rules.constraints import AllowedCodes
from chaffinch.table.rules.keep import rules_broken_by

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


def people_within_rules(seed: int = 1) -> pa.Table:
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
        chaffinch.read(people_within_rules(), replace(SCHEMA, public=False, rows=None))
        if epsilon is None
        else chaffinch.prepare(people_within_rules(), SCHEMA)
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
        chaffinch.prepare(people_within_rules(), SCHEMA), seed=3
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
    for values in ({"age": 10}, {"marital": "married"}, {"sex": "m", "town": "a"}):
        rows = noisy.sample(400, given=values, seed=2)
        assert broken(rows) == 0
        for name, value in values.items():
            assert set(rows.data.column(name).to_pylist()) == {value}
    with pytest.raises(
        InputError, match=r"break what the schema says of all records: 'age < 16 implies"
    ):
        noisy.sample(5, given={"age": 10, "marital": "married"})


def test_kept_columns_stay_also_where_they_break_a_constraint():
    table = chaffinch.read(people_within_rules(), replace(SCHEMA, public=False, rows=None))
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


@settings(deadline=None)
@given(st.integers(0, 200))
def test_columns_keep_their_shares_where_some_table_can_have_them(seed):
    """The shares come from a table with the zeros, spread over forbidden cells as independence would: so some table has them."""
    rng = np.random.default_rng(seed)
    allowed = rng.random((3, 4)) < 0.7
    allowed[0], allowed[:, 0] = True, True
    truth = rng.random((3, 4)) * allowed
    truth /= truth.sum()
    independent = np.outer(truth.sum(axis=1), truth.sum(axis=0))
    weights = fitted_weights(independent, allowed)
    fitted = independent * weights
    assert (fitted[~allowed] == 0).all()
    if weights.max() < MOST_WEIGHT:
        assert np.allclose(fitted.sum(axis=1), truth.sum(axis=1), atol=2e-3)
        assert np.allclose(fitted.sum(axis=0), truth.sum(axis=0), atol=2e-3)


def test_nothing_is_weighted_where_nothing_is_forbidden():
    shares = np.array([[0.1, 0.2], [0.3, 0.4]])
    assert np.allclose(fitted_weights(shares, np.ones((2, 2), dtype=bool)), 1)


GROUP = AllowedCodes(("a", "b"), np.array([[True, False], [True, True]]), ("rule",))


def independent(n, rng):
    return {
        "a": (rng.random(n) < 0.8).astype(np.uint32),
        "b": (rng.random(n) < 0.5).astype(np.uint32),
        "c": rng.integers(0, 9, n).astype(np.uint32),
    }


def test_accepted_rows_keep_columns_and_have_no_forbidden_cell():
    """Counts of 40,000 rows: five standard deviations are 0.0125 at most, passed once in 500,000 a figure."""
    projection = projection_of([GROUP], independent)
    assert projection is not None
    rng = np.random.default_rng(7)
    rows = projected_rows(projection, independent(40_000, rng), 40_000, rng, independent)
    assert len(rows["a"]) == 40_000
    assert GROUP.holds(rows).all()
    assert abs(rows["a"].mean() - 0.8) < 0.0125
    assert abs(rows["b"].mean() - 0.5) < 0.0125


def test_a_model_that_hardly_breaks_them_has_no_projection():
    def nearly(n, rng):
        codes = independent(n, rng)
        codes["b"][(codes["a"] == 0) & (rng.random(n) < 0.999)] = 0
        return codes

    assert projection_of([GROUP], nearly) is None


def test_rows_come_also_where_none_is_accepted():
    never = Projection((GROUP,), (np.array([[1.0, 0.0], [0.0, 0.0]]),))
    rng = np.random.default_rng(1)

    def wrong(n, rng):
        return {name: np.ones(n, dtype=np.uint32) for name in ("a", "b")}

    assert len(projected_rows(never, wrong(5, rng), 5, rng, wrong)["a"]) == 5


N_VISITS = 3000
VISIT_RULES = (
    "after = before + change",
    "start <= end",
    "job determines rank",
    "missing(x) == missing(y)",
)


def visits(seed: int = 1, n: int = N_VISITS) -> pa.Table:
    rng = np.random.default_rng(seed)
    before, change = np.round(rng.normal(100, 20, n), 1), np.round(rng.normal(-5, 4, n), 1)
    start, job, none = rng.integers(18_000, 18_900, n), rng.integers(0, 14, n), rng.random(n) < 0.2
    return pa.table(
        {
            "before": before,
            "change": change,
            "after": np.round(before + change, 1),
            "start": pa.array(start.astype("int32")).cast(pa.date32()),
            "end": pa.array((start + rng.geometric(0.1, n) - 1).astype("int32")).cast(pa.date32()),
            "job": [f"job {i}" for i in job],
            "rank": job * 3 % 14 + 100,
            "x": pa.array(rng.normal(0, 1, n), mask=none),
            "y": pa.array(rng.choice(["u", "v"], n), mask=none),
        }
    )


@pytest.fixture(scope="module")
def visits_table():
    return chaffinch.read(visits())


@pytest.fixture(scope="module")
def model(visits_table):
    return chaffinch.BayesNet().fit(visits_table, seed=1)


def n_broken(drawn) -> dict[str, int]:
    """By hand, from the values: not by the code under test."""
    frame = drawn.data.to_pandas()
    after = (frame["before"] * 10).round() + (frame["change"] * 10).round()
    ranks = frame.groupby("job")["rank"].nunique()
    return {
        VISIT_RULES[0]: int((after != (frame["after"] * 10).round()).sum()),
        VISIT_RULES[1]: int((frame["start"] > frame["end"]).sum()),
        VISIT_RULES[2]: int((ranks > 1).sum()),
        VISIT_RULES[3]: int((frame["x"].isna() != frame["y"].isna()).sum()),
    }


def test_rules_are_found_and_kept(visits_table, model):
    assert set(visits_table.schema.rules) == set(VISIT_RULES)
    loose = replace(model, schema=replace(model.schema, rules=(), functions=()))
    for n, seed in ((3000, 1), (1, 2), (70_000, 3)):
        drawn = model.sample(n, seed=seed)
        assert drawn.n_rows == n
        assert sum(n_broken(drawn).values()) == 0
    assert n_broken(loose.sample(3000, seed=1))[VISIT_RULES[0]] > 2500  # the test would see it
    assert model.sample(500, seed=4).data.equals(model.sample(500, seed=4).data)
    types = dict(zip(visits_table.data.schema.names, visits_table.data.schema.types, strict=True))
    assert dict(zip(drawn.data.schema.names, drawn.data.schema.types, strict=True)) == types
    for name in ("before", "change", "after"):  # its own digits, and codes that go with the values
        numbers = drawn.data.column(name).to_numpy()
        assert np.allclose(numbers * 10, np.rint(numbers * 10))
        assert np.array_equal(drawn.schema[name].codec.encode(numbers), drawn.code(name))


def test_files_given_values_and_kept_columns(visits_table, model, tmp_path):
    model.save(tmp_path / "m.chaffinch")
    again = chaffinch.load(tmp_path / "m.chaffinch")
    assert again.schema.rules == model.schema.rules
    assert again.sample(800, seed=2).data.equals(model.sample(800, seed=2).data)
    given = model.sample(300, seed=1, given={"after": 90.0, "job": "job 3"})
    assert set(given.data.column("after").to_pylist()) == {90.0}
    assert set(given.data.column("job").to_pylist()) == {"job 3"}
    assert sum(n_broken(given).values()) == 0
    kept = (
        chaffinch.BayesNet(keep=("before", "start"))
        .fit(visits_table, seed=1)
        .complete(visits_table, keep=("before", "start"), seed=3)
    )
    assert kept.data.column("before").equals(visits_table.data.column("before"))
    assert sum(n_broken(kept).values()) == 0


def test_columns_stay_where_they_were(visits_table, model):
    """Half the summed difference of shares, 30,000 rows on 20 bins: drawing alone gives 0.01; computing must add no more than 0.02."""
    loose = replace(model, schema=replace(model.schema, rules=(), functions=()))
    kept, free = model.sample(30_000, seed=5), loose.sample(30_000, seed=5)
    for name in visits_table.schema.names:
        drawn = [chaffinch.read(t.data, visits_table.schema) for t in (kept, free)]
        shares = [
            np.bincount(t.code(name), minlength=t.schema[name].size) / t.n_rows for t in drawn
        ]
        assert np.abs(shares[0] - shares[1]).sum() / 2 < 0.03, name


def test_no_number_of_a_record_comes_out_by_a_rule():
    """A record far out and a level of two records: neither its numbers nor what its level determines leave."""
    rows = visits().to_pandas()
    rows.loc[0, ["before", "change", "after"]] = [987.6, 0.3, 987.9]
    rows.loc[1:2, "job"], rows.loc[1:2, "rank"] = "astronaut", 777
    table = chaffinch.read(pa.Table.from_pandas(rows, preserve_index=False))
    assert VISIT_RULES[0] in table.schema.rules
    assert VISIT_RULES[2] in table.schema.rules
    drawn = chaffinch.BayesNet().fit(table, seed=1).sample(60_000, seed=2).data.to_pandas()
    assert drawn["after"].max() < 300
    assert "astronaut" not in set(drawn["job"])
    assert not (drawn["rank"] == 777).any()
    assert (drawn.groupby("job")["rank"].nunique() == 1).all()


VISIT_COLUMNS = (
    Column("before", "float", type="double", bounds=(0, 200), bins=8, decimals=1),
    Column("change", "float", type="double", bounds=(-40, 40), bins=8, decimals=1),
    Column("after", "float", type="double", bounds=(0, 220), bins=8, decimals=1),
    Column("start", "date", type="date32", bounds=(18_000, 19_000), bins=6),
    Column("end", "date", type="date32", bounds=(18_000, 19_100), bins=6),
    Column("job", "categorical", levels=tuple(f"job {i}" for i in range(14))),
    Column("rank", "integer", bounds=(90, 120), bins=10),
    Column("x", "float", type="double", bounds=(-5, 5), bins=4, nullable=True),
    Column("y", "categorical", levels=("u", "v"), nullable=True),
)


@pytest.mark.parametrize(
    "name", [name for name in SYNTHESISERS.names if SYNTHESISERS[name].promise != "never"]
)
def test_declared_rules_cost_nothing_under_a_promise(name):
    data = chaffinch.prepare(
        visits(), Schema(VISIT_COLUMNS, public=True, rows=N_VISITS, rules=VISIT_RULES)
    )
    free = chaffinch.prepare(visits(), Schema(VISIT_COLUMNS, public=True, rows=N_VISITS))
    model, loose = (SYNTHESISERS[name](epsilon=0.5).fit(each, seed=3) for each in (data, free))
    drawn = model.sample(2000, seed=4)
    assert sum(n_broken(drawn).values()) == 0
    assert sum(n_broken(loose.sample(2000, seed=4)).values()) > 0
    assert model.privacy == loose.privacy
    assert not model.schema.functions  # nothing was fitted to records


def test_found_rules_are_no_declaration():
    """A schema that was inferred, called public: what was found in records does not come along."""
    found = chaffinch.read(visits()).schema
    columns = tuple(replace(c, codec=None) for c in VISIT_COLUMNS)
    sealed = chaffinch.prepare(
        visits(), replace(found, columns=columns, public=True, rows=N_VISITS)
    ).schema
    assert found.rules
    assert not sealed.rules
    assert not sealed.functions


def test_protection_wins_over_rules_that_were_found_and_refuses_declared_ones(visits_table):
    model = chaffinch.BayesNet(sensitive=("job",)).fit(visits_table, seed=1)
    assert VISIT_RULES[2] not in model.schema.rules
    assert VISIT_RULES[0] in model.schema.rules
    assert any("declare it sensitive too" in note for note in model.describe().notes)
    frame = model.sample(3000, seed=1).data.to_pandas()
    assert frame.groupby("job")["rank"].nunique().min() > 5
    declared = replace(visits_table, schema=replace(visits_table.schema, found_rules=()))
    with pytest.raises(
        InputError,
        match="ties sensitive column 'job' to columns that protection keeps it apart from",
    ):
        chaffinch.BayesNet(sensitive=("job",)).fit(declared, seed=1)
    both = chaffinch.BayesNet(sensitive=("job", "rank"), protect="together").fit(declared, seed=1)
    assert n_broken(both.sample(2000, seed=1))[VISIT_RULES[2]] == 0


def test_rows_that_nothing_puts_right_borrow_from_others():
    """A model that hardly ever draws what a rule allows: all the same no row breaks it."""
    rng = np.random.default_rng(2)
    low = rng.integers(0, 100, 2000)
    data = pa.table(
        {"low": low, "high": low - rng.integers(-3, 40, 2000), "z": rng.choice(["a", "b"], 2000)}
    )
    schema = replace(
        chaffinch.read(data).schema, rules=("low < high",), found_rules=(), functions=()
    )
    table = chaffinch.read(
        data, Schema(tuple(replace(c, codec=None) for c in schema.columns), rules=("low < high",))
    )
    assert "break what the schema says of all: 'low < high'" in str(table.notes[-1])
    drawn = chaffinch.BayesNet().fit(table, seed=1).sample(3000, seed=1)
    assert not rules_broken_by(drawn)["low < high"].any()
