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

TOML, or JSON with the same keys. `docs/outputs-file.md` shows every kind. Numbers may be absent: such outputs are recipes, to be computed on
any records. Nothing in such a file is run: filters and formulas are parsed by `filters.py` and `formula.py`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict
from pydantic import Field as Key

from .._base.checks import check_at_least, check_name
from .._base.documents import Syntax, check_head, parse_document, validate_document
from .._base.errors import InputError, unknown_name
from .._base.files import read_small
from .._base.masking import THRESHOLD
from .domain import MAX_ROWS, Codes, OutputColumn, OutputDomain, Scalar
from .equations import Output, Problem
from .formula import column_words
from .kinds import KINDS, OutputSpec

FORMAT = "chaffinch-outputs"
VERSION = 1
MOST_LEVELS = 1_000_000
MOST_BYTES = 64 << 20
Numbers = Literal["required", "optional"]
"""Whether all outputs of a file must have their numbers."""


@dataclass(frozen=True)
class Compiled:
    """One output's equations, with the output that they came from."""

    output: OutputSpec
    equations: tuple[Output, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Outputs:
    """OutputDomain, and outputs about them: with numbers, as published, or without (recipes), to be computed on any records.

    Examples
    --------
    >>> outputs = Outputs.from_dict({
    ...     "format": "chaffinch-outputs", "version": 1, "rows": 3,
    ...     "columns": [{"name": "sex", "levels": ["f", "m"]}],
    ...     "outputs": [{"name": "by sex", "kind": "table", "by": ["sex"], "counts": [1, 2]}],
    ... })
    >>> [output.name for output in outputs.problem().outputs], outputs.fields.sizes
    (['by sex'], (2,))
    >>> import numpy as np
    >>> outputs.computed(np.array([[0], [1], [1], [1]], dtype=np.int32)).outputs[0].counts
    [1, 3]
    """

    fields: OutputDomain
    outputs: tuple[OutputSpec, ...]
    rows: int | None = None
    """The number of records that they are of; None if it is not known, or to be given later."""

    def __post_init__(self) -> None:
        names = self.names
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise InputError(f"Outputs must have different names. Two are called '{twice}'.")

    def __repr__(self) -> str:
        return f"Outputs({len(self.fields)} columns, {len(self.outputs)} outputs, rows={self.rows})"

    def __len__(self) -> int:
        return len(self.outputs)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the outputs, in order."""
        return tuple(output.name for output in self.outputs)

    def __getitem__(self, name: str) -> OutputSpec:
        check_name("output", name, self.names)
        return self.outputs[self.names.index(name)]

    @classmethod
    def from_dict(
        cls,
        data: Mapping[str, Any],
        *,
        name: str = "the specification",
        numbers: Numbers = "required",
        fields: OutputDomain | None = None,
        threshold: int = THRESHOLD,
    ) -> Outputs:
        """Return the outputs in a mapping with the file's keys; InputError with the place and the rule where it breaks one.

        Columns are the file's own unless there are `fields`; messages tell of the data what `threshold` records share.
        """
        outputs = cls(
            *read_contents(data, name=name, numbers=numbers, fields=fields, threshold=threshold)
        )
        if numbers == "optional":
            outputs._check_recipes()
        return outputs

    def to_dict(self) -> dict[str, Any]:
        """Return the outputs as a mapping that JSON can hold; `from_dict` makes the same of it."""
        columns = [
            {
                "name": field.name,
                "levels": list(field.levels),
                **({"weights": list(field.weights)} if field.weights is not None else {}),
                **({"fixed": True} if field.fixed else {}),
            }
            for field in self.fields
        ]
        head: dict[str, Any] = {"format": FORMAT, "version": VERSION}
        if self.rows is not None:
            head["rows"] = self.rows
        return {
            **head,
            "columns": columns,
            "outputs": [output.to_dict() for output in self.outputs],
        }

    def _check_recipes(self) -> None:
        """Raise for outputs that could be computed on no records, or whose numbers do not fit the number of rows."""
        domain = self.fields.with_rows(MAX_ROWS)
        for output in self.outputs:
            with _naming(output):
                output.without_numbers(domain).check_recipe(domain)
                if output.has_numbers and self.rows is not None:
                    output.equations(self.fields.with_rows(self.rows))

    # Sets of outputs.

    def only(self, names: Sequence[str]) -> Outputs:
        """Return some of the outputs, by name, in the order given."""
        return Outputs(self.fields, tuple(self[name] for name in names), self.rows)

    def including(self, other: Outputs) -> Outputs:
        """Return these outputs and then others, over the columns of both; columns of the same name must have the same levels.

        Where only the others know the weights of a column, it gets them.
        """
        mine = {field.name: field for field in self.fields}
        for field in other.fields:
            if field.name in mine and mine[field.name].levels != field.levels:
                raise InputError(
                    f"Column '{field.name}' has other levels in two sets of outputs. Describe it in the same way in both."
                )
            if field.name not in mine or mine[field.name].weights is None:
                mine[field.name] = field
        return Outputs(OutputDomain(tuple(mine.values())), (*self.outputs, *other.outputs))

    def weighted(self, weights: Mapping[str, Sequence[float] | None]) -> Outputs:
        """Return the same outputs over columns of which some have other weights, or none (None)."""
        fields = OutputDomain(
            tuple(
                replace(field, weights=None if margin is None else tuple(margin))
                if field.name in weights
                else field
                for field in self.fields
                for margin in (weights.get(field.name),)
            )
        )
        outputs = Outputs(fields, self.outputs, self.rows)
        outputs._compiled.update(
            self._compiled
        )  # equations are about levels, not about how often they occur
        return outputs

    # Numbers.

    def computed(
        self, codes: Codes, *, source: str = "the data", only: Sequence[str] | None = None
    ) -> Outputs:
        """Return the outputs, or some by name, with their numbers computed on these records; `source` names these in messages."""
        chosen = self if only is None else self.only(only)
        outputs = tuple(
            output.computed(self.fields, codes, source=source) for output in chosen.outputs
        )
        return Outputs(self.fields, outputs, len(codes))

    def entries(self, codes: Codes, *, source: str = "the data") -> list[dict[str, Any]]:
        """Return every output's entry in a file of outputs, its numbers computed on these records."""
        return [output.to_dict() for output in self.computed(codes, source=source).outputs]

    def published(self, *, rows: int) -> Outputs:
        """Return the outputs as published, of so many rows; InputError for one that has no numbers in its file."""
        if bare := next((output.name for output in self.outputs if not output.has_numbers), None):
            raise InputError(
                f"Output '{bare}' has no numbers in its file. Compute them on records, or add them."
            )
        return Outputs(
            self.fields,
            tuple(output.changed(drop=output.PRINTING) for output in self.outputs),
            rows,
        )

    # Equations.

    @property
    def searched(self) -> Outputs:
        """Those outputs that datasets are evolved from; of the others only the rules are checked."""
        if not self.outputs:
            return self
        reasons = self.rules_only
        outputs = tuple(output for output in self.outputs if output.name not in reasons)
        if not outputs:
            kinds = ", ".join(dict.fromkeys(output.kind for output in self.outputs))
            name, reason = next(iter(reasons.items()))
            raise InputError(
                f"There are no outputs to search for: of kind {kinds} only the rules are checked. '{name}': {reason}. Add another."
            )
        return self if len(outputs) == len(self) else Outputs(self.fields, outputs, self.rows)

    @cached_property
    def rules_only(self) -> dict[str, str]:
        """By the name of each output that datasets cannot be evolved from, why: only the rules are checked of it."""
        reasons = {output.name: output.rules_only(self.fields) for output in self.outputs}
        return {name: reason for name, reason in reasons.items() if reason}

    @cached_property
    def _compiled(self) -> dict[int, tuple[Compiled, ...]]:
        return {}

    def compiled(self, rows: int | None = None) -> tuple[Compiled, ...]:
        """Return the equations of each output for a dataset of `rows` records, the file's number if absent."""
        n = self.n_rows(rows)
        if n not in self._compiled:
            domain = self.fields.with_rows(n)
            self._compiled[n] = tuple(_compile(output, domain) for output in self.outputs)
        return self._compiled[n]

    def n_rows(self, rows: int | None = None) -> int:
        """Return the number of records: as given, or the file's."""
        n = self.rows if rows is None else rows
        if n is None:
            raise InputError(
                "The number of rows is missing. Write rows = ... at the top of the file, or pass rows."
            )
        check_at_least("rows", n, 1)
        return n

    def problem(self, rows: int | None = None) -> Problem:
        """Return the whole as equations, for the engines."""
        if not self.outputs:
            raise InputError("There are no outputs to reproduce. Add at least one as [[outputs]].")
        return Problem(
            self.fields,
            tuple(
                equations for compiled in self.compiled(rows) for equations in compiled.equations
            ),
        )

    def source(self, equation: str, rows: int | None = None) -> OutputSpec:
        """Return the output that an equation set of the problem, by name, came from."""
        for compiled in self.compiled(rows):
            if any(equations.name == equation for equations in compiled.equations):
                return compiled.output
        raise unknown_name(
            "equation set",
            equation,
            [
                equations.name
                for compiled in self.compiled(rows)
                for equations in compiled.equations
            ],
        )


def read_outputs(
    source: str | os.PathLike[str] | Mapping[str, Any],
    *,
    fields: OutputDomain | None = None,
    numbers: Numbers = "optional",
    threshold: int = THRESHOLD,
) -> Outputs:
    """Return the outputs in a file (TOML, or JSON with the same keys) or in a mapping of the same form.

    Columns are the file's own, which may be absent where there are `fields`; messages tell of the data what `threshold` records share.
    """
    data = source if isinstance(source, Mapping) else read_document(source)
    name = "the specification" if isinstance(source, Mapping) else f"'{Path(source)}'"
    if (
        numbers == "optional"
        and fields is None
        and "columns" not in data
        and data.get("format") == FORMAT
    ):
        raise InputError(
            f"{name} has no columns. Describe them as [[columns]], or pass the columns of the data."
        )
    return Outputs.from_dict(data, name=name, numbers=numbers, fields=fields, threshold=threshold)


def recipes_of(
    entries: Sequence[Mapping[str, Any]], fields: OutputDomain, *, name: str = "the outputs"
) -> Outputs:
    """Return outputs, with or without numbers, over columns; InputError with the place and the rule where one breaks it."""
    head = {"format": FORMAT, "version": VERSION, "outputs": list(entries)}
    return Outputs.from_dict(head, name=name, numbers="optional", fields=fields)


@contextmanager
def _naming(output: OutputSpec) -> Iterator[None]:
    """Put the output's name before what is wrong with it, where it is not there."""
    try:
        yield
    except InputError as error:
        if f"'{output.name}" in str(error):
            raise
        raise InputError(f"Output '{output.name}': {error}") from None


def _compile(output: OutputSpec, domain: OutputDomain) -> Compiled:
    with _naming(output):
        return Compiled(output, output.equations(domain))


class DocumentContents(NamedTuple):
    """What a file holds: columns, outputs and the number of rows."""

    fields: OutputDomain
    outputs: tuple[OutputSpec, ...]
    rows: int | None


def read_contents(
    data: Mapping[str, Any],
    *,
    name: str,
    numbers: Numbers,
    fields: OutputDomain | None,
    threshold: int,
) -> DocumentContents:
    """Return what a file holds; InputError with the place and the rule where it breaks one. Columns are the file's own unless given."""
    check_head(data, name, what="description of outputs", format_=FORMAT, version=VERSION)
    content = dict(data) if fields is None else {**data, "columns": []}
    model = validate_document(_FileModel, content, name)
    if fields is None:
        columns = (_column(entry, i, name) for i, entry in enumerate(model.columns, 1))
        fields = OutputDomain(tuple(columns)).with_threshold(threshold)
    outputs = tuple(
        _output(entry, number, name, numbers) for number, entry in enumerate(model.outputs, 1)
    )
    return DocumentContents(fields, outputs, model.rows)


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

    def field(self) -> OutputColumn:
        weights = None if self.weights is None else tuple(float(w) for w in self.weights)
        if (self.levels is None) == (self.first is None) or (self.first is None) != (
            self.to is None
        ):
            raise InputError(f"Column '{self.name}' must have levels, or from and to (and step).")
        levels = tuple(self.levels) if self.levels is not None else self._grid()
        return OutputColumn(self.name, levels, weights, self.fixed)

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
        are_whole = all(isinstance(number, int) for number in (self.first, self.to, self.step))
        return tuple(int(number) if are_whole else float(number) for number in numbers)


class _FileModel(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    format: Literal["chaffinch-outputs"]
    version: int
    rows: Annotated[int, Key(ge=1)] | None = None
    comment: str | None = None
    columns: list[dict[str, Any]]
    outputs: list[dict[str, Any]] = []


def read_document(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what a file of outputs holds, TOML or JSON, as it stands there."""
    file = Path(path)
    text = read_small(
        file,
        what="description of outputs",
        max_bytes=MOST_BYTES,
        next_step="Name a TOML or JSON file that describes the outputs.",
    )
    syntax: Syntax = "JSON" if text.lstrip().startswith("{") else "TOML"
    return parse_document(text, str(file), syntax=syntax)


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
    names_in_use: set[str] = set()
    for entry in entries:
        if not isinstance(entry, Mapping):
            continue
        kind = entry.get("kind")
        specs = (
            [KINDS[kind].spec]
            if isinstance(kind, str) and kind in KINDS
            else [definition.spec for definition in KINDS]
        )
        for spec in dict.fromkeys(specs):
            names, texts = spec.mentioned(entry)
            names_in_use.update(names)
            for text in texts:
                names_in_use |= column_words(text, what=f"Output '{entry.get('name', '')}'")
    return tuple(name for name in known if name in names_in_use)


def _column(entry: Mapping[str, Any], number: int, name: str) -> OutputColumn:
    called = entry.get("name")
    where = f"{name}, column '{called}'" if isinstance(called, str) else f"{name}, column {number}"
    return validate_document(_ColumnModel, entry, where).field()


def _output(entry: Mapping[str, Any], number: int, name: str, numbers: Numbers) -> OutputSpec:
    kind, called = entry.get("kind"), entry.get("name")
    where = f"{name}, output '{called}'" if isinstance(called, str) else f"{name}, output {number}"
    if kind is None:
        raise InputError(f"{where}: 'kind' is missing. Kinds: {', '.join(KINDS.names)}.")
    check_name("kind", kind, KINDS.names, prefix=f"{where}: ")
    cls = KINDS[str(kind)].spec
    cls.check_entry(entry, where)
    keys = [word for key, word in cls.file_keys.items() if key not in cls.PRINTING]
    if numbers == "required" and (
        extra := next((key for key in entry if key in cls.PRINTING), None)
    ):
        raise InputError(f"{where}: {unknown_name('key', extra, keys)}")
    named, context = {"name": f"{kind} {number}", **entry}, {"numbers": numbers}
    output = validate_document(cls, named, where, keys=keys, context=context)
    if numbers == "required" and (
        missing := next(
            (
                key
                for key, statistic in cls.statistics.items()
                if statistic.presence == "required" and key not in entry
            ),
            None,
        )
    ):
        raise InputError(f"{where}: '{missing}' is missing.")
    return output
