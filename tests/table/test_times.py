"""How a text file spells times: every word that `datetime` reads comes back the same, zones are kept, and all engines agree."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chaffinch
from chaffinch.table.schema_file import number_of
from chaffinch.table.times import TimeGuess, format_times, parse_times, step_of
from chaffinch.table.types import PER_SECOND, from_numbers, parse_type, to_numbers
from chaffinch.table.write import write_table

ZONES = st.integers(-14 * 4, 14 * 4).map(
    lambda quarters: dt.timezone(dt.timedelta(minutes=15 * quarters))
)
MOMENTS = st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1))


def rows(path, words):
    path.write_text(
        "when,group\n" + "".join(f"{word},{'xy'[i % 2]}\n" for i, word in enumerate(words))
    )
    return path


def some(n=400, *, zone=None, milliseconds=False, seed=1):
    rng = np.random.default_rng(seed)
    spans = rng.integers(0, 300 * 86_400, n)
    parts = rng.integers(0, 1000, n) if milliseconds else np.zeros(n, dtype=int)
    return [
        dt.datetime(2024, 1, 1, tzinfo=zone) + dt.timedelta(seconds=int(s), milliseconds=int(p))
        for s, p in zip(spans, parts, strict=True)
    ]


@given(
    st.lists(MOMENTS, min_size=1, max_size=8),
    ZONES,
    st.sampled_from(["seconds", "milliseconds", "microseconds"]),
    st.sampled_from("T "),
)
@settings(max_examples=60, deadline=None)
def test_moments_of_one_zone_are_the_instants_that_datetime_reads_and_come_back_as_they_were(
    moments, zone, detail, sign
):
    words = [moment.replace(tzinfo=zone).isoformat(sign, timespec=detail) for moment in moments]
    guess = TimeGuess()
    guess.add(pa.array(words))
    values = parse_times(pa.array(words), guess.fitting[0], guess.kind)
    scale = PER_SECOND[guess.kind.unit]
    epoch = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    expected = [
        (dt.datetime.fromisoformat(word) - epoch) // dt.timedelta(microseconds=10**6 // scale)
        for word in words
    ]
    assert values.cast(pa.int64()).to_pylist() == expected
    assert format_times(values, guess.fitting[0]).to_pylist() == words
    assert step_of(guess.kind, guess.fitting[0]) == 1
    numbers, present = to_numbers(values)
    assert from_numbers(numbers, present, values.type).equals(values)
    assert (numbers // scale % 60).tolist() == [
        moment.second for moment in moments
    ]  # numbers are those of the zone's clock
    assert (numbers // scale // 86_400).tolist() == [
        (moment.date() - dt.date(1970, 1, 1)).days for moment in moments
    ]


@pytest.mark.parametrize(
    ("words", "spelled", "kind"),
    [
        (
            ["2024-05-01T12:00:00Z", "2024-05-02T00:00:00Z"],
            "%Y-%m-%dT%H:%M:%SZ",
            "timestamp[s, tz=UTC]",
        ),
        (
            ["2024-05-01T12:00:00.5Z", "2024-05-02T00:00:00Z"],
            "%Y-%m-%dT%H:%M:%S.%fZ",
            "timestamp[ms, tz=UTC]",
        ),
        (
            ["2024-05-01 12:00:00.123456789+0200"],
            "%Y-%m-%d %H:%M:%S.%9f%z",
            "timestamp[ns, tz=+02:00]",
        ),
        (["2024-05-01T12:00+02:00"], "%Y-%m-%dT%H:%M%:z", "timestamp[s, tz=+02:00]"),
        (["2024-05-01 12:00:00 -05:30"], "%Y-%m-%d %H:%M:%S %:z", "timestamp[s, tz=-05:30]"),
        (
            ["2024-05-01T12:00:00+01:00", "2024-07-01T12:00:00+02:00"],
            "%Y-%m-%dT%H:%M:%S%:z",
            "timestamp[s, tz=UTC]",
        ),
        (["2024-05-01T12:00:00.25"], "%Y-%m-%dT%H:%M:%S.%2f", "timestamp[ms]"),
        (["12:30:00.250", "07:00:00.000"], "%H:%M:%S.%3f", "time32[ms]"),
        (["2024-05-01"], "%Y-%m-%d", "date32"),
    ],
)
def test_zones_and_fractions_are_found(words, spelled, kind):
    guess = TimeGuess()
    guess.add(pa.array(words))
    assert guess.fitting[0] == spelled
    assert guess.kind == parse_type(kind)
    again = format_times(parse_times(pa.array(words), spelled, guess.kind), spelled)
    assert parse_times(again, spelled, guess.kind).equals(
        parse_times(pa.array(words), spelled, guess.kind)
    )


@pytest.mark.parametrize(
    "words",
    [
        ["2024-05-01T12:00:00Z", "2024-05-01T12:00:00"],
        ["12:00:00+02:00"],
        ["2024-05-01+02:00"],
        ["2024-05-01T25:00:00Z"],
    ],
)
def test_what_is_no_moment_in_a_zone_has_no_format(words):
    guess = TimeGuess()
    guess.add(pa.array(words))
    assert guess.fitting == ()


def test_words_that_do_not_fit_a_format_are_null():
    words = pa.array(
        [
            "2024-05-01T12:00:00.25Z",
            "2024-05-01T12:00:00",
            "2024-05-01T12:00:00.2512Z",
            "x",
            None,
            "2024-13-01T12:00:00Z",
        ]
    )
    assert (
        parse_times(words, "%Y-%m-%dT%H:%M:%S.%3fZ", pa.timestamp("ms", tz="UTC"))
        .is_valid()
        .to_pylist()
        == [True] + [False] * 5
    )


@pytest.mark.parametrize("milliseconds", [False, True])
def test_a_zoned_column_is_a_datetime_in_memory_and_in_a_stream_and_is_written_in_its_zone(
    tmp_path, milliseconds
):
    zone = dt.timezone(dt.timedelta(hours=2))
    words = [
        moment.isoformat(timespec="milliseconds" if milliseconds else "seconds")
        for moment in some(zone=zone, milliseconds=milliseconds)
    ]
    path = rows(tmp_path / "a.csv", words)
    table, scanned = chaffinch.read(path), chaffinch.scan(path)
    column = table.schema["when"]
    assert (column.kind, column.type) == (
        "datetime",
        f"timestamp[{'ms' if milliseconds else 's'}, tz=+02:00]",
    )
    assert scanned.schema["when"] == column
    assert scanned.schema["when"].codec.to_dict() == column.codec.to_dict()
    write_table(table, tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_text() == path.read_text()
    drawn = chaffinch.BayesNet().fit(table, seed=1).sample(50, seed=2)
    write_table(drawn, tmp_path / "drawn.csv")
    for line in (tmp_path / "drawn.csv").read_text().splitlines()[1:]:
        moment = dt.datetime.fromisoformat(line.split(",")[0])
        assert moment.utcoffset() == dt.timedelta(hours=2)
        assert 2023 <= moment.year <= 2025
        assert len(line.split(",")[0]) == len(words[0])


def test_moments_of_several_offsets_are_read_in_utc_and_a_note_says_so(tmp_path):
    zones = [dt.timezone(dt.timedelta(hours=hours)) for hours in (1, 2)]
    moments = [moment.astimezone(zones[i % 2]) for i, moment in enumerate(some(zone=dt.UTC))]
    path = rows(tmp_path / "a.csv", [moment.isoformat() for moment in moments])
    for source in (chaffinch.read(path), chaffinch.scan(path)):
        assert source.schema["when"].type == "timestamp[s, tz=UTC]"
        assert [note.sentence for note in source.notes if note.what == "zones"] == [
            "Moments in columns when have several offsets from UTC: they are read in UTC, and written so."
        ]
    assert chaffinch.read(path).data.column("when").to_pylist() == moments


def test_days_of_a_zone_are_drawn_as_its_midnights(tmp_path):
    zone = dt.timezone(dt.timedelta(hours=-5))
    path = rows(
        tmp_path / "a.csv",
        [moment.replace(hour=0, minute=0, second=0).isoformat() for moment in some(zone=zone)],
    )
    table = chaffinch.read(path)
    assert table.schema["when"].step == 86_400
    drawn = chaffinch.BayesNet().fit(table, seed=1).sample(200, seed=2)
    assert {moment.time() for moment in drawn.data.column("when").to_pylist()} == {dt.time(0)}


def test_bounds_of_a_zoned_column_are_times_on_its_clock():
    zone = dt.timezone(dt.timedelta(hours=2))
    kind = "timestamp[s, tz=+02:00]"
    on_clock = to_numbers(pa.array([dt.datetime(2024, 5, 1, 12, tzinfo=zone)], parse_type(kind)))[
        0
    ][0]
    assert number_of(dt.datetime(2024, 5, 1, 12), kind, "when") == on_clock
    assert number_of(dt.datetime(2024, 5, 1, 10, tzinfo=dt.UTC), kind, "when") == on_clock
