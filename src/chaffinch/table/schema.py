"""What a column is: kind, role, missing codes, levels or bins, and, once fitted, its codec; the columns of a table; and notes on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from itertools import pairwise
from typing import ClassVar, Literal, get_args

from .._base.checks import check_name
from .._base.errors import InputError, SchemaError, join_names, unknown_name
from .._base.results import PlainData, html_table, plain_form
from .domain import ColumnDomain, Scalar

Kind = Literal[
    "integer",
    "float",
    "boolean",
    "categorical",
    "date",
    "datetime",
    "identifier",
    "text",
    "unknown",
]

Output = Literal["", "drop", "regenerate", "fake", "keep"]
Role = Literal["identifier", "key", "sensitive", "label", "weight", "person", "order", "other"]
UNKNOWN: Kind = "unknown"
"""The kind of a column whose schema does not say: it has no codes before somebody declares it, or a private fit discovers it."""

KINDS: tuple[str, ...] = tuple(kind for kind in get_args(Kind) if kind != UNKNOWN)
ROLES: tuple[str, ...] = get_args(Role)
NUMERIC_KINDS = ("integer", "float", "date", "datetime")
LEVEL_KINDS = ("categorical", "boolean")
SINGLE_ROLES: tuple[Role, ...] = ("label", "weight", "person", "order")
"""Roles that one column can have."""

THOUSANDS = ("", ".", ",", " ", "'", "\u2019", "\xa0", "\u202f")
"""What may set the thousands of a number apart in a text file: nothing, a point, a comma, spaces of three widths, apostrophes."""

SHOWN = 10
"""Columns of which the same is said line by line; of more, they are named in one."""


class Reason(StrEnum):
    """What of a column says that it identifies somebody."""

    NAME = "its name"
    PATTERN = "its form"
    CHECKSUM = "its check digits"
    NUMBERS = "its numbers"
    ORDER = "its order"


@dataclass(frozen=True)
class IdentifierEvidence:
    """What a column seems to hold, by what, and the form of such values (see `FORMS`; empty where they have none of their own).

    Examples
    --------
    >>> str(IdentifierEvidence("e-mail addresses", Reason.PATTERN, "email"))
    'e-mail addresses, by its form'
    """

    what: str
    reason: Reason
    form: str = ""

    def __str__(self) -> str:
        return f"{self.what}, by {self.reason}"


@dataclass(frozen=True)
class Column:
    """One column: what was declared or inferred of it, and its codec once it is fitted to data.

    Parameters
    ----------
    name, kind, role
        `kind` says how values are coded, `role` what they are for.
    type
        The Arrow type of the values as they came, so that they go out the same.
    nullable
        Whether null (an empty cell of a text file) is a level.
    missing
        Further missing codes (-8, 99, "NA"), each a level of its own that survives.
    levels, ordered, other, rare
        Categorical: the declared levels in order (always kept), whether the order means something, whether
        values outside them go to `(other)` instead of being an error, and whether rare levels found
        in data are pooled ("pool") or kept ("keep").
    labels, title
        Value labels (as pairs) and the variable label, as SPSS and Stata have them.
    binning, bins, edges, atoms
        Numeric: "quantile", "width" or "edges"; how many levels; the declared edges; and the values that
        are levels of their own (None: found in the data for quantile bins, none for the others).
    bounds, out_of_range
        Numeric: the declared range, and whether values outside it are an "error" or "clip".
    decimals
        Decimals of a float column; None for full precision. For dates and times see `step`.
    decimal, thousands
        The decimal sign of its numbers in a text file, a point or a comma, and what sets their thousands apart: a point, a comma, a space, an
        apostrophe, or nothing.
    step
        Whole units of the type between neighbouring values (86,400 for a timestamp in seconds with whole days).
    format
        How a text file spells the values: a date format, or "true/false" for booleans, or "fixed 2" or "least 1" decimals.
    spelled
        Whether missing codes are words beside the values and not values, as in a text file or a Stata file.
    output
        What becomes of a column that says who somebody is: "drop" (left out), "fake" (made up), "regenerate" (row numbers) or "keep" (modelled like
        any other). Without a word, identifiers and text are left out, and all others modelled.
    form, repeats
        Of made-up values: the name of their form or a mask, as `P-####`; and how many rows in a row share one. Without a number, first names
        and surnames repeat by chance, all else differs.
    discover
        Whether a private fit may spend budget to find the levels, bounds or edges that are not declared.
    reason
        Why inference chose what it chose.
    evidence
        What says that it identifies somebody. Never in files.
    """

    name: str
    kind: Kind
    role: Role = "other"
    type: str = "string"
    title: str = ""
    nullable: bool = False
    missing: tuple[Scalar, ...] = ()
    levels: tuple[Scalar, ...] | None = None
    labels: tuple[tuple[Scalar, str], ...] = ()
    ordered: bool = False
    other: bool = False
    rare: Literal["pool", "keep"] = "pool"
    binning: Literal["quantile", "width", "edges"] = "quantile"
    bins: int = 20
    edges: tuple[float, ...] | None = None
    atoms: tuple[float, ...] | None = None
    bounds: tuple[float, float] | None = None
    out_of_range: Literal["error", "clip"] = "error"
    decimals: int | None = None
    decimal: Literal[".", ","] = "."
    thousands: str = ""
    step: int = 1
    format: str = ""
    spelled: bool = False
    output: Output = ""
    form: str = ""
    repeats: int | None = None
    discover: bool = False
    reason: str = field(default="", compare=False)
    codec: ColumnDomain | None = field(default=None, compare=False, repr=False)
    evidence: IdentifierEvidence | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not self.name or not self.name.strip():
            raise SchemaError("A column needs a name. Got an empty one.")
        if self.kind not in (*KINDS, UNKNOWN):
            raise unknown_name("kind", self.kind, KINDS)
        check_name("role", self.role, ROLES)
        if self.levels is not None and self.kind not in LEVEL_KINDS:
            raise SchemaError(
                f"Column '{self.name}' is {self.kind}: levels belong to a categorical column. Use bounds or edges."
            )
        if self.edges is not None and self.kind not in NUMERIC_KINDS:
            raise SchemaError(
                f"Column '{self.name}' is {self.kind}: edges belong to a numeric column."
            )
        levels, edges = list(map(_type_and_value, self.levels or ())), self.edges or ()
        both = len({*levels} & {*map(_type_and_value, self.missing)})
        rules = {
            f"bins must lie between 1 and 10,000. Got {self.bins}.": 1 <= self.bins <= 10_000,
            f"step must be at least 1. Got {self.step}.": self.step >= 1,
            f"decimals must lie between 0 and 15. Got {self.decimals}.": self.decimals is None
            or 0 <= self.decimals <= 15,
            f"decimal must be '.' or ','. Got {self.decimal!r}.": self.decimal in (".", ","),
            "thousands must be empty, a point, a comma, a space or an apostrophe, and not its decimal sign. "
            f"Got {self.thousands!r}.": self.thousands in THOUSANDS
            and self.thousands != self.decimal,
            "levels must be distinct, and at least one.": self.levels is None
            or 0 < len(set(levels)) == len(levels),
            f"{both} codes stand in levels and in missing. Keep each in one.": not both,
            "edges must rise, and be at least two.": self.edges is None
            or (len(edges) > 1 and all(a < b for a, b in pairwise(edges))),
            "edges go with binning = 'edges', and only with it.": (self.binning == "edges")
            == (self.edges is not None),
            "bounds must be [low, high] with low below high.": self.bounds is None
            or self.bounds[0] < self.bounds[1],
        }
        if broken := [rule for rule, holds in rules.items() if not holds]:
            raise SchemaError(f"Column '{self.name}': {broken[0]}")
        if self.output or self.form or self.repeats is not None:
            self._check_output()

    def _check_output(self) -> None:
        if self.output == "drop" and self.kind in ("identifier", "text"):
            object.__setattr__(self, "output", "")  # they are left out without a word
        if self.output not in get_args(Output):
            raise unknown_name("output", self.output, get_args(Output)[1:])
        if self.output == "keep" and self.kind in ("identifier", "text"):
            raise SchemaError(
                f"Column '{self.name}' is {self.kind}, which has no model: output = \"keep\" needs another kind, or none."
            )
        if self.output != "fake" and (self.form or self.repeats is not None):
            raise SchemaError(
                f"Column '{self.name}': form and repeats go with output = \"fake\", and only with it."
            )
        if self.repeats is not None and (
            isinstance(self.repeats, bool)
            or not isinstance(self.repeats, int)
            or not 1 <= self.repeats <= 1_000_000
        ):
            raise SchemaError(
                f"Column '{self.name}': repeats must lie between 1 and 1,000,000. Got {self.repeats}."
            )
        if self.form:
            from .personal.fake import parse_form

            parse_form(self.form)

    @property
    def modelled(self) -> bool:
        """Whether the column has codes: identifiers and free text have none, and what is left out or made up."""
        return self.kind not in ("identifier", "text") and self.output in ("", "keep")

    @property
    def lacks(self) -> str:
        """What its declaration lacks before it can have codes without a look at records: "kind", "levels", "bounds", or nothing."""
        if not self.modelled:
            return ""
        if self.kind == UNKNOWN:
            return "kind"
        if self.kind == "categorical":
            return "" if self.levels or self.type == "bool" else "levels"
        if self.kind in NUMERIC_KINDS:
            return "" if self.edges is not None or self.bounds is not None else "bounds"
        return ""

    @property
    def written(self) -> bool:
        """Whether the column stands in output: modelled ones, and identifiers that are made anew."""
        return self.modelled or self.output in ("regenerate", "fake")

    @property
    def fitted_codec(self) -> ColumnDomain:
        """The codec; SchemaError for a column that has none yet."""
        if self.codec is None:
            raise SchemaError(
                f"Column '{self.name}' has no codes: its schema was not fitted to data."
            )
        return self.codec

    @property
    def is_numeric(self) -> bool:
        """Whether its codes stand for numbers on a line; not before it is fitted."""
        return self.codec is not None and self.codec.numeric

    @property
    def size(self) -> int:
        """The number of codes."""
        if self.codec is None:
            raise SchemaError(
                f"Column '{self.name}' has no codes: it is {self.kind}, or its schema was not fitted to data."
            )
        return self.codec.size


@dataclass(frozen=True)
class Schema:
    """The columns of a table, in order.

    A schema that was read from a file says what columns are; one that belongs to a table is *fitted*: each
    modelled column has a codec, so `sizes` are known. Fitted schemas hold levels of the data: confidential.

    Parameters
    ----------
    columns, rare_below
        The columns, and the number of records below which a level that is not declared is pooled.
    public
        Whether its writer says that nothing in it was read from the confidential data, or that it may be known.
    rows
        The declared number of records, where that is public.
    rules
        What holds of every record, as "age < 16 implies marital == 'never'" (see `table.rules.constraints`) or "change = after - before" (see
        `table.rules.relations`). Drawn rows keep them.
    rules_stated
        Whether its writer stated the rules, which may be none: then no others are looked for. A schema that says nothing of rules leaves them to the records.
    broken_rules
        What becomes of rules that records break: "enforce" (drawn rows keep them, and a note says how many records do not) or "refuse".
    searched, found_rules
        Whether the records were searched for rules, and those of the rules that were found so and not declared. Never in files.
    suggested
        Rules that were found and are not kept, each with why: comments of a schema file.
    functions
        For rules that say that a column determines another, what it maps to: fitted, as codecs are.
    sealed
        Whether every codec comes from the declaration alone, so that no record had a say in it. Never in files.
    persons
        How many rows are kept of each person in a prepared table; 0: every row is a person of its own. Never in files.
    line_breaks
        Whether cells in quotes of a text file may hold line breaks. Under a promise a line is a record unless this is declared: it says that every quote
        is closed, so that no record takes in those after it. Files that are read without a promise may always hold them.
    """

    columns: tuple[Column, ...]
    rare_below: int = 3
    public: bool = False
    rows: int | None = None
    sealed: bool = field(default=False, compare=False)
    persons: int = field(default=0, compare=False)
    rules: tuple[str, ...] = ()
    rules_stated: bool = field(default=False, compare=False)
    broken_rules: Literal["enforce", "refuse"] = "enforce"
    searched: bool = field(default=False, compare=False)
    found_rules: tuple[str, ...] = field(default=(), compare=False)
    suggested: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    functions: tuple[FunctionMap, ...] = field(default=(), compare=False, repr=False)
    line_breaks: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        times = Counter(column.name for column in self.columns)
        if double := sorted(name for name, n in times.items() if n > 1):
            raise SchemaError(
                f"Column names must be distinct. Twice or more: {join_names(double)}."
            )
        if not self.columns:
            raise SchemaError("A schema needs at least one column.")
        if self.rare_below < 0:
            raise SchemaError(f"rare_below must be at least 0. Got {self.rare_below}.")
        if self.rows is not None and not self.rows >= 0:
            raise SchemaError(f"rows must be at least 0. Got {self.rows}.")
        for role in SINGLE_ROLES:
            if len(holders := self.with_role(role)) > 1:
                raise SchemaError(
                    f"Only one column can have the role {role}. Got {join_names(holders)}."
                )
        if modelled := [
            column.name for column in self.columns if column.role == "person" and column.modelled
        ]:
            raise SchemaError(
                f"Column '{modelled[0]}' says whose row it is: it is an identifier, and not synthesised. Write kind = \"identifier\"."
            )

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __getitem__(self, name: str) -> Column:
        check_name("column", name, self._by_name)
        return self._by_name[name]

    @cached_property
    def _by_name(self) -> dict[str, Column]:
        return {column.name: column for column in self.columns}

    @cached_property
    def modelled(self) -> tuple[Column, ...]:
        """The columns that have codes, in order."""
        return tuple(column for column in self.columns if column.modelled)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the modelled columns, in the order of their codes."""
        return tuple(column.name for column in self.modelled)

    @cached_property
    def places(self) -> Mapping[str, int]:
        """Where each modelled column stands among these, by its name."""
        return {name: index for index, name in enumerate(self.names)}

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of codes of each modelled column."""
        return tuple(column.size for column in self.modelled)

    @property
    def fitted(self) -> bool:
        """Whether it has modelled columns, and each of them its codec: one that only says what is left out is not fitted."""
        return bool(self.modelled) and all(column.codec is not None for column in self.modelled)

    @property
    def leaves_rules_open(self) -> bool:
        """Whether rules are to be looked for in the records: it states none, not even that there are none, and is not another table's."""
        return not (self.rules or self.rules_stated or self.fitted)

    def discovering(self) -> Schema:
        """Return the schema with `discover` for every column that lacks a kind, levels or bounds: `discover = "all"` of a file."""
        return replace(
            self, columns=tuple(replace(c, discover=True) if c.lacks else c for c in self.columns)
        )

    def only(self, role: Role) -> str | None:
        """Return the name of the column with a role that one column can have; None where there is none."""
        return next(iter(self.with_role(role)), None)

    def with_role(self, role: str) -> tuple[str, ...]:
        """Return the names of the columns with a role."""
        return tuple(column.name for column in self.columns if column.role == role)

    def with_roles(
        self,
        *,
        label: str | None = None,
        weight: str | None = None,
        keys: Sequence[str] = (),
        sensitive: Sequence[str] = (),
    ) -> Schema:
        """Return the schema with roles given to named columns; a label or weight named here replaces the old one."""
        roles: dict[str, Role] = {}
        single_ones: dict[Role, str | None] = {"label": label, "weight": weight}
        wanted: dict[Role, Sequence[str]] = {"key": keys, "sensitive": sensitive}
        for role, names in (
            wanted | {role: [name] for role, name in single_ones.items() if name}
        ).items():
            for name in names:
                self[name]
                if roles.get(name, role) != role:
                    raise InputError(
                        f"Column '{name}' cannot be {roles[name]} and {role} at once. Choose one."
                    )
                roles[name] = role
        single = {role for role in ("label", "weight") if role in roles.values()}
        others = (
            replace(c, role="other") if c.role in single and c.name not in roles else c
            for c in self.columns
        )
        return replace(
            self,
            columns=tuple(replace(c, role=roles[c.name]) if c.name in roles else c for c in others),
        )

    def _repr_html_(self) -> str:
        rows = [
            (c.name, c.kind, c.role, c.codec.size if c.codec is not None else "", c.reason)
            for c in self.columns
        ]
        return html_table(["column", "kind", "role", "levels", "why"], rows)


