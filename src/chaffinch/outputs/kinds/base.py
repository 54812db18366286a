"""What a kind of output is: one class that says everything about it, and the registry that it stands in.

A kind is one file (or package) of this folder. Its class is an `OutputSpec`: the keys of its entry in a file of outputs
(`docs/outputs-file.md`), with or without their numbers, and

    equations           what it says of the records, for the engines           evolve, check
    recomputed          its published numbers beside what records give         evolve, check
    computed_numbers    its numbers from any records, as printed               check
    printed_numbers     its numbers as they stand in the file                  check
    rules_only          why it has no equations, where it has none             evolve, check
    contradiction       why no records can have its numbers                    evolve, check
    tallies, evidence   the cells of people behind it, and what rules look at   check

It registers a `Kind` for each name that it reads. Nothing else in the package names kinds. Most of this is there already for outputs with
counts (`table.py`), summaries of a column by groups (`moments.py`) and a few single numbers (`single.py`); `chi_square.py` is one to copy.

Without numbers an output is a recipe. Beside the keys of its kind it may have

    digits      how numbers are printed, by key: a number of decimals, or an example ("0.0000", "0.000e+00"), or these by name
    bands       words that stand for a range of counts wherever one falls into it: ["<10"]
    withheld    names of numbers that are withheld whatever they are
    threshold   also for means, sums, spreads and quantiles: groups with fewer records are withheld

and `true` in place of numbers that are published beside the main ones. Where there are numbers, all this is read off them.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, PrivateAttr, ValidationInfo, model_validator
from pydantic import Field as Key

from ..._base.checks import check_name, check_whole
from ..._base.errors import InputError
from ..._base.masking import HIDDEN
from ..._base.registry import Registry
from ..cells import Crossing, Frame, Step, crossed, table_of_counts
from ..domain import Codes, Fields, Floats
from ..equations import Output, Reading, SumSystem, Terms
from ..filters import Filter, read_filter
from ..numbers import (
    WITHHELD,
    Interval,
    Number,
    Printer,
    bands_in,
    count_interval,
    digits_in,
    is_withheld,
    printed,
)
from ..rules.cell_counts import CellCounter, CellCounts
from ..rules.evidence import Counts, judge
from ..rules.findings import RuleFinding
from ..rules.policy import Policy

Whole = Annotated[int, Key(ge=0, strict=True)]
SLACK = 1e-7
"""What a number may lie beyond a bound, as a share of it (at least 1): numbers and bounds are rounded."""
NOT_SEARCHED = "this kind has no equations"
ROWS = 10**9
"""More records than any part will have: what is checked on reading must not depend on their number."""
NEXT = "Merge levels, leave them out by a filter, give this part a larger share of the records, or split with another seed."
Grid = Mapping[int, NDArray[Any]]


class PartialSpec(BaseModel):
    """Keys whose numbers may be absent: `true` in their place announces that they are published.

    Read with `context={"numbers": "required"}` nothing may be announced.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    NUMBERS: ClassVar[tuple[str, ...]] = ()
    """The keys that hold numbers."""
    BESIDE: ClassVar[tuple[str, ...]] = ()
    """Those that need not be there, and may be announced."""

    _announced: dict[str, Any] = PrivateAttr(default_factory=dict)

    @model_validator(mode="wrap")
    @classmethod
    def _with_or_without_numbers(cls, data: Any, handler: Any, info: ValidationInfo) -> Any:
        if not isinstance(data, Mapping) or (info.context or {}).get("numbers") == "required":
            return handler(data)
        empty = {
            key
            for key in (*cls.NUMBERS, *cls.BESIDE)
            if key in data and cls.placeholder(key, data[key])
        }
        spec = handler({key: value for key, value in data.items() if key not in empty})
        spec._announced = {key: data[key] for key in cls.BESIDE if key in empty and data[key]}
        return spec

    @classmethod
    def placeholder(cls, key: str, value: Any) -> bool:
        """Return whether what stands under a key is no number but announces some, or says that there are none."""
        return value is None or isinstance(value, bool)

    def publishes(self, key: str) -> bool:
        """Return whether numbers under a key are published: they are there, or announced."""
        return key in self._announced or getattr(self, key, None) is not None

    def changed(
        self, *, drop: Iterable[str] = (), announced: Mapping[str, Any] | None = None, **values: Any
    ) -> Self:
        """Return the same with some keys dropped and some set."""
        gone = [key for key in drop if key in type(self).model_fields and key not in values]
        defaults = {
            key: type(self).model_fields[key].get_default(call_default_factory=True) for key in gone
        }
        spec = self.model_copy(update={**defaults, **values})
        spec.model_fields_set.difference_update(gone)
        spec._announced = dict(self._announced if announced is None else announced)
        return spec


