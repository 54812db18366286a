"""Codecs: how the values of one column become codes 0 to size - 1, and how codes become values again.

Codes are ordered: values first, in their own order; then `(other)` if rare levels were pooled; then the
missing levels: null, then the declared missing codes. This order holds everywhere in the package.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._base.compiled import compiled
from .._base.errors import SchemaError
from .._base.results import to_plain
from .codes import narrowest

Scalar = str | int | float | bool
OTHER = "(other)"
NULL = "(missing)"

MOST_LISTED = 1 << 21
"""Numbers from the lowest to the highest that a list may have: a byte or two each, which stay in the processor's memory."""


@dataclass(frozen=True)
class Categories:
    """Codes of a categorical column: one for each level, in code order; `other` says whether one for pooled levels follows them."""

    form: ClassVar[str] = "categories"
    levels: tuple[Scalar, ...]
    other: bool = False
    null: bool = False
    missing: tuple[Scalar, ...] = ()

    @property
    def n_values(self) -> int:
        """The number of codes that stand for values, `(other)` among them."""
        return len(self.levels) + self.other

    @property
    def size(self) -> int:
        """The number of codes."""
        return self.n_values + self.null + len(self.missing)

    @cached_property
    def number_list(self) -> NumberList:
        """The codes of whole numbers, to be looked up."""
        return NumberList.of(self)

    def names(self) -> list[str]:
        """Return a readable name for each code."""
        return [*map(str, self.levels), *[OTHER] * self.other, *_missing_names(self)]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that `codec_from_dict` reads."""
        return {"form": self.form, **to_plain(self)}


@dataclass(frozen=True, eq=False)
class Grain:
    """How common the classes are that numbers of a column fall into in turn: last digits, minutes, weekdays.

    `width`: how many units of the column are in one class; `shares`: the share of each class, from that of the number 0 on; `smooth`: the shares that drawn numbers have without a grain.
    """

    width: int
    shares: NDArray[np.float64]
    smooth: NDArray[np.float64]

    def __post_init__(self) -> None:
        sound = (
            self.width >= 1
            and 2 <= len(self.shares) == len(self.smooth)
            and all(
                bool(np.isfinite(some).all() and (some >= 0).all() and abs(some.sum() - 1) < 1e-3)
                for some in (self.shares, self.smooth)
            )
            and bool((self.smooth > 0).all())
        )
        if not sound:
            raise SchemaError(
                "The last digits of a numeric column do not fit together. The file that holds them is damaged."
            )


@dataclass(frozen=True, eq=False)
class Intervals:
    """Codes of a numeric column: values of their own ("atoms") and bins, in order of value.

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
    atoms: NDArray[Any]
    starts: NDArray[Any]
    knots: tuple[NDArray[np.float64], ...]
    atom_codes: NDArray[np.int64]
    bin_codes: NDArray[np.int64]
    whole: bool
    step: int = 1
    decimals: int | None = None
    null: bool = False
    missing: tuple[Scalar, ...] = ()
    bounds: tuple[float, float] | None = None
    grains: tuple[Grain, ...] = ()

    other: ClassVar[bool] = False

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

    @property
    def n_values(self) -> int:
        """The number of codes that stand for values."""
        return len(self.atoms) + len(self.starts)

    @property
    def size(self) -> int:
        """The number of codes."""
        return self.n_values + self.null + len(self.missing)

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

        out = np.zeros(len(codes), dtype=self.atoms.dtype)
        scale = 0.0 if self.whole or self.decimals is None else 10.0**self.decimals
        step = float(self.step) if self.whole else 0.0
        draw_numbers(out, codes, rng.random(len(codes)), *self._layout, step, scale)
        if self.grains:
            is_atom, index, _, _, _, _, first, last, avoid = self._layout
            level = np.concatenate([knot[1, 1:][np.diff(knot[1]) == 0] for knot in self.knots])
            fixed = np.unique(np.concatenate([level, avoid.astype(np.float64)])).astype(out.dtype)
            for grain in self.grains:
                stay = np.minimum(grain.shares / grain.smooth, 1.0)
                missing = np.maximum(grain.shares - grain.smooth, 0.0)
                taken = np.cumsum(missing) / max(float(missing.sum()), 1e-300)
                wanted = grain.shares / grain.smooth
                move_to_classes(
                    out,
                    codes,
                    rng.random(len(codes)),
                    is_atom,
                    index,
                    first,
                    last,
                    fixed,
                    grain.width,
                    stay,
                    taken,
                    wanted,
                    self.step,
                    scale,
                )
        return out

    @cached_property
    def number_list(self) -> NumberList:
        """The codes of whole numbers, to be looked up."""
        return NumberList.of(self)

    def names(self) -> list[str]:
        """Return a readable name for each code."""
        low, high = self.ranges()
        ends = [
            (f"{a:g}", f"{b:g}") if not self.whole else (str(a), str(b))
            for a, b in zip(low, high, strict=True)
        ]
        names = [first if first == last else f"{first} to {last}" for first, last in ends]
        return [*names, *_missing_names(self)]

    def ranges(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the lowest and the highest number of each value code; the same one for an atom."""
        is_atom, index, atoms, _, _, _, first, last, _ = self._layout
        low, high = (
            np.zeros(self.n_values, dtype=atoms.dtype),
            np.zeros(self.n_values, dtype=atoms.dtype),
        )
        low[is_atom] = high[is_atom] = atoms[index[is_atom]]
        low[~is_atom], high[~is_atom] = first[index[~is_atom]], last[index[~is_atom]]
        return low, high

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that `codec_from_dict` reads."""
        return {"form": self.form, **to_plain(self)}

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
        if not self.whole:
            return 0, 0
        cuts = np.concatenate([self.atoms, self.starts])
        lo, hi = int(cuts.min()) - 1, int(cuts.max()) + 1
        return (lo, hi - lo + 1) if hi - lo < 1 << 16 else (0, 0)

    @cached_property
    def _table(self) -> NDArray[np.int64]:
        lo, span = self._table_span
        return self._search(np.arange(lo, lo + span, dtype=np.int64))

    @cached_property
    def _layout(self) -> tuple[NDArray[Any], ...]:
        """What the drawing loop needs: what each code is, the atoms, the bins' quantile functions, and what no draw may hit."""
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
            if not isinstance(c, str | bool) and (c == int(c) or not self.whole)
        ]
        avoid = np.unique(np.concatenate([self.atoms, np.array(codes, dtype=self.atoms.dtype)]))
        return is_atom, index, self.atoms, ranks, values, offsets, first.copy(), last.copy(), avoid

    def _on_grid(self, low: float, high: float) -> tuple[float, float]:
        """The lowest and the highest number of a bin that is a whole multiple of the step, where there is one."""
        if not self.whole:
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
        if self.whole:
            return low, float(above - self.step)
        if self.decimals is not None:
            return low, float(np.round(above - 10.0**-self.decimals, self.decimals))
        return low, float(np.nextafter(above, -np.inf))


