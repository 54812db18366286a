"""Studies of files larger than memory: with a sample of all records, every figure is that of tables in memory."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import chaffinch
from chaffinch.errors import InputError
from chaffinch.table.align import align_files

ADULT = Path(__file__).parents[2] / "examples" / "data"
COUNTED = ("phi_k", "mu", "pearson", "jensen_shannon", "tvd.1", "tvd.2", "tvd.3", "impossible")


def near(a: object, b: object) -> bool:
    """Whether plain data are the same, numbers but for their last digits, less what says which records they are of."""
    if isinstance(a, dict) and isinstance(b, dict):
        keys = (set(a) | set(b)) - {"records"}
        return keys <= set(a) and keys <= set(b) and all(near(a[key], b[key]) for key in keys)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(near, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)
    return a == b


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    """Files come in several batches."""
    monkeypatch.setattr("chaffinch.table.formats.format.BATCH_ROWS", 700)


@pytest.fixture(scope="module")
def adult(tmp_path_factory) -> dict[str, Path]:
    """Adult: the first rows of its two halves, and a synthesis whose batches are small."""
    folder = tmp_path_factory.mktemp("adult")
    train, test = (pq.read_table(ADULT / f"adult_{half}.parquet") for half in ("train", "test"))
    columns = ["age", "workclass", "education", "hours_per_week", "capital_gain", "sex", "income"]
    train, test = (
        table.select([name for name in table.column_names if name in columns])
        for table in (train, test)
    )
    drawn = chaffinch.BayesNet(parents=1).fit(train.slice(0, 4000), seed=1).sample(3500, seed=2)
    tables = {
        "original": train.slice(0, 4000),
        "synthetic": drawn.to_arrow(),
        "holdout": test.slice(0, 2000),
    }
    for name, table in tables.items():
        pq.write_table(table, folder / f"{name}.parquet")
    return {name: folder / f"{name}.parquet" for name in tables}


def test_every_figure_is_that_of_memory_where_the_sample_is_all(adult):
    options = {"label": "income", "models": ["nb"], "repeats": 1, "seed": 3}
    memory = chaffinch.utility(*adult.values(), **options)
    files = chaffinch.utility(
        chaffinch.scan(adult["original"]),
        adult["synthetic"],
        adult["holdout"],
        **options,
        sample_rows=5000,
    )
    assert list(files.results) == list(memory.results)
    assert set(COUNTED) < set(files.results)
    for name, result in memory.results.items():
        assert near(result.to_dict(), files[name].to_dict()), name
        assert near(
            list(vars(memory.references[name]).values()),
            list(vars(files.references[name]).values()),
        ), name
        assert files[name].settings["records"] == ("all" if name in COUNTED else "sample")
        assert "records" not in result.settings
    assert files.about.sample.whole
    assert files.shapes == memory.shapes


def test_counts_are_of_all_records_and_the_rest_says_of_which_sample(adult):
    memory = chaffinch.utility(*adult.values(), label="income", models=["nb"], repeats=1, seed=3)
    files = chaffinch.utility(
        chaffinch.scan(adult["original"]),
        adult["synthetic"],
        adult["holdout"],
        label="income",
        models=["nb"],
        repeats=1,
        seed=3,
        sample_rows=1000,
    )
    for name in COUNTED:
        assert near(memory[name].to_dict(), files[name].to_dict()), name
        assert near(
            list(vars(memory.references[name]).values()),
            list(vars(files.references[name]).values()),
        ), name
    plain = files.to_dict()
    sample = plain["about"]["sample"]
    # About a quarter of 4,000, 3,500 and 2,000: within six standard deviations, which fails twice in a billion
    for side, n in (("original", 4000), ("synthetic", 3500), ("holdout", 2000)):
        assert sample[f"of_{side}"] == n
        assert abs(sample[side] - n / 4) < 6 * math.sqrt(n * 3 / 16)
    assert plain["learning"]["settings"]["records"] == "sample"
    assert plain["tvd"]["2"]["settings"]["records"] == "all"
    first, second, third, *_ = files.about.notes
    assert first.startswith("Of all records: Relations of pairs (phi_k),")
    assert second.startswith("Of a sample: ")
    assert third.startswith(
        f"The sample has {sample['original']:,} of 4,000 original, {sample['synthetic']} of 3,500 synthetic"
    )
    assert sample["sentences"] == [first, second, third]
    assert type(files).from_dict(plain).about.sample == files.about.sample
    again = chaffinch.utility(
        chaffinch.scan(adult["original"]),
        adult["synthetic"],
        adult["holdout"],
        label="income",
        models=["nb"],
        repeats=1,
        seed=3,
        sample_rows=1000,
    )
    assert {**again.to_dict(), "run": 0} == {**plain, "run": 0}


def test_no_codes_stay_behind_also_where_it_fails(adult, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    chaffinch.utility(
        chaffinch.scan(adult["original"]), adult["synthetic"], measures=["tvd"], seed=1
    )
    with pytest.raises(InputError, match="nothing"):
        chaffinch.utility(
            chaffinch.scan(adult["original"]),
            adult["synthetic"],
            formula="income ~ nothing",
            measures=["regression"],
            seed=1,
        )
    assert list(tmp_path.iterdir()) == []


def test_a_sample_of_few_is_refused():
    with pytest.raises(
        InputError, match=r"sample_rows must be a whole number of at least 100\. Got 5"
    ):
        chaffinch.utility(pa.table({"a": [1, 2]}), pa.table({"a": [1, 2]}), sample_rows=5)


def test_files_need_no_others():
    (alone,) = align_files(chaffinch.scan(pa.table({"a": ["x", "y"] * 30, "b": [1, 2, 3] * 20})))
    assert alone.n_rows == 60
