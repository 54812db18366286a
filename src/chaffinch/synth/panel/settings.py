"""What to learn of a panel: the settings of its two networks, and its fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations
from typing import Any, ClassVar, Self

from ..._base.conditions import Determines
from ..._base.errors import InputError, listed
from ..._base.runtime import Progress, silent
from ..._base.seeds import Seed, generator
from ...counts.counter import MemoryCounter
from ...table.personal.detect import check_decided
from ...table.read import open_table
from ...table.rules.relations import parsed
from ...table.schema import Schema
from ..bayesnet import BayesNet
from ..data import enough_to_learn
from ..settings import SYNTHESISERS, MethodOptions, Settings
from .model import PanelModel
from .sequences import Dynamics, before, sequences_of


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
        if not isinstance(self.rows, BayesNet):
            raise InputError(f"rows must be a BayesNet. Got {type(self.rows).__name__}.")
        unfit = [
            name
            for name in ("epsilon", "keep", "order", "root", "network")
            if getattr(self.rows, name)
        ]
        if unfit:
            raise InputError(
                f"A panel draws sequences without a promise, in an order of its own: leave out {listed(unfit)}."
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
        return self.rows.sensitive

    @classmethod
    def from_options(cls, options: MethodOptions) -> Self:
        """Return the settings that options amount to."""
        cls.check_options(options)
        return cls(BayesNet.from_options(options))

    def counted_sets(self, n_columns: int) -> int:
        """Return about how many sets of columns a fit counts: of the columns, and of the columns twice."""
        return self.rows.counted_sets(n_columns) + self.rows.counted_sets(2 * n_columns)

    def fit(self, data: Any, *, seed: Seed = None, progress: Progress = silent) -> PanelModel:
        """Return a model of a table whose schema says whose rows they are."""
        table = data.table if isinstance(data, MemoryCounter) else open_table(data)
        check_decided(table.schema)
        if table is not data and not isinstance(data, MemoryCounter):
            enough_to_learn(table.n_rows, table.person_of)
        threads = data.threads if isinstance(data, MemoryCounter) else None
        schema, person = table.schema, table.schema.only("person")
        kept = [
            text
            for text in schema.rules
            if isinstance(rule := parsed(text), Determines) and rule.left == person
        ]  # by how it is drawn
        if any(text not in (*schema.found, *kept) for text in schema.rules):
            raise InputError(
                "A panel does not keep rules yet: take them out of the schema, or leave out the role person."
            )
        table = replace(
            table, schema=replace(schema, rules=(), found=(), suggested=(), functions=())
        )
        if table.schema.only("weight") is not None:
            raise InputError(
                "A panel is not weighted yet: take the role weight away, and the weights are a column like others."
            )
        _check_names(self.rows, table.schema)
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


def _check_names(rows: BayesNet, schema: Schema) -> None:
    """Raise for columns that the table does not have, or that are no part of a network."""
    rows.rules(schema.names)
    if (order := schema.only("order")) is not None and order in rows.sensitive:
        raise InputError(f"Column '{order}' orders the rows of a person: it cannot be sensitive.")


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
