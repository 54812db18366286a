"""Tables on Spark are measured as in memory: figures of counts are the same in any partitions, and a sample is a fair one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import chaffinch
import chaffinch.spark as cs
from chaffinch.errors import ClusterError, InputError, TooLargeError
from chaffinch.risk import RiskSettings, measure_risk
from chaffinch.spark import frames
from chaffinch.spark.counter import RowsSeen
from chaffinch.stats.pair import counter_of, dealt_there
from chaffinch.table.align import align
from chaffinch.table.groups import GROUP, group_column
from chaffinch.table.sample import choose_slice
from chaffinch.utility import UtilitySettings, measure_utility

from .conftest import LocalOrigin, local_grid

COUNTED = ("phi_k", "pearson", "jensen_shannon", "tvd", "impossible")
KEYS, SENSITIVE = (
    ("wife_age", "wife_education", "num_children"),
    ("contraceptive_method", "wife_religion"),
)


@pytest.fixture(scope="module")
def three(data):
    """An original, a synthetic table and a holdout; one of the others has a level and missing values that the original lacks."""
    whole = chaffinch.read(data / "cmc.csv").data
    original = chaffinch.read(whole.slice(0, 700), rare="keep")
    drawn = chaffinch.BayesNet(parents=2).fit(original, seed=1).sample(500, seed=2).data
    ages = pa.array(
        [
            None if i % 50 == 0 else age
            for i, age in enumerate(drawn.column("wife_age").to_pylist())
        ],
        drawn.schema.field("wife_age").type,
    )
    return (
        original,
        drawn.set_column(drawn.column_names.index("wife_age"), "wife_age", ages),
        whole.slice(700, 400),
    )


def close(first, second):
    return (first is None and second is None) or first == pytest.approx(second, abs=1e-12)


@pytest.mark.parametrize("n_parts", [1, 2, 7, 97])
def test_measures_of_counts_are_those_of_memory_in_any_partitions(three, n_parts, tmp_path):
    original, synthetic, holdout = three
    settings = UtilitySettings(
        measures=COUNTED if n_parts < 97 else ("jensen_shannon", "impossible")
    )
    ours = measure_utility(
        LocalOrigin(original, n_parts, tmp_path), synthetic, holdout, settings, seed=3
    )
    want = measure_utility(original, synthetic, holdout, settings, seed=3)
    assert list(ours.results) == list(want.results)
    for name, result in want.results.items():
        mine = ours.results[name]
        assert close(mine.value, result.value), name
        assert mine.settings["records"] == "all"
        assert close(ours.references[name].holdout, want.references[name].holdout), name
        assert close(ours.references[name].marginals, want.references[name].marginals), (
            name
        )  # drawn by workers, from the same streams
        low, high = mine.interval
        assert low <= mine.value <= high
    assert [note for note in ours.about.notes if not note.startswith("Of all records")] == list(
        want.about.notes
    )
    assert list(tmp_path.iterdir()) == []  # no codes stay behind


def test_records_are_dealt_evenly_and_always_alike(three, tmp_path):
    original, synthetic, _ = three
    with local_grid(original, synthetic, n_parts=5, folder=tmp_path) as (first, _):
        wide = dealt_there(first, group_column())
        (groups,) = counter_of(wide).marginals([(GROUP,)])
        (again,) = counter_of(
            replace(wide, remote=replace(wide.remote, _counters={}, _marginals={}))
        ).marginals([(GROUP,)])
    assert groups.total == original.n_rows
    assert np.ptp(groups.dense()) <= 5  # one more or less in each of five partitions
    assert (groups.dense() == again.dense()).all()


def test_a_resample_has_each_record_a_poisson_number_of_times(three, tmp_path):
    """Mean and variance of the shares of a column: each is within 5 standard errors of the original's, once in a million if right."""
    original, synthetic, _ = three
    name = "contraceptive_method"
    with local_grid(original, synthetic, n_parts=3, folder=tmp_path) as (first, _):
        (mine,) = counter_of(first).marginals([(name,)])
        totals, counts = [], []
        for seed in range(60):
            again = first.remote.resampled(700, np.random.SeedSequence(seed))
            (own,) = counter_of(replace(first, remote=again)).marginals([(name,)])
            assert again.count_rows() == own.total
            totals.append(own.total)
            counts.append(own.dense())
    assert abs(np.mean(totals) - 700) < 5 * np.sqrt(700 / 60)
    expected = mine.dense()
    assert (np.abs(np.mean(counts, axis=0) - expected) < 5 * np.sqrt(expected / 60)).all()
    assert np.var(totals) == pytest.approx(700, rel=5 * np.sqrt(2 / 60))


