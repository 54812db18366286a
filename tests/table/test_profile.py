"""Profiles: exact for ordinary columns, bounded and nearly right for endless ones; the same in one batch or many."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chaffinch
from chaffinch.counts import MemoryCounter, StreamCounter
from chaffinch.errors import InputError
from chaffinch.table.formats import delimited, parquet
from chaffinch.table.profile import NumberTally, Profile


@given(st.lists(st.lists(st.integers(-50, 50), max_size=20), min_size=1, max_size=5))
@settings(deadline=None)
def test_batches_add_up(batches):
    tally = NumberTally(max_distinct=10**6)
    for batch in batches:
        tally.add(np.array(batch, dtype=np.int64))
    values, counts = tally.result()
    want, n = np.unique(
        np.concatenate([np.array(b, dtype=np.int64) for b in batches]), return_counts=True
    )
    assert np.array_equal(values, want)
    assert np.array_equal(counts, n)
    assert tally.exact


@pytest.mark.parametrize("kind", ["normal", "heavy", "whole"])
def test_an_endless_column_keeps_its_ranks_mass_and_mean(kind):
    rng = np.random.default_rng(4)
    tally, whole = NumberTally(max_distinct=2000), []
    for _ in range(100):
        batch = rng.normal(size=1000) if kind == "normal" else np.exp(3 * rng.normal(size=1000))
        batch[:200] = 1.25  # a spike that must stay exact
        if kind == "whole":
            batch = np.rint(batch * 1e6).astype(np.int64)
        tally.add(batch)
        whole.append(batch)
    values, counts = tally.result()
    data = np.sort(np.concatenate(whole))
    spike = 1_250_000 if kind == "whole" else 1.25
    assert not tally.exact
    assert len(values) <= 4000
    assert counts.sum() == len(data)
    assert counts[values == spike][0] >= 20_000
    assert (values * counts).sum() == pytest.approx(float(data.sum()), rel=1e-4, abs=1)
    for q in np.linspace(0.01, 0.99, 99):
        estimate = values[np.searchsorted(np.cumsum(counts), q * len(data))]
        low, high = np.searchsorted(data, [estimate, np.nextafter(float(estimate), np.inf)]) / len(
            data
        )
        assert low - 0.01 <= q <= high + 0.01


def test_words_past_the_limit_are_given_up():
    profile = Profile(pa.string(), most_words=100)
    for start in range(0, 300, 50):
        profile.add(pa.array([f"w{i}" for i in range(start, start + 50)]))
    assert profile.too_many_words
    assert not profile.word_counts
    assert profile.n_rows == 300


def test_a_scan_is_fitted_as_a_read_is(tmp_path, monkeypatch, data):
    """Small batches, mixed types, text and typed files: a scan's schema and counts equal those of a read."""
    monkeypatch.setattr(parquet, "BATCH_ROWS", 997)
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 20_000)
    table = chaffinch.read(data / "adult_train.parquet")[:8_000]
    for ending in (".parquet", ".csv", ".arrow"):
        path = tmp_path / f"t{ending}"
        table.write(path)
        scanned, read = chaffinch.scan(path), chaffinch.read(path)
        assert scanned.n_rows == read.n_rows == 8_000
        for a, b in zip(scanned.schema.modelled, read.schema.modelled, strict=True):
            assert a.codec.to_dict() == b.codec.to_dict(), a.name
        cliques = [("age", "income"), ("capital_gain", "sex", "race"), ("native_country",)]
        for a, b in zip(
            StreamCounter(scanned).marginals(cliques),
            MemoryCounter(read).marginals(cliques),
            strict=True,
        ):
            assert a.same(b)
        (weighted,) = StreamCounter(scanned, weight="fnlwgt").marginals([("sex",)])
        assert weighted.same(MemoryCounter(read, weight="fnlwgt").marginals([("sex",)])[0])


