"""PrivBayes as published, and the variants that other packages made of it, with correct units.

Zhang et al., PrivBayes (TODS 2017). Which parents a column may have (sections 3.3 and 5.3: theta-usefulness) and how the budget is split is decided from declared sizes and a
public number of rows, never from data, so that it can be shown before it is spent. Two steps are private: choosing who depends on whom, and measuring the tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb, prod
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from .._base.errors import InputError, TooLargeError
from .._base.options import Option
from .._base.runtime import Progress, silent
from .._base.seeds import Seed, generator
from ..counts.families import Family
from ..counts.plan import Columns
from ..privacy.advice import Expectation, expect
from ..privacy.counter import MOST_CELLS, Mechanism, NoisyTable, PrivateCounter
from ..privacy.ledger import Charge, Plan, Step
from ..privacy.mechanisms import laplace_std
from ..privacy.relation import Neighbours
from ..privacy.session import plan_budget, public_rows, start_private_session
from ..privacy.settings import EPSILON, NEIGHBOURS, Delta, RowsPerPerson
from ..table.schema import Schema
from .bayesnet.model import BayesNetModel, FitSummary
from .data import private_data
from .noisy import agree, clip, private_model
from .options import DrawnRows
from .settings import SYNTHESISERS, PureMethod, noise_step

Variant = Literal["published", "datasynthesizer", "dpart", "sdg"]


@dataclass(frozen=True)
class _Variant:
    """What sets a variant apart: the share of structure, the score, how parents are limited, what is done with the tables."""

    beta: float
    score: Literal["I", "R", "F"] | None
    parents: int | None
    joint_start: bool
    agree: bool


VARIANTS: dict[str, _Variant] = {
    "published": _Variant(beta=0.3, score=None, parents=None, joint_start=True, agree=True),
    "datasynthesizer": _Variant(beta=0.5, score="I", parents=3, joint_start=True, agree=False),
    "dpart": _Variant(beta=0.5, score="I", parents=2, joint_start=False, agree=False),
    "sdg": _Variant(beta=0.3, score="R", parents=None, joint_start=False, agree=False),
}
"""Published: Zhang et al., TODS 2017. The others are the generators behind the figures of Sedlmeyr 2024 (dpart, sdg) and of Galloni,
Lendák and Horváth 2020 (DataSynthesizer), with the noise that their own promise asks for."""

MOST_MEASURED_CELLS = 1 << 22
"""Cells of all measured tables together, where usefulness alone would allow more."""


@SYNTHESISERS.register
@dataclass(frozen=True, repr=False)
class PrivBayes(PureMethod):
    """A differentially private Bayesian network, learnt greedily and measured with noise (Zhang et al., TODS 2017).

    The promise is pure epsilon, by default for tables that differ in one replaced record, with a declared number of rows. Proof:
    each selection is the exponential mechanism with the lemma of its score, each table a discrete Laplace mechanism, both for the
    stated relation; amounts add up (sequential composition); all else reads only what these released.

    Parameters
    ----------
    epsilon
        The whole budget. beta of it goes to the structure, the rest to the tables.
    variant
        "published"; or "datasynthesizer" (half and half, fixed k), "dpart" (half and half, two parents, a table for each column), "sdg"
        (theta-useful, R): for comparison, with correct units. These clip tables one by one and fill empty rows evenly, as they do.
    neighbours
        "replace-one" (published; the schema must declare rows) or "add-remove" (rows declared or measured, charged).
    score
        "I", "R" or "F" (columns of two levels only). None: F if all columns have two levels, else R.
    beta, theta
        The structure's share of the budget, and how useful a table must be (mean count of a cell over scale of its noise).
    parents
        A fixed number of parents. None: as many as stay theta-useful.
    mechanism
        "exponential" (published) or "permute-and-flip" (never worse).
    agree
        Whether overlapping tables are made to agree.
    delta
        Only needed where levels are to be discovered (`discover = true` in the schema).
    rows_per_person
        The most rows of one person, where the table was prepared with a person's identifier.
    most_candidates
        The most families weighed in a round; where there are more, as many are drawn blindly.
    draw
        How rows are drawn: "systematic" (None, the default) or "independent", one by one as published.

    Examples
    --------
    >>> PrivBayes(epsilon=1.0).neighbours
    'replace-one'
    """

    name: ClassVar[str] = "privbayes"
    sentence: ClassVar[str] = "PrivBayes as published, or as other packages have it"
    model: ClassVar[type[BayesNetModel]] = BayesNetModel
    without: ClassVar[str] = "BayesNet(search='greedy')"

    epsilon: Annotated[float, EPSILON]
    variant: Annotated[
        Variant, Option("published, or as other packages have it: datasynthesizer, dpart, sdg.")
    ] = "published"
    neighbours: Annotated[Neighbours, NEIGHBOURS] = "replace-one"
    score: Annotated[
        Literal["I", "R", "F"] | None,
        Option("Score of a family: I, R or F. Default: F where columns have two levels, else R."),
    ] = None
    beta: Annotated[
        float | None,
        Option("Share of the budget that goes to the structure.", gt=0, lt=1),
    ] = None
    theta: Annotated[float, Option("Mean count of a cell over the scale of its noise.", gt=0)] = 4.0
    parents: Annotated[
        int | None,
        Option("Parents of a column. Default: as many as stay theta-useful.", ge=0),
    ] = None
    mechanism: Annotated[
        Mechanism, Option("Choice of a family: exponential, or permute-and-flip.")
    ] = "exponential"
    agree: Annotated[
        bool | None, Option("Whether overlapping tables are made to agree: true or false.")
    ] = None
    delta: Delta = None
    rows_per_person: RowsPerPerson = 1
    most_candidates: Annotated[
        int, Option("The most families weighed in a round.", unit="families", ge=1)
    ] = 10_000
    draw: DrawnRows = None

    @property
    def title(self) -> str:
        """The method with its variant."""
        return self.name if self.variant == "published" else f"{self.name}:{self.variant}"

    def plan(self, schema: Schema) -> Plan:
        """Return how the budget would be split on a declared schema, before anything is spent; raise if the settings do not fit it."""
        settings = self._resolved()
        budget_plan = plan_budget(schema, settings.budget, settings.unit)
        if not budget_plan.settled:
            known = {
                column.name: column.size for column in budget_plan.schema.modelled if column.codec
            }
            _check_score(settings.score, known)
            if settings.parents:
                _check_widest(known, settings.parents)
            return budget_plan.plan_unsettled("choices of families, tables of families, all")
        split = split_of(
            settings, budget_plan.schema, budget_plan.remaining, budget_plan.schema.rows or 0
        )
        steps = []
        if split.selections:
            cost, law = split.each_selection, settings.mechanism
            choice = Charge(
                "choice of a family",
                "structure",
                epsilon=cost,
                mechanism=law,
                noise=f"score {split.score}",
            )
            steps.append(Step(choice, split.selections))
        each = split.tables / split.n_tables
        noise = f"standard deviation {laplace_std(settings.unit.l1 / each):.4g}"
        return budget_plan.plan(
            [
                *steps,
                noise_step("table of a family", "tables", each, noise=noise, times=split.n_tables),
            ]
        )

    def expectation(self, schema: Schema) -> Expectation:
        """Return what to expect of the budget, by the method's own rule of usefulness."""
        split, sizes, rows = self.plan(schema), schema.sizes, schema.rows or 0
        linked, last, variant = len(split.steps) > 1, split.steps[-1], VARIANTS[self.variant]
        # The first k + 1 columns of the form with a fixed degree share a table, so d - k tables are measured.
        parents = len(sizes) - last.times or variant.parents
        # Its own rule weighs counts against the scale of the noise, not against its standard deviation.
        cells = rows * last.charge.cost("pure") / (self.unit.l1 * self.theta)
        if (
            not linked
        ):  # it spends nothing on structure now, but would if there were links to choose
            cells *= 1 - (self.beta or variant.beta)
        degree = parents if linked else None
        return expect(
            self.title,
            split,
            sizes,
            rows,
            n_tables=last.times,
            linked=linked,
            largest=cells,
            parents=degree,
        )

    def fit(self, data: Any, *, seed: Seed = None, progress: Progress = silent) -> BayesNetModel:
        """Return a private model of a table with a declared schema (`chaffinch.prepare`).

        Noise comes from the operating system through OpenDP. A seed is for tests and attacks: the model is then marked `test_only`.
        """
        settings = self._resolved()
        rng = generator(seed)
        data, origin = private_data(data)
        with start_private_session(
            data, self.budget, self.unit, seed=None if seed is None else rng
        ) as counter:
            rows, how = public_rows(counter)
            split = split_of(settings, counter.schema, counter.ledger.remaining, rows)
            progress("choosing the network", -1)
            structure = learn(counter, settings, split, rows, rng)
            progress("measuring the tables", -1)
            tables = measure(counter, structure, split)
            account = counter.ledger.account(test_only=counter.test_only, rows=rows, rows_how=how)
        summary = FitSummary(
            self.title, "privbayes", split.score, privacy=account, draw=self.drawing
        )
        return private_model(
            counter.schema,
            structure.order,
            structure.parents,
            agree(tables) if settings.agree else clip(tables),
            summary,
            uniform=self.variant != "published",
            origin=origin,
        )

    def _resolved(self) -> PrivBayes:
        """The settings with the variant's own in place of those left open."""
        variant = VARIANTS[self.variant]
        return replace(
            self,
            beta=variant.beta if self.beta is None else self.beta,
            score=variant.score if self.score is None else self.score,
            parents=variant.parents if self.parents is None else self.parents,
            agree=variant.agree if self.agree is None else self.agree,
        )

    @property
    def joint_start(self) -> bool:
        """Whether the first columns share one table (published form for a fixed number of parents)."""
        return VARIANTS[self.variant].joint_start


