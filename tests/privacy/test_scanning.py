"""The private door for files larger than memory: the codes that memory gives, and neighbours that stay neighbours."""

from __future__ import annotations

import os
import warnings
from collections import Counter as Multiset
from dataclasses import replace
from datetime import date
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import chaffinch as cf
from chaffinch.errors import FileError, InputError, PrivacyError
from chaffinch.privacy import scanning
from chaffinch.privacy import scanning as module
from chaffinch.privacy import session as opening
from chaffinch.privacy.ledger import Budget
from chaffinch.privacy.mechanisms import SeededNoise
from chaffinch.privacy.prepare import discovering_schema, keep_rows
from chaffinch.privacy.relation import PrivacyUnit
from chaffinch.privacy.scanning import ScanWithoutDomain, kept_rows, prepared_scan
from chaffinch.privacy.session import open_lazy_source, start_private_session
from chaffinch.table.formats import delimited
from chaffinch.table.sample import hashes_of_places

SCHEMA = """
format = "chaffinch-schema"
version = 1
public = true
[columns.who]
kind = "identifier"
[columns.age]
kind = "integer"
bounds = [0, 99]
missing = [-8]
[columns.sex]
kind = "categorical"
levels = ["f", "m"]
"""

NASTY = [
    "ann,4,f",
    " ann,5,m",
    "bob,xx,f",
    "bob,1e400,",
    ",7,m",
    "cid,-8,zz",
    "cid,99,f,9",
    "cid",
    "dan,\xff,m",
    'eve,"12",f',
    "ann,120,m",
    "bob,-8,f",
]


@pytest.fixture
def schema(tmp_path):
    path = tmp_path / "schema.toml"
    path.write_text(SCHEMA)
    return path


def write(path, lines):
    path.write_bytes("\n".join(["who,age,sex", *lines, ""]).encode("latin-1"))
    return path


def codes_of(scan):
    batches = [batch.codes for batch in scan.batches()]
    return [
        tuple(int(codes[j][i]) for j in range(len(codes)))
        for codes in batches
        for i in range(codes.n_rows)
    ]


@pytest.mark.parametrize("person", [None, "who"])
@pytest.mark.parametrize("rows", [1, 2])
def test_codes_are_those_of_the_table_in_memory(tmp_path, schema, monkeypatch, person, rows):
    """With cells that are no numbers, no levels, no text, rows too long and too short, and a few bytes at a time."""
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 64)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    file = write(tmp_path / "t.csv", NASTY * 7)
    options = {"person": person, "rows_per_person": rows if person else 1}
    table = cf.prepare(file, schema, **options)
    unread = open_lazy_source(file, schema, **options)
    assert len(list(unread.source.batches())) > 3
    with prepared_scan(unread) as scan:
        assert scan.schema == table.schema
        assert scan.n_rows == table.n_rows
        assert codes_of(scan) == [
            tuple(int(table.codes[j][i]) for j in range(2)) for i in range(table.n_rows)
        ]
        assert scan.scan.empty.look == table.look
        assert scan.scan.empty.notes == table.notes
        with pytest.raises(PrivacyError, match="no others"):
            scan.rebin_finely()
    assert list((tmp_path / "tmp").iterdir()) == []


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    lines=st.lists(st.sampled_from(NASTY), min_size=1, max_size=25),
    person=st.sampled_from(["ann", "bob", "eve"]),
    most=st.integers(1, 2),
)
def test_one_person_changes_at_most_so_many_rows_of_the_cache(
    tmp_path_factory, lines, person, most
):
    """Take all rows of a person out of a file: the caches differ in at most `most` rows of codes."""
    folder = tmp_path_factory.mktemp("neighbours")
    (folder / "schema.toml").write_text(SCHEMA)
    without = [line for line in lines if line.split(",")[0].strip() != person]
    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "BLOCK_BYTES", 64)
        for name, some in (("with", lines), ("without", without)):
            unread = open_lazy_source(
                write(folder / f"{name}.csv", some),
                folder / "schema.toml",
                person="who",
                rows_per_person=most,
            )
            with prepared_scan(unread) as scan:
                found.append(Multiset(codes_of(scan)))
    assert (found[0] - found[1]).total() <= most
    assert not found[1] - found[0]