Codec = Categories | Intervals


@dataclass(frozen=True, eq=False)
class NumberList:
    """The codes of all whole numbers from `low` on, made when they are first asked for; `length` 0 where they would be too many.

    It ends on each side with a number that has no code of its own, so that all beyond have the same; a code one too many stands for none.
    """

    codec: Codec
    low: int
    length: int

    @classmethod
    def of(cls, codec: Codec) -> NumberList:
        """Return the list for a codec of whole numbers."""
        own = [*codec.missing, *(codec.levels if isinstance(codec, Categories) else ())]
        ends = [number for number, _ in _numbers(own)]
        if isinstance(codec, Intervals):
            ends += [
                int(end)
                for cuts in (codec.atoms, codec.starts)
                if len(cuts)
                for end in (cuts[0], cuts[-1])
            ]
        if (
            not ends or max(map(abs, ends)) >= 1 << 52
        ):  # beyond, numbers are not told apart as floats
            return cls(codec, 0, 0)
        low, high = min(ends) - 1, max(ends) + 1
        low = 0 if low > 0 and high < MOST_LISTED else low  # then the numbers are their own places
        return cls(codec, low, high - low + 1) if high - low < MOST_LISTED else cls(codec, 0, 0)

    @cached_property
    def codes(self) -> NDArray[np.unsignedinteger[Any]]:
        """The code of each number."""
        codec = self.codec
        if isinstance(codec, Intervals):
            codes = codec.encode(np.arange(self.low, self.low + self.length, dtype=np.int64))
        else:
            codes = np.full(
                self.length, len(codec.levels) if codec.other else codec.size, dtype=np.int64
            )
            for number, code in reversed(_numbers(codec.levels)):
                codes[number - self.low] = code
            if not codec.n_values and codec.null:
                codes[:] = codec.n_values  # too few numbers to keep: made missing
        for number, i in _numbers(codec.missing):
            codes[number - self.low] = codec.n_values + codec.null + i
        out: NDArray[np.unsignedinteger[Any]] = codes.astype(narrowest(codec.size + 1))
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


