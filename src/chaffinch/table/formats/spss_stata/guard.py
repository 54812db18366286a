"""A look at the dictionary of an SPSS file before the reader sees it.

The C reader behind `pyreadstat` (1.3.7) does not raise but kills the process when a set of value labels belongs to
no variable, or labels a word that does not decode. One damaged byte is enough, so such files are refused here.
Layout of the records: the PSPP manual, "System File Format".
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from ...._base.errors import FileError

HEADER = 176
UTF8 = 65001


def check_sav(path: Path) -> None:
    """Raise a FileError if the labels of an SPSS file do not fit its variables; all else is left to the reader."""
    with open(path, "rb") as handle:
        head = handle.read(HEADER)
        order = "<" if head[64:68] in (b"\2\0\0\0", b"\3\0\0\0") else ">"
        try:
            sound = len(head) == HEADER and _Dictionary(handle, order).sound()
        except struct.error:  # the file ends before its dictionary does
            sound = False
    if not sound:
        raise FileError(
            f"Cannot read '{path}': it is damaged, truncated or not of the format it claims."
        )


@dataclass
class _Dictionary:
    handle: BinaryIO
    order: str
    widths: list[int] = field(
        default_factory=list
    )  # of each 8-byte piece: 0 a number, -1 the rest of a longer text
    words: list[bytes] = field(default_factory=list)  # texts that have a label
    encoding: str = ""

    def sound(self) -> bool:
        """Return whether every set of labels has a variable, and every labelled word decodes."""
        while True:
            record = self._whole()
            if record == 2:
                self._variable()
            elif record == 3:
                if not self._labels():
                    return False
            elif record == 6:
                self._skip(80 * self._whole())
            elif record == 7:
                self._extension()
            else:
                return self._decodes()

    def _whole(self) -> int:
        (number,) = struct.unpack(f"{self.order}i", self.handle.read(4))
        return int(number)

    def _skip(self, n_bytes: int) -> None:
        self.handle.seek(max(n_bytes, 0), 1)

    def _variable(self) -> None:
        width, labelled, n_missing, *formats = (self._whole() for _ in range(5))
        shown_as_text = any(
            shown >> 16 & 0xFF in (1, 2) for shown in formats
        )  # A and AHEX make the reader take it for text
        self.widths.append(width or int(shown_as_text))
        self._skip(8)
        if labelled:
            self._skip(-(-self._whole() // 4) * 4)
        self._skip(8 * abs(n_missing))

    def _labels(self) -> bool:
        values = []
        for _ in range(self._whole()):
            value, length = struct.unpack("8sB", self.handle.read(9))
            self._skip((length + 8) // 8 * 8 - 1)
            values.append(value)
        if self._whole() != 4 or not 0 < (n_variables := self._whole()) <= len(self.widths):
            return False
        places = [self._whole() for _ in range(n_variables)]
        widths = [self.widths[place - 1] for place in places if 0 < place <= len(self.widths)]
        if not any(width >= 0 for width in widths):
            return False
        if any(widths):
            self.words += values
        return True

    def _extension(self) -> None:
        kind, size, count = self._whole(), self._whole(), self._whole()
        if kind == 3 and size == 4 and count == 8:
            page = [self._whole() for _ in range(8)][-1]
            self.encoding = self.encoding or ("utf-8" if page == UTF8 else f"cp{page}")
        elif kind == 20 and size == 1 and 0 < count < 100:
            self.encoding = self.handle.read(count).decode("ascii", "replace")
        else:
            self._skip(size * count)

    def _decodes(self) -> bool:
        try:
            for word in self.words:
                word.decode(self.encoding or "utf-8")
        except UnicodeError:
            return False
        except (LookupError, ValueError):  # an encoding that Python does not know: the reader may
            return True
        return True
