"""From a source and perhaps a schema to a fitted schema: passes over the batches, and nothing kept but counts.

What a schema declares stands; columns that it leaves open are inferred from all rows. What is declared of a column and what it holds give its codec, with a sentence for all that is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Literal

import numpy as np
import pyarrow as pa

from .._base.checks import check_name
from .._base.errors import InputError, SchemaError, join_names
from .._base.masking import THRESHOLD
from .._base.runtime import Progress, silent
from .bins import fit_intervals, leaves_out
from .domain import OTHER, Categories, ColumnDomain, Scalar
from .formats import Labels, Source, Tagged
from .guess import SIGN_NAMES, SignEvidence, TextGuess, check_column, file_sign
from .infer import decimals_of, infer_column
from .personal.detect import evidence_of, personal_note
from .personal.fake import fitted_form
from .profile import Profile
from .rules.constraints import check_rules, cut_schema
from .schema import NUMERIC_KINDS, UNKNOWN, Column, Note, Schema
from .text import (
    DecimalSign,
    Spelling,
    WordValues,
    has_decimals,
    parse_words,
    spelling_of,
    with_sign,
    word_tokens,
)
from .times import step_of
from .types import (
    is_nested,
    is_numeric,
    is_whole,
    is_words,
    parse_type,
    type_name,
    value_type,
    whole_array,
)

CellValues = dict[str, WordValues]
"""The typed values of some rows by column, with the missing codes that a file spelled."""

_OWN = ("name", "kind", "type", "reason", "codec", "evidence", "spelled", "discover")
"""What a column that is inferred has by itself."""

MOST_LEVELS = 200_000


@dataclass(frozen=True)
class FittedSchema:
    """A fitted schema, how many rows it was fitted on, what should be said of its columns, and the profiles that it was fitted to, if it was."""

    schema: Schema
    n_rows: int
    notes: tuple[Note, ...]
    profiles: TableProfile | None = None


def fit_schema(
    source: Source,
    schema: Schema | None = None,
    *,
    rare: Literal["pool", "keep"] = "pool",
    rare_below: int = 3,
    threshold: int = THRESHOLD,
    progress: Progress = silent,
    watch: Callable[[pa.RecordBatch, CellValues], object] = lambda batch, cells: None,
) -> FittedSchema:
    """Return the fitted schema of a source: inferred from all rows, or the given one fitted to them.

    Errors and reasons name no value that fewer records than the threshold share. `watch` is shown each batch of the pass that reads all columns, and its typed cells.
    """
    names = source.schema.names
    if len(names) < 2:
        raise InputError(f"'{source.name}' has one column. A table needs two or more.")
    if schema is not None:
        if schema.fitted:
            check_columns(source.name, names, schema)
            return _as_fitted(source, with_sign(schema, source.decimal) if source.text else schema)
        check_declared(names, schema)
        schema = with_sign(schema, source.decimal) if source.text else schema
        if not any(is_open(column) for column in schema):
            check_rules(schema)
        rare_below = schema.rare_below
    spellings, sign_notes = _spellings(source, _by_name(schema), threshold, progress)
    profiles = TableProfile.from_spellings(spellings)
    for batch in source.batches(
        names
    ):  # all by name: words then come as dictionaries where the file has them so
        watch(batch, profiles.add(batch, text=source.text))
        progress("reading", -1)
    return fit_profiles(
        source,
        profiles,
        schema,
        rare=rare,
        rare_below=rare_below,
        threshold=threshold,
        notes=sign_notes,
    )


@dataclass
class TableProfile:
    """Profiles of all columns of a table, with how each is read. Parts of a table are profiled anywhere, and merged."""

    spellings: Mapping[str, Spelling]
    columns: dict[str, Profile]
    n_rows: int = 0

    @classmethod
    def from_spellings(cls, spellings: Mapping[str, Spelling]) -> TableProfile:
        """Return profiles of no rows yet."""
        return cls(
            spellings,
            {
                name: Profile(spelling.type, spelling.missing)
                for name, spelling in spellings.items()
            },
        )

    def add(self, batch: pa.RecordBatch, *, text: bool = False) -> CellValues:
        """Add a batch of rows, and return its typed cells."""
        cells = parse_columns(batch, self.spellings, text=text)
        for name, (values, tokens) in cells.items():
            self.columns[name].add(values, tokens)
        self.n_rows += batch.num_rows
        return cells

    def merge(self, other: TableProfile) -> None:
        """Add the profiles of later rows."""
        for name, profile in self.columns.items():
            profile.merge(other.columns[name])
        self.n_rows += other.n_rows


def typed_profile(source: Source, schema: Schema | None = None) -> TableProfile:
    """Return empty profiles for the columns of a source that is no text file, as a schema declares them: what a worker fills with its rows."""
    return TableProfile.from_spellings(_spellings(source, _by_name(schema), THRESHOLD, silent)[0])


def fit_profiles(
    source: Source,
    profiles: TableProfile,
    schema: Schema | None = None,
    *,
    rare: Literal["pool", "keep"] = "pool",
    rare_below: int = 3,
    threshold: int = THRESHOLD,
    notes: Sequence[Note] = (),
) -> FittedSchema:
    """Return the fitted schema of a source whose rows were profiled, here or elsewhere: no row is read. `schema` is what was declared."""
    names, declared, spellings = source.schema.names, _by_name(schema), profiles.spellings
    notes = [*source.notes, *notes]
    if schema is not None and (inferred := [name for name in names if is_open(declared.get(name))]):
        notes.append(
            Note(
                "",
                "inferred",
                f"The schema leaves these columns open, and they are inferred from all rows: {join_names(inferred)}.",
            )
        )
    enough_rows(f"'{source.name}'", profiles.n_rows)
    columns: list[Column] = []
    for name in names:
        given, profile, spelling = declared.get(name), profiles.columns[name], spellings[name]
        if given is not None and not is_open(given):
            column = _declared_column(given, source, spelling)
        else:
            labels, keep = (
                source.labels.get(name, Labels()),
                given is not None and given.output == "keep",
            )
            column = infer_column(
                name,
                profile,
                spelling,
                labels,
                rare_below=rare_below,
                threshold=threshold,
                keep=keep,
            )
            column = complete_column(
                given, _inferred_column(column, source, spelling, labels, rare)
            )
        column = fitted_form(replace(column, evidence=evidence_of(column, profile)), profile)
        fitted, column_notes = fit_column(column, profile, rare_below=rare_below)
        columns.append(fitted)
        notes += column_notes
    notes += personal_note(columns)
    if not any(column.modelled for column in columns):
        raise InputError(
            f"'{source.name}' has only identifiers and free text: nothing to model. Declare kinds in a schema."
        )
    if schema is None:
        return FittedSchema(
            Schema(tuple(columns), rare_below), profiles.n_rows, tuple(notes), profiles
        )
    fitted_schema = replace(schema, columns=tuple(columns), sealed=False, persons=0)
    return FittedSchema(cut_schema(fitted_schema), profiles.n_rows, tuple(notes), profiles)


def fit_column(column: Column, profile: Profile, *, rare_below: int) -> tuple[Column, list[Note]]:
    """Return the column with its codec, and notes on what was dropped, pooled or made missing."""
    notes: list[Note] = []
    if profile.n_infinite:
        raise SchemaError(
            f"Column '{column.name}' holds infinite numbers. Replace them by missing, or by a bound, before reading."
        )
    if not column.modelled:
        return column, [_note_unmodelled(column)]
    if profile.n_null + profile.n_nan and not column.nullable:
        raise SchemaError(
            f"Column '{column.name}' has missing values, but its schema does not allow them. Add nullable = true to it."
        )
    if not profile.n_present and not (column.levels or column.edges or column.bounds):
        notes.append(Note(column.name, "empty", "every value is missing; it stays so in output."))
        codec: ColumnDomain = Categories(
            (), False, column.nullable or not column.missing, column.missing
        )
        return replace(column, codec=codec), notes
    if column.kind in NUMERIC_KINDS:
        column = _with_fractions(column, profile, notes)
        codec = _intervals(column, profile, rare_below, notes)
    else:
        codec = _categories(column, profile, rare_below, notes)
    if codec.n_values == 1 and codec.size == 1:
        notes.append(Note(column.name, "constant", "it has a single value; it stays so in output."))
    return replace(column, codec=codec), notes


def _by_name(schema: Schema | None) -> dict[str, Column]:
    return {} if schema is None else {column.name: column for column in schema}


def parse_columns(
    batch: pa.RecordBatch | pa.Table, spellings: Mapping[str, Spelling], *, text: bool
) -> CellValues:
    """Return the typed values of the spelled columns of a batch, with the missing codes that a file spelled."""
    out: CellValues = {}
    for name, spelling in spellings.items():
        values = whole_array(batch.column(name))
        out[name] = (values, None)
        if text:
            out[name] = parse_words(values, spelling, name=name)
        elif isinstance(values.type, Tagged):
            cells = values.storage
            out[name] = cells.field("value"), word_tokens(cells.field("word"), spelling.missing)
    return out


def enough_rows(what: str, n_rows: int) -> None:
    """Raise unless a table has two rows or more."""
    if n_rows < 2:
        raise InputError(
            f"{what} has {'one row' if n_rows else 'no rows'}. A table needs two or more."
        )


def _as_fitted(source: Source, schema: Schema) -> FittedSchema:
    """Return a fitted schema as it is, in the order of the source: its bins and levels are not fitted again."""
    n_rows = sum(batch.num_rows for batch in source.batches(source.schema.names[:1]))
    enough_rows(f"'{source.name}'", n_rows)
    columns = tuple(
        replace(schema[name], spelled=_has_missing_words(source, name))
        for name in source.schema.names
    )
    return FittedSchema(replace(schema, columns=columns, sealed=False), n_rows, source.notes)


def _has_missing_words(source: Source, name: str) -> bool:
    """Return whether missing codes of a column are words beside its values."""
    return source.text or isinstance(source.schema.field(name).type, Tagged)


def check_columns(name: str, columns: Sequence[str], schema: Schema) -> None:
    """Raise unless the columns of a source, called `name`, are those that the schema declares."""
    check_declared(columns, schema)
    declared = [column.name for column in schema]
    if extra := [column for column in columns if column not in declared]:
        raise SchemaError(
            f"The schema lacks columns of '{name}': {join_names(extra)}. Add them, or drop them from the data."
        )


def check_declared(columns: Sequence[str], schema: Schema) -> None:
    """Raise unless every column that a schema declares is among those of a source."""
    for column in schema:
        check_name("column", column.name, columns)


def _spellings(
    source: Source, declared: Mapping[str, Column], threshold: int, progress: Progress
) -> tuple[dict[str, Spelling], list[Note]]:
    """Return how each column is to be read, and what should be said of it."""
    if not source.text:
        out = {}
        for column in source.schema:
            labels, given = source.labels.get(column.name, Labels()), declared.get(column.name)
            missing = (
                labels.missing
                if given is None or (is_open(given) and not given.missing)
                else given.missing
            )
            kind = column.type.values if isinstance(column.type, Tagged) else column.type
            out[column.name] = Spelling(kind, given.format if given is not None else "", missing)
        return out, []
    known = [column for column in declared.values() if not is_open(column)]
    spellings = _declared_spellings(source, known, progress)
    open_names = [name for name in source.schema.names if name not in spellings]
    if not open_names:
        return spellings, []
    missing_codes = {
        name: declared[name].missing if name in declared else () for name in open_names
    }
    guesses = _guesses(
        source,
        {name: TextGuess(name, missing_codes[name], threshold=threshold) for name in open_names},
        progress,
    )
    signs = {name: guess.evidence for name, guess in guesses.items()}
    for name, evidence in signs.items():
        check_column(name, evidence)
    decimal = source.decimal or file_sign(signs, source.name, source.layout.delimiter)
    guessed = {name: guess.spelling(decimal) for name, guess in guesses.items()}
    notes = _sign_notes(signs, guessed, decimal, given=source.decimal is not None)
    if mixed := [
        name
        for name, spelling in guessed.items()
        if pa.types.is_timestamp(spelling.type) and len(guesses[name].times.offsets) > 1
    ]:
        sentence = f"Moments in columns {join_names(mixed)} have several offsets from UTC: they are read in UTC, and written so."
        notes.append(Note("", "zones", sentence))
    return spellings | guessed, notes


def _sign_notes(
    signs: Mapping[str, SignEvidence],
    spellings: Mapping[str, Spelling],
    decimal: DecimalSign,
    *,
    given: bool,
) -> list[Note]:
    """Return what to say of signs: that commas or separators were found, or that columns with another sign than the given stay text."""
    notes = []
    commas = [
        name
        for name, spelling in spellings.items()
        if spelling.decimal == "," and (signs[name].comma or signs[name].comma_doubt)
    ]
    if not given and decimal == ",":
        sentence = f"Decimal commas: columns {join_names(commas)} are read as numbers, and written so. --decimal . keeps them as text."
        notes.append(Note("", "decimal", sentence))
    for sign in dict.fromkeys(
        spelling.thousands for spelling in spellings.values() if spelling.thousands
    ):
        named = [name for name, spelling in spellings.items() if spelling.thousands == sign]
        sentence = f"Thousands are set apart by {SIGN_NAMES[sign]} in columns {join_names(named)}: they are read as numbers, and written so."
        notes.append(Note("", "thousands", sentence))
    if text := [name for name, evidence in signs.items() if given and evidence.needs - {decimal}]:
        other = "comma" if decimal == "." else "point"
        sentence = f"Columns {join_names(text)} look like numbers with a decimal {other}; the sign that was given is '{decimal}', so they are text."
        notes.append(Note("", "decimal", sentence))
    return notes


def _declared_spellings(
    source: Source, columns: Sequence[Column], progress: Progress
) -> dict[str, Spelling]:
    """Return how each column of a text file is to be read as a schema declares it; dates and times are written as they came."""
    spellings = {column.name: spelling_of(column) for column in columns}
    moments = [
        name for name, s in spellings.items() if pa.types.is_temporal(s.type) and not s.format
    ]
    guesses = _guesses(
        source, {name: TextGuess(name, spellings[name].missing) for name in moments}, progress
    )
    return spellings | {
        name: replace(spellings[name], format=g.plain_format(spellings[name].type))
        for name, g in guesses.items()
    }


def _guesses(
    source: Source, guesses: dict[str, TextGuess], progress: Progress
) -> dict[str, TextGuess]:
    """Return guesses of columns with every cell of theirs added."""
    for batch in source.batches(list(guesses)) if guesses else ():
        for name, guess in guesses.items():
            guess.add(batch.column(name))
        progress("understanding text", -1)
    return guesses


def _declared_column(column: Column, source: Source, spelling: Spelling) -> Column:
    stored = column.modelled or (
        column.output == "fake" and not source.text and not is_nested(spelling.type)
    )
    kind = type_name(spelling.type) if stored else column.type
    if source.text and column.modelled and not column.format and spelling.format:
        step = max(column.step, step_of(spelling.type, spelling.format))
        column = replace(column, format=spelling.format, step=step)
    labels = source.labels.get(column.name, Labels())
    return replace(
        column,
        type=kind,
        spelled=_has_missing_words(source, column.name),
        title=column.title or labels.title,
        labels=column.labels or tuple(labels.values.items()),
    )


def _inferred_column(
    column: Column,
    source: Source,
    spelling: Spelling,
    labels: Labels,
    rare: Literal["pool", "keep"],
) -> Column:
    if column.modelled and has_decimals(column):
        column = replace(column, decimal=spelling.decimal)
    if column.modelled and spelling.thousands:
        column = replace(column, decimal=spelling.decimal, thousands=spelling.thousands)
    ordered = column.ordered or (column.kind == "categorical" and labels.measure == "ordinal")
    return replace(
        column, rare=rare, ordered=ordered, spelled=_has_missing_words(source, column.name)
    )


def is_open(column: Column | None) -> bool:
    """Return whether nothing is declared of a column, or all but its kind."""
    return column is None or column.kind == UNKNOWN


def complete_column(declared: Column | None, inferred: Column) -> Column:
    """Return an inferred column with what is declared of it: all that is not at its default.

    Examples
    --------
    >>> declared, inferred = Column("sex", UNKNOWN, "key"), Column("sex", "categorical", nullable=True)
    >>> column = complete_column(declared, inferred)
    >>> column.kind, column.role, column.nullable
    ('categorical', 'key', True)
    """
    if declared is None:
        return inferred
    plain = Column(declared.name, declared.kind)
    declarations = {
        f.name: value
        for f in fields(Column)
        if f.name not in _OWN and (value := getattr(declared, f.name)) != getattr(plain, f.name)
    }
    ranged = bool({"bounds", "edges", "atoms", "bins", "binning"} & declarations.keys())
    kind = (
        "integer"
        if ranged and inferred.kind == "categorical" and inferred.type.startswith(("int", "uint"))
        else inferred.kind
    )
    if kind in NUMERIC_KINDS and "edges" in declarations:
        declarations["binning"] = "edges"
    return replace(inferred, kind=kind, **declarations)


def _note_unmodelled(column: Column) -> Note:
    if column.output == "fake":
        return Note(
            column.name,
            "fake",
            f"made up in output, in the form {column.form}; its values are not modelled, and none of them is made.",
        )
    if column.output and column.kind not in ("identifier", "text"):
        return Note(column.name, "dropped", "as the schema says, it is not in output.")
    if column.kind == "identifier":
        how = "made anew as row numbers" if column.output == "regenerate" else "dropped"
        repeats = (
            " Its values repeat: rows are not independent." if "repeat" in column.reason else ""
        )
        return Note(
            column.name,
            "identifier",
            f"an identifier, never synthesised; {how} in output.{repeats}",
        )
    return Note(
        column.name,
        "text",
        "free text, dropped: its values are mostly rare or of a type that cannot be modelled.",
    )


def _with_fractions(column: Column, profile: Profile, notes: list[Note]) -> Column:
    """Return a column of whole numbers as one of floats where it is stored as such and holds fractions.

    Another file of the same type may have been whole throughout: the stored type says what may come, one file does not.
    """
    if (
        column.kind != "integer"
        or is_whole(value_type(parse_type(column.type)))
        or not profile.n_fraction
    ):
        return column
    sentence = f"whole numbers by its schema, but stored as {column.type} with fractions: float."
    notes.append(Note(column.name, "fractions", sentence))
    return replace(column, kind="float", decimals=decimals_of(profile), reason="")


def _intervals(
    column: Column, profile: Profile, rare_below: int, notes: list[Note]
) -> ColumnDomain:
    kind = value_type(parse_type(column.type))
    if not is_numeric(kind) or pa.types.is_dictionary(parse_type(column.type)):
        raise SchemaError(
            f"Column '{column.name}' is declared {column.kind}, but holds {column.type}. Declare kind = \"categorical\"."
        )
    values, counts = profile.numbers.result()
    integral = is_whole(kind) or column.kind == "integer"
    if integral:
        values = np.asarray(values).astype(np.int64)
    _check_range(column, values)
    declared = column.bounds is not None or column.edges is not None or column.atoms
    if not declared and profile.n_present < rare_below and column.rare == "pool":
        sentence = f"fewer than {rare_below} records have a value; these are made missing."
        notes.append(Note(column.name, "rare", sentence))
        return Categories((), False, True, column.missing)
    if leaves_out(column, values, counts, integral=integral):
        sentence = (
            "few records, none of whose values ten records share, lie far away from all others: these values are never drawn. "
            "If they mean missing, list them in missing."
        )
        notes.append(Note(column.name, "far away", sentence))
    return fit_intervals(
        column, values, counts, integral=integral, single=kind in (pa.float32(), pa.float16())
    )


def _check_range(column: Column, values: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> None:
    bounds = column.bounds or ((column.edges[0], column.edges[-1]) if column.edges else None)
    if bounds is None or column.out_of_range == "clip" or not len(values):
        return
    if values[0] < bounds[0] or values[-1] > bounds[1]:
        raise SchemaError(
            f"Column '{column.name}' has values outside its {'bounds' if column.bounds else 'edges'}, {bounds[0]:g} to "
            f'{bounds[1]:g}. Widen them, or set out_of_range = "clip".'
        )


def _categories(
    column: Column, profile: Profile, rare_below: int, notes: list[Note]
) -> ColumnDomain:
    if column.kind == "boolean" and not pa.types.is_boolean(value_type(parse_type(column.type))):
        raise SchemaError(
            f"Column '{column.name}' is declared boolean, but holds {column.type}. Declare kind = \"categorical\"."
        )
    if profile.too_many_words or (not profile.word_counts and not profile.numbers.exact):
        raise SchemaError(_too_many(column.name, "more than a million"))
    level_counts = {level: n for level, n in profile.value_counts() if level != OTHER}
    pooled = OTHER in profile.word_counts
    if column.levels is not None:
        known = set(column.levels)
        outside = [level for level in level_counts if level not in known and level_counts[level]]
        if outside and not column.other:
            raise SchemaError(
                f"Column '{column.name}' has values outside its declared levels. Add them to levels, list them in missing, "
                "or set other = true to pool them."
            )
        return Categories(column.levels, column.other or pooled, column.nullable, column.missing)
    levels: tuple[Scalar, ...] = tuple(level for level in level_counts if level_counts[level])
    if len(levels) < len(
        level_counts
    ):  # those of records that were filtered out, maybe: names of people among them
        notes.append(
            Note(
                column.name,
                "unused",
                "categories that no record has are left out. A schema that lists them in levels keeps them.",
            )
        )
    if column.rare == "pool" and rare_below > 1 and column.kind != "boolean":
        common = tuple(level for level in levels if level_counts[level] >= rare_below)
        if len(common) < len(levels):
            emitted = (
                ""
                if is_words(parse_type(column.type))
                else " Output has a missing value in its place."
            )
            sentence = (
                f"levels with fewer than {rare_below} records are pooled into {OTHER}.{emitted}"
            )
            notes.append(Note(column.name, "pooled", sentence))
            pooled = True
        levels = common
    if len(levels) > MOST_LEVELS:
        raise SchemaError(_too_many(column.name, f"{len(levels):,}"))
    return Categories(levels, column.other or pooled, column.nullable, column.missing)


def _too_many(name: str, how_many: str) -> str:
    return (
        f"Column '{name}' has {how_many} levels; at most {MOST_LEVELS:,} can be modelled. Declare it kind = \"text\" or "
        '"identifier" to leave it out, "integer" or "float" to bin it, or list the levels to keep with other = true.'
    )
