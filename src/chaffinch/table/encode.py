"""Values to codes and codes to values, for one column at a time.

Most codes are looked up: words by their place in a dictionary, whole numbers that lie close together by a list of the code of each (`looked_up`). What cannot be looked up (a value
outside the levels, a number beyond its bounds, fractions, numbers far apart) takes the longer way, which knows what to say of it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from .._base.errors import SchemaError
from .codec import OTHER, Categories, Codec, Intervals
from .codes import narrowest
from .schema import Column
from .types import (
    from_numbers,
    is_numeric,
    is_whole,
    is_words,
    parse_type,
    to_numbers,
    value_type,
    whole_array,
)

Codes1D = NDArray[np.unsignedinteger[Any]]


def encode_column(
    column: Column, values: pa.Array, tokens: NDArray[np.int16] | None = None
) -> Codes1D:
    """Return the codes of a column's values.

    `tokens` tells which missing code a text file spelled where the value is null (-1: an empty cell).
    """
    codec = column.fitted_codec
    values = whole_array(values)
    if tokens is not None and not (tokens >= 0).any():
        tokens = None
    if tokens is None and (quick := looked_up(column, values)) is not None:
        return quick
    out = np.zeros(len(values), dtype=np.int64)
    if isinstance(codec, Categories) and not is_numeric(values.type):
        absent = _encode_words(column, codec, values, out)
    else:
        absent = _encode_numbers(column, values, out)
    if tokens is not None:
        spelled = tokens >= 0
        out[spelled] = codec.n_values + codec.null + tokens[spelled]
        absent &= ~spelled
    if absent.any():
        if not codec.null and codec.other and not is_words(values.type):
            out[absent] = (
                codec.n_values - 1
            )  # where (other) is no value of the type, it is written as null
        elif not codec.null:
            raise SchemaError(
                f"Column '{column.name}' has missing values, but its schema does not allow them. Add nullable = true."
            )
        else:
            out[absent] = codec.n_values
    return out.astype(narrowest(codec.size))


def _encode_words(
    column: Column, codec: Categories, values: pa.Array, out: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Fill in the codes of text, booleans and dictionaries; return which entries are null."""
    if not pa.types.is_dictionary(values.type):
        values = values.dictionary_encode()
    lookup, words = word_codes(codec), values.dictionary.to_pylist()
    outside = len(codec.levels) if codec.other else -1
    table = np.array([lookup.get(word, outside) for word in words] or [0], dtype=np.int64)
    absent = (
        values.indices.is_null().to_numpy(zero_copy_only=False)
        if values.indices.null_count
        else np.zeros(len(values), dtype=bool)
    )
    indices = values.indices.fill_null(0).to_numpy(zero_copy_only=False)
    out[:] = table[indices]
    if None in words:
        absent = absent | (indices == words.index(None))
    if (out[~absent] < 0).any():
        raise _outside(column)
    return absent


