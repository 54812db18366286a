"""What a search engine is, what it gives back, and how many proposals a search may make.

Proposals are a search's only limit: no engine looks at a clock, so that a busy machine changes no result. A proposal is one move that is tried (`ea`: one
candidate that is scored). Looking for several moves at once that cancel what is left counts as the moves drawn for it and as `combine.PAIRING` for each
place in lists that are paired; many moves at once that bring numbers near count as the moves drawn for them and as `combine.SOLVING`.

Seconds are turned into proposals once, before the search, by a rule that knows the problem and nothing of the machine. A move takes

    0.15 + 0.02 tables + 0.06 systems of sums + 0.04 terms of a record + 0.10 models   microseconds

and half as much again for each tenfold of 1,000 records; engines whose proposals are no moves say what these take (`SearchCost`). Measured on one core of
2025; a search on another machine, or beside other work, takes as many proposals and another time. The rule tells a second from a minute: most problems that
were measured take between half and twice what it says.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from ..._base.checks import check_between
from ..domain import Codes
from ..equations import CountTable, Problem, SumSystem
from .settings import MAX_PROPOSALS, SEARCH_ENGINES, SearchSettings
from .state import OutputError

PROPOSALS = 20_000_000
"""Proposals of a search that was not told how many it may make."""

MOVE = 0.15e-6
PER_TABLE = 0.02e-6
PER_SYSTEM = 0.06e-6
PER_TERM = 0.04e-6
PER_MODEL = 0.10e-6
MANY_RECORDS = 1_000
"""Records from which on a move takes longer the more there are: they are spread over more memory."""
PER_TENFOLD = 0.5
SEARCHED = 24
"""Bytes that a search by moves needs for each cell: the code, the best so far, and two places in an order of alike records."""


def check_proposals(proposals: int) -> None:
    """Raise InputError unless a number of proposals is one that a search can make."""
    check_between("proposals", proposals, 1, MAX_PROPOSALS)


def seconds_of_move(problem: Problem, rows: int) -> float:
    """Return about how many seconds one move takes, by the rule.

    Examples
    --------
    >>> import numpy as np
    >>> from chaffinch.outputs.domain import OutputColumn, OutputDomain
    >>> table = CountTable("t", ((0, np.arange(2)),), np.array([4, 6]), np.array([4, 6]))
    >>> round(1e6 * seconds_of_move(Problem(OutputDomain((OutputColumn("sex", ("f", "m")),)), (table,)), 10), 6)
    0.17
    """
    systems = [output for output in problem.outputs if isinstance(output, SumSystem)]
    tables = sum(isinstance(output, CountTable) for output in problem.outputs)
    terms = sum(
        len(block.values) / max(1, len(block.starts) - 1)
        for system in systems
        for block in system.terms
    )
    models = sum(system.model is not None for system in systems)
    move = (
        MOVE
        + PER_TABLE * tables
        + PER_SYSTEM * len(systems)
        + PER_TERM * terms
        + PER_MODEL * models
    )
    return move * (1.0 + PER_TENFOLD * math.log10(max(rows / MANY_RECORDS, 1.0)))


@dataclass(frozen=True)
class Checkpoint:
    """Where a search stood: proposals made, seconds since the start, the objective, the error of each output."""

    proposals: int
    seconds: float
    objective: float
    errors: tuple[OutputError, ...]


@dataclass(frozen=True, eq=False)
class Solved:
    """A dataset that was evolved, whether every number lies in its interval, and errors on the way.

    Errors of coefficients are to first order: refit them for a second opinion. `proposals` are the moves that were tried, with what
    combinations of moves count as; `seconds` include compilation, once for each installation.
    """

    codes: Codes = field(repr=False)
    reached: bool
    errors: tuple[OutputError, ...]
    proposals: int
    accepted: int
    seconds: float
    trace: tuple[Checkpoint, ...] = field(repr=False)


@dataclass(frozen=True)
class SearchCost:
    """What a search by an engine takes: that of moves, unless the engine says something else.

    Parameters
    ----------
    seconds
        About how many seconds a proposal takes, for a problem and a number of records.
    cell_bytes
        Bytes of memory for each cell of a dataset.
    max_proposals
        Proposals after which the engine ends by itself.
    """

    seconds: Callable[[Problem, int], float] = seconds_of_move
    cell_bytes: int = SEARCHED
    max_proposals: int = MAX_PROPOSALS


@dataclass(frozen=True)
class SearchEngine:
    """A way to search, registered in `SEARCH_ENGINES` by its module in `engines`, which has its name.

    Parameters
    ----------
    name
        In options, results and files.
    title
        In help, behind the name.
    solve
        From a problem and codes, where it starts, to `Solved`; with `proposals`, `tolerance` and `seed`. Where settings declare a group of the engine's own
        (`SearchSettings.engine_settings`), these are `settings`.
    warm_up
        Has the kernels compiled, or loaded, on a few records before the first search is timed: an installation does it once, and it takes a while.
    cost
        What a search takes, by its settings.
    steps
        What the trace counts.
    log_steps
        Whether a figure has these on a logarithmic axis.
    """

    name: str
    title: str
    solve: Callable[..., Solved]
    warm_up: Callable[[Problem, Codes, SearchSettings], object] = lambda problem, codes, search: (
        None
    )
    cost: Callable[[SearchSettings], SearchCost] = lambda search: SearchCost()
    steps: str = "proposed changes"
    log_steps: bool = True


def cost_of(search: SearchSettings) -> SearchCost:
    """Return what a search takes."""
    return SEARCH_ENGINES[search.search_engine].cost(search)


def proposals_in(seconds: float, each: float) -> int:
    """Return how many proposals of `each` seconds fit into some seconds, to two digits so that it can be typed again; at least 1.

    Examples
    --------
    >>> proposals_in(60.0, 0.17e-6), proposals_in(1e-9, 0.17e-6)
    (350000000, 1)
    """
    number = seconds / each
    if number >= MAX_PROPOSALS:
        return MAX_PROPOSALS
    unit: int = 10 ** max(0, math.floor(math.log10(max(number, 1.0))) - 1)
    return max(1, math.floor(number / unit) * unit)


def proposals_of(search: SearchSettings, problem: Problem, rows: int, *, default: float) -> int:
    """Return the number of proposals that is asked for, as such or in seconds; what `default` seconds stand for if neither is."""
    if search.proposals is not None:
        return search.proposals
    seconds = default if search.seconds is None else search.seconds
    return proposals_in(seconds, cost_of(search).seconds(problem, rows))
