"""A file of outputs as it stands: TOML or JSON, its head and columns, and its entries as the kinds read them."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic import Field as Key

from .._base.errors import InputError, unknown_name
from .._base.files import read_small
from .._base.tokens import Reader
from .fields import Field, Fields, Scalar
from .kinds import KINDS, OutputSpec

FORMAT = "chaffinch-outputs"
VERSION = 1
MOST_LEVELS = 1_000_000
MOST_BYTES = 64 << 20

Numbers = Literal["required", "optional"]
"""Whether all outputs of a file must have their numbers."""


class Parsed(NamedTuple):
    """What a file holds: columns, outputs and the number of rows."""

    fields: Fields
    outputs: tuple[OutputSpec, ...]
    rows: int | None


def parsed(
    data: Mapping[str, Any], *, name: str, numbers: Numbers, fields: Fields | None, threshold: int
) -> Parsed:
    """Return what a file holds; InputError with the place and the rule where it breaks one. Columns are the file's own unless given."""
    _check_head(data, name)
    content = dict(data) if fields is None else {**data, "columns": []}
    try:
        model = _FileModel.model_validate(content)
    except ValidationError as error:
        raise _explained(error, name, _FileModel.model_fields, data) from None
    own = (
        Fields(tuple(column.field() for column in model.columns)).with_threshold(threshold)
        if fields is None
        else fields
    )
    outputs = tuple(
        _output(entry, number, name, numbers) for number, entry in enumerate(model.outputs, 1)
    )
    return Parsed(own, outputs, model.rows)


class _ColumnModel(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, populate_by_name=True)

    name: Annotated[str, Key(min_length=1)]
    levels: list[Scalar] | None = None
    first: int | Annotated[float, Key(allow_inf_nan=False)] | None = Key(default=None, alias="from")
    to: int | Annotated[float, Key(allow_inf_nan=False)] | None = None
    step: int | Annotated[float, Key(allow_inf_nan=False)] = 1
    weights: list[Annotated[float, Key(allow_inf_nan=False)]] | None = None
    fixed: bool = False
    comment: str | None = None

    def field(self) -> Field:
        weights = None if self.weights is None else tuple(float(w) for w in self.weights)
        if (self.levels is None) == (self.first is None) or (self.first is None) != (
            self.to is None
        ):
            raise InputError(f"Column '{self.name}' must have levels, or from and to (and step).")
        levels = tuple(self.levels) if self.levels is not None else self._grid()
        return Field(self.name, levels, weights, self.fixed)

    def _grid(self) -> tuple[Scalar, ...]:
        first, last, step = (Decimal(repr(number)) for number in (self.first, self.to, self.step))
        if step <= 0 or last < first:
            raise InputError(
                f"Column '{self.name}': `to` must be at least `from`, and step above 0."
            )
        count = int((last - first) / step) + 1
        if count > MOST_LEVELS:
            raise InputError(
                f"Column '{self.name}' would have {count} levels, over {MOST_LEVELS}. Use a larger step."
            )
        numbers = [first + k * step for k in range(count)]
        whole = all(isinstance(number, int) for number in (self.first, self.to, self.step))
        return tuple(int(number) if whole else float(number) for number in numbers)


