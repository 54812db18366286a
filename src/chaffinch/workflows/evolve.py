"""`chaffinch.evolve`: datasets from published numbers alone."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from .._base.errors import InputError
from .._base.options import takes
from .._base.runtime import Progress, silent
from .._base.seeds import Seed
from ..outputs.document import Outputs, read_outputs
from ..outputs.evolve import (
    FORMAT,
    VERSION,
    EvolveResult,
    evolve_spec,
)
from ..outputs.solve.settings import EvolveSettings

if TYPE_CHECKING:
    from ..keywords import EvolveOptions


@takes(EvolveSettings)
def evolve(
    spec: str | os.PathLike[str] | Mapping[str, Any] | Outputs,
    *,
    settings: EvolveSettings | None = None,
    seed: Seed = None,
    workers: int | None = None,
    progress: Progress = silent,
    **options: Unpack[EvolveOptions],
) -> EvolveResult:
    """Return datasets that reproduce the published outputs, made from the specification alone.

    A copy that did not get there is returned too, with `reached` False. Copies depend on the seed, their number and the number of
    proposals; not on `workers`, nor on how quick or busy the machine is.

    Parameters
    ----------
    spec
        Columns, and what was published about them: a file (TOML, or JSON with the same keys), a mapping of the same form, or `Outputs`.
    settings
        All options at once, in place of those below.
    seed
        For all that is random.
    workers
        How many processes work at once; as many as there are cores if absent.
    progress
        Called with what is being done and the share done.

    Raises
    ------
    InputError
        If the specification contradicts itself, or a setting breaks a rule.

    Examples
    --------
    >>> import chaffinch, numpy as np
    >>> evolved = chaffinch.evolve({
    ...     "format": "chaffinch-outputs", "version": 1, "rows": 30,
    ...     "columns": [{"name": "sex", "levels": ["f", "m"]}],
    ...     "outputs": [{"name": "by sex", "kind": "table", "by": ["sex"], "counts": [10, 20]}],
    ... }, seed=1)
    >>> evolved.reached, evolved.tables[0].columns, np.bincount(evolved.copies[0].codes[:, 0]).tolist()
    (True, ('sex',), [10, 20])
    """
    chosen = EvolveSettings.chosen(settings, options)
    return evolve_file(spec, chosen, seed=seed, workers=workers, progress=progress)


def evolve_file(
    spec: str | os.PathLike[str] | Mapping[str, Any] | Outputs,
    settings: EvolveSettings,
    *,
    seed: Seed = None,
    workers: int | None = None,
    progress: Progress = silent,
) -> EvolveResult:
    """Return datasets evolved from a file, a mapping or `Outputs`, with the name of the file."""
    if isinstance(spec, Mapping):
        published, name = Outputs.from_dict(dict(spec)), None
    elif isinstance(spec, str | os.PathLike):
        published, name = read_outputs(spec, numbers="required"), Path(spec).name
    elif isinstance(spec, Outputs):
        published, name = spec, None
    else:
        raise InputError(
            f"The specification must be a file of outputs, a mapping with the same keys or Outputs. Got {type(spec).__name__}."
        )
    result = evolve_spec(published, settings, seed=seed, workers=workers, progress=progress)
    return replace(result, about=replace(result.about, spec=name))


def write_copies(result: EvolveResult, paths: Sequence[Path]) -> None:
    """Write each dataset; files that hold notes (Parquet, Arrow) say that it was evolved, and what it lacks."""
    from ..table.write import NOTE, write_table

    for place, (path, copy) in enumerate(zip(paths, result.copies, strict=True), 1):
        note = {
            "format": FORMAT,
            "version": VERSION,
            "copy": place,
            "search_engine": result.about.settings.search.search_engine,
            "reached": copy.reached,
            "missed": list(copy.missed),
        }
        data = copy.table.data.replace_schema_metadata({NOTE: json.dumps(note)})
        write_table(replace(copy.table, data=data), path)
