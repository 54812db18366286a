"""Several rows for one person: how long a sequence is, its first row, and each row given the one before.

One network learns first rows, another steps from a row to the next. Whole sequences are drawn, person after person.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import permutations
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .._base.conditions import Determines
from .._base.errors import InputError, join_names
from .._base.masking import THRESHOLD
from .._base.runtime import Progress, silent
from .._base.seeds import Seed, generator, seed_sequence
from .._base.svg import Drawing
from ..counts.counter import MemoryCounter
from ..table.codes import Codes
from ..table.domain import decode_column, encode_column
from ..table.fit_schema import fit_column
from ..table.personal.detect import check_decided
from ..table.personal.fake import fake_values
from ..table.persons import order_numbers, person_rows
from ..table.profile import Profile
from ..table.rows import open_table
from ..table.rules.relations import parse_rule
from ..table.schema import Column, Kind, Schema
from ..table.table import Origin, Table, new_identifiers
from ..table.types import from_numbers, is_whole, parse_type, to_numbers, type_name, value_type
from .bayesnet import BayesNet
from .bayesnet.model import BayesNetModel
from .data import enough_to_learn
from .model import BATCH_ROWS, FittedModel, made_up_key, whole_rows
from .protocol import ModelColumn, ModelDescription
from .rules import ColumnCodes
from .settings import SYNTHESISERS, Settings

LENGTH = "(rows)"
"""The column of how many rows a person has."""

MOST_STEPS = 10
"""The most amounts that a stepped column moves by; each must be shared by as many persons as any value that is shown."""


@dataclass(frozen=True)
class Dynamics:
    """What columns do within a person.

    Parameters
    ----------
    order
        The column that orders rows; it is stepped, whatever its steps.
    constant, stepped, free
        The names of the other modelled columns, by what they are.
    repeat_shares
        For numbers among the free columns: how often a value stays exactly the same where its code does.
    """

    order: str | None
    constant: tuple[str, ...]
    stepped: tuple[str, ...]
    free: tuple[str, ...]
    repeat_shares: Mapping[str, float]

    @property
    def moving(self) -> tuple[str, ...]:
        """The columns that move by steps, the order first."""
        return (*([self.order] if self.order is not None else []), *self.stepped)


@dataclass(frozen=True, eq=False)
class Sequences:
    """What is learnt from: a row for each person, and a row for each step.

    Parameters
    ----------
    first
        Each person's first row, with how many rows they have. Every column is modelled; the order is a number.
    steps
        Each later row with the one before it: constant columns, `before` of the others, `step` of those that move, and the free ones. None
        where every person has one row.
    dynamics
        Which column is what.
    """

    first: Table
    steps: Table | None
    dynamics: Dynamics


@dataclass(frozen=True, eq=False, repr=False)
class PanelModel(FittedModel):
    """Two fitted networks. Holds tables of counts: as confidential as the data.

    Parameters
    ----------
    first
        Of each person's first row, and of how many rows they have.
    steps
        Of a row given the one before; None where every person had one row.
    dynamics
        What each column does within a person.
    learnt_rows
        The number of rows that it learnt from.
    """

    kind: ClassVar[str] = "panel"
    separable: ClassVar[bool] = False
    schema: Schema
    first: BayesNetModel
    steps: BayesNetModel | None
    dynamics: Dynamics
    learnt_rows: int
    origin: Origin | None = None

    def __post_init__(self) -> None:
        dynamics, person = self.dynamics, self.schema.only("person")
        parts = (*dynamics.moving, *dynamics.constant, *dynamics.free)
        sound = (
            person is not None
            and sorted(parts) == sorted(self.schema.names)
            and sorted(self.first.schema.names) == sorted([*parts, LENGTH])
            and dynamics.order == self.schema.only("order")
            and (self.steps is not None or not dynamics.stepped)
            and all(self.first.schema[name].is_numeric for name in (*dynamics.moving, LENGTH))
            and all(0 <= share <= 1 for share in dynamics.repeat_shares.values())
            and all(self.schema[name].is_numeric for name in dynamics.repeat_shares)
        )
        if not sound:
            raise InputError("The parts of a panel model do not fit together.")
        if self.steps is not None:
            known = [*dynamics.constant, *map(before, (*dynamics.moving, *dynamics.free))]
            drawn = [*map(step, dynamics.moving), *dynamics.free]
            early = self.steps.network.order[: len(known)]
            if sorted(self.steps.schema.names) != sorted([*known, *drawn]) or sorted(
                early
            ) != sorted(known):
                raise InputError("The network of steps does not belong to the panel.")

    @property
    def n_rows(self) -> int:
        """The number of rows it learnt from."""
        return self.learnt_rows

    @property
    def n_persons(self) -> int:
        """The number of persons it learnt from."""
        return self.first.n_rows

    def batches(
        self,
        n_rows: int | None = None,
        *,
        seed: Seed = None,
        given: Mapping[str, Any] | None = None,
        like: Table | None = None,
        threads: int | None = None,
        progress: Progress = silent,
        numbers: Sequence[int] | None = None,
    ) -> Iterator[Table]:
        """Return rows of new persons, whole sequences but perhaps the last, which ends where enough rows are drawn: none by its number."""
        if given:
            self.conditioned(given)
        if numbers is not None:
            raise InputError(
                "Batches of persons' rows hang on how many rows came before: draw them one after the other, and not by their numbers."
            )
        rows = self.n_rows if n_rows is None else whole_rows(n_rows)
        root, look = seed_sequence(seed), self.origin if like is None else like
        persons_at_a_time = max(1, int(BATCH_ROWS * self.n_persons / max(self.n_rows, 1)))
        drawn_rows = persons = batch = 0
        while drawn_rows < rows or not batch:
            stream = np.random.SeedSequence(root.entropy, spawn_key=(*root.spawn_key, batch))
            drawn = _Drawing(self, persons_at_a_time, np.random.default_rng(stream)).drawn()
            table = self._table(drawn, persons, look, made_up_key(root))
            yield (
                table
                if drawn_rows + table.n_rows <= rows
                else table.take(np.arange(rows - drawn_rows))
            )
            drawn_rows += table.n_rows
            persons += persons_at_a_time
            batch += 1
            progress("drawing rows", min(1.0, drawn_rows / max(rows, 1)))

    def _table(
        self, drawn: _Drawn, first_person: int, look: Origin | Table | None, key: int
    ) -> Table:
        """Return drawn sequences as a table, with new ids and made-up values that repeat as often as a person has rows."""
        arrays, codes = dict(drawn.values), []
        n_persons = int(drawn.persons.max(initial=-1)) + 1
        for column in self.schema:
            if column.output == "fake":
                rng = np.random.default_rng([key, first_person])
                fakes = fake_values(
                    replace(column, repeats=column.repeats and 1),
                    first_person,
                    n_persons,
                    key=key,
                    rng=rng,
                )
                arrays[column.name] = fakes.take(pa.array(drawn.persons))
            elif column.role == "person":
                ids = new_identifiers(column, first_person, n_persons)
                arrays[column.name] = ids.take(pa.array(drawn.persons))
            elif column.modelled:
                drawn_by_model = column.name != self.dynamics.order
                codes.append(
                    drawn.codes[column.name]
                    if drawn_by_model
                    else encode_column(column, arrays[column.name])
                )
            elif column.written:
                arrays[column.name] = new_identifiers(column, first_person, len(drawn.persons))
        coded = Codes.from_columns(codes, self.schema.sizes, n_rows=len(drawn.persons))
        return replace(
            Table.from_arrays(self.schema, arrays, coded, like=look),
            person_of=first_person + drawn.persons,
        )

    def describe(self) -> ModelDescription:
        """Return both networks in words: how rows begin, and what each column depends on from then on."""
        first = {column.name: column for column in self.first.describe().columns}
        steps = (
            {}
            if self.steps is None
            else {column.name: column.detail for column in self.steps.describe().columns}
        )
        columns = []
        for name in (*self.schema.names, LENGTH):
            later = steps.get(step(name) if name in self.dynamics.moving else name, "")
            how = (
                "constant within a person"
                if name in self.dynamics.constant
                else f"then {later}"
                if later
                else ""
            )
            columns.append(
                ModelColumn(
                    name, first[name].role, "; ".join(filter(None, (first[name].detail, how)))
                )
            )
        mean = self.n_rows / max(self.n_persons, 1)
        return ModelDescription(
            method=self.method,
            summary=f"{self.n_persons:,} persons with {mean:.1f} rows on average; {len(self.first.network.edges)} edges among first rows, "
            f"{0 if self.steps is None else len(self.steps.network.edges)} from a row to the next",
            heading="parents (mutual information, nats): in the first row; then",
            columns=tuple(columns),
        )

    def plot(self) -> Drawing:
        """Return the network of steps as a drawing; of first rows where no person has two."""
        return (self.first if self.steps is None else self.steps).plot()

    def to_dict(self) -> dict[str, Any]:
        """Return both networks as plain data."""
        return {
            "method": self.method,
            "nodes": list(self.schema.names),
            "label": self.first.fitted.label,
            "sensitive": list(self.first.fitted.sensitive),
            "persons": self.n_persons,
            "dynamics": _dynamics_dict(self.dynamics),
            "first": self.first.to_dict(),
            "steps": None if self.steps is None else self.steps.to_dict(),
        }

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what a file needs beside the schema: the parts, each with a schema of its own."""
        from .model_file import schema_to_dict

        data: dict[str, Any] = {
            "learnt_rows": self.learnt_rows,
            "dynamics": _dynamics_dict(self.dynamics),
        }
        arrays: dict[str, NDArray[Any]] = {}
        for stage in ("first", "steps"):
            model = getattr(self, stage)
            data[stage] = None
            if model is not None:
                inner, tables = model.state()
                data[stage] = {"schema": schema_to_dict(model.schema), **inner}
                arrays |= {f"{stage}.{name}": array for name, array in tables.items()}
        return data, arrays

    @classmethod
    def from_state(
        cls, schema: Schema, data: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> Self:
        """Return the model of a file, every part checked."""
        from .model_file import schema_from_dict

        models: dict[str, Any] = {}
        for stage in ("first", "steps"):
            entry, prefix = data[stage], f"{stage}."
            tables = {
                name.removeprefix(prefix): array
                for name, array in arrays.items()
                if name.startswith(prefix)
            }
            models[stage] = (
                None
                if entry is None
                else BayesNetModel.from_state(schema_from_dict(entry["schema"]), entry, tables)
            )
        plain = data["dynamics"]
        names = {
            f.name: tuple(plain[f.name])
            for f in fields(Dynamics)
            if f.name not in ("order", "repeat_shares")
        }
        dynamics = Dynamics(plain["order"], repeat_shares=dict(plain["kept"]), **names)
        rows = data["learnt_rows"]
        if models["first"] is None or not isinstance(rows, int) or rows < 0:
            raise InputError("A panel model lacks its first rows.")
        return cls(schema, models["first"], models["steps"], dynamics, rows)

    def __repr__(self) -> str:
        return f"PanelModel({self.n_persons:,} persons, {len(self.schema.names)} columns)"


def _dynamics_dict(dynamics: Dynamics) -> dict[str, Any]:
    return {
        "order": dynamics.order,
        "constant": list(dynamics.constant),
        "stepped": list(dynamics.stepped),
        "free": list(dynamics.free),
        "kept": dict(dynamics.repeat_shares),
    }


@dataclass(frozen=True, eq=False)
class _Drawn:
    """Rows of several persons, person after person: whose they are, their values and codes by column."""

    persons: NDArray[np.int64]
    values: Mapping[str, pa.Array]
    codes: Mapping[str, NDArray[np.uint32]]


class _Drawing:
    """Sequences of some persons, drawn row by row, all persons at once."""

    def __init__(self, model: PanelModel, n_persons: int, rng: np.random.Generator) -> None:
        self.model, self.rng = model, rng
        self.columns = {name: model.first.schema[name] for name in model.schema.names}
        self.persons = np.arange(n_persons)
        self.blocks: list[
            tuple[NDArray[np.int64], dict[str, pa.Array], dict[str, NDArray[np.uint32]]]
        ] = []

    def drawn(self) -> _Drawn:
        """Return all rows, each person's together and in their order."""
        n_rows = self._begin()
        number = 1
        while self.model.steps is not None and (n_rows > number).any():
            n_rows = self._go_on(n_rows, number)
            number += 1
        persons = np.concatenate([block[0] for block in self.blocks])
        order = np.argsort(persons, kind="stable")
        values = {
            name: pa.chunked_array([block[1][name] for block in self.blocks])
            .combine_chunks()
            .take(pa.array(order))
            for name in self.columns
        }
        codes = {
            name: np.concatenate([block[2][name] for block in self.blocks])[order]
            for name in self.columns
        }
        return _Drawn(persons[order], values, codes)

    def _begin(self) -> NDArray[np.int64]:
        """Draw first rows; return how many rows each person is to have."""
        codes = dict(self.model.first.draw_codes(len(self.persons), self.rng))
        lengths = decode_column(self.model.first.schema[LENGTH], codes.pop(LENGTH), self.rng)
        values = {
            name: decode_column(column, codes[name], self.rng)
            for name, column in self.columns.items()
        }
        if self.model.dynamics.order is not None:
            self._place_order(values, codes)
        self.blocks.append((self.persons, values, codes))
        return np.maximum(to_numbers(lengths)[0].astype(np.int64), 1)

    def _place_order(
        self, values: dict[str, pa.Array], codes: dict[str, NDArray[np.uint32]]
    ) -> NDArray[np.bool_]:
        """Bring the order onto values that the table's column can have, in place; return which rows still have one."""
        order = self.model.dynamics.order
        assert order is not None
        ours, theirs = self.columns[order], self.model.schema[order]
        numbers, inside = to_numbers(values[order])[0], np.ones(len(values[order]), dtype=bool)
        codec, limit = theirs.fitted_codec, ours.fitted_codec
        if not codec.numeric:
            levels = np.sort(
                np.array(
                    [level for level in codec.levels if not isinstance(level, str)],
                    dtype=numbers.dtype,
                )
            )
            index = np.searchsorted(levels, numbers)
            inside = index < len(levels)
            numbers = levels[np.minimum(index, len(levels) - 1)]
        elif limit.numeric:
            inside = numbers <= limit.ranges()[1].max()
        values[order] = from_numbers(
            numbers, np.ones(len(numbers), dtype=bool), value_type(parse_type(theirs.type))
        )
        codes[order] = encode_column(
            ours, values[order].cast(value_type(parse_type(ours.type)))
        ).astype(np.uint32)
        return inside

    def _go_on(self, n_rows: NDArray[np.int64], number: int) -> NDArray[np.int64]:
        """Draw the next row of everybody who is to have one; return how many rows each person is to have from now on."""
        steps, dynamics = self.model.steps, self.model.dynamics
        assert steps is not None
        persons, last_values, last_codes = self.blocks[-1]
        stay = n_rows > number
        persons, n_rows = persons[stay], n_rows[stay]
        staying = pa.array(np.flatnonzero(stay))
        last_values = {name: values.take(staying) for name, values in last_values.items()}
        last_codes = {name: codes[stay] for name, codes in last_codes.items()}
        known = {name: last_codes[name] for name in dynamics.constant}
        known |= {before(name): last_codes[name] for name in (*dynamics.moving, *dynamics.free)}
        drawn: ColumnCodes = steps.draw_codes(
            len(persons), self.rng, {name: codes.astype(np.uint32) for name, codes in known.items()}
        )
        values = {name: last_values[name] for name in dynamics.constant}
        codes = {name: last_codes[name] for name in dynamics.constant}
        for name in dynamics.free:
            codes[name] = drawn[name]
            values[name] = self._free(name, drawn[name], last_values[name], last_codes[name])
        for name in dynamics.moving:
            amounts, _ = to_numbers(
                decode_column(steps.schema[step(name)], drawn[step(name)], self.rng)
            )
            values[name], codes[name] = _move_numbers(
                self.columns[name], last_values[name], amounts
            )
        if dynamics.order is not None:
            inside = self._place_order(values, codes)
            if not inside.all():
                inside_rows = pa.array(np.flatnonzero(inside))
                persons, n_rows = persons[inside], n_rows[inside]
                values = {name: array.take(inside_rows) for name, array in values.items()}
                codes = {name: array[inside] for name, array in codes.items()}
        self.blocks.append((persons, values, codes))
        return n_rows

    def _free(
        self,
        name: str,
        codes: NDArray[np.uint32],
        last_values: pa.Array,
        last_codes: NDArray[np.uint32],
    ) -> pa.Array:
        """Return values for codes; where the code is that of the row before, its value as often as it stays in the original."""
        values = decode_column(self.columns[name], codes, self.rng)
        share = self.model.dynamics.repeat_shares.get(name, 0.0)
        if not share:
            return values
        same = (codes == last_codes) & (self.rng.random(len(codes)) < share)
        source = np.where(same, np.arange(len(codes)) + len(codes), np.arange(len(codes)))
        return pa.concat_arrays([values, last_values]).take(pa.array(source))


def _move_numbers(
    column: Column, last: pa.Array, amounts: NDArray[Any]
) -> tuple[pa.Array, NDArray[np.uint32]]:
    """Return numbers after a step as values and codes of a column, inside the range that was declared for it.

    Where none was, a step may lead a little beyond what the original has: an age that grows by one a year goes on growing.
    """
    codec = column.fitted_codec
    assert codec.numeric
    numbers = to_numbers(last)[0] + amounts
    if (limits := codec.limits(column)) is not None:
        numbers = np.clip(numbers, *limits).astype(numbers.dtype)
    if not codec.integral and codec.decimals is not None:
        numbers = np.round(numbers, codec.decimals)
    values = from_numbers(
        numbers, np.ones(len(numbers), dtype=bool), value_type(parse_type(column.type))
    )
    return values, encode_column(column, values).astype(np.uint32)


@SYNTHESISERS.register
@dataclass(frozen=True, repr=False)
class Panel(Settings):
    """A synthesiser for tables with several rows a person: sequences are drawn, and ids repeat as they do in the original.

    One network learns first rows together with the number of rows; another learns a row given the row before (a Markov chain of
    the first order). What never changes within a person is drawn once. The schema says whose rows they are (`role = "person"`) and
    what orders them (`role = "order"`).

    Parameters
    ----------
    rows
        The settings of both networks. `label` and `sensitive` hold in both: nothing is drawn from a sensitive column, of this row
        or of the one before. It cannot have an epsilon, nor kept columns, a given order or a given network.

    Examples
    --------
    >>> import pyarrow as pa, chaffinch
    >>> from chaffinch.table.persons import with_persons
    >>> visits = pa.table({"who": [i // 3 for i in range(90)], "visit": [1, 2, 3] * 30, "ill": ["no", "no", "yes"] * 30})
    >>> model = Panel().fit(with_persons(chaffinch.read(visits), "who", "visit"), seed=1)
    >>> model.n_persons, model.sample(6, seed=2).to_arrow()["visit"].to_pylist()
    (30, [1, 2, 3, 1, 2, 3])
    """

    name: ClassVar[str] = "panel"
    sentence: ClassVar[str] = "sequences, where a person has several rows"
    model: ClassVar[type[PanelModel]] = PanelModel
    refused: ClassVar[tuple[str, ...]] = ("keep", "root", "epsilon")
    refusal: ClassVar[str] = "draws whole sequences without a promise"

    rows: BayesNet = field(default_factory=BayesNet)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.rows, BayesNet):
            raise InputError(f"rows must be a BayesNet. Got {type(self.rows).__name__}.")
        unfit = [
            name
            for name in ("epsilon", "keep", "order", "root", "network")
            if getattr(self.rows, name)
        ]
        if unfit:
            raise InputError(
                f"A panel draws sequences without a promise, in an order of its own: leave out {join_names(unfit)}."
            )
        if self.rows.conditionals == "trees":
            raise InputError('A panel has tables, not trees yet: leave out conditionals="trees".')

    @property
    def label(self) -> str | None:
        """The label of its networks."""
        return self.rows.label

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The columns that its networks protect."""
        return tuple(self.rows.sensitive)

    def fit(self, data: Any, *, seed: Seed = None, progress: Progress = silent) -> PanelModel:
        """Return a model of a table whose schema says whose rows they are."""
        table = data.table if isinstance(data, MemoryCounter) else open_table(data)
        check_decided(table.schema)
        if table is not data and not isinstance(data, MemoryCounter):
            enough_to_learn(table.n_rows, table.person_of)
        threads = data.threads if isinstance(data, MemoryCounter) else None
        schema, person = table.schema, table.schema.only("person")
        by_person = [
            text
            for text in schema.rules
            if isinstance(rule := parse_rule(text), Determines) and rule.determinant == person
        ]  # by how it is drawn
        if any(text not in (*schema.found_rules, *by_person) for text in schema.rules):
            raise InputError(
                "A panel does not keep rules yet: take them out of the schema, or leave out the role person."
            )
        table = replace(
            table, schema=replace(schema, rules=(), found_rules=(), suggested=(), functions=())
        )
        if table.schema.only("weight") is not None:
            raise InputError(
                "A panel is not weighted yet: take the role weight away, and the weights are a column like others."
            )
        self.rows.rules(table.schema.names)  # raises for columns that the table does not have
        if (order := table.schema.only("order")) is not None and order in self.sensitive:
            raise InputError(
                f"Column '{order}' orders the rows of a person: it cannot be sensitive."
            )
        rng = generator(seed)
        sequences = sequences_of(table)
        progress("learning first rows", -1)
        rows = replace(self.rows, conditionals="tables")
        first = rows.fit(MemoryCounter(sequences.first, threads=threads), seed=rng)
        steps = None
        if sequences.steps is not None:
            progress("learning steps", -1)
            settings = _step_settings(rows, sequences.dynamics, sequences.steps.schema.names)
            steps = settings.fit(MemoryCounter(sequences.steps, threads=threads), seed=rng)
        return PanelModel(
            schema=table.schema,
            first=first,
            steps=steps,
            dynamics=sequences.dynamics,
            learnt_rows=table.n_rows,
            origin=table.look,
        )


def _step_settings(rows: BayesNet, dynamics: Dynamics, names: Sequence[str]) -> BayesNet:
    """Return the settings of the network of steps: what is known comes first, and nothing that is sensitive is a parent."""
    hidden = set(rows.sensitive)
    known = [name for name in names if name in dynamics.constant or name.startswith(before(""))]
    drawn = [name for name in names if name not in known]
    secret = [
        name for name in known if name in hidden or any(name == before(column) for column in hidden)
    ]
    inside = [
        (a, b) for a, b in permutations(known, 2)
    ]  # how known columns hang together is not asked
    cut = [(name, child) for name in secret for child in drawn]
    forbid = [
        (source, target)
        for parent, target in rows.forbid
        if target in drawn
        for source in (parent, before(parent))
        if source in names
    ]
    sensitive = tuple(name for name in rows.sensitive if name in drawn)
    label = rows.label if rows.label in names else None
    return replace(
        rows,
        label=label if sensitive else None,
        sensitive=sensitive,
        keep=tuple(known),
        require=tuple(edge for edge in rows.require if edge[0] in drawn and edge[1] in drawn),
        forbid=tuple(dict.fromkeys([*inside, *cut, *forbid])),
    )


def before(name: str) -> str:
    """Return the name of the column that holds another's value in the row before."""
    return f"(before) {name}"


