"""The domain of a column: which values it can have, how they become codes 0 to size - 1, and how codes become values again.

Codes are ordered: values first, in their own order; then `(other)` if rare levels were pooled; then the
missing levels: null, then the declared missing codes. This order holds everywhere in the package.

A `ColumnDomain` is categorical (`Categories`: a code for each level) or numeric (`Intervals`: a code for each value of its own and for each bin). What a kind of column does
stands here: what callers need of it is a member of both, and where numbers lie on a line matters to them they ask `numeric`.

Most codes are looked up: words by their place in a dictionary, whole numbers that lie close together by a list of the code of each (`NumberList`). What cannot be looked up (a value
outside the levels, a number beyond its bounds, fractions, numbers far apart) takes the longer way, which knows what to say of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from .._base.errors import SchemaError
from .._base.results import from_plain, plain_form, to_plain
from .codes import narrowest
from .drawing import BinLayout, ClassShares, DigitPreference, draw_numbers, move_to_classes
from .types import (
    from_numbers,
    is_numeric,
    is_whole,
    is_words,
    parse_type,
    to_numbers,
    type_family,
    value_type,
    whole_array,
)

if TYPE_CHECKING:
    from .schema import Column

Scalar = str | int | float | bool
Codes1D = NDArray[np.unsignedinteger[Any]]
Tokens = NDArray[np.int16] | None
Ranges = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]
OTHER = "(other)"
NULL = "(missing)"

MOST_LISTED = 1 << 21
"""Numbers from the lowest to the highest that a list may have: a byte or two each, which stay in the processor's memory."""

NUMBERS_A_ROW = 16
"""Numbers of a list for each row up to which it is worth making."""


