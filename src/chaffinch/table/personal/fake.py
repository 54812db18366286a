"""Made-up values in place of direct identifiers: of the same form, offline, from a seed, and never
one of the original values.

That none is an original value is settled when a schema is fitted: its form is narrowed until no
value of the column has it. So a model needs to keep no value, and rows drawn from it years later
need not be compared with anything. Under a promise of privacy the form is the declared one, or that
of the column's name, and no record is looked at.

A mask is the form of codes, as `P-####`: `#` a digit, `?` a capital letter, `*` a small one, all
else as it stands (after `\\` too).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import gcd, prod
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..._base.errors import InputError, SchemaError, unknown_name
from ..._base.masking import THRESHOLD
from ..types import is_words, parse_type, value_type
from .forms import FORMS, Form
from .names import name_sign

if TYPE_CHECKING:
    from ..profile import Profile
    from ..schema import Column


DIGITS = "0123456789"
CAPITALS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
SLOTS = {"#": DIGITS, "?": CAPITALS, "*": CAPITALS.lower()}
PLAIN = "#########"
"""The mask where nothing is known: nine digits."""

MOST_SIGNS = 60
"""Longer codes have no mask."""

MOST_NUMBERED = 1 << 62
"""Values that a mask distinguishes by number; the slots beyond are filled at random."""

SYLLABLES = ("", "zoq", "wyx", "qub", "xev", "jaq", "zuvq", "qexo", "vyjz", "qwozx")
"""What is put into made-up words so that none of them is an original one; empty where none is
anyway.
"""


@dataclass(frozen=True)
class FakeForm:
    """How values are made up: by a form's own rule, with a syllable of their own, or by a mask
    whose check digits are wrong.

    Examples
    --------
    >>> str(parse_form("es_dni:########-?")), str(parse_form("P-####")), str(parse_form("surname"))
    ('es_dni:########-?', 'P-####', 'surname')
    """

    form: Form | None
    mask: Mask | None = None
    syllable: str = ""

    def __str__(self) -> str:
        detail = self.syllable if self.mask is None else str(self.mask)
        return (
            detail
            if self.form is None
            else f"{self.form.name}:{detail}"
            if detail
            else self.form.name
        )

    @property
    def size(self) -> int:
        """How many different values there are; for words the short ones."""
        if self.mask is None:
            assert self.form is not None
            return self.form.size
        return (
            self.mask.size
            if self.check_place is None
            else self.mask.size // len(self.mask.places[self.check_place])
        )

    @property
    def check_place(self) -> int | None:
        """The place of the mask whose sign makes the check fail; None where there is no check."""
        if self.mask is None or self.form is None or self.form.check is None or self.form.unissued:
            return None
        signs = [i for i, signs in enumerate(self.mask.places) if signs not in " .-/"]
        return signs[self.form.check_at]

    def spell(self, numbers: Sequence[int], rng: np.random.Generator) -> list[str]:
        """Return the value of each number."""
        if self.mask is None:
            assert self.form is not None
            assert self.form.make is not None
            values = [self.form.make(number) for number in numbers]
            return (
                [_with_syllable(word, self.syllable) for word in values]
                if self.syllable
                else values
            )
        position = self.check_place
        body = (
            self.mask
            if position is None
            else self.mask.fixed(position, self.mask.places[position][0])
        )
        masked_values = body.spell(np.array(numbers, dtype=np.int64), rng).tolist()
        return (
            masked_values
            if position is None
            else [
                self._failing(word, position, number)
                for word, number in zip(masked_values, numbers, strict=True)
            ]
        )

    def _failing(self, word: str, position: int, number: int) -> str:
        """The word with a sign at the place of the check that is not the right one."""
        assert self.mask is not None
        assert self.form is not None
        signs = self.mask.places[position]
        candidates = (
            word[:position] + signs[(number + i) % len(signs)] + word[position + 1 :]
            for i in range(len(signs))
        )
        return next(
            (candidate for candidate in candidates if not self.form.passes(candidate)), word
        )


def parse_form(text: str) -> FakeForm:
    """Return the form that a schema names: that of a registered form, a mask, or both, as `nl_bsn`,
    `P-####`, `es_dni:########-?`.
    """
    name, colon, rest = text.partition(":")
    if name in FORMS:
        form = FORMS[name]
        if form.make is not None:
            if rest not in SYLLABLES:
                raise SchemaError(
                    f"Form '{name}' makes up words of its own: write it without a mask."
                )
            return FakeForm(form, syllable=rest)
        return FakeForm(
            form, parse_mask(rest) if colon else _unissued_mask(form, parse_mask(form.mask))
        )
    if not any(slot in text for slot in SLOTS):
        raise unknown_name("form", text, FORMS.names)
    return FakeForm(None, parse_mask(text))


def fitted_form(column: Column, profile: Profile | None = None) -> Column:
    """Return a column that is to be made up with the form of its values; other columns as they are.

    A declared form comes first, then what its values or its name say, then what its values look
    like. With a profile the form is free of every value of the column. Without one, nothing but the
    declaration and the name is looked at.
    """
    if column.output != "fake":
        return column
    kind = value_type(parse_type(column.type))
    integral, numeric = pa.types.is_integer(kind), not is_words(kind)
    named = _named_form(column, numeric)
    if profile is None:
        return replace(column, form=str(parse_form(named or PLAIN)))
    distinct, rows = _distinct_values(column, profile), max(profile.n_rows, 1)
    # Numbers of a text file are whole where all are written as such.
    integral = integral or (
        bool(distinct)
        and all(word.isdecimal() and (word[0] != "0" or word == "0") for word in distinct)
    )
    unique = profile.n_present == len(distinct) and profile.n_present > 1
    plain = FakeForm(
        None,
        learnt_mask(distinct)
        or parse_mask("#" * max(map(len, distinct), default=1) if numeric else PLAIN),
    )
    fake = parse_form(named) if named else plain
    if fake.mask is None and (syllable := _foreign_syllable(fake, distinct)) is not None:
        repeats = 1 if unique and column.repeats is None else column.repeats
        return replace(column, form=str(replace(fake, syllable=syllable)), repeats=repeats)
    if fake.mask is None:
        # Words of this form are among the values, and cannot be distinguished from them: a mask can.
        fake = plain
    elif (
        not column.form
        and fake.form is not None
        and (
            mask := learnt_mask(
                [word for word in distinct if not fake.form.pattern or fake.form.has(word)]
            )
        )
    ):
        fake = replace(fake, mask=_unissued_mask(fake.form, mask))
    return replace(column, form=str(_free_of(fake, distinct, rows, integral)))


def _named_form(column: Column, numeric: bool) -> str:
    """Return the form that is declared, that was found in its values, or that its name says; empty
    where a number cannot have it.
    """
    sign = name_sign(column.name)
    named = (
        column.form
        or (column.evidence.form if column.evidence is not None else "")
        or (sign.form if sign is not None else "")
    )
    refused = numeric and not column.form and named and not _is_number(FORMS[named])
    return "" if refused else named


def fake_values(
    column: Column, first_row: int, n_rows: int, *, key: int, rng: np.random.Generator
) -> pa.Array:
    """Return made-up values for rows from `first_row` on; rows of one key have different values,
    first names and surnames apart.

    Examples
    --------
    >>> from chaffinch.table.schema import Column
    >>> fake_values(Column("code", "identifier", output="fake", form="P-##"), 0, 3, key=5, rng=np.random.default_rng(1)).to_pylist()
    ['P-42', 'P-99', 'P-56']
    """
    fake = parse_form(column.form or fitted_form(column).form)
    kind = value_type(parse_type(column.type))
    if fake.mask is not None and pa.types.is_integer(kind) and len(fake.mask.places[0]) > 1:
        fake = replace(fake, mask=fake.mask.fixed(0, "9"))  # a whole number has no zeros before it
    if column.repeats is None and fake.form is not None and fake.form.repeats:
        numbers = (fake.size * rng.random(n_rows) ** 2).astype(np.int64).tolist()
    else:
        each = column.repeats or 1
        numbers = (
            _shuffle_rows(
                range(first_row // each, (first_row + n_rows - 1) // each + 1),
                fake,
                column.name,
                key,
            )
            if n_rows
            else []
        )
        numbers = [numbers[(first_row + i) // each - first_row // each] for i in range(n_rows)]
    values = pa.array(fake.spell(numbers, rng), pa.string())
    if is_words(kind):
        return values.cast(kind)
    try:
        return values.cast(kind)
    except pa.ArrowInvalid:  # the form has signs that no number has, or more digits than the type
        return values


@dataclass(frozen=True)
class Mask:
    """The signs that may stand at each place of a code; one sign where it is always the same.

    Examples
    --------
    >>> mask = parse_mask("P-##")
    >>> mask.size, mask.spell(np.array([7, 42])).tolist(), str(mask)
    (100, ['P-07', 'P-42'], 'P-##')
    """

    places: tuple[str, ...]

    @property
    def slots(self) -> tuple[int, ...]:
        """The places that vary."""
        return tuple(i for i, signs in enumerate(self.places) if len(signs) > 1)

    @property
    def size(self) -> int:
        """How many codes there are of this form."""
        return prod(len(signs) for signs in self.places)

    def fixed(self, position: int, sign: str) -> Mask:
        """Return the mask with one sign at a place."""
        return replace(self, places=(*self.places[:position], sign, *self.places[position + 1 :]))

    def longer(self) -> Mask:
        """Return the mask with one more digit after its last slot."""
        last = self.slots[-1] + 1 if self.slots else len(self.places)
        return replace(self, places=(*self.places[:last], DIGITS, *self.places[last:]))

    def matches(self, word: str) -> bool:
        """Whether a word has this form."""
        return len(word) == len(self.places) and all(
            sign in signs for sign, signs in zip(word, self.places, strict=True)
        )

    def spell(
        self, numbers: NDArray[np.int64], rng: np.random.Generator | None = None
    ) -> NDArray[np.str_]:
        """Return the code of each number: different numbers below the size have different codes."""
        signs = np.empty((len(numbers), len(self.places)), dtype="<U1")
        quotients, reached = numbers.astype(np.int64), 1
        for i in range(len(self.places) - 1, -1, -1):
            alphabet = np.array(list(self.places[i]))
            if reached * len(alphabet) <= MOST_NUMBERED or rng is None:
                quotients, index = np.divmod(quotients, len(alphabet))
                reached *= len(alphabet)
            else:
                index = rng.integers(0, len(alphabet), len(numbers))
            signs[:, i] = alphabet[index]
        return np.ascontiguousarray(signs).view(f"<U{len(self.places)}").ravel()

    def __str__(self) -> str:
        shown = {signs: slot for slot, signs in SLOTS.items()}
        return "".join(
            shown.get(signs, f"\\{signs}" if signs in "#?*\\" else signs) for signs in self.places
        )


def parse_mask(text: str) -> Mask:
    """Return the mask that a text describes; SchemaError unless something in it varies."""
    places = [
        sign[1] if sign[0] == "\\" else SLOTS.get(sign, sign)
        for sign in re.findall(r"\\.|.", text, re.DOTALL)
    ]
    mask = Mask(tuple(places))
    if not mask.slots or len(places) > MOST_SIGNS:
        raise SchemaError(
            f"A form is the name of one, or at most {MOST_SIGNS} signs of which # stands for a digit, ? for a capital letter and * for a small one, as P-####."
        )
    return mask


def learnt_mask(values: Sequence[str]) -> Mask | None:
    """Return the most common form of different words; None where fewer than ten share one. Letters
    that all of these share stay, digits vary.
    """
    shapes = Counter(map(_shape, values))
    (shape, n), *_ = shapes.most_common(1) or [("", 0)]
    if n < THRESHOLD or len(shape) > MOST_SIGNS:
        return None
    alike = [word for word in values if _shape(word) == shape]
    places = []
    for i, sign in enumerate(shape):
        constant = sign in "?*" and len({word[i] for word in alike}) == 1 and alike[0][i].isascii()
        places.append(alike[0][i] if constant or sign not in SLOTS else SLOTS[sign])
    mask = Mask(tuple(places))
    return mask if mask.slots else None


def _shape(word: str) -> str:
    """A word with slots in place of its letters and digits.

    Examples
    --------
    >>> _shape("Ab-12")
    '?*-##'
    """
    return "".join(
        "#"
        if ch.isdigit()
        else ("?" if ch.isupper() else "*")
        if ch.isalpha()
        else "\\"
        if ch in SLOTS
        else ch
        for ch in word
    )


def free_of(
    mask: Mask,
    values: Sequence[str],
    rows: int,
    *,
    hits: Callable[[str], bool] = lambda word: True,
    whole_number: bool = False,
    fixed: Sequence[int] = (),
) -> Mask:
    """Return a mask of nearly the same form that matches none of the values, with `rows` codes or
    more.

    One place after the other is given the sign that the fewest words have there, until none is
    left; where there is no room for that, the mask gets a digit more. So what is made of it can
    never be one of the words, and need not be compared with them. `hits` says which words of the
    form count; `fixed` are places to leave alone. A whole number does not start with 0.

    Examples
    --------
    >>> str(free_of(parse_mask("####"), [str(i) for i in range(1000, 1600)], 600, whole_number=True))
    '2###'
    """
    while True:
        narrow = _narrow_mask(
            mask,
            [word for word in values if mask.matches(word) and hits(word)],
            whole_number,
            fixed,
        )
        if narrow is not None and narrow.size >= rows:
            return narrow
        mask = mask.longer()


def _narrow_mask(
    mask: Mask, values: list[str], whole_number: bool, fixed: Sequence[int]
) -> Mask | None:
    """The mask with signs fixed until it matches none of the values; None if it still does with
    every slot fixed.
    """
    if whole_number and len(mask.places[0]) > 1 and len(mask.places) > 1:
        mask, values = _rarest(mask, values, [0], "0")
    while values:
        free = [i for i in mask.slots if i not in fixed]
        if not free:
            return None
        mask, values = _rarest(mask, values, free, "")
    return mask


def _rarest(
    mask: Mask, values: list[str], positions: Sequence[int], never: str
) -> tuple[Mask, list[str]]:
    """The mask with the sign fixed that the fewest values have at any of the positions, and these
    values.
    """
    best = None
    for i in positions:
        counts = Counter(word[i] for word in values)
        sign = min(
            (sign for sign in mask.places[i] if sign not in never),
            key=lambda sign: (counts[sign], sign),
        )
        if best is None or counts[sign] < best[0]:
            best = (counts[sign], i, sign)
    assert best is not None
    _, position, sign = best
    return mask.fixed(position, sign), [word for word in values if word[position] == sign]


def _is_number(form: Form) -> bool:
    """Whether made-up values of a form can be numbers."""
    return form.name in ("latitude", "longitude", "house_number") or bool(
        form.mask and set(form.mask) <= {"#"}
    )


def _free_of(fake: FakeForm, values: Sequence[str], rows: int, integral: bool) -> FakeForm:
    """The form with a mask that makes no value which is among the words; those that pass a check
    are out of its reach anyway.
    """
    mask, position, form = fake.mask, fake.check_place, fake.form
    assert mask is not None
    if (
        form is None or position is None or len(mask.places[position]) == 1
    ):  # where all values share the check digit, the others tell them apart
        return FakeForm(
            form if position is None else None, free_of(mask, values, rows, whole_number=integral)
        )
    room = rows * len(mask.places[position])
    return replace(
        fake,
        mask=free_of(
            mask,
            values,
            room,
            hits=lambda word: not form.passes(word),
            whole_number=integral,
            fixed=(position,),
        ),
    )


def _distinct_values(column: Column, profile: Profile) -> list[str]:
    """The distinct values of a column as text. Beyond a million not all are known."""
    if profile.word_counts or profile.too_many_words:
        return [str(word) for word in profile.word_counts]
    values, _ = profile.numbers.result()
    integral = not profile.n_fraction and profile.largest < 2.0**53
    return [
        str(abs(int(value))) if integral else repr(value) for value in values.tolist()
    ]  # made-up numbers have no sign


def _foreign_syllable(fake: FakeForm, values: Iterable[str]) -> str | None:
    """The first syllable that makes every made-up word different from all words; None if there is
    none for this form.
    """
    assert fake.form is not None
    lower = [word.lower() for word in values]
    if not any(map(_could_be_ours(fake.form), lower)):
        return ""
    if fake.form.name not in ("given_name", "surname", "name", "user_name", "email", "address"):
        return None
    return next(
        (syllable for syllable in SYLLABLES[1:] if not any(syllable in word for word in lower)),
        None,
    )


def _could_be_ours(form: Form) -> Callable[[str], bool]:
    """A cheap test that every word passes which the form could make up; words in small letters."""
    sure = {
        "email": "@example.org",
        "url": "https://example.org/",
        "address": " street ",
        "ipv6": "2001:db8:",
        "mac": "02:00:00:",
    }
    if form.name in sure:
        return lambda word: sure[form.name] in word
    if form.name == "ip":
        return lambda word: word.startswith(("192.0.2.", "198.51.100.", "203.0.113.", "24", "25"))
    if form.name in ("coordinates", "latitude", "longitude"):
        return lambda word: word.lstrip("(").startswith(
            (
                "-46",
                "-47",
                "-48",
                "-49",
                "-50",
                "-51",
                "-121",
                "-122",
                "-123",
                "-124",
                "-125",
                "-126",
            )
        )
    if form.name == "house_number":
        return lambda word: False  # a number of a house identifies nobody by itself
    surnames = _lower_words("surname")
    if form.name in ("name", "user_name"):
        return lambda word: re.split(r"[ .-]", word)[-1] in surnames
    vocabulary = _lower_words(form.name)
    return lambda word: bool(set(re.split("[ -]", word)) <= vocabulary)


def _lower_words(name: str) -> set[str]:
    form = FORMS[name]
    assert form.make is not None
    return {form.make(number).lower() for number in range(form.size)}


def _with_syllable(word: str, syllable: str) -> str:
    """A word with a syllable after its first letters.

    Examples
    --------
    >>> _with_syllable("Arvel Corander", "zoq")
    'Arvelzoq Corander'
    """
    return re.sub(r"^[^\W\d_]+", lambda match: match[0] + syllable, word)


def _unissued_mask(form: Form, mask: Mask) -> Mask:
    """The mask with the signs at certain places with which no number of the form was ever given
    out.
    """
    if form.name == "phone":
        return _phone(mask)
    signs = [i for i, signs in enumerate(mask.places) if signs not in " .-/"]
    for compact_place, sign in form.unissued:
        mask = mask.fixed(signs[compact_place], sign)
    return mask


def _phone(mask: Mask) -> Mask:
    """A form of telephone numbers that nobody has: 555-01## where the form is North American, +999
    where it is international, else 000.

    No country has the code 999, and no number starts with three zeros: two lead abroad, and no code
    of a country starts with a third.
    """
    digits = [
        i for i, signs in enumerate(mask.places) if signs == SLOTS["#"] or signs in SLOTS["#"]
    ]
    groups = [
        len(run)
        for run in re.findall(
            "#+", "".join("#" if i in digits else " " for i in range(len(mask.places)))
        )
    ]
    if groups[-3:] == [3, 3, 4] and mask.places[0] != "+":
        start, signs = len(digits) - 7, "55501"
    else:
        start, signs = 0, "999" if mask.places[0] == "+" else "000"
    for i, sign in zip(digits[start:], signs, strict=False):
        mask = mask.fixed(i, sign)
    return mask


def _shuffle_rows(rows: range, fake: FakeForm, name: str, key: int) -> list[int]:
    """The numbers of rows in an order that the key decides: one to one, so that no two rows have
    the same.
    """
    size = min(fake.size, 1 << 62)
    if fake.mask is not None and rows.stop > size:
        raise InputError(
            f"Column '{name}' is made up in a form of which there are {size:,} values, and more rows are drawn. Declare a longer form in its schema."
        )
    rng = np.random.default_rng([key, *name.encode()])
    factor, shift = 1, int(rng.integers(0, size))
    if size > 2:
        factor = int(rng.integers(size // 3, size))
        while gcd(factor, size) != 1:
            factor = factor % (size - 1) + 1
    return [row // size * size + (factor * (row % size) + shift) % size for row in rows]
