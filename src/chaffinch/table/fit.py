"""From what is declared of a column and what it holds to its codec, with a sentence for all that is lost."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from .._base.errors import SchemaError
from .codec import OTHER, Categories, Codec, Scalar
from .discretise import fit_intervals, leaves_out
from .grid import is_whole
from .infer import decimals_of
from .note import Note
from .profile import Profile
from .schema import NUMERIC_KINDS, Column
from .types import is_numeric, is_words, parse_type, value_type

MOST_LEVELS = 200_000


def fit_column(column: Column, profile: Profile, *, rare_below: int) -> tuple[Column, list[Note]]:
    """Return the column with its codec, and notes on what was dropped, pooled or made missing."""
    notes: list[Note] = []
    if profile.n_infinite:
        raise SchemaError(
            f"Column '{column.name}' holds infinite numbers. Replace them by missing, or by a bound, before reading."
        )
    if not column.modelled:
        return column, [_unmodelled(column)]
    if profile.n_null + profile.n_nan and not column.nullable:
        raise SchemaError(
            f"Column '{column.name}' has missing values, but its schema does not allow them. Add nullable = true to it."
        )
    if not profile.n_present and not (column.levels or column.edges or column.bounds):
        notes.append(Note(column.name, "empty", "every value is missing; it stays so in output."))
        codec: Codec = Categories((), False, column.nullable or not column.missing, column.missing)
        return replace(column, codec=codec), notes
    if column.kind in NUMERIC_KINDS:
        column = _with_fractions(column, profile, notes)
        codec = _intervals(column, profile, rare_below, notes)
    else:
        codec = _categories(column, profile, rare_below, notes)
    if codec.n_values == 1 and codec.size == 1:
        notes.append(Note(column.name, "constant", "it has a single value; it stays so in output."))
    return replace(column, codec=codec), notes


def _unmodelled(column: Column) -> Note:
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


def _intervals(column: Column, profile: Profile, rare_below: int, notes: list[Note]) -> Codec:
    kind = value_type(parse_type(column.type))
    if not is_numeric(kind) or pa.types.is_dictionary(parse_type(column.type)):
        raise SchemaError(
            f"Column '{column.name}' is declared {column.kind}, but holds {column.type}. Declare kind = \"categorical\"."
        )
    values, counts = profile.numbers.result()
    whole = is_whole(kind) or column.kind == "integer"
    if whole:
        values = np.asarray(values).astype(np.int64)
    _check_range(column, values)
    declared = column.bounds is not None or column.edges is not None or column.atoms
    if not declared and profile.n_present < rare_below and column.rare == "pool":
        sentence = f"fewer than {rare_below} records have a value; these are made missing."
        notes.append(Note(column.name, "rare", sentence))
        return Categories((), False, True, column.missing)
    if leaves_out(column, values, counts, whole=whole):
        sentence = (
            "few records, none of whose values ten records share, lie far away from all others: these values are never drawn. "
            "If they mean missing, list them in missing."
        )
        notes.append(Note(column.name, "far away", sentence))
    return fit_intervals(
        column, values, counts, whole=whole, single=kind in (pa.float32(), pa.float16())
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


def _categories(column: Column, profile: Profile, rare_below: int, notes: list[Note]) -> Codec:
    if column.kind == "boolean" and not pa.types.is_boolean(value_type(parse_type(column.type))):
        raise SchemaError(
            f"Column '{column.name}' is declared boolean, but holds {column.type}. Declare kind = \"categorical\"."
        )
    if profile.too_many_words or (not profile.words and not profile.numbers.exact):
        raise SchemaError(_too_many(column.name, "more than a million"))
    level_counts = {level: n for level, n in profile.value_counts() if level != OTHER}
    pooled = OTHER in profile.words
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