def _encode_numbers(column: Column, values: pa.Array, out: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Fill in the codes of numbers, dates and times; return which entries are null or NaN."""
    codec = column.fitted_codec
    numbers, present = to_numbers(values)
    absent = ~present
    if numbers.dtype == np.float64:
        absent |= np.isnan(numbers)
    done = absent.copy()
    for i, code in enumerate(codec.missing):
        if isinstance(code, int | float) and not isinstance(code, bool):
            hit = (numbers == code) & ~absent
            if hit.any():
                out[hit] = codec.n_values + codec.null + i
                done |= hit
    plain = not done.any()
    left = numbers if plain else numbers[~done]
    if not len(left):
        return absent
    codes = (
        _in_bins(column, codec, left)
        if isinstance(codec, Intervals)
        else _level_codes(column, codec, left)
    )
    if plain:
        out[:] = codes
    else:
        out[~done] = codes
    return absent


def _in_bins(column: Column, codec: Intervals, numbers: NDArray[Any]) -> NDArray[np.int64]:
    if not codec.whole or numbers.dtype != np.float64:
        return codec.encode(_in_range(column, codec, numbers))
    if (np.rint(numbers) == numbers).all():
        return codec.encode(_in_range(column, codec, numbers.astype(np.int64)))
    if is_whole(value_type(parse_type(column.type))):
        raise SchemaError(
            f"Column '{column.name}' is {column.kind}, but holds fractions. Declare kind = \"float\"."
        )
    # Stored as floats, and whole throughout where it was fitted: a fraction lies in the bin around it, and is no atom.
    wide = replace(codec, whole=False)
    return wide.encode(_in_range(column, wide, numbers))


def _in_range(column: Column, codec: Intervals, numbers: NDArray[Any]) -> NDArray[Any]:
    bounds = codec.bounds or ((column.edges[0], column.edges[-1]) if column.edges else None)
    if bounds is None or (numbers.min() >= bounds[0] and numbers.max() <= bounds[1]):
        return numbers
    if column.out_of_range == "error":
        raise SchemaError(
            f"Column '{column.name}' has values outside its bins, {bounds[0]:g} to {bounds[1]:g}. Widen the bins, or set "
            'out_of_range = "clip".'
        )
    low, high = (int(bound) if codec.whole else bound for bound in bounds)
    return np.clip(numbers, low, high)


def _level_codes(column: Column, codec: Categories, numbers: NDArray[Any]) -> NDArray[np.int64]:
    """Return the codes of numbers that are levels: coded categories."""
    levels = np.array(
        [level for level in codec.levels if not isinstance(level, str)], dtype=np.float64
    )
    codes = np.array(
        [i for i, level in enumerate(codec.levels) if not isinstance(level, str)], dtype=np.int64
    )
    order = np.argsort(levels, kind="stable")
    levels, codes = levels[order], codes[order]
    outside = len(codec.levels) if codec.other else -1
    if not len(levels):
        matches = np.full(len(numbers), outside, dtype=np.int64)
    else:
        near = np.minimum(np.searchsorted(levels, numbers), len(levels) - 1)
        matches = np.where(levels[near] == numbers, codes[near], outside)
    if not codec.n_values and codec.null:
        return np.full(
            len(numbers), codec.n_values, dtype=np.int64
        )  # too few numbers to keep: made missing
    if (matches < 0).any():
        raise _outside(column)
    return matches


def _outside(column: Column) -> SchemaError:
    kind = parse_type(column.type)
    measure = ', or declare kind = "float" if it is no code' if pa.types.is_floating(kind) else ""
    return SchemaError(
        f"Column '{column.name}' has values outside its levels. Add them to levels, list them in missing, or set other = "
        f"true{measure}."
    )


def decode_column(
    column: Column, codes: NDArray[np.integer[Any]], rng: np.random.Generator
) -> pa.Array:
    """Return values of the column's own type for codes.

    Missing levels come out as null, or as their code where that is a value of the type. `missing_words` has the
    spelling that a text file needs. Where `(other)` is no value of the type it comes out as null.
    """
    codec = column.fitted_codec
    kind = parse_type(column.type)
    wide = codes.astype(np.int64)
    if isinstance(codec, Intervals):
        return _decode_numbers(column, codec, wide, kind, rng)
    inner = value_type(kind)
    words = [*codec.levels, *[OTHER] * codec.other, *[None] * codec.null, *codec.missing]
    if column.spelled:
        words = [
            None if i >= codec.n_values and isinstance(word, str) else word
            for i, word in enumerate(words)
        ]
    fits = [_fits(word, inner) for word in words]
    if pa.types.is_dictionary(kind):
        fitting = [
            i
            for i, (word, ok) in enumerate(zip(words, fits, strict=True))
            if ok and word is not None
        ]
        position = np.full(len(words) + 1, -1, dtype=np.int64)
        position[fitting] = np.arange(len(fitting))
        indices = position[wide]
        dictionary = _array([words[i] for i in fitting], inner)
        index_type = (
            kind.index_type if len(fitting) <= np.iinfo(str(kind.index_type)).max else pa.int32()
        )
        positions = pa.array(np.maximum(indices, 0), mask=indices < 0).cast(index_type)
        return pa.DictionaryArray.from_arrays(positions, dictionary, ordered=kind.ordered)
    shown = [word if ok else None for word, ok in zip(words, fits, strict=True)] or [None]
    if is_words(inner):
        return pa.array(shown, type=pa.string()).take(pa.array(wide)).cast(inner)
    return _as_nan(column, _array(shown, inner).take(pa.array(wide)))


def _array(words: list[Any], kind: pa.DataType) -> pa.Array:
    """Return levels as an Arrow array of a type; None becomes null."""
    if is_numeric(kind):
        numbers = np.array(
            [0 if word is None else word for word in words], dtype=None if words else np.int64
        )
        return from_numbers(
            numbers, np.array([word is not None for word in words], dtype=bool), kind
        )
    return (
        pa.array(words, type=pa.string()).cast(kind)
        if is_words(kind)
        else pa.array(words, type=kind)
    )


def _fits(word: Any, kind: pa.DataType) -> bool:
    """Whether a level can be written as a value of the column's type."""
    if word is None or pa.types.is_null(kind):
        return False
    if is_words(kind):
        return isinstance(word, str)
    if pa.types.is_boolean(kind):
        return isinstance(word, bool)
    return not isinstance(word, str | bool)


def _decode_numbers(
    column: Column,
    codec: Intervals,
    codes: NDArray[np.int64],
    kind: pa.DataType,
    rng: np.random.Generator,
) -> pa.Array:
    present = codes < codec.n_values
    numbers = np.zeros(len(codes), dtype=np.int64 if codec.whole else np.float64)
    if present.any():
        numbers[present] = codec.decode(codes[present], rng)
    if kind in (pa.float32(), pa.float16()) and not codec.whole:
        _narrow(
            codec, numbers, codes, present, np.float16 if pa.types.is_float16(kind) else np.float32
        )
    for i, code in enumerate(codec.missing):
        if not isinstance(code, str):
            hit = codes == codec.n_values + codec.null + i
            numbers[hit] = code
            present = present | hit
    return _as_nan(column, from_numbers(numbers, present, kind))


def _narrow(
    codec: Intervals,
    numbers: NDArray[Any],
    codes: NDArray[np.int64],
    present: NDArray[np.bool_],
    dtype: Any,
) -> None:
    """Round to a narrower float in place, a step down where rounding up would leave the bin."""
    narrow = numbers.astype(dtype)
    out = present.copy()
    out[present] = codec.encode(narrow[present].astype(np.float64)) != codes[present]
    narrow[out] = np.nextafter(narrow[out], dtype(-np.inf))
    numbers[:] = narrow


def _as_nan(column: Column, values: pa.Array) -> pa.Array:
    """Spell missing as NaN where the column came with NaN and no null."""
    if column.format == "nan" and values.null_count and pa.types.is_floating(values.type):
        return pc.fill_null(values, float("nan"))
    return values


def missing_index(codec: Codec, codes: NDArray[np.integer[Any]]) -> NDArray[np.int16]:
    """Return which of a codec's missing codes each code stands for; -1 for none."""
    first = codec.n_values + codec.null
    return np.maximum(codes.astype(np.int64) - first, -1).astype(np.int16)


def missing_words(column: Column, codes: NDArray[np.integer[Any]]) -> pa.Array | None:
    """Return the spelled missing code of each entry (null for none), or None where the column has no spelled codes."""
    codec = column.codec
    if (
        not column.spelled
        or codec is None
        or not any(isinstance(code, str) for code in codec.missing)
    ):
        return None
    words = pa.array(
        [code if isinstance(code, str) else None for code in codec.missing], type=pa.string()
    )
    index = missing_index(codec, codes)
    return words.take(pa.array(np.maximum(index, 0), mask=index < 0))


def level_labels(column: Column) -> list[str]:
    """Return a readable name for each code of a column: words, numbers, ranges; dates and times as such."""
    codec = column.fitted_codec
    names = codec.names()
    kind = parse_type(column.type)
    moments = pa.types.is_date(kind) or pa.types.is_timestamp(kind) or pa.types.is_time(kind)
    if not isinstance(codec, Intervals) or not moments:
        return names
    low, high = codec.ranges()
    words = [
        from_numbers(ends, np.ones(len(ends), dtype=bool), kind).cast(pa.string()).to_pylist()
        for ends in (low, high)
    ]
    for code, (first, last) in enumerate(zip(*words, strict=True)):
        names[code] = first if first == last else f"{first} to {last}"
    return names


NUMBERS_A_ROW = 16
"""Numbers of a list for each row up to which it is worth making."""


def looked_up(column: Column, values: pa.Array) -> Codes1D | None:
    """Return the codes of a column's values in the narrowest type; None where some of them are not to be had by looking up."""
    codec = column.fitted_codec
    if isinstance(codec, Categories) and not is_numeric(values.type):
        codes: Codes1D | None = _of_words(codec, values)
    elif pa.types.is_integer(values.type):
        codes = _of_numbers(column, codec, values)
    else:
        return None
    if codes is None or (len(codes) and int(codes.max()) >= codec.size):
        return None
    return codes.astype(narrowest(codec.size), copy=False)


def word_codes(codec: Categories) -> dict[Any, int]:
    """Return the code of each level and of each missing code."""
    codes: dict[Any, int] = {level: code for code, level in enumerate(codec.levels)}
    if codec.other:
        codes.setdefault(
            OTHER, len(codec.levels)
        )  # a level of that name, as one that nothing else was found beside, is itself
    for i, code in enumerate(codec.missing):
        codes[code] = codec.n_values + codec.null + i
    return codes


def _null_code(codec: Codec, values: pa.Array) -> int:
    """The code of null; one too many where there is none."""
    if codec.null:
        return codec.n_values
    return codec.n_values - 1 if codec.other and not is_words(values.type) else codec.size


def _of_words(codec: Categories, values: pa.Array) -> Codes1D:
    if not pa.types.is_dictionary(values.type):
        values = values.dictionary_encode()
    lookup, words = word_codes(codec), values.dictionary.to_pylist()
    lookup[None] = null = _null_code(codec, values)
    outside = len(codec.levels) if codec.other else codec.size
    table = np.array(
        [*(lookup.get(word, outside) for word in words), null], dtype=narrowest(codec.size + 1)
    )
    indices = values.indices
    if indices.null_count:
        if len(words) > np.iinfo(indices.type.to_pandas_dtype()).max:
            indices = indices.cast(pa.int64())
        indices = indices.fill_null(len(words))
    codes: Codes1D = table[indices.to_numpy(zero_copy_only=False)]
    return codes


def _of_numbers(column: Column, codec: Codec, values: pa.Array) -> Codes1D | None:
    if isinstance(codec, Intervals) and not codec.whole:
        return None
    known = codec.number_list
    if not 0 < known.length <= NUMBERS_A_ROW * len(values):
        return None
    numbers, present = to_numbers(values)
    bounds = (codec.bounds if isinstance(codec, Intervals) else None) or (
        (column.edges[0], column.edges[-1]) if column.edges else None
    )
    if bounds is not None and not (numbers.min() >= bounds[0] and numbers.max() <= bounds[1]):
        return None
    if known.low:
        numbers = np.clip(
            numbers, known.low, known.low + known.length - 1
        )  # before the difference, which might be beyond 64 bits
        numbers -= known.low
    codes: Codes1D = np.take(known.codes, numbers, mode="clip")
    if values.null_count:
        codes[~present] = _null_code(codec, values)
    return codes