@dataclass(frozen=True)
class Kind:
    """A kind of output by its name in files.

    `spec` is the class that says everything about it, `statbarn` the class of analyses that ACRO files it under, `sentence` what it is, in a
    few words, for help and pages. `searched`: whether it has equations, so that datasets can be evolved from it; False: rules only. The
    engines run in processes of their own, which know the kinds of this folder and no others: kinds that are registered elsewhere are for
    rules only. `regression`: whether its numbers are coefficients by name.
    """

    name: str
    spec: type[OutputSpec]
    statbarn: str
    sentence: str
    searched: bool = True
    regression: bool = False


KINDS: Registry[Kind] = Registry(
    "kind",
    __package__,
    "table",
    "moments",
    "correlation",
    "quantiles",
    "regression",
    "kaplan_meier",
    "tree",
    "t_test",
    "chi_square",
    "rank_tests",
    "*",
)
"""All kinds of outputs. Add one of your own with `KINDS.register(Kind(..., searched=False))`."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Records that an output is computed on: all of them, and those that pass its filter."""

    frame: Frame
    codes: Codes
    inside: Codes

    @property
    def fields(self) -> Fields:
        """The columns."""
        return self.frame.fields


class PrintedNumbers(NamedTuple):
    """Numbers under a key as they stand in the file, digits and marks included, with what each is called."""

    key: str
    names: list[str]
    numbers: list[Any]
    counted: bool


