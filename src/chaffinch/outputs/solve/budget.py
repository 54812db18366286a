"""How many proposals a search may make. That is its only limit: no engine looks at a clock, so that a busy machine changes no result.

A proposal is one move that is tried (`ea`: one candidate that is scored). Looking for several moves at once that cancel what is left
counts as the moves drawn for it and as `combine.PAIRING` for each place in lists that are paired; many moves at once that bring numbers near
count as the moves drawn for them and as `combine.SOLVING`.

Seconds are turned into proposals once, before the search, by a rule that knows the problem and nothing of the machine. A proposal takes

    0.15 + 0.02 tables + 0.06 systems of sums + 0.04 terms of a record + 0.10 models   microseconds

and half as much again for each tenfold of 1,000 records; a candidate of `ea` 20 microseconds and 1.5 hundredths of that for each record (most of
which it shares with its parent), and if it is refitted 5 milliseconds and 3 microseconds for each record more, for each system. Measured on one core of 2025; a search on another machine, or beside other work, takes as many proposals and another time. The
rule tells a second from a minute: most problems that were measured take between half and twice what it says.
"""

from __future__ import annotations

import math

from ..._base.checks import check_between
from ..equations import CountTable, Problem, SumSystem
from .settings import MAX_PROPOSALS, SearchSettings

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
CANDIDATE = 20e-6
PER_RECORD_OF_CANDIDATE = 0.015
REFIT = 5e-3
REFIT_PER_RECORD = 3e-6


def check_proposals(proposals: int) -> None:
    """Raise InputError unless a number of proposals is one that a search can make."""
    check_between("proposals", proposals, 1, MAX_PROPOSALS)


def seconds_each(
    problem: Problem, *, rows: int, engine: str = "incremental", fitness: str = "score"
) -> float:
    """Return about how many seconds one proposal takes, by the rule: a move, or (`ea`) a candidate that is scored or refitted.

    Examples
    --------
    >>> import numpy as np
    >>> from chaffinch.outputs.domain import CodeColumn, Columns
    >>> table = CountTable("t", ((0, np.arange(2)),), np.array([4, 6]), np.array([4, 6]))
    >>> problem = Problem(Columns((CodeColumn("sex", 2),)), (table,))
    >>> round(1e6 * seconds_each(problem, rows=10), 6), round(1e6 * seconds_each(problem, rows=300, engine="ea"), 6)
    (0.17, 20.765)
    """
    systems = [output for output in problem.outputs if isinstance(output, SumSystem)]
    tables = sum(isinstance(output, CountTable) for output in problem.outputs)
    terms = sum(
        len(part.values) / max(1, len(part.starts) - 1)
        for system in systems
        for part in system.terms
    )
    models = sum(system.model is not None for system in systems)
    move = (
        MOVE
        + PER_TABLE * tables
        + PER_SYSTEM * len(systems)
        + PER_TERM * terms
        + PER_MODEL * models
    )
    move *= 1.0 + PER_TENFOLD * math.log10(max(rows / MANY_RECORDS, 1.0))
    if engine != "ea":
        return move
    refits = len(systems) * (REFIT + REFIT_PER_RECORD * rows) if fitness == "refit" else 0.0
    return CANDIDATE + PER_RECORD_OF_CANDIDATE * move * rows + refits


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


def proposals_of(search: SearchSettings, *, each: float, default: float) -> int:
    """Return the number of proposals that is asked for, as such or in seconds; what `default` seconds stand for if neither is."""
    if search.proposals is not None:
        return search.proposals
    return proposals_in(default if search.seconds is None else search.seconds, each)
