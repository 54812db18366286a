"""From a table to a model to synthetic tables, timed and accounted for: `chaffinch.synthesise`, and what `synth`, `fit`, `sample` and `release` share.

Where rows are decides how each step is done, and is the engine's alone (`workflows.engines`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from .._base.errors import InputError
from .._base.options import takes
from .._base.runtime import Progress
from .._base.seeds import seed_sequence
from ..synth import Model, Settings, load_model
from ..synth.account import AccountNote, SynthesisAccount
from ..synth.data import enough_to_learn
from ..table import Table
from ..table.rows import Rows, as_rows
from .engines import Check, Engine, Original, engine_of
from .run import RunOptions, Stopwatch, start_run
from .settings import SynthesisSettings

if TYPE_CHECKING:
    from ..keywords import SynthesisOptions

STEPS = ("read", "fit", "sample", "compare", "write", "sample and write")
"""What a run spends its time on; `compare` is looking rows up in the original, and workers of a cluster sample and write at once."""


@takes(SynthesisSettings)
def synthesise(
    data: Any,
    *,
    settings: SynthesisSettings | None = None,
    seed: int | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    **options: Unpack[SynthesisOptions],
) -> Any:
    """Return a synthetic table of the kind that came in: a DataFrame for a DataFrame, a `Table` for a path or a `Table`.

    Names, order, types and index are the original's. Nothing is measured and nothing attacked: `chaffinch.release` does that too.

    Parameters
    ----------
    data
        A table, a path or a frame.
    settings
        What is learnt and drawn, where it is not given one by one. A method may be a synthesiser, as `BayesNet(parents=2)`, with settings of its own.
    seed, threads
        A number for tests and repeated runs; with a privacy guarantee it leaves no privacy. Cores to use.
    progress
        Called with what is being done and the share done. None: a bar where a notebook watches.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [1, 2, 3, 4] * 25, "ill": ["no", "yes", "no", "no"] * 25})
    >>> synthesise(frame, rows=2, seed=1)
       age ill
    0    4  no
    1    3  no
    """
    asked = replace(SynthesisSettings.chosen(settings, options), entry="synthesise")
    asked.check_protected()
    with start_run(seed=seed, threads=threads, progress=progress) as run:
        synthesis = Synthesis(asked, run)
        synthesis.read(data)
        (drawn, *_) = synthesis.draw(synthesis.fit(), hold=1)
    given = isinstance(data, str | os.PathLike) or as_rows(data) is not None
    return drawn if given else drawn.to_native()


@dataclass
class Synthesis:
    """One run: what was read, learnt and drawn, and how long each took. `outputs`: where syntheses go. `measured`: whether what is drawn is measured against the original later."""

    settings: SynthesisSettings
    run: RunOptions
    outputs: Sequence[Any] = ()
    measured: bool = False
    clock: Stopwatch = field(default_factory=Stopwatch)
    shares: list[float | str] = field(default_factory=list)
    rows: int = 0
    looked_up: int | None = None
    resources: ExitStack = field(default_factory=ExitStack, repr=False)
    original: Original = field(init=False, repr=False)
    method: Settings = field(init=False, repr=False)

    def __post_init__(self) -> None:
        execution = self.settings.execution
        engine_of(execution.engine, execution.cache).check_synthesis(self.settings)

    def __enter__(self) -> Synthesis:
        return self

    def __exit__(self, *error: Any) -> None:
        """Remove what was kept while it ran, as codes, and end what was started for it."""
        self.resources.__exit__(*error)

    @cached_property
    def engine(self) -> Engine:
        """The engine, started when it is first asked for."""
        execution = self.settings.execution
        engine = engine_of(execution.engine, execution.cache)
        return self.resources.enter_context(engine.started())

    @property
    def in_memory(self) -> bool:
        """Whether all rows of the original are in memory."""
        rows = self.original.rows
        assert rows is not None  # a model was fitted
        return rows.in_memory

    def read(
        self,
        source: Any,
        check: Check = lambda schema: None,
        *,
        files: Sequence[Any] = (),
    ) -> Rows | None:
        """Read the original, and return its rows; None where a private fit has yet to discover their domain.

        `check` is called with its schema, to check options against it: with a promise when the header has been read and no record, and before the ledger is
        charged; without one, before the table is used. `files`: those whose tables will be in memory beside it, which have a say in the choice of an engine.
        """
        self.original = self.engine.original(self, source, check, files)
        return self.original.rows

    def fit(self) -> Model:
        """Return the fitted model. With a promise, nothing is said that depends on the data."""
        rows, self.method = self.original.rows, self.settings.synthesiser
        if not self.settings.private:
            assert rows is not None  # nothing is discovered
            enough_to_learn(rows.n_rows, rows.person_of)
            self.method = self.original.method(self.method)
        with self.clock.timed("fit"):
            return self.original.fit(self.method, self.run, self.stream(0))

    def draw(self, model: Model, *, hold: int = 0) -> tuple[Table, ...]:
        """Draw each synthesis, write it where outputs are named, and return the first `hold` of them. What is not held takes bounded memory."""
        self.rows = model.n_rows if self.settings.rows is None else self.settings.rows
        return self.original.draw(self, model, hold=hold)

    def account(self, model: Model) -> SynthesisAccount:
        """Return what was made, of what, how, and, without a promise, how long it took."""
        private, copies, rows = self.settings.private, self.settings.copies, self.original.rows
        assert rows is not None  # a model was fitted
        taken = self.clock.seconds
        seconds = {step: round(taken[step], 6) for step in STEPS if step in taken}
        shares = tuple(self.shares) or None
        return SynthesisAccount(
            rows=self.rows,
            columns=tuple(column.name for column in rows.schema if column.written),
            seed=self.run.seed,
            network={**model.to_dict(), **self._asked()},
            notes=tuple(
                AccountNote(note.column, note.what, note.sentence) for note in self.original.notes
            ),
            copies=copies,
            rows_equal_to_an_original=shares[0] if shares and copies == 1 else shares,
            rows_looked_up=self.looked_up,
            settings=self.settings.record(self.method),
            given=self.settings.option_texts(),
            run={} if private else {"engine": self.original.engine, "seconds": seconds},
        )

    def _asked(self) -> dict[str, Any]:
        """Return the edges that were required or forbidden, where there are any: a report shows them as chosen."""
        edges = {name: getattr(self.method, name, ()) for name in ("require", "forbid")}
        return {name: [list(edge) for edge in pairs] for name, pairs in edges.items() if pairs}

    def stream(self, number: int) -> np.random.SeedSequence | None:
        """Return a random stream for the fit (0) and for each synthesis (from 1); None without a seed."""
        if self.run.seed is None:
            return None
        return np.random.SeedSequence(seed_sequence(self.run.seed).entropy, spawn_key=(number,))


@dataclass(frozen=True, kw_only=True)
class SampleResult:
    """What was drawn: rows, the seed, the columns that were given, and, of a model without a promise, how long it took."""

    rows: int
    seed: int | None = None
    given: tuple[str, ...] = ()
    seconds: Mapping[str, float] | None = field(default=None, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data: `chaffinch-sample`, version 1."""
        seconds = (
            {}
            if self.seconds is None
            else {"seconds": {step: round(s, 6) for step, s in self.seconds.items()}}
        )
        head = {"format": "chaffinch-sample", "version": 1, "rows": self.rows, "seed": self.seed}
        return {**head, "given": list(self.given), "run": seconds}


def draw_sample(
    model: Path,
    output: Any,
    *,
    engine: Engine,
    rows: int | None = None,
    given: Mapping[str, Any] | None = None,
    run: RunOptions,
) -> SampleResult:
    """Draw rows from a model file and write them; `given` fixes values of columns, exactly."""
    if given and not engine.local:
        raise InputError(f"--given is for one machine: leave out --engine {engine.name}.")
    loaded: Any = load_model(model)
    wanted = loaded.n_rows if rows is None else rows
    with engine.started() as started:
        seconds = started.write(loaded, output, wanted, run, seed=run.seed, given=given)
    return SampleResult(
        rows=wanted,
        seed=run.seed,
        given=tuple(sorted(given or ())),
        seconds=None if loaded.privacy else seconds,
    )
