"""How long it will take: every step is in the sum, and the size of a file is known before it is read."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import chaffinch
from chaffinch import BayesNet, Independent
from chaffinch.cli import estimates
from chaffinch.cli.estimates import Speaker, Work, drawing_seconds, say_work
from chaffinch.table import Note
from chaffinch.table.sources import expected_shape

N = 10_000_000


def test_a_synthesis_is_read_learnt_compared_drawn_and_written():
    steps = Work(BayesNet(), Path("a.csv"), [Path("b.csv")]).seconds(N, 15)
    assert set(steps) == {"reading", "learning", "comparing", "drawing", "writing"}
    assert all(seconds > 1 for seconds in steps.values())
    assert set(Work(BayesNet(), Path("a.csv")).seconds(N, 15)) == {"reading", "learning"}


def test_steps_grow_with_what_they_work_on():
    def steps(n_rows=N, columns=15, settings=None, rows=None, copies=1, ending="csv"):
        outputs = [Path(f"{i}.{ending}") for i in range(copies)]
        return Work(settings or BayesNet(), Path(f"a.{ending}"), outputs, rows).seconds(
            n_rows, columns
        )

    one = steps()
    assert {name: seconds / one[name] for name, seconds in steps(2 * N).items()} == pytest.approx(
        dict.fromkeys(one, 2), rel=0.01
    )  # but for what a column takes, however few its rows
    three = steps(copies=3)
    assert (three["drawing"], three["writing"]) == pytest.approx(
        (3 * one["drawing"], 3 * one["writing"])
    )
    assert (three["reading"], three["learning"]) == (one["reading"], one["learning"])
    assert one["comparing"] < three["comparing"] < 3 * one["comparing"]
    few = steps(rows=1000)
    assert few["drawing"] < 0.01
    assert few["learning"] == one["learning"]
    assert steps(ending="parquet")["writing"] < one["writing"]
    # All sets of up to four of 15 columns: 15 + 105 + 455 + 1365; of up to two: 15 + 105.
    assert one["learning"] / steps(settings=BayesNet(parents=1))["learning"] == pytest.approx(
        1940 / 120
    )
    assert steps(settings=Independent())["learning"] < 1


def test_many_columns_take_time_also_where_rows_are_few():
    """5,000 columns of 2,000 rows took 105 s of processor time, a minute of two idle cores, and 15 columns take none of it."""
    wide = Work(BayesNet(), Path("a.csv"), [Path("b.csv")]).seconds(2_000, 5_000)
    assert 15 < wide["reading"] < 60
    assert 30 < wide["learning"] < 90
    assert sum(Work(BayesNet(), Path("a.csv"), [Path("b.csv")]).seconds(2_000, 15).values()) < 0.2


def test_what_is_said_is_the_sum_of_the_steps(capsys):
    work = Work(BayesNet(), Path("a.csv"), [Path("b.csv")])
    say_work(work, N, 15)
    said = capsys.readouterr().err
    total = estimates.START + sum(work.seconds(N, 15).values())
    assert f"The synthesis will take about {estimates._time(total)} (reading " in said
    for step in ("reading", "learning", "comparing", "drawing", "writing"):
        assert f"{step} " in said
    say_work(work, N, 15, reading=1000.0)
    assert "(reading 17 min, learning " in capsys.readouterr().err
    say_work(work, 1000, 15)
    assert capsys.readouterr().err == ""
    assert set(drawing_seconds(N, [Path("a.csv")])) == {"drawing", "writing"}


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "arrow", "csv.gz"])
def test_a_file_tells_its_size_before_it_is_read(data, tmp_path, ending):
    frame = chaffinch.read(data / "cmc.csv").to_arrow()
    path = tmp_path / f"t.{ending}"
    text = (data / "cmc.csv").read_bytes() * 40  # some megabytes: more than is looked at
    if ending == "parquet":
        pq.write_table(frame, path)
    elif ending == "arrow":
        feather.write_feather(frame, path, compression="uncompressed")
    elif ending == "csv.gz":
        path.write_bytes(gzip.compress(text))
    else:
        path.write_bytes(text.replace(b",", b"\t") if ending == "tsv" else text)
    shape = expected_shape(path)
    if ending == "csv.gz":
        assert shape is None
    elif ending in ("parquet", "arrow"):
        assert shape == (1473, 10)
    else:
        assert shape == (pytest.approx(40 * 1474, rel=0.01), 10)


@pytest.mark.parametrize(
    "content", [b"", b"PAR1 is not all of it", b"one line without an end", b"\xff\xfe\x00"]
)
def test_what_cannot_be_told_is_left_to_reading(tmp_path, content):
    (tmp_path / "t.csv").write_bytes(content)
    assert expected_shape(tmp_path / "t.csv") is None
    assert expected_shape(tmp_path / "none.csv") is None


@pytest.mark.parametrize(("ending", "first"), [("csv", True), ("csv.gz", False)])
def test_a_synthesis_says_once_how_long_it_takes(run_here, tmp_path, monkeypatch, ending, first):
    """Of a file that tells its size before it is read, of another afterwards; before what reading has to note."""
    text = b"sex,home,who\n" + b"".join(
        b"%s,%s,p%d\n" % (b"fm"[i % 2 :][:1], b"ro"[i % 3 % 2 :][:1], i) for i in range(300)
    )
    path = tmp_path / f"t.{ending}"
    path.write_bytes(gzip.compress(text) if ending.endswith("gz") else text)
    from chaffinch.workflows.local import open_rows

    seen = []
    monkeypatch.setattr(
        "chaffinch.cli.estimates.say_work",
        lambda *args, stream=False, **known: seen.append(("said", tuple(known))),
    )
    monkeypatch.setattr(
        "chaffinch.workflows.local.open_rows",
        lambda *args, **options: seen.append(("read",)) or open_rows(*args, **options),
    )
    done = run_here("synth", path, "-o", tmp_path / "o.csv", "--seed", 1)
    assert done.code == 0, done.err
    assert seen == ([("said", ()), ("read",)] if first else [("read",), ("said", ("reading",))])


def test_what_is_personal_is_said_also_where_all_else_is_quiet(capsys):
    speaker = Speaker(quiet=True)
    speaker.opened([Note("a", "personal", "looks like a name"), Note("b", "pooled", "rare")])
    assert "Warning: " in capsys.readouterr().err


def test_a_stream_takes_bounded_memory(capsys):
    work = Work(Independent(), Path("a.csv"))
    say_work(work, 10**9, 15, stream=True)
    assert capsys.readouterr().err.endswith("and bounded memory.\n")
    say_work(work, 10**9, 15)
    assert capsys.readouterr().err.endswith("GiB of memory.\n")
