"""From a table to a model to synthetic tables, timed and accounted for: `chaffinch.synthesise`, and what `synth`, `fit`, `sample` and `release` share.

Where rows are decides how each step is done, and is the engine's alone (`workflows.engines`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from .._base.checks import check_at_least
from .._base.errors import InputError
from .._base.masking import THRESHOLD
from .._base.runtime import Progress, watched
from .._base.seeds import seed_sequence
from ..synth import SYNTHESISERS, MethodOptions, Model, Settings, load_model
from ..synth.account import AccountNote, SynthesisAccount
from ..synth.data import enough_to_learn
from ..table import Table
from ..table.rows import Rows, as_rows
from ..table.schema_file import SchemaLike
from ..table.settings import Reading
from .engines import Check, Engine, Original, engine_of
from .run import RunOptions
from .settings import Execution

STEPS = ("read", "fit", "sample", "compare", "write", "sample and write")
"""What a run spends its time on; `compare` is looking rows up in the original, and workers of a cluster sample and write at once."""


def synthesise(
    data: Any,
    *,
    rows: int | None = None,
    method: str | Settings = "bayesnet",
    label: str | None = None,
    sensitive: Sequence[str] = (),
    schema: SchemaLike | None = None,
    keep: Sequence[str] = (),
    person: str | None = None,
    order: str | None = None,
    weight: str | None = None,
    ledger: str | os.PathLike[str] | None = None,
    threshold: int = THRESHOLD,
    seed: int | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Any:
    """Return a synthetic table of the kind that came in: a DataFrame for a DataFrame, a `Table` for a path or a `Table`.

    Names, order, types and index are the original's. Nothing is measured and nothing attacked: `chaffinch.release` does that too.

    Parameters
    ----------
    data
        A table, a path or a frame.
    rows
        As many as the original has unless given.
    method, label, sensitive, schema, keep, person, order, weight, ledger, threshold
        As in `chaffinch.release`.
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
    names = {"sensitive": names_of(sensitive, "sensitive"), "keep": names_of(keep, "keep")}
    settings = SynthesisSettings(
        synthesiser=method_of(method, label, names["sensitive"], names["keep"]),
        reading=Reading(schema=schema, threshold=threshold),
        keep=names["keep"],
        person=person,
        order=order,
        weight=weight,
        rows=rows,
        ledger=ledger,
        entry="synthesise",
    )
    with watched(progress) as show:
        synthesis = Synthesis(settings, RunOptions(seed=seed, threads=threads, progress=show))
        synthesis.read(data)
        (drawn,) = synthesis.draw(synthesis.fit(), hold=1)
    given = isinstance(data, str | os.PathLike) or as_rows(data) is not None
    return drawn if given else drawn.to_native()


@dataclass(frozen=True, kw_only=True)
class SynthesisSettings:
    """What is learnt and drawn, and what pays for it.

    Parameters
    ----------
    synthesiser
        The method and its settings; with an epsilon, the fit promises privacy.
    reading
        How the original is read; a promise needs a schema that declares the domain.
    keep
        Columns that stand in the synthesis as they are; the others are drawn given them.
    person, order
        The column that says whose row it is, where people have several, and the column that orders a person's rows; as the schema's roles
        say unless named. Without a promise sequences are then drawn: `Panel`. A promise counts persons, and draws rows one by one.
    weight
        The column that says how many people a record stands for, as the schema's role says unless named: records are counted by it.
    rows, copies
        Rows of each synthesis, as many as the original has unless given; and how many syntheses.
    ledger, entry
        A project ledger to charge, and under what name.
    discover
        "all": a promise finds with noise what the schema leaves open, and needs none: `chaffinch.prepare`.
    execution
        Where rows are: a cluster learns from a table by its address or path, draws and writes.
    """

    synthesiser: Settings
    reading: Reading = field(default_factory=Reading)
    keep: tuple[str, ...] = ()
    person: str | None = None
    order: str | None = None
    weight: str | None = None
    rows: int | None = None
    copies: int = 1
    ledger: str | os.PathLike[str] | None = None
    entry: str = "release"
    discover: str | None = None
    execution: Execution = field(default_factory=Execution)

    def __post_init__(self) -> None:
        check_at_least("rows", self.rows, 0, optional=True)
        check_at_least("copies", self.copies, 1)
        if self.keep and self.rows is not None:
            raise InputError(
                "keep completes the rows of the original: rows cannot be given with it."
            )
        if self.ledger is not None and not self.private:
            raise InputError("A ledger adds up privacy budgets: give the method an epsilon too.")
        engine_of(self.execution.engine, self.execution.cache).check_synthesis(self)

    @property
    def private(self) -> bool:
        """Whether a promise of privacy is asked for."""
        return self.synthesiser.private

    def to_plain(self) -> dict[str, Any]:
        """Return what the synthesiser is told and how the original is read, as a report keeps it to be compared with others."""
        told = {
            "keep": list(self.keep),
            "person": self.person,
            "order": self.order,
            "weight": self.weight,
            "rows": self.rows,
        }
        read_as = {
            "rare": self.reading.rare,
            "threshold": self.reading.threshold,
            "personal": dict(self.reading.personal),
        }
        given = {name: value for name, value in (told | read_as).items() if value}
        return {**self.synthesiser.plain_params(), **given}