@pytest.mark.parametrize("n_parts", [2, 7])
def test_attacks_that_count_are_those_of_memory(three, n_parts, tmp_path, cells_added_here):
    original, synthetic, holdout = three
    settings = RiskSettings(
        keys=KEYS,
        sensitive=SENSITIVE,
        label="contraceptive_method",
        attackers=("gcap",),
        resamples=50,
    )
    ours = measure_risk(
        LocalOrigin(original, n_parts, tmp_path), synthetic, holdout, settings, seed=3
    )
    want = measure_risk(original, synthetic, holdout, settings, seed=3)
    assert [attack.measure for attack in ours.attacks] == [
        attack.measure for attack in want.attacks
    ]
    for mine, other in zip(ours.attacks, want.attacks, strict=True):
        for figure in ("value", "holdout", "guess", "original", "n_matched", "coarse"):
            assert (
                close(getattr(mine, figure), getattr(other, figure))
                if figure != "coarse"
                else mine.coarse == other.coarse
            ), (mine.measure, figure)
        assert mine.records == (
            "all" if mine.measure in ("cap", "dcap", "disco", "tcap") else "sample"
        )
    assert ours.funnel == want.funnel
    assert ours.memorisation.rows_equal == want.memorisation.rows_equal
    assert ours.about.original == want.about.original
    # Sources that are drawn: others than in memory, of the same kind. Of 500 rows, both lie far from the original's own.
    by_label = [
        (a.label_only, b.label_only)
        for a, b in zip(ours.attacks, want.attacks, strict=True)
        if b.label_only is not None and a.measure == "dcap"
    ]
    assert by_label
    assert all(mine == pytest.approx(other, abs=0.15) for mine, other in by_label)


def test_bins_and_pooled_levels_are_compared_as_in_memory(three, tmp_path, cells_added_here):
    original, synthetic, holdout = three
    for options in ({"numeric": "bins", "rare": "pool"}, {"tolerance": {"wife_age": 5.0}}):
        settings = RiskSettings(
            keys=KEYS,
            sensitive=SENSITIVE[:1],
            measures=("cap",),
            attackers=(),
            tests=(),
            resamples=20,
            **options,
        )
        ours = measure_risk(
            LocalOrigin(original, 4, tmp_path), synthetic, holdout, settings, seed=3
        )
        want = measure_risk(original, synthetic, holdout, settings, seed=3)
        for mine, other in zip(ours.attacks, want.attacks, strict=True):
            assert close(mine.value, other.value)
            assert close(mine.holdout, other.holdout)
            assert mine.coarse == other.coarse


def test_a_slice_by_values_is_the_same_in_any_partitions_and_holds_copies_with_their_people(
    three, tmp_path
):
    original, _, _ = three
    copied = original.data.slice(100, 400)
    chosen = []
    for n_parts in (1, 9):
        with local_grid(original, copied, n_parts=n_parts, folder=tmp_path) as aligned:
            sample, by = choose_slice(
                dict(zip(("original", "synthetic"), aligned, strict=True)), 200, key=5
            )
        assert by == "values"
        chosen.append(sample)
    for side in ("original", "synthetic"):
        assert chosen[0][side].data.equals(chosen[1][side].data)
    rows = {
        side: {tuple(row.values()) for row in table.data.to_pylist()}
        for side, table in chosen[0].items()
    }
    people = {tuple(row.values()) for row in align(original, copied)[1].data.to_pylist()}
    assert rows["original"] & people == rows["synthetic"]
    assert chosen[0]["original"].data.to_pylist() != sorted(
        chosen[0]["original"].data.to_pylist(), key=str
    )


def test_rows_that_are_too_alike_do_not_come_to_the_driver(tmp_path):
    """Every row is the same: a slice by values has all of them or none, so that rows are chosen by place."""
    table = pa.table({"a": ["x", "y"] + ["x"] * 3998, "b": ["p", "q"] + ["p"] * 3998})
    with local_grid(chaffinch.read(table), table, n_parts=3, folder=tmp_path) as aligned:
        for key in range(4):
            sample, by = choose_slice(
                dict(zip(("original", "synthetic"), aligned, strict=True)), 200, key=key
            )
            assert by == "place"
            assert 100 < sample["original"].n_rows < 300  # 200 and 7 standard errors


