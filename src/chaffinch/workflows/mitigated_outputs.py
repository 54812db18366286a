"""Mitigated outputs as files: a document with their numbers, and a table for each; nothing else, never over files that exist."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._base.errors import FileError
from .._base.files import check_writable, filling, write_text
from ..outputs.cells import TOTAL, Frame
from ..outputs.check.result import CheckResult
from ..outputs.document import FORMAT, VERSION
from ..outputs.numbers import is_withheld
from ..outputs.records import TableCoder, codes_of_table

if TYPE_CHECKING:
    from ..outputs.domain import Codes
    from ..outputs.kinds import OutputSpec


DOCUMENT = "mitigated.json"
"""The file of outputs. Columns are not described in it: their levels may be rarer than anything that is published."""

SIGN = "x"
"""What stands for a withheld number."""


def check_new_folder(folder: Path) -> None:
    """Raise unless a folder can be made."""
    if folder.exists() or folder.is_symlink():
        raise FileError(f"Cannot write '{folder}': it exists. Name a new folder.")
    check_writable(folder)


def write_mitigated(folder: Path, result: CheckResult, data: TableCoder | Codes | None) -> str:
    """Write the mitigated outputs of a check into a new folder, if they pass; return what was done, in a line."""
    after = result.mitigated
    if after is None or after.recipes is None or data is None:
        return f"Nothing was written to {folder}: no output was changed that can be published."
    if not after.passed:
        return f"Nothing was written to {folder}: the mitigated outputs do not pass."
    check_new_folder(folder)
    new = [one.name for one in after.outputs if not one.released]
    recipes = after.recipes.only(new)
    codes = codes_of_table(data, recipes.fields).codes if not isinstance(data, np.ndarray) else data
    computed = recipes.computed(codes)
    with filling(folder) as part:
        document = {
            "format": FORMAT,
            "version": VERSION,
            "outputs": [_entry(one) for one in computed.outputs],
        }
        write_text(
            part / DOCUMENT,
            json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n",
        )
        for number, output in enumerate(computed.outputs, 1):
            text = io.StringIO()
            csv.writer(text, lineterminator="\n").writerows(
                table_of_output(output, Frame(recipes.fields, len(codes)))
            )
            write_text(part / f"{number:02d}-{_slug(output.name)}.csv", text.getvalue())
    return f"Wrote {folder}: {len(new)} mitigated output{'' if len(new) == 1 else 's'}, {DOCUMENT} and a table for each."


def _entry(output: OutputSpec) -> dict[str, Any]:
    entry = output.published
    return output.to_dict() if entry is None else entry


def table_of_output(output: OutputSpec, frame: Frame) -> Iterator[list[Any]]:
    """Give the rows of an output as a table, head first: a column for each column that it crosses, then its number; else names and numbers."""
    parts = list(output.printed_numbers(frame))
    by: list[str] = list(getattr(output, "by", ()))
    names = output.crossing(frame).names if by else ()
    if getattr(output, "margins", False):
        names = tuple((*some, TOTAL) for some in names)
    size = int(np.prod([len(some) for some in names], dtype=np.int64)) if names else 0
    if size and len(parts) == 1 and len(parts[0].numbers) == size:
        yield [*by, parts[0].key]
        for words, number in zip(product(*names), parts[0].numbers, strict=True):
            yield [*map(_word, words), _shown(number)]
    else:
        yield ["what", "name", "number"]
        for part in parts:
            for name, number in zip(part.names, part.numbers, strict=True):
                yield [part.key, _word(name), _shown(number)]
    if isinstance(output.n, int):
        yield ["n", *[""] * (len(by) - 1 if size and len(parts) == 1 else 1), output.n]


def _shown(number: Any) -> Any:
    return SIGN if is_withheld(number) else number


def _word(word: str) -> str:
    """A word as a spreadsheet takes it for a word: one that begins like a formula gets a quote before it."""
    return (
        f"'{word}" if word[:1] in ("=", "+", "-", "@", "\t", "\r") and not _number(word) else word
    )


def _number(word: str) -> bool:
    return re.fullmatch(r"[+-]?[0-9.]+(e[+-]?[0-9]+)?", word) is not None


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60] or "output"
