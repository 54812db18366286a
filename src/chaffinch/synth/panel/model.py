"""What was learnt of a panel: a network of first rows, a network of steps. Draws whole sequences, person after person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..._base.errors import InputError
from ..._base.runtime import Progress, silent
from ..._base.seeds import Seed, seed_sequence
from ..._base.svg import Drawing
from ...table.codec import Categories, Intervals
from ...table.codes import Codes
from ...table.encode import decode_column, encode_column
from ...table.personal.fake import fake_values
from ...table.schema import Column, Schema
from ...table.table import Origin, Table, new_identifiers
from ...table.types import from_numbers, parse_type, to_numbers, value_type
from ..bayesnet.model import BayesNetModel
from ..model import BATCH_ROWS, ColumnCodes, FittedModel, made_up_key, whole_rows
from ..protocol import ModelColumn, ModelDescription
from .sequences import LENGTH, Dynamics, before, step


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
            and all(
                isinstance(self.first.schema[name].codec, Intervals)
                for name in (*dynamics.moving, LENGTH)
            )
            and all(0 <= share <= 1 for share in dynamics.kept.values())
            and all(isinstance(self.schema[name].codec, Intervals) for name in dynamics.kept)
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
                made = fake_values(
                    replace(column, repeats=column.repeats and 1),
                    first_person,
                    n_persons,
                    key=key,
                    rng=rng,
                )
                arrays[column.name] = made.take(pa.array(drawn.persons))
            elif column.role == "person":
                ids = new_identifiers(column, first_person, n_persons)
                arrays[column.name] = ids.take(pa.array(drawn.persons))
            elif column.modelled:
                own = column.name != self.dynamics.order
                codes.append(
                    drawn.codes[column.name] if own else encode_column(column, arrays[column.name])
                )
            elif column.written:
                arrays[column.name] = new_identifiers(column, first_person, len(drawn.persons))
        coded = Codes.of(codes, self.schema.sizes, n_rows=len(drawn.persons))
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
        from ..model_file import schema_to_dict

        data: dict[str, Any] = {
            "learnt_rows": self.learnt_rows,
            "dynamics": _dynamics_dict(self.dynamics),
        }
        arrays: dict[str, NDArray[Any]] = {}
        for part in ("first", "steps"):
            model = getattr(self, part)
            data[part] = None
            if model is not None:
                inner, tables = model.state()
                data[part] = {"schema": schema_to_dict(model.schema), **inner}
                arrays |= {f"{part}.{name}": array for name, array in tables.items()}
        return data, arrays

    @classmethod
    def from_state(
        cls, schema: Schema, data: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> Self:
        """Return the model of a file, every part checked."""
        from ..model_file import schema_from_dict

        models: dict[str, Any] = {}
        for part in ("first", "steps"):
            entry, prefix = data[part], f"{part}."
            tables = {
                name.removeprefix(prefix): array
                for name, array in arrays.items()
                if name.startswith(prefix)
            }
            models[part] = (
                None
                if entry is None
                else BayesNetModel.from_state(schema_from_dict(entry["schema"]), entry, tables)
            )
        plain = data["dynamics"]
        names = {
            f.name: tuple(plain[f.name])
            for f in fields(Dynamics)
            if f.name not in ("order", "kept")
        }
        dynamics = Dynamics(plain["order"], kept=dict(plain["kept"]), **names)
        rows = data["learnt_rows"]
        if models["first"] is None or not isinstance(rows, int) or rows < 0:
            raise InputError("A panel model lacks its first rows.")
        return cls(schema, models["first"], models["steps"], dynamics, rows)

    def __repr__(self) -> str:
        return f"PanelModel({self.n_persons:,} persons, {len(self.schema.names)} columns)"


def _dynamics_dict(dynamics: Dynamics) -> dict[str, Any]:
    plain = {f.name: getattr(dynamics, f.name) for f in fields(Dynamics)}
    return {
        name: list(value) if isinstance(value, tuple) else dict(value) if name == "kept" else value
        for name, value in plain.items()
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
        left = self._begin()
        number = 1
        while self.model.steps is not None and (left > number).any():
            left = self._go_on(left, number)
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
            self._place(values, codes)
        self.blocks.append((self.persons, values, codes))
        return np.maximum(to_numbers(lengths)[0].astype(np.int64), 1)

    def _place(
        self, values: dict[str, pa.Array], codes: dict[str, NDArray[np.uint32]]
    ) -> NDArray[np.bool_]:
        """Bring the order onto values that the table's column can have, in place; return which rows still have one."""
        order = self.model.dynamics.order
        assert order is not None
        ours, theirs = self.columns[order], self.model.schema[order]
        numbers, inside = to_numbers(values[order])[0], np.ones(len(values[order]), dtype=bool)
        if isinstance(codec := theirs.codec, Categories):
            levels = np.sort(
                np.array(
                    [level for level in codec.levels if not isinstance(level, str)],
                    dtype=numbers.dtype,
                )
            )
            at = np.searchsorted(levels, numbers)
            inside = at < len(levels)
            numbers = levels[np.minimum(at, len(levels) - 1)]
        elif isinstance(ours.codec, Intervals):
            inside = numbers <= ours.codec.ranges()[1].max()
        values[order] = from_numbers(
            numbers, np.ones(len(numbers), dtype=bool), value_type(parse_type(theirs.type))
        )
        codes[order] = encode_column(
            ours, values[order].cast(value_type(parse_type(ours.type)))
        ).astype(np.uint32)
        return inside

    def _go_on(self, left: NDArray[np.int64], number: int) -> NDArray[np.int64]:
        """Draw the next row of everybody who is to have one; return how many rows each person is to have from now on."""
        steps, dynamics = self.model.steps, self.model.dynamics
        assert steps is not None
        persons, last_values, last_codes = self.blocks[-1]
        stay = left > number
        persons, left = persons[stay], left[stay]
        kept = pa.array(np.flatnonzero(stay))
        last_values = {name: values.take(kept) for name, values in last_values.items()}
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
            values[name], codes[name] = _moved(self.columns[name], last_values[name], amounts)
        if dynamics.order is not None:
            inside = self._place(values, codes)
            if not inside.all():
                some = pa.array(np.flatnonzero(inside))
                persons, left = persons[inside], left[inside]
                values = {name: array.take(some) for name, array in values.items()}
                codes = {name: array[inside] for name, array in codes.items()}
        self.blocks.append((persons, values, codes))
        return left

    def _free(
        self,
        name: str,
        codes: NDArray[np.uint32],
        last_values: pa.Array,
        last_codes: NDArray[np.uint32],
    ) -> pa.Array:
        """Return values for codes; where the code is that of the row before, its value as often as it stays in the original."""
        values = decode_column(self.columns[name], codes, self.rng)
        share = self.model.dynamics.kept.get(name, 0.0)
        if not share:
            return values
        same = (codes == last_codes) & (self.rng.random(len(codes)) < share)
        at = np.where(same, np.arange(len(codes)) + len(codes), np.arange(len(codes)))
        return pa.concat_arrays([values, last_values]).take(pa.array(at))


def _moved(
    column: Column, last: pa.Array, amounts: NDArray[Any]
) -> tuple[pa.Array, NDArray[np.uint32]]:
    """Return numbers after a step as values and codes of a column, inside the range that was declared for it.

    Where none was, a step may lead a little beyond what the original has: an age that grows by one a year goes on growing.
    """
    codec = column.fitted_codec
    assert isinstance(codec, Intervals)
    numbers = to_numbers(last)[0] + amounts
    if (
        bounds := codec.bounds
        or (None if column.edges is None else (column.edges[0], column.edges[-1]))
    ) is not None:
        numbers = np.clip(numbers, *bounds).astype(numbers.dtype)
    if not codec.whole and codec.decimals is not None:
        numbers = np.round(numbers, codec.decimals)
    values = from_numbers(
        numbers, np.ones(len(numbers), dtype=bool), value_type(parse_type(column.type))
    )
    return values, encode_column(column, values).astype(np.uint32)
