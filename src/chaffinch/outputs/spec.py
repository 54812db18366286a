"""The file that people write: columns with their levels, and what was published about them.

    format = "chaffinch-outputs"
    version = 1
    rows = 1473

    [[columns]]
    name = "SEX"
    levels = ["f", "m"]

    [[columns]]
    name = "AGE"
    from = 0
    to = 95

    [[outputs]]
    name = "people by sex"
    kind = "table"
    by = ["SEX"]
    counts = [700, 773]

TOML, or JSON with the same keys. `docs/outputs-file.md` shows every kind. Nothing in such a file is run: filters and formulas are
parsed by `where.py` and `formula.py`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic import Field as Key

from .._base.errors import InputError, unknown_name
from .columns import Columns
from .documents import read_document
from .equations import Output, Problem
from .fields import Field, Fields, Scalar
from .kinds.base import Frame, OutputSpec
from .kinds.quantiles import QuantileSpec
from .kinds.regressions import RegressionSpec
from .kinds.summaries import CorrelationSpec, MomentSpec
from .kinds.survival import KaplanMeierSpec
from .kinds.tables import HistogramSpec, TableSpec
from .kinds.trees import TreeSpec

__all__ = ["KINDS", "Compiled", "OutputSpec", "Spec", "read_spec"]

FORMAT = "chaffinch-outputs"
VERSION = 1
MOST_LEVELS = 1_000_000

KINDS: dict[str, type[OutputSpec]] = {
    kind: cls
    for cls in (
        TableSpec,
        HistogramSpec,
        MomentSpec,
        CorrelationSpec,
        QuantileSpec,
        RegressionSpec,
        KaplanMeierSpec,
        TreeSpec,
    )
    for kind in cls.KINDS
}
"""The class of each kind of output."""


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
        if (self.levels is None) == (self.first is None) or (self.first is None) != (self.to is None):
            raise InputError(f"Column '{self.name}' must have levels, or from and to (and step).")
        levels = tuple(self.levels) if self.levels is not None else self._grid()
        return Field(self.name, levels, weights, self.fixed)

    def _grid(self) -> tuple[Scalar, ...]:
        first, last, step = (Decimal(repr(number)) for number in (self.first, self.to, self.step))
        if step <= 0 or last < first:
            raise InputError(f"Column '{self.name}': `to` must be at least `from`, and step above 0.")
        count = int((last - first) / step) + 1
        if count > MOST_LEVELS:
            raise InputError(f"Column '{self.name}' would have {count} levels, over {MOST_LEVELS}. Use a larger step.")
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


@dataclass(frozen=True)
class Compiled:
    """One output's equations, with the output that they came from."""

    output: OutputSpec
    equations: tuple[Output, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Spec:
    """Columns, and what was published about them.

    Parameters
    ----------
    fields
        The columns with their levels.
    outputs
        What was published.
    rows
        The number of records of the dataset to make; None if it is to be given later.

    Examples
    --------
    >>> spec = Spec.from_dict({
    ...     "format": "chaffinch-outputs", "version": 1, "rows": 3,
    ...     "columns": [{"name": "sex", "levels": ["f", "m"]}],
    ...     "outputs": [{"name": "by sex", "kind": "table", "by": ["sex"], "counts": [1, 2]}],
    ... })
    >>> [output.name for output in spec.problem().outputs], spec.columns.sizes
    (['by sex'], (2,))
    """

    fields: Fields
    outputs: tuple[OutputSpec, ...]
    rows: int | None = None

    def __post_init__(self) -> None:
        names = [output.name for output in self.outputs]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise InputError(f"Outputs must have different names. Two are called '{twice}'.")

    def __repr__(self) -> str:
        return f"Spec({len(self.fields)} columns, {len(self.outputs)} outputs, rows={self.rows})"

    @property
    def columns(self) -> Columns:
        """The columns as the engines see them."""
        return self.fields.columns

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *, name: str = "the specification") -> Spec:
        """Return the specification in a mapping with the file's keys; InputError with the place and the rule where it breaks one."""
        _check_head(data, name)
        try:
            model = _FileModel.model_validate(dict(data))
        except ValidationError as error:
            raise _explained(error, name, _FileModel.model_fields, data) from None
        fields = Fields(tuple(column.field() for column in model.columns))
        outputs = tuple(_output(entry, number, name) for number, entry in enumerate(model.outputs, 1))
        return cls(fields, outputs, model.rows)

    def to_dict(self) -> dict[str, Any]:
        """Return the specification as a mapping that JSON can hold; `from_dict` makes the same of it."""
        columns = [
            {
                "name": field.name,
                "levels": list(field.levels),
                **({"weights": list(field.weights)} if field.weights is not None else {}),
                **({"fixed": True} if field.fixed else {}),
            }
            for field in self.fields
        ]
        outputs = [{**output.model_dump(exclude_unset=True), "kind": output.kind} for output in self.outputs]
        head: dict[str, Any] = {"format": FORMAT, "version": VERSION}
        if self.rows is not None:
            head["rows"] = self.rows
        return {**head, "columns": columns, "outputs": outputs}

    @cached_property
    def _made(self) -> dict[int, tuple[Compiled, ...]]:
        return {}

    def compiled(self, rows: int | None = None) -> tuple[Compiled, ...]:
        """Return the equations of each output for a dataset of `rows` records, the file's number if absent."""
        n = self.n_rows(rows)
        if n not in self._made:
            frame = Frame(self.fields, n)
            self._made[n] = tuple(Compiled(output, _equations(output, frame)) for output in self.outputs)
        return self._made[n]

    def n_rows(self, rows: int | None = None) -> int:
        """Return the number of records: as given, or the file's."""
        n = self.rows if rows is None else rows
        if n is None:
            raise InputError("The number of rows is missing. Write rows = ... at the top of the file, or pass rows.")
        if n < 1:
            raise InputError(f"rows must be at least 1. Got {n}.")
        return n

    def problem(self, rows: int | None = None) -> Problem:
        """Return the whole as equations, for the engines."""
        if not self.outputs:
            raise InputError("There are no outputs to reproduce. Add at least one as [[outputs]].")
        return Problem(self.columns, tuple(part for one in self.compiled(rows) for part in one.equations))

    def source(self, equation: str, rows: int | None = None) -> OutputSpec:
        """Return the output that an equation set of the problem, by name, came from."""
        for one in self.compiled(rows):
            if any(part.name == equation for part in one.equations):
                return one.output
        raise unknown_name(
            "equation set", equation, [part.name for one in self.compiled(rows) for part in one.equations]
        )


