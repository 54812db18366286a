"""What a synthesiser may be asked for: settings that methods, commands and functions share. Nothing heavy is imported here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

from .._base.errors import InputError
from .._base.options import LEARN, Declared, Option
from ..privacy.settings import PrivacyGuarantee
from ..table.settings import LabelColumn, SensitiveColumns

Draw = Literal["systematic", "independent"]
"""How rows of a batch are drawn: so that counts are as near to what is expected as they can be, or one by one."""

Search = Literal["ordering", "greedy", "genetic"]
Conditionals = Literal["tables", "trees"]
Protect = Literal["separate", "together"]
Edge = tuple[str, str]

DrawnRows = Annotated[
    Draw | None,
    Option(
        "How rows are drawn: independent or systematic (near expected counts). Default: systematic with epsilon."
    ),
]
Groups = Annotated[
    tuple[tuple[str, ...], ...] | None,
    Option(
        "With fieldgroups: columns that share a table, as A,B;C,D. Default: learnt, and paid for.",
        panel=LEARN,
    ),
]


@dataclass(frozen=True, kw_only=True)
class Evolution(Declared):
    """The four parameters of the genetic search of Hittmeir, Mayer and Ekelhart (2022): population size P, selection pressure S, mutation rate r, iterations e."""

    population_size: Annotated[
        int, Option("Genetic search: networks in a generation.", unit="networks", ge=1)
    ] = 200
    selection_size: Annotated[
        int, Option("Genetic search: networks kept of a generation.", unit="networks", ge=1)
    ] = 10
    mutation_rate: Annotated[
        float | None,
        Option(
            "Genetic search: probability that a parent mutates. Default: 1 / columns.", ge=0, le=1
        ),
    ] = None
    generations: Annotated[int, Option("Genetic search: generations.", ge=0)] = 400

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.selection_size > self.population_size:
            raise InputError(
                f"selection_size must lie between 1 and population_size = {self.population_size}. Got {self.selection_size}."
            )


@dataclass(frozen=True, kw_only=True)
class NetworkOptions(Declared):
    """What the network of a synthesiser is learnt with: see `chaffinch.BayesNet`."""

    parents: Annotated[
        int | None,
        Option(
            "The most parents of a column. Default: 6 in trees, 3 in tables; 5 with epsilon.",
            panel=LEARN,
            ge=1,
        ),
    ] = None
    search: Annotated[
        Search,
        Option(
            "Search for the network: ordering, greedy or genetic; with epsilon not greedy.",
            panel=LEARN,
        ),
    ] = "ordering"
    score: Annotated[
        str | None,
        Option(
            "Score of a network: penalised, pairwise or joint. Default: the search's own.",
            panel=LEARN,
        ),
    ] = None
    label: LabelColumn = None
    sensitive: SensitiveColumns = ()
    protect: Annotated[
        Protect,
        Option(
            "Sensitive columns depend on the label alone (separate), or on each other too (together).",
            panel=LEARN,
        ),
    ] = "separate"
    keep: Annotated[
        Sequence[str],
        Option(
            "Columns, as A,B, kept as they are; the others are drawn given them.",
            panel=LEARN,
        ),
    ] = ()
    require: Annotated[
        tuple[Edge, ...],
        Option(
            "An edge PARENT:CHILD that must be; may be given again.",
            panel=LEARN,
            metavar="PARENT:CHILD",
        ),
    ] = ()
    forbid: Annotated[
        tuple[Edge, ...],
        Option(
            "An edge PARENT:CHILD that must not be; may be given again.",
            panel=LEARN,
            metavar="PARENT:CHILD",
        ),
    ] = ()
    root: Annotated[
        str | None,
        Option("First column: it has no parents.", panel=LEARN, metavar="COLUMN"),
    ] = None
    conditionals: Annotated[
        Conditionals | None,
        Option(
            "Conditional distributions: trees or tables. Default: trees where nothing asks for tables.",
            panel=LEARN,
        ),
    ] = None
    leaf: Annotated[
        int, Option("The fewest records in a leaf of a tree.", unit="records", ge=1)
    ] = 10
    smoothing: Annotated[
        float | None,
        Option(
            "Weight of fewer parents. Default: 3 in trees, 1 in tables.",
            panel=LEARN,
            unit="records",
            ge=0,
        ),
    ] = None
    penalty: Annotated[
        float | None,
        Option(
            "Cost of a free cell of a table, in nats. Default: half with few parents, less with more.",
            unit="nats",
            ge=0,
        ),
    ] = None
    evolution: Evolution = field(default_factory=Evolution)


@dataclass(frozen=True, kw_only=True)
class MethodOptions(Declared):
    """What a method may be asked for; each takes those that it has a setting for."""

    network: NetworkOptions = field(default_factory=NetworkOptions)
    groups: Groups = None
    draw: DrawnRows = None
    guarantee: PrivacyGuarantee = field(default_factory=PrivacyGuarantee)