def test_nothing_asked_is_still_counted(tmp_path, data):
    scanned = chaffinch.scan(data / "caesarian.csv")
    (marginal,) = StreamCounter(scanned).marginals([()])
    assert marginal.total == 80


def test_a_stream_of_batches_can_be_scanned():
    batches = [pa.record_batch({"a": np.arange(50) % 3, "b": np.arange(50) % 2}) for _ in range(4)]
    reader = pa.RecordBatchReader.from_batches(batches[0].schema, batches)
    scanned = chaffinch.scan(reader)
    assert StreamCounter(scanned).marginals([("a",)])[0].counts.tolist() == [68, 68, 64]


@pytest.mark.slow
def test_memory_stays_bounded_on_a_long_file(tmp_path):
    """Counting 10 million rows takes less than 600 MB more than importing does."""
    import subprocess
    import sys

    path = tmp_path / "long.parquet"
    rng = np.random.default_rng(0)
    schema = pa.schema([(f"c{i}", pa.int8()) for i in range(6)] + [("x", pa.float64())])
    with pq.ParquetWriter(path, schema) as writer:
        for _ in range(10):
            columns = [pa.array(rng.integers(0, 9, 1_000_000), pa.int8()) for _ in range(6)]
            writer.write_table(
                pa.Table.from_arrays(
                    [*columns, pa.array(rng.normal(size=1_000_000))], schema=schema
                )
            )
    code = (
        "import resource, sys, itertools, chaffinch, numba\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "scanned = chaffinch.scan(sys.argv[1])\n"
        "out = chaffinch.StreamCounter(scanned).marginals(list(itertools.combinations(scanned.schema.names, 2)))\n"
        "assert all(m.total == 10_000_000 for m in out)\n"
        "print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)\n"
    )
    used = float(
        subprocess.run(
            [sys.executable, "-c", code, str(path)], capture_output=True, check=True, text=True
        ).stdout
    )
    assert used < 600


def test_a_folder_of_files_is_a_dataset(tmp_path, data):
    import pyarrow.dataset as ds

    for part in range(3):
        pq.write_table(
            pa.table({"a": np.arange(100) % 3, "b": np.arange(100) % (part + 2)}),
            tmp_path / f"{part}.parquet",
        )
    scanned = chaffinch.scan(ds.dataset(tmp_path))
    assert scanned.n_rows == 300
    assert StreamCounter(scanned).marginals([("b",)])[0].counts.tolist() == [
        50 + 34 + 25,
        50 + 33 + 25,
        33 + 25,
        25,
    ]


