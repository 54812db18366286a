"""What a kind of output is: one class that says everything about it, and the registry that it stands in.

A kind is one file (or package) of this folder. Its class is an `OutputSpec`: the keys of its entry in a file of outputs
(`docs/outputs-file.md`), with or without their numbers. Each key that holds numbers is declared once, by a `Statistic` in its annotation, and

    layout              the numbers under each key: names, form, as printed    evolve, check
    estimates           the same numbers from any records, with their errors   evolve, check
    equations           what it says of the records, for the engines           evolve, check
    rules_only          why it has no equations, where it has none             evolve, check
    contradiction       why no records can have its numbers                    evolve, check
    tallies, evidence   the cells of people behind it, and what rules look at   check

From layout and estimates follow, here and for all kinds, printing, suppressing, rounding, comparing and recomputing.
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
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, PrivateAttr, ValidationInfo, model_validator
from pydantic import Field as Key

from ..._base.arrays import Floats
from ..._base.checks import check_name, check_whole
from ..._base.errors import InputError
from ..._base.masking import HIDDEN
from ..._base.registry import Registry
from ..cells import CrossClassification, Step, cross_classify, table_of_counts
from ..domain import MAX_ROWS, Codes, OutputDomain
from ..equations import Output, Reading, SumSystem, Terms
from ..filters import Filter, read_filter
from ..numbers import (
    UNSAID,
    WITHHELD,
    Interval,
    Number,
    Printer,
    bands_in,
    count_interval,
    digits_in,
    is_withheld,
    printed_interval,
)
from ..rules.cell_counts import CellCounter, CellCounts
from ..rules.evidence import Counts, judge
from ..rules.findings import RuleFinding
from ..rules.policy import Policy

Whole = Annotated[int, Key(ge=0, strict=True)]
SLACK = 1e-7
"""What a number may lie beyond a bound, as a share of it (at least 1): numbers and bounds are rounded."""
NOT_SEARCHED = "this kind has no equations"
NEXT = "Merge levels, leave them out by a filter, give this part a larger share of the records, or split with another seed."
Grid = Mapping[int, NDArray[Any]]
NumberStyle = Literal["count", "whole", "number"]
"""Counts of people, other whole numbers, or numbers with digits."""


@dataclass(frozen=True)
class Statistic:
    """A key that holds numbers, as a kind declares it: `key: Annotated[Any, Statistic("the p-value")] = None`.

    `label` is what messages call the number. `presence`: `optional` ones may be announced, `main` ones make an output one with numbers,
    without a `required` one such an output cannot be read. `default`: a recipe that announces nothing publishes it. `is_whole`: degrees of freedom
    and other whole numbers that are no counts of people. `is_part`: another kind of output has these numbers (`single.py`).
    """

    label: str = ""
    presence: Literal["optional", "main", "required"] = "optional"
    default: bool = False
    is_whole: bool = False
    is_part: bool = False

    @property
    def style(self) -> NumberStyle:
        """Of which style the number is."""
        return "whole" if self.is_whole else "number"


class ColumnKey:
    """The mark of a key that names columns."""


Column = Annotated[str, ColumnKey]
OptionalColumn = Annotated[str | None, ColumnKey]
Columns = Annotated[list[str], ColumnKey]
Variable = Annotated[str, ColumnKey, Key(alias="of")]
"""The column that an output sums up."""


class PartialSpec(BaseModel):
    """Keys whose numbers may be absent: `true` in their place announces that they are published.

    Read with `context={"numbers": "required"}` nothing may be announced.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    statistics: ClassVar[dict[str, Statistic]] = {}
    """The keys that hold numbers, as declared."""
    optional: ClassVar[tuple[str, ...]] = ()
    """Those that need not be there, and may be announced."""
    also_optional: ClassVar[tuple[str, ...]] = ()
    """Keys that may be announced as well, though a recipe keeps them where they are not."""
    column_keys: ClassVar[tuple[str, ...]] = ()
    """The keys that name columns."""
    file_keys: ClassVar[dict[str, str]] = {}
    """What each key is called in files."""

    @classmethod
    def __pydantic_init_subclass__(cls, **options: Any) -> None:
        cls.file_keys = {key: field.alias or key for key, field in cls.model_fields.items()}
        marks = {key: field.metadata for key, field in cls.model_fields.items()}
        cls.column_keys = tuple(key for key, metadata in marks.items() if ColumnKey in metadata)
        cls.statistics = {
            key: mark
            for key, metadata in marks.items()
            for mark in metadata
            if isinstance(mark, Statistic)
        }
        optional = (key for key, mark in cls.statistics.items() if mark.presence == "optional")
        cls.optional = (*optional, *cls.also_optional)

    _announced: dict[str, Any] = PrivateAttr(default_factory=dict)

    @model_validator(mode="wrap")
    @classmethod
    def _with_or_without_numbers(cls, data: Any, handler: Any, info: ValidationInfo) -> Any:
        if not isinstance(data, Mapping) or (info.context or {}).get("numbers") == "required":
            return handler(data)
        empty = {
            key
            for key in (*cls.statistics, *cls.also_optional)
            if key in data and cls.placeholder(key, data[key])
        }
        spec = handler({key: value for key, value in data.items() if key not in empty})
        spec._announced = {key: data[key] for key in cls.optional if key in empty and data[key]}
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
        dropped = [key for key in drop if key in type(self).model_fields and key not in values]
        defaults = {
            key: type(self).model_fields[key].get_default(call_default_factory=True)
            for key in dropped
        }
        spec = self.model_copy(update={**defaults, **values})
        spec.model_fields_set.difference_update(dropped)
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

    domain: OutputDomain
    codes: Codes
    inside: Codes
    source: str = "the data"
    """What the records are, for messages: "the first fold"."""


