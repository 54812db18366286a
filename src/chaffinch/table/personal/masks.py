"""Masks: the form of codes, as `P-####`: `#` a digit, `?` a capital letter, `*` a small one, all else as it stands (after `\\` too)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import SchemaError
from ..._base.masking import THRESHOLD

DIGITS = "0123456789"
CAPITALS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
SLOTS = {"#": DIGITS, "?": CAPITALS, "*": CAPITALS.lower()}
PLAIN = "#########"
"""The mask where nothing is known: nine digits."""

MOST_SIGNS = 60
"""Longer codes have no mask."""

MOST_NUMBERED = 1 << 62
"""Values that a mask tells apart by number; the slots beyond are filled at random."""


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

    def fixed(self, place: int, sign: str) -> Mask:
        """Return the mask with one sign at a place."""
        return replace(self, places=(*self.places[:place], sign, *self.places[place + 1 :]))

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
        left, reached = numbers.astype(np.int64), 1
        for i in range(len(self.places) - 1, -1, -1):
            alphabet = np.array(list(self.places[i]))
            if reached * len(alphabet) <= MOST_NUMBERED or rng is None:
                left, index = np.divmod(left, len(alphabet))
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


def learnt_mask(words: Sequence[str]) -> Mask | None:
    """Return the most common form of different words; None where fewer than ten share one. Letters that all of these share stay, digits vary."""
    shapes = Counter(map(_shape, words))
    (shape, n), *_ = shapes.most_common(1) or [("", 0)]
    if n < THRESHOLD or len(shape) > MOST_SIGNS:
        return None
    alike = [word for word in words if _shape(word) == shape]
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
    words: Sequence[str],
    rows: int,
    *,
    hits: Callable[[str], bool] = lambda word: True,
    whole_number: bool = False,
    fixed: Sequence[int] = (),
) -> Mask:
    """Return a mask of nearly the same form that none of the words has, with room for so many rows.

    One place after the other is given the sign that the fewest words have there, until none is left; where there is no room for that, the
    mask gets a digit more. So what is made of it can never be one of the words, and need not be compared with them. `hits` says which words of
    the form count; `fixed` are places to leave alone. A whole number does not start with 0.

    Examples
    --------
    >>> str(free_of(parse_mask("####"), [str(i) for i in range(1000, 1600)], 600, whole_number=True))
    '2###'
    """
    while True:
        narrow = _narrowed(
            mask, [word for word in words if mask.matches(word) and hits(word)], whole_number, fixed
        )
        if narrow is not None and narrow.size >= rows:
            return narrow
        mask = mask.longer()


def _narrowed(
    mask: Mask, words: list[str], whole_number: bool, fixed: Sequence[int]
) -> Mask | None:
    """The mask with signs fixed until it has none of the words; None if every slot was needed and some are left."""
    if whole_number and len(mask.places[0]) > 1 and len(mask.places) > 1:
        mask, words = _rarest(mask, words, [0], "0")
    while words:
        free = [i for i in mask.slots if i not in fixed]
        if not free:
            return None
        mask, words = _rarest(mask, words, free, "")
    return mask


def _rarest(
    mask: Mask, words: list[str], places: Sequence[int], never: str
) -> tuple[Mask, list[str]]:
    """The mask with the sign fixed that the fewest words have at any of some places, and these words."""
    best = None
    for i in places:
        counts = Counter(word[i] for word in words)
        sign = min(
            (sign for sign in mask.places[i] if sign not in never),
            key=lambda sign: (counts[sign], sign),
        )
        if best is None or counts[sign] < best[0]:
            best = (counts[sign], i, sign)
    assert best is not None
    _, place, sign = best
    return mask.fixed(place, sign), [word for word in words if word[place] == sign]
