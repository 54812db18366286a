"""Columns that look as if they said who somebody is: by their names, by form and check digits, and by what only numbers that are given out once do.

Nothing is changed here. Under a promise of privacy names and declarations are all that is looked at.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from ..._base.errors import PersonalDataWarning, listed
from ..note import Note
from ..profile import Profile
from ..schema import Column
from ..types import parse_type
from .evidence import IdentifierEvidence, Reason
from .forms import FORMS, Form
from .names import NameSign, name_sign
from .numbers import given_out_in_order, given_out_once

PERSONAL = "personal"
"""What a note on such columns is about."""

ODDS = 1e-6
"""The chance with which check digits that mean nothing are taken for ones that mean something, in one column and for one form."""

FEWEST = 3
"""Different values from which a form says something."""

LOOKED_AT = 2_000
"""The most different values whose form is looked at, evenly spaced among all."""

FIRST_LOOK = 50
"""The values that decide which forms are looked at further."""

PRECISE = 3
"""Decimals from which a coordinate tells a house: 0.001 degrees are about a hundred metres."""


def with_evidence(
    columns: Iterable[Column], profiles: Mapping[str, Profile] | None = None
) -> tuple[Column, ...]:
    """Return columns with what says that they identify somebody, where anything does.

    Without profiles names and declarations alone decide, as they must under a promise of privacy.
    """
    return tuple(
        replace(
            column,
            evidence=evidence_of(column, None if profiles is None else profiles[column.name]),
        )
        for column in columns
    )


def evidence_of(column: Column, profile: Profile | None = None) -> IdentifierEvidence | None:
    """Return what says that a column identifies somebody; None where nothing does."""
    kind = parse_type(column.type)
    if column.kind in ("boolean", "date", "datetime") or pa.types.is_temporal(kind):
        return None
    sign = name_sign(column.name)
    if sign is not None and sign.most < _distinct(column, profile) and _tells(sign, column):
        return IdentifierEvidence(FORMS[sign.form].what, Reason.NAME, sign.form)
    if profile is None:
        return None
    if profile.words:
        return form_of_words([str(word) for word in _spread(list(profile.words))])
    if (
        column.kind == "float"
        or profile.n_fraction
        or not profile.numbers.exact
        or not profile.n_present
    ):
        return None
    values, _ = profile.numbers.result()
    if not len(values):
        return None
    if values[0] >= 0 and (
        found := form_of_words(
            [str(int(value)) for value in _spread(values.tolist())], numbers=True
        )
    ):
        return found
    if given_out_once(profile):
        return IdentifierEvidence("numbers that were given out once", Reason.NUMBERS)
    if given_out_in_order(profile):
        return IdentifierEvidence("numbers that were given out one after the other", Reason.ORDER)
    return None


def _tells(sign: NameSign, column: Column) -> bool:
    """Whether a column that is named so can hold such values: coordinates are numbers, and precise ones tell a house."""
    if sign.form in ("latitude", "longitude"):
        return column.kind == "float" and (column.decimals is None or column.decimals >= PRECISE)
    return column.kind != "float"


def _distinct(column: Column, profile: Profile | None) -> float:
    """How many different values a column has, or may have by its declaration."""
    if profile is not None and not profile.too_many_words:
        return len(profile.words) or len(profile.numbers.result()[0])
    return len(column.levels) if column.levels is not None else float("inf")


def _spread(values: Sequence[Any], most: int = LOOKED_AT) -> Sequence[Any]:
    """Values evenly spaced among all: no row is drawn."""
    return values if len(values) <= most else [values[i * len(values) // most] for i in range(most)]


def form_of_words(words: Sequence[str], *, numbers: bool = False) -> IdentifierEvidence | None:
    """Return which form different words share, if chance does not explain it; a single hit says nothing.

    Words without check digits need a pattern that says enough by itself. `numbers`: whole numbers, which lost the zeros before them, and of
    which only check digits say anything.
    """
    if len(words) < FEWEST:
        return None
    first = _spread(words, FIRST_LOOK)
    best: tuple[bool, float, Form] | None = None  # check digits say more than a pattern
    for form in FORMS:
        if not form.pattern or (numbers and (form.check is None or form.whole)):
            continue
        padded = _padded(words, form) if numbers else words
        if (
            padded is None
            or sum(map(form.has, _padded(first, form) or () if numbers else first)) < len(first) / 2
        ):
            continue
        p = _chance(form, padded)
        if p < ODDS and (best is None or (form.check is None, p) < best[:2]):
            best = (form.check is None, p, form)
    if best is None:
        return None
    by_pattern, _, form = best
    return IdentifierEvidence(
        form.what, Reason.PATTERN if by_pattern else Reason.CHECKSUM, form.name
    )


def _chance(form: Form, words: Sequence[str]) -> float:
    """The chance that so many words pass where their check digits mean nothing; 1 where too few have the form, 0 where it needs no check."""
    alike = [word for word in words if form.has(word)]
    if len(alike) < FEWEST or len(alike) < form.share * len(words):
        return 1.0
    if form.check is None:
        return 0.0
    passed = sum(map(form.passes, alike))
    if passed < form.share * len(alike):
        return 1.0
    from scipy.special import bdtrc

    return float(bdtrc(passed - 1, len(alike), form.chance))


def _padded(words: Sequence[str], form: Form) -> list[str] | None:
    """Whole numbers as the words that they were, with up to two zeros before them; None where their length is another."""
    length = len(form.mask.translate(_GROUPED))
    longest = max(map(len, words))
    if form.name == "credit_card":
        return list(words) if longest >= 13 else None
    return (
        [word.zfill(length) if len(word) >= length - 2 else word for word in words]
        if longest == length
        else None
    )


_GROUPED = str.maketrans("", "", " .-/")


def undecided(columns: Iterable[Column]) -> dict[str, IdentifierEvidence]:
    """Return the columns that would be modelled, look as if they said who somebody is, and of which nobody said what becomes of them."""
    return {
        column.name: column.evidence
        for column in columns
        if column.evidence is not None and column.modelled and column.output == ""
    }


def personal_note(columns: Iterable[Column]) -> list[Note]:
    """Return what to say of undecided columns, and what to do; nothing of none."""
    reasons = undecided(columns)
    if not reasons:
        return []
    named = listed(f"{name} ({evidence})" for name, evidence in reasons.items())
    return [
        Note(
            "",
            PERSONAL,
            f"These columns look as if they said who somebody is: {named}. Nothing is synthesised before a schema says what becomes of them: "
            '"drop" (left out), "fake" (made up) or "keep" (synthesised like any other).',
        )
    ]


def warn_of(notes: Iterable[Note]) -> None:
    """Give a Python warning of columns that look like names or personal numbers to the caller of the calling function."""
    for note in notes:
        if note.what == PERSONAL:
            warnings.warn(note.sentence, PersonalDataWarning, stacklevel=3)