class OutputSpec(PartialSpec):
    """One output, as the file has it: with its numbers, or without (a recipe). `docs/outputs-file.md` explains the keys."""

    REQUIRED: ClassVar[tuple[str, ...]] = ()
    """Keys without which an output with numbers cannot be read."""
    PRINTING: ClassVar[tuple[str, ...]] = (
        "digits",
        "bands",
        "withheld",
        "threshold",
        "suppressed_zeros",
    )
    """Keys that only recipes have."""
    BESIDE: ClassVar[tuple[str, ...]] = ("n",)
    COLUMN_KEYS: ClassVar[tuple[str, ...]] = ()
    """Keys that name columns."""
    NOUN: ClassVar[str] = "cell"
    """What one of its cells of people is called."""

    name: Annotated[str, Key(min_length=1)]
    kind: str
    where: str | None = None
    n: Whole | None = None
    decimals: Annotated[int, Key(ge=-12, le=15)] | None = None
    comment: str | None = None
    digits: Any = None
    bands: Any = None
    withheld: Any = None
    threshold: Any = None
    suppressed_zeros: Any = False

    def __repr__(self) -> str:
        numbers = "with" if self.has_numbers else "without"
        return f"{type(self).__name__}({self.name!r}, kind={self.kind!r}, {numbers} numbers)"

    __str__ = __repr__

    # What a kind says of itself.

    def equations(self, frame: Frame) -> tuple[Output, ...]:
        """Return what the output says of the records; none for one that is not searched for. Their names begin with the output's."""
        return ()

    def rules_only(self, fields: Fields) -> str:
        """Return why datasets cannot be evolved from it, so that rules alone say something of it; nothing where they can."""
        return "" if self.definition.searched else NOT_SEARCHED

    @abstractmethod
    def computed_numbers(self, sample: Sample, printer: Printer, part: str) -> dict[str, Any]:
        """Return the numbers that these records give, by key, as printed; InputError where they lack one (`no_estimate`)."""

    @abstractmethod
    def recomputed(self, sample: Sample) -> Iterator[Number]:
        """Give the published numbers beside what these records give; n is added for every kind."""

    @abstractmethod
    def printed_numbers(self, frame: Frame) -> Iterator[PrintedNumbers]:
        """Give the numbers that stand in the output, those of each key together; none without numbers."""

    @abstractmethod
    def tallies(self, counter: CellCounter) -> list[CellCounts]:
        """Return the cells of people behind the output, its own cells first."""

    def evidence(self, tallies: list[CellCounts], counter: CellCounter) -> Iterator[Any]:
        """Give what the rules look at behind the output by itself, piece by piece; see `rules/evidence.py`."""
        yield Counts(tallies, self.NOUN)

    def findings(
        self, tallies: list[CellCounts], counter: CellCounter, policy: Policy
    ) -> list[RuleFinding]:
        """Return what the rules say of the output by itself."""
        return judge(self.name, self.kind, self.evidence(tallies, counter), policy)

    def check_recipe(self, frame: Frame) -> None:
        """Raise for columns, filters, formulas and other rules of a recipe that no records could satisfy."""
        self.filled(frame).equations(frame)

    def filled(self, frame: Frame) -> Self:
        """Return a recipe with some numbers or other, to compile it."""
        return self

    def contradiction(self, frame: Frame) -> str | None:
        """Return why no records can have its numbers, where no linear programme over records can say so; None otherwise."""
        return None

    def other_reading(self, sample: Sample) -> str:
        """Return what its numbers mean that these records do not give as it says, where they give them in another reading, and what to write; else nothing."""
        return ""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that it is about, those of filters and formulas apart."""
        return tuple(_words(getattr(self, key) for key in self.COLUMN_KEYS))

    @classmethod
    def check_entry(cls, entry: Mapping[str, Any], where: str) -> None:
        """Raise for an entry of a file that lacks something of which there is more to say than that it is missing."""

    @classmethod
    def mentioned(cls, entry: Mapping[str, Any]) -> tuple[list[str], list[str]]:
        """Return the columns that an entry of a file names, and its filters and formulas, which name more; it may break other rules."""
        names = [str(word) for word in _words(entry.get(key, []) for key in cls.COLUMN_KEYS)]
        return names, [
            entry[key] for key in ("where", "formula") if isinstance(entry.get(key), str)
        ]

    # What all kinds share.

    @property
    def definition(self) -> Kind:
        """The kind, as registered."""
        return KINDS[self.kind]

    @property
    def has_numbers(self) -> bool:
        """Whether all its numbers are there, so that it can be published as it stands."""
        main = [key for key in self.NUMBERS if key not in self.BESIDE] or self.NUMBERS
        return not self._announced and any(getattr(self, key) is not None for key in main)

    def to_dict(self) -> dict[str, Any]:
        """Return the output's entry in a file of outputs."""
        keys = {
            key: value
            for key, value in self.model_dump(exclude_unset=True).items()
            if value is not None
        }
        return {"name": self.name, "kind": self.kind, **keys, **self._announced}

    @property
    def published(self) -> dict[str, Any] | None:
        """Its entry with the numbers, without the keys that only recipes have; None where it has not all its numbers."""
        return self.changed(drop=self.PRINTING).to_dict() if self.has_numbers else None

    def announcements(self, frame: Frame) -> dict[str, Any]:
        """Return what a recipe of this output says to publish beside the main numbers, by key."""
        there = [key for key in self.BESIDE if key in self.NUMBERS or key == "n"]
        return {**self._announced, **{key: True for key in there if getattr(self, key) is not None}}

    def with_printing(self, frame: Frame) -> Self:
        """Return the same with the rules of printing that are read off its numbers: digits, bands, what is withheld."""
        self._check_printing()
        rules: dict[str, Any] = {
            key: getattr(self, key) for key in ("bands", "withheld", "threshold", "digits")
        }
        parts = list(self.printed_numbers(frame))
        _read_counts(rules, [part for part in parts if part.counted])
        for part in parts:
            if not part.counted:
                _read_numbers(rules, part)
        return self.changed(**{key: value for key, value in rules.items() if value is not None})

    def without_numbers(self, frame: Frame) -> Self:
        """Return the recipe: how to compute the output, and how its numbers are printed."""
        announced = self.announcements(frame)
        return self.with_printing(frame).changed(
            drop=(*self.NUMBERS, "n", *announced), announced=announced
        )

    def with_numbers(self, **numbers: Any) -> Self:
        """Return a recipe with its numbers in place."""
        return self.changed(drop=self.PRINTING, announced={}, **numbers)

    def computed(self, fields: Fields, codes: Codes, *, part: str = "the data") -> Self:
        """Return the output with its numbers as these records give them and as it prints them.

        InputError, with the output, the part and the cell or coefficient, where these records do not have some number;
        MissingExtraError for a regression without statsmodels. `part` is what the records are, for messages: "the first fold".
        """
        recipe = self.without_numbers(Frame(fields, ROWS))
        sample = recipe.sample(fields.counted(codes), codes)
        numbers = recipe.computed_numbers(sample, recipe.printer, part)
        if recipe.publishes("n"):
            numbers.setdefault("n", len(sample.inside))
        return recipe.with_numbers(**numbers)

    def sample(self, fields: Fields, codes: Codes) -> Sample:
        """Return records as the output is computed on them: those that miss none of its columns."""
        codes = self.own_records(fields, codes)
        frame = Frame(fields, len(codes))
        return Sample(frame, codes, codes[self.filter(frame).of(codes)])

    def own_columns(self, fields: Fields) -> tuple[int, ...]:
        """Return the positions of the columns that it is about, those of its filter and formula among them."""
        from ..document import named_columns  # here, since it reads entries by the kinds

        return tuple(
            fields.position(name) for name in named_columns([self.to_dict()], fields.names)
        )

    def own_records(self, fields: Fields, codes: Codes) -> Codes:
        """Return the records that it is of: those with a value in each of its columns, as a program that leaves out missing values has them.

        InputError where there are none.
        """
        if not (codes < 0).any():
            return codes
        complete = (codes[:, list(self.own_columns(fields))] >= 0).all(axis=1)
        if not complete.any():
            raise self.fault(
                ": no record of the data has a value in each of its columns. Leave out a column that is mostly missing."
            )
        return np.ascontiguousarray(
            np.maximum(codes[complete], 0)
        )  # nothing reads the other columns: any level will do

    @property
    def printer(self) -> Printer:
        """How it prints its numbers."""
        return Printer(
            self.name,
            self.decimals,
            self.digits or {},
            self.threshold,
            bool(self.suppressed_zeros),
            self.bands or (),
            self.withheld or (),
        )

    def filter(self, frame: Frame) -> Filter:
        """Return the filter, compiled."""
        return read_filter(self.where, frame.fields, output=self.name)

    def crossing(self, frame: Frame) -> Crossing:
        """Return the cells or groups of an output that has `by`, and may have `groups`."""
        return crossed(
            getattr(self, "by", []), getattr(self, "groups", {}), frame.fields, output=self.name
        )

    def kept_values(self, frame: Frame, column: str) -> Floats:
        """Return the values of a column that the filter leaves."""
        return frame.fields[column].values[self.filter(frame).levels(frame.fields.position(column))]

    def known_n(self, frame: Frame) -> int | None:
        """Return the number of records it was made of, where that is known: given, or all rows without a filter."""
        if isinstance(self.n, int):
            return self.n
        return frame.rows if not self.filter(frame).masks else None

    def n_equations(self, frame: Frame) -> tuple[Output, ...]:
        """Return the filter's n as a table of one cell; none without a filter or without n."""
        within = self.filter(frame)
        if self.n is None or not within.masks:
            return ()
        bound = np.array([self.n])
        return (table_of_counts(f"{self.name}: n", frame, [], within, bound, bound),)

    def sum_system(
        self,
        frame: Frame,
        size: int,
        terms: Sequence[Terms],
        intervals: Iterable[Interval],
        reading: Reading,
    ) -> SumSystem:
        """Return the numbers that a function reads off sums over the records that pass the filter, with their intervals."""
        lo, hi = np.array(list(intervals)).T
        return SumSystem(
            self.name, size, tuple(terms), lo, hi, keep=self.filter(frame).keep(), reported=reading
        )

    def printed(self, number: object, what: str) -> Interval:
        """Return the interval of a printed number."""
        return printed(number, decimals=self.decimals, what=f"Output '{self.name}': {what}")

    def fault(self, words: str) -> InputError:
        """Return the error for what is wrong with the output: its name, and the words that follow it."""
        return InputError(f"Output '{self.name}'{words}")

    def _check_printing(self) -> None:
        what = f"Output '{self.name}'"
        check_whole(f"{what}: threshold", self.threshold, 1, optional=True)
        for key, words in (("bands", self.bands or []), ("withheld", self.withheld or [])):
            if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
                raise InputError(f"{what}: {key} must be a list of words.")
        for band in self.bands or []:
            count_interval(band, most=2**62, what=f"{what}: a band")
        digits = {} if self.digits is None else self.digits
        if not isinstance(digits, Mapping):
            raise InputError(
                f'{what}: digits must be given by key, such as digits = {{ loglik = 2, values = "0.00" }}.'
            )
        keys = sorted({*self.NUMBERS, "alpha"})
        for key, style in digits.items():
            check_name("key", key, keys, prefix=f"{what}: digits: ")
            for one in style.values() if isinstance(style, Mapping) else [style]:
                decimals = isinstance(one, int) and not isinstance(one, bool) and 0 <= one <= 15
                example = (
                    isinstance(one, str)
                    and one.replace("e+00", "").replace(".", "", 1).strip("0") == ""
                    and one
                )
                if not decimals and not example:
                    raise InputError(
                        f'{what}: digits must be a number of decimals, 0 to 15, or an example such as "0.0000" or "0.000e+00".'
                    )


