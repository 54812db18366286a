"""`outputs.toml`: the small file beside output files that says what a file does not say, one line for each output.

"t3.csv" = { kind = "table", by = ["sex", "work"] }
"book.xlsx::Sheet2" = { decimal = "," }
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic import Field as Key

from ...._base.errors import InputError, unknown_name
from ...._base.files import read_small

COMPANION = "outputs.toml"
MOST_BYTES = 1 << 20


class Help(BaseModel):
    """What a line says of one output.

    `kind`, `by`, `of`, `formula`, `where`, `n`, `success`, `percentages`, `threshold` and `base` are as in a file of outputs; `columns` renames:
    from what is printed to the column of the data. `decimal` is the decimal sign, `totals = false` says that a last row called so is a level.
    `exponentiated`: whether coefficients are odds ratios and the like. `ignore` leaves the output out: it is listed as ignored, and does not
    pass unless that is accepted.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    kind: Annotated[str, Key(min_length=1)] | None = None
    by: list[str] | None = None
    of: str | None = None
    formula: str | None = None
    where: str | None = None
    n: Annotated[int, Key(ge=0)] | None = None
    success: bool | int | float | str | None = None
    percentages: Literal["all", "rows", "columns"] | None = None
    threshold: Annotated[int, Key(ge=1)] | None = None
    base: Annotated[int, Key(ge=1)] = 1
    columns: dict[str, str] = Key(default_factory=dict)
    decimal: Literal[".", ","] | None = None
    totals: bool | None = None
    exponentiated: bool | None = None
    ignore: bool = False


@dataclass(frozen=True)
class Companion:
    """The lines of such a file, by the names of outputs; a line for a whole file holds for each output in it."""

    path: Path | None = None
    lines: Mapping[str, Help] | None = None
    remark: int | None = None  # The first line that is a comment with numbers in it

    @classmethod
    def read(cls, path: Path) -> Companion:
        """Return what a file says; nothing where there is none. InputError for a line that breaks a rule."""
        from ...kinds import KINDS

        if not path.exists():
            return cls()
        text = read_small(
            path, what="file of help", most=MOST_BYTES, next_step=f"Write {COMPANION} as TOML."
        )
        try:
            data = tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            reason = (str(error).splitlines() or ["cannot be parsed"])[0].rstrip(".")
            raise InputError(f"'{path}' is not valid TOML: {reason}.") from None
        if "format" in data:
            raise InputError(
                f"'{path}' is a file of outputs, and stands where help for the other files is looked for. Check it by itself, or move it."
            )
        lines = {}
        for name, keys in data.items():
            if not isinstance(keys, dict):
                raise InputError(
                    f'\'{path}\': "{name}" must have keys in braces, such as {{ kind = "table" }}.'
                )
            try:
                lines[name] = Help.model_validate(keys)
            except ValidationError as error:
                fault = error.errors(include_input=False, include_url=False)[0]
                key = str(fault["loc"][0]) if fault["loc"] else "it"
                if fault["type"] == "extra_forbidden":
                    raise InputError(
                        f"'{path}', \"{name}\": {unknown_name('key', key, Help.model_fields)}"
                    ) from None
                raise InputError(
                    f"'{path}', \"{name}\": '{key}' is not as it should be: {fault['msg'].rstrip('.').lower()}."
                ) from None
            kind = lines[name].kind
            if kind is not None and kind not in KINDS:
                raise InputError(f"'{path}', \"{name}\": {unknown_name('kind', kind, KINDS.names)}")
        remarks = [
            number
            for number, line in enumerate(text.splitlines(), 1)
            if re.match(r"\s*+#.*\d", line)
        ]
        return cls(path, lines, remarks[0] if remarks else None)

    def of(self, name: str) -> Help:
        """Return the help for an output: its own line, that of its sheet or file otherwise."""
        lines = self.lines or {}
        for known in (name, name.split(" #")[0], name.split(" #")[0].split("::")[0]):
            if known in lines:
                return lines[known]
        return Help()

    def check(self, names: Sequence[str]) -> None:
        """Raise InputError for a line that is about none of some outputs, and about no other file that stands beside."""
        known = {
            *names,
            *(name.split(" #")[0] for name in names),
            *(name.split(" #")[0].split("::")[0] for name in names),
        }
        for name in self.lines or {}:
            file = name.split(" #")[0].split("::")[0]
            beside = (
                self.path is not None and file not in known and (self.path.parent / file).is_file()
            )
            if name not in known and not beside:
                raise InputError(f"'{self.path}': {unknown_name('output', name, sorted(known))}")
