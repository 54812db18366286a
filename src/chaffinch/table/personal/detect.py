"""Columns that look as if they said who somebody is: by their names, by form and check digits, and
by what only numbers that are given out once do.

Nothing is synthesised before somebody has said what becomes of them (`check_decided`). Under a
promise of privacy names and declarations are all that is looked at.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..._base.checks import check_name
from ..._base.documents import toml_key, toml_value
from ..._base.errors import PersonalDataError, PersonalDataWarning, join_names
from ..profile import Profile
from ..schema import UNKNOWN, Column, IdentifierEvidence, Note, Reason, Schema
from ..schema_file import FORMAT, VERSION
from ..types import parse_type
from .forms import FORMS, Form
from .names import NameSign, name_sign

PERSONAL = "personal"
"""What a note on such columns is about."""

FALSE_POSITIVE_RATE = 1e-6
"""The chance with which check digits that mean nothing are taken for ones that mean something, in
one column and for one form.
"""

FEWEST = 3
"""Different values from which a form says something."""

LOOKED_AT = 2_000
"""The most different values whose form is looked at, evenly spaced among all."""

FIRST_LOOK = 50
"""The values that decide which forms are looked at further."""

PRECISE = 3
"""Decimals from which a coordinate tells a house: 0.001 degrees are about a hundred metres."""

_GROUPED = str.maketrans("", "", " .-/")
ODDS_ONCE = 1e-4
"""The chance with which numbers of independent records are taken for ones that were given out
once.
"""

FEWEST_NUMBERS = 20
"""Records from which numbers are looked at."""

FEWEST_FLAT = 50
"""Records from which an even spread says something."""

FLAT = 6
"""Digits from which numbers that spread evenly are taken for personal ones."""

LONG = 9
"""Digits from which whole numbers that are all of one length and almost all different are taken for
personal ones.
"""

ALMOST_ALL = 0.95
DECISIONS = ("drop", "fake", "keep")
"""What may become of such a column: it is left out, made up, or synthesised like any other."""


def with_evidence(columns: Iterable[Column]) -> tuple[Column, ...]:
    """Return columns with the evidence of names and declarations alone that they identify somebody,
    as a privacy guarantee requires.
    """
    return tuple(replace(column, evidence=evidence_of(column)) for column in columns)


def evidence_of(column: Column, profile: Profile | None = None) -> IdentifierEvidence | None:
    """Return the evidence that a column identifies somebody; None without any."""
    kind = parse_type(column.type)
    if column.kind in ("boolean", "date", "datetime") or pa.types.is_temporal(kind):
        return None
    sign = name_sign(column.name)
    if sign is not None and sign.max_distinct < _distinct(column, profile) and _tells(sign, column):
        return IdentifierEvidence(FORMS[sign.form].what, Reason.NAME, sign.form)
    if profile is None:
        return None
    if profile.word_counts:
        return form_of_words([str(word) for word in _spread(list(profile.word_counts))])
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
        evidence := form_of_words(
            [str(int(value)) for value in _spread(values.tolist())], numbers=True
        )
    ):
        return evidence
    if given_out_once(profile):
        return IdentifierEvidence("numbers that were given out once", Reason.NUMBERS)
    if given_out_in_order(profile):
        return IdentifierEvidence("numbers that were given out one after the other", Reason.ORDER)
    return None


def _tells(sign: NameSign, column: Column) -> bool:
    """Whether a column that is named so can hold such values: coordinates are numbers, and precise
    ones tell a house.
    """
    if sign.form in ("latitude", "longitude"):
        return column.kind == "float" and (column.decimals is None or column.decimals >= PRECISE)
    return column.kind != "float"


def _distinct(column: Column, profile: Profile | None) -> float:
    """How many different values a column has, or may have by its declaration."""
    if profile is not None and not profile.too_many_words:
        return len(profile.word_counts) or len(profile.numbers.result()[0])
    return len(column.levels) if column.levels is not None else float("inf")


def _spread(values: Sequence[Any], max_values: int = LOOKED_AT) -> Sequence[Any]:
    """Values evenly spaced among all: no row is drawn."""
    return (
        values
        if len(values) <= max_values
        else [values[i * len(values) // max_values] for i in range(max_values)]
    )


def form_of_words(values: Sequence[str], *, numbers: bool = False) -> IdentifierEvidence | None:
    """Return the evidence of a form that distinct values share, if chance does not explain it.

    Words without check digits need a pattern that says enough by itself. `numbers`: whole numbers,
    which lost the zeros before them, and of which only check digits say anything.
    """
    if len(values) < FEWEST:
        return None
    first = _spread(values, FIRST_LOOK)
    best: tuple[bool, float, Form] | None = None  # check digits say more than a pattern
    for form in FORMS:
        if not form.pattern or (numbers and (form.check is None or form.with_separators)):
            continue
        padded = _pad_zeros(values, form) if numbers else values
        if (
            padded is None
            or sum(map(form.has, _pad_zeros(first, form) or () if numbers else first))
            < len(first) / 2
        ):
            continue
        p = _chance(form, padded)
        if p < FALSE_POSITIVE_RATE and (best is None or (form.check is None, p) < best[:2]):
            best = (form.check is None, p, form)
    if best is None:
        return None
    by_pattern, _, form = best
    return IdentifierEvidence(
        form.what, Reason.PATTERN if by_pattern else Reason.CHECKSUM, form.name
    )


def _chance(form: Form, values: Sequence[str]) -> float:
    """The p-value of the number of values that pass a check by chance; 1 where too few have the
    form, 0 where it needs no check.
    """
    alike = [word for word in values if form.has(word)]
    if len(alike) < FEWEST or len(alike) < form.share * len(values):
        return 1.0
    if form.check is None:
        return 0.0
    passed = sum(map(form.passes, alike))
    if passed < form.share * len(alike):
        return 1.0
    from scipy.special import bdtrc

    return float(bdtrc(passed - 1, len(alike), form.chance))


def _pad_zeros(values: Sequence[str], form: Form) -> list[str] | None:
    """Whole numbers as the words that they were, with up to two zeros before them; None where their
    length is another.
    """
    length = len(form.mask.translate(_GROUPED))
    longest = max(map(len, values))
    if form.name == "credit_card":
        return list(values) if longest >= 13 else None
    return (
        [word.zfill(length) if len(word) >= length - 2 else word for word in values]
        if longest == length
        else None
    )


def undecided_columns(columns: Iterable[Column]) -> dict[str, IdentifierEvidence]:
    """Return the columns that would be modelled, look as if they said who somebody is, and of which
    nobody said what becomes of them.
    """
    return {
        column.name: column.evidence
        for column in columns
        if column.evidence is not None and column.modelled and column.output == ""
    }


def personal_note(columns: Iterable[Column]) -> list[Note]:
    """Return the note on undecided columns and what to do; empty without any."""
    reasons = undecided_columns(columns)
    if not reasons:
        return []
    named = join_names(f"{name} ({evidence})" for name, evidence in reasons.items())
    return [
        Note(
            "",
            PERSONAL,
            f"These columns look as if they said who somebody is: {named}. Nothing is synthesised before a schema says what becomes of them: "
            '"drop" (left out), "fake" (made up) or "keep" (synthesised like any other).',
        )
    ]


def warn_of(notes: Iterable[Note]) -> None:
    """Give a Python warning of columns that look like names or personal numbers to the caller of
    the calling function.
    """
    for note in notes:
        if note.what == PERSONAL:
            warnings.warn(note.sentence, PersonalDataWarning, stacklevel=3)


@contextmanager
def without_personal_warnings() -> Iterator[None]:
    """Keep Python from warning of columns that look personal: who is told of notes says it in their
    own way.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PersonalDataWarning)
        yield


