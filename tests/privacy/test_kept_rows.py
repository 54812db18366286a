"""Rows of a person, found by a sort on disk: exactly those that are kept in memory."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chaffinch.errors import FileError
from chaffinch.privacy import scanning as module
from chaffinch.privacy.prepare import keep_rows
from chaffinch.privacy.scanning import kept_rows
from chaffinch.table.sample import hashes_of_places

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