@dataclass(frozen=True)
class NumberBlock:
    """The numbers under one key of an output: what each is called, and as they stand in the file, digits and marks included."""

    key: str
    names: Sequence[str]
    numbers: Sequence[Any] = ()
    """As printed; none in a recipe."""
    style: NumberStyle = "number"
    shape: tuple[int, ...] | None = ()
    """How lists of them are nested; None for numbers by name."""
    label: str = "a number"
    """What messages call one of them."""
    field: str = ""
    """The key under which they stand, where it is not that of their digits."""
    titles: Sequence[str] = ()
    """What comparisons call them, where that is not their names."""
    placeholder: Any = 0
    """What a recipe is compiled with: a number for all of them, or one for each."""
    may_vanish: bool = False
    """Whether all of them may be withheld."""

    @property
    def counted(self) -> bool:
        """Whether they are counts of people."""
        return self.style == "count"

    def entry(self, numbers: Sequence[Any]) -> dict[str, Any]:
        """Return numbers, one for each name, as the output's entry has them."""
        if self.shape is None:
            return {self.field or self.key: dict(zip(self.names, numbers, strict=True))}
        return {self.field or self.key: nest(numbers, self.shape)}

    def placeholders(self) -> dict[str, Any]:
        """Return an entry with some numbers or other."""
        numbers = self.placeholder
        return self.entry(numbers if isinstance(numbers, list) else [numbers] * len(self.names))


class Estimates(NamedTuple):
    """The numbers of one block as records give them, nan where they have none.

    `units` are their standard errors, 0 for counts; `sizes` how many records are behind each, where few withhold it.
    """

    values: Sequence[Any] | NDArray[Any]
    units: Sequence[float] | NDArray[Any] | float = 0.0
    sizes: Sequence[int] | NDArray[Any] | None = None
    alternatives: Sequence[float] | NDArray[Any] | None = None
    """As other programs print them."""


