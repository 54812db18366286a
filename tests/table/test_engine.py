"""Which engine works on files."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from chaffinch.errors import InputError
from chaffinch.table import sources
from chaffinch.table.sources import HELD, choose_engine, estimated_bytes, free_bytes


@pytest.fixture
def parquet(tmp_path: Path) -> Path:
    pq.write_table(
        pa.table({"a": list(range(1000)), "b": ["x", "y"] * 500}), tmp_path / "people.parquet"
    )
    return tmp_path / "people.parquet"


def test_bytes_of_parquet_come_from_its_metadata(parquet):
    assert estimated_bytes(parquet) == HELD * 1000 * 2


def test_bytes_of_other_files_come_from_their_size(parquet, tmp_path):
    text = tmp_path / "people.csv"
    text.write_text("a,b\n" + "123456,xyz\n" * 1000, encoding="utf-8")
    assert (
        0.8 < estimated_bytes(text) / (HELD * 1000 * 2) < 1.25
    )  # from the length of its first lines
    assert estimated_bytes(tmp_path / "none.csv") == 0
    assert estimated_bytes(f"{text}::sheet") in (0, estimated_bytes(text))


@pytest.mark.parametrize(
    ("room", "chosen"), [(2 * HELD * 2000, "memory"), (2 * HELD * 2000 - 2, "stream")]
)
def test_auto_holds_what_fits_in_half_of_what_is_free(parquet, room, chosen):
    choice = choose_engine("auto", [parquet], free=room)
    assert (choice.engine, choice.needed, choice.free) == (chosen, HELD * 2000, room)
    assert bool(choice.sentence) == (chosen == "stream")


def test_all_tables_count(parquet):
    assert choose_engine("auto", [parquet, parquet], free=2 * HELD * 2000).stream


def test_auto_says_what_it_chose_and_why(parquet, monkeypatch):
    monkeypatch.setattr(sources, "HELD", 1 << 20)
    assert choose_engine("auto", [parquet], free=300 << 20).sentence == (
        "Rows are read batch by batch (--engine stream): in memory they would take about 2.0 GiB, and 300 MiB are free."
    )


def test_what_is_asked_for_is_taken_in_silence(parquet):
    for word in ("memory", "stream"):
        choice = choose_engine(word, [parquet], free=1)
        assert (choice.engine, choice.sentence) == (word, "")


def test_an_unknown_engine_is_refused():
    with pytest.raises(InputError, match=r"Unknown engine 'disk'.*auto, memory, stream"):
        choose_engine("disk", [])


def test_a_container_may_have_less_than_its_machine(tmp_path, monkeypatch):
    whole = free_bytes()
    assert whole is None or whole > 1 << 20
    limit, used = tmp_path / "max", tmp_path / "current"
    monkeypatch.setattr(sources, "_LIMITS", ((limit, used),))
    limit.write_text("max\n")
    used.write_text("5\n")
    assert free_bytes() != 5
    limit.write_text("1005\n")
    assert free_bytes() == 1000
