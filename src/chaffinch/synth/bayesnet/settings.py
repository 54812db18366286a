"""What to learn: the settings of a Bayesian-network synthesiser, and its fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, ClassVar, Literal, cast

import numpy as np
from numpy.typing import NDArray

from ..._base.checks import check_name
from ..._base.errors import InputError
from ..._base.options import Option
from ..._base.runtime import Progress, silent
from ..._base.seeds import Seed, generator
from ...counts.counter import RowCounter
from ...counts.plan import Columns
from ...privacy.ledger import Plan
from ...privacy.relation import Neighbours
from ...privacy.settings import NEIGHBOURS, PrivacyBudget
from ...table.schema import Schema
from ..data import counter_of, fine_counter
from ..options import DrawnRows, NetworkOptions
from ..settings import SYNTHESISERS, Settings
from .model import BayesNetModel, FitSummary
from .network import Constraints, Network, Rules, make_rules
from .private import fit_private, plan_private
from .protection import protected_schema, protection_of
from .searches import (
    FamilyScores,
    Score,
    default_penalty,
    genetic_search,
    greedy_search,
    ordering_search,
)
from .tables import ConditionalTable, table_from_marginal
from .trees import CANDIDATES, TreeSettings, TreeTable, learn_trees

SMOOTHING, TREE_SMOOTHING = 1.0, 3.0
"""Weight of fewer parents in tables, of the node above in trees, in records. See docs/design/0005 and 0022."""

PARENTS, PRIVATE_PARENTS, TREE_PARENTS = 3, 5, 6
"""The most parents of a column unless told otherwise: of tables without and with a promise, and of trees."""

_SCORES: dict[str, tuple[Score, ...]] = {
    "ordering": ("penalised", "pairwise", "joint"),
    "greedy": ("joint", "penalised"),
    "genetic": ("pairwise",),
}


@SYNTHESISERS.register
@dataclass(frozen=True, kw_only=True, repr=False)
class BayesNet(Settings, PrivacyBudget, NetworkOptions):
    """A synthesiser that learns a Bayesian network of at most `parents` parents for each column.

    Parameters
    ----------
    parents
        The most parents of a column (k in the papers). None: 3, of trees 6; under a promise up to 5, where only links that are
        worth their noise are taken, and 3 where even single columns are noisy.
    search
        "ordering" (the default; orders are searched, parents solved exactly), "greedy" (GreedyBayes) or "genetic" (Hittmeir,
        Mayer and Ekelhart 2022). Under a promise "ordering" and "genetic" run on distances that are measured once (docs/design/0012).
    score
        "penalised", "pairwise" or "joint"; each search has its own default, the first of those it can use.
    label, sensitive, protect
        Sensitive columns are cut off from all but the label ("separate") or from all but the label and each
        other ("together").
    keep
        Columns to be kept when a given table is completed: nothing else becomes their parent.
    require, forbid, order, root, network
        Edges (parent, child) that must or must not be; a fixed order; a fixed first column; or the whole network.
    conditionals, leaf
        "trees" split the codes of columns before where it matters (at most 6 of them, or `parents`), with at least `leaf` records in a leaf and
        numbers cut finer (docs/design/0022); "tables" are counts by the parents' codes. None: trees where nothing else asks for tables, as a promise,
        the papers' searches and scores, and counters that hand out no rows do.
    smoothing
        How much, in records, fewer parents (the node above, in trees) weigh in each conditional distribution; 0 turns it off. None: 1 record, 3 in trees.
    penalty
        What each free cell of a family costs under "penalised", in nats. None: half a nat with one or two parents, less
        with more (`default_penalty`).
    evolution
        The parameters of the genetic search.
    epsilon, delta
        The budget of a private fit; None, and only None, means no privacy. With a delta the noise is Gaussian and adds up
        exactly, without one it is Laplace noise under pure epsilon.
    neighbours, rows_per_person
        Whose data a private fit protects: by default tables that differ in one record added or removed.
    draw
        How rows are drawn: "systematic", counts as near to what the model expects as they can be, or "independent", one by one. None:
        systematic under a promise, which covers whatever is drawn; independent without one, since counts show the data then.

    Examples
    --------
    >>> import pyarrow as pa, chaffinch
    >>> table = chaffinch.read(pa.table({"a": ["x", "y"] * 30, "b": ["p", "q"] * 30}))
    >>> model = BayesNet(parents=1).fit(table, seed=1)
    >>> len(model.network.edges), model.sample(5, seed=2).n_rows
    (1, 5)
    """

    name: ClassVar[str] = "bayesnet"
    sentence: ClassVar[str] = "a Bayesian network of the columns"
    model: ClassVar[type[BayesNetModel]] = BayesNetModel
    promise: ClassVar[Literal["optional"]] = "optional"
    refused: ClassVar[tuple[str, ...]] = ()

    order: Annotated[
        Sequence[str] | None, Option("Columns in the order in which they are drawn.")
    ] = None
    network: Network | None = None
    neighbours: Annotated[Neighbours, NEIGHBOURS] = "add-remove"
    draw: DrawnRows = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epsilon is not None:
            self._check_private()
        if self.conditionals == "trees" and self.epsilon is not None:
            raise InputError(
                'Trees have no private fit: leave out conditionals="trees", or leave out epsilon.'
            )
        scores = _SCORES[self.search]
        check_name(f"score for {self.search} search", self.score, scores, optional=True)

    @property
    def most_parents(self) -> int:
        """The most parents of a column."""
        if self.parents is not None:
            return int(self.parents)
        return PARENTS if self.epsilon is None else PRIVATE_PARENTS

    @property
    def has_trees(self) -> bool:
        """Whether conditional distributions are trees, of a table whose rows can be looked at."""
        if self.conditionals is not None:
            return self.conditionals == "trees"
        return self.epsilon is None and self.search == "ordering" and self._score == "penalised"

    @property
    def weight_above(self) -> float:
        """How much, in records, fewer parents weigh."""
        usual = TREE_SMOOTHING if self.has_trees else SMOOTHING
        return usual if self.smoothing is None else float(self.smoothing)

    def plain_params(self) -> dict[str, Any]:
        """Return the settings as a report keeps them; the smoothing is the one that is used."""
        return {**super().plain_params(), "smoothing": self.weight_above}

    def fit(self, data: Any, *, seed: Seed = None, progress: Progress = silent) -> BayesNetModel:
        """Return a model of a table, of whatever can be read as one, or of whatever a counter counts.

        With epsilon the schema must declare its domain (`chaffinch.prepare`), and noise comes from the operating system through
        OpenDP. A seed is for tests and attacks then: the model is marked `test_only`.
        """
        if self.epsilon is not None:
            return fit_private(self, data, seed=seed, progress=progress)
        counter, origin = counter_of(data)
        if self.conditionals is None and self.has_trees and not isinstance(counter, RowCounter):
            return replace(self, conditionals="tables").fit(counter, seed=seed, progress=progress)
        if counter.schema.only("person") is not None:
            raise InputError(
                "People have several rows here, which a network of rows would take for people: fit chaffinch.Panel(BayesNet(...))."
            )
        names = counter.schema.names
        rules = self.rules(names)
        schema, untied = protected_schema(counter.schema, self.label, self.sensitive, self.protect)
        price = (
            default_penalty(counter.n_rows, self.most_parents)
            if self.penalty is None
            else self.penalty
        )
        scores = FamilyScores(counter, penalty=price)
        progress("searching the network", -1)
        parents, fitness = self._structure(scores, rules, generator(seed))
        progress("counting the tables", -1)
        pairs = scores.pairs()
        del scores  # a hundred thousand sets and more, of many columns
        strongest = [
            sorted(chosen, key=(-pairs[i]).__getitem__) for i, chosen in enumerate(parents)
        ]
        network = _network(rules, strongest, label=self.label if self.sensitive else None)
        cliques = [(*network[name], name) for name in network.order]
        tables: tuple[ConditionalTable | TreeTable, ...]
        if self.has_trees:
            progress("growing the trees", -1)
            fine = fine_counter(counter)
            schema, untied = protected_schema(fine.schema, self.label, self.sensitive, self.protect)
            tables = self._trees(fine, rules, network, pairs)
            network = Network(network.order, tuple(table.parents for table in tables))
        else:
            tables = tuple(
                table_from_marginal(m, smoothing=self.weight_above)
                for m in counter.marginals(cliques)
            )
        number = {name: i for i, name in enumerate(names)}
        strengths = tuple(float(pairs[number[child], number[p]]) for p, child in network.edges)
        fitted = FitSummary(
            method="bayesnet",
            search="given" if self.network is not None else self.search,
            draw=self.drawing,
            score=self._score,
            fitness=fitness,
            strengths=strengths,
            label=self.label,
            sensitive=tuple(self.sensitive),
            keep=tuple(self.keep),
            protection=protection_of(counter, self.label, self.sensitive, self.protect, untied)
            if self.sensitive
            else None,
            n_rows=counter.n_rows,
            parents=(TREE_PARENTS if self.parents is None else self.most_parents)
            if self.has_trees
            else self.most_parents,
        )
        return BayesNetModel(schema, network, tables, fitted, origin)

    def _trees(
        self, counter: RowCounter, rules: Rules, network: Network, pairs: NDArray[np.float64]
    ) -> tuple[TreeTable, ...]:
        """The tree of each column, over those before it that rules allow, of these the ones that tell most of it and its parents among tables."""
        names, given = counter.schema.names, self.network is not None
        number = {name: j for j, name in enumerate(names)}
        order = np.array([number[name] for name in network.order], dtype=np.int64)
        candidates: dict[str, Sequence[str]] = {}
        for position, name in enumerate(network.order):
            child, parents, before = number[name], list(network[name]), order[:position]
            allowed = before[rules.allowed[child, before]]
            nearest = allowed[
                np.argsort(-pairs[child, allowed], kind="stable")[: CANDIDATES + len(parents)]
            ]
            ranked = list(dict.fromkeys([*parents, *(names[j] for j in nearest)]))
            candidates[name] = parents if given else ranked[: max(CANDIDATES, len(parents))]
        required = {
            name: list(network[name]) if given else [names[j] for j in rules.required[number[name]]]
            for name in names
        }
        settings = TreeSettings(
            min_rows=self.leaf,
            parents=TREE_PARENTS if self.parents is None else self.most_parents,
            smoothing=self.weight_above,
        )
        return learn_trees(counter, network.order, candidates, required, settings)

    def rules(self, names: Sequence[str]) -> Rules:
        """Return the rules that the settings amount to for these columns; raise where they contradict each other."""
        same = {
            field.name: getattr(self, field.name)
            for field in fields(Constraints)
            if field.name != "max_parents"
        }
        return make_rules(names, Constraints(self.most_parents, **same))

    def plan(self, schema: Schema) -> Plan:
        """Return how the budget would be split on a declared schema, before anything is spent."""
        return plan_private(self, schema)

    @property
    def title(self) -> str:
        """The method with how it adds up what it spends."""
        return f"bayesnet ({self.budget.title})"

    def _check_private(self) -> None:
        """Raise unless a private fit can follow the settings."""
        if self.keep:
            raise InputError(
                "keep copies columns of the original, which no promise can cover: leave it out, or leave out epsilon."
            )
        if self.search == "greedy":
            raise InputError(
                "Greedy search under a promise is PrivBayes: use PrivBayes(epsilon=...)."
            )
        if self.score is not None or self.penalty is not None:
            raise InputError(
                "score and penalty are for fits without epsilon: a private fit weighs distances against noise."
            )

    @property
    def _score(self) -> Score:
        return cast(Score, self.score) if self.score else _SCORES[self.search][0]

    def _structure(
        self, scores: FamilyScores, rules: Rules, rng: np.random.Generator
    ) -> tuple[list[Columns], float]:
        if self.network is not None:
            parents = self.given_parents(rules)
            return parents, scores.total("joint", parents)
        if self.search == "genetic":
            parents, _ = genetic_search(scores.pairs(), rules, rng, self.evolution)
            return parents, scores.total("pairwise", parents)
        if self.search == "greedy":
            parents = greedy_search(scores, rules, rng, score=self._score)
            return parents, scores.total(self._score, parents)
        return ordering_search(scores, rules, rng, score=self._score)

    def given_parents(self, rules: Rules) -> list[Columns]:
        """Return the parents of the given network, checked against the rules."""
        assert self.network is not None
        names = rules.names
        if sorted(self.network.order) != sorted(names):
            raise InputError("The given network must have the columns of the table, each once.")
        parents: list[Columns] = []
        for i, name in enumerate(names):
            chosen = tuple(sorted(names.index(p) for p in self.network[name]))
            if len(chosen) > self.most_parents:
                raise InputError(
                    f"The given network gives '{name}' {len(chosen)} parents, but parents = {self.most_parents}. Raise it."
                )
            for parent in chosen:
                if not rules.allowed[i, parent]:
                    raise InputError(
                        f"The given network has the edge {names[parent]}:{name}, which protection or a rule forbids."
                    )
            for parent in rules.required[i]:
                if parent not in chosen:
                    raise InputError(
                        f"The given network lacks the edge {names[parent]}:{name}, which is required."
                    )
            parents.append(chosen)
        return parents


def _network(rules: Rules, parents: Sequence[Sequence[int]], *, label: str | None) -> Network:
    """Return the network, columns in the order of the blocks where parents allow it."""
    early = [rules.names[i] for block in rules.blocks for i in block]
    if label is not None:
        early = [label, *(name for name in early if name != label)]
    edges = [(rules.names[p], rules.names[i]) for i, chosen in enumerate(parents) for p in chosen]
    return Network.from_edges(rules.names, edges, first=early)