class _FileModel(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    format: Literal["chaffinch-outputs"]
    version: int
    rows: Annotated[int, Key(ge=1)] | None = None
    comment: str | None = None
    columns: list[_ColumnModel]
    outputs: list[dict[str, Any]] = []


def read_document(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what a file of outputs holds, TOML or JSON, as it stands there."""
    file = Path(path)
    text = read_small(
        file,
        what="description of outputs",
        most=MOST_BYTES,
        next_step="Name a TOML or JSON file that describes the outputs.",
    )
    is_json = text.lstrip().startswith("{")
    try:
        data = json.loads(text, parse_constant=_no_constant) if is_json else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        reason = (str(error).splitlines() or ["cannot be parsed"])[0].rstrip(".")
        raise InputError(
            f"'{file}' is not valid {'JSON' if is_json else 'TOML'}: {reason}."
        ) from None
    assert isinstance(data, dict)
    return data


def _no_constant(word: str) -> None:
    raise ValueError(f"{word} is no number")


def output_of(entry: Mapping[str, Any]) -> OutputSpec:
    """Return one output, with or without numbers, as its kind reads it."""
    return _output(entry, 1, "the outputs", "optional")


def named_columns(entries: Sequence[Mapping[str, Any]], known: Sequence[str]) -> tuple[str, ...]:
    """Return which of the known columns outputs speak of, in the known order: for files that do not describe their columns.

    Examples
    --------
    >>> named_columns([{"kind": "logit", "formula": "rich ~ C(sex) + age"}], ["age", "area", "rich", "sex"])
    ('age', 'rich', 'sex')
    """
    words: set[str] = set()
    for entry in entries:
        if not isinstance(entry, Mapping):
            continue
        kind = entry.get("kind")
        specs = (
            [KINDS[kind].spec]
            if isinstance(kind, str) and kind in KINDS
            else [one.spec for one in KINDS]
        )
        for spec in dict.fromkeys(specs):
            names, texts = spec.mentioned(entry)
            words.update(names)
            for text in texts:
                reader, called = Reader(text, what=f"Output '{entry.get('name', '')}'"), ""
                while reader.next.kind != "end":
                    token = reader.take()
                    function = token.kind == "name" and not token.quoted and reader.ahead("(")
                    # Q('a name') has the column as a word; other words are levels, and a name before a bracket is a function.
                    if (token.kind == "name" and not function) or (
                        token.kind == "word" and called == "Q"
                    ):
                        words.add(token.value)
                    if function:
                        called = token.value
                    elif token.value != "(":
                        called = ""
    return tuple(name for name in known if name in words)


def _check_head(data: Mapping[str, Any], name: str) -> None:
    if not isinstance(data, Mapping) or data.get("format") != FORMAT:
        raise InputError(f'{name} does not describe outputs: it must say format = "{FORMAT}".')
    if data.get("version") != VERSION or isinstance(data.get("version"), bool):
        raise InputError(
            f"{name} must have version = {VERSION}, which is what this release reads. Use a newer release, or change the file."
        )


def _output(entry: Mapping[str, Any], number: int, name: str, numbers: Numbers) -> OutputSpec:
    kind, called = entry.get("kind"), entry.get("name")
    where = f"{name}, output '{called}'" if isinstance(called, str) else f"{name}, output {number}"
    if kind is None:
        raise InputError(f"{where}: 'kind' is missing. Kinds: {', '.join(KINDS.names)}.")
    if not isinstance(kind, str) or kind not in KINDS:
        raise InputError(f"{where}: {unknown_name('kind', kind, KINDS.names)}")
    cls = KINDS[kind].spec
    cls.check_entry(entry, where)
    keys = {key: field for key, field in cls.model_fields.items() if key not in cls.PRINTING}
    if numbers == "required" and (
        extra := next((key for key in entry if key in cls.PRINTING), None)
    ):
        raise InputError(f"{where}: {unknown_name('key', extra, keys)}")
    try:
        output = cls.model_validate(
            {"name": f"{kind} {number}", **entry}, context={"numbers": numbers}
        )
    except ValidationError as error:
        raise _explained(error, where, keys, entry) from None
    if numbers == "required" and (
        missing := next((key for key in cls.REQUIRED if key not in entry), None)
    ):
        raise InputError(f"{where}: '{missing}' is missing.")
    return output


def _explained(
    error: ValidationError, where: str, known: Mapping[str, Any], data: Mapping[str, Any]
) -> InputError:
    """Return the first fault in our own words, without what came."""
    fault = error.errors(include_input=False, include_url=False)[0]
    place = fault["loc"]
    keys = [name if field.alias is None else field.alias for name, field in known.items()]
    if len(place) > 1 and place[0] == "columns" and isinstance(place[1], int):
        entry = data["columns"][place[1]]
        called = entry.get("name") if isinstance(entry, Mapping) else None
        where = (
            f"{where}, column '{called}'"
            if isinstance(called, str)
            else f"{where}, column {place[1] + 1}"
        )
        place = place[2:]
        keys = [
            name if field.alias is None else field.alias
            for name, field in _ColumnModel.model_fields.items()
        ]
    elif len(place) > 1 and place[0] == "leaves" and isinstance(place[1], int):
        where, place, keys = f"{where}, leaf {place[1] + 1}", place[2:], ["where", "counts", "n"]
    key = str(place[0]) if place else "the whole"
    if fault["type"] == "extra_forbidden":
        return InputError(f"{where}: {unknown_name('key', key, keys)}")
    if fault["type"] == "missing":
        return InputError(f"{where}: '{key}' is missing.")
    return InputError(
        f"{where}: '{key}' is not as it should be: {fault['msg'].rstrip('.').lower()}."
    )
