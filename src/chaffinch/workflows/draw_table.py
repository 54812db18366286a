"""A synthetic table in one line: `chaffinch.synthesise`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from .._base.masking import THRESHOLD
from .._base.runtime import Progress, watched
from ..synth import Settings
from ..table import Table
from ..table.schema_file import SchemaLike
from .release import method_of, names_of
from .running import RunOptions
from .synthesise import ReadSettings, Synthesis, SynthesisSettings


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
        reading=ReadSettings(schema=schema, threshold=threshold),
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
        model, table = synthesis.fit(synthesis.read(data))
        (drawn,) = synthesis.draw(model, table, hold=1)
    return drawn if isinstance(data, str | os.PathLike | Table) else drawn.to_native()
