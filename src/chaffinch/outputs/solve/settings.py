"""How datasets are searched for, as settings that `evolve` and `check` share. Nothing heavy is imported here, and nothing that reads data: engines load it too."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from ..._base.errors import InputError
from ..._base.options import LEARN, RUN, Declared, Option, groups_of, settings_of
from ..._base.registry import Registry
from ..._base.results import to_plain

if TYPE_CHECKING:
    from .engine import SearchEngine

SEARCH_ENGINES: Registry[SearchEngine] = Registry(
    "search engine", __package__, "engines.*", by_module=True
)
"""All engines, by the names of their modules; one is imported when it is used."""

StartName = Literal["uniform", "margins"]
Selection = Literal["tournament", "best", "roulette", "truncation"]
Survival = Literal["plus", "comma"]
FitnessName = Literal["score", "fisher", "refit"]

MAX_PROPOSALS = 10**15
MAX_ERROR = 1e-3
"""Standard errors by which a number that is known in full may be missed, unless something else is asked for."""
MAX_COPIES = 100_000
"""The most datasets from one specification."""


@dataclass(frozen=True, kw_only=True)
class EvolutionSettings(Declared):
    """Settings of the evolutionary algorithm; those of Elliot, Little and Allmendinger's table 1 where it has them.

    - `crossover`, `crossover_per_record`: the chance that two parents are crossed, and then that a record is exchanged.
    - `mutation`, `mutation_divisor`, `mutation_every`: the chance that a cell is drawn anew, and by what and how often it is divided.
    - `selection`, how parents are chosen, not given in the paper: `tournament` (the best of `tournament_size`), `best` (one of the `best` best),
      `roulette` (chance by rank, falling in a straight line), `truncation` (one of the better half).
    - `survival`, who lives on, not given either: `plus` (the best of parents and children), `comma` (children, and the best parent).
    - `fitness`: `score` (mean squared error of the published numbers, coefficients to first order around a fit of the best candidate: the paper's
      error without its refits), `fisher` (the same errors in chi-square units), `refit` (statsmodels fits every candidate, as the paper does).
    """

    engine: ClassVar[str] = "ea"
    population_size: Annotated[
        int, Option("With ea: candidate datasets of a generation.", unit="datasets", ge=2)
    ] = 32
    generations: Annotated[int, Option("With ea: generations at most.", ge=1)] = 2_000
    crossover: Annotated[
        float, Option("With ea: chance that two parents are crossed.", ge=0, le=1)
    ] = 0.8
    crossover_per_record: Annotated[
        float, Option("With ea: chance that crossed parents exchange a record.", ge=0, le=1)
    ] = 0.1
    mutation: Annotated[float, Option("With ea: chance that a cell is drawn anew.", ge=0, le=1)] = (
        0.005
    )
    mutation_divisor: Annotated[
        float, Option("With ea: what the chance of mutation is divided by.", ge=1)
    ] = 3.0
    mutation_every: Annotated[
        int,
        Option("With ea: generations after which it is divided.", unit="generations", ge=1),
    ] = 250
    selection: Annotated[
        Selection,
        Option(
            "With ea: how parents are chosen: tournament, best, roulette or truncation.",
            panel=LEARN,
        ),
    ] = "tournament"
    tournament_size: Annotated[
        int | None,
        Option(
            "With --selection tournament: candidates that a parent is the best of.",
            default="2",
            panel=LEARN,
        ),
    ] = None
    best: Annotated[
        int | None,
        Option(
            "With --selection best: candidates that parents are drawn from.",
            default="2",
            panel=LEARN,
        ),
    ] = None
    survival: Annotated[
        Survival,
        Option("With ea: who lives on: plus (parents too) or comma (children)."),
    ] = "plus"
    fitness: Annotated[
        FitnessName, Option("With ea: the error to minimise: score, fisher or refit.", panel=LEARN)
    ] = "score"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, rule, minimum in (("tournament_size", "tournament", 2), ("best", "best", 1)):
            value = getattr(self, name)
            if value is not None and self.selection != rule:
                raise InputError(
                    f"{name} is for the selection '{rule}', and parents are chosen by '{self.selection}'. Leave it out, or choose that selection."
                )
            if value is not None and not minimum <= value <= max(2, self.population_size):
                raise InputError(
                    f"{name} must be at least {minimum}, and at most the population, {self.population_size}. Got {value}."
                )

    def mutation_at(self, generation: int) -> float:
        """Return the chance that a cell mutates in a generation, counted from 0.

        Examples
        --------
        >>> [round(EvolutionSettings().mutation_at(g), 6) for g in (0, 249, 250, 500)]
        [0.005, 0.005, 0.001667, 0.000556]
        """
        return float(self.mutation / self.mutation_divisor ** (generation // self.mutation_every))


_SEARCH_ENGINE = Option(
    "How to search: {search_engines}.", panel=LEARN, known=lambda: SEARCH_ENGINES.names
)


@dataclass(frozen=True, kw_only=True)
class SearchSettings(Declared):
    """How a dataset is searched for that has published numbers.

    Parameters
    ----------
    search_engine
        One of `SEARCH_ENGINES`.
    seconds
        When a search gives up, in about so many seconds: turned into a number of proposals before the search begins, by a rule that
        does not look at the machine (`budget.py`). 60 if neither is given; 20 for each search of a check, in which all outputs together say how
        many proposals these are.
    proposals
        The same as a number of proposals: instead of seconds.
    max_error
        How close numbers that are known in full must come, in their standard errors: 0.001 if absent. Refused where there are none.
    evolution
        Settings of one engine, which they name; so is every group here.
    """

    search_engine: Annotated[str, _SEARCH_ENGINE] = "incremental"
    seconds: Annotated[
        float | None,
        Option(
            "Length of a search, turned into proposals by a fixed rule. Default: 60; check: 20.",
            panel=RUN,
            unit="seconds",
            gt=0,
        ),
    ] = None
    proposals: Annotated[
        int | None,
        Option(
            "Length of a search in proposals, instead of --seconds: repeats it anywhere.",
            panel=RUN,
            ge=1,
            le=MAX_PROPOSALS,
        ),
    ] = None
    max_error: Annotated[
        float | None,
        Option(
            "Error allowed in numbers without a printed precision, in standard errors. Default: 0.001.",
            unit="standard errors",
            ge=0,
        ),
    ] = None
    evolution: EvolutionSettings = field(default_factory=EvolutionSettings)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.seconds is not None and self.proposals is not None:
            raise InputError(
                "Give seconds or proposals, not both: seconds only stand for a number of proposals."
            )
        for group in self._groups:
            if group.engine != self.search_engine and (changed := group.given()):
                raise InputError(
                    f"{next(iter(changed))} is for the search engine '{group.engine}', and the engine is '{self.search_engine}'. Leave it out, or choose "
                    "that engine."
                )

    @property
    def _groups(self) -> list[Any]:
        return [getattr(self, name) for name in groups_of(SearchSettings)]

    @property
    def engine_settings(self) -> Declared | None:
        """The settings that the engine alone has; None where it has none."""
        return next((group for group in self._groups if group.engine == self.search_engine), None)


@dataclass(frozen=True, kw_only=True)
class EvolveSettings(Declared):
    """How datasets are evolved.

    Parameters
    ----------
    rows
        The number of records; the specification's own if absent. Rows x columns x 24 bytes may be at most 8 GiB (`check_size`).
    copies
        How many datasets.
    start
        From known `margins` (the weights of columns, or what outputs tell of them, at least one of which there must be) or `uniform` over levels. From
        margins where some are known if absent, else uniform.
    search
        How each is searched for.
    """

    rows: Annotated[
        int | None,
        Option("Records of a dataset. Default: those that SPEC says.", basic=True, ge=1),
    ] = None
    copies: Annotated[
        int,
        Option(
            "Datasets to write: OUT gets -1, -2 ... before its ending.",
            basic=True,
            ge=1,
            le=MAX_COPIES,
        ),
    ] = 1
    start: Annotated[
        StartName | None,
        Option(
            "Where records begin: known margins of columns, or uniform. Default: margins if any.",
            panel=LEARN,
        ),
    ] = None
    search: SearchSettings = field(default_factory=SearchSettings)


def plain_options(settings: Declared) -> dict[str, Any]:
    """Return the options of settings by their names, as JSON has them: those of one engine alone where they are not its defaults.

    Examples
    --------
    >>> plain_options(EvolveSettings.from_options(rows=30, search_engine="ea", generations=9))
    {'rows': 30, 'copies': 1, 'search_engine': 'ea', 'generations': 9}
    """
    changed, of_engines = settings.given(), groups_of(SearchSettings).keys()
    return {
        name: to_plain(setting.default)
        for name, setting in settings_of(settings).items()
        if setting.default is not None and (of_engines.isdisjoint(setting.path) or name in changed)
    }