def given_out_once(profile: Profile) -> bool:
    """Return whether whole numbers look as if each was given to one person: almost all differ, and
    not as a measure's do.

    Three signs, each of them enough. *Fewer equals than neighbours*: of two independent records of
    a measure, both have the same number about as often as the second has the one a step above the
    first's, since a smooth density has no holes beside its values and people round to the same
    numbers; numbers that were given out once have neighbours and no equals. *Long*: nine digits or
    more, nearly all of one length. *Flat*: all different, all of one length of six digits or more,
    as often near one end of their range as near any other place, and not rounded: amounts of money
    and numbers of people are skewed, and end in zeros.
    """
    values, counts = profile.numbers.result()
    n = float(counts.sum())
    if (
        not profile.numbers.exact
        or n < FEWEST_NUMBERS
        or len(values) < ALMOST_ALL * n
        or _is_grid(values)
    ):
        return False
    integers = values.astype(np.int64)
    if (
        _poisson_below(float((counts * (counts - 1) / 2).sum()), _expected_equals(integers, counts))
        < ODDS_ONCE
    ):
        return True
    lengths = 1 + np.searchsorted(10 ** np.arange(1, 19), np.abs(integers), side="right")
    usual_length = int(np.bincount(lengths, weights=counts).argmax())
    if usual_length >= LONG:
        return bool(counts[lengths == usual_length].sum() >= 0.85 * n)
    return bool(
        usual_length >= FLAT
        and (lengths == usual_length).all()
        and len(values) == n
        and _is_flat(integers)
    )


def _is_grid(values: NDArray[np.int64]) -> bool:
    """Whether sorted numbers go by one step of two or more, as years of a series do and numbers
    that were given out do not.
    """
    gaps = np.diff(values)
    return bool(gaps.min() == gaps.max() and gaps[0] > 1)