class _Domain:
    """What the kinds of domain share: the codes beside those of values, and what follows from them."""

    form: ClassVar[str]
    levels: tuple[Scalar, ...]
    other: bool
    null: bool
    missing: tuple[Scalar, ...]

    @property
    def n_values(self) -> int:
        """The number of codes that stand for values, `(other)` among them."""
        raise NotImplementedError

    @property
    def size(self) -> int:
        """The number of codes."""
        return self.missing_start + len(self.missing)

    @property
    def missing_start(self) -> int:
        """The code of the first declared missing code; the others follow it."""
        return self.n_values + self.null

    @property
    def missing_numbers(self) -> list[tuple[int, int | float]]:
        """The codes of declared missing codes that are numbers, each with its number."""
        return [
            (self.missing_start + i, number)
            for i, number in enumerate(self.missing)
            if isinstance(number, int | float) and not isinstance(number, bool)
        ]

    def null_code(self, kind: pa.DataType) -> int:
        """Return the code of null among values of a type: that of `(other)` where this is no value of the type and is written as null. One too many where there is none."""
        if self.null:
            return self.n_values
        return self.n_values - 1 if self.other and not is_words(kind) else self.size

    def missing_index(self, codes: NDArray[np.integer]) -> NDArray[np.int16]:
        """Return which of the declared missing codes each code stands for; -1 for none."""
        return np.maximum(codes.astype(np.int64) - self.missing_start, -1).astype(np.int16)

    def is_other(self, codes: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Return which codes are that of pooled levels."""
        return np.asarray(codes == self.n_values - 1 if self.other else np.zeros(len(codes), bool))

    def remap(self, codes: NDArray[Any], new: _Domain) -> NDArray[Any]:
        """Return codes as those of a domain that differs in `(other)` and null alone."""
        if self.size == new.size:
            return codes
        codes_by_meaning = new._places()
        table = [codes_by_meaning.get(meaning, 0) for meaning in self._places()]
        return np.array(table, dtype=narrowest(new.size))[codes]

    def _places(self) -> dict[object, int]:
        """The code of each value (by number), of (other), of null and of each missing code (by number)."""
        meanings = [
            *range(self.n_values - self.other),
            *["other"] * self.other,
            *["null"] * self.null,
            *(("missing", i) for i in range(len(self.missing))),
        ]
        return {meaning: code for code, meaning in enumerate(meanings)}

    def names(self, kind: pa.DataType | None = None) -> list[str]:
        """Return a readable name for each code: words, numbers, ranges; those of dates and times as such where the type is given."""
        missing = (f"(missing {code})" for code in self.missing)
        return [*self.value_names(kind), *[NULL] * self.null, *missing]

    def value_names(self, kind: pa.DataType | None = None) -> list[str]:
        """Return a readable name for each value code."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that `domain_from_dict` reads."""
        return {"form": self.form, **to_plain(self)}

    @cached_property
    def number_list(self) -> NumberList:
        """The codes of whole numbers, to be looked up."""
        return NumberList.for_domain(self)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Categories(_Domain):
    """The domain of a categorical column: a code for each level, in code order; `other` says whether one for pooled levels follows them."""

    form: ClassVar[str] = "categories"
    numeric: ClassVar[Literal[False]] = False
    integral: ClassVar[bool] = False
    levels: tuple[Scalar, ...]
    other: bool = False
    null: bool = False
    missing: tuple[Scalar, ...] = ()

    @property
    def n_values(self) -> int:
        """The number of codes that stand for values, `(other)` among them."""
        return len(self.levels) + self.other

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Return the domain of plain data; InputError for what is of the wrong type."""
        return from_plain(cls, data, what="a column's codes")

    @property
    def bin_codes(self) -> NDArray[np.int64]:
        """The codes that stand for several numbers: none."""
        return np.zeros(0, dtype=np.int64)

    def widened(self, kind: pa.DataType, *, fractions: bool) -> Self:
        """Return the domain with codes for missing values and for levels outside its own. `fractions` are nothing to levels."""
        # Where (other) is no value of the type, it is written as null: a null there says nothing new.
        written_as_null = self.other and not is_words(kind)
        return replace(self, other=True, null=self.null or not written_as_null)

    def narrowed(self, narrow: ColumnDomain, used: NDArray[np.bool_]) -> ColumnDomain:
        """Return the domain without the codes that it has more than a narrow one and that are not used; the narrow one itself where none is left."""
        other = narrow.other or bool(used[len(self.levels)])
        null = narrow.null or bool(self.null and used[self.n_values])
        final = replace(self, other=other, null=null)
        return narrow if final.size == narrow.size else final

    def number_ranges(self) -> Ranges:
        """Return the lowest and the highest number of each value code, and which of them stand for numbers."""
        low, is_number = np.zeros(self.n_values), np.zeros(self.n_values, dtype=bool)
        for code, level in enumerate(self.levels):
            if not isinstance(level, str):
                low[code], is_number[code] = float(level), True
        return low, low.copy(), is_number

    def codes_of_numbers(
        self, numbers: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the code of each number or one near it, and which of the numbers the domain has."""
        if not self.levels:
            return np.zeros(len(numbers), dtype=np.int64), np.zeros(len(numbers), dtype=bool)
        levels = np.array(
            [np.nan if isinstance(level, str) else level for level in self.levels], dtype=np.float64
        )
        order = np.argsort(levels, kind="stable")
        near = order[np.minimum(np.searchsorted(levels[order], numbers), len(levels) - 1)]
        return near, levels[near] == numbers

    def word_codes(self) -> dict[Any, int]:
        """Return the code of each level and of each missing code."""
        codes: dict[Any, int] = {level: code for code, level in enumerate(self.levels)}
        if self.other:
            codes.setdefault(
                OTHER, len(self.levels)
            )  # a level of that name, as one that nothing else was found beside, is itself
        return codes | {code: self.missing_start + i for i, code in enumerate(self.missing)}

    def encode_values(self, column: Column, values: pa.Array) -> NDArray[np.integer[Any]]:
        """Return the codes of values; one too many for nulls that have none."""
        if is_numeric(values.type):
            return _encode_numbers(self, column, values, None)
        if not pa.types.is_dictionary(values.type):
            values = values.dictionary_encode()
        distinct, indices = values.dictionary.to_pylist(), values.indices
        null, outside = self.null_code(values.type), self.size + 1
        codes = {**self.word_codes(), None: null}
        unknown = len(self.levels) if self.other else outside
        table = [*(codes.get(word, unknown) for word in distinct), null]
        if indices.null_count:
            if len(distinct) > np.iinfo(indices.type.to_pandas_dtype()).max:
                indices = indices.cast(pa.int64())
            indices = indices.fill_null(len(distinct))
        out = np.array(table, dtype=narrowest(outside + 1))[indices.to_numpy(zero_copy_only=False)]
        if len(out) and out.max() == outside:
            raise _outside(column)
        return out

    def encode_numbers(self, column: Column, numbers: NDArray[Any]) -> NDArray[np.int64]:
        """Return the codes of numbers that are levels."""
        if not self.n_values and self.null:
            return np.full(
                len(numbers), self.n_values, dtype=np.int64
            )  # too few numbers to keep: made missing
        codes, known = self.codes_of_numbers(numbers.astype(np.float64))
        codes = np.where(known, codes, len(self.levels) if self.other else -1)
        if (codes < 0).any():
            raise _outside(column)
        return codes

    def decode_values(
        self, column: Column, codes: NDArray[np.int64], rng: np.random.Generator
    ) -> pa.Array:
        """Return values of the column's type for codes; `(other)` and missing codes that are none of its values as null."""
        kind = parse_type(column.type)
        inner = value_type(kind)
        values = [*self.levels, *[OTHER] * self.other, *[None] * self.null, *self.missing]
        shown = [
            value
            if _fits(value, inner)
            and not (column.spelled and code >= self.n_values and isinstance(value, str))
            else None
            for code, value in enumerate(values)
        ] or [None]
        if pa.types.is_dictionary(kind):
            fitting = [code for code, value in enumerate(shown) if value is not None]
            position = np.full(len(shown) + 1, -1, dtype=np.int64)
            position[fitting] = np.arange(len(fitting))
            indices = position[codes]
            dictionary = _array([shown[code] for code in fitting], inner)
            index_type = (
                kind.index_type
                if len(fitting) <= np.iinfo(str(kind.index_type)).max
                else pa.int32()
            )
            positions = pa.array(np.maximum(indices, 0), mask=indices < 0).cast(index_type)
            return pa.DictionaryArray.from_arrays(positions, dictionary, ordered=kind.ordered)
        if is_words(inner):
            return pa.array(shown, type=pa.string()).take(pa.array(codes)).cast(inner)
        return _as_nan(column, _array(shown, inner).take(pa.array(codes)))

    def value_names(self, kind: pa.DataType | None = None) -> list[str]:
        """Return a readable name for each value code."""
        return [*map(str, self.levels), *[OTHER] * self.other]


@dataclass(frozen=True, eq=False)
class Intervals(_Domain):
    """The domain of a numeric column: values of their own ("atoms") and bins, in order of value.

    A bin is the closed interval from its start to just below the start of the next, less the atoms in it.
    Values before the first start or after the last fall in the first and the last bin. Where there are
    no bins, a value takes the code of the nearest atom.

    Parameters
    ----------
    atoms
        Sorted values with a code of their own.
    starts
        Sorted starts of the bins.
    knots
        For each bin its quantile function: a row of ranks from 0 to 1 and a row of values, straight between
        them: what is drawn inside the bin. Where it is level, ten records or more share the value; every other inner knot averages at least ten
        records, or is one of the expected values in their place.
    atom_codes, bin_codes
        The code of each atom and of each bin.
    whole
        Whether values are whole numbers of `step` units (int64), or floats with `decimals` (None: any).
    grains
        How common last digits are, minutes, or weekdays: numbers drawn smoothly are moved to them.
    """

    form: ClassVar[str] = "intervals"
    numeric: ClassVar[Literal[True]] = True
    levels: ClassVar[tuple[Scalar, ...]] = ()  # type: ignore[misc]
    other: ClassVar[bool] = False  # type: ignore[misc]
    atoms: NDArray[Any]
    starts: NDArray[Any]
    knots: tuple[NDArray[np.float64], ...]
    atom_codes: NDArray[np.int64]
    bin_codes: NDArray[np.int64]
    integral: bool = field(metadata=plain_form(key="whole"))
    step: int = 1
    decimals: int | None = None
    null: bool = False
    missing: tuple[Scalar, ...] = ()
    bounds: tuple[float, float] | None = None
    grains: tuple[DigitPreference, ...] = ()

    def __post_init__(self) -> None:
        n, k = len(self.atoms), len(self.starts)
        codes = np.concatenate([self.atom_codes, self.bin_codes])
        sound = (
            len(self.atom_codes) == n
            and len(self.bin_codes) == len(self.knots) == k
            and np.array_equal(np.sort(codes), np.arange(n + k))
            and bool(np.all(np.diff(self.atoms) > 0))
            and bool(np.all(np.diff(self.starts) > 0))
            and _are_quantile_functions(self.knots)
        )
        if not sound:
            raise SchemaError(
                "The bins of a numeric column do not fit together. The file that holds them is damaged."
            )

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Return the domain of plain data; what is of the wrong type is an error of Python's."""
        integral, bounds = _of_type(data["whole"], bool), data["bounds"]
        kind: Any = np.int64 if integral else np.float64
        return cls(
            np.array(data["atoms"], dtype=kind),
            np.array(data["starts"], dtype=kind),
            tuple(np.array(knot, dtype=np.float64) for knot in data["knots"]),
            np.array(data["atom_codes"], dtype=np.int64),
            np.array(data["bin_codes"], dtype=np.int64),
            integral,
            int(data["step"]),
            None if data["decimals"] is None else int(data["decimals"]),
            _of_type(data["null"], bool),
            tuple(_of_type(code, Scalar) for code in data["missing"]),
            None if bounds is None else (float(bounds[0]), float(bounds[1])),
            tuple(
                DigitPreference(
                    int(grain["width"]),
                    *(np.array(grain[key], dtype=np.float64) for key in ("shares", "smooth")),
                )
                for grain in data.get("grains", ())
            ),
        )

    @property
    def n_values(self) -> int:
        """The number of codes that stand for values."""
        return len(self.atoms) + len(self.starts)

    def limits(self, column: Column) -> tuple[float, float] | None:
        """Return the range that numbers of a column with this domain were declared to have; None for any."""
        return self.bounds or ((column.edges[0], column.edges[-1]) if column.edges else None)

    def widened(self, kind: pa.DataType, *, fractions: bool) -> Self:
        """Return the domain with a code for missing values, and no bounds; whole numbers stay so without `fractions`."""
        return replace(self, null=True, bounds=None, integral=self.integral and not fractions)

    def narrowed(self, narrow: ColumnDomain, used: NDArray[np.bool_]) -> ColumnDomain:
        """Return the domain without a code for missing values that a narrow one has not and that is not used."""
        return replace(self, null=narrow.null or bool(self.null and used[self.n_values]))

    def encode(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """Return the codes of numbers (none missing)."""
        if not len(self.starts):
            if not len(self.atoms):
                return np.zeros(len(values), dtype=np.int64)
            middles = (self.atoms[:-1].astype(np.float64) + self.atoms[1:]) / 2
            return self.atom_codes[np.searchsorted(middles, values, side="right")]
        lo, span = self._table_span
        if span and len(values) > span:
            inside = np.clip(values, lo, lo + span - 1)
            inside -= lo
            return self._table[inside]
        return self._search(values)

    def decode(self, codes: NDArray[np.integer], rng: np.random.Generator) -> NDArray[Any]:
        """Return a number for each value code: the atom itself, or a draw from the bin's sketch."""
        layout = self._layout
        out = np.zeros(len(codes), dtype=self.atoms.dtype)
        draw_numbers(out, codes, rng.random(len(codes)), layout)
        if self.grains:
            level = np.concatenate([knot[1, 1:][np.diff(knot[1]) == 0] for knot in self.knots])
            fixed = np.unique(np.concatenate([level, layout.avoid.astype(np.float64)]))
        for grain in self.grains:
            stay = np.minimum(grain.shares / grain.smooth, 1.0)
            missing = np.maximum(grain.shares - grain.smooth, 0.0)
            taken = np.cumsum(missing) / max(float(missing.sum()), 1e-300)
            classes = ClassShares(grain.width, stay, taken, grain.shares / grain.smooth)
            uniform = rng.random(len(codes))
            move_to_classes(out, codes, uniform, layout, fixed.astype(out.dtype), classes)
        return out

    def ranges(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the lowest and the highest number of each value code; the same one for an atom."""
        is_atom, index = self._layout.is_atom, self._layout.position
        low = np.zeros(self.n_values, dtype=self.atoms.dtype)
        high = low.copy()
        low[is_atom] = high[is_atom] = self.atoms[index[is_atom]]
        low[~is_atom] = self._layout.first[index[~is_atom]]
        high[~is_atom] = self._layout.last[index[~is_atom]]
        return low, high

    def number_ranges(self) -> Ranges:
        """Return the lowest and the highest number of each value code, and which of them stand for numbers: all."""
        low, high = self.ranges()
        return low.astype(np.float64), high.astype(np.float64), np.ones(self.n_values, dtype=bool)

    def codes_of_numbers(
        self, numbers: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the code of each number or one near it, and which of the numbers may be drawn."""
        low, high = self.ranges()
        if not len(low):
            return self.encode(np.zeros(len(numbers))), np.zeros(len(numbers), dtype=bool)
        fits = (numbers >= low.min()) & (numbers <= high.max())
        inside = np.clip(numbers, low.min(), high.max())
        return self.encode(np.rint(inside).astype(np.int64) if self.integral else inside), fits

    def encode_values(self, column: Column, values: pa.Array) -> NDArray[np.integer[Any]]:
        """Return the codes of values; one too many for nulls that have none."""
        return _encode_numbers(self, column, values, self.limits(column))

    def encode_numbers(self, column: Column, numbers: NDArray[Any]) -> NDArray[np.int64]:
        """Return the codes of numbers of a column, inside its bounds or as it says."""
        domain = self
        if self.integral and numbers.dtype == np.float64:
            if (np.rint(numbers) == numbers).all():
                numbers = numbers.astype(np.int64)
            elif is_whole(value_type(parse_type(column.type))):
                raise SchemaError(
                    f"Column '{column.name}' is {column.kind}, but holds fractions. Declare kind = \"float\"."
                )
            else:  # Stored as floats, and whole throughout where it was fitted: a fraction lies in the bin around it, and is no atom.
                domain = replace(self, integral=False)
        return domain.encode(domain._in_range(column, numbers))

    def _in_range(self, column: Column, numbers: NDArray[Any]) -> NDArray[Any]:
        limits = self.limits(column)
        if limits is None or (numbers.min() >= limits[0] and numbers.max() <= limits[1]):
            return numbers
        if column.out_of_range == "error":
            raise SchemaError(
                f"Column '{column.name}' has values outside its bins, {limits[0]:g} to {limits[1]:g}. Widen the bins, or set "
                'out_of_range = "clip".'
            )
        low, high = (int(limit) if self.integral else limit for limit in limits)
        return np.clip(numbers, low, high)

    def decode_values(
        self, column: Column, codes: NDArray[np.int64], rng: np.random.Generator
    ) -> pa.Array:
        """Return values of the column's type for codes; missing codes that are none of its values as null."""
        kind = parse_type(column.type)
        present = codes < self.n_values
        numbers = np.zeros(len(codes), dtype=np.int64 if self.integral else np.float64)
        if present.any():
            numbers[present] = self.decode(codes[present], rng)
        if kind in (pa.float32(), pa.float16()) and not self.integral:
            self._narrow(numbers, codes, present, kind)
        for i, code in enumerate(self.missing):
            if not isinstance(code, str):
                hit = codes == self.missing_start + i
                numbers[hit] = code
                present = present | hit
        return _as_nan(column, from_numbers(numbers, present, kind))

    def _narrow(
        self,
        numbers: NDArray[Any],
        codes: NDArray[np.int64],
        present: NDArray[np.bool_],
        kind: pa.DataType,
    ) -> None:
        """Round to a narrower float in place, a step down where rounding up would leave the bin."""
        dtype: Any = np.float16 if pa.types.is_float16(kind) else np.float32
        narrow = numbers.astype(dtype)
        out = present.copy()
        out[present] = self.encode(narrow[present].astype(np.float64)) != codes[present]
        narrow[out] = np.nextafter(narrow[out], dtype(-np.inf))
        numbers[:] = narrow

    def value_names(self, kind: pa.DataType | None = None) -> list[str]:
        """Return a readable name for each value code: numbers and ranges, those of dates and times as such."""
        spell = str if self.integral else "{:g}".format
        ends = [[spell(number) for number in numbers] for numbers in self.ranges()]
        if kind is not None and type_family(kind) in ("moment", "time"):
            present = np.ones(self.n_values, dtype=bool)
            moments = [from_numbers(numbers, present, kind) for numbers in self.ranges()]
            ends = [array.cast(pa.string()).to_pylist() for array in moments]
        pairs = zip(*ends, strict=True)
        return [first if first == last else f"{first} to {last}" for first, last in pairs]

    def _search(self, values: NDArray[Any]) -> NDArray[np.int64]:
        which = np.searchsorted(self.starts[1:], values, side="right")
        codes = self.bin_codes[which]
        if len(self.atoms):
            near = np.minimum(np.searchsorted(self.atoms, values), len(self.atoms) - 1)
            hit = self.atoms[near] == values
            codes[hit] = self.atom_codes[near[hit]]
        return codes

    @cached_property
    def _table_span(self) -> tuple[int, int]:
        """The lowest number and the length of a look-up table over all cuts, or length 0 where it would be long."""
        if not self.integral:
            return 0, 0
        cuts = np.concatenate([self.atoms, self.starts])
        lo, hi = int(cuts.min()) - 1, int(cuts.max()) + 1
        return (lo, hi - lo + 1) if hi - lo < 1 << 16 else (0, 0)

    @cached_property
    def _table(self) -> NDArray[np.int64]:
        lo, span = self._table_span
        return self._search(np.arange(lo, lo + span, dtype=np.int64))

    @cached_property
    def _layout(self) -> BinLayout:
        is_atom = np.zeros(self.n_values, dtype=bool)
        index = np.zeros(self.n_values, dtype=np.int64)
        is_atom[self.atom_codes] = True
        index[self.atom_codes] = np.arange(len(self.atoms))
        index[self.bin_codes] = np.arange(len(self.starts))
        ranks, values = np.concatenate([np.empty((2, 0)), *self.knots], axis=1)
        offsets = np.cumsum([0, *(knot.shape[1] for knot in self.knots)])
        first, last = (
            np.array([self._on_grid(*self._ends(b)) for b in range(len(self.starts))])
            .reshape(-1, 2)
            .T
        )
        codes = [
            c
            for c in self.missing
            if not isinstance(c, str | bool) and (c == int(c) or not self.integral)
        ]
        avoid = np.unique(np.concatenate([self.atoms, np.array(codes, dtype=self.atoms.dtype)]))
        return BinLayout(
            is_atom,
            index,
            self.atoms,
            ranks,
            values,
            offsets,
            first.copy(),
            last.copy(),
            avoid,
            self.step if self.integral else 0,
            0.0 if self.integral or self.decimals is None else 10.0**self.decimals,
        )

    def _on_grid(self, low: float, high: float) -> tuple[float, float]:
        """The lowest and the highest number of a bin that is a whole multiple of the step, where there is one."""
        if not self.integral:
            return low, high
        first, last = (
            -(-int(np.ceil(low)) // self.step) * self.step,
            int(np.floor(high)) // self.step * self.step,
        )
        return (first, last) if first <= last else (np.ceil(low), np.floor(high))

    def _ends(self, b: int) -> tuple[float, float]:
        """The lowest and the highest number that may be drawn for a bin; both encode to it."""
        low = float(self.starts[b]) if b else min(float(self.knots[b][1, 0]), float(self.starts[b]))
        if b + 1 == len(self.starts):
            return low, max(float(self.knots[b][1, -1]), low)
        above = self.starts[b + 1]
        if self.integral:
            return low, float(above - self.step)
        if self.decimals is not None:
            return low, float(np.round(above - 10.0**-self.decimals, self.decimals))
        return low, float(np.nextafter(above, -np.inf))


ColumnDomain = Categories | Intervals
"""The domain of a column. Its `numeric` tells which of the two it is."""


def encode_column(column: Column, values: pa.Array, tokens: Tokens = None) -> Codes1D:
    """Return the codes of a column's values.

    `tokens` tells which missing code a text file spelled where the value is null (-1: an empty cell).
    """
    domain = column.fitted_codec
    codes = domain.encode_values(column, whole_array(values))
    if tokens is not None and (tokens >= 0).any():
        codes = np.where(tokens >= 0, domain.missing_start + tokens.astype(np.int64), codes)
    if len(codes) and codes.max() >= domain.size:
        raise SchemaError(
            f"Column '{column.name}' has missing values, but its schema does not allow them. Add nullable = true."
        )
    return codes.astype(narrowest(domain.size), copy=False)


def decode_column(
    column: Column, codes: NDArray[np.integer[Any]], rng: np.random.Generator
) -> pa.Array:
    """Return values of the column's own type for codes.

    Missing levels come out as null, or as their code where that is a value of the type. `missing_words` has the
    spelling that a text file needs. Where `(other)` is no value of the type it comes out as null.
    """
    return column.fitted_codec.decode_values(column, codes.astype(np.int64), rng)


def level_labels(column: Column) -> list[str]:
    """Return a readable name for each code of a column: words, numbers, ranges; dates and times as such."""
    return column.fitted_codec.names(parse_type(column.type))


def missing_words(column: Column, codes: NDArray[np.integer[Any]]) -> pa.Array | None:
    """Return the spelled missing code of each entry (null for none), or None where the column has no spelled codes."""
    domain = column.codec
    if (
        not column.spelled
        or domain is None
        or not any(isinstance(code, str) for code in domain.missing)
    ):
        return None
    texts = pa.array(
        [code if isinstance(code, str) else None for code in domain.missing], type=pa.string()
    )
    index = domain.missing_index(codes)
    return texts.take(pa.array(np.maximum(index, 0), mask=index < 0))


def _encode_numbers(
    domain: ColumnDomain,
    column: Column,
    values: pa.Array,
    limits: tuple[float, float] | None,
) -> NDArray[np.integer[Any]]:
    """Return the codes of numbers, dates and times; one too many for nulls that have none."""
    numbers, present = to_numbers(values)
    null = domain.null_code(values.type)
    if pa.types.is_integer(values.type):
        quick = domain.number_list.look_up(numbers, limits)
        if quick is not None and values.null_count:
            quick[~present] = null
        if quick is not None and quick.max() < domain.size:
            return quick
    if numbers.dtype == np.float64:
        present = present & ~np.isnan(numbers)
    out, remaining = np.full(len(numbers), null, dtype=np.int64), present.copy()
    for code, number in domain.missing_numbers:
        hit = (numbers == number) & present
        out[hit] = code
        remaining &= ~hit
    if remaining.any():
        out[remaining] = domain.encode_numbers(column, numbers[remaining])
    return out


def _outside(column: Column) -> SchemaError:
    kind = parse_type(column.type)
    measure = ', or declare kind = "float" if it is no code' if pa.types.is_floating(kind) else ""
    return SchemaError(
        f"Column '{column.name}' has values outside its levels. Add them to levels, list them in missing, or set other = "
        f"true{measure}."
    )


def _array(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Return levels as an Arrow array of a type; None becomes null."""
    if is_numeric(kind):
        numbers = np.array(
            [0 if value is None else value for value in values], dtype=None if values else np.int64
        )
        return from_numbers(
            numbers, np.array([value is not None for value in values], dtype=bool), kind
        )
    return (
        pa.array(values, type=pa.string()).cast(kind)
        if is_words(kind)
        else pa.array(values, type=kind)
    )


def _fits(value: Any, kind: pa.DataType) -> bool:
    """Whether a level can be written as a value of the column's type."""
    if value is None or pa.types.is_null(kind):
        return False
    if is_words(kind):
        return isinstance(value, str)
    if pa.types.is_boolean(kind):
        return isinstance(value, bool)
    return not isinstance(value, str | bool)


def _as_nan(column: Column, values: pa.Array) -> pa.Array:
    """Spell missing as NaN where the column came with NaN and no null."""
    if column.format == "nan" and values.null_count and pa.types.is_floating(values.type):
        return pc.fill_null(values, float("nan"))
    return values


@dataclass(frozen=True, eq=False)
class NumberList:
    """The codes of all whole numbers from `low` on, made when they are first asked for; `length` 0 where they would be too many.

    It ends on each side with a number that has no code of its own, so that all beyond have the same; a code one too many stands for none.
    """

    domain: ColumnDomain
    low: int
    length: int

    @classmethod
    def for_domain(cls, domain: ColumnDomain) -> NumberList:
        """Return the list for a domain of whole numbers."""
        ends = [number for number, _ in _numbers((*domain.missing, *domain.levels))]
        if domain.numeric and not domain.integral:
            return cls(domain, 0, 0)
        if domain.numeric:
            cuts = [cut for cut in (domain.atoms, domain.starts) if len(cut)]
            ends += [int(end) for cut in cuts for end in (cut[0], cut[-1])]
        if (
            not ends or max(map(abs, ends)) >= 1 << 52
        ):  # beyond, numbers are not distinguished as floats
            return cls(domain, 0, 0)
        low, high = min(ends) - 1, max(ends) + 1
        low = 0 if low > 0 and high < MOST_LISTED else low  # then the numbers are their own places
        return cls(domain, low, high - low + 1 if high - low < MOST_LISTED else 0)

    def look_up(
        self, numbers: NDArray[np.int64], limits: tuple[float, float] | None
    ) -> Codes1D | None:
        """Return the codes of whole numbers, one too many for those that have none; None where the list is too long for them, or some lie beyond limits."""
        if not 0 < self.length <= NUMBERS_A_ROW * len(numbers):
            return None
        if limits is not None and not (numbers.min() >= limits[0] and numbers.max() <= limits[1]):
            return None
        if self.low:
            numbers = np.clip(
                numbers, self.low, self.low + self.length - 1
            )  # before the difference, which might be beyond 64 bits
            numbers -= self.low
        codes: Codes1D = np.take(self.codes, numbers, mode="clip")
        return codes

    @cached_property
    def codes(self) -> Codes1D:
        """The code of each number."""
        domain = self.domain
        if domain.numeric:
            codes = domain.encode(np.arange(self.low, self.low + self.length, dtype=np.int64))
        else:
            codes = np.full(
                self.length, len(domain.levels) if domain.other else domain.size, dtype=np.int64
            )
            for number, code in reversed(_numbers(domain.levels)):
                codes[number - self.low] = code
            if not domain.n_values and domain.null:
                codes[:] = domain.n_values  # too few numbers to keep: made missing
        for number, i in _numbers(domain.missing):
            codes[number - self.low] = domain.missing_start + i
        out: Codes1D = codes.astype(narrowest(domain.size + 1))
        out.flags.writeable = False
        return out


def _numbers(values: Sequence[Scalar]) -> list[tuple[int, int]]:
    """The whole numbers among levels or missing codes, with their places."""
    numbers = (
        (x, i)
        for i, x in enumerate(values)
        if isinstance(x, int | float) and not isinstance(x, bool)
    )
    return [(int(x), i) for x, i in numbers if np.isfinite(x) and x == int(x)]


def codes_by_value(
    atoms: NDArray[Any], knots: Sequence[NDArray[np.float64]]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the codes of atoms and of bins in order of value, that of a bin being its median."""
    medians = [float(np.interp(0.5, *knot)) for knot in knots]
    middles = np.concatenate([atoms.astype(np.float64), medians])
    codes = np.empty(len(middles), dtype=np.int64)
    codes[np.argsort(middles, kind="stable")] = np.arange(len(middles))
    return codes[: len(atoms)], codes[len(atoms) :]


def same_codes(domain: ColumnDomain | None, other: ColumnDomain | None) -> bool:
    """Return whether codes of one domain mean the same as those of another."""
    return domain is other or (
        domain is not None
        and other is not None
        and domain.size == other.size
        and domain.to_dict() == other.to_dict()
    )


def _are_quantile_functions(knots: tuple[NDArray[np.float64], ...]) -> bool:
    """Whether each has finite ranks from 0 to 1 and values, of which none falls: where two ranks are the same the values leap. All are looked at together: bins are many and short."""
    if any(knot.ndim != 2 or knot.shape[0] != 2 or knot.shape[1] < 2 for knot in knots):
        return False
    if not knots:
        return True
    ranks, values = joined = np.concatenate(knots, axis=1)
    ends = np.cumsum([knot.shape[1] for knot in knots])
    inner = np.ones(len(ranks) - 1, dtype=bool)
    inner[ends[:-1] - 1] = False  # from the last of one to the first of the next
    return bool(
        np.isfinite(joined).all()
        and (ranks[ends - 1] == 1).all()
        and (ranks[np.append(0, ends[:-1])] == 0).all()
        and (np.diff(ranks)[inner] >= 0).all()
        and (np.diff(values)[inner] >= 0).all()
    )


def domain_from_dict(data: Any) -> ColumnDomain:
    """Return the domain that `to_dict` described; anything else is a SchemaError, and nothing is executed."""
    kinds: dict[str, type[ColumnDomain]] = {kind.form: kind for kind in get_args(ColumnDomain)}
    try:
        if data["form"] in kinds:
            return kinds[data["form"]].from_dict(data)
    except (KeyError, TypeError, ValueError, OverflowError, IndexError) as error:
        if isinstance(error, SchemaError):
            raise
        raise SchemaError(
            "The description of a column's codes is incomplete or of the wrong type."
        ) from None
    raise SchemaError(f"A column's codes are of no known form. Forms: {', '.join(kinds)}.")


def _of_type(value: Any, kind: Any) -> Any:
    if not isinstance(value, kind):
        raise TypeError
    return value
