"""The incremental engine: one dataset that evolves by small moves, each scored by what it changes.

The paper (Elliot, Little and Allmendinger) refits its regression for each of 64,000 candidates. Here nothing is refitted: every output
is a set of counts and sums over records (`equations.py`), a move of one or two records updates those it touches, and the metric of
the sums is renewed between blocks of moves (`state.py`). The search is greedy while that helps. When it stalls it

1. aims anywhere inside the published intervals instead of at their middle;
2. lets counts that are still wrong weigh so much more that no regression is content with them;
3. makes many moves at once that bring all numbers near, where much is left (`combine.relax`);
4. looks for several moves at once that cancel what is left, where it is little (`combine.combine`);
5. is warmed to a small share of the error, so that the temperature falls with it, and lets numbers that are still outside of their
   intervals weigh more;
6. is heated more and more, and cooled down each time.
"""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from ...._base.arrays import Floats
from ...._base.checks import check_at_least
from ...._base.seeds import Seed, generator
from ...equations import Problem
from ..combine import combine, relax
from ..engine import PROPOSALS, Checkpoint, SearchEngine, Solved, check_proposals
from ..moves import Moves, search
from ..settings import SEARCH_ENGINES
from ..state import OutputError, State

BLOCKS = (2_000, 10_000)
"""Proposals between two looks at the gains of the arms: few at first, when the gains change quickly."""
FALL = 10.0
"""The metric is renewed each time the error has fallen by this factor (and once a window): it depends on the records."""
WINDOW = 20_000
"""Proposals (at least four for each record) between two looks at whether the search has stalled: the error has not halved. Fewer are quicker for regressions, and lose tables of shares."""
WARM = 0.02
"""Temperature of a search that has stalled, as a share of its error: little is lost by it."""
PATIENCE = 25
"""Windows without gain after which the warm search is given up for heat; at once while a table is wrong."""
HEATS = (0.0, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
"""Temperatures of a search that is heated, as multiples of the smallest error so far, each for a window, with one of temperature 0 after it. First: warm."""
LEAST_HEAT = 0.1
"""The error of which `HEATS` are multiples at least, in units of one over the number of records: below, no move would be made."""
HOTTEST = 1.0
"""Highest temperature: a search that takes moves of chi-square 1 undoes what it has."""
FOCUS = 2.0
"""How much more a number weighs, after each further stall, whose interval is not yet reached."""
MOST_FOCUS = 64.0
"""The most that a number may come to weigh."""
EASE = 0.7
"""What the weight of a number is multiplied with after each stall once its interval is reached."""
PUSH = 4.0
"""How much more a wrong count weighs after a stall."""
MOST_PUSHES = 12
"""How often a wrong count gains weight before heat is tried."""
AT_ONCE = 3
"""How often many moves are made at once, one stall after the other, before that waits for later stalls if the error did not halve."""
COARSE = 10.0
"""Error, in units of one over the number of records (what a typical move changes), above which a stalled search is not just too coarse:
something stands in the way, such as an event more or less in a small group, and heat is tried at once."""
REPEATS = 6
"""How often moves are combined one time after the other."""
MOST_WAIT = 8
"""Stalls that may pass, at most, until moves are combined again."""
THIN = 1.05
"""The trace keeps a checkpoint when this many times the proposals of the last one have been made."""


def solve(
    problem: Problem,
    codes: NDArray[np.integer],
    *,
    proposals: int = PROPOSALS,
    tolerance: float = 1e-3,
    seed: Seed = None,
) -> Solved:
    """Return a dataset that reproduces the published outputs, or the best one found, with as many records as `codes`, where it starts.

    The same seed and number of proposals give the same dataset, however long it takes. It gives up after so many proposals (`engine.py`); what
    was begun is ended, so a few more may be counted. Numbers with an interval must lie inside; those that are known in full must come within
    `tolerance` standard errors.

    Examples
    --------
    Five of eight records are ones:

    >>> from chaffinch.outputs.domain import OutputColumn, OutputDomain
    >>> from chaffinch.outputs.equations import CountTable, Problem
    >>> five = CountTable("ones", ((0, np.array([-1, 0])),), np.array([5]), np.array([5]))
    >>> problem = Problem(OutputDomain((OutputColumn("x", ("no", "yes")),)), (five,))
    >>> solved = solve(problem, np.zeros((8, 1), dtype=np.int32), seed=1)
    >>> solved.reached, int(solved.codes.sum())
    (True, 5)
    """
    check_proposals(proposals)
    check_at_least("tolerance", tolerance, 0)
    started = time.perf_counter()
    state = State(problem, codes, tolerance=tolerance, roughly=True)
    rng = generator(seed)
    moves = Moves(state, rng)
    state.fill_levels(rng)
    schedule = _Schedule(state, moves, rng)
    trace: list[Checkpoint] = []
    n_proposed = accepted = 0
    while True:
        errors = state.errors()
        if (n_proposed or state.rough > 1) and not _any_outside(
            errors
        ):  # the metric may be old or rough: look again with a new one
            state.refresh()
            errors = state.errors()
            if not _any_outside(errors) and state.recentre_models():
                errors = state.errors()
        reached = not _any_outside(errors)
        used = n_proposed + schedule.combined
        done = reached or not moves.arms or used >= proposals
        if done or not trace or used >= THIN * trace[-1].proposals:
            trace.append(Checkpoint(used, time.perf_counter() - started, state.error, errors))
        if done:
            break
        if schedule.look(n_proposed):
            continue
        block = min(
            max(BLOCKS[0], n_proposed // 20),
            BLOCKS[1],
            max(proposals - n_proposed - schedule.combined, 1),
        )
        state.table_error, state.system_error, n_accepted = search(
            state.program,
            state.kernel,
            state.table_error,
            state.system_error,
            moves.kernel,
            moves.chances(),
            moves.wrong(state),
            block,
            schedule.temperature,
        )
        moves.learn()
        n_proposed += block
        accepted += n_accepted
    if not reached:
        errors = schedule.best_errors()
    return Solved(
        state.codes, reached, errors, used, accepted, time.perf_counter() - started, tuple(trace)
    )


def _any_outside(errors: tuple[OutputError, ...]) -> bool:
    return any(error.outside for error in errors)


def _refocus(
    focus: Floats, late: NDArray[np.bool_], *, by: float = FOCUS, ease: float = EASE
) -> Floats:
    """Return how much more numbers weigh after a stall: those that are late more than before, the others less."""
    return np.clip(focus * np.where(late, by, ease), 1.0, MOST_FOCUS)


class _Schedule:
    """When the metric is renewed, when a search has stalled, and what is done about it."""

    def __init__(self, state: State, moves: Moves, rng: np.random.Generator) -> None:
        self._state, self._moves, self._rng = state, moves, rng
        self._window = max(WINDOW, 4 * len(state.codes))
        self._next_look = self._next_refresh = self._window
        self._next_sort = self._window // 2
        self._at_refresh = state.error
        self._last = self._best = np.inf
        self._best_codes = state.codes.copy()
        self._stalls, self._next_combine = 0, 1
        self._arrived, self._failures = False, 0
        self._rung, self._patience, self._heat = -1, PATIENCE, 0.0
        self._pushes = 0
        self._relaxed, self._next_relax, self._at_relax = 0, 1, np.inf
        self.combined = 0
        """Proposals that combinations of moves count as, so far."""

    @property
    def temperature(self) -> float:
        """The temperature of the next block."""
        return WARM * self._state.error if self._rung == 0 else self._heat

    def look(self, n_proposed: int) -> bool:
        """Look at what the proposals so far came to, and renew what is due; return whether all that was asked for seems reached."""
        state = self._state
        due = n_proposed >= self._next_refresh
        if n_proposed >= self._next_look:
            self._next_look = n_proposed + self._window
            due |= self._judge()
            if self._arrived:
                return True
        if due or state.error < self._at_refresh / FALL:
            # A rough metric will do, unless the search has stalled: what is reached is looked at with all records.
            state.refresh(step=state.rough if self._stalls == 0 else 1)
            self._at_refresh = state.error
            self._next_refresh = n_proposed + self._window
            if n_proposed >= self._next_sort:
                self._moves.sort(state.codes)
                self._next_sort = n_proposed + self._window // 2
        return False

    def _judge(self) -> bool:
        """Decide how to go on after a window; return whether the quadratics must be made anew."""
        state, before, self._arrived = self._state, self._best, False
        if state.fill_levels(self._rng):  # a search may empty a level, since then its score is zero
            return True
        error = self._remember()
        stalled, self._last = error > 0.5 * self._last, error
        if self._rung < 0 and not stalled:
            return False
        if not state.loose:
            state.loose = True
            return True
        self._stalls += 1
        state.recentre_models()  # what holds the search up may be that coefficients are not linear in the sums so far from where they stand
        if self._stalls >= self._next_combine and self._heat == 0.0 and not self._blocked(error):
            # It takes longer than a window, so it is tried again at once while it helps, and later and later if it does not.
            helped = self._combine()
            self._failures = 0 if helped else self._failures + 1
            self._next_combine = self._stalls + (
                1 if helped else 2 * min(self._failures, MOST_WAIT)
            )
            if helped:
                self._last = self._remember()
                return False
            if helped is not None:
                self._patience = (
                    0  # where a few moves found nothing, single ones will not without heat
                )
        if (
            self._stalls >= self._next_relax
            and self._heat == 0.0
            and self._blocked(error)
            and state.table_error <= 1e-9
            and self._relax()
        ):
            self._last = self._remember()
            return False
        if self._heat > 0.0:
            self._heat = 0.0  # what heat is worth shows after it has cooled down
            return True
        if self._pushes < MOST_PUSHES and state.table_error > 1e-9:
            # A count that is off by one can be what a regression is content with: it must cost more than what it saves.
            self._pushes += 1
            state.cell_focus = _refocus(state.cell_focus, state.off() > 0.0, by=PUSH, ease=1.0)
            return True
        self._climb(helped=self._best < 0.9 * before)
        for k, system in enumerate(state.systems):
            state.focus[k] = _refocus(state.focus[k], (system.hi > system.lo) & state.outside(k))
        state.cell_focus = _refocus(state.cell_focus, state.off() > 0.0)
        return True

    def _blocked(self, error: float) -> bool:
        """Whether what is left is more than moves are too coarse for: a few of them together could not mend it."""
        return self._state.table_error > 1e-9 or error * len(self._state.codes) > COARSE

    def _combine(self) -> bool | None:
        """Combine moves while that helps; return whether it did, None if there was no use in it."""
        helped = again = self._combine_once()
        for _ in range(REPEATS):
            if not again:
                break
            self._state.recentre_models()
            self._arrived = not _any_outside(self._state.errors())
            again = not self._arrived and self._combine_once()
        return helped

    def _combine_once(self) -> bool | None:
        combined = combine(self._state, self._moves, rng=self._rng)
        self.combined += combined.proposals
        return combined.helped

    def _relax(self) -> bool:
        """Make many moves at once where single ones lead nowhere; return whether. It is tried later and later if it does not help."""
        relaxed = relax(self._state, self._moves, rng=self._rng)
        self.combined += relaxed.proposals
        self._relaxed = 1 if self._best < 0.5 * self._at_relax else self._relaxed + 1
        self._at_relax = self._best
        self._next_relax = self._stalls + (
            1 if self._relaxed <= AT_ONCE else 2 * min(self._relaxed, MOST_WAIT)
        )
        return bool(relaxed.helped)

    def _climb(self, *, helped: bool) -> None:
        """Choose the next temperature: warm again if the last one helped, else a higher one."""
        self._patience = PATIENCE if helped else self._patience - 1
        if helped:
            self._rung = 0
        elif self._rung != 0 or self._patience <= 0 or self._blocked(self._best):
            self._rung, self._patience = (self._rung + 1) % len(HEATS), PATIENCE
        self._heat = min(
            HEATS[self._rung] * max(self._best, LEAST_HEAT / len(self._state.codes)), HOTTEST
        )

    def _remember(self) -> float:
        """Keep the codes if they are the best so far, since heat may lose them; return the error without any focus."""
        error = sum(error.chi_square for error in self._state.errors())
        undetermined = any(
            near.undetermined is not None and near.undetermined.any() for near in self._state.linear
        )
        if error < self._best and not (undetermined and np.isfinite(self._best)):
            self._best, self._best_codes = error, self._state.codes.copy()
        return error

    def best_errors(self) -> tuple[OutputError, ...]:
        """Go back to the best codes and return their errors."""
        self._remember()
        self._state.codes[:] = self._best_codes
        self._state.refresh()
        return self._state.errors()


SEARCH_ENGINES.register(
    SearchEngine(
        "incremental",
        "moves of one or two records",
        solve,
        warm_up=lambda problem, codes, search: solve(problem, codes, proposals=1, seed=0),
    )
)
