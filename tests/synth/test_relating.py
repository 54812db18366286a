"""Drawn rows keep relations between columns: every method, every way of drawing, at no cost, and without a number of a record."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import chaffinch
from chaffinch._base.errors import InputError
from chaffinch.synth import SYNTHESISERS
from chaffinch.table import Column, Schema
from chaffinch.table.rules.keep import rules_broken_by

N = 3000
RULES = (
    "after = before + change",
    "start <= end",
    "job determines rank",
    "missing(x) == missing(y)",
)


def visits(seed: int = 1, n: int = N) -> pa.Table:
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
def table():
    return chaffinch.read(visits())


@pytest.fixture(scope="module")
def model(table):
    return chaffinch.BayesNet().fit(table, seed=1)


def n_broken(drawn) -> dict[str, int]:
    """By hand, from the values: not by the code under test."""
    frame = drawn.data.to_pandas()
    after = (frame["before"] * 10).round() + (frame["change"] * 10).round()
    ranks = frame.groupby("job")["rank"].nunique()
    return {
        RULES[0]: int((after != (frame["after"] * 10).round()).sum()),
        RULES[1]: int((frame["start"] > frame["end"]).sum()),
        RULES[2]: int((ranks > 1).sum()),
        RULES[3]: int((frame["x"].isna() != frame["y"].isna()).sum()),
    }


def test_rules_are_found_and_kept(table, model):
    assert set(table.schema.rules) == set(RULES)
    loose = replace(model, schema=replace(model.schema, rules=(), functions=()))
    for n, seed in ((3000, 1), (1, 2), (70_000, 3)):
        drawn = model.sample(n, seed=seed)
        assert drawn.n_rows == n
        assert sum(n_broken(drawn).values()) == 0
    assert n_broken(loose.sample(3000, seed=1))[RULES[0]] > 2500  # the test would see it
    assert model.sample(500, seed=4).data.equals(model.sample(500, seed=4).data)
    types = dict(zip(table.data.schema.names, table.data.schema.types, strict=True))
    assert dict(zip(drawn.data.schema.names, drawn.data.schema.types, strict=True)) == types
    for name in ("before", "change", "after"):  # its own digits, and codes that go with the values
        numbers = drawn.data.column(name).to_numpy()
        assert np.allclose(numbers * 10, np.rint(numbers * 10))
        assert np.array_equal(drawn.schema[name].codec.encode(numbers), drawn.code(name))


def test_files_given_values_and_kept_columns(table, model, tmp_path):
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
        .fit(table, seed=1)
        .complete(table, keep=("before", "start"), seed=3)
    )
    assert kept.data.column("before").equals(table.data.column("before"))
    assert sum(n_broken(kept).values()) == 0


def test_columns_stay_where_they_were(table, model):
    """Half the summed difference of shares, 30,000 rows on 20 bins: drawing alone gives 0.01; computing must add no more than 0.02."""
    loose = replace(model, schema=replace(model.schema, rules=(), functions=()))
    kept, free = model.sample(30_000, seed=5), loose.sample(30_000, seed=5)
    for name in table.schema.names:
        drawn = [chaffinch.read(t.data, table.schema) for t in (kept, free)]
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
    assert RULES[0] in table.schema.rules
    assert RULES[2] in table.schema.rules
    drawn = chaffinch.BayesNet().fit(table, seed=1).sample(60_000, seed=2).data.to_pandas()
    assert drawn["after"].max() < 300
    assert "astronaut" not in set(drawn["job"])
    assert not (drawn["rank"] == 777).any()
    assert (drawn.groupby("job")["rank"].nunique() == 1).all()


COLUMNS = (
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
    data = chaffinch.prepare(visits(), Schema(COLUMNS, public=True, rows=N, rules=RULES))
    free = chaffinch.prepare(visits(), Schema(COLUMNS, public=True, rows=N))
    model, loose = (SYNTHESISERS[name](epsilon=0.5).fit(each, seed=3) for each in (data, free))
    drawn = model.sample(2000, seed=4)
    assert sum(n_broken(drawn).values()) == 0
    assert sum(n_broken(loose.sample(2000, seed=4)).values()) > 0
    assert model.privacy == loose.privacy
    assert not model.schema.functions  # nothing was fitted to records


def test_found_rules_are_no_declaration():
    """A schema that was inferred, called public: what was found in records does not come along."""
    found = chaffinch.read(visits()).schema
    columns = tuple(replace(c, codec=None) for c in COLUMNS)
    sealed = chaffinch.prepare(
        visits(), replace(found, columns=columns, public=True, rows=N)
    ).schema
    assert found.rules
    assert not sealed.rules
    assert not sealed.functions


def test_protection_wins_over_rules_that_were_found_and_refuses_declared_ones(table):
    model = chaffinch.BayesNet(sensitive=("job",)).fit(table, seed=1)
    assert RULES[2] not in model.schema.rules
    assert RULES[0] in model.schema.rules
    assert any("declare it sensitive too" in note for note in model.describe().notes)
    frame = model.sample(3000, seed=1).data.to_pandas()
    assert frame.groupby("job")["rank"].nunique().min() > 5
    declared = replace(table, schema=replace(table.schema, found=()))
    with pytest.raises(
        InputError,
        match="ties sensitive column 'job' to columns that protection keeps it apart from",
    ):
        chaffinch.BayesNet(sensitive=("job",)).fit(declared, seed=1)
    both = chaffinch.BayesNet(sensitive=("job", "rank"), protect="together").fit(declared, seed=1)
    assert n_broken(both.sample(2000, seed=1))[RULES[2]] == 0


def test_rows_that_nothing_puts_right_borrow_from_others():
    """A model that hardly ever draws what a rule allows: all the same no row breaks it."""
    rng = np.random.default_rng(2)
    low = rng.integers(0, 100, 2000)
    data = pa.table(
        {"low": low, "high": low - rng.integers(-3, 40, 2000), "z": rng.choice(["a", "b"], 2000)}
    )
    schema = replace(chaffinch.read(data).schema, rules=("low < high",), found=(), functions=())
    table = chaffinch.read(
        data, Schema(tuple(replace(c, codec=None) for c in schema.columns), rules=("low < high",))
    )
    assert "break what the schema says of all: 'low < high'" in str(table.notes[-1])
    drawn = chaffinch.BayesNet().fit(table, seed=1).sample(3000, seed=1)
    assert not rules_broken_by(drawn)["low < high"].any()