@dataclass(frozen=True)
class FamilySplit:
    """What each step gets: the choice of a structure and the tables of its families."""

    score: str
    linked: bool
    """Whether any column could have a parent."""
    parents: int | None
    """The number of parents where it is fixed; None: as many as stay useful."""
    cells: float
    """Cells of a useful table, at most."""
    selections: int
    """Families that are chosen privately; none if no column could have a parent."""
    each_selection: float
    joint_columns: int
    """How many of the first columns share one table."""
    n_tables: int
    structure: float
    """What the steps cost in all."""
    tables: float


def split_of(settings: PrivBayes, schema: Schema, amount: float, rows: int) -> FamilySplit:
    """Return the split of an amount of epsilon.

    Columns of two declared levels throughout have the published degree-k form, others theta-usefulness. Where no column could
    have a parent, the choice of a structure is worth nothing and all goes to the tables.
    """
    sizes = schema.sizes
    d = len(sizes)
    binary = all(size == 2 for size in sizes)
    score = settings.score or ("F" if binary and settings.parents is None else "R")
    named = dict(zip(schema.names, sizes, strict=True))
    _check_score(score, named)
    beta, l1 = settings.beta or 0.0, settings.unit.l1
    for_tables = (1 - beta) * amount
    parents = settings.parents
    if parents is None and binary and settings.joint_start:
        parents = degree(rows, for_tables, d, l1=l1, theta=settings.theta)
    cells = useful_cells(rows, for_tables, tables=d, l1=l1, theta=settings.theta)
    smallest = sorted(sizes)[:2]
    linked = d > 1 and (parents > 0 if parents is not None else smallest[0] * smallest[1] <= cells)
    together = (
        min(parents, d - 1) + 1 if linked and parents is not None and settings.joint_start else 1
    )
    if linked and parents is not None:
        _check_widest(named, parents)
    # The last column has a single family to choose where all before it are its parents: nothing is spent on that.
    rounds = d - 1 - (d == 2 or (parents is not None and d - 1 <= parents)) if linked else 0
    structure = beta * amount if rounds else 0.0
    return FamilySplit(
        score=score,
        linked=linked,
        parents=parents if linked else 0,
        cells=cells,
        selections=rounds,
        each_selection=structure / rounds if rounds else 0.0,
        joint_columns=together,
        n_tables=d - together + 1,
        structure=structure,
        tables=amount - structure,
    )


