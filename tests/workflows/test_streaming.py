"""Fits of files batch by batch: what memory gives, byte by byte, and clear words where all rows are needed."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv as pv
import pyarrow.parquet as pq
import pytest

from chaffinch.counts import coded
from chaffinch.counts.coded import coded_scan
from chaffinch.table import code_cache, sources
from chaffinch.table.formats import delimited, parquet


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The folder of temporary files, empty."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    return tmp_path / "tmp"


class Written(NamedTuple):
    """What a synthesis wrote, and under a promise said: no record may decide that."""

    table: bytes
    model: bytes
    account: dict[str, Any]
    said: str


@pytest.fixture
def synthesised_alike(run_here, tmp_path, temporary):
    """Synthesise by both engines, which write the same and leave nothing behind; return what they wrote. A promise does not allow a seed: it is for such tests alone."""

    def synthesise(source, *options, ending="csv"):
        written = {}
        for name in ("memory", "stream"):
            out, model, account = (tmp_path / f"{name}.{end}" for end in (ending, "model", "json"))
            files = ("-o", out, "--model", model, "--json", account)
            done = run_here("synth", source, *files, "--engine", name, "--seed", 4, *options)
            assert done.code == 0, done.err
            told = json.loads(account.read_text())
            private = "--epsilon" in options
            assert told.pop("run", {}) == {} if private else told.pop("run")["engine"] == name
            said = done.err.replace(name, "") if private else ""
            written[name] = Written(out.read_bytes(), model.read_bytes(), told, said)
        assert written["memory"] == written["stream"]
        assert list(temporary.iterdir()) == []
        return written["stream"]

    return synthesise


@pytest.fixture
def people_in_batches(tmp_path, data, monkeypatch, temporary):
    """A Parquet file with words, numbers, dates, missing values and a function among its rules, that comes in many batches."""
    monkeypatch.setattr(parquet, "BATCH_ROWS", 1_111)
    rng = np.random.default_rng(3)
    adult = pq.read_table(
        data / "adult_train.parquet",
        columns=["age", "workclass", "education", "education_num", "sex", "income"],
    ).slice(0, 4_000)
    seen = pa.array(
        rng.integers(18_000, 19_000, 4_000).astype(np.int32), mask=rng.random(4_000) < 0.1
    ).cast(pa.date32())
    path = tmp_path / "people.parquet"
    pq.write_table(
        adult.append_column("seen", seen).append_column(
            "cost", pa.array(rng.lognormal(size=4_000).round(2))
        ),
        path,
    )
    return path


@pytest.mark.parametrize("method", ["bayesnet", "bayesnet:conditionals=tables", "independent"])
@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_engines_write_the_same_bytes(synthesised_alike, people_in_batches, method, ending):
    synthesised_alike(people_in_batches, "--method", method, ending=ending)


def test_engines_write_the_same_bytes_of_a_wide_table(synthesised_alike, tmp_path, monkeypatch):
    """150 columns, of which the cache has many blocks and files, tables are counted in many passes, columns are held in turn and rows are drawn in many batches."""
    rng = np.random.default_rng(5)
    hidden = rng.normal(size=(8, 400))
    columns = {}
    for j in range(150):
        value = hidden[j % 8] + 0.7 * rng.normal(size=400)
        columns[f"c{j}"] = (
            value.round(1)
            if j % 3 == 0
            else np.clip(value * 2, -4, 4).astype(int).astype(str)
            if j % 3 == 1
            else value > 0.5
        )
    path = tmp_path / "wide.parquet"
    pq.write_table(pa.table(columns), path)
    for place, value in {
        "table.code_cache.BLOCK_BYTES": 20_000,
        "table.code_cache.FEWEST_ROWS": 16,
        "table.code_cache.FILE_BYTES": 50_000,
        "counts.entropies.BUDGET": 20_000,
        "counts.entropies.TILE_LEVELS": 100,
        "counts.code_entropies.HELD_BYTES": 30_000,
        "synth.bayesnet.trees.MOST_CELLS": 5_000,
        "synth.model.BATCH_CELLS": 64 * 150,
        "synth.model.LEAST_ROWS": 16,
    }.items():
        monkeypatch.setattr(f"chaffinch.{place}", value)
    assert len(synthesised_alike(path).account["network"]["edges"]) > 100


@pytest.mark.parametrize("method", ["bayesnet", "bayesnet:conditionals=tables", "independent"])
@pytest.mark.parametrize("how", ["option", "role", "keep"])
def test_records_with_weights_are_counted_batch_by_batch(
    synthesised_alike, people_in_batches, tmp_path, monkeypatch, method, how
):
    """The same bytes: sums of weights are made row by row, whatever the batches and blocks, also of weights that no two are equal of."""
    if how == "keep" and method != "bayesnet":
        pytest.skip("keep completes rows by a network")
    monkeypatch.setattr(code_cache, "BLOCK_ROWS", 1_000)
    monkeypatch.setattr(code_cache, "FEWEST_ROWS", 1_000)
    schema = tmp_path / "weights.toml"
    schema.write_text('format = "chaffinch-schema"\nversion = 1\n[columns.cost]\nrole = "weight"\n')
    options = {
        "option": ["--weight", "cost"],
        "role": ["--schema", schema],
        "keep": ["--weight", "cost", "--keep", "sex,age"],
    }[how]
    written = synthesised_alike(people_in_batches, "--method", method, *options)
    assert "records are counted by it" in json.dumps(written.account["notes"][-1])
    costs = {line.rpartition(",")[2] for line in written.table.decode().splitlines()[1:]}
    assert how == "keep" or len(costs) == 1  # the mean


def test_what_is_no_weight_is_refused_as_in_memory(run_here, tmp_path, temporary):
    rng = np.random.default_rng(1)
    for name, weights in {"negative": rng.normal(size=500), "nothing": np.zeros(500)}.items():
        pq.write_table(
            pa.table({"sex": ["f", "m"] * 250, "x": rng.integers(0, 9, 500), "w": weights}),
            tmp_path / f"{name}.parquet",
        )
    for source, column in (
        ("negative", "w"),
        ("nothing", "w"),
        ("nothing", "sex"),
        ("nothing", "nobody"),
    ):
        said = []
        for name in ("memory", "stream"):
            done = run_here(
                "synth",
                tmp_path / f"{source}.parquet",
                "-o",
                tmp_path / "o.csv",
                "--engine",
                name,
                "--weight",
                column,
                "--seed",
                1,
            )
            assert done.code == 2
            said.append(done.err.splitlines()[-1])  # memory has said what it read by then
        assert said[0] == said[1]
    assert not (tmp_path / "o.csv").exists()
    assert list(temporary.iterdir()) == []


def test_a_release_with_weights_is_measured_in_memory_and_auto_says_so(
    run_here, people_in_batches, tmp_path, monkeypatch
):
    done = run_here(
        "release",
        people_in_batches,
        "-o",
        tmp_path / "out",
        "--engine",
        "stream",
        "--weight",
        "cost",
        "--measures",
        "tvd",
    )
    assert done.code == 2
    assert (
        "Measuring records by their weights needs all rows in memory: use --engine memory."
        in done.err
    )
    schema = tmp_path / "weights.toml"
    schema.write_text('format = "chaffinch-schema"\nversion = 1\n[columns.cost]\nrole = "weight"\n')
    done = run_here(
        "release",
        people_in_batches,
        "-o",
        tmp_path / "out",
        "--engine",
        "stream",
        "--schema",
        schema,
        "--measures",
        "tvd",
    )
    assert done.code == 2
    assert "Measuring records by their weights needs all rows in memory" in done.err
    assert not (tmp_path / "out").exists()
    monkeypatch.setattr(sources, "free_bytes", lambda: 1)
    for options in (["--weight", "cost"], ["--schema", schema]):
        done = run_here(
            "release",
            people_in_batches,
            "-o",
            tmp_path / "out",
            "--measures",
            "tvd",
            "--seed",
            1,
            "--overwrite",
            *options,
        )
        assert done.code == 0, done.err
        assert (
            "Measuring records by their weights needs all rows in memory: they are read."
            in done.err
        )


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_kept_columns_are_completed_batch_by_batch(
    synthesised_alike, people_in_batches, tmp_path, monkeypatch, ending
):
    """The same bytes as in memory, with parts of the original that are cut anywhere in its batches, and the kept columns as they are."""
    monkeypatch.setattr("chaffinch.synth.model.BATCH_ROWS", 700)
    monkeypatch.setattr("chaffinch.synth.model.LEAST_ROWS", 700)
    monkeypatch.setattr("chaffinch.workflows.local.COMPLETED_BATCHES", 2)
    synthesised_alike(people_in_batches, "--keep", "age,education,seen", ending=ending)
    if ending == "parquet":
        drawn, original = (
            pq.read_table(tmp_path / "stream.parquet"),
            pq.read_table(people_in_batches),
        )
        for name in ("age", "education", "seen"):
            assert drawn.column(name).equals(original.column(name))
        assert not drawn.column("cost").equals(original.column("cost"))


@pytest.mark.parametrize("method", ["bayesnet", "privbayes", "fieldgroups"])
def test_private_fits_of_both_engines_write_the_same_bytes(
    synthesised_alike, data, tmp_path, monkeypatch, method
):
    monkeypatch.setattr(parquet, "BATCH_ROWS", 1_111)
    file, schema = tmp_path / "cmc.parquet", data / "cmc_declared.toml"
    pq.write_table(pv.read_csv(data / "cmc.csv"), file)
    synthesised_alike(file, "--method", method, "--epsilon", 1, "--schema", schema)


@pytest.mark.parametrize("rows", [1, 3])
def test_rows_of_persons_are_kept_as_in_memory(synthesised_alike, tmp_path, monkeypatch, rows):
    monkeypatch.setattr(parquet, "BATCH_ROWS", 300)
    rng = np.random.default_rng(2)
    who = pa.array([f"p{i}" if i else None for i in rng.integers(0, 400, 2_000)])
    file, schema = tmp_path / "visits.parquet", tmp_path / "visits.toml"
    pq.write_table(
        pa.table(
            {
                "who": who,
                "sex": pa.array(["f", "m"]).take(pa.array(rng.integers(0, 2, 2_000))),
                "age": rng.integers(0, 100, 2_000),
            }
        ),
        file,
    )
    columns = 'kind = "identifier"\n[columns.sex]\nkind = "categorical"\nlevels = ["f", "m"]\n[columns.age]\nkind = "integer"\nbounds = [0, 99]\n'
    schema.write_text(
        f'format = "chaffinch-schema"\nversion = 1\npublic = true\n[columns.who]\n{columns}'
    )
    whose = ("--person-id", "who", "--rows-per-person", rows)
    synthesised_alike(file, "--epsilon", 5, "--schema", schema, *whose)


DISCOVERED = {
    "all of it": ["--discover", "all", "--delta", "1e-5"],
    "what a schema leaves open": ["--schema", "open.toml", "--delta", "1e-5"],
}


@pytest.mark.parametrize("what", DISCOVERED)
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_what_is_discovered_is_that_of_memory(
    synthesised_alike, data, tmp_path, monkeypatch, what, ending
):
    monkeypatch.setattr(parquet, "BATCH_ROWS", 333)
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 5_000)
    file = tmp_path / f"cmc.{ending}"
    if ending == "csv":
        file.write_bytes((data / "cmc.csv").read_bytes())
    else:
        pq.write_table(pv.read_csv(data / "cmc.csv"), file)
    (tmp_path / "open.toml").write_text(
        (data / "cmc_declared.toml")
        .read_text()
        .replace("bounds = [15, 49]\nbins = 7", "discover = true")
    )
    options = [
        str(tmp_path / word) if word.endswith(".toml") else word for word in DISCOVERED[what]
    ]
    synthesised_alike(file, "--epsilon", 3, *options)


def test_the_ledger_is_charged_once_for_what_is_discovered_batch_by_batch(run_here, data, tmp_path):
    schema, ledger = tmp_path / "open.toml", tmp_path / "ledger.json"
    schema.write_text(
        (data / "cmc_declared.toml")
        .read_text()
        .replace("bounds = [15, 49]\nbins = 7", "discover = true")
    )
    assert run_here("ledger", ledger, "--new", "--epsilon", 10, "--delta", "1e-5").code == 0
    done = run_here(
        "synth",
        data / "cmc.csv",
        "-o",
        tmp_path / "o.csv",
        "--engine",
        "stream",
        "--epsilon",
        1,
        "--schema",
        schema,
        "--ledger",
        ledger,
    )
    assert done.code == 0, done.err
    (entry,) = json.loads(ledger.read_text())["releases"]
    assert entry["epsilon"] == 1.0


def test_auto_says_that_it_streams_and_why(run_here, people_in_batches, tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "free_bytes", lambda: 1 << 20)
    done = run_here("fit", people_in_batches, "-o", tmp_path / "m", "--seed", 1)
    assert done.code == 0
    assert (
        "Rows are read batch by batch (--engine stream): in memory they would take about 1 MiB, and 1 MiB are free."
        in done.err
    )
    monkeypatch.setattr(sources, "free_bytes", lambda: 1 << 40)
    done = run_here("fit", people_in_batches, "-o", tmp_path / "n", "--seed", 1)
    assert "batch by batch" not in done.err
    assert (tmp_path / "m").read_bytes() == (tmp_path / "n").read_bytes()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--person-id", "age"], "A column that says whose row it is needs all rows in memory"),
    ],
)
def test_what_needs_all_rows_is_said_before_a_row_is_read(
    run_here, people_in_batches, tmp_path, options, words
):
    done = run_here(
        "synth", people_in_batches, "-o", tmp_path / "o.csv", "--engine", "stream", *options
    )
    assert done.code == 2
    assert words in done.err
    assert not (tmp_path / "o.csv").exists()


def test_identifiers_with_several_rows_are_read_into_memory(run_here, tmp_path, monkeypatch):
    rng = np.random.default_rng(1)
    path = tmp_path / "visits.parquet"
    ids = np.sort(rng.integers(0, 200, 1_000))
    pq.write_table(
        pa.table(
            {
                "patient_id": pa.array([f"Q{i:06d}" for i in ids]),
                "sex": pa.array(["f", "m"]).take(pa.array(ids % 2)),
                "x": rng.integers(0, 9, 1_000),
            }
        ),
        path,
    )
    arguments = ("fit", path, "-o", tmp_path / "m", "--seed", 1, "--personal", "patient_id=drop")
    done = run_here(*arguments, "--engine", "stream")
    assert done.code == 2
    assert (
        "Column 'patient_id', whose identifiers have several rows each, needs all rows in memory: use --engine memory."
        in done.err
    )
    monkeypatch.setattr(sources, "free_bytes", lambda: 1)
    done = run_here(*arguments)
    assert done.code == 0
    assert "needs all rows in memory: they are read." in done.err


def test_bad_input_leaves_nothing_behind(
    run_here, people_in_batches, tmp_path, monkeypatch, temporary
):
    (tmp_path / "mixed").mkdir()
    for name, table in {
        "a": pa.table({"a": [1, 2], "b": ["x", "y"]}),
        "b": pa.table({"a": [1, 2], "c": ["x", "y"]}),
    }.items():
        pq.write_table(table, tmp_path / "mixed" / f"{name}.parquet")
    (tmp_path / "no.parquet").write_bytes(b"no table")
    for source, words in (
        ("mixed", "are not of one table"),
        ("no.parquet", "does not start as such a file does"),
        ("nowhere.parquet", "No such file"),
    ):
        done = run_here("synth", tmp_path / source, "-o", tmp_path / "o.csv", "--engine", "stream")
        assert done.code == 2
        assert words in done.err
    monkeypatch.setattr(
        "chaffinch.table.code_cache.shutil.disk_usage",
        lambda place: type("Usage", (), {"free": 100}),
    )
    done = run_here(
        "synth", people_in_batches, "-o", tmp_path / "o.csv", "--engine", "stream", "--seed", 1
    )
    assert done.code == 2
    assert "KiB left. Set TMPDIR to a folder with more room" in done.err
    assert "TMPDIR" in done.err
    done = run_here("synth", people_in_batches, "-o", tmp_path / "o.csv", "--engine", "cloud")
    assert done.code == 2
    assert "Engines: auto, memory, stream" in done.err
    assert not (tmp_path / "o.csv").exists()
    assert list(temporary.iterdir()) == []


def test_a_file_that_is_rewritten_between_the_passes_is_refused(
    run_here, people_in_batches, tmp_path, monkeypatch, temporary
):
    """With as many rows and the time of writing set back: nothing is written, and the cache goes."""
    finer = coded.rebin_columns_finely

    def rewritten(*words, **options):
        before, rows = people_in_batches.stat(), pq.read_table(people_in_batches)
        pq.write_table(
            rows.set_column(0, "age", rows.column("age").combine_chunks()[::-1]), people_in_batches
        )
        os.utime(people_in_batches, ns=(before.st_atime_ns, before.st_mtime_ns))
        return finer(*words, **options)

    monkeypatch.setattr(coded, "rebin_columns_finely", rewritten)
    for command, out in (("synth", "o.csv"), ("fit", "m.chaffinch"), ("release", "folder")):
        done = run_here(
            command, people_in_batches, "-o", tmp_path / out, "--engine", "stream", "--seed", 1
        )
        assert done.code == 2
        assert "people.parquet' was changed or replaced while it was read" in done.err
        assert not (tmp_path / out).exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["people.parquet", "tmp"]
    assert list(temporary.iterdir()) == []


PRIVATE = {
    "no person column": (
        ["--schema", "cmc_declared.toml", "--person-id", "nobody"],
        "Unknown column 'nobody'",
    ),
    "no room": (
        ["--discover", "all", "--delta", "1e-6"],
        "there is no room left. Set TMPDIR to a folder with more room",
    ),
    "no table": (["--discover", "all", "--delta", "1e-6"], "does not start as such a file does"),
    "mixed": (["--discover", "all", "--delta", "1e-6"], "A private fit does not read"),
}


@pytest.mark.parametrize("what", PRIVATE)
@pytest.mark.parametrize("command", ["synth", "release"])
def test_bad_input_of_a_private_fit_leaves_nothing_behind(
    run_here, data, tmp_path, temporary, monkeypatch, command, what
):
    (tmp_path / "mixed").mkdir()
    (tmp_path / "no.parquet").write_bytes(b"no table")
    for name, table in {
        "a": pa.table({"a": [1, 2], "b": ["x", "y"]}),
        "b": pa.table({"a": [1, 2], "c": ["x", "y"]}),
    }.items():
        pq.write_table(table, tmp_path / "mixed" / f"{name}.parquet")
    source = {"no table": tmp_path / "no.parquet", "mixed": tmp_path / "mixed"}.get(
        what, data / "cmc.csv"
    )
    if what == "no room":

        def full(*_words):
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr("chaffinch.table.code_cache.block_of", full)
    options, words = PRIVATE[what]
    options = [str(data / word) if word.endswith(".toml") else word for word in options]
    done = run_here(
        command, source, "-o", tmp_path / "out.csv", "--engine", "stream", "--epsilon", 1, *options
    )
    assert done.code == 2
    assert words in done.err
    assert not (tmp_path / "out.csv").exists()
    assert list(temporary.iterdir()) == []


def test_ctrl_c_removes_the_cache(run_here, people_in_batches, tmp_path, monkeypatch, temporary):
    def interrupted(*_args, **_options):
        assert len(list(temporary.iterdir())) == 1
        raise KeyboardInterrupt

    monkeypatch.setattr("chaffinch.synth.bayesnet.settings.ordering_search", interrupted)
    done = run_here(
        "synth", people_in_batches, "-o", tmp_path / "o.csv", "--engine", "stream", "--seed", 1
    )
    assert done.code != 0
    assert not (tmp_path / "o.csv").exists()
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("way", ["SIGTERM", "SIGINT", "SIGKILL"])
def test_a_run_that_is_ended_leaves_nothing_that_stays(data, tmp_path, way):
    """By a scheduler or Ctrl-C: nothing at all. By kill -9: a folder that the next run removes."""
    script = (
        "import time, chaffinch.counts.counter as s; from chaffinch.cli import main; "
        "s.StreamCounter.entropies = lambda *a: (print('counting', flush=True), time.sleep(60)); main()"
    )
    place = tmp_path / "tmp"
    place.mkdir()
    command = [
        sys.executable,
        "-c",
        script,
        "synth",
        str(data / "cmc.csv"),
        "-o",
        str(tmp_path / "o.csv"),
        "--engine",
        "stream",
        "--seed",
        "1",
        "--quiet",
    ]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(place)},
    )
    try:
        assert process.stdout.readline() == "counting\n"
        assert len(list(place.iterdir())) == 1
        process.send_signal(getattr(signal, way))
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
    assert not (tmp_path / "o.csv").exists()
    if way == "SIGKILL":
        assert len(list(place.iterdir())) == 1
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("tempfile.tempdir", str(place))
            with coded_scan(data / "cmc.csv"):
                assert len(list(place.iterdir())) == 1  # its own
    else:
        assert process.returncode == {"SIGTERM": 143, "SIGINT": 130}[way]
        assert "Stopped. Nothing was written." in said
        assert "Traceback" not in said
    assert list(place.iterdir()) == []
