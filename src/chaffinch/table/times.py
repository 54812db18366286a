"""How a text file spells dates, times of day and moments, with fractions of a second and offsets
from UTC.

A format is that of `strftime`, and after the seconds perhaps `.%3f` (three digits of a second,
always) or `.%f` (none where the second is whole), and at the end perhaps `Z` (UTC), `%:z` (+02:00)
or `%z` (+0200). Moments that all have one offset keep it, in their type and in output. Where
offsets differ all are read in UTC, and written so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .types import PER_SECOND

_DATES = ("%Y-%m-%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%Y/%m/%d", "%d-%m-%Y", "%m-%d-%Y")
_TIMES = (" %H:%M:%S", "T%H:%M:%S", " %H:%M", "T%H:%M")
_CLOCKS = ("%H:%M:%S", "%H:%M")
_FORMATS = (*_DATES, *(date + time for time in _TIMES for date in _DATES), *_CLOCKS)
_PARTS = {
    "%Y": r"[0-9]{4}",
    "%m": r"[0-9]{1,2}",
    "%d": r"[0-9]{1,2}",
    "%H": "[0-9]{2}",
    "%M": "[0-9]{2}",
    "%S": "[0-9]{2}",
}
_WORD = r"^(?P<stem>.*?[0-9]{2}:[0-9]{2})(?P<fraction>\.[0-9]{1,9})?(?P<zone> ?(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?))?$"
_FORMAT = re.compile(r"(?P<stem>.*?)(?P<fraction>\.%[1-9]?f)?(?P<zone> ?(?:Z|%:?z))?")
_DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}


@dataclass
class TimeGuess:
    """Collects which formats every word of a column reads as."""

    formats: tuple[str, ...] = _FORMATS
    digits: set[int] = field(default_factory=set)
    zones: set[str] = field(default_factory=set)

    def add(self, texts: pa.Array) -> None:
        """Add different words."""
        for sample in (
            texts.slice(0, 20),
            texts,
        ):  # a few words rule out most formats, all words decide
            stems, fractions, zones = _split(sample)
            self.formats = tuple(
                form for form in self.formats if _stems(stems, form, strict=True).null_count == 0
            )
            if not self.formats:
                return
        self.digits.update(pc.unique(pc.utf8_length(fractions)).to_pylist())
        self.zones.update(pc.unique(zones).to_pylist())

    @property
    def fitting(self) -> tuple[str, ...]:
        """The formats that all words read as, with their fractions and zones; none where some have
        a zone and others do not.
        """
        if self.zones - {""} and "" in self.zones:
            return ()
        stems = self.formats
        if self.digits - {0}:
            stems = tuple(form for form in stems if form.endswith("%S"))
        if self.zones - {""}:
            stems = tuple(form for form in stems if form not in _DATES and form not in _CLOCKS)
        return tuple(form + self._fraction + self._zone for form in stems)

    @property
    def kind(self) -> pa.DataType:
        """The type of the values: of dates, of times of day, or of moments in the zone that all
        have, UTC where they have several.
        """
        if self.formats[0] in _DATES:
            return pa.date32()
        max_digits = max(self.digits, default=0) - 1
        unit = next(unit for unit, digits in _DIGITS.items() if digits >= max_digits)
        if self.formats[0] in _CLOCKS:
            return pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)
        return pa.timestamp(unit, tz=_zone_name(self.offsets) if self.zones - {""} else None)

    @property
    def offsets(self) -> set[int]:
        """The offsets from UTC that occur, in minutes."""
        return {_minutes(zone) for zone in self.zones - {""}}

    def plain_format(self, kind: pa.DataType) -> str:
        """Return how the words spell values of a type, if plainly (ISO 8601) and all alike; else an
        empty string.
        """
        if pa.types.is_time(kind):
            return next((form for form in self.fitting if form.startswith("%H")), "")
        plain = [form for form in self.fitting if form.startswith("%Y-%m-%d")]
        if pa.types.is_date(kind):
            return next((form for form in plain if form in _DATES), "")
        zoned = bool(self.zones - {""})
        return (
            next(iter(plain), "")
            if pa.types.is_timestamp(kind) and (kind.tz is not None) == zoned
            else ""
        )

    @property
    def _fraction(self) -> str:
        """What follows the seconds. Digits are counted with the point before them."""
        if len(self.digits) > 1:
            return ".%f"
        return f".%{next(iter(self.digits)) - 1}f" if self.digits - {0} else ""

    @property
    def _zone(self) -> str:
        zones = self.zones - {""}
        if not zones:
            return ""
        space = " " if all(zone.startswith(" ") for zone in zones) else ""
        if all(zone.endswith("Z") for zone in zones):
            return f"{space}Z"
        return space + ("%z" if all(re.search("[+-][0-9]{4}$", zone) for zone in zones) else "%:z")


def parse_times(texts: pa.Array, spelled: str, kind: pa.DataType) -> pa.Array:
    """Return values of a type from words in a format, null where a word is not in it.

    Examples
    --------
    >>> parse_times(pa.array(["2024-05-01T12:00:00.25+02:00"]), "%Y-%m-%dT%H:%M:%S.%f%:z", pa.timestamp("ms", tz="UTC"))[0].as_py().isoformat()
    '2024-05-01T10:00:00.250000+00:00'
    """
    stem, fraction, zone = _format_parts(spelled)
    if not fraction and not zone:
        return _stems(texts, spelled, strict=False).cast(kind)
    stems, fractions, zones = _split(texts)
    unit = _DIGITS[kind.unit]
    seconds = _stems(stems, stem, strict=False)
    given = pc.utf8_length(fractions).to_numpy(zero_copy_only=False)
    sound = np.ones(len(texts), dtype=bool) if fraction else given == 0
    sound &= given <= unit + 1
    sound &= np.asarray(pc.not_equal(zones, "").to_numpy(zero_copy_only=False)) == bool(zone)
    ticks = (
        seconds.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False) * PER_SECOND[kind.unit]
    )
    if unit:
        digits = pc.utf8_rpad(pc.utf8_slice_codeunits(fractions, 1), width=unit, padding="0")
        ticks = ticks + pc.utf8_slice_codeunits(digits, 0, unit).cast(pa.int64()).to_numpy(
            zero_copy_only=False
        )
    coded = zones.dictionary_encode()
    minutes = np.array(
        [_minutes(word) for word in coded.dictionary.to_pylist()] or [0], dtype=np.int64
    )
    ticks = (
        ticks - minutes[coded.indices.to_numpy(zero_copy_only=False)] * 60 * PER_SECOND[kind.unit]
    )
    sound &= seconds.is_valid().to_numpy(zero_copy_only=False)
    if pa.types.is_time(kind):
        ticks = ticks % (
            86_400 * PER_SECOND[kind.unit]
        )  # strptime puts a time of day on a day in 1900
    narrow = pa.int32() if kind.bit_width == 32 else pa.int64()
    return pa.array(ticks, mask=~sound).cast(narrow).cast(kind)


def format_times(values: pa.Array, spelled: str) -> pa.Array:
    """Return dates, times of day or moments as words in a format; null stays null.

    Examples
    --------
    >>> format_times(pa.array([0], pa.int64()).cast(pa.timestamp("s", tz="+02:00")), "%Y-%m-%d %H:%M:%S%:z").to_pylist()
    ['1970-01-01 02:00:00+02:00']
    """
    stem, fraction, zone = _format_parts(spelled)
    kind = values.type
    if pa.types.is_date(kind):
        return pc.strftime(values.cast(pa.timestamp("s")), format=spelled)
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        ticks = pc.local_timestamp(values).cast(pa.int64())
    else:
        ticks = values.cast(pa.int32() if kind.bit_width == 32 else pa.int64()).cast(pa.int64())
    seconds, rest = np.divmod(
        ticks.fill_null(0).to_numpy(zero_copy_only=False), PER_SECOND[kind.unit]
    )
    absent = values.is_null().to_numpy(zero_copy_only=False)
    texts = pc.strftime(pa.array(seconds, mask=absent).cast(pa.timestamp("s")), format=stem)
    if fraction:
        texts = pc.binary_join_element_wise(
            texts, _fractions(rest, _DIGITS[kind.unit], fraction), ""
        )
    if zone.endswith("z"):
        tz = kind.tz if pa.types.is_timestamp(kind) and kind.tz else "UTC"
        offsets = pc.strftime(values.cast(pa.timestamp("s", tz=tz), safe=False), format="%z")
        if ":" in zone:
            offsets = pc.binary_join_element_wise(
                pc.utf8_slice_codeunits(offsets, 0, 3), pc.utf8_slice_codeunits(offsets, 3, 5), ":"
            )
        texts = pc.binary_join_element_wise(texts, offsets, " " if zone.startswith(" ") else "")
    elif zone:
        texts = pc.binary_join_element_wise(texts, zone, "")
    return texts


def step_of(kind: pa.DataType, spelled: str) -> int:
    """Return the units of a time's type between neighbouring values that a format can spell.

    Examples
    --------
    >>> step_of(pa.timestamp("s"), "%Y-%m-%d %H:%M"), step_of(pa.time64("us"), "%H:%M:%S"), step_of(pa.timestamp("ms"), "%H:%M:%S.%2f")
    (60, 1000000, 10)
    """
    if not spelled.startswith("%") or not (pa.types.is_timestamp(kind) or pa.types.is_time(kind)):
        return 1
    _, fraction, _ = _format_parts(spelled)
    if fraction:
        digits = _DIGITS[kind.unit]
        return int(10 ** max(digits - int(fraction[2:-1] or digits), 0))
    seconds = 1 if "%S" in spelled else 60 if "%M" in spelled else 86_400
    return seconds * PER_SECOND[kind.unit]


def _format_parts(spelled: str) -> tuple[str, str, str]:
    """A format's part up to the seconds, that of their fractions, and that of the zone."""
    match = _FORMAT.fullmatch(spelled)
    return (
        (match["stem"], match["fraction"] or "", match["zone"] or "")
        if match
        else (spelled, "", "")
    )