def test_rows_that_change_are_found_in_every_pass(three, tmp_path, cells_added_here):
    original, synthetic, _ = three
    with local_grid(original, synthetic, n_parts=3, folder=tmp_path) as (first, _):
        other = replace(
            first.remote,
            rows=RowsSeen(700, first.remote.rows.checksum + 1),
            _counters={},
            _marginals={},
        )
        for ask in (
            lambda: other.counter(group_column(), 1 << 22),
            lambda: other.chosen(0.5, 1, "place", np.inf),
        ):
            with pytest.raises(ClusterError, match="as many rows, but other values"):
                ask()
        fewer = replace(first.remote, rows=RowsSeen(699, 0))
        with pytest.raises(ClusterError, match="another number of rows"):
            fewer.key_counts(
                lambda part, place: {"a": part.code("wife_age").astype(np.int64)},
                ["wife_age"],
                [("a",)],
                {"a": 100},
            )


def test_too_many_combinations_are_refused(three, tmp_path, cells_added_here, monkeypatch):
    original, synthetic, _ = three
    monkeypatch.setattr(frames, "MOST_SPARSE", 20)
    settings = RiskSettings(keys=KEYS, sensitive=SENSITIVE, tests=())
    with pytest.raises(TooLargeError, match="Attack with fewer keys"):
        measure_risk(LocalOrigin(original, 2, tmp_path), synthetic, None, settings, seed=3)


# On Spark.


@pytest.fixture(scope="module")
def on_spark(spark, three, tmp_path_factory):
    folder = tmp_path_factory.mktemp("three")
    places = []
    for name, table in zip("abc", (three[0].data, *three[1:]), strict=True):
        pq.write_table(table, folder / f"{name}.parquet")
        places.append(spark.read.parquet(str(folder / f"{name}.parquet")))
    return places


def test_on_spark_counts_are_those_of_memory(on_spark, three, tmp_path):
    """All rows in one of seven partitions, and a shared folder for codes."""
    first, second, third = on_spark
    scanned = cs.scan(first.coalesce(1).union(first.limit(0)), three[0].schema)
    settings = UtilitySettings(measures=("phi_k", "pearson", "impossible"), sample_rows=100)
    ours = measure_utility(
        replace(scanned, cache=str(tmp_path)), second.repartition(5), third, settings, seed=3
    )
    want = measure_utility(*three, replace(settings, sample_rows=100_000), seed=3)
    for name, result in want.results.items():
        assert close(ours.results[name].value, result.value), name
        assert close(ours.references[name].holdout, want.references[name].holdout), name
    assert not any(tmp_path.iterdir())


def test_on_spark_attacks_are_those_of_memory(on_spark, three):
    settings = RiskSettings(
        keys=KEYS,
        sensitive=SENSITIVE[:1],
        label="wife_religion",
        measures=("cap", "tcap"),
        attackers=("gcap",),
        tests=("exact_row",),
        resamples=20,
    )
    ours = measure_risk(
        cs.scan(on_spark[0].repartition(3), three[0].schema),
        on_spark[1],
        on_spark[2],
        settings,
        seed=3,
    )
    want = measure_risk(*three, settings, seed=3)
    for mine, other in zip(ours.attacks, want.attacks, strict=True):
        assert close(mine.value, other.value), mine.measure
        assert close(mine.holdout, other.holdout), mine.measure
        assert close(mine.guess, other.guess), mine.measure
    assert all(
        attack.label_only is not None and attack.marginals_only is not None
        for attack in ours.attacks
    )


def test_on_spark_tables_that_do_not_fit_are_named(on_spark, three):
    scanned = cs.scan(on_spark[0], three[0].schema)
    for other, words in (
        (on_spark[1].drop("wife_age"), "lacks columns of the original: wife_age"),
        (pa.table({"a": [1]}), "A Spark DataFrame is needed"),
    ):
        with pytest.raises(InputError, match=words), scanned.beside(other):
            pass
    columns = tuple(
        replace(column, role="weight") if column.name == "wife_age" else column
        for column in scanned.schema
    )
    weighted = replace(scanned, schema=replace(scanned.schema, columns=columns))
    with pytest.raises(InputError, match="records have weights"), weighted.beside(on_spark[1]):
        pass


def test_a_column_may_have_any_name(tmp_path):
    """Also that of the groups which intervals are made of."""
    rng = np.random.default_rng(1)
    rows = [
        pa.table(
            {
                "group": rng.choice(["a", "b"], 300),
                "clique": rng.choice(["p", "q"], 300),
                "n": rng.integers(0, 4, 300),
            }
        )
        for _ in range(2)
    ]
    original = chaffinch.read(rows[0])
    settings = UtilitySettings(measures=COUNTED)
    ours = measure_utility(LocalOrigin(original, 3, tmp_path), rows[1], None, settings, seed=3)
    want = measure_utility(original, rows[1], None, settings, seed=3)
    assert all(
        close(ours.results[name].value, result.value) for name, result in want.results.items()
    )