def test_the_largest_and_the_least_numbers_warn_of_nothing(tmp_path):
    """From the file to the file: 1e-400 is 0, and 1.7e308 can neither be squared nor scaled."""
    import warnings

    import chaffinch

    path = tmp_path / "in.csv"
    path.write_text(
        "a,b,c\n"
        + "".join(f"{i}.5,x,{i}\n1e-400,y,{i + 1}\n1.7e308,x,{i + 2}\n" for i in range(40))
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        chaffinch.BayesNet().fit(path, seed=1).sample(seed=1).write(tmp_path / "out.csv")


_COLUMNS = {
    "whole": pa.array([3, 1, None, 99, 2, 2, 7, -5] * 40, type=pa.int32()),
    "rising": pa.array(range(320)),
    "real": pa.array([0.25, 1.5, float("nan"), None, float("inf"), 3.0, -0.0, 99.0] * 40),
    "text": pa.array(["a", "b", None, "", "99", "c", "a", "b"] * 40),
    "coded": pa.array(["a", "b", None, "c"] * 80).dictionary_encode(),
    "flag": pa.array([True, None, False, True] * 80),
    "date": pa.array([0, 1, None, 5] * 80, type=pa.int32()).cast(pa.date32()),
    "dates": pa.array([0, 1, None, 5] * 80, type=pa.int32()).cast(pa.date32()).dictionary_encode(),
    "bytes": pa.array([b"x", None] * 160),
    "nothing": pa.nulls(320),
}


def _facts(profile):
    values, counts = profile.numbers.result()
    plain = {
        name: value
        for name, value in vars(profile).items()
        if name not in ("numbers", "decimals", "words", "n_missing")
    }
    return {
        **plain,
        "numbers": (values.tolist(), counts.tolist(), profile.numbers.exact),
        "decimals": profile.decimals.tolist(),
        "words": dict(sorted(profile.word_counts.items(), key=str)),
        "n_missing": dict(sorted(profile.n_missing.items(), key=str)),
    }


@given(
    name=st.sampled_from(sorted(_COLUMNS)),
    cuts=st.lists(st.integers(0, 320), max_size=4).map(sorted),
)
@settings(deadline=None, max_examples=60)
def test_profiles_of_parts_merge_into_that_of_the_whole_also_after_a_journey(name, cuts):
    column, missing = _COLUMNS[name], (99, "99", 99.0 if name == "real" else 7)
    whole = Profile(column.type, missing)
    whole.add(column)
    merged = Profile(column.type, missing)
    for start, stop in zip([0, *cuts], [*cuts, 320], strict=True):
        part = Profile(column.type, missing)
        part.add(column[start:stop])
        stream = pa.BufferOutputStream()
        batch = part.to_arrow()
        with pa.ipc.new_stream(stream, batch.schema) as writer:
            writer.write_batch(batch)
        (back,) = pa.ipc.open_stream(stream.getvalue())
        again = Profile.from_arrow(back)
        assert _facts(again) == _facts(part)
        merged.merge(again)
    assert _facts(merged) == _facts(whole)


def test_words_past_the_limit_are_given_up_when_profiles_merge():
    parts = [Profile(pa.string(), most_words=100) for _ in range(2)]
    for i, part in enumerate(parts):
        part.add(pa.array([f"w{60 * i + j}" for j in range(60)]))
    parts[0].merge(parts[1])
    assert parts[0].too_many_words
    assert not parts[0].word_counts


def test_profiles_of_different_columns_do_not_merge():
    with pytest.raises(InputError, match="of one column"):
        Profile(pa.string()).merge(Profile(pa.int64()))
    with pytest.raises(InputError, match="no profile of version 1"):
        Profile.from_arrow(pa.RecordBatch.from_pydict({"a": [1]}))


@pytest.mark.parametrize("sizes", [(700,), (1, 699), (300, 300, 100), (64,) * 10 + (60,)])
def test_groups_of_an_endless_column_do_not_hang_on_batches(monkeypatch, sizes):
    monkeypatch.setattr("chaffinch.table.profile.BLOCK_ROWS", 128)
    values = np.random.default_rng(1).normal(size=700)

    def profile(cuts):
        out = Profile(pa.float64(), numbers=NumberTally(max_distinct=100))
        for start, stop in zip(np.cumsum([0, *cuts]), np.cumsum(cuts), strict=False):
            out.add(pa.array(values[start:stop]))
        return out.numbers.result()

    for a, b in zip(profile(sizes), profile((128,) * 5 + (60,)), strict=True):
        assert np.array_equal(a, b)


@given(
    st.lists(st.integers(-(2**62), 2**62), max_size=4), st.integers(-(2**62), 2**62), st.booleans()
)
@settings(deadline=None)
def test_numbers_close_together_are_counted_as_sorting_counts_them(far, base, real):
    near = base + np.random.default_rng(abs(base) % 2**32).integers(0, 50, 2000)
    numbers = np.concatenate([near, np.array(far, dtype=np.int64)])
    numbers = (numbers % 2**40 if real else numbers).astype(np.float64 if real else np.int64)
    tally = NumberTally()
    tally.add(numbers)
    for a, b in zip(tally.result(), np.unique(numbers, return_counts=True), strict=True):
        assert np.array_equal(a, b)
        assert a.dtype == b.dtype or a.dtype == np.float64
