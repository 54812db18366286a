"""The file of a project's released outputs: what the world knows already, each entry with its hash and that of the one before.

    {"format": "chaffinch-released", "version": 1, "columns": [...],
     "outputs": [{"output": {...}, "columns": ["SEX"], "added": "2026-01-31", "previous": "...", "hash": "..."}, ...]}

`output` is an output as in a file of outputs, with its published numbers. A hash covers the output, the columns' levels, the date and the
hash before, so that an entry which was changed, taken out or moved is noticed.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

from ..._base.documents import check_head, parse_document
from ..._base.errors import InputError
from ..._base.files import read_small, write_text
from ..document import Outputs, recipes_of
from ..domain import OutputColumn, OutputDomain

FORMAT = "chaffinch-released"
VERSION = 1
MOST_BYTES = 256 << 20


@dataclass(frozen=True)
class ReleasedOutputs:
    """What a project has released."""

    columns: tuple[Mapping[str, Any], ...] = ()
    """The columns as in a file of outputs: name and levels."""
    outputs: tuple[Mapping[str, Any], ...] = ()
    """Entries with `output`, `added`, `previous` and `hash`, oldest first."""

    path: Path | None = field(default=None, compare=False)
    recipes: Outputs | None = None
    """What was released, where that did not come as a file."""

    @classmethod
    def open(
        cls, released: str | os.PathLike[str] | Outputs | None, *, may_be_new: bool = False
    ) -> ReleasedOutputs:
        """Return what a project has released: nothing where no file is named, or where it `may_be_new` and is not there."""
        if released is None:
            return cls()
        if isinstance(released, Outputs):
            return cls(recipes=released)
        is_new = may_be_new and not Path(released).exists()
        return cls(path=Path(released)) if is_new else read_released(released)

    def __bool__(self) -> bool:
        return self.recipes is not None or bool(self.outputs)

    @property
    def entries(self) -> list[Mapping[str, Any]]:
        """The outputs alone."""
        return [entry["output"] for entry in self.outputs]

    @property
    def fields(self) -> tuple[OutputColumn, ...]:
        """The columns, with the levels that they have in the file."""
        return tuple(
            OutputColumn(column["name"], tuple(column["levels"])) for column in self.columns
        )

    def as_recipes(self, threshold: int) -> Outputs | None:
        """Return the outputs over columns of which messages tell what so many records share; None for none."""
        if not self.outputs:
            return self.recipes
        fields = OutputDomain(self.fields).with_threshold(threshold)
        return recipes_of(self.entries, fields, name="the released outputs")

    @property
    def head(self) -> str:
        """The hash of the last entry; empty for none."""
        return str(self.outputs[-1]["hash"]) if self.outputs else ""

    def to_dict(self) -> dict[str, Any]:
        """Return what the file holds."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "columns": list(self.columns),
            "outputs": list(self.outputs),
        }

    def including(
        self,
        entries: Sequence[Mapping[str, Any]],
        fields: OutputDomain,
        *,
        used: Mapping[str, Sequence[str]],
        added: str | None = None,
    ) -> ReleasedOutputs:
        """Return the same with more outputs, each chained to the one before.

        `used` has the columns of each output by its name; the date is today's if absent.
        """
        columns = {column["name"]: column for column in self.columns}
        names = {entry["name"] for entry in self.entries}
        outputs, day = list(self.outputs), added or date.today().isoformat()
        previous = self.head
        for entry in entries:
            if entry["name"] in names:
                raise InputError(
                    f"An output called '{entry['name']}' was released already. Give the new one another name."
                )
            for name in used[entry["name"]]:
                column = {"name": name, "levels": list(fields[name].levels)}
                if columns.setdefault(name, column)["levels"] != column["levels"]:
                    raise InputError(
                        f"Column '{name}' has other levels than in the released outputs. Describe it as they do, or start another file."
                    )
            about = [columns[name] for name in used[entry["name"]]]
            hashed = _hash(entry, about, day, previous)
            outputs.append(
                {
                    "output": dict(entry),
                    "columns": list(used[entry["name"]]),
                    "added": day,
                    "previous": previous,
                    "hash": hashed,
                }
            )
            names.add(entry["name"])
            previous = hashed
        return replace(self, columns=tuple(columns.values()), outputs=tuple(outputs))


def _hash(
    output: Mapping[str, Any], columns: Sequence[Mapping[str, Any]], added: str, previous: str
) -> str:
    hashed = [output, {column["name"]: column["levels"] for column in columns}, added, previous]
    text = json.dumps(hashed, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def read_released(path: str | os.PathLike[str]) -> ReleasedOutputs:
    """Return what a project has released; InputError if the file was changed by other hands."""
    file = Path(path)
    text = read_small(
        file,
        what="file of released outputs",
        max_bytes=MOST_BYTES,
        next_step="Name a file of released outputs; --record makes one.",
    )
    data = parse_document(text, str(file), syntax="JSON")
    what = "file of released outputs"
    check_head(data, f"'{file}'", what=what, format_=FORMAT, version=VERSION)
    columns, outputs, previous = data.get("columns"), data.get("outputs"), ""
    if not isinstance(columns, list) or not isinstance(outputs, list):
        raise InputError(f"'{file}' must have lists of columns and outputs.")
    known: list[Mapping[str, Any]] = []
    for number, entry in enumerate(outputs, 1):
        keys = ("output", "columns", "added", "previous", "hash")
        if (
            not isinstance(entry, dict)
            or any(word not in entry for word in keys)
            or not isinstance(entry["output"], dict)
        ):
            raise InputError(f"'{file}': entry {number} must have {', '.join(keys)}.")
        try:
            mine = [next(c for c in columns if c["name"] == name) for name in entry["columns"]]
            expected = _hash(entry["output"], mine, entry["added"], entry["previous"])
        except (StopIteration, KeyError, TypeError):
            raise InputError(
                f"'{file}': entry {number} is about columns that the file does not describe."
            ) from None
        if entry["previous"] != previous or entry["hash"] != expected:
            raise InputError(
                f"'{file}': entry {number} does not have the hash that was recorded with it: the file was changed. Restore it from a copy."
            )
        previous = entry["hash"]
        known.append(entry)
    return ReleasedOutputs(tuple(columns), tuple(known), file)


def write_released(path: str | os.PathLike[str], released: ReleasedOutputs) -> None:
    """Write the file, all of it or nothing, for its owner alone: it lists the levels of columns, which may come from the data."""
    write_text(
        Path(path),
        json.dumps(released.to_dict(), indent=1, ensure_ascii=False) + "\n",
        mode=0o600,
        overwrite=True,
    )
