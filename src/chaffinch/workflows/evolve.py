"""`chaffinch.evolve`: datasets from published numbers alone."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast

from .._base.errors import InputError
from .._base.files import check_outputs
from .._base.options import takes
from .._base.results import RunFacts
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
from ..report.evolve import evolve_page
from .run import Destinations, RunOptions, name_of, path_of

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
    # Copies take any seed that studies take, though a command has whole numbers alone.
    run = RunOptions(seed=cast("int | None", seed), threads=workers, progress=progress)
    return run_evolve(spec, EvolveSettings.chosen(settings, options), run)


def run_evolve(
    spec: str | os.PathLike[str] | Mapping[str, Any] | Outputs,
    settings: EvolveSettings,
    run: RunOptions,
    *,
    outputs: Sequence[Path] = (),
    files: Destinations | None = None,
) -> EvolveResult:
    """Return datasets evolved from a file, a mapping or `Outputs`, each written to a file where there are `outputs`.

    1. Check that everything can be written.
    2. Open the specification.
    3. Evolve the datasets.
    4. Write them, the result and its page.
    """
    files = files or Destinations()
    check_outputs(path_of(spec), *outputs, *files.paths)
    published = _open_spec(spec)
    result = evolve_spec(
        published, settings, seed=run.seed, workers=run.threads, progress=run.progress
    )
    about = replace(result.about, spec=name_of(spec))
    result = replace(result, about=about, run=RunFacts(**run.facts))
    if outputs:
        write_copies(result, outputs)
    files.write(result, lambda: evolve_page(result))
    return result


def _open_spec(spec: str | os.PathLike[str] | Mapping[str, Any] | Outputs) -> Outputs:
    if isinstance(spec, Outputs):
        return spec
    if isinstance(spec, str | os.PathLike | Mapping):
        return read_outputs(spec, numbers="required")
    raise InputError(
        f"The specification must be a file of outputs, a mapping with the same keys or Outputs. Got {type(spec).__name__}."
    )


def write_copies(result: EvolveResult, paths: Sequence[Path]) -> None:
    """Write each dataset; files that hold notes (Parquet, Arrow) say that it was evolved, and what it lacks."""
    from ..table.write import NOTE, write_table

    for number, (path, copy) in enumerate(zip(paths, result.copies, strict=True), 1):
        note = {
            "format": FORMAT,
            "version": VERSION,
            "copy": number,
            "search_engine": result.about.settings.search.search_engine,
            "reached": copy.reached,
            "missed": list(copy.missed),
        }
        data = copy.table.data.replace_schema_metadata({NOTE: json.dumps(note)})
        write_table(replace(copy.table, data=data), path)