def _words(values: Iterable[Any]) -> list[Any]:
    """Words, and those in lists, one after the other."""
    return [
        word
        for value in values
        if value is not None
        for word in (value if isinstance(value, list) else [value])
    ]


def _read_counts(rules: dict[str, Any], parts: Sequence[PrintedNumbers]) -> None:
    if bands := bands_in(cell for part in parts for cell in part.numbers):
        rules["bands"] = rules["bands"] or bands
        least = [count_interval(band, most=2**62)[1] for band in bands if band.startswith("<")]
        if least and rules["threshold"] is None:
            rules["threshold"] = max(least) + 1
    unknown = [
        name
        for part in parts
        for name, cell in zip(part.names, part.numbers, strict=True)
        if cell == "?"
    ]
    if unknown:
        rules["withheld"] = list(dict.fromkeys([*(rules["withheld"] or []), *unknown]))


def _read_numbers(rules: dict[str, Any], part: PrintedNumbers) -> None:
    if (style := digits_in(part.numbers, part.names)) is not None:
        rules["digits"] = {part.key: style, **(rules["digits"] or {})}
    gone = [
        name for name, number in zip(part.names, part.numbers, strict=True) if is_withheld(number)
    ]
    # With a threshold it is the threshold that withholds; without one the same numbers are withheld again.
    if gone and rules["threshold"] is None:
        rules["withheld"] = list(dict.fromkeys([*(rules["withheld"] or []), *gone]))