def _expected_equals(values: NDArray[np.int64], counts: NDArray[np.float64]) -> float:
    """How many pairs of records should be equal if all were drawn by themselves: by the pairs that
    are a few steps apart.
    """
    gaps = np.diff(values)
    step = int(np.gcd.reduce(gaps))
    reach = max(step, int(np.median(gaps)) // step * step)
    last = np.searchsorted(values, values + reach, side="right")
    below = np.concatenate([[0.0], np.cumsum(counts)])
    near = float((counts * (below[last] - below[np.arange(len(values)) + 1])).sum())
    return near / (2 * reach / step)


def _is_flat(values: NDArray[np.int64]) -> bool:
    """Whether sorted numbers spread evenly over their range (Kolmogorov and Smirnov's distance, at
    1 %) and are not rounded.
    """
    n = len(values)
    if n < FEWEST_FLAT or (values % 10 == 0).mean() > 0.2:
        return False
    position = (values[1:-1] - values[0]) / (values[-1] - values[0])
    rank = np.arange(1, n - 1) / (n - 2)
    distance = max(float((rank - position).max()), float((position - rank + 1 / (n - 2)).max()))
    return bool(distance * np.sqrt(n - 2) < 1.63)


def _poisson_below(seen: float, expected: float) -> float:
    """The chance that a Poisson count is at most as large as what was seen."""
    if expected <= 0:
        return 1.0
    steps = np.log(
        expected / np.arange(1, int(seen) + 1)
    )  # from the logarithm of one term to that of the next
    return float(np.exp(np.concatenate([[0.0], np.cumsum(steps)]) - expected).sum())


def given_out_in_order(profile: Profile) -> bool:
    """Return whether whole numbers rise from each row to the next, by steps that differ: as numbers
    do that were given out as people came.

    Tables may be sorted by a measure, but measures have equals; and by time, but years and days of
    a series go by one step.
    """
    values, counts = profile.numbers.result()
    if not profile.rising or len(values) < FEWEST_NUMBERS or profile.n_present < profile.n_rows:
        return False
    steps = np.diff(values)
    return bool(counts.max() == 1 and steps.min() < steps.max())


def check_decided(columns: Iterable[Column]) -> None:
    """Raise PersonalDataError, with all that is to be written, if columns look as if they said who
    somebody is and nobody decided on them.
    """
    if reasons := undecided_columns(columns):
        raise PersonalDataError(_message(reasons))


def check_declared_decided(schema: Schema) -> None:
    """The same under a promise of privacy: by names and declarations alone, whatever was found in
    records.
    """
    check_decided(with_evidence(schema))


def _message(reasons: Mapping[str, IdentifierEvidence]) -> str:
    import shlex

    width = max(map(len, reasons))
    lines = [f"  {name:{width}}  {evidence}" for name, evidence in reasons.items()]
    block = [
        f'format = "{FORMAT}"',
        f"version = {VERSION}",
        "",
        "[columns]",
        *(f'{toml_key(name)} = "drop"' for name in reasons),
    ]
    options = " ".join(f"--personal {shlex.quote(f'{name}=drop')}" for name in reasons)
    entries = ", ".join(f'{toml_value(name)}: "drop"' for name in reasons)
    return "\n".join(
        [
            "These columns look as if they said who somebody is, and would be synthesised like any other:",
            *lines,
            'Say what becomes of each: "drop" leaves it out, "fake" makes values up, "keep" synthesises it all the same. A schema may say no more than this:',
            "",
            *block,
            "",
            f"On the command line: {options}",
            f"In Python: schema={{{entries}}}, for chaffinch.release or chaffinch.read",
        ]
    )


def with_decisions(schema: Schema | None, decisions: Mapping[str, str]) -> Schema | None:
    """Return a schema with what was decided of columns; without one, a schema that says nothing
    else.
    """
    if not decisions:
        return schema
    for decision in decisions.values():
        check_name("decision", decision, DECISIONS)
    known = () if schema is None else schema.columns
    changed = tuple(
        _apply_decision(column, decisions[column.name]) if column.name in decisions else column
        for column in known
    )
    named = {column.name for column in known}
    new = tuple(
        _apply_decision(Column(name, UNKNOWN), decision)
        for name, decision in decisions.items()
        if name not in named
    )
    return Schema((*changed, *new)) if schema is None else replace(schema, columns=(*changed, *new))


def _apply_decision(column: Column, decision: str) -> Column:
    if decision != "keep":
        same = column.output == "fake" == decision
        return Column(
            column.name,
            "identifier",
            "person" if column.role == "person" else "identifier",
            column.type,
            column.title,
            output=decision,  # type: ignore[arg-type]
            form=column.form if same else "",
            repeats=column.repeats if same else None,
            reason="as was decided",
        )
    if column.modelled:
        return replace(column, output="keep")
    return Column(column.name, UNKNOWN, missing=column.missing, title=column.title, output="keep")
