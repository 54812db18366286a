"""What to learn: PrivBayes as published, and what other packages made of it, with correct units."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np

from ..._base.errors import InputError, unknown_name
from ..._base.runtime import Progress, silent
from ..._base.seeds import Seed, generator
from ...privacy.advice import Expectation, expect
from ...privacy.counter import Mechanism
from ...privacy.ledger import Plan
from ...privacy.opening import open_private, public_rows
from ...privacy.relation import Neighbours
from ...privacy.sensitivity import SCORES
from ...table.schema import Schema
from ..bayesnet.model import BayesNetModel, FitSummary
from ..data import private_data
from ..model import Draw
from ..noisy import agreed, clipped
from ..private_model import private_model
from ..settings import SYNTHESISERS, MethodOptions, PureMethod
from .learning import learn, measure
from .split import planned, split_of

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

    epsilon: float
    variant: Variant = "published"
    neighbours: Neighbours = "replace-one"
    score: Literal["I", "R", "F"] | None = None
    beta: float | None = None
    theta: float = 4.0
    parents: int | None = None
    mechanism: Mechanism = "exponential"
    agree: bool | None = None
    delta: float | None = None
    rows_per_person: int = 1
    most_candidates: int = 10_000
    draw: Draw | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.variant not in VARIANTS:
            raise unknown_name("variant", self.variant, VARIANTS)
        if self.score is not None and self.score not in SCORES:
            raise unknown_name("score", self.score, SCORES)
        if self.mechanism not in ("exponential", "permute-and-flip"):
            raise unknown_name("mechanism", self.mechanism, ("exponential", "permute-and-flip"))
        if self.beta is not None and not 0 < self.beta < 1:
            raise InputError(f"beta must lie between 0 and 1. Got {self.beta}.")
        if not (np.isfinite(self.theta) and self.theta > 0):
            raise InputError(f"theta must be above 0. Got {self.theta}.")
        for name, least in (("parents", 0), ("most_candidates", 1)):
            value = getattr(self, name)
            if value is not None and (
                isinstance(value, bool) or not isinstance(value, int) or value < least
            ):
                raise InputError(
                    f"{name} must be a whole number of at least {least}. Got {value!r}."
                )

    @classmethod
    def from_options(cls, options: MethodOptions) -> Self:
        """Return the settings that options amount to."""
        cls.check_options(options)
        return cls(variant=options.variant or "published", score=options.score, **options.promise)  # type: ignore[arg-type]

    @property
    def title(self) -> str:
        """The method with its variant."""
        return self.name if self.variant == "published" else f"{self.name}:{self.variant}"

    def plan(self, schema: Schema) -> Plan:
        """Return how the budget would be split on a declared schema, before anything is spent."""
        return planned(self._resolved(), schema)

    def expectation(self, schema: Schema) -> Expectation:
        """Return what to expect of the budget, by the method's own rule of usefulness."""
        split, sizes, rows = self.plan(schema), schema.sizes, schema.rows or 0
        linked, last, own = len(split.steps) > 1, split.steps[-1], VARIANTS[self.variant]
        # The first k + 1 columns of the form with a fixed degree share a table, so d - k tables are measured.
        parents = len(sizes) - last.times or own.parents
        # Its own rule weighs counts against the scale of the noise, not against its standard deviation.
        cells = rows * last.charge.cost("pure") / (self.unit.l1 * self.theta)
        if (
            not linked
        ):  # it spends nothing on structure now, but would if there were links to choose
            cells *= 1 - (self.beta or own.beta)
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
        with open_private(
            data, self.budget, self.unit, seed=None if seed is None else rng
        ) as counter:
            rows, how = public_rows(counter)
            split = split_of(settings, counter.schema, counter.ledger.left, rows)
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
            agreed(tables) if settings.agree else clipped(tables),
            summary,
            uniform=self.variant != "published",
            origin=origin,
        )

    def _resolved(self) -> PrivBayes:
        """The settings with the variant's own in place of those left open."""
        own = VARIANTS[self.variant]
        return replace(
            self,
            beta=own.beta if self.beta is None else self.beta,
            score=own.score if self.score is None else self.score,
            parents=own.parents if self.parents is None else self.parents,
            agree=own.agree if self.agree is None else self.agree,
        )

    @property
    def joint_start(self) -> bool:
        """Whether the first columns share one table (published form for a fixed number of parents)."""
        return VARIANTS[self.variant].joint_start