def _check_score(score: str | None, sizes: Mapping[str, int]) -> None:
    """Raise, before anything is spent, if columns of these sizes cannot have the score."""
    wide = [name for name, size in sizes.items() if size != 2]
    if score == "F" and wide:
        raise InputError(
            f"Score F is for columns of two declared levels. '{wide[0]}' has {sizes[wide[0]]}. Use R or I."
        )


def _check_widest(sizes: Mapping[str, int], parents: int) -> None:
    """Raise, before anything is spent, if the choice of a fixed number of parents could need a table that is too large."""
    widest = sorted(((size, name) for name, size in sizes.items()), reverse=True)[: parents + 1]
    if prod(size for size, _ in widest) > MOST_CELLS:
        raise TooLargeError(
            f"With {parents} parents a table of {', '.join(name for _, name in widest)} could be needed, which has too many cells to put "
            "noise in each. Use fewer parents, or fewer levels or bins."
        )

    pass


def useful_cells(rows: int, epsilon: float, *, tables: int, l1: int, theta: float) -> float:
    """Return the most cells a table may have to be theta-useful.

    The mean count of a cell, rows / cells, must be at least theta times the scale of its noise, l1 tables / epsilon. For
    replace-one (l1 = 2) and d tables this is the published bound n epsilon / (2 d theta). It grows with epsilon without end;
    all tables are held together, so they have at most `MOST_CELLS` cells in all, which no usual budget comes near.

    Examples
    --------
    >>> useful_cells(1000, 0.7, tables=11, l1=2, theta=4)
    7.954545454545454
    """
    return min(rows * epsilon / (l1 * tables * theta), MOST_MEASURED_CELLS / tables)


