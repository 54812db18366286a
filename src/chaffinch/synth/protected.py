"""Protection around any generator: sensitive columns are drawn from the label by us, all others by a generator that never saw them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
import pyarrow as pa

from .._base.checks import check_name
from .._base.errors import InputError
from .._base.seeds import Seed, seed_sequence
from ..counts.counter import MemoryCounter
from ..table.align import align
from ..table.rows import open_table
from ..table.rules.constraints import without_rules_on
from ..table.schema import Schema
from ..table.table import Table
from .bayesnet import BayesNet, BayesNetModel
from .bayesnet.protection import Protection, protected_schema, protection_of
from .model import whole_rows
from .options import Protect
from .protocol import ModelColumn, ModelDescription, TableGenerator, promises_privacy


@dataclass(frozen=True, eq=False)
class Protected:
    """A generator of your own with sensitive columns kept apart, as `BayesNet(label=..., sensitive=...)` keeps them.

    The generator gets a table without the sensitive columns. These are drawn for each of its rows from the row's label alone: from the
    conditional tables of Hittmeir, Mayer and Ekelhart (2022) and Niederhametner and Mayer (2023), who ask for this in other synthesisers. Given the
    label, drawn values of a sensitive column are independent of all that the generator does.

    What is not promised: whatever passes through the label stays, and so does the distribution of each sensitive column. Nothing here is
    differentially private: a generator with an epsilon is refused, since the sensitive columns would be counted without noise.

    Parameters
    ----------
    generator
        A function (table, seed) -> table, or anything with `fit(table, seed=...)` whose model has `sample(n_rows, seed=...)`.
    sensitive
        The columns that the generator may not see.
    label
        The column that sensitive columns are drawn from, and that the generator draws; None: they are drawn on their own.
    protect
        "separate": each sensitive column from the label alone; "together": sensitive columns may hang together too.

    Examples
    --------
    >>> import pyarrow as pa, chaffinch
    >>> table = chaffinch.read(pa.table({"ill": ["no", "yes"] * 30, "sex": ["f", "f", "m"] * 20, "job": ["a", "b"] * 30}))
    >>> def shuffled(table, seed):
    ...     return table.take(np.random.default_rng(seed).permutation(table.n_rows))
    >>> drawn = Protected(shuffled, ["sex"], label="ill").fit(table, seed=1).sample(seed=2)
    >>> drawn.columns, drawn.n_rows
    (('ill', 'sex', 'job'), 60)
    """

    generator: Any
    sensitive: Sequence[str]
    label: str | None = None
    protect: Protect = "separate"

    def __post_init__(self) -> None:
        if isinstance(self.sensitive, str):
            raise InputError(
                f"sensitive is a list of columns. Got the text '{self.sensitive}': write ('{self.sensitive}',)."
            )
        object.__setattr__(self, "sensitive", tuple(dict.fromkeys(self.sensitive)))
        if not self.sensitive:
            raise InputError(
                "Protected needs at least one sensitive column. Without one, use the generator itself."
            )
        if self.label in self.sensitive:
            raise InputError(
                f"Column '{self.label}' cannot be both label and sensitive. Name another label, or none."
            )
        check_name("way to protect", self.protect, get_args(Protect))
        _ = self._maker
        if promises_privacy(self.generator):
            raise InputError(
                "Protected would void the promise of a generator with an epsilon: it counts sensitive columns without noise. "
                "Use BayesNet(epsilon=..., label=..., sensitive=...), or leave out epsilon."
            )

    @property
    def _maker(self) -> TableGenerator:
        return TableGenerator(self.generator)

    def fit(self, data: Any, *, seed: Seed = None) -> ProtectedModel:
        """Return what draws tables like a path, a frame or a `Table`. The generator is fitted here, if it is one that fits."""
        table = open_table(data, None)
        for name in (*self.sensitive, *([] if self.label is None else [self.label])):
            check_name("column", name, table.schema.names)
        others = [name for name in table.schema.names if name not in self.sensitive]
        if not others:
            raise InputError(
                "Every column is sensitive: there is nothing left for the generator. Name fewer, or use BayesNet(sensitive=...)."
            )
        schema, lost = protected_schema(table.schema, self.label, self.sensitive, self.protect)
        table = replace(table, schema=schema)
        hidden = part_of(table, [*([] if self.label is None else [self.label]), *self.sensitive])
        rest = part_of(table, others)
        check_rules_of(table, (hidden, rest))
        for_search, for_generator = seed_sequence(seed).spawn(2)
        settings = BayesNet(
            label=self.label,
            sensitive=tuple(self.sensitive),
            protect=self.protect,
            conditionals="tables",
            keep=() if self.label is None else (self.label,),
            require=()
            if self.label is None
            else tuple((self.label, name) for name in self.sensitive),
        )
        return ProtectedModel(
            settings=self,
            table=rest,
            full_table=table,
            conditionals=settings.fit(hidden, seed=for_search),
            fitted=self._maker.fit(rest, whole_seed(for_generator)),
            protection=protection_of(
                MemoryCounter(table), self.label, self.sensitive, self.protect, lost
            ),
        )

    def __repr__(self) -> str:
        return f"Protected({self._maker.description}, {list(self.sensitive)}, label={self.label!r}, protect={self.protect!r})"


@dataclass(frozen=True, eq=False, repr=False)
class ProtectedModel:
    """A fitted generator and tables of the sensitive columns by label. It holds the records it learnt from and is written to no file."""

    settings: Protected
    table: Table
    """What the generator saw."""
    full_table: Table
    conditionals: BayesNetModel
    fitted: Any
    protection: Protection

    @property
    def schema(self) -> Schema:
        """The schema of the data."""
        return self.full_table.schema

    @property
    def n_rows(self) -> int:
        """The number of records it learnt from."""
        return self.full_table.n_rows

    @property
    def confidential(self) -> bool:
        """As the data are: always."""
        return True

    def sample(self, n_rows: int | None = None, *, seed: Seed = None) -> Table:
        """Return a table with the columns of the data, in their order; identifiers are left out.

        A generator that fits draws as many rows as are asked for, by default as many as it learnt from; a function as many as it likes.
        """
        rows = self.n_rows if n_rows is None else whole_rows(n_rows)
        theirs, ours = seed_sequence(seed).spawn(2)
        maker = TableGenerator(self.settings.generator)
        number = whole_seed(theirs)
        generated = (
            self.fitted.sample(rows, seed=number)
            if maker.fits
            else self.settings.generator(self.table, number)
        )
        _, drawn = align(self.table, generated, names=("generator's",))
        label = self.settings.label
        if label is None:
            hidden = self.conditionals.sample(drawn.n_rows, seed=ours)
        else:
            if _has_more(drawn, self.table, label):
                raise InputError(
                    f"The generator drew values of label '{label}' that the data do not have: no sensitive column can be drawn from them. "
                    "Have it draw values of the data, or name no label."
                )
            hidden = self.conditionals.complete(drawn[[label]], keep=(label,), seed=ours)
        values = {
            name: (hidden if name in self.settings.sensitive else drawn).data.column(name)
            for name in self.schema.names
        }
        return align(self.full_table, pa.table(values), names=("drawn",))[1]

    def describe(self) -> ModelDescription:
        """Return who draws each column, and what protection cut."""
        label, sensitive = self.settings.label, self.settings.sensitive
        conditional_columns = {
            column.name: column for column in self.conditionals.describe().columns
        }
        columns = tuple(
            replace(conditional_columns[name], role="sensitive")
            if name in sensitive
            else ModelColumn(name, "label" if name == label else "", "by the generator")
            for name in self.schema.names
        )
        return ModelDescription(
            method="protected",
            summary=f"{len(columns)} columns, {len(sensitive)} of them kept from {TableGenerator(self.settings.generator).description}",
            heading="parents (mutual information, nats)",
            columns=columns,
            notes=self.protection.sentences(label, sensitive),
        )

    def __repr__(self) -> str:
        return f"ProtectedModel({len(self.schema.names)} columns, {len(self.settings.sensitive)} protected)"


def part_of(table: Table, names: Sequence[str]) -> Table:
    """Return some columns of a table, in its order, and of its rules those between these alone."""
    schema = table.schema
    for name in schema.names:
        schema = schema if name in names else without_rules_on(schema, name)
    functions = tuple(f for f in schema.functions if {f.determinant, f.dependent} <= set(names))
    schema = replace(schema, functions=functions, suggested=())
    return replace(table, schema=schema)[[name for name in schema.names if name in names]]


def check_rules_of(table: Table, parts: Sequence[Table]) -> None:
    """Raise if a rule of a table ties columns that are in different parts of it: rows that are put together would not keep it."""
    covered = {text for table in parts for text in table.schema.rules}
    if lost := [text for text in table.schema.rules if text not in covered]:
        raise InputError(
            f"The rule '{lost[0]}' ties a sensitive column to one that the generator draws. Declare that one sensitive too, or leave out the rule."
        )


def whole_seed(seed: np.random.SeedSequence) -> int:
    """Return a whole number, which is what any generator takes."""
    return int(seed.generate_state(1, np.uint32)[0])


def _has_more(drawn: Table, table: Table, name: str) -> bool:
    """Whether a drawn column has levels, or missing values, that the data lack; numbers beyond those of the data belong to the end bins."""
    wide, codec = drawn.schema[name].fitted_codec, table.schema[name].fitted_codec
    return wide.null > codec.null or (not wide.numeric and wide.size > codec.size)
