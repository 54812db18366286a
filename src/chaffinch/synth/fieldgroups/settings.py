"""What to learn: tables of groups of fields, after DPFieldGroups (John Gardner, NIST 2018 challenge).

Galloni, Lendák and Horváth (2020) call it DPGroupFields.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, get_args

import numpy as np

from ..._base.errors import InputError, unknown_name
from ..._base.runtime import Progress, silent
from ..._base.seeds import Seed, generator
from ...privacy.advice import Expectation, expect
from ...privacy.ledger import Plan
from ...privacy.opening import open_private, public_rows
from ...privacy.relation import Neighbours
from ...table.schema import Schema
from ..bayesnet.model import BayesNetModel, FitSummary
from ..data import private_data
from ..model import Draw
from ..private_model import private_model
from ..settings import SYNTHESISERS, PureMethod
from .groups import check_groups, resolved_groups
from .measuring import Empty, Margin, learnt_groups, measured_columns, tables_of
from .split import planned, split_of


@SYNTHESISERS.register
@dataclass(frozen=True, repr=False)
class FieldGroups(PureMethod):
    """Groups of columns, each measured as one full table with noise; rows draw each group independently of the others.

    The promise is pure epsilon, by default for one record more or less. Proof: the table of each of G groups is a discrete Laplace
    mechanism of epsilon / G (one person moves it by `unit.l1`, the noise has scale `unit.l1` G / epsilon, in every declared cell);
    learning, if there is any, is two more such steps; amounts add up (sequential composition). Threshold and drawing read
    only what these released.

    What is not promised: links between columns of different groups are lost altogether, and rare combinations fall below
    the threshold.

    Parameters
    ----------
    epsilon
        The whole budget.
    groups
        Lists of columns that share a table; columns not named are groups of their own. They must not be chosen by looking at the
        data. None: learnt from the data, which is paid for. The published method has groups fixed by hand.
    delta
        Only needed where levels are to be discovered (`discover = true` in the schema).
    neighbours
        "add-remove" (published) or "replace-one" (the schema must declare rows).
    rows_per_person
        The most rows of one person, where the table was prepared with a person's identifier.
    threshold
        Cells below threshold * scale * log10(cells) are set to 0.
    learning
        The share of the budget for learning groups: half of it for single columns, half for the distances of pairs from
        independence. Nothing is spent on it where noise would drown the distances; every column is then a group of its own.
    empty
        A group with nothing above its threshold is drawn from its noisy single columns ("columns"), or has the first level in all
        columns ("first", as published).
    draw
        How rows are drawn: "systematic" (None, the default) or "independent", one by one as published.

    Examples
    --------
    >>> FieldGroups(epsilon=1.0, groups=[["age", "sex"], ["job"]]).groups
    (('age', 'sex'), ('job',))
    """

    name: ClassVar[str] = "fieldgroups"
    sentence: ClassVar[str] = "one noisy table for each group of columns"
    model: ClassVar[type[BayesNetModel]] = BayesNetModel
    without: ClassVar[str] = "BayesNet()"

    epsilon: float
    groups: Sequence[Sequence[str]] | None = None
    delta: float | None = None
    neighbours: Neighbours = "add-remove"
    rows_per_person: int = 1
    threshold: float = 1.9
    learning: float = 0.3
    empty: Empty = "columns"
    draw: Draw | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.groups is not None and self.groups != (groups := check_groups(self.groups)):
            object.__setattr__(self, "groups", groups)
        if not (np.isfinite(self.threshold) and self.threshold >= 0):
            raise InputError(f"threshold must be at least 0. Got {self.threshold}.")
        if not 0 < self.learning < 1:
            raise InputError(f"learning must lie between 0 and 1. Got {self.learning}.")
        if self.empty not in get_args(Empty):
            raise unknown_name("way to fill an empty group", self.empty, get_args(Empty))

    def plan(self, schema: Schema) -> Plan:
        """Return how the budget would be split on a declared schema, before anything is spent."""
        return planned(self, schema)

    def expectation(self, schema: Schema) -> Expectation:
        """Return what to expect of the budget; columns of different groups are never linked."""
        split, sizes, rows = self.plan(schema), schema.sizes, schema.rows or 0
        if self.groups is None:
            return expect(
                self.title, split, sizes, rows, n_tables=len(sizes), linked=len(split.steps) > 1
            )
        groups = [
            [schema.names.index(n) for n in group] for group in resolved_groups(self.groups, schema)
        ]
        return expect(self.title, split, sizes, rows, n_tables=len(groups), groups=groups)

    def fit(self, data: Any, *, seed: Seed = None, progress: Progress = silent) -> BayesNetModel:
        """Return a private model of a table with a declared schema (`chaffinch.prepare`).

        It is a network in which each column has the earlier columns of its group as parents. Noise comes from the operating
        system through OpenDP. A seed is for tests and attacks: the model is then marked `test_only`.
        """
        rng = generator(seed)
        data, origin = private_data(data)
        with open_private(
            data, self.budget, self.unit, seed=None if seed is None else rng
        ) as counter:
            schema = counter.schema
            groups = resolved_groups(self.groups or (), schema)
            rows, how = public_rows(counter)
            split = split_of(self, schema.sizes, rows, counter.ledger.left)
            columns: dict[str, Margin] = {}
            if split.learnt:
                progress("learning groups", -1)
                margins, stds = measured_columns(counter, split)
                columns = dict(zip(schema.names, margins, strict=True))
                groups = learnt_groups(counter, split, margins, stds, factor=self.threshold)
            progress("measuring groups", -1)
            each = counter.ledger.left / len(groups) * (1 - 1e-12)
            noisy = counter.tables(groups, [each] * len(groups), why="tables")
            account = counter.ledger.account(test_only=counter.test_only, rows=rows, rows_how=how)
        tables, whole = tables_of(
            noisy, self.unit.l1 / each, factor=self.threshold, empty=self.empty, columns=columns
        )
        order = [schema.names.index(name) for group in groups for name in group]
        parents: list[list[int]] = []
        for group, linked in zip(groups, whole, strict=True):
            at = [schema.names.index(name) for name in group]
            parents += [at[:i] if linked else [] for i in range(len(at))]
        search, score = ("groups", "distance") if split.learnt else ("given", "none")
        summary = FitSummary(self.name, search, score, privacy=account, draw=self.drawing)
        return private_model(schema, order, parents, tables, summary, origin=origin)