def degree(rows: int, epsilon: float, d: int, *, l1: int, theta: float) -> int:
    """Return k for columns of two levels: the most parents such that d - k tables of 2^(k+1) cells are theta-useful; 0 if none.

    Examples
    --------
    >>> degree(21_574, 0.7, 16, l1=2, theta=4), degree(100, 0.1, 16, l1=2, theta=4)
    (6, 0)
    """
    useful = [
        k
        for k in range(1, min(d - 1, 30) + 1)
        if useful_cells(rows, epsilon, tables=d - k, l1=l1, theta=theta) >= 2 ** (k + 1)
    ]
    return max(useful, default=0)


@dataclass(frozen=True)
class Structure:
    """Columns in the order in which they were placed, each with its parents."""

    order: Columns
    parents: tuple[Columns, ...]


def learn(
    counter: PrivateCounter,
    settings: PrivBayes,
    split: FamilySplit,
    rows: int,
    rng: np.random.Generator,
) -> Structure:
    """Return a structure chosen family by family (PrivBayes, algorithms 2 and 4).

    The first column is drawn blindly. A round in which no family has a parent is decided blindly too: there is nothing to choose, so
    nothing is spent.
    """
    sizes = counter.schema.sizes
    unplaced = list(range(len(sizes)))
    if not split.linked:
        return Structure(tuple(unplaced), ((),) * len(unplaced))
    placed = [unplaced.pop(int(rng.integers(len(unplaced))))]
    parents: list[Columns] = [()]
    while unplaced:
        if split.parents is not None:
            families = exact_candidates(
                placed, unplaced, split.parents, max_families=settings.most_candidates, rng=rng
            )
        else:
            families = maximal_candidates(
                placed, unplaced, sizes, split.cells, max_families=settings.most_candidates, rng=rng
            )
        if len(families) == 1 or not any(chosen for _, chosen in families):
            best = int(rng.integers(len(families)))
        else:
            best = counter.select(
                families,
                split.score,
                split.each_selection,
                rows=rows,
                why="structure",
                mechanism=settings.mechanism,
            )
        child, chosen = families[best]
        placed.append(child)
        parents.append(chosen)
        unplaced.remove(child)
    return Structure(tuple(placed), tuple(parents))


def measure(counter: PrivateCounter, structure: Structure, split: FamilySplit) -> list[NoisyTable]:
    """Return the noisy table of each family; the first columns share one where their parents are all that stand before them.

    What choices did not need is spent here: all tables get the same.
    """
    names = counter.schema.names
    joint = tuple(names[i] for i in structure.order[: split.joint_columns])
    cliques = [joint] + [
        (*(names[p] for p in chosen), names[child])
        for child, chosen in list(zip(structure.order, structure.parents, strict=True))[
            split.joint_columns :
        ]
    ]
    each = counter.ledger.remaining / len(cliques)
    return counter.tables(cliques, [each] * len(cliques), why="tables")