class OutputSpec(PartialSpec):
    """One output, as the file has it: with its numbers, or without (a recipe). `docs/outputs-file.md` explains the keys."""

    PRINTING: ClassVar[tuple[str, ...]] = (
        "digits",
        "bands",
        "withheld",
        "threshold",
        "suppressed_zeros",
    )
    """Keys that only recipes have."""
    also_optional: ClassVar[tuple[str, ...]] = ("n",)
    NO_NUMBERS: ClassVar[str] = "these records have no such number"
    """Why records lack its numbers."""
    MUST_ANNOUNCE: ClassVar[str] = ""
    """How a recipe says what it publishes, where it must publish something."""
    unit_noun: ClassVar[str] = "cell"
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

    def equations(self, domain: OutputDomain) -> tuple[Output, ...]:
        """Return what the output says of the records; none for one that is not searched for. Their names begin with the output's."""
        return ()

    def rules_only(self, domain: OutputDomain) -> str:
        """Return why datasets cannot be evolved from it, so that rules alone say something of it; nothing where they can."""
        return "" if self.definition.searched else NOT_SEARCHED

    @abstractmethod
    def layout(self, domain: OutputDomain) -> Iterator[NumberBlock]:
        """Give the numbers under each key that is published, with or without them."""

    @abstractmethod
    def estimates(self, sample: Sample) -> Mapping[str, Estimates]:
        """Return the numbers of each block as these records give them, by the block's key."""

    def undefined_reason(self, sample: Sample, block: NumberBlock, index: int) -> str:
        """Return why these records have no such number."""
        return self.NO_NUMBERS

    @abstractmethod
    def tallies(self, counter: CellCounter) -> list[CellCounts]:
        """Return the cells of people behind the output, its own cells first."""

    def evidence(self, tallies: list[CellCounts], counter: CellCounter) -> Iterator[Any]:
        """Give what the rules look at behind the output by itself, piece by piece; see `rules/evidence.py`."""
        yield Counts(tallies, self.unit_noun)

    def findings(
        self, tallies: list[CellCounts], counter: CellCounter, policy: Policy
    ) -> list[RuleFinding]:
        """Return what the rules say of the output by itself."""
        return judge(self.name, self.kind, self.evidence(tallies, counter), policy)

    def check_recipe(self, domain: OutputDomain) -> None:
        """Raise for columns, filters, formulas and other rules of a recipe that no records could satisfy."""
        self.with_placeholder_values(domain).equations(domain)

    def with_placeholder_values(self, domain: OutputDomain) -> Self:
        """Return a recipe with some numbers or other, to compile it."""
        numbers: dict[str, Any] = {}
        for block in self.layout(domain):
            numbers |= {} if block.numbers else block.placeholders()
        numbers |= {"n": domain.n_rows} if "n" in self._announced else {}
        return self.changed(**numbers)

    def needed_n(self, sample: Sample, numbers: Any) -> Any:
        """Return the n without which its numbers, as printed, would say nothing; None where they do."""
        return None

    def contradiction(self, domain: OutputDomain) -> str | None:
        """Return why no records can have its numbers, where no linear programme over records can say so; None otherwise."""
        return None

    def other_reading(self, sample: Sample) -> str:
        """Return what its numbers mean that these records do not give as it says, where they give them in another reading, and what to write; else nothing."""
        return ""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that it is about, those of filters and formulas apart."""
        return tuple(_flatten(getattr(self, key) for key in self.column_keys))

    @classmethod
    def check_entry(cls, entry: Mapping[str, Any], where: str) -> None:
        """Raise for an entry of a file that lacks something of which there is more to say than that it is missing."""

    @classmethod
    def mentioned(cls, entry: Mapping[str, Any]) -> tuple[list[str], list[str]]:
        """Return the columns that an entry of a file names, and its filters and formulas, which name more; it may break other rules."""
        keys = (cls.file_keys[key] for key in cls.column_keys)
        names = [str(word) for word in _flatten(entry.get(key, []) for key in keys)]
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
        main = [key for key in self.statistics if key not in self.optional] or self.statistics
        return not self._announced and any(getattr(self, key) is not None for key in main)

    def to_dict(self) -> dict[str, Any]:
        """Return the output's entry in a file of outputs."""
        keys = {
            key: value
            for key, value in self.model_dump(exclude_unset=True, by_alias=True).items()
            if value is not None
        }
        return {"name": self.name, "kind": self.kind, **keys, **self._announced}

    @property
    def published(self) -> dict[str, Any] | None:
        """Its entry with the numbers, without the keys that only recipes have; None where it has not all its numbers."""
        return self.changed(drop=self.PRINTING).to_dict() if self.has_numbers else None

    def announcements(self, domain: OutputDomain) -> dict[str, Any]:
        """Return what a recipe of this output says to publish beside the main numbers, by key."""
        present = [key for key in self.optional if key in self.statistics or key == "n"]
        given = {key: True for key in present if getattr(self, key) is not None}
        keys = {**self._announced, **given}
        if self.MUST_ANNOUNCE and not any(keys.get(key) for key in self.statistics):
            raise self.fault(f" must say what it has, with numbers or with {self.MUST_ANNOUNCE}.")
        return keys

    def with_printing(self, domain: OutputDomain) -> Self:
        """Return the same with the rules of printing that are read off its numbers: digits, bands, what is withheld."""
        self._check_printing()
        rules: dict[str, Any] = {
            key: getattr(self, key) for key in ("bands", "withheld", "threshold", "digits")
        }
        parts = list(self.printed_numbers(domain))
        _read_counts(rules, [block for block in parts if block.counted])
        for block in parts:
            if not block.counted:
                _read_numbers(rules, block)
        return self.changed(**{key: value for key, value in rules.items() if value is not None})

    def without_numbers(self, domain: OutputDomain) -> Self:
        """Return the recipe: how to compute the output, and how its numbers are printed."""
        announced = self.announcements(domain)
        return self.with_printing(domain).changed(
            drop=(*self.statistics, "n", *announced), announced=announced
        )

    def with_numbers(self, **numbers: Any) -> Self:
        """Return a recipe with its numbers in place."""
        return self.changed(drop=self.PRINTING, announced={}, **numbers)

    def computed(self, domain: OutputDomain, codes: Codes, *, source: str = "the data") -> Self:
        """Return the output with its numbers as these records give them and as it prints them.

        InputError, with the output, the part and the cell or coefficient, where these records do not have some number;
        MissingExtraError for a regression without statsmodels. `source` is what the records are, for messages: "the first fold".
        """
        recipe = self.without_numbers(domain.with_rows(MAX_ROWS))
        sample = replace(recipe.sample(domain.counted(codes), codes), source=source)
        numbers = recipe.computed_numbers(sample)
        if recipe.publishes("n"):
            numbers.setdefault("n", len(sample.inside))
        return recipe.with_numbers(**numbers)

    def printed_numbers(self, domain: OutputDomain) -> Iterator[NumberBlock]:
        """Give the numbers that stand in the output, those of each key together; none without numbers."""
        return (block for block in self.layout(domain) if block.numbers and block.style != "whole")

    def computed_numbers(self, sample: Sample) -> dict[str, Any]:
        """Return the numbers that these records give, by key, as printed; InputError where they lack one."""
        blocks, numbers = list(self.layout(sample.domain)), dict[str, Any]()
        estimates = self.estimates(sample) if blocks else {}
        for block in blocks:
            numbers |= block.entry(self.shown(block, estimates[block.key], sample, self.printer))
        return numbers

    def shown(
        self, block: NumberBlock, estimates: Estimates, sample: Sample, printer: Printer
    ) -> list[Any]:
        """Return numbers as printed: rounded, and withheld by name or where there are few records behind them."""
        values, names, sizes = estimates.values, block.names, estimates.sizes
        if block.style == "whole":
            return [int(value) for value in values]
        if block.counted:
            return list(printer.counts(values, names))
        numbers: list[Any] = []
        for k, (name, value) in enumerate(zip(names, values, strict=True)):
            defined = math.isfinite(value)
            if name in printer.withheld or (sizes is not None and is_gone(printer, int(sizes[k]))):
                numbers.append(WITHHELD)
            elif defined:
                numbers.append(printer.number(float(value), block.key, name))
            elif sizes is not None and printer.suppresses:
                numbers.append(WITHHELD)
            else:
                raise self.no_estimate(sample, self.undefined_reason(sample, block, k))
        if sizes is not None and not block.may_vanish:
            self.check_some(sample, numbers)
        return numbers

    def recomputed(self, sample: Sample) -> Iterator[Number]:
        """Give the published numbers beside what these records give; n is added for every kind."""
        blocks = [block for block in self.layout(sample.domain) if block.numbers]
        estimates = self.estimates(sample) if blocks else {}
        for block in blocks:
            yield from self.comparison(block, estimates[block.key], sample.domain.n_rows)

    def comparison(self, block: NumberBlock, estimates: Estimates, rows: int) -> Iterator[Number]:
        """Give the numbers of a block, withheld ones apart, beside those of records."""
        units = np.broadcast_to(np.asarray(estimates.units, dtype=float), len(block.names))
        names, others = block.titles or block.names, estimates.alternatives
        intervals = self.block_intervals(block, rows)
        compared = zip(names, intervals, estimates.values, units, strict=True)
        for k, (name, interval, value, unit) in enumerate(compared):
            if interval is not None:
                number = Number(name or self.kind, *map(float, (*interval, value, unit)))
                other = number if others is None else replace(number, value=float(others[k]))
                yield other if other.within() and not number.within() else number

    def block_intervals(self, block: NumberBlock, rows: int) -> list[Interval | None]:
        """Return the interval of each number of a block; None where it is withheld."""
        numbers = block.numbers
        if block.counted:
            return [Interval(*ends) for ends in zip(*self.bounds(numbers, rows), strict=True)]
        if block.style == "whole":
            return [Interval(number, number) for number in numbers]
        return [
            None if number in UNSAID else self.printed(number, block.label) for number in numbers
        ]

    def bounds(
        self, cells: Sequence[Any] | NDArray[np.object_], max_count: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the least and largest count of each cell."""
        how = {
            key: getattr(self, key)
            for key in ("threshold", "suppressed_zeros", "base", "rounding")
            if hasattr(self, key)
        }
        what, flat = f"Output '{self.name}': a count", np.asarray(cells, dtype=object).ravel()
        ends = [count_interval(cell, max_count=max_count, what=what, **how) for cell in flat]
        lo, hi = np.array(ends, dtype=np.int64).reshape(-1, 2).T
        return lo, hi

    def sample(self, fields: OutputDomain, codes: Codes) -> Sample:
        """Return records as the output is computed on them: those that miss none of its columns."""
        codes = self.own_records(fields, codes)
        domain = fields.with_rows(len(codes))
        return Sample(domain, codes, codes[self.filter(domain).record_mask(codes)])

    def own_columns(self, domain: OutputDomain) -> tuple[int, ...]:
        """Return the positions of the columns that it is about, those of its filter and formula among them."""
        from ..document import named_columns  # here, since it reads entries by the kinds

        return tuple(
            domain.position(name) for name in named_columns([self.to_dict()], domain.names)
        )

    def own_records(self, domain: OutputDomain, codes: Codes) -> Codes:
        """Return the records that it is of: those with a value in each of its columns, as a program that leaves out missing values has them.

        InputError where there are none.
        """
        if not (codes < 0).any():
            return codes
        complete = (codes[:, list(self.own_columns(domain))] >= 0).all(axis=1)
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

    def filter(self, domain: OutputDomain) -> Filter:
        """Return the filter, compiled."""
        return read_filter(self.where, domain, output=self.name)

    def crossing(self, domain: OutputDomain) -> CrossClassification:
        """Return the cells or groups of an output that has `by`, and may have `groups`."""
        return cross_classify(
            getattr(self, "by", []), getattr(self, "groups", {}), domain, output=self.name
        )

    def kept_values(self, domain: OutputDomain, column: str) -> Floats:
        """Return the values of a column that the filter leaves."""
        return domain[column].values[self.filter(domain).levels(domain.position(column))]

    def known_n(self, domain: OutputDomain) -> int | None:
        """Return the number of records it was made of, where that is known: given, or all rows without a filter."""
        if isinstance(self.n, int):
            return self.n
        return domain.n_rows if not self.filter(domain).masks else None

    def n_equations(self, domain: OutputDomain) -> tuple[Output, ...]:
        """Return the filter's n as a table of one cell; none without a filter or without n."""
        within = self.filter(domain)
        if self.n is None or not within.masks:
            return ()
        bound = np.array([self.n])
        return (table_of_counts(f"{self.name}: n", domain, [], within, bound, bound),)

    def sum_system(
        self,
        domain: OutputDomain,
        size: int,
        terms: Sequence[Terms],
        intervals: Iterable[Interval],
        reading: Reading,
    ) -> SumSystem:
        """Return the numbers that a function reads off sums over the records that pass the filter, with their intervals."""
        lo, hi = np.array(list(intervals)).T
        return SumSystem(
            self.name, size, tuple(terms), lo, hi, keep=self.filter(domain).keep(), reported=reading
        )

    def printed(self, number: object, what: str) -> Interval:
        """Return the interval of a printed number."""
        return printed_interval(
            number, decimals=self.decimals, what=f"Output '{self.name}': {what}"
        )

    def fault(self, message: str) -> InputError:
        """Return the error for what is wrong with the output: its name, and the words that follow it."""
        return InputError(f"Output '{self.name}'{message}")

    def refuse(self, *reasons: tuple[object, str]) -> None:
        """Raise InputError for the first reason that holds: whether it does, and the words that follow the output's name."""
        for holds, message in reasons:
            if holds:
                raise self.fault(message)

    def no_estimate(self, sample: Sample, why: str) -> InputError:
        """Return the error for numbers that these records do not have."""
        return self.fault(f" cannot be computed on {sample.source}: {why}. {NEXT}")

    def check_some(self, sample: Sample, numbers: Iterable[Any]) -> None:
        """Raise InputError where every number is withheld."""
        if all(number == WITHHELD for number in numbers):
            raise self.no_estimate(sample, "every one of its numbers would be withheld")

    def _check_printing(self) -> None:
        what = f"Output '{self.name}'"
        check_whole(f"{what}: threshold", self.threshold, 1, optional=True)
        for key, labels in (("bands", self.bands or []), ("withheld", self.withheld or [])):
            if not isinstance(labels, list) or not all(isinstance(word, str) for word in labels):
                raise self.fault(f": {key} must be a list of words.")
        for band in self.bands or []:
            count_interval(band, max_count=2**62, what=f"{what}: a band")
        digits = {} if self.digits is None else self.digits
        if not isinstance(digits, Mapping):
            raise InputError(
                f'{what}: digits must be given by key, such as digits = {{ loglik = 2, values = "0.00" }}.'
            )
        keys = sorted({*self.statistics, "alpha"})
        for key, style in digits.items():
            check_name("key", key, keys, prefix=f"{what}: digits: ")
            for number_style in style.values() if isinstance(style, Mapping) else [style]:
                decimals = (
                    isinstance(number_style, int)
                    and not isinstance(number_style, bool)
                    and 0 <= number_style <= 15
                )
                example = (
                    isinstance(number_style, str)
                    and number_style.replace("e+00", "").replace(".", "", 1).strip("0") == ""
                    and number_style
                )
                if not decimals and not example:
                    raise InputError(
                        f'{what}: digits must be a number of decimals, 0 to 15, or an example such as "0.0000" or "0.000e+00".'
                    )


def _flatten(values: Iterable[Any]) -> list[Any]:
    """Words, and those in lists, one after the other."""
    return [
        word
        for value in values
        if value is not None
        for word in (value if isinstance(value, list) else [value])
    ]


def _read_counts(rules: dict[str, Any], parts: Sequence[NumberBlock]) -> None:
    if bands := bands_in(cell for block in parts for cell in block.numbers):
        rules["bands"] = rules["bands"] or bands
        bounds = [
            count_interval(band, max_count=2**62)[1] for band in bands if band.startswith("<")
        ]
        if bounds and rules["threshold"] is None:
            rules["threshold"] = max(bounds) + 1
    unknown = [
        name
        for block in parts
        for name, cell in zip(block.names, block.numbers, strict=True)
        if cell == "?"
    ]
    if unknown:
        rules["withheld"] = list(dict.fromkeys([*(rules["withheld"] or []), *unknown]))


def _read_numbers(rules: dict[str, Any], block: NumberBlock) -> None:
    if (style := digits_in(block.numbers, block.names)) is not None:
        rules["digits"] = {block.key: style, **(rules["digits"] or {})}
    withheld = [
        name for name, number in zip(block.names, block.numbers, strict=True) if is_withheld(number)
    ]
    # With a threshold it is the threshold that withholds; without one the same numbers are withheld again.
    if withheld and rules["threshold"] is None:
        rules["withheld"] = list(dict.fromkeys([*(rules["withheld"] or []), *withheld]))


def cell_label(cells: CrossClassification, cell: int) -> str:
    """Return a cell as messages may call it."""
    name = cells.safe_cell(cell)
    return "the output" if not name else "a cell" if name == HIDDEN else f"cell '{name}'"


def as_list(number: Any) -> list[Any]:
    """Return a number in a list; an empty one for none."""
    return [] if number is None else [number]


def object_array(cells: Sequence[Any]) -> NDArray[np.object_]:
    """Return entries, lists among them or not, as an array of one axis."""
    out = np.empty(len(cells), dtype=object)
    out[:] = cells
    return out


def nest(flat: Sequence[Any], shape: tuple[int, ...]) -> Any:
    """Return a flat list as nested ones; the entry itself for no axes."""
    return object_array(flat).reshape(shape).tolist()


def is_gone(printer: Printer, n: int) -> bool:
    """Return whether all numbers of a group of so many records are withheld."""
    return printer.few(n) or (printer.suppresses and not n)


def by_code(*columns: tuple[int, Floats]) -> tuple[tuple[int, ...], Callable[[Grid], Floats]]:
    """Return the product of numbers for the levels of columns as `sums_by_cell` takes it: the columns, and the function of a grid of codes."""
    positions = tuple(position for position, _ in columns)
    return positions, lambda grid: np.prod([values[grid[p]] for p, values in columns], axis=0)


def middle(values: Floats) -> float:
    """Return a round number in the middle: sums of squares around it lose no digits."""
    return float(np.round(values.mean()))


def least_step(values: Floats) -> float:
    """Return the smallest difference of two values; 1 where there is one value only."""
    return float(np.diff(values).min(initial=np.inf)) if len(values) > 1 else 1.0


def only(group: NDArray[np.int64], number: int) -> NDArray[np.int64]:
    """Return the groups of a column's levels with one of them left, as the first."""
    return np.where(group == number, 0, -1).astype(np.int64)


def renumber_equations(terms: Terms, equations: Sequence[int]) -> Terms:
    """Return terms with their equations 0, 1, ... put elsewhere."""
    return replace(terms, equations=np.array(equations, dtype=np.int64)[terms.equations])


@dataclass(frozen=True, eq=False)
class GroupOfRecords:
    """One group of a cross, within a filter, and a column of numbers that says something of it."""

    name: str
    domain: OutputDomain
    position: int
    steps: tuple[Step, ...]
    within: Filter

    @property
    def values(self) -> Floats:
        """The column's numbers."""
        return self.domain.columns[self.position].values

    def cut(
        self,
        name: str,
        part_codes: NDArray[Any],
        lo: Sequence[Any],
        hi: Sequence[Any],
        *,
        more: Sequence[Step] = (),
        fault: str,
    ) -> Output:
        """Return how many records have values in each part of the column; `fault` for parts without values that must have some."""
        parts = np.unique(part_codes)
        if any(low > 0 for index, low in enumerate(lo) if index not in parts):
            raise InputError(fault)
        step = (self.position, np.searchsorted(parts, part_codes).astype(np.int64))
        low, high = (np.array([bound[index] for index in parts]) for bound in (lo, hi))
        return table_of_counts(
            name, self.domain, [step, *more, *self.steps], self.within, low, high
        )


def groups_of(
    names: Sequence[str],
    domain: OutputDomain,
    position: int,
    cells: CrossClassification,
    within: Filter,
) -> list[GroupOfRecords]:
    """Return the groups of a cross, one by one, called by some names."""
    groups = []
    for name, cell in zip(names, np.ndindex(cells.shape), strict=True):
        steps = tuple((p, only(group, k)) for (p, group), k in zip(cells.steps, cell, strict=True))
        groups.append(GroupOfRecords(name, domain, position, steps, within))
    return groups
