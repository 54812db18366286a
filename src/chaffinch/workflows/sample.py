"""Rows from a saved model into a file, any number in bounded memory."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..synth import load_model
from ..table import table_writer
from .running import RunOptions


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


def sample_to_file(
    model: Path,
    output: Path,
    *,
    rows: int | None = None,
    given: Mapping[str, Any] | None = None,
    run: RunOptions,
) -> SampleResult:
    """Draw rows from a model file and write them, batch by batch; `given` fixes values of columns, exactly."""
    loaded: Any = load_model(model)
    wanted = loaded.n_rows if rows is None else rows
    run.observer.before_drawing(wanted, loaded.schema)
    writing, start = 0.0, time.perf_counter()
    with table_writer(output) as write:
        for batch in loaded.batches(
            wanted, seed=run.seed, given=given, threads=run.threads, progress=run.progress
        ):
            drawn = time.perf_counter()
            write(batch)
            writing += time.perf_counter() - drawn
    seconds = {"sample": time.perf_counter() - start - writing, "write": writing}
    return SampleResult(
        rows=wanted,
        seed=run.seed,
        given=tuple(sorted(given or ())),
        seconds=None if loaded.privacy else seconds,
    )