def exact_candidates(
    placed: Sequence[int],
    unplaced: Sequence[int],
    k: int,
    *,
    max_families: int,
    rng: np.random.Generator,
) -> list[Family]:
    """Return every family of a column that is left and exactly min(k, placed) placed parents.

    Where they are more than `max_families`, as many are drawn at random: blindly, so nothing is spent on it.
    """
    width = min(k, len(placed))
    n_sets = comb(len(placed), width)
    if n_sets * len(unplaced) <= max_families:
        return [
            (child, tuple(sorted(chosen)))
            for child in unplaced
            for chosen in combinations(placed, width)
        ]
    each = max(1, max_families // len(unplaced))
    return [
        (child, chosen)
        for child in unplaced
        for chosen in dict.fromkeys(_draw_sets(placed, width, each, rng))
    ]


def maximal_candidates(
    placed: Sequence[int],
    unplaced: Sequence[int],
    sizes: Sequence[int],
    cells: float,
    *,
    max_families: int,
    rng: np.random.Generator,
) -> list[Family]:
    """Return the families whose table has at most `cells` cells and whose parents could not be more.

    A column for which not even one parent fits has the family without parents.
    """
    each = max(1, max_families // len(unplaced))
    known: dict[int, list[Columns]] = {}
    for child in unplaced:
        room = sizes[child]
        if room not in known:
            known[room] = maximal_sets(placed, sizes, cells / room, max_sets=each, rng=rng)
    return [(child, chosen) for child in unplaced for chosen in known[sizes[child]]]


def maximal_sets(
    columns: Sequence[int],
    sizes: Sequence[int],
    cells: float,
    *,
    max_sets: int,
    rng: np.random.Generator,
) -> list[Columns]:
    """Return the sets of columns with at most `cells` combinations to which no further column could be added.

    Where they are more than `max_sets`, as many are drawn at random by adding columns in random order while they fit, which always
    ends in a maximal set.

    Examples
    --------
    >>> maximal_sets([0, 1, 2], [2, 3, 4], 8, max_sets=100, rng=np.random.default_rng(0))
    [(0, 1), (0, 2)]
    """
    order = sorted(columns, key=lambda c: (sizes[c], c))
    maximal = _enumerate(order, sizes, cells, max_sets)
    if maximal is not None:
        return sorted(maximal)
    drawn: dict[Columns, None] = {}
    for _ in range(max_sets):
        room, chosen = cells, []
        for column in rng.permutation(order).tolist():
            if sizes[column] <= room:
                chosen.append(column)
                room /= sizes[column]
        drawn[tuple(sorted(chosen))] = None
    return sorted(drawn)


def _enumerate(
    order: Sequence[int], sizes: Sequence[int], cells: float, max_sets: int
) -> list[Columns] | None:
    """Every maximal set, or None if they are more than `max_sets` (or the search for them takes too long).

    Columns are weighed from the smallest to the largest. A set that left out a column of size s is maximal only if s no longer
    fits at the end; of all left out only the smallest matters.
    """
    maximal: list[Columns] = []
    steps = 0
    # (position in the order, room left, chosen, smallest size left out)
    stack: list[tuple[int, float, Columns, float]] = [(0, cells, (), float("inf"))]
    while stack:
        index, room, chosen, skipped = stack.pop()
        steps += 1
        if len(maximal) > max_sets or steps > 50 * max_sets + 10_000:
            return None
        if index == len(order) or sizes[order[index]] > room:  # nor does any later, larger one fit
            if skipped > room:
                maximal.append(tuple(sorted(chosen)))
            continue
        column = order[index]
        size = sizes[column]
        if size > 1:
            stack.append((index + 1, room, chosen, min(skipped, size)))
        stack.append((index + 1, room / size, (*chosen, column), skipped))
    return maximal


def _draw_sets(
    columns: Sequence[int], width: int, many: int, rng: np.random.Generator
) -> list[Columns]:
    """Sets of columns drawn at random: where the smallest of as many uniform numbers as there are columns stand."""
    out: list[Columns] = []
    batch_rows = max(1, (1 << 20) // len(columns))  # rows of numbers held at a time
    for start in range(0, many, batch_rows):
        numbers = rng.random((min(batch_rows, many - start), len(columns)))
        places = np.argpartition(numbers, width - 1, axis=1)[:, :width]
        out += map(tuple, np.sort(np.asarray(columns)[places], axis=1).tolist())
    return out