def test_no_record_is_enough(tmp_path, schema):
    with prepared_scan(open_lazy_source(write(tmp_path / "t.csv", []), schema)) as scan:
        assert scan.n_rows == 0
        assert codes_of(scan) == []


def test_a_file_that_changes_between_passes_is_refused(tmp_path, schema, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    unread = open_lazy_source(write(tmp_path / "t.csv", NASTY), schema, person="who")
    passes = iter([NASTY, NASTY[1:]])

    def read(columns):
        cells = pa.table({"who": [line.split(",")[0] for line in next(passes)]})
        return iter(
            cells.append_column("age", cells.column(0))
            .append_column("sex", cells.column(0))
            .to_batches()
        )

    changing = replace(unread, source=replace(unread.source, read=read))
    with (
        pytest.raises(InputError, match="has other rows than when it was first read") as error,
        prepared_scan(changing),
    ):
        pass
    assert not any(
        str(n) in str(error.value).replace(str(tmp_path), "") for n in (len(NASTY), len(NASTY) - 1)
    )
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_file_that_is_rewritten_between_passes_is_refused(tmp_path, schema, monkeypatch):
    """With as many rows, and the time of writing set back."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    file = write(tmp_path / "t.csv", NASTY)
    kept = scanning.kept_rows

    def rewritten(*words):
        out, before = kept(*words), file.stat()
        file.write_bytes(file.read_bytes().replace(b"ann,4,f", b"ann,9,f"))
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        return out

    monkeypatch.setattr(scanning, "kept_rows", rewritten)
    with (
        pytest.raises(InputError, match="was changed or replaced while it was read"),
        prepared_scan(open_lazy_source(file, schema, person="who")),
    ):
        pass
    assert list((tmp_path / "tmp").iterdir()) == []


class Recorder:
    """Noise from a seed, and all that it is asked, in order."""

    test_only = True

    def __init__(self):
        self.source, self.asked = SeededNoise(np.random.default_rng(5)), []

    def __getattr__(self, name):
        def draw(values, scale):
            self.asked.append((name, values.tolist(), scale))
            return getattr(self.source, name)(values, scale)

        return draw


DOMAINS = {
    "all of it": None,
    "levels": SCHEMA.replace('levels = ["f", "m"]', "discover = true"),
    "bounds and quantiles": SCHEMA.replace("bounds = [0, 99]", "discover = true"),
    "quantiles": SCHEMA.replace("bounds = [0, 99]", "bounds = [0, 99]\ndiscover = true"),
    "levels that are numbers": SCHEMA.replace(
        '"integer"\nbounds = [0, 99]', '"categorical"\ntype = "int64"\ndiscover = true'
    ),
    "dates": SCHEMA.replace(
        '"integer"\nbounds = [0, 99]\nmissing = [-8]', '"date"\ndiscover = true'
    ),
}
MORE = [*NASTY, "ann,2020-01-31,f", "bob,1999-12-01,m", "fay,3.25,q", "gus,-0,Q ", "hal,1e3, q"]


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    lines=st.lists(st.sampled_from(MORE), max_size=40),
    domain=st.sampled_from(list(DOMAINS)),
    person=st.sampled_from([None, "who"]),
    most=st.integers(1, 3),
    block=st.integers(16, 200),
    levels=st.integers(0, 5),
)
def test_the_same_is_discovered_as_in_memory_with_the_same_questions_to_the_noise(
    tmp_path_factory, lines, domain, person, most, block, levels
):
    """What is put to the noise is all that a promise is about: the same counts, in the same order, with the same scale. So the proof of memory holds."""
    folder = tmp_path_factory.mktemp("discovered")
    file, declared = write(folder / "t.csv", lines), DOMAINS[domain]
    (folder / "open.toml").write_text(declared or "")
    budget, unit = Budget(9.0, 1e-3), PrivacyUnit("add-remove", most if person else 1)
    options = {"person": person, "rows_per_person": unit.rows_per_person}
    found = []
    for stream in (False, True):
        recorder = Recorder()
        with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            patch.setattr(opening, "noise_of", lambda seed, recorder=recorder: recorder)
            given_schema = (
                discovering_schema(file, None) if declared is None else folder / "open.toml"
            )
            if not stream:
                counter = start_private_session(
                    cf.prepare(file, given_schema, **options), budget, unit
                )
            else:
                patch.setattr(delimited, "BLOCK_BYTES", block)
                patch.setattr("chaffinch.privacy.tallies.MOST_LEVELS", levels)
            with prepared_scan(open_lazy_source(file, given_schema, **options)) as scan:
                if stream:
                    assert isinstance(scan, ScanWithoutDomain)
                    with pytest.raises(PrivacyError, match="not yet known"):
                        _ = scan.coded
                    counter = start_private_session(scan, budget, unit)
                    assert scan.coded.scan.empty.schema == counter.schema
                names = counter.schema.names
                tables = [
                    one.dense().tolist()
                    for one in counter._open().marginals([(name,) for name in names])
                ]
                found.append(
                    (
                        recorder.asked,
                        counter.schema,
                        tables,
                        counter._open().n_rows,
                        counter.ledger.charges,
                    )
                )
    assert found[0] == found[1]


def test_rows_of_persons_are_bounded_before_anything_is_counted(tmp_path, monkeypatch):
    """By hand: of ann's three rows the first two are kept, over two batches, so `f` is seen twice and `m` once; each word's count is what noise is put to."""
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 20)
    (tmp_path / "open.toml").write_text(SCHEMA.replace('levels = ["f", "m"]', "discover = true"))
    file = write(tmp_path / "t.csv", ["ann,1,f", "bob,2,f", " ann,3,m", "ann,4,zz"])
    recorder = Recorder()
    monkeypatch.setattr(opening, "noise_of", lambda seed: recorder)
    with prepared_scan(
        open_lazy_source(file, tmp_path / "open.toml", person="who", rows_per_person=2)
    ) as scan:
        start_private_session(scan, Budget(1.0, 1e-6), PrivacyUnit("add-remove", 2))
        assert scan.coded.n_rows == 3
    assert recorder.asked[0][1] == [2, 1]


def test_a_fit_of_a_scan_is_that_of_the_table(tmp_path, schema):
    rng = np.random.default_rng(1)
    lines = [
        f"p{rng.integers(300)},{rng.integers(100)},{'fm'[rng.integers(2)]}" for _ in range(900)
    ]
    file = write(tmp_path / "t.csv", lines)
    settings = cf.BayesNet(epsilon=2.0, rows_per_person=2)
    model = settings.fit(cf.prepare(file, schema, person="who", rows_per_person=2), seed=3)
    with prepared_scan(open_lazy_source(file, schema, person="who", rows_per_person=2)) as scan:
        streamed = settings.fit(cf.StreamCounter(scan), seed=3)
    model.save(tmp_path / "one")
    streamed.save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


KINDS = {
    "words": (
        pa.large_binary(),
        st.sampled_from([b"ann", b" ann", b"ann\t", b"bob", b"", b"  ", b"\xff", b"Ann"]),
    ),
    "whole": (pa.int64(), st.sampled_from([0, 1, -1, 2**62])),
    "numbers": (pa.float64(), st.sampled_from([0.0, -0.0, 1.5, float("nan")])),
    "money": (pa.decimal64(8, 2), st.sampled_from([Decimal("1.50"), Decimal("2.00")])),
    "days": (pa.date32(), st.sampled_from([date(2001, 1, 1), date(2002, 1, 1)])),
    "moments": (pa.timestamp("ns", "UTC"), st.sampled_from([1, 2, 10**18 + 1])),
    "truth": (pa.bool_(), st.booleans()),
}


@pytest.mark.parametrize("kind", KINDS)
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_the_rows_are_those_that_memory_keeps(tmp_path_factory, kind, data):
    """Whatever the batches, also empty ones, with few parts, so that strangers share one."""
    type_, one = KINDS[kind]
    ids = pa.array(data.draw(st.lists(st.none() | one, max_size=40)), type_)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(ids)), max_size=6)))
    most = data.draw(st.integers(1, 3))
    batches = [ids.slice(a, b - a) for a, b in zip([0, *cuts], [*cuts, len(ids)], strict=True)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PARTS", data.draw(st.integers(1, 4)))
        kept = kept_rows(lambda: iter(batches), most, tmp_path_factory.mktemp("kept"))
    assert np.flatnonzero(kept).tolist() == keep_rows(ids, most).tolist()


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    ids=st.lists(st.sampled_from([b"ann", b" ann", b"bob", b"cid", None]), max_size=30),
    most=st.integers(1, 3),
    key=st.integers(0, 1 << 60),
    data=st.data(),
)
def test_with_a_key_rows_are_drawn_at_random_whatever_the_batches(
    tmp_path_factory, ids, most, key, data
):
    """By brute force: the rows of a person sorted by the hash of their place, of which the first are kept."""
    cuts = sorted(data.draw(st.lists(st.integers(0, len(ids)), max_size=6)))
    batches = [
        pa.array(ids[a:b], pa.large_binary())
        for a, b in zip([0, *cuts], [*cuts, len(ids)], strict=True)
    ]
    kept = kept_rows(lambda: iter(batches), most, tmp_path_factory.mktemp("kept"), key=key)
    hashes = hashes_of_places(0, len(ids), key)
    expected = []
    for place, one in enumerate(ids):
        own = [
            i
            for i, other in enumerate(ids)
            if one is not None and other is not None and other.strip() == one.strip()
        ] or [place]
        if place in sorted(own, key=lambda i: hashes[i])[:most]:
            expected.append(place)
    assert np.flatnonzero(kept).tolist() == expected


def test_every_row_of_a_person_has_the_same_chance(tmp_path):
    """3,000 persons of three rows each: a place is drawn 1,000 times, and is off by 130 or more once in two million times if all is right (five deviations of 25.8)."""
    ids = [pa.array([b"%d" % i for i in range(3_000)]) for _ in range(3)]
    kept = kept_rows(lambda: iter(ids), 1, tmp_path, key=7)
    by_place = np.asarray(kept).reshape(3, 3_000)
    assert (by_place.sum(axis=0) == 1).all()
    assert np.abs(by_place.sum(axis=1) - 1_000).max() < 130


def test_a_person_with_very_many_rows_fills_no_part(tmp_path, monkeypatch):
    """Of 1,000 rows in ten batches at most twenty are dealt: the first two of each batch."""
    dealt = []
    monkeypatch.setattr(
        module,
        "_parts_of",
        lambda ids, salt: dealt.append(len(ids)) or np.zeros(len(ids), dtype=np.int64),
    )
    kept = kept_rows(lambda: (pa.array(["ann"] * 100) for _ in range(10)), 2, tmp_path)
    assert dealt == [2] * 10
    assert np.flatnonzero(kept).tolist() == [0, 1]


def test_no_room_is_said_without_a_number_of_rows(tmp_path, monkeypatch):
    def refuse(*_args, **_options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module.pa.ipc, "new_file", refuse)
    with pytest.raises(FileError, match=r"there is no room left\. Set TMPDIR") as error:
        kept_rows(lambda: iter([pa.array(["ann"] * 77)]), 1, tmp_path)
    assert "77" not in str(error.value).replace(str(tmp_path), "")


@pytest.mark.parametrize(
    "ids",
    [[b"ann", b" ann", b"ann\n", b"\tann "], [0.0, -0.0], [Decimal("1.5"), Decimal("1.50")]],
    ids=["blanks", "zeros", "money"],
)
def test_spellings_of_one_id_go_to_one_part(tmp_path, ids):
    """Each in a batch of its own; by chance alone two would be in one part once in 128 times."""
    kind = (
        pa.large_binary()
        if isinstance(ids[0], bytes)
        else pa.decimal64(8, 2)
        if isinstance(ids[0], Decimal)
        else pa.float64()
    )
    kept = kept_rows(lambda: (pa.array([one], kind) for one in ids), 1, tmp_path)
    assert kept.tolist() == [True] + [False] * (len(ids) - 1)