def step(name: str) -> str:
    """Return the name of the column that holds how far a number moved since the row before."""
    return f"(step) {name}"


def sequences_of(table: Table) -> Sequences:
    """Return the sequences of a table whose schema says whose rows they are; raise where they cannot be told."""
    schema, rows = table.schema, person_rows(table)
    order = schema.only("order")
    taken = [
        name for name in schema.names if name == LENGTH or name.startswith((before(""), step("")))
    ]
    if taken:
        raise InputError(
            f"Columns have names that a panel needs for itself: {join_names(taken)}. Rename them."
        )
    columns = {name: schema[name] for name in schema.names}
    codes: dict[str, NDArray[np.integer]] = {name: table.code(name) for name in schema.names}
    if order is not None:
        columns[order], codes[order] = _as_number(schema[order], table.data.column(order))
    later, earlier = rows.steps
    whose = np.repeat(np.arange(rows.n_persons), rows.lengths - 1)
    dynamics = _dynamics(table, columns, _Steps(later, earlier, whose), order)

    length, length_codes = _fit_numbers(
        Column(LENGTH, "integer", type="int64"), pa.array(rows.lengths)
    )
    parts: dict[str, tuple[Column, NDArray[np.integer]]] = {}
    for name, column in columns.items():
        parts[name] = (column, codes[name][rows.first])
    first = _code_table({**parts, LENGTH: (length, length_codes)}, rows.n_persons)
    if not len(later):
        return Sequences(first, None, dynamics)

    parts = {}
    for name in dynamics.constant:
        parts[name] = (columns[name], codes[name][earlier])
    for name in (*dynamics.moving, *dynamics.free):
        parts[before(name)] = (replace(columns[name], name=before(name)), codes[name][earlier])
    for name in dynamics.moving:
        numbers, _ = to_numbers(table.data.column(name))
        moved = pa.array(numbers[later] - numbers[earlier])
        kind: Kind = "integer" if pa.types.is_integer(moved.type) else "float"
        parts[step(name)] = _fit_numbers(
            Column(step(name), kind, type=type_name(moved.type), decimals=columns[name].decimals),
            moved,
        )
    for name in dynamics.free:
        parts[name] = (columns[name], codes[name][later])
    return Sequences(first, _code_table(parts, len(later)), dynamics)