def _split(texts: pa.Array) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Words without fractions and zones, their fractions with the point, and their zones; empty
    where there is none.
    """
    parts = pc.extract_regex(texts, _WORD)
    fraction, zone = (
        pc.fill_null(pc.struct_field(parts, name), "") for name in ("fraction", "zone")
    )
    return pc.coalesce(pc.struct_field(parts, "stem"), texts), fraction, zone


def _fractions(rest: np.ndarray, unit: int, token: str) -> pa.Array:
    """Fractions of a second as words, from ticks beyond the whole second."""
    digits = int(token[2:-1] or unit)
    padded = pc.utf8_lpad(pa.array(rest).cast(pa.string()), width=unit, padding="0")
    padded = pc.utf8_rpad(pc.utf8_slice_codeunits(padded, 0, digits), width=digits, padding="0")
    shown = pc.binary_join_element_wise(".", padded, "")
    return shown if token[2:-1] else pc.if_else(pa.array(rest != 0), shown, "")


def _stems(texts: pa.Array, spelled: str, *, strict: bool) -> pa.Array:
    """Return timestamps in seconds, null where a word does not read as one."""
    pattern = re.sub("%[YmdHMS]", lambda match: _PARTS[match[0]], spelled.replace(".", r"\."))
    if strict and not pc.all(pc.match_substring_regex(texts, f"^{pattern}$"), min_count=0).as_py():
        return pa.nulls(len(texts), pa.timestamp("s"))
    return pc.strptime(texts, format=spelled, unit="s", error_is_null=True)


def _minutes(zone: str) -> int:
    """An offset from UTC in minutes.

    >>> [_minutes(zone) for zone in ("Z", "+0200", " -05:30", "+01", "")]
    [0, 120, -330, 60, 0]
    """
    digits = re.sub("[^0-9]", "", zone)
    size = int(digits[:2] or 0) * 60 + int(digits[2:] or 0)
    return -size if "-" in zone else size


def _zone_name(offsets: set[int]) -> str:
    """The zone of a type: the one offset that all have, or UTC."""
    offset = next(iter(offsets)) if len(offsets) == 1 else 0
    return (
        f"{'-' if offset < 0 else '+'}{abs(offset) // 60:02}:{abs(offset) % 60:02}"
        if offset
        else "UTC"
    )