def same_codes(one: Codec | None, other: Codec | None) -> bool:
    """Return whether codes of one codec mean the same as those of another."""
    return one is other or (
        one is not None
        and other is not None
        and one.size == other.size
        and one.to_dict() == other.to_dict()
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


def _missing_names(codec: Codec) -> list[str]:
    return [*[NULL] * codec.null, *(f"(missing {code})" for code in codec.missing)]


def codec_from_dict(data: Any) -> Codec:
    """Return the codec that `to_dict` described; anything else is a SchemaError, and nothing is executed."""
    try:
        missing = tuple(_scalar(code) for code in data["missing"])
        null = _bool(data["null"])
        if data["form"] == "categories":
            levels = tuple(_scalar(level) for level in data["levels"])
            return Categories(levels, _bool(data["other"]), null, missing)
        if data["form"] == "intervals":
            whole = _bool(data["whole"])
            kind = np.int64 if whole else np.float64
            bounds = data["bounds"]
            return Intervals(
                np.array(data["atoms"], dtype=kind),
                np.array(data["starts"], dtype=kind),
                tuple(np.array(knot, dtype=np.float64) for knot in data["knots"]),
                np.array(data["atom_codes"], dtype=np.int64),
                np.array(data["bin_codes"], dtype=np.int64),
                whole,
                int(data["step"]),
                None if data["decimals"] is None else int(data["decimals"]),
                null,
                missing,
                None if bounds is None else (float(bounds[0]), float(bounds[1])),
                tuple(
                    Grain(
                        int(grain["width"]),
                        *(np.array(grain[key], dtype=np.float64) for key in ("shares", "smooth")),
                    )
                    for grain in data.get("grains", ())
                ),
            )
    except (KeyError, TypeError, ValueError, OverflowError, IndexError) as error:
        if isinstance(error, SchemaError):
            raise
        raise SchemaError(
            "The description of a column's codes is incomplete or of the wrong type."
        ) from None
    raise SchemaError("A column's codes are of no known form. Forms: categories, intervals.")


def _scalar(value: Any) -> Scalar:
    if isinstance(value, str | int | float | bool):
        return value
    raise TypeError


def _bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise TypeError


MOST_TURNS = 9
"""Numbers of one class that are tried, outwards from the nearest."""


@compiled
def _on(value, listed):  # type: ignore[no-untyped-def]
    at = np.searchsorted(listed, value)
    return at < listed.size and listed[at] == value


@compiled
def draw_numbers(  # type: ignore[no-untyped-def]
    out,
    codes,
    uniform,
    is_atom,
    index,
    atoms,
    ranks,
    values,
    offsets,
    first,
    last,
    avoid,
    step,
    scale,
):
    """Fill in a number for each code: the atom, or a draw from the bin's quantile function.

    A draw is rounded to a multiple of `step` (above 0), or else to 1 / `scale` (above 0), kept between `first` and
    `last` of its bin, and moved to the nearest number of the bin that is not to be avoided (atoms, missing codes).
    """
    for i in range(codes.size):
        code = codes[i]
        at = index[code]
        if is_atom[code]:
            out[i] = atoms[at]
            continue
        u = uniform[i]
        j, end = offsets[at], offsets[at + 1] - 1
        while end - j > 1:  # the last knot at or below the rank: of two at one rank the second
            middle = (j + end) // 2
            if ranks[middle] <= u:
                j = middle
            else:
                end = middle
        share = (u - ranks[j]) / (ranks[j + 1] - ranks[j])
        x = values[j] + share * (values[j + 1] - values[j])
        if step > 0:
            x = np.rint(x / step) * step
        elif scale > 0:
            x = np.rint(x * scale) / scale
        low, high = first[at], last[at]
        x = min(max(x, low), high)
        if avoid.size and _on(x, avoid):
            for reach in range(1, 2 * avoid.size + 3):
                if step > 0:
                    below, above = x - reach * step, x + reach * step
                elif scale > 0:
                    below, above = (
                        np.rint(x * scale - reach) / scale,
                        np.rint(x * scale + reach) / scale,
                    )
                else:
                    below, above = np.nextafter(x, -np.inf), np.nextafter(x, np.inf)
                if below >= low and not _on(below, avoid):
                    x = below
                    break
                if above <= high and not _on(above, avoid):
                    x = above
                    break
        out[i] = x


@compiled
def move_to_classes(  # type: ignore[no-untyped-def]
    out, codes, uniform, is_atom, index, first, last, fixed, width, stay, taken, wanted, step, scale
):
    """Move numbers to the nearest ones of classes that take turns, so that classes have the shares they are wanted with.

    Positions are numbers in steps, or in units of 1 / `scale` (above 0); `width` of them are in one class. A number stays with the odds `stay` of its class; else it takes a class by
    the running shares `taken`. In a bin that has not all classes, one of its own is taken by the weights `wanted`. Atoms, and what is `fixed`, do not move, and no number moves there.
    """
    classes = stay.size
    for i in range(codes.size):
        code = codes[i]
        if is_atom[code] or _on(out[i], fixed):
            continue
        low, high = first[index[code]], last[index[code]]
        if scale > 0:
            here = np.int64(np.rint(out[i] * scale))
            lowest, highest = (
                np.int64(np.ceil(low * scale - 1e-6)),
                np.int64(np.floor(high * scale + 1e-6)),
            )
        else:
            here = np.int64(out[i]) // step
            lowest, highest = np.int64(np.ceil(low / step)), np.int64(np.floor(high / step))
        turn, start, end = here // width, lowest // width, highest // width
        u = uniform[i]
        if end - start + 1 < classes:
            total = 0.0
            for t in range(start, end + 1):
                total += wanted[t % classes]
            u *= total
            to = start
            while to < end and u >= wanted[to % classes]:
                u -= wanted[to % classes]
                to += 1
        else:
            own = turn % classes
            if u < stay[own]:
                continue
            to = min(
                np.searchsorted(taken, (u - stay[own]) / (1.0 - stay[own]), side="right"),
                classes - 1,
            )
            apart = (to - own) % classes
            if 2 * apart > classes:
                apart -= classes
            to = turn + apart
            if to > end:
                to -= classes
            elif to < start:
                to += classes
        for reach in range(
            MOST_TURNS
        ):  # where it may not be, the same class a turn away: above, below, two above
            away = (reach + 1) // 2 * (1 if reach % 2 else -1) * classes
            there = here + (to + away - turn) * width
            if reach == 0:
                there = min(max(there, lowest), highest)
            if there < lowest or there > highest:
                continue
            if scale > 0:
                number = np.float64(there) / scale
                if number >= low and number <= high and not _on(number, fixed):
                    out[i] = number
                    break
            elif not _on(there * step, fixed):
                out[i] = there * step
                break
