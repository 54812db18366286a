"""A synthesiser that chooses among others under one promise: candidates are fitted privately, one is chosen privately, and all of it is charged."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar

import numpy as np

from .._base.errors import InputError, PrivacyError
from .._base.runtime import Progress, silent
from .._base.seeds import Seed
from ..counts.counter import MemoryCounter
from ..privacy.ledger import Account, Budget, Plan
from ..privacy.relation import Neighbours
from ..privacy.selection import (
    Candidate,
    Fit,
    SelectionPlan,
    pairs_workload,
    plan_selection,
    select_candidate,
)
from ..privacy.settings import EPSILON, NEIGHBOURS, Delta, RowsPerPerson
from ..table.rows import as_rows
from ..table.schema import Schema
from ..table.table import Table
from .bayesnet.model import BayesNetModel
from .options import DrawnRows
from .settings import PureMethod, Settings


@dataclass(frozen=True, repr=False)
class SelectedSettings(PureMethod):
    """Of several private synthesisers the one whose table comes nearest to the data, chosen privately, under one epsilon for all fits and the choice.

    The promise, for the neighbour relation of the settings, is that of `privacy.selection`, which has the proof. Candidates, their number and the workload must be settled
    without the data. What a fit may spend is less than epsilon: `plan` says how much.

    Parameters
    ----------
    epsilon
        The budget of everything.
    candidates
        Synthesisers with an epsilon, which is replaced by what the plan gives a fit.
    workload
        Sets of columns by whose counts tables are compared; all pairs unless given.
    selections
        The account of each fit and the place of the candidate that it chose are appended to it: `position_of` looks there.
    """

    name: ClassVar[str] = "selected"
    sentence: ClassVar[str] = "one of several, chosen privately"
    model: ClassVar[type[BayesNetModel]] = BayesNetModel
    without: ClassVar[str] = "BayesNet()"

    epsilon: Annotated[float, EPSILON]
    candidates: tuple[Settings, ...] = ()
    workload: tuple[tuple[str, ...], ...] = ()
    delta: Delta = None
    neighbours: Annotated[Neighbours, NEIGHBOURS] = "add-remove"
    rows_per_person: RowsPerPerson = 1
    draw: DrawnRows = None
    selections: list[tuple[Account, int]] = field(default_factory=list, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.candidates:
            raise InputError("A private selection needs at least one candidate.")
        if self.delta is not None:
            raise InputError("A private selection here is under pure epsilon: leave out delta.")
        for candidate in self.candidates:
            if not candidate.private or candidate.unit != self.unit:
                raise PrivacyError(
                    f"{candidate!r} makes no promise for the same relation: a selection is as private as what it chooses from."
                )

    @property
    def selection(self) -> SelectionPlan:
        """How the choice is made and what each fit may spend: from public numbers alone."""
        return plan_selection(Budget(self.epsilon), self.unit, len(self.candidates))

    def plan(self, schema: Schema) -> Plan:
        """Return how the budget is split, before anything is spent."""
        for candidate in self.candidates:
            self._with(candidate, self.selection.fit).plan(
                schema
            )  # raises where a candidate cannot be fitted
        return replace(self.selection, unit=self.unit.for_persons(schema.persons)).preview()

    def fit(self, data: Any, *, seed: Seed = None, progress: Progress = silent) -> BayesNetModel:
        """Return the model of the candidate that was chosen; its account is of all fits and the choice. A seed is for tests."""
        rows = as_rows(data)
        if rows is None and not isinstance(data, MemoryCounter):
            raise PrivacyError(
                "A private selection needs a table under a declared schema: chaffinch.prepare(data, 'schema.toml') returns one."
            )
        counter = data if rows is None else MemoryCounter(rows.table())
        progress("fitting and choosing candidates", -1)
        selected = select_candidate(
            counter,
            [self._fit(candidate, counter.table) for candidate in self.candidates],
            self.workload or pairs_workload(counter.schema),
            self.selection,
            seed=seed,
        )
        self.selections.append((selected.account, selected.position))
        model: BayesNetModel = selected.model
        return replace(model, fitted=replace(model.fitted, privacy=selected.account))

    def position_of(self, model: BayesNetModel) -> int:
        """Return the place of the candidate that a model of these settings was fitted with, however many others were fitted since: part of what is released."""
        return next(position for account, position in self.selections if account is model.privacy)

    def _fit(self, settings: Settings, table: Table) -> Fit:
        def fit(budget: Budget, seed: Seed) -> Candidate:
            model = self._with(settings, budget).fit(table, seed=seed)
            drawn = model.sample(
                seed=None if seed is None else np.random.default_rng(seed).integers(2**31).item()
            )
            assert model.privacy is not None
            return Candidate(model, MemoryCounter(drawn), model.privacy)

        return fit

    @staticmethod
    def _with(settings: Settings, budget: Budget) -> Settings:
        return settings.set_params(epsilon=budget.epsilon)