class _Steps(NamedTuple):
    """Rows, the rows of the same persons before them, and numbers for the persons."""

    later: NDArray[np.int64]
    earlier: NDArray[np.int64]
    whose: NDArray[np.int64]


def _dynamics(
    table: Table, columns: Mapping[str, Column], steps: _Steps, order: str | None
) -> Dynamics:
    """Return what each column does from a row to the next of the same person."""
    constant: list[str] = []
    stepped: list[str] = []
    free: list[str] = []
    repeated_shares: dict[str, float] = {}
    later, earlier, whose = steps
    for name, column in columns.items():
        if name == order:
            continue
        codes = table.code(name)
        same_code = codes[later] == codes[earlier]
        if not column.is_numeric:
            (constant if same_code.all() else free).append(name)
            continue
        numbers, present = to_numbers(table.data.column(name))
        usable = present & np.isfinite(numbers) & (codes < column.fitted_codec.n_values)
        same = same_code & ((numbers[later] == numbers[earlier]) | ~usable[later])
        if same.all():
            constant.append(name)
        elif usable.all() and _steps_are_few(numbers[later] - numbers[earlier], whose, numbers):
            stepped.append(name)
        else:
            free.append(name)
            alike = same_code & usable[later]
            repeated_shares[name] = float(same[alike].mean()) if alike.sum() >= THRESHOLD else 0.0
    return Dynamics(order, tuple(constant), tuple(stepped), tuple(free), repeated_shares)


