"""The encoding of a text file, found from all of its bytes where they leave no doubt.

A mark at the start is certain, and so is every second byte zero (UTF-16 without one), and text that
is UTF-8 throughout. Bytes of another encoding are taken for Western (cp1252, of which latin-1 is a
part) only if what they spell is written in the letters of one Western language, inside words:
Central European, Baltic, Turkish, Cyrillic, Greek, Mac and DOS text read so gives letters that no
one language has.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from typing import BinaryIO

from ..._base.errors import FileError

BLOCK = 1 << 22

NAMES = {
    "utf-16": "UTF-16",
    "utf-32": "UTF-32",
    "cp1252": "Windows-1252 (cp1252)",
    "iso8859-1": "latin-1",
}
"""What encodings are called in sentences."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16: it starts with the same two bytes
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

_ALPHABETS = (
    # Letters of a language, and those of which its text has some: other encodings have other letters in their places.
    ("äöüßé", "äöüß"),  # German
    ("àâæçéèêëîïôœùûüÿ", "é"),  # French
    ("áéíóúüñ", "áéí"),  # Spanish
    ("áâãàçéêíóôõúü", "áéíç"),  # Portuguese
    ("àèéìòù", "à"),  # Italian
    ("åäöé", "åäö"),  # Swedish, Finnish
    ("æøåé", "å"),  # Danish, Norwegian
    ("áéëèíïóöúü", "éëö"),  # Dutch
    ("áðéíóúýþæö", "áíú"),  # Icelandic
)
_AFTER_LETTERS = frozenset("’‘“”»²³°™®©…\xa0\xad–—")
_BEFORE_LETTERS = frozenset("’‘„“‚«¿¡°µ§\xa0\xad–—")
_SIGNS = frozenset("€£§°²³µ½¼¾±×·«»„“”‘’‚–—…•™©®¿¡ªº¢¥\xa0\xad")
_DOUBTFUL = frozenset("„“”‘’‚–—…•™")
"""Signs in whose place encodings of DOS and of the Mac have letters."""
_SPELLED = re.compile(r"[^\x00-\x7f]")


def normal(encoding: str) -> str:
    """Return the one name of an encoding, as Python has it.

    Examples
    --------
    >>> normal("UTF8"), normal("latin-1")
    ('utf-8', 'iso8859-1')
    """
    return codecs.lookup(encoding).name


def encoding_of(
    open_bytes: Callable[[], BinaryIO], name: str, check: Callable[[int], None] = lambda n: None
) -> str:
    """Return the encoding of a text file from all of its bytes, or raise a FileError where they
    leave a doubt.

    `check` is called with the number of bytes that have been read.
    """
    with open_bytes() as handle:
        block = handle.read(BLOCK)
        for mark, encoding in _MARKS:
            if block.startswith(mark):
                return encoding
        if wide := _without_mark(block):
            return wide
        decoder, n_bytes = codecs.getincrementaldecoder("utf-8")(), 0
        while block:
            n_bytes += len(block)
            check(n_bytes)
            try:
                if not block.isascii() or decoder.getstate()[0]:
                    decoder.decode(block)
            except UnicodeDecodeError:
                break
            block = handle.read(BLOCK)
        else:
            if decoder.getstate()[0]:  # it ends inside a character
                raise not_in(name, "utf-8")
            return "utf-8"
    if not _is_western(open_bytes):
        raise not_in(name, "utf-8")
    return "cp1252"


def not_in(name: str, encoding: str) -> FileError:
    """Return the error for a text file whose bytes are not of an encoding."""
    return FileError(
        f"'{name}' is not {encoding}, and its bytes do not say for certain what it is. Pass its encoding, as in --encoding cp1252 "
        '(encoding="cp1252" in Python): cp1252 for Western European languages, cp1250 for Central European ones, cp1251 for Cyrillic, mac-roman for an old Mac.'
    )


def _without_mark(block: bytes) -> str:
    """Return UTF-16 of either order where nearly every second byte is zero and the others are not;
    else an empty string.
    """
    head = block[:4096]
    if len(head) < 8 or b"\0" not in head:
        return ""
    even, odd = head[0::2].count(0), head[1::2].count(0)
    half = len(head) // 2
    if odd > 0.7 * half and not even:
        return "utf-16-le"
    return "utf-16-be" if even > 0.7 * half and not odd else ""


def _is_western(open_bytes: Callable[[], BinaryIO]) -> bool:
    """Return whether all bytes spell, as cp1252, words in the letters of one Western language, and
    signs that stand beside words.
    """
    letters: set[str] = set()
    signs: set[str] = set()
    decoder = codecs.getincrementaldecoder("cp1252")()
    with open_bytes() as handle:
        last = " "
        while block := handle.read(BLOCK):
            try:
                text = last + decoder.decode(block)
            except UnicodeDecodeError:
                return False
            if "\0" in text:
                return False
            for match in _SPELLED.finditer(text):
                sign = match[0].lower()
                if sign in _SIGNS:
                    before, after = (
                        text[match.start() - 1 : match.start()],
                        text[match.end() : match.end() + 1],
                    )
                    near_letters = (before.isalpha(), after.isalpha())
                    joined = all(near_letters) and sign not in "’–—\xad\xa0"
                    if (
                        joined
                        or (near_letters[0] and sign not in _AFTER_LETTERS)
                        or (near_letters[1] and sign not in _BEFORE_LETTERS)
                    ):
                        return False  # it is a letter of another encoding
                    signs.add(sign)
                elif sign.isalpha():
                    letters.add(sign)
                else:
                    return False
            last = text[-1:]
            if len(letters) > 20:
                return False
    if not letters:
        return not signs & _DOUBTFUL
    return any(
        letters <= set(alphabet) and letters & set(typical) for alphabet, typical in _ALPHABETS
    )