def read_spec(path: str | os.PathLike[str]) -> Spec:
    """Return the specification in a file: TOML, or JSON with the same keys."""
    return Spec.from_dict(read_document(path), name=f"'{Path(path)}'")


def _check_head(data: Mapping[str, Any], name: str) -> None:
    if not isinstance(data, Mapping) or data.get("format") != FORMAT:
        raise InputError(f'{name} does not describe outputs: it must say format = "{FORMAT}".')
    if data.get("version") != VERSION or isinstance(data.get("version"), bool):
        raise InputError(
            f"{name} must have version = {VERSION}, which is what this release reads. Use a newer release, or change the file."
        )


def _output(entry: Mapping[str, Any], number: int, name: str) -> OutputSpec:
    kind = entry.get("kind")
    called = entry.get("name")
    where = f"{name}, output '{called}'" if isinstance(called, str) else f"{name}, output {number}"
    if kind is None:
        raise InputError(f"{where}: 'kind' is missing. Kinds: {', '.join(KINDS)}.")
    if kind not in KINDS:
        raise InputError(f"{where}: {unknown_name('kind', kind, KINDS)}")
    if "coefficients" in entry and "formula" not in entry and KINDS[kind] is RegressionSpec:
        raise InputError(
            f'{where} has coefficients without a formula. Add the formula they come from: formula = "LABEL ~ ...".'
        )
    cls = KINDS[kind]
    try:
        return cls.model_validate({"name": f"{kind} {number}", **entry})
    except ValidationError as error:
        raise _explained(error, where, cls.model_fields, entry) from None


def _equations(output: OutputSpec, frame: Frame) -> tuple[Output, ...]:
    try:
        return output.equations(frame)
    except InputError as error:
        if f"'{output.name}" in str(error):
            raise
        raise InputError(f"Output '{output.name}': {error}") from None


def _explained(error: ValidationError, where: str, known: Mapping[str, Any], data: Mapping[str, Any]) -> InputError:
    """Return the first fault in our own words, without what came."""
    fault = error.errors(include_input=False, include_url=False)[0]
    place = fault["loc"]
    keys = [name if field.alias is None else field.alias for name, field in known.items()]
    if len(place) > 1 and place[0] == "columns" and isinstance(place[1], int):
        entry = data["columns"][place[1]]
        called = entry.get("name") if isinstance(entry, Mapping) else None
        where = f"{where}, column '{called}'" if isinstance(called, str) else f"{where}, column {place[1] + 1}"
        place = place[2:]
        keys = [name if field.alias is None else field.alias for name, field in _ColumnModel.model_fields.items()]
    elif len(place) > 1 and place[0] == "leaves" and isinstance(place[1], int):
        where, place, keys = f"{where}, leaf {place[1] + 1}", place[2:], ["where", "counts", "n"]
    key = str(place[0]) if place else "the whole"
    if fault["type"] == "extra_forbidden":
        return InputError(f"{where}: {unknown_name('key', key, keys)}")
    if fault["type"] == "missing":
        return InputError(f"{where}: '{key}' is missing.")
    return InputError(f"{where}: '{key}' is not as it should be: {fault['msg'].rstrip('.').lower()}.")