def method_of(
    method: str | Settings, label: str | None, sensitive: tuple[str, ...], keep: tuple[str, ...]
) -> Settings:
    """Return the method with the roles of columns in its settings, where it has them and they were not set there."""
    if isinstance(method, str):
        return SYNTHESISERS[method].from_options(
            MethodOptions(label=label, sensitive=sensitive, keep=keep)
        )
    if not isinstance(method, Settings):
        raise InputError(
            f"method must be a synthesiser, as BayesNet(parents=3), or its name. Got {type(method).__name__}."
        )
    roles: dict[str, Any] = {"label": label, "sensitive": sensitive, "keep": keep}
    return method.set_params(
        **{
            name: value
            for name, value in roles.items()
            if value and not getattr(method, name, True)
        }
    )


def names_of(words: Sequence[str], what: str) -> tuple[str, ...]:
    """Return names as a tuple; raise for one word alone, which would be read letter by letter."""
    if isinstance(words, str) or not all(isinstance(word, str) for word in words):
        raise InputError(f"{what} must be a list of names, as ['age', 'sex']. Got {words!r}.")
    return tuple(words)


@dataclass
class Synthesis:
    """One run: what was read, learnt and drawn, and how long each took. `outputs`: where syntheses go. `measured`: whether what is drawn is measured against the original later."""

    settings: SynthesisSettings
    run: RunOptions
    outputs: Sequence[Any] = ()
    measured: bool = False
    seconds: dict[str, float] = field(default_factory=dict)
    shares: list[float | str] = field(default_factory=list)
    rows: int = 0
    looked_up: int | None = None
    resources: ExitStack = field(default_factory=ExitStack, repr=False)
    original: Original = field(init=False, repr=False)

    def __enter__(self) -> Synthesis:
        return self

    def __exit__(self, *error: Any) -> None:
        """Remove what was kept while it ran, as codes, and end what was started for it."""
        self.resources.__exit__(*error)

    @contextmanager
    def timed(self, step: str) -> Iterator[None]:
        """Add the time of a block to a step."""
        start = time.perf_counter()
        yield
        self.seconds[step] = self.seconds.get(step, 0.0) + time.perf_counter() - start

    @cached_property
    def engine(self) -> Engine:
        """The engine, started when it is first asked for."""
        execution = self.settings.execution
        engine = engine_of(execution.engine, execution.cache)
        return self.resources.enter_context(engine.started())

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
        rows = self.original.rows
        if not self.settings.private:
            assert rows is not None  # nothing is discovered
            enough_to_learn(rows.n_rows, rows.person_of)
            method = self.original.method(self.settings.synthesiser)
            self.settings = replace(self.settings, synthesiser=method)
        with self.timed("fit"):
            return self.original.fit(self.settings.synthesiser, self.run, self.stream(0))

    def draw(self, model: Model, *, hold: int = 0) -> tuple[Table, ...]:
        """Draw each synthesis, write it where outputs are named, and return the first `hold` of them. What is not held takes bounded memory."""
        self.rows = model.n_rows if self.settings.rows is None else self.settings.rows
        return self.original.draw(self, model, hold=hold)

    def account(self, model: Model) -> SynthesisAccount:
        """Return what was made, of what, how, and, without a promise, how long it took."""
        private, copies, rows = self.settings.private, self.settings.copies, self.original.rows
        assert rows is not None  # a model was fitted
        seconds = {step: round(self.seconds[step], 6) for step in STEPS if step in self.seconds}
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
            settings=self.settings.to_plain(),
            run={} if private else {"engine": self.original.engine, "seconds": seconds},
        )

    def _asked(self) -> dict[str, Any]:
        """Return the edges that were required or forbidden, where there are any: a report shows them as chosen."""
        edges = {
            name: getattr(self.settings.synthesiser, name, ()) for name in ("require", "forbid")
        }
        return {name: [list(edge) for edge in some] for name, some in edges.items() if some}

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
