"""Files that change between passes are told, also where rows, size and time of writing are as they were."""

from __future__ import annotations

import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import chaffinch as cf
from chaffinch.errors import InputError
from chaffinch.table.formats.format import TAIL, FileIdentity, check_unchanged, identities
from chaffinch.table.sources import open_source


def rewrite(path, old, new):
    """Write other bytes of the same number into a file, and set its time of writing back."""
    before = path.stat()
    content = path.read_bytes()
    assert content.count(old) == 1
    assert len(old) == len(new)
    path.write_bytes(content.replace(old, new))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = path.stat()
    assert (after.st_size, after.st_mtime_ns, after.st_ino) == (
        before.st_size,
        before.st_mtime_ns,
        before.st_ino,
    )


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("sex,age\n" + "f,41\n" * 3 + "m,17\n" + "f,41\n" * (2 * TAIL))
    return path


def test_a_file_is_itself(file):
    known = identities([file])
    assert len(known) == 1
    check_unchanged("people", known)
    file.read_bytes()
    check_unchanged("people", known)


@pytest.mark.skipif(os.name != "posix", reason="no time of change is told elsewhere")
def test_rows_that_are_rewritten_are_seen_though_the_time_of_writing_is_set_back(file):
    """Far from the end, whose digest stays: the system's own record of the change gives it away."""
    (known,) = identities([file])
    rewrite(file, b"m,17", b"m,99")
    again = FileIdentity.of(file)
    assert (again.end, again.size, again.written, again.number) == (
        known.end,
        known.size,
        known.written,
        known.number,
    )
    with pytest.raises(
        InputError,
        match=r"'people' was changed or replaced while it was read.*'people.csv' is not the file that was opened.*such as a copy",
    ):
        check_unchanged("people", [known])


def test_the_end_is_seen_whatever_the_times_say(file):
    """What a clock that ticks too slowly cannot tell."""
    (known,) = identities([file])
    file.write_bytes(file.read_bytes()[:-5] + b"m,17\n")
    again = FileIdentity.of(file)
    assert again.size == known.size
    assert again.end != known.end


@pytest.mark.parametrize("how", ["replaced", "longer", "gone"])
def test_other_files_are_seen(file, tmp_path, how):
    known = identities([file])
    if how == "replaced":
        (tmp_path / "new.csv").write_bytes(file.read_bytes())
        os.utime(tmp_path / "new.csv", ns=(known[0].written, known[0].written))
        (tmp_path / "new.csv").replace(file)
    elif how == "longer":
        with file.open("a") as handle:
            handle.write("m,2\n")
    else:
        file.unlink()
    with pytest.raises(InputError, match="was changed or replaced"):
        check_unchanged("people", known)


@pytest.mark.skipif(os.name != "posix", reason="there are no pipes with names elsewhere")
def test_what_is_no_file_is_not_looked_at(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert identities([tmp_path / "pipe", tmp_path / "nothing", tmp_path]) == ()


@pytest.mark.parametrize("kind", ["csv", "parquet", "folder"])
def test_a_source_is_the_same_in_every_pass(tmp_path, kind):
    table = pa.table({"sex": ["f", "m"] * 50, "age": list(range(100))})
    other = table.set_column(1, "age", pa.array([*range(99), 5]))
    place = tmp_path / ("people" if kind == "folder" else f"people.{kind}")
    file = place / "b.parquet" if kind == "folder" else place

    def write(rows):
        if kind == "csv":
            file.write_text(
                "sex,age\n"
                + "".join(
                    f"{sex},{age:02d}\n"
                    for sex, age in zip(*rows.to_pydict().values(), strict=True)
                )
            )
        else:
            pq.write_table(rows, file)

    if kind == "folder":
        place.mkdir()
        pq.write_table(table, place / "a.parquet")
    write(table)
    source = open_source(place)
    for _ in range(2):
        assert sum(batch.num_rows for batch in source.batches()) == (
            200 if kind == "folder" else 100
        )
    batches = source.batches(["age"])
    next(batches)
    write(other)
    with pytest.raises(InputError, match="was changed or replaced"):
        list(batches)
    with pytest.raises(InputError, match="was changed or replaced"):
        next(source.batches())
    assert sum(batch.num_rows for batch in open_source(place).batches()) == (
        200 if kind == "folder" else 100
    )


def test_a_scan_is_not_counted_from_two_versions(file):
    scan = cf.scan(file)
    counter = cf.StreamCounter(scan)
    counter.marginals([("sex",)])
    rewrite(file, b"m,17", b"f,17")
    with pytest.raises(InputError, match="was changed or replaced"):
        counter.marginals([("sex",)])