def _steps_are_few(moved: NDArray[Any], whose: NDArray[np.int64], numbers: NDArray[Any]) -> bool:
    """Return whether a number moves by a few amounts only, each of many persons, and by far fewer than it has values.

    A code of three values moves by five amounts at most: its amounts would lead out of its values.
    """
    amounts, which = np.unique(moved, return_inverse=True)
    if len(amounts) > MOST_STEPS or 3 * len(amounts) > len(np.unique(numbers)):
        return False
    persons = np.bincount(
        np.unique(which * (int(whose.max()) + 1) + whose) // (int(whose.max()) + 1)
    )
    return bool((persons >= THRESHOLD).all())


def _as_number(column: Column, values: pa.ChunkedArray) -> tuple[Column, NDArray[np.integer]]:
    """Return the order of rows as a number with codes of its own: few values of it may have been taken for categories."""
    order_numbers(column, values)
    if column.is_numeric:
        return column, encode_column(column, values.combine_chunks())
    kind = value_type(parse_type(column.type))
    number: Kind = "integer" if is_whole(kind) else "float"
    plain = Column(
        column.name, number, "order", type_name(kind), decimals=column.decimals, step=column.step
    )
    return _fit_numbers(plain, values.combine_chunks().cast(kind))


def _fit_numbers(column: Column, values: pa.Array) -> tuple[Column, NDArray[np.integer]]:
    """Return a column of numbers with its codec, and the codes of its values."""
    profile = Profile(values.type)
    profile.add(values)
    fitted, _ = fit_column(column, profile, rare_below=0)
    return fitted, encode_column(fitted, values)


def _code_table(parts: Mapping[str, tuple[Column, NDArray[np.integer]]], n_rows: int) -> Table:
    """Return a table of codes alone: nothing but counts is asked of it."""
    schema = Schema(tuple(replace(column, role="other") for column, _ in parts.values()))
    codes = Codes.from_columns([codes for _, codes in parts.values()], schema.sizes, n_rows=n_rows)
    values = {name: pa.nulls(n_rows) for name in parts}
    return Table(schema, pa.table(values), codes)