def no_estimate(output: str, part: str, why: str) -> InputError:
    """Return the error for an output whose numbers these records do not have; `part` is what the records are."""
    return InputError(f"Output '{output}' cannot be computed on {part}: {why}. {NEXT}")


def check_some(printed: Iterable[Any], output: str, part: str) -> None:
    """Raise InputError where every number is withheld."""
    if all(number == WITHHELD for number in printed):
        raise no_estimate(output, part, "every one of its numbers would be withheld")


def called(cells: Crossing, cell: int) -> str:
    """Return a cell as messages may call it."""
    name = cells.safe_cell(cell)
    return "the output" if not name else "a cell" if name == HIDDEN else f"cell '{name}'"


def boxed(cells: Sequence[Any]) -> NDArray[np.object_]:
    """Return entries, lists among them or not, as an array of one axis."""
    out = np.empty(len(cells), dtype=object)
    out[:] = cells
    return out


def nested(flat: Sequence[Any], shape: tuple[int, ...]) -> Any:
    """Return a flat list as nested ones; the entry itself for no axes."""
    return boxed(flat).reshape(shape).tolist()


def is_gone(printer: Printer, n: int) -> bool:
    """Return whether all numbers of a group of so many records are withheld."""
    return printer.few(n) or (printer.suppresses and not n)