@dataclass(frozen=True)
class FunctionMap(PlainData):
    """For each code of `determinant` the code of `dependent` that goes with it, and where that is a bin of numbers the one number of it that is drawn.

    A number of the data stands here only if at least ten records share it; else it is the middle of the bin, which is nobody's.
    """

    determinant: str = field(metadata=plain_form(key="left"))
    dependent: str = field(metadata=plain_form(key="right"))
    codes: tuple[int, ...]
    numbers: tuple[float | None, ...]

    SUBJECT: ClassVar[str] = "a function among the rules of a model"

    def __post_init__(self) -> None:
        if len(self.codes) != len(self.numbers):
            raise SchemaError("A function among the rules of a model needs a number for each code.")


def _type_and_value(value: Scalar) -> tuple[str, Scalar]:
    """Tell 1 from True and from 1.0, which Python holds equal."""
    return type(value).__name__, value


@dataclass(frozen=True)
class Note:
    """Something the reader of a table should know of a column: what was dropped, pooled or changed, and why.

    Without a column it is said of the whole table.
    """

    column: str
    what: str
    sentence: str

    def __str__(self) -> str:
        return f"Column '{self.column}': {self.sentence}" if self.column else self.sentence


def note_lines(notes: Iterable[Note]) -> list[str]:
    """Return notes as lines for a screen, in their order: what is said alike of more than ten columns is one line, where the first of them stands.

    Examples
    --------
    >>> for line in note_lines([Note(f"q{i}", "constant", "it has a single value.") for i in range(800)]):
    ...     print(line)
    Columns 'q0', 'q1', 'q2', 'q3', 'q4', 'q5', 'q6', 'q7', 'q8', 'q9' and 790 more: it has a single value.
    """
    all_notes = list(notes)
    alike: dict[tuple[str, str], list[str]] = {}
    for note in all_notes:
        alike.setdefault((note.what, note.sentence), []).append(note.column)
    lines = list[str]()
    for note in all_notes:
        columns = alike[note.what, note.sentence]
        if len(columns) <= SHOWN or not note.column:
            lines.append(str(note))
        elif note.column == columns[0]:
            names = join_names((f"'{column}'" for column in columns), max_names=SHOWN)
            lines.append(f"Columns {names}: {note.sentence}")
    return lines
