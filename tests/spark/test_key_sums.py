"""Attribution on a cluster is that of `risk` on the same codes, and only sums come to the driver."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chaffinch
import chaffinch.spark as cs
from chaffinch.errors import ClusterError, InputError, UnknownNameError
from chaffinch.spark.blocks import CodeColumns
from chaffinch.spark.counter import RowsSeen
from chaffinch.spark.key_sums import CountKeys, SumKeys, attribution

from ..conftest import make_coded
from .conftest import local_counter


def by_hand(people, source, tau):
    """The definitions, person by person and row by row."""
    keys = lambda row: tuple(row[:-1])  # noqa: E731
    rows_of, cells = Counter(map(keys, source)), Counter(map(tuple, source))
    people_of, people_cells = Counter(map(keys, people)), Counter(map(tuple, people))
    caps = [cells[tuple(p)] / rows_of[keys(p)] for p in people if rows_of[keys(p)]]
    certain = [s for s in source if cells[tuple(s)] / rows_of[keys(s)] >= tau]
    right = [p for p in people if cells[tuple(p)] and cells[tuple(p)] / rows_of[keys(p)] >= tau]
    rates = [people_cells[tuple(s)] / people_of[keys(s)] for s in certain if people_of[keys(s)]]
    return {
        "in_source": len(caps) / len(people),
        "cap": np.mean(caps) if caps else None,
        "dcap": sum(caps) / len(people),
        "disco": len(right) / len(people),
        "tcap": np.mean(rates) if rates else None,
        "tcap_all_rows": sum(rates) / len(certain) if certain else None,
    }


def tables(seed, n_people, n_source):
    rng = np.random.default_rng(seed)
    return tuple(
        make_coded(rng.integers(0, (4, 3, 3), (n, 3)).T, [4, 3, 3]) for n in (n_people, n_source)
    )


@settings(max_examples=25)
@given(
    seed=st.integers(0, 2**20),
    n_people=st.integers(30, 200),
    n_source=st.integers(1, 60),
    parts=st.integers(1, 9),
    tau=st.sampled_from([1.0, 0.6]),
)
def test_rates_are_those_of_the_definitions_in_any_partitions(seed, n_people, n_source, parts, tau):
    people, source = tables(seed, n_people, n_source)
    ours = attribution(
        local_counter(people, parts),
        local_counter(source, parts + 1),
        keys=("c0", "c1"),
        sensitive="c2",
        tau=tau,
    )
    want = by_hand(
        *(
            np.stack([table.codes[j] for j in range(3)], axis=1).tolist()
            for table in (people, source)
        ),
        tau,
    )
    for name, value in want.items():
        got = getattr(ours, name)
        if got is None:
            assert name in ("cap", "tcap", "tcap_all_rows")  # too few people decide it
        else:
            assert got == pytest.approx(value, abs=1e-12), name
    shares = np.bincount(people.code("c2"), minlength=3) / people.n_rows
    assert ours.guess == pytest.approx(float((shares**2).sum()))


def test_a_copy_tells_more_than_a_guess_and_few_people_tell_nothing():
    people, _ = tables(1, 400, 1)
    counter = local_counter(people, 3)
    copied = attribution(counter, counter, keys=("c0", "c1"), sensitive="c2")
    assert copied.in_source == 1
    assert copied.dcap > copied.guess
    assert copied.to_dict()["compared_by"] == "codes of the schema"
    few = local_counter(people[:5], 2)
    alone = attribution(few, counter, keys=("c0",), sensitive="c2")
    assert [alone.in_source, alone.cap, alone.dcap, alone.disco, alone.tcap] == [None] * 5


def test_only_sums_leave_a_task():
    people, source = tables(2, 300, 100)
    parts = [
        CountKeys(local.source, CodeColumns.of(table.schema), ("c0",), "c2", side)(
            iter([batch for part in local.frame.parts for batch in part])
        )
        for side, (table, local) in enumerate((t, local_counter(t, 2)) for t in (people, source))
    ]
    (answer,) = SumKeys(1.0)(batch for part in parts for batch in part)
    assert answer.num_rows == 3
    assert not any(pa.types.is_binary(kind) for kind in answer.schema.types)


def test_bad_use_and_changed_data_are_named():
    people, source = tables(3, 50, 50)
    a, b = local_counter(people, 2), local_counter(source, 2)
    for options, words in (
        ({"keys": (), "sensitive": "c2"}, "one or more different columns"),
        ({"keys": ("c2",), "sensitive": "c2"}, "the sensitive column none of them"),
        ({"keys": ("c0",), "sensitive": "c2", "tau": 0}, "tau must lie"),
    ):
        with pytest.raises(InputError, match=words):
            attribution(a, b, **options)
    with pytest.raises(UnknownNameError, match="c9"):
        attribution(a, b, keys=("c9",), sensitive="c2")
    with pytest.raises(InputError, match="different schemas"):
        attribution(
            a, local_counter(make_coded([[0]] * 3, [4, 3, 9]), 1), keys=("c0",), sensitive="c2"
        )
    with pytest.raises(ClusterError, match="as many rows, but other values"):
        attribution(a, replace(b, rows=RowsSeen(50, 1)), keys=("c0",), sensitive="c2")


def test_on_spark_it_is_the_same(spark, data, tmp_path):
    table = chaffinch.read(data / "cmc.csv")
    pq.write_table(table.data, tmp_path / "a.parquet")
    pq.write_table(table.data.slice(0, 700), tmp_path / "b.parquet")
    scans = [
        cs.scan(spark.read.parquet(str(tmp_path / f"{name}.parquet")).repartition(3), table.schema)
        for name in "ab"
    ]
    keys, sensitive = ("wife_age", "wife_education"), "contraceptive_method"
    with scans[0].coded(tmp_path) as people, scans[1].coded() as source:
        ours = attribution(people, source, keys=keys, sensitive=sensitive)
    codes = np.stack([table.code(name) for name in (*keys, sensitive)], axis=1).tolist()
    want = by_hand(codes, codes[:700], 1.0)
    assert {name: getattr(ours, name) for name in want} == pytest.approx(want, abs=1e-9)