def printed_groups(
    groups: Iterable[tuple[int, Sequence[float]]],
    names: Sequence[str],
    cells: Crossing,
    printer: Printer,
    part: str,
    *,
    key: str = "values",
    lack: str = "has no records",
) -> list[list[Any]]:
    """Return the numbers of each group of records as printed, withheld where there are few of them.

    `groups` are how many records each has and its numbers, nan where it has none: InputError, the group called so and what it lacks, in an
    output that withholds nothing. `names` are those of all numbers, group by group.
    """
    name, rows = iter(names), []
    for group, (n, values) in enumerate(groups):
        if not printer.suppresses and any(math.isnan(value) for value in values):
            raise no_estimate(printer.name, part, f"{called(cells, group)} {lack}")
        row = []
        for value in values:
            own = next(name)
            gone = is_gone(printer, n) or own in printer.withheld or math.isnan(value)
            row.append(WITHHELD if gone else printer.number(value, key, own))
        rows.append(row)
    return rows


def by_code(position: int, numbers: Floats) -> tuple[tuple[int], Callable[[Grid], Floats]]:
    """Return a number for each level of a column as `sums_by_cell` takes it: the column, and the function of a grid of codes."""
    return (position,), lambda grid: numbers[grid[position]]


def middle(values: Floats) -> float:
    """Return a round number in the middle: sums of squares around it lose no digits."""
    return float(np.round(values.mean()))


def least_step(values: Floats) -> float:
    """Return the smallest difference of two values; 1 where there is one value only."""
    return float(np.diff(values).min(initial=np.inf)) if len(values) > 1 else 1.0


def only(group: NDArray[np.int64], number: int) -> NDArray[np.int64]:
    """Return the groups of a column's levels with one of them left, as the first."""
    return np.where(group == number, 0, -1).astype(np.int64)


def placed(terms: Terms, equations: Sequence[int]) -> Terms:
    """Return terms with their equations 0, 1, ... put elsewhere."""
    return replace(terms, equations=np.array(equations, dtype=np.int64)[terms.equations])


@dataclass(frozen=True, eq=False)
class GroupOfRecords:
    """One group of a cross, within a filter, and a column of numbers that says something of it."""

    name: str
    frame: Frame
    position: int
    steps: tuple[Step, ...]
    within: Filter

    @property
    def values(self) -> Floats:
        """The column's numbers."""
        return self.frame.fields.every[self.position].values

    def cut(
        self,
        name: str,
        of: NDArray[Any],
        lo: Sequence[Any],
        hi: Sequence[Any],
        *,
        more: Sequence[Step] = (),
        fault: str,
    ) -> Output:
        """Return how many records have values in each part of the column; `fault` for parts without values that must have some."""
        parts = np.unique(of)
        if any(least > 0 for part, least in enumerate(lo) if part not in parts):
            raise InputError(fault)
        step = (self.position, np.searchsorted(parts, of).astype(np.int64))
        low, high = (np.array([bound[part] for part in parts]) for bound in (lo, hi))
        return table_of_counts(name, self.frame, [step, *more, *self.steps], self.within, low, high)


def groups_of(
    names: Sequence[str], frame: Frame, position: int, cells: Crossing, within: Filter
) -> list[GroupOfRecords]:
    """Return the groups of a cross, one by one, called by some names."""
    groups = []
    for name, place in zip(names, np.ndindex(cells.shape), strict=True):
        steps = tuple((p, only(group, k)) for (p, group), k in zip(cells.steps, place, strict=True))
        groups.append(GroupOfRecords(name, frame, position, steps, within))
    return groups
